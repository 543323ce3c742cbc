/* Growth of fat, and conversion of bodies to characters. */
#include "anatomy/layers.h"
#include "capsule.h"
#include "supple/load.h"
#include "supple/output.h"
#include "test.h"

static capsule man;
static double skin[3 * CAPSULE_VERTICES];

/* `belly` scales the depth of the front. */
static sup_body *fitted(double width, double depth, double belly)
{
    sup_error error = {0};
    sup_body *body = NULL;
    capsule_make(&man);
    capsule_skin(&man, width, 1.0, depth, skin);
    for (int v = 0; v < CAPSULE_VERTICES; v++)
        if (skin[3 * v + 2] > 0.0) skin[3 * v + 2] *= belly;
    sup_body_fit_def def = {.skin = skin};
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), error);
    return body;
}

/* Mean outward displacement of the skin, in a region or everywhere (-1). */
static double gained(const sup_body *body, const sup_body *grown, int region)
{
    double normals[3 * CAPSULE_VERTICES], sum = 0.0;
    const sup_anatomy *a = &body->layers;
    int count = 0;
    sup_surface_normals(a->vertex_count, a->triangle_count, a->triangles, a->skin, normals);
    for (int v = 0; v < a->vertex_count; v++) {
        if (a->excluded[v] || (region >= 0 && a->region[v] != region)) continue;
        sup_vec3d move = sup_v3_sub(sup_point(grown->layers.skin, v), sup_point(a->skin, v));
        sum += sup_v3_dot(move, sup_point(normals, v));
        count++;
    }
    return sum / count;
}

TEST(growth_reaches_the_target_mass)
{
    sup_body *body = fitted(1.2, 1.2, 1.0), *grown = NULL;
    static const double kilograms[3] = {1.5, 4.0, -1.0};
    sup_error error = {0};
    for (int i = 0; i < 3; i++)
        for (int by_pressure = 0; by_pressure < 2; by_pressure++) {
            sup_body_grow_def def = {.fat = kilograms[i], .pressure = by_pressure};
            CHECK_OK(sup_body_grow(NULL, body, &def, &grown, &error), error);
            CHECK_NEAR(grown->masses.fat - body->masses.fat, def.fat, 0.02 * fabs(def.fat));
            CHECK_NEAR(grown->masses.fat_target, body->masses.fat + def.fat, 1e-12);
            CHECK(!grown->masses.clamped);
            CHECK_NEAR(grown->masses.muscle, body->masses.muscle, 0.05 * body->masses.muscle);
            CHECK_EQ(grown->crossings, 0);
            CHECK_EQ(grown->inverted, 0);
            CHECK(def.fat > 0.0 ? grown->masses.visceral >= body->masses.visceral : gained(body, grown, -1) < 0.0);
            for (int v = 0; v < CAPSULE_VERTICES; v++)
                if (man.excluded[v]) CHECK(memcmp(grown->layers.skin + 3 * v, skin + 3 * v, 24) == 0);
            sup_body_destroy(grown);
        }
    sup_body_destroy(body);
}

TEST(growth_by_region_and_by_another_body)
{
    sup_body *body = fitted(1.2, 1.2, 1.0), *grown = NULL, *wide = NULL;
    sup_error error = {0};
    sup_body_grow_def def = {.fat = 1.0, .rate = {[SUP_REGION_BELLY] = 1.0}};
    CHECK_OK(sup_body_grow(NULL, body, &def, &grown, &error), error);
    double belly = gained(body, grown, SUP_REGION_BELLY), legs = gained(body, grown, SUP_REGION_LEGS);
    CHECK_MSG(belly > 4.0 * fabs(legs), "belly %g m, legs %g m", belly, legs);
    CHECK_NEAR(grown->masses.fat - body->masses.fat, 1.0, 0.02);
    sup_body_destroy(grown);

    /* Distribution of a person with a belly: the front grows more than the back, although the fat is even here. */
    wide = fitted(1.2, 1.2, 1.8);
    sup_body_grow_def like = {.fat = 1.0, .from = wide};
    CHECK_OK(sup_body_grow(NULL, body, &like, &grown, &error), error);
    double front = 0.0, back = 0.0;
    for (int v = 0; v < CAPSULE_VERTICES; v++) {
        double move = sup_v3_distance(sup_point(grown->layers.skin, v), sup_point(body->layers.skin, v));
        if (man.skin[3 * v + 2] > 0.12) front += move;
        if (man.skin[3 * v + 2] < -0.12) back += move;
    }
    CHECK_MSG(front > 1.25 * back, "front %g, back %g", front, back);
    sup_body_destroy(grown);

    /* A loss that is not possible is reported. */
    sup_body_grow_def less = {.fat = -300.0};
    CHECK_OK(sup_body_grow(NULL, body, &less, &grown, &error), error);
    CHECK(grown->masses.clamped && grown->masses.fat < body->masses.fat);
    CHECK_EQ(grown->inverted, 0);
    sup_body_destroy(grown);
    less.pressure = 2.0;
    CHECK_EQ(sup_body_grow(NULL, body, &less, &grown, &error), SUP_ERROR_ARGUMENT);
    wide->layers.triangles[0]++;
    CHECK_EQ(sup_body_grow(NULL, body, &like, &grown, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.grow.other");
    sup_body_destroy(wide);
    sup_body_destroy(body);
}

TEST(body_survives_writing_and_reading)
{
    sup_body *body = fitted(1.3, 1.25, 1.1), *again = NULL;
    sup_character *character = NULL, *loaded = NULL;
    sup_error error = {0};
    const char *path = test_temp("body.glb");
    CHECK_OK(sup_body_character(NULL, body, &character, &error), error);
    CHECK_OK(sup_character_save(NULL, character, path, &error), error);
    CHECK_OK(sup_load(NULL, path, NULL, &loaded, &error), error);
    CHECK_OK(sup_body_from_character(NULL, loaded, &again, &error), error);
    const sup_anatomy *a = &body->layers, *b = &again->layers;
    CHECK_EQ(b->vertex_count, CAPSULE_VERTICES);
    CHECK_EQ(b->organ_count, 2);
    CHECK_EQ(b->organ_is_muscle[1], 1);
    CHECK_EQ(b->organ_joint[0], 0);
    CHECK_EQ(b->sex, SUP_SEX_MALE);
    CHECK(memcmp(a->triangles, b->triangles, sizeof man.triangles) == 0);
    CHECK(memcmp(a->group, b->group, CAPSULE_VERTICES) == 0 && memcmp(a->region, b->region, CAPSULE_VERTICES) == 0);
    CHECK(memcmp(a->excluded, b->excluded, CAPSULE_VERTICES) == 0 &&
          memcmp(a->crotch, b->crotch, CAPSULE_VERTICES) == 0);
    CHECK(memcmp(a->bone_joint, b->bone_joint, sizeof man.bone_joint) == 0);
    for (int i = 0; i < 3 * CAPSULE_VERTICES; i++) {
        CHECK_NEAR(a->bone[i], b->bone[i], 1e-6);
        CHECK_NEAR(a->muscle[i], b->muscle[i], 1e-6);
    }
    for (int v = 0; v < CAPSULE_VERTICES; v++) {
        CHECK_NEAR(a->thickness[v], b->thickness[v], 6e-6);
        CHECK_NEAR(body->cavity[v], again->cavity[v], 6e-6);
    }
    for (int i = 0; i < 24; i++)
        CHECK_NEAR(a->detail[i], b->detail[i], 1e-6);
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(a->joints[i], b->joints[i], 1e-6);
    CHECK_NEAR(body->masses.fat, again->masses.fat, 1e-6);
    CHECK_NEAR(body->masses.visceral, again->masses.visceral, 1e-6);

    /* Damaged extras are refused. */
    char *extras = (char *)(uintptr_t)loaded->extras, *at = strstr(extras, "\"group\":\"");
    CHECK(at != NULL);
    sup_body *none = NULL;
    at[9] = 'x';
    CHECK_EQ(sup_body_from_character(NULL, loaded, &none, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.body.damaged");
    strstr(extras, "supple_body")[0] = 'X';
    CHECK_EQ(sup_body_from_character(NULL, loaded, &none, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.body.other");
    sup_body_destroy(again);
    sup_character_destroy(loaded);
    sup_character_destroy(character);
    sup_body_destroy(body);
}
