/* The built-in characters: valid meshes, local weights, motions within joint limits, bit-identical results for any
 * number of threads. */
#include "mesh_check.h"
#include "scenes/scene_spec.h"
#include "supple/pose.h"
#include "test.h"

/* Cache of characters used by several tests, because building one is slow. Freed at exit. */
enum { KEPT_LIMIT = 64 };
static struct {
    const char *name;
    double resolution;
    sup_character *character;
} kept[KEPT_LIMIT];
static int kept_count;

static void free_kept(void)
{
    for (int i = 0; i < kept_count; i++)
        sup_character_destroy(kept[i].character);
}

static const sup_character *make(const char *name, double resolution)
{
    for (int i = 0; i < kept_count; i++)
        if (kept[i].resolution == resolution && strcmp(kept[i].name, name) == 0) return kept[i].character;
    sup_character *character = NULL;
    sup_error error;
    CHECK_OK(sup_scene_create(NULL, name, resolution, &character, &error), error);
    CHECK(kept_count < KEPT_LIMIT);
    if (kept_count == 0) atexit(free_kept);
    kept[kept_count].name = name;
    kept[kept_count].resolution = resolution;
    kept[kept_count++].character = character;
    return character;
}

static void check_meshes(const char *name, double resolution, bool intersections)
{
    const sup_character *c = make(name, resolution);
    for (int32_t p = 0; p < c->primitive_count; p++) {
        mesh_report r = check_primitive(c, p, intersections && p == 0);
        CHECK_MSG(r.open_edges == 0, "%s primitive %d: %d edges are not closed", name, p, r.open_edges);
        CHECK_MSG(r.unused_vertices == 0, "%s primitive %d: %d loose vertices", name, p, r.unused_vertices);
        CHECK_MSG(r.volume > 0.0, "%s primitive %d: volume %g", name, p, r.volume);
        CHECK_MSG(r.components == (p == 0 ? 1 : 2), "%s primitive %d: %d components", name, p, r.components);
        /* Each component has genus 0: no handles where surfaces nearly touch, no pinched vertices. */
        CHECK_MSG(r.vertices - r.edges + r.triangles == 2 * r.components, "%s primitive %d: Euler number %d", name, p,
                  r.vertices - r.edges + r.triangles);
        CHECK_MSG(r.smallest_angle > 8.0 && r.largest_angle < 150.0, "%s at %g primitive %d: angles from %g to %g",
                  name, resolution, p, r.smallest_angle, r.largest_angle);
        CHECK_MSG(r.thin_fraction < 0.005, "%s at %g primitive %d: %g of the triangles are thin", name, resolution, p,
                  r.thin_fraction);
        /* Coarse meshes fold slightly between the fingers. */
        CHECK_MSG(r.worst_normal > (resolution < 1.0 ? -0.3 : 0.0),
                  "%s at %g primitive %d: a normal turned %g from a face", name, resolution, p, r.worst_normal);
        CHECK_MSG(r.self_intersections == 0, "%s at %g: %d triangles cross", name, resolution, r.self_intersections);
    }
}

TEST(all_meshes_are_valid_at_resolution_1)
{
    for (int32_t s = 0; s < sup_scene_count(); s++)
        check_meshes(sup_scene_at(s).name, 1.0, true);
}

TEST(all_meshes_are_valid_when_coarse)
{
    for (int32_t s = 0; s < sup_scene_count(); s++)
        check_meshes(sup_scene_at(s).name, 0.25, true);
}

TEST(the_human_is_valid_when_subdivided)
{
    check_meshes("human", 4.0, false);
}

TEST(vertex_counts_match_the_scene_info)
{
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        const double resolutions[] = {0.25, 1.0, 4.0};
        for (int i = 0; i < 3; i++) {
            sup_scene_info info = sup_scene_at(s);
            const sup_character *c = make(info.name, resolutions[i]);
            double expected = info.default_vertex_count * resolutions[i];
            CHECK_MSG(fabs(c->primitives[0].vertex_count / expected - 1.0) < 0.12, "%s at %g has %d vertices",
                      info.name, resolutions[i], c->primitives[0].vertex_count);
        }
    }
}

TEST(extreme_resolutions_work)
{
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        const sup_character *c = make(sup_scene_at(s).name, 0.05);
        mesh_report r = check_primitive(c, 0, false);
        CHECK_MSG(r.open_edges == 0 && r.components == 1 && r.volume > 0.0, "%s at 0.05", sup_scene_at(s).name);
    }
    const sup_character *c = make("cylinder", 20.0);
    mesh_report r = check_primitive(c, 0, false);
    CHECK(r.open_edges == 0 && r.vertices > 36000 && r.vertices < 44000);
}

TEST(the_human_has_a_human_size)
{
    const sup_character *c = make("human", 1.0);
    mesh_report r = check_primitive(c, 0, false);
    float low = 1e9f, high = -1e9f;
    for (int32_t v = 0; v < c->primitives[0].vertex_count; v++) {
        low = fminf(low, c->positions[v * 3 + 1]);
        high = fmaxf(high, c->positions[v * 3 + 1]);
    }
    CHECK_NEAR(low, 0.0, 0.004);
    CHECK_NEAR(high, 1.75, 0.02);
    CHECK_MSG(r.volume > 0.055 && r.volume < 0.09, "volume %g", r.volume);
    CHECK(c->bone_count >= 40 && c->primitive_count == 2);
}

static int compare_points(const void *left, const void *right)
{
    const float *a = left, *b = right;
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Every vertex has an exact mirror image. */
TEST(symmetric_characters_are_symmetric)
{
    const char *names[] = {"human", "elephant", "tbone"};
    for (int i = 0; i < 3; i++) {
        const sup_character *c = make(names[i], 0.5);
        size_t count = (size_t)c->primitives[0].vertex_count;
        float *sorted = malloc(count * 3 * sizeof *sorted);
        memcpy(sorted, c->positions, count * 3 * sizeof *sorted);
        qsort(sorted, count, 3 * sizeof *sorted, compare_points);
        for (size_t v = 0; v < count; v++) {
            const float *p = c->positions + v * 3;
            float mirrored[3] = {p[0] == 0.0f ? 0.0f : -p[0], p[1], p[2]};
            CHECK_MSG(bsearch(mirrored, sorted, count, 3 * sizeof *sorted, compare_points) != NULL,
                      "%s: %g %g %g has no mirror image", names[i], (double)p[0], (double)p[1], (double)p[2]);
        }
        free(sorted);
    }
}

TEST(weights_are_valid)
{
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        const sup_character *c = make(sup_scene_at(s).name, 0.5);
        int32_t used = 0;
        bool *moves = calloc((size_t)c->bone_count, sizeof *moves);
        for (int32_t v = 0; v < c->vertex_count; v++) {
            float sum = 0.0f;
            int32_t first = c->influence_first[v], last = c->influence_first[v + 1];
            for (int32_t i = first; i < last; i++) {
                CHECK(c->influence_weight[i] > 0.0f && c->influence_weight[i] <= 1.0f);
                sum += c->influence_weight[i];
                moves[c->influence_bone[i]] = true;
            }
            CHECK(last - first <= 4);
            if (last > first) CHECK_NEAR(sum, 1.0, 1e-5);
        }
        for (int32_t b = 0; b < c->bone_count; b++)
            used += moves[b];
        CHECK_MSG(used == c->bone_count, "%s: only %d of %d joints move skin", sup_scene_at(s).name, used,
                  c->bone_count);
        free(moves);
    }
}

static float weight_of(const sup_character *c, int32_t v, const char *name_part, const char *side)
{
    float sum = 0.0f;
    for (int32_t i = c->influence_first[v]; i < c->influence_first[v + 1]; i++) {
        const char *name = c->nodes[c->bones[c->influence_bone[i]].node].name;
        if (strstr(name, name_part) != NULL && strstr(name, side) != NULL) sum += c->influence_weight[i];
    }
    return sum;
}

TEST(fingers_and_legs_do_not_share_weights)
{
    const char *fingers[] = {"index_", "middle_", "ring_", "pinky_", "thumb_"};
    const sup_character *c = make("human", 1.0);
    for (int32_t v = 0; v < c->primitives[0].vertex_count; v++) {
        float x = c->positions[v * 3], outer = 0.0f, inner;
        CHECK(!(x >= 0.0f && weight_of(c, v, "_", "right") > 0.0f));
        CHECK(!(x <= 0.0f && weight_of(c, v, "_", "left") > 0.0f));
        /* Beyond the base of the fingers one finger has all the weight. */
        for (int f = 0; f < 5; f++)
            for (int g = 0; g < 5; g++) {
                outer = weight_of(c, v, fingers[f], "_2") + weight_of(c, v, fingers[f], "_3");
                inner = weight_of(c, v, fingers[g], "_");
                CHECK_MSG(f == g || !(outer > 0.05f && inner > 0.0f), "%s and %s share a vertex: %g and %g", fingers[f],
                          fingers[g], (double)outer, (double)inner);
            }
    }
}

/* A cross-section of the middle of the index finger intersects at least 2 * 8 triangles, even at resolution 0.25. */
TEST(fingers_are_well_resolved)
{
    const sup_character *c = make("human", 0.25);
    sup_pose *pose = NULL;
    sup_error error;
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    const float *a = pose->world[sup_character_find_node(c, "left_index_1")].m;
    const float *b = pose->world[sup_character_find_node(c, "left_index_2")].m;
    double middle[3], along[3];
    for (int k = 0; k < 3; k++) {
        along[k] = (double)b[4 * k + 3] - (double)a[4 * k + 3];
        middle[k] = (double)a[4 * k + 3] + 0.7 * along[k];
    }
    int cut = 0;
    for (int32_t t = 0; t < c->primitives[0].triangle_count; t++) {
        int sides = 0, near = 0;
        for (int i = 0; i < 3; i++) {
            const float *p = c->positions + (size_t)c->triangles[t * 3 + i] * 3;
            double height = 0.0, apart = 0.0;
            for (int k = 0; k < 3; k++) {
                double d = (double)p[k] - middle[k];
                height += d * along[k];
                apart += d * d;
            }
            sides |= height > 0.0 ? 1 : 2;
            near += apart < 0.018 * 0.018;
        }
        cut += sides == 3 && near > 0;
    }
    CHECK_MSG(cut >= 16, "%d triangles around a finger", cut);
    sup_pose_destroy(pose);
}

TEST(joints_are_inside_the_skin)
{
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        const sup_character *c = make(sup_scene_at(s).name, 0.5);
        sup_pose *pose = NULL;
        sup_error error;
        CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
        for (int32_t b = 0; b < c->bone_count; b++) {
            const float *m = pose->world[c->bones[b].node].m;
            double point[3] = {(double)m[3], (double)m[7], (double)m[11]};
            CHECK_MSG(winding(c, 0, point) > 0.5, "%s: joint %s is outside", sup_scene_at(s).name,
                      c->nodes[c->bones[b].node].name);
        }
        sup_pose_destroy(pose);
    }
}

static void fill_spec(const char *name, sup_scene_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    if (strcmp(name, "human") == 0) sup_scene_spec_human(spec);
    if (strcmp(name, "elephant") == 0) sup_scene_spec_elephant(spec);
    if (strcmp(name, "arm") == 0) sup_scene_spec_arm(spec);
    if (strcmp(name, "hand") == 0) sup_scene_spec_hand(spec);
    if (strcmp(name, "tbone") == 0) sup_scene_spec_tbone(spec);
    if (strcmp(name, "cylinder") == 0) sup_scene_spec_cylinder(spec);
}

/* The sampler clamps motions to the joint limits; the tables must not need it, and must refer to existing joints. */
TEST(motion_tables_stay_within_joint_limits)
{
    sup_scene_spec *spec = malloc(sizeof *spec);
    sup_skeleton *skeleton = malloc(sizeof *skeleton);
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        fill_spec(sup_scene_at(s).name, spec);
        sup_skeleton_build(spec, skeleton);
        for (int32_t m = 0; m < spec->motion_count; m++)
            for (int32_t i = 0; i < spec->motions[m].key_count; i++) {
                const sup_motion_key *key = &spec->motions[m].keys[i];
                char name[SUP_NAME_MAX];
                snprintf(name, sizeof name, "%s%s", key->joint[0] == '*' ? "left_" : "",
                         key->joint + (key->joint[0] == '*'));
                int32_t j = sup_skeleton_find(skeleton, name);
                CHECK_MSG(j >= 0, "%s: no joint %s", sup_scene_at(s).name, name);
                const sup_joint_spec *joint = skeleton->joints[j].spec;
                bool fine = key->flex >= joint->flex.low && key->flex <= joint->flex.high &&
                            key->swing >= joint->swing.low && key->swing <= joint->swing.high &&
                            key->twist >= joint->twist.low && key->twist <= joint->twist.high;
                CHECK_MSG(fine, "%s %s: %s at %g s is out of its limits", sup_scene_at(s).name, spec->motions[m].name,
                          name, key->time);
                CHECK(key->time >= 0.0 && key->time <= spec->motions[m].duration);
            }
    }
    free(skeleton);
    free(spec);
}

TEST(clips_are_unit_quaternions_and_loop)
{
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        const sup_character *c = make(sup_scene_at(s).name, 0.1);
        CHECK(c->clip_count >= 3);
        for (int32_t i = 0; i < c->clip_count; i++)
            for (int32_t k = 0; k < c->clips[i].channel_count; k++) {
                const sup_channel *channel = &c->clips[i].channels[k];
                int width = channel->target == SUP_CHANNEL_ROTATION ? 4 : 3;
                const float *last = channel->values + (size_t)(channel->key_count - 1) * (size_t)width;
                float sign = width == 4 && last[0] * channel->values[0] + last[1] * channel->values[1] +
                                                   last[2] * channel->values[2] + last[3] * channel->values[3] <
                                               0.0f
                                 ? -1.0f
                                 : 1.0f;
                for (int w = 0; w < width; w++)
                    CHECK(last[w] * sign == channel->values[w]);
                for (int32_t key = 0; width == 4 && key < channel->key_count; key++) {
                    const float *q = channel->values + (size_t)key * 4;
                    CHECK_NEAR(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1.0, 1e-5);
                }
            }
    }
}

/* Knees bend backwards, elbows forwards, in every key of every clip. */
TEST(knees_and_elbows_bend_in_the_correct_direction)
{
    const sup_character *c = make("human", 0.1);
    for (int32_t i = 0; i < c->clip_count; i++)
        for (int32_t k = 0; k < c->clips[i].channel_count; k++) {
            const sup_channel *channel = &c->clips[i].channels[k];
            const char *name = c->nodes[channel->index].name;
            if (channel->target != SUP_CHANNEL_ROTATION) continue;
            for (int32_t key = 0; key < channel->key_count; key++) {
                const float *q = channel->values + (size_t)key * 4;
                float sign = q[3] < 0.0f ? -1.0f : 1.0f;
                if (strstr(name, "lower_leg")) CHECK(q[0] * sign >= -1e-4f);
                if (strstr(name, "left_lower_arm")) CHECK((-q[0] - q[1]) * sign >= -0.2f);
            }
        }
}

/* Height of the lowest contact point of the spec. */
static double lowest_contact(const sup_scene_spec *spec, const sup_skeleton *skeleton, const sup_pose *pose)
{
    double lowest = 1e9;
    for (int32_t i = 0; i < spec->contact_count; i++) {
        int32_t j = sup_skeleton_find(skeleton, spec->contacts[i].joint);
        sup_vec3d arm = sup_v3_sub(spec->contacts[i].at, skeleton->joints[j].at);
        sup_vec3 now = sup_mat34_transform_point(pose->world[j], sup_v3_to_float(arm));
        lowest = fmin(lowest, (double)now.y);
    }
    return lowest;
}

/* In every key of a walk the lowest contact point is on the floor; both sides alternate. */
TEST(feet_stay_on_the_floor_while_walking)
{
    const char *names[] = {"human", "elephant"}, *left[] = {"left_foot", "left_hind_foot"};
    const char *right[] = {"right_foot", "right_hind_foot"};
    sup_scene_spec *spec = malloc(sizeof *spec);
    sup_skeleton *skeleton = malloc(sizeof *skeleton);
    for (int i = 0; i < 2; i++) {
        const sup_character *c = make(names[i], 0.1);
        sup_pose *pose = NULL;
        sup_error error;
        CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
        fill_spec(names[i], spec);
        sup_skeleton_build(spec, skeleton);
        const sup_clip *walk = &c->clips[sup_character_find_clip(c, "walk")];
        int32_t feet[2] = {sup_character_find_node(c, left[i]), sup_character_find_node(c, right[i])};
        double reach[2] = {0.0, 0.0};
        for (int32_t key = 0; key < walk->channels[0].key_count; key++) {
            CHECK_EQ(sup_pose_sample(c, walk, (double)walk->channels[0].times[key], pose), SUP_OK);
            CHECK_NEAR(lowest_contact(spec, skeleton, pose), 0.0, 1e-4);
            for (int k = 0; k < 2; k++)
                reach[k] = fmax(reach[k], (double)pose->world[feet[k]].m[7]);
        }
        CHECK(reach[0] > 0.18);
        CHECK_NEAR(reach[0], reach[1], 0.03);
        sup_pose_destroy(pose);
    }
    free(skeleton);
    free(spec);
}

TEST(results_do_not_depend_on_the_number_of_threads)
{
    sup_thread_pool *pool = NULL;
    sup_error error;
    CHECK_OK(sup_thread_pool_create(4, &pool, &error), error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    for (int32_t s = 0; s < sup_scene_count(); s++) {
        const sup_character *one = make(sup_scene_at(s).name, 1.0);
        sup_character *four = NULL;
        CHECK_OK(sup_scene_create(&context, sup_scene_at(s).name, 1.0, &four, &error), error);
        CHECK_EQ(one->vertex_count, four->vertex_count);
        CHECK_EQ(one->triangle_count, four->triangle_count);
        size_t vertices = (size_t)one->vertex_count, influences = (size_t)one->influence_first[vertices];
        CHECK(memcmp(one->positions, four->positions, vertices * 12) == 0);
        CHECK(memcmp(one->normals, four->normals, vertices * 12) == 0);
        CHECK(memcmp(one->triangles, four->triangles, (size_t)one->triangle_count * 12) == 0);
        CHECK(memcmp(one->influence_first, four->influence_first, (vertices + 1) * 4) == 0);
        CHECK(memcmp(one->influence_bone, four->influence_bone, influences * 4) == 0);
        CHECK(memcmp(one->influence_weight, four->influence_weight, influences * 4) == 0);
        sup_character_destroy(four);
    }
    sup_thread_pool_destroy(pool);
}

TEST(invalid_requests_are_rejected)
{
    sup_character *c = NULL;
    sup_error error;
    CHECK_EQ(sup_scene_create(NULL, "unicorn", 1.0, &c, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "scene.name");
    for (int32_t s = 0; s < sup_scene_count(); s++)
        CHECK(strstr(error.message, sup_scene_at(s).name) != NULL);
    const double bad[] = {0.0, 0.049, 20.1, -1.0, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(sup_scene_create(NULL, "human", bad[i], &c, &error), SUP_ERROR_ARGUMENT);
        CHECK_TEXT(error.id, "scene.resolution");
    }
    CHECK_EQ(sup_scene_create(NULL, NULL, 1.0, &c, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_scene_create(NULL, "human", 1.0, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK(c == NULL);
    CHECK_TEXT(sup_scene_at(-1).name, "");
    CHECK_TEXT(sup_scene_at(sup_scene_count()).name, "");
}

/* An allocator that fails after a number of calls and counts live allocations. */
typedef struct miser {
    int calls_left;
    int64_t outstanding;
} miser;

static void *limited_allocate(void *user, size_t size, size_t alignment)
{
    miser *m = user;
    if (m->calls_left-- <= 0) return NULL;
    m->outstanding += (int64_t)size;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void limited_release(void *user, void *memory, size_t size)
{
    ((miser *)user)->outstanding -= (int64_t)size;
    free(memory);
}

TEST(out_of_memory_does_not_leak)
{
    for (int calls = 0; calls < 400; calls += calls < 40 ? 1 : 23) {
        miser m = {calls, 0};
        sup_context context = {.allocator = {limited_allocate, limited_release, &m}};
        sup_character *c = NULL;
        sup_error error;
        sup_result result = sup_scene_create(&context, "tbone", 0.1, &c, &error);
        CHECK(result == SUP_OK || result == SUP_ERROR_MEMORY);
        if (result == SUP_OK) sup_character_destroy(c);
        CHECK_MSG(m.outstanding == 0, "%lld bytes left after %d calls", (long long)m.outstanding, calls);
    }
}
