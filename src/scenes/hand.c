/* hand.c - a hand: palm, four fingers and a thumb; used by the human and the arm, and as a separate character.
 *
 * Left hand in its local frame: x towards the thumb, y along the fingers, z out of the back, wrist at the origin. */
#include "scenes/scene_spec.h"

enum { PALM, INDEX, MIDDLE, RING, PINKY, THUMB };

/* Mesh edges: fingers, knuckles, palm. */
#define FINE 0.0032
#define MEDIUM 0.0045
#define WIDE 0.006

static const sup_region finger_regions[] = {
    {"index", PALM, 0.011, true, 0.006}, {"middle", PALM, 0.011, true, 0.006}, {"ring", PALM, 0.011, true, 0.006},
    {"pinky", PALM, 0.011, true, 0.006}, {"thumb", PALM, 0.016, true, 0.014},
};

static const sup_shape hand_shapes[] = {
    /* palm: metacarpal bones with soft tissue */
    SUP_FLAT_CONE(PALM, 0.018, WIDE, 0.012, 0.004, 0.0, 0.0175, 0.0257, 0.080, 0.003, 0.0118, 1.0, 0.95),
    SUP_FLAT_CONE(PALM, 0.018, WIDE, 0.004, 0.004, 0.001, 0.0175, 0.0043, 0.084, 0.005, 0.0122, 1.0, 0.95),
    SUP_FLAT_CONE(PALM, 0.018, WIDE, -0.006, 0.004, 0.0, 0.0170, -0.0171, 0.078, 0.003, 0.0115, 1.0, 0.95),
    SUP_FLAT_CONE(PALM, 0.018, WIDE, -0.013, 0.004, -0.001, 0.0160, -0.0353, 0.068, 0.000, 0.0108, 1.0, 0.95),
    SUP_SPHERE(PALM, 0.02, WIDE, -0.024, 0.034, -0.007, 0.013, 0.028, 0.012, 0.25, -1.0, 0.0),
    SUP_SPHERE(PALM, 0.015, WIDE, -0.004, 0.074, -0.006, 0.036, 0.013, 0.009, 0.12, 1.0, 0.0),
    /* knuckles */
    SUP_SPHERE(PALM, 0.008, MEDIUM, 0.0268, 0.088, 0.006, 0.0088, 0.0095, 0.0075, 0, 0, 0),
    SUP_SPHERE(PALM, 0.008, MEDIUM, 0.0043, 0.092, 0.008, 0.0090, 0.0095, 0.0078, 0, 0, 0),
    SUP_SPHERE(PALM, 0.008, MEDIUM, -0.0182, 0.086, 0.006, 0.0086, 0.0092, 0.0074, 0, 0, 0),
    SUP_SPHERE(PALM, 0.008, MEDIUM, -0.0375, 0.075, 0.003, 0.0080, 0.0086, 0.0070, 0, 0, 0),
    /* index */
    SUP_CONE(INDEX, 0.0, FINE, 0.0278, 0.090, 0.0030, 0.0094, 0.0353, 0.131, -0.0010, 0.0085),
    SUP_CONE(INDEX, 0.004, FINE, 0.0353, 0.131, -0.0010, 0.0090, 0.0387, 0.154, -0.0060, 0.0075),
    SUP_CONE(INDEX, 0.004, FINE, 0.0387, 0.154, -0.0060, 0.0079, 0.0407, 0.171, -0.0115, 0.0066),
    /* middle */
    SUP_CONE(MIDDLE, 0.0, FINE, 0.0043, 0.094, 0.0050, 0.0096, 0.0054, 0.139, 0.0010, 0.0087),
    SUP_CONE(MIDDLE, 0.004, FINE, 0.0054, 0.139, 0.0010, 0.0092, 0.0058, 0.166, -0.0050, 0.0077),
    SUP_CONE(MIDDLE, 0.004, FINE, 0.0058, 0.166, -0.0050, 0.0081, 0.006, 0.184, -0.0110, 0.0067),
    /* ring */
    SUP_CONE(RING, 0.0, FINE, -0.0187, 0.088, 0.0030, 0.0091, -0.0251, 0.130, -0.0010, 0.0082),
    SUP_CONE(RING, 0.004, FINE, -0.0251, 0.130, -0.0010, 0.0087, -0.0287, 0.155, -0.0065, 0.0073),
    SUP_CONE(RING, 0.004, FINE, -0.0287, 0.155, -0.0065, 0.0077, -0.0308, 0.172, -0.0120, 0.0064),
    /* pinky */
    SUP_CONE(PINKY, 0.0, FINE, -0.0385, 0.077, 0.0000, 0.0081, -0.0501, 0.109, -0.0035, 0.0072),
    SUP_CONE(PINKY, 0.004, FINE, -0.0501, 0.109, -0.0035, 0.0077, -0.0562, 0.128, -0.0080, 0.0064),
    SUP_CONE(PINKY, 0.004, FINE, -0.0562, 0.128, -0.0080, 0.0068, -0.0601, 0.142, -0.0125, 0.0056),
    /* thumb: thenar eminence, then two phalanges */
    SUP_CONE(THUMB, 0.0, MEDIUM, 0.014, 0.018, -0.007, 0.0160, 0.042, 0.053, -0.014, 0.0118),
    SUP_CONE(THUMB, 0.010, FINE, 0.042, 0.053, -0.014, 0.0112, 0.059, 0.083, -0.017, 0.0096),
    SUP_CONE(THUMB, 0.004, FINE, 0.059, 0.083, -0.017, 0.0102, 0.068, 0.104, -0.019, 0.0080),
};

/* Fingers flex towards the palm (-z) about -x and spread about z; index and thumb to +x, ring and pinky to -x. */
#define FINGER(name, parent, x, y, z, to_x, to_y, to_z, spread, flex_high, swing_reach, region, shift, blend) \
    {                                                                                                         \
        name, parent, {x, y, z}, {to_x, to_y, to_z}, {-1, 0, 0}, {0, 0, spread}, {-25, flex_high},            \
            {-swing_reach, swing_reach}, {-20, 20}, region, shift, blend,                                     \
        {                                                                                                     \
            0, 0, 0                                                                                           \
        }                                                                                                     \
    }
static const sup_joint_spec finger_joints[] = {
    FINGER("*index_1", "*hand", 0.0276, 0.089, 0.0030, 0.0353, 0.131, -0.0010, -1, 95, 22, INDEX, 0.006, 0.013),
    FINGER("*index_2", "*index_1", 0.0353, 0.131, -0.0010, 0.0387, 0.154, -0.0060, -1, 110, 2, INDEX, 0, 0.008),
    FINGER("*index_3", "*index_2", 0.0387, 0.154, -0.0060, 0.0407, 0.171, -0.0115, -1, 80, 2, INDEX, 0, 0.007),
    FINGER("*middle_1", "*hand", 0.0043, 0.093, 0.0050, 0.0054, 0.139, 0.0010, -1, 95, 22, MIDDLE, 0.006, 0.013),
    FINGER("*middle_2", "*middle_1", 0.0054, 0.139, 0.0010, 0.0058, 0.166, -0.0050, -1, 110, 2, MIDDLE, 0, 0.008),
    FINGER("*middle_3", "*middle_2", 0.0058, 0.166, -0.0050, 0.006, 0.184, -0.0110, -1, 80, 2, MIDDLE, 0, 0.007),
    FINGER("*ring_1", "*hand", -0.0185, 0.087, 0.0030, -0.0251, 0.130, -0.0010, 1, 95, 22, RING, 0.006, 0.013),
    FINGER("*ring_2", "*ring_1", -0.0251, 0.130, -0.0010, -0.0287, 0.155, -0.0065, 1, 110, 2, RING, 0, 0.008),
    FINGER("*ring_3", "*ring_2", -0.0287, 0.155, -0.0065, -0.0308, 0.172, -0.0120, 1, 80, 2, RING, 0, 0.007),
    FINGER("*pinky_1", "*hand", -0.0382, 0.076, 0.0000, -0.0501, 0.109, -0.0035, 1, 95, 25, PINKY, 0.005, 0.012),
    FINGER("*pinky_2", "*pinky_1", -0.0501, 0.109, -0.0035, -0.0562, 0.128, -0.0080, 1, 110, 2, PINKY, 0, 0.007),
    FINGER("*pinky_3", "*pinky_2", -0.0562, 0.128, -0.0080, -0.0601, 0.142, -0.0125, 1, 80, 2, PINKY, 0, 0.006),
    /* The thumb flexes across the palm and swings out of it. */
    {"*thumb_1",
     "*hand",
     {0.016, 0.020, -0.007},
     {0.042, 0.053, -0.014},
     {-0.5, 0.3, 0.8},
     {-0.78, 0.62, 0},
     {-25, 45},
     {-15, 50},
     {-30, 30},
     THUMB,
     0.010,
     0.018,
     {0, 0, 0}},
    {"*thumb_2",
     "*thumb_1",
     {0.042, 0.053, -0.014},
     {0.059, 0.083, -0.017},
     {-0.5, 0.3, 0.8},
     {-0.78, 0.62, 0},
     {-10, 60},
     {-10, 10},
     {-10, 10},
     THUMB,
     0,
     0.010,
     {0, 0, 0}},
    {"*thumb_3",
     "*thumb_2",
     {0.059, 0.083, -0.017},
     {0.068, 0.104, -0.019},
     {-0.5, 0.3, 0.8},
     {-0.78, 0.62, 0},
     {-20, 80},
     {-2, 2},
     {-2, 2},
     THUMB,
     0,
     0.008,
     {0, 0, 0}},
};

void sup_scene_spec_add_hand(sup_scene_spec *spec, const sup_local_frame *frame, int32_t palm, bool sided)
{
    int32_t first = spec->region_count;
    sup_shape shapes[SUP_COUNT(hand_shapes)];
    sup_joint_spec joints[SUP_COUNT(finger_joints)];
    memcpy(shapes, hand_shapes, sizeof shapes);
    memcpy(joints, finger_joints, sizeof joints);
    for (int32_t i = 0; i < SUP_COUNT(hand_shapes); i++)
        shapes[i].region = shapes[i].region == PALM ? palm : first + shapes[i].region - INDEX;
    for (int32_t i = 0; i < SUP_COUNT(finger_joints); i++)
        joints[i].region += first - INDEX;
    for (int32_t i = 0; i < SUP_COUNT(finger_regions); i++) {
        sup_region region = finger_regions[i];
        region.parent = palm;
        region.paired = sided;
        sup_scene_spec_add_regions(spec, &region, 1);
    }
    sup_scene_spec_add_shapes_in(spec, frame, 0, shapes, SUP_COUNT(hand_shapes));
    sup_scene_spec_add_joints_in(spec, frame, 0, sided, joints, SUP_COUNT(finger_joints));
}

/* --- the hand as a character: upright, palm towards +Z --- */
static const sup_region wrist_regions[] = {{"palm", -1, 0.0, false, 0.02}};
static const sup_section wrist_sections[] = {
    /* along (down from the wrist is negative), x, z, pinky side, thumb side, back, palm */
    {-0.095, 0, 0, 0.031, 0.032, 0.026, 0.026, 0.1},
    {-0.060, 0, 0, 0.028, 0.029, 0.022, 0.022, 0.1},
    {-0.020, 0, 0, 0.027, 0.027, 0.019, 0.019, 0.1},
    {0.010, 0, 0, 0.027, 0.026, 0.018, 0.018, 0},
};
static const sup_shape wrist_shapes[] = {SUP_LOFT(0, 0.0, WIDE, 0, 0, 0, 0.02, 0, 1, 0, 0.02, wrist_sections)};
static const sup_joint_spec wrist_joints[] = {
    {"forearm",
     NULL,
     {0, -0.09, 0},
     {0, 0, 0},
     {-1, 0, 0},
     {0, 0, -1},
     {-45, 45},
     {-45, 45},
     {-90, 90},
     0,
     0,
     0.03,
     {0, 0, 0}},
    {"*hand",
     "forearm",
     {0, 0, 0},
     {0, 0.08, 0},
     {-1, 0, 0},
     {0, 0, -1},
     {-75, 75},
     {-30, 30},
     {-30, 30},
     0,
     0,
     0.025,
     {0, 0, 0}},
};

static const sup_motion_key hand_fist[] = {
    {"index_1", 0, 0, 0, 0},    {"index_1", 1.0, 82, 0, 0},   {"index_1", 1.7, 82, 0, 0},   {"index_1", 2.7, 0, 0, 0},
    {"index_2", 0, 0, 0, 0},    {"index_2", 1.0, 96, 0, 0},   {"index_2", 1.7, 96, 0, 0},   {"index_2", 2.7, 0, 0, 0},
    {"index_3", 0, 0, 0, 0},    {"index_3", 1.0, 55, 0, 0},   {"index_3", 1.7, 55, 0, 0},   {"index_3", 2.7, 0, 0, 0},
    {"middle_1", 0, 0, 0, 0},   {"middle_1", 1.0, 86, 0, 0},  {"middle_1", 1.7, 86, 0, 0},  {"middle_1", 2.7, 0, 0, 0},
    {"middle_2", 0, 0, 0, 0},   {"middle_2", 1.0, 98, 0, 0},  {"middle_2", 1.7, 98, 0, 0},  {"middle_2", 2.7, 0, 0, 0},
    {"middle_3", 0, 0, 0, 0},   {"middle_3", 1.0, 55, 0, 0},  {"middle_3", 1.7, 55, 0, 0},  {"middle_3", 2.7, 0, 0, 0},
    {"ring_1", 0, 0, 0, 0},     {"ring_1", 1.0, 86, -6, 0},   {"ring_1", 1.7, 86, -6, 0},   {"ring_1", 2.7, 0, 0, 0},
    {"ring_2", 0, 0, 0, 0},     {"ring_2", 1.0, 98, 0, 0},    {"ring_2", 1.7, 98, 0, 0},    {"ring_2", 2.7, 0, 0, 0},
    {"ring_3", 0, 0, 0, 0},     {"ring_3", 1.0, 55, 0, 0},    {"ring_3", 1.7, 55, 0, 0},    {"ring_3", 2.7, 0, 0, 0},
    {"pinky_1", 0, 0, 0, 0},    {"pinky_1", 1.0, 84, -10, 0}, {"pinky_1", 1.7, 84, -10, 0}, {"pinky_1", 2.7, 0, 0, 0},
    {"pinky_2", 0, 0, 0, 0},    {"pinky_2", 1.0, 92, 0, 0},   {"pinky_2", 1.7, 92, 0, 0},   {"pinky_2", 2.7, 0, 0, 0},
    {"pinky_3", 0, 0, 0, 0},    {"pinky_3", 1.0, 55, 0, 0},   {"pinky_3", 1.7, 55, 0, 0},   {"pinky_3", 2.7, 0, 0, 0},
    {"thumb_1", 0, 0, 0, 0},    {"thumb_1", 0.5, -5, 10, 0},  {"thumb_1", 1.2, 12, 42, 0},  {"thumb_1", 1.7, 12, 42, 0},
    {"thumb_1", 2.5, 0, 0, 0},  {"thumb_2", 0, 0, 0, 0},      {"thumb_2", 0.4, 0, 0, 0},    {"thumb_2", 1.2, 40, 0, 0},
    {"thumb_2", 1.7, 40, 0, 0}, {"thumb_2", 2.5, 0, 0, 0},    {"thumb_3", 0, 0, 0, 0},      {"thumb_3", 0.4, 0, 0, 0},
    {"thumb_3", 1.2, 55, 0, 0}, {"thumb_3", 1.7, 55, 0, 0},   {"thumb_3", 2.5, 0, 0, 0},
};
static const sup_motion_key hand_wave[] = {
    {"forearm", 0, 0, 0, 0},      {"forearm", 0.4, 0, 18, 0},   {"forearm", 0.9, 0, -18, 0},
    {"forearm", 1.4, 0, 18, 0},   {"forearm", 1.9, 0, -18, 0},  {"forearm", 2.4, 0, 0, 0},
    {"hand", 0, 0, 0, 0},         {"hand", 0.45, 0, 20, 0},     {"hand", 0.95, 0, -22, 0},
    {"hand", 1.45, 0, 20, 0},     {"hand", 1.95, 0, -22, 0},    {"hand", 2.4, 0, 0, 0},
    {"index_1", 0, 0, 0, 0},      {"index_1", 0.5, 10, 5, 0},   {"index_1", 1.0, -5, 0, 0},
    {"index_1", 1.5, 10, 5, 0},   {"index_1", 2.4, 0, 0, 0},    {"middle_1", 0, 0, 0, 0},
    {"middle_1", 0.55, 14, 0, 0}, {"middle_1", 1.05, -5, 0, 0}, {"middle_1", 1.55, 14, 0, 0},
    {"middle_1", 2.4, 0, 0, 0},   {"ring_1", 0, 0, 0, 0},       {"ring_1", 0.6, 18, 0, 0},
    {"ring_1", 1.1, -5, 0, 0},    {"ring_1", 1.6, 18, 0, 0},    {"ring_1", 2.4, 0, 0, 0},
    {"pinky_1", 0, 0, 0, 0},      {"pinky_1", 0.65, 22, 5, 0},  {"pinky_1", 1.15, -5, 5, 0},
    {"pinky_1", 1.65, 22, 5, 0},  {"pinky_1", 2.4, 0, 0, 0},
};
static const sup_motion_key hand_spread[] = {
    {"index_1", 0, 0, 0, 0},  {"index_1", 0.8, -8, 14, 0}, {"index_1", 1.2, -8, 14, 0}, {"index_1", 2.0, 0, 0, 0},
    {"middle_1", 0, 0, 0, 0}, {"middle_1", 0.8, -8, 2, 0}, {"middle_1", 1.2, -8, 2, 0}, {"middle_1", 2.0, 0, 0, 0},
    {"ring_1", 0, 0, 0, 0},   {"ring_1", 0.8, -8, 9, 0},   {"ring_1", 1.2, -8, 9, 0},   {"ring_1", 2.0, 0, 0, 0},
    {"pinky_1", 0, 0, 0, 0},  {"pinky_1", 0.8, -8, 20, 0}, {"pinky_1", 1.2, -8, 20, 0}, {"pinky_1", 2.0, 0, 0, 0},
    {"thumb_1", 0, 0, 0, 0},  {"thumb_1", 0.8, -22, 0, 0}, {"thumb_1", 1.2, -22, 0, 0}, {"thumb_1", 2.0, 0, 0, 0},
    {"thumb_3", 0, 0, 0, 0},  {"thumb_3", 0.8, -15, 0, 0}, {"thumb_3", 1.2, -15, 0, 0}, {"thumb_3", 2.0, 0, 0, 0},
};
static const sup_motion_key hand_shake[] = {
    {"forearm", 0, 0, 0, 0},      {"forearm", 0.1, 6, 10, 30},    {"forearm", 0.22, -6, -12, -35},
    {"forearm", 0.34, 6, 12, 35}, {"forearm", 0.46, -5, -8, -25}, {"forearm", 0.6, 0, 0, 0},
    {"forearm", 2.0, 0, 0, 0},    {"hand", 0, 0, 0, 0},           {"hand", 0.12, 35, 10, 0},
    {"hand", 0.24, -38, -10, 0},  {"hand", 0.36, 38, 10, 0},      {"hand", 0.48, -28, -8, 0},
    {"hand", 0.62, 0, 0, 0},      {"hand", 2.0, 0, 0, 0},
};
static const sup_motion hand_motions[] = {
    SUP_MOTION("fist", 2.7, 30.0, true, false, SUP_FEET_FREE, hand_fist),
    SUP_MOTION("wave", 2.4, 30.0, true, false, SUP_FEET_FREE, hand_wave),
    SUP_MOTION("spread", 2.0, 30.0, true, false, SUP_FEET_FREE, hand_spread),
    SUP_MOTION("shake", 2.0, 60.0, true, false, SUP_FEET_FREE, hand_shake),
};

void sup_scene_spec_hand(sup_scene_spec *spec)
{
    sup_local_frame upright = {{0, 0.115, 0}, {-1, 0, 0}, {0, 1, 0}, {0, 0, -1}};
    spec->cell = 0.0032;
    spec->lower = sup_v3(-0.11, -0.02, -0.05);
    spec->upper = sup_v3(0.09, 0.33, 0.06);
    sup_scene_spec_add_regions(spec, wrist_regions, SUP_COUNT(wrist_regions));
    sup_scene_spec_add_shapes_in(spec, &upright, 0, wrist_shapes, SUP_COUNT(wrist_shapes));
    sup_scene_spec_add_joints_in(spec, &upright, 0, false, wrist_joints, SUP_COUNT(wrist_joints));
    sup_scene_spec_add_hand(spec, &upright, 0, false);
    sup_scene_spec_add_motions(spec, hand_motions, SUP_COUNT(hand_motions));
}
