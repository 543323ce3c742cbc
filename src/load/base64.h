/* base64.h (internal) - base64 (RFC 4648) for data URIs. */
#ifndef SUP_LOAD_BASE64_H
#define SUP_LOAD_BASE64_H

#include "base/base.h"

/* Maximum number of bytes that `size` characters decode to. */
size_t sup_base64_bound(size_t size);
/* Decodes; padding may be missing. False when a character or the length is invalid. The capacity of `data` is
 * sup_base64_bound(size) bytes. */
bool sup_base64_decode(const char *text, size_t size, unsigned char *data, size_t *data_size);

#endif
