/* solver_work.h (internal) - shared by the files of the solver: kernels, ranges of unknowns, and the work of the
 * acceleration, of volumes and of contacts. The step itself is private to solver.c. */
#ifndef SUP_SOLVER_SOLVER_WORK_H
#define SUP_SOLVER_SOLVER_WORK_H

#include "solver/solver.h"
#include "solver/step_control.h"

enum { SUP_SOLVER_SUMS = 16 }; /* partial sums per range of unknowns */

/* --- Kernels --- */

/* Local step of one cluster: reads positions, writes partial gradients and the cluster's energy. */
typedef struct sup_local_work {
    const sup_system *system;
    const float *x;       /* [node*4] */
    const float *anchors; /* [anchored_batch_count*SUP_PRISM_ANCHOR_FLOATS] inner sides */
    float *copy;          /* [copy_count*4] of x, those before copy_inner of each cluster */
    float *partial;       /* [copy_count*4] gradients */
    double *energy;       /* [cluster_count] */
    bool shared_rotation;
    const float *foot_points;   /* [batch_count*SUP_PRISM_FOOT_POINT_FLOATS] */
    const float *pressure;      /* [region_slot_count]; NULL: strain alone, and the fields of volume are unused */
    float *region_slot_lanes;   /* [region_slot_count*SUP_PRISM_LANES] scratch for volume sums */
    double *region_slot_volume; /* [region_slot_count] contribution of the cluster to its regions */
} sup_local_work;

/* Gradient of a range of unknowns: partial gradients and momentum. */
typedef struct sup_gradient_work {
    const sup_system *system;
    const float *x, *inertial, *partial;
    float *gradient; /* [unknown_count*4] */
    float *solve;    /* [unknown_count*4] receives -gradient */
} sup_gradient_work;

typedef struct sup_solver_kernels {
    void (*local)(const sup_local_work *work, int32_t cluster);
    /* Copies the cluster's nodes and sums the volumes of its region slots; `local` then reuses the copies. */
    void (*volumes)(const sup_local_work *work, int32_t cluster);
    /* Inner sides of the anchored batches of a cluster, from the anchors in x; `copy` as in sup_local_work. */
    void (*anchors)(const sup_system *system, const float *x, float *copy, float *anchors, int32_t cluster);
    /* Foot points of all batches of a cluster, from those of the skin vertices [node*4]. */
    void (*foot_points)(const sup_system *system, const float *points, float *copy, float *foot_points,
                        int32_t cluster);
    double (*gradient)(const sup_gradient_work *work, int32_t begin, int32_t end); /* returns the energy of momentum */
    double (*dot)(const float *a, const float *b, int64_t begin, int64_t end);     /* over floats */
    /* out = x + sum_j factor[j] direction[j], over floats. */
    void (*mix)(const float *x, const float *const *direction, const float *factor, int32_t count, float *out,
                int64_t begin, int64_t end);
} sup_solver_kernels;

extern const sup_solver_kernels sup_solver_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_solver_kernels sup_solver_kernels_avx2, sup_solver_kernels_avx512;
#endif

/* --- Ranges of unknowns: the subdomains of the solve, then its separator --- */

static inline int32_t sup_range_count(const sup_system *system)
{
    return system->subdomains.subdomain_count + 1;
}

/* Unknowns [*begin, *end) of a range. */
static inline void sup_range_bounds(const sup_system *system, int32_t range, int32_t *begin, int32_t *end)
{
    const sup_float_subdomains *subdomains = &system->subdomains;
    *begin = subdomains->column_first[range];
    *end = range < subdomains->subdomain_count ? subdomains->column_first[range + 1] : subdomains->size;
}

/* Sum `index` over all ranges, in their order. `sums` [ranges*SUP_SOLVER_SUMS]. */
static inline double sup_range_sum(const sup_system *system, const double *sums, int32_t index)
{
    double sum = 0.0;
    for (int32_t k = 0; k < sup_range_count(system); k++)
        sum += sums[(int64_t)k * SUP_SOLVER_SUMS + index];
    return sum;
}

/* --- Anderson acceleration (solver_accelerate.c) --- */

typedef struct sup_anderson {
    int32_t newest;                                                 /* index of the newest direction */
    double inner[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY];           /* d_i . A d_j */
    double coefficient[SUP_SOLVER_HISTORY + 1][SUP_SOLVER_HISTORY]; /* x_k - x_0 as a sum of directions */
    float factor[SUP_SOLVER_HISTORY];                               /* the next step as a sum of directions */
} sup_anderson;

/* Sets `factor`: the accelerated step, or the plain one. */
void sup_anderson_choose(sup_anderson *anderson, bool accelerate);
/* Sets `factor` to a multiple of the newest direction. */
void sup_anderson_set_multiple(sup_anderson *anderson, double multiple);

/* --- Volume (solver_volume.c) --- */

/* Foot points of skin vertices [begin, end) into `foot` [node*4]. `bones`: sup_solver_input.bones. */
void sup_volume_foot_points(const sup_system *system, const float *bones, int32_t begin, int32_t end, float *foot);
/* Volumes of the regions at work->x into `region` [region_count], which then receives their pressures; the
 * pressures of the region slots into `pressure` [region_slot_count]. Returns the energy. */
double sup_volume_pressures(const sup_context *context, const sup_solver_kernels *kernels, const sup_local_work *work,
                            double *region, float *pressure);

/* --- Contacts (solver_contact.c) --- */

/* A contact during a step. Vectors of four floats end in 0. */
typedef struct sup_contact_state {
    int32_t node[4];                     /* vertex, corners; 0 for none, with weight 0 */
    float weight[4];                     /* 1, -weights */
    int32_t free_node[4];                /* the same for unknowns only: moved by a direction */
    float free_weight[4];                /* and their weights */
    float normal[4], point[4], start[4]; /* start: d at the start of the step */
    float offset, stiffness, friction;
    float limit, damping; /* depth from which on the force is constant; stiffness against motion along the normal */
    float cap;            /* largest tangential force; < 0 until known */
    float normal_stiffness, tangent_stiffness; /* at the current iterate */
    float force[4];                            /* P J y of conjugate gradients, before it is spread over the nodes */
} sup_contact_state;

/* Contacts of a step, from those of the caller. `x`: positions at the start of the step. Returns their count. */
int32_t sup_contacts_prepare(const sup_system *system, const sup_contact *contacts, int32_t count, int32_t capacity,
                             const float *x, sup_contact_state *states);

typedef struct sup_contacts_report {
    double energy;
    int32_t pushing; /* contacts that push */
    bool near;       /* some contact adds stiffness to the system */
} sup_contacts_report;

/* Forces and stiffness at x; forces are added to `gradient` and subtracted from `solve`. `size`: of the character. */
sup_contacts_report sup_contacts_forces(sup_contact_state *contacts, int32_t count, float size, const float *x,
                                        float *gradient, float *solve);

/* Direction of a global step with contacts: -(A + C)^-1 g. */
typedef struct sup_contact_solve {
    const sup_context *context;
    const sup_system *system;
    const sup_solver_kernels *kernels;
    sup_contact_state *contacts; /* [count] */
    int32_t count, max_solves;
    bool near;             /* of sup_contacts_report */
    const float *gradient; /* [unknown_count*4] */
    float *solve;          /* [(unknown_count+slot_count)*4] -g, then the direction */
    float *residual, *search, *image,
        *product; /* [unknown_count*4] scratch; image: -A times the direction at the end */
    double *sums; /* [ranges*SUP_SOLVER_SUMS] scratch */
    float factor; /* alpha or beta of conjugate gradients */
    bool first;   /* first iteration of conjugate gradients */
} sup_contact_solve;

/* Returns the number of solves with the factor of A. */
int32_t sup_contacts_solve(sup_contact_solve *work);

#endif
