/* register.c - registers the surface template to a scan: [komaritzan2022] 4.2.1.
 *
 * Steps: clean the scan (scan.c), find a start (register_start.c), fit shape and pose from coarse to fine
 * (register_fit.c), check for a whole human (register_check.c), fine fit (register_fine.c), unpose, measure, convert
 * to metres with Y up. */
#include "anatomy/register.h"
#include "anatomy/array_store.h"

#include <stdlib.h>

enum {
    COARSE_VERTICES = 1400,
    COARSE_SAMPLES = 2000,
    MAX_MODES = 64,
    MAX_JOINTS = 256,
    MIN_SAMPLES = 600,
    MAX_SAMPLES = 6000
};

sup_result sup_register_report_progress(const sup_register_work *w, float fraction, const char *stage, sup_error *error)
{
    if (w->def == NULL || w->def->progress == NULL || w->def->progress(w->def->progress_user, fraction, stage))
        return SUP_OK;
    return sup_fail(error, SUP_ERROR_CANCELLED, "cancelled", "", "The registration was cancelled.");
}

/* --- Preparation --- */

/* Standard deviation of each joint's rotation: limbs more than the trunk, hands and feet less; joints at the
 * position of their parent almost none, as the parent can rotate instead. */
static void joint_deviations(sup_register_work *w)
{
    const sup_composition *c = w->composition;
    const sup_joint_roles *r = &w->roles;
    for (int32_t j = 0; j < c->joint_count; j++)
        w->joint_deviation[j] = 0.25;
    for (int side = 0; side < 2; side++) {
        static const struct {
            sup_role_limb limb;
            double deviation;
        } usual[] = {{SUP_ROLE_CLAVICLE, 0.2}, {SUP_ROLE_UPPER_ARM, 0.8}, {SUP_ROLE_FOREARM, 0.6},
                     {SUP_ROLE_HAND, 0.3},     {SUP_ROLE_UPPER_LEG, 0.6}, {SUP_ROLE_LOWER_LEG, 0.5},
                     {SUP_ROLE_FOOT, 0.3},     {SUP_ROLE_TOE, 0.15}};
        for (int i = 0; i < SUP_COUNT(usual); i++) {
            int32_t j = r->limb[side][usual[i].limb];
            if (j >= 0) w->joint_deviation[j] = usual[i].deviation;
        }
    }
    for (int32_t j = 1; j < c->joint_count; j++) {
        const double *a = c->joint_mean + 3 * (size_t)j, *b = c->joint_mean + 3 * (size_t)c->parents[j];
        if (sup_v3_distance(sup_v3(a[0], a[1], a[2]), sup_v3(b[0], b[1], b[2])) < 0.01) w->joint_deviation[j] = 0.02;
    }
}

static sup_result read_marks(sup_register_work *w, sup_error *error)
{
    const sup_composition *c = w->composition;
    int32_t count = w->def != NULL ? w->def->landmark_count : 0;
    w->marks = sup_arena_alloc(&w->arena, (size_t)(count > 0 ? count : 1), sizeof *w->marks);
    if (w->marks == NULL) return sup_fail_memory(error, "the landmarks");
    if (count > 0 && w->def->landmarks == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "landmark_count is %d, but landmarks is NULL.",
                        (int)count);
    for (int32_t i = 0; i < count; i++) {
        const sup_landmark *l = &w->def->landmarks[i];
        sup_mark m = {.vertex = l->joint == NULL ? l->vertex : -1, .joint = -1};
        for (int32_t j = 0; l->joint != NULL && j < c->joint_count; j++)
            if (sup_text_equal_nocase(c->joint_names[j], l->joint)) m.joint = j;
        if (m.joint < 0 && (m.vertex < 0 || m.vertex >= c->vertex_count))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.landmark", "",
                            "Landmark %d refers to a vertex or joint that the template does not have (%s).", (int)i + 1,
                            l->joint != NULL ? l->joint : "vertex out of range");
        sup_vec3d at = sup_v3(l->position[0], l->position[1], l->position[2]);
        if (!sup_v3_finite(at))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.landmark", "", "The position of landmark %d is not finite.",
                            (int)i + 1);
        m.at = sup_v3_scale(sup_v3_sub(at, w->scan.centre), w->scan.metres_per_unit);
        w->marks[w->mark_count++] = m;
    }
    return SUP_OK;
}

static sup_result prepare(sup_register_work *w, sup_shape shape, sup_error *error)
{
    const sup_composition *c = w->composition;
    double unit = w->def != NULL ? w->def->metres_per_unit : 0.0;
    w->joint_deviation = sup_arena_alloc(&w->arena, (size_t)c->joint_count, sizeof(double));
    if (w->joint_deviation == NULL || !sup_body_state_make(c, &w->arena, &w->state))
        return sup_fail_memory(error, "the registration");
    sup_result result = sup_joint_roles_find(&w->context, c->joint_count, (const char *const *)c->joint_names,
                                             c->parents, c->joint_mean, &w->roles, error);
    if (result != SUP_OK) return result;
    joint_deviations(w);
    int32_t samples = c->vertex_count / 2;
    samples = samples < MIN_SAMPLES ? MIN_SAMPLES : (samples > MAX_SAMPLES ? MAX_SAMPLES : samples);
    result = sup_scan_make(&w->context, shape, unit, samples, &w->arena, &w->scan, error);
    if (result == SUP_OK) result = read_marks(w, error);
    if (result == SUP_OK) result = sup_body_model_make(&w->context, c, COARSE_VERTICES, &w->arena, &w->coarse, error);
    if (result == SUP_OK) result = sup_body_model_make(&w->context, c, 0, &w->arena, &w->fine, error);
    return result;
}

/* --- Shape and pose --- */

static sup_result fit_level(sup_register_work *w, const sup_body_model *model, int32_t samples,
                            const sup_fit_settings *stages, int32_t stage_count, bool check, sup_error *error)
{
    sup_fit fit = {0};
    int32_t step = w->scan.sample_count / samples + 1;
    sup_result result = sup_fit_open(&w->context, model, &w->scan, step, w->joint_deviation, w->marks, w->mark_count,
                                     &w->arena, &fit, error);
    for (int32_t i = 0; i < stage_count && result == SUP_OK; i++)
        result = sup_fit_run(&fit, &w->state, &stages[i], error);
    if (result == SUP_OK && check) result = sup_register_check(w, &fit, error);
    sup_fit_close(&fit);
    return result;
}

static sup_result fit_model(sup_register_work *w, sup_error *error)
{
    static const sup_fit_settings coarse[] = {
        {.limit = 0.12,
         .cosine = 0.3,
         .noise = 0.015,
         .tangent = 0.1,
         .pose = 1.0,
         .modes = 10,
         .max_iterations = 10,
         .use_marks = true},
        {.limit = 0.08,
         .cosine = 0.4,
         .noise = 0.010,
         .tangent = 0.05,
         .pose = 1.0,
         .modes = MAX_MODES,
         .max_iterations = 15,
         .use_marks = true},
    };
    static const sup_fit_settings fine[] = {
        {.limit = 0.05,
         .cosine = 0.5,
         .noise = 0.006,
         .tangent = 0.03,
         .pose = 1.5,
         .modes = MAX_MODES,
         .max_iterations = 10,
         .use_marks = true},
    };
    sup_result result = fit_level(w, &w->coarse, COARSE_SAMPLES, coarse, SUP_COUNT(coarse), true, error);
    if (result == SUP_OK) result = sup_register_report_progress(w, 0.4f, "shape and pose", error);
    if (result == SUP_OK) result = fit_level(w, &w->fine, w->scan.sample_count, fine, SUP_COUNT(fine), false, error);
    if (result == SUP_OK) result = sup_register_report_progress(w, 0.6f, "fine fit", error);
    return result;
}

/* --- Result --- */

static sup_registration *open_result(const sup_context *context, const sup_composition *c)
{
    struct sup_anatomy_storage *storage = sup_anatomy_storage_create(context);
    if (storage == NULL) return NULL;
    sup_arena *arena = &storage->arena;
    size_t vertices = (size_t)c->vertex_count, joints = (size_t)c->joint_count;
    sup_registration *r = sup_arena_alloc(arena, 1, sizeof *r);
    bool good = r != NULL;
    if (good) {
        *r = (sup_registration){.vertex_count = c->vertex_count,
                                .joint_count = c->joint_count,
                                .mode_count = c->mode_count,
                                .posed = sup_arena_alloc(arena, 3 * vertices, sizeof(double)),
                                .rest = sup_arena_alloc(arena, 3 * vertices, sizeof(double)),
                                .joints = sup_arena_alloc(arena, 3 * joints, sizeof(double)),
                                .rest_joints = sup_arena_alloc(arena, 3 * joints, sizeof(double)),
                                .rotations = sup_arena_alloc(arena, 4 * joints, sizeof(double)),
                                .coefficients = sup_arena_alloc(arena, (size_t)c->mode_count, sizeof(double)),
                                .seen = sup_arena_alloc(arena, vertices, sizeof(double)),
                                .storage = storage};
        good = r->posed != NULL && r->rest != NULL && r->joints != NULL && r->rest_joints != NULL &&
               r->rotations != NULL && r->coefficients != NULL && r->seen != NULL;
    }
    if (good) return r;
    sup_anatomy_storage_destroy(storage);
    return NULL;
}

void sup_registration_destroy(sup_registration *registration)
{
    if (registration != NULL) sup_anatomy_storage_destroy(registration->storage);
}

static void put(double *to, sup_vec3d v)
{
    to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

static sup_vec3d get(const double *p)
{
    return sup_v3(p[0], p[1], p[2]);
}

/* Rotates back to the template's axes, hips above the origin and the lowest vertex on the floor. */
static void set_frame(const sup_register_work *w, sup_registration *r)
{
    const sup_composition *c = w->composition;
    sup_quatd back = sup_quatd_conjugate(w->start);
    double floor = INFINITY;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        sup_vec3d x = sup_quatd_rotate(back, get(w->posed + 3 * (size_t)v));
        floor = fmin(floor, x.y);
        put(r->posed + 3 * (size_t)v, x);
    }
    sup_vec3d hips = sup_quatd_rotate(back, sup_body_joint(&w->state, 0)), shift = sup_v3(-hips.x, -floor, -hips.z);
    for (int32_t v = 0; v < c->vertex_count; v++)
        put(r->posed + 3 * (size_t)v, sup_v3_add(get(r->posed + 3 * (size_t)v), shift));
    for (int32_t j = 0; j < c->joint_count; j++) {
        put(r->joints + 3 * (size_t)j, sup_v3_add(sup_quatd_rotate(back, sup_body_joint(&w->state, j)), shift));
        sup_quatd q = sup_quatd_multiply(back, w->state.global[j]);
        const double values[4] = {q.x, q.y, q.z, q.w};
        memcpy(r->rotations + 4 * (size_t)j, values, sizeof values);
    }
    double unit = w->scan.metres_per_unit;
    for (int k = 0; k < 3; k++) {
        sup_vec3d column = sup_quatd_rotate(back, sup_v3(k == 0 ? unit : 0, k == 1 ? unit : 0, k == 2 ? unit : 0));
        r->from_scan[k] = column.x, r->from_scan[4 + k] = column.y, r->from_scan[8 + k] = column.z;
    }
    sup_vec3d origin = sup_v3_madd(shift, -unit, sup_quatd_rotate(back, w->scan.centre));
    r->from_scan[3] = origin.x, r->from_scan[7] = origin.y, r->from_scan[11] = origin.z;
}

/* The model's rest shape plus the displacement of the fine fit, rotated back by the rotation at each vertex. */
static bool set_rest(sup_register_work *w, sup_registration *r)
{
    const sup_composition *c = w->composition;
    double *model = sup_arena_alloc(&w->arena, 3 * (size_t)c->vertex_count, sizeof *model);
    if (model == NULL) return false;
    double scale = exp(w->state.log_scale);
    sup_body_skin(&w->context, &w->fine, &w->state, model, r->rest);
    for (int32_t v = 0; v < c->vertex_count; v++) {
        size_t at = 3 * (size_t)v;
        sup_quatd back = sup_quatd_conjugate(sup_body_rotation_at(c, &w->state, v));
        sup_vec3d added = sup_quatd_rotate(back, sup_v3_sub(get(w->posed + at), get(model + at)));
        put(r->rest + at, sup_v3_madd(added, scale, get(r->rest + at)));
    }
    for (size_t i = 0; i < 3 * (size_t)c->joint_count; i++)
        r->rest_joints[i] = scale * w->state.rest_joints[i];
    memcpy(r->coefficients, w->state.coefficients, (size_t)c->mode_count * sizeof(double));
    memcpy(r->seen, w->seen, (size_t)c->vertex_count * sizeof(double));
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Distances of the scan's samples to a surface with the template's triangles; `distances` [sample_count], sorted. */
static sup_result sample_distances(sup_register_work *w, const double *positions, double *distances, sup_error *error)
{
    const sup_composition *c = w->composition;
    size_t values = 3 * (size_t)c->vertex_count;
    float *single = sup_arena_alloc(&w->arena, values, sizeof *single);
    if (single == NULL) return sup_fail_memory(error, "the registration");
    for (size_t i = 0; i < values; i++)
        single[i] = (float)positions[i];
    sup_bvh bvh;
    sup_result result = sup_bvh_create(&w->context, single, c->triangle_count, c->triangles, &bvh, error);
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < w->scan.sample_count; i++)
        distances[i] = sup_bvh_closest(&bvh, get(w->scan.samples + 3 * (size_t)i), INFINITY).distance;
    qsort(distances, (size_t)w->scan.sample_count, sizeof *distances, by_value);
    sup_bvh_free(&bvh);
    return SUP_OK;
}

static sup_result measure(sup_register_work *w, sup_registration *r, sup_error *error)
{
    static const double outlier = 0.05, explained = 0.02; /* metres */
    const sup_composition *c = w->composition;
    int32_t count = w->scan.sample_count, near = 0, inliers = 0;
    double *distances = sup_arena_alloc(&w->arena, (size_t)count, sizeof *distances), sum = 0.0;
    double *model = sup_arena_alloc(&w->arena, 3 * (size_t)c->vertex_count, sizeof *model);
    if (distances == NULL || model == NULL) return sup_fail_memory(error, "the registration");
    sup_body_skin(&w->context, &w->fine, &w->state, model, NULL);
    sup_result result = sample_distances(w, model, distances, error);
    for (inliers = 0; result == SUP_OK && inliers < count && distances[inliers] < outlier; inliers++)
        sum += distances[inliers];
    r->model_error = inliers > 0 ? sum / (double)inliers : 0.0;
    if (result == SUP_OK) result = sample_distances(w, w->posed, distances, error);
    if (result != SUP_OK) return result;
    for (inliers = 0, sum = 0.0; inliers < count && distances[inliers] < outlier; inliers++)
        sum += distances[inliers];
    while (near < count && distances[near] < explained)
        near++;
    r->mean_error = inliers > 0 ? sum / (double)inliers : 0.0;
    r->p95_error = distances[(int32_t)(0.95 * (double)(count - 1))];
    r->explained = (double)near / (double)count;
    double all = 0.0, seen = 0.0;
    for (int32_t t = 0; t < c->triangle_count; t++) {
        const int32_t *k = c->triangles + 3 * (size_t)t;
        sup_vec3d a = get(w->posed + 3 * (size_t)k[0]);
        double area = sup_v3_length(sup_v3_cross(sup_v3_sub(get(w->posed + 3 * (size_t)k[1]), a),
                                                 sup_v3_sub(get(w->posed + 3 * (size_t)k[2]), a)));
        all += area;
        seen += area * ((w->seen[k[0]] > 0.0) + (w->seen[k[1]] > 0.0) + (w->seen[k[2]] > 0.0)) / 3.0;
    }
    r->coverage = all > 0.0 ? seen / all : 0.0;
    return SUP_OK;
}

static sup_result finish(sup_register_work *w, sup_registration **registration, sup_error *error)
{
    sup_registration *r = open_result(&w->context, w->composition);
    if (r == NULL) return sup_fail_memory(error, "the registration");
    set_frame(w, r);
    sup_result result = set_rest(w, r) ? measure(w, r, error) : sup_fail_memory(error, "the registration");
    if (result == SUP_OK) result = sup_register_check_explained(r->explained, error);
    if (result != SUP_OK) {
        sup_registration_destroy(r);
        return result;
    }
    r->metres_per_unit = w->scan.metres_per_unit;
    r->inside_out = w->scan.inside_out;
    r->is_cloud = w->scan.is_cloud;
    r->dropped = w->scan.dropped;
    *registration = r;
    return SUP_OK;
}

sup_result sup_register(const sup_context *context, const sup_composition *composition, sup_shape scan,
                        const sup_register_def *def, sup_registration **registration, sup_error *error)
{
    if (composition == NULL || registration == NULL || (scan.triangle_count > 0 && scan.triangles == NULL) ||
        scan.triangle_count < 0 || scan.vertex_count < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_register needs a composition, a scan and a pointer to the registration.");
    if (composition->mode_count > MAX_MODES || composition->joint_count > MAX_JOINTS)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "anatomy.register.size", "",
                        "Registration supports at most %d modes and %d joints: train a smaller composition.", MAX_MODES,
                        MAX_JOINTS);
    sup_register_work w = {.context = sup_context_resolve(context), .composition = composition, .def = def};
    w.arena = sup_arena_create(&w.context.allocator);
    sup_result result = sup_register_report_progress(&w, 0.0f, "scan", error);
    if (result == SUP_OK) result = prepare(&w, scan, error);
    if (result == SUP_OK) result = sup_register_start(&w, error);
    if (result == SUP_OK) result = fit_model(&w, error);
    if (result == SUP_OK) result = sup_register_fine(&w, error);
    if (result == SUP_OK) result = sup_register_check_limbs(&w, error);
    if (result == SUP_OK) result = finish(&w, registration, error);
    sup_scan_free(&w.scan);
    sup_arena_destroy(&w.arena);
    return result;
}
