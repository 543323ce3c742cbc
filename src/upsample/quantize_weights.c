/* quantize_weights.c - constrained rounding: the sum by the largest remainder method, then the first moment by greedily
 * moving single units between weights. The error for affine maps of the neighbours is a hundred times smaller than with
 * independent rounding to 16 bits. */
#include "upsample/quantize_weights.h"

#include <math.h>
#include <string.h>

enum { LARGEST = 32000 /* leaves a margin for later moves */, MOVES_MAX = 16 };

static const double LARGE_ERROR = 16.0; /* times the tolerance: tries pairs of moves */

/* Corrects the sum in steps of one unit, each at the weight with the largest rounding error of that sign. */
static void correct_sum(const double *weights, int32_t count, double unit, int32_t wanted, int16_t *to)
{
    int32_t missing = wanted;
    for (int32_t i = 0; i < count; i++)
        missing -= to[i];
    for (; missing != 0; missing += missing > 0 ? -1 : 1) {
        double sign = missing > 0 ? 1.0 : -1.0, largest = -INFINITY;
        int32_t best = 0;
        for (int32_t i = 0; i < count; i++) {
            double error = sign * (weights[i] / unit - (double)to[i]);
            if (error > largest) {
                largest = error;
                best = i;
            }
        }
        to[best] = (int16_t)(to[best] + (missing > 0 ? 1 : -1));
    }
}

bool sup_quantize_weights(const double *weights, int32_t count, double sum, bool keep_sum, int16_t *to, float *unit)
{
    double largest = 0.0;
    memset(to, 0, (size_t)count * sizeof *to);
    *unit = 0.0f;
    for (int32_t i = 0; i < count; i++)
        largest = fmax(largest, isfinite(weights[i]) ? fabs(weights[i]) : INFINITY);
    if (largest == 0.0) return sum == 0.0;
    double size = largest / LARGEST, units = 0.0;
    if (sum != 0.0) { /* the sum is a multiple of the unit */
        units = floor(fabs(sum) / size);
        if (!(units >= 1.0)) return false;
        size = fabs(sum) / units;
    }
    if (!(size > 1e-30 && size < 1e30)) return false;
    for (int32_t i = 0; i < count; i++)
        to[i] = (int16_t)lrint(weights[i] / size);
    if (keep_sum) correct_sum(weights, count, size, (int32_t)(sum < 0.0 ? -units : units), to);
    *unit = (float)size;
    return true;
}

/* Moves one unit from one weight to another. */
typedef struct unit_move {
    int32_t from, to; /* -1: none */
    double square;    /* of the residual after the move */
} unit_move;

/* What moves of one unit change: the points times the unit, in ascending order along their largest extent, so that
 * only those near a wanted place are looked at. */
typedef struct unit_steps {
    int32_t count, axis;
    int32_t order[SUP_MLS_MAX]; /* the point */
    double step[3][SUP_MLS_MAX];
} unit_steps;

static double coordinate(sup_vec3d p, int32_t axis)
{
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

static int32_t widest_axis(const sup_vec3d *points, int32_t count)
{
    int32_t widest = 0;
    double largest = -1.0;
    for (int32_t axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (int32_t i = 0; i < count; i++) {
            double at = coordinate(points[i], axis);
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        if (high - low > largest) {
            largest = high - low;
            widest = axis;
        }
    }
    return widest;
}

static void make_steps(const sup_vec3d *points, int32_t count, double unit, unit_steps *s)
{
    double along[SUP_MLS_MAX];
    s->count = count;
    s->axis = widest_axis(points, count);
    for (int32_t i = 0; i < count; i++) {
        double place = unit * coordinate(points[i], s->axis);
        int32_t at = i;
        for (; at > 0 && along[at - 1] > place; at--) {
            along[at] = along[at - 1];
            s->order[at] = s->order[at - 1];
        }
        along[at] = place;
        s->order[at] = i;
    }
    for (int32_t axis = 0; axis < 3; axis++)
        for (int32_t i = 0; i < count; i++)
            s->step[axis][i] = unit * coordinate(points[s->order[i]], axis);
}

static sup_vec3d after_move(const sup_vec3d *points, double unit, sup_vec3d residual, int32_t from, int32_t to)
{
    return sup_v3_madd(residual, unit, sup_v3_sub(points[from], points[to]));
}

static bool is_before(unit_move a, unit_move b)
{
    return a.from < b.from || (a.from == b.from && a.to < b.to);
}

/* Takes the move of the unit at `from` to `at`, in the sorted order, if it is better; of equal ones the first. A move
 * to the same weight changes nothing, but rounding could make it look better. */
static inline void try_move(const unit_steps *s, const double moved[3], int32_t from, int32_t at, unit_move *best)
{
    double x = moved[0] - s->step[0][at], y = moved[1] - s->step[1][at], z = moved[2] - s->step[2][at];
    double square = x * x + y * y + z * z;
    if (square > best->square || from == at) return;
    unit_move move = {s->order[from], s->order[at], square};
    if (square < best->square || (best->from >= 0 && is_before(move, *best))) *best = move;
}

/* The move with the smallest squared residual below `bound`; of equal ones the first. */
static unit_move best_move(const unit_steps *s, sup_vec3d residual, double bound)
{
    const double *along = s->step[s->axis];
    unit_move best = {-1, -1, bound};
    int32_t near = 0; /* the first step that is not before the wanted place, which moves in one direction */
    for (int32_t i = 0; i < s->count; i++) {
        const double moved[3] = {residual.x + s->step[0][i], residual.y + s->step[1][i], residual.z + s->step[2][i]};
        double wanted = moved[s->axis];
        while (near < s->count && along[near] < wanted)
            near++;
        for (int32_t at = near; at < s->count && !((wanted - along[at]) * (wanted - along[at]) > best.square); at++)
            try_move(s, moved, i, at, &best);
        for (int32_t at = near - 1; at >= 0 && !((wanted - along[at]) * (wanted - along[at]) > best.square); at--)
            try_move(s, moved, i, at, &best);
    }
    return best;
}

/* The first of the two moves with the smallest joint squared residual. */
static unit_move best_of_two(const sup_vec3d *points, const unit_steps *s, double unit, sup_vec3d residual,
                             double bound)
{
    unit_move best = {-1, -1, bound};
    for (int32_t i = 0; i < s->count; i++)
        for (int32_t k = 0; k < s->count; k++) {
            unit_move second = best_move(s, after_move(points, unit, residual, i, k), best.square);
            if (second.from >= 0) best = (unit_move){i, k, second.square};
        }
    return best;
}

static bool apply_move(const sup_vec3d *points, double unit, unit_move move, sup_vec3d *residual, int16_t *to)
{
    if (move.from < 0 || to[move.from] == -INT16_MAX || to[move.to] == INT16_MAX) return false;
    to[move.from]--;
    to[move.to]++;
    *residual = after_move(points, unit, *residual, move.from, move.to);
    return true;
}

double sup_quantize_correct(const sup_vec3d *points, int32_t count, double unit, sup_vec3d residual, double tolerance,
                            int16_t *to)
{
    unit_steps steps;
    bool improved = unit > 0.0;
    double square = sup_v3_dot(residual, residual);
    for (int32_t i = 0; i < MOVES_MAX && improved && square > tolerance * tolerance; i++) {
        if (i == 0) make_steps(points, count, unit, &steps);
        unit_move move = best_move(&steps, residual, square);
        improved = apply_move(points, unit, move, &residual, to);
        if (!improved && square > LARGE_ERROR * LARGE_ERROR * tolerance * tolerance) {
            move = best_of_two(points, &steps, unit, residual, square);
            improved = apply_move(points, unit, move, &residual, to) &&
                       apply_move(points, unit, best_move(&steps, residual, INFINITY), &residual, to);
        }
        square = sup_v3_dot(residual, residual);
    }
    return sqrt(square);
}
