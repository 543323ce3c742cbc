/* embed.h (internal) - embeds a skin in the tetrahedra inside it.
 *
 * For every vertex of the skin: the tetrahedron that contains it, or the nearest one, with barycentric coordinates
 * (which may be negative), for contact and mapping; and interpolation weights of tetrahedron vertices, for output. The
 * weights are quadratic moving least squares ([komaritzan2022] eq. 3.3 to 3.8, upsample/mls.h) over the nearest
 * vertices of the same component: barycentric interpolation has a crease at every face of a tetrahedron, which is
 * visible on a bent skin; these weights have none.
 *
 * Guaranteed: the weights of a vertex sum to 1 and reproduce linear functions, so the rest pose and every affine motion
 * of the tetrahedra are exact up to float rounding (about 1e-6 of the neighbourhood). Vertices whose neighbours allow
 * no smooth weights use the barycentric ones, which have the same properties. The sum of |w| bounds the amplification
 * of simulation noise: at most SUP_EMBED_NOISE, at tips that protrude from the tetrahedra SUP_EMBED_NOISE_MAX;
 * barycentric weights are not bounded. */
#ifndef SUP_VOLUME_EMBED_H
#define SUP_VOLUME_EMBED_H

#include "volume/tetmesh.h"

enum { SUP_EMBED_SLOTS = 24 }; /* weights per vertex, a multiple of 8 */
#define SUP_EMBED_NOISE 2.5
#define SUP_EMBED_NOISE_MAX 5.0

typedef struct sup_embedding {
    int32_t vertex_count;
    int32_t *tet;       /* [vertex_count] contains the vertex, or is nearest to it */
    float *barycentric; /* [vertex_count*4] of its corners; sum 1 */
    float *outside;     /* [vertex_count] distance to the tetrahedra, 0 inside, file units */
    int32_t *index; /* [vertex_count*SUP_EMBED_SLOTS] vertices of the tetrahedra, nearest first; unused: the first */
    float *weight;  /* [vertex_count*SUP_EMBED_SLOTS] unused: 0 */
    int32_t smooth; /* vertices whose weights reproduce quadratic functions as far as their neighbours determine them */
    int32_t linear; /* vertices whose smooth weights reproduce linear functions */
    int32_t plain;  /* vertices with barycentric weights */
    double largest; /* largest sum of |w| */
    sup_arena arena;
} sup_embedding;

/* `normals` [vertex_count*3] unit, outward, may be NULL: a vertex outside of all tetrahedra uses the nearest face with
 * a similar normal, not that of an adjacent finger. Positions are finite. */
sup_result sup_embed(const sup_context *context, const sup_tetmesh *mesh, int32_t vertex_count, const float *positions,
                     const float *normals, sup_embedding *embedding, sup_error *error);
void sup_embedding_free(sup_embedding *embedding);

/* The skin [vertex_count*3] from tetrahedron vertices with `stride` floats each (3 or more). Reference implementation;
 * vertices [begin, end) are independent of all others. */
void sup_embedding_apply(const sup_embedding *embedding, const float *positions, int32_t stride, int32_t begin,
                         int32_t end, float *skin);

#endif
