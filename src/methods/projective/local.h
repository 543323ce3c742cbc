/* local.h - contact beside the joints: pairs of skin vertices that meet when a joint bends, found once.
 *
 * Based on: [komaritzan2022] section 3.2.5, "CPU-Based Local Collision Handling". The thesis poses by hand and simulates;
 * here every piece of bone is turned about its upper joint towards each other piece there, or all four ways where they
 * are in line, as far as bones go; the skin follows by a turn that fades out over the joint. Detection (detect.h) then
 * says what collides, and each vertex of the turned side is paired with the nearest vertex of the other side.
 * Where this differs from the thesis:
 *  - Sides are told by the pieces of the feet, not by a plane.
 *  - The printed test compares the angle of x_i to its bone with that of x_j to its own. Two vertices of one crease have
 *    the same angle then however far they are apart. Here both angles are taken to the first bone: x_i collides when it
 *    is turned further from it than x_j.
 *  - A pair that collides counts until it is clearly apart: no flicker. */
#ifndef SUP_METHODS_PROJECTIVE_LOCAL_H
#define SUP_METHODS_PROJECTIVE_LOCAL_H

#include "methods/projective/detect.h"

/* One pair and the joint it belongs to. */
typedef struct sup_local_pair {
    int32_t vertex[2]; /* skin vertices, one on each side */
    int32_t piece[2];  /* pieces of bone of the sides */
    int32_t end[2];    /* which end of the piece is at the joint: 0 from, 1 to */
} sup_local_pair;

typedef struct sup_local {
    int32_t pair_count; /* at most one a vertex */
    const sup_local_pair *pairs;
} sup_local;

/* The pairs are memory of `arena`. */
sup_result sup_local_create(const sup_context *context, const sup_tissue *tissue,
                            const sup_volumetric_skeleton *skeleton, const sup_detect *detect, sup_arena *arena,
                            sup_local *local, sup_error *error);

/* State: one byte a pair, whether it collides. */
size_t sup_local_state_size(const sup_local *local); /* 64-aligned */
void sup_local_reset(const sup_local *local, void *state);
/* Rows in the order of the pairs, at most one each: n . (x_i - x_j) >= 0 with the normal of the plane in between.
 * Returns how many. */
int32_t sup_local_step(const sup_detect *detect, const sup_local *local, void *state, const sup_detect_input *input,
                       sup_contact *rows);

#endif
