/* body.h - bodies for tests and benchmarks of the solver: procedural tubes with a simple tissue (bases at 40 % of
 * the distance from the bone to the skin, free where two bones meet), and characters from files with the method's
 * own tissue. */
#ifndef SUP_TESTS_PROJECTIVE_SOLVER_BODY_H
#define SUP_TESTS_PROJECTIVE_SOLVER_BODY_H

#include "bind/model.h"
#include "math/affine.h"
#include "solver/solver.h"
#include "tissue/tissue.h"
#include "supple/load.h"

typedef struct body {
    sup_tissue tissue;
    int32_t joint_count;
    int32_t *joint;                  /* [skin_count] that carries each base */
    bool *half;                      /* [skin_count] the base turns by half of its joint's turn, about the joint */
    sup_affine *bind, *inverse_bind; /* [joint_count] */
    int32_t *parent;                 /* [joint_count] */
    /* Motion of a loaded character, or, without one, joints of a chain along x that bend one after the other. */
    sup_character *character;
    sup_rig *rig;
    sup_clip *clip;
    sup_pose *pose;
    sup_tissue *owned; /* original of `tissue`, when the library made it */
    sup_volumetric_skeleton *skeleton;
    /* Made by body_bind. */
    sup_model *model;
    sup_system system;
} body;

/* A tube of `rings` times `segments` vertices along x with caps, with three bones. */
body body_tube(int32_t rings, int32_t segments, double scale);
/* A mesh, a skeleton and a motion of shared/assets/fps; paths for sup_load. */
body body_load(const char *mesh, const char *skeleton, const char *motion);
void body_free(body *b);

/* Seconds of the motion. */
double body_duration(const body *b);
/* Joint motions rest -> posed at a time, [joint_count]. */
void body_pose(const body *b, double time, sup_affine *motion);
/* Base (or fixed skin) positions for a pose by tissue vertex: [2*skin_count*3]; the skin moves rigidly with its
 * bone. */
void body_vertices(const body *b, double time, double *vertices);

/* Binds the tissue with `def` (its tissue is set here) into b->model and opens b->system. */
sup_result body_bind(body *b, const sup_context *context, const sup_system_def *def, sup_error *error);
/* Anchors of the system at a time: [anchor_count*4]. */
void body_anchors(const body *b, double time, float *anchors);
/* Ends of the bone segments at a time: [segment_count*8]. */
void body_bones(const body *b, double time, float *bones);

#endif
