/* Linear and dual quaternion skinning, and skinning about centres of rotation, against the double reference, on every
 * instruction set this machine has. */
#include "base/simd.h"
#include "methods/dualquat/dualquat.h"
#include "methods/linear/linear.h"
#include "measure/reference.h"
#include "methods/skin_fixture.h"
#include "skin/centre.h"
#include "test.h"

typedef sup_result step_fn(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

/* Skinning about any centres, here points that depend on the position of a vertex. */
static void fill_centre(const void *positions, int32_t vertex, int32_t joint, float *centre)
{
    const float *u = (const float *)positions + 3 * (int64_t)vertex;
    SUP_UNUSED(joint);
    for (int32_t i = 0; i < 3; i++)
        centre[i] = 0.6f * u[i] - 0.3f * u[(i + 1) % 3];
}

static sup_result centre_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    sup_skin_values values = {SUP_CENTRE_ARRAY, 3, false, fill_centre, input->rig->positions};
    return sup_skin_bind_values(input, &values, 1, builder, error);
}

static sup_result centre_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    return sup_centre_step(input, state, out, input->values[SUP_SKIN_RIGID] != 0.0, lanes);
}

static sup_result any_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    return centre_step(input, state, out, sup_simd_lanes());
}

static const sup_method centre_method = {.name = "centres",
                                         .params = sup_skin_params,
                                         .param_count = SUP_SKIN_PARAM_COUNT,
                                         .bind = centre_bind,
                                         .check = sup_centre_check,
                                         .layout = sup_centre_layout,
                                         .step = any_step};

typedef struct method_case {
    const sup_method *method;
    step_fn *step;
    sup_reference_kind kind;
} method_case;

enum { CASES = 3 };
static const method_case cases[CASES] = {{&sup_method_linear, sup_linear_step, SUP_REFERENCE_LINEAR},
                                         {&sup_method_dualquat, sup_dualquat_step, SUP_REFERENCE_DUAL},
                                         {&centre_method, centre_step, SUP_REFERENCE_CENTRES}};

static void reference(skin_fixture *f, const method_case *c, const sup_reference_out *out)
{
    float *centres = calloc((size_t)f->rig.vertex_count, 12);
    for (int32_t v = 0; v < f->rig.vertex_count; v++)
        fill_centre(f->positions, v, -1, centres + 3 * v);
    CHECK_EQ(sup_reference_skin_all(NULL, fixture_rig(f), &f->pose, c->kind, centres, out), SUP_OK);
    free(centres);
}

typedef struct skin_result {
    float *positions, *normals, *tangents;
} skin_result;

static skin_result result_create(int32_t vertex_count)
{
    size_t n = (size_t)vertex_count;
    skin_result result = {malloc(n * 12), malloc(n * 12), malloc(n * 16)};
    memset(result.positions, 0xff, n * 12);
    memset(result.normals, 0xff, n * 12);
    memset(result.tangents, 0xff, n * 16);
    return result;
}

static void result_destroy(skin_result result)
{
    free(result.positions);
    free(result.normals);
    free(result.tangents);
}

static sup_model *bind_fixture(skin_fixture *f, const sup_method *method)
{
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_bind(NULL, method, fixture_rig(f), NULL, &model, &error), error);
    return model;
}

/* One step with kernels of `lanes` lanes. */
static sup_result step_lanes(const method_case *c, const sup_model *model, const sup_pose *pose, bool rigid,
                             skin_result result, int32_t lanes)
{
    sup_context context = sup_context_resolve(NULL);
    sup_layout layout;
    CHECK_EQ(sup_method_layout(c->method, model, &context, &layout), SUP_OK);
    size_t size = layout.size;
    void *state = sup_alloc_zero(&context.allocator, size);
    double values[SUP_SKIN_PARAM_COUNT] = {rigid};
    sup_step_input input = {.context = &context, .model = model, .values = values, .pose = pose};
    sup_skin_out out = {result.positions, 12, result.normals, 12, result.tangents, 16};
    sup_result status = c->step(&input, state, &out, lanes);
    sup_free(&context.allocator, state, size);
    return status;
}

static void check_near(const char *what, const float *got, const double *wanted, int64_t count, double tolerance)
{
    for (int64_t i = 0; i < count; i++)
        CHECK_MSG(fabs((double)got[i] - wanted[i]) <= tolerance, "%s %lld: %.9g, expected %.9g within %g", what,
                  (long long)i, (double)got[i], wanted[i], tolerance);
}

/* Directions where the blended matrix is well conditioned: near a singular matrix they are ill defined. */
static bool well_conditioned(sup_affine a)
{
    double size = 0.0;
    for (int32_t i = 0; i < 11; i++)
        if (i % 4 != 3) size += a.m[i] * a.m[i];
    size = sqrt(size / 3.0);
    return fabs(sup_affine_determinant(a)) > 0.02 * size * size * size && size > 0.05;
}

static void check_against_reference(skin_fixture *f, const method_case *c, const sup_model *model, int32_t lanes)
{
    size_t n = (size_t)f->rig.vertex_count;
    double *positions = calloc(n, 24), *normals = calloc(n, 24), *tangents = calloc(n, 32);
    sup_affine *matrices = calloc(n, sizeof *matrices);
    skin_result result = result_create(f->rig.vertex_count);
    CHECK_EQ(step_lanes(c, model, &f->pose, false, result, lanes), SUP_OK);
    reference(f, c, &(sup_reference_out){positions, normals, tangents, matrices});
    check_near("position", result.positions, positions, (int64_t)n * 3, 1e-5);
    int32_t compared = 0;
    for (size_t v = 0; v < n; v++) {
        const float *normal = result.normals + 3 * v, *tangent = result.tangents + 4 * v;
        CHECK_NEAR(sup_v3_length(sup_v3_load(normal)), 1.0, 1e-6);
        CHECK_NEAR(sup_v3_length(sup_v3_load(tangent)), 1.0, 1e-6);
        if (!well_conditioned(matrices[v])) continue;
        check_near("normal", normal, normals + 3 * v, 3, 2e-4);
        check_near("tangent", tangent, tangents + 4 * v, 4, 2e-4);
        compared++;
    }
    CHECK_MSG(compared * 4 > (int32_t)n, "only %d of %zu normals compared", compared, n);
    result_destroy(result);
    free(positions);
    free(normals);
    free(tangents);
    free(matrices);
}

static void check_all_lanes(skin_fixture *f, const method_case *c)
{
    sup_model *model = bind_fixture(f, c->method);
    for (int32_t lanes = 1; lanes <= sup_simd_lanes(); lanes *= 2)
        check_against_reference(f, c, model, lanes);
    sup_model_destroy(model);
}

TEST(random_rigs_match_the_double_reference)
{
    static const int32_t sizes[] = {1, 15, 16, 17, 333, 5000};
    for (int32_t i = 0; i < SUP_COUNT(sizes) * 4; i++) {
        int32_t joints = 1 + i * 7 % 40, influences = 1 + i % 9, morphs = i % 3 == 1 ? 4 : 0;
        skin_fixture f = fixture_random((uint64_t)i + 1, sizes[i % SUP_COUNT(sizes)], joints, influences, morphs);
        for (int32_t k = 0; k < CASES; k++)
            for (pose_kind kind = POSE_RIGID; kind <= POSE_AFFINE; kind++) {
                fixture_pose(&f, (uint64_t)(i * 10) + (uint64_t)kind, kind);
                check_all_lanes(&f, &cases[k]);
            }
        fixture_destroy(&f);
    }
}

TEST(mirrored_and_flat_joints_match_and_stay_finite)
{
    for (int32_t i = 0; i < 8; i++) {
        skin_fixture f = fixture_random((uint64_t)i + 100, 700, 12, 4, 0);
        for (int32_t k = 0; k < CASES; k++) {
            fixture_pose(&f, (uint64_t)i, POSE_MIRRORED);
            check_all_lanes(&f, &cases[k]);
            fixture_pose(&f, (uint64_t)i, POSE_FLAT);
            sup_model *model = bind_fixture(&f, cases[k].method);
            for (int32_t lanes = 1; lanes <= sup_simd_lanes(); lanes *= 2) {
                double positions[700 * 3] = {0};
                skin_result result = result_create(700);
                CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, result, lanes), SUP_OK);
                reference(&f, &cases[k], &(sup_reference_out){positions, NULL, NULL, NULL});
                check_near("position", result.positions, positions, 700 * 3, 1e-5);
                for (int32_t v = 0; v < 700; v++) {
                    CHECK_NEAR(sup_v3_length(sup_v3_load(result.normals + 3 * v)), 1.0, 1e-6);
                    CHECK_NEAR(sup_v3_length(sup_v3_load(result.tangents + 4 * v)), 1.0, 1e-6);
                    CHECK(fabsf(result.tangents[4 * v + 3]) == 1.0f);
                }
                result_destroy(result);
            }
            sup_model_destroy(model);
        }
        fixture_destroy(&f);
    }
}

/* A tube along z between two joints; weights change linearly from one to the other over [-1, 1]. */
static skin_fixture tube(int32_t rings, int32_t sides)
{
    skin_fixture f = fixture_create(rings * sides, 2, 2, 0);
    fixture_set_bind(&f, 0, sup_affine_from_trs(sup_v3(0, 0, -1), (sup_quatd){0, 0, 0, 1}, sup_v3(1, 1, 1)));
    fixture_set_bind(&f, 1, sup_affine_from_trs(sup_v3(0, 0, 0), (sup_quatd){0, 0, 0, 1}, sup_v3(1, 1, 1)));
    for (int32_t v = 0; v < rings * sides; v++) {
        int32_t ring = v / sides;
        double z = -1.0 + 2.0 * ring / (rings - 1), angle = 6.283185307179586 * (v % sides) / sides;
        sup_v3_store(f.positions + 3 * v, sup_v3(cos(angle), sin(angle), z));
        sup_v3_store(f.normals + 3 * v, sup_v3(cos(angle), sin(angle), 0));
        sup_v3_store(f.tangents + 4 * v, sup_v3(0, 0, 1));
        f.tangents[4 * v + 3] = 1.0f;
        f.influence_joint[2 * v + 1] = 1;
        f.influence_weight[2 * v] = (float)(0.5 - 0.5 * z);
        f.influence_weight[2 * v + 1] = (float)(0.5 + 0.5 * z);
        fixture_settle_weights(&f, v);
    }
    return f;
}

TEST(a_twisted_tube_keeps_its_radius_or_shrinks_by_the_cosine)
{
    enum { RINGS = 41, SIDES = 24, COUNT = RINGS * SIDES };
    skin_fixture f = tube(RINGS, SIDES);
    for (int32_t k = 0; k < 2; k++)
        for (double angle = -2.8; angle <= 2.8; angle += 0.4) {
            sup_model *model = bind_fixture(&f, cases[k].method);
            sup_quatd twist = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), angle);
            f.pose.world[2] = sup_affine_to_float(sup_affine_from_trs(sup_v3(0, 0, 0), twist, sup_v3(1, 1, 1)));
            skin_result result = result_create(COUNT);
            CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, result, sup_simd_lanes()), SUP_OK);
            for (int32_t v = 0; v < COUNT; v++) {
                double radius = hypot((double)result.positions[3 * v], (double)result.positions[3 * v + 1]);
                bool middle = v / SIDES == RINGS / 2;
                if (cases[k].kind == SUP_REFERENCE_DUAL) CHECK_NEAR(radius, 1.0, 1e-5);
                if (cases[k].kind != SUP_REFERENCE_DUAL && middle) CHECK_NEAR(radius, cos(0.5 * angle), 1e-5);
                CHECK_NEAR(result.positions[3 * v + 2], f.positions[3 * v + 2], 1e-6);
            }
            result_destroy(result);
            sup_model_destroy(model);
        }
    fixture_destroy(&f);
}

TEST(bind_pose_reproduces_every_bit)
{
    for (int32_t k = 0; k < CASES; k++) {
        skin_fixture f = fixture_random(5, 3000, 20, 7, 0);
        for (int32_t j = 0; j < 20; j++)
            fixture_set_bind(&f, j, sup_affine_identity());
        sup_model *model = bind_fixture(&f, cases[k].method);
        for (int32_t lanes = 1; lanes <= sup_simd_lanes(); lanes *= 2) {
            skin_result result = result_create(3000);
            CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, result, lanes), SUP_OK);
            for (int32_t i = 0; i < 9000; i++)
                CHECK_MSG(result.positions[i] == f.positions[i], "%s with %d lanes, vertex %d: %.9g, not %.9g",
                          cases[k].method->name, lanes, i / 3, (double)result.positions[i], (double)f.positions[i]);
            result_destroy(result);
        }
        sup_model_destroy(model);
        fixture_destroy(&f);
    }
}

TEST(equal_motion_of_all_joints_is_rigid)
{
    skin_fixture f = fixture_random(6, 2000, 30, 6, 0);
    sup_random random = {3};
    sup_affine move = sup_affine_from_trs(fixture_vector(&random), fixture_rotation(&random), sup_v3(1, 1, 1));
    for (int32_t j = 0; j < 30; j++)
        f.pose.world[j + 1] = sup_affine_to_float(sup_affine_multiply(move, sup_affine_from_float(f.joint_bind[j])));
    for (int32_t k = 0; k < CASES; k++) {
        sup_model *model = bind_fixture(&f, cases[k].method);
        skin_result result = result_create(2000);
        CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, result, sup_simd_lanes()), SUP_OK);
        for (int32_t v = 0; v < 2000; v++) {
            sup_vec3d p = sup_affine_point(move, sup_v3_load(f.positions + 3 * v));
            sup_vec3d n = sup_affine_vector(move, sup_v3_load(f.normals + 3 * v));
            CHECK(sup_v3_distance(p, sup_v3_load(result.positions + 3 * v)) < 2e-6);
            CHECK(sup_v3_distance(n, sup_v3_load(result.normals + 3 * v)) < 2e-6);
        }
        result_destroy(result);
        sup_model_destroy(model);
    }
    fixture_destroy(&f);
}

TEST(one_influence_is_the_joint_itself)
{
    skin_fixture f = fixture_random(8, 500, 9, 1, 0);
    for (int32_t k = 0; k < CASES; k++)
        for (pose_kind kind = POSE_RIGID; kind <= POSE_MIRRORED; kind++) {
            fixture_pose(&f, 4, kind);
            sup_model *model = bind_fixture(&f, cases[k].method);
            skin_result result = result_create(500);
            CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, result, sup_simd_lanes()), SUP_OK);
            for (int32_t v = 0; v < 500; v++) {
                int32_t j = f.influence_joint[f.influence_first[v]];
                sup_affine a = sup_affine_multiply(sup_affine_from_float(f.pose.world[j + 1]),
                                                   sup_affine_from_float(f.joint_inverse_bind[j]));
                sup_vec3d p = sup_affine_point(a, sup_v3_load(f.positions + 3 * v));
                CHECK(sup_v3_distance(p, sup_v3_load(result.positions + 3 * v)) < 5e-6);
            }
            result_destroy(result);
            sup_model_destroy(model);
        }
    fixture_destroy(&f);
}

TEST(rigid_binding_uses_the_strongest_joint)
{
    skin_fixture f = fixture_random(9, 900, 25, 6, 0);
    skin_fixture one = fixture_random(9, 900, 25, 6, 0);
    fixture_pose(&f, 1, POSE_SCALED);
    for (int32_t v = 0, used = 0; v < 900; v++, used++) { /* the same rig with only its first influences */
        one.influence_joint[used] = f.influence_joint[f.influence_first[v]];
        one.influence_weight[used] = 1.0f;
        one.influence_first[v] = used;
        one.influence_first[v + 1] = used + 1;
    }
    for (int32_t k = 0; k < CASES; k++) {
        sup_model *model = bind_fixture(&f, cases[k].method), *alone = bind_fixture(&one, cases[k].method);
        skin_result got = result_create(900), wanted = result_create(900);
        CHECK_EQ(step_lanes(&cases[k], model, &f.pose, true, got, sup_simd_lanes()), SUP_OK);
        CHECK_EQ(step_lanes(&cases[k], alone, &f.pose, false, wanted, sup_simd_lanes()), SUP_OK);
        for (int32_t i = 0; i < 2700; i++) {
            CHECK_NEAR(got.positions[i], wanted.positions[i], 1e-6);
            CHECK_NEAR(got.normals[i], wanted.normals[i], 1e-5);
        }
        result_destroy(got);
        result_destroy(wanted);
        sup_model_destroy(model);
        sup_model_destroy(alone);
    }
    fixture_destroy(&f);
    fixture_destroy(&one);
}

TEST(the_order_of_influences_does_not_matter)
{
    skin_fixture f = fixture_random(10, 800, 30, 6, 0);
    skin_fixture g = fixture_random(10, 800, 30, 6, 0);
    sup_random random = {2};
    for (int32_t v = 0; v < 800; v++) { /* many equal weights, then shuffled in g */
        int32_t first = f.influence_first[v], count = f.influence_first[v + 1] - first;
        for (int32_t i = 0; i < count; i++)
            f.influence_weight[first + i] = v % 2 ? 1.0f / (float)count : f.influence_weight[first + i];
        for (int32_t i = 0; i < count; i++) {
            g.influence_weight[first + i] = f.influence_weight[first + i];
            g.influence_joint[first + i] = f.influence_joint[first + i];
        }
        for (int32_t i = count - 1; i > 0; i--) {
            int32_t k = (int32_t)(sup_random_unit(&random) * (i + 1));
            int32_t joint = g.influence_joint[first + i];
            float weight = g.influence_weight[first + i];
            g.influence_joint[first + i] = g.influence_joint[first + k];
            g.influence_weight[first + i] = g.influence_weight[first + k];
            g.influence_joint[first + k] = joint;
            g.influence_weight[first + k] = weight;
        }
    }
    for (int32_t k = 0; k < CASES; k++)
        for (pose_kind kind = POSE_RIGID; kind <= POSE_MIRRORED; kind++) {
            fixture_pose(&f, (uint64_t)kind, kind);
            sup_model *model = bind_fixture(&f, cases[k].method), *other = bind_fixture(&g, cases[k].method);
            skin_result a = result_create(800), b = result_create(800);
            CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, a, sup_simd_lanes()), SUP_OK);
            CHECK_EQ(step_lanes(&cases[k], other, &f.pose, false, b, sup_simd_lanes()), SUP_OK);
            CHECK(memcmp(a.positions, b.positions, 800 * 12) == 0);
            CHECK(memcmp(a.normals, b.normals, 800 * 12) == 0);
            result_destroy(a);
            result_destroy(b);
            sup_model_destroy(model);
            sup_model_destroy(other);
        }
    fixture_destroy(&f);
    fixture_destroy(&g);
}

/* Four joints with very different rotations: the sign of a quaternion depends on the strongest joint. */
TEST(quaternions_use_the_hemisphere_of_the_strongest_joint)
{
    enum { COUNT = 160 };
    skin_fixture f = fixture_create(COUNT, 4, 4, 0);
    sup_random random = {12};
    for (int32_t v = 0; v < COUNT; v++) {
        sup_v3_store(f.positions + 3 * v, fixture_vector(&random));
        f.normals[3 * v] = f.tangents[4 * v + 1] = f.tangents[4 * v + 3] = 1.0f;
        for (int32_t i = 0; i < 4; i++) {
            f.influence_joint[4 * v + i] = i;
            f.influence_weight[4 * v + i] = (float)(0.1 + sup_random_unit(&random));
        }
        fixture_settle_weights(&f, v);
    }
    for (int32_t j = 0; j < 4; j++)
        f.pose.world[j + 1] = sup_affine_to_float(sup_affine_from_trs(
            sup_v3(0, 0, 0), sup_quatd_from_axis_angle(sup_v3(0, 0, 1), 1.55 * j), sup_v3(1, 1, 1)));
    check_all_lanes(&f, &cases[1]);
    check_all_lanes(&f, &cases[2]);
    fixture_destroy(&f);
}

TEST(large_and_tiny_units_give_the_same_shape)
{
    static const double scales[] = {1e-6, 1e-3, 1e3, 1e6};
    for (int32_t k = 0; k < CASES; k++) {
        skin_fixture f = fixture_random(11, 400, 10, 4, 0);
        fixture_pose(&f, 3, POSE_AFFINE);
        sup_model *model = bind_fixture(&f, cases[k].method);
        skin_result base = result_create(400);
        CHECK_EQ(step_lanes(&cases[k], model, &f.pose, false, base, sup_simd_lanes()), SUP_OK);
        sup_model_destroy(model);
        for (int32_t s = 0; s < SUP_COUNT(scales); s++) {
            skin_fixture g = fixture_random(11, 400, 10, 4, 0);
            fixture_pose(&g, 3, POSE_AFFINE);
            for (int32_t i = 0; i < 1200; i++)
                g.positions[i] *= (float)scales[s];
            for (int32_t j = 0; j < 10; j++)
                for (int32_t r = 0; r < 3; r++) {
                    g.joint_bind[j].m[4 * r + 3] *= (float)scales[s];
                    g.joint_inverse_bind[j].m[4 * r + 3] *= (float)scales[s];
                    g.pose.world[j + 1].m[4 * r + 3] *= (float)scales[s];
                }
            model = bind_fixture(&g, cases[k].method);
            skin_result scaled = result_create(400);
            CHECK_EQ(step_lanes(&cases[k], model, &g.pose, false, scaled, sup_simd_lanes()), SUP_OK);
            for (int32_t i = 0; i < 1200; i++) {
                CHECK_NEAR((double)scaled.positions[i] / scales[s], base.positions[i], 1e-5);
                CHECK_NEAR(scaled.normals[i], base.normals[i], 1e-3);
            }
            result_destroy(scaled);
            sup_model_destroy(model);
            fixture_destroy(&g);
        }
        result_destroy(base);
        fixture_destroy(&f);
    }
}

TEST(morph_targets_come_from_mesh_space)
{
    skin_fixture f = fixture_random(13, 600, 8, 4, 5);
    sup_random random = {4};
    for (int32_t variant = 0; variant < 3;
         variant++) { /* rotated and translated, then non-uniformly scaled, then mirrored */
        sup_vec3d scale = variant == 0 ? sup_v3(1, 1, 1) : sup_v3(variant == 2 ? -2.0 : 2.0, 0.5, 1.5);
        sup_affine to_bind = sup_affine_from_trs(sup_v3(3, 4, 5), fixture_rotation(&random), scale);
        f.primitive_bind = sup_affine_to_float(to_bind);
        f.morphs[2].positions = NULL;
        f.morphs[3].normals = NULL;
        f.morphs[4].weight = 0; /* two targets on one weight */
        for (int32_t k = 0; k < CASES; k++) {
            fixture_pose(&f, (uint64_t)variant, POSE_SCALED);
            check_all_lanes(&f, &cases[k]);
        }
    }
    fixture_destroy(&f);
}

/* The bits of the base kernels (4 lanes or scalar), which do not depend on processor features: results must stay
 * identical between versions. A change here is visible to users: document it in CHANGELOG.md. */
TEST(golden_hashes_of_the_base_kernels)
{
    static const uint64_t golden[CASES] = {0x978ae7052a15317bu, 0x8fb907410b998774u, 0x75352e0985719a17u};
    skin_fixture f = fixture_random(2026, 777, 9, 6, 0);
    sup_random random = {99};
    for (int32_t j = 0; j < 9; j++) {
        sup_vec3d place = fixture_vector(&random);
        f.pose.world[j + 1] =
            sup_affine_to_float(sup_affine_from_trs(place, fixture_rotation(&random), sup_v3(1, 1, 1)));
    }
    for (int32_t i = 0; i < CASES; i++) {
        sup_model *model = bind_fixture(&f, cases[i].method);
        skin_result result = result_create(777);
        CHECK_EQ(step_lanes(&cases[i], model, &f.pose, false, result, 4), SUP_OK);
        uint64_t hash = sup_hash64(result.positions, 777 * 12, 0);
        hash = sup_hash64(result.normals, 777 * 12, hash);
        CHECK_MSG(hash == golden[i], "%s: the hash is 0x%016llxu", cases[i].method->name, (unsigned long long)hash);
        result_destroy(result);
        sup_model_destroy(model);
    }
    fixture_destroy(&f);
}
