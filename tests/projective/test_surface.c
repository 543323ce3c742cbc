/* The simulated surface: vertex counts, numbering, density at joints, and decimation of large skins in two steps. */
#include "skin/simulated_surface.h"
#include "projective/fixture.h"

typedef struct made {
    fixture f;
    sup_arena arena;
    sup_simulated_surface s;
} made;

static made make_surface(const char *name, double resolution, int32_t target)
{
    made m = {.f = fixture_rig(name, resolution)};
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    m.arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_simulated_surface_create(&context, m.f.rig, target, &m.arena, &m.s, &error), error);
    return m;
}

static void free_surface(made *m)
{
    sup_arena_destroy(&m->arena);
    fixture_destroy(&m->f);
}

static void check_triangles(const int32_t *triangles, int32_t count, int32_t vertex_count)
{
    for (int32_t i = 0; i < 3 * count; i++)
        CHECK(triangles[i] >= 0 && triangles[i] < vertex_count);
}

/* The vertices of every level are vertices of the finer one, at the same positions. */
static void check_levels(const made *m)
{
    const sup_simulated_surface *s = &m->s;
    check_triangles(s->fine_triangles, s->fine_triangle_count, s->fine_count);
    check_triangles(s->middle_triangles, s->middle_triangle_count, s->middle_count);
    check_triangles(s->coarse_triangles, s->coarse_triangle_count, s->coarse_count);
    for (int32_t v = 0; v < s->middle_count; v++)
        CHECK(memcmp(s->middle_positions + 3 * v, s->fine_positions + 3 * s->middle_fine[v], 12) == 0);
    for (int32_t v = 0; v < s->coarse_count; v++) {
        CHECK_EQ(s->coarse_fine[v], s->middle_fine[s->coarse_middle[v]]);
        CHECK(memcmp(s->coarse_positions + 3 * v, s->fine_positions + 3 * s->coarse_fine[v], 12) == 0);
        CHECK(s->influence_first[v] < s->influence_first[v + 1]);
    }
}

TEST(surface_levels_have_the_requested_sizes)
{
    made small = make_surface("scene:cylinder", 0.5, 5000); /* not decimated */
    check_levels(&small);
    CHECK(small.s.coarse_count == small.s.fine_count && small.s.middle_count == small.s.fine_count);
    free_surface(&small);
    made one = make_surface("scene:cylinder", 1.0, 500);
    check_levels(&one);
    CHECK_EQ(one.s.coarse_count, 500);
    CHECK_EQ(one.s.middle_count, one.s.fine_count);
    free_surface(&one);
    made two = make_surface("scene:cylinder", 2.0, 200);
    check_levels(&two);
    CHECK_EQ(two.s.coarse_count, 200);
    CHECK_EQ(two.s.middle_count, 1600);
    CHECK(two.s.fine_count > 3000);
    free_surface(&two);
}

/* Vertices per area near the joint between the two bones, compared with those far from all joints. */
TEST(surface_is_denser_at_joints)
{
    made m = make_surface("scene:cylinder", 2.0, 400);
    const sup_rig *rig = m.f.rig;
    double count[2] = {0}, area[2] = {0}; /* near, far */
    double reach = 0.1 * (double)rig->size;
    for (int32_t t = 0; t < m.s.coarse_triangle_count; t++) {
        sup_vec3d p[3];
        for (int32_t k = 0; k < 3; k++)
            p[k] = sup_v3_load(m.s.coarse_positions + 3 * m.s.coarse_triangles[3 * t + k]);
        double nearest = INFINITY;
        for (int32_t j = 0; j < rig->joint_count; j++)
            if (rig->joint_parent[j] >= 0)
                nearest = fmin(nearest, sup_v3_distance(p[0], sup_v3_load(rig->bone_head + 3 * j)));
        int32_t side = nearest < reach ? 0 : (nearest > 2.0 * reach ? 1 : -1);
        if (side < 0) continue;
        count[side] += 1.0;
        area[side] += sup_v3_length(sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0])));
    }
    CHECK_MSG(count[0] > 0.0 && count[1] > 0.0, "%g near, %g far", count[0], count[1]);
    CHECK_MSG(count[0] / area[0] > 1.4 * count[1] / area[1], "%g against %g", count[0] / area[0], count[1] / area[1]);
    free_surface(&m);
}

/* A skin with twenty times as many vertices as are simulated: the rest pose is reproduced up to the tolerance of the
 * solver. */
TEST(a_surface_of_two_steps_reproduces_the_rest_pose)
{
    fixture f = fixture_rig("scene:cylinder", 3.0);
    const sup_method *method = sup_method_find("projective");
    double values[64];
    sup_error error = {0};
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_method_defaults(method, values);
    CHECK_OK(sup_method_set(method, values, "vertices", "250", &error), error);
    sup_bind_def def = {.values = values};
    CHECK_OK(sup_bind(NULL, method, f.rig, &def, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    float *positions = malloc((size_t)f.rig->vertex_count * 12);
    sup_pose *pose = NULL;
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 60.0f, &(sup_skin_out){.positions = positions}), SUP_OK);
    for (int32_t i = 0; i < 3 * f.rig->vertex_count; i++)
        CHECK_NEAR(positions[i], f.rig->positions[i], 2e-6 * (double)f.rig->size);
    free(positions);
    sup_pose_destroy(pose);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    fixture_destroy(&f);
}
