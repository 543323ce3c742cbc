/* rest_damping.h (internal) - damps residual motion of the tissue while the skeleton does not move.
 *
 * Contacts depend on the skin that they push: pairs begin and end, normals turn, tetrahedra in creases invert. There
 * may be no position that satisfies all of them, and the steps then oscillate for ever. While the skeleton is at rest,
 * each vertex therefore moves only by a fraction of the displacement that a step computes. The fraction shrinks
 * whenever the displacement reverses and grows while it does not: oscillation ends, and free swinging or the return
 * from a push is not affected. Step sizes that shrink with the number of reversals, not with time, converge to the
 * point where the mean displacement is zero, as in stochastic approximation [kesten1958]. Nothing is shortened while
 * there is no contact or the mean displacement is large, since oscillating skin would hold back tissue that swings.
 * Once the mean displacement is very small, tissue in contact is stopped. */
#ifndef SUP_SOLVER_REST_DAMPING_H
#define SUP_SOLVER_REST_DAMPING_H

#include "solver/system.h"

typedef struct sup_rest_damping_vertex {
    float displacement[3]; /* that the last step computed */
    float fraction;        /* of it that the vertex moves */
} sup_rest_damping_vertex;

typedef struct sup_rest_damping {
    float fraction; /* step fraction of all vertices */
    float mean;     /* mean length of the displacements that the last step computed, in sizes */
} sup_rest_damping;

/* The skeleton has come to rest: all fractions are 1. `vertices` [unknown_count]. */
void sup_rest_damping_begin(const sup_system *system, sup_rest_damping *damping, sup_rest_damping_vertex *vertices);
/* Shortens the displacements of a step from `previous` to `now` [unknown_count*4], in `now`. `in_contact`: contacts
 * push. */
void sup_rest_damping_step(const sup_system *system, const float *previous, float *now, bool in_contact,
                           sup_rest_damping *damping, sup_rest_damping_vertex *vertices);

#endif
