/* document.h (internal) - what of a glTF file must survive the trip from reader to writer. */
#ifndef SUP_LOAD_DOCUMENT_H
#define SUP_LOAD_DOCUMENT_H

#include "supple/base.h"

/* Lives in the character's arena. Sizes and offsets are checked: the writer may trust them. */
struct sup_document {
    sup_bytes json; /* UTF-8 text of the file, a valid glTF 2.0 document */
    int32_t view_count;
    const sup_bytes *views; /* [bufferViews] bytes of each, decompressed where the file has EXT_meshopt_compression */
    int32_t image_count;
    const sup_bytes *images; /* [images] bytes of those behind a URI; data NULL when in a view or not readable */
};

#endif
