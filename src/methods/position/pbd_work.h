/* pbd_work.h (internal) - input and state of the kernels of a step. */
#ifndef SUP_METHODS_POSITION_PBD_WORK_H
#define SUP_METHODS_POSITION_PBD_WORK_H

#include "methods/position/pbd.h"

/* Arrays of an instance. `*_compliance` is k in [0, 1] when raw, else compliance / h^2 in the units of
 * the solver; lambda are the multipliers of this step, unused when raw. */
typedef struct sup_pbd_work {
    const sup_pbd *pbd;
    bool raw;
    float *positions, *previous; /* [slot_count*4] */
    float *follow;               /* [slot_count] fraction of the distance to the guide */
    float *mass;                 /* [slot_count] inverse mass including the spring to the guide */
    float *momentum;             /* [slot_count] fraction of the relative velocity that is kept, besides `retain` */
    float *volume_compliance;    /* [volume_batches*16] */
    float *volume_floor;         /* [volume_batches*16] minimum divisor: sum of squared gradients */
    float *volume_lambda;        /* [volume_batches*16] */
    float *stretch_compliance;   /* [stretch_batches*16] */
    float *stretch_lambda;       /* [stretch_batches*16] */
    float *bind_compliance;      /* [slot_count] */
    float *bind_lambda;          /* [slot_count] */
    const float *guide;          /* [slot_count*4] */
    const float *guide_previous; /* [slot_count*4] */
    const float *bone;           /* [slot_count*4] */
    const float *volume_rest;    /* [volume_batches*16] */
    const float *stretch_rest;   /* [stretch_batches*16] */
    float gravity[3];            /* displacement per step */
    float retain;                /* damping factor of the relative velocity */
    float ratio;                 /* timestep / previous timestep */
    float max_displacement;      /* limit of the relative displacement */
} sup_pbd_work;

typedef struct sup_pbd_kernels {
    /* Inertia, gravity and the guide for slots [begin, end), multiples of 16. */
    void (*predict)(const sup_pbd_work *work, int32_t begin, int32_t end);
    /* Solves all constraints of a cluster once: volume, bind, stretch. */
    void (*solve)(const sup_pbd_work *work, int32_t cluster);
    /* Whether all positions are finite and in range. */
    bool (*is_finite)(const float *positions, int32_t count);
} sup_pbd_kernels;

extern const sup_pbd_kernels sup_pbd_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_pbd_kernels sup_pbd_kernels_avx2;
#endif

#endif
