#include "blobs.h"

#include "math/affine.h"

static void add_sphere(blobs *b, int32_t blob, int32_t columns, int32_t rows, double x, double bumps,
                       sup_random *random)
{
    const double pi = 3.14159265358979323846;
    int32_t per = columns * rows + 2, first = blob * per;
    for (int32_t i = 0; i < per; i++) {
        int32_t ring = i / columns + 1;
        double phi = 2.0 * pi * (i % columns) / columns, theta = pi * ring / (rows + 1);
        double r = 1.0 + bumps * (sup_random_unit(random) - 0.5);
        if (i >= per - 2) theta = i == per - 2 ? 0.0 : pi;
        double *p = b->skin + 3 * (size_t)(first + i);
        p[0] = x + r * sin(theta) * cos(phi);
        p[1] = r * sin(theta) * sin(phi);
        p[2] = r * cos(theta);
        double along = (p[2] + 0.4) / 0.8; /* the bone runs along z from -0.4 to 0.4 */
        b->foot_points[first + i] = (sup_foot_point){blob, along < 0.0 ? 0.0 : along > 1.0 ? 1.0 : along};
    }
    b->segments[blob].from = sup_v3(x, 0.0, -0.4);
    b->segments[blob].to = sup_v3(x, 0.0, 0.4);
    for (int32_t c = 0; c < columns; c++) {
        int32_t d = (c + 1) % columns, top = first + per - 2, bottom = first + per - 1, *t;
        t = b->triangles + 3 * (size_t)b->triangle_count;
        int32_t last = first + (rows - 1) * columns;
        int32_t caps[6] = {top, first + c, first + d, bottom, last + d, last + c};
        memcpy(t, caps, sizeof caps);
        b->triangle_count += 2;
        for (int32_t r = 0; r + 1 < rows; r++) {
            int32_t a = first + r * columns;
            int32_t quad[6] = {a + c, a + columns + c, a + d, a + d, a + columns + c, a + columns + d};
            memcpy(b->triangles + 3 * (size_t)b->triangle_count, quad, sizeof quad);
            b->triangle_count += 2;
        }
    }
}

blobs blobs_make(int32_t count, int32_t columns, int32_t rows, double spacing, double bumps, uint64_t seed)
{
    blobs b = {.count = count, .vertex_count = count * (columns * rows + 2)};
    sup_context context = sup_context_resolve(NULL);
    sup_random random = {seed};
    sup_error error = {0};
    size_t n = (size_t)b.vertex_count;
    b.skin = calloc(n, 24);
    b.triangles = calloc(2 * n, 12);
    b.foot_points = calloc(n, sizeof *b.foot_points);
    b.segments = calloc((size_t)count, sizeof *b.segments);
    for (int32_t i = 0; i < count; i++)
        add_sphere(&b, i, columns, rows, spacing * i, bumps, &random);
    b.def =
        (sup_detect_def){b.vertex_count, b.triangle_count, count, b.skin, b.triangles, b.foot_points, b.segments, NULL};
    b.arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_detect_create(NULL, &b.def, &b.arena, &b.detect, &error), error);
    b.state_size = sup_detect_state_size(&b.detect);
    b.state = sup_alloc(&context.allocator, b.state_size);
    sup_detect_reset(&b.detect, b.state);
    b.posed = calloc(n, 12);
    b.ends = calloc((size_t)count, 24);
    b.contacts = calloc(n, sizeof *b.contacts);
    blobs_rest(&b);
    return b;
}

void blobs_free(blobs *b)
{
    sup_context context = sup_context_resolve(NULL);
    sup_free(&context.allocator, b->state, b->state_size);
    sup_arena_destroy(&b->arena);
    free(b->skin);
    free(b->triangles);
    free(b->foot_points);
    free(b->segments);
    free(b->posed);
    free(b->ends);
    free(b->contacts);
}

void blobs_rest(blobs *b)
{
    for (int32_t i = 0; i < 3 * b->vertex_count; i++)
        b->posed[i] = (float)b->skin[i];
    for (int32_t p = 0; p < b->count; p++) {
        sup_v3_store(b->ends + 6 * (size_t)p, b->segments[p].from);
        sup_v3_store(b->ends + 6 * (size_t)p + 3, b->segments[p].to);
    }
}

void blobs_move(blobs *b, int32_t blob, sup_vec3d by, sup_vec3d axis, double angle, double noise, sup_random *random)
{
    int32_t per = b->vertex_count / b->count;
    for (int32_t p = 0; p < b->count; p++) {
        if (blob >= 0 && p != blob) continue;
        sup_vec3d middle = sup_v3_lerp(b->segments[p].from, b->segments[p].to, 0.5);
        sup_affine transform =
            sup_affine_from_trs(sup_v3_add(middle, by), sup_quatd_from_axis_angle(axis, angle), sup_v3(1.0, 1.0, 1.0));
        for (int32_t v = p * per; v < (p + 1) * per; v++) {
            const double *s = b->skin + 3 * (size_t)v;
            sup_vec3d x = sup_affine_point(transform, sup_v3_sub(sup_v3(s[0], s[1], s[2]), middle));
            if (noise > 0.0)
                x = sup_v3_madd(x, 2.0 * noise,
                                sup_v3(sup_random_unit(random) - 0.5, sup_random_unit(random) - 0.5,
                                       sup_random_unit(random) - 0.5));
            sup_v3_store(b->posed + 3 * (size_t)v, x);
        }
        sup_v3_store(b->ends + 6 * (size_t)p, sup_affine_point(transform, sup_v3_sub(b->segments[p].from, middle)));
        sup_v3_store(b->ends + 6 * (size_t)p + 3, sup_affine_point(transform, sup_v3_sub(b->segments[p].to, middle)));
    }
}

int32_t blobs_step(blobs *b, const sup_tasks *tasks)
{
    sup_context context = sup_context_resolve(NULL);
    if (tasks != NULL) context.tasks = *tasks;
    sup_detect_input input = {.skin = b->posed, .skin_stride = 3, .segment_ends = b->ends, .friction = 0.5f};
    return sup_detect_step(&context, &b->detect, b->state, &input, b->contacts);
}
