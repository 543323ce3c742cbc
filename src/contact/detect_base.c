/* detect_base.c - kernels for the baseline of the target: SSE2, NEON, WASM SIMD, or scalar code. */
#define SUP_KERNEL(name) name##_base
#include "contact/detect_kernel.h"
