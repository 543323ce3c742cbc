/* implicit.c - the method's table and its parameters. */
#include "methods/implicit/implicit.h"

static const char *const solver_choices[] = {"factor", "jacobi", NULL};
static const char *const rotation_choices[] = {"joints", "shape", NULL};

const sup_param sup_implicit_params[SUP_IMPLICIT_PARAM_COUNT] = {
    [SUP_IMPLICIT_VERTICES] = {"vertices", "", SUP_PARAM_INT, 100, 500000, 20000, NULL, false,
                               "Maximum number of tracked vertices; a much denser skin is decimated and upsampled."},
    [SUP_IMPLICIT_GRID] = {"grid", "", SUP_PARAM_FLOAT, 3, 32, 8, NULL, false,
                           "Grid nodes of a bone's field per radius of its limb; more is finer and uses more memory."},
    [SUP_IMPLICIT_TRACKING] =
        {"tracking", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true,
         "The skin continues from the previous frame; off: projected from dual quaternions each frame."},
    [SUP_IMPLICIT_SOLVER] = {"solver", "", SUP_PARAM_CHOICE, 0, 1, 0, solver_choices, true,
                             "Relaxation solver: a factorised system, or the paper's Jacobi iterations."},
    [SUP_IMPLICIT_ITERATIONS] =
        {"iterations", "", SUP_PARAM_INT, 0, 10000, 0, NULL, true,
         "Maximum relaxation iterations per sub-frame; 0: by joint motion, up to 16, or 200 with jacobi."},
    [SUP_IMPLICIT_TOLERANCE] =
        {"tolerance", "", SUP_PARAM_FLOAT, 0, 1, 0.001, NULL, true,
         "Relaxation ends when the skin moves less than this fraction of an edge per iteration."},
    [SUP_IMPLICIT_SUBSTEP] = {"substep", "", SUP_PARAM_FLOAT, 0.01, 100, 1, NULL, true,
                              "Maximum rotation per sub-frame, times the bend of the joint; less is safer and slower."},
    [SUP_IMPLICIT_SMOOTH] = {"smooth", "", SUP_PARAM_FLOAT, 0, 1, 0.5, NULL, true,
                             "Smoothing of creases at the borders of contacts."},
    [SUP_IMPLICIT_ELASTIC] = {"elastic", "", SUP_PARAM_FLOAT, 0, 1, 1, NULL, true,
                              "Elastic smoothing of skin that is not in contact; 0: it stays on the iso-surface."},
    [SUP_IMPLICIT_ROTATIONS] =
        {"rotations", "", SUP_PARAM_CHOICE, 0, 1, 0, rotation_choices, true,
         "Rotations of rest edges: from the joints, or from the skin shape, which drifts (figure 7)."},
    [SUP_IMPLICIT_LOSS] =
        {"loss", "", SUP_PARAM_FLOAT, 0, 1, 0.02, NULL, true,
         "Largest loss of volume against dual quaternions; more of it is taken back at the cost of contacts."},
};

const sup_map sup_implicit_maps[SUP_IMPLICIT_MAP_COUNT] = {
    [SUP_IMPLICIT_MAP_NO_RELAX] = {"no_relax", "", 0.0f, 1.0f, 0.0f, false,
                                   "1: skin without relaxation that stays with its bone, such as armour or scales."},
};

static const sup_method_inspection inspection = {.field = sup_implicit_query_field};

const sup_method sup_method_implicit = {
    .name = "implicit",
    .summary =
        "Implicit skinning: the skin tracks iso-surfaces of bone fields; folds, bulges, slides and self-contact.",
    .version = 6,
    .flags = SUP_METHOD_DYNAMIC | SUP_METHOD_USES_WEIGHTS | SUP_METHOD_COLLIDES | SUP_METHOD_SETUP,
    .params = sup_implicit_params,
    .param_count = SUP_IMPLICIT_PARAM_COUNT,
    .maps = sup_implicit_maps,
    .map_count = SUP_IMPLICIT_MAP_COUNT,
    .bind = sup_implicit_bind,
    .check = sup_implicit_check,
    .layout = sup_implicit_layout,
    .reset = sup_implicit_reset,
    .step = sup_implicit_step,
    .restore = sup_implicit_restore,
    .inspection = &inspection,
};
