/* Welding against brute force. */
#include "geometry/weld.h"

#include "math/vec3.h"
#include "test.h"

static void weld(int32_t count, const float *p, const int32_t *group, double distance, int32_t *leader)
{
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    CHECK_OK(sup_weld(&context.allocator, count, p, group, distance, leader, &error), error);
}

static void slow_weld(int32_t count, const float *p, const int32_t *group, double distance, int32_t *leader)
{
    for (int32_t i = 0; i < count; i++) {
        leader[i] = i;
        for (int32_t k = 0; k < i; k++) {
            bool same = p[3 * i] == p[3 * k] && p[3 * i + 1] == p[3 * k + 1] && p[3 * i + 2] == p[3 * k + 2];
            same = same || sup_v3_distance(sup_v3_load(p + 3 * i), sup_v3_load(p + 3 * k)) <= distance;
            if (leader[k] == k && same && (group == NULL || group[k] == group[i])) {
                leader[i] = k;
                break;
            }
        }
    }
}

TEST(weld_matches_brute_force)
{
    enum { COUNT = 400 };
    static float p[3 * COUNT];
    static int32_t group[COUNT], fast[COUNT], slow[COUNT];
    sup_random random = {11};
    static const double distances[] = {0.0, 1e-3, 0.02, 0.3, 5.0};
    for (int round = 0; round < 40; round++) {
        double distance = distances[round % 5], scale = round % 3 == 0 ? 1e-20 : round % 3 == 1 ? 1.0 : 1e12;
        for (int32_t i = 0; i < COUNT; i++) {
            bool copy = i > 0 && sup_random_unit(&random) < 0.5;
            int32_t from = copy ? (int32_t)(sup_random_u32(&random) % (uint32_t)i) : 0;
            for (int k = 0; k < 3; k++)
                p[3 * i + k] = copy ? p[3 * from + k] + (float)(scale * distance * (sup_random_unit(&random) - 0.5))
                                    : (float)(scale * (sup_random_unit(&random) - 0.7));
            group[i] = (int32_t)(sup_random_u32(&random) % 2);
        }
        weld(COUNT, p, round % 2 == 0 ? NULL : group, scale * distance, fast);
        slow_weld(COUNT, p, round % 2 == 0 ? NULL : group, scale * distance, slow);
        for (int32_t i = 0; i < COUNT; i++)
            CHECK_EQ(fast[i], slow[i]);
    }
}

TEST(weld_edge_cases)
{
    static const float p[] = {0.0f, 1, 2, -0.0f, 1, 2, 0, 1, 2};
    static const int32_t group[] = {7, 7, 8};
    int32_t leader[3];
    weld(3, p, group, 0.0, leader);
    CHECK(leader[0] == 0 && leader[1] == 0 && leader[2] == 2);
    weld(3, p, NULL, -1.0, leader);
    CHECK(leader[0] == 0 && leader[1] == 1 && leader[2] == 2);
    weld(3, p, NULL, 1e-300, leader);
    CHECK(leader[2] == 0);
    weld(0, NULL, NULL, 1.0, NULL);
    float far[] = {-1e18f, 0, 0, 1e18f, 0, 0, 1e18f, 0, 0};
    weld(3, far, NULL, 1e-12, leader);
    CHECK(leader[1] == 1 && leader[2] == 1);
}
