/* shape_limits.c - blends a skin towards a reference where it is distorted too much. See shape_limits.h. */
#include "limits/shape_limits.h"
#include "limits/shape_limits_rules.h"

#include <math.h>

enum { GRAIN = 1024 }; /* vertices or triangles of a task */

typedef struct limits_work {
    const sup_shape_limits *limits;
    const sup_shape_limits_def *def;
    const sup_skin_out *out;
    size_t stride;         /* of the output positions, bytes */
    float *x, *reference;  /* [vertex_count*3] */
    float *render;         /* [render_count*3] reference of the output vertices */
    float *normal;         /* [triangle_count*3] unit */
    float *weight;         /* [vertex_count] */
    int32_t *queue;        /* [vertex_count] ring buffer of vertices whose weight spreads */
    unsigned char *listed; /* [vertex_count] 1: in the queue */
    unsigned char *sides;  /* [tasks] 1: a side of a triangle of the task exceeds a limit, */
    unsigned char *folds;  /* and 1: a triangle of the task is folded */
} limits_work;

static size_t carve(unsigned char **next, size_t count, size_t size, void **to)
{
    size_t bytes = (count * size + 63) / 64 * 64;
    if (*next != NULL) {
        *to = *next;
        *next += bytes;
    }
    return bytes;
}

static size_t tasks_of(const sup_shape_limits *l)
{
    return (size_t)l->triangle_count / GRAIN + 1;
}

/* Arrays in `scratch`, which may be NULL to find the size. */
static size_t layout(const sup_shape_limits *l, void *scratch, limits_work *w)
{
    unsigned char *next = scratch;
    size_t v = (size_t)l->vertex_count, t = (size_t)l->triangle_count, size = 0;
    size += carve(&next, 3 * v, sizeof(float), (void **)&w->x);
    size += carve(&next, 3 * v, sizeof(float), (void **)&w->reference);
    size += carve(&next, 3 * (size_t)l->render_count, sizeof(float), (void **)&w->render);
    size += carve(&next, 3 * t, sizeof(float), (void **)&w->normal);
    size += carve(&next, v, sizeof(float), (void **)&w->weight);
    size += carve(&next, v, sizeof(int32_t), (void **)&w->queue);
    size += carve(&next, v, 1, (void **)&w->listed);
    size += carve(&next, tasks_of(l), 1, (void **)&w->sides);
    size += carve(&next, tasks_of(l), 1, (void **)&w->folds);
    return size;
}

size_t sup_shape_limits_scratch(const sup_shape_limits *limits)
{
    limits_work w;
    return layout(limits, NULL, &w);
}

static const float *at(const float *positions, int32_t v)
{
    return positions + 3 * (size_t)v;
}

static void subtract(const float *a, const float *b, float d[3])
{
    for (int k = 0; k < 3; k++)
        d[k] = a[k] - b[k];
}

/* --- What exceeds a limit --- */

static void gather(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const limits_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        int32_t first = w->limits->render_first[v];
        if (first == w->limits->render_first[v + 1]) continue;
        const unsigned char *from =
            (const unsigned char *)w->out->positions + (size_t)w->limits->render_vertices[first] * w->stride;
        memcpy(w->x + 3 * (size_t)v, from, 3 * sizeof(float));
    }
}

static void normal_of(const float *positions, const int32_t *c, float n[3])
{
    float u[3], v[3];
    subtract(at(positions, c[1]), at(positions, c[0]), u);
    subtract(at(positions, c[2]), at(positions, c[0]), v);
    n[0] = u[1] * v[2] - u[2] * v[1];
    n[1] = u[2] * v[0] - u[0] * v[2];
    n[2] = u[0] * v[1] - u[1] * v[0];
    float length = sqrtf(sup_limits_dot(n, n)), scale = length > 0.0f ? 1.0f / length : 0.0f;
    for (int k = 0; k < 3; k++)
        n[k] *= scale;
}

/* Normals, and whether a side of a triangle exceeds a limit. */
static void compute_normals(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const limits_work *w = work;
    bool any = false;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        const int32_t *c = w->limits->triangles + 3 * (size_t)t;
        const float *rest = w->limits->side_length + 3 * (size_t)t;
        normal_of(w->x, c, w->normal + 3 * (size_t)t);
        for (int k = 0; k < 3; k++) {
            float d[3];
            subtract(at(w->x, c[k]), at(w->x, c[k == 2 ? 0 : k + 1]), d);
            any |= sup_limits_exceeds(sup_limits_dot(d, d), rest[k]);
        }
    }
    w->sides[begin / GRAIN] = any;
}

static const float no_normal[3] = {0.0f, 0.0f, 0.0f}; /* of a neighbour that is not there */

/* Cosine of a normal with the mean normal of the neighbours. */
static float cosine_with(const float *normal, const float *const normals[3])
{
    float sum[3] = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            sum[k] += normals[i][k];
    float length = sqrtf(sup_limits_dot(sum, sum));
    return length > 0.0f ? sup_limits_dot(normal, sum) / length : 1.0f;
}

static bool is_judged(const sup_shape_limits *l, int32_t t)
{
    const int32_t *a = l->adjacent + 3 * (size_t)t;
    return a[0] >= 0 || a[1] >= 0 || a[2] >= 0;
}

static float own_cosine(const limits_work *w, int32_t t)
{
    const float *normals[3];
    for (int k = 0; k < 3; k++) {
        int32_t next = w->limits->adjacent[3 * (size_t)t + (size_t)k];
        normals[k] = next >= 0 ? w->normal + 3 * (size_t)next : no_normal;
    }
    return cosine_with(w->normal + 3 * (size_t)t, normals);
}

static void test_triangles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const limits_work *w = work;
    bool any = false;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++)
        any |= is_judged(w->limits, t) && own_cosine(w, t) < SUP_LIMITS_FLIP_BEGIN;
    w->folds[begin / GRAIN] = any;
}

static bool any_task(const unsigned char *flags, int32_t triangle_count)
{
    bool any = false;
    for (int32_t i = 0; i <= (triangle_count - 1) / GRAIN; i++)
        any |= flags[i] != 0;
    return any;
}

/* The first triangle from `t` on whose task has the flag. */
static int32_t skip_tasks(const unsigned char *flags, int32_t triangle_count, int32_t t)
{
    while (t < triangle_count && !flags[t / GRAIN])
        t = (t / GRAIN + 1) * GRAIN;
    return t;
}

/* --- Weights --- */

static float distance_of(const limits_work *w, int32_t v)
{
    float d[3];
    subtract(at(w->x, v), at(w->reference, v), d);
    return sqrtf(sup_limits_dot(d, d));
}

static float factor_of(const limits_work *w, int32_t v)
{
    const sup_shape_limits *l = w->limits;
    float sum = 0.0f;
    for (int32_t e = l->neighbour_first[v]; e < l->neighbour_first[v + 1]; e++)
        sum += fabsf(l->neighbour_length[e]);
    return sup_limits_factor(distance_of(w, v), sum / (float)(l->neighbour_first[v + 1] - l->neighbour_first[v]),
                             l->size);
}

/* Raises values[v] and appends v to the queue. */
static void raise_value(limits_work *w, float *values, int32_t v, float value, int32_t *end)
{
    if (!(value > values[v] + SUP_LIMITS_MIN_WEIGHT)) return;
    values[v] = value;
    if (w->listed[v]) return;
    w->listed[v] = 1;
    w->queue[*end] = v;
    *end = *end + 1 < w->limits->vertex_count ? *end + 1 : 0;
}

static void clear_values(limits_work *w, float *values)
{
    memset(values, 0, (size_t)w->limits->vertex_count * sizeof *values);
    memset(w->listed, 0, (size_t)w->limits->vertex_count);
    w->queue[0] = 0;
}

static void weigh_edges(limits_work *w, int32_t *end)
{
    const sup_shape_limits *l = w->limits;
    for (int32_t t = skip_tasks(w->sides, l->triangle_count, 0); t < l->triangle_count;
         t = skip_tasks(w->sides, l->triangle_count, t + 1))
        for (int k = 0; k < 3; k++) {
            float own[3], reference[3], rest = l->side_length[3 * (size_t)t + (size_t)k];
            int32_t v = l->triangles[3 * (size_t)t + (size_t)k],
                    u = l->triangles[3 * (size_t)t + (size_t)(k == 2 ? 0 : k + 1)];
            subtract(at(w->x, v), at(w->x, u), own);
            if (!sup_limits_exceeds(sup_limits_dot(own, own), rest)) continue;
            subtract(at(w->reference, v), at(w->reference, u), reference);
            float weight = sup_limits_edge_weight(own, reference, rest) * fminf(factor_of(w, v), factor_of(w, u));
            raise_value(w, w->weight, v, weight, end);
            raise_value(w, w->weight, u, weight, end);
        }
}

static float reference_cosine(const limits_work *w, int32_t t)
{
    const sup_shape_limits *l = w->limits;
    float own[3], around[3][3];
    const float *normals[3];
    for (int k = 0; k < 3; k++) {
        int32_t next = l->adjacent[3 * (size_t)t + (size_t)k];
        normals[k] = next >= 0 ? around[k] : no_normal;
        if (next >= 0) normal_of(w->reference, l->triangles + 3 * (size_t)next, around[k]);
    }
    normal_of(w->reference, l->triangles + 3 * (size_t)t, own);
    return cosine_with(own, normals);
}

static void weigh_triangles(limits_work *w, int32_t *end)
{
    const sup_shape_limits *l = w->limits;
    for (int32_t t = skip_tasks(w->folds, l->triangle_count, 0); t < l->triangle_count;
         t = skip_tasks(w->folds, l->triangle_count, t + 1)) {
        if (!is_judged(l, t)) continue;
        float cosine = own_cosine(w, t);
        if (!(cosine < SUP_LIMITS_FLIP_BEGIN)) continue;
        const int32_t *c = l->triangles + 3 * (size_t)t;
        float weight = sup_limits_flip_weight(cosine, reference_cosine(w, t)) *
                       fminf(factor_of(w, c[0]), fminf(factor_of(w, c[1]), factor_of(w, c[2])));
        for (int k = 0; k < 3; k++)
            raise_value(w, w->weight, c[k], weight, end);
    }
}

/* Weights decrease around the vertices in the queue. */
static void spread(limits_work *w, int32_t begin, int32_t end)
{
    const sup_shape_limits *l = w->limits;
    while (begin != end || w->listed[w->queue[begin]]) {
        int32_t v = w->queue[begin];
        begin = begin + 1 < l->vertex_count ? begin + 1 : 0;
        w->listed[v] = 0;
        float distance = distance_of(w, v);
        for (int32_t e = l->neighbour_first[v]; e < l->neighbour_first[v + 1]; e++) {
            int32_t u = l->neighbours[e];
            float weight =
                sup_limits_neighbour_weight(w->weight[v], l->neighbour_length[e], fmaxf(distance, distance_of(w, u)));
            raise_value(w, w->weight, u, weight, &end);
        }
    }
}

static void write_vertex(const limits_work *w, int32_t v)
{
    for (int32_t i = w->limits->render_first[v]; i < w->limits->render_first[v + 1]; i++)
        memcpy((unsigned char *)w->out->positions + (size_t)w->limits->render_vertices[i] * w->stride,
               w->x + 3 * (size_t)v, 3 * sizeof(float));
}

static void blend(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const limits_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        float *x = w->x + 3 * (size_t)v;
        if (!(w->weight[v] > 0.0f)) continue;
        for (int k = 0; k < 3; k++)
            x[k] += w->def->amount * w->weight[v] * (at(w->reference, v)[k] - x[k]);
        write_vertex(w, v);
    }
}

static void gather_reference(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const limits_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        int32_t first = w->limits->render_first[v];
        if (first == w->limits->render_first[v + 1]) continue;
        memcpy(w->reference + 3 * (size_t)v, at(w->render, w->limits->render_vertices[first]), 3 * sizeof(float));
    }
}

/* Moves a vertex by a fraction of an edge vector. */
static void move_vertex(limits_work *w, int32_t v, float step, const float d[3])
{
    for (int k = 0; k < 3; k++)
        w->x[3 * (size_t)v + (size_t)k] += step * d[k];
    write_vertex(w, v);
}

/* Moves the ends of edges that still exceed a limit, in a fixed order. Returns whether there were any. */
static bool move_ends(limits_work *w)
{
    const sup_shape_limits *l = w->limits;
    bool any = false;
    for (int32_t t = skip_tasks(w->sides, l->triangle_count, 0); t < l->triangle_count;
         t = skip_tasks(w->sides, l->triangle_count, t + 1))
        for (int k = 0; k < 3; k++) {
            float own[3], reference[3], rest = l->side_length[3 * (size_t)t + (size_t)k];
            int32_t v = l->triangles[3 * (size_t)t + (size_t)k],
                    u = l->triangles[3 * (size_t)t + (size_t)(k == 2 ? 0 : k + 1)];
            subtract(at(w->x, u), at(w->x, v), own);
            float square = sup_limits_dot(own, own);
            if (!sup_limits_exceeds(square, rest)) continue;
            subtract(at(w->reference, u), at(w->reference, v), reference);
            float step = w->def->amount * sup_limits_edge_step(square, sup_limits_dot(reference, reference), rest);
            if (step == 0.0f) continue;
            any = true;
            move_vertex(w, v, step, own);
            move_vertex(w, u, -step, own);
        }
    return any;
}

/* Whether anything exceeds a limit. */
static bool exceeds(const sup_context *context, limits_work *w)
{
    const sup_shape_limits *l = w->limits;
    sup_parallel(context, l->triangle_count, GRAIN, compute_normals, w);
    sup_parallel(context, l->triangle_count, GRAIN, test_triangles, w);
    return any_task(w->sides, l->triangle_count) || any_task(w->folds, l->triangle_count);
}

sup_result sup_shape_limits_apply(const sup_context *context, const sup_shape_limits *limits,
                                  const sup_shape_limits_def *def, void *scratch, const sup_skin_out *out)
{
    limits_work w = {.limits = limits, .def = def, .out = out};
    if (out->positions == NULL || limits->triangle_count == 0 || !(def->amount > 0.0f)) return SUP_OK;
    layout(limits, scratch, &w);
    if (w.x == NULL || w.reference == NULL || w.normal == NULL) return SUP_OK; /* no scratch */
    w.stride = out->position_stride != 0 ? out->position_stride : 3 * sizeof(float);
    sup_parallel(context, limits->vertex_count, GRAIN, gather, &w);
    if (!exceeds(context, &w)) return SUP_OK;
    sup_result result = def->reference(def->user, w.render);
    if (result != SUP_OK) return result;
    sup_parallel(context, limits->vertex_count, GRAIN, gather_reference, &w);
    for (int32_t pass = 0; pass < SUP_LIMITS_PASSES && (pass == 0 || exceeds(context, &w)); pass++) {
        int32_t end = 0;
        clear_values(&w, w.weight);
        weigh_edges(&w, &end);
        weigh_triangles(&w, &end);
        if (end == 0 && !w.listed[w.queue[0]]) break;
        spread(&w, 0, end);
        sup_parallel(context, limits->vertex_count, GRAIN, blend, &w);
    }
    for (int32_t sweep = 0; sweep < SUP_LIMITS_SWEEPS && move_ends(&w); sweep++) {
    }
    return SUP_OK;
}
