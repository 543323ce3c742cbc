/* volume_regions.h (internal) - volumes that the solver keeps: stretches of limb, each the flesh and bone around a bit of bone
 * line. See volume_regions.c. */
#ifndef SUP_SOLVER_VOLUME_REGIONS_H
#define SUP_SOLVER_VOLUME_REGIONS_H

#include "tissue/tissue.h"

/* Every skin vertex stands in two neighbouring regions, with weights that add up to 1. */
typedef struct sup_region_weights {
    int32_t region[2];
    double weight[2];
} sup_region_weights;

/* Regions of a tissue with feet on a skeleton: `weights` [skin_count], in memory of `arena`. Returns how many there are;
 * 0 when memory ran out. */
int32_t sup_volume_regions_create(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton, sup_arena *arena,
                            sup_region_weights **weights);

#endif
