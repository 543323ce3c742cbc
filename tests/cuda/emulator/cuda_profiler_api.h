/* cuda_profiler_api.h (emulator) - empty functions. */
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
