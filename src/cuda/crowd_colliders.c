/* crowd_colliders.c - scene colliders of a crowd: checked and copied once, moved in every step. The host moves them as
 * in deform/instance_colliders.c; colliders that follow a node of an instance that plays a clip are moved on the
 * device. */
#include "cuda/crowd.h"

#include "contact/contact_tuning.h"
#include "methods/projective/projective.h"

sup_result sup_crowd_check_colliders(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error)
{
    sup_crowd_colliders *c = &crowd->colliders;
    if (def->collider_count < 0 || (def->collider_count > 0 && def->colliders == NULL))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "collider.null", "",
                        "collider_count must be 0 or the size of the array colliders.");
    if (def->collider_count == 0) return SUP_OK;
    if (crowd->kind != SUP_METHOD_DEVICE_PROJECTIVE)
        return sup_fail(
            error, SUP_ERROR_UNSUPPORTED, "collider.method", crowd->method->name,
            "Method \"%s\" does not collide with scene colliders: bind with one that does, such as projective.",
            crowd->method->name);
    c->count = def->collider_count;
    return sup_colliders_create(&crowd->context, def->colliders, c->count, sup_model_node_count(crowd->model), &c->list,
                                error);
}

/* --- Upload --- */

/* A mesh and its bounding volume hierarchy; NULL when out of device memory (sets the error). */
static sup_bvh *upload_mesh(sup_crowd *crowd, const sup_bvh *from, sup_error *error)
{
    size_t triangles = (size_t)from->triangle_count, vertices = 0;
    for (size_t i = 0; i < 3 * triangles; i++)
        vertices = (size_t)from->triangles[i] + 1 > vertices ? (size_t)from->triangles[i] + 1 : vertices;
    sup_bvh to = {.triangle_count = from->triangle_count, .node_count = from->node_count};
    to.positions = sup_crowd_upload(crowd, from->positions, vertices, 3 * sizeof(float), error);
    if (to.positions != NULL) to.triangles = sup_crowd_upload(crowd, from->triangles, triangles, 12, error);
    if (to.triangles != NULL)
        to.nodes = sup_crowd_upload(crowd, from->nodes, (size_t)from->node_count, sizeof(sup_bvh_node), error);
    if (to.nodes != NULL) to.order = sup_crowd_upload(crowd, from->order, triangles, sizeof(int32_t), error);
    return to.order != NULL ? sup_crowd_upload(crowd, &to, 1, sizeof to, error) : NULL;
}

/* Thickness of the tissue at rest plus an edge: scale of the depth of colliders. */
static double *compute_thickness(sup_crowd *crowd, const sup_projective_view *view)
{
    const sup_system *s = &view->system;
    double *thickness = sup_arena_alloc(&crowd->arena, (size_t)s->skin_count, sizeof *thickness);
    for (int32_t v = 0; thickness != NULL && v < s->skin_count; v++)
        thickness[v] = sup_v3_distance(sup_v3_load(s->rest + 4 * (size_t)s->node[v]),
                                       sup_v3_load(s->rest + 4 * (size_t)s->node[s->skin_count + v])) +
                       (double)view->detect.edge[0];
    return thickness;
}

/* Solids of the first instance, with their meshes; the other instances share these. */
static sup_result create_solids(sup_crowd *crowd, sup_error *error)
{
    sup_crowd_colliders *c = &crowd->colliders;
    size_t count = (size_t)c->count, all = (size_t)crowd->count * count;
    for (size_t i = 0; i < count; i++) {
        sup_gpu_collider *to = &c->solids[i];
        *to = (sup_gpu_collider){
            .solid = c->list->solids[i], .transform = c->list->transform[i], .node = c->list->node[i]};
        c->follow = c->follow || to->node >= 0;
        if (to->solid.shape != SUP_COLLIDER_MESH) continue;
        to->solid.mesh = upload_mesh(crowd, c->list->solids[i].mesh, error);
        if (to->solid.mesh == NULL) return error != NULL ? error->result : SUP_ERROR_MEMORY;
    }
    for (size_t k = 0; k < all; k++) {
        c->solids[k] = c->solids[k % count];
        c->transform[k] = c->list->transform[k % count];
        c->node_world[k] = sup_affine_identity();
    }
    return SUP_OK;
}

sup_result sup_crowd_open_colliders(sup_crowd *crowd, const sup_projective_view *view, sup_error *error)
{
    sup_crowd_colliders *c = &crowd->colliders;
    size_t all = (size_t)crowd->count * (size_t)c->count, skin = (size_t)crowd->system.skin_count;
    if (c->count == 0) return SUP_OK;
    sup_affine **maps[] = {&c->transform, &c->node_world, &c->from, &c->to};
    for (int32_t i = 0; i < SUP_COUNT(maps); i++) {
        *maps[i] = sup_arena_alloc(&crowd->arena, all, sizeof(sup_affine));
        if (*maps[i] == NULL) return sup_fail_memory(error, "the crowd's colliders");
    }
    c->solids = sup_arena_alloc(&crowd->arena, all, sizeof(sup_gpu_collider));
    double *thickness = compute_thickness(crowd, view);
    if (c->solids == NULL || thickness == NULL) return sup_fail_memory(error, "the crowd's colliders");
    sup_result result = create_solids(crowd, error);
    if (result != SUP_OK) return result;
    sup_gpu_colliders *to = &c->device;
    *to = (sup_gpu_colliders){.count = c->count,
                              .gap = SUP_COLLIDER_GAP * view->detect.edge[0],
                              .release = SUP_COLLIDER_RELEASE * view->detect.edge[0]};
    to->thickness = sup_crowd_upload(crowd, thickness, skin, sizeof *thickness, error);
    if (to->thickness != NULL) to->solids = sup_crowd_upload(crowd, c->solids, all, sizeof(sup_gpu_collider), error);
    if (to->solids != NULL) to->followed = sup_crowd_alloc(crowd, all, sizeof(sup_affine), error);
    if (to->followed != NULL)
        crowd->state.touched = sup_crowd_alloc(crowd, (size_t)crowd->count * skin, sizeof(int32_t), error);
    return crowd->state.touched != NULL ? SUP_OK : error != NULL ? error->result : SUP_ERROR_MEMORY;
}

sup_gpu_colliders sup_crowd_colliders_range(const sup_crowd *crowd, int32_t begin)
{
    sup_gpu_colliders range = crowd->colliders.device;
    range.solids += (size_t)begin * (size_t)range.count;
    range.followed += (size_t)begin * (size_t)range.count;
    return range;
}

/* --- Frames --- */

static void update_transform(sup_crowd_colliders *c, size_t k)
{
    c->to[k] = c->solids[k].node >= 0 ? sup_affine_multiply(c->node_world[k], c->transform[k]) : c->transform[k];
}

void sup_crowd_pose_colliders(sup_crowd *crowd, int32_t begin, int32_t end, const sup_mat34 *nodes)
{
    sup_crowd_colliders *c = &crowd->colliders;
    for (size_t k = (size_t)begin * (size_t)c->count; k < (size_t)end * (size_t)c->count; k++) {
        if (c->solids[k].node >= 0) c->node_world[k] = sup_affine_from_float(nodes[c->solids[k].node]);
        update_transform(c, k);
    }
}

sup_result sup_crowd_move_collider(sup_crowd *crowd, int32_t instance, int32_t index, sup_mat34 transform,
                                   sup_error *error)
{
    int32_t begin, end;
    if (!sup_crowd_range(crowd, instance, &begin, &end, error)) return SUP_ERROR_ARGUMENT;
    sup_crowd_colliders *c = &crowd->colliders;
    if (index < 0 || index >= c->count || !sup_collider_transform_usable(transform))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "collider.transform", "",
                        "The index must be below %d, and the transform finite and invertible.", (int)c->count);
    for (int32_t i = begin; i < end; i++) {
        size_t k = (size_t)i * (size_t)c->count + (size_t)index;
        c->transform[k] = sup_affine_from_float(transform);
        update_transform(c, k);
    }
    return SUP_OK;
}

static bool moved(const sup_crowd_colliders *c, size_t first, size_t count)
{
    return count > 0 && memcmp(c->from + first, c->to + first, count * sizeof *c->to) != 0;
}

void sup_crowd_wake_moved(sup_crowd *crowd)
{
    const sup_crowd_colliders *c = &crowd->colliders;
    size_t count = (size_t)c->count;
    for (int32_t i = 0; count > 0 && i < crowd->count; i++) {
        if (!moved(c, (size_t)i * count, count)) continue;
        crowd->commands[i].version++;
        crowd->commands_changed = true;
    }
}

void sup_crowd_end_collider_frame(sup_crowd *crowd, int32_t begin, int32_t end)
{
    sup_crowd_colliders *c = &crowd->colliders;
    size_t count = (size_t)c->count, first = (size_t)begin * count, all = (size_t)(end - begin) * count;
    if (!moved(c, first, all)) return;
    memcpy(c->from + first, c->to + first, all * sizeof *c->to);
    c->at_rest = false; /* the new transforms must be sent */
}

int sup_crowd_send_solids(sup_crowd *crowd, double t0, double t1, void *stream)
{
    sup_crowd_colliders *c = &crowd->colliders;
    size_t all = (size_t)crowd->count * (size_t)c->count;
    bool at_rest = !moved(c, 0, all);
    if (all == 0 || (at_rest && c->at_rest)) return 0;
    for (size_t k = 0; k < all; k++) {
        sup_gpu_collider *to = &c->solids[k];
        to->transform = c->transform[k];
        to->solid.previous = sup_affine_between(c->from[k], c->to[k], t0);
        to->solid.world = sup_affine_between(c->from[k], c->to[k], t1);
        if (!sup_collider_invert(&to->solid, &to->space)) to->space.scale = 0.0;
    }
    c->at_rest = at_rest;
    return sup_cuda_copy_async(c->device.solids, c->solids, all * sizeof *c->solids, stream);
}
