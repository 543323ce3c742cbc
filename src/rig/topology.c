/* topology.c - connected components, holes, non-manifold edges and slivers of the welded skin. */
#include "rig/rig.h"

#include "geometry/adjacency.h"

/* Height of a sliver relative to its longest side, at most. */
static const double sliver_height = 0.01;

static sup_result find_components(sup_rig_build *build, sup_error *error)
{
    sup_rig *rig = build->rig;
    int32_t *component = sup_arena_alloc(build->arena, (size_t)rig->skin_vertex_count, sizeof *component);
    if (component == NULL) return sup_fail_memory(error, "the components of the skin");
    rig->component_count =
        sup_mesh_components(rig->skin_vertex_count, rig->skin_triangle_count, rig->skin_triangles, component);
    rig->skin_component = component;
    double *area = sup_arena_alloc(&build->scratch, (size_t)rig->component_count, sizeof *area);
    if (area == NULL) return sup_fail_memory(error, "the components of the skin");
    rig->main_component = -1;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        int32_t corner = rig->skin_triangles[3 * (size_t)t];
        if (build->surface.role[build->surface.vertex_primitive[rig->skin_to_vertex[corner]]] == SUP_PRIMITIVE_SKIN)
            area[component[corner]] += build->surface.triangle_area[t];
    }
    for (int32_t k = 0; k < rig->component_count; k++)
        if (area[k] > 0.0 && (rig->main_component < 0 || area[k] > area[rig->main_component])) rig->main_component = k;
    int32_t first = -1; /* first render vertex outside of the main component */
    for (int32_t s = 0; s < rig->skin_vertex_count && first < 0; s++)
        if (component[s] >= 0 && component[s] != rig->main_component) first = rig->skin_to_vertex[s];
    return sup_rig_defect(&build->defects, SUP_DEFECT_ISLAND, SUP_SEVERITY_NOTE, -1, rig->component_count - 1, first,
                          error, "The skin has %d component%s besides the largest one.", rig->component_count - 1,
                          sup_plural(rig->component_count - 1));
}

static sup_result report_edges(const sup_rig *rig, const sup_adjacency *a, sup_defect_list *defects, sup_error *error)
{
    int32_t non_manifold = 0, first_non_manifold = -1, misoriented = 0, first_misoriented = -1;
    for (int32_t e = 0; e < a->edge_count; e++) {
        int32_t first = a->edge_first[e], count = a->edge_first[e + 1] - first;
        if (count > 2 && non_manifold++ == 0) first_non_manifold = rig->skin_to_vertex[a->edge_vertices[2 * e]];
        bool same_direction =
            count == 2 && a->triangles[a->edge_halves[first]] == a->triangles[a->edge_halves[first + 1]];
        if (same_direction && misoriented++ == 0) first_misoriented = rig->skin_to_vertex[a->edge_vertices[2 * e]];
    }
    sup_result result = sup_rig_defect(defects, SUP_DEFECT_NON_MANIFOLD_EDGE, SUP_SEVERITY_WARNING, -1, non_manifold,
                                       first_non_manifold, error,
                                       "%d edge%s of the skin with more than two triangles (first: at vertex %d).",
                                       non_manifold, sup_plural(non_manifold), first_non_manifold);
    if (result != SUP_OK) return result;
    return sup_rig_defect(defects, SUP_DEFECT_MISORIENTED_EDGE, SUP_SEVERITY_WARNING, -1, misoriented,
                          first_misoriented, error,
                          "%d edge%s of the skin between triangles of opposite orientation (first: at vertex %d).",
                          misoriented, sup_plural(misoriented), first_misoriented);
}

static sup_result report_holes(const sup_rig *rig, const sup_adjacency *a, sup_arena *scratch, sup_defect_list *defects,
                               sup_error *error)
{
    sup_boundary boundary;
    sup_result result = sup_boundary_loops(a, scratch, &boundary, error);
    if (result != SUP_OK || boundary.loop_count == 0) return result;
    int32_t first = rig->skin_to_vertex[boundary.vertices[0]];
    return sup_rig_defect(defects, SUP_DEFECT_HOLE, SUP_SEVERITY_WARNING, -1, boundary.loop_count, first, error,
                          "The skin has %d hole%s with %d edge%s (first: at vertex %d).", boundary.loop_count,
                          sup_plural(boundary.loop_count), boundary.edge_count, sup_plural(boundary.edge_count), first);
}

static sup_result report_slivers(const sup_rig *rig, const double *triangle_area, sup_defect_list *defects,
                                 sup_error *error)
{
    int32_t count = 0, first = -1;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *corners = rig->skin_triangles + 3 * (size_t)t;
        double longest = 0.0;
        for (int k = 0; k < 3; k++) {
            sup_vec3d p = sup_v3_load(rig->skin_positions + 3 * (size_t)corners[k]);
            sup_vec3d q = sup_v3_load(rig->skin_positions + 3 * (size_t)corners[(k + 1) % 3]);
            longest = fmax(longest, sup_v3_distance(p, q));
        }
        bool thin = 2.0 * triangle_area[t] < sliver_height * longest * longest;
        if (thin && count++ == 0) first = rig->skin_triangle_source[t];
    }
    return sup_rig_defect(defects, SUP_DEFECT_SLIVER, SUP_SEVERITY_NOTE, -1, count, first, error,
                          "%d triangle%s thinner than %g of the longest side (first: triangle %d).", count,
                          sup_plural(count), sliver_height, first);
}

static sup_result report_unused(const sup_character *c, sup_arena *scratch, sup_defect_list *defects, sup_error *error)
{
    bool *used = sup_arena_alloc(scratch, (size_t)c->vertex_count, sizeof *used);
    if (used == NULL) return sup_fail_memory(error, "the vertices");
    for (size_t k = 0; k < 3 * (size_t)c->triangle_count; k++)
        used[c->triangles[k]] = true;
    sup_result result = SUP_OK;
    for (int32_t p = 0; p < c->primitive_count && result == SUP_OK; p++) {
        int32_t count = 0, first = -1;
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++)
            if (!used[v] && count++ == 0) first = v;
        result = sup_rig_defect(defects, SUP_DEFECT_UNUSED_VERTEX, SUP_SEVERITY_NOTE, p, count, first, error,
                                "Vertices of primitive %s without triangles: %d.", sup_rig_primitive_name(c, p), count);
    }
    return result;
}

sup_result sup_rig_topology(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    sup_adjacency adjacency;
    sup_result result = sup_adjacency_create(&build->context.allocator, rig->skin_vertex_count,
                                             rig->skin_triangle_count, rig->skin_triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    sup_defect_list *defects = &build->defects;
    result = report_holes(rig, &adjacency, &build->scratch, defects, error);
    if (result == SUP_OK) result = report_edges(rig, &adjacency, defects, error);
    sup_adjacency_destroy(&adjacency);
    if (result == SUP_OK) result = report_slivers(rig, build->surface.triangle_area, defects, error);
    if (result == SUP_OK) result = find_components(build, error);
    if (result == SUP_OK) result = report_unused(build->character, &build->scratch, defects, error);
    return result;
}
