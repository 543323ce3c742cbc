/* step_control.cuh (internal) - control of the local-global iteration from the sums of a local step, by one warp per
 * subdomain of a character. The decisions are those of solver/step_control.h. All subdomains compute the same; the
 * first one stores it. */
#ifndef SUP_CUDA_STEP_CONTROL_CUH
#define SUP_CUDA_STEP_CONTROL_CUH

#include "cuda/gpu.h"
#include "cuda/launch.cuh"
#include "solver/step_control.h"

enum { SUM_ENERGY = 0, SUM_NEWEST = 1, SUM_OLDER = 2 };                          /* of a local step */
enum { SUM_PRODUCT = 2, SUM_OLD = 3, SUM_NEW = 4, SUM_MOVED = 5, SUM_SIZE = 6 }; /* of the start */
enum { SUM_NEAR = 10, SUM_ACTIVE = 11, SUM_CURVATURE = 12, SUM_CONTACTS = 13 };  /* of contacts */

enum { SUM_BATCH = 4 };

/* Sum of a value over the subdomains (and, of the newest direction, the blocks of schur.cu), by a warp. */
static __device__ double sum_blocks(const sup_gpu_state &st, int character, int value, int count)
{
    const float *from = st.sums + ((size_t)character * SUP_GPU_SUMS + value) * st.sum_stride;
    double sum = 0.0;
    for (int first = threadIdx.x % 32; first < count; first += 32 * SUM_BATCH) {
        float v[SUM_BATCH]; /* all loads in flight at once */
#pragma unroll
        for (int k = 0; k < SUM_BATCH; k++)
            v[k] = first + 32 * k < count ? from[first + 32 * k] : 0.0f;
#pragma unroll
        for (int k = 0; k < SUM_BATCH; k++)
            sum += (double)v[k];
    }
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* 1 / x to the last bits, for normal numbers: a third of the time of a division. */
static __device__ double invert(double x)
{
    double y = invert_roughly(x);
    y = fma(y, fma(-x, y, 1.0), y);
    y = fma(y, fma(-x, y, 1.0), y);
    return y;
}

static_assert(SUP_SOLVER_HISTORY == 8, "solve_small: eight rows of four lanes");

/* Solves the symmetric system of `size` unknowns by a warp, as solve_small of solver_accelerate.c: four lanes share
 * a row; lane l has entries l % 4 and l % 4 + 4 of it, and all four have its right-hand side t, later its unknown.
 * Unknowns whose pivot is lost in rounding become 0. Not unrolled: fitting the instruction cache is faster here. */
static __device__ double solve_small(int size, double low, double high, double t, int lane)
{
    const unsigned all = 0xffffffffu;
    const int row = lane / 4, column = lane % 4;
    const double largest = __shfl_sync(all, low, 0);
    double own_inverse = 0.0;
#pragma unroll 1
    for (int p = 0; p < size; p++) {
        const double holds = p < 4 ? low : high; /* the lanes with column p */
        const double pivot = __shfl_sync(all, holds, 4 * p + p % 4), mine = __shfl_sync(all, holds, 4 * row + p % 4);
        const double their_low = __shfl_sync(all, low, 4 * p + column),
                     their_high = __shfl_sync(all, high, 4 * p + column);
        const double from = __shfl_sync(all, t, 4 * p);
        const bool lost =
            !(pivot > 1e-290) || !sup_anderson_keeps(p, pivot, largest); /* 1e-290: smallest argument of invert */
        const double inverse = lost ? 0.0 : invert(pivot), multiple = row > p ? mine * inverse : 0.0;
        if (row == p) own_inverse = inverse;
        if (column > p) low -= multiple * their_low;
        if (column + 4 > p) high -= multiple * their_high;
        t -= multiple * from;
    }
#pragma unroll 1
    for (int p = size - 1; p >= 0; p--) {
        const double above = __shfl_sync(all, p < 4 ? low : high, 4 * row + p % 4);
        if (row == p) t *= own_inverse;
        const double x = __shfl_sync(all, t, 4 * p);
        if (row < p) t -= above * x;
    }
    return t;
}

static __device__ double warp_sum(double v)
{
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

static __device__ void set_multiple(sup_gpu_control &c, int k, double multiple, float *factor)
{
    for (int i = 0; i <= k; i++) {
        c.coefficient[k + 1][i] = i < k ? c.coefficient[k][i] : multiple;
        factor[i] = i < k ? 0.0f : (float)multiple;
    }
}

/* A sum over the first SUP_SOLVER_HISTORY lanes. */
static __device__ double short_sum(double v)
{
    for (int d = SUP_SOLVER_HISTORY / 2; d > 0; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return __shfl_sync(0xffffffffu, v, 0);
}

/* Weights of the images that minimise the combined direction, and the step to it, by a warp (as in
 * solver_accelerate.c). False: the step is not accepted. */
static __device__ bool choose_step(sup_gpu_control &c, float *factor)
{
    const unsigned all = 0xffffffffu;
    const int k = c.history, lane = threadIdx.x % 32;           /* k + 1 < SUP_SOLVER_HISTORY */
    const int row = lane / 4, mine = row < k ? k - 1 - row : 0; /* newest first */
    const double newest = c.inner[k][k], own = c.inner[mine][k];
    double matrix[2];
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const int column = lane % 4 + 4 * n, other = column < k ? k - 1 - column : 0;
        matrix[n] = c.inner[mine][other] - own - c.inner[other][k] + newest;
    }
    const double t = solve_small(k, matrix[0], matrix[1], newest - own, lane);
    double weight = __shfl_sync(all, t, lane < k ? 4 * (k - 1 - lane) : 31); /* oldest first */
    if (lane >= k) weight = 0.0;
    double remainder = 1.0 - short_sum(weight);
    if (lane == k) weight = remainder;
    double next = weight, previous = lane < k ? c.coefficient[k][lane] : 0.0;
#pragma unroll
    for (int j = 1; j < SUP_SOLVER_HISTORY - 1; j++) {
        double other = __shfl_sync(all, weight, j);
        if (j <= k && lane < j) next += other * c.coefficient[j][lane];
    }
    __syncwarp();
    if (lane <= k) c.coefficient[k + 1][lane] = next;
    float step = lane <= k ? (float)(next - previous) : 0.0f;
    if (lane <= k) factor[lane] = step;
    double along = 0.0;
#pragma unroll
    for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++) {
        float other = __shfl_sync(all, step, j);
        if (j <= k && lane <= k) along += (double)other * c.inner[lane][j];
    }
    double slope = -short_sum(lane <= k ? (double)step * c.inner[lane][k] : 0.0);
    double square = short_sum((double)step * along);
    __syncwarp();
    return sup_anderson_accepted(slope, square, newest);
}

/* Decides from the sums of the last local step ([SUP_GPU_SUMS]) the next iteration, by a warp: iterate() of solver.c.
 * Every subdomain of the character computes the same; the first one stores it. */
static __device__ void control_step(const sup_gpu_system &s, const sup_gpu_state &st, int character,
                                    bool last_iteration, const double *sums, sup_gpu_control &c, sup_gpu_iteration &p)
{
    const bool touching = st.progress[character].contacts > 0, unsure = touching || s.volume > 0.0f;
    const sup_gpu_command &command = st.commands[character];
    const sup_step_limits limits =
        sup_step_limits_of(command.iterations, command.tolerance, false, touching, s.volume > 0.0f);
    double energy = sums[SUM_ENERGY], newest = sums[SUM_NEWEST], predicted = 0.5 * newest;
    int k = c.history, lane = threadIdx.x % 32, done = c.done + 1;
    bool accepted = !(c.done > 0 && sup_step_rejected(energy, c.objective, c.accelerated, unsure)), good = false;
    bool stop = sup_step_converged(&limits, done, predicted, c.predicted, energy, (double)s.weight_sum, c.rounding);
    bool accelerate = accepted && sup_step_accelerates(k, touching, stop || done >= limits.max_iterations);
    __syncwarp();
    if (accepted && lane < k) c.inner[lane][k] = c.inner[k][lane] = -sums[SUM_OLDER + lane];
    if (accepted && lane == 0) c.inner[k][k] = newest;
    __syncwarp();
    if (accelerate) good = choose_step(c, p.factor);
    if (lane != 0) return;
    p.active = 1;
    p.accepted = accepted;
    p.history = k;
    p.target = 3 - c.base - c.current;
    p.base = accepted ? c.current : c.base;
    if (!accepted) { /* back to the last iterate, and from there a fraction of the plain step */
        c.fraction = last_iteration && unsure ? 0.0 : sup_step_backtrack(c.accelerated, c.fraction);
        p.finish = last_iteration || c.fraction == 0.0;
        set_multiple(c, k - 1, c.fraction, p.factor);
        c.rejected++;
    } else {
        if (!good) set_multiple(c, k, accelerate ? SUP_ANDERSON_RELAXATION : 1.0, p.factor);
        c.objective = energy;
        c.predicted = predicted;
        c.fraction = 1.0;
        c.done = done;
        c.base = c.current;
        c.history = k + 1 < SUP_SOLVER_HISTORY ? k + 1 : 0;
        p.finish = last_iteration || stop || done >= limits.max_iterations;
    }
    c.accelerated = accelerate;
    c.current = p.target;
    c.finished = p.finish;
    if (blockIdx.x != 0 || !p.finish) return;
    st.progress[character].iterations = c.done;
    st.progress[character].rejected = c.rejected;
    st.progress[character].objective = (float)c.objective;
    st.progress[character].active_contacts = touching ? (int)sums[SUM_ACTIVE] : 0;
}

/* First iteration: use of the last prediction error and displacement. By one thread. */
static __device__ void begin(const sup_gpu_system &s, const sup_gpu_state &st, int character, const double *sums,
                             sup_gpu_control &c, sup_gpu_iteration &p)
{
    bool asleep = st.progress[character].asleep != 0;
    p.active = !asleep;
    p.accepted = 1;
    p.finish = 0;
    p.history = 0;
    p.base = p.target = 0;
    p.repeat = sup_prediction_repeat(sums[SUM_PRODUCT], sums[SUM_OLD], sums[SUM_NEW]);
    p.drop = sup_prediction_drop(s.is_static, sums[SUM_NEW], sums[SUM_MOVED]);
    c.objective = c.predicted = 0.0;
    c.fraction = 1.0;
    c.rounding = sup_step_rounding(s.volume > 0.0f, sums[SUM_SIZE]);
    c.history = c.done = c.accelerated = c.rejected = 0;
    c.finished = asleep;
    c.current = 0;
    c.base = 1;
}

/* By a warp, all loads in flight at once. */
static __device__ void copy_control(sup_gpu_control *to, const sup_gpu_control *from)
{
    enum { DOUBLES = sizeof(sup_gpu_control) / sizeof(double), PASSES = (DOUBLES + 31) / 32 };
    const int lane = threadIdx.x % 32;
    double v[PASSES];
#pragma unroll
    for (int k = 0; k < PASSES; k++)
        v[k] = 32 * k + lane < DOUBLES ? ((const double *)from)[32 * k + lane] : 0.0;
#pragma unroll
    for (int k = 0; k < PASSES; k++)
        if (32 * k + lane < DOUBLES) ((double *)to)[32 * k + lane] = v[k];
    __syncwarp();
}

static __device__ bool is_finished(const sup_gpu_state &st, int iteration, int character)
{
    return iteration >= 0 && st.control[iteration & 1][character].finished;
}

/* Sums by the D threads of a block, then one warp per character decides: `live` characters from `first` on, at most
 * C. `controls` and `sums` are in shared memory. With contacts, `local_sums` blocks have sums of a local step. */
template <int C, int D>
static __device__ void control_steps(const sup_gpu_system &s, const sup_gpu_state &st, int first, int live,
                                     int iteration, bool last_iteration, int schur_blocks, int contact_sums,
                                     int local_sums, sup_gpu_control *controls, double *sums, sup_gpu_iteration *next)
{
    int warp = threadIdx.x / 32, warps = D / 32;
    for (int c = warp; iteration > 0 && c < live; c += warps)
        copy_control(&controls[c], &st.control[(iteration - 1) & 1][first + c]);
    for (int i = warp; i < live * SUP_GPU_SUMS; i += warps) {
        int c = i / SUP_GPU_SUMS, value = i % SUP_GPU_SUMS;
        bool touching =
            iteration > 0 && st.progress[first + c].contacts > 0; /* then products come from cg_end_kernel */
        if (value >= SUM_NEAR && !(touching && value == SUM_ACTIVE)) continue;
        if (value > SUM_SIZE && value < SUM_NEAR && iteration < value - SUM_OLDER)
            continue; /* fewer directions so far */
        bool product = touching && value >= SUM_NEWEST && value < SUM_NEAR;
        int count = product               ? contact_sums
                    : value == SUM_NEWEST ? s.subdomain_count + schur_blocks
                    : touching            ? local_sums
                                          : s.subdomain_count;
        double sum = sum_blocks(st, first + c, value, count);
        if (threadIdx.x % 32 == 0) sums[i] = sum;
    }
    __syncthreads();
    for (int c = warp; c < C; c += warps) {
        int character = first + c;
        bool here = c < live;
        if (threadIdx.x % 32 == 0) next[c].active = 0;
        __syncwarp();
        if (here && iteration == 0 && threadIdx.x % 32 == 0)
            begin(s, st, character, sums + c * SUP_GPU_SUMS, controls[c], next[c]);
        __syncwarp(); /* before other lanes read it */
        if (here && iteration > 0 && !controls[c].finished)
            control_step(s, st, character, last_iteration, sums + c * SUP_GPU_SUMS, controls[c], next[c]);
        __syncwarp();
        if (here && blockIdx.x == 0) copy_control(&st.control[iteration & 1][character], &controls[c]);
    }
}

#endif
