/* scan.h (internal) - a scan prepared for fitting: without floor and debris, in metres, with closest-point queries. */
#ifndef SUP_ANATOMY_SCAN_H
#define SUP_ANATOMY_SCAN_H

#include "geometry/bvh.h"
#include "supple/anatomy.h"

/* Metres, in the scan's axes. A cloud has one degenerate triangle per point. */
typedef struct sup_scan {
    int32_t vertex_count, triangle_count;
    float *positions;      /* [vertex_count*3] */
    int32_t *triangles;    /* [triangle_count*3] */
    double *normals;       /* [triangle_count*3] unit; the sign is arbitrary for a cloud */
    double *area;          /* [triangle_count] of the triangle, or of a point's neighbourhood */
    unsigned char *border; /* [triangle_count] bit k: edge k (corner k to k+1) has no neighbour */
    bool is_cloud, inside_out;
    double metres_per_unit;
    sup_vec3d centre;  /* of the kept scan, in scan units: metres = (units - centre) * metres_per_unit */
    double dropped;    /* fraction of the area (or points) that was removed as floor or debris */
    double height;     /* longest extent, metres */
    sup_vec3d axes[3]; /* principal axes, longest first */
    /* Even samples of the surface. */
    int32_t sample_count;
    double sample_area;               /* area per sample, square metres */
    double *samples, *sample_normals; /* [sample_count*3] */
    sup_bvh bvh;
} sup_scan;

/* About `sample_target` samples. */
sup_result sup_scan_make(const sup_context *context, sup_shape shape, double metres_per_unit, int32_t sample_target,
                         sup_arena *arena, sup_scan *scan, sup_error *error);
void sup_scan_free(sup_scan *scan);

/* Nearest point of the scan with a similar normal (cosine at least `cosine`). *border: the nearest point is on the
 * border of a hole and the query point is beside the surface, not above it. */
sup_bvh_nearest sup_scan_closest(const sup_scan *scan, sup_vec3d point, sup_vec3d normal, double limit, double cosine,
                                 bool *border);
/* Unit normal of a triangle; for a cloud on the side of `towards`. */
sup_vec3d sup_scan_normal(const sup_scan *scan, int32_t triangle, sup_vec3d towards);

/* --- scan_clean.c --- */

/* Points with areas that represent a scan before its unit is known; scan units. */
typedef struct sup_scan_points {
    int32_t count;
    sup_vec3d *at;
    sup_vec3d *normal; /* unit; the sign is arbitrary for a cloud */
    double *weight;
    unsigned char *keep; /* [count] */
} sup_scan_points;
/* Removes large planes with all other points on one side (floor, walls), then small separate components. Returns
 * false when out of memory; *dropped gets the removed fraction of the weight. */
bool sup_scan_clean(const sup_allocator *allocator, sup_scan_points *points, double *dropped);
/* Normals (zero where there are too few neighbours) and weights of a cloud from each point's neighbours. Returns
 * false when out of memory. */
bool sup_scan_cloud_normals(const sup_allocator *allocator, sup_scan_points *points);
/* Principal axes of the kept points, and the extent along each. */
void sup_scan_axes(const sup_scan_points *points, sup_vec3d *centre, sup_vec3d axes[3], double extent[3]);

#endif
