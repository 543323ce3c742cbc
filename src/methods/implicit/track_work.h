/* track_work.h (internal) - data shared by the files of tracking: arrays of the state, and the work of one
 * sub-frame. */
#ifndef SUP_METHODS_IMPLICIT_TRACK_WORK_H
#define SUP_METHODS_IMPLICIT_TRACK_WORK_H

#include "base/simd.h"
#include "methods/implicit/track.h"

enum {
    SUP_TRACK_GRAIN = 4, /* clusters per task */
    SUP_TRACK_SUMS = 3
};

/* Attraction of the output skin to the tracked one, 1/size^2 (arap_smooth.c). Halves lobes of a half wavelength of 0.05
 * sizes; with half the tension a squat lost 0.03 more of its volume. */
#define SUP_TRACK_TENSION 4000.0
/* Area of a vertex relative to its squared mean edge length, for equilateral triangles. */
#define SUP_TRACK_AREA 0.87

/* The arrays of an instance's state. */
typedef struct sup_track_arrays {
    float *position;       /* [vertex_count*4] x y z, and the contact weight in [0, 1] */
    float *normal;         /* [vertex_count*4] unit gradient when it last had a direction; residual */
    float *barrier;        /* [vertex_count*4] unit direction blocked by the end of a contact surface, and its weight */
    float *transform;      /* [vertex_count*12] rest to pose, prescribed */
    float *rhs;            /* [vertex_count*4] right-hand side b of the rotated rest edges; stiffness of the anchor */
    float *descent;        /* [vertex_count*4] descent direction of the energy in the tangent plane */
    float *direction;      /* [vertex_count*4] search direction, 0 for sleeping vertices; first: repair displacement */
    float *carried;        /* [vertex_count*4] `position` after the rigid motion, if the activity is below 1 */
    float *solve;          /* [(vertex_count + slot_count)*4] elimination order */
    double *sums;          /* [cluster_count*SUP_TRACK_SUMS] */
    float *moved;          /* [cluster_count] largest displacement in the last iteration, in edge lengths */
    float *drift;          /* [cluster_count] displacement since the last field evaluation, in edge lengths */
    int32_t *list;         /* [cluster_count] awake clusters, increasing */
    int32_t *motion_class; /* [joint_count] equal for joints with the same motion in this sub-frame */
    float *straight;       /* [joint_count] 1: regions are aligned with their neighbours as at rest; 0: fully bent */
    unsigned char *awake;  /* [cluster_count] SUP_TRACK_AWAKE and the other bits */
    float *proximity[2];   /* [vertex_count*2] for the output: proximity to a contact, and to another limb, in [0, 1] */
    uint64_t *subdomain_bits; /* [cluster_count] bit k: has vertices in a subdomain with index k modulo 64 */
} sup_track_arrays;

enum {
    SUP_TRACK_AWAKE = 1,
    SUP_TRACK_STALE = 2,     /* its right-hand sides are not those of this sub-frame yet */
    SUP_TRACK_MOVING = 4,    /* moved until the last iteration of the previous frame */
    SUP_TRACK_WAS_AWAKE = 8, /* was awake in this sub-frame */
    SUP_TRACK_ROTATED = 16   /* woke up because of a rotation or residual motion, not only of a field */
};

typedef struct sup_track_work {
    const sup_context *context;
    const sup_track *track;
    const sup_track_input *input;
    sup_track_arrays arrays;
    int32_t awake_count;
    int32_t awake_vertices;
    bool has_stale;      /* some of them are stale */
    uint64_t subdomains; /* subdomains with awake vertices: bits as in subdomain_bits */
    bool solves;         /* this iteration uses the factor */
    double scale;        /* of the direction in this iteration */
    double slope, keep;  /* r . z, and the weight of the previous direction */
    int64_t evaluations; /* in vertices */
} sup_track_work;

sup_track_arrays sup_track_arrays_of(const sup_track *track, void *state);

/* Runs `fn` over the awake clusters: begin and end are indices into `list`. */
void sup_track_run(sup_track_work *work, sup_task_fn *fn);
/* Calls `fn` for each vertex of the clusters [begin, end) of the list. */
static inline void sup_track_each_vertex(sup_track_work *work, int32_t begin, int32_t end,
                                         void (*fn)(sup_track_work *work, int64_t vertex))
{
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = work->arrays.list[i];
        for (int64_t vertex = work->track->cluster_first[cluster]; vertex < work->track->cluster_first[cluster + 1];
             vertex++)
            fn(work, vertex);
    }
}

/* rotations.c: blends `transform` of the vertices whose joints move, or of all. */
void sup_track_blend_transforms(sup_track_work *work);
/* Fits the rotations of the awake vertices to the current skin, and marks their right-hand sides as stale. */
void sup_track_fit_rotations(sup_track_work *work);

/* project.c: at most `steps` Newton steps of the awake clusters that have drifted by more than `drift` edge lengths;
 * the residual never increases. Sets sums[1] of a cluster to 1 if a vertex moved or is in contact, else 0. */
void sup_track_project(sup_track_work *work, int32_t steps, float drift);
/* One Newton step of a cluster without verification; its length becomes drift[cluster]. */
void sup_track_newton_step(sup_track_work *work, int32_t cluster);

/* L v at a vertex, for v [vertex_count*4]: L is the Laplacian of the weights. */
static inline sup_four sup_track_laplacian(const sup_track *track, const float *v, int64_t vertex)
{
    sup_four here = sup_four_load(v + 4 * vertex), sum = sup_four_splat(0.0f);
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        sum += sup_four_splat(track->weight[e]) * (here - sup_four_load(v + 4 * (int64_t)track->other[e]));
    return sum;
}

/* track_output.c: lists the clusters that `subdomain_bits` marks with 1 and `rings` rings of clusters around them;
 * returns their number. One more ring follows in the list: `around` in total. Overwrites `subdomain_bits`, which is
 * scratch outside of sub-frames. */
int32_t sup_track_list_rings(const sup_track *track, const sup_track_arrays *arrays, uint64_t rings, int32_t *around);
/* relax.c: `rhs` of the vertices of a cluster: eq. 3 with the rotations of both ends. */
void sup_track_compute_rhs(const sup_track *track, const sup_track_arrays *arrays, int32_t cluster);
/* Iterates until convergence; returns the number of iterations. `moved` becomes the RMS displacement of the last one in
 * edge lengths. */
int32_t sup_track_relax(sup_track_work *work, float *moved);
/* Moves outliers of the awake clusters to the mean of their neighbours. The following projection undoes this for those
 * that end in a contact or deep inside. */
void sup_track_fix_outliers(sup_track_work *work);
/* track.c: wakes clusters adjacent to moving ones; with `sleep`, puts clusters at rest whose neighbours are at rest to
 * sleep; and rebuilds the list of awake clusters. */
void sup_track_update_awake(sup_track_work *work, bool sleep);
/* Clears `direction` of the vertices of a cluster. */
void sup_track_clear_directions(const sup_track_work *work, int32_t cluster);
/* Whether vertices [begin, end) are finite and in range. */
bool sup_track_arrays_usable(const sup_track_arrays *arrays, int64_t begin, int64_t end);

/* Points of a cluster as lanes; unused lanes repeat the last vertex. */
void sup_track_load_points(const sup_track *track, const float *position, int32_t cluster, sup_field_points *points);
/* Evaluates the field there, with sides. */
void sup_track_evaluate(const sup_track *track, int32_t cluster, sup_track_field_fn *field, const void *user,
                        const sup_field_points *points, sup_field_samples *samples, sup_field_sides *sides);

/* fmaxf and fminf are function calls because of NaN handling; these are one instruction, and ignore a NaN `b`. */
static inline float sup_track_max(float a, float b)
{
    return b > a ? b : a;
}

static inline float sup_track_min(float a, float b)
{
    return b < a ? b : a;
}

/* Contact weight in [0, 1]: on a contact surface the field touches 0.5 from above on both sides like a valley. There
 * are no values below, larger values are much farther away than at rest, and the slope vanishes. */
static inline float sup_track_contact_weight(const sup_track_target *target, float slope, float contact)
{
    float flat = 1.0f - (slope / target->gradient - 0.3f) * 2.5f; /* 1 below 0.3 of the slope at rest, 0 above 0.7 */
    float deep = (contact - 0.1f) * 2.5f;
    flat = flat < 0.0f ? 0.0f : flat > 1.0f ? 1.0f : flat;
    deep = deep < 0.0f ? 0.0f : deep > 1.0f ? 1.0f : deep;
    return flat * deep;
}

#endif
