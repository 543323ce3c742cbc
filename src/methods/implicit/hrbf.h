/* hrbf.h (internal) - Hermite radial basis functions: a smooth function that is 0 with given unit gradients at points.
 *
 * Based on: [vaillant2013], after [macedo2011] Hermite radial basis functions implicits:
 *     f(x) = sum_i a_i phi(x - x_i) - b_i . grad phi(x - x_i) + c + s . x,   phi(d) = |d|^3
 * Deviation: the linear term, with weights orthogonal to linear functions. With it the fit is unique for distinct
 * points (r^3 is conditionally positive definite of order 2) and solved by a Cholesky factorisation; without it the
 * system is indefinite, uniqueness is not guaranteed, and solving costs twice as much.
 *
 * The value is not a distance: on the axis of a cylinder of radius 1 it is about -0.5, and outside it grows faster than
 * the distance. */
#ifndef SUP_METHODS_IMPLICIT_HRBF_H
#define SUP_METHODS_IMPLICIT_HRBF_H

#include "base/base.h"
#include "math/vec3.h"

/* A point of a surface. */
typedef struct sup_sample {
    sup_vec3d position, normal; /* the normal is a unit vector, outward */
} sup_sample;

/* Coordinates are relative to `origin` in units of `scale`, so that the fit does not depend on file units. */
typedef struct sup_hrbf {
    int32_t count;
    sup_vec3d origin;
    double scale;     /* file units */
    double *centre;   /* [count*3] */
    double *weight;   /* [count*4] of phi, then of its gradient */
    double linear[4]; /* constant, then slope */
} sup_hrbf;

/* Doubles of workspace for a fit of `count` samples. */
size_t sup_hrbf_workspace(int32_t count);

/* The caller provides `hrbf->centre` and `hrbf->weight` for all samples. Fails with SUP_ERROR_DATA, id
 * "hrbf.duplicate", if two samples coincide, "hrbf.empty" without samples, and SUP_ERROR_NUMERIC, "hrbf.singular", if
 * the system cannot be solved. */
sup_result sup_hrbf_fit(int32_t count, const sup_sample *samples, double *workspace, sup_hrbf *hrbf, sup_error *error);

/* In file units: approximates the distance near the samples, negative inside. `gradient` may be NULL. */
double sup_hrbf_value(const sup_hrbf *hrbf, sup_vec3d p, sup_vec3d *gradient);

#endif
