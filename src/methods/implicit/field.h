/* field.h (internal) - scalar fields of the bones: 1 deep inside a limb, 0.5 on its skin, 0 outside of its support.
 *
 * Based on: [vaillant2014iso] section 3, with the fits of [vaillant2013].
 *
 * Each field is stored on its own grid, aligned with its bone, in the bind pose's world space. Value and gradient come
 * from one interpolant of the nodes, so that one is the exact derivative of the other. Outside of its grid a field is
 * 0. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_H
#define SUP_METHODS_IMPLICIT_FIELD_H

#include "base/base.h"
#include "supple/model.h"

enum {
    SUP_FIELD_LANES = 16, /* points evaluated together, on every processor */
    SUP_FIELD_PADDING = 16
};

/* A record of a model. The interpolant is the quadratic B-spline whose coefficients are the nodes: it is C1 everywhere
 * because the outermost two layers of nodes are 0. */
typedef struct sup_bone_field {
    int32_t joint;       /* index of the model's joint that moves it */
    int32_t first;       /* index of its first node in `nodes` */
    int32_t size[3];     /* nodes along each axis, x fastest; at least 5 */
    float radius;        /* r of the compact map, file units; the gradient on the skin is about 15/16/r */
    float to_grid[12];   /* 3x4 row-major: world space of the bind pose to node coordinates */
    float from_grid[12]; /* the inverse */
} sup_bone_field;

/* The arrays of a model as the step reads them. */
typedef struct sup_fields {
    int32_t field_count;
    const sup_bone_field *fields; /* [field_count] */
    const float *nodes;           /* [node_count] coefficients of the interpolants */
    int64_t node_count; /* includes SUP_FIELD_PADDING unused nodes at the end: rows are read four floats at a time */
} sup_fields;

/* A batch of points, world space of the pose; unused lanes repeat a used one. */
typedef struct sup_field_points {
    float x[SUP_FIELD_LANES], y[SUP_FIELD_LANES], z[SUP_FIELD_LANES];
} sup_field_points;

/* Values and gradients of a field, or of a composition, at a batch of points. Gradients point inwards, 1/file unit. */
typedef struct sup_field_samples {
    float value[SUP_FIELD_LANES];
    float x[SUP_FIELD_LANES], y[SUP_FIELD_LANES], z[SUP_FIELD_LANES]; /* gradient */
} sup_field_samples;

/* On which side of a contact a point is. `own` is input, all others are output. */
typedef struct sup_field_sides {
    float own[SUP_FIELD_LANES];       /* leaf that the point belongs to; -1: none */
    float own_value[SUP_FIELD_LANES]; /* value of that leaf; negative where another field overlaps it */
    float contact[SUP_FIELD_LANES];   /* contact depth between the own and another field, 0 to 1 */
    sup_field_samples side; /* own minus other value: 0 on the contact surface, where the composed field has no slope */
    sup_field_samples end;  /* distance to the end of the contact surface, unit direction out of the fold */
    sup_field_samples own_limb;   /* strongest field of the own and adjacent joints; 1 where `own` is -1 */
    sup_field_samples other_limb; /* strongest field of other limbs and of joints two or more away */
} sup_field_sides;

/* `to_grid` 3x4 row-major maps the points to the field's node coordinates (pose included); gradients are in the space
 * of the points. Selected once for the processor by sup_field_evaluator(). */
typedef void sup_field_evaluate_fn(const sup_fields *fields, int32_t field, const float to_grid[12],
                                   const sup_field_points *points, sup_field_samples *samples);
sup_field_evaluate_fn *sup_field_evaluator(void);

/* Opens the fields of a model, which may come from a file; on success they are safe to evaluate. `joint_count`: number
 * of joints of the model. */
sup_result sup_fields_open(const sup_model *model, int32_t joint_count, sup_fields *fields, sup_error *error);

/* The compact map of the papers: from a distance t in radii, negative inside, to 1 at t <= -1, 0.5 at 0, 0 at t >= 1.
 * Its first and second derivatives are 0 at both ends. */
static inline double sup_field_compact(double t)
{
    if (t <= -1.0) return 1.0;
    if (t >= 1.0) return 0.0;
    return 0.5 + t * (-15.0 / 16.0 + t * t * (5.0 / 8.0 - 3.0 / 16.0 * t * t));
}

#endif
