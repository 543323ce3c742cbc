/* Golden hashes of the base kernels, which do not depend on processor features: results must stay the same. A changed
 * hash means changed results for users: document it in CHANGELOG.md. */
#include "methods/implicit/compose_internal.h"
#include "methods/implicit/field_internal.h"
#include "test.h"

static float number(sup_random *random, float low, float high)
{
    return low + (high - low) * (float)sup_random_unit(random);
}

static void fill(sup_random *random, float *to, int64_t count, float low, float high)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = number(random, low, high);
}

static sup_field_points random_points(sup_random *random, float low, float high)
{
    sup_field_points points;
    fill(random, points.x, SUP_FIELD_LANES, low, high);
    fill(random, points.y, SUP_FIELD_LANES, low, high);
    fill(random, points.z, SUP_FIELD_LANES, low, high);
    return points;
}

static uint64_t hash_fields(void)
{
    enum { SIDE = 9, NODES = SIDE * SIDE * SIDE + SUP_FIELD_PADDING, CENTRES = 20 };
    static const float to_grid[12] = {3.0f, 0.4f, -0.2f, 4.0f, -0.4f, 3.0f, 0.1f, 4.1f, 0.3f, 0.2f, 2.9f, 3.9f};
    sup_bone_field field = {.size = {SIDE, SIDE, SIDE}, .radius = 0.3f};
    float nodes[NODES], centres[CENTRES * SUP_FIT_FLOATS], values[SUP_FIELD_LANES];
    sup_random random = {2026};
    uint64_t hash = 0;
    fill(&random, nodes, NODES, -0.1f, 1.1f);
    fill(&random, centres, CENTRES * SUP_FIT_FLOATS, -1.0f, 1.0f);
    const sup_fields fields = {1, &field, nodes, NODES};
    const sup_fit_lanes fit = {CENTRES, centres, {0.1f, 0.2f, -0.3f, 0.4f}};
    for (int trial = 0; trial < 50; trial++) {
        sup_field_points points = random_points(&random, -1.6f, 1.6f);
        sup_field_samples samples;
        sup_field_kernels_base.evaluate(&fields, 0, to_grid, &points, &samples);
        sup_field_kernels_base.fit(&fit, &points, values);
        hash = sup_hash64(values, sizeof values, sup_hash64(&samples, sizeof samples, hash));
    }
    return hash;
}

static uint64_t hash_compositions(void)
{
    static float table[SUP_OPERATOR_SIZE], controller[SUP_CONTROLLER_SIZE];
    sup_random random = {2026};
    uint64_t hash = 0;
    fill(&random, table, SUP_OPERATOR_SIZE, 0.0f, 1.0f);
    for (int i = 0; i < SUP_CONTROLLER_SIZE; i++)
        controller[i] = (float)i / SUP_CONTROLLER_SIZE;
    const sup_compose_fold fold = {.centre = {0.2f, 0, 0}, .out = {0, 1, 0}, .end = 0.1f, .depth = 0.8f, .fade = 9};
    for (int trial = 0; trial < 50; trial++) {
        sup_compose_operand a = {.in_contact = false}, b = {.in_contact = false};
        sup_field_points points = random_points(&random, -1.0f, 1.0f);
        fill(&random, a.samples.value, SUP_FIELD_LANES, -0.1f, 1.0f);
        fill(&random, b.samples.value, SUP_FIELD_LANES, -0.1f, 1.0f);
        float *gradients[6] = {a.samples.x, a.samples.y, a.samples.z, b.samples.x, b.samples.y, b.samples.z};
        for (int i = 0; i < 6; i++)
            fill(&random, gradients[i], SUP_FIELD_LANES, -1.0f, 1.0f);
        for (int k = 0; k < SUP_FIELD_LANES; k++)
            a.own_mask[k] = k % 3 == 0 ? 1.0f : 0.0f;
        const sup_compose_node_input node_input = {table, controller, trial % 2, &fold};
        sup_compose_kernels_base.combine(&node_input, &points, trial % 3 > 0, &b, &a);
        hash = sup_hash64(&a, offsetof(sup_compose_operand, sides.own_limb), hash);
    }
    return hash;
}

TEST(golden_hashes_of_the_base_kernels_of_fields)
{
#if !defined(__x86_64__) || defined(SUPPLE_SCALAR)
    SKIP("the hashes are those of four lanes without fused arithmetic");
#endif
    uint64_t fields = hash_fields(), compositions = hash_compositions();
    CHECK_MSG(fields == 0x825dcf40b0955048u, "the hash of the fields is 0x%016llxu", (unsigned long long)fields);
    CHECK_MSG(compositions == 0x98c43620b4b09e14u, "the hash of the compositions is 0x%016llxu",
              (unsigned long long)compositions);
}
