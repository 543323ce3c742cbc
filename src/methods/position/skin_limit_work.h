/* skin_limit_work.h (internal) - the kernels of skin_limit.c. */
#ifndef SUP_METHODS_POSITION_SKIN_LIMIT_WORK_H
#define SUP_METHODS_POSITION_SKIN_LIMIT_WORK_H

#include "methods/position/skin_limit.h"

/* Positions: [skin_count*4]; normals: [triangle_batches*16*4], area normal and 1 / its length. */
typedef struct sup_skin_kernels {
    int32_t lanes; /* triangles per batch that is found */
    float (*largest_ratio)(const sup_skin_limit *skin, const float *positions);
    int32_t (*find_long)(const sup_skin_limit *skin, const float *positions, float limit, float *normals,
                         int32_t *found);
    int32_t (*find_flipped)(const sup_skin_limit *skin, const float *normals, int32_t *found);
} sup_skin_kernels;

extern const sup_skin_kernels sup_skin_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_skin_kernels sup_skin_kernels_avx2;
#endif

#endif
