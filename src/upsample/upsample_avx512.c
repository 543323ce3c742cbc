/* upsample_avx512.c - kernels for x86 processors with AVX-512; empty elsewhere. */
#if defined(__AVX512F__) && !defined(SUPPLE_SCALAR)
#define SUP_KERNEL(name) name##_avx512
#include "upsample/upsample_kernel.h"
#else
typedef int nothing_here;
#endif
