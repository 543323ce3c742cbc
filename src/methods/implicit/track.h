/* track.h (internal) - a skin that follows an iso-surface: every vertex keeps its own value of a field that moves.
 *
 * Based on: [vaillant2014iso] section 5. In each sub-frame
 *
 *     carry     vertices go with the bone of their part                                     track.c
 *     project   Newton steps to each vertex's own value                                     project.c
 *     relax     rounds of tangential relaxation and one Newton step each, until they end    relax.c
 *
 * towards rest edges turned by prescribed rotations (rotations.c). Vertices stand in blocks of up to SUP_FIELD_LANES of
 * one part that are near each other. Only blocks that are awake are worked on: those where a field or a rotation moved
 * relative to the part, and those that such ones pull along; so the cost follows the part of the body that moves.
 *
 * Space: sizes of the character from an origin that its owner chooses; that of the bind pose for `rest`. */
#ifndef SUP_METHODS_IMPLICIT_TRACK_H
#define SUP_METHODS_IMPLICIT_TRACK_H

#include "linalg/solve_threads.h"
#include "math/affine.h"
#include "methods/implicit/field.h"
#include "supple/model.h"

enum { SUP_TRACK_INFLUENCES = 4 };

/* What a vertex aims at, beside its place: a record of a model. */
typedef struct sup_track_target {
    float iso;      /* value of the field at rest; 0: none is felt */
    float gradient; /* its length there, 1/size; 0: none shows the skin there, the vertex follows its neighbours */
    float edge;     /* mean length of its edges, sizes */
    float relax;    /* part of the relaxation that it takes: 0 where the artist wants none */
} sup_track_target;

/* The arrays of a model as the step sees them. Rows are vertices in the order of the blocks. */
typedef struct sup_track {
    int32_t vertex_count, cluster_count, joint_count, edge_count;
    const int32_t *cluster_first; /* [block_count+1] rows */
    const int32_t *cluster_joint; /* [block_count] joint whose part it is */
    const int32_t *neighbour_first;  /* [block_count+1] */
    const int32_t *neighbour;        /* other blocks that share an edge with a block, rising */
    const int32_t *moved_by_first;  /* [block_count+1] */
    const int32_t *moved_by;        /* joints that turn rows of a block, rising */
    const float *rest;          /* [row_count*4] */
    const sup_track_target *target;   /* [row_count] */
    const float *inward;        /* [row_count*4] unit gradient at rest, and how much of its kin is felt there */
    const float *own;           /* [row_count] what it belongs to: sup_field_sides */
    const float *other_limb;       /* [row_count] how much of strangers is felt there at rest */
    const int32_t *first;       /* [row_count+1] edges that leave a row */
    const int32_t *other;       /* [edge_count] the row at their other end */
    const float *weight;        /* [edge_count] cotangent weight, >= 0 */
    const float *mean;          /* [edge_count] mean value coordinates of the rest ring; all 0 where there are none */
    const float *sum;           /* [row_count] of the weights */
    const int32_t *influence_joint; /* [row_count*SUP_TRACK_INFLUENCES] strongest first */
    const float *influence_weight;  /* the same count */
    sup_float_factor factor;        /* of the weights' Laplacian and a little mass, rows in the order of the blocks */
    sup_float_subdomains subdomains;
    const int32_t *elimination; /* [row_count] row -> elimination order */
} sup_track;

/* --- Bind --- */

typedef struct sup_track_def {
    int32_t vertex_count, triangle_count, joint_count;
    const float *positions; /* [vertex_count*3] bind pose, in the track's space */
    const int32_t *triangles;
    const int32_t *joint; /* [vertex_count] part */
    const int32_t *influence_first, *influence_joint;
    const float *influence_weight;
    const float *relax; /* [vertex_count] NULL: 1 */
} sup_track_def;

/* What bind made: a view of the builder's arrays, and those that sup_track_aim_at has to fill; `own` is for its caller. */
typedef struct sup_track_built {
    sup_track track;
    sup_track_target *target;
    float *inward, *own, *other_limb;
    int32_t *tracked; /* [vertex_count] of the arena */
} sup_track_built;

/* Adds arrays whose names start with "track.". */
sup_result sup_track_bind(const sup_context *context, const sup_track_def *def, sup_arena *arena,
                          sup_model_builder *builder, sup_track_built *built, sup_error *error);
/* Whatever passes is safe to step. */
sup_result sup_track_open(const sup_model *model, sup_track *track, sup_error *error);

/* Mean value coordinates of a vertex in the plane across its normal, for the triangles (vertex, corner[2t], corner[2t+1])
 * around it: adds to weight[corner]. False, and nothing added, where the ring is open or folded. */
bool sup_track_mean_value(const float *positions, int32_t vertex, int32_t triangle_count, const int32_t *corners,
                          double *weights);

/* --- The field --- */

/* Value and gradient in the track's space; `sides`, may be NULL, as in sup_compose_evaluate. */
typedef void sup_track_field_fn(const void *user, const sup_field_points *points, sup_field_samples *samples,
                                sup_field_sides *sides);

/* Whether a vertex where the field at rest has this value and slope, 1/size, can follow it. */
bool sup_track_can_follow(float value, float slope);
/* Values and gradients of the rest pose become what the rows aim at. Returns how many rows feel no field. */
int32_t sup_track_set_targets(const sup_context *context, sup_track_built *built, sup_track_field_fn *field,
                         const void *user);

/* --- Step --- */

typedef enum sup_track_solver { SUP_TRACK_FACTOR, SUP_TRACK_JACOBI } sup_track_solver;

/* A joint in a sub-frame. */
typedef struct sup_track_joint {
    float transform[12];   /* bind to pose, track's space */
    float motion[12];  /* pose of the sub-frame before to this one */
    float rigid[8];    /* unit dual quaternion of `place` without its stretch */
    float stretch[12]; /* what comes before it, bind space */
    int32_t stretched; /* 0: the stretch is the identity */
    int32_t moves;     /* 0: it is where it was, to the last bit */
} sup_track_joint;

/* Sets a joint from its place now and before. */
void sup_track_set_joint(sup_track_joint *joint, sup_affine transform, sup_affine previous, sup_vec3d centre);

/* Where a field may be felt, and who moves it: for finding out what is awake. */
typedef struct sup_track_field_bounds {
    int32_t field_count;
    const int32_t *joint;          /* [field_count] */
    const unsigned char *changed;  /* [field_count] the field itself is another than before; NULL: none */
    const float *previous_box, *box; /* [field_count*6] low xyz, high xyz, in the pose before and now */
} sup_track_field_bounds;

typedef struct sup_track_input {
    const sup_track_joint *joints; /* [joint_count] */
    sup_track_field_bounds field_bounds;
    sup_track_field_fn *field;
    const void *field_user;
    sup_track_solver solver;
    int32_t iterations;  /* at most */
    float tolerance; /* rounds end when no vertex moves farther, in its edges */
    bool all;        /* everything is awake */
    bool shape;      /* rotations are those of the skin in each round, not those of the joints */
} sup_track_input;

typedef struct sup_track_report {
    int32_t awake;       /* rows that were worked on */
    int32_t iterations;      /* of relaxation */
    int64_t evaluations; /* of the field, rows */
    float moved;         /* farthest in the last round, in edges */
} sup_track_report;

/* State of an instance: no pointers. */
size_t sup_track_state_size(const sup_track *track);
/* The skin as the bind pose has it, moved by one matrix. */
void sup_track_reset(const sup_track *track, void *state, const float transform[12]);
/* Whether rows were still moving when the last sub-frame ended; and has them stop. */
bool sup_track_is_moving(const sup_track *track, const void *state);
void sup_track_stop(const sup_track *track, void *state);
/* The first bytes of a state: all that later sub-frames depend on. */
size_t sup_track_saved_size(const sup_track *track);
/* Whether two motions differ by no more than float noise. */
bool sup_track_same_motion(const float a[12], const float b[12]);
/* One sub-frame. */
void sup_track_step(const sup_context *context, const sup_track *track, void *state, const sup_track_input *input,
                    sup_track_report *report);
/* Without memory, from dual quaternion skinning in every frame: march.c. */
void sup_track_project_frame(const sup_context *context, const sup_track *track, void *state, const sup_track_input *input,
                     sup_track_report *report);
/* Everything to another origin. */
void sup_track_shift(const sup_track *track, void *state, const float by[3]);

/* [row_count*4] places; and with creases at contacts smoothed by `smooth` of [0, 1] into `shown` [row_count*4]. False if the state
 * is not usable: then `shown` is not, either. */
float *sup_track_positions(const sup_track *track, void *state);
const float *sup_track_transforms(const sup_track *track, const void *state); /* [row_count*12] prescribed, with shift */
bool sup_track_output(const sup_context *context, const sup_track *track, void *state, float smooth, float *output);
/* Skin that touches nothing gives way, by `share` of [0, 1]: arap_smooth.c. Moves `shown`, which sup_track_show made. Returns how many blocks
 * are bent, or near such. */
int32_t sup_track_arap_smooth(const sup_context *context, const sup_track *track, void *state, float amount, float *output);
/* Then edges of those `bent` blocks that are longer than skin stretches are shortened. */
void sup_track_limit_edges(const sup_context *context, const sup_track *track, void *state, int32_t bent, float *output);
/* Rows whose value is off by more than 1e-3 and that are on no contact sheet; on a sheet; without a field. */
void sup_track_fit(const sup_track *track, void *state, sup_track_field_fn *field, const void *user, int32_t *off_target,
                   int32_t *in_contact, int32_t *without_field);
/* Whether a state can be stepped and shown: everything in it is finite, and not farther away than floats reach. */
bool sup_track_usable(const sup_track *track, const void *state);

#endif
