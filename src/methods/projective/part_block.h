/* part_block.h (internal) - triangles of the shown skin side by side, and the kernels that compare them. */
#ifndef SUP_METHODS_PROJECTIVE_PART_BLOCK_H
#define SUP_METHODS_PROJECTIVE_PART_BLOCK_H

#include "methods/projective/detect_internal.h"
#include "methods/projective/part_skin.h"

typedef struct sup_part_block {
    float corner[9][SUP_PART_BUNDLE]; /* x, y, z of the first corner, then of the others */
    float normal[3][SUP_PART_BUNDLE]; /* twice the area long */
    sup_detect_boxes box;
} sup_part_block;

typedef struct sup_part_kernels {
    /* Normals and boxes of the corners. */
    void (*bound)(sup_part_block *block);
    /* Bit i: triangle i of `others` may cross triangle `lane` of `block`. Their boxes meet, and each has corners on both
     * sides of the other's plane. */
    uint32_t (*cross)(const sup_part_block *block, int32_t lane, const sup_part_block *others);
} sup_part_kernels;

extern const sup_part_kernels sup_part_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_part_kernels sup_part_kernels_avx2, sup_part_kernels_avx512;
#endif

#endif
