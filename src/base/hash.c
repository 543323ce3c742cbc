/* hash.c - hashes, checksums and deterministic random numbers. */
#include "base/base.h"

/* FNV-1a over 8-byte words with a final mix: fast enough for whole meshes; not cryptographic. */
uint64_t sup_hash64(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    for (; size > 0; size--, bytes++)
        hash = (hash ^ *bytes) * 0x100000001b3u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 32);
}

/* CRC-32 (IEEE 802.3, reflected) by nibbles: a 16-entry table instead of 1 kB. */
uint32_t sup_crc32(const void *data, size_t size)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *bytes = data;
    uint32_t crc = 0xffffffffu;
    for (; size > 0; size--, bytes++) {
        crc ^= *bytes;
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return ~crc;
}

/* splitmix64 */
uint32_t sup_random_u32(sup_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

double sup_random_unit(sup_random *random)
{
    return (double)sup_random_u32(random) * (1.0 / 4294967296.0);
}
