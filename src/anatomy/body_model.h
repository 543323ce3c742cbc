/* body_model.h (internal) - the surface template as a function of shape, pose, scale and translation, with
 * derivatives.
 *
 * x_v = t + e^s * sum_j w_vj (A_j (r_v - J_j) + Q_j), r = mean + modes * b, J = joint_mean + joint_modes * b, A_j
 * the rotation of joint j (product of local ones), Q_j = Q_p + A_p (J_j - J_p), Q of the root = its J. */
#ifndef SUP_ANATOMY_BODY_MODEL_H
#define SUP_ANATOMY_BODY_MODEL_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/anatomy.h"

/* The template at all vertices, or at the vertices of a decimated mesh. */
typedef struct sup_body_model {
    const sup_composition *composition;
    int32_t vertex_count, triangle_count;
    const int32_t *vertex;    /* [vertex_count] vertex of the composition */
    const int32_t *triangles; /* [triangle_count*3] indices of these vertices */
    const double *modes;      /* [vertex_count*3][mode_count] */
} sup_body_model;

/* About `vertex_target` vertices, 0 = all. Allocates from the arena. */
sup_result sup_body_model_make(const sup_context *context, const sup_composition *composition, int32_t vertex_target,
                               sup_arena *arena, sup_body_model *model, sup_error *error);

typedef struct sup_body_state {
    double *coefficients; /* [mode_count] b, metres */
    sup_quatd *local;     /* [joint_count] rotation relative to the parent */
    sup_vec3d translation;
    double log_scale;
    /* Computed by sup_body_state_update: */
    double *rest_joints;  /* [joint_count*3] J */
    sup_quatd *global;    /* [joint_count] A */
    double *rotation;     /* [joint_count*9] A, row-major */
    double *posed_origin; /* [joint_count*3] Q */
    double *mode_offset;  /* [mode_count][joint_count*3] dQ/db - A dJ/db */
} sup_body_state;

/* Rest pose and mean shape; returns false when out of memory. */
bool sup_body_state_make(const sup_composition *composition, sup_arena *arena, sup_body_state *state);
void sup_body_state_copy(const sup_composition *composition, const sup_body_state *from, sup_body_state *to);
void sup_body_state_update(const sup_composition *composition, sup_body_state *state);

/* World position of a joint. */
sup_vec3d sup_body_joint(const sup_body_state *state, int32_t joint);
/* Skin of the model: posed (world) and at rest (unscaled), each [vertex_count*3] or NULL. */
void sup_body_skin(const sup_context *context, const sup_body_model *model, const sup_body_state *state, double *posed,
                   double *rest);
/* Rotation of the blended linear map at a vertex of the composition. */
sup_quatd sup_body_rotation_at(const sup_composition *composition, const sup_body_state *state, int32_t vertex);

/* Parameters of a step: 3 translation, 1 log scale, mode_count coefficients, 3 per joint (a rotation vector in the
 * world). */
static inline int32_t sup_body_parameters(const sup_composition *composition)
{
    return 4 + composition->mode_count + 3 * composition->joint_count;
}
/* Derivative of direction . x at a vertex of the model. Fills the Jacobian row `row` [parameters], 0 for joints that
 * do not move the vertex; `joints` gets the joints that do, ascending. Returns their number. */
int32_t sup_body_derivative(const sup_body_model *model, const sup_body_state *state, int32_t vertex,
                            sup_vec3d direction, double *row, int32_t *joints);
/* The same for the world position of a joint. */
int32_t sup_body_joint_derivative(const sup_composition *composition, const sup_body_state *state, int32_t joint,
                                  sup_vec3d direction, double *row, int32_t *joints);
/* Adds the step [parameters] and updates. */
void sup_body_step(const sup_composition *composition, sup_body_state *state, const double *step);

#endif
