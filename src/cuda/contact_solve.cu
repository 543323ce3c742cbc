/* contact_solve.cu - the direction of a global step where skin touches: solver/solver_contact.c on the device.
 *
 * Based on: [komaritzan2022] section 3.2.5, and conjugate gradients (M. R. Hestenes, E. Stiefel, 1952) with the exact solve of
 * A as preconditioner. A step of them is four kernels: the solve's first half with the step before, the top, its second half
 * with the search direction, and the rows in that direction. Characters that touch nothing take no part. */
#include "cuda/cg_subdomain.cuh"

static __device__ bool touches(const sup_gpu_state &st, int turn, int character)
{
    return !is_over(st, turn, character) && st.progress[character].rows > 0;
}

/* Whether one of the characters of a block does. */
template <int C> static __device__ bool any_touches(const sup_gpu_state &st, int turn)
{
    bool any = false;
    for (int c = blockIdx.y * C; c < min((int)(blockIdx.y + 1) * C, st.count); c++)
        any = any || touches(st, turn, c);
    return any;
}

/* Blocks that cg_rows has for a character. */
enum { ROW_THREADS = 256 };

static __host__ __device__ int row_blocks(const sup_gpu_system &s)
{
    return (s.row_count + ROW_THREADS - 1) / ROW_THREADS;
}

/* --- Second half of solve k, and the direction to search in --- */

static __device__ cg_plan plan_back(const sup_gpu_system &s, const sup_gpu_state &st, int character, int turn, int k,
                                    int top_blocks)
{
    cg_plan back = {0, 0, 0.0f};
    back.touches = touches(st, turn, character);
    if (!back.touches) return back;
    sup_gpu_cg *cg = st.cg + (size_t)character * SUP_GPU_SOLVES;
    double rz = sum_rows(st, character, SUM_NEWEST, s.part_count + top_blocks);
    bool ended = !(rz > 0.0);
    if (k > 0) {
        double beta = rz / cg[k - 1].rz;
        ended = ended || cg[k - 1].ended || cg[k - 1].last || !(rz > CONTACT_SOLVED * cg[0].rz) || !isfinite(beta);
        back.factor = (float)beta;
    }
    back.active = !ended;
    if (blockIdx.x == 0 && threadIdx.x % 32 == 0) {
        cg[k].rz = rz;
        cg[k].ended = ended;
        cg[k].last = 0;
    }
    return back;
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    cg_back_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn, int k,
                   int top_blocks)
{
    SHARED_ARRAY(float, shared);
    __shared__ cg_plan plans[C];
    if (C == 1) load_part<C, T, false, false>(s, shared);
    wait_for_kernel();
    if (C > 1 && !any_touches<C>(st, turn)) return;
    block_view<C> b = open_block<C, T, false, false>(s, st, shared);
    for (int c = threadIdx.x / 32; c < b.live; c += T / 32) {
        cg_plan back = plan_back(s, st, b.first + c, turn, k, top_blocks);
        if (threadIdx.x % 32 == 0) plans[c] = back;
    }
    __syncthreads();
    unsigned which = 0;
    for (int c = 0; c < b.live; c++)
        which |= plans[c].active || (k == 0 && plans[c].touches) ? 1u << c : 0u;
    if (which == 0) {
        wait_inverse();
        return;
    }
    if (C > 1) load_part<C, T, false, false>(s, shared);
    clear_rest(b);
    wait_inverse();
    __syncthreads();
    backward<C, T>(s, st, b);
    __syncthreads();
    turn_search<C, T>(s, st, b, which, k, plans);
}

/* --- The rows in that direction --- */

__global__ void __launch_bounds__(ROW_THREADS)
    cg_rows_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn, int k)
{
    __shared__ float warps[ROW_THREADS / 32];
    int character = blockIdx.y, v = blockIdx.x * ROW_THREADS + threadIdx.x;
    wait_for_kernel();
    if (!touches(st, turn, character) || st.cg[(size_t)character * SUP_GPU_SOLVES + k].ended) return;
    const contact_view view = open_contacts(s, st, character);
    float curvature = 0.0f;
    if (v < s.row_count && view.pair[v] >= 0)
        view.force[v] = row_force(s, view.rows[v], st.search + (size_t)character * s.unknown_count, curvature);
    for (int d = 16; d > 0; d >>= 1)
        curvature += __shfl_xor_sync(0xffffffffu, curvature, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = curvature;
    __syncthreads();
    if (threadIdx.x > 0) return;
    float total = 0.0f;
    for (int w = 0; w < ROW_THREADS / 32; w++)
        total += warps[w];
    st.sums[((size_t)character * SUP_GPU_SUMS + SUM_CONTACTS) * st.sum_rows + blockIdx.x] = total;
}

/* --- The step along it, and the next solve or the end --- */

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    cg_forward_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn,
                      int k)
{
    SHARED_ARRAY(float, shared);
    __shared__ cg_plan plans[C];
    if (C == 1) load_part<C, T, false, false>(s, shared);
    wait_for_kernel();
    if (C > 1 && !any_touches<C>(st, turn)) return;
    block_view<C> b = open_block<C, T, false, false>(s, st, shared);
    unsigned which = 0;
    for (int c = threadIdx.x / 32; c < b.live; c += T / 32) {
        cg_plan next = {0, 0, 0.0f};
        sup_gpu_cg *last = st.cg + (size_t)(b.first + c) * SUP_GPU_SOLVES + k - 1;
        if (touches(st, turn, b.first + c) && !last->ended) {
            const cg_length length = step_length(s, st, b.first + c, k - 1, last->rz, row_blocks(s), s.part_count);
            next.factor = length.alpha;
            next.active = length.alpha != 0.0f && length.more && k < solves_of(st, b.first + c);
            if (blockIdx.x == 0 && threadIdx.x % 32 == 0) last->last = !next.active;
        }
        if (threadIdx.x % 32 == 0) plans[c] = next;
    }
    __syncthreads();
    for (int c = 0; c < b.live; c++)
        which |= plans[c].active ? 1u << c : 0u;
    if (which == 0) {
        wait_inverse();
        return;
    }
    if (C > 1) load_part<C, T, false, false>(s, shared);
    clear_rest(b);
    wait_inverse();
    __syncthreads();
    step_part<C, T>(s, st, b, plans, C == 1 || k > 1);
    __syncthreads();
    forward<C, T>(s, st, b, which);
}

/* The direction. A thread a place: parts do not matter. */
__global__ void __launch_bounds__(ROW_THREADS)
    cg_end_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn)
{
    __shared__ float factor, warps[SUP_GPU_HISTORY + 1][ROW_THREADS / 32];
    __shared__ bool kept; /* what the steps before the last left is in memory: cg_subdomain.cuh */
    const int character = blockIdx.y, place = blockIdx.x * ROW_THREADS + threadIdx.x, lane = threadIdx.x % 32;
    wait_for_kernel();
    if (!touches(st, turn, character)) return;
    if (threadIdx.x < 32) {
        const sup_gpu_cg *cg = st.cg + (size_t)character * SUP_GPU_SOLVES;
        const int solves = solves_of(st, character);
        int last = solves - 1; /* the last search direction; a step along it may be still to be made */
        while (last >= 0 && cg[last].ended)
            last--;
        const cg_length length =
            step_length(s, st, character, max(last, 0), cg[max(last, 0)].rz, row_blocks(s), s.part_count);
        const bool open = last == solves - 1 || (last >= 0 && !length.more);
        if (lane == 0) factor = open ? length.alpha : 0.0f;
        if (lane == 0) kept = s.lockstep == 1 || (open ? last > 0 : last >= 0);
    }
    __syncthreads();
    const int history = st.control[turn & 1][character].history;
    float values[SUP_GPU_HISTORY + 1] = {0.0f};
    if (place < s.unknown_count) end_place(s, st, character, place, factor, history, values, kept);
#pragma unroll
    for (int j = 0; j <= SUP_GPU_HISTORY; j++) {
        if (j > history) break;
        float product = values[j];
        for (int step = 16; step > 0; step >>= 1)
            product += __shfl_xor_sync(0xffffffffu, product, step);
        if (lane == 0) warps[j][threadIdx.x / 32] = product;
    }
    __syncthreads();
    if ((int)threadIdx.x > history) return;
    float total = 0.0f;
    for (int w = 0; w < ROW_THREADS / 32; w++)
        total += warps[threadIdx.x][w];
    st.sums[((size_t)character * SUP_GPU_SUMS + SUM_NEWEST + threadIdx.x) * st.sum_rows + blockIdx.x] = total;
}

/* --- Launches --- */

template <int C, int T>
static int solve(const sup_gpu_system &s, const sup_gpu_state &st, int turn, int solves, cudaStream_t stream)
{
    dim3 grid(s.part_count, (st.count + C - 1) / C), rows(row_blocks(s), st.count);
    size_t shared = sup_gpu_solve_shared(&s);
    int top_blocks = sup_gpu_schur_rows(&s), error = 0;
    for (int k = 0; error == 0 && k < solves; k++) {
        if (k > 0) {
            launch_early(cg_forward_kernel<C, T>, grid, T, shared, stream, s, st, turn, k);
            error = sup_gpu_schur(&s, &st, turn, k, stream);
        }
        launch_early(cg_back_kernel<C, T>, grid, T, shared, stream, s, st, turn, k, top_blocks);
        launch_early(cg_rows_kernel, rows, (int)ROW_THREADS, (size_t)0, stream, s, st, turn, k);
    }
    launch_early(cg_end_kernel, dim3(sup_gpu_contact_sum_rows(&s), st.count), (int)ROW_THREADS, (size_t)0, stream, s,
                 st, turn);
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int32_t sup_gpu_row_blocks(const sup_gpu_system *system)
{
    return row_blocks(*system);
}

extern "C" int32_t sup_gpu_contact_sum_rows(const sup_gpu_system *system)
{
    return (system->unknown_count + ROW_THREADS - 1) / ROW_THREADS;
}

template <int C, int T> static cudaError_t prepare(const sup_gpu_system &s)
{
    const void *kernels[2] = {(const void *)cg_back_kernel<C, T>, (const void *)cg_forward_kernel<C, T>};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 2 && error == cudaSuccess; i++)
        error = cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)sup_gpu_solve_shared(&s));
    return error;
}

extern "C" int sup_gpu_contact_prepare(const sup_gpu_system *system)
{
    return (int)(system->lockstep == 1 ? prepare<1, STEP_ALONE_THREADS>(*system)
                                       : prepare<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system));
}

extern "C" int sup_gpu_contact_solve(const sup_gpu_system *system, const sup_gpu_state *state, int32_t turn,
                                     int32_t solves, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    return system->lockstep == 1 ? solve<1, STEP_ALONE_THREADS>(*system, *state, turn, solves, on)
                                 : solve<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system, *state, turn, solves, on);
}
