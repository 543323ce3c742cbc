/* persistent_messages.cuh (internal) - what blocks of threads that stay publish each other, without meeting.
 *
 * A message is 16 bytes that are written and read in one go: three numbers, and the epoch that they belong to. Who needs it reads
 * it again until the epoch is the one that it waits for. That takes one way through the memory, where a barrier of all
 * blocks takes three: wait until what was written is there, count, read. Epochs count on from step to step.
 *
 * A message may be written anew when all have read it. Who tells something in a epoch has polled sums of all others from the epoch
 * before, and those were told after everything of the epoch before that had been read: messages that are told in every epoch
 * have two nodes, others one. */
#ifndef SUP_CUDA_PERSISTENT_MESSAGES_CUH
#define SUP_CUDA_PERSISTENT_MESSAGES_CUH

#include "cuda/gpu.h"
#include "cuda/machine.cuh"

static __device__ void publish(sup_gpu_message *to, unsigned a, unsigned b, unsigned c, unsigned epoch)
{
    const unsigned long long low = (unsigned long long)b << 32 | a, high = (unsigned long long)epoch << 32 | c;
    store_message(to, low, high);
}

static __device__ void publish(sup_gpu_message *to, float x, float y, float z, unsigned epoch)
{
    publish(to, __float_as_uint(x), __float_as_uint(y), __float_as_uint(z), epoch);
}

/* As it is now. The assembler reads only those numbers that are used, and one by one if they are two: use at least three of the
 * four, or what comes may be of two epochs. */
static __device__ uint4 load_message(const sup_gpu_message *from)
{
    unsigned long long low, high;
    load_message_words(from, low, high);
    return make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32));
}

/* Words of a epoch, all on the way at once; zeros where the index is negative. */
template <int N>
static __device__ void poll(const sup_gpu_message *from, const int (&index)[N], unsigned epoch, uint4 (&polled)[N])
{
    bool all;
#pragma unroll
    for (int k = 0; k < N; k++)
        polled[k] = make_uint4(0u, 0u, 0u, index[k] < 0 ? epoch : epoch - 1u);
    do {
        all = true;
#pragma unroll
        for (int k = 0; k < N; k++)
            if (polled[k].w != epoch) polled[k] = load_message(from + index[k]);
#pragma unroll
        for (int k = 0; k < N; k++)
            all = all && polled[k].w == epoch;
    } while (!all);
}

static __device__ float4 vector_of(uint4 message)
{
    return make_float4(__uint_as_float(message.x), __uint_as_float(message.y), __uint_as_float(message.z), 0.0f);
}

static __device__ double double_of(uint4 message)
{
    return __longlong_as_double((long long)((unsigned long long)message.y << 32 | message.x));
}

#endif
