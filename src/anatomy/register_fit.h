/* register_fit.h (internal) - fits shape and pose of the template to a scan by Gauss-Newton on closest points. */
#ifndef SUP_ANATOMY_REGISTER_FIT_H
#define SUP_ANATOMY_REGISTER_FIT_H

#include "anatomy/body_model.h"
#include "anatomy/scan.h"

/* A point of the template and its target. */
typedef struct sup_match {
    int32_t vertex; /* vertex of the model, whose derivatives are used for the point */
    sup_vec3d from, to, normal;
    double distance; /* INFINITY: no correspondence */
    double weight;
} sup_match;

/* A landmark, resolved: of a vertex of the composition, or of a joint. Metres. */
typedef struct sup_mark {
    int32_t vertex, joint; /* one of them is -1 */
    sup_vec3d at;
} sup_mark;

typedef struct sup_fit_settings {
    double limit;           /* metres: points farther away do not correspond */
    double cosine;          /* minimum cosine between the normals of corresponding points */
    double noise;           /* metres: smallest scale of the robust weights */
    double tangent;         /* weight of point-to-point relative to point-to-plane */
    double pose;            /* factor on the standard deviations of the joint rotations */
    int32_t modes;          /* number of shape coefficients that may change */
    int32_t max_iterations; /* iterations */
    bool use_marks;
} sup_fit_settings;

typedef struct sup_fit {
    sup_context context;
    const sup_composition *composition;
    const sup_scan *scan;
    const sup_body_model *model;
    const double *joint_deviation; /* [joint_count] radians */
    const sup_mark *marks;
    int32_t mark_count, sample_step; /* every sample_step-th sample of the scan */
    /* Scratch for the state that was matched last. */
    double *posed;        /* [vertex_count*3] of the model */
    float *posed_float;   /* the same */
    double *normals;      /* [vertex_count*3] */
    double *face_normals; /* [triangle_count*3] */
    sup_bvh bvh;          /* of the posed model */
    bool has_bvh;
    int32_t match_count, sample_count; /* template to scan first, then samples to template */
    sup_match *matches;                /* [vertex_count + samples] */
    double *blocks, *right;            /* [block_count] of the normal equations */
    int32_t block_count;
    int32_t *mark_vertex; /* [mark_count] vertex of the model */
} sup_fit;

sup_result sup_fit_open(const sup_context *context, const sup_body_model *model, const sup_scan *scan,
                        int32_t sample_step, const double *joint_deviation, const sup_mark *marks, int32_t mark_count,
                        sup_arena *arena, sup_fit *fit, sup_error *error);
void sup_fit_close(sup_fit *fit);

/* Finds correspondences of the template's vertices on the scan, and of the scan's samples on the template. */
sup_result sup_fit_match(sup_fit *fit, const sup_body_state *state, const sup_fit_settings *settings, sup_error *error);
/* At most settings->max_iterations iterations of matching and a step; ends earlier when steps become small. */
sup_result sup_fit_run(sup_fit *fit, sup_body_state *state, const sup_fit_settings *settings, sup_error *error);
/* Mean distance in both directions, each clamped to `limit` (also without a correspondence), metres. After
 * sup_fit_match. */
double sup_fit_score(const sup_fit *fit, double limit);
/* Fraction of the scan's samples without a correspondence within `limit`. After sup_fit_match. */
double sup_fit_unexplained(const sup_fit *fit, double limit);

#endif
