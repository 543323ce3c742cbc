/* projective_params.h (internal) - the parameter table, shared by this method and methods derived from it. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_PARAMS_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_PARAMS_H

#include "methods/projective/projective.h"

static const char *const sup_sliding_choices[] = {"off", "on", "whole", NULL};
static const char *const sup_up_choices[] = {"y", "z", "x", NULL};

/* clang-format off */
#define SUP_PROJECTIVE_PARAM_TABLE \
    [SUP_PROJECTIVE_VERTICES] = {"vertices", "", SUP_PARAM_INT, 100, 200000, 5000, NULL, false, \
                                 "Vertices of the simulated skin; the render mesh is interpolated from them."}, \
    [SUP_PROJECTIVE_STIFFNESS] = {"stiffness", "", SUP_PARAM_FLOAT, 0.02, 50, 1, NULL, false, \
                                  "Stiffness of the tissue; a lower value sags and swings more."}, \
    [SUP_PROJECTIVE_VOLUME] = {"volume", "", SUP_PARAM_FLOAT, 0, 20, 3, NULL, false, \
                          "Strength of volume preservation, which makes tissue bulge where limbs bend; 0: none."}, \
    [SUP_PROJECTIVE_MASS] = {"mass", "", SUP_PARAM_FLOAT, 0.01, 100, 1, NULL, false, \
                             "Mass of the tissue; a higher value swings longer."}, \
    [SUP_PROJECTIVE_RADIUS] = {"radius", "", SUP_PARAM_FLOAT, 0.1, 1.3, 1, NULL, false, \
                               "Scale of the bone radii; thicker bones leave less tissue."}, \
    [SUP_PROJECTIVE_DYNAMIC] = {"dynamic", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, false, \
                                "Tissue has inertia; off: it follows the pose without delay. One shape per pose only " \
                                "with contact off: contacts depend on the poses before."}, \
    [SUP_PROJECTIVE_SLIDING] = {"sliding", "", SUP_PARAM_CHOICE, 0, 2, 1, sup_sliding_choices, false, \
                          "Tissue slides over joints (on), or sticks to joint spheres that rotate by half of the " \
                                "bend (off) or with the child bone (whole, for comparison)."}, \
    [SUP_PROJECTIVE_ITERATIONS] = {"iterations", "", SUP_PARAM_INT, 0, 100, 0, NULL, true, \
                         "Maximum solver iterations per step; 0: as many as match ten unaccelerated iterations."}, \
    [SUP_PROJECTIVE_TOLERANCE] = {"tolerance", "", SUP_PARAM_FLOAT, 0, 0.01, 0, NULL, true, \
                                  "Relative energy decrease below which a step stops iterating; 1e-6 saves about a " \
                                  "third of the time, 0 converges to the precision of positions."}, \
    [SUP_PROJECTIVE_DAMPING] = {"damping", "", SUP_PARAM_FLOAT, 0, 1, 0, NULL, true, \
                                "Fraction of the momentum removed in each step, in addition to numerical damping."}, \
    [SUP_PROJECTIVE_GRAVITY] = {"gravity", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true, \
                                "Gravity on the tissue; 0: the rest shape already includes it."}, \
    [SUP_PROJECTIVE_UP] = {"up", "", SUP_PARAM_CHOICE, 0, 2, 0, sup_up_choices, true, \
                           "Up axis, opposite to gravity."}, \
    [SUP_PROJECTIVE_WIND] = {"wind", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true, \
                             "Constant wind on all tissue, as an acceleration."}, \
    [SUP_PROJECTIVE_WIND_HEADING] = {"wind_heading", "degrees", SUP_PARAM_FLOAT, -360, 360, 0, NULL, true, \
                               "Direction of the wind around the up axis; 0: along the axis after it (x y z x)."}, \
    [SUP_PROJECTIVE_WIND_RISE] = {"wind_rise", "degrees", SUP_PARAM_FLOAT, -90, 90, 0, NULL, true, \
                                  "Angle of the wind above the horizontal."}, \
    [SUP_PROJECTIVE_CONTACT] = {"contact", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true, \
                                "Self-collision of the skin."}, \
    [SUP_PROJECTIVE_FRICTION] = {"friction", "", SUP_PARAM_FLOAT, 0, 2, 0.2, NULL, true, \
                                 "Coulomb friction coefficient of self-collision."}, \
    [SUP_PROJECTIVE_FAST] = {"fast", "", SUP_PARAM_BOOL, 0, 1, 0, NULL, true, \
                        "One rotation per prism instead of one per tetrahedron: slightly faster, less accurate."}, \
    [SUP_PROJECTIVE_UNTANGLE] = {"untangle", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true, \
                                "Remove remaining self-intersections of the render mesh; needs contact."}, \
    [SUP_PROJECTIVE_LIMITS] = {"limits", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true, \
                               "Blend skin towards linear blending where edges or triangles are more distorted."}
/* clang-format on */

#endif
