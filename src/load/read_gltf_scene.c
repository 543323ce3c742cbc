/* read_gltf_scene.c - reads nodes (transforms, hierarchy) and skins. */
#include "load/read_gltf.h"

#include "math/affine.h"

/* Maximum deviation of a node's matrix from translation * rotation * scale, relative to its norm, without a warning. */
static const double SHEAR_TOLERANCE = 1e-4;

static sup_result read_matrix(sup_gltf *g, const double *columns, int32_t number, sup_transform *rest)
{
    sup_affine matrix;
    double shear = 0.0;
    for (int32_t row = 0; row < 3; row++)
        for (int32_t column = 0; column < 4; column++)
            matrix.m[row * 4 + column] = columns[column * 4 + row];
    if (!sup_affine_finite(matrix))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.node.nonfinite",
                             "The matrix of node %d has a non-finite number.", number);
    *rest = sup_affine_decompose(matrix, &shear);
    if (shear > SHEAR_TOLERANCE)
        sup_log(g->input->context, SUP_LOG_WARNING, "%s: the matrix of node %d has shear, which is ignored.",
                g->input->name, number);
    return SUP_OK;
}

static sup_result read_transform(sup_gltf *g, const sup_json *node, int32_t number, sup_transform *rest)
{
    double m[16], t[3], r[4], s[3];
    bool has_m, has_t, has_r, has_s;
    *rest = sup_transform_identity();
    sup_result result = sup_gltf_numbers(g, node, "matrix", 16, "node", number, m, &has_m);
    if (result == SUP_OK) result = sup_gltf_numbers(g, node, "translation", 3, "node", number, t, &has_t);
    if (result == SUP_OK) result = sup_gltf_numbers(g, node, "rotation", 4, "node", number, r, &has_r);
    if (result == SUP_OK) result = sup_gltf_numbers(g, node, "scale", 3, "node", number, s, &has_s);
    if (result != SUP_OK) return result;
    if (has_m && !has_t && !has_r && !has_s) return read_matrix(g, m, number, rest);
    if (has_t) rest->translation = (sup_vec3){(float)t[0], (float)t[1], (float)t[2]};
    if (has_s) rest->scale = (sup_vec3){(float)s[0], (float)s[1], (float)s[2]};
    if (has_r) {
        double length2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3];
        sup_quatd q = {r[0], r[1], r[2], r[3]};
        if (isfinite(length2)) q = sup_quatd_normalise(q); /* otherwise sup_character_finish reports the error */
        rest->rotation = sup_quatd_to_float(q);
    }
    return SUP_OK;
}

static sup_result read_children(sup_gltf *g, const sup_json *node, int32_t number, sup_node *nodes)
{
    const sup_json *children;
    sup_result result = sup_gltf_list(g, node, "children", &children);
    for (int32_t i = 0; i < sup_json_count(children) && result == SUP_OK; i++) {
        int64_t child = -1;
        if (!sup_json_integer(sup_json_at(children, i), &child) || child < 0 || child >= g->character->node_count)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.index", "Node %d has a child that does not exist.", number);
        if (nodes[child].parent >= 0)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.node.parents",
                                 "Node %d is a child of node %d and of node %d: a node can have only one parent.",
                                 (int)child, nodes[child].parent, number);
        nodes[child].parent = number;
    }
    return result;
}

static sup_result read_nodes(sup_gltf *g, int32_t skin_count)
{
    const sup_json *list, *object;
    sup_result result = sup_gltf_list(g, g->root, "nodes", &list);
    if (result != SUP_OK) return result;
    int32_t count = sup_json_count(list), mesh_count = sup_json_count(g->meshes);
    sup_node *nodes = sup_gltf_alloc(g, g->arena, (size_t)count, sizeof *nodes);
    g->nodes = sup_gltf_alloc(g, &g->scratch, (size_t)count, sizeof *g->nodes);
    if (nodes == NULL || g->nodes == NULL) return g->error->result;
    g->character->nodes = nodes;
    g->character->node_count = count;
    for (int32_t i = 0; i < count; i++)
        nodes[i].parent = -1;
    for (int32_t i = 0; i < count && result == SUP_OK; i++) {
        result = sup_gltf_object(g, list, i, "node", &object);
        if (result != SUP_OK) return result;
        nodes[i].name = sup_gltf_name(g, sup_json_get(object, "name"));
        if (nodes[i].name == NULL) return g->error->result;
        g->nodes[i].weights = sup_json_get(object, "weights");
        result = read_transform(g, object, i, &nodes[i].rest);
        if (result == SUP_OK) result = read_children(g, object, i, nodes);
        if (result == SUP_OK)
            result = sup_gltf_index(g, object, "mesh", "mesh", mesh_count, "node", i, &g->nodes[i].mesh);
        if (result == SUP_OK)
            result = sup_gltf_index(g, object, "skin", "skin", skin_count, "node", i, &g->nodes[i].skin);
    }
    return result;
}

/* Reads column-major 4x4 matrices of the accessor into the bones; identity without an accessor. */
static sup_result read_inverse_binds(sup_gltf *g, const sup_json *skin, int32_t number, sup_bone *bones, int32_t count)
{
    sup_gltf_accessor accessor;
    sup_result result = sup_gltf_open_member(g, skin, "inverseBindMatrices", "skin", number, &accessor);
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < count; i++)
        bones[i].inverse_bind = sup_mat34_identity();
    if (accessor.index < 0) return SUP_OK;
    if (accessor.width != 16 || accessor.component != SUP_GLTF_FLOAT || accessor.count < count)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.skin.matrices",
                             "The inverse bind matrices of skin %d must be %d 4x4 matrices of floats.", number, count);
    const float *matrices = sup_gltf_shared_floats(g, &accessor);
    if (matrices == NULL) return g->error->result;
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < 12; k++) {
            float value = matrices[i * 16 + k % 4 * 4 + k / 4];
            if (!isfinite(value))
                return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.skin.nonfinite",
                                     "The inverse bind matrix of joint %d of skin %d has a non-finite number.", i,
                                     number);
            bones[i].inverse_bind.m[k] = value;
        }
    return SUP_OK;
}

static sup_result read_skin(sup_gltf *g, const sup_json *object, int32_t number, sup_skin *skin, sup_bone *bones)
{
    const sup_json *joints;
    sup_result result = sup_gltf_list(g, object, "joints", &joints);
    if (result != SUP_OK) return result;
    skin->name = sup_gltf_name(g, sup_json_get(object, "name"));
    if (skin->name == NULL) return g->error->result;
    for (int32_t i = 0; i < skin->bone_count; i++) {
        int64_t node = -1;
        if (!sup_json_integer(sup_json_at(joints, i), &node) || node < 0 || node >= g->character->node_count)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.skin.joint",
                                 "Joint %d of skin %d refers to a node that does not exist.", i, number);
        bones[i].node = (int32_t)node;
    }
    return read_inverse_binds(g, object, number, bones, skin->bone_count);
}

static sup_result read_skins(sup_gltf *g, const sup_json *list)
{
    int32_t count = sup_json_count(list);
    int64_t bone_count = 0;
    sup_skin *skins = sup_gltf_alloc(g, g->arena, (size_t)count, sizeof *skins);
    if (skins == NULL) return g->error->result;
    for (int32_t i = 0; i < count; i++) {
        int32_t joints = sup_json_count(sup_json_get(sup_json_at(list, i), "joints"));
        if (joints == 0) return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.skin.empty", "Skin %d has no joints.", i);
        skins[i].bone_first = (int32_t)bone_count;
        skins[i].bone_count = joints;
        bone_count += joints;
    }
    sup_bone *bones = sup_gltf_alloc(g, g->arena, (size_t)bone_count, sizeof *bones);
    if (bones == NULL) return g->error->result;
    g->character->skins = skins;
    g->character->skin_count = count;
    g->character->bones = bones;
    g->character->bone_count = (int32_t)bone_count;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < count && result == SUP_OK; i++)
        result = read_skin(g, sup_json_at(list, i), i, &skins[i], bones + skins[i].bone_first);
    return result;
}

sup_result sup_gltf_read_scene(sup_gltf *g)
{
    const sup_json *skins;
    sup_result result = sup_gltf_list(g, g->root, "skins", &skins);
    if (result == SUP_OK) result = read_nodes(g, sup_json_count(skins));
    if (result == SUP_OK) result = read_skins(g, skins);
    return result;
}
