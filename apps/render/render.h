/* render.h - a clean studio picture of a skin: soft key light, sky, ambient occlusion, ground shadow. Headless.
 *
 * Rays go through Embree (3 or 4); no graphics driver is involved, so that a picture is the same on every machine up to
 * the last bit of rounding. Part of the app, not of the library. */
#ifndef SUPPLE_APPS_RENDER_H
#define SUPPLE_APPS_RENDER_H

#include "supple/supple.h"

typedef struct render_image {
    int32_t width, height;
    uint8_t *pixels; /* [height*width*3] sRGB, top row first */
} render_image;

/* What is in the picture. World space, Y up unless `up` says otherwise. */
typedef struct render_scene {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] finite */
    const float *normals;     /* [vertex_count*3] or NULL: computed */
    const int32_t *triangles; /* [triangle_count*3] */
    const float *colors;      /* [vertex_count*3] linear RGB, or NULL: clay */
    int32_t bone_count;       /* lines drawn over the picture */
    const float *bones;       /* [bone_count*6] head and tail, or NULL */
    int32_t up;               /* axis of up: 1 = Y, 2 = Z */
} render_scene;

typedef struct render_def {
    int32_t width, height;
    float azimuth, elevation; /* degrees; 0, 0 looks from the front (+Z) */
    float target[3];          /* what the camera looks at */
    float radius;             /* radius of a sphere around the target that fills the picture */
    float ground;             /* height of the ground along `up` */
    int32_t samples;          /* least per pixel, 0 = 8; noisy pixels take up to four times as many */
    bool wire;                /* triangle edges */
} render_def;

/* Room for an image; pixels NULL when memory ran out. Freed by render_image_destroy. */
render_image render_image_create(int32_t width, int32_t height);
void render_image_destroy(render_image *image);

/* A def that shows the whole scene from a named or "AZ,EL" camera; false when the camera is unknown. */
bool render_def_camera(render_def *def, const char *camera);
/* Sets target, radius and ground so that the points (several frames may be given one after another) fill the picture.
 * Size and angles of the def must be set before. */
void render_def_frame(render_def *def, const float *positions, int64_t vertex_count, int32_t up);

sup_result render_picture(const sup_context *context, const render_scene *scene, const render_def *def,
                          render_image *image, sup_error *error);

/* A PNG in memory, to free(); NULL when memory ran out. */
uint8_t *render_encode_png(const render_image *image, size_t *size);
/* PNG beside its place, then renamed. */
sup_result render_write_png(const render_image *image, const char *path, sup_error *error);

#endif
