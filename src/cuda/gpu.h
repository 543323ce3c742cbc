/* gpu.h (internal) - what the host side in C and the kernels in CUDA share: arrays on the device, and launches.
 *
 * Vectors of a character have four floats a place, x y z 0, in the order of blocks.h; characters stand one behind the
 * other. All launches are asynchronous on a stream; errors are CUDA's numbers, 0 for none. */
#ifndef SUP_CUDA_GPU_H
#define SUP_CUDA_GPU_H

#include "cuda/blocks.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
typedef float4 sup_gpu_four;
extern "C" {
#else
typedef struct sup_gpu_four {
    float x, y, z, w;
} sup_gpu_four;
#endif

enum {
    SUP_GPU_HISTORY = 8,                /* directions that the acceleration looks back on (solver_work.h) */
    SUP_GPU_SUMS = SUP_GPU_HISTORY + 2, /* energy, product of the newest direction, products with all directions */
    SUP_GPU_LOCKSTEP = 4,               /* characters that a block handles together in a crowd */
    SUP_GPU_TOP_LOCKSTEP = 16,          /* and in the solve of the top */
    SUP_GPU_TOP_ROWS = 64,              /* rows of the top a block in a crowd */
    SUP_GPU_TOP_ROWS_ALONE = 16         /* and for single characters */
};

/* A model's system. */
typedef struct sup_gpu_system {
    int32_t unknown_count, interior_count, top_count, top_stride, part_count, slot_count, anchor_count;
    int32_t most_local;  /* places of a part, anchors included */
    int32_t most_prisms; /* of a part */
    int32_t most_slots, most_pack;
    int32_t top_fan; /* slots of a place of the top */
    float weight_sum;
    const sup_block_part *parts;
    const unsigned char *pack;
    const float *inverse, *top_inverse, *diagonal;
    const int32_t *pull_first, *pull_anchor;
    const float *pull_value;
    const float *tets;
} sup_gpu_system;

/* What a character is told. */
typedef struct sup_gpu_orders {
    int32_t most;    /* iterations */
    int32_t shared;  /* one rotation a prism */
    int32_t plain;   /* Algorithm 2.1 as printed: for comparison */
    float tolerance; /* part of the objective that is not worth an iteration */
    float keep;      /* 1 - damping */
    float fall[3];   /* gravity times the square of the time step */
} sup_gpu_orders;

/* Where it stands. */
typedef struct sup_gpu_progress {
    int32_t phase;      /* steps so far, modulo 6: which buffers are now and before */
    int32_t iterations; /* of the last step, and */
    int32_t rejected;   /* those taken back */
    float objective;    /* at its last local step */
} sup_gpu_progress;

/* A step in progress: what solver.c keeps in sup_step. Two of them take turns. */
typedef struct sup_gpu_control {
    double inner[SUP_GPU_HISTORY][SUP_GPU_HISTORY];
    double coefficient[SUP_GPU_HISTORY + 1][SUP_GPU_HISTORY];
    double last;
    int32_t history, done, accelerated, rejected;
    int32_t base, current; /* buffers of the last iterate and of the current one */
    int32_t over;          /* the step has ended: later kernels have nothing to do */
} sup_gpu_control;

/* State of `count` characters. */
typedef struct sup_gpu_state {
    int32_t count;
    const sup_gpu_orders *orders; /* [count] */
    sup_gpu_progress *progress;   /* [count] */
    sup_gpu_control *control[2];  /* [count] */
    sup_gpu_four *x[2];           /* [count*unknown_count] positions: now and before, or the other way round */
    sup_gpu_four *iterate[3];     /* the same count, */
    sup_gpu_four *inertial, *guess, *miss;
    sup_gpu_four *direction[SUP_GPU_HISTORY];
    sup_gpu_four *y;    /* [count*interior_count] */
    sup_gpu_four *slot; /* [count*top_count*top_fan] what parts leave to the top: gradient + A_tp y_p; 0 where unused */
    float *rhs;         /* [groups of SUP_GPU_TOP_LOCKSTEP][top_stride][3*SUP_GPU_TOP_LOCKSTEP] in crowds */
    sup_gpu_four *top;  /* [count*top_count] the newest direction there */
    sup_gpu_four *anchors[3]; /* [count*anchor_count] */
    sup_gpu_four *bend;       /* [count*anchor_count] second difference of the anchors */
    float *sums;              /* [count*SUP_GPU_SUMS*sum_rows] */
    int32_t sum_rows;         /* parts, then blocks of the top */
} sup_gpu_state;

/* Bytes of shared memory that the kernels of a step need for `lockstep` characters a block. */
size_t sup_gpu_step_shared(const sup_gpu_system *system, int32_t lockstep);
size_t sup_gpu_top_shared(const sup_gpu_system *system, bool crowd);
/* The top's part of a step: what its kernels need, rows of sums that they write, and one solve. */
int sup_gpu_top_prepare(const sup_gpu_system *system, bool crowd);
int32_t sup_gpu_top_rows(const sup_gpu_system *system, bool crowd);
int sup_gpu_top(const sup_gpu_system *system, const sup_gpu_state *state, bool crowd, int32_t turn, void *stream);
/* Once for a device and model: raises the limits of shared memory. */
int sup_gpu_step_prepare(const sup_gpu_system *system, bool crowd);
/* One step. Anchors of the phase are in place. At most `most` iterations. */
int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t most, void *stream);
/* Forgets momentum: now becomes before, the guess and the anchors before as well. */
int sup_gpu_still(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

/* Where a reset begins: the skin by linear blending, everything else where it rests (projective_step.c). */
typedef struct sup_gpu_rest {
    const float *rest;          /* [unknown_count*3] */
    const int32_t *place;       /* [skin_count] number of a skin vertex */
    const int32_t *start_joint; /* [skin_count*4] */
    const float *start_weight;  /* [skin_count*4] */
    const float *start_rest;    /* [skin_count*3] */
    int32_t skin_count, joint_count;
} sup_gpu_rest;
/* Phase 0; then, with the anchors of the pose in place, everything else at rest there: joints [count*joint_count*12]. */
int sup_gpu_first_phase(const sup_gpu_state *state, void *stream);
int sup_gpu_reset(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_rest *rest,
                  const float *joints, void *stream);

#ifdef __cplusplus
}
#endif

#endif
