/* compose.h (internal) - the fields of all bones as one: the implicit skin is where it is 0.5.
 *
 * Based on: [vaillant2014] section 4.1. A tree of binary operators; leaves are fields, operators are tables over
 * (f1, f2, d), and d depends on the angle between the two gradients through a controller. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_H
#define SUP_METHODS_IMPLICIT_COMPOSE_H

#include "methods/implicit/field.h"

/* A record of a model. Children: a field below field_count, else field_count + an earlier node. */
typedef struct sup_compose_node {
    int32_t left, right;
    int32_t table;      /* operator */
    int32_t controller; /* d of the angle */
} sup_compose_node;

/* The arrays of a model as the step sees them. Tables are shared by all characters of a process's models by content. */
typedef struct sup_compose {
    sup_fields fields;
    int32_t node_count;
    const sup_compose_node *nodes;   /* [node_count] children before parents; the last is the root */
    int32_t table_count, table_size; /* nodes along f1 and f2, and slices along d: see operators.h */
    const float *tables;
    int32_t controller_count;
    const float *controllers;
} sup_compose;

/* Fields in a pose: memory is the caller's (sup_compose_posed_size bytes of an instance's state). */
typedef struct sup_posed_fields {
    float *to_grid; /* [field_count*12] world space of the pose to node coordinates */
    float *box;     /* [field_count*6] where it is not 0, world space: low xyz, high xyz */
} sup_posed_fields;

/* `joints` [joint_count*12] 3x4 row-major: bind pose's world space to the pose's; `swell` [field_count] scale of a
 * field about its bone's axis (muscles), NULL: 1. */
void sup_compose_pose(const sup_compose *compose, const float *joints, const float *swell, sup_posed_fields *posed);

/* Value and gradient of the composed field at a block of points. `contact` [SUP_FIELD_LANES], may be NULL: d of the
 * operator that decided there, 0 where only one field is felt: near 1 the point is in a contact. */
void sup_compose_evaluate(const sup_compose *compose, const sup_posed_fields *posed, const sup_field_points *points,
                          sup_field_samples *samples, float *contact);

#endif
