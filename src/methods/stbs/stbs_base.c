/* stbs_base.c - kernels for the baseline of the target: SSE2, NEON, WASM SIMD or scalar. */
#define SUP_KERNEL(name) name##_base
#include "methods/stbs/stbs_kernel.h"
