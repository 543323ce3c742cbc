/* deform.h - an instance: one character that is being animated. Takes a pose, gives skin. */
#ifndef SUPPLE_DEFORM_H
#define SUPPLE_DEFORM_H

#include "supple/model.h"

typedef struct sup_instance sup_instance;

/* `pose` is where it starts, NULL = the bind pose. The model must outlive its instances. Different instances may
 * step on different threads at the same time. */
SUP_API sup_result sup_instance_create(const sup_context *context, const sup_model *model, const sup_pose *pose,
                                       sup_instance **instance, sup_error *error);
SUP_API void sup_instance_destroy(sup_instance *instance);

/* One frame: `dt` seconds after the one before, the skeleton at `pose`, the skin into `out`. A pose with a
 * non-finite number is refused with SUP_ERROR_DATA and changes nothing: never NaN out. Allocates nothing. */
SUP_API sup_result sup_instance_step(sup_instance *instance, const sup_pose *pose, float dt, const sup_skin_out *out);

/* Teleport: at rest in `pose`, no velocity. */
SUP_API sup_result sup_instance_reset(sup_instance *instance, const sup_pose *pose);

/* What an instance remembers of the frames before, as bytes: the same motion goes on from there in this instance, in
 * another one of the same model, or in another run of the program. Live parameters are saved too; colliders are not:
 * they are the caller's. Bytes are good for the build of the library that made them, on processors of one kind.
 * `size` is sup_instance_state_size, which stays the same for a model. A restore that fails changes nothing. */
SUP_API size_t sup_instance_state_size(const sup_instance *instance);
SUP_API sup_result sup_instance_state_save(const sup_instance *instance, void *bytes, size_t size);
SUP_API sup_result sup_instance_state_restore(sup_instance *instance, const void *bytes, size_t size, sup_error *error);

/* Energy that the last step had left, in the method's own units; NaN when the method has none. */
SUP_API double sup_instance_energy(const sup_instance *instance);

/* Values of the field that the skin lies near (sup_method.field), for looking at it: `points` [count*3] in world space.
 * SUP_ERROR_ARGUMENT when the method has no field. */
SUP_API sup_result sup_instance_field(const sup_instance *instance, const float *points, int32_t count, float *values);

/* Flesh and volumetric bones as of the last step, for looking at them. Call it with NULL arrays first: it tells the counts,
 * which stay the same. SUP_ERROR_ARGUMENT when the method has nothing under the skin. */
SUP_API sup_result sup_instance_inner(const sup_instance *instance, sup_inner *inner);

/* Sets a live parameter for this instance. SUP_ERROR_ARGUMENT when it is unknown, out of range or needs a bind. */
SUP_API sup_result sup_instance_set(sup_instance *instance, const char *name, double value, sup_error *error);

/* Paints a live map (sup_map.live) of this instance anew, from its next step on: `values` for each render vertex in the
 * map's range, NULL for those of the bind. Allocates nothing. SUP_ERROR_ARGUMENT when the map is unknown, a value is out
 * of range or the change needs a bind; the paint before stays. It stays over sup_instance_reset. */
SUP_API sup_result sup_instance_paint(sup_instance *instance, const char *map, const float *values, sup_error *error);

/* Things in the way of the skin, instead of those before; NULL and 0: none. Everything is copied, memory is taken here
 * and not in a step. Only for methods that mind them (SUP_METHOD_COLLIDES). On failure those before stay. */
SUP_API sup_result sup_instance_set_colliders(sup_instance *instance, const sup_collider *colliders, int32_t count,
                                              sup_error *error);
/* Where one of them is from the next step on (sup_collider.transform): it moves there evenly during that step, and drags
 * the skin along. SUP_ERROR_ARGUMENT when there is no such collider or the place is not finite or flat. */
SUP_API sup_result sup_instance_move_collider(sup_instance *instance, int32_t index, sup_mat34 place);

/* Has `stage_done` called when a stage of a step is over, on the thread that steps; NULL: no longer. Methods without
 * stages call nothing. */
SUP_API sup_result sup_instance_observe(sup_instance *instance, sup_stage_fn *stage_done, void *user);

#endif
