/* ddm_kernel.h (internal) - direct delta mush of one window; includers define SUP_KERNEL(name).
 *
 * Based on: [le2019ddm]; see ddm.h. With A_j y + t_j the motion of joint j and m_j = A_j p + t_j the moved centre:
 *     Q = sum_j A_j Psi_j + m_j psi_j^T      q = sum_j A_j psi_j + w_j m_j
 * for the second moments Psi_j and the first ones psi_j about p. */
#include "methods/ddm/ddm.h"
#include "skin/skin_kernel.h"
#include "solver/tetrahedron.h"

/* Rows and columns of a symmetric matrix in its six numbers. */
static const int32_t symmetric[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};

/* Adds one joint, `joint` [12], to Q and q. */
SUP_INLINE void add_joint_moments(const sup_wide joint[12], sup_wide weight, const sup_wide moments[9],
                                  const sup_wide p[3], sup_wide big[9], sup_wide small[3])
{
    const sup_wide *first = moments + 6;
    for (int32_t r = 0; r < 3; r++) {
        const sup_wide *row = joint + 4 * r;
        sup_wide moved = sup_wide_fma(row[2], p[2], sup_wide_fma(row[1], p[1], sup_wide_fma(row[0], p[0], row[3])));
        for (int32_t c = 0; c < 3; c++) {
            sup_wide sum = sup_wide_fma(moved, first[c], big[3 * r + c]);
            for (int32_t k = 0; k < 3; k++)
                sum = sup_wide_fma(row[k], moments[symmetric[3 * k + c]], sum);
            big[3 * r + c] = sum;
        }
        sup_wide sum = sup_wide_fma(weight, moved, small[r]);
        for (int32_t k = 0; k < 3; k++)
            sum = sup_wide_fma(row[k], first[k], sum);
        small[r] = sum;
    }
}

/* m <- m s^T for the linear part of s */
SUP_INLINE void multiply_transposed(sup_wide m[9], const sup_wide s[12])
{
    for (int32_t r = 0; r < 3; r++) {
        const sup_wide row[3] = {m[3 * r], m[3 * r + 1], m[3 * r + 2]};
        for (int32_t c = 0; c < 3; c++)
            m[3 * r + c] = sup_wide_fma(row[2], s[4 * c + 2], sup_wide_fma(row[1], s[4 * c + 1], row[0] * s[4 * c]));
    }
}

/* Linear part of m: r s */
SUP_INLINE void multiply_stretch(const sup_wide r[9], const sup_wide s[12], sup_wide m[12])
{
    for (int32_t i = 0; i < 3; i++)
        for (int32_t c = 0; c < 3; c++)
            m[4 * i + c] = sup_wide_fma(r[3 * i], s[c], sup_wide_fma(r[3 * i + 1], s[4 + c], r[3 * i + 2] * s[8 + c]));
}

/* Translation of m: origin and unit of the world restored, m p subtracted. */
SUP_INLINE void place(const sup_ddm_joints *joints, const sup_wide small[3], const sup_wide centre[3], sup_wide m[12])
{
    for (int32_t r = 0; r < 3; r++) {
        sup_wide turned =
            sup_wide_fma(m[4 * r + 2], centre[2], sup_wide_fma(m[4 * r + 1], centre[1], m[4 * r] * centre[0]));
        sup_wide world = sup_wide_fma(small[r], sup_wide_splat(joints->unit), sup_wide_splat(joints->moved[r]));
        m[4 * r + 3] = world - turned;
    }
}

/* Groups of lanes whose rotations are found together: each is a chain of dependent divisions. */
enum { GROUPS = SUP_LANES == 16 ? 1 : SUP_LANES == 8 ? 2 : 4 };

/* Q and q of one group, and its centre. */
typedef struct lane_sums {
    sup_wide big[9], small[3], centre[3];
} lane_sums;

SUP_INLINE void add_moments(const sup_skin_window *work, const cluster_view *view, int32_t cluster, int32_t lane,
                            lane_sums *sums)
{
    const sup_ddm_joints *joints = work->joints;
    const float *moments = joints->moments + (int64_t)work->skin->weight_first[cluster] * SUP_DDM_CHANNELS + lane;
    sup_wide p[3], big[9], small[3];
    load3(joints->centres + (int64_t)cluster * SUP_SKIN_CHANNEL + lane, sums->centre);
    for (int32_t i = 0; i < 3; i++) {
        p[i] = (sums->centre[i] - sup_wide_splat(joints->origin[i])) * sup_wide_splat(joints->inverse_unit);
        small[i] = sup_wide_splat(0.0f);
    }
    for (int32_t i = 0; i < 9; i++)
        big[i] = sup_wide_splat(0.0f);
    for (int32_t slot = 0; slot < view->slots; slot++) {
        sup_wide joint[12], own[SUP_DDM_CHANNELS];
        load_joint(view, joints->motion, slot, lane, joint);
        for (int32_t i = 0; i < SUP_DDM_CHANNELS; i++)
            own[i] = sup_wide_load(moments + ((int64_t)slot * SUP_DDM_CHANNELS + i) * SUP_SKIN_CLUSTER);
        add_joint_moments(joint, sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane), own, p, big, small);
    }
    memcpy(sums->big, big, sizeof big);
    memcpy(sums->small, small, sizeof small);
}

SUP_INLINE void skin_lanes(const sup_skin_window *work, const cluster_view *view, int32_t cluster, int32_t lane,
                           int32_t outputs, bool stretched)
{
    const sup_ddm_joints *joints = work->joints;
    lane_sums sums[GROUPS];
    sup_rotation turn[GROUPS];
    sup_wide stretch[GROUPS][12];
    for (int32_t g = 0; g < GROUPS; g++) {
        add_moments(work, view, cluster, lane + g * SUP_LANES, &sums[g]);
        if (stretched) {
            blend_matrices(view, lane + g * SUP_LANES, joints->stretch, stretch[g]);
            multiply_transposed(sums[g].big, stretch[g]);
        }
        turn[g] = sup_rotation_begin(sums[g].big);
    }
    sup_rotation_solve(turn, GROUPS);
    for (int32_t g = 0; g < GROUPS; g++) {
        sup_wide rotation[9], m[12];
        sup_rotation_end(&turn[g], sums[g].big, rotation);
        if (stretched)
            multiply_stretch(rotation, stretch[g], m);
        else
            for (int32_t i = 0; i < 9; i++)
                m[i / 3 * 4 + i % 3] = rotation[i];
        place(joints, sums[g].small, sums[g].centre, m);
        move_lanes(work, cluster, lane + g * SUP_LANES, outputs, !stretched, m);
    }
}

/* Not inlined: rare and large. */
static __attribute__((noinline)) void skin_stretched(const sup_skin_window *work, const cluster_view *view,
                                                     int32_t cluster, int32_t lane)
{
    skin_lanes(work, view, cluster, lane, skin_outputs(&work->out), true);
}

/* One joint: its own motion; no rotation needs to be found. */
SUP_INLINE void follow_joint(const sup_skin_window *work, const cluster_view *view, int32_t cluster, int32_t lane,
                             int32_t outputs, bool stretched)
{
    const sup_ddm_joints *joints = work->joints;
    sup_wide m[12], small[3], origin[3];
    load_joint(view, joints->motion, 0, lane, m);
    for (int32_t i = 0; i < 3; i++) {
        small[i] = m[4 * i + 3];
        origin[i] = sup_wide_splat(joints->origin[i]);
    }
    place(joints, small, origin, m);
    move_lanes(work, cluster, lane, outputs, !stretched, m);
}

SUP_INLINE void skin_window(const sup_skin_window *work, int32_t outputs)
{
    const sup_skin_model *skin = work->skin;
    const sup_ddm_joints *joints = work->joints;
    for (int32_t cluster = skin->window_first[work->window]; cluster < skin->window_first[work->window + 1];
         cluster++) {
        cluster_view view = view_cluster(skin, cluster);
        bool stretched = any_flag(&view, joints->stretched);
        if (view.slots == 1)
            for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += SUP_LANES)
                follow_joint(work, &view, cluster, lane, outputs, stretched);
        else
            for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += GROUPS * SUP_LANES)
                if (stretched)
                    skin_stretched(work, &view, cluster, lane);
                else
                    skin_lanes(work, &view, cluster, lane, outputs, false);
    }
}

SKIN_KERNEL(SUP_KERNEL(sup_ddm_window))
