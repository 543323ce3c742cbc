/* projective.c - the method table, the parameters, and external forces. */
#include "methods/projective/projective.h"

#include "methods/projective/projective_params.h"
#include "methods/projective/projective_view.h"

#include <math.h>

/* Height of a character whose file does not specify its unit, for gravity. */
static const float ASSUMED_METRES = 2.0f;

const sup_param sup_projective_params[SUP_PROJECTIVE_PARAM_COUNT] = {SUP_PROJECTIVE_PARAM_TABLE};

const sup_map sup_projective_maps[SUP_PROJECTIVE_MAP_COUNT] = {
    [SUP_PROJECTIVE_MAP_STIFFNESS] = {"stiffness", "", 0.05f, 20.0f, 1.0f, false,
                                      "Stiffness of the tissue, times the parameter."},
    [SUP_PROJECTIVE_MAP_RIGID] = {"rigid", "", 0.0f, 1.0f, 0.0f, true,
                                  "Weight of linear blending; 1: rigid skin, such as a face or armour."},
    [SUP_PROJECTIVE_MAP_FREE] = {"free", "", 0.0f, 1.0f, 0.0f, false,
                                 "From 0.5 on tissue is not attached to the bones: trunk, tail or belly swing freely."},
    [SUP_PROJECTIVE_MAP_BONE_RADIUS] = {"bone_radius", "", 0.1f, 1.5f, 1.0f, false,
                                        "Scale of the bone radii, times the parameter."},
    [SUP_PROJECTIVE_MAP_JOINT_RADIUS] = {"joint_radius", "", 0.1f, 1.5f, 1.0f, false,
                                         "Scale of the joint radii; a smaller joint bends to a sharper tip."},
};

void sup_projective_forces(const double *values, float size, float unit_metres, float force[3])
{
    static const int axes[] = {1, 2, 0}; /* the parameter's choices: y, z, x */
    static const double degree = 0.017453292519943295;
    double metre = unit_metres > 0.0f ? 1.0 / (double)unit_metres : (double)size / (double)ASSUMED_METRES;
    double second = SUP_PROJECTIVE_TIME_STEP / SUP_PROJECTIVE_SECONDS;
    double scale = metre / (second * second), wind = values[SUP_PROJECTIVE_WIND];
    double heading = degree * values[SUP_PROJECTIVE_WIND_HEADING], rise = degree * values[SUP_PROJECTIVE_WIND_RISE];
    int up = axes[(int)values[SUP_PROJECTIVE_UP]];
    force[up] = (float)(scale * (wind * sin(rise) - values[SUP_PROJECTIVE_GRAVITY]));
    force[(up + 1) % 3] = (float)(scale * wind * cos(rise) * cos(heading));
    force[(up + 2) % 3] = (float)(scale * wind * cos(rise) * sin(heading));
}

static const sup_method_inspection inspection = {
    .energy = sup_projective_energy,
    .inner = sup_projective_inner,
#ifndef SUPPLE_SMALL
    .compare = sup_projective_compare,
#endif
};

const sup_method sup_method_projective = {
    .name = "projective",
    .summary = "Projective skinning: simulated tissue on volumetric bones; bulges, slides, swings and self-collides.",
    .version = 10,
    .flags = SUP_METHOD_DYNAMIC | SUP_METHOD_COLLIDES,
    .params = sup_projective_params,
    .param_count = SUP_PROJECTIVE_PARAM_COUNT,
    .maps = sup_projective_maps,
    .map_count = SUP_PROJECTIVE_MAP_COUNT,
    .bind = sup_projective_bind,
    .check = sup_projective_check,
    .layout = sup_projective_layout,
    .reset = sup_projective_reset,
    .step = sup_projective_step,
    .paint = sup_projective_paint,
    .restore = sup_projective_restore,
    .device = SUP_METHOD_DEVICE_PROJECTIVE,
    .inspection = &inspection,
};
