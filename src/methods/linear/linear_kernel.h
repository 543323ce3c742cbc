/* linear_kernel.h (internal) - linear blend skinning of one window; includers define SUP_KERNEL(name).
 *
 * Based on: [aburumman2016survey], eq. 1: v' = sum_j w_j T_j R_j^-1 v. The joint matrices are blended
 * first and applied once: the same sum, and normals and tangents need the blended matrix. */
#include "methods/linear/linear.h"
#include "skin/skin_kernel.h"

SUP_INLINE void skin_window(const sup_skin_window *work, int32_t outputs)
{
    const sup_skin_model *skin = work->skin;
    const float *joints = work->joints;
    float rigid[SUP_SKIN_SHARED * SUP_SKIN_CLUSTER];
    for (int32_t cluster = skin->window_first[work->window]; cluster < skin->window_first[work->window + 1];
         cluster++) {
        cluster_view view = view_cluster(skin, cluster);
        if (work->rigid) view = view_rigid(skin, cluster, view, rigid);
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += SUP_LANES) {
            sup_wide m[12];
            blend_matrices(&view, lane, joints, m); /* eq. 1 */
            move_lanes(work, cluster, lane, outputs, false, m);
        }
    }
}

SKIN_KERNEL(SUP_KERNEL(sup_linear_window))
