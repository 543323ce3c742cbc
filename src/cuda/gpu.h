/* gpu.h (internal) - shared by the host code in C and the kernels in CUDA: device arrays and launches.
 *
 * Vectors of a character have four floats per node, x y z 0, in the order of subdomains.h; characters follow one
 * another. All launches are asynchronous on a stream; errors are CUDA error codes, 0 for none. */
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
    SUP_GPU_SUMS = 14,             /* sums of a character: step_control.cuh */
    SUP_GPU_SUMS_PADDED = 16,      /* rounded up to a power of two */
    SUP_GPU_SPARE_ITERATIONS = 1,  /* local steps of a step beyond its iterations, for rejected ones */
    SUP_GPU_LOCKSTEP = 4,          /* characters per thread block in a crowd */
    SUP_GPU_SCHUR_LOCKSTEP = 16,   /* and in the solve of the separator */
    SUP_GPU_SCHUR_ROWS = 64,       /* rows of S^-1 per thread block in a crowd */
    SUP_GPU_SCHUR_ROWS_SINGLE = 16 /* and for single characters */
};

/* A model's system. */
typedef struct sup_gpu_system {
    int32_t unknown_count, interior_count, separator_count, separator_stride, subdomain_count, slot_count, anchor_count;
    int32_t skin_count;
    int32_t contact_count; /* per character: one per skin vertex and, with colliders, one more */
    int32_t lockstep;      /* characters per thread block: 1 or SUP_GPU_LOCKSTEP, for which the subdomains were built */
    int32_t max_local;     /* nodes of a subdomain, anchors included */
    int32_t max_foot_points; /* nodes of a subdomain that can have a foot point */
    int32_t max_prisms;      /* of a subdomain */
    int32_t max_forces;      /* floats of a subdomain's forces, in crowds */
    int32_t max_slots, max_pack, max_region_slots, solve_stride;
    int32_t max_blend;         /* regions of a subdomain's prisms */
    int32_t persistent_blocks; /* thread blocks of the persistent kernel for a single character; 0: several kernels */
    int32_t region_slot_count;
    int32_t inner_count; /* unknowns that are not skin */
    int32_t first_node;  /* node of the first unknown in the CPU's order */
    int32_t is_static;
    float weight_sum, volume;
    float size;      /* of sup_system */
    float body_size; /* of the character */
    const sup_subdomain *subdomains;
    const unsigned char *pack;
    const float *inverse, *schur_inverse, *diagonal;
    const float *solve;             /* subdomains.h; NULL in crowds */
    const int32_t *separator_first; /* [separator_count+1] slots of a separator node */
    const int32_t *pull_first, *pull_anchor;
    const float *pull_value;
    const float *tets;
    const int32_t *node;               /* [skin_count] node of a skin vertex; unknown_count + anchor for anchors */
    const int32_t *inner;              /* [inner_count] unknowns that are not skin */
    const uint16_t *blend_region_slot; /* regions of the prisms: subdomains.h */
    const float *blend_weight;
} sup_gpu_system;

/* Input of a character. */
typedef struct sup_gpu_command {
    int32_t iterations;      /* 0: default limits (solver.h) */
    float tolerance;         /* fraction of the objective that is not worth an iteration; 0: default */
    int32_t shared_rotation; /* one rotation per prism, and one iteration of conjugate gradients */
    int32_t contact;         /* collides with itself */
    int32_t untangling;      /* remaining crossings are untangled */
    int32_t hidden;          /* the render mesh is not updated */
    int32_t settles;         /* of the settle phase of a reset */
    int32_t strongest;       /* classic methods: each vertex follows only its strongest joint */
    int32_t version;         /* changes with any input: wakes the character */
    float damping, friction;
    float fall[3]; /* gravity times the square of the time step */
} sup_gpu_command;

/* State of a character. */
typedef struct sup_gpu_progress {
    int32_t phase;               /* steps so far, modulo 6: selects the buffers of x now and previously */
    int32_t iterations;          /* of the last step */
    int32_t rejected;            /* rejected steps of it */
    float objective;             /* at its last local step */
    int32_t rest_steps;          /* rest counter: steps since the skeleton or an input changed */
    int32_t asleep;              /* nothing is computed */
    int32_t version;             /* last seen version of the command */
    float damping;               /* of this step */
    uint32_t moved;              /* bits of the maximum displacement of a skin vertex in the last step, */
    uint32_t window_motion;      /* and in the last window of steps (projective_step.c) */
    int32_t contacts;            /* contacts of this step */
    int32_t active_contacts;     /* contacts with a force at its end */
    float rest_damping_fraction; /* of sup_rest_damping (rest_damping.h) */
    float rest_damping_mean;     /* the same */
    uint32_t oscillates;         /* 1: a vertex oscillates (rest_damping.h) */
    uint32_t unsettled;          /* 1: the settle phase has not converged */
} sup_gpu_progress;

/* Next iteration of a character, set after a local step. */
typedef struct sup_gpu_iteration {
    int32_t active, accepted, finish;
    int32_t history; /* index of the newest direction */
    int32_t base, target;
    float factor[SUP_SOLVER_HISTORY];
    float repeat, drop;
} sup_gpu_iteration;

/* A step in progress: the data that solver.c keeps between iterations. Double-buffered by iteration. */
typedef struct sup_gpu_control {
    double inner[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY];
    double coefficient[SUP_SOLVER_HISTORY + 1][SUP_SOLVER_HISTORY];
    double objective; /* objective of the last iterate */
    double predicted; /* decrease predicted from it */
    double fraction;  /* of the plain step that is tried */
    double rounding;  /* energy of rounding the positions to float */
    int32_t history, done, accelerated, rejected;
    int32_t base, current; /* buffers of the last iterate and of the current one */
    int32_t finished;      /* the step has ended: later kernels do nothing */
    int32_t pad;
    sup_gpu_iteration next; /* in crowds, where control_kernel sets it */
} sup_gpu_control;

/* A contact during a step, at the index of its vertex: sup_contact_state of solver_work.h. Contacts with colliders
 * have no point: it is part of `offset` and `start`. */
typedef struct sup_gpu_contact {
    int32_t node[4]; /* vertex and corners, unknown_count + anchor for anchors */
    float weight[4];
    float normal[3], offset;
    float start[3], stiffness;
    float friction, limit, damping, cap;
    float normal_stiffness, tangent_stiffness, pad[2];
} sup_gpu_contact;

/* Conjugate gradients of a character after a solve. */
typedef struct sup_gpu_cg {
    double rz;
    int32_t ended; /* before an iteration along its direction */
    int32_t last;  /* that iteration is the last one */
} sup_gpu_cg;

/* A message between thread blocks of a single character: 16 bytes that arrive together, three values and the epoch
 * they belong to (persistent_messages.cuh). */
typedef struct sup_gpu_message {
    uint32_t number[3], epoch;
} sup_gpu_message;

/* Messages that are published in every epoch are double-buffered. */
typedef struct sup_gpu_messages {
    sup_gpu_message *slot[2];      /* [slot_count] separator residuals of the subdomains */
    sup_gpu_message *separator[2]; /* [sup_gpu_persistent_tiles*separator_count] products of tiles of S^-1 with them */
    sup_gpu_message
        *sum[2]; /* [3*subdomain_count+persistent_blocks] nine sums per subdomain; then a product per tile */
    sup_gpu_message *volume;       /* [region_slot_count] a double */
    sup_gpu_message *raw_gradient; /* [slot_count] with contacts: the gradient alone, */
    sup_gpu_message *node, *push;  /* [unknown_count] iterates; [contact_count] contact forces at them */
    sup_gpu_message *search[2];    /* [unknown_count] search directions of conjugate gradients */
    sup_gpu_message *contact[2];   /* [contact_count] contact forces along them */
    sup_gpu_message *curve[2];     /* [persistent_blocks] curvature along them */
    sup_gpu_message *contact_sums; /* [persistent_blocks] energy of the contacts, number of near and of active ones */
    sup_gpu_message *command;      /* [1] next task of blocks without a subdomain */
    uint32_t *clock;               /* [2] epochs and commands so far */
} sup_gpu_messages;

/* State of `count` characters. */
typedef struct sup_gpu_state {
    int32_t count;
    const sup_gpu_command *commands; /* [count] */
    sup_gpu_progress *progress;      /* [count] */
    sup_gpu_control *control[2];     /* [count] */
    sup_gpu_four *x[2];       /* [count*unknown_count] positions now and previously; the phase says which is which */
    sup_gpu_four *iterate[3]; /* [count*unknown_count], as the following */
    sup_gpu_four *inertial, *prediction, *prediction_error;
    sup_gpu_four *direction[SUP_SOLVER_HISTORY];
    sup_gpu_four *limit_push; /* displacement of the inertial positions by velocity limits */
    sup_gpu_four *y;          /* [count*interior_count] */
    sup_gpu_four *slot;       /* [count*slot_count] separator residual of a subdomain: gradient + A_tp y_p */
    float *rhs; /* [groups of SUP_GPU_SCHUR_LOCKSTEP][separator_stride][3*SUP_GPU_SCHUR_LOCKSTEP] in crowds */
    sup_gpu_four *separator;           /* [count*separator_count] the newest direction there */
    sup_gpu_four *anchors[3];          /* [count*anchor_count] */
    sup_gpu_four *anchor_acceleration; /* [count*anchor_count] second difference of the anchors */
    sup_gpu_four *foot_points;         /* [count*(unknown_count+anchor_count)] of skin vertices, by node */
    double *region_slot_volume;        /* [count*region_slot_count] contribution of a subdomain to a volume region */
    float *sums;                       /* [count*SUP_GPU_SUMS*sum_stride] partial sums */
    int32_t sum_stride;                /* partial sums: of subdomains, then of the blocks of schur.cu */
    sup_gpu_four *skin[2];             /* [count*skin_count] simulated skin now and previously, as x */
    sup_gpu_four *window;              /* [count*skin_count] at the start of a window of steps */
    sup_gpu_four *extrapolated;        /* [count*skin_count] the skin, extrapolated to the current joints */
    sup_gpu_four *
        rest_damping; /* [count*unknown_count] last displacement of a vertex, and the fraction of it that was applied */
    double *rest_damping_lengths; /* [count*rest_damping_blocks] sums of their lengths */
    int32_t rest_damping_blocks;  /* blocks that compute these sums */
    float *step_joints;           /* [count*joint_count*12] joints of the last step */
    float *joint_motion;          /* [count*joint_count*12] from there to the current joints */
    /* Contacts. */
    sup_gpu_contact *contacts;   /* [count*contact_count] */
    int32_t *pair;               /* [count*contact_count] triangle or collider of a contact, -1 for none */
    float *onset;                /* [count*skin_count] sup_contact_onset of the pair, 0 for none */
    unsigned char *near;         /* [count*skin_count] 1: other skin was near at the last query (detect.h) */
    int32_t *node_contact_first; /* [count*(unknown_count+1)] contacts of a node: */
    int32_t *node_contact; /* [count*4*contact_count] 4 * contact + 0 for its vertex, 1 to 3 for a corner, ascending */
    sup_gpu_four *force;   /* [count*contact_count] P J y of the contacts for a direction */
    sup_gpu_four *raw_gradient; /* [count*slot_count] the gradient alone */
    sup_gpu_four *gradient, *residual, *search, *image,
        *product;     /* [count*unknown_count] as in sup_contact_solve (solver_work.h) */
    sup_gpu_cg *cg;   /* [count*SUP_RESPONSE_MAX_SOLVES] */
    int32_t *touched; /* [count*skin_count] collider that touches a vertex, -1 for none; NULL without colliders */
    sup_gpu_messages messages; /* of the persistent kernel */
} sup_gpu_state;

/* Shared memory of the kernels of a step in bytes. */
size_t sup_gpu_step_shared(const sup_gpu_system *system);
size_t sup_gpu_solve_shared(const sup_gpu_system *system);
size_t sup_gpu_local_shared(const sup_gpu_system *system);
size_t sup_gpu_schur_shared(const sup_gpu_system *system);
/* Separator solve: prepares its kernels, number of partial sums they write, and one solve: the first of an
 * iteration, or one of conjugate gradients. */
int sup_gpu_schur_prepare(const sup_gpu_system *system);
int32_t sup_gpu_schur_sum_count(const sup_gpu_system *system);
int sup_gpu_schur(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iteration, int32_t solve,
                  void *stream);
/* Direction with contacts, after the first solve (contact_solve.cu). */
int sup_gpu_contact_prepare(const sup_gpu_system *system);
int32_t sup_gpu_contact_sum_count(const sup_gpu_system *system);
int32_t sup_gpu_contact_blocks(const sup_gpu_system *system);
int sup_gpu_contact_solve(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iteration, int32_t solves,
                          void *stream);
/* Step of one character by persistent thread blocks (step_persistent.cu): their number, 0 where they do not fit. */
int32_t sup_gpu_persistent_blocks(const sup_gpu_system *system, int32_t processors, size_t shared_limit);
/* Tiles of S^-1 in a row of tiles. */
int32_t sup_gpu_persistent_tiles(const sup_gpu_system *system);
int sup_gpu_persistent_prepare(const sup_gpu_system *system);
int sup_gpu_persistent(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iterations, void *stream);
/* Once per device and model: raises the limits of shared memory. */
int sup_gpu_step_prepare(const sup_gpu_system *system);
/* One step. Anchors of the phase, foot points and limit_push must be set. At most `iterations` local steps; with
 * contacts, which must be set, at most `solves` iterations of conjugate gradients, 0 without contact. */
int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iterations, int32_t solves,
                 void *stream);
/* Clears momentum: previous positions, prediction and previous anchors become the current ones. */
int sup_gpu_stop(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

/* The simulated skin and its bones: linear blending, velocity limits, rigid regions (projective_step.c). */
typedef struct sup_gpu_body {
    const float *rest;           /* [unknown_count*3] */
    const int32_t *start_joint;  /* [skin_count*4] */
    const float *start_weight;   /* [skin_count*4] */
    const float *start_rest;     /* [skin_count*3] */
    const int32_t *foot_bone;    /* [skin_count] NULL without volume */
    const float *foot_along;     /* [skin_count] */
    const float *velocity_limit; /* [skin_count] length, 0 for none; NULL: no velocity limits */
    const float *rigid;          /* [skin_count] weight of linear blending; NULL: none */
    int32_t joint_count, segment_count;
    const float *ends; /* [count*segment_count*8] ends of the bone segments in the pose */
} sup_gpu_body;

/* Before a step, after sup_gpu_wake and the anchors' kernel: foot points, velocity limits and anchored skin vertices.
 * `joints` [count*joint_count*12]. */
int sup_gpu_prepare(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                    const float *joints, void *stream);
/* After a step: rest damping (rest_damping.h) and the simulated skin; the solution becomes the current state. */
int32_t sup_gpu_rest_damping_sums(const sup_gpu_system *system);
int sup_gpu_finish(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                   const float *joints, void *stream);
/* The skin of the last step, extrapolated to the current joints, into `extrapolated`: for frames between steps and
 * for contact. */
int sup_gpu_extrapolate(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                        const float *joints, void *stream);
/* Phase 0; then, with the anchors of the pose set, everything at rest in that pose. */
int sup_gpu_first_phase(const sup_gpu_state *state, void *stream);
int sup_gpu_reset(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                  const float *joints, void *stream);
/* After a step of the settle phase: characters at rest take no further steps. */
int sup_gpu_settle_end(const sup_gpu_state *state, void *stream);
/* Settle phase with contact: the skin for detection; then, with the contacts that were found, which characters are
 * done. */
int sup_gpu_settle_detect(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);
int sup_gpu_settle_contact(const sup_gpu_state *state, void *stream);
/* Clears the velocity of the simulated skin after the settle phase. */
int sup_gpu_settled(const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

#ifdef __cplusplus
}
#endif

#endif
