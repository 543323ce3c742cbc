/* layer_elements.h (internal) - tissue as triangles, tets and prisms: a projective term of a surface fit.
 *
 * The energy is sum w_e |F_e - T_e(F_e)|^2 with F_e the deformation gradient of element e (eq. 2.18: the best affine
 * map from its rest shape) and T_e the caller's projection. Some points are unknowns of a sup_surface_fit, the
 * others are fixed. */
#ifndef SUP_ANATOMY_LAYER_ELEMENTS_H
#define SUP_ANATOMY_LAYER_ELEMENTS_H

#include "anatomy/surface_fit.h"

/* Target of F of an element, row-major 3x3. Called from several threads. */
typedef void sup_element_target_fn(void *user, int32_t element, const double f[9], double target[9]);

typedef struct sup_elements_def {
    int32_t unknown_count, point_count; /* points below unknown_count are unknowns */
    /* elements; corners per element: 3 (flat: F has no normal component), 4 or 6 */
    int32_t count, corners;
    const int32_t *points; /* [count*corners] */
    const double *rest;    /* [point_count*3] */
    const double *weights; /* [count] w_e; elements with a degenerate rest shape get 0 */
    sup_element_target_fn *target;
    void *user;
} sup_elements_def;

typedef struct sup_elements sup_elements;

/* Copies everything but `user`. */
sup_result sup_elements_create(const sup_context *context, const sup_elements_def *def, sup_elements **elements,
                               sup_error *error);
void sup_elements_destroy(sup_elements *elements);

/* Positions of the fixed points, [3*(point_count - unknown_count)]; initially those of the rest shape. */
void sup_elements_set_fixed(sup_elements *elements, const double *positions);

/* The term for a sup_surface_fit over the unknowns; borrows `elements`. */
sup_fit_term sup_elements_term(sup_elements *elements);

/* sum w_e |F_e - T_e|^2 at `positions` [unknown_count*3]. */
double sup_elements_energy(sup_elements *elements, const double *positions);

#endif
