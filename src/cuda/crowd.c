/* crowd.c - frames of a crowd: commands from the host, launches, readback.
 *
 * As in methods/projective/projective_step.c: 60 steps a second at any frame rate, each with the pose of its time; a
 * frame between two steps shows the last one, extrapolated by the joints. Poses from the host are interpolated within a
 * frame; clips are sampled at the time of every step. */
#include "cuda/crowd.h"

#include "base/base.h"
#include "solver/solver_tuning.h"
#include "bind/model.h"
#include "pose/timestep.h"
#include "math/affine.h"
#include "methods/projective/projective.h"
#include "skin/skin.h"
#include "untangle/offset_decay.h"

#include <math.h>

enum {
    /* Iterations that are launched with contact when the caller sets none: one more than the CPU takes, since an
     * iteration may be rejected. */
    CONTACT_ITERATIONS = SUP_SOLVER_ITERATIONS_CONTACT + 1,
    COLLIDER_SPARE_ITERATIONS = 12 /* instead of SUP_GPU_SPARE_ITERATIONS: their contacts are stiff, and up to eleven
                                    * iterations are rejected */
};

/* --- Creation --- */

/* Sets the bind pose of all instances. */
static void set_bind_pose(sup_crowd *crowd)
{
    const float *world = sup_model_array(crowd->model, "bind.world", SUP_ARRAY_FLOAT, -1);
    size_t floats = (size_t)crowd->joint_count * 12;
    sup_timestep_joints((const sup_mat34 *)(const void *)world, NULL, crowd->joint_count, crowd->joint_node,
                        crowd->inverse_bind, (sup_mat34 *)(void *)crowd->pose);
    for (int32_t i = 1; i < crowd->count; i++)
        memcpy(crowd->pose + (size_t)i * floats, crowd->pose, floats * sizeof(float));
    memcpy(crowd->previous_pose, crowd->pose, (size_t)crowd->count * floats * sizeof(float));
    crowd->pose_changed = true;
    sup_crowd_pose_colliders(crowd, 0, crowd->count, (const sup_mat34 *)(const void *)world);
    sup_crowd_set_weights(crowd, 0, crowd->count,
                          sup_model_array(crowd->model, "bind.morph_weights", SUP_ARRAY_FLOAT, -1));
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
        sup_crowd_send_commands(crowd, i);
    }
    set_bind_pose(crowd);
    return sup_crowd_reset(crowd, -1, error);
}

/* The device has no shape limits (limits/shape_limits.h). */
static sup_result refuse_limits(sup_error *error)
{
    return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.limits", "limits",
                    "The shape limits are not implemented on the GPU: set the parameter \"limits\" to 0, or step the "
                    "model on the CPU.");
}

sup_result sup_crowd_create(sup_device *device, const sup_model *model, const sup_crowd_def *def_in,
                            sup_crowd **crowd_out, sup_error *error)
{
    sup_crowd_def def = def_in != NULL ? *def_in : (sup_crowd_def){0};
    sup_method_device kind = SUP_METHOD_DEVICE_NONE;
    if (device == NULL || model == NULL || crowd_out == NULL || def.instance_count < 0 || def.clip_count < 0)
        return sup_fail(
            error, SUP_ERROR_ARGUMENT, "crowd.null", "",
            "A device, a model, a pointer for the new crowd and counts that are not negative are required.");
    sup_result result = sup_crowd_check_support(model, &kind, error);
    if (result == SUP_OK && kind == SUP_METHOD_DEVICE_PROJECTIVE &&
        sup_model_values(model)[SUP_PROJECTIVE_LIMITS] != 0.0)
        result = refuse_limits(error);
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
    crowd->graph_iterations = -1;
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

static void free_graphs(sup_crowd *crowd)
{
    for (int32_t i = 0; i <= SUP_CROWD_ALL; i++) {
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
    free_graphs(crowd);
    for (size_t i = 0; i < crowd->memory.count; i++)
        sup_cuda_free(((void **)(void *)crowd->memory.data)[i]);
    sup_array_free(&allocator, &crowd->memory);
    sup_colliders_destroy(crowd->colliders.list);
    sup_arena_destroy(&crowd->arena);
    sup_free(&allocator, crowd, sizeof *crowd);
}

/* --- Commands from the host --- */

bool sup_crowd_range(const sup_crowd *crowd, int32_t instance, int32_t *begin, int32_t *end, sup_error *error)
{
    if (crowd == NULL || instance < -1 || instance >= crowd->count) {
        sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.instance", "", "Instance %d is out of range.", (int)instance);
        return false;
    }
    *begin = instance < 0 ? 0 : instance;
    *end = instance < 0 ? crowd->count : instance + 1;
    return true;
}

void sup_crowd_send_commands(sup_crowd *crowd, int32_t instance)
{
    crowd->commands_changed = true;
    sup_gpu_command *command = &crowd->commands[instance];
    *command = (sup_gpu_command){.hidden = command->hidden, .version = command->version + 1};
    const double *values = crowd->values + (size_t)instance * (size_t)crowd->method->param_count;
    if (crowd->kind != SUP_METHOD_DEVICE_PROJECTIVE) {
        command->strongest = values[SUP_SKIN_RIGID] != 0.0;
        return;
    }
    command->iterations = (int32_t)values[SUP_PROJECTIVE_ITERATIONS];
    command->tolerance = (float)values[SUP_PROJECTIVE_TOLERANCE];
    command->damping = (float)values[SUP_PROJECTIVE_DAMPING];
    command->friction = (float)values[SUP_PROJECTIVE_FRICTION];
    command->contact = values[SUP_PROJECTIVE_CONTACT] != 0.0;
    command->shared_rotation = values[SUP_PROJECTIVE_FAST] != 0.0;
    command->untangling = values[SUP_PROJECTIVE_UNTANGLE] != 0.0;
    sup_projective_forces(values, crowd->size, crowd->unit_metres, command->fall);
    for (int32_t k = 0; k < 3; k++)
        command->fall[k] *= crowd->time_step * crowd->time_step;
}

sup_result sup_crowd_set(sup_crowd *crowd, int32_t instance, const char *name, double value, sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    int32_t index = sup_method_param(crowd->method, name, error);
    if (index < 0) return SUP_ERROR_ARGUMENT;
    const sup_param *param = &crowd->method->params[index];
    sup_result result = sup_param_check(param, value, error);
    if (result != SUP_OK) return result;
    if (!param->live)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.bind", name,
                        "Parameter \"%s\" is fixed at bind: bind again with the new value.", name);
    if (crowd->kind == SUP_METHOD_DEVICE_PROJECTIVE && index == SUP_PROJECTIVE_LIMITS && value != 0.0)
        return refuse_limits(error);
    for (int32_t i = begin; i < end; i++) {
        crowd->values[(size_t)i * (size_t)crowd->method->param_count + (size_t)index] = value;
        sup_crowd_send_commands(crowd, i);
    }
    return SUP_OK;
}

sup_result sup_crowd_hide(sup_crowd *crowd, int32_t instance, bool hidden, sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    for (int32_t i = begin; i < end; i++)
        crowd->commands[i].hidden = hidden;
    crowd->commands_changed = true;
    return SUP_OK;
}

static bool all_finite(const float *values, size_t count)
{
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++)
        sum += values[i] * 0.0f; /* NaN unless finite */
    return sum == 0.0f;
}

sup_result sup_crowd_pose(sup_crowd *crowd, int32_t instance, const sup_pose *pose, sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (pose == NULL || pose->world == NULL || pose->node_count != sup_model_node_count(crowd->model) ||
        pose->morph_weight_count != crowd->weight_count || (pose->morph_weights == NULL && crowd->weight_count > 0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.pose", "",
                        "The pose must have the model's %d nodes and %d morph weights.",
                        (int)sup_model_node_count(crowd->model), (int)crowd->weight_count);
    if (!all_finite(pose->world[0].m, (size_t)pose->node_count * 12) ||
        !all_finite(pose->morph_weights, (size_t)crowd->weight_count))
        return sup_fail(error, SUP_ERROR_DATA, "crowd.finite", "", "The pose has a non-finite number.");
    size_t floats = (size_t)crowd->joint_count * 12;
    float *first = crowd->pose + (size_t)begin * floats;
    sup_timestep_joints(pose->world, NULL, crowd->joint_count, crowd->joint_node, crowd->inverse_bind,
                        (sup_mat34 *)(void *)first);
    for (int32_t i = begin; i < end; i++) {
        if (i > begin) memcpy(crowd->pose + (size_t)i * floats, first, floats * sizeof(float));
        crowd->play[i].clip = -1;
    }
    crowd->pose_changed = true;
    sup_crowd_set_weights(crowd, begin, end, pose->morph_weights);
    sup_crowd_pose_colliders(crowd, begin, end, pose->world);
    int code =
        sup_cuda_copy(crowd->joints.play + begin, crowd->play + begin, (size_t)(end - begin) * sizeof(sup_gpu_play));
    return sup_cuda_result(crowd->device, code, "a pose was given", error);
}

sup_result sup_crowd_play(sup_crowd *crowd, int32_t instance, int32_t clip, double time, double speed, bool loops,
                          sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (clip < 0 || clip >= crowd->motion.clip_count || !isfinite(time) || !isfinite(speed))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.clip", "",
                        "The crowd has %d clips, and clip %d was requested; time and speed must be finite.",
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

static int32_t count_solves(const sup_crowd *crowd)
{
    int32_t max_solves = 0;
    for (int32_t i = 0; i < crowd->count; i++) {
        bool touches = crowd->commands[i].contact || crowd->colliders.count > 0;
        int32_t solves = !touches ? 0 : crowd->commands[i].shared_rotation ? 1 : SUP_RESPONSE_MAX_SOLVES;
        max_solves = solves > max_solves ? solves : max_solves;
    }
    return max_solves;
}

/* Maximum local steps of a step: the CPU's limits where none is set (solver.h), and spare ones for rejected steps.
 * Unused iterations cost their launches: with contact, which makes them expensive, tissue without contact that takes
 * all of its seven iterations has no spare one. */
static int32_t count_iterations(const sup_crowd *crowd)
{
    bool contact = count_solves(crowd) > 0;
    int32_t limit = 1, own = contact                       ? CONTACT_ITERATIONS
                             : crowd->system.volume > 0.0f ? SUP_SOLVER_ITERATIONS_VOLUME
                                                           : SUP_SOLVER_ITERATIONS_STRAIN;
    for (int32_t i = 0; i < crowd->count; i++) {
        int32_t requested = crowd->commands[i].iterations > 0 ? crowd->commands[i].iterations : own;
        limit = requested > limit ? requested : limit;
    }
    return limit + (crowd->colliders.count > 0 ? COLLIDER_SPARE_ITERATIONS : SUP_GPU_SPARE_ITERATIONS);
}

static int launch_anchors(const sup_gpu_anchors *anchors, const sup_gpu_joints *joints, const sup_gpu_state *st,
                          void *stream)
{
    return sup_gpu_anchors_step(anchors, joints, phases_of(st), sizeof(sup_gpu_progress), st->anchors,
                                st->anchor_acceleration, stream);
}

static int launch_contact(sup_crowd *crowd, void *stream)
{
    int code = 0;
    if (crowd->graph_detects)
        code = sup_gpu_detect_step(&crowd->detect, &crowd->system, &crowd->state, &crowd->body, stream);
    if (code == 0 && crowd->colliders.count > 0)
        code = sup_gpu_collide(&crowd->colliders.device, &crowd->system, &crowd->state, &crowd->body,
                               crowd->joints.pose, stream);
    return code == 0 ? sup_gpu_list_contacts(&crowd->system, &crowd->state, stream) : code;
}

/* Whether the device must move colliders that follow nodes. */
static bool follows_clips(const sup_crowd *crowd)
{
    return crowd->colliders.follow && crowd->motion.clip_count > 0;
}

static int launch_step(sup_crowd *crowd, void *stream)
{
    const float *pose = crowd->joints.pose;
    if (crowd->kind != SUP_METHOD_DEVICE_PROJECTIVE)
        return sup_gpu_pose(&crowd->motion, &crowd->joints, crowd->device_seconds, stream);
    int code =
        sup_gpu_wake(&crowd->motion, &crowd->joints, crowd->device_seconds, &crowd->system, &crowd->state, stream);
    if (code == 0 && follows_clips(crowd))
        code = sup_gpu_follow(&crowd->colliders.device, &crowd->motion, &crowd->joints, &crowd->state, false, stream);
    if (code == 0) code = launch_anchors(&crowd->anchors, &crowd->joints, &crowd->state, stream);
    if (code == 0) code = sup_gpu_extrapolate(&crowd->system, &crowd->state, &crowd->body, pose, stream);
    if (code == 0) code = sup_gpu_prepare(&crowd->system, &crowd->state, &crowd->body, pose, stream);
    if (code == 0 && crowd->graph_solves > 0) code = launch_contact(crowd, stream);
    if (code == 0)
        code = sup_gpu_step(&crowd->system, &crowd->state, crowd->graph_iterations, crowd->graph_solves, stream);
    return code == 0 ? sup_gpu_finish(&crowd->system, &crowd->state, &crowd->body, pose, stream) : code;
}

static int launch_render(sup_crowd *crowd, bool extrapolate, void *stream)
{
    int code = extrapolate ? sup_gpu_pose(&crowd->motion, &crowd->joints, crowd->device_seconds, stream) : 0;
    if (code == 0 && extrapolate && crowd->kind == SUP_METHOD_DEVICE_PROJECTIVE)
        code = sup_gpu_extrapolate(&crowd->system, &crowd->state, &crowd->body, crowd->joints.pose, stream);
    float *weights = crowd->skin.morphs.weights;
    if (code == 0 && weights != NULL && crowd->motion.clip_count > 0)
        code = sup_gpu_weights(&crowd->motion, &crowd->joints, weights, stream);
    if (code == 0)
        code = sup_gpu_skin_step(&crowd->skin, &crowd->joints, crowd->device_commands, crowd->graph_rigid, &crowd->out,
                                 stream);
    if (code != 0 || crowd->kind != SUP_METHOD_DEVICE_PROJECTIVE) return code;
    code = sup_gpu_render_mesh(&crowd->upsample, &crowd->state, extrapolate, &crowd->out, stream);
    if (code != 0 || !crowd->graph_detects) return code; /* no self-collision */
    return sup_gpu_untangle_step(&crowd->untangle, &crowd->state, &crowd->out, stream);
}

/* Runs `what`, a combination of SUP_CROWD_*, from a graph that is recorded once. */
static int replay(sup_crowd *crowd, int what, void *stream)
{
    void **graph = &crowd->graph[what], *own = crowd->device->stream;
    if (*graph == NULL) {
        int code = sup_cuda_record_begin(own), launched = 0;
        if (code != 0) return code;
        if ((what & SUP_CROWD_STEP) != 0) launched = launch_step(crowd, own);
        if (launched == 0 && (what & SUP_CROWD_RENDER) != 0)
            launched = launch_render(crowd, (what & SUP_CROWD_EXTRAPOLATE) != 0, own);
        code = sup_cuda_record_end(own, graph);
        if (launched != 0) return launched;
        if (code != 0) return code;
    }
    return sup_cuda_replay(*graph, stream);
}

/* Sends changed commands and morph weights to the device. */
static int send_commands(sup_crowd *crowd, void *stream)
{
    int code = sup_crowd_send_weights(crowd, stream);
    if (code != 0 || !crowd->commands_changed) return code;
    int32_t iterations = count_iterations(crowd);
    int32_t solves = count_solves(crowd);
    bool detects = false, rigid = false;
    for (int32_t i = 0; i < crowd->count; i++) {
        detects = detects || crowd->commands[i].contact;
        rigid = rigid || crowd->commands[i].strongest;
    }
    if (iterations != crowd->graph_iterations || solves != crowd->graph_solves || detects != crowd->graph_detects ||
        rigid != crowd->graph_rigid)
        free_graphs(crowd);
    crowd->graph_rigid = rigid;
    crowd->graph_iterations = iterations;
    crowd->graph_detects = detects;
    crowd->graph_solves = solves;
    crowd->commands_changed = false;
    return sup_cuda_copy_async(crowd->device_commands, crowd->commands, (size_t)crowd->count * sizeof(sup_gpu_command),
                               stream);
}

/* Sends the seconds by which clips advance before their next pose. */
static int send_seconds(sup_crowd *crowd, float seconds, void *stream)
{
    if (crowd->seconds_known && crowd->seconds == seconds) return 0;
    crowd->seconds = seconds;
    crowd->seconds_known = true;
    return sup_cuda_copy_async(crowd->device_seconds, &crowd->seconds, sizeof seconds, stream);
}

/* Sends the fraction of the untangling offsets that is left after `dt` seconds. */
static int send_frame_time(sup_crowd *crowd, float dt, void *stream)
{
    if (crowd->frame_time[1] == dt) return 0;
    crowd->frame_time[0] = sup_untangle_decay(dt);
    crowd->frame_time[1] = dt;
    return sup_cuda_copy_async(crowd->device_frame_time, crowd->frame_time, sizeof crowd->frame_time, stream);
}

/* Sends the joints of instances that do not play a clip. */
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

/* Interpolates the joints between the previous frame and this one. */
static void interpolate_joints(sup_crowd *crowd, double t)
{
    size_t floats = (size_t)crowd->joint_count * 12;
    for (size_t i = 0; i < (size_t)crowd->count; i++)
        sup_timestep_interpolate(crowd->joint_count, crowd->joint_parent, crowd->joint_centre,
                                 (const sup_mat34 *)(const void *)(crowd->previous_pose + i * floats),
                                 (const sup_mat34 *)(const void *)(crowd->pose + i * floats), t,
                                 (sup_mat34 *)(void *)(crowd->between + i * floats));
}

/* --- Settling --- */

/* The state of the instances [begin, end), with the commands of the settle phase. */
static sup_gpu_state state_range(const sup_crowd *crowd, int32_t begin, int32_t end)
{
    const sup_gpu_system *s = &crowd->system;
    size_t n = (size_t)begin, vector = n * (size_t)s->unknown_count, skin = n * (size_t)s->skin_count;
    size_t anchors = n * (size_t)s->anchor_count, joints = n * (size_t)crowd->joint_count * 12;
    size_t rows = n * (size_t)s->contact_count;
    sup_gpu_state st = crowd->state;
    sup_gpu_four **vectors[] = {&st.x[0],       &st.x[1],         &st.iterate[0],       &st.iterate[1],
                                &st.iterate[2], &st.prediction,   &st.prediction_error, &st.inertial,
                                &st.limit_push, &st.rest_damping, &st.gradient,         &st.residual,
                                &st.search,     &st.image,        &st.product};
    sup_gpu_four **skins[] = {&st.skin[0], &st.skin[1], &st.window, &st.extrapolated};
    st.count = end - begin;
    st.commands = crowd->settle_commands + n;
    st.progress += n;
    for (int32_t i = 0; i < SUP_COUNT(vectors); i++)
        *vectors[i] += vector;
    for (int32_t i = 0; i < SUP_COUNT(skins); i++)
        *skins[i] += skin;
    for (int32_t i = 0; i < SUP_SOLVER_HISTORY; i++)
        st.direction[i] += vector;
    for (int32_t i = 0; i < 3; i++)
        st.anchors[i] += anchors;
    st.anchor_acceleration += anchors;
    st.foot_points += vector + anchors;
    for (int32_t i = 0; i < 2; i++)
        st.control[i] += n;
    st.y += n * (size_t)s->interior_count;
    st.slot += n * (size_t)s->slot_count;
    st.separator += n * (size_t)s->separator_count;
    st.region_slot_volume += n * (size_t)s->region_slot_count;
    st.sums += n * SUP_GPU_SUMS * (size_t)st.sum_stride;
    st.step_joints += joints;
    st.joint_motion += joints;
    st.rest_damping_lengths += n * (size_t)st.rest_damping_blocks;
    st.contacts += rows;
    st.pair += rows;
    st.force += rows;
    if (st.touched != NULL) st.touched += skin;
    st.onset += skin;
    st.near += skin;
    st.node_contact_first += vector + n;
    st.node_contact += 4 * rows;
    st.raw_gradient += n * (size_t)s->slot_count;
    st.cg += n * SUP_RESPONSE_MAX_SOLVES;
    return st; /* rhs is shared scratch */
}

/* Detection arrays of the instances from `begin` on. */
static sup_gpu_detect detect_range(const sup_crowd *crowd, int32_t begin)
{
    sup_gpu_detect d = crowd->detect;
    size_t n = (size_t)begin, skin = n * (size_t)d.view.vertex_count;
    d.points += 2 * skin;
    d.normal += skin;
    d.nearest += skin;
    d.clustered += n * (size_t)d.view.vertex_cluster_count * SUP_DETECT_CLUSTER;
    d.cluster_box += n * (size_t)sup_gpu_detect_boxes(&d.view);
    d.tet_cluster_box += n * SUP_GPU_TET_BOX_FOURS * (size_t)d.view.tet_cluster_count;
    return d;
}

/* Sends the commands of the settle phase: only contact and friction. Returns whether any instance has contact. */
static bool send_settle_commands(sup_crowd *crowd, int32_t begin, int32_t end, int *code, void *stream)
{
    bool touches = false;
    for (int32_t i = begin; i < end; i++) {
        crowd->settling[i] = (sup_gpu_command){
            .contact = crowd->commands[i].contact, .settles = 1, .friction = crowd->commands[i].friction};
        touches = touches || crowd->commands[i].contact != 0;
    }
    *code = sup_cuda_copy_async(crowd->settle_commands + begin, crowd->settling + begin,
                                (size_t)(end - begin) * sizeof(sup_gpu_command), stream);
    return touches;
}

/* Settle steps with contact, until skin in contact is separated. */
static int settle_contact(sup_crowd *crowd, int32_t begin, const sup_gpu_state *st, const sup_gpu_body *body,
                          const float *pose, void *stream)
{
    const sup_gpu_system *system = &crowd->system;
    sup_gpu_detect detect = detect_range(crowd, begin);
    int code = sup_gpu_settled(system, st, stream);
    for (int32_t step = 0; code == 0 && step < SUP_SETTLE_CONTACT_STEPS; step++) {
        code = sup_gpu_settle_detect(system, st, stream);
        if (code == 0) code = sup_gpu_detect_step(&detect, system, st, body, stream);
        if (code == 0) code = sup_gpu_list_contacts(system, st, stream);
        if (code == 0) code = sup_gpu_settle_contact(st, stream);
        if (code == 0)
            code = sup_gpu_step(system, st, CONTACT_ITERATIONS + SUP_GPU_SPARE_ITERATIONS, SUP_RESPONSE_MAX_SOLVES,
                                stream);
        if (code == 0) code = sup_gpu_finish(system, st, body, pose, stream);
        if (code == 0) code = sup_gpu_stop(system, st, stream);
    }
    return code;
}

static int settle(sup_crowd *crowd, int32_t begin, int32_t end, void *stream)
{
    sup_gpu_joints joints = crowd->joints;
    joints.count = end - begin;
    joints.pose += (size_t)begin * (size_t)crowd->joint_count * 12;
    joints.play += begin;
    int code = sup_gpu_pose(&crowd->motion, &joints, crowd->device_seconds, stream);
    if (code != 0 || crowd->kind != SUP_METHOD_DEVICE_PROJECTIVE) return code;
    const sup_gpu_system *system = &crowd->system;
    sup_gpu_state st = state_range(crowd, begin, end);
    sup_gpu_anchors anchors = crowd->anchors;
    sup_gpu_body body = crowd->body;
    anchors.ends += (size_t)begin * (size_t)anchors.view.segment_count * 8;
    body.ends = anchors.ends;
    bool touches = send_settle_commands(crowd, begin, end, &code, stream);
    if (code == 0) code = sup_gpu_first_phase(&st, stream);
    if (code == 0 && follows_clips(crowd)) {
        sup_gpu_colliders colliders = sup_crowd_colliders_range(crowd, begin);
        code = sup_gpu_follow(&colliders, &crowd->motion, &joints, &st, true, stream);
    }
    if (code == 0) code = launch_anchors(&anchors, &joints, &st, stream);
    if (code == 0) code = sup_gpu_prepare(system, &st, &body, joints.pose, stream);
    if (code == 0) code = sup_gpu_reset(system, &st, &body, joints.pose, stream);
    for (int32_t step = 0; code == 0 && step < SUP_SETTLE_STEPS; step++) {
        code = sup_gpu_step(system, &st, SUP_SOLVER_ITERATIONS_STRAIN + SUP_GPU_SPARE_ITERATIONS, 0, stream);
        if (code == 0) code = sup_gpu_finish(system, &st, &body, joints.pose, stream);
        if (code == 0) code = sup_gpu_stop(system, &st, stream);
        if (code == 0) code = sup_gpu_settle_end(&st, stream);
    }
    if (code == 0 && touches) code = settle_contact(crowd, begin, &st, &body, joints.pose, stream);
    if (code == 0) code = sup_gpu_settled(system, &st, stream);
    return code == 0 ? sup_gpu_untangle_reset(&crowd->untangle, begin, end - begin, stream) : code;
}

/* --- Frames --- */

static int step_classic(sup_crowd *crowd, float dt, void *stream)
{
    int code = send_commands(crowd, stream);
    if (code == 0) code = send_seconds(crowd, dt, stream);
    if (code == 0 && crowd->pose_changed) code = send_joints(crowd, crowd->pose, stream);
    crowd->pose_changed = false;
    return code == 0 ? replay(crowd, SUP_CROWD_STEP | SUP_CROWD_RENDER, stream) : code;
}

/* Sends the joints at fraction `t` of the frame; `previous`: fraction of the last call. */
static int pose_at(sup_crowd *crowd, bool moved, double previous, double t, double dt, void *stream)
{
    int code = crowd->has_clips ? send_seconds(crowd, (float)((t - previous) * dt), stream) : 0;
    if (!moved || code != 0) return code;
    if (t < 1.0) interpolate_joints(crowd, t);
    return send_joints(crowd, t < 1.0 ? crowd->between : crowd->pose, stream);
}

/* Whether the pose of an instance that the host sets was teleported or cut. */
static bool is_discontinuous(const sup_crowd *crowd, int32_t instance, int32_t steps, double dt)
{
    size_t floats = (size_t)crowd->joint_count * 12;
    const sup_mat34 *now = (const sup_mat34 *)(const void *)(crowd->pose + (size_t)instance * floats),
                    *previous = (const sup_mat34 *)(const void *)(crowd->previous_pose + (size_t)instance * floats);
    return sup_timestep_teleported(crowd->joint_count, previous, now, steps, crowd->size) ||
           (dt > 0.0 && sup_timestep_is_cut(crowd->joint_count, crowd->joint_parent, crowd->joint_centre, previous, now,
                                            dt, crowd->was_reset[instance] != 0));
}

/* Resets instances whose pose was teleported or cut. */
static int restart_discontinuous(sup_crowd *crowd, int32_t steps, double dt, void *stream)
{
    size_t floats = (size_t)crowd->joint_count * 12;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < crowd->count; i++) {
        float *now = crowd->pose + (size_t)i * floats, *previous = crowd->previous_pose + (size_t)i * floats;
        bool restart = crowd->play[i].clip < 0 && is_discontinuous(crowd, i, steps, dt);
        if (dt > 0.0) crowd->was_reset[i] = restart;
        if (!restart) continue;
        memcpy(previous, now, floats * sizeof(float));
        code = sup_cuda_copy_async(crowd->joints.pose + (size_t)i * floats, now, floats * sizeof(float), stream);
        if (code == 0) code = settle(crowd, i, i + 1, stream);
    }
    return code;
}

static int step_projective(sup_crowd *crowd, float seconds, void *stream)
{
    const double dt = (double)seconds;
    double at = 0.0, behind = crowd->behind;
    sup_timestep frame = sup_timestep_advance(&behind, dt, SUP_PROJECTIVE_SECONDS, SUP_TIMESTEP_BEHIND);
    bool moved = crowd->pose_changed, rendered = false;
    sup_crowd_wake_moved(crowd);
    int code = send_commands(crowd, stream);
    if (code == 0) code = send_frame_time(crowd, seconds, stream);
    if (code == 0 && moved) code = restart_discontinuous(crowd, frame.count, dt, stream);
    for (int32_t i = 1; code == 0 && i <= frame.count; i++) {
        double end = sup_timestep_fraction(&frame, i);
        rendered = i == frame.count && behind == 0.0;
        code = pose_at(crowd, moved, at, end, dt, stream);
        if (code == 0) code = sup_crowd_send_solids(crowd, at, end, stream);
        if (code == 0) code = replay(crowd, rendered ? SUP_CROWD_STEP | SUP_CROWD_RENDER : SUP_CROWD_STEP, stream);
        at = end;
    }
    if (code == 0 && !rendered) {
        code = pose_at(crowd, moved, at, 1.0, dt, stream);
        if (code == 0) code = replay(crowd, SUP_CROWD_RENDER | SUP_CROWD_EXTRAPOLATE, stream);
    }
    crowd->behind = behind;
    if (moved)
        memcpy(crowd->previous_pose, crowd->pose,
               (size_t)crowd->count * (size_t)crowd->joint_count * 12 * sizeof(float));
    crowd->pose_changed = false;
    sup_crowd_end_collider_frame(crowd, 0, crowd->count);
    return code;
}

sup_result sup_crowd_step(sup_crowd *crowd, float dt, void *stream, sup_error *error)
{
    if (crowd == NULL || !(dt >= 0.0f) || !isfinite(dt))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.step", "",
                        "A crowd and a finite time step that is not negative are required.");
    int code = sup_cuda_use(crowd->device->index);
    if (stream == NULL) stream = crowd->device->stream;
    if (code == 0)
        code = crowd->kind == SUP_METHOD_DEVICE_PROJECTIVE ? step_projective(crowd, dt, stream)
                                                           : step_classic(crowd, dt, stream);
    return sup_cuda_result(crowd->device, code, "a crowd took a step", error);
}

sup_result sup_crowd_wait(sup_crowd *crowd, sup_error *error)
{
    if (crowd == NULL) return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.null", "", "A crowd is required.");
    int code = sup_cuda_use(crowd->device->index);
    return sup_cuda_result(crowd->device, code == 0 ? sup_cuda_wait_all() : code, "a crowd was waited for", error);
}

/* --- Reset --- */

sup_result sup_crowd_reset(sup_crowd *crowd, int32_t instance, sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    void *stream = crowd->device->stream;
    size_t floats = (size_t)crowd->joint_count * 12;
    int code = sup_cuda_use(crowd->device->index);
    if (code == 0) code = sup_cuda_wait_all();
    if (code == 0) code = send_commands(crowd, stream);
    if (code == 0) code = send_seconds(crowd, 0.0f, stream);
    if (code == 0) code = send_frame_time(crowd, 0.0f, stream);
    if (code == 0) code = send_joints(crowd, crowd->pose, stream);
    if (code == 0) code = settle(crowd, begin, end, stream);
    memset(crowd->was_reset + begin, 1, (size_t)(end - begin));
    memcpy(crowd->previous_pose + (size_t)begin * floats, crowd->pose + (size_t)begin * floats,
           (size_t)(end - begin) * floats * sizeof(float));
    sup_crowd_end_collider_frame(crowd, begin, end);
    if (code == 0) code = launch_render(crowd, instance >= 0, stream);
    if (code == 0) code = sup_cuda_wait(stream);
    if (instance < 0) {
        crowd->behind = 0.0;
        crowd->pose_changed = false;
    }
    return sup_cuda_result(crowd->device, code, "instances were put at rest", error);
}

/* --- Readback --- */

sup_result sup_crowd_read(sup_crowd *crowd, int32_t instance, const sup_skin_out *out, sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (instance < 0 || out == NULL || (out->normals != NULL && crowd->out.normals == NULL) ||
        (out->tangents != NULL && crowd->out.tangents == NULL))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.read", "",
                        "Read one instance at a time; normals and tangents only if the crowd was created with them "
                        "(sup_crowd_def).");
    sup_result result = sup_crowd_wait(crowd, error);
    const float *from[3] = {crowd->out.positions, crowd->out.normals, crowd->out.tangents};
    float *to[3] = {out->positions, out->normals, out->tangents};
    size_t strides[3] = {out->position_stride, out->normal_stride, out->tangent_stride};
    for (int k = 0; result == SUP_OK && k < 3; k++) {
        size_t packed = sup_crowd_packed[k], stride = strides[k] != 0 ? strides[k] : packed;
        if (to[k] == NULL) continue;
        if (stride < packed)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.read", "", "The stride must be at least %d bytes.",
                            (int)packed);
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

float *sup_crowd_tangents(sup_crowd *crowd)
{
    return crowd != NULL ? crowd->out.tangents : NULL;
}

sup_result sup_crowd_last_step(sup_crowd *crowd, int32_t instance, sup_crowd_report *report, sup_error *error)
{
    int32_t begin, end;
    sup_gpu_progress progress = {0};
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    if (instance < 0 || report == NULL || crowd->kind != SUP_METHOD_DEVICE_PROJECTIVE)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.report", "",
                        "Only a single instance of a projective model has a report.");
    sup_result result = sup_crowd_wait(crowd, error);
    if (result != SUP_OK) return result;
    int code = sup_cuda_copy(&progress, crowd->state.progress + instance, sizeof progress);
    *report = (sup_crowd_report){progress.iterations, progress.rejected, (double)progress.objective,
                                 progress.active_contacts, progress.asleep != 0};
    return sup_cuda_result(crowd->device, code, "a report was read back", error);
}
