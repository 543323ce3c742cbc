/* measure.h - numbers that judge a deformed skin: volume, self-intersection, stretch, flips, smoothness.
 *
 * A measurer is made once from the rest shape of a character (its welded skin) and asked frame by frame. All numbers
 * are free of units: lengths are relative to the character's size or to the rest lengths. */
#ifndef SUPPLE_MEASURE_H
#define SUPPLE_MEASURE_H

#include "supple/pose.h"
#include "supple/rig.h"

typedef struct sup_measurer sup_measurer;

/* A surface to judge: what sup_measurer_create takes from a rig, or a caller from elsewhere. */
typedef struct sup_measure_surface {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] rest shape, finite */
    const int32_t *triangles; /* [triangle_count*3] */
    double size; /* length that penetration, drift and jitter are relative to; 0 = the bounding box diagonal */
    /* Regions whose volume is followed, such as the triangles a bone moves or those around a joint. May overlap. */
    int32_t region_count;
    const int32_t *region_first;     /* [region_count+1] */
    const int32_t *region_triangles; /* triangle indices */
} sup_measure_surface;

typedef struct sup_frame_measure {
    double volume_ratio;        /* enclosed volume / rest volume; holes are closed by fans for the measure */
    int32_t intersections;      /* crossing triangle pairs that share no vertex and did not cross at rest */
    int32_t rest_intersections; /* crossing pairs that crossed at rest already */
    /* Those of `intersections` whose triangles lay against each other at rest, as toes, lips and eyes in their sockets
     * do: nearer than one of their edges is long, and apart along the skin. */
    int32_t close_intersections;
    double penetration;                            /* deepest place of the skin inside itself / size */
    double stretch_min, stretch_max, stretch_mean; /* edge length / rest length */
    double area_max, area_mean;                    /* triangle area change, max(a, 1/a), 1 = none */
    double angle_max, angle_mean; /* largest / smallest singular value of the triangle's map, 1 = none */
    int32_t flips;                /* triangles that turned against their neighbours and did not at rest */
    double roughness;             /* root mean square change of the Laplacian's length / mean rest edge */
    double displacement_max;      /* farthest vertex from its rest place / size */
    int32_t nonfinite;            /* vertices with a number that is not finite; they are measured at their rest place */
} sup_frame_measure;

SUP_API sup_result sup_measurer_create(const sup_context *context, const sup_measure_surface *surface,
                                       sup_measurer **measurer, sup_error *error);
SUP_API void sup_measurer_destroy(sup_measurer *measurer);

/* positions [vertex_count*3] of the surface's vertices; region_volume_ratio [region_count] or NULL, NaN for a region that
 * encloses no volume at rest, such as a nearly flat patch. One measurer may be used by one thread at a time. */
SUP_API sup_result sup_measurer_frame(sup_measurer *measurer, const float *positions, sup_frame_measure *measure,
                                      double *region_volume_ratio);

/* The crossing pairs of the last frame that did not cross at rest, [count*2] triangle indices, first < second, in
 * rising order; and the vertices of the surface found inside it, with their depth / size, [vertex_count], 0 = outside. */
SUP_API const int32_t *sup_measurer_pairs(const sup_measurer *measurer, int32_t *count);
SUP_API const float *sup_measurer_depths(const sup_measurer *measurer);

/* The welded skin of a rig as a surface, with two regions per joint: 2j = the triangles that joint j moves most,
 * 2j+1 = those around joint j where its bone meets its parent's (an elbow, a knee); then one per part of the character:
 * 2*joint_count + p = its triangles in the skin. `surface` points into `storage`, which sup_rig_surface_destroy frees. */
typedef struct sup_rig_surface {
    sup_measure_surface surface;
    struct sup_rig_surface_storage *storage;
} sup_rig_surface;
SUP_API sup_result sup_rig_surface_create(const sup_context *context, const sup_rig *rig, sup_rig_surface **surface,
                                          sup_error *error);
SUP_API void sup_rig_surface_destroy(sup_rig_surface *surface);

/* Render vertices [rig->vertex_count*3] to surface vertices [surface.vertex_count*3]. */
SUP_API void sup_rig_surface_gather(const sup_rig *rig, const float *vertices, float *surface_positions);

/* Linear blend (or dual quaternion) skinning in double, one vertex after another, as the equations are printed: what
 * results and times are held against. positions and normals [rig->vertex_count*3], either may be NULL. */
SUP_API sup_result sup_reference_skin(const sup_context *context, const sup_rig *rig, const sup_pose *pose, bool dual,
                                      double *positions, double *normals);

/* A whole motion, such as a point cache. */
typedef struct sup_motion_def {
    int32_t frame_count;
    const float *positions;    /* [frame_count*rig->vertex_count*3] render vertices, as a bake writes them */
    const sup_mat34 *nodes;    /* [frame_count*node_count] node -> world in each frame; NULL: no drift, no jitter */
    sup_progress_fn *progress; /* called on the caller's thread */
    void *progress_user;
} sup_motion_def;

/* Over all frames: the worst of each number unless it is called a mean or a sum. */
typedef struct sup_motion_summary {
    double volume_ratio; /* the one farthest from 1 */
    double volume_ratio_min, volume_ratio_max, volume_ratio_mean;
    int32_t intersections, rest_intersections, close_intersections;
    int64_t intersections_sum, close_intersections_sum;
    double penetration;
    double stretch_min, stretch_max, stretch_mean, area_max, area_mean, angle_max, angle_mean;
    int32_t flips;
    double roughness, roughness_mean;
    double displacement_max;
    int64_t nonfinite; /* sum */
    double drift;      /* at the end of every return to an earlier pose; negative: the motion never returns */
    double jitter;     /* in the second half of every standstill, the first may settle; negative: there is none */
} sup_motion_summary;

typedef struct sup_motion_measure {
    int32_t frame_count, region_count;
    const sup_frame_measure *frames;   /* [frame_count] */
    const double *region_volume_ratio; /* [frame_count*region_count] regions as in sup_rig_surface_create */
    /* [frame_count] farthest vertex from where it was the first time that the skeleton stood like this, in the bind pose
     * or in the pose of the first frame, / size; -1 where the skeleton has not come back to one of them. */
    const double *drift;
    /* [frame_count] farthest way of a vertex since the frame before, / size, where the skeleton did not move; else -1. */
    const double *jitter;
    sup_motion_summary summary;
    struct sup_motion_storage *storage; /* the library's own */
} sup_motion_measure;

/* Frames are shared out to the threads of the context, so its allocator must be safe to call from them; the numbers do
 * not depend on how many there are. */
SUP_API sup_result sup_measure_motion(const sup_context *context, const sup_rig *rig, const sup_motion_def *def,
                                      sup_motion_measure **measure, sup_error *error);
SUP_API void sup_motion_measure_destroy(sup_motion_measure *measure);

#endif
