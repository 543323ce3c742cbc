/* volume_correction.h (internal) - the volume of the shown skin, kept exactly.
 *
 * The tets keep theirs to what a dozen iterations reach, and the shown skin lies a little over them: together up to about
 * one part in a hundred is lost or won in the hardest bends. That is put back evenly: all of the skin goes out or in by
 * (V_rest - V) / area, a tenth of a millimetre or two on a human. Only for skins that are closed, and without morph targets,
 * which may change the volume as they like. */
#ifndef SUP_METHODS_POSITION_VOLUME_CORRECTION_H
#define SUP_METHODS_POSITION_VOLUME_CORRECTION_H

#include "base/base.h"
#include "supple/model.h"
#include "supple/rig.h"

typedef struct sup_fill {
    int32_t vertex_count, skin_count, triangle_count; /* no triangles: nothing is done */
    const int32_t *triangle;                          /* [triangle_count*3] skin vertices */
    const int32_t *source;                            /* [skin_count] a shown vertex */
    const int32_t *skin_of;                           /* [vertex_count] skin vertex, or -1 */
    float volume;                                     /* at rest, sizes cubed */
} sup_fill;

sup_result sup_fill_bind(const sup_rig *rig, sup_model_builder *builder, const char *prefix, sup_error *error);
sup_result sup_fill_open(const sup_model *model, const char *prefix, sup_fill *fill, sup_error *error);
/* Bytes that apply works in, a multiple of 64. */
size_t sup_fill_scratch(const sup_fill *fill);
void sup_fill_apply(const sup_fill *fill, float size, void *scratch, const sup_skin_out *out);

#endif
