/* skin_limit_base.c - kernels for the baseline of the target: SSE2, NEON, WASM SIMD or scalar. */
#define SUP_KERNEL(name) name##_base
#include "methods/position/skin_limit_kernel.h"
