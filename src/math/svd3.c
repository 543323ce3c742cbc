/* svd3.c - singular values by Jacobi rotations of m^T m. */
#include "math/svd3.h"

#include "math/vec3.h"

/* One rotation in the plane (p, q) that takes a[p][q] to zero. */
static void rotate_plane(double a[3][3], double v[3][3], int p, int q)
{
    double off = a[p][q];
    if (off == 0.0) return;
    double theta = (a[q][q] - a[p][p]) / (2.0 * off);
    double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < 3; k++) {
        double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (int k = 0; k < 3; k++) {
        double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
    for (int k = 0; k < 3; k++) {
        double x = v[k][p], y = v[k][q];
        v[k][p] = c * x - s * y;
        v[k][q] = s * x + c * y;
    }
}

/* Any unit vector that is orthogonal to a. */
static sup_vec3d orthogonal(sup_vec3d a)
{
    sup_vec3d other = fabs(a.x) < 0.6 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0);
    return sup_v3_unit_or(sup_v3_cross(a, other), sup_v3(0.0, 0.0, 1.0));
}

static sup_vec3d times(const double m[9], sup_vec3d x)
{
    return sup_v3(m[0] * x.x + m[1] * x.y + m[2] * x.z, m[3] * x.x + m[4] * x.y + m[5] * x.z,
                  m[6] * x.x + m[7] * x.y + m[8] * x.z);
}

void sup_svd3(const double m[9], double u[9], double s[3], double v[9])
{
    double a[3][3], w[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a[i][j] = m[i] * m[j] + m[3 + i] * m[3 + j] + m[6 + i] * m[6 + j];
    double size = a[0][0] + a[1][1] + a[2][2];
    for (int sweep = 0; sweep < 12; sweep++) {
        double off = a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2];
        if (!(off > 1e-30 * size * size)) break;
        rotate_plane(a, w, 0, 1);
        rotate_plane(a, w, 0, 2);
        rotate_plane(a, w, 1, 2);
    }
    int order[3] = {0, 1, 2}, swap;
    if (a[order[0]][order[0]] < a[order[1]][order[1]]) swap = order[0], order[0] = order[1], order[1] = swap;
    if (a[order[1]][order[1]] < a[order[2]][order[2]]) swap = order[1], order[1] = order[2], order[2] = swap;
    if (a[order[0]][order[0]] < a[order[1]][order[1]]) swap = order[0], order[0] = order[1], order[1] = swap;
    sup_vec3d right[3], left[3];
    for (int k = 0; k < 2; k++)
        right[k] = sup_v3(w[0][order[k]], w[1][order[k]], w[2][order[k]]);
    right[2] = sup_v3_cross(right[0], right[1]);
    sup_vec3d image = times(m, right[0]);
    s[0] = sup_v3_length(image);
    left[0] = sup_v3_unit_or(image, sup_v3(1.0, 0.0, 0.0));
    image = times(m, right[1]);
    image = sup_v3_madd(image, -sup_v3_dot(image, left[0]), left[0]);
    s[1] = sup_v3_length(image);
    left[1] = s[1] > 1e-12 * s[0] ? sup_v3_scale(image, 1.0 / s[1]) : orthogonal(left[0]);
    left[2] = sup_v3_cross(left[0], left[1]);
    s[2] = sup_v3_dot(left[2], times(m, right[2]));
    for (int k = 0; k < 3; k++) {
        u[k] = left[k].x, u[3 + k] = left[k].y, u[6 + k] = left[k].z;
        v[k] = right[k].x, v[3 + k] = right[k].y, v[6 + k] = right[k].z;
    }
}

void sup_svd3_rotation(const double u[9], const double v[9], double rotation[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            rotation[3 * i + j] = u[3 * i] * v[3 * j] + u[3 * i + 1] * v[3 * j + 1] + u[3 * i + 2] * v[3 * j + 2];
}
