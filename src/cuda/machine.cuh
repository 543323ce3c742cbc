/* machine.cuh (internal) - what only the machine can do, by its assembler. All of it is here: tests/cuda/emulator has another
 * file of this name, with which the kernels run on a CPU. */
#ifndef SUP_CUDA_MACHINE_CUH
#define SUP_CUDA_MACHINE_CUH

#include <cuda_runtime.h>

/* The fast memory of a block, as large as its launch said. */
#define SHARED_ARRAY(type, name) extern __shared__ __align__(16) type name[]

/* The first thing that a kernel does with what others wrote: waits for the kernel before it, and lets the next begin. All kernels do,
 * also those that have nothing to do: the next waits for this one, and so for all before it (launch.cuh). */
static __device__ void wait_for_kernel()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}

/* Begins to copy 16 bytes into shared memory. */
static __device__ void copy_chunk(const void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}

/* The copies begun since the last call are a group. */
static __device__ void end_group()
{
    asm volatile("cp.async.commit_group;");
}

/* All groups but the last N are there: this thread's own. For those of others a barrier must follow. */
template <int N> static __device__ void wait_groups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N));
}

/* 16 bytes that are written and read in one go by blocks of the same launch. */
static __device__ void store_message(void *to, unsigned long long low, unsigned long long high)
{
    asm volatile("{ .reg .b128 all; mov.b128 all, {%1, %2}; st.relaxed.gpu.global.b128 [%0], all; }" ::"l"(to), "l"(low),
                 "l"(high)
                 : "memory");
}

static __device__ void load_message_words(const void *from, unsigned long long &low, unsigned long long &high)
{
    asm volatile("{ .reg .b128 all; ld.relaxed.gpu.global.b128 all, [%2]; mov.b128 {%0, %1}, all; }"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
}

/* 1 / x to about twenty bits, of a normal number. */
static __device__ double invert_roughly(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}

/* sum += a b: a of 16 x 8, b of 8 x 8. Of a thread with group = lane / 4, column = lane % 4: a has row group, then group + 8, of column
 * column, then of column + 4; b rows column and column + 4 of column group; sum columns 2 column and + 1 of row group, then group + 8.
 * The last thirteen bits of a and b are left out. */
static __device__ __forceinline__ void multiply_tile(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
