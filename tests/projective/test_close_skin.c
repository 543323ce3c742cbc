/* Rest contact: close skin follows linear blending where both layers belong to one joint, and only there. */
#include "contact/rest_contact.h"
#include "test.h"

enum { LONG = 24, WIDE = 6, SHEETS = 3, COUNT = LONG * WIDE * SHEETS };

typedef struct sheets {
    float positions[COUNT * 3], weights[COUNT];
    int32_t triangles[SHEETS * (LONG - 1) * (WIDE - 1) * 6], same[COUNT], first[COUNT + 1], joints[COUNT];
    int32_t component[COUNT]; /* all 0 */
    int32_t triangle_count;
} sheets;

/* Two sheets half an edge apart and one far above. The second belongs to joint 1 from x = 10 on, all others to joint
 * 0. */
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

static sup_simulated_surface surface_of(sheets *m)
{
    return (sup_simulated_surface){.fine_count = COUNT,
                                   .fine_source = m->same,
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
}

/* The far sheet with a separate component above it that belongs to one joint: the skin below follows linear
 * blending. */
TEST(skin_below_an_eye_follows_linear_blending)
{
    enum { EYE = 3 };
    sheets *m = calloc(1, sizeof *m);
    float weight[COUNT], positions[(COUNT + EYE) * 3];
    unsigned char between[COUNT];
    int32_t same[COUNT + EYE], first[COUNT + EYE + 1], joints[COUNT + EYE], component[COUNT + EYE];
    float weights[COUNT + EYE];
    const int32_t eye[3] = {COUNT, COUNT + 1, COUNT + 2};
    sup_error error = {0};
    sup_context context = sup_context_resolve(NULL);
    CHECK(m != NULL);
    make_sheets(m);
    memcpy(positions, m->positions, sizeof m->positions);
    for (int32_t v = 0; v < COUNT + EYE; v++) {
        same[v] = first[v] = v;
        joints[v] = 0;
        weights[v] = 1.0f;
        component[v] = v < COUNT ? v / (LONG * WIDE) : SHEETS;
        if (v < COUNT) continue;
        positions[3 * v] = 4.0f + (float)(v == COUNT);
        positions[3 * v + 1] = 2.0f + (float)(v == COUNT + 1);
        positions[3 * v + 2] = 9.5f;
    }
    first[COUNT + EYE] = COUNT + EYE;
    sup_rig rig = {.skin_to_vertex = same,
                   .skin_vertex_count = COUNT + EYE,
                   .skin_positions = positions,
                   .skin_component = component,
                   .component_count = SHEETS + 1,
                   .skin_triangle_count = 1,
                   .skin_triangles = eye,
                   .influence_first = first,
                   .influence_joint = joints,
                   .influence_weight = weights};
    sup_simulated_surface surface = surface_of(m);
    for (int32_t pass = 0; pass < 2; pass++) {
        CHECK_OK(sup_rest_contact_weights(&context, &rig, &surface, weight, between, &error), error);
        const float *far = weight + 2 * LONG * WIDE;
        CHECK_NEAR(far[2 * LONG + 4], pass == 0 ? 1.0 : 0.0, 1e-6);
        CHECK_NEAR(far[2 * LONG + 20], 0.0, 1e-6);
        joints[COUNT + 1] = 1; /* a component of two joints is not an eye */
    }
    free(m);
}

TEST(close_skin_of_one_joint_follows_linear_blending)
{
    sheets *m = calloc(1, sizeof *m);
    float weight[COUNT];
    unsigned char between[COUNT];
    sup_error error = {0};
    sup_context context = sup_context_resolve(NULL);
    CHECK(m != NULL);
    make_sheets(m);
    sup_rig rig = {.skin_to_vertex = m->same,
                   .skin_component = m->component,
                   .component_count = 1,
                   .influence_first = m->first,
                   .influence_joint = m->joints,
                   .influence_weight = m->weights};
    sup_simulated_surface surface = surface_of(m);
    CHECK_OK(sup_rest_contact_weights(&context, &rig, &surface, weight, between, &error), error);
    for (int32_t v = 0; v < COUNT; v++) {
        int32_t x = v % LONG, sheet = v / (LONG * WIDE);
        if (sheet < 2 && x < 9) CHECK_NEAR(weight[v], 1.0, 1e-6);
        if (sheet == 2 || (sheet == 1 && x >= 10) || x > 16) CHECK_NEAR(weight[v], 0.0, 1e-6);
        if (sheet == 0 && x > 8) CHECK(weight[v] <= weight[v - 1]); /* the weight decreases across the border */
    }
    int32_t border = 0;
    for (int32_t x = 0; x < LONG; x++)
        border += weight[x] > 0.0f && weight[x] < 1.0f;
    CHECK(border > 0); /* the border is smooth */
    /* Close skin of two joints is marked. */
    CHECK_EQ(between[2 * LONG + 5], 0);
    CHECK_EQ(between[2 * LONG + 20], 1);
    CHECK_EQ(between[2 * LONG * WIDE + 2 * LONG + 20], 0);
    free(m);
}
