/* field_grid.c - compact values of the fits on grids, as coefficients of quadratic B-splines.
 *
 * Based on: [vaillant2014iso] section 4 (fields in grids) and the compact map of [vaillant2013]. */
#include "methods/implicit/field_build.h"

enum {
    BORDER = 3, /* empty layers around the kept nodes: two that must be 0, one for the ringing of the B-spline filter */
    MAX_NODES = 512 /* along an axis */
};
static const double REACH = 1.15; /* extension of the box beyond the samples, in radii */
static const double FADE = 0.35;  /* width in radii over which a field fades out at the end of its box */
static const double FLARE =
    0.5; /* fraction of the skin's excess over the radius that a region keeps inside of another */
static const double BLEND_WIDTH = 0.4; /* width in radii of the transition between two regions */
static const double CUT_SLOPE = 3.0;   /* slope of the cut-off, which leaves values deep inside unchanged */
static const double MIN_VALUE = 1e-5;  /* smaller compact values become 0 */

double sup_field_map(double value, double radius, double depth)
{
    double t = value / radius;
    if (value < 0.0 && depth > 0.0 && depth < radius) {
        double fraction = value / depth;
        t *= 1.0 + (radius / depth - 1.0) * fraction * fraction;
    }
    return sup_field_compact(t);
}

/* --- Boxes --- */

static double edge_of(const sup_field_shape *shape, int32_t axis)
{
    const double low[3] = {shape->low.x, shape->low.y, shape->low.z};
    const double high[3] = {shape->high.x, shape->high.y, shape->high.z};
    return high[axis] - low[axis];
}

/* Bytes of all nodes with `grid` nodes per radius. */
static double bytes_at(const sup_fields_state *s, double grid)
{
    double sum = 0.0;
    for (int32_t i = 0; i < s->field_count; i++) {
        const sup_field_shape *shape = &s->shapes[i];
        double product = sizeof(float), reach = shape->ellipsoid != NULL ? 0.0 : REACH;
        for (int32_t axis = 0; axis < 3; axis++)
            product *= fmin(grid * (edge_of(shape, axis) / shape->radius + 2.0 * reach) + 1 + 2 * BORDER, MAX_NODES);
        sum += product;
    }
    return sum;
}

static void set_box(sup_field_shape *shape, double grid)
{
    const double low[3] = {shape->low.x, shape->low.y, shape->low.z};
    double reach = shape->ellipsoid != NULL ? 0.0 : REACH * shape->radius, longest = 0.0;
    for (int32_t axis = 0; axis < 3; axis++)
        longest = fmax(longest, edge_of(shape, axis) + 2.0 * reach);
    shape->cell = fmax(shape->radius / grid, longest / (MAX_NODES - 2 * BORDER - 2));
    shape->origin = sup_v3(0.0, 0.0, 0.0);
    for (int32_t axis = 0; axis < 3; axis++) {
        double cells = ceil((edge_of(shape, axis) + 2.0 * reach) / shape->cell) + 2 * BORDER;
        double slack = cells * shape->cell - edge_of(shape, axis);
        shape->size[axis] = (int32_t)cells + 1;
        shape->origin = sup_v3_madd(shape->origin, low[axis] - 0.5 * slack, shape->axis[axis]);
    }
}

/* --- Values --- */

typedef struct slice {
    int32_t field, z;
} slice;

typedef struct gridding {
    sup_fields_state *state;
    slice *slices;
    const sup_field_kernels *kernels;
} gridding;

static sup_vec3d node_at(const sup_field_shape *shape, int32_t x, int32_t y, int32_t z)
{
    sup_vec3d p = sup_v3_madd(shape->origin, x * shape->cell, shape->axis[0]);
    p = sup_v3_madd(p, y * shape->cell, shape->axis[1]);
    return sup_v3_madd(p, z * shape->cell, shape->axis[2]);
}

/* 0 on the surface, -r in the middle, r at twice the size. */
static double ellipsoid_value(const sup_field_shape *shape, sup_vec3d p)
{
    const sup_field_ellipsoid *e = shape->ellipsoid;
    sup_vec3d d = sup_v3_sub(p, e->centre);
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        double coordinate = sup_v3_dot(d, e->axis[k]) / e->radius[k];
        square += coordinate * coordinate;
    }
    return (sqrt(square) - 1.0) * shape->radius;
}

static void fill_row(const gridding *g, int32_t field, int32_t y, int32_t z, float *row)
{
    const sup_fields_state *s = g->state;
    const sup_field_shape *shape = &s->shapes[field];
    if (!shape->fitted) {
        for (int32_t x = 0; x < shape->size[0]; x++) {
            sup_vec3d p = node_at(shape, x, y, z);
            row[x] = (float)(shape->ellipsoid != NULL
                                 ? ellipsoid_value(shape, p)
                                 : sup_skin_regions_distance(&s->bound->regions, field, p, NULL) - shape->radius);
        }
        return;
    }
    const sup_hrbf *fit = &s->bound->fits[field];
    for (int32_t first = 0; first < shape->size[0]; first += SUP_FIELD_LANES) {
        sup_field_points points;
        float values[SUP_FIELD_LANES];
        for (int32_t lane = 0; lane < SUP_FIELD_LANES; lane++) {
            sup_vec3d p = node_at(shape, first + lane, y, z);
            p = sup_v3_scale(sup_v3_sub(p, fit->origin), 1.0 / fit->scale);
            points.x[lane] = (float)p.x;
            points.y[lane] = (float)p.y;
            points.z[lane] = (float)p.z;
        }
        g->kernels->fit(&shape->lanes, &points, values);
        for (int32_t lane = 0; lane < SUP_FIELD_LANES && first + lane < shape->size[0]; lane++)
            row[first + lane] = values[lane] * (float)fit->scale;
    }
}

static void fill_slices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const gridding *g = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        const sup_field_shape *shape = &g->state->shapes[g->slices[i].field];
        size_t row = (size_t)shape->size[0], rows = (size_t)shape->size[1];
        for (size_t y = 0; y < rows; y++)
            fill_row(g, g->slices[i].field, (int32_t)y, g->slices[i].z,
                     shape->raw + ((size_t)g->slices[i].z * rows + y) * row);
    }
}

/* --- Nodes --- */

static size_t node_count(const int32_t size[3])
{
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

static sup_vec3d node_of(const sup_field_shape *shape, size_t i)
{
    const size_t row = (size_t)shape->size[0], rows = (size_t)shape->size[1];
    return node_at(shape, (int32_t)(i % row), (int32_t)(i / row % rows), (int32_t)(i / (row * rows)));
}

/* Far from the samples an HRBF may become negative again. No point inside of a region is farther than its radius from
 * both skin and bone: values beyond that are cut off. */
static void cut_off(const sup_fields_state *s, int32_t field)
{
    const sup_field_shape *shape = &s->shapes[field];
    const size_t count = node_count(shape->size);
    bool reaches_far = false;
    for (size_t i = 0; i < count && !reaches_far; i++)
        reaches_far = shape->raw[i] < 0.0f && sup_fields_from_core(s, field, node_of(shape, i)) > shape->radius;
    for (size_t i = 0; i < count && reaches_far; i++) {
        if ((double)shape->raw[i] >= shape->radius) continue;
        double beyond = CUT_SLOPE * (sup_fields_from_core(s, field, node_of(shape, i)) - shape->radius);
        shape->raw[i] = (float)fmax((double)shape->raw[i], beyond);
    }
}

/* The sample of a region's own skin nearest to a point; caps come first in `core`. */
static sup_vec3d nearest_own_sample(const sup_field_shape *shape, sup_vec3d p)
{
    const float x = (float)p.x, y = (float)p.y, z = (float)p.z;
    float nearest = INFINITY;
    int32_t best = 0;
    for (int32_t i = shape->cap_count; i < shape->core_count; i++) {
        float dx = shape->core[3 * i] - x, dy = shape->core[3 * i + 1] - y, dz = shape->core[3 * i + 2] - z;
        float square = dx * dx + dy * dy + dz * dz;
        if (!(square < nearest)) continue;
        nearest = square;
        best = i;
    }
    return sup_v3_load(shape->core + 3 * (size_t)best);
}

typedef struct own_skin {
    const sup_fields_state *state;
    int32_t region;
} own_skin;

static bool is_own(void *user, int32_t triangle)
{
    const own_skin *own = user;
    return sup_fields_touches(own->state, triangle, own->region);
}

/* How much a point, `width` radii from a region's bone and within `limit` of its skin, belongs to another region, in
 * [0, 1]: 1 where skin of the other region is nearer by BLEND_WIDTH of the radius, 0 where the other region's bone is
 * not nearer in units of its radius. */
static double other_region_weight(const sup_fields_state *s, int32_t field, sup_vec3d p, double width, double limit)
{
    own_skin own = {s, field};
    sup_bvh_nearest near = sup_bvh_closest(&s->bvh, p, limit);
    if (near.triangle < 0 || is_own(&own, near.triangle)) return 0.0;
    int32_t region = s->bound->regions.vertex_region[s->def->skin.triangles[3 * (size_t)near.triangle]];
    if (sup_skin_regions_distance(&s->bound->regions, region, p, NULL) >= width * s->shapes[region].radius) return 0.0;
    double farthest = near.distance + BLEND_WIDTH * s->shapes[field].radius;
    sup_bvh_nearest own_nearest = sup_bvh_closest_of(&s->bvh, p, fmin(farthest, limit), is_own, &own);
    return own_nearest.triangle < 0
               ? 1.0
               : fmin(1.0, (own_nearest.distance - near.distance) / (BLEND_WIDTH * s->shapes[field].radius));
}

/* Inside another region a field ends at its radius from the bone plus FLARE of the excess of its own nearest skin over
 * the radius. Otherwise a neck whose field continues into the chin would hold the chin back when the head turns. */
static void limit_to_region(const sup_fields_state *s, int32_t field)
{
    const sup_field_shape *shape = &s->shapes[field];
    const size_t count = node_count(shape->size);
    for (size_t i = 0; i < count; i++) {
        if ((double)shape->raw[i] >= shape->radius) continue;
        sup_vec3d p = node_of(shape, i);
        double bone = sup_skin_regions_distance(&s->bound->regions, field, p, NULL);
        if (bone - shape->radius <= fmax((double)shape->raw[i], 0.0)) continue;
        sup_vec3d own = nearest_own_sample(shape, p);
        double wide = sup_skin_regions_distance(&s->bound->regions, field, own, NULL) - shape->radius;
        double beyond = bone - shape->radius - FLARE * fmax(0.0, wide);
        if (beyond <= (double)shape->raw[i]) continue;
        double weight = other_region_weight(s, field, p, bone / shape->radius, sup_v3_distance(p, own));
        shape->raw[i] += (float)(weight * (beyond - (double)shape->raw[i]));
    }
}

/* Smoothstep from 0 at the border layers to 1 at `cells` inside. */
static double fade(int32_t at, int32_t size, double cells)
{
    double inside = (at < size - 1 - at ? at : size - 1 - at) - (BORDER - 1);
    double t = inside / cells;
    if (t <= 0.0) return 0.0;
    return t >= 1.0 ? 1.0 : t * t * t * (10.0 + t * (6.0 * t - 15.0));
}

static void make_compact(sup_field_shape *shape)
{
    const size_t count = node_count(shape->size), row = (size_t)shape->size[0], rows = (size_t)shape->size[1];
    const double cells = fmax(FADE * shape->radius / shape->cell, 1.0);
    shape->depth = 0.0;
    for (size_t i = 0; i < count; i++)
        shape->depth = fmax(shape->depth, -(double)shape->raw[i]);
    if (!shape->fitted) shape->depth = shape->radius;
    for (int32_t k = 0; k < 3; k++) {
        shape->from[k] = shape->size[k];
        shape->kept[k] = -1; /* last node, for now */
    }
    for (size_t i = 0; i < count; i++) {
        const int32_t at[3] = {(int32_t)(i % row), (int32_t)(i / row % rows), (int32_t)(i / (row * rows))};
        double value = sup_field_map((double)shape->raw[i], shape->radius, shape->depth);
        for (int32_t k = 0; k < 3 && value > 0.0; k++)
            value *= fade(at[k], shape->size[k], cells);
        shape->raw[i] = value > MIN_VALUE ? (float)value : 0.0f;
        for (int32_t k = 0; k < 3 && value > MIN_VALUE; k++) {
            shape->from[k] = at[k] < shape->from[k] ? at[k] : shape->from[k];
            shape->kept[k] = at[k] > shape->kept[k] ? at[k] : shape->kept[k];
        }
    }
    for (int32_t k = 0; k < 3; k++) {
        int32_t from = shape->from[k] - BORDER, last = shape->kept[k] + BORDER;
        from = from < 0 ? 0 : from;
        last = last >= shape->size[k] ? shape->size[k] - 1 : last;
        if (shape->kept[k] < 0) { /* the field is 0 everywhere */
            from = 0;
            last = 2 * BORDER;
        }
        shape->from[k] = from;
        shape->kept[k] = last - from + 1;
    }
}

/* Solves c[i-1] + 6 c[i] + c[i+1] = 8 v[i] along a line, c = 0 in the outer two nodes: the B-spline with coefficients c
 * then goes through the values. `pivot` [count] is scratch. */
static void filter_line(float *v, size_t stride, int32_t count, double *pivot, double *c)
{
    int32_t last = count - 3;
    for (int32_t i = 2; i <= last; i++) {
        double previous = i > 2 ? 1.0 / pivot[i - 1] : 0.0;
        pivot[i] = 6.0 - previous;
        c[i] = 8.0 * (double)v[(size_t)i * stride] - (i > 2 ? previous * c[i - 1] : 0.0);
    }
    for (int32_t i = last; i >= 2; i--) {
        c[i] = (c[i] - (i < last ? c[i + 1] : 0.0)) / pivot[i];
        v[(size_t)i * stride] = (float)c[i];
    }
    v[0] = v[stride] = v[(size_t)(count - 2) * stride] = v[(size_t)(count - 1) * stride] = 0.0f;
}

/* Moves the kept nodes to the front and computes their coefficients. */
static void make_nodes(sup_field_shape *shape)
{
    double pivot[MAX_NODES + 1], c[MAX_NODES + 1];
    const int32_t *kept = shape->kept;
    float *to = shape->raw;
    for (int32_t z = 0; z < kept[2]; z++)
        for (int32_t y = 0; y < kept[1]; y++, to += kept[0]) {
            size_t row = (size_t)(z + shape->from[2]) * (size_t)shape->size[1] + (size_t)(y + shape->from[1]);
            memmove(to, shape->raw + row * (size_t)shape->size[0] + shape->from[0], (size_t)kept[0] * sizeof *to);
        }
    const size_t x = (size_t)kept[0], y = (size_t)kept[1], z = (size_t)kept[2];
    for (size_t i = 0; i < y * z; i++)
        filter_line(shape->raw + i * x, 1, kept[0], pivot, c);
    for (size_t i = 0; i < x * z; i++)
        filter_line(shape->raw + i / x * x * y + i % x, x, kept[1], pivot, c);
    for (size_t i = 0; i < x * y; i++)
        filter_line(shape->raw + i, x * y, kept[2], pivot, c);
}

static void finish_fields(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const gridding *g = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        if (g->state->shapes[i].fitted) {
            cut_off(g->state, i);
            limit_to_region(g->state, i);
        }
        make_compact(&g->state->shapes[i]);
        make_nodes(&g->state->shapes[i]);
    }
}

/* --- Records --- */

static void set_record(const sup_field_shape *shape, int32_t first, sup_bone_field *record)
{
    sup_vec3d origin = node_at(shape, shape->from[0], shape->from[1], shape->from[2]);
    *record = (sup_bone_field){.joint = shape->joint, .first = first, .radius = (float)shape->radius};
    const double corner[3] = {origin.x, origin.y, origin.z};
    for (int32_t k = 0; k < 3; k++) {
        const double axis[3] = {shape->axis[k].x, shape->axis[k].y, shape->axis[k].z};
        record->size[k] = shape->kept[k];
        record->to_grid[4 * k + 3] = (float)(-sup_v3_dot(shape->axis[k], origin) / shape->cell);
        record->from_grid[4 * k + 3] = (float)corner[k];
        for (int32_t c = 0; c < 3; c++) {
            record->to_grid[4 * k + c] = (float)(axis[c] / shape->cell);
            record->from_grid[4 * c + k] = (float)(axis[c] * shape->cell);
        }
    }
}

static sup_result write_fields(sup_fields_state *s, sup_model_builder *builder, sup_error *error)
{
    size_t total = SUP_FIELD_PADDING, count = (size_t)s->field_count;
    for (int32_t i = 0; i < s->field_count; i++)
        total += node_count(s->shapes[i].kept);
    sup_bone_field *records =
        sup_model_add(builder, "field.record", SUP_ARRAY_BYTE, (int64_t)(count * sizeof(sup_bone_field)));
    float *nodes = sup_model_add(builder, "field.node", SUP_ARRAY_FLOAT, (int64_t)total);
    s->bound->depth = sup_arena_alloc(s->arena, count, sizeof(double));
    if (records == NULL || nodes == NULL || s->bound->depth == NULL) return sup_fail_memory(error, "the fields");
    size_t first = 0;
    for (int32_t i = 0; i < s->field_count; i++) {
        const sup_field_shape *shape = &s->shapes[i];
        size_t own = node_count(shape->kept);
        memcpy(nodes + first, shape->raw, own * sizeof *nodes);
        set_record(shape, (int32_t)first, &records[i]);
        s->bound->depth[i] = shape->depth;
        first += own;
    }
    s->bound->fields =
        (sup_fields){.field_count = s->field_count, .fields = records, .nodes = nodes, .node_count = (int64_t)total};
    return SUP_OK;
}

sup_result sup_fields_grid(sup_fields_state *s, sup_model_builder *builder, sup_error *error)
{
    gridding g = {.state = s, .kernels = sup_field_kernels_best()};
    double grid = s->def->grid, bytes = bytes_at(s, grid);
    while (bytes > s->def->memory && grid > 1.0) {
        grid *= fmin(cbrt(s->def->memory / bytes), 0.98);
        bytes = bytes_at(s, grid);
    }
    size_t slices = 0, nodes = 0;
    for (int32_t i = 0; i < s->field_count; i++) {
        set_box(&s->shapes[i], grid);
        slices += (size_t)s->shapes[i].size[2];
        nodes += node_count(s->shapes[i].size);
    }
    float *raw = nodes < INT32_MAX / 2 ? sup_arena_alloc(&s->scratch, nodes, sizeof *raw) : NULL;
    g.slices = sup_arena_alloc(&s->scratch, slices, sizeof *g.slices);
    if (raw == NULL || g.slices == NULL) return sup_fail_memory(error, "the fields");
    slices = 0;
    for (int32_t i = 0; i < s->field_count; i++) {
        s->shapes[i].raw = raw;
        raw += node_count(s->shapes[i].size);
        for (int32_t z = 0; z < s->shapes[i].size[2]; z++)
            g.slices[slices++] = (slice){i, z};
    }
    sup_parallel(s->input->context, (int32_t)slices, 1, fill_slices, &g);
    sup_parallel(s->input->context, s->field_count, 1, finish_fields, &g);
    return write_fields(s, builder, error);
}
