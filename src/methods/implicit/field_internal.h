/* field_internal.h - the kernels of the fields, compiled once per instruction set. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_INTERNAL_H
#define SUP_METHODS_IMPLICIT_FIELD_INTERNAL_H

#include "methods/implicit/field.h"

/* Floats of an HRBF centre as stored for the kernel: position, weight of r^3, and -3 times the weights of its
 * gradient. */
enum { SUP_FIT_FLOATS = 7 };

/* An HRBF in float, in units of its own size: see hrbf.h. */
typedef struct sup_fit_lanes {
    int32_t count;
    const float *centres; /* [count*SUP_FIT_FLOATS] */
    float linear[4];      /* constant, then slope */
} sup_fit_lanes;

typedef struct sup_field_kernels {
    sup_field_evaluate_fn *evaluate;
    /* Values at SUP_FIELD_LANES points. */
    void (*fit)(const sup_fit_lanes *fit, const sup_field_points *points, float *values);
} sup_field_kernels;

extern const sup_field_kernels sup_field_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_field_kernels sup_field_kernels_avx2, sup_field_kernels_avx512;
#endif
/* The fastest kernels that this processor supports. */
const sup_field_kernels *sup_field_kernels_best(void);

#endif
