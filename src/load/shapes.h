/* shapes.h (internal) - the text files of a folder of shapes: for the reader and for fuzzing. */
#ifndef SUP_LOAD_SHAPES_H
#define SUP_LOAD_SHAPES_H

#include "base/base.h"
#include "supple/anatomy.h"

typedef struct sup_shapes_header {
    int32_t body_count, vertex_count, triangle_count, joint_count;
    double scale, offset[3]; /* metres = offset + scale * int16 */
    const char *skeleton;    /* name of the skeleton */
    const char *const *joint_names;
    const int32_t *parents;
} sup_shapes_header;

/* `skeleton` is the name of the skeleton, NULL = the first in the header. Allocates the arrays of the result from
 * `arena`. */
sup_result sup_shapes_read_header(const sup_allocator *allocator, const char *where, sup_bytes text,
                                  const char *skeleton, sup_arena *arena, sup_shapes_header *header, sup_error *error);
/* Reads `count` lines after the first; allocates from `arena`. */
sup_result sup_shapes_read_persons(const char *where, sup_bytes text, int32_t count, sup_arena *arena,
                                   const sup_person **persons, sup_error *error);

#endif
