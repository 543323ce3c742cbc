/* solver_base.c - the loops for what every processor of the target has: SSE2, NEON, WASM SIMD, or plain floats. */
#define SUP_KERNEL(name) name##_base
#include "solver/solver_kernel.h"
