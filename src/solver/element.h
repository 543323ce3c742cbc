/* element.h (internal) - SUP_ELEMENT: qualifiers of small functions that are compiled for CPU and GPU from one source.
 *
 * nvcc and the kernel emulator (tests/cuda/emulator) define __CUDACC__; include <cuda_runtime.h> before this header
 * there. */
#ifndef SUP_SOLVER_ELEMENT_H
#define SUP_SOLVER_ELEMENT_H

#if defined(__CUDACC__)
#define SUP_ELEMENT static __device__ __forceinline__
#elif defined(__GNUC__)
#define SUP_ELEMENT static inline __attribute__((always_inline))
#else
#define SUP_ELEMENT static inline
#endif

#endif
