/* field_bind.h (internal) - builds the fields of a rig's bones at bind time.
 *
 *     regions     the bone of each vertex                                      skin_regions.c
 *     caps        samples beyond each opening of a region, to close it         field_caps.c
 *     fit         an HRBF through samples of the region and its caps           samples.c, hrbf.c, field_fit.c
 *     grid        compact values in a box along the bone, as a B-spline        field_grid.c
 *
 * Based on: [vaillant2014iso] section 3, which takes regions and fields from [vaillant2013]; for the latter the
 * description and numbers in shared/methods/facts_implicit.md were used, not the paper. Deviations, besides those of
 * hrbf.h and skin_regions.h:
 * - samples are added where the fit is worst, until the error is small enough or SUP_FIELD_SAMPLES are used;
 * - skin that is not visible from outside of its region (mouths, eyes, lower layers of clothes) is not sampled;
 * - every opening of a region gets caps, whether it is at one joint, at several, or a hole of the mesh;
 * - a triangle between regions is split between them, and is skipped where it faces back towards the bone: the trunk's
 *   side of an armpit does not belong to the arm;
 * - r is the mean distance of the region's skin from its bone; inside, distances are stretched so that the deepest
 *   point of a region has the value 1, whatever its shape: f -> f (1 + k (f / m)^2), k = r / m - 1, which keeps value,
 *   slope and curvature on the skin. Without this the maxima of fits are 0.76 (flat hands) to 0.99;
 * - where a fit protrudes from the skin of other regions it gets samples of that skin, and farther than r from its own
 *   samples and bone it is cut off: without this, fits around chests and thumbs have spurious lobes (the vertices of
 *   the built-in human were up to 42 edges inside of a wrong field, 2.0 RMS; with it 2.3 and 0.05);
 * - a region that cannot be fitted gets a capsule around its bone, and a warning names it. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_BIND_H
#define SUP_METHODS_IMPLICIT_FIELD_BIND_H

#include "methods/implicit/field.h"
#include "methods/implicit/hrbf.h"
#include "methods/implicit/skin_regions.h"

enum { SUP_FIELD_SAMPLES = 160 };

/* An extra primitive that is not fitted to the skin: a muscle. */
typedef struct sup_field_ellipsoid {
    int32_t joint; /* of the rig */
    sup_vec3d centre;
    sup_vec3d axis[3]; /* orthonormal */
    double radius[3];  /* along the axes, positive */
} sup_field_ellipsoid;

typedef struct sup_fields_def {
    sup_region_skin skin;
    double grid;     /* nodes per radius r of a field; 0: 8 */
    int32_t samples; /* maximum of a region without its caps, 16 to SUP_FIELD_SAMPLES; 0: SUP_FIELD_SAMPLES */
    double memory;   /* maximum size of all nodes in bytes, grids are coarsened to fit; 0: 40e6 */
    int32_t extra_count;
    const sup_field_ellipsoid *extras; /* fields after those of the regions, in this order */
} sup_fields_def;

/* How well the fields fit, over all visible vertices of the skin: the largest of all fields against 0.5. */
typedef struct sup_fields_report {
    double rms, largest; /* distance from the 0.5-surface in mean edge lengths: |f - 0.5| / |gradient| */
    double edge;         /* mean length of the skin's edges, file units */
    int32_t hidden;  /* vertices behind other skin of their region, such as in a mouth; they are inside of its field */
    int32_t outside; /* vertices where all fields are 0 */
    int32_t first_outside;
    int32_t capsules; /* regions without a fit */
    int32_t sample_count;
} sup_fields_report;

/* Result for the later stages of bind. Allocated from the given arena, except `fields`, which belongs to the
 * builder. */
typedef struct sup_fields_bound {
    sup_fields fields;
    sup_skin_regions regions; /* field p < region_count belongs to region p */
    /* [field_count] field of the nearest joint above that has one, -1 for none; for an extra, that of its own joint or
     * of the nearest above */
    int32_t *field_parent;
    sup_hrbf *fits; /* [region_count] exact, for tests; count 0 for capsules */
    double *depth;  /* [field_count] m, largest depth of the fit in file units */
    sup_fields_report report;
} sup_fields_bound;

/* Adds the arrays "field.record" and "field.node". Same bits for any number of threads. */
sup_result sup_fields_build(const sup_bind_input *input, const sup_fields_def *def, sup_model_builder *builder,
                            sup_arena *arena, sup_fields_bound *bound, sup_error *error);

/* Compact value of a fit's value: `radius` r, `depth` m. */
double sup_field_map(double value, double radius, double depth);

#endif
