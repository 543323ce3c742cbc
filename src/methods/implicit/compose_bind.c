/* compose_bind.c - writes the operator tables, controllers, composition tree and muscles of a character into its model.
 *
 * Based on: [vaillant2014iso] section 4.1. */
#include "methods/implicit/compose_bind.h"

#include "math/affine.h"
#include "methods/implicit/operators.h"
#include "methods/implicit/composition_tree.h"

#include <math.h>

enum { NODE_INTS = 3, MUSCLE_INTS = 4, BEND_INTS = 3 };
_Static_assert(sizeof(sup_compose_node) == NODE_INTS * sizeof(int32_t), "part of the file format");
_Static_assert(sizeof(sup_compose_bend) == BEND_INTS * sizeof(int32_t), "part of the file format");
_Static_assert(sizeof(sup_compose_muscle) == MUSCLE_INTS * sizeof(int32_t), "part of the file format");

typedef struct binding {
    const sup_rig *rig;
    const sup_setup *setup;
    const sup_fields_bound *bound;
    sup_model_builder *builder;
    sup_compose *compose;
    sup_tree_field *fields; /* [field_count] */
    int64_t skin_count;
    const float *skin;                     /* [skin_count*3] */
    int32_t table_of[SUP_SETUP_OPERATORS]; /* table of an operator, -1 if no joint uses it */
    int32_t table_count;
} binding;

/* Operator and controller of the joints between a field and its parent: the nearest joint with an explicit choice
 * wins. */
static sup_setup_joint joint_choice(const binding *b, int32_t field)
{
    const sup_fields *fields = &b->bound->fields;
    int32_t parent = b->bound->field_parent[field], last = parent >= 0 ? fields->fields[parent].joint : -1;
    sup_setup_joint choice = {-1, -1};
    for (int32_t j = fields->fields[field].joint; j >= 0 && j != last; j = b->rig->joint_parent[j]) {
        if (choice.op < 0) choice.op = b->setup->joints[j].op;
        if (choice.controller < 0) choice.controller = b->setup->joints[j].controller;
    }
    return choice;
}

static int32_t preset_named(const char *name)
{
    int32_t i = 0;
    while (i + 1 < SUP_CONTROLLER_PRESETS && !sup_text_equal(sup_controller_preset_at(i)->name, name))
        i++;
    return i;
}

static void describe_field(binding *b, int32_t field)
{
    const sup_bone_field *record = &b->bound->fields.fields[field];
    sup_tree_field *f = &b->fields[field];
    int32_t region_count = b->bound->regions.region_count, muscle = field - region_count;
    sup_setup_joint choice = muscle >= 0 ? b->setup->muscle_joints[muscle] : joint_choice(b, field);
    *f = (sup_tree_field){.parent = b->bound->field_parent[field], .size = (double)record->radius};
    f->table = choice.op >= 0 ? choice.op : SUP_OPERATOR_CONTACT;
    /* Bulges start at small angles (figure 4 b); a muscle blends with its limb. */
    f->controller = choice.controller >= 0             ? choice.controller
                    : muscle >= 0                      ? preset_named("none")
                    : f->table == SUP_OPERATOR_CONTACT ? SUP_CONTROLLER_ELBOW
                                                       : preset_named("finger");
    f->first = muscle >= 0 || f->table != SUP_OPERATOR_CONTACT;
    for (int32_t axis = 0; axis < 3; axis++) { /* centre of its grid */
        f->position[axis] = (double)record->from_grid[4 * axis + 3];
        for (int32_t k = 0; k < 3; k++)
            f->position[axis] += 0.5 * (record->size[k] - 1) * (double)record->from_grid[4 * axis + k];
    }
}

/* Builds the tables that are used and replaces operator indices by table indices. */
static sup_result add_tables(const sup_context *context, binding *b, sup_error *error)
{
    int32_t field_count = b->bound->fields.field_count;
    sup_profile profiles[SUP_SETUP_OPERATORS];
    for (int32_t op = 0; op < SUP_SETUP_OPERATORS; op++) {
        bool used = op == SUP_OPERATOR_CONTACT; /* used between siblings */
        for (int32_t f = 0; f < field_count && !used; f++)
            used = b->fields[f].table == op;
        b->table_of[op] = used ? b->table_count : -1;
        if (used) profiles[b->table_count++] = b->setup->profiles[op];
    }
    for (int32_t f = 0; f < field_count; f++)
        b->fields[f].table = b->table_of[b->fields[f].table];
    float *tables =
        sup_model_add(b->builder, "compose.table", SUP_ARRAY_FLOAT, (int64_t)b->table_count * SUP_OPERATOR_SIZE);
    if (tables == NULL) return sup_fail_memory(error, "the operators");
    b->compose->tables = tables;
    b->compose->table_count = b->table_count;
    return sup_operators_build(context, profiles, b->table_count, tables, error);
}

static sup_result add_curves(binding *b, sup_error *error)
{
    const sup_setup *s = b->setup;
    int64_t controllers = (int64_t)s->controller_count * SUP_CONTROLLER_SIZE;
    float *controller = sup_model_add(b->builder, "compose.controller", SUP_ARRAY_FLOAT, controllers);
    int32_t swelling = 0;
    for (int32_t m = 0; m < s->muscle_count; m++)
        swelling += s->swell_joint[m] >= 0 ? 1 : 0;
    float *curve = sup_model_add(b->builder, "compose.curve", SUP_ARRAY_FLOAT, (int64_t)swelling * SUP_CONTROLLER_SIZE);
    sup_compose_muscle *muscle =
        sup_model_add(b->builder, "compose.muscle", SUP_ARRAY_INT32, (int64_t)swelling * MUSCLE_INTS);
    if (controller == NULL || curve == NULL || muscle == NULL) return sup_fail_memory(error, "the controllers");
    memcpy(controller, s->controllers, (size_t)controllers * sizeof *controller);
    for (int32_t m = 0, found = 0; m < s->muscle_count; m++) {
        int32_t joint = s->swell_joint[m];
        if (joint < 0) continue;
        muscle[found] =
            (sup_compose_muscle){b->bound->regions.region_count + m, joint, b->rig->joint_parent[joint], found};
        memcpy(curve + (size_t)found * SUP_CONTROLLER_SIZE, s->swell[m], sizeof s->swell[m]);
        found++;
    }
    b->compose->controllers = controller;
    b->compose->controller_count = s->controller_count;
    b->compose->curves = curve;
    b->compose->muscles = muscle;
    b->compose->curve_count = b->compose->muscle_count = swelling;
    return SUP_OK;
}

/* Position of the joint between a field and its parent, and its distance from the skin. */
static void set_pivot(const binding *b, int32_t field, float pivot[4])
{
    sup_mat34 bind = b->rig->joint_bind[b->bound->fields.fields[field].joint];
    sup_vec3d at = sup_affine_point(sup_affine_from_float(bind), sup_v3(0, 0, 0));
    double nearest = INFINITY;
    for (int64_t v = 0; v < b->skin_count; v++)
        nearest = fmin(nearest, sup_v3_distance(at, sup_v3_load(b->skin + 3 * v)));
    sup_v3_store(pivot, at);
    pivot[3] = (float)nearest;
}

static sup_result add_tree(const sup_context *context, binding *b, sup_arena *arena, sup_error *error)
{
    const int32_t count = b->bound->fields.field_count, siblings[2] = {0, SUP_CONTROLLER_ELBOW};
    int64_t between = count > 1 ? count - 1 : 0;
    int32_t *leaves = sup_model_add(b->builder, "compose.leaf", SUP_ARRAY_INT32, count);
    sup_compose_node *nodes = sup_model_add(b->builder, "compose.node", SUP_ARRAY_INT32, between * NODE_INTS);
    int32_t *parent_node = sup_arena_alloc(arena, (size_t)count, sizeof *parent_node), bends = 0;
    if (leaves == NULL || nodes == NULL || parent_node == NULL) return sup_fail_memory(error, "the composition tree");
    b->compose->leaves = leaves;
    b->compose->nodes = nodes;
    sup_result result =
        sup_composition_tree_build(context, b->fields, count, siblings, leaves, nodes, parent_node, error);
    if (result != SUP_OK) return result;
    for (int32_t f = 0; f < b->bound->regions.region_count; f++)
        bends += parent_node[f] >= 0 ? 1 : 0;
    sup_compose_bend *bend = sup_model_add(b->builder, "compose.bend", SUP_ARRAY_INT32, (int64_t)bends * BEND_INTS);
    float *pivot = sup_model_add(b->builder, "compose.pivot", SUP_ARRAY_FLOAT, 4 * (int64_t)bends);
    if (bend == NULL || pivot == NULL) return sup_fail_memory(error, "the composition tree");
    b->compose->bends = bend;
    b->compose->pivots = pivot;
    b->compose->bend_count = bends;
    for (int32_t node = 0; node < count; node++)
        for (int32_t f = 0; f < b->bound->regions.region_count; f++)
            if (parent_node[f] == node) {
                *bend++ = (sup_compose_bend){node, f, b->bound->field_parent[f]};
                set_pivot(b, f, pivot);
                pivot += 4;
            }
    return SUP_OK;
}

sup_result sup_compose_bind(const sup_bind_input *input, const sup_setup *setup, const sup_fields_bound *bound,
                            const float *skin, int32_t skin_count, sup_arena *arena, sup_model_builder *builder,
                            sup_compose *compose, sup_error *error)
{
    binding b = {.rig = input->rig, .setup = setup, .bound = bound, .builder = builder, .compose = compose};
    b.skin = skin;
    b.skin_count = skin_count;
    b.fields = sup_arena_alloc(arena, (size_t)bound->fields.field_count, sizeof *b.fields);
    if (b.fields == NULL) return sup_fail_memory(error, "the composition tree");
    *compose = (sup_compose){.fields = bound->fields};
    for (int32_t f = 0; f < bound->fields.field_count; f++)
        describe_field(&b, f);
    sup_result result = add_tables(input->context, &b, error);
    if (result == SUP_OK) result = add_tree(input->context, &b, arena, error);
    return result == SUP_OK ? add_curves(&b, error) : result;
}

static sup_result damaged(sup_error *error)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                    "The model is damaged: its composition tree is inconsistent. Bind it again.");
}

sup_result sup_compose_open(const sup_model *model, int32_t joint_count, sup_compose *compose, sup_error *error)
{
    sup_compose c = {0};
    sup_result result = sup_fields_open(model, joint_count, &c.fields, error);
    if (result != SUP_OK) return result;
    int64_t count = c.fields.field_count, nodes = count > 0 ? count - 1 : 0;
    int64_t tables = sup_model_array_count(model, "compose.table"),
            curves = sup_model_array_count(model, "compose.curve");
    int64_t controllers = sup_model_array_count(model, "compose.controller");
    int64_t muscles = sup_model_array_count(model, "compose.muscle"),
            bends = sup_model_array_count(model, "compose.bend");
    c.leaves = sup_model_array(model, "compose.leaf", SUP_ARRAY_INT32, count);
    c.nodes = sup_model_array(model, "compose.node", SUP_ARRAY_INT32, nodes * NODE_INTS);
    c.tables = sup_model_array(model, "compose.table", SUP_ARRAY_FLOAT, -1);
    c.controllers = sup_model_array(model, "compose.controller", SUP_ARRAY_FLOAT, -1);
    c.curves = sup_model_array(model, "compose.curve", SUP_ARRAY_FLOAT, -1);
    c.muscles = sup_model_array(model, "compose.muscle", SUP_ARRAY_INT32, -1);
    c.bends = sup_model_array(model, "compose.bend", SUP_ARRAY_INT32, -1);
    c.pivots = sup_model_array(model, "compose.pivot", SUP_ARRAY_FLOAT, bends / BEND_INTS * 4);
    if (c.leaves == NULL || c.bends == NULL || c.pivots == NULL || bends % BEND_INTS != 0 || bends > INT32_MAX ||
        c.nodes == NULL || c.tables == NULL || c.controllers == NULL || c.curves == NULL || c.muscles == NULL ||
        tables % SUP_OPERATOR_SIZE != 0 || curves % SUP_CONTROLLER_SIZE != 0 ||
        controllers % SUP_CONTROLLER_SIZE != 0 || muscles % MUSCLE_INTS != 0 || muscles > INT32_MAX)
        return damaged(error);
    c.table_count = (int32_t)(tables / SUP_OPERATOR_SIZE);
    c.controller_count = (int32_t)(controllers / SUP_CONTROLLER_SIZE);
    c.curve_count = (int32_t)(curves / SUP_CONTROLLER_SIZE);
    c.bend_count = (int32_t)(bends / BEND_INTS);
    c.muscle_count = (int32_t)(muscles / MUSCLE_INTS);
    if (!sup_compose_check(&c, joint_count)) return damaged(error);
    *compose = c;
    return SUP_OK;
}
