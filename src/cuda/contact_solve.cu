/* contact_solve.cu - direction of a global step with contacts: solver/solver_contact.c on the device.
 *
 * Based on: [komaritzan2022] section 3.2.5, and conjugate gradients (M. R. Hestenes, E. Stiefel, 1952) with the
 * exact solve of A as preconditioner. An iteration is four kernels: the previous step with the first half of the
 * solve, the separator, the second half with the search direction, and the contacts along that direction.
 * Characters without contacts skip it. */
#include "cuda/cg_subdomain.cuh"

static __device__ bool has_contacts(const sup_gpu_state &st, int iteration, int character)
{
    return !is_finished(st, iteration, character) && st.progress[character].contacts > 0;
}

/* Whether any character of a block has contacts. */
template <int C> static __device__ bool any_has_contacts(const sup_gpu_state &st, int iteration)
{
    bool any = false;
    for (int c = blockIdx.y * C; c < min((int)(blockIdx.y + 1) * C, st.count); c++)
        any = any || has_contacts(st, iteration, c);
    return any;
}

/* Blocks of cg_contacts_kernel per character. */
enum { CONTACT_THREADS = 256 };

static __host__ __device__ int contact_blocks(const sup_gpu_system &s)
{
    return (s.contact_count + CONTACT_THREADS - 1) / CONTACT_THREADS;
}

/* --- Second half of solve k, and the search direction --- */

static __device__ cg_control control_backward(const sup_gpu_system &s, const sup_gpu_state &st, int character,
                                              int iteration, int k, int schur_blocks)
{
    cg_control step = {0, 0, 0.0f};
    step.has_contacts = has_contacts(st, iteration, character);
    if (!step.has_contacts) return step;
    sup_gpu_cg *cg = st.cg + (size_t)character * SUP_RESPONSE_MAX_SOLVES;
    double rz = sum_blocks(st, character, SUM_NEWEST, s.subdomain_count + schur_blocks);
    bool ended = !(rz > 0.0);
    if (k > 0) {
        const bool more = sup_response_next_search(rz, cg[k - 1].rz, cg[0].rz, &step.factor);
        ended = ended || cg[k - 1].ended || cg[k - 1].last || !more;
    }
    step.active = !ended;
    if (blockIdx.x == 0 && threadIdx.x % 32 == 0) {
        cg[k].rz = rz;
        cg[k].ended = ended;
        cg[k].last = 0;
    }
    return step;
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    cg_back_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int iteration,
                   int k, int schur_blocks)
{
    SHARED_ARRAY(float, shared);
    __shared__ cg_control steps[C];
    if (C == 1) load_subdomain<C, T, false, false>(s, shared);
    wait_for_kernel();
    if (C > 1 && !any_has_contacts<C>(st, iteration)) return;
    block_view<C> b = open_block<C, T, false, false>(s, st, shared);
    for (int c = threadIdx.x / 32; c < b.live; c += T / 32) {
        cg_control step = control_backward(s, st, b.first + c, iteration, k, schur_blocks);
        if (threadIdx.x % 32 == 0) steps[c] = step;
    }
    __syncthreads();
    unsigned which = 0;
    for (int c = 0; c < b.live; c++)
        which |= steps[c].active || (k == 0 && steps[c].has_contacts) ? 1u << c : 0u;
    if (which == 0) {
        wait_inverse();
        return;
    }
    if (C > 1) load_subdomain<C, T, false, false>(s, shared);
    clear_padding(b);
    wait_inverse();
    __syncthreads();
    backward<C, T>(s, st, b);
    __syncthreads();
    next_search<C, T>(s, st, b, which, k, steps);
}

/* --- Contacts along that direction --- */

__global__ void __launch_bounds__(CONTACT_THREADS)
    cg_contacts_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                       int iteration, int k)
{
    __shared__ float warps[CONTACT_THREADS / 32];
    int character = blockIdx.y, v = blockIdx.x * CONTACT_THREADS + threadIdx.x;
    wait_for_kernel();
    if (!has_contacts(st, iteration, character) || st.cg[(size_t)character * SUP_RESPONSE_MAX_SOLVES + k].ended) return;
    const contact_view view = open_contacts(s, st, character);
    float curvature = 0.0f;
    if (v < s.contact_count && view.pair[v] >= 0)
        view.force[v] = contact_force(s, view.contacts[v], st.search + (size_t)character * s.unknown_count, curvature);
    for (int d = 16; d > 0; d >>= 1)
        curvature += __shfl_xor_sync(0xffffffffu, curvature, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = curvature;
    __syncthreads();
    if (threadIdx.x > 0) return;
    float total = 0.0f;
    for (int w = 0; w < CONTACT_THREADS / 32; w++)
        total += warps[w];
    st.sums[((size_t)character * SUP_GPU_SUMS + SUM_CONTACTS) * st.sum_stride + blockIdx.x] = total;
}

/* --- The step along it, and the next solve or the end --- */

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    cg_forward_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int iteration,
                      int k)
{
    SHARED_ARRAY(float, shared);
    __shared__ cg_control steps[C];
    if (C == 1) load_subdomain<C, T, false, false>(s, shared);
    wait_for_kernel();
    if (C > 1 && !any_has_contacts<C>(st, iteration)) return;
    block_view<C> b = open_block<C, T, false, false>(s, st, shared);
    unsigned which = 0;
    for (int c = threadIdx.x / 32; c < b.live; c += T / 32) {
        cg_control step = {0, 0, 0.0f};
        sup_gpu_cg *last = st.cg + (size_t)(b.first + c) * SUP_RESPONSE_MAX_SOLVES + k - 1;
        if (has_contacts(st, iteration, b.first + c) && !last->ended) {
            const cg_length length =
                step_length(s, st, b.first + c, k - 1, last->rz, contact_blocks(s), s.subdomain_count);
            step.factor = length.alpha;
            step.active = length.alpha != 0.0f && length.more && k < max_solves_of(st, b.first + c);
            if (blockIdx.x == 0 && threadIdx.x % 32 == 0) last->last = !step.active;
        }
        if (threadIdx.x % 32 == 0) steps[c] = step;
    }
    __syncthreads();
    for (int c = 0; c < b.live; c++)
        which |= steps[c].active ? 1u << c : 0u;
    if (which == 0) {
        wait_inverse();
        return;
    }
    if (C > 1) load_subdomain<C, T, false, false>(s, shared);
    clear_padding(b);
    wait_inverse();
    __syncthreads();
    step_subdomain<C, T>(s, st, b, steps, C == 1 || k > 1);
    __syncthreads();
    forward<C, T>(s, st, b, which);
}

/* The direction, one thread per node, independent of subdomains. */
__global__ void __launch_bounds__(CONTACT_THREADS)
    cg_end_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int iteration)
{
    __shared__ float factor, warps[SUP_SOLVER_HISTORY + 1][CONTACT_THREADS / 32];
    __shared__ bool kept; /* the result of the previous iterations is in memory: cg_subdomain.cuh */
    const int character = blockIdx.y, node = blockIdx.x * CONTACT_THREADS + threadIdx.x, lane = threadIdx.x % 32;
    wait_for_kernel();
    if (!has_contacts(st, iteration, character)) return;
    if (threadIdx.x < 32) {
        const sup_gpu_cg *cg = st.cg + (size_t)character * SUP_RESPONSE_MAX_SOLVES;
        const int solves = max_solves_of(st, character);
        int last = solves - 1; /* the last search direction; the step along it may still be missing */
        while (last >= 0 && cg[last].ended)
            last--;
        const cg_length length =
            step_length(s, st, character, max(last, 0), cg[max(last, 0)].rz, contact_blocks(s), s.subdomain_count);
        const bool open = last == solves - 1 || (last >= 0 && !length.more);
        if (lane == 0) factor = open ? length.alpha : 0.0f;
        if (lane == 0) kept = s.lockstep == 1 || (open ? last > 0 : last >= 0);
    }
    __syncthreads();
    const int history = st.control[iteration & 1][character].history;
    float values[SUP_SOLVER_HISTORY + 1] = {0.0f};
    if (node < s.unknown_count) end_node(s, st, character, node, factor, history, values, kept);
#pragma unroll
    for (int j = 0; j <= SUP_SOLVER_HISTORY; j++) {
        if (j > history) break;
        float product = values[j];
        for (int step = 16; step > 0; step >>= 1)
            product += __shfl_xor_sync(0xffffffffu, product, step);
        if (lane == 0) warps[j][threadIdx.x / 32] = product;
    }
    __syncthreads();
    if ((int)threadIdx.x > history) return;
    float total = 0.0f;
    for (int w = 0; w < CONTACT_THREADS / 32; w++)
        total += warps[threadIdx.x][w];
    st.sums[((size_t)character * SUP_GPU_SUMS + SUM_NEWEST + threadIdx.x) * st.sum_stride + blockIdx.x] = total;
}

/* --- Launches --- */

template <int C, int T>
static int solve(const sup_gpu_system &s, const sup_gpu_state &st, int iteration, int solves, cudaStream_t stream)
{
    dim3 grid(s.subdomain_count, (st.count + C - 1) / C), contact_grid(contact_blocks(s), st.count);
    size_t shared = sup_gpu_solve_shared(&s);
    int schur_blocks = sup_gpu_schur_sum_count(&s), error = 0;
    for (int k = 0; error == 0 && k < solves; k++) {
        if (k > 0) {
            launch_early(cg_forward_kernel<C, T>, grid, T, shared, stream, s, st, iteration, k);
            error = sup_gpu_schur(&s, &st, iteration, k, stream);
        }
        launch_early(cg_back_kernel<C, T>, grid, T, shared, stream, s, st, iteration, k, schur_blocks);
        launch_early(cg_contacts_kernel, contact_grid, (int)CONTACT_THREADS, (size_t)0, stream, s, st, iteration, k);
    }
    launch_early(cg_end_kernel, dim3(sup_gpu_contact_sum_count(&s), st.count), (int)CONTACT_THREADS, (size_t)0, stream,
                 s, st, iteration);
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int32_t sup_gpu_contact_blocks(const sup_gpu_system *system)
{
    return contact_blocks(*system);
}

extern "C" int32_t sup_gpu_contact_sum_count(const sup_gpu_system *system)
{
    return (system->unknown_count + CONTACT_THREADS - 1) / CONTACT_THREADS;
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
    return (int)(system->lockstep == 1 ? prepare<1, STEP_SINGLE_THREADS>(*system)
                                       : prepare<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system));
}

extern "C" int sup_gpu_contact_solve(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iteration,
                                     int32_t solves, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    return system->lockstep == 1 ? solve<1, STEP_SINGLE_THREADS>(*system, *state, iteration, solves, on)
                                 : solve<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system, *state, iteration, solves, on);
}
