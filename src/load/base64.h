/* base64.h (internal) - base64 (RFC 4648) for data URIs. */
#ifndef SUP_LOAD_BASE64_H
#define SUP_LOAD_BASE64_H

#include "base/base.h"

/* Bytes that `size` characters may hold at most. */
size_t sup_base64_bound(size_t size);
/* Decodes; padding at the end may be missing. False when a character or the length is wrong. `data` has room for
 * sup_base64_bound(size) bytes. */
bool sup_base64_decode(const char *text, size_t size, unsigned char *data, size_t *data_size);

#endif
