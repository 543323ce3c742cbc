/* kernels_avx2.c - the inner loops with AVX2 and fused multiply-add; compiled with -mavx2 -mfma (cmake/simd.cmake). */
#include "linalg/kernels.h"

#if defined(__AVX2__) && defined(__FMA__) && !defined(SUPPLE_SCALAR)

#include <immintrin.h>
#include <math.h>

typedef __m256d vd;
enum { VD_LANES = 4 };

/* Rows 0..3: masks with that many lanes. */
static const int64_t partial_mask[4][4] = {{0, 0, 0, 0}, {-1, 0, 0, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}};

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

static inline vd vd_load_partial(const double *p, int count)
{
    return _mm256_maskload_pd(p, _mm256_loadu_si256((const __m256i *)(const void *)partial_mask[count]));
}

static inline void vd_store_partial(double *p, vd v, int count)
{
    _mm256_maskstore_pd(p, _mm256_loadu_si256((const __m256i *)(const void *)partial_mask[count]), v);
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

/* Two values a column, each in the four lanes of its right-hand sides. */
static inline row8 pair_load(const float *l)
{
    double two;
    memcpy(&two, l, sizeof two);
    return _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(two)), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

/* Sums of a backward panel: columns two by two, the last of an odd number separately. */
typedef struct pair_sums {
    row8 pair[SUP_PANEL_WIDTH / 2];
    row4 last;
} pair_sums;

static inline __attribute__((always_inline)) void pair_add(int width, const float *l, const float *from, pair_sums *s)
{
    row8 both = _mm256_broadcast_ps((const __m128 *)(const void *)from);
    for (int j = 0; j < width / 2; j++)
        s->pair[j] = _mm256_fnmadd_ps(pair_load(l + 2 * j), both, s->pair[j]);
    if (width % 2 == 1) s->last = row4_nmadd(l[width - 1], _mm256_castps256_ps128(both), s->last);
}

/* Replaces that of kernels_body.h, which has one column at a time: half as many multiplications. */
#define OWN_BACKWARD_PANEL_ROW4
static inline __attribute__((always_inline)) void backward_panel_row4(int width, int chains, const sup_float_panel *p,
                                                                      const int32_t *rows, const float *l, float *x)
{
    pair_sums s[4];
    row4 sum[SUP_PANEL_WIDTH], z[SUP_PANEL_WIDTH];
    float *top = x + (int64_t)p->first * 4;
    for (int k = 0; k < chains; k++) {
        for (int j = 0; j < width / 2; j++)
            s[k].pair[j] = k == 0 ? row8_load(top + 8 * j) : row8_set(0.0f);
        s[k].last = k == 0 ? row4_load(top + (width - 1) * 4) : row4_set(0.0f);
    }
    const float *low = l + width * (width + 1) / 2;
    int32_t r = 0;
    for (; r + chains <= p->below; r += chains, low += chains * width)
        for (int k = 0; k < chains; k++)
            pair_add(width, low + k * width, x + (int64_t)rows[r + k] * 4, &s[k]);
    for (; r < p->below; r++, low += width)
        pair_add(width, low, x + (int64_t)rows[r] * 4, &s[0]);
    for (int k = 1; k < chains; k++) {
        for (int j = 0; j < width / 2; j++)
            s[0].pair[j] = _mm256_add_ps(s[0].pair[j], s[k].pair[j]);
        s[0].last = _mm_add_ps(s[0].last, s[k].last);
    }
    sum[width - 1] = s[0].last;
    for (int j = 0; j < width / 2; j++) {
        sum[2 * j] = _mm256_castps256_ps128(s[0].pair[j]);
        sum[2 * j + 1] = _mm256_extractf128_ps(s[0].pair[j], 1);
    }
    for (int c = 0; c < width; c++)
        z[c] = row4_set(0.0f);
    for (int c = 0; c < width; c++)
        for (int k = 0; k <= c; k++)
            z[k] = row4_madd(*l++, sum[c], z[k]);
    for (int c = 0; c < width; c++)
        row4_store(top + c * 4, z[c]);
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
