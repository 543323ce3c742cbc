/* video.h - films through the ffmpeg program: pictures go down a pipe, no file is left when something fails. */
#ifndef APP_VIDEO_H
#define APP_VIDEO_H

#include "render.h"

#include <sys/types.h>

typedef struct app_video {
    const char *path;
    char temporary[4200];
    pid_t process; /* 0 when none runs */
    int pictures;  /* our end of ffmpeg's stdin, -1 when closed */
    int errors;     /* our end of its stderr */
} app_video;

/* Whether films can be made at all: APP_DONE, or APP_OTHER after a sentence. */
int app_video_check(const char *path);
/* The ending of the path says the format: .mp4, .gif or .webm. APP_DONE or an exit status after its sentence. */
int app_video_open(app_video *video, const char *path, int32_t width, int32_t height, double fps);
int app_video_add(app_video *video, const render_image *image);
/* Puts the film in its place, or, when `status` is not APP_DONE, removes what there is. Returns the status to go on with. */
int app_video_close(app_video *video, int status);

#endif
