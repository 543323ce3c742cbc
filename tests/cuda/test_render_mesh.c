/* test_render_mesh.c - render meshes of a crowd with tangents and with morph targets, of poses and of clips, compared
 * with the CPU. */
#include "cuda/crowd_fixture.h"

enum { PROP = 4, KEYS = 3 }; /* vertices of a pyramid that follows the last node; keys of a clip's weights */

/* Arrays of a character with a rigid prop after its own skin. */
typedef struct arrays {
    float *positions, *normals, *tangents;
    int32_t *triangles, *influence_first;
    float *offsets[2]; /* of the targets: one of the skin, one of the prop */
    sup_primitive primitives[2];
    sup_morph morphs[2];
    sup_channel *channels;
    sup_clip clip;
} arrays;

/* Any unit vector perpendicular to the normal. */
static void any_tangent(const float *n, float *t)
{
    int axis = fabsf(n[0]) < 0.6f ? 0 : 1;
    float along = n[axis], length = sqrtf(1.0f - along * along);
    for (int k = 0; k < 3; k++)
        t[k] = ((k == axis ? 1.0f : 0.0f) - along * n[k]) / length;
}

static void add_prop(const sup_character *from, arrays *a)
{
    static const float corner[PROP][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const int32_t triangle[PROP][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    size_t v = (size_t)from->vertex_count, t = (size_t)from->triangle_count;
    for (size_t i = 0; i < PROP; i++)
        for (size_t k = 0; k < 3; k++) {
            a->positions[3 * (v + i) + k] = 0.1f * corner[i][k];
            a->normals[3 * (v + i) + k] = k == i % 3 ? 1.0f : 0.0f;
            a->triangles[3 * (t + i) + k] = (int32_t)v + triangle[i][k];
        }
    a->primitives[0] = from->primitives[0];
    a->primitives[1] = (sup_primitive){.name = "prop",
                                       .node = from->node_count - 1,
                                       .mesh = 1,
                                       .skin = -1,
                                       .material = -1,
                                       .vertex_first = (int32_t)v,
                                       .vertex_count = PROP,
                                       .triangle_first = (int32_t)t,
                                       .triangle_count = PROP};
}

/* One target bulges the skin, one moves the prop; one has linear, one has cubic interpolation. */
static void add_morphs(const sup_character *from, arrays *a)
{
    static const float times[KEYS] = {0.0f, 0.3f, 0.9f}, steps[KEYS] = {1.0f, -0.5f, 0.25f},
                       cubic[3 * KEYS] = {0, 0.2f, 1, -1, 0.8f, 2, 0, -0.4f, 0};
    const sup_clip *clip = &from->clips[0];
    size_t v = (size_t)from->vertex_count;
    for (int m = 0; m < 2; m++)
        a->morphs[m] = (sup_morph){.name = m == 0 ? "bulge" : "out",
                                   .primitive = m,
                                   .weight = m,
                                   .default_weight = 0.5f,
                                   .positions = a->offsets[m],
                                   .normals = m == 0 ? a->normals + 3 : NULL}; /* those of another vertex */
    for (size_t i = 0; i < 3 * v; i++)
        a->offsets[0][i] = 0.05f * a->normals[i];
    for (size_t i = 0; i < 3 * PROP; i++)
        a->offsets[1][i] = 0.02f * (float)i;
    memcpy(a->channels, clip->channels, (size_t)clip->channel_count * sizeof *a->channels);
    a->channels[clip->channel_count] = (sup_channel){SUP_CHANNEL_MORPH, 0, SUP_INTERPOLATE_LINEAR, KEYS, times, steps};
    a->channels[clip->channel_count + 1] =
        (sup_channel){SUP_CHANNEL_MORPH, 1, SUP_INTERPOLATE_CUBIC, KEYS, times, cubic};
    a->clip = *clip;
    a->clip.channels = a->channels;
    a->clip.channel_count = clip->channel_count + 2;
}

/* The bending cylinder with tangents, a prop and morph targets on both. */
static sup_character *make_character(void)
{
    sup_character *from = NULL, *made = NULL;
    sup_error error = {0};
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.2, &from, &error), error);
    CHECK_EQ(from->primitive_count, 1);
    size_t v = (size_t)from->vertex_count, all = v + PROP;
    arrays a = {.positions = calloc(3 * all, sizeof(float)),
                .normals = calloc(3 * all, sizeof(float)),
                .tangents = calloc(4 * all, sizeof(float)),
                .triangles = calloc(3 * ((size_t)from->triangle_count + PROP), sizeof(int32_t)),
                .influence_first = calloc(all + 1, sizeof(int32_t)),
                .offsets = {calloc(3 * v, sizeof(float)), calloc(3 * PROP, sizeof(float))},
                .channels = calloc((size_t)from->clips[0].channel_count + 2, sizeof(sup_channel))};
    memcpy(a.positions, from->positions, 3 * v * sizeof(float));
    memcpy(a.normals, from->normals, 3 * v * sizeof(float));
    memcpy(a.triangles, from->triangles, 3 * (size_t)from->triangle_count * sizeof(int32_t));
    memcpy(a.influence_first, from->influence_first, (v + 1) * sizeof(int32_t));
    for (size_t i = v; i <= all; i++)
        a.influence_first[i] = from->influence_first[v];
    add_prop(from, &a);
    for (size_t i = 0; i < all; i++) {
        any_tangent(a.normals + 3 * i, a.tangents + 4 * i);
        a.tangents[4 * i + 3] = i % 2 == 0 ? 1.0f : -1.0f;
    }
    add_morphs(from, &a);
    sup_character copy = *from;
    copy.vertex_count = (int32_t)all;
    copy.triangle_count += PROP;
    copy.primitive_count = copy.morph_count = copy.morph_weight_count = 2;
    copy.clip_count = 1;
    copy.positions = a.positions, copy.normals = a.normals, copy.tangents = a.tangents;
    copy.texcoords = NULL;
    copy.triangles = a.triangles, copy.influence_first = a.influence_first;
    copy.primitives = a.primitives, copy.morphs = a.morphs, copy.clips = &a.clip;
    CHECK_OK(sup_character_create(NULL, &copy, &made, &error), error);
    free(a.positions), free(a.normals), free(a.tangents), free(a.triangles), free(a.influence_first);
    free(a.offsets[0]), free(a.offsets[1]), free(a.channels);
    sup_character_destroy(from);
    return made;
}

static fixture open_fixture(const char *method)
{
    fixture f = {0};
    sup_error error = {0};
    double values[64];
    const sup_method *m = sup_method_find(method);
    f.device = device_or_skip();
    f.character = make_character();
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    sup_method_defaults(m, values);
    if (strcmp(method, "projective") == 0) {
        CHECK_OK(sup_method_set(m, values, "vertices", "200", &error), error);
        CHECK_OK(sup_method_set(m, values, "contact", "0", &error), error);
        CHECK_OK(sup_method_set(m, values, "limits", "0", &error), error);
    }
    bind_fixture(&f, m, &(sup_bind_def){.values = values});
    return f;
}

/* Ten floats per vertex: position, normal, tangent. */
static sup_skin_out view_of(float *skin, size_t vertices)
{
    return (sup_skin_out){.positions = skin, .normals = skin + 3 * vertices, .tangents = skin + 6 * vertices};
}

/* Maximum difference of positions (in sizes), normals and tangents. */
static void compare(const fixture *f, const float *a, const float *b, double off[3])
{
    size_t v = (size_t)f->character->vertex_count, end[4] = {0, 3 * v, 6 * v, 10 * v};
    for (size_t k = 0; k < 3; k++)
        for (size_t i = end[k]; i < end[k + 1]; i++) {
            double apart = fabs((double)a[i] - (double)b[i]) / (k == 0 ? (double)f->rig->size : 1.0);
            CHECK(isfinite(b[i]));
            off[k] = fmax(off[k], apart);
        }
}

/* Compares two instances of a crowd with the CPU: the first has poses from the host, the last plays the clip. */
static void compare_frames(fixture *f, const char *method, int32_t count)
{
    sup_error error = {0};
    sup_instance *instance = NULL;
    sup_crowd *crowd = NULL;
    const sup_clip *c = &f->character->clips[0];
    size_t v = (size_t)f->character->vertex_count;
    float *cpu = calloc(10 * v, sizeof(float)), *gpu = calloc(20 * v, sizeof(float));
    sup_skin_out out = view_of(cpu, v), from_host = view_of(gpu, v), from_clip = view_of(gpu + 10 * v, v);
    sup_crowd_def def = {.instance_count = count, .character = f->character, .clip_count = 1, .clips = &c};
    double off[3] = {0};
    CHECK_EQ(sup_pose_rest(f->character, f->pose), SUP_OK);
    def.with_tangents = true;
    CHECK_OK(sup_crowd_create(f->device, f->model, &def, &crowd, &error), error);
    CHECK_OK(sup_instance_create(NULL, f->model, NULL, &instance, &error), error);
    if (count > 1) CHECK_OK(sup_crowd_play(crowd, count - 1, 0, (double)c->start, 1.0, false, &error), error);
    for (int32_t i = 0; i < 4; i++) { /* the first frame: the weights of the bind pose */
        float dt = i == 0 ? 0.0f : 1.0f / 60.0f;
        if (i == 3 && strcmp(method, "projective") != 0) { /* the only parameter of the classic methods */
            CHECK_OK(sup_instance_set(instance, "rigid", 1.0, &error), error);
            CHECK_OK(sup_crowd_set(crowd, -1, "rigid", 1.0, &error), error);
        }
        if (i > 0) {
            sup_pose_sample(f->character, c, (double)c->start + i / 60.0, f->pose);
            CHECK_OK(sup_crowd_pose(crowd, 0, f->pose, &error), error);
        }
        CHECK_EQ(sup_instance_step(instance, f->pose, dt, &out), SUP_OK);
        CHECK_OK(sup_crowd_step(crowd, dt, NULL, &error), error);
        CHECK_OK(sup_crowd_read(crowd, 0, &from_host, &error), error);
        compare(f, cpu, gpu, off);
        if (i == 0 || count == 1) continue;
        CHECK_OK(sup_crowd_read(crowd, count - 1, &from_clip, &error), error);
        compare(f, cpu, gpu + 10 * v, off);
    }
    /* In crowds normals of the simulated skin are quantised to ten bits. */
    bool packed = count > 2 && strcmp(method, "projective") == 0;
    CHECK_MSG(off[0] < 4e-6 && off[1] < (packed ? 3e-3 : 1e-5) && off[2] < (packed ? 3e-3 : 1e-5),
              "%s, %d at a time: positions %g, normals %g, tangents %g", method, (int)count, off[0], off[1], off[2]);
    sup_instance_destroy(instance);
    sup_crowd_destroy(crowd);
    free(cpu), free(gpu);
}

TEST(morphs_and_tangents_match_the_cpu)
{
    static const char *const methods[] = {"linear", "dualquat", "projective"};
    for (int32_t m = 0; m < 3; m++) {
        fixture f = open_fixture(methods[m]);
        compare_frames(&f, methods[m], 1);
        compare_frames(&f, methods[m], 3);
        close_fixture(&f);
    }
}

TEST(inconsistent_morphs_and_tangents_are_refused)
{
    fixture f = open_fixture("linear");
    sup_error error = {0};
    sup_crowd *crowd = NULL;
    float one[4];
    sup_crowd_def def = {.with_tangents = true, .no_normals = true};
    CHECK_EQ(sup_crowd_create(f.device, f.model, &def, &crowd, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "crowd.tangents");
    def = (sup_crowd_def){.with_tangents = true, .tangent_stride = 16};
    CHECK_EQ(sup_crowd_create(f.device, f.model, &def, &crowd, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "crowd.output");
    CHECK_OK(sup_crowd_create(f.device, f.model, NULL, &crowd, &error), error);
    CHECK(sup_crowd_tangents(crowd) == NULL);
    CHECK_EQ(sup_crowd_read(crowd, 0, &(sup_skin_out){.tangents = one}, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "crowd.read");
    f.pose->morph_weights[1] = NAN;
    CHECK_EQ(sup_crowd_pose(crowd, 0, f.pose, &error), SUP_ERROR_DATA);
    f.pose->morph_weight_count = 1;
    CHECK_EQ(sup_crowd_pose(crowd, 0, f.pose, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "crowd.pose");
    sup_crowd_destroy(crowd);
    close_fixture(&f);
}
