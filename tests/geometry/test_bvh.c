/* Bounding volume hierarchy against brute force. */
#include "geometry/bvh.h"
#include "test.h"

enum { TRIANGLES = 700 };

typedef struct soup {
    int32_t count;
    float positions[TRIANGLES * 9];
    int32_t triangles[TRIANGLES * 3];
    sup_bvh bvh;
} soup;

static soup world;

static void index_soup(soup *s, int32_t count)
{
    s->count = count;
    for (int32_t k = 0; k < count * 3; k++)
        s->triangles[k] = k;
    sup_error error = {0};
    CHECK_OK(sup_bvh_create(NULL, s->positions, count, s->triangles, &s->bvh, &error), error);
}

static void random_soup(soup *s, int32_t count, double size, uint64_t seed)
{
    sup_random random = {seed};
    for (int32_t t = 0; t < count; t++) {
        double at[3];
        for (int32_t k = 0; k < 3; k++)
            at[k] = 10.0 * sup_random_unit(&random);
        for (int32_t k = 0; k < 9; k++)
            s->positions[t * 9 + k] = (float)(at[k % 3] + size * (sup_random_unit(&random) - 0.5));
    }
    index_soup(s, count);
}

static sup_vec3d random_point(sup_random *random, double low, double high)
{
    double x = sup_random_unit(random), y = sup_random_unit(random), z = sup_random_unit(random);
    return sup_v3(low + x * (high - low), low + y * (high - low), low + z * (high - low));
}

static sup_vec3d corner(const soup *s, int32_t t, int32_t k)
{
    return sup_v3_load(s->positions + s->triangles[t * 3 + k] * 3);
}

/* Intersection with the plane, then three signed areas: independent of the code under test. NAN for a miss. */
static double brute_hit(const soup *s, int32_t t, sup_vec3d o, sup_vec3d d)
{
    sup_vec3d a = corner(s, t, 0), b = corner(s, t, 1), c = corner(s, t, 2);
    sup_vec3d n = sup_v3_cross(sup_v3_sub(b, a), sup_v3_sub(c, a));
    double along = sup_v3_dot(n, d), at = sup_v3_dot(n, sup_v3_sub(a, o)) / along;
    sup_vec3d p = sup_v3_madd(o, at, d), corners[3] = {a, b, c};
    for (int32_t k = 0; k < 3; k++) {
        sup_vec3d e = sup_v3_sub(corners[(k + 1) % 3], corners[k]);
        if (sup_v3_dot(sup_v3_cross(e, sup_v3_sub(p, corners[k])), n) < 0.0) return NAN;
    }
    return at;
}

TEST(bvh_rays_match_brute_force)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        random_soup(&world, TRIANGLES, seed % 2 ? 1.5 : 0.3, seed);
        sup_random random = {seed + 100};
        int32_t hits = 0;
        for (int32_t k = 0; k < 500; k++) {
            sup_vec3d o = random_point(&random, -2, 12), d = sup_v3_sub(random_point(&random, -2, 12), o);
            if (k % 5 == 0) d = sup_v3(k % 10 ? 1.0 : -1.0, 0.0, 0.0); /* along an axis */
            double best = INFINITY;
            int32_t which = -1;
            for (int32_t t = 0; t < world.count; t++) {
                double at = brute_hit(&world, t, o, d);
                if (at >= 0.0 && at <= 5.0 && at < best) best = at, which = t;
            }
            sup_bvh_ray ray = {o, d, 0.0, 5.0, NULL, NULL};
            sup_bvh_hit hit;
            bool found = sup_bvh_ray_first(&world.bvh, &ray, &hit);
            CHECK_EQ(found, which >= 0);
            CHECK_EQ(sup_bvh_ray_any(&world.bvh, &ray), found);
            if (!found) continue;
            hits++;
            CHECK_EQ(hit.triangle, which);
            CHECK_NEAR(hit.t, best, 1e-9);
            sup_vec3d a = corner(&world, which, 0), p = sup_v3_madd(o, hit.t, d);
            sup_vec3d q = sup_v3_madd(sup_v3_madd(a, hit.u, sup_v3_sub(corner(&world, which, 1), a)), hit.v,
                                      sup_v3_sub(corner(&world, which, 2), a));
            CHECK(sup_v3_distance(p, q) < 1e-9);
        }
        CHECK(hits > (seed % 2 ? 100 : 5));
        sup_bvh_free(&world.bvh);
    }
}

/* Distance by dense sampling of the triangle: an upper bound close to the exact distance. */
static double sampled_distance(const soup *s, int32_t t, sup_vec3d p)
{
    enum { STEPS = 40 };
    double best = INFINITY;
    sup_vec3d a = corner(s, t, 0), b = sup_v3_sub(corner(s, t, 1), a), c = sup_v3_sub(corner(s, t, 2), a);
    for (int32_t i = 0; i <= STEPS; i++)
        for (int32_t j = 0; i + j <= STEPS; j++) {
            sup_vec3d q = sup_v3_madd(sup_v3_madd(a, (double)i / STEPS, b), (double)j / STEPS, c);
            best = fmin(best, sup_v3_distance(p, q));
        }
    return best;
}

TEST(bvh_nearest_matches_sampling)
{
    random_soup(&world, 80, 2.0, 9);
    sup_random random = {4};
    for (int32_t k = 0; k < 100; k++) {
        sup_vec3d p = random_point(&random, -3, 13);
        double best = INFINITY;
        for (int32_t t = 0; t < world.count; t++)
            best = fmin(best, sampled_distance(&world, t, p));
        sup_bvh_nearest n = sup_bvh_closest(&world.bvh, p, INFINITY);
        CHECK(n.triangle >= 0 && n.u >= 0.0 && n.v >= 0.0 && n.u + n.v <= 1.0 + 1e-12);
        CHECK_NEAR(n.distance, sup_v3_distance(p, n.point), 1e-12);
        CHECK(n.distance <= best + 1e-9 && n.distance > best - 0.06);
        CHECK_EQ(sup_bvh_closest(&world.bvh, p, n.distance * 0.999).triangle, -1);
        CHECK_EQ(sup_bvh_closest(&world.bvh, p, n.distance * 1.001).triangle, n.triangle);
    }
    sup_bvh_free(&world.bvh);
}

static bool reject_first(void *user, const sup_bvh_hit *hit)
{
    return hit->triangle != *(int32_t *)user;
}

TEST(bvh_accept_and_facing)
{
    /* Three parallel triangles at x = 1, 2, 3, all with normals along +x. */
    for (int32_t t = 0; t < 3; t++) {
        const float p[9] = {(float)(t + 1), 0, 0, (float)(t + 1), 1, 0, (float)(t + 1), 0, 1};
        memcpy(world.positions + t * 9, p, sizeof(p));
    }
    index_soup(&world, 3);
    int32_t ignored = 0;
    sup_bvh_ray ray = {sup_v3(0, 0.2, 0.2), sup_v3(1, 0, 0), 0.0, 10.0, reject_first, &ignored};
    sup_bvh_hit hit;
    CHECK(sup_bvh_ray_first(&world.bvh, &ray, &hit));
    CHECK_EQ(hit.triangle, 1);
    CHECK_EQ(hit.facing, 1);
    ray.origin.x = 10.0, ray.direction.x = -2.0;
    CHECK(sup_bvh_ray_first(&world.bvh, &ray, &hit));
    CHECK_EQ(hit.triangle, 2);
    CHECK_EQ(hit.facing, -1);
    CHECK_NEAR(hit.t, 3.5, 1e-12);
    ray.t_max = 3.4;
    CHECK(!sup_bvh_ray_any(&world.bvh, &ray));
    sup_bvh_free(&world.bvh);
}

TEST(bvh_refit_matches_moved_vertices)
{
    random_soup(&world, 300, 1.0, 6);
    static float moved[TRIANGLES * 9];
    for (int32_t k = 0; k < 300 * 9; k++)
        moved[k] = 3.0f * world.positions[k] + (float)sin(k);
    sup_bvh_refit(&world.bvh, moved);
    sup_bvh fresh;
    CHECK_EQ(sup_bvh_create(NULL, moved, 300, world.triangles, &fresh, NULL), SUP_OK);
    sup_random random = {8};
    for (int32_t k = 0; k < 100; k++) {
        sup_vec3d p = random_point(&random, -3, 33);
        CHECK_EQ(sup_bvh_closest(&world.bvh, p, INFINITY).triangle, sup_bvh_closest(&fresh, p, INFINITY).triangle);
    }
    sup_bvh_free(&fresh);
    sup_bvh_free(&world.bvh);
}

TEST(bvh_degenerate_input)
{
    /* All vertices equal, all collinear, no triangles: must build and answer queries. */
    memset(world.positions, 0, sizeof(world.positions));
    index_soup(&world, TRIANGLES);
    CHECK_NEAR(sup_bvh_closest(&world.bvh, sup_v3(0, 3, 4), INFINITY).distance, 5.0, 1e-12);
    CHECK_EQ(sup_bvh_closest(&world.bvh, sup_v3(0, 3, 4), INFINITY).triangle, 0);
    sup_bvh_ray ray = {sup_v3(-1, 0, 0), sup_v3(1, 0, 0), 0.0, 10.0, NULL, NULL};
    CHECK(!sup_bvh_ray_any(&world.bvh, &ray)); /* no area */
    sup_bvh_free(&world.bvh);
    for (int32_t k = 0; k < TRIANGLES * 9; k++) /* distances that double: every split separates one triangle */
        world.positions[k] = (float)(k % 3 == 0 ? ldexp(1.0, (k / 9) % 120) : 0.0);
    index_soup(&world, TRIANGLES);
    CHECK(sup_bvh_closest(&world.bvh, sup_v3(0, 1, 0), INFINITY).triangle >= 0);
    sup_bvh_free(&world.bvh);
    index_soup(&world, 0);
    CHECK_EQ(sup_bvh_closest(&world.bvh, sup_v3(0, 0, 0), INFINITY).triangle, -1);
    CHECK(!sup_bvh_ray_any(&world.bvh, &ray));
    sup_bvh_free(&world.bvh);
    sup_bvh_free(&world.bvh);
}

static const float cube_corners[24] = {-1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 1, -1,
                                       -1, -1, 1,  1, -1, 1,  -1, 1, 1,  1, 1, 1};
static const int32_t cube_faces[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                       2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

TEST(bvh_inside_of_closed_and_open_boxes)
{
    for (int32_t missing = 0; missing <= 2; missing++) { /* closed, then with an open side */
        sup_bvh bvh;
        CHECK_EQ(sup_bvh_create(NULL, cube_corners, 12 - missing, cube_faces, &bvh, NULL), SUP_OK);
        sup_random random = {3};
        for (int32_t k = 0; k < 300; k++) {
            sup_vec3d in = random_point(&random, -0.7, 0.7), out = random_point(&random, 2.0, 4.0);
            CHECK(sup_bvh_inside(&bvh, in));
            if (missing == 0) CHECK(!sup_bvh_inside(&bvh, random_point(&random, 1.001, 1.2)));
            CHECK(!sup_bvh_inside(&bvh, out));
            CHECK(!sup_bvh_inside(&bvh, sup_v3(-out.x, out.y, -out.z)));
        }
        sup_bvh_free(&bvh);
    }
}

TEST(bvh_rays_do_not_pass_between_triangles)
{
    /* From the inside of a closed box every ray hits, also through edges and corners. */
    sup_bvh bvh;
    CHECK_EQ(sup_bvh_create(NULL, cube_corners, 12, cube_faces, &bvh, NULL), SUP_OK);
    sup_random random = {2};
    for (int32_t k = 0; k < 2000; k++) {
        sup_vec3d o = random_point(&random, -0.9, 0.9), edge = random_point(&random, -1.0, 1.0);
        edge.x = k % 2 ? 1.0 : -1.0;
        if (k % 4 < 2) edge.y = 1.0;
        if (k % 8 < 4) edge.z = edge.y;
        sup_bvh_ray ray = {o, sup_v3_sub(edge, o), 0.0, 2.0, NULL, NULL};
        CHECK(sup_bvh_ray_any(&bvh, &ray));
    }
    sup_bvh_free(&bvh);
}
