/* projective_step.c - one frame: steps of a fixed length until the frame is reached, then the shown skin.
 *
 * The simulation runs at its own rate, 60 steps a second: flesh moves the same at any frame rate. It is never behind the
 * skeleton: steps are taken until the frame's time is reached or passed, and the frame shows the skin between the last
 * two steps. Within a frame of several steps the joints move evenly from the pose before to this one. */
#include "methods/projective/projective.h"

#include "methods/linear/linear.h"
#include "methods/projective/solver.h"
#include "methods/projective/view.h"

enum {
    SETTLE_ROUNDS = 30, /* steps without momentum after a reset */
    MOST_STEPS = 30     /* of one frame: a pause of half a second and more is caught up in one jump */
};
/* A joint that moves farther than this in one step, in sizes of the character, was put there: the flesh follows at once. */
static const float TELEPORT = 0.5f;
/* Height of a character whose file does not say its unit, for gravity. */
static const float ASSUMED_METRES = 2.0f;

/* Where things are in the state; offsets in bytes, 64-aligned. */
typedef struct layout {
    size_t joints[3]; /* sup_mat34 [joint_count]: before, now, between */
    size_t skin[2];   /* float4 [skin_count]: last step, the one before */
    size_t shown;     /* float4 [skin_count] between the steps */
    size_t upsample, anchors, anchor_state, solver, detect, contacts, ends, linear, size;
} layout;

typedef struct projective_state {
    sup_projective_view view;
    layout at;
    double ahead; /* seconds that the last step is ahead of the frame, in [0, step) */
} projective_state;

static size_t place(size_t *size, size_t bytes)
{
    size_t at = *size;
    *size += (bytes + 63) / 64 * 64;
    return at;
}

static layout layout_of(const sup_projective_view *view, const sup_model *model, const sup_context *context)
{
    layout at = {0};
    size_t joints = (size_t)view->joint_count * sizeof(sup_mat34),
           skin = (size_t)view->system.skin_count * 4 * sizeof(float);
    size_t size = 0;
    place(&size, sizeof(projective_state));
    for (int i = 0; i < 3; i++)
        at.joints[i] = place(&size, joints);
    for (int i = 0; i < 2; i++)
        at.skin[i] = place(&size, skin);
    at.shown = place(&size, skin);
    at.upsample = place(&size, sup_upsample_scratch(&view->upsample));
    at.anchors = place(&size, (size_t)view->anchors.anchor_count * 4 * sizeof(float));
    at.anchor_state = place(&size, sup_anchors_state_size(&view->anchors));
    at.solver = place(&size, sup_solver_state_size(&view->system, view->system.skin_count));
    at.detect = place(&size, sup_detect_state_size(&view->detect));
    at.contacts = place(&size, (size_t)view->system.skin_count * sizeof(sup_contact));
    at.ends = place(&size, (size_t)view->anchors.piece_count * 6 * sizeof(float));
    at.linear = place(&size, sup_method_linear.state_size(model, context));
    at.size = size;
    return at;
}

static void *at(projective_state *s, size_t offset)
{
    return (unsigned char *)s + offset;
}

size_t sup_projective_state_size(const sup_model *model, const sup_context *context)
{
    sup_projective_view view;
    if (sup_projective_open(model, &view, NULL) != SUP_OK) return 0;
    return layout_of(&view, model, context).size;
}

/* world * inverse bind of every joint. */
static void take_joints(projective_state *s, const sup_pose *pose, sup_mat34 *joints)
{
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_mat34 inverse;
        memcpy(&inverse, s->view.joint_inverse_bind + 12 * (size_t)j, sizeof inverse);
        joints[j] = sup_mat34_multiply(pose->world[s->view.joint_node[j]], inverse);
    }
}

/* A joint part of the way from one place to another: rotation by slerp, the rest evenly. */
sup_mat34 sup_projective_joint_between(sup_mat34 from, sup_mat34 to, double t)
{
    sup_quatd qa, qb;
    double sa[9], sb[9], s[9];
    sup_affine a = sup_affine_from_float(from), b = sup_affine_from_float(to);
    if (!sup_affine_polar(a, &qa, sa) || !sup_affine_polar(b, &qb, sb)) return to;
    for (int i = 0; i < 9; i++)
        s[i] = sa[i] + t * (sb[i] - sa[i]);
    sup_affine stretch = {{s[0], s[1], s[2], 0, s[3], s[4], s[5], 0, s[6], s[7], s[8], 0}};
    sup_vec3d place_between = sup_v3_lerp(sup_affine_translation(a), sup_affine_translation(b), t);
    sup_affine turn = sup_affine_from_trs(place_between, sup_quatd_slerp(qa, qb, t), sup_v3(1, 1, 1));
    return sup_affine_to_float(sup_affine_multiply(turn, stretch));
}

static void evaluate_anchors(projective_state *s, const sup_mat34 *joints)
{
    sup_anchors_evaluate(&s->view.anchors, joints, at(s, s->at.anchor_state), at(s, s->at.anchors));
}

static void keep_skin(projective_state *s)
{
    memcpy(at(s, s->at.skin[1]), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
    sup_solver_skin(&s->view.system, at(s, s->at.solver), at(s, s->at.skin[0]), 4);
}

/* The simulated skin by linear blending, three floats a vertex: where the solver starts after a jump. */
static void blend_start(projective_state *s, const sup_mat34 *joints, float *skin)
{
    const sup_projective_view *view = &s->view;
    for (int32_t v = 0; v < view->system.skin_count; v++) {
        const float *rest = view->start_rest + 3 * (size_t)v;
        float sum[3] = {0, 0, 0};
        for (int i = 0; i < SUP_PROJECTIVE_INFLUENCES; i++) {
            size_t k = SUP_PROJECTIVE_INFLUENCES * (size_t)v + (size_t)i;
            sup_vec3 p = sup_mat34_transform_point(joints[view->start_joint[k]], (sup_vec3){rest[0], rest[1], rest[2]});
            sum[0] += view->start_weight[k] * p.x;
            sum[1] += view->start_weight[k] * p.y;
            sum[2] += view->start_weight[k] * p.z;
        }
        memcpy(skin + 3 * (size_t)v, sum, sizeof sum);
    }
}

static sup_result put_at_rest(projective_state *s, const sup_context *context, const sup_pose *pose)
{
    sup_mat34 *now = at(s, s->at.joints[1]);
    take_joints(s, pose, now);
    memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
    evaluate_anchors(s, now);
    blend_start(s, now, at(s, s->at.shown));
    sup_detect_reset(&s->view.detect, at(s, s->at.detect));
    sup_result result = sup_solver_reset(context, &s->view.system, at(s, s->at.solver), s->view.system.skin_count,
                                         at(s, s->at.anchors), at(s, s->at.shown), SETTLE_ROUNDS);
    keep_skin(s);
    keep_skin(s);
    s->ahead = 0.0;
    return result;
}

/* The input of the layer below, with parameters of its own. */
static sup_step_input linear_input(const sup_step_input *input)
{
    static const double values[SUP_SKIN_PARAM_COUNT] = {0.0};
    sup_step_input linear = *input;
    linear.values = values;
    return linear;
}

sup_result sup_projective_reset(const sup_step_input *input, void *state)
{
    projective_state *s = state;
    sup_result result = sup_projective_open(input->model, &s->view, NULL);
    if (result != SUP_OK) return result;
    s->at = layout_of(&s->view, input->model, input->context);
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.reset(&linear, at(s, s->at.linear));
    return result == SUP_OK ? put_at_rest(s, input->context, input->pose) : result;
}

static int32_t detect_contacts(projective_state *s, const sup_step_input *input)
{
    if (input->values[SUP_PROJECTIVE_CONTACT] == 0.0) return 0;
    const float *from = sup_anchors_piece_ends(&s->view.anchors, at(s, s->at.anchor_state));
    float *ends = at(s, s->at.ends);
    for (int32_t p = 0; p < s->view.anchors.piece_count; p++)
        for (int end = 0; end < 2; end++)
            memcpy(ends + 6 * (size_t)p + 3 * (size_t)end, from + 8 * (size_t)p + 4 * (size_t)end, 3 * sizeof(float));
    sup_detect_input detect = {.skin = at(s, s->at.skin[0]),
                               .skin_stride = 4,
                               .piece_ends = ends,
                               .friction = (float)input->values[SUP_PROJECTIVE_FRICTION]};
    return sup_detect_step(input->context, &s->view.detect, at(s, s->at.detect), &detect, at(s, s->at.contacts));
}

/* m/s^2 in file units per square of the solver's unit of time. */
static void set_gravity(const projective_state *s, const sup_step_input *input, float gravity[3])
{
    static const int axes[] = {1, 2, 0}; /* the parameter's choices: y, z, x */
    double metre =
        s->view.unit_metres > 0.0f ? 1.0 / (double)s->view.unit_metres : (double)s->view.size / (double)ASSUMED_METRES;
    double second = SUP_PROJECTIVE_TIME_STEP / SUP_PROJECTIVE_SECONDS;
    gravity[axes[(int)input->values[SUP_PROJECTIVE_UP]]] =
        (float)(-input->values[SUP_PROJECTIVE_GRAVITY] * metre / (second * second));
}

/* One step of the simulation with the joints where they are at its end. */
static sup_result simulate(projective_state *s, const sup_step_input *input, const sup_mat34 *joints)
{
    evaluate_anchors(s, joints);
    sup_solver_input solver = {.anchors = at(s, s->at.anchors),
                               .damping = (float)input->values[SUP_PROJECTIVE_DAMPING],
                               .iterations = (int32_t)input->values[SUP_PROJECTIVE_ITERATIONS],
                               .shared_rotation = input->values[SUP_PROJECTIVE_FAST] != 0.0,
                               .contacts = at(s, s->at.contacts),
                               .contact_count = detect_contacts(s, input)};
    set_gravity(s, input, solver.gravity);
    sup_result result = sup_solver_step(input->context, &s->view.system, at(s, s->at.solver), &solver, NULL);
    if (result == SUP_OK) keep_skin(s);
    return result;
}

static bool is_teleport(projective_state *s, const sup_mat34 *before, const sup_mat34 *now, int32_t steps)
{
    float limit = TELEPORT * s->view.size * (float)(steps < MOST_STEPS ? steps : 1);
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_vec3d a = sup_v3(before[j].m[3], before[j].m[7], before[j].m[11]),
                  b = sup_v3(now[j].m[3], now[j].m[7], now[j].m[11]);
        if (sup_v3_distance(a, b) <= (double)limit) return false;
    }
    return s->view.joint_count > 0;
}

/* Steps until the frame's time is reached. */
static sup_result advance(projective_state *s, const sup_step_input *input)
{
    sup_mat34 *before = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]), *between = at(s, s->at.joints[2]);
    double missing = (double)input->dt - s->ahead;
    int32_t steps = missing > 0.0 ? (int32_t)fmin(ceil(missing / SUP_PROJECTIVE_SECONDS - 1e-4), 1e6) : 0;
    take_joints(s, input->pose, now);
    if (is_teleport(s, before, now, steps)) return put_at_rest(s, input->context, input->pose);
    if (steps > MOST_STEPS) steps = MOST_STEPS;
    sup_result result = SUP_OK;
    for (int32_t i = 1; result == SUP_OK && i <= steps; i++) {
        for (int32_t j = 0; j < s->view.joint_count; j++)
            between[j] =
                i == steps ? now[j] : sup_projective_joint_between(before[j], now[j], (double)i / (double)steps);
        result = simulate(s, input, between);
    }
    s->ahead = fmax(0.0, fmin((double)steps * SUP_PROJECTIVE_SECONDS - missing, SUP_PROJECTIVE_SECONDS));
    if (s->ahead < 1e-6) s->ahead = 0.0;
    memcpy(before, now, (size_t)s->view.joint_count * sizeof *now);
    return result;
}

/* Between the last two steps, as far back as the last one is ahead. */
static void blend_skin(projective_state *s)
{
    float t = (float)(s->ahead / SUP_PROJECTIVE_SECONDS), *shown = at(s, s->at.shown);
    const float *last = at(s, s->at.skin[0]), *before = at(s, s->at.skin[1]);
    for (size_t i = 0; i < (size_t)s->view.system.skin_count * 4; i++)
        shown[i] = last[i] + t * (before[i] - last[i]);
}

sup_result sup_projective_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    projective_state *s = state;
    sup_result result = advance(s, input);
    if (result != SUP_OK) return result;
    blend_skin(s);
    /* Everything by linear blending, then the simulated skin over it. */
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.step(&linear, at(s, s->at.linear), out);
    if (result != SUP_OK) return result;
    return sup_upsample_apply(input->context, &s->view.upsample, at(s, s->at.shown), at(s, s->at.upsample), out);
}
