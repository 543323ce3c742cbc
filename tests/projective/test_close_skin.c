/* Skin that lies against itself: carried where both layers go with one joint, and only there. */
#include "methods/projective/close_skin.h"
#include "test.h"

enum { LONG = 24, WIDE = 6, SHEETS = 3, COUNT = LONG * WIDE * SHEETS };

typedef struct sheets {
    float positions[COUNT * 3], weights[COUNT];
    int32_t triangles[SHEETS * (LONG - 1) * (WIDE - 1) * 6], same[COUNT], first[COUNT + 1], joints[COUNT];
    int32_t triangle_count;
} sheets;

/* Two sheets half an edge apart and one far above. The second goes with joint 1 from x = 10 on, all else with joint 0. */
static void make_sheets(sheets *m)
{
    static const float height[SHEETS] = {0.0f, 0.5f, 9.0f};
    for (int32_t v = 0; v < COUNT; v++) {
        int32_t x = v % LONG, y = v / LONG % WIDE, sheet = v / (LONG * WIDE);
        m->positions[3 * v] = (float)x;
        m->positions[3 * v + 1] = (float)y;
        m->positions[3 * v + 2] = height[sheet];
        m->same[v] = m->first[v] = v;
        m->joints[v] = sheet == 1 && x >= 10;
        m->weights[v] = 1.0f;
        if (x + 1 == LONG || y + 1 == WIDE) continue;
        const int32_t corners[6] = {v, v + 1, v + LONG, v + 1, v + LONG + 1, v + LONG};
        memcpy(m->triangles + 3 * m->triangle_count, corners, sizeof corners);
        m->triangle_count += 2;
    }
    m->first[COUNT] = COUNT;
}

TEST(close_skin_of_one_joint_is_carried)
{
    sheets *m = calloc(1, sizeof *m);
    float share[COUNT];
    sup_error error = {0};
    sup_context context = sup_context_resolve(NULL);
    CHECK(m != NULL);
    make_sheets(m);
    sup_rig rig = {.skin_to_vertex = m->same,
                   .influence_first = m->first,
                   .influence_joint = m->joints,
                   .influence_weight = m->weights};
    sup_simulated_surface surface = {.fine_source = m->same,
                                     .middle_count = COUNT,
                                     .middle_triangle_count = m->triangle_count,
                                     .middle_positions = m->positions,
                                     .middle_triangles = m->triangles,
                                     .middle_fine = m->same,
                                     .coarse_count = COUNT,
                                     .coarse_triangle_count = m->triangle_count,
                                     .coarse_triangles = m->triangles,
                                     .coarse_fine = m->same,
                                     .coarse_middle = m->same};
    CHECK_OK(sup_close_skin_share(&context, &rig, &surface, share, &error), error);
    for (int32_t v = 0; v < COUNT; v++) {
        int32_t x = v % LONG, sheet = v / (LONG * WIDE);
        if (sheet < 2 && x < 9) CHECK_NEAR(share[v], 1.0, 1e-6);
        if (sheet == 2 || (sheet == 1 && x >= 10) || x > 16) CHECK_NEAR(share[v], 0.0, 1e-6);
        if (sheet == 0 && x > 8) CHECK(share[v] <= share[v - 1]); /* a border that goes down */
    }
    int32_t between = 0;
    for (int32_t x = 0; x < LONG; x++)
        between += share[x] > 0.0f && share[x] < 1.0f;
    CHECK(between > 0); /* the border is smooth */
    free(m);
}
