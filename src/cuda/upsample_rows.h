/* upsample_rows.h (internal) - the blocks of upsampling (upsample.h) as rows, one a shown vertex: how the kernels read them.
 *
 * A thread of the device has one vertex and takes its neighbours slot by slot, so arrays are slot by slot with the rows
 * side by side. Plain rows come first. The first slot of a row is the neighbour whose normal counts most: it gives the
 * normal of a row whose own has no length. Slots that a row does not use repeat the first one with weights of 0. */
#ifndef SUP_CUDA_UPSAMPLE_ROWS_H
#define SUP_CUDA_UPSAMPLE_ROWS_H

#include "upsample/upsample.h"

typedef struct sup_upsample_row_table {
    int32_t slots, plain_count, row_count;
    int32_t *vertex;  /* [row_count] output vertex */
    uint16_t *narrow; /* [slots*row_count] coarse vertex; NULL when there are more than 65536 of them */
    int32_t *wide;    /* the same then */
    float *plain;     /* [slots*plain_count*2] position from x, normal from n */
    float *riding;    /* [slots*(row_count-plain_count)*4] position from x and n, normal from x and n */
    float *tangents;  /* [slots*row_count*2] from x and n; NULL where they are not asked for */
    float *signs;     /* [row_count] handedness; the same */
} sup_upsample_row_table;

/* Memory is `arena`'s. Tangents only of an upsampling that has them. */
sup_result sup_upsample_row_table_create(const sup_upsample *from, bool tangents, sup_arena *arena, sup_upsample_row_table *rows,
                                 sup_error *error);

#endif
