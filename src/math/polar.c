/* polar.c - polar decomposition.
 *
 * Based on: [komaritzan2022] section 2.2.1 (after eq. 2.16): R = U diag(1, 1, det(U V^T)) V^T; Newton's iteration
 * R <- (R + R^-T) / 2 as in section 4.5 of [komaritzan2018], singular values where det F is not clearly
 * positive. Deviation: the threshold on det F is relative to |F|^3, so that it does not depend on the scale of F. */
#include "math/polar.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static double determinant(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

static void cofactor(const double m[9], double c[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, d = (j + 1) % 3, e = (j + 2) % 3;
            c[3 * i + j] = m[3 * a + d] * m[3 * b + e] - m[3 * a + e] * m[3 * b + d];
        }
}

static double column_dot(const double m[9], int a, int b)
{
    return m[a] * m[b] + m[3 + a] * m[3 + b] + m[6 + a] * m[6 + b];
}

static void rotate_columns(double m[9], int a, int b, double cosine, double sine)
{
    for (int i = 0; i < 3; i++) {
        double x = m[3 * i + a], y = m[3 * i + b];
        m[3 * i + a] = cosine * x - sine * y;
        m[3 * i + b] = sine * x + cosine * y;
    }
}

static void swap_columns(double m[9], int a, int b)
{
    rotate_columns(m, a, b, 0.0, 1.0); /* a -> -b, b -> a: preserves the determinant */
}

/* One-sided Jacobi: rotates pairs of columns of b until they are orthogonal. */
static void orthogonalise(double b[9], double v[9])
{
    for (int sweep = 0; sweep < 40; sweep++) {
        bool rotated = false;
        for (int k = 0; k < 3; k++) {
            int p = k == 2 ? 1 : 0, q = k == 0 ? 1 : 2;
            double pp = column_dot(b, p, p), qq = column_dot(b, q, q), pq = column_dot(b, p, q);
            if (fabs(pq) <= 1e-16 * sqrt(pp * qq)) continue;
            double zeta = (qq - pp) / (2.0 * pq);
            double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
            if (!isfinite(t)) continue;
            double cosine = 1.0 / sqrt(1.0 + t * t);
            rotate_columns(b, p, q, cosine, cosine * t);
            rotate_columns(v, p, q, cosine, cosine * t);
            rotated = true;
        }
        if (!rotated) return;
    }
}

static double normalise(double a[3])
{
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    if (length > 0.0)
        for (int i = 0; i < 3; i++)
            a[i] /= length;
    return length;
}

/* The unit vector perpendicular to u0 that is nearest to `like`. */
static void perpendicular(const double u0[3], const double like[3], double out[3])
{
    double along = u0[0] * like[0] + u0[1] * like[1] + u0[2] * like[2];
    for (int i = 0; i < 3; i++)
        out[i] = like[i] - along * u0[i];
    if (normalise(out) > 1e-3) return;
    int smallest =
        fabs(u0[0]) <= fabs(u0[1]) ? (fabs(u0[0]) <= fabs(u0[2]) ? 0 : 2) : (fabs(u0[1]) <= fabs(u0[2]) ? 1 : 2);
    for (int i = 0; i < 3; i++)
        out[i] = (i == smallest ? 1.0 : 0.0) - u0[smallest] * u0[i];
    normalise(out);
}

/* Columns of u from those of b = U diag(s), where some s may be zero. */
static void left_vectors(const double b[9], const double s[3], const double v[9], double u[9])
{
    double column[3][3], small = 1e-13 * s[0];
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++)
            column[j][i] = s[j] > small ? b[3 * i + j] / s[j] : v[3 * i + j];
        if (s[j] > small) normalise(column[j]);
    }
    if (!(s[1] > small)) {
        double like[3] = {column[1][0], column[1][1], column[1][2]};
        perpendicular(column[0], like, column[1]);
    }
    double cross[3];
    for (int i = 0; i < 3; i++)
        cross[i] = column[0][(i + 1) % 3] * column[1][(i + 2) % 3] - column[0][(i + 2) % 3] * column[1][(i + 1) % 3];
    normalise(cross);
    double sign = cross[0] * column[2][0] + cross[1] * column[2][1] + cross[2] * column[2][2];
    for (int i = 0; i < 3; i++)
        column[2][i] = s[2] > small && sign < 0.0 ? -cross[i] : cross[i];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            u[3 * i + j] = column[j][i];
}

void sup_svd3(const double f[9], double u[9], double s[3], double v[9])
{
    double b[9], size = 0.0;
    for (int i = 0; i < 9; i++)
        size = fmax(size, fabs(f[i]));
    for (int i = 0; i < 9; i++) {
        b[i] = size > 0.0 ? f[i] / size : 0.0; /* squares of tiny numbers underflow */
        v[i] = i % 4 == 0 ? 1.0 : 0.0;
    }
    orthogonalise(b, v);
    for (int k = 0; k < 3; k++) { /* three swaps sort three columns */
        int p = k == 1 ? 1 : 0, q = p + 1;
        if (column_dot(b, p, p) >= column_dot(b, q, q)) continue;
        swap_columns(b, p, q);
        swap_columns(v, p, q);
    }
    for (int j = 0; j < 3; j++)
        s[j] = sqrt(column_dot(b, j, j));
    left_vectors(b, s, v, u);
    for (int j = 0; j < 3; j++)
        s[j] *= size;
}

void sup_svd3_signed(const double f[9], double u[9], double s[3], double v[9])
{
    sup_svd3(f, u, s, v);
    double *sides[2] = {u, v};
    for (int k = 0; k < 2; k++) {
        if (determinant(sides[k]) > 0.0) continue;
        s[2] = -s[2];
        for (int i = 0; i < 3; i++)
            sides[k][3 * i + 2] = -sides[k][3 * i + 2];
    }
}

void sup_polar_rotation_svd(const double f[9], double r[9])
{
    double u[9], s[3], v[9];
    sup_svd3(f, u, s, v);
    double flip = determinant(u) * determinant(v) < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] = u[3 * i] * v[3 * j] + u[3 * i + 1] * v[3 * j + 1] + flip * u[3 * i + 2] * v[3 * j + 2];
}

void sup_polar_rotation(const double f[9], double r[9])
{
    double square = 0.0;
    for (int i = 0; i < 9; i++)
        square += f[i] * f[i];
    double scale = sqrt(square / 3.0);
    if (!(determinant(f) > 1e-5 * scale * scale * scale) || !isfinite(scale)) {
        sup_polar_rotation_svd(f, r);
        return;
    }
    for (int i = 0; i < 9; i++)
        r[i] = f[i] / scale;
    for (int step = 0; step < 60; step++) {
        double c[9], change = 0.0;
        cofactor(r, c);
        double inverse = 1.0 / determinant(r); /* R^-T = cof R / det R */
        for (int i = 0; i < 9; i++) {
            double next = 0.5 * (r[i] + c[i] * inverse);
            change += (next - r[i]) * (next - r[i]);
            r[i] = next;
        }
        if (change < 1e-28) return;
    }
    sup_polar_rotation_svd(f, r);
}

void sup_polar_rotation_lane(const float *f, float *r, int lanes, int lane)
{
    double from[9], to[9];
    for (int c = 0; c < 9; c++)
        from[c] = (double)f[c * lanes + lane];
    sup_polar_rotation_svd(from, to);
    for (int c = 0; c < 9; c++)
        r[c * lanes + lane] = (float)to[c];
}
