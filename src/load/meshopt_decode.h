/* meshopt_decode.h (internal) - decoders of the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression.
 * The work is done by meshoptimizer (third_party/meshoptimizer), which is C++ without the C++ runtime. */
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

/* False in a library that was built by a compiler without C++: it has no decoder, and sup_meshopt_decode always
 * fails. */
bool sup_meshopt_available(void);

/* Decodes into `data` [count * stride], 4-byte aligned, and applies the filter. False when the stream is damaged;
 * `data` then holds anything. Damage is not always found: indices can be out of range. Nothing outside of `source` is
 * read and nothing outside of `data` written. The arguments must pass sup_meshopt_valid. */
bool sup_meshopt_decode(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride, sup_bytes source,
                        void *data);

#endif
