/* stbs.c - stretchable, twistable bones as a method. */
#include "methods/stbs/stbs.h"

#include "base/simd.h"

#include <math.h>

static const sup_skin_kernels stbs_kernels = SUP_SKIN_KERNELS(sup_stbs_window);

static const sup_param params[SUP_STBS_PARAM_COUNT] = {
    {"rigid", "", SUP_PARAM_BOOL, 0.0, 1.0, 0.0, NULL, true,
     "Move each vertex only with the joint of its largest weight."},
    {"twist", "", SUP_PARAM_FLOAT, 0.0, 1.0, 1.0, NULL, true,
     "Share of the twist of joints that is spread along bones; 0 twists at the joints."},
    {"stretch", "", SUP_PARAM_FLOAT, 0.0, 1.0, 1.0, NULL, true,
     "Share of the movement of joints that is spread along bones; 0 moves skin at the joints."},
};

/* Half the length of the rounded corners of e, in bone lengths: without them the skin has a kink at both ends. */
static const double corner = 0.1;
/* Of the size: shorter bones have no direction. */
static const double least_length = 1e-5;
/* Smaller twists, in radians, and stretches, relative to the character's extent, are rounding noise. */
static const double least_twist = 4e-6, least_stretch = 4e-6;

/* Where the twist of a motion is not continuous it is faded out: about swings of half a turn, from 143 degrees on
 * (square of the cosine of half the swing), and about twists of half a turn, from 165 degrees on (radians). There is
 * linear blending. */
static const double swing_fade = 0.1, twist_fade = 0.26;

static double rounded(double t) /* max(t, 0) with a rounded corner */
{
    return t <= -corner ? 0.0 : t >= corner ? t : (t + corner) * (t + corner) / (4.0 * corner);
}

double sup_stbs_along(double t)
{
    return t < 0.5 ? rounded(t) : 1.0 - rounded(1.0 - t);
}

/* --- Bind --- */

/* What fill_along needs. */
typedef struct bone_places {
    const sup_rig *rig;
    const int32_t *child;
    const float *axis;
    const int32_t *rigid;    /* sup_rig_rigid_joints, or NULL */
    const sup_vec3d *middle; /* [component_count] mean positions */
} bone_places;

static sup_vec3d head_of(const sup_rig *rig, int32_t joint)
{
    return sup_affine_translation(sup_affine_from_float(rig->joint_bind[joint]));
}

static void fill_along(const void *data, int32_t vertex, int32_t joint, float *e)
{
    const bone_places *bones = data;
    sup_vec3d axis = sup_v3_load(bones->axis + 3 * (int64_t)joint), head = head_of(bones->rig, joint);
    if (!(sup_v3_dot(axis, axis) > 0.0)) return;
    double length = sup_v3_distance(head_of(bones->rig, bones->child[joint]), head);
    sup_vec3d u = sup_v3_load(bones->rig->positions + 3 * (int64_t)vertex);
    int32_t skin = bones->rigid != NULL ? bones->rig->vertex_to_skin[vertex] : -1;
    /* All of a rigid component turns and moves as its middle does. */
    if (skin >= 0 && bones->rigid[skin] >= 0) u = bones->middle[bones->rig->skin_component[skin]];
    *e = (float)sup_stbs_along(sup_v3_dot(sup_v3_sub(u, head), axis) / length);
}

/* Marks joints that influence skin, or have one below them that does. Parents come before children. */
static void mark_movers(const sup_rig *rig, bool *moves)
{
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        if (rig->skin_vertex_count > 0 && rig->vertex_to_skin[v] < 0) continue; /* props */
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++)
            if (rig->influence_joint[i] >= 0 && rig->influence_joint[i] < rig->joint_count &&
                rig->influence_weight[i] > 0.0f)
                moves[rig->influence_joint[i]] = true;
    }
    for (int32_t j = rig->joint_count - 1; j >= 0; j--)
        if (moves[j] && rig->joint_parent[j] >= 0) moves[rig->joint_parent[j]] = true;
}

static void find_bones(const sup_rig *rig, const bool *moves, int32_t *parent, int32_t *child, float *axis)
{
    for (int32_t j = 0; j < rig->joint_count; j++) {
        parent[j] = rig->joint_parent[j];
        child[j] = -1;
    }
    for (int32_t j = 0; j < rig->joint_count; j++)
        if (moves[j] && parent[j] >= 0) child[parent[j]] = child[parent[j]] == -1 ? j : -2; /* -2: several */
    for (int32_t j = 0; j < rig->joint_count; j++) {
        if (child[j] < 0) {
            child[j] = -1;
            continue;
        }
        sup_vec3d bone = sup_v3_sub(head_of(rig, child[j]), head_of(rig, j));
        double length = sup_v3_length(bone);
        if (length > least_length * (double)rig->size && isfinite(length))
            sup_v3_store(axis + 3 * (int64_t)j, sup_v3_scale(bone, 1.0 / length));
        else
            child[j] = -1;
    }
}

/* Mean position of each component of the skin. */
static sup_vec3d *find_middles(const sup_rig *rig, sup_arena *arena)
{
    size_t count = (size_t)rig->component_count;
    sup_vec3d *middle = sup_arena_alloc(arena, count, sizeof *middle);
    double *vertices = sup_arena_alloc(arena, count, sizeof *vertices);
    if (middle == NULL || vertices == NULL) return NULL;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        int32_t component = rig->skin_component[v];
        if (component < 0) continue;
        middle[component] = sup_v3_add(middle[component], sup_v3_load(rig->skin_positions + 3 * (int64_t)v));
        vertices[component] += 1.0;
    }
    for (size_t c = 0; c < count; c++)
        middle[c] = sup_v3_scale(middle[c], 1.0 / fmax(vertices[c], 1.0));
    return middle;
}

static sup_result stbs_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    const sup_rig *rig = input->rig;
    sup_arena arena = sup_arena_create(&input->context->allocator);
    int32_t *parent = sup_model_add(builder, SUP_STBS_PARENT, SUP_ARRAY_INT32, rig->joint_count);
    int32_t *child = sup_model_add(builder, SUP_STBS_CHILD, SUP_ARRAY_INT32, rig->joint_count);
    float *axis = sup_model_add(builder, SUP_STBS_AXIS, SUP_ARRAY_FLOAT, 3 * (int64_t)rig->joint_count);
    bool *moves = sup_arena_alloc(&arena, (size_t)rig->joint_count, sizeof *moves);
    const sup_vec3d *middle = find_middles(rig, &arena);
    sup_result result = SUP_OK;
    if (parent == NULL || child == NULL || axis == NULL || moves == NULL || middle == NULL)
        result = sup_fail_memory(error, "the bones");
    if (result == SUP_OK) {
        mark_movers(rig, moves);
        find_bones(rig, moves, parent, child, axis);
        bone_places bones = {rig, child, axis, rig->skin_vertex_count > 0 ? sup_rig_rigid_joints(rig) : NULL, middle};
        sup_skin_values values = {SUP_STBS_ALONG, 1, true, fill_along, &bones};
        result = sup_skin_bind_values(input, &values, 1, builder, error);
    }
    sup_arena_destroy(&arena);
    return result;
}

/* --- Models --- */

static sup_result damaged(sup_error *error, const char *array)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "skin.model", array,
                    "The model is damaged: its bones are missing or out of range. Bind the character again.");
}

static sup_result stbs_check(const sup_model *model, sup_error *error)
{
    sup_result result = sup_skin_check(model, error);
    if (result == SUP_OK) result = sup_skin_check_values(model, SUP_STBS_ALONG, 1, true, 1.0f, error);
    if (result != SUP_OK) return result;
    int32_t joints = sup_skin_open(model).joint_count;
    const int32_t *parent = sup_model_array(model, SUP_STBS_PARENT, SUP_ARRAY_INT32, joints);
    const int32_t *child = sup_model_array(model, SUP_STBS_CHILD, SUP_ARRAY_INT32, joints);
    const float *axis = sup_model_array(model, SUP_STBS_AXIS, SUP_ARRAY_FLOAT, 3 * (int64_t)joints);
    if (parent == NULL || child == NULL || axis == NULL) return damaged(error, SUP_STBS_PARENT);
    for (int32_t j = 0; j < joints; j++) {
        if (parent[j] < -1 || parent[j] >= joints || child[j] < -1 || child[j] >= joints)
            return damaged(error, SUP_STBS_CHILD);
        for (int32_t i = 0; i < 3; i++)
            if (!(fabsf(axis[3 * (int64_t)j + i]) <= 1.001f)) return damaged(error, SUP_STBS_AXIS);
    }
    return SUP_OK;
}

/* --- Step --- */

typedef struct pose_memory {
    float *motion, *sine, *versine, *spread; /* [joint_count*12] */
    unsigned char *active;                   /* [joint_count] */
} pose_memory;

static size_t matrix_bytes(const sup_skin_model *skin)
{
    return ((size_t)skin->joint_count * 12 * sizeof(float) + 63) / 64 * 64;
}

static size_t joint_bytes(const sup_skin_model *skin)
{
    return 4 * matrix_bytes(skin) + ((size_t)skin->joint_count + 63) / 64 * 64;
}

static pose_memory memory_at(unsigned char *memory, const sup_skin_model *skin)
{
    size_t matrix = matrix_bytes(skin);
    return (pose_memory){.motion = (float *)(void *)memory,
                         .sine = (float *)(void *)(memory + matrix),
                         .versine = (float *)(void *)(memory + 2 * matrix),
                         .spread = (float *)(void *)(memory + 3 * matrix),
                         .active = memory + 4 * matrix};
}

static sup_result stbs_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    sup_skin_model skin = sup_skin_open(model);
    sup_layout_add(layout, 1, sup_skin_state_size(&skin, context, joint_bytes(&skin)));
    return SUP_OK;
}

/* The bones of a model, and the pose of a step. */
typedef struct bone_pose {
    const sup_skin_model *skin;
    const sup_pose *pose;
    const int32_t *parent, *child;
    const float *axis;
    double twist, stretch; /* parameters */
} bone_pose;

/* Motion of a joint relative to another one, in bind space; false where that one is flat. */
static bool relative_motion(const bone_pose *b, int32_t joint, int32_t to, sup_affine *motion)
{
    sup_affine back;
    if (!sup_affine_inverse(sup_skin_joint(b->skin, b->pose, to), &back)) return false;
    *motion = sup_affine_multiply(back, sup_skin_joint(b->skin, b->pose, joint));
    return sup_affine_finite(*motion);
}

static double fade(double x) /* 0 at 0, 1 from 1 on */
{
    return x >= 1.0 ? 1.0 : x > 0.0 ? x * x * (3.0 - 2.0 * x) : 0.0;
}

/* Angle about the axis d of a motion = swing after twist, in [-pi, pi]; 0 where a mirror, a swing or a twist by half a
 * turn leaves it open. */
static double twist_about(sup_affine motion, sup_vec3d d)
{
    const double half_turn = 3.141592653589793;
    sup_quatd q;
    double stretch[9];
    if (!(sup_affine_determinant(motion) > 0.0) || !sup_affine_polar(motion, &q, stretch)) return 0.0;
    double along = q.x * d.x + q.y * d.y + q.z * d.z, w = q.w;
    double angle = w < 0.0 ? 2.0 * atan2(-along, -w) : 2.0 * atan2(along, w);
    angle *= fade((along * along + w * w) / swing_fade) * fade((half_turn - fabs(angle)) / twist_fade);
    return fabs(angle) > least_twist ? angle : 0.0;
}

/* Twist of the bone at both ends, and its stretch in bind space; false without both. */
static bool bone_shape(const bone_pose *b, int32_t joint, double theta[2], sup_vec3d *stretch)
{
    int32_t child = b->child[joint], parent = b->parent[joint];
    sup_vec3d axis = sup_v3_load(b->axis + 3 * (int64_t)joint);
    sup_affine motion;
    theta[0] = theta[1] = 0.0;
    *stretch = sup_v3(0.0, 0.0, 0.0);
    if (child < 0) return false;
    if (b->twist > 0.0 && parent >= 0 && relative_motion(b, joint, parent, &motion))
        theta[0] = -b->twist * twist_about(motion, axis);
    if (!relative_motion(b, child, joint, &motion)) return theta[0] != 0.0;
    if (b->twist > 0.0 && b->child[child] < 0) theta[1] = b->twist * twist_about(motion, axis);
    sup_vec3d head = sup_v3_load(b->skin->joint_centre + 3 * (int64_t)child);
    sup_vec3d way = sup_v3_sub(sup_affine_point(motion, head), head);
    if (b->stretch > 0.0 && sup_v3_length(way) > least_stretch * (double)b->skin->extent)
        *stretch = sup_v3_scale(way, b->stretch);
    return theta[0] != 0.0 || theta[1] != 0.0 || sup_v3_dot(*stretch, *stretch) > 0.0;
}

/* Stores a matrix; the largest number that is stored so far. */
static double store_matrix(const double m[12], float *out, double largest)
{
    for (int32_t i = 0; i < 12; i++) {
        largest = fmax(largest, fabs(m[i]));
        out[i] = (float)m[i];
    }
    return isfinite(largest) ? largest : INFINITY;
}

/* Fills the joint's entries for its twist and stretch. */
static double spread_joint(const bone_pose *b, int32_t joint, sup_affine motion, const double theta[2],
                           sup_vec3d stretch, const pose_memory *at, double largest)
{
    sup_vec3d d = sup_v3_load(b->axis + 3 * (int64_t)joint);
    sup_vec3d head = sup_v3_load(b->skin->joint_centre + 3 * (int64_t)joint);
    /* X u = d x (u - head), and X X: the parts of a rotation with sin theta and 1 - cos theta. */
    sup_affine x = {{0, -d.z, d.y, 0, d.z, 0, -d.x, 0, -d.y, d.x, 0, 0}}, linear = motion, sine, versine;
    sup_vec3d offset = sup_affine_vector(x, head);
    x.m[3] = -offset.x, x.m[7] = -offset.y, x.m[11] = -offset.z;
    linear.m[3] = linear.m[7] = linear.m[11] = 0.0;
    sine = sup_affine_multiply(linear, x);
    sup_affine twice = x;
    twice.m[3] = twice.m[7] = twice.m[11] = 0.0;
    versine = sup_affine_multiply(linear, sup_affine_multiply(twice, x));
    sup_vec3d way = sup_affine_vector(motion, stretch);
    const double spread[12] = {theta[0], theta[1] - theta[0], 0, way.x, 0, 0, 0, way.y, 0, 0, 0, way.z};
    largest = store_matrix(sine.m, at->sine + 12 * (int64_t)joint, largest);
    largest = store_matrix(versine.m, at->versine + 12 * (int64_t)joint, largest);
    return store_matrix(spread, at->spread + 12 * (int64_t)joint, largest);
}

static sup_result pose_joints(const bone_pose *b, const pose_memory *at)
{
    double largest = 0.0;
    memset(at->sine, 0, (size_t)b->skin->joint_count * 12 * sizeof(float));
    memset(at->versine, 0, (size_t)b->skin->joint_count * 12 * sizeof(float));
    memset(at->spread, 0, (size_t)b->skin->joint_count * 12 * sizeof(float));
    for (int32_t j = 0; j < b->skin->joint_count; j++) {
        sup_affine motion = sup_skin_joint(b->skin, b->pose, j);
        largest = store_matrix(motion.m, at->motion + 12 * (int64_t)j, largest);
        if (!(largest <= (double)SUP_SKIN_LIMIT)) return SUP_ERROR_DATA;
        double theta[2];
        sup_vec3d stretch;
        at->active[j] = bone_shape(b, j, theta, &stretch);
        if (at->active[j]) largest = spread_joint(b, j, motion, theta, stretch, at, largest);
    }
    return sup_skin_range(b->skin, b->pose, largest, 0.0);
}

sup_result sup_stbs_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    sup_skin_model skin = sup_skin_open(input->model);
    if (out->tangents != NULL && skin.tangents == NULL) return SUP_ERROR_ARGUMENT;
    pose_memory at = memory_at(state, &skin);
    bone_pose bones = {&skin,
                       input->pose,
                       sup_model_array(input->model, SUP_STBS_PARENT, SUP_ARRAY_INT32, -1),
                       sup_model_array(input->model, SUP_STBS_CHILD, SUP_ARRAY_INT32, -1),
                       sup_model_array(input->model, SUP_STBS_AXIS, SUP_ARRAY_FLOAT, -1),
                       input->values[SUP_STBS_TWIST],
                       input->values[SUP_STBS_STRETCH]};
    sup_result result = pose_joints(&bones, &at);
    if (result != SUP_OK) return result;
    sup_stbs_joints joints = {at.motion, at.sine,   at.versine,
                              at.spread, at.active, sup_model_array(input->model, SUP_STBS_ALONG, SUP_ARRAY_FLOAT, -1)};
    sup_skin_window work = {
        .skin = &skin, .joints = &joints, .rigid = input->values[SUP_STBS_RIGID] != 0.0, .out = *out};
    sup_skin_run(input, &work, &stbs_kernels, lanes, (unsigned char *)state + joint_bytes(&skin));
    return SUP_OK;
}

static sup_result stbs_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    return sup_stbs_step(input, state, out, sup_simd_lanes());
}

const sup_method sup_method_stbs = {
    .name = "stbs",
    .summary = "Stretchable, twistable bones: linear blending with twist and stretch of joints spread along the bones.",
    .version = 1,
    .flags = SUP_METHOD_USES_WEIGHTS,
    .params = params,
    .param_count = SUP_STBS_PARAM_COUNT,
    .bind = stbs_bind,
    .check = stbs_check,
    .layout = stbs_layout,
    .reset = sup_skin_reset,
    .step = stbs_step,
};
