/* mls.c - moving least squares weights; see mls.h for the method and its source. */
#include "upsample/mls.h"

#include <string.h>

enum { MONOMIALS = 9, LINEAR = 3 };

/* Minimum RMS of the component of a monomial that is independent of the others, in powers of the radius. A smaller one
 * is rounding noise, or redundant on a smooth surface, and would only make the weights rougher. */
static const double MIN_LINEAR = 1e-7, MIN_QUADRATIC = 1e-3;

/* Smallest square of an independent linear monomial for the normal equations, which lose twice as many digits as the
 * orthogonalisation; as a fraction of the sum of omega. */
static const double MIN_NORMAL_EQUATIONS = 1e-7;

/* Weight of a normal relative to a position: that of a neighbour at a third of the radius. */
static const double NORMAL_WEIGHT = 1.0 / 3.0;

static double dot(const double *a, const double *b, int32_t count)
{
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void subtract_scaled(double *a, double factor, const double *b, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        a[i] -= factor * b[i];
}

/* Monomials as columns; the first `taken` are orthonormal. */
typedef struct columns {
    int32_t count, rows, taken;
    double total; /* sum of omega */
    double column[MONOMIALS][SUP_MLS_MAX];
} columns;

/* One step of pivoted Gram-Schmidt: moves the longest of columns [taken, end) to the front, normalises it and projects
 * it out of the following ones. False when no column has an RMS above `minimum`. */
static bool orthogonalize_next(columns *c, int32_t end, double minimum)
{
    int32_t best = -1, at = c->taken;
    double longest = minimum * minimum * c->total;
    for (int32_t m = at; m < end; m++) {
        double square = dot(c->column[m], c->column[m], c->rows);
        if (square > longest) {
            longest = square;
            best = m;
        }
    }
    if (best < 0) return false;
    if (best != at) {
        double swapped[SUP_MLS_MAX];
        size_t bytes = (size_t)c->rows * sizeof(double);
        memcpy(swapped, c->column[at], bytes);
        memcpy(c->column[at], c->column[best], bytes);
        memcpy(c->column[best], swapped, bytes);
    }
    double *q = c->column[at];
    for (int32_t m = 0; m < at; m++) /* reorthogonalisation against rounding errors */
        subtract_scaled(q, dot(q, c->column[m], c->rows), c->column[m], c->rows);
    double length = sqrt(dot(q, q, c->rows));
    for (int32_t i = 0; i < c->rows; i++)
        q[i] /= length;
    for (int32_t m = at + 1; m < c->count; m++)
        subtract_scaled(c->column[m], dot(c->column[m], q, c->rows), q, c->rows);
    c->taken++;
    return true;
}

static void finish_columns(columns *c, const sup_mls *mls)
{
    c->rows = mls->count;
    c->taken = 0;
    c->total = 0.0;
    for (int32_t i = 0; i < c->rows; i++) {
        c->total += mls->omega[i];
        for (int32_t m = 0; m < c->count; m++)
            c->column[m][i] *= sqrt(mls->omega[i]);
    }
}

/* Weights from the residual of the constant column, eq. 3.8 with psi_j = (1, 0, ...). Returns the sum of |N|, INFINITY
 * when the residual is zero. */
static double weights_of(const sup_mls *mls, const double *rest, double *weights)
{
    double square = dot(rest, rest, mls->count), sum = 0.0;
    if (!(square > 0.0)) return INFINITY;
    for (int32_t i = 0; i < mls->count; i++) {
        weights[i] = sqrt(mls->omega[i]) * rest[i] / square;
        sum += fabs(weights[i]);
    }
    return sum;
}

/* Projects the newest column out of the constant one, and then all columns again against rounding errors. */
static void project_out(const columns *c, double *rest)
{
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t m = pass == 0 ? c->taken - 1 : 0; m < c->taken; m++)
            subtract_scaled(rest, dot(rest, c->column[m], c->rows), c->column[m], c->rows);
}

static void monomials(sup_vec3d p, double psi[MONOMIALS])
{
    const double values[MONOMIALS] = {p.x, p.y, p.z, p.x * p.x, p.y * p.y, p.z * p.z, p.x * p.y, p.x * p.z, p.y * p.z};
    memcpy(psi, values, sizeof values);
}

/* All functions that fit, one at a time. */
static int32_t position_by_steps(const sup_mls *mls, double limit, double *weights, bool *reduced)
{
    columns c = {.count = MONOMIALS};
    double rest[SUP_MLS_MAX], trial[SUP_MLS_MAX];
    for (int32_t i = 0; i < mls->count; i++) {
        double psi[MONOMIALS];
        monomials(mls->positions[i], psi);
        for (int32_t m = 0; m < MONOMIALS; m++)
            c.column[m][i] = psi[m];
        rest[i] = sqrt(mls->omega[i]);
    }
    *reduced = false;
    finish_columns(&c, mls);
    while (c.taken < LINEAR && orthogonalize_next(&c, LINEAR, MIN_LINEAR))
        project_out(&c, rest);
    if (weights_of(mls, rest, weights) > limit) return -1;
    /* Linear columns that were not taken are zero: the neighbours are on a line or plane through the point. */
    int32_t dropped = LINEAR - c.taken, quadratic = 0;
    for (int32_t m = c.taken; dropped > 0 && m + dropped < MONOMIALS; m++)
        memcpy(c.column[m], c.column[m + dropped], sizeof c.column[m]);
    c.count -= dropped;
    while (c.taken < c.count && orthogonalize_next(&c, c.count, MIN_QUADRATIC)) {
        project_out(&c, rest);
        *reduced = !(weights_of(mls, rest, trial) <= limit);
        if (*reduced) break;
        memcpy(weights, trial, (size_t)mls->count * sizeof *weights);
        quadratic++;
    }
    return quadratic;
}

/* --- Normal equations --- */
/* The weighted monomials by neighbour, the constant one last; their products K (3.5), eliminated one by one. */
typedef struct normal_equations {
    int32_t taken, order[MONOMIALS]; /* the first `taken` are eliminated */
    double total;                    /* sum of omega */
    double row[SUP_MLS_MAX][MONOMIALS + 1];
    double k[MONOMIALS][MONOMIALS + 1];  /* rows and columns of those not taken: the Schur complement */
    double factor[MONOMIALS][MONOMIALS]; /* of row m by the row of a taken monomial */
} normal_equations;

static void make_products(const sup_mls *mls, normal_equations *e)
{
    e->taken = 0;
    e->total = 0.0;
    for (int32_t i = 0; i < mls->count; i++) {
        double *row = e->row[i], root = sqrt(mls->omega[i]);
        monomials(mls->positions[i], row);
        for (int32_t m = 0; m < MONOMIALS; m++)
            row[m] *= root;
        row[MONOMIALS] = root;
        e->total += mls->omega[i];
    }
    for (int32_t m = 0; m < MONOMIALS; m++) {
        double sum[MONOMIALS + 1] = {0};
        for (int32_t i = 0; i < mls->count; i++)
            for (int32_t j = 0; j <= MONOMIALS; j++)
                sum[j] += e->row[i][m] * e->row[i][j];
        memcpy(e->k[m], sum, sizeof sum);
        e->order[m] = m;
    }
}

/* Eliminates the monomial of [taken, end) that is least dependent on those before, if its square exceeds `minimum`.
 * Returns its square. */
static double eliminate_next(normal_equations *e, int32_t end, double minimum)
{
    int32_t best = e->taken;
    for (int32_t m = e->taken + 1; m < end; m++)
        if (e->k[e->order[m]][e->order[m]] > e->k[e->order[best]][e->order[best]]) best = m;
    int32_t pivot = e->order[best];
    const double *row = e->k[pivot];
    if (!(row[pivot] > minimum)) return row[pivot];
    e->order[best] = e->order[e->taken];
    e->order[e->taken++] = pivot;
    for (int32_t m = e->taken; m < MONOMIALS; m++) {
        double *other = e->k[e->order[m]], factor = other[pivot] / row[pivot];
        e->factor[e->order[m]][pivot] = factor;
        for (int32_t j = 0; j <= MONOMIALS; j++)
            other[j] -= factor * row[j];
    }
    return row[pivot];
}

/* Projects the taken monomials out of `rest`, whose products with them are `product`. */
static void project_products(const normal_equations *e, int32_t rows, double *product, double *rest)
{
    for (int32_t s = 0; s < e->taken; s++) /* K x = product by its triangular factors */
        for (int32_t m = s + 1; m < e->taken; m++)
            product[e->order[m]] -= e->factor[e->order[m]][e->order[s]] * product[e->order[s]];
    double x[MONOMIALS] = {0};
    for (int32_t s = e->taken - 1; s >= 0; s--) {
        int32_t at = e->order[s];
        x[at] = product[at] / e->k[at][at];
        for (int32_t m = s + 1; m < e->taken; m++)
            x[at] -= e->factor[e->order[m]][at] * x[e->order[m]];
    }
    for (int32_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int32_t m = 0; m < MONOMIALS; m++)
            sum += x[m] * e->row[i][m];
        rest[i] -= sum;
    }
}

/* The weights with all functions that the neighbours distinguish, if they are surely within the limit: sum |N| <= sqrt(
 * sum omega * sum N^2 / omega), which grows with each function. Returns the number of quadratic monomials; -1 if that
 * bound or the accuracy does not suffice. */
static int32_t position_at_once(const sup_mls *mls, double limit, double *weights)
{
    normal_equations e;
    double rest[SUP_MLS_MAX], product[MONOMIALS], square = 0.0;
    make_products(mls, &e);
    for (int32_t m = 0; m < MONOMIALS; m++)
        product[m] = e.k[m][MONOMIALS];
    while (e.taken < LINEAR)
        if (!(eliminate_next(&e, LINEAR, MIN_NORMAL_EQUATIONS * e.total) > MIN_NORMAL_EQUATIONS * e.total)) return -1;
    while (e.taken < MONOMIALS && eliminate_next(&e, MONOMIALS, MIN_QUADRATIC * MIN_QUADRATIC * e.total) >
                                      MIN_QUADRATIC * MIN_QUADRATIC * e.total)
        ;
    for (int32_t i = 0; i < mls->count; i++)
        rest[i] = e.row[i][MONOMIALS];
    project_products(&e, mls->count, product, rest);
    memset(product, 0, sizeof product); /* again, against rounding errors */
    for (int32_t i = 0; i < mls->count; i++)
        for (int32_t m = 0; m < MONOMIALS; m++)
            product[m] += e.row[i][m] * rest[i];
    project_products(&e, mls->count, product, rest);
    for (int32_t i = 0; i < mls->count; i++)
        square += rest[i] * rest[i];
    if (!(e.total < limit * limit * square)) return -1;
    for (int32_t i = 0; i < mls->count; i++)
        weights[i] = e.row[i][MONOMIALS] * rest[i] / square;
    return e.taken - LINEAR;
}

int32_t sup_mls_position(const sup_mls *mls, double limit, double *weights, bool *reduced)
{
    *reduced = false;
    int32_t quadratic = position_at_once(mls, limit, weights);
    return quadratic >= 0 ? quadratic : position_by_steps(mls, limit, weights, reduced);
}

bool sup_mls_normal(const sup_mls *mls, sup_vec3d normal, double limit, double *weights)
{
    /* Only the direction matters, so the basis (1, n) of the thesis needs no column along the normal. */
    sup_vec3d other = fabs(normal.x) < 0.6 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0);
    sup_vec3d u = sup_v3_unit_or(sup_v3_cross(normal, other), sup_v3(0.0, 0.0, 0.0)), v = sup_v3_cross(normal, u);
    columns c = {.count = 2};
    double rest[SUP_MLS_MAX];
    for (int32_t i = 0; i < mls->count; i++) {
        c.column[0][i] = sup_v3_dot(mls->normals[i], u);
        c.column[1][i] = sup_v3_dot(mls->normals[i], v);
        rest[i] = sqrt(mls->omega[i]);
    }
    finish_columns(&c, mls);
    while (c.taken < c.count && orthogonalize_next(&c, c.count, MIN_LINEAR))
        project_out(&c, rest);
    if (!(weights_of(mls, rest, weights) <= limit)) return false;
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
    for (int32_t i = 0; i < mls->count; i++)
        sum = sup_v3_madd(sum, weights[i], mls->normals[i]);
    return sup_v3_dot(sum, normal) > 0.5; /* a margin for other poses before the length vanishes */
}

/* Solves K x = b of size 4 by Gaussian elimination with full pivoting; false when singular. */
static bool solve4(double k[4][4], double b[4])
{
    int32_t order[4] = {0, 1, 2, 3};
    double largest = 0.0;
    for (int32_t step = 0; step < 4; step++) {
        int32_t row = step, column = step;
        for (int32_t i = step; i < 4; i++)
            for (int32_t j = step; j < 4; j++)
                if (fabs(k[i][j]) > fabs(k[row][column])) row = i, column = j;
        double pivot = fabs(k[row][column]);
        if (step == 0) largest = pivot;
        if (!(pivot > 1e-12 * largest)) return false;
        for (int32_t j = 0; j < 4; j++) {
            double swapped = k[step][j];
            k[step][j] = k[row][j];
            k[row][j] = swapped;
        }
        double swapped = b[step];
        b[step] = b[row];
        b[row] = swapped;
        for (int32_t i = 0; i < 4; i++) {
            swapped = k[i][step];
            k[i][step] = k[i][column];
            k[i][column] = swapped;
        }
        int32_t column_of = order[step];
        order[step] = order[column];
        order[column] = column_of;
        for (int32_t i = step + 1; i < 4; i++) {
            double factor = k[i][step] / k[step][step];
            for (int32_t j = step; j < 4; j++)
                k[i][j] -= factor * k[step][j];
            b[i] -= factor * b[step];
        }
    }
    double x[4];
    for (int32_t i = 3; i >= 0; i--) {
        x[i] = b[i];
        for (int32_t j = i + 1; j < 4; j++)
            x[i] -= k[i][j] * x[j];
        x[i] /= k[i][i];
    }
    for (int32_t i = 0; i < 4; i++)
        b[order[i]] = x[i];
    return true;
}

/* Adds the row (head, v) with a weight to K, eq. 3.5. */
static void add_row(double k[4][4], double weight, double head, sup_vec3d v)
{
    const double psi[4] = {head, v.x, v.y, v.z};
    for (int32_t i = 0; i < 4; i++)
        for (int32_t j = 0; j < 4; j++)
            k[i][j] += weight * psi[i] * psi[j];
}

bool sup_mls_follow(const sup_mls *mls, const sup_vec3d *direction, double *position, double *normal)
{
    double omega_normal = NORMAL_WEIGHT * NORMAL_WEIGHT, total = 0.0;
    sup_vec3d mean = sup_v3(0.0, 0.0, 0.0);
    for (int32_t i = 0; i < mls->count; i++) {
        mean = sup_v3_madd(mean, mls->omega[i], mls->positions[i]);
        total += mls->omega[i];
    }
    mean = sup_v3_scale(mean, 1.0 / total); /* centred: an offset would worsen the condition number of K */
    double k[4][4] = {{0}}, b[4] = {1.0, -mean.x, -mean.y, -mean.z};
    if (direction != NULL) {
        b[0] = 0.0;
        b[1] = direction->x, b[2] = direction->y, b[3] = direction->z;
    }
    for (int32_t i = 0; i < mls->count; i++) {
        add_row(k, mls->omega[i], 1.0, sup_v3_sub(mls->positions[i], mean));
        add_row(k, mls->omega[i] * omega_normal, 0.0, mls->normals[i]);
    }
    if (!solve4(k, b)) return false;
    sup_vec3d slope = sup_v3(b[1], b[2], b[3]);
    for (int32_t i = 0; i < mls->count; i++) {
        double value = b[0] + sup_v3_dot(slope, sup_v3_sub(mls->positions[i], mean));
        double normal_value = omega_normal * sup_v3_dot(slope, mls->normals[i]);
        /* Back to units of the caller: 1/length for positions of a direction, length for normals of a position. */
        position[i] = mls->omega[i] * value * (direction != NULL ? 1.0 / mls->scale : 1.0);
        normal[i] = mls->omega[i] * normal_value * (direction != NULL ? 1.0 : mls->scale);
    }
    return true;
}
