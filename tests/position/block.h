/* block.h - a bar of small cubes, each six tets, on a chain of two bones: a body for tests and benchmarks. */
#ifndef SUP_TESTS_POSITION_BLOCK_H
#define SUP_TESTS_POSITION_BLOCK_H

#include "bind/model.h"
#include "math/affine.h"
#include "methods/position/pbd.h"

typedef struct block_def {
    int32_t nx, ny, nz;         /* cubes; the bar lies along x, the bones on its axis */
    double length;              /* 0: 1 */
    double noise;               /* of a cube's edge, moves inner particles */
    bool core;                  /* particles on the axis are kinematic */
    bool left_end;              /* particles of the left face are kinematic */
    int32_t cluster_size; /* 0: the default */
} block_def;

typedef struct block {
    block_def def;
    int32_t particle_count, tet_count;
    double *rest;  /* [particle_count*3] */
    int32_t *tets; /* [tet_count*4] */
    bool *kinematic;
    sup_model *model;
    sup_pbd pbd;
    void *state;
    float *guide, *guide_previous, *bone; /* [slot_count*4] */
    sup_pbd_input input;                /* pointing at those; physical units, 10 ms, 12 iterations */
} block;

/* Ends the program when memory runs out or the bind fails. */
block block_make(const block_def *def);
void block_free(block *b);
/* The guide and bone points with the right half turned by `angle` about z, then all moved by `whole`. guide_previous
 * takes the guide that was there. */
void block_pose(block *b, double angle, sup_affine whole);
/* At rest at the guide, guide_previous the same. */
void block_reset(block *b);
bool block_step(block *b, const sup_context *context);
/* Of all tets together, from rows of four floats; and of the rest shape when rows is NULL. */
double block_volume(const block *b, const float *rows);
/* Row of the particle at lattice place (i, j, k). */
const float *block_at(const block *b, int32_t i, int32_t j, int32_t k);

#endif
