/* persistent_messages.cuh (internal) - what blocks of threads that stay tell each other, without meeting.
 *
 * A word is 16 bytes that are written and read in one go: three numbers, and the round that they belong to. Who needs it reads
 * it again until the round is the one that it waits for. That takes one way through the memory, where a barrier of all
 * blocks takes three: wait until what was written is there, count, read. Rounds count on from step to step.
 *
 * A word may be written anew when all have read it. Who tells something in a round has heard sums of all others from the round
 * before, and those were told after everything of the round before that had been read: words that are told in every round
 * have two places, others one. */
#ifndef SUP_CUDA_PERSISTENT_MESSAGES_CUH
#define SUP_CUDA_PERSISTENT_MESSAGES_CUH

#include "cuda/gpu.h"
#include "cuda/machine.cuh"

static __device__ void tell(sup_gpu_message *to, unsigned a, unsigned b, unsigned c, unsigned round)
{
    const unsigned long long low = (unsigned long long)b << 32 | a, high = (unsigned long long)round << 32 | c;
    store_word(to, low, high);
}

static __device__ void tell(sup_gpu_message *to, float x, float y, float z, unsigned round)
{
    tell(to, __float_as_uint(x), __float_as_uint(y), __float_as_uint(z), round);
}

/* As it is now. The assembler reads only those numbers that are used, and one by one if they are two: use at least three of the
 * four, or what comes may be of two rounds. */
static __device__ uint4 look_at(const sup_gpu_message *from)
{
    unsigned long long low, high;
    load_word(from, low, high);
    return make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32));
}

/* Words of a round, all on the way at once; zeros where the index is negative. */
template <int N>
static __device__ void hear(const sup_gpu_message *from, const int (&index)[N], unsigned round, uint4 (&heard)[N])
{
    bool all;
#pragma unroll
    for (int k = 0; k < N; k++)
        heard[k] = make_uint4(0u, 0u, 0u, index[k] < 0 ? round : round - 1u);
    do {
        all = true;
#pragma unroll
        for (int k = 0; k < N; k++)
            if (heard[k].w != round) heard[k] = look_at(from + index[k]);
#pragma unroll
        for (int k = 0; k < N; k++)
            all = all && heard[k].w == round;
    } while (!all);
}

static __device__ float4 vector_of(uint4 word)
{
    return make_float4(__uint_as_float(word.x), __uint_as_float(word.y), __uint_as_float(word.z), 0.0f);
}

static __device__ double double_of(uint4 word)
{
    return __longlong_as_double((long long)((unsigned long long)word.y << 32 | word.x));
}

#endif
