/* collide_points.c - see collide_points.h. */
#define SUP_COLLIDER_QUERY static
#include "geometry/collide_query.h"

#include <math.h>

enum { GRAIN_VERTICES = 256 };

static bool mesh_inside(const sup_bvh *mesh, sup_vec3d point)
{
    return sup_bvh_inside(mesh, point);
}

static sup_bvh_nearest mesh_closest(const sup_bvh *mesh, sup_vec3d point, double limit)
{
    return sup_bvh_closest(mesh, point, limit);
}

bool sup_collider_invert(const sup_posed_collider *collider, sup_collider_space *space)
{
    if (!sup_affine_inverse(collider->world, &space->inverse)) return false;
    space->scale = cbrt(fabs(sup_affine_determinant(space->inverse)));
    return true;
}

bool sup_collider_find_nearest(const sup_posed_collider *collider, sup_vec3d point, double limit,
                               sup_collider_query *query)
{
    sup_collider_space space;
    return sup_collider_invert(collider, &space) && query_collider(collider, &space, point, limit, query);
}

/* --- Contacts --- */

/* The state: the list of colliders that it belongs to; then the collider of each point; then the contacts of each
 * task. */
typedef struct state_head {
    int32_t collider_count;
    uint32_t generation;
} state_head;

typedef struct contact_task {
    const sup_point_contact_input *input;
    int32_t *current; /* [point_count] collider in contact, -1 for none */
    int32_t *count;   /* of each task */
    sup_point_contact *contacts;
} contact_task;

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

size_t sup_point_contact_state_size(int32_t point_count)
{
    size_t n = (size_t)point_count;
    return 64 + round_up(n * sizeof(int32_t)) + round_up((n / GRAIN_VERTICES + 1) * sizeof(int32_t));
}

static int32_t *state_current(void *state)
{
    return (int32_t *)(void *)((unsigned char *)state + 64);
}

void sup_point_contact_reset(int32_t point_count, void *state)
{
    *(state_head *)state = (state_head){0};
    for (int32_t v = 0; v < point_count; v++)
        state_current(state)[v] = -1;
}

static sup_point_contact make_contact(int32_t v, int32_t collider, const sup_collider_query *query)
{
    sup_point_contact contact = {.vertex = v, .collider = collider, .height = (float)query->height};
    sup_v3_store(contact.point, query->point);
    sup_v3_store(contact.normal, query->normal);
    sup_v3_store(contact.motion, query->motion);
    return contact;
}

static void find_contacts(void *data, int32_t begin, int32_t end, int32_t worker)
{
    contact_task *work = data;
    const sup_point_contact_input *in = work->input;
    sup_collider_query deepest[GRAIN_VERTICES];
    int32_t which[GRAIN_VERTICES], count = 0;
    SUP_UNUSED(worker);
    for (int32_t k = 0; k < GRAIN_VERTICES; k++) {
        which[k] = -1;
        deepest[k].height = INFINITY;
    }
    for (int32_t i = 0; i < in->collider_count; i++) {
        sup_collider_space space;
        if (!sup_collider_invert(&in->colliders[i], &space)) continue;
        for (int32_t v = begin; v < end; v++) {
            sup_vec3d p = sup_v3_load(in->points + (size_t)v * (size_t)in->stride);
            double limit = contact_limit(in->gap, in->release, work->current[v] == i);
            sup_collider_query query;
            if (!query_collider(&in->colliders[i], &space, p, limit, &query)) continue;
            if (!(query.height < deepest[v - begin].height)) continue;
            which[v - begin] = i;
            deepest[v - begin] = query;
        }
    }
    for (int32_t v = begin; v < end; v++) {
        int32_t i = work->current[v] = which[v - begin];
        if (i >= 0) work->contacts[begin + count++] = make_contact(v, i, &deepest[v - begin]);
    }
    work->count[begin / GRAIN_VERTICES] = count;
}

int32_t sup_point_contact_find(const sup_context *context, const sup_point_contact_input *input, void *state,
                               sup_point_contact *contacts)
{
    int32_t n = input->point_count, total = 0;
    state_head *head = state;
    if (head->collider_count != input->collider_count || head->generation != input->generation)
        sup_point_contact_reset(n, state);
    *head = (state_head){input->collider_count, input->generation};
    if (input->collider_count == 0) return 0;
    int32_t *current = state_current(state);
    int32_t *count = (int32_t *)(void *)((unsigned char *)current + round_up((size_t)n * sizeof *current));
    contact_task work = {input, current, count, contacts};
    sup_parallel(context, n, GRAIN_VERTICES, find_contacts, &work);
    for (int32_t begin = 0; begin < n; begin += GRAIN_VERTICES) { /* makes the list contiguous */
        int32_t here = count[begin / GRAIN_VERTICES];
        if (total != begin) memmove(contacts + total, contacts + begin, (size_t)here * sizeof *contacts);
        total += here;
    }
    return total;
}
