/* push_out.h (internal) - keeps the output skin out of scene colliders.
 *
 * Not in the paper. Tracking ignores colliders: only the output is pushed out of them, and the surrounding skin
 * follows, so that a collider has no effect once it is gone. Friction is ignored. */
#ifndef SUP_METHODS_IMPLICIT_PUSH_OUT_H
#define SUP_METHODS_IMPLICIT_PUSH_OUT_H

#include "geometry/collide_points.h"
#include "methods/implicit/track.h"

/* `output` [vertex_count*4] in sizes from the origin, as written by sup_track_output; solids in file units from the
 * same origin. The positions of the state do not change. */
void sup_push_out(const sup_context *context, const sup_track *track, void *state, const sup_posed_collider *solids,
                  int32_t solid_count, double size, float *output);

#endif
