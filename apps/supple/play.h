/* play.h - frames of a motion in memory: skinned by a method, or read from a point cache. */
#ifndef APP_PLAY_H
#define APP_PLAY_H

#include "progress.h"
#include "job.h"

/* Looks at the instance after a step. */
typedef void app_watch_fn(void *user, const sup_instance *instance, const sup_pose *pose);

typedef struct app_play {
    /* Set before app_play_method, called after the last frame; may be NULL. */
    app_watch_fn *watch;
    void *watch_user;
    int32_t first_frame, frame_count; /* of the motion */
    int32_t vertex_count;
    const float *positions; /* [frame_count*vertex_count*3] */
    double bind_ms;         /* without the rig */
    double step_ms;         /* median per frame, pose and skinning */
    size_t model_bytes;
    float *owned;     /* what to free: frames of a method ... */
    sup_cache *cache; /* ... or of a file */
} app_play;

/* Skins frames first to last. A method with velocity starts at frame 0 whatever the first is. */
int app_play_method(app_take *take, const sup_rig *rig, const sup_method *method, const double *params, int32_t first,
                    int32_t last, app_progress *progress, app_play *play);
/* All frames of a cache; refuses numbers that are not finite. */
int app_play_cache(app_take *take, const sup_rig *rig, const char *path, app_play *play);
void app_play_close(app_play *play);

#endif
