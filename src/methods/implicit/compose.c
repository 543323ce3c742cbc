/* compose.c - composes all fields of a pose into one.
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

static bool check_nodes(const sup_compose *c)
{
    const int32_t count = c->fields.field_count;
    for (int32_t i = 0; i < count; i++)
        if (c->leaves[i] < 0 || c->leaves[i] >= count) return false;
    /* Ranks of pending nodes if all leaves are nonzero: no batch of points can have more of them. */
    int32_t pending[SUP_COMPOSE_DEPTH], depth = 0;
    for (int32_t i = 0; i + 1 < count; i++) {
        const sup_compose_node *node = &c->nodes[i];
        if (node->table < 0 || node->table >= c->table_count || node->controller < 0 ||
            node->controller >= c->controller_count)
            return false;
        while (depth > 0 && pending[depth - 1] <= node->rank)
            depth--;
        if (depth == SUP_COMPOSE_DEPTH) return false;
        pending[depth++] = node->rank;
    }
    return true;
}

/* Rejects NaN. */
static bool all_within(const float *values, int64_t count, float minimum, float maximum)
{
    for (int64_t i = 0; i < count; i++)
        if (!(values[i] >= minimum && values[i] <= maximum)) return false;
    return true;
}

bool sup_compose_check(const sup_compose *c, int32_t joint_count)
{
    if (!check_nodes(c)) return false;
    for (int32_t i = 0; i < c->fields.field_count; i++)
        if (c->fields.fields[i].joint < 0 || c->fields.fields[i].joint >= joint_count) return false;
    for (int32_t i = 0; i < c->muscle_count; i++) {
        const sup_compose_muscle *m = &c->muscles[i];
        if (m->field < 0 || m->field >= c->fields.field_count || m->joint < 0 || m->joint >= joint_count ||
            m->parent < -1 || m->parent >= joint_count || m->curve < 0 || m->curve >= c->curve_count)
            return false;
    }
    for (int32_t i = 0; i < c->bend_count; i++) {
        const sup_compose_bend *b = &c->bends[i];
        if (b->node < 0 || b->node >= c->fields.field_count - 1 || b->field < 0 || b->field >= c->fields.field_count ||
            b->above < 0 || b->above >= c->fields.field_count || (i > 0 && b->node < b[-1].node))
            return false;
    }
    /* Tables hold spline coefficients of values in [0, 1]; curves are clamped to [0.1, 10] where they are used. */
    return all_within(c->pivots, 4 * (int64_t)c->bend_count, -1e18f, 1e18f) &&
           all_within(c->tables, (int64_t)c->table_count * SUP_OPERATOR_SIZE, -8.0f, 8.0f) &&
           all_within(c->controllers, (int64_t)c->controller_count * SUP_CONTROLLER_SIZE, 0.0f, 1.0f) &&
           all_within(c->curves, (int64_t)c->curve_count * SUP_CONTROLLER_SIZE, 0.0f, 100.0f);
}

static int32_t stride_of(const sup_compose *compose)
{
    return (compose->fields.field_count + SUP_FIELD_LANES - 1) / SUP_FIELD_LANES * SUP_FIELD_LANES;
}

size_t sup_compose_posed_size(const sup_compose *compose)
{
    size_t stride = (size_t)stride_of(compose);
    return stride * (12 + 6) * sizeof(float) + (3 * stride + 1) * sizeof(int32_t) +
           (size_t)compose->bend_count * sizeof(sup_compose_fold);
}

sup_posed_fields sup_compose_posed_open(const sup_compose *compose, sup_field_evaluate_fn *evaluate, void *memory)
{
    sup_posed_fields posed = {.evaluate = evaluate, .to_grid = memory, .stride = stride_of(compose)};
    posed.box = posed.to_grid + 12 * (size_t)posed.stride;
    posed.folds = (void *)(posed.box + 6 * (size_t)posed.stride);
    posed.fold_first = (void *)(posed.folds + compose->bend_count);
    posed.limb = posed.fold_first + posed.stride + 1;
    posed.above = posed.limb + posed.stride;
    return posed;
}

static sup_affine affine_of(const float *m)
{
    sup_affine a;
    for (int32_t i = 0; i < 12; i++)
        a.m[i] = (double)m[i];
    return a;
}

/* Rotation angle of a joint relative to its parent, compared with the bind pose, in radians. */
static float bend_of(const float *joints, int32_t joint_index, int32_t above)
{
    sup_quatd joint, parent = {0.0, 0.0, 0.0, 1.0};
    double stretch[9];
    bool known = sup_affine_polar(affine_of(joints + 12 * (size_t)joint_index), &joint, stretch);
    if (above >= 0) known = sup_affine_polar(affine_of(joints + 12 * (size_t)above), &parent, stretch) && known;
    if (!known) return 0.0f;
    sup_quatd q = sup_quatd_multiply(sup_quatd_conjugate(parent), joint);
    return (float)(2.0 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w)));
}

static double swell_scale(const sup_compose *compose, int32_t field, const float *joints)
{
    for (int32_t i = 0; i < compose->muscle_count; i++) {
        const sup_compose_muscle *muscle = &compose->muscles[i];
        if (muscle->field != field) continue;
        const float *curve = compose->curves + (size_t)muscle->curve * SUP_CONTROLLER_SIZE;
        return fmin(fmax((double)sup_controller_at(curve, bend_of(joints, muscle->joint, muscle->parent)), 0.1), 10.0);
    }
    return 1.0;
}

/* Scales node coordinates about the centre line of the grid along its first axis. */
static sup_affine swell_transform(const int32_t size[3], double swell)
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
    sup_affine grow = swell_transform(size, swell);
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
        reach += 1e-6 * (reach + fabs(middle)); /* rounding of the box and the points */
        box[axis] = (float)(middle - reach);
        box[3 + axis] = (float)(middle + reach);
    }
    return sup_affine_finite(in) && sup_affine_finite(out);
}

/* Centre of a field's grid in the bind pose's world space. */
static sup_vec3d middle_of(const sup_bone_field *field)
{
    return sup_affine_point(affine_of(field->from_grid),
                            sup_v3(0.5 * (field->size[0] - 1), 0.5 * (field->size[1] - 1), 0.5 * (field->size[2] - 1)));
}

static double angle_between(sup_vec3d a, sup_vec3d b)
{
    return atan2(sup_v3_length(sup_v3_cross(a, b)), sup_v3_dot(a, b));
}

/* Where a contact surface ends and over which length it fades out, in units of the distance from the joint to the
 * skin. */
static const double FOLD_END = 0.7, FOLD_FADE = 0.3;

/* The contact depth of a joint is its controller at twice the fold angle of its bones. Returns false if there is no
 * contact. */
static bool pose_fold(const sup_compose *c, int32_t i, const float *joints, sup_compose_fold *fold)
{
    const sup_compose_bend *bend = &c->bends[i];
    const sup_bone_field *child = &c->fields.fields[bend->field], *above = &c->fields.fields[bend->above];
    const float *pivot = c->pivots + 4 * (size_t)i;
    sup_affine joint = affine_of(joints + 12 * (size_t)child->joint),
               parent = affine_of(joints + 12 * (size_t)above->joint);
    sup_vec3d rest = sup_v3_load(pivot), centre = sup_affine_point(joint, rest);
    sup_vec3d along = sup_v3_sub(middle_of(child), rest), down = sup_affine_vector(joint, along);
    sup_vec3d up = sup_affine_vector(parent, sup_v3_sub(middle_of(above), rest));
    sup_vec3d out = sup_v3_add(sup_v3_unit_or(down, sup_v3(0, 0, 0)), sup_v3_unit_or(up, sup_v3(0, 0, 0)));
    double bend_angle = angle_between(down, sup_affine_vector(parent, along));
    double folded = fmin(bend_angle, 3.14159265358979 - angle_between(down, up));
    double scale = sup_v3_length(sup_affine_vector(parent, sup_v3(0.577350269, 0.577350269, 0.577350269)));
    double length = sup_v3_length(out), end = FOLD_END * scale * (double)pivot[3];
    const float *controller = c->controllers + (size_t)c->nodes[bend->node].controller * SUP_CONTROLLER_SIZE;
    *fold = (sup_compose_fold){.centre = {(float)centre.x, (float)centre.y, (float)centre.z}, .end = (float)end};
    if (!(length > 1e-3) || !(end > 0.0) || !isfinite(end)) return false;
    sup_v3_store(fold->out, sup_v3_scale(out, 1.0 / length));
    fold->fade = (float)(FOLD_END / (FOLD_FADE * end));
    fold->depth = fminf(fmaxf(sup_controller_at(controller, (float)(2.0 * folded)), 0.0f), 1.0f);
    return fold->depth > 0.0f;
}

static void pose_folds(const sup_compose *c, const float *joints, sup_posed_fields *posed)
{
    int32_t next = 0, count = 0;
    for (int32_t node = 0; node < posed->stride; node++) {
        bool any = false;
        int32_t first = count;
        for (; next < c->bend_count && c->bends[next].node == node; next++)
            any = pose_fold(c, next, joints, &posed->folds[count++]) || any;
        if (!any) count = first;
        posed->fold_first[node] = first;
        posed->fold_first[node + 1] = count;
    }
}

/* Fields without a bend record are roots, or extra primitives of a bone. */
void sup_compose_find_limbs(const sup_compose *c, sup_posed_fields *posed)
{
    for (int32_t f = 0; f < c->fields.field_count; f++) {
        posed->limb[f] = f;
        posed->above[f] = -1;
    }
    for (int32_t i = 0; i < c->bend_count; i++)
        posed->above[c->bends[i].field] = c->bends[i].above;
    for (int32_t f = 0; f < c->fields.field_count; f++)
        for (int32_t first = 0; first < f && posed->above[f] < 0 && posed->limb[f] == f; first++)
            if (c->fields.fields[first].joint == c->fields.fields[f].joint) posed->limb[f] = posed->limb[first];
}

enum relation { SAME_LIMB, UNRELATED_LIMB, OTHER_LIMB };

/* Number of joints from field `a` up to its ancestor `b`: 0 to 2, or 3 for all other cases. */
static int32_t joints_above(const sup_posed_fields *posed, int32_t a, int32_t b)
{
    int32_t first = posed->above[a], second = first >= 0 ? posed->above[posed->limb[first]] : -1;
    return a == b ? 0 : first == b ? 1 : second == b ? 2 : 3;
}

/* Whether a limb continues from one field into the other. */
static enum relation relation_of(const sup_posed_fields *posed, int32_t a, int32_t b)
{
    int32_t up = joints_above(posed, posed->limb[a], posed->limb[b]),
            down = joints_above(posed, posed->limb[b], posed->limb[a]), joints = up < down ? up : down;
    return joints <= 1 ? SAME_LIMB : joints == 2 ? UNRELATED_LIMB : OTHER_LIMB;
}

void sup_compose_pose(const sup_compose *compose, const float *joints, sup_posed_fields *posed)
{
    pose_folds(compose, joints, posed);
    for (int32_t leaf = 0; leaf < posed->stride; leaf++) {
        float box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}, found[6];
        if (leaf < compose->fields.field_count) {
            int32_t field = compose->leaves[leaf];
            if (pose_field(&compose->fields, field, joints, swell_scale(compose, field, joints),
                           posed->to_grid + 12 * (size_t)leaf, found))
                memcpy(box, found, sizeof box);
        }
        for (int32_t k = 0; k < 6; k++)
            posed->box[(size_t)k * (size_t)posed->stride + (size_t)leaf] = box[k];
    }
}

/* NaN coordinates are ignored. */
static void bounds_of(const sup_field_points *points, float box[6])
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

static bool is_nonzero(const sup_field_samples *samples)
{
    float largest = 0.0f;
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++)
        largest = samples->value[k] > largest ? samples->value[k] : largest;
    return largest > 0.0f;
}

/* Above this value another field counts as overlapping the own one. */
static const float MIN_OTHER_VALUE = 0.3f;

/* Evaluation stack: operands that wait for their right side, and the nodes that will combine them. */
typedef struct evaluation {
    const sup_compose *compose;
    const sup_compose_kernels *kernels;
    const sup_posed_fields *posed;
    const sup_field_points *points;
    const float *own;                                          /* leaf of each lane, or NULL */
    float own_value[SUP_FIELD_LANES], others[SUP_FIELD_LANES]; /* value of the own leaf, largest value of all others */
    sup_field_samples own_limb, other_limb;
    int32_t count; /* of operands; count - 1 nodes are pending */
    int32_t last;  /* leaf of the newest operand */
    sup_compose_operand operands[SUP_COMPOSE_DEPTH + 2];
    const sup_compose_node *nodes[SUP_COMPOSE_DEPTH + 1];
} evaluation;

static void close_node(evaluation *r)
{
    r->count--;
    const sup_compose *c = r->compose;
    const sup_compose_node *node = r->nodes[r->count - 1];
    sup_compose_operand *left = &r->operands[r->count - 1], *right = &r->operands[r->count];
    const int32_t *fold = r->posed->fold_first + (node - c->nodes);
    sup_compose_node_input input = {c->tables + (size_t)node->table * SUP_OPERATOR_SIZE,
                                    c->controllers + (size_t)node->controller * SUP_CONTROLLER_SIZE, fold[1] - fold[0],
                                    r->posed->folds + fold[0]};
    r->kernels->combine(&input, r->points, r->own != NULL, right, left);
}

/* The node that combines the newest operand with a leaf further right. */
static const sup_compose_node *node_before(const evaluation *r, int32_t leaf)
{
    const sup_compose_node *highest = &r->compose->nodes[r->last];
    for (int32_t i = r->last + 1; i < leaf; i++)
        if (r->compose->nodes[i].rank >= highest->rank) highest = &r->compose->nodes[i];
    return highest;
}

/* The field that a lane belongs to, or -1. */
static int32_t own_field(const evaluation *r, int32_t k)
{
    float own = r->own[k];
    return own >= 0.0f && own < (float)r->compose->fields.field_count ? r->compose->leaves[(int32_t)own] : -1;
}

static enum relation relation_to(const evaluation *r, int32_t k, int32_t field)
{
    int32_t own = own_field(r, k);
    return own >= 0 ? relation_of(r->posed, own, field) : UNRELATED_LIMB;
}

static void start_sides(evaluation *r)
{
    memset(&r->own_limb, 0, sizeof r->own_limb);
    memset(&r->other_limb, 0, sizeof r->other_limb);
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++)
        r->own_limb.value[k] = own_field(r, k) < 0 ? 1.0f : 0.0f;
}

/* Adds a leaf to the sides of each lane: its own field, its own limb or another limb. Usually all lanes of a batch
 * belong to one region. */
static void add_leaf_sides(evaluation *r, int32_t leaf, sup_compose_operand *operand)
{
    const sup_field_samples *s = &operand->samples;
    int32_t field = r->compose->leaves[leaf];
    enum relation first = relation_to(r, 0, field);
    memset(&operand->sides, 0, offsetof(sup_field_sides, own_limb));
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
        bool is_own = r->own[k] == (float)leaf && s->value[k] > 0.0f;
        operand->own_mask[k] = is_own ? 1.0f : 0.0f;
        float *value = is_own ? &r->own_value[k] : &r->others[k];
        if (s->value[k] > *value) *value = s->value[k];
    }
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
        enum relation relation = r->own[k] == r->own[0] ? first : relation_to(r, k, field);
        sup_field_samples *to = relation == SAME_LIMB ? &r->own_limb : &r->other_limb;
        if (relation == UNRELATED_LIMB || !(s->value[k] > to->value[k])) continue;
        to->value[k] = s->value[k];
        to->x[k] = s->x[k];
        to->y[k] = s->y[k];
        to->z[k] = s->z[k];
    }
}

static void add_leaf(evaluation *r, int32_t leaf)
{
    const sup_posed_fields *posed = r->posed;
    const sup_compose_node *node = r->count > 0 ? node_before(r, leaf) : NULL;
    while (r->count > 1 && r->nodes[r->count - 2]->rank <= node->rank)
        close_node(r);
    sup_compose_operand *operand = &r->operands[r->count];
    posed->evaluate(&r->compose->fields, r->compose->leaves[leaf], posed->to_grid + 12 * (size_t)leaf, r->points,
                    &operand->samples);
    if (!is_nonzero(&operand->samples)) return;
    if (r->own != NULL) add_leaf_sides(r, leaf, operand);
    operand->in_contact = false;
    if (node != NULL) r->nodes[r->count - 1] = node;
    r->last = leaf;
    r->count++;
}

void sup_compose_evaluate(const sup_compose *compose, const sup_posed_fields *posed, const sup_field_points *points,
                          sup_field_samples *samples, sup_field_sides *sides)
{
    evaluation r;
    r.compose = compose;
    r.kernels = kernels();
    r.posed = posed;
    r.points = points;
    memset(r.own_value, 0, sizeof r.own_value);
    memset(r.others, 0, sizeof r.others);
    r.own = sides != NULL ? sides->own : NULL;
    r.count = 0;
    r.last = 0;
    if (sides != NULL) start_sides(&r);
    float bounds[6];
    bounds_of(points, bounds);
    for (int32_t first = 0; first < posed->stride; first += SUP_FIELD_LANES) {
        uint32_t bits = r.kernels->overlapping_boxes(posed->box + first, posed->stride, bounds);
        for (; bits != 0; bits &= bits - 1)
            add_leaf(&r, first + __builtin_ctz(bits));
    }
    while (r.count > 1)
        close_node(&r);
    if (r.count == 0) memset(&r.operands[0], 0, sizeof r.operands[0]);
    *samples = r.operands[0].samples;
    if (sides == NULL) return;
    memcpy(r.operands[0].sides.own, sides->own, sizeof sides->own);
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++)
        r.operands[0].sides.own_value[k] = r.others[k] > MIN_OTHER_VALUE ? -r.own_value[k] : r.own_value[k];
    r.operands[0].sides.own_limb = r.own_limb;
    r.operands[0].sides.other_limb = r.other_limb;
    *sides = r.operands[0].sides;
}
