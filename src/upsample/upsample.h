/* upsample.h (internal) - from a coarse simulated skin to the fine one that is shown.
 *
 * Based on: [komaritzan2022], 3.2.4: quadratic moving least squares over geodesic neighbourhoods for positions,
 * linear for normals; weights are made once, and a frame is one weighted sum a vertex (eq. 3.9, in positions).
 *
 * Deviations (those of the weights themselves are in mls.h):
 * - No residual of the rest pose is stored: weights are rounded to 16 bits so that their sum is kept exactly and the
 *   rest pose to a few units in the last place of the character's size (quantize_weights.h). Displacements (3.7) would read the
 *   rest positions of both meshes in every frame for nothing.
 * - The weights do not interpolate: a fine vertex that is a coarse one moves with its neighbourhood too. Forcing it
 *   through the coarse vertices gives back the noise that the fit takes out.
 * - Vertices off the simulated surface (eyes, clothes, hair), and the few whose neighbours give no sound weights, ride:
 *   they use the coarse normals as well. Tangents always do.
 *
 * Sixteen vertices that are near each other share most of their neighbours. They are one block: a list of coarse
 * vertices and, for each of them, sixteen weights side by side. A frame reads each coarse vertex once a block, spreads
 * it over the lanes, and never gathers. */
#ifndef SUP_UPSAMPLE_UPSAMPLE_H
#define SUP_UPSAMPLE_UPSAMPLE_H

#include "base/base.h"
#include "geometry/geodesic.h"
#include "supple/model.h"

enum {
    SUP_UPSAMPLE_RIDES = -1,     /* of `place`: off the surface, goes with the nearest point of it */
    SUP_UPSAMPLE_LEFT_OUT = -2,  /* not written */
    SUP_UPSAMPLE_BETWEEN = -3,   /* on the simulated skin, but between the vertices of the surface */
    SUP_UPSAMPLE_NEIGHBOURS = 24 /* the default */
};

/* What moves what. All in the bind pose, one space. */
typedef struct sup_upsample_def {
    /* The fine skin that is simulated: distances are measured along it. Eight times the coarse vertices are enough: a
     * larger skin is better decimated in two steps, to the surface and on to the coarse mesh; its other vertices are
     * SUP_UPSAMPLE_BETWEEN. */
    sup_geodesic_mesh surface;
    int32_t coarse_count;           /* of the mesh that is simulated, */
    const int32_t *coarse_vertices; /* [coarse_count] whose vertices are some of the surface's, all different */
    int32_t coarse_triangle_count;
    const int32_t *coarse_triangles; /* [coarse_triangle_count*3] */
    int32_t vertex_count;            /* vertices that are shown, in their output order */
    const float *positions;          /* [vertex_count*3] */
    const float *normals;            /* [vertex_count*3] unit */
    const float *tangents;           /* [vertex_count*4] or NULL */
    const int32_t *place;            /* [vertex_count] surface vertex it is at, or SUP_UPSAMPLE_* */
    int32_t neighbours;              /* k, 10 to 63; 0 = SUP_UPSAMPLE_NEIGHBOURS */
} sup_upsample_def;

/* How the vertices came out. */
typedef struct sup_upsample_report {
    int32_t quadratic; /* all that the neighbourhood can tell of quadratic functions */
    int32_t reduced;   /* less than that, to keep the weights small; linear functions exactly */
    int32_t riding;    /* positions that ride, on purpose or for want of sound weights */
    int32_t lost;      /* not even that: they follow their neighbours' mean, and the rest pose is not kept */
    double largest;    /* largest sum of |N|: how much noise can grow */
} sup_upsample_report;

/* Adds arrays whose names start with `prefix` (at most 15 characters). `report` may be NULL. */
sup_result sup_upsample_bind(const sup_context *context, const sup_upsample_def *def, sup_model_builder *builder,
                             const char *prefix, sup_upsample_report *report, sup_error *error);

/* Ways in which coarse vertices count: positions from positions and normals, normals from both, tangents from both. */
typedef enum sup_upsample_way {
    SUP_WAY_POSITION_X,
    SUP_WAY_POSITION_N,
    SUP_WAY_NORMAL_X,
    SUP_WAY_NORMAL_N,
    SUP_WAY_TANGENT_X,
    SUP_WAY_TANGENT_N,
    SUP_WAY_COUNT
} sup_upsample_way;

enum { SUP_UPSAMPLE_CLUSTER = 16 }; /* rows of a block */

/* Blocks of one kind. Plain ones have two ways, from positions to position and from normals to normal; riding ones
 * have the first four. */
typedef struct sup_upsample_clusters {
    int32_t block_count, entry_count, ways;
    const int32_t *row_vertex;    /* [block_count*16] output vertex; -1: none, only at the end of a block */
    const int32_t *first;         /* [block_count+1] entries of a block */
    const uint16_t *narrow_index; /* [entry_count] coarse vertex; NULL when there are more than 65536 of them */
    const int32_t *wide_index;    /* the same then */
    const int16_t *weights;       /* [entry_count*ways*16] */
    const float *units;           /* [block_count*ways*16] what 1 in `weights` stands for */
    const int16_t *tangents;      /* [entry_count*2*16] from positions and normals; NULL without tangents */
    const float *tangent_units;   /* [block_count*2*16] */
    const float *tangent_signs;   /* [block_count*16] handedness */
} sup_upsample_clusters;

/* View of the arrays of a model. */
typedef struct sup_upsample {
    int32_t vertex_count, coarse_count, coarse_triangle_count;
    int32_t covered; /* vertices that are written; the others are left out */
    bool has_tangents;
    sup_upsample_clusters plain, riding;
    const int32_t *triangles;       /* [coarse_triangle_count*3] */
    const int32_t *corner_first;    /* [coarse_count+1] */
    const int32_t *corner_triangle; /* [coarse_triangle_count*3] triangles at a coarse vertex */
    const float *rest_normal;       /* [coarse_count*3] for vertices that lose theirs */
} sup_upsample;

/* Refuses arrays that are missing, of another size, or with an index out of range: what passes is safe to apply. */
sup_result sup_upsample_open(const sup_model *model, const char *prefix, sup_upsample *view, sup_error *error);

/* Bytes that apply needs to work in, a multiple of 64. */
size_t sup_upsample_scratch(const sup_upsample *view);

/* One frame. coarse_positions: 4 floats a coarse vertex, the last one ignored, below 1e30 in size. Normals of the
 * coarse mesh are computed. `out` is indexed by output vertex, strides as in sup_skin_out; vertices that are left out are not touched;
 * tangents need a model that has them. `scratch` is 64-byte aligned. */
sup_result sup_upsample_apply(const sup_context *context, const sup_upsample *view, const float *coarse_positions,
                              void *scratch, const sup_skin_out *out);
/* What an apply left in its scratch: places and unit normals of the coarse vertices, x y z 0 nx ny nz 0 each. */
const float *sup_upsample_rows(const void *scratch);
/* The same on kernels of at most that many lanes: for tests and benchmarks. */
sup_result sup_upsample_apply_lanes(const sup_context *context, const sup_upsample *view, const float *coarse_positions,
                                    void *scratch, const sup_skin_out *out, int32_t lanes);

/* Blocks [begin, end) of one frame, as the kernels see them. */
typedef struct sup_upsample_work {
    const sup_upsample_clusters *blocks;
    const float *coarse; /* [coarse_count*8] x y z 0 nx ny nz 0 */
    sup_skin_out out;    /* strides set */
    int32_t begin, end;
} sup_upsample_work;

typedef void sup_upsample_kernel(const sup_upsample_work *work);
sup_upsample_kernel sup_upsample_clusters_base, sup_upsample_clusters_avx2, sup_upsample_clusters_avx512;

#endif
