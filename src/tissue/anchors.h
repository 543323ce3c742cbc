/* anchors.h - positions of the bases that are attached to the skeleton, in a pose.
 *
 * Based on: [komaritzan2022] section 3.2.2: bases on bones move with them, bases on spheres rotate by half of the bend,
 * and near a joint with one child bases slide between rings of points on parent bone, sphere and child bone; section
 * 3.4.1: bones that stretch and twist; section 4.3.3: bases on input bone surfaces move with their joint. All data is
 * in arrays of a model; an evaluation allocates nothing. */
#ifndef SUP_TISSUE_ANCHORS_H
#define SUP_TISSUE_ANCHORS_H

#include "tissue/tissue.h"
#include "supple/model.h"

enum { SUP_RING_POINTS = 10 };

typedef struct sup_anchors_def {
    bool stick;                  /* no sliding */
    bool whole;                  /* spheres rotate with the child bone, not by half: [komaritzan2018] figure 7 */
    const bool *twisting_joints; /* [joint_count] the bones of these joints distribute the twist of the next joint */
} sup_anchors_def;

/* A view of the arrays. Frames are those of the segments, then those of the spheres. */
typedef struct sup_anchors {
    int32_t joint_count, segment_count, sphere_count, frame_count, anchor_count;
    int32_t slide_count, ring_count, twist_count, attached_count;
    const int32_t *anchor_vertex;   /* [anchor_count] skin vertex whose base it is, ascending */
    const int32_t *segment_joint;   /* [segment_count*3] joint, child or -1, whether it twists */
    const float *segment_rest;      /* [segment_count*8] from, inset there; to, inset there */
    const float *segment_radius;    /* [segment_count] for visualisation only */
    const int32_t *sphere_joint;    /* [sphere_count] */
    const float *sphere_rest;       /* [sphere_count*4] centre, radius */
    const int32_t *sphere_first;    /* [sphere_count+1] */
    const int32_t *sphere_segments; /* segments at each sphere, 2 p + 1 for those that begin there */
    const int32_t *rigid_first;     /* [frame_count+1] */
    const int32_t *rigid_out;       /* [rigid] anchor */
    const float *rigid_rest;        /* [rigid*3] */
    const int32_t *slide_index;     /* [slide_count*6] four ring points, frame, anchor */
    const float *slide_value;       /* [slide_count*8] their weights, offset from their sum, distance from the axis */
    const int32_t *ring_frame;      /* [ring_count] of SUP_RING_POINTS points each */
    const float *ring_rest;         /* [ring_count*SUP_RING_POINTS*3] */
    const int32_t *twist_index;     /* [twist_count*2] segment, anchor */
    const float *twist_rest;        /* [twist_count*4] position, fraction of the twist */
    const int32_t *attached_index;  /* [attached_count*2] joint, anchor */
    const float *attached_rest;     /* [attached_count*3] */
} sup_anchors;

/* Adds the arrays PREFIX.name to a model; `prefix` has at most 12 characters. `def` may be NULL. */
sup_result sup_anchors_bind(const sup_context *context, const sup_volumetric_skeleton *skeleton,
                            const sup_tissue *tissue, const sup_anchors_def *def, sup_model_builder *builder,
                            const char *prefix, sup_error *error);
/* Opens and checks the arrays: anchors that pass are safe to evaluate. */
sup_result sup_anchors_open(const sup_model *model, const char *prefix, sup_anchors *anchors, sup_error *error);

/* State size of an evaluation in bytes, a multiple of 64. */
size_t sup_anchors_state_size(const sup_anchors *anchors);
/* `joints`: skinning matrices, world * inverse bind. `out`: x y z 0 of each anchor; finite for any matrices. `context`
 * must be resolved. */
void sup_anchors_evaluate(const sup_context *context, const sup_anchors *anchors, const sup_mat34 *joints, void *state,
                          float *out);
/* After an evaluation: ends of the segments in the pose, [segment_count*8] from x y z 0, to x y z 0. A foot point in
 * the pose is interpolated between them. */
const float *sup_anchors_segment_ends(const sup_anchors *anchors, const void *state);

#endif
