/* refuse.c - what the CPU steps and the device does not, by name. */
#include "cuda/refuse.h"

#include "base/base.h"
#include "methods/projective/projective.h"
#include "methods/projective/view.h"

sup_result sup_crowd_accept_value(sup_crowd_kind kind, int32_t param, double value, sup_error *error)
{
    if (kind != SUP_CROWD_PROJECTIVE || param != SUP_PROJECTIVE_CONTACT || value == 0.0) return SUP_OK;
    return sup_fail(
        error, SUP_ERROR_UNSUPPORTED, "crowd.contact", "contact",
        "Contact of the skin with itself does not run on the device yet: bind with \"contact\" 0, or step the "
        "character on the CPU.");
}

static sup_result accept_projective(const sup_model *model, sup_error *error)
{
    sup_projective_view view;
    sup_result result = sup_projective_open(model, &view, error);
    if (result != SUP_OK) return result;
    if (view.system.volume > 0.0f)
        return sup_fail(
            error, SUP_ERROR_UNSUPPORTED, "crowd.volume", "volume",
            "Flesh that keeps its volume does not run on the device yet: bind with \"volume\" 0, or step the "
            "character on the CPU.");
    result = sup_crowd_accept_value(SUP_CROWD_PROJECTIVE, SUP_PROJECTIVE_CONTACT,
                                    sup_model_values(model)[SUP_PROJECTIVE_CONTACT], error);
    if (result != SUP_OK) return result;
    if (view.fixed_count > 0 || view.rigid_count > 0)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.rigid", "rigid",
                        "%d vertices of the simulated skin follow the bones alone, painted so or for want of flesh, "
                        "which the device cannot do yet: step the character on the CPU.",
                        (int)(view.fixed_count > view.rigid_count ? view.fixed_count : view.rigid_count));
    if (view.leash_count > 0)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.leash", "dynamic",
                        "Leashes that hold swinging flesh to its bones do not run on the device yet: bind with "
                        "\"dynamic\" 0, or step the character on the CPU.");
    return SUP_OK;
}

sup_result sup_crowd_accept(const sup_model *model, sup_crowd_kind *kind, sup_error *error)
{
    static const char *const names[] = {"linear", "dualquat", "projective"};
    const char *name = sup_model_method(model)->name;
    int32_t found = 0;
    while (found < SUP_COUNT(names) && strcmp(name, names[found]) != 0)
        found++;
    if (found == SUP_COUNT(names))
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.method", name,
                        "Method \"%s\" does not run on a GPU; linear, dualquat and projective do.", name);
    if (sup_model_array_count(model, "morph_weight") > 0)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.morphs", name,
                        "The character has morph targets, which the device does not move yet: step it on the CPU.");
    sup_result result = found == SUP_CROWD_PROJECTIVE ? accept_projective(model, error) : SUP_OK;
    if (result == SUP_OK) *kind = (sup_crowd_kind)found;
    return result;
}
