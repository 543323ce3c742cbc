/* simd.h (internal) - SIMD floats as GCC and Clang vector types: one kernel source for all instruction sets.
 *
 * A kernel is written once in NAME_kernel.h with `sup_wide`, a vector of SUP_LANES floats, and compiled once per
 * instruction set: NAME_base.c (the baseline of the target: SSE2, NEON, WASM SIMD, or scalar floats with
 * SUPPLE_SCALAR), NAME_avx2.c and NAME_avx512.c (x86 only, empty elsewhere; cmake/simd.cmake sets their flags).
 * sup_simd_lanes() selects the kernel at run time.
 *
 * Arithmetic is a + b, a * b, a / b on sup_wide; sup_wide_fma is fused if the instruction set has a fused
 * multiply-add. */
#ifndef SUP_BASE_SIMD_H
#define SUP_BASE_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(SUPPLE_SCALAR)
#define SUP_LANES 1
#elif defined(__AVX512F__)
#define SUP_LANES 16
#elif defined(__AVX2__)
#define SUP_LANES 8
#else
#define SUP_LANES 4
#endif

#if !defined(SUPPLE_SCALAR)
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif
#endif

/* Lanes of the widest kernel that this processor supports: 16 (AVX-512), 8 (AVX2), or those of the base kernel. */
static inline int32_t sup_simd_lanes(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return 16;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 8 : 4;
#elif defined(SUPPLE_SCALAR)
    return 1;
#else
    return 4;
#endif
}

/* Four floats on every instruction set, such as a matrix row. */
typedef float sup_four __attribute__((vector_size(16)));

static inline sup_four sup_four_load(const float *from)
{
    sup_four a;
    memcpy(&a, from, sizeof a);
    return a;
}

static inline sup_four sup_four_splat(float x)
{
    return (sup_four){x, x, x, x};
}

/* a * b + c */
static inline sup_four sup_four_fma(sup_four a, sup_four b, sup_four c)
{
#if SUP_LANES >= 8
    return (sup_four)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
#elif SUP_LANES == 4 && defined(__aarch64__) && defined(__ARM_NEON)
    return (sup_four)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

static inline float sup_four_lane(sup_four a, int32_t lane)
{
    return a[lane];
}

#if SUP_LANES == 1

typedef float sup_wide;
typedef int32_t sup_mask; /* all bits set in lanes where the condition holds, like a vector comparison */

static inline sup_wide sup_wide_splat(float x)
{
    return x;
}

static inline sup_mask sup_wide_less(sup_wide a, sup_wide b)
{
    return a < b ? -1 : 0;
}

static inline sup_mask sup_mask_and(sup_mask a, sup_mask b)
{
    return a & b;
}

static inline bool sup_mask_all(sup_mask mask)
{
    return mask != 0;
}

/* Bit k is lane k. */
static inline uint32_t sup_mask_bits(sup_mask mask)
{
    return mask != 0 ? 1 : 0;
}

static inline sup_wide sup_wide_select(sup_mask mask, sup_wide yes, sup_wide no)
{
    return mask != 0 ? yes : no;
}

static inline sup_wide sup_wide_fma(sup_wide a, sup_wide b, sup_wide c)
{
    return a * b + c;
}

static inline sup_wide sup_wide_sqrt(sup_wide a)
{
    return sqrtf(a);
}

static inline bool sup_mask_lane(sup_mask mask, int32_t lane)
{
    (void)lane;
    return mask != 0;
}

#else

typedef float sup_wide __attribute__((vector_size(SUP_LANES * 4)));
typedef int32_t sup_mask __attribute__((vector_size(SUP_LANES * 4)));

static inline sup_wide sup_wide_splat(float x)
{
#if SUP_LANES == 16
    return (sup_wide)_mm512_set1_ps(x);
#elif SUP_LANES == 8
    return (sup_wide)_mm256_set1_ps(x);
#else
    return (sup_wide){x, x, x, x};
#endif
}

static inline sup_mask sup_wide_less(sup_wide a, sup_wide b)
{
    return (sup_mask)(a < b);
}

static inline sup_mask sup_mask_and(sup_mask a, sup_mask b)
{
    return a & b;
}

static inline bool sup_mask_all(sup_mask mask)
{
#if SUP_LANES == 16
    return _mm512_movepi32_mask((__m512i)mask) == 0xffff;
#elif SUP_LANES == 8
    return _mm256_movemask_ps((__m256)mask) == 0xff;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)mask) == 0xf;
#else
    return (mask[0] & mask[1] & mask[2] & mask[3]) != 0;
#endif
}

static inline uint32_t sup_mask_bits(sup_mask mask)
{
#if SUP_LANES == 16
    return (uint32_t)_mm512_movepi32_mask((__m512i)mask);
#elif SUP_LANES == 8
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)mask);
#else
    return (uint32_t)((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
#endif
}

static inline sup_wide sup_wide_select(sup_mask mask, sup_wide yes, sup_wide no)
{
    return (sup_wide)((mask & (sup_mask)yes) | (~mask & (sup_mask)no));
}

/* a * b + c */
static inline sup_wide sup_wide_fma(sup_wide a, sup_wide b, sup_wide c)
{
#if SUP_LANES == 16
    return (sup_wide)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif SUP_LANES == 8
    return (sup_wide)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__) && defined(__ARM_NEON)
    return (sup_wide)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

static inline sup_wide sup_wide_sqrt(sup_wide a)
{
#if SUP_LANES == 16
    return (sup_wide)_mm512_sqrt_ps((__m512)a);
#elif SUP_LANES == 8
    return (sup_wide)_mm256_sqrt_ps((__m256)a);
#elif defined(__SSE2__)
    return (sup_wide)_mm_sqrt_ps((__m128)a);
#elif defined(__aarch64__) && defined(__ARM_NEON)
    return (sup_wide)vsqrtq_f32((float32x4_t)a);
#elif defined(__wasm_simd128__)
    return (sup_wide)wasm_f32x4_sqrt((v128_t)a);
#else
    return (sup_wide){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
#endif
}

static inline bool sup_mask_lane(sup_mask mask, int32_t lane)
{
    return mask[lane] != 0;
}

/* Within every four lanes: a0 b0 a1 b1 and a2 b2 a3 b3 (zip), a0 a1 b0 b1 and a2 a3 b2 b3 (pair). */
#if SUP_LANES == 16
static inline sup_wide sup_wide_zip_low(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm512_unpacklo_ps((__m512)a, (__m512)b);
}

static inline sup_wide sup_wide_zip_high(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm512_unpackhi_ps((__m512)a, (__m512)b);
}

static inline sup_wide sup_wide_pair_low(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm512_shuffle_ps((__m512)a, (__m512)b, _MM_SHUFFLE(1, 0, 1, 0));
}

static inline sup_wide sup_wide_pair_high(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm512_shuffle_ps((__m512)a, (__m512)b, _MM_SHUFFLE(3, 2, 3, 2));
}
#elif SUP_LANES == 8
static inline sup_wide sup_wide_zip_low(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm256_unpacklo_ps((__m256)a, (__m256)b);
}

static inline sup_wide sup_wide_zip_high(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm256_unpackhi_ps((__m256)a, (__m256)b);
}

static inline sup_wide sup_wide_pair_low(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm256_shuffle_ps((__m256)a, (__m256)b, _MM_SHUFFLE(1, 0, 1, 0));
}

static inline sup_wide sup_wide_pair_high(sup_wide a, sup_wide b)
{
    return (sup_wide)_mm256_shuffle_ps((__m256)a, (__m256)b, _MM_SHUFFLE(3, 2, 3, 2));
}
#elif SUP_LANES == 4
static inline sup_wide sup_wide_zip_low(sup_wide a, sup_wide b)
{
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

static inline sup_wide sup_wide_zip_high(sup_wide a, sup_wide b)
{
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

static inline sup_wide sup_wide_pair_low(sup_wide a, sup_wide b)
{
    return __builtin_shufflevector(a, b, 0, 1, 4, 5);
}

static inline sup_wide sup_wide_pair_high(sup_wide a, sup_wide b)
{
    return __builtin_shufflevector(a, b, 2, 3, 6, 7);
}
#endif

#endif

/* Maximum per lane; b if one of them is NaN. */
static inline sup_wide sup_wide_max(sup_wide a, sup_wide b)
{
#if SUP_LANES == 16
    return (sup_wide)_mm512_max_ps((__m512)a, (__m512)b);
#elif SUP_LANES == 8
    return (sup_wide)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return sup_wide_select(sup_wide_less(b, a), a, b);
#endif
}

/* 1 / a to about 12 bits if the processor has such an instruction, else exact: for self-correcting iterations. */
static inline sup_wide sup_wide_rough_reciprocal(sup_wide a)
{
#if SUP_LANES == 16
    return (sup_wide)_mm512_rcp14_ps((__m512)a);
#elif SUP_LANES == 8
    return (sup_wide)_mm256_rcp_ps((__m256)a);
#else
    return sup_wide_splat(1.0f) / a;
#endif
}

/* 1 / sqrt(a) with an error of one or two units in the last place, for a >= 1e-30. */
static inline sup_wide sup_wide_inverse_sqrt(sup_wide a)
{
#if SUP_LANES >= 8
#if SUP_LANES == 16
    sup_wide y = (sup_wide)_mm512_rsqrt14_ps((__m512)a);
#else
    sup_wide y = (sup_wide)_mm256_rsqrt_ps((__m256)a);
#endif
    /* One Newton step: y + y / 2 (1 - a y^2). */
    sup_wide off = sup_wide_fma(-(a * y), y, sup_wide_splat(1.0f));
    return sup_wide_fma(y * sup_wide_splat(0.5f), off, y);
#else
    return sup_wide_splat(1.0f) / sup_wide_sqrt(a);
#endif
}

/* Unaligned load; compilers turn the memcpy into one instruction. */
static inline sup_wide sup_wide_load(const float *from)
{
    sup_wide a;
    memcpy(&a, from, sizeof a);
    return a;
}

static inline void sup_wide_store(float *to, sup_wide a)
{
    memcpy(to, &a, sizeof a);
}

/* Stores x, y and z of lane k to the three floats at first + index[k] * stride bytes. */
static inline void sup_wide_scatter3(char *first, size_t stride, const uint16_t *index, sup_wide x, sup_wide y,
                                     sup_wide z)
{
#if SUP_LANES == 1
    const float lane[3] = {x, y, z};
    memcpy(first + index[0] * stride, lane, sizeof lane);
#elif SUP_LANES == 16
    __m512 low = _mm512_unpacklo_ps((__m512)x, (__m512)y), high = _mm512_unpackhi_ps((__m512)x, (__m512)y);
    /* lanes[k]: lanes k, k + 4, k + 8 and k + 12 as x y z and a fourth float that the mask excludes. */
    const __m512 lanes[4] = {_mm512_shuffle_ps(low, (__m512)z, _MM_SHUFFLE(0, 0, 1, 0)),
                             _mm512_shuffle_ps(low, (__m512)z, _MM_SHUFFLE(1, 1, 3, 2)),
                             _mm512_shuffle_ps(high, (__m512)z, _MM_SHUFFLE(2, 2, 1, 0)),
                             _mm512_shuffle_ps(high, (__m512)z, _MM_SHUFFLE(3, 3, 3, 2))};
    for (int32_t k = 0; k < 4; k++) {
        _mm_mask_storeu_ps(first + index[k] * stride, 7, _mm512_castps512_ps128(lanes[k]));
        _mm_mask_storeu_ps(first + index[k + 4] * stride, 7, _mm512_extractf32x4_ps(lanes[k], 1));
        _mm_mask_storeu_ps(first + index[k + 8] * stride, 7, _mm512_extractf32x4_ps(lanes[k], 2));
        _mm_mask_storeu_ps(first + index[k + 12] * stride, 7, _mm512_extractf32x4_ps(lanes[k], 3));
    }
#else
    uint64_t pairs[SUP_LANES]; /* x and y in one store */
    uint32_t last[SUP_LANES];
    sup_wide low = sup_wide_zip_low(x, y), high = sup_wide_zip_high(x, y);
    memcpy(pairs, &low, sizeof low);
    memcpy(pairs + SUP_LANES / 2, &high, sizeof high);
    memcpy(last, &z, sizeof last);
    for (int32_t k = 0; k < SUP_LANES; k++) {
        char *to = first + index[k] * stride;
        memcpy(to, pairs + k / 4 * 2 + k % 2 + (k % 4 < 2 ? 0 : SUP_LANES / 2), 8);
        memcpy(to + 8, last + k, 4);
    }
#endif
}

/* The magnitude of `size` with the sign of `sign`; -0 is negative. */
static inline sup_wide sup_wide_copy_sign(sup_wide size, sup_wide sign)
{
#if SUP_LANES == 1
    return copysignf(size, sign);
#else
    const sup_mask bit = (sup_mask)sup_wide_splat(-0.0f);
    return (sup_wide)(((sup_mask)size & ~bit) | ((sup_mask)sign & bit));
#endif
}

#endif
