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

/* One Jacobi rotation in float; p and q are constants where it is called, so that all stays in registers. */
static __device__ __forceinline__ void sup_turn_pair_fast(float k[4][4], float v[4][4], int p, int q)
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

/* The rotation itself, the same way in float: some element of a warp needs it in many a step, and the others wait. */
static __device__ __noinline__ void sup_nearest_rotation(const float f[9], float r[9])
{
    float m[9], v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, size = 1e-30f;
#pragma unroll
    for (int i = 0; i < 9; i++)
        size = fmaxf(size, fabsf(f[i]));
#pragma unroll
    for (int i = 0; i < 9; i++)
        m[i] = f[i] / size;
    float k[4][4] = {{m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6], m[7] - m[5]},
                     {m[1] + m[3], m[4] - m[0] - m[8], m[5] + m[7], m[2] - m[6]},
                     {m[2] + m[6], m[5] + m[7], m[8] - m[0] - m[4], m[3] - m[1]},
                     {m[7] - m[5], m[2] - m[6], m[3] - m[1], m[0] + m[4] + m[8]}};
#pragma unroll 1
    for (int sweep = 0; sweep < 6; sweep++) {
        float off = fabsf(k[0][1]) + fabsf(k[0][2]) + fabsf(k[0][3]) + fabsf(k[1][2]) + fabsf(k[1][3]) + fabsf(k[2][3]);
        if (off < 1e-7f) break;
        sup_turn_pair_fast(k, v, 0, 1);
        sup_turn_pair_fast(k, v, 2, 3);
        sup_turn_pair_fast(k, v, 0, 2);
        sup_turn_pair_fast(k, v, 1, 3);
        sup_turn_pair_fast(k, v, 0, 3);
        sup_turn_pair_fast(k, v, 1, 2);
    }
    float best = k[3][3], x = v[0][3], y = v[1][3], z = v[2][3], w = v[3][3];
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (k[i][i] > best) best = k[i][i], x = v[0][i], y = v[1][i], z = v[2][i], w = v[3][i];
    float s = 2.0f / (x * x + y * y + z * z + w * w);
    r[0] = 1 - s * (y * y + z * z), r[1] = s * (x * y - w * z), r[2] = s * (x * z + w * y);
    r[3] = s * (x * y + w * z), r[4] = 1 - s * (x * x + z * z), r[5] = s * (y * z - w * x);
    r[6] = s * (x * z - w * y), r[7] = s * (y * z + w * x), r[8] = 1 - s * (x * x + y * y);
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
