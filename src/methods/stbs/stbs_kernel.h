/* stbs_kernel.h (internal) - stretchable, twistable bones in one window; includers define SUP_KERNEL(name).
 *
 * Based on: [jacobson2011stbs]; see stbs.h. Clusters whose bones have no twist and stretch are blended linearly. */
#include "methods/stbs/stbs.h"
#include "skin/skin_kernel.h"

/* Sine and 1 - cosine of angles up to two turns: series at a quarter of the angle, doubled twice; to 1e-6. */
SUP_INLINE void sine_versine(sup_wide angle, sup_wide *sine, sup_wide *versine)
{
    static const float odd[6] = {-2.5052108e-8f, 2.7557319e-6f, -1.9841270e-4f, 8.3333333e-3f, -1.6666667e-1f, 1.0f};
    static const float even[6] = {2.0876757e-9f, -2.7557319e-7f, 2.4801587e-5f, -1.3888889e-3f, 4.1666667e-2f, -0.5f};
    const sup_wide one = sup_wide_splat(1.0f);
    sup_wide x = angle * sup_wide_splat(0.25f), square = x * x;
    sup_wide s = sup_wide_splat(odd[0]), c = sup_wide_splat(even[0]);
    for (int32_t i = 1; i < 6; i++) {
        s = sup_wide_fma(s, square, sup_wide_splat(odd[i]));
        c = sup_wide_fma(c, square, sup_wide_splat(even[i]));
    }
    s = s * x;
    c = sup_wide_fma(c, square, one);
    sup_wide half_sine = (s + s) * c, half_cosine = sup_wide_fma(-(s + s), s, one); /* of half the angle */
    *sine = (half_sine + half_sine) * half_cosine;
    *versine = (half_sine + half_sine) * half_sine;
}

/* m += w * joint */
SUP_INLINE void add_scaled(const cluster_view *view, const float *palette, int32_t slot, int32_t lane, sup_wide w,
                           sup_wide m[12])
{
    sup_wide joint[12];
    load_joint(view, palette, slot, lane, joint);
    for (int32_t i = 0; i < 12; i++)
        m[i] = sup_wide_fma(w, joint[i], m[i]);
}

/* Lanes with twist or stretch in their bones. Not inlined: large. */
static __attribute__((noinline)) void move_spread(const sup_skin_window *work, const cluster_view *view,
                                                  int32_t cluster, int32_t lane)
{
    const sup_stbs_joints *joints = work->joints;
    const float *along = joints->along + work->skin->weight_first[cluster] + lane;
    sup_wide m[12];
    blend_matrices(view, lane, joints->motion, m);
    for (int32_t slot = 0; slot < view->slots; slot++) {
        if (view->shared && joints->active[view->joints[slot]] == 0) continue;
        sup_wide w = sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane), spread[12], sine, versine;
        sup_wide e = sup_wide_load(along + slot * SUP_SKIN_CLUSTER);
        load_joint(view, joints->spread, slot, lane, spread);
        sine_versine(sup_wide_fma(spread[1], e, spread[0]), &sine, &versine);
        add_scaled(view, joints->sine, slot, lane, w * sine, m);
        add_scaled(view, joints->versine, slot, lane, w * versine, m);
        for (int32_t r = 0; r < 3; r++)
            m[4 * r + 3] = sup_wide_fma(w * e, spread[4 * r + 3], m[4 * r + 3]);
    }
    move_lanes(work, cluster, lane, skin_outputs(&work->out), false, m);
}

SUP_INLINE void skin_window(const sup_skin_window *work, int32_t outputs)
{
    const sup_skin_model *skin = work->skin;
    const sup_stbs_joints *joints = work->joints;
    float rigid[SUP_SKIN_SHARED * SUP_SKIN_CLUSTER];
    for (int32_t cluster = skin->window_first[work->window]; cluster < skin->window_first[work->window + 1];
         cluster++) {
        cluster_view view = view_cluster(skin, cluster);
        if (work->rigid) view = view_rigid(skin, cluster, view, rigid);
        bool spread = any_flag(&view, joints->active);
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane += SUP_LANES) {
            sup_wide m[12];
            if (spread) {
                move_spread(work, &view, cluster, lane);
                continue;
            }
            blend_matrices(&view, lane, joints->motion, m);
            move_lanes(work, cluster, lane, outputs, false, m);
        }
    }
}

SKIN_KERNEL(SUP_KERNEL(sup_stbs_window))
