/* simd_rows.h (internal) - rows of four floats (a point and one number beside it) to vector lanes and back.
 *
 * Points that stand anywhere are loaded as whole rows and transposed: faster than gathering x, y and z apart. Lane k is
 * row place[k]; places are 32-bit numbers, or 16-bit ones where the names end so. Include it in kernels only (base/simd.h). */
#ifndef SUP_BASE_SIMD_ROWS_H
#define SUP_BASE_SIMD_ROWS_H

#include "base/simd.h"

#if defined(__GNUC__)
#define SUP_ROWS static inline __attribute__((always_inline))
#else
#define SUP_ROWS static inline
#endif

/* Components x, y, z and w of SUP_LANES rows. */
typedef struct sup_wide4 {
    sup_wide x, y, z, w;
} sup_wide4;

/* Where the row of lane k starts; `narrow` is known when it is compiled. */
SUP_ROWS int64_t sup_simd_rows_start(const void *place, bool narrow, int k)
{
    return 4 * (int64_t)(narrow ? ((const uint16_t *)place)[k] : ((const int32_t *)place)[k]);
}

#if SUP_LANES == 1

SUP_ROWS sup_wide4 sup_simd_rows_gather_any(const float *rows, const void *place, bool narrow)
{
    const float *p = rows + sup_simd_rows_start(place, narrow, 0);
    return (sup_wide4){p[0], p[1], p[2], p[3]};
}

SUP_ROWS void sup_simd_rows_scatter(float *rows, const int32_t *place, sup_wide4 v)
{
    float *p = rows + (int64_t)place[0] * 4;
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
    p[3] = v.w;
}

SUP_ROWS sup_wide4 sup_simd_rows_load(const float *rows)
{
    return (sup_wide4){rows[0], rows[1], rows[2], rows[3]};
}

SUP_ROWS void sup_simd_rows_store(float *rows, sup_wide4 v)
{
    rows[0] = v.x;
    rows[1] = v.y;
    rows[2] = v.z;
    rows[3] = v.w;
}

#else

/* Rows of lanes k, k + 4, k + 8 ... side by side. */
SUP_ROWS sup_wide sup_simd_rows_fourth(const float *rows, const void *place, bool narrow, int k)
{
#if SUP_LANES == 16
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(rows + sup_simd_rows_start(place, narrow, k)));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(rows + sup_simd_rows_start(place, narrow, k + 4)), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(rows + sup_simd_rows_start(place, narrow, k + 8)), 2);
    return (sup_wide)_mm512_insertf32x4(v, _mm_loadu_ps(rows + sup_simd_rows_start(place, narrow, k + 12)), 3);
#elif SUP_LANES == 8
    __m256 v = _mm256_castps128_ps256(_mm_loadu_ps(rows + sup_simd_rows_start(place, narrow, k)));
    return (sup_wide)_mm256_insertf128_ps(v, _mm_loadu_ps(rows + sup_simd_rows_start(place, narrow, k + 4)), 1);
#else
    return sup_wide_load(rows + sup_simd_rows_start(place, narrow, k));
#endif
}

SUP_ROWS void sup_simd_rows_put_fourth(float *rows, const int32_t *place, sup_wide v)
{
#if SUP_LANES == 16
    _mm_storeu_ps(rows + (int64_t)place[0] * 4, _mm512_castps512_ps128((__m512)v));
    _mm_storeu_ps(rows + (int64_t)place[4] * 4, _mm512_extractf32x4_ps((__m512)v, 1));
    _mm_storeu_ps(rows + (int64_t)place[8] * 4, _mm512_extractf32x4_ps((__m512)v, 2));
    _mm_storeu_ps(rows + (int64_t)place[12] * 4, _mm512_extractf32x4_ps((__m512)v, 3));
#elif SUP_LANES == 8
    _mm_storeu_ps(rows + (int64_t)place[0] * 4, _mm256_castps256_ps128((__m256)v));
    _mm_storeu_ps(rows + (int64_t)place[4] * 4, _mm256_extractf128_ps((__m256)v, 1));
#else
    sup_wide_store(rows + (int64_t)place[0] * 4, v);
#endif
}

/* 4 x 4 blocks transposed: four rows to components, and the same way back. */
SUP_ROWS void sup_simd_rows_transpose(sup_wide v[4])
{
    sup_wide a = sup_wide_zip_low(v[0], v[2]), b = sup_wide_zip_low(v[1], v[3]);
    sup_wide c = sup_wide_zip_high(v[0], v[2]), d = sup_wide_zip_high(v[1], v[3]);
    v[0] = sup_wide_zip_low(a, b);
    v[1] = sup_wide_zip_high(a, b);
    v[2] = sup_wide_zip_low(c, d);
    v[3] = sup_wide_zip_high(c, d);
}

SUP_ROWS sup_wide4 sup_simd_rows_gather_any(const float *rows, const void *place, bool narrow)
{
    sup_wide v[4];
    for (int k = 0; k < 4; k++)
        v[k] = sup_simd_rows_fourth(rows, place, narrow, k);
    sup_simd_rows_transpose(v);
    return (sup_wide4){v[0], v[1], v[2], v[3]};
}

/* No two lanes may have the same place, unless they write the same. */
SUP_ROWS void sup_simd_rows_scatter(float *rows, const int32_t *place, sup_wide4 x)
{
    sup_wide v[4] = {x.x, x.y, x.z, x.w};
    sup_simd_rows_transpose(v);
    for (int k = 0; k < 4; k++)
        sup_simd_rows_put_fourth(rows, place + k, v[k]);
}

/* Places that stand one after another. */
static const int32_t sup_simd_rows_in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

SUP_ROWS sup_wide4 sup_simd_rows_load(const float *rows)
{
    return sup_simd_rows_gather_any(rows, sup_simd_rows_in_order, false);
}

SUP_ROWS void sup_simd_rows_store(float *rows, sup_wide4 v)
{
    sup_simd_rows_scatter(rows, sup_simd_rows_in_order, v);
}

#endif

SUP_ROWS sup_wide4 sup_simd_rows_gather(const float *rows, const int32_t *place)
{
    return sup_simd_rows_gather_any(rows, place, false);
}

SUP_ROWS sup_wide4 sup_simd_rows_gather16(const float *rows, const uint16_t *place)
{
    return sup_simd_rows_gather_any(rows, place, true);
}

#endif
