/* crowd_memory.c - device memory of a crowd, freed with it. */
#include "cuda/crowd.h"

void *sup_crowd_alloc(sup_crowd *crowd, size_t count, size_t size, sup_error *error)
{
    size_t bytes = sup_size_multiply(count, size);
    void *memory = NULL, **slot = sup_array_push(&crowd->context.allocator, &crowd->memory, 1);
    if (slot == NULL) {
        sup_fail_memory(error, "the crowd");
        return NULL;
    }
    *slot = NULL;
    int code = sup_cuda_alloc(&memory, bytes);
    if (code != 0) {
        sup_cuda_result(crowd->device, code, "the crowd was opened", error);
        if (sup_cuda_is_memory(code))
            sup_fail(error, SUP_ERROR_MEMORY, "cuda.memory", crowd->device->info.name,
                     "%d instances do not fit the free GPU memory: %d MB are allocated and %d MB more are required. "
                     "Use fewer instances.",
                     (int)crowd->count, (int)(crowd->allocated >> 20), (int)(bytes >> 20));
        return NULL;
    }
    crowd->allocated += bytes;
    *slot = memory;
    return memory;
}

void *sup_crowd_upload(sup_crowd *crowd, const void *from, size_t count, size_t size, sup_error *error)
{
    void *memory = sup_crowd_alloc(crowd, count, size, error);
    if (memory == NULL || count == 0) return memory;
    int code = sup_cuda_copy(memory, from, count * size);
    return sup_cuda_result(crowd->device, code, "a model was copied to it", error) == SUP_OK ? memory : NULL;
}
