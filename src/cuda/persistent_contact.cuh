/* persistent_contact.cuh (internal) - contacts of a single character: blocks without a subdomain compute the contact
 * forces, the others solve for the direction by conjugate gradients, as contact_solve.cu does. */
#ifndef SUP_CUDA_PERSISTENT_CONTACT_CUH
#define SUP_CUDA_PERSISTENT_CONTACT_CUH

#include "cuda/persistent_subdomain.cuh"
#include "cuda/persistent_schur.cuh"
#include "cuda/cg_subdomain.cuh"

/* --- Contacts --- */

/* A contact with its nodes in `at`: anchors at their position, or at 0 in directions. */
static __device__ sup_gpu_contact poll_contact(const sup_gpu_system &s, const contact_view &view,
                                               const sup_gpu_message *messages, int v, bool directions, float4 (&at)[4],
                                               unsigned epoch)
{
    sup_gpu_contact contact = view.contacts[v];
    int index[4];
    uint4 message[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        index[j] = contact.node[j] < s.unknown_count ? contact.node[j] : -1;
    poll<4>(messages, index, epoch, message);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        at[j] = vector_of(message[j]);
        if (index[j] < 0 && !directions) at[j] = view.anchors[contact.node[j] - s.unknown_count];
        contact.node[j] = j;
    }
    return contact;
}

/* Contacts [x, y) of a block without a subdomain. */
static __device__ int2 contacts_of_block(const sup_gpu_system &s)
{
    const int helpers = (int)gridDim.x - s.subdomain_count, each = (s.contact_count + helpers - 1) / helpers;
    const int begin = ((int)blockIdx.x - s.subdomain_count) * each;
    return make_int2(begin, min(begin + each, s.contact_count));
}

/* Sums of up to three values over a block without a subdomain. */
static __device__ void publish_contact_sums(float *shared, float (&values)[4], sup_gpu_message *to, unsigned epoch)
{
    const int lane = threadIdx.x % 32;
    const float sum = warp_sums<4>(values);
    __syncthreads();
    if (lane % 8 == 0) shared[lane / 8 * 32 + threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    float total[3] = {0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 3; k++)
        for (int w = 0; w < T / 32; w++)
            total[k] += shared[k * 32 + w];
    publish(to, total[0], total[1], total[2], epoch);
}

/* Contact forces at the iterate of an epoch. */
static __device__ void push_contacts(const sup_gpu_system &s, const sup_gpu_state &st, float *shared, unsigned epoch)
{
    const contact_view view = open_contacts(s, st, 0);
    const int2 own = contacts_of_block(s);
    float values[SUP_GPU_SUMS_PADDED] = {0.0f};
#pragma unroll 1
    for (int v = own.x + threadIdx.x; v < own.y; v += T) {
        if (view.pair[v] < 0) continue;
        float4 at[4];
        const sup_gpu_contact contact = poll_contact(s, view, st.messages.node, v, false, at, epoch);
        const contact_push p = push_contact(s, view, at, contact);
        publish(st.messages.push + v, p.force.x, p.force.y, p.force.z, epoch);
        update_contact(view.contacts[v], p, values);
    }
    float sums[4] = {values[SUM_ENERGY], values[SUM_NEAR], values[SUM_ACTIVE], 0.0f};
    publish_contact_sums(shared, sums, st.messages.contact_sums + blockIdx.x, epoch);
}

/* Contact forces along the search direction of an epoch. */
static __device__ void search_contacts(const sup_gpu_system &s, const sup_gpu_state &st, float *shared, unsigned epoch)
{
    const contact_view view = open_contacts(s, st, 0);
    const int2 own = contacts_of_block(s);
    float sums[4] = {0.0f};
#pragma unroll 1
    for (int v = own.x + threadIdx.x; v < own.y; v += T) {
        if (view.pair[v] < 0) continue;
        float4 at[4];
        float curvature;
        const sup_gpu_contact contact = poll_contact(s, view, st.messages.search[epoch & 1], v, true, at, epoch);
        const float4 force = contact_force(s, contact, at, curvature);
        publish(st.messages.contact[epoch & 1] + v, force.x, force.y, force.z, epoch);
        sums[0] += curvature;
    }
    sums[1] = sums[0]; /* curvature of the contacts alone */
    publish_contact_sums(shared, sums, st.messages.curve[epoch & 1] + blockIdx.x, epoch);
}

/* Sum at a node of the forces of its contacts. */
static __device__ float4 poll_node_contacts(const contact_view &view, const sup_gpu_message *messages, int node,
                                            unsigned epoch)
{
    enum { AT_ONCE = 4 };
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int end = view.node_contact_first[node + 1];
#pragma unroll 1
    for (int first = view.node_contact_first[node]; first < end; first += AT_ONCE) {
        int index[AT_ONCE];
        float weight[AT_ONCE];
        uint4 message[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int touch = first + k < end ? view.node_contact[first + k] : -4;
            index[k] = touch < 0 ? -1 : touch >> 2;
            weight[k] = touch < 0 ? 0.0f : view.contacts[touch >> 2].weight[touch & 3];
        }
        poll<AT_ONCE>(messages, index, epoch, message);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum = add_scaled(sum, weight[k], vector_of(message[k]));
    }
    return sum;
}

#endif
