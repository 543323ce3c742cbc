/* test_colliders.c - colliders of a crowd on the device against the CPU: the skin is the same. */
#include "cuda/crowd_fixture.h"

#ifdef SUPPLE_EMULATED
#include "emulator.h"
#endif

enum { SPHERE, PLANE, CUBE, CAPSULE, COLLIDERS };

static sup_collider colliders[COLLIDERS]; /* of the current fixture */

/* A cube around a point, with outward triangles. */
static sup_collider make_cube(sup_vec3 at, float half)
{
    static const int32_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    static float corners[8][3];
    static int32_t triangles[12][3];
    for (int i = 0; i < 8; i++) {
        corners[i][0] = at.x + (i & 1 ? half : -half);
        corners[i][1] = at.y + (i & 2 ? half : -half);
        corners[i][2] = at.z + (i & 4 ? half : -half);
    }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 3; k++) {
            triangles[2 * i][k] = faces[i][k];
            triangles[2 * i + 1][k] = faces[i][k == 0 ? 0 : k + 1];
        }
    return sup_collider_mesh(corners[0], 8, triangles[0], 12);
}

/* A cylinder from 0 to 1 along y, between a sphere, a plane, a cube and a capsule that follows its upper bone. */
static fixture open_fixture(const char *vertices, const char *contact)
{
    fixture f = {0};
    sup_error error = {0};
    double values[64];
    const sup_method *m = sup_method_find("projective");
    f.device = device_or_skip();
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.2, &f.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    sup_method_defaults(m, values);
    CHECK_OK(sup_method_set(m, values, "vertices", vertices, &error), error);
    CHECK_OK(sup_method_set(m, values, "contact", contact, &error), error);
    CHECK_OK(sup_method_set(m, values, "limits", "0", &error), error);
    bind_fixture(&f, m, &(sup_bind_def){.values = values});
    float radius = 0.0f, low = 1e9f, high = -1e9f;
    for (int32_t v = 0; v < f.rig->vertex_count; v++) {
        const float *p = f.rig->positions + 3 * (size_t)v;
        radius = fmaxf(radius, sqrtf(p[0] * p[0] + p[2] * p[2]));
        low = fminf(low, p[1]);
        high = fmaxf(high, p[1]);
    }
    float middle = 0.5f * (low + high), deep = 0.25f * radius;
    colliders[SPHERE] = sup_collider_sphere((sup_vec3){2.0f * radius - deep, middle, 0.0f}, radius);
    colliders[PLANE] = sup_collider_plane((sup_vec3){-radius + deep, 0.0f, 0.0f}, (sup_vec3){1.0f, 0.0f, 0.0f});
    colliders[CUBE] = make_cube((sup_vec3){0.0f, low + 0.2f * (high - low), 2.0f * radius - deep}, radius);
    colliders[CAPSULE] = sup_collider_capsule((sup_vec3){-radius, high, -1.3f * radius + deep},
                                              (sup_vec3){radius, high, -1.3f * radius + deep}, 0.3f * radius);
    int32_t node = f.rig->joint_node[f.rig->joint_count - 1];
    sup_mat34 inverse = f.rig->joint_inverse_bind[f.rig->joint_count - 1];
    colliders[CAPSULE].node = node;
    colliders[CAPSULE].transform = inverse;
    colliders[CUBE].friction = 0.0f;
    return f;
}

static double max_difference(const fixture *f, const float *a, const float *b)
{
    double largest = 0.0;
    for (int32_t i = 0; i < 3 * f->character->vertex_count; i++) {
        CHECK(isfinite(b[i]));
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    }
    return largest / (double)f->rig->size;
}

typedef struct outcome {
    double max_difference; /* between the device's skin and the CPU's, in sizes */
    double displaced;      /* displacement of the CPU's skin by the colliders, in sizes */
    uint64_t hash;         /* of the device's last skin */
} outcome;

/* Some frames of the clip while the sphere moves further in. Compares the last instance of the crowd, which plays the
 * clip if `plays`. */
static outcome compare(fixture *f, int32_t count, bool plays, double fps)
{
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    sup_instance *instance = NULL, *without = NULL;
    sup_crowd_report report = {0};
    const sup_clip *c = &f->character->clips[0];
    size_t n = 3 * (size_t)f->character->vertex_count;
    float *cpu = calloc(3 * n, sizeof(float)), *gpu = cpu + n, *free_skin = gpu + n, dt = (float)(1.0 / fps);
    sup_crowd_def def = {.instance_count = count,
                         .character = f->character,
                         .clip_count = 1,
                         .clips = &c,
                         .colliders = colliders,
                         .collider_count = COLLIDERS};
    outcome o = {.hash = 1469598103934665603u};
    sup_pose_sample(f->character, c, (double)c->start, f->pose);
    CHECK_OK(sup_crowd_create(f->device, f->model, &def, &crowd, &error), error);
    CHECK_OK(sup_instance_create(NULL, f->model, f->pose, &instance, &error), error);
    CHECK_OK(sup_instance_create(NULL, f->model, f->pose, &without, &error), error);
    CHECK_OK(sup_instance_set_colliders(instance, colliders, COLLIDERS, &error), error);
    if (plays) { /* the clip begins in the bind pose */
        CHECK_OK(sup_crowd_play(crowd, count - 1, 0, (double)c->start, 1.0, false, &error), error);
        CHECK_OK(sup_crowd_reset(crowd, count - 1, &error), error);
    }
    CHECK_EQ(sup_instance_step(instance, f->pose, 0.0f, &(sup_skin_out){0}),
             SUP_OK); /* sets the positions of the colliders */
    for (int32_t i = 1; i <= 4; i++) {
        sup_mat34 transform = sup_mat34_identity();
        transform.m[3] = -0.005f * (float)i * f->rig->size;
        transform.m[7] = 0.002f * (float)i * f->rig->size;
        sup_pose_sample(f->character, c, (double)c->start + i / fps, f->pose);
        CHECK_EQ(sup_instance_move_collider(instance, SPHERE, transform), SUP_OK);
        CHECK_OK(sup_crowd_move_collider(crowd, -1, SPHERE, transform, &error), error);
        for (int32_t k = 0; k < (plays ? count - 1 : count); k++)
            CHECK_OK(sup_crowd_pose(crowd, k, f->pose, &error), error);
        CHECK_EQ(sup_instance_step(instance, f->pose, dt, &(sup_skin_out){.positions = cpu}), SUP_OK);
        CHECK_EQ(sup_instance_step(without, f->pose, dt, &(sup_skin_out){.positions = free_skin}), SUP_OK);
        CHECK_OK(sup_crowd_step(crowd, dt, NULL, &error), error);
        CHECK_OK(sup_crowd_read(crowd, count - 1, &(sup_skin_out){.positions = gpu}, &error), error);
        o.max_difference = fmax(o.max_difference, max_difference(f, cpu, gpu));
    }
    CHECK_OK(sup_crowd_last_step(crowd, count - 1, &report, &error), error);
    CHECK(report.contacts > 0);
    o.displaced = max_difference(f, cpu, free_skin);
    for (size_t k = 0; k < n * sizeof(float); k++)
        o.hash = (o.hash ^ ((const unsigned char *)gpu)[k]) * 1099511628211u;
    sup_instance_destroy(instance);
    sup_instance_destroy(without);
    sup_crowd_destroy(crowd);
    free(cpu);
    return o;
}

TEST(collider_contact_of_one_character_matches_cpu)
{
    fixture f = open_fixture("100", "0");
    outcome o = compare(&f, 1, false, 60.0);
    CHECK_MSG(o.max_difference < 1e-5 && o.displaced > 0.01, "difference %g, displacement %g", o.max_difference,
              o.displaced);
    close_fixture(&f);
}

TEST(collider_contact_of_crowds_matches_cpu)
{
    fixture f = open_fixture("200", "0");
    outcome o = compare(&f, 5, true, 60.0);
    CHECK_MSG(o.max_difference < 1e-5 && o.displaced > 0.01, "with a clip: difference %g, displacement %g",
              o.max_difference, o.displaced);
    /* Steps between frames. Not 40 frames a second: there the CPU's own result changes by 6e-4 if the input changes by
     * 1e-7, because a vertex is exactly between two contact states. */
    static const double rates[] = {44.0, 50.0, 75.0};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        o = compare(&f, 2, false, rates[i]);
        CHECK_MSG(o.max_difference < 1e-5 && o.displaced > 0.01, "%g frames a second: difference %g, displacement %g",
                  rates[i], o.max_difference, o.displaced);
    }
    /* So deep that it releases skin whose bone is inside. */
    colliders[PLANE] = sup_collider_plane((sup_vec3){0.6f * f.rig->size, 0.0f, 0.0f}, (sup_vec3){1.0f, 0.0f, 0.0f});
    o = compare(&f, 1, false, 60.0);
    CHECK_MSG(o.max_difference < 1e-5 && o.displaced > 0.01, "deep inside: difference %g, displacement %g",
              o.max_difference, o.displaced);
    close_fixture(&f);
    f = open_fixture("200", "1");
    o = compare(&f, 1, true, 60.0);
    CHECK_MSG(o.max_difference < 1e-5 && o.displaced > 0.01, "with self contact: difference %g, displacement %g",
              o.max_difference, o.displaced);
    close_fixture(&f);
}

/* A moving collider wakes a sleeping character; a resting one does not. */
TEST(moving_collider_wakes_character)
{
    fixture f = open_fixture("100", "0");
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    sup_crowd_report report = {0};
    sup_mat34 away = sup_mat34_identity();
    away.m[3] = f.rig->size;
    colliders[SPHERE].transform = away;
    CHECK_OK(sup_crowd_create(f.device, f.model, &(sup_crowd_def){.colliders = colliders, .collider_count = 1}, &crowd,
                              &error),
             error);
    for (int32_t i = 0; i < 200 && !report.asleep; i++) {
        CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
        CHECK_OK(sup_crowd_last_step(crowd, 0, &report, &error), error);
    }
    CHECK(report.asleep && report.contacts == 0);
    CHECK_OK(sup_crowd_move_collider(crowd, 0, SPHERE, sup_mat34_identity(), &error), error);
    CHECK_OK(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &error), error);
    CHECK_OK(sup_crowd_last_step(crowd, 0, &report, &error), error);
    CHECK(!report.asleep && report.contacts > 0);
    sup_crowd_destroy(crowd);
    close_fixture(&f);
}

#ifdef SUPPLE_EMULATED
TEST(collider_results_do_not_depend_on_thread_order)
{
    fixture f = open_fixture("200", "1");
    outcome first = compare(&f, 2, true, 60.0);
    for (unsigned order = 1; order < 3; order++) {
        emulated_order(order);
        CHECK(compare(&f, 2, true, 60.0).hash == first.hash);
    }
    emulated_order(0);
    close_fixture(&f);
}
#endif

TEST(invalid_colliders_of_a_crowd_are_refused)
{
    fixture f = open_fixture("100", "0");
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    sup_model *linear = NULL;
    sup_collider flat = colliders[SPHERE];
    sup_crowd_def def = {.colliders = &flat, .collider_count = 1};
    flat.radius = 0.0f;
    CHECK_EQ(sup_crowd_create(f.device, f.model, &def, &crowd, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "collider.radius");
    def.colliders = NULL;
    CHECK_EQ(sup_crowd_create(f.device, f.model, &def, &crowd, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "collider.null");
    CHECK_OK(sup_bind(NULL, sup_method_find("linear"), f.rig, NULL, &linear, &error), error);
    def.colliders = colliders;
    CHECK_EQ(sup_crowd_create(f.device, linear, &def, &crowd, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "collider.method");
    CHECK_OK(sup_crowd_create(f.device, linear, NULL, &crowd, &error), error);
    CHECK_EQ(sup_crowd_move_collider(crowd, 0, 0, sup_mat34_identity(), &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "collider.transform");
    sup_crowd_destroy(crowd);
    sup_model_destroy(linear);
    close_fixture(&f);
}
