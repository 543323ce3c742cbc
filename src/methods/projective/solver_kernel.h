/* solver_kernel.h (internal) - the loops of a step over prisms and vertices; includers define SUP_KERNEL(name).
 *
 * Based on: [komaritzan2022] section 2.2, local step. Prisms come in batches of 16 (system.h). Positions are
 * gathered as rows of four floats and transposed: hardware gathers are slower. Gradients go back the same way, row by
 * row, into sums that belong to the piece alone, so their order never changes. */
#include "base/rows.h"
#include "methods/projective/prism.h"
#include "methods/projective/solver_work.h"

/* --- Rows of four floats to lanes and back --- */

SUP_ELEMENT sup_wide3 gather(const float *x, const int32_t *place)
{
    sup_wide4 v = sup_rows_gather(x, place);
    return (sup_wide3){v.x, v.y, v.z};
}

#if SUP_LANES == 1

SUP_ELEMENT void scatter(float *sum, const int32_t *target, sup_wide3 v)
{
    float *p = sum + (int64_t)target[0] * 4;
    p[0] += v.x;
    p[1] += v.y;
    p[2] += v.z;
}

#else

SUP_ELEMENT void add_row(float *to, sup_four v)
{
    sup_four sum = sup_four_load(to) + v;
    memcpy(to, &sum, sizeof sum);
}

SUP_ELEMENT void add_rows(float *sum, const int32_t *target, sup_wide v)
{
#if SUP_LANES == 16
    add_row(sum + (int64_t)target[0] * 4, (sup_four)_mm512_castps512_ps128((__m512)v));
    add_row(sum + (int64_t)target[4] * 4, (sup_four)_mm512_extractf32x4_ps((__m512)v, 1));
    add_row(sum + (int64_t)target[8] * 4, (sup_four)_mm512_extractf32x4_ps((__m512)v, 2));
    add_row(sum + (int64_t)target[12] * 4, (sup_four)_mm512_extractf32x4_ps((__m512)v, 3));
#elif SUP_LANES == 8
    add_row(sum + (int64_t)target[0] * 4, (sup_four)_mm256_castps256_ps128((__m256)v));
    add_row(sum + (int64_t)target[4] * 4, (sup_four)_mm256_extractf128_ps((__m256)v, 1));
#else
    add_row(sum + (int64_t)target[0] * 4, v);
#endif
}

SUP_ELEMENT void scatter(float *sum, const int32_t *target, sup_wide3 v)
{
    sup_wide rows[4] = {v.x, v.y, v.z, sup_wide_splat(0.0f)};
    sup_rows_transpose(rows);
    for (int k = 0; k < 4; k++)
        add_rows(sum, target + k, rows[k]);
}

#endif

/* --- The local step --- */

/* Edges of a column, from the skin to its feet: corners as those of a prism, from the foot of c. */
SUP_ELEMENT void column_edges(const sup_local_work *work, const int32_t *corner, sup_wide3 edge[5])
{
    sup_wide3 last = gather(work->feet, corner + CORNER_C * SUP_PRISM_LANES);
    for (int k = 0; k < 3; k++)
        edge[k] = sup_wide3_sub(gather(work->x, corner + k * SUP_PRISM_LANES), last);
    for (int k = 0; k < 2; k++)
        edge[CORNER_A1 + k] = sup_wide3_sub(gather(work->feet, corner + k * SUP_PRISM_LANES), last);
}

SUP_ELEMENT sup_wide3 cross(sup_wide3 a, sup_wide3 b)
{
    return (sup_wide3){sup_wide_fma(a.y, b.z, -(a.z * b.y)), sup_wide_fma(a.z, b.x, -(a.x * b.z)),
                       sup_wide_fma(a.x, b.y, -(a.y * b.x))};
}

SUP_ELEMENT sup_wide scalar_product(sup_wide3 a, sup_wide3 b)
{
    return sup_wide_fma(a.z, b.z, sup_wide_fma(a.y, b.y, a.x * b.x));
}

SUP_ELEMENT void add_scaled(sup_wide scale, sup_wide3 v, sup_wide3 *sum)
{
    *sum = (sup_wide3){sup_wide_fma(scale, v.x, sum->x), sup_wide_fma(scale, v.y, sum->y),
                       sup_wide_fma(scale, v.z, sum->z)};
}

/* Gradient of a column's volume at its skin, times the mean pressure of its three vertices. */
SUP_ELEMENT void press(const sup_local_work *work, const int32_t *corner, const int32_t *target, const float *span,
                       sup_wide3 sum[5])
{
    float lanes[SUP_LANES];
    for (int lane = 0; lane < SUP_LANES; lane++)
        lanes[lane] = work->column[target[lane]] + work->column[target[SUP_PRISM_LANES + lane]] +
                      work->column[target[2 * SUP_PRISM_LANES + lane]];
    sup_wide scale = sup_wide_load(lanes) * sup_wide_load(span) * sup_wide_splat(1.0f / 3.0f);
    sup_wide3 edge[5];
    column_edges(work, corner, edge);
    const sup_wide3 *a = &edge[CORNER_A], *b = &edge[CORNER_B], *b1 = &edge[CORNER_B1];
    sup_wide3 down = sup_wide3_sub(edge[CORNER_C], *b1);
    add_scaled(scale, cross(*b, down), &sum[CORNER_A]);
    add_scaled(scale, cross(edge[CORNER_A1], *b1), &sum[CORNER_A]);
    add_scaled(scale, cross(down, *a), &sum[CORNER_B]);
    add_scaled(scale, cross(*a, *b), &sum[CORNER_C]);
}

/* Batches whose inner side is anchored: only the skin takes gradients. */
SUP_ELEMENT sup_wide anchored_batches(const sup_local_work *work, const sup_system_piece *piece, bool shared,
                                      bool volume)
{
    const sup_system *s = work->system;
    sup_wide energy = sup_wide_splat(0.0f);
    for (int64_t b = piece->batch_first; b < piece->batch_mixed; b++) {
        const float *inner = work->anchors + (piece->anchor_first + (b - piece->batch_first)) * SUP_PRISM_ANCHOR_FLOATS;
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            const int32_t *corner = s->corner + b * SUP_PRISM_INTS + lane;
            const int32_t *target = s->target + b * SUP_PRISM_INTS + lane;
            sup_wide3 base[3], edge[5], sum[5];
            for (int k = 0; k < 3; k++)
                base[k] = (sup_wide3){sup_wide_load(inner + (3 * k) * SUP_PRISM_LANES + lane),
                                      sup_wide_load(inner + (3 * k + 1) * SUP_PRISM_LANES + lane),
                                      sup_wide_load(inner + (3 * k + 2) * SUP_PRISM_LANES + lane)};
            for (int k = 0; k < 3; k++)
                edge[k] = sup_wide3_sub(gather(work->x, corner + k * SUP_PRISM_LANES), base[2]);
            edge[CORNER_A1] = sup_wide3_sub(base[0], base[2]);
            edge[CORNER_B1] = sup_wide3_sub(base[1], base[2]);
            energy = energy + prism(s->tets + b * SUP_PRISM_FLOATS + lane, edge, 3, shared, sum);
            if (volume) press(work, corner, target, s->spans + b * SUP_PRISM_LANES + lane, sum);
            for (int k = 0; k < 3; k++)
                scatter(work->partial, target + k * SUP_PRISM_LANES, sum[k]);
        }
    }
    return energy;
}

SUP_ELEMENT sup_wide mixed_batches(const sup_local_work *work, const sup_system_piece *piece, bool shared, bool volume)
{
    const sup_system *s = work->system;
    sup_wide energy = sup_wide_splat(0.0f);
    for (int64_t b = piece->batch_mixed; b < piece->batch_end; b++)
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            const int32_t *corner = s->corner + b * SUP_PRISM_INTS + lane;
            const int32_t *target = s->target + b * SUP_PRISM_INTS + lane;
            sup_wide3 last = gather(work->x, corner + CORNER_C1 * SUP_PRISM_LANES), edge[5], sum[5];
            for (int k = 0; k < 5; k++)
                edge[k] = sup_wide3_sub(gather(work->x, corner + k * SUP_PRISM_LANES), last);
            energy = energy + prism(s->tets + b * SUP_PRISM_FLOATS + lane, edge, 5, shared, sum);
            sup_wide3 rest = {sup_wide_splat(0.0f), sup_wide_splat(0.0f), sup_wide_splat(0.0f)};
            for (int k = 0; k < 5; k++)
                rest = sup_wide3_sub(rest, sum[k]); /* a common translation costs nothing */
            if (volume) press(work, corner, target, s->spans + b * SUP_PRISM_LANES + lane, sum);
            for (int k = 0; k < 5; k++)
                scatter(work->partial, target + k * SUP_PRISM_LANES, sum[k]);
            scatter(work->partial, target + CORNER_C1 * SUP_PRISM_LANES, rest);
        }
    return energy;
}

/* Pressures of a piece's columns from those of the chambers. */
static void spread_pressure(const sup_local_work *work, const sup_system_piece *piece)
{
    const sup_system *s = work->system;
    for (int64_t k = piece->partial_first; k < piece->partial_end; k++)
        work->column[k] = s->share_weight[2 * k] * work->pressure[s->share_chamber[2 * k]] +
                          s->share_weight[2 * k + 1] * work->pressure[s->share_chamber[2 * k + 1]];
}

SUP_ELEMENT void local_piece(const sup_local_work *work, int32_t piece, bool shared, bool volume)
{
    const sup_system_piece *p = &work->system->pieces[piece];
    if (volume) spread_pressure(work, p);
    memset(work->partial + (int64_t)p->partial_first * 4, 0,
           (size_t)(p->partial_end - p->partial_first) * 4 * sizeof(float));
    float lanes[2][SUP_LANES];
    sup_wide_store(lanes[0], anchored_batches(work, p, shared, volume));
    sup_wide_store(lanes[1], mixed_batches(work, p, shared, volume));
    double energy = 0.0;
    for (int k = 0; k < SUP_LANES; k++)
        energy += (double)lanes[0][k] + (double)lanes[1][k];
    work->energy[piece] = 0.5 * energy;
}

static void local(const sup_local_work *work, int32_t piece)
{
    bool volume = work->pressure != NULL;
    if (volume && work->shared_rotation)
        local_piece(work, piece, true, true);
    else if (volume)
        local_piece(work, piece, false, true);
    else if (work->shared_rotation)
        local_piece(work, piece, true, false);
    else
        local_piece(work, piece, false, false);
}

/* Volumes of a piece's columns, and what they add to each chamber. */
static void volumes(const sup_local_work *work, int32_t piece)
{
    const sup_system *s = work->system;
    const sup_system_piece *p = &s->pieces[piece];
    double *chamber = work->chamber_sum + (int64_t)piece * s->chamber_count;
    memset(work->column + p->partial_first, 0, (size_t)(p->partial_end - p->partial_first) * sizeof(float));
    memset(chamber, 0, (size_t)s->chamber_count * sizeof(double));
    for (int64_t b = p->batch_first; b < p->batch_end; b++)
        for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
            const int32_t *target = s->target + b * SUP_PRISM_INTS + lane;
            sup_wide3 edge[5];
            column_edges(work, s->corner + b * SUP_PRISM_INTS + lane, edge);
            sup_wide3 top = cross(edge[CORNER_A], edge[CORNER_B]), side = cross(edge[CORNER_A1], edge[CORNER_B1]);
            sup_wide six = scalar_product(top, sup_wide3_sub(edge[CORNER_C], edge[CORNER_B1]));
            six = (six + scalar_product(side, edge[CORNER_A])) * sup_wide_load(s->spans + b * SUP_PRISM_LANES + lane);
            float lanes[SUP_LANES];
            sup_wide_store(lanes, six * sup_wide_splat(1.0f / 3.0f));
            for (int k = 0; k < 3; k++)
                for (int j = 0; j < SUP_LANES; j++)
                    work->column[target[k * SUP_PRISM_LANES + j]] += lanes[j];
        }
    for (int64_t k = p->partial_first; k < p->partial_end; k++)
        for (int j = 0; j < 2; j++)
            chamber[s->share_chamber[2 * k + j]] += (double)(s->share_weight[2 * k + j] * work->column[k]);
}

static void anchors(const sup_system *s, const float *x, float *to, int32_t piece)
{
    const sup_system_piece *p = &s->pieces[piece];
    to += (int64_t)p->anchor_first * SUP_PRISM_ANCHOR_FLOATS;
    for (int64_t b = p->batch_first; b < p->batch_mixed; b++, to += SUP_PRISM_ANCHOR_FLOATS)
        for (int k = 0; k < 3; k++)
            for (int lane = 0; lane < SUP_PRISM_LANES; lane += SUP_LANES) {
                sup_wide3 v = gather(x, s->corner + b * SUP_PRISM_INTS + (3 + k) * SUP_PRISM_LANES + lane);
                sup_wide_store(to + (3 * k) * SUP_PRISM_LANES + lane, v.x);
                sup_wide_store(to + (3 * k + 1) * SUP_PRISM_LANES + lane, v.y);
                sup_wide_store(to + (3 * k + 2) * SUP_PRISM_LANES + lane, v.z);
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
        if (i % 64 != 63 && i != end - 1) continue; /* long sums in double */
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

const sup_solver_kernels SUP_KERNEL(sup_solver_kernels) = {local, volumes, anchors, gradient, dot, mix};
