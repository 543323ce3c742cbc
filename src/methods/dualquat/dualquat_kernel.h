/* dualquat_kernel.h (internal) - dual quaternion skinning of one window; includers define SUP_KERNEL(name).
 *
 * Based on: [aburumman2016survey], eq. 2: v' = q v q*, q = sum_j w_j q_j / |sum_j w_j q_j|; [kavan2008dual].
 * Deviation: scale and shear of a joint, which a dual quaternion cannot represent, are blended linearly and applied
 * first. */
#include "methods/dualquat/dualquat.h"
#include "skin/skin_kernel.h"

/* Quaternions with a larger |dot| to the first one are pairwise less than 90 degrees apart on the 3-sphere, up to sign:
 * one choice of signs is then valid for every vertex, whichever joint is its strongest. Slightly above cos(45
 * degrees). */
static const float same_side = 0.7072f;

SUP_INLINE float dot4(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

/* Signs of the joints of a cluster relative to the first one; false when lanes need different signs. */
SUP_INLINE bool common_signs(const cluster_view *view, const float *rigid, float *signs)
{
    const float *first = rigid + (size_t)view->joints[0] * 8;
    bool common = true;
    signs[0] = 1.0f;
    for (int32_t slot = 1; slot < view->slots; slot++) {
        float dot = dot4(first, rigid + (size_t)view->joints[slot] * 8);
        signs[slot] = dot < 0.0f ? -1.0f : 1.0f;
        common = common && fabsf(dot) > same_side;
    }
    return common;
}

SUP_INLINE void add_joint(const float *joint, sup_wide weight, sup_wide q[8])
{
    for (int32_t i = 0; i < 8; i++)
        q[i] = sup_wide_fma(weight, sup_wide_splat(joint[i]), q[i]);
}

SUP_INLINE void blend_common(const cluster_view *view, int32_t lane, const float *rigid, const float *signs,
                             sup_wide q[8])
{
    sup_wide weight = sup_wide_load(view->weights + lane);
    const float *joint = rigid + (size_t)view->joints[0] * 8;
    for (int32_t i = 0; i < 8; i++)
        q[i] = weight * sup_wide_splat(joint[i]);
    for (int32_t slot = 1; slot < view->slots; slot++) {
        weight = sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane) * sup_wide_splat(signs[slot]);
        add_joint(rigid + (size_t)view->joints[slot] * 8, weight, q);
    }
}

/* Each lane uses the quaternions in the hemisphere of its strongest joint. */
static __attribute__((noinline)) void blend_by_lane(const cluster_view *view, const unsigned char *strongest,
                                                    int32_t lane, const float *rigid, sup_wide q[8])
{
    float pivots[4][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++)
        for (int32_t i = 0; i < 4; i++)
            pivots[i][k] = rigid[view->joints[strongest[lane + k]] * 8 + i];
    for (int32_t i = 0; i < 8; i++)
        q[i] = sup_wide_splat(0.0f);
    for (int32_t slot = 0; slot < view->slots; slot++) {
        const float *joint = rigid + (size_t)view->joints[slot] * 8;
        sup_wide weight = sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane);
        sup_wide dot = sup_wide_load(pivots[0]) * sup_wide_splat(joint[0]);
        for (int32_t i = 1; i < 4; i++)
            dot = sup_wide_fma(sup_wide_load(pivots[i]), sup_wide_splat(joint[i]), dot);
        add_joint(joint, sup_wide_select(sup_wide_less(dot, sup_wide_splat(0.0f)), -weight, weight), q);
    }
}

/* Clusters with a list of joints per lane: the strongest joint is the first. */
static __attribute__((noinline)) void blend_per_lane_signed(const cluster_view *view, int32_t lane, const float *rigid,
                                                            sup_wide q[8])
{
    float columns[8][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++) {
        const float *pivot = rigid + (size_t)view->joints[lane + k] * 8;
        sup_four real = {0}, dual = {0};
        for (int32_t slot = 0; slot < view->slots; slot++) {
            int32_t at = slot * SUP_SKIN_CLUSTER + lane + k;
            const float *joint = rigid + (size_t)view->joints[at] * 8;
            sup_four weight = sup_four_splat(dot4(pivot, joint) < 0.0f ? -view->weights[at] : view->weights[at]);
            real = sup_four_fma(weight, sup_four_load(joint), real);
            dual = sup_four_fma(weight, sup_four_load(joint + 4), dual);
        }
        for (int32_t i = 0; i < 4; i++) {
            columns[i][k] = sup_four_lane(real, i);
            columns[4 + i][k] = sup_four_lane(dual, i);
        }
    }
    for (int32_t i = 0; i < 8; i++)
        q[i] = sup_wide_load(columns[i]);
}

/* The matrix of a dual quaternion of any length: eq. 2 including the division by the squared length. */
SUP_INLINE void matrix_of(const sup_wide q[8], sup_wide m[12])
{
    const sup_wide *e = q + 4;
    sup_wide square = sup_wide_fma(q[3], q[3], dot3(q, q)), s = sup_wide_splat(2.0f) / square;
    sup_wide x = q[0] * s, y = q[1] * s, z = q[2] * s, w = q[3] * s, one = sup_wide_splat(1.0f);
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
    /* 2 (w e - e_w v + v x e) / |q|^2 */
    m[3] = sup_wide_fma(w, e[0], -(x * e[3])) + sup_wide_fma(y, e[2], -(z * e[1]));
    m[7] = sup_wide_fma(w, e[1], -(y * e[3])) + sup_wide_fma(z, e[0], -(x * e[2]));
    m[11] = sup_wide_fma(w, e[2], -(z * e[3])) + sup_wide_fma(x, e[1], -(y * e[0]));
}

/* m <- m * s */
SUP_INLINE void stretch_first(sup_wide m[12], const sup_wide s[12])
{
    for (int32_t r = 0; r < 3; r++) {
        sup_wide row[4] = {m[4 * r], m[4 * r + 1], m[4 * r + 2], m[4 * r + 3]};
        for (int32_t c = 0; c < 4; c++) {
            sup_wide sum = sup_wide_fma(row[0], s[c], sup_wide_fma(row[1], s[4 + c], row[2] * s[8 + c]));
            m[4 * r + c] = c == 3 ? sum + row[3] : sum;
        }
    }
}

/* Lanes with scale or shear in their joints. Not inlined: rare and large. */
static __attribute__((noinline)) void move_stretched(const sup_skin_window *work, const cluster_view *view,
                                                     int32_t cluster, int32_t lane, const sup_wide rigid[12])
{
    const sup_dualquat_joints *joints = work->joints;
    sup_wide m[12], s[12];
    if (view->shared)
        blend_shared(view, lane, joints->stretch, s);
    else
        blend_per_lane(view, lane, joints->stretch, s);
    memcpy(m, rigid, sizeof m);
    stretch_first(m, s);
    move_lanes(work, cluster, lane, skin_outputs(&work->out), false, m);
}

SUP_INLINE bool is_stretched(const cluster_view *view, const unsigned char *stretched)
{
    int32_t count = view->shared ? view->slots : view->slots * SUP_SKIN_CLUSTER;
    unsigned char any = 0;
    for (int32_t i = 0; i < count; i++)
        any |= stretched[view->joints[i]];
    return any != 0;
}

SUP_INLINE void skin_window(const sup_skin_window *work, int32_t outputs)
{
    const sup_skin_model *skin = work->skin;
    const sup_dualquat_joints *joints = work->joints;
    float rigid[SUP_SKIN_SHARED * SUP_SKIN_CLUSTER], signs[SUP_SKIN_SHARED];
    for (int32_t cluster = skin->window_first[work->window]; cluster < skin->window_first[work->window + 1];
         cluster++) {
        cluster_view view = view_cluster(skin, cluster);
        if (work->rigid) view = view_rigid(skin, cluster, view, rigid);
        bool stretched = is_stretched(&view, joints->stretched);
        bool common = view.shared && common_signs(&view, joints->rigid, signs);
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += SUP_LANES) {
            sup_wide q[8], m[12];
            if (common)
                blend_common(&view, lane, joints->rigid, signs, q);
            else {
                sup_wide sum[8];
                if (view.shared)
                    blend_by_lane(&view, skin->strongest + (int64_t)cluster * SUP_SKIN_CLUSTER, lane, joints->rigid,
                                  sum);
                else
                    blend_per_lane_signed(&view, lane, joints->rigid, sum);
                memcpy(q, sum, sizeof q);
            }
            matrix_of(q, m);
            if (stretched)
                move_stretched(work, &view, cluster, lane, m);
            else
                move_lanes(work, cluster, lane, outputs, true, m);
        }
    }
}

SKIN_KERNEL(SUP_KERNEL(sup_dualquat_window))
