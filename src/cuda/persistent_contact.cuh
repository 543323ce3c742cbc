/* persistent_contact.cuh (internal) - contacts of a character by itself: blocks without a part find what the rows push with, the
 * others solve for the direction by conjugate gradients, as contact_solve.cu does. */
#ifndef SUP_CUDA_PERSISTENT_CONTACT_CUH
#define SUP_CUDA_PERSISTENT_CONTACT_CUH

#include "cuda/persistent_subdomain.cuh"
#include "cuda/persistent_schur.cuh"
#include "cuda/cg_subdomain.cuh"

/* --- Rows --- */

/* A row with its places in `at`: those that are given where the anchors are, or at 0 in directions. */
static __device__ sup_gpu_row hear_row(const sup_gpu_system &s, const contact_view &view, const sup_gpu_message *words,
                                       int v, bool directions, float4 (&at)[4], unsigned round)
{
    sup_gpu_row row = view.rows[v];
    int index[4];
    uint4 word[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        index[j] = row.place[j] < s.unknown_count ? row.place[j] : -1;
    hear<4>(words, index, round, word);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        at[j] = vector_of(word[j]);
        if (index[j] < 0 && !directions) at[j] = view.anchors[row.place[j] - s.unknown_count];
        row.place[j] = j;
    }
    return row;
}

/* The rows that a block without a part has: the first, and the one behind the last. */
static __device__ int2 rows_of_block(const sup_gpu_system &s)
{
    const int helpers = (int)gridDim.x - s.part_count, each = (s.row_count + helpers - 1) / helpers;
    const int begin = ((int)blockIdx.x - s.part_count) * each;
    return make_int2(begin, min(begin + each, s.row_count));
}

/* Sums of up to three values over a block without a part. */
static __device__ void tell_help(float *shared, float (&values)[4], sup_gpu_message *to, unsigned round)
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
    tell(to, total[0], total[1], total[2], round);
}

/* The rows at the iterate of a round. */
static __device__ void push_rows(const sup_gpu_system &s, const sup_gpu_state &st, float *shared, unsigned round)
{
    const contact_view view = open_contacts(s, st, 0);
    const int2 own = rows_of_block(s);
    float values[SUP_GPU_SUMS_ALL] = {0.0f};
#pragma unroll 1
    for (int v = own.x + threadIdx.x; v < own.y; v += T) {
        if (view.pair[v] < 0) continue;
        float4 at[4];
        const sup_gpu_row row = hear_row(s, view, st.words.place, v, false, at, round);
        const row_push p = push_row(s, view, at, row);
        tell(st.words.push + v, p.force.x, p.force.y, p.force.z, round);
        keep_row(view.rows[v], p, values);
    }
    float sums[4] = {values[SUM_ENERGY], values[SUM_NEAR], values[SUM_PUSHING], 0.0f};
    tell_help(shared, sums, st.words.helped + blockIdx.x, round);
}

/* The rows in the search direction of a round. */
static __device__ void search_rows(const sup_gpu_system &s, const sup_gpu_state &st, float *shared, unsigned round)
{
    const contact_view view = open_contacts(s, st, 0);
    const int2 own = rows_of_block(s);
    float sums[4] = {0.0f};
#pragma unroll 1
    for (int v = own.x + threadIdx.x; v < own.y; v += T) {
        if (view.pair[v] < 0) continue;
        float4 at[4];
        float curvature;
        const sup_gpu_row row = hear_row(s, view, st.words.search[round & 1], v, true, at, round);
        const float4 force = row_force(s, row, at, curvature);
        tell(st.words.row[round & 1] + v, force.x, force.y, force.z, round);
        sums[0] += curvature;
    }
    sums[1] = sums[0]; /* that of the rows alone */
    tell_help(shared, sums, st.words.curve[round & 1] + blockIdx.x, round);
}

/* What a place gets of the rows that it is part of. */
static __device__ float4 hear_rows(const contact_view &view, const sup_gpu_message *words, int place, unsigned round)
{
    enum { AT_ONCE = 4 };
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int end = view.touch_first[place + 1];
#pragma unroll 1
    for (int first = view.touch_first[place]; first < end; first += AT_ONCE) {
        int index[AT_ONCE];
        float weight[AT_ONCE];
        uint4 word[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int touch = first + k < end ? view.touch[first + k] : -4;
            index[k] = touch < 0 ? -1 : touch >> 2;
            weight[k] = touch < 0 ? 0.0f : view.rows[touch >> 2].weight[touch & 3];
        }
        hear<AT_ONCE>(words, index, round, word);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum = add_scaled(sum, weight[k], vector_of(word[k]));
    }
    return sum;
}

#endif
