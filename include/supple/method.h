/* method.h - what a skinning method is: a name, a table of parameters and a handful of functions.
 *
 * For users: the list of methods and their parameters. For authors of methods: the interface to fill in; see
 * samples/own_method.c. The parameter table is the one source for command-line flags, sliders, bindings,
 * validation and documentation. */
#ifndef SUPPLE_METHOD_H
#define SUPPLE_METHOD_H

#include "supple/collider.h"
#include "supple/pose.h"
#include "supple/rig.h"

typedef struct sup_model sup_model;
typedef struct sup_model_builder sup_model_builder;

typedef enum sup_param_type { SUP_PARAM_FLOAT, SUP_PARAM_INT, SUP_PARAM_BOOL, SUP_PARAM_CHOICE } sup_param_type;

typedef struct sup_param {
    const char *name; /* "stiffness" */
    const char *unit; /* "Pa", "1/s", "" */
    sup_param_type type;
    double minimum, maximum, default_value; /* default_value = default; CHOICE: index into choices */
    const char *const *choices;        /* NULL-terminated, for SUP_PARAM_CHOICE */
    bool live;                         /* may change between steps; false: a change needs a new bind */
    const char *help;                  /* one sentence */
} sup_param;

/* A map that may be painted over the shown skin (paint.h). */
typedef struct sup_map {
    const char *name; /* "stiffness" */
    const char *unit;
    float minimum, maximum, default_value; /* default_value = where nothing is painted */
    bool live;                        /* may be painted between steps (deform.h); false: a change needs a new bind */
    const char *help;                 /* one sentence */
} sup_map;

enum {
    SUP_METHOD_DYNAMIC = 1u << 0, /* has velocity: the result depends on what came before */
    SUP_METHOD_USES_WEIGHTS = 1u << 1,
    SUP_METHOD_COLLIDES = 1u << 2, /* minds the colliders of an instance */
    SUP_METHOD_SETUP = 1u << 3,    /* takes a setup text at bind */
    SUP_METHOD_LAYERS = 1u << 4    /* only for characters with surfaces under the skin (character.h) */
};
enum { SUP_METHOD_MAPS = 16 };

/* Caller-owned output of a step, in the character's vertex order and the file's world space. A NULL array is not
 * written. Strides in bytes; 0 means tightly packed. */
typedef struct sup_skin_out {
    float *positions; /* 3 floats a vertex */
    size_t position_stride;
    float *normals; /* 3 floats, unit */
    size_t normal_stride;
    float *tangents; /* 4 floats, xyz unit, w = handedness; refused when the character has none */
    size_t tangent_stride;
} sup_skin_out;

/* What is under the skin, for pictures of it. */
typedef struct sup_inner {
    int32_t point_count, tet_count, bone_count;
    float *points; /* [point_count*3] simulated flesh in world space */
    int32_t *tets; /* [tet_count*4] points; the same in every step */
    float *bones;  /* [bone_count*7] volumetric bones: both ends and the radius; a sphere has its ends in one place */
} sup_inner;

/* What a method is given to bind: precompute everything that does not change from step to step. */
typedef struct sup_bind_input {
    const sup_context *context; /* defaults filled in */
    const sup_rig *rig;
    const double *values;     /* [method->param_count] checked parameter values */
    const float *const *maps; /* [method->map_count] checked, [rig->vertex_count] each; NULL where nothing is painted */
    sup_progress_fn *progress; /* may be NULL */
    void *progress_user;
    const char *setup; /* NULL for none */
    size_t setup_size;
} sup_bind_input;

/* Called in a step when one of its stages is over, with the stage's name: for those who measure. */
typedef void sup_stage_fn(void *user, const char *stage);

/* What a method is given to step. */
typedef struct sup_step_input {
    const sup_context *context;
    const sup_model *model;
    const double *values; /* [method->param_count] live parameters may differ from those at bind */
    const sup_pose *pose;
    float dt; /* seconds since the last step */
    /* What is in the way, NULL for nothing: for methods of the library (src/deform/instance_colliders.h). */
    struct sup_colliders *colliders;
    sup_stage_fn *stage_done; /* may be NULL */
    void *stage_user;
} sup_step_input;

/* A motion on which a method's solver is compared with the plain way to the same minimum: for benchmarks. */
typedef struct sup_compare_input {
    const sup_context *context; /* NULL = defaults */
    const sup_rig *rig;
    const double *values; /* [method->param_count], in range */
    const sup_clip *clip; /* of the rig's character */
    int32_t most_steps;
    double (*milliseconds)(void); /* a clock */
} sup_compare_input;

/* One way to take the steps, all ways from the same states; means over the steps. */
enum { SUP_COMPARE_STAGES = 12 };
typedef struct sup_compare_way {
    double ms, iterations;
    double objective;                    /* at the end of the steps, all measured alike, in double */
    double stage_ms[SUP_COMPARE_STAGES]; /* [stage_count] */
} sup_compare_way;

typedef struct sup_compare_figures {
    int32_t steps;
    sup_compare_way own, plain; /* the method's; the plain one on the same kernels */
    sup_compare_way reference;  /* the plain one, scalar, in double, on one thread; its stages are not told */
    int32_t at_or_below;        /* own steps that end at or below the reference's objective, */
    int32_t within_rounding;    /* or at most 1e-7 of it above: positions are floats */
    double worst;               /* the largest excess over it, relative; may be negative */
    int32_t stage_count;
    const char *stage_names[SUP_COMPARE_STAGES];
} sup_compare_figures;

typedef struct sup_method {
    const char *name;    /* "linear" */
    const char *summary; /* one sentence */
    uint32_t version;    /* of the model layout: a saved model with another one is refused */
    uint32_t flags;
    const sup_param *params;
    int32_t param_count;
    const sup_map *maps;
    int32_t map_count; /* at most SUP_METHOD_MAPS */
    /* Fills `builder` with named arrays (model.h). */
    sup_result (*bind)(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
    /* May be NULL. Whether the arrays of a model, which may come from a file, are all there and in range: whatever
     * passes must be safe to step. Called after every bind and load. */
    sup_result (*check)(const sup_model *model, sup_error *error);
    /* Bytes of state one instance needs, 64-aligned; 0 is allowed. No further memory may be taken later. */
    size_t (*state_size)(const sup_model *model, const sup_context *context);
    /* Puts the state at rest in `input->pose`. Also called once when an instance is opened, with the state all zero. */
    sup_result (*reset)(const sup_step_input *input, void *state);
    /* One frame. No allocation, no I/O, no locks. */
    sup_result (*step)(const sup_step_input *input, void *state, const sup_skin_out *out);
    /* May be NULL. What the last step had left of the energy that the method minimises, in units of its own: for
     * comparing ways to the same result. */
    double (*energy)(const void *state);
    /* Needed for live maps, else NULL. Takes map number `map` into the state: `values` [render vertices], checked, or
     * NULL for those of the bind. What is painted stays over a reset. Allocates nothing; a failure changes nothing. */
    sup_result (*paint)(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error);
    /* May be NULL. */
    sup_result (*compare)(const sup_compare_input *input, sup_compare_figures *figures, sup_error *error);
    /* May be NULL. The scalar field whose 0.5 surface the skin lies near, as of the last step: 1 inside, 0 outside. `points`
     * [count*3] in world space, values [count]. */
    void (*field)(const sup_model *model, void *state, const float *points, int32_t count, float *values);
    /* May be NULL. Flesh and bones as of the last step: fills in the counts, which stay the same for a model, and those of
     * the arrays that are not NULL. */
    void (*inner)(const sup_model *model, void *state, sup_inner *inner);
    /* For saving states. Both may be NULL for methods without memory: nothing of their state is kept. The first
     * saved_size bytes of a state are all that later steps depend on, whatever the number of threads. */
    size_t (*saved_size)(const sup_model *model, const sup_context *context);
    /* `input` NULL: takes whatever points somewhere, or depends on the run, out of a copy of those bytes. Else: `state`
     * starts with bytes that were saved, and becomes one of `input->model`; SUP_ERROR_DATA when they make no sense. */
    sup_result (*restore)(const sup_step_input *input, void *state);
} sup_method;

/* The methods of this library, in the order in which they are listed to people; the first is the default. */
SUP_API int32_t sup_method_count(void);
SUP_API const sup_method *sup_method_at(int32_t index);
/* NULL when there is none of that name. */
SUP_API const sup_method *sup_method_find(const char *name);

/* Default values of a method's parameters into values[param_count]; and one value from text: a number, on/off, or a
 * choice's name. Out of range or unknown: SUP_ERROR_ARGUMENT and a sentence that lists what is allowed. */
SUP_API void sup_method_defaults(const sup_method *method, double *values);
SUP_API sup_result sup_method_set(const sup_method *method, double *values, const char *name, const char *text,
                                  sup_error *error);

#endif
