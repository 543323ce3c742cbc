/* implicit.c - the method's table and its parameters. */
#include "methods/implicit/implicit.h"

static const char *const solver_choices[] = {"factor", "jacobi", NULL};
static const char *const rotation_choices[] = {"joints", "shape", NULL};

const sup_param sup_implicit_params[SUP_IMPLICIT_PARAM_COUNT] = {
    [SUP_IMPLICIT_VERTICES] = {"vertices", "", SUP_PARAM_INT, 100, 500000, 20000, NULL, false,
                               "Skin vertices that are tracked; a much denser skin rides on a decimated one."},
    [SUP_IMPLICIT_GRID] = {"grid", "", SUP_PARAM_FLOAT, 3, 32, 8, NULL, false,
                           "Nodes of a bone's field that the radius of its limb spans; more is finer and larger."},
    [SUP_IMPLICIT_TRACKING] = {"tracking", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true,
                               "The skin goes on from the frame before; off: from dual quaternions, in every frame."},
    [SUP_IMPLICIT_SOLVER] = {"solver", "", SUP_PARAM_CHOICE, 0, 1, 0, solver_choices, true,
                             "How skin slides to rest: by a factorised system, or by the paper's Jacobi rounds."},
    [SUP_IMPLICIT_ROUNDS] =
        {"rounds", "", SUP_PARAM_INT, 0, 10000, 0, NULL, true,
         "Most rounds of sliding in a sub-frame; 0: as joints turn, 24 at most, or 200 with jacobi."},
    [SUP_IMPLICIT_TOLERANCE] = {"tolerance", "", SUP_PARAM_FLOAT, 0, 1, 0.001, NULL, true,
                                "Rounds end when the skin slides less than this part of an edge."},
    [SUP_IMPLICIT_SUBSTEP] = {"substep", "", SUP_PARAM_FLOAT, 0.01, 100, 1, NULL, true,
                              "Turn of a joint in a sub-frame, times a third of its bend; less is safer and slower."},
    [SUP_IMPLICIT_SMOOTH] = {"smooth", "", SUP_PARAM_FLOAT, 0, 1, 0.5, NULL, true,
                             "How much creases at the border of contacts are smoothed."},
    [SUP_IMPLICIT_ELASTIC] =
        {"elastic", "", SUP_PARAM_FLOAT, 0, 1, 1, NULL, true,
         "How much skin that touches nothing gives way to its own tension; 0: it lies on the field."},
    [SUP_IMPLICIT_ROTATIONS] = {"rotations", "", SUP_PARAM_CHOICE, 0, 1, 0, rotation_choices, true,
                                "What turns rest edges: the joints, or the skin itself; that slides away (figure 7)."},
};

const sup_map sup_implicit_maps[SUP_IMPLICIT_MAP_COUNT] = {
    [SUP_IMPLICIT_MAP_NO_RELAX] = {"no_relax", "", 0.0f, 1.0f, 0.0f, false,
                                   "1: skin that does not slide and stays with its bone, such as armour or scales."},
};

static const sup_method_inspection inspection = {.field = sup_implicit_look};

const sup_method sup_method_implicit = {
    .name = "implicit",
    .summary =
        "Implicit skinning: skin tracks iso-surfaces that bones carry; folds, bulges and slides, touches itself.",
    .version = 3,
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
