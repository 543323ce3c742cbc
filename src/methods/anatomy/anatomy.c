/* anatomy.c - the method table: method "projective" with layers of tissue. */
#include "methods/anatomy/anatomy.h"

#include "methods/projective/projective_params.h"

static const sup_param params[SUP_ANATOMY_PARAM_COUNT] = {
    SUP_PROJECTIVE_PARAM_TABLE,
    [SUP_ANATOMY_MUSCLE] = {"muscle", "", SUP_PARAM_FLOAT, 0.1, 20, 3, NULL, false,
                            "Stiffness of muscle relative to fat."},
};

static const sup_method_inspection inspection = {.energy = sup_projective_energy, .inner = sup_projective_inner};

const sup_method sup_method_anatomy = {
    .name = "anatomy",
    .summary =
        "Projective skinning with layers of fat and muscle on bone surfaces, for characters with an anatomy: the "
        "belly moves, the rib cage does not.",
    .version = 5,
    .flags = SUP_METHOD_DYNAMIC | SUP_METHOD_COLLIDES | SUP_METHOD_LAYERS,
    .params = params,
    .param_count = SUP_ANATOMY_PARAM_COUNT,
    .maps = sup_projective_maps,
    .map_count = SUP_PROJECTIVE_MAP_COUNT,
    .bind = sup_anatomy_bind,
    .check = sup_anatomy_check,
    .layout = sup_projective_layout,
    .reset = sup_projective_reset,
    .step = sup_anatomy_step,
    .paint = sup_projective_paint,
    .restore = sup_projective_restore,
    .inspection = &inspection,
};
