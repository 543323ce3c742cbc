/* anatomy_attach.c - assigns bones to joints from JSON: {"bone_to_joint": {"Left femur": "hip_l", ...}}. */
#include "load/file.h"
#include "load/json.h"
#include "supple/anatomy.h"

static int32_t find_joint(const sup_joints *joints, const char *name)
{
    for (int32_t j = 0; name != NULL && j < joints->count; j++)
        if (sup_text_equal(joints->names[j], name)) return j;
    return -1;
}

static sup_result attach(const char *path, const sup_json *root, const sup_joints *joints, sup_anatomy_organ *organs,
                         int32_t organ_count, int32_t *attached, sup_error *error)
{
    const sup_json *table = sup_json_get(root, "bone_to_joint");
    if (!sup_json_is(table, SUP_JSON_OBJECT))
        return sup_fail(error, SUP_ERROR_FORMAT, "anatomy.attach", path,
                        "The file has no object \"bone_to_joint\": expected {\"bone_to_joint\": {BONE: JOINT, ...}}.");
    int32_t count = 0;
    for (int32_t p = 0; p < organ_count; p++) {
        if (organs[p].is_muscle) continue;
        int32_t joint = find_joint(joints, sup_json_text(sup_json_get(table, organs[p].name)));
        if (joint < 0) continue;
        organs[p].joint = joint;
        count++;
    }
    *attached = count;
    return SUP_OK;
}

sup_result sup_anatomy_attach(const sup_context *context, const char *path, const sup_joints *joints,
                              sup_anatomy_organ *organs, int32_t organ_count, int32_t *attached, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    sup_json_tree tree = sup_json_tree_create(&resolved.allocator);
    result = sup_json_parse(&tree, path, (sup_bytes){data, size}, error);
    if (result == SUP_OK) result = attach(path, tree.root, joints, organs, organ_count, attached, error);
    sup_json_tree_destroy(&tree);
    sup_free(&resolved.allocator, data, size + 1);
    return result;
}
