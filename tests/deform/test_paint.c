/* Maps that are painted while the character is animated. */
#include "bind/model.h"
#include "supple/supple.h"
#include "test.h"

#include <math.h>

enum { MAPS = 2, FRAMES = 12 };

/* Live maps of a method, and a parameter that makes its model small. */
typedef struct live_case {
    const char *method, *size_name, *size, *map[MAPS]; /* NULL: no more */
    float value[MAPS];
} live_case;

static const live_case position_case = {"position", "tets", "300", {"soft", "stiffness"}, {0.8f, 0.2f}};
static const live_case projective_case = {"projective", "vertices", "300", {"rigid", NULL}, {0.6f, 0.0f}};

typedef struct stage {
    const live_case *live;
    sup_character *character;
    sup_rig *rig;
    float *values[MAPS];      /* the value around the elbow */
    sup_model *plain, *bound; /* without paint, with it */
    float *positions[2];
    sup_pose *pose;
} stage;

static sup_model *bind(const live_case *c, const sup_rig *rig, const sup_paint *paints, int32_t paint_count)
{
    const sup_method *method = sup_method_find(c->method);
    double values[64];
    sup_model *model = NULL;
    sup_error error;
    CHECK(method->param_count <= 64);
    sup_method_defaults(method, values);
    CHECK_OK(sup_method_set(method, values, c->size_name, c->size, &error), error);
    sup_bind_def def = {.values = values, .paints = paints, .paint_count = paint_count};
    CHECK_OK(sup_bind(NULL, method, rig, &def, &model, &error), error);
    return model;
}

static float *paint_elbow(const stage *s, int m)
{
    const sup_method *method = sup_method_find(s->live->method);
    size_t count = (size_t)s->rig->vertex_count;
    float *mask = malloc(count * sizeof *mask), *values = malloc(count * sizeof *values);
    double radius = 0.1 * (double)s->rig->size;
    int32_t map = 0;
    while (strcmp(method->maps[map].name, s->live->map[m]) != 0)
        map++;
    CHECK(method->maps[map].live);
    for (size_t v = 0; v < count; v++)
        values[v] = method->maps[map].default_value;
    sup_error error;
    CHECK_OK(sup_paint_sphere(s->rig, sup_rig_find_joint(s->rig, "lower_arm"), radius, radius, mask, &error), error);
    sup_paint_blend(s->rig->vertex_count, mask, (double)s->live->value[m], values);
    free(mask);
    return values;
}

static stage open_stage(const live_case *c)
{
    stage s = {.live = c};
    sup_paint paints[MAPS];
    sup_error error;
    int32_t count = 0;
    CHECK_OK(sup_scene_create(NULL, "arm", 0.1, &s.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, s.character, NULL, &s.rig, &error), error);
    for (; count < MAPS && c->map[count] != NULL; count++) {
        s.values[count] = paint_elbow(&s, count);
        paints[count] = (sup_paint){c->map[count], s.values[count]};
    }
    s.plain = bind(c, s.rig, NULL, 0);
    s.bound = bind(c, s.rig, paints, count);
    CHECK_OK(sup_pose_create(NULL, s.character, &s.pose, &error), error);
    for (int i = 0; i < 2; i++)
        s.positions[i] = calloc((size_t)s.rig->vertex_count * 3, sizeof(float));
    return s;
}

static void close_stage(stage *s)
{
    sup_model_destroy(s->plain);
    sup_model_destroy(s->bound);
    sup_pose_destroy(s->pose);
    sup_rig_destroy(s->rig);
    sup_character_destroy(s->character);
    for (int i = 0; i < 2; i++)
        free(s->values[i]), free(s->positions[i]);
}

static void paint(const stage *s, sup_instance *instance, bool own)
{
    sup_error error;
    for (int m = 0; m < MAPS && s->live->map[m] != NULL; m++)
        CHECK_OK(sup_instance_paint(instance, s->live->map[m], own ? NULL : s->values[m], &error), error);
}

static void to_rest(const stage *s, sup_instance *instance)
{
    CHECK_EQ(sup_pose_rest(s->character, s->pose), SUP_OK);
    CHECK_EQ(sup_instance_reset(instance, s->pose), SUP_OK);
}

/* Frames [first, end) of the bend into positions[to]. */
static void play(stage *s, sup_instance *instance, int first, int end, int to)
{
    sup_skin_out out = {.positions = s->positions[to]};
    for (int i = first; i < end; i++) {
        CHECK_EQ(sup_pose_sample(s->character, &s->character->clips[0], i / 15.0, s->pose), SUP_OK);
        CHECK_EQ(sup_instance_step(instance, s->pose, i == 0 ? 0.0f : 1.0f / 30.0f, &out), SUP_OK);
    }
}

/* Largest distance of the two skins, in sizes. */
static double apart(const stage *s)
{
    double most = 0.0;
    for (int32_t i = 0; i < 3 * s->rig->vertex_count; i++)
        most = fmax(most, fabs((double)s->positions[0][i] - (double)s->positions[1][i]));
    return most / (double)s->rig->size;
}

static void *count_allocation(void *user, size_t size, size_t alignment)
{
    ++*(int *)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory, size_t size)
{
    (void)user, (void)size;
    free(memory);
}

static void check_live_paint(const live_case *c)
{
    stage s = open_stage(c);
    int allocations = 0;
    sup_context context = {.allocator = {count_allocation, release, &allocations}};
    sup_instance *live = NULL, *other = NULL;
    sup_error error;
    CHECK_OK(sup_instance_create(&context, s.plain, NULL, &live, &error), error);
    CHECK_OK(sup_instance_create(NULL, s.plain, NULL, &other, &error), error);
    int before = allocations;
    /* Paint that is reverted before the next step has no effect: it adds no momentum. */
    play(&s, live, 0, 8, 0);
    paint(&s, live, false);
    paint(&s, live, true);
    play(&s, live, 8, FRAMES, 0);
    play(&s, other, 0, FRAMES, 1);
    CHECK_MSG(apart(&s) < 1e-5, "the maps of %s push by %g", c->method, apart(&s));
    /* Live paint has the same effect as paint at bind, and persists over a reset. */
    paint(&s, live, false);
    to_rest(&s, live);
    play(&s, live, 0, FRAMES, 0);
    CHECK_MSG(apart(&s) > 1e-3, "the maps of %s change only %g", c->method, apart(&s));
    sup_instance_destroy(other);
    CHECK_OK(sup_instance_create(NULL, s.bound, NULL, &other, &error), error);
    to_rest(&s, other);
    play(&s, other, 0, FRAMES, 1);
    CHECK_MSG(apart(&s) == 0.0, "the maps of %s: %g from paint at bind", c->method, apart(&s));
    CHECK_EQ(allocations, before);
    sup_instance_destroy(live);
    sup_instance_destroy(other);
    close_stage(&s);
}

TEST(live_paint_matches_paint_at_bind_and_adds_no_momentum)
{
    check_live_paint(&position_case);
    check_live_paint(&projective_case);
}

/* A model file whose paint has indices out of range is refused. */
static void refuse_damage(const sup_model *model, const char *array, int64_t at, int32_t value)
{
    sup_bytes bytes = sup_model_bytes(model);
    const int32_t *values = sup_model_array(model, array, SUP_ARRAY_INT32, -1);
    CHECK(values != NULL && values[at] >= 0 && at < sup_model_array_count(model, array));
    unsigned char *copy = malloc(bytes.size);
    memcpy(copy, bytes.data, bytes.size);
    memcpy(copy + ((const unsigned char *)(values + at) - (const unsigned char *)bytes.data), &value, sizeof value);
    sup_model_header header;
    memcpy(&header, copy, sizeof header);
    header.checksum = sup_model_checksum(copy, bytes.size);
    memcpy(copy, &header, sizeof header);
    sup_model *loaded = NULL;
    CHECK_EQ(sup_model_load(NULL, (sup_bytes){copy, bytes.size}, &loaded, NULL), SUP_ERROR_FORMAT);
    free(copy);
}

TEST(live_paint_wakes_a_sleeping_instance)
{
    stage s = open_stage(&position_case);
    sup_instance *instance = NULL;
    sup_error error;
    CHECK_OK(sup_instance_create(NULL, s.plain, NULL, &instance, &error), error);
    CHECK_OK(sup_instance_set(instance, "gravity", 10.0, &error), error);
    sup_skin_out out = {.positions = s.positions[0]};
    for (int i = 0; i < 90; i++)
        CHECK_EQ(sup_instance_step(instance, s.pose, 1.0f / 10.0f, &out), SUP_OK);
    memcpy(s.positions[1], s.positions[0], (size_t)s.rig->vertex_count * 12);
    CHECK_EQ(sup_instance_step(instance, s.pose, 1.0f / 30.0f, &out), SUP_OK);
    CHECK(apart(&s) == 0.0);
    CHECK_OK(sup_instance_paint(instance, "soft", s.values[0], &error), error);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sup_instance_step(instance, s.pose, 1.0f / 30.0f, &out), SUP_OK);
    CHECK_MSG(apart(&s) > 1e-4, "softer tissue sags by %g", apart(&s));
    refuse_damage(s.plain, "position.paintvertex", 0, s.rig->vertex_count);
    refuse_damage(s.plain, "position.paintvertex", 1, -1);
    sup_instance_destroy(instance);
    close_stage(&s);
}

static void refuse(sup_instance *instance, const char *map, const float *values, const char *id)
{
    sup_error error = {0};
    CHECK_EQ(sup_instance_paint(instance, map, values, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, id);
    CHECK(error.message[0] != 0);
}

TEST(paint_that_cannot_be_live_is_refused_and_changes_nothing)
{
    stage s = open_stage(&projective_case);
    size_t count = (size_t)s.rig->vertex_count;
    float *all = malloc(count * sizeof *all), *none = calloc(count, sizeof *none);
    for (size_t v = 0; v < count; v++)
        all[v] = 1.0f;
    sup_paint armour = {"rigid", all};
    sup_model *model = bind(&projective_case, s.rig, &armour, 1);
    sup_instance *other = NULL, *instance = NULL;
    sup_error error;
    CHECK_OK(sup_instance_create(NULL, model, NULL, &other, &error), error);
    refuse(other, "rigid", none, "paint.rigid");
    refuse(other, "rigid", s.values[0], "paint.rigid");
    CHECK_OK(sup_instance_paint(other, "rigid", all, &error), error);
    sup_instance_destroy(other);
    CHECK_OK(sup_instance_create(NULL, s.plain, NULL, &instance, &error), error);
    refuse(instance, "stiffness", all, "paint.bind");
    refuse(instance, "free", NULL, "paint.bind");
    refuse(instance, "soft", all, "paint.unknown");
    refuse(instance, NULL, all, "paint.null");
    refuse(NULL, "rigid", all, "paint.null");
    all[count - 1] = NAN;
    refuse(instance, "rigid", all, "paint.range");
    all[count - 1] = 1.1f;
    refuse(instance, "rigid", all, "paint.range");
    play(&s, instance, 0, 5, 0);
    CHECK_OK(sup_instance_create(NULL, s.plain, NULL, &other, &error), error);
    play(&s, other, 0, 5, 1);
    CHECK(apart(&s) == 0.0);
    refuse_damage(s.plain, "projective.paintvertex", 3, s.rig->vertex_count);
    refuse_damage(s.plain, "projective.paintvertex", 0, -1);
    sup_instance_destroy(other);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    close_stage(&s);
    free(all), free(none);
}
