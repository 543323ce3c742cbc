/* mesh_view.c - a mesh in double precision with a bounding volume hierarchy in single precision. */
#include "anatomy/bone_surface.h"
#include "geometry/normals.h"

sup_result sup_mesh_view_create(const sup_context *context, const sup_shape *shape, sup_arena *arena,
                                sup_mesh_view *view, sup_error *error)
{
    size_t values = 3 * (size_t)shape->vertex_count;
    sup_mesh_view made = {
        .vertex_count = shape->vertex_count, .triangle_count = shape->triangle_count, .triangles = shape->triangles};
    made.floats = sup_arena_alloc(arena, values + 1, sizeof *made.floats);
    made.normals = sup_arena_alloc(arena, values + 1, sizeof *made.normals);
    if (made.floats == NULL || made.normals == NULL) return sup_fail_memory(error, "a surface");
    for (size_t i = 0; i < values; i++)
        made.floats[i] = (float)shape->positions[i];
    sup_result result = sup_bvh_create(context, made.floats, shape->triangle_count, shape->triangles, &made.bvh, error);
    if (result != SUP_OK) return result;
    sup_mesh_view_move(&made, shape->positions);
    *view = made;
    return SUP_OK;
}

void sup_mesh_view_move(sup_mesh_view *view, const double *positions)
{
    view->positions = positions;
    for (size_t i = 0; i < 3 * (size_t)view->vertex_count; i++)
        view->floats[i] = (float)positions[i];
    sup_bvh_refit(&view->bvh, view->floats);
    sup_vertex_normals(view->vertex_count, view->floats, view->triangle_count, view->triangles, NULL, view->normals);
}

void sup_mesh_view_free(sup_mesh_view *view)
{
    if (view->bvh.nodes != NULL) sup_bvh_free(&view->bvh);
    memset(view, 0, sizeof *view);
}

sup_vec3d sup_mesh_view_normal(const sup_mesh_view *view, int32_t triangle, double u, double v)
{
    double weights[3] = {1.0 - u - v, u, v};
    sup_vec3d sum = {0.0, 0.0, 0.0};
    for (int k = 0; k < 3; k++)
        sum = sup_v3_madd(sum, weights[k], sup_v3_at(view->normals, view->triangles[3 * (size_t)triangle + (size_t)k]));
    return sup_v3_unit_or(sum, sup_v3(0.0, 1.0, 0.0));
}

double sup_mesh_view_distance(const sup_mesh_view *view, sup_vec3d p, double limit, sup_bvh_nearest *nearest)
{
    sup_bvh_nearest found = sup_bvh_closest(&view->bvh, p, limit);
    if (nearest != NULL) *nearest = found;
    if (found.triangle < 0) return INFINITY;
    sup_vec3d normal = sup_mesh_view_normal(view, found.triangle, found.u, found.v);
    return sup_v3_dot(normal, sup_v3_sub(p, found.point)) < 0.0 ? -found.distance : found.distance;
}
