/* track.h (internal) - a skin that follows an iso-surface: every vertex keeps its own value of a moving field.
 *
 * Based on: [vaillant2014iso] section 5. In each sub-frame
 *
 *     move      clusters move rigidly with the bone of their region                         track.c
 *     project   Newton steps to each vertex's target value                                  project.c
 *     relax     iterations of tangential relaxation with one Newton step each               relax.c
 *
 * towards rest edges rotated by prescribed transforms (rotations.c). A cluster is up to SUP_FIELD_LANES nearby vertices
 * of one region. Only awake clusters are processed: those where a field or a rotation moved relative to the region, and
 * those that these pull along; the cost is proportional to the moving part of the body.
 *
 * Space: units are the character's size, from an origin that the caller chooses; for `rest`, that of the bind pose. */
#ifndef SUP_METHODS_IMPLICIT_TRACK_H
#define SUP_METHODS_IMPLICIT_TRACK_H

#include "linalg/solve_threads.h"
#include "math/affine.h"
#include "methods/implicit/field.h"
#include "supple/model.h"

enum { SUP_TRACK_INFLUENCES = 4 };

/* Target of a vertex besides its position: a record of a model. */
typedef struct sup_track_target {
    float iso;      /* value of the field at rest; 0: outside of all fields */
    float gradient; /* its length there, 1/size; 0: not represented by the field, the vertex follows its neighbours */
    float edge;     /* mean length of its edges, sizes */
    float relax;    /* relaxation weight in [0, 1], from the map "no_relax" */
} sup_track_target;

/* The arrays of a model as the step reads them. Tracked vertices are sorted by cluster. */
typedef struct sup_track {
    int32_t vertex_count, cluster_count, joint_count, edge_count;
    const int32_t *cluster_first;   /* [cluster_count+1] first vertex */
    const int32_t *cluster_joint;   /* [cluster_count] joint of its region */
    const int32_t *neighbour_first; /* [block_count+1] */
    const int32_t *neighbour;       /* adjacent clusters (sharing an edge), increasing */
    const int32_t *moved_by_first;  /* [block_count+1] */
    const int32_t *moved_by;        /* joints that influence vertices of a cluster, increasing */
    const float *rest;              /* [vertex_count*4] */
    const sup_track_target *target; /* [vertex_count] */
    const float *inward;            /* [vertex_count*4] unit gradient at rest, and the value of the own limb there */
    const float *own;               /* [vertex_count] leaf that it belongs to: sup_field_sides */
    const float *other_limb;        /* [vertex_count] value of other limbs at rest */
    const int32_t *first;           /* [vertex_count+1] edges that leave a vertex */
    const int32_t *other;           /* [edge_count] vertex at the other end */
    const float *weight;            /* [edge_count] cotangent weight, >= 0 */
    const float *mean;              /* [edge_count] mean value coordinates of the rest ring; all 0 if undefined */
    const float *sum;               /* [vertex_count] sum of the weights */
    const int32_t *influence_joint; /* [vertex_count*SUP_TRACK_INFLUENCES] strongest first */
    const float *influence_weight;  /* [vertex_count*SUP_TRACK_INFLUENCES] */
    sup_float_factor factor;        /* of the Laplacian of the weights plus a small mass */
    sup_float_subdomains subdomains;
    const int32_t *elimination; /* [vertex_count] position in the elimination order */
} sup_track;

/* The triangles of the tracked skin: track_mesh.c. */
typedef struct sup_track_mesh {
    int32_t triangle_count;
    const int32_t *triangles; /* [triangle_count*3] tracked vertices */
    const int32_t *twin;      /* [triangle_count*3] other half-edge of each, or SUP_HALF_* */
    const float *thickness;   /* [vertex_count] of the body there, estimated from its curvature, sizes */
    const float *margin;      /* [vertex_count] 0: stays with dual quaternions, 1: free */
} sup_track_mesh;

/* --- Bind --- */

typedef struct sup_track_def {
    int32_t vertex_count, triangle_count, joint_count;
    const float *positions; /* [vertex_count*3] bind pose, in the track's space */
    const int32_t *triangles;
    const int32_t *joint; /* [vertex_count] joint of its region */
    const int32_t *influence_first, *influence_joint;
    const float *influence_weight;
    const float *relax; /* [vertex_count] NULL: 1 */
} sup_track_def;

/* Result of bind: a view of the builder's arrays, and those that sup_track_set_targets fills; the caller fills
 * `own`. */
typedef struct sup_track_built {
    sup_track track;
    sup_track_target *target;
    float *inward, *own, *other_limb;
    int32_t *tracked; /* [vertex_count] tracked index of a vertex; memory of the arena */
} sup_track_built;

/* Adds arrays whose names start with "track.". */
sup_result sup_track_bind(const sup_context *context, const sup_track_def *def, sup_arena *arena,
                          sup_model_builder *builder, sup_track_built *built, sup_error *error);
/* On success the arrays are safe to step. */
sup_result sup_track_open(const sup_model *model, sup_track *track, sup_error *error);

/* Adds arrays whose names start with "mesh.". Positions and triangles are those of `def`, as is the order of `margin`;
 * `tracked` of the result. */
sup_result sup_track_mesh_bind(const sup_context *context, const sup_track_def *def, const int32_t *tracked,
                               const float *margin, sup_arena *arena, sup_model_builder *builder, sup_error *error);
/* `triangles` [triangle_count*3]: tracked vertices. */
sup_result sup_track_mesh_open(const sup_model *model, int32_t vertex_count, int32_t triangle_count,
                               const int32_t *triangles, sup_track_mesh *mesh, sup_error *error);

/* Mean value coordinates of a vertex in the plane perpendicular to its normal, for the triangles (vertex, corner[2t],
 * corner[2t+1]) around it: adds to weight[corner]. Returns false without adding anything if the ring is open or
 * folded. */
bool sup_track_mean_value(const float *positions, int32_t vertex, int32_t triangle_count, const int32_t *corners,
                          double *weights);

/* --- The field --- */

/* Value and gradient in the track's space; `sides` may be NULL, as in sup_compose_evaluate. */
typedef void sup_track_field_fn(const void *user, const sup_field_points *points, sup_field_samples *samples,
                                sup_field_sides *sides);

/* Whether a vertex can follow a field with this value and slope (1/size) at rest. */
bool sup_track_can_follow(float value, float slope);
/* Sets the targets from values and gradients of the rest pose. Returns the number of vertices outside of all fields. */
int32_t sup_track_set_targets(const sup_context *context, sup_track_built *built, sup_track_field_fn *field,
                              const void *user);

/* --- Step --- */

typedef enum sup_track_solver { SUP_TRACK_FACTOR, SUP_TRACK_JACOBI } sup_track_solver;

/* A joint in a sub-frame. */
typedef struct sup_track_joint {
    float transform[12]; /* bind to pose, track's space */
    float motion[12];    /* previous pose to this one */
    float rigid[8];      /* unit dual quaternion of `transform` without its stretch */
    float stretch[12];   /* applied before it, bind space */
    int32_t stretched;   /* 0: the stretch is the identity */
    int32_t moves;       /* 0: the transform did not change, bit for bit */
} sup_track_joint;

/* Sets a joint from its current and previous transform. */
void sup_track_set_joint(sup_track_joint *joint, sup_affine transform, sup_affine previous, sup_vec3d centre);

/* Bounding boxes of the fields and the joints that move them: to find clusters that wake up. */
typedef struct sup_track_field_bounds {
    int32_t field_count;
    const int32_t *joint;            /* [field_count] */
    const unsigned char *changed;    /* [field_count] the field changed shape; NULL: none did */
    const float *previous_box, *box; /* [field_count*6] low xyz, high xyz, in the previous and the current pose */
} sup_track_field_bounds;

typedef struct sup_track_input {
    const sup_track_joint *joints; /* [joint_count] */
    sup_track_field_bounds field_bounds;
    sup_track_field_fn *field;
    const void *field_user;
    sup_track_solver solver;
    int32_t iterations; /* maximum number */
    float activity;     /* fraction of the projection and relaxation that is kept, in [0, 1] */
    float anchor;       /* stiffness of the anchor at the dual quaternion position, 1/size^2 */
    float tolerance;    /* iterations end when the RMS displacement is smaller, in edge lengths */
    bool all;           /* all clusters are awake */
    bool shape;         /* rotations are fitted to the skin in each iteration instead of blended from the joints */
} sup_track_input;

typedef struct sup_track_report {
    int32_t awake;       /* vertices that were processed */
    int32_t iterations;  /* of relaxation */
    int64_t evaluations; /* vertices at which the field was evaluated */
    float moved;         /* RMS displacement of the last iteration, in edge lengths */
} sup_track_report;

/* Size of the state of an instance, which contains no pointers. */
size_t sup_track_state_size(const sup_track *track);
/* Sets the skin to the bind pose, transformed by one matrix. */
void sup_track_reset(const sup_track *track, void *state, const float transform[12]);
/* Whether clusters were still moving when the last sub-frame ended; and stops them. */
bool sup_track_is_moving(const sup_track *track, const void *state);
void sup_track_stop(const sup_track *track, void *state);
/* Size of the first bytes of a state: everything that later sub-frames depend on. */
size_t sup_track_saved_size(const sup_track *track);
/* Whether two motions are equal within float rounding. */
bool sup_track_same_motion(const float a[12], const float b[12]);
/* One sub-frame. */
void sup_track_step(const sup_context *context, const sup_track *track, void *state, const sup_track_input *input,
                    sup_track_report *report);
/* Without tracking: projects dual quaternion skinning in every frame (march.c). */
void sup_track_project_frame(const sup_context *context, const sup_track *track, void *state,
                             const sup_track_input *input, sup_track_report *report);
/* Moves everything to another origin. */
void sup_track_shift(const sup_track *track, void *state, const float by[3]);

/* [vertex_count*4] positions; sup_track_output writes them to `output` [vertex_count*4] with creases at contacts
 * smoothed by `smooth` in [0, 1]. Returns false if the state is not usable: then `output` is undefined. */
float *sup_track_positions(const sup_track *track, void *state);
const float *sup_track_transforms(const sup_track *track, const void *state); /* [vertex_count*12] prescribed */
bool sup_track_output(const sup_context *context, const sup_track *track, void *state, float smooth, float *output);
/* Elastic smoothing of skin that is not in contact, by `amount` in [0, 1]: arap_smooth.c. Modifies `output` of
 * sup_track_output. Returns the number of clusters in and near bent skin. */
int32_t sup_track_arap_smooth(const sup_context *context, const sup_track *track, void *state, float amount,
                              float *output);
/* Then shortens edges longer than `longest` times rest in those `bent` clusters. */
void sup_track_limit_edges(const sup_context *context, const sup_track *track, void *state, int32_t bent, float longest,
                           float *output);
/* The same with the longest edge of dual quaternion skinning, at most SUP_TRACK_LONGEST; and moves the output towards
 * that if it encloses less than 1 - `loss` of its volume (track_skinned.c). `triangles` [triangle_count*3] of the
 * tracked skin. */
#define SUP_TRACK_LONGEST 2.5f
/* `scratch`: sup_track_limit_scratch_size bytes. */
size_t sup_track_limit_scratch_size(const sup_track *track, const sup_track_mesh *mesh);
void sup_track_limit(const sup_context *context, const sup_track *track, void *state, const sup_track_mesh *mesh,
                     void *scratch, float loss, int32_t bent, float *output);
/* Counts vertices whose value differs from the target by more than 1e-3 and that are not on a contact surface, those on
 * a contact surface, and those without a field. */
void sup_track_fit(const sup_track *track, void *state, sup_track_field_fn *field, const void *user,
                   int32_t *off_target, int32_t *in_contact, int32_t *without_field);
/* Whether a state can be stepped and output: all values are finite and within range. */
bool sup_track_usable(const sup_track *track, const void *state);

#endif
