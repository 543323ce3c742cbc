/* anatomy_attach.c - assigns bones to joints from JSON: {"bone_to_joint": {"Left femur": "hip_l", ...}}. With a list
 * "joints" of {"name", "parent", "position"} the names of the file's own skeleton are matched to the template's. */
#include "anatomy/joint_match.h"
#include "load/file.h"
#include "load/json.h"
#include "supple/anatomy.h"

typedef struct attachment {
    const sup_context *context;
    const char *path;
    const sup_json *root;
    sup_arena arena;
    const sup_joints *joints; /* of the template */
    sup_joints own;           /* of the file; count 0: none */
    int32_t *match;           /* [own.count] joints of the template */
} attachment;

static int32_t find_name(int32_t count, const char *const *names, const char *name)
{
    for (int32_t j = 0; name != NULL && j < count; j++)
        if (sup_text_equal(names[j], name)) return j;
    return -1;
}

static sup_result refuse_joint(const attachment *a, int32_t joint, sup_error *error)
{
    return sup_fail(
        error, SUP_ERROR_FORMAT, "anatomy.attach.joint", a->path,
        "Joint %d of \"joints\" is invalid: expected {\"name\": TEXT, \"parent\": index of an earlier joint "
        "or -1, \"position\": [x, y, z]}.",
        (int)joint);
}

/* The skeleton of the file, if it has one. */
static sup_result read_joints(attachment *a, sup_error *error)
{
    const sup_json *list = sup_json_get(a->root, "joints");
    int32_t count = sup_json_is(list, SUP_JSON_ARRAY) ? sup_json_count(list) : 0;
    const char **names = sup_arena_alloc(&a->arena, (size_t)count + 1, sizeof *names);
    int32_t *parents = sup_arena_alloc(&a->arena, (size_t)count + 1, sizeof *parents);
    double *positions = sup_arena_alloc(&a->arena, 3 * (size_t)count + 1, sizeof *positions);
    a->match = sup_arena_alloc(&a->arena, (size_t)count + 1, sizeof *a->match);
    if (names == NULL || parents == NULL || positions == NULL || a->match == NULL)
        return sup_fail_memory(error, "the joints of bones");
    for (int32_t j = 0; j < count; j++) {
        const sup_json *joint = sup_json_at(list, j), *position = sup_json_get(joint, "position");
        int64_t parent = -2;
        names[j] = sup_json_text(sup_json_get(joint, "name"));
        bool good = names[j] != NULL && sup_json_integer(sup_json_get(joint, "parent"), &parent) && parent >= -1 &&
                    parent < j && (parent >= 0 || j == 0);
        for (int k = 0; k < 3; k++)
            good = good && sup_json_double(sup_json_at(position, k), &positions[3 * (size_t)j + (size_t)k]);
        if (!good) return refuse_joint(a, j, error);
        parents[j] = (int32_t)parent;
    }
    a->own = (sup_joints){count, names, parents, positions};
    if (count == 0) return SUP_OK;
    sup_error unmatched = {0};
    if (sup_joints_match(a->context, &a->own, a->joints, a->match, &unmatched) != SUP_OK)
        sup_log(a->context, SUP_LOG_WARNING, "%s: only joints with the template's names are used: %s", a->path,
                unmatched.message);
    return SUP_OK;
}

/* The template's joint with a name of the file, -1 if none. */
static int32_t find_joint(const attachment *a, const char *name)
{
    int32_t joint = find_name(a->joints->count, a->joints->names, name);
    int32_t own = joint < 0 ? find_name(a->own.count, a->own.names, name) : -1;
    return own >= 0 ? a->match[own] : joint;
}

/* Warns about each kind of line without an effect. */
static void warn(const attachment *a, const sup_json *table, const sup_anatomy_organ *organs, int32_t organ_count,
                 int32_t set)
{
    int32_t no_bone = 0, no_joint = 0, bones = 0;
    const char *bone = "", *joint = "";
    for (int32_t i = 0; i < sup_json_count(table); i++) {
        const sup_json *line = table->of.items[i];
        bool found = false;
        for (int32_t p = 0; p < organ_count && !found; p++)
            found = !organs[p].is_muscle && sup_text_equal(organs[p].name, line->key);
        if (!found && no_bone++ == 0) bone = line->key;
        if (find_joint(a, sup_json_text(line)) < 0 && no_joint++ == 0) joint = line->key;
    }
    for (int32_t p = 0; p < organ_count; p++)
        bones += !organs[p].is_muscle;
    if (no_bone > 0)
        sup_log(a->context, SUP_LOG_WARNING,
                "%s: %d lines of \"bone_to_joint\" have no effect: there is no such bone, the "
                "first is \"%s\".",
                a->path, (int)no_bone, bone);
    if (no_joint > 0)
        sup_log(a->context, SUP_LOG_WARNING,
                "%s: %d lines of \"bone_to_joint\" have no effect: the template has no such "
                "joint, the first is that of \"%s\".",
                a->path, (int)no_joint, joint);
    if (set < bones)
        sup_log(a->context, SUP_LOG_WARNING, "%s: %d of %d bones have no valid line and follow the nearest joint.",
                a->path, (int)(bones - set), (int)bones);
    for (int32_t i = 0; i < sup_json_count(a->root); i++) {
        static const char *const used[] = {"bone_to_joint", "joints"};
        const sup_json *member = a->root->of.items[i];
        bool data = sup_json_is(member, SUP_JSON_OBJECT) || sup_json_is(member, SUP_JSON_ARRAY);
        if (data && find_name(2, used, member->key) < 0)
            sup_log(a->context, SUP_LOG_WARNING, "%s: \"%s\" is not used: only \"bone_to_joint\" and \"joints\" are.",
                    a->path, member->key);
    }
}

static sup_result attach(attachment *a, sup_anatomy_organ *organs, int32_t organ_count, int32_t *attached,
                         sup_error *error)
{
    const sup_json *table = sup_json_get(a->root, "bone_to_joint");
    if (!sup_json_is(table, SUP_JSON_OBJECT))
        return sup_fail(error, SUP_ERROR_FORMAT, "anatomy.attach", a->path,
                        "The file has no object \"bone_to_joint\": expected {\"bone_to_joint\": {BONE: JOINT, ...}}.");
    sup_result result = read_joints(a, error);
    if (result != SUP_OK) return result;
    int32_t count = 0;
    for (int32_t p = 0; p < organ_count; p++) {
        if (organs[p].is_muscle) continue;
        int32_t joint = find_joint(a, sup_json_text(sup_json_get(table, organs[p].name)));
        if (joint < 0) continue;
        organs[p].joint = joint;
        count++;
    }
    warn(a, table, organs, organ_count, count);
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
    if (result == SUP_OK) {
        attachment a = {.context = &resolved, .path = path, .root = tree.root, .joints = joints};
        a.arena = sup_arena_create(&resolved.allocator);
        result = attach(&a, organs, organ_count, attached, error);
        sup_arena_destroy(&a.arena);
    }
    sup_json_tree_destroy(&tree);
    sup_free(&resolved.allocator, data, size + 1);
    return result;
}
