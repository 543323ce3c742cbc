/* runtime.cu - calls of the CUDA runtime behind C functions. See runtime.h. */
#include "cuda/runtime.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <string.h>

extern "C" int32_t sup_cuda_device_count(int *error)
{
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    cudaGetLastError(); /* clears it: it does not belong to the next launch */
    *error = (int)result;
    return result == cudaSuccess ? count : -1;
}

extern "C" int sup_cuda_open(int32_t index, sup_cuda_device *device)
{
    cudaDeviceProp p;
    cudaError_t error = cudaSetDevice(index);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&p, index);
    if (error == cudaSuccess) error = cudaFree(NULL); /* creates the context */
    if (error != cudaSuccess) return (int)error;
    memset(device, 0, sizeof *device);
    memcpy(device->name, p.name, strnlen(p.name, sizeof device->name - 1));
    device->major = p.major;
    device->minor = p.minor;
    device->processors = p.cooperativeLaunch ? p.multiProcessorCount : 0;
    device->shared_limit = p.sharedMemPerBlockOptin;
    device->memory = p.totalGlobalMem;
    return 0;
}

extern "C" bool sup_cuda_is_memory(int error)
{
    return error == (int)cudaErrorMemoryAllocation;
}

extern "C" const char *sup_cuda_error_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

extern "C" int sup_cuda_use(int32_t index)
{
    return (int)cudaSetDevice(index);
}

extern "C" int sup_cuda_alloc(void **memory, size_t size)
{
    cudaError_t error = cudaMalloc(memory, size > 0 ? size : 1);
    if (error == cudaSuccess) return (int)cudaMemset(*memory, 0, size);
    cudaGetLastError();
    return (int)error;
}

extern "C" void sup_cuda_free(void *memory)
{
    cudaFree(memory);
}

extern "C" int sup_cuda_alloc_host(void **memory, size_t size)
{
    cudaError_t error = cudaMallocHost(memory, size > 0 ? size : 1);
    if (error == cudaSuccess) memset(*memory, 0, size);
    return (int)error;
}

extern "C" void sup_cuda_free_host(void *memory)
{
    if (memory != NULL) cudaFreeHost(memory);
}

extern "C" int sup_cuda_copy(void *to, const void *from, size_t size)
{
    return (int)cudaMemcpy(to, from, size, cudaMemcpyDefault);
}

extern "C" int sup_cuda_copy_async(void *to, const void *from, size_t size, void *stream)
{
    return (int)cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, (cudaStream_t)stream);
}

extern "C" int sup_cuda_copy_rows(void *to, size_t to_stride, const void *from, size_t from_stride, size_t row,
                                  size_t rows)
{
    return (int)cudaMemcpy2D(to, to_stride, from, from_stride, row, rows, cudaMemcpyDefault);
}

extern "C" int sup_cuda_wait(void *stream)
{
    return (int)cudaStreamSynchronize((cudaStream_t)stream);
}

extern "C" int sup_cuda_wait_all(void)
{
    return (int)cudaDeviceSynchronize();
}

extern "C" int sup_cuda_stream_create(void **stream)
{
    return (int)cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking);
}

extern "C" void sup_cuda_stream_destroy(void *stream)
{
    if (stream != NULL) cudaStreamDestroy((cudaStream_t)stream);
}

extern "C" int sup_cuda_record_begin(void *stream)
{
    return (int)cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal);
}

extern "C" int sup_cuda_record_end(void *stream, void **graph)
{
    cudaGraph_t recorded = NULL;
    cudaGraphExec_t ready = NULL;
    cudaError_t error = cudaStreamEndCapture((cudaStream_t)stream, &recorded);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&ready, recorded, 0);
    if (recorded != NULL) cudaGraphDestroy(recorded);
    *graph = error == cudaSuccess ? (void *)ready : NULL;
    return (int)error;
}

extern "C" int sup_cuda_replay(void *graph, void *stream)
{
    return (int)cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream);
}

extern "C" void sup_cuda_graph_free(void *graph)
{
    if (graph != NULL) cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

extern "C" int sup_cuda_event_create(void **event)
{
    return (int)cudaEventCreate((cudaEvent_t *)event);
}

extern "C" void sup_cuda_event_destroy(void *event)
{
    if (event != NULL) cudaEventDestroy((cudaEvent_t)event);
}

extern "C" int sup_cuda_event_record(void *event, void *stream)
{
    return (int)cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream);
}

extern "C" int sup_cuda_event_elapsed(void *begin, void *end, float *milliseconds)
{
    cudaError_t error = cudaEventSynchronize((cudaEvent_t)end);
    return (int)(error == cudaSuccess ? cudaEventElapsedTime(milliseconds, (cudaEvent_t)begin, (cudaEvent_t)end)
                                      : error);
}

extern "C" void sup_cuda_profile(bool on)
{
    if (on)
        cudaProfilerStart();
    else
        cudaProfilerStop();
}
