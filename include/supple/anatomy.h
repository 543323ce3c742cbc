/* anatomy.h - bones, muscles and fat inside a skin, as three surfaces of one triangulation.
 *
 * Pipeline: shapes -> sup_composition_train (once); skin + bones + muscles -> sup_anatomy_create (once); then per
 * person: scan -> sup_register -> sup_body_fit -> sup_body_character -> bind with method "anatomy". sup_body_grow
 * changes a fitted body.
 * Based on: [komaritzan2022] chapter 4. Metres, kilograms, Y up, +Z forward, double precision; sup_register converts
 * scans in other units and orientations. Structs are plain data to read; free the result of sup_x_create with
 * sup_x_destroy. */
#ifndef SUPPLE_ANATOMY_H
#define SUPPLE_ANATOMY_H

#include "supple/character.h"

/* A triangle mesh in double precision; borrows its arrays. */
typedef struct sup_shape {
    int32_t vertex_count, triangle_count;
    const double *positions;  /* [vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] facing outward */
} sup_shape;

/* Joints, parents before children. */
typedef struct sup_joints {
    int32_t count;
    const char *const *names;
    const int32_t *parents;  /* -1 for the root */
    const double *positions; /* [count*3] */
} sup_joints;

typedef enum sup_sex { SUP_SEX_UNKNOWN, SUP_SEX_FEMALE, SUP_SEX_MALE } sup_sex;

/* Muscle groups that grow and shrink independently (4.2.4), and NONE for all other muscles. */
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

/* Regions with their own growth rate of fat (4.3.4). */
typedef enum sup_body_region {
    SUP_REGION_LEGS,
    SUP_REGION_BELLY,
    SUP_REGION_CHEST,
    SUP_REGION_ARMS,
    SUP_REGION_COUNT
} sup_body_region;

/* The surface template: one triangulation, its rig, its shape space (PCA of pose-normalised bodies), and regressors
 * of fat and muscle mass (eq. 4.5, 4.6), one pair per sex. */
typedef struct sup_composition {
    int32_t vertex_count, triangle_count, mode_count, joint_count;
    int32_t *triangles;       /* [triangle_count*3] */
    double *mean;             /* [vertex_count*3] */
    double *modes;            /* [mode_count][vertex_count*3] orthonormal */
    double *deviation;        /* [mode_count] standard deviation of the coordinate, metres */
    char **joint_names;       /* [joint_count] */
    int32_t *parents;         /* [joint_count] */
    double *joint_mean;       /* [joint_count*3] */
    double *joint_modes;      /* [mode_count][joint_count*3]: joints are linear in the shape */
    int32_t *influence_first; /* [vertex_count+1] skin weights for posing */
    int32_t *influence_joint;
    double *influence_weight;
    /* [vertex_count] head, hands, toes: not used for the PCA coordinates of masses, no layers */
    unsigned char *excluded;
    double fat[3], muscle[3];         /* b of eq. 4.5, 4.6, indexed by sup_sex */
    double *fat_slope, *muscle_slope; /* [3][mode_count] a of eq. 4.5, 4.6 */
    struct sup_anatomy_storage *storage;
} sup_composition;

/* The volumetric template: three layers over the triangulation of the surface template (or of any skin), per-vertex
 * maps, and the organs (detailed bones and muscles) inside. */
typedef struct sup_anatomy {
    int32_t vertex_count, triangle_count, joint_count;
    int32_t *triangles;
    double *skin, *muscle, *bone; /* [vertex_count*3]; equal at excluded vertices */
    unsigned char *excluded;      /* [vertex_count] head, hands, toes */
    double *thickness;            /* [vertex_count] thickness of muscle along the line from bone to skin, metres */
    unsigned char *group;         /* [vertex_count] sup_muscle_group */
    unsigned char *region;        /* [vertex_count] sup_body_region */
    unsigned char *crotch;        /* [vertex_count] 1: fat is not counted here (eq. 4.12) */
    char **joint_names;
    int32_t *parents;
    double *joints;           /* [joint_count*3] in the template's pose */
    int32_t *influence_first; /* [vertex_count+1] skin weights on the joints */
    int32_t *influence_joint;
    double *influence_weight;
    int32_t *bone_joint; /* [vertex_count] joint that the bone surface follows here; -1: slides (4.3.3) */
    /* Organ meshes: organ p has vertices [organ_vertex[p], organ_vertex[p+1]); its triangles are indexed in the same
     * way. */
    int32_t organ_count, detail_vertex_count, detail_triangle_count;
    char **organ_names;
    unsigned char *organ_is_muscle; /* [organ_count] */
    /* [organ_count] bones: joint that it follows; -1: found from the weights of the layers */
    int32_t *organ_joint;
    int32_t *organ_vertex, *organ_triangle; /* [organ_count+1] */
    double *detail;                         /* [detail_vertex_count*3] */
    int32_t *detail_triangles;              /* [detail_triangle_count*3] */
    sup_sex sex;
    struct sup_anatomy_storage *storage;
} sup_anatomy;

typedef struct sup_body_masses {
    double fat, muscle;               /* FM, MM (eq. 4.12, 4.13), kg */
    double fat_target, muscle_target; /* from the caller or the regressors, kg */
    /* range of the layers with the largest and the smallest muscles, kg */
    double fat_min, fat_max;
    double muscle_min, muscle_max;
    double fat_layer, muscle_layer;                  /* litres */
    double visceral, skin, crotch, abdomen, missing; /* corrections of eq. 4.12 and 4.13, kg */
    bool clamped;
} sup_body_masses;

/* A person: the template's triangulation and maps with this person's three surfaces. Joints, organs and weights as
 * in the template; all positions are this person's, in the pose of `skin`. */
typedef struct sup_body {
    const char *name;
    sup_anatomy layers; /* the body owns all arrays */
    double height;      /* metres */
    sup_body_masses masses;
    double alignment; /* mean of eq. 4.4 over vertices with layers */
    double scale;     /* d_h: thickness of the bones relative to the template's */
    /* [vertex_count] length of abdominal cavity on the line from bone to muscle, metres (4.2.4) */
    double *cavity;
    /* vertices of a layer outside the next one, inverted prisms: 0 after a successful fit */
    int32_t crossings, inverted;
    int32_t moved, closed; /* vertices that the final repair moved; vertices in sharp folds without layers */
    struct sup_anatomy_storage *storage;
} sup_body;

/* --- Composition and registration (composition.c, train.c, register.c) --- */

/* A body of the training set. Masses of 0 are estimated by population formulas (sup_person_label). */
typedef struct sup_person {
    sup_sex sex;
    double age, height, weight; /* years, metres, kilograms */
    double african, asian;      /* fractions of ancestry, 0 to 1, for the muscle formula; 0 if not known */
    double fat, muscle;         /* kilograms, measured; 0 = not measured */
} sup_person;

/* Bodies of one triangulation in one pose, metres, Y up. Plain data; sup_shapes_load reads a folder. */
typedef struct sup_shapes {
    int32_t body_count, vertex_count, triangle_count, joint_count;
    const float *positions;   /* [body_count][vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] */
    const char *const *joint_names;
    const int32_t *parents;    /* [joint_count] parents before children; the first joint is the only root (-1) */
    const float *joints;       /* [body_count][joint_count*3] */
    const sup_person *persons; /* [body_count] */
    struct sup_shapes_storage *storage;
} sup_shapes;

/* Estimates masses that are 0 in `person`: fat mass by Deurenberg et al. 1991 (percent of weight from body mass
 * index, age and sex), skeletal muscle mass by Lee et al. 2000 (weight, height, sex, age, ancestry). These are
 * formulas of adult populations; the error for one person is several kilograms. */
SUP_API void sup_person_label(const sup_person *person, double *fat, double *muscle);

typedef struct sup_train_def {
    int32_t mode_count;      /* modes of the shape space, 0 = 20, at most body_count - 1 */
    int32_t regressor_modes; /* modes that the mass regressors use, 0 = 12 */
    sup_progress_fn *progress;
    void *progress_user;
} sup_train_def;

/* Leave-one-out errors: the masses of each body are predicted from all other bodies of its sex. */
typedef struct sup_train_errors {
    int32_t count;           /* bodies */
    double minimum, maximum; /* range of the labels, kilograms */
    double mean_error;       /* mean absolute error, kilograms */
    double deviation;        /* standard deviation of the absolute error, kilograms */
    double r2;               /* fraction of the variance of the labels that is predicted */
} sup_train_errors;

typedef struct sup_train_report {
    double variance;                    /* fraction of the variance that the modes explain, 0 to 1 */
    int32_t labelled;                   /* bodies whose masses were estimated by formulas */
    sup_train_errors fat[3], muscle[3]; /* indexed by sup_sex; [SUP_SEX_UNKNOWN]: all bodies */
} sup_train_report;

/* Computes principal components, joints and skin weights (bone heat) of the mean body, and the regressors of eq. 4.5
 * and 4.6. `def` and `report` may be NULL. */
SUP_API sup_result sup_composition_train(const sup_context *context, const sup_shapes *shapes, const sup_train_def *def,
                                         sup_composition **composition, sup_train_report *report, sup_error *error);
SUP_API void sup_composition_destroy(sup_composition *composition);
/* Serialises and reads back; free the bytes with sup_composition_bytes_free. */
SUP_API sup_result sup_composition_write(const sup_context *context, const sup_composition *composition,
                                         sup_bytes *bytes, sup_error *error);
SUP_API void sup_composition_bytes_free(const sup_context *context, sup_bytes *bytes);
SUP_API sup_result sup_composition_read(const sup_context *context, sup_bytes bytes, sup_composition **composition,
                                        sup_error *error);

/* Coordinates [mode_count] of a skin [vertex_count*3] in the template's pose: least squares over all vertices that
 * are not excluded, with the deviations of the modes as a prior. */
SUP_API sup_result sup_composition_coordinates(const sup_context *context, const sup_composition *composition,
                                               const double *skin, double *coordinates, sup_error *error);
/* Eq. 4.5 and 4.6; at least 0.01 kg. */
SUP_API void sup_composition_masses(const sup_composition *composition, const double *coordinates, sup_sex sex,
                                    double *fat, double *muscle);

/* A rigged character from a skin with the template's triangulation and its joints, in the pose of that skin. */
SUP_API sup_result sup_composition_character(const sup_context *context, const sup_composition *composition,
                                             const double *skin, const double *joints, sup_character **character,
                                             sup_error *error);

/* A known position on the scan: of a template vertex, or of a joint if `joint` is not NULL. */
typedef struct sup_landmark {
    const char *joint; /* name, or NULL */
    int32_t vertex;
    double position[3]; /* in scan coordinates */
} sup_landmark;

typedef struct sup_register_def {
    const sup_landmark *landmarks;
    int32_t landmark_count;
    double metres_per_unit; /* 0 = estimated from the height */
    sup_progress_fn *progress;
    void *progress_user;
} sup_register_def;

/* The surface template registered to a scan. Metres, Y up, +Z forward, feet near y = 0. */
typedef struct sup_registration {
    int32_t vertex_count, joint_count, mode_count;
    double *posed;        /* [vertex_count*3] in the scan's pose */
    double *rest;         /* [vertex_count*3] the same skin in the template's pose */
    double *joints;       /* [joint_count*3] in the scan's pose */
    double *rest_joints;  /* [joint_count*3] in the template's pose */
    double *rotations;    /* [joint_count*4] x y z w, rotation of each joint from the template's pose to the scan's */
    double *coefficients; /* [mode_count] */
    double *seen;         /* [vertex_count] 1: covered by the scan, 0: hole, the surface is extrapolated */
    double from_scan[12]; /* [A | t] row-major: scan coordinates to the coordinates of this struct */
    double metres_per_unit;
    bool inside_out;    /* the faces of the scan pointed inward and were flipped */
    bool is_cloud;      /* the scan has no triangles */
    double dropped;     /* fraction of the scan that was removed as floor or debris */
    double model_error; /* mean distance of the scan to the posed model, before the fine fit, metres */
    double mean_error;  /* mean distance of the scan to the surface, without outliers, metres */
    double p95_error;   /* 95th percentile over all of the scan that was kept, metres */
    double coverage;    /* fraction of the template's area that the scan covers */
    double explained;   /* fraction of the kept scan within 2 cm of the surface */
    struct sup_anatomy_storage *storage;
} sup_registration;

/* The scan may be in any unit from millimetres to metres and in any orientation, with floor, debris, holes, noise,
 * flipped faces or inside out; without triangles it is a point cloud. Anything but a whole human is refused:
 * SUP_ERROR_DATA, anatomy.scan.*. `def` may be NULL. */
SUP_API sup_result sup_register(const sup_context *context, const sup_composition *composition, sup_shape scan,
                                const sup_register_def *def, sup_registration **registration, sup_error *error);
SUP_API void sup_registration_destroy(sup_registration *registration);

/* Poses a skin and its joints like other joints (4.2.4: the scan in the template's pose): each bone keeps its length
 * and takes the direction of the same bone in `like`; the skin follows by linear blending. Joints are those of the
 * composition. In: `skin` [vertex_count*3], `joints` [joint_count*3], `like` [joint_count*3] the joints to copy.
 * Out: the same sizes, with the hips at their position in `like`. */
SUP_API sup_result sup_pose_like(const sup_context *context, const sup_composition *composition, const double *skin,
                                 const double *joints, const double *like, double *skin_out, double *joints_out,
                                 sup_error *error);

/* File functions, in supple_io. sup_shapes_load reads a folder of bodies (header.json, params.csv and arrays; see
 * docs/methods/anatomy.md). */
SUP_API sup_result sup_shapes_load(const sup_context *context, const char *path, sup_shapes **shapes, sup_error *error);
SUP_API void sup_shapes_destroy(sup_shapes *shapes);
SUP_API sup_result sup_composition_load(const sup_context *context, const char *path, sup_composition **composition,
                                        sup_error *error);
SUP_API sup_result sup_composition_save(const sup_context *context, const sup_composition *composition,
                                        const char *path, sup_error *error);
/* Writes a mesh as .obj. */
SUP_API sup_result sup_shape_save(const sup_context *context, sup_shape shape, const char *path, sup_error *error);
/* Landmarks for sup_register: one per line, "VERTEX x y z" or "JOINT_NAME x y z"; "#" starts a comment. */
typedef struct sup_landmarks {
    int32_t count;
    const sup_landmark *items;
    struct sup_landmarks_storage *storage; /* internal */
} sup_landmarks;
SUP_API sup_result sup_landmarks_load(const sup_context *context, const char *path, sup_landmarks **landmarks,
                                      sup_error *error);
SUP_API void sup_landmarks_destroy(sup_landmarks *landmarks);

/* --- Template (4.2.2) --- */

/* An organ: a detailed bone or muscle. */
typedef struct sup_anatomy_organ {
    const char *name;
    sup_shape shape; /* any triangles: may be open or intersect others */
    bool is_muscle;
    int32_t joint; /* bones: joint that it follows; -1 = the nearest */
} sup_anatomy_organ;

typedef struct sup_anatomy_def {
    sup_shape skin; /* closed, facing outward, vertices welded */
    sup_joints joints;
    const sup_anatomy_organ *organs;
    int32_t organ_count;
    sup_shape wrap; /* closed surface around the bones; computed if it has no triangles */
    /* Skin weights on the joints; NULL = bone heat weights. */
    const int32_t *influence_first; /* [vertex_count+1] */
    const int32_t *influence_joint;
    const double *influence_weight;
    /* No layers at joints whose name contains one of these comma-separated words, nor at their descendants. NULL =
     * common names of head, hands and toes. */
    const char *exclude;
    const unsigned char *excluded; /* [vertex_count] 1: no layers here either; NULL = none */
    sup_sex sex;
    sup_progress_fn *progress;
    void *progress_user;
} sup_anatomy_def;

/* Quality of a template; lengths in metres. */
typedef struct sup_anatomy_report {
    double alignment_mean, alignment_p95;   /* eq. 4.4 over vertices with layers */
    int32_t wrap_vertices, wrap_components; /* of the wrap */
    int32_t wrap_genus;                     /* genus, summed over its components */
    /* vertices of a layer outside the next: bone outside muscle, muscle outside skin */
    int32_t bone_outside, muscle_outside;
    int32_t wrap_outside; /* vertices of the wrap outside the skeleton surface */
    /* organ vertices of bones outside the skeleton surface; without head, hands and feet */
    int32_t detail_outside;
    int32_t inverted_fat, inverted_muscle; /* prisms without positive volume */
    int32_t fixed_targets, collision_targets, iterations;
    int32_t smoothed_vertices; /* vertices of skin folds that were smoothed: navel, nipples, slivers */
    double smoothed_max;       /* largest displacement of such a vertex */
    double wrap_distance;      /* mean distance between skeleton surface and wrap */
    double wrap_seconds, bone_seconds, muscle_seconds;
} sup_anatomy_report;

/* `report` may be NULL. Each unusable input has its own error id: no skeleton, no skin, a skin that is not closed or
 * inside out, no bones, bones outside the skin. */
SUP_API sup_result sup_anatomy_create(const sup_context *context, const sup_anatomy_def *def, sup_anatomy **anatomy,
                                      sup_anatomy_report *report, sup_error *error);
SUP_API void sup_anatomy_destroy(sup_anatomy *anatomy);

/* Serialises a template and reads it back; free the bytes with sup_anatomy_bytes_free. Untrusted bytes are checked. */
SUP_API sup_result sup_anatomy_write(const sup_context *context, const sup_anatomy *anatomy, sup_bytes *bytes,
                                     sup_error *error);
SUP_API sup_result sup_anatomy_read(const sup_context *context, sup_bytes bytes, sup_anatomy **anatomy,
                                    sup_error *error);
SUP_API void sup_anatomy_bytes_free(const sup_context *context, sup_bytes *bytes);
/* File functions, in supple_io. */
SUP_API sup_result sup_anatomy_load(const sup_context *context, const char *path, sup_anatomy **anatomy,
                                    sup_error *error);
SUP_API sup_result sup_anatomy_save(const sup_context *context, const sup_anatomy *anatomy, const char *path,
                                    sup_error *error);
/* Sets the joints of bones from a JSON file: {"bone_to_joint": {BONE: JOINT, ...}}; *attached gets the number of
 * bones that were set. If the file has a skeleton, "joints": [{"name", "parent", "position"}, ...], JOINT is one of its
 * names: joints of other names in the template are found by their role, side and place. Lines without an effect and
 * bones without a line are warnings in the log. */
SUP_API sup_result sup_anatomy_attach(const sup_context *context, const char *path, const sup_joints *joints,
                                      sup_anatomy_organ *organs, int32_t organ_count, int32_t *attached,
                                      sup_error *error);
/* --- Fitting the template to a person (4.2.4) --- */

/* The warp that moves the template's organs into a person (eq. 4.15). Depends only on the template: create it once
 * for many fits. Centres 0 = 5000 for bones, 7000 for muscles. */
typedef struct sup_anatomy_warp sup_anatomy_warp;
SUP_API sup_result sup_anatomy_warp_create(const sup_context *context, const sup_anatomy *anatomy, int32_t bone_centres,
                                           int32_t muscle_centres, sup_anatomy_warp **warp, sup_error *error);
SUP_API void sup_anatomy_warp_destroy(sup_anatomy_warp *warp);

typedef struct sup_body_fit_def {
    const char *name; /* NULL: "body" */
    /* [vertex_count*3] the person's skin on the template's triangulation, metres, Y up, near the template's pose */
    const double *skin;
    /* the person's joints, matched by name; NULL or missing joints: estimated from the skin */
    const sup_joints *joints;
    sup_sex sex; /* unknown: the template's */
    /* target masses, kg; 0: no target. Without any target the muscles keep the template's proportions */
    double fat, muscle;
    sup_anatomy_warp *warp; /* NULL: created for this call */
    bool no_details;        /* skip the organs */
    sup_progress_fn *progress;
    void *progress_user;
} sup_body_fit_def;

/* Poses a skin of the composition's triangulation (which must be the template's too) like the template, as input for
 * sup_body_fit. `joints` are the composition's joints in that skin; NULL: estimated from it. `posed` gets
 * vertex_count*3, `posed_joints` the composition's joint_count*3. */
SUP_API sup_result sup_skin_like_template(const sup_context *context, const sup_anatomy *anatomy,
                                          const sup_composition *composition, const double *skin, const double *joints,
                                          double *posed, double *posed_joints, sup_error *error);

/* Refuses skins that are inside out, not finite or not of human size: SUP_ERROR_DATA, anatomy.fit.*. */
SUP_API sup_result sup_body_fit(const sup_context *context, const sup_anatomy *anatomy, const sup_body_fit_def *def,
                                sup_body **body, sup_error *error);
SUP_API void sup_body_destroy(sup_body *body);

/* The body as a character: one skinned primitive "skin" with its layers, then the organs, each attached to its
 * joint. Masses and maps are in the extras, from which sup_body_from_character restores the body. */
SUP_API sup_result sup_body_character(const sup_context *context, const sup_body *body, sup_character **character,
                                      sup_error *error);
/* In supple_io. Refuses characters that sup_body_character did not make: SUP_ERROR_DATA, anatomy.body.*. */
SUP_API sup_result sup_body_from_character(const sup_context *context, const sup_character *character, sup_body **body,
                                           sup_error *error);

/* --- Growth and loss of fat (4.3.4) --- */

typedef struct sup_body_grow_def {
    double fat;                    /* kg to gain; negative: to lose */
    double rate[SUP_REGION_COUNT]; /* relative growth rate of each region, 0 or more; all 0: equal rates */
    /* body with the distribution of fat to use, same triangulation; NULL: the body itself */
    const sup_body *from;
    /* fraction of the mass that grows evenly along the normals; 0: all where fat already is */
    double pressure;
    bool no_visceral; /* keep the muscles of the belly in place: no visceral fat */
    sup_progress_fn *progress;
    void *progress_user;
} sup_body_grow_def;

/* Creates a new body. masses.fat_target is the requested mass; masses.clamped is set if it could not be reached: a
 * body loses only the fat of its layers, and the skin does not shrink to a smaller skeleton. */
SUP_API sup_result sup_body_grow(const sup_context *context, const sup_body *body, const sup_body_grow_def *def,
                                 sup_body **grown, sup_error *error);

#endif
