/* close_skin.c - skin that lies against itself and goes with one joint: eyelids, lips, nails, toes.
 *
 * Beyond the thesis, which says nothing of it. Two layers of skin that touch at rest cross as soon as the flesh below
 * them bends by a hundredth of an edge, and no contact of the simulated skin, which is coarser, can tell them apart.
 * Where both go with the same joint nothing is lost by carrying them by it: they are handled as a region painted rigid,
 * with the same smooth border. Layers of different joints (thighs, an arm on the chest) are left to contact. */
#include "methods/projective/close_skin.h"

#include "geometry/adjacency.h"
#include "geometry/bvh.h"

static const float one_joint = 0.9f;  /* weight from which on a vertex goes with one joint, */
static const float some_joint = 0.5f; /* and up to which it is not carried by it */

enum {
    APART = 6,  /* edges along the skin from where on two places are two layers */
    WHOLE = 2,  /* simulated edges from close skin that are carried as it is: the shown skin sees that far, */
    BORDER = 4, /* and where its border ends */
    FAR = BORDER + 1
};

typedef struct close_search {
    const sup_simulated_surface *surface;
    int32_t *joint;              /* [middle_count] that a vertex goes with, -1 for several */
    int32_t *first, *neighbours; /* of the middle mesh */
    int32_t *seen;               /* [middle_count] last vertex whose neighbourhood it was in */
    int32_t *queue;              /* [middle_count] */
    unsigned char *close;        /* [middle_count] */
    int32_t vertex;              /* the one that is looked at */
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

/* Another layer that goes with the same joint. */
static bool is_other_layer(void *user, int32_t triangle)
{
    const close_search *c = user;
    for (int32_t k = 0; k < 3; k++) {
        int32_t corner = c->surface->middle_triangles[3 * (size_t)triangle + (size_t)k];
        if (c->joint[corner] != c->joint[c->vertex] || c->seen[corner] == c->vertex) return false;
    }
    return true;
}

static void find_close(close_search *c, const sup_bvh *tree)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++) {
        if (c->joint[v] < 0) continue;
        c->vertex = v;
        double reach = walk_around(c, v);
        sup_bvh_nearest nearest =
            sup_bvh_closest_of(tree, sup_v3_load(s->middle_positions + 3 * (size_t)v), reach, is_other_layer, c);
        if (nearest.triangle < 0) continue;
        c->close[v] = 1;
        for (int32_t k = 0; k < 3; k++)
            c->close[s->middle_triangles[3 * (size_t)nearest.triangle + (size_t)k]] = 1;
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
static void bring_to_coarse(const close_search *c, int32_t *distance, int32_t *from, int32_t *joint)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++)
        distance[v] = INT32_MAX;
    for (int32_t v = 0; v < s->coarse_count; v++) {
        joint[v] = -1;
        distance[s->coarse_middle[v]] = 0;
        from[s->coarse_middle[v]] = v;
    }
    spread(c->first, c->neighbours, s->middle_count, INT32_MAX - 1, distance, from, c->queue);
    for (int32_t v = 0; v < s->middle_count; v++)
        if (c->close[v] && distance[v] != INT32_MAX) joint[from[v]] = c->joint[v];
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
                                float *share, sup_error *error)
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
    bool room =
        c.joint != NULL && c.seen != NULL && c.queue != NULL && c.close != NULL && joint != NULL && from != NULL;
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
        bring_to_coarse(&c, c.seen, from, joint);
        result = share_out(context, &arena, rig, surface, joint, share, error);
        sup_bvh_free(&tree);
    }
    sup_arena_destroy(&arena);
    return result;
}
