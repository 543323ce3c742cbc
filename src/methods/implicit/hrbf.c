/* hrbf.c - fitting and exact evaluation of Hermite radial basis functions.
 *
 * Based on: [vaillant2013] and [macedo2011]; see hrbf.h for deviations.
 *
 * The system is A w + P q = y, P^T w = 0, where the rows of P are the values and gradients of linear functions at the
 * samples. With P = Q R by four Householder reflections, w = Q (0, v) and the lower right block of Q^T A Q is positive
 * definite: one Cholesky factorisation. */
#include "methods/implicit/hrbf.h"

#include "linalg/kernels.h"

enum { TERMS = 4 }; /* coefficients of the linear term, and unknowns per sample */
/* Samples closer than this fraction of the extent are duplicates. */
static const double SAME_POSITION = 1e-7;
static const double SMALLEST_PIVOT = 1e-13; /* relative to the largest diagonal entry */

size_t sup_hrbf_workspace(int32_t count)
{
    size_t n = TERMS * (size_t)count;
    return n * n + n * (2 * TERMS + 2);
}

static sup_vec3d centre_of(const sup_hrbf *h, int32_t i)
{
    return sup_v3(h->centre[3 * i], h->centre[3 * i + 1], h->centre[3 * i + 2]);
}

static sup_result normalise(int32_t count, const sup_sample *samples, sup_hrbf *h, sup_error *error)
{
    sup_vec3d sum = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < count; i++)
        sum = sup_v3_add(sum, samples[i].position);
    h->count = count;
    h->origin = sup_v3_scale(sum, 1.0 / count);
    h->scale = 0.0;
    for (int32_t i = 0; i < count; i++)
        h->scale = fmax(h->scale, sup_v3_distance(samples[i].position, h->origin));
    if (!sup_v3_finite(h->origin) || !isfinite(h->scale))
        return sup_fail(error, SUP_ERROR_DATA, "hrbf.infinite", "", "A sample of a field is not a finite point.");
    if (!(h->scale > 0.0)) h->scale = 1.0;
    for (int32_t i = 0; i < count; i++) {
        sup_vec3d p = sup_v3_scale(sup_v3_sub(samples[i].position, h->origin), 1.0 / h->scale);
        memcpy(h->centre + 3 * (size_t)i, &p, sizeof p);
        for (int32_t k = 0; k < i; k++)
            if (sup_v3_distance(p, centre_of(h, k)) < SAME_POSITION)
                return sup_fail(error, SUP_ERROR_DATA, "hrbf.duplicate", "",
                                "Samples %d and %d of a field have the same position: a field can have only one "
                                "gradient there. Remove one of them.",
                                k, i);
    }
    return SUP_OK;
}

/* Kernel block: value and gradient at sample i of the four basis functions of sample j. Column-major 4 x 4, stride
 * `n`. */
static void set_block(double *a, size_t n, sup_vec3d d)
{
    const double at[3] = {d.x, d.y, d.z}, l = sup_v3_length(d), over = l > 0.0 ? 3.0 / l : 0.0;
    a[0] = l * l * l;
    for (size_t k = 0; k < 3; k++) {
        a[k + 1] = 3.0 * l * at[k];        /* gradient of phi */
        a[n * (k + 1)] = -3.0 * l * at[k]; /* value of -grad phi */
        for (size_t m = 0; m < 3; m++)     /* minus the second derivatives */
            a[n * (k + 1) + m + 1] = -(over * at[k] * at[m] + (k == m ? 3.0 * l : 0.0));
    }
}

/* H x for the reflection H = I - 2 v v^T, v a unit vector. */
static void reflect_vector(const double *v, size_t n, double *x)
{
    double dot = 0.0;
    for (size_t i = 0; i < n; i++)
        dot += v[i] * x[i];
    for (size_t i = 0; i < n; i++)
        x[i] -= 2.0 * dot * v[i];
}

/* H A H for a symmetric A: A - v u^T - u v^T with u = 2 (A v - (v^T A v) v). */
static void reflect_matrix(const double *v, size_t n, double *a, double *u)
{
    double dot = 0.0;
    memset(u, 0, n * sizeof *u);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            u[i] += a[n * j + i] * v[j];
    for (size_t i = 0; i < n; i++)
        dot += u[i] * v[i];
    for (size_t i = 0; i < n; i++)
        u[i] = 2.0 * (u[i] - dot * v[i]);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            a[n * j + i] -= v[i] * u[j] + u[i] * v[j];
}

/* Householder vectors of P into v [TERMS*n], R into r (upper). P is generated on the fly. */
static void factor_linear(const sup_hrbf *h, size_t n, double *v, double r[TERMS][TERMS])
{
    for (size_t k = 0; k < TERMS; k++) {
        double *column = v + k * n, square = 0.0;
        for (int32_t i = 0; i < h->count; i++) {
            column[TERMS * i] = k == 0 ? 1.0 : h->centre[3 * (size_t)i + k - 1];
            for (size_t m = 1; m < TERMS; m++)
                column[TERMS * (size_t)i + m] = k == m ? 1.0 : 0.0;
        }
        for (size_t m = 0; m < k; m++)
            reflect_vector(v + m * n, n, column);
        for (size_t i = 0; i < k; i++) {
            r[i][k] = column[i];
            column[i] = 0.0;
        }
        for (size_t i = k; i < n; i++)
            square += column[i] * column[i];
        double length = copysign(sqrt(square), column[k]);
        r[k][k] = -length;
        square +=
            length * (2.0 * column[k] + length); /* squared length of the column after the change in the next line */
        column[k] += length;
        double scale = 1.0 / sqrt(square); /* P has full rank from the first sample on */
        for (size_t i = k; i < n; i++)
            column[i] *= scale;
    }
}

/* Factorises the lower right block of `a`, packed to the front; returns false if it is not positive definite. */
static bool factor_block(double *a, size_t n, double *smallest)
{
    size_t m = n - TERMS;
    double largest = 0.0;
    for (size_t j = 0; j < m; j++) {
        memmove(a + j * m, a + (j + TERMS) * n + TERMS, m * sizeof *a);
        largest = fmax(largest, a[j * m + j]);
    }
    for (size_t j = 0; j < m; j++)
        smallest[j] = SMALLEST_PIVOT * largest;
    return m == 0 || sup_linalg_kernels_best()->factor_panel(a, (int32_t)m, (int32_t)m, smallest) < 0;
}

/* L L^T x = x, column-major. */
static void solve_block(const double *l, size_t m, double *x)
{
    for (size_t j = 0; j < m; j++) {
        x[j] /= l[j * m + j];
        for (size_t i = j + 1; i < m; i++)
            x[i] -= l[j * m + i] * x[j];
    }
    for (size_t j = m; j-- > 0;) {
        double sum = x[j];
        for (size_t i = j + 1; i < m; i++)
            sum -= l[j * m + i] * x[i];
        x[j] = sum / l[j * m + j];
    }
}

/* R q = y */
static void solve_linear(const double y[TERMS], double r[TERMS][TERMS], double linear[TERMS])
{
    for (size_t k = TERMS; k-- > 0;) {
        double sum = y[k];
        for (size_t m = k + 1; m < TERMS; m++)
            sum -= r[k][m] * linear[m];
        linear[k] = sum / r[k][k];
    }
}

/* The linear system of a fit in the workspace. */
typedef struct hrbf_system {
    size_t n;
    double *a;          /* [n*n] column-major */
    double *reflection; /* [TERMS*n] */
    double *y;          /* [n] right-hand side, then the weights */
    double *upper;      /* [n*TERMS] first rows of Q^T A Q, by column */
    double *scratch;    /* [n] */
    double r[TERMS][TERMS];
} hrbf_system;

static hrbf_system fill_system(const sup_hrbf *h, const sup_sample *samples, double *workspace)
{
    hrbf_system s = {.n = TERMS * (size_t)h->count, .a = workspace};
    s.reflection = s.a + s.n * s.n;
    s.upper = s.reflection + TERMS * s.n;
    s.y = s.upper + TERMS * s.n;
    s.scratch = s.y + s.n;
    for (int32_t j = 0; j < h->count; j++) {
        for (int32_t i = 0; i < h->count; i++)
            set_block(s.a + TERMS * (s.n * (size_t)j + (size_t)i), s.n, sup_v3_sub(centre_of(h, i), centre_of(h, j)));
        s.y[TERMS * (size_t)j] = 0.0;
        memcpy(s.y + TERMS * (size_t)j + 1, &samples[j].normal, sizeof samples[j].normal);
    }
    return s;
}

sup_result sup_hrbf_fit(int32_t count, const sup_sample *samples, double *workspace, sup_hrbf *hrbf, sup_error *error)
{
    if (count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "hrbf.empty", "", "A field needs at least one sample of its surface.");
    sup_result result = normalise(count, samples, hrbf, error);
    if (result != SUP_OK) return result;
    hrbf_system s = fill_system(hrbf, samples, workspace);
    factor_linear(hrbf, s.n, s.reflection, s.r);
    for (size_t k = 0; k < TERMS; k++) {
        reflect_matrix(s.reflection + k * s.n, s.n, s.a, s.scratch);
        reflect_vector(s.reflection + k * s.n, s.n, s.y);
    }
    for (size_t j = 0; j < s.n; j++)
        memcpy(s.upper + TERMS * j, s.a + s.n * j, TERMS * sizeof(double));
    if (!factor_block(s.a, s.n, s.scratch))
        return sup_fail(error, SUP_ERROR_NUMERIC, "hrbf.singular", "",
                        "The field through %d samples cannot be computed: some of them are too close to each other.",
                        count);
    solve_block(s.a, s.n - TERMS, s.y + TERMS);
    for (size_t k = 0; k < TERMS; k++) {
        for (size_t j = TERMS; j < s.n; j++)
            s.y[k] -= s.upper[TERMS * j + k] * s.y[j];
    }
    solve_linear(s.y, s.r, hrbf->linear);
    memset(s.y, 0, TERMS * sizeof(double));
    for (size_t k = TERMS; k-- > 0;)
        reflect_vector(s.reflection + k * s.n, s.n, s.y);
    memcpy(hrbf->weight, s.y, s.n * sizeof(double));
    return SUP_OK;
}

double sup_hrbf_value(const sup_hrbf *hrbf, sup_vec3d p, sup_vec3d *gradient)
{
    const sup_vec3d x = sup_v3_scale(sup_v3_sub(p, hrbf->origin), 1.0 / hrbf->scale);
    sup_vec3d slope = sup_v3(hrbf->linear[1], hrbf->linear[2], hrbf->linear[3]);
    double value = hrbf->linear[0] + sup_v3_dot(slope, x);
    for (int32_t i = 0; i < hrbf->count; i++) {
        const double *w = hrbf->weight + TERMS * (size_t)i;
        sup_vec3d d = sup_v3_sub(x, centre_of(hrbf, i)), b = sup_v3(w[1], w[2], w[3]);
        double l = sup_v3_length(d), along = sup_v3_dot(b, d);
        value += l * (w[0] * l * l - 3.0 * along);
        slope = sup_v3_madd(slope, 3.0 * (w[0] * l - (l > 0.0 ? along / l : 0.0)), d);
        slope = sup_v3_madd(slope, -3.0 * l, b);
    }
    if (gradient != NULL) *gradient = slope;
    return value * hrbf->scale;
}
