/* compose.h (internal) - the fields of all bones composed into one; the implicit skin is its 0.5-surface.
 *
 * Based on: [vaillant2014iso] section 4.1. A tree of binary operators: leaves are fields, operators are tables over
 * (f1, f2, d) (operators.h), and d depends on the angle between the two gradients through a controller (controllers.h).
 *
 * The tree is stored as a sequence: its leaves from left to right, and between two neighbours the node that joins them,
 * with a rank that gives the order of composition. Leaves that are 0 at a point are skipped together with their nodes;
 * of the nodes between two nonzero leaves the one with the highest rank composes. Any ranks form a valid tree. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_H
#define SUP_METHODS_IMPLICIT_COMPOSE_H

#include "methods/implicit/field.h"

enum {
    SUP_COMPOSE_DEPTH = 24
}; /* maximum number of nodes that wait for their right operand; a tree of n leaves needs log2 n */

/* Record of a model. */
typedef struct sup_compose_node {
    int32_t rank;       /* lower ranks are composed first, equal ones from left to right */
    int32_t table;      /* operator */
    int32_t controller; /* maps the angle to d */
} sup_compose_node;

/* A field that swells as a joint bends: its scale across the bone is a curve of the joint's angle. */
typedef struct sup_compose_muscle {
    int32_t field;
    int32_t joint, parent; /* indices of the model's joints; parent -1: the angle is measured against the bind pose */
    int32_t curve;
} sup_compose_muscle;

/* A joint between a field and its parent field: the skin folds there. Records are sorted by node. */
typedef struct sup_compose_bend {
    int32_t node, field, above;
} sup_compose_bend;

/* The arrays of a model as the step reads them. A model contains the operator tables that its joints use, 0.6 MB each:
 * building them takes 0.05 s, and a model stays one pointer-free memory block that any process can load. */
typedef struct sup_compose {
    sup_fields fields;
    const int32_t *leaves;         /* [fields.field_count] fields from left to right, each once */
    const sup_compose_node *nodes; /* [fields.field_count-1] between neighbours */
    int32_t table_count;
    const float *tables; /* [table_count*SUP_OPERATOR_SIZE] */
    int32_t controller_count;
    const float *controllers; /* [controller_count*SUP_CONTROLLER_SIZE] */
    int32_t muscle_count;
    const sup_compose_muscle *muscles; /* [muscle_count] each field at most once */
    int32_t curve_count;
    const float *curves; /* [curve_count*SUP_CONTROLLER_SIZE] scale over the angle */
    int32_t bend_count;
    const sup_compose_bend *bends; /* [bend_count] a node may have several or none */
    const float *pivots; /* [bend_count*4] joint position in the bind pose, world space; distance from the skin */
} sup_compose;

/* Validates records that come from a file. `joint_count`: number of joints that will be posed. */
bool sup_compose_check(const sup_compose *compose, int32_t joint_count);

/* Fields in a pose. The caller provides the memory: sup_compose_posed_size bytes, 64-aligned. */
typedef struct sup_posed_fields {
    sup_field_evaluate_fn *evaluate;
    float *to_grid; /* [field_count*12] by leaf: world space of the pose to node coordinates */
    float *box;     /* [6*stride] by leaf: bounding box of the field's support, world space: low x y z, high x y z */
    struct sup_compose_fold *folds; /* [bend_count] */
    int32_t *fold_first;            /* [stride+1] by node; empty where no joint of the node is bent */
    int32_t *limb, *above;          /* [stride] by field: first field of the same joint; parent field of that, or -1 */
    int32_t stride;                 /* number of leaves, rounded up to SUP_FIELD_LANES */
} sup_posed_fields;

size_t sup_compose_posed_size(const sup_compose *compose);
/* `evaluate`: sup_field_evaluator(). */
sup_posed_fields sup_compose_posed_open(const sup_compose *compose, sup_field_evaluate_fn *evaluate, void *memory);

/* Finds which fields belong to one limb, independent of the pose. Call once before the first evaluation with sides. */
void sup_compose_find_limbs(const sup_compose *compose, sup_posed_fields *posed);
/* `joints` [joint_count*12] 3x4 row-major: world space of the bind pose to that of the pose. Applies muscle swelling. A
 * field whose joint transform is singular or not finite is 0 everywhere. */
void sup_compose_pose(const sup_compose *compose, const float *joints, sup_posed_fields *posed);

/* Value and gradient of the composed field at a batch of points; lanes are independent of each other. `sides` may be
 * NULL; on input `own` is a leaf. `contact` is the largest d of the nodes that join the operand of the own leaf with
 * another one; it fades out where the weaker operand is below 0.5 and is 0 at 0.25. `side` is f1 - f2 of that node. The
 * own limb of a field are the fields of its joint, of the next joint above and of the next ones below. Other limbs are
 * all other fields except those two joints above or below. */
void sup_compose_evaluate(const sup_compose *compose, const sup_posed_fields *posed, const sup_field_points *points,
                          sup_field_samples *samples, sup_field_sides *sides);

#endif
