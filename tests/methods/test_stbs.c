/* Stretchable, twistable bones: when they are linear blending, and how twist and stretch are spread. */
#include "base/simd.h"
#include "methods/posed_scene.h"
#include "methods/stbs/stbs.h"

/* Vertices of a ring of the tube, in the bind pose: the mean height of `rest` is within 1 cm of `height`. */
static bool in_ring(const float *rest, double height)
{
    return fabs((double)rest[1] - height) < 0.01 && hypot((double)rest[0], (double)rest[2]) > 0.09;
}

/* Mean angle that a ring has turned about the y axis, in degrees. */
static double turned(const posed_scene *s, const float *skin, double height)
{
    double sine = 0.0, cosine = 0.0;
    for (int32_t v = 0; v < s->rig->vertex_count; v++) {
        const float *a = s->rig->positions + 3 * v, *b = skin + 3 * v;
        if (!in_ring(a, height)) continue;
        sine += (double)a[2] * (double)b[0] - (double)a[0] * (double)b[2];
        cosine += (double)a[0] * (double)b[0] + (double)a[2] * (double)b[2];
    }
    return atan2(sine, cosine) * 57.29577951308232;
}

TEST(bends_are_linear_blending_bit_for_bit)
{
    posed_scene s = posed_scene_open("human", 0.1, SUP_WEIGHTS_AUTO);
    float *stbs = posed_scene_skin(&s, "stbs", NULL, NULL), *linear = posed_scene_skin(&s, "linear", NULL, NULL);
    CHECK(memcmp(stbs, linear, (size_t)s.rig->vertex_count * 12) == 0);
    free(stbs);
    free(linear);
    posed_scene_close(&s);
    s = posed_scene_open("cylinder", 0.5, SUP_WEIGHTS_AUTO);
    posed_scene_turn(&s, "lower", sup_v3(0, 0, 1), 80.0); /* at right angles to the bones: no twist */
    posed_scene_turn(&s, "upper", sup_v3(0, 0, 1), 50.0);
    stbs = posed_scene_skin(&s, "stbs", NULL, NULL), linear = posed_scene_skin(&s, "linear", NULL, NULL);
    CHECK(largest_distance(&s, stbs, linear) < 1e-6);
    free(stbs);
    free(linear);
    posed_scene_close(&s);
}

TEST(amounts_of_zero_are_linear_blending)
{
    static const double off[SUP_STBS_PARAM_COUNT] = {0, 0, 0};
    posed_scene s = posed_scene_open("hand", 0.2, SUP_WEIGHTS_AUTO);
    posed_scene_turn(&s, s.character->nodes[s.rig->joint_node[2]].name, sup_v3(0.2, 1, 0.4), 120.0);
    float *stbs = posed_scene_skin(&s, "stbs", off, NULL), *linear = posed_scene_skin(&s, "linear", NULL, NULL);
    CHECK(memcmp(stbs, linear, (size_t)s.rig->vertex_count * 12) == 0);
    free(stbs);
    free(linear);
    posed_scene_close(&s);
}

/* The joint "lower" of the tube, with one child, turns by 120 degrees: its bone from 0.35 m to 0.65 m turns evenly. */
TEST(twist_is_spread_evenly_along_the_bone)
{
    posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_AUTO);
    posed_scene_turn(&s, "lower", sup_v3(0, 1, 0), 120.0);
    float *skin = posed_scene_skin(&s, "stbs", NULL, NULL);
    CHECK_NEAR(turned(&s, skin, 0.1), 0.0, 0.5);
    CHECK_NEAR(turned(&s, skin, 0.44), 36.0, 4.0);
    CHECK_NEAR(turned(&s, skin, 0.5), 60.0, 4.0);
    CHECK_NEAR(turned(&s, skin, 0.56), 84.0, 4.0);
    CHECK_NEAR(turned(&s, skin, 0.8), 120.0, 0.5);
    for (int32_t v = 0; v < s.rig->vertex_count; v++) {
        const float *rest = s.rig->positions + 3 * v;
        double radius = hypot((double)rest[0], (double)rest[2]);
        if (radius > 0.09) CHECK(hypot((double)skin[3 * v], (double)skin[3 * v + 2]) / radius > 0.95);
    }
    free(skin);
    posed_scene_close(&s);
}

/* A leaf has no bone of its own that ends at a joint: its twist is spread along the bone of its parent. */
TEST(the_twist_of_a_leaf_is_spread_along_its_parent)
{
    posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_AUTO);
    posed_scene_turn(&s, "upper", sup_v3(0, 1, 0), -150.0);
    float *skin = posed_scene_skin(&s, "stbs", NULL, NULL);
    CHECK_NEAR(turned(&s, skin, 0.2), 0.0, 0.5);
    CHECK_NEAR(turned(&s, skin, 0.5), -75.0, 4.0);
    CHECK_NEAR(turned(&s, skin, 0.9), -150.0, 0.5);
    free(skin);
    posed_scene_close(&s);
}

/* The leaf is moved away until the middle bone is twice as long: what follows the ends keeps its shape, and the middle
 * of the bone is in the middle. Nothing is scaled across the bone. */
TEST(a_bone_stretched_by_two_keeps_the_shape_of_its_ends)
{
    posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_AUTO);
    sup_affine away = sup_affine_identity();
    away.m[7] = 0.3;
    posed_scene_move(&s, posed_scene_node(&s, "upper"), away);
    float *skin = posed_scene_skin(&s, "stbs", NULL, NULL), *linear = posed_scene_skin(&s, "linear", NULL, NULL);
    double largest_gap = 0.0, linear_gap = 0.0;
    for (int32_t v = 0; v < s.rig->vertex_count; v++) {
        const float *rest = s.rig->positions + 3 * v;
        CHECK_NEAR(skin[3 * v], rest[0], 1e-6);
        CHECK_NEAR(skin[3 * v + 2], rest[2], 1e-6);
        if (rest[1] < 0.2f) CHECK_NEAR(skin[3 * v + 1], rest[1], 1e-6);
        if (rest[1] > 0.8f) CHECK_NEAR(skin[3 * v + 1], rest[1] + 0.3f, 1e-5);
        if (in_ring(rest, 0.5)) CHECK_NEAR(skin[3 * v + 1] - rest[1], 0.15, 0.02);
    }
    for (int32_t t = 0; t < 3 * s.rig->skin_triangle_count; t++) {
        int32_t a = s.rig->skin_to_vertex[s.rig->skin_triangles[t]];
        int32_t b = s.rig->skin_to_vertex[s.rig->skin_triangles[t / 3 * 3 + (t + 1) % 3]];
        double rest = fabs((double)(s.rig->positions[3 * a + 1] - s.rig->positions[3 * b + 1]));
        largest_gap = fmax(largest_gap, fabs((double)(skin[3 * a + 1] - skin[3 * b + 1])) - rest);
        linear_gap = fmax(linear_gap, fabs((double)(linear[3 * a + 1] - linear[3 * b + 1])) - rest);
    }
    CHECK_MSG(largest_gap < 0.75 * linear_gap, "%g, linear %g", largest_gap, linear_gap);
    free(skin);
    free(linear);
    posed_scene_close(&s);
}

/* All kernels against the equation in double, on joints that turn, stretch and twist at random. */
TEST(kernels_match_the_equation_in_double)
{
    posed_scene s = posed_scene_open("hand", 0.2, SUP_WEIGHTS_AUTO);
    sup_context context = sup_context_resolve(NULL);
    sup_random random = {9};
    for (int32_t n = 0; n < s.character->node_count; n++) {
        sup_vec3d axis = sup_v3(sup_random_unit(&random) - 0.5, sup_random_unit(&random) - 0.5, 0.2);
        sup_affine turn = sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(axis, 1.2), sup_v3(1, 1, 1));
        turn = map_about(posed_scene_place(&s, n), turn);
        turn.m[3] += 0.004 * sup_random_unit(&random);
        posed_scene_move(&s, n, turn);
    }
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_bind(NULL, &sup_method_stbs, s.rig, NULL, &model, &error), error);
    const int32_t *child = sup_model_array(model, SUP_STBS_CHILD, SUP_ARRAY_INT32, s.rig->joint_count);
    const float *axes = sup_model_array(model, SUP_STBS_AXIS, SUP_ARRAY_FLOAT, 3 * (int64_t)s.rig->joint_count);
    sup_layout layout;
    CHECK_EQ(sup_method_layout(&sup_method_stbs, model, &context, &layout), SUP_OK);
    void *state = sup_alloc_zero(&context.allocator, layout.size);
    float *skin = malloc((size_t)s.rig->vertex_count * 12);
    double values[SUP_STBS_PARAM_COUNT] = {0, 1, 1};
    int32_t spread = 0;
    for (int32_t lanes = 1; lanes <= sup_simd_lanes(); lanes *= 2) {
        sup_step_input input = {.context = &context, .model = model, .values = values, .pose = s.pose};
        sup_skin_out out = {.positions = skin, .position_stride = 12};
        CHECK_EQ(sup_stbs_step(&input, state, &out, lanes), SUP_OK);
        for (int32_t v = 0; v < s.rig->vertex_count; v++) {
            sup_vec3d sum = sup_v3(0, 0, 0), u = sup_v3_load(s.rig->positions + 3 * v);
            for (int32_t i = s.rig->influence_first[v]; i < s.rig->influence_first[v + 1]; i++) {
                int32_t j = s.rig->influence_joint[i], p = s.rig->joint_parent[j], c = child[j];
                sup_affine motion[3], back;
                const int32_t joints[3] = {j, p >= 0 ? p : j, c >= 0 ? c : j};
                for (int32_t k = 0; k < 3; k++)
                    motion[k] = sup_affine_multiply(sup_affine_from_float(s.pose->world[s.rig->joint_node[joints[k]]]),
                                                    sup_affine_from_float(s.rig->joint_inverse_bind[joints[k]]));
                sup_vec3d place = u;
                if (c >= 0) {
                    sup_vec3d d = sup_v3_load(axes + 3 * j);
                    sup_vec3d head = sup_affine_translation(sup_affine_from_float(s.rig->joint_bind[j]));
                    sup_vec3d end = sup_affine_translation(sup_affine_from_float(s.rig->joint_bind[c]));
                    double e = sup_stbs_along(sup_v3_dot(sup_v3_sub(u, head), d) / sup_v3_distance(head, end));
                    double angles[2];
                    for (int32_t k = 0; k < 2; k++) { /* of j against p, of c against j */
                        sup_quatd q;
                        double stretch[9];
                        CHECK(sup_affine_inverse(motion[k == 0 ? 1 : 0], &back));
                        sup_affine_polar(sup_affine_multiply(back, motion[k == 0 ? 0 : 2]), &q, stretch);
                        angles[k] = 2.0 * atan((q.x * d.x + q.y * d.y + q.z * d.z) / q.w);
                    }
                    double theta = -angles[0] * (1.0 - e) + (child[c] < 0 ? angles[1] * e : 0.0);
                    CHECK(sup_affine_inverse(motion[0], &back));
                    sup_vec3d moved = sup_affine_point(sup_affine_multiply(back, motion[2]), end);
                    place =
                        sup_v3_add(head, sup_quatd_rotate(sup_quatd_from_axis_angle(d, theta), sup_v3_sub(u, head)));
                    place = sup_v3_madd(place, e, sup_v3_sub(moved, end));
                    spread++;
                }
                sum = sup_v3_madd(sum, (double)s.rig->influence_weight[i], sup_affine_point(motion[0], place));
            }
            double off = sup_v3_distance(sum, sup_v3_load(skin + 3 * v)) / (double)s.rig->size;
            CHECK_MSG(off < 1e-5, "%d lanes, vertex %d: %g", lanes, v, off);
        }
    }
    CHECK(spread > 1000);
    free(skin);
    sup_free(&context.allocator, state, layout.size);
    sup_model_destroy(model);
    posed_scene_close(&s);
}

TEST(places_along_a_bone_are_even_with_rounded_corners)
{
    CHECK_NEAR(sup_stbs_along(0.5), 0.5, 1e-12);
    CHECK_NEAR(sup_stbs_along(0.25), 0.25, 1e-12);
    CHECK(sup_stbs_along(-0.2) == 0.0 && sup_stbs_along(1.2) == 1.0);
    for (double t = -0.3; t < 1.3; t += 0.01) {
        double rise = sup_stbs_along(t + 0.01) - sup_stbs_along(t);
        CHECK(rise >= -1e-12 && rise <= 0.01 + 1e-12);
        CHECK_NEAR(sup_stbs_along(t) + sup_stbs_along(1.0 - t), 1.0, 1e-12);
    }
}

/* Through half a turn of twist or swing the skin does not jump: neighbouring poses give neighbouring skin. */
TEST(half_turns_do_not_jump)
{
    static const sup_vec3d axes[] = {{0, 1, 0}, {0, 0, 1}, {0.3, 0.2, 1}};
    for (int32_t k = 0; k < SUP_COUNT(axes); k++) {
        float *before = NULL;
        for (double degrees = 150.0; degrees < 210.0; degrees += 1.0) {
            posed_scene s = posed_scene_open("cylinder", 0.1, SUP_WEIGHTS_AUTO);
            posed_scene_turn(&s, "lower", axes[k], degrees);
            float *skin = posed_scene_skin(&s, "stbs", NULL, NULL);
            if (before != NULL)
                CHECK_MSG(largest_distance(&s, skin, before) < 0.05, "axis %d, %g degrees: %g", k, degrees,
                          largest_distance(&s, skin, before));
            free(before);
            before = skin;
            posed_scene_close(&s);
        }
        free(before);
    }
}

/* The tube cut in three, its middle part bound to one joint: a twist along that joint's bone turns the part as a
 * whole. */
TEST(rigid_components_stay_rigid)
{
    posed_scene s = posed_scene_open("cylinder", 0.5, SUP_WEIGHTS_AUTO);
    const sup_character *from = s.character;
    sup_character cut = *from;
    sup_primitive part = from->primitives[0];
    int32_t *triangles = malloc((size_t)from->triangle_count * 12), bone = 0;
    int32_t count = from->influence_first[from->vertex_count];
    int32_t *bones = malloc((size_t)count * sizeof *bones);
    while (from->bones[bone].node != posed_scene_node(&s, "lower"))
        bone++;
    cut.primitives = &part;
    cut.triangles = triangles;
    cut.influence_bone = bones;
    cut.triangle_count = 0;
    for (int32_t t = 0; t < from->triangle_count; t++) {
        int32_t inside = 0;
        for (int32_t k = 0; k < 3; k++)
            inside += fabsf(s.rig->positions[3 * from->triangles[3 * t + k] + 1] - 0.5f) < 0.08f;
        if (inside % 3 == 0) memcpy(triangles + 3 * cut.triangle_count++, from->triangles + 3 * t, 12);
    }
    part.triangle_count = cut.triangle_count;
    for (int32_t v = 0; v < from->vertex_count; v++)
        for (int32_t i = from->influence_first[v]; i < from->influence_first[v + 1]; i++)
            bones[i] = fabsf(s.rig->positions[3 * v + 1] - 0.5f) < 0.08f ? bone : from->influence_bone[i];
    posed_scene_turn(&s, "upper", sup_v3(0, 1, 0), 100.0);
    posed_scene three = {&cut, NULL, s.pose};
    sup_error error;
    CHECK_OK(sup_rig_create(NULL, &cut, NULL, &three.rig, &error), error);
    const int32_t *rigid = sup_rig_rigid_joints(three.rig);
    float *skin = posed_scene_skin(&three, "stbs", NULL, NULL);
    int32_t edges = 0;
    for (int32_t t = 0; t < 3 * three.rig->skin_triangle_count; t++) {
        int32_t first = three.rig->skin_triangles[t], second = three.rig->skin_triangles[t / 3 * 3 + (t + 1) % 3];
        int32_t a = three.rig->skin_to_vertex[first], b = three.rig->skin_to_vertex[second];
        if (rigid[first] < 0) continue;
        const float *at = three.rig->positions;
        double rest = sup_v3_distance(sup_v3_load(at + 3 * a), sup_v3_load(at + 3 * b));
        CHECK_NEAR(sup_v3_distance(sup_v3_load(skin + 3 * a), sup_v3_load(skin + 3 * b)), rest, 1e-5);
        edges++;
    }
    CHECK(edges > 100);
    CHECK_NEAR(turned(&three, skin, 0.5), 50.0, 4.0);
    free(skin);
    sup_rig_destroy(three.rig);
    free(triangles);
    free(bones);
    posed_scene_close(&s);
}
