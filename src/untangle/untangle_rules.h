/* untangle_rules.h (internal) - decisions of untangling: what crosses, which patch is moved, how far, and how long
 * edges may be. One source for the CPU (untangle*.c) and the GPU (src/cuda/untangle*.cu*); constants are in
 * untangle_tuning.h. */
#ifndef SUP_UNTANGLE_UNTANGLE_RULES_H
#define SUP_UNTANGLE_UNTANGLE_RULES_H

#include "base/shared.h"
#include "untangle/untangle_tuning.h"

#include <math.h>
#include <stdbool.h>

/* Of the patch of a vertex: none, or one that no crossing edges bound. */
enum { SUP_UNTANGLE_NO_PATCH = -1, SUP_UNTANGLE_OPEN = -2 };
/* Flags of the state of a vertex. */
enum {
    SUP_UNTANGLE_LOADED = 1,  /* its positions are in the scratch memory */
    SUP_UNTANGLE_INSIDE = 2,  /* inner end of a crossing edge */
    SUP_UNTANGLE_OUTSIDE = 4, /* outer end of one */
    SUP_UNTANGLE_LISTED = 8,  /* an iteration moves it */
    SUP_UNTANGLE_FOLD = 16,   /* it is smoothed */
    SUP_UNTANGLE_KNOWN = 32,  /* it was moved in any iteration */
    SUP_UNTANGLE_PATCHED = 64 /* GPU: it belongs to a patch */
};

/* --- Finding crossings --- */

/* All normals of two clusters are within 90 degrees of each other: the angle between the axes of their normal cones
 * plus both opening angles is less. Adjacent clusters are then no fold. */
SUP_SHARED bool sup_untangle_cones_agree(float cosine_a, float cosine_b, float axes_dot)
{
    float sine_a = sqrtf(1.0f - cosine_a * cosine_a), sine_b = sqrtf(1.0f - cosine_b * cosine_b);
    return cosine_a > 0.0f && cosine_b > 0.0f && cosine_a * cosine_b > sine_a * sine_b &&
           axes_dot > sine_a * cosine_b + sine_b * cosine_a;
}

/* An edge crosses the plane of a triangle, by the heights of its lower and its higher end; the lower one is inside. */
SUP_SHARED bool sup_untangle_crosses_plane(float low, float high)
{
    return low < 0.0f && high >= 0.0f;
}

/* Typical edge length of a triangle, by twice its area. */
SUP_SHARED float sup_untangle_edge_of(float double_area)
{
    return sqrtf(double_area);
}

/* Fraction of the displacement that the triangle takes, by the typical edges of both skins: the coarser one yields. */
SUP_SHARED float sup_untangle_triangle_fraction(float triangle_edge, float crossing_edge)
{
    return triangle_edge / (triangle_edge + crossing_edge);
}

/* --- Patches; `length`: of the sum of the normals of its `count` crossings --- */

/* Its crossings do not agree on one direction. */
SUP_SHARED bool sup_untangle_is_ambiguous(float length, float count)
{
    return !(length > SUP_UNTANGLE_CLEAR_AGREEMENT * count);
}

/* No direction moves it out: it is skipped. */
SUP_SHARED bool sup_untangle_is_skipped(float length, float count)
{
    return !(length > SUP_UNTANGLE_MIN_AGREEMENT * count);
}

/* The patch of a crossing, by those of the ends of its edge (negative: none; is_outer: made of the skin outside): the
 * inner one unless it is skipped, then the outer one. */
SUP_SHARED int sup_untangle_choose_patch(int inner, bool inner_is_outer, bool inner_skipped, int outer,
                                         bool outer_is_outer)
{
    bool inside = inner >= 0 && !inner_is_outer;
    if (inside && !inner_skipped) return inner;
    if (outer >= 0 && outer_is_outer) return outer;
    return inside ? inner : -1;
}

/* --- Displacements --- */

/* Of a vertex of a patch, by its depth below the patch's plane; `fraction`: of what it is inside. */
SUP_SHARED float sup_untangle_patch_push(float depth, float edge, float fraction)
{
    return (1.0f - fraction) * (depth + SUP_UNTANGLE_SEPARATION * edge);
}

/* Displacement that a crossing asks for, both skins together, by the depth of its edge's end. */
SUP_SHARED float sup_untangle_crossing_push(float depth, float edge)
{
    return SUP_UNTANGLE_SEPARATION * edge + depth;
}

/* Depth of an edge's end, no larger than the maximum step. */
SUP_SHARED float sup_untangle_limit_depth(float depth, float edge)
{
    return fminf(depth, SUP_UNTANGLE_MAX_STEP * edge);
}

/* Two positions that are near each other at rest: what crosses there is no contact but a fold that is too tight. */
SUP_SHARED bool sup_untangle_is_fold(float rest_distance2, float gap_a, float gap_b)
{
    float limit = SUP_UNTANGLE_FOLD_DISTANCE * (gap_a + gap_b);
    return rest_distance2 < limit * limit;
}

/* Scale of the sum of displacements asked of a vertex, of this length: no farther than the longest of them; less in
 * folds, which are smoothed instead. */
SUP_SHARED float sup_untangle_push_scale(bool fold, float length, float longest)
{
    float scale = fold ? SUP_UNTANGLE_FOLD_PUSH : 1.0f;
    if (length > longest) scale *= longest / length;
    return scale;
}

/* Scale that limits the offset of a vertex, of this length, from where it was before untangling. `size`: of the
 * character. */
SUP_SHARED float sup_untangle_offset_scale(bool fixed, float length, float gap, float size)
{
    float limit = fixed ? 0.0f : fminf(SUP_UNTANGLE_MAX_OFFSET * gap, SUP_UNTANGLE_MAX_OFFSET_SIZE * size);
    return length > limit ? limit / length : 1.0f;
}

/* Scale that limits the offset of a vertex in the result; edges may have moved it farther than in one iteration. */
SUP_SHARED float sup_untangle_final_scale(bool fixed, float length, float size)
{
    float limit = fixed ? 0.0f : SUP_UNTANGLE_MAX_OFFSET_SIZE * size;
    return length > limit ? limit / length : 1.0f;
}

/* Scale of all offsets that keeps the change of the volume within its budget. */
SUP_SHARED float sup_untangle_volume_scale(double change, double rest_volume)
{
    double budget = SUP_UNTANGLE_VOLUME_BUDGET * fabs(rest_volume);
    return fabs(change) > budget ? (float)(budget / fabs(change)) : 1.0f;
}

/* Fraction of the last offset from which the change of an offset counts: the one that comes nearest to the offset,
 * between what decay leaves and all of it. */
SUP_SHARED float sup_untangle_kept_fraction(const float offset[3], const float last[3], float decayed)
{
    float square = last[0] * last[0] + last[1] * last[1] + last[2] * last[2];
    float along = offset[0] * last[0] + offset[1] * last[1] + offset[2] * last[2];
    return square > 0.0f ? fminf(1.0f, fmaxf(decayed, along / square)) : 1.0f;
}

/* Largest change of an offset in a frame of `dt` seconds. step_motion: displacement of the skin there in the last step,
 * of step_seconds. */
SUP_SHARED float sup_untangle_max_change(float size, float dt, float step_motion, float step_seconds)
{
    return SUP_UNTANGLE_REST_RATE * size * dt + SUP_UNTANGLE_MOTION_RATE * step_motion * dt / step_seconds;
}

/* Six times the volume below a triangle, seen from the origin. */
SUP_SHARED double sup_untangle_volume6(const float *a, const float *b, const float *c)
{
    double x = (double)b[1] * (double)c[2] - (double)b[2] * (double)c[1],
           y = (double)b[2] * (double)c[0] - (double)b[0] * (double)c[2],
           z = (double)b[0] * (double)c[1] - (double)b[1] * (double)c[0];
    return (double)a[0] * x + (double)a[1] * y + (double)a[2] * z;
}

/* An offset that is stored for the next frame. */
SUP_SHARED bool sup_untangle_stores_offset(float length, float gap)
{
    return length > SUP_UNTANGLE_MIN_OFFSET * gap && isfinite(length);
}

/* Fraction of the last frame's offsets with which a frame begins: none where the last frame was not untangled, all
 * while the character is at rest. */
SUP_SHARED float sup_untangle_offset_fraction(bool was_untangled, bool at_rest, float decay)
{
    return !was_untangled ? 0.0f : at_rest ? 1.0f : decay;
}

/* --- Edge lengths --- */

/* Square of the maximum length of an edge, by the squares of its lengths before untangling and at rest. */
SUP_SHARED float sup_untangle_max_edge2(float before2, float rest2)
{
    float stretch = SUP_UNTANGLE_MAX_STRETCH * SUP_UNTANGLE_MAX_STRETCH * rest2;
    return fminf(SUP_UNTANGLE_MAX_GROWTH * SUP_UNTANGLE_MAX_GROWTH * fmaxf(before2, rest2), stretch);
}

SUP_SHARED bool sup_untangle_is_long(float length2, float max2)
{
    return length2 > SUP_UNTANGLE_EDGE_EXCESS * max2;
}

/* How much of an edge's excess length a vertex takes, relative to the other end. */
SUP_SHARED float sup_untangle_mobility(bool fixed, bool pushed)
{
    return fixed ? 0.0f : pushed ? SUP_UNTANGLE_PUSHED_MOBILITY : 1.0f;
}

/* Fraction of an edge that is too much, for each unit of mobility of its ends. */
SUP_SHARED float sup_untangle_excess(float length2, float max2, float mobility)
{
    return (1.0f - sqrtf(max2 / length2)) / mobility;
}

#endif
