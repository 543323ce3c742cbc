/* bones.c - bones as segments, and what is wrong with them.
 *
 * Bone j runs from joint j to the mean of its children. A leaf ends where the vertices that it moves end: in their mean
 * direction, at 0.9 of their extent or 2.5 times their mean, whichever is less, so that a stray vertex does not pull
 * it out. A leaf that moves nothing goes on from its parent's bone by a third of it. */
#include "rig/rig.h"

/* What the vertices of a joint say about its bone. */
typedef struct leaf_sums {
    sup_vec3d direction; /* weighted sum of offsets from the head */
    double weight, distance;
    double extent, strong_extent; /* along the direction; of vertices that the joint holds by half or more */
    double mean;                  /* weighted sum along the direction */
} leaf_sums;

static sup_vec3d head_of(const sup_rig_build *build, int32_t joint)
{
    return sup_v3_load(build->bone_head + 3 * (size_t)joint);
}

/* The bone counts as a child of its parent when the mean of the children is taken. */
static bool is_child_bone(const sup_rig_build *build, int32_t j)
{
    int32_t parent = build->joint_parent[j];
    if (parent < 0 || build->joint_is_copy[j]) return false;
    return build->joint_is_bone[j] || !build->joint_is_bone[parent];
}

static sup_vec3d parent_direction(const sup_rig_build *build, int32_t joint)
{
    int32_t parent = build->joint_parent[joint];
    if (parent < 0) return sup_v3(0, 0, 0);
    return sup_v3_sub(head_of(build, joint), head_of(build, parent));
}

static void set_tail(sup_rig_build *build, int32_t joint, sup_vec3d direction, double length)
{
    sup_v3_store(build->bone_tail + 3 * (size_t)joint, sup_v3_madd(head_of(build, joint), length, direction));
}

typedef void vertex_fn(sup_rig_build *build, leaf_sums *sums, const bool *open, int32_t v, int32_t joint,
                       double weight);

static void for_influences(sup_rig_build *build, leaf_sums *sums, const bool *open, vertex_fn *fn)
{
    const sup_influence_rows *rows = &build->rows;
    for (int32_t v = 0; v < build->rig->vertex_count; v++) {
        int32_t row = rows->source[v];
        if (build->leader[v] != v) continue; /* a place counts once, however seams split it */
        for (size_t k = rows->first[row]; k < rows->first[row] + (size_t)rows->count[row]; k++)
            if (open[rows->joint[k]]) fn(build, sums, open, v, rows->joint[k], rows->weight[k]);
    }
}

static void sum_direction(sup_rig_build *build, leaf_sums *sums, const bool *open, int32_t v, int32_t joint,
                          double weight)
{
    SUP_UNUSED(open);
    sup_vec3d offset = sup_v3_sub(sup_v3_load(build->positions + 3 * (size_t)v), head_of(build, joint));
    sums[joint].direction = sup_v3_madd(sums[joint].direction, weight, offset);
    sums[joint].weight += weight;
    sums[joint].distance += weight * sup_v3_length(offset);
}

static void sum_extent(sup_rig_build *build, leaf_sums *sums, const bool *open, int32_t v, int32_t joint, double weight)
{
    SUP_UNUSED(open);
    sup_vec3d offset = sup_v3_sub(sup_v3_load(build->positions + 3 * (size_t)v), head_of(build, joint));
    double along = sup_v3_dot(offset, sums[joint].direction);
    sums[joint].mean += weight * along;
    sums[joint].extent = fmax(sums[joint].extent, along);
    if (weight >= 0.5) sums[joint].strong_extent = fmax(sums[joint].strong_extent, along);
}

static void finish_leaf(sup_rig_build *build, int32_t joint, const leaf_sums *sums)
{
    if (sums->weight > 0.0) {
        double extent = sums->strong_extent > 0.0 ? sums->strong_extent : sums->extent;
        double length = fmin(0.9 * extent, 2.5 * sums->mean / sums->weight);
        if (length > 1e-4 * (double)build->rig->size) {
            set_tail(build, joint, sums->direction, length);
            build->tail_from_vertices[joint] = true;
            return;
        }
    }
    sup_vec3d onward = parent_direction(build, joint);
    double length = sup_v3_length(onward) / 3.0;
    if (!(length > 0.0)) length = 0.02 * (double)build->rig->size;
    set_tail(build, joint, sup_v3_unit_or(onward, sup_v3(0.0, 1.0, 0.0)), length);
}

/* Tails of the leaves that are still open. */
static sup_result place_leaves(sup_rig_build *build, const bool *open, sup_error *error)
{
    int32_t joints = build->rig->joint_count;
    leaf_sums *sums = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *sums);
    if (sums == NULL) return sup_fail_memory(error, "the bones");
    for_influences(build, sums, open, sum_direction);
    for (int32_t j = 0; j < joints; j++) {
        /* Vertices all around the joint have no direction of their own. */
        bool aimless = sup_v3_length(sums[j].direction) < 0.1 * sums[j].distance;
        sup_vec3d onward = sup_v3_unit_or(parent_direction(build, j), sup_v3(0.0, 1.0, 0.0));
        sums[j].direction = aimless ? onward : sup_v3_unit_or(sums[j].direction, onward);
    }
    for_influences(build, sums, open, sum_extent);
    for (int32_t j = 0; j < joints; j++)
        if (open[j]) finish_leaf(build, j, &sums[j]);
    return SUP_OK;
}

static sup_result count_use(sup_rig_build *build, sup_error *error)
{
    const sup_influence_rows *rows = &build->rows;
    build->joint_use = sup_arena_alloc(&build->scratch, (size_t)build->rig->joint_count, sizeof(int32_t));
    if (build->joint_use == NULL) return sup_fail_memory(error, "the bones");
    for (int32_t v = 0; v < build->rig->vertex_count; v++) {
        int32_t row = rows->source[v];
        if (build->rig->vertex_to_skin[v] < 0) continue;
        for (size_t k = rows->first[row]; k < rows->first[row] + (size_t)rows->count[row]; k++)
            build->joint_use[rows->joint[k]]++;
    }
    for (int32_t j = 0; j < build->rig->joint_count; j++)
        if (build->joint_is_copy[j])
            build->joint_use[build->node_joint[build->rig->joint_node[j]]] += build->joint_use[j];
    return SUP_OK;
}

sup_result sup_rig_bones(sup_rig_build *build, sup_error *error)
{
    int32_t joints = build->rig->joint_count;
    build->bone_head = sup_arena_alloc(build->arena, 3 * (size_t)joints, sizeof(float));
    build->bone_tail = sup_arena_alloc(build->arena, 3 * (size_t)joints, sizeof(float));
    build->tail_from_vertices = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof(bool));
    bool *leaf = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *leaf);
    sup_vec3d *sum = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *sum);
    int32_t *children = sup_arena_alloc(&build->scratch, (size_t)joints, sizeof *children);
    if (build->bone_head == NULL || build->bone_tail == NULL || build->tail_from_vertices == NULL || leaf == NULL ||
        sum == NULL || children == NULL)
        return sup_fail_memory(error, "the bones");
    for (int32_t j = 0; j < joints; j++)
        sup_v3_store(build->bone_head + 3 * (size_t)j, sup_affine_translation(build->bind[j]));
    for (int32_t j = 0; j < joints; j++) {
        if (!is_child_bone(build, j)) continue;
        sum[build->joint_parent[j]] = sup_v3_add(sum[build->joint_parent[j]], head_of(build, j));
        children[build->joint_parent[j]]++;
    }
    for (int32_t j = 0; j < joints; j++) {
        leaf[j] = children[j] == 0;
        if (!leaf[j]) sup_v3_store(build->bone_tail + 3 * (size_t)j, sup_v3_scale(sum[j], 1.0 / children[j]));
    }
    build->rig->bone_head = build->bone_head;
    build->rig->bone_tail = build->bone_tail;
    build->leaf = leaf;
    return place_leaves(build, leaf, error);
}

sup_result sup_rig_bone_tails_again(sup_rig_build *build, sup_error *error)
{
    bool any = false;
    for (int32_t j = 0; j < build->rig->joint_count; j++) {
        build->leaf[j] = build->leaf[j] && !build->tail_from_vertices[j];
        any = any || build->leaf[j];
    }
    sup_result result = any ? place_leaves(build, build->leaf, error) : SUP_OK;
    return result == SUP_OK ? count_use(build, error) : result;
}

sup_result sup_rig_bone_defects(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    int32_t idle = 0, first_idle = -1, flat = 0, first_flat = -1;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t node = rig->joint_node[j];
        if (!build->joint_is_bone[j] || build->joint_is_copy[j]) continue;
        if (build->node_listed[node] && build->joint_use[j] == 0 && idle++ == 0) first_idle = node;
        bool short_bone =
            is_child_bone(build, j) && sup_v3_length(parent_direction(build, j)) <= 1e-6 * (double)rig->size;
        if (short_bone && flat++ == 0) first_flat = node;
    }
    sup_result result = sup_rig_defect(build, SUP_DEFECT_UNREFERENCED_JOINT, SUP_SEVERITY_NOTE, -1, idle, first_idle,
                                       error, "%d joint%s of the skeleton without a vertex to move (first: %s).", idle,
                                       sup_plural(idle), first_idle < 0 ? "" : sup_rig_node_name(build, first_idle));
    if (result != SUP_OK) return result;
    return sup_rig_defect(build, SUP_DEFECT_ZERO_LENGTH_BONE, SUP_SEVERITY_NOTE, -1, flat, first_flat, error,
                          "%d bone%s without length: a joint in the place of its parent (first: %s).", flat,
                          sup_plural(flat), first_flat < 0 ? "" : sup_rig_node_name(build, first_flat));
}
