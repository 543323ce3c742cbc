/* The winding number tree against the direct sum over all triangles and against known shapes. */
#include "geometry/winding.h"
#include "test.h"

enum { RINGS = 24, SECTORS = 32, VERTICES = (RINGS + 1) * SECTORS };

static float sphere[3 * VERTICES];
static int32_t faces[6 * RINGS * SECTORS];

/* A sphere of radius 1 about (3, 0, 0) without the last `open` rings. Returns the number of triangles. */
static int32_t make_sphere(int open)
{
    int32_t count = 0;
    for (int r = 0; r <= RINGS; r++)
        for (int s = 0; s < SECTORS; s++) {
            double a = 3.141592653589793 * r / RINGS, b = 6.283185307179586 * s / SECTORS;
            float *p = sphere + 3 * (r * SECTORS + s);
            p[0] = (float)(3.0 + sin(a) * cos(b));
            p[1] = (float)cos(a);
            p[2] = (float)(sin(a) * sin(b));
        }
    for (int r = 0; r < RINGS - open; r++)
        for (int s = 0; s < SECTORS; s++) {
            int32_t v = r * SECTORS + s, w = r * SECTORS + (s + 1) % SECTORS;
            int32_t corners[6] = {v, w, w + SECTORS, v, w + SECTORS, v + SECTORS};
            memcpy(faces + 3 * count, corners, sizeof corners);
            count += 2;
        }
    return count;
}

static sup_winding create(int32_t count)
{
    sup_context context = sup_context_resolve(NULL);
    sup_winding tree;
    sup_error error = {0};
    CHECK_OK(sup_winding_create(&context.allocator, sphere, count, faces, &tree, &error), error);
    return tree;
}

static sup_vec3d at(int32_t index)
{
    return sup_v3_load(sphere + 3 * (size_t)index);
}

/* Solid angles by l'Huilier's spherical excess: another formula than that of the library. */
static double slow_winding(int32_t count, sup_vec3d p)
{
    double sum = 0.0;
    for (int32_t t = 0; t < count; t++) {
        sup_vec3d u[3];
        for (int k = 0; k < 3; k++)
            u[k] = sup_v3_unit_or(sup_v3_sub(at(faces[3 * t + k]), p), sup_v3(1, 0, 0));
        double side[3], s = 0.0;
        for (int k = 0; k < 3; k++) {
            sup_vec3d a = u[(k + 1) % 3], b = u[(k + 2) % 3];
            side[k] = atan2(sup_v3_length(sup_v3_cross(a, b)), sup_v3_dot(a, b));
            s += 0.5 * side[k];
        }
        double product = tan(s / 2) * tan((s - side[0]) / 2) * tan((s - side[1]) / 2) * tan((s - side[2]) / 2);
        double excess = 4.0 * atan(sqrt(fmax(product, 0.0)));
        sum += sup_v3_dot(u[0], sup_v3_cross(u[1], u[2])) < 0.0 ? -excess : excess;
    }
    return sum / (4.0 * 3.141592653589793);
}

static sup_vec3d random_point(sup_random *random, double range)
{
    double x = sup_random_unit(random), y = sup_random_unit(random), z = sup_random_unit(random);
    return sup_v3(3.0 + range * (2 * x - 1), range * (2 * y - 1), range * (2 * z - 1));
}

TEST(winding_number_of_a_closed_sphere)
{
    int32_t count = make_sphere(0);
    sup_winding tree = create(count);
    sup_random random = {2};
    for (int i = 0; i < 2000; i++) {
        sup_vec3d p = random_point(&random, 2.0);
        double r = sup_v3_distance(p, sup_v3(3, 0, 0));
        if (r > 0.98 && r < 1.02) continue; /* between the sphere and its triangles */
        CHECK_NEAR(sup_winding_number(&tree, p), r < 1.0 ? 1.0 : 0.0, 0.02);
    }
    CHECK_NEAR(tree.volume, 4.18879, 0.06);
    CHECK_NEAR(tree.area, 12.56637, 0.1);
    sup_winding_destroy(&tree);
}

TEST(winding_number_of_an_open_sphere_matches_direct_sum)
{
    int32_t count = make_sphere(9);
    sup_winding tree = create(count);
    sup_random random = {3};
    double worst = 0.0;
    for (int i = 0; i < 500; i++) {
        sup_vec3d p = random_point(&random, 2.0);
        worst = fmax(worst, fabs(sup_winding_number(&tree, p) - slow_winding(count, p)));
    }
    CHECK_MSG(worst < 0.02, "difference %g", worst);
    CHECK(sup_winding_number(&tree, sup_v3(3, 0, 0)) > 0.5);
    sup_winding_destroy(&tree);
}

TEST(winding_number_of_empty_and_flat_surfaces)
{
    sup_winding tree = create(0);
    CHECK(sup_winding_number(&tree, sup_v3(0, 0, 0)) == 0.0);
    sup_winding_destroy(&tree);
    make_sphere(0);
    faces[0] = faces[1] = faces[2] = 5;
    tree = create(1);
    CHECK(isfinite(sup_winding_number(&tree, at(5))));
    sup_winding_destroy(&tree);
}
