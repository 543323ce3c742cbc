/* simd_rows.h (internal) - gathers and scatters arrays of 4-vectors (x, y, z, w) to SIMD lanes: AoS to SoA and back.
 *
 * Each vector is loaded with one 128-bit load, then the lanes are transposed: faster than gathering x, y and z
 * separately. Lane k is vector index[k]; indices have 32 bits, or 16 bits in functions whose name ends in 16. Include
 * it in kernels only (base/simd.h). */
#ifndef SUP_BASE_SIMD_ROWS_H
#define SUP_BASE_SIMD_ROWS_H

#include "base/simd.h"

#if defined(__GNUC__)
#define SUP_WIDE4 static inline __attribute__((always_inline))
#else
#define SUP_WIDE4 static inline
#endif

/* Components x, y, z and w of SUP_LANES vectors. */
typedef struct sup_wide4 {
    sup_wide x, y, z, w;
} sup_wide4;

/* Offset in floats of the vector of lane k; `narrow` (16-bit indices) is a compile-time constant. */
SUP_WIDE4 int64_t sup_wide4_offset(const void *index, bool narrow, int k)
{
    return 4 * (int64_t)(narrow ? ((const uint16_t *)index)[k] : ((const int32_t *)index)[k]);
}

#if SUP_LANES == 1

SUP_WIDE4 sup_wide4 sup_wide4_gather_any(const float *vectors, const void *index, bool narrow)
{
    const float *p = vectors + sup_wide4_offset(index, narrow, 0);
    return (sup_wide4){p[0], p[1], p[2], p[3]};
}

SUP_WIDE4 void sup_wide4_scatter(float *vectors, const int32_t *index, sup_wide4 v)
{
    float *p = vectors + (int64_t)index[0] * 4;
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
    p[3] = v.w;
}

SUP_WIDE4 sup_wide4 sup_wide4_load(const float *vectors)
{
    return (sup_wide4){vectors[0], vectors[1], vectors[2], vectors[3]};
}

SUP_WIDE4 void sup_wide4_store(float *vectors, sup_wide4 v)
{
    vectors[0] = v.x;
    vectors[1] = v.y;
    vectors[2] = v.z;
    vectors[3] = v.w;
}

#else

/* The vectors of lanes k, k + 4, k + 8 ... in one register. */
SUP_WIDE4 sup_wide sup_wide4_load_fourth(const float *vectors, const void *index, bool narrow, int k)
{
#if SUP_LANES == 16
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(vectors + sup_wide4_offset(index, narrow, k)));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(vectors + sup_wide4_offset(index, narrow, k + 4)), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(vectors + sup_wide4_offset(index, narrow, k + 8)), 2);
    return (sup_wide)_mm512_insertf32x4(v, _mm_loadu_ps(vectors + sup_wide4_offset(index, narrow, k + 12)), 3);
#elif SUP_LANES == 8
    __m256 v = _mm256_castps128_ps256(_mm_loadu_ps(vectors + sup_wide4_offset(index, narrow, k)));
    return (sup_wide)_mm256_insertf128_ps(v, _mm_loadu_ps(vectors + sup_wide4_offset(index, narrow, k + 4)), 1);
#else
    return sup_wide_load(vectors + sup_wide4_offset(index, narrow, k));
#endif
}

SUP_WIDE4 void sup_wide4_store_fourth(float *vectors, const int32_t *index, sup_wide v)
{
#if SUP_LANES == 16
    _mm_storeu_ps(vectors + (int64_t)index[0] * 4, _mm512_castps512_ps128((__m512)v));
    _mm_storeu_ps(vectors + (int64_t)index[4] * 4, _mm512_extractf32x4_ps((__m512)v, 1));
    _mm_storeu_ps(vectors + (int64_t)index[8] * 4, _mm512_extractf32x4_ps((__m512)v, 2));
    _mm_storeu_ps(vectors + (int64_t)index[12] * 4, _mm512_extractf32x4_ps((__m512)v, 3));
#elif SUP_LANES == 8
    _mm_storeu_ps(vectors + (int64_t)index[0] * 4, _mm256_castps256_ps128((__m256)v));
    _mm_storeu_ps(vectors + (int64_t)index[4] * 4, _mm256_extractf128_ps((__m256)v, 1));
#else
    sup_wide_store(vectors + (int64_t)index[0] * 4, v);
#endif
}

/* Transposes 4 x 4 floats: four vectors to components, and back. */
SUP_WIDE4 void sup_wide4_transpose(sup_wide v[4])
{
    sup_wide a = sup_wide_zip_low(v[0], v[2]), b = sup_wide_zip_low(v[1], v[3]);
    sup_wide c = sup_wide_zip_high(v[0], v[2]), d = sup_wide_zip_high(v[1], v[3]);
    v[0] = sup_wide_zip_low(a, b);
    v[1] = sup_wide_zip_high(a, b);
    v[2] = sup_wide_zip_low(c, d);
    v[3] = sup_wide_zip_high(c, d);
}

SUP_WIDE4 sup_wide4 sup_wide4_gather_any(const float *vectors, const void *index, bool narrow)
{
    sup_wide v[4];
    for (int k = 0; k < 4; k++)
        v[k] = sup_wide4_load_fourth(vectors, index, narrow, k);
    sup_wide4_transpose(v);
    return (sup_wide4){v[0], v[1], v[2], v[3]};
}

/* Lanes with the same index must have the same values. */
SUP_WIDE4 void sup_wide4_scatter(float *vectors, const int32_t *index, sup_wide4 x)
{
    sup_wide v[4] = {x.x, x.y, x.z, x.w};
    sup_wide4_transpose(v);
    for (int k = 0; k < 4; k++)
        sup_wide4_store_fourth(vectors, index + k, v[k]);
}

/* Consecutive indices. */
static const int32_t sup_wide4_in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

SUP_WIDE4 sup_wide4 sup_wide4_load(const float *vectors)
{
    return sup_wide4_gather_any(vectors, sup_wide4_in_order, false);
}

SUP_WIDE4 void sup_wide4_store(float *vectors, sup_wide4 v)
{
    sup_wide4_scatter(vectors, sup_wide4_in_order, v);
}

#endif

SUP_WIDE4 sup_wide4 sup_wide4_gather(const float *vectors, const int32_t *index)
{
    return sup_wide4_gather_any(vectors, index, false);
}

SUP_WIDE4 sup_wide4 sup_wide4_gather16(const float *vectors, const uint16_t *index)
{
    return sup_wide4_gather_any(vectors, index, true);
}

#endif
