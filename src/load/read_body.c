/* read_body.c - restores a body from the character that sup_body_character made, as loaded from a GLB.
 *
 * Layers, rig and details are data of the character; masses and maps are in its extras. Every count in the extras is
 * checked against the character. */
#include "anatomy/body.h"
#include "anatomy/array_store.h"
#include "load/json.h"
#include "math/affine.h"

typedef struct body_reader {
    const sup_character *character;
    const sup_primitive *skin;
    const sup_json *root; /* "supple_body" */
    sup_arena *arena;
    sup_affine *world; /* [node_count] rest */
    sup_body *body;
    sup_error *error;
} body_reader;

static sup_result fail(const body_reader *r, const char *id, const char *message)
{
    return sup_fail(r->error, SUP_ERROR_DATA, id, r->character->name, "%s", message);
}

static sup_result fail_damaged(const body_reader *r, const char *what)
{
    return sup_fail(r->error, SUP_ERROR_DATA, "anatomy.body.damaged", r->character->name,
                    "The body's extras have no valid '%s': fit the body again with 'supple anatomy fit'.", what);
}

static double number_of(const sup_json *object, const char *key)
{
    double value = 0.0;
    return sup_json_double(sup_json_get(object, key), &value) && isfinite(value) ? value : 0.0;
}

/* One digit per vertex, below `limit`. */
static sup_result read_digits(const body_reader *r, const char *key, int32_t count, int limit, unsigned char **values)
{
    const sup_json *value = sup_json_get(r->root, key);
    const char *digits = sup_json_text(value);
    *values = sup_arena_alloc(r->arena, (size_t)count + 1, 1);
    if (*values == NULL) return sup_fail_memory(r->error, "a body");
    if (digits == NULL || value->count != (uint32_t)count) return fail_damaged(r, key);
    for (int32_t v = 0; v < count; v++) {
        if (digits[v] < '0' || digits[v] >= '0' + limit) return fail_damaged(r, key);
        (*values)[v] = (unsigned char)(digits[v] - '0');
    }
    return SUP_OK;
}

/* One length per vertex, in hundredths of a millimetre. */
static sup_result read_lengths(const body_reader *r, const char *key, int32_t count, double **values)
{
    const sup_json *list = sup_json_get(r->root, key);
    *values = sup_arena_alloc(r->arena, (size_t)count + 1, sizeof(double));
    if (*values == NULL) return sup_fail_memory(r->error, "a body");
    if (!sup_json_is(list, SUP_JSON_ARRAY) || sup_json_count(list) != count) return fail_damaged(r, key);
    for (int32_t v = 0; v < count; v++) {
        int64_t hundredths = 0;
        if (!sup_json_integer(sup_json_at(list, v), &hundredths) || hundredths < 0 || hundredths > 1000000)
            return fail_damaged(r, key);
        (*values)[v] = (double)hundredths * 1e-5;
    }
    return SUP_OK;
}

static sup_result read_maps(const body_reader *r)
{
    sup_anatomy *a = &r->body->layers;
    unsigned char *flags = NULL;
    sup_result result = read_digits(r, "group", a->vertex_count, SUP_GROUP_COUNT, &a->group);
    if (result == SUP_OK) result = read_digits(r, "region", a->vertex_count, SUP_REGION_COUNT, &a->region);
    if (result == SUP_OK) result = read_digits(r, "flags", a->vertex_count, 4, &flags);
    if (result == SUP_OK) result = read_lengths(r, "thickness", a->vertex_count, &a->thickness);
    if (result == SUP_OK) result = read_lengths(r, "cavity", a->vertex_count, &r->body->cavity);
    if (result != SUP_OK) return result;
    a->excluded = flags;
    a->crotch = sup_arena_alloc(r->arena, (size_t)a->vertex_count + 1, 1);
    if (a->crotch == NULL) return sup_fail_memory(r->error, "a body");
    for (int32_t v = 0; v < a->vertex_count; v++) {
        a->crotch[v] = flags[v] >> 1;
        flags[v] &= 1;
    }
    return SUP_OK;
}

static void read_masses(const body_reader *r)
{
    const sup_json *from = sup_json_get(r->root, "masses");
    r->body->masses = (sup_body_masses){.fat = number_of(from, "fat_kg"),
                                        .muscle = number_of(from, "muscle_kg"),
                                        .fat_target = number_of(from, "fat_target_kg"),
                                        .muscle_target = number_of(from, "muscle_target_kg"),
                                        .fat_min = number_of(from, "fat_min_kg"),
                                        .fat_max = number_of(from, "fat_max_kg"),
                                        .muscle_min = number_of(from, "muscle_min_kg"),
                                        .muscle_max = number_of(from, "muscle_max_kg"),
                                        .fat_layer = number_of(from, "fat_layer_l"),
                                        .muscle_layer = number_of(from, "muscle_layer_l"),
                                        .visceral = number_of(from, "visceral_kg"),
                                        .skin = number_of(from, "skin_kg"),
                                        .crotch = number_of(from, "crotch_kg"),
                                        .abdomen = number_of(from, "abdomen_kg"),
                                        .missing = number_of(from, "missing_kg"),
                                        .clamped = sup_json_boolean(sup_json_get(from, "clamped"), false)};
    r->body->height = number_of(r->root, "height_m");
    r->body->scale = number_of(r->root, "scale");
    r->body->alignment = number_of(r->root, "alignment");
    r->body->crossings = (int32_t)fmin(fmax(number_of(r->root, "crossings"), 0.0), 1e9);
    r->body->inverted = (int32_t)fmin(fmax(number_of(r->root, "inverted"), 0.0), 1e9);
    r->body->layers.sex = sup_json_equals(sup_json_get(r->root, "sex"), "male")     ? SUP_SEX_MALE
                          : sup_json_equals(sup_json_get(r->root, "sex"), "female") ? SUP_SEX_FEMALE
                                                                                    : SUP_SEX_UNKNOWN;
}

static double *to_doubles(const body_reader *r, const float *values, size_t count)
{
    double *made = sup_arena_alloc(r->arena, count + 1, sizeof(double));
    for (size_t i = 0; i < count && made != NULL; i++)
        made[i] = (double)values[i];
    return made;
}

static sup_result read_layers(const body_reader *r)
{
    const sup_character *c = r->character;
    sup_anatomy *a = &r->body->layers;
    size_t n = (size_t)r->skin->vertex_count, first = 3 * (size_t)r->skin->vertex_first;
    a->vertex_count = r->skin->vertex_count;
    a->triangle_count = r->skin->triangle_count;
    a->skin = to_doubles(r, c->positions + first, 3 * n);
    a->muscle = to_doubles(r, c->muscle_positions + first, 3 * n);
    a->bone = to_doubles(r, c->bone_positions + first, 3 * n);
    a->triangles = sup_arena_copy(r->arena, c->triangles + 3 * (size_t)r->skin->triangle_first,
                                  3 * (size_t)a->triangle_count, sizeof(int32_t));
    a->bone_joint = sup_arena_alloc(r->arena, n + 1, sizeof(int32_t));
    a->influence_first = sup_arena_alloc(r->arena, n + 1, sizeof(int32_t));
    int32_t influences = c->influence_first[r->skin->vertex_first + r->skin->vertex_count], offset = 0;
    offset = c->influence_first[r->skin->vertex_first];
    influences -= offset;
    a->influence_joint = sup_arena_alloc(r->arena, (size_t)influences + 1, sizeof(int32_t));
    a->influence_weight = to_doubles(r, c->influence_weight + offset, (size_t)influences);
    if (a->skin == NULL || a->muscle == NULL || a->bone == NULL || a->triangles == NULL || a->bone_joint == NULL ||
        a->influence_first == NULL || a->influence_joint == NULL || a->influence_weight == NULL)
        return sup_fail_memory(r->error, "a body");
    int32_t bone_first = c->skins[r->skin->skin].bone_first;
    for (int32_t v = 0; v < a->vertex_count; v++) {
        int32_t attachment = c->bone_attachments != NULL ? c->bone_attachments[r->skin->vertex_first + v] : -1;
        a->bone_joint[v] = attachment >= 0 ? attachment - bone_first : -1;
        a->influence_first[v + 1] = c->influence_first[r->skin->vertex_first + v + 1] - offset;
    }
    for (int32_t i = 0; i < influences; i++)
        a->influence_joint[i] = c->influence_bone[offset + i] - bone_first;
    for (size_t i = 0; i < 3 * (size_t)a->triangle_count; i++)
        a->triangles[i] -= r->skin->vertex_first;
    return SUP_OK;
}

/* Joint of a node: its own bone, or that of its nearest ancestor with a bone; -1 for none. */
static int32_t joint_of(const body_reader *r, int32_t node)
{
    const sup_character *c = r->character;
    const sup_skin *skin = &c->skins[r->skin->skin];
    for (int32_t steps = 0; node >= 0 && steps <= c->node_count; node = c->nodes[node].parent, steps++)
        for (int32_t b = 0; b < skin->bone_count; b++)
            if (c->bones[skin->bone_first + b].node == node) return b;
    return -1;
}

static sup_result read_joints(const body_reader *r)
{
    const sup_character *c = r->character;
    const sup_skin *skin = &c->skins[r->skin->skin];
    sup_anatomy *a = &r->body->layers;
    size_t count = (size_t)skin->bone_count;
    a->joint_count = skin->bone_count;
    a->joint_names = sup_arena_alloc(r->arena, count + 1, sizeof *a->joint_names);
    a->parents = sup_arena_alloc(r->arena, count + 1, sizeof *a->parents);
    a->joints = sup_arena_alloc(r->arena, 3 * count + 1, sizeof *a->joints);
    if (a->joint_names == NULL || a->parents == NULL || a->joints == NULL) return sup_fail_memory(r->error, "a body");
    for (int32_t j = 0; j < a->joint_count; j++) {
        int32_t node = c->bones[skin->bone_first + j].node, parent = c->nodes[node].parent;
        a->joint_names[j] = sup_arena_string(r->arena, c->nodes[node].name);
        a->parents[j] = parent >= 0 ? joint_of(r, parent) : -1;
        sup_point_set(a->joints, j, sup_affine_translation(r->world[node]));
        if (a->joint_names[j] == NULL) return sup_fail_memory(r->error, "a body");
        if (a->parents[j] >= j)
            return fail(
                r, "anatomy.body.joints",
                "The body's joints are not sorted parents first: fit the body again with 'supple anatomy fit'.");
    }
    return SUP_OK;
}

static sup_result read_details(const body_reader *r)
{
    const sup_character *c = r->character;
    sup_anatomy *a = &r->body->layers;
    int32_t count = c->primitive_count - 1;
    size_t organs = (size_t)count;
    sup_result result = read_digits(r, "muscles", count, 2, &a->organ_is_muscle);
    if (result != SUP_OK) return result;
    a->organ_count = count;
    a->detail_vertex_count = c->vertex_count - a->vertex_count;
    a->detail_triangle_count = c->triangle_count - a->triangle_count;
    a->organ_names = sup_arena_alloc(r->arena, organs + 1, sizeof *a->organ_names);
    a->organ_joint = sup_arena_alloc(r->arena, organs + 1, sizeof(int32_t));
    a->organ_vertex = sup_arena_alloc(r->arena, organs + 2, sizeof(int32_t));
    a->organ_triangle = sup_arena_alloc(r->arena, organs + 2, sizeof(int32_t));
    a->detail = sup_arena_alloc(r->arena, 3 * (size_t)a->detail_vertex_count + 1, sizeof(double));
    a->detail_triangles = sup_arena_alloc(r->arena, 3 * (size_t)a->detail_triangle_count + 1, sizeof(int32_t));
    if (a->organ_names == NULL || a->organ_joint == NULL || a->organ_vertex == NULL || a->organ_triangle == NULL ||
        a->detail == NULL || a->detail_triangles == NULL)
        return sup_fail_memory(r->error, "a body");
    for (int32_t p = 0; p < count; p++) {
        const sup_primitive *primitive = &c->primitives[p + 1];
        a->organ_names[p] = sup_arena_string(r->arena, primitive->name);
        if (a->organ_names[p] == NULL) return sup_fail_memory(r->error, "a body");
        a->organ_joint[p] = joint_of(r, primitive->node);
        a->organ_vertex[p + 1] = primitive->vertex_first + primitive->vertex_count - a->vertex_count;
        a->organ_triangle[p + 1] = primitive->triangle_first + primitive->triangle_count - a->triangle_count;
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++)
            sup_point_set(a->detail, v - a->vertex_count,
                          sup_affine_point(r->world[primitive->node], sup_v3_load(c->positions + 3 * (size_t)v)));
    }
    for (size_t i = 0; i < 3 * (size_t)a->detail_triangle_count; i++)
        a->detail_triangles[i] = c->triangles[3 * (size_t)a->triangle_count + i] - a->vertex_count;
    return SUP_OK;
}

static bool in_range(const int32_t *values, int64_t count, int32_t low, int32_t limit)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < low || values[i] >= limit) return false;
    return true;
}

/* The skin comes first, then the organs without gaps. */
static sup_result check_primitive_order(const body_reader *r)
{
    const sup_character *c = r->character;
    for (int32_t p = 1; p < c->primitive_count; p++)
        if (c->primitives[p].vertex_first != c->primitives[p - 1].vertex_first + c->primitives[p - 1].vertex_count ||
            c->primitives[p].triangle_first !=
                c->primitives[p - 1].triangle_first + c->primitives[p - 1].triangle_count)
            return fail_damaged(r, "order of primitives");
    return SUP_OK;
}

/* All indices are inside the range of their own section. */
static sup_result check_indices(const body_reader *r)
{
    const sup_anatomy *a = &r->body->layers;
    bool good = in_range(a->triangles, 3 * (int64_t)a->triangle_count, 0, a->vertex_count) &&
                in_range(a->influence_joint, a->influence_first[a->vertex_count], 0, a->joint_count) &&
                in_range(a->bone_joint, a->vertex_count, -1, a->joint_count) &&
                in_range(a->detail_triangles, 3 * (int64_t)a->detail_triangle_count, 0, a->detail_vertex_count);
    return good ? SUP_OK : fail_damaged(r, "vertex indices");
}

static sup_result read_body(body_reader *r)
{
    const sup_character *c = r->character;
    r->world = sup_arena_alloc(r->arena, (size_t)c->node_count + 1, sizeof *r->world);
    if (r->world == NULL) return sup_fail_memory(r->error, "a body");
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        sup_affine local = sup_affine_from_transform(c->nodes[node].rest);
        r->world[node] = parent >= 0 ? sup_affine_multiply(r->world[parent], local) : local;
    }
    sup_result result = check_primitive_order(r);
    if (result == SUP_OK) result = read_layers(r);
    if (result == SUP_OK) result = read_joints(r);
    if (result == SUP_OK) result = read_maps(r);
    if (result == SUP_OK) result = read_details(r);
    if (result == SUP_OK) result = check_indices(r);
    if (result == SUP_OK) read_masses(r);
    return result;
}

sup_result sup_body_from_character(const sup_context *context, const sup_character *character, sup_body **body,
                                   sup_error *error)
{
    if (character == NULL || body == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.body.argument", "",
                        "sup_body_from_character: character and body must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    body_reader r = {.character = character, .error = error};
    if (character->primitive_count < 1 || character->primitives[0].skin < 0 ||
        character->primitives[0].vertex_first != 0 || character->primitives[0].triangle_first != 0 ||
        character->muscle_positions == NULL || character->bone_positions == NULL || character->extras == NULL)
        return fail(&r, "anatomy.body.other",
                    "This character is not a fitted body: create one with 'supple anatomy fit'.");
    sup_json_tree tree = sup_json_tree_create(&resolved.allocator);
    sup_bytes text = {character->extras, strlen(character->extras)};
    sup_result result = sup_json_parse(&tree, "extras", text, error);
    struct sup_anatomy_storage *storage = NULL;
    if (result == SUP_OK) {
        r.root = sup_json_get(tree.root, "supple_body");
        r.skin = &character->primitives[0];
        if (!sup_json_is(r.root, SUP_JSON_OBJECT))
            result = fail(&r, "anatomy.body.other",
                          "This character is not a fitted body: create one with 'supple anatomy fit'.");
    }
    if (result == SUP_OK) {
        storage = sup_anatomy_storage_create(context);
        r.arena = storage != NULL ? &storage->arena : NULL;
        r.body = storage != NULL ? sup_arena_alloc(r.arena, 1, sizeof *r.body) : NULL;
        result = r.body != NULL ? SUP_OK : sup_fail_memory(error, "a body");
    }
    if (result == SUP_OK) {
        r.body->storage = storage;
        r.body->name = sup_arena_string(r.arena, character->name);
        result = r.body->name != NULL ? read_body(&r) : sup_fail_memory(error, "a body");
    }
    sup_json_tree_destroy(&tree);
    if (result != SUP_OK)
        sup_anatomy_storage_destroy(storage);
    else
        *body = r.body;
    return result;
}
