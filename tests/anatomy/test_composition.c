/* test_composition.c - shape space, regressors, file format, and the model with its derivatives. */
#include "anatomy/body_model.h"
#include "anatomy/people.h"
#include "base/base.h"
#include "linalg/small_dense.h"

#include "scene.h"
#include "test.h"

TEST(labels_are_the_published_formulas)
{
    sup_person man = {.sex = SUP_SEX_MALE, .age = 30, .height = 2.0, .weight = 100.0}; /* BMI 25 */
    sup_person woman = {.sex = SUP_SEX_FEMALE, .age = 40, .height = 1.6, .weight = 64.0, .asian = 1.0};
    double fat = 0.0, muscle = 0.0;
    sup_person_label(&man, &fat, &muscle);
    CHECK_NEAR(fat, 20.7, 1e-9); /* 20.7 % of 100 kg */
    CHECK_NEAR(muscle, 24.4 + 15.6 + 6.6 - 2.94 - 3.3, 1e-9);
    sup_person_label(&woman, &fat, &muscle);
    CHECK_NEAR(fat, 0.64 * (30.0 + 9.2 - 5.4), 1e-9);
    CHECK_NEAR(muscle, 0.244 * 64.0 + 7.8 * 1.6 - 3.92 - 1.2 - 3.3, 1e-9);
    man.fat = 11.0, man.muscle = 33.0; /* measured: unchanged */
    sup_person_label(&man, &fat, &muscle);
    CHECK_NEAR(fat, 11.0, 0.0);
    CHECK_NEAR(muscle, 33.0, 0.0);
}

TEST(modes_are_orthonormal_and_span_the_bodies)
{
    const sup_shapes *s = people_shapes();
    const sup_composition *c = people_composition();
    size_t width = 3 * (size_t)c->vertex_count, joints = 3 * (size_t)c->joint_count;
    CHECK_EQ(c->mode_count, PEOPLE_MODES); /* no more modes than the bodies have */
    for (int32_t a = 0; a < c->mode_count; a++)
        for (int32_t b = 0; b <= a; b++) {
            double sum = 0.0;
            for (size_t i = 0; i < width; i++)
                sum += c->modes[(size_t)a * width + i] * c->modes[(size_t)b * width + i];
            CHECK_NEAR(sum, a == b ? 1.0 : 0.0, 1e-9);
        }
    double worst = 0.0, worst_joint = 0.0;
    for (size_t body = 0; body < PEOPLE_BODIES; body++) {
        double coordinates[PEOPLE_MODES] = {0};
        for (size_t k = 0; k < PEOPLE_MODES; k++)
            for (size_t i = 0; i < width; i++)
                coordinates[k] += c->modes[k * width + i] * ((double)s->positions[body * width + i] - c->mean[i]);
        for (size_t i = 0; i < width; i++) {
            double x = c->mean[i];
            for (size_t k = 0; k < PEOPLE_MODES; k++)
                x += coordinates[k] * c->modes[k * width + i];
            worst = fmax(worst, fabs(x - (double)s->positions[body * width + i]));
        }
        for (size_t i = 0; i < joints; i++) {
            double x = c->joint_mean[i];
            for (size_t k = 0; k < PEOPLE_MODES; k++)
                x += coordinates[k] * c->joint_modes[k * joints + i];
            worst_joint = fmax(worst_joint, fabs(x - (double)s->joints[body * joints + i]));
        }
    }
    CHECK_NEAR(worst, 0.0, 1e-5);
    CHECK_NEAR(worst_joint, 0.0, 1e-5);
}

TEST(masses_are_predicted_from_a_skin)
{
    const sup_shapes *s = people_shapes();
    const sup_composition *c = people_composition();
    size_t width = 3 * (size_t)c->vertex_count;
    double *skin = calloc(width, sizeof *skin), coordinates[PEOPLE_MODES], fat = 0.0, muscle = 0.0;
    sup_error error = {0};
    for (size_t b = 0; b < 3; b++) {
        for (size_t i = 0; i < width; i++)
            /* excluded vertices are ignored */
            skin[i] = (double)s->positions[b * width + i] + (c->excluded[i / 3] != 0 ? 0.3 : 0.0);
        CHECK_OK(sup_composition_coordinates(NULL, c, skin, coordinates, &error), error);
        sup_composition_masses(c, coordinates, SUP_SEX_UNKNOWN, &fat, &muscle);
        CHECK_NEAR(fat, s->persons[b].fat, 0.2);
        CHECK_NEAR(muscle, s->persons[b].muscle, 0.2);
    }
    free(skin);
    int32_t excluded = 0;
    for (int32_t v = 0; v < c->vertex_count; v++)
        excluded += c->excluded[v];
    CHECK(excluded > c->vertex_count / 20 && excluded < c->vertex_count / 2);
}

/* Predicts each body from a least squares fit without it. */
TEST(leave_one_out_equals_refitting_without_the_body)
{
    const sup_shapes *s = people_shapes();
    sup_train_report report;
    sup_person noisy[PEOPLE_BODIES];
    sup_shapes other = *s;
    sup_composition *c = NULL;
    sup_error error = {0};
    sup_random random = {3};
    memcpy(noisy, s->persons, sizeof noisy);
    for (int b = 0; b < PEOPLE_BODIES; b++)
        noisy[b].fat += 6.0 * sup_random_unit(&random);
    other.persons = noisy;
    CHECK_OK(sup_composition_train(NULL, &other, NULL, &c, &report, &error), error);
    enum { N = PEOPLE_MODES + 1 };
    size_t width = 3 * (size_t)c->vertex_count;
    double *skin = calloc(width, sizeof *skin), rows[PEOPLE_BODIES][N], wrong = 0.0;
    for (size_t b = 0; b < PEOPLE_BODIES; b++) {
        for (size_t i = 0; i < width; i++)
            skin[i] = (double)s->positions[b * width + i];
        rows[b][0] = 1.0;
        CHECK_OK(sup_composition_coordinates(NULL, c, skin, rows[b] + 1, &error), error);
    }
    for (int left = 0; left < PEOPLE_BODIES; left++) {
        double matrix[N * N] = {0}, x[N] = {0}, predicted = 0.0;
        for (int b = 0; b < PEOPLE_BODIES; b++)
            for (int i = 0; b != left && i < N; i++) {
                x[i] += rows[b][i] * noisy[b].fat;
                for (int j = 0; j < N; j++)
                    matrix[i * N + j] += rows[b][i] * rows[b][j];
            }
        CHECK(sup_dense_cholesky(N, matrix));
        sup_dense_cholesky_solve(N, matrix, x);
        for (int i = 0; i < N; i++)
            predicted += x[i] * rows[left][i];
        wrong += fabs(predicted - noisy[left].fat) / PEOPLE_BODIES;
    }
    CHECK_NEAR(report.fat[SUP_SEX_UNKNOWN].mean_error, wrong, 1e-4);
    CHECK(wrong > 0.5);
    CHECK(report.fat[SUP_SEX_FEMALE].count == PEOPLE_BODIES / 2 && report.labelled == 0);
    free(skin);
    sup_composition_destroy(c);
}

TEST(composition_survives_writing_and_reading)
{
    const sup_composition *c = people_composition();
    sup_composition *again = NULL;
    sup_bytes bytes = {0};
    sup_error error = {0};
    CHECK_OK(sup_composition_write(NULL, c, &bytes, &error), error);
    CHECK_OK(sup_composition_read(NULL, bytes, &again, &error), error);
    CHECK_EQ(again->mode_count, c->mode_count);
    CHECK(memcmp(again->modes, c->modes, (size_t)c->mode_count * 3 * (size_t)c->vertex_count * sizeof(double)) == 0);
    CHECK(memcmp(again->fat_slope, c->fat_slope, 3 * (size_t)c->mode_count * sizeof(double)) == 0);
    CHECK_TEXT(again->joint_names[1], c->joint_names[1]);
    sup_composition_destroy(again);
    again = NULL;
    unsigned char *corrupted = malloc(bytes.size);
    memcpy(corrupted, bytes.data, bytes.size);
    corrupted[bytes.size / 2] ^= 4;
    CHECK(sup_composition_read(NULL, (sup_bytes){corrupted, bytes.size}, &again, &error) != SUP_OK);
    CHECK(sup_composition_read(NULL, (sup_bytes){corrupted, 100}, &again, &error) != SUP_OK);
    CHECK(again == NULL && error.id[0] != '\0');
    free(corrupted);
    sup_composition_bytes_free(NULL, &bytes);
}

TEST(reading_a_composition_handles_failed_allocations)
{
    sup_bytes bytes = {0};
    sup_error error = {0};
    sup_result result = SUP_ERROR_MEMORY;
    CHECK_OK(sup_composition_write(NULL, people_composition(), &bytes, &error), error);
    for (int at = 0; result != SUP_OK; at++) {
        failing_allocator counter = {.fail_at = at};
        sup_context context = test_failing_context(&counter);
        sup_composition *c = NULL;
        result = sup_composition_read(&context, bytes, &c, &error);
        CHECK_MSG(result == SUP_OK || (result == SUP_ERROR_MEMORY && c == NULL), "allocation %d", at);
        sup_composition_destroy(c);
        CHECK_EQ(counter.open, 0);
        CHECK(at < 200);
    }
    sup_composition_bytes_free(NULL, &bytes);
}

TEST(bad_shapes_are_refused)
{
    sup_composition *c = NULL;
    sup_error error = {0};
    sup_shapes few = *people_shapes(), same = few, bad_root = few, wrong_unit = few;
    few.body_count = 2;
    CHECK_EQ(sup_composition_train(NULL, &few, NULL, &c, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.shapes.empty");
    size_t width = 3 * (size_t)same.vertex_count;
    float *copies = calloc(3 * width, sizeof *copies);
    same.body_count = 3;
    same.positions = copies;
    CHECK_EQ(sup_composition_train(NULL, &same, NULL, &c, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.shapes.same");
    copies[5] = NAN;
    CHECK_EQ(sup_composition_train(NULL, &same, NULL, &c, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.shapes.finite");
    free(copies);
    int32_t *parents = calloc((size_t)bad_root.joint_count, sizeof *parents);
    bad_root.parents = parents; /* the root is its own parent */
    CHECK_EQ(sup_composition_train(NULL, &bad_root, NULL, &c, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.shapes.joints");
    free(parents);
    sup_shapes folded = *people_shapes();
    int32_t *corners = calloc(3 * (size_t)folded.triangle_count, sizeof *corners);
    folded.triangles = corners; /* all corners of all triangles are vertex 0 */
    CHECK_EQ(sup_composition_train(NULL, &folded, NULL, &c, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.shapes.triangles");
    free(corners);
    sup_person persons[PEOPLE_BODIES];
    memcpy(persons, wrong_unit.persons, sizeof persons);
    persons[4].height = 170.0; /* centimetres */
    wrong_unit.persons = persons;
    CHECK_EQ(sup_composition_train(NULL, &wrong_unit, NULL, &c, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.shapes.person");
    CHECK(c == NULL);
}

/* --- The model --- */

static void random_state(const sup_composition *c, uint64_t seed, double angle_range, sup_body_state *s)
{
    sup_random random = {seed};
    for (int i = 0; i < 8; i++)
        sup_random_u32(&random);
    for (int32_t k = 0; k < c->mode_count; k++)
        s->coefficients[k] = c->deviation[k] * (2.0 * sup_random_unit(&random) - 1.0);
    for (int32_t j = 0; j < c->joint_count; j++) {
        sup_vec3d axis =
            sup_v3(sup_random_unit(&random) - 0.5, sup_random_unit(&random) - 0.5, sup_random_unit(&random) - 0.5);
        s->local[j] = sup_quatd_from_axis_angle(axis, angle_range * sup_random_unit(&random));
    }
    s->translation = sup_v3(0.3, -0.2, 0.1);
    s->log_scale = 0.1;
    sup_body_state_update(c, s);
}

TEST(model_derivatives_equal_finite_differences)
{
    const sup_composition *c = people_composition();
    sup_context plain = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&plain.allocator);
    sup_body_model model;
    sup_body_state s, moved;
    sup_error error = {0};
    CHECK_OK(sup_body_model_make(NULL, c, 0, &arena, &model, &error), error);
    CHECK(sup_body_state_make(c, &arena, &s) && sup_body_state_make(c, &arena, &moved));
    random_state(c, 9, 0.5, &s);
    int32_t n = sup_body_parameters(c), joints[256];
    size_t values = 3 * (size_t)c->vertex_count;
    double *row = sup_arena_alloc(&arena, (size_t)n, sizeof *row),
           *step = sup_arena_alloc(&arena, (size_t)n, sizeof *step);
    double *from = sup_arena_alloc(&arena, values, sizeof *from), *to = sup_arena_alloc(&arena, values, sizeof *to);
    const double small = 1e-6, d[3] = {0.48, -0.6, 0.64};
    int32_t hand = c->joint_count - 1;
    double worst = 0.0;
    sup_body_skin(&plain, &model, &s, from, NULL);
    for (int32_t p = 0; p < n; p++) {
        memset(step, 0, (size_t)n * sizeof *step);
        step[p] = small;
        sup_body_state_copy(c, &s, &moved);
        sup_body_step(c, &moved, step);
        sup_body_skin(&plain, &model, &moved, to, NULL);
        for (int32_t v = 3; v < c->vertex_count; v += c->vertex_count / 9) {
            sup_body_derivative(&model, &s, v, sup_v3(d[0], d[1], d[2]), row, joints);
            double difference = 0.0;
            for (size_t k = 0; k < 3; k++)
                difference += d[k] * (to[3 * (size_t)v + k] - from[3 * (size_t)v + k]) / small;
            worst = fmax(worst, fabs(difference - row[p]));
        }
        sup_body_joint_derivative(c, &s, hand, sup_v3(d[0], d[1], d[2]), row, joints);
        sup_vec3d moved_by = sup_v3_sub(sup_body_joint(&moved, hand), sup_body_joint(&s, hand));
        worst = fmax(worst, fabs(sup_v3_dot(moved_by, sup_v3(d[0], d[1], d[2])) / small - row[p]));
    }
    CHECK_NEAR(worst, 0.0, 2e-5);
    sup_arena_destroy(&arena);
}

/* A body is posed like a known pose: joints coincide, and the skin is close to linear blending. */
TEST(skin_is_posed_like_other_joints)
{
    const sup_composition *c = people_composition();
    sup_context plain = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&plain.allocator);
    sup_body_model model;
    sup_body_state s;
    sup_error error = {0};
    size_t values = 3 * (size_t)c->vertex_count, joint_values = 3 * (size_t)c->joint_count;
    double *posed = sup_arena_alloc(&arena, values, sizeof *posed), *out = sup_arena_alloc(&arena, values, sizeof *out);
    double *like = sup_arena_alloc(&arena, joint_values, sizeof *like),
           *at = sup_arena_alloc(&arena, joint_values, sizeof *at);
    CHECK_OK(sup_body_model_make(NULL, c, 0, &arena, &model, &error), error);
    CHECK(sup_body_state_make(c, &arena, &s));
    CHECK_OK(sup_pose_like(NULL, c, c->mean, c->joint_mean, c->joint_mean, out, at, &error), error);
    for (size_t i = 0; i < values; i++)
        CHECK_NEAR(out[i], c->mean[i], 1e-6);
    for (int32_t j = 1; j < c->joint_count; j++) /* about one axis, without twist along the arms */
        s.local[j] = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), 0.1 * (double)(j % 3) - 0.1);
    sup_body_state_update(c, &s);
    sup_body_skin(&plain, &model, &s, posed, NULL);
    for (int32_t j = 0; j < c->joint_count; j++) {
        sup_vec3d x = sup_body_joint(&s, j);
        like[3 * j] = x.x, like[3 * j + 1] = x.y, like[3 * j + 2] = x.z;
    }
    CHECK_OK(sup_pose_like(NULL, c, c->mean, c->joint_mean, like, out, at, &error), error);
    double mean = 0.0;
    for (int32_t j = 0; j < c->joint_count; j++) {
        sup_vec3d x = sup_v3(at[3 * j], at[3 * j + 1], at[3 * j + 2]);
        CHECK_NEAR(sup_v3_distance(x, sup_body_joint(&s, j)), 0.0, 0.02);
    }
    for (size_t i = 0; i < values; i++)
        mean += fabs(out[i] - posed[i]) / (double)values;
    CHECK_NEAR(mean, 0.0, 0.006);
    CHECK(fabs(posed[4] - c->mean[4]) + mean > 0.0);
    sup_arena_destroy(&arena);
}
