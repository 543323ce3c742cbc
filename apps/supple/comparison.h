/* comparison.h - several methods on one motion: skinned, timed, measured. */
#ifndef APP_COMPARISON_H
#define APP_COMPARISON_H

#include "metrics.h"
#include "playback.h"

enum { APP_COMPARISON_LIMIT = 16 };

typedef struct app_entry {
    const sup_method *method;
    char label[96]; /* the method as it was asked for: NAME or NAME:PARAMETER=VALUE... */
    double params[APP_PARAM_LIMIT];
    app_playback playback;
    sup_motion_measure *measure;
} app_entry;

typedef struct app_comparison {
    app_job *job;
    sup_rig *rig;
    int32_t frame_count;
    sup_mat34 *nodes; /* [frame_count*node_count] */
    int32_t entry_count;
    app_entry entries[APP_COMPARISON_LIMIT];
} app_comparison;

/* The option of a verb whose values have `const char *methods`. */
#define APP_COMPARISON_METHODS(type)                                                                                     \
    {                                                                                                                 \
        .kind = APP_TEXT, .name = "methods", .argument = "A,B,...", .offset = offsetof(type, methods),                \
        .help = "which methods, in this order ('supple methods'), each with :PARAMETER=VALUE; all for any character " \
                "when not given"                                                                                      \
    }

/* Chooses the methods from "linear,projective:contact=off,projective" (NULL: all), before anything is loaded. A --set
 * goes to every method that has the parameter; METHOD.NAME=VALUE to one; what is said behind a method itself wins. */
int app_comparison_choose(app_comparison *comparison, const char *methods, const app_texts *set);
/* Plays and measures all entries over the frames of the take. app_comparison_close is due in either case. */
int app_comparison_run(app_comparison *comparison, app_job *job, app_progress *progress);
void app_comparison_close(app_comparison *comparison);

/* The frame, from 0, that shows best what went wrong. */
int32_t app_comparison_worst_frame(const app_comparison *comparison);
const float *app_comparison_positions(const app_comparison *comparison, int32_t entry, int32_t frame);
const sup_mat34 *app_comparison_nodes(const app_comparison *comparison, int32_t frame);

#endif
