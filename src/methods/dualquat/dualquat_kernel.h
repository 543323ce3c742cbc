/* dualquat_kernel.h (internal) - dual quaternion skinning of one window; includers define SUP_KERNEL(name).
 *
 * Based on: [aburumman2016survey], eq. 2: v' = q v q*, q = sum_j w_j q_j / |sum_j w_j q_j|; [kavan2008dual].
 * Deviation: scale and shear of a joint, which a dual quaternion cannot represent, are blended linearly and applied
 * first. */
#include "methods/dualquat/dualquat.h"
#include "skin/quaternion_kernel.h"

/* The matrix of a dual quaternion of any length: eq. 2 including the division by the squared length. */
SUP_INLINE void matrix_of(const sup_wide q[8], sup_wide m[12])
{
    const sup_wide *e = q + 4;
    sup_wide s = rotation_of(q, m);
    sup_wide x = q[0] * s, y = q[1] * s, z = q[2] * s, w = q[3] * s;
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
    blend_matrices(view, lane, joints->stretch, s);
    memcpy(m, rigid, sizeof m);
    stretch_first(m, s);
    move_lanes(work, cluster, lane, skin_outputs(&work->out), false, m);
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
        bool stretched = any_flag(&view, joints->stretched);
        bool common = view.shared && common_signs(&view, joints->rigid, 8, signs);
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += SUP_LANES) {
            sup_wide q[8], m[12];
            blend_quaternions(skin, &view, cluster, lane, joints->rigid, 8, common ? signs : NULL, q);
            matrix_of(q, m);
            if (stretched)
                move_stretched(work, &view, cluster, lane, m);
            else
                move_lanes(work, cluster, lane, outputs, true, m);
        }
    }
}

SKIN_KERNEL(SUP_KERNEL(sup_dualquat_window))
