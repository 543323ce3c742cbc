/* ddm_avx512.c - kernels for x86 processors with AVX512; empty elsewhere. */
#if defined(__AVX512F__) && !defined(SUPPLE_SCALAR)
#define SUP_KERNEL(name) name##_avx512
#include "methods/ddm/ddm_kernel.h"
#else
typedef int nothing_here;
#endif
