/* position.h - position based skinning: soft flesh over linear blending, with volume.
 *
 * Based on: [aburumman2016thesis] chapters 4 and 5.
 *
 *     bind   mesh      tetrahedra of the body's inside                         src/volume
 *            weights   of the particles, from the skin's                       position_weights.c
 *            bones     the nearest bone of each particle, kinematic cores      position_bind.c
 *            solver    constraints, parts, batches                             pbd*.c
 *            carry     how the shown skin rides on the particles               position_embed.c
 *            meet      what contact needs                                      collide_bind.c
 *            fill      the skin's volume                                       volume_correction.c
 *     step   joints -> linear blending of the particles -> solver with contact, at a fixed rate; then the shown skin
 *
 * The shown skin rides on the particles of the body's surface (position_embed.h); props and what is finer than the particles comes
 * from linear blending, which is stacked below. */
#ifndef SUP_METHODS_POSITION_POSITION_H
#define SUP_METHODS_POSITION_POSITION_H

#include "methods/position/position_embed.h"
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
/* Length of an inner step before it is cut into substeps: that of the thesis. */
#define SUP_POSITION_SECONDS 0.01

extern const sup_method sup_method_position;
extern const sup_param sup_position_params[SUP_POSITION_PARAM_COUNT];
extern const sup_map sup_position_maps[SUP_POSITION_MAP_COUNT];

/* The arrays of a model as the step sees them. Rows are those of the solver. */
typedef struct sup_position_view {
    sup_pbd pbd;
    sup_carry carry;
    sup_meet meet;
    sup_fill fill;
    int32_t joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const float *joint_inverse_bind; /* [joint_count*12] */
    const float *joint_centre;       /* [joint_count*3] joint in the bind pose */
    const int32_t *influence_joint;  /* [row_count*SUP_POSITION_INFLUENCES] */
    const float *influence_weight;   /* the same count; rows sum to 1, those of fillers too */
    const float *rest;               /* [row_count*4] bind pose, world; distance to the bone in the bind pose */
    const int32_t *bone_joint;       /* [row_count] -1: none */
    const float *bone_point;         /* [row_count*4] nearest point of the bone in the bind pose */
    const float *surface;            /* [row_count*4] point of the skin over the particle, seen from its bone */
    const int32_t *paint_vertex;     /* [row_count*3] shown vertices around it, -1: none, nothing is painted here */
    const float *paint_weight;       /* [row_count*3] how much each counts; rows sum to 1 */
    const float *painted;    /* [row_count*SUP_POSITION_MAP_COUNT] values of the maps there; an instance's own */
    float size, unit_metres; /* of the character, file units; metres a unit, 0 when unknown */
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

/* Values of a map at the places of rows: `values` [vertex_count] of the shown vertices into painted[row*MAP_COUNT + map]. */
void sup_position_paint_rows(int64_t row_count, const int32_t *vertex, const float *weight, int32_t map,
                             const float *values, float *painted);

/* Soft control (section 4.7) in soft_regions.c: `soft` [row_count] in [0, 1] says how much a particle belongs to the region. Below
 * the region's mean distance from the bones, in parts of the way to the skin, particles stay as they are; above it they leave linear blending by
 * their share, and their stiffness goes to `stiffness` times the rest's. Everywhere it is the painted one's multiple. */
void sup_position_soften(const sup_position_view *view, const float *soft, float stiffness, sup_pbd_regions *regions);

#endif
