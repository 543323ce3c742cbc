/* etree.h (internal) - elimination tree, postorder and column counts of a symmetric pattern. All arrays are the
 * caller's; nothing is allocated. */
#ifndef SUP_LINALG_ETREE_H
#define SUP_LINALG_ETREE_H

#include "linalg/csr.h"

/* Strictly lower triangle of the permuted matrix, by rows: row r holds columns < r, in no particular order. */
typedef struct sup_pattern {
    int32_t size;
    int32_t *first;  /* [size+1] */
    int32_t *column; /* [first[size]] */
    int32_t *entry;  /* [first[size]] index of the entry in the matrix */
} sup_pattern;

/* Row i of the matrix becomes row position[i]. */
void sup_pattern_permute(const sup_csr *matrix, const int32_t *position, sup_pattern *pattern);
/* parent[j]: the first row below the diagonal of column j of L, -1 for none. scratch [size]. */
void sup_etree(const sup_pattern *pattern, int32_t *parent, int32_t *scratch);
/* post[k] = the k-th column in a postorder in which children are in increasing order of key (then of index); key
 * NULL: of index alone. scratch [4*size+1]. */
void sup_etree_postorder(int32_t size, const int32_t *parent, const int32_t *key, int32_t *post, int32_t *scratch);
/* Entries of each column of L, diagonal included, for a pattern that is in postorder. `by_column` is scratch for the
 * transposed pattern: [size+1] and [entries]. scratch [4*size]. */
void sup_etree_column_counts(const sup_pattern *pattern, const int32_t *parent, int32_t *column_first, int32_t *row,
                             int32_t *count, int32_t *scratch);

#endif
