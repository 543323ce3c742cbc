/* video.h - encodes videos with the ffmpeg program through a pipe; a failure leaves no file. */
#ifndef APP_VIDEO_H
#define APP_VIDEO_H

#include "render.h"

#include <sys/types.h>

typedef struct app_video {
    const char *path;
    char temporary[4200];
    pid_t process; /* 0: not running */
    int pictures;  /* write end of the stdin of ffmpeg, -1 when closed */
    int errors;    /* read end of its stderr */
} app_video;

/* Returns APP_DONE if ffmpeg is available, else prints a message and returns APP_OTHER. */
int app_video_check(const char *path);
/* The file extension selects the format: .mp4, .gif or .webm. Returns APP_DONE, or prints a message and returns an exit
 * status. */
int app_video_open(app_video *video, const char *path, int32_t width, int32_t height, double fps);
int app_video_add(app_video *video, const render_image *image);
/* Renames the finished video to its path; removes it when `status` is not APP_DONE. Returns the resulting status. */
int app_video_close(app_video *video, int status);

#endif
