/* field.h (internal) - scalar fields of the bones: 1 deep inside a limb, 0.5 on its skin, 0 from some way outside on.
 *
 * Based on: [vaillant2014iso] section 3, with the fits of [vaillant2013].
 *
 * A field is kept on a grid of its own, in a frame along its bone, in the bind pose's world space. Value and gradient
 * come from one interpolant of those nodes, so that one is the derivative of the other. Outside of its grid a field is 0. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_H
#define SUP_METHODS_IMPLICIT_FIELD_H

#include "base/base.h"
#include "supple/model.h"

enum {
    SUP_FIELD_LANES = 16, /* points that are looked at together, on every processor */
    SUP_FIELD_PADDING = 16
};

/* A record of a model. The interpolant is the quadratic B-spline whose coefficients are the nodes: value and gradient go
 * on smoothly over all of space, because the outermost two layers of nodes are 0. */
typedef struct sup_bone_field {
    int32_t joint;       /* row of the model's joints that moves it */
    int32_t first;       /* its first node in `nodes` */
    int32_t size[3];     /* nodes along each axis, x fastest; 5 at least */
    float radius;        /* r of the compact map, file units: the gradient on the skin is about 15/16/r */
    float to_grid[12];   /* 3x4 row-major: world space of the bind pose to coordinates of nodes */
    float from_grid[12]; /* the inverse */
} sup_bone_field;

/* The arrays of a model as the step sees them. */
typedef struct sup_fields {
    int32_t field_count;
    const sup_bone_field *fields; /* [field_count] */
    const float *nodes;           /* [node_count] coefficients of the interpolants */
    int64_t node_count;           /* with SUP_FIELD_PADDING that belong to no field: rows are read four at a time */
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

/* On which side of a contact points are. */
typedef struct sup_field_sides {
    float own[SUP_FIELD_LANES];     /* given: what a point belongs to; -1: nothing */
    float own_value[SUP_FIELD_LANES];    /* value of that; negative where something else is felt beside it */
    float contact[SUP_FIELD_LANES]; /* how much that is in contact with something else, 0 to 1 */
    sup_field_samples
        side; /* how much more of its own is felt than of the other: 0 on the sheet, where the composition of both
                             * has no slope but this has one */
    sup_field_samples
        end; /* way that is left until the sheet ends at a joint, and the unit direction out of the fold */
    sup_field_samples own_limb;     /* the strongest of that and of what its limb goes on with at the next joints; 1 where it
                            * belongs to nothing */
    sup_field_samples other_limb; /* the strongest of those that are two joints away or more, or in another limb */
} sup_field_sides;

/* `to_grid` 3x4 row-major takes the points to the field's node coordinates (pose included); gradients are those of the
 * points' space. Chosen once for the processor: sup_field_evaluator(). */
typedef void sup_field_evaluate_fn(const sup_fields *fields, int32_t field, const float to_grid[12],
                                   const sup_field_points *points, sup_field_samples *samples);
sup_field_evaluate_fn *sup_field_evaluator(void);

/* The fields of a model, which may come from a file: what passes is safe to evaluate. `joint_count` is that of the
 * model's joints. */
sup_result sup_fields_open(const sup_model *model, int32_t joint_count, sup_fields *fields, sup_error *error);

/* The compact map of the papers: from a distance t in radii, negative inside, to 1 at t <= -1, 0.5 at 0, 0 at t >= 1. Its
 * first and second derivatives are 0 at both ends. */
static inline double sup_field_compact(double t)
{
    if (t <= -1.0) return 1.0;
    if (t >= 1.0) return 0.0;
    return 0.5 + t * (-15.0 / 16.0 + t * t * (5.0 / 8.0 - 3.0 / 16.0 * t * t));
}

#endif
