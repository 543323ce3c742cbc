/* detect_kernel.h - tests vertices against tetrahedra, SUP_LANES at a time. Compiled once per instruction set, see
 * base/simd.h. */
#include "base/simd_rows.h"
#include "contact/contact_tuning.h"
#include "contact/detect_internal.h"

/* Corners of SUP_LANES tetrahedra, structure of arrays; the last one is repeated where there are fewer. */
static void gather(const float *points, const int32_t *tets, int32_t count, sup_wide4 corner[4])
{
    int32_t index[4][SUP_LANES];
    for (int32_t lane = 0; lane < SUP_LANES; lane++)
        for (int32_t c = 0; c < 4; c++)
            index[c][lane] = tets[4 * (size_t)(lane < count ? lane : count - 1) + (size_t)c];
    for (int32_t c = 0; c < 4; c++)
        corner[c] = sup_simd_rows_gather(points, index[c]);
}

static sup_wide cross_component(sup_wide a, sup_wide b, sup_wide c, sup_wide d)
{
    return a * b - c * d;
}

static void map_lanes(const sup_wide4 corner[4], sup_wide map[12])
{
    sup_wide e[9]; /* edges from the first corner */
    map[0] = corner[0].x;
    map[1] = corner[0].y;
    map[2] = corner[0].z;
    for (int32_t c = 0; c < 3; c++) {
        e[3 * c] = corner[c + 1].x - map[0];
        e[3 * c + 1] = corner[c + 1].y - map[1];
        e[3 * c + 2] = corner[c + 1].z - map[2];
    }
    /* Rows of the inverse: cross products of two edges over the determinant. */
    for (int32_t c = 0; c < 3; c++) {
        const sup_wide *a = e + 3 * ((c + 1) % 3), *b = e + 3 * ((c + 2) % 3);
        map[3 + 3 * c] = cross_component(a[1], b[2], a[2], b[1]);
        map[4 + 3 * c] = cross_component(a[2], b[0], a[0], b[2]);
        map[5 + 3 * c] = cross_component(a[0], b[1], a[1], b[0]);
    }
    sup_wide det = e[0] * map[3] + e[1] * map[4] + e[2] * map[5];
    sup_mask upright = sup_wide_less(sup_wide_splat(0.0f), det);
    sup_wide scale = sup_wide_splat(1.0f) / det;
    for (int32_t k = 3; k < 12; k++)
        map[k] = map[k] * scale;
    map[0] = sup_wide_select(upright, map[0], sup_wide_splat(NAN));
}

static void map_tets(const float *points, const int32_t *tets, int32_t count, sup_detect_maps maps)
{
    for (int32_t first = 0; first < count; first += SUP_LANES) {
        sup_wide4 corner[4];
        sup_wide map[12];
        gather(points, tets + 4 * (size_t)first, count - first, corner);
        map_lanes(corner, map);
        for (int32_t k = 0; k < 12; k++)
            sup_wide_store(maps[k] + first, map[k]);
    }
}

static sup_mask not_above(const float *a, float b)
{
    return ~sup_wide_less(sup_wide_splat(b), sup_wide_load(a));
}

static sup_mask not_below(const float *a, float b)
{
    return ~sup_wide_less(sup_wide_load(a), sup_wide_splat(b));
}

static uint32_t boxes_that_overlap(const float (*boxes)[SUP_DETECT_CLUSTER], const sup_detect_box *box)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i += SUP_LANES) {
        sup_mask overlap = sup_mask_and(not_above(boxes[0] + i, box->upper[0]), not_below(boxes[3] + i, box->lower[0]));
        for (int32_t k = 1; k < 3; k++)
            overlap = sup_mask_and(overlap, sup_mask_and(not_above(boxes[k] + i, box->upper[k]),
                                                         not_below(boxes[3 + k] + i, box->lower[k])));
        bits |= sup_mask_bits(overlap) << i;
    }
    return bits;
}

static uint32_t points_within(const float *lanes, const sup_detect_box *box)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i += SUP_LANES) {
        sup_mask in = sup_mask_and(not_above(lanes + i, box->upper[0]), not_below(lanes + i, box->lower[0]));
        for (int32_t k = 1; k < 3; k++) {
            const float *at = lanes + k * SUP_DETECT_CLUSTER + i;
            in = sup_mask_and(in, sup_mask_and(not_above(at, box->upper[k]), not_below(at, box->lower[k])));
        }
        bits |= sup_mask_bits(in) << i;
    }
    return bits;
}

static uint64_t test_point(sup_detect_maps maps, int32_t count, const float *point)
{
    const sup_wide zero = sup_wide_splat(-SUP_CONTACT_TET_TOLERANCE);
    const sup_wide one = sup_wide_splat(1.0f + SUP_CONTACT_TET_TOLERANCE);
    const sup_wide x = sup_wide_splat(point[0]), y = sup_wide_splat(point[1]), z = sup_wide_splat(point[2]);
    uint64_t bits = 0;
    for (int32_t t = 0; t < count; t += SUP_LANES) {
        sup_wide dx = x - sup_wide_load(maps[0] + t), dy = y - sup_wide_load(maps[1] + t);
        sup_wide dz = z - sup_wide_load(maps[2] + t), weight[3];
        for (int32_t r = 0; r < 3; r++)
            weight[r] = sup_wide_fma(
                sup_wide_load(maps[3 + 3 * r] + t), dx,
                sup_wide_fma(sup_wide_load(maps[4 + 3 * r] + t), dy, sup_wide_load(maps[5 + 3 * r] + t) * dz));
        sup_mask inside = sup_mask_and(
            sup_mask_and(sup_wide_less(zero, weight[0]), sup_wide_less(zero, weight[1])),
            sup_mask_and(sup_wide_less(zero, weight[2]), sup_wide_less(weight[0] + weight[1] + weight[2], one)));
        bits |= (uint64_t)sup_mask_bits(inside) << t;
    }
    return bits & (UINT64_MAX >> (64 - count)); /* without the unused lanes */
}

static uint32_t points_inside(sup_detect_maps maps, int32_t count, const float *lanes, uint32_t set, uint64_t *bits)
{
    uint32_t any = 0;
    for (; set != 0; set &= set - 1) {
        int32_t i = __builtin_ctz(set);
        const float point[3] = {lanes[i], lanes[SUP_DETECT_CLUSTER + i], lanes[2 * SUP_DETECT_CLUSTER + i]};
        bits[i] = test_point(maps, count, point);
        any |= (uint32_t)(bits[i] != 0) << i;
    }
    return any;
}

static sup_wide dot_face(const float *face, const sup_wide v[3])
{
    return sup_wide_fma(v[2], sup_wide_splat(face[2]),
                        sup_wide_fma(v[1], sup_wide_splat(face[1]), v[0] * sup_wide_splat(face[0])));
}

static uint32_t lanes_that_face(const float *lanes, uint32_t set, sup_detect_faces faces, int32_t count,
                                const float limits[2])
{
    uint32_t facing = 0;
    for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i += SUP_LANES) {
        uint32_t wanted = set >> i & ((1u << SUP_LANES) - 1);
        sup_wide normal[3], direction[3];
        for (int32_t k = 0; k < 3; k++) {
            normal[k] = sup_wide_load(lanes + (3 + k) * SUP_DETECT_CLUSTER + i);
            direction[k] = sup_wide_load(lanes + (6 + k) * SUP_DETECT_CLUSTER + i);
        }
        for (int32_t t = 0; t < count && wanted != 0; t++) {
            sup_mask away = sup_wide_less(sup_wide_splat(limits[0] * faces[t][3]), dot_face(faces[t], normal)) |
                            sup_wide_less(sup_wide_splat(limits[1] * faces[t][3]), dot_face(faces[t], direction));
            uint32_t seen = sup_mask_bits(~away) & wanted;
            facing |= seen << i;
            wanted &= ~seen;
        }
    }
    return facing;
}

const sup_detect_kernels SUP_KERNEL(sup_detect_kernels) = {boxes_that_overlap, points_within, map_tets,
                                                           test_point,         points_inside, lanes_that_face};
