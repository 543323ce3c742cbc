/* upsample_kernel.h (internal) - weighted sums of coarse vertices; includers define SUP_KERNEL(name).
 *
 * Eq. 3.9 of [komaritzan2022] for sixteen vertices at once, SUP_LANES of them side by side. */
#include "base/simd.h"
#include "upsample/upsample.h"

#define SUP_INLINE static inline __attribute__((always_inline))

#ifdef SUPPLE_SMALL /* a page asks for no tangents, and seldom for normals alone */
enum { SMALL = 1 };
#else
enum { SMALL = 0 };
#endif

/* SUP_LANES weights as floats. */
SUP_INLINE sup_wide wide_from_int16(const int16_t *from)
{
#if SUP_LANES == 16
    return (sup_wide)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from)));
#elif SUP_LANES == 8
    return (sup_wide)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from)));
#elif SUP_LANES == 4 && defined(__SSE2__)
    __m128i four = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return (sup_wide)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(four, four), 16));
#elif SUP_LANES == 4
    return (sup_wide){(float)from[0], (float)from[1], (float)from[2], (float)from[3]};
#else
    return (float)from[0];
#endif
}

typedef struct wide3 {
    sup_wide x, y, z;
} wide3;

SUP_INLINE wide3 wide3_add(wide3 sum, sup_wide weight, const float *point)
{
    sum.x = sup_wide_fma(weight, sup_wide_splat(point[0]), sum.x);
    sum.y = sup_wide_fma(weight, sup_wide_splat(point[1]), sum.y);
    sum.z = sup_wide_fma(weight, sup_wide_splat(point[2]), sum.z);
    return sum;
}

SUP_INLINE wide3 wide3_scale(wide3 a, const float *units)
{
    sup_wide by = sup_wide_load(units);
    return (wide3){a.x * by, a.y * by, a.z * by};
}

SUP_INLINE wide3 wide3_sum(wide3 a, wide3 b)
{
    return (wide3){a.x + b.x, a.y + b.y, a.z + b.z};
}

SUP_INLINE sup_wide wide3_dot(wide3 a, wide3 b)
{
    return sup_wide_fma(a.x, b.x, sup_wide_fma(a.y, b.y, a.z * b.z));
}

SUP_INLINE wide3 wide3_zero(void)
{
    return (wide3){sup_wide_splat(0.0f), sup_wide_splat(0.0f), sup_wide_splat(0.0f)};
}

/* The sums of two ways that stand side by side: the first over positions, the second over normals. */
typedef struct two_sums {
    wide3 x, n;
} two_sums;

SUP_INLINE two_sums sum_ways(const sup_upsample_work *w, int32_t block, const int16_t *weights, size_t step,
                             const float *units, bool narrow, bool x, bool n)
{
    const sup_upsample_clusters *b = w->blocks;
    const float *coarse = w->coarse;
    const uint16_t *narrow_index = b->narrow_index;
    const int32_t *wide_index = b->wide_index;
    two_sums sums = {wide3_zero(), wide3_zero()};
    size_t end = (size_t)b->first[block + 1];
    for (size_t entry = (size_t)b->first[block]; entry < end; entry++) {
        const float *from = coarse + 8 * (narrow ? (size_t)narrow_index[entry] : (size_t)wide_index[entry]);
        if (x) sums.x = wide3_add(sums.x, wide_from_int16(weights + entry * step), from);
        if (n) sums.n = wide3_add(sums.n, wide_from_int16(weights + entry * step + SUP_UPSAMPLE_CLUSTER), from + 4);
    }
    sums.x = wide3_scale(sums.x, units);
    sums.n = wide3_scale(sums.n, units + SUP_UPSAMPLE_CLUSTER);
    return sums;
}

/* Positions and normals, not yet of unit length, of SUP_LANES rows from `lane` on. */
SUP_INLINE two_sums sum_rows(const sup_upsample_work *w, int32_t block, size_t lane, bool narrow, bool riding, bool x,
                             bool n)
{
    const sup_upsample_clusters *b = w->blocks;
    size_t step = (riding ? 4 : 2) * SUP_UPSAMPLE_CLUSTER;
    const int16_t *weights = b->weights + lane;
    const float *units = b->units + (size_t)block * step + lane;
    if (!riding) return sum_ways(w, block, weights, step, units, narrow, x, n);
    two_sums rows = {wide3_zero(), wide3_zero()};
    if (x) {
        two_sums p = sum_ways(w, block, weights, step, units, narrow, true, true);
        rows.x = wide3_sum(p.x, p.n);
    }
    if (n) {
        two_sums p = sum_ways(w, block, weights + 2 * SUP_UPSAMPLE_CLUSTER, step, units + 2 * SUP_UPSAMPLE_CLUSTER, narrow, true, true);
        rows.n = wide3_sum(p.x, p.n);
    }
    return rows;
}

SUP_INLINE void store_wide3(float to[3][SUP_LANES], wide3 a)
{
    sup_wide_store(to[0], a.x);
    sup_wide_store(to[1], a.y);
    sup_wide_store(to[2], a.z);
}

SUP_INLINE void store_lane(char *to, float a[3][SUP_LANES], int32_t lane)
{
    const float v[3] = {a[0][lane], a[1][lane], a[2][lane]};
    memcpy(to, v, sizeof v);
}

/* The normal of the neighbour that counts most: for a row whose own has no length. */
static void fallback_normal(const sup_upsample_work *w, int32_t block, size_t row, float normal[3])
{
    const sup_upsample_clusters *b = w->blocks;
    size_t step = (size_t)b->ways * SUP_UPSAMPLE_CLUSTER, best = (size_t)b->first[block];
    const int16_t *weights = b->weights + step - SUP_UPSAMPLE_CLUSTER + row;
    for (size_t entry = best + 1; entry < (size_t)b->first[block + 1]; entry++)
        if (weights[entry * step] > weights[best * step]) best = entry;
    size_t vertex = b->narrow_index != NULL ? b->narrow_index[best] : (size_t)b->wide_index[best];
    memcpy(normal, w->coarse + 8 * vertex + 4, 3 * sizeof *normal);
}

/* Unit vectors of `a`, lane by lane as they are stored; lanes without a length are told in bits. */
SUP_INLINE uint32_t unit_lanes(wide3 a, float to[3][SUP_LANES])
{
    sup_wide square = wide3_dot(a, a), scale = sup_wide_splat(1.0f) / sup_wide_sqrt(square);
    sup_mask sound =
        sup_mask_and(sup_wide_less(sup_wide_splat(1e-12f), square), sup_wide_less(square, sup_wide_splat(1e30f)));
    store_wide3(to, (wide3){a.x * scale, a.y * scale, a.z * scale});
    return ~sup_mask_bits(sound);
}

SUP_INLINE void unit_normals(const sup_upsample_work *w, int32_t block, size_t lane, wide3 sum, float to[3][SUP_LANES])
{
    uint32_t lost = unit_lanes(sum, to);
    for (int32_t k = 0; lost != 0 && k < SUP_LANES; k++) {
        if ((lost >> k & 1u) == 0) continue;
        float normal[3];
        fallback_normal(w, block, lane + (size_t)k, normal);
        for (int32_t i = 0; i < 3; i++)
            to[i][k] = normal[i];
    }
}

/* Some direction in the plane of a normal. */
SUP_INLINE void any_tangent(float n[3][SUP_LANES], int32_t lane, float to[3][SUP_LANES])
{
    int32_t axis = fabsf(n[0][lane]) < 0.6f ? 0 : 1;
    float along = n[axis][lane], scale = 1.0f / sqrtf(1.0f - along * along);
    for (int32_t i = 0; i < 3; i++)
        to[i][lane] = ((i == axis ? 1.0f : 0.0f) - along * n[i][lane]) * scale;
}

/* Tangents are turned into the plane of the new normal. */
SUP_INLINE void tangent_rows(const sup_upsample_work *w, int32_t block, size_t lane, bool narrow,
                             float normals[3][SUP_LANES])
{
    const sup_upsample_clusters *b = w->blocks;
    const size_t step = 2 * SUP_UPSAMPLE_CLUSTER;
    const int32_t *row = b->row_vertex + (size_t)block * SUP_UPSAMPLE_CLUSTER + lane;
    two_sums sums = sum_ways(w, block, b->tangents + lane, step, b->tangent_units + (size_t)block * step + lane, narrow,
                             true, true);
    wide3 t = wide3_sum(sums.x, sums.n);
    wide3 n = {sup_wide_load(normals[0]), sup_wide_load(normals[1]), sup_wide_load(normals[2])};
    sup_wide along = wide3_dot(t, n);
    float unit[3][SUP_LANES];
    uint32_t lost = unit_lanes((wide3){t.x - along * n.x, t.y - along * n.y, t.z - along * n.z}, unit);
    for (int32_t k = 0; k < SUP_LANES && row[k] >= 0; k++) {
        char *to = (char *)w->out.tangents + (size_t)row[k] * w->out.tangent_stride;
        if (lost >> k & 1u) any_tangent(normals, k, unit);
        store_lane(to, unit, k);
        memcpy(to + 12, b->tangent_signs + (size_t)block * SUP_UPSAMPLE_CLUSTER + lane + (size_t)k, sizeof(float));
    }
}

SUP_INLINE void run_lanes(const sup_upsample_work *w, int32_t block, size_t lane, bool narrow, bool riding)
{
    const sup_skin_out *out = &w->out;
    const int32_t *row = w->blocks->row_vertex + (size_t)block * SUP_UPSAMPLE_CLUSTER + lane;
    bool wants_normals = out->normals != NULL || out->tangents != NULL;
    if (row[0] < 0) return;
    two_sums sums;
    if ((out->positions != NULL || SMALL) && wants_normals)
        sums = sum_rows(w, block, lane, narrow, riding, true, true);
    else if (wants_normals)
        sums = sum_rows(w, block, lane, narrow, riding, false, true);
    else
        sums = sum_rows(w, block, lane, narrow, riding, true, false);
    float positions[3][SUP_LANES], normals[3][SUP_LANES];
    if (wants_normals) unit_normals(w, block, lane, sums.n, normals);
    if (out->positions != NULL) {
        store_wide3(positions, sums.x);
        for (int32_t k = 0; k < SUP_LANES && row[k] >= 0; k++)
            store_lane((char *)out->positions + (size_t)row[k] * out->position_stride, positions, k);
    }
    if (out->normals != NULL)
        for (int32_t k = 0; k < SUP_LANES && row[k] >= 0; k++)
            store_lane((char *)out->normals + (size_t)row[k] * out->normal_stride, normals, k);
    if (!SMALL && out->tangents != NULL) tangent_rows(w, block, lane, narrow, normals);
}

SUP_INLINE void run_blocks(const sup_upsample_work *w, bool narrow, bool riding)
{
    for (int32_t block = w->begin; block < w->end; block++)
        for (size_t lane = 0; lane < SUP_UPSAMPLE_CLUSTER; lane += SUP_LANES)
            run_lanes(w, block, lane, narrow, riding);
}

void SUP_KERNEL(sup_upsample_clusters)(const sup_upsample_work *work)
{
    bool narrow = work->blocks->narrow_index != NULL, riding = work->blocks->ways == 4;
    if (narrow && riding)
        run_blocks(work, true, true);
    else if (narrow)
        run_blocks(work, true, false);
    else
        run_blocks(work, false, riding); /* more than 65,536 simulated vertices: no third and fourth loop for that */
}
