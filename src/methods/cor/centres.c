/* centres.c - the centre of rotation of each vertex: the mean of the surface, weighted by the similarity of its
 * weights.
 *
 * Based on: [le2016cor]:
 *     s(a, b) = sum_{j != k} a_j a_k b_j b_k exp(-(a_j b_k - a_k b_j)^2 / sigma^2)
 *     p_i = sum_t area_t s(w_i, w_t) c_t / sum_t area_t s(w_i, w_t)
 * with the mean weights w_t and positions c_t of the corners of triangle t. Triangles whose corners differ in weights
 * are subdivided for the sums.
 *
 * Both sums are sums over pairs of joints (j, k), whose terms depend only on b_j and b_k. So the surface is collected
 * once per pair in cells of the (b_j, b_k) plane that are small against sigma, and a vertex visits the cells of its
 * pairs instead of all triangles. The paper visits all triangles near vertices of similar weights; the time of ours
 * does not depend on the number of triangles once the cells are filled. */
#include "methods/cor/cor.h"

#include <math.h>

/* Cells per sigma, and the largest difference of the weights at the ends of an edge that is not subdivided. On a tube
 * of 600 vertices centres are at most 0.07 % of the size from those of a sum over 64 parts of each triangle; with half
 * as many cells and the paper's 0.1 it is 0.2 %. */
enum { CELLS = 12 };
static const double edge_difference = 0.05;
/* exp of less is zero for the sums. */
static const double largest_exponent = 40.0;

enum { GRAIN = 256 }; /* vertices per task */

/* Surface with similar weights of one pair of joints. */
typedef struct weight_cell {
    uint64_t key;        /* joint j, joint k > j, cell of b_j, cell of b_k, 16 bits each; 0: empty */
    double area, bj, bk; /* bj, bk: sums of area * weight */
    sup_vec3d moment;    /* sum of area * position */
} weight_cell;

/* Hash table, open addressing. */
typedef struct cell_table {
    const sup_allocator *allocator;
    weight_cell *cells;
    size_t capacity, count; /* capacity: a power of two */
} cell_table;

static size_t table_bytes(size_t capacity)
{
    return sup_size_multiply(capacity, sizeof(weight_cell));
}

static weight_cell *find_cell(weight_cell *cells, size_t capacity, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);
    while (cells[at].key != 0 && cells[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &cells[at];
}

static bool grow_table(cell_table *table)
{
    size_t capacity = table->capacity > 0 ? 2 * table->capacity : 4096;
    weight_cell *cells = sup_alloc_zero(table->allocator, table_bytes(capacity));
    if (cells == NULL) return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->cells[i].key != 0) *find_cell(cells, capacity, table->cells[i].key) = table->cells[i];
    sup_free(table->allocator, table->cells, table_bytes(table->capacity));
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

/* Adds surface of the pair (j, k), j < k, with weights bj and bk. */
static bool add_surface(cell_table *table, double sigma, int32_t j, int32_t k, double bj, double bk, double area,
                        sup_vec3d position)
{
    if (2 * table->count >= table->capacity && !grow_table(table)) return false;
    uint64_t at_j = (uint64_t)(bj * CELLS / sigma), at_k = (uint64_t)(bk * CELLS / sigma);
    uint64_t key = (uint64_t)j << 48 | (uint64_t)k << 32 | at_j << 16 | at_k;
    weight_cell *cell = find_cell(table->cells, table->capacity, key);
    if (cell->key == 0) table->count++;
    cell->key = key;
    cell->area += area;
    cell->bj += area * bj;
    cell->bk += area * bk;
    cell->moment = sup_v3_madd(cell->moment, area, position);
    return true;
}

/* Weights of the corners of a triangle on the joints that influence one of them. */
typedef struct triangle_weights {
    int32_t count;
    int32_t *joints; /* [count] ascending */
    double *weights; /* [count*3] */
} triangle_weights;

static double clean_weight(float weight)
{
    return weight > 0.0f ? fmin((double)weight, 1.0) : 0.0; /* 0 for NaN: sup_skin_bind refuses it */
}

static void add_influence(triangle_weights *t, int32_t joint, int32_t corner, double weight)
{
    int32_t at = 0;
    while (at < t->count && t->joints[at] < joint)
        at++;
    if (at == t->count || t->joints[at] != joint) {
        memmove(t->joints + at + 1, t->joints + at, (size_t)(t->count - at) * sizeof *t->joints);
        memmove(t->weights + 3 * (at + 1), t->weights + 3 * at, (size_t)(t->count - at) * 3 * sizeof *t->weights);
        t->joints[at] = joint;
        memset(t->weights + 3 * at, 0, 3 * sizeof *t->weights);
        t->count++;
    }
    t->weights[3 * at + corner] += weight;
}

static void gather_triangle(const sup_rig *rig, const int32_t corners[3], triangle_weights *t)
{
    t->count = 0;
    for (int32_t c = 0; c < 3; c++)
        for (int32_t i = rig->influence_first[corners[c]]; i < rig->influence_first[corners[c] + 1]; i++) {
            double weight = clean_weight(rig->influence_weight[i]);
            if (weight > 0.0) add_influence(t, rig->influence_joint[i], c, weight);
        }
}

/* Into how many parts the edges of a triangle are divided. */
static int32_t subdivision(const triangle_weights *t)
{
    double largest = 0.0;
    for (int32_t c = 0; c < 3; c++) {
        double square = 0.0;
        for (int32_t i = 0; i < t->count; i++) {
            double difference = t->weights[3 * i + c] - t->weights[3 * i + (c + 1) % 3];
            square += difference * difference;
        }
        largest = fmax(largest, square);
    }
    return 1 + (int32_t)(sqrt(fmin(largest, 2.0)) / edge_difference);
}

/* Adds the point of a triangle with barycentric coordinates `at`. */
static bool add_point(cell_table *table, double sigma, const triangle_weights *t, const sup_vec3d corners[3],
                      const double at[3], double area)
{
    sup_vec3d p = sup_v3(0.0, 0.0, 0.0);
    for (int32_t c = 0; c < 3; c++)
        p = sup_v3_madd(p, at[c], corners[c]);
    for (int32_t i = 0; i < t->count; i++) {
        const double *wi = t->weights + 3 * i;
        double bj = wi[0] * at[0] + wi[1] * at[1] + wi[2] * at[2];
        for (int32_t n = i + 1; n < t->count && bj > 0.0; n++) {
            const double *wn = t->weights + 3 * n;
            double bk = wn[0] * at[0] + wn[1] * at[1] + wn[2] * at[2];
            if (bk > 0.0 &&
                !add_surface(table, sigma, t->joints[i], t->joints[n], fmin(bj, 1.0), fmin(bk, 1.0), area, p))
                return false;
        }
    }
    return true;
}

/* Adds the centroids of the `parts`^2 equal parts of a triangle. */
static bool add_triangle(cell_table *table, double sigma, const triangle_weights *t, const sup_vec3d corners[3],
                         double area)
{
    int32_t parts = subdivision(t);
    double part_area = area / ((double)parts * parts);
    for (int32_t i = 0; i < parts; i++)
        for (int32_t k = 0; k < parts - i; k++)
            for (int32_t down = 0; down < (k < parts - i - 1 ? 2 : 1); down++) {
                double x = (i + (1 + down) / 3.0) / parts, y = (k + (1 + down) / 3.0) / parts;
                const double at[3] = {x, y, 1.0 - x - y};
                if (!add_point(table, sigma, t, corners, at, part_area)) return false;
            }
    return true;
}

/* Most influences on the corners of one triangle. */
static size_t most_influences(const sup_rig *rig)
{
    int32_t most = 0;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t count = rig->influence_first[v + 1] - rig->influence_first[v];
        most = count > most ? count : most;
    }
    return 3 * (size_t)most;
}

static sup_result fill_table(const sup_rig *rig, double sigma, cell_table *table, sup_error *error)
{
    sup_arena arena = sup_arena_create(table->allocator);
    size_t most = most_influences(rig);
    triangle_weights t = {0, sup_arena_alloc(&arena, most, sizeof(int32_t)),
                          sup_arena_alloc(&arena, most, 3 * sizeof(double))};
    bool ok = t.joints != NULL && t.weights != NULL;
    for (int32_t i = 0; i < rig->skin_triangle_count && ok; i++) {
        int32_t vertices[3];
        sup_vec3d corners[3];
        for (int32_t c = 0; c < 3; c++) {
            int32_t s = rig->skin_triangles[3 * (int64_t)i + c];
            vertices[c] = rig->skin_to_vertex[s];
            corners[c] = sup_v3_load(rig->skin_positions + 3 * (int64_t)s);
        }
        gather_triangle(rig, vertices, &t);
        sup_vec3d normal = sup_v3_cross(sup_v3_sub(corners[1], corners[0]), sup_v3_sub(corners[2], corners[0]));
        double area = 0.5 * sup_v3_length(normal);
        if (t.count > 1 && area > 0.0) ok = add_triangle(table, sigma, &t, corners, area);
    }
    sup_arena_destroy(&arena);
    return ok ? SUP_OK : sup_fail_memory(error, "the centres of rotation");
}

/* Moves the cells to the front of the table, in the order of their keys: merge sort. */
static bool sort_cells(cell_table *table)
{
    size_t count = 0, bytes = table_bytes(table->count + 1);
    for (size_t i = 0; i < table->capacity; i++)
        if (table->cells[i].key != 0) table->cells[count++] = table->cells[i];
    weight_cell *spare = sup_alloc(table->allocator, bytes);
    if (spare == NULL) return false;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = begin + width < count ? begin + width : count;
            size_t end = begin + 2 * width < count ? begin + 2 * width : count, i = begin, k = middle;
            for (size_t to = begin; to < end; to++)
                spare[to] = k == end || (i < middle && table->cells[i].key < table->cells[k].key) ? table->cells[i++]
                                                                                                  : table->cells[k++];
        }
        memcpy(table->cells, spare, count * sizeof *spare);
    }
    sup_free(table->allocator, spare, bytes);
    return true;
}

typedef struct centre_work {
    const sup_rig *rig;
    const weight_cell *cells; /* [count] ascending keys */
    size_t count;
    double sigma;
    float *centres;
} centre_work;

static size_t first_cell(const centre_work *work, uint64_t key)
{
    size_t low = 0, high = work->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->cells[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the terms of the pair (j, k), j < k, to the numerator and denominator of p_i. */
static void add_pair(const centre_work *work, int32_t j, int32_t k, double aj, double ak, sup_vec3d *numerator,
                     double *denominator)
{
    uint64_t pair = (uint64_t)j << 16 | (uint64_t)k;
    for (size_t i = first_cell(work, pair << 32); i < work->count && work->cells[i].key >> 32 == pair; i++) {
        const weight_cell *cell = &work->cells[i];
        double bj = cell->bj / cell->area, bk = cell->bk / cell->area;
        double difference = (aj * bk - ak * bj) / work->sigma, exponent = difference * difference;
        if (!(exponent < largest_exponent)) continue;
        double s = aj * ak * bj * bk * exp(-exponent);
        *numerator = sup_v3_madd(*numerator, s, cell->moment);
        *denominator += s * cell->area;
    }
}

static void find_centres(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const centre_work *work = data;
    const sup_rig *rig = work->rig;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d numerator = sup_v3(0.0, 0.0, 0.0);
        double denominator = 0.0;
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++)
            for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++)
                if (rig->influence_joint[i] < rig->influence_joint[k])
                    add_pair(work, rig->influence_joint[i], rig->influence_joint[k],
                             clean_weight(rig->influence_weight[i]), clean_weight(rig->influence_weight[k]), &numerator,
                             &denominator);
        float *centre = work->centres + 3 * (int64_t)v;
        memcpy(centre, rig->positions + 3 * (int64_t)v, 3 * sizeof *centre);
        if (denominator > 0.0) sup_v3_store(centre, sup_v3_scale(numerator, 1.0 / denominator));
    }
}

sup_result sup_cor_centres(const sup_context *context, const sup_rig *rig, double sigma, float *centres,
                           sup_error *error)
{
    cell_table table = {.allocator = &context->allocator};
    sup_result result = fill_table(rig, sigma, &table, error);
    if (result == SUP_OK && !sort_cells(&table)) result = sup_fail_memory(error, "the centres of rotation");
    if (result == SUP_OK) {
        centre_work work = {rig, table.cells, table.count, sigma, centres};
        sup_parallel(context, rig->vertex_count, GRAIN, find_centres, &work);
    }
    sup_free(table.allocator, table.cells, table_bytes(table.capacity));
    return result;
}
