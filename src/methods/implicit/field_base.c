/* field_base.c - the kernels for the baseline instruction set of the target: SSE2, NEON, WASM SIMD or scalar floats. */
#define SUP_KERNEL(name) name##_base
#include "methods/implicit/field_kernel.h"
