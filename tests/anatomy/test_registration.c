/* test_registration.c - registers bodies of the shape space after posing, rotating and corrupting them; and
 * refusals. */
#include "anatomy/body_model.h"
#include "anatomy/joint_roles.h"
#include "anatomy/people.h"
#include "anatomy/scan.h"
#include "anatomy/shapes.h"
#include "base/base.h"

#include "test.h"

/* A person as a scanner would deliver it, and the ground truth. */
typedef struct scanned {
    sup_arena arena;
    double *truth;     /* [vertex_count*3] metres, the scan's axes */
    double *positions; /* scan units */
    int32_t *triangles;
    sup_shape shape;
    sup_vec3d end; /* position of the last joint, scan units */
} scanned;

typedef struct scan_spec {
    uint64_t seed;
    double bend, noise, hole, unit; /* radians, metres, metres, metres per unit */
    sup_vec3d axis;
    double angle; /* rotation of the whole body */
    bool inside_out, cloud;
    const char *without; /* joint below which everything is cut off */
} scan_spec;

static double signed_unit(sup_random *random)
{
    return 2.0 * sup_random_unit(random) - 1.0;
}

static void pose_person(const sup_composition *c, const scan_spec *spec, sup_random *random, sup_body_state *s)
{
    for (int32_t k = 0; k < c->mode_count; k++)
        s->coefficients[k] = c->deviation[k] * signed_unit(random);
    for (int32_t j = 1; j < c->joint_count; j++) {
        bool arm = strstr(c->joint_names[j], "arm") != NULL;
        sup_vec3d axis = sup_v3(signed_unit(random), signed_unit(random), signed_unit(random));
        s->local[j] = sup_quatd_from_axis_angle(axis, spec->bend * (arm ? 1.0 : 0.25) * sup_random_unit(random));
    }
    sup_body_state_update(c, s);
}

/* Keeps triangles outside the hole and outside the removed limbs. */
static void cut(const sup_composition *c, const scan_spec *spec, sup_vec3d hole, scanned *out)
{
    unsigned char *marks = sup_arena_alloc(&out->arena, (size_t)c->joint_count, 1);
    for (int32_t j = 0; spec->without != NULL && j < c->joint_count; j++)
        if (strcmp(c->joint_names[j], spec->without) == 0) sup_joint_mark_below(c->joint_count, c->parents, j, marks);
    for (int32_t t = 0; t < c->triangle_count; t++) {
        const int32_t *corner = c->triangles + 3 * (size_t)t;
        const double *p = out->truth + 3 * (size_t)corner[0];
        int32_t strongest = c->influence_joint[c->influence_first[corner[0]]];
        if (sup_v3_distance(hole, sup_v3(p[0], p[1], p[2])) < spec->hole || marks[strongest] != 0) continue;
        int32_t *to = out->triangles + 3 * (size_t)out->shape.triangle_count++;
        to[0] = corner[0], to[1] = corner[spec->inside_out ? 2 : 1], to[2] = corner[spec->inside_out ? 1 : 2];
    }
}

/* Random points on the triangles instead. */
static void scatter(sup_random *random, scanned *out)
{
    enum { POINTS = 4000 };
    double *points = sup_arena_alloc(&out->arena, 3 * POINTS, sizeof *points);
    for (size_t i = 0; i < POINTS; i++) {
        const int32_t *c = out->triangles + 3 * (size_t)(sup_random_unit(random) * out->shape.triangle_count);
        double u = sup_random_unit(random), v = sup_random_unit(random);
        if (u + v > 1.0) u = 1.0 - u, v = 1.0 - v;
        for (size_t k = 0; k < 3; k++)
            points[3 * i + k] = (1.0 - u - v) * out->positions[3 * (size_t)c[0] + k] +
                                u * out->positions[3 * (size_t)c[1] + k] + v * out->positions[3 * (size_t)c[2] + k];
    }
    out->positions = points;
    out->shape.vertex_count = POINTS;
    out->shape.triangle_count = 0;
}

static scanned scan_person(const scan_spec *spec)
{
    const sup_composition *c = people_composition();
    sup_context plain = sup_context_resolve(NULL);
    scanned out = {.arena = sup_arena_create(&plain.allocator)};
    sup_random random = {spec->seed};
    sup_body_model model;
    sup_body_state s;
    sup_error error = {0};
    size_t values = 3 * (size_t)c->vertex_count;
    for (int i = 0; i < 8; i++)
        sup_random_u32(&random);
    CHECK_OK(sup_body_model_make(NULL, c, 0, &out.arena, &model, &error), error);
    CHECK(sup_body_state_make(c, &out.arena, &s));
    pose_person(c, spec, &random, &s);
    s.local[0] = sup_quatd_from_axis_angle(spec->axis, spec->angle);
    s.translation = sup_v3(signed_unit(&random), signed_unit(&random), signed_unit(&random));
    sup_body_state_update(c, &s);
    out.truth = sup_arena_alloc(&out.arena, values, sizeof(double));
    out.positions = sup_arena_alloc(&out.arena, values, sizeof(double));
    out.triangles = sup_arena_alloc(&out.arena, 3 * (size_t)c->triangle_count, sizeof(int32_t));
    sup_body_skin(&plain, &model, &s, out.truth, NULL);
    out.end = sup_v3_scale(sup_body_joint(&s, c->joint_count - 1), 1.0 / spec->unit);
    for (size_t i = 0; i < values; i++)
        out.positions[i] = (out.truth[i] + spec->noise * signed_unit(&random)) / spec->unit;
    const double *middle = out.truth + 3 * (size_t)(c->vertex_count / 3);
    cut(c, spec, sup_v3(middle[0], middle[1], middle[2]), &out);
    out.shape.vertex_count = c->vertex_count;
    if (spec->cloud) scatter(&random, &out);
    out.shape.positions = out.positions;
    out.shape.triangles = out.triangles;
    return out;
}

/* Mean distance of the registration to the true surface, metres. */
static double true_distance(const scanned *s, const sup_registration *r)
{
    const sup_composition *c = people_composition();
    float *single = calloc(3 * (size_t)c->vertex_count, sizeof *single);
    sup_error error = {0};
    sup_bvh bvh;
    double sum = 0.0;
    for (size_t v = 0; v < 3 * (size_t)c->vertex_count; v += 3)
        for (size_t k = 0; k < 3; k++) {
            const double *m = r->from_scan + 4 * k, *x = s->truth + v;
            single[v + k] = (float)((m[0] * x[0] + m[1] * x[1] + m[2] * x[2]) / r->metres_per_unit + m[3]);
        }
    CHECK_OK(sup_bvh_create(NULL, single, c->triangle_count, c->triangles, &bvh, &error), error);
    for (int32_t v = 0; v < c->vertex_count; v++) {
        const double *p = r->posed + 3 * (size_t)v;
        sum += sup_bvh_closest(&bvh, sup_v3(p[0], p[1], p[2]), INFINITY).distance;
    }
    sup_bvh_free(&bvh);
    free(single);
    return sum / c->vertex_count;
}

enum { PERSONS = 3 };
static const scan_spec persons[PERSONS] = {
    {.seed = 1, .bend = 0.8, .noise = 0.002, .hole = 0.1, .unit = 0.001, .axis = {1, 0, 0}, .angle = 1.5708},
    {.seed = 2,
     .bend = 0.6,
     .noise = 0.002,
     .unit = 0.0254,
     .axis = {0.3, 0.9, -0.2},
     .angle = 2.6,
     .inside_out = true},
    {.seed = 3, .bend = 0.6, .noise = 0.001, .unit = 1.0, .axis = {0, 1, 0}, .angle = 3.1, .cloud = true},
};

enum { MARKS = 3, MARKED = 1 }; /* the second person has landmarks, two of them on vertices */

static void mark(const scanned *s, sup_landmark marks[MARKS])
{
    const sup_composition *c = people_composition();
    for (int m = 0; m < MARKS - 1; m++) {
        marks[m] = (sup_landmark){.vertex = (m + 1) * c->vertex_count / 3};
        memcpy(marks[m].position, s->positions + 3 * (size_t)marks[m].vertex, sizeof marks[m].position);
    }
    marks[MARKS - 1] =
        (sup_landmark){.joint = c->joint_names[c->joint_count - 1], .position = {s->end.x, s->end.y, s->end.z}};
}

/* Each person is registered once per run. */
static const sup_registration *found_person(int i)
{
    static sup_registration *found[PERSONS];
    sup_error error = {0};
    if (found[i] != NULL) return found[i];
    scanned s = scan_person(&persons[i]);
    sup_landmark marks[MARKS];
    sup_register_def def = {.landmarks = marks, .landmark_count = i == MARKED ? MARKS : 0};
    mark(&s, marks);
    CHECK_OK(sup_register(NULL, people_composition(), s.shape, &def, &found[i], &error), error);
    sup_arena_destroy(&s.arena);
    return found[i];
}

TEST(registration_finds_people_in_any_pose_axis_and_unit)
{
    const sup_composition *c = people_composition();
    for (int i = 0; i < PERSONS; i++) {
        scanned s = scan_person(&persons[i]);
        const sup_registration *r = found_person(i);
        CHECK_NEAR(r->metres_per_unit, persons[i].unit, 1e-9);
        CHECK_EQ(r->inside_out, persons[i].inside_out);
        CHECK_EQ(r->is_cloud, persons[i].cloud);
        double distance = true_distance(&s, r);
        CHECK_MSG(distance < 0.004, "person %d: %.2f mm from the truth", i, 1e3 * distance);
        CHECK_MSG(r->coverage > 0.85 && r->explained > 0.97, "person %d: %g, %g", i, r->coverage, r->explained);
        double low = INFINITY, high = -INFINITY;
        for (int32_t v = 0; v < c->vertex_count; v++)
            low = fmin(low, r->rest[3 * v + 1]), high = fmax(high, r->rest[3 * v + 1]);
        CHECK(high - low > 1.4 && high - low < 2.1); /* unposed: upright */
        sup_arena_destroy(&s.arena);
    }
}

static double mark_distance(const sup_registration *r, const double *at, const double *found)
{
    double there[3];
    for (int k = 0; k < 3; k++) {
        const double *m = r->from_scan + 4 * (size_t)k;
        there[k] = m[0] * at[0] + m[1] * at[1] + m[2] * at[2] + m[3];
    }
    return sup_v3_distance(sup_v3(there[0], there[1], there[2]), sup_v3(found[0], found[1], found[2]));
}

TEST(registration_matches_landmarks)
{
    const sup_composition *c = people_composition();
    const sup_registration *r = found_person(MARKED);
    scanned s = scan_person(&persons[MARKED]);
    sup_landmark marks[MARKS];
    mark(&s, marks);
    for (int m = 0; m < MARKS - 1; m++)
        CHECK_NEAR(mark_distance(r, marks[m].position, r->posed + 3 * (size_t)marks[m].vertex), 0.0, 0.006);
    CHECK_NEAR(mark_distance(r, marks[MARKS - 1].position, r->joints + 3 * (size_t)(c->joint_count - 1)), 0.0, 0.01);
    sup_arena_destroy(&s.arena);
}

TEST(registration_is_independent_of_thread_count)
{
    scanned s = scan_person(&persons[0]);
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    CHECK_OK(sup_thread_pool_create(2, &pool, &error), error);
    sup_context threads = {.tasks = sup_thread_pool_tasks(pool)};
    const sup_registration *one = found_person(0);
    sup_registration *many = NULL;
    CHECK_OK(sup_register(&threads, people_composition(), s.shape, NULL, &many, &error), error);
    CHECK(memcmp(one->rest, many->rest, 3 * (size_t)one->vertex_count * sizeof(double)) == 0);
    sup_registration_destroy(many);
    sup_thread_pool_destroy(pool);
    sup_arena_destroy(&s.arena);
}

static void check_refused(sup_shape shape, const char *id)
{
    sup_registration *r = NULL;
    sup_error error = {0};
    sup_result result = sup_register(NULL, people_composition(), shape, NULL, &r, &error);
    CHECK_MSG(result == SUP_ERROR_DATA && strcmp(error.id, id) == 0, "%s, expected %s: %s", error.id, id,
              error.message);
    CHECK(r == NULL);
}

TEST(registration_refuses_incomplete_people)
{
    owned_shape sphere = shape_sphere(4, 0.9, (const double[3]){0, 0, 0});
    check_refused(sphere.shape, "anatomy.scan.shape");
    sup_shape few = sphere.shape;
    few.vertex_count = 20, few.triangle_count = 0;
    check_refused(few, "anatomy.scan.empty");
    for (int32_t i = 0; i < 3 * sphere.shape.vertex_count; i++)
        sphere.positions[i] = NAN;
    check_refused(sphere.shape, "anatomy.scan.empty");
    shape_free(&sphere);
    const scan_spec one_legged = {.seed = 7, .bend = 0.1, .unit = 1.0, .axis = {0, 1, 0}, .without = "left_lower_leg"};
    scanned s = scan_person(&one_legged);
    check_refused(s.shape, "anatomy.scan.limb");
    sup_landmark nowhere = {.vertex = 1 << 30};
    sup_register_def def = {.landmarks = &nowhere, .landmark_count = 1};
    sup_registration *r = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_register(NULL, people_composition(), s.shape, &def, &r, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.landmark");
    sup_arena_destroy(&s.arena);
}

/* A sphere on a large floor with debris around, in millimetres and inside out. */
TEST(floor_and_debris_are_removed)
{
    enum { SIDE = 24, BITS = 12 };
    owned_shape sphere = shape_sphere(4, 850.0, (const double[3]){100, 1000, -40});
    int32_t vertices = sphere.shape.vertex_count, triangles = sphere.shape.triangle_count;
    int32_t floor_vertices = SIDE * SIDE, floor_triangles = 2 * (SIDE - 1) * (SIDE - 1);
    double *positions = calloc(3 * (size_t)(vertices + floor_vertices + 3 * BITS), sizeof *positions);
    int32_t *corners = calloc(3 * (size_t)(triangles + floor_triangles + BITS), sizeof *corners);
    memcpy(positions, sphere.positions, 3 * (size_t)vertices * sizeof *positions);
    for (int32_t t = 0; t < triangles; t++)
        for (int k = 0; k < 3; k++)
            corners[3 * t + k] = sphere.triangles[3 * t + 2 - k];
    sup_random random = {4};
    for (int32_t i = 0; i < floor_vertices; i++) {
        double *p = positions + 3 * (size_t)(vertices + i);
        p[0] = 120.0 * (i % SIDE - SIDE / 2), p[1] = 2.0 * signed_unit(&random), p[2] = 120.0 * (i / SIDE - SIDE / 2);
    }
    int32_t *to = corners + 3 * (size_t)triangles;
    for (int32_t i = 0; i < floor_vertices - SIDE; i++) {
        if (i % SIDE == SIDE - 1) continue;
        const int32_t a = vertices + i, quad[6] = {a, a + SIDE, a + 1, a + 1, a + SIDE, a + SIDE + 1};
        memcpy(to, quad, sizeof quad);
        to += 6;
    }
    for (int32_t i = 0; i < BITS; i++) {
        double far[3] = {1400.0 * signed_unit(&random), 1300.0 + 900.0 * sup_random_unit(&random), 1300.0};
        for (int k = 0; k < 3; k++) {
            int32_t v = vertices + floor_vertices + 3 * i + k;
            for (int d = 0; d < 3; d++)
                positions[3 * v + d] = far[d] + 20.0 * signed_unit(&random);
            *to++ = v;
        }
    }
    sup_context plain = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&plain.allocator);
    sup_shape shape = {vertices + floor_vertices + 3 * BITS, triangles + floor_triangles + BITS, positions, corners};
    sup_scan scan;
    sup_error error = {0};
    CHECK_OK(sup_scan_make(NULL, shape, 0.0, 1000, &arena, &scan, &error), error);
    CHECK_NEAR(scan.metres_per_unit, 0.001, 1e-12);
    CHECK(scan.inside_out);
    CHECK_NEAR(scan.height, 1.7, 0.01);
    CHECK_MSG(abs(scan.triangle_count - triangles) < triangles / 100, "%d of %d", (int)scan.triangle_count,
              (int)triangles);
    CHECK_NEAR(scan.sample_count, 1000, 2);
    sup_scan_free(&scan);
    sup_arena_destroy(&arena);
    free(positions);
    free(corners);
    shape_free(&sphere);
}
