/* samples.h (internal) - points spread evenly over a part of a surface.
 *
 * Candidates are drawn by area; of those, the farthest from all that were taken before is taken next, which is a
 * Poisson-disk set at every count. Distances are those of place and normal together: where the surface turns, samples are
 * denser. The same samples on every run. */
#ifndef SUP_METHODS_IMPLICIT_SAMPLES_H
#define SUP_METHODS_IMPLICIT_SAMPLES_H

#include "methods/implicit/hrbf.h"

/* A surface, and normals of its vertices [vertex_count*3] that point outwards; 0 where there is none. */
typedef struct sup_sampled_surface {
    int32_t vertex_count;
    const float *positions; /* [vertex_count*3] */
    const int32_t *triangles;
    const double *normals;
    const int32_t
        *vertex_region; /* [vertex_count] or NULL; of a triangle between parts only the half of `part` is taken */
    int32_t region;
} sup_sampled_surface;

/* Up to `wanted` points on the triangles of `list`, their corners included when those are not more than half of them.
 * Returns how many. `cumulative` [count] is scratch. */
int32_t sup_samples_scatter(const sup_sampled_surface *surface, const int32_t *list, int32_t count, int32_t wanted,
                            double *cumulative, sup_sample *samples);

/* Which candidates are taken. */
typedef struct sup_sample_choice {
    const sup_sample *candidates;
    int32_t candidate_count;
    int32_t own_count; /* the first of them: only those are spread */
    double normal_weight;       /* length that a difference of 1 of the normals counts for */
    double min_spacing;      /* no two samples nearer than this */
    double *distance;  /* [candidate_count] from those that were taken */
    int32_t count;
    sup_sample *taken;
} sup_sample_choice;

/* A sample that is not a candidate, unless it is too near to another. */
bool sup_samples_add(sup_sample_choice *choice, sup_sample sample);
/* Takes candidates, the farthest first, until `count` are taken or none is far enough from the others. Returns the last one's
 * distance from the others when it was taken. */
double sup_samples_spread(sup_sample_choice *choice, int32_t count);
/* Takes up to `count` in all, those with the largest `error` [candidate_count] first, each at least `apart` from the others
 * and with an error above `least`. */
void sup_samples_repair(sup_sample_choice *choice, const float *error, double apart, double min_error, int32_t count);

#endif
