/* lanes.cuh (internal) - the lane types of base/simd.h for a GPU: a lane is a thread. Lets elements.h and prism.h compile
 * for the device as they are. */
#ifndef SUP_CUDA_LANES_CUH
#define SUP_CUDA_LANES_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#define SUP_LANES 1
#define SUP_ELEMENT static __device__ __forceinline__

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

/* One Jacobi rotation of a symmetric 4x4 matrix, eigenvectors in the columns of v. */
static __device__ void sup_turn_pair(double k[4][4], double v[4][4], int p, int q)
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

/* The quaternion x y z w of the rotation nearest to f (row-major), in double: the eigenvector of the largest eigenvalue
 * of the matrix whose quadratic form is tr(R(q)^T F) (P. Davenport's q method, 1968). For any finite F. */
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
                sup_turn_pair(k, v, p, r);
    int best = 3;
    for (int i = 0; i < 3; i++)
        if (k[i][i] > k[best][best]) best = i;
    for (int i = 0; i < 4; i++)
        q[i] = v[i][best];
}

/* The rotation itself. */
static __device__ __noinline__ void sup_nearest_rotation(const float f[9], float r[9])
{
    double q[4];
    sup_nearest_quaternion(f, q);
    double x = q[0], y = q[1], z = q[2], w = q[3];
    r[0] = (float)(1 - 2 * (y * y + z * z)), r[1] = (float)(2 * (x * y - w * z)), r[2] = (float)(2 * (x * z + w * y));
    r[3] = (float)(2 * (x * y + w * z)), r[4] = (float)(1 - 2 * (x * x + z * z)), r[5] = (float)(2 * (y * z - w * x));
    r[6] = (float)(2 * (x * z - w * y)), r[7] = (float)(2 * (y * z + w * x)), r[8] = (float)(1 - 2 * (x * x + y * y));
}

/* Where the closed form of elements.h is not safe. Copies go to the call, so that f and r stay in registers. */
SUP_ELEMENT void sup_rotation_mend(const float f[9], sup_mask good, float r[9])
{
    float from[9], to[9];
    if (good) return;
    for (int i = 0; i < 9; i++)
        from[i] = f[i];
    sup_nearest_rotation(from, to);
    for (int i = 0; i < 9; i++)
        r[i] = to[i];
}

#endif
