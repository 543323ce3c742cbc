/* paint.h - maps that an artist paints on the render mesh, and brushes that paint them.
 *
 * A map has one number per render vertex, such as the stiffness of the tissue. The maps of a method are listed in its
 * table (method.h); sup_bind accepts any of them (model.h), and sup_instance_paint accepts live maps between steps
 * (deform.h). A brush writes a mask, 0 to 1 per render vertex; sup_paint_blend blends a value into a map with that
 * mask, so that a map can have several strokes. */
#ifndef SUPPLE_PAINT_H
#define SUPPLE_PAINT_H

#include "supple/rig.h"

/* One painted map. */
typedef struct sup_paint {
    const char *map;     /* name in the method's table, such as "stiffness" */
    const float *values; /* [rig->vertex_count] in the map's range */
} sup_paint;

/* Index of the rig joint of that name, -1 for none. */
SUP_API int32_t sup_rig_find_joint(const sup_rig *rig, const char *name);

/* Brushes. `mask` is [rig->vertex_count] and is overwritten.
 * 1 within `radius` of a joint in the bind pose, falling smoothly to 0 over a further `border`; file units. */
SUP_API sup_result sup_paint_sphere(const sup_rig *rig, int32_t joint, double radius, double border, float *mask,
                                    sup_error *error);
/* The sum of each vertex's skinning weights of the joint and of its descendants. */
SUP_API sup_result sup_paint_joint(const sup_rig *rig, int32_t joint, float *mask, sup_error *error);
/* 1 on one primitive of the character, 0 elsewhere. */
SUP_API sup_result sup_paint_primitive(const sup_rig *rig, int32_t primitive, float *mask, sup_error *error);
/* rig->vertex_count numbers from text in the character's vertex order, separated by white space, commas or semicolons;
 * "#" starts a comment that ends with the line. */
SUP_API sup_result sup_paint_numbers(const sup_rig *rig, sup_bytes text, float *mask, sup_error *error);

/* One stroke: values[v] moves towards `value` by the fraction mask[v], clamped to [0, 1]. */
SUP_API void sup_paint_blend(int32_t vertex_count, const float *mask, double value, float *values);

#endif
