/* detect_constraints.cuh (internal) - detection of contact: pairs that last, and the solver's rows. See detect.cu. */
#ifndef SUP_CUDA_DETECT_CONSTRAINTS_CUH
#define SUP_CUDA_DETECT_CONSTRAINTS_CUH

#include "cuda/detect_query.cuh"
#include "cuda/sleep.cuh"

/* --- Pairs and rows --- */

/* What thread `from` of the LANES of a vertex has. */
template <int LANES, typename V> static __device__ V take_from(V value, int from)
{
    const int first = threadIdx.x % 32 / LANES * LANES;
    return __shfl_sync(((1u << LANES) - 1u) << first, value, first + from);
}

template <int LANES> static __device__ sight take_sight(const sight &view, int from)
{
    sight taken;
    taken.normal.x = take_from<LANES>(view.normal.x, from);
    taken.normal.y = take_from<LANES>(view.normal.y, from);
    taken.normal.z = take_from<LANES>(view.normal.z, from);
    taken.normal.w = 0.0f;
    taken.height = take_from<LANES>(view.height, from);
    taken.distance2 = take_from<LANES>(view.distance2, from);
#pragma unroll
    for (int k = 0; k < 3; k++)
        taken.weight[k] = take_from<LANES>(view.weight[k], from);
    taken.kin = take_from<LANES>(view.kin, from);
    return taken;
}

/* The neighbour of a triangle that is nearer to the vertex than it, -1 for none: a thread looks at all three, */
static __device__ int step_nearer(const work &w, const self &own, int triangle, float more, sight &view)
{
    const int32_t *beside = w.d->beside + 3 * (size_t)triangle;
    int best = -1;
    sight best_view = view;
    for (int k = 0; k < 3; k++) {
        if (beside[k] < 0) continue;
        sight next = look(w, own.place, beside[k]);
        if (!(next.distance2 < best_view.distance2) || !may_touch(w, own, beside[k], next, more)) continue;
        best = beside[k];
        best_view = next;
    }
    view = best_view;
    return best;
}

/* or each of four threads, which all know the same, at one of them, and the last at the triangle itself where it is the first. */
static __device__ int step_nearer_together(const work &w, const self &own, int triangle, float more, bool first,
                                           sight &view)
{
    enum { LANES = 4, LAST = LANES - 1 };
    const int lane = threadIdx.x % LANES;
    const int looked_at = lane < LAST ? w.d->beside[3 * (size_t)triangle + lane] : triangle;
    sight next = look(w, own.place, max(looked_at, 0));
    if (first) view = take_sight<LANES>(next, LAST);
    const bool nearer =
        lane < LAST && looked_at >= 0 && next.distance2 < view.distance2 && may_touch(w, own, looked_at, next, more);
    const float distance2 = nearer ? next.distance2 : INFINITY;
    float least = view.distance2;
    int best = -1;
#pragma unroll
    for (int k = 0; k < LAST; k++) {
        const float other = take_from<LANES>(distance2, k);
        if (!(other < least)) continue;
        least = other;
        best = k;
    }
    if (best < 0) return -1;
    view = take_sight<LANES>(next, best);
    return take_from<LANES>(looked_at, best);
}

/* Down to the triangle nearest to the vertex, from neighbour to neighbour. */
template <int LANES> static __device__ int walk(const work &w, const self &own, int triangle, float more, sight &view)
{
    if (LANES == 1) view = look(w, own.place, triangle);
#pragma unroll 1
    for (int step = 0; step < WALK_STEPS; step++) {
        const int next = LANES == 1 ? step_nearer(w, own, triangle, more, view)
                                    : step_nearer_together(w, own, triangle, more, step == 0, view);
        if (next < 0) break;
        triangle = next;
    }
    return triangle;
}

static __device__ float flesh_depth(const work &w, int v)
{
    float4 d = minus(w.skin[v], foot_point(w, v));
    return sqrtf(dot(d, d));
}

static __device__ float prism_depth(const work &w, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    return fmaxf(flesh_depth(w, t[0]), fmaxf(flesh_depth(w, t[1]), flesh_depth(w, t[2])));
}

static __device__ bool stays(const work &w, const self &own, int triangle, sight &view)
{
    float reach = KEEP_BESIDE * w.d->edge[0], beside2 = view.distance2 - view.height * view.height;
    float deepest = prism_depth(w, triangle), gap = gap_at(w, own.v, triangle, view);
    return view.height < KEEP_DISTANCE * gap - w.d->slack[own.v] && beside2 < reach * reach &&
           dot(view.normal, view.normal) > 0.5f && may_touch(w, own, triangle, view, FACING_KEPT) &&
           view.distance2 < 2.0f * deepest * deepest;
}

/* Height at which the vertex touches. */
static __device__ float touch_height(const work &w, int v, int triangle, sight &view)
{
    const float gap = gap_at(w, v, triangle, view);
    return fminf(touch_gap(kin_of(*w.d, v, triangle, view)) * gap, gap - w.d->slack[v]);
}

/* The triangle that the vertex touches now, -1 for none. `anew`: pairs that push and would not be found now end. */
template <int LANES> static __device__ int update_pair(const work &w, int v, int triangle, bool anew, sight &view)
{
    const unsigned long long key = w.nearest[v];
    const self own = open_self(w, v);
#pragma unroll 1
    for (bool kept = triangle >= 0;; kept = false) { /* the one it had, or the one that was found */
        if (!kept && key == NO_PAIR) return -1;
        triangle = walk<LANES>(w, own, kept ? triangle : (int)(key & 0xffffffffu), kept ? FACING_KEPT : 0.0f, view);
        if (!kept) return triangle;
        const bool left_over = anew && key == NO_PAIR && view.height < touch_height(w, v, triangle, view);
        if (!left_over && stays(w, own, triangle, view)) return triangle;
    }
}

static __device__ float4 push_normal(const work &w, int v, int triangle, const sight &view)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 3; k++)
        sum = add_scaled(sum, view.weight[k], w.normal[t[k]]);
    sum = unit(add_scaled(unit(sum), -OWN_NORMAL, w.normal[v]));
    return dot(sum, view.normal) > 0.2f ? sum : view.normal;
}

/* Where the row's vertices were at the start of the step, and how far they give way to a unit force, each alone. */
static __device__ float start_row(const sup_gpu_system &s, const sup_gpu_state &st, int character, sup_gpu_row &row,
                                  float &moves)
{
    const int phase = st.progress[character].phase;
    const float4 *x = st.x[phase & 1] + (size_t)character * s.unknown_count;
    const float4 *anchors = st.anchors[(phase + 2) % 3] + (size_t)character * s.anchor_count;
    float4 start = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float give = 0.0f;
    moves = 0.0f;
    for (int j = 0; j < 4; j++) {
        bool free_place = row.place[j] < s.unknown_count;
        if (free_place) {
            give += row.weight[j] * row.weight[j] / s.diagonal[row.place[j]];
            moves += row.weight[j] * row.weight[j];
        }
        start =
            add_scaled(start, row.weight[j], free_place ? x[row.place[j]] : anchors[row.place[j] - s.unknown_count]);
    }
    put(row.start, start);
    return give;
}

/* detect.c and solver_contact.c: make_row. Rows that make no sense push nothing. */
static __device__ sup_gpu_row make_row(const sup_gpu_system &s, const sup_gpu_state &st, const work &w, int character,
                                       int v, int triangle, sight &view)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    sup_gpu_row row = {};
    float4 normal = push_normal(w, v, triangle, view), off = w.skin[v];
    float gap = gap_at(w, v, triangle, view), slack = w.d->slack[v], touch = touch_height(w, v, triangle, view);
    float away =
        (view.height - touch) / (KEEP_DISTANCE * gap - slack - touch); /* 0 where the row pushes, 1 where it ends */
    float flesh = PRESS_FLESH * 0.5f * (prism_depth(w, triangle) + flesh_depth(w, v));
    row.place[0] = s.place[v];
    row.weight[0] = 1.0f;
    for (int k = 0; k < 3; k++) {
        row.place[1 + k] = s.place[t[k]];
        row.weight[1 + k] = -view.weight[k];
        off = add_scaled(off, -view.weight[k], w.skin[t[k]]);
    }
    put(row.normal, normal);
    row.offset = fminf(touch, dot(normal, off) + PUSH_GAP * gap);
    row.friction = st.orders[character].friction;
    row.limit = LIMIT_GAP * gap > 0.0f ? LIMIT_GAP * gap : INFINITY;
    row.cap = -1.0f;
    float moves, give = start_row(s, st, character, row, moves);
    row.stiffness = ROW_STIFFNESS * fminf(1.0f, fmaxf(LEAST_PRESS, 2.0f + 2.0f * view.height / flesh)) / give;
    row.stiffness *= fminf(1.0f, moves / LEAST_SHARE);
    row.damping = ROW_DAMPING * fminf(1.0f, fmaxf(0.0f, 1.0f - away)) * row.stiffness;
    bool sound = fabsf(dot(normal, normal) - 1.0f) < 0.01f && isfinite(row.offset) && isfinite(row.stiffness) &&
                 isfinite(row.damping) && give > 0.0f;
    for (int k = 1; k < 4; k++)
        sound = sound && fabsf(row.weight[k]) <= 2.0f;
    if (sound) return row;
    for (int k = 0; k < 4; k++)
        row.weight[k] = 0.0f;
    put(row.normal, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    put(row.start, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    row.offset = row.stiffness = row.damping = row.friction = 0.0f;
    return row;
}

/* The pair and the row of a vertex, if it touches something: whether it does, for the first of its threads. */
template <int LANES>
static __device__ bool find_row(const sup_gpu_system &s, const sup_gpu_state &st, const work &w, int character, int v)
{
    const size_t at = (size_t)character * s.row_count + v;
    const int before = v < s.skin_count ? st.pair[at] : -1;
    if (v >= s.skin_count || (before < 0 && w.nearest[v] == NO_PAIR)) return false;
    sight view;
    const int triangle = update_pair<LANES>(w, v, before, sup_rest_releases_pairs(st.progress[character].still), view);
    const bool first = threadIdx.x % LANES == 0, touches = triangle >= 0;
    if (first) st.pair[at] = triangle;
    if (!first || !touches) return false;
    st.rows[at] = make_row(s, st, w, character, v, triangle, view);
    mark_near(w, v, triangle);
    return true;
}

/* Adds what threads of a warp found. */
static __device__ void count_rows(const sup_gpu_state &st, int character, bool found)
{
    const unsigned rows = __ballot_sync(0xffffffffu, found);
    if (threadIdx.x % 32 == 0 && rows != 0) atomicAdd(&st.progress[character].rows, __popc(rows));
}

#endif
