/* skin.c - view of a skin model, joint matrices of a pose, and repair of directions that overflow float. */
#include "skin/skin.h"

#include <float.h>

/* A stretch that differs less from the identity is rounding noise of a rigid joint. */
static const double rigid_tolerance = 2e-6;

static const void *array_of(const sup_model *model, const char *name, sup_array_type type, int64_t count)
{
    return sup_model_array(model, name, type, count);
}

sup_skin_model sup_skin_open(const sup_model *model)
{
    sup_skin_model skin = {.vertex_count = sup_model_vertex_count(model)};
    skin.joint_count = (int32_t)sup_model_array_count(model, "joint_node");
    skin.window_count = (int32_t)sup_model_array_count(model, "window_first") - 1;
    skin.cluster_count = (int32_t)sup_model_array_count(model, "joint_first") - 1;
    skin.joint_node = array_of(model, "joint_node", SUP_ARRAY_INT32, -1);
    skin.joint_inverse_bind = array_of(model, "joint_inverse_bind", SUP_ARRAY_FLOAT, -1);
    skin.joint_centre = array_of(model, "joint_centre", SUP_ARRAY_FLOAT, -1);
    skin.window_first = array_of(model, "window_first", SUP_ARRAY_INT32, -1);
    skin.joint_first = array_of(model, "joint_first", SUP_ARRAY_INT32, -1);
    skin.weight_first = array_of(model, "weight_first", SUP_ARRAY_INT32, -1);
    skin.joints = array_of(model, "joints", SUP_ARRAY_UINT16, -1);
    skin.weights = array_of(model, "weights", SUP_ARRAY_FLOAT, -1);
    skin.strongest = array_of(model, "strongest", SUP_ARRAY_BYTE, -1);
    skin.vertex = array_of(model, "vertex", SUP_ARRAY_UINT16, -1);
    skin.positions = array_of(model, "positions", SUP_ARRAY_FLOAT, -1);
    skin.normals = array_of(model, "normals", SUP_ARRAY_FLOAT, -1);
    skin.tangents = array_of(model, "tangents", SUP_ARRAY_FLOAT, -1);
    const float *extent = array_of(model, "extent", SUP_ARRAY_FLOAT, 1);
    skin.extent = extent != NULL ? *extent : 0.0f;
    skin.morphs.count = (int32_t)sup_model_array_count(model, "morph_weight");
    skin.morphs.weight = array_of(model, "morph_weight", SUP_ARRAY_INT32, -1);
    skin.morphs.extent = array_of(model, "morph_extent", SUP_ARRAY_FLOAT, -1);
    skin.morphs.first = array_of(model, "morph_first", SUP_ARRAY_INT32, -1);
    skin.morphs.slot = array_of(model, "morph_slot", SUP_ARRAY_INT32, -1);
    skin.morphs.offsets = array_of(model, "morph_offsets", SUP_ARRAY_FLOAT, -1);
    return skin;
}

/* Largest coordinate of a bind position with the morph targets of the pose added. */
static double morphed_extent(const sup_skin_model *skin, const float *morph_weights)
{
    double extent = (double)skin->extent;
    for (int32_t m = 0; m < skin->morphs.count; m++)
        extent += fabs((double)morph_weights[skin->morphs.weight[m]]) * (double)skin->morphs.extent[m];
    return extent;
}

sup_affine sup_skin_joint(const sup_skin_model *skin, const sup_pose *pose, int32_t joint)
{
    sup_mat34 inverse_bind;
    memcpy(inverse_bind.m, skin->joint_inverse_bind + 12 * (int64_t)joint, sizeof inverse_bind.m);
    return sup_affine_multiply(sup_affine_from_float(pose->world[skin->joint_node[joint]]),
                               sup_affine_from_float(inverse_bind));
}

bool sup_skin_split_joint(sup_affine joint, sup_vec3d c, sup_quatd *rotation, float stretch[12])
{
    double s[9], deviation = 0.0;
    sup_affine_polar(joint, rotation, s);
    sup_vec3d stretched = sup_v3(s[0] * c.x + s[1] * c.y + s[2] * c.z, s[3] * c.x + s[4] * c.y + s[5] * c.z,
                                 s[6] * c.x + s[7] * c.y + s[8] * c.z);
    const double move[3] = {c.x - stretched.x, c.y - stretched.y, c.z - stretched.z};
    for (int32_t r = 0; r < 3; r++) {
        for (int32_t k = 0; k < 3; k++) {
            stretch[4 * r + k] = (float)s[3 * r + k];
            deviation = fmax(deviation, fabs(s[3 * r + k] - (r == k ? 1.0 : 0.0)));
        }
        stretch[4 * r + 3] = (float)move[r];
    }
    return deviation > rigid_tolerance;
}

sup_result sup_skin_range(const sup_skin_model *skin, const sup_pose *pose, double largest, double reach)
{
    /* A product of joint and vertex has 4 terms; dual quaternions rotate and add a few more times. */
    double extent = fmax(morphed_extent(skin, pose->morph_weights), reach);
    return largest <= (double)SUP_SKIN_LIMIT && largest * extent <= (double)FLT_MAX / 256.0 ? SUP_OK : SUP_ERROR_DATA;
}

static sup_vec3d apply(const float m[9], sup_vec3d v)
{
    return sup_v3((double)m[0] * v.x + (double)m[1] * v.y + (double)m[2] * v.z,
                  (double)m[3] * v.x + (double)m[4] * v.y + (double)m[5] * v.z,
                  (double)m[6] * v.x + (double)m[7] * v.y + (double)m[8] * v.z);
}

/* Unit vector along `v` of any length; `default_value` when it has no direction. */
static sup_vec3d direction(sup_vec3d v, sup_vec3d default_value)
{
    double size = fmax(fabs(v.x), fmax(fabs(v.y), fabs(v.z)));
    if (!(size > 0.0) || !isfinite(size)) return default_value;
    return sup_v3_unit_or(sup_v3(v.x / size, v.y / size, v.z / size), default_value);
}

static sup_vec3d repaired_normal(const float m[9], const float normal[3])
{
    sup_vec3d rows[3] = {sup_v3_load(m), sup_v3_load(m + 3), sup_v3_load(m + 6)}, n = sup_v3_load(normal);
    sup_vec3d c[3] = {sup_v3_cross(rows[1], rows[2]), sup_v3_cross(rows[2], rows[0]), sup_v3_cross(rows[0], rows[1])};
    double sign = sup_v3_dot(rows[0], c[0]) < 0.0 ? -1.0 : 1.0;
    sup_vec3d transformed = sup_v3_scale(sup_v3(sup_v3_dot(c[0], n), sup_v3_dot(c[1], n), sup_v3_dot(c[2], n)), sign);
    return direction(transformed, direction(n, sup_v3(0.0, 0.0, 1.0)));
}

void sup_skin_repair_normal(const float matrix[9], const float normal[3], float out[3])
{
    sup_v3_store(out, repaired_normal(matrix, normal));
}

void sup_skin_repair_tangent(const float matrix[9], const float normal[3], const float tangent[3], float out[3])
{
    sup_vec3d n = repaired_normal(matrix, normal);
    sup_vec3d axis = fabs(n.x) < 0.6 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0);
    sup_v3_store(out, direction(apply(matrix, sup_v3_load(tangent)), direction(sup_v3_cross(n, axis), axis)));
}
