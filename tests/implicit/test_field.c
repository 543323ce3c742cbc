/* test_field.c - fields of bones: regions, grids and their evaluation. Numbers in comments are those of the checklist
 * in shared/methods/facts_implicit.md. */
#include "base/simd.h"
#include "bind/model.h"
#include "geometry/winding.h"
#include "math/affine.h"
#include "methods/implicit/field_bind.h"
#include "methods/implicit/field_internal.h"
#include "skin/simulated_surface.h"
#include "supple/scenes.h"
#include "test.h"

static double random_in(sup_random *random, double low, double high)
{
    return low + (high - low) * sup_random_unit(random);
}

/* --- Fields of a character --- */

typedef struct built {
    sup_character *character;
    sup_rig *rig;
    sup_arena arena;
    sup_simulated_surface surface;
    sup_model_builder builder;
    sup_fields_bound bound;
} built;

static sup_result build_skin(built *b, const sup_context *context, const sup_rig *rig, const sup_fields_def *def,
                             sup_error *error)
{
    sup_context filled = sup_context_resolve(context);
    sup_bind_input input = {.context = &filled, .rig = rig};
    b->builder = (sup_model_builder){filled.allocator, {NULL, 0, 0, sizeof(sup_built_array)}, NULL, false};
    b->arena = sup_arena_create(&filled.allocator);
    return sup_fields_build(&input, def, &b->builder, &b->arena, &b->bound, error);
}

static void free_fields(built *b)
{
    sup_model_builder_free(&b->builder);
    sup_arena_destroy(&b->arena);
}

static built kept;
static sup_arena kept_arena;

static void free_kept(void)
{
    free_fields(&kept);
    sup_arena_destroy(&kept_arena);
    sup_rig_destroy(kept.rig);
    sup_character_destroy(kept.character);
}

static sup_fields_def skin_def(void)
{
    const sup_simulated_surface *s = &kept.surface;
    return (sup_fields_def){.skin = {.vertex_count = s->fine_count,
                                     .triangle_count = s->fine_triangle_count,
                                     .positions = s->fine_positions,
                                     .triangles = s->fine_triangles},
                            .grid = 8.0,
                            .samples = 96};
}

/* The arm with its hand, bound once for all tests. */
static const built *arm(void)
{
    sup_error error = {0};
    if (kept.character != NULL) return &kept;
    sup_context context = sup_context_resolve(NULL);
    kept_arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_scene_create(NULL, "arm", 0.25, &kept.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, kept.character, NULL, &kept.rig, &error), error);
    CHECK_OK(sup_simulated_surface_create(&context, kept.rig, INT32_MAX / 4, &kept_arena, &kept.surface, &error),
             error);
    sup_fields_def def = skin_def();
    CHECK_OK(build_skin(&kept, NULL, kept.rig, &def, &error), error);
    atexit(free_kept);
    return &kept;
}

static void set_points(sup_field_points *points, const sup_vec3d *p)
{
    for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
        points->x[i] = (float)p[i].x;
        points->y[i] = (float)p[i].y;
        points->z[i] = (float)p[i].z;
    }
}

static sup_vec3d node_to_world(const sup_bone_field *f, double x, double y, double z)
{
    const float *m = f->from_grid;
    double at[3];
    for (int k = 0; k < 3; k++)
        at[k] = (double)m[4 * k] * x + (double)m[4 * k + 1] * y + (double)m[4 * k + 2] * z + (double)m[4 * k + 3];
    return sup_v3(at[0], at[1], at[2]);
}

/* Random points in and slightly around a field's box. */
static void scatter(const sup_bone_field *f, sup_random *random, sup_vec3d *p)
{
    for (int32_t i = 0; i < SUP_FIELD_LANES; i++)
        p[i] = node_to_world(f, random_in(random, -1.0, f->size[0]), random_in(random, -1.0, f->size[1]),
                             random_in(random, -1.0, f->size[2]));
}

/* Quadratic B-spline in double, from its definition. */
static double spline(double t, double *slope)
{
    double a = fabs(t);
    *slope = a < 0.5 ? -2.0 * t : (a < 1.5 ? (t < 0.0 ? 1.5 - a : a - 1.5) : 0.0);
    return a < 0.5 ? 0.75 - t * t : (a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0.0);
}

static double reference(const sup_fields *fields, int32_t field, const float *to_grid, const float *p,
                        double gradient[3])
{
    const sup_bone_field *f = &fields->fields[field];
    double u[3], value = 0.0, along[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < 3; k++)
        u[k] = (double)to_grid[4 * k] * (double)p[0] + (double)to_grid[4 * k + 1] * (double)p[1] +
               (double)to_grid[4 * k + 2] * (double)p[2] + (double)to_grid[4 * k + 3];
    for (int32_t z = 0; z < f->size[2]; z++)
        for (int32_t y = 0; y < f->size[1] && fabs(u[2] - z) < 1.5; y++)
            for (int32_t x = 0; x < f->size[0] && fabs(u[1] - y) < 1.5; x++) {
                double node = (double)fields->nodes[f->first + (z * f->size[1] + y) * f->size[0] + x], s[3];
                double wx = spline(u[0] - x, s), wy = spline(u[1] - y, s + 1), wz = spline(u[2] - z, s + 2);
                value += node * wx * wy * wz;
                along[0] += node * s[0] * wy * wz;
                along[1] += node * wx * s[1] * wz;
                along[2] += node * wx * wy * s[2];
            }
    for (int c = 0; c < 3; c++)
        gradient[c] =
            (double)to_grid[c] * along[0] + (double)to_grid[4 + c] * along[1] + (double)to_grid[8 + c] * along[2];
    return value;
}

TEST(kernels_of_all_processors_agree_with_a_slow_reference)
{
    const sup_fields *fields = &arm()->bound.fields;
    const sup_field_kernels *kernels[3] = {&sup_field_kernels_base};
    int32_t kernel_count = 1;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) kernels[kernel_count++] = &sup_field_kernels_avx2;
    if (sup_simd_lanes() >= 16) kernels[kernel_count++] = &sup_field_kernels_avx512;
#endif
    sup_random random = {11};
    for (int32_t f = 0; f < fields->field_count; f++) {
        const sup_bone_field *field = &fields->fields[f];
        sup_vec3d p[SUP_FIELD_LANES];
        sup_field_points points;
        scatter(field, &random, p);
        set_points(&points, p);
        points.x[3] = NAN;
        points.y[7] = INFINITY;
        points.z[9] = -3e38f;
        for (int32_t k = 0; k < kernel_count; k++) {
            sup_field_samples samples;
            kernels[k]->evaluate(fields, f, field->to_grid, &points, &samples);
            for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
                const float at[3] = {points.x[i], points.y[i], points.z[i]};
                double gradient[3] = {0.0, 0.0, 0.0};
                bool wild = i == 3 || i == 7 || i == 9;
                double value = wild ? 0.0 : reference(fields, f, field->to_grid, at, gradient);
                double scale = 1.0 / (double)field->radius;
                CHECK_NEAR(samples.value[i], value, 2e-5);
                CHECK_NEAR(samples.x[i], gradient[0], 2e-4 * scale);
                CHECK_NEAR(samples.y[i], gradient[1], 2e-4 * scale);
                CHECK_NEAR(samples.z[i], gradient[2], 2e-4 * scale);
            }
        }
    }
}

/* Values and gradients of the exact field. */
static double exact(const built *b, int32_t field, sup_vec3d p, sup_vec3d *gradient)
{
    const sup_hrbf *fit = &b->bound.fits[field];
    double r = (double)b->bound.fields.fields[field].radius, m = b->bound.depth[field], step = 1e-5 * r;
    double value = sup_hrbf_value(fit, p, gradient);
    double slope = (sup_field_map(value + step, r, m) - sup_field_map(value - step, r, m)) / (2.0 * step);
    *gradient = sup_v3_scale(*gradient, slope);
    return sup_field_map(value, r, m);
}

/* Whether skin of another region is about as near as that of a field's own region, and the field's bone is farther than
 * its radius: there the field is limited (limit_to_region in field_grid.c) and differs from the fit. */
static bool is_foreign(const built *b, int32_t field, sup_vec3d p, double cell)
{
    const sup_skin_regions *regions = &b->bound.regions;
    double own = INFINITY, other = INFINITY;
    for (int32_t v = 0; v < b->surface.fine_count; v++) {
        double distance = sup_v3_distance(p, sup_v3_load(b->surface.fine_positions + 3 * (size_t)v));
        double *nearest = regions->vertex_region[v] == field ? &own : &other;
        *nearest = fmin(*nearest, distance);
    }
    double bone = sup_skin_regions_distance(regions, field, p, NULL);
    return other < own + 2.0 * cell && bone > (double)b->bound.fields.fields[field].radius - 2.0 * cell;
}

TEST(grids_are_near_the_exact_fields) /* 2, 6 */
{
    const built *b = arm();
    const sup_fields *fields = &b->bound.fields;
    sup_field_evaluate_fn *evaluate = sup_field_evaluator();
    sup_random random = {13};
    double worst = 0.0, worst_near = 0.0, angle_sum = 0.0, near = 0.0, compared = 0.0;
    for (int32_t f = 0; f < fields->field_count; f++) {
        const sup_bone_field *field = &fields->fields[f];
        double cell = sup_v3_length(
            sup_v3((double)field->from_grid[0], (double)field->from_grid[4], (double)field->from_grid[8]));
        for (int32_t trial = 0; trial < 4; trial++) {
            sup_vec3d p[SUP_FIELD_LANES];
            sup_field_points points;
            sup_field_samples samples;
            for (int32_t i = 0; i < SUP_FIELD_LANES; i++) { /* around the samples */
                const sup_hrbf *fit = &b->bound.fits[f];
                const double *c = fit->centre + 3 * (size_t)random_in(&random, 0.0, fit->count < 64 ? fit->count : 64);
                double r = 0.5 * (double)field->radius;
                p[i] = sup_v3_madd(fit->origin, fit->scale, sup_v3(c[0], c[1], c[2]));
                p[i] = sup_v3_add(p[i], sup_v3(random_in(&random, -r, r), random_in(&random, -r, r), 0.0));
            }
            set_points(&points, p);
            evaluate(fields, f, field->to_grid, &points, &samples);
            for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
                sup_vec3d g, got = sup_v3((double)samples.x[i], (double)samples.y[i], (double)samples.z[i]);
                if (is_foreign(b, f, p[i], cell)) continue;
                compared += 1.0;
                double value = exact(b, f, p[i], &g), off = fabs((double)samples.value[i] - value);
                worst = fmax(worst, off);
                if (fabs(value - 0.5) > 0.1) continue; /* a ninth of the radius from the skin */
                worst_near = fmax(worst_near, off);
                double cosine = sup_v3_dot(g, got) / (sup_v3_length(g) * sup_v3_length(got));
                angle_sum += acos(fmin(cosine, 1.0)) * acos(fmin(cosine, 1.0));
                near += 1.0;
            }
        }
    }
    CHECK(compared > 700.0);
    CHECK_MSG(worst < 1e-2, "off by %g", worst);
    CHECK_MSG(worst_near < 5e-3, "off by %g near the skin", worst_near);
    CHECK(near > 100.0);
    CHECK_MSG(sqrt(angle_sum / near) < 0.035, "gradients off by %g degrees (RMS)", sqrt(angle_sum / near) * 57.3);
}

TEST(values_and_gradients_are_of_one_function_and_fade_to_zero) /* 2, 6 */
{
    const sup_fields *fields = &arm()->bound.fields;
    sup_field_evaluate_fn *evaluate = sup_field_evaluator();
    sup_random random = {17};
    for (int32_t f = 0; f < fields->field_count; f++) {
        const sup_bone_field *field = &fields->fields[f];
        sup_vec3d p[SUP_FIELD_LANES];
        sup_field_points points;
        sup_field_samples here, ahead, behind;
        double step = 2e-3 * (double)field->radius;
        scatter(field, &random, p);
        set_points(&points, p);
        evaluate(fields, f, field->to_grid, &points, &here);
        for (int k = 0; k < 3; k++) {
            float *at = k == 0 ? points.x : (k == 1 ? points.y : points.z);
            const float *slope = k == 0 ? here.x : (k == 1 ? here.y : here.z);
            float old[SUP_FIELD_LANES], low[SUP_FIELD_LANES], high[SUP_FIELD_LANES];
            memcpy(old, at, sizeof old);
            for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
                low[i] = old[i] - (float)step;
                high[i] = old[i] + (float)step;
            }
            memcpy(at, high, sizeof old);
            evaluate(fields, f, field->to_grid, &points, &ahead);
            memcpy(at, low, sizeof old);
            evaluate(fields, f, field->to_grid, &points, &behind);
            memcpy(at, old, sizeof old);
            for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
                double across = (double)high[i] - (double)low[i];
                CHECK_NEAR(((double)ahead.value[i] - (double)behind.value[i]) / across, slope[i],
                           2e-3 / (double)field->radius);
            }
        }
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++) { /* on the border of the box */
            int axis = i % 3;
            double u[3];
            for (int k = 0; k < 3; k++)
                u[k] = random_in(&random, 0.0, field->size[k] - 1.0);
            u[axis] = i % 2 == 0 ? 0.5 : field->size[axis] - 1.5;
            p[i] = node_to_world(field, u[0], u[1], u[2]);
        }
        set_points(&points, p);
        evaluate(fields, f, field->to_grid, &points, &here);
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++)
            CHECK_NEAR(here.value[i], 0.0, 1e-6);
    }
}

TEST(posed_fields_move_rigidly) /* 5 */
{
    const sup_fields *fields = &arm()->bound.fields;
    sup_field_evaluate_fn *evaluate = sup_field_evaluator();
    sup_affine motion = sup_affine_from_trs(sup_v3(0.1, 0.3, -0.2), sup_quatd_from_axis_angle(sup_v3(1, -1, 2), 1.1),
                                            sup_v3(1.0, 1.0, 1.0)),
               inverse;
    CHECK(sup_affine_inverse(motion, &inverse));
    sup_random random = {19};
    for (int32_t f = 0; f < fields->field_count; f++) {
        const sup_bone_field *field = &fields->fields[f];
        sup_mat34 grid;
        memcpy(grid.m, field->to_grid, sizeof grid.m);
        sup_mat34 posed = sup_affine_to_float(sup_affine_multiply(sup_affine_from_float(grid), inverse));
        sup_vec3d p[SUP_FIELD_LANES];
        sup_field_points points;
        sup_field_samples rest, moved;
        scatter(field, &random, p);
        set_points(&points, p);
        evaluate(fields, f, field->to_grid, &points, &rest);
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++)
            p[i] = sup_affine_point(motion, p[i]);
        set_points(&points, p);
        evaluate(fields, f, posed.m, &points, &moved);
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
            sup_vec3d a = sup_v3((double)rest.x[i], (double)rest.y[i], (double)rest.z[i]);
            sup_vec3d b = sup_v3((double)moved.x[i], (double)moved.y[i], (double)moved.z[i]);
            CHECK_NEAR(rest.value[i], moved.value[i],
                       1e-4); /* positions in float, some 1e-5 of a small field's radius */
            CHECK(sup_v3_distance(sup_affine_vector(motion, a), b) < 1e-3 / (double)field->radius);
        }
    }
}

/* The largest of all fields. */
static void largest(const sup_fields *fields, const sup_field_points *points, float *value)
{
    sup_field_evaluate_fn *evaluate = sup_field_evaluator();
    memset(value, 0, SUP_FIELD_LANES * sizeof *value);
    for (int32_t f = 0; f < fields->field_count; f++) {
        sup_field_samples samples;
        evaluate(fields, f, fields->fields[f].to_grid, points, &samples);
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++)
            value[i] = fmaxf(value[i], samples.value[i]);
    }
}

TEST(fields_together_fit_the_skin) /* 3 */
{
    const built *b = arm();
    const sup_simulated_surface *s = &b->surface;
    const sup_fields_report *report = &b->bound.report;
    CHECK_EQ(report->outside, 0);
    CHECK_EQ(report->capsules, 0);
    CHECK_MSG(report->rms < 0.05, "RMS %g edges", report->rms);
    CHECK_MSG(report->largest < 0.4, "at most %g edges", report->largest);
    sup_context context = sup_context_resolve(NULL);
    sup_winding winding;
    sup_error error = {0};
    CHECK_OK(sup_winding_create(&context.allocator, s->fine_positions, s->fine_triangle_count, s->fine_triangles,
                                &winding, &error),
             error);
    sup_random random = {23};
    int32_t inside = 0, outside = 0;
    for (int32_t batch = 0; batch < 200; batch++) {
        sup_vec3d p[SUP_FIELD_LANES];
        sup_field_points points;
        float value[SUP_FIELD_LANES];
        double off[SUP_FIELD_LANES];
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
            int32_t v = (int32_t)random_in(&random, 0.0, s->fine_count);
            int32_t region = b->bound.regions.vertex_region[v];
            sup_vec3d q = sup_v3_load(s->fine_positions + 3 * (size_t)v), bone = q;
            sup_skin_regions_distance(&b->bound.regions, region, q, &bone);
            off[i] = random_in(&random, -1.0, 1.0); /* to the bone, and as far away from it */
            p[i] = sup_v3_madd(q, off[i], sup_v3_sub(q, bone));
        }
        set_points(&points, p);
        largest(&b->bound.fields, &points, value);
        for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
            double winding_number = sup_winding_number(&winding, p[i]);
            if (fabs(off[i]) < 0.1) continue;
            inside += winding_number > 0.95;
            outside += winding_number < 0.05;
            CHECK_MSG(!(winding_number > 0.95 && value[i] < 0.49f), "%g inside", (double)value[i]);
            CHECK_MSG(!(winding_number < 0.05 && value[i] > 0.53f), "%g outside", (double)value[i]);
            CHECK(value[i] > -1e-3f && value[i] < 1.01f);
        }
    }
    CHECK(inside > 500 && outside > 500);
    sup_winding_destroy(&winding);
}

TEST(regions_are_connected_and_follow_the_weights)
{
    const built *b = arm();
    const sup_skin_regions *regions = &b->bound.regions;
    const sup_rig *rig = b->rig;
    CHECK_EQ(regions->region_count, rig->joint_count);
    int32_t agree = 0;
    for (int32_t v = 0; v < b->surface.fine_count; v++) {
        int32_t render_vertex = rig->skin_to_vertex[b->surface.fine_source[v]];
        agree += rig->influence_joint[rig->influence_first[render_vertex]] ==
                 regions->region_joint[regions->vertex_region[v]];
    }
    CHECK_MSG(agree > 0.85 * b->surface.fine_count, "%d of %d", agree, b->surface.fine_count);
    for (int32_t p = 0; p < regions->region_count; p++) {
        CHECK(p == 0 || regions->region_joint[p] > regions->region_joint[p - 1]);
        CHECK_EQ(regions->region_parent[p],
                 rig->joint_parent[regions->region_joint[p]]); /* every joint has a region here */
    }
}

static bool same_fields(const built *a, const built *b)
{
    const sup_fields *f = &a->bound.fields, *g = &b->bound.fields;
    return f->field_count == g->field_count && f->node_count == g->node_count &&
           memcmp(f->fields, g->fields, (size_t)f->field_count * sizeof *f->fields) == 0 &&
           memcmp(f->nodes, g->nodes, (size_t)f->node_count * sizeof *f->nodes) == 0;
}

TEST(any_number_of_threads_gives_the_same_fields)
{
    const built *b = arm();
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    sup_fields_def def = skin_def();
    built other = {0};
    CHECK_OK(build_skin(&other, &context, b->rig, &def, &error), error);
    CHECK(same_fields(b, &other));
    free_fields(&other);
    sup_thread_pool_destroy(pool);
}

TEST(fields_are_independent_of_units)
{
    const built *b = arm();
    const double scale = 1024.0; /* exact in float */
    sup_rig rig = *b->rig;
    size_t joints = 3 * (size_t)rig.joint_count, vertices = 3 * (size_t)b->surface.fine_count;
    float *head = calloc(joints, sizeof *head), *tail = calloc(joints, sizeof *tail);
    float *positions = calloc(vertices, sizeof *positions);
    for (size_t i = 0; i < joints; i++) {
        head[i] = (float)scale * rig.bone_head[i];
        tail[i] = (float)scale * rig.bone_tail[i];
    }
    for (size_t i = 0; i < vertices; i++)
        positions[i] = (float)scale * b->surface.fine_positions[i];
    rig.bone_head = head;
    rig.bone_tail = tail;
    rig.size *= (float)scale;
    sup_fields_def def = skin_def();
    def.skin.positions = positions;
    built other = {0};
    sup_error error = {0};
    CHECK_OK(build_skin(&other, NULL, &rig, &def, &error), error);
    const sup_fields *f = &b->bound.fields, *g = &other.bound.fields;
    CHECK_EQ(f->node_count, g->node_count);
    for (int64_t i = 0; i < f->node_count; i++)
        CHECK_NEAR(f->nodes[i], g->nodes[i], 1e-4);
    CHECK_NEAR((double)g->fields[0].radius / (double)f->fields[0].radius, scale, 1e-3 * scale);
    CHECK_NEAR(other.bound.report.rms, b->bound.report.rms, 1e-3);
    free_fields(&other);
    free(head), free(tail), free(positions);
}

/* Value of the composed fields in the middle of a region's longest segment. */
static double on_the_bone(const built *b, int32_t region)
{
    const sup_skin_regions *regions = &b->bound.regions;
    const sup_region_segment *segment = &regions->segments[regions->region_segment[region]];
    sup_vec3d p[SUP_FIELD_LANES];
    sup_field_points points;
    float value[SUP_FIELD_LANES];
    for (int32_t i = 0; i < SUP_FIELD_LANES; i++)
        p[i] = sup_v3_lerp(segment->from, segment->to, 0.5);
    set_points(&points, p);
    largest(&b->bound.fields, &points, value);
    return (double)value[0];
}

TEST(skins_with_holes_or_flipped_have_an_inside)
{
    const built *b = arm();
    sup_fields_def def = skin_def();
    def.grid = 3.0;
    def.samples = 64;
    size_t count = 3 * (size_t)def.skin.triangle_count;
    int32_t *triangles = calloc(count, sizeof *triangles);
    for (int how = 0; how < 2; how++) {
        memcpy(triangles, b->surface.fine_triangles, count * sizeof *triangles);
        def.skin.triangle_count = b->surface.fine_triangle_count;
        if (how == 0) { /* every ninth triangle is missing */
            int32_t left = 0;
            for (int32_t t = 0; t < b->surface.fine_triangle_count; t++)
                if (t % 9 != 0) memcpy(triangles + 3 * (size_t)left++, b->surface.fine_triangles + 3 * (size_t)t, 12);
            def.skin.triangle_count = left;
        } else { /* all of them flipped */
            for (size_t t = 0; t < count; t += 3) {
                triangles[t] = b->surface.fine_triangles[t + 1];
                triangles[t + 1] = b->surface.fine_triangles[t];
            }
        }
        def.skin.triangles = triangles;
        built other = {0};
        sup_error error = {0};
        CHECK_OK(build_skin(&other, NULL, b->rig, &def, &error), error);
        CHECK_MSG(other.bound.report.rms < 0.3, "case %d: RMS %g edges", how, other.bound.report.rms);
        for (int32_t p = 0; p < other.bound.regions.region_count; p++)
            CHECK_MSG(on_the_bone(&other, p) > 0.6, "case %d, region %d: %g", how, p, on_the_bone(&other, p));
        free_fields(&other);
    }
    free(triangles);
}

TEST(a_single_triangle_gets_capsules_or_a_field)
{
    const built *b = arm();
    sup_fields_def def = skin_def();
    def.skin.triangle_count = 1;
    def.grid = 3.0;
    built other = {0};
    sup_error error = {0};
    CHECK_OK(build_skin(&other, NULL, b->rig, &def, &error), error);
    CHECK(other.bound.report.capsules > 0);
    for (int64_t i = 0; i < other.bound.fields.node_count; i++)
        CHECK(isfinite(other.bound.fields.nodes[i]));
    for (int32_t p = 0; p < other.bound.regions.region_count; p++)
        if (other.bound.fits[p].count == 0) CHECK(on_the_bone(&other, p) > 0.9);
    free_fields(&other);
    def.skin.triangle_count = 0;
    CHECK_EQ(build_skin(&other, NULL, b->rig, &def, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "implicit.skin");
    free_fields(&other);
}

TEST(grids_respect_the_memory_limit_and_ellipsoids_are_fields)
{
    const built *b = arm();
    sup_fields_def def = skin_def();
    const sup_vec3d x = {0.6, 0.8, 0.0}, y = {-0.8, 0.6, 0.0}, z = {0.0, 0.0, 1.0};
    sup_field_ellipsoid muscle = {2, sup_v3(0.3, 0.1, -0.2), {x, y, z}, {0.05, 0.02, 0.03}};
    def.memory = 1e6;
    def.samples = 48;
    def.extra_count = 1;
    def.extras = &muscle;
    built other = {0};
    sup_error error = {0};
    CHECK_OK(build_skin(&other, NULL, b->rig, &def, &error), error);
    const sup_fields *fields = &other.bound.fields;
    CHECK(4.0 * (double)fields->node_count < 1.02e6);
    int32_t f = fields->field_count - 1;
    CHECK_EQ(f, other.bound.regions.region_count);
    CHECK_EQ(fields->fields[f].joint, 2);
    CHECK_EQ(other.bound.field_parent[f], 2);
    sup_vec3d p[SUP_FIELD_LANES];
    sup_field_points points;
    sup_field_samples samples;
    for (int32_t i = 0; i < SUP_FIELD_LANES; i++) {
        const double distance[5] = {0.0, 0.5, 1.0, 1.5, 2.1};
        p[i] = sup_v3_madd(muscle.centre, distance[i / 3 % 5] * muscle.radius[i % 3], muscle.axis[i % 3]);
    }
    set_points(&points, p);
    sup_field_evaluator()(fields, f, fields->fields[f].to_grid, &points, &samples);
    const double expected[5] = {1.0, sup_field_compact(-0.5), 0.5, sup_field_compact(0.5), 0.0};
    for (int32_t i = 0; i < 15; i++) {
        CHECK_NEAR(samples.value[i], expected[i / 3], 0.03);
        sup_vec3d g = sup_v3((double)samples.x[i], (double)samples.y[i], (double)samples.z[i]);
        if (i / 3 == 2) CHECK(sup_v3_dot(g, muscle.axis[i % 3]) < -0.8 * 15.0 / 16.0 / muscle.radius[i % 3]);
    }
    free_fields(&other);
    muscle.radius[1] = 0.0;
    CHECK_EQ(build_skin(&other, NULL, b->rig, &def, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "implicit.ellipsoid");
    free_fields(&other);
}

TEST(damaged_fields_are_refused)
{
    const built *b = arm();
    static const sup_method method = {.name = "fields"};
    sup_context context = sup_context_resolve(NULL);
    sup_model_header counts = {.vertex_count = 1};
    sup_model *model = NULL;
    sup_error error = {0};
    sup_fields fields;
    CHECK_OK(sup_model_pack(&context, &method, &counts, &b->builder, &model, &error), error);
    CHECK_OK(sup_fields_open(model, b->rig->joint_count, &fields, &error), error);
    CHECK_EQ(fields.field_count, b->bound.fields.field_count);
    CHECK(memcmp(fields.nodes, b->bound.fields.nodes, (size_t)fields.node_count * sizeof(float)) == 0);
    CHECK_EQ(sup_fields_open(model, b->rig->joint_count - 1, &fields, &error), SUP_ERROR_FORMAT);
    /* The memory block belongs to this test: it may be written to. */
    int64_t bytes = sup_model_array_count(model, "field.record");
    sup_bone_field *records =
        (sup_bone_field *)(uintptr_t)sup_model_array(model, "field.record", SUP_ARRAY_BYTE, bytes);
    float *nodes = (float *)(uintptr_t)sup_model_array(model, "field.node", SUP_ARRAY_FLOAT, -1);
    const sup_bone_field good = records[1];
    for (int how = 0; how < 9; how++) {
        records[1] = good;
        if (how == 0) records[1].joint = -1;
        if (how == 1) records[1].first = (int32_t)(fields.node_count - 100);
        if (how == 2) records[1].size[2] = 4;
        if (how == 3) records[1].size[0] = 1 << 30;
        if (how == 4) records[1].size[1] += 4000;
        if (how == 5) records[1].to_grid[7] = NAN;
        if (how == 6) records[1].from_grid[3] = INFINITY;
        if (how == 7) records[1].radius = 0.0f;
        if (how == 8) records[1].first = -4;
        CHECK_MSG(sup_fields_open(model, b->rig->joint_count, &fields, &error) == SUP_ERROR_FORMAT, "damage %d", how);
    }
    records[1] = good;
    CHECK_OK(sup_fields_open(model, b->rig->joint_count, &fields, &error), error);
    nodes[1234] = NAN;
    CHECK_EQ(sup_fields_open(model, b->rig->joint_count, &fields, &error), SUP_ERROR_FORMAT);
    CHECK_TEXT(error.id, "implicit.fields");
    sup_model_destroy(model);
}
