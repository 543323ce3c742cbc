/* registry.c - the methods of this library. The first is the default. */
#include "base/base.h"
#include "methods/anatomy/anatomy.h"
#include "methods/cor/cor.h"
#include "methods/ddm/ddm.h"
#include "methods/dualquat/dualquat.h"
#include "methods/implicit/implicit.h"
#include "methods/linear/linear.h"
#include "methods/position/position.h"
#include "methods/projective/projective.h"
#include "methods/stbs/stbs.h"

static const sup_method *const methods[] = {
    &sup_method_projective, &sup_method_linear,   &sup_method_dualquat,
#ifndef SUPPLE_SMALL /* the web build has a size limit; these would exceed it (docs/methods/classics.md) */
    &sup_method_cor,        &sup_method_ddm,      &sup_method_stbs,
#endif
    &sup_method_position,   &sup_method_implicit, &sup_method_anatomy,
};

int32_t sup_method_count(void)
{
    return SUP_COUNT(methods);
}

const sup_method *sup_method_at(int32_t index)
{
    return index >= 0 && index < SUP_COUNT(methods) ? methods[index] : NULL;
}

const sup_method *sup_method_find(const char *name)
{
    for (int32_t i = 0; i < SUP_COUNT(methods); i++)
        if (sup_text_equal(methods[i]->name, name)) return methods[i];
    return NULL;
}
