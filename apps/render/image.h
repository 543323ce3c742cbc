/* image.h (internal) - drawing over a finished picture, with soft edges. */
#ifndef SUPPLE_APPS_RENDER_IMAGE_H
#define SUPPLE_APPS_RENDER_IMAGE_H

#include "render.h"

/* A line with round ends, `width` pixels thick, colour sRGB, `opacity` in [0, 1]. */
void image_line(render_image *image, float x0, float y0, float x1, float y1, float width, const uint8_t color[3],
                float opacity);

/* Text on a baseline; `height` is that of capitals with descender room, 8 units of the font's grid, in pixels. */
void image_text(render_image *image, float x, float baseline, float height, const uint8_t color[3], const char *text);
float image_text_width(const char *text, float height);

#endif
