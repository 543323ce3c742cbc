/* lattice.c - the octree, its balancing, and the tetrahedra between its leaves; see lattice.h for the paper. */
#include "volume/lattice.h"

enum { ROOT_BLOCK = 4, NONE = -1 }; /* roots along a block that is kept or skipped as a whole */

static const double root_limit = 16e6; /* maximum number of roots of the whole box */

/* --- Octree --- */
static sup_lattice_cell *cell_at(const sup_lattice *l, int32_t index)
{
    return (sup_lattice_cell *)(void *)l->cells.data + index;
}

static int32_t side_of(const sup_lattice_cell *cell)
{
    return SUP_LATTICE_BASE >> cell->level;
}

/* The leaf that contains a point given in units, NONE if there is none. */
static int32_t find_leaf(const sup_lattice *l, const int32_t p[3])
{
    int32_t at[3];
    for (int k = 0; k < 3; k++) {
        if (p[k] < 0) return NONE;
        at[k] = p[k] / SUP_LATTICE_BASE;
        if (at[k] >= l->size[k]) return NONE;
    }
    int32_t index = l->root[((size_t)at[2] * (size_t)l->size[1] + (size_t)at[1]) * (size_t)l->size[0] + (size_t)at[0]];
    while (index >= 0 && cell_at(l, index)->child >= 0) {
        const sup_lattice_cell *cell = cell_at(l, index);
        int32_t half = side_of(cell) / 2, child = cell->child;
        for (int k = 0; k < 3; k++)
            child += (p[k] >= cell->at[k] + half) << k;
        index = child;
    }
    return index;
}

static bool split(sup_lattice *l, int32_t index)
{
    int32_t first = (int32_t)l->cells.count;
    sup_lattice_cell *children = sup_array_push(&l->allocator, &l->cells, 8);
    if (children == NULL) return false;
    sup_lattice_cell *parent = cell_at(l, index);
    for (int i = 0; i < 8; i++) {
        children[i] = (sup_lattice_cell){.level = parent->level + 1, .child = NONE};
        for (int k = 0; k < 3; k++)
            children[i].at[k] = parent->at[k] + (i >> k & 1) * side_of(parent) / 2;
    }
    parent->child = first;
    return true;
}

/* Splits the leaf at a point down to the level. */
static bool split_at(sup_lattice *l, const int32_t p[3], int32_t level)
{
    for (int32_t index = find_leaf(l, p); index >= 0 && cell_at(l, index)->level < level; index = find_leaf(l, p))
        if (!split(l, index)) return false;
    return true;
}

static void to_units(const sup_lattice *l, sup_vec3d p, int32_t units[3])
{
    sup_vec3d q = sup_v3_scale(sup_v3_sub(p, l->origin), 1.0 / l->unit);
    units[0] = (int32_t)q.x;
    units[1] = (int32_t)q.y;
    units[2] = (int32_t)q.z;
}

static bool make_roots(const sup_solid *solid, sup_lattice *l)
{
    double diagonal = 0.5 * 1.7320508075688772 * ROOT_BLOCK * l->base;
    for (int32_t z = 0; z < l->size[2]; z += ROOT_BLOCK)
        for (int32_t y = 0; y < l->size[1]; y += ROOT_BLOCK)
            for (int32_t x = 0; x < l->size[0]; x += ROOT_BLOCK) {
                sup_vec3d middle = sup_v3_madd(
                    l->origin, l->base, sup_v3(x + 0.5 * ROOT_BLOCK, y + 0.5 * ROOT_BLOCK, z + 0.5 * ROOT_BLOCK));
                double limit = diagonal + 2.0 * l->base;
                bool keep = sup_solid_distance(solid, middle, limit).distance < limit;
                for (int32_t i = 0; i < ROOT_BLOCK * ROOT_BLOCK * ROOT_BLOCK; i++) {
                    int32_t at[3] = {x + i % ROOT_BLOCK, y + i / ROOT_BLOCK % ROOT_BLOCK,
                                     z + i / (ROOT_BLOCK * ROOT_BLOCK)};
                    size_t index =
                        ((size_t)at[2] * (size_t)l->size[1] + (size_t)at[1]) * (size_t)l->size[0] + (size_t)at[0];
                    l->root[index] = NONE;
                    if (!keep) continue;
                    sup_lattice_cell *cell = sup_array_push(&l->allocator, &l->cells, 1);
                    if (cell == NULL) return false;
                    *cell = (sup_lattice_cell){.child = NONE};
                    for (int k = 0; k < 3; k++)
                        cell->at[k] = at[k] * SUP_LATTICE_BASE;
                    l->root[index] = (int32_t)l->cells.count - 1;
                }
            }
    return true;
}

/* Splits leaves until none has a neighbour, across faces and edges, of less than half its side. New cells are appended
 * and processed in turn. */
static bool balance(sup_lattice *l)
{
    for (size_t i = 0; i < l->cells.count; i++) {
        sup_lattice_cell cell = *cell_at(l, (int32_t)i);
        if (cell.level < 2) continue; /* neighbours of a split cell are no larger than its children may have */
        int32_t side = side_of(&cell);
        for (int n = 0; n < 27; n++) {
            if (n % 3 != 1 && n / 3 % 3 != 1 && n / 9 != 1) continue; /* a corner */
            int32_t p[3] = {cell.at[0] + side / 2 + (n % 3 - 1) * side, cell.at[1] + side / 2 + (n / 3 % 3 - 1) * side,
                            cell.at[2] + side / 2 + (n / 9 - 1) * side};
            if (!split_at(l, p, cell.level - 1)) return false;
        }
    }
    return true;
}

sup_result sup_lattice_size(const sup_solid *solid, double base, int32_t size[3], sup_error *error)
{
    sup_vec3d extent = sup_v3_sub(solid->upper, solid->lower);
    const double along[3] = {extent.x, extent.y, extent.z};
    double total = 1.0;
    for (int k = 0; k < 3; k++) {
        double blocks = ceil(along[k] / (ROOT_BLOCK * base)) + 2.0;
        total *= blocks * ROOT_BLOCK;
        if (!(total <= root_limit))
            return sup_fail(error, SUP_ERROR_DATA, "lattice.size", "",
                            "The box around the skin is too large for tetrahedra of this size: remove stray shells far "
                            "from the body, or request fewer tetrahedra.");
        size[k] = (int32_t)blocks * ROOT_BLOCK;
    }
    return SUP_OK;
}

static sup_result grow(const sup_solid *solid, sup_lattice *l, sup_lattice_level_fn *level_of, const void *user,
                       sup_error *error)
{
    sup_result result = sup_lattice_size(solid, l->base, l->size, error);
    if (result != SUP_OK) return result;
    sup_vec3d middle = sup_v3_scale(sup_v3_add(solid->lower, solid->upper), 0.5);
    l->origin = sup_v3_madd(middle, -0.5 * l->base, sup_v3(l->size[0], l->size[1], l->size[2]));
    size_t total = (size_t)l->size[0] * (size_t)l->size[1] * (size_t)l->size[2];
    l->root = sup_arena_alloc(&l->arena, total, sizeof *l->root);
    if (l->root == NULL || !make_roots(solid, l)) return sup_fail_memory(error, "a lattice");
    for (int32_t i = 0; i < solid->sample_count; i++) {
        int32_t level = level_of != NULL ? level_of(user, &solid->samples[i], l->base) : 0;
        if (level <= 0) continue;
        if (level >= SUP_LATTICE_LEVELS) level = SUP_LATTICE_LEVELS - 1;
        int32_t p[3], q[3];
        to_units(l, solid->samples[i].point, p);
        to_units(l, solid->samples[i].middle, q);
        if (!split_at(l, p, level) || !split_at(l, q, level)) return sup_fail_memory(error, "a lattice");
    }
    return balance(l) ? SUP_OK : sup_fail_memory(error, "a lattice");
}

/* --- Vertices --- */
typedef struct vertex_table {
    int32_t *slot; /* [mask+1] vertex, NONE */
    size_t mask;
} vertex_table;

static size_t hash_point(const int32_t p[3])
{
    uint64_t h = (uint64_t)(uint32_t)p[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)(uint32_t)p[1] * 0xc2b2ae3d27d4eb4fu ^
                 (uint64_t)(uint32_t)p[2] * 0x165667b19e3779f9u;
    return (size_t)(h ^ h >> 29);
}

/* Slot of a point: its vertex, or a free slot. */
static size_t find_slot(const sup_lattice *l, const vertex_table *table, const int32_t p[3])
{
    size_t at = hash_point(p) & table->mask;
    while (table->slot[at] != NONE && memcmp(l->vertices + 3 * (size_t)table->slot[at], p, 3 * sizeof *p) != 0)
        at = (at + 1) & table->mask;
    return at;
}

static int32_t find_vertex(const sup_lattice *l, const vertex_table *table, const int32_t p[3])
{
    return table->slot[find_slot(l, table, p)];
}

static void add_vertex(sup_lattice *l, vertex_table *table, const int32_t p[3], int32_t level)
{
    size_t at = find_slot(l, table, p);
    if (table->slot[at] == NONE) {
        table->slot[at] = l->vertex_count;
        memcpy(l->vertices + 3 * (size_t)l->vertex_count++, p, 3 * sizeof *p);
    }
    uint8_t *known = &l->level[table->slot[at]];
    if (*known < level) *known = (uint8_t)level;
}

/* Eight corners, then the centre. */
static void leaf_point(const sup_lattice_cell *cell, int c, int32_t p[3])
{
    int32_t side = side_of(cell);
    for (int k = 0; k < 3; k++)
        p[k] = cell->at[k] + (c == 8 ? side / 2 : (c >> k & 1) * side);
}

static bool number_vertices(sup_lattice *l, sup_arena *scratch, vertex_table *table)
{
    size_t leaves = 0, size = 64;
    for (size_t i = 0; i < l->cells.count; i++)
        leaves += cell_at(l, (int32_t)i)->child < 0;
    while (size < 10 * leaves) /* about two vertices per leaf, nine for isolated leaves */
        size *= 2;
    table->slot = sup_arena_alloc(scratch, size, sizeof *table->slot);
    table->mask = size - 1;
    l->vertices = sup_arena_alloc(&l->arena, 9 * leaves, 3 * sizeof *l->vertices);
    l->level = sup_arena_alloc(&l->arena, 9 * leaves, sizeof *l->level);
    if (table->slot == NULL || l->vertices == NULL || l->level == NULL) return false;
    memset(table->slot, 0xff, size * sizeof *table->slot);
    for (size_t i = 0; i < l->cells.count; i++) {
        sup_lattice_cell cell = *cell_at(l, (int32_t)i);
        if (cell.child >= 0) continue;
        for (int c = 0; c < 9; c++) {
            int32_t p[3];
            leaf_point(&cell, c, p);
            add_vertex(l, table, p, cell.level);
        }
    }
    return true;
}

/* --- Tetrahedra --- */
typedef struct tet_writer {
    const sup_lattice *lattice;
    const vertex_table *table;
    sup_array tets; /* of int32_t[4] */
    bool failed;
} tet_writer;

static int64_t lattice_volume(const sup_lattice *l, const int32_t tet[4])
{
    int64_t d[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            d[i][k] = l->vertices[3 * (size_t)tet[i + 1] + (size_t)k] - l->vertices[3 * (size_t)tet[0] + (size_t)k];
    return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) - d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
           d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
}

static void write_tet(tet_writer *w, int32_t a, int32_t b, int32_t c, int32_t d)
{
    int32_t *tet = sup_array_push(&w->lattice->allocator, &w->tets, 1);
    if (tet == NULL) {
        w->failed = true;
        return;
    }
    const int32_t made[4] = {a, b, c, d};
    memcpy(tet, made, sizeof made);
    if (lattice_volume(w->lattice, made) < 0) {
        tet[2] = d;
        tet[3] = c;
    }
}

/* Corners of the face of a cell towards `axis`, upper or lower, in cyclic order. */
static void face_corners(const sup_lattice_cell *cell, int axis, bool upper, int32_t corners[4][3])
{
    static const int8_t walk[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    int32_t side = side_of(cell);
    for (int i = 0; i < 4; i++) {
        corners[i][axis] = cell->at[axis] + (upper ? side : 0);
        for (int k = 0; k < 2; k++)
            corners[i][(axis + 1 + k) % 3] = cell->at[(axis + 1 + k) % 3] + walk[i][k] * side;
    }
}

static int32_t centre_vertex(const tet_writer *w, const sup_lattice_cell *cell)
{
    int32_t half = side_of(cell) / 2;
    const int32_t p[3] = {cell->at[0] + half, cell->at[1] + half, cell->at[2] + half};
    return find_vertex(w->lattice, w->table, p);
}

/* Between two leaves of one size. */
static void join_equal(tet_writer *w, const sup_lattice_cell *cell, const sup_lattice_cell *other, int axis)
{
    int32_t corners[4][3], c = centre_vertex(w, cell), n = centre_vertex(w, other);
    face_corners(cell, axis, true, corners);
    for (int i = 0; i < 4; i++) {
        const int32_t *p = corners[i], *q = corners[(i + 1) & 3];
        const int32_t middle[3] = {(p[0] + q[0]) / 2, (p[1] + q[1]) / 2, (p[2] + q[2]) / 2};
        int32_t a = find_vertex(w->lattice, w->table, p), b = find_vertex(w->lattice, w->table, q);
        int32_t m = side_of(cell) > 2 ? find_vertex(w->lattice, w->table, middle) : NONE;
        if (m < 0) {
            write_tet(w, c, n, a, b);
            continue;
        }
        write_tet(w, c, n, a, m);
        write_tet(w, c, n, m, b);
    }
}

/* Between a leaf and one twice as large: both pyramids over the small face, cut along its diagonal from the middle of
 * the large face. */
static void join_larger(tet_writer *w, const sup_lattice_cell *cell, const sup_lattice_cell *larger, int axis,
                        bool upper)
{
    int32_t corners[4][3], v[4], start = 0, half = side_of(larger) / 2;
    int32_t ends[2] = {centre_vertex(w, cell), centre_vertex(w, larger)};
    face_corners(cell, axis, upper, corners);
    for (int i = 0; i < 4; i++) {
        v[i] = find_vertex(w->lattice, w->table, corners[i]);
        int y = (axis + 1) % 3, z = (axis + 2) % 3;
        if (corners[i][y] == larger->at[y] + half && corners[i][z] == larger->at[z] + half) start = i;
    }
    for (int e = 0; e < 2; e++) {
        write_tet(w, ends[e], v[start], v[(start + 1) & 3], v[(start + 2) & 3]);
        write_tet(w, ends[e], v[start], v[(start + 2) & 3], v[(start + 3) & 3]);
    }
}

static bool write_tets(sup_lattice *l, const vertex_table *table)
{
    tet_writer w = {.lattice = l, .table = table, .tets = {.item_size = 4 * sizeof(int32_t)}};
    for (size_t i = 0; i < l->cells.count; i++) {
        sup_lattice_cell cell = *cell_at(l, (int32_t)i);
        if (cell.child >= 0) continue;
        for (int d = 0; d < 6; d++) {
            int32_t side = side_of(&cell), p[3];
            for (int k = 0; k < 3; k++)
                p[k] = cell.at[k] + side / 2;
            p[d / 2] += d % 2 == 0 ? side : -side;
            int32_t other = find_leaf(l, p);
            if (other < 0) continue;
            const sup_lattice_cell *n = cell_at(l, other);
            if (n->level == cell.level && d % 2 == 0) join_equal(&w, &cell, n, d / 2);
            if (n->level == cell.level - 1) join_larger(&w, &cell, n, d / 2, d % 2 == 0);
        }
    }
    l->tet_count = (int32_t)w.tets.count;
    l->tets = w.failed ? NULL : sup_arena_copy(&l->arena, w.tets.data, w.tets.count, w.tets.item_size);
    sup_array_free(&l->allocator, &w.tets);
    return l->tets != NULL;
}

/* --- Edges --- */
/* Counting sort of the edges by their lower vertex; duplicates are found by linear search. */
static bool list_edges(sup_lattice *l, sup_arena *scratch)
{
    static const int8_t ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    size_t count = 6 * (size_t)l->tet_count;
    int32_t *first = sup_arena_alloc(scratch, (size_t)l->vertex_count + 1, sizeof *first);
    int32_t *entry = sup_arena_alloc(scratch, count, sizeof *entry); /* 6 tet + edge, by lower vertex */
    int32_t *upper = sup_arena_alloc(scratch, count, sizeof *upper); /* of an entry */
    l->tet_edges = sup_arena_alloc(&l->arena, count, sizeof *l->tet_edges);
    l->edges = sup_arena_alloc(&l->arena, count, 2 * sizeof *l->edges);
    if (first == NULL || entry == NULL || upper == NULL || l->tet_edges == NULL || l->edges == NULL) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const int32_t *tet = l->tets + 4 * (i / 6);
            int32_t a = tet[ends[i % 6][0]], b = tet[ends[i % 6][1]], low = a < b ? a : b;
            if (pass == 0) {
                first[low + 1]++;
                continue;
            }
            int32_t at = first[low]++;
            entry[at] = (int32_t)i;
            upper[at] = a < b ? b : a;
        }
        for (int32_t v = 0; v < l->vertex_count && pass == 0; v++)
            first[v + 1] += first[v];
    }
    for (int32_t v = 0, begin = 0; v < l->vertex_count; begin = first[v++]) {
        int32_t known = l->edge_count;
        for (int32_t i = begin; i < first[v]; i++) { /* a vertex has few edges: linear search */
            int32_t e = known;
            while (e < l->edge_count && l->edges[2 * (size_t)e + 1] != upper[i])
                e++;
            if (e == l->edge_count) {
                l->edges[2 * (size_t)e] = v;
                l->edges[2 * (size_t)e + 1] = upper[i];
                l->edge_count++;
            }
            l->tet_edges[entry[i]] = e;
        }
    }
    return true;
}

/* Within a leaf the nearest vertex of the body-centred cubic lattice is its centre or one of its corners. */
static int32_t nearest_vertex(const sup_lattice *l, const vertex_table *table, const sup_lattice_cell *cell,
                              sup_vec3d point)
{
    int32_t best = NONE;
    double nearest = INFINITY;
    for (int c = 0; c < 9; c++) {
        int32_t q[3];
        leaf_point(cell, c, q);
        int32_t v = find_vertex(l, table, q);
        double distance = sup_v3_distance(sup_lattice_position(l, v), point);
        if (distance >= nearest) continue;
        nearest = distance;
        best = v;
    }
    return best;
}

/* Marks the vertices nearest to the middles of samples that are thin relative to the leaf there. */
static uint8_t *mark_nearest(sup_lattice *l, const vertex_table *table, int32_t count, const sup_solid_sample *samples)
{
    uint8_t *mark = sup_arena_alloc(&l->arena, (size_t)l->vertex_count, sizeof *mark);
    for (int32_t i = 0; mark != NULL && i < count; i++) {
        int32_t p[3];
        to_units(l, samples[i].middle, p);
        int32_t leaf = find_leaf(l, p);
        if (leaf < 0) continue;
        const sup_lattice_cell *cell = cell_at(l, leaf);
        if (samples[i].thickness < SUP_LATTICE_THIN * l->unit * side_of(cell))
            mark[nearest_vertex(l, table, cell, samples[i].middle)] = 1;
    }
    return mark;
}

/* Thin features take precedence; gaps get the vertices that remain. */
static bool mark_thin(sup_lattice *l, const sup_solid *solid, const vertex_table *table)
{
    l->thread = mark_nearest(l, table, solid->sample_count, solid->samples);
    l->gap = mark_nearest(l, table, solid->gap_count, solid->gaps);
    if (l->thread == NULL || l->gap == NULL) return false;
    for (int32_t v = 0; v < l->vertex_count; v++)
        l->gap[v] = l->gap[v] && !l->thread[v];
    return true;
}

sup_result sup_lattice_create(const sup_context *context, const sup_solid *solid, double base,
                              sup_lattice_level_fn *level_of, const void *user, sup_lattice *lattice, sup_error *error)
{
    sup_lattice made = {.base = base, .unit = base / SUP_LATTICE_BASE, .allocator = context->allocator};
    made.cells.item_size = sizeof(sup_lattice_cell);
    made.arena = sup_arena_create(&context->allocator);
    sup_arena scratch = sup_arena_create(&context->allocator);
    vertex_table table = {0};
    sup_result result = grow(solid, &made, level_of, user, error);
    if (result == SUP_OK && !(number_vertices(&made, &scratch, &table) && write_tets(&made, &table) &&
                              list_edges(&made, &scratch) && mark_thin(&made, solid, &table)))
        result = sup_fail_memory(error, "a lattice");
    sup_arena_destroy(&scratch);
    if (result != SUP_OK) {
        sup_lattice_free(&made);
        return result;
    }
    *lattice = made;
    return SUP_OK;
}

void sup_lattice_free(sup_lattice *lattice)
{
    sup_array_free(&lattice->allocator, &lattice->cells);
    sup_arena_destroy(&lattice->arena);
    memset(lattice, 0, sizeof *lattice);
}
