/* refuse.h (internal) - which models the device can step. In every build: it needs no GPU to say so. */
#ifndef SUP_CUDA_REFUSE_H
#define SUP_CUDA_REFUSE_H

#include "supple/model.h"

typedef enum sup_crowd_kind { SUP_CROWD_LINEAR, SUP_CROWD_DUALQUAT, SUP_CROWD_PROJECTIVE } sup_crowd_kind;

/* SUP_ERROR_UNSUPPORTED, with a sentence that names it, for what a model has and the device cannot do. */
sup_result sup_crowd_accept(const sup_model *model, sup_crowd_kind *kind, sup_error *error);

#endif
