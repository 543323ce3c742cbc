/* cg_subdomain.cuh (internal) - conjugate gradients for a direction with contacts: work of a thread block on its
 * subdomain. See contact_solve.cu. */
#ifndef SUP_CUDA_CG_SUBDOMAIN_CUH
#define SUP_CUDA_CG_SUBDOMAIN_CUH

#include "cuda/contact_constraints.cuh"
#include "cuda/step_block.cuh"
#include "cuda/schur_residual.cuh"

/* An iteration of conjugate gradients of a character. */
struct cg_control {
    int active, has_contacts;
    float factor; /* alpha or beta */
};

/* Result of a search direction whose r . z is `rz`. */
struct cg_length {
    float alpha; /* step length; 0: none */
    bool more;   /* contacts add stiffness: this iteration is not exact */
};

/* Maximum number of iterations for a character. */
static __device__ int max_solves_of(const sup_gpu_state &st, int character)
{
    return sup_response_max_solves(st.commands[character].shared_rotation != 0);
}

/* By a warp, after solve k. `blocks` have the contacts' curvature, `local_sums` the number of near contacts. */
static __device__ cg_length step_length(const sup_gpu_system &s, const sup_gpu_state &st, int character, int k,
                                        double rz, int blocks, int local_sums)
{
    const float *from = st.sums + (size_t)character * SUP_GPU_SUMS * st.sum_stride;
    const float *ours = from + SUM_CURVATURE * st.sum_stride, *contact_sums = from + SUM_CONTACTS * st.sum_stride;
    const float *near = from + SUM_NEAR * st.sum_stride;
    double curvature = 0.0, contacts = 0.0;
    int close = 0;
    for (int first = threadIdx.x % 32; first < max(max(s.subdomain_count, local_sums), blocks);
         first += 32 * SUM_BATCH) {
        float v[SUM_BATCH][3]; /* all loads in flight at once */
#pragma unroll
        for (int j = 0; j < SUM_BATCH; j++) {
            const int i = first + 32 * j;
            v[j][0] = i < s.subdomain_count ? ours[i] : 0.0f;
            v[j][1] = i < blocks ? contact_sums[i] : 0.0f;
            v[j][2] = i < local_sums ? near[i] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < SUM_BATCH; j++) {
            curvature += (double)v[j][0];
            contacts += (double)v[j][1];
            close |= v[j][2] > 0.0f;
        }
    }
    contacts = warp_sum(contacts);
    curvature = warp_sum(curvature) + contacts;
    const bool any_near = __any_sync(0xffffffffu, close) != 0;
    return cg_length{sup_response_step_length(rz, curvature),
                     sup_response_leaves_residual(k, any_near, contacts, curvature)};
}

/* The gradient at a node that the subdomain owns; at the separator the sum over all subdomains. */
template <int C>
static __device__ float4 node_gradient(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                       int character, int local, int node)
{
    if (local < b.subdomain.count) return st.gradient[(size_t)character * s.unknown_count + node];
    const float4 *raw = st.raw_gradient + (size_t)character * s.slot_count;
    const int end = s.separator_first[node - s.interior_count + 1];
    const float4 sum = separator_residual(raw, s.separator_first[node - s.interior_count], end);
    return make_float4(-sum.x, -sum.y, -sum.z, 0.0f);
}

/* Initial residual, which is also the image of the first search direction. */
static __device__ float4 first_residual(const sup_gpu_state &st, size_t q)
{
    const float4 g = st.gradient[q];
    return make_float4(-g.x, -g.y, -g.z, 0.0f);
}

/* The search direction after solve k and its image, for the characters of `which`. Crowds do not store the initial
 * values. */
template <int C, int T>
static __device__ void next_search(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                   unsigned which, int k, const cg_control *steps)
{
    const int nodes = b.subdomain.count + b.subdomain.slot_count;
    float sums[C];
#pragma unroll
    for (int c = 0; c < C; c++)
        sums[c] = 0.0f;
    for (int n = threadIdx.x; n < nodes * b.live; n += T) {
        const int c = which_of<C>(n, nodes), i = n - c * nodes;
        bool own;
        const int node = b.node(s.interior_count, i, own);
        if (!own || (which >> c & 1u) == 0) continue;
        const size_t q = (size_t)(b.first + c) * s.unknown_count + node;
        float4 search = get(b.row(b.out, b.slots, i, c)), image;
        if (k == 0) {
            float4 g = node_gradient<C>(s, st, b, b.first + c, i, node);
            image = make_float4(-g.x, -g.y, -g.z, 0.0f);
            if (C == 1 || i >= b.subdomain.count) st.gradient[q] = g;
            if (C == 1) {
                st.residual[q] = st.image[q] = image;
                st.product[q] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            }
        } else {
            const float beta = steps[c].factor;
            const float4 last = st.search[q], residual = st.residual[q];
            const float4 previous = C > 1 && k == 1 ? first_residual(st, q) : st.image[q];
            search = add_scaled(search, beta, last);
            image = add_scaled(residual, beta, previous);
            st.image[q] = image;
        }
        st.search[q] = search;
        add_to<C>(sums, c, dot(search, image));
    }
    reduce<T, C>(b.sums, sums, which, st, b.first, SUM_CURVATURE, 1);
}

/* d += alpha p, r -= alpha (A p + C p) at a node. */
struct cg_step {
    float4 product, residual;
};

/* `kept`: d, r and A p are stored; otherwise it is the first iteration. */
static __device__ cg_step step_along(const sup_gpu_state &st, const contact_view &view, size_t q, int node, float alpha,
                                     bool kept)
{
    cg_step to = {make_float4(0.0f, 0.0f, 0.0f, 0.0f), {}};
    float4 image;
    if (kept) {
        to.product = st.product[q];
        to.residual = st.residual[q];
        image = st.image[q];
    } else {
        to.residual = image = first_residual(st, q);
    }
    if (alpha == 0.0f) return to;
    to.product = add_scaled(to.product, alpha, st.search[q]);
    to.residual = add_scaled(to.residual, -alpha, add_scaled(image, 1.0f, gather_contacts(view, node)));
    return to;
}

/* The step along the search direction: the residual into `in` and `slot_gradient`. */
template <int C, int T>
static __device__ void step_subdomain(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                      const cg_control *steps, bool kept = true)
{
    const int nodes = b.subdomain.count + b.subdomain.slot_count;
    for (int n = threadIdx.x; n < nodes * b.live; n += T) {
        const int c = which_of<C>(n, nodes), i = n - c * nodes;
        bool own;
        int node = b.node(s.interior_count, i, own);
        float4 residual = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (own && steps[c].active) {
            const size_t q = (size_t)(b.first + c) * s.unknown_count + node;
            const cg_step to = step_along(st, open_contacts(s, st, b.first + c), q, node, steps[c].factor, kept);
            st.product[q] = to.product;
            st.residual[q] = residual = to.residual;
        }
        put(b.row(b.in, b.slot_gradient, i, c),
            i < b.subdomain.count ? residual : make_float4(-residual.x, -residual.y, -residual.z, 0.0f));
    }
}

/* The direction at a node after the last iteration, `factor` along the search direction, and its products with the
 * previous directions into values[0..history]; image = g + r: -(A + C) d. */
static __device__ void end_node(const sup_gpu_system &s, const sup_gpu_state &st, int character, int node, float factor,
                                int history, float *values, bool kept = true)
{
    const size_t q = (size_t)character * s.unknown_count + node;
    const cg_step to = step_along(st, open_contacts(s, st, character), q, node, factor, kept);
    const float4 image = add_scaled(st.gradient[q], 1.0f, to.residual);
    st.direction[history][q] = to.product;
    values[0] -= dot(to.product, image);
#pragma unroll
    for (int j = 0; j < SUP_SOLVER_HISTORY; j++)
        if (j < history) values[1 + j] += dot(st.direction[j][q], image);
}

#endif
