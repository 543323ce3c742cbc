/* test_tissue.c - bases, prisms, tetrahedra, and all characters of the assets. */
#include "projective/fixture.h"
#include "scene.h"

/* --- Lines and primitives --- */

static double random_in(sup_random *random, double low, double high)
{
    return low + (high - low) * sup_random_unit(random);
}

static sup_vec3d random_point(sup_random *random, double size)
{
    double x = random_in(random, -size, size), y = random_in(random, -size, size);
    return sup_v3(x, y, random_in(random, -size, size));
}

/* Signed distance, negative inside. The cone counts only between its flat ends. */
static double outside_sphere(sup_vec3d p, sup_vec3d c, double r)
{
    return sup_v3_distance(p, c) - r;
}

static double outside_cone(sup_vec3d p, sup_vec3d a, sup_vec3d b, double r0, double r1)
{
    sup_vec3d axis = sup_v3_sub(b, a);
    double t = sup_v3_dot(sup_v3_sub(p, a), axis) / sup_v3_dot(axis, axis);
    if (t < 0.0 || t > 1.0) return INFINITY;
    return sup_v3_distance(p, sup_v3_lerp(a, b, t)) - (r0 + t * (r1 - r0));
}

TEST(line_hits_on_spheres_and_cones_match_ray_marching)
{
    sup_random random = {7};
    int hits = 0;
    for (int i = 0; i < 4000; i++) {
        sup_vec3d o = random_point(&random, 3), a = random_point(&random, 1);
        sup_vec3d d = sup_v3_scale(sup_v3_sub(random_point(&random, 1), o), 1.5);
        sup_vec3d b = i % 5 == 0 ? sup_v3_madd(a, 0.7, d) : random_point(&random, 1); /* also along the axis */
        double r0 = random_in(&random, 0.05, 1), r1 = i % 3 == 0 ? r0 : random_in(&random, 0.05, 1);
        bool sphere = i % 2 == 0;
        double t = sphere ? sup_shrink_sphere(o, d, a, r0) : sup_shrink_cone(o, d, a, b, r0, r1);
        if (t <= 1.0) {
            sup_vec3d p = sup_v3_madd(o, t, d);
            double off = sphere ? outside_sphere(p, a, r0) : outside_cone(p, a, b, r0, r1);
            hits++;
            if (isfinite(off)) CHECK_NEAR(off, 0.0, 1e-9);
        }
        double first = INFINITY, before = INFINITY;
        for (int k = 0; k <= 2000 && first == INFINITY; k++) { /* from outside, through the round side, to inside */
            sup_vec3d p = sup_v3_madd(o, k / 2000.0, d);
            double off = sphere ? outside_sphere(p, a, r0) : outside_cone(p, a, b, r0, r1);
            if (k > 0 && before > 0.0 && before < INFINITY && off < 0.0) first = k / 2000.0;
            before = off;
        }
        if (first < INFINITY) CHECK_MSG(t <= first + 1e-9, "line %d: %g, but inside at %g", i, t, first);
        if (t <= 0.999 && first < INFINITY) CHECK_MSG(t >= first - 1.0 / 2000 - 1e-9 || t < first, "line %d", i);
    }
    CHECK_MSG(hits > 500, "%d hits", hits);
}

/* --- Bases --- */

static double distance_to_primitive(const sup_volumetric_skeleton *s, const sup_tissue *t, int32_t v)
{
    sup_vec3d q = sup_tissue_point(t->base, v);
    int32_t owner = t->base_owner[v];
    if (t->base_class[v] == SUP_BASE_SPHERE)
        return fabs(outside_sphere(q, s->spheres[owner].centre, s->spheres[owner].radius));
    const sup_bone_segment *p = &s->segments[owner];
    sup_vec3d d = sup_v3_scale(sup_v3_sub(p->to, p->from), 1.0 / sup_segment_length(p));
    sup_vec3d a = sup_v3_madd(p->from, sup_segment_inset(s, p, 0), d),
              b = sup_v3_madd(p->to, -sup_segment_inset(s, p, 1), d);
    sup_vec3d on = sup_v3_lerp(a, b, sup_v3_segment_parameter(q, a, b));
    if (t->base_class[v] == SUP_BASE_BONE) return fabs(sup_v3_distance(q, on) - p->radius);
    double best = INFINITY;
    for (int end = 0; end < 2; end++) {
        int32_t sphere = end == 0 ? p->sphere_from : p->sphere_to;
        if (sphere < 0) continue;
        const sup_joint_sphere *k = &s->spheres[sphere];
        best = fmin(best, fabs(outside_cone(q, end == 0 ? a : b, k->centre, 0.8 * p->radius, 0.8 * k->radius)));
    }
    return best;
}

TEST(every_base_lies_on_its_primitive_or_is_flagged)
{
    const char *const names[] = {"scene:human", "scene:elephant", "scene:hand", "fps/male/male.ini",
                                 "fps/tbone/tbone.ini"};
    for (int i = 0; i < SUP_COUNT(names); i++) {
        fixture f = fixture_tissue(names[i], 0.5, NULL);
        int32_t off = 0;
        for (int32_t v = 0; v < f.tissue->skin_count; v++) {
            if (!f.tissue->base_off[v])
                CHECK_MSG(distance_to_primitive(f.skeleton, f.tissue, v) <= 1e-9 * (double)f.rig->size, "%s: vertex %d",
                          names[i], v);
            off += f.tissue->base_off[v];
            sup_vec3d x = sup_tissue_point(f.tissue->skin, v),
                      foot = sup_foot_position(f.skeleton, f.tissue->foot_points[v]);
            double whole = sup_v3_distance(x, foot);
            CHECK(sup_v3_distance(x, sup_tissue_point(f.tissue->base, v)) >= 0.0999 * whole);
        }
        CHECK_MSG(off < f.tissue->skin_count / 5, "%s: %d bases off", names[i], off);
        fixture_destroy(&f);
    }
}

TEST(a_skin_vertex_inside_a_bone_gets_a_base_further_in)
{
    const tube_joint joints[] = {{"a", -1, 2, 0, 0, true}, {"b", 0, 10, 0, 0, false}};
    double radius[2] = {1.5, 0};
    tube_def d = {.length = 12, .radius = 1, .rings = 25, .sides = 12, .joints = joints, .joint_count = 2};
    fixture f = fixture_tube(&d);
    sup_error error;
    sup_tissue_def def = {.skeleton = {.bone_radius = radius}};
    CHECK_OK(fixture_make(&f, &def, &error), error);
    CHECK(f.report.clamped > 200);
    CHECK_EQ(f.report.inverted, 0);
    CHECK_EQ(f.report.flat, 0);
    fixture_destroy(&f);
}

/* --- Prisms --- */

TEST(the_three_tets_fill_a_prism_for_every_order_of_its_vertices)
{
    static const int32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    sup_random random = {11};
    for (int o = 0; o < 6; o++)
        for (int i = 0; i < 50; i++) {
            /* The base is the triangle moved and scaled: planar sides. Outward = away from the base. */
            double skin[9], base[9], k = random_in(&random, 0.2, 0.9), h = random_in(&random, 0.5, 1.5);
            int32_t triangle[3], tets[12];
            for (int c = 0; c < 3; c++) {
                int32_t v = orders[o][c];
                double angle = 2.0943951023931953 * c;
                skin[3 * v] = 2 * cos(angle), skin[3 * v + 1] = 2 * sin(angle), skin[3 * v + 2] = h;
                base[3 * v] = k * skin[3 * v], base[3 * v + 1] = k * skin[3 * v + 1], base[3 * v + 2] = 0;
                triangle[c] = v;
            }
            sup_tissue t = {.skin_count = 3, .triangle_count = 1, .skin = skin, .base = base};
            sup_tissue_split(triangle, 3, tets);
            double sum = 0.0;
            for (int tet = 0; tet < 3; tet++) {
                double volume = sup_tissue_volume6(&t, tets + 4 * tet) / 6.0;
                CHECK(volume > 0.0);
                sum += volume;
            }
            double area = 3.0 * sqrt(3.0); /* of the skin triangle; a frustum's volume: */
            CHECK_NEAR(sum, h * area * (1.0 + k + k * k) / 3.0, 1e-12);
        }
}

typedef struct side {
    int32_t low, high, diagonal; /* skin vertices of the edge, and which of them is on the skin end of the diagonal */
} side;

static int compare_sides(const void *a, const void *b)
{
    const side *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

static bool has_edge(const int32_t *tets, int32_t a, int32_t b)
{
    for (int k = 0; k < 3; k++) {
        int found = 0;
        for (int i = 0; i < 4; i++)
            found += tets[4 * k + i] == a || tets[4 * k + i] == b;
        if (found == 2) return true;
    }
    return false;
}

TEST(adjacent_prisms_have_the_same_diagonal)
{
    fixture f = fixture_tissue("scene:hand", 0.3, NULL);
    const sup_tissue *t = f.tissue;
    int32_t n = t->skin_count;
    side *sides = malloc(3 * (size_t)t->triangle_count * sizeof *sides);
    for (int32_t h = 0; h < 3 * t->triangle_count; h++) {
        int32_t a = t->triangles[h], b = t->triangles[h % 3 == 2 ? h - 2 : h + 1];
        const int32_t *tets = t->tets + 12 * (size_t)(h / 3);
        bool one = has_edge(tets, a, b + n), other = has_edge(tets, b, a + n);
        CHECK(one != other);
        sides[h] = (side){a < b ? a : b, a < b ? b : a, one ? a : b};
    }
    qsort(sides, 3 * (size_t)t->triangle_count, sizeof *sides, compare_sides);
    for (int32_t h = 1; h < 3 * t->triangle_count; h++)
        if (compare_sides(&sides[h - 1], &sides[h]) == 0) CHECK_EQ(sides[h - 1].diagonal, sides[h].diagonal);
    free(sides);
    fixture_destroy(&f);
}

TEST(repair_leaves_no_flat_tet_and_inverts_none)
{
    const char *const names[] = {"scene:human", "scene:elephant", "scene:arm", "khronos_CesiumMan.glb"};
    for (int i = 0; i < SUP_COUNT(names); i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%s", i == 3 ? "gltf/" : "", names[i]);
        sup_tissue_def none = {.min_volume_ratio = 1e-300};
        fixture a = fixture_tissue(path, 0.6, &none), b = fixture_tissue(path, 0.6, NULL);
        CHECK_EQ(a.report.moved, 0);
        CHECK_EQ(b.report.flat, 0);
        CHECK(b.report.min_ratio >= 0.00999);
        CHECK_EQ(a.tissue->triangle_count, b.tissue->triangle_count);
        int32_t flat = 0;
        for (int32_t p = 0; p < a.tissue->triangle_count; p++) {
            double least = INFINITY, most = 0.0;
            for (int k = 0; k < 3; k++) {
                const int32_t *tet = a.tissue->tets + 12 * (size_t)p + 4 * (size_t)k;
                double before = sup_tissue_volume6(a.tissue, tet), after = sup_tissue_volume6(b.tissue, tet);
                CHECK(before * after >= 0.0);
                CHECK_NEAR(b.tissue->tet_volume[3 * p + k], fabs(after) / 6.0, 1e-15);
                least = fmin(least, fabs(before)), most = fmax(most, fabs(before));
            }
            flat += least < 0.01 * most;
        }
        CHECK_EQ(b.report.repaired, flat);
        fixture_destroy(&a);
        fixture_destroy(&b);
    }
}

/* --- Any mesh, any unit, any number of threads --- */

static bool finite_tissue(const sup_tissue *t)
{
    for (int32_t i = 0; i < 3 * t->skin_count; i++)
        if (!isfinite(t->base[i]) || !isfinite(t->skin[i])) return false;
    for (int32_t i = 0; i < 3 * t->triangle_count; i++)
        if (!(t->tet_volume[i] >= 0.0) || !isfinite(t->tet_volume[i])) return false;
    return true;
}

static const tube_joint chain[] = {{"a", -1, 1, 0, 0, true}, {"b", 0, 5, 0, 0, true}, {"c", 1, 9, 0, 0, true}};

TEST(open_and_dirty_meshes_have_tissue)
{
    tube_def d = {.length = 12, .radius = 1, .rings = 25, .sides = 12, .joints = chain, .joint_count = 3};
    for (int kind = 0; kind < 4; kind++) {
        d.open = kind % 2 == 1;
        d.bad_faces = kind / 2 == 1;
        fixture f = fixture_tube(&d);
        sup_error error;
        CHECK_OK(fixture_make(&f, NULL, &error), error);
        CHECK(finite_tissue(f.tissue));
        CHECK(f.report.inverted + f.report.flat < 30);
        fixture_destroy(&f);
    }
}

TEST(tissue_scales_with_the_unit)
{
    const double scales[] = {1.0 / 64, 1, 128}; /* powers of two: no rounding, so no tolerance */
    fixture f[3];
    for (int i = 0; i < 3; i++) {
        tube_def d = {.length = 12, .radius = 1, .rings = 25, .sides = 12, .joints = chain, .joint_count = 3};
        d.scale = scales[i];
        sup_error error;
        f[i] = fixture_tube(&d);
        CHECK_OK(fixture_make(&f[i], NULL, &error), error);
        CHECK_EQ(f[i].tissue->skin_count, f[0].tissue->skin_count);
        for (int32_t k = 0; k < 3 * f[i].tissue->skin_count; k++)
            CHECK(f[i].tissue->base[k] / scales[i] == f[0].tissue->base[k] / scales[0]);
    }
    for (int i = 0; i < 3; i++)
        fixture_destroy(&f[i]);
}

TEST(threads_do_not_change_a_bit)
{
    fixture f = fixture_tissue("scene:hand", 0.5, NULL);
    sup_thread_pool *pool;
    sup_error error;
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    sup_volumetric_skeleton *s;
    sup_tissue *t;
    CHECK_OK(sup_tissue_create(&context, f.rig, NULL, NULL, &s, &t, NULL, &error), error);
    CHECK(memcmp(t->base, f.tissue->base, 3 * (size_t)t->skin_count * sizeof *t->base) == 0);
    CHECK(memcmp(t->tet_volume, f.tissue->tet_volume, 3 * (size_t)t->triangle_count * sizeof *t->tet_volume) == 0);
    sup_tissue_destroy(t);
    sup_skeleton_destroy(s);
    sup_thread_pool_destroy(pool);
    fixture_destroy(&f);
}

/* A skin that the caller passes: here that of the rig. */
TEST(an_input_skin_is_used_and_checked)
{
    fixture f = fixture_tissue("scene:tbone", 0.3, NULL);
    const sup_rig *r = f.rig;
    sup_error error = {0};
    sup_volumetric_skeleton *s = NULL;
    sup_tissue *t = NULL;
    int32_t *triangles = malloc(3 * (size_t)r->skin_triangle_count * sizeof *triangles);
    memcpy(triangles, r->skin_triangles, 3 * (size_t)r->skin_triangle_count * sizeof *triangles);
    sup_tissue_skin skin = {.vertex_count = r->skin_vertex_count,
                            .triangle_count = r->skin_triangle_count,
                            .positions = r->skin_positions,
                            .triangles = triangles};
    CHECK_OK(sup_tissue_create(NULL, r, &skin, NULL, &s, &t, NULL, &error), error);
    CHECK_EQ(t->skin_count, f.tissue->skin_count);
    double farthest = 0.0; /* foot points by visibility instead of by weights: nearly the same here */
    for (int32_t i = 0; i < t->skin_count; i++)
        farthest = fmax(farthest, sup_v3_distance(sup_foot_position(s, t->foot_points[i]),
                                                  sup_foot_position(f.skeleton, f.tissue->foot_points[i])));
    CHECK_MSG(farthest < 0.1 * (double)r->size, "%g", farthest);
    sup_tissue_destroy(t);
    sup_skeleton_destroy(s);
    t = NULL;
    triangles[4] = r->skin_vertex_count;
    CHECK_EQ(sup_tissue_create(NULL, r, &skin, NULL, &s, &t, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "tissue.triangle");
    memcpy(triangles, r->skin_triangles, 3 * (size_t)r->skin_triangle_count * sizeof *triangles);
    skin.triangle_count = 8;
    CHECK_EQ(sup_tissue_create(NULL, r, &skin, NULL, &s, &t, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "tissue.loose");
    skin.vertex_count = skin.triangle_count = 0;
    CHECK_EQ(sup_tissue_create(NULL, r, &skin, NULL, &s, &t, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "tissue.empty");
    CHECK(t == NULL);
    free(triangles);
    fixture_destroy(&f);
}

TEST(every_refused_allocation_is_an_error_without_leak)
{
    tube_def d = {.length = 12, .radius = 1, .rings = 9, .sides = 8, .joints = chain, .joint_count = 3};
    fixture f = fixture_tube(&d);
    bool succeeded = false;
    for (int at = 0; at < 400 && !succeeded; at++) {
        failing_allocator counter = {0, at, 0};
        sup_context context = test_failing_context(&counter);
        sup_volumetric_skeleton *s = NULL;
        sup_tissue *t = NULL;
        sup_result result = sup_tissue_create(&context, f.rig, NULL, NULL, &s, &t, NULL, NULL);
        CHECK(result == SUP_OK || result == SUP_ERROR_MEMORY);
        succeeded = result == SUP_OK;
        sup_tissue_destroy(t);
        sup_skeleton_destroy(s);
        CHECK_EQ(counter.open, 0);
    }
    CHECK(succeeded);
    fixture_destroy(&f);
}

/* --- Every character --- */

static const char *const others[] = {"fps/cylinder/cylinder.ini",
                                     "fps/tbone/tbone.ini",
                                     "fps/male/male.ini",
                                     "scene:human",
                                     "scene:elephant",
                                     "scene:hand",
                                     "scene:arm",
                                     "scene:tbone",
                                     "scene:cylinder"};

TEST(every_character_has_tissue_or_is_refused_by_name)
{
    printf("%-34s %6s %6s %6s %5s %5s %6s %6s %8s %6s\n", "tissue of", "skin", "bone", "sphere", "free", "moved",
           "flat", "folded", "smallest", "usual");
    for (int i = 0; i < TEST_CHARACTERS + SUP_COUNT(others); i++) {
        const char *name = i < TEST_CHARACTERS ? test_characters[i] : others[i - TEST_CHARACTERS];
        fixture f = fixture_rig(name, 0.5); /* of the built-in ones */
        sup_error error = {0};
        sup_result result = fixture_make(&f, NULL, &error);
        if (result != SUP_OK) {
            printf("%-34s %s\n", name, error.id);
            CHECK(result == SUP_ERROR_DATA && strncmp(error.id, "tissue.", 7) == 0);
        } else {
            const sup_tissue_report *r = &f.report;
            int32_t tets = 3 * f.tissue->triangle_count;
            printf("%-34s %6d %6d %6d %5d %5d %6d %6d %8.3f %6.3f\n", name, f.tissue->skin_count, r->on_bone,
                   r->on_sphere, r->free_bases, r->moved, r->flat, r->inverted, r->min_ratio, r->median_ratio);
            CHECK(finite_tissue(f.tissue));
            CHECK_EQ(r->on_bone + r->on_sphere + r->free_bases, f.tissue->skin_count);
            CHECK_MSG(r->flat <= tets / 100, "%s: %d flat", name, r->flat);
            CHECK(r->min_ratio >= 0.00999);
        }
        fixture_destroy(&f);
    }
}
