/* centre.h (internal) - skinning with a centre of rotation per vertex, shared by the methods cor and ddm.
 *
 * Based on: [le2016cor]: v' = B p + R S (u - p): the centre p of a vertex moves with the blended joint matrices B, the
 * vertex turns about it by R, the normalised blend of the joints' quaternions. Deviation: S, the blend of the joints'
 * stretches, is applied before R, so that scale and shear of joints are followed. Where p = u, it is linear blending.
 * */
#ifndef SUP_SKIN_CENTRE_H
#define SUP_SKIN_CENTRE_H

#include "skin/skin.h"

/* Name of the sup_skin_values with the centre of a vertex: 3 channels, bind space. */
#define SUP_CENTRE_ARRAY "centre"

/* Joints of a pose. */
typedef struct sup_centre_joints {
    const float *motion;            /* [joint_count*12] world(joint) * inverse bind, row-major */
    const float *rotation;          /* [joint_count*4] nearest rotation, unit quaternion x y z w */
    const float *stretch;           /* [joint_count*12] sup_skin_split_joint */
    const unsigned char *stretched; /* [joint_count] 0 where the stretch is the identity */
    const float *centres;           /* [cluster_count*48] of the model */
} sup_centre_joints;

sup_skin_kernel sup_centre_window_base, sup_centre_window_avx2, sup_centre_window_avx512;

/* Like the functions of a method. sup_centre_check includes sup_skin_check. */
sup_result sup_centre_check(const sup_model *model, sup_error *error);
sup_result sup_centre_layout(const sup_model *model, const sup_context *context, sup_layout *layout);
/* The step with kernels of `lanes` lanes. `rigid`: use only the strongest influence of a vertex. */
sup_result sup_centre_step(const sup_step_input *input, void *state, const sup_skin_out *out, bool rigid,
                           int32_t lanes);

#endif
