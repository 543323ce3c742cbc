/* warp.c - space deformation by triharmonic radial basis functions.
 *
 * Based on: [komaritzan2022] eq. 4.15, after [botsch2005]: d(x) = sum w_j |x - c_j|^3 + a x + b, interpolating.
 * Deviation: the thesis factorises the indefinite (n+4) x (n+4) system by LU. phi(r) = r^3 is positive definite on
 * weights that are orthogonal to linear functions, so four Householder reflections eliminate these, and the rest has
 * a Cholesky factor, at half the cost: with P = Q [0; R], Q^T Phi Q has a positive definite leading (n-4)^2 block.
 * Same result. */
#include "anatomy/warp.h"

#include "linalg/dense.h"
#include "math/vec3.h"

#define WARP_LANES 2
#define WARP_ROOT(square) ((warp_wide){sqrt((square)[0]), sqrt((square)[1])})
#define WARP_SUM sum_base
#include "anatomy/warp_kernel.h"

enum { LINEAR = 4 }; /* 1, x, y, z */

struct sup_warp {
    sup_context context;
    int32_t count;
    double middle[3], scale;       /* centres are (p - middle) * scale */
    double *centres;               /* [count*4] x, y, z, 0 */
    double *weights;               /* [count*4] w_j */
    double *reflectors;            /* [LINEAR][count] unit vectors of the reflections I - 2 v v^T */
    double linear[LINEAR][3];      /* b, then a by rows of x, y, z */
    double corner[LINEAR][LINEAR]; /* R, from the last rows of Q^T P */
    double *scratch;               /* [count*3] */
    sup_dense factor;
    sup_warp_sum_fn *sum;
    sup_arena arena;
};

int32_t sup_warp_sample(int32_t point_count, const double *points, int32_t count, int32_t *chosen, double *distances)
{
    int32_t made = 0, next = 0;
    for (int32_t i = 0; i < point_count; i++)
        distances[i] = INFINITY;
    while (made < count && made < point_count && distances[next] > 0.0) {
        const double *c = points + 3 * (size_t)next;
        double x = c[0], y = c[1], z = c[2];
        chosen[made++] = next;
        next = 0;
        for (int32_t i = 0; i < point_count; i++) {
            const double *p = points + 3 * (size_t)i;
            double dx = p[0] - x, dy = p[1] - y, dz = p[2] - z, square = dx * dx + dy * dy + dz * dz;
            if (square < distances[i]) distances[i] = square;
            if (distances[i] > distances[next]) next = i;
        }
    }
    return made;
}

/* Householder reflections that map the columns of P = (1, x, y, z) to their last rows, and those rows. */
static bool reflect_polynomial(sup_warp *warp)
{
    int32_t n = warp->count;
    double *columns = warp->scratch;
    for (int32_t k = 0; k < LINEAR; k++) {
        for (int32_t i = 0; i < n; i++)
            columns[i] = k == 0 ? 1.0 : warp->centres[4 * (size_t)i + (size_t)(k - 1)];
        for (int32_t m = 0; m < k; m++) {
            const double *v = warp->reflectors + (size_t)m * (size_t)n;
            double dot = 0.0;
            for (int32_t i = 0; i < n; i++)
                dot += v[i] * columns[i];
            for (int32_t i = 0; i < n; i++)
                columns[i] -= 2.0 * dot * v[i];
        }
        int32_t pivot = n - 1 - k;
        double square = 0.0;
        for (int32_t i = 0; i <= pivot; i++)
            square += columns[i] * columns[i];
        double length = sqrt(square);
        if (!(length > 1e-6 * sqrt((double)n))) return false;
        double target = columns[pivot] > 0.0 ? -length : length;
        double *v = warp->reflectors + (size_t)k * (size_t)n;
        double size = sqrt(2.0 * (square - target * columns[pivot]));
        for (int32_t i = 0; i < n; i++)
            v[i] = i <= pivot ? (columns[i] - (i == pivot ? target : 0.0)) / size : 0.0;
        for (int32_t m = 0; m < LINEAR; m++) /* row m of R belongs to element n-1-m */
            warp->corner[m][k] = m < k ? columns[n - 1 - m] : (m == k ? target : 0.0);
    }
    return true;
}

/* A <- H A H of the lower triangle, H = I - 2 v v^T. */
static void reflect_matrix(sup_dense *matrix, const double *v, double *product)
{
    int32_t n = matrix->size;
    for (int32_t i = 0; i < n; i++)
        product[i] = 0.0;
    for (int32_t c = 0; c < n; c++) {
        const double *column = sup_dense_column(matrix, c);
        double sum = column[0] * v[c], vc = v[c];
        for (int32_t r = 1; r < n - c; r++) {
            sum += column[r] * v[c + r];
            product[c + r] += column[r] * vc;
        }
        product[c] += sum;
    }
    double dot = 0.0;
    for (int32_t i = 0; i < n; i++)
        dot += v[i] * product[i];
    for (int32_t i = 0; i < n; i++)
        product[i] = 2.0 * (product[i] - dot * v[i]);
    for (int32_t c = 0; c < n; c++) {
        double *column = sup_dense_column(matrix, c), vc = v[c], uc = product[c];
        for (int32_t r = 0; r < n - c; r++)
            column[r] -= v[c + r] * uc + product[c + r] * vc;
    }
}

static sup_result build_factor(sup_warp *warp, sup_error *error)
{
    int32_t n = warp->count;
    sup_result result = sup_dense_create(&warp->context, n, &warp->factor, error);
    if (result != SUP_OK) return result;
    for (int32_t c = 0; c < n; c++) {
        double *column = sup_dense_column(&warp->factor, c);
        const double *a = warp->centres + 4 * (size_t)c;
        for (int32_t r = 0; r < n - c; r++) {
            const double *b = a + 4 * (size_t)r;
            double dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2], square = dx * dx + dy * dy + dz * dz;
            column[r] = square * sqrt(square);
        }
    }
    for (int32_t k = 0; k < LINEAR; k++)
        reflect_matrix(&warp->factor, warp->reflectors + (size_t)k * (size_t)n, warp->scratch);
    result = sup_dense_factorise(&warp->factor, n - LINEAR, error);
    if (result == SUP_ERROR_NUMERIC)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.warp.double", "",
                        "Two of the warp's %d centres coincide: use each position once.", (int)n);
    return result;
}

static sup_result flat(sup_error *error)
{
    return sup_fail(
        error, SUP_ERROR_DATA, "anatomy.warp.flat", "",
        "A warp needs at least four centres that are not in one plane: check that the template's layers are not flat.");
}

static void normalise_centres(sup_warp *warp, const double *centres)
{
    int32_t n = warp->count;
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0.0;
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            lower[k] = fmin(lower[k], centres[3 * (size_t)i + (size_t)k]);
            upper[k] = fmax(upper[k], centres[3 * (size_t)i + (size_t)k]);
        }
    for (int k = 0; k < 3; k++) {
        warp->middle[k] = 0.5 * (lower[k] + upper[k]);
        size = fmax(size, upper[k] - lower[k]);
    }
    warp->scale = size > 0.0 ? 2.0 / size : 1.0;
    for (int32_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++)
            warp->centres[4 * (size_t)i + k] = (centres[3 * (size_t)i + k] - warp->middle[k]) * warp->scale;
}

sup_result sup_warp_create(const sup_context *context, int32_t count, const double *centres, sup_warp **warp,
                           sup_error *error)
{
    if (count < LINEAR) return flat(error);
    for (size_t i = 0; i < 3 * (size_t)count; i++)
        if (!isfinite(centres[i]))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.warp.finite", "", "A centre of the warp is not finite.");
    sup_context resolved = sup_context_resolve(context);
    sup_warp *made = sup_alloc_zero(&resolved.allocator, sizeof *made);
    if (made == NULL) return sup_fail_memory(error, "a warp");
    made->context = resolved;
    made->arena = sup_arena_create(&resolved.allocator);
    made->count = count;
    made->centres = sup_arena_alloc(&made->arena, 4 * (size_t)count, sizeof(double));
    made->weights = sup_arena_alloc(&made->arena, 4 * (size_t)count, sizeof(double));
    made->reflectors = sup_arena_alloc(&made->arena, LINEAR * (size_t)count, sizeof(double));
    made->scratch = sup_arena_alloc(&made->arena, 3 * (size_t)count, sizeof(double));
    sup_result result = SUP_OK;
    if (made->centres == NULL || made->weights == NULL || made->reflectors == NULL || made->scratch == NULL)
        result = sup_fail_memory(error, "a warp");
    if (result == SUP_OK) {
        normalise_centres(made, centres);
        made->sum = sup_warp_sum_avx512() != NULL ? sup_warp_sum_avx512()
                                                  : (sup_warp_sum_avx2() != NULL ? sup_warp_sum_avx2() : sum_base);
        result = reflect_polynomial(made) ? build_factor(made, error) : flat(error);
    }
    if (result != SUP_OK)
        sup_warp_destroy(made);
    else
        *warp = made;
    return result;
}

void sup_warp_destroy(sup_warp *warp)
{
    if (warp == NULL) return;
    sup_allocator allocator = warp->context.allocator;
    sup_dense_free(&warp->factor);
    sup_arena_destroy(&warp->arena);
    sup_free(&allocator, warp, sizeof *warp);
}

/* x <- H x for three interleaved vectors. */
static void reflect_vectors(const double *v, int32_t n, double *x)
{
    double dot[3] = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < 3; k++)
            dot[k] += v[i] * x[3 * i + k];
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < 3; k++)
            x[3 * i + k] -= 2.0 * dot[k] * v[i];
}

sup_result sup_warp_set(sup_warp *warp, const double *displacements, sup_error *error)
{
    int32_t n = warp->count, m = n - LINEAR;
    double *x = warp->scratch;
    for (size_t i = 0; i < 3 * (size_t)n; i++) {
        if (!isfinite(displacements[i]))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.warp.finite", "",
                            "A displacement of the warp is not finite.");
        x[i] = displacements[i];
    }
    for (int32_t k = 0; k < LINEAR; k++)
        reflect_vectors(warp->reflectors + (size_t)k * (size_t)n, n, x);
    sup_dense_forward3(&warp->factor, m, x);
    /* R is upper triangular in its own order: back substitution from its last column */
    for (int32_t k = 0; k < LINEAR; k++)
        for (int32_t q = 0; q < 3; q++) {
            int32_t column = LINEAR - 1 - k;
            double sum = x[3 * (size_t)(n - 1 - column) + (size_t)q];
            for (int32_t j = column + 1; j < LINEAR; j++)
                sum -= warp->corner[column][j] * warp->linear[j][q];
            warp->linear[column][q] = sum / warp->corner[column][column];
        }
    sup_dense_backward3(&warp->factor, m, x);
    for (int32_t i = 3 * m; i < 3 * n; i++)
        x[i] = 0.0;
    for (int32_t k = LINEAR - 1; k >= 0; k--)
        reflect_vectors(warp->reflectors + (size_t)k * (size_t)n, n, x);
    for (int32_t i = 0; i < n; i++)
        for (int32_t q = 0; q < 3; q++)
            warp->weights[4 * i + q] = x[3 * i + q];
    return SUP_OK;
}

typedef struct apply_work {
    const sup_warp *warp;
    int32_t count;
    double *points;
} apply_work;

static void apply_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const apply_work *work = user;
    const sup_warp *warp = work->warp;
    SUP_UNUSED(worker);
    for (int32_t block = begin; block < end; block++) {
        double at[24], sums[24];
        int32_t first = 8 * block, filled = work->count - first < 8 ? work->count - first : 8;
        for (int32_t l = 0; l < 8; l++)
            for (int32_t k = 0; k < 3; k++) {
                const double *p = work->points + 3 * (size_t)(first + (l < filled ? l : 0));
                at[8 * k + l] = (p[k] - warp->middle[k]) * warp->scale;
            }
        for (int32_t i = 0; i < 24; i++) {
            int32_t k = i / 8, l = i % 8;
            sums[i] = warp->linear[0][k] + warp->linear[1][k] * at[l] + warp->linear[2][k] * at[8 + l] +
                      warp->linear[3][k] * at[16 + l];
        }
        warp->sum(warp->count, warp->centres, warp->weights, at, sums);
        for (int32_t l = 0; l < filled; l++)
            for (int32_t k = 0; k < 3; k++)
                work->points[3 * (size_t)(first + l) + (size_t)k] += sums[8 * k + l];
    }
}

void sup_warp_apply(const sup_warp *warp, int32_t point_count, double *points)
{
    apply_work work = {warp, point_count, points};
    sup_parallel(&warp->context, (point_count + 7) / 8, 32, apply_range, &work);
}
