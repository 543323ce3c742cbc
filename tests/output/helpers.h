/* helpers.h - characters, frames and files for the tests of the writers. */
#ifndef SUP_TESTS_OUTPUT_HELPERS_H
#define SUP_TESTS_OUTPUT_HELPERS_H

#include "base/base.h"
#include "supple/output.h"
#include "test.h"

/* A tetrahedron and a square in two primitives on two nodes, with texture coordinates. With `mirrored` the square's
 * node mirrors it. Freed by the caller. */
sup_character *helper_character(bool mirrored);
sup_character *helper_read_gltf(const char *path);

/* Frames: [frame_count][vertex_count*3] positions and normals, computed by reference linear blend skinning in
 * double. */
typedef struct helper_frames {
    int32_t frame_count, vertex_count;
    float *positions, *normals;
} helper_frames;
/* The clip (NULL: rest) sampled at fps from its start, or at given times. */
helper_frames helper_skin(const sup_character *character, const sup_clip *clip, double fps, int32_t frame_count);
helper_frames helper_wave(const sup_character *character, int32_t frame_count); /* synthetic: every vertex moves */
void helper_frames_free(helper_frames *frames);
const float *helper_positions(const helper_frames *frames, int32_t frame);
const float *helper_normals(const helper_frames *frames, int32_t frame);

/* Writes all frames; returns the result of the first call that fails. */
sup_result helper_write(const char *path, const sup_character *character, const helper_frames *frames,
                        const sup_cache_def *def, sup_error *error);

/* Reads a whole file; size -1 when it does not exist. Freed by the caller. */
unsigned char *helper_file(const char *path, long *size);
void helper_put_file(const char *path, const char *text);
/* Files of the test folder whose name contains `text`. */
int helper_count_files(const char *text);
/* Diagonal of the bounding box. */
double helper_size(const float *positions, int32_t vertex_count);

#endif
