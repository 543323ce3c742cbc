/* cache.h (internal) - what a file format has to offer to take frames: the writers behind sup_cache_open. */
#ifndef SUP_OUTPUT_CACHE_H
#define SUP_OUTPUT_CACHE_H

#include "base/base.h"
#include "supple/output.h"

/* Floats go to PC2 and GLB files as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the writers are for little-endian machines");

typedef struct sup_cache_format {
    const char *ending;  /* "glb" */
    const char *summary; /* for people who typed another ending */
    size_t state_size;
    /* Called once each, in this order; `state` is zeroed before. `frame` gets finite numbers only. After any failure,
     * and after finish, `close` is called: it removes what is not in place and frees. */
    sup_result (*open)(sup_cache_writer *writer, sup_error *error);
    sup_result (*frame)(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error);
    sup_result (*finish)(sup_cache_writer *writer, sup_error *error);
    void (*close)(sup_cache_writer *writer);
} sup_cache_format;

struct sup_cache_writer {
    sup_context context; /* defaults filled in */
    const sup_cache_format *format;
    const sup_character *character;
    sup_cache_def def; /* name is a copy */
    char path[4096];
    int32_t frame;     /* written so far */
    bool has_normals;  /* the first frame brought normals */
    bool failed;       /* a write failed: no more frames */
    uint64_t bytes;    /* in files so far */
    size_t block_size; /* of this struct, state and name in one block */
    void *state;       /* the format's own */
};

extern const sup_cache_format sup_format_glb, sup_format_pc2, sup_format_mdd, sup_format_obj;

/* sup_cache_finish that says how many bytes the files have. */
sup_result sup_cache_finish_counted(sup_cache_writer *writer, uint64_t *bytes, sup_error *error);

/* True when the primitive moves with a node that mirrors it: its triangles then face the other way in world space. */
bool sup_primitive_is_mirrored(const sup_character *character, const sup_primitive *primitive);

#endif
