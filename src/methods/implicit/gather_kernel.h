/* gather_kernel.h - loads four contiguous floats from each of several addresses, and sums over them. Only for kernels,
 * see base/simd.h.
 *
 * Three neighbours in a table row are one load of four floats; gathers would fetch them one at a time. A vector then
 * holds the rows of SUP_LANES / 4 points: k, k + 4, k + 8, ... for a k from 0 to 3. */
#ifndef SUP_METHODS_IMPLICIT_GATHER_KERNEL_H
#define SUP_METHODS_IMPLICIT_GATHER_KERNEL_H

#include "base/simd.h"

#if SUP_LANES > 1

/* Broadcasts lane k of every group of four. */
static inline sup_wide spread(sup_wide a, int32_t k)
{
#if SUP_LANES == 16
    switch (k) {
    case 0:
        return (sup_wide)_mm512_permute_ps((__m512)a, 0x00);
    case 1:
        return (sup_wide)_mm512_permute_ps((__m512)a, 0x55);
    case 2:
        return (sup_wide)_mm512_permute_ps((__m512)a, 0xaa);
    default:
        return (sup_wide)_mm512_permute_ps((__m512)a, 0xff);
    }
#elif SUP_LANES == 8
    switch (k) {
    case 0:
        return (sup_wide)_mm256_permute_ps((__m256)a, 0x00);
    case 1:
        return (sup_wide)_mm256_permute_ps((__m256)a, 0x55);
    case 2:
        return (sup_wide)_mm256_permute_ps((__m256)a, 0xaa);
    default:
        return (sup_wide)_mm256_permute_ps((__m256)a, 0xff);
    }
#else
    return sup_wide_splat(a[k]);
#endif
}

/* Loads four floats from each of SUP_LANES / 4 addresses. */
static inline sup_wide load_rows(const float *const *at, size_t offset)
{
#if SUP_LANES == 16
    __m512 rows = _mm512_castps128_ps512(_mm_loadu_ps(at[0] + offset));
    rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at[1] + offset), 1);
    rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at[2] + offset), 2);
    return (sup_wide)_mm512_insertf32x4(rows, _mm_loadu_ps(at[3] + offset), 3);
#elif SUP_LANES == 8
    __m256 rows = _mm256_castps128_ps256(_mm_loadu_ps(at[0] + offset));
    return (sup_wide)_mm256_insertf128_ps(rows, _mm_loadu_ps(at[1] + offset), 1);
#else
    return sup_wide_load(at[0] + offset);
#endif
}

/* Four vectors of w0 w1 w2 0 for points k, k + 4, ..., from the weights along x. */
static inline void transpose_weights(const sup_wide weight[3], sup_wide transposed[4])
{
    const sup_wide none = sup_wide_splat(0.0f);
    sup_wide low = sup_wide_zip_low(weight[0], weight[1]), high = sup_wide_zip_high(weight[0], weight[1]);
    sup_wide last_low = sup_wide_zip_low(weight[2], none), last_high = sup_wide_zip_high(weight[2], none);
    transposed[0] = sup_wide_pair_low(low, last_low);
    transposed[1] = sup_wide_pair_high(low, last_low);
    transposed[2] = sup_wide_pair_low(high, last_high);
    transposed[3] = sup_wide_pair_high(high, last_high);
}

/* Lane 4 i + k: the sum of lanes 4 i to 4 i + 3 of vector k. */
static inline sup_wide add_quads(sup_wide a, sup_wide b, sup_wide c, sup_wide d)
{
    sup_wide ab = sup_wide_zip_low(a, b) + sup_wide_zip_high(a, b);
    sup_wide cd = sup_wide_zip_low(c, d) + sup_wide_zip_high(c, d);
    return sup_wide_pair_low(ab, cd) + sup_wide_pair_high(ab, cd);
}

#endif

#endif
