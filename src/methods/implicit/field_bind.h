/* field_bind.h (internal) - the fields of a rig's bones, made at bind.
 *
 *     partition   the bone of each vertex                                      skin_regions.c
 *     caps        points beyond each opening of a part, so that it closes      field_caps.c
 *     fit         an HRBF through samples of the part and its caps             samples.c, hrbf.c, field_fit.c
 *     grid        compact values in a box along the bone, as a B-spline        field_grid.c
 *
 * Based on: [vaillant2014iso] section 3, which takes partition and fields from [vaillant2013]; of that one the description
 * and numbers in shared/methods/facts_implicit.md were used, not the paper. Deviations, beside those of hrbf.h and skin_regions.h:
 * - samples are added where the fit is worst, until it is good enough or SUP_FIELD_SAMPLES are there;
 * - skin that cannot be seen from outside of its part (mouths, eyes, lower layers of clothes) is not sampled;
 * - every opening of a part gets caps, whether a joint, several, or a hole of the mesh is there;
 * - of triangles between parts each takes the half nearer to it, and none where they look back at its bone: the trunk's side of
 *   an armpit is no skin of the arm;
 * - r is the mean distance of the part's skin from its bone; inside, distances are stretched so that the deepest point
 *   of a part has the value 1, whatever its shape: f -> f (1 + k (f / m)^2), k = r / m - 1, which leaves value, slope and
 *   curvature on the skin as they are. Without this fits end at 0.76 (flat
 *   hands) to 0.99.
 * - where a fit sticks out of the skin of other parts, it gets samples of that skin, and farther than r from its own samples
 *   and bone it is cut off: around chests and thumbs fits without this have lobes in the air (the vertices of the
 *   built-in human were up to 42 edges inside of a wrong field, 2.0 RMS; with it 2.3 and 0.05);
 * - a part that cannot be fitted gets a capsule around its bone, and is named. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_BIND_H
#define SUP_METHODS_IMPLICIT_FIELD_BIND_H

#include "methods/implicit/field.h"
#include "methods/implicit/hrbf.h"
#include "methods/implicit/skin_regions.h"

enum { SUP_FIELD_SAMPLES = 160 };

/* A primitive that is no part of the skin: a muscle. */
typedef struct sup_field_ellipsoid {
    int32_t joint; /* of the rig */
    sup_vec3d centre;
    sup_vec3d axis[3]; /* unit, at right angles */
    double radius[3];  /* along them, above 0 */
} sup_field_ellipsoid;

typedef struct sup_fields_def {
    sup_region_skin skin;
    double grid;     /* nodes that a field's radius r spans; 0: 8 */
    int32_t samples; /* of a part at most, beside its caps, 16 to SUP_FIELD_SAMPLES; 0: SUP_FIELD_SAMPLES */
    double memory;   /* bytes of all nodes at most, the grids are coarser where they do not fit; 0: 40e6 */
    int32_t extra_count;
    const sup_field_ellipsoid *extras; /* fields after those of the parts, in this order */
} sup_fields_def;

/* How well the fields fit, over all vertices of the skin that can be seen: the largest of all fields against 0.5. */
typedef struct sup_fields_report {
    double rms, largest; /* distance from the 0.5-surface in mean edge lengths: |f - 0.5| / |gradient| */
    double edge;         /* mean length of the skin's edges, file units */
    int32_t hidden;      /* vertices behind other skin of their part, such as in a mouth: inside of its field */
    int32_t outside;     /* vertices where no field is felt */
    int32_t first_outside;
    int32_t capsules; /* parts without a fit */
    int32_t sample_count;
} sup_fields_report;

/* What the rest of a bind needs. Memory of the arena that was given, but `fields`, which is the builder's. */
typedef struct sup_fields_bound {
    sup_fields fields;
    sup_skin_regions regions; /* field p < part_count is that of part p */
    int32_t *field_parent;   /* [field_count] field of the nearest joint above that has one, -1 for none; an extra's is
                                that of its own joint, or of the nearest above */
    sup_hrbf *fits;          /* [part_count] exact, for tests; count 0 for capsules */
    double *depth;           /* [field_count] m, largest depth of the fit in file units */
    sup_fields_report report;
} sup_fields_bound;

/* Adds the arrays "field.record" and "field.node". Same bits for any number of threads. */
sup_result sup_fields_build(const sup_bind_input *input, const sup_fields_def *def, sup_model_builder *builder,
                            sup_arena *arena, sup_fields_bound *bound, sup_error *error);

/* Compact value of a fit's value: `radius` r, `depth` m. */
double sup_field_map(double value, double radius, double depth);

#endif
