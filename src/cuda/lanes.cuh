/* lanes.cuh (internal) - lane types of base/simd.h for a GPU, where a lane is a thread: tetrahedron.h and prism.h
 * compile unchanged for the device. */
#ifndef SUP_CUDA_LANES_CUH
#define SUP_CUDA_LANES_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "solver/element.h"

#define SUP_LANES 1

typedef float sup_wide;
typedef bool sup_mask;

SUP_ELEMENT sup_wide sup_wide_splat(float x)
{
    return x;
}

SUP_ELEMENT sup_wide sup_wide_load(const float *from)
{
    return *from;
}

SUP_ELEMENT sup_mask sup_wide_less(sup_wide a, sup_wide b)
{
    return a < b;
}

SUP_ELEMENT sup_mask sup_mask_and(sup_mask a, sup_mask b)
{
    return a && b;
}

SUP_ELEMENT bool sup_mask_all(sup_mask mask)
{
    return mask;
}

SUP_ELEMENT sup_wide sup_wide_select(sup_mask mask, sup_wide yes, sup_wide no)
{
    return mask ? yes : no;
}

SUP_ELEMENT sup_wide sup_wide_fma(sup_wide a, sup_wide b, sup_wide c)
{
    return fmaf(a, b, c);
}

SUP_ELEMENT sup_wide sup_wide_sqrt(sup_wide a)
{
    return sqrtf(a);
}

/* The larger; b if one of them is NaN. */
SUP_ELEMENT sup_wide sup_wide_max(sup_wide a, sup_wide b)
{
    return b < a ? a : b;
}

SUP_ELEMENT sup_wide sup_wide_rough_reciprocal(sup_wide a)
{
    return 1.0f / a;
}

SUP_ELEMENT sup_wide sup_wide_inverse_sqrt(sup_wide a)
{
    return 1.0f / sqrtf(a);
}

/* One Jacobi rotation of a symmetric 4x4 matrix, eigenvectors in the columns of v. */
static __device__ void sup_jacobi_rotate(double k[4][4], double v[4][4], int p, int q)
{
    if (fabs(k[p][q]) < 1e-300) return;
    double theta = (k[q][q] - k[p][p]) / (2.0 * k[p][q]);
    double t = copysign(1.0, theta) / (fabs(theta) + sqrt(1.0 + theta * theta));
    double c = rsqrt(1.0 + t * t), s = c * t;
    for (int i = 0; i < 4; i++) {
        double a = k[i][p], b = k[i][q];
        k[i][p] = c * a - s * b;
        k[i][q] = s * a + c * b;
    }
    for (int i = 0; i < 4; i++) {
        double a = k[p][i], b = k[q][i];
        k[p][i] = c * a - s * b;
        k[q][i] = s * a + c * b;
        a = v[i][p], b = v[i][q];
        v[i][p] = c * a - s * b;
        v[i][q] = s * a + c * b;
    }
}

/* The quaternion x y z w of the rotation nearest to f (row-major), in double: the eigenvector of the largest
 * eigenvalue of the matrix whose quadratic form is tr(R(q)^T F) (P. Davenport's q method, 1968). For any finite F. */
static __device__ __noinline__ void sup_nearest_quaternion(const float *f, double q[4])
{
    double m[9], v[4][4], size = 0.0;
    for (int i = 0; i < 9; i++)
        size = fmax(size, fabs((double)f[i]));
    for (int i = 0; i < 9; i++)
        m[i] = size > 0.0 ? (double)f[i] / size : 0.0;
    double k[4][4] = {{m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6], m[7] - m[5]},
                      {m[1] + m[3], m[4] - m[0] - m[8], m[5] + m[7], m[2] - m[6]},
                      {m[2] + m[6], m[5] + m[7], m[8] - m[0] - m[4], m[3] - m[1]},
                      {m[7] - m[5], m[2] - m[6], m[3] - m[1], m[0] + m[4] + m[8]}};
    for (int i = 0; i < 16; i++)
        v[i / 4][i % 4] = i % 5 == 0 ? 1.0 : 0.0;
    for (int sweep = 0; sweep < 8; sweep++)
        for (int p = 0; p < 3; p++)
            for (int r = p + 1; r < 4; r++)
                sup_jacobi_rotate(k, v, p, r);
    int best = 3;
    for (int i = 0; i < 3; i++)
        if (k[i][i] > k[best][best]) best = i;
    for (int i = 0; i < 4; i++)
        q[i] = v[i][best];
}

/* One Jacobi rotation in float; p and q are compile-time constants, so that everything stays in registers. */
static __device__ __forceinline__ void sup_jacobi_rotate_fast(float k[4][4], float v[4][4], int p, int q)
{
    float off = k[p][q];
    if (fabsf(off) < 1e-12f) return;
    float theta = __fdividef(k[q][q] - k[p][p], 2.0f * off);
    float t = __fdividef(copysignf(1.0f, theta), fabsf(theta) + sqrtf(fmaf(theta, theta, 1.0f)));
    t = fabsf(theta) < 1e15f ? t : 0.0f;
    float c = rsqrtf(fmaf(t, t, 1.0f)), s = c * t;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float a = k[i][p], b = k[i][q];
        k[i][p] = c * a - s * b;
        k[i][q] = s * a + c * b;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float a = k[p][i], b = k[q][i];
        k[p][i] = c * a - s * b;
        k[q][i] = s * a + c * b;
        a = v[i][p], b = v[i][q];
        v[i][p] = c * a - s * b;
        v[i][q] = s * a + c * b;
    }
}

/* The same by Jacobi in float, where the largest eigenvalue is not simple: any of the nearest rotations. */
static __device__ __noinline__ void sup_any_nearest_quaternion(const double from[4][4], float q[4])
{
    float k[4][4], v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
#pragma unroll
    for (int i = 0; i < 16; i++)
        k[i / 4][i % 4] = (float)from[i / 4][i % 4];
#pragma unroll 1
    for (int sweep = 0; sweep < 6; sweep++) {
        sup_jacobi_rotate_fast(k, v, 0, 1);
        sup_jacobi_rotate_fast(k, v, 2, 3);
        sup_jacobi_rotate_fast(k, v, 0, 2);
        sup_jacobi_rotate_fast(k, v, 1, 3);
        sup_jacobi_rotate_fast(k, v, 0, 3);
        sup_jacobi_rotate_fast(k, v, 1, 2);
    }
    float best = k[3][3];
    q[0] = v[0][3], q[1] = v[1][3], q[2] = v[2][3], q[3] = v[3][3];
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (k[i][i] > best) best = k[i][i], q[0] = v[0][i], q[1] = v[1][i], q[2] = v[2][i], q[3] = v[3][i];
}

/* Determinant of rows a b c and columns d e f. */
static __device__ __forceinline__ double sup_minor(const double k[4][4], int a, int b, int c, int d, int e, int f)
{
    return k[a][d] * (k[b][e] * k[c][f] - k[b][f] * k[c][e]) - k[a][e] * (k[b][d] * k[c][f] - k[b][f] * k[c][d]) +
           k[a][f] * (k[b][d] * k[c][e] - k[b][e] * k[c][d]);
}

/* The rotation nearest to f: the largest root of the quartic of tetrahedron.h in double, then the eigenvector of the
 * q method from the cofactors. In many steps some element of a warp needs it while the others wait, so there is no
 * iteration on matrices. */
static __device__ __noinline__ void sup_nearest_rotation(const float f[9], float r[9])
{
    double m[9], square = 0.0, c = 0.0;
#pragma unroll
    for (int i = 0; i < 9; i++)
        square += (double)f[i] * (double)f[i];
    double over = square > 1e-60 ? rsqrt(square) : 0.0;
#pragma unroll
    for (int i = 0; i < 9; i++)
        m[i] = (double)f[i] * over;
    double d = 0.0;
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            int a = 3 * ((i + 1) % 3), b = 3 * ((i + 2) % 3), e = (j + 1) % 3, g = (j + 2) % 3;
            double cofactor = m[a + e] * m[b + g] - m[a + g] * m[b + e];
            c += cofactor * cofactor;
            if (i == 0) d += m[j] * cofactor;
        }
    /* Newton's iteration from above, mostly in float. It ends where the function value is lost in rounding: near a
     * double root, further steps are unreliable. */
    float rough = 1.7320508f;
#pragma unroll 1
    for (int step = 0; step < 16; step++) {
        float p = rough * rough - 1.0f, down = fmaxf(rough * p - 2.0f * (float)d, 1e-6f);
        float height = 0.25f * p * p - (2.0f * rough * (float)d + (float)c);
        if (!(height > 1e-5f)) break;
        rough -= __fdividef(height, down);
    }
    double l = (double)rough;
#pragma unroll 1
    for (int step = 0; step < 40; step++) {
        double p = l * l - 1.0, down = fmax(l * p - 2.0 * d, 1e-12), height = 0.25 * p * p - (2.0 * l * d + c);
        if (!(height > 1e-15)) break;
        l -= height / down;
    }
    double k[4][4] = {{m[0] - m[4] - m[8] - l, m[1] + m[3], m[2] + m[6], m[7] - m[5]},
                      {m[1] + m[3], m[4] - m[0] - m[8] - l, m[5] + m[7], m[2] - m[6]},
                      {m[2] + m[6], m[5] + m[7], m[8] - m[0] - m[4] - l, m[3] - m[1]},
                      {m[7] - m[5], m[2] - m[6], m[3] - m[1], m[0] + m[4] + m[8] - l}};
    const double own[4] = {fabs(sup_minor(k, 1, 2, 3, 1, 2, 3)), fabs(sup_minor(k, 0, 2, 3, 0, 2, 3)),
                           fabs(sup_minor(k, 0, 1, 3, 0, 1, 3)), fabs(sup_minor(k, 0, 1, 2, 0, 1, 2))};
    float q[4];
    double largest = fmax(fmax(own[0], own[1]), fmax(own[2], own[3]));
    if (!(largest > 1e-10)) {
        k[0][0] += l, k[1][1] += l, k[2][2] += l, k[3][3] += l;
        sup_any_nearest_quaternion(k, q);
    } else if (own[3] == largest) {
        q[0] = (float)-sup_minor(k, 0, 1, 2, 1, 2, 3), q[1] = (float)sup_minor(k, 0, 1, 2, 0, 2, 3);
        q[2] = (float)-sup_minor(k, 0, 1, 2, 0, 1, 3), q[3] = (float)sup_minor(k, 0, 1, 2, 0, 1, 2);
    } else if (own[2] == largest) {
        q[0] = (float)sup_minor(k, 0, 1, 3, 1, 2, 3), q[1] = (float)-sup_minor(k, 0, 1, 3, 0, 2, 3);
        q[2] = (float)sup_minor(k, 0, 1, 3, 0, 1, 3), q[3] = (float)-sup_minor(k, 0, 1, 3, 0, 1, 2);
    } else if (own[1] == largest) {
        q[0] = (float)-sup_minor(k, 0, 2, 3, 1, 2, 3), q[1] = (float)sup_minor(k, 0, 2, 3, 0, 2, 3);
        q[2] = (float)-sup_minor(k, 0, 2, 3, 0, 1, 3), q[3] = (float)sup_minor(k, 0, 2, 3, 0, 1, 2);
    } else {
        q[0] = (float)sup_minor(k, 1, 2, 3, 1, 2, 3), q[1] = (float)-sup_minor(k, 1, 2, 3, 0, 2, 3);
        q[2] = (float)sup_minor(k, 1, 2, 3, 0, 1, 3), q[3] = (float)-sup_minor(k, 1, 2, 3, 0, 1, 2);
    }
    float x = q[0], y = q[1], z = q[2], w = q[3], s = 2.0f / (x * x + y * y + z * z + w * w);
    r[0] = 1 - s * (y * y + z * z), r[1] = s * (x * y - w * z), r[2] = s * (x * z + w * y);
    r[3] = s * (x * y + w * z), r[4] = 1 - s * (x * x + z * z), r[5] = s * (y * z - w * x);
    r[6] = s * (x * z - w * y), r[7] = s * (y * z + w * x), r[8] = 1 - s * (x * x + y * y);
}

/* Where the closed form of tetrahedron.h is not safe: returns NaN, and the caller computes the rotation separately.
 * A call on the common path would cost registers. */
SUP_ELEMENT void sup_rotation_exact(const float f[9], sup_mask good, float r[9])
{
    (void)f;
    if (!good) r[0] = __int_as_float(0x7fffffff);
}

#endif
