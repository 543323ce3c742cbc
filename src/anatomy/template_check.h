/* template_check.h (internal) - checks the input of a template. */
#ifndef SUP_ANATOMY_TEMPLATE_CHECK_H
#define SUP_ANATOMY_TEMPLATE_CHECK_H

#include "base/base.h"
#include "supple/anatomy.h"

sup_result sup_template_check(const sup_context *context, const sup_anatomy_def *def, sup_error *error);

#endif
