/* crowd_support.h (internal) - which models the device can step. Compiled in every build: the check needs no GPU. */
#ifndef SUP_CUDA_CROWD_SUPPORT_H
#define SUP_CUDA_CROWD_SUPPORT_H

#include "supple/model.h"

/* Writes the names of the library's methods with a device implementation to `text`: "projective, linear, dualquat". */
void sup_crowd_list_methods(char *text, size_t size);

/* SUP_ERROR_UNSUPPORTED (crowd.method) when the model's method has no device implementation. */
sup_result sup_crowd_check_support(const sup_model *model, sup_method_device *device, sup_error *error);

#endif
