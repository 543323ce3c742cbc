/* skin_limit_avx2.c - kernels for x86 processors with AVX2; empty elsewhere. */
#if defined(__AVX2__) && !defined(SUPPLE_SCALAR)
#define SUP_KERNEL(name) name##_avx2
#include "methods/position/skin_limit_kernel.h"
#else
typedef int nothing_here;
#endif
