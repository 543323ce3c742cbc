/* field_caps.c - where a part of the skin is open, a point beyond the opening: there its field ends.
 *
 * Based on: [vaillant2013]: a sample beyond each end of the bone, as far as the limb is thick there. Here it is
 * one for each opening of the part, which need not lie at an end of the bone: around hips, chests and palms they do not. */
#include "methods/implicit/field_build.h"

static const double FLATNESS = 0.3;  /* depth of the cap over a hole of the mesh, in radii of the hole */
static const double CLEARANCE = 0.7; /* most of the way to the skin on the other side */
static const double JOINT_REACH =
    0.6; /* a joint so near to the middle of an opening, in its radii, is the cap's centre */

typedef struct opening {
    sup_vec3d middle, area; /* area: half the sum of cross products, away from the part */
    double length, hole;    /* of its edges; of those with no triangle at all on the other side */
} opening;

typedef struct capping {
    sup_fields_state *state;
    int32_t *loop;      /* [triangle_count*3] half-edges of one opening, in walking order */
    int32_t *walked_by; /* [triangle_count*3] last part that has walked along a half-edge */
} capping;

/* Whether a half-edge of the part's triangles is on the border of them. */
static bool is_open(const capping *c, int32_t part, int32_t half)
{
    int32_t twin = c->state->adjacency.half_twin[half];
    return twin == SUP_HALF_BOUNDARY || (twin >= 0 && !sup_fields_touches(c->state, twin / 3, part));
}

/* The border's next half-edge: the first one in the fan of triangles at the end of `half`, -1 where triangles of three
 * sides, or turned against each other, are in the way. */
static int32_t next_open(const capping *c, int32_t part, int32_t half)
{
    const int32_t *triangles = c->state->def->skin.triangles;
    int32_t end = triangles[sup_half_next(half)], next = sup_half_next(half);
    for (int32_t turns = 0; turns < 256; turns++) {
        if (is_open(c, part, next)) return next;
        int32_t twin = c->state->adjacency.half_twin[next];
        if (twin < 0 || triangles[sup_half_next(twin)] != end) return -1;
        next = sup_half_next(twin);
    }
    return -1;
}

/* Half-edges of the border from `start` on, all around. */
static int32_t walk(capping *c, int32_t part, int32_t start)
{
    int32_t count = 0;
    for (int32_t half = start; half >= 0 && c->walked_by[half] != part + 1; half = next_open(c, part, half)) {
        c->walked_by[half] = part + 1;
        c->loop[count++] = half;
    }
    return count;
}

static sup_vec3d start_of(const capping *c, int32_t half)
{
    const sup_partition_skin *skin = &c->state->def->skin;
    return sup_v3_load(skin->positions + 3 * (size_t)skin->triangles[half]);
}

static opening measure(const capping *c, int32_t count)
{
    opening o = {0};
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d a = start_of(c, c->loop[i]), b = start_of(c, sup_half_next(c->loop[i]));
        double length = sup_v3_distance(a, b);
        o.middle = sup_v3_madd(o.middle, 0.5 * length, sup_v3_add(a, b));
        o.length += length;
        o.hole += c->state->adjacency.half_twin[c->loop[i]] < 0 ? length : 0.0;
    }
    if (!(o.length > 0.0)) return o;
    o.middle = sup_v3_scale(o.middle, 1.0 / o.length);
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d a = sup_v3_sub(start_of(c, c->loop[i]), o.middle);
        sup_vec3d b = sup_v3_sub(start_of(c, sup_half_next(c->loop[i])), o.middle);
        /* What closes the part has the opposite area. */
        bool turned = c->state->turned[c->state->def->skin.triangles[c->loop[i]]] != 0;
        o.area = sup_v3_madd(o.area, turned ? 0.5 : -0.5, sup_v3_cross(a, b));
    }
    return o;
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
static void add_cap(const capping *c, sup_field_shape *shape, const opening *o, double *size)
{
    double area = sup_v3_length(o->area), radius = sqrt(area / 3.141592653589793);
    if (!(radius > 0.0) || !(radius > 0.02 * o->length)) return; /* a slit closes by itself */
    sup_vec3d out = sup_v3_scale(o->area, 1.0 / area);
    sup_sample cap = {o->middle, out};
    if (o->hole > 0.5 * o->length) {
        cap.position = sup_v3_madd(o->middle, FLATNESS * radius, out);
    } else {
        sup_vec3d centre = centre_of(c, o->middle, radius);
        sup_bvh_ray ray = {.origin = centre, .direction = out, .t_min = 0.0, .t_max = radius / CLEARANCE};
        sup_bvh_hit hit;
        bool blocked = sup_bvh_ray_first(&c->state->bvh, &ray, &hit);
        cap.position = sup_v3_madd(centre, blocked ? CLEARANCE * hit.t : radius, out);
        /* An opening that is no ring, as of a chest between neck and shoulders, may have its middle outside of the body. */
        if (!sup_bvh_inside(&c->state->bvh, cap.position)) return;
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
    const sup_fields_state *s = c->state;
    double size[SUP_FIELD_CAPS] = {0.0};
    for (int32_t i = s->triangle_first[part]; i < s->triangle_first[part + 1]; i++)
        for (int32_t half = 3 * s->triangle_list[i]; half < 3 * s->triangle_list[i] + 3; half++) {
            if (c->walked_by[half] == part + 1 || !is_open(c, part, half)) continue;
            opening o = measure(c, walk(c, part, half));
            add_cap(c, &c->state->shapes[part], &o, size);
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
    c.loop = sup_arena_alloc(&s->scratch, 3 * (size_t)skin->triangle_count, sizeof(int32_t));
    c.walked_by = sup_arena_alloc(&s->scratch, 3 * (size_t)skin->triangle_count, sizeof(int32_t));
    if (c.loop == NULL || c.walked_by == NULL) return sup_fail_memory(error, "the ends of the limbs");
    for (int32_t part = 0; part < s->bound->partition.part_count; part++)
        cap_part(&c, part);
    return SUP_OK;
}
