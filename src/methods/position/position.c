/* position.c - the method's table and its parameters. */
#include "methods/position/position.h"

static const char *const up_choices[] = {"y", "z", "x", NULL};
static const char *const contact_choices[] = {"on", "off", "always", NULL};
static const char *const mode_choices[] = {"physical", "raw", NULL};

const sup_param sup_position_params[SUP_POSITION_PARAM_COUNT] = {
    [SUP_POSITION_TETS] = {"tets", "", SUP_PARAM_INT, 50, 500000, 10000, NULL, false,
                           "Tetrahedra of flesh that are simulated; the shown skin rides on them."},
    [SUP_POSITION_STIFFNESS_MODE] = {"stiffness_mode", "", SUP_PARAM_CHOICE, 0, 1, 0, mode_choices, true,
                                     "physical: Pa, the same look for any step and iterations; raw: the thesis' k."},
    [SUP_POSITION_STIFFNESS] = {"stiffness", "Pa", SUP_PARAM_FLOAT, 10, 1e9, 20000, NULL, true,
                                "Young's modulus of the flesh; less hangs and swings more."},
    [SUP_POSITION_VOLUME] = {"volume", "Pa", SUP_PARAM_FLOAT, 0, 1e12, 1e7, NULL, true,
                             "Bulk modulus: how hard the flesh is to squeeze."},
    [SUP_POSITION_BIND] = {"bind", "Pa", SUP_PARAM_FLOAT, 0, 1e9, 5000, NULL, true,
                           "How firmly flesh keeps its distance from the nearest bone."},
    [SUP_POSITION_FOLLOW] = {"follow", "Hz", SUP_PARAM_FLOAT, 0, 1000, 5, NULL, true,
                             "How fast flesh swings back to linear blending; 0: it hangs on its neighbours alone."},
    [SUP_POSITION_K_STRETCH] = {"k_stretch", "", SUP_PARAM_FLOAT, 0, 1, 0.9, NULL, true,
                                "Raw stiffness of edges in each iteration."},
    [SUP_POSITION_K_VOLUME] = {"k_volume", "", SUP_PARAM_FLOAT, 0, 1, 1, NULL, true,
                               "Raw stiffness of volumes in each iteration."},
    [SUP_POSITION_K_BIND] = {"k_bind", "", SUP_PARAM_FLOAT, 0, 1, 0.5, NULL, true,
                             "Raw stiffness of the distance to the bone in each iteration."},
    [SUP_POSITION_ITERATIONS] = {"iterations", "", SUP_PARAM_INT, 1, 200, 12, NULL, true, "Solver iterations a step."},
    [SUP_POSITION_SUBSTEPS] = {"substeps", "", SUP_PARAM_INT, 1, 10, 1, NULL, true,
                               "Steps that 10 ms are cut into; each takes all iterations."},
    [SUP_POSITION_DAMPING] = {"damping", "1/s", SUP_PARAM_FLOAT, 0, 1000, 3, NULL, true,
                              "How fast swinging dies out, beside the solver's own damping."},
    [SUP_POSITION_DENSITY] = {"density", "kg/m^3", SUP_PARAM_FLOAT, 1, 100000, 1000, NULL, true,
                              "Mass of the flesh; more swings longer and wider."},
    [SUP_POSITION_GRAVITY] = {"gravity", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true,
                              "Pull on the flesh; 0: the rest shape already hangs as it should."},
    [SUP_POSITION_UP] = {"up", "", SUP_PARAM_CHOICE, 0, 2, 0, up_choices, true, "Axis that gravity pulls against."},
    [SUP_POSITION_CORE] = {"core", "", SUP_PARAM_FLOAT, 0, 1, 0.3, NULL, false,
                           "Flesh nearer to its bone than this part of the mean moves with the bone exactly."},
    [SUP_POSITION_SOFT] = {"soft", "", SUP_PARAM_FLOAT, 0, 1, 0, NULL, true,
                           "How far the soft region leaves linear blending: 1 jiggles most."},
    [SUP_POSITION_SOFT_JOINT] = {"soft_joint", "", SUP_PARAM_INT, 0, 100000, 0, NULL, true,
                                 "Joint, by its number in the skeleton, that the soft region lies around."},
    [SUP_POSITION_SOFT_RADIUS] = {"soft_radius", "", SUP_PARAM_FLOAT, 0, 10, 0.1, NULL, true,
                                  "Reach of the soft region around its joint, in sizes of the character."},
    [SUP_POSITION_SOFT_STIFFNESS] = {"soft_stiffness", "", SUP_PARAM_FLOAT, 0.001, 100, 0.3, NULL, true,
                                     "Stiffness in the soft region, times that of the rest."},
    [SUP_POSITION_CONTACT] =
        {"contact", "", SUP_PARAM_CHOICE, 0, 2, 0, contact_choices, true,
         "Flesh against flesh: looked for where bones can meet (on), nowhere, or always everywhere."},
    [SUP_POSITION_PLANES] = {"planes", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true,
                             "Keep the flesh of two bones on its own side of the joint between them, with contact."},
    [SUP_POSITION_FRICTION] = {"friction", "", SUP_PARAM_FLOAT, 0, 10, 0.1, NULL, true,
                               "Coulomb's coefficient between flesh and flesh; colliders have their own."},
};

const sup_map sup_position_maps[SUP_POSITION_MAP_COUNT] = {
    [SUP_POSITION_MAP_SOFT] = {"soft", "", 0, 1, 0, true, "How far flesh leaves linear blending: 1 jiggles most."},
    [SUP_POSITION_MAP_STIFFNESS] = {"stiffness", "", 0.001f, 1000, 1, true, "Times the flesh's stiffness."},
};

static const sup_method_inspection inspection = {.inner = sup_position_inner};

const sup_method sup_method_position = {
    .name = "position",
    .summary =
        "Position based skinning: soft flesh over linear blending; keeps volume, meets itself and jiggles, tuned live.",
    .version = 3,
    .flags = SUP_METHOD_DYNAMIC | SUP_METHOD_USES_WEIGHTS | SUP_METHOD_COLLIDES,
    .params = sup_position_params,
    .param_count = SUP_POSITION_PARAM_COUNT,
    .maps = sup_position_maps,
    .map_count = SUP_POSITION_MAP_COUNT,
    .bind = sup_position_bind,
    .check = sup_position_check,
    .layout = sup_position_layout,
    .reset = sup_position_reset,
    .step = sup_position_step,
    .paint = sup_position_paint,
    .restore = sup_position_restore,
    .inspection = &inspection,
};
