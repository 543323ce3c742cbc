/* compose.h (internal) - the fields of all bones as one: the implicit skin is where it is 0.5.
 *
 * Based on: [vaillant2014iso] section 4.1. A tree of binary operators; leaves are fields, operators are tables over
 * (f1, f2, d) (operators.h), and d depends on the angle between the two gradients through a controller (controllers.h).
 *
 * The tree is kept as a row: its leaves from left to right, and between two neighbours the node where they meet, with
 * a rank that says in which order nodes are composed. Leaves that are not felt at a point are left out, and so are
 * their nodes; of the nodes between two leaves that are, the one of highest rank composes. Any ranks make a tree. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_H
#define SUP_METHODS_IMPLICIT_COMPOSE_H

#include "methods/implicit/field.h"

enum { SUP_COMPOSE_DEPTH = 24 }; /* most nodes that may wait for their right side; a tree of n leaves needs log2 n */

/* Records of a model. */
typedef struct sup_compose_node {
    int32_t rank;       /* lower ones are composed first; equal ones from left to right */
    int32_t table;      /* operator */
    int32_t controller; /* d of the angle */
} sup_compose_node;

/* A field that swells as a joint bends: its scale across its bone is a curve of the joint's angle. */
typedef struct sup_compose_muscle {
    int32_t field;
    int32_t joint, parent; /* rows of the model's joints; parent -1: the angle is that against the bind pose */
    int32_t curve;
} sup_compose_muscle;

/* A joint between a field and the one above it: where they meet, skin folds. Records stand in the order of nodes. */
typedef struct sup_compose_bend {
    int32_t node, field, above;
} sup_compose_bend;

/* The arrays of a model as the step sees them. A model carries the tables that its joints use, 0.6 MB each: they are built
 * in a twentieth of a second, and a model stays one block without pointers that any process can load. */
typedef struct sup_compose {
    sup_fields fields;
    const int32_t *leaves;         /* [fields.field_count] fields from left to right, each once */
    const sup_compose_node *nodes; /* [fields.field_count-1] between neighbours */
    int32_t table_count;
    const float *tables; /* [table_count*SUP_OPERATOR_SIZE] */
    int32_t controller_count;
    const float *controllers; /* [controller_count*SUP_CONTROLLER_SIZE] */
    int32_t muscle_count;
    const sup_compose_muscle *muscles; /* [muscle_count] a field at most once */
    int32_t curve_count;
    const float *curves; /* [curve_count*SUP_CONTROLLER_SIZE] scales over the angle */
    int32_t bend_count;
    const sup_compose_bend *bends; /* [bend_count] a node may have several, or none */
    const float *pivots; /* [bend_count*4] the joint in the bind pose's world space, and how far skin is from it */
} sup_compose;

/* Whether records that came from a file are safe to evaluate. `joint_count` rows of joints there will be. */
bool sup_compose_check(const sup_compose *compose, int32_t joint_count);

/* Fields in a pose, in the caller's memory: sup_compose_posed_size bytes, 64-aligned. */
typedef struct sup_posed_fields {
    sup_field_evaluate_fn *evaluate;
    float *to_grid;                 /* [field_count*12] world space of the pose to node coordinates, by leaf */
    float *box;                     /* [6*stride] where a field is not 0, world space: low x y z, high x y z, by leaf */
    struct sup_compose_fold *folds; /* [bend_count] */
    int32_t *fold_first;            /* [stride+1] by node; none where no joint of it is bent */
    int32_t *limb, *above;          /* [stride] by field: the first one of its joint, and the field above that or -1 */
    int32_t stride;                 /* leaves, rounded up to SUP_FIELD_LANES */
} sup_posed_fields;

size_t sup_compose_posed_size(const sup_compose *compose);
/* `evaluate`: sup_field_evaluator(). */
sup_posed_fields sup_compose_posed_open(const sup_compose *compose, sup_field_evaluate_fn *evaluate, void *memory);

/* Which fields belong to one limb, whatever the pose: once, before the first look that asks for sides. */
void sup_compose_find_limbs(const sup_compose *compose, sup_posed_fields *posed);
/* `joints` [joint_count*12] 3x4 row-major: bind pose's world space to the pose's. Muscles swell. A field whose joint has no
 * inverse or is not finite is felt nowhere. */
void sup_compose_pose(const sup_compose *compose, const float *joints, sup_posed_fields *posed);

/* Value and gradient of the composed field at a block of points; what a lane gets does not depend on the others. `sides`, may
 * be NULL: `own` is a leaf. Contact is the largest d of the nodes where the side of the tree that the own leaf is felt in meets
 * another, fading out where the weaker one is below 0.5 (0.25: nothing left); `side` is f1 - f2 there. Kin of a field are
 * those of its joint, of the next one above and of the next ones below. Strangers are all others, but those two joints above
 * or below. */
void sup_compose_evaluate(const sup_compose *compose, const sup_posed_fields *posed, const sup_field_points *points,
                          sup_field_samples *samples, sup_field_sides *sides);

#endif
