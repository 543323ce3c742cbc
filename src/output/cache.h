/* cache.h (internal) - the interface of a frame file format, for the writers behind sup_cache_open. */
#ifndef SUP_OUTPUT_CACHE_H
#define SUP_OUTPUT_CACHE_H

#include "base/base.h"
#include "supple/output.h"

/* Floats are written to PC2 and GLB files without byte swapping. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the writers are for little-endian machines");

typedef struct sup_cache_format {
    const char *extension; /* "glb" */
    const char *summary;   /* for the error message about unsupported extensions */
    size_t state_size;
    /* Called in this order, `frame` once per frame; `state` is zeroed before. `frame` gets only finite numbers. After
     * any failure, and after finish, `close` is called: it removes temporary files and frees memory. */
    sup_result (*open)(sup_cache_writer *writer, sup_error *error);
    sup_result (*frame)(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error);
    sup_result (*finish)(sup_cache_writer *writer, sup_error *error);
    void (*close)(sup_cache_writer *writer);
} sup_cache_format;

struct sup_cache_writer {
    sup_context context; /* defaults resolved */
    const sup_cache_format *format;
    const sup_character *character;
    sup_cache_def def; /* name is a copy */
    char path[4096];
    int32_t frame;     /* written so far */
    bool has_normals;  /* the first frame has normals */
    bool failed;       /* a write failed: no more frames */
    uint64_t bytes;    /* written so far */
    size_t block_size; /* of this struct, state and name, in one memory block */
    void *state;       /* private data of the format */
};

extern const sup_cache_format sup_format_glb, sup_format_pc2, sup_format_mdd, sup_format_obj;

/* sup_cache_finish that also returns the total file size in bytes. */
sup_result sup_cache_finish_counted(sup_cache_writer *writer, uint64_t *bytes, sup_error *error);

/* True when the primitive follows a node with a mirroring transform: its triangles then have the opposite orientation
 * in world space. */
bool sup_primitive_is_mirrored(const sup_character *character, const sup_primitive *primitive);

#endif
