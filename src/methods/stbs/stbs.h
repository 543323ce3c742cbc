/* stbs.h (internal) - stretchable, twistable bones.
 *
 * Based on: [jacobson2011stbs]. Besides its weight, a vertex has for each joint its place e along the joint's bone,
 * from 0 at the joint to 1 at the joint's child. Twist and stretch of a bone are spread along it:
 *     v' = sum_j w_j M_j (K_j(theta_j(e_j)) u + e_j s_j)
 * K_j turns about the bone, theta_j goes linearly from its value at the joint to that at the child, and s_j is the way
 * of the child relative to the bone.
 *
 * Deviations: (1) Only bones with one child joint, of those that move skin, stretch and twist. (2) Such a joint's own
 * twist against its parent is spread along its bone: forearm and upper arm turn from their joint on, not as a whole.
 * The twist of a joint without such a bone, a hand or a leaf, is spread along the bone of its parent. In the paper the
 * user chooses. (3) e is the projection on the bone, clamped with rounded corners; the paper computes it as weights
 * over the mesh. (4) s_j is any vector, not only along the bone. Without twist and stretch it is linear blending, bit
 * for bit. */
#ifndef SUP_METHODS_STBS_STBS_H
#define SUP_METHODS_STBS_STBS_H

#include "skin/skin.h"

extern const sup_method sup_method_stbs;

enum { SUP_STBS_RIGID, SUP_STBS_TWIST, SUP_STBS_STRETCH, SUP_STBS_PARAM_COUNT };

/* Names of arrays: parent [joint_count] and only child [joint_count] of the joints, -1 for none; unit vectors along
 * the bones [joint_count*3], zero for joints without a bone that stretches; e of each slot (1 channel). */
#define SUP_STBS_PARENT "stbs_parent"
#define SUP_STBS_CHILD "stbs_child"
#define SUP_STBS_AXIS "stbs_axis"
#define SUP_STBS_ALONG "along"

/* e of a point at `t` bone lengths from the joint along the bone. */
double sup_stbs_along(double t);

/* Joints of a pose: M (K(theta) u + e s) = (motion + sin theta sine + (1 - cos theta) versine) u + e stretch. */
typedef struct sup_stbs_joints {
    const float *motion;         /* [joint_count*12] world(joint) * inverse bind, row-major */
    const float *sine, *versine; /* [joint_count*12] */
    const float *spread;         /* [joint_count*12] 0: theta at e = 0, 1: d theta / d e, 3, 7, 11: stretch */
    const unsigned char *active; /* [joint_count] 0: only motion is set, the bone has no twist or stretch */
    const float *along;          /* of the model */
} sup_stbs_joints;

sup_skin_kernel sup_stbs_window_base, sup_stbs_window_avx2, sup_stbs_window_avx512;

/* The step with kernels of `lanes` lanes, for tests and benchmarks. */
sup_result sup_stbs_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

#endif
