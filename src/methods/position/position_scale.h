/* position_scale.h (internal) - rest lengths and volumes under authored scale of the joints (squash and stretch).
 *
 * The matrix of a joint, bind pose to world, is M = R S with a rotation R and the stretch S. The stretch of a particle
 * is the mean of those of its joints, by their weights. Rest lengths, volumes and distances to the bones are those of
 * the rest shape under the stretch of their particles. Without scale nothing is computed, and those of the model are
 * used. */
#ifndef SUP_METHODS_POSITION_POSITION_SCALE_H
#define SUP_METHODS_POSITION_POSITION_SCALE_H

#include "methods/position/position.h"

/* Size of the state in bytes, a multiple of 64. */
size_t sup_position_scale_size(const sup_position_view *view);

/* Rest values of one pose, in `state`; NULL without scale. */
typedef struct sup_position_scaled {
    const float *volume_rest;   /* as in sup_pbd */
    const float *stretch_rest;  /* as in sup_pbd */
    const float *bone_distance; /* [slot_count] distance to the bone, file units */
    float deviation;            /* largest entry of a stretch, minus the identity; 0 without scale */
} sup_position_scaled;

sup_position_scaled sup_position_scale(const sup_context *context, const sup_position_view *view,
                                       const sup_mat34 *joints, void *state);

#endif
