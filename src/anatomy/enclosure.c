/* enclosure.c - counts points outside a surface and inverted prisms. */
#include "anatomy/enclosure.h"
#include "geometry/winding.h"
#include "math/vec3.h"

enum { POINT_GRAIN = 256 };

typedef struct outside_work {
    const sup_winding *winding;
    const double *points;
    const unsigned char *skip;
    unsigned char *outside;
} outside_work;

static void test_points(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    const outside_work *w = work;
    for (int32_t i = begin; i < end; i++) {
        const double *p = w->points + 3 * (size_t)i;
        bool skipped = w->skip != NULL && w->skip[i] != 0;
        w->outside[i] = !skipped && sup_winding_number(w->winding, sup_v3(p[0], p[1], p[2])) < 0.5;
    }
}

int32_t sup_points_outside(const sup_context *context, const sup_shape *surface, int32_t count, const double *points,
                           const unsigned char *skip, unsigned char *outside)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t floats = 3 * (size_t)surface->vertex_count;
    float *positions = sup_arena_alloc(&arena, floats + 1, sizeof *positions);
    unsigned char *flags = outside != NULL ? outside : sup_arena_alloc(&arena, (size_t)count + 1, 1);
    int32_t found = -1;
    sup_winding winding;
    for (size_t i = 0; positions != NULL && i < floats; i++)
        positions[i] = (float)surface->positions[i];
    if (positions != NULL && flags != NULL &&
        sup_winding_create(&resolved.allocator, positions, surface->triangle_count, surface->triangles, &winding,
                           NULL) == SUP_OK) {
        outside_work work = {&winding, points, skip, flags};
        sup_parallel(&resolved, count, POINT_GRAIN, test_points, &work);
        found = 0;
        for (int32_t i = 0; i < count; i++)
            found += flags[i];
        sup_winding_destroy(&winding);
    }
    sup_arena_destroy(&arena);
    return found;
}

/* Six times the volume of the tetrahedron from the origin to a triangle. */
static double cone(sup_vec3d a, sup_vec3d b, sup_vec3d c)
{
    return sup_v3_dot(a, sup_v3_cross(b, c));
}

double sup_prism_volume(const double *inner, const double *outer, const int32_t corners[3])
{
    sup_vec3d in[3], out[3];
    const double *o = inner + 3 * (size_t)corners[0];
    for (int k = 0; k < 3; k++) {
        const double *a = inner + 3 * (size_t)corners[k], *b = outer + 3 * (size_t)corners[k];
        in[k] = sup_v3(a[0] - o[0], a[1] - o[1], a[2] - o[2]);
        out[k] = sup_v3(b[0] - o[0], b[1] - o[1], b[2] - o[2]);
    }
    double sum = cone(out[0], out[1], out[2]) - cone(in[0], in[1], in[2]);
    for (int k = 0; k < 3; k++) { /* each side as the mean of its two triangulations */
        int l = (k + 1) % 3;
        sum += 0.5 * (cone(in[k], in[l], out[l]) + cone(in[k], out[l], out[k]) + cone(in[k], in[l], out[k]) +
                      cone(in[l], out[l], out[k]));
    }
    return sum / 6.0;
}

int32_t sup_prisms_inverted(int32_t triangle_count, const int32_t *triangles, const double *inner, const double *outer,
                            const unsigned char *skip, unsigned char *bad)
{
    int32_t count = 0;
    for (int32_t t = 0; t < triangle_count; t++) {
        const int32_t *c = triangles + 3 * (size_t)t;
        bool skipped = skip != NULL && skip[c[0]] && skip[c[1]] && skip[c[2]];
        bool inverted = !skipped && !(sup_prism_volume(inner, outer, c) > 0.0);
        if (bad != NULL) bad[t] = inverted;
        count += inverted;
    }
    return count;
}
