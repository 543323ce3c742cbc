/* decide.cuh (internal) - the accelerated step: what solver.c does with the sums of a local step, by one thread of every
 * part of a character. All parts find the same; the first one keeps it. */
#ifndef SUP_CUDA_DECIDE_CUH
#define SUP_CUDA_DECIDE_CUH

#include "cuda/gpu.h"

enum { SUM_ENERGY = 0, SUM_NEWEST = 1, SUM_OLDER = 2 }; /* of a local step */
enum { SUM_PRODUCT = 2, SUM_OLD = 3, SUM_NEW = 4 };     /* of the start */
#define ROUNDING 1e-6                                   /* what float rounding may do to the objective without being a rise */

struct plan { /* what a character does in this kernel */
    int active, accepted, finish;
    int history; /* the newest direction's place */
    int base, target;
    float factor[SUP_GPU_HISTORY];
    float repeat;
};

/* A sum over the parts (and, the newest direction's, blocks of the top) by a warp. */
static __device__ double sum_rows(const sup_gpu_state &st, int character, int value, int rows)
{
    const float *from = st.sums + ((size_t)character * SUP_GPU_SUMS + value) * st.sum_rows;
    double sum = 0.0;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < rows; i += 32)
        sum += (double)from[i];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* As solve_small of solver.c. */
static __device__ void solve_small(int size, double b[SUP_GPU_HISTORY][SUP_GPU_HISTORY], double *c)
{
    double inverse[SUP_GPU_HISTORY];
    for (int i = 0; i < size; i++) {
        bool lost = !(b[i][i] > 0.0) || (i > 0 && !(b[i][i] > 1e-7 * b[0][0]));
        inverse[i] = lost ? 0.0 : 1.0 / b[i][i];
        for (int j = i + 1; j < size; j++) {
            double part = b[j][i] * inverse[i];
            for (int k = i + 1; k < size; k++)
                b[j][k] -= part * b[i][k];
            c[j] -= part * c[i];
        }
    }
    for (int i = size - 1; i >= 0; i--) {
        for (int j = i + 1; j < size; j++)
            c[i] -= b[i][j] * c[j];
        c[i] *= inverse[i];
    }
}

static __device__ void set_multiple(sup_gpu_control &c, int k, double multiple, float *factor)
{
    for (int i = 0; i <= k; i++) {
        c.coefficient[k + 1][i] = i < k ? c.coefficient[k][i] : multiple;
        factor[i] = i < k ? 0.0f : (float)multiple;
    }
}

/* Weights of the images that make the combined direction shortest, and the step to it (solver.c: anderson_weights,
 * set_step, step_slope, choose_step). */
static __device__ void choose_step(sup_gpu_control &c, float *factor)
{
    double b[SUP_GPU_HISTORY][SUP_GPU_HISTORY], t[SUP_GPU_HISTORY], weight[SUP_GPU_HISTORY];
    int k = c.history;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++)
            b[k - 1 - i][k - 1 - j] = c.inner[i][j] - c.inner[i][k] - c.inner[j][k] + c.inner[k][k];
        t[k - 1 - i] = c.inner[k][k] - c.inner[i][k];
    }
    solve_small(k, b, t);
    weight[k] = 1.0;
    for (int i = 0; i < k; i++) {
        weight[i] = t[k - 1 - i];
        weight[k] -= weight[i];
    }
    double slope = 0.0, square = 0.0, plain = c.inner[k][k];
    for (int i = 0; i <= k; i++) {
        double next = weight[i];
        for (int j = i + 1; j <= k; j++)
            next += weight[j] * c.coefficient[j][i];
        c.coefficient[k + 1][i] = next;
        factor[i] = (float)(next - (i < k ? c.coefficient[k][i] : 0.0));
    }
    for (int i = 0; i <= k; i++) {
        slope -= (double)factor[i] * c.inner[i][k];
        for (int j = 0; j <= k; j++)
            square += (double)factor[i] * (double)factor[j] * c.inner[i][j];
    }
    if (slope > -0.5 * plain || square > 36.0 * plain) set_multiple(c, k, 1.9, factor);
}

/* What the last local step found (sums, [SUP_GPU_SUMS]) decides what comes next. Every part of the character finds the
 * same; the first one keeps it. */
static __device__ void decide(const sup_gpu_system &s, const sup_gpu_state &st, int character, bool last_turn,
                              const double *sums, sup_gpu_control &c, plan &p)
{
    const sup_gpu_orders &in = st.orders[character];
    double energy = sums[SUM_ENERGY], newest = sums[SUM_NEWEST];
    const double *older = sums + SUM_OLDER;
    int k = c.history;
    bool rose = c.done > 0 && !(energy <= c.last + ROUNDING * fabs(c.last));
    p.active = 1;
    p.target = 3 - c.base - c.current;
    p.accepted = !(rose && c.accelerated);
    if (!p.accepted) { /* back to the last iterate, and from there the plain step */
        set_multiple(c, k - 1, 1.0, p.factor);
        p.history = k;
        p.base = c.base;
        c.accelerated = 0;
        c.rejected++;
        p.finish = last_turn;
        c.current = p.target;
    } else {
        for (int j = 0; j < k; j++)
            c.inner[j][k] = c.inner[k][j] = -older[j];
        c.inner[k][k] = newest;
        c.last = energy;
        c.done++;
        double gain = 0.5 * newest;
        bool stop = !in.plain && (gain <= (double)in.tolerance * energy || gain <= 1e-12 * (double)s.weight_sum);
        c.accelerated = !in.plain && k > 0 && k + 1 < SUP_GPU_HISTORY;
        if (c.accelerated)
            choose_step(c, p.factor);
        else
            set_multiple(c, k, 1.0, p.factor);
        p.history = k;
        p.base = c.current;
        c.base = c.current;
        c.current = p.target;
        c.history = k + 1 < SUP_GPU_HISTORY ? k + 1 : 0;
        p.finish = last_turn || stop || c.done >= in.most;
    }
    c.over = p.finish;
    if (blockIdx.x == 0 && p.finish) {
        st.progress[character].iterations = c.done;
        st.progress[character].rejected = c.rejected;
        st.progress[character].objective = (float)c.last;
    }
}

/* The first turn: nothing is known but how much of the last miss to repeat (solver.c: miss_to_repeat). */
static __device__ void begin(const sup_gpu_state &st, int character, const double *sums, plan &p)
{
    double product = sums[SUM_PRODUCT], larger = fmax(sums[SUM_OLD], sums[SUM_NEW]);
    p.active = 1;
    p.accepted = 1;
    p.finish = 0;
    p.history = 0;
    p.base = p.target = 0;
    p.repeat = product > 0.0 && larger > 0.0 ? (float)(product / larger) : 0.0f;
    if (blockIdx.x != 0) return;
    sup_gpu_control &c = st.control[0][character];
    c.last = 0.0;
    c.history = c.done = c.accelerated = c.rejected = c.over = 0;
    c.current = 0;
    c.base = 1;
}

static __device__ void copy_control(sup_gpu_control *to, const sup_gpu_control *from)
{
    for (int i = threadIdx.x % 32; i < (int)(sizeof(sup_gpu_control) / sizeof(int)); i += 32)
        ((int *)to)[i] = ((const int *)from)[i];
    __syncwarp();
}

static __device__ bool is_over(const sup_gpu_state &st, int turn, int character)
{
    return turn >= 0 && st.control[turn & 1][character].over;
}

/* Sums by the first D threads of a block, then one thread a character decides: `live` of them from `first` on, at most C.
 * `controls` and `sums` are shared memory. */
template <int C, int D>
static __device__ void decide_all(const sup_gpu_system &s, const sup_gpu_state &st, int first, int live, int turn,
                                  bool last_turn, int top_blocks, sup_gpu_control *controls, double *sums, plan *plans)
{
    int warp = threadIdx.x / 32, warps = D / 32;
    for (int c = warp; turn > 0 && c < live; c += warps)
        copy_control(&controls[c], &st.control[(turn - 1) & 1][first + c]);
    for (int i = warp; i < live * SUP_GPU_SUMS; i += warps) {
        int c = i / SUP_GPU_SUMS, value = i % SUP_GPU_SUMS;
        if (value >= SUM_OLDER + 3 && turn < value - SUM_OLDER) continue; /* not that many directions yet */
        double sum = sum_rows(st, first + c, value, s.part_count + (value == SUM_NEWEST ? top_blocks : 0));
        if (threadIdx.x % 32 == 0) sums[i] = sum;
    }
    asm volatile("bar.sync 2, %0;" ::"n"(D) : "memory");
    for (int c = warp; c < C; c += warps) {
        int character = first + c;
        bool here = c < live, over = here && turn > 0 && controls[c].over;
        if (threadIdx.x % 32 == 0) {
            plans[c].active = 0;
            if (here && turn == 0) begin(st, character, sums + c * SUP_GPU_SUMS, plans[c]);
            if (here && turn > 0 && !over)
                decide(s, st, character, last_turn, sums + c * SUP_GPU_SUMS, controls[c], plans[c]);
        }
        __syncwarp();
        if (here && turn > 0 && blockIdx.x == 0) copy_control(&st.control[turn & 1][character], &controls[c]);
    }
}

#endif
