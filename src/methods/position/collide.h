/* collide.h (internal) - flesh that meets flesh, the planes of bent joints, and things in the way.
 *
 * Based on: [aburumman2016thesis] chapter 5.
 *
 *     find     surface particles into cells, tets against the cells they reach (collide_find.c). On demand: only where two
 *              bones can meet, because their joint is bent, or because their boxes overlap; and not while the skeleton stands
 *     planes   each bent joint has the bisector of its two bones, and flesh stays on its bone's side (collide_planes.c)
 *     solve    unilateral constraints, once an iteration, after those of the solver (collide.c)
 *     press    the shown skin, too, stays on its side of the planes (collide_planes.c)
 *
 * Beyond the thesis: a particle inside a tet of another part is held above the surface triangle nearest to that tet, and
 * both give way by their masses; from step to step it walks over the surface, so that a resting contact needs no cells.
 * Lengths are in the solver's space: sizes of the character. */
#ifndef SUP_METHODS_POSITION_COLLIDE_H
#define SUP_METHODS_POSITION_COLLIDE_H

#include "deform/instance_colliders.h"
#include "geometry/bvh.h"
#include "methods/position/spatial_hash.h"
#include "supple/method.h"
#include "supple/model.h"
#include "supple/rig.h"
#include "volume/tetmesh.h"

enum { SUP_MEET_PLANE_FLOATS = 12 };

/* What is bound. Rows are those of the solver. */
typedef struct sup_meet {
    int32_t joint_count, surface_count, triangle_count, tet_count, box_count, plane_count, entry_count, row_count;
    float edge;                 /* mean edge of the surface, sizes */
    const int32_t *parent;      /* [joint_count] joint, or -1 */
    const float *bone;          /* [joint_count*6] head and tail in the bind pose, file units */
    const int32_t *row;         /* [surface_count] of the surface's particles */
    const int32_t *bone_of;     /* [surface_count] joint of the nearest bone, or -1: never meets anything */
    const float *over;          /* [surface_count] how far the skin is above the particle at rest, sizes, at least 0 */
    const int32_t *triangle;    /* [triangle_count*3] surface particles, counter-clockwise from outside */
    const int32_t *neighbour;   /* [triangle_count*3] across the edge opposite to a corner, or -1 */
    const int32_t *tet;         /* [tet_count*4] rows, by joint of the bone */
    const int32_t *exit;        /* [tet_count] nearest surface triangle in the bind pose */
    const int32_t *tet_first;   /* [joint_count+1] */
    const int32_t *box_first;   /* [joint_count+1] */
    const int32_t *box_row;     /* [box_count] rows that span the flesh of a bone */
    const int32_t *plane;       /* [plane_count] joint of the bone below the plane's joint */
    const int32_t *plane_first; /* [plane_count+1] */
    const int32_t *entry_row;   /* [entry_count] particles beside a plane */
    const float *entry;         /* [entry_count*2] side: 1 below, -1 above; height over the plane at rest, at most 0 */
    int32_t skin_count;
    const int32_t *skin_first;  /* [plane_count*2+1] those below a plane, then those above it */
    const int32_t *skin_vertex; /* [skin_count] shown vertices beside a plane */
    const float *skin_entry;    /* [skin_count*2] as entry */
} sup_meet;

typedef struct sup_meet_def {
    const sup_rig *rig;
    const sup_tetmesh *mesh;
    const int32_t *row;    /* [particles] */
    const int32_t *bone;   /* [particles] joint of the nearest bone, or -1 */
    const bool *kinematic; /* [particles] */
    const sup_bvh *skin;   /* of the shown body in the bind pose */
    int32_t row_count;
} sup_meet_def;

sup_result sup_meet_bind(const sup_context *context, const sup_meet_def *def, sup_model_builder *builder,
                         const char *prefix, sup_error *error);
sup_result sup_meet_open(const sup_model *model, const char *prefix, int32_t joint_count, int32_t row_count,
                         sup_meet *meet, sup_error *error);

typedef enum sup_meet_mode { SUP_MEET_OFF, SUP_MEET_ON_DEMAND, SUP_MEET_ALWAYS } sup_meet_mode;

/* One step. */
typedef struct sup_meet_input {
    sup_meet_mode mode;
    bool planes;
    bool still;              /* the skeleton stands: holds stay where they are */
    bool calm;               /* it has long stood: nothing new begins */
    float friction;          /* between flesh and flesh */
    const sup_mat34 *joints; /* [joint_count] world * inverse bind at the end of the step, file units */
    double origin[3];        /* of the solver's space, file units */
    float size;              /* of the character, file units */
    const float *rest;       /* [row_count*4] bind pose, file units */
    const float *bone;       /* [row_count*4] point of the nearest bone at the end of the step */
    float *before;           /* [row_count*4] where the step began */
    int32_t iterations;
    const sup_posed_collider *solids; /* or NULL */
    int32_t solid_count;
    uint32_t generation; /* of the list of solids */
} sup_meet_input;

/* What the last step did. */
typedef struct sup_meet_report {
    int32_t pairs;   /* particles that flesh of another part holds */
    int32_t touches; /* particles near things in the way */
    int32_t planes;  /* bent joints */
    int32_t hashed;  /* particles put into cells */
    int32_t tested;  /* tets that looked there */
} sup_meet_report;

size_t sup_meet_state_size(const sup_meet *meet);
void sup_meet_reset(const sup_meet *meet, void *state);
/* Points a state that was copied at its own memory again; `meet` NULL: takes all pointers out of it. */
void sup_meet_restore(const sup_meet *meet, void *state);
/* Before the solver's step. */
void sup_meet_begin(const sup_meet *meet, void *state, const sup_meet_input *input);
/* The solver's sup_pbd_contact_fn: `state` is that of begin. */
void sup_meet_solve(void *state, const sup_context *context, float *rows);
/* The shown skin stays on its bones' sides of bent joints too, with the joints of the frame: between particles it may be
 * a little over what they keep. */
void sup_meet_press(const sup_meet *meet, void *state, const sup_context *context, const sup_mat34 *joints,
                    const double origin[3], const sup_skin_out *out);
const sup_meet_report *sup_meet_report_of(const void *state);
/* Triangle that holds a surface particle, -1 for none; for tests. */
const int32_t *sup_meet_held(const void *state);

#endif
