/* rest_contact.c - skin that lies against itself and goes with one joint: eyelids, lips, nails, toes.
 *
 * Beyond the thesis, which says nothing of it. Two layers of skin that touch at rest cross as soon as the flesh below
 * them bends by a hundredth of an edge, and no contact of the simulated skin, which is coarser, can tell them apart.
 * Where both go with the same joint nothing is lost by carrying them by it: they are handled as a region painted rigid,
 * with the same smooth border; so is skin that lies against eyes and teeth, which ride on it. Layers of different joints (thighs, an arm on the chest) are left to contact. */
#include "contact/rest_contact.h"

#include "geometry/adjacency.h"
#include "geometry/bvh.h"

static const float one_joint = 0.9f;   /* weight from which on a vertex goes with one joint, */
static const float some_joint = 0.5f;  /* and up to which it is not carried by it */
static const double rider_reach = 2.0; /* edges of an eye between it and skin that lies against it */

enum {
    APART = 6,  /* edges along the skin from where on two places are two layers */
    WHOLE = 2,  /* simulated edges from close skin that are carried as it is: the shown skin sees that far, */
    BORDER = 4, /* and where its border ends */
    FAR = BORDER + 1
};

enum { CARRIED = 1, BETWEEN = 2 }; /* close skin that goes with one joint, and with several */

typedef struct close_search {
    const sup_simulated_surface *surface;
    int32_t *joint;              /* [middle_count] that a vertex goes with, -1 for several */
    int32_t *first, *neighbours; /* of the middle mesh */
    int32_t *seen;               /* [middle_count] last vertex whose neighbourhood it was in */
    int32_t *queue;              /* [middle_count] */
    unsigned char *close;        /* [middle_count] CARRIED, BETWEEN */
    int32_t vertex;              /* the one that is looked at */
    bool any;                    /* layers of all joints count */
    int32_t rider;               /* joint of the segment that is looked at */
} close_search;

static float weight_of(const sup_rig *rig, int32_t vertex, int32_t joint)
{
    for (int32_t i = rig->influence_first[vertex]; i < rig->influence_first[vertex + 1]; i++)
        if (rig->influence_joint[i] == joint) return rig->influence_weight[i];
    return 0.0f;
}

static int32_t rig_vertex(const sup_rig *rig, const sup_simulated_surface *s, int32_t fine)
{
    return rig->skin_to_vertex[s->fine_source[fine]];
}

static void find_joints(const sup_rig *rig, const sup_simulated_surface *s, int32_t *joint)
{
    for (int32_t v = 0; v < s->middle_count; v++) {
        int32_t at = rig_vertex(rig, s, s->middle_fine[v]);
        joint[v] = -1;
        for (int32_t i = rig->influence_first[at]; i < rig->influence_first[at + 1]; i++)
            if (rig->influence_weight[i] >= one_joint) joint[v] = rig->influence_joint[i];
    }
}

/* Marks what is nearer than APART edges along the skin. Returns the length of the longest edge at v. */
static double walk_around(close_search *c, int32_t v)
{
    const float *p = c->surface->middle_positions;
    int32_t count = 1, ring = 0, ring_end = 1;
    double longest = 0.0;
    c->seen[v] = v;
    c->queue[0] = v;
    for (int32_t i = 0; i < count && ring < APART; i++) {
        for (int32_t k = c->first[c->queue[i]]; k < c->first[c->queue[i] + 1]; k++) {
            int32_t next = c->neighbours[k];
            if (i == 0)
                longest =
                    fmax(longest, sup_v3_distance(sup_v3_load(p + 3 * (size_t)v), sup_v3_load(p + 3 * (size_t)next)));
            if (c->seen[next] == v) continue;
            c->seen[next] = v;
            c->queue[count++] = next;
        }
        if (i + 1 == ring_end) {
            ring++;
            ring_end = count;
        }
    }
    return longest;
}

/* Another layer: one that goes with the same joint, or any. */
static bool is_other_layer(void *user, int32_t triangle)
{
    const close_search *c = user;
    for (int32_t k = 0; k < 3; k++) {
        int32_t corner = c->surface->middle_triangles[3 * (size_t)triangle + (size_t)k];
        if (c->seen[corner] == c->vertex || (!c->any && c->joint[corner] != c->joint[c->vertex])) return false;
    }
    return true;
}

static void find_close(close_search *c, const sup_bvh *tree)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++) {
        c->vertex = v;
        double reach = walk_around(c, v);
        sup_vec3d place = sup_v3_load(s->middle_positions + 3 * (size_t)v);
        c->any = c->joint[v] < 0;
        sup_bvh_nearest nearest = sup_bvh_closest_of(tree, place, reach, is_other_layer, c);
        if (nearest.triangle < 0 && !c->any) {
            c->any = true;
            nearest = sup_bvh_closest_of(tree, place, reach, is_other_layer, c);
        }
        if (nearest.triangle < 0) continue;
        unsigned char how = c->any ? BETWEEN : CARRIED;
        c->close[v] |= how;
        for (int32_t k = 0; k < 3; k++)
            c->close[s->middle_triangles[3 * (size_t)nearest.triangle + (size_t)k]] |= how;
    }
}

/* Pieces that ride on the skin and go with one joint as a whole, eyes and teeth: joint[component_count], -1 for all
 * others. */
static void find_riders(const sup_rig *rig, const sup_simulated_surface *s, int32_t *joint)
{
    enum { UNSEEN = -2 };
    for (int32_t c = 0; c < rig->component_count; c++)
        joint[c] = UNSEEN;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        int32_t c = rig->skin_component[v], at = rig->skin_to_vertex[v], i = rig->influence_first[at];
        if (c < 0) continue;
        int32_t own = rig->influence_weight[i] >= one_joint ? rig->influence_joint[i] : -1;
        joint[c] = joint[c] == UNSEEN || joint[c] == own ? own : -1;
    }
    for (int32_t v = 0; v < s->fine_count; v++)
        if (rig->skin_component[s->fine_source[v]] >= 0) joint[rig->skin_component[s->fine_source[v]]] = -1;
}

static double longest_side(const float *positions, const int32_t *triangle)
{
    double longest = 0.0;
    for (int32_t k = 0; k < 3; k++)
        longest = fmax(longest, sup_v3_distance(sup_v3_load(positions + 3 * (size_t)triangle[k]),
                                                sup_v3_load(positions + 3 * (size_t)triangle[(k + 1) % 3])));
    return longest;
}

/* A triangle of the joint that is looked at. */
static bool is_same_joint(void *user, int32_t triangle)
{
    const close_search *c = user;
    const int32_t *t = c->surface->middle_triangles + 3 * (size_t)triangle;
    return c->joint[t[0]] == c->rider && c->joint[t[1]] == c->rider && c->joint[t[2]] == c->rider;
}

/* Marks the skin that lies against such segments. */
static void find_beside(close_search *c, const sup_rig *rig, const sup_bvh *tree, const int32_t *rider)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *corner = rig->skin_triangles + 3 * (size_t)t;
        int32_t component = rig->skin_component[corner[0]];
        if (component < 0 || rider[component] < 0) continue;
        c->rider = rider[component];
        double reach = rider_reach * longest_side(rig->skin_positions, corner);
        for (int32_t k = 0; k < 3; k++) {
            sup_bvh_nearest nearest = sup_bvh_closest_of(tree, sup_v3_load(rig->skin_positions + 3 * (size_t)corner[k]),
                                                         reach, is_same_joint, c);
            for (int32_t e = 0; e < 3 && nearest.triangle >= 0; e++)
                c->close[s->middle_triangles[3 * (size_t)nearest.triangle + (size_t)e]] |= CARRIED;
        }
    }
}

/* Breadth first from what has a distance of 0; `from` is where each vertex was reached from at the start. */
static void spread(const int32_t *first, const int32_t *neighbours, int32_t count, int32_t most, int32_t *distance,
                   int32_t *from, int32_t *queue)
{
    int32_t end = 0;
    for (int32_t v = 0; v < count; v++)
        if (distance[v] == 0) queue[end++] = v;
    for (int32_t i = 0; i < end; i++) {
        int32_t v = queue[i];
        for (int32_t k = first[v]; k < first[v + 1] && distance[v] < most; k++) {
            int32_t next = neighbours[k];
            if (distance[next] <= distance[v] + 1) continue;
            distance[next] = distance[v] + 1;
            from[next] = from[v];
            queue[end++] = next;
        }
    }
}

/* Neighbours along edges, in memory of `arena`. */
static sup_result list_neighbours(const sup_context *context, sup_arena *arena, int32_t vertex_count,
                                  int32_t triangle_count, const int32_t *triangles, int32_t **first,
                                  int32_t **neighbours, sup_error *error)
{
    sup_adjacency adjacency;
    sup_result result =
        sup_adjacency_create(&context->allocator, vertex_count, triangle_count, triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    *first = sup_arena_alloc(arena, (size_t)vertex_count + 1, sizeof **first);
    *neighbours = sup_arena_alloc(arena, 2 * (size_t)adjacency.edge_count, sizeof **neighbours);
    bool room = *first != NULL && *neighbours != NULL;
    if (room) sup_adjacency_neighbours(&adjacency, *first, *neighbours);
    sup_adjacency_destroy(&adjacency);
    return room ? SUP_OK : sup_fail_memory(error, "skin that lies against itself");
}

/* The joint of close skin at the simulated vertex nearest to it along the skin, -1 for none. Uses up the search's queue. */
static void bring_to_coarse(const close_search *c, int32_t *distance, int32_t *from, int32_t *joint,
                            unsigned char *between)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++)
        distance[v] = INT32_MAX;
    for (int32_t v = 0; v < s->coarse_count; v++) {
        joint[v] = -1;
        between[v] = 0;
        distance[s->coarse_middle[v]] = 0;
        from[s->coarse_middle[v]] = v;
    }
    spread(c->first, c->neighbours, s->middle_count, INT32_MAX - 1, distance, from, c->queue);
    for (int32_t v = 0; v < s->middle_count; v++) {
        if (distance[v] == INT32_MAX) continue;
        if (c->close[v] & CARRIED) joint[from[v]] = c->joint[v];
        if (c->close[v] & BETWEEN) between[from[v]] = 1;
    }
}

/* From simulated vertices at close skin outwards. */
static sup_result share_out(const sup_context *context, sup_arena *arena, const sup_rig *rig,
                            const sup_simulated_surface *s, int32_t *joint, float *share, sup_error *error)
{
    int32_t *first = NULL, *neighbours = NULL;
    int32_t *distance = sup_arena_alloc(arena, 2 * (size_t)s->coarse_count, sizeof *distance);
    if (distance == NULL) return sup_fail_memory(error, "skin that lies against itself");
    sup_result result = list_neighbours(context, arena, s->coarse_count, s->coarse_triangle_count, s->coarse_triangles,
                                        &first, &neighbours, error);
    if (result != SUP_OK) return result;
    for (int32_t v = 0; v < s->coarse_count; v++)
        distance[v] = joint[v] >= 0 ? 0 : FAR;
    spread(first, neighbours, s->coarse_count, FAR - 1, distance, joint, distance + s->coarse_count);
    for (int32_t v = 0; v < s->coarse_count; v++) {
        float near = distance[v] <= WHOLE ? 1.0f : (float)(FAR - distance[v]) / (float)(FAR - WHOLE);
        float weight = joint[v] < 0 ? 0.0f : weight_of(rig, rig_vertex(rig, s, s->coarse_fine[v]), joint[v]);
        share[v] = near * fmaxf(0.0f, fminf(1.0f, (weight - some_joint) / (one_joint - some_joint)));
    }
    return SUP_OK;
}

sup_result sup_close_skin_share(const sup_context *context, const sup_rig *rig, const sup_simulated_surface *surface,
                                float *share, unsigned char *between, sup_error *error)
{
    sup_arena arena = sup_arena_create(&context->allocator);
    size_t n = (size_t)surface->middle_count;
    close_search c = {.surface = surface,
                      .joint = sup_arena_alloc(&arena, n, sizeof(int32_t)),
                      .seen = sup_arena_alloc(&arena, n, sizeof(int32_t)),
                      .queue = sup_arena_alloc(&arena, n, sizeof(int32_t)),
                      .close = sup_arena_alloc(&arena, n, 1)};
    int32_t *joint = sup_arena_alloc(&arena, (size_t)surface->coarse_count, sizeof *joint);
    int32_t *from = sup_arena_alloc(&arena, n, sizeof *from);
    int32_t *rider = sup_arena_alloc(&arena, (size_t)rig->component_count, sizeof *rider);
    bool room = c.joint != NULL && c.seen != NULL && c.queue != NULL && c.close != NULL && joint != NULL &&
                from != NULL && rider != NULL;
    sup_bvh tree = {0};
    sup_result result = room ? list_neighbours(context, &arena, surface->middle_count, surface->middle_triangle_count,
                                               surface->middle_triangles, &c.first, &c.neighbours, error)
                             : sup_fail_memory(error, "skin that lies against itself");
    if (result == SUP_OK)
        result = sup_bvh_create(context, surface->middle_positions, surface->middle_triangle_count,
                                surface->middle_triangles, &tree, error);
    if (result == SUP_OK) {
        find_joints(rig, surface, c.joint);
        memset(c.seen, 0xff, n * sizeof *c.seen);
        find_close(&c, &tree);
        find_riders(rig, surface, rider);
        find_beside(&c, rig, &tree, rider);
        bring_to_coarse(&c, c.seen, from, joint, between);
        result = share_out(context, &arena, rig, surface, joint, share, error);
        sup_bvh_free(&tree);
    }
    sup_arena_destroy(&arena);
    return result;
}
