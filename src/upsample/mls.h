/* mls.h (internal) - moving least squares weights of one point, in double precision.
 *
 * Based on: [komaritzan2022], eq. 3.2 to 3.8. The weights N_i of (3.8) minimise sum N_i^2 / omega_i among all weights
 * that reproduce the polynomials of psi at the point. With the point as origin psi(x_j) is (1, 0, ..., 0). They follow
 * from projecting the constant monomial onto the complement of the others: r = a_0 - its projection onto the span of
 * the others, N = sqrt(omega) r / |r|^2, where a_m = sqrt(omega_i) psi_m(x_i). The matrix K (3.5), whose condition
 * number is the square of that of the monomials, is used where the monomials are clearly independent, with a second
 * projection against its rounding errors; else the monomials are orthogonalised.
 *
 * Deviations:
 * - Monomials are added in the order of their degree, and within a degree the least dependent one first, until the
 *   weights exceed a limit. A pseudo-inverse would damp all of them: for points on a plane or quadric it would not
 *   reproduce linear functions either.
 * - For points off the surface of their neighbours, where (3.5) has no solution, an affine map is fitted to positions
 *   and normals together (sup_mls_follow). It is exact for every rigid motion and any neighbourhood. */
#ifndef SUP_UPSAMPLE_MLS_H
#define SUP_UPSAMPLE_MLS_H

#include "math/vec3.h"

enum { SUP_MLS_MAX = 64 }; /* neighbours */

/* Neighbours of a point in its local frame: the point is the origin, lengths are divided by `scale`. */
typedef struct sup_mls {
    int32_t count;                    /* at most SUP_MLS_MAX */
    double scale;                     /* unit of `positions` */
    sup_vec3d positions[SUP_MLS_MAX]; /* (x_i - x_j) / scale */
    sup_vec3d normals[SUP_MLS_MAX];   /* unit, or zero if unknown */
    double omega[SUP_MLS_MAX];        /* eq. 3.3, positive */
} sup_mls;

/* Weights of positions, with as many quadratic monomials as keep the sum of |N| within `limit`. Returns the number of
 * reproduced quadratic monomials, 0 to 6: fewer than 6 when the neighbours do not distinguish them or, with *reduced
 * set, because of the limit; -1 when linear functions cannot be reproduced. */
int32_t sup_mls_position(const sup_mls *mls, double limit, double *weights, bool *reduced);

/* Weights that give a normal from the neighbours' normals: `normal` at rest, up to length. False when there are none
 * within `limit`. */
bool sup_mls_normal(const sup_mls *mls, sup_vec3d normal, double limit, double *weights);

/* Weights of positions and unit normals: sum position_i x_i + normal_i n_i is the point (`direction` NULL) or the
 * direction, transformed by the affine map of best fit. In units of the caller. False when the neighbours do not span
 * space. */
bool sup_mls_follow(const sup_mls *mls, const sup_vec3d *direction, double *position, double *normal);

#endif
