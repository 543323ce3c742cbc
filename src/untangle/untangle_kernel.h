/* untangle_kernel.h - triangles against triangles, many at a time. Compiled once per instruction set, see base/simd.h. */
#include "base/simd.h"
#include "untangle/untangle_internal.h"

static sup_wide smaller(sup_wide a, sup_wide b)
{
    return sup_wide_select(sup_wide_less(a, b), a, b);
}

static sup_wide larger(sup_wide a, sup_wide b)
{
    return sup_wide_select(sup_wide_less(b, a), a, b);
}

static sup_wide square_of(const sup_wide e[3])
{
    return sup_wide_fma(e[0], e[0], sup_wide_fma(e[1], e[1], e[2] * e[2]));
}

/* The cone around the normals; those of no length count as they come. */
static void bound_normals(sup_untangle_block *block, const float sum[3])
{
    float length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]), cosine[SUP_UNTANGLE_CLUSTER];
    for (int32_t k = 0; k < 3; k++)
        block->axis[k] = length > 0.0f ? sum[k] / length : 0.0f;
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i += SUP_LANES) {
        sup_wide n[3], along = sup_wide_splat(0.0f);
        for (int32_t k = 0; k < 3; k++) {
            n[k] = sup_wide_load(block->normal[k] + i);
            along = sup_wide_fma(n[k], sup_wide_splat(block->axis[k]), along);
        }
        sup_wide size = sup_wide_sqrt(square_of(n));
        sup_mask some = sup_wide_less(sup_wide_splat(0.0f), size);
        sup_wide_store(cosine + i, sup_wide_select(some, along / size, sup_wide_splat(1.0f)));
    }
    block->cosine = 1.0f;
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i++)
        block->cosine = cosine[i] < block->cosine ? cosine[i] : block->cosine;
}

static void bound_block(sup_untangle_block *block)
{
    const float rounding = 2e-6f;
    float sum[3] = {0.0f, 0.0f, 0.0f};
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i += SUP_LANES) {
        sup_wide p[9], e[6], n[3];
        for (int32_t k = 0; k < 9; k++)
            p[k] = sup_wide_load(block->corner[k] + i);
        for (int32_t k = 0; k < 6; k++)
            e[k] = p[3 + k] - p[k % 3];
        for (int32_t k = 0; k < 3; k++) {
            int32_t y = (k + 1) % 3, z = (k + 2) % 3;
            n[k] = e[y] * e[3 + z] - e[z] * e[3 + y];
            sup_wide_store(block->normal[k] + i, n[k]);
            sup_wide_store(block->box[k] + i, smaller(p[k], smaller(p[3 + k], p[6 + k])));
            sup_wide_store(block->box[3 + k] + i, larger(p[k], larger(p[3 + k], p[6 + k])));
        }
        sup_wide edges = sup_wide_sqrt(square_of(n) * larger(square_of(e), square_of(e + 3)));
        sup_wide_store(block->slack + i, sup_wide_splat(rounding) * edges);
    }
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i++)
        for (int32_t k = 0; k < 3; k++)
            sum[k] += block->normal[k][i];
    bound_normals(block, sum);
}

/* Of three heights some are below and some above a plane: corners in common are on it, but for rounding. */
static sup_mask on_both_sides(const sup_wide height[3], sup_wide slack)
{
    sup_wide low = smaller(height[0], smaller(height[1], height[2]));
    sup_wide high = larger(height[0], larger(height[1], height[2]));
    return sup_mask_and(sup_wide_less(low, -slack), sup_wide_less(slack, high));
}

static sup_mask boxes_meet(const sup_untangle_block *block, int32_t lane, const sup_untangle_block *others, int32_t i)
{
    sup_mask apart = sup_wide_less(sup_wide_splat(0.0f), sup_wide_splat(0.0f));
    for (int32_t k = 0; k < 3; k++) {
        apart |= sup_wide_less(sup_wide_splat(block->box[3 + k][lane]), sup_wide_load(others->box[k] + i));
        apart |= sup_wide_less(sup_wide_load(others->box[3 + k] + i), sup_wide_splat(block->box[k][lane]));
    }
    return ~apart;
}

static uint32_t cross_block(const sup_untangle_block *block, int32_t lane, const sup_untangle_block *others)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i += SUP_LANES) {
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
        may = sup_mask_and(may, sup_mask_and(on_both_sides(mine, sup_wide_load(others->slack + i)),
                                             on_both_sides(theirs, sup_wide_splat(block->slack[lane]))));
        bits |= sup_mask_bits(may) << i;
    }
    return bits;
}

const sup_untangle_kernels SUP_KERNEL(sup_untangle_kernels) = {bound_block, cross_block};
