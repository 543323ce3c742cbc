/* calm.h (internal) - flesh comes to rest when the skeleton stands.
 *
 * Rows of contact follow the skin that they push: pairs begin and end, normals turn, tetrahedra in creases turn over. There
 * may be no place in which all of them are content, and steps then go to and fro for ever. While the skeleton stands, each
 * vertex therefore goes only a share of the way that a step would take it. The share falls whenever the vertex turns back
 * and rises while it goes on: trembling ends, and flesh that swings or comes back from a push does not notice. That steps
 * which get shorter with every turn, and not with time, end where the mean of the pulls is zero, is known from stochastic
 * approximation [kesten1958]. Once nothing but the last of it is left, all ways get shorter together. */
#ifndef SUP_METHODS_PROJECTIVE_CALM_H
#define SUP_METHODS_PROJECTIVE_CALM_H

#include "methods/projective/system.h"

/* Of an unknown of the system. */
typedef struct sup_calm {
    float way[3]; /* that the last step would have taken it */
    float share;  /* of the way that it goes */
} sup_calm;

/* The skeleton has come to stand: all go their ways. */
void sup_calm_begin(const sup_system *system, sup_calm *calm);
/* A step from `before` to `now` [place*4]: shortens the ways, in `now`, and all of them to `part`. Returns the root of their
 * mean square before, in sizes. */
float sup_calm_step(const sup_system *system, const float *before, float *now, float part, sup_calm *calm);

#endif
