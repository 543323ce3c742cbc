/* Scene colliders: nearest points against sampling, contacts, motion for friction, hysteresis. */
#include "blobs.h"
#include "contact/collider_contact.h"

static sup_affine transform_of(double scale, double angle, sup_vec3d at)
{
    return sup_affine_from_trs(at, sup_quatd_from_axis_angle(sup_v3(0.3, 1.0, -0.5), angle),
                               sup_v3(scale, scale, scale));
}

static sup_vec3d random_point(sup_random *random, double size)
{
    return sup_v3(size * (sup_random_unit(random) - 0.5), size * (sup_random_unit(random) - 0.5),
                  size * (sup_random_unit(random) - 0.5));
}

TEST(capsule_and_plane_distances_are_exact)
{
    sup_random random = {1};
    sup_affine world = transform_of(2.5, 0.7, sup_v3(1, 2, 3));
    sup_posed_collider capsule = {.shape = SUP_COLLIDER_CAPSULE, .from = {-1, 0, 0}, .to = {1, 0.5, 0}, .radius = 0.4};
    sup_posed_collider plane = {.shape = SUP_COLLIDER_PLANE, .from = {0, 0.5, 0}, .to = {0, 3.5, 0}};
    capsule.world = capsule.previous = plane.world = plane.previous = world;
    sup_vec3d a = sup_affine_point(world, capsule.from), b = sup_affine_point(world, capsule.to);
    for (int i = 0; i < 500; i++) {
        sup_vec3d p = sup_v3_add(sup_v3(1, 2, 3), random_point(&random, 8.0));
        double wanted = sup_v3_distance(p, sup_v3_lerp(a, b, sup_v3_segment_parameter(p, a, b))) - 1.0;
        sup_collider_query query;
        CHECK_EQ(sup_collider_find_nearest(&capsule, p, 0.0, &query), wanted < 0.0);
        CHECK(sup_collider_find_nearest(&capsule, p, 100.0, &query));
        CHECK_NEAR(query.height, wanted, 1e-9);
        CHECK_NEAR(sup_v3_dot(query.normal, sup_v3_sub(p, query.point)), wanted, 1e-9);
        CHECK(sup_v3_length(query.motion) == 0.0);
        CHECK(sup_collider_find_nearest(&plane, p, 100.0, &query));
        CHECK_NEAR(sup_v3_distance(p, query.point), fabs(query.height), 1e-9);
        CHECK_NEAR(sup_v3_dot(query.normal, sup_affine_vector(world, sup_v3(0, 1, 0))), 2.5, 1e-9);
    }
    sup_collider_query query; /* on the axis there is a normal as well */
    CHECK(sup_collider_find_nearest(&capsule, sup_v3_lerp(a, b, 0.3), 0.0, &query));
    CHECK_NEAR(query.height, -1.0, 1e-6);
    CHECK_NEAR(sup_v3_length(query.normal), 1.0, 1e-9);
    capsule.world.m[0] = NAN;
    CHECK(!sup_collider_find_nearest(&capsule, a, 10.0, &query));
}

TEST(mesh_of_a_sphere_collides_like_a_sphere)
{
    blobs b = blobs_make(1, 60, 40, 3.0, 0.0, 1);
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    sup_bvh bvh;
    sup_random random = {5};
    CHECK_OK(sup_bvh_create(&context, b.posed, b.triangle_count, b.triangles, &bvh, &error), error);
    sup_posed_collider mesh = {
        .shape = SUP_COLLIDER_MESH, .mesh = &bvh, .world = transform_of(3.0, 1.0, sup_v3(-2, 0, 1))};
    sup_posed_collider sphere = {.shape = SUP_COLLIDER_CAPSULE, .radius = 1.0, .world = mesh.world};
    mesh.previous = sphere.previous = mesh.world;
    int inside = 0;
    for (int i = 0; i < 400; i++) {
        sup_vec3d p = sup_v3_add(sup_v3(-2, 0, 1), random_point(&random, 8.0));
        sup_collider_query m, s;
        CHECK(sup_collider_find_nearest(&sphere, p, 10.0, &s));
        if (fabs(s.height) < 0.02) continue;                      /* between sphere and polyhedron */
        if (sup_v3_distance(p, sup_v3(-2, 0, 1)) < 0.5) continue; /* the nearest point is ambiguous */
        CHECK_EQ(sup_collider_find_nearest(&mesh, p, 0.0, &m), s.height < 0.0);
        CHECK(sup_collider_find_nearest(&mesh, p, 10.0, &m));
        CHECK_NEAR(m.height, s.height, 0.02);
        CHECK_NEAR(sup_v3_dot(m.normal, s.normal), 1.0, 0.02);
        inside += s.height < 0.0;
    }
    CHECK(inside > 30);
    sup_bvh_free(&bvh);
    blobs_free(&b);
}

static int32_t collide(blobs *b, const sup_posed_collider *colliders, int32_t count, void *state,
                       const sup_tasks *tasks)
{
    sup_context context = sup_context_resolve(NULL);
    if (tasks != NULL) context.tasks = *tasks;
    sup_point_contact_input input = {.colliders = colliders,
                                     .collider_count = count,
                                     .points = b->posed,
                                     .stride = 3,
                                     .point_count = b->vertex_count,
                                     .release = 0.25f * b->detect.edge[0]};
    sup_point_contact *contacts = malloc((size_t)b->vertex_count * sizeof *contacts);
    int32_t found = sup_point_contact_find(&context, &input, state, contacts);
    for (int32_t i = 0; i < found; i++) {
        sup_vec3d off =
            sup_v3_sub(sup_v3_load(b->posed + 3 * (size_t)contacts[i].vertex), sup_v3_load(contacts[i].point));
        CHECK_NEAR(sup_v3_dot(off, sup_v3_load(contacts[i].normal)), contacts[i].height, 1e-5);
    }
    for (int32_t i = 0; i < found; i++)
        b->contacts[i] = sup_collider_contact(&colliders[contacts[i].collider], &contacts[i], 0.125f, 0.5f);
    free(contacts);
    return found;
}

TEST(collider_contacts_are_valid_and_do_not_flicker)
{
    blobs b = blobs_make(2, 30, 20, 3.0, 0.1, 1);
    sup_context context = sup_context_resolve(NULL);
    size_t size = sup_point_contact_state_size(b.vertex_count);
    void *state = sup_alloc(&context.allocator, size);
    sup_posed_collider floor_and_sphere[2] = {
        {.shape = SUP_COLLIDER_PLANE, .from = {0, 0, -0.8}, .to = {0, 0, 0.2}, .friction = 0.7f},
        {.shape = SUP_COLLIDER_CAPSULE, .from = {3, 0, -1.2}, .to = {3, 0, -1.2}, .radius = 0.8, .friction = 0.2f}};
    sup_error error = {0};
    sup_thread_pool *pool = NULL;
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_tasks tasks = sup_thread_pool_tasks(pool);
    for (int i = 0; i < 2; i++) {
        floor_and_sphere[i].world =
            sup_affine_from_trs(sup_v3(0.1, 0, 0), sup_quatd_from_axis_angle(sup_v3(1, 0, 0), 0), sup_v3(1, 1, 1));
        floor_and_sphere[i].previous = sup_affine_identity();
    }
    sup_point_contact_reset(b.vertex_count, state);
    int32_t count = collide(&b, floor_and_sphere, 2, state, NULL), spheres = 0;
    CHECK(count > 20 && count < b.vertex_count / 2);
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *contact = &b.contacts[i];
        sup_vec3d off = sup_v3_sub(sup_v3_load(b.posed + 3 * (size_t)contact->vertex), sup_v3_load(contact->point));
        CHECK(i == 0 || contact->vertex > b.contacts[i - 1].vertex);
        CHECK(sup_v3_dot(off, sup_v3_load(contact->normal)) < 0.0);
        CHECK(contact->corner[0] == -1 && contact->corner[1] == -1 && contact->corner[2] == -1 &&
              contact->offset == 0.125f);
        CHECK_NEAR(contact->motion[0], 0.1, 1e-6);
        CHECK(contact->friction == 0.2f || contact->friction == 0.7f);
        spheres += contact->friction == 0.2f;
    }
    CHECK(spheres > 5 && spheres < count);
    /* Slightly above the floor the contacts stay; further away they end; a new list of colliders starts without
     * contacts. */
    floor_and_sphere[0].from.z = floor_and_sphere[0].to.z - 1.0;
    int32_t floor_contacts = count - spheres;
    floor_and_sphere[0].world.m[11] -= 0.05 * (double)b.detect.edge[0];
    CHECK(collide(&b, floor_and_sphere, 2, state, &tasks) >= floor_contacts);
    floor_and_sphere[0].world.m[11] -= 3.0;
    floor_and_sphere[1].world.m[11] -= 3.0;
    CHECK_EQ(collide(&b, floor_and_sphere, 2, state, NULL), 0);
    CHECK_EQ(collide(&b, floor_and_sphere, 0, state, NULL), 0);
    for (int32_t i = 0; i < b.vertex_count; i++)
        b.posed[3 * i] = NAN;
    floor_and_sphere[0].world.m[11] += 9.0;
    CHECK_EQ(collide(&b, floor_and_sphere, 2, state, NULL), 0);
    sup_thread_pool_destroy(pool);
    sup_free(&context.allocator, state, size);
    blobs_free(&b);
}
