/* pbd.h (internal) - position based dynamics of a tetrahedral mesh: what is bound, and the step.
 *
 * Based on: [aburumman2016thesis] sections 4.3 to 4.6 (stretch, volume and bind constraints, Gauss-Seidel) and
 * [macklin2016] (XPBD: compliance in physical units).
 *
 * Order of the constraints. The particles are cut into parts of a fixed size. Constraints inside a part are solved part by
 * part, volume -> bind -> stretch, all parts at the same time: that is a level. Constraints that reach over a cut come
 * next, cut anew, and then the few that are left. Three levels and so three meetings of the threads make an iteration,
 * instead of one for each of the 30 to 60 colours of the thesis. Inside a part 16 constraints that share no particle make a batch, one
 * vector register; batches follow each other, each seeing what the one before did: Gauss-Seidel. Nothing of that depends
 * on the number of threads.
 *
 * Lengths are in sizes of the character, masses in the mean mass of a particle: no number depends on the file's unit. */
#ifndef SUP_METHODS_POSITION_PBD_H
#define SUP_METHODS_POSITION_PBD_H

#include "base/base.h"
#include "supple/model.h"

enum { SUP_PBD_LANES = 16, SUP_PBD_LEVELS = 3 };

/* What one thread does at a stretch; no two pieces of a level touch the same particle. */
typedef struct sup_pbd_piece {
    int32_t volume_first, volume_end;     /* batches */
    int32_t stretch_first, stretch_end;   /* batches */
    int32_t particle_first, particle_end; /* multiples of SUP_PBD_LANES; empty after the first level */
} sup_pbd_piece;

/* Row: place of a particle in the solver. Rows that are no particle fill up parts and lanes; they never move. */
typedef struct sup_pbd {
    int32_t particle_count, row_count; /* row_count is a multiple of SUP_PBD_LANES */
    int32_t tet_count, edge_count;     /* constraints, those between kinematic particles left out */
    int32_t piece_count, volume_batches, stretch_batches;
    int32_t level_first[SUP_PBD_LEVELS + 1]; /* pieces of a level */
    float mean_volume;                       /* of a particle's share of the tets */
    const sup_pbd_piece *pieces;             /* [piece_count] */
    const int32_t *row;                      /* [particle_count] */
    const float *share;                      /* [row_count] volume that moves with the particle, 0 for fillers */
    const float *inverse_mass;               /* [row_count] mean_volume / share; 0: kinematic or filler */
    const int32_t *volume_corner;            /* [volume_batches*64] rows: 16 first corners, 16 second, ... */
    const float *volume_rest;                /* [volume_batches*16] six times the volume; 0 in left-over lanes */
    const float *volume_area;                /* [volume_batches*4*16] squared length of the rest gradient of a corner */
    const int32_t *stretch_corner;           /* [stretch_batches*32] */
    const float *stretch_rest;               /* [stretch_batches*16] length */
    const float *stretch_compliance; /* [stretch_batches*16] mean_volume * length^2 / volume of tets at the edge */
} sup_pbd;

typedef struct sup_pbd_def {
    int32_t particle_count;
    const double *rest; /* [particle_count*3] in sizes of the character */
    int32_t tet_count;
    const int32_t *tets;        /* [tet_count*4] any orientation */
    const bool *kinematic;      /* [particle_count] or NULL */
    int32_t constraints_a_part; /* 0: the default; tests ask for small parts */
} sup_pbd_def;

/* What the other stages of a bind need to know of it. */
typedef struct sup_pbd_bound {
    int32_t row_count;
    const int32_t *row; /* [particle_count] in the builder's memory */
} sup_pbd_bound;

/* Arrays named prefix.* into the builder. Refuses indices out of range, numbers that are not finite, no tets. `bound` may
 * be NULL. */
sup_result sup_pbd_bind(const sup_context *context, const sup_pbd_def *def, sup_model_builder *builder,
                        const char *prefix, sup_pbd_bound *bound, sup_error *error);
/* Finds and checks them again: the model may come from a file. */
sup_result sup_pbd_open(const sup_model *model, const char *prefix, sup_pbd *pbd, sup_error *error);

/* How stiff everything is. */
typedef struct sup_pbd_settings {
    bool raw;               /* true: the thesis' k in [0, 1], used once an iteration; false: physical units */
    float seconds;          /* length of the step */
    double stretch, volume; /* Pa (Young's, bulk), or k */
    double bind;            /* Pa, or k */
    double follow;          /* Hz of the spring to linear blending; raw: part of the way in [0, 1] */
    double inertia;         /* Pa s^2: density * (metres of the character's size)^2 */
    uint32_t regions;       /* another number whenever what sup_pbd_regions gives was changed */
} sup_pbd_settings;

/* Per particle, changed by its owner between steps. */
typedef struct sup_pbd_regions {
    float *firm;   /* [row_count] factor of the stiffness of all constraints of the particle; 1 */
    float *follow; /* [row_count] factor of `follow`; 1, and 0: dynamics alone */
} sup_pbd_regions;

/* Unilateral constraints: called once an iteration, after volume, bind and stretch; rows are x, y, z, inverse mass. Must
 * give the same rows for any number of threads. */
typedef void sup_pbd_contact_fn(void *user, const sup_context *context, float *rows);

typedef struct sup_pbd_input {
    sup_pbd_settings settings;
    const float *guide;        /* [row_count*4] linear blending at the end of the step; the fourth is not read */
    const float *guide_before; /* [row_count*4] at its begin */
    const float *bone;         /* [row_count*4] point of the nearest bone, rest distance; negative: no bind */
    float gravity[3];          /* sizes / s^2 */
    float damping;             /* 1/s, of the velocity beside that of linear blending */
    int32_t iterations;
    sup_pbd_contact_fn *contact; /* or NULL */
    void *contact_user;
} sup_pbd_input;

size_t sup_pbd_state_size(const sup_pbd *pbd);
/* At rest with every row at `guide` [row_count*4]. Regions become 1. */
void sup_pbd_start(const sup_pbd *pbd, void *state, const float *guide);
/* At rest there, regions and stiffness as they are. */
void sup_pbd_place(const sup_pbd *pbd, void *state, const float *guide);
/* Points a state that was copied at its own memory again; `pbd` NULL: takes all pointers out of it. */
void sup_pbd_restore(const sup_pbd *pbd, void *state);
/* Takes all velocity away. */
void sup_pbd_stop(const sup_pbd *pbd, void *state);
sup_pbd_regions sup_pbd_regions_of(const sup_pbd *pbd, void *state);
/* [row_count*4] x, y, z, inverse mass. */
float *sup_pbd_rows(const sup_pbd *pbd, void *state);
/* [row_count*4] where the last step began: the velocity is the difference. */
float *sup_pbd_before(const sup_pbd *pbd, void *state);
/* False when a number left the range of float: everything is then put at `guide`. */
bool sup_pbd_step(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input);
/* The same on kernels of that many lanes, for tests and benchmarks that compare them. */
bool sup_pbd_step_lanes(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input,
                        int32_t lanes);

#endif
