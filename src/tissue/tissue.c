/* tissue.c - builds the tissue of a rig: skeleton, foot points, bases, tetrahedra.
 *
 * Based on: [komaritzan2022] section 3.2.1. Deviation: the thesis finds the diagonals of the prisms' sides by flipping
 * random ones until no prism has three that form a cycle; here the diagonal connects the skin vertex with the lower
 * index to the base of the other. A total order has no cycles, and both prisms at an edge use the same order. */
#include "tissue/tissue.h"

#include <stdlib.h>

typedef struct builder {
    sup_context context;
    const sup_rig *rig;
    sup_tissue_skin skin;
    sup_tissue_def def;
    sup_tissue *tissue;
    sup_volumetric_skeleton *skeleton;
    sup_tissue_report report;
    sup_arena scratch;
    sup_bvh bvh;
    sup_adjacency adjacency;
} builder;

void sup_tissue_split(const int32_t triangle[3], int32_t skin_count, int32_t tets[12])
{
    int32_t v[3] = {triangle[0], triangle[1], triangle[2]};
    bool odd = false;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 - i; k++)
            if (v[k] > v[k + 1]) {
                int32_t swap = v[k];
                v[k] = v[k + 1];
                v[k + 1] = swap;
                odd = !odd;
            }
    int32_t a = v[0], b = v[1], c = v[2], n = skin_count;
    /* Seen from outside a, b, c are counterclockwise (unless odd) and the bases lie below. */
    int32_t all[12] = {a, c, b, c + n, a, c + n, b, b + n, a, c + n, b + n, a + n};
    for (int i = 0; i < 12; i++)
        tets[i] = all[i];
    for (int i = 0; odd && i < 3; i++) {
        tets[4 * i] = all[4 * i + 1];
        tets[4 * i + 1] = all[4 * i];
    }
}

double sup_tissue_volume6(const sup_tissue *tissue, const int32_t *tet)
{
    sup_vec3d o = sup_tissue_vertex(tissue, tet[0]);
    sup_vec3d a = sup_v3_sub(sup_tissue_vertex(tissue, tet[1]), o),
              b = sup_v3_sub(sup_tissue_vertex(tissue, tet[2]), o);
    return sup_v3_dot(sup_v3_cross(a, b), sup_v3_sub(sup_tissue_vertex(tissue, tet[3]), o));
}

/* The welded skin of the skin primitives, without unused vertices. */
static sup_result use_rig_skin(builder *m, sup_error *error)
{
    const sup_rig *rig = m->rig;
    const sup_character *c = rig->character;
    size_t vertices = (size_t)rig->skin_vertex_count, corners = 3 * (size_t)rig->skin_triangle_count;
    int32_t *number = sup_arena_alloc(&m->scratch, vertices, sizeof *number);
    int32_t *triangles = sup_arena_alloc(&m->scratch, corners, sizeof *triangles);
    int32_t *triangle_primitive = sup_arena_alloc(&m->scratch, (size_t)c->triangle_count, sizeof *triangle_primitive);
    int32_t *source = sup_arena_alloc(&m->tissue->arena, vertices, sizeof *source);
    float *positions = sup_arena_alloc(&m->scratch, 3 * vertices, sizeof *positions);
    int32_t *first = sup_arena_alloc(&m->scratch, vertices + 1, sizeof *first);
    if (number == NULL || triangles == NULL || triangle_primitive == NULL || source == NULL || positions == NULL ||
        first == NULL)
        return sup_fail_memory(error, "the tissue");
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t t = 0; t < c->primitives[p].triangle_count; t++)
            triangle_primitive[c->primitives[p].triangle_first + t] = p;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        if (rig->primitive_role[triangle_primitive[rig->skin_triangle_source[t]]] != SUP_PRIMITIVE_SKIN) continue;
        for (int k = 0; k < 3; k++) {
            int32_t v = rig->skin_triangles[3 * (size_t)t + (size_t)k];
            number[v] = 1;
            triangles[3 * (size_t)m->skin.triangle_count + (size_t)k] = v;
        }
        m->skin.triangle_count++;
    }
    size_t influences = 0;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        if (number[v] == 0) continue;
        int32_t n = m->skin.vertex_count++, render = rig->skin_to_vertex[v];
        number[v] = n;
        source[n] = v;
        memcpy(positions + 3 * (size_t)n, rig->skin_positions + 3 * (size_t)v, 3 * sizeof *positions);
        influences += (size_t)(rig->influence_first[render + 1] - rig->influence_first[render]);
        first[n + 1] = (int32_t)influences;
    }
    for (size_t k = 0; k < 3 * (size_t)m->skin.triangle_count; k++)
        triangles[k] = number[triangles[k]];
    int32_t *joints = sup_arena_alloc(&m->scratch, influences, sizeof *joints);
    float *weights = sup_arena_alloc(&m->scratch, influences, sizeof *weights);
    if (joints == NULL || weights == NULL) return sup_fail_memory(error, "the tissue");
    for (int32_t n = 0; n < m->skin.vertex_count; n++) {
        int32_t from = rig->influence_first[rig->skin_to_vertex[source[n]]];
        for (int32_t k = first[n]; k < first[n + 1]; k++, from++) {
            joints[k] = rig->influence_joint[from];
            weights[k] = rig->influence_weight[from];
        }
    }
    m->skin.positions = positions;
    m->skin.triangles = triangles;
    m->skin.influence_first = first;
    m->skin.influence_joint = joints;
    m->skin.influence_weight = weights;
    m->tissue->source = source;
    return SUP_OK;
}

static sup_result use_input_skin(builder *m, const sup_tissue_skin *skin, sup_error *error)
{
    m->skin = *skin;
    bool *used = sup_arena_alloc(&m->scratch, (size_t)skin->vertex_count, sizeof *used);
    m->tissue->source = sup_arena_alloc(&m->tissue->arena, (size_t)skin->vertex_count, sizeof *m->tissue->source);
    if (used == NULL || m->tissue->source == NULL) return sup_fail_memory(error, "the tissue");
    for (int32_t k = 0; k < 3 * skin->triangle_count; k++) {
        if (skin->triangles[k] < 0 || skin->triangles[k] >= skin->vertex_count)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "tissue.triangle", NULL,
                            "Triangle %d of the skin has vertex index %d, but there are %d vertices.", k / 3,
                            skin->triangles[k], skin->vertex_count);
        used[skin->triangles[k]] = true;
    }
    for (int32_t v = 0; v < skin->vertex_count; v++) {
        m->tissue->source[v] = v;
        if (!used[v])
            return sup_fail(error, SUP_ERROR_ARGUMENT, "tissue.loose", NULL,
                            "Vertex %d of the skin is not used by any triangle: remove it.", v);
        for (int k = 0; k < 3; k++)
            if (!isfinite(skin->positions[3 * (size_t)v + (size_t)k]))
                return sup_fail(error, SUP_ERROR_DATA, "tissue.position", NULL,
                                "The position of skin vertex %d is not finite.", v);
    }
    for (int32_t k = 0; skin->influence_first != NULL && k < skin->influence_first[skin->vertex_count]; k++)
        if (skin->influence_joint[k] < 0 || skin->influence_joint[k] >= m->rig->joint_count)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "tissue.influence", NULL,
                            "An influence of the skin refers to joint %d, but the rig has %d joints.",
                            skin->influence_joint[k], m->rig->joint_count);
    return SUP_OK;
}

static bool allocate(sup_tissue *t, bool layered)
{
    size_t vertices = (size_t)t->skin_count, triangles = (size_t)t->triangle_count;
    if (layered && (t->middle = sup_arena_alloc(&t->arena, 3 * vertices, sizeof *t->middle)) == NULL) return false;
    t->skin = sup_arena_alloc(&t->arena, 3 * vertices, sizeof *t->skin);
    t->base = sup_arena_alloc(&t->arena, 3 * vertices, sizeof *t->base);
    t->triangles = sup_arena_alloc(&t->arena, 3 * triangles, sizeof *t->triangles);
    t->foot_points = sup_arena_alloc(&t->arena, vertices, sizeof *t->foot_points);
    t->base_class = sup_arena_alloc(&t->arena, vertices, sizeof *t->base_class);
    t->base_owner = sup_arena_alloc(&t->arena, vertices, sizeof *t->base_owner);
    t->base_off = sup_arena_alloc(&t->arena, vertices, sizeof *t->base_off);
    t->tets = sup_arena_alloc(&t->arena, 12 * triangles, sizeof *t->tets);
    t->tet_volume =
        sup_arena_alloc(&t->arena, 3 * triangles * (size_t)sup_tissue_layer_count(t), sizeof *t->tet_volume);
    return t->skin != NULL && t->base != NULL && t->triangles != NULL && t->foot_points != NULL &&
           t->base_class != NULL && t->base_owner != NULL && t->base_off != NULL && t->tets != NULL &&
           t->tet_volume != NULL;
}

/* Whether the base comes from the input layers instead of the volumetric skeleton. */
static bool has_layers(const builder *m, int32_t v)
{
    return m->def.layers != NULL && m->def.layers->fraction[v] > 0.0f;
}

static void shrink_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    builder *m = work;
    sup_tissue *t = m->tissue;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d x = sup_v3_load(m->skin.positions + 3 * (size_t)v);
        sup_base_hit hit = sup_shrink(m->skeleton, x, t->foot_points[v], m->def.min_thickness);
        if (m->def.freed != NULL && m->def.freed[v] != 0) sup_shrink_free(t->foot_points[v], &hit);
        sup_vec3d base = sup_v3_lerp(x, sup_foot_position(m->skeleton, t->foot_points[v]), hit.t);
        if (has_layers(m, v)) {
            int32_t joint = m->def.layers->joint[v];
            bool attached = joint >= 0 && (m->def.freed == NULL || m->def.freed[v] == 0);
            base = sup_v3_load(m->def.layers->base + 3 * (size_t)v);
            hit = (sup_base_hit){.base_class = attached ? SUP_BASE_JOINT : SUP_BASE_FREE,
                                 .owner = attached ? joint : t->foot_points[v].segment};
        }
        double *out = t->base + 3 * (size_t)v, *skin = t->skin + 3 * (size_t)v;
        skin[0] = x.x, skin[1] = x.y, skin[2] = x.z;
        out[0] = base.x, out[1] = base.y, out[2] = base.z;
        t->base_class[v] = hit.base_class;
        t->base_owner[v] = hit.owner;
        t->base_off[v] = hit.clamped;
    }
}

static void interpolate_middle(const builder *m)
{
    sup_tissue *t = m->tissue;
    for (int32_t v = 0; t->middle != NULL && v < t->skin_count; v++) {
        double fraction = has_layers(m, v) ? (double)m->def.layers->fraction[v] : 0.5;
        sup_vec3d at = sup_v3_lerp(sup_tissue_point(t->skin, v), sup_tissue_point(t->base, v), fraction);
        t->middle[3 * (size_t)v] = at.x;
        t->middle[3 * (size_t)v + 1] = at.y;
        t->middle[3 * (size_t)v + 2] = at.z;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Computes the volumes of a prism; flat tets get 0. Returns the ratio of the smallest to the largest volume of the
 * others. */
static double measure_prism(builder *m, int32_t layer, int32_t triangle)
{
    sup_tissue *t = m->tissue;
    double *volumes = t->tet_volume + 3 * ((size_t)layer * (size_t)t->triangle_count + (size_t)triangle);
    double largest = 0.0, smallest = INFINITY;
    for (int k = 0; k < 3; k++) {
        int32_t tet[4];
        for (int c = 0; c < 4; c++)
            tet[c] = sup_tissue_layer_vertex(t, layer, t->tets[12 * (size_t)triangle + 4 * (size_t)k + (size_t)c]);
        double volume = sup_tissue_volume6(t, tet) / 6.0;
        volumes[k] = fabs(volume);
        m->report.inverted += volume < 0.0;
        largest = fmax(largest, fabs(volume));
    }
    for (int k = 0; k < 3; k++) {
        if (!(volumes[k] >= 0.999 * m->def.min_volume_ratio * largest) || !(volumes[k] > 0.0)) {
            volumes[k] = 0.0;
            m->report.flat++;
        } else {
            smallest = fmin(smallest, volumes[k]);
        }
    }
    return largest > 0.0 && isfinite(smallest) ? smallest / largest : 1.0;
}

/* Volumes and the report. */
static sup_result finish(builder *m, sup_error *error)
{
    sup_tissue *t = m->tissue;
    sup_tissue_report *r = &m->report;
    int32_t layers = sup_tissue_layer_count(t);
    size_t prisms = (size_t)layers * (size_t)t->triangle_count;
    double *ratios = sup_arena_alloc(&m->scratch, prisms, sizeof *ratios);
    if (ratios == NULL) return sup_fail_memory(error, "the tissue");
    for (int32_t v = 0; v < t->skin_count; v++) {
        r->on_bone += t->base_class[v] == SUP_BASE_BONE;
        r->on_sphere += t->base_class[v] == SUP_BASE_SPHERE;
        r->on_joint += t->base_class[v] == SUP_BASE_JOINT;
        r->free_bases += t->base_class[v] == SUP_BASE_FREE;
    }
    for (int32_t layer = 0; layer < layers; layer++)
        for (int32_t p = 0; p < t->triangle_count; p++)
            ratios[(size_t)layer * (size_t)t->triangle_count + (size_t)p] = measure_prism(m, layer, p);
    if (3 * (int64_t)prisms == r->flat)
        return sup_fail(error, SUP_ERROR_DATA, "tissue.flat", NULL,
                        "The skin coincides with its bones: there is no space for tissue between them.");
    qsort(ratios, prisms, sizeof *ratios, compare_doubles);
    r->min_ratio = ratios[0];
    r->median_ratio = ratios[prisms / 2];
    return SUP_OK;
}

static sup_result make(builder *m, const sup_tissue_skin *skin, sup_error *error)
{
    sup_tissue *t = m->tissue;
    sup_result result = skin != NULL ? use_input_skin(m, skin, error) : use_rig_skin(m, error);
    if (result != SUP_OK) return result;
    if (m->skin.triangle_count == 0)
        return sup_fail(error, SUP_ERROR_DATA, "tissue.empty", NULL, "The skin has no triangles.");
    t->skin_count = m->skin.vertex_count;
    t->triangle_count = m->skin.triangle_count;
    t->inner_stiffness = m->def.layers != NULL ? m->def.layers->inner_stiffness : 1.0;
    if (!allocate(t, m->def.layers != NULL)) return sup_fail_memory(error, "the tissue");
    memcpy(t->triangles, m->skin.triangles, 3 * (size_t)t->triangle_count * sizeof *t->triangles);
    result = sup_bvh_create(&m->context, m->skin.positions, t->triangle_count, t->triangles, &m->bvh, error);
    if (result != SUP_OK) return result;
    result = sup_adjacency_create(&m->context.allocator, t->skin_count, t->triangle_count, t->triangles, &m->adjacency,
                                  error);
    if (result != SUP_OK) return result;
    result = sup_skeleton_create(&m->context, m->rig, &m->skin, &m->bvh, &m->def.skeleton, &m->skeleton,
                                 &m->report.skeleton, error);
    if (result != SUP_OK) return result;
    sup_foot_points_nearest(&m->context, &m->skin, &m->bvh, m->skeleton, t->foot_points);
    if (m->def.smoothing > 0.0)
        result = sup_foot_points_smooth(&m->context, &m->skin, &m->adjacency, m->skeleton, m->def.smoothing,
                                        t->foot_points, &m->report.foot_points, error);
    if (result != SUP_OK) return result;
    sup_parallel(&m->context, t->skin_count, 256, shrink_vertices, m);
    for (int32_t v = 0; v < t->skin_count; v++)
        m->report.clamped += t->base_off[v];
    for (int32_t k = 0; k < t->triangle_count; k++)
        sup_tissue_split(t->triangles + 3 * (size_t)k, t->skin_count, t->tets + 12 * (size_t)k);
    result = sup_tissue_repair(&m->context, &m->adjacency, m->skeleton, m->def.min_volume_ratio, m->def.min_thickness,
                               t, &m->report, error);
    if (result != SUP_OK) return result;
    interpolate_middle(m);
    return finish(m, error);
}

sup_result sup_tissue_create(const sup_context *context, const sup_rig *rig, const sup_tissue_skin *skin,
                             const sup_tissue_def *def, sup_volumetric_skeleton **skeleton, sup_tissue **tissue,
                             sup_tissue_report *report, sup_error *error)
{
    builder m = {.context = sup_context_resolve(context), .rig = rig};
    if (def != NULL) m.def = *def;
    if (m.def.smoothing == 0.0) m.def.smoothing = 1.5;
    if (m.def.min_thickness == 0.0) m.def.min_thickness = 0.1;
    if (m.def.min_volume_ratio == 0.0) m.def.min_volume_ratio = 0.01;
    m.scratch = sup_arena_create(&m.context.allocator);
    sup_arena arena = sup_arena_create(&m.context.allocator);
    m.tissue = sup_arena_alloc(&arena, 1, sizeof *m.tissue);
    if (m.tissue == NULL) return sup_fail_memory(error, "the tissue");
    m.tissue->arena = arena;
    sup_result result = make(&m, skin, error);
    if (m.bvh.nodes != NULL) sup_bvh_free(&m.bvh);
    if (m.adjacency.arena.blocks != NULL) sup_adjacency_destroy(&m.adjacency);
    sup_arena_destroy(&m.scratch);
    if (result != SUP_OK) {
        sup_skeleton_destroy(m.skeleton);
        sup_tissue_destroy(m.tissue);
        return result;
    }
    if (report != NULL) *report = m.report;
    *skeleton = m.skeleton;
    *tissue = m.tissue;
    return SUP_OK;
}

void sup_tissue_destroy(sup_tissue *tissue)
{
    if (tissue == NULL) return;
    sup_arena arena = tissue->arena; /* the tissue itself is allocated from it */
    sup_arena_destroy(&arena);
}
