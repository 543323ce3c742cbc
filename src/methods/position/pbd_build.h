/* pbd_build.h (internal) - the stages of binding a tetrahedral mesh, in the order of the functions below. */
#ifndef SUP_METHODS_POSITION_PBD_BUILD_H
#define SUP_METHODS_POSITION_PBD_BUILD_H

#include "math/vec3.h"
#include "methods/position/pbd.h"

/* Constraints of one type: `arity` particles each. */
typedef struct sup_pbd_set {
    int32_t count, arity;
    int32_t *particle; /* [count*arity] */
    double *rest;      /* [count] six times the volume; length */
    double *around;    /* [count] edges: volume of the tets at the edge; NULL for tets */
    int32_t *cluster;  /* [count] cluster that solves it */
} sup_pbd_set;

typedef struct sup_pbd_build {
    const sup_context *context;
    const sup_pbd_def *def;
    sup_model_builder *builder;
    const char *prefix;
    sup_arena arena;

    /* pbd_mesh.c */
    sup_pbd_set tets, edges; /* constraints with at least one movable particle */
    double *particle_volume; /* [particle_count] a quarter of the tets around */
    bool *fixed;             /* [particle_count] kinematic, or in no tet */
    double mean_volume;      /* mean over particles with volume */

    /* pbd_clusters.c */
    int32_t level_first[SUP_PBD_LEVELS + 1]; /* first cluster of a level */
    int32_t *particles;                      /* [particle_count] sorted by cluster of the first level */
    int32_t *cluster_first;                  /* [level_first[1]+1] first entry in particles */
    int32_t *cluster, *order;                /* [particle_count] in the current level */

    sup_pbd_bound bound; /* pbd_pack.c */
} sup_pbd_build;

sup_result sup_pbd_build_mesh(sup_pbd_build *build, sup_error *error);
/* Builds the levels and their clusters. */
sup_result sup_pbd_build_clusters(sup_pbd_build *build, sup_error *error);
/* Assigns slots and batches, and writes all arrays of the model. */
sup_result sup_pbd_build_batches(sup_pbd_build *build, sup_error *error);

static inline sup_vec3d sup_pbd_rest(const sup_pbd_build *build, int32_t particle)
{
    const double *p = build->def->rest + 3 * (int64_t)particle;
    return sup_v3(p[0], p[1], p[2]);
}

#endif
