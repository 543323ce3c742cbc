/* gpu.h (internal) - what the host side in C and the kernels in CUDA share: arrays on the device, and launches.
 *
 * Vectors of a character have four floats a node, x y z 0, in the command of subdomains.h; characters stand one behind the
 * other. All launches are asynchronous on a stream; errors are CUDA's numbers, 0 for none. */
#ifndef SUP_CUDA_GPU_H
#define SUP_CUDA_GPU_H

#include "cuda/subdomains.h"
#include "solver/contact_response_tuning.h"
#include "solver/solver_tuning.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
typedef float4 sup_gpu_four;
extern "C" {
#else
typedef struct sup_gpu_four {
    float x, y, z, w;
} sup_gpu_four;
#endif

enum {
    SUP_GPU_SUMS = 14,          /* sums of a character: step_control.cuh */
    SUP_GPU_SUMS_PADDED = 16,      /* rounded up to a power of two */
    SUP_GPU_SPARE_ITERATIONS = 1,          /* iterations of a step beyond its iterations, for those that are taken back */
    SUP_GPU_LOCKSTEP = 4,       /* characters that a block handles together in a crowd */
    SUP_GPU_SCHUR_LOCKSTEP = 16,  /* and in the solve of the top */
    SUP_GPU_SCHUR_ROWS = 64,      /* rows of the top a block in a crowd */
    SUP_GPU_SCHUR_ROWS_SINGLE = 16 /* and for single characters */
};

/* A model's system. */
typedef struct sup_gpu_system {
    int32_t unknown_count, interior_count, separator_count, separator_stride, subdomain_count, slot_count, anchor_count;
    int32_t skin_count;
    int32_t
        contact_count; /* of contact: one of each skin vertex with the skin, and where there are colliders one with them */
    int32_t lockstep;    /* characters a block: 1 or SUP_GPU_LOCKSTEP, which the subdomains were made for */
    int32_t max_local;  /* nodes of a subdomain, anchors included */
    int32_t max_foot_points;   /* nodes of a subdomain without anchors, but for those that are skin */
    int32_t max_prisms; /* of a subdomain */
    int32_t max_forces; /* floats of a subdomain's forces, in crowds */
    int32_t max_slots, max_pack, max_region_slots, solve_stride;
    int32_t max_blend;   /* regions of a subdomain's prisms */
    int32_t persistent_blocks; /* that a single character's step is done by, all at once; 0: by kernels */
    int32_t region_slot_count;
    int32_t inner_count; /* unknowns that are no skin */
    int32_t first_node; /* of the first unknown of the CPU's command */
    int32_t is_static;
    float weight_sum, volume;
    float size;      /* sup_system */
    float body_size; /* of the character */
    const sup_subdomain *subdomains;
    const unsigned char *pack;
    const float *inverse, *schur_inverse, *diagonal;
    const float *solve;       /* subdomains.h; NULL in crowds */
    const int32_t *separator_first; /* [separator_count+1] slots of a node of the top */
    const int32_t *pull_first, *pull_anchor;
    const float *pull_value;
    const float *tets;
    const int32_t *node;       /* [skin_count] number of a skin vertex; unknown_count + anchor where it is given */
    const int32_t *inner;       /* [inner_count] unknowns that are no skin */
    const uint16_t *blend_region_slot; /* regions of the prisms: subdomains.h */
    const float *blend_weight;
} sup_gpu_system;

/* What a character is told. */
typedef struct sup_gpu_command {
    int32_t iterations; /* 0: as many as it takes (solver.h) */
    float tolerance;    /* subdomain of the objective that is not worth an iteration; 0: the solver's own */
    int32_t shared_rotation;     /* one rotation a prism, and one step of conjugate gradients */
    int32_t contact;    /* touches itself, */
    int32_t untangling;    /* and what still crosses is parted */
    int32_t hidden;     /* its shown skin is left as it is */
    int32_t strongest;  /* of the classic methods: each vertex goes with its strongest joint alone */
    int32_t version;    /* another one whenever something changed: wakes it */
    float damping, friction;
    float fall[3]; /* gravity times the square of the time step */
} sup_gpu_command;

/* Where it stands. */
typedef struct sup_gpu_progress {
    int32_t phase;      /* steps so far, modulo 6: which buffers are now and before */
    int32_t iterations; /* of the last step, and */
    int32_t rejected;   /* those taken back */
    float objective;    /* at its last local step */
    int32_t still;      /* steps since the skeleton moved or an command changed */
    int32_t asleep;     /* nothing is computed */
    int32_t version;    /* of the commands when it last looked */
    float damping;      /* of this step */
    uint32_t moved;     /* bits of how far a skin vertex went in the last step at max_nodes, */
    uint32_t window_motion;  /* and in the last window of steps (projective_step.c) */
    int32_t contacts;       /* contacts of this step */
    int32_t pushing;    /* of them, those that pushed at its end */
    float rest_damping_fraction;    /* of sup_rest_damping (rest_damping.h), */
    float rest_damping_mean;    /* the same */
    uint32_t oscillates;  /* 1: a vertex goes no more than half its way (rest_damping.c) */
    uint32_t unsettled;     /* 1: flesh that settles has not come to rest */
} sup_gpu_progress;

/* What a character does after a local step. */
typedef struct sup_gpu_iteration {
    int32_t active, accepted, finish;
    int32_t history; /* the newest direction's node */
    int32_t base, target;
    float factor[SUP_SOLVER_HISTORY];
    float repeat, forget;
} sup_gpu_iteration;

/* A step in progress: what solver.c keeps in sup_step. Two of them take iterations. */
typedef struct sup_gpu_control {
    double inner[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY];
    double coefficient[SUP_SOLVER_HISTORY + 1][SUP_SOLVER_HISTORY];
    double objective;     /* objective of the last iterate */
    double predicted; /* what the step from it gains at least */
    double fraction; /* of the plain step that is tried */
    double rounding; /* energy of rounding the positions to float */
    int32_t history, done, accelerated, rejected;
    int32_t base, current; /* buffers of the last iterate and of the current one */
    int32_t finished;          /* the step has ended: later kernels have nothing to do */
    int32_t pad;
    sup_gpu_iteration next; /* of crowds, whose subdomains do not control_step for themselves */
} sup_gpu_control;

/* A contact as the solver works with it: sup_contact_state of solver_work.h, at the node of its vertex. A collider's has no
 * point: it is in `offset` and `start`. */
typedef struct sup_gpu_contact {
    int32_t node[4]; /* numbers of vertex and corners, unknown_count + anchor where given */
    float weight[4];
    float normal[3], offset;
    float start[3], stiffness;
    float friction, limit, damping, cap;
    float hold, slide, pad[2];
} sup_gpu_contact;

/* Conjugate gradients of a character after a solve. */
typedef struct sup_gpu_cg {
    double rz;
    int32_t ended; /* before a step along its direction */
    int32_t last;  /* that step, if it is made, is the last */
} sup_gpu_cg;

/* What blocks of a single character publish each other: 16 bytes that arrive together, three numbers and the round that they
 * belong to (persistent_messages.cuh). */
typedef struct sup_gpu_message {
    uint32_t number[3], epoch;
} sup_gpu_message;

/* Those that are told in every round have two nodes, which take iterations. */
typedef struct sup_gpu_messages {
    sup_gpu_message *slot[2];      /* [slot_count] what subdomains leave to the top */
    sup_gpu_message *separator[2];       /* [sup_gpu_persistent_tiles*separator_count] what tiles of S^-1 make of it */
    sup_gpu_message *sum[2];       /* [3*subdomain_count+persistent_blocks] nine sums of a subdomain; then a product of a tile */
    sup_gpu_message *volume;       /* [region_slot_count] a double */
    sup_gpu_message *raw_gradient;          /* [slot_count] with contacts: the gradient alone, */
    sup_gpu_message *node, *push; /* [unknown_count] iterates, [row_count] what rows push with there, */
    sup_gpu_message *search[2];    /* [unknown_count] directions of conjugate gradients, */
    sup_gpu_message *contact[2];       /* [row_count] rows in them, */
    sup_gpu_message *curve[2];     /* [persistent_blocks] curvature along them, */
    sup_gpu_message *contact_sums;       /* [persistent_blocks] energy of the rows, and how many are near and push */
    sup_gpu_message *command;        /* [1] what blocks without a subdomain do next */
    uint32_t *clock;            /* [2] rounds and commands so far */
} sup_gpu_messages;

/* State of `count` characters. */
typedef struct sup_gpu_state {
    int32_t count;
    const sup_gpu_command *commands; /* [count] */
    sup_gpu_progress *progress;   /* [count] */
    sup_gpu_control *control[2];  /* [count] */
    sup_gpu_four *x[2];           /* [count*unknown_count] positions: now and before, or the other way round */
    sup_gpu_four *iterate[3];     /* the same count, */
    sup_gpu_four *inertial, *prediction, *prediction_error;
    sup_gpu_four *direction[SUP_SOLVER_HISTORY];
    sup_gpu_four *limit_push; /* the same count: what velocity limits add to the prediction */
    sup_gpu_four *y;          /* [count*interior_count] */
    sup_gpu_four *slot;       /* [count*slot_count] what subdomains leave to the top: gradient + A_tp y_p */
    float *rhs;               /* [groups of SUP_GPU_SCHUR_LOCKSTEP][separator_stride][3*SUP_GPU_SCHUR_LOCKSTEP] in crowds */
    sup_gpu_four *separator;        /* [count*separator_count] the newest direction there */
    sup_gpu_four *anchors[3]; /* [count*anchor_count] */
    sup_gpu_four *anchor_acceleration;       /* [count*anchor_count] second difference of the anchors */
    sup_gpu_four *foot_points;       /* [count*(unknown_count+anchor_count)] of skin vertices */
    double *region_slot_volume;      /* [count*region_slot_count] what a subdomain adds to a region */
    float *sums;              /* [count*SUP_GPU_SUMS*sum_blocks] */
    int32_t sum_stride;         /* subdomains, then blocks of the top */
    sup_gpu_four *skin[2];    /* [count*skin_count] the simulated skin now and before, as x */
    sup_gpu_four *window;     /* [count*skin_count] at the begin of a window of steps */
    sup_gpu_four *limited;    /* [count*skin_count] by linear blending, at the last step */
    sup_gpu_four *extrapolated;    /* [count*skin_count] the skin, carried on to where the joints are */
    sup_gpu_four *rest_damping; /* [count*unknown_count] way that the last step asked for, and the share of it that is gone */
    double *rest_damping_lengths;  /* [count*rest_damping_blocks] lengths of those ways */
    int32_t rest_damping_blocks;  /* blocks that sum them up */
    float *step_joints;     /* [count*joint_count*12] joints of the last step */
    float *joint_motion;       /* the same count: from there to where they are now */
    /* Contact. */
    sup_gpu_contact *contacts;    /* [count*row_count] */
    int32_t *pair;        /* [count*row_count] triangle or collider that a row is with, -1 for none */
    unsigned char *near;  /* [count*skin_count] 1: other skin was near in the last step that looked (detect.h) */
    int32_t *node_contact_first; /* [count*(unknown_count+1)] rows that a node is subdomain of: */
    int32_t *node_contact;       /* [count*4*row_count] 4 * row + 0 for its vertex, 1 to 3 for a corner, rising */
    sup_gpu_four *force;  /* [count*row_count] of the rows in a direction */
    sup_gpu_four *raw_gradient;    /* as slot: the gradient alone */
    sup_gpu_four *gradient, *residual, *search, *image, *product; /* [count*unknown_count] solver_contact.c */
    sup_gpu_cg *cg;                                               /* [count*SUP_RESPONSE_MAX_SOLVES] */
    int32_t *touched;    /* [count*skin_count] collider that a vertex touches, -1 for none; NULL without colliders */
    sup_gpu_messages messages; /* of a single character */
} sup_gpu_state;

/* Bytes of shared memory that the kernels of a step need. */
size_t sup_gpu_step_shared(const sup_gpu_system *system);
size_t sup_gpu_solve_shared(const sup_gpu_system *system);
size_t sup_gpu_local_shared(const sup_gpu_system *system);
size_t sup_gpu_schur_shared(const sup_gpu_system *system);
/* The top's subdomain of a step: what its kernels need, rows of sums that they write, and one solve: the
 * first of a iteration, or one of conjugate gradients. */
int sup_gpu_schur_prepare(const sup_gpu_system *system);
int32_t sup_gpu_schur_sum_count(const sup_gpu_system *system);
int sup_gpu_schur(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iteration, int32_t solve, void *stream);
/* The direction with contacts, after the first solve of it (contact_solve.cu). */
int sup_gpu_contact_prepare(const sup_gpu_system *system);
int32_t sup_gpu_contact_sum_count(const sup_gpu_system *system);
int32_t sup_gpu_contact_blocks(const sup_gpu_system *system);
int sup_gpu_contact_solve(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iteration, int32_t solves,
                          void *stream);
/* A step of one character by blocks that stay (step_persistent.cu): how many, 0 where they do not fit. */
int32_t sup_gpu_persistent_blocks(const sup_gpu_system *system, int32_t processors, size_t shared_limit);
/* Tiles of S^-1 in a row of it. */
int32_t sup_gpu_persistent_tiles(const sup_gpu_system *system);
int sup_gpu_persistent_prepare(const sup_gpu_system *system);
int sup_gpu_persistent(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iterations, void *stream);
/* Once for a device and model: raises the limits of shared memory. */
int sup_gpu_step_prepare(const sup_gpu_system *system);
/* One step. Anchors of the phase are in node, feet and pushes too. At max_nodes `iterations` local steps; with contacts, whose rows are
 * there, `solves` steps of conjugate gradients at max_nodes, 0 where nothing may touch. */
int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iterations, int32_t solves, void *stream);
/* Forgets momentum: now becomes before, the guess and the anchors before as well. */
int sup_gpu_stop(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

/* The simulated skin and its bones: linear blending, velocity limits, rigid regions (projective_step.c). */
typedef struct sup_gpu_body {
    const float *rest;          /* [unknown_count*3] */
    const int32_t *start_joint; /* [skin_count*4] */
    const float *start_weight;  /* [skin_count*4] */
    const float *start_rest;    /* [skin_count*3] */
    const int32_t *foot_bone;   /* [skin_count] NULL without volume */
    const float *foot_along;    /* [skin_count] */
    const float *velocity_limit;         /* [skin_count] length, 0 for none; NULL: no velocity limits */
    const float *rigid;         /* [skin_count] share of linear blending; NULL: none */
    int32_t joint_count, segment_count;
    const float *ends; /* [count*segment_count*8] of the segments in the pose */
} sup_gpu_body;

/* Before a step, after sup_gpu_wake and with the anchors' kernel before it: feet, velocity limits and skin that is given. `joints`
 * [count*joint_count*12]. */
int sup_gpu_prepare(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                    const float *joints, void *stream);
/* After it: flesh that stands is calmed (rest_damping.h), the simulated skin; what was solved for is now. */
int32_t sup_gpu_rest_damping_sums(const sup_gpu_system *system);
int sup_gpu_finish(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                   const float *joints, void *stream);
/* The skin of the last step, carried on by the joints to where they are now, into `carried`: for frames between steps and
 * for contact. */
int sup_gpu_extrapolate(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                  const float *joints, void *stream);
/* Phase 0; then, with the anchors of the pose in node, everything else at rest there. */
int sup_gpu_first_phase(const sup_gpu_state *state, void *stream);
int sup_gpu_reset(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                  const float *joints, void *stream);
/* After a step of flesh that settles: who is at rest takes no more of them. */
int sup_gpu_settle_end(const sup_gpu_state *state, void *stream);
/* Flesh that settled, and settles on with contact: the skin to look at, then, with the rows that were found, who is done. */
int sup_gpu_settle_detect(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);
int sup_gpu_settle_contact(const sup_gpu_state *state, void *stream);
/* No velocity of the simulated skin, after it settled. */
int sup_gpu_settled(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

#ifdef __cplusplus
}
#endif

#endif
