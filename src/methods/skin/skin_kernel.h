/* skin_kernel.h (internal) - lane code that the kernels of the classic methods share; included by their _kernel.h. */
#ifndef SUP_METHODS_SKIN_SKIN_KERNEL_H
#define SUP_METHODS_SKIN_SKIN_KERNEL_H

#include "base/simd.h"
#include "methods/skin/skin.h"

/* A block as one pass of SUP_LANES vertices sees it. */
typedef struct block_view {
    bool shared; /* all lanes have the joints joints[0..slots) */
    int32_t slots;
    const uint16_t *joints; /* [slots], or [slots*16] when not shared */
    const float *weights;   /* [slots*16] */
} block_view;

static inline block_view view_block(const sup_skin_model *skin, int32_t block)
{
    int32_t slots = (skin->weight_first[block + 1] - skin->weight_first[block]) / SUP_SKIN_BLOCK;
    int32_t joints = skin->joint_first[block + 1] - skin->joint_first[block];
    block_view view = {joints == slots, slots, skin->joints + skin->joint_first[block],
                       skin->weights + skin->weight_first[block]};
    return view;
}

/* The same block with all weight on the strongest influence of each lane; `weights` is [SUP_SKIN_SHARED*16]. */
static inline block_view view_rigid(const sup_skin_model *skin, int32_t block, block_view view, float *weights)
{
    const unsigned char *strongest = skin->strongest + (int64_t)block * SUP_SKIN_BLOCK;
    if (!view.shared) view.slots = 1; /* the strongest is the first */
    for (int32_t slot = 0; slot < view.slots; slot++)
        for (int32_t lane = 0; lane < SUP_SKIN_BLOCK; lane++)
            weights[slot * SUP_SKIN_BLOCK + lane] = strongest[lane] == slot ? 1.0f : 0.0f;
    view.weights = weights;
    return view;
}

/* sum_k weight_k * palette[joint_k] for the lanes from `lane` on, `rows` numbers each (at most 12). */
static inline void blend_shared(const block_view *view, int32_t lane, const float *palette, int32_t size,
                                sup_wide *restrict blended)
{
    sup_wide weight = sup_wide_load(view->weights + lane);
    const float *joint = palette + view->joints[0] * size;
    for (int32_t i = 0; i < size; i++)
        blended[i] = weight * sup_wide_splat(joint[i]);
    for (int32_t slot = 1; slot < view->slots; slot++) {
        weight = sup_wide_load(view->weights + slot * SUP_SKIN_BLOCK + lane);
        joint = palette + view->joints[slot] * size;
        for (int32_t i = 0; i < size; i++)
            blended[i] = sup_wide_fma(weight, sup_wide_splat(joint[i]), blended[i]);
    }
}

static inline void blend_apart(const block_view *view, int32_t lane, const float *palette, int32_t size,
                               sup_wide *restrict blended)
{
    float columns[12][SUP_LANES];
    for (int32_t k = 0; k < SUP_LANES; k++) {
        float sum[12] = {0};
        for (int32_t slot = 0; slot < view->slots; slot++) {
            int32_t at = slot * SUP_SKIN_BLOCK + lane + k;
            const float *joint = palette + view->joints[at] * size;
            float weight = view->weights[at];
            for (int32_t i = 0; i < size; i++)
                sum[i] += weight * joint[i];
        }
        for (int32_t i = 0; i < size; i++)
            columns[i][k] = sum[i];
    }
    for (int32_t i = 0; i < size; i++)
        blended[i] = sup_wide_load(columns[i]);
}

/* Interleaves x, y and z and stores 3 floats a lane at the vertices of the lanes. */
static inline void store_xyz(float *first, size_t stride, const uint16_t *vertex, sup_wide x, sup_wide y, sup_wide z)
{
    float lanes[3][SUP_LANES];
    sup_wide_store(lanes[0], x);
    sup_wide_store(lanes[1], y);
    sup_wide_store(lanes[2], z);
    for (int32_t k = 0; k < SUP_LANES; k++) {
        float *to = (float *)(void *)((char *)first + vertex[k] * stride);
        to[0] = lanes[0][k];
        to[1] = lanes[1][k];
        to[2] = lanes[2][k];
    }
}

static inline sup_wide dot3(const sup_wide a[3], const sup_wide b[3])
{
    return sup_wide_fma(a[2], b[2], sup_wide_fma(a[1], b[1], a[0] * b[0]));
}

/* a x b */
static inline void cross3(const sup_wide a[3], const sup_wide b[3], sup_wide c[3])
{
    c[0] = sup_wide_fma(a[1], b[2], -(a[2] * b[1]));
    c[1] = sup_wide_fma(a[2], b[0], -(a[0] * b[2]));
    c[2] = sup_wide_fma(a[0], b[1], -(a[1] * b[0]));
}

/* Where a direction is in the block, and the map that turns it: what mending needs. */
typedef struct lane_group {
    const sup_skin_window *work;
    int32_t block, lane;   /* lanes [lane, lane + SUP_LANES) of the block */
    const float *normals;  /* of those lanes, SUP_SKIN_BLOCK apart */
    const float *tangents; /* the same, or NULL */
    const uint16_t *vertex;
    const sup_wide *matrix; /* 12 */
} lane_group;

/* Stores unit directions; lanes whose length floats cannot square are mended one by one. */
static void mend_directions(const lane_group *group, sup_mask safe, bool tangent, float *first, size_t stride)
{
    float rows[9][SUP_LANES];
    for (int32_t i = 0; i < 9; i++)
        sup_wide_store(rows[i], group->matrix[i / 3 * 4 + i % 3]);
    for (int32_t k = 0; k < SUP_LANES; k++) {
        if (sup_mask_lane(safe, k)) continue;
        float matrix[9], normal[3], direction[3] = {0};
        for (int32_t i = 0; i < 9; i++)
            matrix[i] = rows[i][k];
        for (int32_t i = 0; i < 3; i++) {
            normal[i] = group->normals[i * SUP_SKIN_BLOCK + k];
            if (tangent) direction[i] = group->tangents[i * SUP_SKIN_BLOCK + k];
        }
        float *to = (float *)(void *)((char *)first + group->vertex[k] * stride);
        if (tangent)
            sup_skin_mend_tangent(matrix, normal, direction, to);
        else
            sup_skin_mend_normal(matrix, normal, to);
    }
}

static inline void store_directions(const lane_group *group, bool tangent, const sup_wide d[3], sup_wide sign,
                                    float *first, size_t stride)
{
    sup_wide square = dot3(d, d), scale = sign / sup_wide_sqrt(square);
    sup_mask safe =
        sup_mask_and(sup_wide_less(sup_wide_splat(1e-30f), square), sup_wide_less(square, sup_wide_splat(1e30f)));
    store_xyz(first, stride, group->vertex, d[0] * scale, d[1] * scale, d[2] * scale);
    if (__builtin_expect(!sup_mask_all(safe), 0)) mend_directions(group, safe, tangent, first, stride);
}

static inline void transform3(const sup_wide m[12], const sup_wide v[3], sup_wide out[3])
{
    for (int32_t r = 0; r < 3; r++)
        out[r] = sup_wide_fma(m[4 * r + 2], v[2], sup_wide_fma(m[4 * r + 1], v[1], m[4 * r] * v[0]));
}

static inline void load3(const float *from, sup_wide v[3])
{
    for (int32_t i = 0; i < 3; i++)
        v[i] = sup_wide_load(from + i * SUP_SKIN_BLOCK);
}

/* Normals by the inverse transpose up to length, the cofactors with the sign of the determinant, so that shear and
 * uneven scale keep them upright on the skin; *sign is that of the determinant. A rotation is its own. */
static inline void turn_normal(const sup_wide m[12], bool rotation, const sup_wide n[3], sup_wide out[3],
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
    sup_mask mirrored = sup_wide_less(dot3(m, c[0]), sup_wide_splat(0.0f));
    *sign = sup_wide_select(mirrored, sup_wide_splat(-1.0f), *sign);
}

static inline void store_frames(const lane_group *group, const sup_wide m[12], bool rotation)
{
    const sup_skin_out *out = &group->work->out;
    sup_wide normal[3], turned[3], sign;
    size_t first = (size_t)group->work->window * SUP_SKIN_WINDOW;
    load3(group->normals, normal);
    turn_normal(m, rotation, normal, turned, &sign);
    if (out->normals != NULL)
        store_directions(group, false, turned, sign,
                         (float *)(void *)((char *)out->normals + first * out->normal_stride), out->normal_stride);
    if (out->tangents == NULL) return;
    float *tangents = (float *)(void *)((char *)out->tangents + first * out->tangent_stride), hands[SUP_LANES];
    sup_wide tangent[3];
    load3(group->tangents, tangent);
    transform3(m, tangent, turned);
    store_directions(group, true, turned, sup_wide_splat(1.0f), tangents, out->tangent_stride);
    sup_wide_store(hands, sup_wide_load(group->tangents + 3 * SUP_SKIN_BLOCK) * sign); /* a mirror changes hands */
    for (int32_t k = 0; k < SUP_LANES; k++)
        ((float *)(void *)((char *)tangents + group->vertex[k] * out->tangent_stride))[3] = hands[k];
}

/* Moves the lanes [lane, lane + SUP_LANES) of a block by m: what is asked for of positions, normals and tangents.
 * `rotation`: the linear part of m is known to be one. */
static inline void move_lanes(const sup_skin_window *work, int32_t block, int32_t lane, const sup_wide m[12],
                              bool rotation)
{
    const sup_skin_model *skin = work->skin;
    const sup_skin_out *out = &work->out;
    int64_t base = (int64_t)(block - skin->window_first[work->window]) * SUP_SKIN_CHANNEL + lane;
    lane_group group = {work,
                        block,
                        lane,
                        work->base.normals + base,
                        skin->tangents != NULL ? skin->tangents + (int64_t)block * 4 * SUP_SKIN_BLOCK + lane : NULL,
                        skin->vertex + (int64_t)block * SUP_SKIN_BLOCK + lane,
                        m};
    if (out->positions != NULL) {
        sup_wide p[3], moved[3];
        load3(work->base.positions + base, p);
        for (int32_t r = 0; r < 3; r++)
            moved[r] = sup_wide_fma(m[4 * r + 2], p[2],
                                    sup_wide_fma(m[4 * r + 1], p[1], sup_wide_fma(m[4 * r], p[0], m[4 * r + 3])));
        size_t first = (size_t)work->window * SUP_SKIN_WINDOW * out->position_stride;
        store_xyz((float *)(void *)((char *)out->positions + first), out->position_stride, group.vertex, moved[0],
                  moved[1], moved[2]);
    }
    if (out->normals != NULL || out->tangents != NULL) store_frames(&group, m, rotation);
}

#endif
