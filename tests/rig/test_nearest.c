/* Eq. 4.1 of the position based skinning thesis, case by case. */
#include "rig/make.h"
#include "rig/weights.h"

enum { JOINTS = 6, MOST = 4 };

/* A chain 0 - 1 along x with three children of 1 that start at the same position in different directions; 5 is a child
 * of 2. */
static const int32_t parent[JOINTS] = {-1, 0, 1, 1, 1, 2};
static const float head[3 * JOINTS] = {0, 0, 0, 6, 0, 0, 12, 0, 0, 12, 0, 0, 12, 0, 0, 18, 0, 0};
static const float tail[3 * JOINTS] = {6, 0, 0, 12, 0, 0, 18, 0, 0, 12, 6, 0, 12, -6, 0, 18, 0, 0};

typedef struct answer {
    int32_t count, joints[MOST];
    float weights[MOST];
} answer;

static answer ask(float x, float y, float z, int32_t most)
{
    sup_context context = sup_context_resolve(NULL);
    float position[3] = {x, y, z};
    sup_weights_input in = {&context, 1, 0, position, NULL, JOINTS, parent, head, tail, most};
    answer a = {0};
    sup_weights_output out = {a.joints, a.weights};
    sup_error error = {0};
    CHECK_OK(sup_weights_nearest(&in, &out, &error), error);
    double sum = 0.0;
    for (int k = 0; k < most; k++) {
        a.count += a.weights[k] > 0.0f;
        sum += (double)a.weights[k];
        if (a.weights[k] == 0.0f) CHECK_EQ(a.joints[k], 0);
    }
    CHECK_NEAR(sum, 1.0, 1e-6);
    for (int k = 0; k < a.count; k++)
        CHECK_NEAR(a.weights[k], 1.0 / a.count, 1e-6);
    return a;
}

static bool has(const answer *a, int32_t joint)
{
    for (int32_t k = 0; k < a->count; k++)
        if (a->joints[k] == joint) return true;
    return false;
}

TEST(nearest_middle_of_a_bone_is_rigid)
{
    for (int i = 0; i <= 40; i++) {
        float x = 6.0f + 1.0f + 4.0f * (float)i / 40.0f; /* u from 1/6 to 5/6 on bone 1 */
        answer a = ask(x, 0.5f, -0.25f, MOST);
        CHECK(a.count == 1 && a.joints[0] == 1);
    }
}

TEST(nearest_ends_blend_connected_bones)
{
    answer a = ask(6.9f, 0.5f, 0, MOST); /* head of 1: with its parent */
    CHECK(a.count == 2 && has(&a, 0) && has(&a, 1));
    a = ask(5.5f, 0.5f, 0, MOST); /* tail of 0: with its child */
    CHECK(a.count == 2 && has(&a, 0) && has(&a, 1));
    a = ask(-2, 0, 0, MOST); /* before the root: no connected bone */
    CHECK(a.count == 1 && a.joints[0] == 0);
    a = ask(11.5f, 0, 0.1f, MOST); /* tail of 1: with three children, cut to three bones */
    CHECK(a.count == 3 && a.joints[0] == 1);
    a = ask(12.5f, 0, 0.1f, MOST); /* head of 2: its parent and siblings that start there, cut to three */
    CHECK(a.count == 3 && a.joints[0] == 2 && has(&a, 1));
    a = ask(12.1f, 0.5f, 0, MOST); /* head of 3; of the others 2 and 1 are nearer than 4 */
    CHECK(a.count == 3 && a.joints[0] == 3 && has(&a, 2) && has(&a, 1));
    a = ask(17.5f, 1, 0, MOST); /* tail of 2: with 5, a bone without length */
    CHECK(a.count == 2 && has(&a, 2) && has(&a, 5));
}

TEST(nearest_respects_max_influences)
{
    for (int32_t most = 1; most <= MOST; most++) {
        answer a = ask(11.5f, 0, 0.1f, most);
        CHECK_EQ(a.count, most < 3 ? most : 3);
        CHECK_EQ(a.joints[0], 1); /* the nearest bone is always used */
    }
}

TEST(nearest_is_scale_invariant_and_needs_bones)
{
    sup_context context = sup_context_resolve(NULL);
    sup_random random = {8};
    enum { COUNT = 2000 };
    static float positions[3 * COUNT], small[3 * COUNT];
    static float small_head[3 * JOINTS], small_tail[3 * JOINTS];
    static int32_t joints[2][COUNT * MOST];
    static float weights[2][COUNT * MOST];
    for (int i = 0; i < 3 * COUNT; i++) {
        positions[i] = (float)(20.0 * sup_random_unit(&random) - (i % 3 == 0 ? 2.0 : 10.0));
        small[i] = positions[i] * 0x1p-20f;
    }
    for (int i = 0; i < 3 * JOINTS; i++) {
        small_head[i] = head[i] * 0x1p-20f;
        small_tail[i] = tail[i] * 0x1p-20f;
    }
    sup_weights_input in = {&context, COUNT, 0, positions, NULL, JOINTS, parent, head, tail, MOST};
    sup_weights_input tiny = {&context, COUNT, 0, small, NULL, JOINTS, parent, small_head, small_tail, MOST};
    sup_weights_output out = {joints[0], weights[0]}, tiny_out = {joints[1], weights[1]};
    sup_error error = {0};
    CHECK_OK(sup_weights_nearest(&in, &out, &error), error);
    CHECK_OK(sup_weights_nearest(&tiny, &tiny_out, &error), error);
    CHECK(memcmp(joints[0], joints[1], sizeof joints[0]) == 0);
    CHECK(memcmp(weights[0], weights[1], sizeof weights[0]) == 0);
    in.joint_count = 0;
    CHECK_EQ(sup_weights_nearest(&in, &out, &error), SUP_ERROR_ARGUMENT);
}
