/* Models from files: whichever array of a model is corrupt, it is refused with an error message, or it steps safely. */
#include "bind/model.h"
#include "methods/implicit/field.h"
#include "supple/supple.h"
#include "test.h"

typedef struct victim {
    sup_character *character;
    sup_model *model; /* this test may write to its memory block */
    sup_pose *pose;   /* bent */
    float *out;       /* [vertex_count*6] positions, normals */
} victim;

/* `vertices`: maximum number of tracked vertices. */
static void victim_open(victim *v, const char *vertices)
{
    static const char setup[] = "muscle m bone lower radii 30% 10% swell lower 0:1 90:2";
    sup_error error = {0};
    sup_rig *rig = NULL;
    double values[64];
    const sup_method *method = sup_method_find("implicit");
    sup_method_defaults(method, values);
    CHECK_OK(sup_method_set(method, values, "grid", "3", &error), error);
    CHECK_OK(sup_method_set(method, values, "vertices", vertices, &error), error);
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.1, &v->character, &error), error);
    CHECK_OK(sup_rig_create(NULL, v->character, NULL, &rig, &error), error);
    sup_bind_def def = {.values = values, .setup = setup, .setup_size = sizeof setup - 1};
    CHECK_OK(sup_bind(NULL, method, rig, &def, &v->model, &error), error);
    sup_rig_destroy(rig);
    CHECK_OK(sup_pose_create(NULL, v->character, &v->pose, &error), error);
    CHECK_EQ(sup_pose_sample(v->character, &v->character->clips[0], 0.3, v->pose), SUP_OK);
    v->out = malloc((size_t)v->character->vertex_count * 6 * sizeof(float));
}

static void victim_close(victim *v)
{
    free(v->out);
    sup_pose_destroy(v->pose);
    sup_model_destroy(v->model);
    sup_character_destroy(v->character);
}

/* A model that passes its check must survive a step; all outputs are finite. */
static void step_victim(victim *v, const char *what)
{
    sup_instance *instance = NULL;
    sup_error error = {0};
    size_t count = 3 * (size_t)v->character->vertex_count;
    sup_skin_out out = {.positions = v->out, .normals = v->out + count};
    CHECK_OK(sup_instance_create(NULL, v->model, NULL, &instance, &error), error);
    sup_result result = sup_instance_step(instance, v->pose, 0.1f, &out);
    for (size_t i = 0; i < 2 * count && result == SUP_OK; i++)
        CHECK_MSG(isfinite(v->out[i]), "%s: output %zu of the skin", what, i);
    sup_instance_destroy(instance);
}

/* True: refused with the expected error id. */
static bool refused(const victim *v)
{
    sup_error error = {0};
    sup_result result = v->model->method->check(v->model, &error);
    if (result == SUP_OK) return false;
    CHECK_EQ(result, SUP_ERROR_FORMAT);
    CHECK(error.id[0] != '\0' && strstr(error.message, "damaged") != NULL);
    return true;
}

/* Four bytes of an array that may hold any value: ranks only order nodes, and a factor may hold any finite number. */
static bool may_be_any(const char *name, int64_t at, int how)
{
    return (strcmp(name, "compose.node") == 0 && at % 3 == 0) || (strcmp(name, "track.factor_values") == 0 && how == 1);
}

/* Writes an invalid value into four bytes of an array. */
static void corrupt(unsigned char *to, const sup_model_entry *entry, int64_t at, int how)
{
    static const int32_t ints[2] = {INT32_MIN, INT32_MAX};
    static const float floats[2] = {NAN, -3e38f};
    bool record = entry->type == SUP_ARRAY_BYTE; /* of a field: five ints, then floats */
    bool number = entry->type == SUP_ARRAY_FLOAT || (record && at % (int64_t)(sizeof(sup_bone_field) / 4) >= 5);
    memcpy(to, number ? (const void *)&floats[how] : (const void *)&ints[how], 4);
}

/* The arrays of this method; those of linear blend skinning are tested in tests/bind. */
static bool is_own(const char *name)
{
    static const char *const starts[] = {"implicit.", "stats", "field.", "compose.", "track.", "render.", "upsample"};
    for (int i = 0; i < SUP_COUNT(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) return true;
    return false;
}

/* Corrupts each array at its first, a middle and its last four bytes. */
static int32_t damage_arrays(victim *v, const char *only)
{
    const sup_model_entry *entries = sup_model_entries(v->model);
    int32_t tried = 0;
    for (int32_t e = 0; e < sup_model_header_of(v->model)->array_count; e++) {
        const sup_model_entry *entry = &entries[e];
        size_t size = sup_array_type_size(entry->type);
        int64_t fours = entry->count * (int64_t)size / 4;
        bool weights = strstr(entry->name, "_weights") != NULL; /* any 16-bit number is valid */
        if (!is_own(entry->name) || weights || strncmp(entry->name, only, strlen(only)) != 0) continue;
        for (int k = 0; k < 3 && fours > 0; k++)
            for (int how = 0; how < 2; how++) {
                int64_t at = k == 0 ? 0 : k == 1 ? fours / 2 : fours - 1;
                unsigned char *to = v->model->block + entry->offset + 4 * (size_t)at, kept[4];
                memcpy(kept, to, 4);
                corrupt(to, entry, at, how);
                if (may_be_any(entry->name, at, how))
                    step_victim(v, entry->name);
                else
                    CHECK_MSG(refused(v), "%s: corruption %d at %lld was accepted", entry->name, how, (long long)at);
                memcpy(to, kept, 4);
                tried++;
            }
    }
    return tried;
}

TEST(damaged_arrays_are_refused)
{
    victim v;
    victim_open(&v, "2000");
    CHECK(!refused(&v));
    CHECK(damage_arrays(&v, "") > 150);
    victim_close(&v);
    victim_open(&v, "100"); /* rendered through a decimated skin */
    CHECK(damage_arrays(&v, "upsample") > 20);
    victim_close(&v);
}

/* Random bytes behind a valid checksum: refused by id, or all outputs are finite (the sanitizers check the rest). */
TEST(models_with_random_bytes_are_safe)
{
    victim v;
    victim_open(&v, "2000");
    sup_random random = {31};
    sup_model *whole = v.model;
    const sup_model_entry *entries = sup_model_entries(whole);
    int32_t arrays = sup_model_header_of(whole)->array_count, accepted = 0;
    unsigned char *block = malloc(whole->size);
    for (int trial = 0; trial < 2 * arrays; trial++) {
        const sup_model_entry *entry = &entries[trial % arrays];
        size_t bytes = (size_t)entry->count * sup_array_type_size(entry->type);
        if (!is_own(entry->name) || bytes == 0) continue;
        memcpy(block, whole->block, whole->size);
        for (int k = 0; k < 2; k++)
            block[entry->offset + (size_t)(sup_random_unit(&random) * (double)bytes)] =
                (unsigned char)sup_random_u32(&random);
        sup_model_header header;
        memcpy(&header, block, sizeof header);
        header.checksum = sup_model_checksum(block, whole->size);
        memcpy(block, &header, sizeof header);
        sup_error error = {0};
        sup_result result = sup_model_load(NULL, (sup_bytes){block, whole->size}, &v.model, &error);
        if (result == SUP_OK) {
            step_victim(&v, entry->name);
            accepted++;
            sup_model_destroy(v.model);
        } else
            CHECK(result == SUP_ERROR_FORMAT && error.message[0] != '\0');
    }
    CHECK(accepted > 10);
    v.model = whole;
    free(block);
    victim_close(&v);
}
