/* projective_blend.c - linear blending of the simulated skin: anchors, rigid regions, velocity limits,
 * extrapolation. */
#include "methods/projective/projective_state.h"

#include "base/simd.h"
#include "solver/joint_scale.h"
#include "solver/rest_damping_kernel.h"
#include "solver/solver.h"
#include "solver/velocity_limit.h"

enum { BLEND_GRAIN = 512 }; /* vertices that a task blends */

void sup_projective_blend_point(const sup_projective_view *view, const sup_mat34 *joints, int32_t v, const float *from,
                                float *to)
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

void sup_projective_blend_vertex(const sup_projective_view *view, const sup_mat34 *joints, int32_t v, float out[3])
{
    sup_projective_blend_point(view, joints, v, view->start_rest + 3 * (size_t)v, out);
}

void sup_projective_evaluate_anchors(sup_projective_state *s, const sup_context *context, const sup_mat34 *joints)
{
    float *anchors = at(s, s->at.anchors);
    for (int32_t i = 0; i < s->view.fixed_count; i++, anchors += 4) {
        sup_projective_blend_vertex(&s->view, joints, s->view.fixed[i], anchors);
        anchors[3] = 0.0f;
    }
    sup_anchors_evaluate(context, &s->view.anchors, joints, at(s, s->at.anchor_state), anchors);
}

/* Skin of joints that the animation scales follows linear blending. */
static void blend_scaled(sup_projective_state *s, const sup_mat34 *joints, float *skin)
{
    const sup_projective_view *view = &s->view;
    float *scaled = at(s, s->at.joint_scale), any = 0.0f;
    for (int32_t j = 0; j < view->joint_count; j++)
        any += scaled[j] = sup_joint_scale_weight(joints[j].m);
    for (int32_t v = 0; v < view->system.skin_count && any > 0.0f; v++) {
        float share = 0.0f, blended[3], *to = skin + 4 * (size_t)v;
        for (int i = 0; i < SUP_PROJECTIVE_INFLUENCES; i++) {
            size_t k = SUP_PROJECTIVE_INFLUENCES * (size_t)v + (size_t)i;
            share += view->start_weight[k] * scaled[view->start_joint[k]];
        }
        if (!(share > 0.0f)) continue;
        sup_projective_blend_vertex(view, joints, v, blended);
        for (int k = 0; k < 3; k++)
            to[k] += share * (blended[k] - to[k]);
    }
}

void sup_projective_read_skin(sup_projective_state *s, const sup_mat34 *joints)
{
    float *skin = at(s, s->at.skin[0]);
    sup_solver_skin(&s->view.system, at(s, s->at.solver), skin, 4);
    for (int32_t i = 0; i < s->view.rigid_count; i++) {
        float blended[3], *to = skin + 4 * (size_t)s->view.rigid_vertex[i];
        sup_projective_blend_vertex(&s->view, joints, s->view.rigid_vertex[i], blended);
        for (int k = 0; k < 3; k++)
            to[k] += s->view.rigid_weight[i] * (blended[k] - to[k]);
    }
    blend_scaled(s, joints, skin);
}

void sup_projective_next_skin(sup_projective_state *s, const sup_mat34 *joints)
{
    memcpy(at(s, s->at.skin[1]), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
    sup_projective_read_skin(s, joints);
}

typedef struct velocity_limit_work {
    sup_projective_state *state;
    float momentum, held; /* mu of [komaritzan2022] eq. 2.14, and that of these vertices */
} velocity_limit_work;

static void limit_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const velocity_limit_work *w = work;
    sup_projective_state *s = w->state;
    const sup_projective_view *view = &s->view;
    const float *now = at(s, s->at.skin[0]), *previous = at(s, s->at.skin[1]);
    const sup_mat34 *motion = at(s, s->at.joints[4]);
    float *force = at(s, s->at.force);
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        size_t v = (size_t)view->velocity_limit_vertex[i];
        float move[3], move_previous[3], mass = view->system.mass[view->system.node[v]];
        sup_projective_blend_point(view, motion, view->velocity_limit_vertex[i], now + 4 * v, move);
        sup_projective_blend_point(view, motion, view->velocity_limit_vertex[i], previous + 4 * v, move_previous);
        sup_velocity_limit(now + 4 * v, previous + 4 * v, move, move_previous, w->momentum, w->held,
                           view->velocity_limit_length[i], force + 3 * v);
        for (int k = 0; k < 3; k++)
            force[3 * v + (size_t)k] *= mass;
    }
}

const float *sup_projective_limit_velocity(sup_projective_state *s, const sup_context *context, float damping)
{
    velocity_limit_work work = {s, 1.0f - damping, 1.0f - sup_rest_held_damping(s->rest_steps, damping)};
    if (s->view.velocity_limit_count == 0) return NULL;
    sup_parallel(context, s->view.velocity_limit_count, BLEND_GRAIN, limit_some, &work);
    return at(s, s->at.force);
}

typedef struct extrapolation {
    sup_projective_state *state;
    const sup_mat34 *motion; /* [joint_count] from the last step to the pose, minus the identity */
} extrapolation;

static void extrapolate_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const extrapolation *w = work;
    sup_projective_state *s = w->state;
    const float *skin = at(s, s->at.skin[0]);
    float *extrapolated = at(s, s->at.extrapolated);
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        const float *from = skin + 4 * (size_t)v;
        float *to = extrapolated + 4 * (size_t)v;
        sup_projective_blend_point(&s->view, w->motion, v, from, to);
        for (int k = 0; k < 3; k++)
            to[k] += from[k];
    }
}

void sup_projective_extrapolate(sup_projective_state *s, const sup_context *context, const sup_mat34 *joints)
{
    const sup_mat34 *stepped = at(s, s->at.joints[2]);
    sup_mat34 *motion = at(s, s->at.joints[4]);
    size_t count = (size_t)s->view.joint_count;
    bool moves = memcmp(joints, stepped, count * sizeof *joints) != 0;
    for (size_t j = 0; j < count; j++) {
        sup_affine inverse, change = sup_affine_identity();
        if (moves && sup_affine_inverse(sup_affine_from_float(stepped[j]), &inverse))
            change = sup_affine_multiply(sup_affine_from_float(joints[j]), inverse);
        for (int k = 0; k < 3; k++)
            change.m[5 * k] -= 1.0;
        motion[j] = sup_affine_to_float(change);
    }
    if (moves)
        sup_parallel(context, s->view.system.skin_count, BLEND_GRAIN, extrapolate_some, &(extrapolation){s, motion});
    else
        memcpy(at(s, s->at.extrapolated), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
}
