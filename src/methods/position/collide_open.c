/* collide_open.c - validated view of the arrays of contact. */
#include "methods/position/collide.h"

typedef struct source {
    const sup_model *model;
    const char *prefix;
} source;

static const void *get(const source *from, const char *name, sup_array_type type, int32_t *count, int32_t of)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", from->prefix, name);
    int64_t all = sup_model_array_count(from->model, full);
    if (all < 0 || all > INT32_MAX || all % of != 0) return NULL;
    if (count != NULL) *count = (int32_t)(all / of);
    return sup_model_array(from->model, full, type, all);
}

static const void *get_exactly(const source *from, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", from->prefix, name);
    return sup_model_array(from->model, full, type, count);
}

static bool find_arrays(const source *from, sup_collide *m)
{
    const float *edge = get_exactly(from, "edge", SUP_ARRAY_FLOAT, 1);
    int64_t joints = m->joint_count;
    m->slot = get(from, "slot", SUP_ARRAY_INT32, &m->surface_count, 1);
    m->triangle = get(from, "triangle", SUP_ARRAY_INT32, &m->triangle_count, 3);
    m->tet = get(from, "tet", SUP_ARRAY_INT32, &m->tet_count, 4);
    m->box_slot = get(from, "box_slot", SUP_ARRAY_INT32, &m->box_count, 1);
    m->plane = get(from, "plane", SUP_ARRAY_INT32, &m->plane_count, 1);
    m->entry_slot = get(from, "entry_slot", SUP_ARRAY_INT32, &m->entry_count, 1);
    m->parent = get_exactly(from, "parent", SUP_ARRAY_INT32, joints);
    m->bone = get_exactly(from, "bone", SUP_ARRAY_FLOAT, 6 * joints);
    m->bone_of = get_exactly(from, "bone_of", SUP_ARRAY_INT32, m->surface_count);
    m->skin_height = get_exactly(from, "skin_height", SUP_ARRAY_FLOAT, m->surface_count);
    m->neighbour = get_exactly(from, "neighbour", SUP_ARRAY_INT32, 3 * (int64_t)m->triangle_count);
    m->exit_triangle = get_exactly(from, "exit_triangle", SUP_ARRAY_INT32, m->tet_count);
    m->tet_first = get_exactly(from, "tet_first", SUP_ARRAY_INT32, joints + 1);
    m->box_first = get_exactly(from, "box_first", SUP_ARRAY_INT32, joints + 1);
    m->plane_first = get_exactly(from, "plane_first", SUP_ARRAY_INT32, (int64_t)m->plane_count + 1);
    m->entry = get_exactly(from, "entry", SUP_ARRAY_FLOAT, 2 * (int64_t)m->entry_count);
    m->skin_vertex = get(from, "skin_vertex", SUP_ARRAY_INT32, &m->skin_count, 1);
    m->skin_first = get_exactly(from, "skin_first", SUP_ARRAY_INT32, 2 * (int64_t)m->plane_count + 1);
    m->skin_entry = get_exactly(from, "skin_entry", SUP_ARRAY_FLOAT, 2 * (int64_t)m->skin_count);
    m->edge = edge != NULL ? edge[0] : 0.0f;
    return edge != NULL && m->slot != NULL && m->triangle != NULL && m->tet != NULL && m->box_slot != NULL &&
           m->plane != NULL && m->entry_slot != NULL && m->parent != NULL && m->bone != NULL && m->bone_of != NULL &&
           m->skin_height != NULL && m->neighbour != NULL && m->exit_triangle != NULL && m->tet_first != NULL &&
           m->box_first != NULL && m->plane_first != NULL && m->entry != NULL && m->skin_vertex != NULL &&
           m->skin_first != NULL && m->skin_entry != NULL;
}

static bool in_range(const int32_t *values, int64_t count, int32_t minimum, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < minimum || values[i] >= end) return false;
    return true;
}

/* Ascending from 0 to `end`. */
static bool ascending(const int32_t *first, int64_t count, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (first[i] > first[i + 1]) return false;
    return first[0] == 0 && first[count] == end;
}

static bool usable(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) < 1e18f)) return false;
    return true;
}

/* Parents precede their children, so that paths to the root end. */
static bool parents_are_valid(const sup_collide *m)
{
    for (int32_t j = 0; j < m->joint_count; j++)
        if (m->parent[j] < -1 || m->parent[j] >= j) return false;
    for (int32_t i = 0; i < m->plane_count; i++)
        if (m->plane[i] < 0 || m->plane[i] >= m->joint_count || m->parent[m->plane[i]] < 0) return false;
    return true;
}

sup_result sup_collide_open(const sup_model *model, const char *prefix, int32_t joint_count, int32_t slot_count,
                            sup_collide *m, sup_error *error)
{
    memset(m, 0, sizeof *m);
    m->joint_count = joint_count;
    m->slot_count = slot_count;
    source from = {model, prefix};
    bool ok =
        find_arrays(&from, m) && in_range(m->slot, m->surface_count, 0, slot_count) &&
        in_range(m->bone_of, m->surface_count, -1, joint_count) &&
        in_range(m->triangle, 3 * (int64_t)m->triangle_count, 0, m->surface_count) &&
        in_range(m->neighbour, 3 * (int64_t)m->triangle_count, -1, m->triangle_count) &&
        in_range(m->tet, 4 * (int64_t)m->tet_count, 0, slot_count) &&
        in_range(m->exit_triangle, m->tet_count, 0, m->triangle_count) &&
        in_range(m->box_slot, m->box_count, 0, slot_count) && in_range(m->entry_slot, m->entry_count, 0, slot_count) &&
        ascending(m->tet_first, joint_count, m->tet_count) && ascending(m->box_first, joint_count, m->box_count) &&
        ascending(m->plane_first, m->plane_count, m->entry_count) &&
        in_range(m->skin_vertex, m->skin_count, 0, sup_model_vertex_count(model)) &&
        ascending(m->skin_first, 2 * (int64_t)m->plane_count, m->skin_count) &&
        usable(m->skin_height, m->surface_count) && usable(m->skin_entry, 2 * (int64_t)m->skin_count) &&
        parents_are_valid(m) && usable(m->bone, 6 * (int64_t)joint_count) &&
        usable(m->entry, 2 * (int64_t)m->entry_count) && m->edge > 0.0f && m->edge < 1e6f;
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "position.model", "",
                         "The model is damaged: its contacts are inconsistent. Bind it again.");
}
