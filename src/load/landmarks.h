/* landmarks.h (internal) - reads landmarks from memory. */
#ifndef SUP_LOAD_LANDMARKS_H
#define SUP_LOAD_LANDMARKS_H

#include "base/base.h"
#include "supple/anatomy.h"

/* `name` is the location in error messages. */
sup_result sup_landmarks_read(const sup_context *context, const char *name, sup_bytes bytes, sup_landmarks **landmarks,
                              sup_error *error);

#endif
