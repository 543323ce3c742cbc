/* field_kernel.h - evaluates fields and their fits at many points. Compiled once per instruction set, see base/simd.h.
 *
 * A quadratic B-spline needs 27 nodes around a point. Nodes along x are contiguous in memory, so three of them are one
 * load of four floats; gathers of single floats would be three times as many and slow. Why quadratic: measured on the
 * built-in arm, 8 nodes per radius, AVX-512, one core; angle error of gradients near the skin of one region (RMS)
 *     trilinear 4.1 degrees, 5.8 ns a point; quadratic 0.9 degrees, 7.1 ns; cubic 0.7 degrees, 9.8 ns
 * and a trilinear field has a discontinuous gradient. A row of nodes takes four lanes: SUP_LANES / 4 points are
 * processed together, points k, k + 4, k + 8, k + 12 of a batch, for k from 0 to 3. */
#include "base/simd.h"
#include "methods/implicit/gather_kernel.h"
#include "methods/implicit/field_internal.h"

/* Grid cells and weights of one vector of points. */
typedef struct cell {
    int32_t first[SUP_LANES];           /* first of the 27 nodes */
    sup_wide weight[3][3], slope[3][3]; /* [axis][node] of the B-spline, and their derivatives */
} cell;

/* Node coordinates of the points along one axis. */
static sup_wide to_axis(const float *row, sup_wide x, sup_wide y, sup_wide z)
{
    return sup_wide_fma(
        sup_wide_splat(row[0]), x,
        sup_wide_fma(sup_wide_splat(row[1]), y, sup_wide_fma(sup_wide_splat(row[2]), z, sup_wide_splat(row[3]))));
}

/* Lower node and weights along one axis; `at` within [0.5, size - 1.5]. Adds to `first`. */
static void axis_weights(sup_wide at, int32_t size, int32_t stride, int32_t axis, cell *c)
{
    float coordinate[SUP_LANES], rest[SUP_LANES];
    sup_wide_store(coordinate, at);
    for (int32_t lane = 0; lane < SUP_LANES; lane++) {
        int32_t node = (int32_t)(coordinate[lane] + 0.5f);
        node = node > size - 2 ? size - 2 : node;
        rest[lane] = coordinate[lane] - (float)node;
        c->first[lane] += (node - 1) * stride;
    }
    const sup_wide half = sup_wide_splat(0.5f), t = sup_wide_load(rest), lower = half - t, upper = half + t;
    c->weight[axis][0] = half * lower * lower;
    c->weight[axis][1] = sup_wide_splat(0.75f) - t * t;
    c->weight[axis][2] = half * upper * upper;
    c->slope[axis][0] = sup_wide_splat(0.0f) - lower;
    c->slope[axis][1] = sup_wide_splat(-2.0f) * t;
    c->slope[axis][2] = upper;
}

/* Finds the cells of SUP_LANES points; returns false if all of them are outside of the grid. Points outside are moved
 * to the border, where the field and its slope are 0. */
static bool find_cells(const sup_bone_field *field, const float *map, sup_wide x, sup_wide y, sup_wide z, cell *c)
{
    const sup_wide low = sup_wide_splat(0.5f);
    sup_wide at[3];
    uint32_t inside = ~0u;
    for (int32_t axis = 0; axis < 3; axis++) {
        const sup_wide high = sup_wide_splat((float)field->size[axis] - 1.5f);
        sup_wide u = to_axis(map + 4 * (size_t)axis, x, y, z);
        sup_mask above = sup_wide_less(low, u), below = sup_wide_less(u, high);
        inside &= sup_mask_bits(sup_mask_and(above, below));
        u = sup_wide_select(above, u, low); /* also for NaN */
        at[axis] = sup_wide_select(sup_wide_less(u, high), u, high);
    }
    if (inside == 0) return false;
    for (int32_t lane = 0; lane < SUP_LANES; lane++)
        c->first[lane] = field->first;
    axis_weights(at[0], field->size[0], 1, 0, c);
    axis_weights(at[1], field->size[1], field->size[0], 1, c);
    axis_weights(at[2], field->size[2], field->size[0] * field->size[1], 2, c);
    return true;
}

#if SUP_LANES == 1

/* Value and derivatives along the axes of the grid. */
static void interpolate(const cell *c, const float *nodes, const int32_t *size, sup_wide sums[4])
{
    const size_t row = (size_t)size[0], slab = row * (size_t)size[1];
    for (int32_t i = 0; i < 4; i++)
        sums[i] = 0.0f;
    for (size_t z = 0; z < 3; z++)
        for (size_t y = 0; y < 3; y++)
            for (size_t x = 0; x < 3; x++) {
                float node = nodes[(size_t)c->first[0] + z * slab + y * row + x];
                float wx = c->weight[0][x], wy = c->weight[1][y], wz = c->weight[2][z];
                sums[0] += node * wx * wy * wz;
                sums[1] += node * c->slope[0][x] * wy * wz;
                sums[2] += node * wx * c->slope[1][y] * wz;
                sums[3] += node * wx * wy * c->slope[2][z];
            }
}

#else

/* Products of nodes and weights of points k, k + 4, ...: groups of four lanes are added up later for the value and
 * three derivatives. */
static inline __attribute__((always_inline)) void add_points(const cell *c, const float *nodes, const int32_t *size,
                                                             int32_t k, sup_wide across, sup_wide across_slope,
                                                             sup_wide products[4])
{
    const size_t row = (size_t)size[0], slab = row * (size_t)size[1];
    const float *at[SUP_LANES / 4];
    for (int32_t i = 0; i < SUP_LANES / 4; i++)
        at[i] = nodes + c->first[4 * i + k];
    const sup_wide none = sup_wide_splat(0.0f);
    sup_wide sum = none, sum_y = none, sum_z = none;
    for (size_t z = 0; z < 3; z++) {
        sup_wide rows = none, slopes = none;
        for (size_t y = 0; y < 3; y++) {
            sup_wide nodes_x = load_rows(at, z * slab + y * row);
            rows = sup_wide_fma(spread(c->weight[1][y], k), nodes_x, rows);
            slopes = sup_wide_fma(spread(c->slope[1][y], k), nodes_x, slopes);
        }
        sup_wide weight = spread(c->weight[2][z], k);
        sum = sup_wide_fma(weight, rows, sum);
        sum_y = sup_wide_fma(weight, slopes, sum_y);
        sum_z = sup_wide_fma(spread(c->slope[2][z], k), rows, sum_z);
    }
    products[0] = sum * across;
    products[1] = sum * across_slope;
    products[2] = sum_y * across;
    products[3] = sum_z * across;
}

/* Value and derivatives along the axes of the grid. */
static void interpolate(const cell *c, const float *nodes, const int32_t *size, sup_wide sums[4])
{
    sup_wide across[4], across_slope[4], products[4][4];
    transpose_weights(c->weight[0], across);
    transpose_weights(c->slope[0], across_slope);
    add_points(c, nodes, size, 0, across[0], across_slope[0], products[0]);
    add_points(c, nodes, size, 1, across[1], across_slope[1], products[1]);
    add_points(c, nodes, size, 2, across[2], across_slope[2], products[2]);
    add_points(c, nodes, size, 3, across[3], across_slope[3], products[3]);
    for (int32_t i = 0; i < 4; i++)
        sums[i] = add_quads(products[0][i], products[1][i], products[2][i], products[3][i]);
}

#endif

static void evaluate(const sup_fields *fields, int32_t field, const float to_grid[12], const sup_field_points *points,
                     sup_field_samples *samples)
{
    const sup_bone_field *f = &fields->fields[field];
    for (int32_t i = 0; i < SUP_FIELD_LANES; i += SUP_LANES) {
        cell c;
        sup_wide sums[4], gradient[3];
        bool inside = find_cells(f, to_grid, sup_wide_load(points->x + i), sup_wide_load(points->y + i),
                                 sup_wide_load(points->z + i), &c);
        if (inside)
            interpolate(&c, fields->nodes, f->size, sums);
        else
            for (int32_t k = 0; k < 4; k++)
                sums[k] = sup_wide_splat(0.0f);
        for (int32_t k = 0; k < 3; k++)
            gradient[k] = sup_wide_fma(
                sup_wide_splat(to_grid[k]), sums[1],
                sup_wide_fma(sup_wide_splat(to_grid[4 + k]), sums[2], sup_wide_splat(to_grid[8 + k]) * sums[3]));
        sup_wide_store(samples->value + i, sums[0]);
        sup_wide_store(samples->x + i, gradient[0]);
        sup_wide_store(samples->y + i, gradient[1]);
        sup_wide_store(samples->z + i, gradient[2]);
    }
}

/* Sum of l (alpha l^2 - 3 beta d) over the centres plus a linear term: see hrbf.h. */
static void fit_values(const sup_fit_lanes *fit, const sup_field_points *points, float *values)
{
    for (int32_t i = 0; i < SUP_FIELD_LANES; i += SUP_LANES) {
        const sup_wide x = sup_wide_load(points->x + i), y = sup_wide_load(points->y + i);
        const sup_wide z = sup_wide_load(points->z + i);
        sup_wide sum =
            sup_wide_fma(sup_wide_splat(fit->linear[1]), x,
                         sup_wide_fma(sup_wide_splat(fit->linear[2]), y,
                                      sup_wide_fma(sup_wide_splat(fit->linear[3]), z, sup_wide_splat(fit->linear[0]))));
        for (int32_t k = 0; k < fit->count; k++) {
            const float *centre = fit->centres + (size_t)k * SUP_FIT_FLOATS;
            sup_wide dx = x - sup_wide_splat(centre[0]), dy = y - sup_wide_splat(centre[1]);
            sup_wide dz = z - sup_wide_splat(centre[2]);
            sup_wide square = sup_wide_fma(dx, dx, sup_wide_fma(dy, dy, dz * dz));
            sup_wide along = sup_wide_fma(sup_wide_splat(centre[4]), dx,
                                          sup_wide_fma(sup_wide_splat(centre[5]), dy, sup_wide_splat(centre[6]) * dz));
            sum = sup_wide_fma(sup_wide_sqrt(square), sup_wide_fma(sup_wide_splat(centre[3]), square, along), sum);
        }
        sup_wide_store(values + i, sum);
    }
}

const sup_field_kernels SUP_KERNEL(sup_field_kernels) = {evaluate, fit_values};
