/* Components of the skin that follow one joint: armour, buckles, robots. */
#include "actor.h"
#include "fixture.h"

enum { BOX_VERTICES = 8, BOX_TRIANGLES = 12 };

static const tube_joint joints[] = {{"a", -1, 0.2, 0, 0, true}, {"b", 0, 2.0, 0, 0, true}, {"c", 1, 3.8, 0, 0, true}};
static const int32_t box[3 * BOX_TRIANGLES] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                               2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

static void *extended(const void *from, int32_t count, int32_t added, size_t size)
{
    char *to = calloc((size_t)count + (size_t)added, size);
    memcpy(to, from, (size_t)count * size);
    return to;
}

/* The tube of the fixture and a box beside the elbow `b`, whose vertices follow `b` with this weight. `bottom`: of the
 * box; below 0.5 it is in the tube. */
static sup_character *tube_with_box(float weight, float bottom)
{
    tube_def d = {4.0, 0.5, 1.0, 12, 8, joints, 3, false, false, false};
    fixture f = fixture_tube(&d);
    const sup_character *tube = f.character;
    int32_t n = tube->vertex_count, t = tube->triangle_count;
    float *positions = extended(tube->positions, 3 * n, 3 * BOX_VERTICES, sizeof(float));
    int32_t *triangles = extended(tube->triangles, 3 * t, 3 * BOX_TRIANGLES, sizeof(int32_t));
    int32_t *first = extended(tube->influence_first, n + 1, BOX_VERTICES, sizeof(int32_t));
    int32_t *bone = extended(tube->influence_bone, n, 2 * BOX_VERTICES, sizeof(int32_t));
    float *weights = extended(tube->influence_weight, n, 2 * BOX_VERTICES, sizeof(float));
    CHECK_EQ(first[n], n);
    for (int32_t i = 0; i < BOX_VERTICES; i++) {
        float *p = positions + 3 * (n + i);
        p[0] = i & 1 ? 2.6f : 2.0f;
        p[1] = i & 2 ? 1.1f : bottom;
        p[2] = i & 4 ? 0.3f : -0.3f;
        first[n + i + 1] = n + 2 * (i + 1);
        bone[n + 2 * i] = 1;
        weights[n + 2 * i] = weight;
        weights[n + 2 * i + 1] = 1.0f - weight; /* bone 0 */
    }
    for (int32_t i = 0; i < 3 * BOX_TRIANGLES; i++)
        triangles[3 * t + i] = n + box[i];
    sup_primitive part = tube->primitives[0];
    part.vertex_count = n + BOX_VERTICES;
    part.triangle_count = t + BOX_TRIANGLES;
    sup_character c = {.name = "tube with box",
                       .node_count = tube->node_count,
                       .nodes = tube->nodes,
                       .bone_count = tube->bone_count,
                       .bones = tube->bones,
                       .skin_count = 1,
                       .skins = tube->skins,
                       .primitive_count = 1,
                       .primitives = &part,
                       .vertex_count = part.vertex_count,
                       .positions = positions,
                       .triangle_count = part.triangle_count,
                       .triangles = triangles,
                       .influence_first = first,
                       .influence_bone = bone,
                       .influence_weight = weights};
    sup_character *made = NULL;
    sup_error error;
    CHECK_OK(sup_character_create(NULL, &c, &made, &error), error);
    free(positions), free(triangles), free(first), free(bone), free(weights);
    fixture_destroy(&f);
    return made;
}

/* Rotates the joints b and c by an angle about b. */
static void bend(actor *a, double angle)
{
    float c = (float)cos(angle), s = (float)sin(angle);
    sup_mat34 turn = {{c, -s, 0, 2.0f - 2.0f * c, s, c, 0, -2.0f * s, 0, 0, 1, 0}};
    CHECK_EQ(sup_pose_rest(a->character, a->pose), SUP_OK);
    for (int32_t n = 1; n <= 2; n++)
        a->pose->world[n] = sup_mat34_multiply(turn, a->pose->world[n]);
}

static double distance(const float *a, const float *b)
{
    return sqrt(pow((double)a[0] - (double)b[0], 2.0) + pow((double)a[1] - (double)b[1], 2.0) +
                pow((double)a[2] - (double)b[2], 2.0));
}

/* Largest |length / rest length - 1| of the box's edges. */
static double box_strain(const actor *a)
{
    double most = 0.0;
    const int32_t *t = a->character->triangles + 3 * (a->character->triangle_count - BOX_TRIANGLES);
    for (int32_t h = 0; h < 3 * BOX_TRIANGLES; h++) {
        int32_t i = 3 * t[h], j = 3 * t[h % 3 == 2 ? h - 2 : h + 1];
        double rest = distance(a->rig->positions + i, a->rig->positions + j);
        most = fmax(most, fabs(distance(a->positions + i, a->positions + j) / rest - 1.0));
    }
    return most;
}

static double bend_and_measure(actor *a)
{
    double most = 0.0;
    for (int i = 1; i <= 12; i++) {
        bend(a, 0.12 * i);
        actor_step(a, 1.0 / 24.0);
        most = fmax(most, box_strain(a));
    }
    return most;
}

TEST(a_component_of_one_joint_keeps_its_edges)
{
    actor a = actor_open(tube_with_box(1.0f, 0.6f), "", 1);
    double strain = bend_and_measure(&a);
    CHECK_MSG(strain < 1e-5, "edges change by %.2e", strain);
    actor_close(&a);
}

/* The tube around it has two joints and is simulated, as is a box whose joints share its vertices. */
TEST(components_of_several_joints_are_simulated)
{
    actor a = actor_open(tube_with_box(0.9f, 0.6f), "", 1);
    CHECK(bend_and_measure(&a) > 1e-3);
    actor_close(&a);
}

static double farthest_of_box(const actor *a, const float *other)
{
    double most = 0.0;
    for (int32_t v = a->character->vertex_count - BOX_VERTICES; v < a->character->vertex_count; v++)
        most = fmax(most, distance(a->positions + 3 * v, other + 3 * v));
    return most;
}

/* A box that ends inside the tube crosses it at rest: it follows linear blending, as does the tube at the seam. Far
 * above the tube it is simulated. */
TEST(components_that_cross_at_rest_follow_linear_blending_there)
{
    double off[2];
    for (int crosses = 0; crosses < 2; crosses++) {
        actor a = actor_open(tube_with_box(0.6f, crosses ? 0.2f : 0.95f), "", 1);
        bend_and_measure(&a);
        float *linear = actor_linear(&a);
        off[crosses] = farthest_of_box(&a, linear);
        free(linear);
        actor_close(&a);
    }
    CHECK_MSG(off[1] < 1e-5 && off[0] > 1e-3, "off by %.2e with a seam, %.2e without", off[1], off[0]);
}

/* The map `rigid` can be painted although no paint made the component rigid, and paint of 0 does not free it. */
TEST(live_paint_keeps_rigid_components)
{
    actor a = actor_open(tube_with_box(1.0f, 0.6f), "", 1);
    float *none = calloc((size_t)a.character->vertex_count, sizeof *none);
    sup_error error;
    CHECK_OK(sup_instance_paint(a.instance, "rigid", none, &error), error);
    double strain = bend_and_measure(&a);
    CHECK_MSG(strain < 1e-5, "edges change by %.2e", strain);
    CHECK_OK(sup_instance_paint(a.instance, "rigid", NULL, &error), error);
    free(none);
    actor_close(&a);
}

/* Nothing is left to simulate: the character can be used and is linear blending. */
TEST(a_character_that_follows_one_joint_moves_rigidly)
{
    static const tube_joint one[] = {
        {"a", -1, 0.2, 0, 0, false}, {"b", 0, 2.0, 0, 0, true}, {"c", 1, 3.8, 0, 0, false}};
    tube_def d = {4.0, 0.5, 1.0, 12, 8, one, 3, false, false, false};
    fixture f = fixture_tube(&d);
    sup_rig_destroy(f.rig);
    actor a = actor_open(f.character, "", 1);
    for (int i = 1; i <= 12; i++) {
        bend(&a, 0.12 * i);
        actor_step(&a, 1.0 / 24.0);
    }
    float c = (float)cos(1.44), s = (float)sin(1.44);
    for (int32_t v = 0; v < a.character->vertex_count; v++) {
        const float *p = a.rig->positions + 3 * v;
        float moved[3] = {2.0f + c * (p[0] - 2.0f) - s * p[1], s * (p[0] - 2.0f) + c * p[1], p[2]};
        CHECK_NEAR(distance(a.positions + 3 * v, moved), 0.0, 1e-5);
    }
    actor_close(&a);
}
