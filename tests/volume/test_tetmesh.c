/* Tetrahedra inside of clean, dirty and thin skins: conforming, positive, connected, deterministic. */
#include "volume/improve.h"
#include "volume/shapes.h"
#include "volume/tetmesh.h"

#include "supple/load.h"
#include "supple/rig.h"
#include "supple/scenes.h"

static shape skin;

static void clear(void)
{
    skin.vertex_count = skin.triangle_count = 0;
}

static void create(double target, int32_t threads, sup_tetmesh *mesh) /* below 1: a spacing */
{
    sup_context context = shape_context(threads);
    sup_tetmesh_def def = sup_default_tetmesh_def();
    sup_error error = {0};
    if (target < 1.0)
        def.spacing = target;
    else
        def.tet_target = (int32_t)target;
    CHECK_OK(sup_tetmesh_create(&context, skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles, &def,
                                mesh, &error),
             error);
}

static double volume_of(const sup_tetmesh *mesh, int32_t t)
{
    sup_vec3d p[4];
    for (int k = 0; k < 4; k++)
        p[k] = sup_v3_load(mesh->positions + 3 * mesh->tets[4 * t + k]);
    return sup_v3_dot(sup_v3_sub(p[1], p[0]), sup_v3_cross(sup_v3_sub(p[2], p[0]), sup_v3_sub(p[3], p[0]))) / 6.0;
}

static int compare_faces(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

/* Everything that the header guarantees, by sorting the faces: a different algorithm than the library's. */
static void check_mesh(const sup_tetmesh *mesh)
{
    int32_t(*faces)[3] = malloc(4 * (size_t)mesh->tet_count * sizeof *faces);
    bool *used = calloc((size_t)mesh->vertex_count, 1);
    CHECK(faces != NULL && used != NULL);
    double total = 0.0, outer = 0.0;
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        double volume = volume_of(mesh, t);
        CHECK_MSG(volume > 0.0, "tetrahedron %d has volume %g", t, volume);
        total += volume;
        for (int k = 0; k < 4; k++) {
            int32_t *f = faces[4 * t + k], at = 0;
            used[mesh->tets[4 * t + k]] = true;
            for (int j = 0; j < 4; j++)
                if (j != k) f[at++] = mesh->tets[4 * t + j];
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    if (f[j] > f[j + 1]) {
                        int32_t kept = f[j];
                        f[j] = f[j + 1];
                        f[j + 1] = kept;
                    }
        }
    }
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        CHECK(used[v]);
    int32_t count = 4 * mesh->tet_count, single = 0;
    qsort(faces, (size_t)count, sizeof *faces, compare_faces);
    for (int32_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && compare_faces(faces[i], faces[i + run]) == 0; run++)
            ;
        CHECK_MSG(run <= 2, "a face of %d tetrahedra", run);
        single += run == 1;
    }
    CHECK_EQ(single, mesh->triangle_count);
    for (int32_t i = 0; i < mesh->triangle_count; i++) { /* closed and oriented outward: the same volume */
        const int32_t *c = mesh->triangles + 3 * i;
        outer +=
            sup_v3_dot(sup_v3_load(mesh->positions + 3 * c[0]),
                       sup_v3_cross(sup_v3_load(mesh->positions + 3 * c[1]), sup_v3_load(mesh->positions + 3 * c[2])));
    }
    CHECK_NEAR(outer / 6.0, total, 1e-4 * total);
    CHECK_NEAR(mesh->report.volume, total, 1e-9 * total);
    free(faces);
    free(used);
}

TEST(tetmesh_fills_a_sphere)
{
    sup_tetmesh mesh;
    clear();
    shape_capsule(&skin, 1.0, 2.0, 3.0, 1.0, 0.0, 0.0);
    create(3000, 2, &mesh);
    check_mesh(&mesh);
    CHECK_NEAR(mesh.tet_count, 3000, 150);
    CHECK_EQ(mesh.component_count, 1);
    CHECK_EQ(mesh.report.flipped, 0);
    CHECK_NEAR(mesh.report.volume, mesh.report.solid_volume, 0.03 * mesh.report.solid_volume);
    CHECK_MSG(mesh.report.angle_min > 15.0 && mesh.report.angle_max < 155.0, "angles %g to %g", mesh.report.angle_min,
              mesh.report.angle_max);
    int64_t sum = 0;
    for (int i = 0; i < SUP_TETMESH_ANGLE_BINS; i++)
        sum += mesh.report.angles[i];
    CHECK_EQ(sum, 6 * (int64_t)mesh.tet_count);
    for (int32_t i = 0; i < 3 * mesh.triangle_count;
         i++) { /* the surface is on the skin, and there is no crack inside */
        sup_vec3d p = sup_v3_load(mesh.positions + 3 * mesh.triangles[i]);
        CHECK_NEAR(sup_v3_distance(p, sup_v3(1.0, 2.0, 3.0)), 1.0, 0.01);
    }
    sup_tetmesh_free(&mesh);
}

TEST(tetmesh_keeps_the_bounds_of_the_paper_where_leaves_have_one_size)
{
    sup_context context = shape_context(1);
    sup_error error = {0};
    sup_solid solid;
    clear();
    shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.5, 0.15);
    CHECK_OK(sup_solid_create(&context, skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles, &solid,
                              &error),
             error);
    for (int i = 0; i < 6; i++) {
        sup_lattice lattice;
        sup_isosurface_stuffing made;
        CHECK_OK(sup_lattice_create(&context, &solid, 0.21 + 0.037 * i, NULL, NULL, &lattice, &error), error);
        CHECK_OK(sup_isosurface_stuff(&context, &solid, &lattice, &made, &error), error);
        for (int32_t t = 0; t < made.tet_count; t++) {
            float p[4][3];
            double angles[6];
            for (int k = 0; k < 4; k++)
                sup_v3_store(p[k], made.positions[made.tets[4 * t + k]]);
            const float *const corners[4] = {p[0], p[1], p[2], p[3]};
            sup_tet_angles(corners, angles);
            for (int k = 0; k < 6; k++)
                CHECK_MSG(angles[k] > 10.7 && angles[k] < 164.8, "an angle of %g", angles[k]);
        }
        sup_isosurface_stuffing_free(&made);
        sup_lattice_free(&lattice);
    }
    sup_solid_free(&solid);
}

TEST(tetmesh_is_the_same_for_any_threads_and_units)
{
    sup_tetmesh one, two, large;
    clear();
    shape_capsule(&skin, 0.0, 0.0, 0.0, 0.3, 0.7, 0.1);
    create(0.15, 1, &one);
    create(0.15, 3, &two);
    CHECK_EQ(one.vertex_count, two.vertex_count);
    CHECK(memcmp(one.positions, two.positions, (size_t)one.vertex_count * 12) == 0);
    CHECK(memcmp(one.tets, two.tets, (size_t)one.tet_count * 16) == 0);
    for (int32_t i = 0; i < 3 * skin.vertex_count; i++)
        skin.positions[i] *= 1024.0f; /* exact */
    sup_context context = shape_context(1);
    sup_tetmesh_def def = {.spacing = 0.15 * 1024.0};
    sup_error error = {0};
    CHECK_OK(sup_tetmesh_create(&context, skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles, &def,
                                &large, &error),
             error);
    CHECK_EQ(large.tet_count, one.tet_count);
    for (int32_t i = 0; i < 3 * one.vertex_count; i++)
        CHECK_NEAR(large.positions[i], one.positions[i] * 1024.0f, 1e-3);
    sup_tetmesh_free(&one);
    sup_tetmesh_free(&two);
    sup_tetmesh_free(&large);
}

TEST(tetmesh_treats_dirty_skins_as_solid)
{
    sup_tetmesh mesh;
    double sphere = 4.18879 * 0.97; /* of the tessellated sphere, radius 1 */
    /* Inside out. */
    clear();
    shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0);
    for (int32_t t = 0; t < skin.triangle_count; t++) {
        int32_t kept = skin.triangles[3 * t];
        skin.triangles[3 * t] = skin.triangles[3 * t + 1];
        skin.triangles[3 * t + 1] = kept;
    }
    /* Twice, and a cavity inside. */
    shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0);
    shape_capsule(&skin, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0);
    create(0.3, 2, &mesh);
    check_mesh(&mesh);
    CHECK_EQ(mesh.report.flipped, 1);
    CHECK_EQ(mesh.shell_count, 3);
    CHECK_EQ(mesh.component_count, 1);
    CHECK_NEAR(mesh.report.volume, sphere, 0.04 * sphere);
    sup_tetmesh_free(&mesh);
    /* With a hole: the last rings are missing. */
    clear();
    shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0);
    skin.triangle_count -= 2 * 36 * 5;
    create(0.3, 2, &mesh);
    check_mesh(&mesh);
    CHECK_EQ(mesh.component_count, 1);
    CHECK_NEAR(mesh.report.volume, sphere, 0.08 * sphere);
    sup_tetmesh_free(&mesh);
}

TEST(tetmesh_separates_shells_and_joins_crossing_ones)
{
    sup_tetmesh mesh;
    clear();
    shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0);
    shape_capsule(&skin, 1.2, 0.0, 0.0, 1.0, 0.0, 0.0);
    shape_capsule(&skin, 5.0, 0.0, 0.0, 1.0, 0.0, 0.0);
    int32_t sheet = skin.vertex_count;
    const float corners[9] = {0, 9, 0, 1, 9, 0, 0, 9, 1}; /* encloses nothing */
    memcpy(skin.positions + 3 * (size_t)sheet, corners, sizeof corners);
    const int32_t triangle[3] = {sheet, sheet + 1, sheet + 2};
    memcpy(skin.triangles + 3 * (size_t)skin.triangle_count++, triangle, sizeof triangle);
    skin.vertex_count += 3;
    create(0.3, 2, &mesh);
    check_mesh(&mesh);
    CHECK_EQ(mesh.component_count, 2);
    CHECK_EQ(mesh.shell_count, 4);
    CHECK_EQ(mesh.shells[0].component, mesh.shells[1].component);
    CHECK(mesh.shells[2].component != mesh.shells[0].component && mesh.shells[2].component >= 0);
    CHECK(mesh.shells[0].whole && mesh.shells[1].whole && mesh.shells[2].whole);
    CHECK_EQ(mesh.report.empty_shells, 1);
    CHECK_EQ(mesh.shells[3].component, -1);
    CHECK_EQ(mesh.shells[3].first_vertex, sheet);
    CHECK_EQ(mesh.shells[3].triangle_count, 1);
    sup_tetmesh_free(&mesh);
}

/* A sphere with a rod and a plate far thinner than its cubes: one component, and the rod is filled nearly to its
 * end. */
TEST(tetmesh_keeps_thin_features_connected)
{
    static const double thickness[3] = {0.12, 0.12, 0.03};
    static const int32_t levels[3] = {-1, 2, 2};
    for (int i = 0; i < 3; i++) {
        sup_context context = shape_context(2);
        sup_tetmesh_def def = {.spacing = 0.3, .levels = levels[i]};
        sup_tetmesh mesh;
        sup_error error = {0};
        double d = thickness[i], reach = 0.0;
        clear();
        shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0);
        shape_capsule(&skin, 2.0, 0.05, 0.02, d / 2, 1.5, 0.0);
        shape_box(&skin, (double[3]){-0.3, 0.8, 0.1}, (double[3]){0.3, 2.5, 0.1 + d}, 10);
        CHECK_OK(sup_tetmesh_create(&context, skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles,
                                    &def, &mesh, &error),
                 error);
        check_mesh(&mesh);
        CHECK_MSG(mesh.component_count == 1, "thickness %g: %d components", d, mesh.component_count);
        for (int32_t v = 0; v < mesh.vertex_count; v++)
            reach = fmax(reach, (double)mesh.positions[3 * v]);
        CHECK_MSG(reach > 3.5 - 1.5 * mesh.report.spacing, "the rod of 3.5 ends at %g", reach);
        CHECK_MSG(levels[i] < 0 || mesh.report.finest < 0.2, "the smallest cube has %g", mesh.report.finest);
        sup_tetmesh_free(&mesh);
    }
}

/* Tetrahedra with a corner beyond x = 1.6 whose corners are on both prongs of a fork, or exactly in the middle of its
 * gap. */
static int32_t bridges(const sup_tetmesh *mesh, double middle)
{
    int32_t count = 0;
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        bool above = false, below = false, far = true;
        for (int k = 0; k < 4; k++) {
            const float *p = mesh->positions + 3 * mesh->tets[4 * t + k];
            above = above || (double)p[2] > middle;
            below = below || (double)p[2] < middle;
            far = far && (double)p[0] > 1.6;
        }
        count += far && above && below;
    }
    return count;
}

TEST(tetmesh_keeps_narrow_gaps_open)
{
    static const double gaps[3] = {0.3, 0.1, 0.01}; /* cubes are 0.2 */
    for (int i = 0; i < 3; i++) {
        sup_tetmesh mesh;
        double high[2] = {0.0, 0.0};
        clear();
        shape_fork(&skin, gaps[i]);
        create(0.2, 2, &mesh);
        check_mesh(&mesh);
        CHECK_EQ(mesh.component_count, 1);
        int32_t joined = bridges(&mesh, 0.5 + 0.5 * gaps[i]);
        CHECK_MSG(joined == 0, "gap %g: %d tetrahedra join the prongs", gaps[i], joined);
        for (int32_t v = 0; v < mesh.vertex_count; v++) /* both reach to their ends */
            high[mesh.positions[3 * v + 2] > 0.5f] =
                fmax(high[mesh.positions[3 * v + 2] > 0.5f], (double)mesh.positions[3 * v]);
        CHECK_MSG(high[0] > 2.9 && high[1] > 2.9, "gap %g: the prongs of 3 end at %g and %g", gaps[i], high[0],
                  high[1]);
        CHECK_NEAR(mesh.report.volume, mesh.report.solid_volume, 0.1 * mesh.report.solid_volume);
        sup_tetmesh_free(&mesh);
    }
}

TEST(tetmesh_reports_errors)
{
    sup_context context = shape_context(1);
    sup_tetmesh_def def = sup_default_tetmesh_def();
    sup_error error = {0};
    sup_tetmesh mesh;
    def.tet_target = 300;
    float flat[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    int32_t triangle[6] = {0, 1, 2, 0, 0, 1};
    CHECK_EQ(sup_tetmesh_create(&context, 3, flat, 1, triangle, &def, &mesh, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "tetmesh.empty");
    CHECK_EQ(sup_tetmesh_create(&context, 3, flat, 1, triangle + 3, &def, &mesh, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "solid.empty");
    CHECK_EQ(sup_tetmesh_create(&context, 3, flat, 0, triangle, &def, &mesh, &error), SUP_ERROR_DATA);
    CHECK_EQ(sup_tetmesh_create(&context, 2, flat, 1, triangle, &def, &mesh, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "tetmesh.corner");
    flat[4] = NAN;
    CHECK_EQ(sup_tetmesh_create(&context, 3, flat, 1, triangle, &def, &mesh, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "tetmesh.position");
    flat[4] = 0.0f;
    def.tet_target = -3;
    CHECK_EQ(sup_tetmesh_create(&context, 3, flat, 1, triangle, &def, &mesh, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "tetmesh.target");
    def.tet_target = 0;
    def.spacing = NAN;
    CHECK_EQ(sup_tetmesh_create(&context, 3, flat, 1, triangle, &def, &mesh, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "tetmesh.spacing");
    clear();
    shape_capsule(&skin, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0);
    def.spacing = 1e-4;
    CHECK_EQ(sup_tetmesh_create(&context, skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles, &def,
                                &mesh, &error),
             SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "lattice.size");
}

TEST(tetmesh_fills_the_human_with_one_component)
{
    sup_context context = shape_context(2);
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_error error = {0};
    CHECK_OK(sup_scene_create(&context, "human", 0.25, &character, &error), error);
    CHECK_OK(sup_rig_create(&context, character, NULL, &rig, &error), error);
    sup_tetmesh_def def = {.tet_target = 5000};
    sup_tetmesh mesh;
    CHECK_OK(sup_tetmesh_create(&context, rig->skin_vertex_count, rig->skin_positions, rig->skin_triangle_count,
                                rig->skin_triangles, &def, &mesh, &error),
             error);
    check_mesh(&mesh);
    CHECK_NEAR(mesh.tet_count, 5000, 250);
    CHECK_EQ(mesh.component_count, 1);
    CHECK_EQ(mesh.report.empty_shells, 0);
    CHECK_MSG(mesh.report.angle_min > 8.0 && mesh.report.angle_max < 170.0, "angles %g to %g", mesh.report.angle_min,
              mesh.report.angle_max);
    CHECK_NEAR(mesh.report.volume, mesh.report.solid_volume, 0.1 * mesh.report.solid_volume);
    sup_tetmesh_free(&mesh);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

TEST(tetmesh_fills_a_dirty_scan)
{
    sup_context context = shape_context(2);
    sup_character *character = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(&context, test_asset("scans/scan_male_apose.ply"), NULL, &character, &error), error);
    sup_tetmesh_def def = {.spacing = 0.08};
    sup_tetmesh mesh;
    CHECK_OK(sup_tetmesh_create(&context, character->vertex_count, character->positions, character->triangle_count,
                                character->triangles, &def, &mesh, &error),
             error);
    check_mesh(&mesh);
    CHECK_NEAR(mesh.report.volume, 0.062, 0.01); /* cubic metres: of the clean body */
    sup_tetmesh_free(&mesh);
    sup_character_destroy(character);
}
