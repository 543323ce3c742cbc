/* shared.h (internal) - qualifier of functions that are compiled for the CPU and, in .cu files, for the GPU as well. */
#ifndef SUP_BASE_SHARED_H
#define SUP_BASE_SHARED_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define SUP_SHARED static inline __host__ __device__
#else
#define SUP_SHARED static inline
#endif

#endif
