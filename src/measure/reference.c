/* reference.c - linear and dual quaternion skinning, and skinning about centres of rotation, in double precision, one
 * vertex at a time, as in the equations of [aburumman2016survey] and [le2016cor]: reference for tests and benchmarks.
 * */
#include "measure/reference.h"

#include "base/base.h"

typedef struct reference_joint {
    sup_affine matrix; /* world * inverse bind */
    sup_quatd real, dual;
    sup_affine stretch; /* applied before the rigid motion */
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

/* Normalised blend of the joints' quaternions in the hemisphere of the first influence; the blend of their dual parts
 * divided by the same length. */
static void blend_quaternions(const sup_rig *rig, const reference_joint *joints, int32_t v, sup_quatd *real,
                              sup_quatd *dual)
{
    sup_quatd r = {0}, d = {0};
    sup_quatd pivot = joints[rig->influence_joint[rig->influence_first[v]]].real;
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        const reference_joint *joint = &joints[rig->influence_joint[i]];
        double w = (double)rig->influence_weight[i] * (dot(pivot, joint->real) < 0.0 ? -1.0 : 1.0);
        r = (sup_quatd){r.x + w * joint->real.x, r.y + w * joint->real.y, r.z + w * joint->real.z,
                        r.w + w * joint->real.w};
        d = (sup_quatd){d.x + w * joint->dual.x, d.y + w * joint->dual.y, d.z + w * joint->dual.z,
                        d.w + w * joint->dual.w};
    }
    double length = sqrt(dot(r, r));
    *real = (sup_quatd){r.x / length, r.y / length, r.z / length, r.w / length};
    *dual = (sup_quatd){d.x / length, d.y / length, d.z / length, d.w / length};
}

/* Eq. 2 of the survey as a matrix. */
static sup_affine blend_dual(const sup_rig *rig, const reference_joint *joints, int32_t v)
{
    sup_quatd real, dual;
    blend_quaternions(rig, joints, v, &real, &dual);
    sup_quatd t = sup_quatd_multiply(dual, sup_quatd_conjugate(real)); /* half the translation */
    sup_affine rigid = sup_affine_from_trs(sup_v3(2.0 * t.x, 2.0 * t.y, 2.0 * t.z), real, sup_v3(1, 1, 1));
    return sup_affine_multiply(rigid, blend_linear(rig, joints, v, true));
}

/* Blended rotation and stretch about the centre p, which moves with the blended matrices. */
static sup_affine blend_about_centre(const sup_rig *rig, const reference_joint *joints, int32_t v, sup_vec3d p)
{
    sup_quatd real, dual;
    blend_quaternions(rig, joints, v, &real, &dual);
    sup_affine rotation = sup_affine_from_trs(sup_v3(0, 0, 0), real, sup_v3(1, 1, 1));
    sup_affine linear = sup_affine_multiply(rotation, blend_linear(rig, joints, v, true));
    sup_vec3d moved = sup_affine_point(blend_linear(rig, joints, v, false), p);
    sup_vec3d t = sup_v3_sub(moved, sup_affine_vector(linear, p));
    linear.m[3] = t.x, linear.m[7] = t.y, linear.m[11] = t.z;
    return linear;
}

static sup_affine blend(const sup_rig *rig, const reference_joint *joints, int32_t v, sup_reference_kind kind,
                        const float *centres)
{
    if (kind == SUP_REFERENCE_DUAL) return blend_dual(rig, joints, v);
    if (kind == SUP_REFERENCE_CENTRES) return blend_about_centre(rig, joints, v, sup_v3_load(centres + 3 * (size_t)v));
    return blend_linear(rig, joints, v, false);
}

/* Inverse transpose up to scale: the cofactor matrix with the sign of the determinant. */
static sup_vec3d transform_normal(sup_affine a, sup_vec3d n)
{
    sup_vec3d r[3] = {sup_v3(a.m[0], a.m[1], a.m[2]), sup_v3(a.m[4], a.m[5], a.m[6]), sup_v3(a.m[8], a.m[9], a.m[10])};
    sup_vec3d c = sup_v3(sup_v3_dot(sup_v3_cross(r[1], r[2]), n), sup_v3_dot(sup_v3_cross(r[2], r[0]), n),
                         sup_v3_dot(sup_v3_cross(r[0], r[1]), n));
    return sup_v3_scale(c, sup_affine_determinant(a) < 0.0 ? -1.0 : 1.0);
}

/* Bind position or normal with the morph targets of the pose added. Offsets are transformed from mesh to bind space as
 * vectors or as normals; the latter are scaled like the normal of the mesh, which was normalised. */
static sup_vec3d morphed(const sup_rig *rig, const sup_pose *pose, int32_t v, bool normal)
{
    const sup_character *character = rig->character;
    sup_vec3d base = sup_v3_load((normal ? rig->normals : rig->positions) + 3 * v);
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_morph *morph = &character->morphs[m];
        const sup_primitive *primitive = &character->primitives[morph->primitive];
        const float *offsets = normal ? morph->normals : morph->positions;
        int32_t local = v - primitive->vertex_first;
        if (offsets == NULL || local < 0 || local >= primitive->vertex_count) continue;
        sup_affine to_bind = sup_affine_from_float(rig->primitive_bind[morph->primitive]);
        sup_vec3d offset = sup_v3_load(offsets + 3 * local);
        if (normal) {
            sup_vec3d mesh_normal = transform_normal(to_bind, sup_v3_load(character->normals + 3 * v));
            offset = sup_v3_scale(transform_normal(to_bind, offset), 1.0 / sup_v3_length(mesh_normal));
        } else
            offset = sup_affine_vector(to_bind, offset);
        base = sup_v3_madd(base, (double)pose->morph_weights[morph->weight], offset);
    }
    return base;
}

sup_result sup_reference_skin_all(const sup_context *context, const sup_rig *rig, const sup_pose *pose,
                                  sup_reference_kind kind, const float *centres, const sup_reference_out *out)
{
    sup_context resolved = sup_context_resolve(context);
    size_t size = sup_size_multiply((size_t)rig->joint_count, sizeof(reference_joint));
    reference_joint *joints = sup_alloc_zero(&resolved.allocator, size);
    if (joints == NULL) return SUP_ERROR_MEMORY;
    pose_joints(rig, pose, kind != SUP_REFERENCE_LINEAR, joints);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        sup_affine a = blend(rig, joints, v, kind, centres);
        if (out->matrices != NULL) out->matrices[v] = a;
        if (out->positions != NULL) {
            sup_vec3d p = sup_affine_point(a, morphed(rig, pose, v, false));
            memcpy(out->positions + 3 * (size_t)v, &p, sizeof p);
        }
        if (out->normals != NULL) {
            sup_vec3d n = sup_v3_unit_or(transform_normal(a, morphed(rig, pose, v, true)), sup_v3(0, 0, 0));
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
    return sup_reference_skin_all(context, rig, pose, dual ? SUP_REFERENCE_DUAL : SUP_REFERENCE_LINEAR, NULL,
                                  &(sup_reference_out){positions, normals, NULL, NULL});
}
