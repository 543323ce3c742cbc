/* persistent_messages.cuh (internal) - messages between persistent thread blocks, without barriers.
 *
 * A message is 16 bytes that are written and read atomically: three values and the epoch that they belong to. A
 * reader polls it until it has the expected epoch. That takes one memory round trip, where a barrier of all blocks
 * takes three: wait for the write, count, read. Epochs continue from step to step.
 *
 * A message may be overwritten when all have read it. A block that publishes in an epoch has polled sums of all
 * other blocks from the previous epoch, which these published after reading everything of the epoch before that.
 * Messages that are published in every epoch are therefore double-buffered; others need one buffer. */
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

/* Current value. The compiler loads only the values that are used, and two of them separately: use at least three of
 * the four, or they may be of two epochs. */
static __device__ uint4 load_message(const sup_gpu_message *from)
{
    unsigned long long low, high;
    load_message_words(from, low, high);
    return make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32));
}

/* Polls N messages of an epoch, all loads in flight at once; zeros where the index is negative. */
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
