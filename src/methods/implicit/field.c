/* field.c - selects the field kernels for this processor. */
#include "methods/implicit/field.h"

#include "base/simd.h"
#include "methods/implicit/field_internal.h"

const sup_field_kernels *sup_field_kernels_best(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) return &sup_field_kernels_avx512;
    if (lanes == 8) return &sup_field_kernels_avx2;
#endif
    return &sup_field_kernels_base;
}

sup_field_evaluate_fn *sup_field_evaluator(void)
{
    return sup_field_kernels_best()->evaluate;
}
