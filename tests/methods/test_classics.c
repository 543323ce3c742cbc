/* What every method that blends joints must hold, on built-in characters: rest, equal motion of all joints, bad
 * weights, joints without length, authored scale, failed allocations, threads and damaged models. */
#include "bind/model.h"
#include "methods/posed_scene.h"
#include "scene.h"

static const char *const names[] = {"linear", "dualquat", "cor", "ddm", "stbs"};

TEST(the_bind_pose_gives_the_bind_positions)
{
    posed_scene s = posed_scene_open("human", 0.1, SUP_WEIGHTS_AUTO);
    for (int32_t m = 0; m < SUP_COUNT(names); m++) {
        float *skin = posed_scene_skin(&s, names[m], NULL, NULL);
        double off = largest_distance(&s, skin, s.rig->positions);
        CHECK_MSG(off < 1e-6, "%s: %g sizes off", names[m], off);
        free(skin);
    }
    posed_scene_close(&s);
}

/* All joints moved by one affine map: rotation, scale, and a mirror. The skin is moved by it as a whole. */
TEST(one_map_for_all_joints_is_that_map)
{
    static const double scales[][3] = {{1, 1, 1}, {0.3, 0.3, 0.3}, {2, 0.5, 1.2}, {-1, 1, 1}, {-2, -2, -2}};
    sup_quatd turn = sup_quatd_from_axis_angle(sup_v3(0.3, 0.5, -0.7), 2.0);
    for (int32_t k = 0; k < SUP_COUNT(scales); k++) {
        posed_scene s = posed_scene_open("arm", 0.3, SUP_WEIGHTS_AUTO);
        sup_affine map =
            sup_affine_from_trs(sup_v3(1, -2, 0.5), turn, sup_v3(scales[k][0], scales[k][1], scales[k][2]));
        for (int32_t n = 0; n < s.character->node_count; n++)
            s.pose->world[n] = sup_affine_to_float(sup_affine_multiply(map, sup_affine_from_float(s.pose->world[n])));
        float *wanted = calloc((size_t)s.rig->vertex_count * 3, sizeof *wanted);
        for (int32_t v = 0; v < s.rig->vertex_count; v++)
            sup_v3_store(wanted + 3 * v, sup_affine_point(map, sup_v3_load(s.rig->positions + 3 * v)));
        for (int32_t m = 0; m < SUP_COUNT(names); m++) {
            float *skin = posed_scene_skin(&s, names[m], NULL, NULL);
            double off = largest_distance(&s, skin, wanted);
            CHECK_MSG(off < 1e-5, "%s, map %d: %g sizes off", names[m], k, off);
            free(skin);
        }
        free(wanted);
        posed_scene_close(&s);
    }
}

/* A joint with authored scale: what follows it alone is scaled by it exactly. */
TEST(a_scaled_joint_scales_what_follows_it_alone)
{
    static const double scales[][3] = {{0.5, 0.5, 0.5}, {1, 1.5, 1}, {-1, 1, 1}};
    for (int32_t k = 0; k < SUP_COUNT(scales); k++) {
        posed_scene s = posed_scene_open("cylinder", 0.3, SUP_WEIGHTS_AUTO);
        int32_t node = posed_scene_node(&s, "upper"), joint = 0, followers = 0;
        while (s.rig->joint_node[joint] != node)
            joint++;
        sup_affine map = map_about(posed_scene_place(&s, node),
                                   sup_affine_from_trs(sup_v3(0, 0, 0), (sup_quatd){0, 0, 0, 1},
                                                       sup_v3(scales[k][0], scales[k][1], scales[k][2])));
        posed_scene_move(&s, node, map);
        for (int32_t m = 0; m < SUP_COUNT(names); m++) {
            float *skin = posed_scene_skin(&s, names[m], NULL, NULL);
            for (int32_t v = 0; v < s.rig->vertex_count; v++) {
                /* Well away from the blend, so that smoothing of weights does not reach it. */
                if (s.rig->influence_joint[s.rig->influence_first[v]] != joint || s.rig->positions[3 * v + 1] < 0.9f)
                    continue;
                sup_vec3d wanted = sup_affine_point(map, sup_v3_load(s.rig->positions + 3 * v));
                CHECK_MSG(sup_v3_distance(wanted, sup_v3_load(skin + 3 * v)) < 1e-5 * (double)s.rig->size,
                          "%s, scale %d, vertex %d", names[m], k, v);
                followers++;
            }
            free(skin);
        }
        CHECK(followers > 0);
        posed_scene_close(&s);
    }
}

/* A rig with influences of its own, in memory of its own. */
static void ruin_weights(posed_scene *s, sup_rig *bad, int32_t kind)
{
    sup_random random = {(uint64_t)kind + 1};
    int32_t count = s->rig->influence_first[s->rig->vertex_count];
    int32_t *joints = malloc((size_t)count * sizeof *joints);
    float *weights = malloc((size_t)count * sizeof *weights);
    *bad = *s->rig;
    memcpy(joints, bad->influence_joint, (size_t)count * sizeof *joints);
    memcpy(weights, bad->influence_weight, (size_t)count * sizeof *weights);
    for (int32_t i = 0; i < count; i++) {
        if (kind == 0) joints[i] = (int32_t)(sup_random_unit(&random) * bad->joint_count);
        if (kind == 1) weights[i] = (float)(1e-6 + sup_random_unit(&random));
        if (kind == 2) weights[i] = 1e-30f + (i % 7 == 0 ? 1.0f : 0.0f);
        if (kind == 3) joints[i] = 0;
    }
    bad->influence_joint = joints;
    bad->influence_weight = weights;
}

TEST(bad_weights_give_finite_skin_and_rest)
{
    for (int32_t kind = 0; kind < 4; kind++) {
        posed_scene s = posed_scene_open("hand", 0.1, SUP_WEIGHTS_AUTO);
        sup_rig bad;
        ruin_weights(&s, &bad, kind);
        posed_scene with_bad = {s.character, &bad, s.pose};
        for (int32_t posed = 0; posed < 2; posed++) {
            if (posed) posed_scene_turn(&s, s.character->nodes[s.rig->joint_node[3]].name, sup_v3(1, 0.3, 0), 170.0);
            for (int32_t m = 0; m < SUP_COUNT(names); m++) {
                float *normals, *skin = posed_scene_skin(&with_bad, names[m], NULL, &normals);
                for (int32_t i = 0; i < 3 * s.rig->vertex_count; i++)
                    CHECK_MSG(isfinite(skin[i]) && isfinite(normals[i]), "%s, kind %d", names[m], kind);
                if (!posed) CHECK(largest_distance(&s, skin, s.rig->positions) < 1e-6);
                free(skin);
                free(normals);
            }
        }
        free((void *)(uintptr_t)bad.influence_joint);
        free((void *)(uintptr_t)bad.influence_weight);
        posed_scene_close(&s);
    }
}

/* Two joints at one place, and joints of scale zero. */
TEST(joints_without_length_or_size_are_harmless)
{
    posed_scene s = posed_scene_open("arm", 0.3, SUP_WEIGHTS_AUTO);
    float *heads = malloc((size_t)s.rig->joint_count * 12);
    sup_rig flat = *s.rig;
    memcpy(heads, flat.bone_head, (size_t)s.rig->joint_count * 12);
    flat.bone_tail = flat.bone_head = heads; /* no bone has a length */
    posed_scene with_flat = {s.character, &flat, s.pose};
    for (int32_t posed = 0; posed < 3; posed++) {
        if (posed == 1) posed_scene_turn(&s, s.character->nodes[s.rig->joint_node[1]].name, sup_v3(0, 1, 0.2), 179.0);
        if (posed == 2)
            for (int32_t r = 0; r < 3; r++)
                for (int32_t c = 0; c < 3; c++)
                    s.pose->world[s.rig->joint_node[1]].m[4 * r + c] = 0.0f;
        for (int32_t m = 0; m < SUP_COUNT(names); m++) {
            float *normals, *skin = posed_scene_skin(&with_flat, names[m], NULL, &normals);
            for (int32_t i = 0; i < 3 * s.rig->vertex_count; i++)
                CHECK_MSG(isfinite(skin[i]) && isfinite(normals[i]), "%s, pose %d", names[m], posed);
            free(skin);
            free(normals);
        }
    }
    free(heads);
    posed_scene_close(&s);
}

TEST(failed_allocations_of_a_bind_are_errors_without_leak)
{
    posed_scene s = posed_scene_open("cylinder", 0.1, SUP_WEIGHTS_AUTO);
    for (int32_t m = 0; m < SUP_COUNT(names); m++) {
        bool bound = false;
        for (int at = 0; at < 2000 && !bound; at++) {
            failing_allocator counter = {0, at, 0};
            sup_context context = test_failing_context(&counter);
            sup_model *model = NULL;
            sup_result result = sup_bind(&context, sup_method_find(names[m]), s.rig, NULL, &model, NULL);
            CHECK_MSG(result == SUP_OK || result == SUP_ERROR_MEMORY, "%s: %d", names[m], result);
            bound = result == SUP_OK;
            sup_model_destroy(model);
            CHECK_EQ(counter.open, 0);
        }
        CHECK(bound);
    }
    posed_scene_close(&s);
}

/* A model bound on one thread or several has the same bits. */
TEST(threads_bind_the_same_bits)
{
    posed_scene s = posed_scene_open("human", 0.1, SUP_WEIGHTS_AUTO);
    sup_error error;
    for (int32_t m = 0; m < SUP_COUNT(names); m++) {
        sup_model *models[2] = {NULL, NULL};
        for (int32_t k = 0; k < 2; k++) {
            sup_thread_pool *pool = NULL;
            CHECK_OK(sup_thread_pool_create(1 + 2 * k, &pool, &error), error);
            sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
            CHECK_OK(sup_bind(&context, sup_method_find(names[m]), s.rig, NULL, &models[k], &error), error);
            sup_thread_pool_destroy(pool);
        }
        sup_bytes a = sup_model_bytes(models[0]), b = sup_model_bytes(models[1]);
        CHECK_MSG(a.size == b.size && memcmp(a.data, b.data, a.size) == 0, "%s", names[m]);
        sup_model_destroy(models[0]);
        sup_model_destroy(models[1]);
    }
    posed_scene_close(&s);
}

/* Loads a damaged copy of a model; steps it if it is accepted. Returns whether it was. */
static bool try_model(unsigned char *block, size_t size, const sup_pose *pose, float *positions, float *normals,
                      int32_t vertex_count)
{
    sup_model_header *header = (sup_model_header *)(void *)block;
    header->checksum = sup_model_checksum(block, size);
    sup_model *model = NULL;
    if (sup_model_load(NULL, (sup_bytes){block, size}, &model, NULL) != SUP_OK) return false;
    sup_instance *instance = NULL;
    sup_error error;
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    sup_skin_out out = {.positions = positions, .normals = normals};
    sup_result result = sup_instance_step(instance, pose, 0.0f, &out);
    for (int32_t i = 0; i < 3 * vertex_count && result == SUP_OK; i++)
        CHECK(isfinite(positions[i]) && isfinite(normals[i]));
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    return true;
}

/* Bytes of the arrays changed at random, with a valid checksum, and each array once with a number that is not finite.
 * */
TEST(damaged_models_are_refused_or_step_safely)
{
    posed_scene s = posed_scene_open("cylinder", 0.1, SUP_WEIGHTS_AUTO);
    posed_scene_turn(&s, "lower", sup_v3(0, 1, 0.5), 120.0);
    int32_t count = s.rig->vertex_count;
    float *positions = malloc((size_t)count * 12), *normals = malloc((size_t)count * 12);
    sup_random random = {5};
    sup_error error;
    for (int32_t m = 0; m < SUP_COUNT(names); m++) {
        sup_model *model = NULL;
        CHECK_OK(sup_bind(NULL, sup_method_find(names[m]), s.rig, NULL, &model, &error), error);
        sup_bytes bytes = sup_model_bytes(model);
        unsigned char *block = malloc(bytes.size);
        for (int32_t round = 0; round < 300; round++) {
            memcpy(block, bytes.data, bytes.size);
            for (int32_t k = 0; k < 1 + round % 3; k++)
                block[128 + (size_t)(sup_random_unit(&random) * (double)(bytes.size - 128))] =
                    (unsigned char)sup_random_u32(&random);
            try_model(block, bytes.size, s.pose, positions, normals, count);
        }
        for (int32_t i = 0; i < sup_model_header_of(model)->array_count; i++) {
            const sup_model_entry *entry = &sup_model_entries(model)[i];
            if (entry->type != SUP_ARRAY_FLOAT || entry->count < 1 || strncmp(entry->name, "bind.", 5) == 0) continue;
            memcpy(block, bytes.data, bytes.size);
            float bad = i % 2 == 0 ? NAN : INFINITY;
            memcpy(block + entry->offset + 4 * (size_t)(entry->count / 2), &bad, sizeof bad);
            CHECK_MSG(!try_model(block, bytes.size, s.pose, positions, normals, count), "%s: %s is not checked",
                      names[m], entry->name);
        }
        free(block);
        sup_model_destroy(model);
    }
    free(positions);
    free(normals);
    posed_scene_close(&s);
}
