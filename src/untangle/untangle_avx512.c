/* untangle_avx512.c - the kernels for x86 processors with AVX-512; empty elsewhere. */
#if defined(__AVX512F__) && !defined(SUPPLE_SCALAR)
#define SUP_KERNEL(name) name##_avx512
#include "untangle/untangle_kernel.h"
#else
typedef int untangle_avx512_is_empty;
#endif
