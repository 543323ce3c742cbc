/* video.c - encodes videos with the ffmpeg program. */
#include "video.h"
#include "app.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* True when a program of this name is on the PATH. */
static bool is_installed(const char *name)
{
    const char *path = getenv("PATH");
    char candidate[4200];
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)(length < 4000 ? length : 0), path, name);
        if (access(candidate, X_OK) == 0) return true;
        path += path[length] == ':' ? length + 1 : length;
    }
    return false;
}

/* Runs in the child, between fork and exec. */
static void become_ffmpeg(const int pictures[2], const int errors[2], char *const *arguments)
{
    int nothing = open("/dev/null", O_WRONLY);
    dup2(pictures[0], STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    close(pictures[0]);
    close(pictures[1]);
    close(errors[0]);
    close(errors[1]);
    setpgid(0, 0); /* own process group: on Ctrl-C the parent closes the pipe and removes the file */
    signal(SIGPIPE, SIG_DFL);
    execvp("ffmpeg", arguments);
    _exit(127);
}

static bool start(app_video *video, char *const *arguments)
{
    int pictures[2] = {-1, -1}, errors[2] = {-1, -1};
    if (pipe(pictures) != 0) return false;
    if (pipe(errors) == 0) video->process = fork();
    if (video->process == 0 && errors[0] >= 0) become_ffmpeg(pictures, errors, arguments);
    close(pictures[0]);
    if (errors[1] >= 0) close(errors[1]);
    if (video->process <= 0) {
        close(pictures[1]);
        if (errors[0] >= 0) close(errors[0]);
        video->process = 0;
        return false;
    }
    fcntl(pictures[1], F_SETFD, FD_CLOEXEC);
    video->pictures = pictures[1];
    video->errors = errors[0];
    return true;
}

int app_video_check(const char *path)
{
    if (is_installed("ffmpeg")) return APP_DONE;
    app_say("%s: Videos need the ffmpeg program, which is not on the PATH; install it (apt-get install ffmpeg), or "
            "write a .png.",
            path);
    return APP_OTHER;
}

int app_video_open(app_video *video, const char *path, int32_t width, int32_t height, double fps)
{
    char size[32], rate[32];
    const char *ending = strrchr(path, '.') + 1;
    *video = (app_video){.path = path, .pictures = -1, .errors = -1};
    if (snprintf(video->temporary, sizeof video->temporary, "%s.part%ld", path, (long)getpid()) >=
        (int)sizeof video->temporary)
        return app_usage("%s: The path is too long.", path);
    snprintf(size, sizeof size, "%dx%d", (int)width, (int)height);
    snprintf(rate, sizeof rate, "%.6g", fps);
    /* H.264 and VP9 need even sizes; a GIF gets an optimized palette. */
    static const char even[] = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white";
    static const char own_palette[] = "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=bayer:bayer_scale=4";
    const char *mp4[] = {"-vf", even,      "-c:v",   "libx264",   "-pix_fmt",   "yuv420p", "-crf",
                         "18",  "-preset", "medium", "-movflags", "+faststart", "-f",      "mp4"};
    const char *webm[] = {"-vf",  even, "-c:v",    "libvpx-vp9", "-pix_fmt",  "yuv420p", "-crf", "30",
                          "-b:v", "0",  "-row-mt", "1",          "-cpu-used", "4",       "-f",   "webm"};
    const char *gif[] = {"-filter_complex", own_palette, "-loop", "0", "-f", "gif"};
    const char *arguments[40] = {"ffmpeg", "-nostdin", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
                                 "-s",     size,       "-r",        rate,    "-i", "pipe:0",   "-an"};
    size_t count = 15;
    bool is_gif = (ending[0] | 0x20) == 'g', is_webm = (ending[0] | 0x20) == 'w';
    const char *const *rest = is_gif ? gif : is_webm ? webm : mp4;
    size_t rest_count = is_gif    ? sizeof gif / sizeof *gif
                        : is_webm ? sizeof webm / sizeof *webm
                                  : sizeof mp4 / sizeof *mp4;
    for (size_t i = 0; i < rest_count; i++)
        arguments[count++] = rest[i];
    arguments[count++] = "-y";
    arguments[count] = video->temporary;
    /* execvp does not modify its arguments; its prototype lacks const. */
    if (start(video, (char *const *)(uintptr_t)arguments)) return APP_DONE;
    app_say("%s: ffmpeg cannot be started: %s.", path, strerror(errno));
    return APP_OTHER;
}

/* Reads the first line of the stderr of ffmpeg after it ended. */
static void read_errors(const app_video *video, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got = 0;
    while (length + 1 < size && (got = read(video->errors, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

int app_video_add(app_video *video, const render_image *image)
{
    const uint8_t *next = image->pixels;
    size_t left = 3 * (size_t)image->width * (size_t)image->height;
    while (left > 0) {
        ssize_t written = write(video->pictures, next, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return APP_OTHER; /* ffmpeg ended: app_video_close prints the reason */
        next += written;
        left -= (size_t)written;
    }
    return APP_DONE;
}

int app_video_close(app_video *video, int status)
{
    int end = 0;
    char message[600] = "";
    if (video->process == 0) return status;
    if (status != APP_DONE && waitpid(video->process, &end, WNOHANG) == 0) {
        kill(video->process, SIGTERM); /* cancelled: discard the video */
        close(video->pictures);
        waitpid(video->process, &end, 0);
        end = 0;
    } else {
        close(video->pictures);
        read_errors(video, message, sizeof message);
        if (status == APP_DONE) waitpid(video->process, &end, 0);
    }
    close(video->errors);
    bool failed = !WIFEXITED(end) || WEXITSTATUS(end) != 0;
    if (failed) {
        app_say("%s: ffmpeg could not write the video: %s", video->path,
                message[0] != '\0' ? message : "it exited early");
        status = APP_OTHER;
    } else if (status == APP_DONE && rename(video->temporary, video->path) != 0) {
        app_say("%s: The video cannot be renamed: %s.", video->path, strerror(errno));
        status = APP_OTHER;
    }
    if (status != APP_DONE) remove(video->temporary);
    return status;
}
