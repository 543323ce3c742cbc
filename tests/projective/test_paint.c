/* Painted maps, velocity limits, and attachment of tissue to bones. */
#include "actor.h"
#include "fixture.h"
#include "methods/projective/projective.h"

/* --- Maps --- */

typedef struct brush {
    int map;
    const char *joint;
    double radius, border, value; /* radius 0: all skin of the joint; no joint: all skin */
} brush;

static void paint_with(void *user, const sup_rig *rig, float *const *maps)
{
    const brush *b = user;
    sup_error error;
    float *mask = malloc((size_t)rig->vertex_count * sizeof *mask);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        mask[v] = 1.0f;
    if (b->joint != NULL) {
        int32_t joint = sup_rig_find_joint(rig, b->joint);
        CHECK(joint >= 0);
        if (b->radius > 0.0)
            CHECK_OK(sup_paint_sphere(rig, joint, b->radius, b->border, mask, &error), error);
        else
            CHECK_OK(sup_paint_joint(rig, joint, mask, &error), error);
    }
    sup_paint_blend(rig->vertex_count, mask, b->value, maps[b->map]);
    free(mask);
}

static double distance(const float *a, const float *b)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++)
        sum += pow((double)a[k] - (double)b[k], 2.0);
    return sqrt(sum);
}

static double largest_stretch(const actor *a)
{
    double most = 0.0;
    for (int32_t h = 0; h < 3 * a->character->triangle_count; h++) {
        int32_t i = a->character->triangles[h], j = a->character->triangles[h % 3 == 2 ? h - 2 : h + 1];
        double rest = distance(a->rig->positions + 3 * i, a->rig->positions + 3 * j);
        if (rest > 1e-3 * (double)a->rig->size)
            most = fmax(most, distance(a->positions + 3 * i, a->positions + 3 * j) / rest);
    }
    return most;
}

/* The painted sphere follows linear blending, the skin far from it does not, and the border is not stretched. */
TEST(rigid_skin_follows_the_bones)
{
    brush b = {SUP_PROJECTIVE_MAP_RIGID, "lower_arm", 0.04, 0.04, 1.0};
    actor plain = actor_open(actor_scene("arm", 0.4), "", 1);
    actor a = actor_open_painted(actor_scene("arm", 0.4), "", 1, paint_with, &b);
    for (int i = 1; i <= 30; i++) {
        actor_sample(&a, "bend", i / 30.0);
        actor_sample(&plain, "bend", i / 30.0);
        actor_step(&a, 1.0 / 30.0);
        actor_step(&plain, 1.0 / 30.0);
    }
    float *linear = actor_linear(&a);
    float *mask = malloc((size_t)a.rig->vertex_count * sizeof *mask);
    CHECK_EQ(sup_paint_sphere(a.rig, sup_rig_find_joint(a.rig, b.joint), b.radius, b.border, mask, NULL), SUP_OK);
    double inside = 0.0, moved = 0.0;
    int32_t count = 0;
    for (int32_t v = 0; v < a.rig->vertex_count; v++) {
        if (mask[v] < 1.0f) continue;
        inside = fmax(inside, distance(a.positions + 3 * v, linear + 3 * v));
        moved = fmax(moved, distance(plain.positions + 3 * v, linear + 3 * v));
        count++;
    }
    CHECK(count > 20);
    double size = (double)a.rig->size;
    CHECK_MSG(inside < 0.002 * size && moved > 5.0 * inside, "rigid %.5f, simulated %.5f of the size", inside / size,
              moved / size);
    double worst = largest_stretch(&a);
    memcpy(a.positions, linear, (size_t)a.rig->vertex_count * 12);
    CHECK_MSG(worst < 1.1 * fmax(largest_stretch(&a), largest_stretch(&plain)), "stretch at the border %.3f", worst);
    free(mask);
    free(linear);
    actor_close(&a);
    actor_close(&plain);
}

TEST(all_rigid_is_linear_blending)
{
    brush b = {.map = SUP_PROJECTIVE_MAP_RIGID, .value = 1.0};
    actor a = actor_open_painted(actor_scene("cylinder", 0.4), "", 1, paint_with, &b);
    actor_sample(&a, "bend", 0.7);
    actor_step(&a, 1.0 / 30.0);
    float *linear = actor_linear(&a);
    CHECK_NEAR(actor_farthest(&a, linear), 0.0, 1e-3);
    free(linear);
    actor_close(&a);
}

/* Thesis, figure 3.21: a free trunk of the elephant swings when the head turns; otherwise it follows its bones. */
TEST(a_free_trunk_swings_and_returns)
{
    double away[2];
    for (int freed = 0; freed < 2; freed++) {
        brush b = {SUP_PROJECTIVE_MAP_FREE, "trunk_1", 0.0, 0.0, freed};
        actor a = actor_open_painted(actor_scene("elephant", 0.12), "", 1, paint_with, &b);
        away[freed] = 0.0;
        for (int i = 1; i <= 36; i++) {
            actor_sample(&a, "shake", i / 30.0);
            actor_step(&a, 1.0 / 30.0);
            if (i % 6 != 0) continue;
            float *linear = actor_linear(&a);
            away[freed] = fmax(away[freed], actor_farthest(&a, linear));
            free(linear);
        }
        CHECK_EQ(sup_pose_rest(a.character, a.pose), SUP_OK);
        /* Damped for the test: without damping a free trunk swings for many seconds. */
        CHECK_EQ(sup_instance_set(a.instance, "damping", 0.06, NULL), SUP_OK);
        for (int i = 0; i < 210; i++)
            actor_step(&a, 1.0 / 30.0);
        CHECK_NEAR(actor_farthest(&a, a.rig->positions), 0.0, 0.01);
        actor_close(&a);
    }
    CHECK_MSG(away[1] > 0.2 && away[0] < 0.07, "from linear: free %.3f, held %.3f", away[1], away[0]);
}

static double sag(double value, const char *settings)
{
    brush b = {.map = SUP_PROJECTIVE_MAP_STIFFNESS, .value = value};
    actor a = actor_open_painted(actor_scene("arm", 0.3), settings, 1, paint_with, &b);
    for (int i = 0; i < 60; i++)
        actor_step(&a, 1.0 / 30.0);
    double farthest = actor_farthest(&a, a.rig->positions);
    actor_close(&a);
    return farthest;
}

TEST(painted_stiffness_changes_the_sag)
{
    /* The shape limits would cut the sag of soft tissue. */
    double soft = sag(0.2, "gravity=9.81 limits=0"), usual = sag(1.0, "gravity=9.81 limits=0"),
           firm = sag(5.0, "gravity=9.81 limits=0");
    CHECK_MSG(soft > 3.0 * usual && usual > 3.0 * firm && firm > 0.0, "%.5f %.5f %.5f", soft, usual, firm);
    /* The parameter and the map have the same effect, except on the minimum for slow swings and on the velocity
     * limit. */
    CHECK_NEAR(sag(1.0, "gravity=9.81 stiffness=5 limits=0"), firm, 0.05 * firm);
}

TEST(wind_accelerates_tissue_in_its_direction)
{
    static const char *const settings[] = {"wind=20", "wind=20 wind_heading=90", "wind=20 wind_rise=90", "wind=0"};
    static const int axis[] = {2, 0, 1, 0}; /* up is y: the next axis is z, then x */
    for (int i = 0; i < 4; i++) {
        actor a = actor_open(actor_scene("arm", 0.3), settings[i], 1);
        for (int k = 0; k < 40; k++)
            actor_step(&a, 1.0 / 30.0);
        double sum[3] = {0, 0, 0};
        for (int32_t v = 0; v < 3 * a.rig->vertex_count; v++)
            sum[v % 3] += ((double)a.positions[v] - (double)a.rig->positions[v]) / (double)a.rig->vertex_count;
        double all = fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]), size = (double)a.rig->size;
        if (i < 3)
            CHECK_MSG(sum[axis[i]] > 0.9 * all && all > 1e-4 * size, "%s: %.6f %.6f %.6f", settings[i], sum[0], sum[1],
                      sum[2]);
        else
            CHECK(all < 1e-6 * size);
        actor_close(&a);
    }
}

/* --- Momentum --- */

/* All joints move back and forth by a quarter of the size, many times per second: the stretch stays bounded. */
TEST(violent_motion_does_not_pull_tissue_off_its_bones)
{
    actor a = actor_open(actor_scene("human", 0.25), "", 2);
    double worst = 0.0;
    for (int i = 0; i < 20; i++) {
        sup_transform move = sup_transform_identity();
        move.translation.x = (i % 4 < 2 ? 0.25f : -0.25f) * a.rig->size;
        sup_mat34 m = sup_mat34_from_transform(move);
        CHECK_EQ(sup_pose_rest(a.character, a.pose), SUP_OK);
        for (int32_t n = 0; n < a.pose->node_count; n++)
            a.pose->world[n] = sup_mat34_multiply(m, a.pose->world[n]);
        actor_step(&a, 1.0 / 30.0);
        worst = fmax(worst, largest_stretch(&a));
    }
    CHECK_MSG(worst < 3.0, "stretch %.2f", worst);
    actor_close(&a);
}

/* The velocity limit must not stop moderate motion: the result differs from the static solve. */
TEST(moderate_motion_still_swings)
{
    actor a = actor_open(actor_scene("human", 0.25), "", 2),
          static_solve = actor_open(actor_scene("human", 0.25), "dynamic=off", 2);
    double most = 0.0;
    for (int i = 1; i <= 30; i++) {
        actor_sample(&a, "jump", i / 30.0);
        actor_sample(&static_solve, "jump", i / 30.0);
        actor_step(&a, 1.0 / 30.0);
        actor_step(&static_solve, 1.0 / 30.0);
        most = fmax(most, actor_farthest(&a, static_solve.positions));
    }
    CHECK_MSG(most > 0.004, "swings by %.5f of the size", most);
    actor_close(&a);
    actor_close(&static_solve);
}

/* K u = m by Gaussian elimination on a dense matrix. */
static void reference_deflection(const sup_tissue *t, double *u)
{
    int32_t n = 2 * t->skin_count, *number = malloc((size_t)n * sizeof *number), count = 0;
    double volume = 0.0, low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
    for (int32_t v = 0; v < n; v++)
        number[v] = v < t->skin_count || t->base_class[v - t->skin_count] == SUP_BASE_FREE ? count++ : -1;
    size_t w = (size_t)count + 1;
    double *a = calloc((size_t)count * w, sizeof *a);
    for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
        const int32_t *c = t->tets + 4 * i;
        sup_vec3d p[4], g[4];
        if (!(t->tet_volume[i] > 0.0)) continue;
        for (int k = 0; k < 4; k++)
            p[k] = c[k] < t->skin_count ? sup_tissue_point(t->skin, c[k])
                                        : sup_tissue_point(t->base, c[k] - t->skin_count);
        for (int k = 0; k < 4; k++) { /* gradient of the linear function that is 1 at this corner and 0 at the others */
            sup_vec3d o = p[(k + 1) % 4];
            sup_vec3d m = sup_v3_cross(sup_v3_sub(p[(k + 2) % 4], o), sup_v3_sub(p[(k + 3) % 4], o));
            g[k] = sup_v3_scale(m, 1.0 / sup_v3_dot(m, sup_v3_sub(p[k], o)));
        }
        for (int k = 0; k < 4; k++) {
            if (c[k] < t->skin_count) volume += t->tet_volume[i] / 4.0;
            if (number[c[k]] < 0) continue;
            double *row = a + (size_t)number[c[k]] * w;
            if (c[k] < t->skin_count) row[count] += t->tet_volume[i] / 4.0;
            for (int j = 0; j < 4; j++)
                if (number[c[j]] >= 0) row[number[c[j]]] += t->tet_volume[i] * sup_v3_dot(g[k], g[j]);
        }
    }
    for (int32_t i = 0; i < count; i++)
        for (int32_t j = i + 1; j < count; j++) {
            double f = a[(size_t)j * w + (size_t)i] / a[(size_t)i * w + (size_t)i];
            for (int32_t k = i; f != 0.0 && k <= count; k++)
                a[(size_t)j * w + (size_t)k] -= f * a[(size_t)i * w + (size_t)k];
        }
    for (int32_t i = count - 1; i >= 0; i--) {
        double *row = a + (size_t)i * w;
        for (int32_t k = i + 1; k < count; k++)
            row[count] -= row[k] * a[(size_t)k * w + (size_t)count];
        row[count] /= row[i];
    }
    for (int32_t v = 0; v < 3 * t->skin_count; v++) {
        low[v % 3] = fmin(low[v % 3], t->skin[v]);
        high[v % 3] = fmax(high[v % 3], t->skin[v]);
    }
    double side = cbrt((high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]));
    for (int32_t v = 0; v < t->skin_count; v++)
        u[v] = a[(size_t)number[v] * w + (size_t)count] / volume * side / 10.0;
    free(number);
    free(a);
}

static const tube_joint tube_joints[] = {
    {"a", -1, 0.2, 0, 0, true}, {"b", 0, 2.0, 0, 0, true}, {"c", 1, 3.8, 0, 0, true}};

TEST(deflection_matches_the_sag_under_gravity)
{
    double first = 0.0;
    for (int s = 0; s < 2; s++) { /* in two units of length */
        tube_def d = {4.0, 0.5, s == 0 ? 1.0 : 100.0, 12, 8, tube_joints, 3, false, false, false};
        fixture f = fixture_tube(&d);
        sup_error error = {0};
        CHECK_OK(fixture_make(&f, NULL, &error), error);
        size_t count = (size_t)f.tissue->skin_count;
        unsigned char *fixed = calloc(count, 1);
        double *u = malloc(count * sizeof *u), *slow = malloc(count * sizeof *slow);
        CHECK_OK(sup_tissue_deflection(NULL, f.tissue, fixed, u, &error), error);
        reference_deflection(f.tissue, slow);
        for (size_t v = 0; v < count; v++)
            CHECK_NEAR(u[v], slow[v], 1e-8 * slow[v]);
        if (s == 0)
            first = u[count / 2];
        else
            CHECK_NEAR(u[count / 2], first, 1e-5 * first);
        fixed[0] = 1;
        CHECK_OK(sup_tissue_deflection(NULL, f.tissue, fixed, slow, &error), error);
        CHECK(slow[0] == 0.0 && slow[1] <= u[1]);
        free(fixed);
        free(u);
        free(slow);
        fixture_destroy(&f);
    }
}

/* --- Attachment --- */

/* With all bases free the tissue has no anchor: all bases are attached to bones. With some anchored nothing changes. */
TEST(tissue_without_bones_is_attached)
{
    tube_def d = {4.0, 0.5, 1.0, 12, 8, tube_joints, 3, false, false, false};
    fixture f = fixture_tube(&d);
    sup_error error = {0};
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    sup_tissue *t = f.tissue;
    unsigned char *loose = calloc((size_t)t->skin_count, 1);
    int32_t held = -1;
    CHECK_OK(sup_tissue_attach(NULL, f.skeleton, t, loose, &held, &error), error);
    CHECK_EQ(held, 0);
    for (int32_t v = 0; v < t->skin_count; v++)
        t->base_class[v] = SUP_BASE_FREE;
    CHECK_OK(sup_tissue_attach(NULL, f.skeleton, t, loose, &held, &error), error);
    CHECK_EQ(held, t->skin_count);
    for (int32_t v = 0; v < t->skin_count; v++) {
        CHECK_EQ(t->base_class[v], SUP_BASE_BONE);
        CHECK(!f.skeleton->segments[t->base_owner[v]].is_virtual && loose[v] == 0);
    }
    /* A vertex whose tetrahedra are all degenerate is loose. */
    for (int32_t i = 0; i < 3 * t->triangle_count; i++)
        for (int k = 0; k < 4; k++)
            if (t->tets[4 * i + k] == 5) t->tet_volume[i] = 0.0;
    CHECK_OK(sup_tissue_attach(NULL, f.skeleton, t, loose, &held, &error), error);
    for (int32_t v = 0; v < t->skin_count; v++)
        CHECK_EQ(loose[v], v == 5);
    free(loose);
    fixture_destroy(&f);
}

/* Separate roots are joined where their skins touch, not where their joints are near in the bind pose. */
TEST(a_crouching_frog_keeps_its_legs_apart)
{
    fixture f = fixture_tissue("gltf/quat_Frog.glb", 1.0, NULL);
    for (int32_t p = 0; p < f.skeleton->segment_count; p++) {
        const sup_bone_segment *segment = &f.skeleton->segments[p];
        if (!segment->is_virtual) continue;
        const char *a = f.character->nodes[f.rig->joint_node[segment->joint]].name;
        const char *b = segment->child >= 0 ? f.character->nodes[f.rig->joint_node[segment->child]].name : "";
        bool legs = strstr(a, "Leg") != NULL && strstr(b, "Leg") != NULL;
        CHECK_MSG(!legs || strncmp(a, b, 4) == 0, "%s is joined to %s", a, b);
    }
    fixture_destroy(&f);
}

/* Skins in the plane of their bones, and bodies of many disconnected components. */
TEST(flat_and_disconnected_characters_can_be_animated)
{
    static const char *const names[] = {"gltf/khronos_SimpleSkin.gltf", "gltf/m2m_Human_customanim.glb",
                                        "gltf/quat_Wasp_nanweights.glb", "gltf/quat_Knight.glb"};
    for (int i = 0; i < 4; i++) {
        sup_character *character = NULL;
        sup_error error;
        CHECK_OK(sup_load(NULL, test_asset(names[i]), NULL, &character, &error), error);
        actor a = actor_open(character, "", 2);
        double worst = 0.0;
        CHECK_EQ(sup_pose_sample(character, &character->clips[0], 0.0, a.pose), SUP_OK);
        CHECK_EQ(sup_instance_reset(a.instance, a.pose), SUP_OK);
        for (int k = 1; k <= 10; k++) {
            CHECK_EQ(sup_pose_sample(character, &character->clips[0], k / 30.0, a.pose), SUP_OK);
            actor_step(&a, 1.0 / 30.0);
            worst = fmax(worst, largest_stretch(&a));
        }
        CHECK_MSG(worst < 4.0, "%s is stretched %.2f times", names[i], worst);
        actor_close(&a);
    }
}
