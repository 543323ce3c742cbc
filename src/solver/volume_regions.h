/* volume_regions.h (internal) - regions whose volume the solver preserves: sections of a limb, tissue and bone
 * around a section of the bone line. See volume_regions.c. */
#ifndef SUP_SOLVER_VOLUME_REGIONS_H
#define SUP_SOLVER_VOLUME_REGIONS_H

#include "tissue/tissue.h"

/* Every skin vertex belongs to two neighbouring regions, with weights that sum to 1. */
typedef struct sup_region_weights {
    int32_t region[2];
    double weight[2];
} sup_region_weights;

/* Regions of a tissue with foot points on a skeleton: `weights` [skin_count], allocated from `arena`. Returns their
 * count; 0 when out of memory. */
int32_t sup_volume_regions_create(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton, sup_arena *arena,
                                  sup_region_weights **weights);

#endif
