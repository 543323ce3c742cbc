/* subdomains_pack.c - what a part's threads look up, in one stretch of memory. See subdomains.h. */
#include "cuda/subdomains_build.h"

/* Bytes of the arrays of a part, in the order of enum sup_pack. */
static void measure(const sup_subdomains *k, const sup_subdomain *part, size_t size[SUP_PACK_COUNT])
{
    size_t n = (size_t)part->count, s = (size_t)part->slot_count;
    size_t couples = (size_t)(k->row_first[part->first + part->count] - k->row_first[part->first]);
    const int32_t *sums = k->sum_begin + part->sum_first;
    size_t seats = (size_t)part->seat_count, others = 0;
    size_t shares = (size_t)(k->seat_begin[part->seat_first + part->seat_count] - k->seat_begin[part->seat_first]);
    for (int32_t i = part->seat_first; i < part->seat_first + part->seat_count; i++)
        others += (size_t)(k->chamber_first[k->seat_chamber[i] + 1] - k->chamber_first[k->seat_chamber[i]]);
    const size_t bytes[SUP_PACK_COUNT] = {
        [SUP_PACK_PLACE] = 4 * s,
        [SUP_PACK_SLOT] = 4 * s,
        [SUP_PACK_ANCHOR] = 4 * (size_t)part->anchor_count,
        [SUP_PACK_MASS] = 4 * (n + s),
        [SUP_PACK_ROW_VALUE] = 4 * couples,
        [SUP_PACK_COL_VALUE] = 4 * couples,
        [SUP_PACK_ROW_BEGIN] = 2 * (n + 1),
        [SUP_PACK_ROW_SLOT] = 2 * couples,
        [SUP_PACK_COL_BEGIN] = 2 * (s + 1),
        [SUP_PACK_COL_ROW] = 2 * couples,
        [SUP_PACK_SUM_BEGIN] = 2 * (n + s + 1),
        [SUP_PACK_SUM_FROM] = 2 * (size_t)(sums[n + s] - sums[0]),
        [SUP_PACK_CORNER] = 12 * (size_t)part->prism_stride,
        [SUP_PACK_SEAT_REST] = 4 * seats,
        [SUP_PACK_SEAT_WEIGHT] = 4 * shares,
        [SUP_PACK_CHAMBER_SEAT] = 4 * others,
        [SUP_PACK_SEAT_BEGIN] = 2 * (seats + 1),
        [SUP_PACK_SEAT_PRISM] = 2 * shares,
        [SUP_PACK_CHAMBER_BEGIN] = 2 * (seats + 1),
    };
    memcpy(size, bytes, sizeof bytes);
}

static void *at(const sup_subdomains *k, const sup_subdomain *part, int32_t array)
{
    return k->pack + (size_t)(part - k->parts) * (size_t)k->pack_size + part->pack[array];
}

static void copy_narrow(uint16_t *to, const int32_t *from, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        to[i] = (uint16_t)(from[i] - from[0]);
}

static void write_slots(const sup_subdomains *k, const sup_subdomain *part)
{
    int32_t *place = at(k, part, SUP_PACK_PLACE), *slot = at(k, part, SUP_PACK_SLOT);
    float *mass = at(k, part, SUP_PACK_MASS);
    memcpy(mass, k->mass + part->first, (size_t)part->count * sizeof *mass);
    for (int32_t i = 0; i < part->slot_count; i++) {
        int32_t number = part->slot_first + i, top = k->slot_place[number], own = 0;
        while (k->top_slot[k->top_slot_first[top] + own] != number)
            own++;
        place[i] = k->slot_owner[number] ? top : -1 - top;
        slot[i] = k->top_slot_first[top] + own;
        mass[part->count + i] = k->slot_owner[number] ? k->mass[k->interior_count + top] : 0.0f;
    }
}

/* Chambers of a part: what its prisms add to them, and where else they are. */
static void write_seats(const sup_subdomains *k, const sup_subdomain *part)
{
    const int32_t *first = k->seat_begin + part->seat_first;
    float *rest = at(k, part, SUP_PACK_SEAT_REST);
    int32_t *seat = at(k, part, SUP_PACK_CHAMBER_SEAT), count = 0;
    uint16_t *begin = at(k, part, SUP_PACK_CHAMBER_BEGIN);
    copy_narrow(at(k, part, SUP_PACK_SEAT_BEGIN), first, part->seat_count + 1);
    memcpy(at(k, part, SUP_PACK_SEAT_WEIGHT), k->seat_weight + first[0],
           (size_t)(first[part->seat_count] - first[0]) * 4);
    memcpy(at(k, part, SUP_PACK_SEAT_PRISM), k->seat_prism + first[0],
           (size_t)(first[part->seat_count] - first[0]) * 2);
    for (int32_t i = 0; i < part->seat_count; i++) {
        int32_t own = part->seat_first + i, chamber = k->seat_chamber[own];
        int32_t others = k->chamber_first[chamber + 1] - k->chamber_first[chamber];
        const int32_t *list = k->chamber_seat + k->chamber_first[chamber];
        rest[i] = list[0] == own ? k->seat_rest[own] : -k->seat_rest[own];
        memcpy(seat + count, list, (size_t)others * sizeof *seat);
        count += others;
        begin[i + 1] = (uint16_t)count;
    }
}

static void write_part(const sup_subdomains *k, const sup_subdomain *part)
{
    int32_t rows = k->row_first[part->first], columns = k->column_first[part->slot_first];
    int32_t couples = k->row_first[part->first + part->count] - rows, unknowns = part->count + part->slot_count;
    const int32_t *sums = k->sum_begin + part->sum_first;
    uint16_t *corner = at(k, part, SUP_PACK_CORNER);
    write_slots(k, part);
    write_seats(k, part);
    memcpy(at(k, part, SUP_PACK_ANCHOR), k->anchor + part->anchor_first, (size_t)part->anchor_count * 4);
    memcpy(at(k, part, SUP_PACK_ROW_VALUE), k->row_value + rows, (size_t)couples * 4);
    memcpy(at(k, part, SUP_PACK_ROW_SLOT), k->row_slot + rows, (size_t)couples * 2);
    memcpy(at(k, part, SUP_PACK_COL_VALUE), k->column_value + columns, (size_t)couples * 4);
    memcpy(at(k, part, SUP_PACK_COL_ROW), k->column_row + columns, (size_t)couples * 2);
    copy_narrow(at(k, part, SUP_PACK_ROW_BEGIN), k->row_first + part->first, part->count + 1);
    copy_narrow(at(k, part, SUP_PACK_COL_BEGIN), k->column_first + part->slot_first, part->slot_count + 1);
    copy_narrow(at(k, part, SUP_PACK_SUM_BEGIN), sums, unknowns + 1);
    memcpy(at(k, part, SUP_PACK_SUM_FROM), k->sum_from + sums[0], (size_t)(sums[unknowns] - sums[0]) * 2);
    for (int32_t i = 0; i < part->prism_count; i++)
        for (int32_t c = 0; c < 6; c++) {
            int64_t from = part->prism_first + i;
            corner[c * part->prism_stride + i] =
                k->corner[from / SUP_PRISM_LANES * SUP_PRISM_CORNERS + c * SUP_PRISM_LANES + from % SUP_PRISM_LANES];
        }
}

bool sup_subdomains_build_pack(sup_subdomains *k)
{
    for (int32_t p = 0; p < k->part_count; p++) {
        size_t size[SUP_PACK_COUNT], end = 0;
        measure(k, &k->parts[p], size);
        for (int32_t i = 0; i < SUP_PACK_COUNT; i++) {
            k->parts[p].pack[i] = (int32_t)end;
            end += (size[i] + 15) / 16 * 16;
        }
        k->pack_size = (int32_t)end > k->pack_size ? (int32_t)end : k->pack_size;
    }
    size_t total = (size_t)k->part_count * (size_t)k->pack_size;
    k->pack = sup_arena_alloc(&k->arena, total + 1, 1);
    if (k->pack == NULL) return false;
    for (int32_t p = 0; p < k->part_count; p++)
        write_part(k, &k->parts[p]);
    return true;
}
