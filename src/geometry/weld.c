/* weld.c - spatial hash of leaders. The cell size is four weld distances, so that most points search only one cell; the
 * distance between leaders bounds their number per cell. */
#include "geometry/weld.h"

#include "math/vec3.h"

typedef struct weld_table {
    int32_t *head; /* [mask+1] last leader of a hash slot */
    int32_t *next; /* [count] previous leader in the same slot */
    uint64_t mask;
    const float *positions;
    const int32_t *group;
    double origin[3], inverse_cell, distance;
} weld_table;

static uint64_t slot_of(const weld_table *table, const int64_t cell[3], int32_t group)
{
    uint64_t hash = (uint64_t)cell[0] * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 29) ^ (uint64_t)cell[1]) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 32) ^ (uint64_t)cell[2]) * 0x94d049bb133111ebu;
    hash = (hash ^ (hash >> 29) ^ (uint64_t)(uint32_t)group) * 0xd6e8feb86659fd93u;
    return (hash ^ (hash >> 32)) & table->mask;
}

/* There are far fewer than 2^62 cells per axis unless the distance is extremely small; then distant cells are merged,
 * which only costs time. */
static int64_t cell_of(double coordinate)
{
    double cell = floor(coordinate);
    return cell > 4e18 ? (int64_t)4e18 : cell < -4e18 ? (int64_t)-4e18 : (int64_t)cell;
}

static bool near_enough(const weld_table *table, int32_t a, int32_t b)
{
    const float *p = table->positions + 3 * (size_t)a, *q = table->positions + 3 * (size_t)b;
    if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2]) return true;
    return sup_v3_distance(sup_v3_load(p), sup_v3_load(q)) <= table->distance;
}

/* The first leader within the weld distance of point i, or -1. */
static int32_t find_leader(const weld_table *table, int32_t i, const int64_t low[3], const int64_t high[3])
{
    int32_t group = table->group != NULL ? table->group[i] : 0, found = -1;
    int64_t cell[3];
    for (cell[0] = low[0]; cell[0] <= high[0]; cell[0]++)
        for (cell[1] = low[1]; cell[1] <= high[1]; cell[1]++)
            for (cell[2] = low[2]; cell[2] <= high[2]; cell[2]++)
                for (int32_t k = table->head[slot_of(table, cell, group)]; k >= 0; k = table->next[k]) {
                    bool same_group = table->group == NULL || table->group[k] == group;
                    if (same_group && (found < 0 || k < found) && near_enough(table, i, k)) found = k;
                }
    return found;
}

static void weld_points(weld_table *table, int32_t count, int32_t *leader)
{
    for (int32_t i = 0; i < count; i++) {
        int64_t low[3], high[3], own[3];
        for (int k = 0; k < 3; k++) {
            double x = (double)table->positions[3 * (size_t)i + (size_t)k] - table->origin[k];
            own[k] = cell_of(x * table->inverse_cell);
            low[k] = cell_of((x - table->distance) * table->inverse_cell);
            high[k] = cell_of((x + table->distance) * table->inverse_cell);
        }
        leader[i] = find_leader(table, i, low, high);
        if (leader[i] >= 0) continue;
        leader[i] = i;
        uint64_t slot = slot_of(table, own, table->group != NULL ? table->group[i] : 0);
        table->next[i] = table->head[slot];
        table->head[slot] = i;
    }
}

/* Largest extent of the points, and their lower corner. */
static double measure(int32_t count, const float *positions, double origin[3])
{
    double extent = 0.0;
    for (int k = 0; k < 3; k++) {
        double low = count > 0 ? (double)positions[k] : 0.0, high = low;
        for (int32_t i = 1; i < count; i++) {
            double x = (double)positions[3 * (size_t)i + (size_t)k];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        origin[k] = low;
        extent = high - low > extent ? high - low : extent;
    }
    return extent;
}

sup_result sup_weld(const sup_allocator *allocator, int32_t count, const float *positions, const int32_t *group,
                    double distance, int32_t *leader, sup_error *error)
{
    if (distance < 0.0) {
        for (int32_t i = 0; i < count; i++)
            leader[i] = i;
        return SUP_OK;
    }
    weld_table table = {.positions = positions, .group = group, .distance = distance, .mask = 15};
    while (table.mask < 2 * (uint64_t)(uint32_t)count)
        table.mask = 2 * table.mask + 1;
    size_t head_size = (size_t)(table.mask + 1) * sizeof(int32_t), next_size = (size_t)count * sizeof(int32_t);
    table.head = sup_alloc(allocator, head_size);
    table.next = sup_alloc(allocator, next_size);
    sup_result result = SUP_OK;
    if (table.head == NULL || table.next == NULL) {
        result = sup_fail_memory(error, "welding");
    } else {
        memset(table.head, 0xff, head_size);
        double extent = measure(count, positions, table.origin);
        double cell = distance > 0.0 ? 4.0 * distance : extent * 0x1p-24;
        table.inverse_cell = cell > 0.0 ? 1.0 / cell : 0.0;
        if (!isfinite(table.inverse_cell)) table.inverse_cell = 0.0;
        weld_points(&table, count, leader);
    }
    sup_free(allocator, table.head, head_size);
    sup_free(allocator, table.next, next_size);
    return result;
}
