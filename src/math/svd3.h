/* svd3.h (internal) - singular values and rotations of small matrices in double, row-major. */
#ifndef SUP_MATH_SVD3_H
#define SUP_MATH_SVD3_H

/* m = U diag(s) V^T with U and V rotations: s[0] >= s[1] >= |s[2]|, and s[2] is negative where m mirrors. Also for flat and
 * zero matrices; finite in, finite out. */
void sup_svd3(const double m[9], double u[9], double s[3], double v[9]);

/* The rotation next to m: U V^T. */
void sup_svd3_rotation(const double u[9], const double v[9], double rotation[9]);

#endif
