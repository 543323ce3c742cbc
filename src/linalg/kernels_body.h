/* kernels_body.h - included by kernels.c and kernels_avx2.c, each of which defines before:
 *   vd, VD_LANES              a vector of doubles
 *   vd_load, vd_store, vd_load_partial, vd_store_partial(p, v, count), vd_set(s), vd_nmadd(a, b, c) = c - a b
 *   row4, row4_load, row4_store, row4_set, row4_madd(s, x, c) = c + s x, row4_nmadd(s, x, c) = c - s x; row8_* too
 *   KERNELS_NAME              name of the table that comes out
 * Functions with constant arguments are inlined and their small loops unrolled by the compiler. */

#define INLINE static inline __attribute__((always_inline))
#ifdef SUPPLE_SMALL
#define BIND_ONLY static __attribute__((minsize)) /* not used by a step */
#else
#define BIND_ONLY static
#endif

/* --- Factorisation, double --- */

/* `vectors` x `columns` tile of C = (C or 0) - A B^T; the last vector has `tail` rows. A, B, C column-major. */
INLINE void tile(int vectors, int columns, int tail, bool add, double *c, int64_t c_stride, const double *a,
                 int64_t a_stride, const double *b, int64_t b_stride, int32_t depth)
{
    vd sum[4][2];
    for (int j = 0; j < columns; j++)
        for (int v = 0; v < vectors; v++) {
            const double *from = c + j * c_stride + v * VD_LANES;
            bool partial = v == vectors - 1 && tail < VD_LANES;
            sum[j][v] = !add ? vd_set(0.0) : (partial ? vd_load_partial(from, tail) : vd_load(from));
        }
    for (int32_t k = 0; k < depth; k++, a += a_stride, b += b_stride) {
        vd left[2];
        for (int v = 0; v < vectors; v++) {
            bool partial = v == vectors - 1 && tail < VD_LANES;
            left[v] = partial ? vd_load_partial(a + v * VD_LANES, tail) : vd_load(a + v * VD_LANES);
        }
        for (int j = 0; j < columns; j++) {
            vd right = vd_set(b[j]);
            for (int v = 0; v < vectors; v++)
                sum[j][v] = vd_nmadd(left[v], right, sum[j][v]);
        }
    }
    for (int j = 0; j < columns; j++)
        for (int v = 0; v < vectors; v++) {
            double *to = c + j * c_stride + v * VD_LANES;
            if (v == vectors - 1 && tail < VD_LANES)
                vd_store_partial(to, sum[j][v], tail);
            else
                vd_store(to, sum[j][v]);
        }
}

/* C = (C or 0) - A B^T for up to four columns of C. */
INLINE void strip(int columns, bool add, double *c, int64_t c_stride, const double *a, int64_t a_stride,
                  const double *b, int64_t b_stride, int32_t rows, int32_t depth)
{
    int32_t i = 0;
    for (; i + 2 * VD_LANES <= rows; i += 2 * VD_LANES)
        tile(2, columns, VD_LANES, add, c + i, c_stride, a + i, a_stride, b, b_stride, depth);
    if (i + VD_LANES <= rows) {
        tile(1, columns, VD_LANES, add, c + i, c_stride, a + i, a_stride, b, b_stride, depth);
        i += VD_LANES;
    }
    if (i < rows) tile(1, columns, rows - i, add, c + i, c_stride, a + i, a_stride, b, b_stride, depth);
}

static void strip_any(int32_t columns, bool add, double *c, int64_t c_stride, const double *a, int64_t a_stride,
                      const double *b, int64_t b_stride, int32_t rows, int32_t depth)
{
#ifdef SUPPLE_SMALL
    if (columns == 4) strip(4, add, c, c_stride, a, a_stride, b, b_stride, rows, depth);
    for (int32_t j = 0; columns < 4 && j < columns; j++)
        strip(1, add, c + j * c_stride, c_stride, a, a_stride, b + j, b_stride, rows, depth);
#else
    switch (columns) {
    case 1:
        strip(1, add, c, c_stride, a, a_stride, b, b_stride, rows, depth);
        break;
    case 2:
        strip(2, add, c, c_stride, a, a_stride, b, b_stride, rows, depth);
        break;
    case 3:
        strip(3, add, c, c_stride, a, a_stride, b, b_stride, rows, depth);
        break;
    default:
        strip(4, add, c, c_stride, a, a_stride, b, b_stride, rows, depth);
        break;
    }
#endif
}

static void outer_product(double *u, const double *l, int32_t size, int32_t width, int32_t stride)
{
    for (int32_t j = 0; j < size; j += 4) {
        int32_t columns = size - j < 4 ? size - j : 4;
        strip_any(columns, false, u + j + (int64_t)j * size, size, l + j, stride, l + j, stride, size - j, width);
    }
}

static void subtract_product(double *c, int64_t c_stride, const double *a, int64_t a_stride, const double *b,
                             int64_t b_stride, int32_t rows, int32_t columns, int32_t depth)
{
    enum { BLOCK = 64 }; /* rows of A that stay in the first cache while the columns of C pass */
    for (int32_t i = 0; i < rows; i += BLOCK) {
        int32_t block_rows = rows - i < BLOCK ? rows - i : BLOCK;
        for (int32_t j = 0; j < columns; j += 4)
            strip_any(columns - j < 4 ? columns - j : 4, true, c + i + j * c_stride, c_stride, a + i, a_stride, b + j,
                      b_stride, block_rows, depth);
    }
}

BIND_ONLY int32_t factor_panel(double *panel, int32_t rows, int32_t width, const double *smallest)
{
    for (int32_t k = 0; k < width; k += 4) {
        int32_t columns = width - k < 4 ? width - k : 4;
        double *block = panel + k + (int64_t)k * rows;
        if (k > 0) strip_any(columns, true, block, rows, panel + k, rows, panel + k, rows, rows - k, k);
        for (int32_t j = 0; j < columns; j++) {
            double *restrict column = block + (int64_t)j * rows;
            double pivot = column[j];
            if (!(pivot > smallest[k + j]) || !isfinite(pivot)) return k + j;
            double root = sqrt(pivot), inverse = 1.0 / root;
            column[j] = root;
            for (int32_t i = j + 1; i < rows - k; i++)
                column[i] *= inverse;
            for (int32_t m = j + 1; m < columns; m++) {
                double *restrict right = block + (int64_t)m * rows;
                double factor = column[m];
                for (int32_t i = m; i < rows - k; i++)
                    right[i] -= column[i] * factor;
            }
        }
    }
    return -1;
}

/* --- Solve, double, column-major panels --- */

INLINE void forward_double(int lanes, const sup_cholesky *f, double *x)
{
    for (int32_t s = 0; s < f->supernode_count; s++) {
        int32_t width = f->column_first[s + 1] - f->column_first[s];
        int32_t below = (int32_t)(f->row_first[s + 1] - f->row_first[s]);
        int64_t stride = width + below;
        const double *l = f->values + f->value_first[s];
        const int32_t *rows = f->rows + f->row_first[s];
        double *z = x + (int64_t)f->column_first[s] * lanes;
        for (int32_t c = 0; c < width; c++) {
            double inverse = 1.0 / l[c + c * stride];
            for (int q = 0; q < lanes; q++)
                z[c * lanes + q] *= inverse;
            for (int32_t r = c + 1; r < width; r++)
                for (int q = 0; q < lanes; q++)
                    z[r * lanes + q] -= l[r + c * stride] * z[c * lanes + q];
        }
        for (int32_t r = 0; r < below; r++) {
            double sum[8];
            double *to = x + (int64_t)rows[r] * lanes;
            const double *row = l + width + r;
            for (int q = 0; q < lanes; q++)
                sum[q] = to[q];
            for (int32_t c = 0; c < width; c++)
                for (int q = 0; q < lanes; q++)
                    sum[q] -= row[c * stride] * z[c * lanes + q];
            for (int q = 0; q < lanes; q++)
                to[q] = sum[q];
        }
    }
}

INLINE void backward_double(int lanes, const sup_cholesky *f, double *x)
{
    for (int32_t s = f->supernode_count - 1; s >= 0; s--) {
        int32_t width = f->column_first[s + 1] - f->column_first[s];
        int32_t below = (int32_t)(f->row_first[s + 1] - f->row_first[s]);
        int64_t stride = width + below;
        const double *l = f->values + f->value_first[s];
        const int32_t *rows = f->rows + f->row_first[s];
        double *z = x + (int64_t)f->column_first[s] * lanes;
        for (int32_t c = width - 1; c >= 0; c--) {
            double sum[8];
            const double *column = l + c * stride;
            for (int q = 0; q < lanes; q++)
                sum[q] = z[c * lanes + q];
            for (int32_t r = 0; r < below; r++)
                for (int q = 0; q < lanes; q++)
                    sum[q] -= column[width + r] * x[(int64_t)rows[r] * lanes + q];
            for (int32_t r = c + 1; r < width; r++)
                for (int q = 0; q < lanes; q++)
                    sum[q] -= column[r] * z[r * lanes + q];
            double inverse = 1.0 / column[c];
            for (int q = 0; q < lanes; q++)
                z[c * lanes + q] = sum[q] * inverse;
        }
    }
}

BIND_ONLY void forward1(const sup_cholesky *cholesky, double *x)
{
    forward_double(1, cholesky, x);
}

BIND_ONLY void backward1(const sup_cholesky *cholesky, double *x)
{
    backward_double(1, cholesky, x);
}

BIND_ONLY void forward8(const sup_cholesky *cholesky, double *x)
{
    forward_double(8, cholesky, x);
}

BIND_ONLY void backward8(const sup_cholesky *cholesky, double *x)
{
    backward_double(8, cholesky, x);
}

/* --- Solve, float, panels of at most 8 columns with inverted diagonal blocks --- */

/* Prefetch: hardware prefetchers expect ascending addresses, and the backward solve reads descending ones. */
INLINE void prefetch_down(const float *values, int64_t size)
{
    for (int64_t k = 0; k < size; k += 16)
        __builtin_prefetch((const void *)((uintptr_t)values - (uintptr_t)(k * 4 + 4096)));
}

/* `chains` independent sums per column hide the latency of additions when there are few columns. */
#define BACKWARD_PANEL(LANES, ROW)                                                                         \
    INLINE void backward_panel_##ROW(int width, int chains, const sup_float_panel *p, const int32_t *rows, \
                                     const float *l, float *x)                                             \
    {                                                                                                      \
        ROW sum[4][SUP_PANEL_WIDTH], z[SUP_PANEL_WIDTH];                                                   \
        float *top = x + (int64_t)p->first * LANES;                                                        \
        for (int c = 0; c < width; c++)                                                                    \
            sum[0][c] = ROW##_load(top + c * LANES);                                                       \
        for (int k = 1; k < chains; k++)                                                                   \
            for (int c = 0; c < width; c++)                                                                \
                sum[k][c] = ROW##_set(0.0f);                                                               \
        const float *low = l + width * (width + 1) / 2;                                                    \
        int32_t r = 0;                                                                                     \
        for (; r + chains <= p->below; r += chains, low += chains * width)                                 \
            for (int k = 0; k < chains; k++) {                                                             \
                ROW from = ROW##_load(x + (int64_t)rows[r + k] * LANES);                                   \
                for (int c = 0; c < width; c++)                                                            \
                    sum[k][c] = ROW##_nmadd(low[k * width + c], from, sum[k][c]);                          \
            }                                                                                              \
        for (; r < p->below; r++, low += width) {                                                          \
            ROW from = ROW##_load(x + (int64_t)rows[r] * LANES);                                           \
            for (int c = 0; c < width; c++)                                                                \
                sum[0][c] = ROW##_nmadd(low[c], from, sum[0][c]);                                          \
        }                                                                                                  \
        for (int k = 1; k < chains; k++)                                                                   \
            for (int c = 0; c < width; c++)                                                                \
                sum[0][c] = ROW##_madd(1.0f, sum[k][c], sum[0][c]);                                        \
        for (int c = 0; c < width; c++)                                                                    \
            z[c] = ROW##_set(0.0f);                                                                        \
        for (int c = 0; c < width; c++)                                                                    \
            for (int k = 0; k <= c; k++)                                                                   \
                z[k] = ROW##_madd(*l++, sum[0][c], z[k]);                                                  \
        for (int c = 0; c < width; c++)                                                                    \
            ROW##_store(top + c * LANES, z[c]);                                                            \
    }

#define FLOAT_PANELS(LANES, ROW)                                                                                 \
    INLINE void forward_panel_##ROW(int width, const sup_float_panel *p, const int32_t *rows, const float *l,    \
                                    float *x)                                                                    \
    {                                                                                                            \
        ROW y[SUP_PANEL_WIDTH], z[SUP_PANEL_WIDTH];                                                              \
        float *top = x + (int64_t)p->first * LANES;                                                              \
        for (int c = 0; c < width; c++)                                                                          \
            y[c] = ROW##_load(top + c * LANES);                                                                  \
        for (int c = 0; c < width; c++) {                                                                        \
            z[c] = ROW##_set(0.0f);                                                                              \
            for (int k = 0; k <= c; k++)                                                                         \
                z[c] = ROW##_madd(*l++, y[k], z[c]);                                                             \
            ROW##_store(top + c * LANES, z[c]);                                                                  \
        }                                                                                                        \
        for (int32_t r = 0; r < p->below; r++, l += width) {                                                     \
            float *to = x + (int64_t)rows[r] * LANES;                                                            \
            ROW sum = ROW##_load(to);                                                                            \
            for (int c = 0; c < width; c++)                                                                      \
                sum = ROW##_nmadd(l[c], z[c], sum);                                                              \
            ROW##_store(to, sum);                                                                                \
        }                                                                                                        \
    }                                                                                                            \
    static void float_forward_##ROW(const sup_float_factor *f, int32_t begin, int32_t end, const float *values,  \
                                    float *x)                                                                    \
    {                                                                                                            \
        for (int32_t k = begin; k < end; k++) {                                                                  \
            const sup_float_panel *p = &f->panels[k];                                                            \
            const int32_t *rows = f->rows + p->rows;                                                             \
            switch (p->width) {                                                                                  \
            case 1:                                                                                              \
                forward_panel_##ROW(1, p, rows, values, x);                                                      \
                break;                                                                                           \
            case 2:                                                                                              \
                forward_panel_##ROW(2, p, rows, values, x);                                                      \
                break;                                                                                           \
            case 3:                                                                                              \
                forward_panel_##ROW(3, p, rows, values, x);                                                      \
                break;                                                                                           \
            case 4:                                                                                              \
                forward_panel_##ROW(4, p, rows, values, x);                                                      \
                break;                                                                                           \
            case 5:                                                                                              \
                forward_panel_##ROW(5, p, rows, values, x);                                                      \
                break;                                                                                           \
            case 6:                                                                                              \
                forward_panel_##ROW(6, p, rows, values, x);                                                      \
                break;                                                                                           \
            case 7:                                                                                              \
                forward_panel_##ROW(7, p, rows, values, x);                                                      \
                break;                                                                                           \
            default:                                                                                             \
                forward_panel_##ROW(8, p, rows, values, x);                                                      \
                break;                                                                                           \
            }                                                                                                    \
            values += p->width * (p->width + 1) / 2 + (int64_t)p->width * p->below;                              \
        }                                                                                                        \
    }                                                                                                            \
    static void float_backward_##ROW(const sup_float_factor *f, int32_t begin, int32_t end, const float *values, \
                                     float *x)                                                                   \
    {                                                                                                            \
        for (int32_t k = end - 1; k >= begin; k--) {                                                             \
            const sup_float_panel *p = &f->panels[k];                                                            \
            const int32_t *rows = f->rows + p->rows;                                                             \
            int64_t size = p->width * (p->width + 1) / 2 + (int64_t)p->width * p->below;                         \
            values -= size;                                                                                      \
            prefetch_down(values, size);                                                                         \
            switch (p->width) {                                                                                  \
            case 1:                                                                                              \
                backward_panel_##ROW(1, 4, p, rows, values, x);                                                  \
                break;                                                                                           \
            case 2:                                                                                              \
                backward_panel_##ROW(2, 4, p, rows, values, x);                                                  \
                break;                                                                                           \
            case 3:                                                                                              \
                backward_panel_##ROW(3, 2, p, rows, values, x);                                                  \
                break;                                                                                           \
            case 4:                                                                                              \
                backward_panel_##ROW(4, 2, p, rows, values, x);                                                  \
                break;                                                                                           \
            case 5:                                                                                              \
                backward_panel_##ROW(5, 1, p, rows, values, x);                                                  \
                break;                                                                                           \
            case 6:                                                                                              \
                backward_panel_##ROW(6, 1, p, rows, values, x);                                                  \
                break;                                                                                           \
            case 7:                                                                                              \
                backward_panel_##ROW(7, 1, p, rows, values, x);                                                  \
                break;                                                                                           \
            default:                                                                                             \
                backward_panel_##ROW(8, 1, p, rows, values, x);                                                  \
                break;                                                                                           \
            }                                                                                                    \
        }                                                                                                        \
    }

#ifndef OWN_BACKWARD_PANEL_ROW4
BACKWARD_PANEL(4, row4)
#endif
FLOAT_PANELS(4, row4)
#ifndef SUPPLE_SMALL
BACKWARD_PANEL(8, row8)
FLOAT_PANELS(8, row8)
#endif

static const sup_linalg_kernels KERNELS_NAME = {
    .factor_panel = factor_panel,
    .outer_product = outer_product,
    .forward1 = forward1,
    .backward1 = backward1,
    .forward8 = forward8,
    .backward8 = backward8,
    .float_forward4 = float_forward_row4,
    .float_backward4 = float_backward_row4,
#ifndef SUPPLE_SMALL
    .float_forward8 = float_forward_row8,
    .float_backward8 = float_backward_row8,
#endif
    .subtract_product = subtract_product,
};
