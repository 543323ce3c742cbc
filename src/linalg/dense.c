/* dense.c - dense Cholesky, right-looking: a panel is factorised, then all panels behind it are updated in
 * parallel. */
#include "linalg/dense.h"

#include "linalg/kernels.h"

#include <float.h>
#include <math.h>

static size_t panel_offset(int32_t size, int32_t panel)
{
    size_t p = (size_t)panel, n = (size_t)size;
    return SUP_DENSE_PANEL * (p * n - SUP_DENSE_PANEL * (p * (p - 1) / 2)); /* p = 0: the product is 0 all the same */
}

static int32_t panel_count(int32_t size)
{
    return (size + SUP_DENSE_PANEL - 1) / SUP_DENSE_PANEL;
}

sup_result sup_dense_create(const sup_context *context, int32_t size, sup_dense *matrix, sup_error *error)
{
    if (size < 1) return sup_fail(error, SUP_ERROR_ARGUMENT, "dense.size", "", "A dense matrix needs a size above 0.");
    sup_dense made = {sup_context_resolve(context), size, NULL, panel_offset(size, panel_count(size))};
    made.values = sup_alloc_zero(&made.context.allocator, sup_size_multiply(made.value_count, sizeof(double)));
    if (made.values == NULL) return sup_fail_memory(error, "a dense matrix");
    *matrix = made;
    return SUP_OK;
}

void sup_dense_free(sup_dense *matrix)
{
    if (matrix->values != NULL)
        sup_free(&matrix->context.allocator, matrix->values, matrix->value_count * sizeof(double));
    memset(matrix, 0, sizeof *matrix);
}

double *sup_dense_column(const sup_dense *matrix, int32_t column)
{
    int32_t panel = column / SUP_DENSE_PANEL, inside = column % SUP_DENSE_PANEL;
    size_t rows = (size_t)(matrix->size - panel * SUP_DENSE_PANEL);
    return matrix->values + panel_offset(matrix->size, panel) + (size_t)inside * rows + (size_t)inside;
}

typedef struct update_work {
    const sup_dense *matrix;
    const sup_linalg_kernels *kernels;
    int32_t panel, width; /* the panel that was factorised */
} update_work;

static void update_panels(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const update_work *work = user;
    int32_t size = work->matrix->size, first = work->panel * SUP_DENSE_PANEL, stride = size - first;
    const double *left = work->matrix->values + panel_offset(size, work->panel);
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t panel = work->panel + 1 + i, row = panel * SUP_DENSE_PANEL, rows = size - row;
        int32_t columns = rows < SUP_DENSE_PANEL ? rows : SUP_DENSE_PANEL;
        const double *a = left + (row - first);
        work->kernels->subtract_product(work->matrix->values + panel_offset(size, panel), rows, a, stride, a, stride,
                                        rows, columns, work->width);
    }
}

sup_result sup_dense_factorise(sup_dense *matrix, int32_t columns, sup_error *error)
{
    const sup_linalg_kernels *kernels = sup_linalg_kernels_best();
    for (int32_t panel = 0; panel * SUP_DENSE_PANEL < columns; panel++) {
        int32_t first = panel * SUP_DENSE_PANEL, rows = matrix->size - first;
        int32_t width = columns - first < SUP_DENSE_PANEL ? columns - first : SUP_DENSE_PANEL;
        double smallest[SUP_DENSE_PANEL];
        for (int32_t c = 0; c < width; c++)
            smallest[c] = DBL_EPSILON * fabs(*sup_dense_column(matrix, first + c));
        double *values = matrix->values + panel_offset(matrix->size, panel);
        int32_t failed = kernels->factor_panel(values, rows, width, smallest);
        if (failed >= 0)
            return sup_fail(error, SUP_ERROR_NUMERIC, "dense.indefinite", "",
                            "A dense matrix is not positive definite at row %d.", (int)(first + failed));
        update_work work = {matrix, kernels, panel, width};
        sup_parallel(&matrix->context, panel_count(matrix->size) - panel - 1, 1, update_panels, &work);
    }
    return SUP_OK;
}

void sup_dense_forward3(const sup_dense *matrix, int32_t columns, double *x)
{
    for (int32_t c = 0; c < columns; c++) {
        const double *l = sup_dense_column(matrix, c);
        double *y = x + 3 * (size_t)c;
        double y0 = y[0] / l[0], y1 = y[1] / l[0], y2 = y[2] / l[0];
        y[0] = y0;
        y[1] = y1;
        y[2] = y2;
        for (int32_t r = 1; r < matrix->size - c; r++) {
            y[3 * r] -= l[r] * y0;
            y[3 * r + 1] -= l[r] * y1;
            y[3 * r + 2] -= l[r] * y2;
        }
    }
}

void sup_dense_backward3(const sup_dense *matrix, int32_t columns, double *x)
{
    for (int32_t c = columns - 1; c >= 0; c--) {
        const double *l = sup_dense_column(matrix, c);
        double *y = x + 3 * (size_t)c;
        double s0 = y[0], s1 = y[1], s2 = y[2];
        for (int32_t r = 1; r < columns - c; r++) {
            s0 -= l[r] * y[3 * r];
            s1 -= l[r] * y[3 * r + 1];
            s2 -= l[r] * y[3 * r + 2];
        }
        y[0] = s0 / l[0];
        y[1] = s1 / l[0];
        y[2] = s2 / l[0];
    }
}
