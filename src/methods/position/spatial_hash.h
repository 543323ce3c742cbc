/* spatial_hash.h (internal) - points in a hash table of cubic cells, cleared by a timestamp; and point-in-tet tests.
 *
 * Based on: [aburumman2016thesis] section 5.3 (spatial hashing, after Teschner et al.). The caller provides the memory
 * of the table. Hash collisions of cells cost time but give no wrong result, since callers test every point. */
#ifndef SUP_METHODS_POSITION_SPATIAL_HASH_H
#define SUP_METHODS_POSITION_SPATIAL_HASH_H

#include "base/base.h"

#include <math.h>

typedef struct sup_spatial_hash {
    float inverse;    /* 1 / edge length of a cell */
    uint32_t slots;   /* table size, a prime */
    uint32_t current; /* current timestamp: slots with another one are empty */
    uint32_t *stamp;  /* [slots] */
    int32_t *first;   /* [slots] first point */
    int32_t *next;    /* [points] next point in the same slot, or -1 */
} sup_spatial_hash;

/* Size in bytes for `points` points, a multiple of 64. */
size_t sup_spatial_hash_size(int32_t points);
void sup_spatial_hash_init(sup_spatial_hash *hash, void *memory, int32_t points, float side);
/* Restores the pointers of a copied table. */
void sup_spatial_hash_restore(sup_spatial_hash *hash, void *memory);
void sup_spatial_hash_clear(sup_spatial_hash *hash);
void sup_spatial_hash_insert(sup_spatial_hash *hash, int32_t point, const float *at);

/* Cell of a coordinate: floor, so that cells on both sides of zero have equal size; clamped to the range of int32. */
static inline int32_t sup_spatial_hash_cell(const sup_spatial_hash *hash, float coordinate)
{
    float cell = floorf(coordinate * hash->inverse);
    return cell > -1e9f && cell < 1e9f ? (int32_t)cell : cell > 0.0f ? 1000000000 : -1000000000;
}

/* First point in the slot of a cell, -1 for none; continue with `next`. */
static inline int32_t sup_spatial_hash_first(const sup_spatial_hash *hash, int32_t x, int32_t y, int32_t z)
{
    uint32_t key = ((uint32_t)x * 73856093u) ^ ((uint32_t)y * 19349663u) ^ ((uint32_t)z * 83492791u); /* eq. 5.1 */
    uint32_t slot = key % hash->slots;
    return hash->stamp[slot] == hash->current ? hash->first[slot] : -1;
}

/* Barycentric coordinates of a point in a tet. False when a coordinate is negative, or the tet is flat or inverted. */
bool sup_tet_contains(const float *const corner[4], const float *point, float coordinates[4]);

#endif
