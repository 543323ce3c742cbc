/* Colliders of an instance: skin stays outside, is dragged by friction, returns to rest, and stays bounded. */
#include "deform/actor.h"

/* Minimum height of the skin above the plane z = level, in sizes. */
static double lowest(const actor *a, double level)
{
    double minimum = INFINITY;
    for (int32_t v = 0; v < a->character->vertex_count; v++)
        minimum = fmin(minimum, (double)a->positions[3 * v + 2] - level);
    return minimum / (double)a->rig->size;
}

static void set(actor *a, const sup_collider *colliders, int32_t count)
{
    sup_error error;
    CHECK_OK(sup_instance_set_colliders(a->instance, colliders, count, &error), error);
}

static void run(actor *a, int frames)
{
    for (int i = 0; i < frames; i++)
        actor_step(a, 1.0 / 60.0);
}

/* The arm lies on a table that overlaps the hand by a tenth of its thickness: the tissue is compressed, stays above the
 * table and comes to rest; without the table it returns to the rest shape. */
TEST(skin_stays_above_a_table_and_returns)
{
    actor a = actor_open(NULL, "arm", 0.5, "");
    float lower[3], upper[3], *kept = malloc((size_t)a.character->vertex_count * 12);
    actor_box(&a, lower, upper);
    float level = lower[2] + 0.1f * (upper[2] - lower[2]);
    sup_collider table = sup_collider_plane((sup_vec3){0, 0, level}, (sup_vec3){0, 0, 1});
    set(&a, &table, 1);
    run(&a, 60);
    memcpy(kept, a.positions, (size_t)a.character->vertex_count * 12);
    CHECK_MSG(lowest(&a, (double)level) > 0.0, "lowest %g", lowest(&a, (double)level));
    /* Untangling limits edges to twice their length, and their squares within a thousandth. */
    CHECK_MSG(actor_stretch(&a) < 2.001, "edges up to %g", actor_stretch(&a));
    run(&a, 1);
    CHECK_NEAR(actor_farthest(&a, kept), 0.0, 2e-4);
    set(&a, NULL, 0);
    run(&a, 60);
    CHECK_NEAR(actor_farthest(&a, a.rig->positions), 0.0, 1e-4);
    free(kept);
    actor_close(&a);
}

/* A box whose top is the table collides like the plane. */
TEST(a_box_collides_like_a_plane)
{
    actor a = actor_open(NULL, "arm", 0.5, "");
    float lower[3], upper[3], corners[24];
    static const int32_t triangles[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                          2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    actor_box(&a, lower, upper);
    float level = lower[2] + 0.1f * (upper[2] - lower[2]);
    for (int i = 0; i < 8; i++) {
        corners[3 * i] = (i & 1) != 0 ? 2.0f : -2.0f;
        corners[3 * i + 1] = (i & 2) != 0 ? 2.0f : -2.0f;
        corners[3 * i + 2] = (i & 4) != 0 ? level : level - 0.5f;
    }
    sup_collider box = sup_collider_mesh(corners, 8, triangles, 12);
    set(&a, &box, 1);
    memset(corners, 0, sizeof corners); /* the collider has a copy */
    run(&a, 60);
    CHECK_MSG(lowest(&a, (double)level) > 0.0, "lowest %g", lowest(&a, (double)level));
    actor_close(&a);
}

/* Mean x of the skin that is below `level` at rest. */
static double mean_below(const actor *a, double level)
{
    double sum = 0.0, count = 0.0;
    for (int32_t v = 0; v < a->character->vertex_count; v++)
        if ((double)a->rig->positions[3 * v + 2] < level) {
            sum += (double)a->positions[3 * v];
            count += 1.0;
        }
    return sum / count;
}

/* A table that slides under the arm drags the skin if it has friction. */
TEST(friction_drags_the_skin_along)
{
    double moved[2];
    for (int rough = 0; rough < 2; rough++) {
        actor a = actor_open(NULL, "arm", 0.5, "");
        float lower[3], upper[3];
        actor_box(&a, lower, upper);
        float level = lower[2] + 0.1f * (upper[2] - lower[2]);
        sup_collider table = sup_collider_plane((sup_vec3){0, 0, level}, (sup_vec3){0, 0, 1});
        table.friction = rough ? 2.0f : 0.0f;
        set(&a, &table, 1);
        run(&a, 30);
        double before = mean_below(&a, (double)level);
        sup_mat34 transform = sup_mat34_identity();
        for (int i = 1; i <= 12; i++) {
            transform.m[3] = 0.001f * (float)i;
            CHECK_EQ(sup_instance_move_collider(a.instance, 0, transform), SUP_OK);
            run(&a, 1);
        }
        moved[rough] = mean_below(&a, (double)level) - before;
        actor_close(&a);
    }
    CHECK_MSG(fabs(moved[0]) < 0.001 && moved[1] > 0.003, "smooth %g, rough %g", moved[0], moved[1]);
}

/* A sphere that contains the whole body, or half of it: displacements stay bounded, and the skin returns to rest when
 * the sphere is removed. */
TEST(a_body_inside_a_collider_stays_bounded)
{
    for (int whole = 0; whole < 2; whole++) {
        actor a = actor_open(NULL, "arm", 0.5, "");
        float lower[3], upper[3];
        actor_box(&a, lower, upper);
        sup_vec3 middle = {0.5f * (lower[0] + upper[0]), 0.5f * (lower[1] + upper[1]), 0.5f * (lower[2] + upper[2])};
        sup_collider sphere = sup_collider_sphere(middle, (whole ? 1.0f : 0.3f) * a.rig->size);
        set(&a, &sphere, 1);
        for (int i = 0; i < 60; i++) {
            run(&a, 1);
            CHECK_MSG(actor_farthest(&a, a.rig->positions) < 0.3, "frame %d: %g", i,
                      actor_farthest(&a, a.rig->positions));
        }
        set(&a, NULL, 0);
        run(&a, 120);
        CHECK_NEAR(actor_farthest(&a, a.rig->positions), 0.0, 1.5e-3); /* the velocity limit makes the return slow */
        actor_close(&a);
    }
}

/* A sphere that is attached to the hand keeps its position in the space of the hand, so the skin there is deformed
 * equally in the moved pose. Without volume: with volume regions compressed skin moves for seconds. */
TEST(a_collider_follows_its_node)
{
    actor a = actor_open(NULL, "arm", 0.5, "dynamic=off volume=0");
    float *dented = malloc((size_t)a.character->vertex_count * 12);
    int32_t node = sup_character_find_node(a.character, "hand");
    CHECK(node >= 0);
    sup_vec3d hand = sup_affine_translation(sup_affine_from_float(a.pose->world[node]));
    sup_collider sphere = sup_collider_sphere((sup_vec3){0, 0, 0}, 0.05f);
    sphere.node = node;
    sup_affine inverse;
    CHECK(sup_affine_inverse(sup_affine_from_float(a.pose->world[node]), &inverse));
    sup_affine world = sup_affine_identity();
    world.m[3] = hand.x;
    world.m[7] = hand.y;
    world.m[11] = hand.z - 0.07;
    sphere.transform = sup_affine_to_float(sup_affine_multiply(inverse, world));
    set(&a, &sphere, 1);
    run(&a, 60);
    CHECK(actor_farthest(&a, a.rig->positions) > 0.002);
    memcpy(dented, a.positions, (size_t)a.character->vertex_count * 12);
    sup_affine turn = sup_affine_from_trs(sup_v3(0.005, 0.01, -0.005), sup_quatd_from_axis_angle(sup_v3(1, 2, 3), 0.02),
                                          sup_v3(1, 1, 1));
    for (int i = 0; i < 20; i++) {
        actor_move(&a, turn);
        run(&a, 1);
        for (int32_t v = 0; v < a.character->vertex_count; v++)
            sup_v3_store(dented + 3 * (size_t)v, sup_affine_point(turn, sup_v3_load(dented + 3 * (size_t)v)));
    }
    CHECK_NEAR(actor_farthest(&a, dented), 0.0, 2e-3);
    free(dented);
    actor_close(&a);
}

TEST(bad_colliders_are_refused_and_the_old_ones_stay)
{
    actor a = actor_open(NULL, "cylinder", 0.25, "");
    static const float corners[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, bad_corners[12] = {NAN};
    static const int32_t tet[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3}, bad_tet[12] = {0, 1, 4};
    sup_collider good = sup_collider_plane((sup_vec3){0, 0, -100}, (sup_vec3){0, 0, 1}), bad[10];
    const char *ids[10] = {"collider.plane",     "collider.radius", "collider.radius", "collider.finite",
                           "collider.transform", "collider.node",   "collider.mesh",   "collider.triangle",
                           "collider.friction",  "collider.shape"};
    sup_error error;
    for (int i = 0; i < 10; i++)
        bad[i] = good;
    bad[0] = sup_collider_plane((sup_vec3){0, 0, 0}, (sup_vec3){0, 0, 0});
    bad[1] = sup_collider_sphere((sup_vec3){0, 0, 0}, 0.0f);
    bad[2] = sup_collider_sphere((sup_vec3){0, 0, 0}, -1.0f);
    bad[3] = sup_collider_sphere((sup_vec3){0, INFINITY, 0}, 1.0f);
    memset(&bad[4].transform, 0, sizeof bad[4].transform);
    bad[5].node = a.pose->node_count;
    bad[6] = sup_collider_mesh(NULL, 4, tet, 4);
    bad[7] = sup_collider_mesh(corners, 4, bad_tet, 4);
    bad[8].friction = NAN;
    bad[9].shape = (sup_collider_shape)17;
    set(&a, &good, 1);
    for (int i = 0; i < 10; i++) {
        sup_collider both[2] = {good, bad[i]};
        CHECK_EQ(sup_instance_set_colliders(a.instance, both, 2, &error), SUP_ERROR_ARGUMENT);
        CHECK_TEXT(error.id, ids[i]);
        CHECK_EQ(sup_instance_move_collider(a.instance, 0, sup_mat34_identity()), SUP_OK);
    }
    sup_collider mesh = sup_collider_mesh(bad_corners, 4, tet, 4);
    CHECK_EQ(sup_instance_set_colliders(a.instance, &mesh, 1, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_instance_set_colliders(NULL, &good, 1, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_instance_set_colliders(a.instance, NULL, 1, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_instance_move_collider(a.instance, 1, sup_mat34_identity()), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_instance_move_collider(a.instance, 0, (sup_mat34){{0}}), SUP_ERROR_ARGUMENT);
    run(&a, 2);
    actor_close(&a);
}

typedef struct counting {
    int allocations;
} counting;

static void *counting_allocate(void *user, size_t size, size_t alignment)
{
    ((counting *)user)->allocations++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void counting_release(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

TEST(steps_with_colliders_allocate_nothing)
{
    counting counter = {0};
    sup_context context = {.allocator = {counting_allocate, counting_release, &counter}};
    actor a = actor_open(&context, "cylinder", 0.25, "contact=on");
    sup_collider things[2] = {sup_collider_plane((sup_vec3){0, 0, 0}, (sup_vec3){0, 0, 1}),
                              sup_collider_capsule((sup_vec3){0, -1, 0}, (sup_vec3){0, 1, 0}, 0.05f)};
    set(&a, things, 2);
    counter.allocations = 0;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(sup_instance_move_collider(a.instance, 1, sup_mat34_identity()), SUP_OK);
        run(&a, 1);
    }
    CHECK_EQ(counter.allocations, 0);
    actor_close(&a);
}
