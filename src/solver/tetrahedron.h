/* tetrahedron.h (internal) - the arithmetic of one tetrahedron, SUP_LANES of them at a time.
 *
 * Based on: [komaritzan2022] eq. 2.15 and 2.16. F = sum_k e_k g_k^T over three edges e_k from a common corner, g_k
 * the columns of the inverse rest edge matrix (the gradients of the hat functions); W = w/2 |F - R|^2 with w =
 * stiffness * volume; dW/de_k = w (F - R) g_k, since R is the nearest rotation and so adds nothing.
 *
 * The rotation needs no initial value and no iteration on matrices. With singular values a, b, c of F (c < 0 when
 * inverted), l = a + b + c = tr(R^T F) is the largest root of
 *     (l^2 - I)^2 - 8 l det F - 4 |cof F|^2 = 0,   I = |F|^2,
 * which Newton's iteration finds from above, from sqrt(3 I), staying on the side where the quartic is convex; then
 *     R = [(l^2 + I) F + 2 l cof F - 2 F F^T F] / (l (l^2 - I) - 2 det F).
 * The denominator is 2 (a + b) (b + c) (a + c): zero exactly where the nearest rotation is not unique. Elements
 * near such a case, F = 0 among them, are computed in double, lane by lane. Deviation: the thesis uses Newton's
 * iteration on R with a singular value decomposition for inverted elements; the result is the same, this is faster. */
#ifndef SUP_SOLVER_TETRAHEDRON_H
#define SUP_SOLVER_TETRAHEDRON_H

#include "solver/element.h"

#if !defined(__CUDACC__) /* on a GPU the includer defines one lane and sup_rotation_exact */
#include "base/simd.h"
#include "math/polar.h"
#endif

typedef struct sup_wide3 {
    sup_wide x, y, z;
} sup_wide3;

SUP_ELEMENT sup_wide3 sup_wide3_sub(sup_wide3 a, sup_wide3 b)
{
    return (sup_wide3){a.x - b.x, a.y - b.y, a.z - b.z};
}

/* a + m v, m row-major */
SUP_ELEMENT sup_wide3 sup_wide3_apply(const sup_wide m[9], sup_wide3 v, sup_wide3 a)
{
    return (sup_wide3){
        sup_wide_fma(m[2], v.z, sup_wide_fma(m[1], v.y, sup_wide_fma(m[0], v.x, a.x))),
        sup_wide_fma(m[5], v.z, sup_wide_fma(m[4], v.y, sup_wide_fma(m[3], v.x, a.y))),
        sup_wide_fma(m[8], v.z, sup_wide_fma(m[7], v.y, sup_wide_fma(m[6], v.x, a.z))),
    };
}

/* m + e g^T */
SUP_ELEMENT void sup_wide3_outer(sup_wide3 e, sup_wide3 g, sup_wide m[9])
{
    const sup_wide row[3] = {e.x, e.y, e.z}, column[3] = {g.x, g.y, g.z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[3 * i + j] = sup_wide_fma(row[i], column[j], m[3 * i + j]);
}

SUP_ELEMENT void sup_element_cofactor(const sup_wide f[9], sup_wide c[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, d = (j + 1) % 3, e = (j + 2) % 3;
            c[3 * i + j] = sup_wide_fma(f[3 * a + d], f[3 * b + e], -(f[3 * a + e] * f[3 * b + d]));
        }
}

SUP_ELEMENT sup_wide sup_element_square(const sup_wide f[9])
{
    sup_wide sum = f[0] * f[0];
    for (int i = 1; i < 9; i++)
        sum = sup_wide_fma(f[i], f[i], sum);
    return sum;
}

/* Intermediate values of the rotation of a matrix, computed in three stages, so that the stages of several matrices
 * can be interleaved; the second is a chain of dependent divisions with a high latency. */
typedef struct sup_rotation {
    sup_wide square, scale; /* |F|^2, 1 / |F| */
    sup_wide d, c;          /* determinant and |cofactor|^2 of F / |F| */
    sup_wide l, slope;      /* the root, and a quarter of the quartic's derivative there, for F / |F| */
    sup_wide gram[6];       /* F^T F: 00 11 22 01 02 12 */
} sup_rotation;

/* First stage: invariants, and the first of Newton's steps on (l^2 - 1)^2 - 8 l d - 4 c, which starts from sqrt 3. */
SUP_ELEMENT sup_rotation sup_rotation_begin(const sup_wide f[9])
{
    const sup_wide tiny = sup_wide_splat(1e-30f), half = sup_wide_splat(0.5f), start = sup_wide_splat(1.7320508f);
    sup_rotation q;
    for (int k = 0; k < 6; k++) {
        int i = k < 3 ? k : k < 5 ? 0 : 1, j = k < 3 ? k : k < 5 ? k - 2 : 2;
        q.gram[k] = sup_wide_fma(f[6 + i], f[6 + j], sup_wide_fma(f[3 + i], f[3 + j], f[i] * f[j]));
    }
    q.square = q.gram[0] + q.gram[1] + q.gram[2];
    q.scale = sup_wide_inverse_sqrt(sup_wide_max(q.square, tiny));
    sup_wide two = q.scale * q.scale, cofactor[9];
    sup_element_cofactor(f, cofactor);
    q.d = sup_wide_fma(f[2], cofactor[2], sup_wide_fma(f[1], cofactor[1], f[0] * cofactor[0])) * (two * q.scale);
    q.c = sup_element_square(cofactor) * (two * two);
    sup_wide height = sup_wide_splat(1.0f) - sup_wide_fma(start + start, q.d, q.c), down = start - q.d;
    q.l = sup_wide_fma(height, -half * sup_wide_rough_reciprocal(down), start);
    q.slope = q.l;
    return q;
}

/* One Newton step on (l^2 - 1)^2 - 8 l d - 4 c; returns the square of its length. */
SUP_ELEMENT sup_wide sup_rotation_newton(sup_rotation *q)
{
    const sup_wide one = sup_wide_splat(1.0f), least = sup_wide_splat(1e-6f);
    sup_wide p = sup_wide_fma(q->l, q->l, -one);
    sup_wide down = sup_wide_fma(q->l, p, -(q->d + q->d)); /* a quarter of the derivative */
    down = sup_wide_max(down, least);
    sup_wide height = sup_wide_fma(p * sup_wide_splat(0.25f), p, -sup_wide_fma(q->l + q->l, q->d, q->c));
    sup_wide move = height * sup_wide_rough_reciprocal(down);
    q->l = q->l - move;
    return move * move;
}

/* Second stage: the roots of `count` matrices. Newton's steps shrink quadratically: after one below 5e-4 the error is
 * below 4e-7. Slow convergence means a double root, which is handled below. */
SUP_ELEMENT void sup_rotation_solve(sup_rotation *q, int count)
{
    const sup_wide close = sup_wide_splat(1e-8f), one = sup_wide_splat(1.0f);
#pragma GCC unroll 1
    for (int step = 1; step < 8; step++) {
        sup_mask done = sup_wide_less(sup_rotation_newton(&q[0]), close);
        for (int k = 1; k < count; k++)
            done = sup_mask_and(done, sup_wide_less(sup_rotation_newton(&q[k]), close));
        if (sup_mask_all(done)) break;
    }
    for (int k = 0; k < count; k++)
        q[k].slope = sup_wide_fma(q[k].l, sup_wide_fma(q[k].l, q[k].l, -one), -(q[k].d + q[k].d));
}

#if !defined(__CUDACC__)
/* In double, for the lanes where `good` is false. Not inlined: it is rare. */
static __attribute__((noinline)) void sup_rotation_exact(const sup_wide f[9], sup_mask good, sup_wide r[9])
{
    for (int lane = 0; lane < SUP_LANES; lane++)
        if (!sup_mask_lane(good, lane)) sup_polar_rotation_lane((const float *)f, (float *)r, SUP_LANES, lane);
}
#endif

/* Third stage: R = F (a - b F^T F) + c cof F. */
SUP_ELEMENT void sup_rotation_end(const sup_rotation *q, const sup_wide f[9], sup_wide r[9])
{
    const sup_wide one = sup_wide_splat(1.0f);
    static const int entry[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};
    sup_wide cofactor[9], m[6], a, b, c;
    sup_wide inverse = q->scale / q->slope; /* 1 / (|F| slope) */
    sup_wide over = inverse * q->scale;
    a = sup_wide_fma(q->l, q->l, one) * inverse;
    c = (q->l + q->l) * over;
    b = -((over + over) * q->scale);
    for (int k = 0; k < 6; k++)
        m[k] = k < 3 ? sup_wide_fma(b, q->gram[k], a) : b * q->gram[k];
    sup_element_cofactor(f, cofactor);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            sup_wide sum = sup_wide_fma(f[3 * i], m[entry[j]], c * cofactor[3 * i + j]);
            r[3 * i + j] =
                sup_wide_fma(f[3 * i + 2], m[entry[6 + j]], sup_wide_fma(f[3 * i + 1], m[entry[3 + j]], sum));
        }
    /* Rounding grows as 1 / slope (3.08 at rest); F = 0 and values out of range end here too, as NaN or 0. */
    sup_mask good =
        sup_mask_and(sup_wide_less(sup_wide_splat(0.1f), q->slope), sup_wide_less(sup_wide_splat(1e-30f), q->square));
    if (!sup_mask_all(good)) sup_rotation_exact(f, good, r);
}

/* Nearest rotation of F. */
SUP_ELEMENT void sup_element_rotation(const sup_wide f[9], sup_wide r[9])
{
    sup_rotation q = sup_rotation_begin(f);
    sup_rotation_solve(&q, 1);
    sup_rotation_end(&q, f, r);
}

#endif
