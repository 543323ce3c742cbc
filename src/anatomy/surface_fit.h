/* surface_fit.h (internal) - fits a surface to targets with minimal bending.
 *
 * Minimises eq. 4.1: w_reg * sum A_i |L x_i - R_i L x_rest_i|^2 (eq. 4.2, cotangent Laplacian, Voronoi areas A_i,
 * R_i the rotation that aligns the two vectors) + sum w_i A_i |x_i - t_i|^2 (eq. 4.3) + further quadratic terms,
 * local/global with one sparse Cholesky factor. Lengths in metres: the two energies have different units, and the
 * weights of the thesis assume metres. */
#ifndef SUP_ANATOMY_SURFACE_FIT_H
#define SUP_ANATOMY_SURFACE_FIT_H

#include "linalg/csr.h"
#include "supple/anatomy.h"

typedef struct sup_surface_fit sup_surface_fit;

/* An additional energy |A x - b(x)|^2 in projective form, with the same A for x, y and z. */
typedef struct sup_fit_term {
    /* [n x n] A^T A, lower triangle as everywhere in linalg; added to the system. Must outlive the fit; its
     * values (not its pattern) may change and are read by sup_surface_fit_set_weights */
    const sup_csr *matrix;
    void (*project)(void *user, const double *positions, double *right_side); /* adds A^T b(x), [3n] */
    void *user;
} sup_fit_term;

typedef struct sup_surface_fit_def {
    sup_shape surface;          /* topology and initial rest positions; corners in range, positions finite */
    const unsigned char *fixed; /* [n] vertices that do not move; NULL = none */
    const sup_fit_term *terms;  /* copied */
    int32_t term_count;
} sup_surface_fit_def;

sup_result sup_surface_fit_create(const sup_context *context, const sup_surface_fit_def *def, sup_surface_fit **fit,
                                  sup_error *error);
void sup_surface_fit_destroy(sup_surface_fit *fit);

/* [n] Voronoi areas of the initial surface, square metres. */
const double *sup_surface_fit_areas(const sup_surface_fit *fit);

/* Sets the rest positions [3n] of the Laplacians of eq. 4.2; cotangents and areas stay those of the initial surface,
 * so that the matrix does not change. */
void sup_surface_fit_set_rest(sup_surface_fit *fit, const double *rest);

/* w_reg and w_i [n], at least 0, NULL = 0 everywhere (A_i is multiplied inside). Factorises: call it only when they
 * change. Without any target, fixed vertex or term the surface is unconstrained: SUP_ERROR_DATA, anatomy.fit.free. */
sup_result sup_surface_fit_set_weights(sup_surface_fit *fit, double bending, const double *target_weight,
                                       sup_error *error);

/* At most `max_iterations` iterations, until no vertex moves by more than `tolerance`. `positions` is input and
 * output; targets [3n] are read where the weight is above 0 (NULL if it is 0 everywhere). *used (may be NULL) gets
 * the number of iterations. */
sup_result sup_surface_fit_solve(sup_surface_fit *fit, const double *targets, double tolerance, int32_t max_iterations,
                                 double *positions, int32_t *used, sup_error *error);

#endif
