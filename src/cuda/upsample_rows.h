/* upsample_rows.h (internal) - the clusters of upsampling (upsample.h) as a sparse matrix with a row per render vertex,
 * in the layout of the kernels.
 *
 * A thread handles one vertex and reads its neighbours slot by slot, so arrays are slot-major with adjacent rows
 * contiguous. Rows of plain vertices come first, then those of followers. The first slot of a row is the neighbour
 * with the largest normal weight: its normal is used where the sum has no length. Unused slots repeat the first one
 * with weights of 0. */
#ifndef SUP_CUDA_UPSAMPLE_ROWS_H
#define SUP_CUDA_UPSAMPLE_ROWS_H

#include "upsample/upsample.h"

typedef struct sup_upsample_row_table {
    int32_t slots, plain_count, row_count;
    int32_t *vertex;  /* [row_count] render vertex */
    uint16_t *narrow; /* [slots*row_count] coarse vertex; NULL when there are more than 65536 of them */
    int32_t *wide;    /* the same otherwise */
    float *plain;     /* [slots*plain_count*2] position from x, normal from n */
    float *followers; /* [slots*(row_count-plain_count)*4] position from x and n, normal from x and n */
    float *tangents;  /* [slots*row_count*2] from x and n; NULL if not requested */
    float *signs;     /* [row_count] handedness; the same */
} sup_upsample_row_table;

/* Allocates from `arena`. `tangents` only for an upsampling that has them. */
sup_result sup_upsample_row_table_create(const sup_upsample *from, bool tangents, sup_arena *arena,
                                         sup_upsample_row_table *rows, sup_error *error);

#endif
