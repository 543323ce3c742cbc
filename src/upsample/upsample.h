/* upsample.h (internal) - from the coarse simulated skin to the render mesh.
 *
 * Based on: [komaritzan2022], 3.2.4: quadratic moving least squares over geodesic neighbourhoods for positions,
 * linear for normals; weights are precomputed, and a frame is one weighted sum per vertex (eq. 3.9, of positions).
 *
 * Deviations (those of the weights are in mls.h):
 * - No residual of the rest pose is stored: weights are quantised to 16 bits such that their sum is exact and the rest
 *   pose is reproduced to a few units in the last place of the character's size (quantize_weights.h). Displacements
 *   (3.7) would read the rest positions of both meshes in every frame.
 * - The weights do not interpolate: a fine vertex that is also a coarse vertex moves with its neighbourhood.
 *   Interpolation would restore the noise that the fit removes.
 * - Vertices off the simulated surface (eyes, clothes, hair), and the few whose neighbours give no valid weights, are
 *   followers: they use the coarse normals as well. Tangents always do.
 *
 * Sixteen nearby vertices share most of their neighbours and form one cluster: a list of coarse vertices with sixteen
 * weights each. A frame reads each coarse vertex once per cluster, broadcasts it to the lanes, and never gathers. */
#ifndef SUP_UPSAMPLE_UPSAMPLE_H
#define SUP_UPSAMPLE_UPSAMPLE_H

#include "base/base.h"
#include "geometry/geodesic.h"
#include "supple/model.h"

enum {
    SUP_UPSAMPLE_FOLLOWS = -1,     /* of `surface_vertex`: off the surface; follows its nearest point */
    SUP_UPSAMPLE_SKIPPED = -2,     /* not written */
    SUP_UPSAMPLE_IN_TRIANGLE = -3, /* on the simulated skin, but not at a surface vertex */
    SUP_UPSAMPLE_NEIGHBOURS = 24   /* default number of neighbours */
};

/* Input of bind. Everything in the bind pose, in one space. */
typedef struct sup_upsample_def {
    /* Surface for geodesic distances. Eight times the coarse vertices suffice: decimate a larger skin in two passes, to
     * this surface and then to the coarse mesh; its other vertices are SUP_UPSAMPLE_IN_TRIANGLE. */
    sup_geodesic_mesh surface;
    int32_t coarse_count;           /* vertices of the simulated mesh */
    const int32_t *coarse_vertices; /* [coarse_count] surface vertex, distinct */
    int32_t coarse_triangle_count;
    const int32_t *coarse_triangles; /* [coarse_triangle_count*3] */
    int32_t vertex_count;            /* render vertices, in output order */
    const float *positions;          /* [vertex_count*3] */
    const float *normals;            /* [vertex_count*3] unit */
    const float *tangents;           /* [vertex_count*4] or NULL */
    const int32_t *surface_vertex;   /* [vertex_count] surface vertex at the same position, or SUP_UPSAMPLE_* */
    int32_t neighbours;              /* k, 10 to 63; 0 = SUP_UPSAMPLE_NEIGHBOURS */
} sup_upsample_def;

/* Counts of vertices by the kind of fit. */
typedef struct sup_upsample_report {
    int32_t quadratic;  /* all quadratic functions that the neighbours can represent */
    int32_t reduced;    /* fewer, to limit the weights; linear functions are exact */
    int32_t followers;  /* positions of followers: requested, or no valid weights */
    int32_t degenerate; /* mean of the neighbours; the rest pose is not reproduced */
    double largest;     /* largest sum of |N|: the maximum gain of noise */
} sup_upsample_report;

/* Adds arrays whose names start with `prefix` (at most 15 characters). `report` may be NULL. */
sup_result sup_upsample_bind(const sup_context *context, const sup_upsample_def *def, sup_model_builder *builder,
                             const char *prefix, sup_upsample_report *report, sup_error *error);

/* Channels of weights: position, normal and tangent, each from coarse positions (X) and coarse normals (N). */
typedef enum sup_upsample_channel {
    SUP_CHANNEL_POSITION_X,
    SUP_CHANNEL_POSITION_N,
    SUP_CHANNEL_NORMAL_X,
    SUP_CHANNEL_NORMAL_N,
    SUP_CHANNEL_TANGENT_X,
    SUP_CHANNEL_TANGENT_N,
    SUP_CHANNEL_COUNT
} sup_upsample_channel;

enum { SUP_UPSAMPLE_CLUSTER = 16 }; /* vertices of a cluster */

/* Clusters of one kind. Plain clusters have two channels, position from positions and normal from normals; clusters of
 * followers have the first four. */
typedef struct sup_upsample_clusters {
    int32_t cluster_count, entry_count, channels;
    const int32_t *render_vertex; /* [cluster_count*16] output vertex; -1: none, only at the end of a cluster */
    const int32_t *first;         /* [cluster_count+1] first entry of a cluster */
    const uint16_t *narrow_index; /* [entry_count] coarse vertex; NULL when there are more than 65536 of them */
    const int32_t *wide_index;    /* [entry_count] the same for more than 65536; else NULL */
    const int16_t *weights;       /* [entry_count*channels*16] */
    const float *units;           /* [cluster_count*channels*16] scale of `weights` */
    const int16_t *tangents;      /* [entry_count*2*16] from positions and normals; NULL without tangents */
    const float *tangent_units;   /* [cluster_count*2*16] */
    const float *tangent_signs;   /* [cluster_count*16] handedness */
} sup_upsample_clusters;

/* View of the arrays of a model. */
typedef struct sup_upsample {
    int32_t vertex_count, coarse_count, coarse_triangle_count;
    int32_t covered; /* number of vertices that are written */
    bool has_tangents;
    sup_upsample_clusters plain, followers;
    const int32_t *triangles;       /* [coarse_triangle_count*3] */
    const int32_t *corner_first;    /* [coarse_count+1] */
    const int32_t *corner_triangle; /* [coarse_triangle_count*3] triangles at a coarse vertex */
    const float *rest_normal;       /* [coarse_count*3] for vertices whose triangles have no area */
} sup_upsample;

/* Fails when an array is missing, has the wrong size, or contains an index out of range; a view is safe to apply. */
sup_result sup_upsample_open(const sup_model *model, const char *prefix, sup_upsample *view, sup_error *error);

/* Scratch size in bytes, a multiple of 64. */
size_t sup_upsample_scratch(const sup_upsample *view);

/* Computes one frame. coarse_positions: 4 floats per coarse vertex, the last one ignored, absolute values below 1e30.
 * Computes the normals of the coarse mesh. `out` is indexed by render vertex, strides as in sup_skin_out; skipped
 * vertices are not written. Tangents need a model with tangents. `scratch` is 64-byte aligned. */
sup_result sup_upsample_apply(const sup_context *context, const sup_upsample *view, const float *coarse_positions,
                              void *scratch, const sup_skin_out *out);
/* Coarse vertices in the scratch of the last apply: [coarse_count*8] x y z 0 nx ny nz 0, unit normals. */
const float *sup_upsample_coarse_vertices(const void *scratch);
/* The same with kernels of at most `lanes` lanes, for tests and benchmarks. */
sup_result sup_upsample_apply_lanes(const sup_context *context, const sup_upsample *view, const float *coarse_positions,
                                    void *scratch, const sup_skin_out *out, int32_t lanes);

/* Input of a kernel: clusters [begin, end) of one frame. */
typedef struct sup_upsample_work {
    const sup_upsample_clusters *clusters;
    const float *coarse; /* [coarse_count*8] x y z 0 nx ny nz 0 */
    sup_skin_out out;    /* strides set */
    int32_t begin, end;
} sup_upsample_work;

typedef void sup_upsample_kernel(const sup_upsample_work *work);
sup_upsample_kernel sup_upsample_clusters_base, sup_upsample_clusters_avx2, sup_upsample_clusters_avx512;

#endif
