/* list_rows.cu - which rows of contact a place is part of, of all rows of a step: those of the skin with itself and those with
 * colliders. Lists are sorted: forces are gathered in the order of the rows, whoever found them first. */
#include "cuda/gpu_contact.h"
#include "cuda/launch.cuh"
#include "cuda/scan.cuh"

enum { INDEX_THREADS = 1024 };

/* First places of lists from their lengths in `count`, by a block: every thread some of them, then their sums. */
static __device__ void scan(int *count, int n, int32_t *first)
{
    __shared__ int warps[INDEX_THREADS / 32];
    int each = (n + INDEX_THREADS - 1) / INDEX_THREADS, begin = min(n, (int)threadIdx.x * each);
    int end = min(n, begin + each), own = 0, all;
    for (int i = begin; i < end; i++)
        own += count[i];
    int before = scan_block<INDEX_THREADS>(own, warps, all);
    for (int i = begin; i < end; i++) {
        int length = count[i];
        count[i] = first[i] = before;
        before += length;
    }
    if (threadIdx.x == 0) first[n] = all;
    __syncthreads();
}

/* A block a character. A row whose vertex is given still moves others: it counts for those. */
__global__ void __launch_bounds__(INDEX_THREADS)
    index_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    SHARED_ARRAY(int, next); /* [unknown_count] */
    wait_for_kernel();
    int character = blockIdx.x, n = s.unknown_count;
    if (st.progress[character].rows == 0) return;
    const int32_t *pair = st.pair + (size_t)character * s.row_count;
    const sup_gpu_row *rows = st.rows + (size_t)character * s.row_count;
    int32_t *first = st.touch_first + (size_t)character * (n + 1),
            *touch = st.touch + 4 * (size_t)character * s.row_count;
    for (int i = threadIdx.x; i < n; i += INDEX_THREADS)
        next[i] = 0;
    __syncthreads();
    for (int v = threadIdx.x; v < s.row_count; v += INDEX_THREADS)
        for (int k = 0; k < 4 && pair[v] >= 0; k++)
            if (rows[v].place[k] < n) atomicAdd(&next[rows[v].place[k]], 1);
    __syncthreads();
    scan(next, n, first);
    for (int v = threadIdx.x; v < s.row_count; v += INDEX_THREADS)
        for (int k = 0; k < 4 && pair[v] >= 0; k++)
            if (rows[v].place[k] < n) touch[atomicAdd(&next[rows[v].place[k]], 1)] = 4 * v + k;
    __syncthreads();
    for (int p = threadIdx.x; p < n; p += INDEX_THREADS) /* in the order of the rows, whoever was first */
        for (int i = first[p] + 1; i < first[p + 1]; i++) {
            int value = touch[i], to = i;
            for (; to > first[p] && touch[to - 1] > value; to--)
                touch[to] = touch[to - 1];
            touch[to] = value;
        }
}

extern "C" size_t sup_gpu_list_shared(const sup_gpu_system *system)
{
    return (size_t)system->unknown_count * sizeof(int);
}

extern "C" int sup_gpu_list_prepare(const sup_gpu_system *system)
{
    return (int)cudaFuncSetAttribute(index_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)sup_gpu_list_shared(system));
}

extern "C" int sup_gpu_list_rows(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    launch_early(index_kernel, dim3(state->count), INDEX_THREADS, sup_gpu_list_shared(system), (cudaStream_t)stream, *system,
                 *state);
    return (int)cudaGetLastError();
}
