/* pbd_work.h (internal) - what the kernels of a step see. */
#ifndef SUP_METHODS_POSITION_PBD_WORK_H
#define SUP_METHODS_POSITION_PBD_WORK_H

#include "methods/position/pbd.h"

/* Arrays of an instance. `soft` is k in [0, 1] when raw, else compliance / seconds^2 in the solver's units; lambda are the
 * multipliers of this step, not used when raw. */
typedef struct sup_pbd_work {
    const sup_pbd *pbd;
    bool raw;
    float *rows, *before;        /* [row_count*4] */
    float *follow;               /* [row_count] part of the way to the guide */
    float *mass;                 /* [row_count] inverse mass in the step: the guide's spring counts as mass */
    float *volume_soft;          /* [volume_batches*16] */
    float *volume_floor;         /* the same count: least sum of squared gradients that is divided by */
    float *volume_lambda;        /* the same count */
    float *stretch_soft;         /* [stretch_batches*16] */
    float *stretch_lambda;       /* the same count */
    float *bind_soft;            /* [row_count] */
    float *bind_lambda;          /* [row_count] */
    const float *guide;          /* [row_count*4] */
    const float *guide_before;   /* [row_count*4] */
    const float *bone;           /* [row_count*4] */
    float gravity[3];            /* displacement in one step */
    float keep, ratio, furthest; /* of the own velocity; step / last step; cap of the own displacement */
} sup_pbd_work;

typedef struct sup_pbd_kernels {
    /* Inertia, gravity and the guide for rows [begin, end), multiples of 16. */
    void (*predict)(const sup_pbd_work *work, int32_t begin, int32_t end);
    /* All constraints of a piece once: volume, bind, stretch. */
    void (*solve)(const sup_pbd_work *work, int32_t piece);
    /* Whether all rows are finite and near. */
    bool (*sane)(const float *rows, int32_t count);
} sup_pbd_kernels;

extern const sup_pbd_kernels sup_pbd_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_pbd_kernels sup_pbd_kernels_avx2;
#endif

#endif
