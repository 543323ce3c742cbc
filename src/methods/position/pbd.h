/* pbd.h (internal) - position based dynamics of a tetrahedral mesh: bound data and the step.
 *
 * Based on: [aburumman2016thesis] sections 4.3 to 4.6 (stretch, volume and bind constraints, Gauss-Seidel) and
 * [macklin2016] (XPBD: compliance in physical units).
 *
 * Order of the constraints. The particles are split into clusters of a fixed size. Constraints inside a cluster are
 * solved sequentially, volume -> bind -> stretch, and all clusters in parallel: the first level. Constraints across
 * clusters are clustered again (second level), and the few remaining ones once more (third level). An iteration thus
 * has three barriers instead of one for each of the 30 to 60 colours of the thesis. Inside a cluster, 16 constraints
 * that share no particle form a batch, one vector register; batches are solved one after another (Gauss-Seidel).
 * Nothing depends on the number of threads.
 *
 * Lengths are in sizes of the character, masses in the mean mass of a particle: no number depends on the file's
 * unit. */
#ifndef SUP_METHODS_POSITION_PBD_H
#define SUP_METHODS_POSITION_PBD_H

#include "base/base.h"
#include "supple/model.h"

enum { SUP_PBD_LANES = 16, SUP_PBD_LEVELS = 3 };

/* Work of one thread; clusters of a level share no particle. */
typedef struct sup_pbd_cluster {
    int32_t volume_first, volume_end;     /* batches */
    int32_t stretch_first, stretch_end;   /* batches */
    int32_t particle_first, particle_end; /* multiples of SUP_PBD_LANES; empty after the first level */
} sup_pbd_cluster;

/* A slot is the index of a particle in the solver. Slots without a particle pad clusters and lanes; they never move. */
typedef struct sup_pbd {
    int32_t particle_count, slot_count; /* slot_count is a multiple of SUP_PBD_LANES */
    int32_t tet_count, edge_count;      /* constraints, without those between kinematic particles */
    int32_t cluster_count, volume_batches, stretch_batches;
    int32_t level_first[SUP_PBD_LEVELS + 1]; /* first cluster of a level */
    float mean_volume;                       /* mean volume of a particle */
    const sup_pbd_cluster *clusters;         /* [cluster_count] */
    const int32_t *slot;                     /* [particle_count] slot of a particle */
    const float *particle_volume;            /* [slot_count] a quarter of the tets around the particle, 0 for padding */
    const float *inverse_mass;               /* [slot_count] mean_volume / particle_volume; 0: kinematic or padding */
    const int32_t *volume_corner;            /* [volume_batches*64] slots: 16 first corners, 16 second corners, ... */
    const float *volume_rest;                /* [volume_batches*16] six times the volume; 0 in unused lanes */
    const float *volume_area;                /* [volume_batches*4*16] squared length of the rest gradient of a corner */
    const int32_t *stretch_corner;           /* [stretch_batches*32] */
    const float *stretch_rest;               /* [stretch_batches*16] length */
    const float *stretch_compliance; /* [stretch_batches*16] mean_volume * length^2 / volume of tets at the edge */
} sup_pbd;

typedef struct sup_pbd_def {
    int32_t particle_count;
    const double *rest; /* [particle_count*3] in sizes of the character */
    int32_t tet_count;
    const int32_t *tets;   /* [tet_count*4] any orientation */
    const bool *kinematic; /* [particle_count] or NULL */
    int32_t cluster_size;  /* constraints per cluster; 0: the default */
} sup_pbd_def;

/* Result of bind for the other stages. */
typedef struct sup_pbd_bound {
    int32_t slot_count;
    const int32_t *slot; /* [particle_count] in the builder's memory */
} sup_pbd_bound;

/* Adds arrays named prefix.* to the builder. Fails for indices out of range, numbers that are not finite, or no tets.
 * `bound` may be NULL. */
sup_result sup_pbd_bind(const sup_context *context, const sup_pbd_def *def, sup_model_builder *builder,
                        const char *prefix, sup_pbd_bound *bound, sup_error *error);
/* Validated view of these arrays: the model may come from a file. */
sup_result sup_pbd_open(const sup_model *model, const char *prefix, sup_pbd *pbd, sup_error *error);

/* Stiffness of all constraints. */
typedef struct sup_pbd_settings {
    bool raw;               /* true: k of the thesis in [0, 1], applied once per iteration; false: physical units */
    float seconds;          /* timestep */
    double stretch, volume; /* Pa (Young's, bulk), or k */
    double bind;            /* Pa, or k */
    double follow;          /* frequency in Hz of the spring to linear blending; raw: fraction in [0, 1] */
    double inertia;         /* Pa s^2: density * (metres of the character's size)^2 */
    uint32_t regions;       /* version number: changes whenever the contents of sup_pbd_regions change */
} sup_pbd_settings;

/* Factors per particle; the owner changes them between steps. */
typedef struct sup_pbd_regions {
    float *stiffness; /* [slot_count] factor of the stiffness of all constraints of the particle; default 1 */
    float *follow;    /* [slot_count] factor of `follow`; default 1; 0: no spring to linear blending */
    float *damping;   /* [slot_count] 1/s, in addition to `damping`; default 0; INFINITY: no momentum */
} sup_pbd_regions;

/* Unilateral constraints: called once per iteration, after volume, bind and stretch. positions: [slot_count*4] x, y, z,
 * inverse mass. The result must not depend on the number of threads. */
typedef void sup_pbd_contact_fn(void *user, const sup_context *context, float *positions);

typedef struct sup_pbd_input {
    sup_pbd_settings settings;
    const float *guide; /* [slot_count*4] linear blending at the end of the step; the fourth float is not read */
    const float *guide_previous; /* [slot_count*4] at the start of the step */
    const float *bone; /* [slot_count*4] point of the nearest bone, rest distance; negative: no bind constraint */
    const float *volume_rest, *stretch_rest; /* rest values in place of those of the model, as there; or NULL */
    float gravity[3];                        /* sizes / s^2 */
    float damping;                           /* 1/s, of the velocity relative to linear blending */
    int32_t iterations;
    sup_pbd_contact_fn *contact; /* or NULL */
    void *contact_user;
} sup_pbd_input;

size_t sup_pbd_state_size(const sup_pbd *pbd);
/* Initialises a state at rest with all particles at `guide` [slot_count*4]; regions become 1. */
void sup_pbd_init(const sup_pbd *pbd, void *state, const float *guide);
/* Sets positions and removes velocity; keeps regions and stiffness. */
void sup_pbd_set_positions(const sup_pbd *pbd, void *state, const float *guide);
/* Restores the pointers of a copied state; `pbd` NULL: clears all pointers. */
void sup_pbd_restore(const sup_pbd *pbd, void *state);
/* Removes all velocity. */
void sup_pbd_stop(const sup_pbd *pbd, void *state);
sup_pbd_regions sup_pbd_regions_of(const sup_pbd *pbd, void *state);
/* [slot_count*4] x, y, z, inverse mass. */
float *sup_pbd_positions(const sup_pbd *pbd, void *state);
/* [slot_count*4] at the start of the last step: the velocity is the difference. */
float *sup_pbd_previous(const sup_pbd *pbd, void *state);
/* False when a number left the range of float; all particles are then set to `guide`. */
bool sup_pbd_step(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input);
/* The same with kernels of `lanes` lanes, for tests and benchmarks. */
bool sup_pbd_step_lanes(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input,
                        int32_t lanes);

#endif
