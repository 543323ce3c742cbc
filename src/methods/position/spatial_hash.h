/* spatial_hash.h (internal) - points in a hash table of cubic cells, emptied by a timestamp; and which tets hold a point.
 *
 * Based on: [aburumman2016thesis] section 5.3 (spatial hashing, after Teschner et al.). The table works in memory of its
 * owner; cells that share a place in it cost time, never a wrong answer, since callers test every point. */
#ifndef SUP_METHODS_POSITION_SPATIAL_HASH_H
#define SUP_METHODS_POSITION_SPATIAL_HASH_H

#include "base/base.h"

#include <math.h>

typedef struct sup_cells {
    float inverse;   /* 1 / side of a cell */
    uint32_t places; /* a prime */
    uint32_t now;    /* timestamp: what has another one is empty */
    uint32_t *stamp; /* [places] */
    int32_t *first;  /* [places] point, or -1 */
    int32_t *next;   /* [points] */
} sup_cells;

/* Bytes for that many points, a multiple of 64. */
size_t sup_cells_size(int32_t points);
void sup_cells_start(sup_cells *cells, void *memory, int32_t points, float side);
/* Points a table that was copied at its memory again. */
void sup_cells_link(sup_cells *cells, void *memory);
void sup_cells_empty(sup_cells *cells);
void sup_cells_insert(sup_cells *cells, int32_t point, const float *at);

/* Cell of a coordinate: floor, so that cells on both sides of zero are alike; far ones are cut off, not undefined. */
static inline int32_t sup_cells_of(const sup_cells *cells, float coordinate)
{
    float cell = floorf(coordinate * cells->inverse);
    return cell > -1e9f && cell < 1e9f ? (int32_t)cell : cell > 0.0f ? 1000000000 : -1000000000;
}

/* First point in the place of a cell, -1 for none; the others follow by `next`. */
static inline int32_t sup_cells_first(const sup_cells *cells, int32_t x, int32_t y, int32_t z)
{
    uint32_t hash = ((uint32_t)x * 73856093u) ^ ((uint32_t)y * 19349663u) ^ ((uint32_t)z * 83492791u); /* eq. 5.1 */
    uint32_t place = hash % cells->places;
    return cells->stamp[place] == cells->now ? cells->first[place] : -1;
}

/* Barycentric coordinates of a point in a tet. False: a coordinate is negative, or the tet is flat or inside out. */
bool sup_tet_holds(const float *const corner[4], const float *point, float coordinates[4]);

#endif
