/* The setup text: its effects, and the error messages for every kind of mistake. */
#include "test.h"

#include "methods/implicit/setup.h"

enum { JOINTS = 5 };

/* A spine with an arm of three joints, each bone 2 long. */
static const sup_rig *arm(void)
{
    static sup_node nodes[JOINTS];
    static char names[JOINTS][16] = {"Spine", "LeftArm", "LeftForeArm", "LeftHand", "Left Thumb"};
    static int32_t numbers[JOINTS] = {0, 1, 2, 3, 4}, parents[JOINTS] = {-1, 0, 1, 2, 3};
    static float heads[3 * JOINTS], tails[3 * JOINTS];
    static sup_character character = {.node_count = JOINTS, .nodes = nodes};
    static sup_rig rig = {.character = &character, .size = 10.0f, .joint_count = JOINTS};
    for (int j = 0; j < JOINTS; j++) {
        nodes[j].name = names[j];
        heads[3 * j] = 2.0f * (float)j;
        tails[3 * j] = 2.0f * (float)j + 2.0f;
    }
    rig.joint_node = numbers;
    rig.joint_parent = parents;
    rig.bone_head = heads;
    rig.bone_tail = tails;
    return &rig;
}

static sup_result parse(const char *text, sup_arena *arena, sup_setup **setup, sup_error *error)
{
    return sup_setup_parse(arm(), text, text != NULL ? strlen(text) : 0, arena, setup, error);
}

static sup_arena open_arena(void)
{
    sup_context context = sup_context_resolve(NULL);
    return sup_arena_create(&context.allocator);
}

TEST(setup_sets_joints_operators_controllers_and_muscles)
{
    const char *text =
        "# an arm\r\n"
        "controller soft 30:0 60:0.25 150:1   # late\r\n"
        "operator pinch M .5 0 C .5 .2 .4 .2 .4 .4 L .8 .8\r\n"
        "operator plain 0.5 0 0.5 0.5\n"
        "\n"
        "joint Left* controller finger\n"
        "joint LeftForeArm operator pinch controller soft\n"
        "joint \"Left Thumb\" operator bulge\n"
        "muscle biceps bone LeftArm along 25% offset 0 0 10% radii 40% 0.3 swell LeftForeArm 0:1 150:1.6\n"
        "muscle lump bone LeftHand radii 1 .5 .25 operator plain controller none offset 0 1 0";
    sup_arena arena = open_arena();
    sup_setup *s = NULL;
    sup_error error = {0};
    CHECK_OK(parse(text, &arena, &s, &error), error);
    CHECK_EQ(s->operator_count, 4);
    CHECK_TEXT(s->operator_names[2], "pinch");
    CHECK_NEAR(s->profiles[2].contact, 0.8, 1e-6);
    CHECK_EQ(s->controller_count, SUP_CONTROLLER_PRESETS + 1);
    CHECK_NEAR(sup_controller_at(s->controllers[SUP_CONTROLLER_PRESETS], (float)(60.0 * 3.14159265 / 180.0)), 0.25,
               2e-3);
    CHECK(s->joints[0].op == -1 && s->joints[0].controller == -1);
    CHECK_TEXT(s->controller_names[s->joints[1].controller], "finger");
    CHECK(s->joints[1].op == -1 && s->joints[2].op == 2 && s->joints[2].controller == SUP_CONTROLLER_PRESETS);
    CHECK(s->joints[4].op == SUP_OPERATOR_BULGE);
    CHECK_TEXT(s->controller_names[s->joints[4].controller], "finger");
    CHECK_EQ(s->muscle_count, 2);
    const sup_field_ellipsoid *biceps = &s->extras[0], *lump = &s->extras[1];
    CHECK_EQ(biceps->joint, 1);
    CHECK_NEAR(biceps->centre.x, 2.5, 1e-9);
    CHECK_NEAR(biceps->centre.z, 0.2, 1e-9);
    CHECK_NEAR(biceps->axis[0].x, 1.0, 1e-9);
    CHECK_NEAR(biceps->axis[1].z, 1.0, 1e-9);
    CHECK_NEAR(biceps->radius[0], 0.8, 1e-9);
    CHECK(biceps->radius[1] == 0.3 && biceps->radius[2] == 0.3);
    CHECK_EQ(s->swell_joint[0], 2);
    CHECK_NEAR(sup_controller_at(s->swell[0], 3.0f), 1.6, 1e-5);
    CHECK(lump->joint == 3 && lump->radius[2] == 0.25 && lump->centre.y == 1.0 && s->swell_joint[1] == -1);
    CHECK(s->muscle_joints[1].op == 3);
    sup_arena_destroy(&arena);
}

TEST(setup_may_be_missing_or_empty)
{
    static const char *const empty[] = {NULL, "", "\n\n", "# only words\n", "  \t \r\n"};
    for (int i = 0; i < 5; i++) {
        sup_arena arena = open_arena();
        sup_setup *s = NULL;
        sup_error error = {0};
        CHECK_OK(parse(empty[i], &arena, &s, &error), error);
        CHECK(s->operator_count == 2 && s->muscle_count == 0 && s->joints[3].op == -1);
        sup_arena_destroy(&arena);
    }
}

TEST(setup_errors_name_the_line_and_the_allowed_values)
{
    static const char *const bad[][3] = {
        {"bone x", "Line 1", "joint, muscle, controller, operator"},
        {"\n\njoint", "Line 3", "joint is missing"},
        {"joint Nose operator bulge", "\"Nose\" is not a joint", "LeftForeArm"},
        {"joint L*x operator bulge", "\"L*x\"", "LeftForeArm"},
        {"joint Spine", "has no setting", "operator NAME"},
        {"joint Spine operator fish", "\"fish\" is not known", "contact, bulge"},
        {"joint Spine operator", "needs a name", "Line 1"},
        {"joint Spine controller fish", "\"fish\" is not known", "elbow, finger"},
        {"joint Spine shape bulge", "\"shape\" is not known", "operator NAME, controller NAME"},
        {"joint \"Left Thumb operator bulge", "quote", "Line 1"},
        {"controller", "needs a name", "Line 1"},
        {"controller elbow 0:0", "\"elbow\" is already defined", "another name"},
        {"controller x", "ANGLE:VALUE", "missing"},
        {"controller x 0:0 90", "\"90\"", "ANGLE:VALUE"},
        {"controller x 0:0 9x:1", "\"9x:1\"", "ANGLE:VALUE"},
        {"controller x 0:0 190:1", "190:1", "0 to 180"},
        {"controller x 0:0 90:2", "90:2", "0 to 1"},
        {"controller x 0:0 90:nan", "90:nan", "ANGLE:VALUE"},
        {"controller x 90:0 80:1", "80:1", "above the previous one"},
        {"operator x", "Line 1", "two points"},
        {"joint * operator bulge\noperator x M .5 0 L .9", "Line 2", "column 12"},
        {"operator contact M .5 0 L .5 .5", "\"contact\" is already defined", "another name"},
        {"muscle", "needs a name", "Line 1"},
        {"muscle m", "bone JOINT", "Line 1"},
        {"muscle m bone", "joint is missing", "Line 1"},
        {"muscle m bone LeftArm", "radii A B", "Line 1"},
        {"muscle m bone LeftArm radii 1", "radii needs a number", "Line 1"},
        {"muscle m bone LeftArm radii 1 -1", "\"-1\"", "number from"},
        {"muscle m bone LeftArm radii 1 1e9", "\"1e9\"", "number from"},
        {"muscle m bone LeftArm radii 1 1 along 7", "\"7\"", "from -1 to 2"},
        {"muscle m bone LeftArm radii 1 1 offset 0 0", "offset needs a number", "Line 1"},
        {"muscle m bone LeftArm radii 1 1 swell", "joint is missing", "Line 1"},
        {"muscle m bone LeftArm radii 1 1 swell LeftHand", "ANGLE:VALUE", "Line 1"},
        {"muscle m bone LeftArm radii 1 1 swell LeftHand 0:99", "0:99", "0.1 to 10"},
        {"muscle m bone LeftArm radii 1 1 colour red", "\"colour\" is not known", "bone, radii, along"},
        {"muscle m bone LeftArm radii 1 1\nmuscle m bone LeftArm radii 1 1", "Line 2", "is already defined"},
        {"\x1b[31mred", "\"?[31mred\"", "Line 1"},
    };
    for (int i = 0; i < (int)(sizeof bad / sizeof bad[0]); i++) {
        sup_arena arena = open_arena();
        sup_setup *s = NULL;
        sup_error error = {0};
        CHECK_MSG(parse(bad[i][0], &arena, &s, &error) == SUP_ERROR_DATA, "\"%s\" is accepted", bad[i][0]);
        CHECK_MSG(strstr(error.message, bad[i][1]) != NULL, "\"%s\": %s", bad[i][0], error.message);
        CHECK_MSG(strstr(error.message, bad[i][2]) != NULL, "\"%s\": %s", bad[i][0], error.message);
        CHECK(s == NULL);
        sup_arena_destroy(&arena);
    }
}

TEST(setup_has_limits)
{
    char text[40000];
    size_t used = 0;
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "muscle m%d bone LeftArm radii 1 1\n", i);
    sup_arena arena = open_arena();
    sup_setup *s = NULL;
    sup_error error = {0};
    CHECK(parse(text, &arena, &s, &error) == SUP_ERROR_DATA);
    CHECK(strstr(error.message, "Line 65") != NULL && strstr(error.message, "too many") != NULL);
    memset(text, 'x', 300);
    memcpy(text, "controller ", 11);
    memcpy(text + 200, " 0:0", 5);
    CHECK(parse(text, &arena, &s, &error) == SUP_ERROR_DATA);
    CHECK(strstr(error.message, "longer than 63") != NULL);
    for (int i = 0; i < 200; i++)
        memcpy(text + 2 * i, "a ", 3);
    CHECK(parse(text, &arena, &s, &error) == SUP_ERROR_DATA);
    CHECK(strstr(error.message, "128 words") != NULL);
    sup_arena_destroy(&arena);
}
