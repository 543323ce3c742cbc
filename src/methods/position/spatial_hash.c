/* spatial_hash.c - see spatial_hash.h. */
#include "methods/position/spatial_hash.h"

/* A prime above twice the number of points, so that cells rarely share a slot. */
static uint32_t slots_for(int32_t points)
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

size_t sup_spatial_hash_size(int32_t points)
{
    return 2 * rounded((size_t)slots_for(points) * 4) + rounded((size_t)points * 4);
}

void sup_spatial_hash_restore(sup_spatial_hash *hash, void *memory)
{
    unsigned char *at = memory;
    hash->stamp = (uint32_t *)(void *)at;
    hash->first = (int32_t *)(void *)(at += rounded((size_t)hash->slots * 4));
    hash->next = (int32_t *)(void *)(at + rounded((size_t)hash->slots * 4));
}

void sup_spatial_hash_init(sup_spatial_hash *hash, void *memory, int32_t points, float side)
{
    hash->slots = slots_for(points);
    hash->inverse = side > 0.0f && isfinite(1.0f / side) ? 1.0f / side : 1.0f;
    hash->current = 0;
    sup_spatial_hash_restore(hash, memory);
    memset(hash->stamp, 0, (size_t)hash->slots * 4);
    sup_spatial_hash_clear(hash);
}

void sup_spatial_hash_clear(sup_spatial_hash *hash)
{
    if (++hash->current != 0) return;
    memset(hash->stamp, 0, (size_t)hash->slots * 4); /* once in 2^32 calls */
    hash->current = 1;
}

void sup_spatial_hash_insert(sup_spatial_hash *hash, int32_t point, const float *at)
{
    uint32_t x = (uint32_t)sup_spatial_hash_cell(hash, at[0]), y = (uint32_t)sup_spatial_hash_cell(hash, at[1]),
             z = (uint32_t)sup_spatial_hash_cell(hash, at[2]);
    uint32_t slot = ((x * 73856093u) ^ (y * 19349663u) ^ (z * 83492791u)) % hash->slots; /* eq. 5.1 */
    hash->next[point] = hash->stamp[slot] == hash->current ? hash->first[slot] : -1;
    hash->stamp[slot] = hash->current;
    hash->first[slot] = point;
}

static float triple(const float a[3], const float b[3], const float c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

bool sup_tet_contains(const float *const corner[4], const float *point, float coordinates[4])
{
    float e[3][3], p[3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            e[i][k] = corner[i + 1][k] - corner[0][k];
        p[k] = point[k] - corner[0][k];
    }
    float whole = triple(e[0], e[1], e[2]);
    if (!(whole > 0.0f)) return false;
    float volume[4] = {0.0f, triple(p, e[1], e[2]), triple(e[0], p, e[2]), triple(e[0], e[1], p)};
    volume[0] = whole - volume[1] - volume[2] - volume[3];
    for (int k = 0; k < 4; k++) {
        if (!(volume[k] >= 0.0f)) return false;
        coordinates[k] = volume[k] / whole;
    }
    return true;
}
