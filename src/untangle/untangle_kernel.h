/* untangle_kernel.h - tests triangles against triangles, SUP_LANES at a time. Compiled once per instruction set, see
 * base/simd.h. */
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

/* The cone around the normals; normals of zero length are inside any cone. */
static void bound_normals(sup_untangle_cluster *cluster, const float sum[3])
{
    float length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]), cosine[SUP_UNTANGLE_CLUSTER];
    for (int32_t k = 0; k < 3; k++)
        cluster->axis[k] = length > 0.0f ? sum[k] / length : 0.0f;
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i += SUP_LANES) {
        sup_wide n[3], along = sup_wide_splat(0.0f);
        for (int32_t k = 0; k < 3; k++) {
            n[k] = sup_wide_load(cluster->normal[k] + i);
            along = sup_wide_fma(n[k], sup_wide_splat(cluster->axis[k]), along);
        }
        sup_wide size = sup_wide_sqrt(square_of(n));
        sup_mask some = sup_wide_less(sup_wide_splat(0.0f), size);
        sup_wide_store(cosine + i, sup_wide_select(some, along / size, sup_wide_splat(1.0f)));
    }
    cluster->cosine = 1.0f;
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i++)
        cluster->cosine = cosine[i] < cluster->cosine ? cosine[i] : cluster->cosine;
}

static void bound_cluster(sup_untangle_cluster *cluster)
{
    float sum[3] = {0.0f, 0.0f, 0.0f};
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i += SUP_LANES) {
        sup_wide p[9], e[6], n[3];
        for (int32_t k = 0; k < 9; k++)
            p[k] = sup_wide_load(cluster->corner[k] + i);
        for (int32_t k = 0; k < 6; k++)
            e[k] = p[3 + k] - p[k % 3];
        for (int32_t k = 0; k < 3; k++) {
            int32_t y = (k + 1) % 3, z = (k + 2) % 3;
            n[k] = e[y] * e[3 + z] - e[z] * e[3 + y];
            sup_wide_store(cluster->normal[k] + i, n[k]);
            sup_wide_store(cluster->box[k] + i, smaller(p[k], smaller(p[3 + k], p[6 + k])));
            sup_wide_store(cluster->box[3 + k] + i, larger(p[k], larger(p[3 + k], p[6 + k])));
        }
        sup_wide edges = sup_wide_sqrt(square_of(n) * larger(square_of(e), square_of(e + 3)));
        sup_wide_store(cluster->rounding + i, sup_wide_splat(SUP_UNTANGLE_ROUNDING) * edges);
    }
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i++)
        for (int32_t k = 0; k < 3; k++)
            sum[k] += cluster->normal[k][i];
    bound_normals(cluster, sum);
}

/* Some of three heights are below a plane and some above it; common corners are on it, apart from rounding. */
static sup_mask on_both_sides(const sup_wide height[3], sup_wide rounding)
{
    sup_wide low = smaller(height[0], smaller(height[1], height[2]));
    sup_wide high = larger(height[0], larger(height[1], height[2]));
    return sup_mask_and(sup_wide_less(low, -rounding), sup_wide_less(rounding, high));
}

static sup_mask boxes_overlap(const sup_untangle_cluster *cluster, int32_t lane, const sup_untangle_cluster *others,
                              int32_t i)
{
    sup_mask separate = sup_wide_less(sup_wide_splat(0.0f), sup_wide_splat(0.0f));
    for (int32_t k = 0; k < 3; k++) {
        separate |= sup_wide_less(sup_wide_splat(cluster->box[3 + k][lane]), sup_wide_load(others->box[k] + i));
        separate |= sup_wide_less(sup_wide_load(others->box[3 + k] + i), sup_wide_splat(cluster->box[k][lane]));
    }
    return ~separate;
}

static uint32_t cross_cluster(const sup_untangle_cluster *cluster, int32_t lane, const sup_untangle_cluster *others)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < SUP_UNTANGLE_CLUSTER; i += SUP_LANES) {
        sup_mask may = boxes_overlap(cluster, lane, others, i);
        if (sup_mask_bits(may) == 0) continue;
        sup_wide own[3], theirs[3]; /* heights of own corners above their planes, and of theirs above the own plane */
        for (int32_t c = 0; c < 3; c++) {
            own[c] = theirs[c] = sup_wide_splat(0.0f);
            for (int32_t k = 0; k < 3; k++) {
                sup_wide own_corner = sup_wide_splat(cluster->corner[3 * c + k][lane]);
                sup_wide own_first = sup_wide_splat(cluster->corner[k][lane]);
                sup_wide own_normal = sup_wide_splat(cluster->normal[k][lane]);
                own[c] = sup_wide_fma(own_corner - sup_wide_load(others->corner[k] + i),
                                      sup_wide_load(others->normal[k] + i), own[c]);
                theirs[c] =
                    sup_wide_fma(sup_wide_load(others->corner[3 * c + k] + i) - own_first, own_normal, theirs[c]);
            }
        }
        may = sup_mask_and(may, sup_mask_and(on_both_sides(own, sup_wide_load(others->rounding + i)),
                                             on_both_sides(theirs, sup_wide_splat(cluster->rounding[lane]))));
        bits |= sup_mask_bits(may) << i;
    }
    return bits;
}

const sup_untangle_kernels SUP_KERNEL(sup_untangle_kernels) = {bound_cluster, cross_cluster};
