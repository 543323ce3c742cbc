/* enclosure.h (internal) - nesting of layers: points outside a closed surface, inverted prisms. */
#ifndef SUP_ANATOMY_ENCLOSURE_H
#define SUP_ANATOMY_ENCLOSURE_H

#include "base/base.h"
#include "supple/anatomy.h"

/* Number of points [3*count] outside a closed surface, by winding number; points with `skip` set (may be NULL) are
 * ignored. `outside` (may be NULL, [count]) gets 1 for each. Returns -1 when out of memory. */
int32_t sup_points_outside(const sup_context *context, const sup_shape *surface, int32_t count, const double *points,
                           const unsigned char *skip, unsigned char *outside);

/* Signed volume of the prism between a triangle's corners on two layers, with bilinear sides. */
double sup_prism_volume(const double *inner, const double *outer, const int32_t corners[3]);
/* Number of prisms without positive volume; prisms with all three corners in `skip` (may be NULL) are ignored. `bad`
 * (may be NULL, [triangle_count]) gets 1 for each. */
int32_t sup_prisms_inverted(int32_t triangle_count, const int32_t *triangles, const double *inner, const double *outer,
                            const unsigned char *skip, unsigned char *bad);

#endif
