/* projective_step.c - one frame: steps of a fixed length until the frame is reached, then the shown skin.
 *
 * The simulation runs at its own rate, 60 steps a second: flesh moves the same at any frame rate. Each step has the pose
 * of its own moment, evenly between those of the frames around it. A frame that falls between two steps shows the last
 * one, carried on by the joints to where they are now: skin is never behind the skeleton.
 *
 * Far from the world's origin floats are coarse: the simulation then has an origin of its own, near the skeleton's root,
 * and only the shown skin is moved back. */
#include "methods/projective/projective.h"

#include "base/simd.h"
#include "deform/instance_colliders.h"
#include "pose/timestep.h"
#include "methods/linear/linear.h"
#include "solver/rest_damping.h"
#include "contact/collider_contact.h"
#include "contact/contact_rules.h"
#include "untangle/offset_decay.h"
#include "untangle/untangle_rules.h"
#include "methods/projective/projective_paint.h"
#include "solver/solver.h"
#include "methods/projective/projective_view.h"

enum {
    BLEND_GRAIN = 512,  /* vertices a thread blends at a time */
    SETTLE_ROUNDS = 30, /* steps without momentum after a reset, */
    TOUCH_ROUNDS = 20,  /* and with contact after those */
    MOST_STEPS = SUP_TIMESTEP_MOST_STEPS,
    /* Steps that the skeleton stands, no parameter and no thing in the way changes: */
    STILL_TOUCH =
        6, /* pairs end that hold skin where it would not touch by itself, left over from a motion; skin of bones
                       * that would touch nothing if the joints carried it is let through what holds it; and where skin
                       * touches flesh is calmed, more and more, */
    STILL_EASE = 15,   /* until here, and from here on it no longer trembles; */
    STILL_BEGIN = 15,  /* other flesh is calmed as well, */
    STILL_CALM = 40,   /* until here; once it hardly moves it sleeps: nothing is computed until something changes; */
    STILL_LATE = 150,  /* from here on it also sleeps when it only creeps, */
    STILL_WINDOW = 30, /* steps over which that is seen */
    ASLEEP_FOR_GOOD = 1 << 20
};
/* Part of the momentum that a step takes away from flesh that is calmed: where skin touches skin, and else. */
static const float CALM_TOUCHING = 0.3f, CALM = 0.03f;
/* How far a joint may move in a step and stand all the same, in sizes of the character. */
static const float STILL = 1e-6f;
/* How far flesh moves in a step when it falls asleep, in sizes of the character; late: how
 * far it gets in STILL_WINDOW steps, creeping or trembling. */
static const float ASLEEP = 2e-6f, TREMBLE = 3e-3f;
/* The root may be this far from the simulation's origin, in sizes: floats are good to 1e-6 of the size there. */
static const double ORIGIN_REACH = 16.0;

/* Where things are in the state; offsets in bytes, 64-aligned. */
typedef struct layout {
    /* sup_mat34 [joint_count]: of the frame before, of this one, of the last step, of this one, ways of carry_skin */
    size_t joints[5];
    size_t skin[2];  /* float4 [skin_count]: last step, the one before */
    size_t shown;    /* float4 [skin_count] carried on to now */
    size_t window;   /* float4 [skin_count] at the begin of a window of hardly_moves */
    size_t limited;  /* float3 [velocity_limit_count] by linear blending, at the last step */
    size_t force;    /* float3 [skin_count] of the velocity limits */
    size_t rigid[2]; /* int32 and float [skin_count] of the view's rigid_vertex and rigid_share */
    size_t upsample, anchors, anchor_state, solver, detect, touch, touches, contacts, calm, offset, ends, linear, part,
        held, size;
} layout;

typedef struct projective_state {
    sup_projective_view view;
    layout at;
    float origin[3];                           /* of the simulation, in the world */
    double behind;                             /* seconds that the last step is behind the frame, in [0, step) */
    double energy;                             /* objective at the end of the last step */
    int32_t still;                             /* steps since the skeleton moved or a parameter changed */
    sup_rest_damping calm;                             /* from STILL_EASE on */
    int32_t touching;                          /* contacts that pushed in the last step */
    double values[SUP_PROJECTIVE_PARAM_COUNT]; /* parameters of the last frame */
    uint32_t things;                           /* list of colliders of the last frame, 0 for none */
    int32_t touch_count;                       /* touches with them in the last step */
    bool parted;                               /* the skin of the last frame was shown and parted */
    bool opened;                               /* the state holds the paint */
    int32_t rigid_count;                       /* the view's, over a reset */
} projective_state;

static size_t place(size_t *size, size_t bytes)
{
    size_t at = *size;
    *size += (bytes + 63) / 64 * 64;
    return at;
}

/* One of each skin vertex with the skin, one with a collider. */
static int32_t most_contacts(const sup_projective_view *view)
{
    return 2 * view->system.skin_count;
}

static layout layout_of(const sup_projective_view *view, const sup_model *model, const sup_context *context)
{
    layout at = {0};
    size_t joints = (size_t)view->joint_count * sizeof(sup_mat34),
           skin = (size_t)view->system.skin_count * 4 * sizeof(float);
    size_t size = 0;
    place(&size, sizeof(projective_state));
    for (int i = 0; i < SUP_COUNT(at.joints); i++)
        at.joints[i] = place(&size, joints);
    for (int i = 0; i < SUP_COUNT(at.skin); i++)
        at.skin[i] = place(&size, skin);
    at.shown = place(&size, skin);
    at.window = place(&size, skin);
    at.limited = place(&size, (size_t)view->velocity_limit_count * 3 * sizeof(float));
    at.force = place(&size, (size_t)view->system.skin_count * 3 * sizeof(float));
    for (int i = 0; i < SUP_COUNT(at.rigid); i++)
        at.rigid[i] = place(&size, (size_t)view->system.skin_count * sizeof(float));
    at.upsample = place(&size, sup_upsample_scratch(&view->upsample));
    at.anchors = place(&size, (size_t)view->system.anchor_count * 4 * sizeof(float));
    at.anchor_state = place(&size, sup_anchors_state_size(&view->anchors));
    at.solver = place(&size, sup_solver_state_size(&view->system, most_contacts(view)));
    at.detect = place(&size, sup_detect_state_size(&view->detect));
    at.touch = place(&size, sup_point_contact_state_size(view->system.skin_count));
    at.touches = place(&size, (size_t)view->system.skin_count * sizeof(sup_point_contact));
    at.contacts = place(&size, (size_t)most_contacts(view) * sizeof(sup_contact));
    at.calm = place(&size, (size_t)view->system.unknown_count * sizeof(sup_rest_damping_vertex));
    at.offset = place(&size, (size_t)view->part.vertex_count * 3 * sizeof(float));
    at.ends = place(&size, (size_t)view->anchors.segment_count * 6 * sizeof(float));
    at.linear = place(&size, sup_method_linear.state_size(model, context));
    at.part = place(&size, sup_untangle_scratch(&view->part));
    at.held = place(&size, (size_t)view->system.skin_count);
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

/* Everything but the scratch of the layer below, which depends on the number of threads. */
size_t sup_projective_saved_size(const sup_model *model, const sup_context *context)
{
    sup_projective_view view;
    if (sup_projective_open(model, &view, NULL) != SUP_OK) return 0;
    return layout_of(&view, model, context).linear;
}

sup_result sup_projective_restore(const sup_step_input *input, void *state)
{
    projective_state *s = state;
    memset(&s->view, 0, sizeof s->view);
    memset(&s->at, 0, sizeof s->at);
    if (input == NULL) return SUP_OK;
    sup_result result = sup_projective_open(input->model, &s->view, NULL);
    if (result == SUP_OK) s->at = layout_of(&s->view, input->model, input->context);
    return result;
}

/* world * inverse bind of every joint, less the origin. */
static void take_joints(projective_state *s, const sup_pose *pose, sup_mat34 *joints)
{
    for (int32_t j = 0; j < s->view.joint_count; j++) {
        sup_mat34 inverse, world = pose->world[s->view.joint_node[j]];
        memcpy(&inverse, s->view.joint_inverse_bind + 12 * (size_t)j, sizeof inverse);
        for (int k = 0; k < 3; k++)
            world.m[4 * k + 3] -= s->origin[k];
        joints[j] = sup_mat34_multiply(world, inverse);
    }
}

/* Where the first joint is in the world. */
static sup_vec3d root_of(const projective_state *s, const sup_pose *pose)
{
    const float *m = pose->world[s->view.joint_node[0]].m;
    return sup_v3((double)m[3], (double)m[7], (double)m[11]);
}

/* The world's origin where the root is near it, else the root; what the origin moved goes to `shift`. */
static bool choose_origin(projective_state *s, const sup_pose *pose, float shift[3])
{
    if (s->view.joint_count == 0) return false;
    sup_vec3d root = root_of(s, pose), origin = sup_v3_load(s->origin);
    double reach = ORIGIN_REACH * (double)s->view.size;
    if (sup_v3_distance(root, origin) <= reach) return false;
    sup_v3_store(s->origin, sup_v3_length(root) <= reach ? sup_v3(0, 0, 0) : root);
    sup_v3_store(shift, sup_v3_sub(origin, sup_v3_load(s->origin)));
    return true;
}

/* A root that went far: the whole state, and with it its momentum, goes to an origin near the root. */
static void follow_root(projective_state *s, const sup_pose *pose)
{
    float shift[3];
    if (!choose_origin(s, pose, shift)) return;
    float *skin = at(s, s->at.skin[0]), *skin_before = at(s, s->at.skin[1]), *limited = at(s, s->at.limited);
    sup_mat34 *before = at(s, s->at.joints[0]), *stepped = at(s, s->at.joints[2]);
    sup_solver_shift(&s->view.system, at(s, s->at.solver), shift);
    for (int k = 0; k < 3; k++) {
        for (int32_t v = 0; v < s->view.system.skin_count; v++) {
            skin[4 * (size_t)v + (size_t)k] += shift[k];
            skin_before[4 * (size_t)v + (size_t)k] += shift[k];
        }
        for (int32_t i = 0; i < s->view.velocity_limit_count; i++)
            limited[3 * (size_t)i + (size_t)k] += shift[k];
        for (int32_t j = 0; j < s->view.joint_count; j++) {
            before[j].m[4 * k + 3] += shift[k];
            stepped[j].m[4 * k + 3] += shift[k];
        }
    }
}

/* A place of a simulated skin vertex, carried by linear blending. */
static void blend(const sup_projective_view *view, const sup_mat34 *joints, int32_t v, const float *from, float *to)
{
    sup_four row[3] = {sup_four_splat(0.0f), sup_four_splat(0.0f), sup_four_splat(0.0f)};
    const sup_four point = {from[0], from[1], from[2], 1.0f};
    for (int i = 0; i < SUP_PROJECTIVE_INFLUENCES; i++) {
        size_t k = SUP_PROJECTIVE_INFLUENCES * (size_t)v + (size_t)i;
        const float *m = joints[view->start_joint[k]].m;
        sup_four weight = sup_four_splat(view->start_weight[k]);
        for (int r = 0; r < 3; r++)
            row[r] = sup_four_fma(weight, sup_four_load(m + 4 * r), row[r]);
    }
    for (int r = 0; r < 3; r++) {
        sup_four product = row[r] * point;
        to[r] = (product[0] + product[1]) + (product[2] + product[3]);
    }
}

/* The vertex itself. */
static void blend_vertex(const sup_projective_view *view, const sup_mat34 *joints, int32_t v, float out[3])
{
    blend(view, joints, v, view->start_rest + 3 * (size_t)v, out);
}

/* What the solver is given: skin that follows linear blending, then the bases that hang on bones. */
static void evaluate_anchors(projective_state *s, const sup_context *context, const sup_mat34 *joints)
{
    float *anchors = at(s, s->at.anchors);
    for (int32_t i = 0; i < s->view.fixed_count; i++, anchors += 4) {
        blend_vertex(&s->view, joints, s->view.fixed[i], anchors);
        anchors[3] = 0.0f;
    }
    sup_anchors_evaluate(context, &s->view.anchors, joints, at(s, s->at.anchor_state), anchors);
}

/* The solver's skin, and linear blending by the shares of the rigid regions. */
static void take_skin(projective_state *s, const sup_mat34 *joints)
{
    float *skin = at(s, s->at.skin[0]);
    sup_solver_skin(&s->view.system, at(s, s->at.solver), skin, 4);
    for (int32_t i = 0; i < s->view.rigid_count; i++) {
        float blended[3], *to = skin + 4 * (size_t)s->view.rigid_vertex[i];
        blend_vertex(&s->view, joints, s->view.rigid_vertex[i], blended);
        for (int k = 0; k < 3; k++)
            to[k] += s->view.rigid_share[i] * (blended[k] - to[k]);
    }
}

static void keep_skin(projective_state *s, const sup_mat34 *joints)
{
    memcpy(at(s, s->at.skin[1]), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
    take_skin(s, joints);
}

typedef struct velocity_limit_work {
    projective_state *state;
    const sup_mat34 *joints;
    float keep; /* mu of eq. 2.14 */
} velocity_limit_work;

static void pull_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const velocity_limit_work *w = work;
    projective_state *s = w->state;
    const sup_projective_view *view = &s->view;
    const float *now = at(s, s->at.skin[0]), *before = at(s, s->at.skin[1]);
    float *limited = at(s, s->at.limited), *force = at(s, s->at.force);
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        size_t v = (size_t)view->velocity_limit_vertex[i];
        float blended[3], rel[3], square = 0.0f, length = view->velocity_limit_length[i];
        blend_vertex(view, w->joints, view->velocity_limit_vertex[i], blended);
        for (int k = 0; k < 3; k++) {
            rel[k] = w->keep * (now[4 * v + (size_t)k] - before[4 * v + (size_t)k]) -
                     (blended[k] - limited[3 * (size_t)i + (size_t)k]);
            square += rel[k] * rel[k];
        }
        memcpy(limited + 3 * (size_t)i, blended, sizeof blended);
        bool taut = square > length * length;
        float cut = taut ? (length / sqrtf(square) - 1.0f) * view->system.mass[view->system.node[v]] : 0.0f;
        for (int k = 0; k < 3; k++)
            force[3 * v + (size_t)k] = cut * rel[k];
    }
}

/* Momentum takes flesh away from its bones: x + mu (x - x_before) against x + c, c the way that linear blending goes in
 * this step. Their difference is cut to the velocity limit's length by a force. What goes with its bones, and every swing that is
 * not violent, is as it would be without. */
static const float *pull_velocity_limits(projective_state *s, const sup_step_input *input, const sup_mat34 *joints,
                                 float damping)
{
    velocity_limit_work work = {s, joints, 1.0f - damping};
    if (s->view.velocity_limit_count == 0) return NULL;
    sup_parallel(input->context, s->view.velocity_limit_count, BLEND_GRAIN, pull_some, &work);
    return at(s, s->at.force);
}

typedef struct carry_work {
    projective_state *state;
    const sup_mat34 *carry;
} carry_work;

static void carry_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const carry_work *w = work;
    projective_state *s = w->state;
    const float *skin = at(s, s->at.skin[0]);
    float *shown = at(s, s->at.shown);
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        blend(&s->view, w->carry, v, skin + 4 * (size_t)v, shown + 4 * (size_t)v);
}

/* The skin of the last step, carried on by the joints from where they were in it to `joints`, into `shown`. */
static void carry_skin(projective_state *s, const sup_context *context, const sup_mat34 *joints)
{
    const sup_mat34 *stepped = at(s, s->at.joints[2]);
    sup_mat34 *carry = at(s, s->at.joints[4]);
    size_t count = (size_t)s->view.joint_count;
    if (memcmp(joints, stepped, count * sizeof *joints) == 0) {
        memcpy(at(s, s->at.shown), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
        return;
    }
    for (size_t j = 0; j < count; j++) {
        sup_affine back;
        carry[j] = sup_mat34_identity();
        if (sup_affine_inverse(sup_affine_from_float(stepped[j]), &back))
            carry[j] = sup_affine_to_float(sup_affine_multiply(sup_affine_from_float(joints[j]), back));
    }
    sup_parallel(context, s->view.system.skin_count, BLEND_GRAIN, carry_some, &(carry_work){s, carry});
}

/* Where there are layers, what moves under the skin starts with it; `room` is for three floats a skin vertex. */
static void put_layers(projective_state *s, const sup_mat34 *joints, float *room)
{
    const sup_system *system = &s->view.system;
    int32_t skin = system->skin_count, end = system->vertex_count > 2 * skin ? system->vertex_count : 0;
    for (int32_t i = skin; i < end; i++) {
        blend(&s->view, joints, i % skin, system->rest + 4 * (size_t)system->node[i], room + 3 * (size_t)(i % skin));
        if ((i + 1) % skin == 0) sup_solver_set_positions(system, at(s, s->at.solver), i + 1 - skin, skin, room);
    }
}

/* Which segments of bone would have skin that touches nothing if all of it were carried by the joints. */
static void find_apart(projective_state *s, const sup_context *context, const sup_detect_input *detect)
{
    const sup_mat34 *joints = at(s, s->at.joints[3]);
    float *carried = at(s, s->at.shown);
    for (int32_t v = 0; v < s->view.system.skin_count; v++)
        blend_vertex(&s->view, joints, v, carried + 4 * (size_t)v);
    sup_detect_find_separated(context, &s->view.detect, at(s, s->at.detect), detect);
    carry_skin(s, context, joints);
}

static int32_t detect_contacts(projective_state *s, const sup_step_input *input)
{
    const float *from = sup_anchors_segment_ends(&s->view.anchors, at(s, s->at.anchor_state));
    float *ends = at(s, s->at.ends);
    for (int32_t p = 0; p < s->view.anchors.segment_count; p++)
        for (int end = 0; end < 2; end++)
            memcpy(ends + 6 * (size_t)p + 3 * (size_t)end, from + 8 * (size_t)p + 4 * (size_t)end, 3 * sizeof(float));
    sup_detect_input detect = {.skin = at(s, s->at.shown),
                               .skin_stride = 4,
                               .segment_ends = ends,
                               .friction = (float)input->values[SUP_PROJECTIVE_FRICTION],
                               .end_stale = s->still == STILL_TOUCH,
                               .release_separated = s->still >= STILL_TOUCH && s->still < STILL_EASE};
    if (s->still == STILL_TOUCH) find_apart(s, input->context, &detect);
    return sup_detect_step(input->context, &s->view.detect, at(s, s->at.detect), &detect, at(s, s->at.contacts));
}

/* Without momentum until nothing moves, and then until skin that touches is apart. */
static sup_result settle(projective_state *s, const sup_step_input *input, const sup_mat34 *joints)
{
    sup_solver_input solver = {.anchors = at(s, s->at.anchors),
                               .bones = sup_anchors_segment_ends(&s->view.anchors, at(s, s->at.anchor_state)),
                               .contacts = at(s, s->at.contacts)};
    sup_result result = sup_solver_settle(input->context, &s->view.system, at(s, s->at.solver), &solver, SETTLE_ROUNDS);
    for (int32_t i = 0; result == SUP_OK && i < TOUCH_ROUNDS && input->values[SUP_PROJECTIVE_CONTACT] != 0.0; i++) {
        take_skin(s, joints);
        memcpy(at(s, s->at.shown), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
        solver.contact_count = detect_contacts(s, input);
        if (solver.contact_count == 0) break;
        result = sup_solver_settle(input->context, &s->view.system, at(s, s->at.solver), &solver, 1);
    }
    return result;
}

static sup_result put_at_rest(projective_state *s, const sup_step_input *input)
{
    const sup_context *context = input->context;
    const sup_pose *pose = input->pose;
    sup_mat34 *now = at(s, s->at.joints[1]);
    float *start = at(s, s->at.shown), shift[3]; /* three floats a vertex */
    choose_origin(s, pose, shift);
    take_joints(s, pose, now);
    memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
    memcpy(at(s, s->at.joints[2]), now, (size_t)s->view.joint_count * sizeof *now);
    evaluate_anchors(s, context, now);
    for (int32_t v = 0; v < s->view.system.skin_count; v++)
        blend_vertex(&s->view, now, v, start + 3 * (size_t)v);
    for (int32_t i = 0; i < s->view.velocity_limit_count; i++)
        blend_vertex(&s->view, now, s->view.velocity_limit_vertex[i], (float *)at(s, s->at.limited) + 3 * (size_t)i);
    sup_detect_reset(&s->view.detect, at(s, s->at.detect));
    sup_point_contact_reset(s->view.system.skin_count, at(s, s->at.touch));
    sup_result result =
        sup_solver_reset(context, &s->view.system, at(s, s->at.solver), most_contacts(&s->view), NULL, start, 0);
    put_layers(s, now, start);
    s->still = 0;
    if (result == SUP_OK) result = settle(s, input, now);
    keep_skin(s, now);
    keep_skin(s, now);
    memset(at(s, s->at.offset), 0, (size_t)s->view.part.vertex_count * 3 * sizeof(float));
    s->behind = 0.0;
    s->touching = 0;
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

static sup_result open_paint(projective_state *s, const sup_model *model, const float *values, sup_error *error)
{
    return sup_projective_paint_live(model, &s->view, values, at(s, s->at.rigid[0]), at(s, s->at.rigid[1]),
                                     &s->rigid_count, error);
}

/* From here on the instance's own paint counts. */
static void show_paint(projective_state *s)
{
    s->view.rigid_count = s->rigid_count;
    s->view.rigid_vertex = at(s, s->at.rigid[0]);
    s->view.rigid_share = at(s, s->at.rigid[1]);
}

sup_result sup_projective_paint(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error)
{
    projective_state *s = state;
    SUP_UNUSED(map); /* "rigid" is the only live one */
    sup_result result = open_paint(s, model, values, error);
    if (result != SUP_OK) return result;
    show_paint(s);
    /* The shown skin goes to its new place at once, and its velocity is what it was: paint is no push. */
    float *skin = at(s, s->at.skin[0]), *before = at(s, s->at.skin[1]), *old = at(s, s->at.shown);
    size_t count = (size_t)s->view.system.skin_count * 4;
    memcpy(old, skin, count * sizeof *skin);
    take_skin(s, at(s, s->at.joints[2]));
    for (size_t i = 0; i < count; i++)
        before[i] += skin[i] - old[i];
    return SUP_OK;
}

sup_result sup_projective_reset(const sup_step_input *input, void *state)
{
    projective_state *s = state;
    sup_result result = sup_projective_open(input->model, &s->view, NULL);
    if (result != SUP_OK) return result;
    s->at = layout_of(&s->view, input->model, input->context);
    memset(s->origin, 0, sizeof s->origin);
    if (!s->opened) result = open_paint(s, input->model, NULL, NULL);
    if (result != SUP_OK) return result;
    show_paint(s);
    s->opened = true;
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.reset(&linear, at(s, s->at.linear));
    return result == SUP_OK ? put_at_rest(s, input) : result;
}

/* How much a collider holds a vertex: all, or less where it went through the flesh to the bone. */
static float collider_hold(projective_state *s, const sup_posed_collider *solid, int32_t v)
{
    const sup_system *system = &s->view.system;
    const float *skin = system->rest + 4 * (size_t)system->node[v],
                *base = system->rest + 4 * (size_t)system->node[system->skin_count + v];
    double thickness = sup_v3_distance(sup_v3_load(skin), sup_v3_load(base)) + (double)s->view.detect.edge[0];
    sup_collider_query view;
    float free_place[3];
    blend_vertex(&s->view, at(s, s->at.joints[3]), v, free_place);
    if (!sup_collider_find_nearest(solid, sup_v3_load(free_place), 0.0, &view)) return 1.0f;
    double deep = -view.height / thickness;
    return sup_collider_hold(deep);
}

/* Rows of the skin with what is in the way, part t0 to t1 of the frame. */
static int32_t touch_colliders(projective_state *s, const sup_step_input *input, double t0, double t1,
                               sup_contact *rows)
{
    float edge = s->view.detect.edge[0];
    const sup_posed_collider *solids = sup_colliders_between(input->colliders, t0, t1, sup_v3_load(s->origin));
    sup_point_contact_input touch = {.colliders = solids,
                             .collider_count = input->colliders->count,
                             .generation = input->colliders->generation,
                             .points = at(s, s->at.shown),
                             .stride = 4,
                             .point_count = s->view.system.skin_count,
                             .gap = SUP_COLLIDER_GAP * edge,
                             .release = SUP_COLLIDER_RELEASE * edge};
    sup_point_contact *touches = at(s, s->at.touches);
    int32_t count = sup_point_contact_find(input->context, &touch, at(s, s->at.touch), touches);
    int32_t rows_found = 0;
    s->touch_count = count;
    for (int32_t i = 0; i < count; i++) {
        const sup_posed_collider *solid = &solids[touches[i].collider];
        float hold = collider_hold(s, solid, touches[i].vertex);
        if (hold > 0.0f) rows[rows_found++] = sup_collider_contact(solid, &touches[i], touch.gap, hold);
    }
    return rows_found;
}

/* Rows of the skin with itself and with things, looked for where bones and things are at the end of the step: the skin is
 * carried there first. */
static int32_t find_contacts(projective_state *s, const sup_step_input *input, double t0, double t1)
{
    bool touches_itself = input->values[SUP_PROJECTIVE_CONTACT] != 0.0;
    if (!touches_itself && input->colliders == NULL) return 0;
    carry_skin(s, input->context, at(s, s->at.joints[3]));
    int32_t count = touches_itself ? detect_contacts(s, input) : 0;
    if (input->colliders == NULL) return count;
    return count + touch_colliders(s, input, t0, t1, (sup_contact *)at(s, s->at.contacts) + count);
}

/* Part of the momentum that the step takes away. */
static float damping_of(const projective_state *s, const sup_step_input *input)
{
    bool touches = s->touching > 0;
    int32_t begin = touches ? STILL_TOUCH : STILL_BEGIN, end = touches ? STILL_EASE : STILL_CALM;
    float part = (float)(s->still - begin) / (float)(end - begin);
    float calm = (touches ? CALM_TOUCHING : CALM) * fmaxf(0.0f, fminf(1.0f, part));
    return fmaxf((float)input->values[SUP_PROJECTIVE_DAMPING], calm);
}

static void stage_over(const sup_step_input *input, const char *stage)
{
    if (input->stage_done != NULL) input->stage_done(input->stage_user, stage);
}

static void solver_stage_over(void *user, sup_solver_stage stage)
{
    stage_over(user, sup_solver_stage_names[stage]);
}

static float farthest_move(const projective_state *s, const float *from, const float *to)
{
    float most = 0.0f;
    for (size_t i = 0; i < (size_t)s->view.system.skin_count * 4; i++)
        most = fmaxf(most, fabsf(to[i] - from[i]));
    return most / s->view.size;
}

/* Flesh goes to and fro no longer once the skeleton has stood for a moment. */
static void calm_flesh(projective_state *s)
{
    const sup_system *system = &s->view.system;
    const float *before;
    if (s->still < STILL_EASE) return;
    if (s->still == STILL_EASE) sup_rest_damping_begin(system, &s->calm, at(s, s->at.calm));
    float *now = sup_solver_step_ends(system, at(s, s->at.solver), &before);
    sup_rest_damping_step(system, before, now, s->touching > 0, &s->calm, at(s, s->at.calm));
}

/* One step of the simulation from part t0 to part t1 of the frame, the joints where they are at its end. */
static sup_result simulate(projective_state *s, const sup_step_input *input, double t0, double t1)
{
    const sup_mat34 *before = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    sup_mat34 *joints = at(s, s->at.joints[3]);
    for (int32_t j = 0; j < s->view.joint_count; j++)
        joints[j] = t1 < 1.0 ? sup_timestep_between(before[j], now[j], t1) : now[j];
    evaluate_anchors(s, input->context, joints);
    stage_over(input, "anchors");
    float damping = damping_of(s, input);
    const float *force = pull_velocity_limits(s, input, joints, damping);
    stage_over(input, "velocity limits");
    int32_t contact_count = find_contacts(s, input, t0, t1);
    stage_over(input, "contacts");
    sup_solver_input solver = {.anchors = at(s, s->at.anchors),
                               .bones = sup_anchors_segment_ends(&s->view.anchors, at(s, s->at.anchor_state)),
                               .force = force,
                               .damping = damping,
                               .iterations = (int32_t)input->values[SUP_PROJECTIVE_ITERATIONS],
                               .tolerance = (float)input->values[SUP_PROJECTIVE_TOLERANCE],
                               .shared_rotation = input->values[SUP_PROJECTIVE_FAST] != 0.0,
                               .contacts = at(s, s->at.contacts),
                               .contact_count = contact_count};
    union { /* the solver hands it back to solver_stage_over, which does not write to it */
        const void *from;
        void *to;
    } watcher = {input};
    if (input->stage_done != NULL) {
        solver.stage_done = solver_stage_over;
        solver.stage_user = watcher.to;
    }
    sup_projective_forces(input->values, s->view.size, s->view.unit_metres, solver.gravity);
    sup_solver_report report = {0};
    sup_result result = sup_solver_step(input->context, &s->view.system, at(s, s->at.solver), &solver, &report);
    if (result != SUP_OK) return result;
    s->energy = report.objective;
    s->touching = report.contacts;
    calm_flesh(s);
    keep_skin(s, joints);
    memcpy(at(s, s->at.joints[2]), joints, (size_t)s->view.joint_count * sizeof *joints);
    return SUP_OK;
}

/* Neither the skeleton, nor a parameter, nor a thing in the way changed since the last frame. */
static bool stands(projective_state *s, const sup_step_input *input)
{
    const sup_mat34 *before = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    bool same = memcmp(s->values, input->values, sizeof s->values) == 0;
    memcpy(s->values, input->values, sizeof s->values);
    uint32_t things = input->colliders != NULL ? input->colliders->generation + 1 : 0;
    same = same && things == s->things && (things == 0 || sup_colliders_stand(input->colliders));
    s->things = things;
    if (!same) return false;
    for (int32_t j = 0; j < s->view.joint_count; j++)
        for (int k = 0; k < 12; k++)
            if (!(fabsf(now[j].m[k] - before[j].m[k]) <= STILL * (k % 4 == 3 ? s->view.size : 1.0f))) return false;
    return true;
}

/* The flesh, in the last step; late also over a window. */
static bool hardly_moves(projective_state *s)
{
    const float *last = at(s, s->at.skin[0]);
    if (farthest_move(s, at(s, s->at.skin[1]), last) <= ASLEEP) return true;
    if (s->still < STILL_LATE || s->still % STILL_WINDOW != 0) return false;
    bool little = s->still > STILL_LATE && farthest_move(s, at(s, s->at.window), last) <= TREMBLE;
    memcpy(at(s, s->at.window), last, (size_t)s->view.system.skin_count * 4 * sizeof *last);
    return little;
}

/* The steps whose time has come. */
static sup_result advance(projective_state *s, const sup_step_input *input)
{
    const double step = SUP_PROJECTIVE_SECONDS, slack = 1e-4; /* of a step: frame times are rounded */
    double dt = (double)input->dt, due = floor((s->behind + dt) / step + slack);
    int32_t steps = due < MOST_STEPS ? (int32_t)due : MOST_STEPS;
    follow_root(s, input->pose);
    take_joints(s, input->pose, at(s, s->at.joints[1]));
    if (sup_timestep_teleported(s->view.joint_count, at(s, s->at.joints[0]), at(s, s->at.joints[1]), steps, s->view.size))
        return put_at_rest(s, input);
    bool still = stands(s, input);
    sup_result result = SUP_OK;
    for (int32_t i = 1; result == SUP_OK && i <= steps; i++) {
        bool tired = s->still >= STILL_CALM && (s->still == ASLEEP_FOR_GOOD || hardly_moves(s));
        s->still = !still ? 0 : tired ? ASLEEP_FOR_GOOD : s->still < ASLEEP_FOR_GOOD - 1 ? s->still + 1 : s->still;
        if (s->still == ASLEEP_FOR_GOOD) {
            keep_skin(s, at(s, s->at.joints[2]));
            continue;
        }
        double end = due > MOST_STEPS ? (double)i / steps : fmin(((double)i * step - s->behind) / dt, 1.0);
        double begin =
            due > MOST_STEPS ? (double)(i - 1) / steps : fmax(((double)(i - 1) * step - s->behind) / dt, 0.0);
        result = simulate(s, input, begin, i == steps && end > 1.0 - slack ? 1.0 : end);
    }
    s->behind = due > MOST_STEPS ? 0.0 : s->behind + dt - (double)steps * step;
    if (s->behind < slack * step) s->behind = 0.0;
    memcpy(at(s, s->at.joints[0]), at(s, s->at.joints[1]), (size_t)s->view.joint_count * sizeof(sup_mat34));
    return result;
}

static void move_blocks(const projective_state *s, const sup_upsample_clusters *blocks, const sup_skin_out *out)
{
    for (int64_t i = 0; i < (int64_t)blocks->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        int32_t v = blocks->render_vertex[i];
        float *p = (float *)(void *)((unsigned char *)out->positions + (size_t)(v < 0 ? 0 : v) * out->position_stride);
        for (int k = 0; k < 3 && v >= 0; k++)
            p[k] += s->origin[k];
    }
}

/* From the simulation's origin to the world's, for the vertices that the simulation moves. */
static void move_to_world(const projective_state *s, const sup_skin_out *out)
{
    if (out->positions == NULL || (s->origin[0] == 0.0f && s->origin[1] == 0.0f && s->origin[2] == 0.0f)) return;
    move_blocks(s, &s->view.upsample.plain, out);
    move_blocks(s, &s->view.upsample.followers, out);
}

/* What still crosses in the shown skin is parted; skin that is painted rigid or lies on a collider stays where it is. */
static void part(projective_state *s, const sup_step_input *input, const sup_skin_out *out)
{
    const sup_projective_view *view = &s->view;
    unsigned char *held = at(s, s->at.held);
    bool rests = s->still >= STILL_CALM || (s->still > STILL_EASE && s->calm.part < 1.0f);
    memset(held, 0, (size_t)view->system.skin_count);
    for (int32_t i = 0; i < view->rigid_count; i++)
        held[view->rigid_vertex[i]] = (view->part.rest_contact[view->rigid_vertex[i]] & SUP_UNTANGLE_REST_ONE_JOINT) == 0;
    const sup_point_contact *touches = at(s, s->at.touches);
    for (int32_t i = 0; input->colliders != NULL && i < s->touch_count; i++)
        held[touches[i].vertex] = 1;
    sup_untangle_def def = {.near = sup_detect_near(&view->detect, at(s, s->at.detect)),
                        .fixed = held,
                        .coarse_rest = view->start_rest,
                        .gap = view->detect.gap,
                        .offset = at(s, s->at.offset),
                        .offset_fraction = sup_untangle_offset_fraction(s->parted, rests,
                                                             sup_untangle_decay(input->dt)),
                        .search = s->still != ASLEEP_FOR_GOOD};
    sup_untangle(input->context, &view->part, &def, at(s, s->at.part), out);
}

sup_result sup_projective_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    projective_state *s = state;
    sup_result result = advance(s, input);
    if (result != SUP_OK) return result;
    carry_skin(s, input->context, at(s, s->at.joints[1]));
    stage_over(input, "skin");
    /* What is not skin by linear blending, then the simulated skin over it. */
    sup_step_input linear = linear_input(input);
    result = s->view.upsample.covered == s->view.upsample.vertex_count
                 ? sup_linear_pose(&linear, at(s, s->at.linear))
                 : sup_method_linear.step(&linear, at(s, s->at.linear), out);
    stage_over(input, "linear");
    if (result == SUP_OK)
        result = sup_upsample_apply(input->context, &s->view.upsample, at(s, s->at.shown), at(s, s->at.upsample), out);
    stage_over(input, "upsample");
    bool parts = result == SUP_OK && out->positions != NULL && input->values[SUP_PROJECTIVE_CONTACT] != 0.0 &&
                 input->values[SUP_PROJECTIVE_UNTANGLE] != 0.0;
    if (parts) part(s, input, out);
    s->parted = parts;
    if (result == SUP_OK) move_to_world(s, out);
    stage_over(input, "part");
    return result;
}

/* Capsules of the segments, less their insets, then the spheres, as they were at the end of the last step. */
static void list_bones(projective_state *s, float *bones)
{
    const sup_anchors *a = &s->view.anchors;
    const float *ends = sup_anchors_segment_ends(a, at(s, s->at.anchor_state));
    const sup_mat34 *joints = at(s, s->at.joints[2]);
    for (int32_t p = 0; p < a->segment_count; p++, bones += 7) {
        const float *from = ends + 8 * (size_t)p, *to = from + 4, *rest = a->segment_rest + 8 * (size_t)p;
        double length = sup_v3_distance(sup_v3_load(from), sup_v3_load(to));
        for (int k = 0; k < 3; k++) {
            double along = length > 0.0 ? ((double)to[k] - (double)from[k]) / length : 0.0;
            bones[k] = (float)((double)from[k] + (double)rest[3] * along) + s->origin[k];
            bones[3 + k] = (float)((double)to[k] - (double)rest[7] * along) + s->origin[k];
        }
        bones[6] = a->segment_radius[p];
    }
    for (int32_t b = 0; b < a->sphere_count; b++, bones += 7) {
        const float *rest = a->sphere_rest + 4 * (size_t)b, *m = joints[a->sphere_joint[b]].m;
        for (int k = 0; k < 3; k++)
            bones[k] = bones[3 + k] =
                m[4 * k] * rest[0] + m[4 * k + 1] * rest[1] + m[4 * k + 2] * rest[2] + m[4 * k + 3] + s->origin[k];
        bones[6] = rest[3];
    }
}

void sup_projective_inner(const sup_model *model, void *state, sup_inner *inner)
{
    SUP_UNUSED(model);
    projective_state *s = state;
    const sup_system *system = &s->view.system;
    inner->point_count = system->unknown_count + system->anchor_count;
    inner->tet_count = sup_system_tets(system, inner->tets);
    inner->bone_count = s->view.anchors.segment_count + s->view.anchors.sphere_count;
    const float *x = sup_solver_positions(system, at(s, s->at.solver));
    for (int64_t i = 0; inner->points != NULL && i < inner->point_count; i++)
        for (int k = 0; k < 3; k++)
            inner->points[3 * i + k] = x[4 * i + k] + s->origin[k];
    if (inner->bones != NULL) list_bones(s, inner->bones);
}

double sup_projective_energy(const void *state)
{
    return ((const projective_state *)state)->energy;
}
