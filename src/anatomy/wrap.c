/* wrap.c - computes a distance grid, dilates, fills it by slices, erodes it, and extracts the zero surface.
 *
 * [komaritzan2022] 4.2.2 creates the wrap by hand in a modelling program (shrink-wrapping a sphere); here it is
 * computed. The dilated bones are filled in every horizontal slice, which closes the rib cage and the pelvis
 * wherever their bones form a ring, and then eroded. Near bones their own distance less an offset is used, which is
 * exact. */
#include "anatomy/wrap.h"
#include "geometry/adjacency.h"
#include "geometry/decimate.h"
#include "geometry/normals.h"

#include <math.h>

enum { BLOCK = 4, SMOOTH_PASSES = 2 };

static const float web_fraction = 0.5f; /* fraction of the distance from the bones by which webs are thickened */

/* Nodes of a box of the lattice. */
typedef struct wrap_grid {
    const sup_wrap_def *def;
    sup_vec3d lower;
    int32_t size[3], blocks[3]; /* nodes and blocks along each axis */
    size_t count;
    float *value; /* [count] */
} wrap_grid;

/* State of one group of bones. */
typedef struct wrap_group {
    wrap_grid grid;
    const sup_solid *solid;
    const double *normals; /* of the solid's vertices */
    double reach;
    unsigned char *filled;
    float *scratch;
} wrap_group;

static size_t node_at(const wrap_grid *g, int32_t x, int32_t y, int32_t z)
{
    return ((size_t)z * (size_t)g->size[1] + (size_t)y) * (size_t)g->size[0] + (size_t)x;
}

static sup_vec3d position_of(const wrap_grid *g, double x, double y, double z)
{
    return sup_v3_madd(g->lower, g->def->cell, sup_v3(x, y, z));
}

/* Signed distance by the smooth normal at the nearest point, up to `reach`; NAN if nothing is within it. */
static double signed_distance(const wrap_group *w, sup_vec3d p, double reach)
{
    sup_bvh_nearest nearest = sup_bvh_closest(&w->solid->bvh, p, reach);
    if (nearest.triangle < 0) return NAN;
    double weights[3] = {1.0 - nearest.u - nearest.v, nearest.u, nearest.v};
    sup_vec3d normal = {0.0, 0.0, 0.0};
    for (int k = 0; k < 3; k++) {
        const double *n = w->normals + 3 * (size_t)w->solid->triangles[3 * (size_t)nearest.triangle + (size_t)k];
        normal = sup_v3_madd(normal, weights[k], sup_v3(n[0], n[1], n[2]));
    }
    return sup_v3_dot(normal, sup_v3_sub(p, nearest.point)) < 0.0 ? -nearest.distance : nearest.distance;
}

/* Distances at the nodes of a block, within the reach; distant nodes get the sign of the block's centre. */
static void measure_block(const wrap_group *w, const int32_t first[3])
{
    const wrap_grid *g = &w->grid;
    int32_t last[3];
    for (int k = 0; k < 3; k++)
        last[k] = first[k] + BLOCK < g->size[k] ? first[k] + BLOCK : g->size[k];
    double half = 0.5 * (BLOCK - 1), radius = sqrt(3.0) * half * g->def->cell, far = w->reach;
    sup_vec3d middle = position_of(g, first[0] + half, first[1] + half, first[2] + half);
    bool near = sup_bvh_closest(&w->solid->bvh, middle, w->reach + radius).triangle >= 0;
    if (!near && w->solid == g->def->skin && signed_distance(w, middle, INFINITY) < 0.0) far = -w->reach;
    for (int32_t z = first[2]; z < last[2]; z++)
        for (int32_t y = first[1]; y < last[1]; y++)
            for (int32_t x = first[0]; x < last[0]; x++) {
                double d = near ? signed_distance(w, position_of(g, x, y, z), w->reach + 2.0 * radius) : far;
                g->value[node_at(g, x, y, z)] = (float)(isnan(d) ? w->reach : d);
            }
}

static void measure_blocks(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    const wrap_group *w = work;
    const int32_t *blocks = w->grid.blocks;
    for (int32_t b = begin; b < end; b++) {
        int32_t first[3] = {b % blocks[0] * BLOCK, b / blocks[0] % blocks[1] * BLOCK,
                            b / blocks[0] / blocks[1] * BLOCK};
        measure_block(w, first);
    }
}

/* Marks nodes that cannot be reached from the border of a horizontal slice as solid. */
static void fill_slice(const wrap_group *w, int32_t y, int32_t *stack, unsigned char *seen)
{
    const wrap_grid *g = &w->grid;
    int32_t width = g->size[0], depth = g->size[2], count = 0;
    memset(seen, 0, (size_t)width * (size_t)depth);
    for (int32_t z = 0; z < depth; z++)
        for (int32_t x = 0; x < width; x++) {
            bool border = x == 0 || z == 0 || x == width - 1 || z == depth - 1;
            if (!border || w->filled[node_at(g, x, y, z)]) continue;
            seen[z * width + x] = 1;
            stack[count++] = z * width + x;
        }
    while (count > 0) {
        int32_t at = stack[--count], x = at % width, z = at / width;
        const int32_t near[4][2] = {{x - 1, z}, {x + 1, z}, {x, z - 1}, {x, z + 1}};
        for (int k = 0; k < 4; k++) {
            int32_t i = near[k][0], j = near[k][1];
            if (i < 0 || j < 0 || i >= width || j >= depth || seen[j * width + i]) continue;
            if (w->filled[node_at(g, i, y, j)]) continue;
            seen[j * width + i] = 1;
            stack[count++] = j * width + i;
        }
    }
    for (int32_t z = 0; z < depth; z++)
        for (int32_t x = 0; x < width; x++)
            if (!seen[z * width + x]) w->filled[node_at(g, x, y, z)] = 1;
}

static bool fill_slices(wrap_group *w, sup_arena *arena)
{
    const wrap_grid *g = &w->grid;
    size_t slice = (size_t)g->size[0] * (size_t)g->size[2];
    int32_t *stack = sup_arena_alloc(arena, slice + 1, sizeof *stack);
    unsigned char *seen = sup_arena_alloc(arena, slice + 1, 1);
    if (stack == NULL || seen == NULL) return false;
    for (int32_t y = 0; y < g->size[1]; y++)
        fill_slice(w, y, stack, seen);
    return true;
}

/* One line of the squared distance transform: the lower envelope of parabolas (Felzenszwalb, Huttenlocher 2012). */
static void transform_line(float *values, size_t stride, int32_t count, double *line, int32_t *foot, double *from)
{
    int32_t last = -1;
    for (int32_t i = 0; i < count; i++) {
        line[i] = (double)values[(size_t)i * stride];
        if (!(line[i] < 1e9)) continue;
        double begin = -1e30;
        while (last >= 0) {
            int32_t j = foot[last];
            begin = ((line[i] + (double)i * i) - (line[j] + (double)j * j)) / (2.0 * (i - j));
            if (begin > from[last]) break;
            last--;
        }
        foot[++last] = i;
        from[last] = last == 0 ? -1e30 : begin;
    }
    if (last < 0) return;
    for (int32_t i = 0, k = 0; i < count; i++) {
        while (k < last && from[k + 1] < i)
            k++;
        double d = i - foot[k];
        values[(size_t)i * stride] = (float)(line[foot[k]] + d * d);
    }
}

/* Squared distance in cells from every node to the nearest one with value 0; all others start with a huge value. */
static bool transform(const wrap_grid *g, float *values, sup_arena *arena)
{
    int32_t longest = g->size[0] > g->size[1] ? g->size[0] : g->size[1];
    longest = longest > g->size[2] ? longest : g->size[2];
    double *line = sup_arena_alloc(arena, (size_t)longest + 1, sizeof *line);
    double *from = sup_arena_alloc(arena, (size_t)longest + 1, sizeof *from);
    int32_t *foot = sup_arena_alloc(arena, (size_t)longest + 1, sizeof *foot);
    if (line == NULL || from == NULL || foot == NULL) return false;
    size_t stride[3] = {1, (size_t)g->size[0], (size_t)g->size[0] * (size_t)g->size[1]};
    for (int axis = 0; axis < 3; axis++) {
        int u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (int32_t i = 0; i < g->size[u]; i++)
            for (int32_t j = 0; j < g->size[v]; j++)
                transform_line(values + (size_t)i * stride[u] + (size_t)j * stride[v], stride[axis], g->size[axis],
                               line, foot, from);
    }
    return true;
}

/* Mean with both neighbours along an axis. */
static void smooth_axis(const wrap_grid *g, const float *from, float *to, int axis)
{
    size_t stride[3] = {1, (size_t)g->size[0], (size_t)g->size[0] * (size_t)g->size[1]};
    size_t position[3] = {0, 0, 0};
    for (size_t i = 0; i < g->count; i++) {
        float previous = position[axis] > 0 ? from[i - stride[axis]] : from[i];
        float next = position[axis] + 1 < (size_t)g->size[axis] ? from[i + stride[axis]] : from[i];
        to[i] = 0.25f * previous + 0.5f * from[i] + 0.25f * next;
        for (int k = 0; k < 3 && ++position[k] == (size_t)g->size[k]; k++)
            position[k] = 0;
    }
}

/* Dilates, fills and erodes: writes the field of a group to `value`. */
static bool close_group(wrap_group *w, sup_arena *arena)
{
    const wrap_grid *g = &w->grid;
    const sup_wrap_def *def = g->def;
    float *depth = sup_arena_alloc(arena, g->count + 1, sizeof *depth), *other = w->scratch;
    if (depth == NULL) return false;
    for (size_t i = 0; i < g->count; i++)
        depth[i] = (double)g->value[i] < 0.5 * def->cell ? 0.0f : 1e10f;
    if (!transform(g, depth, arena)) return false;
    for (size_t i = 0; i < g->count; i++)
        w->filled[i] = sqrt((double)depth[i]) * def->cell < def->closing;
    if (!fill_slices(w, arena)) return false;
    for (size_t i = 0; i < g->count; i++)
        depth[i] = w->filled[i] ? 1e10f : 0.0f;
    if (!transform(g, depth, arena)) return false;
    double erosion = def->closing - def->offset; /* half a cell for each transform */
    for (size_t i = 0; i < g->count; i++)
        depth[i] = (float)(erosion - (sqrt((double)depth[i]) - 1.0) * def->cell);
    for (int pass = 0; pass < SMOOTH_PASSES * 3; pass++) {
        smooth_axis(g, depth, other, pass % 3);
        float *swap = depth;
        depth = other;
        other = swap;
    }
    for (size_t i = 0; i < g->count; i++) /* webs between bones are thickened, else the grid would lose them */
        g->value[i] = fminf(depth[i] - web_fraction * fmaxf(g->value[i], 0.0f), g->value[i] - (float)def->offset);
    return true;
}

static double field_value(const void *user, sup_vec3d p)
{
    const wrap_grid *g = user;
    sup_vec3d at = sup_v3_scale(sup_v3_sub(p, g->lower), 1.0 / g->def->cell);
    double position[3] = {at.x, at.y, at.z}, fraction[3];
    int32_t low[3];
    for (int k = 0; k < 3; k++) {
        position[k] = fmax(0.0, fmin(position[k], (double)g->size[k] - 1.001));
        low[k] = (int32_t)position[k];
        fraction[k] = position[k] - low[k];
    }
    double sum = 0.0;
    for (int c = 0; c < 8; c++) {
        int x = c & 1, y = c >> 1 & 1, z = c >> 2;
        double weight = (x ? fraction[0] : 1.0 - fraction[0]) * (y ? fraction[1] : 1.0 - fraction[1]) *
                        (z ? fraction[2] : 1.0 - fraction[2]);
        sum += weight * (double)g->value[node_at(g, low[0] + x, low[1] + y, low[2] + z)];
    }
    return sum;
}

/* The nodes of the lattice around a box. */
static sup_result make_grid(wrap_grid *g, sup_vec3d lower, sup_vec3d upper, double padding, sup_arena *arena,
                            sup_error *error)
{
    double low[3] = {lower.x, lower.y, lower.z}, high[3] = {upper.x, upper.y, upper.z}, cell = g->def->cell;
    double total = 1.0;
    for (int k = 0; k < 3; k++) {
        low[k] = floor((low[k] - padding) / cell);
        double nodes = ceil((high[k] + padding) / cell) - low[k] + 1.0;
        total *= nodes;
        if (!(total < 3e8))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.wrap.large", "",
                            "The bones are too large for a wrap: use metres, and remove distant vertices.");
        g->size[k] = (int32_t)nodes;
        g->blocks[k] = (g->size[k] + BLOCK - 1) / BLOCK;
    }
    g->lower = sup_v3(low[0] * cell, low[1] * cell, low[2] * cell);
    g->count = (size_t)total;
    g->value = sup_arena_alloc(arena, g->count + 1, sizeof *g->value);
    return g->value != NULL ? SUP_OK : sup_fail_memory(error, "a skeleton wrap");
}

/* Distances from one solid on its grid. */
static sup_result measure(const sup_context *context, wrap_group *w, sup_arena *arena, sup_error *error)
{
    const sup_solid *s = w->solid;
    double *normals = sup_arena_alloc(arena, 3 * (size_t)s->vertex_count + 1, sizeof *normals);
    if (normals == NULL) return sup_fail_memory(error, "a skeleton wrap");
    sup_vertex_normals(s->vertex_count, s->positions, s->triangle_count, s->triangles, NULL, normals);
    w->normals = normals;
    const int32_t *blocks = w->grid.blocks;
    sup_parallel(context, blocks[0] * blocks[1] * blocks[2], 16, measure_blocks, w);
    return SUP_OK;
}

/* Computes the field of one group and combines it with that of all by the minimum. */
static sup_result add_group(const sup_context *context, const sup_solid *solid, wrap_grid *all, sup_error *error)
{
    const sup_wrap_def *def = all->def;
    sup_arena arena = sup_arena_create(&context->allocator);
    wrap_group w = {.grid = {.def = def}, .solid = solid, .reach = 2.0 * def->cell};
    double padding = def->closing + 3.0 * def->cell;
    sup_result result = make_grid(&w.grid, solid->lower, solid->upper, padding, &arena, error);
    if (result == SUP_OK) result = measure(context, &w, &arena, error);
    if (result == SUP_OK) {
        w.filled = sup_arena_alloc(&arena, w.grid.count + 1, 1);
        w.scratch = sup_arena_alloc(&arena, w.grid.count + 1, sizeof *w.scratch);
        if (w.filled == NULL || w.scratch == NULL || !close_group(&w, &arena))
            result = sup_fail_memory(error, "a skeleton wrap");
    }
    sup_vec3d shift = sup_v3_scale(sup_v3_sub(w.grid.lower, all->lower), 1.0 / def->cell);
    int32_t by[3] = {(int32_t)lround(shift.x), (int32_t)lround(shift.y), (int32_t)lround(shift.z)};
    for (int32_t z = 0; result == SUP_OK && z < w.grid.size[2]; z++)
        for (int32_t y = 0; y < w.grid.size[1]; y++)
            for (int32_t x = 0; x < w.grid.size[0]; x++) {
                float *to = &all->value[node_at(all, x + by[0], y + by[1], z + by[2])];
                *to = fminf(*to, w.grid.value[node_at(&w.grid, x, y, z)]);
            }
    sup_arena_destroy(&arena);
    return result;
}

/* Intersects the field with the skin, and keeps it close enough to zero that no block is skipped. */
static sup_result clip_to_skin(const sup_context *context, wrap_grid *all, sup_error *error)
{
    const sup_wrap_def *def = all->def;
    sup_arena arena = sup_arena_create(&context->allocator);
    wrap_group w = {.grid = *all, .solid = def->skin, .reach = def->margin + def->cell};
    w.grid.value = sup_arena_alloc(&arena, all->count + 1, sizeof *w.grid.value);
    sup_result result = w.grid.value != NULL ? SUP_OK : sup_fail_memory(error, "a skeleton wrap");
    if (result == SUP_OK) result = measure(context, &w, &arena, error);
    for (size_t i = 0; result == SUP_OK && i < all->count; i++) {
        double value = fmax((double)all->value[i], (double)w.grid.value[i] + def->margin);
        all->value[i] = (float)fmax(-def->cell, fmin(def->cell, value));
    }
    sup_arena_destroy(&arena);
    return result;
}

static sup_result build_field(const sup_context *context, wrap_grid *all, sup_arena *arena, sup_error *error)
{
    const sup_wrap_def *def = all->def;
    sup_vec3d lower = def->groups[0].lower, upper = def->groups[0].upper;
    for (int32_t i = 1; i < def->group_count; i++) {
        const sup_solid *s = &def->groups[i];
        lower = sup_v3(fmin(lower.x, s->lower.x), fmin(lower.y, s->lower.y), fmin(lower.z, s->lower.z));
        upper = sup_v3(fmax(upper.x, s->upper.x), fmax(upper.y, s->upper.y), fmax(upper.z, s->upper.z));
    }
    sup_result result = make_grid(all, lower, upper, def->closing + 3.0 * def->cell, arena, error);
    for (size_t i = 0; result == SUP_OK && i < all->count; i++)
        all->value[i] = (float)def->closing;
    for (int32_t i = 0; i < def->group_count && result == SUP_OK; i++)
        result = add_group(context, &def->groups[i], all, error);
    if (result == SUP_OK) result = clip_to_skin(context, all, error);
    return result;
}

/* Keeps components that face outward and have a minimum fraction of the largest volume: no cavities, no small
 * fragments. */
static sup_result keep_components(const wrap_grid *g, sup_surface *s, sup_error *error)
{
    sup_arena arena = sup_arena_create(&s->allocator);
    int32_t *component = sup_arena_alloc(&arena, (size_t)s->vertex_count + 1, sizeof *component);
    int32_t *number = sup_arena_alloc(&arena, (size_t)s->vertex_count + 1, sizeof *number);
    double *volume = sup_arena_alloc(&arena, (size_t)s->vertex_count + 1, sizeof *volume);
    if (component == NULL || number == NULL || volume == NULL) {
        sup_arena_destroy(&arena);
        return sup_fail_memory(error, "a skeleton wrap");
    }
    int32_t components = sup_mesh_components(s->vertex_count, s->triangle_count, s->triangles, component);
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangles + 3 * (size_t)t;
        sup_vec3d a = sup_v3_sub(s->positions[c[0]], g->lower), b = sup_v3_sub(s->positions[c[1]], g->lower);
        volume[component[c[0]]] += sup_v3_dot(a, sup_v3_cross(b, sup_v3_sub(s->positions[c[2]], g->lower)));
    }
    double largest = 0.0;
    for (int32_t i = 0; i < components; i++)
        largest = fmax(largest, volume[i]);
    int32_t vertices = 0, triangles = 0;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        bool kept = component[v] >= 0 && volume[component[v]] > 1e-4 * largest;
        number[v] = kept ? vertices : -1;
        if (kept) s->positions[vertices++] = s->positions[v];
    }
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangles + 3 * (size_t)t;
        if (number[c[0]] < 0) continue;
        int32_t kept[3] = {number[c[0]], number[c[1]], number[c[2]]};
        memcpy(s->triangles + 3 * (size_t)triangles++, kept, sizeof kept);
    }
    s->vertex_count = vertices;
    s->triangle_count = triangles;
    sup_arena_destroy(&arena);
    return SUP_OK;
}

static sup_result thin_out(const sup_context *context, int32_t target, sup_surface *s, sup_error *error)
{
    if (s->vertex_count <= target) return SUP_OK;
    size_t bytes = sup_size_multiply(3 * (size_t)s->vertex_count, sizeof(float));
    float *positions = sup_alloc(&context->allocator, bytes);
    if (positions == NULL) return sup_fail_memory(error, "a skeleton wrap");
    for (int32_t v = 0; v < s->vertex_count; v++)
        sup_v3_store(positions + 3 * (size_t)v, s->positions[v]);
    sup_decimate_def def = {.vertex_target = target};
    sup_decimated thin;
    sup_result result =
        sup_decimate(context, s->vertex_count, positions, s->triangle_count, s->triangles, &def, &thin, error);
    if (result == SUP_OK) {
        for (int32_t v = 0; v < thin.vertex_count; v++)
            s->positions[v] = s->positions[thin.vertices[v]]; /* ascending */
        memcpy(s->triangles, thin.triangles, 3 * (size_t)thin.triangle_count * sizeof *thin.triangles);
        s->vertex_count = thin.vertex_count;
        s->triangle_count = thin.triangle_count;
        sup_decimated_free(&thin);
    }
    sup_free(&context->allocator, positions, bytes);
    return result;
}

sup_result sup_wrap_create(const sup_context *context_in, const sup_wrap_def *def, sup_surface *wrap, sup_error *error)
{
    sup_context context = sup_context_resolve(context_in);
    sup_arena arena = sup_arena_create(&context.allocator);
    wrap_grid all = {.def = def};
    sup_result result = build_field(&context, &all, &arena, error);
    if (result == SUP_OK) {
        sup_isosurface_def iso = {.context = &context,
                                  .field = {field_value, &all},
                                  .lower = all.lower,
                                  .upper = position_of(&all, all.size[0] - 1.0, all.size[1] - 1.0, all.size[2] - 1.0),
                                  .cell = def->cell,
                                  .slack = 2.0};
        result = sup_isosurface(&iso, wrap, error);
    }
    if (result == SUP_OK) {
        result = keep_components(&all, wrap, error);
        if (result == SUP_OK) result = thin_out(&context, def->vertex_target, wrap, error);
        if (result != SUP_OK) sup_surface_free(wrap);
    }
    sup_arena_destroy(&arena);
    return result;
}

sup_result sup_wrap_measure(const sup_context *context, int32_t vertex_count, int32_t triangle_count,
                            const int32_t *triangles, sup_wrap_topology *topology, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_adjacency adjacency;
    sup_result result =
        sup_adjacency_create(&resolved.allocator, vertex_count, triangle_count, triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    sup_arena arena = sup_arena_create(&resolved.allocator);
    int32_t *component = sup_arena_alloc(&arena, (size_t)vertex_count + 1, sizeof *component);
    if (component == NULL) {
        result = sup_fail_memory(error, "a skeleton wrap");
    } else {
        int32_t used = 0;
        topology->components = sup_mesh_components(vertex_count, triangle_count, triangles, component);
        topology->closed = triangle_count > 0;
        for (int32_t v = 0; v < vertex_count; v++)
            used += component[v] >= 0;
        for (int32_t h = 0; h < 3 * triangle_count && topology->closed; h++)
            topology->closed = adjacency.half_twin[h] >= 0;
        topology->genus = topology->components - (used - adjacency.edge_count + triangle_count) / 2;
    }
    sup_arena_destroy(&arena);
    sup_adjacency_destroy(&adjacency);
    return result;
}
