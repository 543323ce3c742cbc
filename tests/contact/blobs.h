/* blobs.h - spheres with bumps, each around a bone of its own: meshes that overlap in arbitrary ways. */
#ifndef SUP_TESTS_CONTACT_BLOBS_H
#define SUP_TESTS_CONTACT_BLOBS_H

#include "contact/detect.h"

#include "test.h"

typedef struct blobs {
    int32_t count, vertex_count, triangle_count;
    double *skin;
    int32_t *triangles;
    sup_foot_point *foot_points;
    sup_bone_segment *segments;
    sup_detect_def def;
    sup_arena arena;
    sup_detect detect;
    void *state;
    size_t state_size;
    float *posed, *ends;
    sup_contact *contacts;
} blobs;

/* `count` spheres of radius about 1 in a row along x, `spacing` apart, columns * rows vertices each. */
blobs blobs_make(int32_t count, int32_t columns, int32_t rows, double spacing, double bumps, uint64_t seed);
void blobs_free(blobs *b);
/* The bind pose; and one blob (-1: all) rotated about the middle of its bone, moved, with random `noise` added. */
void blobs_rest(blobs *b);
void blobs_move(blobs *b, int32_t blob, sup_vec3d by, sup_vec3d axis, double angle, double noise, sup_random *random);
int32_t blobs_step(blobs *b, const sup_tasks *tasks);

#endif
