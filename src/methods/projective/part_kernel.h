/* part_kernel.h - triangles against triangles, many at a time. Compiled once per instruction set, see base/simd.h. */
#include "base/simd.h"
#include "methods/projective/part_block.h"

static sup_wide smaller(sup_wide a, sup_wide b)
{
    return sup_wide_select(sup_wide_less(a, b), a, b);
}

static sup_wide larger(sup_wide a, sup_wide b)
{
    return sup_wide_select(sup_wide_less(b, a), a, b);
}

static void bound_block(sup_part_block *block)
{
    for (int32_t i = 0; i < SUP_PART_BUNDLE; i += SUP_LANES) {
        sup_wide p[9], e[6];
        for (int32_t k = 0; k < 9; k++)
            p[k] = sup_wide_load(block->corner[k] + i);
        for (int32_t k = 0; k < 6; k++)
            e[k] = p[3 + k] - p[k % 3];
        for (int32_t k = 0; k < 3; k++) {
            int32_t y = (k + 1) % 3, z = (k + 2) % 3;
            sup_wide_store(block->normal[k] + i, e[y] * e[3 + z] - e[z] * e[3 + y]);
            sup_wide_store(block->box[k] + i, smaller(p[k], smaller(p[3 + k], p[6 + k])));
            sup_wide_store(block->box[3 + k] + i, larger(p[k], larger(p[3 + k], p[6 + k])));
        }
    }
}

/* Of three heights some are below zero and some are not. */
static sup_mask on_both_sides(const sup_wide height[3])
{
    const sup_wide zero = sup_wide_splat(0.0f);
    sup_wide low = smaller(height[0], smaller(height[1], height[2]));
    sup_wide high = larger(height[0], larger(height[1], height[2]));
    return sup_mask_and(sup_wide_less(low, zero), ~sup_wide_less(high, zero));
}

static sup_mask boxes_meet(const sup_part_block *block, int32_t lane, const sup_part_block *others, int32_t i)
{
    sup_mask apart = sup_wide_less(sup_wide_splat(0.0f), sup_wide_splat(0.0f));
    for (int32_t k = 0; k < 3; k++) {
        apart |= sup_wide_less(sup_wide_splat(block->box[3 + k][lane]), sup_wide_load(others->box[k] + i));
        apart |= sup_wide_less(sup_wide_load(others->box[3 + k] + i), sup_wide_splat(block->box[k][lane]));
    }
    return ~apart;
}

static uint32_t cross_block(const sup_part_block *block, int32_t lane, const sup_part_block *others)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < SUP_PART_BUNDLE; i += SUP_LANES) {
        sup_mask may = boxes_meet(block, lane, others, i);
        if (sup_mask_bits(may) == 0) continue;
        sup_wide mine[3], theirs[3]; /* heights: of my corners above their planes, of theirs above mine */
        for (int32_t c = 0; c < 3; c++) {
            mine[c] = theirs[c] = sup_wide_splat(0.0f);
            for (int32_t k = 0; k < 3; k++) {
                sup_wide my_corner = sup_wide_splat(block->corner[3 * c + k][lane]);
                sup_wide my_first = sup_wide_splat(block->corner[k][lane]);
                sup_wide my_normal = sup_wide_splat(block->normal[k][lane]);
                mine[c] = sup_wide_fma(my_corner - sup_wide_load(others->corner[k] + i),
                                       sup_wide_load(others->normal[k] + i), mine[c]);
                theirs[c] = sup_wide_fma(sup_wide_load(others->corner[3 * c + k] + i) - my_first, my_normal, theirs[c]);
            }
        }
        may = sup_mask_and(may, sup_mask_and(on_both_sides(mine), on_both_sides(theirs)));
        bits |= sup_mask_bits(may) << i;
    }
    return bits;
}

const sup_part_kernels SUP_KERNEL(sup_part_kernels) = {bound_block, cross_block};
