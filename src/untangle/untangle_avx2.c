/* untangle_avx2.c - the kernels for x86 processors with AVX2; empty elsewhere. */
#if defined(__AVX2__) && !defined(SUPPLE_SCALAR)
#define SUP_KERNEL(name) name##_avx2
#include "untangle/untangle_kernel.h"
#else
typedef int untangle_avx2_is_empty;
#endif
