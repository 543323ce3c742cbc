/* Features beyond the paper: skin outside of all fields, colliders, morph targets, threads. */
#include "base/base.h"
#include "math/affine.h"
#include "supple/supple.h"
#include "test.h"

typedef struct actor {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    sup_instance *instance;
    float *positions, *kept;
    char said[1024]; /* warnings of the bind */
} actor;

static void listen(void *user, sup_log_level level, const char *message)
{
    actor *a = user;
    if (level == SUP_LOG_WARNING)
        sup_format(a->said + strlen(a->said), sizeof a->said - strlen(a->said), "%s\n", message);
}

/* Takes ownership of the character. */
static void actor_open(actor *a, const sup_context *given, sup_character *character)
{
    sup_error error = {0};
    memset(a, 0, sizeof *a);
    sup_context context = given != NULL ? *given : (sup_context){0};
    context.log = listen;
    context.log_user = a;
    a->character = character;
    CHECK_OK(sup_rig_create(&context, character, NULL, &a->rig, &error), error);
    a->said[0] = '\0';
    CHECK_OK(sup_bind(&context, sup_method_find("implicit"), a->rig, NULL, &a->model, &error), error);
    CHECK_OK(sup_pose_create(NULL, character, &a->pose, &error), error);
    CHECK_OK(sup_instance_create(given, a->model, NULL, &a->instance, &error), error);
    a->positions = malloc((size_t)character->vertex_count * 12);
    a->kept = malloc((size_t)character->vertex_count * 12);
}

static void actor_close(actor *a)
{
    sup_instance_destroy(a->instance);
    sup_pose_destroy(a->pose);
    sup_model_destroy(a->model);
    sup_rig_destroy(a->rig);
    sup_character_destroy(a->character);
    free(a->positions);
    free(a->kept);
}

static void step(actor *a)
{
    sup_skin_out out = {.positions = a->positions};
    CHECK_EQ(sup_instance_step(a->instance, a->pose, 1.0f / 30.0f, &out), SUP_OK);
    for (int64_t i = 0; i < 3 * (int64_t)a->character->vertex_count; i++)
        CHECK(isfinite(a->positions[i]));
}

static void keep(actor *a)
{
    memcpy(a->kept, a->positions, (size_t)a->character->vertex_count * 12);
}

static void bend(actor *a, double time)
{
    int32_t clip = sup_character_find_clip(a->character, "bend");
    CHECK_EQ(sup_pose_sample(a->character, &a->character->clips[clip], time, a->pose), SUP_OK);
}

static sup_vec3d at(const float *positions, int32_t v)
{
    return sup_v3_load(positions + 3 * (int64_t)v);
}

/* Largest distance of vertices [begin, end) from `other`, in sizes. */
static double farthest(const actor *a, const float *other, int32_t begin, int32_t end)
{
    double largest = 0.0;
    for (int32_t v = begin; v < end; v++)
        largest = fmax(largest, sup_v3_distance(at(a->positions, v), at(other, v)));
    return largest / (double)a->rig->size;
}

static sup_character *cylinder(double resolution)
{
    sup_character *character = NULL;
    sup_error error = {0};
    CHECK_OK(sup_scene_create(NULL, "cylinder", resolution, &character, &error), error);
    return character;
}

/* --- Outside of all fields --- */

enum { CORNERS = 6, FACES = 8 };

/* The cylinder with an octahedron around a point, with the region and weights of the nearest vertex. */
static sup_character *with_island(sup_character *from, sup_vec3d centre, double radius)
{
    static const int32_t faces[3 * FACES] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
    sup_character copy = *from, *made = NULL;
    sup_error error = {0};
    int32_t count = from->vertex_count, first = from->influence_first[from->vertex_count];
    int32_t like = 0;
    for (int32_t v = 1; v < count; v++)
        if (sup_v3_distance(at(from->positions, v), centre) < sup_v3_distance(at(from->positions, like), centre))
            like = v;
    int32_t own = from->influence_first[like], each = from->influence_first[like + 1] - own;
    CHECK_EQ(from->primitive_count, 1);
    sup_primitive region = from->primitives[0];
    region.vertex_count += CORNERS;
    region.triangle_count += FACES;
    float *positions = calloc(3 * (size_t)(count + CORNERS), sizeof(float));
    int32_t *triangles = malloc(3 * (size_t)(from->triangle_count + FACES) * sizeof(int32_t));
    int32_t *starts = malloc((size_t)(count + CORNERS + 1) * sizeof(int32_t));
    int32_t *bones = malloc((size_t)(first + CORNERS * each) * sizeof(int32_t));
    float *weights = malloc((size_t)(first + CORNERS * each) * sizeof(float));
    memcpy(positions, from->positions, 3 * (size_t)count * sizeof(float));
    memcpy(triangles, from->triangles, 3 * (size_t)from->triangle_count * sizeof(int32_t));
    memcpy(starts, from->influence_first, (size_t)(count + 1) * sizeof(int32_t));
    memcpy(bones, from->influence_bone, (size_t)first * sizeof(int32_t));
    memcpy(weights, from->influence_weight, (size_t)first * sizeof(float));
    for (int k = 0; k < CORNERS; k++) {
        double p[3] = {centre.x, centre.y, centre.z};
        p[k / 2] += k % 2 == 0 ? radius : -radius;
        sup_v3_store(positions + 3 * (count + k), sup_v3(p[0], p[1], p[2]));
        memcpy(bones + first + k * each, from->influence_bone + own, (size_t)each * sizeof(int32_t));
        memcpy(weights + first + k * each, from->influence_weight + own, (size_t)each * sizeof(float));
        starts[count + k + 1] = first + (k + 1) * each;
    }
    for (int i = 0; i < 3 * FACES; i++)
        triangles[3 * from->triangle_count + i] = count + faces[i];
    copy.primitives = &region;
    copy.vertex_count += CORNERS;
    copy.triangle_count += FACES;
    copy.positions = positions;
    copy.normals = copy.tangents = copy.texcoords = NULL;
    copy.triangles = triangles;
    copy.influence_first = starts;
    copy.influence_bone = bones;
    copy.influence_weight = weights;
    CHECK_OK(sup_character_create(NULL, &copy, &made, &error), error);
    sup_character_destroy(from);
    free(positions);
    free(triangles);
    free(starts);
    free(bones);
    free(weights);
    return made;
}

TEST(skin_outside_all_fields_is_reported_and_follows_its_bone)
{
    actor a;
    actor_open(&a, NULL, with_island(cylinder(0.3), sup_v3(0.0, 0.5, 0.0), 0.01));
    CHECK_MSG(strstr(a.said, "6 of 586 skin vertices are outside of all fields: 6 of \"cylinder\".") != NULL, "%s",
              a.said);
    int32_t first = a.character->vertex_count - CORNERS, node = sup_character_find_node(a.character, "lower");
    sup_affine inverse, rest = sup_affine_from_float(a.pose->world[node]);
    CHECK(sup_affine_inverse(rest, &inverse));
    for (int i = 1; i <= 5; i++) {
        bend(&a, 0.2 * i);
        step(&a);
        sup_affine transform = sup_affine_multiply(sup_affine_from_float(a.pose->world[node]), inverse);
        for (int32_t v = first; v < first + CORNERS; v++)
            CHECK_NEAR(sup_v3_distance(at(a.positions, v), sup_affine_point(transform, at(a.rig->positions, v))), 0.0,
                       1e-5);
    }
    actor_close(&a);
}

/* --- Colliders --- */

static void set_sphere(actor *a, sup_vec3 centre, float radius)
{
    sup_error error = {0};
    sup_collider sphere = sup_collider_sphere(centre, radius);
    CHECK_OK(sup_instance_set_colliders(a->instance, &sphere, radius > 0.0f ? 1 : 0, &error), error);
}

TEST(colliders_push_the_skin_out_and_it_comes_back)
{
    actor a;
    actor_open(&a, NULL, cylinder(0.5));
    int32_t count = a.character->vertex_count;
    set_sphere(&a, (sup_vec3){0.13f, 0.5f, 0.0f}, 0.05f);
    step(&a);
    double smallest = INFINITY, largest = 0.0;
    for (int32_t v = 0; v < count; v++) {
        smallest = fmin(smallest, sup_v3_distance(at(a.positions, v), sup_v3(0.13, 0.5, 0.0)) - 0.05);
        largest = fmax(largest, sup_v3_distance(at(a.positions, v), at(a.rig->positions, v)));
    }
    CHECK_MSG(smallest > 0.0 && largest > 0.02 && largest < 0.025, "%g off the sphere, %g from rest", smallest,
              largest);
    set_sphere(&a, (sup_vec3){0, 0, 0}, 0.0f);
    step(&a);
    CHECK_NEAR(farthest(&a, a.rig->positions, 0, count), 0.0, 1e-6);
    static const float swallowed[2] = {0.3f, 3.0f}; /* half of the limb, and all of it: nothing explodes */
    for (int i = 0; i < 2; i++) {
        set_sphere(&a, (sup_vec3){0.0f, 0.5f, 0.0f}, swallowed[i]);
        step(&a);
        CHECK(farthest(&a, a.rig->positions, 0, count) < (i == 0 ? 0.2 : 1e-6));
    }
    actor_close(&a);
}

/* --- Morph targets --- */

TEST(morph_targets_are_added_to_the_skin)
{
    sup_character *plain = cylinder(0.3), *character = NULL;
    sup_character copy = *plain;
    sup_error error = {0};
    float *offsets = calloc(3 * (size_t)plain->vertex_count, sizeof(float));
    for (int32_t v = 0; v < plain->vertex_count; v++)
        if (plain->positions[3 * v + 1] > 0.85f) sup_v3_store(offsets + 3 * v, sup_v3(0.02, 0.01, -0.01));
    sup_morph morph = {.name = "bump", .positions = offsets};
    copy.morphs = &morph;
    copy.morph_count = copy.morph_weight_count = 1;
    CHECK_OK(sup_character_create(NULL, &copy, &character, &error), error);
    sup_character_destroy(plain);
    actor a;
    actor_open(&a, NULL, character);
    CHECK_OK(sup_instance_set(a.instance, "tracking", 0.0, &error),
             error); /* frames without tracking: two are compared */
    int32_t node = sup_character_find_node(character, "upper");
    for (int bent = 0; bent < 2; bent++) {
        bend(&a, bent);
        a.pose->morph_weights[0] = 0.0f;
        step(&a);
        keep(&a);
        a.pose->morph_weights[0] = 0.5f;
        step(&a);
        sup_affine inverse, rest = sup_affine_from_float(a.rig->joint_bind[a.rig->joint_count - 1]);
        CHECK(sup_affine_inverse(rest, &inverse));
        sup_affine transform = sup_affine_multiply(sup_affine_from_float(a.pose->world[node]), inverse);
        for (int32_t v = 0; v < character->vertex_count; v++) {
            sup_vec3d moved = sup_v3_sub(at(a.positions, v), at(a.kept, v));
            sup_vec3d wanted = sup_affine_vector(transform, sup_v3_scale(at(offsets, v), 0.5));
            CHECK_NEAR(sup_v3_distance(moved, wanted), 0.0, 1e-5);
        }
    }
    free(offsets);
    actor_close(&a);
}

/* --- Threads --- */

TEST(skin_has_the_same_bits_for_any_number_of_threads)
{
    uint64_t hash[3];
    sup_error error = {0};
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        sup_thread_pool *pool = NULL;
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        actor a;
        actor_open(&a, &context, cylinder(0.15));
        sup_collider sphere = sup_collider_sphere((sup_vec3){0.13f, 0.5f, 0.0f}, 0.05f);
        CHECK_OK(sup_instance_set_colliders(a.instance, &sphere, 1, &error), error);
        for (int i = 1; i <= 6; i++) {
            bend(&a, 0.15 * i);
            step(&a);
        }
        hash[threads - 1] = sup_hash64(a.positions, (size_t)a.character->vertex_count * 12, 1);
        actor_close(&a);
        sup_thread_pool_destroy(pool);
    }
    CHECK(hash[0] == hash[2]);
}
