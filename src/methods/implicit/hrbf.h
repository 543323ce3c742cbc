/* hrbf.h (internal) - Hermite radial basis functions: a smooth function that is 0 with given unit gradients at points.
 *
 * Based on: [vaillant2013], after [macedo2011] Hermite radial basis functions implicits:
 *     f(x) = sum_i a_i phi(x - x_i) - b_i . grad phi(x - x_i) + c + s . x,   phi(d) = |d|^3
 * Deviation: the linear part, with weights that annihilate linear functions. Then the fit is unique for all different
 * points (r^3 is conditionally positive definite of order 2) and found by a Cholesky factorisation; without it nothing is
 * promised and an indefinite system has to be solved at twice the price.
 *
 * Not a distance: on the axis of a cylinder of radius 1 it is about -0.5, and outside it grows faster than one. */
#ifndef SUP_METHODS_IMPLICIT_HRBF_H
#define SUP_METHODS_IMPLICIT_HRBF_H

#include "base/base.h"
#include "math/vec3.h"

/* A point of a surface. */
typedef struct sup_sample {
    sup_vec3d position, normal; /* the normal a unit vector, outwards */
} sup_sample;

/* Inside, lengths are parts of `scale` about `origin`, so that the fit is the same in all units. */
typedef struct sup_hrbf {
    int32_t count;
    sup_vec3d origin;
    double scale;     /* file units */
    double *centre;   /* [count*3] */
    double *weight;   /* [count*4] of phi, then of its gradient */
    double linear[4]; /* constant, slope */
} sup_hrbf;

/* Doubles that a fit of `count` samples needs to work. */
size_t sup_hrbf_workspace(int32_t count);

/* `hrbf->centre` and `hrbf->weight` have room for the samples. Fails with SUP_ERROR_DATA, id "hrbf.duplicate", where two
 * samples are in the same place, "hrbf.empty" where there are none, and SUP_ERROR_NUMERIC, "hrbf.singular", where the system
 * cannot be solved. */
sup_result sup_hrbf_fit(int32_t count, const sup_sample *samples, double *workspace, sup_hrbf *hrbf, sup_error *error);

/* File units: about the distance near the samples, negative inside. `gradient` may be NULL. */
double sup_hrbf_value(const sup_hrbf *hrbf, sup_vec3d p, sup_vec3d *gradient);

#endif
