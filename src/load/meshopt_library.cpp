/* meshopt_library.cpp - meshoptimizer's decoders (third_party/meshoptimizer) behind the C interface of
 * meshopt_decode.h. Its files are included here as one translation unit with static functions. The compiler then leaves
 * out the encoders, and a program that has meshoptimizer of its own finds no name twice. */
#define MESHOPTIMIZER_API static
#include "meshoptimizer.h"

#include "indexcodec.cpp"
#include "vertexcodec.cpp"
#include "vertexfilter.cpp"

extern "C" {
#include "load/meshopt_decode.h"
}

static bool decode_attributes(sup_meshopt_filter filter, size_t count, size_t stride, const unsigned char *bytes,
                              size_t size, void *data)
{
    if (meshopt_decodeVertexBuffer(data, count, stride, bytes, size) != 0) return false;
    if (filter == SUP_MESHOPT_OCTAHEDRAL) meshopt_decodeFilterOct(data, count, stride);
    if (filter == SUP_MESHOPT_QUATERNION) meshopt_decodeFilterQuat(data, count, stride);
    if (filter == SUP_MESHOPT_EXPONENTIAL) meshopt_decodeFilterExp(data, count, stride);
    if (filter == SUP_MESHOPT_COLOR) meshopt_decodeFilterColor(data, count, stride);
    return true;
}

bool sup_meshopt_decode(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride, sup_bytes source,
                        void *data)
{
    const unsigned char *bytes = static_cast<const unsigned char *>(source.data);
    if (mode == SUP_MESHOPT_TRIANGLES) return meshopt_decodeIndexBuffer(data, count, stride, bytes, source.size) == 0;
    if (mode == SUP_MESHOPT_INDICES) return meshopt_decodeIndexSequence(data, count, stride, bytes, source.size) == 0;
    return decode_attributes(filter, count, stride, bytes, source.size, data);
}
