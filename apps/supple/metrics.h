/* metrics.h - quality metrics of an animation in memory, and their output as text, table rows and JSON. */
#ifndef APP_METRICS_H
#define APP_METRICS_H

#include "json_out.h"
#include "progress.h"
#include "job.h"

/* Node transforms of frames [first, first + count), [count*node_count]; free() the result. NULL with a message when out
 * of memory. */
sup_mat34 *app_metrics_nodes(const app_job *job, int32_t first, int32_t count);

/* `nodes` may be NULL: no drift, no jitter. Returns APP_DONE and the measure, or prints a message and returns an exit
 * status. */
int app_metrics_measure(app_job *job, const sup_rig *rig, const float *positions, const sup_mat34 *nodes,
                        int32_t frame_count, app_progress *progress, sup_motion_measure **measure);

/* Positions of frames [first, first + count) by linear blending, [count*vertex_count*3]; free() the result. NULL with a
 * message when it fails. */
float *app_metrics_linear(const app_job *job, const sup_rig *rig, int32_t first, int32_t count);

/* The joint whose skin, or the skin around it, has the smallest volume ratio in frames [first, last] of the measure. */
typedef struct app_joint_volume {
    int32_t joint; /* -1: no joint moves skin that encloses a volume */
    double ratio;  /* NaN then */
} app_joint_volume;
app_joint_volume app_metrics_joint_volume(const sup_rig *rig, const sup_motion_measure *measure, int32_t first,
                                          int32_t last);

/* Writes the keys "summary", "frames", "joints" and "primitives" into the open object. `first`: number of frame 0. */
void app_metrics_json(app_json *json, const sup_rig *rig, const sup_motion_measure *measure,
                      const sup_acceleration *acceleration, int32_t first);
void app_metrics_print(const sup_rig *rig, const sup_motion_measure *measure, const sup_acceleration *acceleration,
                       int32_t first);

/* The metrics shown in tables and comparison sheets, most important first. */
typedef struct app_metric {
    const char *name, *help;
    bool is_count;
    double value;
} app_metric;
enum { APP_METRIC_COUNT = 12 };
void app_metrics_list(const sup_rig *rig, const sup_motion_measure *measure, const sup_acceleration *acceleration,
                      app_metric metrics[APP_METRIC_COUNT]);
/* A metric formatted for display; "-" when undefined. Valid for 8 calls. */
const char *app_metric_text(const app_metric *metric);

/* Minimum and maximum of volume / rest volume of a region over all frames; infinite when it encloses no volume. */
typedef struct app_range {
    double low, high;
} app_range;
app_range app_metrics_region_range(const sup_motion_measure *measure, int32_t region);

/* The frame with the worst sum of crossings, volume change and stretch over all measured animations, each normalized by
 * its maximum. */
int32_t app_metrics_worst_frame(const sup_motion_measure *const *measures, int32_t count);

#endif
