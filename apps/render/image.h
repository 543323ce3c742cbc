/* image.h (internal) - anti-aliased lines and text on an image. */
#ifndef SUPPLE_APPS_RENDER_IMAGE_H
#define SUPPLE_APPS_RENDER_IMAGE_H

#include "render.h"

/* Line with round caps; `width` in pixels, sRGB color, `opacity` in [0, 1]. */
void image_line(render_image *image, float x0, float y0, float x1, float y1, float width, const uint8_t color[3],
                float opacity);

/* Text on a baseline; `height` in pixels: 8 units of the font grid, capitals plus descender. */
void image_text(render_image *image, float x, float baseline, float height, const uint8_t color[3], const char *text);
float image_text_width(const char *text, float height);

#endif
