/* quaternion_kernel.h (internal) - SIMD code of kernels that blend quaternions; included by their _kernel.h.
 *
 * Based on: [aburumman2016survey], eq. 2: q = sum_j w_j q_j / |sum_j w_j q_j|, with the sign of each q_j in the
 * hemisphere of the vertex's strongest joint. A palette has `size` floats a joint, a constant of the caller: 4 for
 * quaternions x y z w, 8 for dual quaternions, of which the real part comes first. */
#ifndef SUP_SKIN_QUATERNION_KERNEL_H
#define SUP_SKIN_QUATERNION_KERNEL_H

#include "skin/skin_kernel.h"

/* Quaternions with a larger |dot| to the first one are pairwise less than 90 degrees apart on the 3-sphere, up to
 * sign: one choice of signs is then valid for every vertex, whichever joint is its strongest. Slightly above cos(45
 * degrees). */
static const float same_side = 0.7072f;

SUP_INLINE float dot4(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

/* Signs of the joints of a cluster relative to the first one; false when lanes need different signs. */
SUP_INLINE bool common_signs(const cluster_view *view, const float *palette, int32_t size, float *signs)
{
    const float *first = palette + (size_t)view->joints[0] * (size_t)size;
    bool common = true;
    signs[0] = 1.0f;
    for (int32_t slot = 1; slot < view->slots; slot++) {
        float dot = dot4(first, palette + (size_t)view->joints[slot] * (size_t)size);
        signs[slot] = dot < 0.0f ? -1.0f : 1.0f;
        common = common && fabsf(dot) > same_side;
    }
    return common;
}

SUP_INLINE void add_joint(const float *joint, int32_t size, sup_wide weight, sup_wide *q)
{
    for (int32_t i = 0; i < size; i++)
        q[i] = sup_wide_fma(weight, sup_wide_splat(joint[i]), q[i]);
}

SUP_INLINE void blend_common(const cluster_view *view, int32_t lane, const float *palette, int32_t size,
                             const float *signs, sup_wide *q)
{
    sup_wide weight = sup_wide_load(view->weights + lane);
    const float *joint = palette + (size_t)view->joints[0] * (size_t)size;
    for (int32_t i = 0; i < size; i++)
        q[i] = weight * sup_wide_splat(joint[i]);
    for (int32_t slot = 1; slot < view->slots; slot++) {
        weight = sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane) * sup_wide_splat(signs[slot]);
        add_joint(palette + (size_t)view->joints[slot] * (size_t)size, size, weight, q);
    }
}

/* Each lane uses the quaternions in the hemisphere of its strongest joint. */
static __attribute__((noinline)) void blend_by_lane(const cluster_view *view, const unsigned char *strongest,
                                                    int32_t lane, const float *palette, int32_t size, sup_wide *q)
{
    float pivots[4][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++)
        for (int32_t i = 0; i < 4; i++)
            pivots[i][k] = palette[view->joints[strongest[lane + k]] * size + i];
    for (int32_t i = 0; i < size; i++)
        q[i] = sup_wide_splat(0.0f);
    for (int32_t slot = 0; slot < view->slots; slot++) {
        const float *joint = palette + (size_t)view->joints[slot] * (size_t)size;
        sup_wide weight = sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane);
        sup_wide dot = sup_wide_load(pivots[0]) * sup_wide_splat(joint[0]);
        for (int32_t i = 1; i < 4; i++)
            dot = sup_wide_fma(sup_wide_load(pivots[i]), sup_wide_splat(joint[i]), dot);
        add_joint(joint, size, sup_wide_select(sup_wide_less(dot, sup_wide_splat(0.0f)), -weight, weight), q);
    }
}

/* Clusters with a list of joints per lane: the strongest joint is the first. */
static __attribute__((noinline)) void blend_per_lane_signed(const cluster_view *view, int32_t lane,
                                                            const float *palette, int32_t size, sup_wide *q)
{
    float columns[8][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++) {
        const float *pivot = palette + (size_t)view->joints[lane + k] * (size_t)size;
        sup_four sum[2] = {{0}, {0}};
        for (int32_t slot = 0; slot < view->slots; slot++) {
            int32_t at = slot * SUP_SKIN_CLUSTER + lane + k;
            const float *joint = palette + (size_t)view->joints[at] * (size_t)size;
            sup_four weight = sup_four_splat(dot4(pivot, joint) < 0.0f ? -view->weights[at] : view->weights[at]);
            for (int32_t half = 0; half < size / 4; half++)
                sum[half] = sup_four_fma(weight, sup_four_load(joint + 4 * half), sum[half]);
        }
        for (int32_t i = 0; i < size; i++)
            columns[i][k] = sup_four_lane(sum[i / 4], i % 4);
    }
    for (int32_t i = 0; i < size; i++)
        q[i] = sup_wide_load(columns[i]);
}

/* The blend of SUP_LANES lanes, not normalised; `signs` are those of common_signs, or NULL when it returned false. */
SUP_INLINE void blend_quaternions(const sup_skin_model *skin, const cluster_view *view, int32_t cluster, int32_t lane,
                                  const float *palette, int32_t size, const float *signs, sup_wide *q)
{
    if (signs != NULL) {
        blend_common(view, lane, palette, size, signs, q);
        return;
    }
    sup_wide sum[8]; /* apart from q, which stays in registers */
    if (view->shared)
        blend_by_lane(view, skin->strongest + (int64_t)cluster * SUP_SKIN_CLUSTER, lane, palette, size, sum);
    else
        blend_per_lane_signed(view, lane, palette, size, sum);
    memcpy(q, sum, (size_t)size * sizeof *q);
}

/* Linear part of m: the rotation of a quaternion of any length. Returns 2 / |q|^2. */
SUP_INLINE sup_wide rotation_of(const sup_wide q[4], sup_wide m[12])
{
    sup_wide square = sup_wide_fma(q[3], q[3], dot3(q, q)), s = sup_wide_splat(2.0f) / square;
    sup_wide x = q[0] * s, y = q[1] * s, z = q[2] * s, one = sup_wide_splat(1.0f);
    sup_wide xx = q[0] * x, yy = q[1] * y, zz = q[2] * z;
    sup_wide wx = q[3] * x, wy = q[3] * y, wz = q[3] * z;
    m[0] = one - (yy + zz);
    m[5] = one - (xx + zz);
    m[10] = one - (xx + yy);
    m[1] = sup_wide_fma(q[0], y, -wz);
    m[4] = sup_wide_fma(q[0], y, wz);
    m[2] = sup_wide_fma(q[0], z, wy);
    m[8] = sup_wide_fma(q[0], z, -wy);
    m[6] = sup_wide_fma(q[1], z, -wx);
    m[9] = sup_wide_fma(q[1], z, wx);
    return s;
}

#endif
