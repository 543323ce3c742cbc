/* solid.h (internal) - the inside of any triangle soup: signed distance and thickness.
 *
 * Inside is where the generalised winding number (Jacobson, Kavan, Sorkine-Hornung 2013) is above one half. Each shell
 * (connected component) that is closed, or nearly so, is first oriented so that its volume is positive: shells that are
 * inside out count as solid, and so does the space that an inner shell encloses (cavities are filled). Shells that
 * cross or duplicate each other are one solid, holes are closed by the surface where the winding number is one half. A
 * sheet has no inside. */
#ifndef SUP_VOLUME_SOLID_H
#define SUP_VOLUME_SOLID_H

#include "geometry/bvh.h"
#include "geometry/winding.h"

typedef struct sup_solid {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* memory of the caller */
    int32_t *triangles;       /* [triangle_count*3] oriented outward; only triangles with three distinct corners */
    int32_t *triangle_source; /* [triangle_count] triangle of the caller */
    int32_t component_count;  /* shells, in the order of their first vertices */
    int32_t *component;       /* [vertex_count] or -1, as sup_mesh_components */
    int32_t flipped;          /* number of shells that were inside out */
    sup_vec3d lower, upper;   /* box of the triangles */
    int32_t sample_count;     /* made by sup_solid_measure, where the inside is thinner than its reach */
    struct sup_solid_sample *samples;
    int32_t gap_count; /* and where the outside is, between parts of one shell that are far from each other along it */
    struct sup_solid_sample *gaps;
    sup_bvh bvh;
    sup_winding winding;
    sup_arena arena;
} sup_solid;

/* A thin feature, or a narrow gap. */
typedef struct sup_solid_sample {
    sup_vec3d point, middle; /* on the surface, and halfway to the opposite surface */
    double thickness;
} sup_solid_sample;

/* Corners are in range and positions finite; both must outlive the solid. Fails with SUP_ERROR_DATA if no triangle has
 * an area. */
sup_result sup_solid_create(const sup_context *context, int32_t vertex_count, const float *positions,
                            int32_t triangle_count, const int32_t *triangles, sup_solid *solid, sup_error *error);
void sup_solid_free(sup_solid *solid);

typedef struct sup_solid_nearest {
    double distance;  /* signed, negative inside; magnitude at most `limit` */
    int32_t triangle; /* the nearest, -1 beyond the limit */
} sup_solid_nearest;

sup_solid_nearest sup_solid_distance(const sup_solid *solid, sup_vec3d p, double limit);

/* Finds the samples, replacing previous ones: casts rays from points about `spacing` apart through the inside, up to
 * `reach` long. Layers of the surface closer than a tenth of the spacing are merged. Gaps are found by rays through the
 * outside; their two sides are separate if the surface does not connect them within five spacings: lips and jaws,
 * fingers, but not the corners where these grow out. There are no gaps between different shells, such as clothes on a
 * body. */
sup_result sup_solid_measure(const sup_context *context, sup_solid *solid, double spacing, double reach,
                             sup_error *error);

#endif
