/* The output between the tracked skin and dual quaternions, and cuts: skin and restart in the same pose agree. */
#include "geometry/adjacency.h"
#include "math/vec3.h"
#include "methods/implicit/track_blend.h"
#include "supple/supple.h"
#include "test.h"
#include "tube.h"

/* A bent tube with the triangles of its tracked skin, and the skin by dual quaternions. */
typedef struct bent {
    tube tube;
    sup_context context;
    sup_track_mesh mesh;
    int32_t *triangles, *twin, *clusters;
    float *thickness, *margin, *skinned, *output;
    void *scratch;
} bent;

static void bent_open(bent *b)
{
    tube *t = &b->tube;
    sup_error error;
    tube_open(t, 48, 20, 0.1f);
    tube_bend_in(t, 0.6, 12);
    b->context = sup_context_resolve(NULL);
    const size_t vertices = (size_t)t->vertex_count, corners = 3 * (size_t)t->triangle_count;
    b->triangles = malloc(corners * sizeof *b->triangles);
    b->twin = malloc(corners * sizeof *b->twin);
    b->clusters = malloc((size_t)t->track.cluster_count * sizeof *b->clusters);
    b->thickness = malloc(vertices * sizeof *b->thickness);
    b->margin = malloc(vertices * sizeof *b->margin);
    b->skinned = calloc(4 * vertices, sizeof *b->skinned);
    b->output = malloc(4 * vertices * sizeof *b->output);
    for (size_t i = 0; i < corners; i++)
        b->triangles[i] = t->built.tracked[t->triangles[i]];
    sup_adjacency adjacency;
    CHECK_OK(sup_adjacency_create(&b->context.allocator, t->vertex_count, t->triangle_count, b->triangles, &adjacency,
                                  &error),
             error);
    memcpy(b->twin, adjacency.half_twin, corners * sizeof *b->twin);
    sup_adjacency_destroy(&adjacency);
    for (int32_t i = 0; i < t->track.cluster_count; i++)
        b->clusters[i] = i;
    const float *transform = sup_track_transforms(&t->track, t->state);
    for (size_t v = 0; v < vertices; v++) {
        const float *m = transform + 12 * v, *rest = t->track.rest + 4 * v;
        b->thickness[v] = 0.1f;
        b->margin[v] = 1.0f;
        for (int r = 0; r < 3; r++)
            b->skinned[4 * v + (size_t)r] =
                m[4 * r] * rest[0] + m[4 * r + 1] * rest[1] + m[4 * r + 2] * rest[2] + m[4 * r + 3];
    }
    memcpy(b->output, sup_track_positions(&t->track, t->state), 4 * vertices * sizeof *b->output);
    b->mesh = (sup_track_mesh){t->triangle_count, b->triangles, b->twin, b->thickness, b->margin};
    b->scratch = malloc(sup_track_blend_scratch_size(&t->track, &b->mesh));
}

static void bent_close(bent *b)
{
    free(b->triangles);
    free(b->twin);
    free(b->clusters);
    free(b->thickness);
    free(b->margin);
    free(b->skinned);
    free(b->output);
    free(b->scratch);
    tube_close(&b->tube);
}

static void blend(bent *b)
{
    const sup_track *track = &b->tube.track;
    sup_track_blend_begin(track, &b->mesh, b->clusters, track->cluster_count, b->scratch);
    sup_track_blend(&b->context, track, &b->mesh, b->scratch, b->skinned, sup_track_transforms(track, b->tube.state),
                    2.0f, track->cluster_count, b->output);
}

static sup_vec3d normal_of(const bent *b, const float *positions, int32_t triangle)
{
    sup_vec3d p[3];
    for (int c = 0; c < 3; c++)
        p[c] = sup_v3_load(positions + 4 * (int64_t)b->triangles[3 * triangle + c]);
    return sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0]));
}

static int32_t count_flips(const bent *b)
{
    int32_t flips = 0;
    for (int32_t t = 0; t < b->mesh.triangle_count; t++)
        flips += sup_v3_dot(normal_of(b, b->output, t), normal_of(b, b->skinned, t)) < 0.0 ? 1 : 0;
    return flips;
}

/* A vertex that lies across its neighbours turns triangles over; the blend turns them back, and leaves skin that is far
 * away as it is, bit for bit. */
TEST(blend_turns_flipped_triangles_back_locally)
{
    bent b;
    bent_open(&b);
    const sup_track *track = &b.tube.track;
    const int64_t vertex = track->vertex_count / 2;
    const double edge = (double)track->target[vertex].edge;
    float *was = malloc(4 * (size_t)track->vertex_count * sizeof *was);
    CHECK_EQ(count_flips(&b), 0);
    int64_t other = track->other[track->first[vertex]];
    for (int c = 0; c < 3; c++) /* past a neighbour */
        b.output[4 * vertex + c] += 1.6f * (b.output[4 * other + c] - b.output[4 * vertex + c]);
    CHECK(count_flips(&b) > 0);
    memcpy(was, b.output, 4 * (size_t)track->vertex_count * sizeof *was);
    blend(&b);
    CHECK_EQ(count_flips(&b), 0);
    int32_t far = 0;
    for (int64_t v = 0; v < track->vertex_count; v++) {
        if (sup_v3_distance(sup_v3_load(was + 4 * v), sup_v3_load(was + 4 * vertex)) < 12.0 * edge) continue;
        CHECK(memcmp(b.output + 4 * v, was + 4 * v, 3 * sizeof *was) == 0);
        far++;
    }
    CHECK(far > track->vertex_count / 4);
    free(was);
    bent_close(&b);
}

/* Skin beside another component is that of dual quaternions, and weights grow slowly from there. */
TEST(blend_keeps_margins_with_dual_quaternions)
{
    bent b;
    bent_open(&b);
    const sup_track *track = &b.tube.track;
    for (int32_t v = 0; v < track->vertex_count; v++)
        b.margin[v] = track->rest[4 * v] > 0.0f ? 0.0f : 1.0f;
    double most = 0.0;
    for (int64_t i = 0; i < 4 * (int64_t)track->vertex_count; i++)
        if (i % 4 < 3) most = fmax(most, (double)fabsf(b.output[i] - b.skinned[i]));
    CHECK(most > 1e-4);
    blend(&b);
    for (int64_t v = 0; v < track->vertex_count; v++)
        for (int c = 0; c < 3 && b.margin[v] <= 0.0f; c++)
            CHECK_NEAR(b.output[4 * v + c], b.skinned[4 * v + c], 1e-6);
    CHECK_EQ(count_flips(&b), 0);
    bent_close(&b);
}

/* A cut gives the skin of a restart in its pose, bit for bit; so does a step of no time after the restart. */
TEST(blend_cut_is_a_restart)
{
    sup_error error;
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    sup_instance *instance;
    double values[64];
    const sup_method *method = sup_method_find("implicit");
    sup_method_defaults(method, values);
    sup_bind_def def = {.values = values};
    CHECK_OK(sup_scene_create(NULL, "human", 0.3, &character, &error), error);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK_OK(sup_bind(NULL, method, rig, &def, &model, &error), error);
    CHECK_OK(sup_pose_create(NULL, character, &pose, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    size_t bytes = 3 * (size_t)character->vertex_count * sizeof(float);
    float *cut = malloc(bytes), *restart = malloc(bytes);
    int32_t clip = sup_character_find_clip(character, "squat");
    CHECK(clip >= 0);
    for (int i = 0; i < 3; i++) {
        sup_skin_out out = {.positions = cut};
        double time = i < 2 ? 0.03 * i : 1.4;
        sup_pose_sample(character, &character->clips[clip], time, pose);
        CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 30.0f, &out), SUP_OK);
    }
    sup_skin_out out = {.positions = restart};
    CHECK_EQ(sup_instance_reset(instance, pose), SUP_OK);
    CHECK_EQ(sup_instance_step(instance, pose, 0.0f, &out), SUP_OK);
    CHECK(memcmp(cut, restart, bytes) == 0);
    free(cut);
    free(restart);
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}
