/* weights_made.c - computes weights for primitives without weights in the file, and for single vertices without weights
 * and without weighted neighbours.
 *
 * The weights are computed on the welded skin, so that both sides of a seam have the same weights, from the joints that
 * the skins of these primitives list. */
#include "rig/rig.h"
#include "rig/weights.h"

typedef struct weights_work {
    sup_rig_build *build;
    sup_weights_input input;
    sup_weights_output output;
    int32_t *sub_vertex; /* [skin_vertex_count] vertex of the input + 1, 0 for none */
    int32_t *bone_joint; /* [input.joint_count] rig joint */
} weights_work;

static bool is_computed(const sup_rig_build *build, int32_t v)
{
    return build->weights.is_computed[build->surface.vertex_primitive[v]];
}

/* Gathers the welded skin of the primitives whose weights are computed. */
static bool gather_surface(weights_work *w)
{
    const sup_rig *rig = w->build->rig;
    sup_arena *scratch = &w->build->scratch;
    w->sub_vertex = sup_arena_alloc(scratch, (size_t)rig->skin_vertex_count, sizeof *w->sub_vertex);
    float *positions = sup_arena_alloc(scratch, 3 * (size_t)rig->skin_vertex_count, sizeof *positions);
    int32_t *triangles = sup_arena_alloc(scratch, 3 * (size_t)rig->skin_triangle_count, sizeof *triangles);
    if (w->sub_vertex == NULL || positions == NULL || triangles == NULL) return false;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t s = rig->vertex_to_skin[v];
        if (s < 0 || !is_computed(w->build, v) || w->sub_vertex[s] != 0) continue;
        memcpy(positions + 3 * (size_t)w->input.vertex_count, rig->skin_positions + 3 * (size_t)s, 3 * sizeof(float));
        w->sub_vertex[s] = ++w->input.vertex_count;
    }
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *corners = rig->skin_triangles + 3 * (size_t)t;
        int32_t *to = triangles + 3 * (size_t)w->input.triangle_count;
        for (int k = 0; k < 3; k++)
            to[k] = w->sub_vertex[corners[k]] - 1;
        if (to[0] >= 0 && to[1] >= 0 && to[2] >= 0) w->input.triangle_count++;
    }
    w->input.positions = positions;
    w->input.triangles = triangles;
    return true;
}

/* Gathers the joints that the skins of these primitives list; the parent is the nearest listed ancestor. */
static bool gather_bones(weights_work *w)
{
    const sup_rig_build *build = w->build;
    const sup_character *c = build->character;
    size_t joints = (size_t)build->rig->joint_count;
    sup_arena *scratch = &w->build->scratch;
    bool *used = sup_arena_alloc(scratch, joints, sizeof *used);
    int32_t *bone_above = sup_arena_alloc(scratch, joints, sizeof *bone_above);
    int32_t *parent = sup_arena_alloc(scratch, joints, sizeof *parent);
    float *head = sup_arena_alloc(scratch, 3 * joints, sizeof *head);
    float *tail = sup_arena_alloc(scratch, 3 * joints, sizeof *tail);
    w->bone_joint = sup_arena_alloc(scratch, joints, sizeof *w->bone_joint);
    if (used == NULL || bone_above == NULL || parent == NULL || head == NULL || tail == NULL || w->bone_joint == NULL)
        return false;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        if (!build->weights.is_computed[p]) continue;
        const sup_skin *skin = &c->skins[c->primitives[p].skin];
        for (int32_t b = skin->bone_first; b < skin->bone_first + skin->bone_count; b++)
            used[build->skeleton.node_joint[c->bones[b].node]] = true;
    }
    for (int32_t j = 0; j < build->rig->joint_count; j++) {
        int32_t up = build->skeleton.parent[j] < 0 ? -1 : bone_above[build->skeleton.parent[j]];
        bone_above[j] = up;
        if (!used[j]) continue;
        int32_t bone = w->input.joint_count++;
        bone_above[j] = bone;
        parent[bone] = up;
        w->bone_joint[bone] = j;
        memcpy(head + 3 * (size_t)bone, build->bones.head + 3 * (size_t)j, 3 * sizeof *head);
        memcpy(tail + 3 * (size_t)bone, build->bones.tail + 3 * (size_t)j, 3 * sizeof *tail);
    }
    w->input.joint_parent = parent;
    w->input.bone_head = head;
    w->input.bone_tail = tail;
    return true;
}

static bool is_usable(const weights_work *w, int32_t v)
{
    size_t first = (size_t)v * (size_t)w->input.max_influences;
    double sum = 0.0;
    for (size_t k = first; k < first + (size_t)w->input.max_influences; k++) {
        if (!isfinite(w->output.weights[k]) || w->output.weights[k] < 0.0f) return false;
        if (w->output.joints[k] < 0 || w->output.joints[k] >= w->input.joint_count) return false;
        sum += (double)w->output.weights[k];
    }
    return sum > 0.0;
}

/* Vertices without usable weights from bone heat get the nearest bones; *filled counts them. */
static sup_result fill_with_nearest(weights_work *w, int32_t *filled, sup_error *error)
{
    size_t capacity = (size_t)w->input.vertex_count * (size_t)w->input.max_influences;
    sup_weights_output nearest = {0};
    for (int32_t v = 0; v < w->input.vertex_count; v++) {
        if (is_usable(w, v)) continue;
        if (nearest.joints == NULL) {
            nearest.joints = sup_arena_alloc(&w->build->scratch, capacity, sizeof(int32_t));
            nearest.weights = sup_arena_alloc(&w->build->scratch, capacity, sizeof(float));
            if (nearest.joints == NULL || nearest.weights == NULL) return sup_fail_memory(error, "weights");
            sup_result result = sup_weights_nearest(&w->input, &nearest, error);
            if (result != SUP_OK) return result;
        }
        size_t first = (size_t)v * (size_t)w->input.max_influences, count = (size_t)w->input.max_influences;
        memcpy(w->output.joints + first, nearest.joints + first, count * sizeof(int32_t));
        memcpy(w->output.weights + first, nearest.weights + first, count * sizeof(float));
        (*filled)++;
    }
    return SUP_OK;
}

/* Computes weights with the requested algorithm; *algorithm is a description of the one used. */
static sup_result compute(weights_work *w, const char **algorithm, int32_t *filled, sup_error *error)
{
    sup_weight_source source = w->build->def.weights;
    if (source == SUP_WEIGHTS_NEAREST || source == SUP_WEIGHTS_RIGID) {
        *algorithm = source == SUP_WEIGHTS_RIGID ? "the nearest bone" : "the nearest bones";
        return sup_weights_nearest(&w->input, &w->output, error);
    }
    *algorithm = "bone heat";
    sup_error ignored;
    sup_result result = sup_weights_heat(&w->input, &w->output, &ignored);
    if (result == SUP_ERROR_MEMORY) return sup_fail_memory(error, "weights");
    if (result == SUP_OK) return fill_with_nearest(w, filled, error);
    *algorithm = "the nearest bones, as bone heat failed";
    return sup_weights_nearest(&w->input, &w->output, error);
}

static void store_influences(weights_work *w)
{
    const sup_rig *rig = w->build->rig;
    sup_influence_lists *lists = &w->build->weights.lists;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        if (rig->vertex_to_skin[v] < 0 || !is_computed(w->build, v)) continue;
        size_t from = (size_t)(w->sub_vertex[rig->vertex_to_skin[v]] - 1) * (size_t)w->input.max_influences;
        lists->source[v] = v;
        lists->count[v] = 0;
        for (size_t k = from; k < from + (size_t)w->input.max_influences; k++) {
            if (!(w->output.weights[k] > 0.0f)) continue;
            size_t to = lists->first[v] + (size_t)lists->count[v]++;
            lists->joint[to] = w->bone_joint[w->output.joints[k]];
            lists->weight[to] = (double)w->output.weights[k];
        }
        sup_influence_list_finish(lists, v, w->input.max_influences);
    }
}

static sup_result compute_weights(sup_rig_build *build, sup_error *error)
{
    weights_work w = {.build = build};
    w.input.context = &build->context;
    w.input.max_influences = build->weights.max_computed;
    if (!gather_surface(&w) || !gather_bones(&w)) return sup_fail_memory(error, "weights");
    size_t capacity = (size_t)w.input.vertex_count * (size_t)w.input.max_influences;
    w.output.joints = sup_arena_alloc(&build->scratch, capacity, sizeof(int32_t));
    w.output.weights = sup_arena_alloc(&build->scratch, capacity, sizeof(float));
    if (w.output.joints == NULL || w.output.weights == NULL) return sup_fail_memory(error, "weights");
    const char *algorithm = "";
    int32_t filled = 0;
    sup_result result = compute(&w, &algorithm, &filled, error);
    if (result != SUP_OK) return result;
    store_influences(&w);
    for (int32_t p = 0; p < build->character->primitive_count && result == SUP_OK; p++) {
        const sup_primitive *primitive = &build->character->primitives[p];
        if (build->weights.is_computed[p] && build->weights.unweighted[p] == primitive->vertex_count)
            result = sup_rig_defect(&build->defects, SUP_DEFECT_NO_INFLUENCE, SUP_SEVERITY_NOTE, p,
                                    primitive->vertex_count, primitive->vertex_first, error,
                                    "Primitive %s has no weights in the file; they are computed by %s.",
                                    sup_rig_primitive_name(build->character, p), algorithm);
    }
    if (result != SUP_OK || filled == 0) return result;
    return sup_rig_defect(&build->defects, SUP_DEFECT_NO_INFLUENCE, SUP_SEVERITY_REPAIRED, -1, filled, -1, error,
                          "Vertices that bone heat does not reach, which use the nearest bones: %d.", filled);
}

/* A vertex of a component without any weights gets the nearest bone of its skin. */
static void use_nearest_bone(const sup_skin *skin, const int32_t *bone_joint, const sup_rig_bone_segments *bones,
                             const float *position, int32_t v, sup_influence_lists *lists)
{
    sup_vec3d p = sup_v3_load(position);
    double best = INFINITY;
    int32_t chosen = bone_joint[skin->bone_first];
    for (int32_t b = skin->bone_first; b < skin->bone_first + skin->bone_count; b++) {
        int32_t joint = bone_joint[b];
        sup_vec3d head = sup_v3_load(bones->head + 3 * (size_t)joint);
        sup_vec3d tail = sup_v3_load(bones->tail + 3 * (size_t)joint);
        double d = sup_v3_distance(p, sup_v3_lerp(head, tail, sup_v3_segment_parameter(p, head, tail)));
        if (d < best) {
            best = d;
            chosen = joint;
        }
    }
    lists->count[v] = 1;
    lists->joint[lists->first[v]] = chosen;
    lists->weight[lists->first[v]] = 1.0;
}

sup_result sup_rig_compute_weights(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    bool any = false;
    for (int32_t p = 0; p < c->primitive_count; p++)
        any = any || (build->weights.is_computed[p] && c->primitives[p].vertex_count > 0);
    sup_result result = any ? compute_weights(build, error) : SUP_OK;
    sup_influence_lists *lists = &build->weights.lists;
    for (int32_t v = 0; v < c->vertex_count && result == SUP_OK; v++) {
        if (lists->source[v] != v || lists->count[v] > 0) continue;
        const sup_skin *skin = &c->skins[c->primitives[build->surface.vertex_primitive[v]].skin];
        use_nearest_bone(skin, build->skeleton.bone_joint, &build->bones, build->surface.positions + 3 * (size_t)v, v,
                         lists);
    }
    for (int32_t p = 0; p < c->primitive_count && result == SUP_OK; p++)
        if (!build->weights.is_computed[p])
            result = sup_rig_defect(&build->defects, SUP_DEFECT_NO_INFLUENCE, SUP_SEVERITY_REPAIRED, p,
                                    build->weights.unweighted[p], build->weights.first_unweighted[p], error,
                                    "Vertices of primitive %s without weights, which use those of neighbours: %d.",
                                    sup_rig_primitive_name(build->character, p), build->weights.unweighted[p]);
    return result;
}
