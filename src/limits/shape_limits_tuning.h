/* shape_limits_tuning.h (internal) - constants of the shape limits. shape_limits_rules.h has the decisions that use
 * them. */
#ifndef SUP_LIMITS_SHAPE_LIMITS_TUNING_H
#define SUP_LIMITS_SHAPE_LIMITS_TUNING_H

/* Times its rest length: an edge that the reference does not stretch or compress further stays within. The targets of
 * `make gauntlet` are 3 and 0.1. */
#define SUP_LIMITS_MAX_STRETCH 2.8f
#define SUP_LIMITS_MIN_STRETCH 0.12f
/* Cosine of a triangle's normal with the mean normal of its neighbours: below the first, blending begins, below the
 * second it is complete. A triangle counts as flipped below 0. */
#define SUP_LIMITS_FLIP_BEGIN 0.25f
#define SUP_LIMITS_FLIP_END (-0.25f)
/* Largest change of the blend weight along an edge, times the distance of both skins, in lengths of the edge: how much
 * the transition between both skins may strain edges. */
#define SUP_LIMITS_SLOPE 0.4f
#define SUP_LIMITS_MIN_WEIGHT 1e-3f /* smaller weights do not spread */
enum { SUP_LIMITS_PASSES = 3 };     /* the transition of one pass may exceed a limit; the next one blends more */

#endif
