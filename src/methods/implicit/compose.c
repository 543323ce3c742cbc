/* compose.c - all fields of a pose as one.
 *
 * Based on: [vaillant2014iso] section 4.1. */
#include "methods/implicit/compose_internal.h"

#include "base/simd.h"
#include "math/affine.h"

#include <math.h>

static const sup_compose_kernels *kernels(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes >= 16) return &sup_compose_kernels_avx512;
    if (lanes >= 8) return &sup_compose_kernels_avx2;
#endif
    return &sup_compose_kernels_base;
}

static bool check_row(const sup_compose *c)
{
    const int32_t count = c->fields.field_count;
    for (int32_t i = 0; i < count; i++)
        if (c->leaves[i] < 0 || c->leaves[i] >= count) return false;
    /* The ranks that wait while all leaves are felt: no block can have more of them. */
    int32_t waiting[SUP_COMPOSE_DEPTH], depth = 0;
    for (int32_t i = 0; i + 1 < count; i++) {
        const sup_compose_node *node = &c->nodes[i];
        if (node->table < 0 || node->table >= c->table_count || node->controller < 0 ||
            node->controller >= c->controller_count)
            return false;
        while (depth > 0 && waiting[depth - 1] <= node->rank)
            depth--;
        if (depth == SUP_COMPOSE_DEPTH) return false;
        waiting[depth++] = node->rank;
    }
    return true;
}

static bool all_finite(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

bool sup_compose_check(const sup_compose *c, int32_t joint_count)
{
    if (!check_row(c)) return false;
    for (int32_t i = 0; i < c->fields.field_count; i++)
        if (c->fields.fields[i].joint < 0 || c->fields.fields[i].joint >= joint_count) return false;
    for (int32_t i = 0; i < c->muscle_count; i++) {
        const sup_compose_muscle *m = &c->muscles[i];
        if (m->field < 0 || m->field >= c->fields.field_count || m->joint < 0 || m->joint >= joint_count ||
            m->parent < -1 || m->parent >= joint_count || m->curve < 0 || m->curve >= c->curve_count)
            return false;
    }
    return all_finite(c->tables, (int64_t)c->table_count * SUP_OPERATOR_SIZE) &&
           all_finite(c->controllers, (int64_t)c->controller_count * SUP_CONTROLLER_SIZE) &&
           all_finite(c->curves, (int64_t)c->curve_count * SUP_CONTROLLER_SIZE);
}

static int32_t stride_of(const sup_compose *compose)
{
    return (compose->fields.field_count + SUP_FIELD_LANES - 1) / SUP_FIELD_LANES * SUP_FIELD_LANES;
}

size_t sup_compose_posed_size(const sup_compose *compose)
{
    return (size_t)stride_of(compose) * (12 + 6) * sizeof(float);
}

sup_posed_fields sup_compose_posed_open(const sup_compose *compose, sup_field_evaluate_fn *evaluate, void *memory)
{
    sup_posed_fields posed = {evaluate, memory, NULL, stride_of(compose)};
    posed.box = posed.to_grid + 12 * (size_t)posed.stride;
    return posed;
}

static sup_affine affine_of(const float *m)
{
    sup_affine a;
    for (int32_t i = 0; i < 12; i++)
        a.m[i] = (double)m[i];
    return a;
}

/* How much a joint is turned against its parent, compared with the bind pose, in radians. */
static float bend_of(const float *joints, const sup_compose_muscle *muscle)
{
    sup_quatd joint, parent = {0.0, 0.0, 0.0, 1.0};
    double stretch[9];
    bool known = sup_affine_polar(affine_of(joints + 12 * (size_t)muscle->joint), &joint, stretch);
    if (muscle->parent >= 0)
        known = sup_affine_polar(affine_of(joints + 12 * (size_t)muscle->parent), &parent, stretch) && known;
    if (!known) return 0.0f;
    sup_quatd q = sup_quatd_multiply(sup_quatd_conjugate(parent), joint);
    return (float)(2.0 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w)));
}

static double swell_of(const sup_compose *compose, int32_t field, const float *joints)
{
    for (int32_t i = 0; i < compose->muscle_count; i++) {
        const sup_compose_muscle *muscle = &compose->muscles[i];
        if (muscle->field != field) continue;
        const float *curve = compose->curves + (size_t)muscle->curve * SUP_CONTROLLER_SIZE;
        return fmin(fmax((double)sup_controller_at(curve, bend_of(joints, muscle)), 0.1), 10.0);
    }
    return 1.0;
}

/* Node coordinates scaled about the grid's middle line along its first axis. */
static sup_affine swelling(const int32_t size[3], double swell)
{
    sup_affine s = sup_affine_identity();
    for (int32_t axis = 1; axis < 3; axis++) {
        s.m[5 * axis] = swell;
        s.m[4 * axis + 3] = (1.0 - swell) * 0.5 * (size[axis] - 1);
    }
    return s;
}

static bool pose_field(const sup_fields *fields, int32_t field, const float *joints, double swell, float *to_grid,
                       float box[6])
{
    const int32_t *size = fields->fields[field].size;
    sup_affine joint = affine_of(joints + 12 * (size_t)fields->fields[field].joint), back, shrink;
    if (!sup_affine_finite(joint) || !sup_affine_inverse(joint, &back)) return false;
    sup_affine grow = swelling(size, swell);
    if (!sup_affine_inverse(grow, &shrink)) return false;
    sup_affine in = sup_affine_multiply(shrink, sup_affine_multiply(affine_of(fields->fields[field].to_grid), back));
    sup_affine out = sup_affine_multiply(joint, sup_affine_multiply(affine_of(fields->fields[field].from_grid), grow));
    sup_mat34 in_float = sup_affine_to_float(in);
    memcpy(to_grid, &in_float, 12 * sizeof *to_grid);
    for (int32_t axis = 0; axis < 3; axis++) {
        double middle = out.m[4 * axis + 3], reach = 0.0;
        for (int32_t k = 0; k < 3; k++) {
            middle += 0.5 * (size[k] - 1) * out.m[4 * axis + k];
            reach += 0.5 * (size[k] - 1) * fabs(out.m[4 * axis + k]);
        }
        reach += 1e-6 * (reach + fabs(middle)); /* floats of the box and the points */
        box[axis] = (float)(middle - reach);
        box[3 + axis] = (float)(middle + reach);
    }
    return sup_affine_finite(in) && sup_affine_finite(out);
}

void sup_compose_pose(const sup_compose *compose, const float *joints, sup_posed_fields *posed)
{
    for (int32_t leaf = 0; leaf < posed->stride; leaf++) {
        float box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}, found[6];
        if (leaf < compose->fields.field_count) {
            int32_t field = compose->leaves[leaf];
            if (pose_field(&compose->fields, field, joints, swell_of(compose, field, joints),
                           posed->to_grid + 12 * (size_t)leaf, found))
                memcpy(box, found, sizeof box);
        }
        for (int32_t k = 0; k < 6; k++)
            posed->box[(size_t)k * (size_t)posed->stride + (size_t)leaf] = box[k];
    }
}

/* Points that are not numbers are in no box. */
static void block_box(const sup_field_points *points, float box[6])
{
    const float *coordinates[3] = {points->x, points->y, points->z};
    for (int32_t axis = 0; axis < 3; axis++) {
        float low = INFINITY, high = -INFINITY;
        for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
            float x = coordinates[axis][k];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        box[axis] = low;
        box[3 + axis] = high;
    }
}

static bool felt(const sup_field_samples *samples)
{
    float most = 0.0f;
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++)
        most = samples->value[k] > most ? samples->value[k] : most;
    return most > 0.0f;
}

/* Operands that wait for their right side, and the nodes that will compose them. */
typedef struct row {
    const sup_compose *compose;
    const sup_compose_kernels *kernels;
    int32_t count; /* operands; one node fewer waits */
    int32_t last;  /* leaf of the newest operand */
    sup_compose_operand operands[SUP_COMPOSE_DEPTH + 2];
    const sup_compose_node *nodes[SUP_COMPOSE_DEPTH + 1];
} row;

static void close_node(row *r)
{
    r->count--;
    const sup_compose *c = r->compose;
    const sup_compose_node *node = r->nodes[r->count - 1];
    r->kernels->combine(c->tables + (size_t)node->table * SUP_OPERATOR_SIZE,
                        c->controllers + (size_t)node->controller * SUP_CONTROLLER_SIZE, &r->operands[r->count],
                        &r->operands[r->count - 1]);
}

/* The node in which the newest operand meets a leaf further right. */
static const sup_compose_node *node_before(const row *r, int32_t leaf)
{
    const sup_compose_node *highest = &r->compose->nodes[r->last];
    for (int32_t i = r->last + 1; i < leaf; i++)
        if (r->compose->nodes[i].rank >= highest->rank) highest = &r->compose->nodes[i];
    return highest;
}

static void add_leaf(row *r, const sup_posed_fields *posed, const sup_field_points *points, int32_t leaf)
{
    const sup_compose_node *node = r->count > 0 ? node_before(r, leaf) : NULL;
    while (r->count > 1 && r->nodes[r->count - 2]->rank <= node->rank)
        close_node(r);
    sup_compose_operand *operand = &r->operands[r->count];
    posed->evaluate(&r->compose->fields, r->compose->leaves[leaf], posed->to_grid + 12 * (size_t)leaf, points,
                    &operand->samples);
    if (!felt(&operand->samples)) return;
    memset(operand->contact, 0, sizeof operand->contact);
    if (node != NULL) r->nodes[r->count - 1] = node;
    r->last = leaf;
    r->count++;
}

void sup_compose_evaluate(const sup_compose *compose, const sup_posed_fields *posed, const sup_field_points *points,
                          sup_field_samples *samples, float *contact)
{
    row r;
    r.compose = compose;
    r.kernels = kernels();
    r.count = 0;
    r.last = 0;
    float block[6];
    block_box(points, block);
    for (int32_t first = 0; first < posed->stride; first += SUP_FIELD_LANES) {
        uint32_t bits = r.kernels->boxes_that_meet(posed->box + first, posed->stride, block);
        for (; bits != 0; bits &= bits - 1)
            add_leaf(&r, posed, points, first + __builtin_ctz(bits));
    }
    while (r.count > 1)
        close_node(&r);
    if (r.count == 0) memset(&r.operands[0], 0, sizeof r.operands[0]);
    *samples = r.operands[0].samples;
    if (contact != NULL) memcpy(contact, r.operands[0].contact, sizeof r.operands[0].contact);
}
