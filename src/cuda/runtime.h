/* runtime.h (internal) - C wrappers of the CUDA runtime for the host side. Return values are CUDA error codes, 0 for
 * none. */
#ifndef SUP_CUDA_RUNTIME_H
#define SUP_CUDA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sup_cuda_device {
    char name[128];
    int32_t major, minor; /* compute capability */
    int32_t processors;   /* multiprocessors for a cooperative launch; 0 where that is unsupported */
    size_t shared_limit;  /* maximum shared memory of a block in bytes */
    size_t memory;        /* bytes */
} sup_cuda_device;

/* Number of devices, -1 when none is usable, with the reason in `error`; and the properties of one. */
int32_t sup_cuda_device_count(int *error);
int sup_cuda_open(int32_t index, sup_cuda_device *device);
/* Whether an error means that the device is out of memory. */
bool sup_cuda_is_memory(int error);
const char *sup_cuda_error_text(int error);

int sup_cuda_use(int32_t index);                /* selects the device of this thread */
int sup_cuda_alloc(void **memory, size_t size); /* zeroed */
void sup_cuda_free(void *memory);
int sup_cuda_alloc_host(void **memory, size_t size); /* pinned */
void sup_cuda_free_host(void *memory);
/* Copies in either direction; asynchronous with a stream. */
int sup_cuda_copy(void *to, const void *from, size_t size);
int sup_cuda_copy_async(void *to, const void *from, size_t size, void *stream);
int sup_cuda_copy_rows(void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows);
int sup_cuda_wait(void *stream);
int sup_cuda_wait_all(void);
int sup_cuda_stream_create(void **stream);
void sup_cuda_stream_destroy(void *stream);

/* Records the launches between begin and end as a graph. */
int sup_cuda_record_begin(void *stream);
int sup_cuda_record_end(void *stream, void **graph);
int sup_cuda_replay(void *graph, void *stream);
void sup_cuda_graph_free(void *graph);

/* Events, for benchmarks. */
int sup_cuda_event_create(void **event);
void sup_cuda_event_destroy(void *event);
int sup_cuda_event_record(void *event, void *stream);
int sup_cuda_event_elapsed(void *begin, void *end, float *milliseconds);
/* Starts or stops a profiler that waits for this call. */
void sup_cuda_profile(bool on);

#ifdef __cplusplus
}
#endif

#endif
