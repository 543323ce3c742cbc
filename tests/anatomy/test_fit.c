/* Fits the template to a person: layers, masses, invalid input. */
#include "anatomy/layer_elements.h"
#include "anatomy/masses.h"
#include "anatomy/scale.h"
#include "anatomy/settle.h"
#include "capsule.h"
#include "math/polar.h"
#include "test.h"

static capsule man; /* too large for the stack */
static double skin[3 * CAPSULE_VERTICES];

static double enclosed(const double *positions)
{
    double sum = 0.0;
    for (int t = 0; t < CAPSULE_TRIANGLES; t++) {
        const int32_t *c = man.triangles + 3 * t;
        sum += sup_v3_dot(sup_point(positions, c[0]),
                          sup_v3_cross(sup_point(positions, c[1]), sup_point(positions, c[2])));
    }
    return sum / 6.0;
}

/* Every muscle vertex is on its line, at least 1 mm from both ends if the line is long enough; the reported values
 * agree. */
static void check_layers(const sup_body *body)
{
    const sup_anatomy *a = &body->layers;
    unsigned char flags[CAPSULE_VERTICES];
    int32_t outside = -1;
    sup_error error = {0};
    CHECK_EQ(body->crossings, 0);
    CHECK_EQ(body->inverted, 0);
    CHECK_EQ(sup_layer_inverted(a->triangle_count, a->triangles, a->skin, a->muscle, 1e-18), 0);
    CHECK_EQ(sup_layer_inverted(a->triangle_count, a->triangles, a->muscle, a->bone, 1e-18), 0);
    CHECK_OK(sup_layer_outside(NULL, a, a->skin, a->bone, flags, &outside, &error), error);
    CHECK_EQ(outside, 0);
    for (int32_t v = 0; v < a->vertex_count; v++) {
        sup_vec3d b = sup_point(a->bone, v), m = sup_point(a->muscle, v), s = sup_point(a->skin, v);
        double length = sup_v3_distance(b, s);
        CHECK_NEAR(sup_v3_distance(b, m) + sup_v3_distance(m, s), length, 1e-12);
        if (a->excluded[v]) CHECK(length == 0.0);
        if (length > 0.003) CHECK(fmin(sup_v3_distance(b, m), sup_v3_distance(m, s)) > 0.00099);
    }
}

TEST(prisms_fill_the_space_between_two_surfaces)
{
    capsule_make(&man);
    double volume = sup_layer_volume(CAPSULE_TRIANGLES, man.triangles, man.skin, man.bone);
    CHECK_NEAR(volume, enclosed(man.skin) - enclosed(man.bone), 1e-15);
    CHECK_EQ(sup_layer_inverted(CAPSULE_TRIANGLES, man.triangles, man.skin, man.muscle, 1e-18), 0);
    double inverted[3 * CAPSULE_VERTICES];
    memcpy(inverted, man.muscle, sizeof inverted);
    for (int k = 0; k < 3; k++)
        inverted[3 * 200 + k] += 3.0 * (man.skin[3 * 200 + k] - man.muscle[3 * 200 + k]);
    CHECK(sup_layer_inverted(CAPSULE_TRIANGLES, man.triangles, man.skin, inverted, 1e-18) > 2);
}

static void rotation_target(void *user, int32_t element, const double f[9], double target[9])
{
    (void)user;
    (void)element;
    sup_polar_rotation(f, target);
}

TEST(elements_reproduce_affine_maps)
{
    /* A tet, a prism and a triangle, stretched by 1.5 along x: |F - R|^2 = 0.25 each. */
    static const double rest[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.1, 1, 1.1, 0, 1.2, 0, 1.2, 1.1};
    static const int32_t points[6] = {0, 1, 2, 3, 4, 5};
    static const double weight = 2.0;
    double moved[18];
    for (int i = 0; i < 18; i++)
        moved[i] = i % 3 == 0 ? 1.5 * rest[i] + 7.0 : rest[i];
    for (int corners = 4; corners <= 6; corners += 2) {
        sup_elements *elements = NULL;
        sup_error error = {0};
        sup_elements_def def = {.unknown_count = 3,
                                .point_count = 6,
                                .count = 1,
                                .corners = corners,
                                .points = points,
                                .rest = rest,
                                .weights = &weight,
                                .target = rotation_target};
        CHECK_OK(sup_elements_create(NULL, &def, &elements, &error), error);
        CHECK_NEAR(sup_elements_energy(elements, rest), 0.0, 1e-24);
        sup_elements_set_fixed(elements, moved + 9);
        CHECK_NEAR(sup_elements_energy(elements, moved), weight * 0.25, 1e-12);
        /* The term's gradient, A^T A x - A^T b, equals half the gradient of the energy, by finite differences. */
        sup_fit_term term = sup_elements_term(elements);
        double side[9] = {0}, product[9], h = 1e-6;
        term.project(term.user, moved, side);
        sup_csr_multiply(term.matrix, 3, moved, product);
        for (int i = 0; i < 9; i++) {
            double there[18], up, down;
            memcpy(there, moved, sizeof there);
            there[i] += h;
            up = sup_elements_energy(elements, there);
            there[i] -= 2.0 * h;
            down = sup_elements_energy(elements, there);
            CHECK_NEAR(product[i] - side[i], (up - down) / (4.0 * h), 1e-7);
        }
        sup_elements_destroy(elements);
    }
}

TEST(template_stretches_only_along_its_bones)
{
    double s[3 * CAPSULE_VERTICES], m[3 * CAPSULE_VERTICES], b[3 * CAPSULE_VERTICES], joints[9], scale = 0.0;
    sup_error error = {0};
    capsule_make(&man);
    capsule_skin(&man, 1.0, 1.2, 1.0, skin);
    sup_shape from = {CAPSULE_VERTICES, CAPSULE_TRIANGLES, man.skin, man.triangles};
    CHECK_OK(sup_points_follow(NULL, from, skin, 3, man.joints, joints, &error), error);
    for (int j = 0; j < 3; j++)
        CHECK_NEAR(joints[3 * j + 1], 1.2 * man.joints[3 * j + 1], 1e-6);
    CHECK_OK(sup_anatomy_stretch(NULL, &man.anatomy, 1.2 * 1.7, joints, s, m, b, &scale, &error), error);
    CHECK_NEAR(scale, 1.1, 1e-9); /* 20 % taller: 10 % thicker */
    int middle = 12 * CAPSULE_SIDES;
    double template_radius = hypot(man.bone[3 * middle], man.bone[3 * middle + 2]),
           after = hypot(b[3 * middle], b[3 * middle + 2]);
    CHECK_NEAR(after / template_radius, 1.1, 1e-6);
    CHECK_NEAR(b[3 * middle + 1], 1.2 * man.bone[3 * middle + 1], 2e-3);
}

TEST(fit_to_the_template_skin_keeps_the_template)
{
    sup_error error = {0};
    sup_body *body = NULL;
    capsule_make(&man);
    sup_body_fit_def def = {.skin = man.skin, .name = "same"};
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), error);
    check_layers(body);
    CHECK_NEAR(body->scale, 1.0, 1e-12);
    double farthest = 0.0;
    for (int v = 0; v < CAPSULE_VERTICES; v++)
        if (man.skin[3 * v + 1] < 1.2) {
            farthest = fmax(farthest, sup_v3_distance(sup_point(body->layers.bone, v), sup_point(man.bone, v)));
            farthest = fmax(farthest, sup_v3_distance(sup_point(body->layers.muscle, v), sup_point(man.muscle, v)));
        }
    CHECK_MSG(farthest < 0.003, "layers moved by %g m", farthest);
    for (int i = 0; i < 24; i++)
        CHECK_NEAR(body->layers.detail[i], man.detail[i], 0.003);
    CHECK_TEXT(body->name, "same");
    sup_body_destroy(body);
}

TEST(fit_reaches_target_masses)
{
    sup_error error = {0};
    sup_body *body = NULL, *other = NULL;
    capsule_make(&man);
    capsule_skin(&man, 1.25, 1.05, 1.3, skin);
    sup_body_fit_def def = {.skin = skin, .no_details = true};
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), error);
    check_layers(body);
    sup_body_masses range = body->masses;
    sup_body_destroy(body);
    CHECK(range.fat_min < range.fat && range.fat < range.fat_max);
    CHECK(range.muscle_min < range.muscle && range.muscle < range.muscle_max);
    CHECK(range.visceral > 0.05); /* the belly bulges */
    CHECK(range.crotch > 0.0 && range.skin > 0.0 && range.missing > 4.0);

    /* Both masses are in range, but no muscle surface has both: eq. 4.14 gives the compromise. The skeleton surface
     * moves first, towards both. */
    def.fat = range.fat_min + 0.5 * (range.fat_max - range.fat_min);
    def.muscle = range.muscle_min + 0.7 * (range.muscle_max - range.muscle_min);
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), error);
    check_layers(body);
    const sup_body_masses *m = &body->masses;
    CHECK(!m->clamped);
    double best = sup_masses_best_fat_layer(m, 1e-3 * (m->fat_layer + m->muscle_layer), body->height);
    CHECK_NEAR(0.9 * m->fat_layer, best, 0.005 * best);
    /* with the fat of head, hands and toes, and of the marrow */
    double marrow = 0.35 * body->height * body->height;
    CHECK_NEAR(m->fat, 0.9 / 0.92 * m->fat_layer + m->visceral - m->skin - m->crotch + marrow, 1e-9);
    CHECK_NEAR(m->muscle, 1.1 * m->muscle_layer - m->abdomen + m->missing, 1e-9);

    /* A single target is reached; a target beyond the range is clamped and reported. */
    def.muscle = 0.0;
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &other, &error), error);
    CHECK_NEAR(other->masses.fat, def.fat, 0.005 * def.fat);
    sup_body_destroy(other);
    def.fat = 300.0;
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &other, &error), error);
    CHECK(other->masses.clamped);
    CHECK_NEAR(other->masses.fat, range.fat_max, 0.01 * range.fat_max);
    sup_body_destroy(other);
    sup_body_destroy(body);
}

TEST(fit_of_a_thin_skin_has_no_crossings)
{
    /* Narrower than the bones, with a dent: unfitted bones would protrude. Two threads give the same bits as one. */
    sup_error error = {0};
    sup_thread_pool *pool = NULL;
    sup_body *body = NULL, *again = NULL;
    capsule_make(&man);
    capsule_skin(&man, 0.38, 0.95, 0.5, skin);
    for (int v = 0; v < CAPSULE_VERTICES; v++)
        if (fabs(skin[3 * v + 1] - 0.8) < 0.1) skin[3 * v + 2] *= 0.5;
    sup_body_fit_def def = {.skin = skin, .fat = 2.0, .muscle = 3.0};
    CHECK_OK(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), error);
    check_layers(body);
    CHECK_OK(sup_thread_pool_create(2, &pool, &error), error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    CHECK_OK(sup_body_fit(&context, &man.anatomy, &def, &again, &error), error);
    size_t size = 3 * CAPSULE_VERTICES * sizeof(double);
    CHECK(memcmp(body->layers.bone, again->layers.bone, size) == 0);
    CHECK(memcmp(body->layers.muscle, again->layers.muscle, size) == 0);
    CHECK(memcmp(body->layers.detail, again->layers.detail, sizeof man.detail) == 0);
    sup_body_destroy(again);
    sup_body_destroy(body);
    sup_thread_pool_destroy(pool);
}

static bool stop(void *user, float fraction, const char *stage)
{
    (void)user;
    (void)stage;
    return fraction < 0.4F;
}

TEST(fit_refuses_invalid_skins)
{
    sup_error error = {0};
    sup_body *body = NULL;
    capsule_make(&man);
    capsule_skin(&man, -1.0, 1.0, 1.0, skin);
    sup_body_fit_def def = {.skin = skin};
    CHECK_EQ(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.inside_out");
    capsule_skin(&man, 1.0, 100.0, 1.0, skin);
    CHECK_EQ(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.height");
    skin[77] = NAN;
    CHECK_EQ(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.finite");
    def.skin = man.skin;
    def.fat = INFINITY;
    CHECK_EQ(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), SUP_ERROR_ARGUMENT);
    def.fat = 0.0;
    def.progress = stop;
    CHECK_EQ(sup_body_fit(NULL, &man.anatomy, &def, &body, &error), SUP_ERROR_CANCELLED);
    CHECK(body == NULL);
}
