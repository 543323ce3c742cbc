/* document.h (internal) - the data of a glTF file that the reader passes to the writer. */
#ifndef SUP_LOAD_DOCUMENT_H
#define SUP_LOAD_DOCUMENT_H

#include "supple/base.h"

/* Lives in the character's arena. Sizes and offsets are validated: the writer relies on them. */
struct sup_document {
    sup_bytes json; /* UTF-8 text of the file, a valid glTF 2.0 document */
    int32_t view_count;
    const sup_bytes *views; /* [view_count] bytes of each bufferView, decompressed if it has EXT_meshopt_compression */
    int32_t image_count;
    const sup_bytes *images; /* [image_count] bytes of images with a URI; data NULL when in a view or not readable */
};

#endif
