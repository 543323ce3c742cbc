/* crowd.c - a crowd from frame to frame: what the host tells, when steps are taken, what comes back.
 *
 * The same rules as methods/projective/projective_step.c: 60 steps a second whatever the frame rate, never behind the
 * skeleton, the frame shows the skin between the last two steps. Poses from the host move evenly within a frame; clips
 * are sampled at the time of every step. */
#include "cuda/crowd.h"

#include "base/base.h"
#include "bind/model.h"
#include "deform/pace.h"
#include "math/affine.h"
#include "methods/projective/projective.h"
#include "methods/projective/solver_work.h"

#include <math.h>

enum {
    SETTLE_ROUNDS = 30, /* steps without momentum after a reset */
    MOST_STEPS = 30,    /* of one frame */
    MOST_ITERATIONS = 8 /* where the caller names no number */
};
static const float EXACT = 3e-8f; /* part of the objective that nobody can tell in float positions */

/* --- Opening --- */

/* The bind pose of all instances, from the model. */
static void take_bind_pose(sup_crowd *crowd)
{
    const float *world = sup_model_array(crowd->model, "bind.world", SUP_ARRAY_FLOAT, -1);
    size_t floats = (size_t)crowd->joint_count * 12;
    for (int32_t j = 0; j < crowd->joint_count; j++) {
        sup_mat34 node, inverse, joint;
        memcpy(&node, world + 12 * (size_t)crowd->joint_node[j], sizeof node);
        memcpy(&inverse, crowd->inverse_bind + 12 * (size_t)j, sizeof inverse);
        joint = sup_mat34_multiply(node, inverse);
        memcpy(crowd->pose + 12 * (size_t)j, &joint, sizeof joint);
    }
    for (int32_t i = 1; i < crowd->count; i++)
        memcpy(crowd->pose + (size_t)i * floats, crowd->pose, floats * sizeof(float));
    memcpy(crowd->pose_before, crowd->pose, (size_t)crowd->count * floats * sizeof(float));
    crowd->pose_changed = true;
}

static sup_result open_crowd(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error)
{
    sup_result result = sup_crowd_open(crowd, def, error);
    if (result != SUP_OK) return result;
    int32_t params = crowd->method->param_count;
    for (int32_t i = 0; i < crowd->count; i++) {
        if (params > 0)
            memcpy(crowd->values + (size_t)i * (size_t)params, sup_model_values(crowd->model),
                   (size_t)params * sizeof(double));
        sup_crowd_give_orders(crowd, i);
    }
    take_bind_pose(crowd);
    return sup_crowd_reset(crowd, -1, error);
}

sup_result sup_crowd_create(sup_device *device, const sup_model *model, const sup_crowd_def *def_in,
                            sup_crowd **crowd_out, sup_error *error)
{
    sup_crowd_def def = def_in != NULL ? *def_in : (sup_crowd_def){0};
    sup_crowd_kind kind = SUP_CROWD_LINEAR;
    if (device == NULL || model == NULL || crowd_out == NULL || def.instance_count < 0 || def.clip_count < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.null", "",
                        "A device, a model, a place for the crowd and counts that are not negative are needed.");
    sup_result result = sup_crowd_accept(model, &kind, error);
    if (result == SUP_OK)
        result = sup_cuda_result(device, sup_cuda_use(device->index), "it was chosen for a crowd", error);
    if (result != SUP_OK) return result;
    sup_crowd *crowd = sup_alloc_zero(&device->context.allocator, sizeof *crowd);
    if (crowd == NULL) return sup_fail_memory(error, "the crowd");
    crowd->device = device;
    crowd->context = device->context;
    crowd->arena = sup_arena_create(&device->context.allocator);
    crowd->memory.item_size = sizeof(void *);
    crowd->model = model;
    crowd->method = sup_model_method(model);
    crowd->kind = kind;
    crowd->count = def.instance_count > 0 ? def.instance_count : 1;
    crowd->vertex_count = sup_model_vertex_count(model);
    crowd->graph_most = -1;
    sup_error inner = {0};
    result = open_crowd(crowd, &def, &inner);
    if (result == SUP_OK) {
        *crowd_out = crowd;
        return SUP_OK;
    }
    if (error != NULL) *error = inner;
    sup_crowd_destroy(crowd);
    return result;
}

static void forget_graphs(sup_crowd *crowd)
{
    for (int32_t i = 0; i < 3; i++) {
        sup_cuda_graph_free(crowd->graph[i]);
        crowd->graph[i] = NULL;
    }
}

void sup_crowd_destroy(sup_crowd *crowd)
{
    if (crowd == NULL) return;
    sup_allocator allocator = crowd->context.allocator;
    sup_cuda_use(crowd->device->index);
    sup_cuda_wait_all();
    forget_graphs(crowd);
    for (size_t i = 0; i < crowd->memory.count; i++)
        sup_cuda_free(((void **)(void *)crowd->memory.data)[i]);
    sup_array_free(&allocator, &crowd->memory);
    sup_arena_destroy(&crowd->arena);
    sup_free(&allocator, crowd, sizeof *crowd);
}

/* --- What the host tells --- */

/* The range of an instance, or of all for -1. */
static bool choose_range(const sup_crowd *crowd, int32_t instance, int32_t *begin, int32_t *end, sup_error *error)
{
    if (crowd == NULL || instance < -1 || instance >= crowd->count) {
        sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.instance", "", "The crowd has no instance number %d.",
                 (int)instance);
        return false;
    }
    *begin = instance < 0 ? 0 : instance;
    *end = instance < 0 ? crowd->count : instance + 1;
    return true;
}

void sup_crowd_give_orders(sup_crowd *crowd, int32_t instance)
{
    crowd->orders_changed = true;
    sup_gpu_orders *orders = &crowd->orders[instance];
    *orders = (sup_gpu_orders){.most = MOST_ITERATIONS, .tolerance = EXACT, .keep = 1.0f};
    if (crowd->kind != SUP_CROWD_PROJECTIVE) return;
    const double *values = crowd->values + (size_t)instance * (size_t)crowd->method->param_count;
    double iterations = values[SUP_PROJECTIVE_ITERATIONS], tolerance = values[SUP_PROJECTIVE_TOLERANCE];
    if (iterations > 0.0) {
        orders->most = (int32_t)iterations;
        orders->tolerance = 0.0f;
    }
    if (tolerance > 0.0) orders->tolerance = (float)tolerance;
    orders->keep = 1.0f - (float)values[SUP_PROJECTIVE_DAMPING];
    orders->shared = values[SUP_PROJECTIVE_FAST] != 0.0;
    sup_projective_forces(values, crowd->size, crowd->unit_metres, orders->fall);
    for (int32_t k = 0; k < 3; k++)
        orders->fall[k] *= crowd->time_step * crowd->time_step;
}

sup_result sup_crowd_set(sup_crowd *crowd, int32_t instance, const char *name, double value, sup_error *error)
{
    int32_t begin, end;
    if (!choose_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    int32_t index = sup_method_param(crowd->method, name, error);
    if (index < 0) return SUP_ERROR_ARGUMENT;
    const sup_param *param = &crowd->method->params[index];
    sup_result result = sup_param_check(param, value, error);
    if (result != SUP_OK) return result;
    if (!param->live)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.bind", name,
                        "\"%s\" cannot change while the character moves: bind it again with the new value.", name);
    result = sup_crowd_accept_value(crowd->kind, index, value, error);
    if (result != SUP_OK) return result;
    for (int32_t i = begin; i < end; i++) {
        crowd->values[(size_t)i * (size_t)crowd->method->param_count + (size_t)index] = value;
        sup_crowd_give_orders(crowd, i);
    }
    return SUP_OK;
}

static bool all_finite(const float *values, size_t count)
{
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++)
        sum += values[i] * 0.0f; /* NaN for whatever is not finite */
    return sum == 0.0f;
}

sup_result sup_crowd_pose(sup_crowd *crowd, int32_t instance, const sup_pose *pose, sup_error *error)
{
    int32_t begin, end;
    if (!choose_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (pose == NULL || pose->world == NULL || pose->node_count != sup_model_node_count(crowd->model))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.pose", "", "The pose must have the model's %d nodes.",
                        (int)sup_model_node_count(crowd->model));
    if (!all_finite(pose->world[0].m, (size_t)pose->node_count * 12))
        return sup_fail(error, SUP_ERROR_DATA, "crowd.finite", "", "The pose has a number that is not finite.");
    size_t floats = (size_t)crowd->joint_count * 12;
    float *first = crowd->pose + (size_t)begin * floats;
    for (int32_t j = 0; j < crowd->joint_count; j++) {
        sup_mat34 inverse, joint;
        memcpy(&inverse, crowd->inverse_bind + 12 * (size_t)j, sizeof inverse);
        joint = sup_mat34_multiply(pose->world[crowd->joint_node[j]], inverse);
        memcpy(first + 12 * (size_t)j, &joint, sizeof joint);
    }
    for (int32_t i = begin; i < end; i++) {
        if (i > begin) memcpy(crowd->pose + (size_t)i * floats, first, floats * sizeof(float));
        crowd->play[i].clip = -1;
    }
    crowd->pose_changed = true;
    int code =
        sup_cuda_copy(crowd->joints.play + begin, crowd->play + begin, (size_t)(end - begin) * sizeof(sup_gpu_play));
    return sup_cuda_result(crowd->device, code, "a pose was given", error);
}

sup_result sup_crowd_play(sup_crowd *crowd, int32_t instance, int32_t clip, double time, double speed, bool loops,
                          sup_error *error)
{
    int32_t begin, end;
    if (!choose_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (clip < 0 || clip >= crowd->motion.clip_count || !isfinite(time) || !isfinite(speed))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.clip", "",
                        "The crowd has %d clips, not one number %d; time and speed must be finite.",
                        (int)crowd->motion.clip_count, (int)clip);
    for (int32_t i = begin; i < end; i++)
        crowd->play[i] = (sup_gpu_play){clip, loops, (float)time, (float)speed};
    crowd->has_clips = true;
    int code =
        sup_cuda_copy(crowd->joints.play + begin, crowd->play + begin, (size_t)(end - begin) * sizeof(sup_gpu_play));
    return sup_cuda_result(crowd->device, code, "a clip was chosen", error);
}

/* --- Launches --- */

static const int32_t *phases_of(const sup_gpu_state *state)
{
    return &state->progress->phase;
}

static int32_t most_iterations(const sup_crowd *crowd)
{
    int32_t most = 1;
    for (int32_t i = 0; i < crowd->count; i++)
        most = crowd->orders[i].most > most ? crowd->orders[i].most : most;
    return most;
}

static int launch_step(sup_crowd *crowd, int32_t most, void *stream)
{
    int code = sup_gpu_pose(&crowd->motion, &crowd->joints, &crowd->device_frame->seconds, stream);
    if (code != 0 || crowd->kind != SUP_CROWD_PROJECTIVE) return code;
    code = sup_gpu_anchors_step(&crowd->anchors, &crowd->joints, phases_of(&crowd->state), sizeof(sup_gpu_progress),
                                crowd->state.anchors, crowd->state.bend, stream);
    return code == 0 ? sup_gpu_step(&crowd->system, &crowd->state, most, stream) : code;
}

static int launch_show(sup_crowd *crowd, void *stream)
{
    int code = sup_gpu_skin_step(&crowd->skin, &crowd->joints, &crowd->out, stream);
    if (code != 0 || crowd->kind != SUP_CROWD_PROJECTIVE) return code;
    return sup_gpu_show(&crowd->upsample, crowd->count, phases_of(&crowd->state), sizeof(sup_gpu_progress),
                        crowd->state.x, crowd->system.unknown_count, &crowd->device_frame->blend, &crowd->out, stream);
}

/* Runs `what` (SUP_CROWD_STEP, SUP_CROWD_SHOW or both) from a graph that is recorded once. */
static int replay(sup_crowd *crowd, int what, void *stream)
{
    void **graph = &crowd->graph[what - 1], *own = crowd->device->stream;
    if (*graph == NULL) {
        int code = sup_cuda_record_begin(own), launched = 0;
        if (code != 0) return code;
        if ((what & SUP_CROWD_STEP) != 0) launched = launch_step(crowd, crowd->graph_most, own);
        if (launched == 0 && (what & SUP_CROWD_SHOW) != 0) launched = launch_show(crowd, own);
        code = sup_cuda_record_end(own, graph);
        if (launched != 0) return launched;
        if (code != 0) return code;
    }
    return sup_cuda_replay(*graph, stream);
}

/* What changed since the last frame, to the device. */
static int send(sup_crowd *crowd, sup_crowd_frame frame, void *stream)
{
    int code = 0;
    if (crowd->orders_changed) {
        code = sup_cuda_copy_async(crowd->device_orders, crowd->orders, (size_t)crowd->count * sizeof(sup_gpu_orders),
                                   stream);
        crowd->orders_changed = false;
        int32_t most = most_iterations(crowd);
        if (most != crowd->graph_most) forget_graphs(crowd);
        crowd->graph_most = most;
    }
    if (code == 0 && (!crowd->frame_known || memcmp(&frame, &crowd->frame, sizeof frame) != 0)) {
        crowd->frame = frame;
        crowd->frame_known = true;
        code = sup_cuda_copy_async(crowd->device_frame, &crowd->frame, sizeof frame, stream);
    }
    return code;
}

/* Joints that the host gives; instances that play a clip have theirs on the device already. */
static int send_joints(sup_crowd *crowd, const float *from, void *stream)
{
    size_t floats = (size_t)crowd->joint_count * 12;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < crowd->count;) {
        int32_t end = i;
        while (end < crowd->count && crowd->play[end].clip < 0)
            end++;
        if (end > i)
            code = sup_cuda_copy_async(crowd->joints.pose + (size_t)i * floats, from + (size_t)i * floats,
                                       (size_t)(end - i) * floats * sizeof(float), stream);
        i = end > i ? end : i + 1;
    }
    return code;
}

/* Joints part of the way from the last frame's to this one's: rotation by slerp, the rest evenly (projective_step.c). */
static void find_between(sup_crowd *crowd, double t)
{
    for (size_t i = 0; i < (size_t)crowd->count * (size_t)crowd->joint_count; i++) {
        sup_mat34 from, to;
        memcpy(&from, crowd->pose_before + 12 * i, sizeof from);
        memcpy(&to, crowd->pose + 12 * i, sizeof to);
        sup_mat34 between = sup_pace_between(from, to, t);
        memcpy(crowd->between + 12 * i, &between, sizeof between);
    }
}

/* --- Frames --- */

static int step_classic(sup_crowd *crowd, float dt, void *stream)
{
    int code = send(crowd, (sup_crowd_frame){dt, 0.0f}, stream);
    if (code == 0 && crowd->pose_changed) code = send_joints(crowd, crowd->pose, stream);
    crowd->pose_changed = false;
    return code == 0 ? replay(crowd, SUP_CROWD_STEP | SUP_CROWD_SHOW, stream) : code;
}

static int step_projective(sup_crowd *crowd, float dt, void *stream)
{
    double missing = (double)dt - crowd->ahead;
    int32_t steps = missing > 0.0 ? (int32_t)fmin(ceil(missing / SUP_PROJECTIVE_SECONDS - 1e-4), MOST_STEPS) : 0;
    crowd->ahead = fmax(0.0, fmin((double)steps * SUP_PROJECTIVE_SECONDS - missing, SUP_PROJECTIVE_SECONDS));
    if (crowd->ahead < 1e-6) crowd->ahead = 0.0;
    crowd->pending += (double)dt;
    sup_crowd_frame frame = {steps > 0 ? (float)(crowd->pending / steps) : 0.0f,
                             (float)(crowd->ahead / SUP_PROJECTIVE_SECONDS)};
    int code = send(crowd, frame, stream);
    bool moved = crowd->pose_changed;
    for (int32_t i = 1; code == 0 && i <= steps; i++) {
        if (moved && i < steps) find_between(crowd, (double)i / (double)steps);
        if (moved) code = send_joints(crowd, i < steps ? crowd->between : crowd->pose, stream);
        if (code == 0) code = replay(crowd, i < steps ? SUP_CROWD_STEP : SUP_CROWD_STEP | SUP_CROWD_SHOW, stream);
    }
    if (steps == 0) return code == 0 ? replay(crowd, SUP_CROWD_SHOW, stream) : code;
    crowd->pending = 0.0;
    if (moved)
        memcpy(crowd->pose_before, crowd->pose, (size_t)crowd->count * (size_t)crowd->joint_count * 12 * sizeof(float));
    crowd->pose_changed = false;
    return code;
}

sup_result sup_crowd_step(sup_crowd *crowd, float dt, void *stream, sup_error *error)
{
    if (crowd == NULL || !(dt >= 0.0f) || !isfinite(dt))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.step", "",
                        "A crowd and a time step that is not negative are needed.");
    int code = sup_cuda_use(crowd->device->index);
    if (stream == NULL) stream = crowd->device->stream;
    if (code == 0)
        code =
            crowd->kind == SUP_CROWD_PROJECTIVE ? step_projective(crowd, dt, stream) : step_classic(crowd, dt, stream);
    return sup_cuda_result(crowd->device, code, "a crowd took a step", error);
}

sup_result sup_crowd_wait(sup_crowd *crowd, sup_error *error)
{
    if (crowd == NULL) return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.null", "", "A crowd is needed.");
    int code = sup_cuda_use(crowd->device->index);
    return sup_cuda_result(crowd->device, code == 0 ? sup_cuda_wait_all() : code, "a crowd was waited for", error);
}

/* --- Reset --- */

/* The instances [begin, end) as a state of their own. */
static sup_gpu_state state_range(const sup_crowd *crowd, int32_t begin, int32_t end)
{
    const sup_gpu_system *s = &crowd->system;
    size_t n = (size_t)begin, vector = n * (size_t)s->unknown_count;
    sup_gpu_state st = crowd->state;
    st.count = end - begin;
    st.orders += n;
    st.progress += n;
    sup_gpu_four **vectors[] = {&st.x[0],       &st.x[1],  &st.iterate[0], &st.iterate[1],
                                &st.iterate[2], &st.guess, &st.miss,       &st.inertial};
    for (int32_t i = 0; i < SUP_COUNT(vectors); i++)
        *vectors[i] += vector;
    for (int32_t i = 0; i < SUP_GPU_HISTORY; i++)
        st.direction[i] += vector;
    for (int32_t i = 0; i < 3; i++)
        st.anchors[i] += n * (size_t)s->anchor_count;
    st.bend += n * (size_t)s->anchor_count;
    for (int32_t i = 0; i < 2; i++)
        st.control[i] += n;
    st.y += n * (size_t)s->interior_count;
    st.slot += n * (size_t)s->top_count * (size_t)s->top_fan;
    st.top += n * (size_t)s->top_count;
    st.sums += n * SUP_GPU_SUMS * (size_t)st.sum_rows;
    return st; /* rhs is scratch of the whole crowd */
}

static int settle(sup_crowd *crowd, int32_t begin, int32_t end, void *stream)
{
    sup_gpu_state st = state_range(crowd, begin, end);
    sup_gpu_joints joints = crowd->joints;
    sup_gpu_anchors anchors = crowd->anchors;
    joints.count = st.count;
    joints.pose += (size_t)begin * (size_t)crowd->joint_count * 12;
    joints.play += begin;
    anchors.ends += (size_t)begin * (size_t)anchors.view.piece_count * 8;
    int code = sup_gpu_pose(&crowd->motion, &joints, &crowd->device_frame->seconds, stream);
    if (code != 0 || crowd->kind != SUP_CROWD_PROJECTIVE) return code;
    if (code == 0) code = sup_gpu_first_phase(&st, stream);
    if (code == 0)
        code = sup_gpu_anchors_step(&anchors, &joints, phases_of(&st), sizeof(sup_gpu_progress), st.anchors, st.bend,
                                    stream);
    if (code == 0) code = sup_gpu_reset(&crowd->system, &st, &crowd->rest, joints.pose, stream);
    for (int32_t round = 0; code == 0 && round < SETTLE_ROUNDS; round++) {
        code = sup_gpu_step(&crowd->system, &st, MOST_ITERATIONS, stream);
        if (code == 0) code = sup_gpu_still(&crowd->system, &st, stream);
    }
    return code;
}

sup_result sup_crowd_reset(sup_crowd *crowd, int32_t instance, sup_error *error)
{
    int32_t begin, end;
    if (!choose_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    void *stream = crowd->device->stream;
    size_t floats = (size_t)crowd->joint_count * 12;
    int code = sup_cuda_use(crowd->device->index);
    if (code == 0) code = sup_cuda_wait_all();
    /* Without momentum and gravity, as accurate as floats are. */
    for (int32_t i = begin; i < end; i++)
        crowd->orders[i] = (sup_gpu_orders){.most = MOST_ITERATIONS, .tolerance = EXACT};
    crowd->orders_changed = true;
    if (code == 0) code = send(crowd, (sup_crowd_frame){0.0f, 0.0f}, stream);
    if (code == 0) code = send_joints(crowd, crowd->pose, stream);
    if (code == 0) code = settle(crowd, begin, end, stream);
    for (int32_t i = begin; i < end; i++)
        sup_crowd_give_orders(crowd, i);
    memcpy(crowd->pose_before + (size_t)begin * floats, crowd->pose + (size_t)begin * floats,
           (size_t)(end - begin) * floats * sizeof(float));
    if (code == 0) code = send(crowd, (sup_crowd_frame){0.0f, 0.0f}, stream);
    if (code == 0) code = launch_show(crowd, stream);
    if (code == 0) code = sup_cuda_wait(stream);
    if (instance < 0) {
        crowd->ahead = crowd->pending = 0.0;
        crowd->pose_changed = false;
    }
    return sup_cuda_result(crowd->device, code, "instances were put at rest", error);
}

/* --- Back to the host --- */

sup_result sup_crowd_read(sup_crowd *crowd, int32_t instance, const sup_skin_out *out, sup_error *error)
{
    int32_t begin, end;
    if (!choose_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (instance < 0 || out == NULL || out->tangents != NULL || (out->normals != NULL && crowd->out.normals == NULL))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.read", "",
                        "One instance is read at a time: positions, and normals where the crowd keeps them; the device "
                        "has no tangents.");
    sup_result result = sup_crowd_wait(crowd, error);
    const float *from[2] = {crowd->out.positions, crowd->out.normals};
    float *to[2] = {out->positions, out->normals};
    size_t strides[2] = {out->position_stride, out->normal_stride}, packed = 3 * sizeof(float);
    for (int k = 0; result == SUP_OK && k < 2; k++) {
        size_t stride = strides[k] != 0 ? strides[k] : packed;
        if (to[k] == NULL) continue;
        if (stride < packed)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.read", "", "A stride is below 12 bytes.");
        int code =
            sup_cuda_copy_rows(to[k], stride, (const char *)from[k] + (size_t)instance * crowd->out.instance_stride[k],
                               crowd->out.vertex_stride[k], packed, (size_t)crowd->vertex_count);
        result = sup_cuda_result(crowd->device, code, "a skin was read back", error);
    }
    return result;
}

float *sup_crowd_positions(sup_crowd *crowd)
{
    return crowd != NULL ? crowd->out.positions : NULL;
}

float *sup_crowd_normals(sup_crowd *crowd)
{
    return crowd != NULL ? crowd->out.normals : NULL;
}

sup_result sup_crowd_last_step(sup_crowd *crowd, int32_t instance, sup_crowd_report *report, sup_error *error)
{
    int32_t begin, end;
    sup_gpu_progress progress = {0};
    if (!choose_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (instance < 0 || report == NULL || crowd->kind != SUP_CROWD_PROJECTIVE)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.report", "",
                        "One instance of a projective model has a report at a time.");
    sup_result result = sup_crowd_wait(crowd, error);
    if (result != SUP_OK) return result;
    int code = sup_cuda_copy(&progress, crowd->state.progress + instance, sizeof progress);
    *report = (sup_crowd_report){progress.iterations, progress.rejected, (double)progress.objective};
    return sup_cuda_result(crowd->device, code, "a report was read back", error);
}
