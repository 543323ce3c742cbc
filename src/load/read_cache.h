/* read_cache.h (internal) - point caches from memory. */
#ifndef SUP_LOAD_READ_CACHE_H
#define SUP_LOAD_READ_CACHE_H

#include "base/base.h"
#include "supple/load.h"

/* The format is told by the ending of `name`. The bytes are not kept. */
sup_result sup_read_cache(const sup_context *context, const char *name, sup_bytes bytes, int32_t vertex_count,
                          sup_cache **cache, sup_error *error);

#endif
