/* Any bytes as a setup text and as a profile; accepted values must be in range. */
#include "methods/implicit/setup.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sup_node nodes[3] = {{.name = "Spine"}, {.name = "Arm"}, {.name = "Hand"}};

static void check(bool condition)
{
    if (!condition) abort();
}

static void check_profile(const sup_profile *profile)
{
    for (int32_t k = 0; k < SUP_PROFILE_POINTS; k++)
        check(profile->points[k][0] >= -0.01 && profile->points[k][0] <= 1.01 && profile->points[k][1] >= -0.01 &&
              profile->points[k][1] <= profile->points[k][0] + 0.01);
    check(profile->contact >= 0.0 && profile->contact <= 1.0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int32_t numbers[3] = {0, 1, 2}, parents[3] = {-1, 0, 1};
    static float heads[9] = {0, 0, 0, 1, 0, 0, 2, 0, 0}, tails[9] = {1, 0, 0, 2, 0, 0, 2, 0, 0};
    static sup_character character = {.node_count = 3, .nodes = nodes};
    const sup_rig rig = {.character = &character,
                         .size = 3.0f,
                         .joint_count = 3,
                         .joint_node = numbers,
                         .joint_parent = parents,
                         .bone_head = heads,
                         .bone_tail = tails};
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_setup *setup = NULL;
    sup_profile profile;
    sup_error error = {0};
    if (sup_setup_parse(&rig, (const char *)data, size, &arena, &setup, &error) == SUP_OK) {
        for (int32_t i = 0; i < setup->operator_count; i++)
            check_profile(&setup->profiles[i]);
        for (int32_t i = 0; i < setup->controller_count; i++)
            for (int32_t k = 0; k < SUP_CONTROLLER_SIZE; k++)
                check(setup->controllers[i][k] >= 0.0f && setup->controllers[i][k] <= 1.0f);
        for (int32_t i = 0; i < setup->muscle_count; i++)
            check(sup_v3_finite(setup->extras[i].centre) && setup->extras[i].radius[2] > 0.0 &&
                  fabs(sup_v3_length(setup->extras[i].axis[1]) - 1.0) < 1e-6);
    } else
        check(error.message[0] != '\0');
    if (sup_profile_parse((const char *)data, size, 1, &profile, &error) == SUP_OK) check_profile(&profile);
    sup_arena_destroy(&arena);
    return 0;
}
