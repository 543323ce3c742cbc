/* push_out.h (internal) - the shown skin stays out of things that are in its way.
 *
 * Not of the paper. Tracking knows nothing of them: what is shown is pushed out of them and the skin around follows, so
 * that a thing leaves no trace once it is gone. Friction is not minded. */
#ifndef SUP_METHODS_IMPLICIT_PUSH_OUT_H
#define SUP_METHODS_IMPLICIT_PUSH_OUT_H

#include "geometry/collide_points.h"
#include "methods/implicit/track.h"

/* `shown` [row_count*4] in sizes from the origin, as sup_track_show leaves it; solids in file units from there. The
 * state's own places stay. */
void sup_outside_push(const sup_context *context, const sup_track *track, void *state, const sup_posed_collider *solids,
                      int32_t solid_count, double size, float *shown);

#endif
