/* scan.h (internal) - a scan made ready to be fitted to: floor and debris gone, metres, searchable. */
#ifndef SUP_ANATOMY_SCAN_H
#define SUP_ANATOMY_SCAN_H

#include "geometry/bvh.h"
#include "supple/anatomy.h"

/* In metres, in the scan's own axes. A cloud has one triangle a point, all corners the same. */
typedef struct sup_scan {
    int32_t vertex_count, triangle_count;
    float *positions;      /* [vertex_count*3] */
    int32_t *triangles;    /* [triangle_count*3] */
    double *normals;       /* [triangle_count*3] unit; of a cloud without a side */
    double *area;          /* [triangle_count] of it, or of a point's share */
    unsigned char *border; /* [triangle_count] bit k: edge k (corner k to k+1) has no neighbour */
    bool is_cloud, inside_out;
    double metres_per_unit;
    sup_vec3d centre;  /* of the kept scan in scan units: metres = (units - centre) * metres_per_unit */
    double dropped;    /* share of area (points) that was floor or debris */
    double height;     /* metres, the longest extent */
    sup_vec3d axes[3]; /* principal axes, longest first */
    /* Points spread evenly over the surface. */
    int32_t sample_count;
    double sample_area;               /* square metres that each stands for */
    double *samples, *sample_normals; /* [sample_count*3] */
    sup_bvh bvh;
} sup_scan;

/* About `sample_target` samples. */
sup_result sup_scan_make(const sup_context *context, sup_shape shape, double metres_per_unit, int32_t sample_target,
                         sup_arena *arena, sup_scan *scan, sup_error *error);
void sup_scan_free(sup_scan *scan);

/* Nearest point of the scan to a point with a normal: one that faces the same way (their cosine at least `cosine`).
 * *border: the nearest point is at the rim of a hole, beside the point and not under it. */
sup_bvh_nearest sup_scan_closest(const sup_scan *scan, sup_vec3d point, sup_vec3d normal, double limit, double cosine,
                                 bool *border);
/* Unit normal at what was found, on the side of `towards` for a cloud. */
sup_vec3d sup_scan_normal(const sup_scan *scan, int32_t triangle, sup_vec3d towards);

/* --- scan_clean.c --- */

/* Points (with areas) that a scan is judged by before its unit is known; scan units. */
typedef struct sup_scan_points {
    int32_t count;
    sup_vec3d *at;
    sup_vec3d *normal; /* unit, of a cloud without a side */
    double *weight;
    unsigned char *keep; /* [count] */
} sup_scan_points;
/* Drops large planes with all the rest on one side of them (floor, walls), then all pieces that are small and apart. False
 * when memory ran out. Returns through *dropped the share of weight that went. */
bool sup_scan_clean(const sup_allocator *allocator, sup_scan_points *points, double *dropped);
/* Normals (zero where there are too few) and weights of a cloud from each point's neighbours. False when memory ran out. */
bool sup_scan_cloud_normals(const sup_allocator *allocator, sup_scan_points *points);
/* Principal axes and the extent along each, of points that are kept. */
void sup_scan_axes(const sup_scan_points *points, sup_vec3d *centre, sup_vec3d axes[3], double extent[3]);

#endif
