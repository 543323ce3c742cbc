/* carry.h (internal) - the shown skin rides on the particles of the body's surface.
 *
 * A shown vertex takes the displacement that the corners of the nearest surface triangle have beyond linear blending, by
 * barycentric weights, on top of its own linear blending; normals take the change of the corners' normals the same way. */
#ifndef SUP_METHODS_POSITION_CARRY_H
#define SUP_METHODS_POSITION_CARRY_H

#include "base/base.h"
#include "supple/model.h"

enum { SUP_CARRY_WIDTH = 4 };

typedef struct sup_carry {
    int32_t vertex_count, surface_count, triangle_count;
    const int32_t *surface_row;     /* [surface_count] solver's row of a surface particle */
    const int32_t *index;           /* [vertex_count*SUP_CARRY_WIDTH] surface particles */
    const float *weight;            /* the same count; all 0 for vertices that do not ride */
    const int32_t *triangles;       /* [triangle_count*3] surface particles, counter-clockwise from outside */
    const int32_t *corner_first;    /* [surface_count+1] */
    const int32_t *corner_triangle; /* [triangle_count*3] triangles at a surface particle */
} sup_carry;

typedef struct sup_carry_def {
    int32_t particle_count;
    const float *positions; /* [particle_count*3] */
    int32_t triangle_count;
    const int32_t *triangles; /* [triangle_count*3] of particles */
    const int32_t *row;       /* [particle_count] */
    int32_t vertex_count;
    const float *vertices; /* [vertex_count*3] shown */
    const bool *rides;     /* [vertex_count] */
} sup_carry_def;

sup_result sup_carry_bind(const sup_context *context, const sup_carry_def *def, sup_model_builder *builder,
                          const char *prefix, sup_error *error);
sup_result sup_carry_open(const sup_model *model, const char *prefix, int32_t row_count, sup_carry *carry,
                          sup_error *error);

/* Bytes that apply works in, a multiple of 64. */
size_t sup_carry_scratch(const sup_carry *carry);
/* Adds to `out`, which holds linear blending. `moved` and `guide`: [row_count*4] particles and their linear blending;
 * `size` is the length of their unit in that of `out`. */
void sup_carry_apply(const sup_context *context, const sup_carry *carry, const float *moved, const float *guide,
                     float size, void *scratch, const sup_skin_out *out);

#endif
