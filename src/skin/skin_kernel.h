/* skin_kernel.h (internal) - lane code that the kernels of the classic methods share; included by their _kernel.h.
 *
 * A kernel blends the joints of SUP_LANES vertices into a matrix of lanes, m[12] in rows, and hands it to move_lanes,
 * which moves what is asked for. What is asked for is a constant in the loops: skin_outputs says which loop to take. */
#ifndef SUP_SKIN_SKIN_KERNEL_H
#define SUP_SKIN_SKIN_KERNEL_H

#include "base/simd.h"
#include "skin/skin.h"

#define SUP_INLINE static inline __attribute__((always_inline))

/* What a step writes; any of them and any sum. */
enum { OUT_POSITIONS = 1, OUT_NORMALS = 2, OUT_TANGENTS = 4 };

#ifdef SUPPLE_SMALL /* a page asks for none */
enum { HAS_TANGENTS = 0 };
#else
enum { HAS_TANGENTS = 1 };
#endif

SUP_INLINE int32_t skin_outputs(const sup_skin_out *out)
{
    return (out->positions != NULL ? OUT_POSITIONS : 0) | (out->normals != NULL ? OUT_NORMALS : 0) |
           (HAS_TANGENTS && out->tangents != NULL ? OUT_TANGENTS : 0);
}

/* The joints of a block. */
typedef struct block_view {
    bool shared; /* all lanes have the joints joints[0..slots) */
    int32_t slots;
    const uint16_t *joints; /* [slots], or [slots*16] when not shared */
    const float *weights;   /* [slots*16] */
} block_view;

SUP_INLINE block_view view_block(const sup_skin_model *skin, int32_t block)
{
    int32_t slots = (skin->weight_first[block + 1] - skin->weight_first[block]) / SUP_SKIN_CLUSTER;
    int32_t joints = skin->joint_first[block + 1] - skin->joint_first[block];
    block_view view = {joints == slots, slots, skin->joints + skin->joint_first[block],
                       skin->weights + skin->weight_first[block]};
    return view;
}

/* The same block with all weight on the strongest influence of each lane; `weights` is [SUP_SKIN_SHARED*16]. */
static block_view view_rigid(const sup_skin_model *skin, int32_t block, block_view view, float *weights)
{
    const unsigned char *strongest = skin->strongest + (int64_t)block * SUP_SKIN_CLUSTER;
    if (!view.shared) view.slots = 1; /* the strongest is the first */
    for (int32_t slot = 0; slot < view.slots; slot++)
        for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane++)
            weights[slot * SUP_SKIN_CLUSTER + lane] = strongest[lane] == slot ? 1.0f : 0.0f;
    view.weights = weights;
    return view;
}

/* sum_k weight_k * palette[joint_k] for the lanes from `lane` on, 12 numbers a joint. */
SUP_INLINE void blend_shared(const block_view *view, int32_t lane, const float *palette, sup_wide m[12])
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

/* The same where each lane has joints of its own. Out of line: rare, and large. */
static __attribute__((noinline)) void blend_apart(const block_view *view, int32_t lane, const float *palette,
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

/* Where the lanes' bind directions are and where the turned ones go. */
typedef struct lane_group {
    const float *normals, *tangents; /* x, y, z, SUP_SKIN_CLUSTER apart; tangents may be NULL */
    const uint16_t *vertex;
    char *first; /* output of the first vertex of the window */
    size_t stride;
    bool tangent; /* tangents are asked for, not normals */
} lane_group;

/* Lanes whose length floats cannot square, one by one. */
static __attribute__((noinline, cold)) void mend_lanes(const lane_group *group, sup_mask safe, const sup_wide m[12])
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
            normal[i] = group->normals[i * SUP_SKIN_CLUSTER + k];
            if (group->tangent) tangent[i] = group->tangents[i * SUP_SKIN_CLUSTER + k];
        }
        float *to = (float *)(void *)(group->first + group->vertex[k] * group->stride);
        if (group->tangent)
            sup_skin_repair_tangent(matrix, normal, tangent, to);
        else
            sup_skin_repair_normal(matrix, normal, to);
    }
}

/* Stores the directions d at unit length, times `sign`. */
SUP_INLINE void store_directions(const lane_group *group, const sup_wide m[12], const sup_wide d[3], sup_wide sign)
{
    sup_wide square = dot3(d, d), scale = sign / sup_wide_sqrt(square);
    sup_mask safe =
        sup_mask_and(sup_wide_less(sup_wide_splat(1e-30f), square), sup_wide_less(square, sup_wide_splat(1e30f)));
    sup_wide_scatter3(group->first, group->stride, group->vertex, d[0] * scale, d[1] * scale, d[2] * scale);
    if (__builtin_expect(!sup_mask_all(safe), 0)) {
        sup_wide copy[12]; /* m itself stays in registers */
        for (int32_t i = 0; i < 12; i++)
            copy[i] = m[i];
        lane_group cold = *group;
        mend_lanes(&cold, safe, copy);
    }
}

/* Normals by the inverse transpose up to length, which is the cofactors with the sign of the determinant, so that they
 * stay upright on a skin under shear and uneven scale; *sign is that of the determinant. A rotation is its own. */
SUP_INLINE void turn_normal(const sup_wide m[12], bool rotation, const sup_wide n[3], sup_wide out[3], sup_wide *sign)
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

SUP_INLINE void move_tangents(const sup_skin_window *work, lane_group group, const sup_wide m[12], sup_wide sign)
{
    sup_wide tangent[3], turned[3];
    float hands[SUP_LANES];
    group.stride = work->out.tangent_stride;
    group.first = (char *)work->out.tangents + (size_t)work->window * SUP_SKIN_WINDOW * group.stride;
    group.tangent = true;
    load3(group.tangents, tangent);
    transform3(m, tangent, turned);
    store_directions(&group, m, turned, sup_wide_splat(1.0f));
    sup_wide_store(hands, sup_wide_load(group.tangents + 3 * SUP_SKIN_CLUSTER) * sign); /* a mirror changes hands */
    for (int32_t k = 0; k < SUP_LANES; k++)
        memcpy(group.first + group.vertex[k] * group.stride + 12, hands + k, 4);
}

/* Moves the lanes [lane, lane + SUP_LANES) of a block by m. `rotation`: the linear part of m is known to be one. */
SUP_INLINE void move_lanes(const sup_skin_window *work, int32_t block, int32_t lane, int32_t outputs, bool rotation,
                           const sup_wide m[12])
{
    const sup_skin_model *skin = work->skin;
    int64_t base = (int64_t)(block - skin->window_first[work->window]) * SUP_SKIN_CHANNEL + lane;
    const uint16_t *vertex = skin->vertex + (int64_t)block * SUP_SKIN_CLUSTER + lane;
    if (outputs & OUT_POSITIONS) move_positions(work, work->base.positions + base, vertex, m);
    if ((outputs & (OUT_NORMALS | OUT_TANGENTS)) == 0) return;
    sup_wide normal[3], turned[3], sign;
    lane_group group = {work->base.normals + base, NULL, vertex, NULL, work->out.normal_stride, false};
    load3(group.normals, normal);
    turn_normal(m, rotation, normal, turned, &sign);
    if (outputs & OUT_NORMALS) {
        group.first = (char *)work->out.normals + (size_t)work->window * SUP_SKIN_WINDOW * group.stride;
        store_directions(&group, m, turned, sign);
    }
    if (outputs & OUT_TANGENTS) {
        group.tangents = skin->tangents + (int64_t)block * 4 * SUP_SKIN_CLUSTER + lane;
        move_tangents(work, group, m, sign);
    }
}

/* The kernel `name` of a method with a skin_window(work, outputs): a loop of its own for what is mostly asked for. */
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
