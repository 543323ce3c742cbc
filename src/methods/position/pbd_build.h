/* pbd_build.h (internal) - the binding of a tetrahedral mesh, stage by stage, in the order of the functions below. */
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
    int32_t *piece;    /* [count] piece that solves it */
} sup_pbd_set;

typedef struct sup_pbd_build {
    const sup_context *context;
    const sup_pbd_def *def;
    sup_model_builder *builder;
    const char *prefix;
    sup_arena arena;

    /* pbd_mesh.c */
    sup_pbd_set tets, edges; /* of particles that can move */
    double *share;           /* [particle_count] a quarter of the tets around */
    bool *fixed;             /* [particle_count] kinematic, or in no tet */
    double mean_volume;      /* mean share of the particles that have one */

    /* pbd_clusters.c */
    int32_t level_first[SUP_PBD_LEVELS + 1]; /* pieces of a level */
    int32_t *particles;                      /* [particle_count] by part of the first level */
    int32_t *part_first;                     /* [level_first[1]+1] into particles */
    int32_t *part, *order;                   /* [particle_count] of the level that is being cut */

    sup_pbd_bound bound; /* pbd_pack.c */
} sup_pbd_build;

sup_result sup_pbd_build_mesh(sup_pbd_build *build, sup_error *error);
/* Levels and their pieces. */
sup_result sup_pbd_build_parts(sup_pbd_build *build, sup_error *error);
/* Rows, batches and all arrays of the model. */
sup_result sup_pbd_build_batches(sup_pbd_build *build, sup_error *error);

static inline sup_vec3d sup_pbd_rest(const sup_pbd_build *build, int32_t particle)
{
    const double *p = build->def->rest + 3 * (int64_t)particle;
    return sup_v3(p[0], p[1], p[2]);
}

#endif
