/* register_fit.c - registration of [komaritzan2022] 4.2.1 up to the fine fit, after Achenbach et al. 2017 and
 * Bouaziz et al. 2014: alignment, shape coefficients and joint angles by Gauss-Newton on closest points, with robust
 * weights.
 *
 * Correspondences are searched in both directions: from the template's vertices to the scan, so that limbs move to
 * the data, and from the scan's samples to the template, so that all of the scan is explained. Only points with
 * similar normals correspond, and points at borders of holes do not. Residuals are along the normal of the
 * corresponding point, plus a small weight in all directions. */
#include "anatomy/register_fit.h"

#include "geometry/normals.h"
#include "linalg/small_dense.h"

enum { MATCH_GRAIN = 128, BLOCK = 1024, BINS = 512 };
/* effective number of observations of all matches together, relative to the priors */
static const double effective = 1000.0;
static const double scale_deviation = 0.08;
static const double mark_deviation = 0.01;   /* metres */
static const double small_step = 5e-4;       /* metres or radians: convergence tolerance */
static const double max_rotation_step = 0.6; /* largest rotation of a joint in a step, radians */

static sup_vec3d load(const double *p)
{
    return sup_v3(p[0], p[1], p[2]);
}

/* --- Setup --- */

static void find_mark_vertices(sup_fit *fit)
{
    const sup_composition *c = fit->composition;
    for (int32_t m = 0; m < fit->mark_count; m++) {
        double best = INFINITY;
        if (fit->marks[m].vertex < 0) continue;
        sup_vec3d at = load(c->mean + 3 * (size_t)fit->marks[m].vertex);
        for (int32_t v = 0; v < fit->model->vertex_count; v++) {
            double d = sup_v3_distance(at, load(c->mean + 3 * (size_t)fit->model->vertex[v]));
            if (d < best) best = d, fit->mark_vertex[m] = v;
        }
    }
}

sup_result sup_fit_open(const sup_context *context, const sup_body_model *model, const sup_scan *scan,
                        int32_t sample_step, const double *joint_deviation, const sup_mark *marks, int32_t mark_count,
                        sup_arena *arena, sup_fit *fit, sup_error *error)
{
    sup_fit f = {.context = sup_context_resolve(context),
                 .composition = model->composition,
                 .scan = scan,
                 .model = model,
                 .joint_deviation = joint_deviation,
                 .marks = marks,
                 .mark_count = mark_count,
                 .sample_step = sample_step};
    size_t vertices = (size_t)model->vertex_count, triangles = (size_t)model->triangle_count;
    size_t n = (size_t)sup_body_parameters(model->composition);
    f.sample_count = (scan->sample_count + sample_step - 1) / sample_step;
    f.match_count = model->vertex_count + f.sample_count;
    f.block_count = (f.match_count + BLOCK - 1) / BLOCK;
    f.posed = sup_arena_alloc(arena, 3 * vertices, sizeof(double));
    f.posed_float = sup_arena_alloc(arena, 3 * vertices, sizeof(float));
    f.normals = sup_arena_alloc(arena, 3 * vertices, sizeof(double));
    f.face_normals = sup_arena_alloc(arena, 3 * triangles, sizeof(double));
    f.matches = sup_arena_alloc(arena, (size_t)f.match_count, sizeof(sup_match));
    f.blocks = sup_arena_alloc(arena, (size_t)f.block_count * n * n, sizeof(double));
    f.right = sup_arena_alloc(arena, (size_t)f.block_count * n, sizeof(double));
    f.mark_vertex = sup_arena_alloc(arena, (size_t)mark_count + 1, sizeof(int32_t));
    if (f.posed == NULL || f.posed_float == NULL || f.normals == NULL || f.face_normals == NULL || f.matches == NULL ||
        f.blocks == NULL || f.right == NULL || f.mark_vertex == NULL)
        return sup_fail_memory(error, "the registration");
    find_mark_vertices(&f);
    *fit = f;
    return SUP_OK;
}

void sup_fit_close(sup_fit *fit)
{
    if (fit->has_bvh) sup_bvh_free(&fit->bvh);
    fit->has_bvh = false;
}

/* --- Matching --- */

typedef struct match_work {
    sup_fit *fit;
    const sup_fit_settings *settings;
} match_work;

static void match_vertex(const sup_fit *fit, const sup_fit_settings *s, int32_t v, sup_match *m)
{
    bool border = false;
    m->vertex = v;
    m->from = load(fit->posed + 3 * (size_t)v);
    sup_vec3d normal = load(fit->normals + 3 * (size_t)v);
    sup_bvh_nearest found = sup_scan_closest(fit->scan, m->from, normal, s->limit, s->cosine, &border);
    if (found.triangle < 0 || border) return;
    m->to = found.point;
    m->normal = sup_scan_normal(fit->scan, found.triangle, normal);
    m->distance = found.distance;
}

typedef struct template_facing {
    const sup_fit *fit;
    sup_vec3d normal;
    double cosine;
} template_facing;

static bool faces(void *user, int32_t triangle)
{
    const template_facing *f = user;
    double cosine = sup_v3_dot(f->normal, load(f->fit->face_normals + 3 * (size_t)triangle));
    return (f->fit->scan->is_cloud ? fabs(cosine) : cosine) >= f->cosine;
}

static void match_sample(const sup_fit *fit, const sup_fit_settings *s, int32_t sample, sup_match *m)
{
    m->to = load(fit->scan->samples + 3 * (size_t)sample);
    template_facing f = {fit, load(fit->scan->sample_normals + 3 * (size_t)sample), s->cosine};
    sup_bvh_nearest found = sup_bvh_closest_of(&fit->bvh, m->to, s->limit, faces, &f);
    if (found.triangle < 0) return;
    const int32_t *corners = fit->model->triangles + 3 * (size_t)found.triangle;
    double w0 = 1.0 - found.u - found.v;
    m->vertex = w0 >= found.u && w0 >= found.v ? corners[0] : (found.u >= found.v ? corners[1] : corners[2]);
    m->from = found.point;
    m->normal = load(fit->face_normals + 3 * (size_t)found.triangle);
    m->distance = found.distance;
}

static void match_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const match_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        sup_match *m = &w->fit->matches[i];
        *m = (sup_match){.distance = INFINITY};
        if (i < w->fit->model->vertex_count)
            match_vertex(w->fit, w->settings, i, m);
        else
            match_sample(w->fit, w->settings, (i - w->fit->model->vertex_count) * w->fit->sample_step, m);
    }
}

sup_result sup_fit_match(sup_fit *fit, const sup_body_state *state, const sup_fit_settings *settings, sup_error *error)
{
    const sup_body_model *model = fit->model;
    sup_body_skin(&fit->context, model, state, fit->posed, NULL);
    for (size_t i = 0; i < 3 * (size_t)model->vertex_count; i++)
        fit->posed_float[i] = (float)fit->posed[i];
    sup_vertex_normals(model->vertex_count, fit->posed_float, model->triangle_count, model->triangles, NULL,
                       fit->normals);
    for (int32_t t = 0; t < model->triangle_count; t++) {
        sup_vec3d n =
            sup_v3_unit_or(sup_triangle_cross(fit->posed_float, model->triangles + 3 * (size_t)t), sup_v3(0, 0, 0));
        double *to = fit->face_normals + 3 * (size_t)t;
        to[0] = n.x, to[1] = n.y, to[2] = n.z;
    }
    if (fit->has_bvh) {
        sup_bvh_refit(&fit->bvh, fit->posed_float);
    } else {
        sup_result result =
            sup_bvh_create(&fit->context, fit->posed_float, model->triangle_count, model->triangles, &fit->bvh, error);
        if (result != SUP_OK) return result;
        fit->has_bvh = true;
    }
    match_work work = {fit, settings};
    sup_parallel(&fit->context, fit->match_count, MATCH_GRAIN, match_range, &work);
    return SUP_OK;
}

double sup_fit_score(const sup_fit *fit, double limit)
{
    double sum[2] = {0}, count[2] = {fit->model->vertex_count, fit->sample_count};
    for (int32_t i = 0; i < fit->match_count; i++)
        sum[i >= fit->model->vertex_count] += fmin(fit->matches[i].distance, limit);
    return 0.5 * (sum[0] / fmax(count[0], 1.0) + sum[1] / fmax(count[1], 1.0));
}

double sup_fit_unexplained(const sup_fit *fit, double limit)
{
    int32_t far = 0;
    for (int32_t i = fit->model->vertex_count; i < fit->match_count; i++)
        far += fit->matches[i].distance > limit ? 1 : 0;
    return (double)far / fmax(fit->sample_count, 1);
}

/* --- Weights --- */

/* Median distance of matches [begin, end), from a histogram up to `limit`. */
static double median(const sup_match *matches, int32_t begin, int32_t end, double limit)
{
    int32_t bins[BINS] = {0}, all = 0, run = 0;
    for (int32_t i = begin; i < end; i++)
        if (matches[i].distance < limit) {
            bins[(int32_t)(matches[i].distance / limit * BINS)]++;
            all++;
        }
    for (int32_t b = 0; b < BINS; b++) {
        run += bins[b];
        if (2 * run >= all) return limit * (double)(b + 1) / BINS;
    }
    return limit;
}

/* Geman-McClure weights, scaled so that the matches of one direction count as half of `effective` observations. */
static void set_robust_weights(sup_match *matches, int32_t begin, int32_t end, const sup_fit_settings *s)
{
    double sigma = fmax(2.0 * median(matches, begin, end, s->limit), s->noise), sum = 0.0;
    for (int32_t i = begin; i < end; i++) {
        double d = matches[i].distance / sigma;
        matches[i].weight = isfinite(d) ? 1.0 / ((1.0 + d * d) * (1.0 + d * d)) : 0.0;
        sum += matches[i].weight;
    }
    double spread = 0.5 * sigma, factor = sum > 0.0 ? 0.5 * effective / (sum * spread * spread) : 0.0;
    for (int32_t i = begin; i < end; i++)
        matches[i].weight *= factor;
}

/* --- Normal equations --- */

/* Adds a Jacobian row with residual and weight to the lower triangle and the right side. Only the first `dense`
 * columns and three for each of the listed joints are nonzero. */
static void add_row(int32_t n, int32_t dense, const double *row, const int32_t *joints, int32_t count, double residual,
                    double weight, double *matrix, double *right)
{
    for (int32_t i = 0; i < dense; i++) {
        double factor = weight * row[i], *to = matrix + (size_t)i * (size_t)n;
        right[i] += factor * residual;
        for (int32_t k = 0; k <= i; k++)
            to[k] += factor * row[k];
    }
    for (int32_t a = 0; a < 3 * count; a++) {
        int32_t i = dense + 3 * joints[a / 3] + a % 3;
        double factor = weight * row[i], *to = matrix + (size_t)i * (size_t)n;
        right[i] += factor * residual;
        for (int32_t k = 0; k < dense; k++)
            to[k] += factor * row[k];
        for (int32_t b = 0; b <= a / 3; b++) { /* the diagonal block is filled completely */
            int32_t k = dense + 3 * joints[b];
            to[k] += factor * row[k], to[k + 1] += factor * row[k + 1], to[k + 2] += factor * row[k + 2];
        }
    }
}

static void tangents_of(sup_vec3d normal, sup_vec3d *a, sup_vec3d *b)
{
    sup_vec3d other = fabs(normal.x) < 0.7 ? sup_v3(1, 0, 0) : sup_v3(0, 1, 0);
    *a = sup_v3_unit_or(sup_v3_cross(normal, other), sup_v3(0, 0, 1));
    *b = sup_v3_cross(normal, *a);
}

typedef struct block_work {
    sup_fit *fit;
    const sup_body_state *state;
    const sup_fit_settings *settings;
} block_work;

enum { MAX_JOINTS = 256, MAX_PARAMETERS = 4 + 64 + 3 * MAX_JOINTS };

static void add_block(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const block_work *w = work;
    SUP_UNUSED(worker);
    sup_fit *fit = w->fit;
    int32_t n = sup_body_parameters(fit->composition), joints[MAX_JOINTS];
    double row[MAX_PARAMETERS];
    for (int32_t block = begin; block < end; block++) {
        double *matrix = fit->blocks + (size_t)block * (size_t)n * (size_t)n,
               *right = fit->right + (size_t)block * (size_t)n;
        memset(matrix, 0, (size_t)n * (size_t)n * sizeof *matrix);
        memset(right, 0, (size_t)n * sizeof *right);
        for (int32_t i = block * BLOCK; i < (block + 1) * BLOCK && i < fit->match_count; i++) {
            const sup_match *m = &fit->matches[i];
            if (!(m->weight > 0.0)) continue;
            sup_vec3d offset = sup_v3_sub(m->to, m->from), axes[3] = {m->normal};
            tangents_of(m->normal, &axes[1], &axes[2]);
            for (int k = 0; k < 3; k++) {
                double weight = m->weight * (k == 0 ? 1.0 : w->settings->tangent);
                if (!(weight > 0.0)) continue;
                int32_t count = sup_body_derivative(fit->model, w->state, m->vertex, axes[k], row, joints);
                add_row(n, 4 + fit->composition->mode_count, row, joints, count, sup_v3_dot(axes[k], offset), weight,
                        matrix, right);
            }
        }
    }
}

static void add_marks(sup_fit *fit, const sup_body_state *state, double *matrix, double *right)
{
    int32_t n = sup_body_parameters(fit->composition), joints[MAX_JOINTS];
    double row[MAX_PARAMETERS],
        weight = effective / (10.0 * mark_deviation * mark_deviation * fmax(fit->mark_count, 10));
    const sup_vec3d axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int32_t m = 0; m < fit->mark_count; m++) {
        int32_t joint = fit->marks[m].joint, vertex = fit->mark_vertex[m];
        sup_vec3d from = joint >= 0 ? sup_body_joint(state, joint) : load(fit->posed + 3 * (size_t)vertex);
        for (int k = 0; k < 3; k++) {
            int32_t count = joint >= 0 ? sup_body_joint_derivative(fit->composition, state, joint, axes[k], row, joints)
                                       : sup_body_derivative(fit->model, state, vertex, axes[k], row, joints);
            add_row(n, 4 + fit->composition->mode_count, row, joints, count,
                    sup_v3_dot(axes[k], sup_v3_sub(fit->marks[m].at, from)), weight, matrix, right);
        }
    }
}

/* Rotation vector of a joint relative to its parent, in the world. */
static sup_vec3d joint_rotation(const sup_composition *c, const sup_body_state *s, int32_t joint)
{
    sup_quatd q = s->local[joint];
    if (q.w < 0.0) q = (sup_quatd){-q.x, -q.y, -q.z, -q.w};
    sup_vec3d axis = sup_v3(q.x, q.y, q.z);
    double sine = sup_v3_length(axis), angle = 2.0 * atan2(sine, q.w);
    sup_vec3d vector = sup_v3_scale(axis, sine > 1e-12 ? angle / sine : 2.0);
    return c->parents[joint] < 0 ? vector : sup_quatd_rotate(s->global[c->parents[joint]], vector);
}

/* Priors on coefficients and joint angles by their deviations; parameters that must not change get a large weight. */
static void add_priors(const sup_fit *fit, const sup_body_state *s, const sup_fit_settings *settings, double *matrix,
                       double *right)
{
    static const double fixed_weight = 1e12;
    const sup_composition *c = fit->composition;
    size_t n = (size_t)sup_body_parameters(c);
    double weight = 1.0 / (scale_deviation * scale_deviation);
    matrix[3 * n + 3] += weight;
    right[3] -= weight * s->log_scale;
    for (int32_t k = 0; k < c->mode_count; k++) {
        size_t i = 4 + (size_t)k;
        weight = k < settings->modes ? 1.0 / (c->deviation[k] * c->deviation[k]) : fixed_weight;
        matrix[i * n + i] += weight;
        if (k < settings->modes) right[i] -= weight * s->coefficients[k];
    }
    for (int32_t j = 1; j < c->joint_count; j++) {
        double deviation = settings->pose * fit->joint_deviation[j];
        sup_vec3d at = joint_rotation(c, s, j);
        const double vector[3] = {at.x, at.y, at.z};
        weight = 1.0 / (deviation * deviation);
        for (size_t k = 0; k < 3; k++) {
            size_t i = 4 + (size_t)c->mode_count + 3 * (size_t)j + k;
            matrix[i * n + i] += weight;
            right[i] -= weight * vector[k];
        }
    }
}

/* --- A step --- */

static void shorten(const sup_composition *c, double *step)
{
    double largest = 0.0;
    for (int32_t j = 0; j < c->joint_count; j++)
        largest = fmax(largest, sup_v3_length(load(step + 4 + c->mode_count + 3 * j)));
    for (int32_t i = 0; largest > max_rotation_step && i < sup_body_parameters(c); i++)
        step[i] *= max_rotation_step / largest;
}

static double step_size(const sup_composition *c, const double *step)
{
    double size = fmax(sup_v3_length(load(step)), fabs(step[3]));
    for (int32_t j = 0; j < c->joint_count; j++)
        size = fmax(size, sup_v3_length(load(step + 4 + c->mode_count + 3 * j)));
    return size;
}

static sup_result step_once(sup_fit *fit, sup_body_state *state, const sup_fit_settings *settings, double *size,
                            sup_error *error)
{
    const sup_composition *c = fit->composition;
    size_t n = (size_t)sup_body_parameters(c);
    sup_result result = sup_fit_match(fit, state, settings, error);
    if (result != SUP_OK) return result;
    set_robust_weights(fit->matches, 0, fit->model->vertex_count, settings);
    set_robust_weights(fit->matches, fit->model->vertex_count, fit->match_count, settings);
    block_work work = {fit, state, settings};
    sup_parallel(&fit->context, fit->block_count, 1, add_block, &work);
    double *matrix = fit->blocks, *right = fit->right;
    for (int32_t b = 1; b < fit->block_count; b++) {
        for (size_t i = 0; i < n * n; i++)
            matrix[i] += fit->blocks[(size_t)b * n * n + i];
        for (size_t i = 0; i < n; i++)
            right[i] += fit->right[(size_t)b * n + i];
    }
    if (settings->use_marks) add_marks(fit, state, matrix, right);
    add_priors(fit, state, settings, matrix, right);
    for (size_t i = 0; i < n; i++)
        matrix[i * n + i] += 1e-6 * matrix[i * n + i] + 1e-3;
    if (!sup_dense_cholesky((int32_t)n, matrix))
        return sup_fail(
            error, SUP_ERROR_NUMERIC, "anatomy.register.step", "",
            "The template cannot be registered to the scan: the normal equations are singular. Give landmarks.");
    sup_dense_cholesky_solve((int32_t)n, matrix, right);
    shorten(c, right);
    *size = step_size(c, right);
    sup_body_step(c, state, right);
    return SUP_OK;
}

sup_result sup_fit_run(sup_fit *fit, sup_body_state *state, const sup_fit_settings *settings, sup_error *error)
{
    double size = INFINITY;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < settings->max_iterations && size > small_step && result == SUP_OK; i++)
        result = step_once(fit, state, settings, &size, error);
    return result;
}
