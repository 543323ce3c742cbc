/* affine.c - quaternions and affine maps in double. */
#include "math/affine.h"

#include <string.h>

sup_quatd sup_quatd_normalise(sup_quatd q)
{
    double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (!(length > 1e-30) || !isfinite(length)) return (sup_quatd){0.0, 0.0, 0.0, 1.0};
    double s = 1.0 / length;
    return (sup_quatd){q.x * s, q.y * s, q.z * s, q.w * s};
}

sup_quatd sup_quatd_from_float(sup_quat q)
{
    return sup_quatd_normalise((sup_quatd){(double)q.x, (double)q.y, (double)q.z, (double)q.w});
}

sup_quat sup_quatd_to_float(sup_quatd q)
{
    return (sup_quat){(float)q.x, (float)q.y, (float)q.z, (float)q.w};
}

sup_quatd sup_quatd_multiply(sup_quatd a, sup_quatd b)
{
    return (sup_quatd){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                       a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

sup_quatd sup_quatd_conjugate(sup_quatd q)
{
    return (sup_quatd){-q.x, -q.y, -q.z, q.w};
}

sup_vec3d sup_quatd_rotate(sup_quatd q, sup_vec3d v)
{
    sup_vec3d u = {q.x, q.y, q.z};
    sup_vec3d t = sup_v3_scale(sup_v3_cross(u, v), 2.0);
    return sup_v3_add(sup_v3_madd(v, q.w, t), sup_v3_cross(u, t));
}

sup_quatd sup_quatd_from_axis_angle(sup_vec3d axis, double angle)
{
    double length = sup_v3_length(axis);
    if (!(length > 0.0)) return (sup_quatd){0.0, 0.0, 0.0, 1.0};
    double s = sin(0.5 * angle) / length;
    return (sup_quatd){axis.x * s, axis.y * s, axis.z * s, cos(0.5 * angle)};
}

sup_quatd sup_quatd_between(sup_vec3d from, sup_vec3d to)
{
    double scale = sqrt(sup_v3_dot(from, from) * sup_v3_dot(to, to));
    double w = scale + sup_v3_dot(from, to);
    if (!(scale > 0.0)) return (sup_quatd){0.0, 0.0, 0.0, 1.0};
    if (w > 1e-12 * scale) {
        sup_vec3d c = sup_v3_cross(from, to);
        return sup_quatd_normalise((sup_quatd){c.x, c.y, c.z, w});
    }
    /* Opposite directions: rotate by pi about any perpendicular axis. */
    sup_vec3d other = fabs(from.x) < fabs(from.y) ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0);
    sup_vec3d axis = sup_v3_cross(from, other);
    return sup_quatd_normalise((sup_quatd){axis.x, axis.y, axis.z, 0.0});
}

sup_quatd sup_quatd_slerp(sup_quatd a, sup_quatd b, double t)
{
    double dot = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    double sign = dot < 0.0 ? -1.0 : 1.0;
    dot *= sign;
    double wa = 1.0 - t, wb = t;
    if (dot < 1.0 - 1e-9) {
        double angle = acos(dot), s = 1.0 / sin(angle);
        wa = sin((1.0 - t) * angle) * s;
        wb = sin(t * angle) * s;
    }
    wb *= sign;
    return sup_quatd_normalise(
        (sup_quatd){wa * a.x + wb * b.x, wa * a.y + wb * b.y, wa * a.z + wb * b.z, wa * a.w + wb * b.w});
}

sup_affine sup_affine_identity(void)
{
    return (sup_affine){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
}

sup_affine sup_affine_from_trs(sup_vec3d t, sup_quatd q, sup_vec3d s)
{
    double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    double xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z, wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (sup_affine){{(1.0 - 2.0 * (yy + zz)) * s.x, 2.0 * (xy - wz) * s.y, 2.0 * (xz + wy) * s.z, t.x,
                         2.0 * (xy + wz) * s.x, (1.0 - 2.0 * (xx + zz)) * s.y, 2.0 * (yz - wx) * s.z, t.y,
                         2.0 * (xz - wy) * s.x, 2.0 * (yz + wx) * s.y, (1.0 - 2.0 * (xx + yy)) * s.z, t.z}};
}

sup_affine sup_affine_from_transform(sup_transform t)
{
    return sup_affine_from_trs(sup_v3_from_float(t.translation), sup_quatd_from_float(t.rotation),
                               sup_v3_from_float(t.scale));
}

sup_affine sup_affine_from_float(sup_mat34 m)
{
    sup_affine a;
    for (int i = 0; i < 12; i++)
        a.m[i] = (double)m.m[i];
    return a;
}

sup_mat34 sup_affine_to_float(sup_affine a)
{
    sup_mat34 m;
    for (int i = 0; i < 12; i++)
        m.m[i] = (float)a.m[i];
    return m;
}

sup_affine sup_affine_multiply(sup_affine a, sup_affine b)
{
    sup_affine c;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 4; k++)
            c.m[4 * r + k] = a.m[4 * r] * b.m[k] + a.m[4 * r + 1] * b.m[4 + k] + a.m[4 * r + 2] * b.m[8 + k] +
                             (k == 3 ? a.m[4 * r + 3] : 0.0);
    return c;
}

static sup_vec3d column(sup_affine a, int c)
{
    return sup_v3(a.m[c], a.m[4 + c], a.m[8 + c]);
}

double sup_affine_determinant(sup_affine a)
{
    return sup_v3_dot(column(a, 0), sup_v3_cross(column(a, 1), column(a, 2)));
}

bool sup_affine_inverse(sup_affine a, sup_affine *inverse)
{
    sup_vec3d c0 = column(a, 0), c1 = column(a, 1), c2 = column(a, 2), t = column(a, 3);
    double size = sup_v3_length(c0) * sup_v3_length(c1) * sup_v3_length(c2);
    double det = sup_affine_determinant(a);
    *inverse = sup_affine_identity();
    if (!sup_affine_finite(a) || !(fabs(det) > 1e-12 * size) || !isfinite(1.0 / det)) return false;
    sup_vec3d rows[3] = {sup_v3_cross(c1, c2), sup_v3_cross(c2, c0), sup_v3_cross(c0, c1)};
    for (int r = 0; r < 3; r++) {
        sup_vec3d row = sup_v3_scale(rows[r], 1.0 / det);
        inverse->m[4 * r] = row.x;
        inverse->m[4 * r + 1] = row.y;
        inverse->m[4 * r + 2] = row.z;
        inverse->m[4 * r + 3] = -sup_v3_dot(row, t);
    }
    return true;
}

bool sup_affine_finite(sup_affine a)
{
    for (int i = 0; i < 12; i++)
        if (!isfinite(a.m[i])) return false;
    return true;
}

sup_vec3d sup_affine_vector(sup_affine a, sup_vec3d v)
{
    return sup_v3(a.m[0] * v.x + a.m[1] * v.y + a.m[2] * v.z, a.m[4] * v.x + a.m[5] * v.y + a.m[6] * v.z,
                  a.m[8] * v.x + a.m[9] * v.y + a.m[10] * v.z);
}

sup_vec3d sup_affine_translation(sup_affine a)
{
    return column(a, 3);
}

sup_vec3d sup_affine_point(sup_affine a, sup_vec3d p)
{
    return sup_v3_add(sup_affine_vector(a, p), sup_affine_translation(a));
}

/* Quaternion of a rotation matrix given by its columns; Shepperd's method with the largest component. */
static sup_quatd quat_from_columns(sup_vec3d c0, sup_vec3d c1, sup_vec3d c2)
{
    double trace = c0.x + c1.y + c2.z;
    sup_quatd q;
    if (trace > c0.x && trace > c1.y && trace > c2.z)
        q = (sup_quatd){c1.z - c2.y, c2.x - c0.z, c0.y - c1.x, 1.0 + trace};
    else if (c0.x >= c1.y && c0.x >= c2.z)
        q = (sup_quatd){1.0 + c0.x - c1.y - c2.z, c0.y + c1.x, c2.x + c0.z, c1.z - c2.y};
    else if (c1.y >= c2.z)
        q = (sup_quatd){c0.y + c1.x, 1.0 + c1.y - c0.x - c2.z, c1.z + c2.y, c2.x - c0.z};
    else
        q = (sup_quatd){c2.x + c0.z, c1.z + c2.y, 1.0 + c2.z - c0.x - c1.y, c0.y - c1.x};
    return sup_quatd_normalise(q);
}

/* Higham's Newton iteration R <- (R + R^-T) / 2, from A scaled to determinant 1. A matrix with a negative determinant
 * is negated: its rotation is that of -A, and the reflection stays in the stretch. */
bool sup_affine_polar(sup_affine a, sup_quatd *rotation, double stretch[9])
{
    *rotation = (sup_quatd){0.0, 0.0, 0.0, 1.0};
    double det = sup_affine_determinant(a);
    double size = sup_v3_length(column(a, 0)) * sup_v3_length(column(a, 1)) * sup_v3_length(column(a, 2));
    bool usable = sup_affine_finite(a) && fabs(det) > 1e-12 * size && size > 0.0;
    if (usable) {
        double scale = cbrt(1.0 / det);
        sup_vec3d c[3];
        for (int i = 0; i < 3; i++)
            c[i] = sup_v3_scale(column(a, i), scale);
        for (int iteration = 0; iteration < 40; iteration++) {
            sup_vec3d n[3] = {sup_v3_cross(c[1], c[2]), sup_v3_cross(c[2], c[0]), sup_v3_cross(c[0], c[1])};
            double inverse = 1.0 / sup_v3_dot(c[0], n[0]), change = 0.0;
            for (int i = 0; i < 3; i++) {
                sup_vec3d next = sup_v3_scale(sup_v3_madd(c[i], inverse, n[i]), 0.5);
                change += sup_v3_distance(next, c[i]);
                c[i] = next;
            }
            if (!(change > 1e-15)) break;
        }
        *rotation = quat_from_columns(c[0], c[1], c[2]);
    }
    sup_quatd back = sup_quatd_conjugate(*rotation);
    for (int i = 0; i < 3; i++) {
        sup_vec3d s = sup_quatd_rotate(back, column(a, i));
        stretch[i] = s.x;
        stretch[3 + i] = s.y;
        stretch[6 + i] = s.z;
    }
    return usable;
}

sup_affine sup_affine_between(sup_affine a, sup_affine b, double t)
{
    sup_quatd qa, qb;
    double sa[9], sb[9], s[9];
    if (memcmp(&a, &b, sizeof a) == 0 || !sup_affine_polar(a, &qa, sa) || !sup_affine_polar(b, &qb, sb)) return b;
    for (int i = 0; i < 9; i++)
        s[i] = sa[i] + t * (sb[i] - sa[i]);
    sup_affine stretch = {{s[0], s[1], s[2], 0, s[3], s[4], s[5], 0, s[6], s[7], s[8], 0}};
    sup_vec3d translation = sup_v3_lerp(column(a, 3), column(b, 3), t);
    sup_affine rigid = sup_affine_from_trs(translation, sup_quatd_slerp(qa, qb, t), sup_v3(1, 1, 1));
    return sup_affine_multiply(rigid, stretch);
}

sup_transform sup_affine_decompose(sup_affine a, double *shear)
{
    sup_vec3d c[3] = {column(a, 0), column(a, 1), column(a, 2)};
    sup_vec3d s = sup_v3(sup_v3_length(c[0]), sup_v3_length(c[1]), sup_v3_length(c[2]));
    if (sup_affine_determinant(a) < 0.0) s.x = -s.x;
    /* Unit columns; a zero column is replaced by the cross product of the other two. */
    sup_vec3d u[3] = {sup_v3_unit_or(sup_v3_scale(c[0], s.x < 0.0 ? -1.0 : 1.0), sup_v3(0, 0, 0)),
                      sup_v3_unit_or(c[1], sup_v3(0, 0, 0)), sup_v3_unit_or(c[2], sup_v3(0, 0, 0))};
    for (int i = 0; i < 3; i++)
        if (sup_v3_dot(u[i], u[i]) == 0.0)
            u[i] = sup_v3_unit_or(sup_v3_cross(u[(i + 1) % 3], u[(i + 2) % 3]), i == 0   ? sup_v3(1, 0, 0)
                                                                                : i == 1 ? sup_v3(0, 1, 0)
                                                                                         : sup_v3(0, 0, 1));
    sup_affine unit = {{u[0].x, u[1].x, u[2].x, 0, u[0].y, u[1].y, u[2].y, 0, u[0].z, u[1].z, u[2].z, 0}};
    double unused[9];
    sup_quatd q;
    sup_affine_polar(unit, &q, unused);
    if (shear != NULL) {
        sup_affine again = sup_affine_from_trs(sup_v3(0, 0, 0), q, s);
        double difference = 0.0, size = 0.0;
        for (int i = 0; i < 12; i++) {
            if (i % 4 == 3) continue;
            difference += (again.m[i] - a.m[i]) * (again.m[i] - a.m[i]);
            size += a.m[i] * a.m[i];
        }
        *shear = size > 0.0 ? sqrt(difference / size) : 0.0;
    }
    return (sup_transform){sup_v3_to_float(column(a, 3)), sup_quatd_to_float(q), sup_v3_to_float(s)};
}
