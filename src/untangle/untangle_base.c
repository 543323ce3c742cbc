/* untangle_base.c - kernels for the baseline of the target: SSE2, NEON, WASM SIMD, or scalar code. */
#define SUP_KERNEL(name) name##_base
#include "untangle/untangle_kernel.h"
