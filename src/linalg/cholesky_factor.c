/* cholesky_factor.c - numeric factorisation by fronts.
 *
 * I. S. Duff, J. K. Reid, "The multifrontal solution of indefinite sparse symmetric linear equations", ACM TOMS 9(3),
 * 1983 (key duff1983multifrontal), for the positive definite case and with supernodes: the columns of a supernode
 * and all rows below them form a dense front; the update of the rows below by its elimination is kept on a
 * stack until the parent collects it. Fronts are processed in postorder, so the children's updates are on top. */
#include "linalg/cholesky.h"
#include "linalg/kernels.h"

#include <float.h>
#include <math.h>

typedef struct front {
    int32_t first, width, below;
    const int32_t *rows; /* [below] */
    double *panel;       /* column-major, width + below rows */
    double *update;      /* column-major, below x below, lower triangle */
} front;

typedef struct factorisation {
    sup_cholesky *c;
    const sup_linalg_kernels *kernels;
    double *stack;     /* [stack_size] update matrices */
    double *smallest;  /* [size] least pivot that counts as positive, elimination order */
    int32_t *waiting;  /* [supernode_count] supernodes whose updates are on the stack */
    int64_t *update;   /* [supernode_count] where in the stack */
    int32_t *local;    /* [size] row of the current front */
    int32_t *relative; /* [front_size] row of the current front for each row of a child's update */
    int32_t waiting_count;
    int64_t top; /* doubles in use on the stack */
} factorisation;

static front front_of(const factorisation *f, int32_t s)
{
    const sup_cholesky *c = f->c;
    front r = {c->column_first[s],
               c->column_first[s + 1] - c->column_first[s],
               (int32_t)(c->row_first[s + 1] - c->row_first[s]),
               c->rows + c->row_first[s],
               c->values + c->value_first[s],
               f->stack + f->update[s]};
    return r;
}

static void number_rows(factorisation *f, const front *r)
{
    for (int32_t k = 0; k < r->width; k++)
        f->local[r->first + k] = k;
    for (int32_t k = 0; k < r->below; k++)
        f->local[r->rows[k]] = r->width + k;
}

/* Maps a child's rows to the front. Returns the number of them that are columns of the front's panel; they come
 * first. */
static int32_t relate_rows(factorisation *f, const front *child, int32_t width)
{
    int32_t inside = 0;
    for (int32_t k = 0; k < child->below; k++) {
        f->relative[k] = f->local[child->rows[k]];
        inside += f->relative[k] < width;
    }
    return inside;
}

static void add_column(double *to, const double *from, const int32_t *relative, int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++)
        to[relative[i]] += from[i];
}

/* Adds the child's update to the columns of this panel. */
static void collect_panel(factorisation *f, const front *r, const front *child)
{
    int32_t inside = relate_rows(f, child, r->width);
    int64_t stride = r->width + r->below;
    for (int32_t j = 0; j < inside; j++)
        add_column(r->panel + f->relative[j] * stride, child->update + (int64_t)j * child->below, f->relative, j,
                   child->below);
}

/* Adds the rest of the child's update to the update of this front. */
static void collect_update(factorisation *f, const front *r, const front *child)
{
    int32_t inside = relate_rows(f, child, r->width);
    for (int32_t j = inside; j < child->below; j++)
        f->relative[j] -= r->width;
    for (int32_t j = inside; j < child->below; j++)
        add_column(r->update + (int64_t)f->relative[j] * r->below, child->update + (int64_t)j * child->below,
                   f->relative, j, child->below);
}

/* -1, or the column that is not positive. */
static int32_t factor_front(factorisation *f, int32_t s)
{
    int32_t first_child = f->waiting_count;
    while (first_child > 0 && f->c->supernode_parent[f->waiting[first_child - 1]] == s)
        first_child--;
    f->update[s] = f->top;
    front r = front_of(f, s);
    number_rows(f, &r);
    for (int32_t k = first_child; k < f->waiting_count; k++) {
        front child = front_of(f, f->waiting[k]);
        collect_panel(f, &r, &child);
    }
    int32_t failed = f->kernels->factor_panel(r.panel, r.width + r.below, r.width, f->smallest + r.first);
    if (failed >= 0) return r.first + failed;
    f->kernels->outer_product(r.update, r.panel + r.width, r.below, r.width, r.width + r.below);
    for (int32_t k = first_child; k < f->waiting_count; k++) {
        front child = front_of(f, f->waiting[k]);
        collect_update(f, &r, &child);
    }
    if (first_child < f->waiting_count) { /* the memory of the children's updates is free: move down */
        f->top = f->update[f->waiting[first_child]];
        memmove(f->stack + f->top, r.update, (size_t)r.below * (size_t)r.below * sizeof(double));
        f->update[s] = f->top;
    }
    f->waiting_count = first_child;
    if (r.below > 0) {
        f->waiting[f->waiting_count++] = s;
        f->top += (int64_t)r.below * r.below;
    }
    return -1;
}

/* Zero panels with the entries of A in them. False at the first entry that is not finite. */
static bool load_values(sup_cholesky *c, const sup_csr *matrix, int32_t *bad_row)
{
    memset(c->values, 0, (size_t)c->value_first[c->supernode_count] * sizeof(double));
    for (int32_t i = 0; i < c->size; i++)
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1]; k++) {
            if (!isfinite(matrix->value[k])) {
                *bad_row = i;
                return false;
            }
            c->values[c->entry_target[k]] = matrix->value[k];
        }
    return true;
}

static sup_result run_factorisation(factorisation *f, const sup_csr *matrix, sup_error *error)
{
    sup_cholesky *c = f->c;
    int32_t row = 0;
    if (!load_values(c, matrix, &row))
        return sup_fail(error, SUP_ERROR_NUMERIC, "linalg.cholesky.finite", "",
                        "Row %d of the matrix holds a number that is not finite.", (int)row);
    /* What rounding alone can leave of a pivot that should be zero grows with the size. */
    double rounding = DBL_EPSILON * (c->size > 64 ? c->size : 64);
    for (int32_t k = 0; k < c->size; k++)
        f->smallest[k] = rounding * fabs(matrix->value[matrix->first[c->order[k] + 1] - 1]);
    for (int32_t s = 0; s < c->supernode_count; s++) {
        int32_t failed = factor_front(f, s);
        if (failed >= 0)
            return sup_fail(error, SUP_ERROR_NUMERIC, "linalg.cholesky.positive", "",
                            "The matrix is not positive definite at row %d of %d.", (int)c->order[failed],
                            (int)c->size);
    }
    c->factorised = true;
    return SUP_OK;
}

sup_result sup_cholesky_factorise(sup_cholesky *cholesky, const sup_csr *matrix, sup_error *error)
{
    if (cholesky == NULL || matrix == NULL || matrix->size != cholesky->size || matrix->first == NULL ||
        matrix->first[matrix->size] != cholesky->entry_count)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.cholesky.pattern", "",
                        "The matrix to factorise does not have the pattern that was analysed.");
    sup_cholesky *c = cholesky;
    c->factorised = false;
    const sup_allocator *allocator = &c->context.allocator;
    size_t value_bytes = (size_t)c->value_first[c->supernode_count] * sizeof(double);
    if (c->values == NULL) c->values = sup_alloc(allocator, value_bytes);
    size_t supernodes = (size_t)c->supernode_count, size = (size_t)c->size;
    size_t doubles = (size_t)c->stack_size + size;
    size_t bytes = doubles * sizeof(double) + supernodes * (sizeof(int64_t) + sizeof(int32_t)) +
                   (size + (size_t)c->front_size) * sizeof(int32_t);
    double *memory = sup_alloc(allocator, bytes);
    if (memory == NULL || c->values == NULL) {
        sup_free(allocator, memory, bytes);
        return sup_fail_memory(error, "a factor");
    }
    factorisation f = {.c = c, .kernels = sup_linalg_kernels_best(), .stack = memory};
    f.smallest = memory + c->stack_size;
    f.update = (int64_t *)(void *)(f.smallest + size);
    f.waiting = (int32_t *)(void *)(f.update + supernodes);
    f.local = f.waiting + supernodes;
    f.relative = f.local + size;
    sup_result result = run_factorisation(&f, matrix, error);
    sup_free(allocator, memory, bytes);
    return result;
}

sup_result sup_cholesky_create(const sup_context *context, const sup_csr *matrix, sup_cholesky **cholesky,
                               sup_error *error)
{
    sup_cholesky *c = NULL;
    sup_result result = sup_cholesky_analyse(context, matrix, NULL, &c, error);
    if (result != SUP_OK) return result;
    result = sup_cholesky_factorise(c, matrix, error);
    if (result != SUP_OK) {
        sup_cholesky_destroy(c);
        return result;
    }
    *cholesky = c;
    return SUP_OK;
}
