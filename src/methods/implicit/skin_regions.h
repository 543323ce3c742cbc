/* skin_regions.h (internal) - assigns each vertex of a skin to a bone.
 *
 * Based on: [vaillant2014iso] section 3, where regions are the vertices nearest to a bone. Deviations: a vertex belongs
 * to the bone from which most heat arrives ([baran2007pinocchio], rig/weights.h), which is the nearest visible bone,
 * with smooth borders; an arm that hangs at the hip does not claim hip vertices, and a helper joint outside of the skin
 * gets none. Where weights are known heat is multiplied by them: the bone nearest to a chin is that of the neck. The
 * score also decreases where the skin is farther from the bone than the limb is thick, as on the trunk's side of an
 * armpit. */
#ifndef SUP_METHODS_IMPLICIT_SKIN_REGIONS_H
#define SUP_METHODS_IMPLICIT_SKIN_REGIONS_H

#include "base/base.h"
#include "math/vec3.h"
#include "supple/rig.h"

/* A welded skin in the bind pose, world space. */
typedef struct sup_region_skin {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] distinct corners */
    /* Skinning weights, largest first: [vertex_count+1] and as many entries as that gives; NULL: unknown. */
    const int32_t *influence_first, *influence_joint;
    const float *influence_weight;
} sup_region_skin;

/* A straight segment of a bone: from a joint to one of its children, or to the tail of a leaf bone. */
typedef struct sup_region_segment {
    int32_t joint;
    sup_vec3d from, to;
} sup_region_segment;

typedef struct sup_skin_regions {
    int32_t region_count;
    int32_t *region_joint;  /* [region_count] increasing */
    int32_t *region_parent; /* [region_count] region of the nearest joint above that has one, -1 for none */
    int32_t *vertex_region; /* [vertex_count] */
    int32_t segment_count;
    sup_region_segment *segments; /* sorted by joint */
    int32_t *region_segment;      /* [region_count+1] first segment of a region */
    int32_t moved_islands;        /* islands separate from the rest of their region that moved to a neighbour */
    int32_t merged_regions;       /* too small to fit, or on one side of their bone only: merged into a neighbour */
} sup_skin_regions;

/* Allocates from `arena`. Fails with SUP_ERROR_DATA if the rig has no joint. */
sup_result sup_skin_regions_create(const sup_context *context, const sup_rig *rig, const sup_region_skin *skin,
                                   sup_arena *arena, sup_skin_regions *regions, sup_error *error);

/* Distance from the segments of a region, and the nearest point on them (may be NULL). */
double sup_skin_regions_distance(const sup_skin_regions *regions, int32_t region, sup_vec3d p, sup_vec3d *nearest);

#endif
