/* metrics.h - the measures of a motion: made from frames in memory, told as text, table rows and JSON. */
#ifndef APP_JUDGE_H
#define APP_JUDGE_H

#include "json_out.h"
#include "progress.h"
#include "job.h"

/* Joint transforms of the motion's frames [first, first + count), [count*node_count] to free(), or NULL and a sentence
 * when memory ran out. */
sup_mat34 *app_judge_nodes(const app_take *take, int32_t first, int32_t count);

/* `nodes` may be NULL: no drift, no jitter. APP_DONE and measures, or an exit status after its sentence. */
int app_judge(app_take *take, const sup_rig *rig, const float *positions, const sup_mat34 *nodes, int32_t frame_count,
              app_progress *progress, sup_motion_measure **measure);

/* "summary", "frames", "joints" and "parts" as keys of the object that is open. `first` is the number of frame 0. */
void app_judge_json(app_json *json, const sup_rig *rig, const sup_motion_measure *measure, int32_t first);
void app_judge_text(const sup_rig *rig, const sup_motion_measure *measure, int32_t first);

/* The numbers that tables and sheets show, best first in importance. */
typedef struct app_judge_figure {
    const char *name, *help;
    bool is_count;
    double value;
} app_judge_figure;
enum { APP_JUDGE_FIGURES = 9 };
void app_judge_figures(const sup_motion_summary *summary, app_judge_figure figures[APP_JUDGE_FIGURES]);
/* A figure as people read it; "-" where there is none. Lives for 8 calls. */
const char *app_judge_value(const app_judge_figure *figure);

/* Smallest and largest volume / rest volume of a region over all frames; infinite where it encloses none. */
typedef struct app_range {
    double low, high;
} app_range;
app_range app_judge_region_range(const sup_motion_measure *measure, int32_t region);

/* The frame that shows best what went wrong in any of the measured motions: crossings, volume and stretch, each against
 * its worst over all of them. */
int32_t app_judge_worst_frame(const sup_motion_measure *const *measures, int32_t count);

#endif
