/* skin_limit_kernel.h (internal) - tests of all edges and triangles of the skin; includers define SUP_KERNEL(name). */
#include "base/simd_rows.h"
#include "methods/position/skin_limit_work.h"

typedef struct vector {
    sup_wide x, y, z;
} vector;

SUP_WIDE4 vector difference(sup_wide4 a, sup_wide4 b)
{
    return (vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

SUP_WIDE4 sup_wide square(vector a)
{
    return sup_wide_fma(a.z, a.z, sup_wide_fma(a.y, a.y, a.x * a.x));
}

SUP_WIDE4 bool any(sup_mask mask)
{
    return sup_mask_bits(mask) != 0;
}

/* Largest squared length of an edge / squared rest length. */
static float largest_ratio(const sup_skin_limit *skin, const float *positions)
{
    sup_wide most = sup_wide_splat(0.0f);
    float lanes[SUP_LANES], largest = 0.0f;
    for (int64_t e = 0; e < skin->edge_batches * SUP_SKIN_LANES; e += SUP_LANES) {
        const int32_t *end = skin->edge + e / SUP_SKIN_LANES * 2 * SUP_SKIN_LANES + e % SUP_SKIN_LANES;
        vector d = difference(sup_wide4_gather(positions, end), sup_wide4_gather(positions, end + SUP_SKIN_LANES));
        sup_wide ratio = square(d) * sup_wide_load(skin->edge_rest + e);
        most = sup_wide_select(sup_wide_less(most, ratio), ratio, most);
    }
    sup_wide_store(lanes, most);
    for (int k = 0; k < SUP_LANES; k++)
        largest = lanes[k] > largest ? lanes[k] : largest;
    return largest;
}

/* Area normals with 1 / their length; returns batches with an edge beyond `limit` in `found`. */
static int32_t find_long(const sup_skin_limit *skin, const float *positions, float limit, float *normals,
                         int32_t *found)
{
    const sup_wide most = sup_wide_splat(limit), zero = sup_wide_splat(0.0f), one = sup_wide_splat(1.0f);
    int32_t count = 0;
    for (int64_t t = 0; t < skin->triangle_batches * SUP_SKIN_LANES; t += SUP_LANES) {
        int64_t first = t / SUP_SKIN_LANES * 3 * SUP_SKIN_LANES + t % SUP_SKIN_LANES;
        const int32_t *corner = skin->lane_corner + first;
        const float *rest = skin->lane_rest + first;
        sup_wide4 a = sup_wide4_gather(positions, corner), b = sup_wide4_gather(positions, corner + SUP_SKIN_LANES),
                  c = sup_wide4_gather(positions, corner + 2 * SUP_SKIN_LANES);
        vector u = difference(b, a), v = difference(c, b), w = difference(c, a);
        vector n = {u.y * w.z - u.z * w.y, u.z * w.x - u.x * w.z, u.x * w.y - u.y * w.x};
        sup_wide length = sup_wide_sqrt(square(n)), big = sup_wide_select(sup_wide_less(zero, length), length, one);
        sup_wide4_store(normals + 4 * t, (sup_wide4){n.x, n.y, n.z, one / big});
        sup_mask longer = sup_wide_less(most * sup_wide_load(rest), square(u));
        longer |= sup_wide_less(most * sup_wide_load(rest + SUP_SKIN_LANES), square(v));
        longer |= sup_wide_less(most * sup_wide_load(rest + 2 * SUP_SKIN_LANES), square(w));
        if (any(longer)) found[count++] = (int32_t)(t / SUP_LANES);
    }
    return count;
}

/* Batches with a triangle that faces away from its neighbours. */
static int32_t find_flipped(const sup_skin_limit *skin, const float *normals, int32_t *found)
{
    const sup_wide zero = sup_wide_splat(0.0f);
    int32_t count = 0;
    for (int64_t t = 0; t < skin->triangle_batches * SUP_SKIN_LANES; t += SUP_LANES) {
        const int32_t *neighbour = skin->lane_neighbour + t / SUP_SKIN_LANES * 3 * SUP_SKIN_LANES + t % SUP_SKIN_LANES;
        sup_wide4 own = sup_wide4_load(normals + 4 * t);
        sup_wide away = zero;
        for (int k = 0; k < 3; k++) {
            sup_wide4 n = sup_wide4_gather(normals, neighbour + k * SUP_SKIN_LANES);
            away = sup_wide_fma(n.w, sup_wide_fma(n.z, own.z, sup_wide_fma(n.y, own.y, n.x * own.x)), away);
        }
        if (any(sup_wide_less(away, zero))) found[count++] = (int32_t)(t / SUP_LANES);
    }
    return count;
}

const sup_skin_kernels SUP_KERNEL(sup_skin_kernels) = {SUP_LANES, largest_ratio, find_long, find_flipped};
