/* upsample_kernel.h (internal) - weighted sums of coarse vertices; includers define SUP_KERNEL(name).
 *
 * Eq. 3.9 of [komaritzan2022]. A coarse vertex is one load of eight floats x nx y ny z nz 0 0, a pair of weights is
 * spread over them by one more, and both meet in one multiplication. Four sums run side by side, as each must wait for
 * the one before. Two neighbours in one wider register would need more moves than they save: 16 lanes use 8. */
#include "base/simd.h"
#include "upsample/upsample.h"

#define SUP_INLINE static inline __attribute__((always_inline))

#if SUP_LANES >= 8
typedef float octet __attribute__((vector_size(32)));

SUP_INLINE octet octet_zero(void)
{
    return (octet)_mm256_setzero_ps();
}

/* sum + (a b a b a b a b) * from */
SUP_INLINE octet octet_add(octet sum, const float *pair, const float *from)
{
    __m256 weights = _mm256_castpd_ps(_mm256_broadcast_sd((const double *)(const void *)pair));
    return (octet)_mm256_fmadd_ps(weights, _mm256_loadu_ps(from), (__m256)sum);
}

SUP_INLINE octet octet_sum(octet a, octet b)
{
    return a + b;
}

SUP_INLINE void octet_store(float *to, octet a)
{
    memcpy(to, &a, sizeof a);
}
#else
typedef struct octet {
    sup_four low, high;
} octet;

SUP_INLINE octet octet_zero(void)
{
    octet zero = {sup_four_splat(0.0f), sup_four_splat(0.0f)};
    return zero;
}

SUP_INLINE octet octet_add(octet sum, const float *pair, const float *from)
{
    sup_four weights = {pair[0], pair[1], pair[0], pair[1]};
    octet r = {sup_four_fma(weights, sup_four_load(from), sum.low),
               sup_four_fma(weights, sup_four_load(from + 4), sum.high)};
    return r;
}

SUP_INLINE octet octet_sum(octet a, octet b)
{
    octet r = {a.low + b.low, a.high + b.high};
    return r;
}

SUP_INLINE void octet_store(float *to, octet a)
{
    memcpy(to, &a.low, sizeof a.low);
    memcpy(to + 4, &a.high, sizeof a.high);
}
#endif

SUP_INLINE const float *coarse_at(const sup_upsample_rows *rows, size_t at, bool narrow)
{
    size_t vertex = narrow ? rows->view->narrow_index[at] : (size_t)rows->view->wide_index[at];
    return rows->coarse + 8 * vertex;
}

/* Sum over the neighbours of a row of weight pairs that are `step` floats apart. */
SUP_INLINE octet sum_row(const sup_upsample_rows *rows, size_t row, const float *pairs, size_t step, bool narrow)
{
    size_t slots = (size_t)rows->view->slots, first = row * slots;
    octet sums[4] = {octet_zero(), octet_zero(), octet_zero(), octet_zero()};
    for (size_t k = 0; k < slots; k += 4) {
        sums[0] = octet_add(sums[0], pairs + k * step, coarse_at(rows, first + k, narrow));
        sums[1] = octet_add(sums[1], pairs + (k + 1) * step, coarse_at(rows, first + k + 1, narrow));
        sums[2] = octet_add(sums[2], pairs + (k + 2) * step, coarse_at(rows, first + k + 2, narrow));
        sums[3] = octet_add(sums[3], pairs + (k + 3) * step, coarse_at(rows, first + k + 3, narrow));
    }
    return octet_sum(octet_sum(sums[0], sums[1]), octet_sum(sums[2], sums[3]));
}

/* The unit vector of v; `fallback`, which is one, where v has no length. */
SUP_INLINE void store_unit(char *to, float x, float y, float z, const float fallback[3])
{
    float square = x * x + y * y + z * z, scale = 1.0f / sqrtf(square);
    float unit[3] = {x * scale, y * scale, z * scale};
    if (!(square > 1e-12f && square < 1e30f)) memcpy(unit, fallback, sizeof unit);
    memcpy(to, unit, sizeof unit);
}

/* The fallback is the normal of the nearest neighbour. */
SUP_INLINE void store_row(const sup_upsample_rows *rows, size_t row, const float p[3], const float n[3], bool narrow)
{
    size_t vertex = (size_t)rows->view->row_vertex[row];
    if (rows->out.positions != NULL)
        memcpy((char *)rows->out.positions + vertex * rows->out.position_stride, p, 3 * sizeof *p);
    if (rows->out.normals == NULL) return;
    const float *nearest = coarse_at(rows, row * (size_t)rows->view->slots, narrow);
    const float fallback[3] = {nearest[1], nearest[3], nearest[5]};
    store_unit((char *)rows->out.normals + vertex * rows->out.normal_stride, n[0], n[1], n[2], fallback);
}

SUP_INLINE void plain_rows(const sup_upsample_rows *rows, bool narrow)
{
    size_t slots = (size_t)rows->view->slots;
    for (size_t row = (size_t)rows->begin; row < (size_t)rows->end; row++) {
        float r[8];
        octet_store(r, sum_row(rows, row, rows->view->plain + row * slots * 2, 2, narrow));
        const float p[3] = {r[0], r[2], r[4]}, n[3] = {r[1], r[3], r[5]};
        store_row(rows, row, p, n, narrow);
    }
}

/* x and nx, y and ny, z and nz added up: the sum of positions and normals. */
SUP_INLINE void fold(octet sum, float v[3])
{
    float r[8];
    octet_store(r, sum);
    for (int32_t i = 0; i < 3; i++)
        v[i] = r[2 * i] + r[2 * i + 1];
}

SUP_INLINE void riding_rows(const sup_upsample_rows *rows, bool narrow)
{
    size_t slots = (size_t)rows->view->slots;
    for (size_t row = (size_t)rows->begin; row < (size_t)rows->end; row++) {
        const float *weights = rows->view->riding + (row - (size_t)rows->view->plain_count) * slots * 4;
        float p[3], n[3];
        fold(sum_row(rows, row, weights, 4, narrow), p);
        fold(sum_row(rows, row, weights + 2, 4, narrow), n);
        store_row(rows, row, p, n, narrow);
    }
}

/* Tangents are turned into the plane of the new normal, which must have been written or is summed up again. */
SUP_INLINE void tangent_rows(const sup_upsample_rows *rows, bool narrow)
{
    size_t slots = (size_t)rows->view->slots;
    for (size_t row = (size_t)rows->begin; row < (size_t)rows->end; row++) {
        char *to = (char *)rows->out.tangents + (size_t)rows->view->row_vertex[row] * rows->out.tangent_stride;
        float t[3], n[3];
        memcpy(n, to, sizeof n); /* plain_rows and riding_rows put the normal here first */
        fold(sum_row(rows, row, rows->view->tangent + row * slots * 2, 2, narrow), t);
        float along = t[0] * n[0] + t[1] * n[1] + t[2] * n[2];
        for (int32_t i = 0; i < 3; i++)
            t[i] -= along * n[i];
        /* Some direction in the plane of the normal. */
        int32_t axis = fabsf(n[0]) < 0.6f ? 0 : 1;
        float side[3] = {-n[axis] * n[0], -n[axis] * n[1], -n[axis] * n[2]};
        side[axis] += 1.0f;
        float scale = 1.0f / sqrtf(1.0f - n[axis] * n[axis]);
        for (int32_t i = 0; i < 3; i++)
            side[i] *= scale;
        store_unit(to, t[0], t[1], t[2], side);
        memcpy(to + 12, rows->view->tangent_sign + row, sizeof(float));
    }
}

SUP_INLINE void run_rows(const sup_upsample_rows *rows, bool narrow)
{
    sup_upsample_rows now = *rows;
    bool plain = rows->begin < rows->view->plain_count;
    if (now.out.positions != NULL || now.out.normals != NULL) {
        if (plain)
            plain_rows(&now, narrow);
        else
            riding_rows(&now, narrow);
    }
    if (now.out.tangents == NULL) return;
    now.out.positions = NULL;
    now.out.normals = now.out.tangents;
    now.out.normal_stride = now.out.tangent_stride;
    if (plain)
        plain_rows(&now, narrow);
    else
        riding_rows(&now, narrow);
    tangent_rows(&now, narrow);
}

void SUP_KERNEL(sup_upsample_rows)(const sup_upsample_rows *rows)
{
    if (rows->view->narrow_index != NULL)
        run_rows(rows, true);
    else
        run_rows(rows, false);
}
