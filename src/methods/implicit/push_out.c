/* push_out.c - the shown skin out of things in its way: see push_out.h. */
#include "methods/implicit/push_out.h"

#include "methods/implicit/track_work.h"

/* Distance from a thing that is kept, in edges. */
static const float GAP = 0.1f;
/* A thing that is farther inside than this pushes less, and nothing from the second on: it went through the limb. In inverse
 * gradients at rest, about the radius of the limb. */
static const float DEEP = 1.0f, DEEPEST = 2.0f;
/* Edges where there is no gradient to tell the radius by. */
static const float EDGES_DEEP = 4.0f;
/* Passes in which the skin around follows, and the part of its neighbours' way that it takes in each. */
enum { PASSES = 8, GRAIN = 128 };
static const float FOLLOW = 0.9f;

typedef struct outside_work {
    const sup_track *track;
    const sup_posed_collider *solids;
    int32_t solid_count;
    double size;
    float *shown;
    float *way;        /* [row_count*4] how far rows are pushed, and 1 where a thing does it itself */
    const float *from; /* [row_count*4] ways before a pass */
} outside_work;

/* The way out of the thing that a row is deepest in; false where it is in none. */
static bool way_out(const outside_work *w, int32_t row, const float *place, float way[3])
{
    const sup_track_aim *aim = &w->track->aim[row];
    double gap = (double)(GAP * aim->edge) * w->size, deepest = gap;
    sup_vec3d p = sup_v3_scale(sup_v3_load(place), w->size), out = sup_v3(0, 0, 0);
    for (int32_t i = 0; i < w->solid_count; i++) {
        sup_collider_query view;
        if (!sup_collider_find_nearest(&w->solids[i], p, gap, &view) || !(view.height < deepest)) continue;
        deepest = view.height;
        out = view.normal;
    }
    if (!(deepest < gap)) return false;
    double radius = aim->gradient > 0.0f ? 1.0 / (double)aim->gradient : (double)(EDGES_DEEP * aim->edge);
    double deep = -deepest / w->size / radius, hold = ((double)DEEPEST - deep) / (double)(DEEPEST - DEEP);
    sup_v3_store(way, sup_v3_scale(out, (gap - deepest) / w->size * fmin(1.0, fmax(0.0, hold))));
    return true;
}

static void find_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const outside_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t row = begin; row < end; row++) {
        float *way = w->way + 4 * (int64_t)row;
        memset(way, 0, 4 * sizeof *way);
        way[3] = way_out(w, row, w->shown + 4 * (int64_t)row, way) ? 1.0f : 0.0f;
    }
}

static void follow_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const outside_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int64_t row = begin; row < end; row++) {
        const float *own = w->from + 4 * row;
        float *way = w->way + 4 * row, sum[3] = {0, 0, 0};
        int32_t count = track->first[row + 1] - track->first[row];
        for (int32_t e = track->first[row]; e < track->first[row + 1]; e++)
            for (int c = 0; c < 3; c++)
                sum[c] += w->from[4 * (int64_t)track->other[e] + c];
        memcpy(way, own, 4 * sizeof *way);
        for (int c = 0; c < 3 && own[3] == 0.0f && count > 0; c++)
            way[c] = FOLLOW * sum[c] / (float)count;
    }
}

/* Along the ways; then out of what rows were pushed into, or pulled. */
static void push_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const outside_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t row = begin; row < end; row++) {
        float *place = w->shown + 4 * (int64_t)row, again[3] = {0, 0, 0};
        const float *way = w->from + 4 * (int64_t)row;
        for (int c = 0; c < 3; c++)
            place[c] += way[c];
        if (way[3] == 0.0f && way_out(w, row, place, again))
            for (int c = 0; c < 3; c++)
                place[c] += again[c];
    }
}

void sup_outside_push(const sup_context *context, const sup_track *track, void *state, const sup_posed_collider *solids,
                      int32_t solid_count, double size, float *shown)
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    float *ways[2] = {rows.load, rows.pull}; /* free between sub-frames */
    outside_work work = {track, solids, solid_count, size, shown, ways[0], NULL};
    bool any = false;
    sup_parallel(context, track->row_count, GRAIN, find_some, &work);
    for (int64_t row = 0; row < track->row_count && !any; row++)
        any = ways[0][4 * row + 3] > 0.0f;
    if (!any) return;
    for (int i = 0; i < PASSES; i++) {
        work.from = ways[i % 2];
        work.way = ways[1 - i % 2];
        sup_parallel(context, track->row_count, GRAIN, follow_some, &work);
    }
    work.from = ways[PASSES % 2];
    sup_parallel(context, track->row_count, GRAIN, push_some, &work);
}
