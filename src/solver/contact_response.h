/* contact_response.h (internal) - forces of one contact, and when conjugate gradients with contacts end: one source
 * for solver_contact.c and src/cuda.
 *
 * Based on: [komaritzan2022] section 3.2.5; see contact_constraint.h for the terms and solver_contact.c for the
 * solve. */
#ifndef SUP_SOLVER_CONTACT_RESPONSE_H
#define SUP_SOLVER_CONTACT_RESPONSE_H

#include "solver/contact_response_tuning.h"
#include "solver/element.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* --- Forces --- */

/* A contact along its normal. */
typedef struct sup_response_normal {
    float depth;     /* > 0: the contact pushes */
    float press;     /* force along the normal */
    float drag;      /* damping force against it */
    float moved;     /* displacement along the normal in this step: drag * moved / 2 is the energy of damping */
    float stiffness; /* its entry in the matrix along the normal; 0: none */
    float energy;    /* of `press` */
} sup_response_normal;

/* `along`: n . d now; `start`: the same at the start of the step; `size`: of the character. Beyond `limit` the
 * force is constant, and the stiffness is that of the parabola that touches the energy from above. */
SUP_ELEMENT sup_response_normal sup_response_push(float along, float start, float offset, float stiffness, float limit,
                                                  float damping, float size)
{
    sup_response_normal c;
    c.depth = offset - along;
    c.moved = along - start;
    c.drag = damping * c.moved;
    c.stiffness = damping;
    c.press = c.energy = 0.0f;
    if (c.depth > 0.0f && c.depth < limit) {
        c.press = stiffness * c.depth;
        c.stiffness += stiffness;
        c.energy = 0.5f * c.press * c.depth;
    } else if (c.depth > 0.0f) {
        c.press = stiffness * limit;
        c.stiffness += c.press / c.depth;
        c.energy = c.press * (c.depth - 0.5f * limit);
    } else if (c.depth > -SUP_RESPONSE_NEAR * size) {
        c.stiffness += stiffness;
    }
    return c;
}

/* Largest tangential force. `cap`: that of the previous iteration, < 0 before the first. It is set once per step:
 * otherwise the objective would change between iterations. */
SUP_ELEMENT float sup_response_friction_cap(float cap, float friction, float press)
{
    return cap < 0.0f ? friction * press : cap;
}

/* Friction of a contact that has slid by `length` in this step. */
typedef struct sup_response_tangent {
    float stiffness, energy;
} sup_response_tangent;

/* Sticks inside the friction cone; slips outside it with a force of constant size, and the stiffness is that of the
 * parabola that touches the energy from above. */
SUP_ELEMENT sup_response_tangent sup_response_slide(float length, float stiffness, float cap)
{
    const float pull = stiffness * length;
    const bool sticks = pull <= cap;
    sup_response_tangent t;
    t.stiffness = sticks ? stiffness : cap / length;
    t.energy = sticks ? 0.5f * pull * length : cap * (length - 0.5f * cap / stiffness);
    return t;
}

/* Stiffness of a contact whose vertices yield by `compliance` to a unit force, each by itself. `multiple`: of the
 * tissue's stiffness; `free_weight`: sum of squared weights of its unknowns. */
SUP_ELEMENT float sup_response_stiffness(float multiple, float compliance, float press, float free_weight)
{
    float stiffness = multiple / compliance;
    if (press > 0.0f) stiffness *= fminf(press, 1.0f);
    return stiffness * fminf(1.0f, free_weight / SUP_RESPONSE_FREE_WEIGHT);
}

/* --- Conjugate gradients on A + C, A^-1 as preconditioner; rz is r . A^-1 r --- */

SUP_ELEMENT int32_t sup_response_max_solves(bool shared_rotation)
{
    return shared_rotation ? SUP_RESPONSE_FAST_SOLVES : SUP_RESPONSE_MAX_SOLVES;
}

/* Step length along a search direction; 0: none. */
SUP_ELEMENT float sup_response_step_length(double rz, double curvature)
{
    const double alpha = rz / curvature;
    return rz > 0.0 && curvature > 0.0 && isfinite(alpha) ? (float)alpha : 0.0f;
}

/* Whether iteration k leaves a residual: without contacts nearby it is exact. `contacts`: their contribution to
 * the curvature. */
SUP_ELEMENT bool sup_response_leaves_residual(int32_t k, bool near, double contacts, double curvature)
{
    return near && !(k == 0 && contacts < SUP_RESPONSE_SLIGHT * curvature);
}

/* Whether another search direction follows, and the weight of the last one in it. */
SUP_ELEMENT bool sup_response_next_search(double rz, double previous_rz, double first_rz, float *weight)
{
    *weight = (float)(rz / previous_rz);
    return rz > SUP_RESPONSE_SOLVED * first_rz && isfinite(*weight);
}

#endif
