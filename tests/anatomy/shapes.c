#include "anatomy/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The midpoint of edge ab, created once: `edges` holds [a, b, midpoint] triples. */
static int32_t middle_of(owned_shape *s, int32_t (*edges)[3], int32_t *edge_count, int32_t a, int32_t b)
{
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    for (int32_t i = *edge_count - 1; i >= 0; i--)
        if (edges[i][0] == low && edges[i][1] == high) return edges[i][2];
    int32_t made = s->shape.vertex_count++;
    for (int k = 0; k < 3; k++)
        s->positions[3 * made + k] = 0.5 * (s->positions[3 * a + k] + s->positions[3 * b + k]);
    edges[*edge_count][0] = low;
    edges[*edge_count][1] = high;
    edges[(*edge_count)++][2] = made;
    return made;
}

static void subdivide(owned_shape *s)
{
    int32_t count = s->shape.triangle_count, edge_count = 0;
    int32_t *old = malloc(3 * (size_t)count * sizeof *old);
    int32_t(*edges)[3] = malloc(3 * (size_t)count * sizeof *edges);
    if (old == NULL || edges == NULL) abort();
    memcpy(old, s->triangles, 3 * (size_t)count * sizeof *old);
    for (int32_t t = 0; t < count; t++) {
        int32_t c[3], m[3];
        memcpy(c, old + 3 * (size_t)t, sizeof c);
        for (int k = 0; k < 3; k++)
            m[k] = middle_of(s, edges, &edge_count, c[k], c[(k + 1) % 3]);
        int32_t four[12] = {c[0], m[0], m[2], c[1], m[1], m[0], c[2], m[2], m[1], m[0], m[1], m[2]};
        memcpy(s->triangles + 12 * (size_t)t, four, sizeof four);
    }
    s->shape.triangle_count = 4 * count;
    free(old);
    free(edges);
}

owned_shape shape_sphere(int levels, double radius, const double centre[3])
{
    static const double corners[18] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};
    static const int32_t faces[24] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
    size_t vertices = ((size_t)4 << (2 * levels)) + 2, triangles = (size_t)8 << (2 * levels);
    owned_shape s = {0};
    s.positions = malloc(vertices * 3 * sizeof(double));
    s.triangles = malloc(triangles * 3 * sizeof(int32_t));
    if (s.positions == NULL || s.triangles == NULL) abort();
    memcpy(s.positions, corners, sizeof corners);
    memcpy(s.triangles, faces, sizeof faces);
    s.shape = (sup_shape){6, 8, s.positions, s.triangles};
    for (int i = 0; i < levels; i++)
        subdivide(&s);
    for (int32_t v = 0; v < s.shape.vertex_count; v++) {
        double *p = s.positions + 3 * (size_t)v, length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        for (int k = 0; k < 3; k++)
            p[k] = centre[k] + radius * p[k] / length;
    }
    return s;
}

void shape_free(owned_shape *s)
{
    free(s->positions);
    free(s->triangles);
    memset(s, 0, sizeof *s);
}
