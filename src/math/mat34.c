/* mat34.c - public float matrices, computed in double. */
#include "math/affine.h"

sup_transform sup_transform_identity(void)
{
    return (sup_transform){{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, {1.0f, 1.0f, 1.0f}};
}

sup_mat34 sup_mat34_identity(void)
{
    return sup_affine_to_float(sup_affine_identity());
}

sup_mat34 sup_mat34_from_transform(sup_transform transform)
{
    return sup_affine_to_float(sup_affine_from_transform(transform));
}

sup_mat34 sup_mat34_multiply(sup_mat34 a, sup_mat34 b)
{
    return sup_affine_to_float(sup_affine_multiply(sup_affine_from_float(a), sup_affine_from_float(b)));
}

bool sup_mat34_inverse(sup_mat34 m, sup_mat34 *inverse)
{
    sup_affine result;
    bool ok = sup_affine_inverse(sup_affine_from_float(m), &result);
    *inverse = sup_affine_to_float(result);
    return ok;
}

sup_vec3 sup_mat34_transform_point(sup_mat34 m, sup_vec3 p)
{
    return sup_v3_to_float(sup_affine_point(sup_affine_from_float(m), sup_v3_from_float(p)));
}
