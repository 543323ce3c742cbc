/* method.h - skinning methods: a name, a parameter table and a few functions.
 *
 * For users: the list of methods and their parameters. For authors of methods: the interface to implement; see
 * samples/own_method.c. The parameter table is the single source for command-line flags, sliders, bindings,
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
    double minimum, maximum, default_value; /* SUP_PARAM_CHOICE: index into choices */
    const char *const *choices;             /* NULL-terminated, for SUP_PARAM_CHOICE */
    bool live;                              /* may change between steps; false: a change needs a new bind */
    const char *help;                       /* one sentence */
} sup_param;

/* A map that may be painted on the render mesh (paint.h). */
typedef struct sup_map {
    const char *name; /* "stiffness" */
    const char *unit;
    float minimum, maximum, default_value; /* default_value: where nothing is painted */
    bool live;        /* may be painted between steps (deform.h); false: a change needs a new bind */
    const char *help; /* one sentence */
} sup_map;

enum {
    SUP_METHOD_DYNAMIC = 1u << 0,      /* the result depends on previous steps */
    SUP_METHOD_USES_WEIGHTS = 1u << 1, /* reads the rig's skinning weights */
    SUP_METHOD_COLLIDES = 1u << 2,     /* collides with the colliders of an instance */
    SUP_METHOD_SETUP = 1u << 3,        /* accepts a setup text at bind */
    SUP_METHOD_LAYERS = 1u << 4        /* only for characters with surfaces under the skin (character.h) */
};
enum { SUP_METHOD_MAPS = 16 };

/* GPU implementation of a method in the library supple_cuda (device.h): which arrays of the model it reads. */
typedef enum sup_method_device {
    SUP_METHOD_DEVICE_NONE, /* sup_crowd_create refuses the model */
    SUP_METHOD_DEVICE_LINEAR,
    SUP_METHOD_DEVICE_DUALQUAT,
    SUP_METHOD_DEVICE_PROJECTIVE
} sup_method_device;

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

/* Geometry under the skin, for visualisation. */
typedef struct sup_inner {
    int32_t point_count, tet_count, bone_count;
    float *points; /* [point_count*3] simulated tissue in world space */
    int32_t *tets; /* [tet_count*4] indices of points; the same in every step */
    float *bones;  /* [bone_count*7] volumetric bones: both end points and the radius; equal end points: a sphere */
} sup_inner;

/* Input of bind, which precomputes everything that does not change from step to step. */
typedef struct sup_bind_input {
    const sup_context *context; /* defaults filled in */
    const sup_rig *rig;
    const double *values;      /* [method->param_count] checked parameter values */
    const float *const *maps;  /* [method->map_count] checked, [rig->vertex_count] each; NULL: nothing is painted */
    sup_progress_fn *progress; /* may be NULL */
    void *progress_user;
    const char *setup; /* NULL for none */
    size_t setup_size;
} sup_bind_input;

/* Profiling hook: called in a step at the end of each stage, with the stage's name. */
typedef void sup_stage_fn(void *user, const char *stage);

/* Input of a step. */
typedef struct sup_step_input {
    const sup_context *context;
    const sup_model *model;
    const double *values; /* [method->param_count] live parameters may differ from those at bind */
    const sup_pose *pose;
    float dt; /* seconds since the last step */
    /* Scene colliders, NULL for none: for methods of the library (src/deform/instance_colliders.h). */
    struct sup_colliders *colliders;
    sup_stage_fn *stage_done; /* may be NULL */
    void *stage_user;
} sup_step_input;

/* State layout: slots that a method reserves one after the other, each 64-byte aligned. Start with {0}. */
typedef struct sup_layout {
    size_t size; /* of the slots so far, in bytes */
    /* Bytes at the start of the state that are saved: all that later steps depend on, for any number of threads. 0 for
     * methods without memory. */
    size_t saved_size;
    bool overflow; /* a size exceeded SIZE_MAX */
} sup_layout;

/* Reserves a slot of count * element_size bytes and returns its offset. */
SUP_API size_t sup_layout_add(sup_layout *layout, size_t count, size_t element_size);

/* Input of a comparison of a method's solver with a reference solver of the same minimisation, for benchmarks. */
typedef struct sup_compare_input {
    const sup_context *context; /* NULL = defaults */
    const sup_rig *rig;
    const double *values; /* [method->param_count], in range */
    const sup_clip *clip; /* of the rig's character */
    int32_t max_steps;
    double (*milliseconds)(void); /* a clock */
} sup_compare_input;

/* Result of one solver; all solvers start each step from the same state. Means over the steps. */
enum { SUP_COMPARE_STAGES = 12 };
typedef struct sup_compare_solver {
    double ms, iterations;
    double objective;                    /* at the end of the steps, evaluated in double for all solvers */
    double stage_ms[SUP_COMPARE_STAGES]; /* [stage_count] */
} sup_compare_solver;

typedef struct sup_compare_figures {
    int32_t steps;
    sup_compare_solver own, plain; /* the method's solver; the unaccelerated one on the same kernels */
    sup_compare_solver reference;  /* the unaccelerated one, scalar, in double, on one thread; has no stage times */
    int32_t at_or_below;           /* own steps that end at or below the reference's objective, */
    int32_t within_rounding;       /* or at most 1e-7 of it above: positions are floats */
    double worst;                  /* the largest relative excess over it; may be negative */
    int32_t stage_count;
    const char *stage_names[SUP_COMPARE_STAGES];
} sup_compare_figures;

/* Functions for visualisation and benchmarks. Each may be NULL. */
typedef struct sup_method_inspection {
    /* Objective that the last step minimised, at its end, in the method's own unit. */
    double (*energy)(const void *state);
    /* The scalar field whose 0.5 iso-surface the skin lies near, as of the last step: 1 inside, 0 outside. `points`
     * [count*3] in world space, `values` [count]. */
    void (*field)(const sup_model *model, void *state, const float *points, int32_t count, float *values);
    /* Tissue and bones as of the last step: sets the counts, which are constant for a model, and fills the arrays that
     * are not NULL. */
    void (*inner)(const sup_model *model, void *state, sup_inner *inner);
    sup_result (*compare)(const sup_compare_input *input, sup_compare_figures *figures, sup_error *error);
} sup_method_inspection;

typedef struct sup_method {
    const char *name;    /* "linear" */
    const char *summary; /* one sentence */
    uint32_t version;    /* of the model layout: a saved model with another version is refused */
    uint32_t flags;
    const sup_param *params;
    int32_t param_count;
    const sup_map *maps;
    int32_t map_count; /* at most SUP_METHOD_MAPS */
    /* Adds named arrays to the model (model.h). */
    sup_result (*bind)(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
    /* May be NULL for methods outside of the library. Checks that the arrays of a model, which may come from a file,
     * are complete and in range: a model that passes must be safe to step. Called after every bind and load. */
    sup_result (*check)(const sup_model *model, sup_error *error);
    /* NULL for methods without state. Reserves the slots of an instance's state; a step uses no other memory. */
    sup_result (*layout)(const sup_model *model, const sup_context *context, sup_layout *layout);
    /* May be NULL. Puts the state at rest in `input->pose`. Also called when an instance is created, with a zeroed
     * state. */
    sup_result (*reset)(const sup_step_input *input, void *state);
    /* One frame. No allocation, no I/O, no locks. */
    sup_result (*step)(const sup_step_input *input, void *state, const sup_skin_out *out);
    /* Required for live maps, else NULL. Writes map number `map` to the state: `values` [render vertices], checked, or
     * NULL for those of the bind. A reset keeps them. Allocates nothing; a failure changes nothing. */
    sup_result (*paint)(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error);
    /* Required where the layout has a saved_size. `input` NULL: clears pointers and whatever depends on the process in
     * a copy of the state. Else: `state` starts with saved bytes, and becomes a state of `input->model`; SUP_ERROR_DATA
     * when the bytes are invalid. */
    sup_result (*restore)(const sup_step_input *input, void *state);
    sup_method_device device;
    const sup_method_inspection *inspection; /* NULL for none */
} sup_method;

/* The methods of this library, in the order of listings; the first is the default. */
SUP_API int32_t sup_method_count(void);
SUP_API const sup_method *sup_method_at(int32_t index);
/* NULL when no method has that name. */
SUP_API const sup_method *sup_method_find(const char *name);

/* The layout of a state: SUP_ERROR_MEMORY when its size overflows, SUP_ERROR_DATA when the model does not fit. */
SUP_API sup_result sup_method_layout(const sup_method *method, const sup_model *model, const sup_context *context,
                                     sup_layout *layout);

/* Writes the default values of a method's parameters to values[param_count]; and sets one value from text: a number,
 * on/off, or the name of a choice. Out of range or unknown: SUP_ERROR_ARGUMENT with a message that lists the allowed
 * values. */
SUP_API void sup_method_defaults(const sup_method *method, double *values);
SUP_API sup_result sup_method_set(const sup_method *method, double *values, const char *name, const char *text,
                                  sup_error *error);

#endif
