/* Painted maps as input of a bind. */
#include "methods/skin_fixture.h"
#include "supple/model.h"
#include "test.h"

#include <math.h>

/* Stores a flag for each map, then the values of the first one. */
static sup_result keep_maps(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    (void)error;
    float *seen = sup_model_add(builder, "seen", SUP_ARRAY_FLOAT, 2 + input->rig->vertex_count);
    for (int m = 0; m < 2; m++)
        seen[m] = input->maps[m] != NULL ? 1.0f : 0.0f;
    for (int32_t v = 0; input->maps[0] != NULL && v < input->rig->vertex_count; v++)
        seen[2 + v] = input->maps[0][v];
    return SUP_OK;
}

static sup_result no_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    (void)input, (void)state, (void)out;
    return SUP_OK;
}

static const sup_map own_maps[] = {{"soft", "", 0.5f, 2.0f, 1.0f, false, ""}, {"wet", "", 0.0f, 1.0f, 0.0f, false, ""}};
static const sup_method painted = {
    .name = "painted", .maps = own_maps, .map_count = 2, .bind = keep_maps, .step = no_step};

TEST(painted_maps_are_passed_to_the_method)
{
    skin_fixture f = fixture_random(3, 20, 2, 2, 0);
    float values[20];
    for (int v = 0; v < 20; v++)
        values[v] = 0.5f + 0.05f * (float)v;
    sup_paint paint = {"soft", values};
    sup_bind_def def = {.paints = &paint, .paint_count = 1};
    sup_model *model = NULL;
    sup_error error = {0};
    CHECK_OK(sup_bind(NULL, &painted, fixture_rig(&f), &def, &model, &error), error);
    const float *seen = sup_model_array(model, "seen", SUP_ARRAY_FLOAT, 22);
    CHECK(seen != NULL && seen[0] == 1.0f && seen[1] == 0.0f && memcmp(seen + 2, values, sizeof values) == 0);
    sup_model_destroy(model);
    fixture_destroy(&f);
}

static void refuse(const sup_method *method, const sup_rig *rig, const sup_paint *paints, int32_t count, const char *id)
{
    sup_bind_def def = {.paints = paints, .paint_count = count};
    sup_model *model = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_bind(NULL, method, rig, &def, &model, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, id);
    CHECK(model == NULL);
}

TEST(invalid_paint_is_rejected)
{
    skin_fixture f = fixture_random(3, 20, 2, 2, 0);
    float good[20], high[20], missing[20];
    for (int v = 0; v < 20; v++)
        good[v] = high[v] = missing[v] = 1.0f;
    high[19] = 2.1f;
    missing[7] = NAN;
    sup_paint unknown = {"stiff", good}, above = {"soft", high}, nan = {"wet", missing}, empty = {"soft", NULL},
              nameless = {NULL, good}, twice[2] = {{"soft", good}, {"soft", good}};
    const sup_rig *rig = fixture_rig(&f);
    refuse(&painted, rig, &unknown, 1, "paint.unknown");
    refuse(&painted, rig, &nameless, 1, "paint.unknown");
    refuse(&painted, rig, &above, 1, "paint.range");
    refuse(&painted, rig, &nan, 1, "paint.range");
    refuse(&painted, rig, &empty, 1, "paint.twice");
    refuse(&painted, rig, twice, 2, "paint.twice");
    refuse(sup_method_find("linear"), rig, twice, 1, "paint.unknown");
    fixture_destroy(&f);
}
