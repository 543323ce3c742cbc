/* cuda_profiler_api.h (emulator) - there is nothing to profile. */
#ifndef SUP_EMULATED_PROFILER_H
#define SUP_EMULATED_PROFILER_H

static inline int cudaProfilerStart()
{
    return 0;
}

static inline int cudaProfilerStop()
{
    return 0;
}

#endif
