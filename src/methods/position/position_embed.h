/* position_embed.h (internal) - the render mesh is embedded in the surface particles.
 *
 * Each surface particle has an affine map of its neighbourhood: its position, and the deformation gradient F, a least
 * squares fit over its edges. A render vertex is the barycentric mean over the corners k of the nearest surface
 * triangle of x_k + 1/2 (F_k + F) (v - X_k), with the mean F of the three. This is exact at rest and for affine and
 * quadratic motions, and shows no facets, since neighbouring triangles agree to second order. Normals are transformed
 * by the cofactor of F.
 *
 * Details below the resolution of the particles come from linear blending: `fine` vertices (moved by bones too small to
 * move particles, or by morph targets) add the difference between their linear blending and that of the particles.
 * Vertices far from the surface of the tissue, such as skin under clothes, are fine as well, and their v - X_k is
 * reduced to 0, since it would amplify differences of F: linear blending plus the deviation of the particles from it.
 * All vertices of a detail, a component without tissue of its own, have the same deviation: it keeps its shape. */
#ifndef SUP_METHODS_POSITION_POSITION_EMBED_H
#define SUP_METHODS_POSITION_POSITION_EMBED_H

#include "base/base.h"
#include "supple/model.h"
#include "supple/rig.h"

enum {
    SUP_POSITION_EMBED_CORNERS = 3,
    SUP_POSITION_EMBED_FLOATS = 12 /* per vertex: for each corner v - X_k in sizes, and the weight */
};

typedef struct sup_position_embed {
    int32_t vertex_count, surface_count, ring_count;
    bool any_fine;
    const int32_t *surface_slot; /* [surface_count] slot of a surface particle */
    const int32_t *ring_first;   /* [surface_count+1] */
    const int32_t *ring_slot;    /* [ring_count] slots of the neighbours */
    const float *ring_weight;    /* [ring_count*4] F = sum (x_j - x_k) w_j^T; the fourth is 0 */
    const int32_t *corner;       /* [vertex_count*SUP_POSITION_EMBED_CORNERS] surface particles */
    const float *offset;         /* [vertex_count*SUP_POSITION_EMBED_FLOATS] weights are 0 for vertices not embedded */
    const float *fine;           /* [vertex_count] in [0, 1] */
    const float *normals;        /* [vertex_count*3] bind pose */
    const float *tangents;       /* [vertex_count*3] bind pose, NULL without tangents */
} sup_position_embed;

typedef struct sup_position_embed_def {
    int32_t particle_count, tet_count, triangle_count;
    const float *positions;   /* [particle_count*3] */
    const int32_t *tets;      /* [tet_count*4] */
    const int32_t *triangles; /* [triangle_count*3] the surface */
    const int32_t *slot;      /* [particle_count] */
    float size;               /* of the character: the unit of length of the solver */
    int32_t vertex_count;
    const float *vertices; /* [vertex_count*3] render mesh */
    const float *normals;  /* [vertex_count*3] */
    const sup_rig *rig;    /* rig of the render mesh */
    const int32_t *joint;  /* [particle_count*SUP_POSITION_INFLUENCES] */
    const float *weight;   /* the same count */
    double reach;          /* additional search distance for particles with similar weights */
    const float *tangents; /* [vertex_count*4] or NULL */
    const float *fine;     /* [vertex_count] */
    const bool *follows;   /* [vertex_count] */
    const int32_t *anchor; /* [vertex_count] vertex whose deviation a detail has, -1 for other vertices */
} sup_position_embed_def;

sup_result sup_position_embed_bind(const sup_context *context, const sup_position_embed_def *def,
                                   sup_model_builder *builder, const char *prefix, sup_error *error);
sup_result sup_position_embed_open(const sup_model *model, const char *prefix, int32_t slot_count,
                                   sup_position_embed *embed, sup_error *error);

/* Scratch size in bytes, a multiple of 64. */
size_t sup_position_embed_scratch(const sup_position_embed *embed);

/* The space of the solver in the world. */
typedef struct sup_position_embed_space {
    float size;
    double origin[3];
} sup_position_embed_space;

/* Overwrites `out`, which contains linear blending. `moved` and `guide`: [slot_count*4] particles and their linear
 * blending. */
void sup_position_embed_apply(const sup_context *context, const sup_position_embed *embed, const float *moved,
                              const float *guide, const sup_position_embed_space *space, void *scratch,
                              const sup_skin_out *out);

#endif
