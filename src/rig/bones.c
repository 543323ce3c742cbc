/* bones.c - bones as line segments, and their defects.
 *
 * Bone j is the segment from joint j to the mean of its children. The tail of a leaf is estimated from the vertices
 * that it influences: in their mean direction, at the smaller of 0.9 times their extent and 2.5 times their mean
 * distance along that direction, so that an outlier does not lengthen the bone. A leaf without vertices continues the
 * bone of its parent by a third of its length. */
#include "rig/rig.h"

/* Sums over the vertices that a leaf influences. */
typedef struct leaf_sums {
    sup_vec3d direction; /* weighted sum of offsets from the head; normalised for the second pass */
    double weight, distance;
    double extent, strong_extent; /* along the direction; strong: of vertices with a weight of at least one half */
    double mean;                  /* weighted sum of distances along the direction */
} leaf_sums;

static sup_vec3d head_of(const float *head, int32_t joint)
{
    return sup_v3_load(head + 3 * (size_t)joint);
}

/* Whether the bone counts in the mean of its parent's children. */
static bool is_child_bone(const sup_rig_joints *skeleton, int32_t j)
{
    int32_t parent = skeleton->parent[j];
    if (parent < 0 || skeleton->is_copy[j]) return false;
    return skeleton->is_bone[j] || !skeleton->is_bone[parent];
}

/* Vector from the parent's head to the head of a joint; zero for roots. */
static sup_vec3d parent_direction(const sup_rig_joints *skeleton, const float *head, int32_t joint)
{
    int32_t parent = skeleton->parent[joint];
    if (parent < 0) return sup_v3(0, 0, 0);
    return sup_v3_sub(head_of(head, joint), head_of(head, parent));
}

typedef void vertex_fn(leaf_sums *sums, sup_vec3d offset, double weight);

/* Calls `fn` for all influences of the selected joints with the vertex's offset from the head. Welded vertices count
 * once. */
static void for_influences(const sup_rig_build *build, const bool *selected, leaf_sums *sums, vertex_fn *fn)
{
    const sup_influence_lists *lists = &build->weights.lists;
    for (int32_t v = 0; v < build->rig->vertex_count; v++) {
        int32_t source = lists->source[v];
        if (build->surface.leader[v] != v) continue;
        for (size_t k = lists->first[source]; k < lists->first[source] + (size_t)lists->count[source]; k++) {
            int32_t joint = lists->joint[k];
            if (!selected[joint]) continue;
            sup_vec3d position = sup_v3_load(build->surface.positions + 3 * (size_t)v);
            fn(&sums[joint], sup_v3_sub(position, head_of(build->bones.head, joint)), lists->weight[k]);
        }
    }
}

static void sum_direction(leaf_sums *sums, sup_vec3d offset, double weight)
{
    sums->direction = sup_v3_madd(sums->direction, weight, offset);
    sums->weight += weight;
    sums->distance += weight * sup_v3_length(offset);
}

static void sum_extent(leaf_sums *sums, sup_vec3d offset, double weight)
{
    double along = sup_v3_dot(offset, sums->direction);
    sums->mean += weight * along;
    sums->extent = fmax(sums->extent, along);
    if (weight >= 0.5) sums->strong_extent = fmax(sums->strong_extent, along);
}

static void set_leaf_tail(const sup_rig_joints *skeleton, double size, int32_t joint, const leaf_sums *sums,
                          sup_rig_bone_segments *bones)
{
    float *tail = bones->tail + 3 * (size_t)joint;
    sup_vec3d head = head_of(bones->head, joint);
    if (sums->weight > 0.0) {
        double extent = sums->strong_extent > 0.0 ? sums->strong_extent : sums->extent;
        double length = fmin(0.9 * extent, 2.5 * sums->mean / sums->weight);
        if (length > 1e-4 * size) {
            sup_v3_store(tail, sup_v3_madd(head, length, sums->direction));
            bones->tail_from_vertices[joint] = true;
            return;
        }
    }
    sup_vec3d onward = parent_direction(skeleton, bones->head, joint);
    double length = sup_v3_length(onward) / 3.0;
    if (!(length > 0.0)) length = 0.02 * size;
    sup_v3_store(tail, sup_v3_madd(head, length, sup_v3_unit_or(onward, sup_v3(0.0, 1.0, 0.0))));
}

/* Estimates the tails of the selected leaves. */
static sup_result estimate_leaf_tails(sup_rig_build *build, const bool *selected, sup_error *error)
{
    int32_t joints = build->rig->joint_count;
    leaf_sums *sums = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *sums);
    if (sums == NULL) return sup_fail_memory(error, "the bones");
    for_influences(build, selected, sums, sum_direction);
    for (int32_t j = 0; j < joints; j++) {
        /* Vertices all around the joint have no mean direction. */
        bool ambiguous = sup_v3_length(sums[j].direction) < 0.1 * sums[j].distance;
        sup_vec3d onward = sup_v3_unit_or(parent_direction(&build->skeleton, build->bones.head, j), sup_v3(0, 1, 0));
        sums[j].direction = ambiguous ? onward : sup_v3_unit_or(sums[j].direction, onward);
    }
    for_influences(build, selected, sums, sum_extent);
    for (int32_t j = 0; j < joints; j++)
        if (selected[j]) set_leaf_tail(&build->skeleton, (double)build->rig->size, j, &sums[j], &build->bones);
    return SUP_OK;
}

/* Counts the skinned vertices that each joint influences; those of copies count for the node's own joint too. */
static void count_joint_vertices(const sup_rig *rig, const sup_rig_joints *skeleton, const sup_influence_lists *lists,
                                 int32_t *use_count)
{
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t source = lists->source[v];
        if (rig->vertex_to_skin[v] < 0) continue;
        for (size_t k = lists->first[source]; k < lists->first[source] + (size_t)lists->count[source]; k++)
            use_count[lists->joint[k]]++;
    }
    for (int32_t j = 0; j < rig->joint_count; j++)
        if (skeleton->is_copy[j]) use_count[skeleton->node_joint[rig->joint_node[j]]] += use_count[j];
}

sup_result sup_rig_bones(sup_rig_build *build, sup_error *error)
{
    int32_t joints = build->rig->joint_count;
    const sup_rig_joints *skeleton = &build->skeleton;
    sup_rig_bone_segments *bones = &build->bones;
    bones->head = sup_arena_alloc(build->arena, 3 * (size_t)joints, sizeof(float));
    bones->tail = sup_arena_alloc(build->arena, 3 * (size_t)joints, sizeof(float));
    bones->tail_from_vertices = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof(bool));
    bones->leaf = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof(bool));
    sup_vec3d *sum = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *sum);
    int32_t *children = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *children);
    if (bones->head == NULL || bones->tail == NULL || bones->tail_from_vertices == NULL || bones->leaf == NULL ||
        sum == NULL || children == NULL)
        return sup_fail_memory(error, "the bones");
    for (int32_t j = 0; j < joints; j++)
        sup_v3_store(bones->head + 3 * (size_t)j, sup_affine_translation(skeleton->bind[j]));
    for (int32_t j = 0; j < joints; j++) {
        if (!is_child_bone(skeleton, j)) continue;
        sum[skeleton->parent[j]] = sup_v3_add(sum[skeleton->parent[j]], head_of(bones->head, j));
        children[skeleton->parent[j]]++;
    }
    for (int32_t j = 0; j < joints; j++) {
        bones->leaf[j] = children[j] == 0;
        if (children[j] > 0) sup_v3_store(bones->tail + 3 * (size_t)j, sup_v3_scale(sum[j], 1.0 / children[j]));
    }
    build->rig->bone_head = bones->head;
    build->rig->bone_tail = bones->tail;
    return estimate_leaf_tails(build, bones->leaf, error);
}

/* Leaves without vertices of the file get tails from the computed weights. */
sup_result sup_rig_update_bone_tails(sup_rig_build *build, sup_error *error)
{
    sup_rig_bone_segments *bones = &build->bones;
    bool any = false;
    for (int32_t j = 0; j < build->rig->joint_count; j++) {
        bones->leaf[j] = bones->leaf[j] && !bones->tail_from_vertices[j];
        any = any || bones->leaf[j];
    }
    sup_result result = any ? estimate_leaf_tails(build, bones->leaf, error) : SUP_OK;
    if (result != SUP_OK) return result;
    bones->use_count = sup_arena_alloc(&build->scratch, (size_t)build->rig->joint_count, sizeof(int32_t));
    if (bones->use_count == NULL) return sup_fail_memory(error, "the bones");
    count_joint_vertices(build->rig, &build->skeleton, &build->weights.lists, bones->use_count);
    return SUP_OK;
}

sup_result sup_rig_bone_defects(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    const sup_rig_joints *skeleton = &build->skeleton;
    int32_t unused = 0, first_unused = -1, zero = 0, first_zero = -1;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t node = rig->joint_node[j];
        if (!skeleton->is_bone[j] || skeleton->is_copy[j]) continue;
        if (skeleton->node_listed[node] && build->bones.use_count[j] == 0 && unused++ == 0) first_unused = node;
        bool zero_length = is_child_bone(skeleton, j) &&
                           sup_v3_length(parent_direction(skeleton, build->bones.head, j)) <= 1e-6 * (double)rig->size;
        if (zero_length && zero++ == 0) first_zero = node;
    }
    const char *unused_name = first_unused < 0 ? "" : sup_rig_node_name(build->character, first_unused);
    const char *zero_name = first_zero < 0 ? "" : sup_rig_node_name(build->character, first_zero);
    sup_result result = sup_rig_defect(&build->defects, SUP_DEFECT_UNREFERENCED_JOINT, SUP_SEVERITY_NOTE, -1, unused,
                                       first_unused, error, "%d joint%s of the skeleton without influence (first: %s).",
                                       unused, sup_plural(unused), unused_name);
    if (result != SUP_OK) return result;
    return sup_rig_defect(&build->defects, SUP_DEFECT_ZERO_LENGTH_BONE, SUP_SEVERITY_NOTE, -1, zero, first_zero, error,
                          "%d bone%s of length zero: the joint has the position of its parent (first: %s).", zero,
                          sup_plural(zero), zero_name);
}
