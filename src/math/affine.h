/* affine.h (internal) - quaternions and affine maps in double, so that long joint chains do not accumulate error. */
#ifndef SUP_MATH_AFFINE_H
#define SUP_MATH_AFFINE_H

#include "math/vec3.h"

typedef struct sup_quatd {
    double x, y, z, w;
} sup_quatd;

/* Rows of [A | t], row-major, as sup_mat34. */
typedef struct sup_affine {
    double m[12];
} sup_affine;

sup_quatd sup_quatd_from_float(sup_quat q); /* normalised; identity for length 0 */
sup_quat sup_quatd_to_float(sup_quatd q);
sup_quatd sup_quatd_normalise(sup_quatd q); /* identity for length 0 */
sup_quatd sup_quatd_multiply(sup_quatd a, sup_quatd b);
sup_quatd sup_quatd_conjugate(sup_quatd q);
sup_vec3d sup_quatd_rotate(sup_quatd q, sup_vec3d v);
sup_quatd sup_quatd_from_axis_angle(sup_vec3d axis, double angle); /* identity for a zero axis */
sup_quatd sup_quatd_between(sup_vec3d from, sup_vec3d to);         /* shortest rotation; need not be unit vectors */
sup_quatd sup_quatd_slerp(sup_quatd a, sup_quatd b, double t);     /* along the shorter arc */

sup_affine sup_affine_identity(void);
sup_affine sup_affine_from_trs(sup_vec3d t, sup_quatd r, sup_vec3d s);
sup_affine sup_affine_from_transform(sup_transform transform);
sup_affine sup_affine_from_float(sup_mat34 m);
sup_mat34 sup_affine_to_float(sup_affine a);
sup_affine sup_affine_multiply(sup_affine a, sup_affine b); /* a * b: applies b first */
bool sup_affine_inverse(sup_affine a, sup_affine *inverse); /* false and identity if singular or not finite */
double sup_affine_determinant(sup_affine a);
bool sup_affine_finite(sup_affine a);
sup_vec3d sup_affine_point(sup_affine a, sup_vec3d p);
sup_vec3d sup_affine_vector(sup_affine a, sup_vec3d v);
sup_vec3d sup_affine_translation(sup_affine a);

/* Polar decomposition A = R S of the linear part: R is a rotation (det +1), S = R^T A has scale, shear and reflection.
 * Returns false with R = identity if A is singular. */
bool sup_affine_polar(sup_affine a, sup_quatd *rotation, double stretch[9]);
/* Interpolates from a (t = 0) to b (t = 1): rotation by slerp, stretch and translation linearly. b if one is
 * singular. */
sup_affine sup_affine_between(sup_affine a, sup_affine b, double t);
/* Translation, rotation and scale of a matrix; `shear` (may be NULL) is the relative error of that decomposition. A
 * matrix with a reflection has one negative scale. */
sup_transform sup_affine_decompose(sup_affine a, double *shear);

#endif
