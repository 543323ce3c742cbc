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

/* Energy that the last step had left, in the method's own units; NaN when the method has none. */
SUP_API double sup_instance_energy(const sup_instance *instance);

/* Sets a live parameter for this instance. SUP_ERROR_ARGUMENT when it is unknown, out of range or needs a bind. */
SUP_API sup_result sup_instance_set(sup_instance *instance, const char *name, double value, sup_error *error);

/* Things in the way of the skin, instead of those before; NULL and 0: none. Everything is copied, memory is taken here
 * and not in a step. Only for methods that mind them (SUP_METHOD_COLLIDES). On failure those before stay. */
SUP_API sup_result sup_instance_set_colliders(sup_instance *instance, const sup_collider *colliders, int32_t count,
                                              sup_error *error);
/* Where one of them is from the next step on (sup_collider.place): it moves there evenly during that step, and drags
 * the skin along. SUP_ERROR_ARGUMENT when there is no such collider or the place is not finite or flat. */
SUP_API sup_result sup_instance_move_collider(sup_instance *instance, int32_t index, sup_mat34 place);

/* Has `stage_done` called when a stage of a step is over, on the thread that steps; NULL: no longer. Methods without
 * stages call nothing. */
SUP_API sup_result sup_instance_observe(sup_instance *instance, sup_stage_fn *stage_done, void *user);

#endif
