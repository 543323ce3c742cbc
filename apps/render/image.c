/* image.c - images: memory, PNG files, anti-aliased lines. */
#include "image.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

render_image render_image_create(int32_t width, int32_t height)
{
    render_image image = {width, height, NULL};
    if (width > 0 && height > 0 && width <= 16384 && height <= 16384)
        image.pixels = calloc((size_t)width * (size_t)height, 3);
    return image;
}

void render_image_destroy(render_image *image)
{
    free(image->pixels);
    image->pixels = NULL;
}

static sup_result fail_write(sup_error *error, const char *path, const char *reason)
{
    if (error != NULL) {
        error->result = SUP_ERROR_IO;
        snprintf(error->id, sizeof error->id, "%s", "file.write");
        snprintf(error->message, sizeof error->message, "The image cannot be written: %s.", reason);
        snprintf(error->where, sizeof error->where, "%s", path);
    }
    return SUP_ERROR_IO;
}

typedef struct growing_bytes {
    uint8_t *data;
    size_t size, capacity;
} growing_bytes;

static void append_bytes(png_structp png, png_bytep data, size_t size)
{
    growing_bytes *bytes = png_get_io_ptr(png);
    if (bytes->size + size > bytes->capacity) {
        size_t capacity = 2 * (bytes->size + size);
        uint8_t *grown = realloc(bytes->data, capacity);
        if (grown == NULL) png_error(png, "out of memory");
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void flush_bytes(png_structp png)
{
    (void)png;
}

/* Returns false when libpng fails; it reports errors by longjmp. */
static bool encode_rows(const render_image *image, growing_bytes *bytes)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL || setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_set_write_fn(png, bytes, append_bytes, flush_bytes);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int32_t y = 0; y < image->height; y++)
        png_write_row(png, image->pixels + (size_t)y * (size_t)image->width * 3);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return true;
}

uint8_t *render_encode_png(const render_image *image, size_t *size)
{
    growing_bytes bytes = {0};
    if (encode_rows(image, &bytes)) {
        *size = bytes.size;
        return bytes.data;
    }
    free(bytes.data);
    return NULL;
}

void render_write_data_uri(const uint8_t *png, size_t size, FILE *file)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputs("data:image/png;base64,", file);
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)png[i] << 16 | (i + 1 < size ? (uint32_t)png[i + 1] << 8 : 0u) |
                        (i + 2 < size ? (uint32_t)png[i + 2] : 0u);
        char out[4] = {digits[bits >> 18], digits[bits >> 12 & 63], i + 1 < size ? digits[bits >> 6 & 63] : '=',
                       i + 2 < size ? digits[bits & 63] : '='};
        fwrite(out, 1, 4, file);
    }
}

sup_result render_write_png(const render_image *image, const char *path, sup_error *error)
{
    char temporary[4200];
    if (snprintf(temporary, sizeof temporary, "%s.part%ld", path, (long)getpid()) >= (int)sizeof temporary)
        return fail_write(error, path, "the path is too long");
    size_t size = 0;
    uint8_t *data = render_encode_png(image, &size);
    if (data == NULL) return fail_write(error, path, "out of memory");
    FILE *file = fopen(temporary, "wb");
    if (file == NULL) {
        free(data);
        return fail_write(error, path, strerror(errno));
    }
    errno = 0;
    bool written = fwrite(data, 1, size, file) == size;
    bool closed = fclose(file) == 0;
    free(data);
    if (!written || !closed || rename(temporary, path) != 0) {
        int reason = errno;
        remove(temporary);
        return fail_write(error, path, reason != 0 ? strerror(reason) : "write error");
    }
    return SUP_OK;
}

static void blend(uint8_t *pixel, const uint8_t color[3], float opacity)
{
    for (int k = 0; k < 3; k++)
        pixel[k] = (uint8_t)lrintf((float)pixel[k] + opacity * ((float)color[k] - (float)pixel[k]));
}

static int32_t clamp_index(float value, int32_t limit)
{
    return value < 0.0f ? 0 : value > (float)(limit - 1) ? limit - 1 : (int32_t)value;
}

void image_line(render_image *image, float x0, float y0, float x1, float y1, float width, const uint8_t color[3],
                float opacity)
{
    float extent = 0.5f * width + 1.0f, dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    if (!isfinite(x0) || !isfinite(y0) || !isfinite(x1) || !isfinite(y1)) return;
    if (fmaxf(x0, x1) < -extent || fmaxf(y0, y1) < -extent) return;
    if (fminf(x0, x1) > (float)image->width + extent || fminf(y0, y1) > (float)image->height + extent) return;
    int32_t left = clamp_index(fminf(x0, x1) - extent, image->width),
            right = clamp_index(fmaxf(x0, x1) + extent, image->width);
    int32_t top = clamp_index(fminf(y0, y1) - extent, image->height),
            bottom = clamp_index(fmaxf(y0, y1) + extent, image->height);
    for (int32_t y = top; y <= bottom; y++)
        for (int32_t x = left; x <= right; x++) {
            float px = (float)x + 0.5f - x0, py = (float)y + 0.5f - y0;
            float t = length2 > 0.0f ? fminf(fmaxf((px * dx + py * dy) / length2, 0.0f), 1.0f) : 0.0f;
            float distance = hypotf(px - t * dx, py - t * dy);
            float coverage = fminf(fmaxf(0.5f * width + 0.5f - distance, 0.0f), 1.0f);
            if (coverage > 0.0f)
                blend(image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x), color, coverage * opacity);
        }
}
