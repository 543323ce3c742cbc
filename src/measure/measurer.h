/* measurer.h (internal) - state of a measurer: rest shape, topology, and scratch for one frame. */
#ifndef SUP_MEASURE_MEASURER_H
#define SUP_MEASURE_MEASURER_H

#include "base/base.h"
#include "geometry/adjacency.h"
#include "geometry/bvh.h"
#include "supple/measure.h"

/* A surface closed by fans: a triangle from every boundary edge to the centre of its boundary. Triangles: those of the
 * surface, then the fans. Vertices: those of the surface, then one centre per boundary. */
typedef struct sup_closed_surface {
    sup_adjacency adjacency;              /* of the triangles of the surface */
    int32_t vertex_count, triangle_count; /* without fans */
    int32_t boundary_count, fan_count;    /* centres, fan triangles */
    int32_t *triangles;                   /* [(triangle_count+fan_count)*3] */
    int32_t *fan_boundary;                /* [fan_count] boundary of a fan triangle */
    int32_t component_count;
    int32_t *component; /* [vertex_count+boundary_count] connected component */
    double *middle_sum; /* [boundary_count*4] scratch */
} sup_closed_surface;

/* Corners must be in range and distinct. Frees everything on failure. */
sup_result sup_closed_surface_create(sup_closed_surface *closed, sup_arena *arena, int32_t vertex_count,
                                     const int32_t *triangles, int32_t triangle_count, sup_error *error);
void sup_closed_surface_destroy(sup_closed_surface *closed);
/* Computes positions[vertex_count ...], the centres of the boundaries. */
void sup_closed_surface_middles(const sup_closed_surface *closed, float *positions);

/* A region of the surface, closed by its own fans, with local vertex indices. */
typedef struct sup_region {
    sup_closed_surface closed;
    int32_t *vertices;  /* [closed.vertex_count] vertex of the surface */
    double rest_volume; /* 0: encloses no volume */
} sup_region;

struct sup_measurer {
    sup_context context;
    sup_arena arena;
    sup_closed_surface closed;
    double size, mean_edge;
    float *rest, *current;  /* [(vertex_count+boundary_count)*3] */
    float *edge_length;     /* [adjacency.edge_count] at rest */
    double *component_sign; /* [component_count] sign of the volume at rest */
    double rest_volume;
    float *rest_frame;        /* [triangle_count*3] inverse of the rest shape in its plane: 1/a, -b/(a c), 1/c */
    float *rest_area;         /* [triangle_count] */
    unsigned char *rest_flip; /* [triangle_count] flipped relative to its neighbours at rest */
    float *laplacian;         /* [vertex_count] length of the uniform Laplacian at rest */
    int32_t *degree;          /* [vertex_count] number of edges */
    double *sum;              /* [vertex_count*3] scratch */
    sup_bvh tree;             /* of all triangles including fans */
    int64_t *rest_pairs;      /* [rest_pair_count] keys in ascending order */
    int32_t rest_pair_count;
    unsigned char *rest_inside; /* [vertex_count] inside another part of the surface at rest */
    sup_array pairs;            /* int64 keys of the last frame */
    int32_t *pair_indices;      /* [pair_index_capacity*2] of the last frame, for callers */
    int32_t pair_index_count, pair_index_capacity;
    float *depth;           /* [vertex_count] of the last frame / size */
    unsigned char *visited; /* [vertex_count] scratch */
    int32_t *queue;         /* [vertex_count] scratch */
    int32_t region_count;
    sup_region *regions;
    float *region_scratch;  /* scratch for the vertices of the largest region */
    float *triangle_normal; /* [triangle_count*3] area-weighted, current */
};

/* distortion.c */
void sup_measure_rest_shape(sup_measurer *measurer);
void sup_measure_distortion(sup_measurer *measurer, sup_frame_measure *measure);
/* volume.c */
double sup_closed_volume(const sup_closed_surface *closed, const float *positions, const double *component_sign);
void sup_component_signs(const sup_closed_surface *closed, const float *positions, double *sign);
/* crossings.c */
sup_result sup_measure_rest_contact(sup_measurer *measurer, sup_error *error);
sup_result sup_measure_contact(sup_measurer *measurer, sup_frame_measure *measure);

#endif
