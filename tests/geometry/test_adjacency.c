/* Adjacency tables against brute force, on valid and invalid meshes. */
#include "geometry/adjacency.h"
#include "test.h"

static sup_adjacency create(int32_t vertices, int32_t triangle_count, const int32_t *triangles)
{
    sup_context context = sup_context_resolve(NULL);
    sup_adjacency a;
    sup_error error = {0};
    CHECK_OK(sup_adjacency_create(&context.allocator, vertices, triangle_count, triangles, &a, &error), error);
    return a;
}

/* Number of occurrences of an edge among all triangles. */
static int edge_uses(const sup_adjacency *a, int32_t u, int32_t v)
{
    int uses = 0;
    for (int32_t h = 0; h < 3 * a->triangle_count; h++) {
        int32_t s = a->triangles[h], e = a->triangles[sup_half_next(h)];
        uses += (s == u && e == v) || (s == v && e == u);
    }
    return uses;
}

/* Every table against its definition. */
static void check_tables(const sup_adjacency *a)
{
    int32_t halves = 3 * a->triangle_count;
    CHECK_EQ(a->edge_first[a->edge_count], halves);
    for (int32_t e = 0; e < a->edge_count; e++) {
        int32_t u = a->edge_vertices[2 * e], v = a->edge_vertices[2 * e + 1];
        CHECK(u < v);
        CHECK(e == 0 || a->edge_vertices[2 * e - 2] < u ||
              (a->edge_vertices[2 * e - 2] == u && a->edge_vertices[2 * e - 1] < v));
        CHECK_EQ(a->edge_first[e + 1] - a->edge_first[e], edge_uses(a, u, v));
        for (int32_t i = a->edge_first[e]; i < a->edge_first[e + 1]; i++) {
            CHECK_EQ(a->half_edge[a->edge_halves[i]], e);
            CHECK(i == a->edge_first[e] || a->edge_halves[i] > a->edge_halves[i - 1]);
        }
    }
    for (int32_t h = 0; h < halves; h++) {
        int32_t count = edge_uses(a, a->triangles[h], a->triangles[sup_half_next(h)]), twin = a->half_twin[h];
        CHECK_EQ(sup_half_previous(sup_half_next(h)), h);
        if (count == 1) CHECK_EQ(twin, SUP_HALF_BOUNDARY);
        if (count > 2) CHECK_EQ(twin, SUP_HALF_NON_MANIFOLD);
        if (count == 2) CHECK(twin >= 0 && twin != h && a->half_edge[twin] == a->half_edge[h]);
    }
    CHECK_EQ(a->vertex_first[a->vertex_count], halves);
    for (int32_t v = 0; v < a->vertex_count; v++)
        for (int32_t i = a->vertex_first[v]; i < a->vertex_first[v + 1]; i++)
            CHECK_EQ(a->triangles[a->vertex_halves[i]], v);
}

static void check_neighbours(const sup_adjacency *a)
{
    int32_t *first = calloc((size_t)a->vertex_count + 1, sizeof *first);
    int32_t *neighbours = calloc(2 * (size_t)a->edge_count + 1, sizeof *neighbours);
    sup_adjacency_neighbours(a, first, neighbours);
    CHECK_EQ(first[a->vertex_count], 2 * a->edge_count);
    for (int32_t v = 0; v < a->vertex_count; v++)
        for (int32_t k = first[v]; k < first[v + 1]; k++) {
            CHECK(edge_uses(a, v, neighbours[k]) > 0);
            CHECK(k == first[v] || neighbours[k] > neighbours[k - 1]);
        }
    free(first);
    free(neighbours);
}

TEST(tetrahedron_adjacency)
{
    static const int32_t triangles[] = {0, 1, 2, 0, 3, 1, 1, 3, 2, 2, 3, 0};
    sup_adjacency a = create(4, 4, triangles);
    CHECK_EQ(a.edge_count, 6);
    check_tables(&a);
    check_neighbours(&a);
    sup_adjacency_destroy(&a);
}

TEST(adjacency_of_random_triangle_soups)
{
    sup_random random = {5};
    for (int round = 0; round < 30; round++) {
        enum { TRIANGLES = 40 };
        int32_t triangles[3 * TRIANGLES], vertices = 5 + (int32_t)(sup_random_u32(&random) % 30);
        for (int t = 0; t < TRIANGLES; t++) {
            int32_t *c = triangles + 3 * t;
            do
                for (int k = 0; k < 3; k++)
                    c[k] = (int32_t)(sup_random_u32(&random) % (uint32_t)vertices);
            while (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]);
        }
        sup_adjacency a = create(vertices, TRIANGLES, triangles);
        check_tables(&a);
        check_neighbours(&a);
        /* Every boundary edge is on exactly one chain, and chains are connected. */
        sup_context context = sup_context_resolve(NULL);
        sup_arena arena = sup_arena_create(&context.allocator);
        sup_boundary b;
        sup_error error = {0};
        int32_t boundary = 0;
        for (int32_t h = 0; h < 3 * TRIANGLES; h++)
            boundary += a.half_twin[h] == SUP_HALF_BOUNDARY;
        CHECK_OK(sup_boundary_loops(&a, &arena, &b, &error), error);
        CHECK_EQ(b.edge_count, boundary);
        CHECK_EQ(b.loop_first[b.loop_count], boundary);
        bool seen[3 * TRIANGLES] = {false};
        for (int32_t l = 0; l < b.loop_count; l++)
            for (int32_t i = b.loop_first[l]; i < b.loop_first[l + 1]; i++) {
                int32_t h = b.halves[i], s = triangles[h], e = triangles[sup_half_next(h)], v = b.vertices[i];
                CHECK(!seen[h] && a.half_twin[h] == SUP_HALF_BOUNDARY);
                seen[h] = true;
                CHECK(v == s || v == e);
                int32_t next = i + 1 < b.loop_first[l + 1] ? b.vertices[i + 1]
                               : b.closed[l]               ? b.vertices[b.loop_first[l]]
                                                           : s + e - v;
                CHECK_EQ(next, s + e - v);
            }
        sup_arena_destroy(&arena);
        sup_adjacency_destroy(&a);
    }
}

static sup_boundary loops(const sup_adjacency *a, sup_arena *arena)
{
    sup_boundary b;
    sup_error error = {0};
    CHECK_OK(sup_boundary_loops(a, arena, &b, &error), error);
    return b;
}

TEST(boundary_loops_of_grid_with_holes_and_touching_triangles)
{
    enum { N = 6 };
    int32_t triangles[6 * N * N], count = 0;
    for (int32_t y = 0; y < N; y++)
        for (int32_t x = 0; x < N; x++) {
            /* Cells (1,1) and (4,4) are holes; (4,4) and (5,5) touch in a vertex, and (5,5) is open to the outside. */
            if ((x == 1 && y == 1) || (x == 4 && y == 4) || (x == 5 && y == 5)) continue;
            int32_t v = y * (N + 1) + x, corners[6] = {v, v + 1, v + N + 2, v, v + N + 2, v + N + 1};
            memcpy(triangles + 3 * count, corners, sizeof corners);
            count += 2;
        }
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_adjacency a = create((N + 1) * (N + 1), count, triangles);
    sup_boundary b = loops(&a, &arena);
    CHECK_EQ(b.loop_count, 2);
    CHECK_EQ(b.edge_count, 4 * N + 8);
    for (int32_t l = 0; l < b.loop_count; l++)
        CHECK(b.closed[l]);
    /* One flipped triangle changes the orientation, not the loops. */
    int32_t swap = triangles[1];
    triangles[1] = triangles[2];
    triangles[2] = swap;
    sup_adjacency turned = create((N + 1) * (N + 1), count, triangles);
    CHECK_EQ(loops(&turned, &arena).loop_count, 2);
    sup_adjacency_destroy(&turned);
    /* Two triangles that touch in vertex 2: one loop each. */
    static const int32_t touching[] = {0, 1, 2, 2, 3, 4};
    sup_adjacency pair = create(5, 2, touching);
    CHECK_EQ(loops(&pair, &arena).loop_count, 2);
    sup_adjacency_destroy(&pair);
    sup_adjacency_destroy(&a);
    sup_arena_destroy(&arena);
}

TEST(boundary_chain_ends_at_non_manifold_edge)
{
    /* Three triangles on the edge 0-1: three fins of two boundary edges each. */
    static const int32_t triangles[] = {0, 1, 2, 0, 1, 3, 0, 1, 4};
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_adjacency a = create(5, 3, triangles);
    sup_boundary b = loops(&a, &arena);
    CHECK_EQ(b.loop_count, 3);
    for (int32_t l = 0; l < 3; l++)
        CHECK(!b.closed[l] && b.loop_first[l + 1] - b.loop_first[l] == 2);
    sup_adjacency_destroy(&a);
    sup_arena_destroy(&arena);
}

TEST(components_are_numbered_by_first_vertex)
{
    static const int32_t triangles[] = {9, 8, 7, 1, 2, 5, 5, 6, 2, 7, 4, 3};
    static const int32_t expected[] = {-1, 0, 0, 1, 1, 0, 0, 1, 1, 1, -1};
    int32_t component[11];
    CHECK_EQ(sup_mesh_components(11, 4, triangles, component), 2);
    for (int v = 0; v < 11; v++)
        CHECK_EQ(component[v], expected[v]);
    CHECK_EQ(sup_mesh_components(0, 0, NULL, component), 0);
}

TEST(large_fan_takes_linear_time)
{
    enum { COUNT = 300000 };
    int32_t *triangles = calloc(3 * COUNT, sizeof *triangles);
    for (int32_t t = 0; t < COUNT; t++) {
        triangles[3 * t + 1] = t + 1;
        triangles[3 * t + 2] = t + 2;
    }
    sup_adjacency a = create(COUNT + 2, COUNT, triangles);
    CHECK_EQ(a.edge_count, 2 * COUNT + 1);
    sup_adjacency_destroy(&a);
    free(triangles);
}

TEST(too_large_meshes_are_rejected)
{
    sup_context context = sup_context_resolve(NULL);
    sup_adjacency a;
    sup_error error = {0};
    CHECK_EQ(sup_adjacency_create(&context.allocator, 3, INT32_MAX, NULL, &a, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_adjacency_create(&context.allocator, -1, 0, NULL, &a, &error), SUP_ERROR_ARGUMENT);
    sup_adjacency_destroy(&(sup_adjacency){.arena = sup_arena_create(&context.allocator)});
}
