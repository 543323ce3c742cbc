/* anatomy.h - the body inside: bones, muscles and fat as three surfaces of one triangulation.
 *
 * The road: shapes -> sup_composition_train (once), skin + bones + muscles -> sup_anatomy_create (once), then for each
 * person scan -> sup_register -> sup_body_fit -> sup_body_character -> bind with method "anatomy"; sup_body_grow in between.
 * Based on: [komaritzan2022] chapter 4. Metres, kilograms, Y up, +Z forward, double; inputs in other units and
 * orientations are turned by sup_register. Plain data to read; what sup_x_create gives, sup_x_destroy frees. */
#ifndef SUPPLE_ANATOMY_H
#define SUPPLE_ANATOMY_H

#include "supple/character.h"

/* A triangle mesh in double, borrowed. */
typedef struct sup_shape {
    int32_t vertex_count, triangle_count;
    const double *positions;  /* [vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] outward */
} sup_shape;

/* Joints, parents before children. */
typedef struct sup_joints {
    int32_t count;
    const char *const *names;
    const int32_t *parents;  /* -1 for the root */
    const double *positions; /* [count*3] */
} sup_joints;

typedef enum sup_sex { SUP_SEX_UNKNOWN, SUP_SEX_FEMALE, SUP_SEX_MALE } sup_sex;

/* Groups that grow and shrink on their own (4.2.4), and what is outside all of them. */
typedef enum sup_muscle_group {
    SUP_GROUP_NONE,
    SUP_GROUP_UPPER_LEG,
    SUP_GROUP_LOWER_LEG,
    SUP_GROUP_UPPER_ARM,
    SUP_GROUP_LOWER_ARM,
    SUP_GROUP_CHEST,
    SUP_GROUP_ABDOMEN,
    SUP_GROUP_SHOULDER,
    SUP_GROUP_BACK,
    SUP_GROUP_COUNT
} sup_muscle_group;

/* Where fat grows at its own rate (4.3.4). */
typedef enum sup_body_region {
    SUP_REGION_LEGS,
    SUP_REGION_BELLY,
    SUP_REGION_CHEST,
    SUP_REGION_ARMS,
    SUP_REGION_COUNT
} sup_body_region;

/* The surface template: one triangulation, its rig, the space of its shapes (PCA of pose-normalised bodies), and the
 * regressors of fat and muscle mass (eq. 4.5, 4.6), one pair a sex. */
typedef struct sup_composition {
    int32_t vertex_count, triangle_count, mode_count, joint_count;
    int32_t *triangles;       /* [triangle_count*3] */
    double *mean;             /* [vertex_count*3] */
    double *modes;            /* [mode_count][vertex_count*3] orthonormal */
    double *deviation;        /* [mode_count] standard deviation of the coordinate, metres */
    char **joint_names;       /* [joint_count] */
    int32_t *parents;         /* [joint_count] */
    double *joint_mean;       /* [joint_count*3] */
    double *joint_modes;      /* [mode_count][joint_count*3]: joints go with the shape, linearly */
    int32_t *influence_first; /* [vertex_count+1] weights for posing */
    int32_t *influence_joint;
    double *influence_weight;
    unsigned char *excluded;  /* [vertex_count] head, hands, toes: not in PCA coordinates for masses, no layers */
    double fat[3], muscle[3]; /* b of eq. 4.5, 4.6 by sup_sex */
    double *fat_slope, *muscle_slope; /* [3][mode_count] a */
    struct sup_anatomy_storage *storage;
} sup_composition;

/* The volumetric template: three layers over the surface template's triangulation (or over any skin's own), maps on it, and
 * the detailed bones and muscles inside. */
typedef struct sup_anatomy {
    int32_t vertex_count, triangle_count, joint_count;
    int32_t *triangles;
    double *skin, *muscle, *bone; /* [vertex_count*3]; equal where excluded */
    unsigned char *excluded;      /* [vertex_count] head, hands, toes */
    double *thickness;            /* [vertex_count] muscle along the line from bone to skin, metres */
    unsigned char *group;         /* [vertex_count] sup_muscle_group */
    unsigned char *region;        /* [vertex_count] sup_body_region */
    unsigned char *crotch;        /* [vertex_count] 1: no fat is counted here (eq. 4.12) */
    char **joint_names;
    int32_t *parents;
    double *joints;           /* [joint_count*3] in the template's pose */
    int32_t *influence_first; /* [vertex_count+1] of the skin on the joints */
    int32_t *influence_joint;
    double *influence_weight;
    int32_t *bone_joint; /* [vertex_count] joint that holds the bone surface here; -1: slides (4.3.3) */
    /* Detailed meshes: part p has vertices [part_vertex[p], part_vertex[p+1]) and triangles likewise. */
    int32_t part_count, detail_vertex_count, detail_triangle_count;
    char **part_names;
    unsigned char *part_is_muscle;        /* [part_count] */
    int32_t *part_joint;                  /* [part_count] bones: joint that carries it; -1: by weights of the layers */
    int32_t *part_vertex, *part_triangle; /* [part_count+1] */
    double *detail;                       /* [detail_vertex_count*3] */
    int32_t *detail_triangles;            /* [detail_triangle_count*3] */
    sup_sex sex;
    struct sup_anatomy_storage *storage;
} sup_anatomy;

typedef struct sup_body_masses {
    double fat, muscle;             /* FM, MM (eq. 4.12, 4.13), kg */
    double fat_asked, muscle_asked; /* from the caller or the regressors */
    double fat_least, fat_most;     /* the range of the layers: muscle at most and at least */
    double muscle_least, muscle_most;
    double fat_layer, muscle_layer;                  /* litres */
    double visceral, skin, crotch, abdomen, missing; /* kg, corrections of eq. 4.12 and 4.13 */
    bool clamped;
} sup_body_masses;

/* A person: the template's triangulation and maps with that person's three surfaces. Joints, parts and weights as in the
 * template; positions are this person's own, in the pose of `skin`. */
typedef struct sup_body {
    const char *name;
    sup_anatomy layers; /* all arrays owned by the body */
    double height;      /* metres */
    sup_body_masses masses;
    double alignment; /* mean of eq. 4.4 */
    struct sup_anatomy_storage *storage;
} sup_body;

#endif
