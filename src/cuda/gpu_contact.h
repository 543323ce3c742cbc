/* gpu_contact.h (internal) - which skin vertices touch other skin: contact/detect.h on the device. See gpu.h. */
#ifndef SUP_CUDA_GPU_CONTACT_H
#define SUP_CUDA_GPU_CONTACT_H

#include "cuda/gpu.h"
#include "contact/detect.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SUP_GPU_CELL_FOURS = 4 };

typedef struct sup_gpu_detect {
    sup_detect view;             /* of arrays on the device */
    sup_gpu_four *points;        /* [count*2*skin_count] skin pushed out by the gap, then feet */
    sup_gpu_four *normal;        /* [count*skin_count] */
    unsigned long long *nearest; /* [count*skin_count] depth as bits above, triangle below; all ones for none */
    sup_gpu_four *grouped;   /* [count*block_count*SUP_DETECT_CLUSTER] skin by groups; vertices as bits, -1 for none */
    sup_gpu_four *block_box; /* [count*(block_count+clusters)*2] lower, upper; clusters of 32 groups behind them */
    sup_gpu_four *cell_box;  /* [count*cell_count*SUP_GPU_CELL_FOURS] and of the diagonals */
} sup_gpu_detect;

/* Rows of this step into the state, from `carried`: pairs and their number. */
int sup_gpu_detect_step(const sup_gpu_detect *detect, const sup_gpu_system *system, const sup_gpu_state *state,
                        const sup_gpu_body *body, void *stream);
/* Fours of a character's block_box. */
int32_t sup_gpu_detect_boxes(const sup_detect *view);

/* After all rows are found: those that each place is part of (list_constraints.cu). Before that, once: bytes of shared memory that it
 * needs, and the limit raised. */
size_t sup_gpu_list_shared(const sup_gpu_system *system);
int sup_gpu_list_prepare(const sup_gpu_system *system);
int sup_gpu_list_rows(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

#ifdef __cplusplus
}
#endif

#endif
