/* shape_limits_rules.h (internal) - decisions of the shape limits: how far an edge or a triangle is blended towards the
 * reference, and how the weight decreases around it. */
#ifndef SUP_LIMITS_SHAPE_LIMITS_RULES_H
#define SUP_LIMITS_SHAPE_LIMITS_RULES_H

#include "base/shared.h"
#include "limits/shape_limits_tuning.h"

#include <math.h>
#include <stdbool.h>

SUP_SHARED float sup_limits_dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Whether an edge vector of this squared length is outside of the limits. `rest`: its length at rest; negative: it is
 * not judged. */
SUP_SHARED bool sup_limits_exceeds(float square, float rest)
{
    float longest = SUP_LIMITS_MAX_STRETCH * rest, shortest = SUP_LIMITS_MIN_STRETCH * rest;
    return rest > 0.0f && (square > longest * longest || square < shortest * shortest);
}

/* The smallest weight w from which on the blend (1 - w) own + w reference of an edge vector is within the limits, or
 * within what the reference itself has where that is outside. */
SUP_SHARED float sup_limits_edge_weight(const float own[3], const float reference[3], float rest)
{
    const float change[3] = {reference[0] - own[0], reference[1] - own[1], reference[2] - own[2]};
    float square = sup_limits_dot(own, own), target2 = sup_limits_dot(reference, reference);
    float longest = SUP_LIMITS_MAX_STRETCH * rest, shortest = SUP_LIMITS_MIN_STRETCH * rest;
    bool is_long = square > longest * longest;
    float limit2 = is_long ? fmaxf(longest * longest, target2) : fminf(shortest * shortest, target2);
    /* |own + w change|^2 = limit2: a convex quadratic in w, whose value at w = 1 is allowed. */
    float a = sup_limits_dot(change, change), b = sup_limits_dot(own, change), c = square - limit2;
    if (is_long ? !(c > 0.0f) : !(c < 0.0f)) return 0.0f;
    if (!(a > 0.0f)) return 0.0f;
    float root = sqrtf(fmaxf(b * b - a * c, 0.0f));
    return fminf(1.0f, fmaxf(0.0f, ((is_long ? -b - root : -b + root) / a)));
}

/* Weight of a triangle, by the cosines of its normal with the mean normal of its neighbours in both skins: none where
 * the reference is folded itself. */
SUP_SHARED float sup_limits_flip_weight(float own, float reference)
{
    float upright = fminf(1.0f, fmaxf(0.0f, reference / SUP_LIMITS_UPRIGHT));
    float t = (SUP_LIMITS_FLIP_BEGIN - own) / (SUP_LIMITS_FLIP_BEGIN - SUP_LIMITS_FLIP_END);
    return upright * fminf(1.0f, fmaxf(0.0f, t));
}

/* Factor of the weight of a vertex, by the distance of both skins there and the mean length of its edges at rest.
 * `size`: of the character. */
SUP_SHARED float sup_limits_factor(float distance, float mean_edge, float size)
{
    float coarse = (mean_edge / size - SUP_LIMITS_FINE_EDGE) / (SUP_LIMITS_COARSE_EDGE - SUP_LIMITS_FINE_EDGE);
    coarse = fminf(1.0f, fmaxf(0.0f, coarse));
    float reach = (SUP_LIMITS_FINE_REACH + coarse * (SUP_LIMITS_REACH - SUP_LIMITS_FINE_REACH)) * mean_edge;
    float near = 2.0f - 2.0f * distance / reach;
    return fminf(1.0f, fmaxf(0.0f, near));
}

/* Fraction of an edge vector by which each of its ends moves so that it is within the limits, or as long as in the
 * reference where that is outside; positive: towards each other. */
SUP_SHARED float sup_limits_edge_step(float square, float reference2, float rest)
{
    float longest = SUP_LIMITS_MAX_STRETCH * rest, shortest = SUP_LIMITS_MIN_STRETCH * rest;
    float highest = fmaxf(longest * longest, reference2), lowest = fminf(shortest * shortest, reference2);
    if (square > highest) return 0.5f * (1.0f - sqrtf(highest / square));
    if (square < lowest && square > 1e-12f * rest * rest) return 0.5f * (1.0f - sqrtf(lowest / square));
    return 0.0f;
}

/* Weight that a vertex of this weight gives its neighbour; `distance`: of both skins, the larger one of both ends. */
SUP_SHARED float sup_limits_neighbour_weight(float weight, float rest, float distance)
{
    return weight - SUP_LIMITS_SLOPE * fabsf(rest) / fmaxf(distance, 1e-30f);
}

#endif
