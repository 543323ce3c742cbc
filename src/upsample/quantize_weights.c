/* quantize_weights.c - rounding with conditions: first the sum, by the largest remainders; then the first moment, by moving one
 * unit at a time from the weight to the weight where that helps most. Affine maps of the neighbours stay what they
 * were, which plain rounding to 16 bits would be off by a hundred times more. */
#include "upsample/quantize_weights.h"

#include <math.h>
#include <string.h>

enum { LARGEST = 32000 /* room for what is moved afterwards */, TURNS_MAX = 16 };

static const double FAR_OFF = 16.0; /* times what is enough: worth a longer search */

/* Puts the sum right by steps of one, each at the weight that is furthest off in that direction. */
static void settle_sum(const double *weights, int32_t count, double unit, int32_t wanted, int16_t *to)
{
    int32_t off = wanted;
    for (int32_t i = 0; i < count; i++)
        off -= to[i];
    for (; off != 0; off += off > 0 ? -1 : 1) {
        double sign = off > 0 ? 1.0 : -1.0, most = -INFINITY;
        int32_t best = 0;
        for (int32_t i = 0; i < count; i++) {
            double rest = sign * (weights[i] / unit - (double)to[i]);
            if (rest > most) {
                most = rest;
                best = i;
            }
        }
        to[best] = (int16_t)(to[best] + (off > 0 ? 1 : -1));
    }
}

bool sup_round_weights(const double *weights, int32_t count, double sum, bool keep_sum, int16_t *to, float *unit)
{
    double largest = 0.0;
    memset(to, 0, (size_t)count * sizeof *to);
    *unit = 0.0f;
    for (int32_t i = 0; i < count; i++)
        largest = fmax(largest, isfinite(weights[i]) ? fabs(weights[i]) : INFINITY);
    if (largest == 0.0) return sum == 0.0;
    double size = largest / LARGEST, units = 0.0;
    if (sum != 0.0) { /* a whole number of units is the sum */
        units = floor(fabs(sum) / size);
        if (!(units >= 1.0)) return false;
        size = fabs(sum) / units;
    }
    if (!(size > 1e-30 && size < 1e30)) return false;
    for (int32_t i = 0; i < count; i++)
        to[i] = (int16_t)lrint(weights[i] / size);
    if (keep_sum) settle_sum(weights, count, size, (int32_t)(sum < 0.0 ? -units : units), to);
    *unit = (float)size;
    return true;
}

/* A unit that goes from one weight to another. */
typedef struct unit_move {
    int32_t giver, taker; /* -1: none */
    double left;          /* square of what is missing afterwards */
} unit_move;

static sup_vec3d after_move(const sup_vec3d *points, double unit, sup_vec3d off, int32_t giver, int32_t taker)
{
    return sup_v3_madd(off, unit, sup_v3_sub(points[giver], points[taker]));
}

/* The move that leaves least, if that is less than `bound`. */
static unit_move best_move(const sup_vec3d *points, int32_t count, double unit, sup_vec3d off, double bound)
{
    unit_move best = {-1, -1, bound};
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d given = sup_v3_madd(off, unit, points[i]);
        for (int32_t k = 0; k < count; k++) {
            sup_vec3d rest = sup_v3_madd(given, -unit, points[k]);
            double square = sup_v3_dot(rest, rest);
            if (square < best.left) best = (unit_move){i, k, square};
        }
    }
    return best;
}

/* The first of two moves that leave least together. */
static unit_move best_of_two(const sup_vec3d *points, int32_t count, double unit, sup_vec3d off, double bound)
{
    unit_move best = {-1, -1, bound};
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < count; k++) {
            unit_move second = best_move(points, count, unit, after_move(points, unit, off, i, k), best.left);
            if (second.giver >= 0) best = (unit_move){i, k, second.left};
        }
    return best;
}

static bool apply_move(const sup_vec3d *points, double unit, unit_move move, sup_vec3d *off, int16_t *to)
{
    if (move.giver < 0 || to[move.giver] == -INT16_MAX || to[move.taker] == INT16_MAX) return false;
    to[move.giver]--;
    to[move.taker]++;
    *off = after_move(points, unit, *off, move.giver, move.taker);
    return true;
}

double sup_round_towards(const sup_vec3d *points, int32_t count, double unit, sup_vec3d off, double enough, int16_t *to)
{
    bool goes_on = unit > 0.0;
    double left = sup_v3_dot(off, off);
    for (int32_t turn = 0; turn < TURNS_MAX && goes_on && left > enough * enough; turn++) {
        unit_move move = best_move(points, count, unit, off, left);
        goes_on = apply_move(points, unit, move, &off, to);
        if (!goes_on && left > FAR_OFF * FAR_OFF * enough * enough) {
            move = best_of_two(points, count, unit, off, left);
            goes_on = apply_move(points, unit, move, &off, to) &&
                      apply_move(points, unit, best_move(points, count, unit, off, INFINITY), &off, to);
        }
        left = sup_v3_dot(off, off);
    }
    return sqrt(left);
}
