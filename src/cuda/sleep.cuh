/* sleep.cuh (internal) - rest counter and sleep of an instance on the device (solver/rest_damping_kernel.h). */
#ifndef SUP_CUDA_SLEEP_CUH
#define SUP_CUDA_SLEEP_CUH

#include "cuda/gpu.h"
#include "solver/rest_damping_kernel.h"

/* Progress of an instance at the start of a step. `moves`: a joint moved since the last step. */
static __device__ sup_gpu_progress begin_step(const sup_gpu_system &s, const sup_gpu_command &in, sup_gpu_progress p,
                                              bool moves)
{
    const float moved = __uint_as_float(p.moved) / s.body_size;
    const float window_moved = __uint_as_float(p.window_motion) / s.body_size;
    p.rest_steps = sup_rest_count_step(p.rest_steps, !moves && p.version == in.version,
                                       sup_rest_is_quiet(p.rest_steps, moved, window_moved));
    p.version = in.version;
    p.asleep = p.rest_steps == SUP_REST_ASLEEP;
    p.damping = sup_rest_momentum_damping(p.rest_steps, p.active_contacts > 0, in.damping);
    p.moved = p.window_motion = p.oscillates = 0;
    p.contacts = 0;
    return p;
}

#endif
