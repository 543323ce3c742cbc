/* skin_kernel.h (internal) - SIMD code shared by the linear and dualquat kernels; included by their _kernel.h.
 *
 * A kernel blends the joints of SUP_LANES vertices into one matrix per lane, m[12] row-major, and passes it to
 * move_lanes, which writes the requested outputs. The set of outputs is a compile-time constant in the loops:
 * skin_outputs selects the loop. */
#ifndef SUP_SKIN_SKIN_KERNEL_H
#define SUP_SKIN_SKIN_KERNEL_H

#include "base/simd.h"
#include "skin/skin.h"

#define SUP_INLINE static inline __attribute__((always_inline))

/* Outputs of a step; a bit mask. */
enum { OUT_POSITIONS = 1, OUT_NORMALS = 2, OUT_TANGENTS = 4 };

#ifdef SUPPLE_SMALL /* web builds need no tangents */
enum { HAS_TANGENTS = 0 };
#else
enum { HAS_TANGENTS = 1 };
#endif

SUP_INLINE int32_t skin_outputs(const sup_skin_out *out)
{
    return (out->positions != NULL ? OUT_POSITIONS : 0) | (out->normals != NULL ? OUT_NORMALS : 0) |
           (HAS_TANGENTS && out->tangents != NULL ? OUT_TANGENTS : 0);
}

/* Joints and weights of a cluster. */
typedef struct cluster_view {
    bool shared; /* all lanes use joints[0..slots) */
    int32_t slots;
    const uint16_t *joints; /* [slots], or [slots*16] when not shared */
    const float *weights;   /* [slots*16] */
} cluster_view;

SUP_INLINE cluster_view view_cluster(const sup_skin_model *skin, int32_t cluster)
{
    int32_t slots = (skin->weight_first[cluster + 1] - skin->weight_first[cluster]) / SUP_SKIN_CLUSTER;
    int32_t joints = skin->joint_first[cluster + 1] - skin->joint_first[cluster];
    cluster_view view = {joints == slots, slots, skin->joints + skin->joint_first[cluster],
                         skin->weights + skin->weight_first[cluster]};
    return view;
}

/* The same cluster with all weight on the strongest influence of each lane; fills `weights` [SUP_SKIN_SHARED*16]. */
static inline cluster_view view_rigid(const sup_skin_model *skin, int32_t cluster, cluster_view view, float *weights)
{
    const unsigned char *strongest = skin->strongest + (int64_t)cluster * SUP_SKIN_CLUSTER;
    if (!view.shared) view.slots = 1; /* the strongest is the first */
    for (int32_t slot = 0; slot < view.slots; slot++)
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane++)
            weights[slot * SUP_SKIN_CLUSTER + lane] = strongest[lane] == slot ? 1.0f : 0.0f;
    view.weights = weights;
    return view;
}

/* Whether a joint of the cluster has its flag set; flags[joint_count]. */
SUP_INLINE bool any_flag(const cluster_view *view, const unsigned char *flags)
{
    int32_t count = view->shared ? view->slots : view->slots * SUP_SKIN_CLUSTER;
    unsigned char any = 0;
    for (int32_t i = 0; i < count; i++)
        any |= flags[view->joints[i]];
    return any != 0;
}

/* The 12 numbers of the joints of one slot, in SUP_LANES lanes. */
SUP_INLINE void load_joint(const cluster_view *view, const float *palette, int32_t slot, int32_t lane,
                           sup_wide joint[12])
{
    if (view->shared) {
        const float *from = palette + (size_t)view->joints[slot] * 12;
        for (int32_t i = 0; i < 12; i++)
            joint[i] = sup_wide_splat(from[i]);
        return;
    }
    float columns[12][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++) {
        const float *from = palette + (size_t)view->joints[slot * SUP_SKIN_CLUSTER + lane + k] * 12;
        for (int32_t i = 0; i < 12; i++)
            columns[i][k] = from[i];
    }
    for (int32_t i = 0; i < 12; i++)
        joint[i] = sup_wide_load(columns[i]);
}

/* sum_k weight_k * palette[joint_k] for SUP_LANES lanes from `lane` on, 12 floats per joint. */
SUP_INLINE void blend_shared(const cluster_view *view, int32_t lane, const float *palette, sup_wide m[12])
{
    sup_wide weight = sup_wide_load(view->weights + lane);
    const float *joint = palette + (size_t)view->joints[0] * 12;
    for (int32_t i = 0; i < 12; i++)
        m[i] = weight * sup_wide_splat(joint[i]);
    for (int32_t slot = 1; slot < view->slots; slot++) {
        weight = sup_wide_load(view->weights + slot * SUP_SKIN_CLUSTER + lane);
        joint = palette + (size_t)view->joints[slot] * 12;
        for (int32_t i = 0; i < 12; i++)
            m[i] = sup_wide_fma(weight, sup_wide_splat(joint[i]), m[i]);
    }
}

/* The same where each lane has its own joints. Not inlined: rare and large. */
static __attribute__((noinline)) void blend_per_lane(const cluster_view *view, int32_t lane, const float *palette,
                                                     sup_wide m[12])
{
    float columns[12][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++) {
        sup_four sum[3] = {{0}, {0}, {0}};
        for (int32_t slot = 0; slot < view->slots; slot++) {
            int32_t at = slot * SUP_SKIN_CLUSTER + lane + k;
            const float *joint = palette + (size_t)view->joints[at] * 12;
            sup_four weight = sup_four_splat(view->weights[at]);
            for (int32_t r = 0; r < 3; r++)
                sum[r] = sup_four_fma(weight, sup_four_load(joint + 4 * r), sum[r]);
        }
        for (int32_t i = 0; i < 12; i++)
            columns[i][k] = sup_four_lane(sum[i / 4], i % 4);
    }
    for (int32_t i = 0; i < 12; i++)
        m[i] = sup_wide_load(columns[i]);
}

SUP_INLINE void blend_matrices(const cluster_view *view, int32_t lane, const float *palette, sup_wide m[12])
{
    if (view->shared)
        blend_shared(view, lane, palette, m);
    else {
        sup_wide blended[12]; /* apart from m, which stays in registers */
        blend_per_lane(view, lane, palette, blended);
        memcpy(m, blended, sizeof blended);
    }
}

SUP_INLINE sup_wide dot3(const sup_wide a[3], const sup_wide b[3])
{
    return sup_wide_fma(a[2], b[2], sup_wide_fma(a[1], b[1], a[0] * b[0]));
}

/* a x b */
SUP_INLINE void cross3(const sup_wide a[3], const sup_wide b[3], sup_wide c[3])
{
    c[0] = sup_wide_fma(a[1], b[2], -(a[2] * b[1]));
    c[1] = sup_wide_fma(a[2], b[0], -(a[0] * b[2]));
    c[2] = sup_wide_fma(a[0], b[1], -(a[1] * b[0]));
}

SUP_INLINE void load3(const float *from, sup_wide v[3])
{
    for (int32_t i = 0; i < 3; i++)
        v[i] = sup_wide_load(from + i * SUP_SKIN_CLUSTER);
}

SUP_INLINE void transform3(const sup_wide m[12], const sup_wide v[3], sup_wide out[3])
{
    for (int32_t r = 0; r < 3; r++)
        out[r] = sup_wide_fma(m[4 * r + 2], v[2], sup_wide_fma(m[4 * r + 1], v[1], m[4 * r] * v[0]));
}

/* Inputs and outputs of the directions of SUP_LANES lanes. */
typedef struct lane_arrays {
    const float *normals, *tangents; /* x, y, z with stride SUP_SKIN_CLUSTER; tangents may be NULL */
    const uint16_t *vertex;
    char *first; /* output of the first vertex of the window */
    size_t stride;
    bool tangent; /* write tangents instead of normals */
} lane_arrays;

/* Recomputes lanes whose squared length overflows or underflows. */
static __attribute__((noinline, cold)) void repair_lanes(const lane_arrays *arrays, sup_mask safe, const sup_wide m[12])
{
    float rows[9][SUP_LANES];
    for (int32_t i = 0; i < 9; i++)
        sup_wide_store(rows[i], m[i / 3 * 4 + i % 3]);
    for (int32_t k = 0; k < SUP_LANES; k++) {
        if (sup_mask_lane(safe, k)) continue;
        float matrix[9], normal[3], tangent[3] = {0};
        for (int32_t i = 0; i < 9; i++)
            matrix[i] = rows[i][k];
        for (int32_t i = 0; i < 3; i++) {
            normal[i] = arrays->normals[i * SUP_SKIN_CLUSTER + k];
            if (arrays->tangent) tangent[i] = arrays->tangents[i * SUP_SKIN_CLUSTER + k];
        }
        float *to = (float *)(void *)(arrays->first + arrays->vertex[k] * arrays->stride);
        if (arrays->tangent)
            sup_skin_repair_tangent(matrix, normal, tangent, to);
        else
            sup_skin_repair_normal(matrix, normal, to);
    }
}

/* Stores the directions d at unit length, times `sign`. */
SUP_INLINE void store_directions(const lane_arrays *arrays, const sup_wide m[12], const sup_wide d[3], sup_wide sign)
{
    sup_wide square = dot3(d, d), scale = sign / sup_wide_sqrt(square);
    sup_mask safe =
        sup_mask_and(sup_wide_less(sup_wide_splat(1e-30f), square), sup_wide_less(square, sup_wide_splat(1e30f)));
    sup_wide_scatter3(arrays->first, arrays->stride, arrays->vertex, d[0] * scale, d[1] * scale, d[2] * scale);
    if (__builtin_expect(!sup_mask_all(safe), 0)) {
        sup_wide copy[12]; /* m itself stays in registers */
        for (int32_t i = 0; i < 12; i++)
            copy[i] = m[i];
        lane_arrays cold = *arrays;
        repair_lanes(&cold, safe, copy);
    }
}

/* Transforms normals by the inverse transpose up to scale: the cofactor matrix with the sign of the determinant.
 * Normals stay perpendicular to the skin under shear and non-uniform scale. *sign is that of the determinant. A
 * rotation is its own inverse transpose. */
SUP_INLINE void transform_normal(const sup_wide m[12], bool rotation, const sup_wide n[3], sup_wide out[3],
                                 sup_wide *sign)
{
    *sign = sup_wide_splat(1.0f);
    if (rotation) {
        transform3(m, n, out);
        return;
    }
    sup_wide c[3][3];
    cross3(m + 4, m + 8, c[0]);
    cross3(m + 8, m, c[1]);
    cross3(m, m + 4, c[2]);
    for (int32_t r = 0; r < 3; r++)
        out[r] = dot3(c[r], n);
    *sign = sup_wide_copy_sign(*sign, dot3(m, c[0]));
}

SUP_INLINE void move_positions(const sup_skin_window *work, const float *from, const uint16_t *vertex,
                               const sup_wide m[12])
{
    sup_wide p[3], moved[3];
    load3(from, p);
    for (int32_t r = 0; r < 3; r++)
        moved[r] = sup_wide_fma(m[4 * r + 2], p[2],
                                sup_wide_fma(m[4 * r + 1], p[1], sup_wide_fma(m[4 * r], p[0], m[4 * r + 3])));
    size_t stride = work->out.position_stride;
    char *first = (char *)work->out.positions + (size_t)work->window * SUP_SKIN_WINDOW * stride;
    sup_wide_scatter3(first, stride, vertex, moved[0], moved[1], moved[2]);
}

SUP_INLINE void move_tangents(const sup_skin_window *work, lane_arrays arrays, const sup_wide m[12], sup_wide sign)
{
    sup_wide tangent[3], moved_direction[3];
    float handedness[SUP_LANES];
    arrays.stride = work->out.tangent_stride;
    arrays.first = (char *)work->out.tangents + (size_t)work->window * SUP_SKIN_WINDOW * arrays.stride;
    arrays.tangent = true;
    load3(arrays.tangents, tangent);
    transform3(m, tangent, moved_direction);
    store_directions(&arrays, m, moved_direction, sup_wide_splat(1.0f));
    sup_wide_store(handedness, sup_wide_load(arrays.tangents + 3 * SUP_SKIN_CLUSTER) *
                                   sign); /* a reflection flips the handedness */
    for (int32_t k = 0; k < SUP_LANES; k++)
        memcpy(arrays.first + arrays.vertex[k] * arrays.stride + 12, handedness + k, 4);
}

/* Transforms lanes [lane, lane + SUP_LANES) of a cluster by m. `rotation`: the linear part of m is a rotation. */
SUP_INLINE void move_lanes(const sup_skin_window *work, int32_t cluster, int32_t lane, int32_t outputs, bool rotation,
                           const sup_wide m[12])
{
    const sup_skin_model *skin = work->skin;
    int64_t base = (int64_t)(cluster - skin->window_first[work->window]) * SUP_SKIN_CHANNEL + lane;
    const uint16_t *vertex = skin->vertex + (int64_t)cluster * SUP_SKIN_CLUSTER + lane;
    if (outputs & OUT_POSITIONS) move_positions(work, work->base.positions + base, vertex, m);
    if ((outputs & (OUT_NORMALS | OUT_TANGENTS)) == 0) return;
    sup_wide normal[3], moved_direction[3], sign;
    lane_arrays arrays = {work->base.normals + base, NULL, vertex, NULL, work->out.normal_stride, false};
    load3(arrays.normals, normal);
    transform_normal(m, rotation, normal, moved_direction, &sign);
    if (outputs & OUT_NORMALS) {
        arrays.first = (char *)work->out.normals + (size_t)work->window * SUP_SKIN_WINDOW * arrays.stride;
        store_directions(&arrays, m, moved_direction, sign);
    }
    if (outputs & OUT_TANGENTS) {
        arrays.tangents = skin->tangents + (int64_t)cluster * 4 * SUP_SKIN_CLUSTER + lane;
        move_tangents(work, arrays, m, sign);
    }
}

/* Defines the kernel `name` from skin_window(work, outputs), with specialised loops for the common sets of outputs. */
#ifdef SUPPLE_SMALL
#define SKIN_KERNEL(name)                            \
    void name(const sup_skin_window *work)           \
    {                                                \
        skin_window(work, skin_outputs(&work->out)); \
    }
#else
#define SKIN_KERNEL(name)                                   \
    void name(const sup_skin_window *work)                  \
    {                                                       \
        switch (skin_outputs(&work->out)) {                 \
        case OUT_POSITIONS:                                 \
            skin_window(work, OUT_POSITIONS);               \
            break;                                          \
        case OUT_POSITIONS | OUT_NORMALS:                   \
            skin_window(work, OUT_POSITIONS | OUT_NORMALS); \
            break;                                          \
        default:                                            \
            skin_window(work, skin_outputs(&work->out));    \
        }                                                   \
    }
#endif

#endif
