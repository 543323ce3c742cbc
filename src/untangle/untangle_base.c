/* untangle_base.c - the kernels for what every processor of the target has: SSE2, NEON, WASM SIMD, or plain floats. */
#define SUP_KERNEL(name) name##_base
#include "untangle/untangle_kernel.h"
