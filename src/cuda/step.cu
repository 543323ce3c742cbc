/* step.cu - a step of projective dynamics on the device: solver/solver.c, stage by stage.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16, and section 3.4.2 (projective skinning on a GPU).
 * Deviation: the thesis launches about 310 kernels per step (ten local-global times ten PCG iterations). Here an
 * iteration is two kernels: one with a thread block per subdomain of the tissue, then the separator (subdomains.h,
 * schur.cu). The solve is exact, so the predicted start and Anderson acceleration work as on the CPU.
 *
 *     predict   inertial positions, pull of the anchors
 *     start     first half of the solve for the start
 *     schur     S^-1 times the residual of the separator
 *     control   in a crowd: decides the next iterate from the sums of a local step
 *     move      second half of the solve, the accelerated step, volumes
 *     local     pressures, rotations, gradient, first half of the next solve
 *
 * Contacts are solved between local and move (contact_solve.cu). A single character uses step_persistent.cu
 * instead, which does the same in one launch.
 *
 * A thread block handles one subdomain of C characters: the inverse and the prisms are read once. Sums have a fixed
 * order. */
#include "cuda/crowd_local.cuh"

enum { PREDICT_THREADS = 256 };

__global__ void __launch_bounds__(PREDICT_THREADS)
    predict_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    __shared__ float sums[8 * 32];
    predict<PREDICT_THREADS>(s, st, sums);
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    start_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    SHARED_ARRAY(float, shared);
    load_subdomain<C, T, false, false>(s, shared);
    block_view<C> b = open_block<C, T, false, false>(s, st, shared);
    wait_pack();
    wait_for_kernel();
    __syncthreads();
    clear_padding(b);
    load_pull<C, T>(s, st, b);
    wait_inverse();
    __syncthreads();
    forward<C, T>(s, st, b, all_of(b));
}

/* In a crowd, one warp per character, C characters per block. With one or two characters every subdomain decides for
 * itself, which is faster than a kernel. */
template <int C>
__global__ void __launch_bounds__(32 * C)
    control_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int iteration,
                   int last_iteration, int schur_blocks, int contact_sums)
{
    __shared__ sup_gpu_iteration next[C];
    __shared__ sup_gpu_control controls[C];
    __shared__ double sums[C * SUP_GPU_SUMS];
    const int first = blockIdx.y * C, live = min(C, st.count - first), c = threadIdx.x / 32;
    wait_for_kernel();
    control_steps<C, 32 * C>(s, st, first, live, iteration, last_iteration != 0, schur_blocks, contact_sums,
                             s.subdomain_count, controls, sums, next);
    __syncwarp();
    if (c < live && threadIdx.x % 32 == 0) st.control[iteration & 1][first + c].next = next[c];
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    move_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int iteration,
                int last_iteration, int schur_blocks, int contact_sums)
{
    SHARED_ARRAY(float, shared);
    __shared__ sup_gpu_iteration next[C];
    const int first = blockIdx.y * C, live = min(C, st.count - first);
    if (C == 1) load_subdomain<C, T>(s, shared);
    bool any = false, solves = iteration == 0;
    wait_for_kernel();
    for (int c = first; c < first + live; c++) {
        any = any ||
              (C > 1 ? st.control[iteration & 1][c].next.active : iteration == 0 || !is_finished(st, iteration - 1, c));
        solves = solves || st.progress[c].contacts == 0;
    }
    if (!any) { /* before any load: in the last iterations many blocks of a crowd have nothing to do */
        if (C == 1 && blockIdx.x == 0 && threadIdx.x == 0) st.control[iteration & 1][first].finished = 1;
        wait_inverse(); /* no thread may exit while its copies are in flight */
        return;
    }
    block_view<C> b = open_block<C, T>(s, st, shared);
    if (C > 1) load_subdomain<C, T>(s, shared);
    if (C > 1 && (int)threadIdx.x < b.live) next[threadIdx.x] = st.control[iteration & 1][b.first + threadIdx.x].next;
    __syncthreads();
    clear_padding(b);
    wait_inverse();
    __syncthreads();
    for (int c = 0; s.volume > 0.0f && c < b.live; c++)
        load_foot_points<C, T>(s, st, b, c);
    load_anchors<C, T>(s, st, b, b.subdomain.foot_count - b.subdomain.count - b.subdomain.slot_count);
    if (C == 1) {
        __shared__ sup_gpu_control control;
        __shared__ double sums[SUP_GPU_SUMS];
        control_steps<1, T>(s, st, b.first, b.live, iteration, last_iteration != 0, schur_blocks, contact_sums,
                            s.subdomain_count, &control, sums, next);
    }
    if (solves) backward<C, T>(s, st, b);
    __syncthreads();
    move<C, T>(s, st, b, next, iteration);
    wait_inverse();
    __syncthreads();
    if (s.volume > 0.0f) volumes<C, T>(s, st, b, next);
}

/* For one or two characters, one block each. */
__global__ void __launch_bounds__(STEP_SINGLE_THREADS)
    local_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int iteration)
{
    enum { T = STEP_SINGLE_THREADS };
    SHARED_ARRAY(float, shared);
    load_subdomain<1, T, true>(s, shared);
    block_view<1> b = open_block<1, T, true>(s, st, shared);
    wait_for_kernel();
    wait_inverse();
    __syncthreads();
    const local_view now = view_local(st, iteration, b.first);
    if (now.finished) return;
    if (s.volume > 0.0f) load_foot_points<1, T>(s, st, b, 0);
    load_anchors<1, T>(s, st, b);
    load_iterates<1, T>(s, st, b, &now);
    if (s.volume > 0.0f) pressures<1, T>(s, st, b, &now);
    wait_inverse();
    __syncthreads();
    float values[SUP_GPU_SUMS_PADDED];
    evaluate<1, T>(s, st, b, now, 0, values);
    if (now.contacts > 0) {
        __syncthreads();
        contact_gradient<1, T>(s, st, b, 0, st.iterate[now.current] + (size_t)b.first * s.unknown_count, values);
    }
    reduce_local<T>(st, b.sums, now, b.first, values);
    __syncthreads();
    forward<1, T>(s, st, b, all_of(b));
}

__global__ void __launch_bounds__(CROWD_THREADS, 2)
    local_crowd_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                       int iteration)
{
    SHARED_ARRAY(float, shared);
    __shared__ local_view views[CROWD];
    wait_for_kernel();
    bool any = false;
    for (int c = blockIdx.y * CROWD; c < min((int)(blockIdx.y + 1) * CROWD, st.count); c++)
        any = any || !is_finished(st, iteration, c);
    if (!any) return;
    crowd_view b = open_crowd(s, st, shared);
    if ((int)threadIdx.x < b.live) views[threadIdx.x] = view_local(st, iteration, b.first + threadIdx.x);
    __syncthreads();
    load_pack<CROWD_THREADS>(s, b.pack);
    clear_padding(b);
    wait_inverse();
    __syncthreads();
    load_nodes(s, st, b, views);
    for (int c = 0; s.volume > 0.0f && c < min(b.live, (int)PAIR); c++)
        load_foot_points<CROWD, CROWD_THREADS>(s, st, b, c);
    end_group();
    if (s.volume > 0.0f) pressures<CROWD, CROWD_THREADS>(s, st, b, views);
    for (int c = 0; c < b.live; c += PAIR)
        crowd_pair(s, st, b, views, c);
    __syncthreads();
    forward<CROWD, CROWD_THREADS>(s, st, b, all_of(b));
}

/* --- Launches --- */

extern "C" size_t sup_gpu_local_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_SINGLE_THREADS, true>(*system).bytes(*system)
                                 : crowd_sizes(*system).bytes(*system);
}

extern "C" size_t sup_gpu_step_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_SINGLE_THREADS>(*system).bytes(*system)
                                 : sizes<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system).bytes(*system);
}

extern "C" size_t sup_gpu_solve_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_SINGLE_THREADS, false, false>(*system).bytes(*system)
                                 : sizes<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS, false, false>(*system).bytes(*system);
}

template <int C, int T> static cudaError_t prepare(const sup_gpu_system &s)
{
    const void *kernels[3] = {(const void *)start_kernel<C, T>, (const void *)move_kernel<C, T>,
                              C == 1 ? (const void *)local_kernel : (const void *)local_crowd_kernel};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 3 && error == cudaSuccess; i++)
        error = cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)(i == 0   ? sup_gpu_solve_shared(&s)
                                           : i == 1 ? sup_gpu_step_shared(&s)
                                                    : sup_gpu_local_shared(&s)));
    return error;
}

extern "C" int sup_gpu_step_prepare(const sup_gpu_system *system)
{
    int error = (int)(system->lockstep == 1 ? prepare<1, STEP_SINGLE_THREADS>(*system)
                                            : prepare<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system));
    if (error == 0) error = sup_gpu_contact_prepare(system);
    if (error == 0) error = sup_gpu_persistent_prepare(system);
    return error == 0 ? sup_gpu_schur_prepare(system) : error;
}

template <int C, int T>
static int launch_step(const sup_gpu_system &s, const sup_gpu_state &st, int iterations, int solves,
                       cudaStream_t stream)
{
    dim3 grid(s.subdomain_count, (st.count + C - 1) / C);
    size_t shared = sup_gpu_step_shared(&s);
    const int lines = (s.unknown_count + PREDICT_THREADS - 1) / PREDICT_THREADS;
    launch_early(predict_kernel, dim3(lines < s.subdomain_count ? lines : s.subdomain_count, st.count),
                 (int)PREDICT_THREADS, (size_t)0, stream, s, st);
    launch_early(start_kernel<C, T>, grid, T, sup_gpu_solve_shared(&s), stream, s, st);
    int error = sup_gpu_schur(&s, &st, -1, 0, stream);
    for (int iteration = 0; error == 0 && iteration <= iterations; iteration++) {
        if constexpr (C > 1)
            launch_early(control_kernel<C>, dim3(1, grid.y), 32 * C, (size_t)0, stream, s, st, iteration,
                         (int)(iteration == iterations), sup_gpu_schur_sum_count(&s), sup_gpu_contact_sum_count(&s));
        launch_early(move_kernel<C, T>, grid, T, shared, stream, s, st, iteration, (int)(iteration == iterations),
                     sup_gpu_schur_sum_count(&s), sup_gpu_contact_sum_count(&s));
        if (iteration == iterations) break;
        launch_early(C == 1 ? local_kernel : local_crowd_kernel, grid, C == 1 ? T : (int)CROWD_THREADS,
                     sup_gpu_local_shared(&s), stream, s, st, iteration);
        error = sup_gpu_schur(&s, &st, iteration, 0, stream);
        if (error == 0 && solves > 0) error = sup_gpu_contact_solve(&s, &st, iteration, solves, stream);
    }
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iterations,
                            int32_t solves, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (system->persistent_blocks > 0 && state->count == 1)
        return sup_gpu_persistent(system, state, iterations, stream);
    return system->lockstep == 1
               ? launch_step<1, STEP_SINGLE_THREADS>(*system, *state, iterations, solves, on)
               : launch_step<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system, *state, iterations, solves, on);
}
