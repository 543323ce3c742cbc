/* position.h (internal) - position based skinning: soft tissue guided by linear blending, with volume.
 *
 * Based on: [aburumman2016thesis] chapters 4 and 5.
 *
 *     bind   mesh        tetrahedra of the interior of the body                  src/volume
 *            weights     of the particles, from those of the skin                position_weights.c
 *            bones       the nearest bone of each particle, kinematic cores      position_bind.c
 *            solver      constraints, clusters, batches                          pbd*.c
 *            embed       embedding of the render mesh in the particles           position_embed_bind.c
 *            collide     data for contact                                        collide_bind.c
 *            correction  volume of the skin                                      volume_correction.c
 *            limit       stretch and folds of the skin                           skin_limit*.c
 *     step   joints -> linear blending of the particles -> solver with contact, at a fixed rate -> render mesh
 *
 * The render mesh follows the surface particles (position_embed.h); props and details below the resolution of the
 * particles come from linear blending. */
#ifndef SUP_METHODS_POSITION_POSITION_H
#define SUP_METHODS_POSITION_POSITION_H

#include "methods/position/position_embed.h"
#include "methods/position/skin_limit.h"
#include "methods/position/volume_correction.h"
#include "methods/position/collide.h"
#include "methods/position/pbd.h"
#include "supple/method.h"

enum {
    SUP_POSITION_TETS,
    SUP_POSITION_STIFFNESS_MODE,
    SUP_POSITION_STIFFNESS,
    SUP_POSITION_VOLUME,
    SUP_POSITION_BIND,
    SUP_POSITION_FOLLOW,
    SUP_POSITION_K_STRETCH,
    SUP_POSITION_K_VOLUME,
    SUP_POSITION_K_BIND,
    SUP_POSITION_ITERATIONS,
    SUP_POSITION_SUBSTEPS,
    SUP_POSITION_MOMENTUM,
    SUP_POSITION_DAMPING,
    SUP_POSITION_DENSITY,
    SUP_POSITION_GRAVITY,
    SUP_POSITION_UP,
    SUP_POSITION_CORE,
    SUP_POSITION_SOFT,
    SUP_POSITION_SOFT_JOINT,
    SUP_POSITION_SOFT_RADIUS,
    SUP_POSITION_SOFT_STIFFNESS,
    SUP_POSITION_CONTACT,
    SUP_POSITION_PLANES,
    SUP_POSITION_FRICTION,
    SUP_POSITION_PARAM_COUNT
};

enum { SUP_POSITION_MAP_SOFT, SUP_POSITION_MAP_STIFFNESS, SUP_POSITION_MAP_COUNT };

enum { SUP_POSITION_INFLUENCES = 4 };
/* Timestep before it is divided into substeps: that of the thesis. */
#define SUP_POSITION_SECONDS 0.01

extern const sup_method sup_method_position;
extern const sup_param sup_position_params[SUP_POSITION_PARAM_COUNT];
extern const sup_map sup_position_maps[SUP_POSITION_MAP_COUNT];

/* View of the arrays of a model. A slot is the index of a particle in the solver (pbd.h). */
typedef struct sup_position_view {
    sup_pbd pbd;
    sup_position_embed embed;
    sup_collide collide;
    sup_volume_correction correction;
    sup_skin_limit limit;
    int32_t joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const float *joint_inverse_bind; /* [joint_count*12] */
    const float *joint_centre;       /* [joint_count*3] joint in the bind pose */
    const int32_t *influence_joint;  /* [slot_count*SUP_POSITION_INFLUENCES] */
    const float *influence_weight;   /* [slot_count*SUP_POSITION_INFLUENCES] sum 1 per slot, padding included */
    const float *rest;               /* [slot_count*4] bind pose, world; distance to the bone in the bind pose */
    const int32_t *bone_joint;       /* [slot_count] -1: none */
    const float *bone_point;         /* [slot_count*4] nearest point of the bone in the bind pose */
    const float *surface; /* [slot_count*4] point where the ray from the bone through the particle meets the skin */
    const int32_t *paint_vertex; /* [slot_count*3] render vertices for painted maps; -1: none */
    const float *paint_weight;   /* [slot_count*3] their barycentric weights */
    const float *painted;        /* [slot_count*SUP_POSITION_MAP_COUNT] values of the maps, copied per instance */
    float size, unit_metres;     /* of the character, file units; metres per unit, 0 when unknown */
} sup_position_view;

sup_result sup_position_open(const sup_model *model, sup_position_view *view, sup_error *error);

/* Stages of the method: position_bind.c, position_view.c and position_step.c. */
sup_result sup_position_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_position_check(const sup_model *model, sup_error *error);
sup_result sup_position_layout(const sup_model *model, const sup_context *context, sup_layout *layout);
sup_result sup_position_reset(const sup_step_input *input, void *state);
sup_result sup_position_step(const sup_step_input *input, void *state, const sup_skin_out *out);
sup_result sup_position_restore(const sup_step_input *input, void *state);

void sup_position_inner(const sup_model *model, void *state, sup_inner *inner);
sup_result sup_position_paint(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error);

/* Interpolates a map at the particles: `values` [vertex_count] of the render vertices to painted[slot*MAP_COUNT +
 * map]. */
void sup_position_paint_particles(int64_t slot_count, const int32_t *vertex, const float *weight, int32_t map,
                                  const float *values, float *painted);

/* Soft regions (section 4.7) in soft_regions.c: `soft` [slot_count] in [0, 1] is the softness of a particle. Particles
 * below the mean distance of the region from the bones, as a fraction of the distance to the skin, do not change. Above
 * it, they follow linear blending less, and their stiffness changes towards `stiffness` times the default. The painted
 * stiffness is always a factor. */
void sup_position_soften(const sup_position_view *view, const float *soft, float stiffness, sup_pbd_regions *regions);
/* Sets the damping of the particles from their factors of `follow`: particles that follow linear blending fully have no
 * momentum, unless `momentum` in [0, 1], a minimum for all of them, is above 0; free ones are not damped. */
void sup_position_set_momentum(int32_t slot_count, double momentum, sup_pbd_regions *regions);

#endif
