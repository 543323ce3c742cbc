/* register_fine.c - fine fit, the last step of [komaritzan2022] 4.2.1: deforms the surface from the model's shape
 * space to the scan by eq. 4.1 with closest points as targets. Points that face another direction, are far away or
 * lie at a border are no targets; there the surface bends as little as possible from the model. */
#include "anatomy/register.h"
#include "anatomy/surface_fit.h"
#include "geometry/normals.h"

enum { PASSES = 3, ITERATIONS = 4, VERTEX_GRAIN = 128 };

typedef struct fine {
    sup_register_work *work;
    sup_surface_fit *fit;
    float *positions;
    double *normals, *targets, *weights, *rest;
    double limit, cosine;
} fine;

static void target_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    fine *f = user;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        size_t at = 3 * (size_t)v;
        sup_vec3d x = sup_v3_load(f->positions + at),
                  n = sup_v3(f->normals[at], f->normals[at + 1], f->normals[at + 2]);
        bool border = false;
        sup_bvh_nearest found = sup_scan_closest(&f->work->scan, x, n, f->limit, f->cosine, &border);
        f->weights[v] = 0.0;
        if (found.triangle < 0 || border) continue;
        double fraction = found.distance / f->limit, tukey = 1.0 - fraction * fraction; /* Tukey's weight */
        f->weights[v] = tukey * tukey;
        /* target on the plane at the closest point, so that the vertex does not slide */
        if (f->work->scan.is_cloud) {
            sup_vec3d across = sup_scan_normal(&f->work->scan, found.triangle, n);
            found.point = sup_v3_madd(x, -sup_v3_dot(across, sup_v3_sub(x, found.point)), across);
        }
        f->targets[at] = found.point.x, f->targets[at + 1] = found.point.y, f->targets[at + 2] = found.point.z;
    }
}

static void mark_targets(fine *f)
{
    const sup_register_work *w = f->work;
    for (int32_t m = 0; m < w->mark_count; m++) {
        if (w->marks[m].vertex < 0) continue;
        size_t at = 3 * (size_t)w->marks[m].vertex;
        f->weights[w->marks[m].vertex] = 1.0;
        f->targets[at] = w->marks[m].at.x, f->targets[at + 1] = w->marks[m].at.y, f->targets[at + 2] = w->marks[m].at.z;
    }
}

static void find_targets(fine *f)
{
    const sup_composition *c = f->work->composition;
    for (size_t i = 0; i < 3 * (size_t)c->vertex_count; i++)
        f->positions[i] = (float)f->work->posed[i];
    sup_vertex_normals(c->vertex_count, f->positions, c->triangle_count, c->triangles, NULL, f->normals);
    sup_parallel(&f->work->context, c->vertex_count, VERTEX_GRAIN, target_range, f);
    mark_targets(f);
}

static sup_result bend(fine *f, sup_error *error)
{
    static const struct {
        double bending, limit, cosine;
    } stages[] = {{1e-3, 0.04, 0.5}, {1e-4, 0.03, 0.6}, {1e-5, 0.025, 0.7}, {1e-6, 0.02, 0.7}};
    sup_register_work *w = f->work;
    sup_result result = SUP_OK;
    for (int s = 0; s < SUP_COUNT(stages) && result == SUP_OK; s++)
        for (int pass = 0; pass < PASSES && result == SUP_OK; pass++) {
            f->limit = stages[s].limit, f->cosine = stages[s].cosine;
            find_targets(f);
            result = sup_surface_fit_set_weights(f->fit, stages[s].bending, f->weights, error);
            if (result == SUP_OK)
                result = sup_surface_fit_solve(f->fit, f->targets, 1e-5, ITERATIONS, w->posed, NULL, error);
            if (result == SUP_OK)
                result =
                    sup_register_report_progress(w, 0.6f + 0.1f * (float)s + 0.03f * (float)pass, "fine fit", error);
        }
    if (result != SUP_OK) return result;
    find_targets(f);
    memcpy(w->seen, f->weights, (size_t)w->composition->vertex_count * sizeof(double));
    return SUP_OK;
}

sup_result sup_register_fine(sup_register_work *w, sup_error *error)
{
    const sup_composition *c = w->composition;
    size_t vertices = (size_t)c->vertex_count;
    fine f = {.work = w};
    w->posed = sup_arena_alloc(&w->arena, 3 * vertices, sizeof(double));
    w->seen = sup_arena_alloc(&w->arena, vertices, sizeof(double));
    f.rest = sup_arena_alloc(&w->arena, 3 * vertices, sizeof(double));
    f.positions = sup_arena_alloc(&w->arena, 3 * vertices, sizeof(float));
    f.normals = sup_arena_alloc(&w->arena, 3 * vertices, sizeof(double));
    f.targets = sup_arena_alloc(&w->arena, 3 * vertices, sizeof(double));
    f.weights = sup_arena_alloc(&w->arena, vertices, sizeof(double));
    if (w->posed == NULL || w->seen == NULL || f.rest == NULL || f.positions == NULL || f.normals == NULL ||
        f.targets == NULL || f.weights == NULL)
        return sup_fail_memory(error, "the registration");
    sup_body_skin(&w->context, &w->fine, &w->state, w->posed, NULL);
    memcpy(f.rest, w->posed, 3 * vertices * sizeof(double));
    sup_surface_fit_def def = {.surface = {c->vertex_count, c->triangle_count, f.rest, c->triangles}};
    sup_result result = sup_surface_fit_create(&w->context, &def, &f.fit, error);
    if (result == SUP_OK) result = bend(&f, error);
    sup_surface_fit_destroy(f.fit);
    return result;
}
