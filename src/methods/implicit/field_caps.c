/* field_caps.c - cap samples beyond the openings of a skin region, which close its field there.
 *
 * Based on: [vaillant2013]: a sample beyond each end of the bone, at a distance of the limb's radius. Deviation: a dome
 * of samples for each joint at which a region borders others, wherever the border lies: around hips, chests and palms
 * that is not at the ends of bones. A dome is tangential to the skin at the border and approaches the sphere about the
 * joint that touches the nearest skin of the border, so that it stays inside of the body when the limb rotates. Caps as
 * deep as the openings are wide caused lobes at shoulders and hips; caps limited to the nearest skin from the border on
 * tore the skin apart. */
#include "methods/implicit/field_build.h"

enum { LOW_RING = 8, FOOT_POINTS = 12 }; /* samples of a dome in the lower ring, and in both rings */
/* Depth of the cap over a hole of the mesh, in radii of the hole; also the minimum height of a dome above its
 * border. */
static const double FLATNESS = 0.3;
/* Maximum fraction of the distance to the opposite skin, at the top and near the border. */
static const double CLEARANCE = 0.7, LOW_CLEARANCE = 0.85;
/* Positions of the rings of a dome, as fractions of the angle from its border to its top. */
static const double LOW = 0.25, HIGH = 0.65;
/* Minimum fraction of a region's border length that gets a dome: shorter borders close by themselves. */
static const double MIN_BORDER = 0.1;
/* A joint is the centre of the dome if it is this near to the middle of the border, in radii of the border. */
static const double JOINT_REACH = 1.2;

typedef struct opening {
    sup_vec3d middle, area; /* area: half the sum of cross products, pointing away from the region */
    double length, hole;    /* total edge length; length of edges without a triangle on the other side */
} opening;

/* The border of a region inside one triangle between it and another region. */
typedef struct border_edge {
    sup_vec3d middle;
    int32_t dome;    /* index of the other region; then of the dome */
    double distance; /* from the foot points that were chosen */
} border_edge;

/* Border edges that share a joint. */
typedef struct border {
    int32_t joint; /* joint between the two regions */
    double length;
    sup_vec3d middle, out; /* out: sum of the directions across the border, away from the region */
} border;

typedef struct capping {
    sup_fields_state *state;
    int32_t *loop;       /* [triangle_count*3] half-edges of one opening in walking order */
    int32_t *visited_by; /* [triangle_count*3] last region whose border walk used a half-edge */
    int32_t border_edge_count;
    border_edge *border_edges; /* [triangle_count] */
    border *borders;           /* [region_count] with each other region */
    border *domes;             /* [region_count] at each joint */
} capping;

/* --- Holes of the mesh --- */

/* Whether a half-edge lies on the border of the region's triangles. */
static bool is_open(const capping *c, int32_t region, int32_t half)
{
    int32_t twin = c->state->adjacency.half_twin[half];
    return twin == SUP_HALF_BOUNDARY || (twin >= 0 && !sup_fields_touches(c->state, twin / 3, region));
}

/* The next half-edge of the border: the first one in the triangle fan at the end of `half`; -1 at non-manifold edges
 * and where orientations differ. */
static int32_t next_open(const capping *c, int32_t region, int32_t half)
{
    const int32_t *triangles = c->state->def->skin.triangles;
    int32_t end = triangles[sup_half_next(half)], next = sup_half_next(half);
    for (int32_t steps = 0; steps < 256; steps++) {
        if (is_open(c, region, next)) return next;
        int32_t twin = c->state->adjacency.half_twin[next];
        if (twin < 0 || triangles[sup_half_next(twin)] != end) return -1;
        next = sup_half_next(twin);
    }
    return -1;
}

/* Collects the half-edges of the border from `start` on until it closes. */
static int32_t walk_border(capping *c, int32_t region, int32_t start)
{
    int32_t count = 0;
    for (int32_t half = start; half >= 0 && c->visited_by[half] != region + 1; half = next_open(c, region, half)) {
        c->visited_by[half] = region + 1;
        c->loop[count++] = half;
    }
    return count;
}

static sup_vec3d start_of(const capping *c, int32_t half)
{
    const sup_region_skin *skin = &c->state->def->skin;
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
        /* The closing surface has the opposite area. */
        bool flipped = c->state->flipped[c->state->def->skin.triangles[c->loop[i]]] != 0;
        o.area = sup_v3_madd(o.area, flipped ? 0.5 : -0.5, sup_v3_cross(a, b));
    }
    return o;
}

static void add_cap(sup_field_shape *shape, sup_sample sample)
{
    if (shape->cap_count < SUP_FIELD_CAPS) shape->caps[shape->cap_count++] = sample;
}

static void cap_holes(capping *c, int32_t region)
{
    const sup_fields_state *s = c->state;
    for (int32_t i = s->triangle_first[region]; i < s->triangle_first[region + 1]; i++)
        for (int32_t half = 3 * s->triangle_list[i]; half < 3 * s->triangle_list[i] + 3; half++) {
            if (c->visited_by[half] == region + 1 || !is_open(c, region, half)) continue;
            opening o = measure(c, walk_border(c, region, half));
            double area = sup_v3_length(o.area), radius = sqrt(area / 3.141592653589793);
            if (!(o.hole > 0.5 * o.length) || !(radius > 0.02 * o.length)) continue; /* a slit closes by itself */
            sup_vec3d out = sup_v3_scale(o.area, 1.0 / area);
            add_cap(&s->shapes[region], (sup_sample){sup_v3_madd(o.middle, FLATNESS * radius, out), out});
        }
}

/* --- Borders with other regions --- */

/* The border between two regions goes through the midpoints of edges: adds the part that lies in one triangle. */
static void add_border_edge(capping *c, int32_t region, const int32_t corner[3])
{
    const sup_fields_state *s = c->state;
    const int32_t *of = s->bound->regions.vertex_region;
    int32_t own = 0, single = 0;
    for (int32_t k = 0; k < 3; k++)
        own += of[corner[k]] == region ? 1 : 0;
    if (own == 0 || own == 3) return;
    while ((of[corner[single]] == region) != (own == 1))
        single++;
    sup_vec3d tip = sup_v3_load(s->def->skin.positions + 3 * (size_t)corner[single]);
    sup_vec3d a = sup_v3_load(s->def->skin.positions + 3 * (size_t)corner[(single + 1) % 3]);
    sup_vec3d b = sup_v3_load(s->def->skin.positions + 3 * (size_t)corner[(single + 2) % 3]);
    int32_t other = of[corner[own == 1 ? (single + 1) % 3 : single]];
    sup_vec3d edge = sup_v3_sub(b, a), middle = sup_v3_lerp(tip, sup_v3_lerp(a, b, 0.5), 0.5);
    double square = sup_v3_dot(edge, edge), length = 0.5 * sqrt(square);
    if (!(square > 0.0)) return;
    sup_vec3d across = sup_v3_sub(a, tip);
    across = sup_v3_madd(across, -sup_v3_dot(across, edge) / square, edge);
    across = sup_v3_unit_or(across, sup_v3(0.0, 0.0, 0.0));
    border *neighbour = &c->borders[other];
    neighbour->length += length;
    neighbour->middle = sup_v3_madd(neighbour->middle, length, middle);
    neighbour->out = sup_v3_madd(neighbour->out, own == 1 ? length : -length, across);
    c->border_edges[c->border_edge_count++] = (border_edge){middle, other, INFINITY};
}

/* The joint between two regions: of all joints on the path between them, the one nearest to a point. */
static int32_t joint_between(const sup_fields_state *s, int32_t region, int32_t other, sup_vec3d p)
{
    const sup_rig *rig = s->input->rig;
    int32_t a = s->bound->regions.region_joint[region], b = s->bound->regions.region_joint[other], best = -1;
    double nearest = INFINITY;
    while (a != b) { /* children come after their parents */
        int32_t *lower = a > b ? &a : &b;
        double distance = sup_v3_distance(p, sup_v3_load(rig->bone_head + 3 * (size_t)*lower));
        if (distance < nearest) {
            nearest = distance;
            best = *lower;
        }
        *lower = rig->joint_parent[*lower];
    }
    return best;
}

/* Groups the borders by joint, longest first, into `domes` [region_count]; border edges get the index of their dome. */
static int32_t group_by_joint(capping *c, int32_t region, border *domes)
{
    const int32_t regions = c->state->bound->regions.region_count;
    int32_t count = 0;
    for (int32_t other = 0; other < regions; other++) {
        border *neighbour = &c->borders[other];
        if (!(neighbour->length > 0.0)) continue;
        int32_t joint =
                    joint_between(c->state, region, other, sup_v3_scale(neighbour->middle, 1.0 / neighbour->length)),
                at = 0;
        while (at < count && domes[at].joint != joint)
            at++;
        if (at == count) domes[count++] = (border){.joint = joint};
        domes[at].length += neighbour->length;
        domes[at].middle = sup_v3_add(domes[at].middle, neighbour->middle);
        domes[at].out = sup_v3_add(domes[at].out, neighbour->out);
        neighbour->joint = joint;
    }
    for (int32_t i = 1; i < count; i++)
        for (int32_t k = i; k > 0 && domes[k].length > domes[k - 1].length; k--) {
            border longer = domes[k];
            domes[k] = domes[k - 1];
            domes[k - 1] = longer;
        }
    for (int32_t i = 0; i < c->border_edge_count; i++) {
        int32_t joint = c->borders[c->border_edges[i].dome].joint, at = 0;
        while (domes[at].joint != joint)
            at++;
        c->border_edges[i].dome = at;
    }
    return count;
}

/* --- Domes --- */

/* Adds a cap; moves it towards the centre if skin is in between, to at most `clearance` of the distance to it. Skips
 * positions outside of the body. */
static void add_inside(const capping *c, int32_t region, sup_vec3d centre, sup_sample sample, double clearance)
{
    sup_vec3d direction = sup_v3_sub(sample.position, centre);
    sup_bvh_ray ray = {.origin = centre, .direction = direction, .t_min = 0.0, .t_max = 1.0 / clearance};
    sup_bvh_hit hit;
    if (sup_bvh_ray_first(&c->state->bvh, &ray, &hit))
        sample.position = sup_v3_madd(centre, clearance * hit.t, direction);
    if (sup_bvh_inside(&c->state->bvh, sample.position)) add_cap(&c->state->shapes[region], sample);
}

/* The border edge farthest from those chosen before, which is then marked as chosen; -1 when all are. */
static int32_t next_foot_point(capping *c, int32_t dome)
{
    int32_t best = -1;
    for (int32_t i = 0; i < c->border_edge_count; i++)
        if (c->border_edges[i].dome == dome && c->border_edges[i].distance > 0.0 &&
            (best < 0 || c->border_edges[i].distance > c->border_edges[best].distance))
            best = i;
    for (int32_t i = 0; i < c->border_edge_count && best >= 0; i++)
        if (c->border_edges[i].dome == dome)
            c->border_edges[i].distance = fmin(
                c->border_edges[i].distance, sup_v3_distance(c->border_edges[i].middle, c->border_edges[best].middle));
    return best;
}

/* A point on the arc from a border point to the top of the dome at `fraction` of the angle; approaches the sphere
 * towards the top. */
static sup_sample on_dome(sup_vec3d centre, sup_vec3d out, double height, sup_vec3d foot_point, double fraction)
{
    double rest = 1.0 - fraction, far = sup_v3_distance(foot_point, centre);
    foot_point = sup_v3_sub(foot_point, centre);
    sup_vec3d side = sup_v3_unit_or(sup_v3_madd(foot_point, -sup_v3_dot(foot_point, out), out), out);
    double full_angle = atan2(sup_v3_dot(foot_point, side), sup_v3_dot(foot_point, out)), angle = rest * full_angle;
    double reach = height + (far - height) * rest * rest * rest, growth = 3.0 * (far - height) * rest * rest;
    sup_vec3d away = sup_v3_madd(sup_v3_scale(out, cos(angle)), sin(angle), side);
    sup_vec3d down = sup_v3_madd(sup_v3_scale(side, cos(angle)), -sin(angle), out);
    sup_vec3d normal = sup_v3_madd(sup_v3_scale(away, reach * full_angle), -growth, down);
    return (sup_sample){sup_v3_madd(centre, reach, away), sup_v3_unit_or(normal, out)};
}

static void add_dome(capping *c, int32_t region, const border *b, int32_t dome)
{
    sup_vec3d middle = sup_v3_scale(b->middle, 1.0 / b->length), centre = middle;
    sup_vec3d out = sup_v3_unit_or(b->out, sup_v3(0.0, 0.0, 0.0));
    double squares = 0.0, count = 0.0, nearest = INFINITY;
    if (!(sup_v3_dot(out, out) > 0.5)) return;
    for (int32_t i = 0; i < c->border_edge_count; i++) {
        if (c->border_edges[i].dome != dome) continue;
        sup_vec3d d = sup_v3_sub(c->border_edges[i].middle, middle);
        squares += sup_v3_dot(d, d);
        count += 1.0;
    }
    double radius = sqrt(squares / fmax(count, 1.0));
    sup_vec3d head = sup_v3_load(c->state->input->rig->bone_head + 3 * (size_t)b->joint);
    if (sup_v3_distance(head, middle) < JOINT_REACH * radius) centre = head;
    for (int32_t i = 0; i < c->border_edge_count; i++)
        if (c->border_edges[i].dome == dome)
            nearest = fmin(nearest, sup_v3_distance(c->border_edges[i].middle, centre));
    double height = fmax(fmin(nearest, radius), sup_v3_dot(sup_v3_sub(middle, centre), out) + FLATNESS * radius);
    if (!(height > 0.0)) return;
    add_inside(c, region, centre, (sup_sample){sup_v3_madd(centre, height, out), out}, CLEARANCE);
    for (int32_t i = 0; i < FOOT_POINTS; i++) {
        int32_t foot_point = next_foot_point(c, dome);
        if (foot_point < 0) return;
        bool low = i < LOW_RING;
        sup_sample sample = on_dome(centre, out, height, c->border_edges[foot_point].middle, low ? LOW : HIGH);
        add_inside(c, region, centre, sample, low ? LOW_CLEARANCE : CLEARANCE);
    }
}

static void cap_borders(capping *c, int32_t region)
{
    const sup_fields_state *s = c->state;
    const int32_t regions = s->bound->regions.region_count;
    c->border_edge_count = 0;
    memset(c->borders, 0, (size_t)regions * sizeof *c->borders);
    for (int32_t i = s->triangle_first[region]; i < s->triangle_first[region + 1]; i++)
        add_border_edge(c, region, s->def->skin.triangles + 3 * (size_t)s->triangle_list[i]);
    int32_t count = group_by_joint(c, region, c->domes);
    double length = 0.0;
    for (int32_t i = 0; i < count; i++)
        length += c->domes[i].length;
    for (int32_t i = 0; i < count; i++)
        if (c->domes[i].length > MIN_BORDER * length) add_dome(c, region, &c->domes[i], i);
}

sup_result sup_fields_caps(sup_fields_state *s, sup_error *error)
{
    const sup_region_skin *skin = &s->def->skin;
    sup_result result = sup_adjacency_create(&s->input->context->allocator, skin->vertex_count, skin->triangle_count,
                                             skin->triangles, &s->adjacency, error);
    if (result != SUP_OK) return result;
    s->has_adjacency = true;
    capping c = {.state = s};
    size_t triangles = (size_t)skin->triangle_count, regions = (size_t)s->bound->regions.region_count;
    c.loop = sup_arena_alloc(&s->scratch, 3 * triangles, sizeof(int32_t));
    c.visited_by = sup_arena_alloc(&s->scratch, 3 * triangles, sizeof(int32_t));
    c.border_edges = sup_arena_alloc(&s->scratch, triangles, sizeof(border_edge));
    c.borders = sup_arena_alloc(&s->scratch, regions, sizeof(border));
    c.domes = sup_arena_alloc(&s->scratch, regions, sizeof(border));
    if (c.loop == NULL || c.visited_by == NULL || c.border_edges == NULL || c.borders == NULL || c.domes == NULL)
        return sup_fail_memory(error, "the caps of the fields");
    for (int32_t region = 0; region < s->bound->regions.region_count; region++) {
        cap_borders(&c, region);
        cap_holes(&c, region);
    }
    return SUP_OK;
}
