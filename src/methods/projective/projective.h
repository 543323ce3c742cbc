/* projective.h - projective skinning: tissue between bones and skin, simulated by projective dynamics.
 *
 * Based on: [komaritzan2018] Projective Skinning, [komaritzan2022] chapters 2 and 3.
 *
 *     bind   surface   the skin, decimated to the simulated skin            skin/simulated_surface.c
 *            tissue    volumetric skeleton, shrunken skin, tetrahedra       src/tissue
 *            paint     painted maps: stiff, rigid and free tissue           projective_paint.c
 *            anchors   motion of the bases with the bones                   tissue/anchors.c
 *            system    assembly and factorisation                           solver/system.c
 *            contact   candidate pairs of self-collision                    contact/detect.c
 *            upsample  weights of the render mesh                           src/upsample
 *     step   joints -> anchors -> contact -> solver, at a fixed rate (projective_step.c); then upsample to the render
 *            mesh and removal of its crossings (src/untangle)
 *
 * Primitives that are not skin (props) and tangents are computed by linear blending first. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_H

#include "supple/method.h"

enum {
    SUP_PROJECTIVE_VERTICES,
    SUP_PROJECTIVE_STIFFNESS,
    SUP_PROJECTIVE_VOLUME,
    SUP_PROJECTIVE_MASS,
    SUP_PROJECTIVE_RADIUS,
    SUP_PROJECTIVE_DYNAMIC,
    SUP_PROJECTIVE_SLIDING,
    SUP_PROJECTIVE_ITERATIONS,
    SUP_PROJECTIVE_TOLERANCE,
    SUP_PROJECTIVE_DAMPING,
    SUP_PROJECTIVE_GRAVITY,
    SUP_PROJECTIVE_UP,
    SUP_PROJECTIVE_WIND,
    SUP_PROJECTIVE_WIND_HEADING,
    SUP_PROJECTIVE_WIND_RISE,
    SUP_PROJECTIVE_CONTACT,
    SUP_PROJECTIVE_FRICTION,
    SUP_PROJECTIVE_FAST,
    SUP_PROJECTIVE_UNTANGLE,
    SUP_PROJECTIVE_LIMITS,
    SUP_PROJECTIVE_PARAM_COUNT
};

/* Choices of SUP_PROJECTIVE_SLIDING. */
enum { SUP_SLIDING_OFF, SUP_SLIDING_ON, SUP_SLIDING_WHOLE };

/* Maps. */
enum {
    SUP_PROJECTIVE_MAP_STIFFNESS,
    SUP_PROJECTIVE_MAP_RIGID,
    SUP_PROJECTIVE_MAP_FREE,
    SUP_PROJECTIVE_MAP_BONE_RADIUS,
    SUP_PROJECTIVE_MAP_JOINT_RADIUS,
    SUP_PROJECTIVE_MAP_COUNT
};

extern const sup_method sup_method_projective;
extern const sup_map sup_projective_maps[SUP_PROJECTIVE_MAP_COUNT];
extern const sup_param sup_projective_params[SUP_PROJECTIVE_PARAM_COUNT];

/* Functions of the method table: projective_bind.c, projective_state.c, projective_step.c, projective_compare.c. */
sup_result sup_projective_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_projective_check(const sup_model *model, sup_error *error);
sup_result sup_projective_layout(const sup_model *model, const sup_context *context, sup_layout *layout);
sup_result sup_projective_reset(const sup_step_input *input, void *state);
sup_result sup_projective_step(const sup_step_input *input, void *state, const sup_skin_out *out);

double sup_projective_energy(const void *state);
sup_result sup_projective_paint(const sup_model *model, void *state, int32_t map, const float *values,
                                sup_error *error);
void sup_projective_inner(const sup_model *model, void *state, sup_inner *inner);
sup_result sup_projective_compare(const sup_compare_input *input, sup_compare_figures *figures, sup_error *error);
sup_result sup_projective_restore(const sup_step_input *input, void *state);

/* Gravity and wind as an acceleration: file units per square of the solver's time unit. */
void sup_projective_forces(const double *values, float size, float unit_metres, float force[3]);

#endif
