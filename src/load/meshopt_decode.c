/* meshopt_decode.c - which layouts of compressed data the specification allows; meshopt_library.cpp decodes them. */
#include "load/meshopt_decode.h"

enum { MAX_STRIDE = 256 };

bool sup_meshopt_valid(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride)
{
    if (mode != SUP_MESHOPT_ATTRIBUTES)
        return (stride == 2 || stride == 4) && filter == SUP_MESHOPT_NONE &&
               (mode != SUP_MESHOPT_TRIANGLES || count % 3 == 0);
    if (stride < 4 || stride % 4 != 0 || stride > MAX_STRIDE) return false;
    if (filter == SUP_MESHOPT_OCTAHEDRAL || filter == SUP_MESHOPT_COLOR) return stride == 4 || stride == 8;
    return filter != SUP_MESHOPT_QUATERNION || stride == 8;
}

bool sup_meshopt_available(void)
{
    return SUPPLE_MESHOPT;
}

#if !SUPPLE_MESHOPT
bool sup_meshopt_decode(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride, sup_bytes source,
                        void *data)
{
    SUP_UNUSED(mode), SUP_UNUSED(filter), SUP_UNUSED(count), SUP_UNUSED(stride), SUP_UNUSED(source), SUP_UNUSED(data);
    return false;
}
#endif
