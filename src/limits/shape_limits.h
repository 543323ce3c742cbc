/* shape_limits.h (internal) - limits of the distortion of a skin, relative to a reference skin such as linear blending.
 *
 * Where an edge is stretched or compressed beyond a limit, or a triangle turns over, and the reference is better there,
 * the skin is blended towards the reference, as little as needed, with weights that decrease around it. Weights grow
 * from zero at the limit; they grow fast where the reference is at the limit itself. Where nothing exceeds a limit,
 * nothing changes, and the reference is not computed.
 *
 * Constants are in shape_limits_tuning.h, decisions in shape_limits_rules.h. */
#ifndef SUP_LIMITS_SHAPE_LIMITS_H
#define SUP_LIMITS_SHAPE_LIMITS_H

#include "bind/model.h"
#include "supple/rig.h"

/* The welded skin of a model; the arrays lie in its memory block. */
typedef struct sup_shape_limits {
    int32_t vertex_count, triangle_count, render_count; /* render_count: vertices of the output */
    float size;                                         /* of the character, file units */
    const int32_t *triangles;                           /* [triangle_count*3] */
    const int32_t *adjacent;  /* [triangle_count*3] triangles at the edges, -1 for none; all -1: not judged */
    const float *side_length; /* [triangle_count*3] rest lengths of the sides 01, 12 and 20, as neighbour_length */
    const int32_t *neighbour_first; /* [vertex_count+1] */
    const int32_t *neighbours;      /* along edges */
    const float *neighbour_length;  /* rest lengths of those edges; negative: the edge is not judged */
    const int32_t *render_first;    /* [vertex_count+1] */
    const int32_t *render_vertices; /* output vertices at each vertex */
} sup_shape_limits;

/* excluded: [skin_vertex_count] 1: edges and triangles with this vertex are not judged; NULL: none. */
sup_result sup_shape_limits_bind(const sup_context *context, const sup_rig *rig, const unsigned char *excluded,
                                 sup_model_builder *builder, sup_error *error);
/* Fails when the arrays do not fit together. */
sup_result sup_shape_limits_open(const sup_model *model, sup_shape_limits *limits, sup_error *error);

/* Scratch size in bytes, a multiple of 64. */
size_t sup_shape_limits_scratch(const sup_shape_limits *limits);

typedef struct sup_shape_limits_def {
    /* Writes the reference positions of all output vertices [render_count*3]; called at most once, if anything exceeds
     * a limit. */
    sup_result (*reference)(void *user, float *positions);
    float amount; /* of the limits: 0 none, 1 all */
    void *user;
} sup_shape_limits_def;

/* Applies the limits to out->positions. */
sup_result sup_shape_limits_apply(const sup_context *context, const sup_shape_limits *limits,
                                  const sup_shape_limits_def *def, void *scratch, const sup_skin_out *out);

#endif
