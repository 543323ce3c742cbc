/* elements.h (internal) - the arithmetic of one tetrahedron, SUP_LANES of them at a time.
 *
 * Based on: [komaritzan2022thesis] eq. 2.15 and 2.16. F = sum_k e_k g_k^T over three edges e_k from a common corner,
 * g_k the columns of the inverse rest edge matrix (the gradients of the hat functions); W = w/2 |F - R|^2 with
 * w = stiffness * volume; dW/de_k = w (F - R) g_k, since R is the nearest rotation and so adds nothing.
 *
 * The rotation needs no start and no iteration on matrices. With singular values a, b, c of F (c < 0 when inverted),
 * l = a + b + c = tr(R^T F) is the largest root of
 *     (l^2 - I)^2 - 8 l det F - 4 |cof F|^2 = 0,   I = |F|^2,
 * which Newton's iteration finds from above, from sqrt(3 I), without ever leaving the side where the quartic is convex; then
 *     R = [(l^2 + I) F + 2 l cof F - 2 F F^T F] / (l (l^2 - I) - 2 det F).
 * The denominator is 2 (a + b) (b + c) (a + c): zero exactly where the nearest rotation is not unique. Elements next to
 * that, F = 0 among them, take the exact way in double, lane by lane. Deviation: the works use Newton's iteration on R
 * with a singular value decomposition for inverted elements; the result is the same, the time is not. */
#ifndef SUP_METHODS_PROJECTIVE_ELEMENTS_H
#define SUP_METHODS_PROJECTIVE_ELEMENTS_H

#include "base/simd.h"
#include "methods/projective/polar.h"

#if defined(__GNUC__)
#define SUP_ELEMENT static inline __attribute__((always_inline))
#else
#define SUP_ELEMENT static inline
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

/* Largest root of (l^2 - 1)^2 - 8 l d - 4 c for a matrix with |F| = 1. `slope` is a quarter of the derivative there. */
SUP_ELEMENT sup_wide sup_element_trace(sup_wide d, sup_wide c, sup_wide *slope)
{
    const sup_wide one = sup_wide_splat(1.0f), quarter = sup_wide_splat(0.25f), close = sup_wide_splat(1e-4f);
    const sup_wide least = sup_wide_splat(1e-6f);
    sup_wide l = sup_wide_splat(1.7320508f);
    for (int step = 0; step < 8; step++) {
        sup_wide q = sup_wide_fma(l, l, -one);
        sup_wide down = sup_wide_fma(l, q, -(d + d));
        down = sup_wide_select(sup_wide_less(down, least), least, down);
        /* f / f' with f = q^2 - 8 l d - 4 c, f' = 4 down */
        sup_wide move = sup_wide_fma(q * quarter, q, -sup_wide_fma(l + l, d, c)) / down;
        l = l - move;
        if (sup_mask_all(sup_wide_less(move, close))) break;
    }
    *slope = sup_wide_fma(l, sup_wide_fma(l, l, -one), -(d + d));
    return l;
}

/* The exact way for the lanes where `good` does not hold. Not inlined: it is rare. */
static __attribute__((noinline)) void sup_element_mend(const sup_wide f[9], sup_mask good, sup_wide r[9])
{
    for (int lane = 0; lane < SUP_LANES; lane++)
        if (!sup_mask_lane(good, lane)) sup_polar_rotation_lane((const float *)f, (float *)r, SUP_LANES, lane);
}

/* Nearest rotation of F. */
SUP_ELEMENT void sup_element_rotation(const sup_wide f[9], sup_wide r[9])
{
    const sup_wide one = sup_wide_splat(1.0f);
    sup_wide square = sup_element_square(f), h[9], c[9];
    const sup_wide tiny = sup_wide_splat(1e-30f);
    sup_wide scale = one / sup_wide_sqrt(sup_wide_select(sup_wide_less(square, tiny), tiny, square));
    for (int i = 0; i < 9; i++)
        h[i] = f[i] * scale; /* |H| = 1: the rotation is the same, and nothing overflows */
    sup_element_cofactor(h, c);
    sup_wide d = sup_wide_fma(h[2], c[2], sup_wide_fma(h[1], c[1], h[0] * c[0])), slope;
    sup_wide l = sup_element_trace(d, sup_element_square(c), &slope);
    /* R = [H ((l^2 + 1) - 2 H^T H) + 2 l cof H] / slope */
    sup_wide m[9], inverse = one / slope, two_l = l + l, lift = sup_wide_fma(l, l, one);
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            sup_wide dot = sup_wide_fma(h[6 + i], h[6 + j], sup_wide_fma(h[3 + i], h[3 + j], h[i] * h[j]));
            m[3 * i + j] = m[3 * j + i] = i == j ? lift - (dot + dot) : -(dot + dot);
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            sup_wide sum = sup_wide_fma(h[3 * i], m[j], two_l * c[3 * i + j]);
            sum = sup_wide_fma(h[3 * i + 2], m[6 + j], sup_wide_fma(h[3 * i + 1], m[3 + j], sum));
            r[3 * i + j] = sum * inverse;
        }
    /* Rounding grows as 1 / slope (3.08 at rest); F = 0 and numbers out of range land here too, as NaN or 0. */
    sup_mask good = sup_wide_less(sup_wide_splat(0.03f), slope);
    good = sup_mask_and(good, sup_wide_less(tiny, square));
    if (!sup_mask_all(good)) sup_element_mend(f, good, r);
}

#endif
