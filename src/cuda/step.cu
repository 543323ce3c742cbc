/* step.cu - a step of projective dynamics on the device: the solver of methods/projective/solver.c, stage by stage.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16, and section 3.4.2 (projective skinning on a GPU). Deviation:
 * where the thesis launches about 310 kernels a step (ten local-global times ten PCG iterations), an iteration here is
 * two: every part of the tissue by a block of threads of its own, then the top (blocks.h, top.cu). The solve is exact, so
 * that harmonic start and Anderson acceleration work as on the CPU.
 *
 *     start   inertial prediction, the anchors' pull, first half of its solve
 *     top     S^-1 of what the parts left over
 *     move    second half of the solve, the accelerated step, volumes
 *     local   pressures, rotations, gradient, first half of the next solve
 *
 * Contacts come in between local and move (contact_solve.cu). A character by itself takes alone.cu instead, which does the same in
 * one launch.
 *
 * A block handles one part of C characters: their inverses and prisms are read once. Sums are taken in a fixed order. */
#include "cuda/step_part.cuh"

template <int C, int T>
__global__ void __launch_bounds__(T)
    start_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    extern __shared__ __align__(16) float shared[];
    load_part<C, T>(s, shared);
    block_view<C> b = open_block<C, T>(s, st, shared);
    wait_pack();
    wait_for_kernel();
    __syncthreads();
    predict<C, T>(s, st, b);
    wait_inverse();
    __syncthreads();
    forward<C, T>(s, st, b);
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 2 : 1)
    move_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn,
                int last_turn, int top_blocks, int contact_rows)
{
    extern __shared__ __align__(16) float shared[];
    __shared__ plan plans[C];
    __shared__ sup_gpu_control controls[C];
    __shared__ double sums[C * SUP_GPU_SUMS];
    load_part<C, T>(s, shared);
    block_view<C> b = open_block<C, T>(s, st, shared);
    bool any = false, solves = turn == 0;
    wait_for_kernel();
    wait_inverse();
    for (int c = 0; c < b.live; c++) {
        any = any || turn == 0 || !is_over(st, turn - 1, b.first + c);
        solves = solves || st.progress[b.first + c].rows == 0;
    }
    if (!any) {
        if (blockIdx.x == 0 && threadIdx.x < b.live) st.control[turn & 1][b.first + threadIdx.x].over = 1;
        return;
    }
    __syncthreads();
    for (int c = 0; s.volume > 0.0f && c < b.live; c++)
        load_feet<C, T>(s, st, b, c);
    load_anchors<C, T>(s, st, b);
    decide_all<C, T>(s, st, b.first, b.live, turn, last_turn != 0, top_blocks, contact_rows, s.part_count, controls, sums, plans);
    if (solves) backward<C, T>(s, st, b);
    __syncthreads();
    move<C, T>(s, st, b, plans, turn);
    wait_inverse();
    __syncthreads();
    if (s.volume > 0.0f) volumes<C, T>(s, st, b, plans);
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 2 : 1)
    local_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn)
{
    extern __shared__ __align__(16) float shared[];
    __shared__ local_view views[C];
    load_part<C, T, true>(s, shared);
    block_view<C> b = open_block<C, T, true>(s, st, shared);
    wait_for_kernel();
    wait_pack();
    if (threadIdx.x < b.live) views[threadIdx.x] = view_local(st, turn, b.first + threadIdx.x);
    __syncthreads();
    bool any = false;
    for (int c = 0; c < b.live; c++)
        any = any || !views[c].over;
    if (!any) {
        wait_inverse();
        return;
    }
    if (s.volume > 0.0f) load_feet<C, T>(s, st, b, 0);
    load_anchors<C, T>(s, st, b);
    load_iterates<C, T>(s, st, b, views);
    if (s.volume > 0.0f) pressures<C, T>(s, st, b, views);
    for (int c = 0; c < b.live; c++) {
        wait_inverse();
        __syncthreads();
        if (s.volume > 0.0f && c + 1 < b.live) load_feet<C, T>(s, st, b, c + 1);
        if (views[c].over) continue;
        const local_view now = views[c];
        float values[SUP_GPU_SUMS_ALL];
        evaluate<C, T>(s, st, b, now, c, values);
        if (now.rows > 0) __syncthreads();
        if (now.rows > 0)
            contact_gradient<C, T>(s, st, b, c, st.iterate[now.current] + (size_t)(b.first + c) * s.unknown_count, values);
        reduce_local<T>(st, b.sums, now, b.first + c, values);
    }
    wait_inverse();
    __syncthreads();
    forward<C, T>(s, st, b);
}

/* --- Launches --- */

extern "C" size_t sup_gpu_local_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_ALONE_THREADS, true>(*system).bytes(*system)
                                 : sizes<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS, true>(*system).bytes(*system);
}

extern "C" size_t sup_gpu_step_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_ALONE_THREADS>(*system).bytes(*system)
                                 : sizes<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system).bytes(*system);
}

template <int C, int T> static cudaError_t prepare(const sup_gpu_system &s)
{
    const void *kernels[3] = {(const void *)start_kernel<C, T>, (const void *)move_kernel<C, T>,
                              (const void *)local_kernel<C, T>};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 3 && error == cudaSuccess; i++)
        error = cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)(i < 2 ? sup_gpu_step_shared(&s) : sup_gpu_local_shared(&s)));
    return error;
}

extern "C" int sup_gpu_step_prepare(const sup_gpu_system *system)
{
    int error = (int)(system->lockstep == 1 ? prepare<1, STEP_ALONE_THREADS>(*system)
                                            : prepare<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system));
    if (error == 0) error = sup_gpu_contact_prepare(system);
    if (error == 0) error = sup_gpu_alone_prepare(system);
    return error == 0 ? sup_gpu_top_prepare(system) : error;
}

template <int C, int T>
static int launch_step(const sup_gpu_system &s, const sup_gpu_state &st, int turns, bool contact, cudaStream_t stream)
{
    dim3 grid(s.part_count, (st.count + C - 1) / C);
    size_t shared = sup_gpu_step_shared(&s);
    launch_early(start_kernel<C, T>, grid, T, shared, stream, s, st);
    int error = sup_gpu_top(&s, &st, -1, 0, stream);
    for (int turn = 0; error == 0 && turn <= turns; turn++) {
        launch_early(move_kernel<C, T>, grid, T, shared, stream, s, st, turn, (int)(turn == turns), sup_gpu_top_rows(&s),
                     sup_gpu_contact_sum_rows(&s));
        if (turn == turns) break;
        launch_early(local_kernel<C, T>, grid, T, sup_gpu_local_shared(&s), stream, s, st, turn);
        error = sup_gpu_top(&s, &st, turn, 0, stream);
        if (error == 0 && contact) error = sup_gpu_contact_solve(&s, &st, turn, stream);
    }
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t turns, bool contact,
                            void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (system->alone_blocks > 0 && state->count == 1) return sup_gpu_alone(system, state, turns, stream);
    return system->lockstep == 1 ? launch_step<1, STEP_ALONE_THREADS>(*system, *state, turns, contact, on)
                                 : launch_step<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system, *state, turns, contact, on);
}
