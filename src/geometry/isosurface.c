/* isosurface.c - marching cubes on a sparse grid of blocks, with polygons traced from the signs on a cube's faces.
 *
 * On an ambiguous face inside corners are separated, a rule that both cubes of the face apply alike, so the polygons
 * are closed; each crossed grid edge has one vertex and each cube around it one polygon corner, so the mesh is
 * manifold. A polygon of a cube with an ambiguous face gets a vertex at its centre: a fan could have the same diagonal
 * as the cube on the other side of that face. */
#include "geometry/isosurface.h"

enum {
    BLOCK = 8,        /* cells along a block */
    SIDE = BLOCK + 1, /* corners along a block */
    CORNERS = SIDE * SIDE * SIDE,
    OWN_EDGES = BLOCK * BLOCK * BLOCK * 3, /* edges that start at a corner owned by the block */
    MAX_POLYGONS = 4,
    MAX_SIDES = 12
};

typedef struct cube_case {
    int8_t polygon_count;
    bool ambiguous;
    int8_t sides[MAX_POLYGONS];
    int8_t edges[MAX_POLYGONS][MAX_SIDES]; /* edge = axis * 8 + lower corner */
} cube_case;

typedef struct march {
    const sup_isosurface_def *def;
    int32_t blocks[3]; /* along each axis */
    int32_t active_count;
    int32_t *active_of;                     /* [blocks] index of an active block, -1 for none */
    int32_t *block_of;                      /* [active_count] */
    float *centre;                          /* [blocks] field at the centre of a block */
    float *values;                          /* [active_count*CORNERS] */
    int32_t *edge_vertex;                   /* [active_count*OWN_EDGES] vertex on an edge, -1 for none */
    int32_t *vertex_first, *triangle_first; /* [active_count+1] counts, then offsets */
    cube_case cases[256];
    sup_surface *surface;
    bool cracked;
} march;

/* The corners of the six faces, counter-clockwise seen from outside; a corner is x + 2 y + 4 z. */
static const int8_t face_corners[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                          {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};

static int edge_between(int a, int b)
{
    int low = a < b ? a : b, difference = a ^ b;
    return (difference == 1 ? 0 : difference == 2 ? 8 : 16) + low;
}

/* For every crossed edge of a cube the next edge of the polygon: on the face whose boundary enters the inside through
 * `edge`, the edge through which it leaves the same sequence of inside corners. */
static void follow_faces(int signs, int8_t next[24], cube_case *result)
{
    for (int f = 0; f < 6; f++) {
        const int8_t *c = face_corners[f];
        int runs = 0;
        for (int i = 0; i < 4; i++) {
            bool inside = signs >> c[i] & 1, previous = signs >> c[(i + 3) & 3] & 1;
            if (!inside || previous) continue;
            int last = i;
            while (signs >> c[(last + 1) & 3] & 1)
                last++;
            next[edge_between(c[(i + 3) & 3], c[i])] = (int8_t)edge_between(c[last & 3], c[(last + 1) & 3]);
            runs++;
        }
        if (runs > 1) result->ambiguous = true;
    }
}

static void build_case(int signs, cube_case *result)
{
    int8_t next[24];
    memset(next, -1, sizeof next);
    memset(result, 0, sizeof *result);
    follow_faces(signs, next, result);
    for (int start = 0; start < 24; start++) {
        if (next[start] < 0) continue;
        int polygon = result->polygon_count++, edge = start;
        do {
            int following = next[edge];
            result->edges[polygon][result->sides[polygon]++] = (int8_t)edge;
            next[edge] = -1;
            edge = following;
        } while (edge != start);
    }
}

static int32_t block_index(const march *m, int32_t x, int32_t y, int32_t z)
{
    return (z * m->blocks[1] + y) * m->blocks[0] + x;
}

static void block_coordinates(const march *m, int32_t block, int32_t coordinates[3])
{
    coordinates[0] = block % m->blocks[0];
    coordinates[1] = block / m->blocks[0] % m->blocks[1];
    coordinates[2] = block / m->blocks[0] / m->blocks[1];
}

/* Position of a grid corner; the same bits from every block that contains it. */
static sup_vec3d corner_position(const march *m, const int32_t coordinates[3], double x, double y, double z)
{
    const sup_isosurface_def *def = m->def;
    return sup_v3(def->lower.x + ((double)(coordinates[0] * BLOCK) + x) * def->cell,
                  def->lower.y + ((double)(coordinates[1] * BLOCK) + y) * def->cell,
                  def->lower.z + ((double)(coordinates[2] * BLOCK) + z) * def->cell);
}

static void probe_blocks(void *work, int32_t begin, int32_t end, int32_t worker)
{
    march *m = work;
    SUP_UNUSED(worker);
    for (int32_t b = begin; b < end; b++) {
        int32_t coordinates[3];
        block_coordinates(m, b, coordinates);
        m->centre[b] = (float)sup_field_value(&m->def->field,
                                              corner_position(m, coordinates, BLOCK * 0.5, BLOCK * 0.5, BLOCK * 0.5));
    }
}

static int corner_slot(int x, int y, int z)
{
    return (z * SIDE + y) * SIDE + x;
}

/* Evaluates the 27 corners of 2x2x2 cells, or sets them to the sign at the centre if the surface cannot intersect the
 * cells. */
static void sample_cells(const march *m, const int32_t coordinates[3], int gx, int gy, int gz, float *values,
                         bool *known)
{
    const sup_isosurface_def *def = m->def;
    double reach = def->slack * def->cell * 1.7320508075688772;
    double middle = sup_field_value(&def->field, corner_position(m, coordinates, gx + 1, gy + 1, gz + 1));
    bool skip = fabs(middle) > reach;
    for (int z = gz; z <= gz + 2; z++)
        for (int y = gy; y <= gy + 2; y++)
            for (int x = gx; x <= gx + 2; x++) {
                int slot = corner_slot(x, y, z);
                if (known[slot]) continue;
                if (!skip)
                    values[slot] = (float)sup_field_value(&def->field, corner_position(m, coordinates, x, y, z));
                else
                    values[slot] = (float)middle;
                known[slot] = !skip;
            }
}

static void sample_blocks(void *work, int32_t begin, int32_t end, int32_t worker)
{
    march *m = work;
    SUP_UNUSED(worker);
    for (int32_t a = begin; a < end; a++) {
        bool known[CORNERS] = {false};
        int32_t coordinates[3];
        block_coordinates(m, m->block_of[a], coordinates);
        for (int z = 0; z < BLOCK; z += 2)
            for (int y = 0; y < BLOCK; y += 2)
                for (int x = 0; x < BLOCK; x += 2)
                    sample_cells(m, coordinates, x, y, z, m->values + (size_t)a * CORNERS, known);
    }
}

static int cell_signs(const float *values, int x, int y, int z)
{
    int signs = 0;
    for (int c = 0; c < 8; c++)
        signs |= (values[corner_slot(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2))] < 0.0f) << c;
    return signs;
}

static const int axis_step[3] = {1, SIDE, SIDE *SIDE};

/* Numbers the vertices on edges of a block from 0 and counts the vertices and triangles of the block. */
static void count_blocks(void *work, int32_t begin, int32_t end, int32_t worker)
{
    march *m = work;
    SUP_UNUSED(worker);
    for (int32_t a = begin; a < end; a++) {
        const float *values = m->values + (size_t)a * CORNERS;
        int32_t *edges = m->edge_vertex + (size_t)a * OWN_EDGES;
        int32_t vertices = 0, middles = 0, triangles = 0; /* centres are numbered after the vertices on edges */
        for (int cell = 0; cell < BLOCK * BLOCK * BLOCK; cell++) {
            int x = cell % BLOCK, y = cell / BLOCK % BLOCK, z = cell / (BLOCK * BLOCK), slot = corner_slot(x, y, z);
            for (int axis = 0; axis < 3; axis++) {
                bool crossed = (values[slot] < 0.0f) != (values[slot + axis_step[axis]] < 0.0f);
                edges[cell * 3 + axis] = crossed ? vertices++ : -1;
            }
            const cube_case *c = &m->cases[cell_signs(values, x, y, z)];
            for (int p = 0; p < c->polygon_count; p++) {
                triangles += c->ambiguous ? c->sides[p] : c->sides[p] - 2;
                middles += c->ambiguous;
            }
        }
        m->vertex_first[a] = vertices + middles;
        m->triangle_first[a] = triangles;
    }
}

/* The vertex on edge `edge` of a cell of a block, -1 if the block that owns the edge has no crossing there. */
static int32_t find_vertex(const march *m, const int32_t coordinates[3], int x, int y, int z, int edge)
{
    int axis = edge / 8, corner = edge % 8;
    int at[3] = {x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2)};
    int32_t owner[3];
    for (int i = 0; i < 3; i++) {
        owner[i] = coordinates[i] + at[i] / BLOCK;
        at[i] %= BLOCK;
        if (owner[i] >= m->blocks[i]) return -1;
    }
    int32_t a = m->active_of[block_index(m, owner[0], owner[1], owner[2])];
    if (a < 0) return -1;
    int32_t local =
        m->edge_vertex[(size_t)a * OWN_EDGES + (size_t)(((at[2] * BLOCK + at[1]) * BLOCK + at[0]) * 3 + axis)];
    return local < 0 ? -1 : m->vertex_first[a] + local;
}

static void emit_vertices(const march *m, int32_t a, const int32_t coordinates[3])
{
    const float *values = m->values + (size_t)a * CORNERS;
    const int32_t *edges = m->edge_vertex + (size_t)a * OWN_EDGES;
    for (int e = 0; e < OWN_EDGES; e++) {
        if (edges[e] < 0) continue;
        int cell = e / 3, axis = e % 3, x = cell % BLOCK, y = cell / BLOCK % BLOCK, z = cell / (BLOCK * BLOCK);
        int slot = corner_slot(x, y, z);
        double f0 = (double)values[slot], f1 = (double)values[slot + axis_step[axis]];
        double t = f0 / (f0 - f1);
        t = t < 0.05 ? 0.05 : t > 0.95 ? 0.95 : t; /* separates the vertices on the edges of one corner */
        m->surface->positions[m->vertex_first[a] + edges[e]] = corner_position(
            m, coordinates, x + (axis == 0 ? t : 0.0), y + (axis == 1 ? t : 0.0), z + (axis == 2 ? t : 0.0));
    }
}

static int32_t *emit_polygon(march *m, const int32_t *corners, int sides, bool ambiguous, int32_t *middle, int32_t *out)
{
    int fan = ambiguous ? sides : sides - 2;
    if (ambiguous) {
        sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
        for (int i = 0; i < sides; i++)
            sum = sup_v3_add(sum, m->surface->positions[corners[i]]);
        m->surface->positions[*middle] = sup_v3_scale(sum, 1.0 / sides);
    }
    for (int i = 0; i < fan; i++) {
        *out++ = ambiguous ? *middle : corners[0];
        *out++ = corners[ambiguous ? i : i + 1];
        *out++ = corners[ambiguous ? (i + 1) % sides : i + 2];
    }
    *middle += ambiguous;
    return out;
}

static void emit_block(march *m, int32_t a)
{
    int32_t coordinates[3];
    block_coordinates(m, m->block_of[a], coordinates);
    const float *values = m->values + (size_t)a * CORNERS;
    int32_t *out = m->surface->triangles + (size_t)m->triangle_first[a] * 3;
    int32_t middle = m->vertex_first[a];
    for (int e = 0; e < OWN_EDGES; e++)
        middle += m->edge_vertex[(size_t)a * OWN_EDGES + (size_t)e] >= 0;
    for (int cell = 0; cell < BLOCK * BLOCK * BLOCK; cell++) {
        int x = cell % BLOCK, y = cell / BLOCK % BLOCK, z = cell / (BLOCK * BLOCK);
        const cube_case *c = &m->cases[cell_signs(values, x, y, z)];
        for (int p = 0; p < c->polygon_count; p++) {
            int32_t corners[MAX_SIDES];
            for (int i = 0; i < c->sides[p]; i++) {
                corners[i] = find_vertex(m, coordinates, x, y, z, c->edges[p][i]);
                if (corners[i] < 0) {
                    m->cracked = true;
                    return;
                }
            }
            out = emit_polygon(m, corners, c->sides[p], c->ambiguous, &middle, out);
        }
    }
}

static sup_result emit(march *m, sup_error *error)
{
    int32_t vertices = 0, triangles = 0;
    for (int32_t a = 0; a <= m->active_count; a++) {
        int32_t v = a < m->active_count ? m->vertex_first[a] : 0, t = a < m->active_count ? m->triangle_first[a] : 0;
        m->vertex_first[a] = vertices;
        m->triangle_first[a] = triangles;
        vertices += v;
        triangles += t;
    }
    if (!sup_surface_allocate(m->surface, &m->def->context->allocator, vertices, triangles))
        return sup_fail_memory(error, "a surface");
    for (int32_t a = 0; a < m->active_count; a++) {
        int32_t coordinates[3];
        block_coordinates(m, m->block_of[a], coordinates);
        emit_vertices(m, a, coordinates);
    }
    for (int32_t a = 0; a < m->active_count && !m->cracked; a++)
        emit_block(m, a);
    if (m->cracked)
        return sup_fail(
            error, SUP_ERROR_NUMERIC, "isosurface.cracked", "",
            "The field is steeper than its slack of %g, so that the surface would have cracks: increase the slack.",
            m->def->slack);
    return SUP_OK;
}

static sup_result march_active(march *m, sup_arena *arena, sup_error *error)
{
    const sup_context *context = m->def->context;
    size_t active = (size_t)m->active_count;
    m->values = sup_arena_alloc(arena, active * CORNERS, sizeof *m->values);
    m->edge_vertex = sup_arena_alloc(arena, active * OWN_EDGES, sizeof *m->edge_vertex);
    m->vertex_first = sup_arena_alloc(arena, active + 1, sizeof *m->vertex_first);
    m->triangle_first = sup_arena_alloc(arena, active + 1, sizeof *m->triangle_first);
    if (!m->values || !m->edge_vertex || !m->vertex_first || !m->triangle_first)
        return sup_fail_memory(error, "a surface");
    sup_parallel(context, m->active_count, 4, sample_blocks, m);
    sup_parallel(context, m->active_count, 16, count_blocks, m);
    return emit(m, error);
}

static sup_result march_all(march *m, sup_arena *arena, sup_error *error)
{
    const sup_isosurface_def *def = m->def;
    double extent[3] = {def->upper.x - def->lower.x, def->upper.y - def->lower.y, def->upper.z - def->lower.z};
    double total = 1.0;
    for (int i = 0; i < 3; i++) {
        double blocks = ceil(extent[i] / (def->cell * BLOCK));
        total *= blocks;
        if (!(blocks >= 1.0 && total < 1e7))
            return sup_fail(error, SUP_ERROR_ARGUMENT, "isosurface.grid", "",
                            "The box of the surface with cells of %g gives no usable grid: the cells are too small or "
                            "the box is empty.",
                            def->cell);
        m->blocks[i] = (int32_t)blocks;
    }
    int32_t count = (int32_t)total;
    m->active_of = sup_arena_alloc(arena, (size_t)count, sizeof *m->active_of);
    m->block_of = sup_arena_alloc(arena, (size_t)count, sizeof *m->block_of);
    m->centre = sup_arena_alloc(arena, (size_t)count, sizeof *m->centre);
    if (!m->active_of || !m->block_of || !m->centre) return sup_fail_memory(error, "a surface");
    sup_parallel(def->context, count, 64, probe_blocks, m);
    double reach = def->slack * def->cell * BLOCK * 0.5 * 1.7320508075688772;
    for (int32_t b = 0; b < count; b++) {
        m->active_of[b] = fabs((double)m->centre[b]) <= reach ? m->active_count : -1;
        if (m->active_of[b] >= 0) m->block_of[m->active_count++] = b;
    }
    for (int signs = 0; signs < 256; signs++)
        build_case(signs, &m->cases[signs]);
    return march_active(m, arena, error);
}

sup_result sup_isosurface(const sup_isosurface_def *def, sup_surface *surface, sup_error *error)
{
    march m = {.def = def, .surface = surface};
    memset(surface, 0, sizeof *surface);
    sup_isosurface_def halved = *def;
    if (def->half) halved.lower.x = 0.0;
    m.def = &halved;
    sup_arena arena = sup_arena_create(&def->context->allocator);
    sup_result result = march_all(&m, &arena, error);
    sup_arena_destroy(&arena);
    if (result != SUP_OK) sup_surface_free(surface);
    return result;
}

sup_vec3d sup_field_slope(const sup_field *field, sup_vec3d p, double step, double *mean)
{
    double a = sup_field_value(field, sup_v3(p.x + step, p.y - step, p.z - step));
    double b = sup_field_value(field, sup_v3(p.x - step, p.y - step, p.z + step));
    double c = sup_field_value(field, sup_v3(p.x - step, p.y + step, p.z - step));
    double d = sup_field_value(field, sup_v3(p.x + step, p.y + step, p.z + step));
    *mean = 0.25 * (a + b + c + d);
    return sup_v3_scale(sup_v3(a - b - c + d, -a - b + c + d, -a + b - c + d), 0.25 / step);
}

bool sup_surface_allocate(sup_surface *surface, const sup_allocator *allocator, int32_t vertices, int32_t triangles)
{
    memset(surface, 0, sizeof *surface);
    surface->allocator = *allocator;
    surface->vertex_capacity = (size_t)vertices * sizeof *surface->positions;
    surface->triangle_capacity = (size_t)triangles * 3 * sizeof *surface->triangles;
    surface->positions = sup_alloc(allocator, surface->vertex_capacity);
    surface->triangles = sup_alloc(allocator, surface->triangle_capacity);
    surface->vertex_count = vertices;
    surface->triangle_count = triangles;
    if (surface->positions != NULL && surface->triangles != NULL) return true;
    sup_surface_free(surface);
    return false;
}

void sup_surface_free(sup_surface *surface)
{
    if (surface->positions) sup_free(&surface->allocator, surface->positions, surface->vertex_capacity);
    if (surface->triangles) sup_free(&surface->allocator, surface->triangles, surface->triangle_capacity);
    memset(surface, 0, sizeof *surface);
}

sup_result sup_surface_mirror(sup_surface *half, sup_error *error)
{
    int32_t off_plane = 0;
    for (int32_t v = 0; v < half->vertex_count; v++)
        off_plane += half->positions[v].x != 0.0;
    sup_surface whole;
    size_t twin_size = (size_t)half->vertex_count * sizeof(int32_t);
    int32_t *twin = sup_alloc(&half->allocator, twin_size);
    if (twin == NULL ||
        !sup_surface_allocate(&whole, &half->allocator, half->vertex_count + off_plane, half->triangle_count * 2)) {
        if (twin) sup_free(&half->allocator, twin, twin_size);
        return sup_fail_memory(error, "a surface");
    }
    int32_t next = half->vertex_count;
    for (int32_t v = 0; v < half->vertex_count; v++) {
        sup_vec3d p = half->positions[v];
        twin[v] = p.x != 0.0 ? next++ : v;
        whole.positions[v] = p;
        whole.positions[twin[v]] = sup_v3(p.x != 0.0 ? -p.x : 0.0, p.y, p.z);
    }
    for (int32_t t = 0; t < half->triangle_count; t++) {
        const int32_t *from = half->triangles + (size_t)t * 3;
        int32_t *same = whole.triangles + (size_t)t * 3, *mirrored = same + (size_t)half->triangle_count * 3;
        for (int i = 0; i < 3; i++) {
            same[i] = from[i];
            mirrored[2 - i] = twin[from[i]];
        }
    }
    sup_free(&half->allocator, twin, twin_size);
    sup_surface_free(half);
    *half = whole;
    return SUP_OK;
}
