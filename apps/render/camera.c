/* camera.c - a 22 degree field of view: little perspective distortion. */
#include "camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float HALF_ANGLE = 0.192f; /* radians: half of 22 degrees */

bool render_def_camera(render_def *def, const char *name)
{
    static const struct {
        const char *name;
        float azimuth, elevation;
    } views[] = {{"front", 0, 4}, {"back", 180, 4}, {"side", 90, 4}, {"three-quarter", 35, 12}, {"top", 0, 80}};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
        if (strcmp(name, views[i].name) == 0) {
            def->azimuth = views[i].azimuth;
            def->elevation = views[i].elevation;
            return true;
        }
    char *end = NULL;
    float azimuth = strtof(name, &end);
    if (end == name || *end != ',') return false;
    const char *second = end + 1;
    float elevation = strtof(second, &end);
    if (end == second || *end != '\0' || !isfinite(azimuth) || !isfinite(elevation) || fabsf(elevation) > 89.0f)
        return false;
    def->azimuth = azimuth;
    def->elevation = elevation;
    return true;
}

static void cross(const float *a, const float *b, float *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

camera camera_of(const render_def *def, int32_t up)
{
    camera c = {.width = def->width, .height = def->height};
    float azimuth = def->azimuth * 0.017453293f, elevation = def->elevation * 0.017453293f;
    /* With Y up the front is +Z; with Z up the front is -Y. */
    float from[3] = {sinf(azimuth) * cosf(elevation), sinf(elevation), cosf(azimuth) * cosf(elevation)};
    float world_up[3] = {0, 1, 0}, distance = 1.02f * def->radius / sinf(HALF_ANGLE);
    if (up == 2) {
        float turned[3] = {from[0], -from[2], from[1]};
        memcpy(from, turned, sizeof from);
        world_up[1] = 0.0f;
        world_up[2] = 1.0f;
    }
    for (int k = 0; k < 3; k++) {
        c.forward[k] = -from[k];
        c.eye[k] = def->target[k] + distance * from[k];
    }
    cross(c.forward, world_up, c.right);
    float length = sqrtf(c.right[0] * c.right[0] + c.right[1] * c.right[1] + c.right[2] * c.right[2]);
    for (int k = 0; k < 3; k++)
        c.right[k] /= length;
    cross(c.right, c.forward, c.above);
    float aspect = (float)def->width / (float)def->height;
    c.half_height = aspect >= 1.0f ? tanf(HALF_ANGLE) : tanf(HALF_ANGLE) / aspect;
    c.half_width = c.half_height * aspect;
    return c;
}

void camera_direction(const camera *c, float x, float y, float direction[3])
{
    float u = (2.0f * x / (float)c->width - 1.0f) * c->half_width,
          v = (1.0f - 2.0f * y / (float)c->height) * c->half_height;
    float length = 0.0f;
    for (int k = 0; k < 3; k++) {
        direction[k] = c->forward[k] + u * c->right[k] + v * c->above[k];
        length += direction[k] * direction[k];
    }
    length = sqrtf(length);
    for (int k = 0; k < 3; k++)
        direction[k] /= length;
}

bool camera_project(const camera *c, const float point[3], float *x, float *y)
{
    float depth = 0.0f, u = 0.0f, v = 0.0f;
    for (int k = 0; k < 3; k++) {
        float d = point[k] - c->eye[k];
        depth += d * c->forward[k];
        u += d * c->right[k];
        v += d * c->above[k];
    }
    if (!(depth > 0.0f)) return false;
    *x = 0.5f * (float)c->width * (1.0f + u / (depth * c->half_width));
    *y = 0.5f * (float)c->height * (1.0f - v / (depth * c->half_height));
    return true;
}

/* Adjusts target and radius so that the projected points are centered and fill the image up to a margin. */
static void tighten(render_def *def, const float *positions, int64_t vertex_count, int32_t up)
{
    camera c = camera_of(def, up);
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, distance = 0.0f;
    for (int64_t v = 0; v < vertex_count; v++) {
        float p[2];
        if (!camera_project(&c, positions + 3 * v, &p[0], &p[1])) return;
        for (int k = 0; k < 2; k++) {
            low[k] = fminf(low[k], p[k]);
            high[k] = fmaxf(high[k], p[k]);
        }
    }
    for (int k = 0; k < 3; k++)
        distance += (def->target[k] - c.eye[k]) * c.forward[k];
    float pixel = 2.0f * c.half_height * distance / (float)c.height;
    float shift_x = (0.5f * (low[0] + high[0]) - 0.5f * (float)c.width) * pixel;
    float shift_y = (0.5f * (float)c.height - 0.5f * (low[1] + high[1])) * pixel;
    float fill = fmaxf((high[0] - low[0]) / (float)c.width, (high[1] - low[1]) / (float)c.height);
    for (int k = 0; k < 3; k++)
        def->target[k] += shift_x * c.right[k] + shift_y * c.above[k];
    if (fill > 0.0f) def->radius *= fill / 0.86f;
}

void render_def_frame(render_def *def, const float *positions, int64_t vertex_count, int32_t up)
{
    float low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
    for (int64_t v = 0; v < vertex_count; v++)
        for (int k = 0; k < 3; k++) {
            float x = positions[3 * v + k];
            if (v == 0 || x < low[k]) low[k] = x;
            if (v == 0 || x > high[k]) high[k] = x;
        }
    float diagonal = 0.0f;
    for (int k = 0; k < 3; k++) {
        def->target[k] = 0.5f * (low[k] + high[k]);
        diagonal += (high[k] - low[k]) * (high[k] - low[k]);
    }
    def->radius = diagonal > 0.0f ? 0.5f * sqrtf(diagonal) : 1.0f;
    def->ground = low[up];
    for (int iteration = 0; iteration < 3; iteration++)
        tighten(def, positions, vertex_count, up);
}
