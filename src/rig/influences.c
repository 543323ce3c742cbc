/* influences.c - the file's weights made clean: finite, positive, one per joint, largest first, sum 1, none missing. */
#include "rig/rig.h"

#include "geometry/adjacency.h"

/* A sum of weights further from 1 than the rounding of four 8-bit weights explains. */
static const double normalised_tolerance = 1e-2;

typedef struct weight_faults {
    int32_t nonfinite, first_nonfinite;
    int32_t negative, first_negative;
    int32_t unnormalised, first_unnormalised;
    int32_t duplicate, first_duplicate;
} weight_faults;

static void note(int32_t *count, int32_t *first, int32_t v)
{
    if ((*count)++ == 0) *first = v;
}

/* Larger weights first, then smaller joints. */
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

/* Heap sort: a row may be as long as a file likes. */
static void sort_row(int32_t *joint, double *weight, int32_t count, before_fn *before)
{
    for (int32_t i = count / 2 - 1; i >= 0; i--)
        sift_down(joint, weight, i, count, before);
    for (int32_t end = count - 1; end > 0; end--) {
        swap(joint, weight, 0, end);
        sift_down(joint, weight, 0, end, before);
    }
}

void sup_influence_row_finish(sup_influence_rows *rows, int32_t v, int32_t limit)
{
    int32_t *joint = rows->joint + rows->first[v];
    double *weight = rows->weight + rows->first[v];
    sort_row(joint, weight, rows->count[v], weight_before);
    if (limit > 0 && rows->count[v] > limit) rows->count[v] = limit;
    double sum = 0.0;
    for (int32_t i = 0; i < rows->count[v]; i++)
        sum += weight[i];
    for (int32_t i = 0; i < rows->count[v]; i++)
        weight[i] /= sum;
    /* Weights that vanish as floats are no influence. */
    while (rows->count[v] > 1 && (float)weight[rows->count[v] - 1] == 0.0f)
        rows->count[v]--;
}

/* Influences of one joint become one. True when there were such. */
static bool merge_joints(sup_influence_rows *rows, int32_t v)
{
    int32_t *joint = rows->joint + rows->first[v], count = rows->count[v], kept = 0;
    double *weight = rows->weight + rows->first[v];
    sort_row(joint, weight, count, joint_before);
    for (int32_t i = 0; i < count; i++) {
        if (kept > 0 && joint[kept - 1] == joint[i]) {
            weight[kept - 1] += weight[i];
            continue;
        }
        joint[kept] = joint[i];
        weight[kept++] = weight[i];
    }
    rows->count[v] = kept;
    return kept < count;
}

static void push(sup_influence_rows *rows, int32_t v, int32_t joint, double weight)
{
    size_t k = rows->first[v] + (size_t)rows->count[v]++;
    rows->joint[k] = joint;
    rows->weight[k] = weight;
}

/* Row v from the file's influences. */
static void clean_row(sup_rig_build *build, int32_t v, const sup_skin *skin, weight_faults *faults)
{
    const sup_character *c = build->character;
    bool nonfinite = false, negative = false;
    double sum = 0.0;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++) {
        double weight = (double)c->influence_weight[k];
        int32_t bone = c->influence_bone[k];
        bool own = bone >= skin->bone_first && bone < skin->bone_first + skin->bone_count;
        nonfinite = nonfinite || !isfinite(weight);
        negative = negative || weight < 0.0;
        if (!isfinite(weight) || weight <= 0.0 || !own) continue;
        sum += weight;
        push(&build->rows, v, build->bone_joint[bone], weight);
    }
    if (nonfinite) note(&faults->nonfinite, &faults->first_nonfinite, v);
    if (negative) note(&faults->negative, &faults->first_negative, v);
    if (build->rows.count[v] == 0) return;
    if (fabs(sum - 1.0) > normalised_tolerance) note(&faults->unnormalised, &faults->first_unnormalised, v);
    if (merge_joints(&build->rows, v)) note(&faults->duplicate, &faults->first_duplicate, v);
    sup_influence_row_finish(&build->rows, v, build->def.weights == SUP_WEIGHTS_RIGID ? 1 : build->def.max_influences);
}

static sup_result report_faults(sup_rig_build *build, int32_t part, const weight_faults *f, sup_error *error)
{
    const char *name = sup_rig_primitive_name(build, part);
    sup_result result = sup_rig_defect(
        build, SUP_DEFECT_NON_FINITE_WEIGHT, SUP_SEVERITY_REPAIRED, part, f->nonfinite, f->first_nonfinite, error,
        "Vertices of part %s with weights that are not finite, which are dropped: %d.", name, f->nonfinite);
    if (result == SUP_OK)
        result = sup_rig_defect(build, SUP_DEFECT_NEGATIVE_WEIGHT, SUP_SEVERITY_REPAIRED, part, f->negative,
                                f->first_negative, error,
                                "Vertices of part %s with negative weights, which are dropped: %d.", name, f->negative);
    if (result == SUP_OK)
        result = sup_rig_defect(
            build, SUP_DEFECT_UNNORMALISED_WEIGHTS, SUP_SEVERITY_REPAIRED, part, f->unnormalised, f->first_unnormalised,
            error, "Vertices of part %s whose weights do not sum to 1 and are scaled to: %d.", name, f->unnormalised);
    if (result == SUP_OK)
        result = sup_rig_defect(
            build, SUP_DEFECT_DUPLICATE_INFLUENCE, SUP_SEVERITY_REPAIRED, part, f->duplicate, f->first_duplicate, error,
            "Vertices of part %s that name a joint twice, whose weights are added: %d.", name, f->duplicate);
    return result;
}

static bool allocate_rows(sup_rig_build *build)
{
    const sup_character *c = build->character;
    sup_influence_rows *rows = &build->rows;
    size_t vertices = (size_t)c->vertex_count, room = 0;
    rows->first = sup_arena_alloc(&build->scratch, vertices + 1, sizeof *rows->first);
    rows->count = sup_arena_alloc(&build->scratch, vertices, sizeof *rows->count);
    rows->source = sup_arena_alloc(&build->scratch, vertices, sizeof *rows->source);
    build->part_made = sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *build->part_made);
    build->part_bare = sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *build->part_bare);
    build->first_bare = sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *build->first_bare);
    if (rows->first == NULL || rows->count == NULL || rows->source == NULL || build->part_made == NULL ||
        build->part_bare == NULL || build->first_bare == NULL)
        return false;
    int32_t limit = build->def.weights == SUP_WEIGHTS_RIGID ? 1
                    : build->def.max_influences > 0         ? build->def.max_influences
                                                            : 4;
    build->made_limit = limit < build->rig->joint_count ? limit : build->rig->joint_count;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        int32_t wanted = c->influence_first[v + 1] - c->influence_first[v];
        bool skinned = sup_primitive_is_skinned(c, build->vertex_part[v]);
        if (skinned && wanted < build->made_limit) wanted = build->made_limit;
        rows->first[v] = room;
        rows->source[v] = v;
        room += (size_t)(wanted < 1 ? 1 : wanted);
    }
    rows->first[vertices] = room;
    rows->joint = sup_arena_alloc(&build->scratch, room, sizeof *rows->joint);
    rows->weight = sup_arena_alloc(&build->scratch, room, sizeof *rows->weight);
    return rows->joint != NULL && rows->weight != NULL;
}

/* Vertices of a part that the file gave no weight: all of them means that the weights are to be made. */
static sup_result count_bare(sup_rig_build *build, int32_t p, sup_error *error)
{
    const sup_primitive *part = &build->character->primitives[p];
    build->first_bare[p] = -1;
    for (int32_t v = part->vertex_first; v < part->vertex_first + part->vertex_count; v++)
        if (build->rows.count[v] == 0) note(&build->part_bare[p], &build->first_bare[p], v);
    bool none = build->part_bare[p] == part->vertex_count;
    sup_weight_source source = build->def.weights;
    build->part_made[p] = none || source == SUP_WEIGHTS_NEAREST || source == SUP_WEIGHTS_HEAT;
    if (source == SUP_WEIGHTS_FILE && none)
        return sup_rig_defect(build, SUP_DEFECT_NO_INFLUENCE, SUP_SEVERITY_FATAL, p, part->vertex_count,
                              part->vertex_first, error,
                              "Part %s has no weights in the file: have them made (weights auto, heat or nearest).",
                              sup_rig_primitive_name(build, p));
    return SUP_OK;
}

/* Bare vertices borrow the row of a vertex in the same place, else of the one fewest edges away. */
static sup_result borrow_rows(sup_rig_build *build, sup_error *error)
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
            if (s < 0 || donor[s] != 0 || build->rows.count[v] == 0) continue;
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
            if (s >= 0 && build->rows.count[v] == 0 && donor[s] != 0) build->rows.source[v] = donor[s] - 1;
        }
    }
    sup_adjacency_destroy(&adjacency);
    return ok ? SUP_OK : sup_fail_memory(error, "missing weights");
}

sup_result sup_rig_influences(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    if (!allocate_rows(build)) return sup_fail_memory(error, "the weights");
    int64_t bare = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        const sup_primitive *part = &c->primitives[p];
        bool skinned = sup_primitive_is_skinned(c, p);
        weight_faults faults = {0, -1, 0, -1, 0, -1, 0, -1};
        for (int32_t v = part->vertex_first; v < part->vertex_first + part->vertex_count; v++) {
            if (skinned)
                clean_row(build, v, &c->skins[part->skin], &faults);
            else
                push(&build->rows, v, build->node_joint[part->node], 1.0);
        }
        if (!skinned) continue;
        sup_result result = report_faults(build, p, &faults, error);
        if (result == SUP_OK) result = count_bare(build, p, error);
        if (result != SUP_OK) return result;
        if (!build->part_made[p]) bare += build->part_bare[p];
    }
    return bare > 0 ? borrow_rows(build, error) : SUP_OK;
}

/* The rows of all vertices, packed. */
sup_result sup_rig_pack_influences(sup_rig_build *build, sup_error *error)
{
    sup_rig *rig = build->rig;
    const sup_influence_rows *rows = &build->rows;
    size_t total = 0;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        total += (size_t)rows->count[rows->source[v]];
    if (total > INT32_MAX)
        return sup_fail(error, SUP_ERROR_DATA, "rig.too_many_influences", build->character->name,
                        "The vertices have more than 2^31 influences: limit them per vertex.");
    int32_t *first = sup_arena_alloc(build->arena, (size_t)rig->vertex_count + 1, sizeof *first);
    int32_t *joints = sup_arena_alloc(build->arena, total, sizeof *joints);
    float *weights = sup_arena_alloc(build->arena, total, sizeof *weights);
    if (first == NULL || joints == NULL || weights == NULL) return sup_fail_memory(error, "the weights");
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t from = rows->source[v], count = rows->count[from];
        first[v + 1] = first[v] + count;
        for (int32_t i = 0; i < count; i++) {
            joints[first[v] + i] = rows->joint[rows->first[from] + (size_t)i];
            weights[first[v] + i] = (float)rows->weight[rows->first[from] + (size_t)i];
        }
        if (count > rig->max_influences) rig->max_influences = count;
    }
    rig->influence_first = first;
    rig->influence_joint = joints;
    rig->influence_weight = weights;
    return SUP_OK;
}
