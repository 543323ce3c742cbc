/* warp_avx512.c - the warp's inner loop; compiled with -mavx512f and more (cmake/simd.cmake). */
#include "anatomy/warp.h"

#if defined(__AVX512F__) && !defined(SUPPLE_SCALAR)

#include <immintrin.h>

#define WARP_LANES 8
#define WARP_ROOT(square) ((warp_wide)_mm512_sqrt_pd((__m512d)(square)))
#define WARP_SUM sum_avx512
#include "anatomy/warp_kernel.h"

sup_warp_sum_fn *sup_warp_sum_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
               ? sum_avx512
               : NULL;
}

#else

sup_warp_sum_fn *sup_warp_sum_avx512(void)
{
    return NULL;
}

#endif
