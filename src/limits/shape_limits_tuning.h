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
/* Largest change of the blend weight along an edge, times the distance of both skins, in lengths of the edge: how much
 * the transition between both skins may strain edges. */
#define SUP_LIMITS_SLOPE 0.4f
/* Mean edges at a vertex: distance of both skins up to which it is blended, and from which on it is not. Where they are
 * farther apart, as in the folds of dense meshes, blending would replace a region because of one edge. */
#define SUP_LIMITS_NEAR 2.0f
#define SUP_LIMITS_FAR 4.0f
/* Skin whose reference is itself folded or stretched is not blended: the cosine and the edge ratios from which on it is
 * trusted less, and not at all; and the distance along the edges, in sizes of the character, at which it is trusted
 * again. */
#define SUP_LIMITS_TRUST_COSINE 0.25f
#define SUP_LIMITS_TRUST_COSINE_END 0.0f
#define SUP_LIMITS_TRUST_STRETCH 2.0f
#define SUP_LIMITS_TRUST_STRETCH_END 3.0f
#define SUP_LIMITS_TRUST_REACH 0.04f
#define SUP_LIMITS_MIN_WEIGHT 1e-3f /* smaller weights do not spread */
enum {
    SUP_LIMITS_PASSES = 3, /* the transition of one pass may exceed a limit; the next one blends more */
    SUP_LIMITS_SWEEPS = 6  /* over the edges that still exceed a limit, whose ends are moved */
};

#endif
