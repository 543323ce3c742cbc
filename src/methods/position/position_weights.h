/* position_weights.h (internal) - skinning weights of particles inside a skin. */
#ifndef SUP_METHODS_POSITION_POSITION_WEIGHTS_H
#define SUP_METHODS_POSITION_POSITION_WEIGHTS_H

#include "geometry/bvh.h"
#include "skin/simulated_surface.h"
#include "volume/tetmesh.h"

/* joints, weights: [vertex_count of the mesh * SUP_POSITION_INFLUENCES], largest first, sum 1 per particle. Surface
 * particles get the weights of the nearest skin point; interior weights are harmonic: smooth, without interior maxima.
 * `skin` is the tree of surface->coarse_triangles. */
sup_result sup_position_weights(const sup_context *context, const sup_simulated_surface *surface, const sup_bvh *skin,
                                int32_t joint_count, const sup_tetmesh *mesh, int32_t *joints, float *weights,
                                sup_error *error);

#endif
