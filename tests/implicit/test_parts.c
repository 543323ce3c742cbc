/* test_parts.c - skin regions: which skin belongs to which bone, and where the fields of regions end. */
#include "bind/model.h"
#include "methods/implicit/field_bind.h"
#include "skin/simulated_surface.h"
#include "methods/skin_fixture.h"
#include "supple/scenes.h"
#include "test.h"

/* --- Tubes along the x axis, from 0 to 6 --- */

enum { AROUND = 24, ALONG = 25, TUBE = AROUND * ALONG, TUBE_TRIANGLES = 2 * AROUND * (ALONG - 1), TUBES = 2 };

/* Tubes and two joints, both of which influence every vertex. */
typedef struct tubes {
    skin_fixture fixture;
    int32_t vertex_count, triangle_count;
    int32_t triangles[3 * TUBES * TUBE_TRIANGLES], to_skin[TUBES * TUBE];
    float head[6], tail[6];
    sup_region_skin skin;
} tubes;

static void open_tubes(tubes *t, int32_t count)
{
    memset(t, 0, sizeof *t);
    t->fixture = fixture_create(count * TUBE, 2, 2, 0);
}

static void add_tube(tubes *t, double y, double wide, double high)
{
    int32_t first = t->vertex_count;
    for (int32_t i = 0; i < ALONG; i++)
        for (int32_t k = 0; k < AROUND; k++) {
            double angle = 6.283185307179586 * k / AROUND;
            int32_t v = first + i * AROUND + k, next = first + i * AROUND + (k + 1) % AROUND;
            sup_v3_store(t->fixture.positions + 3 * (size_t)t->vertex_count++,
                         sup_v3(6.0 * i / (ALONG - 1), y + wide * cos(angle), high * sin(angle)));
            if (i + 1 == ALONG) continue;
            const int32_t two[6] = {v, next, v + AROUND, v + AROUND, next, next + AROUND};
            memcpy(t->triangles + 3 * (size_t)t->triangle_count, two, sizeof two);
            t->triangle_count += 2;
        }
}

static void set_bone(tubes *t, int32_t joint, sup_vec3d from, sup_vec3d to)
{
    sup_v3_store(t->head + 3 * joint, from);
    sup_v3_store(t->tail + 3 * joint, to);
}

/* The rig of the tubes, and their skin. `weight` of joint 0 may be NULL: unknown. */
static const sup_rig *finish_tubes(tubes *t, double (*weight)(sup_vec3d p, int32_t v))
{
    skin_fixture *f = &t->fixture;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        double w = weight != NULL ? weight(sup_v3_load(f->positions + 3 * (size_t)v), v) : 0.5;
        t->to_skin[v] = v;
        f->influence_joint[2 * v + 1] = 1;
        f->influence_weight[2 * v] = (float)w;
        f->influence_weight[2 * v + 1] = (float)(1.0 - w);
        fixture_settle_weights(f, v);
    }
    f->rig.size = 7.0f;
    f->rig.bone_head = t->head;
    f->rig.bone_tail = t->tail;
    f->rig.vertex_to_skin = t->to_skin;
    t->skin = (sup_region_skin){t->vertex_count, t->triangle_count, f->positions, t->triangles, NULL, NULL, NULL};
    if (weight != NULL) {
        t->skin.influence_first = f->influence_first;
        t->skin.influence_joint = f->influence_joint;
        t->skin.influence_weight = f->influence_weight;
    }
    return fixture_rig(f);
}

static sup_skin_regions tube_regions(tubes *t, double (*weight)(sup_vec3d p, int32_t v), sup_arena *arena)
{
    sup_context context = sup_context_resolve(NULL);
    const sup_rig *rig = finish_tubes(t, weight);
    sup_skin_regions regions;
    sup_error error = {0};
    *arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_skin_regions_create(&context, rig, &t->skin, arena, &regions, &error), error);
    CHECK_EQ(regions.region_count, 2);
    return regions;
}

/* A thick tube along its bone in the middle, and a thin one close to it. */
TEST(limb_beside_trunk_does_not_claim_its_skin)
{
    static tubes t;
    open_tubes(&t, 2);
    add_tube(&t, 0.0, 1.0, 1.0);
    add_tube(&t, 1.35, 0.25, 0.25);
    set_bone(&t, 0, sup_v3(0.0, 0.0, 0.0), sup_v3(6.0, 0.0, 0.0));
    set_bone(&t, 1, sup_v3(0.0, 1.35, 0.0), sup_v3(6.0, 1.35, 0.0));
    sup_arena arena;
    sup_skin_regions regions = tube_regions(&t, NULL, &arena);
    for (int32_t v = 0; v < 2 * TUBE; v++)
        CHECK_EQ(regions.vertex_region[v], v / TUBE);
    sup_arena_destroy(&arena);
    fixture_destroy(&t.fixture);
}

/* Around a joint that lies below the skin of the trunk, a limb's bone is the nearest and may have some weight. */
TEST(limbs_do_not_claim_distant_skin)
{
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_simulated_surface s;
    sup_skin_regions regions;
    CHECK_OK(sup_scene_create(NULL, "human", 0.25, &character, &error), error);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK_OK(sup_simulated_surface_create(&context, rig, INT32_MAX / 4, &arena, &s, &error), error);
    sup_region_skin skin = {s.coarse_count,    s.coarse_triangle_count, s.coarse_positions, s.coarse_triangles,
                            s.influence_first, s.influence_joint,       s.influence_weight};
    CHECK_OK(sup_skin_regions_create(&context, rig, &skin, &arena, &regions, &error), error);
    static const char *const limbs[] = {"neck", "left_upper_arm", "right_upper_arm", "left_upper_leg"};
    static const double limit[] = {1.35, 1.35, 1.35, 1.45}; /* of the mean distance from the bone */
    int32_t found = 0;
    for (int32_t region = 0; region < regions.region_count; region++) {
        const char *name = character->nodes[rig->joint_node[regions.region_joint[region]]].name;
        int32_t limb = 0;
        while (limb < SUP_COUNT(limbs) && strcmp(name, limbs[limb]) != 0)
            limb++;
        if (limb == SUP_COUNT(limbs)) continue;
        double sum = 0.0, count = 0.0, farthest = 0.0;
        for (int32_t v = 0; v < s.coarse_count; v++) {
            sup_vec3d p = sup_v3_load(s.coarse_positions + 3 * (size_t)v);
            double distance = sup_skin_regions_distance(&regions, region, p, NULL);
            if (regions.vertex_region[v] != region) continue;
            sum += distance;
            count += 1.0;
            farthest = fmax(farthest, distance);
        }
        found++;
        CHECK_MSG(farthest < limit[limb] * sum / count, "%s %g", name, farthest * count / sum);
    }
    CHECK_EQ(found, SUP_COUNT(limbs));
    sup_arena_destroy(&arena);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

static double spiked_weights(sup_vec3d p, int32_t v)
{
    return p.x < 3.0 && !(v % AROUND == 5 && p.x > 1.4) ? 1.0 : 0.0;
}

static void make_two_bones(tubes *t, double wide, double high)
{
    open_tubes(t, 1);
    add_tube(t, 0.0, wide, high);
    set_bone(t, 0, sup_v3(0.0, 0.0, 0.0), sup_v3(3.0, 0.0, 0.0));
    set_bone(t, 1, sup_v3(3.0, 0.0, 0.0), sup_v3(6.0, 0.0, 0.0));
    t->fixture.joint_parent[1] = 0;
}

TEST(region_borders_have_no_spikes)
{
    static tubes t;
    make_two_bones(&t, 1.0, 1.0);
    sup_arena arena;
    sup_skin_regions regions = tube_regions(&t, spiked_weights, &arena);
    for (int32_t v = 0; v < TUBE; v++) { /* the base of the spike may stay */
        float x = t.fixture.positions[3 * (size_t)v];
        if (fabsf(x - 3.0f) > 0.6f) CHECK_EQ(regions.vertex_region[v], x < 3.0f ? 0 : 1);
    }
    sup_arena_destroy(&arena);
    fixture_destroy(&t.fixture);
}

/* A limb that is 2 wide and 0.8 high: its cap is at most as deep as the nearest skin, so that it stays inside when it
 * rotates. */
TEST(caps_lie_in_the_sphere_about_their_joint)
{
    static tubes t;
    make_two_bones(&t, 1.0, 0.4);
    sup_error error = {0};
    sup_context context = sup_context_resolve(NULL);
    sup_bind_input input = {.context = &context, .rig = finish_tubes(&t, NULL)};
    sup_model_builder builder = {context.allocator, {NULL, 0, 0, sizeof(sup_built_array)}, NULL, false};
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_fields_def def = {.skin = t.skin, .grid = 8.0};
    sup_fields_bound bound;
    CHECK_OK(sup_fields_build(&input, &def, &builder, &arena, &bound, &error), error);
    CHECK_EQ(bound.report.capsules, 0);
    sup_field_points points = {0};
    sup_field_samples samples;
    for (int32_t side = 0; side < 2; side++) {
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++)
            points.x[i] = 3.0f + (side == 0 ? 0.05f : -0.05f) * (float)i;
        sup_field_evaluator()(&bound.fields, side, bound.fields.fields[side].to_grid, &points, &samples);
        CHECK_MSG(samples.value[4] > 0.5f, "%g at 0.2", (double)samples.value[4]);
        CHECK_MSG(samples.value[10] < 0.5f, "%g at 0.5", (double)samples.value[10]);
        CHECK_MSG(samples.value[15] < 0.4f, "%g at 0.75", (double)samples.value[15]);
    }
    sup_model_builder_free(&builder);
    sup_arena_destroy(&arena);
    fixture_destroy(&t.fixture);
}
