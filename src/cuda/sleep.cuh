/* sleep.cuh (internal) - who stands still and may sleep: methods/projective/projective_step.c on the device. */
#ifndef SUP_CUDA_SLEEP_CUH
#define SUP_CUDA_SLEEP_CUH

#include "cuda/gpu.h"

#include <math.h>

/* As in projective_step.c. */
enum { STILL_TOUCH = 6, STILL_EASE = 15, STILL_BEGIN = 15, STILL_CALM = 40, STILL_LATE = 150, STILL_WINDOW = 30 };
enum { ASLEEP_FOR_GOOD = 1 << 20 };
#define CALM_TOUCHING 0.3f
#define CALM 0.03f
#define STILL 1e-6f
#define ASLEEP 2e-6f
#define TREMBLE 3e-3f

/* Whether number i of the joints is another one than at the last step. */
static __device__ bool has_moved(const sup_gpu_system &s, float now, float before, int i)
{
    return !(fabsf(now - before) <= STILL * (i % 4 == 3 ? s.body_size : 1.0f));
}

/* A character at the begin of a step. */
static __device__ sup_gpu_progress wake(const sup_gpu_system &s, const sup_gpu_command &in, sup_gpu_progress p, bool moves)
{
    bool stands = !moves && p.version == in.version;
    bool quiet = __uint_as_float(p.moved) <= ASLEEP * s.body_size ||
                 (p.still > STILL_LATE && p.still % STILL_WINDOW == 0 && __uint_as_float(p.window_motion) <= TREMBLE * s.body_size);
    bool tired = p.still >= STILL_CALM && (p.still == ASLEEP_FOR_GOOD || quiet);
    p.version = in.version;
    p.still = !stands ? 0 : tired ? ASLEEP_FOR_GOOD : p.still + 1;
    p.asleep = p.still == ASLEEP_FOR_GOOD;
    const bool touches = p.pushing > 0;
    const int begin = touches ? STILL_TOUCH : STILL_BEGIN, end = touches ? STILL_EASE : STILL_CALM;
    float part = (float)(p.still - begin) / (float)(end - begin);
    float calm = (touches ? CALM_TOUCHING : CALM) * fmaxf(0.0f, fminf(1.0f, part));
    p.damping = fmaxf(in.damping, calm);
    p.moved = p.window_motion = p.oscillates = 0;
    p.contacts = 0;
    return p;
}

#endif
