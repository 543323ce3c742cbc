/* gpu_contact.h (internal) - contact detection of the skin with itself: contact/detect.h on the device. See gpu.h. */
#ifndef SUP_CUDA_GPU_CONTACT_H
#define SUP_CUDA_GPU_CONTACT_H

#include "cuda/gpu.h"
#include "contact/detect.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SUP_GPU_TET_BOX_FOURS = 4 }; /* float4 of a tet cluster's box: lower, upper, and both along the diagonals */

typedef struct sup_gpu_detect {
    sup_detect view;             /* of arrays on the device */
    sup_gpu_four *points;        /* [count*2*skin_count] skin offset by the gap, then foot points */
    sup_gpu_four *normal;        /* [count*skin_count] */
    unsigned long long *nearest; /* [count*skin_count] bits of the distance above, triangle below; all ones for none */
    sup_gpu_four *
        clustered; /* [count*vertex_cluster_count*SUP_DETECT_CLUSTER] skin by vertex clusters; w: bits of the vertex, -1
                              * for none */
    sup_gpu_four
        *cluster_box; /* [count*(vertex_cluster_count+nodes)*2] lower, upper; then nodes of 32 vertex clusters */
    sup_gpu_four *tet_cluster_box; /* [count*tet_cluster_count*SUP_GPU_TET_BOX_FOURS] */
} sup_gpu_detect;

/* Contacts of this timestep into the state, from `extrapolated`: pairs and their number. */
int sup_gpu_detect_step(const sup_gpu_detect *detect, const sup_gpu_system *system, const sup_gpu_state *state,
                        const sup_gpu_body *body, void *stream);
/* Number of float4 of a character's cluster_box. */
int32_t sup_gpu_detect_boxes(const sup_detect *view);

/* After all contacts are found: lists the contacts of each unknown (list_constraints.cu). Before that, once: its
 * shared memory in bytes, and a call that raises the limit to it. */
size_t sup_gpu_list_shared(const sup_gpu_system *system);
int sup_gpu_list_prepare(const sup_gpu_system *system);
int sup_gpu_list_contacts(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

#ifdef __cplusplus
}
#endif

#endif
