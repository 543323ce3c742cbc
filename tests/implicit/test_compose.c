/* The composition tree on spherical fields with a closed form. Numbers in names are those of the checklist in the
 * issue. */
#include "test.h"

#include "base/simd.h"
#include "math/affine.h"
#include "methods/implicit/compose_internal.h"
#include "methods/implicit/composition_tree.h"

#include <float.h>
#include <stddef.h>

enum { MAX_FIELDS = 12, NODES = 9, CONTACT = 0, BULGE = 1 };
static const double middle = 0.5 * (NODES - 1);

/* The fields and the tree of one character. */
typedef struct body {
    sup_bone_field fields[MAX_FIELDS];
    int32_t leaves[MAX_FIELDS];
    sup_compose_node nodes[MAX_FIELDS];
    sup_tree_field tree[MAX_FIELDS];
    sup_compose_bend bends[MAX_FIELDS];
    float pivots[4 * MAX_FIELDS];
    float joints[MAX_FIELDS * 12], *memory;
    sup_compose compose;
    sup_posed_fields posed;
} body;

static const float *tables(void)
{
    static float *made;
    if (made == NULL) {
        const sup_profile profiles[2] = {sup_profile_contact(), sup_profile_bulge()};
        sup_error error = {0};
        float *memory = malloc(2 * SUP_OPERATOR_SIZE * sizeof *memory);
        CHECK(memory != NULL);
        CHECK_OK(sup_operators_build(NULL, profiles, 2, memory, &error), error);
        made = memory;
    }
    return made;
}

/* Controllers: the presets, then always 1. */
static const float *controllers(void)
{
    static float made[(SUP_CONTROLLER_PRESETS + 1) * SUP_CONTROLLER_SIZE];
    const sup_controller_point full = {0.0, 1.0};
    for (int i = 0; i < SUP_CONTROLLER_PRESETS; i++) {
        const sup_controller_preset *preset = sup_controller_preset_at(i);
        CHECK(sup_controller_make(preset->points, preset->count, made + i * SUP_CONTROLLER_SIZE));
    }
    CHECK(sup_controller_make(&full, 1, made + SUP_CONTROLLER_PRESETS * SUP_CONTROLLER_SIZE));
    return made;
}

/* 0.5 two nodes from the centre of the grid, 0 from four on. */
static void sphere(const float *map, const double p[3], double out[4])
{
    double at[3], distance = 0.0, slope;
    for (int k = 0; k < 3; k++) {
        at[k] = (double)map[4 * k] * p[0] + (double)map[4 * k + 1] * p[1] + (double)map[4 * k + 2] * p[2] +
                (double)map[4 * k + 3] - middle;
        distance += at[k] * at[k];
    }
    distance = sqrt(distance);
    double t = (distance - 2.0) / 2.0;
    bool inside = t > -1.0 && t < 1.0;
    out[0] = inside ? 0.5 + t * (-15.0 / 16.0 + t * t * (5.0 / 8.0 - 3.0 / 16.0 * t * t)) : (t <= -1.0 ? 1.0 : 0.0);
    slope = inside && distance > 0.0 ? -15.0 / 16.0 * (1.0 - t * t) * (1.0 - t * t) / 2.0 / distance : 0.0;
    for (int k = 0; k < 3; k++)
        out[1 + k] =
            !inside ? 0.0 : slope * ((double)map[k] * at[0] + (double)map[4 + k] * at[1] + (double)map[8 + k] * at[2]);
}

static void evaluate_sphere(const sup_fields *fields, int32_t field, const float to_grid[12],
                            const sup_field_points *points, sup_field_samples *samples)
{
    CHECK(field >= 0 && field < fields->field_count);
    for (int k = 0; k < SUP_FIELD_LANES; k++) {
        const double p[3] = {(double)points->x[k], (double)points->y[k], (double)points->z[k]};
        double out[4];
        sphere(to_grid, p, out);
        samples->value[k] = (float)out[0];
        samples->x[k] = (float)out[1];
        samples->y[k] = (float)out[2];
        samples->z[k] = (float)out[3];
    }
}

static void add_sphere(body *b, int32_t parent, int32_t table, int32_t controller, const double position[3],
                       double radius)
{
    int32_t f = b->compose.fields.field_count++;
    sup_bone_field *field = &b->fields[f];
    *field = (sup_bone_field){.joint = f, .size = {NODES, NODES, NODES}, .radius = (float)radius};
    for (int k = 0; k < 3; k++) {
        field->to_grid[5 * k] = (float)(2.0 / radius);
        field->to_grid[4 * k + 3] = (float)(middle - position[k] * 2.0 / radius);
        field->from_grid[5 * k] = (float)(radius / 2.0);
        field->from_grid[4 * k + 3] = (float)(position[k] - middle * radius / 2.0);
        b->joints[12 * f + 5 * k] = 1.0f;
    }
    b->tree[f] =
        (sup_tree_field){parent, table, controller, table == BULGE, radius, {position[0], position[1], position[2]}};
}

static void close_body(body *b)
{
    free(b->memory);
    b->memory = NULL;
}

static void finish(body *b)
{
    static const int32_t siblings[2] = {CONTACT, SUP_CONTROLLER_ELBOW};
    sup_compose *c = &b->compose;
    sup_error error = {0};
    int32_t count = c->fields.field_count, parent_node[MAX_FIELDS];
    CHECK_OK(sup_composition_tree_build(NULL, b->tree, count, siblings, b->leaves, b->nodes, parent_node, &error),
             error);
    for (int32_t node = 0; node < count; node++) /* joints are halfway between spheres */
        for (int32_t f = 0; f < count; f++) {
            if (parent_node[f] != node) continue;
            for (int k = 0; k < 3; k++)
                b->pivots[4 * c->bend_count + k] =
                    (float)(0.5 * (b->tree[f].position[k] + b->tree[b->tree[f].parent].position[k]));
            b->pivots[4 * c->bend_count + 3] = (float)(0.5 * b->tree[f].size);
            b->bends[c->bend_count++] = (sup_compose_bend){node, f, b->tree[f].parent};
        }
    c->bends = b->bends;
    c->pivots = b->pivots;
    c->fields.fields = b->fields;
    c->leaves = b->leaves;
    c->nodes = b->nodes;
    c->table_count = 2;
    c->tables = tables();
    c->controller_count = SUP_CONTROLLER_PRESETS + 1;
    c->controllers = controllers();
    CHECK(sup_compose_check(c, c->fields.field_count));
    b->memory = aligned_alloc(64, (sup_compose_posed_size(c) + 63) / 64 * 64);
    CHECK(b->memory != NULL);
    b->posed = sup_compose_posed_open(c, evaluate_sphere, b->memory);
    sup_compose_find_limbs(c, &b->posed);
    sup_compose_pose(c, b->joints, &b->posed);
}

/* Rotates everything below a joint about the first axis, at its pivot. */
static void bend_joint(body *b, int32_t field, double angle)
{
    const sup_compose *c = &b->compose;
    for (int32_t i = 0; i < c->bend_count; i++) {
        if (c->bends[i].field != field) continue;
        sup_affine rotation =
            sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(sup_v3(1, 0, 0), angle), sup_v3(1, 1, 1));
        sup_vec3d at = sup_v3_load(c->pivots + 4 * i), to = sup_v3_sub(at, sup_affine_vector(rotation, at));
        rotation.m[3] = to.x;
        rotation.m[7] = to.y;
        rotation.m[11] = to.z;
        for (int k = 0; k < 12; k++)
            b->joints[12 * field + k] = (float)rotation.m[k];
    }
    sup_compose_pose(c, b->joints, &b->posed);
}

/* A hand: a palm, four fingers of two spheres with bulges, a wrist and a thumb. `order` renumbers the fields. */
static void make_hand(body *b, const int32_t *order)
{
    static const struct {
        int32_t parent, table, controller;
        double position[3], radius;
    } regions[11] = {
        {-1, CONTACT, 0, {0, 0, 0}, 1.0},      {0, CONTACT, 0, {0, 0, 1}, 1.4},
        {1, BULGE, 1, {-0.9, 0, 2}, 0.5},      {2, BULGE, 1, {-0.9, 0, 2.7}, 0.4},
        {1, BULGE, 1, {0, 0, 2.2}, 0.5},       {4, BULGE, 1, {0, 0, 2.9}, 0.4},
        {1, CONTACT, 0, {0.9, 0, 2}, 0.5},     {6, CONTACT, 0, {0.9, 0.3, 2.6}, 0.4},
        {1, CONTACT, 0, {1.4, 0.2, 1.5}, 0.5}, {8, CONTACT, 2, {1.6, 0.5, 1.9}, 0.45},
        {1, CONTACT, 3, {-1.5, 0, 1}, 0.6},
    };
    int32_t number[11];
    memset(b, 0, sizeof *b);
    for (int i = 0; i < 11; i++)
        number[order != NULL ? order[i] : i] = i;
    for (int i = 0; i < 11; i++) {
        int from = order != NULL ? order[i] : i, parent = regions[from].parent;
        add_sphere(b, parent < 0 ? -1 : number[parent], regions[from].table, regions[from].controller,
                   regions[from].position, regions[from].radius);
    }
    finish(b);
}

static void random_batch(sup_random *random, sup_field_points *points, double reach)
{
    double middle_of[3];
    for (int k = 0; k < 3; k++)
        middle_of[k] = (sup_random_unit(random) - 0.5) * 4.0 + (k == 2 ? 1.0 : 0.0);
    for (int k = 0; k < SUP_FIELD_LANES; k++) {
        points->x[k] = (float)(middle_of[0] + reach * (sup_random_unit(random) - 0.5));
        points->y[k] = (float)(0.5 * middle_of[1] + reach * (sup_random_unit(random) - 0.5));
        points->z[k] = (float)(middle_of[2] + reach * (sup_random_unit(random) - 0.5));
    }
}

/* --- Reference: the tree from its ranks, in double, without boxes --- */

typedef struct reference {
    double value, gradient[3], contact, side, across[3], to_end;
    bool own; /* contains the queried leaf */
} reference;

/* d in the fold of the nearest joint of a node, and the distance to the end of its contact surface. */
static double reference_fold(const body *b, int32_t node, const double p[3], double *to_end)
{
    double nearest = INFINITY, d = 0.0;
    *to_end = (double)FLT_MAX;
    for (int32_t i = b->posed.fold_first[node]; i < b->posed.fold_first[node + 1]; i++) {
        const sup_compose_fold *fold = &b->posed.folds[i];
        double square = 0.0, along = -(double)fold->end;
        for (int k = 0; k < 3; k++) {
            double away = p[k] - (double)fold->centre[k];
            square += away * away;
            along += away * (double)fold->out[k];
        }
        if (square >= nearest) continue;
        nearest = square;
        d = (double)fold->depth * fmin(fmax(1.0 + along * (double)fold->fade, 0.0), 1.0);
        *to_end = d > 0.0 ? along : (double)FLT_MAX;
    }
    return d;
}

static reference reference_combine(const body *whole, const sup_compose_node *node, const double p[3], reference a,
                                   reference b)
{
    const sup_compose *c = &whole->compose;
    bool own = a.own || b.own;
    reference held = b.own ? b : a;
    if (!(b.value > 0.0)) held = a;
    if (!(a.value > 0.0)) held = b;
    if (!(b.value > 0.0) || !(a.value > 0.0)) {
        held.own = own;
        return held;
    }
    double aa = 0.0, bb = 0.0, ab = 0.0, out[3];
    for (int k = 0; k < 3; k++) {
        aa += a.gradient[k] * a.gradient[k];
        bb += b.gradient[k] * b.gradient[k];
        ab += a.gradient[k] * b.gradient[k];
    }
    double angle = aa * bb > 0.0 ? acos(fmin(fmax(ab / sqrt(aa * bb), -1.0), 1.0)) : 0.0;
    double d = (double)sup_controller_at(c->controllers + node->controller * SUP_CONTROLLER_SIZE, (float)angle), to_end;
    d = fmax(d, reference_fold(whole, (int32_t)(node - c->nodes), p, &to_end));
    sup_operator_at(c->tables + (size_t)node->table * SUP_OPERATOR_SIZE, a.value, b.value, d, out);
    reference result = held;
    result.own = own;
    result.value = fmin(fmax(out[0], 0.0), 1.0);
    for (int k = 0; k < 3; k++)
        result.gradient[k] = out[1] * a.gradient[k] + out[2] * b.gradient[k];
    double contact = d * fmin(fmax(4.0 * fmin(a.value, b.value) - 1.0, 0.0), 1.0);
    if (own && contact > held.contact) {
        result.contact = contact;
        result.to_end = to_end;
        result.side = b.own ? b.value - a.value : a.value - b.value;
        for (int k = 0; k < 3; k++)
            result.across[k] = b.own ? b.gradient[k] - a.gradient[k] : a.gradient[k] - b.gradient[k];
    }
    return result;
}

static reference reference_range(const body *b, int32_t first, int32_t last, int32_t own, const double p[3])
{
    const sup_compose *c = &b->compose;
    if (first == last) {
        double out[4];
        sphere(b->posed.to_grid + 12 * first, p, out);
        return (reference){.value = out[0], .gradient = {out[1], out[2], out[3]}, .own = first == own && out[0] > 0.0};
    }
    int32_t root = first;
    for (int32_t i = first; i < last; i++)
        if (c->nodes[i].rank > c->nodes[root].rank) root = i;
    return reference_combine(b, &c->nodes[root], p, reference_range(b, first, root, own, p),
                             reference_range(b, root + 1, last, own, p));
}

TEST(compose_agrees_with_the_double_reference)
{
    body b;
    make_hand(&b, NULL);
    sup_random random = {1};
    int own_value = 0, sided = 0, ended = 0;
    for (int batch = 0; batch < 400; batch++) {
        sup_field_points points;
        sup_field_samples samples;
        sup_field_sides sides;
        if (batch == 200) /* from here on with folds */
            for (int f = 3; f < 10; f += 2)
                bend_joint(&b, f, 0.4 * f);
        random_batch(&random, &points, batch % 2 ? 0.3 : 3.0);
        for (int k = 0; k < SUP_FIELD_LANES; k++)
            sides.own[k] = (float)((batch + k) % (b.compose.fields.field_count + 1) - 1);
        sup_compose_evaluate(&b.compose, &b.posed, &points, &samples, &sides);
        for (int k = 0; k < SUP_FIELD_LANES; k++) {
            const double p[3] = {(double)points.x[k], (double)points.y[k], (double)points.z[k]};
            reference s = reference_range(&b, 0, b.compose.fields.field_count - 1, (int32_t)sides.own[k], p);
            /* d comes from an angle within 7e-5, and its steepest controller rises by 3 per radian. */
            CHECK_NEAR(samples.value[k], s.value, 5e-4);
            CHECK_NEAR(samples.x[k], s.gradient[0], 5e-3);
            CHECK_NEAR(samples.y[k], s.gradient[1], 5e-3);
            CHECK_NEAR(samples.z[k], s.gradient[2], 5e-3);
            CHECK_NEAR(sides.contact[k], s.contact, 1e-3);
            own_value += s.value > 0.0;
            if (!(s.contact > 2e-3)) continue;
            CHECK_NEAR(sides.side.value[k], s.side, 1e-3);
            CHECK_NEAR(sides.side.x[k], s.across[0], 1e-2);
            CHECK_NEAR(sides.side.y[k], s.across[1], 1e-2);
            CHECK_NEAR(sides.side.z[k], s.across[2], 1e-2);
            sided++;
            if (!(fabs(s.to_end) < 1.0)) continue;
            CHECK_NEAR(sides.end.value[k], s.to_end, 1e-4);
            ended++;
        }
    }
    CHECK(own_value > 2000 && sided > 100);
    CHECK_MSG(ended > 5, "%d of %d", ended, sided);
    close_body(&b);
}

/* Joints between two fields of one chain, from the lower one up; 3 for more, and for fields of other chains. */
static int joints_between(const body *b, int32_t low, int32_t high)
{
    int joints = 0;
    for (; joints < 3 && low != high; joints++) {
        low = low < 0 ? -1 : b->tree[low].parent;
        if (low < 0) return 3;
    }
    return joints;
}

static void check_strongest(const sup_field_samples *found, int k, const double strongest[4])
{
    CHECK_NEAR(found->value[k], strongest[0], 1e-6);
    CHECK_NEAR(found->x[k], strongest[1], 1e-5);
    CHECK_NEAR(found->y[k], strongest[2], 1e-5);
    CHECK_NEAR(found->z[k], strongest[3], 1e-5);
}

/* A limb continues across one joint; fields two joints up or down the same chain belong to neither limb; siblings are
 * other limbs. */
TEST(compose_separates_own_and_other_limbs)
{
    body b;
    make_hand(&b, NULL);
    sup_random random = {8};
    int own_value[2] = {0, 0};
    for (int batch = 0; batch < 200; batch++) {
        sup_field_points points;
        sup_field_samples samples;
        sup_field_sides sides;
        random_batch(&random, &points, 1.5);
        for (int k = 0; k < SUP_FIELD_LANES; k++) /* batches of one owner, and mixed ones */
            sides.own[k] = (float)((batch + (batch % 2 ? k : 0)) % (b.compose.fields.field_count + 1) - 1);
        sup_compose_evaluate(&b.compose, &b.posed, &points, &samples, &sides);
        for (int k = 0; k < SUP_FIELD_LANES; k++) {
            const double p[3] = {(double)points.x[k], (double)points.y[k], (double)points.z[k]};
            int32_t own = sides.own[k] >= 0.0f ? b.leaves[(int)sides.own[k]] : -1;
            double strongest[2][4] = {{own < 0 ? 1.0 : 0.0}, {0.0}};
            for (int32_t leaf = 0; leaf < b.compose.fields.field_count && own >= 0; leaf++) {
                int up = joints_between(&b, own, b.leaves[leaf]), down = joints_between(&b, b.leaves[leaf], own);
                int joints = up < down ? up : down, which = joints <= 1 ? 0 : 1;
                double out[4];
                sphere(b.posed.to_grid + 12 * leaf, p, out);
                if (joints != 2 && out[0] > strongest[which][0]) memcpy(strongest[which], out, sizeof out);
            }
            check_strongest(&sides.own_limb, k, strongest[0]);
            check_strongest(&sides.other_limb, k, strongest[1]);
            for (int i = 0; i < 2; i++)
                own_value[i] += own >= 0 && strongest[i][0] > 0.1;
        }
    }
    CHECK(own_value[0] > 200 && own_value[1] > 200);
    close_body(&b);
}

TEST(compose_kernels_agree_with_each_other)
{
    const sup_compose_kernels *all[3] = {&sup_compose_kernels_base, NULL, NULL};
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) all[1] = &sup_compose_kernels_avx2;
    if (sup_simd_lanes() >= 16) all[2] = &sup_compose_kernels_avx512;
#endif
    sup_random random = {2};
    for (int trial = 0; trial < 200; trial++) {
        sup_compose_operand a = {0}, b = {.in_contact = trial % 4 == 0}, first = {0};
        sup_field_points points;
        random_batch(&random, &points, 1.0);
        for (int k = 0; k < SUP_FIELD_LANES; k++) {
            a.own_mask[k] = (trial + k) % 3 == 0 ? 1.0f : 0.0f;
            b.own_mask[k] = (trial + k) % 3 == 1 ? 1.0f : 0.0f;
            b.sides.contact[k] = b.in_contact ? (float)sup_random_unit(&random) : 0.0f;
            b.sides.side.value[k] = b.sides.end.x[k] = 0.25f;
            float *ga[3] = {a.samples.x, a.samples.y, a.samples.z}, *gb[3] = {b.samples.x, b.samples.y, b.samples.z};
            a.samples.value[k] = k == 3 ? 0.0f : (float)sup_random_unit(&random);
            b.samples.value[k] = k == 5 ? 0.0f : (k == 6 ? a.samples.value[k] : (float)sup_random_unit(&random));
            for (int c = 0; c < 3; c++) {
                ga[c][k] = k == 7 ? 0.0f : (float)sup_random_unit(&random) - 0.5f;
                gb[c][k] = k == 8 ? -ga[c][k] : (k == 9 ? 1e-30f : (float)sup_random_unit(&random) - 0.5f);
            }
        }
        for (int i = 0; i < 3; i++) {
            if (all[i] == NULL) continue;
            sup_compose_operand out = a;
            const sup_compose_fold folds[2] = {
                {.centre = {0.2f, 0, 0}, .out = {0, 1, 0}, .end = 0.1f, .depth = 0.8f, .fade = 9},
                {.centre = {-0.2f, 0, 0}, .out = {0, 0, 1}, .depth = 0.3f, .fade = 5}};
            sup_compose_node_input node_input = {tables() + (trial % 2) * SUP_OPERATOR_SIZE,
                                                 controllers() + (trial % SUP_CONTROLLER_PRESETS) * SUP_CONTROLLER_SIZE,
                                                 trial % 3, folds};
            all[i]->combine(&node_input, &points, trial % 5 > 0, &b, &out);
            const float *x = (const float *)&out, *y = (const float *)&first;
            if (i == 0) first = out;
            for (size_t k = 0; k < offsetof(sup_compose_operand, in_contact) / sizeof(float); k++) {
                CHECK(isfinite(x[k]));
                CHECK_NEAR(x[k], y[k], 2e-4);
            }
            CHECK(out.samples.value[5] == a.samples.value[5] && out.samples.x[5] == a.samples.x[5]);
            CHECK(out.samples.value[3] == b.samples.value[3] && out.samples.x[3] == b.samples.x[3]);
        }
    }
}

TEST(composed_gradient_is_that_of_the_value_2)
{
    static const int32_t still[2] = {SUP_CONTROLLER_PRESETS - 1, SUP_CONTROLLER_PRESETS}; /* d = 0 and d = 1 */
    static const double here[3] = {0, 0, 0}, there[3] = {1.1, 0.2, 0};
    const double h = 1e-3;
    sup_random random = {3};
    for (int i = 0; i < 2; i++) {
        body b = {0};
        add_sphere(&b, -1, CONTACT, 0, here, 1.0);
        add_sphere(&b, 0, CONTACT, still[i], there, 0.8);
        finish(&b);
        for (int n = 0; n < 400; n++) {
            double p[3];
            for (int k = 0; k < 3; k++)
                p[k] = 2.5 * sup_random_unit(&random) - (k == 0 ? 0.7 : 1.25);
            sup_field_points points;
            for (int k = 0; k < SUP_FIELD_LANES; k++) {
                points.x[k] = (float)(p[0] + (k == 0 ? h : (k == 1 ? -h : 0.0)));
                points.y[k] = (float)(p[1] + (k == 2 ? h : (k == 3 ? -h : 0.0)));
                points.z[k] = (float)(p[2] + (k == 4 ? h : (k == 5 ? -h : 0.0)));
            }
            sup_field_samples s;
            sup_compose_evaluate(&b.compose, &b.posed, &points, &s, NULL);
            const float *gradient[3] = {s.x, s.y, s.z};
            for (int k = 0; k < 3; k++) {
                double slope = ((double)s.value[2 * k] - (double)s.value[2 * k + 1]) / (2.0 * h);
                /* Near the end of the contact surface the second derivative is large. */
                CHECK_NEAR(gradient[k][6], slope, s.value[6] < 0.8f ? 1e-2 : 0.2);
            }
        }
        close_body(&b);
    }
}

TEST(order_of_fields_does_not_change_the_field_13)
{
    static const int32_t orders[3][11] = {
        {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {1, 0, 5, 4, 3, 2, 8, 9, 10, 6, 7}, {0, 1, 10, 8, 9, 6, 7, 4, 5, 2, 3}};
    body a, b;
    make_hand(&a, NULL);
    for (int i = 0; i < 3; i++) {
        sup_random random = {4};
        make_hand(&b, orders[i]);
        for (int batch = 0; batch < 100; batch++) {
            sup_field_points points;
            sup_field_samples one, other;
            random_batch(&random, &points, 1.0);
            sup_compose_evaluate(&a.compose, &a.posed, &points, &one, NULL);
            sup_compose_evaluate(&b.compose, &b.posed, &points, &other, NULL);
            for (int k = 0; k < SUP_FIELD_LANES; k++)
                CHECK_NEAR(one.value[k], other.value[k], 1e-6);
        }
        close_body(&b);
    }
    close_body(&a);
}

TEST(tree_has_bulges_at_the_bottom_and_keeps_symmetry)
{
    body b;
    make_hand(&b, NULL);
    int32_t last_bulge = -1, first_contact = 99;
    for (int i = 0; i < 10; i++) {
        int32_t rank = b.nodes[i].rank;
        if (b.nodes[i].table == BULGE) last_bulge = rank > last_bulge ? rank : last_bulge;
        if (b.nodes[i].table == CONTACT) first_contact = rank < first_contact ? rank : first_contact;
    }
    CHECK(last_bulge >= 0 && last_bulge < first_contact);
    close_body(&b);
    /* A pelvis, a spine and two overlapping legs: left and right get the same values. */
    static const double pelvis[3] = {0, 0, 0}, spine[3] = {0, 0, 1.2}, left[3] = {-0.6, 0, -0.8},
                        right[3] = {0.6, 0, -0.8};
    memset(&b, 0, sizeof b);
    add_sphere(&b, -1, CONTACT, 0, pelvis, 1.0);
    add_sphere(&b, 0, CONTACT, 0, left, 0.8);
    add_sphere(&b, 0, CONTACT, 0, spine, 0.9);
    add_sphere(&b, 0, CONTACT, 0, right, 0.8);
    finish(&b);
    sup_random random = {5};
    for (int batch = 0; batch < 50; batch++) {
        sup_field_points points, mirrored;
        sup_field_samples one, other;
        random_batch(&random, &points, 1.0);
        mirrored = points;
        for (int k = 0; k < SUP_FIELD_LANES; k++)
            mirrored.x[k] = -points.x[k];
        sup_compose_evaluate(&b.compose, &b.posed, &points, &one, NULL);
        sup_compose_evaluate(&b.compose, &b.posed, &mirrored, &other, NULL);
        for (int k = 0; k < SUP_FIELD_LANES; k++)
            CHECK_NEAR(one.value[k], other.value[k], 1e-5);
    }
    close_body(&b);
}

TEST(lanes_are_independent)
{
    body b;
    make_hand(&b, NULL);
    sup_random random = {6};
    for (int batch = 0; batch < 100; batch++) {
        sup_field_points points;
        sup_field_samples together, single;
        sup_field_sides sides, sides_single;
        random_batch(&random, &points, 2.5);
        if (batch == 7) points.y[4] = NAN;
        if (batch == 50) bend_joint(&b, 3, 1.5);
        for (int k = 0; k < SUP_FIELD_LANES; k++)
            sides.own[k] = sides_single.own[k] = (float)(batch % 11);
        sup_compose_evaluate(&b.compose, &b.posed, &points, &together, &sides);
        for (int k = 0; k < SUP_FIELD_LANES; k++) {
            if (batch == 7 && k == 4) continue;
            sup_field_points one;
            for (int i = 0; i < SUP_FIELD_LANES; i++) {
                one.x[i] = points.x[k];
                one.y[i] = points.y[k];
                one.z[i] = points.z[k];
            }
            sup_compose_evaluate(&b.compose, &b.posed, &one, &single, &sides_single);
            CHECK(together.value[k] == single.value[3] && together.x[k] == single.x[3]);
            CHECK(sides.contact[k] == sides_single.contact[3]);
            if (sides.contact[k] > 0.0f) CHECK(sides.side.value[k] == sides_single.side.value[3]);
        }
    }
    close_body(&b);
}

TEST(opposite_and_missing_gradients_are_safe_24)
{
    static const double left[3] = {-0.7, 0, 0}, right[3] = {0.7, 0, 0};
    body b = {0};
    add_sphere(&b, -1, CONTACT, 0, left, 1.0);
    add_sphere(&b, 0, CONTACT, 0, right, 1.0);
    finish(&b);
    sup_field_points points = {0};
    sup_field_samples s;
    sup_field_sides sides = {0};
    const float *contact = sides.contact;
    points.x[1] = -0.7f;  /* where one field has no gradient */
    points.x[2] = 1e30f;  /* far away */
    points.x[3] = 0.001f; /* beside the contact surface */
    points.x[4] = NAN;
    points.x[5] = INFINITY;
    points.y[6] = 0.9f; /* on the surface, outside of both */
    sup_compose_evaluate(&b.compose, &b.posed, &points, &s, &sides);
    CHECK(sides.side.value[3] < 0.0f && sides.side.x[3] < -1.0f &&
          fabsf(sides.side.value[0]) < 1e-6f); /* belongs to the left sphere */
    for (int k = 0; k < SUP_FIELD_LANES; k++)
        CHECK(k == 4 || (isfinite(s.value[k]) && isfinite(s.x[k]) && isfinite(s.y[k]) && isfinite(s.z[k])));
    CHECK_NEAR(s.value[0], 0.5, 1e-4); /* the surface where two spheres touch */
    CHECK_NEAR(contact[0], 1.0, 1e-4);
    CHECK_NEAR(s.x[0], 0.0, 1e-4);
    CHECK(s.value[1] > 0.9f && s.value[2] == 0.0f && s.value[5] == 0.0f);
    CHECK(s.value[3] > 0.5f - 1e-4f && s.value[6] < 0.5f && contact[6] < 0.5f);
    /* A joint without an inverse disables its field. */
    memset(b.joints + 12, 0, 12 * sizeof(float));
    sup_compose_pose(&b.compose, b.joints, &b.posed);
    sup_compose_evaluate(&b.compose, &b.posed, &points, &s, &sides);
    CHECK(contact[0] == 0.0f && s.value[0] > 0.5f && s.value[0] < 1.0f);
    close_body(&b);
}

TEST(fields_follow_their_joints_and_muscles_swell)
{
    static const double position[3] = {1, 0, 0}, other[3] = {9, 0, 0};
    const sup_controller_point growing[] = {{0, 1.0}, {90, 2.0}};
    float curve[SUP_CONTROLLER_SIZE];
    body b = {0};
    add_sphere(&b, -1, CONTACT, 0, position, 1.0);
    add_sphere(&b, 0, CONTACT, 0, other, 1.0);
    finish(&b);
    const sup_compose_muscle muscle = {0, 1, 0, 0};
    CHECK(sup_controller_make(growing, 2, curve));
    b.compose.muscle_count = 1;
    b.compose.muscles = &muscle;
    b.compose.curve_count = 1;
    b.compose.curves = curve;
    CHECK(sup_compose_check(&b.compose, 2));
    b.joints[3] = 0.5f; /* joint 0 moves along x; joint 1 rotates by 90 degrees about x */
    const float flipped[12] = {1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0};
    memcpy(b.joints + 12, flipped, sizeof flipped);
    sup_compose_pose(&b.compose, b.joints, &b.posed);
    sup_field_points points = {0};
    sup_field_samples s;
    for (int k = 0; k < SUP_FIELD_LANES; k++)
        points.x[k] = 1.5f;
    points.y[1] = 2.0f; /* twice as thick across */
    points.x[2] = 2.5f; /* not longer */
    points.z[3] = 3.9f; /* still nonzero */
    points.z[4] = 4.1f;
    sup_compose_evaluate(&b.compose, &b.posed, &points, &s, NULL);
    CHECK_NEAR(s.value[0], 1.0, 1e-5);
    CHECK_NEAR(s.value[1], 0.5, 1e-3);
    CHECK_NEAR(s.value[2], 0.5, 1e-3);
    CHECK(s.value[3] > 0.0f && s.value[4] == 0.0f);
    close_body(&b);
}

/* A joint folds along the line between its bones, by its controller at twice the bend; twists do not fold. */
TEST(joints_fold_between_their_bones)
{
    static const double up[3] = {0, 0, 1}, down[3] = {0, 0, -1};
    for (int i = 0; i < 4; i++) {
        body b = {0};
        double angle = 0.5 * i;
        add_sphere(&b, -1, CONTACT, 0, up, 1.0);
        add_sphere(&b, 0, CONTACT, 0, down, 1.0);
        finish(&b);
        CHECK_EQ(b.posed.fold_first[1], 0);
        bend_joint(&b, 1, angle); /* about x: down goes to +y */
        double depth = (double)sup_controller_at(controllers(), (float)(2.0 * angle));
        CHECK_EQ(b.posed.fold_first[1], depth > 0.0 ? 1 : 0);
        if (depth > 0.0) {
            const sup_compose_fold *fold = b.posed.folds;
            CHECK_NEAR(fold->depth, depth, 1e-3);
            CHECK_NEAR(sup_v3_length(sup_v3_load(fold->centre)), 0.0, 1e-6);
            CHECK_NEAR(fold->out[1], cos(0.5 * angle), 1e-5);
            CHECK_NEAR(fold->out[2], sin(0.5 * angle), 1e-5);
            CHECK_NEAR(fold->end, 0.35, 1e-5);
        }
        for (int k = 0; k < 12; k++) /* the same rotation, but a twist */
            b.joints[12 + k] = k == 10 ? 1.0f : 0.0f;
        b.joints[12] = b.joints[17] = (float)cos(angle);
        b.joints[13] = -(float)sin(angle);
        b.joints[16] = (float)sin(angle);
        sup_compose_pose(&b.compose, b.joints, &b.posed);
        CHECK_EQ(b.posed.fold_first[1], 0);
        close_body(&b);
    }
}

TEST(damaged_trees_are_refused)
{
    body b;
    make_hand(&b, NULL);
    const int32_t count = b.compose.fields.field_count;
    CHECK(!sup_compose_check(&b.compose, count - 1)); /* a joint that does not exist */
    b.leaves[3] = count;
    CHECK(!sup_compose_check(&b.compose, count));
    b.leaves[3] = 0;
    b.nodes[2].table = 2;
    CHECK(!sup_compose_check(&b.compose, count));
    b.nodes[2].table = 0;
    b.nodes[2].controller = -1;
    CHECK(!sup_compose_check(&b.compose, count));
    b.nodes[2].controller = 0;
    for (int32_t *number = &b.bends[1].node; number <= &b.bends[1].above; number++) {
        int32_t was = *number;
        *number = count;
        CHECK(!sup_compose_check(&b.compose, count));
        *number = -1;
        CHECK(!sup_compose_check(&b.compose, count));
        *number = was;
    }
    b.pivots[2] = NAN;
    CHECK(!sup_compose_check(&b.compose, count));
    b.pivots[2] = 0.0f;
    CHECK(sup_compose_check(&b.compose, count));
    const sup_compose_muscle muscle = {0, count, 0, 0};
    b.compose.muscle_count = 1;
    b.compose.muscles = &muscle;
    CHECK(!sup_compose_check(&b.compose, count));
    close_body(&b);
    /* Ranks that decrease all the way would exceed the stack. */
    enum { MANY = SUP_COMPOSE_DEPTH + 2 };
    static sup_bone_field fields[MANY];
    static sup_compose_node nodes[MANY];
    static int32_t leaves[MANY];
    for (int i = 0; i < MANY; i++)
        nodes[i].rank = -i;
    sup_compose falling = {.fields = {.field_count = MANY, .fields = fields}, .leaves = leaves, .nodes = nodes};
    falling.table_count = falling.controller_count = 1;
    falling.tables = tables();
    falling.controllers = controllers();
    CHECK(!sup_compose_check(&falling, 1));
    for (int i = 0; i < MANY; i++)
        nodes[i].rank = i;
    CHECK(sup_compose_check(&falling, 1));
}

TEST(long_and_wide_skeletons_need_little_depth)
{
    enum { COUNT = 600 };
    static sup_tree_field fields[COUNT];
    static int32_t leaves[COUNT];
    static sup_compose_node nodes[COUNT];
    const int32_t siblings[2] = {0, 0};
    sup_error error = {0};
    for (int shape = 0; shape < 3; shape++) {
        for (int i = 0; i < COUNT; i++)
            fields[i] = (sup_tree_field){shape == 0 ? i - 1 : (shape == 1 ? (i > 0 ? 0 : -1) : (i - 1) / 2),
                                         0,
                                         0,
                                         i % 5 == 4,
                                         1.0 + i % 7,
                                         {i, 0, 0}};
        fields[0].parent = -1;
        CHECK_OK(sup_composition_tree_build(NULL, fields, COUNT, siblings, leaves, nodes, NULL, &error), error);
        int32_t pending[COUNT], depth = 0, deepest = 0, seen = 0;
        for (int i = 0; i + 1 < COUNT; i++) {
            while (depth > 0 && pending[depth - 1] <= nodes[i].rank)
                depth--;
            pending[depth++] = nodes[i].rank;
            deepest = depth > deepest ? depth : deepest;
            seen += leaves[i];
        }
        CHECK_EQ(seen + leaves[COUNT - 1], COUNT * (COUNT - 1) / 2);
        CHECK_MSG(deepest <= 11, "%d nodes pending", deepest);
    }
    fields[0].parent = 5;
    fields[5].parent = 0;
    CHECK(sup_composition_tree_build(NULL, fields, COUNT, siblings, leaves, nodes, NULL, &error) == SUP_ERROR_DATA);
}
