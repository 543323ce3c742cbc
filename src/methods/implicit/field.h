/* field.h (internal) - scalar fields of the bones: 1 deep inside a limb, 0.5 on its skin, 0 from some way outside on.
 *
 * Based on: [vaillant2014] section 3, with the fits of [vaillant2013].
 *
 * A field is kept on a grid of its own, in a frame along its bone, in the bind pose's world space. Value and gradient
 * come from one interpolant of those nodes, so that one is the derivative of the other. Outside of its grid a field is 0. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_H
#define SUP_METHODS_IMPLICIT_FIELD_H

#include "base/base.h"

enum { SUP_FIELD_LANES = 16 }; /* points that are looked at together, on every processor */

/* A record of a model. */
typedef struct sup_field {
    int32_t joint;       /* row of the model's joints that moves it */
    int32_t first;       /* its first node in `nodes` */
    int32_t size[3];     /* nodes along each axis, x fastest */
    float radius;        /* r of the compact map, file units: the gradient on the skin is about 15/16/r */
    float to_grid[12];   /* 3x4 row-major: world space of the bind pose to coordinates of nodes */
    float from_grid[12]; /* the inverse */
} sup_field;

/* The arrays of a model as the step sees them. */
typedef struct sup_fields {
    int32_t field_count;
    const sup_field *fields; /* [field_count] */
    const float *nodes;      /* coefficients of the interpolant */
    int64_t node_count;
} sup_fields;

/* Points of one block, world space of the pose; unused lanes repeat a used one. */
typedef struct sup_field_points {
    float x[SUP_FIELD_LANES], y[SUP_FIELD_LANES], z[SUP_FIELD_LANES];
} sup_field_points;

/* What a field, or several composed, say at those points. Gradients point inwards, 1/file unit. */
typedef struct sup_field_samples {
    float value[SUP_FIELD_LANES];
    float x[SUP_FIELD_LANES], y[SUP_FIELD_LANES], z[SUP_FIELD_LANES]; /* gradient */
} sup_field_samples;

/* `to_grid` 3x4 row-major takes the points to the field's node coordinates (pose included); gradients are those of the
 * points' space. Chosen once for the processor: sup_field_evaluator(). */
typedef void sup_field_evaluate_fn(const sup_fields *fields, int32_t field, const float to_grid[12],
                                   const sup_field_points *points, sup_field_samples *samples);
sup_field_evaluate_fn *sup_field_evaluator(void);

#endif
