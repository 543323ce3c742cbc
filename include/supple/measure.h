/* measure.h - quality metrics of a deformed skin: volume, self-intersection, stretch, flips, smoothness.
 *
 * A measurer is created from the rest shape of a character (its welded skin) and called per frame. All numbers are
 * dimensionless: lengths are relative to the size of the character or to rest lengths. */
#ifndef SUPPLE_MEASURE_H
#define SUPPLE_MEASURE_H

#include "supple/pose.h"
#include "supple/rig.h"

typedef struct sup_measurer sup_measurer;

/* The surface to measure: that of a rig (sup_rig_surface_create) or of the caller. */
typedef struct sup_measure_surface {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] rest shape, finite */
    const int32_t *triangles; /* [triangle_count*3] */
    double size;              /* reference length of penetration, drift and jitter; 0: the bounding box diagonal */
    /* Regions for volume ratios, such as the triangles that a bone moves or those around a joint. May overlap. */
    int32_t region_count;
    const int32_t *region_first;     /* [region_count+1] */
    const int32_t *region_triangles; /* triangle indices */
} sup_measure_surface;

typedef struct sup_frame_measure {
    double volume_ratio;        /* enclosed volume / rest volume; holes are closed by triangle fans */
    int32_t intersections;      /* crossing triangle pairs that share no vertex and did not cross at rest */
    int32_t rest_intersections; /* crossing pairs that also crossed at rest */
    /* The subset of `intersections` whose triangles were in contact at rest (toes, lips, eyes in their sockets): nearer
     * than their longest edge, and not neighbours along the skin. */
    int32_t close_intersections;
    double penetration;                            /* maximum depth of the skin inside itself / size */
    double stretch_min, stretch_max, stretch_mean; /* edge length / rest length */
    double area_max, area_mean;                    /* triangle area change, max(a, 1/a); 1: none */
    double angle_max, angle_mean; /* largest / smallest singular value of the map of a triangle; 1: none */
    int32_t flips;                /* triangles flipped relative to their neighbours that were not at rest */
    double roughness;             /* RMS change of the length of the Laplacian / mean rest edge */
    double displacement_max;      /* largest displacement of a vertex from its rest position / size */
    int32_t nonfinite;            /* vertices with a value that is not finite; measured at their rest position */
} sup_frame_measure;

SUP_API sup_result sup_measurer_create(const sup_context *context, const sup_measure_surface *surface,
                                       sup_measurer **measurer, sup_error *error);
SUP_API void sup_measurer_destroy(sup_measurer *measurer);

/* positions [vertex_count*3] of the surface; region_volume_ratio [region_count] or NULL, NaN for a region that encloses
 * no volume at rest, such as a nearly flat patch. A measurer must not be used by two threads at the same time. */
SUP_API sup_result sup_measurer_frame(sup_measurer *measurer, const float *positions, sup_frame_measure *measure,
                                      double *region_volume_ratio);

/* Crossing pairs of the last frame that did not cross at rest: [count*2] triangle indices, first < second, in ascending
 * order; and the depth / size of the vertices inside the skin, [vertex_count], 0: outside. */
SUP_API const int32_t *sup_measurer_pairs(const sup_measurer *measurer, int32_t *count);
SUP_API const float *sup_measurer_depths(const sup_measurer *measurer);

/* The welded skin of a rig as a surface, with two regions per joint: 2j: triangles that joint j moves most, 2j+1: those
 * around joint j between its bone and the bone of its parent (an elbow, a knee); then one per primitive of the
 * character: 2*joint_count + p: its triangles in the skin. `surface` points into `storage`, which
 * sup_rig_surface_destroy frees. */
typedef struct sup_rig_surface {
    sup_measure_surface surface;
    struct sup_rig_surface_storage *storage;
} sup_rig_surface;
SUP_API sup_result sup_rig_surface_create(const sup_context *context, const sup_rig *rig, sup_rig_surface **surface,
                                          sup_error *error);
SUP_API void sup_rig_surface_destroy(sup_rig_surface *surface);

/* Copies render vertices [rig->vertex_count*3] to surface vertices [surface.vertex_count*3]. */
SUP_API void sup_rig_surface_gather(const sup_rig *rig, const float *vertices, float *surface_positions);

/* Linear blend (or dual quaternion) skinning in double precision, one vertex at a time, as in the equations: the
 * reference for results and times. positions and normals [rig->vertex_count*3], either may be NULL. */
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

/* Summary of all frames: the worst value of each metric unless it is called a mean or a sum. */
typedef struct sup_motion_summary {
    double volume_ratio; /* the value with the largest deviation from 1 */
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
    double jitter;     /* in the second half of every period without motion of the skeleton; negative: there is none */
} sup_motion_summary;

typedef struct sup_motion_measure {
    int32_t frame_count, region_count;
    const sup_frame_measure *frames;   /* [frame_count] */
    const double *region_volume_ratio; /* [frame_count*region_count] regions as in sup_rig_surface_create */
    /* [frame_count] largest distance of a vertex / size from its position at the first occurrence of the same pose
     * (bind pose or pose of the first frame); -1 if the skeleton has not returned to one of them. */
    const double *drift;
    /* [frame_count] largest displacement of a vertex / size since the previous frame, if the skeleton did not move;
     * else -1. */
    const double *jitter;
    sup_motion_summary summary;
    struct sup_motion_storage *storage; /* internal */
} sup_motion_measure;

/* Frames are distributed to the threads of the context, so its allocator must be thread-safe. The result does not
 * depend on the number of threads. */
SUP_API sup_result sup_measure_motion(const sup_context *context, const sup_rig *rig, const sup_motion_def *def,
                                      sup_motion_measure **measure, sup_error *error);
SUP_API void sup_motion_measure_destroy(sup_motion_measure *measure);

/* Acceleration of render vertices: |x(f+1) - 2 x(f) + x(f-1)| / size, a frame squared, in every frame but the first and
 * the last. */
typedef struct sup_acceleration {
    double rms;           /* root mean square over vertices and frames; negative: fewer than three frames */
    double excess;        /* largest acceleration of a vertex in one frame beyond its own in `reference`, at least 0;
                             negative: no reference */
    int32_t excess_frame; /* frame of `excess`, -1 if there is none */
} sup_acceleration;

/* positions, reference [frame_count*rig->vertex_count*3]; `reference` (may be NULL): another deformation in the same
 * frames, such as linear blending. */
SUP_API sup_result sup_measure_acceleration(const sup_rig *rig, int32_t frame_count, const float *positions,
                                            const float *reference, sup_acceleration *measure);

#endif
