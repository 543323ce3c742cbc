/* picture.c - the ray tracer: Embree, a disc area light (key light), sky light, a ground plane that receives shadows.
 *
 * Each of the `samples` of a pixel has one primary ray, one shadow ray to the key light and one sky ray over the
 * hemisphere. Sample points are a low-discrepancy sequence, shifted by a hash of the pixel position: stateless, so that
 * the image does not depend on the number of threads. */
#include "camera.h"
#include "image.h"

#if defined(SUPPLE_EMBREE4)
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vec {
    float x, y, z;
} vec;

static vec v_of(const float *p)
{
    return (vec){p[0], p[1], p[2]};
}

static vec v_add(vec a, vec b)
{
    return (vec){a.x + b.x, a.y + b.y, a.z + b.z};
}

static vec v_scale(vec a, float s)
{
    return (vec){a.x * s, a.y * s, a.z * s};
}

static vec v_multiply(vec a, vec b)
{
    return (vec){a.x * b.x, a.y * b.y, a.z * b.z};
}

static float v_dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec v_cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec v_unit(vec a)
{
    float length = sqrtf(v_dot(a, a));
    return length > 0.0f ? v_scale(a, 1.0f / length) : (vec){0, 0, 0};
}

typedef struct studio {
    const render_scene *scene;
    const render_def *def;
    camera camera;
    RTCScene rays;
    float *normals;                   /* [vertex_count*3] smooth, unit */
    vec key, up, sun_side, sun_above; /* direction to the key light, and its disc axes */
    float offset;                     /* offset of secondary rays from the surface */
    int32_t samples;
    render_image *image;
} studio;

static const vec CLAY = {0.62f, 0.47f, 0.39f}, GROUND = {0.82f, 0.83f, 0.85f}, BACKDROP = {0.90f, 0.91f, 0.93f};
static const vec KEY_LIGHT = {1.95f, 1.85f, 1.72f}, SKY_LIGHT = {0.78f, 0.83f, 0.92f};
static const float SUN_RADIUS = 0.16f; /* of the key light disc, as seen from the skin: soft shadows */

static bool shadowed(const studio *s, vec origin, vec direction)
{
    struct RTCRay ray = {.org_x = origin.x,
                         .org_y = origin.y,
                         .org_z = origin.z,
                         .tnear = 0.0f,
                         .dir_x = direction.x,
                         .dir_y = direction.y,
                         .dir_z = direction.z,
                         .tfar = INFINITY,
                         .mask = 0xffffffffu};
#if defined(SUPPLE_EMBREE4)
    rtcOccluded1(s->rays, &ray, NULL);
#else
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcOccluded1(s->rays, &context, &ray);
#endif
    return ray.tfar < 0.0f;
}

static struct RTCRayHit first_hit(const studio *s, vec origin, vec direction)
{
    struct RTCRayHit hit = {.ray = {.org_x = origin.x,
                                    .org_y = origin.y,
                                    .org_z = origin.z,
                                    .tnear = 0.0f,
                                    .dir_x = direction.x,
                                    .dir_y = direction.y,
                                    .dir_z = direction.z,
                                    .tfar = INFINITY,
                                    .mask = 0xffffffffu},
                            .hit = {.geomID = RTC_INVALID_GEOMETRY_ID}};
#if defined(SUPPLE_EMBREE4)
    rtcIntersect1(s->rays, &hit, NULL);
#else
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcIntersect1(s->rays, &context, &hit);
#endif
    return hit;
}

static uint32_t hash(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Two numbers in [0, 1): point i of the R2 sequence, shifted by the hash `seed`. */
static void sample_point(uint32_t i, uint32_t seed, float *u, float *v)
{
    float shift_u = (float)(hash(seed) >> 8) * (1.0f / 16777216.0f),
          shift_v = (float)(hash(seed ^ 0x9e3779b9u) >> 8) * (1.0f / 16777216.0f);
    float a = shift_u + 0.7548776662f * (float)(i + 1), b = shift_v + 0.5698402909f * (float)(i + 1);
    *u = a - floorf(a);
    *v = b - floorf(b);
}

static void basis(vec n, vec *a, vec *b)
{
    vec other = fabsf(n.x) < 0.6f ? (vec){1, 0, 0} : (vec){0, 1, 0};
    *a = v_unit(v_cross(n, other));
    *b = v_cross(n, *a);
}

/* Cosine-weighted direction over the hemisphere of n. */
static vec hemisphere(vec n, float u, float v)
{
    vec a, b;
    float r = sqrtf(u), angle = 6.2831853f * v;
    basis(n, &a, &b);
    return v_add(v_add(v_scale(a, r * cosf(angle)), v_scale(b, r * sinf(angle))),
                 v_scale(n, sqrtf(fmaxf(0.0f, 1.0f - u))));
}

/* Incident light at a point with normal n: one sample of the key light and one of the sky. */
static vec arriving_light(const studio *s, vec point, vec n, uint32_t i, uint32_t seed)
{
    float u, v;
    vec start = v_add(point, v_scale(n, s->offset)), light = {0, 0, 0};
    sample_point(i, seed ^ 0x68e31da4u, &u, &v);
    float r = SUN_RADIUS * sqrtf(u), angle = 6.2831853f * v;
    vec towards =
        v_unit(v_add(s->key, v_add(v_scale(s->sun_side, r * cosf(angle)), v_scale(s->sun_above, r * sinf(angle)))));
    float facing = v_dot(n, towards);
    if (facing > 0.0f && !shadowed(s, start, towards)) light = v_scale(KEY_LIGHT, facing);
    sample_point(i, seed ^ 0xb5297a4du, &u, &v);
    vec direction = hemisphere(n, u, v);
    if (!shadowed(s, start, direction)) {
        float height = v_dot(direction, s->up);
        light = v_add(light, v_scale(SKY_LIGHT, 0.62f + 0.38f * height)); /* light reflected by the ground */
    }
    return light;
}

static vec interpolate(const float *values, const int32_t *t, float u, float v)
{
    float w = 1.0f - u - v;
    return v_add(v_add(v_scale(v_of(values + 3 * (size_t)t[0]), w), v_scale(v_of(values + 3 * (size_t)t[1]), u)),
                 v_scale(v_of(values + 3 * (size_t)t[2]), v));
}

/* 0 on the triangle edges, 1 elsewhere; lines are about 1.2 pixels wide. */
static float wire_factor(const studio *s, const int32_t *t, float u, float v, float distance)
{
    vec a = v_of(s->scene->positions + 3 * (size_t)t[0]), b = v_of(s->scene->positions + 3 * (size_t)t[1]),
        c = v_of(s->scene->positions + 3 * (size_t)t[2]);
    vec e1 = v_add(b, v_scale(a, -1.0f)), e2 = v_add(c, v_scale(a, -1.0f)), e3 = v_add(c, v_scale(b, -1.0f)),
        n = v_cross(e1, e2);
    float area2 = sqrtf(v_dot(n, n)), pixel = 2.0f * s->camera.half_height * distance / (float)s->camera.height;
    float d = fminf(fminf(v * area2 / sqrtf(v_dot(e1, e1)), u * area2 / sqrtf(v_dot(e2, e2))),
                    (1.0f - u - v) * area2 / sqrtf(v_dot(e3, e3)));
    return fminf(fmaxf(d / pixel - 0.1f, 0.0f) / 0.8f, 1.0f);
}

static vec shade_skin(const studio *s, const struct RTCRayHit *hit, vec direction, uint32_t i, uint32_t seed)
{
    const int32_t *t = s->scene->triangles + 3 * (size_t)hit->hit.primID;
    vec point = {hit->ray.org_x + hit->ray.tfar * direction.x, hit->ray.org_y + hit->ray.tfar * direction.y,
                 hit->ray.org_z + hit->ray.tfar * direction.z};
    vec flat = v_unit((vec){hit->hit.Ng_x, hit->hit.Ng_y, hit->hit.Ng_z});
    vec n = v_unit(interpolate(s->normals, t, hit->hit.u, hit->hit.v));
    if (v_dot(flat, direction) > 0.0f) flat = v_scale(flat, -1.0f);
    if (v_dot(n, flat) < 0.0f) n = v_scale(n, -1.0f);
    if (v_dot(n, n) == 0.0f) n = flat;
    vec albedo = s->scene->colors != NULL ? interpolate(s->scene->colors, t, hit->hit.u, hit->hit.v) : CLAY;
    if (s->def->wire)
        albedo = v_scale(albedo, 0.25f + 0.75f * wire_factor(s, t, hit->hit.u, hit->hit.v, hit->ray.tfar));
    vec light = arriving_light(s, v_add(point, v_scale(flat, s->offset)), n, i, seed);
    /* A weak highlight and rim light show the shape without a second bounce. */
    vec half = v_unit(v_add(s->key, v_scale(direction, -1.0f)));
    float sheen = 0.10f * powf(fmaxf(v_dot(n, half), 0.0f), 24.0f), grazing = 1.0f - fmaxf(-v_dot(n, direction), 0.0f);
    float rim = 0.10f * grazing * grazing * grazing;
    return v_add(v_multiply(albedo, v_scale(light, 0.5f)), v_scale(light, 0.5f * (sheen + rim)));
}

/* The ground fades into the background with distance: no visible horizon. */
static vec shade_ground(const studio *s, vec eye, vec direction, uint32_t i, uint32_t seed)
{
    float down = v_dot(direction, s->up), height = v_dot(eye, s->up) - s->def->ground;
    if (down >= -1e-4f || height <= 0.0f) return BACKDROP;
    float distance = -height / down;
    vec point = v_add(eye, v_scale(direction, distance));
    vec away = v_add(point, v_scale(v_of(s->def->target), -1.0f));
    away = v_add(away, v_scale(s->up, -v_dot(away, s->up)));
    float fade = expf(-v_dot(away, away) / (9.0f * s->def->radius * s->def->radius));
    if (fade < 0.004f) return BACKDROP;
    vec open = v_add(v_scale(KEY_LIGHT, v_dot(s->key, s->up)), v_scale(SKY_LIGHT, 0.62f + 0.38f * 0.6667f));
    vec light = arriving_light(s, point, s->up, i, seed);
    /* Unshadowed ground has the background color; shadows darken it. */
    vec relative = {light.x / open.x, light.y / open.y, light.z / open.z};
    vec shade = {1.0f + fade * (relative.x - 1.0f), 1.0f + fade * (relative.y - 1.0f),
                 1.0f + fade * (relative.z - 1.0f)};
    return v_multiply(v_add(v_scale(BACKDROP, 1.0f - 0.25f * fade), v_scale(GROUND, 0.25f * fade)), shade);
}

/* Linear light to sRGB, with a tone curve that compresses highlights. */
static uint8_t to_srgb(float x)
{
    x = fmaxf(x, 0.0f);
    if (x > 0.8f) x = 0.8f + 0.2f * (1.0f - expf(-(x - 0.8f) / 0.2f));
    float y = x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1.0f / 2.4f) - 0.055f;
    return (uint8_t)lrintf(255.0f * fminf(y, 1.0f));
}

static vec sample_pixel(const studio *s, int32_t x, int32_t y, uint32_t i, uint32_t seed)
{
    float u, v, direction[3];
    vec eye = v_of(s->camera.eye);
    sample_point(i, seed, &u, &v);
    camera_direction(&s->camera, (float)x + u, (float)y + v, direction);
    struct RTCRayHit hit = first_hit(s, eye, v_of(direction));
    bool skin = hit.hit.geomID != RTC_INVALID_GEOMETRY_ID;
    return skin ? shade_skin(s, &hit, v_of(direction), i, seed) : shade_ground(s, eye, v_of(direction), i, seed);
}

/* Samples until the standard error is about one 8-bit step, at most four times `samples`. */
static vec render_pixel(const studio *s, int32_t x, int32_t y)
{
    uint32_t seed = hash((uint32_t)y * 16411u + (uint32_t)x + 1u), count = 0, limit = 4 * (uint32_t)s->samples;
    vec sum = {0, 0, 0};
    float squares = 0.0f;
    for (uint32_t stop = (uint32_t)s->samples; count < limit; stop += 8) {
        for (; count < stop && count < limit; count++) {
            vec light = sample_pixel(s, x, y, count, seed);
            sum = v_add(sum, light);
            squares += light.y * light.y;
        }
        float mean = sum.y / (float)count, variance = squares / (float)count - mean * mean;
        if (variance < 0.00025f * (float)count * mean) break; /* noise is less visible in bright pixels */
    }
    return v_scale(sum, 1.0f / (float)count);
}

static void render_row(const studio *s, int32_t y)
{
    for (int32_t x = 0; x < s->image->width; x++) {
        uint8_t *pixel = s->image->pixels + 3 * ((size_t)y * (size_t)s->image->width + (size_t)x);
        vec light = render_pixel(s, x, y);
        pixel[0] = to_srgb(light.x);
        pixel[1] = to_srgb(light.y);
        pixel[2] = to_srgb(light.z);
    }
}

static void render_rows(void *work, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    for (int32_t y = begin; y < end; y++)
        render_row(work, y);
}

static void smooth_normals(const render_scene *scene, float *normals)
{
    for (int32_t t = 0; t < scene->triangle_count; t++) {
        const int32_t *v = scene->triangles + 3 * (size_t)t;
        vec a = v_of(scene->positions + 3 * (size_t)v[0]);
        vec n = v_cross(v_add(v_of(scene->positions + 3 * (size_t)v[1]), v_scale(a, -1.0f)),
                        v_add(v_of(scene->positions + 3 * (size_t)v[2]), v_scale(a, -1.0f)));
        for (int c = 0; c < 3; c++) {
            float *to = normals + 3 * (size_t)v[c];
            to[0] += n.x;
            to[1] += n.y;
            to[2] += n.z;
        }
    }
}

/* Embree reads past the last vertex: give it a padded copy. */
static bool add_geometry(RTCDevice device, RTCScene scene, const render_scene *source)
{
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    float *vertices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float),
                                              (size_t)source->vertex_count);
    uint32_t *indices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                                3 * sizeof(uint32_t), (size_t)source->triangle_count);
    if (vertices != NULL && indices != NULL) {
        memcpy(vertices, source->positions, 3 * (size_t)source->vertex_count * sizeof(float));
        memcpy(indices, source->triangles, 3 * (size_t)source->triangle_count * sizeof(uint32_t));
        rtcCommitGeometry(geometry);
        rtcAttachGeometry(scene, geometry);
        rtcCommitScene(scene);
    }
    rtcReleaseGeometry(geometry);
    return vertices != NULL && indices != NULL;
}

static void draw_bones(const studio *s)
{
    static const uint8_t line[3] = {30, 60, 110}, dot[3] = {235, 120, 40};
    float width = fmaxf(2.0f, 0.004f * (float)s->image->height);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t b = 0; b < s->scene->bone_count; b++) {
            const float *bone = s->scene->bones + 6 * (size_t)b;
            float x0, y0, x1, y1;
            if (!camera_project(&s->camera, bone, &x0, &y0) || !camera_project(&s->camera, bone + 3, &x1, &y1))
                continue;
            if (pass == 0)
                image_line(s->image, x0, y0, x1, y1, width, line, 0.75f);
            else
                image_line(s->image, x0, y0, x0, y0, 2.2f * width, dot, 0.95f);
        }
}

static void aim_lights(studio *s)
{
    vec right = v_of(s->camera.right), forward = v_of(s->camera.forward);
    s->up = s->scene->up == 2 ? (vec){0, 0, 1} : (vec){0, 1, 0};
    /* The key light is above and left of the camera, so that every view is lit alike. */
    vec level = v_unit(v_add(forward, v_scale(s->up, -v_dot(forward, s->up))));
    s->key = v_unit(v_add(v_add(v_scale(right, -0.62f), v_scale(s->up, 0.95f)), v_scale(level, -0.62f)));
    basis(s->key, &s->sun_side, &s->sun_above);
    s->offset = 2e-4f * s->def->radius;
}

static sup_result fail(sup_error *error, sup_result result, const char *id, const char *message)
{
    if (error != NULL) {
        error->result = result;
        snprintf(error->id, sizeof error->id, "%s", id);
        snprintf(error->message, sizeof error->message, "%s", message);
        error->where[0] = '\0';
    }
    return result;
}

static void run(const sup_context *context, studio *s)
{
    enum { ROWS = 8 };
    if (context != NULL && context->tasks.run != NULL)
        context->tasks.run(context->tasks.user, s->image->height, ROWS, render_rows, s);
    else
        render_rows(s, 0, s->image->height, 0);
}

sup_result render_picture(const sup_context *context, const render_scene *scene, const render_def *def,
                          render_image *image, sup_error *error)
{
    if (image->pixels == NULL || scene->triangle_count <= 0)
        return fail(error, SUP_ERROR_ARGUMENT, "render.empty", "The scene is empty.");
    RTCDevice device = rtcNewDevice("threads=1,set_affinity=0");
    RTCScene rays = device != NULL ? rtcNewScene(device) : NULL;
    float *normals = calloc((size_t)scene->vertex_count * 3 + 1, sizeof *normals);
    sup_result result = SUP_OK;
    if (rays == NULL || normals == NULL || !add_geometry(device, rays, scene)) {
        result = fail(error, SUP_ERROR_MEMORY, "render.memory", "Out of memory for the image.");
    } else {
        if (scene->normals != NULL)
            memcpy(normals, scene->normals, (size_t)scene->vertex_count * 3 * sizeof *normals);
        else
            smooth_normals(scene, normals);
        studio s = {.scene = scene,
                    .def = def,
                    .camera = camera_of(def, scene->up),
                    .rays = rays,
                    .normals = normals,
                    .samples = def->samples > 0 ? def->samples : 8,
                    .image = image};
        aim_lights(&s);
        run(context, &s);
        if (scene->bones != NULL) draw_bones(&s);
    }
    free(normals);
    if (rays != NULL) rtcReleaseScene(rays);
    if (device != NULL) rtcReleaseDevice(device);
    return result;
}
