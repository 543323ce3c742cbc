/* metrics.h - the measures of a motion: made from frames in memory, told as text, table rows and JSON. */
#ifndef APP_METRICS_H
#define APP_METRICS_H

#include "json_out.h"
#include "progress.h"
#include "job.h"

/* Joint transforms of the motion's frames [first, first + count), [count*node_count] to free(), or NULL and a sentence
 * when memory ran out. */
sup_mat34 *app_metrics_nodes(const app_job *job, int32_t first, int32_t count);

/* `nodes` may be NULL: no drift, no jitter. APP_DONE and measures, or an exit status after its sentence. */
int app_metrics_measure(app_job *job, const sup_rig *rig, const float *positions, const sup_mat34 *nodes, int32_t frame_count,
              app_progress *progress, sup_motion_measure **measure);

/* "summary", "frames", "joints" and "parts" as keys of the object that is open. `first` is the number of frame 0. */
void app_metrics_json(app_json *json, const sup_rig *rig, const sup_motion_measure *measure, int32_t first);
void app_metrics_print(const sup_rig *rig, const sup_motion_measure *measure, int32_t first);

/* The numbers that tables and sheets show, best first in importance. */
typedef struct app_metric {
    const char *name, *help;
    bool is_count;
    double value;
} app_metric;
enum { APP_METRIC_COUNT = 9 };
void app_metrics_list(const sup_motion_summary *summary, app_metric metrics[APP_METRIC_COUNT]);
/* A figure as people read it; "-" where there is none. Lives for 8 calls. */
const char *app_metric_text(const app_metric *metric);

/* Smallest and largest volume / rest volume of a region over all frames; infinite where it encloses none. */
typedef struct app_range {
    double low, high;
} app_range;
app_range app_metrics_region_range(const sup_motion_measure *measure, int32_t region);

/* The frame that shows best what went wrong in any of the measured motions: crossings, volume and stretch, each against
 * its worst over all of them. */
int32_t app_metrics_worst_frame(const sup_motion_measure *const *measures, int32_t count);

#endif
