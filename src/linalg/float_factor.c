/* float_factor.c - a factor in float for the step: conversion from double, checks, solves. */
#include "linalg/float_factor.h"
#include "linalg/kernels.h"

#include <math.h>

/* The int array: a head, order[size], panels[panel_count], rows[row_count]. */
enum { HEAD_MAGIC, HEAD_SIZE, HEAD_PANELS, HEAD_ROWS, HEAD_VALUES_LOW, HEAD_VALUES_HIGH, HEAD_COUNT = 16 };
enum { MAGIC = 0x31464653, PANEL_INTS = sizeof(sup_float_panel) / sizeof(int32_t) };

static int32_t panels_of(int32_t width)
{
    return (width + SUP_PANEL_WIDTH - 1) / SUP_PANEL_WIDTH;
}

static int64_t panel_values(int64_t width, int64_t below)
{
    return width * (width + 1) / 2 + width * below;
}

typedef struct cut {
    int32_t first, width, below; /* first: column within the supernode */
} cut;

/* Panel k of a supernode: widths as equal as possible, so that none is left with a single column. */
static cut cut_supernode(int32_t width, int32_t below, int32_t k)
{
    int32_t count = panels_of(width);
    int32_t begin = (int32_t)((int64_t)width * k / count), end = (int32_t)((int64_t)width * (k + 1) / count);
    cut c = {begin, end - begin, width - end + below};
    return c;
}

static void count_sizes(const sup_cholesky *c, sup_float_factor *f)
{
    memset(f, 0, sizeof(*f));
    f->size = c->size;
    for (int32_t s = 0; s < c->supernode_count; s++) {
        int32_t width = c->column_first[s + 1] - c->column_first[s];
        int32_t below = (int32_t)(c->row_first[s + 1] - c->row_first[s]);
        f->panel_count += panels_of(width);
        for (int32_t k = 0; k < panels_of(width); k++) {
            cut p = cut_supernode(width, below, k);
            f->value_count += panel_values(p.width, p.below);
            if (k == 0) f->row_count += p.below; /* the later panels use the end of the same list */
        }
    }
}

void sup_float_factor_sizes(const sup_cholesky *cholesky, int64_t *int_count, int64_t *float_count)
{
    sup_float_factor f;
    count_sizes(cholesky, &f);
    *int_count = HEAD_COUNT + (int64_t)f.size + (int64_t)PANEL_INTS * f.panel_count + f.row_count;
    *float_count = f.value_count;
}

/* Inverse of a lower triangular block, packed by rows. */
static void invert_block(const double *l, int64_t stride, int32_t width, float *to)
{
    double inverse[SUP_PANEL_WIDTH][SUP_PANEL_WIDTH];
    for (int32_t j = 0; j < width; j++) {
        inverse[j][j] = 1.0 / l[j + j * stride];
        for (int32_t i = j + 1; i < width; i++) {
            double sum = 0.0;
            for (int32_t k = j; k < i; k++)
                sum += l[i + k * stride] * inverse[k][j];
            inverse[i][j] = -sum / l[i + i * stride];
        }
    }
    for (int32_t i = 0; i < width; i++)
        for (int32_t j = 0; j <= i; j++)
            *to++ = (float)inverse[i][j];
}

static void write_panel(const double *l, int64_t stride, const cut *p, float *to)
{
    const double *block = l + p->first + p->first * stride;
    invert_block(block, stride, p->width, to);
    to += p->width * (p->width + 1) / 2;
    for (int32_t r = 0; r < p->below; r++)
        for (int32_t c = 0; c < p->width; c++)
            *to++ = (float)block[p->width + r + c * stride];
}

/* Rows under the first panel of a supernode: its other columns, then its rows below. */
static int32_t write_rows(const sup_cholesky *c, int32_t s, int32_t *to)
{
    int32_t width = c->column_first[s + 1] - c->column_first[s];
    int32_t below = (int32_t)(c->row_first[s + 1] - c->row_first[s]);
    cut p = cut_supernode(width, below, 0);
    int32_t count = 0;
    for (int32_t k = p.width; k < width; k++)
        to[count++] = c->column_first[s] + k;
    for (int32_t k = 0; k < below; k++)
        to[count++] = c->rows[c->row_first[s] + k];
    return count;
}

static bool all_finite(const float *values, int64_t count)
{
    bool finite = true;
    for (int64_t k = 0; k < count; k++)
        finite = finite && isfinite(values[k]);
    return finite;
}

sup_result sup_float_factor_write(const sup_cholesky *cholesky, int32_t *ints, float *floats, sup_error *error)
{
    const sup_cholesky *c = cholesky;
    if (!c->factorised)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.float.factor", "", "The matrix has no factor yet.");
    sup_float_factor f;
    count_sizes(c, &f);
    memset(ints, 0, HEAD_COUNT * sizeof(int32_t));
    ints[HEAD_MAGIC] = MAGIC;
    ints[HEAD_SIZE] = f.size;
    ints[HEAD_PANELS] = f.panel_count;
    ints[HEAD_ROWS] = f.row_count;
    ints[HEAD_VALUES_LOW] = (int32_t)(f.value_count & 0x7fffffff);
    ints[HEAD_VALUES_HIGH] = (int32_t)(f.value_count >> 31);
    if (f.size > 0) memcpy(ints + HEAD_COUNT, c->order, (size_t)f.size * sizeof(int32_t));
    sup_float_panel *panel = (sup_float_panel *)(void *)(ints + HEAD_COUNT + f.size);
    int32_t *rows = (int32_t *)(void *)(panel + f.panel_count);
    float *values = floats;
    int32_t row = 0;
    for (int32_t s = 0; s < c->supernode_count; s++) {
        int32_t width = c->column_first[s + 1] - c->column_first[s];
        int32_t below = (int32_t)(c->row_first[s + 1] - c->row_first[s]);
        int32_t end = row + write_rows(c, s, rows + row);
        for (int32_t k = 0; k < panels_of(width); k++) {
            cut p = cut_supernode(width, below, k);
            *panel++ = (sup_float_panel){c->column_first[s] + p.first, p.width, p.below, end - p.below};
            write_panel(c->values + c->value_first[s], width + below, &p, values);
            values += panel_values(p.width, p.below);
        }
        row = end;
    }
    if (!all_finite(floats, f.value_count))
        return sup_fail(error, SUP_ERROR_NUMERIC, "linalg.float.range", "",
                        "The factor does not fit into float: scale the system.");
    return SUP_OK;
}

sup_float_factor sup_float_factor_view(const int32_t *ints, const float *floats)
{
    sup_float_factor f = {.size = ints[HEAD_SIZE],
                          .panel_count = ints[HEAD_PANELS],
                          .row_count = ints[HEAD_ROWS],
                          .value_count = ints[HEAD_VALUES_LOW] | (int64_t)ints[HEAD_VALUES_HIGH] << 31};
    f.order = ints + HEAD_COUNT;
    f.panels = (const sup_float_panel *)(const void *)(f.order + f.size);
    f.rows = (const int32_t *)(const void *)(f.panels + f.panel_count);
    f.values = floats;
    return f;
}

/* Panels cover the columns in order, and their rows lie below them. */
static bool panels_valid(const sup_float_factor *f)
{
    int64_t values = 0;
    int32_t column = 0;
    for (int32_t k = 0; k < f->panel_count; k++) {
        const sup_float_panel *p = &f->panels[k];
        if (p->first != column || p->width < 1 || p->width > SUP_PANEL_WIDTH || p->width > f->size - column)
            return false;
        if (p->below < 0 || p->rows < 0 || p->rows > f->row_count || p->below > f->row_count - p->rows) return false;
        column += p->width;
        for (int32_t r = 0; r < p->below; r++)
            if (f->rows[p->rows + r] < column || f->rows[p->rows + r] >= f->size) return false;
        values += panel_values(p->width, p->below);
    }
    return column == f->size && values == f->value_count;
}

bool sup_float_factor_check(const int32_t *ints, int64_t int_count, const float *floats, int64_t float_count)
{
    if (ints == NULL || int_count < HEAD_COUNT || ints[HEAD_MAGIC] != MAGIC) return false;
    if (ints[HEAD_SIZE] < 0 || ints[HEAD_PANELS] < 0 || ints[HEAD_ROWS] < 0 || ints[HEAD_VALUES_LOW] < 0 ||
        ints[HEAD_VALUES_HIGH] < 0)
        return false;
    int64_t expected =
        HEAD_COUNT + (int64_t)ints[HEAD_SIZE] + (int64_t)PANEL_INTS * ints[HEAD_PANELS] + ints[HEAD_ROWS];
    sup_float_factor f = {.value_count = ints[HEAD_VALUES_LOW] | (int64_t)ints[HEAD_VALUES_HIGH] << 31};
    if (expected != int_count || f.value_count != float_count || (float_count > 0 && floats == NULL)) return false;
    f = sup_float_factor_view(ints, floats);
    for (int32_t k = 0; k < f.size; k++)
        if (f.order[k] < 0 || f.order[k] >= f.size) return false;
    return panels_valid(&f) && all_finite(floats, float_count);
}

void sup_float_solve4_ordered(const sup_float_factor *factor, float *x)
{
    const sup_linalg_kernels *kernels = sup_linalg_kernels_best();
    kernels->float_forward4(factor, 0, factor->panel_count, factor->values, x);
    kernels->float_backward4(factor, 0, factor->panel_count, factor->values + factor->value_count, x);
}

void sup_float_solve4(const sup_float_factor *factor, const float *b, float *x, float *workspace)
{
    for (int32_t k = 0; k < factor->size; k++)
        memcpy(workspace + (int64_t)k * 4, b + (int64_t)factor->order[k] * 4, 4 * sizeof(float));
    sup_float_solve4_ordered(factor, workspace);
    for (int32_t k = 0; k < factor->size; k++)
        memcpy(x + (int64_t)factor->order[k] * 4, workspace + (int64_t)k * 4, 4 * sizeof(float));
}

#ifndef SUPPLE_SMALL /* one character at a time */
void sup_float_solve8_ordered(const sup_float_factor *factor, float *x)
{
    const sup_linalg_kernels *kernels = sup_linalg_kernels_best();
    kernels->float_forward8(factor, 0, factor->panel_count, factor->values, x);
    kernels->float_backward8(factor, 0, factor->panel_count, factor->values + factor->value_count, x);
}

void sup_float_solve8(const sup_float_factor *factor, const float *b, float *x, float *workspace)
{
    for (int32_t k = 0; k < factor->size; k++)
        memcpy(workspace + (int64_t)k * 8, b + (int64_t)factor->order[k] * 8, 8 * sizeof(float));
    sup_float_solve8_ordered(factor, workspace);
    for (int32_t k = 0; k < factor->size; k++)
        memcpy(x + (int64_t)factor->order[k] * 8, workspace + (int64_t)k * 8, 8 * sizeof(float));
}
#endif
