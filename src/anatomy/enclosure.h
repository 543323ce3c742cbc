/* enclosure.h (internal) - whether layers lie inside each other: points outside a closed surface, prisms turned over. */
#ifndef SUP_ANATOMY_ENCLOSURE_H
#define SUP_ANATOMY_ENCLOSURE_H

#include "base/base.h"
#include "supple/anatomy.h"

/* How many of the points [3*count] are outside a closed surface, by winding number; where `skip` (may be NULL) is set they
 * are not looked at. `outside` (may be NULL, [count]) gets 1 for those. -1 when memory ran out. */
int32_t sup_points_outside(const sup_context *context, const sup_shape *surface, int32_t count, const double *points,
                           const unsigned char *skip, unsigned char *outside);

/* Signed volume of the prism between a triangle's corners on two layers: its sides are bilinear. */
double sup_prism_volume(const double *inner, const double *outer, const int32_t corners[3]);
/* Prisms without a positive volume; those with three corners in `skip` (may be NULL) have none and do not count. `bad` (may
 * be NULL, [triangle_count]) gets 1 for those. */
int32_t sup_prisms_inverted(int32_t triangle_count, const int32_t *triangles, const double *inner, const double *outer,
                            const unsigned char *skip, unsigned char *bad);

#endif
