/* implicit_step.c - one frame: the skeleton in sub-frames, the skin after it, then what is shown.
 *
 * Based on: [vaillant2014iso] section 5.2. A joint turns by no more than a third of its bend in a sub-frame.
 *
 * Deviates: the floor that the rule needs near the straight pose is FLOOR; the bend is the larger one of the two ends of
 * the frame; joints between the frames are interpolated about their own place and against their parents, so that bones
 * keep their length. */
#include "methods/implicit/implicit.h"

#include "deform/instance_colliders.h"
#include "methods/implicit/morphs.h"
#include "methods/implicit/push_out.h"
#include "methods/linear/linear.h"

/* Least turn of a joint in a sub-frame, radians; and the most after a teleport, when the way starts at the bind pose. */
static const double FLOOR = 0.05, RESET_TURN = 0.12;
/* Sizes that the body may be away from the track's origin before that follows; and a joint that moves farther than
 * TELEPORT, as all others do, was put there. */
static const double FAR = 4.0, TELEPORT = 0.5;
/* Radians that make one more round than the fewest worth while: what is left goes on in the next frame. */
static const double TURN_OF_A_ROUND = 0.0025;
enum { MOST_SUBFRAMES = 32, STILL_END = 60, FEWEST_ROUNDS = 4, FACTOR_ROUNDS = 24, JACOBI_ROUNDS = 200 };

/* Where things are in the state; offsets in bytes, 64-aligned. */
typedef struct layout {
    size_t joints[3]; /* sup_affine [joint_count]: before, now, between */
    size_t boxes[2];  /* float [field_count*6] before, now */
    size_t track;
    size_t field_joints, field_joint, changed, posed, track_joints, shown, scratch, morphs, linear;
} layout;

typedef struct implicit_state {
    sup_implicit_view view; /* pointers into the model */
    layout at;
    double origin[3]; /* of the track's space, file units */
    int32_t still;    /* frames that the skeleton stands */
    double turn;      /* largest of a joint in a sub-frame, radians */
    bool lost;        /* a joint was flat, or numbers left their range: the next frame starts anew */
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
    at.field_joint = sup_layout_add(slots, 1, fields * sizeof(int32_t));
    at.changed = sup_layout_add(slots, 1, fields);
    at.posed = sup_layout_add(slots, 1, sup_compose_posed_size(&view->compose));
    at.track_joints = sup_layout_add(slots, 1, joints * sizeof(sup_track_joint));
    at.shown = sup_layout_add(slots, 1, (size_t)view->track.row_count * 4 * sizeof(float));
    at.scratch = sup_layout_add(slots, 1, sup_shown_scratch(&view->shown));
    at.morphs = sup_layout_add(slots, 1, sup_morphs_scratch(model));
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
    const float *turns = sup_track_turns(&s->view.track, at(s, s->at.track));
    bool ok = sup_track_usable(&s->view.track, at(s, s->at.track));
    for (int64_t i = 0; ok && i < 12 * (int64_t)s->view.track.row_count; i++)
        ok = isfinite(turns[i]);
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

static void take_joints(implicit_state *s, const sup_pose *pose)
{
    sup_affine *now = at(s, s->at.joints[1]);
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_mat34 inverse;
        memcpy(&inverse, s->view.joint_inverse_bind + 12 * (int64_t)j, sizeof inverse);
        now[j] = sup_affine_multiply(sup_affine_from_float(pose->world[s->view.joint_node[j]]),
                                     sup_affine_from_float(inverse));
    }
}

/* A joint as its parent sees it, about its own place: the identity at rest. */
static sup_affine seen_from_parent(const sup_implicit_view *view, const sup_affine *joints, int32_t j)
{
    sup_affine seen = joints[j], back;
    int32_t parent = view->joint_parent[j];
    if (parent >= 0 && sup_affine_inverse(joints[parent], &back)) seen = sup_affine_multiply(back, joints[j]);
    sup_vec3d c = sup_v3_load(view->joint_centre + 3 * (int64_t)j), to = sup_v3_sub(sup_affine_point(seen, c), c);
    seen.m[3] = to.x;
    seen.m[7] = to.y;
    seen.m[11] = to.z;
    return seen;
}

/* The other way. */
static sup_affine seen_from_world(const sup_implicit_view *view, const sup_affine *joints, sup_affine seen, int32_t j)
{
    sup_vec3d c = sup_v3_load(view->joint_centre + 3 * (int64_t)j), turned = sup_affine_vector(seen, c);
    seen.m[3] += c.x - turned.x;
    seen.m[7] += c.y - turned.y;
    seen.m[11] += c.z - turned.z;
    int32_t parent = view->joint_parent[j];
    return parent >= 0 ? sup_affine_multiply(joints[parent], seen) : seen;
}

static double angle_of(sup_quatd q)
{
    return 2.0 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w));
}

static bool same_place(const sup_affine *before, const sup_affine *now, int32_t j)
{
    return memcmp(&before[j], &now[j], sizeof now[j]) == 0;
}

/* Sub-frames that the way from `before` to `now` takes: `scale` times the paper's, with `most` radians at most. */
static int32_t count_subframes(implicit_state *s, const sup_affine *before, const sup_affine *now, double scale,
                               double most)
{
    double count = 1.0, largest = 0.0;
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_quatd a, b;
        double stretch[9];
        int32_t parent = s->view.joint_parent[j];
        if (parent < 0 || (same_place(before, now, j) && same_place(before, now, parent)) ||
            !sup_affine_polar(seen_from_parent(&s->view, before, j), &a, stretch) ||
            !sup_affine_polar(seen_from_parent(&s->view, now, j), &b, stretch))
            continue;
        double turn = angle_of(sup_quatd_multiply(sup_quatd_conjugate(a), b));
        double third = fmin(most, scale * fmax(FLOOR, fmax(angle_of(a), angle_of(b)) / 3.0));
        count = fmax(count, ceil(turn / third - 1e-6));
        largest = fmax(largest, turn);
    }
    count = fmin(count, MOST_SUBFRAMES);
    s->turn = largest / count;
    return (int32_t)count;
}

static void go_between(const sup_implicit_view *view, const sup_affine *before, const sup_affine *now, double t,
                       sup_affine *between)
{
    for (int32_t j = 0; j < view->joint_count; j++) {
        sup_affine seen = sup_affine_between(seen_from_parent(view, before, j), seen_from_parent(view, now, j), t);
        between[j] = seen_from_world(view, between, seen, j);
    }
}

/* Whether all joints went farther than a body moves. */
static bool teleported(const implicit_state *s, const sup_affine *before, const sup_affine *now)
{
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_vec3d c = sup_v3_load(s->view.joint_centre + 3 * (int64_t)j);
        if (sup_v3_distance(sup_affine_point(before[j], c), sup_affine_point(now[j], c)) <= TELEPORT * s->view.size)
            return false;
    }
    return true;
}

/* A joint without an inverse: what hangs on it is in one plane and does not find back by itself. */
static bool is_flat(const implicit_state *s, const sup_affine *joints)
{
    sup_affine inverse;
    for (int32_t j = 0; j < s->view.joint_count; j++)
        if (!sup_affine_inverse(joints[j], &inverse)) return true;
    return false;
}

static bool stands(const implicit_state *s, const sup_affine *before, const sup_affine *now)
{
    for (int32_t j = 0; j < s->view.joint_count; j++)
        for (int k = 0; k < 12; k++)
            if (!(fabs(now[j].m[k] - before[j].m[k]) <= 1e-6 * (k % 4 == 3 ? s->view.size : 1.0))) return false;
    return true;
}

/* --- Sub-frames --- */

/* Fields to where the joints are, and their boxes. */
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

static void set_joints(implicit_state *s, const sup_affine *before, const sup_affine *now)
{
    sup_track_joint *joints = at(s, s->at.track_joints);
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_vec3d c = sup_v3_load(s->view.joint_centre + 3 * (int64_t)j);
        c = sup_v3_scale(sup_v3_sub(c, sup_v3(s->view.centre[0], s->view.centre[1], s->view.centre[2])),
                         1.0 / s->view.size);
        sup_track_set_joint(&joints[j], sup_implicit_place(&s->view, now[j], s->origin),
                            sup_implicit_place(&s->view, before[j], s->origin), c);
    }
}

/* Muscles whose joints moved are other fields than before. */
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
        if (!sup_track_alike(own, m->parent >= 0 ? joints[m->parent].motion : still)) changed[m->field] = 1;
    }
}

static void move_skin(implicit_state *s, const sup_step_input *input, const sup_affine *before, const sup_affine *now)
{
    const double *v = input->values;
    float *boxes[2] = {at(s, s->at.boxes[0]), at(s, s->at.boxes[1])};
    pose_fields(s, now, boxes[1]);
    set_joints(s, before, now);
    mark_muscles(s);
    sup_posed_fields posed = posed_fields(s);
    sup_implicit_field field = {&s->view.compose, &posed};
    bool jacobi = v[SUP_IMPLICIT_SOLVER] != 0.0;
    int32_t rounds = (int32_t)v[SUP_IMPLICIT_ROUNDS];
    sup_track_input track = {
        .joints = at(s, s->at.track_joints),
        .reach = {s->view.compose.fields.field_count, at(s, s->at.field_joint), at(s, s->at.changed), boxes[0],
                  boxes[1]},
        .field = sup_implicit_sample,
        .field_user = &field,
        .solver = jacobi ? SUP_TRACK_JACOBI : SUP_TRACK_FACTOR,
        .rounds = rounds > 0 ? rounds
                  : jacobi   ? JACOBI_ROUNDS
                             : (int32_t)fmin(FEWEST_ROUNDS + ceil(s->turn / TURN_OF_A_ROUND), FACTOR_ROUNDS),
        .tolerance = (float)v[SUP_IMPLICIT_TOLERANCE],
        .all = v[SUP_IMPLICIT_TRACKING] == 0.0 || v[SUP_IMPLICIT_ROTATIONS] != 0.0,
        .shape = v[SUP_IMPLICIT_ROTATIONS] != 0.0};
    sup_track_report report;
    if (v[SUP_IMPLICIT_TRACKING] != 0.0)
        sup_track_move(input->context, &s->view.track, at(s, s->at.track), &track, &report);
    else
        sup_track_march(input->context, &s->view.track, at(s, s->at.track), &track, &report);
    memcpy(boxes[0], boxes[1], (size_t)s->view.compose.fields.field_count * 6 * sizeof(float));
    s->report.subframes++;
    s->report.rounds += report.rounds;
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
    sup_implicit_fit fit = {.rows = track->row_count};
    sup_track_fit(track, at(s, s->at.track), sup_implicit_sample, &field, &fit.off, &fit.sheet, &fit.lost);
    return fit;
}

/* From `before` (joints[0]) to now (joints[1]). */
static void walk(implicit_state *s, const sup_step_input *input, int32_t subframes)
{
    sup_affine *before = at(s, s->at.joints[0]), *between = at(s, s->at.joints[2]);
    const sup_affine *now = at(s, s->at.joints[1]);
    size_t bytes = (size_t)s->view.joint_count * sizeof *now;
    for (int32_t i = 1; i < subframes; i++) {
        go_between(&s->view, before, now, 1.0 / (double)(subframes - i + 1), between);
        move_skin(s, input, before, between);
        memcpy(before, between, bytes);
    }
    move_skin(s, input, before, now);
    memcpy(before, now, bytes);
}

/* --- Where the track's origin is --- */

static sup_vec3d body_place(const implicit_state *s, const sup_affine *joints)
{
    return sup_affine_point(joints[0], sup_v3(s->view.centre[0], s->view.centre[1], s->view.centre[2]));
}

static void set_origin(implicit_state *s, sup_vec3d origin)
{
    s->origin[0] = origin.x;
    s->origin[1] = origin.y;
    s->origin[2] = origin.z;
}

/* Moves the origin to the body when that has gone far; everything keeps its place in the world. */
static void follow_body(implicit_state *s)
{
    sup_vec3d body = body_place(s, at(s, s->at.joints[1])), from = sup_v3(s->origin[0], s->origin[1], s->origin[2]);
    sup_vec3d away = sup_v3_scale(sup_v3_sub(from, body), 1.0 / s->view.size);
    if (sup_v3_length(away) < FAR) return;
    const float by[3] = {(float)away.x, (float)away.y, (float)away.z};
    float *boxes = at(s, s->at.boxes[0]);
    sup_track_shift(&s->view.track, at(s, s->at.track), by);
    for (int64_t i = 0; i < 6 * (int64_t)s->view.compose.fields.field_count; i++)
        boxes[i] += by[i % 3];
    set_origin(s, body);
}

/* --- Frames --- */

/* The bind pose, carried to where the root is, and from there to the pose: the way decides where skin lies on skin. */
static void put_at_rest(implicit_state *s, const sup_step_input *input)
{
    sup_affine *before = at(s, s->at.joints[0]);
    const sup_affine *now = at(s, s->at.joints[1]);
    float place_floats[12];
    set_origin(s, body_place(s, now));
    for (int32_t j = 0; j < s->view.joint_count; j++)
        before[j] = now[0];
    sup_affine root = sup_implicit_place(&s->view, now[0], s->origin);
    for (int i = 0; i < 12; i++)
        place_floats[i] = (float)root.m[i];
    sup_track_reset(&s->view.track, at(s, s->at.track), place_floats);
    pose_fields(s, before, at(s, s->at.boxes[0]));
    s->still = 0;
    walk(s, input, count_subframes(s, before, now, input->values[SUP_IMPLICIT_SUBSTEP], RESET_TURN));
}

/* The input of the layer below, with parameters of its own. */
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
    take_joints(s, input->pose);
    s->lost = is_flat(s, at(s, s->at.joints[1]));
    put_at_rest(s, input);
    return SUP_OK;
}

static void advance(implicit_state *s, const sup_step_input *input)
{
    const sup_affine *before = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    memset(&s->report, 0, sizeof s->report);
    take_joints(s, input->pose);
    bool tracking = input->values[SUP_IMPLICIT_TRACKING] != 0.0;
    bool anew = s->lost || teleported(s, before, now);
    s->lost = is_flat(s, now);
    if (tracking && anew) {
        put_at_rest(s, input);
        return;
    }
    follow_body(s);
    if (!tracking) {
        move_skin(s, input, now, now);
        memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
        return;
    }
    if (stands(s, before, now)) {
        if (s->still < STILL_END) s->still++;
        if (s->still == STILL_END) sup_track_calm(&s->view.track, at(s, s->at.track));
        if (!sup_track_restless(&s->view.track, at(s, s->at.track))) return;
    } else
        s->still = 0;
    walk(s, input, count_subframes(s, before, now, input->values[SUP_IMPLICIT_SUBSTEP], INFINITY));
}

static void stage_over(const sup_step_input *input, const char *stage)
{
    if (input->stage_done != NULL) input->stage_done(input->stage_user, stage);
}

sup_result sup_implicit_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    implicit_state *s = state;
    sup_step_input linear = linear_input(input);
    const sup_shown *covers = &s->view.shown;
    bool all = covers->own_count + covers->upsample.covered == covers->upsample.vertex_count &&
               !sup_morphs_active(input->model, input->pose);
    sup_result result = all ? sup_linear_pose(&linear, at(s, s->at.linear)) /* both refuse poses out of range */
                            : sup_method_linear.step(&linear, at(s, s->at.linear), out);
    bool morphed = result == SUP_OK && !all && sup_morphs_take(&linear, at(s, s->at.linear), at(s, s->at.morphs), out);
    stage_over(input, "linear");
    if (result != SUP_OK) return result;
    advance(s, input);
    stage_over(input, "track");
    float *rows = at(s, s->at.shown), smooth = (float)input->values[SUP_IMPLICIT_SMOOTH];
    if (!sup_track_show(input->context, &s->view.track, at(s, s->at.track), smooth, rows)) { /* shows linear blending */
        s->lost = true;
        return all ? sup_method_linear.step(&linear, at(s, s->at.linear), out) : SUP_OK;
    }
    bool tracking = input->values[SUP_IMPLICIT_TRACKING] != 0.0;
    float elastic = tracking ? (float)input->values[SUP_IMPLICIT_ELASTIC] : 0.0f;
    int32_t bent = sup_track_ease(input->context, &s->view.track, at(s, s->at.track), elastic, rows);
    sup_track_limit(input->context, &s->view.track, at(s, s->at.track), bent, rows);
    if (input->colliders != NULL)
        sup_outside_push(
            input->context, &s->view.track, at(s, s->at.track),
            sup_colliders_between(input->colliders, 0.0, 1.0, sup_v3(s->origin[0], s->origin[1], s->origin[2])),
            input->colliders->count, s->view.size, rows);
    sup_shown_input shown = {rows,
                             sup_track_turns(&s->view.track, at(s, s->at.track)),
                             s->view.size,
                             {s->origin[0], s->origin[1], s->origin[2]}};
    result = sup_shown_apply(input->context, &s->view.shown, &shown, at(s, s->at.scratch), out);
    if (result == SUP_OK && morphed) sup_morphs_add(&s->view.shown, at(s, s->at.morphs), out);
    stage_over(input, "skin");
    return result;
}

/* Points go to the track's space, where the fields stand. */
void sup_implicit_look(const sup_model *model, void *state, const float *points, int32_t count, float *values)
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
        sup_field_points block;
        sup_field_samples samples;
        float *axes[3] = {block.x, block.y, block.z};
        for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
            const float *p = points + 3 * (int64_t)(first + k < count ? first + k : count - 1);
            for (int c = 0; c < 3; c++)
                axes[c][k] = (float)(((double)p[c] - s->origin[c]) / s->view.size);
        }
        sup_compose_evaluate(&s->view.compose, &posed, &block, &samples, NULL);
        for (int32_t k = 0; k < SUP_FIELD_LANES && first + k < count; k++)
            values[first + k] = samples.value[k];
    }
}
