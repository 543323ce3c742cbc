/* Operators, their profiles and controllers. Numbers in names are those of the checklist in the issue. */
#include "test.h"

#include "methods/implicit/controllers.h"
#include "methods/implicit/operators.h"
#include "supple/operator.h"

enum { CELLS = SUP_OPERATOR_CELLS, CONTACT = 0, BULGE = 1, FINE = 150 };
static const double contact_end = 1.0 - 1.0 / 32.0;

static const float *table(int which)
{
    static float *tables;
    if (tables == NULL) {
        sup_error error = {0};
        const sup_profile profiles[2] = {sup_profile_contact(), sup_profile_bulge()};
        float *made = malloc(2 * SUP_OPERATOR_SIZE * sizeof *made);
        CHECK(made != NULL);
        CHECK_OK(sup_operators_build(NULL, profiles, 2, made, &error), error);
        tables = made;
    }
    return tables + (size_t)which * SUP_OPERATOR_SIZE;
}

static double g_at(int which, double f1, double f2, double d)
{
    double out[3];
    sup_operator_at(table(which), f1, f2, d, out);
    return out[0];
}

TEST(operator_is_symmetric_and_meets_its_boundary_conditions_7)
{
    for (int which = 0; which < 2; which++)
        for (int s = 0; s <= 8; s++)
            for (int i = 0; i <= FINE; i++) {
                double f = (double)i / FINE, d = s / 8.0;
                CHECK_NEAR(g_at(which, f, 0.0, d), f, f > 0.05 ? 1e-4 : 2e-3);
                CHECK_NEAR(g_at(which, f, 1.0, d), 1.0, 1e-6);
                for (int j = 0; j <= i; j += 3) {
                    double g = g_at(which, f, (double)j / FINE, d);
                    CHECK(g >= 0.0 && g <= 1.0 + 1e-6);
                    CHECK(g == g_at(which, (double)j / FINE, f, d));
                }
            }
}

TEST(operator_has_no_slope_across_its_axes_8)
{
    for (int which = 0; which < 2; which++)
        for (int i = 0; i <= FINE; i++) {
            double out[3], f = (double)i / FINE;
            sup_operator_at(table(which), f, 0.0, 0.7, out);
            CHECK_NEAR(out[2], 0.0, 1e-6);
            if (f > 0.05) CHECK_NEAR(out[1], 1.0, 2e-2);
        }
}

TEST(operator_derivatives_are_those_of_its_value)
{
    const double h = 1e-5;
    for (int which = 0; which < 2; which++)
        for (int i = 1; i < FINE; i++)
            for (int j = 1; j < FINE; j += 7) {
                double out[3], f1 = (i + 0.3) / FINE, f2 = (j + 0.6) / FINE, d = (double)(i % 11) / 10.0;
                if (f1 > 0.999 || f2 > 0.999) continue;
                sup_operator_at(table(which), f1, f2, d, out);
                CHECK_NEAR(out[1], (g_at(which, f1 + h, f2, d) - g_at(which, f1 - h, f2, d)) / (2.0 * h), 3e-3);
                CHECK_NEAR(out[2], (g_at(which, f1, f2 + h, d) - g_at(which, f1, f2 - h, d)) / (2.0 * h), 3e-3);
            }
}

/* A slice over the whole plane, mirrored explicitly. */
static double whole(const double *values, int a, int b)
{
    int f1 = a + b, f2 = a - b; /* in half cells */
    f1 = abs(f1);
    f2 = abs(f2);
    return values[(f1 + f2) / 2 * SUP_LATTICE_COLUMNS + abs(f1 - f2) / 2];
}

static double laplacian(const double *values, int a, int b)
{
    return whole(values, a + 1, b) + whole(values, a - 1, b) + whole(values, a, b + 1) + whole(values, a, b - 1) -
           4.0 * whole(values, a, b);
}

TEST(operator_solves_the_bilaplace_equation_9)
{
    static double values[SUP_LATTICE_SIZE];
    static unsigned char fixed[SUP_LATTICE_SIZE];
    const sup_profile profiles[2] = {sup_profile_contact(), sup_profile_bulge()};
    sup_error error = {0};
    for (int which = 0; which < 2; which++) {
        CHECK_OK(sup_operator_solve(NULL, &profiles[which], 0.75, values, fixed, &error), error);
        int free_count = 0;
        for (int a = 0; a <= 2 * CELLS; a++)
            for (int b = 0; b <= CELLS; b++) {
                if (!sup_lattice_inside(a, b)) continue;
                double value = values[a * SUP_LATTICE_COLUMNS + b];
                CHECK(value >= -1e-9 && value <= 1.0 + 1e-9);
                if (a - b >= CELLS) CHECK_MSG(value >= 0.5 - 1e-6, "g = %.9g at (%d, %d)", value, a, b);
                if (fixed[a * SUP_LATTICE_COLUMNS + b] || a + b > 2 * CELLS - 2) continue;
                double again = laplacian(values, a + 1, b) + laplacian(values, a - 1, b) + laplacian(values, a, b + 1) +
                               laplacian(values, a, b - 1) - 4.0 * laplacian(values, a, b);
                CHECK_NEAR(again, 0.0, 1e-8);
                free_count++;
            }
        CHECK(free_count > 3000);
    }
    /* Equation (2), on nodes: the line f1 = 0.5 and the contact surface. */
    CHECK_OK(sup_operator_solve(NULL, &profiles[CONTACT], 0.75, values, fixed, &error), error);
    for (int b = 0; b <= CELLS / 2; b++)
        CHECK_NEAR(values[(CELLS - b) * SUP_LATTICE_COLUMNS + b], 0.5, 1e-12);
    for (int a = CELLS; a <= CELLS + (int)(0.74 * 60); a++)
        CHECK_NEAR(values[a * SUP_LATTICE_COLUMNS], 0.5, 1e-12);
}

TEST(operator_lookups_stay_on_the_contact_surface_9)
{
    for (int s = 1; s <= 16; s++) {
        double d = s / 16.0, end = 0.5 + d * (contact_end - 0.5) - 4.0 / (2 * CELLS);
        for (double f = 0.5 + 4.0 / (2 * CELLS); f < end; f += 1e-3) {
            double out[3];
            sup_operator_at(table(CONTACT), f, f, d, out);
            CHECK_NEAR(out[0], 0.5, 5e-5);
            CHECK_NEAR(out[1] + out[2], 0.0, 5e-3);
            CHECK(g_at(CONTACT, f, f - 0.02, d) > 0.5);
        }
    }
    for (int s = 0; s <= 16; s++)
        for (int i = 0; i <= FINE; i++)
            for (int j = 0; j <= i; j += 2)
                CHECK(g_at(CONTACT, 0.5 + 0.5 * i / FINE, 0.5 + 0.5 * j / FINE, s / 16.0) > 0.5 - 1e-2);
}

TEST(operator_is_the_union_at_depth_zero_and_monotonic_in_depth_10)
{
    for (int which = 0; which < 2; which++)
        for (int i = 0; i <= FINE; i++)
            CHECK_NEAR(g_at(which, 0.5, 0.5 * i / FINE, 0.0), 0.5, 5e-4);
    for (int i = 0; i <= FINE; i++)
        for (int s = 0; s < 32; s++) {
            double f = 0.5 + 0.5 * i / FINE;
            CHECK(g_at(CONTACT, f, f, (s + 1) / 32.0) <= g_at(CONTACT, f, f, s / 32.0) + 2e-3);
        }
}

/* At a joint both fields are 0.5 on the skin: there the union must have the slope of the fields. */
TEST(operator_union_has_a_slope_at_joints)
{
    for (int which = 0; which < 2; which++)
        for (int i = -2; i <= 2; i++) {
            double out[3], f = 0.5 + 0.02 * i;
            sup_operator_at(table(which), f, f, 0.0, out);
            CHECK_NEAR(out[0], f, 1e-6);
            CHECK_NEAR(out[1] + out[2], 1.0, 1e-5);
        }
}

TEST(operator_slices_are_continuous_11)
{
    for (int which = 0; which < 2; which++)
        for (int i = 0; i <= 30; i++)
            for (int j = 0; j <= i; j++)
                for (int s = 0; s < 160; s++) {
                    double f1 = i / 30.0, f2 = j / 30.0;
                    double change = g_at(which, f1, f2, (s + 1) / 160.0) - g_at(which, f1, f2, s / 160.0);
                    CHECK_MSG(fabs(change) < 0.04, "%g at (%g, %g), %d/160", change, f1, f2, s);
                }
}

TEST(operators_are_the_same_on_any_number_of_threads)
{
    const sup_profile profile = sup_profile_contact();
    float *made = malloc(SUP_OPERATOR_SIZE * sizeof *made);
    sup_thread_pool *pool = NULL;
    sup_context context = {0};
    sup_error error = {0};
    CHECK(made != NULL);
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    context.tasks = sup_thread_pool_tasks(pool);
    CHECK_OK(sup_operators_build(&context, &profile, 1, made, &error), error);
    CHECK(memcmp(made, table(CONTACT), SUP_OPERATOR_SIZE * sizeof *made) == 0);
    sup_thread_pool_destroy(pool);
    free(made);
}

TEST(operators_can_be_sampled)
{
    enum { SIDE = 21 };
    float values[SIDE * SIDE];
    sup_error error = {0};
    CHECK_OK(sup_operator_sample(NULL, (sup_bytes){"contact", 7}, 0.5, SIDE, values, &error), error);
    for (int i = 0; i < SIDE; i++) {
        CHECK_NEAR(values[i], (double)i / (SIDE - 1), 2e-3);
        CHECK_NEAR(values[i * SIDE + 3], g_at(CONTACT, 3.0 / (SIDE - 1), (double)i / (SIDE - 1), 0.5), 1e-6);
    }
    CHECK(sup_operator_sample(NULL, (sup_bytes){"fish", 4}, 0.5, SIDE, values, &error) == SUP_ERROR_DATA);
    CHECK(sup_operator_sample(NULL, (sup_bytes){"bulge", 5}, 1.5, SIDE, values, &error) == SUP_ERROR_ARGUMENT);
    CHECK(sup_operator_sample(NULL, (sup_bytes){"bulge", 5}, 0.5, 1, values, &error) == SUP_ERROR_ARGUMENT);
    CHECK_TEXT(sup_operator_name(1), "bulge");
    CHECK(sup_operator_name(2) == NULL && sup_operator_name(-1) == NULL);
}

TEST(bulge_inflates_both_limbs_before_they_meet)
{
    sup_profile bulge = sup_profile_bulge();
    for (int s = 4; s <= 16; s += 4)
        for (int k = 0; k < SUP_PROFILE_POINTS; k++) {
            double d = s / 16.0, along = 0.5 * k / (SUP_PROFILE_POINTS - 1);
            double f1 = 0.5 + d * (bulge.points[k][0] - 0.5), f2 = along + d * (bulge.points[k][1] - along);
            CHECK_NEAR(g_at(BULGE, f1, f2, d), 0.5, 4e-3);
        }
    CHECK(g_at(BULGE, 0.46, 0.35, 1.0) > 0.505);
    CHECK(g_at(CONTACT, 0.46, 0.35, 1.0) < 0.5);
    CHECK_NEAR(g_at(BULGE, 0.7, 0.7, 1.0), 0.5, 1e-4);
}

/* --- Profiles from text --- */

static sup_result parse(const char *text, sup_profile *profile, sup_error *error)
{
    return sup_profile_parse(text, strlen(text), 1, profile, error);
}

static void check_close(const sup_profile *a, const sup_profile *b, double tolerance)
{
    for (int k = 0; k < SUP_PROFILE_POINTS; k++) {
        CHECK_NEAR(a->points[k][0], b->points[k][0], tolerance);
        CHECK_NEAR(a->points[k][1], b->points[k][1], tolerance);
    }
    CHECK_NEAR(a->contact, b->contact, tolerance);
}

TEST(profile_text_in_all_forms_is_the_same_curve)
{
    static const char *const same[] = {
        "M .5 0 L .5 .5 L .96875 .96875",
        "m.5,0v.5l.46875.46875",
        "M 0.5 0 V 0.5 L 0.96875 0.96875",
        "0.5 0\n0.5 0.5  # the corner\n\n0.96875 0.96875\n",
        "M 0 .5 H .5 L .96875 .96875",
        "M .5 0 .5 .25 .5 .5 .96875 .96875",
        "M .5 0 C .5 .1 .5 .3 .5 .5 L .96875 .96875",
        "M .5 0 Q .5 .1 .5 .2 T .5 .5 L .96875 .96875",
        "M .5 0 C .5 .05 .5 .1 .5 .2 S .5 .4 .5 .5 L .96875 .96875",
    };
    sup_profile straight = sup_profile_contact();
    for (int i = 0; i < (int)(sizeof same / sizeof same[0]); i++) {
        sup_profile profile;
        sup_error error = {0};
        CHECK_OK(parse(same[i], &profile, &error), error);
        check_close(&profile, &straight, 1e-6);
    }
}

TEST(profile_errors_name_the_position)
{
    static const char *const bad[][2] = {
        {"", "two points"},
        {"M .5 0", "two points"},
        {"L .5 0 .5 .5", "must start with M"},
        {"M .5 0\nL .5\n", "Line 3"},
        {"M .5 0 X", "M L H V C S Q T Z"},
        {"M .5 0 A 1 1 0 0 0 .5 .5", "column 8"},
        {"0.5 0 0.5", "number is missing"},
        {"0.5 0 fish", "column 7"},
        {"M .4 0 L .5 .5", "(0.4, 0)"},
        {"M .5 0 L .5 .3", "diagonal"},
        {"M .5 0 L .3 .6", "crosses"},
        {"M .5 0 L .5 .5 L .8 .5", "leaves the diagonal"},
        {"M .5 0 L .5 .5 L .4 .4", "leaves the diagonal"},
        {"M .5 0 L 1.5 .5", "square"},
        {"M .5 0 H .7 L .7 .7", "axis"},
        {"M .5 0 L .5 .5 M .6 .6", "only one M"},
        {"M .5 0 L .5 nan", "number"},
        {"M .5 0 L .5 1e400", "not a number"},
        {"M .5 0 L .05 .05", "corner"},
    };
    for (int i = 0; i < (int)(sizeof bad / sizeof bad[0]); i++) {
        sup_profile profile = {.contact = 7.0};
        sup_error error = {0};
        CHECK_MSG(parse(bad[i][0], &profile, &error) == SUP_ERROR_DATA, "\"%s\" is accepted", bad[i][0]);
        CHECK_MSG(strstr(error.message, bad[i][1]) != NULL, "\"%s\": %s", bad[i][0], error.message);
        CHECK(profile.contact == 7.0);
    }
}

TEST(drawn_profile_becomes_an_operator)
{
    sup_profile profile;
    sup_error error = {0};
    static double values[SUP_LATTICE_SIZE];
    CHECK_OK(parse("M .5 0 C .5 .2 .35 .2 .35 .35", &profile, &error), error);
    CHECK_NEAR(profile.contact, 0.35, 1e-9); /* no contact surface was drawn */
    CHECK_OK(sup_operator_solve(NULL, &profile, 1.0, values, NULL, &error), error);
    CHECK_NEAR(values[(int)(0.7 * CELLS) * SUP_LATTICE_COLUMNS], 0.5, 0.02);
    CHECK(values[(int)(1.0 * CELLS) * SUP_LATTICE_COLUMNS] > 0.6);
}

/* --- Controllers --- */

TEST(controllers_hit_their_points_and_never_leave_them_12)
{
    float curve[SUP_CONTROLLER_SIZE];
    for (int p = 0; p < SUP_CONTROLLER_PRESETS; p++) {
        const sup_controller_preset *preset = sup_controller_preset_at(p);
        CHECK(sup_controller_make(preset->points, preset->count, curve));
        for (int i = 0; i < preset->count; i++)
            CHECK_NEAR(sup_controller_at(curve, (float)(preset->points[i].angle * 3.14159265 / 180.0)),
                       preset->points[i].value, 1e-3);
        for (int k = 0; k < SUP_CONTROLLER_SIZE; k++)
            CHECK(curve[k] >= 0.0f && curve[k] <= 1.0f && (k == 0 || curve[k] >= curve[k - 1]));
    }
    CHECK(sup_controller_preset_at(-1) == NULL && sup_controller_preset_at(SUP_CONTROLLER_PRESETS) == NULL);
    const sup_controller_point jagged[] = {{0, 0}, {10, 1}, {11, 0.2}, {90, 0.2}, {100, 0.9}, {180, 0.1}};
    CHECK(sup_controller_make(jagged, 6, curve));
    for (int k = 0; k < SUP_CONTROLLER_SIZE; k++)
        CHECK(curve[k] >= 0.0f && curve[k] <= 1.0f);
    CHECK(sup_controller_at(curve, NAN) == curve[0] &&
          sup_controller_at(curve, 99.0f) == curve[SUP_CONTROLLER_SIZE - 1]);
    const sup_controller_point falling[] = {{90, 0}, {80, 1}}, wide[] = {{0, 0}, {190, 1}}, broken[] = {{0, NAN}};
    CHECK(!sup_controller_make(falling, 2, curve) && !sup_controller_make(wide, 2, curve));
    CHECK(!sup_controller_make(broken, 1, curve) && !sup_controller_make(jagged, 0, curve));
}
