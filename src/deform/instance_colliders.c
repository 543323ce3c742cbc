/* instance_colliders.c - scene colliders of an instance: copied, checked, moved. */
#include "deform/instance_colliders.h"

#include <math.h>

static const float DEFAULT_FRICTION = 0.5f, MAX_FRICTION = 100.0f;

static sup_collider make(sup_collider_shape shape, sup_vec3 from, sup_vec3 to, float radius)
{
    return (sup_collider){.shape = shape,
                          .from = from,
                          .to = to,
                          .radius = radius,
                          .node = -1,
                          .transform = sup_mat34_identity(),
                          .friction = DEFAULT_FRICTION};
}

sup_collider sup_collider_plane(sup_vec3 point, sup_vec3 normal)
{
    sup_vec3d n = sup_v3_unit_or(sup_v3_from_float(normal), sup_v3(0.0, 0.0, 0.0));
    return make(SUP_COLLIDER_PLANE, point, sup_v3_to_float(sup_v3_add(sup_v3_from_float(point), n)), 0.0f);
}

sup_collider sup_collider_sphere(sup_vec3 centre, float radius)
{
    return make(SUP_COLLIDER_CAPSULE, centre, centre, radius);
}

sup_collider sup_collider_capsule(sup_vec3 from, sup_vec3 to, float radius)
{
    return make(SUP_COLLIDER_CAPSULE, from, to, radius);
}

sup_collider sup_collider_mesh(const float *positions, int32_t vertex_count, const int32_t *triangles,
                               int32_t triangle_count)
{
    sup_collider mesh = make(SUP_COLLIDER_MESH, (sup_vec3){0}, (sup_vec3){0}, 0.0f);
    mesh.positions = positions;
    mesh.vertex_count = vertex_count;
    mesh.triangles = triangles;
    mesh.triangle_count = triangle_count;
    return mesh;
}

/* --- Checks --- */

static sup_result fail(sup_error *error, int32_t index, const char *id, const char *what)
{
    return sup_fail(error, SUP_ERROR_ARGUMENT, id, "", "Collider %d %s.", index, what);
}

bool sup_collider_transform_usable(sup_mat34 transform)
{
    sup_affine inverse;
    return sup_affine_inverse(sup_affine_from_float(transform), &inverse);
}

static sup_result check_mesh(const sup_collider *c, int32_t index, sup_error *error)
{
    if (c->positions == NULL || c->triangles == NULL || c->vertex_count < 4 || c->triangle_count < 4)
        return fail(error, index, "collider.mesh", "is a mesh with fewer than 4 vertices or 4 triangles");
    for (int64_t i = 0; i < (int64_t)c->vertex_count * 3; i++)
        if (!isfinite(c->positions[i])) return fail(error, index, "collider.finite", "has a number that is not finite");
    for (int64_t i = 0; i < (int64_t)c->triangle_count * 3; i++)
        if (c->triangles[i] < 0 || c->triangles[i] >= c->vertex_count)
            return fail(error, index, "collider.triangle", "has a triangle with a vertex index out of range");
    return SUP_OK;
}

static sup_result check(const sup_collider *c, int32_t index, int32_t node_count, sup_error *error)
{
    sup_vec3d from = sup_v3_from_float(c->from), to = sup_v3_from_float(c->to);
    if (!sup_v3_finite(from) || !sup_v3_finite(to) || !isfinite(c->radius))
        return fail(error, index, "collider.finite", "has a number that is not finite");
    if (!sup_collider_transform_usable(c->transform))
        return fail(error, index, "collider.transform", "has a transform that is not finite or not invertible");
    if (!(c->friction >= 0.0f && c->friction <= MAX_FRICTION))
        return fail(error, index, "collider.friction", "has a friction outside 0 to 100");
    if (c->node < -1 || c->node >= node_count)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "collider.node", "",
                        "Collider %d follows node %d, but a pose has %d nodes; -1 means none.", index, c->node,
                        node_count);
    switch (c->shape) {
    case SUP_COLLIDER_PLANE:
        if (sup_v3_distance(from, to) > 0.0) return SUP_OK;
        return fail(error, index, "collider.plane", "is a plane with a zero normal");
    case SUP_COLLIDER_CAPSULE:
        if (c->radius > 0.0f) return SUP_OK;
        return fail(error, index, "collider.radius", "is a sphere or capsule with a radius that is not positive");
    case SUP_COLLIDER_MESH:
        return check_mesh(c, index, error);
    }
    return fail(error, index, "collider.shape", "has an unknown shape");
}

/* --- Creation --- */

static sup_result copy_mesh(const sup_context *context, sup_colliders *made, int32_t i, const sup_collider *c,
                            sup_error *error)
{
    const float *positions = sup_arena_copy(&made->arena, c->positions, (size_t)c->vertex_count, 3 * sizeof(float));
    const int32_t *triangles =
        sup_arena_copy(&made->arena, c->triangles, (size_t)c->triangle_count, 3 * sizeof(int32_t));
    if (positions == NULL || triangles == NULL) return sup_fail_memory(error, "the colliders");
    made->solids[i].mesh = &made->trees[i];
    return sup_bvh_create(context, positions, c->triangle_count, triangles, &made->trees[i], error);
}

static sup_result fill(const sup_context *context, sup_colliders *made, const sup_collider *colliders,
                       int32_t node_count, sup_error *error)
{
    size_t count = (size_t)made->count;
    made->solids = sup_arena_alloc(&made->arena, count, sizeof *made->solids);
    made->transform = sup_arena_alloc(&made->arena, count, sizeof *made->transform);
    made->from = sup_arena_alloc(&made->arena, count, sizeof *made->from);
    made->to = sup_arena_alloc(&made->arena, count, sizeof *made->to);
    made->node = sup_arena_alloc(&made->arena, count, sizeof *made->node);
    made->trees = sup_arena_alloc(&made->arena, count, sizeof *made->trees);
    if (made->solids == NULL || made->transform == NULL || made->from == NULL || made->to == NULL ||
        made->node == NULL || made->trees == NULL)
        return sup_fail_memory(error, "the colliders");
    for (int32_t i = 0; i < made->count; i++) {
        const sup_collider *c = &colliders[i];
        sup_result result = check(c, i, node_count, error);
        if (result != SUP_OK) return result;
        made->solids[i] = (sup_posed_collider){.shape = c->shape,
                                               .from = sup_v3_from_float(c->from),
                                               .to = sup_v3_from_float(c->to),
                                               .radius = (double)c->radius,
                                               .friction = c->friction};
        made->transform[i] = sup_affine_from_float(c->transform);
        made->node[i] = c->node;
        if (c->shape == SUP_COLLIDER_MESH) result = copy_mesh(context, made, i, c, error);
        if (result != SUP_OK) return result;
    }
    return SUP_OK;
}

sup_result sup_colliders_create(const sup_context *context, const sup_collider *colliders, int32_t count,
                                int32_t node_count, sup_colliders **made_out, sup_error *error)
{
    sup_arena arena = sup_arena_create(&context->allocator);
    sup_colliders *made = sup_arena_alloc(&arena, 1, sizeof *made);
    if (made == NULL) return sup_fail_memory(error, "the colliders");
    *made = (sup_colliders){.count = count, .fresh = true};
    made->arena = arena;
    sup_result result = fill(context, made, colliders, node_count, error);
    if (result == SUP_OK)
        *made_out = made;
    else
        sup_colliders_destroy(made);
    return result;
}

void sup_colliders_destroy(sup_colliders *colliders)
{
    if (colliders == NULL) return;
    for (int32_t i = 0; colliders->trees != NULL && i < colliders->count; i++)
        sup_bvh_free(&colliders->trees[i]);
    sup_arena arena = colliders->arena; /* the object itself is allocated from it */
    sup_arena_destroy(&arena);
}

/* --- Motion --- */

void sup_colliders_set_pose(sup_colliders *colliders, const sup_pose *pose)
{
    for (int32_t i = 0; i < colliders->count; i++) {
        int32_t node = colliders->node[i];
        colliders->to[i] = colliders->transform[i];
        if (node >= 0)
            colliders->to[i] = sup_affine_multiply(sup_affine_from_float(pose->world[node]), colliders->transform[i]);
    }
    if (colliders->fresh) sup_colliders_end_frame(colliders);
    colliders->fresh = false;
}

bool sup_colliders_at_rest(const sup_colliders *colliders)
{
    return memcmp(colliders->from, colliders->to, (size_t)colliders->count * sizeof *colliders->to) == 0;
}

void sup_colliders_end_frame(sup_colliders *colliders)
{
    memcpy(colliders->from, colliders->to, (size_t)colliders->count * sizeof *colliders->to);
}

static sup_affine moved(sup_affine a, sup_vec3d origin)
{
    a.m[3] -= origin.x;
    a.m[7] -= origin.y;
    a.m[11] -= origin.z;
    return a;
}

const sup_posed_collider *sup_colliders_between(sup_colliders *colliders, double t0, double t1, sup_vec3d origin)
{
    for (int32_t i = 0; i < colliders->count; i++) {
        const sup_affine *from = &colliders->from[i], *to = &colliders->to[i];
        colliders->solids[i].previous = moved(sup_affine_between(*from, *to, t0), origin);
        colliders->solids[i].world = moved(sup_affine_between(*from, *to, t1), origin);
    }
    return colliders->solids;
}
