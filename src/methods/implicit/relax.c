/* relax.c - vertices slide over their iso-surfaces until edges are as near as can be to the rest edges, turned.
 *
 * Based on: [vaillant2014iso] sections 5.1 and 5.2, eq. 3 and 4. With prescribed rotations R the energy of eq. 3 is quadratic; half of its
 * gradient over two is L p - b, L the Laplacian of the weights and b_i = sum_j w_ij (R_i + R_j) / 2 (rest_i - rest_j).
 * The surface holds vertices in their tangent planes (eq. 4): downhill is r = T (b - L p), T = 1 - n n^T.
 *
 * Two ways down:
 *   jacobi   the paper's: every vertex to where its neighbours want it, in its plane; one Newton step. A disturbance
 *            passes one edge a round.
 *   factor   downhill by the constant matrix L + m M: one factor made at bind, a solve, z = T (L + m M)^-1 r, with the step
 *            length from the quadratic energy; a Jacobi step in the same planes takes away what creases, where planes of
 *            neighbours differ, left of z; then one Newton step. Rows that sleep have r = z = 0. PLAIN rounds of the
 *            paper's follow: along creases z is mostly out of the planes, and Jacobi steps are cheap and stay near.
 *            Deviates from the paper, to the same minimum. Directions go on from those before (conjugate gradients, at
 *            most KEEP of them), and m is large: a solve that reaches as far as a body is long moves whole limbs, which
 *            tangent planes then take apart; the best step along that is a hundredth of one along what stays near.
 *
 * A round costs at most one look at the field for each vertex either way. */
#include "methods/implicit/track_work.h"

/* Part of a Jacobi step that is taken: whole ones oscillate on fans with an even number of spokes. */
static const float DAMPING = 0.8f;
/* Rounds of Jacobi steps alone after one with a solve, and the part of the best step along z that is taken: planes turn on
 * the way. */
enum { PLAIN = 3 };
static const double TAKE = 0.7;
/* Most of the direction of the round before that is kept. */
static const double KEEP = 0.9;
/* Of the sum of a row's weights: how much it is held where its bone has it; and if it follows no field. */
static const float ANCHOR = 0.02f, ANCHOR_FREE = 0.05f;
/* Edges between a row and where its neighbours want it from which on it is torn off: it goes there through the air. */
static const float TORN = 1.0f;
/* Farthest in a round, edges. */
static const float FARTHEST = 1.0f;
/* Way, edges, from which on a block looks at the field again: sliding leaves a surface only as it curves; and at contacts. */
static const float FAR = 0.05f, FAR_HELD = 0.003f;

/* How much a row is held where its bone has it, which is `place`: less as the joints of its part bend, unless it follows no field,
 * and the more dual quaternions have it elsewhere, nothing from an edge on. */
static float anchor_of(const sup_track_work *w, int64_t row, int32_t joint, float place[3])
{
    const float *rest = w->track->rest + 4 * row, *turn = w->rows.turn + 12 * row,
                *bone = w->input->joints[joint].place;
    float square = 0.0f;
    for (int r = 0; r < 3; r++) {
        const float *m = bone + 4 * r, *t = turn + 4 * r;
        float there = t[0] * rest[0] + t[1] * rest[1] + t[2] * rest[2] + t[3];
        place[r] = m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3];
        square += (there - place[r]) * (there - place[r]);
    }
    float hold = 1.0f - sqrtf(square) / w->track->aim[row].edge;
    float part = w->track->aim[row].gradient > 0.0f ? ANCHOR * w->rows.straight[joint] : ANCHOR_FREE;
    return hold > 0.0f ? part * hold * w->track->sum[row] : 0.0f;
}

void sup_track_load_block(const sup_track *track, const sup_track_rows *rows, int32_t block)
{
    for (int64_t i = track->block_first[block]; i < track->block_first[block + 1]; i++) {
        const sup_four rest = sup_four_load(track->rest + 4 * i);
        const float *own = rows->turn + 12 * i;
        sup_four edges = sup_four_splat(0.0f),
                 sum[3] = {edges, edges, edges}; /* products along the edges, to be added up */
        for (int32_t e = track->first[i]; e < track->first[i + 1]; e++) {
            int64_t j = track->other[e];
            sup_four edge = sup_four_splat(0.5f * track->weight[e]) * (rest - sup_four_load(track->rest + 4 * j));
            edges += edge;
            for (int c = 0; c < 3; c++)
                sum[c] += sup_four_load(rows->turn + 12 * j + 4 * c) * edge;
        }
        for (int c = 0; c < 3; c++) {
            sum[c] += sup_four_load(own + 4 * c) * edges;
            rows->load[4 * i + c] = sum[c][0] + sum[c][1] + sum[c][2];
        }
    }
}

/* The same, with their anchors. */
static void load_anchored(const sup_track_work *w, int32_t block)
{
    sup_track_load_block(w->track, &w->rows, block);
    for (int64_t i = w->track->block_first[block]; i < w->track->block_first[block + 1]; i++) {
        float anchor[3], hold = anchor_of(w, i, w->track->block_joint[block], anchor);
        for (int c = 0; c < 3; c++)
            w->rows.load[4 * i + c] += hold * anchor[c];
        w->rows.load[4 * i + 3] = hold;
    }
}

/* v <- share * T v; free where no field is felt. */
static inline void flatten(const sup_track_aim *aim, const float *normal, float v[3])
{
    float along = aim->gradient > 0.0f ? v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2] : 0.0f;
    for (int c = 0; c < 3; c++)
        v[c] = aim->relax * (v[c] - along * normal[c]);
}

/* Not deeper into a contact than its sheet goes. */
static inline void hold_back(const float *stop, float v[3])
{
    float into = stop[3] > 0.0f ? v[0] * stop[0] + v[1] * stop[1] + v[2] * stop[2] : 0.0f;
    for (int c = 0; c < 3 && into > 0.0f; c++)
        v[c] -= stop[3] * into * stop[c];
}

static inline void constrain(const sup_track_work *w, int64_t row, float v[3])
{
    flatten(&w->track->aim[row], w->rows.normal + 4 * row, v);
    hold_back(w->rows.stop + 4 * row, v);
}

/* --- Passes over the blocks that are awake --- */

/* What blocks that woke up need: loads, and where their rows are in the factor. */
static void load_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_float_subdomains *parts = &w->track->parts;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->rows.list[i];
        if (!(w->rows.awake[block] & SUP_TRACK_NEW)) continue;
        w->rows.awake[block] &= (unsigned char)~SUP_TRACK_NEW;
        w->rows.parts[block] = 0;
        load_anchored(w, block);
        for (int32_t row = w->track->block_first[block]; row < w->track->block_first[block + 1]; row++) {
            int32_t place = w->track->place[row], low = 0, high = parts->subdomain_count;
            while (low < high) { /* the part whose columns hold it; the top's are in none */
                int32_t middle = (low + high) / 2;
                if (parts->column_first[middle + 1] <= place)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low < parts->subdomain_count) w->rows.parts[block] |= (uint64_t)1 << (low % 64);
        }
    }
}

/* Of its edges and its anchor. */
static inline float weight_of(const sup_track_work *w, int64_t row)
{
    return w->track->sum[row] + w->rows.load[4 * row + 3];
}

static void pull_row(sup_track_work *w, int64_t row)
{
    float *pull = w->rows.pull + 4 * row;
    sup_four held = sup_four_splat(w->rows.load[4 * row + 3]) * sup_four_load(w->rows.place + 4 * row);
    sup_four sum = sup_four_load(w->rows.load + 4 * row) - held - sup_track_image(w->track, w->rows.place, row);
    memcpy(pull, &sum, 3 * sizeof *pull);
    constrain(w, row, pull);
    if (!w->solves) return;
    float *solve = w->rows.solve + 4 * (int64_t)w->track->place[row];
    memcpy(solve, pull, 3 * sizeof *solve);
    solve[3] = 1.0f; /* the mark of a row that is asked for */
}

static void pull_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, pull_row);
}

static double dot3(const float *a, const float *b)
{
    return (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1] + (double)a[2] * (double)b[2];
}

/* z, flattened, and r . z. */
static void slope_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->rows.list[i];
        double down = 0.0;
        for (int64_t row = track->block_first[block]; row < track->block_first[block + 1]; row++) {
            float *z = w->rows.solve + 4 * (int64_t)track->place[row];
            constrain(w, row, z);
            down += dot3(z, w->rows.pull + 4 * row);
        }
        w->rows.sums[SUP_TRACK_SUMS * (int64_t)block] = down;
    }
}

/* The direction d: z, and what is left of that of the round before. */
static void aim_row(sup_track_work *w, int64_t row)
{
    float *move = w->rows.move + 4 * row;
    const float *z = w->rows.solve + 4 * (int64_t)w->track->place[row];
    for (int c = 0; c < 3; c++)
        move[c] = z[c] + (float)w->keep * move[c];
    constrain(w, row, move);
}

static void aim_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, aim_row);
}

/* r . d and d . L d; and L d, where z was. */
static void measure_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->rows.list[i];
        double down = 0.0, bend = 0.0;
        for (int64_t row = track->block_first[block]; row < track->block_first[block + 1]; row++) {
            const float *d = w->rows.move + 4 * row;
            float *image = w->rows.solve + 4 * (int64_t)track->place[row];
            sup_four sum = sup_track_image(track, w->rows.move, row);
            sum += sup_four_splat(w->rows.load[4 * row + 3]) * sup_four_load(d);
            memcpy(image, &sum, 3 * sizeof *image);
            down += dot3(d, w->rows.pull + 4 * row);
            bend += dot3(d, image);
        }
        w->rows.sums[SUP_TRACK_SUMS * (int64_t)block] = down;
        w->rows.sums[SUP_TRACK_SUMS * (int64_t)block + 1] = bend;
    }
}

/* A Newton step, where rows went so far that their values may be others: sums[2] is how many were looked at. */
static void look_again(sup_track_work *w, int32_t block)
{
    float held = 0.0f;
    for (int64_t row = w->track->block_first[block]; row < w->track->block_first[block + 1]; row++)
        held = sup_track_more(held, w->rows.place[4 * row + 3]);
    bool far = w->rows.drift[block] > (held > 0.0f ? FAR_HELD : FAR);
    w->rows.sums[SUP_TRACK_SUMS * (int64_t)block + 2] =
        far ? (double)(w->track->block_first[block + 1] - w->track->block_first[block]) : 0.0;
    if (far) sup_track_newton_block(w, block);
}

/* A row's way in this round: to where its neighbours want it; after a solve first along d, and then so with the pull that is
 * left, b - L (p + scale d), in the same plane. */
static void step_of(const sup_track_work *w, int64_t row, float step[3])
{
    const sup_track *track = w->track;
    const float *pull = w->rows.pull + 4 * row, *d = w->rows.move + 4 * row;
    float weight = weight_of(w, row), even = weight > 0.0f ? DAMPING / weight : 0.0f, left[3], scale = (float)w->scale;
    memcpy(left, pull, sizeof left);
    step[0] = step[1] = step[2] = 0.0f;
    if (w->solves) {
        memcpy(left, w->rows.solve + 4 * (int64_t)track->place[row], sizeof left);
        flatten(&track->aim[row], w->rows.normal + 4 * row, left);
        for (int c = 0; c < 3; c++) {
            left[c] = pull[c] - scale * left[c];
            step[c] = scale * d[c];
        }
        hold_back(w->rows.stop + 4 * row, left);
    }
    for (int c = 0; c < 3; c++)
        step[c] += even * left[c];
}

static void move_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->rows.list[i];
        double square = 0.0;
        float moved = 0.0f;
        for (int64_t row = track->block_first[block]; row < track->block_first[block + 1]; row++) {
            float step[3];
            step_of(w, row, step);
            float length = sqrtf((float)dot3(step, step)) / track->aim[row].edge;
            float share = length > FARTHEST ? FARTHEST / length : 1.0f;
            for (int c = 0; c < 3; c++)
                w->rows.place[4 * row + c] += share * step[c];
            length *= share;
            square += (double)length * (double)length;
            moved = sup_track_more(moved, length);
        }
        w->rows.moved[block] = moved;
        w->rows.drift[block] += moved;
        w->rows.sums[SUP_TRACK_SUMS * (int64_t)block] = square;
        look_again(w, block);
    }
}

/* --- Rows that are torn off --- */

/* From a row to the middle of its neighbours, of places [row_count*4]. */
static inline sup_four way_to_middle(const sup_track *track, const float *places, int64_t row)
{
    sup_four here = sup_four_load(places + 4 * row), sum = sup_four_splat(0.0f);
    for (int32_t e = track->first[row]; e < track->first[row + 1]; e++)
        sum += sup_four_splat(track->mean[e]) * (sup_four_load(places + 4 * (int64_t)track->other[e]) - here);
    return sum;
}

/* The way of a row to the middle of its neighbours, if that is much farther than at rest: into `move`. Rotations have no say: in the
 * flaps that dual quaternions make of deep folds they are no guide. */
static void find_torn(sup_track_work *w, int64_t row)
{
    const sup_track *track = w->track;
    float *move = w->rows.move + 4 * row, way[4], rest[4], edge = track->aim[row].edge;
    sup_four now = way_to_middle(track, w->rows.place, row);
    memcpy(way, &now, sizeof way);
    move[3] = 0.0f;
    if (!(dot3(way, way) > (double)(TORN * TORN * edge * edge))) return;
    now = way_to_middle(track, track->rest, row);
    memcpy(rest, &now, sizeof rest);
    if (!(sqrt(dot3(way, way)) > sqrt(dot3(rest, rest)) + (double)(TORN * edge))) return;
    memcpy(move, way, 3 * sizeof *move);
    move[3] = 1.0f;
}

static void find_torn_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, find_torn);
}

static void mend_row(sup_track_work *w, int64_t row)
{
    const float *move = w->rows.move + 4 * row;
    for (int c = 0; c < 3 && move[3] > 0.0f; c++)
        w->rows.place[4 * row + c] += move[c];
}

static void mend_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, mend_row);
}

void sup_track_mend(sup_track_work *w)
{
    sup_track_run(w, find_torn_some);
    sup_track_run(w, mend_some);
}

static double total(const sup_track_work *w, int32_t which)
{
    double sum = 0.0;
    for (int32_t i = 0; i < w->awake_count; i++)
        sum += w->rows.sums[SUP_TRACK_SUMS * (int64_t)w->rows.list[i] + which];
    return sum;
}

/* --- The factor on the parts that hold rows that are awake --- */

static bool is_used(const sup_track_work *w, int32_t part)
{
    return (w->parts >> (part % 64) & 1) != 0;
}

static void forward_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t part = begin; part < end; part++)
        if (is_used(w, part)) sup_float_subdomain_forward4(&w->track->factor, &w->track->parts, part, w->rows.solve);
}

static void backward_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t part = begin; part < end; part++)
        if (is_used(w, part)) sup_float_subdomain_backward4(&w->track->factor, &w->track->parts, part, w->rows.solve);
}

/* Zeros where no pull will be: rows of the used parts and of the top; and slots that the others do not write. */
static void clear_solve(sup_track_work *w)
{
    const sup_float_subdomains *parts = &w->track->parts;
    float *solve = w->rows.solve;
    w->parts = 0;
    for (int32_t i = 0; i < w->awake_count; i++)
        w->parts |= w->rows.parts[w->rows.list[i]];
    for (int32_t part = 0; part < parts->subdomain_count; part++) {
        bool used = is_used(w, part);
        int64_t first = used ? parts->column_first[part] : w->track->row_count + parts->slot_first[part];
        int64_t end = used ? parts->column_first[part + 1] : w->track->row_count + parts->slot_first[part + 1];
        memset(solve + 4 * first, 0, 4 * (size_t)(end - first) * sizeof(float));
    }
    int64_t top = parts->column_first[parts->subdomain_count];
    memset(solve + 4 * top, 0, 4 * (size_t)(w->track->row_count - top) * sizeof(float));
}

/* Sets the direction of this round and its scale. */
static void choose_direction(sup_track_work *w)
{
    const sup_track *track = w->track;
    sup_parallel(w->context, track->parts.subdomain_count, 1, forward_some, w);
    sup_float_separator_solve4(&track->factor, &track->parts, w->rows.solve);
    sup_parallel(w->context, track->parts.subdomain_count, 1, backward_some, w);
    sup_track_run(w, slope_some);
    double slope = total(w, 0);
    w->keep = w->slope > 0.0 ? fmin(slope / w->slope, KEEP) : 0.0;
    w->slope = slope;
    sup_track_run(w, aim_some);
    sup_track_run(w, measure_some);
    double down = total(w, 0), bend = total(w, 1);
    w->scale = down > 0.0 && bend > 0.0 ? fmin(TAKE * down / bend, 2.0) : 0.0;
}

int32_t sup_track_relax(sup_track_work *w, float *moved)
{
    int32_t round = 0;
    *moved = 0.0f;
    for (int32_t i = 0; i < w->awake_count; i++) /* of rows that were mended */
        sup_track_clear_moves(w, w->rows.list[i]);
    for (bool busy = w->awake_count > 0; busy && round < w->input->rounds; round++) {
        w->solves = w->input->solver == SUP_TRACK_FACTOR && round % (PLAIN + 1) == 0;
        bool judges =
            w->solves || w->input->solver == SUP_TRACK_JACOBI; /* Jacobi steps alone say nothing of long ways */
        if (w->input->shape) sup_track_turn_shape(w);
        if (w->fresh) sup_track_run(w, load_some);
        if (w->solves) clear_solve(w);
        sup_track_run(w, pull_some);
        if (w->solves) choose_direction(w);
        sup_track_run(w, move_some);
        *moved = (float)sqrt(total(w, 0) / (double)w->awake_rows);
        w->evaluations += (int64_t)total(w, 2);
        busy = *moved > w->input->tolerance || !judges;
        if (busy) sup_track_spread(w, judges);
        busy = busy && w->awake_count > 0;
    }
    return round;
}
