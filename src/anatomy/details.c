/* details.c - moves the template's organs into a person with the warp.
 *
 * Based on: [komaritzan2022] section 4.2.4, transferring original anatomical data: bones follow the skeleton
 * surface, muscles follow the skeleton and muscle surfaces that enclose them. */
#include "anatomy/details.h"

#include "anatomy/warp.h"
#include "geometry/bvh.h"
#include "geometry/winding.h"

struct sup_anatomy_warp {
    sup_context context;
    sup_arena arena;
    sup_warp *bone, *muscle; /* NULL if the template has no such organs */
    int32_t *bone_centre;    /* vertices of the skeleton surface */
    int32_t *muscle_centre;  /* vertices of the skeleton surface, or vertex_count + of the muscle surface */
    int32_t bone_count, muscle_count;
};

static const double below_skin = 0.001; /* metres */
enum { BONE_CENTRES = 5000, MUSCLE_CENTRES = 7000, PUSHES = 4 };

static bool has_organs(const sup_anatomy *anatomy, bool muscles)
{
    for (int32_t p = 0; p < anatomy->organ_count; p++)
        if ((anatomy->organ_is_muscle[p] != 0) == muscles && anatomy->organ_vertex[p + 1] > anatomy->organ_vertex[p])
            return true;
    return false;
}

static sup_result make_warp(sup_anatomy_warp *made, int32_t point_count, const double *points, int32_t requested,
                            int32_t **chosen, int32_t *count, sup_warp **warp, sup_error *error)
{
    size_t capacity = (size_t)(requested < point_count ? requested : point_count);
    double *centres = sup_arena_alloc(&made->arena, 3 * capacity + 1, sizeof(double));
    double *distances = sup_arena_alloc(&made->arena, (size_t)point_count + 1, sizeof(double));
    *chosen = sup_arena_alloc(&made->arena, capacity + 1, sizeof(int32_t));
    if (centres == NULL || distances == NULL || *chosen == NULL) return sup_fail_memory(error, "the warp's centres");
    *count = sup_warp_sample(point_count, points, (int32_t)capacity, *chosen, distances);
    for (int32_t i = 0; i < *count; i++)
        sup_point_set(centres, i, sup_point(points, (*chosen)[i]));
    return sup_warp_create(&made->context, *count, centres, warp, error);
}

sup_result sup_anatomy_warp_create(const sup_context *context, const sup_anatomy *anatomy, int32_t bone_centres,
                                   int32_t muscle_centres, sup_anatomy_warp **warp, sup_error *error)
{
    if (anatomy == NULL || warp == NULL || bone_centres < 0 || muscle_centres < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.warp.argument", "",
                        "sup_anatomy_warp_create needs a template, a pointer to the warp and counts of at least 0.");
    sup_context resolved = sup_context_resolve(context);
    sup_anatomy_warp *made = sup_alloc_zero(&resolved.allocator, sizeof *made);
    if (made == NULL) return sup_fail_memory(error, "a warp");
    made->context = resolved;
    made->arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)anatomy->vertex_count;
    double *both = sup_arena_alloc(&made->arena, 6 * n, sizeof(double));
    sup_result result = both != NULL ? SUP_OK : sup_fail_memory(error, "a warp");
    if (both != NULL) {
        memcpy(both, anatomy->bone, 3 * n * sizeof(double));
        memcpy(both + 3 * n, anatomy->muscle, 3 * n * sizeof(double));
    }
    if (result == SUP_OK && has_organs(anatomy, false))
        result = make_warp(made, anatomy->vertex_count, anatomy->bone, bone_centres > 0 ? bone_centres : BONE_CENTRES,
                           &made->bone_centre, &made->bone_count, &made->bone, error);
    if (result == SUP_OK && has_organs(anatomy, true))
        result = make_warp(made, 2 * anatomy->vertex_count, both, muscle_centres > 0 ? muscle_centres : MUSCLE_CENTRES,
                           &made->muscle_centre, &made->muscle_count, &made->muscle, error);
    if (result != SUP_OK)
        sup_anatomy_warp_destroy(made);
    else
        *warp = made;
    return result;
}

void sup_anatomy_warp_destroy(sup_anatomy_warp *warp)
{
    if (warp == NULL) return;
    sup_allocator allocator = warp->context.allocator;
    sup_warp_destroy(warp->bone);
    sup_warp_destroy(warp->muscle);
    sup_arena_destroy(&warp->arena);
    sup_free(&allocator, warp, sizeof *warp);
}

/* Positions of the centres: on the bone surface for indices below vertex_count, else on the muscle surface. */
static sup_vec3d surface_point(const sup_anatomy *layers, int32_t i)
{
    return i < layers->vertex_count ? sup_point(layers->bone, i) : sup_point(layers->muscle, i - layers->vertex_count);
}

static sup_result warp_organs(sup_warp *warp, int32_t centre_count, const int32_t *centres, bool muscles,
                              const sup_anatomy *anatomy, sup_anatomy *body, sup_arena *arena, sup_error *error)
{
    double *moves = sup_arena_alloc(arena, 3 * (size_t)centre_count + 1, sizeof(double));
    double *points = sup_arena_alloc(arena, 3 * (size_t)anatomy->detail_vertex_count + 1, sizeof(double));
    int32_t count = 0;
    if (moves == NULL || points == NULL) return sup_fail_memory(error, "a person's bones and muscles");
    for (int32_t i = 0; i < centre_count; i++)
        sup_point_set(moves, i, sup_v3_sub(surface_point(body, centres[i]), surface_point(anatomy, centres[i])));
    sup_result result = sup_warp_set(warp, moves, error);
    if (result != SUP_OK) return result;
    for (int32_t p = 0; p < anatomy->organ_count; p++)
        for (int32_t v = anatomy->organ_vertex[p]; v < anatomy->organ_vertex[p + 1]; v++)
            if ((anatomy->organ_is_muscle[p] != 0) == muscles)
                sup_point_set(points, count++, sup_point(anatomy->detail, v));
    sup_warp_apply(warp, count, points);
    count = 0;
    for (int32_t p = 0; p < anatomy->organ_count; p++)
        for (int32_t v = anatomy->organ_vertex[p]; v < anatomy->organ_vertex[p + 1]; v++)
            if ((anatomy->organ_is_muscle[p] != 0) == muscles)
                sup_point_set(body->detail, v, sup_point(points, count++));
    return SUP_OK;
}

sup_result sup_details_warp(sup_anatomy_warp *warp, const sup_anatomy *anatomy, sup_anatomy *body, sup_error *error)
{
    sup_arena arena = sup_arena_create(&warp->context.allocator);
    sup_result result = SUP_OK;
    if (warp->bone != NULL)
        result = warp_organs(warp->bone, warp->bone_count, warp->bone_centre, false, anatomy, body, &arena, error);
    if (result == SUP_OK && warp->muscle != NULL)
        result = warp_organs(warp->muscle, warp->muscle_count, warp->muscle_centre, true, anatomy, body, &arena, error);
    sup_arena_destroy(&arena);
    return result;
}

typedef struct push_work {
    sup_anatomy *body;
    sup_bvh tree;
    sup_winding winding;
    unsigned char *near_skin; /* [detail_vertex_count] not yet known to be deep enough */
} push_work;

static void push_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    push_work *w = user;
    const sup_anatomy *a = w->body;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        if (!w->near_skin[v]) continue;
        sup_vec3d p = sup_point(a->detail, v);
        sup_bvh_nearest near = sup_bvh_closest(&w->tree, p, INFINITY);
        bool inside = sup_winding_number(&w->winding, p) >= 0.5;
        w->near_skin[v] = near.triangle >= 0 && !(inside && near.distance >= 0.999 * below_skin);
        if (!w->near_skin[v]) continue;
        const int32_t *c = a->triangles + 3 * (size_t)near.triangle;
        sup_vec3d o = sup_point(a->skin, c[0]);
        sup_vec3d n = sup_v3_cross(sup_v3_sub(sup_point(a->skin, c[1]), o), sup_v3_sub(sup_point(a->skin, c[2]), o));
        n = sup_v3_unit_or(n, sup_v3(0.0, 0.0, 0.0));
        sup_point_set(w->body->detail, v, sup_v3_madd(near.point, -below_skin, n));
    }
}

sup_result sup_details_push_in(const sup_context *context, bool muscles_only, sup_anatomy *body, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = 3 * (size_t)body->vertex_count, details = (size_t)body->detail_vertex_count;
    float *positions = sup_arena_alloc(&arena, n, sizeof *positions);
    push_work work = {.body = body};
    work.near_skin = sup_arena_alloc(&arena, details + 1, 1);
    sup_result result =
        positions != NULL && work.near_skin != NULL ? SUP_OK : sup_fail_memory(error, "a person's bones and muscles");
    for (size_t i = 0; i < n && result == SUP_OK; i++)
        positions[i] = (float)body->skin[i];
    if (result == SUP_OK)
        result = sup_bvh_create(context, positions, body->triangle_count, body->triangles, &work.tree, error);
    if (result == SUP_OK) {
        result = sup_winding_create(&resolved.allocator, positions, body->triangle_count, body->triangles,
                                    &work.winding, error);
        if (result == SUP_OK) {
            for (int32_t p = 0; p < body->organ_count; p++)
                for (int32_t v = body->organ_vertex[p]; v < body->organ_vertex[p + 1]; v++)
                    work.near_skin[v] = !muscles_only || body->organ_is_muscle[p];
            for (int pass = 0; pass < PUSHES; pass++)
                sup_parallel(&resolved, body->detail_vertex_count, 256, push_range, &work);
            sup_winding_destroy(&work.winding);
        }
        sup_bvh_free(&work.tree);
    }
    sup_arena_destroy(&arena);
    return result;
}

sup_result sup_details_place(const sup_context *context, const sup_bone_groups *groups, sup_anatomy *body,
                             sup_error *error)
{
    const sup_anatomy *from = groups->anatomy;
    for (int32_t p = 0; p < from->organ_count; p++) {
        if (!sup_bone_groups_has(groups, groups->organ[p])) continue;
        for (int32_t v = from->organ_vertex[p]; v < from->organ_vertex[p + 1]; v++)
            sup_point_set(body->detail, v, sup_bone_groups_point(groups, groups->organ[p], sup_point(from->detail, v)));
    }
    return sup_details_push_in(context, false, body, error);
}
