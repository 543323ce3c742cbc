/* reference.h (internal) - all outputs of the reference skinning, for tests. */
#ifndef SUP_MEASURE_REFERENCE_H
#define SUP_MEASURE_REFERENCE_H

#include "math/affine.h"
#include "supple/measure.h"

typedef struct sup_reference_out {
    double *positions, *normals; /* [vertex_count*3] or NULL */
    double *tangents;            /* [vertex_count*4] or NULL */
    sup_affine *matrices;        /* [vertex_count] blended, or NULL */
} sup_reference_out;

typedef enum sup_reference_kind {
    SUP_REFERENCE_LINEAR,
    SUP_REFERENCE_DUAL,
    SUP_REFERENCE_CENTRES /* about centres of rotation: skin/centre.h */
} sup_reference_kind;

/* `centres` [vertex_count*3], for SUP_REFERENCE_CENTRES only. */
sup_result sup_reference_skin_all(const sup_context *context, const sup_rig *rig, const sup_pose *pose,
                                  sup_reference_kind kind, const float *centres, const sup_reference_out *out);

#endif
