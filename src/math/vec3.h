/* vec3.h (internal) - 3-vectors in double; arrays store floats, converted by load and store. */
#ifndef SUP_MATH_VEC3_H
#define SUP_MATH_VEC3_H

#include "supple/math.h"

#include <math.h>

/* Function specifiers: CUDA kernels call these functions too. */
#ifdef __CUDACC__
#include <cuda_runtime.h>
#define SUP_V3 static inline __host__ __device__
#else
#define SUP_V3 static inline
#endif

typedef struct sup_vec3d {
    double x, y, z;
} sup_vec3d;

SUP_V3 sup_vec3d sup_v3(double x, double y, double z)
{
    sup_vec3d v = {x, y, z};
    return v;
}

SUP_V3 sup_vec3d sup_v3_load(const float *p)
{
    return sup_v3((double)p[0], (double)p[1], (double)p[2]);
}

SUP_V3 void sup_v3_store(float *p, sup_vec3d v)
{
    p[0] = (float)v.x;
    p[1] = (float)v.y;
    p[2] = (float)v.z;
}

SUP_V3 sup_vec3d sup_v3_add(sup_vec3d a, sup_vec3d b)
{
    return sup_v3(a.x + b.x, a.y + b.y, a.z + b.z);
}

SUP_V3 sup_vec3d sup_v3_sub(sup_vec3d a, sup_vec3d b)
{
    return sup_v3(a.x - b.x, a.y - b.y, a.z - b.z);
}

SUP_V3 sup_vec3d sup_v3_scale(sup_vec3d a, double s)
{
    return sup_v3(a.x * s, a.y * s, a.z * s);
}

/* a + s b */
SUP_V3 sup_vec3d sup_v3_madd(sup_vec3d a, double s, sup_vec3d b)
{
    return sup_v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

SUP_V3 sup_vec3d sup_v3_lerp(sup_vec3d a, sup_vec3d b, double t)
{
    return sup_v3_madd(a, t, sup_v3_sub(b, a));
}

SUP_V3 double sup_v3_dot(sup_vec3d a, sup_vec3d b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

SUP_V3 sup_vec3d sup_v3_cross(sup_vec3d a, sup_vec3d b)
{
    return sup_v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

SUP_V3 double sup_v3_length(sup_vec3d a)
{
    return sqrt(sup_v3_dot(a, a));
}

SUP_V3 double sup_v3_distance(sup_vec3d a, sup_vec3d b)
{
    return sup_v3_length(sup_v3_sub(a, b));
}

/* The unit vector, or `default_value` if `a` has length 0 or is not finite. */
SUP_V3 sup_vec3d sup_v3_unit_or(sup_vec3d a, sup_vec3d default_value)
{
    double length = sup_v3_length(a);
    return length > 0.0 && isfinite(length) ? sup_v3_scale(a, 1.0 / length) : default_value;
}

SUP_V3 bool sup_v3_finite(sup_vec3d a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

/* Parameter in [0, 1] of the point of segment ab nearest to p; 0 for a segment of length 0. */
SUP_V3 double sup_v3_segment_parameter(sup_vec3d p, sup_vec3d a, sup_vec3d b)
{
    sup_vec3d d = sup_v3_sub(b, a);
    double dd = sup_v3_dot(d, d);
    double t = dd > 0.0 ? sup_v3_dot(sup_v3_sub(p, a), d) / dd : 0.0;
    return t < 0.0 ? 0.0 : (t > 1.0 ? 1.0 : t);
}

SUP_V3 sup_vec3 sup_v3_to_float(sup_vec3d v)
{
    sup_vec3 r = {(float)v.x, (float)v.y, (float)v.z};
    return r;
}

SUP_V3 sup_vec3d sup_v3_from_float(sup_vec3 v)
{
    return sup_v3((double)v.x, (double)v.y, (double)v.z);
}

#endif
