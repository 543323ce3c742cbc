/* compose_internal.h (internal) - declarations shared by compose.c and its kernels. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_INTERNAL_H
#define SUP_METHODS_IMPLICIT_COMPOSE_INTERNAL_H

#include "methods/implicit/compose.h"
#include "methods/implicit/controllers.h"
#include "methods/implicit/operators.h"

/* A posed joint: the skin may fold into the plane between its two bones, up to a line in front of the joint. */
typedef struct sup_compose_fold {
    float centre[3], out[3]; /* unit vector, halfway between the bones */
    float end;               /* distance of that line from the centre along `out` */
    float depth;             /* d of the contact outside of that line */
    float fade;              /* inverse of the length behind the line over which d falls to 0 */
} sup_compose_fold;

/* Operator, controller and folds of one node. */
typedef struct sup_compose_node_input {
    const float *table, *controller;
    int32_t fold_count;
    const sup_compose_fold *folds;
} sup_compose_node_input;

typedef struct sup_compose_operand {
    sup_field_samples samples;
    float own_mask[SUP_FIELD_LANES]; /* 1 in lanes whose own leaf is in this operand, else 0 */
    sup_field_sides sides;           /* valid in those lanes */
    bool in_contact;                 /* some of those lanes may be in contact */
} sup_compose_operand;

typedef struct sup_compose_kernels {
    /* Sets a to g(a, b), and combines the sides if `sides` is set. */
    void (*combine)(const sup_compose_node_input *input, const sup_field_points *points, bool sides,
                    const sup_compose_operand *b, sup_compose_operand *a);
    /* Bit k: box k of SUP_FIELD_LANES, `stride` floats between coordinates, overlaps the bounds [6]. */
    uint32_t (*overlapping_boxes)(const float *boxes, int32_t stride, const float *bounds);
} sup_compose_kernels;

extern const sup_compose_kernels sup_compose_kernels_base, sup_compose_kernels_avx2, sup_compose_kernels_avx512;

#endif
