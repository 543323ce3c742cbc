/* base64.c - base64 for data URIs. */
#include "load/base64.h"

size_t sup_base64_bound(size_t size)
{
    return size / 4 * 3 + 3;
}

/* 0 to 63, or -1. */
static int32_t digit_value(unsigned char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool sup_base64_decode(const char *text, size_t size, unsigned char *data, size_t *data_size)
{
    if (size % 4 == 0 && size > 0 && text[size - 1] == '=') size -= text[size - 2] == '=' ? 2 : 1;
    if (size % 4 == 1) return false;
    size_t filled = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        int32_t value = digit_value((unsigned char)text[i]);
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 > 0) data[filled++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    *data_size = filled;
    return true;
}
