/* part_bundles.h (internal) - bundles of triangles (part_skin.h) at each vertex of the shown skin: what has moved where vertices have. */
#ifndef SUP_CUDA_PART_BUNDLES_H
#define SUP_CUDA_PART_BUNDLES_H

#include "methods/projective/part_skin.h"

typedef struct sup_part_bundles {
    int32_t *first;   /* [vertex_count+1] */
    int32_t *bundles; /* of each vertex, each once, rising */
} sup_part_bundles;

/* Memory is `arena`'s. false: it has none left. */
bool sup_part_bundles_create(const sup_part_view *view, sup_arena *arena, sup_part_bundles *to);

#endif
