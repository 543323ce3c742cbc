/* spatial_hash.c - see spatial_hash.h. */
#include "methods/position/spatial_hash.h"

/* A prime above twice the points, so that a place seldom holds two cells. */
static uint32_t places_for(int32_t points)
{
    uint32_t n = 2 * (uint32_t)(points > 8 ? points : 8) + 1;
    for (;; n += 2) {
        bool prime = true;
        for (uint32_t d = 3; prime && (uint64_t)d * d <= n; d += 2)
            prime = n % d != 0;
        if (prime) return n;
    }
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t sup_cells_size(int32_t points)
{
    return 2 * rounded((size_t)places_for(points) * 4) + rounded((size_t)points * 4);
}

void sup_cells_link(sup_cells *cells, void *memory)
{
    unsigned char *at = memory;
    cells->stamp = (uint32_t *)(void *)at;
    cells->first = (int32_t *)(void *)(at += rounded((size_t)cells->places * 4));
    cells->next = (int32_t *)(void *)(at + rounded((size_t)cells->places * 4));
}

void sup_cells_start(sup_cells *cells, void *memory, int32_t points, float side)
{
    cells->places = places_for(points);
    cells->inverse = side > 0.0f && isfinite(1.0f / side) ? 1.0f / side : 1.0f;
    cells->now = 0;
    sup_cells_link(cells, memory);
    memset(cells->stamp, 0, (size_t)cells->places * 4);
    sup_cells_empty(cells);
}

void sup_cells_empty(sup_cells *cells)
{
    if (++cells->now != 0) return;
    memset(cells->stamp, 0, (size_t)cells->places * 4); /* once in four thousand million times */
    cells->now = 1;
}

void sup_cells_insert(sup_cells *cells, int32_t point, const float *at)
{
    uint32_t x = (uint32_t)sup_cells_of(cells, at[0]), y = (uint32_t)sup_cells_of(cells, at[1]),
             z = (uint32_t)sup_cells_of(cells, at[2]);
    uint32_t place = ((x * 73856093u) ^ (y * 19349663u) ^ (z * 83492791u)) % cells->places; /* eq. 5.1 */
    cells->next[point] = cells->stamp[place] == cells->now ? cells->first[place] : -1;
    cells->stamp[place] = cells->now;
    cells->first[place] = point;
}

static float triple(const float a[3], const float b[3], const float c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

bool sup_tet_holds(const float *const corner[4], const float *point, float coordinates[4])
{
    float e[3][3], p[3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            e[i][k] = corner[i + 1][k] - corner[0][k];
        p[k] = point[k] - corner[0][k];
    }
    float whole = triple(e[0], e[1], e[2]);
    if (!(whole > 0.0f)) return false;
    float part[4] = {0.0f, triple(p, e[1], e[2]), triple(e[0], p, e[2]), triple(e[0], e[1], p)};
    part[0] = whole - part[1] - part[2] - part[3];
    for (int k = 0; k < 4; k++) {
        if (!(part[k] >= 0.0f)) return false;
        coordinates[k] = part[k] / whole;
    }
    return true;
}
