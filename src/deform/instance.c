/* instance.c - one animated character: the checks around a method's step, and its state. */
#include "base/base.h"
#include "bind/model.h"
#include "deform/instance_colliders.h"
#include "supple/deform.h"

#include <math.h>

#define STATE_MAGIC "SUPPLES\n"
enum { STATE_VERSION = 1 };

/* Header of a saved state; the parameter values and the method's saved bytes follow. */
typedef struct state_header {
    char magic[8];
    uint32_t version, method_version;
    uint64_t size;     /* total, in bytes */
    uint64_t checksum; /* of all bytes, with this field zero */
    uint64_t model;    /* checksum of the model */
    uint64_t saved;    /* bytes of the method */
    char method[SUP_MODEL_NAME];
} state_header;

struct sup_instance {
    sup_context context;
    const sup_model *model;
    const sup_method *method;
    void *state; /* 64-byte aligned, NULL when the method has none */
    sup_layout layout;
    sup_colliders *colliders; /* or NULL */
    uint32_t generation;      /* number of collider lists so far */
    sup_stage_fn *stage_done; /* or NULL */
    void *stage_user;
    size_t size;     /* bytes of this object */
    double values[]; /* [method->param_count] */
};

static bool all_finite(const float *values, int64_t count)
{
    /* x * 0 is 0 for finite x and NaN otherwise; eight sums shorten the dependency chain of the additions. */
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

/* An array of `floats` floats per vertex: stride 0, or a multiple of a float that holds one element; aligned to a
 * float. */
static bool output_fits(const float *array, size_t stride, size_t floats)
{
    if (array == NULL) return true;
    return (uintptr_t)array % sizeof(float) == 0 && stride % sizeof(float) == 0 &&
           (stride == 0 || stride >= floats * sizeof(float));
}

/* Replaces strides of 0 by the tightly packed ones. */
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
        sup_colliders_set_pose(instance->colliders, pose);
        sup_colliders_end_frame(instance->colliders);
    }
    return instance->method->reset(&input, instance->state);
}

/* The bind pose of the model. A sup_pose has non-const pointers; nothing writes through these. */
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
                        "A model and a pointer for the new instance are required.");
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
    sup_result result = sup_method_layout(method, model, &instance->context, &instance->layout);
    size_t state_size = result == SUP_OK ? instance->layout.size : 0;
    if (state_size > 0) instance->state = sup_alloc_zero(&context.allocator, state_size);
    if (result == SUP_ERROR_MEMORY || (state_size > 0 && instance->state == NULL))
        result = sup_fail_memory(error, "the instance");
    else if (result != SUP_OK)
        sup_fail(error, result, "instance.layout", method->name,
                 "Method \"%s\" cannot lay out a state for this model: bind it again.", method->name);
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
    if (instance->state != NULL) sup_free(&allocator, instance->state, instance->layout.size);
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
    if (instance->colliders != NULL) sup_colliders_set_pose(instance->colliders, pose);
    result = instance->method->step(&input, instance->state, &resolved);
    if (result == SUP_OK && instance->colliders != NULL) sup_colliders_end_frame(instance->colliders);
    return result;
}

static const sup_method_inspection *inspection_of(const sup_instance *instance)
{
    return instance != NULL ? instance->method->inspection : NULL;
}

sup_result sup_instance_field(const sup_instance *instance, const float *points, int32_t count, float *values)
{
    const sup_method_inspection *inspection = inspection_of(instance);
    if (inspection == NULL || inspection->field == NULL || count < 0 ||
        (count > 0 && (points == NULL || values == NULL)))
        return SUP_ERROR_ARGUMENT;
    inspection->field(instance->model, instance->state, points, count, values);
    return SUP_OK;
}

sup_result sup_instance_inner(const sup_instance *instance, sup_inner *inner)
{
    const sup_method_inspection *inspection = inspection_of(instance);
    if (inspection == NULL || inspection->inner == NULL || inner == NULL) return SUP_ERROR_ARGUMENT;
    inspection->inner(instance->model, instance->state, inner);
    return SUP_OK;
}

double sup_instance_energy(const sup_instance *instance)
{
    const sup_method_inspection *inspection = inspection_of(instance);
    return inspection != NULL && inspection->energy != NULL ? inspection->energy(instance->state) : (double)NAN;
}

sup_result sup_instance_reset(sup_instance *instance, const sup_pose *pose)
{
    return instance != NULL ? reset_state(instance, pose) : SUP_ERROR_ARGUMENT;
}

sup_result sup_instance_set(sup_instance *instance, const char *name, double value, sup_error *error)
{
    if (instance == NULL || name == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.null", "", "An instance and a parameter name are required.");
    int32_t index = sup_method_param(instance->method, name, error);
    if (index < 0) return SUP_ERROR_ARGUMENT;
    const sup_param *param = &instance->method->params[index];
    sup_result result = sup_param_check(param, value, error);
    if (result != SUP_OK) return result;
    if (!param->live)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.bind", name,
                        "Parameter \"%s\" is fixed at bind: bind again with the new value.", name);
    instance->values[index] = value;
    return SUP_OK;
}

sup_result sup_instance_paint(sup_instance *instance, const char *name, const float *values, sup_error *error)
{
    if (instance == NULL || name == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.null", "", "An instance and the name of a map are required.");
    const sup_method *method = instance->method;
    int32_t index = sup_method_map(method, name, error);
    if (index < 0) return SUP_ERROR_ARGUMENT;
    if (!method->maps[index].live || method->paint == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.bind", name,
                        "Map \"%s\" is fixed at bind: bind again with the new paint.", name);
    if (values != NULL) {
        int32_t count = sup_model_vertex_count(instance->model);
        sup_result result = sup_map_check(&method->maps[index], values, count, error);
        if (result != SUP_OK) return result;
    }
    return method->paint(instance->model, instance->state, index, values, error);
}

sup_result sup_instance_set_colliders(sup_instance *instance, const sup_collider *colliders, int32_t count,
                                      sup_error *error)
{
    if (instance == NULL || count < 0 || (colliders == NULL && count > 0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "collider.null", "",
                        "An instance and an array of colliders are required.");
    if (count > 0 && (instance->method->flags & SUP_METHOD_COLLIDES) == 0)
        return sup_fail(
            error, SUP_ERROR_UNSUPPORTED, "collider.method", instance->method->name,
            "Method \"%s\" does not collide with scene colliders: bind with one that does, such as projective.",
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

sup_result sup_instance_move_collider(sup_instance *instance, int32_t index, sup_mat34 transform)
{
    if (instance == NULL || instance->colliders == NULL || index < 0 || index >= instance->colliders->count ||
        !sup_collider_transform_usable(transform))
        return SUP_ERROR_ARGUMENT;
    instance->colliders->transform[index] = sup_affine_from_float(transform);
    return SUP_OK;
}

sup_result sup_instance_observe(sup_instance *instance, sup_stage_fn *stage_done, void *user)
{
    if (instance == NULL) return SUP_ERROR_ARGUMENT;
    instance->stage_done = stage_done;
    instance->stage_user = user;
    return SUP_OK;
}

size_t sup_instance_state_size(const sup_instance *instance)
{
    if (instance == NULL) return 0;
    return sizeof(state_header) + (size_t)instance->method->param_count * sizeof(double) + instance->layout.saved_size;
}

static uint64_t state_checksum(const unsigned char *bytes, size_t size)
{
    state_header header;
    memcpy(&header, bytes, sizeof header);
    header.checksum = 0;
    return sup_hash64(bytes + sizeof header, size - sizeof header, sup_hash64(&header, sizeof header, 0));
}

static state_header header_of(const sup_instance *instance)
{
    state_header header = {.version = STATE_VERSION,
                           .method_version = instance->method->version,
                           .size = sup_instance_state_size(instance),
                           .model = sup_model_header_of(instance->model)->checksum,
                           .saved = instance->layout.saved_size};
    memcpy(header.magic, STATE_MAGIC, sizeof header.magic);
    sup_format(header.method, sizeof header.method, "%s", instance->method->name);
    return header;
}

sup_result sup_instance_state_save(const sup_instance *instance, void *bytes, size_t size)
{
    if (instance == NULL || bytes == NULL || size != sup_instance_state_size(instance)) return SUP_ERROR_ARGUMENT;
    unsigned char *to = bytes;
    size_t values = (size_t)instance->method->param_count * sizeof(double);
    state_header header = header_of(instance);
    memcpy(to, &header, sizeof header);
    if (values > 0) memcpy(to + sizeof header, instance->values, values);
    if (header.saved > 0) { /* in memory with the alignment of a state */
        void *copy = sup_alloc(&instance->context.allocator, instance->layout.size);
        if (copy == NULL) return SUP_ERROR_MEMORY;
        memcpy(copy, instance->state, instance->layout.size);
        sup_result result = instance->method->restore(NULL, copy);
        memcpy(to + sizeof header + values, copy, (size_t)header.saved);
        sup_free(&instance->context.allocator, copy, instance->layout.size);
        if (result != SUP_OK) return result;
    }
    header.checksum = state_checksum(bytes, size);
    memcpy(to, &header, sizeof header);
    return SUP_OK;
}

/* Checks that the bytes are a complete state of this instance's model with parameters in range. */
static sup_result check_state(const sup_instance *instance, const unsigned char *bytes, size_t size, sup_error *error)
{
    state_header header, own = header_of(instance);
    if (size < sizeof header || memcmp(bytes, STATE_MAGIC, sizeof header.magic) != 0)
        return sup_fail(error, SUP_ERROR_FORMAT, "state.magic", "", "The data is not a saved state.");
    memcpy(&header, bytes, sizeof header);
    if (header.version != own.version || header.method_version != own.method_version ||
        memcmp(header.method, own.method, sizeof own.method) != 0 || header.model != own.model ||
        header.saved != own.saved)
        return sup_fail(error, SUP_ERROR_DATA, "state.model", instance->method->name,
                        "The state was saved with another model or version: reset the instance instead.");
    if (header.size != size || size != own.size || header.checksum != state_checksum(bytes, size))
        return sup_fail(error, SUP_ERROR_FORMAT, "state.damaged", "", "The saved state is damaged or truncated.");
    for (int32_t i = 0; i < instance->method->param_count; i++) {
        double value;
        memcpy(&value, bytes + sizeof header + (size_t)i * sizeof value, sizeof value);
        sup_result result = sup_param_check(&instance->method->params[i], value, error);
        if (result != SUP_OK) return result;
    }
    return SUP_OK;
}

sup_result sup_instance_state_restore(sup_instance *instance, const void *bytes, size_t size, sup_error *error)
{
    if (instance == NULL || bytes == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "state.null", "", "An instance and a saved state are required.");
    sup_result result = check_state(instance, bytes, size, error);
    if (result != SUP_OK) return result;
    size_t values = (size_t)instance->method->param_count * sizeof(double), saved = instance->layout.saved_size;
    const unsigned char *from = (const unsigned char *)bytes + sizeof(state_header) + values;
    if (saved > 0) {
        sup_pose none = {0};
        sup_step_input input = step_input(instance, &none, 0.0f);
        unsigned char *made = sup_alloc_zero(&instance->context.allocator, instance->layout.size);
        if (made == NULL) return sup_fail_memory(error, "the state");
        memcpy(made, from, saved);
        result = instance->method->restore(&input, made);
        if (result == SUP_OK) {
            void *old = instance->state;
            instance->state = made;
            made = old;
        }
        sup_free(&instance->context.allocator, made, instance->layout.size);
        if (result != SUP_OK)
            return sup_fail(error, result, "state.numbers", "",
                            "The saved state contains invalid numbers: reset the instance instead.");
    }
    if (values > 0) memcpy(instance->values, (const unsigned char *)bytes + sizeof(state_header), values);
    return SUP_OK;
}
