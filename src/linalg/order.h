/* order.h (internal) - fill-reducing elimination order of a symmetric sparse matrix. */
#ifndef SUP_LINALG_ORDER_H
#define SUP_LINALG_ORDER_H

#include "linalg/csr.h"

/* order[k] = the row that is eliminated as the k-th. [matrix->size]; values are not read. The matrix must be well
 * formed. */
sup_result sup_order_minimum_degree(const sup_context *context, const sup_csr *matrix, int32_t *order,
                                    sup_error *error);

#endif
