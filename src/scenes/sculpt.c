/* sculpt.c - evaluates an implicit body of smoothly joined shapes; a grid of shape masks culls distant shapes. */
#include "scenes/sculpt.h"

enum { MASK_WORDS = SUP_SHAPES_MAX * 2 / 64, COARSE = 4 };

static const double FAR_AWAY = 1e9;
static const double MAX_GRADIENT = 1.4; /* bound on the gradient of a shape's value */
static const double SIBLING_JOIN = 0.4; /* relative to the join width of the parent */

/* An interval between two sections: each column is a cubic of the distance from the start of the interval. */
typedef struct loft_interval {
    double start;
    double x[4], z[4], left[4], right[4], front[4], back[4], square[4];
} loft_interval;

typedef struct solid {
    sup_shape_kind kind;
    int32_t region;
    double blend, edge;
    bool carve;
    sup_vec3d origin, axis[3]; /* local x, y (along), z */
    double inverse_wide, inverse_deep;
    double length, ra, rb, sine, cosine; /* of the cone's slope */
    double cap_low, cap_high, first, last;
    const loft_interval *intervals;
    int32_t interval_count;
    double min_radius; /* upper bound of the depth of any interior point */
    sup_vec3d centre;  /* bounding sphere */
    double radius;
} solid;

struct sup_sculpture {
    sup_arena arena;
    int32_t solid_count, region_count; /* regions of both sides */
    solid solids[SUP_SHAPES_MAX * 2];
    int32_t parent[SUP_REGIONS_MAX * 2];
    double join[SUP_REGIONS_MAX * 2];
    double reach[SUP_REGIONS_MAX * 2]; /* influence distance of each region: its largest blend or join width */
    sup_vec3d lower;
    double block;
    int32_t coarse[3];
    /* Shape masks: of the coarse cells, then of the fine cells of the coarse cells that the surface intersects. */
    uint64_t *masks;
    int32_t *coarse_first; /* [coarse] first fine mask of a coarse cell, -1 when the coarse mask is used */
    double *coarse_value;  /* [coarse] field at the centre */
    uint64_t all[MASK_WORDS];
};

/* --- Single shapes --- */
/* Distance to a round cone or a sphere in scaled space, divided by its gradient length in unscaled space. */
static double cone_value(const solid *s, double x, double y, double z)
{
    x *= s->inverse_wide;
    z *= s->inverse_deep;
    if (s->kind == SUP_SHAPE_ELLIPSOID) y /= s->ra;
    double radial = sqrt(x * x + z * z), ra = s->kind == SUP_SHAPE_ELLIPSOID ? 1.0 : s->ra;
    double flank = s->length > 0.0 ? y - radial * s->sine / s->cosine : -1.0;
    double distance, gr, gy;
    if (flank > 0.0 && flank < s->length) {
        distance = radial * s->cosine + y * s->sine - ra;
        gr = s->cosine;
        gy = s->sine;
    } else {
        double over = flank >= s->length && s->length > 0.0 ? y - s->length : y;
        double reach = sqrt(radial * radial + over * over);
        distance = reach - (flank >= s->length && s->length > 0.0 ? s->rb : ra);
        gr = reach > 0.0 ? radial / reach : 1.0;
        gy = reach > 0.0 ? over / reach : 0.0;
    }
    double gx = radial > 0.0 ? gr * x / radial * s->inverse_wide : gr * s->inverse_wide;
    double gz = radial > 0.0 ? gr * z / radial * s->inverse_deep : 0.0;
    if (s->kind == SUP_SHAPE_ELLIPSOID) gy /= s->ra;
    return distance / sqrt(gx * gx + gy * gy + gz * gz);
}

/* Distance to a flat ellipse minus its thickness. */
static double leaf_value(const solid *s, double x, double y, double z, double thick)
{
    double u = x * s->inverse_wide, v = y / s->ra, rho = sqrt(u * u + v * v) + 1e-12;
    double gx = u / rho * s->inverse_wide, gy = v / rho / s->ra;
    double outside = (rho - 1.0) / sqrt(gx * gx + gy * gy);
    if (outside <= 0.0) return fabs(z) - thick;
    return sqrt(outside * outside + z * z) - thick;
}

static double cubic(const double c[4], double t, double *slope)
{
    *slope = c[1] + t * (2.0 * c[2] + t * 3.0 * c[3]);
    return c[0] + t * (c[1] + t * (c[2] + t * c[3]));
}

static double loft_value(const solid *s, double x, double y, double z)
{
    double inside = y < s->first ? s->first : y > s->last ? s->last : y;
    int32_t i = 0;
    while (i + 1 < s->interval_count && s->intervals[i + 1].start <= inside)
        i++;
    const loft_interval *interval = &s->intervals[i];
    double t = inside - interval->start, cx_slope, cz_slope, rx_slope, rz_slope, square_slope;
    double u = x - cubic(interval->x, t, &cx_slope), v = z - cubic(interval->z, t, &cz_slope);
    double rx = cubic(u > 0.0 ? interval->right : interval->left, t, &rx_slope);
    double rz = cubic(v > 0.0 ? interval->front : interval->back, t, &rz_slope);
    double square = cubic(interval->square, t, &square_slope);
    u /= rx;
    v /= rz;
    double uu = u * u, vv = v * v, round = sqrt(uu + vv) + 1e-12, boxy = sqrt(sqrt(uu * uu + vv * vv)) + 1e-12;
    double rho = round + square * (boxy - round), boxy3 = boxy * boxy * boxy;
    double gu = (1.0 - square) * u / round + square * u * uu / boxy3;
    double gv = (1.0 - square) * v / round + square * v * vv / boxy3;
    double gx = gu / rx, gz = gv / rz, gy = 0.0;
    if (y > s->first && y < s->last)
        gy = -gx * (cx_slope + u * rx_slope) - gz * (cz_slope + v * rz_slope);
    else {
        double cap = y <= s->first ? s->cap_low : s->cap_high, over = (y - inside) / cap;
        double whole = sqrt(rho * rho + over * over) + 1e-12;
        gx *= rho / whole;
        gz *= rho / whole;
        gy = over / whole / cap;
        rho = whole;
    }
    return (rho - 1.0) / sqrt(gx * gx + gy * gy + gz * gz);
}

static double solid_value(const solid *s, sup_vec3d p)
{
    sup_vec3d d = sup_v3_sub(p, s->origin);
    double x = sup_v3_dot(d, s->axis[0]), y = sup_v3_dot(d, s->axis[1]), z = sup_v3_dot(d, s->axis[2]);
    double value = s->kind == SUP_SHAPE_LOFT   ? loft_value(s, x, y, z)
                   : s->kind == SUP_SHAPE_LEAF ? leaf_value(s, x, y, z, 1.0 / s->inverse_deep)
                                               : cone_value(s, x, y, z);
    if (value < -s->min_radius) value = -s->min_radius; /* deep inside flat shapes the estimate is too large */
    /* Never less than the distance to the bounding sphere, as the culling grid assumes. */
    double outside = sup_v3_distance(p, s->centre) - s->radius;
    return value < outside ? outside : value;
}

/* Whether the bounding sphere of the shape is farther than `distance`. */
static bool out_of_reach(const solid *s, sup_vec3d p, double distance)
{
    sup_vec3d d = sup_v3_sub(p, s->centre);
    double apart = distance + s->radius;
    return apart < 0.0 || sup_v3_dot(d, d) > apart * apart;
}

/* Smooth minimum with a cubic transition: continuous second derivatives, hence continuous highlights. */
static double smooth_min(double a, double b, double width)
{
    double low = a < b ? a : b, gap = a < b ? b - a : a - b;
    if (gap >= width) return low;
    double h = (width - gap) / width;
    return low - h * h * h * width * (1.0 / 6.0);
}

/* --- Field --- */
static void region_values(const sup_sculpture *s, const uint64_t *mask, sup_vec3d p, double *own)
{
    for (int32_t r = 0; r < s->region_count; r++)
        own[r] = FAR_AWAY;
    for (int w = 0; w < MASK_WORDS; w++)
        for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
            const solid *item = &s->solids[w * 64 + __builtin_ctzll(bits)];
            double *to = &own[item->region];
            if (!item->carve && out_of_reach(item, p, *to + item->blend)) continue;
            double value = solid_value(item, p);
            *to = item->carve ? -smooth_min(-*to, value, item->blend) : smooth_min(*to, value, item->blend);
        }
}

static double field_value(const sup_sculpture *s, const uint64_t *mask, sup_vec3d p)
{
    double own[SUP_REGIONS_MAX * 2], children[SUP_REGIONS_MAX * 2], join[SUP_REGIONS_MAX * 2] = {0.0};
    region_values(s, mask, p, own);
    for (int32_t r = 0; r < s->region_count; r++)
        children[r] = FAR_AWAY;
    double value = FAR_AWAY;
    for (int32_t r = s->region_count - 1; r >= 0; r--) {
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): region_values fills own[0..count) */
        if (own[r] >= FAR_AWAY && children[r] >= FAR_AWAY) continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the loop above fills children */
        value = children[r] < FAR_AWAY ? smooth_min(own[r], children[r], join[r]) : own[r];
        int32_t to = s->parent[r];
        if (to < 0) continue;
        if (value < children[to]) join[to] = s->join[r];
        children[to] = smooth_min(children[to], value, SIBLING_JOIN * s->join[r]);
    }
    return value;
}

static const uint64_t *mask_at(const sup_sculpture *s, sup_vec3d p)
{
    double x = (p.x - s->lower.x) / s->block, y = (p.y - s->lower.y) / s->block, z = (p.z - s->lower.z) / s->block;
    if (!(x >= 0.0 && y >= 0.0 && z >= 0.0 && x < s->coarse[0] * COARSE && y < s->coarse[1] * COARSE &&
          z < s->coarse[2] * COARSE))
        return s->all;
    int32_t ix = (int32_t)x, iy = (int32_t)y, iz = (int32_t)z;
    int32_t coarse = (iz / COARSE * s->coarse[1] + iy / COARSE) * s->coarse[0] + ix / COARSE;
    int32_t fine = (iz % COARSE * COARSE + iy % COARSE) * COARSE + ix % COARSE;
    int32_t first = s->coarse_first[coarse];
    return s->masks + (size_t)(first < 0 ? coarse : first + fine) * MASK_WORDS;
}

double sup_sculpture_value(const void *sculpture, sup_vec3d p)
{
    const sup_sculpture *s = sculpture;
    return field_value(s, mask_at(s, p), p);
}

double sup_sculpture_edge(const void *sculpture, sup_vec3d p)
{
    const sup_sculpture *s = sculpture;
    const uint64_t *mask = mask_at(s, p);
    double nearest = FAR_AWAY, values[SUP_SHAPES_MAX * 2], sum = 0.0, total = 0.0;
    for (int w = 0; w < MASK_WORDS; w++)
        for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
            int32_t i = w * 64 + __builtin_ctzll(bits);
            values[i] = fabs(solid_value(&s->solids[i], p));
            nearest = values[i] < nearest ? values[i] : nearest;
        }
    for (int w = 0; w < MASK_WORDS; w++)
        for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
            int32_t i = w * 64 + __builtin_ctzll(bits);
            double away = (values[i] - nearest) / s->solids[i].edge, weight = 1.0 / (0.1 + away * away);
            sum += weight * s->solids[i].edge;
            total += weight;
        }
    return sum / total;
}

void sup_sculpture_regions(const sup_sculpture *sculpture, sup_vec3d p, double *distance)
{
    region_values(sculpture, mask_at(sculpture, p), p, distance);
}

/* --- Construction --- */
/* Slope of a column at section i, of the parabola through its neighbours. */
static double column_slope(const sup_section *sections, int32_t count, int32_t i, size_t column)
{
    const double *here = (const double *)&sections[i];
    if (count == 1) return 0.0;
    const double *before = (const double *)&sections[i > 0 ? i - 1 : i];
    const double *after = (const double *)&sections[i + 1 < count ? i + 1 : i];
    double a = i > 0 ? (here[column] - before[column]) / (here[0] - before[0]) : 0.0;
    double b = i + 1 < count ? (after[column] - here[column]) / (after[0] - here[0]) : 0.0;
    if (i == 0) return b;
    if (i + 1 == count) return a;
    double la = here[0] - before[0], lb = after[0] - here[0];
    return (a * lb + b * la) / (la + lb);
}

static const loft_interval *build_intervals(sup_arena *arena, const sup_shape *shape)
{
    int32_t count = shape->section_count - 1;
    loft_interval *intervals = sup_arena_alloc(arena, (size_t)count, sizeof *intervals);
    if (intervals == NULL) return NULL;
    for (int32_t i = 0; i < count; i++) {
        const double *from = (const double *)&shape->sections[i], *to = (const double *)&shape->sections[i + 1];
        double *columns[7] = {intervals[i].x,     intervals[i].z,    intervals[i].left,  intervals[i].right,
                              intervals[i].front, intervals[i].back, intervals[i].square};
        double length = to[0] - from[0];
        intervals[i].start = from[0];
        for (size_t c = 0; c < 7; c++) {
            double rise = (to[c + 1] - from[c + 1]) / length;
            double m0 = column_slope(shape->sections, shape->section_count, i, c + 1);
            double m1 = column_slope(shape->sections, shape->section_count, i + 1, c + 1);
            columns[c][0] = from[c + 1];
            columns[c][1] = m0;
            columns[c][2] = (3.0 * rise - 2.0 * m0 - m1) / length;
            columns[c][3] = (m0 + m1 - 2.0 * rise) / (length * length);
        }
    }
    return intervals;
}

static void bound_loft(solid *s, const sup_shape *shape)
{
    double widest = 0.0, low = s->first - s->cap_low, high = s->last + s->cap_high;
    for (int32_t i = 0; i < shape->section_count; i++) {
        const sup_section *c = &shape->sections[i];
        double x = fabs(c->x) + (c->left > c->right ? c->left : c->right);
        double z = fabs(c->z) + (c->front > c->back ? c->front : c->back);
        double reach = sqrt(x * x + z * z);
        widest = reach > widest ? reach : widest;
        x = c->left > c->right ? c->left : c->right;
        z = c->front > c->back ? c->front : c->back;
        s->min_radius = s->min_radius > (x < z ? x : z) ? s->min_radius : (x < z ? x : z);
    }
    widest *= 1.1; /* the cubics may overshoot between sections */
    s->centre = sup_v3_madd(s->origin, 0.5 * (low + high), s->axis[1]);
    s->radius = sqrt(widest * widest + 0.25 * (high - low) * (high - low));
}

static void bound_cone(solid *s, double wide, double deep)
{
    double scale = wide > deep ? wide : deep, thin = wide < deep ? wide : deep;
    s->min_radius = thin * (s->ra > s->rb ? s->ra : s->rb);
    if (s->kind != SUP_SHAPE_CONE) {
        s->min_radius = thin < s->ra ? thin : s->ra;
        s->centre = s->origin;
        s->radius = (scale > s->ra ? scale : s->ra) + (s->kind == SUP_SHAPE_LEAF ? deep : 0.0);
        return;
    }
    scale = scale > 1.0 ? scale : 1.0;
    s->centre = sup_v3_madd(s->origin, 0.5 * s->length, s->axis[1]);
    s->radius = 0.5 * s->length + scale * (s->ra > s->rb ? s->ra : s->rb);
}

static bool build_solid(sup_arena *arena, const sup_shape *shape, solid *s)
{
    bool direction = shape->kind == SUP_SHAPE_ELLIPSOID || shape->kind == SUP_SHAPE_LEAF;
    sup_vec3d along = direction ? shape->b : sup_v3_sub(shape->b, shape->a);
    sup_vec3d side = sup_v3_unit_or(shape->side, sup_v3(1.0, 0.0, 0.0));
    double wide = shape->wide > 0.0 ? shape->wide : 1.0, deep = shape->deep > 0.0 ? shape->deep : 1.0;
    memset(s, 0, sizeof *s);
    s->kind = shape->kind;
    s->region = shape->region;
    s->carve = shape->blend < 0.0;
    s->blend = fabs(shape->blend);
    s->edge = shape->edge;
    s->origin = shape->a;
    s->axis[1] = sup_v3_unit_or(along, sup_v3(0.0, 1.0, 0.0));
    side = sup_v3_madd(side, -sup_v3_dot(side, s->axis[1]), s->axis[1]);
    if (sup_v3_length(side) < 1e-6) side = sup_v3_cross(s->axis[1], sup_v3(0.0, 0.0, 1.0));
    s->axis[0] = sup_v3_unit_or(side, sup_v3(1.0, 0.0, 0.0));
    s->axis[2] = sup_v3_cross(s->axis[0], s->axis[1]);
    s->inverse_wide = 1.0 / wide;
    s->inverse_deep = 1.0 / deep;
    s->ra = shape->ra;
    s->rb = shape->rb;
    if (shape->kind == SUP_SHAPE_LOFT) {
        s->intervals = build_intervals(arena, shape);
        s->interval_count = shape->section_count - 1;
        s->first = shape->sections[0].along;
        s->last = shape->sections[shape->section_count - 1].along;
        s->cap_low = shape->ra;
        s->cap_high = shape->rb;
        bound_loft(s, shape);
        return s->intervals != NULL;
    }
    s->length = shape->kind == SUP_SHAPE_CONE ? sup_v3_length(along) : 0.0;
    if (s->length <= fabs(s->ra - s->rb)) s->length = 0.0; /* one sphere contains the other */
    s->sine = s->length > 0.0 ? (s->ra - s->rb) / s->length : 0.0;
    s->cosine = sqrt(1.0 - s->sine * s->sine);
    bound_cone(s, wide, deep);
    return true;
}

static sup_vec3d mirror(sup_vec3d v)
{
    return sup_v3(-v.x, v.y, v.z);
}

static bool build_solids(sup_sculpture *s, const sup_sculpture_def *def)
{
    for (int32_t i = 0; i < def->shape_count; i++) {
        solid *item = &s->solids[s->solid_count++];
        if (!build_solid(&s->arena, &def->shapes[i], item)) return false;
        bool middle = fabs(item->centre.x) < 1e-9 && !def->regions[item->region].paired;
        if (!def->mirrored || middle) continue;
        solid *mirror_joint = &s->solids[s->solid_count++];
        *mirror_joint = *item;
        mirror_joint->origin = mirror(item->origin);
        mirror_joint->centre = mirror(item->centre);
        for (int k = 0; k < 3; k++)
            mirror_joint->axis[k] = mirror(item->axis[k]);
        if (def->regions[item->region].paired) mirror_joint->region += def->region_count;
    }
    return true;
}

static void build_regions(sup_sculpture *s, const sup_sculpture_def *def)
{
    int32_t count = def->region_count;
    s->region_count = def->mirrored ? count * 2 : count;
    for (int32_t r = 0; r < s->region_count; r++) {
        const sup_region *region = &def->regions[r % count];
        bool right = r >= count, parent_paired = region->parent >= 0 && def->regions[region->parent].paired;
        s->parent[r] = region->parent < 0 ? -1 : region->parent + (right && parent_paired ? count : 0);
        s->join[r] = region->join;
    }
    for (int32_t r = 0; r < s->region_count; r++) {
        s->reach[r] = s->join[r] > s->reach[r] ? s->join[r] : s->reach[r];
        int32_t to = s->parent[r];
        if (to >= 0 && s->join[r] > s->reach[to]) s->reach[to] = s->join[r];
    }
    double widest[SUP_REGIONS_MAX * 2] = {0.0};
    for (int32_t i = 0; i < s->solid_count; i++) {
        const solid *item = &s->solids[i];
        s->all[i / 64] |= (uint64_t)1 << (i % 64);
        if (item->blend > widest[item->region]) widest[item->region] = item->blend;
    }
    for (int32_t r = 0; r < s->region_count; r++)
        s->reach[r] += widest[r];
}

/* The shapes of `candidates` that can affect the field within `radius` of `centre`. */
static void cull(const sup_sculpture *s, const uint64_t *candidates, sup_vec3d centre, double radius, uint64_t *mask)
{
    double reach = fabs(field_value(s, candidates, centre)) + MAX_GRADIENT * radius;
    for (int w = 0; w < MASK_WORDS; w++) {
        mask[w] = 0;
        for (uint64_t bits = candidates[w]; bits != 0; bits &= bits - 1) {
            int bit = __builtin_ctzll(bits);
            const solid *item = &s->solids[w * 64 + bit];
            double near = solid_value(item, centre) - MAX_GRADIENT * radius;
            double sphere = sup_v3_distance(centre, item->centre) - item->radius - radius;
            if ((near > sphere ? near : sphere) <= reach + s->reach[item->region]) mask[w] |= (uint64_t)1 << bit;
        }
    }
}

static sup_vec3d coarse_corner(const sup_sculpture *s, int32_t index)
{
    int32_t x = index % s->coarse[0], y = index / s->coarse[0] % s->coarse[1], z = index / s->coarse[0] / s->coarse[1];
    double edge = s->block * COARSE;
    return sup_v3(s->lower.x + x * edge, s->lower.y + y * edge, s->lower.z + z * edge);
}

static const double HALF_DIAGONAL = 0.8660254037844386; /* of a cube of edge 1 */

static void cull_coarse(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_sculpture *s = work;
    double edge = s->block * COARSE;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        sup_vec3d centre = sup_v3_add(coarse_corner(s, i), sup_v3(0.5 * edge, 0.5 * edge, 0.5 * edge));
        s->coarse_value[i] = field_value(s, s->all, centre);
        cull(s, s->all, centre, edge * HALF_DIAGONAL, s->masks + (size_t)i * MASK_WORDS);
    }
}

static void cull_fine(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_sculpture *s = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        if (s->coarse_first[i] < 0) continue;
        sup_vec3d corner = coarse_corner(s, i);
        for (int32_t fine = 0; fine < COARSE * COARSE * COARSE; fine++) {
            double x = fine % COARSE + 0.5, y = fine / COARSE % COARSE + 0.5, z = fine / (COARSE * COARSE) + 0.5;
            sup_vec3d centre = sup_v3_madd(corner, s->block, sup_v3(x, y, z));
            cull(s, s->masks + (size_t)i * MASK_WORDS, centre, s->block * HALF_DIAGONAL,
                 s->masks + (size_t)(s->coarse_first[i] + fine) * MASK_WORDS);
        }
    }
}

/* Refines the coarse cells that the surface may intersect. */
static bool build_grid(sup_sculpture *s, const sup_sculpture_def *def)
{
    double extent[3] = {def->upper.x - def->lower.x, def->upper.y - def->lower.y, def->upper.z - def->lower.z};
    double largest = extent[0] > extent[1] ? extent[0] : extent[1];
    largest = extent[2] > largest ? extent[2] : largest;
    s->lower = def->lower;
    s->block = largest / 80.0;
    int32_t coarse = 1, total;
    for (int i = 0; i < 3; i++) {
        s->coarse[i] = (int32_t)ceil(extent[i] / (s->block * COARSE));
        coarse *= s->coarse[i];
    }
    s->coarse_first = sup_arena_alloc(&s->arena, (size_t)coarse, sizeof *s->coarse_first);
    s->coarse_value = sup_arena_alloc(&s->arena, (size_t)coarse, sizeof *s->coarse_value);
    s->masks = sup_arena_alloc(&s->arena, (size_t)coarse * MASK_WORDS, sizeof *s->masks);
    if (!s->coarse_first || !s->coarse_value || !s->masks) return false;
    sup_parallel(def->context, coarse, 4, cull_coarse, s);
    total = coarse;
    for (int32_t i = 0; i < coarse; i++) {
        bool met = fabs(s->coarse_value[i]) <= MAX_GRADIENT * s->block * COARSE * HALF_DIAGONAL;
        s->coarse_first[i] = met ? total : -1;
        if (met) total += COARSE * COARSE * COARSE;
    }
    uint64_t *masks = sup_arena_alloc(&s->arena, (size_t)total * MASK_WORDS, sizeof *masks);
    if (masks == NULL) return false;
    memcpy(masks, s->masks, (size_t)coarse * MASK_WORDS * sizeof *masks);
    s->masks = masks;
    sup_parallel(def->context, coarse, 4, cull_fine, s);
    return true;
}

sup_sculpture *sup_sculpture_create(const sup_sculpture_def *def)
{
    sup_arena arena = sup_arena_create(&def->context->allocator);
    sup_sculpture *s = sup_arena_alloc(&arena, 1, sizeof *s);
    if (s == NULL) return NULL;
    s->arena = arena;
    bool done = build_solids(s, def);
    build_regions(s, def);
    if (!done || !build_grid(s, def)) {
        sup_sculpture_destroy(s);
        return NULL;
    }
    return s;
}

void sup_sculpture_destroy(sup_sculpture *sculpture)
{
    if (sculpture == NULL) return;
    sup_arena arena = sculpture->arena;
    sup_arena_destroy(&arena);
}
