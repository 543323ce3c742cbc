/* detect_constraints.cuh (internal) - contact detection: pairs that persist, and contacts for the solver. See
 * detect.cu. */
#ifndef SUP_CUDA_DETECT_CONSTRAINTS_CUH
#define SUP_CUDA_DETECT_CONSTRAINTS_CUH

#include "cuda/detect_query.cuh"
#include "cuda/sleep.cuh"

/* --- Pairs and contacts --- */

/* The value of thread `from` of the LANES threads of a vertex. */
template <int LANES, typename V> static __device__ V shuffle(V value, int from)
{
    const int first = threadIdx.x % 32 / LANES * LANES;
    return __shfl_sync(((1u << LANES) - 1u) << first, value, first + from);
}

template <int LANES> static __device__ contact_query shuffle_query(const contact_query &query, int from)
{
    contact_query taken;
    taken.normal.x = shuffle<LANES>(query.normal.x, from);
    taken.normal.y = shuffle<LANES>(query.normal.y, from);
    taken.normal.z = shuffle<LANES>(query.normal.z, from);
    taken.normal.w = 0.0f;
    taken.height = shuffle<LANES>(query.height, from);
    taken.distance2 = shuffle<LANES>(query.distance2, from);
#pragma unroll
    for (int k = 0; k < 3; k++)
        taken.weight[k] = shuffle<LANES>(query.weight[k], from);
    taken.relation = shuffle<LANES>(query.relation, from);
    return taken;
}

/* The adjacent triangle that is nearer to the vertex than this one, -1 for none: one thread tests all three, */
static __device__ int step_nearer(const work &w, const query_vertex &own, int triangle, float tolerance,
                                  contact_query &query)
{
    const int32_t *adjacent = w.d->adjacent + 3 * (size_t)triangle;
    int best = -1;
    contact_query best_query = query;
    for (int k = 0; k < 3; k++) {
        if (adjacent[k] < 0) continue;
        contact_query next = query_triangle(w, own.position, adjacent[k]);
        if (!(next.distance2 < best_query.distance2) || !may_pair(w, own, adjacent[k], next, tolerance)) continue;
        best = adjacent[k];
        best_query = next;
    }
    query = best_query;
    return best;
}

/* or each of four threads with the same arguments tests one; the last one queries the triangle itself if it is the
 * first. */
static __device__ int step_nearer_by_four(const work &w, const query_vertex &own, int triangle, float tolerance,
                                          bool first, contact_query &query)
{
    enum { LANES = 4, LAST = LANES - 1 };
    const int lane = threadIdx.x % LANES;
    const int candidate = lane < LAST ? w.d->adjacent[3 * (size_t)triangle + lane] : triangle;
    contact_query next = query_triangle(w, own.position, max(candidate, 0));
    if (first) query = shuffle_query<LANES>(next, LAST);
    const bool nearer = lane < LAST && candidate >= 0 && next.distance2 < query.distance2 &&
                        may_pair(w, own, candidate, next, tolerance);
    const float distance2 = nearer ? next.distance2 : INFINITY;
    float minimum = query.distance2;
    int best = -1;
#pragma unroll
    for (int k = 0; k < LAST; k++) {
        const float other = shuffle<LANES>(distance2, k);
        if (!(other < minimum)) continue;
        minimum = other;
        best = k;
    }
    if (best < 0) return -1;
    query = shuffle_query<LANES>(next, best);
    return shuffle<LANES>(candidate, best);
}

/* Descends to the triangle nearest to the vertex, from neighbour to neighbour. */
template <int LANES>
static __device__ int walk(const work &w, const query_vertex &own, int triangle, float tolerance, contact_query &query)
{
    if (LANES == 1) query = query_triangle(w, own.position, triangle);
#pragma unroll 1
    for (int step = 0; step < SUP_CONTACT_WALK_STEPS; step++) {
        const int next = LANES == 1 ? step_nearer(w, own, triangle, tolerance, query)
                                    : step_nearer_by_four(w, own, triangle, tolerance, step == 0, query);
        if (next < 0) break;
        triangle = next;
    }
    return triangle;
}

static __device__ float tissue_depth(const work &w, int v)
{
    float4 d = minus(w.skin[v], foot_point(w, v));
    return sqrtf(dot(d, d));
}

static __device__ float prism_depth(const work &w, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    return fmaxf(tissue_depth(w, t[0]), fmaxf(tissue_depth(w, t[1]), tissue_depth(w, t[2])));
}

static __device__ bool is_kept(const work &w, const query_vertex &own, int triangle, contact_query &query)
{
    return sup_contact_is_kept(query.height, query.distance2, dot(query.normal, query.normal),
                               gap_at(w, own.v, triangle, query), w.d->slack[own.v], w.d->edge[0],
                               prism_depth(w, triangle)) &&
           may_pair(w, own, triangle, query, SUP_CONTACT_FACING_KEPT);
}

static __device__ float touch_height(const work &w, int v, int triangle, contact_query &query)
{
    return sup_contact_touch_height(relation_of(*w.d, v, triangle, query), gap_at(w, v, triangle, query),
                                    w.d->slack[v]);
}

/* The triangle that the vertex forms a pair with now, -1 for none. `end_stale`: ends pairs that push and would not be
 * found now. */
template <int LANES>
static __device__ int update_pair(const work &w, int v, int triangle, bool end_stale, contact_query &query)
{
    const unsigned long long key = w.nearest[v];
    const query_vertex own = open_vertex(w, v);
#pragma unroll 1
    for (bool kept = triangle >= 0;; kept = false) { /* the pair it had, or the one that was found */
        if (!kept && key == NO_PAIR) return -1;
        triangle = walk<LANES>(w, own, kept ? triangle : (int)(key & 0xffffffffu),
                               kept ? SUP_CONTACT_FACING_KEPT : 0.0f, query);
        if (!kept) return triangle;
        const bool stale = end_stale && key == NO_PAIR && query.height < touch_height(w, v, triangle, query);
        if (!stale && is_kept(w, own, triangle, query)) return triangle;
    }
}

static __device__ float4 push_normal(const work &w, int v, int triangle, const contact_query &query)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 3; k++)
        sum = add_scaled(sum, query.weight[k], w.normal[t[k]]);
    sum = unit(add_scaled(unit(sum), -SUP_CONTACT_OWN_NORMAL, w.normal[v]));
    return sup_contact_uses_smooth_normal(dot(sum, query.normal)) ? sum : query.normal;
}

/* Position of the contact's vertices at the start of the timestep. Returns their compliance, each alone, to a unit
 * force; moves: sum of squares of the weights of those that are not anchored. */
static __device__ float set_start(const sup_gpu_system &s, const sup_gpu_state &st, int character,
                                  sup_gpu_contact &contact, float &moves)
{
    const int phase = st.progress[character].phase;
    const float4 *x = st.x[phase & 1] + (size_t)character * s.unknown_count;
    const float4 *anchors = st.anchors[(phase + 2) % 3] + (size_t)character * s.anchor_count;
    float4 start = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float compliance = 0.0f;
    moves = 0.0f;
    for (int j = 0; j < 4; j++) {
        bool is_free = contact.node[j] < s.unknown_count;
        if (is_free) {
            compliance += contact.weight[j] * contact.weight[j] / s.diagonal[contact.node[j]];
            moves += contact.weight[j] * contact.weight[j];
        }
        start = add_scaled(start, contact.weight[j],
                           is_free ? x[contact.node[j]] : anchors[contact.node[j] - s.unknown_count]);
    }
    put(contact.start, start);
    return compliance;
}

/* make_contact of detect.c and its counterpart in solver_contact.c. Contacts with values that are not finite push
 * nothing. */
static __device__ sup_gpu_contact make_contact(const sup_gpu_system &s, const sup_gpu_state &st, const work &w,
                                               int character, int v, int triangle, contact_query &query)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    sup_gpu_contact contact = {};
    float4 normal = push_normal(w, v, triangle, query), off = w.skin[v];
    float gap = gap_at(w, v, triangle, query), touch = touch_height(w, v, triangle, query);
    const float pressure = sup_contact_pressure(query.height, prism_depth(w, triangle), tissue_depth(w, v)) *
                           st.onset[(size_t)character * s.skin_count + v];
    contact.node[0] = s.node[v];
    contact.weight[0] = 1.0f;
    for (int k = 0; k < 3; k++) {
        contact.node[1 + k] = s.node[t[k]];
        contact.weight[1 + k] = -query.weight[k];
        off = add_scaled(off, -query.weight[k], w.skin[t[k]]);
    }
    put(contact.normal, normal);
    contact.offset = sup_contact_offset(touch, dot(normal, off), gap);
    contact.friction = st.commands[character].friction;
    contact.limit = SUP_CONTACT_FORCE_LIMIT * gap > 0.0f ? SUP_CONTACT_FORCE_LIMIT * gap : INFINITY;
    contact.cap = -1.0f;
    float moves, compliance = set_start(s, st, character, contact, moves);
    contact.stiffness = SUP_CONTACT_STIFFNESS * pressure / compliance;
    contact.stiffness *= fminf(1.0f, moves / SUP_RESPONSE_FREE_WEIGHT);
    contact.damping =
        sup_contact_damping(query.height, touch, sup_contact_release_height(gap, w.d->slack[v])) * contact.stiffness;
    bool sound = fabsf(dot(normal, normal) - 1.0f) < 0.01f && isfinite(contact.offset) && isfinite(contact.stiffness) &&
                 isfinite(contact.damping) && compliance > 0.0f;
    for (int k = 1; k < 4; k++)
        sound = sound && fabsf(contact.weight[k]) <= 2.0f;
    if (sound) return contact;
    for (int k = 0; k < 4; k++)
        contact.weight[k] = 0.0f;
    put(contact.normal, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    put(contact.start, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    contact.offset = contact.stiffness = contact.damping = contact.friction = 0.0f;
    return contact;
}

/* The pair that a vertex has, without a search. */
static __device__ int keep_pair(const work &w, int v, int triangle, contact_query &query)
{
    if (triangle >= 0) query = query_triangle(w, open_vertex(w, v).position, triangle);
    return triangle;
}

/* As in detect.c: by the displacement in the last timestep, relative to the point of the triangle. */
static __device__ float onset_of(const sup_gpu_state &st, const work &w, int character, float last, int v, int triangle,
                                 const contact_query &query)
{
    if (st.commands[character].settles) return 1.0f;
    const float4 *before = st.skin[st.progress[character].phase & 1] + (size_t)character * w.d->vertex_count;
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    float4 d = minus(w.skin[v], before[v]);
    for (int k = 0; k < 3; k++)
        d = add_scaled(d, -query.weight[k], minus(w.skin[t[k]], before[t[k]]));
    return sup_contact_onset(last, sqrtf(dot(d, d)), w.d->gap[v]);
}

/* The pair and the contact of a vertex. Returns, to the first of its threads, whether there is one. */
template <int LANES>
static __device__ bool find_contact(const sup_gpu_system &s, const sup_gpu_state &st, const work &w, int character,
                                    int v)
{
    const size_t at = (size_t)character * s.contact_count + v;
    const int previous = v < s.skin_count ? st.pair[at] : -1;
    if (v >= s.skin_count || (previous < 0 && w.nearest[v] == NO_PAIR)) return false;
    contact_query query;
    const int rest_steps = st.progress[character].rest_steps;
    const int triangle = sup_rest_freezes_pairs(rest_steps, st.progress[character].rest_damping_mean)
                             ? keep_pair(w, v, previous, query)
                             : update_pair<LANES>(w, v, previous, sup_rest_releases_pairs(rest_steps), query);
    if (threadIdx.x % LANES != 0) return false;
    float &onset = st.onset[(size_t)character * s.skin_count + v];
    st.pair[at] = triangle;
    onset = triangle < 0 ? 0.0f : onset_of(st, w, character, onset, v, triangle, query);
    if (triangle < 0) return false;
    st.contacts[at] = make_contact(s, st, w, character, v, triangle, query);
    mark_near(w, v, triangle);
    return true;
}

/* Adds the contacts that threads of a warp found. */
static __device__ void count_contacts(const sup_gpu_state &st, int character, bool found)
{
    const unsigned found_set = __ballot_sync(0xffffffffu, found);
    if (threadIdx.x % 32 == 0 && found_set != 0) atomicAdd(&st.progress[character].contacts, __popc(found_set));
}

#endif
