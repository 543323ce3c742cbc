/* untangle_clusters.h (internal) - clusters of triangles (untangle.h) at each vertex of the shown skin: what has moved where vertices have. */
#ifndef SUP_CUDA_UNTANGLE_CLUSTERS_H
#define SUP_CUDA_UNTANGLE_CLUSTERS_H

#include "untangle/untangle.h"

typedef struct sup_untangle_clusters {
    int32_t *first;   /* [vertex_count+1] */
    int32_t *clusters; /* of each vertex, each once, rising */
} sup_untangle_clusters;

/* Memory is `arena`'s. false: it has none left. */
bool sup_untangle_clusters_create(const sup_untangle_view *view, sup_arena *arena, sup_untangle_clusters *to);

#endif
