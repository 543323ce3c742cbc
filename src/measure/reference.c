/* reference.c - linear and dual quaternion skinning in double, one vertex after another, as the equations are printed: the
 * yardstick of benchmarks and the oracle of tests. Equations of the survey [aburumman2016survey]. */
#include "measure/reference.h"

#include "base/base.h"

/* One joint of the pose. */
typedef struct reference_joint {
    sup_affine matrix; /* world * inverse bind */
    sup_quatd real, dual;
    sup_affine stretch; /* before the rigid motion */
} reference_joint;

static void pose_joints(const sup_rig *rig, const sup_pose *pose, bool split, reference_joint *joints)
{
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_affine a = sup_affine_multiply(sup_affine_from_float(pose->world[rig->joint_node[j]]),
                                           sup_affine_from_float(rig->joint_inverse_bind[j]));
        joints[j].matrix = a;
        if (!split) continue;
        double s[9];
        sup_vec3d c = sup_affine_translation(sup_affine_from_float(rig->joint_bind[j]));
        sup_affine_polar(a, &joints[j].real, s);
        sup_affine linear = {{s[0], s[1], s[2], 0, s[3], s[4], s[5], 0, s[6], s[7], s[8], 0}};
        sup_affine to_centre = sup_affine_identity(), from_centre = to_centre;
        to_centre.m[3] = c.x, to_centre.m[7] = c.y, to_centre.m[11] = c.z;
        from_centre.m[3] = -c.x, from_centre.m[7] = -c.y, from_centre.m[11] = -c.z;
        joints[j].stretch = sup_affine_multiply(to_centre, sup_affine_multiply(linear, from_centre));
        sup_vec3d t = sup_v3_sub(sup_affine_point(a, c), sup_quatd_rotate(joints[j].real, c));
        sup_quatd half = {0.5 * t.x, 0.5 * t.y, 0.5 * t.z, 0.0};
        joints[j].dual = sup_quatd_multiply(half, joints[j].real);
    }
}

static sup_affine blend_linear(const sup_rig *rig, const reference_joint *joints, int32_t v, bool stretch)
{
    sup_affine sum = {{0}};
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        const reference_joint *joint = &joints[rig->influence_joint[i]];
        for (int32_t k = 0; k < 12; k++)
            sum.m[k] += (double)rig->influence_weight[i] * (stretch ? joint->stretch : joint->matrix).m[k];
    }
    return sum;
}

static double dot(sup_quatd a, sup_quatd b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* Eq. 2 of the survey as a matrix, with the quaternions on the side of the first influence. */
static sup_affine blend_dual(const sup_rig *rig, const reference_joint *joints, int32_t v)
{
    sup_quatd real = {0}, dual = {0};
    sup_quatd pivot = joints[rig->influence_joint[rig->influence_first[v]]].real;
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        const reference_joint *joint = &joints[rig->influence_joint[i]];
        double w = (double)rig->influence_weight[i] * (dot(pivot, joint->real) < 0.0 ? -1.0 : 1.0);
        real = (sup_quatd){real.x + w * joint->real.x, real.y + w * joint->real.y, real.z + w * joint->real.z,
                           real.w + w * joint->real.w};
        dual = (sup_quatd){dual.x + w * joint->dual.x, dual.y + w * joint->dual.y, dual.z + w * joint->dual.z,
                           dual.w + w * joint->dual.w};
    }
    double length = sqrt(dot(real, real));
    real = (sup_quatd){real.x / length, real.y / length, real.z / length, real.w / length};
    dual = (sup_quatd){dual.x / length, dual.y / length, dual.z / length, dual.w / length};
    sup_quatd t = sup_quatd_multiply(dual, sup_quatd_conjugate(real)); /* half the translation */
    sup_affine rigid = sup_affine_from_trs(sup_v3(2.0 * t.x, 2.0 * t.y, 2.0 * t.z), real, sup_v3(1, 1, 1));
    return sup_affine_multiply(rigid, blend_linear(rig, joints, v, true));
}

/* Inverse transpose, up to length: the cofactors, with the sign of the determinant. */
static sup_vec3d turn_normal(sup_affine a, sup_vec3d n)
{
    sup_vec3d r[3] = {sup_v3(a.m[0], a.m[1], a.m[2]), sup_v3(a.m[4], a.m[5], a.m[6]), sup_v3(a.m[8], a.m[9], a.m[10])};
    sup_vec3d c = sup_v3(sup_v3_dot(sup_v3_cross(r[1], r[2]), n), sup_v3_dot(sup_v3_cross(r[2], r[0]), n),
                         sup_v3_dot(sup_v3_cross(r[0], r[1]), n));
    return sup_v3_scale(c, sup_affine_determinant(a) < 0.0 ? -1.0 : 1.0);
}

/* The bind position or normal with the pose's morph targets: offsets go from mesh to bind space as vectors, or as
 * normals, and then at the scale that made the mesh's own normal a unit one. */
static sup_vec3d morphed(const sup_rig *rig, const sup_pose *pose, int32_t v, bool normal)
{
    const sup_character *character = rig->character;
    sup_vec3d base = sup_v3_load((normal ? rig->normals : rig->positions) + 3 * v);
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_morph *morph = &character->morphs[m];
        const sup_primitive *part = &character->primitives[morph->primitive];
        const float *offsets = normal ? morph->normals : morph->positions;
        int32_t local = v - part->vertex_first;
        if (offsets == NULL || local < 0 || local >= part->vertex_count) continue;
        sup_affine to_bind = sup_affine_from_float(rig->primitive_bind[morph->primitive]);
        sup_vec3d offset = sup_v3_load(offsets + 3 * local);
        if (normal) {
            sup_vec3d own = turn_normal(to_bind, sup_v3_load(character->normals + 3 * v));
            offset = sup_v3_scale(turn_normal(to_bind, offset), 1.0 / sup_v3_length(own));
        } else
            offset = sup_affine_vector(to_bind, offset);
        base = sup_v3_madd(base, (double)pose->morph_weights[morph->weight], offset);
    }
    return base;
}

sup_result sup_reference_skin_all(const sup_context *context, const sup_rig *rig, const sup_pose *pose, bool dual,
                                  const sup_reference_out *out)
{
    sup_context resolved = sup_context_resolve(context);
    size_t size = sup_size_multiply((size_t)rig->joint_count, sizeof(reference_joint));
    reference_joint *joints = sup_alloc_zero(&resolved.allocator, size);
    if (joints == NULL) return SUP_ERROR_MEMORY;
    pose_joints(rig, pose, dual, joints);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        sup_affine a = dual ? blend_dual(rig, joints, v) : blend_linear(rig, joints, v, false);
        if (out->matrices != NULL) out->matrices[v] = a;
        if (out->positions != NULL) {
            sup_vec3d p = sup_affine_point(a, morphed(rig, pose, v, false));
            memcpy(out->positions + 3 * (size_t)v, &p, sizeof p);
        }
        if (out->normals != NULL) {
            sup_vec3d n = sup_v3_unit_or(turn_normal(a, morphed(rig, pose, v, true)), sup_v3(0, 0, 0));
            memcpy(out->normals + 3 * (size_t)v, &n, sizeof n);
        }
        if (out->tangents != NULL) {
            sup_vec3d t = sup_affine_vector(a, sup_v3_load(rig->tangents + 4 * (size_t)v));
            double side = (double)rig->tangents[4 * (size_t)v + 3];
            t = sup_v3_unit_or(t, sup_v3(0, 0, 0));
            memcpy(out->tangents + 4 * (size_t)v, &t, sizeof t);
            out->tangents[4 * (size_t)v + 3] = sup_affine_determinant(a) < 0.0 ? -side : side;
        }
    }
    sup_free(&resolved.allocator, joints, size);
    return SUP_OK;
}

sup_result sup_reference_skin(const sup_context *context, const sup_rig *rig, const sup_pose *pose, bool dual,
                              double *positions, double *normals)
{
    if (rig == NULL || pose == NULL || pose->node_count != rig->character->node_count) return SUP_ERROR_ARGUMENT;
    return sup_reference_skin_all(context, rig, pose, dual, &(sup_reference_out){positions, normals, NULL, NULL});
}
