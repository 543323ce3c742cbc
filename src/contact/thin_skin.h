/* thin_skin.h (internal) - sheets of skin that are too thin for contact: wings, ears, capes. */
#ifndef SUP_CONTACT_THIN_SKIN_H
#define SUP_CONTACT_THIN_SKIN_H

#include "base/base.h"

/* Sets thin[v] to 1 for the vertices of a closed or open skin whose opposite side is nearer than a fraction of their
 * edges, in the bind pose; other entries are not changed. The prisms of detection, which reach down to the bone line,
 * do not represent such sheets: both sides would end in the prisms of the other one, and contact would hold them there.
 * positions [vertex_count*3]; triangles [triangle_count*3] outward. */
sup_result sup_thin_skin_find(const sup_context *context, int32_t vertex_count, const double *positions,
                              int32_t triangle_count, const int32_t *triangles, unsigned char *thin, sup_error *error);

#endif
