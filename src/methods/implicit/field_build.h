/* field_build.h - data passed between the stages of building fields. */
#ifndef SUP_METHODS_IMPLICIT_FIELD_BUILD_H
#define SUP_METHODS_IMPLICIT_FIELD_BUILD_H

#include "geometry/adjacency.h"
#include "geometry/bvh.h"
#include "methods/implicit/field_bind.h"
#include "methods/implicit/field_internal.h"
#include "methods/implicit/samples.h"

enum {
    SUP_FIELD_CAPS = 64, /* maximum number of caps of a region */
    SUP_FIELD_FIRST = 72 /* samples of the first fit, without caps */
};

/* One field during the build. */
typedef struct sup_field_shape {
    int32_t joint;
    const sup_field_ellipsoid *ellipsoid; /* NULL: field of a region */
    /* Caps of a region. */
    int32_t cap_count;
    sup_sample caps[SUP_FIELD_CAPS];
    /* Fit. */
    bool fitted; /* else a capsule around the region's segments, or an ellipsoid */
    sup_fit_lanes lanes;
    float *lane_floats;  /* storage of `lanes` */
    int32_t core_count;  /* caps and first samples of the region itself */
    float *core;         /* [core_count*3] their positions, file units */
    sup_vec3d low, high; /* bounds of the samples along `axis` */
    double radius;       /* r */
    /* Grid. */
    sup_vec3d axis[3], origin; /* origin: position of node 0 */
    double cell;               /* node spacing */
    int32_t size[3];
    float *raw;      /* [size] values of the fit, file units; then compact values; then coefficients */
    int32_t from[3]; /* first node that is kept, and number of kept nodes */
    int32_t kept[3];
    double depth;
} sup_field_shape;

typedef struct sup_fields_state {
    const sup_bind_input *input;
    const sup_fields_def *def;
    sup_arena *arena;  /* for results */
    sup_arena scratch; /* freed when the fields are built */
    sup_fields_bound *bound;
    sup_bvh bvh;
    sup_adjacency adjacency;
    bool has_bvh, has_adjacency;
    sup_sampled_surface surface;
    double *normals;         /* [vertex_count*3] outward */
    unsigned char *flipped;  /* [vertex_count] the triangles there were inside out */
    unsigned char *hidden;   /* [vertex_count] not visible from outside of its region */
    unsigned char *border;   /* [vertex_count] next to another region */
    int32_t *triangle_first; /* [region_count+1] into triangle_list */
    int32_t *triangle_list;  /* triangles with a corner in a region, by region */
    int32_t field_count;
    sup_field_shape *shapes; /* [field_count] */
} sup_fields_state;

/* Whether a triangle has a corner in a region. */
bool sup_fields_touches(const sup_fields_state *state, int32_t triangle, int32_t region);

/* Distance from the caps, the first samples and the bone of a region. */
double sup_fields_from_core(const sup_fields_state *state, int32_t region, sup_vec3d p);

/* Build stages. */
sup_result sup_fields_skin(sup_fields_state *state, sup_error *error);
sup_result sup_fields_caps(sup_fields_state *state, sup_error *error);
sup_result sup_fields_fit(sup_fields_state *state, sup_error *error);
sup_result sup_fields_grid(sup_fields_state *state, sup_model_builder *builder, sup_error *error);

#endif
