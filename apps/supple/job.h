/* job.h - what a verb works on: a character, the motion that plays, the method and its settings, the frames. */
#ifndef APP_JOB_H
#define APP_JOB_H

#include "collider_options.h"

enum { APP_PARAM_LIMIT = 64 };

/* What the command line says. A verb's own values begin with one of these, named `job`, and its table has those of the
 * rows below that it knows. */
typedef struct app_job_values {
    const char *input, *method, *settings, *model, *setup, *clip, *motion, *map, *skeleton, *frames;
    double fps;
    app_texts set, paint, colliders;
    int weights, threads;
    bool json, quiet;
} app_job_values;

extern const char *const app_weight_choices[];

#define APP_JOB_AT(type, field) offsetof(type, job.field)
#define APP_JOB_INPUT(type)                                                                  \
    {                                                                                         \
        .kind = APP_POSITIONAL, .name = "INPUT", .offset = APP_JOB_AT(type, input),          \
        .help = "character file, mesh with --skeleton, .ini, or scene:NAME ('supple scenes')" \
    }
#define APP_JOB_METHOD(type)                                                                                       \
    {                                                                                                               \
        .kind = APP_TEXT, .name = "method", .letter = 'm', .argument = "NAME", .offset = APP_JOB_AT(type, method), \
        .help = "skinning method ('supple methods'); projective when not given"                                     \
    }
#define APP_JOB_SET(type)                                                                                          \
    {                                                                                                               \
        .kind = APP_MANY, .name = "set", .letter = 's', .argument = "NAME=VALUE", .offset = APP_JOB_AT(type, set), \
        .help = "a parameter of the method; may be given again"                                                     \
    }
#define APP_JOB_SETTINGS(type)                                                                          \
    {                                                                                                    \
        .kind = APP_TEXT, .name = "settings", .argument = "FILE", .offset = APP_JOB_AT(type, settings), \
        .help = "method, parameters and paint from JSON that Supple Studio saved; --set goes on top"     \
    }
#define APP_JOB_PAINT(type)                                                                                    \
    {                                                                                                           \
        .kind = APP_MANY, .name = "paint", .argument = "MAP=WHERE[*VALUE]", .offset = APP_JOB_AT(type, paint), \
        .help = "a map of the method; sphere:JOINT:RADIUS[:BORDER], joint:NAME, part:NAME, all, file:PATH"        \
    }
#define APP_JOB_SETUP(type)                                                                       \
    {                                                                                              \
        .kind = APP_TEXT, .name = "setup", .argument = "FILE", .offset = APP_JOB_AT(type, setup), \
        .help = "operators, controllers and muscles for implicit, a line each: see its page"       \
    }
#define APP_JOB_MODEL(type)                                                                       \
    {                                                                                              \
        .kind = APP_TEXT, .name = "model", .argument = "FILE", .offset = APP_JOB_AT(type, model), \
        .help = "what 'supple bind' made of the same input: nothing is bound again"                \
    }
#define APP_JOB_COLLIDER(type)                                                                              \
    {                                                                                                        \
        .kind = APP_MANY, .name = "collider", .argument = "THING", .offset = APP_JOB_AT(type, colliders),   \
        .help = "plane:X,Y,Z:NX,NY,NZ, sphere:X,Y,Z:R, capsule:X,Y,Z:X,Y,Z:R, mesh:FILE; @NODE: it follows it" \
    }
#define APP_JOB_CLIP(type)                                                                                           \
    {                                                                                                                 \
        .kind = APP_TEXT, .name = "clip", .letter = 'c', .argument = "NAME|INDEX", .offset = APP_JOB_AT(type, clip), \
        .help = "which motion of the file plays ('supple info'); else the first"                                      \
    }
#define APP_JOB_MOTION(type)                                                                        \
    {                                                                                                \
        .kind = APP_TEXT, .name = "motion", .argument = "FILE", .offset = APP_JOB_AT(type, motion), \
        .help = "a motion from another file: .bvh, .anim, or a character with a clip"                \
    }
#define APP_JOB_MAP(type)                                                                     \
    {                                                                                          \
        .kind = APP_TEXT, .name = "map", .argument = "FILE", .offset = APP_JOB_AT(type, map), \
        .help = "joint names for --motion, a line each: my_joint = its_joint"                  \
    }
#define APP_JOB_SKELETON(type)                                                                          \
    {                                                                                                    \
        .kind = APP_TEXT, .name = "skeleton", .argument = "FILE", .offset = APP_JOB_AT(type, skeleton), \
        .help = "a .skel or .bvh for a mesh without one"                                                 \
    }
#define APP_JOB_FPS(type)                                                                                           \
    {                                                                                                                \
        .kind = APP_NUMBER, .name = "fps", .argument = "NUMBER", .offset = APP_JOB_AT(type, fps), .minimum = 0.001, \
        .maximum = 10000.0, .help = "frames per second; 30 when not given"                                           \
    }
#define APP_JOB_FRAMES(type)                                                                       \
    {                                                                                               \
        .kind = APP_TEXT, .name = "frames", .argument = "A:B", .offset = APP_JOB_AT(type, frames), \
        .help = "only frames A to B, both included, counted from 0; A: and :B work"                 \
    }
#define APP_JOB_WEIGHTS(type)                                                                            \
    {                                                                                                     \
        .kind = APP_CHOICE, .name = "weights", .argument = "HOW", .offset = APP_JOB_AT(type, weights),   \
        .choices = app_weight_choices, .help = "auto (the file's, else heat), file, nearest, heat, rigid" \
    }
#define APP_JOB_THREADS(type)                                                                                      \
    {                                                                                                               \
        .kind = APP_WHOLE, .name = "threads", .letter = 'j', .argument = "N", .offset = APP_JOB_AT(type, threads), \
        .minimum = 0, .maximum = 1024,                                                                              \
        .help = "0 or not given: as many as the machine has; same result for any number"                            \
    }
#define APP_JOB_JSON(type)                                                  \
    {                                                                        \
        .kind = APP_FLAG, .name = "json", .offset = APP_JOB_AT(type, json), \
        .help = "the result as one JSON object on stdout"                    \
    }
#define APP_JOB_QUIET(type)                                                                  \
    {                                                                                         \
        .kind = APP_FLAG, .name = "quiet", .letter = 'q', .offset = APP_JOB_AT(type, quiet), \
        .help = "no progress and no result line"                                              \
    }

/* Rows that stand together in most verbs: how the skin is made; which motion plays; the motion and what goes with it. */
#define APP_JOB_SKINNING(type) \
    APP_JOB_METHOD(type), APP_JOB_SET(type), APP_JOB_SETTINGS(type), APP_JOB_PAINT(type), APP_JOB_SETUP(type)
#define APP_JOB_ANIMATION(type) APP_JOB_CLIP(type), APP_JOB_MOTION(type), APP_JOB_MAP(type)
#define APP_JOB_PLAYBACK(type)                                                                           \
    APP_JOB_ANIMATION(type), APP_JOB_SKELETON(type), APP_JOB_FPS(type), APP_JOB_WEIGHTS(type), \
        APP_JOB_THREADS(type), APP_JOB_QUIET(type)

/* The same, found and loaded. */
typedef struct app_job {
    const app_job_values *values;
    app_session session;
    const sup_method *method;
    double params[APP_PARAM_LIMIT];
    sup_settings *settings; /* of --settings, or NULL */
    sup_model *model;       /* of --model, or NULL */
    char *setup;            /* of --setup, or NULL */
    size_t setup_size;
    sup_character *character;
    app_colliders colliders;
    sup_joint_map *map;
    sup_clip *motion;
    const sup_clip *clip;            /* of the character, or the motion; NULL = the rest pose */
    int32_t frame_count;             /* of the whole motion */
    int32_t first_frame, last_frame; /* those asked for, both included */
} app_job;

/* APP_DONE or an exit status after its sentence; app_job_close is due in either case. */
int app_job_open(app_job *job, const app_job_values *values);
void app_job_close(app_job *job);

/* A method and its parameters from names; NULL is the default method, the first. Every NAME=VALUE of `set` must be the method's. */
int app_choose_method(const char *name, const app_texts *set, const sup_method **method, double *params);
/* Whether the method is the default one, which nobody asked for: a character that it refuses is skinned by linear. */
bool app_job_is_default(const app_job *job);
/* The rig as --weights asks for it. */
sup_rig_def app_job_rig_def(const app_job_values *values);
/* The pose of a frame of the motion; the rest pose when there is none. */
sup_result app_job_pose(const app_job *job, int32_t frame, sup_pose *pose);
/* "A:B", "A:", ":B" or "A", whole numbers from 0; *last is -1 where it is open. */
bool app_parse_frames(const char *text, int32_t *first, int32_t *last);

/* A sentence when there is a --setup and none of the methods takes one. */
int app_setup_check(const app_job_values *values, const sup_method *const *methods, int32_t count);
/* The setup goes to methods that take one. */
void app_setup_apply(const app_job *job, const sup_method *method, sup_bind_def *def);
/* All bytes of a file, to be freed, and a zero after them; NULL when it cannot be read. */
char *app_read_file(const char *path, size_t *size);

/* Whether the path ends, without regard to case, in one of the NULL-terminated endings (no dot): its index, or -1. */
int app_ending(const char *path, const char *const *endings);

#endif
