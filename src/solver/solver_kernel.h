/* solver_kernel.h (internal) - the loops of a step over prisms and vertices; includers define SUP_KERNEL(name).
 *
 * Based on: [komaritzan2022] section 2.2, local step. Prisms come in batches of 16 (system.h). Positions are
 * gathered as vectors of four floats and transposed: hardware gathers are slower. Gradients are scattered the same
 * way, one vector at a time, into sums of one cluster, so their order never changes. */
#include "base/simd_rows.h"
#include "solver/wedge.h"
#include "solver/solver_work.h"

/* --- Vectors of four floats to lanes and back --- */

SUP_ELEMENT sup_wide3 gather(const float *copy, const uint16_t *corner)
{
    sup_wide4 v = sup_wide4_gather16(copy, corner);
    return (sup_wide3){v.x, v.y, v.z};
}

#if SUP_LANES == 1

SUP_ELEMENT void scatter(float *sum, const uint16_t *target, sup_wide3 v)
{
    float *p = sum + (int64_t)target[0] * 4;
    p[0] += v.x;
    p[1] += v.y;
    p[2] += v.z;
}

#else

SUP_ELEMENT void add_vector(float *to, sup_four v)
{
    sup_four sum = sup_four_load(to) + v;
    memcpy(to, &sum, sizeof sum);
}

SUP_ELEMENT void add_vectors(float *sum, const uint16_t *target, sup_wide v)
{
#if SUP_LANES == 16
    add_vector(sum + (int64_t)target[0] * 4, (sup_four)_mm512_castps512_ps128((__m512)v));
    add_vector(sum + (int64_t)target[4] * 4, (sup_four)_mm512_extractf32x4_ps((__m512)v, 1));
    add_vector(sum + (int64_t)target[8] * 4, (sup_four)_mm512_extractf32x4_ps((__m512)v, 2));
    add_vector(sum + (int64_t)target[12] * 4, (sup_four)_mm512_extractf32x4_ps((__m512)v, 3));
#elif SUP_LANES == 8
    add_vector(sum + (int64_t)target[0] * 4, (sup_four)_mm256_castps256_ps128((__m256)v));
    add_vector(sum + (int64_t)target[4] * 4, (sup_four)_mm256_extractf128_ps((__m256)v, 1));
#else
    add_vector(sum + (int64_t)target[0] * 4, v);
#endif
}

SUP_ELEMENT void scatter(float *sum, const uint16_t *target, sup_wide3 v)
{
    sup_wide rows[4] = {v.x, v.y, v.z, sup_wide_splat(0.0f)};
    sup_wide4_transpose(rows);
    for (int k = 0; k < 4; k++)
        add_vectors(sum, target + k, rows[k]);
}

#endif

/* --- The local step --- */

SUP_PRISM sup_wide any_prism(const float *tets, const sup_wide3 edge[5], int corners, bool shared, sup_wide3 sum[5])
{
    return prism(tets, edge, corners, shared, sum);
}

SUP_ELEMENT sup_wide3 load3(const float *from)
{
    return (sup_wide3){sup_wide_load(from), sup_wide_load(from + SUP_PRISM_LANES),
                       sup_wide_load(from + 2 * SUP_PRISM_LANES)};
}

SUP_ELEMENT wedge wedge_of(const float *foot_points, const sup_wide3 skin[3])
{
    sup_wide3 last = load3(foot_points), foot = load3(foot_points + 3 * SUP_PRISM_LANES);
    return (wedge){sup_wide3_sub(skin[0], last), sup_wide3_sub(skin[1], last),
                   sup_wide3_sub(sup_wide3_sub(skin[2], last), foot), load3(foot_points + 6 * SUP_PRISM_LANES)};
}

/* Gradient of a wedge's volume at its skin vertices, times the pressures of its regions. */
SUP_ELEMENT void press(const sup_local_work *work, int64_t batch, int lane, const sup_wide3 skin[3], sup_wide3 sum[5])
{
    const sup_system *s = work->system;
    sup_wide scale = sup_wide_splat(0.0f);
    for (int64_t k = s->blend_first[batch]; k < s->blend_first[batch + 1]; k++)
        scale = sup_wide_fma(sup_wide_load(s->blend_weight + k * SUP_PRISM_LANES + lane),
                             sup_wide_splat(work->pressure[s->blend_region_slot[k]]), scale);
    wedge c = wedge_of(work->foot_points + batch * SUP_PRISM_FOOT_POINT_FLOATS + lane, skin);
    wedge_press(&c, scale, sum);
}

/* Batches whose inner side is anchored: only the skin has gradients. */
SUP_ELEMENT sup_wide anchored_batches(const sup_local_work *work, const sup_system_cluster *cluster, bool shared,
                                      bool volume)
{
    const sup_system *s = work->system;
    const float *copy = work->copy + (int64_t)cluster->copy_first * 4;
    float *partial = work->partial + (int64_t)cluster->copy_first * 4;
    sup_wide energy = sup_wide_splat(0.0f);
    for (int64_t b = cluster->batch_first; b < cluster->batch_mixed; b++) {
        const float *inner =
            work->anchors + (cluster->anchor_first + (b - cluster->batch_first)) * SUP_PRISM_ANCHOR_FLOATS;
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            const uint16_t *corner = s->corner + b * SUP_PRISM_CORNERS + lane;
            sup_wide3 base[3], skin[3], edge[5], sum[5];
            for (int k = 0; k < 3; k++)
                base[k] = load3(inner + 3 * k * SUP_PRISM_LANES + lane);
            for (int k = 0; k < 3; k++) {
                skin[k] = gather(copy, corner + k * SUP_PRISM_LANES);
                edge[k] = sup_wide3_sub(skin[k], base[2]);
            }
            edge[CORNER_A1] = sup_wide3_sub(base[0], base[2]);
            edge[CORNER_B1] = sup_wide3_sub(base[1], base[2]);
            energy = energy + any_prism(s->tets + b * SUP_PRISM_FLOATS + lane, edge, 3, shared, sum);
            if (volume) press(work, b, lane, skin, sum);
            for (int k = 0; k < 3; k++)
                scatter(partial, corner + k * SUP_PRISM_LANES, sum[k]);
        }
    }
    return energy;
}

SUP_ELEMENT sup_wide mixed_batches(const sup_local_work *work, const sup_system_cluster *cluster, bool shared,
                                   bool volume)
{
    const sup_system *s = work->system;
    const float *copy = work->copy + (int64_t)cluster->copy_first * 4;
    float *partial = work->partial + (int64_t)cluster->copy_first * 4;
    sup_wide energy = sup_wide_splat(0.0f);
    for (int64_t b = cluster->batch_mixed; b < cluster->batch_end; b++)
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            const uint16_t *corner = s->corner + b * SUP_PRISM_CORNERS + lane;
            sup_wide3 point[6], edge[5], sum[5];
            for (int k = 0; k < 6; k++)
                point[k] = gather(copy, corner + k * SUP_PRISM_LANES);
            for (int k = 0; k < 5; k++)
                edge[k] = sup_wide3_sub(point[k], point[CORNER_C1]);
            energy = energy + any_prism(s->tets + b * SUP_PRISM_FLOATS + lane, edge, 5, shared, sum);
            sup_wide3 rest = {sup_wide_splat(0.0f), sup_wide_splat(0.0f), sup_wide_splat(0.0f)};
            for (int k = 0; k < 5; k++)
                rest = sup_wide3_sub(rest, sum[k]); /* forces of strain sum to zero */
            if (volume) press(work, b, lane, point, sum);
            for (int k = 0; k < 5; k++)
                scatter(partial, corner + k * SUP_PRISM_LANES, sum[k]);
            scatter(partial, corner + CORNER_C1 * SUP_PRISM_LANES, rest);
        }
    return energy;
}

/* Copies the nodes of a cluster, so that its gathers stay in the first-level cache. */
static void copy_nodes(const sup_system *s, const float *from, float *copy, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++)
        memcpy(copy + k * 4, from + (int64_t)s->copy_node[k] * 4, 4 * sizeof(float));
}

SUP_ELEMENT void local_cluster(const sup_local_work *work, int32_t cluster, bool shared, bool volume)
{
    const sup_system_cluster *p = &work->system->clusters[cluster];
    if (!volume) copy_nodes(work->system, work->x, work->copy, p->copy_first, p->copy_inner);
    memset(work->partial + (int64_t)p->copy_first * 4, 0, (size_t)(p->copy_inner - p->copy_first) * 4 * sizeof(float));
    float lanes[2][SUP_LANES];
    sup_wide_store(lanes[0], anchored_batches(work, p, shared, volume));
    sup_wide_store(lanes[1], mixed_batches(work, p, shared, volume));
    double energy = 0.0;
    for (int k = 0; k < SUP_LANES; k++)
        energy += (double)lanes[0][k] + (double)lanes[1][k];
    work->energy[cluster] = 0.5 * energy;
}

static void local(const sup_local_work *work, int32_t cluster)
{
    bool volume = work->pressure != NULL;
#if defined(__wasm__) /* one copy, for size */
    local_cluster(work, cluster, work->shared_rotation, volume);
#else
    if (volume && work->shared_rotation)
        local_cluster(work, cluster, true, true);
    else if (volume)
        local_cluster(work, cluster, false, true);
    else if (work->shared_rotation)
        local_cluster(work, cluster, true, false);
    else
        local_cluster(work, cluster, false, false);
#endif
}

/* Volumes of a cluster's wedges, summed by region slot. */
static void volumes(const sup_local_work *work, int32_t cluster)
{
    const sup_system *s = work->system;
    const sup_system_cluster *p = &s->clusters[cluster];
    const float *copy = work->copy + (int64_t)p->copy_first * 4;
    int64_t first = s->region_slot_first[cluster], end = s->region_slot_first[cluster + 1];
    copy_nodes(s, work->x, work->copy, p->copy_first, p->copy_inner);
    memset(work->region_slot_lanes + first * SUP_PRISM_LANES, 0,
           (size_t)(end - first) * SUP_PRISM_LANES * sizeof(float));
    for (int64_t b = p->batch_first; b < p->batch_end; b++)
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            sup_wide3 skin[3];
            for (int k = 0; k < 3; k++) {
                skin[k] = gather(copy, s->corner + b * SUP_PRISM_CORNERS + k * SUP_PRISM_LANES + lane);
            }
            wedge c = wedge_of(work->foot_points + b * SUP_PRISM_FOOT_POINT_FLOATS + lane, skin);
            sup_wide six = wedge_volume6(&c);
            for (int64_t k = s->blend_first[b]; k < s->blend_first[b + 1]; k++) {
                float *sum = work->region_slot_lanes + (int64_t)s->blend_region_slot[k] * SUP_PRISM_LANES + lane;
                sup_wide weight = sup_wide_load(s->blend_weight + k * SUP_PRISM_LANES + lane);
                sup_wide_store(sum, sup_wide_fma(weight, six, sup_wide_load(sum)));
            }
        }
    for (int64_t k = first; k < end; k++) {
        double sum = 0.0;
        for (int lane = 0; lane < SUP_PRISM_LANES; lane++)
            sum += (double)work->region_slot_lanes[k * SUP_PRISM_LANES + lane];
        work->region_slot_volume[k] = sum;
    }
}

SUP_ELEMENT void store3(float *to, sup_wide3 v)
{
    sup_wide_store(to, v.x);
    sup_wide_store(to + SUP_PRISM_LANES, v.y);
    sup_wide_store(to + 2 * SUP_PRISM_LANES, v.z);
}

static void anchors(const sup_system *s, const float *x, float *copy, float *to, int32_t cluster)
{
    const sup_system_cluster *p = &s->clusters[cluster];
    copy_nodes(s, x, copy, p->copy_first, p->copy_end);
    copy += (int64_t)p->copy_first * 4;
    to += (int64_t)p->anchor_first * SUP_PRISM_ANCHOR_FLOATS;
    for (int64_t b = p->batch_first; b < p->batch_mixed; b++, to += SUP_PRISM_ANCHOR_FLOATS)
        for (int k = 0; k < 3; k++)
            for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES)
                store3(to + 3 * k * SUP_PRISM_LANES + lane,
                       gather(copy, s->corner + b * SUP_PRISM_CORNERS + (3 + k) * SUP_PRISM_LANES + lane));
}

static void foot_points(const sup_system *s, const float *points, float *copy, float *to, int32_t cluster)
{
    const sup_system_cluster *p = &s->clusters[cluster];
    copy_nodes(s, points, copy, p->copy_first, p->copy_inner);
    copy += (int64_t)p->copy_first * 4;
    to += (int64_t)p->batch_first * SUP_PRISM_FOOT_POINT_FLOATS;
    for (int64_t b = p->batch_first; b < p->batch_end; b++, to += SUP_PRISM_FOOT_POINT_FLOATS)
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            sup_wide3 foot[3];
            for (int k = 0; k < 3; k++)
                foot[k] = gather(copy, s->corner + b * SUP_PRISM_CORNERS + k * SUP_PRISM_LANES + lane);
            sup_wide3 a = sup_wide3_sub(foot[0], foot[2]), b1 = sup_wide3_sub(foot[1], foot[2]);
            store3(to + lane, foot[2]);
            store3(to + 3 * SUP_PRISM_LANES + lane, b1);
            store3(to + 6 * SUP_PRISM_LANES + lane, wedge_cross(a, b1));
        }
}

/* --- Vertices --- */

static double gradient(const sup_gradient_work *work, int32_t begin, int32_t end)
{
    const sup_system *s = work->system;
    double energy = 0.0;
    sup_four sum = sup_four_splat(0.0f);
    for (int64_t i = begin; i < end; i++) {
        sup_four g = sup_four_splat(0.0f);
        for (int32_t k = s->sum_first[i]; k < s->sum_first[i + 1]; k++)
            g = g + sup_four_load(work->partial + (int64_t)s->sum_from[k] * 4);
        sup_four mass = sup_four_splat(s->mass[i]);
        sup_four apart = sup_four_load(work->x + i * 4) - sup_four_load(work->inertial + i * 4);
        g = sup_four_fma(mass, apart, g);
        sum = sup_four_fma(mass * apart, apart, sum);
        memcpy(work->gradient + i * 4, &g, sizeof g);
        g = -g;
        memcpy(work->solve + i * 4, &g, sizeof g);
        if (i % 64 != 63 && i != end - 1) continue; /* sum blocks of 64 in double */
        energy += (double)sup_four_lane(sum, 0) + (double)sup_four_lane(sum, 1) + (double)sup_four_lane(sum, 2);
        sum = sup_four_splat(0.0f);
    }
    return 0.5 * energy;
}

static double dot(const float *a, const float *b, int64_t begin, int64_t end)
{
    sup_wide sum[4];
    int64_t i = begin;
    for (int k = 0; k < 4; k++)
        sum[k] = sup_wide_splat(0.0f);
    for (; i + 4 * SUP_LANES <= end; i += 4 * SUP_LANES)
        for (int k = 0; k < 4; k++)
            sum[k] = sup_wide_fma(sup_wide_load(a + i + k * SUP_LANES), sup_wide_load(b + i + k * SUP_LANES), sum[k]);
    float lanes[4][SUP_LANES];
    double total = 0.0;
    for (int k = 0; k < 4; k++) {
        sup_wide_store(lanes[k], sum[k]);
        for (int lane = 0; lane < SUP_LANES; lane++)
            total += (double)lanes[k][lane];
    }
    for (; i < end; i++)
        total += (double)a[i] * (double)b[i];
    return total;
}

static void mix(const float *x, const float *const *direction, const float *factor, int32_t count, float *out,
                int64_t begin, int64_t end)
{
    int64_t i = begin;
    for (; i + SUP_LANES <= end; i += SUP_LANES) {
        sup_wide sum = sup_wide_load(x + i);
        for (int32_t j = 0; j < count; j++)
            sum = sup_wide_fma(sup_wide_splat(factor[j]), sup_wide_load(direction[j] + i), sum);
        sup_wide_store(out + i, sum);
    }
    for (; i < end; i++) {
        float sum = x[i];
        for (int32_t j = 0; j < count; j++)
            sum += factor[j] * direction[j][i];
        out[i] = sum;
    }
}

const sup_solver_kernels SUP_KERNEL(sup_solver_kernels) = {local, volumes, anchors, foot_points, gradient, dot, mix};
