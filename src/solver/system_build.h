/* system_build.h (internal) - shared by the files that build a system. */
#ifndef SUP_SOLVER_SYSTEM_BUILD_H
#define SUP_SOLVER_SYSTEM_BUILD_H

#include "solver/system.h"

/* One prism in double. Tetrahedra as in sup_prism_tets: edge k runs from c' to corner k. */
typedef struct sup_prism {
    int32_t corner[6];     /* tissue vertices a, b, c, a', b', c' */
    double gradient[3][9]; /* per tet: row k is the gradient of its k-th corner's hat function */
    double weight[3];      /* w of eq. 2.16; 0 for a tetrahedron too flat to have gradients */
    double span; /* weight of six times a wedge's volume, 0 below the outer layer; negative where a, b, c have the
                    opposite orientation of the triangle */
} sup_prism;

typedef struct sup_system_builder {
    const sup_context *context;
    const sup_system_def *def;
    const sup_tissue *tissue;
    sup_model_builder *model;
    const char *prefix;
    sup_arena arena;

    double low[3], diagonal, size;     /* bounding box of the skin: corner, diagonal, cube root of the volume */
    int32_t vertex_count, prism_count; /* of all layers, the outer one's prisms first */
    int32_t unknown_count, anchor_count;
    int32_t *number;   /* [vertex_count] unknown (skin, then free bases), or unknown_count + anchor */
    float *rest;       /* [vertex_count*3] tissue vertices */
    sup_prism *prisms; /* [prism_count] */
    double *mass;      /* [vertex_count] 0 for bases */
    int32_t *node;     /* [vertex_count] */
    int32_t dropped;   /* flat tetrahedra */

    int32_t batch_count, cluster_count;
    int32_t *lane_prism;                /* [batch_count*SUP_PRISM_LANES] -1 for unused lanes */
    const sup_system_cluster *clusters; /* [cluster_count] */
} sup_system_builder;

/* A new array PREFIX.name of the model. Returns NULL when out of memory. */
void *sup_system_add(sup_system_builder *b, const char *name, sup_array_type type, int64_t count);
/* PREFIX.name into `to`, 32 bytes. */
void sup_system_name(const char *prefix, const char *name, char to[32]);

/* Fills prisms and mass. */
sup_result sup_system_build_prisms(sup_system_builder *b, sup_error *error);
/* Batches, clusters and their sums; needs `node`. */
sup_result sup_system_build_batches(sup_system_builder *b, sup_error *error);
/* Arrays of the volume regions; needs the batches. */
sup_result sup_system_build_volume(sup_system_builder *b, sup_error *error);

#endif
