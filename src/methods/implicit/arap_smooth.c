/* arap_smooth.c - skin that touches nothing gives way to its own tension, in what is shown.
 *
 * Beyond [vaillant2014iso], where every vertex ends on its iso-surface. Fields are round at joints because their caps are, and a
 * chest ends where the arm of the bind pose began: shoulders, hips and chins followed that as lobes. Here the shown skin x is
 * the minimum of the energy of eq. 3 and of a pull to the tracked skin p, with vertex areas a,
 *
 *     sum_ij w_ij |x_i - x_j - (R_i + R_j) / 2 (rest_i - rest_j)|^2 + tension sum_i a_i |x_i - p_i|^2:
 *
 * what is longer than 1 / sqrt(tension) stays as the field has it, what is shorter becomes as the rest pose has it. d = x - p
 * solves (L + tension A) d = b - L p, by Chebyshev steps, around the blocks where something is bent. Near contacts p
 * stays, so that folds remain parted. Nothing of this is kept: the next frame goes on from p. */
#include "methods/implicit/track_work.h"

/* Chebyshev steps, and the part of the spectrum of the Jacobi-scaled matrix that they are for: it ends below 2 and begins at
 * a_i tension over the sum of weights; finer meshes get what so many steps reach. */
enum { STEPS = 16 };
static const float LOWEST = 0.03f, HIGHEST = 2.0f;
/* Rings of vertices from a contact until the skin is free. */
enum { NEAR_RINGS = 6, REACH = 3 /* blocks from what is bent */, GRAIN = 16 };
/* How much of a sheet is felt where skin begins to touch, so that it stays, and where another limb is near, so that it does
 * not go towards that; and where both are so wholly. */
static const float TOUCHES[2] = {0.5f, 0.75f}, MEETS[2] = {0.02f, 0.2f};
/* Edges that a row gives way at most. */
static const float FARTHEST = 10.0f;
/* Edges that rows may be away from where their turn has them, and difference of turns, when nothing is bent. */
static const float STILL = 1e-3f, SAME_TURN = 1e-5f;

typedef struct easing {
    const sup_track *track;
    sup_track_rows rows;
    float *shown;
    const float *from; /* d before the step, [row_count*4] */
    float *to, *step;  /* after it; the steps themselves */
    const float *near_from;
    float *near_to;
    float keep, take; /* of the last step, of the rest */
    float share;      /* of d that is shown */
} easing;

/* --- Where something is bent --- */

static bool is_still(const sup_track *track, const sup_track_rows *rows, int32_t block)
{
    const float *turn = rows->turn + 12 * (int64_t)track->block_first[block];
    for (int64_t row = track->block_first[block]; row < track->block_first[block + 1]; row++) {
        const float *rest = track->rest + 4 * row, *place = rows->place + 4 * row, *own = rows->turn + 12 * row;
        float most = STILL * track->aim[row].edge;
        for (int r = 0; r < 3; r++) {
            const float *m = turn + 4 * r;
            float off = m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3] - place[r];
            if (!(fabsf(off) <= most)) return false;
            for (int c = 0; c < 3; c++)
                if (!(fabsf(own[4 * r + c] - m[c]) <= SAME_TURN)) return false;
        }
    }
    return true;
}

static void look_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const easing *e = work;
    SUP_UNUSED(worker);
    for (int32_t block = begin; block < end; block++)
        e->rows.parts[block] = is_still(e->track, &e->rows, block) ? 0 : 1; /* free between sub-frames */
}

/* --- Passes over them --- */

static float pull_of(const sup_track *track, int64_t row)
{
    return (float)(SUP_TRACK_TENSION * SUP_TRACK_AREA) * track->aim[row].edge * track->aim[row].edge;
}

/* b - L p over the diagonal of L + tension A; and one over that, which rides along as a fourth coordinate. */
static void begin_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const easing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = e->rows.list[i];
        sup_track_load_block(track, &e->rows, block);
        for (int64_t row = track->block_first[block]; row < track->block_first[block + 1]; row++) {
            float *load = e->rows.load + 4 * row;
            float even = 1.0f / (track->sum[row] + pull_of(track, row));
            sup_four rest = sup_four_splat(even) * (sup_four_load(load) - sup_track_image(track, e->shown, row));
            memcpy(load, &rest, 3 * sizeof *load);
            load[3] = even;
        }
    }
}

static void near_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const easing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t row = track->block_first[e->rows.list[i]]; row < track->block_first[e->rows.list[i] + 1]; row++) {
            float stays = e->near_from[2 * row], meets = e->near_from[2 * row + 1];
            for (int32_t k = track->first[row]; k < track->first[row + 1]; k++) {
                const float *there = e->near_from + 2 * (int64_t)track->other[k];
                stays = sup_track_more(stays, there[0] - 1.0f / NEAR_RINGS);
                meets = sup_track_more(meets, there[1] - 1.0f / NEAR_RINGS);
            }
            e->near_to[2 * row] = stays;
            e->near_to[2 * row + 1] = meets;
        }
}

/* One Chebyshev step: what is left over, L d apart, is taken over the diagonal. */
static void step_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const easing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t row = track->block_first[e->rows.list[i]]; row < track->block_first[e->rows.list[i] + 1]; row++) {
            const float *load = e->rows.load + 4 * row;
            sup_four here = sup_four_load(e->from + 4 * row), sum = sup_four_splat(0.0f);
            for (int32_t k = track->first[row]; k < track->first[row + 1]; k++)
                sum += sup_four_splat(track->weight[k]) * sup_four_load(e->from + 4 * (int64_t)track->other[k]);
            sup_four rest = sup_four_load(load) - here + sup_four_splat(load[3]) * sum;
            sup_four step = sup_four_splat(e->keep) * sup_four_load(e->step + 4 * row) + sup_four_splat(e->take) * rest;
            here += step;
            memcpy(e->step + 4 * row, &step, sizeof step);
            memcpy(e->to + 4 * row, &here, sizeof here);
        }
}

static float ramp(float value, const float ends[2])
{
    return sup_track_more(0.0f, sup_track_less(1.0f, (value - ends[0]) / (ends[1] - ends[0])));
}

/* Before the passes, also in the ring of blocks around: how much of a contact is felt, whether any is, and no way yet. */
static void prepare_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const easing *e = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = e->rows.list[i];
        int64_t first = e->track->block_first[block], rows = e->track->block_first[block + 1] - first;
        float most = 0.0f;
        for (int64_t row = first; row < first + rows; row++) {
            float felt = e->rows.place[4 * row + 3];
            e->rows.near[0][2 * row] = e->rows.near[1][2 * row] = ramp(felt, TOUCHES);
            e->rows.near[0][2 * row + 1] = e->rows.near[1][2 * row + 1] = ramp(felt, MEETS);
            most = sup_track_more(most, felt);
        }
        e->rows.moved[block] = most; /* free between sub-frames */
        memset(e->rows.pull + 4 * first, 0, 4 * (size_t)rows * sizeof(float));
        memset(e->rows.move + 4 * first, 0, 4 * (size_t)rows * sizeof(float));
        memset(e->rows.solve + 4 * first, 0, 4 * (size_t)rows * sizeof(float));
    }
}

static void find_near(const sup_context *context, easing *e, int32_t blocks, int32_t around)
{
    bool any = false;
    for (int32_t i = 0; i < around; i++)
        any = any || e->rows.moved[e->rows.list[i]] > MEETS[0];
    for (int i = 0; i < NEAR_RINGS && any; i++) {
        e->near_from = e->rows.near[i % 2];
        e->near_to = e->rows.near[1 - i % 2];
        sup_parallel(context, blocks, GRAIN, near_some, e);
    }
}

/* d, which is 0 beyond the listed blocks. */
static const float *solve(const sup_context *context, easing *e, int32_t blocks)
{
    const float middle = 0.5f * (HIGHEST + LOWEST), half = 0.5f * (HIGHEST - LOWEST), wide = middle / half;
    float *both[2] = {e->rows.pull, e->rows.move}, share = 1.0f / wide;
    e->step = e->rows.solve;
    e->keep = 0.0f;
    e->take = 1.0f / middle;
    for (int i = 0; i < STEPS; i++) {
        e->from = both[i % 2];
        e->to = both[1 - i % 2];
        sup_parallel(context, blocks, GRAIN, step_some, e);
        float next = 1.0f / (2.0f * wide - share);
        e->keep = next * share;
        e->take = 2.0f * next / half;
        share = next;
    }
    return both[STEPS % 2];
}

static void give_way(const easing *e, int64_t row, float *shown)
{
    const float *d = e->from + 4 * row, *near = e->rows.near[NEAR_RINGS % 2] + 2 * row;
    const float *inward = e->rows.normal + 4 * row; /* where a field is felt; else 0 */
    const float most = FARTHEST * e->track->aim[row].edge, square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (!(square < INFINITY)) return; /* of weights that no mesh has */
    float out = sup_track_less(0.0f, d[0] * inward[0] + d[1] * inward[1] + d[2] * inward[2]) * near[1],
          share = e->share;
    share *= e->track->aim[row].relax * (1.0f - near[0]) * (square > most * most ? most / sqrtf(square) : 1.0f);
    for (int c = 0; c < 3; c++)
        shown[c] += share * (d[c] - out * inward[c]);
}

static void give_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const easing *e = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t row = e->track->block_first[e->rows.list[i]]; row < e->track->block_first[e->rows.list[i] + 1];
             row++)
            give_way(e, row, e->shown + 4 * row);
}

int32_t sup_track_ease(const sup_context *context, const sup_track *track, void *state, float share, float *shown)
{
    easing e = {.track = track, .rows = sup_track_rows_of(track, state), .shown = shown, .share = share};
    sup_parallel(context, track->block_count, GRAIN, look_some, &e);
    int32_t around, blocks = sup_track_list_rings(track, &e.rows, REACH, &around); /* bent ones, and who feels it */
    if (blocks == 0 || !(share > 0.0f)) return blocks;
    sup_parallel(context, around, GRAIN, prepare_some, &e);
    sup_parallel(context, blocks, GRAIN, begin_some, &e);
    find_near(context, &e, blocks, around);
    e.from = solve(context, &e, blocks);
    sup_parallel(context, blocks, GRAIN, give_some, &e);
    return blocks;
}
