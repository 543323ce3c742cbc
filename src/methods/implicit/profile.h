/* profile.h (internal) - the curve along which an operator is 0.5: it defines the operator.
 *
 * Based on: [vaillant2014iso] section 4.2, "free-form composition operators".
 *
 * Operators are symmetric, so a profile is drawn only in the half f1 >= f2 of the unit square: from the axis at (0.5,
 * 0) to the diagonal f1 = f2. It may continue along the diagonal: that part is the contact surface. */
#ifndef SUP_METHODS_IMPLICIT_PROFILE_H
#define SUP_METHODS_IMPLICIT_PROFILE_H

#include "base/base.h"

enum { SUP_PROFILE_POINTS = 65 };

typedef struct sup_profile {
    double points[SUP_PROFILE_POINTS]
                 [2]; /* f1 f2, uniformly along the curve, from (0.5, 0) to the diagonal; for d = 1 */
    double contact;   /* f1 = f2 where the contact surface ends for d = 1; none if not beyond the last point */
} sup_profile;

/* The straight line of the clean union and the contact operator, with the longest contact surface. */
sup_profile sup_profile_contact(void);
/* Inflates the limbs before they touch: a cubic B-spline. */
sup_profile sup_profile_bulge(void);

/* From text: an SVG path (M L H V C S Q T Z, upper or lower case) or numbers "f1 f2 f1 f2 ..." over any number of
 * lines, '#' starts a comment. A curve that starts at (0, 0.5) is mirrored. Errors name the line and the column; `line`
 * is the number of the first line of the text, 1 for a whole file. */
sup_result sup_profile_parse(const char *text, size_t size, int32_t line, sup_profile *profile, sup_error *error);

#endif
