/* implicit_step.c - one frame: sub-frames of the skeleton, tracking of the skin, output of the render mesh.
 *
 * Based on: [vaillant2014iso] section 5.2. A joint rotates by at most its bend angle in a sub-frame.
 *
 * Deviates: the paper allows a third of the bend angle; the rule needs a lower bound near the straight pose, FLOOR; the
 * bend is the larger one of both ends of the frame; joints are interpolated relative to their parents
 * (sup_timestep_interpolate), so that bones keep their lengths. */
#include "methods/implicit/implicit.h"

#include "deform/instance_colliders.h"
#include "methods/implicit/morphs.h"
#include "methods/implicit/push_out.h"
#include "methods/linear/linear.h"
#include "pose/timestep.h"

/* Limit of a joint's rotation in a sub-frame as a fraction of its bend (a third has the same quality for twice the
 * time); the minimum of that limit, radians; and the maximum after a restart, which starts from the bind pose. */
static const double BEND_FRACTION = 1.0, FLOOR = 0.15, RESET_ROTATION = 0.12;
/* Distance of the body from the track's origin, in sizes, from which on the origin is moved; and displacement of all
 * joints in a frame that counts as a teleport. */
static const double FAR = 4.0, TELEPORT = 0.5;
/* Rotation in radians that adds one iteration to the minimum; remaining error is reduced in the next frame. */
static const double ROTATION_PER_ITERATION = 0.0025;
/* Iterations of relaxation: of sub-frames that others follow, at least and at most of the last one of a frame. More of
 * them in the last one make the skin of a pose depend less on the way to it. */
enum { MAX_SUBFRAMES = 32, EARLY_ITERATIONS = 4, MIN_ITERATIONS = 4, MAX_ITERATIONS = 16, JACOBI_ITERATIONS = 200 };
/* Motion of a joint relative to its parent in a frame, in radians, from which on the skin follows its fields at once;
 * below, it follows them with a delay of this much motion. Projection and relaxation of skin in contact have no common
 * fixed point: without this the skin of a still or slow skeleton moves by 0.1 to 1 % of the size a frame. Translation
 * counts as rotation of a limb of this radius, in sizes. */
static const double FULL_MOTION = 0.02, LIMB_RADIUS = 0.05;
/* Stiffness of the anchor at the dual quaternion position, 1/size^2: skin slides freely by about 0.06 sizes. It halves
 * the difference between two ways to a pose. */
static const float ANCHOR = 300.0f;
/* Time in which the skin of a skeleton that stopped comes to rest, seconds. */
static const double SETTLE_TIME = 0.4;
/* A cut: two joints or more rotate against their parents by more than both limits, in radians per second and radians.
 * In the first frame after a restart lower limits apply: motion capture begins with a T-pose. */
static const double CUT_RATE = 30.0, CUT_ANGLE = 0.8, FIRST_CUT_RATE = 8.0, FIRST_CUT_ANGLE = 0.3;
enum { CUT_JOINTS = 2 };
/* Also a cut: half of the joints, and two or more, rotate by more than both of these limits. Limbs are as fast, but not
 * the whole skeleton. */
static const double JUMP_RATE = 10.0, JUMP_ANGLE = 0.4;

/* Byte offsets into the state, 64-aligned. */
typedef struct layout {
    size_t joints[3]; /* sup_affine [joint_count]: previous, current, interpolated */
    size_t maps[3];   /* sup_mat34 [joint_count] the same relative to the origin */
    size_t boxes[2];  /* float [field_count*6] previous, current */
    size_t track;
    size_t field_joints, field_joint, changed, posed, track_joints, output, limit, scratch, morphs, linear;
} layout;

typedef struct implicit_state {
    sup_implicit_view view; /* pointers into the model */
    layout at;
    double origin[3]; /* origin of the track's space, file units */
    double activity;  /* fraction of its motion that the skin takes in a frame, in [0, 1] */
    double rotation;  /* largest rotation of a joint in a sub-frame, radians */
    bool fresh;       /* the previous frame was a restart */
    bool lost;        /* a joint was singular, or values left their range: the next frame restarts */
    sup_implicit_report report;
} implicit_state;

static sup_result find_offsets(const sup_implicit_view *view, const sup_model *model, const sup_context *context,
                               sup_layout *slots, layout *offsets)
{
    layout at = {0};
    sup_layout linear;
    sup_result result = sup_method_layout(&sup_method_linear, model, context, &linear);
    if (result != SUP_OK) return result;
    size_t joints = (size_t)view->joint_count, fields = (size_t)view->compose.fields.field_count;
    sup_layout_add(slots, 1, sizeof(implicit_state));
    for (int i = 0; i < SUP_COUNT(at.joints); i++)
        at.joints[i] = sup_layout_add(slots, 1, joints * sizeof(sup_affine));
    for (int i = 0; i < SUP_COUNT(at.boxes); i++)
        at.boxes[i] = sup_layout_add(slots, 1, fields * 6 * sizeof(float));
    at.track = sup_layout_add(slots, 1, sup_track_state_size(&view->track));
    slots->saved_size = at.track + sup_track_saved_size(&view->track);
    at.field_joints = sup_layout_add(slots, 1, joints * 12 * sizeof(float));
    for (int i = 0; i < SUP_COUNT(at.maps); i++)
        at.maps[i] = sup_layout_add(slots, 1, joints * sizeof(sup_mat34));
    at.field_joint = sup_layout_add(slots, 1, fields * sizeof(int32_t));
    at.changed = sup_layout_add(slots, 1, fields);
    at.posed = sup_layout_add(slots, 1, sup_compose_posed_size(&view->compose));
    at.track_joints = sup_layout_add(slots, 1, joints * sizeof(sup_track_joint));
    at.output = sup_layout_add(slots, 1, (size_t)view->track.vertex_count * 4 * sizeof(float));
    at.limit = sup_layout_add(slots, 1, sup_track_limit_scratch_size(&view->track, &view->mesh));
    at.scratch = sup_layout_add(slots, 1, sup_implicit_render_mesh_scratch_size(&view->render_mesh));
    at.morphs = sup_layout_add(slots, 1, sup_morphs_scratch_size(model));
    at.linear = sup_layout_add(slots, 1, linear.size);
    *offsets = at;
    return SUP_OK;
}

static void *at(implicit_state *s, size_t offset)
{
    return (unsigned char *)s + offset;
}

sup_result sup_implicit_layout(const sup_model *model, const sup_context *context, sup_layout *slots)
{
    sup_implicit_view view;
    layout offsets;
    sup_result result = sup_implicit_open(model, &view, NULL);
    return result == SUP_OK ? find_offsets(&view, model, context, slots, &offsets) : result;
}

/* Opens the view and sets the offsets: pointers and offsets are not part of a saved state. */
static sup_result open_state(const sup_step_input *input, implicit_state *s)
{
    sup_layout slots = {0};
    sup_result result = sup_implicit_open(input->model, &s->view, NULL);
    return result == SUP_OK ? find_offsets(&s->view, input->model, input->context, &slots, &s->at) : result;
}

static sup_posed_fields posed_fields(implicit_state *s)
{
    return sup_compose_posed_open(&s->view.compose, sup_field_evaluator(), at(s, s->at.posed));
}

static void link_fields(implicit_state *s)
{
    int32_t *joint = at(s, s->at.field_joint);
    for (int32_t f = 0; f < s->view.compose.fields.field_count; f++)
        joint[f] = s->view.compose.fields.fields[f].joint;
    sup_posed_fields posed = posed_fields(s);
    sup_compose_find_limbs(&s->view.compose, &posed);
}

sup_result sup_implicit_restore(const sup_step_input *input, void *state)
{
    implicit_state *s = state;
    memset(&s->view, 0, sizeof s->view);
    memset(&s->at, 0, sizeof s->at);
    if (input == NULL) return SUP_OK;
    sup_result result = open_state(input, s);
    if (result != SUP_OK) return result;
    link_fields(s);
    const sup_affine *joints = at(s, s->at.joints[0]);
    const float *transforms = sup_track_transforms(&s->view.track, at(s, s->at.track));
    bool ok = sup_track_usable(&s->view.track, at(s, s->at.track));
    for (int64_t i = 0; ok && i < 12 * (int64_t)s->view.track.vertex_count; i++)
        ok = isfinite(transforms[i]);
    for (int c = 0; c < 3; c++)
        ok = ok && isfinite(s->origin[c]);
    for (int32_t j = 0; ok && j < s->view.joint_count; j++)
        ok = sup_affine_finite(joints[j]);
    return ok ? SUP_OK : SUP_ERROR_DATA;
}

const sup_implicit_report *sup_implicit_report_of(const void *state)
{
    return &((const implicit_state *)state)->report;
}

/* --- The skeleton --- */

static void read_joints(implicit_state *s, const sup_pose *pose)
{
    sup_affine *now = at(s, s->at.joints[1]);
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_mat34 inverse;
        memcpy(&inverse, s->view.joint_inverse_bind + 12 * (int64_t)j, sizeof inverse);
        now[j] = sup_affine_multiply(sup_affine_from_float(pose->world[s->view.joint_node[j]]),
                                     sup_affine_from_float(inverse));
    }
}

/* Transform of a joint relative to its parent and about its own centre: the identity at rest. */
static sup_affine to_parent_space(const sup_implicit_view *view, const sup_affine *joints, int32_t j)
{
    sup_affine local = joints[j], back;
    int32_t parent = view->joint_parent[j];
    if (parent >= 0 && sup_affine_inverse(joints[parent], &back)) local = sup_affine_multiply(back, joints[j]);
    sup_vec3d c = sup_v3_load(view->joint_centre + 3 * (int64_t)j), to = sup_v3_sub(sup_affine_point(local, c), c);
    local.m[3] = to.x;
    local.m[7] = to.y;
    local.m[11] = to.z;
    return local;
}

static double angle_of(sup_quatd q)
{
    return 2.0 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w));
}

static bool same_transform(const sup_affine *previous, const sup_affine *now, int32_t j)
{
    return memcmp(&previous[j], &now[j], sizeof now[j]) == 0;
}

/* How the skeleton moved between two poses, relative to parents. */
typedef struct skeleton_motion {
    double subframes; /* for the rule of BEND_FRACTION */
    double rotation;  /* largest rotation of a joint, radians */
    double largest;   /* largest rotation, stretch or translation, as FULL_MOTION */
    int32_t cut;      /* number of joints that rotated by more than the first of `cut_angles` */
    int32_t jump;     /* by more than the second one */
    int32_t joints;   /* with a parent */
} skeleton_motion;

/* Largest change of a relative transform: entries of the linear part, or translation in limb radii. */
static double largest_change(const sup_affine *a, const sup_affine *b, double size)
{
    double largest = 0.0;
    for (int i = 0; i < 12; i++)
        largest = fmax(largest, fabs(b->m[i] - a->m[i]) / (i % 4 == 3 ? LIMB_RADIUS * size : 1.0));
    return largest;
}

/* `scale`: of the rule, `limit`: largest rotation in a sub-frame. */
static skeleton_motion find_motion(const implicit_state *s, const sup_affine *previous, const sup_affine *now,
                                   double scale, double limit, const double cut_angles[2])
{
    skeleton_motion motion = {.subframes = 1.0};
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_quatd a, b;
        double stretch[9];
        int32_t parent = s->view.joint_parent[j];
        motion.joints += parent >= 0 ? 1 : 0;
        if (parent < 0 || (same_transform(previous, now, j) && same_transform(previous, now, parent))) continue;
        sup_affine from = to_parent_space(&s->view, previous, j), to = to_parent_space(&s->view, now, j);
        motion.largest = fmax(motion.largest, largest_change(&from, &to, s->view.size));
        if (!sup_affine_polar(from, &a, stretch) || !sup_affine_polar(to, &b, stretch)) continue;
        double angle = angle_of(sup_quatd_multiply(sup_quatd_conjugate(a), b));
        double most = fmin(limit, scale * fmax(FLOOR, BEND_FRACTION * fmax(angle_of(a), angle_of(b))));
        motion.subframes = fmax(motion.subframes, ceil(angle / most - 1e-6));
        motion.rotation = fmax(motion.rotation, angle);
        motion.cut += angle > cut_angles[0] ? 1 : 0;
        motion.jump += angle > cut_angles[1] ? 1 : 0;
    }
    motion.subframes = fmin(motion.subframes, MAX_SUBFRAMES);
    return motion;
}

static void interpolate_joints(implicit_state *s, const sup_affine *previous, const sup_affine *now, double t,
                               sup_affine *interpolated)
{
    const sup_affine *ends[2] = {previous, now};
    sup_mat34 *maps[3] = {at(s, s->at.maps[0]), at(s, s->at.maps[1]), at(s, s->at.maps[2])};
    for (int i = 0; i < 2; i++)
        for (int32_t j = 0; j < s->view.joint_count; j++) {
            sup_affine map = ends[i][j];
            for (int c = 0; c < 3; c++)
                map.m[4 * c + 3] -= s->origin[c];
            maps[i][j] = sup_affine_to_float(map);
        }
    sup_timestep_interpolate(s->view.joint_count, s->view.joint_parent, s->view.joint_centre, maps[0], maps[1], t,
                             maps[2]);
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        interpolated[j] = sup_affine_from_float(maps[2][j]);
        for (int c = 0; c < 3; c++)
            interpolated[j].m[4 * c + 3] += s->origin[c];
    }
}

/* Whether all joints moved farther than a body does in a frame. */
static bool teleported(const implicit_state *s, const sup_affine *previous, const sup_affine *now)
{
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_vec3d c = sup_v3_load(s->view.joint_centre + 3 * (int64_t)j);
        if (sup_v3_distance(sup_affine_point(previous[j], c), sup_affine_point(now[j], c)) <= TELEPORT * s->view.size)
            return false;
    }
    return true;
}

/* Whether a joint transform is singular: skin that is flattened into a plane does not recover by itself. */
static bool is_flat(const implicit_state *s, const sup_affine *joints)
{
    sup_affine inverse;
    for (int32_t j = 0; j < s->view.joint_count; j++)
        if (!sup_affine_inverse(joints[j], &inverse)) return true;
    return false;
}

static bool is_still(const implicit_state *s, const sup_affine *previous, const sup_affine *now)
{
    for (int32_t j = 0; j < s->view.joint_count; j++)
        for (int k = 0; k < 12; k++)
            if (!(fabs(now[j].m[k] - previous[j].m[k]) <= 1e-6 * (k % 4 == 3 ? s->view.size : 1.0))) return false;
    return true;
}

/* --- Sub-frames --- */

/* Poses the fields and stores their bounding boxes. */
static void pose_fields(implicit_state *s, const sup_affine *joints, float *boxes)
{
    float *to = at(s, s->at.field_joints);
    sup_posed_fields posed = posed_fields(s);
    for (int32_t j = 0; j < s->view.joint_count; j++)
        sup_implicit_field_joint(&s->view, joints[j], s->origin, to + 12 * (int64_t)j);
    sup_compose_pose(&s->view.compose, to, &posed);
    for (int32_t leaf = 0; leaf < s->view.compose.fields.field_count; leaf++)
        for (int c = 0; c < 6; c++)
            boxes[6 * (int64_t)s->view.compose.leaves[leaf] + c] = posed.box[(int64_t)c * posed.stride + leaf];
}

static void set_track_joints(implicit_state *s, const sup_affine *previous, const sup_affine *now)
{
    sup_track_joint *joints = at(s, s->at.track_joints);
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_vec3d c = sup_v3_load(s->view.joint_centre + 3 * (int64_t)j);
        c = sup_v3_scale(sup_v3_sub(c, sup_v3(s->view.centre[0], s->view.centre[1], s->view.centre[2])),
                         1.0 / s->view.size);
        sup_track_set_joint(&joints[j], sup_implicit_joint_transform(&s->view, now[j], s->origin),
                            sup_implicit_joint_transform(&s->view, previous[j], s->origin), c);
    }
}

/* Marks muscles whose joints moved: their fields changed shape. */
static void mark_muscles(implicit_state *s)
{
    unsigned char *changed = at(s, s->at.changed);
    const sup_track_joint *joints = at(s, s->at.track_joints);
    const sup_compose *compose = &s->view.compose;
    memset(changed, 0, (size_t)compose->fields.field_count);
    for (int32_t i = 0; i < compose->muscle_count; i++) {
        const sup_compose_muscle *m = &compose->muscles[i];
        const float *own = joints[m->joint].motion;
        static const float still[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
        if (!sup_track_same_motion(own, m->parent >= 0 ? joints[m->parent].motion : still)) changed[m->field] = 1;
    }
}

static int32_t iterations_of(const implicit_state *s, const double *values, bool last)
{
    int32_t iterations = (int32_t)values[SUP_IMPLICIT_ITERATIONS];
    if (iterations > 0) return iterations;
    if (values[SUP_IMPLICIT_SOLVER] != 0.0) return JACOBI_ITERATIONS;
    if (!last) return EARLY_ITERATIONS;
    return (int32_t)fmin(MIN_ITERATIONS + ceil(s->rotation / ROTATION_PER_ITERATION), MAX_ITERATIONS);
}

/* `last`: of the frame. */
static void step_subframe(implicit_state *s, const sup_step_input *input, const sup_affine *previous,
                          const sup_affine *now, bool last)
{
    const double *v = input->values;
    float *boxes[2] = {at(s, s->at.boxes[0]), at(s, s->at.boxes[1])};
    pose_fields(s, now, boxes[1]);
    set_track_joints(s, previous, now);
    mark_muscles(s);
    sup_posed_fields posed = posed_fields(s);
    sup_implicit_field field = {&s->view.compose, &posed};
    sup_track_input track = {.joints = at(s, s->at.track_joints),
                             .field_bounds = {s->view.compose.fields.field_count, at(s, s->at.field_joint),
                                              at(s, s->at.changed), boxes[0], boxes[1]},
                             .field = sup_implicit_sample,
                             .field_user = &field,
                             .solver = v[SUP_IMPLICIT_SOLVER] != 0.0 ? SUP_TRACK_JACOBI : SUP_TRACK_FACTOR,
                             .iterations = iterations_of(s, v, last),
                             .activity = (float)s->activity,
                             .anchor = ANCHOR,
                             .tolerance = (float)v[SUP_IMPLICIT_TOLERANCE],
                             .all = v[SUP_IMPLICIT_TRACKING] == 0.0 || v[SUP_IMPLICIT_ROTATIONS] != 0.0,
                             .shape = v[SUP_IMPLICIT_ROTATIONS] != 0.0};
    sup_track_report report;
    if (v[SUP_IMPLICIT_TRACKING] != 0.0)
        sup_track_step(input->context, &s->view.track, at(s, s->at.track), &track, &report);
    else
        sup_track_project_frame(input->context, &s->view.track, at(s, s->at.track), &track, &report);
    memcpy(boxes[0], boxes[1], (size_t)s->view.compose.fields.field_count * 6 * sizeof(float));
    s->report.subframes++;
    s->report.iterations += report.iterations;
    s->report.awake = report.awake > s->report.awake ? report.awake : s->report.awake;
    s->report.evaluations += report.evaluations;
    s->report.moved = report.moved;
}

sup_implicit_fit sup_implicit_fit_of(void *state)
{
    implicit_state *s = state;
    const sup_track *track = &s->view.track;
    sup_posed_fields posed = posed_fields(s);
    sup_implicit_field field = {&s->view.compose, &posed};
    sup_implicit_fit fit = {.vertices = track->vertex_count};
    sup_track_fit(track, at(s, s->at.track), sup_implicit_sample, &field, &fit.off_target, &fit.in_contact,
                  &fit.without_field);
    return fit;
}

/* Steps from the previous (joints[0]) to the current (joints[1]) joints. */
static void step_subframes(implicit_state *s, const sup_step_input *input, const skeleton_motion *motion)
{
    int32_t subframes = (int32_t)motion->subframes;
    s->rotation = motion->rotation / motion->subframes;
    sup_affine *previous = at(s, s->at.joints[0]), *interpolated = at(s, s->at.joints[2]);
    const sup_affine *now = at(s, s->at.joints[1]);
    size_t bytes = (size_t)s->view.joint_count * sizeof *now;
    for (int32_t i = 1; i < subframes; i++) {
        interpolate_joints(s, previous, now, 1.0 / (double)(subframes - i + 1), interpolated);
        step_subframe(s, input, previous, interpolated, false);
        memcpy(previous, interpolated, bytes);
    }
    step_subframe(s, input, previous, now, true);
    memcpy(previous, now, bytes);
}

/* --- Origin of the track --- */

static sup_vec3d body_position(const implicit_state *s, const sup_affine *joints)
{
    return sup_affine_point(joints[0], sup_v3(s->view.centre[0], s->view.centre[1], s->view.centre[2]));
}

static void set_origin(implicit_state *s, sup_vec3d origin)
{
    s->origin[0] = origin.x;
    s->origin[1] = origin.y;
    s->origin[2] = origin.z;
}

/* Moves the origin to the body if that is far away; world positions do not change. */
static void recentre_origin(implicit_state *s)
{
    sup_vec3d body = body_position(s, at(s, s->at.joints[1])), from = sup_v3(s->origin[0], s->origin[1], s->origin[2]);
    sup_vec3d offset = sup_v3_scale(sup_v3_sub(from, body), 1.0 / s->view.size);
    if (sup_v3_length(offset) < FAR) return;
    const float by[3] = {(float)offset.x, (float)offset.y, (float)offset.z};
    float *boxes = at(s, s->at.boxes[0]);
    sup_track_shift(&s->view.track, at(s, s->at.track), by);
    for (int64_t i = 0; i < 6 * (int64_t)s->view.compose.fields.field_count; i++)
        boxes[i] += by[i % 3];
    set_origin(s, body);
}

/* --- Frames --- */

/* Starts from the bind pose at the root and moves to the pose in sub-frames: the path decides how skin lies on skin. */
static void restart_from_rest(implicit_state *s, const sup_step_input *input)
{
    sup_affine *previous = at(s, s->at.joints[0]);
    const sup_affine *now = at(s, s->at.joints[1]);
    float transform[12];
    set_origin(s, body_position(s, now));
    for (int32_t j = 0; j < s->view.joint_count; j++)
        previous[j] = now[0];
    sup_affine root = sup_implicit_joint_transform(&s->view, now[0], s->origin);
    for (int i = 0; i < 12; i++)
        transform[i] = (float)root.m[i];
    sup_track_reset(&s->view.track, at(s, s->at.track), transform);
    pose_fields(s, previous, at(s, s->at.boxes[0]));
    s->activity = 1.0;
    s->fresh = true;
    static const double no_cut[2] = {INFINITY, INFINITY};
    skeleton_motion motion = find_motion(s, previous, now, input->values[SUP_IMPLICIT_SUBSTEP], RESET_ROTATION, no_cut);
    step_subframes(s, input, &motion);
}

/* The input of linear blend skinning, with its own parameters. */
static sup_step_input linear_input(const sup_step_input *input)
{
    static const double values[SUP_SKIN_PARAM_COUNT] = {0.0};
    sup_step_input linear = *input;
    linear.values = values;
    return linear;
}

sup_result sup_implicit_reset(const sup_step_input *input, void *state)
{
    implicit_state *s = state;
    sup_result result = open_state(input, s);
    if (result != SUP_OK) return result;
    memset(&s->report, 0, sizeof s->report);
    link_fields(s);
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.reset(&linear, at(s, s->at.linear));
    if (result != SUP_OK) return result;
    read_joints(s, input->pose);
    s->lost = is_flat(s, at(s, s->at.joints[1]));
    restart_from_rest(s, input);
    return SUP_OK;
}

static bool is_cut(const skeleton_motion *motion)
{
    return motion->cut >= CUT_JOINTS || (motion->jump >= CUT_JOINTS && 2 * motion->jump >= motion->joints);
}

static void advance(implicit_state *s, const sup_step_input *input)
{
    const sup_affine *previous = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    memset(&s->report, 0, sizeof s->report);
    read_joints(s, input->pose);
    bool tracking = input->values[SUP_IMPLICIT_TRACKING] != 0.0;
    double seconds = (double)input->dt;
    const double cut_angles[2] = {
        fmax(s->fresh ? FIRST_CUT_ANGLE : CUT_ANGLE, (s->fresh ? FIRST_CUT_RATE : CUT_RATE) * seconds),
        fmax(JUMP_ANGLE, JUMP_RATE * seconds)};
    skeleton_motion motion = find_motion(s, previous, now, input->values[SUP_IMPLICIT_SUBSTEP], INFINITY, cut_angles);
    bool restart = s->lost || teleported(s, previous, now) || (seconds > 0.0 && is_cut(&motion));
    s->lost = is_flat(s, now);
    if (tracking && restart) {
        restart_from_rest(s, input);
        return;
    }
    recentre_origin(s);
    if (!tracking) {
        step_subframe(s, input, now, now, true);
        memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
        return;
    }
    if (seconds > 0.0) s->fresh = false;
    s->activity = fmin(1.0, fmax(motion.largest / FULL_MOTION, s->activity - seconds / SETTLE_TIME));
    if (is_still(s, previous, now)) {
        if (!(seconds > 0.0)) return; /* no time passes: the skin of a restart is that of its first frame */
        if (!(s->activity > 0.0)) sup_track_stop(&s->view.track, at(s, s->at.track));
        if (!sup_track_is_moving(&s->view.track, at(s, s->at.track))) return;
    }
    step_subframes(s, input, &motion);
}

static void stage_over(const sup_step_input *input, const char *stage)
{
    if (input->stage_done != NULL) input->stage_done(input->stage_user, stage);
}

sup_result sup_implicit_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    implicit_state *s = state;
    sup_step_input linear = linear_input(input);
    const sup_implicit_render_mesh *mesh = &s->view.render_mesh;
    bool all = mesh->own_count + mesh->upsample.covered == mesh->upsample.vertex_count &&
               !sup_morphs_active(input->model, input->pose);
    sup_result result =
        all ? sup_linear_pose(&linear, at(s, s->at.linear)) /* both refuse poses that are out of range */
            : sup_method_linear.step(&linear, at(s, s->at.linear), out);
    bool morphed =
        result == SUP_OK && !all && sup_morphs_extract(&linear, at(s, s->at.linear), at(s, s->at.morphs), out);
    stage_over(input, "linear");
    if (result != SUP_OK) return result;
    advance(s, input);
    stage_over(input, "track");
    float *positions = at(s, s->at.output), smooth = (float)input->values[SUP_IMPLICIT_SMOOTH];
    if (!sup_track_output(input->context, &s->view.track, at(s, s->at.track), smooth,
                          positions)) { /* falls back to linear blend skinning */
        s->lost = true;
        return all ? sup_method_linear.step(&linear, at(s, s->at.linear), out) : SUP_OK;
    }
    bool tracking = input->values[SUP_IMPLICIT_TRACKING] != 0.0;
    float elastic = tracking ? (float)input->values[SUP_IMPLICIT_ELASTIC] : 0.0f;
    int32_t bent = sup_track_arap_smooth(input->context, &s->view.track, at(s, s->at.track), elastic, positions);
    if (tracking)
        sup_track_limit(input->context, &s->view.track, at(s, s->at.track), &s->view.mesh, at(s, s->at.limit),
                        (float)input->values[SUP_IMPLICIT_LOSS], bent, positions);
    else
        sup_track_limit_edges(input->context, &s->view.track, at(s, s->at.track), bent, SUP_TRACK_LONGEST, positions);
    if (input->colliders != NULL)
        sup_push_out(
            input->context, &s->view.track, at(s, s->at.track),
            sup_colliders_between(input->colliders, 0.0, 1.0, sup_v3(s->origin[0], s->origin[1], s->origin[2])),
            input->colliders->count, s->view.size, positions);
    sup_implicit_render_mesh_input render = {positions,
                                             sup_track_transforms(&s->view.track, at(s, s->at.track)),
                                             s->view.size,
                                             {s->origin[0], s->origin[1], s->origin[2]}};
    result = sup_implicit_render_mesh_apply(input->context, &s->view.render_mesh, &render, at(s, s->at.scratch), out);
    if (result == SUP_OK && morphed) sup_morphs_add(&s->view.render_mesh, at(s, s->at.morphs), out);
    stage_over(input, "skin");
    return result;
}

/* Transforms the points to the track's space, where the fields are posed. */
void sup_implicit_query_field(const sup_model *model, void *state, const float *points, int32_t count, float *values)
{
    SUP_UNUSED(model);
    implicit_state *s = state;
    const sup_affine *now = at(s, s->at.joints[1]);
    float *to = at(s, s->at.field_joints);
    sup_posed_fields posed = posed_fields(s);
    for (int32_t j = 0; j < s->view.joint_count; j++)
        sup_implicit_field_joint(&s->view, now[j], s->origin, to + 12 * (int64_t)j);
    sup_compose_pose(&s->view.compose, to, &posed);
    for (int32_t first = 0; first < count; first += SUP_FIELD_LANES) {
        sup_field_points batch;
        sup_field_samples samples;
        float *axes[3] = {batch.x, batch.y, batch.z};
        for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
            const float *p = points + 3 * (int64_t)(first + k < count ? first + k : count - 1);
            for (int c = 0; c < 3; c++)
                axes[c][k] = (float)(((double)p[c] - s->origin[c]) / s->view.size);
        }
        sup_compose_evaluate(&s->view.compose, &posed, &batch, &samples, NULL);
        for (int32_t k = 0; k < SUP_FIELD_LANES && first + k < count; k++)
            values[first + k] = samples.value[k];
    }
}
