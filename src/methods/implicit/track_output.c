/* track_output.c - what is shown of the tracked skin: creases at contacts smoothed, and no edge longer than skin stretches.
 *
 * Based on: [vaillant2014iso] section 3, the Laplacian pass around contacts.
 *
 * Deviates: both are of what is shown, not of what is tracked, and so do not add up over frames. */
#include "methods/implicit/track_work.h"

/* Passes of smoothing at creases, and those that spread how much is smoothed. */
enum { SMOOTH_PASSES = 6, SPREAD_PASSES = 3, GRAIN = 16 };
/* Times its length at rest, turned and scaled by the joints, that an edge may be long; edges that a row may be farther from the middle
 * of its neighbours than at rest; passes that pull in, and rings of blocks that give way around one where a row is too far. */
static const float LONGEST = 2.5f, ASIDE = 0.15f;
enum { LIMIT_PASSES = 24, LIMIT_RINGS = 2 };

typedef struct show_work {
    const sup_track *track;
    const sup_track_rows *rows;
    const int32_t *list; /* blocks near creases */
    const float *from, *crease, *turn;
    float *to, *spread;
    uint64_t *far; /* [block_count] 1: the block has a crease, or a row that is too far */
    float smooth;  /* how much of creases goes */
} show_work;

/* How much of a crease is at a row: contact, where the field's slope has gone. Spread over the neighbours. */
static void spread_row(const show_work *w, int64_t row)
{
    const sup_track *track = w->track;
    float sum = w->crease[row];
    int32_t count = track->first[row + 1] - track->first[row];
    for (int32_t e = track->first[row]; e < track->first[row + 1]; e++)
        sum += w->crease[track->other[e]];
    w->spread[row] = sup_track_more(w->crease[row], sum / (float)(count + 1));
}

static void smooth_row(const show_work *w, int64_t row)
{
    const sup_track *track = w->track;
    const float *p = w->from + 4 * row;
    float mean[3] = {0, 0, 0}, share = w->crease[row];
    int32_t count = track->first[row + 1] - track->first[row];
    for (int32_t e = track->first[row]; e < track->first[row + 1]; e++)
        for (int c = 0; c < 3; c++)
            mean[c] += w->from[4 * (int64_t)track->other[e] + c];
    if (count < 3) share = 0.0f;
    for (int c = 0; c < 3; c++)
        w->to[4 * row + c] = p[c] + (share > 0.0f ? share * (mean[c] / (float)count - p[c]) : 0.0f);
}

static void show_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const show_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t row = w->track->block_first[w->list[i]]; row < w->track->block_first[w->list[i] + 1]; row++)
            if (w->spread != NULL)
                spread_row(w, row);
            else
                smooth_row(w, row);
}

int32_t sup_track_list_rings(const sup_track *track, const sup_track_rows *rows, uint64_t rings, int32_t *around)
{
    uint64_t *far = rows->parts;
    int32_t count = 0, within = 0;
    for (int32_t block = 0; block < track->block_count; block++)
        if (far[block] != 0) rows->list[count++] = block;
    for (int32_t i = 0; i < count; i++) { /* the list grows by rings */
        int32_t block = rows->list[i];
        if (far[block] > rings + 1) break;
        within = i + 1;
        for (int32_t k = track->near_first[block]; k < track->near_first[block + 1]; k++)
            if (far[track->near[k]] == 0) {
                far[track->near[k]] = far[block] + 1;
                rows->list[count++] = track->near[k];
            }
    }
    *around = count;
    return within;
}

/* The rows of the listed blocks, from places [row_count*4] to others. */
static void copy_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const show_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int64_t first = w->track->block_first[w->list[i]], count = w->track->block_first[w->list[i] + 1] - first;
        memcpy(w->to + 4 * first, w->from + 4 * first, 4 * (size_t)count * sizeof *w->to);
        if (w->spread != NULL) memset(w->spread + first, 0, (size_t)count * sizeof *w->spread);
    }
}

/* What is tracked is shown, but for creases; blocks that have some are marked with 1, those with numbers out of range with 2. */
static void begin_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const show_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t block = begin; block < end; block++) {
        int64_t first = w->track->block_first[block], last = w->track->block_first[block + 1];
        w->far[block] = sup_track_rows_usable(w->rows, first, last) ? 0 : 2;
        memcpy(w->to + 4 * first, w->rows->place + 4 * first, 4 * (size_t)(last - first) * sizeof *w->to);
        for (int64_t row = first; row < last; row++) {
            float deep = 2.0f * (w->rows->place[4 * row + 3] - 0.1f);
            w->spread[row] = w->smooth * sup_track_more(0.0f, sup_track_less(1.0f, deep));
            if (w->spread[row] > 0.0f) w->far[block] |= 1;
        }
    }
}

/* --- Rows that are shown too far from their neighbours --- */

static float square_of(sup_four v)
{
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

/* Square of how long the edges of a row may be, for rest edges of length 1: joints scale them, evenly in the mean. */
static float longest_square(const show_work *w, int64_t row)
{
    const float *m = w->turn + 12 * row;
    return LONGEST * LONGEST / 3.0f *
           (square_of(sup_four_load(m)) + square_of(sup_four_load(m + 4)) + square_of(sup_four_load(m + 8)));
}

/* The way of a row that is too far from its neighbours; whether it is. Both ends of an edge that is too long go towards each other, a
 * row by the mean of what its edges ask for: one that all others are far from goes to them, and they hardly move. And a row
 * goes towards the middle of its neighbours from where it is farther from that than at rest: it would turn triangles over. */
static bool pull_in(const show_work *w, int64_t row, sup_four *way)
{
    const sup_track *track = w->track;
    const sup_four here = sup_four_load(w->from + 4 * row), rest_here = sup_four_load(track->rest + 4 * row);
    const int32_t first = track->first[row], end = track->first[row + 1];
    const float most = longest_square(w, row);
    sup_four sum = sup_four_splat(0.0f), middle = sum, rest_middle = sum;
    bool far = false;
    for (int32_t e = first; e < end; e++) {
        sup_four now = sup_four_load(w->from + 4 * (int64_t)track->other[e]) - here;
        sup_four rest = sup_four_load(track->rest + 4 * (int64_t)track->other[e]) - rest_here;
        float square = square_of(now), longest = most * square_of(rest);
        if (square > longest) {
            sum += sup_four_splat(1.0f - sqrtf(sup_track_more(longest / square, 1e-6f))) * now;
            far = true;
        }
        middle += sup_four_splat(track->mean[e]) * now;
        rest_middle += sup_four_splat(track->mean[e]) * rest;
    }
    *way = sup_four_splat(far ? 1.0f / (float)(end - first) : 0.0f) * sum;
    float off = sqrtf(square_of(middle)), near = sqrtf(square_of(rest_middle)) + ASIDE * track->aim[row].edge;
    if (off > near) *way += sup_four_splat(0.5f * (1.0f - near / off)) * middle;
    return far || off > near;
}

static void limit_row(const show_work *w, int64_t row, float *to)
{
    sup_four way;
    pull_in(w, row, &way);
    way += sup_four_load(w->from + 4 * row);
    memcpy(to, &way, 3 * sizeof *to);
}

static void find_far_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const show_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->list[i];
        sup_four way;
        for (int64_t row = w->track->block_first[block]; row < w->track->block_first[block + 1] && !w->far[block];
             row++)
            if (pull_in(w, row, &way)) w->far[block] = 1;
    }
}

static void limit_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const show_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t row = w->track->block_first[w->list[i]]; row < w->track->block_first[w->list[i] + 1]; row++)
            limit_row(w, row, w->to + 4 * row);
}

void sup_track_limit(const sup_context *context, const sup_track *track, void *state, int32_t bent, float *shown)
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    show_work work = {.track = track, .list = rows.list, .turn = rows.turn, .from = shown, .far = rows.parts};
    memset(rows.parts, 0, (size_t)track->block_count * sizeof *rows.parts);
    sup_parallel(context, bent, GRAIN, find_far_some, &work);
    int32_t around, blocks = sup_track_list_rings(track, &rows, LIMIT_RINGS, &around);
    work.to = rows.pull;
    sup_parallel(context, around, GRAIN, copy_some, &work);
    for (int i = 0; i < LIMIT_PASSES && blocks > 0; i++) {
        work.from = i % 2 == 0 ? shown : rows.pull;
        work.to = i % 2 == 0 ? rows.pull : shown;
        sup_parallel(context, blocks, GRAIN, limit_some, &work);
    }
}

bool sup_track_show(const sup_context *context, const sup_track *track, void *state, float smooth, float *shown)
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    float *crease = rows.load, *spread = rows.load + track->row_count; /* free between sub-frames */
    show_work work = {.track = track, .rows = &rows, .list = rows.list, .far = rows.parts, .smooth = smooth};
    work.to = shown;
    work.spread = crease;
    sup_parallel(context, track->block_count, GRAIN, begin_some, &work);
    for (int32_t block = 0; block < track->block_count; block++)
        if (rows.parts[block] > 1) return false;
    int32_t around, blocks = sup_track_list_rings(track, &rows, SPREAD_PASSES, &around); /* as far as it spreads */
    work.from = shown;
    work.to = rows.pull;
    work.spread = spread;
    sup_parallel(context, around, GRAIN, copy_some, &work);
    for (int i = 0; i < SPREAD_PASSES; i++) {
        work.crease = i % 2 == 0 ? crease : spread;
        work.spread = i % 2 == 0 ? spread : crease;
        sup_parallel(context, blocks, GRAIN, show_some, &work);
    }
    work.crease = work.spread;
    work.spread = NULL;
    for (int i = 0; i < SMOOTH_PASSES; i++) {
        work.from = i % 2 == 0 ? shown : rows.pull;
        work.to = i % 2 == 0 ? rows.pull : shown;
        sup_parallel(context, blocks, GRAIN, show_some, &work);
    }
    return true;
}
