/* csr.c - symmetric sparse matrices from triplets, and their product with vectors. */
#include "linalg/csr.h"

/* Two stable counting passes, by column and then by row: linear time and a fixed order of summation. */
typedef struct sorting {
    int32_t *by_column; /* [count] triplets in order of the smaller index */
    int32_t *by_row;    /* [count] the same, in order of the larger index */
    int32_t *bucket;    /* [size+1] */
} sorting;

static int32_t triplet_row(const sup_triplet *t)
{
    return t->row > t->column ? t->row : t->column;
}

static int32_t triplet_column(const sup_triplet *t)
{
    return t->row > t->column ? t->column : t->row;
}

static void buckets_to_starts(int32_t *bucket, int32_t size)
{
    int32_t sum = 0;
    for (int32_t i = 0; i <= size; i++) {
        int32_t here = bucket[i];
        bucket[i] = sum;
        sum += here;
    }
}

static void sort_triplets(int32_t size, const sup_triplet *triplets, int32_t count, sorting *s)
{
    memset(s->bucket, 0, ((size_t)size + 1) * sizeof(int32_t));
    for (int32_t k = 0; k < count; k++)
        s->bucket[triplet_column(&triplets[k])]++;
    buckets_to_starts(s->bucket, size);
    for (int32_t k = 0; k < count; k++)
        s->by_column[s->bucket[triplet_column(&triplets[k])]++] = k;
    memset(s->bucket, 0, ((size_t)size + 1) * sizeof(int32_t));
    for (int32_t k = 0; k < count; k++)
        s->bucket[triplet_row(&triplets[k])]++;
    buckets_to_starts(s->bucket, size);
    for (int32_t k = 0; k < count; k++) {
        int32_t t = s->by_column[k];
        s->by_row[s->bucket[triplet_row(&triplets[t])]++] = t;
    }
}

/* Entries after summing, with every diagonal. */
static int64_t count_entries(int32_t size, const sup_triplet *triplets, int32_t count, const int32_t *by_row)
{
    int64_t entries = size;
    for (int32_t k = 0; k < count; k++) {
        const sup_triplet *t = &triplets[by_row[k]], *before = k > 0 ? &triplets[by_row[k - 1]] : NULL;
        bool repeated =
            before != NULL && triplet_row(t) == triplet_row(before) && triplet_column(t) == triplet_column(before);
        entries += !repeated && t->row != t->column;
    }
    return entries;
}

static void fill(const sup_triplet *triplets, int32_t count, const int32_t *by_row, sup_csr *matrix)
{
    int32_t next = 0, k = 0;
    for (int32_t i = 0; i < matrix->size; i++) {
        matrix->first[i] = next;
        int32_t column = -1;
        for (; k < count && triplet_row(&triplets[by_row[k]]) == i; k++) {
            const sup_triplet *t = &triplets[by_row[k]];
            if (triplet_column(t) != column) {
                column = triplet_column(t);
                matrix->column[next] = column;
                matrix->value[next++] = t->value;
            } else {
                matrix->value[next - 1] += t->value;
            }
        }
        if (column != i) {
            matrix->column[next] = i;
            matrix->value[next++] = 0.0;
        }
    }
    matrix->first[matrix->size] = next;
}

static void release_sorting(const sup_allocator *allocator, sorting *s, int32_t size, int64_t count)
{
    sup_free(allocator, s->by_column, (size_t)count * sizeof(int32_t));
    sup_free(allocator, s->by_row, (size_t)count * sizeof(int32_t));
    sup_free(allocator, s->bucket, ((size_t)size + 1) * sizeof(int32_t));
}

static bool allocate_csr(const sup_allocator *allocator, int32_t size, int64_t entries, sup_csr *matrix)
{
    memset(matrix, 0, sizeof(*matrix));
    matrix->size = size;
    matrix->allocator = *allocator;
    matrix->first = sup_alloc(allocator, ((size_t)size + 1) * sizeof(int32_t));
    matrix->column = sup_alloc(allocator, (size_t)entries * sizeof(int32_t));
    matrix->value = sup_alloc(allocator, (size_t)entries * sizeof(double));
    if (matrix->first != NULL) matrix->first[size] = (int32_t)entries;
    return matrix->first != NULL && matrix->column != NULL && matrix->value != NULL;
}

/* Frees arrays of a known number of entries, whether or not all were had. */
static void release_csr(sup_csr *matrix, int64_t entries)
{
    sup_free(&matrix->allocator, matrix->first, ((size_t)matrix->size + 1) * sizeof(int32_t));
    sup_free(&matrix->allocator, matrix->column, (size_t)entries * sizeof(int32_t));
    sup_free(&matrix->allocator, matrix->value, (size_t)entries * sizeof(double));
    memset(matrix, 0, sizeof(*matrix));
}

sup_result sup_csr_from_triplets(const sup_context *context, int32_t size, const sup_triplet *triplets, int64_t count,
                                 sup_csr *matrix, sup_error *error)
{
    if (matrix == NULL || size < 0 || size == INT32_MAX || count < 0 || (count > 0 && triplets == NULL))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.csr.argument", "",
                        "A sparse matrix needs a size, its triplets and an output pointer.");
    for (int64_t k = 0; k < count; k++)
        if (triplets[k].row < 0 || triplets[k].row >= size || triplets[k].column < 0 || triplets[k].column >= size)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.csr.range", "",
                            "Triplet %lld is at row %d, column %d of a matrix of size %d.", (long long)k,
                            (int)triplets[k].row, (int)triplets[k].column, (int)size);
    if (count > INT32_MAX - size)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.csr.size", "",
                        "%lld triplets are more than 32-bit indices can hold.", (long long)count);
    sup_context resolved = sup_context_resolve(context);
    const sup_allocator *allocator = &resolved.allocator;
    sorting s = {sup_alloc(allocator, (size_t)count * sizeof(int32_t)),
                 sup_alloc(allocator, (size_t)count * sizeof(int32_t)),
                 sup_alloc(allocator, ((size_t)size + 1) * sizeof(int32_t))};
    sup_result result = SUP_OK;
    if (s.by_column != NULL && s.by_row != NULL && s.bucket != NULL) {
        sort_triplets(size, triplets, (int32_t)count, &s);
        int64_t entries = count_entries(size, triplets, (int32_t)count, s.by_row);
        sup_csr built;
        if (allocate_csr(allocator, size, entries, &built)) {
            fill(triplets, (int32_t)count, s.by_row, &built);
            *matrix = built;
        } else {
            release_csr(&built, entries);
            result = sup_fail_memory(error, "a sparse matrix");
        }
    } else {
        result = sup_fail_memory(error, "a sparse matrix");
    }
    release_sorting(allocator, &s, size, count);
    return result;
}

void sup_csr_free(sup_csr *matrix)
{
    if (matrix == NULL || matrix->first == NULL) return;
    release_csr(matrix, matrix->first[matrix->size]);
}

void sup_csr_multiply(const sup_csr *matrix, int32_t lanes, const double *x, double *y)
{
    size_t width = (size_t)lanes;
    memset(y, 0, (size_t)matrix->size * width * sizeof(double));
    for (int32_t i = 0; i < matrix->size; i++) {
        const double *x_row = x + (size_t)i * width;
        double *y_row = y + (size_t)i * width;
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1]; k++) {
            const double *x_column = x + (size_t)matrix->column[k] * width;
            double *y_column = y + (size_t)matrix->column[k] * width;
            double a = matrix->value[k];
            for (size_t c = 0; c < width; c++)
                y_row[c] += a * x_column[c];
            if (matrix->column[k] == i) continue;
            for (size_t c = 0; c < width; c++)
                y_column[c] += a * x_row[c];
        }
    }
}

bool sup_csr_well_formed(const sup_csr *matrix)
{
    if (matrix == NULL || matrix->size < 0 || matrix->first == NULL || matrix->first[0] != 0) return false;
    if (matrix->size > 0 && (matrix->column == NULL || matrix->value == NULL)) return false;
    for (int32_t i = 0; i < matrix->size; i++) {
        int32_t begin = matrix->first[i], end = matrix->first[i + 1];
        if (end <= begin || matrix->column[end - 1] != i || matrix->column[begin] < 0) return false;
        for (int32_t k = begin + 1; k < end; k++)
            if (matrix->column[k] <= matrix->column[k - 1]) return false;
    }
    return true;
}
