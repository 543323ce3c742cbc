/* samples.h (internal) - distributes points evenly over part of a surface.
 *
 * Candidates are drawn by area; then the candidate farthest from all selected ones is selected next, which gives a
 * Poisson-disk set for every count. The metric combines position and normal: samples are denser where the surface is
 * curved. Deterministic. */
#ifndef SUP_METHODS_IMPLICIT_SAMPLES_H
#define SUP_METHODS_IMPLICIT_SAMPLES_H

#include "methods/implicit/hrbf.h"

/* A surface and the outward normals of its vertices [vertex_count*3]; 0 where there is none. */
typedef struct sup_sampled_surface {
    int32_t vertex_count;
    const float *positions; /* [vertex_count*3] */
    const int32_t *triangles;
    const double *normals;
    const int32_t *vertex_region; /* [vertex_count] or NULL; clips triangles between regions to `region` */
    int32_t region;
} sup_sampled_surface;

/* Up to `wanted` points on the triangles of `list`, including their corners if these are at most half of the points.
 * Returns the number of points. `cumulative` [count] is scratch. */
int32_t sup_samples_scatter(const sup_sampled_surface *surface, const int32_t *list, int32_t count, int32_t wanted,
                            double *cumulative, sup_sample *samples);

/* Selection of samples from candidates. */
typedef struct sup_sample_choice {
    const sup_sample *candidates;
    int32_t candidate_count;
    int32_t own_count;    /* the first candidates: only these are used by sup_samples_spread */
    double normal_weight; /* length that corresponds to a unit difference of normals */
    double min_spacing;   /* minimum distance of two samples */
    double *distance;     /* [candidate_count] squared distance from the selected samples */
    int32_t count;
    sup_sample *selected;
} sup_sample_choice;

/* Adds a sample that is not a candidate; returns false if it is too near to another one. */
bool sup_samples_add(sup_sample_choice *choice, sup_sample sample);
/* Selects candidates, the farthest first, until `count` samples are selected or none is far enough from the others.
 * Returns the distance of the last one from the others when it was selected. */
double sup_samples_spread(sup_sample_choice *choice, int32_t count);
/* Selects up to `count` samples in total, those with the largest `error` [candidate_count] first, each at least `apart`
 * from the others and with an error above `min_error`. */
void sup_samples_repair(sup_sample_choice *choice, const float *error, double apart, double min_error, int32_t count);

#endif
