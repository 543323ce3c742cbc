/* controllers.h (internal) - how an operator's d follows the angle between two gradients: curves over 0 to 180 degrees.
 *
 * Based on: [vaillant2014iso] section 4.1, figure 4, which shows the two curves without numbers.
 *
 * 0 is the clean union, 1 the full contact. The same curves say how a muscle's scale follows the angle of a joint. */
#ifndef SUP_METHODS_IMPLICIT_CONTROLLERS_H
#define SUP_METHODS_IMPLICIT_CONTROLLERS_H

#include "base/base.h"

enum {
    SUP_CONTROLLER_SIZE = 129, /* floats of a curve: values at even angles from 0 to pi, read linearly */
    SUP_CONTROLLER_POINTS = 32 /* most points that a person may give */
};

typedef struct sup_controller_point {
    double angle; /* degrees */
    double value;
} sup_controller_point;

/* A curve through points with rising angles; level before the first and after the last, never beyond the values of
 * neighbouring points between them. False when there are none or too many, or they do not rise from 0 to 180. */
bool sup_controller_make(const sup_controller_point *points, int32_t count, float *curve);
/* At an angle in radians; clamped to the curve. */
float sup_controller_at(const float *curve, float angle);

typedef struct sup_controller_preset {
    const char *name, *help;
    int32_t count;
    sup_controller_point points[4];
} sup_controller_preset;

enum { SUP_CONTROLLER_PRESETS = 5, SUP_CONTROLLER_ELBOW = 0 };
const sup_controller_preset *sup_controller_preset_at(int32_t index);

#endif
