/* playback.h - the frames of an animation in memory: skinned by a method, or read from a point cache. */
#ifndef APP_PLAYBACK_H
#define APP_PLAYBACK_H

#include "progress.h"
#include "job.h"

/* Called with the instance after the last frame. */
typedef void app_playback_fn(void *user, const sup_instance *instance, const sup_pose *pose);

typedef struct app_playback {
    /* Set before app_playback_run; may be NULL. */
    app_playback_fn *on_last_frame;
    void *on_last_frame_user;
    int32_t first_frame, frame_count; /* of the animation */
    int32_t vertex_count;
    const float *positions; /* [frame_count*vertex_count*3] */
    double bind_ms;         /* excluding the rig */
    double step_ms;         /* median per frame: pose and skinning */
    size_t model_bytes;
    float *owned;     /* frames of a method, to free ... */
    sup_cache *cache; /* ... or the frames of a file */
} app_playback;

/* Skins frames `first` to `last`. A dynamic method always starts at frame 0. */
int app_playback_run(app_job *job, const sup_rig *rig, const sup_method *method, const double *params, int32_t first,
                     int32_t last, app_progress *progress, app_playback *playback);
/* Loads all frames of a cache; rejects NaN and infinite coordinates. */
int app_playback_load_cache(app_job *job, const sup_rig *rig, const char *path, app_playback *playback);
void app_playback_close(app_playback *playback);

#endif
