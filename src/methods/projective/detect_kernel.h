/* detect_kernel.h - vertices in tetrahedra, many at a time. Compiled once per instruction set, see base/simd.h. */
#include "base/simd.h"
#include "methods/projective/detect_internal.h"

/* Corners of SUP_LANES tetrahedra side by side; the last one is repeated where there are fewer. */
static void gather(const float *points, const int32_t *tets, int32_t count, float corner[12][SUP_LANES])
{
    for (int32_t lane = 0; lane < SUP_LANES; lane++) {
        const int32_t *tet = tets + 4 * (size_t)(lane < count ? lane : count - 1);
        for (int32_t c = 0; c < 4; c++)
            for (int32_t k = 0; k < 3; k++)
                corner[3 * c + k][lane] = points[4 * (size_t)tet[c] + (size_t)k];
    }
}

static sup_wide cross_part(sup_wide a, sup_wide b, sup_wide c, sup_wide d)
{
    return a * b - c * d;
}

static void map_lanes(float corner[12][SUP_LANES], sup_wide map[12])
{
    sup_wide e[9]; /* edges from the first corner, one after the other */
    for (int32_t k = 0; k < 3; k++) {
        map[k] = sup_wide_load(corner[k]);
        for (int32_t c = 0; c < 3; c++)
            e[3 * c + k] = sup_wide_load(corner[3 + 3 * c + k]) - map[k];
    }
    /* Rows of the inverse: cross products of two edges over the determinant. */
    for (int32_t c = 0; c < 3; c++) {
        const sup_wide *a = e + 3 * ((c + 1) % 3), *b = e + 3 * ((c + 2) % 3);
        map[3 + 3 * c] = cross_part(a[1], b[2], a[2], b[1]);
        map[4 + 3 * c] = cross_part(a[2], b[0], a[0], b[2]);
        map[5 + 3 * c] = cross_part(a[0], b[1], a[1], b[0]);
    }
    sup_wide det = e[0] * map[3] + e[1] * map[4] + e[2] * map[5];
    sup_wide zero = sup_wide_splat(0.0f);
    sup_wide scale = sup_wide_select(sup_wide_less(zero, det), sup_wide_splat(1.0f) / det, zero);
    for (int32_t k = 3; k < 12; k++)
        map[k] = map[k] * scale;
}

static void map_tets(const float *points, const int32_t *tets, int32_t count, sup_detect_maps maps)
{
    for (int32_t first = 0; first < count; first += SUP_LANES) {
        float corner[12][SUP_LANES];
        sup_wide map[12];
        gather(points, tets + 4 * (size_t)first, count - first, corner);
        map_lanes(corner, map);
        for (int32_t k = 0; k < 12; k++)
            sup_wide_store(maps[k] + first, map[k]);
    }
}

static int32_t test_block(sup_detect_maps maps, int32_t count, const float *block, sup_detect_hit *hits)
{
    const sup_wide zero = sup_wide_splat(0.0f), one = sup_wide_splat(1.0f);
    int32_t found = 0;
    for (int32_t first = 0; first < SUP_DETECT_GROUP; first += SUP_LANES) {
        const float *at = block + first;
        sup_wide x = sup_wide_load(at), y = sup_wide_load(at + SUP_DETECT_GROUP);
        sup_wide z = sup_wide_load(at + 2 * SUP_DETECT_GROUP);
        for (int32_t t = 0; t < count; t++) {
            sup_wide dx = x - sup_wide_splat(maps[0][t]), dy = y - sup_wide_splat(maps[1][t]);
            sup_wide dz = z - sup_wide_splat(maps[2][t]), weight[3];
            for (int32_t r = 0; r < 3; r++)
                weight[r] = sup_wide_fma(
                    sup_wide_splat(maps[3 + 3 * r][t]), dx,
                    sup_wide_fma(sup_wide_splat(maps[4 + 3 * r][t]), dy, sup_wide_splat(maps[5 + 3 * r][t]) * dz));
            sup_mask inside = sup_mask_and(
                sup_mask_and(sup_wide_less(zero, weight[0]), sup_wide_less(zero, weight[1])),
                sup_mask_and(sup_wide_less(zero, weight[2]), sup_wide_less(weight[0] + weight[1] + weight[2], one)));
            if (sup_mask_all(~inside)) continue;
            for (int32_t lane = 0; lane < SUP_LANES; lane++)
                if (sup_mask_lane(inside, lane)) hits[found++] = (sup_detect_hit){(uint8_t)t, (uint8_t)(first + lane)};
        }
    }
    return found;
}

const sup_detect_kernels SUP_KERNEL(sup_detect_kernels) = {map_tets, test_block};
