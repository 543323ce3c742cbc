/* svg.c - SVG plots of values over frames. */
#include "svg.h"

#include <math.h>

enum { WIDTH = 640, HEIGHT = 220, LEFT = 62, RIGHT = 12, TOP = 14, BOTTOM = 30, MAX_TICKS = 5 };

void app_html_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' || c < 0x20)
            fprintf(file, "&#%d;", c < 0x20 ? '?' : c);
        else
            fputc(c, file);
    }
}

typedef struct scale {
    double low, high, step;
} scale;

/* Tick distance: 1, 2 or 5 times a power of ten, with at most MAX_TICKS ticks over the range. */
static double nice_step(double range)
{
    double power = pow(10.0, floor(log10(range / MAX_TICKS)));
    for (int i = 0; i < 4; i++) {
        static const double factors[4] = {1.0, 2.0, 5.0, 10.0};
        if (range / (factors[i] * power) <= MAX_TICKS) return factors[i] * power;
    }
    return 10.0 * power;
}

static double value_of(const app_series *series, int32_t i)
{
    return series->values[(int64_t)i * series->stride];
}

static scale find_scale(const app_plot *plot)
{
    scale s = {INFINITY, -INFINITY, 1.0};
    for (int32_t k = 0; k < plot->series_count; k++)
        for (int32_t i = 0; i < plot->count; i++) {
            double v = value_of(&plot->series[k], i);
            if (!isfinite(v)) continue;
            s.low = fmin(s.low, v);
            s.high = fmax(s.high, v);
        }
    if (isfinite(plot->ideal)) {
        s.low = fmin(s.low, plot->ideal);
        s.high = fmax(s.high, plot->ideal);
    }
    if (!(s.low <= s.high)) s.low = 0.0, s.high = 1.0;
    double min_range = 1e-6 + 1e-3 * fmax(fabs(s.low), fabs(s.high)); /* show noise as a flat line */
    if (s.high - s.low < min_range) {
        s.high += 0.5 * min_range;
        s.low -= 0.5 * min_range;
    }
    s.step = nice_step(s.high - s.low);
    s.low = s.step * floor(s.low / s.step + 1e-9);
    s.high = s.step * ceil(s.high / s.step - 1e-9);
    return s;
}

static double x_of(const app_plot *plot, double i)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * i / (plot->count > 1 ? (double)(plot->count - 1) : 1.0);
}

static double y_of(const scale *s, double value)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - s->low) / (s->high - s->low);
}

static void draw_grid(FILE *file, const app_plot *plot, const scale *s)
{
    int ticks = (int)lrint((s->high - s->low) / s->step);
    for (int i = 0; i <= ticks; i++) {
        double value = s->low + s->step * i, y = y_of(s, value);
        fprintf(file, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT, y, WIDTH - RIGHT, y);
        fprintf(file, "<text class=\"label\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6, y + 4.0,
                fabs(value) < 1e-9 * s->step ? 0.0 : value);
    }
    double step = plot->count > 1 ? fmax(1.0, nice_step(plot->count - 1)) : 1.0;
    for (double f = step * ceil(plot->first / step); f <= plot->first + plot->count - 1; f += step)
        fprintf(file, "<text class=\"label\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                x_of(plot, f - plot->first), HEIGHT - BOTTOM + 16, f);
    fprintf(file, "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", LEFT, HEIGHT - BOTTOM,
            WIDTH - RIGHT, HEIGHT - BOTTOM);
}

/* A line for each run of finite numbers; a run of one frame is a dot. */
static void draw_series(FILE *file, const app_plot *plot, const scale *s, int32_t k)
{
    const app_series *series = &plot->series[k];
    for (int32_t i = 0; i < plot->count; i++) {
        if (!isfinite(value_of(series, i))) continue;
        int32_t last = i;
        while (last + 1 < plot->count && isfinite(value_of(series, last + 1)))
            last++;
        if (last == i) {
            fprintf(file, "<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", (int)(k % 8),
                    x_of(plot, i), y_of(s, value_of(series, i)));
        } else {
            fprintf(file, "<polyline class=\"line s%d\" points=\"", (int)(k % 8));
            for (int32_t j = i; j <= last; j++)
                fprintf(file, "%.1f,%.1f ", x_of(plot, j), y_of(s, value_of(series, j)));
            fprintf(file, "\"><title>");
            app_html_text(file, series->name);
            fprintf(file, "</title></polyline>\n");
        }
        i = last;
    }
}

void app_svg_plot(FILE *file, const app_plot *plot)
{
    scale s = find_scale(plot);
    fprintf(file, "<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    app_html_text(file, plot->title);
    fprintf(file, "\">\n");
    draw_grid(file, plot, &s);
    if (isfinite(plot->ideal)) {
        double y = y_of(&s, plot->ideal);
        fprintf(file, "<line class=\"ideal\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, y, WIDTH - RIGHT,
                y);
    }
    if (plot->mark >= 0) {
        double x = x_of(plot, plot->mark);
        fprintf(file, "<line class=\"mark\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", x, TOP, x,
                HEIGHT - BOTTOM);
    }
    for (int32_t k = 0; k < plot->series_count; k++)
        draw_series(file, plot, &s, k);
    fprintf(file, "</svg>\n");
}
