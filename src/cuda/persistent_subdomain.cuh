/* persistent_subdomain.cuh (internal) - what a block of step_persistent.cu does with its part: both halves of a solve, the accelerated step, the
 * local step. The formulas are those of step_subdomain.cuh. A thread has a place of the part, with everything that only the part
 * needs to know about it in fast memory; what others need is told in words. */
#ifndef SUP_CUDA_PERSISTENT_SUBDOMAIN_CUH
#define SUP_CUDA_PERSISTENT_SUBDOMAIN_CUH

#include "cuda/persistent_view.cuh"

/* --- Sums --- */

enum { PART_SUMS = 9 }; /* SUM_ENERGY to the last of SUM_OLDER: three words */

/* Sums over the warps of a block: the first stride; a barrier must follow. */
static __device__ void add_up(float *shared, float (&values)[SUP_GPU_SUMS_ALL])
{
    const float sum = warp_sums<SUP_GPU_SUMS_ALL>(values);
    if (threadIdx.x % 2 == 0) shared[threadIdx.x % 32 / 2 * 32 + threadIdx.x / 32] = sum;
}

static __device__ float sum_of_warps(const float *shared, int value)
{
    const float4 *from = (const float4 *)(shared + value * 32);
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < T / 128; w++)
        total += (from[w].x + from[w].y) + (from[w].z + from[w].w);
    return total;
}

/* Second stride: the last warp tells them. */
static __device__ void tell_sums(const sup_gpu_messages &words, const float *shared, unsigned round)
{
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x - (T - 32), k = 3 * min(lane, PART_SUMS / 3 - 1);
    if (lane < 0) return;
    const float sum = sum_of_warps(shared, min(lane, PART_SUMS - 1));
    const float a = __shfl_sync(all, sum, k), b = __shfl_sync(all, sum, k + 1), c = __shfl_sync(all, sum, k + 2);
    if (lane < PART_SUMS / 3) tell(words.sum[round & 1] + 3 * blockIdx.x + lane, a, b, c, round);
}

/* --- A solve --- */

/* First half: `in` holds r of the part, `left` the gradient at its slots. y stays; gradient + A_tp y_p of the slots is told, and
 * the sums, r . y among them. */
static __device__ void forward(const sup_gpu_messages &words, const part_view &v, float (&values)[SUP_GPU_SUMS_ALL],
                               unsigned round)
{
    const int n = v.b.part.count, slice = v.slice, row = v.row;
    const bool here = slice < v.slices && row < v.places;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (here) {
#pragma unroll 4
        for (int j = slice; j < n; j += v.slices)
            sum = add_scaled(sum, v.solve[j * v.stride + row], v.in[j]);
        if (row < n) values[SUM_NEWEST] += dot(sum, v.in[row]);
        if (slice > 0) put(v.half + 3 * ((slice - 1) * v.wide + row), sum);
    }
    add_up(v.b.sums, values);
    __syncthreads();
    tell_sums(words, v.b.sums, round);
    if (slice > 0 || !here) return;
#pragma unroll 1
    for (int h = 0; h < v.slices - 1; h++)
        sum = add_scaled(sum, 1.0f, get(v.half + 3 * (h * v.wide + row)));
    if (row < n) {
        v.y[row] = sum;
        return;
    }
    sum = add_scaled(v.left[row - n], 1.0f, sum);
    tell(words.slot[round & 1] + v.b.at<int32_t>(SUP_PACK_SLOT)[row - n], sum.x, sum.y, sum.z, round);
}

/* Second half, first stride: the newest direction at the part's places of the top into `slots`, from the tiles that their rows
 * go through. By the first SOLVERS threads; a barrier must follow. */
static __device__ void hear_slots(const sup_gpu_system &s, const sup_gpu_messages &words, const part_view &v, int across,
                                  unsigned round)
{
    enum { AT_ONCE = 6 };
#pragma unroll 1
    for (int i = threadIdx.x; i < v.b.part.slot_count; i += SOLVERS) {
        bool own;
        const int place = v.b.place(0, v.b.part.count + i, own);
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
        for (int first = 0; first < across; first += AT_ONCE) {
            int index[AT_ONCE];
            uint4 word[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                index[k] = first + k < across ? (first + k) * s.top_count + place : -1;
            hear<AT_ONCE>(words.top[round & 1], index, round, word);
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                sum = add_scaled(sum, 1.0f, vector_of(word[k]));
        }
        v.slots[i] = sum;
    }
}

/* Second stride: what they take from the part's own unknowns, four threads each. y becomes the direction. */
static __device__ void backward(const part_view &v)
{
    enum { LANES = 4 };
    const int row = threadIdx.x / LANES, lane = threadIdx.x % LANES, n = v.b.part.count, slots = v.b.part.slot_count;
    if (threadIdx.x >= LIMIT * LANES) return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *m = v.solve + min(row, n - 1) * v.stride + n;
#pragma unroll 4
    for (int i = lane; i < slots; i += LANES)
        sum = add_scaled(sum, m[i], v.slots[i]);
    for (int d = LANES / 2; d > 0; d >>= 1) {
        sum.x += __shfl_xor_sync(0xffffffffu, sum.x, d);
        sum.y += __shfl_xor_sync(0xffffffffu, sum.y, d);
        sum.z += __shfl_xor_sync(0xffffffffu, sum.z, d);
    }
    if (lane == 0 && row < n) v.y[row] = minus(v.y[row], sum);
}

/* The newest direction at the thread's place, after a barrier. */
static __device__ float4 newest_at(const part_view &v)
{
    const int i = threadIdx.x, n = v.b.part.count;
    return i < n ? v.y[i] : i < v.places ? v.slots[i - n] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

/* --- The accelerated step --- */

enum { PULLS = 6 };

/* What the prediction needs of the model at the thread's place: asked for before the kernel before has ended. */
struct pull_view {
    int q, begin, end, anchor[PULLS];
    float weight, value[PULLS];
    bool own;
};

static __device__ pull_view fetch_pull(const sup_gpu_system &s, const part_view &v)
{
    pull_view p = {};
    if ((int)threadIdx.x >= v.places) return p;
    p.q = v.b.place(s.interior_count, threadIdx.x, p.own);
    p.begin = s.pull_first[p.q];
    p.end = s.pull_first[p.q + 1];
    p.weight = s.diagonal[p.q];
#pragma unroll
    for (int k = 0; k < PULLS; k++) {
        const bool here = p.begin + k < p.end;
        p.anchor[k] = here ? s.pull_anchor[p.begin + k] : 0;
        p.value[k] = here ? s.pull_value[p.begin + k] : 0.0f;
    }
    return p;
}

/* Eq. 2.9 at the thread's place, and the pull of the anchors. Where the place is, how it moved and what the last guess missed
 * stay in `x`, `base` and the first direction for the start. */
static __device__ void predict(const sup_gpu_system &s, const sup_gpu_state &st, const part_view &v, const pull_view &p,
                               float (&values)[SUP_GPU_SUMS_ALL])
{
    const int i = threadIdx.x, n = v.b.part.count;
    const predict_view view = view_predict(s, st, 0);
    float sums[8] = {0.0f};
    if (i < v.places) {
        float4 pull = make_float4(0.0f, 0.0f, 0.0f, 0.0f), inertial = pull;
        const float4 x = st.x[view.now][p.q], guess = st.guess[p.q], before = st.x[1 - view.now][p.q];
        if (p.own) {
            float4 bend[PULLS];
#pragma unroll
            for (int k = 0; k < PULLS; k++)
                bend[k] = view.bend[p.anchor[k]]; /* any, times 0, where there are fewer */
            inertial = predict_place(st, view, p.q, p.weight, sums);
            if (p.begin + PULLS < p.end) pull = pull_of_anchors(s, view, p.begin + PULLS, p.end);
#pragma unroll
            for (int k = 0; k < PULLS; k++)
                pull = add_scaled(pull, p.value[k], bend[k]);
        }
        put(v.b.x + 3 * i, x);
        put(v.base + 3 * i, minus(x, before));
        put(v.older(0, i), minus(x, guess));
        put(v.inertial + 3 * i, inertial);
        if (i < n)
            v.in[i] = make_float4(-pull.x, -pull.y, -pull.z, 0.0f);
        else
            v.left[i - n] = pull;
    }
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_ALL; k++)
        values[k] = k >= SUM_PRODUCT && k <= SUM_SIZE ? sums[k - SUM_PRODUCT] : 0.0f;
}

/* What the next iterate is made of at the thread's place, fetched while it is decided how. */
struct move_view {
    float4 x, base, older[SUP_GPU_HISTORY - 1];
};

static __device__ void fetch_move(const part_view &v, move_view &m)
{
    const int i = threadIdx.x;
    if (i >= v.places) return;
    m.x = get(v.b.x + 3 * i);
    m.base = get(v.base + 3 * i);
#pragma unroll
    for (int j = 0; j < SUP_GPU_HISTORY - 1; j++)
        m.older[j] = get(v.older(j, i));
}

/* The next iterate at the thread's place, `d` the newest direction there. */
static __device__ void move_place(const sup_gpu_system &s, const sup_gpu_state &st, const part_view &v, const plan &p,
                                  const move_view &m, int turn, float4 d, bool touching, unsigned round)
{
    const int i = threadIdx.x;
    if (i >= v.places) return;
    bool own;
    const int q = v.b.place(s.interior_count, i, own);
    float4 next;
    if (turn == 0) { /* where a linear system would go, and part of the last miss */
        const float4 guess = add_scaled(add_scaled(m.x, 1.0f - p.forget, m.base), 1.0f, d);
        if (own) st.guess[q] = guess;
        next = add_scaled(guess, p.repeat, m.older[0]);
    } else {
        next = p.accepted ? m.x : m.base;
        put(v.base + 3 * i, next);
#pragma unroll
        for (int j = 0; j < SUP_GPU_HISTORY - 1; j++)
            if (j < p.history) next = add_scaled(next, p.factor[j], m.older[j]);
        if (p.accepted) {
            next = add_scaled(next, p.factor[p.history], d);
            put(v.older(p.history, i), d);
        }
    }
    put(v.b.x + 3 * i, next);
    if (!own) return;
    if (p.finish)
        st.x[1 - (st.progress[0].phase & 1)][q] = next;
    else if (touching)
        tell(st.words.place + q, next.x, next.y, next.z, round);
}

/* --- Volume --- */

enum { TELL_LANES = 8, SEAT_LANES = 4, SEATS_AT_ONCE = (T - SOLVERS) / SEAT_LANES };

/* LANES threads, from `from` on, that have a seat together. */
template <int LANES> struct seat_view {
    int seat, lane;
    bool here;
    __device__ seat_view(int from, int first, int count)
    {
        const int thread = (int)threadIdx.x - from;
        seat = first + thread / LANES;
        lane = thread % LANES;
        here = seat < count;
    }
    __device__ double sum(double part) const
    {
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1)
            part += __shfl_xor_sync(0xffffffffu, part, d);
        return part;
    }
};

/* Six times the volumes of the part's columns. */
static __device__ void find_columns(const part_view &v)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < v.b.part.prism_count; i += T) {
        const column under = column_of<1>(v.b, v.b.x, v.b.feet, i);
        v.columns[i] = column_volume6(&under);
    }
}

/* What they add to its chambers. */
static __device__ void tell_volumes(const sup_gpu_messages &words, const part_view &v, unsigned round)
{
    const block_view<1> &b = v.b;
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_SEAT_BEGIN), *prism = b.at<uint16_t>(SUP_PACK_SEAT_PRISM);
    const float *weights = b.at<float>(SUP_PACK_SEAT_WEIGHT);
#pragma unroll 1
    for (int first = 0; first < b.part.seat_count; first += T / TELL_LANES) {
        const seat_view<TELL_LANES> at(0, first, b.part.seat_count);
        if (at.seat - (int)threadIdx.x % 32 / TELL_LANES >= b.part.seat_count) continue; /* nobody of the warp */
        double sum = 0.0;
#pragma unroll 2
        for (int e = at.here ? begin[at.seat] + at.lane : 0; at.here && e < begin[at.seat + 1]; e += TELL_LANES)
            sum += (double)(weights[e] * v.columns[prism[e]]);
        __syncwarp();
        sum = at.sum(sum);
        const unsigned long long bits = (unsigned long long)__double_as_longlong(sum);
        if (at.here && at.lane == 0)
            tell(words.volume + b.part.seat_first + at.seat, (unsigned)bits, (unsigned)(bits >> 32), 0u, round);
    }
}

/* The volume of a chamber, from all seats of it; a lane's share. */
static __device__ double hear_volume(const sup_gpu_messages &words, const int32_t *seats, int first, int end, unsigned round)
{
    enum { AT_ONCE = 6 };
    double sum = 0.0;
#pragma unroll 1
    for (; first < end; first += AT_ONCE * SEAT_LANES) {
        int index[AT_ONCE];
        uint4 word[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = first + k * SEAT_LANES < end ? seats[first + k * SEAT_LANES] : -1;
        hear<AT_ONCE>(words.volume, index, round, word);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum += double_of(word[k]);
    }
    return sum;
}

/* Pressures of the part's chambers (solver_volume.c), and the energies of those it answers for, by the last warps. */
static __device__ void find_pressures(const sup_gpu_system &s, const sup_gpu_messages &words, const part_view &v, unsigned round)
{
    const block_view<1> &b = v.b;
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_CHAMBER_BEGIN);
    const int32_t *seats = b.at<int32_t>(SUP_PACK_CHAMBER_SEAT);
#pragma unroll 1
    for (int first = 0; first < b.part.seat_count; first += SEATS_AT_ONCE) {
        const seat_view<SEAT_LANES> at(SOLVERS, first, b.part.seat_count);
        double sum = at.here ? hear_volume(words, seats, begin[at.seat] + at.lane, begin[at.seat + 1], round) : 0.0;
        __syncwarp();
        sum = at.sum(sum);
        if (!at.here || at.lane > 0) continue;
        const float marked = b.at<float>(SUP_PACK_SEAT_REST)[at.seat]; /* negative: another part answers for it */
        const double rest = fabs((double)marked), excess = sum * invert(rest) - 1.0;
        const double u = invert(1.0 + 0.25 * excess * excess);
        b.pressure[at.seat] = (float)((double)s.volume * excess * u * u);
        b.pressure[s.most_seats + at.seat] =
            marked > 0.0f ? (float)(0.5 * (double)s.volume * rest * excess * excess * u) : 0.0f;
    }
}

/* Pressures on the columns, added to the forces of the first tetrahedron of a prism by the thread that found those. */
static __device__ void press_columns(const part_view &v)
{
    const block_view<1> &b = v.b;
    const pressed_view<1> under = {b, b.x, b.feet, b.pressure};
    const int stride = b.part.prism_stride;
#pragma unroll 1
    for (int i = threadIdx.x; i < b.part.prism_count && threadIdx.x < SOLVERS; i += SOLVERS) {
        sup_wide3 pressed[5] = {};
        press<1>(under, i, pressed);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            float *to = b.force + 3 * k * stride + i;
            to[0] += pressed[k].x, to[stride] += pressed[k].y, to[2 * stride] += pressed[k].z;
        }
    }
}

/* --- The local step --- */

enum { PLACE_LANES = 4 };

static __device__ float sum_of_place(float sum)
{
    for (int d = PLACE_LANES / 2; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* What forces give at a place, some threads together. */
static __device__ float4 add_forces(const block_view<1> &b, int i)
{
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_SUM_BEGIN), *from = b.at<uint16_t>(SUP_PACK_SUM_FROM);
    const int stride = b.part.prism_stride, end = begin[i + 1];
    float4 g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 2
    for (int e = begin[i] + (int)threadIdx.x % PLACE_LANES; e < end; e += PLACE_LANES) {
        const float *f = b.force + from[e];
        g.x += f[0], g.y += f[stride], g.z += f[2 * stride];
    }
    __syncwarp();
    return make_float4(sum_of_place(g.x), sum_of_place(g.y), sum_of_place(g.z), 0.0f);
}

/* Forces of the part's tetrahedra and chambers at x; the energy of both. While most threads find rotations, the last warps hear
 * the volumes of others. */
static __device__ float find_forces(const sup_gpu_system &s, const sup_gpu_state &st, const part_view &v, unsigned round)
{
    const block_view<1> &b = v.b;
    const pressed_view<1> unpressed = {b, b.x, b.feet, NULL};
    const bool volume = s.volume > 0.0f;
    float energy = 0.0f;
    if (volume) find_columns(v);
    __syncthreads();
    if (volume) tell_volumes(st.words, v, round);
    if (threadIdx.x < SOLVERS) {
        energy = prism_forces<1, SOLVERS>(b, b.x, st.orders[0].shared != 0, unpressed);
    } else if (volume) {
        find_pressures(s, st.words, v, round);
    }
    __syncthreads();
    if (volume) {
        press_columns(v);
        for (int i = threadIdx.x; i < b.part.seat_count; i += T)
            energy += b.pressure[s.most_seats + i];
    }
    __syncthreads();
    return energy;
}

#endif
