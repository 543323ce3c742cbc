/* position.c - method table and parameters. */
#include "methods/position/position.h"

static const char *const up_choices[] = {"y", "z", "x", NULL};
static const char *const contact_choices[] = {"on", "off", "always", NULL};
static const char *const mode_choices[] = {"physical", "raw", NULL};

const sup_param sup_position_params[SUP_POSITION_PARAM_COUNT] = {
    [SUP_POSITION_TETS] = {"tets", "", SUP_PARAM_INT, 50, 500000, 10000, NULL, false,
                           "Number of simulated tetrahedra; the render mesh follows them."},
    [SUP_POSITION_STIFFNESS_MODE] = {"stiffness_mode", "", SUP_PARAM_CHOICE, 0, 1, 0, mode_choices, true,
                                     "physical: Pa, independent of timestep and iterations; raw: k of the thesis."},
    [SUP_POSITION_STIFFNESS] = {"stiffness", "Pa", SUP_PARAM_FLOAT, 10, 1e9, 20000, NULL, true,
                                "Young's modulus of the tissue; a lower value sags and swings more."},
    [SUP_POSITION_VOLUME] = {"volume", "Pa", SUP_PARAM_FLOAT, 0, 1e12, 1e7, NULL, true,
                             "Bulk modulus: resistance of the tissue to compression."},
    [SUP_POSITION_BIND] = {"bind", "Pa", SUP_PARAM_FLOAT, 0, 1e9, 5000, NULL, true,
                           "Stiffness of the distance between tissue and its nearest bone."},
    [SUP_POSITION_FOLLOW] = {"follow", "Hz", SUP_PARAM_FLOAT, 0, 1000, 5, NULL, true,
                             "Frequency of the springs to linear blending; 0: no springs."},
    [SUP_POSITION_K_STRETCH] = {"k_stretch", "", SUP_PARAM_FLOAT, 0, 1, 0.9, NULL, true,
                                "Raw stiffness of edges per iteration."},
    [SUP_POSITION_K_VOLUME] = {"k_volume", "", SUP_PARAM_FLOAT, 0, 1, 1, NULL, true,
                               "Raw stiffness of volumes per iteration."},
    [SUP_POSITION_K_BIND] = {"k_bind", "", SUP_PARAM_FLOAT, 0, 1, 0.5, NULL, true,
                             "Raw stiffness of the distance to the bone per iteration."},
    [SUP_POSITION_ITERATIONS] = {"iterations", "", SUP_PARAM_INT, 1, 200, 12, NULL, true,
                                 "Solver iterations per step."},
    [SUP_POSITION_SUBSTEPS] = {"substeps", "", SUP_PARAM_INT, 1, 10, 1, NULL, true,
                               "Steps per 10 ms; each runs all iterations."},
    [SUP_POSITION_MOMENTUM] = {"momentum", "", SUP_PARAM_FLOAT, 0, 1, 0, NULL, true,
                               "Momentum of tissue that is not soft: 0 moves without lag, 1 jiggles as in soft "
                               "regions."},
    [SUP_POSITION_DAMPING] = {"damping", "1/s", SUP_PARAM_FLOAT, 0, 1000, 3, NULL, true,
                              "Damping of secondary motion, in addition to the numerical damping."},
    [SUP_POSITION_DENSITY] = {"density", "kg/m^3", SUP_PARAM_FLOAT, 1, 100000, 1000, NULL, true,
                              "Density of the tissue; a higher value swings longer and wider."},
    [SUP_POSITION_GRAVITY] = {"gravity", "m/s^2", SUP_PARAM_FLOAT, 0, 100, 0, NULL, true,
                              "Gravity; 0: the rest shape already includes its effect."},
    [SUP_POSITION_UP] = {"up", "", SUP_PARAM_CHOICE, 0, 2, 0, up_choices, true,
                         "Axis that points up, against gravity."},
    [SUP_POSITION_CORE] = {"core", "", SUP_PARAM_FLOAT, 0, 1, 0.3, NULL, false,
                           "Tissue nearer to its bone than this fraction of the mean distance moves rigidly."},
    [SUP_POSITION_SOFT] = {"soft", "", SUP_PARAM_FLOAT, 0, 1, 0, NULL, true,
                           "Softness of the soft region: 0 follows linear blending, 1 jiggles most."},
    [SUP_POSITION_SOFT_JOINT] = {"soft_joint", "", SUP_PARAM_INT, 0, 100000, 0, NULL, true,
                                 "Index of the joint at the centre of the soft region."},
    [SUP_POSITION_SOFT_RADIUS] = {"soft_radius", "", SUP_PARAM_FLOAT, 0, 10, 0.1, NULL, true,
                                  "Radius of the soft region, in sizes of the character."},
    [SUP_POSITION_SOFT_STIFFNESS] = {"soft_stiffness", "", SUP_PARAM_FLOAT, 0.001, 100, 0.3, NULL, true,
                                     "Factor of the stiffness in the soft region."},
    [SUP_POSITION_CONTACT] = {"contact", "", SUP_PARAM_CHOICE, 0, 2, 0, contact_choices, true,
                              "Self-contact: on: detected where bones can collide; always: everywhere in each step."},
    [SUP_POSITION_PLANES] = {"planes", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true,
                             "Keep the tissue of two bones on its own side of their joint; needs contact."},
    [SUP_POSITION_FRICTION] = {"friction", "", SUP_PARAM_FLOAT, 0, 10, 0.1, NULL, true,
                               "Coulomb friction coefficient of self-contact; colliders have their own."},
};

const sup_map sup_position_maps[SUP_POSITION_MAP_COUNT] = {
    [SUP_POSITION_MAP_SOFT] = {"soft", "", 0, 1, 0, true, "Softness: 0 follows linear blending, 1 jiggles most."},
    [SUP_POSITION_MAP_STIFFNESS] = {"stiffness", "", 0.001f, 1000, 1, true, "Factor of the stiffness of the tissue."},
};

static const sup_method_inspection inspection = {.inner = sup_position_inner};

const sup_method sup_method_position = {
    .name = "position",
    .summary =
        "Position based skinning: soft tissue guided by linear blending; volume, self-contact and jiggle, tuned live.",
    .version = 5,
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
