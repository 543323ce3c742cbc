/* subdomains_volume.c - volume regions of the prisms of a subdomain, and region slots of a region. See
 * subdomains.h. */
#include "cuda/subdomains_build.h"

/* Weight of a prism in a region. */
typedef struct region_weight {
    int32_t region;
    float weight;
} region_weight;

enum { MAX_REGIONS = 6 }; /* three skin vertices, two regions each */

/* Regions of a prism of the system, without those that are not preserved. */
static int32_t region_weights_of(const sup_system *s, int32_t source, region_weight out[MAX_REGIONS])
{
    int32_t batch = source / SUP_PRISM_LANES, lane = source % SUP_PRISM_LANES, count = 0;
    for (int32_t k = s->blend_first[batch]; k < s->blend_first[batch + 1] && count < MAX_REGIONS; k++) {
        int32_t region = s->region_slot_region[s->blend_region_slot[k]];
        float weight = s->blend_weight[(int64_t)k * SUP_PRISM_LANES + lane];
        if (weight != 0.0f && s->region_volume[region] > 0.0f) out[count++] = (region_weight){region, weight};
    }
    return count;
}

/* Region slots of a subdomain, in the order of its prisms; `region_slot_of` is -1 for every region before and
 * after. */
static void assign_region_slots(const sup_subdomains_builder *b, sup_subdomain *subdomain, int32_t *region_slot_of,
                                int32_t *entries)
{
    sup_subdomains *k = b->layout;
    region_weight region_weights[MAX_REGIONS];
    subdomain->region_slot_first = k->region_slot_count;
    for (int32_t i = 0; i < subdomain->prism_count; i++) {
        int32_t count = region_weights_of(b->system, b->source[subdomain->prism_first + i], region_weights);
        subdomain->blend_count = count > subdomain->blend_count ? count : subdomain->blend_count;
        *entries += count;
        for (int32_t j = 0; j < count; j++) {
            if (region_slot_of[region_weights[j].region] >= 0) continue;
            region_slot_of[region_weights[j].region] = k->region_slot_count;
            k->region_slot_rest[k->region_slot_count] = b->system->region_volume[region_weights[j].region];
            k->region_slot_region[k->region_slot_count++] = region_weights[j].region;
        }
    }
    subdomain->region_slot_count = k->region_slot_count - subdomain->region_slot_first;
    subdomain->blend_first = k->blend_total;
    k->blend_total += subdomain->blend_count * subdomain->prism_stride;
    k->max_region_slots =
        subdomain->region_slot_count > k->max_region_slots ? subdomain->region_slot_count : k->max_region_slots;
    for (int32_t i = subdomain->region_slot_first; i < k->region_slot_count; i++)
        region_slot_of[k->region_slot_region[i]] = -1;
}

/* Blends of a subdomain's prisms, and prisms by region slot. `next` is the index of a region slot's next prism. */
static void blend_subdomain(const sup_subdomains_builder *b, const sup_subdomain *subdomain, int32_t *region_slot_of,
                            int32_t *next, bool counting)
{
    sup_subdomains *k = b->layout;
    region_weight region_weights[MAX_REGIONS];
    for (int32_t i = 0; i < subdomain->region_slot_count; i++)
        region_slot_of[k->region_slot_region[subdomain->region_slot_first + i]] = i;
    for (int32_t i = 0; i < subdomain->prism_count; i++) {
        int32_t count = region_weights_of(b->system, b->source[subdomain->prism_first + i], region_weights);
        for (int32_t j = 0; j < count; j++) {
            int32_t region_slot = region_slot_of[region_weights[j].region],
                    at = next[subdomain->region_slot_first + region_slot]++;
            if (counting) continue;
            k->region_slot_prism[at] = (uint16_t)i;
            k->region_slot_weight[at] = region_weights[j].weight;
            k->blend_region_slot[subdomain->blend_first + j * subdomain->prism_stride + i] = (uint16_t)region_slot;
            k->blend_weight[subdomain->blend_first + j * subdomain->prism_stride + i] = region_weights[j].weight;
        }
    }
    for (int32_t i = 0; i < subdomain->region_slot_count; i++)
        region_slot_of[k->region_slot_region[subdomain->region_slot_first + i]] = -1;
}

/* Region slots by region. */
static void list_regions(sup_subdomains *k, int32_t region_count, int32_t *next)
{
    for (int32_t i = 0; i < k->region_slot_count; i++)
        k->region_first[k->region_slot_region[i] + 1]++;
    for (int32_t c = 0; c < region_count; c++) {
        k->region_first[c + 1] += k->region_first[c];
        next[c] = k->region_first[c];
    }
    for (int32_t i = 0; i < k->region_slot_count; i++)
        k->region_slots[next[k->region_slot_region[i]]++] = i;
}

bool sup_subdomains_build_volume(sup_subdomains_builder *b)
{
    sup_subdomains *k = b->layout;
    const sup_system *s = b->system;
    size_t regions = s->volume > 0.0f ? (size_t)s->region_count : 0;
    size_t region_slots = regions * (size_t)k->subdomain_count; /* at most */
    int32_t *region_slot_of = sup_arena_alloc(&b->arena, regions + 1, sizeof(int32_t)), entries = 0;
    int32_t *next = sup_arena_alloc(&b->arena, (region_slots > regions ? region_slots : regions) + 1, sizeof(int32_t));
    k->region_slot_region = sup_arena_alloc(&k->arena, region_slots + 1, sizeof(int32_t));
    k->region_slot_rest = sup_arena_alloc(&k->arena, region_slots + 1, sizeof(float));
    k->region_first = sup_arena_alloc(&k->arena, regions + 1, sizeof(int32_t));
    if (!region_slot_of || !next || !k->region_slot_region || !k->region_slot_rest || !k->region_first) return false;
    for (size_t c = 0; c < regions; c++)
        region_slot_of[c] = -1;
    for (int32_t p = 0; regions > 0 && p < k->subdomain_count; p++)
        assign_region_slots(b, &k->subdomains[p], region_slot_of, &entries);
    k->region_slot_begin = sup_arena_alloc(&k->arena, (size_t)k->region_slot_count + 1, sizeof(int32_t));
    k->region_slot_prism = sup_arena_alloc(&k->arena, (size_t)entries + 1, sizeof(uint16_t));
    k->region_slot_weight = sup_arena_alloc(&k->arena, (size_t)entries + 1, sizeof(float));
    k->blend_region_slot = sup_arena_alloc(&k->arena, (size_t)k->blend_total + 1, sizeof(uint16_t));
    k->blend_weight = sup_arena_alloc(&k->arena, (size_t)k->blend_total + 1, sizeof(float));
    k->region_slots = sup_arena_alloc(&k->arena, (size_t)k->region_slot_count + 1, sizeof(int32_t));
    if (!k->region_slot_begin || !k->region_slot_prism || !k->region_slot_weight || !k->blend_region_slot ||
        !k->blend_weight || !k->region_slots)
        return false;
    for (int32_t p = 0; regions > 0 && p < k->subdomain_count; p++)
        blend_subdomain(b, &k->subdomains[p], region_slot_of, next, true);
    for (int32_t i = 0; i < k->region_slot_count; i++) {
        k->region_slot_begin[i + 1] = k->region_slot_begin[i] + next[i];
        next[i] = k->region_slot_begin[i];
    }
    for (int32_t p = 0; regions > 0 && p < k->subdomain_count; p++)
        blend_subdomain(b, &k->subdomains[p], region_slot_of, next, false);
    list_regions(k, (int32_t)regions, next);
    return true;
}
