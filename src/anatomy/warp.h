/* warp.h (internal) - a smooth map of space that interpolates given displacements of points. */
#ifndef SUP_ANATOMY_WARP_H
#define SUP_ANATOMY_WARP_H

#include "base/base.h"

/* Eq. 4.15 with phi(r) = r^3. The system depends only on the centres: one factor serves all displacements. */
typedef struct sup_warp sup_warp;

/* Farthest point sampling of `count` of the points [point_count*3], starting at the first one; `chosen` gets their
 * indices. Returns their number: fewer if points coincide. */
int32_t sup_warp_sample(int32_t point_count, const double *points, int32_t count, int32_t *chosen, double *distances);

/* Centres [count*3], at least 4 that are not in one plane (anatomy.warp.flat), all different (anatomy.warp.double);
 * else fails with SUP_ERROR_DATA. */
sup_result sup_warp_create(const sup_context *context, int32_t count, const double *centres, sup_warp **warp,
                           sup_error *error);
void sup_warp_destroy(sup_warp *warp);

/* Computes the coefficients for these displacements of the centres, [count*3]. */
sup_result sup_warp_set(sup_warp *warp, const double *displacements, sup_error *error);
/* points[i] += d(points[i]), in parallel. */
void sup_warp_apply(const sup_warp *warp, int32_t point_count, double *points);

/* Inner loop: the kernel sum at 8 points (x[0..7], y.., z..) over all centres ([4*count]: x, y, z, 0) with weights
 * (the same layout); adds to sums [3*8]. One version per instruction set. */
typedef void sup_warp_sum_fn(int32_t count, const double *centres, const double *weights, const double *points,
                             double *sums);
sup_warp_sum_fn *sup_warp_sum_avx2(void);   /* NULL if this build or processor does not support it */
sup_warp_sum_fn *sup_warp_sum_avx512(void); /* likewise */

#endif
