/* bench_linalg - ordering, factorisation and solves of mesh systems: cube-sphere, A = I + 10 L and I + 10 L^2 with L
 * the graph Laplacian of the triangles. Times are the best of several runs; `ratio` is a plain scalar solve of the
 * same factor, three right-hand sides one after the other, divided by the solve in question, in the same run. */
#include "linalg/cholesky.h"
#include "linalg/float_factor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Index of a point on the surface of a grid of (k+1)^3 points; `ids` caches those that have one. */
static int32_t surface_vertex(int32_t k, int32_t *ids, int32_t *count, int32_t x, int32_t y, int32_t z)
{
    int32_t *id = &ids[(x * (k + 1) + y) * (k + 1) + z];
    if (*id < 0) *id = (*count)++;
    return *id;
}

/* Edges of the triangulated surface, as pairs; each is found once per triangle side, in one direction. */
static int32_t cube_sphere_edges(int32_t k, int32_t (*edges)[2], int32_t *vertex_count)
{
    size_t points = (size_t)(k + 1) * (size_t)(k + 1) * (size_t)(k + 1);
    int32_t *ids = malloc(points * sizeof(int32_t));
    int32_t edge_count = 0, count = 0;
    if (ids == NULL) exit(1);
    for (size_t i = 0; i < points; i++)
        ids[i] = -1;
    for (int32_t face = 0; face < 6; face++)
        for (int32_t u = 0; u < k; u++)
            for (int32_t v = 0; v < k; v++) {
                int32_t corner[4];
                for (int32_t c = 0; c < 4; c++) {
                    int32_t at[3];
                    at[face % 3] = face < 3 ? 0 : k;
                    at[(face + 1) % 3] = u + (c == 1 || c == 2);
                    at[(face + 2) % 3] = v + (c >= 2);
                    corner[c] = surface_vertex(k, ids, &count, at[0], at[1], at[2]);
                }
                static const int32_t sides[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 2}, {2, 3}, {3, 0}};
                for (int32_t c = 0; c < 6; c++) {
                    int32_t a = corner[sides[c][0]], b = corner[sides[c][1]];
                    /* every edge has two triangles; half a weight from each */
                    edges[edge_count][0] = a;
                    edges[edge_count++][1] = b;
                }
            }
    free(ids);
    *vertex_count = count;
    return edge_count;
}

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "bench_linalg: %s\n", error->message);
    exit(1);
}

static sup_csr laplacian_system(int32_t n, int32_t edge_count, int32_t (*edges)[2], double identity, double scale)
{
    sup_triplet *t = malloc(((size_t)edge_count * 3 + (size_t)n) * sizeof(*t));
    int64_t count = 0;
    sup_error error = {0};
    sup_csr a;
    if (t == NULL) exit(1);
    for (int32_t i = 0; i < n; i++)
        t[count++] = (sup_triplet){i, i, identity};
    for (int32_t e = 0; e < edge_count; e++) {
        t[count++] = (sup_triplet){edges[e][0], edges[e][1], -0.5 * scale};
        t[count++] = (sup_triplet){edges[e][0], edges[e][0], 0.5 * scale};
        t[count++] = (sup_triplet){edges[e][1], edges[e][1], 0.5 * scale};
    }
    must(sup_csr_from_triplets(NULL, n, t, count, &a, &error), &error);
    free(t);
    return a;
}

/* I + scale L^2 from the lower triangle of L. */
static sup_csr square_system(const sup_csr *l, double scale)
{
    int32_t n = l->size;
    int32_t *first = calloc((size_t)n + 1, sizeof(int32_t)), *column;
    double *value;
    int64_t products = n;
    if (first == NULL) exit(1);
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = l->first[i]; k < l->first[i + 1]; k++) {
            first[i + 1]++;
            if (l->column[k] != i) first[l->column[k] + 1]++;
        }
    for (int32_t i = 0; i < n; i++) {
        products += (int64_t)first[i + 1] * first[i + 1];
        first[i + 1] += first[i];
    }
    column = malloc((size_t)first[n] * sizeof(int32_t));
    value = malloc((size_t)first[n] * sizeof(double));
    sup_triplet *t = malloc((size_t)products * sizeof(*t));
    int32_t *next = malloc((size_t)n * sizeof(int32_t));
    if (column == NULL || value == NULL || t == NULL || next == NULL) exit(1);
    memcpy(next, first, (size_t)n * sizeof(int32_t));
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = l->first[i]; k < l->first[i + 1]; k++) {
            int32_t j = l->column[k];
            column[next[i]] = j;
            value[next[i]++] = l->value[k];
            if (j == i) continue;
            column[next[j]] = i;
            value[next[j]++] = l->value[k];
        }
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        t[count++] = (sup_triplet){i, i, 1.0};
        for (int32_t a = first[i]; a < first[i + 1]; a++)
            for (int32_t b = first[i]; b <= a; b++)
                t[count++] = (sup_triplet){column[a], column[b], scale * value[a] * value[b]};
    }
    sup_error error = {0};
    sup_csr m;
    must(sup_csr_from_triplets(NULL, n, t, count, &m, &error), &error);
    free(first), free(column), free(value), free(t), free(next);
    return m;
}

/* Textbook solve: one right-hand side, one entry of L after the other, float. */
typedef struct scalar_factor {
    int64_t *first;
    int32_t *row;
    float *value;
} scalar_factor;

static scalar_factor scalar_from(const sup_cholesky *c)
{
    scalar_factor s = {malloc(((size_t)c->size + 1) * sizeof(int64_t)),
                       malloc((size_t)c->value_first[c->supernode_count] * sizeof(int32_t)),
                       malloc((size_t)c->value_first[c->supernode_count] * sizeof(float))};
    int64_t count = 0;
    if (s.first == NULL || s.row == NULL || s.value == NULL) exit(1);
    for (int32_t k = 0; k < c->supernode_count; k++) {
        int32_t width = c->column_first[k + 1] - c->column_first[k];
        int32_t front = width + (int32_t)(c->row_first[k + 1] - c->row_first[k]);
        for (int32_t j = 0; j < width; j++) {
            s.first[c->column_first[k] + j] = count;
            for (int32_t i = j; i < front; i++) {
                double v = c->values[c->value_first[k] + (int64_t)j * front + i];
                if (i > j && fabs(v) < 1e-300) continue; /* stored zeros of relaxed supernodes */
                s.row[count] = i < width ? c->column_first[k] + i : c->rows[c->row_first[k] + i - width];
                s.value[count++] = (float)v;
            }
        }
    }
    s.first[c->size] = count;
    return s;
}

static void scalar_solve(const scalar_factor *s, int32_t n, float *x)
{
    for (int32_t j = 0; j < n; j++) {
        x[j] /= s->value[s->first[j]];
        for (int64_t k = s->first[j] + 1; k < s->first[j + 1]; k++)
            x[s->row[k]] -= s->value[k] * x[j];
    }
    for (int32_t j = n - 1; j >= 0; j--) {
        for (int64_t k = s->first[j] + 1; k < s->first[j + 1]; k++)
            x[j] -= s->value[k] * x[s->row[k]];
        x[j] /= s->value[s->first[j]];
    }
}

typedef struct timing {
    double analyse, factor, scalar3, solve4, solve8, solve1_double, error;
} timing;

static void time_solves(const sup_cholesky *c, timing *t)
{
    int32_t n = c->size;
    int64_t ints, floats;
    sup_error error = {0};
    sup_float_factor_sizes(c, &ints, &floats);
    int32_t *int_block = aligned_alloc(64, ((size_t)ints * 4 + 63) / 64 * 64);
    float *float_block = aligned_alloc(64, ((size_t)floats * 4 + 63) / 64 * 64);
    float *b = aligned_alloc(64, (size_t)n * 32), *x = aligned_alloc(64, (size_t)n * 32);
    float *work = aligned_alloc(64, (size_t)n * 32);
    double *bd = malloc((size_t)n * 8), *xd = malloc((size_t)n * 8), *wd = malloc((size_t)n * 8);
    if (!int_block || !float_block || !b || !x || !work || !bd || !xd || !wd) exit(1);
    must(sup_float_factor_write(c, int_block, float_block, &error), &error);
    sup_float_factor f = sup_float_factor_view(int_block, float_block);
    scalar_factor s = scalar_from(c);
    for (int32_t i = 0; i < n; i++) {
        bd[i] = sin(0.37 * i) + 0.3;
        for (int32_t q = 0; q < 8; q++)
            b[i * 8 + q] = (float)bd[i];
    }
    t->scalar3 = t->solve4 = t->solve8 = t->solve1_double = 1e30;
    for (int32_t repeat = 0; repeat < 200; repeat++) {
        double t0 = now_ms();
        sup_float_solve4(&f, b, x, work);
        double t1 = now_ms();
        sup_float_solve8(&f, b, x, work);
        double t2 = now_ms();
        if (t1 - t0 < t->solve4) t->solve4 = t1 - t0;
        if (t2 - t1 < t->solve8) t->solve8 = t2 - t1;
        if (repeat >= 40) continue;
        memcpy(work, b, (size_t)n * 4);
        t0 = now_ms();
        for (int32_t q = 0; q < 3; q++)
            scalar_solve(&s, n, work);
        t1 = now_ms();
        sup_cholesky_solve(c, 1, bd, xd, wd);
        t2 = now_ms();
        if (t1 - t0 < t->scalar3) t->scalar3 = t1 - t0;
        if (t2 - t1 < t->solve1_double) t->solve1_double = t2 - t1;
    }
    double difference = 0.0, length = 0.0;
    for (int32_t i = 0; i < n; i++) {
        difference += (xd[i] - (double)x[i * 8]) * (xd[i] - (double)x[i * 8]);
        length += xd[i] * xd[i];
    }
    t->error = sqrt(difference / length);
    free(int_block), free(float_block), free(b), free(x), free(work), free(bd), free(xd), free(wd);
    free(s.first), free(s.row), free(s.value);
}

static void bench(const char *name, const sup_csr *a)
{
    timing t = {.analyse = 1e30, .factor = 1e30};
    sup_error error = {0};
    sup_cholesky *c = NULL;
    for (int32_t repeat = 0; repeat < 10; repeat++) {
        sup_cholesky_destroy(c);
        double t0 = now_ms();
        must(sup_cholesky_analyse(NULL, a, NULL, &c, &error), &error);
        double t1 = now_ms();
        must(sup_cholesky_factorise(c, a, &error), &error);
        double t2 = now_ms();
        if (t1 - t0 < t.analyse) t.analyse = t1 - t0;
        if (t2 - t1 < t.factor) t.factor = t2 - t1;
    }
    time_solves(c, &t);
    printf("%-12s %6d %8.0f %8.0f %6d | %7.2f %7.2f %6.2f | %7.3f %5.2fx %7.3f %5.2fx %7.3f | %.1e\n", name,
           (int)a->size, (double)c->nonzeros / 1e3, (double)c->value_first[c->supernode_count] / 1e3,
           (int)c->supernode_count, t.analyse, t.factor, c->flops * 2e-6 / t.factor, t.solve4, t.scalar3 / t.solve4,
           t.solve8, t.scalar3 / t.solve8, t.solve1_double, t.error);
    sup_cholesky_destroy(c);
}

int main(void)
{
    static const int32_t sizes[] = {26, 41, 55};
    printf("%-12s %6s %8s %8s %6s | %7s %7s %6s | %7s %6s %7s %6s %7s | %s\n", "system", "size", "nnz(L)k", "storedk",
           "supern", "analyse", "factor", "Gflops", "4 rhs", "ratio", "8 rhs", "ratio", "double1", "float error");
    for (int32_t k = 0; k < SUP_COUNT(sizes); k++) {
        int32_t(*edges)[2] = malloc((size_t)(36 * sizes[k] * sizes[k]) * sizeof(*edges));
        int32_t n = 0;
        if (edges == NULL) return 1;
        int32_t edge_count = cube_sphere_edges(sizes[k], edges, &n);
        sup_csr a = laplacian_system(n, edge_count, edges, 1.0, 10.0);
        bench("I + 10 L", &a);
        sup_csr_free(&a);
        if (sizes[k] == 41) {
            sup_csr l = laplacian_system(n, edge_count, edges, 0.0, 1.0), square = square_system(&l, 10.0);
            bench("I + 10 L^2", &square);
            sup_csr_free(&l);
            sup_csr_free(&square);
        }
        free(edges);
    }
    return 0;
}
