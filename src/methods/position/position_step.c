/* position_step.c - one frame: steps of a fixed length until the frame is reached, then the shown skin.
 *
 * Based on: [aburumman2016thesis] algorithm 5. Layer one, linear blending of the particles, guides layer two, the solver.
 *
 * The solver's coordinates are in sizes of the character from an origin that follows it: characters of any unit and far
 * from the world's origin move alike. */
#include "methods/position/position.h"

#include "base/simd.h"
#include "pose/timestep.h"
#include "methods/linear/linear.h"

/* Height of a character whose file does not say its unit, for gravity and stiffness. */
static const double ASSUMED_METRES = 2.0;
/* Sizes that the character may be away from the solver's origin before that follows. */
static const double FAR = 4.0;
/* Of a joint, in sizes and radians a frame: less is standing still. Of the flesh, in sizes a step: less is rest. */
static const float STILL = 1e-6f, SLOW = 2e-6f, CREEP = 1e-4f;
static const float CALM = 60.0f; /* 1/s */
/* Steps of standing: swinging is left alone until the first, damped fully from the second on, and creeping is rest at the
 * third. Steps of rest after which the flesh sleeps. */
enum { STILL_BEGIN = 100, STILL_CALM = 200, STILL_LATE = 800, QUIET = 10, ASLEEP = 1000000 };
enum { SETTLE_STEPS = 30, GRAIN = 512 };

/* Where things are in the state; offsets in bytes, 64-aligned. */
typedef struct layout {
    size_t joints[3];            /* sup_mat34 [joint_count]: before, now, between */
    size_t columns;              /* float [joint_count*16] of the current joints, for the solver's space */
    size_t guide[2], bone, soft; /* float4 [row_count] now and before; float4; float [row_count] */
    size_t shown[2];             /* float4 [row_count] of the frame: particles, guide */
    size_t start;                /* float4 [row_count] where the last step began: contact changes the solver's */
    size_t painted;              /* float [row_count*SUP_POSITION_MAP_COUNT] */
    size_t pbd, carry, meet, fill, linear;
} layout;

/* Live parameters that the regions were made for. */
typedef struct region_values {
    double soft, joint, radius, stiffness;
} region_values;

typedef struct position_state {
    sup_position_view view;
    layout at;
    double ahead;     /* seconds that the last step is ahead of the frame */
    double origin[3]; /* of the solver's space, file units */
    bool flat;        /* the last step left the range of numbers: the frame shows linear blending */
    region_values regions;
    uint32_t region_version;
    bool opened, repainted;                  /* the state holds the paint; it changed since the last frame */
    int32_t still;                           /* steps since anything but the flesh moved */
    int32_t quiet;                           /* steps since the flesh moved */
    uint32_t things;                         /* colliders of the last frame */
    double values[SUP_POSITION_PARAM_COUNT]; /* of the last frame */
} position_state;

static sup_result find_offsets(const sup_position_view *view, const sup_model *model, const sup_context *context,
                               sup_layout *slots, layout *offsets)
{
    layout at = {0};
    sup_layout linear;
    sup_result result = sup_method_layout(&sup_method_linear, model, context, &linear);
    if (result != SUP_OK) return result;
    size_t joints = (size_t)view->joint_count, rows = (size_t)view->pbd.row_count * 4 * sizeof(float);
    sup_layout_add(slots, 1, sizeof(position_state));
    for (int i = 0; i < 3; i++)
        at.joints[i] = sup_layout_add(slots, 1, joints * sizeof(sup_mat34));
    at.columns = sup_layout_add(slots, 1, joints * 16 * sizeof(float));
    for (int i = 0; i < 2; i++) {
        at.guide[i] = sup_layout_add(slots, 1, rows);
        at.shown[i] = sup_layout_add(slots, 1, rows);
    }
    at.bone = sup_layout_add(slots, 1, rows);
    at.start = sup_layout_add(slots, 1, rows);
    at.soft = sup_layout_add(slots, 1, rows / 4);
    at.painted = sup_layout_add(slots, 1, rows / 4 * SUP_POSITION_MAP_COUNT);
    at.pbd = sup_layout_add(slots, 1, sup_pbd_state_size(&view->pbd));
    at.carry = sup_layout_add(slots, 1, sup_carry_scratch(&view->carry));
    at.meet = sup_layout_add(slots, 1, sup_meet_state_size(&view->meet));
    at.fill = sup_layout_add(slots, 1, sup_fill_scratch(&view->fill));
    slots->saved_size = slots->size; /* the scratch of linear blending depends on the number of threads */
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
        sup_meet_restore(NULL, at(s, s->at.meet));
        sup_pbd_restore(NULL, at(s, s->at.pbd));
    }
    memset(&s->view, 0, sizeof s->view);
    memset(&s->at, 0, sizeof s->at);
    if (input == NULL) return SUP_OK;
    sup_result result = open_state(input, s);
    if (result != SUP_OK) return result;
    sup_meet_restore(&s->view.meet, at(s, s->at.meet));
    sup_pbd_restore(&s->view.pbd, at(s, s->at.pbd));
    return SUP_OK;
}

/* --- Layer one --- */

/* Columns of the joints' matrices, in the solver's space. */
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
    float *guide; /* [row_count*4] */
} blend_work;

/* Linear blending (eq. 3.1) of rows [begin, end), and the points of their bones, which ride with the bone. */
static void blend_rows(void *work, int32_t begin, int32_t end, int32_t worker)
{
    position_state *s = ((blend_work *)work)->state;
    const sup_position_view *view = &s->view;
    const float *columns = at(s, s->at.columns);
    float *guide = ((blend_work *)work)->guide, *bone = at(s, s->at.bone), scale = 1.0f / view->size;
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
        bone[4 * i + 3] = rest[3] * scale;
    }
}

static void blend_to(position_state *s, const sup_context *context, const sup_mat34 *joints, float *guide)
{
    blend_work work = {s, guide};
    set_columns(s, joints);
    sup_parallel(context, s->view.pbd.row_count, GRAIN, blend_rows, &work);
}

static void blend_guide(position_state *s, const sup_context *context, const sup_mat34 *joints)
{
    memcpy(at(s, s->at.guide[1]), at(s, s->at.guide[0]), (size_t)s->view.pbd.row_count * 4 * sizeof(float));
    blend_to(s, context, joints, at(s, s->at.guide[0]));
}

/* --- Standing still --- */

/* Neither the skeleton, nor a parameter, nor the paint, nor a thing in the way changed since the last frame. */
static bool stands(position_state *s, const sup_step_input *input)
{
    const sup_mat34 *before = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    uint32_t things = input->colliders != NULL ? input->colliders->generation + 1 : 0;
    bool same = memcmp(s->values, input->values, sizeof s->values) == 0 && things == s->things &&
                (things == 0 || sup_colliders_at_rest(input->colliders));
    memcpy(s->values, input->values, sizeof s->values);
    s->things = things;
    same = same && !s->repainted;
    s->repainted = false;
    for (int32_t j = 0; same && j < s->view.joint_count; j++)
        for (int k = 0; same && k < 12; k++)
            same = fabsf(now[j].m[k] - before[j].m[k]) <= STILL * (k % 4 == 3 ? s->view.size : 1.0f);
    return same;
}

/* A step begins. */
static void note_start(position_state *s)
{
    memcpy(at(s, s->at.start), sup_pbd_rows(&s->view.pbd, at(s, s->at.pbd)),
           (size_t)s->view.pbd.row_count * 4 * sizeof(float));
}

/* Farthest way of a particle in the last step. */
static float last_way(position_state *s)
{
    const float *rows = sup_pbd_rows(&s->view.pbd, at(s, s->at.pbd)), *before = at(s, s->at.start);
    float most = 0.0f;
    for (int64_t i = 0; i < 4 * (int64_t)s->view.pbd.row_count; i++)
        most = fmaxf(most, i % 4 == 3 ? 0.0f : fabsf(rows[i] - before[i]));
    return most;
}

/* Counts the steps of standing; true: the flesh sleeps. What counts as rest grows with the time of standing. */
static bool rests(position_state *s, bool still)
{
    if (!still) {
        s->still = s->quiet = 0;
        return false;
    }
    if (s->still == ASLEEP) return true;
    if (s->still < ASLEEP - 1) s->still++;
    float late = (float)(s->still - STILL_CALM) / (float)(STILL_LATE - STILL_CALM);
    float enough = SLOW * powf(CREEP / SLOW, fmaxf(0.0f, fminf(1.0f, late)));
    s->quiet = last_way(s) <= enough ? s->quiet + 1 : 0;
    if (s->quiet >= QUIET) s->still = ASLEEP;
    return s->still == ASLEEP;
}

/* Nothing moves, and what the guide did at the last step is over. */
static void sleep_on(position_state *s)
{
    sup_pbd_stop(&s->view.pbd, at(s, s->at.pbd));
    note_start(s);
    memcpy(at(s, s->at.guide[1]), at(s, s->at.guide[0]), (size_t)s->view.pbd.row_count * 4 * sizeof(float));
}

/* Damping, 1/s, of flesh whose skeleton stands: swinging dies out by itself, trembling in contact does not. */
static float calm_of(const position_state *s)
{
    float part = (float)(s->still - STILL_BEGIN) / (float)(STILL_CALM - STILL_BEGIN);
    return CALM * fmaxf(0.0f, fminf(1.0f, part));
}

/* --- The solver's input --- */

static double metres(const position_state *s)
{
    return s->view.unit_metres > 0.0f ? (double)s->view.size * (double)s->view.unit_metres : ASSUMED_METRES;
}

/* What was painted, and a sphere around a joint, on the skin: 1 inside half its radius, then smoothly down to 0. */
static void paint_soft(position_state *s, const region_values *values, float *soft)
{
    const sup_position_view *view = &s->view;
    int32_t joint = (int32_t)values->joint;
    for (int32_t i = 0; i < view->pbd.row_count; i++) {
        soft[i] = view->painted[SUP_POSITION_MAP_COUNT * (int64_t)i + SUP_POSITION_MAP_SOFT];
        if (joint >= view->joint_count || !(view->pbd.share[i] > 0.0f)) continue;
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
                         v[SUP_POSITION_SOFT_STIFFNESS]};
    if (!s->repainted && s->region_version > 0 && now.soft == s->regions.soft && now.joint == s->regions.joint &&
        now.radius == s->regions.radius && now.stiffness == s->regions.stiffness)
        return;
    float *soft = at(s, s->at.soft);
    sup_pbd_regions regions = sup_pbd_regions_of(&s->view.pbd, at(s, s->at.pbd));
    paint_soft(s, &now, soft);
    sup_position_soften(&s->view, soft, (float)now.stiffness, &regions);
    s->regions = now;
    s->region_version++;
}

static double step_seconds(const double *v)
{
    return SUP_POSITION_SECONDS / v[SUP_POSITION_SUBSTEPS];
}

static sup_pbd_input solver_input(position_state *s, const double *v)
{
    static const int axes[] = {1, 2, 0}; /* the parameter's choices: y, z, x */
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
                           .guide_before = at(s, s->at.guide[1]),
                           .bone = at(s, s->at.bone),
                           .damping = (float)v[SUP_POSITION_DAMPING],
                           .iterations = (int32_t)v[SUP_POSITION_ITERATIONS]};
    input.gravity[axes[(int)v[SUP_POSITION_UP]]] = (float)(-v[SUP_POSITION_GRAVITY] / size);
    return input;
}

/* Contact in a step from part t0 to part t1 of the frame. */
static void begin_contact(position_state *s, const sup_step_input *input, const sup_mat34 *joints, double t0, double t1)
{
    static const sup_meet_mode modes[] = {SUP_MEET_ON_DEMAND, SUP_MEET_OFF, SUP_MEET_ALWAYS}; /* the choices' order */
    const double *v = input->values;
    sup_meet_input meet = {.mode = modes[(int)v[SUP_POSITION_CONTACT]],
                           .planes = v[SUP_POSITION_PLANES] != 0.0,
                           .still = s->still > 0,
                           .calm = s->still >= STILL_CALM,
                           .friction = (float)v[SUP_POSITION_FRICTION],
                           .joints = joints,
                           .origin = {s->origin[0], s->origin[1], s->origin[2]},
                           .size = s->view.size,
                           .rest = s->view.rest,
                           .bone = at(s, s->at.bone),
                           .before = sup_pbd_before(&s->view.pbd, at(s, s->at.pbd)),
                           .iterations = (int32_t)v[SUP_POSITION_ITERATIONS]};
    if (input->colliders != NULL) {
        meet.solids = sup_colliders_between(input->colliders, t0, t1, sup_v3(s->origin[0], s->origin[1], s->origin[2]));
        meet.solid_count = input->colliders->count;
        meet.generation = input->colliders->generation;
    }
    sup_meet_begin(&s->view.meet, at(s, s->at.meet), &meet);
}

static void simulate(position_state *s, const sup_step_input *input, const sup_mat34 *joints, double t0, double t1)
{
    blend_guide(s, input->context, joints);
    note_start(s);
    sup_pbd_input solver = solver_input(s, input->values);
    solver.damping = fmaxf(solver.damping, calm_of(s));
    begin_contact(s, input, joints, t0, t1);
    solver.contact = sup_meet_solve;
    solver.contact_user = at(s, s->at.meet);
    s->flat = !sup_pbd_step(input->context, &s->view.pbd, at(s, s->at.pbd), &solver);
}

/* --- Where the solver's origin is --- */

/* Where the joints' matrices take the middle of the first particle: near the body. */
static sup_vec3d body_place(const position_state *s, const sup_mat34 *joints)
{
    const float *rest = s->view.rest;
    sup_affine first = sup_affine_from_float(joints[s->view.influence_joint[0]]);
    return sup_affine_point(first, sup_v3_load(rest));
}

static void shift_rows(float *rows, int32_t count, const float by[3])
{
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            rows[4 * i + c] += by[c];
}

/* Moves the origin to the body when that has gone far; everything keeps its place in the world. */
static void follow_body(position_state *s, const sup_mat34 *joints)
{
    sup_vec3d body = body_place(s, joints), away = sup_v3_sub(body, sup_v3(s->origin[0], s->origin[1], s->origin[2]));
    if (sup_v3_length(away) < FAR * (double)s->view.size) return;
    const double to[3] = {body.x, body.y, body.z};
    float by[3];
    for (int c = 0; c < 3; c++) {
        by[c] = (float)((s->origin[c] - to[c]) / (double)s->view.size);
        s->origin[c] = to[c];
    }
    int32_t rows = s->view.pbd.row_count;
    shift_rows(sup_pbd_rows(&s->view.pbd, at(s, s->at.pbd)), rows, by);
    shift_rows(sup_pbd_before(&s->view.pbd, at(s, s->at.pbd)), rows, by);
    shift_rows(at(s, s->at.start), rows, by);
    for (int i = 0; i < 2; i++)
        shift_rows(at(s, s->at.guide[i]), rows, by);
}

/* --- Frames --- */

static void put_at_rest(position_state *s, const sup_step_input *input)
{
    sup_mat34 *now = at(s, s->at.joints[1]);
    sup_vec3d body = body_place(s, now);
    s->origin[0] = body.x;
    s->origin[1] = body.y;
    s->origin[2] = body.z;
    memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
    blend_guide(s, input->context, now);
    blend_guide(s, input->context, now); /* as it was before, too */
    sup_pbd_place(&s->view.pbd, at(s, s->at.pbd), at(s, s->at.guide[0]));
    update_regions(s, input->values);
    sup_meet_reset(&s->view.meet, at(s, s->at.meet));
    s->still = s->quiet = 0;
    for (int32_t i = 0; i < SETTLE_STEPS; i++) {
        simulate(s, input, now, 1.0, 1.0);
        sup_pbd_stop(&s->view.pbd, at(s, s->at.pbd));
    }
    note_start(s);
    s->ahead = 0.0;
}

/* The input of the layer below, with parameters of its own. */
static sup_step_input linear_input(const sup_step_input *input)
{
    static const double values[SUP_SKIN_PARAM_COUNT] = {0.0};
    sup_step_input linear = *input;
    linear.values = values;
    return linear;
}

static void take_joints(position_state *s, const sup_pose *pose)
{
    sup_timestep_joints(pose->world, NULL, s->view.joint_count, s->view.joint_node, s->view.joint_inverse_bind, at(s, s->at.joints[1]));
}

sup_result sup_position_reset(const sup_step_input *input, void *state)
{
    position_state *s = state;
    sup_result result = open_state(input, s);
    if (result != SUP_OK) return result;
    s->region_version = 0;
    if (!s->opened)
        memcpy(at(s, s->at.painted), s->view.painted,
               (size_t)s->view.pbd.row_count * SUP_POSITION_MAP_COUNT * sizeof(float));
    s->view.painted = at(s, s->at.painted); /* the instance's own from here on */
    s->opened = true;
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.reset(&linear, at(s, s->at.linear));
    if (result != SUP_OK) return result;
    sup_pbd_start(&s->view.pbd, at(s, s->at.pbd), at(s, s->at.guide[0]));
    take_joints(s, input->pose);
    put_at_rest(s, input);
    return SUP_OK;
}

sup_result sup_position_paint(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error)
{
    position_state *s = state;
    float *painted = at(s, s->at.painted);
    int64_t rows = s->view.pbd.row_count, count = rows * SUP_POSITION_MAP_COUNT;
    const float *bound = sup_model_array(model, "position.painted", SUP_ARRAY_FLOAT, count);
    SUP_UNUSED(error);
    if (values != NULL) sup_position_paint_rows(rows, s->view.paint_vertex, s->view.paint_weight, map, values, painted);
    for (int64_t i = map; values == NULL && i < count; i += SUP_POSITION_MAP_COUNT)
        painted[i] = bound[i];
    s->repainted = true;
    return SUP_OK;
}

/* Steps until the frame's time is reached. */
static void advance(position_state *s, const sup_step_input *input)
{
    sup_mat34 *before = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]), *between = at(s, s->at.joints[2]);
    sup_timestep frame =
        sup_timestep_advance(&s->ahead, (double)input->dt, step_seconds(input->values), SUP_TIMESTEP_AHEAD);
    take_joints(s, input->pose);
    if (sup_timestep_teleported(s->view.joint_count, before, now, frame.count, s->view.size)) {
        put_at_rest(s, input);
        return;
    }
    follow_body(s, now);
    update_regions(s, input->values);
    bool still = stands(s, input);
    for (int32_t i = 1; i <= frame.count; i++) {
        if (rests(s, still)) {
            sleep_on(s);
            continue;
        }
        double begin = sup_timestep_fraction(&frame, i - 1), end = sup_timestep_fraction(&frame, i);
        for (int32_t j = 0; j < s->view.joint_count; j++)
            between[j] = i == frame.count ? now[j] : sup_timestep_between(before[j], now[j], end);
        simulate(s, input, between, begin, end);
    }
    memcpy(before, now, (size_t)s->view.joint_count * sizeof *now);
}

/* The guide of the frame's own pose, and the particles as far from it as between the last two steps: the skeleton is never
 * behind the frame, only the flesh's own motion is shown at the time between. */
static void show_rows(position_state *s, const sup_context *context, double seconds)
{
    float t = (float)(s->ahead / seconds), *shown = at(s, s->at.shown[0]), *frame = at(s, s->at.shown[1]);
    const float *rows = sup_pbd_rows(&s->view.pbd, at(s, s->at.pbd)), *guide = at(s, s->at.guide[0]);
    const float *rows_before = at(s, s->at.start), *guide_before = at(s, s->at.guide[1]);
    blend_to(s, context, at(s, s->at.joints[0]), frame);
    for (int64_t i = 0; i < 4 * (int64_t)s->view.pbd.row_count; i++) {
        float own = rows[i] - guide[i], own_before = rows_before[i] - guide_before[i];
        shown[i] = frame[i] + own + t * (own_before - own);
    }
}

sup_result sup_position_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    position_state *s = state;
    sup_step_input linear = linear_input(input);
    sup_result result = sup_method_linear.step(&linear, at(s, s->at.linear), out); /* refuses poses out of range */
    if (result != SUP_OK) return result;
    advance(s, input);
    if (s->flat) return SUP_OK;
    show_rows(s, input->context, step_seconds(input->values));
    sup_carry_space space = {s->view.size, {s->origin[0], s->origin[1], s->origin[2]}};
    sup_carry_apply(input->context, &s->view.carry, at(s, s->at.shown[0]), at(s, s->at.shown[1]), &space,
                    at(s, s->at.carry), out);
    sup_fill_apply(&s->view.fill, s->view.size, at(s, s->at.fill), out);
    sup_meet_press(&s->view.meet, at(s, s->at.meet), input->context, at(s, s->at.joints[0]), s->origin, out);
    return SUP_OK;
}

/* Tets between particles that only follow their bone are no constraints, and are left out. */
void sup_position_inner(const sup_model *model, void *state, sup_inner *inner)
{
    SUP_UNUSED(model);
    position_state *s = state;
    const sup_pbd *pbd = &s->view.pbd;
    const float *rows = at(s, s->at.shown[0]);
    inner->point_count = pbd->row_count;
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
            inner->points[3 * i + k] = (float)(s->origin[k] + (double)s->view.size * (double)rows[4 * i + k]);
}
