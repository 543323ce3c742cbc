/* solver.h (internal) - steps of projective dynamics on a system.
 *
 * Based on: [komaritzan2022] Algorithm 2.1. What a step minimises is eq. 2.12,
 *     1/2 sum m / dt^2 |x - y|^2 + 1/2 sum w |F - R|^2,   y = x_n + mu (x_n - x_(n-1)) + dt^2 f / m,
 * with the contacts' own energy added where there are any. How it gets there is different, and faster (solver.c).
 *
 * A state is one block of memory of the caller's, 64-byte aligned. A step allocates nothing and gives the same bits for
 * any number of threads. */
#ifndef SUP_SOLVER_SOLVER_H
#define SUP_SOLVER_SOLVER_H

#include "solver/contact_constraint.h"
#include "solver/system.h"

/* Stages, for those who measure. */
typedef enum sup_solver_stage {
    SUP_SOLVER_START,    /* prediction and harmonic start */
    SUP_SOLVER_VOLUME,   /* volumes of the regions, pressures */
    SUP_SOLVER_LOCAL,    /* rotations, gradients of the tetrahedra, energy */
    SUP_SOLVER_GRADIENT, /* their sum and momentum, first half of the solve */
    SUP_SOLVER_SEPARATOR,      /* the part of the solve that runs alone */
    SUP_SOLVER_BACKWARD, /* second half of the solve, sums for the acceleration */
    SUP_SOLVER_CONTACT,  /* contact forces, and the solves that they cost */
    SUP_SOLVER_ACCELERATE,      /* the accelerated step */
    SUP_SOLVER_STAGE_COUNT
} sup_solver_stage;

extern const char *const sup_solver_stage_names[SUP_SOLVER_STAGE_COUNT];

typedef enum sup_solver_mode {
    SUP_SOLVER_ACCELERATED, /* harmonic start, Anderson acceleration */
    SUP_SOLVER_PLAIN        /* Algorithm 2.1 as printed: for comparison */
} sup_solver_mode;

typedef struct sup_solver_input {
    const float *anchors; /* [anchor_count*4] where the anchors are at the end of the step; the fourth is not read */
    const float *bones; /* [bone_count*8] ends of the bones' clusters then, x y z and one not read; NULL: strain alone */
    const float *force; /* [skin_count*3] on each skin vertex, or NULL */
    float gravity[3];   /* acceleration: file units per square of the time step's unit */
    float damping;      /* 1 - mu of eq. 2.14: 0 none, 1 no momentum from step to step */
    /* Iterations: as many as it takes until the next one promises less than `tolerance` of the objective, at most 8 (7 with
     * volume), or `iterations`. 0 for both: what ends at or below ten plain ones. `iterations` alone: that many. Plain mode
     * always takes `iterations`, 0 = 10. */
    int32_t iterations;
    float tolerance;
    sup_solver_mode mode;
    bool shared_rotation; /* one rotation a prism: faster, and another objective */
    const sup_contact *contacts;
    int32_t contact_count;
    void (*stage_done)(void *user, sup_solver_stage stage); /* NULL: nobody measures */
    void *stage_user;
} sup_solver_input;

typedef struct sup_solver_report {
    int32_t iterations;     /* local steps that counted */
    int32_t rejected;       /* accelerated steps that raised the objective and were taken back */
    int32_t contacts;       /* rows that pushed at the end */
    int32_t contact_solves; /* global solves that contacts cost */
    double objective;       /* at the last local step, in file units squared */
    double predicted;        /* what the step after that gains at least, unless contacts or volumes are in its way */
} sup_solver_report;

/* Bytes of a state with room for that many contacts, a multiple of 64. */
size_t sup_solver_state_size(const sup_system *system, int32_t contact_capacity);
/* At rest with the given anchors (NULL: the bind pose). Skin vertices start from `skin` [skin_count*3], or, NULL, where
 * the anchors' displacement carries them; then up to `rounds` steps without momentum let the tissue settle. */
sup_result sup_solver_reset(const sup_context *context, const sup_system *system, void *state, int32_t contact_capacity,
                            const float *anchors, const float *skin, int32_t rounds);
/* Tissue vertices [first, first + count) that are unknowns go to `positions` [count*3], finite, and nothing has momentum. */
void sup_solver_set_positions(const sup_system *system, void *state, int32_t first, int32_t count, const float *positions);
/* Up to `rounds` steps without momentum, until nothing moves any more. */
sup_result sup_solver_settle(const sup_context *context, const sup_system *system, void *state,
                             const sup_solver_input *input, int32_t rounds);
/* One step. SUP_ERROR_DATA, and the state untouched, when an anchor or a force is not finite or beyond a million sizes.
 * Rows of contacts that make no sense are left out. `report` may be NULL. */
sup_result sup_solver_step(const sup_context *context, const sup_system *system, void *state,
                           const sup_solver_input *input, sup_solver_report *report);
/* The same state in a space whose origin is elsewhere: adds `offset` to every position. */
void sup_solver_shift(const sup_system *system, void *state, const float offset[3]);
/* Positions of the skin after the step: skin[stride*i .. stride*i + 2]. */
void sup_solver_skin(const sup_system *system, const void *state, float *skin, int32_t stride);
/* The same by node, anchors included: [(unknown_count+anchor_count)*4]. */
const float *sup_solver_positions(const sup_system *system, const void *state);
/* The same for any tissue vertex, bases and anchors included: [vertex_count*3]; for tests. */
void sup_solver_vertices(const sup_system *system, const void *state, float *vertices);
/* Both ends of the last step, by node: where it ended, which may be changed at unknowns, and where it began. */
float *sup_solver_step_ends(const sup_system *system, void *state, const float **before);

/* The step on kernels of that many lanes (1 or 4, 8, 16; what the processor has): for tests and benchmarks. */
sup_result sup_solver_step_lanes(const sup_context *context, const sup_system *system, void *state,
                                 const sup_solver_input *input, sup_solver_report *report, int32_t lanes);

#endif
