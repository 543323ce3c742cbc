/* read_cache.h (internal) - reads point caches from memory. */
#ifndef SUP_LOAD_READ_CACHE_H
#define SUP_LOAD_READ_CACHE_H

#include "base/base.h"
#include "supple/load.h"

/* The file extension of `name` selects the format. The bytes are copied. */
sup_result sup_read_cache(const sup_context *context, const char *name, sup_bytes bytes, int32_t vertex_count,
                          sup_cache **cache, sup_error *error);

#endif
