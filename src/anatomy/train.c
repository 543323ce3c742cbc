/* train.c - trains a composition on bodies of one triangulation: [komaritzan2022] 4.2.3, PCA and eq. 4.5, 4.6.
 *
 * Masses that were not measured are estimated by population formulas:
 * - P. Deurenberg, J. A. Weststrate, J. C. Seidell, "Body mass index as a measure of body fatness", British Journal
 * of
 *     Nutrition 65, 1991: fat % = 1.20 BMI + 0.23 age - 10.8 (man) - 5.4;
 * - R. C. Lee et al., "Total-body skeletal muscle mass", American Journal of Clinical Nutrition 72, 2000: kilograms
 * =
 *     0.244 weight + 7.80 height + 6.6 (man) - 0.098 age + ancestry - 3.3, ancestry -1.2 Asian, +1.4 African
 *   American. */
#include "anatomy/composition.h"

#include "linalg/small_dense.h"

#include <math.h>

enum { DEFAULT_MODES = 20, DEFAULT_REGRESSOR_MODES = 12, PAIR_GRAIN = 64, VALUE_GRAIN = 2048 };
static const double min_fat_fraction = 0.03; /* fraction of the weight: lower bound of living people */
static const double ridge = 1e-9;            /* ridge of the regression, relative: two bodies may be identical */
/* fraction of the first mode's variance: below it there is only rounding error */
static const double flat_mode = 1e-9;

void sup_person_label(const sup_person *person, double *fat, double *muscle)
{
    double man = person->sex == SUP_SEX_MALE ? 1.0 : (person->sex == SUP_SEX_FEMALE ? 0.0 : 0.5);
    double bmi = person->height > 0.0 ? person->weight / (person->height * person->height) : 0.0;
    double fraction = 0.01 * (1.20 * bmi + 0.23 * person->age - 10.8 * man - 5.4);
    if (!(fraction > min_fat_fraction)) fraction = min_fat_fraction;
    double mass = 0.244 * person->weight + 7.80 * person->height + 6.6 * man - 0.098 * person->age +
                  1.4 * person->african - 1.2 * person->asian - 3.3;
    *fat = person->fat > 0.0 ? person->fat : fraction * person->weight;
    *muscle = person->muscle > 0.0 ? person->muscle : (mass > 0.0 ? mass : 0.0);
}

typedef struct training {
    const sup_shapes *shapes;
    sup_context context;
    sup_arena arena; /* scratch */
    sup_composition *c;
    int32_t regressor_modes;
    double *gram;        /* [body_count^2] Gram matrix of the bodies minus the mean */
    double *values;      /* [body_count] */
    double *vectors;     /* [body_count^2] */
    double *labels;      /* [2][body_count] fat, muscle */
    double *coordinates; /* [body_count][mode_count] */
} training;

/* --- Checks --- */

static sup_result bad_shapes(sup_error *error, const char *id, const char *message)
{
    return sup_fail(error, SUP_ERROR_DATA, id, "", "%s", message);
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static sup_result check_joints(const sup_shapes *s, sup_error *error)
{
    for (int32_t j = 0; j < s->joint_count; j++) {
        bool good = j == 0 ? s->parents[j] == -1 : s->parents[j] >= 0 && s->parents[j] < j;
        if (!good || s->joint_names[j] == NULL)
            return bad_shapes(
                error, "anatomy.shapes.joints",
                "Joints of the shapes must have names and come after their parents, with a single root first.");
    }
    return SUP_OK;
}

static sup_result check(const sup_shapes *s, sup_error *error)
{
    if (s->body_count < 3 || s->vertex_count < 4 || s->triangle_count < 4 || s->joint_count < 1)
        return bad_shapes(error, "anatomy.shapes.empty",
                          "A composition needs at least three bodies with a mesh and joints.");
    if (s->positions == NULL || s->triangles == NULL || s->joints == NULL || s->parents == NULL ||
        s->joint_names == NULL || s->persons == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_shapes has a NULL array: set all arrays.");
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangles + 3 * (size_t)t;
        bool good = c[0] != c[1] && c[1] != c[2] && c[2] != c[0];
        for (int k = 0; k < 3; k++)
            good = good && c[k] >= 0 && c[k] < s->vertex_count;
        if (!good)
            return bad_shapes(error, "anatomy.shapes.triangles",
                              "A triangle of the shapes uses a vertex twice or one that does not exist.");
    }
    if (!all_finite(s->positions, 3 * (size_t)s->body_count * (size_t)s->vertex_count) ||
        !all_finite(s->joints, 3 * (size_t)s->body_count * (size_t)s->joint_count))
        return bad_shapes(error, "anatomy.shapes.finite", "A position of the shapes is not finite.");
    for (int32_t b = 0; b < s->body_count; b++) {
        const sup_person *p = &s->persons[b];
        if (!(p->age >= 0.0 && p->age < 150.0 && p->height > 0.2 && p->height < 3.0 && p->weight > 1.0 &&
              p->weight < 700.0 && isfinite(p->fat) && isfinite(p->muscle) && isfinite(p->african) &&
              isfinite(p->asian)))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.shapes.person", "",
                            "Age, height or weight of body %d is not plausible: use years, metres and kilograms.",
                            (int)b + 1);
    }
    return check_joints(s, error);
}

/* --- Principal components by the Gram matrix of the bodies --- */

static void mean_of(const float *rows, size_t row_count, size_t width, double *mean)
{
    for (size_t b = 0; b < row_count; b++)
        for (size_t i = 0; i < width; i++)
            mean[i] += (double)rows[b * width + i];
    for (size_t i = 0; i < width; i++)
        mean[i] /= (double)row_count;
}

static void gram_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    training *t = work;
    SUP_UNUSED(worker);
    size_t bodies = (size_t)t->shapes->body_count, width = 3 * (size_t)t->shapes->vertex_count;
    for (int32_t pair = begin; pair < end; pair++) {
        size_t a = (size_t)pair / bodies, b = (size_t)pair % bodies;
        if (b > a) continue;
        const float *first = t->shapes->positions + a * width, *second = t->shapes->positions + b * width;
        double sum = 0.0;
        for (size_t i = 0; i < width; i++)
            sum += ((double)first[i] - t->c->mean[i]) * ((double)second[i] - t->c->mean[i]);
        t->gram[a * bodies + b] = t->gram[b * bodies + a] = sum;
    }
}

/* Mode k = sum over bodies of u_kb (body - mean) / sqrt(eigenvalue): unit length. */
static void combine(const training *t, const float *rows, const double *mean, size_t width, double *modes)
{
    size_t bodies = (size_t)t->shapes->body_count;
    for (int32_t k = 0; k < t->c->mode_count; k++) {
        double *mode = modes + (size_t)k * width, scale = 1.0 / sqrt(t->values[k]);
        for (size_t b = 0; b < bodies; b++) {
            double factor = scale * t->vectors[(size_t)k * bodies + b];
            for (size_t i = 0; i < width; i++)
                mode[i] += factor * ((double)rows[b * width + i] - mean[i]);
        }
    }
}

static sup_result components(training *t, int32_t requested, double *variance, sup_error *error)
{
    const sup_shapes *s = t->shapes;
    sup_composition *c = t->c;
    size_t bodies = (size_t)s->body_count, width = 3 * (size_t)s->vertex_count, joints = 3 * (size_t)s->joint_count;
    sup_arena *arena = &c->storage->arena;
    c->mean = sup_arena_alloc(arena, width, sizeof(double));
    c->joint_mean = sup_arena_alloc(arena, joints, sizeof(double));
    t->gram = sup_arena_alloc(&t->arena, bodies * bodies, sizeof(double));
    t->values = sup_arena_alloc(&t->arena, bodies, sizeof(double));
    t->vectors = sup_arena_alloc(&t->arena, bodies * bodies, sizeof(double));
    if (c->mean == NULL || c->joint_mean == NULL || t->gram == NULL || t->values == NULL || t->vectors == NULL)
        return sup_fail_memory(error, "the shape space");
    mean_of(s->positions, bodies, width, c->mean);
    mean_of(s->joints, bodies, joints, c->joint_mean);
    sup_parallel(&t->context, s->body_count * s->body_count, PAIR_GRAIN, gram_range, t);
    sup_dense_eigen(s->body_count, t->gram, t->values, t->vectors);
    double all = 0.0, held = 0.0;
    for (size_t b = 0; b < bodies; b++)
        all += t->values[b] > 0.0 ? t->values[b] : 0.0;
    int32_t mode_limit = requested < s->body_count - 1 ? requested : s->body_count - 1;
    while (c->mode_count < mode_limit && t->values[c->mode_count] > flat_mode * t->values[0])
        held += t->values[c->mode_count++];
    if (c->mode_count == 0)
        return bad_shapes(error, "anatomy.shapes.same",
                          "All bodies of the shapes are identical: a shape space needs different bodies.");
    *variance = held / all;
    c->modes = sup_arena_alloc(arena, (size_t)c->mode_count * width, sizeof(double));
    c->joint_modes = sup_arena_alloc(arena, (size_t)c->mode_count * joints, sizeof(double));
    c->deviation = sup_arena_alloc(arena, (size_t)c->mode_count, sizeof(double));
    if (c->modes == NULL || c->joint_modes == NULL || c->deviation == NULL)
        return sup_fail_memory(error, "the shape space");
    combine(t, s->positions, c->mean, width, c->modes);
    combine(t, s->joints, c->joint_mean, joints, c->joint_modes);
    for (int32_t k = 0; k < c->mode_count; k++)
        c->deviation[k] = sqrt(t->values[k] / (double)(bodies - 1));
    return SUP_OK;
}

/* --- Regression --- */

static sup_result gather_coordinates(training *t, sup_train_report *report, sup_error *error)
{
    const sup_shapes *s = t->shapes;
    size_t bodies = (size_t)s->body_count, width = 3 * (size_t)s->vertex_count, modes = (size_t)t->c->mode_count;
    double *skin = sup_arena_alloc(&t->arena, width, sizeof(double));
    t->coordinates = sup_arena_alloc(&t->arena, bodies * modes, sizeof(double));
    t->labels = sup_arena_alloc(&t->arena, 2 * bodies, sizeof(double));
    if (skin == NULL || t->coordinates == NULL || t->labels == NULL) return sup_fail_memory(error, "coordinates");
    sup_coordinate_solver solver;
    sup_result result = sup_coordinate_solver_make(t->c, &t->arena, &solver, error);
    for (size_t b = 0; b < bodies && result == SUP_OK; b++) {
        for (size_t i = 0; i < width; i++)
            skin[i] = (double)s->positions[b * width + i];
        sup_coordinates_solve(&solver, skin, t->coordinates + b * modes);
        sup_person_label(&s->persons[b], &t->labels[b], &t->labels[bodies + b]);
        report->labelled += s->persons[b].fat > 0.0 && s->persons[b].muscle > 0.0 ? 0 : 1;
    }
    return result;
}

static bool belongs(const training *t, int32_t body, int sex)
{
    return sex == SUP_SEX_UNKNOWN || (int)t->shapes->persons[body].sex == sex;
}

/* Row of the design matrix: 1 and the coordinates in standard deviations, for equal magnitudes. */
static void design_row(const training *t, int32_t body, double *design)
{
    design[0] = 1.0;
    for (int32_t k = 0; k < t->regressor_modes; k++)
        design[k + 1] = t->coordinates[(size_t)body * (size_t)t->c->mode_count + (size_t)k] / t->c->deviation[k];
}

/* Leave-one-out prediction of each body: residual / (1 - leverage) equals the residual after the body is removed
 * from the least squares (the principal components stay those of all bodies). */
static void leave_one_out(const training *t, int sex, const double *labels, const double *factor,
                          const double *solution, double *scratch, sup_train_errors *errors)
{
    int32_t n = t->regressor_modes + 1;
    double *design = scratch, *weighted = scratch + n, sum = 0.0, sum2 = 0.0, wrong = 0.0, wrong2 = 0.0;
    *errors = (sup_train_errors){.minimum = INFINITY, .maximum = -INFINITY};
    for (int32_t b = 0; b < t->shapes->body_count; b++) {
        if (!belongs(t, b, sex)) continue;
        design_row(t, b, design);
        memcpy(weighted, design, (size_t)n * sizeof *design);
        sup_dense_cholesky_solve(n, factor, weighted);
        double leverage = 0.0, predicted = 0.0;
        for (int32_t k = 0; k < n; k++)
            leverage += design[k] * weighted[k], predicted += design[k] * solution[k];
        double left = (labels[b] - predicted) / fmax(1.0 - leverage, 1e-6);
        errors->count++;
        errors->minimum = fmin(errors->minimum, labels[b]);
        errors->maximum = fmax(errors->maximum, labels[b]);
        sum += labels[b], sum2 += labels[b] * labels[b];
        wrong += fabs(left), wrong2 += left * left;
    }
    double count = (double)errors->count;
    double variance = sum2 - sum * sum / count;
    errors->mean_error = wrong / count;
    errors->deviation = sqrt(fmax(wrong2 / count - errors->mean_error * errors->mean_error, 0.0));
    errors->r2 = variance > 0.0 ? 1.0 - wrong2 / variance : 0.0;
}

/* Least squares of the labels of one sex on the coordinates; slopes in kilograms per metre of coordinate. */
static sup_result regress(training *t, int sex, const double *labels, double *constant, double *slope,
                          sup_train_errors *errors, sup_error *error)
{
    size_t n = (size_t)t->regressor_modes + 1;
    double *matrix = sup_arena_alloc(&t->arena, n * n, sizeof(double));
    double *right = sup_arena_alloc(&t->arena, n, sizeof(double));
    double *design = sup_arena_alloc(&t->arena, 2 * n, sizeof(double));
    if (matrix == NULL || right == NULL || design == NULL) return sup_fail_memory(error, "the regression");
    for (int32_t b = 0; b < t->shapes->body_count; b++) {
        if (!belongs(t, b, sex)) continue;
        design_row(t, b, design);
        for (size_t i = 0; i < n; i++) {
            right[i] += design[i] * labels[b];
            for (size_t j = 0; j <= i; j++)
                matrix[i * n + j] += design[i] * design[j];
        }
    }
    double size = matrix[0];
    for (size_t i = 0; i < n; i++)
        matrix[i * n + i] += ridge * size;
    if (!sup_dense_cholesky((int32_t)n, matrix))
        return sup_fail(error, SUP_ERROR_NUMERIC, "anatomy.regression", "",
                        "The masses cannot be predicted from so few bodies: use more bodies or fewer modes.");
    sup_dense_cholesky_solve((int32_t)n, matrix, right);
    *constant = right[0];
    for (int32_t k = 0; k < t->regressor_modes; k++)
        slope[k] = right[k + 1] / t->c->deviation[k];
    leave_one_out(t, sex, labels, matrix, right, design, errors);
    return SUP_OK;
}

/* A sex with too few bodies gets the regressor of all bodies. */
static sup_result regress_all(training *t, sup_train_report *report, sup_error *error)
{
    sup_composition *c = t->c;
    size_t modes = (size_t)c->mode_count, bodies = (size_t)t->shapes->body_count;
    c->fat_slope = sup_arena_alloc(&c->storage->arena, 3 * modes, sizeof(double));
    c->muscle_slope = sup_arena_alloc(&c->storage->arena, 3 * modes, sizeof(double));
    if (c->fat_slope == NULL || c->muscle_slope == NULL) return sup_fail_memory(error, "the regression");
    sup_result result = gather_coordinates(t, report, error);
    for (int sex = 0; sex < 3 && result == SUP_OK; sex++) {
        int32_t count = 0;
        for (int32_t b = 0; b < t->shapes->body_count; b++)
            count += belongs(t, b, sex) ? 1 : 0;
        double *fat = c->fat_slope + (size_t)sex * modes, *muscle = c->muscle_slope + (size_t)sex * modes;
        if (sex != SUP_SEX_UNKNOWN && count < t->regressor_modes + 3) {
            memcpy(fat, c->fat_slope, modes * sizeof *fat);
            memcpy(muscle, c->muscle_slope, modes * sizeof *muscle);
            c->fat[sex] = c->fat[0], c->muscle[sex] = c->muscle[0];
            continue;
        }
        result = regress(t, sex, t->labels, &c->fat[sex], fat, &report->fat[sex], error); /* eq. 4.5 */
        if (result == SUP_OK)                                                             /* eq. 4.6 */
            result = regress(t, sex, t->labels + bodies, &c->muscle[sex], muscle, &report->muscle[sex], error);
    }
    return result;
}

/* --- Training --- */

static sup_result copy_topology(const sup_shapes *s, sup_composition *c, sup_error *error)
{
    sup_arena *arena = &c->storage->arena;
    c->vertex_count = s->vertex_count;
    c->triangle_count = s->triangle_count;
    c->joint_count = s->joint_count;
    c->triangles = sup_arena_copy(arena, s->triangles, 3 * (size_t)s->triangle_count, sizeof(int32_t));
    c->parents = sup_arena_copy(arena, s->parents, (size_t)s->joint_count, sizeof(int32_t));
    c->joint_names = sup_arena_alloc(arena, (size_t)s->joint_count, sizeof(char *));
    bool failed = c->triangles == NULL || c->parents == NULL || c->joint_names == NULL;
    for (int32_t j = 0; !failed && j < s->joint_count; j++)
        failed = (c->joint_names[j] = sup_arena_string(arena, s->joint_names[j])) == NULL;
    return failed ? sup_fail_memory(error, "the template") : SUP_OK;
}

static sup_result report_progress(const sup_train_def *def, float fraction, const char *stage, sup_error *error)
{
    if (def == NULL || def->progress == NULL || def->progress(def->progress_user, fraction, stage)) return SUP_OK;
    return sup_fail(error, SUP_ERROR_CANCELLED, "cancelled", "", "Training was cancelled.");
}

static sup_result train(training *t, const sup_train_def *def, sup_train_report *report, sup_error *error)
{
    int32_t modes = def != NULL && def->mode_count > 0 ? def->mode_count : DEFAULT_MODES;
    int32_t predicted = def != NULL && def->regressor_modes > 0 ? def->regressor_modes : DEFAULT_REGRESSOR_MODES;
    sup_result result = copy_topology(t->shapes, t->c, error);
    if (result == SUP_OK) result = report_progress(def, 0.0f, "shape space", error);
    if (result == SUP_OK) result = components(t, modes, &report->variance, error);
    if (result == SUP_OK) result = report_progress(def, 0.4f, "skin weights", error);
    if (result == SUP_OK) result = sup_composition_compute_weights(&t->context, t->c, error);
    if (result == SUP_OK) result = report_progress(def, 0.8f, "masses", error);
    if (result != SUP_OK) return result;
    int32_t max_modes = t->shapes->body_count - 2;
    t->regressor_modes = predicted < t->c->mode_count ? predicted : t->c->mode_count;
    if (t->regressor_modes > max_modes) t->regressor_modes = max_modes;
    return regress_all(t, report, error);
}

sup_result sup_composition_train(const sup_context *context, const sup_shapes *shapes, const sup_train_def *def,
                                 sup_composition **composition, sup_train_report *report, sup_error *error)
{
    if (shapes == NULL || composition == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_composition_train needs shapes and a pointer to the composition.");
    sup_result result = check(shapes, error);
    if (result != SUP_OK) return result;
    training t = {.shapes = shapes, .context = sup_context_resolve(context), .c = sup_composition_open(context)};
    if (t.c == NULL) return sup_fail_memory(error, "the composition");
    t.arena = sup_arena_create(&t.context.allocator);
    sup_train_report local = {0};
    result = train(&t, def, &local, error);
    sup_arena_destroy(&t.arena);
    if (result != SUP_OK) {
        sup_composition_destroy(t.c);
        return result;
    }
    if (report != NULL) *report = local;
    *composition = t.c;
    return SUP_OK;
}
