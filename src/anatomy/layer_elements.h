/* layer_elements.h (internal) - flesh as small polyhedra that pull a surface: triangles, tets and prisms in projective form.
 *
 * The energy is sum w_e |F_e - T_e(F_e)|^2 with F_e the deformation gradient of element e (eq. 2.18: the best affine map
 * from its rest shape), T_e where the caller's projection takes it. Some places are unknowns of a sup_surface_fit, the
 * others are held. */
#ifndef SUP_ANATOMY_LAYER_ELEMENTS_H
#define SUP_ANATOMY_LAYER_ELEMENTS_H

#include "anatomy/surface_fit.h"

/* What F of element e should be, row-major 3x3. Called from many threads. */
typedef void sup_element_target_fn(void *user, int32_t element, const double f[9], double target[9]);

typedef struct sup_elements_def {
    int32_t unknown_count, point_count; /* places below unknown_count are unknowns */
    int32_t count, corners;             /* elements; corners of each: 3 (flat: F has no normal part), 4 or 6 */
    const int32_t *points;              /* [count*corners] */
    const double *rest;                 /* [place_count*3] */
    const double *weights;              /* [count] w_e; elements whose rest shape is flat (or a line) count as 0 */
    sup_element_target_fn *target;
    void *user;
} sup_elements_def;

typedef struct sup_elements sup_elements;

/* Copies all but `user`. */
sup_result sup_elements_create(const sup_context *context, const sup_elements_def *def, sup_elements **elements,
                               sup_error *error);
void sup_elements_destroy(sup_elements *elements);

/* Positions of the held places: [3*(place_count - unknown_count)]. They are those of the rest shape before. */
void sup_elements_set_fixed(sup_elements *elements, const double *positions);

/* The term for a sup_surface_fit over the unknowns; borrows `elements`. */
sup_fit_term sup_elements_term(sup_elements *elements);

/* sum w_e |F_e - T_e|^2 here, [unknown_count*3]. */
double sup_elements_energy(sup_elements *elements, const double *positions);

#endif
