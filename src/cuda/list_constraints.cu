/* list_constraints.cu - lists, for each unknown, the contacts of a timestep that act on it: contacts of the skin with
 * itself and with colliders. Lists are sorted: forces are summed in the order of the contacts, independent of thread
 * timing. */
#include "cuda/gpu_contact.h"
#include "cuda/launch.cuh"
#include "cuda/prefix_sum.cuh"

#include <limits.h>

enum { INDEX_THREADS = 1024 };

/* Prefix sum of the list lengths in `count`, by a block: starts of the lists into `count` and `first`. */
static __device__ void scan(int *count, int n, int32_t *first)
{
    __shared__ int warps[INDEX_THREADS / 32];
    int each = (n + INDEX_THREADS - 1) / INDEX_THREADS, begin = min(n, (int)threadIdx.x * each);
    int end = min(n, begin + each), own = 0, all;
    for (int i = begin; i < end; i++)
        own += count[i];
    int offset = scan_block<INDEX_THREADS>(own, warps, all);
    for (int i = begin; i < end; i++) {
        int length = count[i];
        count[i] = first[i] = offset;
        offset += length;
    }
    if (threadIdx.x == 0) first[n] = all;
    __syncthreads();
}

/* Sorts a list of contacts, ascending. Short lists, which most are, are loaded at once: the rank of an entry is the
 * count of smaller ones. */
static __device__ void sort_list(int32_t *list, int count)
{
    enum { SHORT = 8 };
    int value[SHORT];
    if (count > SHORT) {
        for (int i = 1; i < count; i++) {
            int moved = list[i], to = i;
            for (; to > 0 && list[to - 1] > moved; to--)
                list[to] = list[to - 1];
            list[to] = moved;
        }
    } else if (count > 1) {
#pragma unroll
        for (int i = 0; i < SHORT; i++)
            value[i] = i < count ? list[i] : INT_MAX;
#pragma unroll
        for (int i = 0; i < SHORT; i++) {
            int smaller = 0;
#pragma unroll
            for (int k = 0; k < SHORT; k++)
                smaller += value[k] < value[i];
            if (i < count) list[smaller] = value[i];
        }
    }
}

/* Unknowns of the contact of a vertex; none where it has no contact. */
static __device__ int4 unknowns_of(const sup_gpu_contact *contacts, const int32_t *pair, int v)
{
    const int none = INT_MAX;
    return pair[v] >= 0 ? *(const int4 *)contacts[v].node : make_int4(none, none, none, none);
}

/* The lists of a character, by a block with `next` [unknown_count] in shared memory. A contact whose vertex is
 * anchored also moves its other nodes: it is listed for those. */
static __device__ void list_contacts(const sup_gpu_system &s, const sup_gpu_state &st, int character, int *next)
{
    const int n = s.unknown_count;
    if (st.progress[character].contacts == 0) return;
    const int32_t *pair = st.pair + (size_t)character * s.contact_count;
    const sup_gpu_contact *contacts = st.contacts + (size_t)character * s.contact_count;
    int32_t *first = st.node_contact_first + (size_t)character * (n + 1),
            *list = st.node_contact + 4 * (size_t)character * s.contact_count;
    for (int i = threadIdx.x; i < n; i += INDEX_THREADS)
        next[i] = 0;
    __syncthreads();
    for (int v = threadIdx.x; v < s.contact_count; v += INDEX_THREADS) {
        const int4 q = unknowns_of(contacts, pair, v);
        const int unknown[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (unknown[k] < n) atomicAdd(&next[unknown[k]], 1);
    }
    __syncthreads();
    scan(next, n, first);
    for (int v = threadIdx.x; v < s.contact_count; v += INDEX_THREADS) {
        const int4 q = unknowns_of(contacts, pair, v);
        const int unknown[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (unknown[k] < n) list[atomicAdd(&next[unknown[k]], 1)] = 4 * v + k;
    }
    __syncthreads();
    for (int p = threadIdx.x; p < n; p += INDEX_THREADS) { /* `next` now points to the end of each list */
        const int begin = p > 0 ? next[p - 1] : 0;
        sort_list(list + begin, next[p] - begin);
    }
}

__global__ void __launch_bounds__(INDEX_THREADS)
    index_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    SHARED_ARRAY(int, next); /* [unknown_count] */
    wait_for_kernel();
    list_contacts(s, st, blockIdx.x, next);
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

extern "C" int sup_gpu_list_contacts(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    launch_early(index_kernel, dim3(state->count), INDEX_THREADS, sup_gpu_list_shared(system), (cudaStream_t)stream,
                 *system, *state);
    return (int)cudaGetLastError();
}
