/* test_crowd.c - crowds on the device compared with the CPU: skins, determinism, error messages. Without a GPU only the
 * error of sup_device_cuda_create is tested. */
#include "cuda/crowd_fixture.h"
#include "base/base.h"

#ifdef SUPPLE_EMULATED
#include "emulator.h"
#endif

/* A built-in character; `settings`: "name=value name=value" of the method. `rigid`: value
 * of the map "rigid" on its right half. */
static fixture open_fixture(const char *scene, const char *method, const char *settings, float rigid)
{
    fixture f = {0};
    sup_error error = {0};
    f.device = device_or_skip();
    CHECK_OK(sup_scene_create(NULL, scene, 1.0, &f.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    double values[64];
    char text[128];
    const sup_method *m = sup_method_find(method);
    sup_method_defaults(m, values);
    snprintf(text, sizeof text, "%s%s", settings, strcmp(method, "projective") == 0 ? " limits=0" : "");
    for (char *rest = NULL, *one = strtok_r(text, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(one, '=');
        *value++ = '\0';
        CHECK_OK(sup_method_set(m, values, one, value, &error), error);
    }
    float *paint = calloc((size_t)f.rig->vertex_count, sizeof *paint);
    for (int32_t v = 0; v < f.rig->vertex_count; v++)
        paint[v] = f.rig->positions[3 * (size_t)v] > 0.0f ? rigid : 0.0f;
    sup_paint rigid_paint = {"rigid", paint};
    sup_bind_def def = {.values = values, .paints = &rigid_paint, .paint_count = rigid > 0.0f ? 1 : 0};
    bind_fixture(&f, m, &def);
    free(paint);
    return f;
}

TEST(without_a_gpu_creation_fails_with_the_reason)
{
    sup_device *device = NULL;
    sup_error error = {0};
    sup_result result = sup_device_cuda_create(NULL, 0, &device, &error);
    if (result == SUP_OK) {
        CHECK(strlen(sup_device_name(device)) > 0);
        sup_device_destroy(device);
        return;
    }
    CHECK_EQ(result, SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "cuda.none");
    CHECK(strstr(error.message, "CPU") != NULL);
    CHECK(device == NULL);
    sup_device_destroy(NULL);
    sup_crowd_destroy(NULL);
}

/* Moves all joints by about the rounding error of their positions, to measure how much a motion amplifies it. */
static void perturb(sup_pose *pose, int32_t frame)
{
    for (int32_t j = 0; j < pose->node_count; j++)
        for (int32_t r = 0; r < 3; r++)
            pose->world[j].m[4 * r + 3] += 2e-7f * (float)((j * 7 + r * 3 + frame) % 5 - 2);
}

/* Distance between two skins over a clip, in sizes of the character: maximum and root mean square. */
typedef struct distance {
    double farthest, mean;
} distance;

static void add_distance(distance *d, const float *a, const float *b, size_t n, double size)
{
    for (size_t k = 0; k < n; k++) {
        double apart = fabs((double)a[k] - (double)b[k]) / size;
        d->farthest = fmax(d->farthest, apart);
        d->mean += apart * apart / (double)n;
    }
}

/* Distance between the skins of the CPU and the device over a clip. *own: distance between two CPU runs, one with
 * perturbed joints; some motions (jump) have more than one equilibrium, and rounding decides which contacts occur. */
static distance compare_clip(fixture *f, int32_t clip, int32_t count, int32_t frames, double fps, distance *own)
{
    sup_error error = {0};
    sup_pose *pose = NULL;
    sup_instance *instance = NULL, *other = NULL;
    sup_crowd *crowd = NULL;
    size_t n = (size_t)sup_model_vertex_count(f->model) * 3;
    float *cpu = calloc(n * 2, sizeof *cpu), *near = calloc(n * 2, sizeof *near), *gpu = calloc(n * 2, sizeof *gpu),
          *cpu_n = cpu + n, *gpu_n = gpu + n, *near_n = near + n;
    distance off = {0};
    int32_t times = 0;
    size_t turned = 0, own_turned = 0, total = 0;
    const sup_clip *c = &f->character->clips[clip];
    CHECK_OK(sup_pose_create(NULL, f->character, &pose, &error), error);
    sup_crowd_def def = {.instance_count = count};
    CHECK_OK(sup_crowd_create(f->device, f->model, &def, &crowd, &error), error);
    sup_pose_sample(f->character, c, c->start, pose);
    CHECK_OK(sup_instance_create(NULL, f->model, pose, &instance, &error), error);
    CHECK_OK(sup_instance_create(NULL, f->model, pose, &other, &error), error);
    *own = off;
    CHECK_OK(sup_crowd_pose(crowd, -1, pose, &error), error);
    CHECK_OK(sup_crowd_reset(crowd, -1, &error), error);
    for (int32_t i = 1; i <= frames; i++) {
        double length = (double)c->end - (double)c->start, t = fmod(i / fps, 2.0 * length);
        sup_pose_sample(f->character, c, (double)c->start + (t < length ? t : 2.0 * length - t), pose);
        CHECK_EQ(
            sup_instance_step(instance, pose, (float)(1.0 / fps), &(sup_skin_out){.positions = cpu, .normals = cpu_n}),
            SUP_OK);
        CHECK_OK(sup_crowd_pose(crowd, -1, pose, &error), error);
        CHECK_OK(sup_crowd_step(crowd, (float)(1.0 / fps), NULL, &error), error);
        perturb(pose, i);
        CHECK_EQ(
            sup_instance_step(other, pose, (float)(1.0 / fps), &(sup_skin_out){.positions = near, .normals = near_n}),
            SUP_OK);
        if (i % 10 != 0 && i != frames) continue;
        CHECK_OK(sup_crowd_read(crowd, count - 1, &(sup_skin_out){.positions = gpu, .normals = gpu_n}, &error), error);
        add_distance(&off, cpu, gpu, n, (double)f->rig->size);
        add_distance(own, cpu, near, n, (double)f->rig->size);
        times++;
        for (size_t k = 0; k < n; k++) {
            CHECK_MSG(isfinite(gpu[k]) && isfinite(gpu_n[k]), "vertex %d of frame %d", (int)(k / 3), (int)i);
            turned += fabs((double)cpu_n[k] - (double)gpu_n[k]) > 0.01;
            own_turned += fabs((double)cpu_n[k] - (double)near_n[k]) > 0.01;
            total++;
        }
    }
    /* Triangles in the fold of an armpit have no area, and their normals no direction. */
    CHECK_MSG((double)turned < fmax(1e-3 * (double)total, 10.0 * (double)own_turned),
              "%d of %d normals differ; between two CPU runs %d", (int)turned, (int)total, (int)own_turned);
    sup_instance_destroy(instance);
    sup_instance_destroy(other);
    sup_crowd_destroy(crowd);
    sup_pose_destroy(pose);
    free(cpu), free(gpu), free(near);
    off.mean = sqrt(off.mean / times);
    own->mean = sqrt(own->mean / times);
    return off;
}

TEST(classic_skins_match_the_cpu)
{
    static const char *const methods[] = {"linear", "dualquat"};
    for (int32_t m = 0; m < 2; m++) {
        fixture f = open_fixture("human", methods[m], "", 0.0f);
        for (int32_t clip = 0; clip < f.character->clip_count; clip++) {
            distance own, off = compare_clip(&f, clip, 3, 20, 60.0, &own);
            CHECK_MSG(off.farthest < 2e-6, "%s, %s: %g", methods[m], f.character->clips[clip].name, off.farthest);
        }
        close_fixture(&f);
    }
}

/* All motions of a character. */
static void compare_projective(fixture *f, const char *what, int32_t count, int32_t frames, double fps, bool touches)
{
    for (int32_t clip = 0; clip < f->character->clip_count; clip++) {
        distance own, off = compare_clip(f, clip, count, frames, fps, &own);
        printf("    %s, %s, %d at a time: %.2g of the size (mean %.2g); between two CPU runs %.2g (%.2g)\n", what,
               f->character->clips[clip].name, (int)count, off.farthest, off.mean, own.farthest, own.mean);
        fflush(stdout);
        /* Where two CPU runs diverge, their distance is the bound. A vertex whose contact begins a step
         * earlier or later differs by the displacement of its contact and of untangling. */
        double farthest = fmax(touches ? 1e-3 : 1e-4, 10.0 * own.farthest),
               mean = fmax(touches ? 1e-4 : 1e-5, 4.0 * own.mean);
        CHECK_MSG(off.farthest < farthest && off.mean < mean, "%s: %g, mean %g", f->character->clips[clip].name,
                  off.farthest, off.mean);
    }
    close_fixture(f);
}

TEST(a_single_projective_skin_matches_the_cpu)
{
    fixture f = open_fixture("human", "projective", "vertices=5000 contact=0", 0.0f);
    compare_projective(&f, "single", 1, 300, 60.0, false);
}

TEST(projective_skins_of_a_crowd_match_the_cpu)
{
    fixture f = open_fixture("human", "projective", "vertices=5000 contact=0", 0.0f);
    compare_projective(&f, "crowd", 6, 60, 60.0, false);
}

TEST(a_single_skin_with_self_collision_matches_the_cpu)
{
    fixture f = open_fixture("human", "projective", "vertices=5000", 0.0f);
    compare_projective(&f, "in contact", 1, 300, 60.0, true);
}

TEST(skins_of_a_crowd_with_self_collision_match_the_cpu)
{
    fixture f = open_fixture("human", "projective", "vertices=3000", 0.0f);
    compare_projective(&f, "crowd in contact", 6, 60, 60.0, true);
}

/* In the first frames rounding has no effect on contacts yet: the armpits are in contact from the start, and the result
 * must match the CPU closely. Small and short enough for the emulator. */
TEST(first_frames_with_contact_match_cpu)
{
    static const char *const settings[] = {"vertices=250", "vertices=250 fast=1 iterations=2"};
    static const int32_t counts[] = {1, 5};
    for (int32_t k = 0; k < 2; k++) {
        fixture f = open_fixture("human", "projective", settings[k], 0.0f);
        distance own, off = compare_clip(&f, 1, counts[k], 1, 60.0, &own);
        CHECK_MSG(off.farthest < 1e-4 && off.mean < 1e-5, "%g, mean %g", off.farthest, off.mean);
        close_fixture(&f);
    }
}

/* A skeleton that stops with skin in contact: rest damping, pairs that neither begin nor end any more, and untangling
 * that keeps its offsets. */
TEST(skin_in_contact_at_rest_matches_cpu)
{
    enum { MOVES = 6, FRAMES = 60 };
    fixture f = open_fixture("arm", "projective", "vertices=150", 0.0f);
    sup_error error = {0};
    sup_instance *instance = NULL;
    sup_crowd *crowd = NULL;
    sup_crowd_report report;
    size_t n = (size_t)sup_model_vertex_count(f.model) * 3;
    float *cpu = calloc(n, sizeof *cpu), *gpu = calloc(n, sizeof *gpu);
    CHECK_OK(sup_crowd_create(f.device, f.model, NULL, &crowd, &error), error);
    for (int32_t frame = 0; frame <= FRAMES; frame++) {
        sup_pose_sample(f.character, &f.character->clips[0], 0.8 + fmin(frame, MOVES) / 30.0, f.pose);
        CHECK_OK(sup_crowd_pose(crowd, 0, f.pose, &error), error);
        if (frame == 0) {
            CHECK_OK(sup_instance_create(NULL, f.model, f.pose, &instance, &error), error);
            CHECK_OK(sup_crowd_reset(crowd, -1, &error), error);
            continue;
        }
        distance off = {0};
        CHECK_EQ(sup_instance_step(instance, f.pose, 1.0f / 60.0f, &(sup_skin_out){.positions = cpu}), SUP_OK);
        CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
        CHECK_OK(sup_crowd_read(crowd, 0, &(sup_skin_out){.positions = gpu}, &error), error);
        add_distance(&off, cpu, gpu, n, (double)f.rig->size);
        CHECK_MSG(off.farthest < 1e-4, "frame %d: %g", (int)frame, off.farthest);
    }
    CHECK_OK(sup_crowd_last_step(crowd, 0, &report, &error), error);
    CHECK(report.contacts > 0);
    sup_instance_destroy(instance);
    sup_crowd_destroy(crowd);
    free(cpu), free(gpu);
    close_fixture(&f);
}

/* Conjugate gradients of characters in contact do not change the other characters of their thread block. */
TEST(characters_without_contact_match_cpu_in_a_mixed_crowd)
{
    enum { COUNT = 3, FRAMES = 1 };
    static const double times[COUNT] = {0.1, 1.0, 1.0}; /* slightly bent, and bent into contact */
    fixture f = open_fixture("arm", "projective", "vertices=150", 0.0f);
    sup_error error = {0};
    sup_pose *pose = NULL;
    sup_instance *instance = NULL;
    sup_crowd *crowd = NULL;
    sup_crowd_report report;
    size_t n = (size_t)sup_model_vertex_count(f.model) * 3;
    float *cpu = calloc(n, sizeof *cpu), *gpu = calloc(n, sizeof *gpu);
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    CHECK_OK(sup_crowd_create(f.device, f.model, &(sup_crowd_def){.instance_count = COUNT}, &crowd, &error), error);
    for (int32_t frame = 0; frame <= FRAMES; frame++) {
        for (int32_t i = COUNT - 1; i >= 0; i--) { /* the CPU then uses the pose of the first one */
            sup_pose_sample(f.character, &f.character->clips[0], times[i] + frame / 60.0, pose);
            CHECK_OK(sup_crowd_pose(crowd, i, pose, &error), error);
        }
        if (frame == 0) {
            CHECK_OK(sup_instance_create(NULL, f.model, pose, &instance, &error), error);
            CHECK_OK(sup_crowd_reset(crowd, -1, &error), error);
            continue;
        }
        CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 60.0f, &(sup_skin_out){.positions = cpu}), SUP_OK);
        CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
    }
    CHECK_OK(sup_crowd_last_step(crowd, 0, &report, &error), error);
    CHECK_EQ(report.contacts, 0);
    CHECK_OK(sup_crowd_last_step(crowd, 1, &report, &error), error);
    CHECK(report.contacts > 0);
    CHECK_OK(sup_crowd_read(crowd, 0, &(sup_skin_out){.positions = gpu}, &error), error);
    distance off = {0};
    add_distance(&off, cpu, gpu, n, (double)f.rig->size);
    CHECK_MSG(off.farthest < 1e-5, "%g", off.farthest);
    sup_instance_destroy(instance);
    sup_crowd_destroy(crowd);
    sup_pose_destroy(pose);
    free(cpu), free(gpu);
    close_fixture(&f);
}

TEST(rigid_regions_and_other_frame_rates_match_the_cpu)
{
    fixture f = open_fixture("human", "projective", "vertices=2000 volume=0 contact=0 dynamic=0", 0.0f);
    compare_projective(&f, "strain only", 1, 60, 60.0, false);
    f = open_fixture("elephant", "projective", "vertices=2000", 0.5f);
    compare_projective(&f, "half rigid", 3, 40, 60.0, true);
    f = open_fixture("cylinder", "projective", "vertices=500", 1.0f);
    compare_projective(&f, "rigid", 1, 60, 24.0, true);
    f = open_fixture("cylinder", "projective", "vertices=500", 0.0f);
    compare_projective(&f, "144 frames a second", 3, 200, 144.0, true);
}

TEST(fast_skins_of_a_crowd_match_the_cpu)
{
    fixture f = open_fixture("human", "projective", "vertices=2000 contact=0 fast=1 iterations=3", 0.0f);
    compare_projective(&f, "fast", 5, 30, 60.0, false);
    f = open_fixture("human", "projective", "vertices=2000 fast=1 iterations=3", 0.0f);
    compare_projective(&f, "fast, in contact", 5, 30, 60.0, true);
}

/* One character (persistent kernel), two characters (small subdomains) and a crowd give the same result. Small, for
 * race detectors. */
TEST(single_character_matches_crowd)
{
    fixture f = open_fixture("cylinder", "projective", "vertices=300", 0.0f);
    sup_error error = {0};
    sup_pose *pose = NULL;
    size_t n = (size_t)sup_model_vertex_count(f.model) * 3;
    float *skin[3] = {calloc(n, sizeof(float)), calloc(n, sizeof(float)), calloc(n, sizeof(float))};
    static const int32_t counts[3] = {1, 2, 5};
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    for (int32_t k = 0; k < 3; k++) {
        sup_crowd *crowd = NULL;
        sup_crowd_def def = {.instance_count = counts[k]};
        CHECK_OK(sup_crowd_create(f.device, f.model, &def, &crowd, &error), error);
        for (int32_t i = 1; i < 4; i++) {
            const sup_clip *c = &f.character->clips[0];
            sup_pose_sample(f.character, c, (double)c->start + 0.1 * i, pose);
            CHECK_OK(sup_crowd_pose(crowd, -1, pose, &error), error);
            CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
        }
        CHECK_OK(sup_crowd_read(crowd, def.instance_count - 1, &(sup_skin_out){.positions = skin[k]}, &error), error);
        sup_crowd_destroy(crowd);
    }
    for (size_t i = 0; i < n; i++) {
        CHECK_NEAR((double)skin[0][i], (double)skin[1][i], 1e-5 * (double)f.rig->size);
        CHECK_NEAR((double)skin[0][i], (double)skin[2][i], 1e-5 * (double)f.rig->size);
    }
    free(skin[0]), free(skin[1]), free(skin[2]);
    sup_pose_destroy(pose);
    close_fixture(&f);
}

/* Hash of the skins of a crowd that plays clips for some frames. */
static uint64_t hash_run(fixture *f, int32_t count, int32_t frames, float dt)
{
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    const sup_clip *clips[16];
    int32_t clip_count = f->character->clip_count < 16 ? f->character->clip_count : 16;
    size_t n = (size_t)sup_model_vertex_count(f->model) * 3;
    float *skin = calloc(n, sizeof *skin);
    uint64_t hash = 1469598103934665603u;
    for (int32_t i = 0; i < clip_count; i++)
        clips[i] = &f->character->clips[i];
    sup_crowd_def def = {.instance_count = count, .character = f->character, .clip_count = clip_count, .clips = clips};
    CHECK_OK(sup_crowd_create(f->device, f->model, &def, &crowd, &error), error);
    for (int32_t i = 0; i < count; i++)
        CHECK_OK(sup_crowd_play(crowd, i, i % clip_count, 0.1 * i, 1.0, true, &error), error);
    CHECK_OK(sup_crowd_reset(crowd, -1, &error), error);
    for (int32_t i = 0; i < frames; i++)
        CHECK_OK(sup_crowd_step(crowd, dt, NULL, &error), error);
    for (int32_t i = 0; i < count; i++) {
        CHECK_OK(sup_crowd_read(crowd, i, &(sup_skin_out){.positions = skin}, &error), error);
        for (size_t k = 0; k < n * sizeof(float); k++)
            hash = (hash ^ ((const unsigned char *)skin)[k]) * 1099511628211u;
    }
    sup_crowd_destroy(crowd);
    free(skin);
    return hash;
}

TEST(results_are_the_same_bits_in_every_run)
{
    fixture f = open_fixture("human", "projective", "vertices=2000", 0.0f);
    CHECK(hash_run(&f, 1, 20, 1.0f / 60.0f) == hash_run(&f, 1, 20, 1.0f / 60.0f));
    CHECK(hash_run(&f, 9, 20, 1.0f / 60.0f) == hash_run(&f, 9, 20, 1.0f / 60.0f));
    CHECK(hash_run(&f, 5, 20, 1.0f / 24.0f) == hash_run(&f, 5, 20, 1.0f / 24.0f));
    CHECK(hash_run(&f, 5, 20, 1.0f / 144.0f) == hash_run(&f, 5, 20, 1.0f / 144.0f));
    close_fixture(&f);
}

#ifdef SUPPLE_EMULATED
/* The order of lanes, warps and blocks must not matter: detects races. */
TEST(results_do_not_depend_on_order_of_threads)
{
    static const unsigned orders[] = {6, 1};
    static const int32_t counts[] = {1, 5};
    fixture f = open_fixture("cylinder", "projective", "vertices=120", 0.0f);
    for (int32_t k = 0; k < SUP_COUNT(counts); k++) {
        uint64_t hash = hash_run(&f, counts[k], 1, 1.0f / 60.0f);
        emulated_order(orders[k]);
        CHECK_MSG(hash_run(&f, counts[k], 1, 1.0f / 60.0f) == hash, "%d at a time, order %u", (int)counts[k],
                  orders[k]);
        emulated_order(0);
    }
    close_fixture(&f);
}
#endif

/* Hidden skins are not updated; tissue at rest sleeps, and wakes without a jump. */
TEST(hidden_skins_are_not_updated_and_instances_at_rest_sleep)
{
    fixture f = open_fixture("human", "projective", "vertices=1000", 0.0f);
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    sup_pose *pose = NULL;
    sup_crowd_report before, after;
    const sup_clip *c = &f.character->clips[0];
    size_t n = (size_t)sup_model_vertex_count(f.model) * 3;
    float *skin[3] = {calloc(n, sizeof(float)), calloc(n, sizeof(float)), calloc(n, sizeof(float))};
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    CHECK_OK(sup_crowd_create(f.device, f.model, &(sup_crowd_def){.instance_count = 3}, &crowd, &error), error);
    CHECK_OK(sup_crowd_hide(crowd, 1, true, &error), error);
    CHECK_OK(sup_crowd_read(crowd, 1, &(sup_skin_out){.positions = skin[0]}, &error), error);
    for (int32_t i = 0; i < 400; i++) {
        sup_pose_sample(f.character, c, (double)c->start + fmin(i, 20) / 60.0, pose);
        CHECK_OK(sup_crowd_pose(crowd, -1, pose, &error), error);
        CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
    }
    CHECK_OK(sup_crowd_read(crowd, 1, &(sup_skin_out){.positions = skin[1]}, &error), error);
    CHECK(memcmp(skin[0], skin[1], n * sizeof(float)) == 0);
    CHECK_OK(sup_crowd_read(crowd, 0, &(sup_skin_out){.positions = skin[0]}, &error), error);
    CHECK(memcmp(skin[0], skin[1], n * sizeof(float)) != 0);
    CHECK_OK(sup_crowd_last_step(crowd, 0, &before, &error), error);
    CHECK_MSG(before.asleep, "still awake after six seconds");
    CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
    CHECK_OK(sup_crowd_read(crowd, 0, &(sup_skin_out){.positions = skin[1]}, &error), error);
    CHECK(memcmp(skin[0], skin[1], n * sizeof(float)) == 0);
    sup_pose_sample(f.character, c, (double)c->start + 22.0 / 60.0, pose);
    CHECK_OK(sup_crowd_pose(crowd, 0, pose, &error), error);
    CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
    CHECK_OK(sup_crowd_last_step(crowd, 0, &after, &error), error);
    CHECK(!after.asleep && after.iterations > 0);
    CHECK_OK(sup_crowd_read(crowd, 0, &(sup_skin_out){.positions = skin[1]}, &error), error);
    for (size_t k = 0; k < n; k++)
        CHECK(fabs((double)skin[0][k] - (double)skin[1][k]) < 0.1 * (double)f.rig->size);
    for (int k = 0; k < 3; k++)
        free(skin[k]);
    sup_crowd_destroy(crowd);
    sup_pose_destroy(pose);
    close_fixture(&f);
}

/* Clips that are sampled on the device match the CPU. */
TEST(clip_sampling_matches_cpu)
{
    fixture f = open_fixture("human", "linear", "", 0.0f);
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    sup_pose *pose = NULL;
    sup_instance *instance = NULL;
    size_t n = (size_t)sup_model_vertex_count(f.model) * 3;
    float *cpu = calloc(n, sizeof *cpu), *gpu = calloc(n, sizeof *gpu);
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    CHECK_OK(sup_instance_create(NULL, f.model, NULL, &instance, &error), error);
    for (int32_t clip = 0; clip < f.character->clip_count; clip++) {
        const sup_clip *c = &f.character->clips[clip];
        sup_crowd_def def = {.instance_count = 2, .character = f.character, .clip_count = 1, .clips = &c};
        CHECK_OK(sup_crowd_create(f.device, f.model, &def, &crowd, &error), error);
        CHECK_OK(sup_crowd_play(crowd, 1, 0, (double)c->start, 1.0, false, &error), error);
        for (int32_t i = 1; i < 40; i++) {
            CHECK_OK(sup_crowd_step(crowd, 0.07f, NULL, &error), error);
            CHECK_OK(sup_crowd_read(crowd, 1, &(sup_skin_out){.positions = gpu}, &error), error);
            sup_pose_sample(f.character, c, fmin((double)c->start + i * 0.07, (double)c->end), pose);
            CHECK_EQ(sup_instance_step(instance, pose, 0.07f, &(sup_skin_out){.positions = cpu}), SUP_OK);
            double worst = 0.0;
            for (size_t k = 0; k < n; k++)
                worst = fmax(worst, fabs((double)cpu[k] - (double)gpu[k]));
            CHECK_MSG(worst < 2e-5 * (double)f.rig->size, "%s, frame %d: %g", c->name, (int)i, worst);
        }
        sup_crowd_destroy(crowd);
    }
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    free(cpu), free(gpu);
    close_fixture(&f);
}

TEST(invalid_calls_are_refused)
{
    fixture f = open_fixture("human", "projective", "vertices=1000", 0.0f);
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    sup_pose *pose = NULL;
    CHECK_EQ(sup_crowd_create(NULL, f.model, NULL, &crowd, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_create(f.device, f.model, &(sup_crowd_def){.instance_count = -1}, &crowd, &error),
             SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_create(f.device, f.model, &(sup_crowd_def){.clip_count = 1}, &crowd, &error),
             SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_create(f.device, f.model, &(sup_crowd_def){.instance_count = 10000000}, &crowd, &error),
             SUP_ERROR_MEMORY);
    CHECK(strstr(error.message, "fewer instances") != NULL);
    CHECK_OK(sup_crowd_create(f.device, f.model, NULL, &crowd, &error), error);
    CHECK_EQ(sup_crowd_set(crowd, 0, "limits", 1.0, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "crowd.limits");
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    CHECK_EQ(sup_crowd_step(crowd, NAN, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_pose(crowd, 1, pose, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_play(crowd, 0, 0, 0.0, 1.0, true, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_set(crowd, 0, "vertices", 100.0, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_set(crowd, 0, "nonsense", 1.0, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_hide(crowd, 1, true, &error), SUP_ERROR_ARGUMENT);
    pose->world[3].m[2] = NAN;
    CHECK_EQ(sup_crowd_pose(crowd, 0, pose, &error), SUP_ERROR_DATA);
    float skin[12];
    CHECK_EQ(sup_crowd_read(crowd, -1, &(sup_skin_out){.positions = skin}, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_crowd_read(crowd, 0, &(sup_skin_out){.tangents = skin}, &error), SUP_ERROR_ARGUMENT);
    sup_crowd_destroy(crowd);
    sup_pose_destroy(pose);
    close_fixture(&f);
}
