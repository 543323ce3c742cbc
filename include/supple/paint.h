/* paint.h - what an artist marks on the shown skin: maps for a bind, and the brushes that paint them.
 *
 * A map is a number for each render vertex: how firm the flesh is there, whether it follows the bones rigidly. The maps
 * that a method knows are in its table (method.h); sup_bind takes any of them (model.h), and sup_instance_paint those
 * that are live, between steps (deform.h). A brush makes a mask, 0 to 1 for each render vertex; sup_paint_blend puts a
 * value where the mask says, so that several strokes make one map. */
#ifndef SUPPLE_PAINT_H
#define SUPPLE_PAINT_H

#include "supple/rig.h"

/* One map. */
typedef struct sup_paint {
    const char *map;     /* of the method's table: "stiffness" */
    const float *values; /* [rig->vertex_count] in the map's range */
} sup_paint;

/* The rig's joint of that name, -1 for none. */
SUP_API int32_t sup_rig_find_joint(const sup_rig *rig, const char *name);

/* Brushes. `mask` holds rig->vertex_count floats and is overwritten.
 * 1 within `radius` of a joint in the bind pose, smoothly down to 0 over `border` around it; file units. */
SUP_API sup_result sup_paint_sphere(const sup_rig *rig, int32_t joint, double radius, double border, float *mask,
                                  sup_error *error);
/* The part of each vertex's weight that is the joint's and that of the joints below it. */
SUP_API sup_result sup_paint_joint(const sup_rig *rig, int32_t joint, float *mask, sup_error *error);
/* 1 on one part of the character. */
SUP_API sup_result sup_paint_primitive(const sup_rig *rig, int32_t part, float *mask, sup_error *error);
/* Numbers from text, rig->vertex_count of them in the character's vertex order, between spaces, commas or line ends;
 * "#" comments out the rest of a line. */
SUP_API sup_result sup_paint_numbers(const sup_rig *rig, sup_bytes text, float *mask, sup_error *error);

/* A stroke: values[v] goes to `value` by mask[v]. */
SUP_API void sup_paint_blend(int32_t vertex_count, const float *mask, double value, float *values);

#endif
