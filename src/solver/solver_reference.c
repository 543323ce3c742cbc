/* solver_reference.c - reference implementation: local step by polar decomposition, global step by an exact solve,
 * in double.
 *
 * Based on: [komaritzan2022] Algorithm 2.1. Written for readability: element by element, matrix by matrix. With
 * volume (solver_volume.c) a global step is x - A^-1 gradient, with the solver's stiffened A. */
#include "solver/solver_reference.h"

#include "linalg/cholesky.h"
#include "solver/volume_regions.h"
#include "math/polar.h"

#include <math.h>

typedef struct tet {
    int32_t vertex[4];
    double inverse[9]; /* of the rest edge matrix (columns are the edges from vertex 3) */
    double weight;
} tet;

struct sup_reference {
    sup_context context;
    sup_arena arena;
    int32_t skin_count, vertex_count, tet_count, unknown_count;
    int32_t outer_count; /* tets above the middle layer, which come first */
    bool is_static;
    double time_step;
    tet *tets;
    double *mass;     /* [vertex_count] 0 for bases */
    int32_t *number;  /* [vertex_count] unknown or -1 */
    double *rotation; /* [tet_count*9] projections */
    float *rest;      /* [vertex_count*3] */
    double *gradient; /* [vertex_count*3] */

    sup_tissue tissue; /* from here on with volume only; its arrays belong to the caller */
    const sup_volumetric_skeleton *skeleton;
    double volume;
    int32_t region_count;
    sup_region_weights *weights; /* [skin_count] */
    double *wedge_weight;        /* [triangle_count] of a volume */
    double *foot;                /* [skin_count*3] */
    bool has_foot_points;
    double *region, *region_rest; /* [region_count] volumes now and at rest; at rest 0: not preserved */
    double *right, *solution, *workspace;
    sup_csr matrix;
    sup_cholesky *cholesky;
};

/* Positions rounded to float, through memory: gcc 12 drops the rounding when it vectorises. */
static void round_positions(sup_reference *r, const sup_tissue *t)
{
    for (int32_t i = 0; i < 3 * r->skin_count; i++) {
        r->rest[i] = (float)t->skin[i];
        r->rest[3 * r->skin_count + i] = (float)t->base[i];
        if (t->middle != NULL) r->rest[6 * r->skin_count + i] = (float)t->middle[i];
    }
}

/* Inverse of a 3x3 matrix, row-major; returns its determinant. */
static double invert(const double m[9], double inverse[9])
{
    double determinant =
        m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++) {
            int32_t a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            inverse[3 * i + j] = (m[3 * a + c] * m[3 * b + d] - m[3 * a + d] * m[3 * b + c]) / determinant;
        }
    return determinant;
}

/* Cube root of the bounding box's volume, and its diagonal. */
static double box_size(const sup_tissue *t, double *diagonal)
{
    double volume = 1.0, side[3], square = 0.0;
    for (int32_t k = 0; k < 3; k++) {
        double low = t->skin[k], high = low;
        for (int32_t v = 0; v < t->skin_count; v++) {
            low = fmin(low, t->skin[3 * v + k]);
            high = fmax(high, t->skin[3 * v + k]);
        }
        side[k] = high - low;
        square += side[k] * side[k];
    }
    *diagonal = sqrt(square);
    for (int32_t k = 0; k < 3; k++)
        volume *= fmax(side[k], 0.01 * *diagonal);
    return cbrt(volume);
}

/* Gradients of the four hat functions. */
static void hats(const tet *e, double g[4][3])
{
    for (int32_t c = 0; c < 3; c++) {
        for (int32_t k = 0; k < 3; k++)
            g[k][c] = e->inverse[3 * k + c];
        g[3][c] = -(g[0][c] + g[1][c] + g[2][c]);
    }
}

/* Length of the longest of them: one over the smallest height. */
static double steepest_hat(const tet *e)
{
    double g[4][3], most = 0.0;
    hats(e, g);
    for (int32_t k = 0; k < 4; k++)
        most = fmax(most, sqrt(g[k][0] * g[k][0] + g[k][1] * g[k][1] + g[k][2] * g[k][2]));
    return most;
}

static void build_tets(sup_reference *r, const sup_system_def *def)
{
    const sup_tissue *t = def->tissue;
    double stiffness = def->tissue_stiffness > 0.0 ? def->tissue_stiffness : 85.0, diagonal,
           size = box_size(t, &diagonal);
    for (int32_t k = 0; k < r->tet_count; k++) {
        tet *e = &r->tets[k];
        double p[4][3], edges[9], here = 1.0;
        int32_t layer = k / r->outer_count, index = k % r->outer_count;
        for (int32_t c = 0; c < 4; c++)
            e->vertex[c] = sup_tissue_layer_vertex(t, layer, t->tets[(int64_t)4 * index + c]);
        for (int32_t c = 0; c < 4; c++)
            for (int32_t i = 0; i < 3; i++)
                p[c][i] = (double)r->rest[3 * e->vertex[c] + i];
        for (int32_t i = 0; i < 3; i++)
            for (int32_t c = 0; c < 3; c++)
                edges[3 * i + c] = p[c][i] - p[3][i];
        double volume = fabs(invert(edges, e->inverse)) / 6.0;
        if (!(volume > 0.0) || !(t->tet_volume[k] > 0.0) ||
            steepest_hat(e) * 1e-6 * diagonal > 1.0) { /* too flat: ignored by the system too */
            *e = (tet){.vertex = {e->vertex[0], e->vertex[1], e->vertex[2], e->vertex[3]}};
            continue;
        }
        const int32_t *triangle = t->triangles + (int64_t)3 * (index / 3);
        if (def->stiffness != NULL)
            here = ((double)def->stiffness[triangle[0]] + (double)def->stiffness[triangle[1]] +
                    (double)def->stiffness[triangle[2]]) /
                   3.0;
        if (layer > 0) here *= t->inner_stiffness;
        e->weight = stiffness * here * volume * cbrt(1000.0 / (size * size * size));
        for (int32_t c = 0; c < 4; c++)
            if (sup_tissue_has_mass(t, e->vertex[c])) r->mass[e->vertex[c]] += volume / 4.0;
    }
    double sum = 0.0, total = def->total_mass > 0.0 ? def->total_mass : 4000.0;
    for (int32_t v = 0; v < r->vertex_count; v++)
        sum += r->mass[v];
    for (int32_t v = 0; v < r->vertex_count; v++)
        r->mass[v] *= total / sum;
}

/* Stiffening of the matrix for the tetrahedra of one prism of the outer layer (system.h). */
static double stiffening_of(const sup_reference *r, int32_t prism)
{
    bool held = false;
    for (int32_t k = 0; k < 12; k++)
        held = held || r->number[r->tets[3 * prism + k / 4].vertex[k % 4]] < 0;
    return 1.0 + r->volume * (held ? SUP_VOLUME_STIFFENING_HELD : SUP_VOLUME_STIFFENING);
}

static sup_result build_matrix(sup_reference *r, sup_error *error)
{
    int64_t most = (int64_t)r->tet_count * 10 + r->vertex_count, count = 0;
    sup_triplet *t = sup_arena_alloc(&r->arena, (size_t)most, sizeof *t);
    if (t == NULL) return sup_fail_memory(error, "the reference's system");
    for (int32_t k = 0; k < r->tet_count; k++) {
        const tet *e = &r->tets[k];
        double g[4][3], stiffening = k < r->outer_count ? stiffening_of(r, k / 3) : 1.0;
        hats(e, g);
        for (int32_t i = 0; i < 4; i++)
            for (int32_t j = 0; j <= i; j++) {
                int32_t row = r->number[e->vertex[i]], column = r->number[e->vertex[j]];
                double value = stiffening * e->weight * (g[i][0] * g[j][0] + g[i][1] * g[j][1] + g[i][2] * g[j][2]);
                if (row >= 0 && column >= 0) t[count++] = (sup_triplet){row, column, value};
            }
    }
    for (int32_t v = 0; v < r->vertex_count && !r->is_static; v++)
        if (r->number[v] >= 0)
            t[count++] = (sup_triplet){r->number[v], r->number[v], r->mass[v] / (r->time_step * r->time_step)};
    sup_result result = sup_csr_from_triplets(&r->context, r->unknown_count, t, count, &r->matrix, error);
    if (result == SUP_OK) result = sup_cholesky_create(&r->context, &r->matrix, &r->cholesky, error);
    return result;
}

/* --- Volume --- */

static sup_vec3d column_point(const sup_reference *r, const double *x, int32_t vertex)
{
    return vertex < r->skin_count ? sup_tissue_point(x, vertex) : sup_tissue_point(r->foot, vertex - r->skin_count);
}

/* Six times the volume of a tetrahedron of a wedge, with the sign of tissue.h, and its gradient at each corner. */
static double wedge_tet(const sup_reference *r, const double *x, const int32_t corner[4], sup_vec3d gradient[4])
{
    sup_vec3d p[4];
    for (int32_t k = 0; k < 4; k++)
        p[k] = column_point(r, x, corner[k]);
    sup_vec3d a = sup_v3_sub(p[0], p[3]), b = sup_v3_sub(p[1], p[3]), c = sup_v3_sub(p[2], p[3]);
    gradient[0] = sup_v3_cross(c, b);
    gradient[1] = sup_v3_cross(a, c);
    gradient[2] = sup_v3_cross(b, a);
    gradient[3] = sup_v3_scale(sup_v3_add(gradient[0], sup_v3_add(gradient[1], gradient[2])), -1.0);
    return sup_v3_dot(a, gradient[0]);
}

/* Volumes of the regions at x; vertices that are anchors do not count. `size`, or NULL, receives what they would be
 * if all wedges were right side out. */
static void measure_regions(const sup_reference *r, const double *x, double *volume, double *size)
{
    memset(volume, 0, (size_t)r->region_count * sizeof *volume);
    for (int32_t t = 0; t < r->tissue.triangle_count; t++) {
        double wedge = 0.0;
        sup_vec3d gradient[4];
        for (int32_t k = 0; k < 3; k++)
            wedge += r->wedge_weight[t] / 6.0 * wedge_tet(r, x, r->tissue.tets + (int64_t)12 * t + 4 * k, gradient);
        for (int32_t k = 0; k < 6; k++) {
            int32_t v = r->tissue.triangles[(int64_t)3 * t + k / 2];
            if (r->number[v] < 0) continue;
            volume[r->weights[v].region[k % 2]] += r->weights[v].weight[k % 2] * wedge / 3.0;
            if (size != NULL) size[r->weights[v].region[k % 2]] += r->weights[v].weight[k % 2] * fabs(wedge) / 3.0;
        }
    }
}

void sup_reference_bones(sup_reference *reference, const float *bones)
{
    sup_reference *r = reference;
    r->has_foot_points = r->volume > 0.0 && bones != NULL;
    for (int32_t v = 0; r->has_foot_points && v < r->skin_count; v++)
        for (int32_t k = 0; k < 3; k++) {
            const float *bone = bones + (int64_t)8 * r->tissue.foot_points[v].segment;
            r->foot[3 * v + k] =
                (double)bone[k] + r->tissue.foot_points[v].parameter * ((double)bone[4 + k] - (double)bone[k]);
        }
}

static sup_result build_chambers(sup_reference *r, const sup_system_def *def, sup_error *error)
{
    if (!(def->volume > 0.0)) return SUP_OK;
    r->tissue = *def->tissue;
    r->skeleton = def->skeleton;
    r->region_count = sup_volume_regions_create(&r->tissue, r->skeleton, &r->arena, &r->weights);
    size_t count = (size_t)r->region_count, n = (size_t)r->skin_count;
    double *size = sup_arena_alloc(&r->arena, count, sizeof(double)), total = 0.0, diagonal;
    double *rest = sup_arena_alloc(&r->arena, n * 6, sizeof(double));
    r->region = sup_arena_alloc(&r->arena, count, sizeof(double));
    r->region_rest = sup_arena_alloc(&r->arena, count, sizeof(double));
    r->wedge_weight = sup_arena_alloc(&r->arena, (size_t)r->tissue.triangle_count, sizeof(double));
    r->foot = sup_arena_alloc(&r->arena, n * 3, sizeof(double));
    if (!r->weights || !size || !rest || !r->region || !r->region_rest || !r->wedge_weight || !r->foot)
        return sup_fail_memory(error, "the reference");
    double stiffness = def->tissue_stiffness > 0.0 ? def->tissue_stiffness : 85.0;
    for (int32_t t = 0; t < r->tissue.triangle_count; t++) {
        const int32_t *v = r->tissue.triangles + (int64_t)3 * t;
        double here = 1.0;
        if (def->stiffness != NULL)
            here = ((double)def->stiffness[v[0]] + (double)def->stiffness[v[1]] + (double)def->stiffness[v[2]]) / 3.0;
        r->wedge_weight[t] = stiffness * here * 10.0 / box_size(&r->tissue, &diagonal);
    }
    for (size_t i = 0; i < n * 6; i++) /* skin and bases: wedges have no middle layer */
        rest[i] = (double)r->rest[i];
    for (int32_t v = 0; v < r->skin_count; v++) {
        sup_vec3d foot = sup_foot_position(r->skeleton, r->tissue.foot_points[v]);
        r->foot[3 * v] = foot.x;
        r->foot[3 * v + 1] = foot.y;
        r->foot[3 * v + 2] = foot.z;
    }
    measure_regions(r, rest, r->region_rest, size);
    for (int32_t c = 0; c < r->region_count; c++)
        total += size[c];
    for (int32_t c = 0; c < r->region_count; c++)
        if (!(r->region_rest[c] > 0.5 * size[c] && r->region_rest[c] > 1e-6 * total)) r->region_rest[c] = 0.0;
    return SUP_OK;
}

/* Energy of the volumes at x; r->region receives the pressures. */
static double pressures(const sup_reference *r, const double *x)
{
    double energy = 0.0;
    if (!r->has_foot_points) return 0.0;
    measure_regions(r, x, r->region, NULL);
    for (int32_t c = 0; c < r->region_count; c++) {
        double rest = r->region_rest[c], s = rest > 0.0 ? r->region[c] / rest - 1.0 : 0.0,
               u = 1.0 / (1.0 + s * s / 4.0);
        energy += r->volume * rest / 2.0 * s * s * u;
        r->region[c] = r->volume * s * u * u;
    }
    return energy;
}

static void add_volume_gradient(const sup_reference *r, const double *x, double *gradient)
{
    if (!r->has_foot_points) return;
    pressures(r, x);
    for (int32_t t = 0; t < r->tissue.triangle_count; t++) {
        double pressure = 0.0;
        for (int32_t k = 0; k < 6; k++) {
            int32_t v = r->tissue.triangles[(int64_t)3 * t + k / 2];
            if (r->number[v] >= 0)
                pressure += r->weights[v].weight[k % 2] * r->region[r->weights[v].region[k % 2]] / 3.0;
        }
        for (int32_t k = 0; k < 3; k++) {
            const int32_t *corner = r->tissue.tets + (int64_t)12 * t + 4 * k;
            sup_vec3d g[4];
            wedge_tet(r, x, corner, g);
            for (int32_t c = 0; c < 4; c++) {
                if (corner[c] >= r->skin_count) continue;
                gradient[3 * corner[c]] += pressure * r->wedge_weight[t] / 6.0 * g[c].x;
                gradient[3 * corner[c] + 1] += pressure * r->wedge_weight[t] / 6.0 * g[c].y;
                gradient[3 * corner[c] + 2] += pressure * r->wedge_weight[t] / 6.0 * g[c].z;
            }
        }
    }
}

static sup_result build(sup_reference *r, const sup_system_def *def, sup_error *error)
{
    size_t n = (size_t)r->vertex_count, tets = (size_t)r->tet_count;
    r->tets = sup_arena_alloc(&r->arena, tets, sizeof(tet));
    r->rotation = sup_arena_alloc(&r->arena, tets * 9, sizeof(double));
    r->mass = sup_arena_alloc(&r->arena, n, sizeof(double));
    r->number = sup_arena_alloc(&r->arena, n, sizeof(int32_t));
    r->right = sup_arena_alloc(&r->arena, n, sizeof(double));
    r->solution = sup_arena_alloc(&r->arena, n, sizeof(double));
    r->rest = sup_arena_alloc(&r->arena, n * 3, sizeof(float));
    r->gradient = sup_arena_alloc(&r->arena, n * 3, sizeof(double));
    if (!r->tets || !r->rotation || !r->mass || !r->number || !r->right || !r->solution || !r->rest || !r->gradient)
        return sup_fail_memory(error, "the reference");
    for (int32_t v = 0; v < r->vertex_count; v++) {
        bool fixed = v < r->skin_count       ? def->fixed != NULL && def->fixed[v] != 0
                     : v < 2 * r->skin_count ? def->tissue->base_class[v - r->skin_count] != SUP_BASE_FREE
                                             : false;
        r->number[v] = fixed ? -1 : r->unknown_count++;
    }
    round_positions(r, def->tissue);
    build_tets(r, def);
    sup_result result = build_chambers(r, def, error);
    if (result == SUP_OK) result = build_matrix(r, error);
    if (result != SUP_OK) return result;
    r->workspace = sup_arena_alloc(&r->arena, (size_t)sup_cholesky_workspace(r->cholesky, 1), sizeof(double));
    return r->workspace != NULL ? SUP_OK : sup_fail_memory(error, "the reference");
}

sup_result sup_reference_create(const sup_context *context, const sup_system_def *def, sup_reference **reference,
                                sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_reference *r = sup_alloc_zero(&resolved.allocator, sizeof *r);
    if (r == NULL) return sup_fail_memory(error, "the reference");
    r->context = resolved;
    r->arena = sup_arena_create(&resolved.allocator);
    r->skin_count = def->tissue->skin_count;
    r->vertex_count = sup_tissue_vertex_count(def->tissue);
    r->outer_count = def->tissue->triangle_count * 3;
    r->tet_count = r->outer_count * sup_tissue_layer_count(def->tissue);
    r->is_static = def->is_static;
    r->volume = def->volume;
    r->time_step = def->time_step > 0.0 ? def->time_step : 0.2;
    sup_result result = build(r, def, error);
    if (result != SUP_OK) {
        sup_reference_destroy(r);
        return result;
    }
    *reference = r;
    return SUP_OK;
}

void sup_reference_destroy(sup_reference *reference)
{
    if (reference == NULL) return;
    sup_allocator allocator = reference->context.allocator;
    sup_cholesky_destroy(reference->cholesky);
    sup_csr_free(&reference->matrix);
    sup_arena_destroy(&reference->arena);
    sup_free(&allocator, reference, sizeof *reference);
}

/* F = E E_rest^-1, row-major. */
static void deformation(const tet *e, const double *x, double f[9])
{
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++) {
            f[3 * i + j] = 0.0;
            for (int32_t k = 0; k < 3; k++)
                f[3 * i + j] += (x[3 * e->vertex[k] + i] - x[3 * e->vertex[3] + i]) * e->inverse[3 * k + j];
        }
}

/* The local step: one rotation per tetrahedron, or one per prism from the weighted sum of its three. */
static void project(const sup_reference *r, const double *x, bool shared_rotation, double *rotation)
{
    for (int32_t k = 0; k < r->tet_count; k += 3) {
        double f[3][9], mean[9] = {0};
        for (int32_t t = 0; t < 3; t++) {
            deformation(&r->tets[k + t], x, f[t]);
            for (int32_t i = 0; i < 9; i++)
                mean[i] += r->tets[k + t].weight * f[t][i];
        }
        for (int32_t t = 0; t < 3; t++)
            sup_polar_rotation(shared_rotation ? mean : f[t], rotation + (int64_t)9 * (k + t));
    }
}

static double momentum_energy(const sup_reference *r, const double *x, const double *y)
{
    double energy = 0.0;
    for (int32_t v = 0; v < r->vertex_count && !r->is_static; v++)
        for (int32_t k = 0; k < 3 && r->number[v] >= 0; k++) {
            double apart = x[3 * v + k] - y[3 * v + k];
            energy += 0.5 * r->mass[v] / (r->time_step * r->time_step) * apart * apart;
        }
    return energy;
}

/* eq. 2.12 with given projections. */
static double energy_with(const sup_reference *r, const double *x, const double *y, const double *rotation)
{
    double energy = momentum_energy(r, x, y);
    for (int32_t k = 0; k < r->tet_count; k++) {
        double f[9], square = 0.0;
        deformation(&r->tets[k], x, f);
        for (int32_t i = 0; i < 9; i++)
            square += (f[i] - rotation[(int64_t)9 * k + i]) * (f[i] - rotation[(int64_t)9 * k + i]);
        energy += 0.5 * r->tets[k].weight * square;
    }
    return energy;
}

double sup_reference_objective(const sup_reference *reference, const double *x, const double *y, bool shared_rotation)
{
    project(reference, x, shared_rotation, reference->rotation);
    return energy_with(reference, x, y, reference->rotation) + pressures(reference, x);
}

void sup_reference_gradient(const sup_reference *reference, const double *x, const double *y, bool shared_rotation,
                            double *gradient)
{
    const sup_reference *r = reference;
    memset(gradient, 0, (size_t)r->vertex_count * 3 * sizeof(double));
    project(r, x, shared_rotation, r->rotation);
    for (int32_t k = 0; k < r->tet_count; k++) {
        const tet *e = &r->tets[k];
        double f[9], g[4][3];
        deformation(e, x, f);
        hats(e, g);
        for (int32_t c = 0; c < 4; c++)
            for (int32_t i = 0; i < 3; i++)
                for (int32_t j = 0; j < 3; j++)
                    gradient[3 * e->vertex[c] + i] +=
                        e->weight * (f[3 * i + j] - r->rotation[(int64_t)9 * k + 3 * i + j]) * g[c][j];
    }
    add_volume_gradient(r, x, gradient);
    for (int32_t v = 0; v < r->vertex_count; v++)
        for (int32_t k = 0; k < 3; k++) {
            if (!r->is_static)
                gradient[3 * v + k] += r->mass[v] / (r->time_step * r->time_step) * (x[3 * v + k] - y[3 * v + k]);
            if (r->number[v] < 0) gradient[3 * v + k] = 0.0;
        }
}

void sup_reference_predict(const sup_reference *reference, const double *now, const double *before, double damping,
                           const double gravity[3], double *y)
{
    double square = reference->time_step * reference->time_step;
    for (int32_t v = 0; v < reference->vertex_count; v++)
        for (int32_t k = 0; k < 3; k++)
            y[3 * v + k] = now[3 * v + k] + (1.0 - damping) * (now[3 * v + k] - before[3 * v + k]) +
                           (reference->is_static ? 0.0 : square * gravity[k]);
}

/* Right-hand side of the reduced system of section 2.2.3, coordinate `c`. */
static void right_side(const sup_reference *r, const double *x, const double *y, int32_t c, double *right)
{
    for (int32_t i = 0; i < r->unknown_count; i++)
        right[i] = 0.0;
    for (int32_t v = 0; v < r->vertex_count && !r->is_static; v++)
        if (r->number[v] >= 0) right[r->number[v]] += r->mass[v] / (r->time_step * r->time_step) * y[3 * v + c];
    for (int32_t k = 0; k < r->tet_count; k++) {
        const tet *e = &r->tets[k];
        double g[4][3], target[3];
        hats(e, g);
        for (int32_t j = 0; j < 3; j++) { /* p - Q_b z_b */
            target[j] = r->rotation[(int64_t)9 * k + 3 * c + j];
            for (int32_t i = 0; i < 4; i++)
                if (r->number[e->vertex[i]] < 0) target[j] -= g[i][j] * x[3 * e->vertex[i] + c];
        }
        for (int32_t i = 0; i < 4; i++)
            if (r->number[e->vertex[i]] >= 0)
                right[r->number[e->vertex[i]]] +=
                    e->weight * (g[i][0] * target[0] + g[i][1] * target[1] + g[i][2] * target[2]);
    }
}

/* The global step of strain alone: the minimum for the given projections. */
static void solve_strain(sup_reference *r, double *x, const double *y, bool shared_rotation)
{
    project(r, x, shared_rotation, r->rotation);
    for (int32_t c = 0; c < 3; c++) {
        right_side(r, x, y, c, r->right);
        sup_cholesky_solve(r->cholesky, 1, r->right, r->solution, r->workspace);
        for (int32_t v = 0; v < r->vertex_count; v++)
            if (r->number[v] >= 0) x[3 * v + c] = r->solution[r->number[v]];
    }
}

static void solve_gradient(sup_reference *r, double *x, const double *y, bool shared_rotation)
{
    sup_reference_gradient(r, x, y, shared_rotation, r->gradient);
    for (int32_t c = 0; c < 3; c++) {
        for (int32_t v = 0; v < r->vertex_count; v++)
            if (r->number[v] >= 0) r->right[r->number[v]] = r->gradient[3 * v + c];
        sup_cholesky_solve(r->cholesky, 1, r->right, r->solution, r->workspace);
        for (int32_t v = 0; v < r->vertex_count; v++)
            if (r->number[v] >= 0) x[3 * v + c] -= r->solution[r->number[v]];
    }
}

void sup_reference_iterate(sup_reference *reference, double *x, const double *y, int32_t iterations,
                           bool shared_rotation, double *energy)
{
    sup_reference *r = reference;
    for (int32_t step = 0; step < iterations; step++) {
        if (energy != NULL) energy[2 * step] = sup_reference_objective(r, x, y, shared_rotation);
        if (r->volume > 0.0)
            solve_gradient(r, x, y, shared_rotation);
        else
            solve_strain(r, x, y, shared_rotation);
        if (energy != NULL) energy[2 * step + 1] = energy_with(r, x, y, r->rotation) + pressures(r, x);
    }
    if (energy != NULL) energy[2 * iterations] = sup_reference_objective(r, x, y, shared_rotation);
}

const double *sup_reference_mass(const sup_reference *reference)
{
    return reference->mass;
}

bool sup_reference_is_anchor(const sup_reference *reference, int32_t vertex)
{
    return reference->number[vertex] < 0;
}

const sup_csr *sup_reference_matrix(const sup_reference *reference)
{
    return &reference->matrix;
}
