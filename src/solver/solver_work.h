/* solver_work.h (internal) - what a step's stages share: the state's arrays, the kernels, the step in progress. */
#ifndef SUP_SOLVER_SOLVER_WORK_H
#define SUP_SOLVER_SOLVER_WORK_H

#include "solver/solver.h"
#include "solver/step_control.h"

enum { SUP_SOLVER_SUMS = 16 }; /* sums a range of vertices */

/* One cluster of the local step: reads positions, writes partial gradients and the cluster's energy. */
typedef struct sup_local_work {
    const sup_system *system;
    const float *x;       /* [node*4] */
    const float *anchors; /* [anchored_batch_count*SUP_PRISM_ANCHOR_FLOATS] inner sides */
    float *copy;          /* [copy_count*4] of x, those before copy_inner of each cluster */
    float *partial;       /* [copy_count*4] gradients */
    double *energy;       /* [cluster_count] */
    bool shared_rotation;
    const float *feet;     /* [batch_count*SUP_PRISM_FEET_FLOATS] */
    const float *pressure; /* [region_slot_count]; NULL: strain alone, and the others are not read */
    float *region_slot_lanes;     /* [region_slot_count*SUP_PRISM_LANES] to sum volumes in */
    double *region_slot_volume;   /* [region_slot_count] what the cluster adds to its regions */
} sup_local_work;

/* Gradient of a range of unknowns: partial gradients and momentum. */
typedef struct sup_gradient_work {
    const sup_system *system;
    const float *x, *inertial, *partial;
    float *gradient; /* [unknown_count*4] */
    float *solve;    /* [unknown_count*4] gets -gradient */
} sup_gradient_work;

typedef struct sup_solver_kernels {
    void (*local)(const sup_local_work *work, int32_t cluster);
    /* Copies of a cluster and the volumes of its region_slots; then `local` finds the copies made. */
    void (*volumes)(const sup_local_work *work, int32_t cluster);
    /* Inner sides of the anchored batches of a cluster, from the anchors' nodes in x; `copy` as in sup_local_work. */
    void (*anchors)(const sup_system *system, const float *x, float *copy, float *anchors, int32_t cluster);
    /* Feet of all batches of a cluster, from those of the skin vertices [node*4]. */
    void (*feet)(const sup_system *system, const float *points, float *copy, float *feet, int32_t cluster);
    double (*gradient)(const sup_gradient_work *work, int32_t begin, int32_t end); /* energy of momentum */
    double (*dot)(const float *a, const float *b, int64_t begin, int64_t end);     /* over floats */
    /* out = x + sum_j factor[j] direction[j], over floats. */
    void (*mix)(const float *x, const float *const *direction, const float *factor, int32_t count, float *out,
                int64_t begin, int64_t end);
} sup_solver_kernels;

extern const sup_solver_kernels sup_solver_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_solver_kernels sup_solver_kernels_avx2, sup_solver_kernels_avx512;
#endif

/* A contact as the solver works with it. Rows of four floats end in 0. */
typedef struct sup_contact_state {
    int32_t node[4];                    /* vertex, corners; 0 for none, with weight 0 */
    float weight[4];                     /* 1, -weights */
    int32_t moved[4];                    /* the same for those that are unknowns: what a direction moves */
    float share[4];                      /* and their weights */
    float normal[4], point[4], start[4]; /* start: difference at the start of the step */
    float offset, stiffness, friction;
    float limit, damping; /* depth from which on the force is constant; stiffness against moving along the normal */
    float cap;            /* largest tangential force; < 0 until known */
    float hold, slide;    /* of the current iterate: stiffness along the normal and across it */
    float force[4];       /* C y of conjugate gradients, before it is spread over the vertices */
} sup_contact_state;

/* The state's memory. Positions: four buffers whose roles change; anchors behind the unknowns. */
typedef struct sup_solver_memory {
    struct sup_solver_head *head;
    float *x[4];                          /* [(unknown_count+anchor_count)*4] */
    float *inertial;                      /* [unknown_count*4] y */
    float *gradient;                      /* [unknown_count*4] */
    float *direction[SUP_SOLVER_HISTORY]; /* [(unknown_count+slot_count)*4] */
    float *guess, *miss;                  /* [unknown_count*4] the last guess without repeating a miss, and its miss */
    float *copy, *partial, *anchors;      /* of sup_local_work */
    float *feet, *region_slot_lanes, *region_slot_pressure; /* the same, with volume only */
    double *region_slot_volume;
    float *foot;                                /* [(unknown_count+anchor_count)*4] of skin vertices, by node */
    double *region;                            /* [region_count] volumes, then pressures */
    double *cluster_energy;                       /* [cluster_count] */
    double *sums;                               /* [(subdomain_count+1)*SUP_SOLVER_SUMS] */
    sup_contact_state *rows;                      /* [contact_capacity] */
    float *residual, *search, *image, *product; /* [unknown_count*4]; with room for contacts only */
} sup_solver_memory;

typedef struct sup_solver_head {
    int32_t role[4]; /* buffers of x: now, before, and two to work in */
    int32_t contact_capacity;
} sup_solver_head;

/* A step in progress. */
typedef struct sup_step {
    const sup_context *context;
    const sup_system *system;
    const sup_solver_input *input;
    const sup_solver_kernels *kernels;
    sup_solver_memory memory;
    sup_solver_report report;
    float *x, *x_last;         /* current and last iterate */
    const float *now, *before; /* x_n and x_(n-1) */
    float *solve;              /* the vector that is solved in node: one of the directions */
    const float *image;        /* - A times the current direction: the gradient, unless contacts changed it */
    int32_t history;           /* directions so far */
    double inner[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY];           /* d_i . A d_j */
    double coefficient[SUP_SOLVER_HISTORY + 1][SUP_SOLVER_HISTORY]; /* x_k - x_0 in terms of the directions */
    float factor[SUP_SOLVER_HISTORY];
    int32_t contact_count;
    bool contact_near; /* some row stiffens the system */
    bool keeps_volume; /* there are pressures */
    sup_step_limits limits;
    float cg_factor;   /* alpha or beta of the step of conjugate gradients */
    bool cg_begins;    /* its first step */
    float repeat;      /* part of the last miss that the guess takes */
    float forget;      /* part of the last move that it does not */
    double rounding;   /* energy of rounding the positions to float */
} sup_step;

/* Column ranges: the subdomains of the solve, then its top. */
static inline void sup_step_range(const sup_step *step, int32_t range, int32_t *begin, int32_t *end)
{
    const sup_float_subdomains *subdomains = &step->system->subdomains;
    *begin = subdomains->column_first[range];
    *end = range < subdomains->subdomain_count ? subdomains->column_first[range + 1] : subdomains->size;
}

static inline int32_t sup_step_range_count(const sup_step *step)
{
    return step->system->subdomains.subdomain_count + 1;
}

void sup_step_done(const sup_step *step, sup_solver_stage stage);
/* One function for every range, on all threads. */
void sup_step_ranges(sup_step *step, sup_task_fn *fn);
/* Sum `slot` over all ranges, in their order. */
double sup_step_sum(const sup_step *step, int32_t slot);

sup_local_work sup_step_local_work(const sup_step *step);

/* The factors of the directions in the next step: the accelerated one, or a multiple of the newest direction
 * (solver_accelerate.c). */
void sup_step_choose(sup_step *step, bool accelerate);
void sup_step_multiple(sup_step *step, double multiple);

/* Volume: the feet of skin vertices [begin, end) in this step; and pressures of the regions at x, with their energy
 * (solver_volume.c). */
void sup_step_place_feet(const sup_step *step, int32_t begin, int32_t end);
double sup_step_pressures(sup_step *step);

/* Contacts: rows for this step; forces and stiffness at x added to the gradient, with their energy; and the direction
 * -(A + C)^-1 g into step->solve (solver_contact.c). */
void sup_step_contact_prepare(sup_step *step);
double sup_step_contact_forces(sup_step *step);
void sup_step_contact_solve(sup_step *step);

#endif
