/* comparison.h - several methods on one motion: skinned, timed, measured. */
#ifndef APP_COMPARISON_H
#define APP_COMPARISON_H

#include "metrics.h"
#include "playback.h"

enum { APP_COMPARISON_LIMIT = 16 };

typedef struct app_entry {
    const sup_method *method;
    char label[96]; /* the method as given: NAME or NAME:PARAMETER=VALUE... */
    double params[APP_PARAM_LIMIT];
    app_playback playback;
    sup_motion_measure *measure;
    sup_acceleration acceleration; /* against linear blending */
} app_entry;

typedef struct app_comparison {
    app_job *job;
    sup_rig *rig;
    int32_t frame_count;
    sup_mat34 *nodes; /* [frame_count*node_count] */
    float *linear;    /* [frame_count*vertex_count*3] linear blending */
    int32_t entry_count;
    app_entry entries[APP_COMPARISON_LIMIT];
} app_comparison;

/* Table row for values structs with a member `const char *methods`. */
#define APP_COMPARISON_METHODS(type)                                                                       \
    {                                                                                                      \
        .kind = APP_TEXT, .name = "methods", .argument = "A,B,...", .offset = offsetof(type, methods),     \
        .help = "methods to compare ('supple methods'), each with optional :PARAMETER=VALUE; default: all" \
    }

/* Parses "linear,projective:contact=off,projective" (NULL: all methods) before anything is loaded. --set NAME=VALUE
 * applies to every method that has the parameter, METHOD.NAME=VALUE to one method; :NAME=VALUE of a method
 * overrides. */
int app_comparison_choose(app_comparison *comparison, const char *methods, const app_texts *set);
/* Skins and measures all entries over the frame range of the job. Call app_comparison_close in either case. */
int app_comparison_run(app_comparison *comparison, app_job *job, app_progress *progress);
void app_comparison_close(app_comparison *comparison);

/* The frame, from 0, with the worst metrics. */
int32_t app_comparison_worst_frame(const app_comparison *comparison);
const float *app_comparison_positions(const app_comparison *comparison, int32_t entry, int32_t frame);
const sup_mat34 *app_comparison_nodes(const app_comparison *comparison, int32_t frame);

#endif
