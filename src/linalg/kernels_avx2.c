/* kernels_avx2.c - the inner loops with AVX2 and fused multiply-add; compiled with -mavx2 -mfma (cmake/simd.cmake). */
#include "linalg/kernels.h"

#if defined(__AVX2__) && defined(__FMA__) && !defined(SUPPLE_SCALAR)

#include <immintrin.h>
#include <math.h>

typedef __m256d vd;
enum { VD_LANES = 4 };

/* Rows 0..3: masks with that many lanes. */
static const int64_t part_mask[4][4] = {{0, 0, 0, 0}, {-1, 0, 0, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}};

static inline vd vd_set(double s)
{
    return _mm256_set1_pd(s);
}

static inline vd vd_load(const double *p)
{
    return _mm256_loadu_pd(p);
}

static inline void vd_store(double *p, vd v)
{
    _mm256_storeu_pd(p, v);
}

static inline vd vd_load_part(const double *p, int count)
{
    return _mm256_maskload_pd(p, _mm256_loadu_si256((const __m256i *)(const void *)part_mask[count]));
}

static inline void vd_store_part(double *p, vd v, int count)
{
    _mm256_maskstore_pd(p, _mm256_loadu_si256((const __m256i *)(const void *)part_mask[count]), v);
}

static inline vd vd_nmadd(vd a, vd b, vd c)
{
    return _mm256_fnmadd_pd(a, b, c);
}

typedef __m128 row4;

static inline row4 row4_set(float s)
{
    return _mm_set1_ps(s);
}

static inline row4 row4_load(const float *p)
{
    return _mm_loadu_ps(p);
}

static inline void row4_store(float *p, row4 v)
{
    _mm_storeu_ps(p, v);
}

static inline row4 row4_madd(float s, row4 x, row4 c)
{
    return _mm_fmadd_ps(_mm_set1_ps(s), x, c);
}

static inline row4 row4_nmadd(float s, row4 x, row4 c)
{
    return _mm_fnmadd_ps(_mm_set1_ps(s), x, c);
}

typedef __m256 row8;

static inline row8 row8_set(float s)
{
    return _mm256_set1_ps(s);
}

static inline row8 row8_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void row8_store(float *p, row8 v)
{
    _mm256_storeu_ps(p, v);
}

static inline row8 row8_madd(float s, row8 x, row8 c)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(s), x, c);
}

static inline row8 row8_nmadd(float s, row8 x, row8 c)
{
    return _mm256_fnmadd_ps(_mm256_set1_ps(s), x, c);
}

#define KERNELS_NAME avx2_kernels
#include "linalg/kernels_body.h"

const sup_linalg_kernels *sup_linalg_kernels_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2_kernels : NULL;
}

#else

const sup_linalg_kernels *sup_linalg_kernels_avx2(void)
{
    return NULL;
}

#endif
