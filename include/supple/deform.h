/* deform.h - an instance: one animated character. Steps from a pose to the skin. */
#ifndef SUPPLE_DEFORM_H
#define SUPPLE_DEFORM_H

#include "supple/model.h"

typedef struct sup_instance sup_instance;

/* `pose`: start pose, NULL = the bind pose. The model must outlive its instances. Different instances may step on
 * different threads at the same time. */
SUP_API sup_result sup_instance_create(const sup_context *context, const sup_model *model, const sup_pose *pose,
                                       sup_instance **instance, sup_error *error);
SUP_API void sup_instance_destroy(sup_instance *instance);

/* One frame: `dt` seconds after the previous one, the skeleton in `pose`, the skin to `out`. A pose with a non-finite
 * number is refused with SUP_ERROR_DATA and changes nothing: the output is never NaN. Allocates nothing. */
SUP_API sup_result sup_instance_step(sup_instance *instance, const sup_pose *pose, float dt, const sup_skin_out *out);

/* Puts the instance at rest in `pose`, without velocity. */
SUP_API sup_result sup_instance_reset(sup_instance *instance, const sup_pose *pose);

/* Saves the dynamic state of an instance: the same motion continues from it in this instance, in another one of the
 * same model, or in another process. Live parameters are included; colliders, which belong to the caller, are not. The
 * bytes are valid for the same build of the library on the same processor type. `size` is sup_instance_state_size,
 * which is constant for a model. A restore that fails changes nothing. */
SUP_API size_t sup_instance_state_size(const sup_instance *instance);
SUP_API sup_result sup_instance_state_save(const sup_instance *instance, void *bytes, size_t size);
SUP_API sup_result sup_instance_state_restore(sup_instance *instance, const void *bytes, size_t size, sup_error *error);

/* Objective that the last step minimised, at its end, in the method's own unit; NaN when the method has none. */
SUP_API double sup_instance_energy(const sup_instance *instance);

/* Values of the scalar field that the skin lies near (sup_method_inspection.field), for visualisation: `points`
 * [count*3] in world space. SUP_ERROR_ARGUMENT when the method has no field. */
SUP_API sup_result sup_instance_field(const sup_instance *instance, const float *points, int32_t count, float *values);

/* Tissue and volumetric bones as of the last step, for visualisation. Call it with NULL arrays first to get the counts,
 * which are constant. SUP_ERROR_ARGUMENT when the method has no geometry under the skin. */
SUP_API sup_result sup_instance_inner(const sup_instance *instance, sup_inner *inner);

/* Sets a live parameter for this instance. SUP_ERROR_ARGUMENT when it is unknown, out of range or needs a bind. */
SUP_API sup_result sup_instance_set(sup_instance *instance, const char *name, double value, sup_error *error);

/* Replaces a live map (sup_map.live) of this instance from its next step on: `values` for each render vertex in the
 * map's range, NULL for those of the bind. Allocates nothing. SUP_ERROR_ARGUMENT, without a change, when the map is
 * unknown, a value is out of range or the change needs a bind. sup_instance_reset keeps the map. */
SUP_API sup_result sup_instance_paint(sup_instance *instance, const char *map, const float *values, sup_error *error);

/* Replaces the scene colliders of the instance; NULL and 0: none. Copies and allocates here, not in a step. Only for
 * methods with SUP_METHOD_COLLIDES. A failure changes nothing. */
SUP_API sup_result sup_instance_set_colliders(sup_instance *instance, const sup_collider *colliders, int32_t count,
                                              sup_error *error);
/* Sets the transform of a collider at the end of the next step: it moves there at constant velocity during that step,
 * with friction on the skin. SUP_ERROR_ARGUMENT when the index is out of range or the transform is not finite and
 * invertible. */
SUP_API sup_result sup_instance_move_collider(sup_instance *instance, int32_t index, sup_mat34 transform);

/* Profiling hook: `stage_done` is called at the end of each stage of a step, on the stepping thread; NULL: none.
 * Methods without stages do not call it. */
SUP_API sup_result sup_instance_observe(sup_instance *instance, sup_stage_fn *stage_done, void *user);

#endif
