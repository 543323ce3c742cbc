/* job.h - the input of a verb: character, animation, method with its parameters, frame range. */
#ifndef APP_JOB_H
#define APP_JOB_H

#include "collider_options.h"

enum { APP_PARAM_LIMIT = 64 };

/* Values of the shared command line options. The values struct of a verb starts with a member of this type named `job`;
 * its option table lists the APP_JOB_* rows that the verb supports. */
typedef struct app_job_values {
    const char *input, *method, *settings, *model, *setup, *clip, *motion, *map, *skeleton, *frames;
    double fps;
    app_texts set, paint, colliders;
    int weights, threads;
    bool json, quiet, raw_motion;
} app_job_values;

extern const char *const app_weight_choices[];

#define APP_JOB_AT(type, field) offsetof(type, job.field)
#define APP_JOB_INPUT(type)                                                                       \
    {                                                                                             \
        .kind = APP_POSITIONAL, .name = "INPUT", .offset = APP_JOB_AT(type, input),               \
        .help = "character file, mesh with --skeleton, .ini, or scene:NAME (see 'supple scenes')" \
    }
#define APP_JOB_METHOD_DEFAULT(type, default_name)                                                                 \
    {                                                                                                              \
        .kind = APP_TEXT, .name = "method", .letter = 'm', .argument = "NAME", .offset = APP_JOB_AT(type, method), \
        .help = "skinning method (see 'supple methods'); default: " default_name                                   \
    }
#define APP_JOB_METHOD(type) APP_JOB_METHOD_DEFAULT(type, "projective")
#define APP_JOB_SET(type)                                                                                          \
    {                                                                                                              \
        .kind = APP_MANY, .name = "set", .letter = 's', .argument = "NAME=VALUE", .offset = APP_JOB_AT(type, set), \
        .help = "set a parameter of the method; repeatable"                                                        \
    }
#define APP_JOB_SETTINGS(type)                                                                          \
    {                                                                                                   \
        .kind = APP_TEXT, .name = "settings", .argument = "FILE", .offset = APP_JOB_AT(type, settings), \
        .help = "read method, parameters and painted maps from a Supple Studio file; --set overrides"   \
    }
#define APP_JOB_PAINT(type)                                                                                     \
    {                                                                                                           \
        .kind = APP_MANY, .name = "paint", .argument = "MAP=REGION[*VALUE]", .offset = APP_JOB_AT(type, paint), \
        .help = "paint a map: sphere:JOINT:RADIUS[:BORDER], joint:NAME, primitive:NAME, all, file:PATH"         \
    }
#define APP_JOB_SETUP(type)                                                                             \
    {                                                                                                   \
        .kind = APP_TEXT, .name = "setup", .argument = "FILE", .offset = APP_JOB_AT(type, setup),       \
        .help = "operators, controllers and muscles of the method implicit (see SETUP in 'man supple')" \
    }
#define APP_JOB_MODEL(type)                                                                       \
    {                                                                                             \
        .kind = APP_TEXT, .name = "model", .argument = "FILE", .offset = APP_JOB_AT(type, model), \
        .help = "use a model that 'supple bind' wrote for the same input; skips the bind"         \
    }
#define APP_JOB_COLLIDER(type)                                                                                \
    {                                                                                                         \
        .kind = APP_MANY, .name = "collider", .argument = "COLLIDER", .offset = APP_JOB_AT(type, colliders),  \
        .help = "plane:X,Y,Z:NX,NY,NZ, sphere:X,Y,Z:R, capsule:X,Y,Z:X,Y,Z:R or mesh:FILE; @NODE attaches it" \
    }
#define APP_JOB_CLIP(type)                                                                                           \
    {                                                                                                                \
        .kind = APP_TEXT, .name = "clip", .letter = 'c', .argument = "NAME|INDEX", .offset = APP_JOB_AT(type, clip), \
        .help = "animation clip of the input (see 'supple info'); default: the first"                                \
    }
#define APP_JOB_MOTION(type)                                                                        \
    {                                                                                               \
        .kind = APP_TEXT, .name = "motion", .argument = "FILE", .offset = APP_JOB_AT(type, motion), \
        .help = "animation from another file: .bvh, .anim, or a character with a clip"              \
    }
#define APP_JOB_RAW_MOTION(type)                                                               \
    {                                                                                          \
        .kind = APP_FLAG, .name = "raw-motion", .offset = APP_JOB_AT(type, raw_motion),        \
        .help = "keep rotation flips of motion capture in --motion; default: they are removed" \
    }
#define APP_JOB_MAP(type)                                                                     \
    {                                                                                         \
        .kind = APP_TEXT, .name = "map", .argument = "FILE", .offset = APP_JOB_AT(type, map), \
        .help = "joint name map for --motion, one per line: my_joint = its_joint"             \
    }
#define APP_JOB_SKELETON(type)                                                                          \
    {                                                                                                   \
        .kind = APP_TEXT, .name = "skeleton", .argument = "FILE", .offset = APP_JOB_AT(type, skeleton), \
        .help = "skeleton for a mesh file: .skel or .bvh"                                               \
    }
#define APP_JOB_FPS(type)                                                                                           \
    {                                                                                                               \
        .kind = APP_NUMBER, .name = "fps", .argument = "NUMBER", .offset = APP_JOB_AT(type, fps), .minimum = 0.001, \
        .maximum = 10000.0, .help = "frames per second; default: 30"                                                \
    }
#define APP_JOB_FRAMES(type)                                                                       \
    {                                                                                              \
        .kind = APP_TEXT, .name = "frames", .argument = "A:B", .offset = APP_JOB_AT(type, frames), \
        .help = "frame range A to B, inclusive, from 0; A: and :B are open ranges"                 \
    }
#define APP_JOB_WEIGHTS(type)                                                                             \
    {                                                                                                     \
        .kind = APP_CHOICE, .name = "weights", .argument = "SOURCE", .offset = APP_JOB_AT(type, weights), \
        .choices = app_weight_choices,                                                                    \
        .help = "skinning weights: auto (from the file, else heat), file, nearest, heat or rigid"         \
    }
#define APP_JOB_THREADS(type)                                                                                      \
    {                                                                                                              \
        .kind = APP_WHOLE, .name = "threads", .letter = 'j', .argument = "N", .offset = APP_JOB_AT(type, threads), \
        .minimum = 0, .maximum = 1024,                                                                             \
        .help = "number of threads; 0 (default): one per core. Does not change the result"                         \
    }
#define APP_JOB_JSON(type)                                                                                     \
    {                                                                                                          \
        .kind = APP_FLAG, .name = "json", .offset = APP_JOB_AT(type, json), .help = "print the result as JSON" \
    }
#define APP_JOB_QUIET(type)                                                                  \
    {                                                                                        \
        .kind = APP_FLAG, .name = "quiet", .letter = 'q', .offset = APP_JOB_AT(type, quiet), \
        .help = "print no progress and no result"                                            \
    }

/* Groups of rows: the skinning method, the animation, and the animation with everything that playback needs. */
#define APP_JOB_SKINNING_DEFAULT(type, method_name)                                                            \
    APP_JOB_METHOD_DEFAULT(type, method_name), APP_JOB_SET(type), APP_JOB_SETTINGS(type), APP_JOB_PAINT(type), \
        APP_JOB_SETUP(type)
#define APP_JOB_SKINNING(type) APP_JOB_SKINNING_DEFAULT(type, "projective")
#define APP_JOB_ANIMATION(type) APP_JOB_CLIP(type), APP_JOB_MOTION(type), APP_JOB_RAW_MOTION(type), APP_JOB_MAP(type)
#define APP_JOB_PLAYBACK(type)                                                                                        \
    APP_JOB_ANIMATION(type), APP_JOB_SKELETON(type), APP_JOB_FPS(type), APP_JOB_WEIGHTS(type), APP_JOB_THREADS(type), \
        APP_JOB_QUIET(type)

/* The same, resolved and loaded. */
typedef struct app_job {
    const app_job_values *values;
    app_session session;
    const sup_method *method;
    double params[APP_PARAM_LIMIT];
    sup_settings *settings; /* from --settings, or NULL */
    sup_model *model;       /* from --model, or NULL */
    char *setup;            /* from --setup, or NULL */
    size_t setup_size;
    sup_character *character;
    app_colliders colliders;
    sup_joint_map *map;
    sup_clip *motion;
    const sup_clip *clip;            /* of the character, or `motion`; NULL: the rest pose */
    int32_t frame_count;             /* of the whole animation */
    int32_t first_frame, last_frame; /* the requested range, inclusive */
} app_job;

/* Returns APP_DONE, or prints a message and returns an exit status. Call app_job_close in either case. */
int app_job_open(app_job *job, const app_job_values *values);
void app_job_close(app_job *job);

/* Finds a method by name (NULL: the default, the first) and applies every NAME=VALUE of `set` to its parameters. */
int app_choose_method(const char *name, const app_texts *set, const sup_method **method, double *params);
/* True when the method is the implicit default: then linear replaces it for a character that it cannot bind. */
bool app_job_is_default(const app_job *job);
/* The rig def with the weight source of --weights. */
sup_rig_def app_job_rig_def(const app_job_values *values);
/* The pose at a frame of the animation; the rest pose without one. */
sup_result app_job_pose(const app_job *job, int32_t frame, sup_pose *pose);
/* Parses "A:B", "A:", ":B" or "A", integers from 0; *last is -1 for an open range. */
bool app_parse_frames(const char *text, int32_t *first, int32_t *last);

/* Fails with a message when --setup is given and no method accepts one. */
int app_setup_check(const app_job_values *values, const sup_method *const *methods, int32_t count);
/* Passes the setup to `def` if the method accepts one. */
void app_setup_apply(const app_job *job, const sup_method *method, sup_bind_def *def);
/* Reads a whole file, zero-terminated; free() the result. NULL when it cannot be read. */
char *app_read_file(const char *path, size_t *size);

/* Index of the file extension of `path` in the NULL-terminated `endings` (no dot, case-insensitive), or -1. */
int app_ending(const char *path, const char *const *endings);

#endif
