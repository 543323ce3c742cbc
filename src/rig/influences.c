/* influences.c - cleans the file's weights: finite, positive, one per joint, largest first, sum 1, no vertex
 * without. */
#include "rig/rig.h"

#include "geometry/adjacency.h"

/* Tolerance of the sum of weights; larger than the rounding error of four 8-bit weights. */
static const double normalised_tolerance = 1e-2;

typedef struct weight_defects {
    int32_t nonfinite, first_nonfinite;
    int32_t negative, first_negative;
    int32_t unnormalised, first_unnormalised;
    int32_t duplicate, first_duplicate;
} weight_defects;

static void count_first(int32_t *count, int32_t *first, int32_t v)
{
    if ((*count)++ == 0) *first = v;
}

/* Sorts by decreasing weight, then by joint. */
static bool weight_before(const int32_t *joint, const double *weight, int32_t a, int32_t b)
{
    return weight[a] > weight[b] || (weight[a] == weight[b] && joint[a] < joint[b]);
}

static bool joint_before(const int32_t *joint, const double *weight, int32_t a, int32_t b)
{
    SUP_UNUSED(weight);
    return joint[a] < joint[b];
}

typedef bool before_fn(const int32_t *joint, const double *weight, int32_t a, int32_t b);

static void swap(int32_t *joint, double *weight, int32_t a, int32_t b)
{
    int32_t j = joint[a];
    double w = weight[a];
    joint[a] = joint[b];
    weight[a] = weight[b];
    joint[b] = j;
    weight[b] = w;
}

static void sift_down(int32_t *joint, double *weight, int32_t root, int32_t count, before_fn *before)
{
    for (int32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && before(joint, weight, child, child + 1)) child++;
        if (!before(joint, weight, root, child)) return;
        swap(joint, weight, root, child);
        root = child;
    }
}

/* Heap sort: a file may have any number of influences per vertex. */
static void sort_influences(int32_t *joint, double *weight, int32_t count, before_fn *before)
{
    for (int32_t i = count / 2 - 1; i >= 0; i--)
        sift_down(joint, weight, i, count, before);
    for (int32_t end = count - 1; end > 0; end--) {
        swap(joint, weight, 0, end);
        sift_down(joint, weight, 0, end, before);
    }
}

void sup_influence_list_finish(sup_influence_lists *lists, int32_t v, int32_t limit)
{
    int32_t *joint = lists->joint + lists->first[v];
    double *weight = lists->weight + lists->first[v];
    sort_influences(joint, weight, lists->count[v], weight_before);
    if (limit > 0 && lists->count[v] > limit) lists->count[v] = limit;
    double sum = 0.0;
    for (int32_t i = 0; i < lists->count[v]; i++)
        sum += weight[i];
    for (int32_t i = 0; i < lists->count[v]; i++)
        weight[i] /= sum;
    /* Drop weights that are zero in float precision. */
    while (lists->count[v] > 1 && (float)weight[lists->count[v] - 1] == 0.0f)
        lists->count[v]--;
}

/* Adds up influences of the same joint. Returns true if there were any. */
static bool merge_joints(sup_influence_lists *lists, int32_t v)
{
    int32_t *joint = lists->joint + lists->first[v], count = lists->count[v], merged = 0;
    double *weight = lists->weight + lists->first[v];
    sort_influences(joint, weight, count, joint_before);
    for (int32_t i = 0; i < count; i++) {
        if (merged > 0 && joint[merged - 1] == joint[i]) {
            weight[merged - 1] += weight[i];
            continue;
        }
        joint[merged] = joint[i];
        weight[merged++] = weight[i];
    }
    lists->count[v] = merged;
    return merged < count;
}

static void push(sup_influence_lists *lists, int32_t v, int32_t joint, double weight)
{
    size_t k = lists->first[v] + (size_t)lists->count[v]++;
    lists->joint[k] = joint;
    lists->weight[k] = weight;
}

/* Influences of vertex v from the file. */
static void clean_influences(const sup_character *c, int32_t v, const sup_skin *skin, const int32_t *bone_joint,
                             int32_t limit, sup_influence_lists *lists, weight_defects *found)
{
    bool nonfinite = false, negative = false;
    double sum = 0.0;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++) {
        double weight = (double)c->influence_weight[k];
        int32_t bone = c->influence_bone[k];
        bool in_skin = bone >= skin->bone_first && bone < skin->bone_first + skin->bone_count;
        nonfinite = nonfinite || !isfinite(weight);
        negative = negative || weight < 0.0;
        if (!isfinite(weight) || weight <= 0.0 || !in_skin) continue;
        sum += weight;
        push(lists, v, bone_joint[bone], weight);
    }
    if (nonfinite) count_first(&found->nonfinite, &found->first_nonfinite, v);
    if (negative) count_first(&found->negative, &found->first_negative, v);
    if (lists->count[v] == 0) return;
    if (fabs(sum - 1.0) > normalised_tolerance) count_first(&found->unnormalised, &found->first_unnormalised, v);
    if (merge_joints(lists, v)) count_first(&found->duplicate, &found->first_duplicate, v);
    sup_influence_list_finish(lists, v, limit);
}

static sup_result report_defects(sup_defect_list *defects, const char *name, int32_t primitive, const weight_defects *f,
                                 sup_error *error)
{
    sup_result result = sup_rig_defect(
        defects, SUP_DEFECT_NON_FINITE_WEIGHT, SUP_SEVERITY_REPAIRED, primitive, f->nonfinite, f->first_nonfinite,
        error, "Vertices of primitive %s with non-finite weights, which are removed: %d.", name, f->nonfinite);
    if (result == SUP_OK)
        result = sup_rig_defect(
            defects, SUP_DEFECT_NEGATIVE_WEIGHT, SUP_SEVERITY_REPAIRED, primitive, f->negative, f->first_negative,
            error, "Vertices of primitive %s with negative weights, which are removed: %d.", name, f->negative);
    if (result == SUP_OK)
        result = sup_rig_defect(defects, SUP_DEFECT_UNNORMALISED_WEIGHTS, SUP_SEVERITY_REPAIRED, primitive,
                                f->unnormalised, f->first_unnormalised, error,
                                "Vertices of primitive %s whose weights do not sum to 1, which are normalised: %d.",
                                name, f->unnormalised);
    if (result == SUP_OK)
        result = sup_rig_defect(defects, SUP_DEFECT_DUPLICATE_INFLUENCE, SUP_SEVERITY_REPAIRED, primitive, f->duplicate,
                                f->first_duplicate, error,
                                "Vertices of primitive %s with several weights for one joint, which are added: %d.",
                                name, f->duplicate);
    return result;
}

static bool allocate_lists(sup_rig_build *build)
{
    const sup_character *c = build->character;
    sup_influence_lists *lists = &build->weights.lists;
    size_t vertices = (size_t)c->vertex_count, capacity = 0;
    lists->first = sup_arena_alloc(&build->scratch, vertices + 1, sizeof *lists->first);
    lists->count = sup_arena_alloc(&build->scratch, vertices, sizeof *lists->count);
    lists->source = sup_arena_alloc(&build->scratch, vertices, sizeof *lists->source);
    build->weights.is_computed =
        sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *build->weights.is_computed);
    build->weights.unweighted =
        sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *build->weights.unweighted);
    build->weights.first_unweighted =
        sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *build->weights.first_unweighted);
    if (lists->first == NULL || lists->count == NULL || lists->source == NULL || build->weights.is_computed == NULL ||
        build->weights.unweighted == NULL || build->weights.first_unweighted == NULL)
        return false;
    int32_t limit = build->def.weights == SUP_WEIGHTS_RIGID ? 1
                    : build->def.max_influences > 0         ? build->def.max_influences
                                                            : 4;
    build->weights.max_computed = limit < build->rig->joint_count ? limit : build->rig->joint_count;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        int32_t capacity_needed = c->influence_first[v + 1] - c->influence_first[v];
        bool skinned = sup_primitive_is_skinned(c, build->surface.vertex_primitive[v]);
        if (skinned && capacity_needed < build->weights.max_computed) capacity_needed = build->weights.max_computed;
        lists->first[v] = capacity;
        lists->source[v] = v;
        capacity += (size_t)(capacity_needed < 1 ? 1 : capacity_needed);
    }
    lists->first[vertices] = capacity;
    lists->joint = sup_arena_alloc(&build->scratch, capacity, sizeof *lists->joint);
    lists->weight = sup_arena_alloc(&build->scratch, capacity, sizeof *lists->weight);
    return lists->joint != NULL && lists->weight != NULL;
}

/* Counts the vertices of a primitive without weights in the file; if all have none, the weights are computed. */
static sup_result count_unweighted(sup_rig_build *build, int32_t p, sup_error *error)
{
    const sup_primitive *primitive = &build->character->primitives[p];
    build->weights.first_unweighted[p] = -1;
    for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++)
        if (build->weights.lists.count[v] == 0)
            count_first(&build->weights.unweighted[p], &build->weights.first_unweighted[p], v);
    bool none = build->weights.unweighted[p] == primitive->vertex_count;
    sup_weight_source source = build->def.weights;
    build->weights.is_computed[p] = none || source == SUP_WEIGHTS_NEAREST || source == SUP_WEIGHTS_HEAT;
    if (source == SUP_WEIGHTS_FILE && none)
        return sup_rig_defect(
            &build->defects, SUP_DEFECT_NO_INFLUENCE, SUP_SEVERITY_FATAL, p, primitive->vertex_count,
            primitive->vertex_first, error,
            "Primitive %s has no weights in the file: have them computed (weights auto, heat or nearest).",
            sup_rig_primitive_name(build->character, p));
    return SUP_OK;
}

/* Vertices without weights use those of a vertex at the same position, else of the one with the fewest edges
 * between. */
static sup_result copy_from_neighbours(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    size_t count = (size_t)rig->skin_vertex_count;
    sup_adjacency adjacency;
    sup_result result = sup_adjacency_create(&build->context.allocator, rig->skin_vertex_count,
                                             rig->skin_triangle_count, rig->skin_triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    int32_t *first = sup_arena_alloc(&build->scratch, count + 1, sizeof *first);
    int32_t *neighbours = sup_arena_alloc(&build->scratch, 2 * (size_t)adjacency.edge_count, sizeof *neighbours);
    int32_t *donor = sup_arena_alloc(&build->scratch, count, sizeof *donor); /* vertex + 1 */
    int32_t *queue = sup_arena_alloc(&build->scratch, count, sizeof *queue);
    bool ok = first != NULL && neighbours != NULL && donor != NULL && queue != NULL;
    if (ok) {
        sup_adjacency_neighbours(&adjacency, first, neighbours);
        int32_t queued = 0;
        for (int32_t v = 0; v < rig->vertex_count; v++) {
            int32_t s = rig->vertex_to_skin[v];
            if (s < 0 || donor[s] != 0 || build->weights.lists.count[v] == 0) continue;
            donor[s] = v + 1;
            queue[queued++] = s;
        }
        for (int32_t done = 0; done < queued; done++)
            for (int32_t k = first[queue[done]]; k < first[queue[done] + 1]; k++) {
                if (donor[neighbours[k]] != 0) continue;
                donor[neighbours[k]] = donor[queue[done]];
                queue[queued++] = neighbours[k];
            }
        for (int32_t v = 0; v < rig->vertex_count; v++) {
            int32_t s = rig->vertex_to_skin[v];
            if (s >= 0 && build->weights.lists.count[v] == 0 && donor[s] != 0)
                build->weights.lists.source[v] = donor[s] - 1;
        }
    }
    sup_adjacency_destroy(&adjacency);
    return ok ? SUP_OK : sup_fail_memory(error, "missing weights");
}

sup_result sup_rig_influences(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    if (!allocate_lists(build)) return sup_fail_memory(error, "the weights");
    sup_influence_lists *lists = &build->weights.lists;
    int32_t limit = build->def.weights == SUP_WEIGHTS_RIGID ? 1 : build->def.max_influences;
    int64_t unweighted = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        const sup_primitive *primitive = &c->primitives[p];
        bool skinned = sup_primitive_is_skinned(c, p);
        weight_defects found = {0, -1, 0, -1, 0, -1, 0, -1};
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
            if (skinned)
                clean_influences(c, v, &c->skins[primitive->skin], build->skeleton.bone_joint, limit, lists, &found);
            else
                push(lists, v, build->skeleton.node_joint[primitive->node], 1.0);
        }
        if (!skinned) continue;
        sup_result result = report_defects(&build->defects, sup_rig_primitive_name(c, p), p, &found, error);
        if (result == SUP_OK) result = count_unweighted(build, p, error);
        if (result != SUP_OK) return result;
        if (!build->weights.is_computed[p]) unweighted += build->weights.unweighted[p];
    }
    return unweighted > 0 ? copy_from_neighbours(build, error) : SUP_OK;
}

/* Packs the influences of all vertices into the rig. */
sup_result sup_rig_pack_influences(sup_rig_build *build, sup_error *error)
{
    sup_rig *rig = build->rig;
    const sup_influence_lists *lists = &build->weights.lists;
    size_t total = 0;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        total += (size_t)lists->count[lists->source[v]];
    if (total > INT32_MAX)
        return sup_fail(error, SUP_ERROR_DATA, "rig.too_many_influences", build->character->name,
                        "The vertices have more than 2^31 influences: limit them with max_influences.");
    int32_t *first = sup_arena_alloc(build->arena, (size_t)rig->vertex_count + 1, sizeof *first);
    int32_t *joints = sup_arena_alloc(build->arena, total, sizeof *joints);
    float *weights = sup_arena_alloc(build->arena, total, sizeof *weights);
    if (first == NULL || joints == NULL || weights == NULL) return sup_fail_memory(error, "the weights");
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t from = lists->source[v], count = lists->count[from];
        first[v + 1] = first[v] + count;
        for (int32_t i = 0; i < count; i++) {
            joints[first[v] + i] = lists->joint[lists->first[from] + (size_t)i];
            weights[first[v] + i] = (float)lists->weight[lists->first[from] + (size_t)i];
        }
        if (count > rig->max_influences) rig->max_influences = count;
    }
    rig->influence_first = first;
    rig->influence_joint = joints;
    rig->influence_weight = weights;
    return SUP_OK;
}
