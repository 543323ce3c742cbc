/* paint.h - --paint MAP=SOURCE[*VALUE]: painted per-vertex maps for the bind. */
#ifndef APP_PAINT_H
#define APP_PAINT_H

#include "job.h"

typedef struct app_paints {
    int32_t count;
    sup_paint items[SUP_METHOD_MAPS];
    float *values[SUP_METHOD_MAPS]; /* [vertex_count] data of the items */
} app_paints;

/* Fails with a message when none of the methods has the map of a --paint. */
int app_paint_check(const app_texts *texts, const sup_method *const *methods, int32_t count);
/* Evaluates the painted maps of `method`; skips maps of other methods. Call app_paints_free afterwards. */
int app_paint(const app_job *job, const sup_rig *rig, const sup_method *method, app_paints *paints);
void app_paints_free(app_paints *paints);

#endif
