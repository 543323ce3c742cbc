/* embed.h (internal) - how a skin rides on the tetrahedra inside it.
 *
 * For every vertex of the skin the tetrahedron that holds it, or the nearest, with barycentric coordinates (negative ones
 * are legal), for contact and for mapping; and a row of weights of tetrahedron vertices for showing it. The rows are
 * quadratic moving least squares ([komaritzan2022] eq. 3.3 to 3.8, upsample/mls.h) over the nearest vertices of the same
 * part: barycentric interpolation has a crease at every face of a tetrahedron, which shows on a bent skin; these do not.
 *
 * Guaranteed: weights of a row sum to 1 and reproduce linear functions, so the rest pose and every affine motion of the
 * tetrahedra are exact up to float rounding (about 1e-6 of the neighbourhood); rows whose neighbours allow no smooth
 * weights fall back to the barycentric ones, which do the same. The sum of |w| is how much noise of the simulation can
 * grow: at most SUP_EMBED_NOISE, at tips that stick out of the tetrahedra SUP_EMBED_NOISE_MAX; plain rows have what their
 * coordinates say. */
#ifndef SUP_VOLUME_EMBED_H
#define SUP_VOLUME_EMBED_H

#include "volume/tetmesh.h"

enum { SUP_EMBED_SLOTS = 24 }; /* weights a row, a multiple of 8 */
#define SUP_EMBED_NOISE 2.5
#define SUP_EMBED_NOISE_MAX 5.0

typedef struct sup_embedding {
    int32_t vertex_count;
    int32_t *tet;       /* [vertex_count] holds the vertex, or is nearest to it */
    float *barycentric; /* [vertex_count*4] of its corners; sum 1 */
    float *outside;     /* [vertex_count] distance to the tetrahedra, 0 inside, file units */
    int32_t *index; /* [vertex_count*SUP_EMBED_SLOTS] vertices of the tetrahedra, nearest first; unused: the first */
    float *weight;  /* [vertex_count*SUP_EMBED_SLOTS] unused: 0 */
    int32_t smooth; /* rows that reproduce quadratic functions as far as their neighbours tell them */
    int32_t linear; /* rows that reproduce linear ones, smoothly */
    int32_t plain;  /* barycentric rows */
    double largest; /* largest sum of |w| */
    sup_arena arena;
} sup_embedding;

/* `normals` [vertex_count*3] unit, outwards, may be NULL: a vertex outside of all tetrahedra goes to the nearest face
 * that looks its way, not to the finger beside it. Positions are finite. */
sup_result sup_embed(const sup_context *context, const sup_tetmesh *mesh, int32_t vertex_count, const float *positions,
                     const float *normals, sup_embedding *embedding, sup_error *error);
void sup_embedding_free(sup_embedding *embedding);

/* The skin from tetrahedron vertices with `stride` floats each (3 or more): [vertex_count*3]. The plain reference;
 * rows [begin, end) may be done by any thread. */
void sup_embedding_apply(const sup_embedding *embedding, const float *positions, int32_t stride, int32_t begin,
                         int32_t end, float *skin);

#endif
