/* solver.h (internal) - steps of projective dynamics on a system.
 *
 * Based on: [komaritzan2022] Algorithm 2.1. A step minimises eq. 2.12,
 *     1/2 sum m / dt^2 |x - y|^2 + 1/2 sum w |F - R|^2,   y = x_n + mu (x_n - x_(n-1)) + dt^2 f / m,
 * plus the energy of volumes and contacts, if any. The iteration differs from the thesis and is faster (solver.c).
 *
 * A state is one block of memory of the caller, 64-byte aligned. A step allocates nothing and gives the same bits for
 * any number of threads. */
#ifndef SUP_SOLVER_SOLVER_H
#define SUP_SOLVER_SOLVER_H

#include "solver/contact_constraint.h"
#include "solver/system.h"

/* Stages of a step, for profiling. */
typedef enum sup_solver_stage {
    SUP_SOLVER_START,      /* prediction, start of the iterations, contacts */
    SUP_SOLVER_VOLUME,     /* volumes of the regions, pressures */
    SUP_SOLVER_LOCAL,      /* rotations, gradients of the tetrahedra, energy */
    SUP_SOLVER_GRADIENT,   /* their sum and momentum, first half of the solve */
    SUP_SOLVER_SEPARATOR,  /* the serial part of the solve */
    SUP_SOLVER_BACKWARD,   /* second half of the solve, sums for the acceleration */
    SUP_SOLVER_CONTACT,    /* contact forces and the additional solves they need */
    SUP_SOLVER_ACCELERATE, /* the accelerated step */
    SUP_SOLVER_STAGE_COUNT
} sup_solver_stage;

extern const char *const sup_solver_stage_names[SUP_SOLVER_STAGE_COUNT];

typedef enum sup_solver_mode {
    SUP_SOLVER_ACCELERATED, /* predicted start, Anderson acceleration */
    SUP_SOLVER_PLAIN        /* Algorithm 2.1 as printed: for comparison */
} sup_solver_mode;

typedef struct sup_solver_input {
    const float *anchors; /* [anchor_count*4] anchors at the end of the step; the fourth float is not read */
    const float *bones;   /* [bone_count*8] ends of the bone segments then, four floats each, the fourth not read; NULL:
                             strain alone */
    const float *force;   /* [skin_count*3] on each skin vertex, or NULL */
    float gravity[3];     /* acceleration: file units per square of the time step's unit */
    float damping;        /* 1 - mu of eq. 2.14: 0 none, 1 no momentum from step to step */
    /* Iterations run until the next one is predicted to gain less than `tolerance` of the objective, at most
     * `iterations`. 0 for both: limits of solver_tuning.h, which end at or below the objective of ten plain
     * iterations. `iterations` alone: that many. Plain mode always runs `iterations`, 0 = 10. */
    int32_t iterations;
    float tolerance;
    sup_solver_mode mode;
    bool shared_rotation; /* one rotation per prism: faster, and a different objective */
    const sup_contact *contacts;
    int32_t contact_count;
    void (*stage_done)(void *user, sup_solver_stage stage); /* profiling hook, or NULL */
    void *stage_user;
} sup_solver_input;

typedef struct sup_solver_report {
    int32_t iterations;     /* accepted local steps */
    int32_t rejected;       /* steps that raised the objective */
    int32_t contacts;       /* contacts that pushed at the end */
    int32_t contact_solves; /* global solves because of contacts */
    double objective;       /* at the last local step, in file units squared */
    double predicted;       /* decrease that the plain step from there reaches at least, without contacts and volumes */
} sup_solver_report;

/* Size of a state in bytes, a multiple of 64. */
size_t sup_solver_state_size(const sup_system *system, int32_t contact_capacity);
/* At rest with the given anchors (NULL: the bind pose). Skin vertices start from `skin` [skin_count*3], or (NULL) from
 * the bind pose; then up to `max_steps` steps without momentum let the tissue settle. */
sup_result sup_solver_reset(const sup_context *context, const sup_system *system, void *state, int32_t contact_capacity,
                            const float *anchors, const float *skin, int32_t max_steps);
/* Sets the positions of those tissue vertices [first, first + count) that are unknowns, `positions` [count*3], finite,
 * and clears all momentum. */
void sup_solver_set_positions(const sup_system *system, void *state, int32_t first, int32_t count,
                              const float *positions);
/* Up to `max_steps` steps without momentum, until nothing moves any more. */
sup_result sup_solver_settle(const sup_context *context, const sup_system *system, void *state,
                             const sup_solver_input *input, int32_t max_steps);
/* One step. SUP_ERROR_DATA, and the state unchanged, when an anchor or a force is not finite or an anchor is
 * farther than a million body sizes away. Invalid contacts are ignored. `report` may be NULL. */
sup_result sup_solver_step(const sup_context *context, const sup_system *system, void *state,
                           const sup_solver_input *input, sup_solver_report *report);
/* Moves the origin of space: adds `offset` to every position. */
void sup_solver_shift(const sup_system *system, void *state, const float offset[3]);
/* Positions of the skin after the step: skin[stride*i .. stride*i + 2]. */
void sup_solver_skin(const sup_system *system, const void *state, float *skin, int32_t stride);
/* The same by node, anchors included: [(unknown_count+anchor_count)*4]. */
const float *sup_solver_positions(const sup_system *system, const void *state);
/* The same for all tissue vertices, bases and anchors included: [vertex_count*3]; for tests. */
void sup_solver_vertices(const sup_system *system, const void *state, float *vertices);
/* Positions at the end of the last step, by node, of which unknowns may be changed, and at its start (`previous`). */
float *sup_solver_step_ends(const sup_system *system, void *state, const float **previous);

/* The step with kernels of 1, 4, 8 or 16 lanes, as the processor supports: for tests and benchmarks. */
sup_result sup_solver_step_lanes(const sup_context *context, const sup_system *system, void *state,
                                 const sup_solver_input *input, sup_solver_report *report, int32_t lanes);

#endif
