/* rest_damping.h (internal) - flesh comes to rest when the skeleton stands.
 *
 * Rows of contact follow the skin that they push: pairs begin and end, normals turn, tetrahedra in creases turn over. There
 * may be no place in which all of them are content, and steps then go to and fro for ever. While the skeleton stands, each
 * vertex therefore goes only a share of the way that a step asks for. The share falls whenever the vertex turns back and
 * rises while it goes on: trembling ends, and flesh that swings or comes back from a push does not notice. That steps which
 * get shorter with every turn, and not with time, end where the mean of the pulls is zero, is known from stochastic
 * approximation [kesten1958]. As long as nothing touches, or much of the flesh moves far, nothing is shortened: trembling skin
 * would hold back what swings. Once hardly anything is asked for, flesh that touches is stopped. */
#ifndef SUP_SOLVER_REST_DAMPING_H
#define SUP_SOLVER_REST_DAMPING_H

#include "solver/system.h"

typedef struct sup_rest_damping_vertex {
    float way[3]; /* that the last step asked for */
    float share;  /* of the way that it goes */
} sup_rest_damping_vertex;

typedef struct sup_rest_damping {
    float part; /* of their ways that all go */
    float mean; /* of the ways that the last step asked for, sizes */
} sup_rest_damping;

/* The skeleton has come to stand: all go their ways. `vertices` [unknown_count]. */
void sup_rest_damping_begin(const sup_system *system, sup_rest_damping *calm, sup_rest_damping_vertex *vertices);
/* A step from `before` to `now` [place*4]: shortens its ways, in `now`. `touches`: rows of contact push. */
void sup_rest_damping_step(const sup_system *system, const float *before, float *now, bool touches, sup_rest_damping *calm,
                   sup_rest_damping_vertex *vertices);

#endif
