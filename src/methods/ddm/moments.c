/* moments.c - the precomputation of direct delta mush: moments of each joint's share of the surface, smoothed over it.
 *
 * For each joint the numbers w_kj (u_k, 1) (u_k, 1)^T of all vertices k are smoothed like a scalar field on the mesh,
 * by sweeps X_i <- (1 - STEP) X_i + STEP mean of the neighbours' X. Only vertices that a joint reaches are visited. */
#include "geometry/adjacency.h"
#include "methods/ddm/ddm.h"

#include <math.h>

/* Share of the neighbours' mean in a sweep. */
static const double STEP = 0.5;
/* More are not worth their time at bind: on meshes where they do not reach the radius, smoothing reaches less far. */
enum { MOST_SWEEPS = 64 };
/* Of a vertex's smoothed weights: smaller ones are dropped, and do not spread to neighbours. */
static const double LEAST_WEIGHT = 1e-3, LEAST_SPREAD = 1e-4;
/* The translation prior has weights of a smaller smoothing: of this part of the sweeps, half the radius. */
static const double PRIOR_SWEEPS = 0.25;
/* Smallest radius of a neighbourhood, in sizes. */
static const double LEAST_RADIUS = 1e-4;

enum { GRAIN = 512 }; /* vertices per task */

/* Of one joint at one vertex: 00 11 22 01 02 12 of w u u^T, w u, w, and w after the sweeps of the prior. */
enum { FIRST = 6, WEIGHT = 9, PRIOR = 10, CHANNELS = 11 };
typedef struct field {
    double x[CHANNELS];
} field;

/* Of one joint at one vertex of the skin, after smoothing. */
typedef struct entry {
    int32_t vertex, joint;
    field value;
} entry;

typedef struct smoother {
    const sup_context *context;
    const sup_rig *rig;
    sup_ddm_smooth *smooth;
    int32_t prior_sweeps;
    double prior;
    sup_arena arena;                       /* owns what follows, but for entries */
    int32_t *neighbour_first, *neighbours; /* of the skin's vertices */
    int32_t *local;                        /* [skin_vertex_count] place in `reached`, -1: not reached */
    int32_t *reached;                      /* vertices that the joint reaches */
    int32_t reached_count;
    field *now, *next;                  /* [skin_vertex_count] of the reached vertices */
    sup_array entries;                  /* of entry, by joint */
    int32_t *entry_first, *entry_order; /* by vertex: [skin_vertex_count+1], [entries] */
} smoother;

static const int32_t row_of[6] = {0, 1, 2, 0, 0, 1}, column_of[6] = {0, 1, 2, 1, 2, 2};

static sup_vec3d place_of(const sup_ddm_smooth *smooth, const float *position)
{
    sup_vec3d p = sup_v3_load(position);
    return sup_v3((p.x - smooth->origin[0]) / smooth->unit, (p.y - smooth->origin[1]) / smooth->unit,
                  (p.z - smooth->origin[2]) / smooth->unit);
}

/* w (u, 1) (u, 1)^T */
static void add_moments(field *to, double w, sup_vec3d u)
{
    const double x[3] = {u.x, u.y, u.z};
    for (int32_t i = 0; i < FIRST; i++)
        to->x[i] += w * x[row_of[i]] * x[column_of[i]];
    for (int32_t i = 0; i < 3; i++)
        to->x[FIRST + i] += w * x[i];
    to->x[WEIGHT] += w;
    to->x[PRIOR] += w;
}

/* --- Smoothing of one joint --- */

static void reach(smoother *s, int32_t vertex)
{
    if (s->local[vertex] >= 0) return;
    s->local[vertex] = s->reached_count;
    memset(&s->now[s->reached_count], 0, sizeof *s->now);
    s->reached[s->reached_count++] = vertex;
}

static void sweep(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const smoother *s = data;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t first = s->neighbour_first[s->reached[i]], last = s->neighbour_first[s->reached[i] + 1];
        field sum = {{0}};
        for (int32_t n = first; n < last; n++) {
            int32_t at = s->local[s->neighbours[n]];
            for (int32_t c = 0; c < PRIOR && at >= 0; c++)
                sum.x[c] += s->now[at].x[c];
        }
        double share = first < last ? STEP / (last - first) : 0.0, own = first < last ? 1.0 - STEP : 1.0;
        for (int32_t c = 0; c < PRIOR; c++)
            s->next[i].x[c] = own * s->now[i].x[c] + share * sum.x[c];
        s->next[i].x[PRIOR] = s->now[i].x[PRIOR];
    }
}

static void smooth_reached(smoother *s)
{
    for (int32_t step = 0; step < s->smooth->sweeps; step++) {
        for (int32_t i = 0, count = s->reached_count; i < count; i++) {
            int32_t v = s->reached[i];
            if (s->now[i].x[WEIGHT] < LEAST_SPREAD) continue;
            for (int32_t n = s->neighbour_first[v]; n < s->neighbour_first[v + 1]; n++)
                reach(s, s->neighbours[n]);
        }
        sup_parallel(s->context, s->reached_count, GRAIN, sweep, s);
        field *swapped = s->now;
        s->now = s->next;
        s->next = swapped;
        if (step + 1 != s->prior_sweeps) continue;
        for (int32_t i = 0; i < s->reached_count; i++)
            s->now[i].x[PRIOR] = s->now[i].x[WEIGHT];
    }
}

static double weight_at(const sup_rig *rig, int32_t i)
{
    double w = (double)rig->influence_weight[i];
    return w > 0.0 && w <= 1e18 ? w : 0.0; /* sup_skin_bind refuses others */
}

/* Sum of the weights of a render vertex; 1 in a valid rig. */
static double weight_sum(const sup_rig *rig, int32_t v)
{
    double sum = 0.0;
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++)
        sum += weight_at(rig, i);
    return sum > 0.0 ? sum : 1.0;
}

/* Influences of the skin's vertices by joint. */
typedef struct by_joint {
    int32_t *first;  /* [joint_count+1] */
    int32_t *vertex; /* of the skin */
    double *weight;
} by_joint;

static bool sort_by_joint(smoother *s, by_joint *sorted)
{
    const sup_rig *rig = s->rig;
    size_t joints = (size_t)rig->joint_count, total = 0;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        total +=
            (size_t)(rig->influence_first[rig->skin_to_vertex[v] + 1] - rig->influence_first[rig->skin_to_vertex[v]]);
    sorted->first = sup_arena_alloc(&s->arena, joints + 1, sizeof *sorted->first);
    sorted->vertex = sup_arena_alloc(&s->arena, total, sizeof *sorted->vertex);
    sorted->weight = sup_arena_alloc(&s->arena, total, sizeof *sorted->weight);
    if (sorted->first == NULL || sorted->vertex == NULL || sorted->weight == NULL) return false;
    for (int32_t pass = 0; pass < 2; pass++) {
        /* First pass: first[j+1] counts joint j. Second: it is the next place of joint j, in the end the end of it. */
        for (int32_t j = 0, start = 0; j < rig->joint_count && pass == 1; j++) {
            int32_t own = sorted->first[j + 1];
            sorted->first[j + 1] = start;
            start += own;
        }
        for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
            int32_t from = rig->skin_to_vertex[v];
            double sum = weight_sum(rig, from);
            for (int32_t i = rig->influence_first[from]; i < rig->influence_first[from + 1]; i++) {
                int32_t joint = rig->influence_joint[i];
                if (joint < 0 || joint >= rig->joint_count) continue; /* sup_skin_bind refuses it */
                int32_t at = sorted->first[joint + 1]++;
                if (pass == 0) continue;
                sorted->vertex[at] = v;
                sorted->weight[at] = weight_at(rig, i) / sum;
            }
        }
    }
    return true;
}

static sup_result smooth_joint(smoother *s, const by_joint *sorted, int32_t joint, sup_error *error)
{
    s->reached_count = 0;
    for (int32_t i = sorted->first[joint]; i < sorted->first[joint + 1]; i++) {
        int32_t v = sorted->vertex[i];
        if (!(sorted->weight[i] > 0.0)) continue;
        reach(s, v);
        add_moments(&s->now[s->local[v]], sorted->weight[i],
                    place_of(s->smooth, s->rig->skin_positions + 3 * (int64_t)v));
    }
    smooth_reached(s);
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < s->reached_count; i++) {
        s->local[s->reached[i]] = -1;
        if (s->now[i].x[WEIGHT] < LEAST_WEIGHT || result != SUP_OK) continue;
        entry *e = s->entries.count < INT32_MAX ? sup_array_push(&s->context->allocator, &s->entries, 1) : NULL;
        if (e == NULL)
            result = sup_fail_memory(error, "smoothing the skin");
        else
            *e = (entry){s->reached[i], joint, s->now[i]};
    }
    return result;
}

/* --- The result, by vertex --- */

static const entry *entry_at(const smoother *s, int32_t vertex, int32_t i)
{
    return (const entry *)(const void *)s->entries.data + s->entry_order[s->entry_first[vertex] + i];
}

static bool sort_by_vertex(smoother *s)
{
    int32_t count = s->rig->skin_vertex_count;
    const entry *entries = (const entry *)(const void *)s->entries.data;
    s->entry_first = sup_arena_alloc(&s->arena, (size_t)count + 1, sizeof *s->entry_first);
    s->entry_order = sup_arena_alloc(&s->arena, s->entries.count, sizeof *s->entry_order);
    if (s->entry_first == NULL || s->entry_order == NULL) return false;
    for (size_t i = 0; i < s->entries.count; i++)
        s->entry_first[entries[i].vertex]++;
    for (int32_t v = 0, sum = 0; v <= count; v++) { /* ends, moved back to starts below */
        sum += v < count ? s->entry_first[v] : 0;
        s->entry_first[v] = sum;
    }
    for (size_t i = s->entries.count; i-- > 0;)
        s->entry_order[--s->entry_first[entries[i].vertex]] = (int32_t)i;
    return true;
}

/* Smoothed entries of a render vertex, -1 where it keeps its own influences: props, and where weights were dropped. */
static int32_t smoothed_count(const smoother *s, int32_t v)
{
    int32_t skin = s->entry_first != NULL ? s->rig->vertex_to_skin[v] : -1; /* NULL: no skin */
    if (skin < 0) return -1;
    double sum = 0.0;
    int32_t count = s->entry_first[skin + 1] - s->entry_first[skin];
    for (int32_t i = 0; i < count; i++)
        sum += entry_at(s, skin, i)->value.x[WEIGHT];
    return sum > 0.5 ? count : -1;
}

/* Moments about p, with their thickness, without the part of the prior, which has no moments about p; returns the
 * weight in the step. `sum`, `prior_sum`: of the kept weights. */
static double local_moments(const smoother *s, const field *f, double sum, double prior_sum, sup_vec3d p,
                            double square_radius, double *out)
{
    const double x[3] = {p.x, p.y, p.z};
    double w = f->x[WEIGHT] / sum, translation = prior_sum > 0.5 ? f->x[PRIOR] / prior_sum : w;
    for (int32_t i = 0; i < FIRST; i++) {
        int32_t r = row_of[i], c = column_of[i];
        double about = f->x[i] / sum - f->x[FIRST + r] / sum * x[c] - x[r] * f->x[FIRST + c] / sum + w * x[r] * x[c];
        out[i] = (1.0 - s->prior) * (about + (r == c ? w * SUP_DDM_THICKNESS * square_radius : 0.0));
    }
    for (int32_t i = 0; i < 3; i++)
        out[FIRST + i] = (1.0 - s->prior) * (f->x[FIRST + i] / sum - w * x[i]);
    return (1.0 - s->prior) * w + s->prior * translation;
}

/* Fills the influences of a render vertex from its entries. */
static void fill_smoothed(const smoother *s, int32_t v, int32_t count)
{
    sup_ddm_smooth *smooth = s->smooth;
    int32_t skin = s->rig->vertex_to_skin[v], first = smooth->first[v];
    double sum = 0.0, prior_sum = 0.0, square = 0.0;
    sup_vec3d p = sup_v3(0.0, 0.0, 0.0);
    for (int32_t i = 0; i < count; i++) {
        const double *x = entry_at(s, skin, i)->value.x;
        sum += x[WEIGHT];
        prior_sum += x[PRIOR];
        square += x[0] + x[1] + x[2];
        p = sup_v3_add(p, sup_v3(x[FIRST], x[FIRST + 1], x[FIRST + 2]));
    }
    p = sup_v3_scale(p, 1.0 / sum);
    square = fmax(square / sum - sup_v3_dot(p, p), LEAST_RADIUS * LEAST_RADIUS);
    for (int32_t i = 0; i < count; i++) {
        const entry *e = entry_at(s, skin, i);
        smooth->joint[first + i] = e->joint;
        smooth->weight[first + i] = (float)local_moments(s, &e->value, sum, prior_sum, p, square,
                                                         smooth->moments + (int64_t)SUP_DDM_CHANNELS * (first + i));
    }
    const double x[3] = {p.x, p.y, p.z};
    for (int32_t i = 0; i < 3; i++)
        smooth->centres[3 * (int64_t)v + i] = (float)(smooth->origin[i] + smooth->unit * x[i]);
}

/* The vertex keeps its influences; its neighbourhood is a sphere of the smallest radius. */
static void fill_own(const smoother *s, int32_t v)
{
    const sup_rig *rig = s->rig;
    sup_ddm_smooth *smooth = s->smooth;
    int32_t first = smooth->first[v];
    for (int32_t i = 0; i < rig->influence_first[v + 1] - rig->influence_first[v]; i++) {
        int32_t from = rig->influence_first[v] + i;
        double *moments = smooth->moments + (int64_t)SUP_DDM_CHANNELS * (first + i);
        smooth->joint[first + i] = rig->influence_joint[from];
        smooth->weight[first + i] = rig->influence_weight[from];
        for (int32_t c = 0; c < 3; c++)
            moments[c] = (double)rig->influence_weight[from] * LEAST_RADIUS * LEAST_RADIUS;
    }
    memcpy(smooth->centres + 3 * (int64_t)v, rig->positions + 3 * (int64_t)v, 3 * sizeof(float));
}

static sup_result fill_result(smoother *s, sup_error *error)
{
    const sup_rig *rig = s->rig;
    sup_ddm_smooth *smooth = s->smooth;
    size_t count = (size_t)rig->vertex_count, total = 0;
    smooth->first = sup_arena_alloc(&smooth->arena, count + 1, sizeof *smooth->first);
    smooth->centres = sup_arena_alloc(&smooth->arena, count, 3 * sizeof *smooth->centres);
    if (smooth->first == NULL || smooth->centres == NULL) return sup_fail_memory(error, "smoothing the skin");
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t smoothed = smoothed_count(s, v);
        total += (size_t)(smoothed < 0 ? rig->influence_first[v + 1] - rig->influence_first[v] : smoothed);
        if (total > INT32_MAX) return sup_fail_memory(error, "smoothing the skin");
        smooth->first[v + 1] = (int32_t)total;
    }
    smooth->joint = sup_arena_alloc(&smooth->arena, total, sizeof *smooth->joint);
    smooth->weight = sup_arena_alloc(&smooth->arena, total, sizeof *smooth->weight);
    smooth->moments = sup_arena_alloc(&smooth->arena, total, SUP_DDM_CHANNELS * sizeof *smooth->moments);
    if (smooth->joint == NULL || smooth->weight == NULL || smooth->moments == NULL)
        return sup_fail_memory(error, "smoothing the skin");
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t smoothed = smoothed_count(s, v);
        if (smoothed < 0)
            fill_own(s, v);
        else
            fill_smoothed(s, v, smoothed);
    }
    return SUP_OK;
}

/* --- Start --- */

/* Origin and unit: middle and half diagonal of the bounding box of all vertices. */
static void find_frame(const sup_rig *rig, sup_ddm_smooth *smooth)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0.0;
    for (int64_t i = 0; i < 3 * (int64_t)rig->vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], (double)rig->positions[i]);
        high[i % 3] = fmax(high[i % 3], (double)rig->positions[i]);
    }
    for (int32_t i = 0; i < 3; i++) {
        smooth->origin[i] = (double)(float)(0.5 * (low[i] + high[i]));
        square += (high[i] - low[i]) * (high[i] - low[i]);
    }
    float size = (float)sqrt(square);
    smooth->unit = size > 1e-18f && isfinite(size) ? (double)size : 1.0;
}

/* The sweeps that spread a point of the surface by `radius`: each adds STEP times the mean square edge. */
static int32_t sweeps_for(const sup_rig *rig, const sup_adjacency *mesh, double radius)
{
    double square = 0.0;
    for (int32_t e = 0; e < mesh->edge_count; e++) {
        const float *a = rig->skin_positions + 3 * (int64_t)mesh->edge_vertices[2 * e];
        const float *b = rig->skin_positions + 3 * (int64_t)mesh->edge_vertices[2 * e + 1];
        sup_vec3d edge = sup_v3_sub(sup_v3_load(a), sup_v3_load(b));
        square += sup_v3_dot(edge, edge);
    }
    if (!(radius > 0.0) || mesh->edge_count == 0) return 0;
    double length = radius * (double)rig->size, wanted = length * length * mesh->edge_count / (STEP * square);
    return wanted < 1.0 ? 1 : wanted < MOST_SWEEPS ? (int32_t)(wanted + 0.5) : MOST_SWEEPS;
}

static sup_result find_neighbours(smoother *s, double radius, sup_error *error)
{
    const sup_rig *rig = s->rig;
    sup_adjacency mesh;
    sup_result result = sup_adjacency_create(&s->context->allocator, rig->skin_vertex_count, rig->skin_triangle_count,
                                             rig->skin_triangles, &mesh, error);
    if (result != SUP_OK) return result;
    s->neighbour_first = sup_arena_alloc(&s->arena, (size_t)rig->skin_vertex_count + 1, sizeof(int32_t));
    s->neighbours = sup_arena_alloc(&s->arena, 2 * (size_t)mesh.edge_count, sizeof(int32_t));
    if (s->neighbour_first == NULL || s->neighbours == NULL)
        result = sup_fail_memory(error, "smoothing the skin");
    else
        sup_adjacency_neighbours(&mesh, s->neighbour_first, s->neighbours);
    s->smooth->sweeps = sweeps_for(rig, &mesh, radius);
    s->prior_sweeps = (int32_t)(PRIOR_SWEEPS * s->smooth->sweeps + 0.5);
    sup_adjacency_destroy(&mesh);
    return result;
}

static sup_result smooth_skin(smoother *s, double radius, sup_error *error)
{
    const sup_rig *rig = s->rig;
    size_t count = (size_t)rig->skin_vertex_count;
    by_joint sorted;
    sup_result result = find_neighbours(s, radius, error);
    if (result != SUP_OK) return result;
    s->local = sup_arena_alloc(&s->arena, count, sizeof *s->local);
    s->reached = sup_arena_alloc(&s->arena, count, sizeof *s->reached);
    s->now = sup_arena_alloc(&s->arena, count, sizeof *s->now);
    s->next = sup_arena_alloc(&s->arena, count, sizeof *s->next);
    if (s->local == NULL || s->reached == NULL || s->now == NULL || s->next == NULL || !sort_by_joint(s, &sorted))
        return sup_fail_memory(error, "smoothing the skin");
    for (size_t v = 0; v < count; v++)
        s->local[v] = -1;
    for (int32_t j = 0; j < rig->joint_count && result == SUP_OK; j++)
        result = smooth_joint(s, &sorted, j, error);
    if (result == SUP_OK && !sort_by_vertex(s)) result = sup_fail_memory(error, "smoothing the skin");
    return result;
}

sup_result sup_ddm_smooth_create(const sup_context *context, const sup_rig *rig, double radius, double prior,
                                 sup_ddm_smooth *smooth, sup_error *error)
{
    *smooth = (sup_ddm_smooth){.arena = sup_arena_create(&context->allocator)};
    smoother s = {.context = context,
                  .rig = rig,
                  .smooth = smooth,
                  .prior = prior,
                  .arena = sup_arena_create(&context->allocator),
                  .entries.item_size = sizeof(entry)};
    find_frame(rig, smooth);
    sup_result result = rig->skin_vertex_count > 0 ? smooth_skin(&s, radius, error) : SUP_OK;
    if (result == SUP_OK) result = fill_result(&s, error);
    sup_array_free(&context->allocator, &s.entries);
    sup_arena_destroy(&s.arena);
    return result;
}

void sup_ddm_smooth_destroy(sup_ddm_smooth *smooth)
{
    sup_arena_destroy(&smooth->arena);
}
