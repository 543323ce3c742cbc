/* subdomains_pack.c - packs the arrays of a subdomain for its threads. See subdomains.h. */
#include "cuda/subdomains_build.h"

/* Bytes of the arrays of a subdomain, in the order of enum sup_pack. */
static void measure(const sup_subdomains *k, const sup_subdomain *subdomain, size_t size[SUP_PACK_COUNT])
{
    size_t n = (size_t)subdomain->count, s = (size_t)subdomain->slot_count;
    size_t couplings = (size_t)(k->row_first[subdomain->first + subdomain->count] - k->row_first[subdomain->first]);
    const int32_t *sums = k->sum_begin + subdomain->sum_first;
    size_t region_slots = (size_t)subdomain->region_slot_count, others = 0;
    size_t region_weights = (size_t)(k->region_slot_begin[subdomain->region_slot_first + subdomain->region_slot_count] -
                                     k->region_slot_begin[subdomain->region_slot_first]);
    for (int32_t i = subdomain->region_slot_first; i < subdomain->region_slot_first + subdomain->region_slot_count; i++)
        others += (size_t)(k->region_first[k->region_slot_region[i] + 1] - k->region_first[k->region_slot_region[i]]);
    const size_t bytes[SUP_PACK_COUNT] = {
        [SUP_PACK_NODE] = 4 * s,
        [SUP_PACK_SLOT] = 4 * s,
        [SUP_PACK_ANCHOR] = 4 * (size_t)subdomain->anchor_count,
        [SUP_PACK_MASS] = 4 * (n + s),
        [SUP_PACK_ROW_VALUE] = 4 * couplings,
        [SUP_PACK_COL_VALUE] = 4 * couplings,
        [SUP_PACK_ROW_BEGIN] = 2 * (n + 1),
        [SUP_PACK_ROW_SLOT] = 2 * couplings,
        [SUP_PACK_COL_BEGIN] = 2 * (s + 1),
        [SUP_PACK_COL_ROW] = 2 * couplings,
        [SUP_PACK_SUM_BEGIN] = 2 * (n + s + 1),
        [SUP_PACK_SUM_FROM] = 2 * (size_t)(sums[n + s] - sums[0]),
        [SUP_PACK_CORNER] = 12 * (size_t)subdomain->prism_stride,
        [SUP_PACK_REGION_SLOT_REST] = 4 * region_slots,
        [SUP_PACK_REGION_SLOT_WEIGHT] = 4 * region_weights,
        [SUP_PACK_REGION_SLOTS] = 4 * others,
        [SUP_PACK_REGION_SLOT_BEGIN] = 2 * (region_slots + 1),
        [SUP_PACK_REGION_SLOT_PRISM] = 2 * region_weights,
        [SUP_PACK_REGION_BEGIN] = 2 * (region_slots + 1),
    };
    memcpy(size, bytes, sizeof bytes);
}

static void *at(const sup_subdomains *k, const sup_subdomain *subdomain, int32_t array)
{
    return k->pack + (size_t)(subdomain - k->subdomains) * (size_t)k->pack_size + subdomain->pack[array];
}

static void copy_narrow(uint16_t *to, const int32_t *from, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        to[i] = (uint16_t)(from[i] - from[0]);
}

static void write_slots(const sup_subdomains *k, const sup_subdomain *subdomain)
{
    int32_t *node = at(k, subdomain, SUP_PACK_NODE), *slot = at(k, subdomain, SUP_PACK_SLOT);
    float *mass = at(k, subdomain, SUP_PACK_MASS);
    memcpy(mass, k->mass + subdomain->first, (size_t)subdomain->count * sizeof *mass);
    for (int32_t i = 0; i < subdomain->slot_count; i++) {
        int32_t number = subdomain->slot_first + i, separator = k->slot_node[number], own = 0;
        while (k->separator_slot[k->separator_slot_first[separator] + own] != number)
            own++;
        node[i] = k->slot_owner[number] ? separator : -1 - separator;
        slot[i] = k->separator_slot_first[separator] + own;
        mass[subdomain->count + i] = k->slot_owner[number] ? k->mass[k->interior_count + separator] : 0.0f;
    }
}

/* Volume regions of a subdomain: contributions of its prisms, and their other region slots. */
static void write_region_slots(const sup_subdomains *k, const sup_subdomain *subdomain)
{
    const int32_t *first = k->region_slot_begin + subdomain->region_slot_first;
    float *rest = at(k, subdomain, SUP_PACK_REGION_SLOT_REST);
    int32_t *region_slot = at(k, subdomain, SUP_PACK_REGION_SLOTS), count = 0;
    uint16_t *begin = at(k, subdomain, SUP_PACK_REGION_BEGIN);
    copy_narrow(at(k, subdomain, SUP_PACK_REGION_SLOT_BEGIN), first, subdomain->region_slot_count + 1);
    memcpy(at(k, subdomain, SUP_PACK_REGION_SLOT_WEIGHT), k->region_slot_weight + first[0],
           (size_t)(first[subdomain->region_slot_count] - first[0]) * 4);
    memcpy(at(k, subdomain, SUP_PACK_REGION_SLOT_PRISM), k->region_slot_prism + first[0],
           (size_t)(first[subdomain->region_slot_count] - first[0]) * 2);
    for (int32_t i = 0; i < subdomain->region_slot_count; i++) {
        int32_t own = subdomain->region_slot_first + i, region = k->region_slot_region[own];
        int32_t others = k->region_first[region + 1] - k->region_first[region];
        const int32_t *list = k->region_slots + k->region_first[region];
        rest[i] = list[0] == own ? k->region_slot_rest[own] : -k->region_slot_rest[own];
        memcpy(region_slot + count, list, (size_t)others * sizeof *region_slot);
        count += others;
        begin[i + 1] = (uint16_t)count;
    }
}

static void write_subdomain(const sup_subdomains *k, const sup_subdomain *subdomain)
{
    int32_t rows = k->row_first[subdomain->first], columns = k->column_first[subdomain->slot_first];
    int32_t couplings = k->row_first[subdomain->first + subdomain->count] - rows,
            unknowns = subdomain->count + subdomain->slot_count;
    const int32_t *sums = k->sum_begin + subdomain->sum_first;
    uint16_t *corner = at(k, subdomain, SUP_PACK_CORNER);
    write_slots(k, subdomain);
    write_region_slots(k, subdomain);
    memcpy(at(k, subdomain, SUP_PACK_ANCHOR), k->anchor + subdomain->anchor_first, (size_t)subdomain->anchor_count * 4);
    memcpy(at(k, subdomain, SUP_PACK_ROW_VALUE), k->row_value + rows, (size_t)couplings * 4);
    memcpy(at(k, subdomain, SUP_PACK_ROW_SLOT), k->row_slot + rows, (size_t)couplings * 2);
    memcpy(at(k, subdomain, SUP_PACK_COL_VALUE), k->column_value + columns, (size_t)couplings * 4);
    memcpy(at(k, subdomain, SUP_PACK_COL_ROW), k->column_row + columns, (size_t)couplings * 2);
    copy_narrow(at(k, subdomain, SUP_PACK_ROW_BEGIN), k->row_first + subdomain->first, subdomain->count + 1);
    copy_narrow(at(k, subdomain, SUP_PACK_COL_BEGIN), k->column_first + subdomain->slot_first,
                subdomain->slot_count + 1);
    copy_narrow(at(k, subdomain, SUP_PACK_SUM_BEGIN), sums, unknowns + 1);
    memcpy(at(k, subdomain, SUP_PACK_SUM_FROM), k->sum_from + sums[0], (size_t)(sums[unknowns] - sums[0]) * 2);
    for (int32_t i = 0; i < subdomain->prism_count; i++)
        for (int32_t c = 0; c < 6; c++) {
            int64_t from = subdomain->prism_first + i;
            corner[c * subdomain->prism_stride + i] =
                k->corner[from / SUP_PRISM_LANES * SUP_PRISM_CORNERS + c * SUP_PRISM_LANES + from % SUP_PRISM_LANES];
        }
}

bool sup_subdomains_build_pack(sup_subdomains *k)
{
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        size_t size[SUP_PACK_COUNT], end = 0;
        measure(k, &k->subdomains[p], size);
        for (int32_t i = 0; i < SUP_PACK_COUNT; i++) {
            k->subdomains[p].pack[i] = (int32_t)end;
            end += (size[i] + 15) / 16 * 16;
        }
        k->pack_size = (int32_t)end > k->pack_size ? (int32_t)end : k->pack_size;
    }
    size_t total = (size_t)k->subdomain_count * (size_t)k->pack_size;
    k->pack = sup_arena_alloc(&k->arena, total + 1, 1);
    if (k->pack == NULL) return false;
    for (int32_t p = 0; p < k->subdomain_count; p++)
        write_subdomain(k, &k->subdomains[p]);
    return true;
}
