/* dualquat.h (internal) - dual quaternion skinning. */
#ifndef SUP_METHODS_DUALQUAT_DUALQUAT_H
#define SUP_METHODS_DUALQUAT_DUALQUAT_H

#include "skin/skin.h"

extern const sup_method sup_method_dualquat;

/* The joints of a pose: each is a stretch about the bind position of the joint, followed by a rigid motion. */
typedef struct sup_dualquat_joints {
    const float *rigid;             /* [joint_count*8] unit dual quaternion: real x y z w, dual x y z w */
    const float *stretch;           /* [joint_count*12] stretch, row-major, bind space */
    const unsigned char *stretched; /* [joint_count] 0 where the stretch is the identity */
} sup_dualquat_joints;

sup_skin_kernel sup_dualquat_window_base, sup_dualquat_window_avx2, sup_dualquat_window_avx512;

/* The step with kernels of `lanes` lanes, for tests and benchmarks. */
sup_result sup_dualquat_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

#endif
