/* weights.h (internal) - skinning weights computed from geometry, for characters without weights. */
#ifndef SUP_RIG_WEIGHTS_H
#define SUP_RIG_WEIGHTS_H

#include "base/base.h"

/* A welded surface and bones in the bind pose, in one space. Bone j is the segment bone_head[j], bone_tail[j]. */
typedef struct sup_weights_input {
    const sup_context *context;
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] finite */
    const int32_t *triangles; /* [triangle_count*3] in range, not degenerate; may be open or non-manifold */
    int32_t joint_count;
    const int32_t *joint_parent;        /* [joint_count] -1 for roots */
    const float *bone_head, *bone_tail; /* [joint_count*3] */
    int32_t max_influences;             /* at least 1 */
} sup_weights_input;

/* Influences: [vertex_count*max_influences] each, largest first per vertex, unused entries joint 0 weight 0; the
 * weights of a vertex sum to 1. */
typedef struct sup_weights_output {
    int32_t *joints;
    float *weights;
} sup_weights_output;

/* Eq. 4.1 of the position based skinning thesis: the nearest bone, blended equally with its neighbours near its
 * ends. */
sup_result sup_weights_nearest(const sup_weights_input *input, const sup_weights_output *output, sup_error *error);
/* Heat diffusion from the nearest visible bones (Baran and Popovic 2007); also for open and non-manifold meshes. */
sup_result sup_weights_heat(const sup_weights_input *input, const sup_weights_output *output, sup_error *error);

#endif
