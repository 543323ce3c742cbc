/* The overlapping pairs of the hierarchy match brute force, also after a refit. */
#include "base/base.h"
#include "geometry/bvh.h"
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
    const float *p = points + 9 * a, *q = points + 9 * b;
    for (int k = 0; k < 3; k++) {
        float p_low = fminf(fminf(p[k], p[3 + k]), p[6 + k]), p_high = fmaxf(fmaxf(p[k], p[3 + k]), p[6 + k]);
        float q_low = fminf(fminf(q[k], q[3 + k]), q[6 + k]), q_high = fmaxf(fmaxf(q[k], q[3 + k]), q[6 + k]);
        if (p_low > q_high || q_low > p_high) return false;
    }
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

static void check_pairs(const sup_bvh *tree)
{
    memset(found, 0, sizeof found);
    sup_bvh_self_pairs(tree, note_pair, NULL);
    for (int a = 0; a < TRIANGLES; a++)
        for (int b = a + 1; b < TRIANGLES; b++)
            if (overlap(a, b)) CHECK(found[a][b]);
}

TEST(self_pairs_are_complete_and_unique)
{
    sup_random random = {5};
    sup_bvh tree;
    sup_error error;
    scatter(&random, 0.05);
    CHECK_OK(sup_bvh_create(NULL, points, TRIANGLES, triangles, &tree, &error), error);
    check_pairs(&tree);
    for (int i = 0; i < TRIANGLES * 9; i++)
        points[i] += (float)(0.3 * sup_random_unit(&random));
    sup_bvh_refit(&tree, points);
    check_pairs(&tree);
    sup_bvh_free(&tree);
}
