/* compose_internal.h (internal) - what compose.c and its kernels share. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_INTERNAL_H
#define SUP_METHODS_IMPLICIT_COMPOSE_INTERNAL_H

#include "methods/implicit/compose.h"
#include "methods/implicit/controllers.h"
#include "methods/implicit/operators.h"

/* A joint in a pose: skin may fold into the plane between its two bones, but not beyond a line before the joint. */
typedef struct sup_compose_fold {
    float centre[3], out[3]; /* unit, half-way between the bones */
    float end;               /* distance of that line from the centre, along `out` */
    float depth;             /* d of the contact before it */
    float fade;              /* inverse of the way behind the line on which d goes to 0 */
} sup_compose_fold;

/* What composes in a node. */
typedef struct sup_compose_node_input {
    const float *table, *controller;
    int32_t fold_count;
    const sup_compose_fold *folds;
} sup_compose_node_input;

typedef struct sup_compose_operand {
    sup_field_samples samples;
    float mine[SUP_FIELD_LANES]; /* 1 in lanes whose own leaf is felt in it, else 0 */
    sup_field_sides sides;       /* of those */
    bool in_contact;                  /* some of them may be in a contact */
} sup_compose_operand;

typedef struct sup_compose_kernels {
    /* a becomes g(a, b); and its sides too where they are asked for. */
    void (*combine)(const sup_compose_node_input *input, const sup_field_points *points, bool sides,
                    const sup_compose_operand *b, sup_compose_operand *a);
    /* Bit k: box k of SUP_FIELD_LANES, `stride` floats from coordinate to coordinate, meets the block [6]. */
    uint32_t (*overlapping_boxes)(const float *boxes, int32_t stride, const float *bounds);
} sup_compose_kernels;

extern const sup_compose_kernels sup_compose_kernels_base, sup_compose_kernels_avx2, sup_compose_kernels_avx512;

#endif
