/* elephant.c - an African elephant, 2.9 m high, facing +Z: thick legs, wide ears, a soft trunk. Only the left side and
 * the middle are listed; the right side is mirrored. */
#include "scenes/scene_spec.h"

enum { BODY, HEAD, TRUNK, EAR, FRONT, HIND, TAIL };

/* Relative mesh edge lengths. */
#define LARGE 0.070
#define LIMB 0.050
#define FACE 0.040
#define SOFT 0.032
#define SMALL 0.020

static const sup_region regions[] = {
    {"body", -1, 0.0, false, 0.20},    {"head", BODY, 0.25, false, 0.25},     {"trunk", HEAD, 0.16, false, 0.12},
    {"ear", HEAD, 0.16, true, 0.08},   {"front leg", BODY, 0.20, true, 0.16}, {"hind leg", BODY, 0.22, true, 0.16},
    {"tail", BODY, 0.16, false, 0.06},
};

/* From rump to neck at height 1.85: 0, middle below the line, half width twice, depth below and above. */
static const sup_section body_sections[] = {
    {-1.36, 0, 0.06, 0.30, 0.30, 0.36, 0.32, 0},   {-1.20, 0, 0.02, 0.47, 0.47, 0.52, 0.48, 0},
    {-0.90, 0, 0.00, 0.62, 0.62, 0.64, 0.66, 0.1}, {-0.45, 0, 0.00, 0.72, 0.72, 0.76, 0.76, 0.1},
    {0.00, 0, 0.00, 0.74, 0.74, 0.80, 0.80, 0.1},  {0.40, 0, -0.02, 0.68, 0.68, 0.76, 0.74, 0.1},
    {0.72, 0, -0.06, 0.56, 0.56, 0.64, 0.66, 0},   {1.00, 0, -0.12, 0.44, 0.44, 0.50, 0.52, 0},
    {1.20, 0, -0.18, 0.38, 0.38, 0.42, 0.42, 0},
};
/* From the sole up: x, z of the middle, inner, outer, front, back. */
static const sup_section front_sections[] = {
    {0.04, 0, 0.01, 0.185, 0.190, 0.205, 0.190, 0},  {0.14, 0, 0.00, 0.180, 0.185, 0.195, 0.185, 0},
    {0.34, 0, -0.01, 0.150, 0.155, 0.160, 0.155, 0}, {0.62, 0, 0.00, 0.155, 0.160, 0.170, 0.160, 0},
    {0.95, 0, 0.00, 0.165, 0.180, 0.190, 0.190, 0},  {1.25, 0, 0.00, 0.180, 0.205, 0.240, 0.240, 0},
    {1.60, 0, -0.02, 0.180, 0.200, 0.300, 0.290, 0},
};
static const sup_section hind_sections[] = {
    {0.04, 0, 0.02, 0.175, 0.180, 0.195, 0.180, 0},  {0.14, 0, 0.00, 0.170, 0.175, 0.185, 0.175, 0},
    {0.36, 0, -0.03, 0.140, 0.145, 0.150, 0.150, 0}, {0.62, 0, -0.02, 0.145, 0.155, 0.165, 0.160, 0},
    {0.90, 0, 0.03, 0.165, 0.180, 0.210, 0.200, 0},  {1.20, 0, 0.02, 0.190, 0.215, 0.290, 0.270, 0},
    {1.60, 0, -0.05, 0.200, 0.215, 0.330, 0.320, 0},
};

#define NAIL(region, x, z) SUP_SPHERE(region, 0.010, SOFT, x, 0.055, z, 0.036, 0.045, 0.026, 0, 0, 0)
static const sup_shape shapes[] = {
    SUP_LOFT(BODY, 0.0, LARGE, 0, 1.85, 0, 0.16, 0, 1.85, 1, 0.20, body_sections),
    SUP_SPHERE(BODY, 0.25, LARGE, 0.30, 2.15, 0.62, 0.26, 0.42, 0.30, 0, 0, 0),  /* shoulder */
    SUP_SPHERE(BODY, 0.25, LARGE, 0.34, 1.75, -0.95, 0.28, 0.50, 0.36, 0, 0, 0), /* haunch */

    /* head */
    SUP_SPHERE(HEAD, 0.0, FACE, 0.0, 2.42, 1.48, 0.39, 0.46, 0.38, 0, 1, -0.25),
    SUP_SPHERE(HEAD, 0.15, FACE, 0.14, 2.72, 1.44, 0.20, 0.19, 0.24, 0, 0, 0),      /* domes */
    SUP_CONE(HEAD, 0.20, FACE, 0.14, 2.30, 1.58, 0.25, 0.11, 2.02, 1.74, 0.17),     /* cheeks and tusk roots */
    SUP_CONE(HEAD, 0.12, FACE, 0.05, 2.02, 1.48, 0.17, 0.02, 1.84, 1.76, 0.075),    /* lower jaw */
    SUP_SPHERE(HEAD, 0.08, FACE, 0.30, 2.50, 1.66, 0.075, 0.055, 0.09, 0, 0, 0),    /* brow */
    SUP_SPHERE(HEAD, -0.05, SOFT, 0.355, 2.42, 1.70, 0.035, 0.030, 0.060, 0, 0, 0), /* eye hollow */

    /* trunk */
    SUP_CONE(TRUNK, 0.0, SOFT, 0, 2.32, 1.68, 0.27, 0, 2.02, 1.93, 0.215),
    SUP_CONE(TRUNK, 0.08, SOFT, 0, 2.02, 1.93, 0.215, 0, 1.68, 2.06, 0.182),
    SUP_CONE(TRUNK, 0.06, SOFT, 0, 1.68, 2.06, 0.182, 0, 1.34, 2.11, 0.154),
    SUP_CONE(TRUNK, 0.05, SOFT, 0, 1.34, 2.11, 0.154, 0, 1.03, 2.12, 0.131),
    SUP_CONE(TRUNK, 0.05, SOFT, 0, 1.03, 2.12, 0.131, 0, 0.76, 2.14, 0.113),
    SUP_CONE(TRUNK, 0.04, SMALL, 0, 0.76, 2.14, 0.113, 0, 0.54, 2.19, 0.099),
    SUP_CONE(TRUNK, 0.04, SMALL, 0, 0.54, 2.19, 0.099, 0, 0.38, 2.29, 0.088),
    SUP_CONE(TRUNK, 0.03, SMALL, 0, 0.38, 2.29, 0.088, 0, 0.30, 2.40, 0.084),
    SUP_SPHERE(TRUNK, 0.03, SMALL, 0, 0.345, 2.465, 0.050, 0.030, 0.045, 0, 1, -0.6),      /* finger of the tip */
    SUP_CONE(TRUNK, -0.03, SMALL, 0.034, 0.262, 2.480, 0.020, 0.034, 0.290, 2.435, 0.014), /* nostrils */

    /* ear: a thin leaf that points sideways and back */
    {.kind = SUP_SHAPE_LEAF,
     .region = EAR,
     .edge = SOFT,
     .a = {0.70, 2.32, 1.12},
     .b = {0.10, 1.0, 0.05},
     .side = {0.84, 0, -0.54},
     .wide = 0.37,
     .ra = 0.45,
     .deep = 0.034},
    {.kind = SUP_SHAPE_LEAF,
     .region = EAR,
     .blend = 0.12,
     .edge = SOFT,
     .a = {0.60, 1.98, 1.17},
     .b = {0.10, 1.0, 0.05},
     .side = {0.84, 0, -0.54},
     .wide = 0.18,
     .ra = 0.30,
     .deep = 0.032},

    /* legs */
    SUP_LOFT(FRONT, 0.0, LIMB, 0.37, 0, 0.62, 0.04, 0.37, 1, 0.62, 0.25, front_sections),
    NAIL(FRONT, 0.30, 0.795),
    NAIL(FRONT, 0.38, 0.810),
    NAIL(FRONT, 0.46, 0.785),
    SUP_LOFT(HIND, 0.0, LIMB, 0.38, 0, -0.92, 0.04, 0.38, 1, -0.92, 0.25, hind_sections),
    NAIL(HIND, 0.31, -0.745),
    NAIL(HIND, 0.39, -0.732),
    NAIL(HIND, 0.47, -0.755),

    /* tail */
    SUP_CONE(TAIL, 0.0, SMALL, 0, 2.02, -1.42, 0.085, 0, 1.62, -1.60, 0.055),
    SUP_CONE(TAIL, 0.03, SMALL, 0, 1.62, -1.60, 0.055, 0, 1.20, -1.66, 0.040),
    SUP_CONE(TAIL, 0.03, SMALL, 0, 1.20, -1.66, 0.040, 0, 0.92, -1.67, 0.034),
    SUP_SPHERE(TAIL, 0.04, SMALL, 0, 0.80, -1.67, 0.055, 0.13, 0.055, 0, 0, 0),
};

#define NOD     \
    {           \
        1, 0, 0 \
    }
#define LEAN     \
    {            \
        0, 0, -1 \
    }
#define FORWARD  \
    {            \
        -1, 0, 0 \
    }
#define OUTWARD \
    {           \
        0, 0, 1 \
    }
#define TRUNK_JOINT(name, parent, y, z, to_y, to_z, blend)                                                            \
    {                                                                                                                 \
        name, parent, {0, y, z}, {0, to_y, to_z}, FORWARD, OUTWARD, {-40, 60}, {-35, 35}, {-25, 25}, TRUNK, 0, blend, \
        {                                                                                                             \
            0, 0, 0                                                                                                   \
        }                                                                                                             \
    }
#define TAIL_JOINT(name, parent, y, z, to_y, to_z)                                                                  \
    {                                                                                                               \
        name, parent, {0, y, z}, {0, to_y, to_z}, FORWARD, OUTWARD, {-60, 60}, {-50, 50}, {-30, 30}, TAIL, 0, 0.10, \
        {                                                                                                           \
            0, 0, 0                                                                                                 \
        }                                                                                                           \
    }
static const sup_joint_spec joints[] = {
    {"hips",
     NULL,
     {0, 1.95, -0.90},
     {0, 1.95, -0.4},
     NOD,
     LEAN,
     {-30, 30},
     {-20, 20},
     {-40, 40},
     BODY,
     0,
     0.3,
     {0, 0, 0}},
    {"spine",
     "hips",
     {0, 1.95, -0.38},
     {0, 1.95, 0.15},
     NOD,
     {0, 1, 0},
     {-15, 15},
     {-15, 15},
     {-15, 15},
     BODY,
     0,
     0.30,
     {0, 0, 0}},
    {"spine1",
     "spine",
     {0, 1.95, 0.15},
     {0, 1.97, 0.6},
     NOD,
     {0, 1, 0},
     {-15, 15},
     {-15, 15},
     {-15, 15},
     BODY,
     0,
     0.28,
     {0, 0, 0}},
    {"chest",
     "spine1",
     {0, 1.97, 0.60},
     {0, 2.06, 1.0},
     NOD,
     {0, 1, 0},
     {-15, 15},
     {-15, 15},
     {-15, 15},
     BODY,
     0,
     0.24,
     {0, 0, 0}},
    {"neck",
     "chest",
     {0, 2.06, 0.96},
     {0, 2.25, 1.25},
     NOD,
     {0, 1, 0},
     {-30, 30},
     {-30, 30},
     {-25, 25},
     BODY,
     0,
     0.16,
     {0, 0, 0}},
    {"head",
     "neck",
     {0, 2.25, 1.24},
     {0, 2.45, 1.70},
     NOD,
     {0, 1, 0},
     {-30, 30},
     {-30, 30},
     {-25, 25},
     HEAD,
     -0.05,
     0.12,
     {0, 0, 0}},
    TRUNK_JOINT("trunk_1", "head", 2.16, 1.83, 1.86, 2.00, 0.16),
    TRUNK_JOINT("trunk_2", "trunk_1", 1.86, 2.00, 1.58, 2.08, 0.14),
    TRUNK_JOINT("trunk_3", "trunk_2", 1.58, 2.08, 1.30, 2.11, 0.13),
    TRUNK_JOINT("trunk_4", "trunk_3", 1.30, 2.11, 1.04, 2.12, 0.12),
    TRUNK_JOINT("trunk_5", "trunk_4", 1.04, 2.12, 0.81, 2.135, 0.11),
    TRUNK_JOINT("trunk_6", "trunk_5", 0.81, 2.135, 0.61, 2.17, 0.10),
    TRUNK_JOINT("trunk_7", "trunk_6", 0.61, 2.17, 0.45, 2.24, 0.085),
    TRUNK_JOINT("trunk_8", "trunk_7", 0.45, 2.24, 0.32, 2.38, 0.075),
    {"*ear_1",
     "head",
     {0.40, 2.36, 1.31},
     {0.66, 2.33, 1.14},
     {0, -1, 0},
     OUTWARD,
     {-45, 50},
     {-25, 25},
     {-20, 20},
     EAR,
     -0.01,
     0.10,
     {0.84, 0, -0.54}},
    {"*ear_2",
     "*ear_1",
     {0.70, 2.30, 1.12},
     {0.98, 2.25, 0.94},
     {0, -1, 0},
     OUTWARD,
     {-45, 50},
     {-25, 25},
     {-20, 20},
     EAR,
     0,
     0.14,
     {0.84, 0, -0.54}},
    {"*front_upper_leg",
     "chest",
     {0.37, 1.42, 0.60},
     {0.37, 0.72, 0.62},
     FORWARD,
     OUTWARD,
     {-35, 45},
     {-10, 20},
     {-15, 15},
     FRONT,
     0,
     0.20,
     {0, 0, 0}},
    {"*front_lower_leg",
     "*front_upper_leg",
     {0.37, 0.72, 0.62},
     {0.37, 0.18, 0.61},
     NOD,
     OUTWARD,
     {0, 80},
     {-5, 5},
     {-10, 10},
     FRONT,
     0,
     0.13,
     {0, 0, 0}},
    {"*front_foot",
     "*front_lower_leg",
     {0.37, 0.18, 0.61},
     {0.37, 0.06, 0.66},
     FORWARD,
     OUTWARD,
     {-60, 40},
     {-10, 10},
     {-10, 10},
     FRONT,
     0,
     0.09,
     {0, -1, 0}},
    {"*hind_upper_leg",
     "hips",
     {0.38, 1.45, -0.95},
     {0.38, 0.80, -0.88},
     FORWARD,
     OUTWARD,
     {-35, 45},
     {-10, 20},
     {-15, 15},
     HIND,
     0,
     0.20,
     {0, 0, 0}},
    {"*hind_lower_leg",
     "*hind_upper_leg",
     {0.38, 0.80, -0.88},
     {0.38, 0.18, -0.94},
     NOD,
     OUTWARD,
     {0, 80},
     {-5, 5},
     {-10, 10},
     HIND,
     0,
     0.13,
     {0, 0, 0}},
    {"*hind_foot",
     "*hind_lower_leg",
     {0.38, 0.18, -0.94},
     {0.38, 0.06, -0.88},
     FORWARD,
     OUTWARD,
     {-60, 40},
     {-10, 10},
     {-10, 10},
     HIND,
     0,
     0.09,
     {0, -1, 0}},
    TAIL_JOINT("tail_1", "hips", 1.98, -1.44, 1.68, -1.58),
    TAIL_JOINT("tail_2", "tail_1", 1.68, -1.58, 1.36, -1.64),
    TAIL_JOINT("tail_3", "tail_2", 1.36, -1.64, 1.06, -1.665),
    TAIL_JOINT("tail_4", "tail_3", 1.06, -1.665, 0.75, -1.67),
};

static const sup_floor_point contacts[] = {
    {"left_front_foot", {0.37, 0, 0.78}},   {"left_front_foot", {0.37, 0, 0.46}},
    {"right_front_foot", {-0.37, 0, 0.78}}, {"right_front_foot", {-0.37, 0, 0.46}},
    {"left_hind_foot", {0.38, 0, -0.76}},   {"left_hind_foot", {0.38, 0, -1.06}},
    {"right_hind_foot", {-0.38, 0, -0.76}}, {"right_hind_foot", {-0.38, 0, -1.06}},
};

/* Each foot moves a quarter of a cycle after the previous one: left hind, left front, right hind, right front. */
static const sup_motion_key walk[] = {
    {"*hind_upper_leg", 0.0, 16, 0, 0},
    {"*hind_upper_leg", 0.8, -6, 0, 0},
    {"*hind_upper_leg", 1.5, -18, 0, 0},
    {"*hind_upper_leg", 2.0, 12, 0, 0},
    {"*hind_lower_leg", 0.0, 2, 0, 0},
    {"*hind_lower_leg", 0.4, 6, 0, 0},
    {"*hind_lower_leg", 1.3, 4, 0, 0},
    {"*hind_lower_leg", 1.75, 38, 0, 0},
    {"*hind_lower_leg", 2.2, 6, 0, 0},
    {"*hind_foot", 0.0, -8, 0, 0},
    {"*hind_foot", 0.4, -2, 0, 0},
    {"*hind_foot", 1.3, 14, 0, 0},
    {"*hind_foot", 1.75, -12, 0, 0},
    {"*front_upper_leg", 0.6, 18, 0, 0},
    {"*front_upper_leg", 1.4, -4, 0, 0},
    {"*front_upper_leg", 2.1, -18, 0, 0},
    {"*front_lower_leg", 0.6, 0, 0, 0},
    {"*front_lower_leg", 1.9, 2, 0, 0},
    {"*front_lower_leg", 2.35, 48, 0, 0},
    {"*front_foot", 0.6, -10, 0, 0},
    {"*front_foot", 1.0, 0, 0, 0},
    {"*front_foot", 1.9, 14, 0, 0},
    {"*front_foot", 2.35, -20, 0, 0},
    {"hips", 0.0, 0, 2, 3},
    {"hips", 1.2, 0, -2, -3},
    {"spine", 0.0, 0, -2, -2},
    {"spine", 1.2, 0, 2, 2},
    {"chest", 0.6, 1, 2, 2},
    {"chest", 1.8, 1, -2, -2},
    {"neck", 0.0, 3, 0, 0},
    {"neck", 0.6, -2, 0, 0},
    {"neck", 1.2, 3, 0, 0},
    {"neck", 1.8, -2, 0, 0},
    {"head", 0.3, 3, 2, 0},
    {"head", 0.9, -2, 0, 0},
    {"head", 1.5, 3, -2, 0},
    {"head", 2.1, -2, 0, 0},
    {"trunk_1", 0.0, 4, 6, 0},
    {"trunk_1", 1.2, 0, -6, 0},
    {"trunk_2", 0.1, 4, 6, 0},
    {"trunk_2", 1.3, 0, -6, 0},
    {"trunk_3", 0.2, 4, 7, 0},
    {"trunk_3", 1.4, 0, -7, 0},
    {"trunk_4", 0.3, 4, 7, 0},
    {"trunk_4", 1.5, 0, -7, 0},
    {"trunk_5", 0.4, 6, 7, 0},
    {"trunk_5", 1.6, 0, -7, 0},
    {"trunk_6", 0.5, 8, 7, 0},
    {"trunk_6", 1.7, 0, -7, 0},
    {"trunk_7", 0.6, 8, 6, 0},
    {"trunk_7", 1.8, 0, -6, 0},
    {"trunk_8", 0.7, 8, 6, 0},
    {"trunk_8", 1.9, 0, -6, 0},
    {"left_ear_1", 0.0, 14, 0, 0},
    {"left_ear_1", 0.8, -10, 0, 0},
    {"left_ear_1", 1.6, 10, 0, 0},
    {"right_ear_1", 0.1, 14, 0, 0},
    {"right_ear_1", 0.9, -10, 0, 0},
    {"right_ear_1", 1.7, 10, 0, 0},
    {"left_ear_2", 0.15, 14, 0, 0},
    {"left_ear_2", 0.95, -10, 0, 0},
    {"left_ear_2", 1.75, 10, 0, 0},
    {"right_ear_2", 0.25, 14, 0, 0},
    {"right_ear_2", 1.05, -10, 0, 0},
    {"right_ear_2", 1.85, 10, 0, 0},
    {"tail_1", 0.0, -4, 10, 0},
    {"tail_1", 1.2, -4, -10, 0},
    {"tail_2", 0.15, 0, 12, 0},
    {"tail_2", 1.35, 0, -12, 0},
    {"tail_3", 0.3, 0, 14, 0},
    {"tail_3", 1.5, 0, -14, 0},
    {"tail_4", 0.45, 0, 14, 0},
    {"tail_4", 1.65, 0, -14, 0},
};
/* The trunk curls up to the forehead. */
static const sup_motion_key trunk_curl[] = {
    {"neck", 0, 0, 0, 0},      {"neck", 1.5, -14, 0, 0},   {"neck", 2.5, -14, 0, 0},   {"neck", 4.0, 0, 0, 0},
    {"head", 0, 0, 0, 0},      {"head", 1.5, -18, 0, 0},   {"head", 2.5, -18, 0, 0},   {"head", 4.0, 0, 0, 0},
    {"trunk_1", 0, 0, 0, 0},   {"trunk_1", 1.6, 34, 0, 0}, {"trunk_1", 2.4, 34, 0, 0}, {"trunk_1", 4.0, 0, 0, 0},
    {"trunk_2", 0, 0, 0, 0},   {"trunk_2", 1.6, 34, 0, 0}, {"trunk_2", 2.4, 34, 0, 0}, {"trunk_2", 4.0, 0, 0, 0},
    {"trunk_3", 0, 0, 0, 0},   {"trunk_3", 1.6, 32, 0, 0}, {"trunk_3", 2.4, 32, 0, 0}, {"trunk_3", 4.0, 0, 0, 0},
    {"trunk_4", 0, 0, 0, 0},   {"trunk_4", 1.6, 32, 0, 0}, {"trunk_4", 2.4, 32, 0, 0}, {"trunk_4", 4.0, 0, 0, 0},
    {"trunk_5", 0, 0, 0, 0},   {"trunk_5", 1.6, 34, 0, 0}, {"trunk_5", 2.4, 34, 0, 0}, {"trunk_5", 4.0, 0, 0, 0},
    {"trunk_6", 0, 0, 0, 0},   {"trunk_6", 1.5, 36, 0, 0}, {"trunk_6", 2.5, 36, 0, 0}, {"trunk_6", 4.0, 0, 0, 0},
    {"trunk_7", 0, 0, 0, 0},   {"trunk_7", 1.4, 30, 0, 0}, {"trunk_7", 2.6, 30, 0, 0}, {"trunk_7", 4.0, 0, 0, 0},
    {"trunk_8", 0, 0, 0, 0},   {"trunk_8", 1.3, 26, 0, 0}, {"trunk_8", 2.7, 26, 0, 0}, {"trunk_8", 4.0, 0, 0, 0},
    {"*ear_1", 0, 0, 0, 0},    {"*ear_1", 1.2, 30, 0, 0},  {"*ear_1", 2.0, -5, 0, 0},  {"*ear_1", 2.8, 30, 0, 0},
    {"*ear_1", 4.0, 0, 0, 0},  {"*ear_2", 0, 0, 0, 0},     {"*ear_2", 1.3, 18, 0, 0},  {"*ear_2", 2.1, -10, 0, 0},
    {"*ear_2", 2.9, 18, 0, 0}, {"*ear_2", 4.0, 0, 0, 0},
};
static const sup_motion_key shake[] = {
    {"hips", 0, 0, 0, 0},         {"hips", 0.15, 0, 3, 5},      {"hips", 0.35, 0, -4, -6},
    {"hips", 0.55, 0, 4, 6},      {"hips", 0.75, 0, -3, -4},    {"hips", 0.95, 0, 0, 0},
    {"hips", 2.6, 0, 0, 0},       {"chest", 0, 0, 0, 0},        {"chest", 0.17, 0, -5, 6},
    {"chest", 0.37, 0, 6, -8},    {"chest", 0.57, 0, -6, 8},    {"chest", 0.77, 0, 4, -5},
    {"chest", 0.97, 0, 0, 0},     {"chest", 2.6, 0, 0, 0},      {"neck", 0, 0, 0, 0},
    {"neck", 0.19, 0, 14, 12},    {"neck", 0.39, 0, -16, -14},  {"neck", 0.59, 0, 16, 14},
    {"neck", 0.79, 0, -12, -10},  {"neck", 1.0, 0, 0, 0},       {"neck", 2.6, 0, 0, 0},
    {"head", 0, 0, 0, 0},         {"head", 0.21, 0, 14, 12},    {"head", 0.41, 0, -16, -14},
    {"head", 0.61, 0, 16, 14},    {"head", 0.81, 0, -12, -10},  {"head", 1.02, 0, 0, 0},
    {"head", 2.6, 0, 0, 0},       {"*ear_1", 0, 0, 0, 0},       {"*ear_1", 0.24, 35, 0, 0},
    {"*ear_1", 0.44, -25, 0, 0},  {"*ear_1", 0.64, 35, 0, 0},   {"*ear_1", 0.84, -20, 0, 0},
    {"*ear_1", 1.1, 0, 0, 0},     {"*ear_1", 2.6, 0, 0, 0},     {"trunk_1", 0, 0, 0, 0},
    {"trunk_1", 0.24, 0, -14, 0}, {"trunk_1", 0.44, 0, 16, 0},  {"trunk_1", 0.64, 0, -16, 0},
    {"trunk_1", 0.84, 0, 12, 0},  {"trunk_1", 1.1, 0, 0, 0},    {"trunk_1", 2.6, 0, 0, 0},
    {"trunk_3", 0, 0, 0, 0},      {"trunk_3", 0.28, 0, -18, 0}, {"trunk_3", 0.48, 0, 20, 0},
    {"trunk_3", 0.68, 0, -20, 0}, {"trunk_3", 0.88, 0, 14, 0},  {"trunk_3", 1.15, 0, 0, 0},
    {"trunk_3", 2.6, 0, 0, 0},    {"trunk_5", 0, 0, 0, 0},      {"trunk_5", 0.32, 0, -22, 0},
    {"trunk_5", 0.52, 0, 24, 0},  {"trunk_5", 0.72, 0, -24, 0}, {"trunk_5", 0.92, 0, 16, 0},
    {"trunk_5", 1.2, 0, 0, 0},    {"trunk_5", 2.6, 0, 0, 0},    {"tail_1", 0, 0, 0, 0},
    {"tail_1", 0.2, 0, 25, 0},    {"tail_1", 0.4, 0, -28, 0},   {"tail_1", 0.6, 0, 28, 0},
    {"tail_1", 0.8, 0, -20, 0},   {"tail_1", 1.05, 0, 0, 0},    {"tail_1", 2.6, 0, 0, 0},
};
static const sup_motion motions[] = {
    SUP_MOTION("trunk_curl", 4.0, 30.0, true, false, SUP_FEET_FREE, trunk_curl),
    SUP_MOTION("walk", 2.4, 30.0, true, true, SUP_FEET_ON_GROUND, walk),
    SUP_MOTION("shake", 2.6, 60.0, true, false, SUP_FEET_FREE, shake),
};

#define TUSK(sign)                                                                              \
    SUP_CONE(0, 0.0, 0.02, sign 0.170, 2.08, 1.76, 0.066, sign 0.225, 1.83, 2.00, 0.062),       \
        SUP_CONE(0, 0.012, 0.02, sign 0.225, 1.83, 2.00, 0.062, sign 0.265, 1.71, 2.20, 0.053), \
        SUP_CONE(0, 0.012, 0.02, sign 0.265, 1.71, 2.20, 0.053, sign 0.288, 1.66, 2.42, 0.041), \
        SUP_CONE(0, 0.010, 0.02, sign 0.288, 1.66, 2.42, 0.041, sign 0.285, 1.70, 2.64, 0.020)
static const sup_shape extra_shapes[] = {
    TUSK(+),
    TUSK(-),
    SUP_SPHERE(0, 0.0, 0.02, 0.338, 2.42, 1.665, 0.042, 0.042, 0.042, 0, 0, 0),
    SUP_SPHERE(0, 0.0, 0.02, -0.338, 2.42, 1.665, 0.042, 0.042, 0.042, 0, 0, 0),
};
static const sup_extra_spec extras[] = {
    {"tusks", "head", true, 700.0, 0.015, {-0.4, 1.55, 1.65}, {0.4, 2.2, 2.70}, 0, 8},
    {"eyes", "head", false, 200.0, 0.012, {-0.42, 2.35, 1.60}, {0.42, 2.49, 1.73}, 8, 2},
};

void sup_scene_spec_elephant(sup_scene_spec *spec)
{
    spec->mirrored = true;
    spec->cell = 0.026;
    spec->lower = sup_v3(-0.2, -0.1, -1.95);
    spec->upper = sup_v3(1.25, 3.1, 2.7);
    sup_scene_spec_add_regions(spec, regions, SUP_COUNT(regions));
    sup_scene_spec_add_shapes(spec, shapes, SUP_COUNT(shapes));
    sup_scene_spec_add_joints(spec, joints, SUP_COUNT(joints));
    sup_scene_spec_add_motions(spec, motions, SUP_COUNT(motions));
    memcpy(spec->contacts, contacts, sizeof contacts);
    spec->contact_count = SUP_COUNT(contacts);
    memcpy(spec->extras, extras, sizeof extras);
    spec->extra_count = SUP_COUNT(extras);
    memcpy(spec->extra_shapes, extra_shapes, sizeof extra_shapes);
    spec->extra_shape_count = SUP_COUNT(extra_shapes);
}
