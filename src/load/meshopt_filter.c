/* meshopt_filter.c - filters of EXT_meshopt_compression and KHR_meshopt_compression (appendix B). */
#include "load/meshopt_filter.h"

#include <math.h>

/* Four components of 8 or 16 bits. */
static void load4(const unsigned char *data, size_t stride, bool is_signed, int32_t values[4])
{
    for (int32_t i = 0; i < 4; i++) {
        uint16_t wide;
        if (stride == 4) {
            values[i] = is_signed ? (int8_t)data[i] : data[i];
        } else {
            memcpy(&wide, data + i * 2, sizeof wide);
            values[i] = is_signed ? (int16_t)wide : wide;
        }
    }
}

static void store4(unsigned char *data, size_t stride, const int32_t values[4])
{
    for (int32_t i = 0; i < 4; i++) {
        uint16_t wide = (uint16_t)values[i];
        if (stride == 4)
            data[i] = (unsigned char)values[i];
        else
            memcpy(data + i * 2, &wide, sizeof wide);
    }
}

/* Nearest whole number, halves away from zero; what is out of range or not a number becomes the nearest bound or 0. */
static int32_t to_integer(float value, float low, float high)
{
    if (!(value >= low)) return value < low ? (int32_t)low : 0;
    return value <= high ? (int32_t)roundf(value) : (int32_t)high;
}

static void filter_octahedral(unsigned char *data, size_t stride)
{
    int32_t v[4];
    load4(data, stride, true, v);
    float scale = stride == 4 ? 127.0f : 32767.0f, one = (float)v[2];
    float x = (float)v[0] / one, y = (float)v[1] / one, z = 1.0f - fabsf(x) - fabsf(y);
    float t = fminf(z, 0.0f);
    x -= copysignf(t, x);
    y -= copysignf(t, y);
    float length = sqrtf(x * x + y * y + z * z);
    v[0] = to_integer(x / length * scale, -scale, scale);
    v[1] = to_integer(y / length * scale, -scale, scale);
    v[2] = to_integer(z / length * scale, -scale, scale);
    store4(data, stride, v);
}

static void filter_quaternion(unsigned char *data)
{
    int32_t v[4], out[4];
    load4(data, 8, true, v);
    float one = (float)(v[3] | 3), scale = 0.70710678118654752f;
    float x = (float)v[0] / one * scale, y = (float)v[1] / one * scale, z = (float)v[2] / one * scale;
    float w = sqrtf(fmaxf(0.0f, 1.0f - x * x - y * y - z * z));
    int32_t largest = v[3] & 3;
    out[(largest + 1) & 3] = to_integer(x * 32767.0f, -32767.0f, 32767.0f);
    out[(largest + 2) & 3] = to_integer(y * 32767.0f, -32767.0f, 32767.0f);
    out[(largest + 3) & 3] = to_integer(z * 32767.0f, -32767.0f, 32767.0f);
    out[largest] = to_integer(w * 32767.0f, -32767.0f, 32767.0f);
    store4(data, 8, out);
}

static void filter_exponential(unsigned char *data)
{
    uint32_t bits;
    memcpy(&bits, data, sizeof bits);
    int32_t exponent = (int8_t)(bits >> 24);
    int32_t mantissa = (int32_t)(bits & 0xFFFFFFu) - (int32_t)((bits & 0x800000u) << 1);
    float value = ldexpf((float)mantissa, exponent);
    memcpy(data, &value, sizeof value);
}

static void filter_color(unsigned char *data, size_t stride)
{
    int32_t luma[4], chroma[4];
    load4(data, stride, false, luma);
    load4(data, stride, true, chroma);
    int32_t y = luma[0], co = chroma[1], cg = chroma[2], all = 1;
    while (all < luma[3])
        all = all * 2 + 1;
    int32_t alpha = luma[3] & (all >> 1);
    float high = stride == 4 ? 255.0f : 65535.0f, scale = high / (float)all;
    int32_t out[4] = {
        to_integer((float)(y + co - cg) * scale, 0.0f, high),
        to_integer((float)(y + cg) * scale, 0.0f, high),
        to_integer((float)(y - co - cg) * scale, 0.0f, high),
        to_integer((float)(alpha << 1 | (alpha & 1)) * scale, 0.0f, high),
    };
    store4(data, stride, out);
}

void sup_meshopt_apply_filter(sup_meshopt_filter filter, size_t count, size_t stride, unsigned char *data)
{
    for (size_t i = 0; i < count && filter != SUP_MESHOPT_NONE; i++) {
        unsigned char *element = data + i * stride;
        if (filter == SUP_MESHOPT_OCTAHEDRAL) filter_octahedral(element, stride);
        if (filter == SUP_MESHOPT_QUATERNION) filter_quaternion(element);
        if (filter == SUP_MESHOPT_COLOR) filter_color(element, stride);
        for (size_t k = 0; filter == SUP_MESHOPT_EXPONENTIAL && k < stride; k += 4)
            filter_exponential(element + k);
    }
}
