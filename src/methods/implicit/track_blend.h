/* track_blend.h (internal) - the output skin between the tracked skin and dual quaternions, chosen vertex by vertex. */
#ifndef SUP_METHODS_IMPLICIT_TRACK_BLEND_H
#define SUP_METHODS_IMPLICIT_TRACK_BLEND_H

#include "methods/implicit/track_work.h"

size_t sup_track_blend_scratch_size(const sup_track *track, const sup_track_mesh *mesh);
/* Keeps the list of the `bent` clusters. */
void sup_track_blend_begin(const sup_track *track, const sup_track_mesh *mesh, const int32_t *list, int32_t bent,
                           void *scratch);
/* Moves vertices of `output` in these clusters towards `skinned` [vertex_count*4], the dual quaternion
 * positions, where edges are longer than `longest` times rest or triangles are flipped that those do not flip. */
void sup_track_blend(const sup_context *context, const sup_track *track, const sup_track_mesh *mesh, void *scratch,
                     const float *skinned, const float *transform, float longest, int32_t bent, float *output);
/* Positions of `output` swollen as far as may be, outside of contacts: memory of the scratch. */
const float *sup_track_swell(const sup_context *context, const sup_track *track, void *state,
                             const sup_track_mesh *mesh, void *scratch, float *output);

#endif
