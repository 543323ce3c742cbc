/* meshopt_decode.h (internal) - decoders of the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression,
 * written from their specifications (appendix A: bitstreams, appendix B: filters). Nothing in the compressed bytes is
 * trusted: a stream that is not whole is refused. */
#ifndef SUP_LOAD_MESHOPT_DECODE_H
#define SUP_LOAD_MESHOPT_DECODE_H

#include "base/base.h"

typedef enum sup_meshopt_mode { SUP_MESHOPT_ATTRIBUTES, SUP_MESHOPT_TRIANGLES, SUP_MESHOPT_INDICES } sup_meshopt_mode;

typedef enum sup_meshopt_filter {
    SUP_MESHOPT_NONE,
    SUP_MESHOPT_OCTAHEDRAL,
    SUP_MESHOPT_QUATERNION,
    SUP_MESHOPT_EXPONENTIAL,
    SUP_MESHOPT_COLOR
} sup_meshopt_filter;

/* Whether elements of `stride` bytes, `count` of them, are allowed with this mode and filter. */
bool sup_meshopt_valid(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride);

/* Decodes into `data` [count * stride] and applies the filter. False when the stream is damaged; `data` then holds
 * anything. The arguments must pass sup_meshopt_valid. */
bool sup_meshopt_decode(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride, sup_bytes source,
                        void *data);

#endif
