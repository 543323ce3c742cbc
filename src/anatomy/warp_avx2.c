/* warp_avx2.c - the warp's inner loop; compiled with -mavx2 -mfma (cmake/simd.cmake). */
#include "anatomy/warp.h"

#if defined(__AVX2__) && defined(__FMA__) && !defined(SUPPLE_SCALAR)

#include <immintrin.h>

#define WARP_LANES 4
#define WARP_ROOT(square) ((warp_wide)_mm256_sqrt_pd((__m256d)(square)))
#define WARP_SUM sum_avx2
#include "anatomy/warp_kernel.h"

sup_warp_sum_fn *sup_warp_sum_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? sum_avx2 : NULL;
}

#else

sup_warp_sum_fn *sup_warp_sum_avx2(void)
{
    return NULL;
}

#endif
