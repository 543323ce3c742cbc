/* thin_skin.c - see thin_skin.h. */
#include "contact/thin_skin.h"

#include "geometry/bvh.h"

#include <math.h>

static const double THIN = 0.5; /* of the mean length of the edges at a vertex */

/* Of a vertex: sum of the normals around it, sum and number of the edges. */
typedef struct vertex_sums {
    sup_vec3d normal;
    double length, count;
} vertex_sums;

static void add_triangles(const double *positions, int32_t triangle_count, const int32_t *triangles, vertex_sums *sums)
{
    for (int32_t t = 0; t < triangle_count; t++) {
        const int32_t *c = triangles + 3 * (size_t)t;
        sup_vec3d p[3];
        for (int k = 0; k < 3; k++) {
            const double *at = positions + 3 * (size_t)c[k];
            p[k] = sup_v3(at[0], at[1], at[2]);
        }
        sup_vec3d normal = sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0]));
        for (int k = 0; k < 3; k++) {
            double length = sup_v3_distance(p[k], p[(k + 1) % 3]);
            sums[c[k]].normal = sup_v3_add(sums[c[k]].normal, normal);
            for (int end = 0; end < 2; end++) {
                vertex_sums *s = &sums[c[(k + end) % 3]];
                s->length += length;
                s->count += 1.0;
            }
        }
    }
}

typedef struct sheet_query {
    const int32_t *triangles;
    int32_t vertex;
} sheet_query;

/* The other side: the ray leaves through it, and it does not have the vertex. */
static bool is_other_side(void *user, const sup_bvh_hit *hit)
{
    const sheet_query *q = user;
    const int32_t *c = q->triangles + 3 * (size_t)hit->triangle;
    return hit->facing > 0 && c[0] != q->vertex && c[1] != q->vertex && c[2] != q->vertex;
}

sup_result sup_thin_skin_find(const sup_context *context, int32_t vertex_count, const double *positions,
                              int32_t triangle_count, const int32_t *triangles, unsigned char *thin, sup_error *error)
{
    sup_arena arena = sup_arena_create(&context->allocator);
    vertex_sums *sums = sup_arena_alloc(&arena, (size_t)vertex_count, sizeof *sums);
    float *points = sup_arena_alloc(&arena, (size_t)vertex_count, 3 * sizeof *points);
    sup_bvh tree = {0};
    sup_result result = sums != NULL && points != NULL ? SUP_OK : sup_fail_memory(error, "the thickness of the skin");
    for (size_t i = 0; result == SUP_OK && i < 3 * (size_t)vertex_count; i++)
        points[i] = (float)positions[i];
    if (result == SUP_OK) result = sup_bvh_create(context, points, triangle_count, triangles, &tree, error);
    if (result == SUP_OK) {
        add_triangles(positions, triangle_count, triangles, sums);
        for (int32_t v = 0; v < vertex_count; v++) {
            double length = sup_v3_length(sums[v].normal);
            sheet_query query = {triangles, v};
            if (!(length > 0.0)) continue;
            sup_bvh_ray ray = {.origin = sup_v3_load(points + 3 * (size_t)v),
                               .direction = sup_v3_scale(sums[v].normal, -1.0 / length),
                               .t_max = THIN * sums[v].length / fmax(sums[v].count, 1.0),
                               .accept = is_other_side,
                               .user = &query};
            if (sup_bvh_ray_any(&tree, &ray)) thin[v] = 1;
        }
        sup_bvh_free(&tree);
    }
    sup_arena_destroy(&arena);
    return result;
}
