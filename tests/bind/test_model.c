/* Binding, the model block, and loading models from untrusted bytes. */
#include "bind/model.h"
#include "methods/skin_fixture.h"
#include "scene.h"
#include "supple/deform.h"
#include "supple/scenes.h"
#include "test.h"

static sup_model *bind_sample(skin_fixture *f, const char *method)
{
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_bind(NULL, sup_method_find(method), fixture_rig(f), NULL, &model, &error), error);
    return model;
}

TEST(model_has_its_counts_and_method)
{
    skin_fixture f = fixture_random(1, 300, 7, 4, 3);
    f.morphs[1].default_weight = 0.25f;
    sup_model *model = bind_sample(&f, "linear");
    CHECK_EQ(sup_model_vertex_count(model), 300);
    CHECK_EQ(sup_model_node_count(model), 8);
    CHECK_EQ(sup_model_morph_weight_count(model), 3);
    CHECK(sup_model_method(model) == sup_method_find("linear"));
    CHECK(sup_model_values(model)[0] == 0.0);
    const float *world = sup_model_array(model, "bind.world", SUP_ARRAY_FLOAT, 96);
    CHECK(world != NULL && memcmp(world + 12, f.joint_bind, 7 * sizeof *f.joint_bind) == 0);
    const float *weights = sup_model_array(model, "bind.morph_weights", SUP_ARRAY_FLOAT, 3);
    CHECK(weights != NULL && weights[1] == 0.25f);
    CHECK(sup_model_array(model, "bind.world", SUP_ARRAY_INT32, -1) == NULL);
    CHECK(sup_model_array(model, "bind.world", SUP_ARRAY_FLOAT, 95) == NULL);
    CHECK(sup_model_array(model, "nothing", SUP_ARRAY_FLOAT, -1) == NULL);
    CHECK_EQ(sup_model_array_count(model, "nothing"), -1);
    CHECK((uintptr_t)world % 64 == 0);
    sup_model_destroy(model);
    sup_model_destroy(NULL);
    fixture_destroy(&f);
}

TEST(nodes_without_joints_follow_their_parents_in_the_bind_pose)
{
    skin_fixture f = fixture_random(2, 20, 3, 2, 0);
    f.nodes[0].parent = 2; /* a helper node below joint 1 */
    f.nodes[0].rest.translation.x = 2.0f;
    int32_t order[4] = {1, 2, 3, 0};
    memcpy(f.node_order, order, sizeof order);
    sup_model *model = bind_sample(&f, "dualquat");
    const float *world = sup_model_array(model, "bind.world", SUP_ARRAY_FLOAT, 48);
    sup_mat34 wanted = sup_mat34_multiply(f.joint_bind[1], sup_mat34_from_transform(f.nodes[0].rest));
    CHECK(world != NULL && memcmp(world, wanted.m, sizeof wanted.m) == 0);
    sup_model_destroy(model);
    fixture_destroy(&f);
}

static sup_result add_four(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    SUP_UNUSED(error);
    int kind = (int)input->values[0];
    float *floats = sup_model_add(builder, "floats", SUP_ARRAY_FLOAT, 3);
    unsigned char *bytes = sup_model_add(builder, "bytes", SUP_ARRAY_BYTE, 5);
    double *doubles = sup_model_add(builder, "doubles", SUP_ARRAY_DOUBLE, 0);
    if (floats == NULL || bytes == NULL || doubles == NULL) return SUP_OK; /* does not report the failure */
    floats[2] = 4.5f;
    bytes[4] = 7;
    if (kind == 1) sup_model_add(builder, "floats", SUP_ARRAY_BYTE, 1);
    if (kind == 2) sup_model_add(builder, "negative", SUP_ARRAY_BYTE, -1);
    if (kind == 3) sup_model_add(builder, "a name that is longer than 31 chars", SUP_ARRAY_BYTE, 1);
    if (kind == 4) sup_model_add(builder, "type", (sup_array_type)17, 1);
    if (kind == 5) sup_model_add(builder, "huge", SUP_ARRAY_DOUBLE, INT64_MAX);
    if (kind == 6) sup_model_add(builder, NULL, SUP_ARRAY_BYTE, 1);
    return SUP_OK;
}

static sup_result no_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    SUP_UNUSED(input);
    SUP_UNUSED(state);
    SUP_UNUSED(out);
    return SUP_OK;
}

static const sup_param kind_param = {"kind", "", SUP_PARAM_INT, 0, 6, 0, NULL, false, ""};
static const sup_method own = {
    .name = "own", .version = 3, .params = &kind_param, .param_count = 1, .bind = add_four, .step = no_step};

TEST(misuse_of_the_builder_is_reported)
{
    skin_fixture f = fixture_random(3, 10, 2, 2, 0);
    for (int kind = 0; kind <= 6; kind++) {
        double values[1] = {kind};
        sup_bind_def def = {.values = values};
        sup_model *model = NULL;
        sup_error error = {0};
        sup_result result = sup_bind(NULL, &own, fixture_rig(&f), &def, &model, &error);
        if (kind == 0) {
            CHECK_OK(result, error);
            const float *floats = sup_model_array(model, "floats", SUP_ARRAY_FLOAT, 3);
            CHECK(floats != NULL && floats[0] == 0.0f && floats[2] == 4.5f);
            CHECK(((const unsigned char *)sup_model_array(model, "bytes", SUP_ARRAY_BYTE, 5))[4] == 7);
            CHECK_EQ(sup_model_array_count(model, "doubles"), 0);
            sup_model_destroy(model);
        } else
            CHECK_MSG(result == (kind == 5 ? SUP_ERROR_MEMORY : SUP_ERROR_ARGUMENT) && model == NULL, "kind %d: %d %s",
                      kind, result, error.message);
    }
    double wrong[1] = {7};
    sup_model *model = NULL;
    CHECK_EQ(sup_bind(NULL, &own, fixture_rig(&f), &(sup_bind_def){.values = wrong}, &model, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_bind(NULL, NULL, fixture_rig(&f), NULL, &model, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_bind(NULL, &own, NULL, NULL, &model, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_bind(NULL, &own, fixture_rig(&f), NULL, NULL, NULL), SUP_ERROR_ARGUMENT);
    fixture_destroy(&f);
}

TEST(every_failed_allocation_is_an_error_without_leak)
{
    skin_fixture f = fixture_random(4, 600, 9, 4, 2);
    sup_model *sample = bind_sample(&f, "dualquat");
    int survived = 0;
    for (int at = 0; at < 400 && survived == 0; at++) {
        failing_allocator counter = {0, at, 0};
        sup_context context = test_failing_context(&counter);
        sup_model *model = NULL, *loaded = NULL;
        sup_instance *instance = NULL;
        sup_result result = sup_bind(&context, sup_method_find("dualquat"), fixture_rig(&f), NULL, &model, NULL);
        if (result == SUP_OK) result = sup_model_load(&context, sup_model_bytes(model), &loaded, NULL);
        if (result == SUP_OK) result = sup_instance_create(&context, loaded, NULL, &instance, NULL);
        CHECK(result == SUP_OK || result == SUP_ERROR_MEMORY);
        survived = result == SUP_OK;
        sup_instance_destroy(instance);
        sup_model_destroy(loaded);
        sup_model_destroy(model);
        CHECK_EQ(counter.open, 0);
        CHECK(at > 20 || !survived);
    }
    CHECK(survived);
    sup_model_destroy(sample);
    fixture_destroy(&f);
}

static bool stop_at_half(void *user, float fraction, const char *stage)
{
    SUP_UNUSED(stage);
    ++*(int *)user;
    return fraction < 0.5f;
}

TEST(binding_can_be_cancelled)
{
    skin_fixture f = fixture_random(5, 20000, 9, 2, 0);
    int calls = 0;
    sup_bind_def def = {.progress = stop_at_half, .progress_user = &calls};
    sup_model *model = NULL;
    CHECK_EQ(sup_bind(NULL, sup_method_find("linear"), fixture_rig(&f), &def, &model, NULL), SUP_ERROR_CANCELLED);
    CHECK(calls > 1 && model == NULL);
    fixture_destroy(&f);
}

TEST(invalid_rigs_are_rejected)
{
    for (int kind = 0; kind < 8; kind++) {
        skin_fixture f = fixture_random(6, 50, 5, 3, 1);
        if (kind == 0) f.positions[31] = NAN;
        if (kind == 1) f.influence_weight[7] = NAN;
        if (kind == 2) f.influence_joint[7] = 5;
        if (kind == 3) f.influence_joint[7] = -1;
        if (kind == 4) f.joint_inverse_bind[2].m[3] = INFINITY;
        if (kind == 5) f.joint_bind[2].m[3] = NAN;
        if (kind == 6) f.joint_node[1] = 6;
        if (kind == 7) f.morph_data[9] = INFINITY;
        sup_model *model = NULL;
        sup_error error = {0};
        sup_result result = sup_bind(NULL, sup_method_find("linear"), fixture_rig(&f), NULL, &model, &error);
        CHECK_MSG((result == SUP_ERROR_DATA || result == SUP_ERROR_ARGUMENT) && model == NULL, "kind %d: %d", kind,
                  result);
        CHECK(error.message[0] != 0);
        fixture_destroy(&f);
    }
}

/* A copy of a model's bytes to break. */
static unsigned char *copy_bytes(const sup_model *model, size_t *size)
{
    sup_bytes bytes = sup_model_bytes(model);
    unsigned char *copy = malloc(bytes.size);
    memcpy(copy, bytes.data, bytes.size);
    *size = bytes.size;
    return copy;
}

static void seal(unsigned char *block, size_t size)
{
    sup_model_header *header = (sup_model_header *)(void *)block;
    header->checksum = sup_model_checksum(block, size);
}

static sup_result load(const unsigned char *block, size_t size, sup_error *error)
{
    sup_model *model = NULL;
    sup_result result = sup_model_load(NULL, (sup_bytes){block, size}, &model, error);
    CHECK((result == SUP_OK) == (model != NULL));
    sup_model_destroy(model);
    return result;
}

TEST(a_loaded_model_has_the_same_bytes)
{
    skin_fixture f = fixture_random(7, 5000, 9, 5, 2);
    sup_model *model = bind_sample(&f, "dualquat"), *loaded = NULL;
    sup_error error;
    CHECK_OK(sup_model_load(NULL, sup_model_bytes(model), &loaded, &error), error);
    CHECK_EQ(sup_model_bytes(loaded).size, sup_model_bytes(model).size);
    CHECK(memcmp(sup_model_bytes(loaded).data, sup_model_bytes(model).data, sup_model_bytes(model).size) == 0);
    CHECK(sup_model_method(loaded) == sup_method_find("dualquat"));
    sup_model_destroy(model);
    sup_model_destroy(loaded);
    fixture_destroy(&f);
}

static sup_model_entry *entry_of(unsigned char *block, const char *name)
{
    sup_model_entry *entries = (sup_model_entry *)(void *)(block + sizeof(sup_model_header));
    for (int32_t i = 0; i < ((sup_model_header *)(void *)block)->array_count; i++)
        if (strcmp(entries[i].name, name) == 0) return &entries[i];
    CHECK_MSG(false, "no array %s", name);
    return NULL;
}

static void *data_of(unsigned char *block, const char *name)
{
    return block + entry_of(block, name)->offset;
}

TEST(damaged_headers_and_tables_are_rejected)
{
    skin_fixture f = fixture_random(8, 200, 6, 4, 1);
    sup_model *model = bind_sample(&f, "linear");
    static const char *const ids[] = {
        "model.magic",       "model.version",       "model.truncated",    "model.size",          "model.counts",
        "model.table",       "model.header",        "model.header",       "model.method",        "model.method.version",
        "model.array.name",  "model.array.type",    "model.array.entry",  "model.array.overlap", "model.array.range",
        "model.array.range", "model.array.twice",   "model.checksum",     "model.array.missing", "model.param",
        "model.array.value", "model.array.missing", "model.array.overlap"};
    for (int kind = 0; kind < (int)(sizeof ids / sizeof ids[0]); kind++) {
        size_t size;
        unsigned char *block = copy_bytes(model, &size);
        sup_model_header *h = (sup_model_header *)(void *)block;
        sup_model_entry *e = (sup_model_entry *)(void *)(block + sizeof *h);
        if (kind == 0) h->magic[0] = 'X';
        if (kind == 1) h->version = SUP_MODEL_VERSION + 1;
        if (kind == 2) h->size += 64;
        if (kind == 3) h->size -= 64;
        if (kind == 4) h->node_count = -1;
        if (kind == 5) h->array_count = 1 << 30;
        if (kind == 6) memset(h->method, 'x', sizeof h->method);
        if (kind == 7) h->reserved[3] = 1;
        if (kind == 8) memcpy(h->method, "nonsense", 9);
        if (kind == 9) h->method_version = 99;
        if (kind == 10) memset(e[2].name, 'x', sizeof e[2].name);
        if (kind == 11) e[2].type = 99;
        if (kind == 12) e[2].offset += 4;
        if (kind == 13) e[3].offset = e[1].offset;
        if (kind == 14) e[4].count = INT64_MAX;
        if (kind == 15) e[4].offset = (uint64_t)1 << 60;
        if (kind == 16) memcpy(e[3].name, e[2].name, sizeof e[3].name);
        if (kind == 18) e[0].name[0] = 'x';
        if (kind == 19) *(double *)data_of(block, "bind.values") = 0.5;
        if (kind == 20) ((float *)data_of(block, "bind.world"))[3] = NAN;
        if (kind == 21) h->morph_weight_count = 2;
        if (kind == 22) e[0].offset = 0;
        seal(block, size);
        if (kind == 17) block[size - 70] ^= 1;
        sup_error error = {0};
        sup_result result = load(block, size, &error);
        CHECK_MSG(result == SUP_ERROR_FORMAT || result == SUP_ERROR_UNSUPPORTED, "kind %d gave %d", kind, result);
        CHECK_MSG(strcmp(error.id, ids[kind]) == 0, "kind %d: %s, not %s", kind, error.id, ids[kind]);
        free(block);
    }
    sup_model_destroy(model);
    fixture_destroy(&f);
}

TEST(invalid_arrays_are_rejected_on_load)
{
    skin_fixture f = fixture_random(9, 200, 40, 6, 1);
    sup_model *model = bind_sample(&f, "linear");
    for (int kind = 0; kind < 22; kind++) {
        size_t size;
        unsigned char *block = copy_bytes(model, &size);
        if (kind == 0) ((int32_t *)data_of(block, "joint_node"))[3] = 41;
        if (kind == 1) ((int32_t *)data_of(block, "joint_node"))[3] = -1;
        if (kind == 2) ((uint16_t *)data_of(block, "joints"))[3] = 40;
        if (kind == 3) ((float *)data_of(block, "weights"))[3] = NAN;
        if (kind == 4) ((float *)data_of(block, "weights"))[3] = -0.5f;
        if (kind == 5) ((float *)data_of(block, "weights"))[3] += 0.1f;
        if (kind == 6) ((int32_t *)data_of(block, "window_first"))[1] += 1;
        if (kind == 7) ((int32_t *)data_of(block, "joint_first"))[2] = 1 << 30;
        if (kind == 8) ((int32_t *)data_of(block, "weight_first"))[1] += 1;
        if (kind == 9) ((unsigned char *)data_of(block, "strongest"))[5] = 200;
        if (kind == 10) ((uint16_t *)data_of(block, "vertex"))[5] = 200;
        if (kind == 11) ((uint16_t *)data_of(block, "vertex"))[5] = ((uint16_t *)data_of(block, "vertex"))[6];
        if (kind == 12) ((float *)data_of(block, "positions"))[5] = INFINITY;
        if (kind == 13) ((float *)data_of(block, "normals"))[5] = NAN;
        if (kind == 14) ((float *)data_of(block, "tangents"))[5] = 1e30f;
        if (kind == 15) ((float *)data_of(block, "joint_inverse_bind"))[5] = NAN;
        if (kind == 16) ((int32_t *)data_of(block, "morph_weight"))[0] = 1;
        if (kind == 17) ((int32_t *)data_of(block, "morph_slot"))[4] = 100000;
        if (kind == 18) ((float *)data_of(block, "morph_offsets"))[4] = 1e30f;
        if (kind == 19) ((float *)data_of(block, "extent"))[0] = 1e-9f;
        if (kind == 20) entry_of(block, "weights")->type = SUP_ARRAY_INT32;
        if (kind == 21) ((sup_model_header *)(void *)block)->vertex_count = 201;
        seal(block, size);
        sup_error error = {0};
        CHECK_MSG(load(block, size, &error) == SUP_ERROR_FORMAT, "kind %d was accepted", kind);
        CHECK_TEXT(error.id, "skin.model");
        free(block);
    }
    sup_model_destroy(model);
    fixture_destroy(&f);
}

TEST(truncated_and_corrupted_models_are_rejected)
{
    skin_fixture f = fixture_random(10, 60, 4, 3, 1);
    sup_model *model = bind_sample(&f, "dualquat");
    size_t size;
    unsigned char *block = copy_bytes(model, &size);
    for (size_t cut = 0; cut < size; cut += cut < 4096 ? 1 : 97) {
        unsigned char *truncated = malloc(cut + 1); /* a separate allocation, for the sanitizers */
        memcpy(truncated, block, cut);
        CHECK(load(truncated, cut, NULL) == SUP_ERROR_FORMAT);
        free(truncated);
    }
    for (size_t at = 0; at < size; at += 7) {
        block[at] ^= 0x40;
        CHECK_MSG(load(block, size, NULL) != SUP_OK, "byte %zu is not checked", at);
        block[at] ^= 0x40;
    }
    sup_error error;
    CHECK_OK(load(block, size, &error), error);
    sup_model *none = NULL;
    CHECK_EQ(sup_model_load(NULL, (sup_bytes){NULL, 4}, &none, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_model_load(NULL, (sup_bytes){NULL, 0}, &none, NULL), SUP_ERROR_FORMAT);
    CHECK_EQ(sup_model_load(NULL, (sup_bytes){block, size}, NULL, NULL), SUP_ERROR_ARGUMENT);
    free(block);
    sup_model_destroy(model);
    fixture_destroy(&f);
}

/* Modified values with a valid checksum: accepted models must step safely (checked by the sanitizers). */
TEST(randomly_damaged_models_step_safely)
{
    skin_fixture f = fixture_random(11, 120, 9, 4, 2);
    fixture_pose(&f, 1, POSE_AFFINE);
    sup_random random = {77};
    float out[120 * 3], normals[120 * 3], tangents[120 * 4];
    int accepted = 0;
    for (int round = 0; round < 4000; round++) {
        static sup_model *model;
        if (model == NULL) model = bind_sample(&f, "dualquat");
        size_t size;
        unsigned char *block = copy_bytes(model, &size);
        for (int k = 0; k < 1 + round % 3; k++)
            block[8 + (size_t)(sup_random_unit(&random) * (double)(size - 8))] = (unsigned char)sup_random_u32(&random);
        seal(block, size);
        sup_model *loaded = NULL;
        if (sup_model_load(NULL, (sup_bytes){block, size}, &loaded, NULL) == SUP_OK) {
            sup_instance *instance = NULL;
            sup_error error;
            CHECK_OK(sup_instance_create(NULL, loaded, NULL, &instance, &error), error);
            sup_skin_out skin = {out, 0, normals, 0, tangents, 0};
            sup_result result = sup_instance_step(instance, &f.pose, 0.0f, &skin);
            CHECK(result == SUP_OK || result == SUP_ERROR_DATA || result == SUP_ERROR_ARGUMENT);
            for (int i = 0; i < 360 && result == SUP_OK; i++)
                CHECK(isfinite(out[i]) && isfinite(normals[i]) && isfinite(tangents[i]));
            accepted += result == SUP_OK;
            sup_instance_destroy(instance);
        }
        sup_model_destroy(loaded);
        free(block);
        if (round == 3999) sup_model_destroy(model);
    }
    CHECK(accepted > 100);
    fixture_destroy(&f);
}

/* A character with the same counts but other vertices, triangles or bones is rejected; other clips are accepted. */
TEST(model_check_detects_other_characters)
{
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.25, &character, &error), error);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK_OK(sup_bind(NULL, sup_method_find("linear"), rig, NULL, &model, &error), error);
    size_t floats = 3 * (size_t)character->vertex_count, corners = 3 * (size_t)character->triangle_count;
    float *positions = malloc(floats * sizeof *positions);
    int32_t *triangles = malloc(corners * sizeof *triangles);
    sup_bone *bones = malloc((size_t)character->bone_count * sizeof *bones);
    sup_node *nodes = malloc((size_t)character->node_count * sizeof *nodes);
    for (int kind = 0; kind < 6; kind++) {
        memcpy(positions, character->positions, floats * sizeof *positions);
        memcpy(triangles, character->triangles, corners * sizeof *triangles);
        memcpy(bones, character->bones, (size_t)character->bone_count * sizeof *bones);
        memcpy(nodes, character->nodes, (size_t)character->node_count * sizeof *nodes);
        sup_character twin = *character;
        twin.positions = positions;
        twin.triangles = triangles;
        twin.bones = bones;
        twin.nodes = nodes;
        twin.clip_count = 0;
        nodes[0].rest.translation.x += 1.0f;
        if (kind == 1) positions[floats - 1] += 1e-3f;
        if (kind == 2) triangles[corners - 1] = triangles[0];
        if (kind == 3) bones[1].inverse_bind.m[3] += 1e-3f;
        if (kind == 4) nodes[twin.node_count - 1].parent = 0;
        if (kind == 5) twin.vertex_count--;
        memset(&error, 0, sizeof error);
        CHECK_MSG(sup_model_check_character(model, &twin, &error) == (kind == 0 ? SUP_OK : SUP_ERROR_DATA), "kind %d",
                  kind);
        CHECK_TEXT(error.id, kind == 0 ? "" : "model.character");
    }
    CHECK_EQ(sup_model_check_character(NULL, character, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_model_check_character(model, NULL, NULL), SUP_ERROR_ARGUMENT);
    free(positions), free(triangles), free(bones), free(nodes);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}
