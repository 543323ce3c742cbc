/* reference_skinning.h - linear and dual quaternion skinning in double, one vertex after another, as the equations
 * are printed: the oracle of the tests and the yardstick of the benchmark. */
#ifndef SUP_TESTS_REFERENCE_SKINNING_H
#define SUP_TESTS_REFERENCE_SKINNING_H

#include "math/affine.h"
#include "supple/deform.h"

#include <stdlib.h>

/* One joint of the pose. */
typedef struct reference_joint {
    sup_affine matrix; /* world * inverse bind */
    sup_quatd real, dual;
    sup_affine stretch; /* before the rigid motion */
} reference_joint;

static inline reference_joint *reference_joints(const sup_rig *rig, const sup_pose *pose, bool split)
{
    reference_joint *joints = calloc((size_t)rig->joint_count, sizeof *joints);
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
    return joints;
}

static inline sup_affine reference_blend_linear(const sup_rig *rig, const reference_joint *joints, int32_t v,
                                                bool stretch)
{
    sup_affine sum = {{0}};
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        const reference_joint *joint = &joints[rig->influence_joint[i]];
        for (int32_t k = 0; k < 12; k++)
            sum.m[k] += (double)rig->influence_weight[i] * (stretch ? joint->stretch : joint->matrix).m[k];
    }
    return sum;
}

static inline double reference_dot(sup_quatd a, sup_quatd b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* Eq. 2 of the survey as a matrix, with the quaternions on the side of the first influence. */
static inline sup_affine reference_blend_dual(const sup_rig *rig, const reference_joint *joints, int32_t v)
{
    sup_quatd real = {0}, dual = {0};
    sup_quatd pivot = joints[rig->influence_joint[rig->influence_first[v]]].real;
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        const reference_joint *joint = &joints[rig->influence_joint[i]];
        double w = (double)rig->influence_weight[i] * (reference_dot(pivot, joint->real) < 0.0 ? -1.0 : 1.0);
        real = (sup_quatd){real.x + w * joint->real.x, real.y + w * joint->real.y, real.z + w * joint->real.z,
                           real.w + w * joint->real.w};
        dual = (sup_quatd){dual.x + w * joint->dual.x, dual.y + w * joint->dual.y, dual.z + w * joint->dual.z,
                           dual.w + w * joint->dual.w};
    }
    double length = sqrt(reference_dot(real, real));
    real = (sup_quatd){real.x / length, real.y / length, real.z / length, real.w / length};
    dual = (sup_quatd){dual.x / length, dual.y / length, dual.z / length, dual.w / length};
    sup_quatd t = sup_quatd_multiply(dual, sup_quatd_conjugate(real)); /* half the translation */
    sup_affine rigid = sup_affine_from_trs(sup_v3(2.0 * t.x, 2.0 * t.y, 2.0 * t.z), real, sup_v3(1, 1, 1));
    return sup_affine_multiply(rigid, reference_blend_linear(rig, joints, v, true));
}

/* Inverse transpose, up to length: the cofactors, with the sign of the determinant. */
static inline sup_vec3d reference_normal(sup_affine a, sup_vec3d n)
{
    sup_vec3d r[3] = {sup_v3(a.m[0], a.m[1], a.m[2]), sup_v3(a.m[4], a.m[5], a.m[6]), sup_v3(a.m[8], a.m[9], a.m[10])};
    sup_vec3d c = sup_v3(sup_v3_dot(sup_v3_cross(r[1], r[2]), n), sup_v3_dot(sup_v3_cross(r[2], r[0]), n),
                         sup_v3_dot(sup_v3_cross(r[0], r[1]), n));
    return sup_v3_scale(c, sup_affine_determinant(a) < 0.0 ? -1.0 : 1.0);
}

/* The bind position or normal with the pose's morph targets: offsets go from mesh to bind space as vectors, or as
 * normals, and then at the scale that made the mesh's own normal a unit one. */
static inline sup_vec3d reference_morphed(const sup_rig *rig, const sup_pose *pose, int32_t v, bool normal)
{
    const sup_character *character = rig->character;
    sup_vec3d base = sup_v3_load((normal ? rig->normals : rig->positions) + 3 * v);
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_morph *morph = &character->morphs[m];
        const sup_part *part = &character->parts[morph->part];
        const float *offsets = normal ? morph->normals : morph->positions;
        int32_t local = v - part->vertex_first;
        if (offsets == NULL || local < 0 || local >= part->vertex_count) continue;
        sup_affine to_bind = sup_affine_from_float(rig->part_bind[morph->part]);
        sup_vec3d offset = sup_v3_load(offsets + 3 * local);
        if (normal) {
            sup_vec3d own = reference_normal(to_bind, sup_v3_load(character->normals + 3 * v));
            offset = sup_v3_scale(reference_normal(to_bind, offset), 1.0 / sup_v3_length(own));
        } else
            offset = sup_affine_vector(to_bind, offset);
        base = sup_v3_madd(base, (double)pose->morph_weights[morph->weight], offset);
    }
    return base;
}

/* Any output may be NULL: positions and normals [vertex_count*3], tangents [vertex_count*4], matrices [vertex_count]. */
static inline void reference_skin(const sup_rig *rig, const sup_pose *pose, bool dual, double *positions,
                                  double *normals, double *tangents, sup_affine *matrices)
{
    reference_joint *joints = reference_joints(rig, pose, dual);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        sup_affine a = dual ? reference_blend_dual(rig, joints, v) : reference_blend_linear(rig, joints, v, false);
        if (matrices != NULL) matrices[v] = a;
        if (positions != NULL) {
            sup_vec3d p = sup_affine_point(a, reference_morphed(rig, pose, v, false));
            positions[3 * v] = p.x, positions[3 * v + 1] = p.y, positions[3 * v + 2] = p.z;
        }
        if (normals != NULL) {
            sup_vec3d n = reference_normal(a, reference_morphed(rig, pose, v, true));
            n = sup_v3_unit_or(n, sup_v3(0, 0, 0));
            normals[3 * v] = n.x, normals[3 * v + 1] = n.y, normals[3 * v + 2] = n.z;
        }
        if (tangents != NULL) {
            sup_vec3d t = sup_affine_vector(a, sup_v3_load(rig->tangents + 4 * v));
            t = sup_v3_unit_or(t, sup_v3(0, 0, 0));
            tangents[4 * v] = t.x, tangents[4 * v + 1] = t.y, tangents[4 * v + 2] = t.z;
            tangents[4 * v + 3] = (double)rig->tangents[4 * v + 3] * (sup_affine_determinant(a) < 0.0 ? -1.0 : 1.0);
        }
    }
    free(joints);
}

#endif
