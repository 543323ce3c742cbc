/* human_organs.c - bones and muscles of the human: simple shapes at anatomical positions. Left side only. */
#include "scenes/human.h"

#define CONE(ax, ay, az, ra, bx, by, bz, rb) SUP_CONE(0, 0.012, 0.01, ax, ay, az, ra, bx, by, bz, rb)
#define SPHERE(x, y, z, rx, ry, rz, ux, uy, uz) SUP_SPHERE(0, 0.012, 0.01, x, y, z, rx, ry, rz, ux, uy, uz)

/* --- Bones --- */
static const sup_shape skull[] = {
    SPHERE(0, 1.668, -0.010, 0.068, 0.078, 0.088, 0, 0, 0),
    SPHERE(0, 1.622, 0.026, 0.050, 0.056, 0.050, 0, 0, 0),
    CONE(0.042, 1.592, 0.000, 0.012, 0.010, 1.556, 0.056, 0.011),
};
static const sup_shape neck_bones[] = {CONE(0, 1.440, -0.050, 0.018, 0, 1.575, -0.030, 0.016)};
static const sup_section rib_sections[] = {
    {1.115, 0, 0.002, 0.110, 0.110, 0.078, 0.066, 0.15},  {1.160, 0, 0.000, 0.122, 0.122, 0.085, 0.075, 0.20},
    {1.230, 0, -0.004, 0.136, 0.136, 0.093, 0.086, 0.25}, {1.300, 0, -0.008, 0.142, 0.142, 0.095, 0.094, 0.30},
    {1.355, 0, -0.014, 0.132, 0.132, 0.085, 0.091, 0.25}, {1.400, 0, -0.021, 0.104, 0.104, 0.064, 0.075, 0.15},
    {1.435, 0, -0.027, 0.060, 0.060, 0.042, 0.051, 0.00},
};
static const sup_shape rib_cage[] = {
    SUP_LOFT(0, 0.012, 0.01, 0, 0, 0, 0.030, 0, 1, 0, 0.020, rib_sections),
};
static const sup_shape lumbar[] = {CONE(0, 0.960, -0.040, 0.024, 0, 1.120, -0.044, 0.023)};
static const sup_shape pelvis[] = {
    SPHERE(0.080, 0.985, -0.014, 0.046, 0.055, 0.048, 0.25, 1.0, 0.0), /* ilium */
    SPHERE(0.000, 0.950, -0.052, 0.045, 0.055, 0.022, 0, 1.0, 0.25),   /* sacrum */
    CONE(0.066, 0.900, 0.024, 0.020, 0.000, 0.885, 0.044, 0.016),      /* pubis */
    CONE(0.078, 0.930, -0.014, 0.034, 0.058, 0.872, -0.032, 0.022),    /* hip socket and ischium */
};
static const sup_shape belly[] = {SPHERE(0, 1.056, 0.010, 0.098, 0.100, 0.058, 0, 0, 0)};
static const sup_shape shoulder_bones[] = {
    CONE(0.018, 1.424, 0.020, 0.006, 0.152, 1.428, -0.008, 0.007),     /* collarbone */
    SPHERE(0.092, 1.328, -0.086, 0.044, 0.064, 0.010, 0.2, 1.0, 0.12), /* scapula */
    CONE(0.100, 1.388, -0.080, 0.008, 0.158, 1.414, -0.026, 0.011),    /* spine of the scapula */
};
static const sup_shape upper_arm_bone[] = {
    SPHERE(0, 0.002, -0.002, 0.023, 0.024, 0.023, 0, 0, 0),
    CONE(0, 0.020, 0, 0.014, 0, 0.262, 0, 0.012),
    SPHERE(-0.002, 0.284, 0, 0.026, 0.016, 0.016, 0, 0, 0),
};
static const sup_shape lower_arm_bones[] = {
    CONE(0.012, 0.300, 0, 0.011, 0.013, 0.524, 0, 0.012),
    CONE(-0.014, 0.288, 0.002, 0.012, -0.012, 0.522, 0, 0.009),
};
static const sup_shape hand_bones[] = {
    SUP_FLAT_CONE(0, 0.012, 0.01, 0.002, 0.548, 0, 0.018, 0.000, 0.618, 0, 0.026, 1.1, 0.42),
};
static const sup_shape upper_leg_bone[] = {
    SPHERE(0.090, 0.915, -0.002, 0.023, 0.023, 0.023, 0, 0, 0),
    CONE(0.092, 0.912, -0.002, 0.016, 0.136, 0.890, -0.010, 0.019),
    CONE(0.132, 0.880, -0.009, 0.018, 0.113, 0.545, 0.000, 0.016),
    SPHERE(0.111, 0.508, 0.000, 0.036, 0.030, 0.032, 0, 0, 0),
    SPHERE(0.111, 0.498, 0.042, 0.018, 0.021, 0.009, 0, 0, 0), /* knee cap */
};
static const sup_shape lower_leg_bones[] = {
    CONE(0.111, 0.470, 0.004, 0.031, 0.115, 0.430, 0.007, 0.017),
    CONE(0.115, 0.430, 0.007, 0.017, 0.129, 0.100, -0.008, 0.014),
    SPHERE(0.128, 0.088, -0.012, 0.024, 0.018, 0.020, 0, 0, 0),
    CONE(0.142, 0.450, -0.018, 0.009, 0.150, 0.090, -0.016, 0.010),
};
static const sup_shape foot_bones[] = {
    SUP_FLAT_CONE(0, 0.012, 0.01, 0.130, 0.054, -0.020, 0.024, 0.141, 0.028, 0.110, 0.016, 1.3, 0.9),
    SPHERE(0.128, 0.036, -0.046, 0.021, 0.024, 0.024, 0, 0, 0),
};

/* --- Muscles --- */
static const sup_shape chest_muscle[] = {SPHERE(0.072, 1.312, 0.055, 0.072, 0.049, 0.030, -0.30, 1.0, -0.10)};
static const sup_shape belly_muscle[] = {
    SUP_FLAT_CONE(0, 0.012, 0.01, 0.036, 1.180, 0.068, 0.022, 0.030, 0.920, 0.068, 0.020, 1.5, 0.75),
};
static const sup_shape flank_muscle[] = {SPHERE(0.098, 1.055, 0.008, 0.030, 0.090, 0.068, 0, 0, 0)};
static const sup_shape back_muscle[] = {CONE(0.030, 0.975, -0.052, 0.018, 0.032, 1.300, -0.076, 0.016)};
static const sup_shape wide_back_muscle[] = {CONE(0.114, 1.290, -0.042, 0.030, 0.086, 1.110, -0.042, 0.022)};
static const sup_shape blade_muscle[] = {SPHERE(0.088, 1.330, -0.084, 0.056, 0.068, 0.024, 0.2, 1.0, 0.1)};
static const sup_shape hood_muscle[] = {CONE(0.030, 1.495, -0.036, 0.022, 0.145, 1.422, -0.022, 0.027)};
static const sup_shape neck_muscle[] = {
    CONE(0.018, 1.436, 0.008, 0.012, 0.044, 1.580, -0.020, 0.012),
    CONE(0.022, 1.450, -0.048, 0.020, 0.022, 1.565, -0.038, 0.019),
};
static const sup_shape shoulder_muscle[] = {SPHERE(0.188, 1.390, -0.014, 0.042, 0.056, 0.043, -0.6, 1.0, 0.0)};
static const sup_shape upper_arm_front[] = {SPHERE(0.020, 0.150, -0.002, 0.022, 0.078, 0.027, 0, 0, 0)};
static const sup_shape upper_arm_back[] = {SPHERE(-0.020, 0.130, 0.004, 0.022, 0.092, 0.030, 0, 0, 0)};
static const sup_shape lower_arm_front[] = {SPHERE(0.014, 0.362, 0.002, 0.019, 0.088, 0.026, 0, 0, 0)};
static const sup_shape lower_arm_back[] = {SPHERE(-0.010, 0.372, 0.002, 0.018, 0.092, 0.025, 0, 0, 0)};
static const sup_shape seat_muscle[] = {SPHERE(0.074, 0.888, -0.052, 0.062, 0.074, 0.052, 0.10, 1.0, -0.15)};
static const sup_shape thigh_front[] = {
    SPHERE(0.104, 0.700, 0.028, 0.046, 0.165, 0.038, 0.05, 1.0, 0),
    SPHERE(0.136, 0.700, 0.006, 0.030, 0.160, 0.040, 0.05, 1.0, 0),
};
static const sup_shape thigh_back[] = {SPHERE(0.104, 0.700, -0.034, 0.044, 0.165, 0.034, 0.05, 1.0, 0)};
static const sup_shape thigh_inner[] = {SPHERE(0.078, 0.785, -0.002, 0.034, 0.105, 0.046, 0.15, 1.0, 0)};
static const sup_shape calf[] = {
    SPHERE(0.114, 0.345, -0.032, 0.040, 0.105, 0.034, 0.05, -1.0, 0),
    CONE(0.118, 0.290, -0.024, 0.026, 0.127, 0.140, -0.026, 0.012),
};
static const sup_shape shin[] = {SPHERE(0.134, 0.335, 0.012, 0.024, 0.125, 0.026, 0.05, -1.0, 0)};

#define ORGAN(name, muscle, hollow, joint, reach, frame, table)                     \
    {                                                                               \
        name, muscle, hollow, joint, reach, frame, table, (int32_t)SUP_COUNT(table) \
    }
#define BONE(name, joint, reach, table) ORGAN(name, false, false, joint, reach, NULL, table)
#define ARM_BONE(name, joint, reach, table) ORGAN(name, false, false, joint, reach, &sup_human_arm, table)
#define MUSCLE(name, joint, table) ORGAN(name, true, false, joint, 0, NULL, table)
#define ARM_MUSCLE(name, joint, table) ORGAN(name, true, false, joint, 0, &sup_human_arm, table)

/* The first organ of each kind is unpaired: the organs of both sides are joined with it. */
static const sup_organ_spec organs[] = {
    BONE("rib_cage", "chest", 0, rib_cage),
    BONE("skull", "head", 0, skull),
    BONE("neck", "neck", 0.02, neck_bones),
    BONE("lumbar_spine", "spine", 0.02, lumbar),
    BONE("pelvis", "hips", 0, pelvis),
    ORGAN("belly", false, true, NULL, 0, NULL, belly),
    BONE("*shoulder_blade", "*shoulder", 0, shoulder_bones),
    ARM_BONE("*upper_arm", "*upper_arm", 0.035, upper_arm_bone),
    ARM_BONE("*lower_arm", "*lower_arm", 0.030, lower_arm_bones),
    ARM_BONE("*hand", "*hand", 0.02, hand_bones),
    BONE("*upper_leg", "*upper_leg", 0.045, upper_leg_bone),
    BONE("*lower_leg", "*lower_leg", 0.035, lower_leg_bones),
    BONE("*foot", "*foot", 0.020, foot_bones),
    MUSCLE("belly_muscle", "spine", belly_muscle),
    MUSCLE("*chest_muscle", "chest", chest_muscle),
    MUSCLE("*flank_muscle", "spine", flank_muscle),
    MUSCLE("*back_muscle", "spine1", back_muscle),
    MUSCLE("*wide_back_muscle", "chest", wide_back_muscle),
    MUSCLE("*blade_muscle", "*shoulder", blade_muscle),
    MUSCLE("*hood_muscle", "*shoulder", hood_muscle),
    MUSCLE("*neck_muscle", "neck", neck_muscle),
    MUSCLE("*shoulder_muscle", "*upper_arm", shoulder_muscle),
    ARM_MUSCLE("*upper_arm_front", "*upper_arm", upper_arm_front),
    ARM_MUSCLE("*upper_arm_back", "*upper_arm", upper_arm_back),
    ARM_MUSCLE("*lower_arm_front", "*lower_arm", lower_arm_front),
    ARM_MUSCLE("*lower_arm_back", "*lower_arm", lower_arm_back),
    MUSCLE("*seat_muscle", "hips", seat_muscle),
    MUSCLE("*thigh_front", "*upper_leg", thigh_front),
    MUSCLE("*thigh_back", "*upper_leg", thigh_back),
    MUSCLE("*thigh_inner", "*upper_leg", thigh_inner),
    MUSCLE("*calf", "*lower_leg", calf),
    MUSCLE("*shin", "*lower_leg", shin),
};

void sup_scene_spec_add_human_organs(sup_scene_spec *spec)
{
    spec->organs = organs;
    spec->organ_count = SUP_COUNT(organs);
}
