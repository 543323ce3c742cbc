/* instance.c - one character being animated: the checks around a method's step, and its state. */
#include "base/base.h"
#include "bind/model.h"
#include "deform/colliders.h"
#include "supple/deform.h"

#include <math.h>

struct sup_instance {
    sup_context context;
    const sup_model *model;
    const sup_method *method;
    void *state; /* 64-byte aligned, NULL when the method has none */
    size_t state_size;
    sup_colliders *colliders; /* or NULL */
    uint32_t generation;      /* lists of colliders so far */
    sup_stage_fn *stage_done; /* or NULL */
    void *stage_user;
    size_t size;     /* bytes of this object */
    double values[]; /* [method->param_count] */
};

static bool all_finite(const float *values, int64_t count)
{
    /* x * 0 is 0 for finite x and NaN for all else; several sums keep the additions from waiting on each other. */
    float sums[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++)
            sums[k] += values[i + k] * 0.0f;
    for (; i < count; i++)
        sums[0] += values[i] * 0.0f;
    for (int k = 1; k < 8; k++)
        sums[0] += sums[k];
    return sums[0] == 0.0f;
}

static sup_result check_pose(const sup_model *model, const sup_pose *pose)
{
    if (pose == NULL || pose->node_count != sup_model_node_count(model) ||
        pose->morph_weight_count != sup_model_morph_weight_count(model))
        return SUP_ERROR_ARGUMENT;
    if ((pose->world == NULL && pose->node_count > 0) || (pose->morph_weights == NULL && pose->morph_weight_count > 0))
        return SUP_ERROR_ARGUMENT;
    if (pose->node_count > 0 && !all_finite(pose->world[0].m, (int64_t)pose->node_count * 12)) return SUP_ERROR_DATA;
    return all_finite(pose->morph_weights, pose->morph_weight_count) ? SUP_OK : SUP_ERROR_DATA;
}

/* An array of `floats` floats a vertex: stride 0, or at least one element and whole floats; aligned as a float is. */
static bool output_fits(const float *array, size_t stride, size_t floats)
{
    if (array == NULL) return true;
    return (uintptr_t)array % sizeof(float) == 0 && stride % sizeof(float) == 0 &&
           (stride == 0 || stride >= floats * sizeof(float));
}

/* Strides with 0 replaced by the packed ones. */
static sup_result resolve_output(const sup_skin_out *out, sup_skin_out *resolved)
{
    if (out == NULL || !output_fits(out->positions, out->position_stride, 3) ||
        !output_fits(out->normals, out->normal_stride, 3) || !output_fits(out->tangents, out->tangent_stride, 4))
        return SUP_ERROR_ARGUMENT;
    *resolved = *out;
    if (resolved->position_stride == 0) resolved->position_stride = 3 * sizeof(float);
    if (resolved->normal_stride == 0) resolved->normal_stride = 3 * sizeof(float);
    if (resolved->tangent_stride == 0) resolved->tangent_stride = 4 * sizeof(float);
    return SUP_OK;
}

static sup_step_input step_input(const sup_instance *instance, const sup_pose *pose, float dt)
{
    return (sup_step_input){.context = &instance->context,
                            .model = instance->model,
                            .values = instance->values,
                            .pose = pose,
                            .dt = dt,
                            .colliders = instance->colliders,
                            .stage_done = instance->stage_done,
                            .stage_user = instance->stage_user};
}

static sup_result reset_state(sup_instance *instance, const sup_pose *pose)
{
    sup_result result = check_pose(instance->model, pose);
    if (result != SUP_OK || instance->method->reset == NULL) return result;
    sup_step_input input = step_input(instance, pose, 0.0f);
    if (instance->colliders != NULL) {
        sup_colliders_aim(instance->colliders, pose);
        sup_colliders_pass(instance->colliders);
    }
    return instance->method->reset(&input, instance->state);
}

/* The model's own bind pose. A sup_pose is writable for its owner; nothing writes through this one. */
static sup_pose bind_pose(const sup_model *model)
{
    union {
        const void *from;
        void *to;
    } world = {sup_model_array(model, "bind.world", SUP_ARRAY_FLOAT, -1)},
      weights = {sup_model_array(model, "bind.morph_weights", SUP_ARRAY_FLOAT, -1)};
    return (sup_pose){sup_model_node_count(model), world.to, sup_model_morph_weight_count(model), weights.to};
}

sup_result sup_instance_create(const sup_context *context_in, const sup_model *model, const sup_pose *pose,
                               sup_instance **instance_out, sup_error *error)
{
    if (model == NULL || instance_out == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "instance.null", "",
                        "A model and a place for the instance are needed.");
    sup_context context = sup_context_resolve(context_in);
    const sup_method *method = sup_model_method(model);
    size_t size = sizeof(sup_instance) + (size_t)method->param_count * sizeof(double);
    sup_instance *instance = sup_alloc_zero(&context.allocator, size);
    if (instance == NULL) return sup_fail_memory(error, "the instance");
    instance->context = context;
    instance->model = model;
    instance->method = method;
    instance->size = size;
    if (method->param_count > 0)
        memcpy(instance->values, sup_model_values(model), (size_t)method->param_count * sizeof(double));
    instance->state_size = method->state_size != NULL ? method->state_size(model, &instance->context) : 0;
    if (instance->state_size > 0) instance->state = sup_alloc_zero(&context.allocator, instance->state_size);
    sup_result result = SUP_OK;
    if (instance->state_size > 0 && instance->state == NULL)
        result = sup_fail_memory(error, "the instance");
    else {
        sup_pose start = pose != NULL ? *pose : bind_pose(model);
        result = reset_state(instance, &start);
        if (result != SUP_OK)
            sup_fail(error, result, "instance.pose", "",
                     "The start pose does not fit the model: it needs %d finite node transforms and %d morph weights.",
                     sup_model_node_count(model), sup_model_morph_weight_count(model));
    }
    if (result != SUP_OK) {
        sup_instance_destroy(instance);
        return result;
    }
    *instance_out = instance;
    return SUP_OK;
}

void sup_instance_destroy(sup_instance *instance)
{
    if (instance == NULL) return;
    sup_allocator allocator = instance->context.allocator;
    sup_colliders_destroy(instance->colliders);
    if (instance->state != NULL) sup_free(&allocator, instance->state, instance->state_size);
    sup_free(&allocator, instance, instance->size);
}

sup_result sup_instance_step(sup_instance *instance, const sup_pose *pose, float dt, const sup_skin_out *out)
{
    if (instance == NULL || !(dt >= 0.0f) || !isfinite(dt)) return SUP_ERROR_ARGUMENT;
    sup_skin_out resolved;
    sup_result result = resolve_output(out, &resolved);
    if (result == SUP_OK) result = check_pose(instance->model, pose);
    if (result != SUP_OK) return result;
    sup_step_input input = step_input(instance, pose, dt);
    if (instance->colliders != NULL) sup_colliders_aim(instance->colliders, pose);
    result = instance->method->step(&input, instance->state, &resolved);
    if (result == SUP_OK && instance->colliders != NULL) sup_colliders_pass(instance->colliders);
    return result;
}

double sup_instance_energy(const sup_instance *instance)
{
    if (instance == NULL || instance->method->energy == NULL) return (double)NAN;
    return instance->method->energy(instance->state);
}

sup_result sup_instance_reset(sup_instance *instance, const sup_pose *pose)
{
    return instance != NULL ? reset_state(instance, pose) : SUP_ERROR_ARGUMENT;
}

sup_result sup_instance_set(sup_instance *instance, const char *name, double value, sup_error *error)
{
    if (instance == NULL || name == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.null", "", "An instance and a name are needed.");
    int32_t index = sup_method_param(instance->method, name, error);
    if (index < 0) return SUP_ERROR_ARGUMENT;
    const sup_param *param = &instance->method->params[index];
    sup_result result = sup_param_check(param, value, error);
    if (result != SUP_OK) return result;
    if (!param->live)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.bind", name,
                        "\"%s\" cannot change while the character moves: bind it again with the new value.", name);
    instance->values[index] = value;
    return SUP_OK;
}

sup_result sup_instance_set_colliders(sup_instance *instance, const sup_collider *colliders, int32_t count,
                                      sup_error *error)
{
    if (instance == NULL || count < 0 || (colliders == NULL && count > 0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "collider.null", "", "An instance and colliders are needed.");
    if (count > 0 && (instance->method->flags & SUP_METHOD_COLLIDES) == 0)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "collider.method", instance->method->name,
                        "The method \"%s\" does not mind colliders: bind with one that does, such as projective.",
                        instance->method->name);
    sup_colliders *made = NULL;
    if (count > 0) {
        sup_result result = sup_colliders_create(&instance->context, colliders, count,
                                                 sup_model_node_count(instance->model), &made, error);
        if (result != SUP_OK) return result;
        made->generation = ++instance->generation;
    }
    sup_colliders_destroy(instance->colliders);
    instance->colliders = made;
    return SUP_OK;
}

sup_result sup_instance_move_collider(sup_instance *instance, int32_t index, sup_mat34 place)
{
    if (instance == NULL || instance->colliders == NULL || index < 0 || index >= instance->colliders->count ||
        !sup_collider_place_usable(place))
        return SUP_ERROR_ARGUMENT;
    instance->colliders->place[index] = sup_affine_from_float(place);
    return SUP_OK;
}

sup_result sup_instance_observe(sup_instance *instance, sup_stage_fn *stage_done, void *user)
{
    if (instance == NULL) return SUP_ERROR_ARGUMENT;
    instance->stage_done = stage_done;
    instance->stage_user = user;
    return SUP_OK;
}
