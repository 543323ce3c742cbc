/* controllers.c - curves over an angle, interpolated from points.
 *
 * Based on: [vaillant2014iso] figure 4. Between points the curve is a cubic Hermite spline with the slopes of Fritsch
 * and Butland's monotone interpolation, so it is C1 and does not overshoot. */
#include "methods/implicit/controllers.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static const sup_controller_preset presets[SUP_CONTROLLER_PRESETS] = {
    /* figure 4 (a): no contact up to a right angle */
    {"elbow", "contact beyond a right angle", 2, {{90.0, 0.0}, {180.0, 1.0}}},
    /* figure 4 (b): contact from small angles on */
    {"finger", "contact and bulge from small angles", 3, {{10.0, 0.0}, {70.0, 0.6}, {140.0, 1.0}}},
    {"hip", "contact only at large angles: shallow folds of wide limbs", 2, {{120.0, 0.0}, {180.0, 1.0}}},
    {"early", "contact from 45 degrees: deep folds", 2, {{45.0, 0.0}, {135.0, 1.0}}},
    {"none", "no contact: the clean union", 1, {{0.0, 0.0}}},
};

const sup_controller_preset *sup_controller_preset_at(int32_t index)
{
    return index >= 0 && index < SUP_CONTROLLER_PRESETS ? &presets[index] : NULL;
}

/* Slope at a point between two intervals: 0 at extrema, else a weighted harmonic mean. */
static double slope_between(double left, double right, double left_width, double right_width)
{
    if (left * right <= 0.0) return 0.0;
    double weight = (left_width + 2.0 * right_width) / (3.0 * (left_width + right_width));
    return left * right / (weight * right + (1.0 - weight) * left);
}

static double interval_slope(const sup_controller_point *points, int32_t i)
{
    return (points[i + 1].value - points[i].value) / (points[i + 1].angle - points[i].angle);
}

static double slope_at(const sup_controller_point *points, int32_t count, int32_t i)
{
    if (i == 0 || i == count - 1) return 0.0; /* constant outside */
    return slope_between(interval_slope(points, i - 1), interval_slope(points, i),
                         points[i].angle - points[i - 1].angle, points[i + 1].angle - points[i].angle);
}

bool sup_controller_make(const sup_controller_point *points, int32_t count, float *curve)
{
    if (count < 1 || count > SUP_CONTROLLER_POINTS) return false;
    for (int32_t i = 0; i < count; i++)
        if (!(points[i].angle >= 0.0 && points[i].angle <= 180.0 && isfinite(points[i].value)) ||
            (i > 0 && !(points[i].angle > points[i - 1].angle)))
            return false;
    int32_t interval = 0;
    for (int32_t k = 0; k < SUP_CONTROLLER_SIZE; k++) {
        double angle = 180.0 * k / (SUP_CONTROLLER_SIZE - 1);
        while (interval + 2 < count && points[interval + 1].angle <= angle)
            interval++;
        const sup_controller_point *a = &points[interval], *b = &points[interval + 1 < count ? interval + 1 : interval];
        double value = angle <= a->angle ? a->value : b->value;
        if (angle > a->angle && angle < b->angle) {
            double width = b->angle - a->angle, t = (angle - a->angle) / width, s = 1.0 - t;
            value = s * s * (1.0 + 2.0 * t) * a->value + t * t * (1.0 + 2.0 * s) * b->value +
                    width * s * t * (s * slope_at(points, count, interval) - t * slope_at(points, count, interval + 1));
        }
        curve[k] = (float)value;
    }
    return true;
}

float sup_controller_at(const float *curve, float angle)
{
    float x = angle * (float)((SUP_CONTROLLER_SIZE - 1) / pi);
    if (!(x > 0.0f)) return curve[0];
    if (x >= (float)(SUP_CONTROLLER_SIZE - 1)) return curve[SUP_CONTROLLER_SIZE - 1];
    int32_t i = (int32_t)x;
    float t = x - (float)i;
    return curve[i] + t * (curve[i + 1] - curve[i]);
}
