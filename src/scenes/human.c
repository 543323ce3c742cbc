/* human.c - an adult of 1.75 m in A-pose: the shapes of the body and its joints. Only the left side is listed; the
 * right side is mirrored. */
#include "scenes/human.h"

enum { TORSO, HEAD, LEG, ARM };

/* Relative mesh edge lengths: large muscles, limbs, feet, face, details. */
#define LARGE 0.0135
#define LIMB 0.0110
#define FOOT 0.0070
#define FACE 0.0058
#define DETAIL 0.0034

static const sup_region regions[] = {
    {"torso", -1, 0.0, false, 0.06},
    {"head", TORSO, 0.030, false, 0.04},
    {"leg", TORSO, 0.060, true, 0.06},
    {"arm", TORSO, 0.045, true, 0.05},
};

/* Height, 0, z of the middle, half width twice, depth to the front and to the back, squareness. */
static const sup_section torso_sections[] = {
    {0.825, 0, -0.010, 0.070, 0.070, 0.058, 0.062, 0.00}, {0.860, 0, -0.008, 0.108, 0.108, 0.084, 0.088, 0.05},
    {0.905, 0, -0.006, 0.142, 0.142, 0.097, 0.100, 0.15}, {0.950, 0, -0.004, 0.155, 0.155, 0.101, 0.097, 0.20},
    {1.000, 0, -0.001, 0.150, 0.150, 0.101, 0.086, 0.25}, {1.050, 0, 0.001, 0.140, 0.140, 0.099, 0.079, 0.25},
    {1.100, 0, 0.002, 0.134, 0.134, 0.097, 0.079, 0.25},  {1.160, 0, 0.001, 0.138, 0.138, 0.099, 0.087, 0.25},
    {1.230, 0, -0.002, 0.149, 0.149, 0.104, 0.099, 0.30}, {1.300, 0, -0.006, 0.157, 0.157, 0.107, 0.107, 0.35},
    {1.355, 0, -0.011, 0.152, 0.152, 0.099, 0.105, 0.35}, {1.400, 0, -0.018, 0.130, 0.130, 0.080, 0.091, 0.25},
    {1.440, 0, -0.025, 0.086, 0.086, 0.060, 0.071, 0.10}, {1.475, 0, -0.026, 0.058, 0.058, 0.051, 0.056, 0.00},
    {1.520, 0, -0.021, 0.050, 0.050, 0.049, 0.051, 0.00}, {1.570, 0, -0.014, 0.048, 0.048, 0.047, 0.052, 0.00},
};
/* Along the leg from the ankle up: centre x and z, inner, outer, front, back. The axis is inclined; x and z follow
 * it. */
static const sup_section leg_sections[] = {
    {0.050, 0.000, -0.012, 0.030, 0.031, 0.036, 0.036, 0.00},
    {0.085, 0.000, -0.012, 0.0315, 0.0325, 0.036, 0.038, 0.00},
    {0.120, 0.000, -0.011, 0.029, 0.030, 0.034, 0.037, 0.00},
    {0.170, 0.000, -0.010, 0.031, 0.033, 0.036, 0.042, 0.00},
    {0.230, 0.000, -0.010, 0.040, 0.043, 0.042, 0.056, 0.00},
    {0.290, 0.000, -0.009, 0.049, 0.052, 0.046, 0.067, 0.00},
    {0.350, 0.000, -0.006, 0.052, 0.053, 0.048, 0.068, 0.00},
    {0.410, 0.000, -0.002, 0.048, 0.049, 0.048, 0.058, 0.05},
    {0.460, 0.000, 0.001, 0.047, 0.047, 0.050, 0.051, 0.10},
    {0.500, 0.000, 0.002, 0.049, 0.048, 0.052, 0.050, 0.10},
    {0.545, 0.000, 0.002, 0.052, 0.051, 0.054, 0.054, 0.05},
    {0.610, 0.000, 0.001, 0.060, 0.060, 0.064, 0.063, 0.00},
    {0.690, 0.000, 0.000, 0.070, 0.069, 0.075, 0.073, 0.00},
    {0.770, 0.000, -0.001, 0.079, 0.077, 0.083, 0.083, 0.00},
    {0.840, 0.000, -0.002, 0.083, 0.079, 0.085, 0.086, 0.00},
    {0.910, 0.000, -0.003, 0.074, 0.072, 0.076, 0.076, 0.00},
};

static const sup_shape shapes[] = {
    /* trunk */
    SUP_LOFT(TORSO, 0.0, LARGE, 0, 0, 0, 0.020, 0, 1, 0, 0.030, torso_sections),
    SUP_SPHERE(TORSO, 0.045, LARGE, 0.070, 0.880, -0.060, 0.068, 0.078, 0.060, 0.10, 1.0, -0.15), /* buttock */
    SUP_SPHERE(TORSO, 0.045, LARGE, 0.070, 1.312, 0.062, 0.074, 0.050, 0.030, -0.30, 1.0, -0.10), /* pectoral */
    SUP_CONE(TORSO, 0.050, LARGE, 0.122, 1.310, -0.040, 0.042, 0.092, 1.130, -0.034, 0.030),      /* latissimus */
    SUP_CONE(TORSO, 0.045, LARGE, 0.030, 1.500, -0.036, 0.028, 0.150, 1.420, -0.022, 0.034),      /* trapezius */
    SUP_SPHERE(TORSO, 0.045, LARGE, 0.085, 1.330, -0.082, 0.060, 0.072, 0.034, 0.2, 1.0, 0.1),    /* shoulder blade */
    SUP_CONE(TORSO, 0.018, LIMB, 0.016, 1.424, 0.030, 0.007, 0.140, 1.436, 0.000, 0.009),         /* collarbone */
    SUP_CONE(TORSO, 0.020, LIMB, 0.020, 1.432, 0.022, 0.008, 0.054, 1.592, -0.022, 0.010),        /* neck muscle */
    SUP_SPHERE(TORSO, 0.050, LARGE, 0.0, 1.010, 0.066, 0.085, 0.090, 0.032, 0, 0, 0),             /* belly */
    SUP_CONE(TORSO, -0.030, LARGE, 0.0, 1.02, -0.128, 0.030, 0.0, 1.34, -0.150, 0.032), /* furrow of the spine */

    /* head */
    SUP_SPHERE(HEAD, 0.0, FACE, 0.0, 1.664, -0.010, 0.076, 0.086, 0.097, 0, 0, 0),            /* skull */
    SUP_SPHERE(HEAD, 0.045, FACE, 0.0, 1.622, 0.028, 0.061, 0.066, 0.062, 0, 0, 0),           /* face */
    SUP_CONE(HEAD, 0.030, FACE, 0.046, 1.596, 0.000, 0.020, 0.012, 1.556, 0.060, 0.017),      /* jaw */
    SUP_SPHERE(HEAD, 0.018, FACE, 0.0, 1.549, 0.068, 0.017, 0.014, 0.013, 0, 0, 0),           /* chin */
    SUP_SPHERE(HEAD, 0.024, FACE, 0.0, 1.583, 0.060, 0.034, 0.030, 0.028, 0, 0, 0),           /* mouth */
    SUP_SPHERE(HEAD, 0.026, FACE, 0.045, 1.630, 0.056, 0.020, 0.016, 0.020, 0, 0, 0),         /* cheekbone */
    SUP_CONE(HEAD, 0.020, FACE, 0.012, 1.674, 0.079, 0.008, 0.046, 1.675, 0.058, 0.008),      /* brow */
    SUP_SPHERE(HEAD, -0.018, FACE, 0.032, 1.652, 0.102, 0.017, 0.012, 0.018, 0, 0, 0),        /* socket */
    SUP_SPHERE(HEAD, 0.006, DETAIL, 0.0315, 1.6520, 0.0720, 0.0145, 0.0128, 0.0138, 0, 0, 0), /* lids */
    SUP_SPHERE(HEAD, -0.003, DETAIL, 0.0320, 1.6515, 0.0870, 0.0120, 0.0046, 0.0100, 0.12, 1.0,
               0.0),                                                                         /* their opening */
    SUP_CONE(HEAD, 0.016, DETAIL, 0.0, 1.664, 0.082, 0.0060, 0.0, 1.621, 0.1015, 0.0085),    /* nose */
    SUP_SPHERE(HEAD, 0.009, DETAIL, 0.0095, 1.616, 0.0930, 0.0078, 0.0072, 0.0095, 0, 0, 0), /* nostril wing */
    SUP_CONE(HEAD, 0.010, DETAIL, 0.0, 1.613, 0.0920, 0.0050, 0.0, 1.596, 0.0850, 0.0040),   /* below the nose */
    SUP_SPHERE(HEAD, 0.009, DETAIL, 0.0, 1.5880, 0.0845, 0.0215, 0.0052, 0.0072, 0, 0, 0),   /* upper lip */
    SUP_SPHERE(HEAD, 0.006, DETAIL, 0.0, 1.5775, 0.0830, 0.0185, 0.0055, 0.0078, 0, 0, 0),   /* lower lip */
    SUP_SPHERE(HEAD, 0.010, DETAIL, 0.0790, 1.640, -0.014, 0.0085, 0.0320, 0.0185, 0.12, 1.0, -0.25), /* ear */
    SUP_SPHERE(HEAD, -0.006, DETAIL, 0.0895, 1.643, -0.011, 0.0070, 0.0190, 0.0100, 0.12, 1.0, -0.25),

    /* leg */
    SUP_LOFT(LEG, 0.0, LIMB, 0.132, 0, -0.004, 0.030, 0.090, 0.92, 0.004, 0.090, leg_sections),
    SUP_SPHERE(LEG, 0.020, LIMB, 0.111, 0.492, 0.046, 0.024, 0.030, 0.018, 0, 0, 0),  /* knee cap */
    SUP_SPHERE(LEG, 0.010, FOOT, 0.156, 0.086, -0.012, 0.012, 0.016, 0.014, 0, 0, 0), /* ankle bones */
    SUP_SPHERE(LEG, 0.010, FOOT, 0.101, 0.094, -0.008, 0.011, 0.016, 0.014, 0, 0, 0),
    SUP_SPHERE(LEG, 0.025, FOOT, 0.128, 0.034, -0.044, 0.031, 0.036, 0.034, 0, 0, 0),                   /* heel */
    SUP_FLAT_CONE(LEG, 0.030, FOOT, 0.131, 0.060, 0.004, 0.036, 0.141, 0.026, 0.112, 0.024, 1.15, 1.0), /* instep */
    SUP_SPHERE(LEG, 0.024, FOOT, 0.148, 0.021, 0.108, 0.045, 0.020, 0.040, 0, 0, 0),                    /* forefoot */
    SUP_SPHERE(LEG, 0.024, FOOT, 0.146, 0.020, 0.030, 0.034, 0.020, 0.070, 0, 0, 0),                    /* outer edge */
    SUP_CONE(LEG, 0.012, DETAIL, 0.126, 0.019, 0.140, 0.0150, 0.128, 0.015, 0.176, 0.0125),             /* toes */
    SUP_CONE(LEG, 0.010, DETAIL, 0.149, 0.017, 0.140, 0.0115, 0.153, 0.013, 0.176, 0.0098),
    SUP_CONE(LEG, 0.010, DETAIL, 0.166, 0.016, 0.134, 0.0108, 0.172, 0.012, 0.166, 0.0090),
    SUP_CONE(LEG, 0.010, DETAIL, 0.180, 0.015, 0.124, 0.0105, 0.188, 0.011, 0.152, 0.0086),
    SUP_CONE(LEG, 0.010, DETAIL, 0.190, 0.014, 0.108, 0.0105, 0.200, 0.010, 0.134, 0.0084),
    SUP_SPHERE(LEG, -0.008, FOOT, 0.145, -4.0, 0.060, 4.0, 4.0, 4.0, 0, 0, 0), /* the floor flattens the sole */

    /* shoulder cap, in the arm's region */
    SUP_SPHERE(ARM, 0.030, LIMB, 0.190, 1.392, -0.014, 0.050, 0.062, 0.050, -0.6, 1.0, 0.0),
};

#define X_AXIS  \
    {           \
        1, 0, 0 \
    }
#define LEAN_AXIS \
    {             \
        0, 0, -1  \
    } /* positive: to the left */
#define LEG_FLEX \
    {            \
        -1, 0, 0 \
    }
#define LEG_SWING \
    {             \
        0, 0, 1   \
    }
static const sup_joint_spec joints[] = {
    /* name, parent, at, toward, flex about, swing about, flex, swing, twist, region, shift, blend, plane */
    {"hips",
     NULL,
     {0, 0.955, -0.005},
     {0, 1.02, -0.01},
     X_AXIS,
     LEAN_AXIS,
     {-60, 60},
     {-30, 30},
     {-360, 360},
     TORSO,
     0,
     0.05,
     {0, 0, 0}},
    {"spine",
     "hips",
     {0, 1.035, -0.015},
     {0, 1.14, -0.02},
     X_AXIS,
     LEAN_AXIS,
     {-25, 45},
     {-25, 25},
     {-30, 30},
     TORSO,
     0,
     0.06,
     {0, 1, 0}},
    {"spine1",
     "spine",
     {0, 1.145, -0.022},
     {0, 1.26, -0.03},
     X_AXIS,
     LEAN_AXIS,
     {-25, 45},
     {-25, 25},
     {-30, 30},
     TORSO,
     0,
     0.06,
     {0, 1, 0}},
    {"chest",
     "spine1",
     {0, 1.255, -0.028},
     {0, 1.45, -0.035},
     X_AXIS,
     LEAN_AXIS,
     {-25, 35},
     {-25, 25},
     {-30, 30},
     TORSO,
     0,
     0.06,
     {0, 1, 0}},
    {"neck",
     "chest",
     {0, 1.478, -0.030},
     {0, 1.57, -0.015},
     X_AXIS,
     LEAN_AXIS,
     {-40, 45},
     {-35, 35},
     {-45, 45},
     TORSO,
     0,
     0.035,
     {0, 1, 0.1}},
    {"head",
     "neck",
     {0, 1.568, -0.014},
     {0, 1.74, -0.005},
     X_AXIS,
     LEAN_AXIS,
     {-40, 40},
     {-30, 30},
     {-45, 45},
     HEAD,
     0,
     0.030,
     {0, 1, 0.45}},
    {"*shoulder",
     "chest",
     {0.030, 1.425, -0.005},
     {0.170, 1.400, -0.014},
     {0, -1, 0},
     {0, 0, 1},
     {-20, 25},
     {-15, 40},
     {-15, 15},
     TORSO,
     0.065,
     0.070,
     {1, 0.45, 0}},
    {"*upper_leg",
     "hips",
     {0.090, 0.915, -0.002},
     {0.111, 0.495, 0.002},
     LEG_FLEX,
     LEG_SWING,
     {-30, 130},
     {-30, 60},
     {-50, 50},
     LEG,
     0.010,
     0.075,
     {0.25, -1, 0}},
    {"*lower_leg",
     "*upper_leg",
     {0.111, 0.495, 0.002},
     {0.130, 0.085, -0.012},
     X_AXIS,
     LEG_SWING,
     {0, 155},
     {-5, 5},
     {-15, 15},
     LEG,
     0,
     0.055,
     {0, -1, 0}},
    {"*foot",
     "*lower_leg",
     {0.130, 0.085, -0.012},
     {0.145, 0.022, 0.118},
     LEG_FLEX,
     LEG_SWING,
     {-60, 50},
     {-50, 50},
     {-50, 50},
     LEG,
     0.0,
     0.035,
     {0, -0.8, 0.6}},
    {"*toes",
     "*foot",
     {0.146, 0.022, 0.118},
     {0.152, 0.016, 0.180},
     LEG_FLEX,
     LEG_SWING,
     {-40, 70},
     {-5, 5},
     {-5, 5},
     LEG,
     0.0,
     0.022,
     {0.25, 0, 1}},
};

static const sup_floor_point contacts[] = {
    {"left_foot", {0.128, 0.0, -0.060}},   {"left_foot", {0.146, 0.0, 0.112}},   {"left_toes", {0.150, 0.0, 0.170}},
    {"right_foot", {-0.128, 0.0, -0.060}}, {"right_foot", {-0.146, 0.0, 0.112}}, {"right_toes", {-0.150, 0.0, 0.170}},
};

static const sup_shape eyes[] = {
    SUP_SPHERE(0, 0.0, 0.002, 0.0315, 1.6520, 0.0705, 0.0122, 0.0122, 0.0122, 0, 0, 0),
    SUP_SPHERE(0, 0.0, 0.002, -0.0315, 1.6520, 0.0705, 0.0122, 0.0122, 0.0122, 0, 0, 0),
};
static const sup_extra_spec extras[] = {
    {"eyes", "head", false, 400.0, 0.0035, {-0.05, 1.63, 0.055}, {0.05, 1.675, 0.095}, 0, SUP_COUNT(eyes)},
};

/* The arm points 45 degrees down, palm towards the thigh, thumb forward. */
const sup_local_frame sup_human_arm = {{0.180, 1.398, -0.016},
                                       {0, 0, 1},
                                       {0.70710678118654752, -0.70710678118654752, 0},
                                       {0.70710678118654752, 0.70710678118654752, 0}};

void sup_scene_spec_human(sup_scene_spec *spec)
{
    spec->mirrored = true;
    spec->cell = 0.0055;
    spec->lower = sup_v3(-0.06, -0.03, -0.22);
    spec->upper = sup_v3(0.74, 1.80, 0.22);
    sup_scene_spec_add_regions(spec, regions, SUP_COUNT(regions));
    sup_scene_spec_add_shapes(spec, shapes, SUP_COUNT(shapes));
    sup_scene_spec_add_joints(spec, joints, SUP_COUNT(joints));
    int32_t upper_arm = spec->joint_count;
    sup_scene_spec_add_arm(spec, &sup_human_arm, ARM, true, "*shoulder");
    spec->joints[upper_arm].flex_axis = sup_v3(-1.0, 0.0, 0.0); /* forward beside the body, not across it */
    memcpy(spec->contacts, contacts, sizeof contacts);
    spec->contact_count = SUP_COUNT(contacts);
    memcpy(spec->extras, extras, sizeof extras);
    spec->extra_count = SUP_COUNT(extras);
    memcpy(spec->extra_shapes, eyes, sizeof eyes);
    spec->extra_shape_count = SUP_COUNT(eyes);
    sup_scene_spec_add_human_motions(spec);
    sup_scene_spec_add_human_organs(spec);
}
