/* projective_params.h (internal) - the rows of the parameters, for the tables of this method and of those made of it. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_PARAMS_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_PARAMS_H

#include "methods/projective/projective.h"

static const char *const sup_sliding_choices[] = {"off", "on", "whole", NULL};
static const char *const sup_up_choices[] = {"y", "z", "x", NULL};

/* clang-format off */
#define SUP_PROJECTIVE_PARAM_ROWS \
    [SUP_PROJECTIVE_VERTICES] = {"vertices", "", SUP_PARAM_INT, 100, 200000, 5000, NULL, false, \
                                 "Skin vertices that are simulated; the shown skin rides on them."}, \
    [SUP_PROJECTIVE_STIFFNESS] = {"stiffness", "", SUP_PARAM_FLOAT, 0.02, 50, 1, NULL, false, \
                                  "How firm the flesh is; less hangs and swings more."}, \
    [SUP_PROJECTIVE_VOLUME] = {"volume", "", SUP_PARAM_FLOAT, 0, 20, 1, NULL, false, \
                               "How much flesh keeps its volume, and so bulges where limbs bend; 0: strain alone."}, \
    [SUP_PROJECTIVE_MASS] = {"mass", "", SUP_PARAM_FLOAT, 0.01, 100, 1, NULL, false, \
                             "How heavy the flesh is; more swings longer."}, \
    [SUP_PROJECTIVE_RADIUS] = {"radius", "", SUP_PARAM_FLOAT, 0.1, 1.3, 1, NULL, false, \
                               "Thickness of the bones; more leaves less flesh."}, \
    [SUP_PROJECTIVE_DYNAMIC] = {"dynamic", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, false, \
                                "Flesh swings; off: every pose has one shape, whatever came before."}, \
    [SUP_PROJECTIVE_SLIDING] = {"sliding", "", SUP_PARAM_CHOICE, 0, 2, 1, sup_sliding_choices, false, \
                                "Flesh slides over the joints; off: it sticks to them, and joints turn by half of the " \
                                "bend; whole: they turn with the bone after them, for comparison."}, \
    [SUP_PROJECTIVE_ITERATIONS] = {"iterations", "", SUP_PARAM_INT, 0, 100, 0, NULL, true, \
                                   "Most solver iterations a step; 0: as many as reach what ten plain ones do."}, \
    [SUP_PROJECTIVE_TOLERANCE] = {"tolerance", "", SUP_PARAM_FLOAT, 0, 0.01, 0, NULL, true, \
                                  "Part of its energy that a step may leave to save time, 1e-6 about a third of it; " \
                                  "0: none that positions can show."}, \
    [SUP_PROJECTIVE_DAMPING] = {"damping", "", SUP_PARAM_FLOAT, 0, 1, 0, NULL, true, \
                                "Part of the momentum that each step takes away, beside the solver's own."}, \
    [SUP_PROJECTIVE_GRAVITY] = {"gravity", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true, \
                                "Pull on the flesh; 0: the rest shape already hangs as it should."}, \
    [SUP_PROJECTIVE_UP] = {"up", "", SUP_PARAM_CHOICE, 0, 2, 0, sup_up_choices, true, "Axis that gravity pulls against."}, \
    [SUP_PROJECTIVE_WIND] = {"wind", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true, \
                             "Push of a steady wind on all flesh, as an acceleration."}, \
    [SUP_PROJECTIVE_WIND_HEADING] = {"wind_heading", "degrees", SUP_PARAM_FLOAT, -360, 360, 0, NULL, true, \
                                     "Where the wind blows to, around the up axis: 0 along the next axis after it."}, \
    [SUP_PROJECTIVE_WIND_RISE] = {"wind_rise", "degrees", SUP_PARAM_FLOAT, -90, 90, 0, NULL, true, \
                                  "How steeply the wind blows upwards."}, \
    [SUP_PROJECTIVE_CONTACT] = {"contact", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true, \
                                "Skin touches skin instead of passing through."}, \
    [SUP_PROJECTIVE_FRICTION] = {"friction", "", SUP_PARAM_FLOAT, 0, 2, 0.2, NULL, true, \
                                 "Friction between touching skin."}, \
    [SUP_PROJECTIVE_FAST] = {"fast", "", SUP_PARAM_BOOL, 0, 1, 0, NULL, true, \
                             "One rotation for each prism of flesh instead of three: a little faster and rougher."}, \
    [SUP_PROJECTIVE_UNTANGLE] = {"untangle", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true, \
                                "What still crosses in the shown skin is parted, with contact; off: it is left."}
/* clang-format on */

#endif
