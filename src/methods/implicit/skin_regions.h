/* skin_regions.h (internal) - which bone each vertex of a skin belongs to.
 *
 * Based on: [vaillant2014iso] section 3, where parts are the vertices nearest to a bone. Deviations: it is the bone from which
 * most heat arrives ([baran2007pinocchio], rig/weights.h), which is the nearest bone that a vertex can see, with even borders;
 * an arm that hangs at the hip does not join the hip, and a helper joint outside of the skin gets nothing. Where weights are known
 * heat is multiplied by them: the bone that is nearest to a chin is that of the neck. And bones count less where the skin is
 * farther from them than their limb is thick, as on the trunk's side of an armpit. */
#ifndef SUP_METHODS_IMPLICIT_SKIN_REGIONS_H
#define SUP_METHODS_IMPLICIT_SKIN_REGIONS_H

#include "base/base.h"
#include "math/vec3.h"
#include "supple/rig.h"

/* A welded skin in the bind pose, world space. */
typedef struct sup_region_skin {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] different corners */
    /* What moves a vertex, largest weight first: [vertex_count+1] and as many as that says; NULL: not known. */
    const int32_t *influence_first, *influence_joint;
    const float *influence_weight;
} sup_region_skin;

/* A straight piece of bone: from a joint to one of its children, or to a leaf's end. */
typedef struct sup_region_segment {
    int32_t joint;
    sup_vec3d from, to;
} sup_region_segment;

typedef struct sup_skin_regions {
    int32_t region_count;
    int32_t *region_joint;  /* [part_count] rising */
    int32_t *region_parent; /* [part_count] part of the nearest joint above that has one, -1 for none */
    int32_t *vertex_region; /* [vertex_count] */
    int32_t segment_count;
    sup_region_segment *segments; /* by joint, rising */
    int32_t *region_segment;      /* [part_count+1] first segment of a part; those of one part follow each other */
    int32_t moved_islands;      /* pieces of skin away from the rest of their part that went to a neighbour */
    int32_t merged_regions;       /* too small for a shape, or on one side of their bone only: went to a neighbour */
} sup_skin_regions;

/* Memory of `arena`. Fails with SUP_ERROR_DATA where the rig has no joint. */
sup_result sup_skin_regions_create(const sup_context *context, const sup_rig *rig, const sup_region_skin *skin,
                                sup_arena *arena, sup_skin_regions *regions, sup_error *error);

/* Nearest point of the segments of a part, and its distance. */
double sup_skin_regions_distance(const sup_skin_regions *regions, int32_t region, sup_vec3d p, sup_vec3d *nearest);

#endif
