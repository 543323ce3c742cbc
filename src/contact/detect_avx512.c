/* detect_avx512.c - the kernels for x86 processors with AVX-512; empty elsewhere. */
#if defined(__AVX512F__) && !defined(SUPPLE_SCALAR)
#define SUP_KERNEL(name) name##_avx512
#include "contact/detect_kernel.h"
#else
typedef int detect_avx512_is_empty;
#endif
