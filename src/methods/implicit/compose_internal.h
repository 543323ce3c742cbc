/* compose_internal.h (internal) - what compose.c and its kernels share. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_INTERNAL_H
#define SUP_METHODS_IMPLICIT_COMPOSE_INTERNAL_H

#include "methods/implicit/compose.h"
#include "methods/implicit/controllers.h"
#include "methods/implicit/operators.h"

typedef struct sup_compose_operand {
    sup_field_samples samples;
    float contact[SUP_FIELD_LANES];
} sup_compose_operand;

typedef struct sup_compose_kernels {
    /* a becomes g(a, b). */
    void (*combine)(const float *table, const float *controller, const sup_compose_operand *b, sup_compose_operand *a);
    /* Bit k: box k of SUP_FIELD_LANES, `stride` floats from coordinate to coordinate, meets the block [6]. */
    uint32_t (*boxes_that_meet)(const float *boxes, int32_t stride, const float *block);
} sup_compose_kernels;

extern const sup_compose_kernels sup_compose_kernels_base, sup_compose_kernels_avx2, sup_compose_kernels_avx512;

#endif
