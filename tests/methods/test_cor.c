/* Centres of rotation: where they are, and what they do to tubes. The kernels are tested in test_skinning.c. */
#include "methods/cor/cor.h"
#include "methods/posed_scene.h"

static float *centres_of(const sup_rig *rig)
{
    sup_context context = sup_context_resolve(NULL);
    float *centres = calloc((size_t)rig->vertex_count * 3, sizeof *centres);
    sup_error error;
    CHECK_OK(sup_cor_centres(&context, rig, 0.1, centres, &error), error);
    return centres;
}

static double weight_of(const sup_rig *rig, int32_t vertex, int32_t joint)
{
    double sum = 0.0;
    for (int32_t i = rig->influence_first[vertex]; i < rig->influence_first[vertex + 1]; i++)
        if (rig->influence_joint[i] == joint) sum += (double)rig->influence_weight[i];
    return sum;
}

/* The equation of the paper as it is printed, over all triangles, each divided into PARTS^2. */
static bool brute_force(const sup_rig *rig, int32_t vertex, sup_vec3d *centre)
{
    enum { PARTS = 8 };
    double denominator = 0.0;
    sup_vec3d numerator = sup_v3(0, 0, 0);
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        sup_vec3d c[3];
        int32_t v[3];
        for (int32_t k = 0; k < 3; k++) {
            int32_t skin = rig->skin_triangles[3 * t + k];
            c[k] = sup_v3_load(rig->skin_positions + 3 * skin);
            v[k] = rig->skin_to_vertex[skin];
        }
        double area = sup_v3_length(sup_v3_cross(sup_v3_sub(c[1], c[0]), sup_v3_sub(c[2], c[0])));
        for (int32_t part = 0; part < PARTS * PARTS; part++) {
            /* Row i of a triangle has 2 (PARTS - i) - 1 parts, pointing up and down in turn. */
            int32_t i = 0, k = part;
            while (k >= 2 * (PARTS - i) - 1)
                k -= 2 * (PARTS - i++) - 1;
            double x = (i + (1 + k % 2) / 3.0) / PARTS, y = (k / 2 + (1 + k % 2) / 3.0) / PARTS, z = 1.0 - x - y,
                   s = 0.0;
            for (int32_t a = rig->influence_first[vertex]; a < rig->influence_first[vertex + 1]; a++)
                for (int32_t b = rig->influence_first[vertex]; b < rig->influence_first[vertex + 1]; b++) {
                    int32_t j = rig->influence_joint[a], n = rig->influence_joint[b];
                    if (j == n) continue;
                    double aj = weight_of(rig, vertex, j), an = weight_of(rig, vertex, n);
                    double bj = x * weight_of(rig, v[0], j) + y * weight_of(rig, v[1], j) + z * weight_of(rig, v[2], j);
                    double bn = x * weight_of(rig, v[0], n) + y * weight_of(rig, v[1], n) + z * weight_of(rig, v[2], n);
                    double difference = aj * bn - an * bj;
                    s += aj * an * bj * bn * exp(-difference * difference / 0.01);
                }
            sup_vec3d p = sup_v3_madd(sup_v3_madd(sup_v3_scale(c[0], x), y, c[1]), z, c[2]);
            numerator = sup_v3_madd(numerator, area * s, p);
            denominator += area * s;
        }
    }
    if (denominator > 0.0) *centre = sup_v3_scale(numerator, 1.0 / denominator);
    return denominator > 0.0;
}

TEST(centres_agree_with_the_sum_over_all_triangles)
{
    static const char *const names[] = {"cylinder", "hand"};
    for (int32_t n = 0; n < SUP_COUNT(names); n++) {
        posed_scene s = posed_scene_open(names[n], n == 0 ? 0.3 : 0.1, SUP_WEIGHTS_AUTO);
        float *centres = centres_of(s.rig);
        int32_t compared = 0;
        double largest = 0.0;
        for (int32_t v = 0; v < s.rig->vertex_count; v += 37) {
            sup_vec3d wanted = sup_v3_load(s.rig->positions + 3 * v);
            compared += brute_force(s.rig, v, &wanted);
            largest = fmax(largest, sup_v3_distance(wanted, sup_v3_load(centres + 3 * v)) / (double)s.rig->size);
        }
        CHECK_MSG(largest < 1.5e-3, "%s: a centre is %g sizes away", names[n], largest);
        CHECK(compared > 4);
        free(centres);
        posed_scene_close(&s);
    }
}

TEST(centres_of_a_tube_lie_on_its_axis)
{
    posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_AUTO);
    float *centres = centres_of(s.rig);
    int32_t moved = 0;
    for (int32_t v = 0; v < s.rig->vertex_count; v++) {
        if (memcmp(centres + 3 * v, s.rig->positions + 3 * v, 12) == 0) continue;
        /* The mesh is not exactly symmetric: 2 % of the radius of 0.1. */
        CHECK(hypot((double)centres[3 * v], (double)centres[3 * v + 2]) < 2e-3);
        moved++;
    }
    CHECK(moved > s.rig->vertex_count / 4);
    free(centres);
    posed_scene_close(&s);
}

TEST(a_twisted_tube_keeps_its_radius)
{
    static const double angles[] = {90.0, 170.0, -170.0};
    for (int32_t i = 0; i < SUP_COUNT(angles); i++) {
        posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_AUTO);
        posed_scene_turn(&s, "lower", sup_v3(0, 1, 0), angles[i]);
        float *skin = posed_scene_skin(&s, "cor", NULL, NULL);
        for (int32_t v = 0; v < s.rig->vertex_count; v++) {
            const float *rest = s.rig->positions + 3 * v;
            double radius = hypot((double)rest[0], (double)rest[2]);
            if (radius < 0.09) continue; /* caps */
            CHECK_NEAR(hypot((double)skin[3 * v], (double)skin[3 * v + 2]) / radius, 1.0, 0.01);
        }
        free(skin);
        posed_scene_close(&s);
    }
}

TEST(a_bent_tube_keeps_more_volume_than_linear_blending)
{
    static const double angles[] = {45.0, 90.0, 120.0};
    for (int32_t i = 0; i < SUP_COUNT(angles); i++) {
        posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_AUTO);
        double rest = skin_volume(&s, s.rig->positions);
        posed_scene_turn(&s, "lower", sup_v3(0, 0, 1), angles[i]);
        float *cor = posed_scene_skin(&s, "cor", NULL, NULL), *linear = posed_scene_skin(&s, "linear", NULL, NULL);
        CHECK(skin_volume(&s, cor) / rest > 0.985);
        CHECK(skin_volume(&s, cor) > skin_volume(&s, linear));
        free(cor);
        free(linear);
        posed_scene_close(&s);
    }
}

TEST(rigid_weights_give_linear_blending)
{
    posed_scene s = posed_scene_open("human", 0.1, SUP_WEIGHTS_RIGID);
    float *centres = centres_of(s.rig);
    posed_scene_turn(&s, "left_lower_leg", sup_v3(1, 0, 0), 100.0);
    posed_scene_turn(&s, "chest", sup_v3(0, 1, 0), 40.0);
    float *cor = posed_scene_skin(&s, "cor", NULL, NULL), *linear = posed_scene_skin(&s, "linear", NULL, NULL);
    CHECK(largest_distance(&s, cor, linear) < 1e-6);
    CHECK(memcmp(centres, s.rig->positions, (size_t)s.rig->vertex_count * 12) == 0);
    free(cor);
    free(linear);
    free(centres);
    posed_scene_close(&s);
}

/* The time of the bind: a sum over all triangles for each vertex would take minutes here. */
TEST(binding_a_fine_mesh_does_not_visit_all_triangles)
{
    posed_scene s = posed_scene_open("human", 1.0, SUP_WEIGHTS_AUTO);
    CHECK(s.rig->vertex_count > 15000);
    free(centres_of(s.rig));
    posed_scene_close(&s);
}
