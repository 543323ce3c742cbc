/* ddm.h (internal) - direct delta mush.
 *
 * Based on: [le2019ddm]. Delta mush smooths the skinned surface and adds the detail of the rest surface back. Direct
 * delta mush precomputes the smoothing: with homogeneous rest positions u_k, weights w_kj and the rows A_ik of a
 * smoothing matrix, Psi_ij = sum_k A_ik w_kj u_k u_k^T, and in a step
 *     sum_j M_j Psi_ij = [Q q; p^T 1],  R = polar(Q - q p^T),  v' = R (u - p) + q.
 *
 * Deviations: (1) Moments are stored about p, the smoothed rest position, where Q - q p^T is Q: floats do not cancel,
 * and the last column of Psi is the smoothed weight and a vector whose sum over j is zero. Lengths are divided by the
 * size of the character. (2) Each Psi_ij has SUP_DDM_THICKNESS times the mean square radius of its neighbourhood added
 * on its diagonal: a flat neighbourhood has no third direction, and a vertex without neighbours has none at all; there
 * R becomes that of the blended joints. (3) With scale and shear of joints, S = blend of the joints' stretches, R =
 * polar(Q S^T) and v' = R S (u - p) + q: exact where all joints have the same map, and where a vertex follows one
 * joint. */
#ifndef SUP_METHODS_DDM_DDM_H
#define SUP_METHODS_DDM_DDM_H

#include "skin/centre.h"

extern const sup_method sup_method_ddm;

enum { SUP_DDM_RADIUS, SUP_DDM_VARIANT, SUP_DDM_PRIOR, SUP_DDM_PARAM_COUNT };
enum { SUP_DDM_FULL, SUP_DDM_V4 };

/* Names of arrays: the moments of a slot (9 channels: 00 11 22 01 02 12 of the second moments, then the first), and
 * the origin (3) and unit (1) of the lengths in the step. */
#define SUP_DDM_MOMENTS "moments"
#define SUP_DDM_FRAME "frame"
enum { SUP_DDM_CHANNELS = 9 };

/* Of the mean square radius of a neighbourhood. */
#define SUP_DDM_THICKNESS 0.01

/* The smoothed skin: influences of the render vertices on more joints than before, with their moments. */
typedef struct sup_ddm_smooth {
    int32_t sweeps;
    double origin[3], unit; /* lengths below are (x - origin) / unit */
    int32_t *first;         /* [vertex_count+1] */
    int32_t *joint;         /* [first[vertex_count]] */
    float *weight;
    double *moments; /* [9] each */
    float *centres;  /* [vertex_count*3] smoothed rest positions, bind space */
    sup_arena arena; /* owns the above */
} sup_ddm_smooth;

/* `radius` in sizes, `prior` in [0, 1). Free with sup_ddm_smooth_destroy, also after failure. */
sup_result sup_ddm_smooth_create(const sup_context *context, const sup_rig *rig, double radius, double prior,
                                 sup_ddm_smooth *smooth, sup_error *error);
void sup_ddm_smooth_destroy(sup_ddm_smooth *smooth);

/* Joints of a pose; lengths are relative to the frame, and to `moved`. */
typedef struct sup_ddm_joints {
    const float *motion;            /* [joint_count*12] (M x - moved) / unit of x = origin + unit y, as a map of y */
    const float *stretch;           /* [joint_count*12] sup_skin_split_joint */
    const unsigned char *stretched; /* [joint_count] 0 where the stretch is the identity */
    const float *centres, *moments; /* of the model */
    float origin[3], moved[3], unit, inverse_unit;
} sup_ddm_joints;

sup_skin_kernel sup_ddm_window_base, sup_ddm_window_avx2, sup_ddm_window_avx512;

/* The step with kernels of `lanes` lanes, for tests and benchmarks. */
sup_result sup_ddm_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

#endif
