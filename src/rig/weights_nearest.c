/* weights_nearest.c - weights of the nearest bone, blended equally with its neighbours near its ends.
 *
 * N. Abu Rumman, Position based skinning for interactive character animation, PhD thesis, Sapienza 2016, section 4.2,
 * eq. 4.1. With u the parameter of a vertex along its nearest bone (0 at the head, 1 at the tail, not clamped): for
 * 1/6 <= u <= 5/6 the bone has weight 1, else the n bones connected at that end have weight 1/n each, n at most 3.
 *
 * The thesis does not say which 3 bones are used if more are connected, nor how to treat a bone of length zero. Here
 * the nearest bone is always used, then the connected bones nearest to the vertex; a bone of length zero has u = 0.
 * Every joint is a bone; connected at its head are its parent and siblings with the same head, at its tail its
 * children. */
#include "rig/weights.h"

#include "math/vec3.h"

enum { MAX_BONES = 3, GRAIN = 1024 };

typedef struct nearest_work {
    const sup_weights_input *input;
    const sup_weights_output *output;
    const int32_t *child_first; /* [joint_count+1] */
    const int32_t *children;    /* [joint_count] children by parent, ascending */
    double same_position;       /* distance below which two joints have the same position */
} nearest_work;

/* Bones with influence on a vertex, the nearest one first. */
typedef struct bone_set {
    int32_t count;
    int32_t joint[MAX_BONES];
    double distance[MAX_BONES];
} bone_set;

static double bone_distance(const sup_weights_input *in, sup_vec3d p, int32_t joint)
{
    sup_vec3d a = sup_v3_load(in->bone_head + 3 * (size_t)joint), b = sup_v3_load(in->bone_tail + 3 * (size_t)joint);
    return sup_v3_distance(p, sup_v3_lerp(a, b, sup_v3_segment_parameter(p, a, b)));
}

/* Inserts a bone by distance; the bone at index 0 stays first. */
static void add_bone(bone_set *set, int32_t joint, double distance)
{
    int32_t k = set->count;
    if (k < MAX_BONES)
        set->count++;
    else if (distance < set->distance[--k]) /* replaces the last one */
        set->distance[k] = distance;
    else
        return;
    for (; k > 1 && distance < set->distance[k - 1]; k--) {
        set->joint[k] = set->joint[k - 1];
        set->distance[k] = set->distance[k - 1];
    }
    set->joint[k] = joint;
    set->distance[k] = distance;
}

static void add_head_bones(const nearest_work *work, sup_vec3d p, int32_t joint, bone_set *set)
{
    const sup_weights_input *in = work->input;
    int32_t parent = in->joint_parent[joint];
    if (parent < 0) return;
    add_bone(set, parent, bone_distance(in, p, parent));
    sup_vec3d head = sup_v3_load(in->bone_head + 3 * (size_t)joint);
    for (int32_t k = work->child_first[parent]; k < work->child_first[parent + 1]; k++) {
        int32_t sibling = work->children[k];
        sup_vec3d other = sup_v3_load(in->bone_head + 3 * (size_t)sibling);
        if (sibling != joint && sup_v3_distance(head, other) <= work->same_position)
            add_bone(set, sibling, bone_distance(in, p, sibling));
    }
}

static int32_t nearest_bone(const sup_weights_input *in, sup_vec3d p, double *distance)
{
    int32_t best = 0;
    *distance = INFINITY;
    for (int32_t j = 0; j < in->joint_count; j++) {
        double d = bone_distance(in, p, j);
        if (d < *distance) {
            *distance = d;
            best = j;
        }
    }
    return best;
}

static void vertex_weights(const nearest_work *work, int32_t v)
{
    const sup_weights_input *in = work->input;
    sup_vec3d p = sup_v3_load(in->positions + 3 * (size_t)v);
    double distance;
    int32_t bone = nearest_bone(in, p, &distance);
    bone_set set = {1, {bone, 0, 0}, {distance, 0.0, 0.0}};
    sup_vec3d s = sup_v3_load(in->bone_head + 3 * (size_t)bone);
    sup_vec3d along = sup_v3_sub(sup_v3_load(in->bone_tail + 3 * (size_t)bone), s); /* d - s */
    double length2 = sup_v3_dot(along, along);
    double u = length2 > 0.0 ? sup_v3_dot(sup_v3_sub(p, s), along) / length2 : 0.0; /* eq. 4.1 */
    if (u < 1.0 / 6.0)
        add_head_bones(work, p, bone, &set);
    else if (u > 5.0 / 6.0)
        for (int32_t k = work->child_first[bone]; k < work->child_first[bone + 1]; k++)
            add_bone(&set, work->children[k], bone_distance(in, p, work->children[k]));
    int32_t count = set.count < in->max_influences ? set.count : in->max_influences;
    int32_t *joints = work->output->joints + (size_t)v * (size_t)in->max_influences;
    float *weights = work->output->weights + (size_t)v * (size_t)in->max_influences;
    for (int32_t k = 0; k < in->max_influences; k++) {
        joints[k] = 0;
        weights[k] = 0.0f;
    }
    for (int32_t k = 0; k < count; k++) {
        joints[k] = set.joint[k];
        weights[k] = 1.0f / (float)count; /* eq. 4.1, after the limit of 3 */
    }
}

static void weights_task(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        vertex_weights(work, v);
}

/* Diagonal of the bounding box of all heads and tails. */
static double skeleton_size(const sup_weights_input *in)
{
    sup_vec3d low = sup_v3(INFINITY, INFINITY, INFINITY), high = sup_v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t j = 0; j < 2 * in->joint_count; j++) {
        sup_vec3d p = sup_v3_load((j % 2 == 0 ? in->bone_head : in->bone_tail) + 3 * (size_t)(j / 2));
        low = sup_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sup_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    return sup_v3_distance(low, high);
}

sup_result sup_weights_nearest(const sup_weights_input *input, const sup_weights_output *output, sup_error *error)
{
    if (input->joint_count < 1 || input->max_influences < 1)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "weights.nearest", "",
                        "Weights need at least one bone and one influence per vertex.");
    const sup_allocator *allocator = &input->context->allocator;
    sup_arena scratch = sup_arena_create(allocator);
    int32_t *first = sup_arena_alloc(&scratch, (size_t)input->joint_count + 2, sizeof *first);
    int32_t *children = sup_arena_alloc(&scratch, (size_t)input->joint_count, sizeof *children);
    if (first == NULL || children == NULL) {
        sup_arena_destroy(&scratch);
        return sup_fail_memory(error, "weights");
    }
    /* Counting sort by parent: counts are stored at index + 2, so that `first` holds the starts after filling. */
    for (int32_t j = 0; j < input->joint_count; j++)
        if (input->joint_parent[j] >= 0) first[input->joint_parent[j] + 2]++;
    for (int32_t j = 2; j <= input->joint_count + 1; j++)
        first[j] += first[j - 1];
    for (int32_t j = 0; j < input->joint_count; j++)
        if (input->joint_parent[j] >= 0) children[first[input->joint_parent[j] + 1]++] = j;
    nearest_work work = {input, output, first, children, 1e-6 * skeleton_size(input)};
    sup_parallel(input->context, input->vertex_count, GRAIN, weights_task, &work);
    sup_arena_destroy(&scratch);
    return SUP_OK;
}
