/* The tree finds what brute force finds: overlapping pairs, rays, nearest triangles; after moving too. */
#include "geometry/box_tree.h"
#include "test.h"

enum { TRIANGLES = 700 };
static float points[TRIANGLES * 9];
static int32_t triangles[TRIANGLES * 3];
static unsigned char found[TRIANGLES][TRIANGLES];

static void scatter(sup_random *random, double edge)
{
    for (int t = 0; t < TRIANGLES; t++) {
        double centre[3] = {sup_random_unit(random), sup_random_unit(random), sup_random_unit(random)};
        for (int k = 0; k < 9; k++)
            points[9 * t + k] = (float)(centre[k % 3] + edge * (sup_random_unit(random) - 0.5));
        for (int k = 0; k < 3; k++)
            triangles[3 * t + k] = 3 * t + k;
    }
}

static bool overlap(int a, int b)
{
    sup_box p = sup_triangle_box(points, triangles + 3 * a), q = sup_triangle_box(points, triangles + 3 * b);
    for (int k = 0; k < 3; k++)
        if (p.low[k] > q.high[k] || q.low[k] > p.high[k]) return false;
    return true;
}

static bool note_pair(void *user, int32_t a, int32_t b)
{
    SUP_UNUSED(user);
    int low = a < b ? a : b, high = a < b ? b : a;
    CHECK(low != high);
    CHECK(found[low][high] == 0); /* every pair once */
    found[low][high] = 1;
    return true;
}

static void build(sup_box_tree *tree, sup_arena *arena)
{
    sup_context context = sup_context_resolve(NULL);
    sup_error error;
    *arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_box_tree_build(tree, arena, points, triangles, TRIANGLES, &error), error);
}

static void check_pairs(const sup_box_tree *tree)
{
    memset(found, 0, sizeof found);
    sup_box_tree_self_pairs(tree, note_pair, NULL);
    for (int a = 0; a < TRIANGLES; a++)
        for (int b = a + 1; b < TRIANGLES; b++)
            if (overlap(a, b)) CHECK(found[a][b]);
}

TEST(self_pairs_miss_nothing_and_come_once)
{
    sup_random random = {5};
    sup_box_tree tree;
    sup_arena arena;
    scatter(&random, 0.05);
    build(&tree, &arena);
    check_pairs(&tree);
    for (int i = 0; i < TRIANGLES * 9; i++)
        points[i] += (float)(0.3 * sup_random_unit(&random));
    sup_box_tree_refit(&tree, points, triangles);
    check_pairs(&tree);
    sup_arena_destroy(&arena);
}

static void note_item(void *user, int32_t item)
{
    ((unsigned char *)user)[item] = 1;
}

TEST(rays_enter_the_boxes_they_should)
{
    sup_random random = {6};
    sup_box_tree tree;
    sup_arena arena;
    scatter(&random, 0.1);
    build(&tree, &arena);
    for (int i = 0; i < 200; i++) {
        unsigned char seen[TRIANGLES] = {0};
        int target = (int)(sup_random_u32(&random) % TRIANGLES);
        double origin[3], direction[3];
        for (int k = 0; k < 3; k++) {
            double centre = ((double)points[9 * target + k] + (double)points[9 * target + 3 + k] +
                             (double)points[9 * target + 6 + k]) /
                            3.0;
            origin[k] =
                i % 4 == 0 && k != i % 3 ? centre : 3.0 * sup_random_unit(&random) - 1.0; /* axis-parallel ones too */
            direction[k] = centre - origin[k];
        }
        sup_box_tree_ray(&tree, origin, direction, note_item, seen);
        CHECK(seen[target]);
    }
    sup_arena_destroy(&arena);
}

typedef struct nearest {
    double point[3], distance;
    int item;
} nearest;

/* Distance to the first corner stands for the distance to the triangle: the tree must not care. */
static double corner_distance(const nearest *n, int item)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++)
        sum += pow((double)points[9 * item + k] - n->point[k], 2.0);
    return sqrt(sum);
}

static void note_nearest(void *user, int32_t item)
{
    nearest *n = user;
    double distance = corner_distance(n, item);
    if (distance < n->distance) {
        n->distance = distance;
        n->item = item;
    }
}

TEST(nearest_is_the_nearest)
{
    sup_random random = {7};
    sup_box_tree tree;
    sup_arena arena;
    scatter(&random, 0.1);
    build(&tree, &arena);
    for (int i = 0; i < 300; i++) {
        nearest n = {
            {2.0 * sup_random_unit(&random) - 0.5, 2.0 * sup_random_unit(&random) - 0.5, sup_random_unit(&random)},
            1e30,
            -1};
        double best = 1e30;
        sup_box_tree_near(&tree, n.point, &n.distance, note_nearest, &n);
        for (int t = 0; t < TRIANGLES; t++)
            best = fmin(best, corner_distance(&n, t));
        CHECK_NEAR(n.distance, best, 0.0);
    }
    sup_arena_destroy(&arena);
}
