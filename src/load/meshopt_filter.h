/* meshopt_filter.h (internal) - the filters of compressed attributes, appendix B of the specification. */
#ifndef SUP_LOAD_MESHOPT_FILTER_H
#define SUP_LOAD_MESHOPT_FILTER_H

#include "load/meshopt_decode.h"

/* In place, data [count * stride]. Values outside the specified range give some number, never undefined behaviour. */
void sup_meshopt_apply_filter(sup_meshopt_filter filter, size_t count, size_t stride, unsigned char *data);

#endif
