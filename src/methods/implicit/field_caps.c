/* field_caps.c - where a part of the skin is open, a point beyond the opening: there its field ends.
 *
 * Based on: [vaillant2013]: a sample beyond each end of the bone, as far as the limb is thick there. Here it is
 * one for each opening of the part, which need not lie at an end of the bone: around hips, chests and palms they do not. */
#include "methods/implicit/field_build.h"

enum { OPENINGS = 8, AROUND = 6, RINGS = 2, DOME = 1 + RINGS * AROUND };
static const double FLATNESS = 0.3;  /* depth of the cap over a hole of the mesh, in radii of the hole */
static const double CLEARANCE = 0.7; /* most of the way to the skin on the other side */
static const double JOINT_REACH =
    0.6; /* a joint so near to the middle of an opening, in its radii, is the cap's centre */

typedef struct opening {
    sup_vec3d middle, area; /* area: half the sum of cross products, away from the part */
    double length, hole;    /* of its edges; of those with no triangle at all on the other side */
    int32_t count;          /* of its edges */
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

static sup_vec3d corner_of(const capping *c, int32_t half)
{
    const sup_partition_skin *skin = &c->state->def->skin;
    return sup_v3_load(skin->positions + 3 * (size_t)skin->triangles[half]);
}

/* Where a part ends at edge i of the loop: half-way to the corner of its own, or at a hole of the mesh. */
static sup_vec3d loop_point(const capping *c, const opening *o, int32_t i)
{
    int32_t half = c->loop[i % o->count], next = sup_half_next(half);
    sup_vec3d edge = sup_v3_lerp(corner_of(c, half), corner_of(c, next), 0.5);
    if (c->state->adjacency.half_twin[half] < 0) return edge;
    return sup_v3_lerp(edge, corner_of(c, sup_half_next(next)), 0.5);
}

static opening measure(const capping *c, int32_t count)
{
    opening o = {.count = count};
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d a = loop_point(c, &o, i), b = loop_point(c, &o, i + 1);
        double length = sup_v3_distance(a, b);
        o.middle = sup_v3_madd(o.middle, 0.5 * length, sup_v3_add(a, b));
        o.length += length;
        o.hole += c->state->adjacency.half_twin[c->loop[i]] < 0 ? length : 0.0;
    }
    if (!(o.length > 0.0)) return o;
    o.middle = sup_v3_scale(o.middle, 1.0 / o.length);
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d a = sup_v3_sub(loop_point(c, &o, i), o.middle), b = sup_v3_sub(loop_point(c, &o, i + 1), o.middle);
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

/* The point of the loop at a share of its length. */
static sup_vec3d along(const capping *c, const opening *o, double share)
{
    double left = share * o->length;
    sup_vec3d a = o->middle, b = a;
    for (int32_t i = 0; i < o->count; i++) {
        a = loop_point(c, o, i);
        b = loop_point(c, o, i + 1);
        double length = sup_v3_distance(a, b);
        if (left < length) return sup_v3_lerp(a, b, left / length);
        left -= length;
    }
    return b;
}

static double nearest_of(const capping *c, const opening *o, sup_vec3d centre)
{
    double nearest = INFINITY;
    for (int32_t i = 0; i < o->count; i++)
        nearest = fmin(nearest, sup_v3_distance(centre, loop_point(c, o, i)));
    return nearest;
}

/* Caps of one opening. */
typedef struct dome {
    double radius;
    int32_t count;
    sup_sample samples[DOME];
} dome;

/* Nearer to the centre where skin is in the way; not at all outside of the body. */
static void add_sample(const capping *c, dome *d, sup_vec3d centre, sup_sample sample)
{
    sup_vec3d way = sup_v3_sub(sample.position, centre);
    sup_bvh_ray ray = {.origin = centre, .direction = way, .t_min = 0.0, .t_max = 1.0 / CLEARANCE};
    sup_bvh_hit hit;
    if (sup_bvh_ray_first(&c->state->bvh, &ray, &hit)) sample.position = sup_v3_madd(centre, CLEARANCE * hit.t, way);
    if (sup_bvh_inside(&c->state->bvh, sample.position)) d->samples[d->count++] = sample;
}

/* From the loop to a point above the centre, nearer and nearer to a ball about the centre. */
static void add_dome(const capping *c, const opening *o, dome *d, sup_vec3d out)
{
    sup_vec3d centre = centre_of(c, o->middle, d->radius);
    double height = fmin(nearest_of(c, o, centre), d->radius);
    height = fmax(height, sup_v3_dot(sup_v3_sub(o->middle, centre), out) + FLATNESS * d->radius);
    add_sample(c, d, centre, (sup_sample){sup_v3_madd(centre, height, out), out});
    for (int32_t ring = 0; ring < RINGS; ring++)
        for (int32_t k = 0; k < AROUND; k++) {
            sup_vec3d foot = sup_v3_sub(along(c, o, (k + 0.5 * ring) / AROUND), centre);
            double share = (double)(ring + 1) / (RINGS + 1), left = 1.0 - share, far = sup_v3_length(foot);
            sup_vec3d side = sup_v3_unit_or(sup_v3_madd(foot, -sup_v3_dot(foot, out), out), out);
            double turn = atan2(sup_v3_dot(foot, side), sup_v3_dot(foot, out)), angle = left * turn;
            double reach = height + (far - height) * left * left, grows = 2.0 * (far - height) * left;
            sup_vec3d away = sup_v3_madd(sup_v3_scale(out, cos(angle)), sin(angle), side);
            sup_vec3d down = sup_v3_madd(sup_v3_scale(side, cos(angle)), -sin(angle), out);
            sup_vec3d normal = sup_v3_madd(sup_v3_scale(away, reach * turn), -grows, down);
            add_sample(c, d, centre, (sup_sample){sup_v3_madd(centre, reach, away), sup_v3_unit_or(normal, out)});
        }
}

/* Adds the caps of an opening, the larger ones first. */
static void add_cap(const capping *c, const opening *o, dome *domes, int32_t *count)
{
    double area = sup_v3_length(o->area);
    dome d = {.radius = sqrt(area / 3.141592653589793)};
    if (!(d.radius > 0.0) || !(d.radius > 0.02 * o->length)) return; /* a slit closes by itself */
    sup_vec3d out = sup_v3_scale(o->area, 1.0 / area);
    if (o->hole > 0.5 * o->length)
        d.samples[d.count++] = (sup_sample){sup_v3_madd(o->middle, FLATNESS * d.radius, out), out};
    else
        add_dome(c, o, &d, out);
    if (d.count == 0) return;
    int32_t at = *count < OPENINGS ? (*count)++ : OPENINGS;
    for (; at > 0 && domes[at - 1].radius < d.radius; at--)
        if (at < OPENINGS) domes[at] = domes[at - 1];
    if (at < OPENINGS) domes[at] = d;
}

static void cap_part(capping *c, int32_t part)
{
    const sup_fields_state *s = c->state;
    sup_field_shape *shape = &s->shapes[part];
    dome domes[OPENINGS];
    int32_t count = 0;
    for (int32_t i = s->triangle_first[part]; i < s->triangle_first[part + 1]; i++)
        for (int32_t half = 3 * s->triangle_list[i]; half < 3 * s->triangle_list[i] + 3; half++) {
            if (c->walked_by[half] == part + 1 || !is_open(c, part, half)) continue;
            opening o = measure(c, walk(c, part, half));
            add_cap(c, &o, domes, &count);
        }
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < domes[i].count && shape->cap_count < SUP_FIELD_CAPS; k++)
            shape->caps[shape->cap_count++] = domes[i].samples[k];
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
