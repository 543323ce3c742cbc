/* upsample_clusters.c - near rows into blocks of sixteen. */
#include "upsample/upsample_clusters.h"

enum { NAME_LENGTH = 32, STACK_MAX = 64 };

static const sup_upsample_way PLAIN_WAYS[] = {SUP_WAY_POSITION_X, SUP_WAY_NORMAL_N};
static const sup_upsample_way RIDING_WAYS[] = {SUP_WAY_POSITION_X, SUP_WAY_POSITION_N, SUP_WAY_NORMAL_X,
                                               SUP_WAY_NORMAL_N};
static const sup_upsample_way TANGENT_WAYS[] = {SUP_WAY_TANGENT_X, SUP_WAY_TANGENT_N};

/* Blocks that came together. Layouts as in sup_upsample_clusters. */
struct sup_subdomain_piece {
    sup_subdomain_piece *next; /* the one before */
    int32_t block_count, entry_count, ways;
    int32_t *row_vertex, *first, *index;
    int16_t *weights, *tangents;
    float *units, *tangent_units, *tangent_signs;
};

/* --- Order --- */
typedef struct sorting {
    const float *points;
    int32_t *items, axis;
    sup_random random;
} sorting;

static bool is_before(const sorting *s, int32_t a, int32_t b)
{
    float x = s->points[3 * (size_t)a + (size_t)s->axis], y = s->points[3 * (size_t)b + (size_t)s->axis];
    return x < y || (x == y && a < b);
}

/* Items [begin, end) so that those before `middle` are not after those from there on: quickselect. Pivots by chance, so
 * that no input is a bad one; ends with a pivot of its own each time, as items are all different. */
static void split_at(sorting *s, int32_t begin, int32_t end, int32_t middle)
{
    while (end - begin > 1) {
        int32_t pivot = s->items[begin + (int32_t)(sup_random_u32(&s->random) % (uint32_t)(end - begin))];
        int32_t low = begin, high = end - 1;
        while (low <= high) {
            while (is_before(s, s->items[low], pivot))
                low++;
            while (is_before(s, pivot, s->items[high]))
                high--;
            if (low > high) break;
            int32_t swapped = s->items[low];
            s->items[low++] = s->items[high];
            s->items[high--] = swapped;
        }
        if (middle <= high)
            end = high + 1;
        else if (middle >= low)
            begin = low;
        else
            return;
    }
}

static int32_t longest_axis(const sorting *s, int32_t begin, int32_t end)
{
    float lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = begin; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            float x = s->points[3 * (size_t)s->items[i] + k];
            lower[k] = x < lower[k] ? x : lower[k];
            upper[k] = x > upper[k] ? x : upper[k];
        }
    int32_t axis = 0;
    for (int32_t k = 1; k < 3; k++)
        if (upper[k] - lower[k] > upper[axis] - lower[axis]) axis = k;
    return axis;
}

void sup_upsample_order(const float *points, int32_t *items, int32_t count, int32_t leaf)
{
    sorting s = {.points = points, .items = items, .random = {1}};
    int32_t stack[STACK_MAX][2], depth = 0; /* a range is halved: fewer than 32 wait */
    stack[depth][0] = 0;
    stack[depth++][1] = count;
    while (depth > 0) {
        int32_t begin = stack[--depth][0], end = stack[depth][1];
        if (end - begin <= leaf) continue;
        int32_t leaves = (end - begin + leaf - 1) / leaf, middle = begin + leaves / 2 * leaf;
        s.axis = longest_axis(&s, begin, end);
        split_at(&s, begin, end, middle);
        stack[depth][0] = middle;
        stack[depth++][1] = end;
        stack[depth][0] = begin;
        stack[depth++][1] = middle;
    }
}

/* --- Blocks --- */
bool sup_subdomains_open(sup_arena *arena, int32_t coarse_count, bool has_tangents, sup_subdomain_maker *maker)
{
    *maker = (sup_subdomain_maker){.arena = arena, .coarse_count = coarse_count, .has_tangents = has_tangents};
    maker->slot = sup_arena_alloc(arena, (size_t)coarse_count, sizeof *maker->slot);
    for (int32_t i = 0; maker->slot != NULL && i < coarse_count; i++)
        maker->slot[i] = -1;
    return maker->slot != NULL;
}

/* Rows of the block that starts at `at` in the list. */
static int32_t rows_of_block(int32_t count, int32_t at)
{
    return count - at < SUP_UPSAMPLE_CLUSTER ? count - at : SUP_UPSAMPLE_CLUSTER;
}

/* The coarse vertices that rows of a block have, each once, into `index`; slot[] tells where. */
static int32_t merge_neighbours(const sup_subdomain_maker *maker, const sup_upsample_row *rows, const int32_t *list,
                                int32_t count, int32_t *index)
{
    int32_t found = 0;
    for (int32_t r = 0; r < count; r++)
        for (int32_t i = 0; i < rows[list[r]].count; i++) {
            int32_t coarse = rows[list[r]].coarse[i];
            if (maker->slot[coarse] >= 0) continue;
            maker->slot[coarse] = found;
            index[found++] = coarse;
        }
    return found;
}

static void forget_neighbours(const sup_subdomain_maker *maker, const int32_t *index, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        maker->slot[index[i]] = -1;
}

static bool reserve_piece(const sup_subdomain_maker *maker, sup_subdomain_piece *piece)
{
    size_t blocks = (size_t)piece->block_count, entries = (size_t)piece->entry_count, ways = (size_t)piece->ways;
    piece->row_vertex = sup_arena_alloc(maker->arena, blocks * SUP_UPSAMPLE_CLUSTER, sizeof *piece->row_vertex);
    piece->first = sup_arena_alloc(maker->arena, blocks, sizeof *piece->first);
    piece->index = sup_arena_alloc(maker->arena, entries, sizeof *piece->index);
    piece->weights = sup_arena_alloc(maker->arena, entries * ways * SUP_UPSAMPLE_CLUSTER, sizeof *piece->weights);
    piece->units = sup_arena_alloc(maker->arena, blocks * ways * SUP_UPSAMPLE_CLUSTER, sizeof *piece->units);
    bool ok = piece->row_vertex != NULL && piece->first != NULL && piece->index != NULL && piece->weights != NULL &&
              piece->units != NULL;
    if (!ok || !maker->has_tangents) return ok;
    piece->tangents = sup_arena_alloc(maker->arena, entries * 2 * SUP_UPSAMPLE_CLUSTER, sizeof *piece->tangents);
    piece->tangent_units = sup_arena_alloc(maker->arena, blocks * 2 * SUP_UPSAMPLE_CLUSTER, sizeof *piece->tangent_units);
    piece->tangent_signs = sup_arena_alloc(maker->arena, blocks * SUP_UPSAMPLE_CLUSTER, sizeof *piece->tangent_signs);
    return piece->tangents != NULL && piece->tangent_units != NULL && piece->tangent_signs != NULL;
}

/* Some ways of a row into lane `lane` of its block, whose entries and units start at `weights` and `units`. */
static void spread_row(const sup_subdomain_maker *maker, const sup_upsample_row *row, int32_t lane,
                       const sup_upsample_way *ways, int32_t way_count, int16_t *weights, float *units)
{
    for (int32_t w = 0; w < way_count; w++) {
        units[w * SUP_UPSAMPLE_CLUSTER + lane] = row->units[ways[w]];
        for (int32_t i = 0; i < row->count; i++) {
            size_t entry = (size_t)maker->slot[row->coarse[i]];
            weights[(entry * (size_t)way_count + (size_t)w) * SUP_UPSAMPLE_CLUSTER + (size_t)lane] = row->weights[ways[w]][i];
        }
    }
}

static void fill_block(const sup_subdomain_maker *maker, const sup_upsample_row *rows, const int32_t *list, int32_t count,
                       size_t block, sup_subdomain_piece *piece)
{
    size_t first = (size_t)piece->first[block], ways = (size_t)piece->ways;
    const sup_upsample_way *which = piece->ways == SUP_COUNT(PLAIN_WAYS) ? PLAIN_WAYS : RIDING_WAYS;
    for (int32_t lane = 0; lane < SUP_UPSAMPLE_CLUSTER; lane++)
        piece->row_vertex[block * SUP_UPSAMPLE_CLUSTER + (size_t)lane] = lane < count ? rows[list[lane]].vertex : -1;
    for (int32_t lane = 0; lane < count; lane++) {
        const sup_upsample_row *row = &rows[list[lane]];
        spread_row(maker, row, lane, which, piece->ways, piece->weights + first * ways * SUP_UPSAMPLE_CLUSTER,
                   piece->units + block * ways * SUP_UPSAMPLE_CLUSTER);
        if (!maker->has_tangents) continue;
        spread_row(maker, row, lane, TANGENT_WAYS, 2, piece->tangents + first * 2 * SUP_UPSAMPLE_CLUSTER,
                   piece->tangent_units + block * 2 * SUP_UPSAMPLE_CLUSTER);
        piece->tangent_signs[block * SUP_UPSAMPLE_CLUSTER + (size_t)lane] = row->sign;
    }
}

/* Rows of one kind, `list`, as a new piece. index: room for the neighbours of a block. */
static bool append_kind(sup_subdomain_maker *maker, const sup_upsample_row *rows, const int32_t *list, int32_t count,
                        int32_t *index, sup_subdomain_list *kind)
{
    if (count == 0) return true;
    sup_subdomain_piece *piece = sup_arena_alloc(maker->arena, 1, sizeof *piece);
    if (piece == NULL) return false;
    piece->ways = kind == &maker->plain ? SUP_COUNT(PLAIN_WAYS) : SUP_COUNT(RIDING_WAYS);
    for (int32_t at = 0; at < count; at += SUP_UPSAMPLE_CLUSTER) {
        int32_t found = merge_neighbours(maker, rows, list + at, rows_of_block(count, at), index);
        forget_neighbours(maker, index, found);
        piece->entry_count += found;
        piece->block_count++;
    }
    if (!reserve_piece(maker, piece)) return false;
    for (int32_t at = 0, block = 0, entry = 0; at < count; at += SUP_UPSAMPLE_CLUSTER, block++) {
        int32_t lanes = rows_of_block(count, at);
        piece->first[block] = entry;
        int32_t found = merge_neighbours(maker, rows, list + at, lanes, piece->index + entry);
        fill_block(maker, rows, list + at, lanes, (size_t)block, piece);
        forget_neighbours(maker, piece->index + entry, found);
        entry += found;
    }
    piece->next = kind->pieces;
    kind->pieces = piece;
    kind->block_count += piece->block_count;
    kind->entry_count += piece->entry_count;
    return true;
}

static int32_t list_kind(const sup_upsample_row *rows, int32_t row_count, bool rides, int32_t *list)
{
    int32_t count = 0;
    for (int32_t r = 0; r < row_count; r++)
        if (rows[r].is_set && rows[r].rides == rides) list[count++] = r;
    return count;
}

bool sup_subdomains_append(sup_subdomain_maker *maker, const sup_upsample_row *rows, const float *points, int32_t row_count)
{
    sup_arena scratch = sup_arena_create(&maker->arena->allocator);
    int32_t *list = sup_arena_alloc(&scratch, (size_t)row_count, sizeof *list);
    int32_t *index = sup_arena_alloc(&scratch, (size_t)SUP_UPSAMPLE_CLUSTER * SUP_MLS_MAX, sizeof *index);
    bool ok = list != NULL && index != NULL;
    for (int32_t k = 0; ok && k < 2; k++) {
        int32_t count = list_kind(rows, row_count, k == 1, list);
        sup_upsample_order(points, list, count, SUP_UPSAMPLE_CLUSTER);
        ok = append_kind(maker, rows, list, count, index, k == 0 ? &maker->plain : &maker->riding);
    }
    sup_arena_destroy(&scratch);
    return ok;
}

/* --- Arrays --- */
static void *add(sup_model_builder *builder, const char *prefix, const char *kind, const char *name,
                 sup_array_type type, int64_t count)
{
    char full[NAME_LENGTH];
    sup_format(full, sizeof full, "%s%s%s", prefix, kind, name);
    return sup_model_add(builder, full, type, count);
}

/* The arrays of one kind in a model, written from the last piece to the first. */
typedef struct kind_arrays {
    int32_t *row_vertex, *first;
    void *index;
    int16_t *weights, *tangents;
    float *units, *tangent_units, *tangent_signs;
} kind_arrays;

static bool add_arrays(const sup_subdomain_maker *maker, const sup_subdomain_list *list, int64_t ways,
                       sup_model_builder *builder, const char *prefix, const char *kind, kind_arrays *a)
{
    int64_t blocks = list->block_count, entries = list->entry_count;
    sup_array_type index_type = maker->coarse_count <= 65536 ? SUP_ARRAY_UINT16 : SUP_ARRAY_INT32;
    a->row_vertex = add(builder, prefix, kind, "rows", SUP_ARRAY_INT32, blocks * SUP_UPSAMPLE_CLUSTER);
    a->first = add(builder, prefix, kind, "first", SUP_ARRAY_INT32, blocks + 1);
    a->index = add(builder, prefix, kind, "index", index_type, entries);
    a->weights = add(builder, prefix, kind, "weights", SUP_ARRAY_UINT16, entries * ways * SUP_UPSAMPLE_CLUSTER);
    a->units = add(builder, prefix, kind, "units", SUP_ARRAY_FLOAT, blocks * ways * SUP_UPSAMPLE_CLUSTER);
    bool ok = a->row_vertex != NULL && a->first != NULL && a->index != NULL && a->weights != NULL && a->units != NULL;
    if (!ok || !maker->has_tangents) return ok;
    a->tangents = add(builder, prefix, kind, "tangents", SUP_ARRAY_UINT16, entries * 2 * SUP_UPSAMPLE_CLUSTER);
    a->tangent_units = add(builder, prefix, kind, "tan_units", SUP_ARRAY_FLOAT, blocks * 2 * SUP_UPSAMPLE_CLUSTER);
    a->tangent_signs = add(builder, prefix, kind, "tan_signs", SUP_ARRAY_FLOAT, blocks * SUP_UPSAMPLE_CLUSTER);
    return a->tangents != NULL && a->tangent_units != NULL && a->tangent_signs != NULL;
}

static void copy_piece(const sup_subdomain_maker *maker, const sup_subdomain_piece *piece, size_t block, size_t entry,
                       kind_arrays *a)
{
    size_t blocks = (size_t)piece->block_count, entries = (size_t)piece->entry_count, ways = (size_t)piece->ways;
    memcpy(a->row_vertex + block * SUP_UPSAMPLE_CLUSTER, piece->row_vertex, blocks * SUP_UPSAMPLE_CLUSTER * sizeof(int32_t));
    for (size_t i = 0; i < blocks; i++)
        a->first[block + i] = (int32_t)entry + piece->first[i];
    for (size_t i = 0; i < entries; i++) {
        if (maker->coarse_count <= 65536)
            ((uint16_t *)a->index)[entry + i] = (uint16_t)piece->index[i];
        else
            ((int32_t *)a->index)[entry + i] = piece->index[i];
    }
    memcpy(a->weights + entry * ways * SUP_UPSAMPLE_CLUSTER, piece->weights, entries * ways * SUP_UPSAMPLE_CLUSTER * sizeof(int16_t));
    memcpy(a->units + block * ways * SUP_UPSAMPLE_CLUSTER, piece->units, blocks * ways * SUP_UPSAMPLE_CLUSTER * sizeof(float));
    if (!maker->has_tangents) return;
    memcpy(a->tangents + entry * 2 * SUP_UPSAMPLE_CLUSTER, piece->tangents, entries * 2 * SUP_UPSAMPLE_CLUSTER * sizeof(int16_t));
    memcpy(a->tangent_units + block * 2 * SUP_UPSAMPLE_CLUSTER, piece->tangent_units, blocks * 2 * SUP_UPSAMPLE_CLUSTER * sizeof(float));
    memcpy(a->tangent_signs + block * SUP_UPSAMPLE_CLUSTER, piece->tangent_signs, blocks * SUP_UPSAMPLE_CLUSTER * sizeof(float));
}

bool sup_subdomains_finish(const sup_subdomain_maker *maker, sup_model_builder *builder, const char *prefix)
{
    for (int32_t k = 0; k < 2; k++) {
        const sup_subdomain_list *list = k == 0 ? &maker->plain : &maker->riding;
        kind_arrays a = {0};
        if (list->entry_count > INT32_MAX) return false;
        if (!add_arrays(maker, list, k == 0 ? SUP_COUNT(PLAIN_WAYS) : SUP_COUNT(RIDING_WAYS), builder, prefix,
                        k == 0 ? "plain_" : "riding_", &a))
            return false;
        size_t block = (size_t)list->block_count, entry = (size_t)list->entry_count;
        a.first[block] = (int32_t)entry;
        for (const sup_subdomain_piece *piece = list->pieces; piece != NULL; piece = piece->next) {
            block -= (size_t)piece->block_count;
            entry -= (size_t)piece->entry_count;
            copy_piece(maker, piece, block, entry, &a);
        }
    }
    return true;
}
