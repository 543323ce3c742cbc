/* solver_base.c - kernels of the solver for the instruction set of every processor of the target: SSE2, NEON, WASM
 * SIMD, or plain floats. */
#define SUP_KERNEL(name) name##_base
#include "solver/solver_kernel.h"
