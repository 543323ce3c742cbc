/* blocks_pack.c - what a part's threads look up, in one stretch of memory. See blocks.h. */
#include "cuda/blocks_build.h"

/* Bytes of the arrays of a part, in the order of enum sup_pack. */
static void measure(const sup_blocks *k, const sup_block_part *part, size_t size[SUP_PACK_COUNT])
{
    size_t n = (size_t)part->count, s = (size_t)part->slot_count;
    size_t couples = (size_t)(k->row_first[part->first + part->count] - k->row_first[part->first]);
    const int32_t *sums = k->sum_begin + part->sum_first;
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
    };
    memcpy(size, bytes, sizeof bytes);
}

static void *at(const sup_blocks *k, const sup_block_part *part, int32_t array)
{
    return k->pack + (size_t)(part - k->parts) * (size_t)k->pack_size + part->pack[array];
}

static void copy_narrow(uint16_t *to, const int32_t *from, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        to[i] = (uint16_t)(from[i] - from[0]);
}

static void write_slots(const sup_blocks *k, const sup_block_part *part)
{
    int32_t *place = at(k, part, SUP_PACK_PLACE), *slot = at(k, part, SUP_PACK_SLOT);
    float *mass = at(k, part, SUP_PACK_MASS);
    memcpy(mass, k->mass + part->first, (size_t)part->count * sizeof *mass);
    for (int32_t i = 0; i < part->slot_count; i++) {
        int32_t number = part->slot_first + i, top = k->slot_place[number], own = 0;
        while (k->top_slot[k->top_slot_first[top] + own] != number)
            own++;
        place[i] = k->slot_owner[number] ? top : -1 - top;
        slot[i] = top * k->top_fan + own;
        mass[part->count + i] = k->slot_owner[number] ? k->mass[k->interior_count + top] : 0.0f;
    }
}

static void write_part(const sup_blocks *k, const sup_block_part *part)
{
    int32_t rows = k->row_first[part->first], columns = k->column_first[part->slot_first];
    int32_t couples = k->row_first[part->first + part->count] - rows, unknowns = part->count + part->slot_count;
    const int32_t *sums = k->sum_begin + part->sum_first;
    uint16_t *corner = at(k, part, SUP_PACK_CORNER);
    write_slots(k, part);
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

bool sup_blocks_build_pack(sup_blocks *k)
{
    for (int32_t t = 0; t < k->top_count; t++) {
        int32_t fan = k->top_slot_first[t + 1] - k->top_slot_first[t];
        k->top_fan = fan > k->top_fan ? fan : k->top_fan;
    }
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
