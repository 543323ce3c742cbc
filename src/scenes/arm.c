/* arm.c - an arm from shoulder to wrist; used by the human, and with a hand as a separate character.
 *
 * Left arm in the frame of its hand: x towards the thumb (biceps side), y from shoulder to hand, z outwards. */
#include "scenes/scene_spec.h"

const double sup_arm_length = 0.535;

static const sup_section arm_sections[] = {
    /* along, x, z, triceps side, biceps side, outer, inner, square */
    {-0.010, 0.000, 0.000, 0.046, 0.048, 0.044, 0.042, 0.00}, {0.040, 0.000, 0.004, 0.048, 0.050, 0.048, 0.044, 0.00},
    {0.085, 0.000, 0.004, 0.047, 0.049, 0.044, 0.042, 0.05},  {0.130, 0.000, 0.002, 0.046, 0.049, 0.039, 0.039, 0.10},
    {0.175, 0.001, 0.000, 0.043, 0.047, 0.036, 0.037, 0.10},  {0.220, 0.000, 0.000, 0.039, 0.040, 0.034, 0.035, 0.10},
    {0.260, -0.002, 0.000, 0.036, 0.034, 0.034, 0.035, 0.10}, {0.290, -0.003, 0.001, 0.036, 0.034, 0.036, 0.036, 0.10},
    {0.325, 0.000, 0.003, 0.033, 0.039, 0.038, 0.036, 0.05},  {0.365, 0.001, 0.003, 0.032, 0.038, 0.036, 0.034, 0.05},
    {0.410, 0.001, 0.001, 0.029, 0.033, 0.031, 0.030, 0.05},  {0.460, 0.000, 0.000, 0.026, 0.028, 0.025, 0.024, 0.10},
    {0.505, 0.000, 0.000, 0.026, 0.027, 0.020, 0.019, 0.15},  {0.540, 0.000, 0.000, 0.026, 0.026, 0.018, 0.018, 0.10},
};
static const sup_shape arm_shapes[] = {
    SUP_LOFT(0, 0.0, 0.0095, 0, 0, 0, 0.045, 0, 1, 0, 0.015, arm_sections),
    /* biceps, triceps, point of the elbow */
    SUP_SPHERE(0, 0.020, 0.0095, 0.022, 0.150, -0.004, 0.026, 0.062, 0.028, 0, 0, 0),
    SUP_SPHERE(0, 0.020, 0.0095, -0.022, 0.120, 0.006, 0.025, 0.070, 0.030, 0, 0, 0),
    SUP_SPHERE(0, 0.012, 0.0085, -0.028, 0.288, 0.002, 0.012, 0.017, 0.014, 0, 0, 0),
};

#define BEND_AXIS \
    {             \
        0, 0, -1  \
    } /* from along the arm towards the thumb */
#define RAISE_AXIS \
    {              \
        1, 0, 0    \
    } /* from along the arm outwards */
static const sup_joint_spec arm_joints[] = {
    {"*upper_arm",
     NULL,
     {0, 0, 0},
     {0, 0.29, 0},
     BEND_AXIS,
     RAISE_AXIS,
     {-60, 170},
     {-80, 120},
     {-90, 90},
     0,
     0.010,
     0.060,
     {0, 0, 0}},
    {"*lower_arm",
     "*upper_arm",
     {0, 0.29, 0},
     {0, 0.535, 0},
     BEND_AXIS,
     RAISE_AXIS,
     {0, 145},
     {-5, 5},
     {-90, 90},
     0,
     0.0,
     0.042,
     {0, 0, 0}},
    {"*hand",
     "*lower_arm",
     {0, 0.535, 0},
     {0, 0.620, 0},
     {-1, 0, 0},
     BEND_AXIS,
     {-75, 75},
     {-25, 30},
     {-60, 60},
     0,
     0.004,
     0.030,
     {0, 0, 0}},
};

void sup_scene_spec_add_arm(sup_scene_spec *spec, const sup_local_frame *frame, int32_t region, bool sided,
                            const char *parent)
{
    int32_t first = spec->joint_count;
    sup_scene_spec_add_shapes_in(spec, frame, region, arm_shapes, SUP_COUNT(arm_shapes));
    sup_scene_spec_add_joints_in(spec, frame, region, sided, arm_joints, SUP_COUNT(arm_joints));
    spec->joints[first].parent = parent;
    sup_local_frame wrist = *frame;
    wrist.origin = sup_local_frame_point(frame, sup_v3(0.0, sup_arm_length, 0.0));
    sup_scene_spec_add_hand(spec, &wrist, region, sided);
}

/* --- the arm as a character: upright on its shoulder, the elbow bends towards +Z --- */
static const sup_region lone_regions[] = {{"arm", -1, 0.0, false, 0.03}};
static const sup_joint_spec lone_joints[] = {
    {"root",
     NULL,
     {0, -0.03, 0},
     {0, 0.02, 0},
     BEND_AXIS,
     RAISE_AXIS,
     {-20, 20},
     {-20, 20},
     {-20, 20},
     0,
     0,
     0.03,
     {0, 0, 0}},
};
static const sup_motion_key arm_bend[] = {
    {"lower_arm", 0, 0, 0, 0},    {"lower_arm", 1.2, 135, 0, 0}, {"lower_arm", 1.8, 135, 0, 0},
    {"lower_arm", 3.0, 0, 0, 0},  {"upper_arm", 0, 0, 0, 0},     {"upper_arm", 1.2, -8, 0, 0},
    {"upper_arm", 1.8, -8, 0, 0}, {"upper_arm", 3.0, 0, 0, 0},   {"hand", 0, 0, 0, 0},
    {"hand", 1.2, 25, 0, 0},      {"hand", 1.8, 25, 0, 0},       {"hand", 3.0, 0, 0, 0},
    {"index_1", 0, 0, 0, 0},      {"index_1", 1.0, 70, 0, 0},    {"index_1", 2.0, 70, 0, 0},
    {"index_1", 3.0, 0, 0, 0},    {"index_2", 0, 0, 0, 0},       {"index_2", 1.0, 85, 0, 0},
    {"index_2", 2.0, 85, 0, 0},   {"index_2", 3.0, 0, 0, 0},     {"middle_1", 0, 0, 0, 0},
    {"middle_1", 1.0, 70, 0, 0},  {"middle_1", 2.0, 70, 0, 0},   {"middle_1", 3.0, 0, 0, 0},
    {"middle_2", 0, 0, 0, 0},     {"middle_2", 1.0, 85, 0, 0},   {"middle_2", 2.0, 85, 0, 0},
    {"middle_2", 3.0, 0, 0, 0},   {"ring_1", 0, 0, 0, 0},        {"ring_1", 1.0, 70, 0, 0},
    {"ring_1", 2.0, 70, 0, 0},    {"ring_1", 3.0, 0, 0, 0},      {"ring_2", 0, 0, 0, 0},
    {"ring_2", 1.0, 85, 0, 0},    {"ring_2", 2.0, 85, 0, 0},     {"ring_2", 3.0, 0, 0, 0},
    {"pinky_1", 0, 0, 0, 0},      {"pinky_1", 1.0, 70, 0, 0},    {"pinky_1", 2.0, 70, 0, 0},
    {"pinky_1", 3.0, 0, 0, 0},    {"pinky_2", 0, 0, 0, 0},       {"pinky_2", 1.0, 85, 0, 0},
    {"pinky_2", 2.0, 85, 0, 0},   {"pinky_2", 3.0, 0, 0, 0},     {"thumb_1", 0, 0, 0, 0},
    {"thumb_1", 1.0, 10, 35, 0},  {"thumb_1", 2.0, 10, 35, 0},   {"thumb_1", 3.0, 0, 0, 0},
    {"thumb_3", 0, 0, 0, 0},      {"thumb_3", 1.0, 40, 0, 0},    {"thumb_3", 2.0, 40, 0, 0},
    {"thumb_3", 3.0, 0, 0, 0},
};
static const sup_motion_key arm_twist[] = {
    {"lower_arm", 0, 0, 0, 0},      {"lower_arm", 0.8, 60, 0, 0}, {"lower_arm", 1.6, 60, 0, 80},
    {"lower_arm", 2.4, 60, 0, -80}, {"lower_arm", 3.2, 60, 0, 0}, {"lower_arm", 4.0, 0, 0, 0},
    {"hand", 0, 0, 0, 0},           {"hand", 0.8, 0, 0, 0},       {"hand", 1.6, 0, 0, 40},
    {"hand", 2.4, 0, 0, -40},       {"hand", 3.2, 0, 0, 0},       {"hand", 4.0, 0, 0, 0},
};
static const sup_motion_key arm_shake[] = {
    {"upper_arm", 0, 0, 0, 0},      {"upper_arm", 0.1, 10, 12, 0},   {"upper_arm", 0.24, -10, -14, 0},
    {"upper_arm", 0.38, 10, 14, 0}, {"upper_arm", 0.52, -8, -10, 0}, {"upper_arm", 0.66, 0, 0, 0},
    {"upper_arm", 2.0, 0, 0, 0},    {"lower_arm", 0, 0, 0, 0},       {"lower_arm", 0.12, 40, 0, 0},
    {"lower_arm", 0.26, 5, 0, 0},   {"lower_arm", 0.4, 45, 0, 0},    {"lower_arm", 0.54, 5, 0, 0},
    {"lower_arm", 0.7, 0, 0, 0},    {"lower_arm", 2.0, 0, 0, 0},     {"hand", 0, 0, 0, 0},
    {"hand", 0.14, 30, 0, 0},       {"hand", 0.28, -35, 0, 0},       {"hand", 0.42, 35, 0, 0},
    {"hand", 0.56, -20, 0, 0},      {"hand", 0.72, 0, 0, 0},         {"hand", 2.0, 0, 0, 0},
};
static const sup_motion arm_motions[] = {
    SUP_MOTION("bend", 3.0, 30.0, true, false, SUP_FEET_FREE, arm_bend),
    SUP_MOTION("twist", 4.0, 30.0, true, false, SUP_FEET_FREE, arm_twist),
    SUP_MOTION("shake", 2.0, 60.0, true, false, SUP_FEET_FREE, arm_shake),
};

void sup_scene_spec_arm(sup_scene_spec *spec)
{
    sup_local_frame upright = {{0, 0.055, 0}, {0, 0, 1}, {0, 1, 0}, {-1, 0, 0}};
    spec->cell = 0.004;
    spec->lower = sup_v3(-0.12, -0.03, -0.12);
    spec->upper = sup_v3(0.12, 0.82, 0.14);
    sup_scene_spec_add_regions(spec, lone_regions, SUP_COUNT(lone_regions));
    sup_scene_spec_add_joints_in(spec, &upright, 0, false, lone_joints, SUP_COUNT(lone_joints));
    sup_scene_spec_add_arm(spec, &upright, 0, false, "root");
    sup_scene_spec_add_motions(spec, arm_motions, SUP_COUNT(arm_motions));
}
