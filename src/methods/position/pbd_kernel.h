/* pbd_kernel.h (internal) - the loops of a step; includers define SUP_KERNEL(name).
 *
 * Based on: [aburumman2016thesis] eq. 4.2 to 4.13 with the corrections that docs/methods/position.md lists, and
 * [macklin2016] eq. 18 and 17: dlambda = -(C + a lambda) / (sum w |grad C|^2 + a), dx = w grad C dlambda. */
#include "base/simd_rows.h"
#include "methods/position/pbd_work.h"

typedef struct point {
    sup_wide x, y, z;
} point;

SUP_WIDE4 point apart(sup_wide4 a, sup_wide4 b)
{
    return (point){a.x - b.x, a.y - b.y, a.z - b.z};
}

SUP_WIDE4 sup_wide dot(point a, point b)
{
    return sup_wide_fma(a.z, b.z, sup_wide_fma(a.y, b.y, a.x * b.x));
}

SUP_WIDE4 point cross(point a, point b)
{
    return (point){sup_wide_fma(a.y, b.z, -(a.z * b.y)), sup_wide_fma(a.z, b.x, -(a.x * b.z)),
                   sup_wide_fma(a.x, b.y, -(a.y * b.x))};
}

SUP_WIDE4 sup_wide4 moved(sup_wide4 p, sup_wide by, point along)
{
    return (sup_wide4){sup_wide_fma(by, along.x, p.x), sup_wide_fma(by, along.y, p.y), sup_wide_fma(by, along.z, p.z),
                       p.w};
}

SUP_WIDE4 sup_wide at_least(sup_wide a, sup_wide least)
{
    return sup_wide_select(sup_wide_less(a, least), least, a);
}

/* What is divided by is never smaller: nothing that can move has so little. */
#define TINY 1e-24f

/* Eq. 4.4 times six, whose gradients are plain cross products. */
SUP_WIDE4 void volume_batch(const sup_pbd_work *work, int64_t batch, int lane, bool raw)
{
    const sup_pbd *s = work->pbd;
    const int32_t *corner = s->volume_corner + batch * 4 * SUP_PBD_LANES + lane;
    int64_t at = batch * SUP_PBD_LANES + lane;
    sup_wide4 p[4];
    for (int k = 0; k < 4; k++)
        p[k] = sup_wide4_gather(work->rows, corner + k * SUP_PBD_LANES);
    point a = apart(p[1], p[0]), b = apart(p[2], p[0]), c = apart(p[3], p[0]);
    point g[4];
    g[1] = cross(b, c); /* eq. 4.5 to 4.7, corners put right */
    g[2] = cross(c, a);
    g[3] = cross(a, b);
    g[0] = (point){-(g[1].x + g[2].x + g[3].x), -(g[1].y + g[2].y + g[3].y), -(g[1].z + g[2].z + g[3].z)}; /* eq. 4.8 */
    sup_wide off = dot(g[3], c) - sup_wide_load(s->volume_rest + at);
    sup_wide sum = p[0].w * dot(g[0], g[0]);
    for (int k = 1; k < 4; k++)
        sum = sup_wide_fma(p[k].w, dot(g[k], g[k]), sum);
    sum = at_least(sum, sup_wide_load(work->volume_floor + at)); /* flat tets are opened in several strides */
    sup_wide soft = sup_wide_load(work->volume_soft + at), step;
    if (raw)
        step = -(soft * off) / sum; /* eq. 4.13; eq. 4.9 to 4.12 with the sign put right */
    else {
        sup_wide lambda = sup_wide_load(work->volume_lambda + at);
        step = -sup_wide_fma(soft, lambda, off) / (sum + soft);
        sup_wide_store(work->volume_lambda + at, lambda + step);
    }
    for (int k = 0; k < 4; k++)
        sup_wide4_scatter(work->rows, corner + k * SUP_PBD_LANES, moved(p[k], step * p[k].w, g[k]));
}

/* Step along the difference `d` that brings its length nearer to `rest`: both ends take their share of it by mass. */
SUP_WIDE4 sup_wide length_step(point d, sup_wide rest, sup_wide mass, sup_wide soft, float *lambda_at, bool raw)
{
    sup_wide length = sup_wide_sqrt(dot(d, d)), off = length - rest;               /* eq. 4.2 */
    if (raw) return -(soft * off) / at_least(mass * length, sup_wide_splat(TINY)); /* eq. 4.3, by masses */
    sup_wide lambda = sup_wide_load(lambda_at);
    sup_wide step = -sup_wide_fma(soft, lambda, off) / at_least((mass + soft) * length, sup_wide_splat(TINY));
    sup_wide_store(lambda_at, sup_wide_fma(step, length, lambda));
    return step;
}

SUP_WIDE4 void stretch_batch(const sup_pbd_work *work, int64_t batch, int lane, bool raw)
{
    const sup_pbd *s = work->pbd;
    const int32_t *corner = s->stretch_corner + batch * 2 * SUP_PBD_LANES + lane;
    int64_t at = batch * SUP_PBD_LANES + lane;
    sup_wide4 p = sup_wide4_gather(work->rows, corner), q = sup_wide4_gather(work->rows, corner + SUP_PBD_LANES);
    point d = apart(p, q);
    sup_wide step = length_step(d, sup_wide_load(s->stretch_rest + at), p.w + q.w,
                                sup_wide_load(work->stretch_soft + at), work->stretch_lambda + at, raw);
    sup_wide4_scatter(work->rows, corner, moved(p, step * p.w, d));
    sup_wide4_scatter(work->rows, corner + SUP_PBD_LANES, moved(q, -(step * q.w), d));
}

/* Section 4.3.1.3: the bone's end does not give way. */
SUP_WIDE4 void bind_rows(const sup_pbd_work *work, int64_t row, bool raw)
{
    sup_wide4 p = sup_wide4_load(work->rows + 4 * row), q = sup_wide4_load(work->bone + 4 * row);
    const sup_wide zero = sup_wide_splat(0.0f);
    point d = apart(p, q);
    sup_wide step = length_step(d, q.w, p.w, sup_wide_load(work->bind_soft + row), work->bind_lambda + row, raw);
    step = sup_wide_select(sup_wide_less(q.w, zero), zero, step);
    sup_wide4_store(work->rows + 4 * row, moved(p, step * p.w, d));
}

SUP_WIDE4 void solve_volumes(const sup_pbd_work *work, const sup_pbd_piece *p, bool raw)
{
    for (int64_t batch = p->volume_first; batch < p->volume_end; batch++)
        for (int lane = 0; lane < SUP_PBD_LANES; lane += SUP_LANES)
            volume_batch(work, batch, lane, raw);
}

/* Volume, bind, stretch as the thesis has it when raw. In physical units volume has the last word: it is what must hold
 * after few iterations. */
SUP_WIDE4 void solve_piece(const sup_pbd_work *work, int32_t piece, bool raw)
{
    const sup_pbd_piece *p = &work->pbd->pieces[piece];
    if (raw) solve_volumes(work, p, raw);
    for (int64_t row = p->particle_first; row < p->particle_end; row += SUP_LANES)
        bind_rows(work, row, raw);
    for (int64_t batch = p->stretch_first; batch < p->stretch_end; batch++)
        for (int lane = 0; lane < SUP_PBD_LANES; lane += SUP_LANES)
            stretch_batch(work, batch, lane, raw);
    if (!raw) solve_volumes(work, p, raw);
}

static void solve(const sup_pbd_work *work, int32_t piece)
{
    if (work->raw)
        solve_piece(work, piece, true);
    else
        solve_piece(work, piece, false);
}

/* Velocity beside that of the guide is damped and capped; then the implicit spring to the guide. */
static void predict(const sup_pbd_work *work, int32_t begin, int32_t end)
{
    const sup_wide keep = sup_wide_splat(work->keep), ratio = sup_wide_splat(work->ratio);
    const sup_wide furthest = sup_wide_splat(work->furthest), one = sup_wide_splat(1.0f);
    for (int64_t row = begin; row < end; row += SUP_LANES) {
        sup_wide4 p = sup_wide4_load(work->rows + 4 * row), q = sup_wide4_load(work->before + 4 * row);
        sup_wide4 g = sup_wide4_load(work->guide + 4 * row), h = sup_wide4_load(work->guide_before + 4 * row);
        sup_wide follow = sup_wide_load(work->follow + row);
        point carried = apart(g, h), own = apart(p, q);
        own = (point){sup_wide_fma(own.x, ratio, -carried.x) * keep, sup_wide_fma(own.y, ratio, -carried.y) * keep,
                      sup_wide_fma(own.z, ratio, -carried.z) * keep};
        sup_wide length = sup_wide_sqrt(dot(own, own));
        sup_wide cap = sup_wide_select(sup_wide_less(furthest, length), furthest / at_least(length, furthest), one);
        sup_wide4 y = {sup_wide_fma(own.x, cap, carried.x) + p.x + sup_wide_splat(work->gravity[0]),
                       sup_wide_fma(own.y, cap, carried.y) + p.y + sup_wide_splat(work->gravity[1]),
                       sup_wide_fma(own.z, cap, carried.z) + p.z + sup_wide_splat(work->gravity[2]),
                       sup_wide_load(work->mass + row)};
        sup_wide4_store(work->before + 4 * row, p);
        sup_wide4_store(work->rows + 4 * row, moved(y, follow, apart(g, y)));
    }
}

static bool sane(const float *rows, int32_t count)
{
    const sup_wide far = sup_wide_splat(1e6f);
    sup_mask good = sup_wide_less(sup_wide_splat(0.0f), far);
    for (int64_t i = 0; i < 4 * (int64_t)count; i += SUP_LANES) {
        sup_wide v = sup_wide_load(rows + i);
        good = sup_mask_and(good, sup_mask_and(sup_wide_less(v, far), sup_wide_less(-v, far)));
    }
    return sup_mask_all(good);
}

const sup_pbd_kernels SUP_KERNEL(sup_pbd_kernels) = {predict, solve, sane};
