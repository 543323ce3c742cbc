/* tubes.c - the two simplest characters: a tube with two moving bones, and a T with three branches. */
#include "scenes/scene_spec.h"

/* --- cylinder: 1 m high, radius 0.1 m --- */
static const sup_section tube_sections[] = {
    {0.03, 0, 0, 0.1, 0.1, 0.1, 0.1, 0},
    {0.97, 0, 0, 0.1, 0.1, 0.1, 0.1, 0},
};
static const sup_region tube_regions[] = {{"tube", -1, 0.0, false, 0.1}};
static const sup_shape tube_shapes[] = {SUP_LOFT(0, 0.0, 0.01, 0, 0, 0, 0.03, 0, 1, 0, 0.03, tube_sections)};
static const sup_joint_spec tube_joints[] = {
    /* name, parent, at, toward, flex about, swing about, flex, swing, twist, region, shift, blend, plane */
    {"root",
     NULL,
     {0, 0.05, 0},
     {0, 0.3, 0},
     {1, 0, 0},
     {0, 0, 1},
     {-60, 60},
     {-60, 60},
     {-180, 180},
     0,
     0,
     0.1,
     {0, 0, 0}},
    {"lower",
     "root",
     {0, 0.35, 0},
     {0, 0.65, 0},
     {1, 0, 0},
     {0, 0, 1},
     {-90, 90},
     {-90, 90},
     {-180, 180},
     0,
     0,
     0.12,
     {0, 0, 0}},
    {"upper",
     "lower",
     {0, 0.65, 0},
     {0, 0.95, 0},
     {1, 0, 0},
     {0, 0, 1},
     {-90, 90},
     {-90, 90},
     {-180, 180},
     0,
     0,
     0.12,
     {0, 0, 0}},
};
static const sup_motion_key tube_bend[] = {
    {"lower", 0.0, 0, 0, 0}, {"lower", 1.2, 0, -60, 0}, {"lower", 1.8, 0, -60, 0}, {"lower", 3.0, 0, 0, 0},
    {"upper", 0.0, 0, 0, 0}, {"upper", 1.2, 0, -60, 0}, {"upper", 1.8, 0, -60, 0}, {"upper", 3.0, 0, 0, 0},
};
static const sup_motion_key tube_twist[] = {
    {"lower", 0.0, 0, 0, 0}, {"lower", 1.2, 0, 0, 90}, {"lower", 1.8, 0, 0, 90}, {"lower", 3.0, 0, 0, 0},
    {"upper", 0.0, 0, 0, 0}, {"upper", 1.2, 0, 0, 90}, {"upper", 1.8, 0, 0, 90}, {"upper", 3.0, 0, 0, 0},
};
static const sup_motion_key tube_shake[] = {
    {"lower", 0.0, 0, 0, 0},     {"lower", 0.1, 10, 25, 0}, {"lower", 0.25, -10, -30, 0}, {"lower", 0.4, 12, 30, 0},
    {"lower", 0.55, -8, -28, 0}, {"lower", 0.7, 6, 20, 0},  {"lower", 0.8, 0, 0, 0},      {"lower", 2.0, 0, 0, 0},
    {"upper", 0.0, 0, 0, 0},     {"upper", 0.12, 5, 30, 0}, {"upper", 0.27, -5, -36, 0},  {"upper", 0.42, 8, 36, 0},
    {"upper", 0.57, -6, -32, 0}, {"upper", 0.72, 4, 22, 0}, {"upper", 0.82, 0, 0, 0},     {"upper", 2.0, 0, 0, 0},
};
static const sup_motion tube_motions[] = {
    SUP_MOTION("bend", 3.0, 30.0, true, false, SUP_FEET_FREE, tube_bend),
    SUP_MOTION("twist", 3.0, 30.0, true, false, SUP_FEET_FREE, tube_twist),
    SUP_MOTION("shake", 2.0, 60.0, true, false, SUP_FEET_FREE, tube_shake),
};

void sup_scene_spec_cylinder(sup_scene_spec *spec)
{
    spec->cell = 0.02;
    spec->lower = sup_v3(-0.15, -0.05, -0.15);
    spec->upper = sup_v3(0.15, 1.05, 0.15);
    sup_scene_spec_add_regions(spec, tube_regions, SUP_COUNT(tube_regions));
    sup_scene_spec_add_shapes(spec, tube_shapes, SUP_COUNT(tube_shapes));
    sup_scene_spec_add_joints(spec, tube_joints, SUP_COUNT(tube_joints));
    sup_scene_spec_add_motions(spec, tube_motions, SUP_COUNT(tube_motions));
}

/* --- tbone: a trunk that ends in two arms --- */
enum { TRUNK, BRANCH };
static const sup_region t_regions[] = {{"trunk", -1, 0.0, false, 0.08}, {"branch", TRUNK, 0.08, true, 0.08}};
static const sup_section t_trunk[] = {
    {0.04, 0, 0, 0.11, 0.11, 0.11, 0.11, 0},
    {0.50, 0, 0, 0.085, 0.085, 0.085, 0.085, 0},
    {0.70, 0, 0, 0.085, 0.085, 0.085, 0.085, 0},
};
static const sup_shape t_shapes[] = {
    SUP_LOFT(TRUNK, 0.0, 0.012, 0, 0, 0, 0.04, 0, 1, 0, 0.085, t_trunk),
    SUP_CONE(BRANCH, 0.0, 0.012, 0.02, 0.70, 0, 0.075, 0.45, 0.70, 0, 0.065),
};
static const sup_joint_spec t_joints[] = {
    {"root",
     NULL,
     {0, 0.05, 0},
     {0, 0.35, 0},
     {1, 0, 0},
     {0, 0, -1},
     {-45, 45},
     {-45, 45},
     {-90, 90},
     TRUNK,
     0,
     0.1,
     {0, 0, 0}},
    {"middle",
     "root",
     {0, 0.36, 0},
     {0, 0.70, 0},
     {1, 0, 0},
     {0, 0, -1},
     {-60, 60},
     {-60, 60},
     {-120, 120},
     TRUNK,
     0,
     0.11,
     {0, 0, 0}},
    {"*branch_1",
     "middle",
     {0.06, 0.70, 0},
     {0.27, 0.70, 0},
     {0, -1, 0},
     {0, 0, 1},
     {-90, 90},
     {-90, 90},
     {-120, 120},
     BRANCH,
     0,
     0.08,
     {0, 0, 0}},
    {"*branch_2",
     "*branch_1",
     {0.27, 0.70, 0},
     {0.48, 0.70, 0},
     {0, -1, 0},
     {0, 0, 1},
     {-100, 100},
     {-100, 100},
     {-120, 120},
     BRANCH,
     0,
     0.08,
     {0, 0, 0}},
};
static const sup_motion_key t_bend[] = {
    {"middle", 0.0, 0, 0, 0},      {"middle", 2.0, 15, 0, 0},    {"middle", 4.0, 0, 0, 0},
    {"*branch_1", 0.0, 0, 0, 0},   {"*branch_1", 1.0, 0, 70, 0}, {"*branch_1", 2.0, 70, 0, 0},
    {"*branch_1", 3.0, 0, -75, 0}, {"*branch_1", 4.0, 0, 0, 0},  {"*branch_2", 0.0, 0, 0, 0},
    {"*branch_2", 1.0, 0, 80, 0},  {"*branch_2", 2.0, 90, 0, 0}, {"*branch_2", 3.0, 0, -40, 0},
    {"*branch_2", 4.0, 0, 0, 0},
};
static const sup_motion_key t_twist[] = {
    {"middle", 0.0, 0, 0, 0},      {"middle", 1.0, 0, 0, 80},      {"middle", 3.0, 0, 0, -80},
    {"middle", 4.0, 0, 0, 0},      {"*branch_1", 0.0, 0, 0, 0},    {"*branch_1", 1.0, 0, 0, 60},
    {"*branch_1", 3.0, 0, 0, -60}, {"*branch_1", 4.0, 0, 0, 0},    {"*branch_2", 0.0, 0, 0, 0},
    {"*branch_2", 1.0, 0, 0, 100}, {"*branch_2", 3.0, 0, 0, -100}, {"*branch_2", 4.0, 0, 0, 0},
};
static const sup_motion_key t_shake[] = {
    {"middle", 0.0, 0, 0, 0},       {"middle", 0.1, 8, 20, 20},     {"middle", 0.25, -8, -22, -25},
    {"middle", 0.4, 8, 22, 25},     {"middle", 0.55, -6, -18, -20}, {"middle", 0.7, 0, 0, 0},
    {"middle", 2.0, 0, 0, 0},       {"*branch_1", 0.0, 0, 0, 0},    {"*branch_1", 0.12, 0, 25, 0},
    {"*branch_1", 0.27, 0, -28, 0}, {"*branch_1", 0.42, 0, 28, 0},  {"*branch_1", 0.57, 0, -20, 0},
    {"*branch_1", 0.72, 0, 0, 0},   {"*branch_1", 2.0, 0, 0, 0},
};
static const sup_motion t_motions[] = {
    SUP_MOTION("bend", 4.0, 30.0, true, false, SUP_FEET_FREE, t_bend),
    SUP_MOTION("twist", 4.0, 30.0, true, false, SUP_FEET_FREE, t_twist),
    SUP_MOTION("shake", 2.0, 60.0, true, false, SUP_FEET_FREE, t_shake),
};

void sup_scene_spec_tbone(sup_scene_spec *spec)
{
    spec->mirrored = true;
    spec->cell = 0.02;
    spec->lower = sup_v3(-0.06, -0.05, -0.17);
    spec->upper = sup_v3(0.6, 0.9, 0.17);
    sup_scene_spec_add_regions(spec, t_regions, SUP_COUNT(t_regions));
    sup_scene_spec_add_shapes(spec, t_shapes, SUP_COUNT(t_shapes));
    sup_scene_spec_add_joints(spec, t_joints, SUP_COUNT(t_joints));
    sup_scene_spec_add_motions(spec, t_motions, SUP_COUNT(t_motions));
}
