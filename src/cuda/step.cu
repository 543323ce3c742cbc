/* step.cu - a step of projective dynamics on the device: the solver of solver/solver.c, stage by stage.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16, and section 3.4.2 (projective skinning on a GPU). Deviation:
 * where the thesis launches about 310 kernels a step (ten local-global times ten PCG iterations), an iteration here is
 * two: every part of the tissue by a block of threads of its own, then the top (subdomains.h, schur.cu). The solve is exact, so
 * that harmonic start and Anderson acceleration work as on the CPU.
 *
 *     predict inertial prediction, the anchors' pull
 *     start   first half of its solve
 *     top     S^-1 of what the parts left over
 *     decide  in a crowd: what the sums of a local step mean for the next iterate
 *     move    second half of the solve, the accelerated step, volumes
 *     local   pressures, rotations, gradient, first half of the next solve
 *
 * Contacts come in between local and move (contact_solve.cu). A character by itself takes step_persistent.cu instead, which does the same in
 * one launch.
 *
 * A block handles one part of C characters: their inverses and prisms are read once. Sums are taken in a fixed order. */
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
    load_part<C, T, false, false>(s, shared);
    block_view<C> b = open_block<C, T, false, false>(s, st, shared);
    wait_pack();
    wait_for_kernel();
    __syncthreads();
    clear_rest(b);
    load_pull<C, T>(s, st, b);
    wait_inverse();
    __syncthreads();
    forward<C, T>(s, st, b, all_of(b));
}

/* Of a crowd, once a character: C of them a block. Of one or two characters every part decides for itself, which takes less
 * time than a kernel. */
template <int C>
__global__ void __launch_bounds__(32 * C)
    decide_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn,
                  int last_turn, int top_blocks, int contact_rows)
{
    __shared__ plan plans[C];
    __shared__ sup_gpu_control controls[C];
    __shared__ double sums[C * SUP_GPU_SUMS];
    const int first = blockIdx.y * C, live = min(C, st.count - first), c = threadIdx.x / 32;
    wait_for_kernel();
    decide_all<C, 32 * C>(s, st, first, live, turn, last_turn != 0, top_blocks, contact_rows, s.part_count, controls,
                          sums, plans);
    __syncwarp();
    if (c < live && threadIdx.x % 32 == 0) st.control[turn & 1][first + c].plan = plans[c];
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 3 : 1)
    move_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn,
                int last_turn, int top_blocks, int contact_rows)
{
    SHARED_ARRAY(float, shared);
    __shared__ plan plans[C];
    const int first = blockIdx.y * C, live = min(C, st.count - first);
    if (C == 1) load_part<C, T>(s, shared);
    bool any = false, solves = turn == 0;
    wait_for_kernel();
    for (int c = first; c < first + live; c++) {
        any = any || (C > 1 ? st.control[turn & 1][c].plan.active : turn == 0 || !is_over(st, turn - 1, c));
        solves = solves || st.progress[c].rows == 0;
    }
    if (!any) { /* before anything is fetched: many a block of a crowd has nothing to do in its last turns */
        if (C == 1 && blockIdx.x == 0 && threadIdx.x == 0) st.control[turn & 1][first].over = 1;
        wait_inverse(); /* no thread ends while copies of its are on the way */
        return;
    }
    block_view<C> b = open_block<C, T>(s, st, shared);
    if (C > 1) load_part<C, T>(s, shared);
    if (C > 1 && (int)threadIdx.x < b.live) plans[threadIdx.x] = st.control[turn & 1][b.first + threadIdx.x].plan;
    __syncthreads();
    clear_rest(b);
    wait_inverse();
    __syncthreads();
    for (int c = 0; s.volume > 0.0f && c < b.live; c++)
        load_feet<C, T>(s, st, b, c);
    load_anchors<C, T>(s, st, b, b.part.foot_count - b.part.count - b.part.slot_count);
    if (C == 1) {
        __shared__ sup_gpu_control control;
        __shared__ double sums[SUP_GPU_SUMS];
        decide_all<1, T>(s, st, b.first, b.live, turn, last_turn != 0, top_blocks, contact_rows, s.part_count, &control,
                         sums, plans);
    }
    if (solves) backward<C, T>(s, st, b);
    __syncthreads();
    move<C, T>(s, st, b, plans, turn);
    wait_inverse();
    __syncthreads();
    if (s.volume > 0.0f) volumes<C, T>(s, st, b, plans);
}

/* Of one or two characters, a block for each. */
__global__ void __launch_bounds__(STEP_ALONE_THREADS)
    local_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn)
{
    enum { T = STEP_ALONE_THREADS };
    SHARED_ARRAY(float, shared);
    load_part<1, T, true>(s, shared);
    block_view<1> b = open_block<1, T, true>(s, st, shared);
    wait_for_kernel();
    wait_inverse();
    __syncthreads();
    const local_view now = view_local(st, turn, b.first);
    if (now.over) return;
    if (s.volume > 0.0f) load_feet<1, T>(s, st, b, 0);
    load_anchors<1, T>(s, st, b);
    load_iterates<1, T>(s, st, b, &now);
    if (s.volume > 0.0f) pressures<1, T>(s, st, b, &now);
    wait_inverse();
    __syncthreads();
    float values[SUP_GPU_SUMS_ALL];
    evaluate<1, T>(s, st, b, now, 0, values);
    if (now.rows > 0) {
        __syncthreads();
        contact_gradient<1, T>(s, st, b, 0, st.iterate[now.current] + (size_t)b.first * s.unknown_count, values);
    }
    reduce_local<T>(st, b.sums, now, b.first, values);
    __syncthreads();
    forward<1, T>(s, st, b, all_of(b));
}

__global__ void __launch_bounds__(CROWD_THREADS, 2)
    local_crowd_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn)
{
    SHARED_ARRAY(float, shared);
    __shared__ local_view views[CROWD];
    wait_for_kernel();
    bool any = false;
    for (int c = blockIdx.y * CROWD; c < min((int)(blockIdx.y + 1) * CROWD, st.count); c++)
        any = any || !is_over(st, turn, c);
    if (!any) return;
    crowd_view b = open_crowd(s, st, shared);
    if ((int)threadIdx.x < b.live) views[threadIdx.x] = view_local(st, turn, b.first + threadIdx.x);
    __syncthreads();
    load_pack<CROWD_THREADS>(s, b.pack);
    clear_rest(b);
    wait_inverse();
    __syncthreads();
    load_places(s, st, b, views);
    for (int c = 0; s.volume > 0.0f && c < min(b.live, (int)PAIR); c++)
        load_feet<CROWD, CROWD_THREADS>(s, st, b, c);
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
    return system->lockstep == 1 ? sizes<1, STEP_ALONE_THREADS, true>(*system).bytes(*system)
                                 : crowd_sizes(*system).bytes(*system);
}

extern "C" size_t sup_gpu_step_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_ALONE_THREADS>(*system).bytes(*system)
                                 : sizes<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system).bytes(*system);
}

extern "C" size_t sup_gpu_solve_shared(const sup_gpu_system *system)
{
    return system->lockstep == 1 ? sizes<1, STEP_ALONE_THREADS, false, false>(*system).bytes(*system)
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
    int error = (int)(system->lockstep == 1 ? prepare<1, STEP_ALONE_THREADS>(*system)
                                            : prepare<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system));
    if (error == 0) error = sup_gpu_contact_prepare(system);
    if (error == 0) error = sup_gpu_persistent_prepare(system);
    return error == 0 ? sup_gpu_schur_prepare(system) : error;
}

template <int C, int T>
static int launch_step(const sup_gpu_system &s, const sup_gpu_state &st, int turns, int solves, cudaStream_t stream)
{
    dim3 grid(s.part_count, (st.count + C - 1) / C);
    size_t shared = sup_gpu_step_shared(&s);
    const int lines = (s.unknown_count + PREDICT_THREADS - 1) / PREDICT_THREADS;
    launch_early(predict_kernel, dim3(lines < s.part_count ? lines : s.part_count, st.count), (int)PREDICT_THREADS,
                 (size_t)0, stream, s, st);
    launch_early(start_kernel<C, T>, grid, T, sup_gpu_solve_shared(&s), stream, s, st);
    int error = sup_gpu_schur(&s, &st, -1, 0, stream);
    for (int turn = 0; error == 0 && turn <= turns; turn++) {
        if constexpr (C > 1)
            launch_early(decide_kernel<C>, dim3(1, grid.y), 32 * C, (size_t)0, stream, s, st, turn,
                         (int)(turn == turns), sup_gpu_schur_rows(&s), sup_gpu_contact_sum_rows(&s));
        launch_early(move_kernel<C, T>, grid, T, shared, stream, s, st, turn, (int)(turn == turns),
                     sup_gpu_schur_rows(&s), sup_gpu_contact_sum_rows(&s));
        if (turn == turns) break;
        launch_early(C == 1 ? local_kernel : local_crowd_kernel, grid, C == 1 ? T : (int)CROWD_THREADS,
                     sup_gpu_local_shared(&s), stream, s, st, turn);
        error = sup_gpu_schur(&s, &st, turn, 0, stream);
        if (error == 0 && solves > 0) error = sup_gpu_contact_solve(&s, &st, turn, solves, stream);
    }
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t turns, int32_t solves,
                            void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (system->alone_blocks > 0 && state->count == 1) return sup_gpu_persistent(system, state, turns, stream);
    return system->lockstep == 1
               ? launch_step<1, STEP_ALONE_THREADS>(*system, *state, turns, solves, on)
               : launch_step<SUP_GPU_LOCKSTEP, STEP_CROWD_THREADS>(*system, *state, turns, solves, on);
}
