/* camera.h (internal) - camera frame and projection. */
#ifndef SUPPLE_APPS_RENDER_CAMERA_H
#define SUPPLE_APPS_RENDER_CAMERA_H

#include "render.h"

typedef struct camera {
    float eye[3], right[3], above[3], forward[3];
    float half_width, half_height; /* of the image plane at distance 1 */
    int32_t width, height;
} camera;

camera camera_of(const render_def *def, int32_t up);
/* Unit direction through pixel coordinates (0, 0 = top left corner). */
void camera_direction(const camera *c, float x, float y, float direction[3]);
/* Pixel coordinates of a point; false when it is behind the camera. */
bool camera_project(const camera *c, const float point[3], float *x, float *y);

#endif
