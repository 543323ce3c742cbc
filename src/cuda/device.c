/* device.c - opens a GPU, and converts CUDA errors. */
#include "cuda/crowd.h"

sup_result sup_cuda_result(const sup_device *device, int code, const char *doing, sup_error *error)
{
    const char *name = device != NULL ? device->info.name : "";
    if (code == 0) return SUP_OK;
    if (sup_cuda_is_memory(code))
        return sup_fail(error, SUP_ERROR_MEMORY, "cuda.memory", name,
                        "Out of GPU memory while %s. Use fewer instances, or free memory of other programs.", doing);
    return sup_fail(error, SUP_ERROR_DEVICE, "cuda.failed", name,
                    "The GPU failed while %s: %s (CUDA error %d). Create the device and its crowds again.", doing,
                    sup_cuda_error_text(code), code);
}

sup_result sup_device_cuda_create(const sup_context *context_in, int32_t index, sup_device **device_out,
                                  sup_error *error)
{
    int code = 0;
    if (device_out == NULL || index < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "cuda.null", "",
                        "A pointer for the new device and an index that is not negative are required.");
    int32_t count = sup_cuda_device_count(&code);
    if (count <= 0)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "cuda.none", "",
                        "No usable GPU (%s): step on the CPU, or install an NVIDIA driver.",
                        code != 0 ? sup_cuda_error_text(code) : "CUDA found none");
    if (index >= count)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "cuda.index", "", "GPU index %d is out of range: %d were found.",
                        (int)index, (int)count);
    sup_context context = sup_context_resolve(context_in);
    sup_device *device = sup_alloc_zero(&context.allocator, sizeof *device);
    if (device == NULL) return sup_fail_memory(error, "the device");
    device->context = context;
    device->index = index;
    code = sup_cuda_open(index, &device->info);
    if (code == 0) code = sup_cuda_stream_create(&device->stream);
    sup_result result = sup_cuda_result(device, code, "it was opened", error);
    if (result == SUP_OK && device->info.major < 8)
        result = sup_fail(error, SUP_ERROR_UNSUPPORTED, "cuda.old", device->info.name,
                          "%s is too old: compute capability %d.%d, 8.0 is needed. Step on the CPU.", device->info.name,
                          (int)device->info.major, (int)device->info.minor);
    if (result == SUP_OK)
        *device_out = device;
    else
        sup_device_destroy(device);
    return result;
}

void sup_device_destroy(sup_device *device)
{
    if (device == NULL) return;
    sup_allocator allocator = device->context.allocator;
    sup_cuda_stream_destroy(device->stream);
    sup_free(&allocator, device, sizeof *device);
}

const char *sup_device_name(const sup_device *device)
{
    return device != NULL ? device->info.name : "";
}
