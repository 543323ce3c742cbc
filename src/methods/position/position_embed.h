/* position_embed.h (internal) - the shown skin rides on the particles of the body's surface.
 *
 * Each surface particle carries the map that its neighbourhood went through: where it is, and the gradient F of the
 * motion, least squares over its edges. A shown vertex is the mean of what the corners k of the nearest surface triangle
 * say of it, x_k + 1/2 (F_k + F) (v - X_k) with the mean F of the three, by barycentric weights: exact at rest, for affine
 * and for quadratic motions, and without facets, since neighbouring triangles agree to second order. Normals turn by the cofactor of the mean F.
 *
 * What is finer than the particles comes from linear blending: `fine` vertices (moved by bones too small to move
 * particles, or by morph targets) keep that part of their linear blending which the particles' own does not show. */
#ifndef SUP_METHODS_POSITION_POSITION_EMBED_H
#define SUP_METHODS_POSITION_POSITION_EMBED_H

#include "base/base.h"
#include "supple/model.h"
#include "supple/rig.h"

enum {
    SUP_CARRY_CORNERS = 3,
    SUP_CARRY_FLOATS = 12 /* of a vertex's place: for each corner v - X_k in sizes, and the weight */
};

typedef struct sup_carry {
    int32_t vertex_count, surface_count, ring_count;
    bool any_fine;
    const int32_t *surface_row; /* [surface_count] solver's row of a surface particle */
    const int32_t *ring_first;  /* [surface_count+1] */
    const int32_t *ring_row;    /* [ring_count] rows of the neighbours */
    const float *ring_weight;   /* [ring_count*4] F = sum (x_j - x_k) w_j^T; the fourth is 0 */
    const int32_t *corner;      /* [vertex_count*SUP_CARRY_CORNERS] surface particles */
    const float *place;         /* [vertex_count*SUP_CARRY_FLOATS] weights are all 0 for vertices that do not ride */
    const float *fine;          /* [vertex_count] in [0, 1] */
    const float *normals;       /* [vertex_count*3] bind pose */
    const float *tangents;      /* [vertex_count*3] bind pose, NULL without tangents */
} sup_carry;

typedef struct sup_carry_def {
    int32_t particle_count, tet_count, triangle_count;
    const float *positions;   /* [particle_count*3] */
    const int32_t *tets;      /* [tet_count*4] */
    const int32_t *triangles; /* [triangle_count*3] the surface */
    const int32_t *row;       /* [particle_count] */
    float size;               /* of the character: the solver's unit of length */
    int32_t vertex_count;
    const float *vertices; /* [vertex_count*3] shown */
    const float *normals;  /* [vertex_count*3] */
    const sup_rig *rig;    /* whose vertices these are */
    const int32_t *joint;  /* [particle_count*SUP_POSITION_INFLUENCES] */
    const float *weight;   /* the same count */
    double reach;          /* how much further a vertex may look for particles that move as it does */
    const float *tangents; /* [vertex_count*4] or NULL */
    const float *fine;     /* [vertex_count] */
    const bool *rides;     /* [vertex_count] */
} sup_carry_def;

sup_result sup_carry_bind(const sup_context *context, const sup_carry_def *def, sup_model_builder *builder,
                          const char *prefix, sup_error *error);
sup_result sup_carry_open(const sup_model *model, const char *prefix, int32_t row_count, sup_carry *carry,
                          sup_error *error);

/* Bytes that apply works in, a multiple of 64. */
size_t sup_carry_scratch(const sup_carry *carry);

/* The solver's space in the world. */
typedef struct sup_carry_space {
    float size;
    double origin[3];
} sup_carry_space;

/* Over `out`, which holds linear blending. `moved` and `guide`: [row_count*4] particles and their linear blending. */
void sup_carry_apply(const sup_context *context, const sup_carry *carry, const float *moved, const float *guide,
                     const sup_carry_space *space, void *scratch, const sup_skin_out *out);

#endif
