/* subdomains_volume.c - which chambers the prisms of a part belong to, and the parts of a chamber. See subdomains.h. */
#include "cuda/subdomains_build.h"

/* One prism's share of a chamber. */
typedef struct share {
    int32_t chamber;
    float weight;
} share;

enum { MOST_SHARES = 6 }; /* three skin vertices, two chambers each */

/* Chambers of a prism of the system; those that are not kept are left out. */
static int32_t shares_of(const sup_system *s, int32_t source, share out[MOST_SHARES])
{
    int32_t batch = source / SUP_PRISM_LANES, lane = source % SUP_PRISM_LANES, count = 0;
    for (int32_t k = s->blend_first[batch]; k < s->blend_first[batch + 1] && count < MOST_SHARES; k++) {
        int32_t chamber = s->seat_chamber[s->blend_seat[k]];
        float weight = s->blend_weight[(int64_t)k * SUP_PRISM_LANES + lane];
        if (weight != 0.0f && s->chamber_volume[chamber] > 0.0f) out[count++] = (share){chamber, weight};
    }
    return count;
}

/* Seats of a part, in the order in which its prisms come to them; `seat_of` has -1 for every chamber before and after. */
static void seat_part(const sup_subdomains_builder *b, sup_subdomain *part, int32_t *seat_of, int32_t *entries)
{
    sup_subdomains *k = b->blocks;
    share shares[MOST_SHARES];
    part->seat_first = k->seat_count;
    for (int32_t i = 0; i < part->prism_count; i++) {
        int32_t count = shares_of(b->system, b->source[part->prism_first + i], shares);
        part->blend_count = count > part->blend_count ? count : part->blend_count;
        *entries += count;
        for (int32_t j = 0; j < count; j++) {
            if (seat_of[shares[j].chamber] >= 0) continue;
            seat_of[shares[j].chamber] = k->seat_count;
            k->seat_rest[k->seat_count] = b->system->chamber_volume[shares[j].chamber];
            k->seat_chamber[k->seat_count++] = shares[j].chamber;
        }
    }
    part->seat_count = k->seat_count - part->seat_first;
    part->blend_first = k->blend_total;
    k->blend_total += part->blend_count * part->prism_stride;
    k->most_seats = part->seat_count > k->most_seats ? part->seat_count : k->most_seats;
    for (int32_t i = part->seat_first; i < k->seat_count; i++)
        seat_of[k->seat_chamber[i]] = -1;
}

/* The blends of a part's prisms, and by seat the prisms. `next` is where a seat's next prism goes. */
static void blend_part(const sup_subdomains_builder *b, const sup_subdomain *part, int32_t *seat_of, int32_t *next,
                       bool counting)
{
    sup_subdomains *k = b->blocks;
    share shares[MOST_SHARES];
    for (int32_t i = 0; i < part->seat_count; i++)
        seat_of[k->seat_chamber[part->seat_first + i]] = i;
    for (int32_t i = 0; i < part->prism_count; i++) {
        int32_t count = shares_of(b->system, b->source[part->prism_first + i], shares);
        for (int32_t j = 0; j < count; j++) {
            int32_t seat = seat_of[shares[j].chamber], at = next[part->seat_first + seat]++;
            if (counting) continue;
            k->seat_prism[at] = (uint16_t)i;
            k->seat_weight[at] = shares[j].weight;
            k->blend_seat[part->blend_first + j * part->prism_stride + i] = (uint16_t)seat;
            k->blend_weight[part->blend_first + j * part->prism_stride + i] = shares[j].weight;
        }
    }
    for (int32_t i = 0; i < part->seat_count; i++)
        seat_of[k->seat_chamber[part->seat_first + i]] = -1;
}

/* Seats by chamber. */
static void list_chambers(sup_subdomains *k, int32_t chamber_count, int32_t *next)
{
    for (int32_t i = 0; i < k->seat_count; i++)
        k->chamber_first[k->seat_chamber[i] + 1]++;
    for (int32_t c = 0; c < chamber_count; c++) {
        k->chamber_first[c + 1] += k->chamber_first[c];
        next[c] = k->chamber_first[c];
    }
    for (int32_t i = 0; i < k->seat_count; i++)
        k->chamber_seat[next[k->seat_chamber[i]]++] = i;
}

bool sup_subdomains_build_volume(sup_subdomains_builder *b)
{
    sup_subdomains *k = b->blocks;
    const sup_system *s = b->system;
    size_t chambers = s->volume > 0.0f ? (size_t)s->chamber_count : 0;
    size_t seats = chambers * (size_t)k->part_count; /* at most */
    int32_t *seat_of = sup_arena_alloc(&b->arena, chambers + 1, sizeof(int32_t)), entries = 0;
    int32_t *next = sup_arena_alloc(&b->arena, (seats > chambers ? seats : chambers) + 1, sizeof(int32_t));
    k->seat_chamber = sup_arena_alloc(&k->arena, seats + 1, sizeof(int32_t));
    k->seat_rest = sup_arena_alloc(&k->arena, seats + 1, sizeof(float));
    k->chamber_first = sup_arena_alloc(&k->arena, chambers + 1, sizeof(int32_t));
    if (!seat_of || !next || !k->seat_chamber || !k->seat_rest || !k->chamber_first) return false;
    for (size_t c = 0; c < chambers; c++)
        seat_of[c] = -1;
    for (int32_t p = 0; chambers > 0 && p < k->part_count; p++)
        seat_part(b, &k->parts[p], seat_of, &entries);
    k->seat_begin = sup_arena_alloc(&k->arena, (size_t)k->seat_count + 1, sizeof(int32_t));
    k->seat_prism = sup_arena_alloc(&k->arena, (size_t)entries + 1, sizeof(uint16_t));
    k->seat_weight = sup_arena_alloc(&k->arena, (size_t)entries + 1, sizeof(float));
    k->blend_seat = sup_arena_alloc(&k->arena, (size_t)k->blend_total + 1, sizeof(uint16_t));
    k->blend_weight = sup_arena_alloc(&k->arena, (size_t)k->blend_total + 1, sizeof(float));
    k->chamber_seat = sup_arena_alloc(&k->arena, (size_t)k->seat_count + 1, sizeof(int32_t));
    if (!k->seat_begin || !k->seat_prism || !k->seat_weight || !k->blend_seat || !k->blend_weight || !k->chamber_seat)
        return false;
    for (int32_t p = 0; chambers > 0 && p < k->part_count; p++)
        blend_part(b, &k->parts[p], seat_of, next, true);
    for (int32_t i = 0; i < k->seat_count; i++) {
        k->seat_begin[i + 1] = k->seat_begin[i] + next[i];
        next[i] = k->seat_begin[i];
    }
    for (int32_t p = 0; chambers > 0 && p < k->part_count; p++)
        blend_part(b, &k->parts[p], seat_of, next, false);
    list_chambers(k, (int32_t)chambers, next);
    return true;
}
