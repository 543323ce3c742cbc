/* compose_kernel.h - evaluates a node of the composition tree at a batch of points. Compiled once per instruction set,
 * see base/simd.h.
 *
 * Based on: [vaillant2014iso] section 4.1. The gradient is that of g with d held constant: the gradient of d would need
 * second derivatives of the fields and matters only where d changes quickly.
 *
 * Deviates: in the fold of a joint d does not depend on the angle of the gradients, which is ill-defined near the axes
 * of the limbs; it is constant up to a line in front of the joint (sup_compose_fold). */
#include "base/simd.h"
#include "methods/implicit/compose_internal.h"
#include "methods/implicit/gather_kernel.h"

#include <float.h>

static inline sup_wide clamp(sup_wide x, float low, float high)
{
    /* NaN becomes the lower end. */
    x = sup_wide_select(sup_wide_less(sup_wide_splat(low), x), x, sup_wide_splat(low));
    return sup_wide_select(sup_wide_less(x, sup_wide_splat(high)), x, sup_wide_splat(high));
}

/* Truncates towards zero; the values must fit into int32. */
static inline sup_mask to_int(sup_wide x)
{
#if SUP_LANES == 1
    return (int32_t)x;
#else
    return __builtin_convertvector(x, sup_mask);
#endif
}

static inline sup_wide to_float(sup_mask x)
{
#if SUP_LANES == 1
    return (float)x;
#else
    return __builtin_convertvector(x, sup_wide);
#endif
}

static inline sup_wide gather(const float *from, sup_mask index)
{
#if SUP_LANES == 1
    return from[index];
#elif SUP_LANES == 16
    return (sup_wide)_mm512_i32gather_ps((__m512i)index, from, 4);
#elif SUP_LANES == 8
    return (sup_wide)_mm256_i32gather_ps(from, (__m256i)index, 4);
#else
    return (sup_wide){from[index[0]], from[index[1]], from[index[2]], from[index[3]]};
#endif
}

/* The angle of a cosine, within 7e-5: Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.45. */
static inline sup_wide angle_of(sup_wide cosine)
{
    const sup_wide zero = sup_wide_splat(0.0f), one = sup_wide_splat(1.0f);
    sup_mask obtuse = sup_wide_less(cosine, zero);
    sup_wide x = sup_wide_select(obtuse, -cosine, cosine);
    sup_wide p = sup_wide_fma(sup_wide_splat(-0.0187293f), x, sup_wide_splat(0.0742610f));
    p = sup_wide_fma(sup_wide_fma(p, x, sup_wide_splat(-0.2121144f)), x, sup_wide_splat(1.5707288f));
    p = p * sup_wide_sqrt(one - x);
    return sup_wide_select(obtuse, sup_wide_splat(3.14159265f) - p, p);
}

typedef struct lanes {
    sup_wide value, gradient[3];
} lanes;

static inline lanes load_lanes(const sup_field_samples *s, int32_t k)
{
    lanes l = {sup_wide_load(s->value + k),
               {sup_wide_load(s->x + k), sup_wide_load(s->y + k), sup_wide_load(s->z + k)}};
    return l;
}

static inline sup_wide dot(const sup_wide *a, const sup_wide *b)
{
    return sup_wide_fma(a[0], b[0], sup_wide_fma(a[1], b[1], a[2] * b[2]));
}

/* d from the angle between two gradients; an angle of 0 is used where one of them is zero. */
static inline sup_wide depth_of(const float *controller, const lanes *a, const lanes *b)
{
    sup_wide length = sup_wide_sqrt(dot(a->gradient, a->gradient)) * sup_wide_sqrt(dot(b->gradient, b->gradient));
    sup_mask known = sup_wide_less(sup_wide_splat(FLT_MIN), length);
    sup_wide cosine = dot(a->gradient, b->gradient) / sup_wide_select(known, length, sup_wide_splat(1.0f));
    cosine = clamp(sup_wide_select(known, cosine, sup_wide_splat(1.0f)), -1.0f, 1.0f);
    sup_wide x = angle_of(cosine) * sup_wide_splat((SUP_CONTROLLER_SIZE - 1) / 3.14159265f);
    sup_mask i = to_int(clamp(x, 0.0f, SUP_CONTROLLER_SIZE - 2));
    sup_wide low = gather(controller, i), high = gather(controller + 1, i);
    return clamp(sup_wide_fma(clamp(x - to_float(i), 0.0f, 1.0f), high - low, low), 0.0f, 1.0f);
}

/* d in the fold of the nearest joint, and the distance to its end (`end` of sup_field_sides). */
static inline sup_wide fold_of(const sup_compose_node_input *m, const sup_field_points *points, int32_t k, lanes *end)
{
    sup_wide nearest = sup_wide_splat(FLT_MAX), d = sup_wide_splat(0.0f);
    const sup_wide p[3] = {sup_wide_load(points->x + k), sup_wide_load(points->y + k), sup_wide_load(points->z + k)};
    for (int32_t i = 0; i < m->fold_count; i++) {
        const sup_compose_fold *f = &m->folds[i];
        sup_wide away[3];
        for (int32_t c = 0; c < 3; c++)
            away[c] = p[c] - sup_wide_splat(f->centre[c]);
        sup_wide square = dot(away, away);
        sup_mask nearer = sup_wide_less(square, nearest);
        nearest = sup_wide_select(nearer, square, nearest);
        const sup_wide out[3] = {sup_wide_splat(f->out[0]), sup_wide_splat(f->out[1]), sup_wide_splat(f->out[2])};
        sup_wide to_end = dot(away, out) - sup_wide_splat(f->end);
        sup_wide depth = sup_wide_splat(f->depth) *
                         clamp(sup_wide_fma(to_end, sup_wide_splat(f->fade), sup_wide_splat(1.0f)), 0.0f, 1.0f);
        d = sup_wide_select(nearer, depth, d);
        to_end = sup_wide_select(sup_wide_less(sup_wide_splat(0.0f), depth), to_end, sup_wide_splat(FLT_MAX));
        end->value = sup_wide_select(nearer, to_end, end->value);
        for (int32_t c = 0; c < 3; c++)
            end->gradient[c] = sup_wide_select(nearer, out[c], end->gradient[c]);
    }
    return d;
}

typedef struct spline {
    sup_wide value[3], slope[3];
} spline;

static inline spline spline_at(sup_wide x)
{
    const sup_wide half = sup_wide_splat(0.5f);
    sup_wide below = half - x, above = half + x;
    spline s = {{half * below * below, sup_wide_splat(0.75f) - x * x, half * above * above}, {-below, -(x + x), above}};
    return s;
}

/* Position in an operator table, with interpolation weights. */
typedef struct table_position {
    int32_t node[SUP_LANES];
    sup_wide slice_weight; /* weight of the upper of two slices */
    spline along, across;
} table_position;

static inline table_position find_table_position(sup_wide f1, sup_wide f2, sup_wide d)
{
    const sup_wide cells = sup_wide_splat(SUP_OPERATOR_CELLS), half = sup_wide_splat(0.5f);
    sup_wide u = (f1 + f2) * cells, w = sup_wide_copy_sign(f1 - f2, sup_wide_splat(0.0f)) * cells;
    sup_mask row = to_int(u + half), column = to_int(w + half);
    d = d * sup_wide_splat(SUP_OPERATOR_SLICES - 1);
    sup_mask slice = to_int(clamp(d, 0.0f, SUP_OPERATOR_SLICES - 2));
    sup_mask node = slice * SUP_OPERATOR_SLICE + row * SUP_OPERATOR_COLUMNS + column;
    table_position p = {.slice_weight = d - to_float(slice),
                        .along = spline_at(u - to_float(row)),
                        .across = spline_at(w - to_float(column))};
    memcpy(p.node, &node, sizeof p.node);
    return p;
}

#if SUP_LANES == 1

/* g and its derivatives with respect to u and w, both in cells; see sup_operator_at. */
static inline void lookup(const float *table, const table_position *p, sup_wide out[3])
{
    const float *from = table + p->node[0];
    out[0] = out[1] = out[2] = 0.0f;
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++) {
            const float *low = from + i * SUP_OPERATOR_COLUMNS + j;
            float c = low[0] + p->slice_weight * (low[SUP_OPERATOR_SLICE] - low[0]);
            out[0] += p->along.value[i] * p->across.value[j] * c;
            out[1] += p->along.slope[i] * p->across.value[j] * c;
            out[2] += p->along.value[i] * p->across.slope[j] * c;
        }
}

#else

/* Products along w of points k, k + 4, ...: groups of four lanes are added up later for the value and two
 * derivatives. */
static inline __attribute__((always_inline)) void add_rows(const float *table, const table_position *p, int32_t k,
                                                           bool blend, sup_wide across, sup_wide across_slope,
                                                           sup_wide products[3])
{
    const float *at[SUP_LANES / 4];
    for (int32_t i = 0; i < SUP_LANES / 4; i++)
        at[i] = table + p->node[4 * i + k];
    sup_wide slice_weight = spread(p->slice_weight, k), sum = sup_wide_splat(0.0f), slope = sum;
    for (size_t i = 0; i < 3; i++) {
        sup_wide c = load_rows(at, i * SUP_OPERATOR_COLUMNS);
        if (blend) c = sup_wide_fma(slice_weight, load_rows(at, i * SUP_OPERATOR_COLUMNS + SUP_OPERATOR_SLICE) - c, c);
        sum = sup_wide_fma(spread(p->along.value[i], k), c, sum);
        slope = sup_wide_fma(spread(p->along.slope[i], k), c, slope);
    }
    products[0] = sum * across;
    products[1] = slope * across;
    products[2] = sum * across_slope;
}

static inline __attribute__((always_inline)) void lookup_blended(const float *table, const table_position *p,
                                                                 bool blend, sup_wide out[3])
{
    sup_wide across[4], across_slope[4], products[4][3];
    transpose_weights(p->across.value, across);
    transpose_weights(p->across.slope, across_slope);
    add_rows(table, p, 0, blend, across[0], across_slope[0], products[0]);
    add_rows(table, p, 1, blend, across[1], across_slope[1], products[1]);
    add_rows(table, p, 2, blend, across[2], across_slope[2], products[2]);
    add_rows(table, p, 3, blend, across[3], across_slope[3], products[3]);
    for (int32_t i = 0; i < 3; i++)
        out[i] = add_quads(products[0][i], products[1][i], products[2][i], products[3][i]);
}

/* g and its derivatives with respect to u and w, both in cells; see sup_operator_at. Most limbs join without a contact:
 * then one slice suffices, with the same bits. */
static inline void lookup(const float *table, const table_position *p, sup_wide out[3])
{
    if (sup_mask_bits(sup_wide_less(sup_wide_splat(0.0f), p->slice_weight)) == 0)
        lookup_blended(table, p, false, out);
    else
        lookup_blended(table, p, true, out);
}

#endif

static inline void store_masked(sup_mask mask, const lanes *from, sup_field_samples *to, int32_t k)
{
    float *fields[4] = {to->value + k, to->x + k, to->y + k, to->z + k};
    const sup_wide values[4] = {from->value, from->gradient[0], from->gradient[1], from->gradient[2]};
    for (int32_t i = 0; i < 4; i++)
        sup_wide_store(fields[i], sup_wide_select(mask, values[i], sup_wide_load(fields[i])));
}

/* Combines the sides of two operands: lanes of the right operand replace those of the left, and the contact of this
 * node is kept if it is deeper. */
static inline void combine_sides(const lanes *left, const lanes *right, const lanes *end, sup_wide contact, int32_t k,
                                 const sup_compose_operand *b, sup_compose_operand *a)
{
    const sup_wide one = sup_wide_splat(1.0f), half = sup_wide_splat(0.5f);
    sup_wide own_mask = sup_wide_load(a->own_mask + k), there = sup_wide_load(b->own_mask + k);
    sup_mask in_right = sup_wide_less(half, there), in_any = in_right | sup_wide_less(half, own_mask);
    sup_wide_store(a->own_mask + k, sup_wide_select(in_right, one, own_mask));
    float *deepest = a->sides.contact + k;
    if (b->in_contact) {
        lanes side = load_lanes(&b->sides.side, k), until = load_lanes(&b->sides.end, k);
        store_masked(in_right, &side, &a->sides.side, k);
        store_masked(in_right, &until, &a->sides.end, k);
        sup_wide_store(deepest, sup_wide_select(in_right, sup_wide_load(b->sides.contact + k), sup_wide_load(deepest)));
        a->in_contact = true;
    }
    contact = sup_wide_select(in_any, contact, sup_wide_splat(0.0f));
    sup_mask deeper = sup_wide_less(sup_wide_load(deepest), contact);
    if (sup_mask_bits(deeper) == 0) return;
    sup_wide sign = sup_wide_select(in_right, -one, one);
    lanes side;
    side.value = sign * (left->value - right->value);
    for (int32_t c = 0; c < 3; c++)
        side.gradient[c] = sign * (left->gradient[c] - right->gradient[c]);
    store_masked(deeper, &side, &a->sides.side, k);
    store_masked(deeper, end, &a->sides.end, k);
    sup_wide_store(deepest, sup_wide_select(deeper, contact, sup_wide_load(deepest)));
    a->in_contact = true;
}

static void combine(const sup_compose_node_input *m, const sup_field_points *points, bool sides,
                    const sup_compose_operand *b, sup_compose_operand *a)
{
    const sup_wide zero = sup_wide_splat(0.0f), one = sup_wide_splat(1.0f), cells = sup_wide_splat(SUP_OPERATOR_CELLS);
    for (int32_t k = 0; k < SUP_FIELD_LANES; k += SUP_LANES) {
        lanes left = load_lanes(&a->samples, k), right = load_lanes(&b->samples, k);
        sup_wide f1 = clamp(left.value, 0.0f, 1.0f), f2 = clamp(right.value, 0.0f, 1.0f), g[3];
        sup_mask only_left = ~sup_wide_less(zero, f2), only_right = ~sup_wide_less(zero, f1);
        sup_wide d = depth_of(m->controller, &left, &right);
        lanes end = {sup_wide_splat(FLT_MAX), {zero, zero, zero}};
        if (m->fold_count > 0) {
            sup_wide fold = fold_of(m, points, k, &end);
            d = sup_wide_select(sup_wide_less(d, fold), fold, d);
        }
        table_position p = find_table_position(f1, f2, d);
        lookup(m->table, &p, g);
        sup_wide by_w = sup_wide_copy_sign(one, f1 - f2) * g[2], by_1 = cells * (g[1] + by_w),
                 by_2 = cells * (g[1] - by_w);
        /* Where only one operand is nonzero the result equals it exactly: g(f, 0) = f, eq. (1). */
        sup_wide value = sup_wide_select(only_right, f2, clamp(g[0], 0.0f, 1.0f)), gradient[3];
        value = sup_wide_select(only_left, f1, value);
        for (int32_t c = 0; c < 3; c++) {
            gradient[c] = sup_wide_fma(by_1, left.gradient[c], by_2 * right.gradient[c]);
            gradient[c] = sup_wide_select(only_right, right.gradient[c], gradient[c]);
            gradient[c] = sup_wide_select(only_left, left.gradient[c], gradient[c]);
        }
        if (sides) {
            sup_wide weaker = sup_wide_select(sup_wide_less(f1, f2), f1, f2);
            sup_wide contact = d * clamp(sup_wide_splat(4.0f) * weaker - one, 0.0f, 1.0f);
            combine_sides(&left, &right, &end, contact, k, b, a);
        }
        sup_wide_store(a->samples.value + k, value);
        sup_wide_store(a->samples.x + k, gradient[0]);
        sup_wide_store(a->samples.y + k, gradient[1]);
        sup_wide_store(a->samples.z + k, gradient[2]);
    }
}

static uint32_t overlapping_boxes(const float *boxes, int32_t stride, const float *bounds)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < SUP_FIELD_LANES; i += SUP_LANES) {
        sup_mask overlap = ~(sup_mask){0};
        for (int32_t axis = 0; axis < 3; axis++) {
            const float *low = boxes + axis * (int64_t)stride + i, *high = low + 3 * (int64_t)stride;
            overlap &= sup_wide_less(sup_wide_load(low), sup_wide_splat(bounds[3 + axis]));
            overlap &= sup_wide_less(sup_wide_splat(bounds[axis]), sup_wide_load(high));
        }
        bits |= sup_mask_bits(overlap) << i;
    }
    return bits;
}

const sup_compose_kernels SUP_KERNEL(sup_compose_kernels) = {combine, overlapping_boxes};
