/* collide.h (internal) - self-contact, joint planes and colliders.
 *
 * Based on: [aburumman2016thesis] chapter 5.
 *
 *     find     surface particles in a spatial hash, tets against its cells (collide_find.c). On demand: only where two
 *              bones can collide, because their joint is bent or their boxes overlap; not while the skeleton does not
 *              move
 *     planes   the bisector plane of each bent joint; tissue stays on the side of its bone (collide_planes.c)
 *     solve    unilateral constraints, once per iteration, after those of the solver (collide.c)
 *     project  the render mesh also stays on its side of the planes (collide_planes.c)
 *
 * Beyond the thesis: a particle inside a tet of another bone is kept above the surface triangle nearest to that tet;
 * the correction is distributed by inverse mass. From step to step the contact walks over the surface, so that a
 * resting contact needs no hash. Lengths are in sizes of the character, the unit of the solver. */
#ifndef SUP_METHODS_POSITION_COLLIDE_H
#define SUP_METHODS_POSITION_COLLIDE_H

#include "deform/instance_colliders.h"
#include "geometry/bvh.h"
#include "methods/position/spatial_hash.h"
#include "supple/method.h"
#include "supple/model.h"
#include "supple/rig.h"
#include "volume/tetmesh.h"

/* View of the bound arrays. A slot is the index of a particle in the solver. */
typedef struct sup_collide {
    int32_t joint_count, surface_count, triangle_count, tet_count, box_count, plane_count, entry_count, slot_count;
    float edge;                   /* mean edge of the surface, sizes */
    const int32_t *parent;        /* [joint_count] joint, or -1 */
    const float *bone;            /* [joint_count*6] head and tail in the bind pose, file units */
    const int32_t *slot;          /* [surface_count] slot of a surface particle */
    const int32_t *bone_of;       /* [surface_count] joint of the nearest bone, or -1: no contacts */
    const float *skin_height;     /* [surface_count] height of the skin above the particle at rest, sizes, at least 0 */
    const int32_t *triangle;      /* [triangle_count*3] surface particles, counter-clockwise from outside */
    const int32_t *neighbour;     /* [triangle_count*3] triangle across the edge opposite to a corner, or -1 */
    const int32_t *tet;           /* [tet_count*4] slots, sorted by joint of the bone */
    const int32_t *exit_triangle; /* [tet_count] nearest surface triangle in the bind pose */
    const int32_t *tet_first;     /* [joint_count+1] */
    const int32_t *box_first;     /* [joint_count+1] */
    const int32_t *box_slot;      /* [box_count] slots whose bounding box is that of the tissue of a bone */
    const int32_t *plane;         /* [plane_count] joint of the lower bone at the plane */
    const int32_t *plane_first;   /* [plane_count+1] */
    const int32_t *entry_slot;    /* [entry_count] slots of particles near a plane */
    const float *entry; /* [entry_count*2] side: 1 lower bone, -1 upper; height over the plane at rest, at most 0 */
    int32_t skin_count;
    const int32_t *skin_first;  /* [plane_count*2+1] vertices of the lower bone of a plane, then of the upper one */
    const int32_t *skin_vertex; /* [skin_count] render vertices near a plane */
    const float *skin_entry;    /* [skin_count*2] as entry */
} sup_collide;

typedef struct sup_collide_def {
    const sup_rig *rig;
    const sup_tetmesh *mesh;
    const int32_t *slot;   /* [particles] */
    const int32_t *bone;   /* [particles] joint of the nearest bone, or -1 */
    const bool *kinematic; /* [particles] */
    const sup_bvh *skin;   /* skin in the bind pose */
    int32_t slot_count;
} sup_collide_def;

sup_result sup_collide_bind(const sup_context *context, const sup_collide_def *def, sup_model_builder *builder,
                            const char *prefix, sup_error *error);
sup_result sup_collide_open(const sup_model *model, const char *prefix, int32_t joint_count, int32_t slot_count,
                            sup_collide *collide, sup_error *error);

typedef enum sup_collide_mode { SUP_COLLIDE_OFF, SUP_COLLIDE_ON_DEMAND, SUP_COLLIDE_ALWAYS } sup_collide_mode;

/* Input of one step. */
typedef struct sup_collide_input {
    sup_collide_mode mode;
    bool planes;
    bool still;              /* the skeleton does not move: contacts are released later */
    bool no_new_contacts;    /* the skeleton has not moved for long: skip detection */
    float friction;          /* between tissue and tissue */
    const sup_mat34 *joints; /* [joint_count] world * inverse bind at the end of the step, file units */
    double origin[3];        /* of the solver's space, file units */
    float size;              /* of the character, file units */
    const float *rest;       /* [slot_count*4] bind pose, file units */
    const float *bone;       /* [slot_count*4] point of the nearest bone at the end of the step */
    float *previous;         /* [slot_count*4] positions at the start of the step */
    int32_t iterations;
    const sup_posed_collider *solids; /* or NULL */
    int32_t solid_count;
    uint32_t generation; /* of the list of solids */
} sup_collide_input;

/* Statistics of the last step. */
typedef struct sup_collide_report {
    int32_t pairs;   /* self-contacts */
    int32_t touches; /* contacts with colliders */
    int32_t planes;  /* bent joints */
    int32_t hashed;  /* particles inserted into the hash */
    int32_t tested;  /* tets tested against the hash */
} sup_collide_report;

size_t sup_collide_state_size(const sup_collide *collide);
void sup_collide_reset(const sup_collide *collide, void *state);
/* Restores the pointers of a copied state; `collide` NULL: clears all pointers. */
void sup_collide_restore(const sup_collide *collide, void *state);
/* Call before the step of the solver. */
void sup_collide_begin(const sup_collide *collide, void *state, const sup_collide_input *input);
/* The sup_pbd_contact_fn of the solver; `state` as in sup_collide_begin. */
void sup_collide_solve(void *state, const sup_context *context, float *positions);
/* Projects the render mesh to its side of the joint planes, with the joints of the frame: between particles it may
 * penetrate slightly. */
void sup_collide_project_skin(const sup_collide *collide, void *state, const sup_context *context,
                              const sup_mat34 *joints, const double origin[3], const sup_skin_out *out);
const sup_collide_report *sup_collide_report_of(const void *state);
/* [surface_count] triangle in contact with a surface particle, or -1; for tests. */
const int32_t *sup_collide_contacts(const void *state);

#endif
