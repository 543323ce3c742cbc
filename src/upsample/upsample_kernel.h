/* upsample_kernel.h (internal) - weighted sums of coarse vertices; includers define SUP_KERNEL(name).
 *
 * Eq. 3.9 of [komaritzan2022] for the sixteen vertices of a cluster, SUP_LANES at a time. */
#include "base/simd.h"
#include "upsample/upsample.h"

#define SUP_INLINE static inline __attribute__((always_inline))

#ifdef SUPPLE_SMALL /* web builds need no tangents, and rarely normals alone */
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

/* Sums of two adjacent channels: the first over positions, the second over normals. */
typedef struct two_sums {
    wide3 x, n;
} two_sums;

SUP_INLINE two_sums sum_channels(const sup_upsample_work *w, int32_t cluster, const int16_t *weights, size_t step,
                                 const float *units, bool narrow, bool x, bool n)
{
    const sup_upsample_clusters *b = w->clusters;
    const float *coarse = w->coarse;
    const uint16_t *narrow_index = b->narrow_index;
    const int32_t *wide_index = b->wide_index;
    two_sums sums = {wide3_zero(), wide3_zero()};
    size_t end = (size_t)b->first[cluster + 1];
    for (size_t entry = (size_t)b->first[cluster]; entry < end; entry++) {
        const float *from = coarse + 8 * (narrow ? (size_t)narrow_index[entry] : (size_t)wide_index[entry]);
        if (x) sums.x = wide3_add(sums.x, wide_from_int16(weights + entry * step), from);
        if (n) sums.n = wide3_add(sums.n, wide_from_int16(weights + entry * step + SUP_UPSAMPLE_CLUSTER), from + 4);
    }
    sums.x = wide3_scale(sums.x, units);
    sums.n = wide3_scale(sums.n, units + SUP_UPSAMPLE_CLUSTER);
    return sums;
}

/* Positions and unnormalised normals of SUP_LANES vertices from `lane` on. */
SUP_INLINE two_sums sum_vertices(const sup_upsample_work *w, int32_t cluster, size_t lane, bool narrow, bool follows,
                                 bool x, bool n)
{
    const sup_upsample_clusters *b = w->clusters;
    size_t step = (follows ? 4 : 2) * SUP_UPSAMPLE_CLUSTER;
    const int16_t *weights = b->weights + lane;
    const float *units = b->units + (size_t)cluster * step + lane;
    if (!follows) return sum_channels(w, cluster, weights, step, units, narrow, x, n);
    two_sums result = {wide3_zero(), wide3_zero()};
    if (x) {
        two_sums p = sum_channels(w, cluster, weights, step, units, narrow, true, true);
        result.x = wide3_sum(p.x, p.n);
    }
    if (n) {
        two_sums p = sum_channels(w, cluster, weights + 2 * SUP_UPSAMPLE_CLUSTER, step,
                                  units + 2 * SUP_UPSAMPLE_CLUSTER, narrow, true, true);
        result.n = wide3_sum(p.x, p.n);
    }
    return result;
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

/* The normal of the neighbour with the largest weight, for a vertex whose own normal has no length. */
static void strongest_normal(const sup_upsample_work *w, int32_t cluster, size_t lane, float normal[3])
{
    const sup_upsample_clusters *b = w->clusters;
    size_t step = (size_t)b->channels * SUP_UPSAMPLE_CLUSTER, best = (size_t)b->first[cluster];
    const int16_t *weights = b->weights + step - SUP_UPSAMPLE_CLUSTER + lane;
    for (size_t entry = best + 1; entry < (size_t)b->first[cluster + 1]; entry++)
        if (weights[entry * step] > weights[best * step]) best = entry;
    size_t vertex = b->narrow_index != NULL ? b->narrow_index[best] : (size_t)b->wide_index[best];
    memcpy(normal, w->coarse + 8 * vertex + 4, 3 * sizeof *normal);
}

/* Stores the unit vectors of `a`; returns a bit mask of lanes without a valid length. */
SUP_INLINE uint32_t unit_lanes(wide3 a, float to[3][SUP_LANES])
{
    sup_wide square = wide3_dot(a, a), scale = sup_wide_splat(1.0f) / sup_wide_sqrt(square);
    sup_mask valid =
        sup_mask_and(sup_wide_less(sup_wide_splat(1e-12f), square), sup_wide_less(square, sup_wide_splat(1e30f)));
    store_wide3(to, (wide3){a.x * scale, a.y * scale, a.z * scale});
    return ~sup_mask_bits(valid);
}

SUP_INLINE void unit_normals(const sup_upsample_work *w, int32_t cluster, size_t lane, wide3 sum,
                             float to[3][SUP_LANES])
{
    uint32_t invalid = unit_lanes(sum, to);
    for (int32_t k = 0; invalid != 0 && k < SUP_LANES; k++) {
        if ((invalid >> k & 1u) == 0) continue;
        float normal[3];
        strongest_normal(w, cluster, lane + (size_t)k, normal);
        for (int32_t i = 0; i < 3; i++)
            to[i][k] = normal[i];
    }
}

/* An arbitrary unit vector perpendicular to a normal. */
SUP_INLINE void any_tangent(float n[3][SUP_LANES], int32_t lane, float to[3][SUP_LANES])
{
    int32_t axis = fabsf(n[0][lane]) < 0.6f ? 0 : 1;
    float along = n[axis][lane], scale = 1.0f / sqrtf(1.0f - along * along);
    for (int32_t i = 0; i < 3; i++)
        to[i][lane] = ((i == axis ? 1.0f : 0.0f) - along * n[i][lane]) * scale;
}

/* Tangents are made perpendicular to the new normal. */
SUP_INLINE void write_tangents(const sup_upsample_work *w, int32_t cluster, size_t lane, bool narrow,
                               float normals[3][SUP_LANES])
{
    const sup_upsample_clusters *b = w->clusters;
    const size_t step = 2 * SUP_UPSAMPLE_CLUSTER;
    const int32_t *vertex = b->render_vertex + (size_t)cluster * SUP_UPSAMPLE_CLUSTER + lane;
    two_sums sums = sum_channels(w, cluster, b->tangents + lane, step, b->tangent_units + (size_t)cluster * step + lane,
                                 narrow, true, true);
    wide3 t = wide3_sum(sums.x, sums.n);
    wide3 n = {sup_wide_load(normals[0]), sup_wide_load(normals[1]), sup_wide_load(normals[2])};
    sup_wide along = wide3_dot(t, n);
    float unit[3][SUP_LANES];
    uint32_t invalid = unit_lanes((wide3){t.x - along * n.x, t.y - along * n.y, t.z - along * n.z}, unit);
    for (int32_t k = 0; k < SUP_LANES && vertex[k] >= 0; k++) {
        char *to = (char *)w->out.tangents + (size_t)vertex[k] * w->out.tangent_stride;
        if (invalid >> k & 1u) any_tangent(normals, k, unit);
        store_lane(to, unit, k);
        memcpy(to + 12, b->tangent_signs + (size_t)cluster * SUP_UPSAMPLE_CLUSTER + lane + (size_t)k, sizeof(float));
    }
}

SUP_INLINE void run_lanes(const sup_upsample_work *w, int32_t cluster, size_t lane, bool narrow, bool follows)
{
    const sup_skin_out *out = &w->out;
    const int32_t *vertex = w->clusters->render_vertex + (size_t)cluster * SUP_UPSAMPLE_CLUSTER + lane;
    bool has_normals = out->normals != NULL || out->tangents != NULL;
    if (vertex[0] < 0) return;
    two_sums sums;
    if ((out->positions != NULL || SMALL) && has_normals)
        sums = sum_vertices(w, cluster, lane, narrow, follows, true, true);
    else if (has_normals)
        sums = sum_vertices(w, cluster, lane, narrow, follows, false, true);
    else
        sums = sum_vertices(w, cluster, lane, narrow, follows, true, false);
    float positions[3][SUP_LANES], normals[3][SUP_LANES];
    if (has_normals) unit_normals(w, cluster, lane, sums.n, normals);
    if (out->positions != NULL) {
        store_wide3(positions, sums.x);
        for (int32_t k = 0; k < SUP_LANES && vertex[k] >= 0; k++)
            store_lane((char *)out->positions + (size_t)vertex[k] * out->position_stride, positions, k);
    }
    if (out->normals != NULL)
        for (int32_t k = 0; k < SUP_LANES && vertex[k] >= 0; k++)
            store_lane((char *)out->normals + (size_t)vertex[k] * out->normal_stride, normals, k);
    if (!SMALL && out->tangents != NULL) write_tangents(w, cluster, lane, narrow, normals);
}

SUP_INLINE void run_clusters(const sup_upsample_work *w, bool narrow, bool follows)
{
    for (int32_t cluster = w->begin; cluster < w->end; cluster++)
        for (size_t lane = 0; lane < SUP_UPSAMPLE_CLUSTER; lane += SUP_LANES)
            run_lanes(w, cluster, lane, narrow, follows);
}

void SUP_KERNEL(sup_upsample_clusters)(const sup_upsample_work *work)
{
    bool narrow = work->clusters->narrow_index != NULL, follows = work->clusters->channels == 4;
    if (narrow && follows)
        run_clusters(work, true, true);
    else if (narrow)
        run_clusters(work, true, false);
    else
        run_clusters(work, false, follows); /* more than 65,536 simulated vertices: not specialised */
}
