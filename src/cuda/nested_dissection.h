/* nested_dissection.h (internal) - splits unknowns into subdomains that are coupled only through a separator.
 *
 * Based on: A. George, "Nested dissection of a regular finite element mesh", 1973, with level sets as separators: a
 * body consists of tubes, and a ring around a tube is a small separator. */
#ifndef SUP_CUDA_NESTED_DISSECTION_H
#define SUP_CUDA_NESTED_DISSECTION_H

#include "base/base.h"

/* Neighbours of vertex v: neighbour[first[v] .. first[v+1]), without v itself, symmetric. */
typedef struct sup_graph {
    int32_t size;
    const int32_t *first;     /* [size+1] */
    const int32_t *neighbour; /* [first[size]] */
} sup_graph;

enum { SUP_DISSECTION_SEPARATOR = -1 };

/* subdomain[v]: 0 .. *subdomain_count-1, or SUP_DISSECTION_SEPARATOR. No subdomain has more than `limit` vertices,
 * and no edge joins two of them. Each cut is the best of `tries` candidates: more of them make the separator
 * smaller. Deterministic. */
sup_result sup_nested_dissection(const sup_context *context, const sup_graph *graph, int32_t limit, int32_t tries,
                                 int32_t *subdomain, int32_t *subdomain_count, sup_error *error);

#endif
