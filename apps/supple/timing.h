/* timing.h - how long the stages of a method take on one input, beside the scalar reference, and what memory they use. */
#ifndef APP_TIMING_H
#define APP_TIMING_H

#include "supple/device.h"
#include "job.h"

/* Milliseconds over several repetitions: the median, and the tenth and ninetieth of a hundred around it. */
typedef struct app_times {
    double median, low, high;
    int count;
} app_times;

/* A stage inside the step: mean milliseconds a frame. */
enum { APP_STEP_STAGE_LIMIT = 24 };
typedef struct app_step_stage {
    char name[32];
    double ms;
} app_step_stage;

typedef struct app_timing {
    char input[256];
    char method[64];
    char device[64]; /* "cpu", or the GPU's name */
    int32_t threads, instances;
    int contact; /* 1 on, 0 off, -1 the method has none */
    int32_t vertices, joints;
    int64_t simulated, elements;     /* -1: the method simulates nothing */
    app_times load, rig, bind, pose; /* pose: sampling of the clip */
    app_times step;                  /* of all instances together, positions and normals */
    int32_t step_stage_count;              /* of the step; 0 when the method has no stages */
    app_step_stage step_stages[APP_STEP_STAGE_LIMIT];
    sup_compare_figures solver;      /* beside plain iterations; steps = 0 when the method has no solver to compare */
    app_times reference;             /* double, scalar, one thread: linear blend, or dual quaternions for "dualquat" */
    double energy;                   /* mean of the first frames' steps; NaN: the method has none */
    size_t model_bytes, state_bytes; /* of one model and one instance */
    size_t peak_bytes;               /* most that rig and bind held at once */
    double previous_step_ms, previous_bind_ms, previous_ratio; /* of an earlier run; NaN: not there */
} app_timing;

/* How many times as fast as the reference, from the low times of both: a busy machine spoils medians first. */
double app_timing_ratio(const app_timing *timing);

typedef struct app_timing_def {
    const char *input, *skeleton;
    const sup_method *method;
    const double *params;
    const char *setup; /* text, NULL: none */
    size_t setup_size;
    int threads, instances;
    sup_device *device; /* NULL: the CPU */
    double seconds;     /* for each stage, about */
    sup_rig_def rig;
    const char *clip; /* NULL: the first */
    bool compare_solver;    /* also the solver with plain iterations, which takes seconds */
} app_timing_def;

/* APP_DONE or an exit status after its sentence. `contact`, `before_*` are the caller's. */
int app_timing_run(const app_timing_def *def, app_timing *timing);

#endif
