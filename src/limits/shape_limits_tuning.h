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
#define SUP_LIMITS_FLIP_BEGIN 0.05f
#define SUP_LIMITS_FLIP_END (-0.3f)
/* Cosine from which on the reference is no fold. */
#define SUP_LIMITS_UPRIGHT 0.25f
/* Largest change of the blend weight along an edge, times the distance of both skins, in lengths of the edge: how much
 * the transition between both skins may strain edges. */
#define SUP_LIMITS_SLOPE 0.4f
/* Distance of both skins, in mean edges at a vertex, from which on it is not blended; from half of it on it is blended
 * less: it would replace a region because of one edge. In fine skin, with edges of so many sizes of the character, the
 * distance is shorter: there contact forms folds that linear blending does not have. */
#define SUP_LIMITS_REACH 4.0f
#define SUP_LIMITS_FINE_REACH 1.0f
#define SUP_LIMITS_FINE_EDGE 0.008f
#define SUP_LIMITS_COARSE_EDGE 0.012f
#define SUP_LIMITS_MIN_WEIGHT 1e-3f /* smaller weights do not spread */
enum {
    SUP_LIMITS_PASSES = 3, /* the transition of one pass may exceed a limit; the next one blends more */
    SUP_LIMITS_SWEEPS = 6  /* over the edges that still exceed a limit, whose ends are moved */
};

#endif
