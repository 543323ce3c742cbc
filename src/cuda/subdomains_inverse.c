/* subdomains_inverse.c - values of the layout: entries of A, inverses of the subdomains and of the Schur complement.
 * See subdomains.h. */
#include "cuda/subdomains_build.h"

#include <math.h>

/* Entries of A on the graph's edges, in the graph's order, and the diagonal; by node. */
typedef struct entries {
    double *edge, *diagonal;
} entries;

static double *entry_at(const sup_subdomains_builder *b, const entries *a, int32_t v, int32_t w)
{
    if (v == w) return &a->diagonal[v];
    int32_t low = b->graph.first[v], high = b->graph.first[v + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (b->graph.neighbour[middle] < w)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->graph.first[v + 1] && b->graph.neighbour[low] == w ? &a->edge[low] : NULL;
}

/* Lower triangular block whose inverse is in `values`, packed by rows. */
static void unpack_diagonal(const float *values, int32_t width, double l[SUP_PANEL_WIDTH][SUP_PANEL_WIDTH])
{
    double inverse[SUP_PANEL_WIDTH][SUP_PANEL_WIDTH] = {{0}};
    for (int32_t i = 0; i < width; i++)
        for (int32_t j = 0; j <= i; j++)
            inverse[i][j] = (double)*values++;
    for (int32_t j = 0; j < width; j++) {
        for (int32_t i = 0; i < width; i++)
            l[i][j] = 0.0;
        l[j][j] = 1.0 / inverse[j][j];
        for (int32_t i = j + 1; i < width; i++) {
            double sum = 0.0;
            for (int32_t k = j; k < i; k++)
                sum += inverse[i][k] * l[k][j];
            l[i][j] = -sum / inverse[i][i];
        }
    }
}

/* A = L L^T, panel by panel; only entries of the graph. Fill-in entries are zero in A, up to rounding. */
static bool multiply_out(const sup_subdomains_builder *b, entries *a)
{
    const sup_float_factor *f = &b->system->factor;
    const float *values = f->values;
    int32_t max_below = 0;
    for (int32_t p = 0; p < f->panel_count; p++)
        max_below = f->panels[p].below > max_below ? f->panels[p].below : max_below;
    sup_arena arena = sup_arena_create(&b->context->allocator);
    double(*rows)[SUP_PANEL_WIDTH] = sup_arena_alloc(&arena, (size_t)max_below + SUP_PANEL_WIDTH, sizeof *rows);
    int32_t *node = sup_arena_alloc(&arena, (size_t)max_below + SUP_PANEL_WIDTH, sizeof(int32_t));
    bool ok = rows != NULL && node != NULL;
    for (int32_t p = 0; ok && p < f->panel_count; p++) {
        const sup_float_panel *panel = &f->panels[p];
        int32_t width = panel->width, count = width + panel->below;
        unpack_diagonal(values, width, rows);
        values += width * (width + 1) / 2;
        for (int32_t i = 0; i < count; i++) {
            node[i] = i < width ? panel->first + i : f->rows[panel->rows + i - width];
            for (int32_t c = 0; i >= width && c < width; c++)
                rows[i][c] = (double)*values++;
        }
        for (int32_t i = 0; i < count; i++)
            for (int32_t j = 0; j <= i; j++) {
                double *to = entry_at(b, a, node[i], node[j]), sum = 0.0;
                if (to == NULL) continue;
                for (int32_t c = 0; c < width; c++)
                    sum += rows[i][c] * rows[j][c];
                *to += sum;
                if (i != j) *entry_at(b, a, node[j], node[i]) += sum;
            }
    }
    sup_arena_destroy(&arena);
    return ok;
}

/* Inverse of a positive definite matrix in place (lower triangle given, n*n by rows): Cholesky, then L^-T L^-1. */
static bool invert(double *m, int32_t n, double *work)
{
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++) {
            double sum = m[i * n + j];
            for (int32_t k = 0; k < j; k++)
                sum -= m[i * n + k] * m[j * n + k];
            if (i == j && !(sum > 0.0)) return false;
            m[i * n + j] = i == j ? sqrt(sum) : sum / m[j * n + j];
        }
    for (int32_t j = 0; j < n; j++) { /* L^-1 by columns, stored as rows of `work`: row j from entry j on */
        for (int32_t i = 0; i < n; i++)
            work[j * n + i] = 0.0;
        for (int32_t i = j; i < n; i++) {
            double sum = i == j ? 1.0 : 0.0;
            for (int32_t k = j; k < i; k++)
                sum -= m[i * n + k] * work[j * n + k];
            work[j * n + i] = sum / m[i * n + i];
        }
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int32_t k = i; k < n; k++)
                sum += work[i * n + k] * work[j * n + k];
            m[i * n + j] = m[j * n + i] = sum;
        }
    return true;
}

/* A_p^-1 and below it A_tp A_p^-1, by columns: each half of a solve is then one product. */
static void write_solve(const sup_subdomains *k, int32_t p, const double *inverse)
{
    const sup_subdomain *subdomain = &k->subdomains[p];
    int32_t n = subdomain->count;
    float *to = k->solve + (int64_t)p * k->limit * k->solve_stride;
    for (int32_t j = 0; j < n; j++, to += k->solve_stride) {
        for (int32_t i = 0; i < n; i++)
            to[i] = (float)inverse[i * n + j];
        for (int32_t s = 0; s < subdomain->slot_count; s++) {
            double sum = 0.0;
            for (int32_t e = k->column_first[subdomain->slot_first + s];
                 e < k->column_first[subdomain->slot_first + s + 1]; e++)
                sum += (double)k->column_value[e] * inverse[k->column_row[e] * n + j];
            to[n + s] = (float)sum;
        }
    }
}

static bool invert_subdomain(const sup_subdomains_builder *b, const entries *a, int32_t p, double *matrix, double *work)
{
    const sup_subdomain *subdomain = &b->layout->subdomains[p];
    int32_t n = subdomain->count;
    float *to = b->layout->inverse + (int64_t)p * b->layout->limit * b->layout->limit;
    memset(matrix, 0, (size_t)n * (size_t)n * sizeof(double));
    for (int32_t i = 0; i < n; i++) {
        int32_t v = b->node[subdomain->first + i];
        matrix[i * n + i] = a->diagonal[v];
        for (int32_t e = b->graph.first[v]; e < b->graph.first[v + 1]; e++) {
            int32_t j = b->layout->number[b->graph.neighbour[e]] - subdomain->first;
            if (j >= 0 && j < n) matrix[i * n + j] = a->edge[e];
        }
    }
    if (!invert(matrix, n, work)) return false;
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < n; i++)
            to[j * b->layout->limit + i] = (float)matrix[i * n + j];
    if (b->layout->solve != NULL) write_solve(b->layout, p, matrix);
    return true;
}

typedef struct inverse_work {
    const sup_subdomains_builder *b;
    const entries *a;
    unsigned char *failed; /* [subdomain_count] */
} inverse_work;

static void invert_subdomains(void *data, int32_t begin, int32_t end, int32_t worker)
{
    inverse_work *work = data;
    SUP_UNUSED(worker);
    size_t square = (size_t)SUP_SUBDOMAIN_LIMIT * SUP_SUBDOMAIN_LIMIT;
    double *memory = sup_alloc(&work->b->context->allocator, 2 * square * sizeof(double));
    for (int32_t p = begin; p < end; p++)
        work->failed[p] = memory == NULL || !invert_subdomain(work->b, work->a, p, memory, memory + square);
    if (memory != NULL) sup_free(&work->b->context->allocator, memory, 2 * square * sizeof(double));
}

/* S^-1 is the block of A^-1 of the separator nodes: eight columns per solve. */
static void invert_schur(void *data, int32_t begin, int32_t end, int32_t worker)
{
    inverse_work *work = data;
    sup_subdomains *k = work->b->layout;
    size_t bytes = (size_t)k->unknown_count * 8 * sizeof(float);
    float *x = sup_alloc(&work->b->context->allocator, bytes);
    SUP_UNUSED(worker);
    for (int32_t first = begin * 8; first < end * 8 && first < k->separator_count; first += 8) {
        work->failed[k->subdomain_count] |= x == NULL;
        if (x == NULL) return;
        memset(x, 0, bytes);
        int32_t count = k->separator_count - first < 8 ? k->separator_count - first : 8;
        for (int32_t c = 0; c < count; c++)
            x[(int64_t)work->b->node[k->interior_count + first + c] * 8 + c] = 1.0f;
        sup_float_solve8_ordered(&work->b->system->factor, x);
        for (int32_t c = 0; c < count; c++)
            for (int32_t i = 0; i < k->separator_count; i++)
                k->schur_inverse[(int64_t)(first + c) * k->separator_stride + i] =
                    x[(int64_t)work->b->node[k->interior_count + i] * 8 + c];
    }
    if (x != NULL) sup_free(&work->b->context->allocator, x, bytes);
}

/* Slot within a subdomain of a separator node. */
static int32_t slot_of(const sup_subdomains *k, const sup_subdomain *subdomain, int32_t separator)
{
    for (int32_t i = 0; i < subdomain->slot_count; i++)
        if (k->slot_node[subdomain->slot_first + i] == separator) return i;
    return -1;
}

static bool count_couplings(sup_subdomains_builder *b)
{
    sup_subdomains *k = b->layout;
    k->row_first = sup_arena_alloc(&k->arena, (size_t)k->interior_count + 1, sizeof(int32_t));
    k->column_first = sup_arena_alloc(&k->arena, (size_t)k->slot_count + 2, sizeof(int32_t));
    if (k->row_first == NULL || k->column_first == NULL) return false;
    for (int32_t i = 0; i < k->interior_count; i++) {
        int32_t v = b->node[i];
        for (int32_t e = b->graph.first[v]; e < b->graph.first[v + 1]; e++)
            k->coupling_count += k->number[b->graph.neighbour[e]] >= k->interior_count;
        k->row_first[i + 1] = k->coupling_count;
    }
    size_t count = (size_t)k->coupling_count + 1;
    k->row_slot = sup_arena_alloc(&k->arena, count, sizeof(uint16_t));
    k->row_value = sup_arena_alloc(&k->arena, count, sizeof(float));
    k->column_row = sup_arena_alloc(&k->arena, count, sizeof(uint16_t));
    k->column_value = sup_arena_alloc(&k->arena, count, sizeof(float));
    return k->row_slot != NULL && k->row_value != NULL && k->column_row != NULL && k->column_value != NULL;
}

static bool build_couplings(sup_subdomains_builder *b, const entries *a)
{
    sup_subdomains *k = b->layout;
    if (!count_couplings(b)) return false;
    for (int32_t i = 0, to = 0; i < k->interior_count; i++) {
        const sup_subdomain *subdomain = &k->subdomains[b->owner[i]];
        int32_t v = b->node[i];
        for (int32_t e = b->graph.first[v]; e < b->graph.first[v + 1]; e++) {
            int32_t number = k->number[b->graph.neighbour[e]];
            if (number < k->interior_count) continue;
            int32_t slot = slot_of(k, subdomain, number - k->interior_count);
            k->row_slot[to] = (uint16_t)slot;
            k->row_value[to++] = (float)a->edge[e];
            k->column_first[subdomain->slot_first + slot + 2]++;
        }
    }
    for (int32_t s = 0; s < k->slot_count; s++)
        k->column_first[s + 2] += k->column_first[s + 1];
    for (int32_t i = 0; i < k->interior_count; i++) {
        const sup_subdomain *subdomain = &k->subdomains[b->owner[i]];
        for (int32_t e = k->row_first[i]; e < k->row_first[i + 1]; e++) {
            int32_t to = k->column_first[subdomain->slot_first + k->row_slot[e] + 1]++;
            k->column_row[to] = (uint16_t)(i - subdomain->first);
            k->column_value[to] = k->row_value[e];
        }
    }
    return true;
}

sup_result sup_subdomains_build_inverses(sup_subdomains_builder *b, sup_error *error)
{
    sup_subdomains *k = b->layout;
    size_t square = (size_t)k->limit * (size_t)k->limit;
    entries a = {sup_arena_alloc(&b->arena, (size_t)b->graph.first[k->unknown_count] + 1, sizeof(double)),
                 sup_arena_alloc(&b->arena, (size_t)k->unknown_count, sizeof(double))};
    inverse_work work = {b, &a, sup_arena_alloc(&b->arena, (size_t)k->subdomain_count + 1, 1)};
    k->inverse = sup_arena_alloc(&k->arena, (size_t)k->subdomain_count * square + 1, sizeof(float));
    k->schur_inverse =
        sup_arena_alloc(&k->arena, (size_t)k->separator_count * (size_t)k->separator_stride + 1, sizeof(float));
    k->solve_stride =
        (k->limit + k->max_slots + 27) / 32 * 32 + 4; /* eight rows of four floats are in 32 different banks */
    if (k->limit == SUP_SUBDOMAIN_LIMIT_SINGLE) {
        k->solve = sup_arena_alloc(&k->arena, (size_t)k->subdomain_count * (size_t)k->limit * (size_t)k->solve_stride,
                                   sizeof(float));
        if (k->solve == NULL) return sup_fail_memory(error, "the system's inverses");
    }
    if (!a.edge || !a.diagonal || !work.failed || !k->inverse || !k->schur_inverse || !multiply_out(b, &a) ||
        !build_couplings(b, &a))
        return sup_fail_memory(error, "the system's inverses");
    sup_parallel(b->context, k->subdomain_count, 1, invert_subdomains, &work);
    sup_parallel(b->context, (k->separator_count + 7) / 8, 8, invert_schur, &work);
    for (int32_t p = 0; p <= k->subdomain_count; p++)
        if (work.failed[p])
            return sup_fail(
                error, SUP_ERROR_NUMERIC, "cuda.inverse", "",
                "A subdomain of the system cannot be inverted, or memory ran out: bind the character again.");
    return SUP_OK;
}

/* --- The same solve on the CPU --- */

static void multiply_inverse(const float *inverse, int32_t stride, int32_t n, const float *x, float *y)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t c = 0; c < 4; c++) {
            float sum = 0.0f;
            for (int32_t j = 0; j < n; j++)
                sum += inverse[j * stride + i] * x[4 * j + c];
            y[4 * i + c] = sum;
        }
}

void sup_subdomains_solve(const sup_subdomains *k, float *x, float *scratch)
{
    float *slot = scratch + (int64_t)k->unknown_count * 4, *separator = x + (int64_t)k->interior_count * 4;
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        const sup_subdomain *subdomain = &k->subdomains[p];
        const float *inverse = k->inverse + (int64_t)p * k->limit * k->limit;
        float *y = scratch + (int64_t)subdomain->first * 4;
        multiply_inverse(inverse, k->limit, subdomain->count, x + (int64_t)subdomain->first * 4, y);
        for (int32_t s = subdomain->slot_first; s < subdomain->slot_first + subdomain->slot_count; s++)
            for (int32_t c = 0; c < 4; c++) {
                slot[4 * s + c] = 0.0f;
                for (int32_t e = k->column_first[s]; e < k->column_first[s + 1]; e++)
                    slot[4 * s + c] += k->column_value[e] * y[4 * k->column_row[e] + c];
            }
    }
    float *rhs = scratch + (int64_t)k->interior_count * 4;
    for (int32_t t = 0; t < k->separator_count; t++)
        for (int32_t c = 0; c < 4; c++) {
            rhs[4 * t + c] = separator[4 * t + c];
            for (int32_t e = k->separator_slot_first[t]; e < k->separator_slot_first[t + 1]; e++)
                rhs[4 * t + c] -= slot[4 * k->separator_slot[e] + c];
        }
    for (int32_t t = 0; t < k->separator_count; t++)
        for (int32_t c = 0; c < 4; c++) {
            separator[4 * t + c] = 0.0f;
            for (int32_t j = 0; j < k->separator_count; j++)
                separator[4 * t + c] += k->schur_inverse[(int64_t)j * k->separator_stride + t] * rhs[4 * j + c];
        }
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        const sup_subdomain *subdomain = &k->subdomains[p];
        float pull[4 * SUP_SUBDOMAIN_LIMIT] = {0}, back[4 * SUP_SUBDOMAIN_LIMIT] = {0};
        for (int32_t i = 0; i < subdomain->count; i++)
            for (int32_t c = 0; c < 4; c++) {
                pull[4 * i + c] = 0.0f;
                for (int32_t e = k->row_first[subdomain->first + i]; e < k->row_first[subdomain->first + i + 1]; e++)
                    pull[4 * i + c] +=
                        k->row_value[e] * separator[4 * k->slot_node[subdomain->slot_first + k->row_slot[e]] + c];
            }
        multiply_inverse(k->inverse + (int64_t)p * k->limit * k->limit, k->limit, subdomain->count, pull, back);
        for (int32_t i = 0; i < 4 * subdomain->count; i++)
            x[4 * (int64_t)subdomain->first + i] = scratch[4 * (int64_t)subdomain->first + i] - back[i];
    }
}
