/* Meshing of fields: closed manifolds with correct genus and volume, rejected input, mirrored halves, remeshing. */
#include "geometry/halfedge.h"
#include "geometry/remesh.h"
#include "test.h"

static const sup_context *context(void)
{
    static sup_context resolved;
    resolved = sup_context_resolve(NULL);
    return &resolved;
}

static double sphere(const void *user, sup_vec3d p)
{
    return sup_v3_length(p) - *(const double *)user;
}

static double ring(const void *user, sup_vec3d p)
{
    double across = sqrt(p.x * p.x + p.z * p.z) - 1.0;
    (void)user;
    return sqrt(across * across + p.y * p.y) - 0.3;
}

/* A random sign at every corner of the grid: all cases of a cube next to all others. */
static double foam(const void *user, sup_vec3d p)
{
    const double cell = 0.11, outside = fmax(fmax(fabs(p.x), fabs(p.y)), fabs(p.z)) - 1.0;
    int32_t corner[4] = {(int32_t)lround((p.x + 1.45) / cell), (int32_t)lround((p.y + 1.45) / cell),
                         (int32_t)lround((p.z + 1.45) / cell), *(const int32_t *)user};
    if (outside > 0.0) return outside;
    return sup_hash64(corner, sizeof corner, 7) & 1 ? 0.1 : -0.1;
}

static double even(const void *user, sup_vec3d p)
{
    (void)p;
    return *(const double *)user;
}

static sup_isosurface_def definition(sup_field_fn *fn, const void *user, double cell)
{
    sup_isosurface_def def = {.context = context(),
                              .field = {fn, user},
                              .lower = {-1.45, -1.45, -1.45},
                              .upper = {1.45, 1.45, 1.45},
                              .cell = cell,
                              .slack = 1.5};
    return def;
}

static double volume(const sup_surface *s)
{
    double sum = 0.0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangles + (size_t)t * 3;
        sum += sup_v3_dot(s->positions[c[0]], sup_v3_cross(s->positions[c[1]], s->positions[c[2]])) / 6.0;
    }
    return sum;
}

/* Euler number of a closed manifold; fails the test if the mesh is not one. */
static int32_t euler(const sup_surface *s, bool closed)
{
    sup_halfedges mesh;
    bool manifold;
    CHECK(sup_halfedges_create(&mesh, s, &manifold) && manifold);
    int32_t border = 0, fans = 0;
    for (int32_t h = 0; h < mesh.face_count * 3; h++)
        border += mesh.twin[h] < 0;
    CHECK(!closed || border == 0);
    for (int32_t v = 0; v < mesh.vertex_count; v++) {
        int32_t neighbours[SUP_RING_MAX], count = sup_he_ring(&mesh, v, neighbours);
        fans += closed ? count : 0;
    }
    /* One fan at each vertex: the total number of ring neighbours equals the number of corners. */
    if (closed) CHECK_EQ(fans, mesh.face_count * 3);
    int32_t edges = (mesh.face_count * 3 + border) / 2, number = mesh.vertex_count - edges + mesh.face_count;
    sup_halfedges_free(&mesh);
    return number;
}

TEST(sphere_and_torus_have_correct_volume_and_genus)
{
    const double radius = 1.0, pi = 3.14159265358979323846;
    sup_surface s;
    sup_error error;
    sup_isosurface_def def = definition(sphere, &radius, 0.05);
    CHECK_OK(sup_isosurface(&def, &s, &error), error);
    CHECK_EQ(euler(&s, true), 2);
    CHECK_NEAR(volume(&s), 4.0 / 3.0 * pi, 0.02);
    sup_surface_free(&s);
    def = definition(ring, NULL, 0.05);
    CHECK_OK(sup_isosurface(&def, &s, &error), error);
    CHECK_EQ(euler(&s, true), 0);
    CHECK_NEAR(volume(&s), 2.0 * pi * pi * 0.09, 0.02);
    sup_surface_free(&s);
}

TEST(ambiguous_cells_stay_manifold)
{
    for (int32_t seed = 0; seed < 6; seed++) {
        sup_surface s;
        sup_error error;
        sup_isosurface_def def = definition(foam, &seed, 0.11);
        def.slack = 100.0; /* not a distance: every cell is evaluated */
        CHECK_OK(sup_isosurface(&def, &s, &error), error);
        CHECK_EQ(euler(&s, true) % 2, 0);
        CHECK(s.triangle_count > 1000 && volume(&s) > 0.0);
        sup_surface_free(&s);
    }
}

TEST(mirrored_half_equals_whole_surface)
{
    const double radius = 1.0;
    sup_surface s;
    sup_error error;
    sup_isosurface_def def = definition(sphere, &radius, 0.07);
    def.half = true;
    CHECK_OK(sup_isosurface(&def, &s, &error), error);
    for (int32_t v = 0; v < s.vertex_count; v++)
        CHECK(s.positions[v].x >= 0.0);
    CHECK_EQ(euler(&s, false), 1);
    CHECK_OK(sup_surface_mirror(&s, &error), error);
    CHECK_EQ(euler(&s, true), 2);
    CHECK_NEAR(volume(&s), 4.18879, 0.03);
    sup_surface_free(&s);
}

TEST(invalid_grids_are_rejected)
{
    const double radius = 1.0;
    sup_surface s;
    sup_error error;
    sup_isosurface_def def = definition(sphere, &radius, 0.0);
    CHECK_EQ(sup_isosurface(&def, &s, &error), SUP_ERROR_ARGUMENT);
    def.cell = 1e-9;
    CHECK_EQ(sup_isosurface(&def, &s, &error), SUP_ERROR_ARGUMENT);
    def.cell = (double)NAN;
    CHECK_EQ(sup_isosurface(&def, &s, &error), SUP_ERROR_ARGUMENT);
    def = definition(sphere, &radius, 0.05);
    def.upper = sup_v3(0.5, 1.45, 1.45); /* the sphere is larger than its box */
    CHECK_EQ(sup_isosurface(&def, &s, &error), SUP_ERROR_NUMERIC);
    CHECK_TEXT(error.id, "isosurface.cracked");
    CHECK(s.positions == NULL);
}

static void remesh_sphere(double vertices, int32_t subdivisions, bool half, double *smallest, int32_t *count)
{
    const double radius = 1.0, one = 1.0;
    sup_surface s;
    sup_error error;
    sup_isosurface_def def = definition(sphere, &radius, 0.09);
    def.half = half;
    CHECK_OK(sup_isosurface(&def, &s, &error), error);
    sup_remesh_def remesh = {context(), def.field, 6, subdivisions, 0.2, half ? vertices * 0.5 : vertices};
    sup_field sizes = {even, &one};
    CHECK_OK(sup_remesh(&remesh, &sizes, &s, &error), error);
    if (half) CHECK_OK(sup_surface_mirror(&s, &error), error);
    CHECK_EQ(euler(&s, true), 2);
    *smallest = 1.0;
    for (int32_t t = 0; t < s.triangle_count * 3; t++) {
        const int32_t *c = s.triangles + (size_t)(t / 3) * 3;
        sup_vec3d p = s.positions[c[t % 3]], a = sup_v3_sub(s.positions[c[(t + 1) % 3]], p);
        sup_vec3d b = sup_v3_sub(s.positions[c[(t % 3 + 2) % 3]], p);
        CHECK_NEAR(sup_v3_length(p), 1.0, 1e-4);
        a = sup_v3_sub(s.positions[c[(t % 3 + 1) % 3]], p);
        double sine = sup_v3_length(sup_v3_cross(a, b)) / (sup_v3_length(a) * sup_v3_length(b));
        *smallest = sine < *smallest ? sine : *smallest;
    }
    *count = s.vertex_count;
    sup_surface_free(&s);
}

TEST(remeshing_gives_even_triangles_on_the_field)
{
    for (int half = 0; half < 2; half++) {
        const double wanted[] = {300.0, 1500.0, 6000.0};
        for (int i = 0; i < 3; i++) {
            double smallest;
            int32_t count;
            remesh_sphere(wanted[i], 0, half, &smallest, &count);
            CHECK_MSG(smallest > 0.4, "an angle of %g degrees", asin(smallest) * 57.3);
            CHECK_MSG(fabs(count / wanted[i] - 1.0) < 0.15, "%d vertices, not %g", count, wanted[i]);
            remesh_sphere(wanted[i], 1, half, &smallest, &count);
            CHECK_MSG(smallest > 0.4, "an angle of %g degrees", asin(smallest) * 57.3);
            CHECK_MSG(fabs(count / wanted[i] / 4.0 - 1.0) < 0.15, "%d vertices, not 4 * %g", count, wanted[i]);
        }
    }
}

/* Even when coarse, a torus keeps its hole and a foam its handles. */
TEST(remeshing_keeps_the_topology)
{
    const double one = 1.0, wanted[] = {30.0, 100.0, 500.0};
    const int32_t seed = 3;
    sup_field sizes = {even, &one};
    sup_error error;
    sup_surface s;
    for (int i = 0; i < 6; i++) {
        sup_isosurface_def def = i < 3 ? definition(ring, NULL, 0.06) : definition(foam, &seed, 0.11);
        if (i >= 3) def.slack = 100.0;
        CHECK_OK(sup_isosurface(&def, &s, &error), error);
        int32_t before = euler(&s, true);
        sup_remesh_def remesh = {context(), def.field, 3, 0, 0.2, wanted[i % 3]};
        CHECK_OK(sup_remesh(&remesh, &sizes, &s, &error), error);
        CHECK_EQ(euler(&s, true), before);
        sup_surface_free(&s);
    }
}

TEST(remeshing_rejects_invalid_surfaces)
{
    const double one = 1.0;
    sup_error error;
    sup_surface s;
    sup_remesh_def remesh = {context(), {sphere, &one}, 6, 0, 0.2, 100.0};
    sup_field sizes = {even, &one};
    CHECK(sup_surface_allocate(&s, &context()->allocator, 0, 0));
    CHECK_EQ(sup_remesh(&remesh, &sizes, &s, &error), SUP_ERROR_DATA);
    sup_surface_free(&s);
    /* Three triangles on one edge. */
    const int32_t fin[9] = {0, 1, 2, 1, 0, 3, 0, 1, 4};
    CHECK(sup_surface_allocate(&s, &context()->allocator, 5, 3));
    memcpy(s.triangles, fin, sizeof fin);
    for (int32_t v = 0; v < 5; v++)
        s.positions[v] = sup_v3(v, v * v, 1.0);
    CHECK_EQ(sup_remesh(&remesh, &sizes, &s, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "remesh.manifold");
    sup_surface_free(&s);
}
