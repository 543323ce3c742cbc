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

static sup_vec3d after_move(const sup_vec3d *points, double unit, sup_vec3d residual, int32_t from, int32_t to)
{
    return sup_v3_madd(residual, unit, sup_v3_sub(points[from], points[to]));
}

/* The move with the smallest squared residual below `bound`. */
static unit_move best_move(const sup_vec3d *points, int32_t count, double unit, sup_vec3d residual, double bound)
{
    unit_move best = {-1, -1, bound};
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d moved = sup_v3_madd(residual, unit, points[i]);
        for (int32_t k = 0; k < count; k++) {
            sup_vec3d rest = sup_v3_madd(moved, -unit, points[k]);
            double square = sup_v3_dot(rest, rest);
            if (square < best.square) best = (unit_move){i, k, square};
        }
    }
    return best;
}

/* The first of the two moves with the smallest joint squared residual. */
static unit_move best_of_two(const sup_vec3d *points, int32_t count, double unit, sup_vec3d residual, double bound)
{
    unit_move best = {-1, -1, bound};
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < count; k++) {
            unit_move second = best_move(points, count, unit, after_move(points, unit, residual, i, k), best.square);
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
    bool improved = unit > 0.0;
    double square = sup_v3_dot(residual, residual);
    for (int32_t i = 0; i < MOVES_MAX && improved && square > tolerance * tolerance; i++) {
        unit_move move = best_move(points, count, unit, residual, square);
        improved = apply_move(points, unit, move, &residual, to);
        if (!improved && square > LARGE_ERROR * LARGE_ERROR * tolerance * tolerance) {
            move = best_of_two(points, count, unit, residual, square);
            improved = apply_move(points, unit, move, &residual, to) &&
                       apply_move(points, unit, best_move(points, count, unit, residual, INFINITY), &residual, to);
        }
        square = sup_v3_dot(residual, residual);
    }
    return sqrt(square);
}
