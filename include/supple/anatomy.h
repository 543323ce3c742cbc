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
    int32_t organ_count, detail_vertex_count, detail_triangle_count;
    char **organ_names;
    unsigned char *organ_is_muscle; /* [part_count] */
    int32_t *organ_joint;           /* [part_count] bones: joint that carries it; -1: by weights of the layers */
    int32_t *organ_vertex, *organ_triangle; /* [part_count+1] */
    double *detail;                         /* [detail_vertex_count*3] */
    int32_t *detail_triangles;              /* [detail_triangle_count*3] */
    sup_sex sex;
    struct sup_anatomy_storage *storage;
} sup_anatomy;

typedef struct sup_body_masses {
    double fat, muscle;               /* FM, MM (eq. 4.12, 4.13), kg */
    double fat_target, muscle_target; /* from the caller or the regressors */
    double fat_min, fat_max;          /* the range of the layers: muscle at most and at least */
    double muscle_min, muscle_max;
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
    double scale;     /* d_h: how much thicker its bones are than the template's */
    double *cavity;   /* [vertex_count] metres of the line from bone to muscle that are abdominal cavity (4.2.4) */
    int32_t crossings, inverted; /* vertices of a layer outside the next, prisms turned over: 0 when all went well */
    int32_t moved, closed;       /* vertices that the last pass moved; those of sharp folds without any layers */
    struct sup_anatomy_storage *storage;
} sup_body;

/* --- Composition and registration (composition.c, train.c, register.c) --- */

/* Who a body of the training set is. Masses of 0 are filled in from population formulas (sup_person_label). */
typedef struct sup_person {
    sup_sex sex;
    double age, height, weight; /* years, metres, kilograms */
    double african, asian;      /* shares of ancestry, 0 to 1, for the muscle formula; 0 when not known */
    double fat, muscle;         /* kilograms, measured; 0 = not measured */
} sup_person;

/* Bodies of one triangulation in one pose, metres, Y up. Plain data; sup_shapes_load fills one from a folder. */
typedef struct sup_shapes {
    int32_t body_count, vertex_count, triangle_count, joint_count;
    const float *positions;   /* [body_count][vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] */
    const char *const *joint_names;
    const int32_t *parents;    /* [joint_count] parents before children, the first is the only root (-1) */
    const float *joints;       /* [body_count][joint_count*3] */
    const sup_person *persons; /* [body_count] */
    struct sup_shapes_storage *storage;
} sup_shapes;

/* Fat mass by Deurenberg et al. 1991 (percent of weight from body mass index, age and sex) and skeletal muscle mass by Lee
 * et al. 2000 (weight, height, sex, age, ancestry), of what is 0 in `person`. Formulas of adult populations, not
 * measurements of this person: several kilograms of error each. */
SUP_API void sup_person_label(const sup_person *person, double *fat, double *muscle);

typedef struct sup_train_def {
    int32_t mode_count;      /* of the shape space, 0 = 20, at most body_count - 1 */
    int32_t regressor_modes; /* that masses are told from, 0 = 12 */
    sup_progress_fn *progress;
    void *progress_user;
} sup_train_def;

/* Errors of the regressors where each body is told from all others of its sex. */
typedef struct sup_train_errors {
    int32_t count;           /* bodies */
    double minimum, maximum; /* kilograms, of the labels */
    double mean_error;       /* kilograms, mean absolute */
    double deviation;        /* of the absolute error */
    double r2;               /* share of the variance of the labels that is told */
} sup_train_errors;

typedef struct sup_train_report {
    double variance;                    /* share that the modes hold, 0 to 1 */
    int32_t labelled;                   /* bodies whose masses came from formulas */
    sup_train_errors fat[3], muscle[3]; /* by sup_sex; [SUP_SEX_UNKNOWN]: all bodies together */
} sup_train_report;

/* Principal components, joints and skin weights (bone heat) of the mean, regressors of eq. 4.5 and 4.6. `def` and `report`
 * may be NULL. */
SUP_API sup_result sup_composition_train(const sup_context *context, const sup_shapes *shapes, const sup_train_def *def,
                                         sup_composition **composition, sup_train_report *report, sup_error *error);
SUP_API void sup_composition_destroy(sup_composition *composition);
/* As bytes and back; free them with sup_composition_bytes_free. */
SUP_API sup_result sup_composition_write(const sup_context *context, const sup_composition *composition,
                                         sup_bytes *bytes, sup_error *error);
SUP_API void sup_composition_bytes_free(const sup_context *context, sup_bytes *bytes);
SUP_API sup_result sup_composition_read(const sup_context *context, sup_bytes bytes, sup_composition **composition,
                                        sup_error *error);

/* Coordinates [mode_count] of a skin [vertex_count*3] in the template's pose: least squares over all vertices that are not
 * excluded, with the modes' deviations as a prior. */
SUP_API sup_result sup_composition_coordinates(const sup_context *context, const sup_composition *composition,
                                               const double *skin, double *coordinates, sup_error *error);
/* Eq. 4.5 and 4.6, never below 1 % of a kilogram. */
SUP_API void sup_composition_masses(const sup_composition *composition, const double *coordinates, sup_sex sex,
                                    double *fat, double *muscle);

/* A skin of the template's triangulation with its joints, rigged, as a character in that pose. */
SUP_API sup_result sup_composition_character(const sup_context *context, const sup_composition *composition,
                                             const double *skin, const double *joints, sup_character **character,
                                             sup_error *error);

/* A place on the scan that is known: of a vertex of the template, or of a joint where `joint` is given. */
typedef struct sup_landmark {
    const char *joint; /* name, or NULL */
    int32_t vertex;
    double position[3]; /* in the scan's own coordinates */
} sup_landmark;

typedef struct sup_register_def {
    const sup_landmark *landmarks;
    int32_t landmark_count;
    double metres_per_unit; /* 0 = told from the height */
    sup_progress_fn *progress;
    void *progress_user;
} sup_register_def;

/* The surface template on a scan. All in metres, Y up, +Z forward, feet near y = 0. */
typedef struct sup_registration {
    int32_t vertex_count, joint_count, mode_count;
    double *posed;        /* [vertex_count*3] in the scan's pose */
    double *rest;         /* [vertex_count*3] the same skin in the template's pose */
    double *joints;       /* [joint_count*3] in the scan's pose */
    double *rest_joints;  /* [joint_count*3] in the template's pose */
    double *rotations;    /* [joint_count*4] x y z w, of each joint from the template's pose to the scan's */
    double *coefficients; /* [mode_count] */
    double *seen;         /* [vertex_count] 0 (hole: the surface is a guess) to 1 */
    double from_scan[12]; /* [A | t] row-major: scan coordinates to these */
    double metres_per_unit;
    bool inside_out;    /* the scan's faces pointed inward and were turned */
    bool is_cloud;      /* no triangles */
    double dropped;     /* share of the scan that was floor or debris */
    double model_error; /* mean distance of the scan to the posed model before the fine fit, metres */
    double mean_error;  /* mean distance of the scan to the surface, metres; without outliers */
    double p95_error;   /* of all of the scan that was kept */
    double coverage;    /* share of the template's area that was seen */
    double explained;   /* share of the kept scan within 2 cm of the surface */
    struct sup_anatomy_storage *storage;
} sup_registration;

/* The scan may be in any unit from millimetres to metres, any way up, with floor, debris, holes, noise, flipped faces or
 * inside out; without triangles it is a cloud of points. What is not a whole human is refused: SUP_ERROR_DATA,
 * anatomy.scan.*. `def` may be NULL. */
SUP_API sup_result sup_register(const sup_context *context, const sup_composition *composition, sup_shape scan,
                                const sup_register_def *def, sup_registration **registration, sup_error *error);
SUP_API void sup_registration_destroy(sup_registration *registration);

/* A skin and its joints taken to the pose of other joints (4.2.4: the scan in the template's pose): each bone keeps its
 * length and turns to the direction that it has there, the skin follows by linear blending. Joints are those of the
 * composition; `skin` [vertex_count*3] and `joints` [joint_count*3] in, `like` [joint_count*3] the joints to copy; out the
 * same sizes, hips where `like` has them. */
SUP_API sup_result sup_pose_like(const sup_context *context, const sup_composition *composition, const double *skin,
                                 const double *joints, const double *like, double *skin_out, double *joints_out,
                                 sup_error *error);

/* As files; part of supple_io. A folder of bodies as docs/methods/anatomy.md describes it: header.json, params.csv and
 * arrays. */
SUP_API sup_result sup_shapes_load(const sup_context *context, const char *path, sup_shapes **shapes, sup_error *error);
SUP_API void sup_shapes_destroy(sup_shapes *shapes);
SUP_API sup_result sup_composition_load(const sup_context *context, const char *path, sup_composition **composition,
                                        sup_error *error);
SUP_API sup_result sup_composition_save(const sup_context *context, const sup_composition *composition,
                                        const char *path, sup_error *error);
/* A mesh as .obj. */
SUP_API sup_result sup_shape_save(const sup_context *context, sup_shape shape, const char *path, sup_error *error);
/* Landmarks for sup_register: a line each, "VERTEX x y z" or "JOINT_NAME x y z", "#" comments. */
typedef struct sup_landmarks {
    int32_t count;
    const sup_landmark *items;
    struct sup_landmarks_storage *storage; /* the library's own */
} sup_landmarks;
SUP_API sup_result sup_landmarks_load(const sup_context *context, const char *path, sup_landmarks **landmarks,
                                      sup_error *error);
SUP_API void sup_landmarks_destroy(sup_landmarks *landmarks);

/* --- Template (4.2.2) --- */

/* A detailed bone or muscle. */
typedef struct sup_anatomy_organ {
    const char *name;
    sup_shape shape; /* any triangles: open, crossing others */
    bool is_muscle;
    int32_t joint; /* of a bone: what carries it; -1 = found by nearness */
} sup_anatomy_organ;

typedef struct sup_anatomy_def {
    sup_shape skin; /* closed, outward, its vertices welded */
    sup_joints joints;
    const sup_anatomy_organ *organs;
    int32_t organ_count;
    sup_shape wrap; /* closed surface around the bones; without triangles it is made */
    /* Weights of the skin on the joints; NULL = made by heat from the bones of the skeleton. */
    const int32_t *influence_first; /* [vertex_count+1] */
    const int32_t *influence_joint;
    const double *influence_weight;
    /* Joints with one of these words in their name, and all below them, have no layers: commas between. NULL = head,
     * hands and toes in the names that are common. */
    const char *exclude;
    const unsigned char *excluded; /* [vertex_count] 1: no layers here either; NULL = none */
    sup_sex sex;
    sup_progress_fn *progress;
    void *progress_user;
} sup_anatomy_def;

/* How good a template is; lengths in metres. */
typedef struct sup_anatomy_report {
    double alignment_mean, alignment_p95;   /* eq. 4.4 over vertices with layers */
    int32_t wrap_vertices, wrap_components; /* of the wrap that was used */
    int32_t wrap_genus;                     /* handles of all its pieces together */
    int32_t bone_outside, muscle_outside;   /* vertices of a layer outside the next: bone in muscle, muscle in skin */
    int32_t wrap_outside;                   /* vertices of the wrap outside the skeleton surface */
    int32_t detail_outside; /* vertices of bones outside the skeleton surface; not of head, hands and feet */
    int32_t inverted_fat, inverted_muscle; /* prisms without a positive volume */
    int32_t fixed_targets, collision_targets, iterations;
    int32_t smoothed_vertices; /* vertices of folds of the skin that were smoothed: navels, nipples, slivers */
    double smoothed_max;       /* how far one of them moved */
    double wrap_distance;      /* mean distance of the skeleton surface from the wrap */
    double wrap_seconds, bone_seconds, muscle_seconds;
} sup_anatomy_report;

/* `report` may be NULL. Refused by name: no skeleton, no skin, skin that is not closed or inside out, no bones, bones
 * outside the skin. */
SUP_API sup_result sup_anatomy_create(const sup_context *context, const sup_anatomy_def *def, sup_anatomy **anatomy,
                                      sup_anatomy_report *report, sup_error *error);
SUP_API void sup_anatomy_destroy(sup_anatomy *anatomy);

/* A template as bytes and back; free the bytes with sup_anatomy_bytes_free. Bytes of any origin are checked. */
SUP_API sup_result sup_anatomy_write(const sup_context *context, const sup_anatomy *anatomy, sup_bytes *bytes,
                                     sup_error *error);
SUP_API sup_result sup_anatomy_read(const sup_context *context, sup_bytes bytes, sup_anatomy **anatomy,
                                    sup_error *error);
SUP_API void sup_anatomy_bytes_free(const sup_context *context, sup_bytes *bytes);
/* As files; part of supple_io. */
SUP_API sup_result sup_anatomy_load(const sup_context *context, const char *path, sup_anatomy **anatomy,
                                    sup_error *error);
SUP_API sup_result sup_anatomy_save(const sup_context *context, const sup_anatomy *anatomy, const char *path,
                                    sup_error *error);
/* Sets the joints of the bones that a JSON file names: {"bone_to_joint": {BONE: JOINT, ...}}; *attached gets how many. Bones
 * and joints that only one side knows are left alone. */
SUP_API sup_result sup_anatomy_attach(const sup_context *context, const char *path, const sup_joints *joints,
                                      sup_anatomy_organ *organs, int32_t organ_count, int32_t *attached,
                                      sup_error *error);
/* --- Fitting the template to a person (4.2.4) --- */

/* The warp that carries the template's detailed bones and muscles along (eq. 4.15). Depends on the template alone: make it
 * once for many fits. Centres 0 = 5000 for bones, 7000 for muscles. */
typedef struct sup_anatomy_warp sup_anatomy_warp;
SUP_API sup_result sup_anatomy_warp_create(const sup_context *context, const sup_anatomy *anatomy, int32_t bone_centres,
                                           int32_t muscle_centres, sup_anatomy_warp **warp, sup_error *error);
SUP_API void sup_anatomy_warp_destroy(sup_anatomy_warp *warp);

typedef struct sup_body_fit_def {
    const char *name;   /* NULL: "body" */
    const double *skin; /* [vertex_count*3] the person on the template's triangulation, metres, Y up, near its pose */
    const sup_joints *joints; /* the person's joints, found by the template's names; NULL or missing: from the skin */
    sup_sex sex;              /* unknown: the template's */
    double fat, muscle;       /* kg asked for; 0: not asked. With neither, the template's muscles as they are */
    sup_anatomy_warp *warp;   /* NULL: made for this call */
    bool no_details;          /* leave the detailed bones and muscles out */
    sup_progress_fn *progress;
    void *progress_user;
} sup_body_fit_def;

/* A skin of the composition's triangulation, which is the template's as well, in the pose of the template: what
 * sup_body_fit wants. `joints` are the composition's in that skin; NULL: found from it. `posed` gets vertex_count*3,
 * `posed_joints` the composition's joint_count*3. */
SUP_API sup_result sup_skin_like_template(const sup_context *context, const sup_anatomy *anatomy,
                                          const sup_composition *composition, const double *skin, const double *joints,
                                          double *posed, double *posed_joints, sup_error *error);

/* Refuses skins that are inside out, not finite or not of human size: SUP_ERROR_DATA, anatomy.fit.*. */
SUP_API sup_result sup_body_fit(const sup_context *context, const sup_anatomy *anatomy, const sup_body_fit_def *def,
                                sup_body **body, sup_error *error);
SUP_API void sup_body_destroy(sup_body *body);

/* The body as a character: one skinned part "skin" with its layers, then the detailed bones and muscles, each carried by
 * the joint that it belongs to. Masses and maps are in its extras, so that sup_body_from_character gives the body back. */
SUP_API sup_result sup_body_character(const sup_context *context, const sup_body *body, sup_character **character,
                                      sup_error *error);
/* Part of supple_io. Refuses characters that no sup_body_character made: SUP_ERROR_DATA, anatomy.body.*. */
SUP_API sup_result sup_body_from_character(const sup_context *context, const sup_character *character, sup_body **body,
                                           sup_error *error);

/* --- Fat that grows and goes (4.3.4) --- */

typedef struct sup_body_grow_def {
    double fat;                    /* kg to gain, or to lose when negative */
    double rate[SUP_REGION_COUNT]; /* how fast each region grows beside the others, 0 or more; all 0: all the same */
    const sup_body *from; /* whose distribution of fat to take, on the same triangulation; NULL: the body's own */
    double pressure;      /* share of the mass that comes evenly, as if blown up; 0: all where fat already is */
    bool no_visceral;     /* the muscles of the belly stay where they are */
    sup_progress_fn *progress;
    void *progress_user;
} sup_body_grow_def;

/* A new body. masses.fat_asked says what was wanted; masses.clamped that it could not be had: a body loses only what its
 * layers hold, and the skin does not shrink to a smaller skeleton. */
SUP_API sup_result sup_body_grow(const sup_context *context, const sup_body *body, const sup_body_grow_def *def,
                                 sup_body **grown, sup_error *error);

#endif
