/* tissue.h - the tissue: every skin triangle and its copy on the skeleton span a prism of three tetrahedra.
 *
 * Based on: [komaritzan2022] section 3.2.1. Vertices are numbered skin first: i < skin_count is skin vertex i,
 * skin_count + i is its base on the skeleton. Bind pose, world space, file units, double. */
#ifndef SUP_PROJECTIVE_TISSUE_H
#define SUP_PROJECTIVE_TISSUE_H

#include "projective/skeleton.h"

typedef enum sup_base_class {
    SUP_BASE_BONE, /* on a capsule: rigid with the piece's joint; `owner` = piece */
    SUP_BASE_BALL, /* on a ball: turns by half; `owner` = ball */
    SUP_BASE_FREE  /* on a cone between them or on a virtual bone: an unknown without mass; `owner` = piece */
} sup_base_class;

typedef struct sup_tissue {
    int32_t skin_count, triangle_count;
    double *skin;               /* [skin_count*3] */
    double *base;               /* [skin_count*3] */
    int32_t *triangles;         /* [triangle_count*3] skin vertices, outward */
    sup_foot *feet;             /* [skin_count] where the line from the skin vertex meets the bone lines */
    sup_base_class *base_class; /* [skin_count] */
    int32_t *base_owner;        /* [skin_count] piece or ball */
    int32_t *tets;              /* [triangle_count*3*4] three for each triangle; vertex numbers as above */
    double *tet_volume;         /* [triangle_count*3] positive: the sign of the rest shape is in its edge matrix */
} sup_tissue;

#endif
