/* timing.h - times the stages of a method and the scalar reference on one input, and measures memory. */
#ifndef APP_TIMING_H
#define APP_TIMING_H

#include "supple/device.h"
#include "job.h"

/* Milliseconds over several repetitions: median, 10th percentile (low) and 90th percentile (high). */
typedef struct app_times {
    double median, low, high;
    int count;
} app_times;

/* A stage of the step: mean milliseconds per frame. */
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
    int contact; /* 1 on, 0 off, -1 not supported */
    int32_t vertices, joints;
    int64_t simulated, elements;     /* -1: the method does not simulate */
    app_times load, rig, bind, pose; /* pose: sampling the clip */
    app_times step;                  /* all instances, positions and normals */
    int32_t step_stage_count;        /* of the step; 0 when the method reports none */
    app_step_stage step_stages[APP_STEP_STAGE_LIMIT];
    sup_compare_figures solver;      /* versus plain iterations; steps = 0 when the method has no solver */
    app_times reference;             /* scalar double, one thread: linear blend; dual quaternions for "dualquat" */
    double energy;                   /* mean over the first frames; NaN: the method has none */
    size_t model_bytes, state_bytes; /* of one model and one instance */
    size_t peak_bytes;               /* peak of rig and bind */
    double previous_step_ms, previous_bind_ms, previous_ratio; /* of an earlier run; NaN: none */
} app_timing;

/* Speedup over the reference, from the low times of both: load on the machine affects medians first. */
double app_timing_ratio(const app_timing *timing);

typedef struct app_timing_def {
    const char *input, *skeleton;
    const sup_method *method;
    const double *params;
    const char *setup; /* text or NULL */
    size_t setup_size;
    int threads, instances;
    sup_device *device; /* NULL: the CPU */
    double seconds;     /* per stage, approximate */
    sup_rig_def rig;
    const char *clip;    /* NULL: the first */
    bool compare_solver; /* also compare the solver with plain iterations; takes seconds */
} app_timing_def;

/* Returns APP_DONE, or prints a message and returns an exit status. The caller sets `contact` and `previous_*`. */
int app_timing_run(const app_timing_def *def, app_timing *timing);

#endif
