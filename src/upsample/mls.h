/* mls.h (internal) - moving least squares weights of one point, in double.
 *
 * Based on: [komaritzan2022], eq. 3.2 to 3.8. The weights N_i of (3.8) are those of least sum N_i^2 / omega_i among all
 * that reproduce the polynomials of psi at the point. With the point as origin psi(x_j) is (1, 0, ..., 0), so they are
 * found by taking all but the constant monomial off the constant one: r = a_0 - its part in the span of the others,
 * N = sqrt(omega) r / |r|^2, where a_m = sqrt(omega_i) psi_m(x_i). No matrix K (3.5) is made, whose condition is the
 * square of that of the monomials.
 *
 * Deviations:
 * - Monomials are taken in the order of their degree, and within a degree the least dependent one first; how many are
 *   taken is decided by what they do to the weights. A pseudo-inverse would give up a bit of all of them, so that where
 *   points lie on a plane or quadric linear functions would not be reproduced either.
 * - Points off the surface of their neighbours, where (3.5) has no solution, ride: the affine map is fitted to
 *   positions and normals together, which is exact for every rigid motion, whatever the neighbourhood. */
#ifndef SUP_UPSAMPLE_MLS_H
#define SUP_UPSAMPLE_MLS_H

#include "math/vec3.h"

enum { SUP_MLS_MAX = 64 }; /* neighbours */

/* The neighbours of a point in its own frame: the point is the origin, and `scale` was 1. */
typedef struct sup_mls {
    int32_t count;                    /* at most SUP_MLS_MAX */
    double scale;                     /* length that positions were divided by */
    sup_vec3d positions[SUP_MLS_MAX]; /* (x_i - x_j) / scale */
    sup_vec3d normals[SUP_MLS_MAX];   /* unit, or zero where there is none */
    double omega[SUP_MLS_MAX];        /* eq. 3.3, positive */
} sup_mls;

/* Weights of positions: quadratic as far as the sum of their sizes stays within `limit`. Returns the number of
 * quadratic monomials that are reproduced, 0 to 6, fewer than 6 where the neighbours do not tell them apart or, then
 * with *reduced set, for the sake of the limit; -1 when not even linear functions can be. */
int32_t sup_mls_position(const sup_mls *mls, double limit, double *weights, bool *reduced);

/* Weights of normals that turn with the neighbours' normals and give `normal` at rest, up to length; false when there
 * are none within `limit`. */
bool sup_mls_normal(const sup_mls *mls, sup_vec3d normal, double limit, double *weights);

/* Weights of positions and of unit normals together: sum position_i x_i + normal_i n_i is the point itself (when
 * `direction` is NULL), or the direction, carried along by the affine map that fits best. In units of the caller. False
 * where the neighbours do not span space. */
bool sup_mls_ride(const sup_mls *mls, const sup_vec3d *direction, double *position, double *normal);

#endif
