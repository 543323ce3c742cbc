/* Quaternions, inverses, polar decomposition and TRS decomposition against their definitions. */
#include "base/base.h"
#include "math/affine.h"
#include "test.h"

static double unit(sup_random *random)
{
    return sup_random_unit(random) * 2.0 - 1.0;
}

static sup_affine random_affine(sup_random *random)
{
    sup_affine a;
    for (int i = 0; i < 12; i++)
        a.m[i] = unit(random);
    return a;
}

static sup_quatd random_quat(sup_random *random)
{
    return sup_quatd_normalise((sup_quatd){unit(random), unit(random), unit(random), unit(random)});
}

static double difference(sup_affine a, sup_affine b)
{
    double worst = 0.0;
    for (int i = 0; i < 12; i++)
        worst = fmax(worst, fabs(a.m[i] - b.m[i]));
    return worst;
}

TEST(inverse_times_matrix_is_identity)
{
    sup_random random = {1};
    for (int i = 0; i < 1000; i++) {
        sup_affine a = random_affine(&random), inverse;
        if (fabs(sup_affine_determinant(a)) < 1e-3) continue;
        CHECK(sup_affine_inverse(a, &inverse));
        CHECK(difference(sup_affine_multiply(a, inverse), sup_affine_identity()) < 1e-10);
    }
    sup_affine flat = sup_affine_identity(), inverse;
    flat.m[5] = 0.0;
    CHECK(!sup_affine_inverse(flat, &inverse));
    CHECK(difference(inverse, sup_affine_identity()) == 0.0);
}

TEST(quaternion_rotation_matches_its_matrix)
{
    sup_random random = {2};
    for (int i = 0; i < 1000; i++) {
        sup_quatd q = random_quat(&random), p = random_quat(&random);
        sup_vec3d v = sup_v3(unit(&random), unit(&random), unit(&random));
        sup_affine m = sup_affine_from_trs(sup_v3(0, 0, 0), q, sup_v3(1, 1, 1));
        CHECK(sup_v3_distance(sup_quatd_rotate(q, v), sup_affine_point(m, v)) < 1e-14);
        sup_vec3d both = sup_quatd_rotate(sup_quatd_multiply(q, p), v);
        CHECK(sup_v3_distance(both, sup_quatd_rotate(q, sup_quatd_rotate(p, v))) < 1e-14);
        sup_vec3d w = sup_quatd_rotate(sup_quatd_between(v, sup_affine_translation(random_affine(&random))), v);
        CHECK_NEAR(sup_v3_length(w), sup_v3_length(v), 1e-13);
    }
    sup_vec3d x = sup_v3(1, 0, 0);
    CHECK(sup_v3_distance(sup_quatd_rotate(sup_quatd_between(x, sup_v3(-2, 0, 0)), x), sup_v3(-1, 0, 0)) < 1e-12);
}

TEST(polar_gives_rotation_and_symmetric_stretch)
{
    sup_random random = {3};
    for (int i = 0; i < 1000; i++) {
        sup_affine a = random_affine(&random);
        double s[9];
        sup_quatd q;
        if (fabs(sup_affine_determinant(a)) < 1e-4) continue;
        CHECK(sup_affine_polar(a, &q, s));
        CHECK_NEAR(s[1], s[3], 1e-9);
        CHECK_NEAR(s[2], s[6], 1e-9);
        CHECK_NEAR(s[5], s[7], 1e-9);
        sup_affine stretch = {{s[0], s[1], s[2], 0, s[3], s[4], s[5], 0, s[6], s[7], s[8], 0}};
        sup_affine again =
            sup_affine_multiply(sup_affine_from_trs(sup_affine_translation(a), q, sup_v3(1, 1, 1)), stretch);
        CHECK(difference(again, a) < 1e-12);
    }
}

TEST(decompose_recovers_translation_rotation_scale)
{
    sup_random random = {4};
    for (int i = 0; i < 1000; i++) {
        sup_vec3d t = sup_v3(unit(&random), unit(&random), unit(&random));
        sup_vec3d s =
            sup_v3(0.1 + sup_random_unit(&random), 0.1 + sup_random_unit(&random), 0.1 + sup_random_unit(&random));
        if (i % 3 == 0) s.y = -s.y;
        sup_affine a = sup_affine_from_trs(t, random_quat(&random), s);
        double shear;
        sup_affine again = sup_affine_from_transform(sup_affine_decompose(a, &shear));
        CHECK(difference(a, again) < 1e-6);
        CHECK(shear < 1e-12);
    }
    sup_affine sheared = sup_affine_identity();
    double shear;
    sheared.m[1] = 0.5;
    sup_affine_decompose(sheared, &shear);
    CHECK(shear > 0.1);
    sup_affine zero = {{0}};
    sup_transform t = sup_affine_decompose(zero, &shear);
    CHECK(t.scale.x == 0.0f && t.rotation.w == 1.0f && shear == 0.0);
}

TEST(slerp_takes_the_shorter_arc_at_constant_speed)
{
    sup_quatd a = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), 0.2), b = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), 1.4);
    sup_quatd minus = {-b.x, -b.y, -b.z, -b.w};
    for (int i = 0; i <= 10; i++) {
        double t = i / 10.0;
        sup_quatd expected = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), 0.2 + 1.2 * t);
        CHECK_NEAR(fabs(sup_quatd_slerp(a, minus, t).z), fabs(expected.z), 1e-12);
        CHECK_NEAR(sup_quatd_slerp(a, b, t).w, expected.w, 1e-12);
    }
}
