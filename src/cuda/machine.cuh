/* machine.cuh (internal) - all operations that need inline assembly. tests/cuda/emulator has a file of the same name
 * that runs the kernels on a CPU. */
#ifndef SUP_CUDA_MACHINE_CUH
#define SUP_CUDA_MACHINE_CUH

#include <cuda_runtime.h>

/* Dynamic shared memory of a block. */
#define SHARED_ARRAY(type, name) extern __shared__ __align__(16) type name[]

/* First statement of a kernel that reads results of others: waits for the previous kernel and lets the next one
 * start. All kernels call it, even without work: the next kernel waits only for this one, and thereby for all
 * previous ones (launch.cuh). */
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

/* Ends a group: the copies since the last call. */
static __device__ void end_group()
{
    asm volatile("cp.async.commit_group;");
}

/* Waits for all groups of this thread but the last N. For copies of other threads a barrier must follow. */
template <int N> static __device__ void wait_groups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N));
}

/* 16 bytes that blocks of the same launch write and read atomically. */
static __device__ void store_message(void *to, unsigned long long low, unsigned long long high)
{
    asm volatile("{ .reg .b128 all; mov.b128 all, {%1, %2}; st.relaxed.gpu.global.b128 [%0], all; }" ::"l"(to),
                 "l"(low), "l"(high)
                 : "memory");
}

static __device__ void load_message_words(const void *from, unsigned long long &low, unsigned long long &high)
{
    asm volatile("{ .reg .b128 all; ld.relaxed.gpu.global.b128 all, [%2]; mov.b128 {%0, %1}, all; }"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
}

/* 1 / x to about twenty bits, for normal numbers. */
static __device__ double invert_roughly(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}

/* sum += a b with a 16 x 8 and b 8 x 8. In lane 4 i + j: a has rows i and i + 8 of column j, then of column j + 4; b
 * has rows j and j + 4 of column i; sum has columns 2 j and 2 j + 1 of row i, then of row i + 8. The last thirteen
 * bits of a and b are ignored. */
static __device__ __forceinline__ void multiply_tile(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
