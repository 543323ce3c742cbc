/* polar.h (internal) - the rotation nearest to a 3x3 matrix, in double: Newton's iteration, singular value
 * decomposition if that fails. Reference of the float kernels, which call it for elements that are nearly singular.
 * Matrices are row-major. */
#ifndef SUP_MATH_POLAR_H
#define SUP_MATH_POLAR_H

/* F = U diag(s) V^T; s descending, >= 0; U and V orthogonal for every finite F, including zero. */
void sup_svd3(const double f[9], double u[9], double s[3], double v[9]);
/* R of F = R S with det R = +1: for inverted F the axis of the smallest singular value is flipped. A rotation for every
 * finite F; the identity for F = 0. */
void sup_polar_rotation(const double f[9], double r[9]);
/* The same by singular value decomposition. */
void sup_polar_rotation_svd(const double f[9], double r[9]);
/* F = U diag(s) V^T with rotations U and V: s[2] is negative if det F < 0. */
void sup_svd3_signed(const double f[9], double u[9], double s[3], double v[9]);
/* Lane `lane` of wide matrices with `lanes` lanes: component c is at [c * lanes + lane]. */
void sup_polar_rotation_lane(const float *f, float *r, int lanes, int lane);

#endif
