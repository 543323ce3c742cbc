/* alone_part.cuh (internal) - what a block of alone.cu does with its part: both halves of a solve, the accelerated step, the
 * local step. The formulas are those of step_part.cuh. A thread has a place of the part, with everything that only the part
 * needs to know about it in fast memory; what others need is told in words. */
#ifndef SUP_CUDA_ALONE_PART_CUH
#define SUP_CUDA_ALONE_PART_CUH

#include "cuda/alone_view.cuh"

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
static __device__ void tell_sums(const sup_gpu_words &words, const float *shared, unsigned round)
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
static __device__ void forward(const sup_gpu_words &words, const part_view &v, float (&values)[SUP_GPU_SUMS_ALL],
                               unsigned round)
{
    const int n = v.b.part.count, rows = v.places, wide = (rows + 31) / 32 * 32, slices = T / wide;
    const int slice = threadIdx.x / wide, row = threadIdx.x - slice * wide;
    const bool here = slice < slices && row < rows;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (here) {
#pragma unroll 4
        for (int j = slice; j < n; j += slices)
            sum = add_scaled(sum, v.solve[j * v.stride + row], v.in[j]);
        if (row < n) values[SUM_NEWEST] += dot(sum, v.in[row]);
        if (slice > 0) put(v.half + 3 * ((slice - 1) * wide + row), sum);
    }
    add_up(v.b.sums, values);
    __syncthreads();
    tell_sums(words, v.b.sums, round);
    if (slice > 0 || !here) return;
    for (int h = 0; h < slices - 1; h++)
        sum = add_scaled(sum, 1.0f, get(v.half + 3 * (h * wide + row)));
    if (row < n) {
        v.y[row] = sum;
        return;
    }
    sum = add_scaled(v.left[row - n], 1.0f, sum);
    tell(words.slot[round & 1] + v.b.at<int32_t>(SUP_PACK_SLOT)[row - n], sum.x, sum.y, sum.z, round);
}

/* Second half, first stride: the newest direction at the part's places of the top into `slots`, from the tiles that their rows
 * go through. By the first SOLVERS threads; a barrier must follow. */
static __device__ void hear_slots(const sup_gpu_system &s, const sup_gpu_words &words, const part_view &v, int across,
                                  unsigned round)
{
    enum { AT_ONCE = 6 };
    for (int i = threadIdx.x; i < v.b.part.slot_count; i += SOLVERS) {
        bool own;
        const int place = v.b.place(0, v.b.part.count + i, own);
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
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

/* Eq. 2.9 at the thread's place, and the pull of the anchors. Where the place is, how it moved and what the last guess missed
 * stay in `x`, `base` and the first direction for the start. */
static __device__ void predict(const sup_gpu_system &s, const sup_gpu_state &st, const part_view &v,
                               float (&values)[SUP_GPU_SUMS_ALL])
{
    const int i = threadIdx.x, n = v.b.part.count;
    const predict_view view = view_predict(s, st, 0);
    float sums[8] = {0.0f};
    if (i < v.places) {
        bool own;
        const int q = v.b.place(s.interior_count, i, own);
        float4 pull = make_float4(0.0f, 0.0f, 0.0f, 0.0f), inertial = pull;
        const float4 x = st.x[view.now][q], guess = st.guess[q], before = st.x[1 - view.now][q];
        if (own) pull = predict_place(s, st, view, q, inertial, sums);
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

/* The start: where a linear system would go, and part of the last miss. */
static __device__ float4 first_place(const sup_gpu_state &st, const part_view &v, const plan &p, int q, float4 d, bool own)
{
    const int i = threadIdx.x;
    const float4 x = get(v.b.x + 3 * i), moved = get(v.base + 3 * i), miss = get(v.older(0, i));
    const float4 guess = add_scaled(add_scaled(x, 1.0f - p.forget, moved), 1.0f, d);
    if (own) st.guess[q] = guess;
    return add_scaled(guess, p.repeat, miss);
}

/* The next iterate at the thread's place, `d` the newest direction there. */
static __device__ void move_place(const sup_gpu_system &s, const sup_gpu_state &st, const part_view &v, const plan &p, int turn,
                                  float4 d, bool touching, unsigned round)
{
    const int i = threadIdx.x;
    if (i >= v.places) return;
    bool own;
    const int q = v.b.place(s.interior_count, i, own);
    float4 next;
    if (turn == 0) {
        next = first_place(st, v, p, q, d, own);
    } else {
        next = get((p.accepted ? v.b.x : v.base) + 3 * i);
        put(v.base + 3 * i, next);
#pragma unroll
        for (int j = 0; j < SUP_GPU_HISTORY; j++)
            if (j < p.history) next = add_scaled(next, p.factor[j], get(v.older(j, i)));
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

enum { SEAT_LANES = 8 };

/* Groups of threads that have a seat each, from the last thread on: they have fewer tetrahedra to look at. */
struct seat_view {
    int seat, lane;
    bool here;
    __device__ seat_view(int first, int count)
    {
        const int from_end = T - 1 - (int)threadIdx.x;
        seat = first + from_end / SEAT_LANES;
        lane = from_end % SEAT_LANES;
        here = seat < count;
    }
    __device__ bool warp_is_here(int count) const
    {
        return seat - (T - 1 - (int)threadIdx.x) % 32 / SEAT_LANES < count;
    }
};

static __device__ double sum_of_seat(double sum)
{
    for (int d = SEAT_LANES / 2; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* What the part's columns add to its chambers. */
static __device__ void tell_volumes(const sup_gpu_words &words, const part_view &v, unsigned round)
{
    const block_view<1> &b = v.b;
    for (int i = threadIdx.x; i < b.part.prism_count; i += T) {
        const column under = column_of<1>(b, b.x, b.feet, i);
        v.columns[i] = column_volume6(&under);
    }
    __syncthreads();
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_SEAT_BEGIN), *prism = b.at<uint16_t>(SUP_PACK_SEAT_PRISM);
    const float *weights = b.at<float>(SUP_PACK_SEAT_WEIGHT);
    for (int first = 0; first < b.part.seat_count; first += T / SEAT_LANES) {
        const seat_view at(first, b.part.seat_count);
        if (!at.warp_is_here(b.part.seat_count)) continue;
        double sum = 0.0;
        for (int e = at.here ? begin[at.seat] + at.lane : 0; at.here && e < begin[at.seat + 1]; e += SEAT_LANES)
            sum += (double)(weights[e] * v.columns[prism[e]]);
        sum = sum_of_seat(sum);
        const unsigned long long bits = (unsigned long long)__double_as_longlong(sum);
        if (at.here && at.lane == 0)
            tell(words.volume + b.part.seat_first + at.seat, (unsigned)bits, (unsigned)(bits >> 32), 0u, round);
    }
}

/* The volume of a chamber, from all seats of it; a lane's share. */
static __device__ double hear_volume(const sup_gpu_words &words, const int32_t *seats, int first, int end, unsigned round)
{
    enum { AT_ONCE = 4 };
    double sum = 0.0;
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

/* Pressures of the part's chambers (solver_volume.c), and the energies of those it answers for. */
static __device__ void find_pressures(const sup_gpu_system &s, const sup_gpu_words &words, const part_view &v, unsigned round)
{
    const block_view<1> &b = v.b;
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_CHAMBER_BEGIN);
    const int32_t *seats = b.at<int32_t>(SUP_PACK_CHAMBER_SEAT);
    for (int first = 0; first < b.part.seat_count; first += T / SEAT_LANES) {
        const seat_view at(first, b.part.seat_count);
        if (!at.warp_is_here(b.part.seat_count)) continue;
        double sum = at.here ? hear_volume(words, seats, begin[at.seat] + at.lane, begin[at.seat + 1], round) : 0.0;
        __syncwarp();
        sum = sum_of_seat(sum);
        if (!at.here || at.lane > 0) continue;
        const float marked = b.at<float>(SUP_PACK_SEAT_REST)[at.seat]; /* negative: another part answers for it */
        const double rest = fabs((double)marked), excess = sum / rest - 1.0, u = 1.0 / (1.0 + 0.25 * excess * excess);
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
    for (int i = threadIdx.x; i < b.part.prism_count; i += T) {
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

/* What forces give at a place, two threads together. */
static __device__ float4 add_forces(const block_view<1> &b, int i)
{
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_SUM_BEGIN), *from = b.at<uint16_t>(SUP_PACK_SUM_FROM);
    const int stride = b.part.prism_stride, end = begin[i + 1];
    float4 g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int e = begin[i] + (int)threadIdx.x % 2; e < end; e += 2) {
        const float *f = b.force + from[e];
        g.x += f[0], g.y += f[stride], g.z += f[2 * stride];
    }
    g.x += __shfl_xor_sync(0xffffffffu, g.x, 1);
    g.y += __shfl_xor_sync(0xffffffffu, g.y, 1);
    g.z += __shfl_xor_sync(0xffffffffu, g.z, 1);
    return g;
}

/* Forces of the part's tetrahedra and chambers at x; the energy of both. The volumes of others are on their way meanwhile. */
static __device__ float find_forces(const sup_gpu_system &s, const sup_gpu_state &st, const part_view &v, unsigned round)
{
    const block_view<1> &b = v.b;
    const pressed_view<1> unpressed = {b, b.x, b.feet, NULL};
    const bool volume = s.volume > 0.0f;
    if (volume) tell_volumes(st.words, v, round);
    float energy = prism_forces<1, T>(b, b.x, st.orders[0].shared != 0, unpressed);
    if (volume) {
        find_pressures(s, st.words, v, round);
        __syncthreads();
        press_columns(v);
        for (int i = threadIdx.x; i < b.part.seat_count; i += T)
            energy += b.pressure[s.most_seats + i];
    }
    __syncthreads();
    return energy;
}

#endif
