/* controllers.h (internal) - curves over 0 to 180 degrees that map the angle between two gradients to an operator's d.
 *
 * Based on: [vaillant2014iso] section 4.1, figure 4, which shows the two curves without numbers.
 *
 * 0 is the clean union, 1 the full contact. The same kind of curve maps the angle of a joint to a muscle's scale. */
#ifndef SUP_METHODS_IMPLICIT_CONTROLLERS_H
#define SUP_METHODS_IMPLICIT_CONTROLLERS_H

#include "base/base.h"

enum {
    SUP_CONTROLLER_SIZE = 129, /* floats of a curve: values at uniform angles from 0 to pi, interpolated linearly */
    SUP_CONTROLLER_POINTS = 32 /* maximum number of points of a user-defined curve */
};

typedef struct sup_controller_point {
    double angle; /* degrees */
    double value;
} sup_controller_point;

/* A curve through points with increasing angles; constant before the first and after the last point, monotone between
 * neighbouring points. Returns false if there are no points or too many, or if the angles do not increase within 0 to
 * 180. */
bool sup_controller_make(const sup_controller_point *points, int32_t count, float *curve);
/* Value at an angle in radians, which is clamped to [0, pi]. */
float sup_controller_at(const float *curve, float angle);

typedef struct sup_controller_preset {
    const char *name, *help;
    int32_t count;
    sup_controller_point points[4];
} sup_controller_preset;

enum { SUP_CONTROLLER_PRESETS = 5, SUP_CONTROLLER_ELBOW = 0 };
const sup_controller_preset *sup_controller_preset_at(int32_t index);

#endif
