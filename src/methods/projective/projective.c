/* projective.c - the method's table and its parameters. */
#include "methods/projective/projective.h"

static const char *const sliding_choices[] = {"off", "on", "whole", NULL};
static const char *const up_choices[] = {"y", "z", "x", NULL};

const sup_param sup_projective_params[SUP_PROJECTIVE_PARAM_COUNT] = {
    [SUP_PROJECTIVE_VERTICES] = {"vertices", "", SUP_PARAM_INT, 100, 200000, 5000, NULL, false,
                                 "Skin vertices that are simulated; the shown skin rides on them."},
    [SUP_PROJECTIVE_STIFFNESS] = {"stiffness", "", SUP_PARAM_FLOAT, 0.02, 50, 1, NULL, false,
                                  "How firm the flesh is; less hangs and swings more."},
    [SUP_PROJECTIVE_VOLUME] = {"volume", "", SUP_PARAM_FLOAT, 0, 20, 1, NULL, false,
                               "How much flesh keeps its volume, and so bulges where limbs bend; 0: strain alone."},
    [SUP_PROJECTIVE_MASS] = {"mass", "", SUP_PARAM_FLOAT, 0.01, 100, 1, NULL, false,
                             "How heavy the flesh is; more swings longer."},
    [SUP_PROJECTIVE_RADIUS] = {"radius", "", SUP_PARAM_FLOAT, 0.1, 1.3, 1, NULL, false,
                               "Thickness of the bones; more leaves less flesh."},
    [SUP_PROJECTIVE_DYNAMIC] = {"dynamic", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, false,
                                "Flesh swings; off: every pose has one shape, whatever came before."},
    [SUP_PROJECTIVE_SLIDING] = {"sliding", "", SUP_PARAM_CHOICE, 0, 2, 1, sliding_choices, false,
                                "Flesh slides over the joints; off: it sticks to them, and joints turn by half of the "
                                "bend; whole: they turn with the bone after them, for comparison."},
    [SUP_PROJECTIVE_ITERATIONS] = {"iterations", "", SUP_PARAM_INT, 0, 100, 0, NULL, true,
                                   "Most solver iterations a step; 0: as many as reach what ten plain ones do."},
    [SUP_PROJECTIVE_TOLERANCE] = {"tolerance", "", SUP_PARAM_FLOAT, 0, 0.01, 0, NULL, true,
                                  "Part of its energy that a step may leave to save time, 1e-6 about a third of it; "
                                  "0: none that positions can show."},
    [SUP_PROJECTIVE_DAMPING] = {"damping", "", SUP_PARAM_FLOAT, 0, 1, 0, NULL, true,
                                "Part of the momentum that each step takes away, beside the solver's own."},
    [SUP_PROJECTIVE_GRAVITY] = {"gravity", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true,
                                "Pull on the flesh; 0: the rest shape already hangs as it should."},
    [SUP_PROJECTIVE_UP] = {"up", "", SUP_PARAM_CHOICE, 0, 2, 0, up_choices, true, "Axis that gravity pulls against."},
    [SUP_PROJECTIVE_WIND] = {"wind", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true,
                             "Push of a steady wind on all flesh, as an acceleration."},
    [SUP_PROJECTIVE_WIND_HEADING] = {"wind_heading", "degrees", SUP_PARAM_FLOAT, -360, 360, 0, NULL, true,
                                     "Where the wind blows to, around the up axis: 0 along the next axis after it."},
    [SUP_PROJECTIVE_WIND_RISE] = {"wind_rise", "degrees", SUP_PARAM_FLOAT, -90, 90, 0, NULL, true,
                                  "How steeply the wind blows upwards."},
    [SUP_PROJECTIVE_CONTACT] = {"contact", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true,
                                "Skin touches skin instead of passing through."},
    [SUP_PROJECTIVE_FRICTION] = {"friction", "", SUP_PARAM_FLOAT, 0, 2, 0.2, NULL, true,
                                 "Friction between touching skin."},
    [SUP_PROJECTIVE_FAST] = {"fast", "", SUP_PARAM_BOOL, 0, 1, 0, NULL, true,
                             "One rotation for each prism of flesh instead of three: a little faster and rougher."},
};

const sup_map sup_projective_maps[SUP_PROJECTIVE_MAP_COUNT] = {
    [SUP_PROJECTIVE_MAP_STIFFNESS] = {"stiffness", "", 0.05f, 20.0f, 1.0f, false,
                                      "How firm the flesh is, times the parameter."},
    [SUP_PROJECTIVE_MAP_RIGID] =
        {"rigid", "", 0.0f, 1.0f, 0.0f, true,
         "1: skin that follows the bones alone, such as a face or armour; between: by degrees."},
    [SUP_PROJECTIVE_MAP_FREE] = {"free", "", 0.0f, 1.0f, 0.0f, false,
                                 "From 0.5 on the bones shape the flesh but do not hold it: trunk, tail, belly swing."},
};

const sup_method sup_method_projective = {
    .name = "projective",
    .summary = "Projective skinning: simulated flesh on volumetric bones; bulges, slides, swings and touches itself.",
    .version = 4,
    .flags = SUP_METHOD_DYNAMIC | SUP_METHOD_COLLIDES,
    .params = sup_projective_params,
    .param_count = SUP_PROJECTIVE_PARAM_COUNT,
    .maps = sup_projective_maps,
    .map_count = SUP_PROJECTIVE_MAP_COUNT,
    .bind = sup_projective_bind,
    .check = sup_projective_check,
    .state_size = sup_projective_state_size,
    .reset = sup_projective_reset,
    .step = sup_projective_step,
    .energy = sup_projective_energy,
    .paint = sup_projective_paint,
    .compare = sup_projective_compare,
    .kept_size = sup_projective_kept,
    .link = sup_projective_link,
};
