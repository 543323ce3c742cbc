/* rest_contact.c - skin that lies against other skin in the bind pose and moves with it: eyelids, lips, nails, clothes
 * on a body, a neck in a collar.
 *
 * Not in the thesis. Two layers of skin that touch at rest cross as soon as the tissue below them bends by a
 * hundredth of an edge, and contacts of the simulated mesh, which is coarser, cannot resolve the two layers. Where
 * both have similar skin weights, linear blending moves them together: they are treated as a region painted rigid,
 * with the same smooth border; so is skin that lies against eyes and teeth, which follow it. Layers with different
 * weights (thighs, an arm on the chest) are left to contact. */
#include "contact/rest_contact.h"

#include "geometry/adjacency.h"
#include "geometry/bvh.h"

static const float SINGLE_WEIGHT = 0.9f;   /* joint weight from which on a vertex follows one joint */
static const float SIMILAR = 0.75f;        /* common skin weight from which on two layers move together */
static const float ATTACHED_WEIGHT = 0.9f; /* common weight with a rest contact from which on skin is attached, */
static const float RELEASED_WEIGHT = 0.5f; /* and up to which it is not */
static const double RIGID_REACH = 2.0;     /* edges of a rigid component: distance of skin that lies against it */

enum {
    LAYER_DISTANCE = 6, /* edges along the skin from which on two positions are on different layers */
    FULL_RINGS = 2,     /* simulated edges around a rest contact with the full weight: upsampling reaches that far; */
    BLEND_RINGS = 4,    /* and where the blend ends */
    BEYOND = BLEND_RINGS + 1,
    SEAM_FULL_RINGS = 1, /* the same around seams */
    SEAM_BLEND_RINGS = 3
};

/* Flags: rest contact with skin that moves alike; a seam, where components cross each other; and those of
 * rest_contact.h. */
enum {
    SAME_MOTION = 4,
    SEAM = 8,
    OTHER_MOTION = SUP_REST_CONTACT_OTHER_MOTION,
    COMPONENTS = SUP_REST_CONTACT_COMPONENTS
};

typedef struct layer_search {
    const sup_rig *rig;
    const sup_simulated_surface *surface;
    int32_t *joint;              /* [middle_count] that a vertex follows, -1 for several */
    int32_t *first, *neighbours; /* of the middle mesh */
    int32_t *seen;               /* [middle_count] last vertex whose neighbourhood it was in */
    int32_t *queue;              /* [middle_count] */
    unsigned char *contact;      /* [middle_count] flags */
    int32_t vertex;              /* current vertex of the query */
    bool any_weights;            /* the query accepts layers of all weights */
    int32_t rigid_joint;         /* current rigid component: its joint */
} layer_search;

/* Sum over the joints of the smaller weight of two render vertices: 1 if linear blending moves them alike. */
static float common_weight(const sup_rig *rig, int32_t a, int32_t b)
{
    float sum = 0.0f;
    for (int32_t i = rig->influence_first[a]; i < rig->influence_first[a + 1]; i++)
        for (int32_t k = rig->influence_first[b]; k < rig->influence_first[b + 1]; k++)
            if (rig->influence_joint[i] == rig->influence_joint[k])
                sum += fminf(rig->influence_weight[i], rig->influence_weight[k]);
    return sum;
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
            if (rig->influence_weight[i] >= SINGLE_WEIGHT) joint[v] = rig->influence_joint[i];
    }
}

/* Marks vertices nearer than LAYER_DISTANCE edges along the skin. Returns the length of the longest edge at v. */
static double mark_neighbourhood(layer_search *c, int32_t v)
{
    const float *p = c->surface->middle_positions;
    int32_t count = 1, ring = 0, ring_end = 1;
    double longest = 0.0;
    c->seen[v] = v;
    c->queue[0] = v;
    for (int32_t i = 0; i < count && ring < LAYER_DISTANCE; i++) {
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

static int32_t component_of(const layer_search *c, int32_t middle)
{
    return c->rig->skin_component[c->surface->fine_source[c->surface->middle_fine[middle]]];
}

/* Whether linear blending moves two layers together. In one component both must follow one joint: skin with similar
 * weights there may be a crease, which tissue shapes better. */
static bool moves_with(const layer_search *c, int32_t a, int32_t b)
{
    const sup_simulated_surface *s = c->surface;
    if (component_of(c, a) == component_of(c, b)) return c->joint[a] >= 0 && c->joint[a] == c->joint[b];
    return common_weight(c->rig, rig_vertex(c->rig, s, s->middle_fine[a]), rig_vertex(c->rig, s, s->middle_fine[b])) >=
           SIMILAR;
}

/* Another layer that moves with the vertex, or any other layer. */
static bool is_other_layer(void *user, int32_t triangle)
{
    const layer_search *c = user;
    for (int32_t k = 0; k < 3; k++) {
        int32_t corner = c->surface->middle_triangles[3 * (size_t)triangle + (size_t)k];
        if (c->seen[corner] == c->vertex || (!c->any_weights && !moves_with(c, c->vertex, corner))) return false;
    }
    return true;
}

static void find_layers(layer_search *c, const sup_bvh *tree)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++) {
        c->vertex = v;
        double reach = mark_neighbourhood(c, v);
        sup_vec3d position = sup_v3_load(s->middle_positions + 3 * (size_t)v);
        c->any_weights = false;
        sup_bvh_nearest nearest = sup_bvh_closest_of(tree, position, reach, is_other_layer, c);
        if (nearest.triangle < 0) {
            c->any_weights = true;
            nearest = sup_bvh_closest_of(tree, position, reach, is_other_layer, c);
        }
        if (nearest.triangle < 0) continue;
        int32_t other = s->middle_triangles[3 * (size_t)nearest.triangle];
        unsigned char flag = c->any_weights                                 ? OTHER_MOTION
                             : component_of(c, v) == component_of(c, other) ? SAME_MOTION
                                                                            : SAME_MOTION | COMPONENTS;
        c->contact[v] |= flag;
        for (int32_t k = 0; k < 3; k++)
            c->contact[s->middle_triangles[3 * (size_t)nearest.triangle + (size_t)k]] |= flag;
    }
}

/* A ray along an edge hits another component than that of the current vertex. */
static bool is_other_component(void *user, const sup_bvh_hit *hit)
{
    layer_search *c = user;
    const int32_t *t = c->surface->middle_triangles + 3 * (size_t)hit->triangle;
    if (component_of(c, t[0]) == component_of(c, c->vertex)) return false;
    for (int32_t k = 0; k < 3; k++)
        c->contact[t[k]] |= SEAM;
    return true;
}

/* Marks the edges and triangles of different components that cross in the bind pose: an arm that ends inside a trunk.
 * Simulated separately, the two would cross elsewhere. */
static void find_seams(layer_search *c, const sup_bvh *tree)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++)
        for (int32_t e = c->first[v]; e < c->first[v + 1]; e++) {
            if (c->neighbours[e] < v) continue;
            c->vertex = v;
            sup_vec3d from = sup_v3_load(s->middle_positions + 3 * (size_t)v),
                      to = sup_v3_load(s->middle_positions + 3 * (size_t)c->neighbours[e]);
            sup_bvh_ray ray = {from, sup_v3_sub(to, from), 0.0, 1.0, is_other_component, c};
            if (!sup_bvh_ray_any(tree, &ray)) continue;
            c->contact[v] |= SEAM;
            c->contact[c->neighbours[e]] |= SEAM;
        }
}

/* Components that follow the skin and, as a whole, one joint, such as eyes and teeth: joint[component_count], -1 for
 * all others. */
static void find_rigid_components(const sup_rig *rig, const sup_simulated_surface *s, int32_t *joint)
{
    enum { UNSEEN = -2 };
    for (int32_t c = 0; c < rig->component_count; c++)
        joint[c] = UNSEEN;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        int32_t c = rig->skin_component[v], at = rig->skin_to_vertex[v], i = rig->influence_first[at];
        if (c < 0) continue;
        int32_t own = rig->influence_weight[i] >= SINGLE_WEIGHT ? rig->influence_joint[i] : -1;
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

/* A triangle that follows the joint of the current rigid component. */
static bool is_same_joint(void *user, int32_t triangle)
{
    const layer_search *c = user;
    const int32_t *t = c->surface->middle_triangles + 3 * (size_t)triangle;
    return c->joint[t[0]] == c->rigid_joint && c->joint[t[1]] == c->rigid_joint && c->joint[t[2]] == c->rigid_joint;
}

/* Marks the skin that lies against rigid components. */
static void find_skin_near_rigid(layer_search *c, const sup_rig *rig, const sup_bvh *tree, const int32_t *rigid_joint)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *corner = rig->skin_triangles + 3 * (size_t)t;
        int32_t component = rig->skin_component[corner[0]];
        if (component < 0 || rigid_joint[component] < 0) continue;
        c->rigid_joint = rigid_joint[component];
        double reach = RIGID_REACH * longest_side(rig->skin_positions, corner);
        for (int32_t k = 0; k < 3; k++) {
            sup_bvh_nearest nearest = sup_bvh_closest_of(tree, sup_v3_load(rig->skin_positions + 3 * (size_t)corner[k]),
                                                         reach, is_same_joint, c);
            for (int32_t e = 0; e < 3 && nearest.triangle >= 0; e++)
                c->contact[s->middle_triangles[3 * (size_t)nearest.triangle + (size_t)e]] |= SAME_MOTION;
        }
    }
}

/* Breadth-first from vertices at distance 0; from[v] is copied from the seed that reached v. */
static void spread(const int32_t *first, const int32_t *neighbours, int32_t count, int32_t maximum, int32_t *distance,
                   int32_t *from, int32_t *queue)
{
    int32_t end = 0;
    for (int32_t v = 0; v < count; v++)
        if (distance[v] == 0) queue[end++] = v;
    for (int32_t i = 0; i < end; i++) {
        int32_t v = queue[i];
        for (int32_t k = first[v]; k < first[v + 1] && distance[v] < maximum; k++) {
            int32_t next = neighbours[k];
            if (distance[next] <= distance[v] + 1) continue;
            distance[next] = distance[v] + 1;
            from[next] = from[v];
            queue[end++] = next;
        }
    }
}

/* Neighbours along edges, allocated from `arena`. */
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
    bool allocated = *first != NULL && *neighbours != NULL;
    if (allocated) sup_adjacency_neighbours(&adjacency, *first, *neighbours);
    sup_adjacency_destroy(&adjacency);
    return allocated ? SUP_OK : sup_fail_memory(error, "rest contacts of the skin");
}

/* A render vertex in rest contact at each simulated vertex, nearest along the skin, -1 for none. Overwrites the
 * search's queue. */
static void map_to_coarse(const layer_search *c, int32_t *distance, int32_t *from, int32_t *contact,
                          unsigned char *flags)
{
    const sup_simulated_surface *s = c->surface;
    for (int32_t v = 0; v < s->middle_count; v++)
        distance[v] = INT32_MAX;
    for (int32_t v = 0; v < s->coarse_count; v++) {
        contact[v] = -1;
        flags[v] = 0;
        distance[s->coarse_middle[v]] = 0;
        from[s->coarse_middle[v]] = v;
    }
    spread(c->first, c->neighbours, s->middle_count, INT32_MAX - 1, distance, from, c->queue);
    for (int32_t v = 0; v < s->middle_count; v++) {
        if (distance[v] == INT32_MAX) continue;
        if (c->contact[v] & SAME_MOTION) contact[from[v]] = rig_vertex(c->rig, s, s->middle_fine[v]);
        flags[from[v]] |= c->contact[v] & (OTHER_MOTION | COMPONENTS | SEAM);
    }
}

/* Weights from simulated vertices at rest contacts outwards. */
static sup_result spread_weights(const sup_context *context, sup_arena *arena, const sup_rig *rig,
                                 const sup_simulated_surface *s, int32_t *contact, unsigned char *flags, float *weight,
                                 sup_error *error)
{
    int32_t *first = NULL, *neighbours = NULL;
    int32_t *distance = sup_arena_alloc(arena, 2 * (size_t)s->coarse_count, sizeof *distance);
    if (distance == NULL) return sup_fail_memory(error, "rest contacts of the skin");
    sup_result result = list_neighbours(context, arena, s->coarse_count, s->coarse_triangle_count, s->coarse_triangles,
                                        &first, &neighbours, error);
    if (result != SUP_OK) return result;
    for (int32_t v = 0; v < s->coarse_count; v++)
        distance[v] = contact[v] >= 0 ? 0 : BEYOND;
    spread(first, neighbours, s->coarse_count, BEYOND - 1, distance, contact, distance + s->coarse_count);
    for (int32_t v = 0; v < s->coarse_count; v++) {
        float near = distance[v] <= FULL_RINGS ? 1.0f : (float)(BEYOND - distance[v]) / (float)(BEYOND - FULL_RINGS);
        float own = contact[v] < 0 ? 0.0f : common_weight(rig, rig_vertex(rig, s, s->coarse_fine[v]), contact[v]);
        weight[v] = near * fmaxf(0.0f, fminf(1.0f, (own - RELEASED_WEIGHT) / (ATTACHED_WEIGHT - RELEASED_WEIGHT)));
    }
    for (int32_t v = 0; v < s->coarse_count; v++) {
        distance[v] = flags[v] & SEAM ? 0 : SEAM_BLEND_RINGS + 1;
        flags[v] &= (unsigned char)~SEAM;
    }
    spread(first, neighbours, s->coarse_count, SEAM_BLEND_RINGS, distance, contact, distance + s->coarse_count);
    for (int32_t v = 0; v < s->coarse_count; v++) {
        if (distance[v] <= SEAM_BLEND_RINGS) flags[v] |= SUP_REST_CONTACT_SEAM;
        weight[v] = fmaxf(weight[v], fminf(1.0f, (float)(SEAM_BLEND_RINGS + 1 - distance[v]) /
                                                     (float)(SEAM_BLEND_RINGS + 1 - SEAM_FULL_RINGS)));
    }
    return SUP_OK;
}

sup_result sup_rest_contact_weights(const sup_context *context, const sup_rig *rig,
                                    const sup_simulated_surface *surface, float *weight, unsigned char *flags,
                                    sup_error *error)
{
    sup_arena arena = sup_arena_create(&context->allocator);
    size_t n = (size_t)surface->middle_count;
    layer_search c = {.rig = rig,
                      .surface = surface,
                      .joint = sup_arena_alloc(&arena, n, sizeof(int32_t)),
                      .seen = sup_arena_alloc(&arena, n, sizeof(int32_t)),
                      .queue = sup_arena_alloc(&arena, n, sizeof(int32_t)),
                      .contact = sup_arena_alloc(&arena, n, 1)};
    int32_t *contact = sup_arena_alloc(&arena, (size_t)surface->coarse_count, sizeof *contact);
    int32_t *from = sup_arena_alloc(&arena, n, sizeof *from);
    int32_t *rigid_joint = sup_arena_alloc(&arena, (size_t)rig->component_count, sizeof *rigid_joint);
    bool allocated = c.joint != NULL && c.seen != NULL && c.queue != NULL && c.contact != NULL && contact != NULL &&
                     from != NULL && rigid_joint != NULL;
    sup_bvh tree = {0};
    sup_result result = allocated
                            ? list_neighbours(context, &arena, surface->middle_count, surface->middle_triangle_count,
                                              surface->middle_triangles, &c.first, &c.neighbours, error)
                            : sup_fail_memory(error, "rest contacts of the skin");
    if (result == SUP_OK)
        result = sup_bvh_create(context, surface->middle_positions, surface->middle_triangle_count,
                                surface->middle_triangles, &tree, error);
    if (result == SUP_OK) {
        find_joints(rig, surface, c.joint);
        memset(c.seen, 0xff, n * sizeof *c.seen);
        find_layers(&c, &tree);
        find_seams(&c, &tree);
        find_rigid_components(rig, surface, rigid_joint);
        find_skin_near_rigid(&c, rig, &tree, rigid_joint);
        map_to_coarse(&c, c.seen, from, contact, flags);
        result = spread_weights(context, &arena, rig, surface, contact, flags, weight, error);
        sup_bvh_free(&tree);
    }
    sup_arena_destroy(&arena);
    return result;
}
