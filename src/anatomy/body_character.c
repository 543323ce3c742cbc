/* body_character.c - converts a body to a character: skin with layers, rig, organs.
 *
 * The extras are one object, {"supple_body": {...}}: masses in kg and litres, and the maps that fitting and growth
 * need, one digit or number per vertex. Lengths are integers in hundredths of a millimetre. */
#include "anatomy/layers.h"

#include "base/base.h"
#include "character/character.h"

enum { ORGAN_SAMPLES = 8 };

/* --- Extras --- */

typedef struct text {
    const sup_allocator *allocator;
    sup_array bytes;
    bool failed;
} text;

static void put(text *t, const char *characters)
{
    size_t length = strlen(characters);
    char *to = sup_array_push(t->allocator, &t->bytes, length);
    if (to == NULL)
        t->failed = true;
    else
        memcpy(to, characters, length);
}

static void put_number(text *t, const char *name, double value)
{
    char line[96];
    sup_format(line, sizeof line, "\"%s\":%.9g,", name, isfinite(value) ? value : 0.0);
    put(t, line);
}

/* Replaces everything but letters, digits, space, '_' and '.' by a dash; the name is only for display. */
static void put_name(text *t, const char *name)
{
    char plain[64];
    size_t i = 0;
    for (; name[i] != 0 && i + 1 < sizeof plain; i++) {
        bool fine = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                    (name[i] >= '0' && name[i] <= '9') || name[i] == ' ' || name[i] == '_' || name[i] == '.';
        plain[i] = '-';
        if (fine) plain[i] = name[i];
    }
    plain[i] = 0;
    put(t, "\"name\":\"");
    put(t, plain);
    put(t, "\",");
}

static void put_digits(text *t, const char *name, int32_t count, const unsigned char *first,
                       const unsigned char *second)
{
    put(t, "\"");
    put(t, name);
    put(t, "\":\"");
    for (int32_t v = 0; v < count; v++) {
        int value = first[v] + (second != NULL ? 2 * (second[v] != 0) : 0);
        char digit[2] = {(char)('0' + (value < 10 ? value : 0)), 0};
        put(t, digit);
    }
    put(t, "\",");
}

static void put_lengths(text *t, const char *name, int32_t count, const double *metres, const char *end)
{
    char number[32];
    put(t, "\"");
    put(t, name);
    put(t, "\":[");
    for (int32_t v = 0; v < count; v++) {
        double hundredths = fmin(fmax(metres[v], 0.0), 10.0) * 1e5;
        sup_format(number, sizeof number, v > 0 ? ",%d" : "%d", (int)(hundredths + 0.5));
        put(t, number);
    }
    put(t, end);
}

static void put_masses(text *t, const sup_body_masses *m)
{
    put(t, "\"masses\":{");
    put_number(t, "fat_kg", m->fat);
    put_number(t, "muscle_kg", m->muscle);
    put_number(t, "fat_target_kg", m->fat_target);
    put_number(t, "muscle_target_kg", m->muscle_target);
    put_number(t, "fat_min_kg", m->fat_min);
    put_number(t, "fat_max_kg", m->fat_max);
    put_number(t, "muscle_min_kg", m->muscle_min);
    put_number(t, "muscle_max_kg", m->muscle_max);
    put_number(t, "fat_layer_l", m->fat_layer);
    put_number(t, "muscle_layer_l", m->muscle_layer);
    put_number(t, "visceral_kg", m->visceral);
    put_number(t, "skin_kg", m->skin);
    put_number(t, "crotch_kg", m->crotch);
    put_number(t, "abdomen_kg", m->abdomen);
    put_number(t, "missing_kg", m->missing);
    put(t, m->clamped ? "\"clamped\":true}," : "\"clamped\":false},");
}

static char *body_extras(const sup_body *body, sup_arena *arena)
{
    static const char *const sexes[3] = {"unknown", "female", "male"};
    const sup_anatomy *a = &body->layers;
    text t = {.allocator = &arena->allocator, .bytes = {.item_size = 1}};
    put(&t, "{\"supple_body\":{\"version\":1,");
    put_name(&t, body->name);
    put(&t, "\"sex\":\"");
    put(&t, sexes[a->sex <= SUP_SEX_MALE ? a->sex : SUP_SEX_UNKNOWN]);
    put(&t, "\",");
    put_number(&t, "height_m", body->height);
    put_number(&t, "scale", body->scale);
    put_number(&t, "alignment", body->alignment);
    put_number(&t, "crossings", body->crossings);
    put_number(&t, "inverted", body->inverted);
    put_masses(&t, &body->masses);
    put_digits(&t, "group", a->vertex_count, a->group, NULL);
    put_digits(&t, "region", a->vertex_count, a->region, NULL);
    put_digits(&t, "flags", a->vertex_count, a->excluded, a->crotch);
    put_digits(&t, "muscles", a->organ_count, a->organ_is_muscle, NULL);
    put_lengths(&t, "thickness", a->vertex_count, a->thickness, "],");
    put_lengths(&t, "cavity", a->vertex_count, body->cavity, "]}}");
    char *extras = t.failed ? NULL : sup_arena_string_n(arena, (const char *)t.bytes.data, t.bytes.count);
    sup_array_free(t.allocator, &t.bytes);
    return extras;
}

bool sup_body_primitive_is_muscle(const sup_character *character, int32_t primitive)
{
    static const char key[] = "\"muscles\":\"";
    const char *extras = character->extras, *body = extras != NULL ? strstr(extras, "\"supple_body\"") : NULL;
    const char *digits = body != NULL ? strstr(body, key) : NULL;
    if (digits == NULL || primitive < 1) return false;
    digits += sizeof key - 1;
    for (int32_t p = 1; p < primitive; p++, digits++)
        if (*digits != '0' && *digits != '1') return false;
    return *digits == '1';
}

/* --- Organs --- */

/* The joint with most votes around an organ: the layer vertices nearest to a few of its vertices vote with their
 * weights. */
static int32_t organ_main_joint(const sup_anatomy *a, int32_t organ, double *votes)
{
    int32_t first = a->organ_vertex[organ], count = a->organ_vertex[organ + 1] - first, best = 0;
    if (a->organ_joint != NULL && a->organ_joint[organ] >= 0) return a->organ_joint[organ];
    memset(votes, 0, (size_t)a->joint_count * sizeof *votes);
    for (int32_t i = 0; i < ORGAN_SAMPLES && count > 0; i++) {
        sup_vec3d p = sup_point(a->detail, first + (int32_t)((int64_t)i * count / ORGAN_SAMPLES));
        double nearest = INFINITY;
        int32_t found = 0;
        for (int32_t v = 0; v < a->vertex_count; v++) {
            double distance = sup_v3_distance(p, sup_point(a->muscle, v));
            if (distance < nearest) {
                nearest = distance;
                found = v;
            }
        }
        for (int32_t k = a->influence_first[found]; k < a->influence_first[found + 1]; k++)
            votes[a->influence_joint[k]] += a->influence_weight[k];
    }
    for (int32_t j = 1; j < a->joint_count; j++)
        if (votes[j] > votes[best]) best = j;
    return best;
}

typedef struct build {
    const sup_body *body;
    sup_character *made;
    sup_arena *arena;
    float *positions, *muscle, *bone;
    int32_t *triangles, *influence_first;
} build;

static void copy_point(float *to, int32_t i, sup_vec3d p)
{
    sup_v3_store(to + 3 * (size_t)i, p);
}

static bool build_rig(build *b)
{
    const sup_anatomy *a = &b->body->layers;
    size_t joints = (size_t)a->joint_count, n = (size_t)a->vertex_count;
    sup_node *nodes = sup_arena_alloc(b->arena, joints + 1, sizeof *nodes);
    sup_bone *bones = sup_arena_alloc(b->arena, joints, sizeof *bones);
    sup_skin *skin = sup_arena_alloc(b->arena, 1, sizeof *skin);
    int32_t influences = a->influence_first[n], total = b->made->vertex_count;
    int32_t *influence_bone = sup_arena_copy(b->arena, a->influence_joint, (size_t)influences + 1, sizeof(int32_t));
    float *influence_weight = sup_arena_alloc(b->arena, (size_t)influences + 1, sizeof(float));
    if (nodes == NULL || bones == NULL || skin == NULL || influence_bone == NULL || influence_weight == NULL)
        return false;
    for (int32_t j = 0; j < a->joint_count; j++) {
        sup_vec3d p = sup_point(a->joints, j), local = p;
        if (a->parents[j] >= 0) local = sup_v3_sub(p, sup_point(a->joints, a->parents[j]));
        nodes[j] = (sup_node){sup_arena_string(b->arena, a->joint_names[j]),
                              a->parents[j],
                              {sup_v3_to_float(local), {0.0F, 0.0F, 0.0F, 1.0F}, {1.0F, 1.0F, 1.0F}},
                              true};
        bones[j] = (sup_bone){j, {{1, 0, 0, (float)-p.x, 0, 1, 0, (float)-p.y, 0, 0, 1, (float)-p.z}}};
        if (nodes[j].name == NULL) return false;
    }
    nodes[joints] = (sup_node){"body", -1, {{0.0F, 0.0F, 0.0F}, {0.0F, 0.0F, 0.0F, 1.0F}, {1.0F, 1.0F, 1.0F}}, false};
    *skin = (sup_skin){"joints", 0, a->joint_count};
    for (int32_t v = 0; v <= total; v++)
        b->influence_first[v] = v < a->vertex_count ? a->influence_first[v] : influences;
    for (int32_t i = 0; i < influences; i++)
        influence_weight[i] = (float)a->influence_weight[i];
    b->made->nodes = nodes;
    b->made->node_count = a->joint_count + 1;
    b->made->bones = bones;
    b->made->bone_count = a->joint_count;
    b->made->skins = skin;
    b->made->skin_count = 1;
    b->made->influence_first = b->influence_first;
    b->made->influence_bone = influence_bone;
    b->made->influence_weight = influence_weight;
    b->made->bone_attachments = NULL;
    return true;
}

/* The skin first, then the organs, each relative to its joint. */
static bool build_primitives(build *b)
{
    const sup_anatomy *a = &b->body->layers;
    sup_primitive *primitives = sup_arena_alloc(b->arena, (size_t)a->organ_count + 1, sizeof *primitives);
    double *votes = sup_arena_alloc(b->arena, (size_t)a->joint_count, sizeof *votes);
    if (primitives == NULL || votes == NULL) return false;
    primitives[0] = (sup_primitive){.name = "skin",
                                    .node = a->joint_count,
                                    .mesh = 0,
                                    .skin = 0,
                                    .material = -1,
                                    .vertex_count = a->vertex_count,
                                    .triangle_count = a->triangle_count};
    for (int32_t v = 0; v < a->vertex_count; v++) {
        copy_point(b->positions, v, sup_point(a->skin, v));
        copy_point(b->muscle, v, sup_point(a->muscle, v));
        copy_point(b->bone, v, sup_point(a->bone, v));
    }
    memcpy(b->triangles, a->triangles, 3 * (size_t)a->triangle_count * sizeof(int32_t));
    for (int32_t p = 0; p < a->organ_count; p++) {
        int32_t joint = organ_main_joint(a, p, votes), first = a->vertex_count + a->organ_vertex[p];
        sup_vec3d origin = sup_point(a->joints, joint);
        primitives[p + 1] = (sup_primitive){.name = sup_arena_string(b->arena, a->organ_names[p]),
                                            .node = joint,
                                            .mesh = p + 1,
                                            .skin = -1,
                                            .material = -1,
                                            .vertex_first = first,
                                            .vertex_count = a->organ_vertex[p + 1] - a->organ_vertex[p],
                                            .triangle_first = a->triangle_count + a->organ_triangle[p],
                                            .triangle_count = a->organ_triangle[p + 1] - a->organ_triangle[p]};
        if (primitives[p + 1].name == NULL) return false;
        for (int32_t v = a->organ_vertex[p]; v < a->organ_vertex[p + 1]; v++) {
            sup_vec3d local = sup_v3_sub(sup_point(a->detail, v), origin);
            copy_point(b->positions, a->vertex_count + v, local);
            copy_point(b->muscle, a->vertex_count + v, local);
            copy_point(b->bone, a->vertex_count + v, local);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)a->detail_triangle_count; i++)
        b->triangles[3 * (size_t)a->triangle_count + i] = a->vertex_count + a->detail_triangles[i];
    b->made->primitives = primitives;
    b->made->primitive_count = a->organ_count + 1;
    return true;
}

static bool build_character(build *b)
{
    const sup_anatomy *a = &b->body->layers;
    size_t total = (size_t)a->vertex_count + (size_t)a->detail_vertex_count;
    sup_character *made = b->made;
    b->positions = sup_arena_alloc(b->arena, 3 * total, sizeof(float));
    b->muscle = sup_arena_alloc(b->arena, 3 * total, sizeof(float));
    b->bone = sup_arena_alloc(b->arena, 3 * total, sizeof(float));
    b->influence_first = sup_arena_alloc(b->arena, total + 1, sizeof(int32_t));
    made->triangle_count = a->triangle_count + a->detail_triangle_count;
    b->triangles = sup_arena_alloc(b->arena, 3 * (size_t)made->triangle_count, sizeof(int32_t));
    int32_t *attachments = sup_arena_alloc(b->arena, total, sizeof(int32_t));
    if (b->positions == NULL || b->muscle == NULL || b->bone == NULL || b->influence_first == NULL ||
        b->triangles == NULL || attachments == NULL)
        return false;
    for (size_t v = 0; v < total; v++)
        attachments[v] = v < (size_t)a->vertex_count && a->bone_joint != NULL ? a->bone_joint[v] : -1;
    made->vertex_count = (int32_t)total;
    made->positions = b->positions;
    made->muscle_positions = b->muscle;
    made->bone_positions = b->bone;
    made->triangles = b->triangles;
    made->unit_metres = 1.0F;
    made->name = sup_arena_string(b->arena, b->body->name);
    made->extras = body_extras(b->body, b->arena);
    if (made->name == NULL || made->extras == NULL || !build_rig(b) || !build_primitives(b)) return false;
    made->bone_attachments = a->bone_joint != NULL ? attachments : NULL;
    return true;
}

sup_result sup_body_character(const sup_context *context, const sup_body *body, sup_character **character,
                              sup_error *error)
{
    if (body == NULL || character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.body.argument", "",
                        "sup_body_character needs a body and a pointer to the character.");
    sup_character *made = sup_character_begin(context);
    if (made == NULL) return sup_fail_memory(error, "a body's character");
    build b = {.body = body, .made = made, .arena = sup_character_arena(made)};
    sup_result result = build_character(&b) ? SUP_OK : sup_fail_memory(error, "a body's character");
    if (result == SUP_OK) result = sup_character_finish(made, body->name, error);
    if (result != SUP_OK)
        sup_character_destroy(made);
    else
        *character = made;
    return result;
}
