/* contact_constraints.cuh (internal) - rows of contact on the device: their forces, and what a vertex gets of them.
 *
 * The same formulas as solver/solver_contact.c. A row stands at its vertex, those with colliders behind the others; the rows that a place is
 * part of are in a list, sorted: sums are gathered in a fixed order and need no atomics. A row's force is found anew by
 * each of its places, which costs less than to wait for each other. */
#ifndef SUP_CUDA_CONTACT_CONSTRAINTS_CUH
#define SUP_CUDA_CONTACT_CONSTRAINTS_CUH

#include "cuda/step_control.cuh"
#include "cuda/vectors.cuh"
#include "solver/contact_response.h"

/* Contacts of one character. */
struct contact_view {
    const int32_t *pair, *touch_first, *touch;
    sup_gpu_row *rows;
    const float4 *anchors; /* at the end of the step */
    float4 *force;
};

static __device__ contact_view open_contacts(const sup_gpu_system &s, const sup_gpu_state &st, int character)
{
    contact_view v;
    size_t rows = (size_t)character * s.row_count;
    v.pair = st.pair + rows;
    v.touch_first = st.touch_first + (size_t)character * (s.unknown_count + 1);
    v.touch = st.touch + 4 * rows;
    v.rows = st.rows + rows;
    v.anchors = st.anchors[st.progress[character].phase % 3] + (size_t)character * s.anchor_count;
    v.force = st.force + rows;
    return v;
}

/* How a row pushes at some positions. */
struct row_push {
    float4 force; /* along d; the fourth is its energy */
    float hold, slide, cap, depth;
};

/* Friction of a row that pushes with `press`. */
static __device__ void rub(const sup_gpu_row &row, float4 d, float press, row_push &out)
{
    if (!(row.friction > 0.0f)) return;
    out.cap = sup_response_friction_cap(out.cap, row.friction, press);
    float4 n = get(row.normal), t = minus(d, get(row.start));
    t = add_scaled(t, -dot(t, n), n);
    const sup_response_tangent slide = sup_response_slide(sqrtf(dot(t, t)), row.stiffness, out.cap);
    const float energy = out.force.w + slide.energy;
    out.slide = slide.stiffness;
    out.force = add_scaled(out.force, out.slide, t);
    out.force.w = energy;
}

static __device__ row_push push_row(const sup_gpu_system &s, const contact_view &v, const float4 *x,
                                    const sup_gpu_row &row)
{
    row_push out;
    float4 d = make_float4(0.0f, 0.0f, 0.0f, 0.0f), n = get(row.normal);
#pragma unroll
    for (int j = 0; j < 4; j++)
        d = add_scaled(d, row.weight[j],
                       row.place[j] < s.unknown_count ? x[row.place[j]] : v.anchors[row.place[j] - s.unknown_count]);
    const sup_response_normal c = sup_response_push(dot(n, d), dot(n, get(row.start)), row.offset, row.stiffness,
                                                  row.limit, row.damping, s.size);
    const float force = c.drag - c.press;
    out.depth = c.depth;
    out.hold = c.stiffness;
    out.slide = 0.0f;
    out.cap = row.cap;
    out.force = make_float4(force * n.x, force * n.y, force * n.z, 0.5f * c.drag * c.moved + c.energy);
    if (c.depth > 0.0f) rub(row, d, c.press, out);
    return out;
}

/* A row is brought up to date at positions x, and counted in `values`. */
static __device__ void keep_row(sup_gpu_row &row, const row_push &p, float *values)
{
    row.cap = p.cap;
    row.hold = p.hold;
    row.slide = p.slide;
    values[SUM_ENERGY] += p.force.w;
    values[SUM_NEAR] += p.hold > 0.0f ? 1.0f : 0.0f;
    values[SUM_PUSHING] += p.depth > 0.0f ? 1.0f : 0.0f;
}

/* The force of all rows on a place at positions x. Rows that it is the first place of are kept up to date, and counted in
 * `values`. */
static __device__ float4 contact_forces(const sup_gpu_system &s, const contact_view &v, const float4 *x, int place,
                                        float *values)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int end = v.touch_first[place + 1];
    for (int e = v.touch_first[place]; e < end; e++) {
        const int touch = v.touch[e], corner = touch & 3;
        sup_gpu_row &row = v.rows[touch >> 2];
        const row_push p = push_row(s, v, x, row);
        sum = add_scaled(sum, row.weight[corner], p.force);
        bool first = true; /* of the row's places that are not given */
        for (int k = 0; k < corner; k++)
            first = first && row.place[k] >= s.unknown_count;
        if (first) keep_row(row, p, values);
    }
    return sum;
}

/* The force of a row in a direction, P J y. */
static __device__ float4 row_force(const sup_gpu_system &s, const sup_gpu_row &row, const float4 *y, float &curvature)
{
    float4 d = make_float4(0.0f, 0.0f, 0.0f, 0.0f), n = get(row.normal), zero = d;
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (row.place[j] < s.unknown_count) d = add_scaled(d, row.weight[j], y[row.place[j]]);
    float4 force = add_scaled(add_scaled(zero, row.slide, d), (row.hold - row.slide) * dot(d, n), n);
    curvature = dot(force, d);
    return force;
}

/* What a place gets of the forces that row_force found. */
static __device__ float4 gather_rows(const contact_view &v, int place)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int end = v.touch_first[place + 1];
    for (int e = v.touch_first[place]; e < end; e++) {
        const int touch = v.touch[e];
        sum = add_scaled(sum, v.rows[touch >> 2].weight[touch & 3], v.force[touch >> 2]);
    }
    return sum;
}

#endif
