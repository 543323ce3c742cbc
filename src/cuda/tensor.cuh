/* tensor.cuh (internal) - products of small matrices on the tensor cores, to nearly all digits of a float.
 *
 * The cores take eleven digits of a factor. A float is split into two such numbers, and of the four products of the subdomains the three
 * large ones are added up: what is lost is below 2^-19 of a term, of a solve that is corrected in the next iteration. */
#ifndef SUP_CUDA_TENSOR_CUH
#define SUP_CUDA_TENSOR_CUH

#include "cuda/machine.cuh"

/* What the cores take of a float, which leave out its last thirteen bits, and the rest. */
static __device__ __forceinline__ unsigned high_bits(float v)
{
    return __float_as_uint(v) & 0xffffe000u;
}

static __device__ __forceinline__ unsigned low_bits(float v)
{
    return __float_as_uint(v - __uint_as_float(high_bits(v)));
}

/* sum += a b as multiply_tile, for floats and N columns of b, 8 by 8. The small products first. */
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
