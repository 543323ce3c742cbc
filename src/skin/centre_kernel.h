/* centre_kernel.h (internal) - skinning of one window about centres of rotation; includers define SUP_KERNEL(name).
 *
 * Based on: [le2016cor]; see centre.h. A vertex's matrix is [R S | (B - R S) p + t], with B and t the linear part and
 * the translation of the blended joints: in the bind pose the translation is zero, and every bit of u is kept. */
#include "skin/centre.h"
#include "skin/quaternion_kernel.h"

/* Translation of m: (B - m) p + t. */
SUP_INLINE void keep_centre(const float *centre, const sup_wide blended[12], sup_wide m[12])
{
    sup_wide p[3];
    load3(centre, p);
    for (int32_t r = 0; r < 3; r++) {
        const sup_wide *b = blended + 4 * r;
        sup_wide sum = sup_wide_fma(b[0] - m[4 * r], p[0], b[3]);
        m[4 * r + 3] = sup_wide_fma(b[2] - m[4 * r + 2], p[2], sup_wide_fma(b[1] - m[4 * r + 1], p[1], sum));
    }
}

/* Lanes with scale or shear in their joints. Not inlined: rare and large. */
static __attribute__((noinline)) void move_stretched(const sup_skin_window *work, const cluster_view *view,
                                                     int32_t cluster, int32_t lane, const sup_wide rotation[12],
                                                     const sup_wide blended[12])
{
    const sup_centre_joints *joints = work->joints;
    sup_wide s[12], m[12];
    blend_matrices(view, lane, joints->stretch, s);
    for (int32_t i = 0; i < 12; i++) {
        const sup_wide *row = rotation + i / 4 * 4;
        m[i] = sup_wide_fma(row[0], s[i % 4], sup_wide_fma(row[1], s[4 + i % 4], row[2] * s[8 + i % 4]));
    }
    keep_centre(joints->centres + (int64_t)cluster * SUP_SKIN_CHANNEL + lane, blended, m);
    move_lanes(work, cluster, lane, skin_outputs(&work->out), false, m);
}

SUP_INLINE void skin_window(const sup_skin_window *work, int32_t outputs)
{
    const sup_skin_model *skin = work->skin;
    const sup_centre_joints *joints = work->joints;
    float rigid[SUP_SKIN_SHARED * SUP_SKIN_CLUSTER], signs[SUP_SKIN_SHARED];
    for (int32_t cluster = skin->window_first[work->window]; cluster < skin->window_first[work->window + 1];
         cluster++) {
        cluster_view view = view_cluster(skin, cluster);
        if (work->rigid) view = view_rigid(skin, cluster, view, rigid);
        bool stretched = any_flag(&view, joints->stretched);
        bool common = view.shared && common_signs(&view, joints->rotation, 4, signs);
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += SUP_LANES) {
            sup_wide q[4], m[12], blended[12];
            blend_matrices(&view, lane, joints->motion, blended);
            blend_quaternions(skin, &view, cluster, lane, joints->rotation, 4, common ? signs : NULL, q);
            rotation_of(q, m);
            if (stretched) {
                move_stretched(work, &view, cluster, lane, m, blended);
                continue;
            }
            keep_centre(joints->centres + (int64_t)cluster * SUP_SKIN_CHANNEL + lane, blended, m);
            move_lanes(work, cluster, lane, outputs, true, m);
        }
    }
}

SKIN_KERNEL(SUP_KERNEL(sup_centre_window))
