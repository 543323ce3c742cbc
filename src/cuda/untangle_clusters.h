/* untangle_clusters.h (internal) - clusters of triangles (untangle.h) at each vertex of the render mesh: those that
 * become dirty when the vertex moves. */
#ifndef SUP_CUDA_UNTANGLE_CLUSTERS_H
#define SUP_CUDA_UNTANGLE_CLUSTERS_H

#include "untangle/untangle.h"

typedef struct sup_untangle_clusters {
    int32_t *first;    /* [vertex_count+1] */
    int32_t *clusters; /* of each vertex, each once, ascending */
} sup_untangle_clusters;

/* Allocates from `arena`; returns false when out of memory. */
bool sup_untangle_clusters_create(const sup_untangle_view *view, sup_arena *arena, sup_untangle_clusters *to);

#endif
