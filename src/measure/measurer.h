/* measurer.h (internal) - what a measurer keeps: the rest shape, its topology, and scratch for one frame. */
#ifndef SUP_MEASURE_MEASURER_H
#define SUP_MEASURE_MEASURER_H

#include "base/base.h"
#include "geometry/adjacency.h"
#include "geometry/bvh.h"
#include "supple/measure.h"

/* The surface closed by fans: a triangle from every boundary edge to the middle of its boundary. Closed triangles are
 * the surface's own, then the fans'; closed vertices are the surface's own, then one middle per boundary. */
typedef struct sup_closed_surface {
    sup_adjacency adjacency;              /* of the surface's own triangles */
    int32_t vertex_count, triangle_count; /* the surface's own */
    int32_t boundary_count, fan_count;    /* middles, fan triangles */
    int32_t *triangles;                   /* [(triangle_count+fan_count)*3] */
    int32_t *fan_boundary;                /* [fan_count] boundary each fan triangle closes */
    int32_t component_count;
    int32_t *component; /* [vertex_count+boundary_count] connected piece */
    double *middle_sum; /* [boundary_count*4] scratch */
} sup_closed_surface;

/* Corners must be in range and three different ones. On failure nothing is left to free. */
sup_result sup_closed_surface_create(sup_closed_surface *closed, sup_arena *arena, int32_t vertex_count,
                                     const int32_t *triangles, int32_t triangle_count, sup_error *error);
void sup_closed_surface_destroy(sup_closed_surface *closed);
/* Sets positions[vertex_count ...] of the middles from the vertices before them. */
void sup_closed_surface_middles(const sup_closed_surface *closed, float *positions);

/* A region of the surface closed by fans of its own, over vertices of its own. */
typedef struct sup_region {
    sup_closed_surface closed;
    int32_t *vertices;  /* [closed.vertex_count] of the surface */
    double rest_volume; /* 0: encloses none */
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
    unsigned char *rest_flip; /* [triangle_count] turned against its neighbours at rest */
    float *laplacian;         /* [vertex_count] length of the uniform Laplacian at rest */
    int32_t *degree;          /* [vertex_count] edges at a vertex */
    double *sum;              /* [vertex_count*3] scratch */
    sup_bvh tree;             /* over all closed triangles */
    int64_t *rest_pairs;      /* [rest_pair_count] keys in rising order */
    int32_t rest_pair_count;
    unsigned char *rest_inside; /* [vertex_count] inside another piece of the surface at rest */
    sup_array pairs;            /* of int64 keys, last frame */
    int32_t *pair_indices;      /* [pair_index_capacity*2] of the last frame, for callers */
    int32_t pair_index_count, pair_index_capacity;
    float *depth;           /* [vertex_count] of the last frame / size */
    unsigned char *visited; /* [vertex_count] scratch */
    int32_t *queue;         /* [vertex_count] scratch */
    int32_t region_count;
    sup_region *regions;
    float *region_scratch;  /* room for the largest region's closed vertices */
    float *triangle_normal; /* [triangle_count*3] area-weighted, current */
};

/* distortion.c: everything that compares edges and triangles with their rest shape. */
void sup_measure_rest_shape(sup_measurer *measurer);
void sup_measure_distortion(sup_measurer *measurer, sup_frame_measure *measure);
/* volume.c */
double sup_closed_volume(const sup_closed_surface *closed, const float *positions, const double *component_sign);
void sup_component_signs(const sup_closed_surface *closed, const float *positions, double *sign);
/* crossings.c */
sup_result sup_measure_rest_contact(sup_measurer *measurer, sup_error *error);
sup_result sup_measure_contact(sup_measurer *measurer, sup_frame_measure *measure);

#endif
