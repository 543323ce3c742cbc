/* tensor.cuh (internal) - products of small matrices on the tensor cores, to almost full float precision.
 *
 * Tensor cores use eleven bits of a factor. A float is split into two such numbers, and of the four products the three
 * large ones are summed: the error is below 2^-19 of a term, in a solve that the next iteration corrects. */
#ifndef SUP_CUDA_TENSOR_CUH
#define SUP_CUDA_TENSOR_CUH

#include "cuda/machine.cuh"

/* The bits of a float that the cores use, without its last thirteen, and the remainder. */
static __device__ __forceinline__ unsigned high_bits(float v)
{
    return __float_as_uint(v) & 0xffffe000u;
}

static __device__ __forceinline__ unsigned low_bits(float v)
{
    return __float_as_uint(v - __uint_as_float(high_bits(v)));
}

/* sum += a b as multiply_tile, for floats and N tiles of 8 columns of b. The small products come first. */
template <int N>
static __device__ __forceinline__ void multiply_tiles(float (&sum)[N][4], const float (&a)[4], const float (&b)[N][2])
{
    const unsigned high[4] = {high_bits(a[0]), high_bits(a[1]), high_bits(a[2]), high_bits(a[3])};
    const unsigned low[4] = {low_bits(a[0]), low_bits(a[1]), low_bits(a[2]), low_bits(a[3])};
#pragma unroll
    for (int k = 0; k < N; k++) {
        const unsigned b0 = high_bits(b[k][0]), b1 = high_bits(b[k][1]);
        multiply_tile(sum[k], low, b0, b1);
        multiply_tile(sum[k], high, low_bits(b[k][0]), low_bits(b[k][1]));
        multiply_tile(sum[k], high, b0, b1);
    }
}

#endif
