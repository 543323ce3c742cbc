/* composition.h (internal) - creates a composition: its storage, and the skin weights of its mean. */
#ifndef SUP_ANATOMY_COMPOSITION_H
#define SUP_ANATOMY_COMPOSITION_H

#include "anatomy/array_store.h"

/* An empty composition with a storage, whose arena holds its arrays; returns NULL when out of memory. */
sup_composition *sup_composition_open(const sup_context *context);

/* Computes influences by bone heat and the excluded vertices (4.2.2: head, hands, toes) from triangles, mean and
 * joints. */
sup_result sup_composition_compute_weights(const sup_context *context, sup_composition *composition, sup_error *error);

/* Least-squares coordinates over vertices that are not excluded: factor of the normal equations, shared by many
 * skins. */
typedef struct sup_coordinate_solver {
    const sup_composition *composition;
    double *factor; /* [mode_count^2] */
} sup_coordinate_solver;
sup_result sup_coordinate_solver_make(const sup_composition *composition, sup_arena *arena,
                                      sup_coordinate_solver *solver, sup_error *error);
/* `skin` is [vertex_count*3]. */
void sup_coordinates_solve(const sup_coordinate_solver *solver, const double *skin, double *coordinates);

#endif
