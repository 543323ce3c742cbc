/* svg.h - SVG plots of values over frames; the style sheet of the page defines the colors. */
#ifndef APP_SVG_H
#define APP_SVG_H

#include <stdint.h>
#include <stdio.h>

typedef struct app_series {
    const char *name;
    const double *values; /* [count], every `stride`-th double; NaN leaves a gap */
    int32_t stride;
} app_series;

typedef struct app_plot {
    const char *title, *help;
    int32_t first, count; /* frames along x */
    int32_t mark;         /* frame with a line through it, -1 for none */
    double ideal;         /* a dashed line, NaN for none */
    const app_series *series;
    int32_t series_count;
} app_plot;

/* Writes an <svg> element with the classes plot, axis, grid, label, ideal, mark, and s0 to s7 for the series; the page
 * styles them for light and dark themes. */
void app_svg_plot(FILE *file, const app_plot *plot);
/* Writes text with HTML special characters escaped. */
void app_html_text(FILE *file, const char *text);

#endif
