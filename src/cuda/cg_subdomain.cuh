/* cg_subdomain.cuh (internal) - conjugate gradients of a direction with contacts: what a block of threads does with its part. See
 * contact_solve.cu. */
#ifndef SUP_CUDA_CG_SUBDOMAIN_CUH
#define SUP_CUDA_CG_SUBDOMAIN_CUH

#include "cuda/contact_constraints.cuh"
#include "cuda/step_block.cuh"
#include "cuda/schur_residual.cuh"

/* What a character does in a step of them. */
struct cg_plan {
    int active, touches;
    float factor; /* alpha or beta */
};

/* What is known after the rows of a search direction whose r . z is `rz`. */
struct cg_length {
    float alpha; /* 0 where there is none */
    bool more;   /* a row stiffens the system: this step is not exact */
};

/* Steps of conjugate gradients of a character at most. */
static __device__ int solves_of(const sup_gpu_state &st, int character)
{
    return st.orders[character].shared ? 1 : SUP_GPU_SOLVES;
}

/* By a warp, after solve k. `blocks` found the rows' curvature, `local_rows` how near they are. */
static __device__ cg_length step_length(const sup_gpu_system &s, const sup_gpu_state &st, int character, int k,
                                        double rz, int blocks, int local_rows)
{
    const float *from = st.sums + (size_t)character * SUP_GPU_SUMS * st.sum_rows;
    const float *ours = from + SUM_CURVATURE * st.sum_rows, *rows = from + SUM_CONTACTS * st.sum_rows;
    const float *near = from + SUM_NEAR * st.sum_rows;
    double curvature = 0.0, contacts = 0.0;
    int close = 0;
    for (int first = threadIdx.x % 32; first < max(max(s.part_count, local_rows), blocks); first += 32 * AT_A_TIME) {
        float v[AT_A_TIME][3]; /* all on the way at once */
#pragma unroll
        for (int j = 0; j < AT_A_TIME; j++) {
            const int i = first + 32 * j;
            v[j][0] = i < s.part_count ? ours[i] : 0.0f;
            v[j][1] = i < blocks ? rows[i] : 0.0f;
            v[j][2] = i < local_rows ? near[i] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < AT_A_TIME; j++) {
            curvature += (double)v[j][0];
            contacts += (double)v[j][1];
            close |= v[j][2] > 0.0f;
        }
    }
    contacts = warp_sum(contacts);
    curvature = warp_sum(curvature) + contacts;
    const double alpha = rz / curvature;
    const bool any_near = __any_sync(0xffffffffu, close) != 0, slight = k == 0 && contacts < CONTACT_SLIGHT * curvature;
    return cg_length{curvature > 0.0 && isfinite(alpha) ? (float)alpha : 0.0f, any_near && !slight};
}

/* The gradient at a place that the part takes care of; at the top from what all parts left there. */
template <int C>
static __device__ float4 whole_gradient(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                        int character, int local, int place)
{
    if (local < b.part.count) return st.gradient[(size_t)character * s.unknown_count + place];
    const float4 *raw = st.raw + (size_t)character * s.slot_count;
    const int end = s.top_first[place - s.interior_count + 1];
    const float4 sum = top_rest(raw, s.top_first[place - s.interior_count], end);
    return make_float4(-sum.x, -sum.y, -sum.z, 0.0f);
}

/* What conjugate gradients start from: the residual, which is the first search direction's image too. */
static __device__ float4 first_residual(const sup_gpu_state &st, size_t q)
{
    const float4 g = st.gradient[q];
    return make_float4(-g.x, -g.y, -g.z, 0.0f);
}

/* The direction to search in after solve k, and its image, of the characters of `which`. Crowds do not write down what they start
 * from. */
template <int C, int T>
static __device__ void turn_search(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                   unsigned which, int k, const cg_plan *plans)
{
    const int places = b.part.count + b.part.slot_count;
    float sums[C];
#pragma unroll
    for (int c = 0; c < C; c++)
        sums[c] = 0.0f;
    for (int n = threadIdx.x; n < places * b.live; n += T) {
        const int c = which_of<C>(n, places), i = n - c * places;
        bool own;
        const int place = b.place(s.interior_count, i, own);
        if (!own || (which >> c & 1u) == 0) continue;
        const size_t q = (size_t)(b.first + c) * s.unknown_count + place;
        float4 search = get(b.row(b.out, b.slots, i, c)), image;
        if (k == 0) {
            float4 g = whole_gradient<C>(s, st, b, b.first + c, i, place);
            image = make_float4(-g.x, -g.y, -g.z, 0.0f);
            if (C == 1 || i >= b.part.count) st.gradient[q] = g;
            if (C == 1) {
                st.residual[q] = st.image[q] = image;
                st.product[q] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            }
        } else {
            const float beta = plans[c].factor;
            const float4 last = st.search[q], rest = st.residual[q];
            const float4 before = C > 1 && k == 1 ? first_residual(st, q) : st.image[q];
            search = add_scaled(search, beta, last);
            image = add_scaled(rest, beta, before);
            st.image[q] = image;
        }
        st.search[q] = search;
        add_to<C>(sums, c, dot(search, image));
    }
    reduce<T, C>(b.sums, sums, which, st, b.first, SUM_CURVATURE, 1);
}

/* d += alpha p, r -= alpha (A p + C p) at a place. */
struct cg_step {
    float4 product, residual;
};

/* `kept`: d, r and A p are written down; otherwise it is the first step. */
static __device__ cg_step step_along(const sup_gpu_state &st, const contact_view &view, size_t q, int place,
                                     float alpha, bool kept)
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
    to.residual = add_scaled(to.residual, -alpha, add_scaled(image, 1.0f, gather_rows(view, place)));
    return to;
}

/* The step along the search direction: what is left to solve for into `in` and `left`. */
template <int C, int T>
static __device__ void step_part(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                 const cg_plan *plans, bool kept = true)
{
    const int places = b.part.count + b.part.slot_count;
    for (int n = threadIdx.x; n < places * b.live; n += T) {
        const int c = which_of<C>(n, places), i = n - c * places;
        bool own;
        int place = b.place(s.interior_count, i, own);
        float4 rest = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (own && plans[c].active) {
            const size_t q = (size_t)(b.first + c) * s.unknown_count + place;
            const cg_step to = step_along(st, open_contacts(s, st, b.first + c), q, place, plans[c].factor, kept);
            st.product[q] = to.product;
            st.residual[q] = rest = to.residual;
        }
        put(b.row(b.in, b.left, i, c), i < b.part.count ? rest : make_float4(-rest.x, -rest.y, -rest.z, 0.0f));
    }
}

/* The direction at a place after the last step, along the search direction by `factor`, and its products with those before
 * into values[0..history]; image = g + r: - (A + C) d. */
static __device__ void end_place(const sup_gpu_system &s, const sup_gpu_state &st, int character, int place,
                                 float factor, int history, float *values, bool kept = true)
{
    const size_t q = (size_t)character * s.unknown_count + place;
    const cg_step to = step_along(st, open_contacts(s, st, character), q, place, factor, kept);
    const float4 image = add_scaled(st.gradient[q], 1.0f, to.residual);
    st.direction[history][q] = to.product;
    values[0] -= dot(to.product, image);
#pragma unroll
    for (int j = 0; j < SUP_GPU_HISTORY; j++)
        if (j < history) values[1 + j] += dot(st.direction[j][q], image);
}

#endif
