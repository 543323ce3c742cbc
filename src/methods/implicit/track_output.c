/* track_output.c - output of the tracked skin: creases at contacts smoothed, and no overstretched edges.
 *
 * Based on: [vaillant2014iso] section 3, the Laplacian pass around contacts.
 *
 * Deviates: both change the output only, not the tracked positions, and so do not accumulate over frames. */
#include "methods/implicit/track_work.h"

/* Mean edge length, in sizes, up to which creases are smoothed fully: longer edges carry the shape of a limb, which
 * the same passes would shrink to a stick. */
static const float CREASE_EDGE = 0.016f;
/* Smoothing passes at creases, and passes that spread the smoothing weight. */
enum { SMOOTH_PASSES = 6, SPREAD_PASSES = 3, GRAIN = 16 };
/* Maximum distance of a vertex from the mean of its neighbours in excess of that at rest, in edge lengths; passes that
 * shorten edges, and rings of clusters that take part around a cluster with an overstretched edge. */
static const float MAX_RING_OFFSET = 0.15f;
enum { LIMIT_PASSES = 24, LIMIT_RINGS = 2 };

typedef struct output_work {
    const sup_track *track;
    const sup_track_arrays *arrays;
    const int32_t *list; /* clusters near creases */
    const float *from, *crease, *transform;
    float *to, *spread;
    uint64_t *marks; /* [cluster_count] 1: the cluster has a crease or an overstretched edge */
    float smooth;    /* smoothing amount */
    float longest;   /* maximum edge length relative to rest, scaled by the joints */
} output_work;

/* Spreads the crease weight of a vertex over its neighbours; creases are contacts where the field's slope vanishes. */
static void spread_crease(const output_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    float sum = w->crease[vertex];
    int32_t count = track->first[vertex + 1] - track->first[vertex];
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        sum += w->crease[track->other[e]];
    w->spread[vertex] = sup_track_max(w->crease[vertex], sum / (float)(count + 1));
}

static void smooth_vertex(const output_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    const float *p = w->from + 4 * vertex;
    float mean[3] = {0, 0, 0}, fine = CREASE_EDGE / track->target[vertex].edge,
          weight = w->crease[vertex] * sup_track_min(1.0f, fine * fine);
    int32_t count = track->first[vertex + 1] - track->first[vertex];
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        for (int c = 0; c < 3; c++)
            mean[c] += w->from[4 * (int64_t)track->other[e] + c];
    if (count < 3) weight = 0.0f;
    for (int c = 0; c < 3; c++)
        w->to[4 * vertex + c] = p[c] + (weight > 0.0f ? weight * (mean[c] / (float)count - p[c]) : 0.0f);
}

static void smooth_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const output_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = w->track->cluster_first[w->list[i]]; vertex < w->track->cluster_first[w->list[i] + 1];
             vertex++)
            if (w->spread != NULL)
                spread_crease(w, vertex);
            else
                smooth_vertex(w, vertex);
}

int32_t sup_track_list_rings(const sup_track *track, const sup_track_arrays *arrays, uint64_t rings, int32_t *around)
{
    uint64_t *marks = arrays->subdomain_bits;
    int32_t count = 0, within = 0;
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++)
        if (marks[cluster] != 0) arrays->list[count++] = cluster;
    for (int32_t i = 0; i < count; i++) { /* the list grows ring by ring */
        int32_t cluster = arrays->list[i];
        if (marks[cluster] > rings + 1) break;
        within = i + 1;
        for (int32_t k = track->neighbour_first[cluster]; k < track->neighbour_first[cluster + 1]; k++)
            if (marks[track->neighbour[k]] == 0) {
                marks[track->neighbour[k]] = marks[cluster] + 1;
                arrays->list[count++] = track->neighbour[k];
            }
    }
    *around = count;
    return within;
}

/* Copies positions [vertex_count*4] of the vertices of the listed clusters. */
static void copy_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const output_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int64_t first = w->track->cluster_first[w->list[i]], count = w->track->cluster_first[w->list[i] + 1] - first;
        memcpy(w->to + 4 * first, w->from + 4 * first, 4 * (size_t)count * sizeof *w->to);
        if (w->spread != NULL) memset(w->spread + first, 0, (size_t)count * sizeof *w->spread);
    }
}

/* Copies the tracked positions and sets the crease weights; marks clusters with creases by 1 and those with values out
 * of range by 2. */
static void begin_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const output_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        int64_t first = w->track->cluster_first[cluster], last = w->track->cluster_first[cluster + 1];
        w->marks[cluster] = sup_track_arrays_usable(w->arrays, first, last) ? 0 : 2;
        memcpy(w->to + 4 * first, w->arrays->position + 4 * first, 4 * (size_t)(last - first) * sizeof *w->to);
        for (int64_t vertex = first; vertex < last; vertex++) {
            float deep = 2.0f * (w->arrays->position[4 * vertex + 3] - 0.1f);
            w->spread[vertex] = w->smooth * sup_track_max(0.0f, sup_track_min(1.0f, deep));
            if (w->spread[vertex] > 0.0f) w->marks[cluster] |= 1;
        }
    }
}

/* --- Vertices too far from their neighbours --- */

static float square_of(sup_four v)
{
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

/* Square of the maximum edge length for rest edges of length 1: mean of the joint's scale over the axes. */
static float longest_square(const output_work *w, int64_t vertex)
{
    const float *m = w->transform + 12 * vertex;
    return w->longest * w->longest / 3.0f *
           (square_of(sup_four_load(m)) + square_of(sup_four_load(m + 4)) + square_of(sup_four_load(m + 8)));
}

/* Displacement of a vertex that is too far from its neighbours; returns whether it is. Both ends of an overstretched
 * edge move towards each other, each vertex by the mean over its edges: a single outlier moves to its neighbours, which
 * hardly move. A vertex that is farther from the mean of its neighbours than at rest moves towards it: otherwise it
 * would invert triangles. */
static bool pull_together(const output_work *w, int64_t vertex, sup_four *offset)
{
    const sup_track *track = w->track;
    const sup_four here = sup_four_load(w->from + 4 * vertex), rest_here = sup_four_load(track->rest + 4 * vertex);
    const int32_t first = track->first[vertex], end = track->first[vertex + 1];
    const float stretch = longest_square(w, vertex);
    sup_four sum = sup_four_splat(0.0f), middle = sum, rest_middle = sum;
    bool far = false;
    for (int32_t e = first; e < end; e++) {
        sup_four now = sup_four_load(w->from + 4 * (int64_t)track->other[e]) - here;
        sup_four rest = sup_four_load(track->rest + 4 * (int64_t)track->other[e]) - rest_here;
        float square = square_of(now), longest = stretch * square_of(rest);
        if (square > longest) {
            sum += sup_four_splat(1.0f - sqrtf(sup_track_max(longest / square, 1e-6f))) * now;
            far = true;
        }
        middle += sup_four_splat(track->mean[e]) * now;
        rest_middle += sup_four_splat(track->mean[e]) * rest;
    }
    *offset = sup_four_splat(far ? 1.0f / (float)(end - first) : 0.0f) * sum;
    float off = sqrtf(square_of(middle)),
          limit = sqrtf(square_of(rest_middle)) + MAX_RING_OFFSET * track->target[vertex].edge;
    if (off > limit) *offset += sup_four_splat(0.5f * (1.0f - limit / off)) * middle;
    return far || off > limit;
}

static void limit_vertex(const output_work *w, int64_t vertex, float *to)
{
    sup_four offset;
    pull_together(w, vertex, &offset);
    offset += sup_four_load(w->from + 4 * vertex);
    memcpy(to, &offset, 3 * sizeof *to);
}

static void find_stretched_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const output_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->list[i];
        sup_four offset;
        for (int64_t vertex = w->track->cluster_first[cluster];
             vertex < w->track->cluster_first[cluster + 1] && !w->marks[cluster]; vertex++)
            if (pull_together(w, vertex, &offset)) w->marks[cluster] = 1;
    }
}

static void limit_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const output_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = w->track->cluster_first[w->list[i]]; vertex < w->track->cluster_first[w->list[i] + 1];
             vertex++)
            limit_vertex(w, vertex, w->to + 4 * vertex);
}

void sup_track_limit_edges(const sup_context *context, const sup_track *track, void *state, int32_t bent, float longest,
                           float *output)
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    output_work work = {.track = track,
                        .list = arrays.list,
                        .transform = arrays.transform,
                        .from = output,
                        .marks = arrays.subdomain_bits,
                        .longest = longest};
    memset(arrays.subdomain_bits, 0, (size_t)track->cluster_count * sizeof *arrays.subdomain_bits);
    sup_parallel(context, bent, GRAIN, find_stretched_range, &work);
    int32_t around, clusters = sup_track_list_rings(track, &arrays, LIMIT_RINGS, &around);
    work.to = arrays.descent;
    sup_parallel(context, around, GRAIN, copy_range, &work);
    for (int i = 0; i < LIMIT_PASSES && clusters > 0; i++) {
        work.from = i % 2 == 0 ? output : arrays.descent;
        work.to = i % 2 == 0 ? arrays.descent : output;
        sup_parallel(context, clusters, GRAIN, limit_range, &work);
    }
}

bool sup_track_output(const sup_context *context, const sup_track *track, void *state, float smooth, float *output)
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    float *crease = arrays.rhs, *spread = arrays.rhs + track->vertex_count; /* scratch outside of sub-frames */
    output_work work = {
        .track = track, .arrays = &arrays, .list = arrays.list, .marks = arrays.subdomain_bits, .smooth = smooth};
    work.to = output;
    work.spread = crease;
    sup_parallel(context, track->cluster_count, GRAIN, begin_range, &work);
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++)
        if (arrays.subdomain_bits[cluster] > 1) return false;
    int32_t around,
        clusters = sup_track_list_rings(track, &arrays, SPREAD_PASSES, &around); /* as far as the weights spread */
    work.from = output;
    work.to = arrays.descent;
    work.spread = spread;
    sup_parallel(context, around, GRAIN, copy_range, &work);
    for (int i = 0; i < SPREAD_PASSES; i++) {
        work.crease = i % 2 == 0 ? crease : spread;
        work.spread = i % 2 == 0 ? spread : crease;
        sup_parallel(context, clusters, GRAIN, smooth_range, &work);
    }
    work.crease = work.spread;
    work.spread = NULL;
    for (int i = 0; i < SMOOTH_PASSES; i++) {
        work.from = i % 2 == 0 ? output : arrays.descent;
        work.to = i % 2 == 0 ? arrays.descent : output;
        sup_parallel(context, clusters, GRAIN, smooth_range, &work);
    }
    return true;
}
