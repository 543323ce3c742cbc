/* text.c - a small built-in stroke font: no font file, identical on every machine.
 *
 * A glyph is a list of strokes, a stroke a list of points "xy" on a grid: x from 0 to 4; y: 0 descender, 2 baseline, 6
 * x-height, 8 capitals. The font is proportional. */
#include "image.h"

#include <string.h>

static const char *const glyphs[95] = {
    /* space */ "",
    "28 24,22 22",
    "18 16,38 36",
    "12 18,32 38,04 44,06 46",
    "47 38 18 07 06 15 35 44 43 32 12 03,29 21",
    /* % */ "48 02,08 18 17 07 08,32 42 43 33 32",
    "42 06 07 18 28 37 36 04 03 12 22 44",
    "28 26",
    "39 27 23 31",
    "19 27 23 11",
    /* * */ "23 27,04 46,06 44",
    "23 27,05 45",
    "23 22 11",
    "15 45",
    "22 22",
    "02 48",
    /* 0 */ "12 32 43 47 38 18 07 03 12",
    "16 28 22",
    "07 18 38 47 46 02 42",
    "08 48 25 35 44 43 32 12 03",
    "32 38 04 44",
    /* 5 */ "48 08 05 35 44 43 32 12 03",
    "47 38 18 07 03 12 32 43 44 35 15 04",
    "08 48 12",
    /* 8 */ "15 06 07 18 38 47 46 35 15 04 03 12 32 43 44 35",
    "03 12 32 43 47 38 18 07 06 15 35 46",
    /* : */ "25 25,22 22",
    "25 25,23 22 11",
    "47 05 43",
    "04 44,06 46",
    "07 45 03",
    "07 18 38 47 46 25 24,22 22",
    /* @ */ "34 36 16 14 34 44 47 38 18 07 03 12 42",
    "02 28 42,14 34",
    "02 08 38 47 46 35 05,35 44 43 32 02",
    /* C */ "47 38 18 07 03 12 32 43",
    "02 08 28 47 43 22 02",
    "48 08 02 42,05 35",
    "48 08 02,05 35",
    /* G */ "47 38 18 07 03 12 32 43 45 25",
    "02 08,42 48,05 45",
    "28 22",
    "48 43 32 12 03",
    "02 08,48 05 42",
    "08 02 42",
    /* M */ "02 08 25 48 42",
    "02 08 42 48",
    "12 03 07 18 38 47 43 32 12",
    "02 08 38 47 46 35 05",
    /* Q */ "12 03 07 18 38 47 43 32 12,24 41",
    "02 08 38 47 46 35 05,25 42",
    "47 38 18 07 06 15 35 44 43 32 12 03",
    /* T */ "08 48,28 22",
    "08 03 12 32 43 48",
    "08 22 48",
    "08 12 26 32 48",
    "02 48,08 42",
    "08 25 48,25 22",
    "08 48 02 42",
    /* [ */ "39 19 11 31",
    "08 42",
    "19 39 31 11",
    "06 28 46",
    "01 41",
    "19 37",
    /* a */ "16 36 45 42,44 14 03 12 32 43",
    "08 02,05 16 36 45 43 32 12 03",
    "45 36 16 05 03 12 32 43",
    /* d */ "48 42,45 36 16 05 03 12 32 43",
    "04 44 45 36 16 05 03 12 32 43",
    "38 27 22,16 36",
    /* g */ "46 41 30 10 01,45 36 16 05 03 12 32 43",
    "08 02,05 16 36 45 42",
    "26 22,28 28",
    "36 31 20 10,38 38",
    /* k */ "08 02,46 04 42",
    "28 22",
    "02 06,05 16 25 22,25 36 45 42",
    "02 06,05 16 36 45 42",
    "16 05 03 12 32 43 45 36 16",
    /* p */ "06 00,05 16 36 45 43 32 12 03",
    "46 40,45 36 16 05 03 12 32 43",
    "12 16,15 26 36",
    "45 36 16 05 14 34 43 32 12 03",
    /* t */ "28 23 32,16 36",
    "06 03 12 32 43,46 42",
    "06 22 46",
    "06 12 25 32 46",
    "02 46,06 42",
    "06 22,46 10",
    /* z */ "06 46 02 42",
    "39 28 26 15 24 22 31",
    "29 21",
    "19 28 26 35 24 22 11",
    "04 15 34 45"};

static const char *glyph_of(char c)
{
    return c >= 32 && c < 127 ? glyphs[c - 32] : glyphs['?' - 32];
}

/* Leftmost and rightmost grid column of a glyph. */
static void glyph_columns(const char *glyph, int *left, int *right)
{
    *left = 4;
    *right = 0;
    for (const char *p = glyph; *p != '\0'; p += p[2] == '\0' ? 2 : 3) {
        int x = p[0] - '0';
        if (x < *left) *left = x;
        if (x > *right) *right = x;
    }
}

static float advance_of(const char *glyph)
{
    int left, right;
    if (*glyph == '\0') return 3.5f;
    glyph_columns(glyph, &left, &right);
    return (float)(right - left) + 2.1f;
}

float image_text_width(const char *text, float height)
{
    float width = 0.0f;
    for (; *text != '\0'; text++)
        width += advance_of(glyph_of(*text));
    return width * height / 8.0f;
}

static void draw_glyph(render_image *image, const char *glyph, float x, float baseline, float unit,
                       const uint8_t color[3])
{
    int left, right;
    float thick = 1.1f * unit < 1.2f ? 1.2f : 1.1f * unit;
    glyph_columns(glyph, &left, &right);
    for (const char *p = glyph; *p != '\0'; p += 3) {
        float x0 = x + unit * (float)(p[0] - '0' - left), y0 = baseline - unit * (float)(p[1] - '2');
        bool ends = p[2] != ' ';
        const char *q = ends ? p : p + 3;
        bool alone = ends && (p == glyph || p[-1] == ',');
        if (!ends || alone)
            image_line(image, x0, y0, x + unit * (float)(q[0] - '0' - left), baseline - unit * (float)(q[1] - '2'),
                       thick, color, 1.0f);
        if (p[2] == '\0') break;
    }
}

void image_text(render_image *image, float x, float baseline, float height, const uint8_t color[3], const char *text)
{
    float unit = height / 8.0f;
    for (; *text != '\0'; text++) {
        const char *glyph = glyph_of(*text);
        if (*glyph != '\0') draw_glyph(image, glyph, x, baseline, unit, color);
        x += unit * advance_of(glyph);
    }
}
