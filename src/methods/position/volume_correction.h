/* volume_correction.h (internal) - global volume correction of the render mesh.
 *
 * The tets preserve volume only to the accuracy of a dozen iterations, and the render mesh lies slightly above them:
 * together up to about 1 % is lost or gained in extreme bends. The whole skin is offset along its normals by
 * (V_rest - V) / area, 0.1 to 0.2 mm on a human. Holes are closed by fans. Not with morph targets, which may change the
 * volume. Rigid components do not move. */
#ifndef SUP_METHODS_POSITION_VOLUME_CORRECTION_H
#define SUP_METHODS_POSITION_VOLUME_CORRECTION_H

#include "base/base.h"
#include "supple/model.h"
#include "supple/rig.h"

typedef struct sup_volume_correction {
    int32_t vertex_count, skin_count, triangle_count; /* no triangles: no correction */
    const int32_t *triangle;                          /* [triangle_count*3] skin vertices */
    const int32_t *source;                            /* [skin_count] a render vertex */
    const int32_t *skin_of;                           /* [vertex_count] skin vertex, -1 where it does not move */
    float volume;                                     /* at rest, sizes cubed */
} sup_volume_correction;

sup_result sup_volume_correction_bind(const sup_context *context, const sup_rig *rig, sup_model_builder *builder,
                                      const char *prefix, sup_error *error);
sup_result sup_volume_correction_open(const sup_model *model, const char *prefix, sup_volume_correction *correction,
                                      sup_error *error);
/* Scratch size in bytes, a multiple of 64. */
size_t sup_volume_correction_scratch(const sup_volume_correction *correction);
/* `share` in [0, 1]: of the correction. */
void sup_volume_correction_apply(const sup_volume_correction *correction, float size, float share, void *scratch,
                                 const sup_skin_out *out);

#endif
