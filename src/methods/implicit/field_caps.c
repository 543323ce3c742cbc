/* field_caps.c - where a part of the skin is open, a point beyond the opening: there its field ends.
 *
 * Based on: [vaillant2013] section 4.1: a sample beyond each end of the bone, as far as the limb is thick there. Here it is
 * one for each opening of the part, which need not lie at an end of the bone: around hips, chests and palms they do not. */
#include "methods/implicit/field_build.h"

static const double FLATNESS = 0.3;  /* depth of the cap over a hole of the mesh, in radii of the hole */
static const double CLEARANCE = 0.7; /* most of the way to the skin on the other side */
static const double JOINT_REACH =
    0.6; /* a joint so near to the middle of an opening, in its radii, is the cap's centre */

typedef struct open_edge {
    int32_t a, b;
    bool hole; /* no triangle at all on the other side */
} open_edge;

typedef struct opening {
    sup_vec3d middle, area; /* area: half the sum of cross products, away from the part */
    double length, hole;    /* of its edges; of those that are holes */
} opening;

typedef struct capping {
    sup_fields_state *state;
    open_edge *edges; /* [triangle_count*3] */
    int32_t edge_count;
    int32_t *root;     /* [vertex_count] of the opening a vertex belongs to, while it is looked for */
    opening *openings; /* by root: [vertex_count] */
} capping;

static void list_edges(capping *c, int32_t part)
{
    const sup_fields_state *s = c->state;
    c->edge_count = 0;
    for (int32_t i = s->triangle_first[part]; i < s->triangle_first[part + 1]; i++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t half = 3 * s->triangle_list[i] + k, twin = s->adjacency.half_twin[half];
            if (twin == SUP_HALF_NON_MANIFOLD || (twin >= 0 && sup_fields_touches(s, twin / 3, part))) continue;
            open_edge edge = {s->def->skin.triangles[half], s->def->skin.triangles[sup_half_next(half)], twin < 0};
            c->edges[c->edge_count++] = edge;
        }
}

static int32_t find_root(int32_t *root, int32_t v)
{
    while (root[v] != v) {
        root[v] = root[root[v]];
        v = root[v];
    }
    return v;
}

static void join_edges(capping *c)
{
    const opening none = {0};
    for (int32_t i = 0; i < c->edge_count; i++)
        for (int32_t k = 0; k < 2; k++) {
            int32_t v = k == 0 ? c->edges[i].a : c->edges[i].b;
            c->root[v] = v;
            c->openings[v] = none;
        }
    for (int32_t i = 0; i < c->edge_count; i++) {
        int32_t a = find_root(c->root, c->edges[i].a), b = find_root(c->root, c->edges[i].b);
        c->root[a > b ? a : b] = a > b ? b : a;
    }
}

static sup_vec3d point_of(const capping *c, int32_t v)
{
    return sup_v3_load(c->state->def->skin.positions + 3 * (size_t)v);
}

static void measure_openings(capping *c)
{
    for (int32_t i = 0; i < c->edge_count; i++) {
        const open_edge *e = &c->edges[i];
        opening *o = &c->openings[find_root(c->root, e->a)];
        sup_vec3d a = point_of(c, e->a), b = point_of(c, e->b);
        double length = sup_v3_distance(a, b);
        o->middle = sup_v3_madd(o->middle, 0.5 * length, sup_v3_add(a, b));
        o->length += length;
        o->hole += e->hole ? length : 0.0;
    }
    for (int32_t i = 0; i < c->edge_count; i++) {
        const open_edge *e = &c->edges[i];
        opening *o = &c->openings[find_root(c->root, e->a)];
        if (!(o->length > 0.0)) continue;
        sup_vec3d middle = sup_v3_scale(o->middle, 1.0 / o->length);
        sup_vec3d cross = sup_v3_cross(sup_v3_sub(point_of(c, e->a), middle), sup_v3_sub(point_of(c, e->b), middle));
        /* What closes the part has the opposite area. */
        o->area = sup_v3_madd(o->area, c->state->turned[e->a] ? 0.5 : -0.5, cross);
    }
}

/* The nearest joint, where one is in the middle of the opening: a cap that is round about the joint turns into itself. */
static sup_vec3d centre_of(const capping *c, sup_vec3d middle, double radius)
{
    const sup_rig *rig = c->state->input->rig;
    double nearest = JOINT_REACH * radius;
    sup_vec3d centre = middle;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        double distance = sup_v3_distance(head, middle);
        if (!(distance < nearest)) continue;
        nearest = distance;
        centre = head;
    }
    return centre;
}

/* Adds the cap of an opening, the larger ones first: `size` [SUP_FIELD_CAPS] holds their radii. */
static void add_cap(capping *c, sup_field_shape *shape, const opening *o, double *size)
{
    double area = sup_v3_length(o->area), radius = sqrt(area / 3.141592653589793);
    if (!(radius > 0.0) || !(radius > 0.02 * o->length)) return; /* a slit closes by itself */
    sup_vec3d out = sup_v3_scale(o->area, 1.0 / area);
    sup_vec3d middle = sup_v3_scale(o->middle, 1.0 / o->length);
    sup_sample cap = {middle, out};
    if (o->hole > 0.5 * o->length) {
        cap.position = sup_v3_madd(middle, FLATNESS * radius, out);
    } else {
        sup_vec3d centre = centre_of(c, middle, radius);
        sup_bvh_ray ray = {.origin = centre, .direction = out, .t_min = 0.0, .t_max = radius / CLEARANCE};
        sup_bvh_hit hit;
        bool blocked = sup_bvh_ray_first(&c->state->bvh, &ray, &hit);
        cap.position = sup_v3_madd(centre, blocked ? CLEARANCE * hit.t : radius, out);
    }
    int32_t at = shape->cap_count < SUP_FIELD_CAPS ? shape->cap_count++ : SUP_FIELD_CAPS;
    for (; at > 0 && size[at - 1] < radius; at--)
        if (at < SUP_FIELD_CAPS) {
            size[at] = size[at - 1];
            shape->caps[at] = shape->caps[at - 1];
        }
    if (at == SUP_FIELD_CAPS) return;
    size[at] = radius;
    shape->caps[at] = cap;
}

static void cap_part(capping *c, int32_t part)
{
    double size[SUP_FIELD_CAPS];
    list_edges(c, part);
    join_edges(c);
    measure_openings(c);
    for (int32_t i = 0; i < c->edge_count; i++)
        for (int32_t k = 0; k < 2; k++) {
            int32_t v = k == 0 ? c->edges[i].a : c->edges[i].b;
            if (c->root[v] != v) continue;
            add_cap(c, &c->state->shapes[part], &c->openings[v], size);
            c->root[v] = -1; /* once */
        }
}

sup_result sup_fields_caps(sup_fields_state *s, sup_error *error)
{
    const sup_partition_skin *skin = &s->def->skin;
    sup_result result = sup_adjacency_create(&s->input->context->allocator, skin->vertex_count, skin->triangle_count,
                                             skin->triangles, &s->adjacency, error);
    if (result != SUP_OK) return result;
    s->has_adjacency = true;
    capping c = {.state = s};
    c.edges = sup_arena_alloc(&s->scratch, 3 * (size_t)skin->triangle_count, sizeof(open_edge));
    c.root = sup_arena_alloc(&s->scratch, (size_t)skin->vertex_count, sizeof(int32_t));
    c.openings = sup_arena_alloc(&s->scratch, (size_t)skin->vertex_count, sizeof(opening));
    if (c.edges == NULL || c.root == NULL || c.openings == NULL) return sup_fail_memory(error, "the ends of the limbs");
    for (int32_t part = 0; part < s->bound->partition.part_count; part++)
        cap_part(&c, part);
    return SUP_OK;
}
