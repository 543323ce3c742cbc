/* position_step.c - one frame: fixed timesteps up to the time of the frame, then the render mesh.
 *
 * Based on: [aburumman2016thesis] algorithm 5. Layer one, linear blending of the particles, guides layer two, the
 * solver.
 *
 * The coordinates of the solver are in sizes of the character, relative to an origin that follows it: the result
 * depends neither on the unit nor on the distance from the world origin. */
#include "methods/position/position.h"
#include "methods/position/position_scale.h"

#include "base/simd.h"
#include "pose/timestep.h"
#include "methods/linear/linear.h"

/* Size of a character whose file does not specify its unit, for gravity and stiffness. */
static const double ASSUMED_METRES = 2.0;
/* Maximum distance of the character from the origin of the solver, in sizes, before the origin moves. */
static const double FAR = 4.0;
/* Thresholds of motion: of a joint, in sizes and radians per frame; of the tissue, in sizes per step, early and
 * late. */
static const float STILL = 1e-6f, SLOW = 2e-6f, CREEP = 1e-4f;
static const float REST_DAMPING = 60.0f; /* rest damping, 1/s */
/* Stretch of an edge of the skin that is allowed in any pose; with soft tissue, which swings also where linear blending
 * does not stretch. */
static const float FREE_STRETCH = 1.1f, FREE_STRETCH_SOFT = 1.5f;
/* Deviation of the scale of a joint from 1 at which the volume of the skin is no longer corrected. */
static const float MAX_SCALE = 0.1f;
/* Steps without motion of the skeleton: rest damping begins, is full, and slow creep counts as rest. Steps at rest
 * after which the tissue sleeps. */
enum { STILL_BEGIN = 100, STILL_DAMPED = 200, STILL_CREEP = 800, QUIET_STEPS = 10, ASLEEP = 1000000 };
enum { SETTLE_STEPS = 30, GRAIN = 512 };

/* Offsets in the state in bytes, 64-aligned. */
typedef struct layout {
    size_t joints[3];            /* sup_mat34 [joint_count]: previous frame, this frame, interpolated */
    size_t columns;              /* float [joint_count*16] columns of the current joints in the space of the solver */
    size_t guide[2], bone, soft; /* float4 [slot_count] current and previous; float4; float [slot_count] */
    size_t output[2];            /* float4 [slot_count] particles and guide of the frame */
    size_t start;                /* float4 [slot_count] start of the last step; contact changes that of the solver */
    size_t painted;              /* float [slot_count*SUP_POSITION_MAP_COUNT] */
    size_t pbd, scale, embed, collide, correction, limit, linear;
} layout;

/* Parameters for which the regions were computed. */
typedef struct region_values {
    double soft, joint, radius, stiffness, momentum;
} region_values;

typedef struct position_state {
    sup_position_view view;
    layout at;
    double ahead;               /* time of the last step minus time of the frame, seconds */
    double origin[3];           /* of the solver's space, file units */
    bool diverged;              /* the last step was out of range: the frame shows linear blending */
    sup_position_scaled scaled; /* rest values of the last step */
    region_values regions;
    uint32_t region_version;
    bool swings;                             /* some particles have momentum */
    bool was_reset;                          /* no time has passed since the reset */
    bool opened, repainted;                  /* the state has the painted maps; they changed since the last frame */
    int32_t still;                           /* steps since anything but the tissue moved */
    int32_t quiet;                           /* steps since the tissue moved */
    uint32_t collider_generation;            /* colliders of the last frame */
    double values[SUP_POSITION_PARAM_COUNT]; /* of the last frame */
} position_state;

static sup_result find_offsets(const sup_position_view *view, const sup_model *model, const sup_context *context,
                               sup_layout *slots, layout *offsets)
{
    layout at = {0};
    sup_layout linear;
    sup_result result = sup_method_layout(&sup_method_linear, model, context, &linear);
    if (result != SUP_OK) return result;
    size_t joints = (size_t)view->joint_count, bytes = (size_t)view->pbd.slot_count * 4 * sizeof(float);
    sup_layout_add(slots, 1, sizeof(position_state));
    for (int i = 0; i < 3; i++)
        at.joints[i] = sup_layout_add(slots, 1, joints * sizeof(sup_mat34));
    at.columns = sup_layout_add(slots, 1, joints * 16 * sizeof(float));
    for (int i = 0; i < 2; i++) {
        at.guide[i] = sup_layout_add(slots, 1, bytes);
        at.output[i] = sup_layout_add(slots, 1, bytes);
    }
    at.bone = sup_layout_add(slots, 1, bytes);
    at.start = sup_layout_add(slots, 1, bytes);
    at.soft = sup_layout_add(slots, 1, bytes / 4);
    at.painted = sup_layout_add(slots, 1, bytes / 4 * SUP_POSITION_MAP_COUNT);
    at.pbd = sup_layout_add(slots, 1, sup_pbd_state_size(&view->pbd));
    at.scale = sup_layout_add(slots, 1, sup_position_scale_size(view));
    at.embed = sup_layout_add(slots, 1, sup_position_embed_scratch(&view->embed));
    at.collide = sup_layout_add(slots, 1, sup_collide_state_size(&view->collide));
    at.correction = sup_layout_add(slots, 1, sup_volume_correction_scratch(&view->correction));
    slots->saved_size = slots->size; /* the scratch of linear blending depends on the number of threads */
    at.limit = sup_layout_add(slots, 1, sup_skin_limit_scratch(&view->limit));
    at.linear = sup_layout_add(slots, 1, linear.size);
    *offsets = at;
    return SUP_OK;
}

static void *at(position_state *s, size_t offset)
{
    return (unsigned char *)s + offset;
}

sup_result sup_position_layout(const sup_model *model, const sup_context *context, sup_layout *slots)
{
    sup_position_view view;
    layout offsets;
    sup_result result = sup_position_open(model, &view, NULL);
    return result == SUP_OK ? find_offsets(&view, model, context, slots, &offsets) : result;
}

/* Opens the view and sets the offsets: pointers and offsets are not part of a saved state. */
static sup_result open_state(const sup_step_input *input, position_state *s)
{
    sup_layout slots = {0};
    sup_result result = sup_position_open(input->model, &s->view, NULL);
    return result == SUP_OK ? find_offsets(&s->view, input->model, input->context, &slots, &s->at) : result;
}

sup_result sup_position_restore(const sup_step_input *input, void *state)
{
    position_state *s = state;
    if (input == NULL) {
        sup_collide_restore(NULL, at(s, s->at.collide));
        sup_pbd_restore(NULL, at(s, s->at.pbd));
    }
    memset(&s->view, 0, sizeof s->view);
    memset(&s->at, 0, sizeof s->at);
    s->scaled = (sup_position_scaled){.deviation = s->scaled.deviation}; /* pointers into the state */
    if (input == NULL) return SUP_OK;
    sup_result result = open_state(input, s);
    if (result != SUP_OK) return result;
    sup_collide_restore(&s->view.collide, at(s, s->at.collide));
    sup_pbd_restore(&s->view.pbd, at(s, s->at.pbd));
    return SUP_OK;
}

/* --- Layer one --- */

/* Columns of the joint matrices in the space of the solver. */
static void set_columns(position_state *s, const sup_mat34 *joints)
{
    double scale = 1.0 / (double)s->view.size;
    float *columns = at(s, s->at.columns);
    for (int64_t j = 0; j < s->view.joint_count; j++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++) {
                double value = (double)joints[j].m[4 * r + c] - (c == 3 ? s->origin[r] : 0.0);
                columns[16 * j + 4 * c + r] = (float)(value * scale);
            }
}

typedef struct blend_work {
    position_state *state;
    float *guide; /* [slot_count*4] */
} blend_work;

/* Linear blending (eq. 3.1) of slots [begin, end), and their bone points, which move rigidly. */
static void blend_particles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    position_state *s = ((blend_work *)work)->state;
    const sup_position_view *view = &s->view;
    const float *columns = at(s, s->at.columns);
    float *guide = ((blend_work *)work)->guide, *bone = at(s, s->at.bone), scale = 1.0f / view->size;
    const float *distance = s->scaled.bone_distance;
    SUP_UNUSED(worker);
    for (int64_t i = begin; i < end; i++) {
        const float *rest = view->rest + 4 * i;
        sup_four x = sup_four_splat(rest[0]), y = sup_four_splat(rest[1]), z = sup_four_splat(rest[2]);
        sup_four sum = sup_four_splat(0.0f);
        for (int k = 0; k < SUP_POSITION_INFLUENCES; k++) {
            const float *m = columns + 16 * (int64_t)view->influence_joint[i * SUP_POSITION_INFLUENCES + k];
            sup_four p = sup_four_fma(x, sup_four_load(m), sup_four_load(m + 12));
            p = sup_four_fma(z, sup_four_load(m + 8), sup_four_fma(y, sup_four_load(m + 4), p));
            sum = sup_four_fma(sup_four_splat(view->influence_weight[i * SUP_POSITION_INFLUENCES + k]), p, sum);
        }
        memcpy(guide + 4 * i, &sum, sizeof sum);
        if (view->bone_joint[i] < 0) {
            bone[4 * i + 3] = -1.0f;
            continue;
        }
        const float *m = columns + 16 * (int64_t)view->bone_joint[i], *q = view->bone_point + 4 * i;
        sup_four p = sup_four_fma(sup_four_splat(q[0]), sup_four_load(m), sup_four_load(m + 12));
        p = sup_four_fma(sup_four_splat(q[1]), sup_four_load(m + 4), p);
        p = sup_four_fma(sup_four_splat(q[2]), sup_four_load(m + 8), p);
        memcpy(bone + 4 * i, &p, sizeof p);
        bone[4 * i + 3] = (distance != NULL ? distance[i] : rest[3]) * scale;
    }
}

static void blend_to(position_state *s, const sup_context *context, const sup_mat34 *joints, float *guide)
{
    blend_work work = {s, guide};
    set_columns(s, joints);
    sup_parallel(context, s->view.pbd.slot_count, GRAIN, blend_particles, &work);
}

static void blend_guide(position_state *s, const sup_context *context, const sup_mat34 *joints)
{
    memcpy(at(s, s->at.guide[1]), at(s, s->at.guide[0]), (size_t)s->view.pbd.slot_count * 4 * sizeof(float));
    s->scaled = sup_position_scale(context, &s->view, joints, at(s, s->at.scale));
    blend_to(s, context, joints, at(s, s->at.guide[0]));
}

/* --- Sleep --- */

/* Whether skeleton, parameters, maps and colliders are the same as in the last frame. */
static bool is_unchanged(position_state *s, const sup_step_input *input)
{
    const sup_mat34 *previous = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    uint32_t collider_generation = input->colliders != NULL ? input->colliders->generation + 1 : 0;
    bool same = memcmp(s->values, input->values, sizeof s->values) == 0 &&
                collider_generation == s->collider_generation &&
                (collider_generation == 0 || sup_colliders_at_rest(input->colliders));
    memcpy(s->values, input->values, sizeof s->values);
    s->collider_generation = collider_generation;
    same = same && !s->repainted;
    s->repainted = false;
    for (int32_t j = 0; same && j < s->view.joint_count; j++)
        for (int k = 0; same && k < 12; k++)
            same = fabsf(now[j].m[k] - previous[j].m[k]) <= STILL * (k % 4 == 3 ? s->view.size : 1.0f);
    return same;
}

static void store_step_start(position_state *s)
{
    memcpy(at(s, s->at.start), sup_pbd_positions(&s->view.pbd, at(s, s->at.pbd)),
           (size_t)s->view.pbd.slot_count * 4 * sizeof(float));
}

/* Largest displacement of a particle in the last step, per coordinate. */
static float last_displacement(position_state *s)
{
    const float *positions = sup_pbd_positions(&s->view.pbd, at(s, s->at.pbd)), *previous = at(s, s->at.start);
    float largest = 0.0f;
    for (int64_t i = 0; i < 4 * (int64_t)s->view.pbd.slot_count; i++)
        largest = fmaxf(largest, i % 4 == 3 ? 0.0f : fabsf(positions[i] - previous[i]));
    return largest;
}

/* Counts the steps without motion; true: the tissue sleeps. The threshold grows with time. */
static bool update_sleep(position_state *s, bool still)
{
    if (!still) {
        s->still = s->quiet = 0;
        return false;
    }
    if (s->still == ASLEEP) return true;
    if (s->still < ASLEEP - 1) s->still++;
    float late = (float)(s->still - STILL_DAMPED) / (float)(STILL_CREEP - STILL_DAMPED);
    float threshold = SLOW * powf(CREEP / SLOW, fmaxf(0.0f, fminf(1.0f, late)));
    s->quiet = last_displacement(s) <= threshold ? s->quiet + 1 : 0;
    if (s->quiet >= QUIET_STEPS) s->still = ASLEEP;
    return s->still == ASLEEP;
}

/* Removes all velocity, including that of the guide. */
static void stop_particles(position_state *s)
{
    sup_pbd_stop(&s->view.pbd, at(s, s->at.pbd));
    store_step_start(s);
    memcpy(at(s, s->at.guide[1]), at(s, s->at.guide[0]), (size_t)s->view.pbd.slot_count * 4 * sizeof(float));
}

/* Rest damping, 1/s, while the skeleton does not move: swinging decays by itself, jitter in contact does not. */
static float rest_damping(const position_state *s)
{
    float fraction = (float)(s->still - STILL_BEGIN) / (float)(STILL_DAMPED - STILL_BEGIN);
    return REST_DAMPING * fmaxf(0.0f, fminf(1.0f, fraction));
}

/* --- Input of the solver --- */

static double metres(const position_state *s)
{
    return s->view.unit_metres > 0.0f ? (double)s->view.size * (double)s->view.unit_metres : ASSUMED_METRES;
}

/* Painted softness, and a sphere around a joint: 1 inside half its radius, then smoothly down to 0. */
static void paint_soft(position_state *s, const region_values *values, float *soft)
{
    const sup_position_view *view = &s->view;
    int32_t joint = (int32_t)values->joint;
    for (int32_t i = 0; i < view->pbd.slot_count; i++) {
        soft[i] = view->painted[SUP_POSITION_MAP_COUNT * (int64_t)i + SUP_POSITION_MAP_SOFT];
        if (joint >= view->joint_count || !(view->pbd.particle_volume[i] > 0.0f)) continue;
        double distance = sup_v3_distance(sup_v3_load(view->surface + 4 * (int64_t)i),
                                          sup_v3_load(view->joint_centre + 3 * (int64_t)joint));
        double t = 2.0 - 2.0 * distance / fmax(values->radius * (double)view->size, 1e-30);
        t = fmin(fmax(t, 0.0), 1.0);
        soft[i] = fmaxf(soft[i], (float)(values->soft * t * t * (3.0 - 2.0 * t)));
    }
}

static void update_regions(position_state *s, const double *v)
{
    region_values now = {v[SUP_POSITION_SOFT], v[SUP_POSITION_SOFT_JOINT], v[SUP_POSITION_SOFT_RADIUS],
                         v[SUP_POSITION_SOFT_STIFFNESS], v[SUP_POSITION_MOMENTUM]};
    if (!s->repainted && s->region_version > 0 && memcmp(&now, &s->regions, sizeof now) == 0) return;
    float *soft = at(s, s->at.soft);
    sup_pbd_regions regions = sup_pbd_regions_of(&s->view.pbd, at(s, s->at.pbd));
    paint_soft(s, &now, soft);
    sup_position_soften(&s->view, soft, (float)now.stiffness, &regions);
    sup_position_set_momentum(s->view.pbd.slot_count, now.momentum, &regions);
    s->swings = false;
    for (int32_t i = 0; i < s->view.pbd.slot_count; i++)
        s->swings |= regions.damping[i] < INFINITY;
    s->regions = now;
    s->region_version++;
}

static double step_seconds(const double *v)
{
    return SUP_POSITION_SECONDS / v[SUP_POSITION_SUBSTEPS];
}

static sup_pbd_input solver_input(position_state *s, const double *v)
{
    static const int axes[] = {1, 2, 0}; /* choices of the parameter: y, z, x */
    bool raw = v[SUP_POSITION_STIFFNESS_MODE] != 0.0;
    double size = metres(s);
    sup_pbd_input input = {.settings = {.raw = raw,
                                        .seconds = (float)step_seconds(v),
                                        .stretch = v[raw ? SUP_POSITION_K_STRETCH : SUP_POSITION_STIFFNESS],
                                        .volume = v[raw ? SUP_POSITION_K_VOLUME : SUP_POSITION_VOLUME],
                                        .bind = v[raw ? SUP_POSITION_K_BIND : SUP_POSITION_BIND],
                                        .follow = raw ? 1.0 : v[SUP_POSITION_FOLLOW],
                                        .inertia = v[SUP_POSITION_DENSITY] * size * size,
                                        .regions = s->region_version},
                           .guide = at(s, s->at.guide[0]),
                           .guide_previous = at(s, s->at.guide[1]),
                           .bone = at(s, s->at.bone),
                           .volume_rest = s->scaled.volume_rest,
                           .stretch_rest = s->scaled.stretch_rest,
                           .damping = (float)v[SUP_POSITION_DAMPING],
                           .iterations = (int32_t)v[SUP_POSITION_ITERATIONS]};
    input.gravity[axes[(int)v[SUP_POSITION_UP]]] = (float)(-v[SUP_POSITION_GRAVITY] / size);
    return input;
}

/* Input of contact for a step from fraction t0 to t1 of the frame. */
static void begin_contact(position_state *s, const sup_step_input *input, const sup_mat34 *joints, double t0, double t1)
{
    static const sup_collide_mode modes[] = {SUP_COLLIDE_ON_DEMAND, SUP_COLLIDE_OFF,
                                             SUP_COLLIDE_ALWAYS}; /* order of the choices */
    const double *v = input->values;
    sup_collide_input collide = {.mode = modes[(int)v[SUP_POSITION_CONTACT]],
                                 .planes = v[SUP_POSITION_PLANES] != 0.0,
                                 .still = s->still > 0,
                                 .no_new_contacts = s->still >= STILL_DAMPED,
                                 .friction = (float)v[SUP_POSITION_FRICTION],
                                 .joints = joints,
                                 .origin = {s->origin[0], s->origin[1], s->origin[2]},
                                 .size = s->view.size,
                                 .rest = s->view.rest,
                                 .bone = at(s, s->at.bone),
                                 .previous = sup_pbd_previous(&s->view.pbd, at(s, s->at.pbd)),
                                 .iterations = (int32_t)v[SUP_POSITION_ITERATIONS]};
    if (input->colliders != NULL) {
        collide.solids =
            sup_colliders_between(input->colliders, t0, t1, sup_v3(s->origin[0], s->origin[1], s->origin[2]));
        collide.solid_count = input->colliders->count;
        collide.generation = input->colliders->generation;
    }
    sup_collide_begin(&s->view.collide, at(s, s->at.collide), &collide);
}

static void simulate(position_state *s, const sup_step_input *input, const sup_mat34 *joints, double t0, double t1)
{
    blend_guide(s, input->context, joints);
    store_step_start(s);
    sup_pbd_input solver = solver_input(s, input->values);
    solver.damping = fmaxf(solver.damping, rest_damping(s));
    begin_contact(s, input, joints, t0, t1);
    solver.contact = sup_collide_solve;
    solver.contact_user = at(s, s->at.collide);
    s->diverged = !sup_pbd_step(input->context, &s->view.pbd, at(s, s->at.pbd), &solver);
}

/* --- Origin of the solver --- */

/* Position near the body: the first particle, moved by its first joint. */
static sup_vec3d body_position(const position_state *s, const sup_mat34 *joints)
{
    const float *rest = s->view.rest;
    sup_affine first = sup_affine_from_float(joints[s->view.influence_joint[0]]);
    return sup_affine_point(first, sup_v3_load(rest));
}

static void translate_positions(float *positions, int32_t count, const float by[3])
{
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            positions[4 * i + c] += by[c];
}

/* Moves the origin to the body when it is far; world positions do not change. */
static void follow_body(position_state *s, const sup_mat34 *joints)
{
    sup_vec3d body = body_position(s, joints),
              away = sup_v3_sub(body, sup_v3(s->origin[0], s->origin[1], s->origin[2]));
    if (sup_v3_length(away) < FAR * (double)s->view.size) return;
    const double to[3] = {body.x, body.y, body.z};
    float by[3];
    for (int c = 0; c < 3; c++) {
        by[c] = (float)((s->origin[c] - to[c]) / (double)s->view.size);
        s->origin[c] = to[c];
    }
    int32_t slots = s->view.pbd.slot_count;
    translate_positions(sup_pbd_positions(&s->view.pbd, at(s, s->at.pbd)), slots, by);
    translate_positions(sup_pbd_previous(&s->view.pbd, at(s, s->at.pbd)), slots, by);
    translate_positions(at(s, s->at.start), slots, by);
    for (int i = 0; i < 2; i++)
        translate_positions(at(s, s->at.guide[i]), slots, by);
}

/* --- Frames --- */

static void settle(position_state *s, const sup_step_input *input)
{
    sup_mat34 *now = at(s, s->at.joints[1]);
    sup_vec3d body = body_position(s, now);
    s->origin[0] = body.x;
    s->origin[1] = body.y;
    s->origin[2] = body.z;
    memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
    blend_guide(s, input->context, now);
    blend_guide(s, input->context, now); /* also sets the previous guide */
    sup_pbd_set_positions(&s->view.pbd, at(s, s->at.pbd), at(s, s->at.guide[0]));
    update_regions(s, input->values);
    sup_collide_reset(&s->view.collide, at(s, s->at.collide));
    s->still = s->quiet = 0;
    for (int32_t i = 0; i < SETTLE_STEPS; i++) {
        simulate(s, input, now, 1.0, 1.0);
        sup_pbd_stop(&s->view.pbd, at(s, s->at.pbd));
    }
    store_step_start(s);
    s->ahead = 0.0;
}

/* Input of linear blending with its own parameters. */
static sup_step_input linear_input(const sup_step_input *input)
{
    static const double values[SUP_SKIN_PARAM_COUNT] = {0.0};
    sup_step_input linear = *input;
    linear.values = values;
    return linear;
}

static void compute_joints(position_state *s, const sup_pose *pose)
{
    sup_timestep_joints(pose->world, NULL, s->view.joint_count, s->view.joint_node, s->view.joint_inverse_bind,
                        at(s, s->at.joints[1]));
}

sup_result sup_position_reset(const sup_step_input *input, void *state)
{
    position_state *s = state;
    sup_result result = open_state(input, s);
    if (result != SUP_OK) return result;
    s->region_version = 0;
    if (!s->opened)
        memcpy(at(s, s->at.painted), s->view.painted,
               (size_t)s->view.pbd.slot_count * SUP_POSITION_MAP_COUNT * sizeof(float));
    s->view.painted = at(s, s->at.painted); /* from here on the copy of the instance */
    s->opened = true;
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.reset(&linear, at(s, s->at.linear));
    if (result != SUP_OK) return result;
    sup_pbd_init(&s->view.pbd, at(s, s->at.pbd), at(s, s->at.guide[0]));
    compute_joints(s, input->pose);
    settle(s, input);
    s->was_reset = true;
    return SUP_OK;
}

sup_result sup_position_paint(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error)
{
    position_state *s = state;
    float *painted = at(s, s->at.painted);
    int64_t slots = s->view.pbd.slot_count, count = slots * SUP_POSITION_MAP_COUNT;
    const float *bound = sup_model_array(model, "position.painted", SUP_ARRAY_FLOAT, count);
    SUP_UNUSED(error);
    if (values != NULL)
        sup_position_paint_particles(slots, s->view.paint_vertex, s->view.paint_weight, map, values, painted);
    for (int64_t i = map; values == NULL && i < count; i += SUP_POSITION_MAP_COUNT)
        painted[i] = bound[i];
    s->repainted = true;
    return SUP_OK;
}

/* Runs timesteps until the time of the frame is reached. */
static void advance(position_state *s, const sup_step_input *input)
{
    sup_mat34 *previous = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]), *between = at(s, s->at.joints[2]);
    sup_timestep frame =
        sup_timestep_advance(&s->ahead, (double)input->dt, step_seconds(input->values), SUP_TIMESTEP_AHEAD);
    compute_joints(s, input->pose);
    bool cut =
        input->dt > 0.0f && sup_timestep_is_cut(s->view.joint_count, s->view.collide.parent, s->view.joint_centre,
                                                previous, now, (double)input->dt, s->was_reset);
    s->was_reset = s->was_reset && !(input->dt > 0.0f);
    if (cut || sup_timestep_teleported(s->view.joint_count, previous, now, frame.count, s->view.size)) {
        settle(s, input);
        return;
    }
    follow_body(s, now);
    update_regions(s, input->values);
    bool still = is_unchanged(s, input);
    for (int32_t i = 1; i <= frame.count; i++) {
        if (update_sleep(s, still)) {
            stop_particles(s);
            continue;
        }
        double begin = sup_timestep_fraction(&frame, i - 1), end = sup_timestep_fraction(&frame, i);
        sup_timestep_interpolate(s->view.joint_count, s->view.collide.parent, s->view.joint_centre, previous, now,
                                 i == frame.count ? 1.0 : end, between);
        simulate(s, input, between, begin, end);
    }
    memcpy(previous, now, (size_t)s->view.joint_count * sizeof *now);
}

/* The guide of the pose of the frame, plus the deviation of the particles from it, interpolated between the last two
 * steps: the skeleton is exact, only the secondary motion is interpolated. */
static void interpolate_frame(position_state *s, const sup_context *context, double seconds)
{
    float t = (float)(s->ahead / seconds), *output = at(s, s->at.output[0]), *frame = at(s, s->at.output[1]);
    const float *positions = sup_pbd_positions(&s->view.pbd, at(s, s->at.pbd)), *guide = at(s, s->at.guide[0]);
    const float *positions_previous = at(s, s->at.start), *guide_previous = at(s, s->at.guide[1]);
    blend_to(s, context, at(s, s->at.joints[0]), frame);
    for (int64_t i = 0; i < 4 * (int64_t)s->view.pbd.slot_count; i++) {
        float deviation = positions[i] - guide[i], deviation_previous = positions_previous[i] - guide_previous[i];
        output[i] = frame[i] + deviation + t * (deviation_previous - deviation);
    }
}

sup_result sup_position_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    position_state *s = state;
    sup_step_input linear = linear_input(input);
    sup_result result = sup_method_linear.step(&linear, at(s, s->at.linear), out); /* fails for poses out of range */
    if (result != SUP_OK) return result;
    advance(s, input);
    if (s->diverged) return SUP_OK;
    sup_skin_limit_begin(&s->view.limit, s->view.size, s->swings ? FREE_STRETCH_SOFT : FREE_STRETCH, at(s, s->at.limit),
                         out);
    interpolate_frame(s, input->context, step_seconds(input->values));
    sup_position_embed_space space = {s->view.size, {s->origin[0], s->origin[1], s->origin[2]}};
    sup_position_embed_apply(input->context, &s->view.embed, at(s, s->at.output[0]), at(s, s->at.output[1]), &space,
                             at(s, s->at.embed), out);
    /* The volume of a scaled body is not known: no correction from a scale of MAX_SCALE on. */
    sup_volume_correction_apply(&s->view.correction, s->view.size, 1.0f - fminf(s->scaled.deviation / MAX_SCALE, 1.0f),
                                at(s, s->at.correction), out);
    sup_collide_project_skin(&s->view.collide, at(s, s->at.collide), input->context, at(s, s->at.joints[0]), s->origin,
                             out);
    sup_skin_limit_apply(&s->view.limit, s->view.size, at(s, s->at.limit), out);
    return SUP_OK;
}

/* Tets between kinematic particles are not constraints and are not included. */
void sup_position_inner(const sup_model *model, void *state, sup_inner *inner)
{
    SUP_UNUSED(model);
    position_state *s = state;
    const sup_pbd *pbd = &s->view.pbd;
    const float *positions = at(s, s->at.output[0]);
    inner->point_count = pbd->slot_count;
    inner->bone_count = 0;
    inner->tet_count = 0;
    for (int64_t i = 0; i < (int64_t)pbd->volume_batches * SUP_PBD_LANES; i++) {
        if (!(pbd->volume_rest[i] != 0.0f)) continue;
        const int32_t *corner = pbd->volume_corner + i / SUP_PBD_LANES * 4 * SUP_PBD_LANES + i % SUP_PBD_LANES;
        int32_t *tet = inner->tets != NULL ? inner->tets + 4 * (int64_t)inner->tet_count : NULL;
        for (int k = 0; k < 4 && tet != NULL; k++)
            tet[k] = corner[k * SUP_PBD_LANES];
        inner->tet_count++;
    }
    for (int64_t i = 0; inner->points != NULL && i < inner->point_count; i++)
        for (int k = 0; k < 3; k++)
            inner->points[3 * i + k] = (float)(s->origin[k] + (double)s->view.size * (double)positions[4 * i + k]);
}
