/* math.h - vector, quaternion and transform types of the API. Right-handed coordinates; column vectors; float. */
#ifndef SUPPLE_MATH_H
#define SUPPLE_MATH_H

#include "supple/base.h"

typedef struct sup_vec3 {
    float x, y, z;
} sup_vec3;

/* Unit quaternion, w last as in glTF. */
typedef struct sup_quat {
    float x, y, z, w;
} sup_quat;

/* Affine transform, 3x4 matrix, row-major: y_r = m[4r] x_0 + m[4r+1] x_1 + m[4r+2] x_2 + m[4r+3]. */
typedef struct sup_mat34 {
    float m[12];
} sup_mat34;

/* x -> translation + rotation * (scale .* x): the local transform of a node. */
typedef struct sup_transform {
    sup_vec3 translation;
    sup_quat rotation;
    sup_vec3 scale;
} sup_transform;

SUP_API sup_transform sup_transform_identity(void);
SUP_API sup_mat34 sup_mat34_identity(void);
SUP_API sup_mat34 sup_mat34_from_transform(sup_transform transform);
/* a * b: applies b first, then a. */
SUP_API sup_mat34 sup_mat34_multiply(sup_mat34 a, sup_mat34 b);
/* Returns false and writes the identity if `m` is singular. */
SUP_API bool sup_mat34_inverse(sup_mat34 m, sup_mat34 *inverse);
SUP_API sup_vec3 sup_mat34_transform_point(sup_mat34 m, sup_vec3 p);

#endif
