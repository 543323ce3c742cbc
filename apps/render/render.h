/* render.h - headless ray tracer for skins: area light, sky light, ambient occlusion, ground shadow.
 *
 * Uses Embree (3 or 4) and no graphics driver: images are identical on every machine up to rounding. Belongs to the
 * program, not to the library. */
#ifndef SUPPLE_APPS_RENDER_H
#define SUPPLE_APPS_RENDER_H

#include "supple/supple.h"

#include <stdio.h>

typedef struct render_image {
    int32_t width, height;
    uint8_t *pixels; /* [height*width*3] sRGB, top row first */
} render_image;

/* The scene to render, in world space. */
typedef struct render_scene {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] finite */
    const float *normals;     /* [vertex_count*3] or NULL: computed */
    const int32_t *triangles; /* [triangle_count*3] */
    const float *colors;      /* [vertex_count*3] linear RGB, or NULL: default color */
    int32_t bone_count;       /* lines drawn on top of the image */
    const float *bones;       /* [bone_count*6] head and tail, or NULL */
    int32_t up;               /* up axis: 1 = Y, 2 = Z */
} render_scene;

typedef struct render_def {
    int32_t width, height;
    float azimuth, elevation; /* degrees; 0, 0 is the front view (from +Z) */
    float target[3];          /* look-at point */
    float radius;             /* radius of the sphere around the target that fills the image */
    float ground;             /* height of the ground along `up` */
    int32_t samples;          /* minimum per pixel, 0 = 8; noisy pixels use up to four times as many */
    bool wire;                /* triangle edges */
} render_def;

/* Allocates an image; pixels is NULL when out of memory. Free with render_image_destroy. */
render_image render_image_create(int32_t width, int32_t height);
void render_image_destroy(render_image *image);

/* Sets the angles from a named camera or "AZIMUTH,ELEVATION"; returns false when unknown. */
bool render_def_camera(render_def *def, const char *camera);
/* Sets target, radius and ground so that the points (of one or more frames) fill the image. Needs the size and the
 * angles of the def. */
void render_def_frame(render_def *def, const float *positions, int64_t vertex_count, int32_t up);

sup_result render_picture(const sup_context *context, const render_scene *scene, const render_def *def,
                          render_image *image, sup_error *error);

/* Encodes a PNG in memory; free() the result. NULL when out of memory. */
uint8_t *render_encode_png(const render_image *image, size_t *size);
/* Writes an encoded PNG as a data URI, for pages that need no other file. */
void render_write_data_uri(const uint8_t *png, size_t size, FILE *file);
/* Writes a PNG to a temporary file and renames it. */
sup_result render_write_png(const render_image *image, const char *path, sup_error *error);

#endif
