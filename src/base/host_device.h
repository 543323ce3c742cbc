/* host_device.h (internal) - qualifier of small functions that are compiled for the CPU and for CUDA devices: rules
 * that both sides share are written once. */
#ifndef SUP_BASE_HOST_DEVICE_H
#define SUP_BASE_HOST_DEVICE_H

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define SUP_HOST_DEVICE static __host__ __device__ __forceinline__
#else
#define SUP_HOST_DEVICE static inline
#endif

#endif
