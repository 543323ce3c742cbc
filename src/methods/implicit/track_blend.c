/* track_blend.c - the output skin between the tracked skin and dual quaternions, chosen vertex by vertex.
 *
 * The output is q + w (p - q), with p the tracked skin, q dual quaternions and a weight w in [0, 1] of each vertex. All
 * weights start at 1. Each pass multiplies the weights at edges that are too long, and at triangles that face away
 * from their neighbours where those of q do not, by a factor that is 1 at the limit and falls with the excess. Then it
 * bounds the difference between neighbours: the blend itself must not shear the skin. Near q all limits hold, because
 * they hold for q. All steps are continuous, so that the skin does not pop, and local. The result is not part of the
 * state. */
#include "methods/implicit/track_blend.h"

/* Passes; sweeps over the neighbours in each, and after the last; vertices and triangles per task. */
enum { PASSES = 12, SWEEPS = 4, LAST_SWEEPS = 16, SHORTEN_PASSES = 4, GRAIN = 32, TRIANGLE_GRAIN = 512 };
/* Largest shear by the weights: difference of the displacements of neighbours, relative to their edge at rest. */
static const float SHEAR = 0.35f;
/* Cosine between a triangle and the mean of its neighbours below which weights fall; what is missing to
 * it for the smallest factor; and that factor. */
static const float FACING = 0.15f, FULL_TURN = 0.05f, TURN_FACTOR = 0.3f;
/* Negative cosine from which on a triangle of q is flipped for certain. */
static const float FLIPPED = 0.03f;
/* Growth of the trust in q from a vertex to the next, around edges of q that are too long. */
static const float TRUST_STEP = 0.2f;
/* Cosine of q from which on it faces its neighbours for certain. */
/* Largest displacement outwards relative to the thickness of the body; contact weights
 * between which skin stops swelling, as in arap_smooth.c; and passes that smooth the displacement. */
static const float SWELL = 0.06f, CONTACT[2] = {0.02f, 0.2f};
enum { SMOOTH_PASSES = 6 };
/* Difference of the square of the scale from that of the body at which weights begin to fall, and are 0. */
static const float SCALE[2] = {0.1f, 0.4f};
static const float SURE_FACING = 0.01f;

typedef struct blend_work blend_work;
struct blend_work {
    void (*each)(const blend_work *w, int64_t vertex); /* of each_range */
    const sup_track *track;
    const sup_track_mesh *mesh;
    int32_t *list;                  /* [cluster_count] bent clusters */
    int32_t *all;                   /* [cluster_count] all clusters */
    const float *skinned;           /* [vertex_count*4] q */
    float *output;                  /* [vertex_count*4] first p, then the blend */
    float *tracked;                 /* [vertex_count*4] p */
    float *normal;                  /* [triangle_count*4] unit */
    float *facing, *turn;           /* [triangle_count] cosine of q; factor */
    float *factor;                  /* [vertex_count] */
    float *weight;                  /* [vertex_count] */
    float *trust;                   /* [vertex_count] in q: 0 near its long edges and flipped triangles */
    float *edge_trust;              /* [vertex_count] 0 at its long edges */
    unsigned char *active;          /* [vertex_count] looked at in this pass */
    const float *position, *inward; /* [vertex_count*4] of the track */
    const float *transform;         /* [vertex_count*12] */
    float longest, scale;           /* mean square of the scale over the body */
};

/* --- Scratch --- */

static size_t carve(size_t *used, size_t count, size_t size)
{
    size_t at = *used;
    *used += (count * size + 63) / 64 * 64;
    return at;
}

static size_t carve_all(const sup_track *track, const sup_track_mesh *mesh, unsigned char *base, blend_work *w)
{
    size_t used = 0, vertices = (size_t)track->vertex_count, triangles = (size_t)mesh->triangle_count;
    size_t list = carve(&used, (size_t)track->cluster_count, sizeof(int32_t)),
           all = carve(&used, (size_t)track->cluster_count, sizeof(int32_t));
    size_t tracked = carve(&used, 4 * vertices, sizeof(float)), normal = carve(&used, 4 * triangles, sizeof(float)),
           facing = carve(&used, triangles, sizeof(float)), turn = carve(&used, triangles, sizeof(float)),
           factor = carve(&used, vertices, sizeof(float)), weight = carve(&used, vertices, sizeof(float)),
           trust = carve(&used, vertices, sizeof(float)), edge_trust = carve(&used, vertices, sizeof(float)),
           active = carve(&used, vertices, 1);
    if (base == NULL) return used;
    w->list = (int32_t *)(void *)(base + list);
    w->all = (int32_t *)(void *)(base + all);
    w->tracked = (float *)(void *)(base + tracked);
    w->normal = (float *)(void *)(base + normal);
    w->facing = (float *)(void *)(base + facing);
    w->turn = (float *)(void *)(base + turn);
    w->factor = (float *)(void *)(base + factor);
    w->trust = (float *)(void *)(base + trust);
    w->edge_trust = (float *)(void *)(base + edge_trust);
    w->weight = (float *)(void *)(base + weight);
    w->active = base + active;
    return used;
}

size_t sup_track_blend_scratch_size(const sup_track *track, const sup_track_mesh *mesh)
{
    return carve_all(track, mesh, NULL, NULL);
}

/* --- Triangles --- */

static float dot(sup_four a, sup_four b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static bool is_active(const blend_work *w, int64_t triangle)
{
    const int32_t *corner = w->mesh->triangles + 3 * triangle;
    return (w->active[corner[0]] | w->active[corner[1]] | w->active[corner[2]]) != 0;
}

static void store_normal(const blend_work *w, const float *positions, int64_t triangle)
{
    const int32_t *corner = w->mesh->triangles + 3 * triangle;
    sup_four a = sup_four_load(positions + 4 * (int64_t)corner[0]),
             e = sup_four_load(positions + 4 * (int64_t)corner[1]) - a,
             f = sup_four_load(positions + 4 * (int64_t)corner[2]) - a;
    sup_four n = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0], 0.0f};
    float square = dot(n, n);
    n *= sup_four_splat(square > 0.0f && square < INFINITY ? 1.0f / sqrtf(square) : 0.0f);
    memcpy(w->normal + 4 * triangle, &n, sizeof n);
}

/* Cosine between a triangle and the mean of its neighbours, at least two; 1 if it has fewer. */
static float facing_of(const blend_work *w, int64_t triangle)
{
    const int32_t *twin = w->mesh->twin + 3 * triangle;
    sup_four sum = sup_four_splat(0.0f);
    int32_t count = 0;
    for (int k = 0; k < 3; k++) {
        if (twin[k] < 0) continue;
        sum += sup_four_load(w->normal + 4 * (int64_t)(twin[k] / 3));
        count++;
    }
    return count >= 2 ? dot(sum, sup_four_load(w->normal + 4 * triangle)) / (float)count : 1.0f;
}

static void skinned_normal_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const blend_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++)
        if (is_active(w, t)) store_normal(w, w->skinned, t);
}

static void skinned_facing_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const blend_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++)
        w->facing[t] = is_active(w, t) ? facing_of(w, t) : 1.0f;
}

static void normal_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const blend_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++)
        if (is_active(w, t)) store_normal(w, w->output, t);
}

static float unit(float x)
{
    return sup_track_max(0.0f, sup_track_min(1.0f, x));
}

/* The factor of a triangle: 1 if it faces its neighbours, or if it does not with q either. */
static void turn_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const blend_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        w->turn[t] = 1.0f;
        if (!is_active(w, t) || !(w->facing[t] > 0.0f)) continue;
        const int32_t *corner = w->mesh->triangles + 3 * (int64_t)t;
        float trust = sup_track_min(w->trust[corner[0]], sup_track_min(w->trust[corner[1]], w->trust[corner[2]]));
        float limit = sup_track_min(FACING, w->facing[t]), missing = (limit - facing_of(w, t)) / FULL_TURN;
        float strength = unit(w->facing[t] / SURE_FACING) * unit(missing) * trust;
        w->turn[t] = 1.0f - (1.0f - TURN_FACTOR) * strength;
    }
}

/* Minimum over the triangles at a vertex and those beside them. */
static void scatter_turns(const blend_work *w)
{
    for (int64_t t = 0; t < w->mesh->triangle_count; t++) {
        if (!(w->turn[t] < 1.0f)) continue;
        for (int k = -1; k < 3; k++) {
            int32_t beside = k < 0 ? (int32_t)t : w->mesh->twin[3 * t + k] < 0 ? -1 : w->mesh->twin[3 * t + k] / 3;
            for (int c = 0; c < 3 && beside >= 0; c++) {
                float *factor = &w->factor[w->mesh->triangles[3 * (int64_t)beside + c]];
                *factor = sup_track_min(*factor, w->turn[t]);
            }
        }
    }
}

/* Where q itself is flipped it is no better. */
static void scatter_trust(const blend_work *w)
{
    for (int64_t t = 0; t < w->mesh->triangle_count; t++) {
        float trust = unit(1.0f + w->facing[t] / FLIPPED);
        for (int c = 0; c < 3 && trust < 1.0f; c++) {
            float *to = &w->trust[w->mesh->triangles[3 * t + c]];
            *to = sup_track_min(*to, trust);
        }
    }
}

/* --- Vertices --- */

typedef void vertex_fn(const blend_work *w, int64_t vertex);

static void each_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const blend_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t v = w->track->cluster_first[w->list[i]]; v < w->track->cluster_first[w->list[i] + 1]; v++)
            w->each(w, v);
}

static void begin_vertex(const blend_work *w, int64_t vertex)
{
    memcpy(w->tracked + 4 * vertex, w->output + 4 * vertex, 4 * sizeof(float));
    w->active[vertex] = 1;
}

/* Mean square of the scale of a vertex's transform over the axes. */
static float scale_square(const blend_work *w, int64_t vertex)
{
    const float *m = w->transform + 12 * vertex;
    sup_four x = sup_four_load(m), y = sup_four_load(m + 4), z = sup_four_load(m + 8);
    return (dot(x, x) + dot(y, y) + dot(z, z)) / 3.0f;
}

/* Fields have the shape of the bind pose: where authored scale differs from that of the body, q is better. */
static void scale_vertex(const blend_work *w, int64_t vertex)
{
    float off = fabsf(scale_square(w, vertex) / w->scale - 1.0f);
    w->weight[vertex] = w->mesh->margin[vertex] * (1.0f - unit((off - SCALE[0]) / (SCALE[1] - SCALE[0])));
}

static void place_vertex(const blend_work *w, int64_t vertex)
{
    float weight = w->weight[vertex];
    const float *p = w->tracked + 4 * vertex, *q = w->skinned + 4 * vertex;
    if (!(weight < 1.0f)) return;
    for (int c = 0; c < 3; c++)
        w->output[4 * vertex + c] = q[c] + weight * (p[c] - q[c]);
}

/* The factor of the edges at a vertex. Edges shorter than a hundredth of the mean are noise. */
static void edge_factor(const blend_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    float factor = 1.0f, noise = 1e-4f * track->target[vertex].edge * track->target[vertex].edge;
    if (w->active[vertex]) {
        sup_four here = sup_four_load(w->output + 4 * vertex), rest_here = sup_four_load(track->rest + 4 * vertex);
        for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
            sup_four now = sup_four_load(w->output + 4 * (int64_t)track->other[e]) - here,
                     rest = sup_four_load(track->rest + 4 * (int64_t)track->other[e]) - rest_here;
            float square = dot(rest, rest), limit = w->longest * w->longest * square, length = dot(now, now);
            if (!(square > noise) || !(length > limit)) continue;
            factor = sup_track_min(factor, 1.0f - w->edge_trust[vertex] * (1.0f - limit / length));
        }
    }
    w->factor[vertex] = factor;
}

static void reduce_vertex(const blend_work *w, int64_t vertex)
{
    w->weight[vertex] *= w->factor[vertex];
}

/* Bounds the weight by those of the neighbours; returns whether it changed. */
static bool spread_vertex(const blend_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    float weight = w->weight[vertex], bound = weight;
    sup_four off = sup_four_load(w->tracked + 4 * vertex) - sup_four_load(w->skinned + 4 * vertex),
             rest_here = sup_four_load(track->rest + 4 * vertex);
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
        int64_t other = track->other[e];
        if (!(w->weight[other] < bound)) continue;
        sup_four rest = sup_four_load(track->rest + 4 * other) - rest_here;
        float step = SHEAR * sqrtf(dot(rest, rest) / sup_track_max(dot(off, off), 1e-24f));
        bound = sup_track_min(bound, w->weight[other] + step);
    }
    w->weight[vertex] = bound;
    return bound < weight;
}

/* One thread visits the vertices forwards and backwards, with the results so far: few sweeps reach far, and the result
 * does not depend on the number of threads. */
static void spread(const blend_work *w, int32_t bent, int32_t sweeps, bool (*fn)(const blend_work *w, int64_t vertex))
{
    bool changed = true;
    for (int32_t i = 0; i < sweeps && changed; i++) {
        changed = false;
        for (int32_t k = 0; k < bent; k++) {
            int32_t cluster = w->list[i % 2 == 0 ? k : bent - 1 - k];
            int64_t first = w->track->cluster_first[cluster], last = w->track->cluster_first[cluster + 1] - 1;
            for (int64_t v = first; v <= last; v++)
                changed = fn(w, i % 2 == 0 ? v : last - (v - first)) || changed;
        }
    }
}

/* 0 where an edge of q is much longer than the limit: then q is no better. */
static void trust_vertex(const blend_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    float good = sup_track_min(w->longest, SUP_TRACK_LONGEST), longest = 0.0f,
          noise = 1e-4f * track->target[vertex].edge * track->target[vertex].edge;
    sup_four here = sup_four_load(w->skinned + 4 * vertex), rest_here = sup_four_load(track->rest + 4 * vertex);
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
        sup_four now = sup_four_load(w->skinned + 4 * (int64_t)track->other[e]) - here,
                 rest = sup_four_load(track->rest + 4 * (int64_t)track->other[e]) - rest_here;
        float square = dot(rest, rest);
        if (square > noise) longest = sup_track_max(longest, dot(now, now) / square);
    }
    w->trust[vertex] = w->edge_trust[vertex] = unit(2.0f - longest / (good * good));
}

static bool spread_trust(const blend_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    float trust = w->trust[vertex], bound = trust;
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        bound = sup_track_min(bound, w->trust[track->other[e]] + TRUST_STEP);
    w->trust[vertex] = bound;
    return bound < trust;
}

static void activate_vertex(const blend_work *w, int64_t vertex)
{
    w->active[vertex] = w->weight[vertex] < 1.0f;
}

static void for_each(const sup_context *context, blend_work *w, int32_t bent, vertex_fn *fn)
{
    w->each = fn;
    sup_parallel(context, bent, GRAIN, each_range, w);
}

/* Returns whether parts of the body are scaled. */
static bool weigh_scale(const sup_context *context, blend_work *w, int32_t bent)
{
    double sum = 0.0;
    for (int64_t v = 0; v < w->track->vertex_count; v++)
        sum += (double)scale_square(w, v);
    w->scale = (float)(sum / (double)w->track->vertex_count);
    if (!(w->scale > 0.0f) || !(w->scale < INFINITY)) return false;
    for_each(context, w, bent, scale_vertex);
    spread(w, bent, LAST_SWEEPS, spread_vertex);
    for (int32_t i = 0; i < bent; i++)
        for (int64_t v = w->track->cluster_first[w->list[i]]; v < w->track->cluster_first[w->list[i] + 1]; v++)
            if (w->weight[v] < 1.0f) return true;
    return false;
}

/* Returns whether all limits hold. */
static bool run_pass(const sup_context *context, blend_work *w, int32_t bent)
{
    const int32_t triangles = w->mesh->triangle_count;
    bool ok = true;
    sup_parallel(context, triangles, TRIANGLE_GRAIN, normal_range, w);
    sup_parallel(context, triangles, TRIANGLE_GRAIN, turn_range, w);
    for_each(context, w, bent, edge_factor);
    scatter_turns(w);
    for (int32_t i = 0; ok && i < bent; i++)
        for (int64_t v = w->track->cluster_first[w->list[i]]; v < w->track->cluster_first[w->list[i] + 1]; v++)
            ok = ok && !(w->factor[v] < 1.0f);
    if (ok) return true;
    for_each(context, w, bent, reduce_vertex);
    spread(w, bent, SWEEPS, spread_vertex);
    for_each(context, w, bent, place_vertex);
    for_each(context, w, bent, activate_vertex);
    return false;
}

/* --- Edges that are still too long: as long as the longest of q, but for rounding --- */

/* Both ends move towards each other by the mean over their edges. Returns whether an edge was too long. */
static bool shorten(const blend_work *w, const float *from, int64_t vertex, float *to)
{
    const sup_track *track = w->track;
    const float noise = 1e-4f * track->target[vertex].edge * track->target[vertex].edge;
    sup_four here = sup_four_load(from + 4 * vertex), rest_here = sup_four_load(track->rest + 4 * vertex),
             sum = sup_four_splat(0.0f);
    bool found = false;
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
        sup_four now = sup_four_load(from + 4 * (int64_t)track->other[e]) - here,
                 rest = sup_four_load(track->rest + 4 * (int64_t)track->other[e]) - rest_here;
        float square = dot(rest, rest), limit = w->longest * w->longest * square, length = dot(now, now);
        if (!(square > noise) || !(length > limit)) continue;
        sum += sup_four_splat(1.0f - sqrtf(limit / length)) * now;
        found = true;
    }
    here += sup_four_splat(1.0f / (float)(track->first[vertex + 1] - track->first[vertex] + !found)) * sum;
    memcpy(to + 4 * vertex, &here, 3 * sizeof *to);
    return found;
}

static void shorten_there(const blend_work *w, int64_t vertex)
{
    w->active[vertex] = shorten(w, w->output, vertex, w->tracked);
}

static void shorten_back(const blend_work *w, int64_t vertex)
{
    shorten(w, w->tracked, vertex, w->output);
}

static void shorten_edges(const sup_context *context, blend_work *w, int32_t bent)
{
    memcpy(w->tracked, w->output, 4 * (size_t)w->track->vertex_count * sizeof *w->output);
    for (int i = 0; i < SHORTEN_PASSES; i++) {
        for_each(context, w, bent, shorten_there);
        if (i == 0 && memchr(w->active, 1, (size_t)w->track->vertex_count) == NULL) return;
        for_each(context, w, bent, shorten_back);
    }
}

void sup_track_blend_begin(const sup_track *track, const sup_track_mesh *mesh, const int32_t *list, int32_t bent,
                           void *scratch)
{
    blend_work w = {0};
    carve_all(track, mesh, scratch, &w);
    if (w.list == NULL) return;
    memcpy(w.list, list, (size_t)bent * sizeof *list);
}

void sup_track_blend(const sup_context *context, const sup_track *track, const sup_track_mesh *mesh, void *scratch,
                     const float *skinned, const float *transform, float longest, int32_t bent, float *output)
{
    blend_work w = {
        .track = track, .mesh = mesh, .skinned = skinned, .transform = transform, .output = output, .longest = longest};
    carve_all(track, mesh, scratch, &w);
    if (w.active == NULL || w.weight == NULL || w.trust == NULL || w.normal == NULL) return;
    memset(w.active, 0, (size_t)track->vertex_count);
    for (int64_t v = 0; v < track->vertex_count; v++)
        w.weight[v] = w.trust[v] = 1.0f;
    memset(w.normal, 0, 4 * (size_t)mesh->triangle_count * sizeof *w.normal);
    for_each(context, &w, bent, begin_vertex);
    sup_parallel(context, mesh->triangle_count, TRIANGLE_GRAIN, skinned_normal_range, &w);
    sup_parallel(context, mesh->triangle_count, TRIANGLE_GRAIN, skinned_facing_range, &w);
    if (weigh_scale(context, &w, bent)) for_each(context, &w, bent, place_vertex);
    for_each(context, &w, bent, trust_vertex);
    scatter_trust(&w);
    spread(&w, bent, SWEEPS, spread_trust);
    bool ok = false;
    for (int i = 0; i < PASSES && !ok; i++)
        ok = run_pass(context, &w, bent);
    spread(&w, bent, LAST_SWEEPS, spread_vertex);
    for_each(context, &w, bent, place_vertex);
    shorten_edges(context, &w, bent);
}

/* --- Swelling --- */

/* 0 in contact. */
static void room_vertex(const blend_work *w, int64_t vertex)
{
    w->trust[vertex] = 1.0f - unit((w->position[4 * vertex + 3] - CONTACT[0]) / (CONTACT[1] - CONTACT[0]));
}

static void height_vertex(const blend_work *w, int64_t vertex)
{
    w->factor[vertex] = SWELL * w->trust[vertex] * w->mesh->margin[vertex] * w->mesh->thickness[vertex];
}

static float mean_height(const blend_work *w, const float *height, int64_t vertex)
{
    const sup_track *track = w->track;
    float sum = height[vertex];
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        sum += height[track->other[e]];
    return sum / (float)(track->first[vertex + 1] - track->first[vertex] + 1);
}

static void smooth_there(const blend_work *w, int64_t vertex)
{
    w->weight[vertex] = mean_height(w, w->factor, vertex);
}

static void smooth_back(const blend_work *w, int64_t vertex)
{
    w->factor[vertex] = mean_height(w, w->weight, vertex);
}

static void swell_vertex(const blend_work *w, int64_t vertex)
{
    const float *inward = w->inward + 4 * vertex, *from = w->output + 4 * vertex;
    for (int c = 0; c < 3; c++)
        w->tracked[4 * vertex + c] = from[c] - w->factor[vertex] * inward[c];
}

const float *sup_track_swell(const sup_context *context, const sup_track *track, void *state,
                             const sup_track_mesh *mesh, void *scratch, float *output)
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    blend_work w = {
        .track = track, .mesh = mesh, .output = output, .position = arrays.position, .inward = arrays.normal};
    carve_all(track, mesh, scratch, &w);
    if (w.all == NULL) return output;
    w.list = w.all;
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++)
        w.list[cluster] = cluster;
    for_each(context, &w, track->cluster_count, room_vertex);
    spread(&w, track->cluster_count, SWEEPS, spread_trust);
    for_each(context, &w, track->cluster_count, height_vertex);
    for (int i = 0; i < SMOOTH_PASSES; i++)
        for_each(context, &w, track->cluster_count, i % 2 == 0 ? smooth_there : smooth_back);
    for_each(context, &w, track->cluster_count, swell_vertex);
    return w.tracked;
}
