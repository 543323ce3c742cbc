/* machine.cuh (emulator) - src/cuda/machine.cuh on a CPU. */
#ifndef SUP_CUDA_MACHINE_CUH
#define SUP_CUDA_MACHINE_CUH

#include <cuda_runtime.h>

#define SHARED_ARRAY(type, name) type *name = (type *)emulated::shared_memory()

static inline void wait_for_kernel()
{
    emulated::wait_for_kernel();
}

/* Copies are performed when they are waited for: a premature read gets the old values. */
static inline void copy_chunk(const void *to, const void *from)
{
    emulated::begin_copy((void *)to, from);
}

static inline void end_group()
{
    emulated::end_group();
}

template <int N> static inline void wait_groups()
{
    emulated::wait_groups(N);
}

static inline void store_message(void *to, unsigned long long low, unsigned long long high)
{
    emulated::store_message(to, low, high);
}

static inline void load_message_words(const void *from, unsigned long long &low, unsigned long long &high)
{
    emulated::load_message_words(from, low, high);
}

static inline double invert_roughly(double x)
{
    return __longlong_as_double(__double_as_longlong(1.0 / x) & ~0xffffffffLL);
}

static inline void multiply_tile(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    emulated::tile_operands mine = {{a[0], a[1], a[2], a[3]}, {b0, b1}, sum};
    emulated::warp_collective(0xffffffffu, emulated::multiply_tiles, &mine);
}

#endif
