/* gltf_make.h - builds small glTF files in memory for the tests of the glTF reader. */
#ifndef SUP_TESTS_GLTF_MAKE_H
#define SUP_TESTS_GLTF_MAKE_H

#include "load/file.h"
#include "load/read.h"

enum { MAKE_BYTE = 5120, MAKE_UBYTE, MAKE_SHORT, MAKE_USHORT, MAKE_UINT = 5125, MAKE_FLOAT };

typedef struct gltf_make {
    unsigned char binary[65536];
    char views[16384], accessors[16384], json[65536];
    unsigned char file[131072];
    size_t binary_size, json_size, file_size;
    int view_count, accessor_count;
} gltf_make;

/* An empty file; one at a time, static memory. */
gltf_make *gltf_begin(void);
/* Adds bytes and a view of them; `extra` is more JSON for the view, such as ",\"byteStride\":8", or "". */
int gltf_add_view(gltf_make *m, const void *data, size_t size, const char *extra);
/* Adds an accessor; view -1 for none; `extra` as above. */
int gltf_add_accessor(gltf_make *m, int view, int component, const char *type, int count, const char *extra);
/* Both: `count` elements, `size` bytes in total. */
int gltf_add_array(gltf_make *m, const void *data, size_t size, int component, const char *type, int count);
int gltf_add_floats(gltf_make *m, const float *data, const char *type, int width, int count);
/* The JSON text with `body` (the remaining members, no braces, printf-style) and the GLB file. */
void gltf_finish(gltf_make *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gltf_pack(gltf_make *m);

/* Reads bytes with the file system's reader or `reader`. */
sup_result gltf_read_bytes(const char *name, const void *data, size_t size, const sup_file_reader *reader,
                           sup_character **character, sup_error *error);
/* The built GLB must load, or must fail with that result and id. */
sup_character *gltf_read_built(const gltf_make *m);
void gltf_check_rejected(const gltf_make *m, sup_result result, const char *id);

#endif
