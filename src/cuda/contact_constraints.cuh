/* contact_constraints.cuh (internal) - contacts on the device: their forces, and the sums of these at a node.
 *
 * The formulas are those of solver/contact_response.h. A contact is stored at the index of its vertex, those with
 * colliders after the others. The contacts of a node are in a sorted list: sums are gathered in a fixed order and
 * need no atomics. Each node of a contact computes its force again, which is faster than synchronising. */
#ifndef SUP_CUDA_CONTACT_CONSTRAINTS_CUH
#define SUP_CUDA_CONTACT_CONSTRAINTS_CUH

#include "cuda/step_control.cuh"
#include "cuda/vectors.cuh"
#include "solver/contact_response.h"

/* Contacts of one character. */
struct contact_view {
    const int32_t *pair, *node_contact_first, *node_contact;
    sup_gpu_contact *contacts;
    const float4 *anchors; /* at the end of the step */
    float4 *force;
};

static __device__ contact_view open_contacts(const sup_gpu_system &s, const sup_gpu_state &st, int character)
{
    contact_view v;
    size_t first = (size_t)character * s.contact_count;
    v.pair = st.pair + first;
    v.node_contact_first = st.node_contact_first + (size_t)character * (s.unknown_count + 1);
    v.node_contact = st.node_contact + 4 * first;
    v.contacts = st.contacts + first;
    v.anchors = st.anchors[st.progress[character].phase % 3] + (size_t)character * s.anchor_count;
    v.force = st.force + first;
    return v;
}

/* Response of a contact at given positions. */
struct contact_push {
    float4 force; /* of the difference d; w: its energy */
    float normal_stiffness, tangent_stiffness, cap, depth;
};

/* Friction of a contact that pushes with `press`. */
static __device__ void add_friction(const sup_gpu_contact &contact, float4 d, float press, contact_push &out)
{
    if (!(contact.friction > 0.0f)) return;
    out.cap = sup_response_friction_cap(out.cap, contact.friction, press);
    float4 n = get(contact.normal), t = minus(d, get(contact.start));
    t = add_scaled(t, -dot(t, n), n);
    const sup_response_tangent tangent_stiffness = sup_response_slide(sqrtf(dot(t, t)), contact.stiffness, out.cap);
    const float energy = out.force.w + tangent_stiffness.energy;
    out.tangent_stiffness = tangent_stiffness.stiffness;
    out.force = add_scaled(out.force, out.tangent_stiffness, t);
    out.force.w = energy;
}

static __device__ contact_push push_contact(const sup_gpu_system &s, const contact_view &v, const float4 *x,
                                            const sup_gpu_contact &contact)
{
    contact_push out;
    float4 d = make_float4(0.0f, 0.0f, 0.0f, 0.0f), n = get(contact.normal);
#pragma unroll
    for (int j = 0; j < 4; j++)
        d = add_scaled(d, contact.weight[j],
                       contact.node[j] < s.unknown_count ? x[contact.node[j]]
                                                         : v.anchors[contact.node[j] - s.unknown_count]);
    const sup_response_normal c = sup_response_push(dot(n, d), dot(n, get(contact.start)), contact.offset,
                                                    contact.stiffness, contact.limit, contact.damping, s.size);
    const float force = c.drag - c.press;
    out.depth = c.depth;
    out.normal_stiffness = c.stiffness;
    out.tangent_stiffness = 0.0f;
    out.cap = contact.cap;
    out.force = make_float4(force * n.x, force * n.y, force * n.z, 0.5f * c.drag * c.moved + c.energy);
    if (c.depth > 0.0f) add_friction(contact, d, c.press, out);
    return out;
}

/* Stores the response of a contact and counts it in `values`. */
static __device__ void update_contact(sup_gpu_contact &contact, const contact_push &p, float *values)
{
    contact.cap = p.cap;
    contact.normal_stiffness = p.normal_stiffness;
    contact.tangent_stiffness = p.tangent_stiffness;
    values[SUM_ENERGY] += p.force.w;
    values[SUM_NEAR] += p.normal_stiffness > 0.0f ? 1.0f : 0.0f;
    values[SUM_ACTIVE] += p.depth > 0.0f ? 1.0f : 0.0f;
}

/* Sum of all contact forces on a node at positions x. Contacts whose first unknown it is are stored and counted in
 * `values`. */
static __device__ float4 contact_forces(const sup_gpu_system &s, const contact_view &v, const float4 *x, int node,
                                        float *values)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int end = v.node_contact_first[node + 1];
    for (int e = v.node_contact_first[node]; e < end; e++) {
        const int touch = v.node_contact[e], corner = touch & 3;
        sup_gpu_contact &contact = v.contacts[touch >> 2];
        const contact_push p = push_contact(s, v, x, contact);
        sum = add_scaled(sum, contact.weight[corner], p.force);
        bool first = true; /* of the contact's unknowns */
        for (int k = 0; k < corner; k++)
            first = first && contact.node[k] >= s.unknown_count;
        if (first) update_contact(contact, p, values);
    }
    return sum;
}

/* Force of a contact for a direction, P J y. */
static __device__ float4 contact_force(const sup_gpu_system &s, const sup_gpu_contact &contact, const float4 *y,
                                       float &curvature)
{
    float4 d = make_float4(0.0f, 0.0f, 0.0f, 0.0f), n = get(contact.normal), zero = d;
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (contact.node[j] < s.unknown_count) d = add_scaled(d, contact.weight[j], y[contact.node[j]]);
    float4 force = add_scaled(add_scaled(zero, contact.tangent_stiffness, d),
                              (contact.normal_stiffness - contact.tangent_stiffness) * dot(d, n), n);
    curvature = dot(force, d);
    return force;
}

/* Sum at a node of the forces that contact_force computed. */
static __device__ float4 gather_contacts(const contact_view &v, int node)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int end = v.node_contact_first[node + 1];
    for (int e = v.node_contact_first[node]; e < end; e++) {
        const int touch = v.node_contact[e];
        sum = add_scaled(sum, v.contacts[touch >> 2].weight[touch & 3], v.force[touch >> 2]);
    }
    return sum;
}

#endif
