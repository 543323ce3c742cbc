/* gauntlet_measure.c - bakes a motion by a method and measures it against linear blending in the same frames. */
#include "gauntlet.h"

#ifdef GAUNTLET_ASSIMP
#include "assimp_reader.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARAM_LIMIT = 64, SETTINGS = 256 };
enum { MULTI_PART = 8 }; /* more components than eyes, teeth and a few clothes */

void *gauntlet_must(void *memory)
{
    if (memory != NULL) return memory;
    fprintf(stderr, "check_gauntlet: out of memory\n");
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

uint32_t gauntlet_hash(const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *p = name; *p != '\0'; p++)
        hash = (hash ^ (uint32_t)(unsigned char)*p) * 16777619u;
    return hash;
}

int gauntlet_half(const char *name)
{
    return (int)(gauntlet_hash(name) >> 13 & 1u);
}

int gauntlet_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* --- Characters --- */

static int32_t count_components(const sup_rig *rig)
{
    int32_t count = 0;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        if (rig->skin_component[v] >= count) count = rig->skin_component[v] + 1;
    return count;
}

bool gauntlet_open(const sup_context *context, const char *path, const char *name, gauntlet_character *c,
                   sup_error *error)
{
    sup_load_def def = sup_default_load_def();
#ifdef GAUNTLET_ASSIMP
    def.other = sup_read_assimp;
#endif
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    sup_result result = strncmp(path, "scene:", 6) == 0 ? sup_scene_create(context, path + 6, 1.0, &c->character, error)
                                                        : sup_load(context, path, &def, &c->character, error);
    if (result == SUP_OK) result = sup_rig_create(context, c->character, NULL, &c->rig, error);
    if (result == SUP_OK) result = sup_rig_surface_create(context, c->rig, &c->surface, error);
    if (result == SUP_OK) result = sup_measurer_create(context, &c->surface->surface, &c->measurer, error);
    if (result == SUP_OK) result = sup_pose_create(context, c->character, &c->pose, error);
    if (result != SUP_OK) {
        gauntlet_close(c);
        return false;
    }
    c->rigid = sup_rig_rigid_joints(c->rig);
    c->multi_part = count_components(c->rig) > MULTI_PART;
    return true;
}

void gauntlet_close(gauntlet_character *c)
{
    sup_pose_destroy(c->pose);
    sup_measurer_destroy(c->measurer);
    sup_rig_surface_destroy(c->surface);
    sup_rig_destroy(c->rig);
    sup_character_destroy(c->character);
    memset(c, 0, sizeof *c);
}

/* --- Baking --- */

static bool apply_settings(const sup_method *method, double *values, const char *settings)
{
    char copy[SETTINGS], *rest = copy;
    sup_error error = {0};
    if (settings == NULL) return true;
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *item = strtok_r(copy, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(item, '=');
        if (equals == NULL) return false;
        *equals = '\0';
        if (sup_method_set(method, values, item, equals + 1, &error) != SUP_OK) return false;
    }
    return true;
}

static void disturb(const gauntlet_character *c, uint32_t *seed, sup_pose *pose)
{
    for (int32_t j = 0; j < c->rig->joint_count; j++)
        for (int k = 0; k < 3; k++) {
            *seed = *seed * 1664525u + 1013904223u;
            pose->world[c->rig->joint_node[j]].m[4 * k + 3] +=
                1e-6f * c->rig->size * ((float)(*seed >> 8) / 8388608.0f - 1.0f);
        }
}

static sup_result play(const gauntlet_character *c, const gauntlet_motion *m, sup_instance *instance, int32_t first,
                       int32_t last, uint32_t jitter, float *positions)
{
    sup_result result = SUP_OK;
    for (int32_t f = first; result == SUP_OK && f <= last; f++) {
        sup_skin_out out = {.positions = positions + (size_t)(f - first) * (size_t)c->rig->vertex_count * 3};
        if (sup_pose_rest(c->character, c->pose) != SUP_OK) return SUP_ERROR_ARGUMENT;
        memcpy(c->pose->world, m->world + (size_t)f * (size_t)m->node_count, (size_t)m->node_count * sizeof *m->world);
        if (jitter != 0) disturb(c, &jitter, c->pose);
        if (f == first) result = sup_instance_reset(instance, c->pose);
        if (result == SUP_OK)
            result = sup_instance_step(instance, c->pose, f == first ? 0.0f : (float)(1.0 / m->fps), &out);
    }
    return result;
}

static sup_instance *start(const sup_context *context, const gauntlet_character *c, const char *name,
                           const char *settings, sup_model **model, sup_error *error)
{
    const sup_method *method = sup_method_find(name);
    double values[PARAM_LIMIT];
    sup_bind_def def = {.values = values};
    sup_instance *instance = NULL;
    if (method == NULL || method->param_count > PARAM_LIMIT) {
        snprintf(error->message, sizeof error->message, "There is no such method.");
        return NULL;
    }
    sup_method_defaults(method, values);
    if (!apply_settings(method, values, settings)) {
        snprintf(error->message, sizeof error->message, "The method has no such setting: %s.", settings);
        return NULL;
    }
    if (sup_bind(context, method, c->rig, &def, model, error) == SUP_OK &&
        sup_instance_create(context, *model, NULL, &instance, error) == SUP_OK)
        return instance;
    sup_model_destroy(*model);
    return NULL;
}

float *gauntlet_bake(const sup_context *context, const gauntlet_character *c, const gauntlet_motion *m,
                     const char *method, const char *settings, uint32_t jitter, double *milliseconds, sup_error *error)
{
    sup_model *model = NULL;
    sup_instance *instance = start(context, c, method, settings, &model, error);
    if (instance == NULL) return NULL;
    float *positions =
        gauntlet_must(malloc((size_t)m->frame_count * (size_t)c->rig->vertex_count * 3 * sizeof *positions));
    double begin = now_ms();
    sup_result result = play(c, m, instance, 0, m->frame_count - 1, jitter, positions);
    *milliseconds = (now_ms() - begin) / (double)m->frame_count;
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    if (result == SUP_OK) return positions;
    snprintf(error->message, sizeof error->message, "A step failed.");
    free(positions);
    return NULL;
}

/* --- Measures --- */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double distance(const float *a, const float *b)
{
    double x = (double)a[0] - (double)b[0], y = (double)a[1] - (double)b[1], z = (double)a[2] - (double)b[2];
    return sqrt(x * x + y * y + z * z);
}

gauntlet_distance gauntlet_compare(const gauntlet_character *c, int32_t frame_count, const float *a, const float *b)
{
    size_t all = (size_t)frame_count * (size_t)c->rig->vertex_count;
    float *distances = gauntlet_must(malloc((all + 1) * sizeof *distances));
    for (size_t i = 0; i < all; i++)
        distances[i] = (float)(distance(a + 3 * i, b + 3 * i) / (double)c->rig->size);
    qsort(distances, all, sizeof *distances, by_value);
    gauntlet_distance out = {0};
    if (all > 0)
        out = (gauntlet_distance){(double)distances[all * 95 / 100], (double)distances[all * 99 / 100],
                                  (double)distances[all - 1]};
    free(distances);
    return out;
}

static void measure_motion(const gauntlet_character *c, const gauntlet_motion *m, const float *positions,
                           const float *linear, gauntlet_result *r)
{
    size_t stride = 3 * (size_t)c->rig->vertex_count;
    sup_acceleration acceleration = {0};
    bool cuts = m->cut_spacing > 0; /* the excess in the frame of a cut says nothing */
    if (sup_measure_acceleration(c->rig, m->frame_count, positions, cuts ? NULL : linear, &acceleration) != SUP_OK)
        exit(1);
    r->acceleration_rms = acceleration.rms;
    r->acceleration_excess = fmax(0.0, acceleration.excess);
    if (linear != NULL) r->distance_p95 = gauntlet_compare(c, m->frame_count, positions, linear).p95;
    int32_t early = m->hold_first + (int32_t)(0.5 * m->fps) + 1, late = m->hold_first + (int32_t)m->fps + 1;
    for (int32_t f = early; m->hold_first >= 0 && f < m->frame_count; f++) {
        const float *here = positions + (size_t)f * stride;
        double moved = 0.0;
        for (size_t v = 0; v < stride; v += 3)
            moved = fmax(moved, distance(here + v, here + v - stride) / (double)c->rig->size);
        r->early_rest_motion = fmax(r->early_rest_motion, moved);
        if (f >= late) r->rest_motion = fmax(r->rest_motion, moved);
    }
}

/* Edges of components that follow one joint, against linear blending, which moves them rigidly (or by authored
 * scale). */
static void measure_rigid(const gauntlet_character *c, const float *skin, const float *linear_skin, gauntlet_result *r)
{
    const sup_rig *rig = c->rig;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            int32_t a = rig->skin_triangles[3 * t + k], b = rig->skin_triangles[3 * t + (k + 1) % 3];
            if (c->rigid[a] < 0 || c->rigid[b] < 0) continue;
            double own = distance(skin + 3 * (size_t)a, skin + 3 * (size_t)b);
            double rigid = distance(linear_skin + 3 * (size_t)a, linear_skin + 3 * (size_t)b);
            if (rigid > 1e-5 * (double)rig->size) r->rigid_stretch = fmax(r->rigid_stretch, fabs(own / rigid - 1.0));
        }
}

static void add_frame(gauntlet_result *r, const sup_frame_measure *f, const gauntlet_result *linear, int32_t frame,
                      double *worst)
{
    double score = fmax(0.0, 1.0 - f->volume_ratio) * 10.0 + (double)f->intersections * 1e-3 + (double)f->flips * 0.02;
    if (linear != NULL) score += fmax(0.0, f->roughness - linear->roughness);
    if (score > *worst) *worst = score, r->worst_frame = frame;
    r->volume_min = fmin(r->volume_min, f->volume_ratio);
    r->volume_max = fmax(r->volume_max, f->volume_ratio);
    r->crossings += f->intersections;
    r->flips = f->flips > r->flips ? f->flips : r->flips;
    r->stretch_max = fmax(r->stretch_max, f->stretch_max);
    r->stretch_min = fmin(r->stretch_min, f->stretch_min);
    r->roughness = fmax(r->roughness, f->roughness);
    r->penetration = fmax(r->penetration, f->penetration);
}

void gauntlet_measure(gauntlet_character *c, const gauntlet_motion *m, const float *positions, const float *linear,
                      const gauntlet_result *linear_result, gauntlet_result *r, double *volumes)
{
    const sup_measure_surface *surface = &c->surface->surface;
    size_t stride = (size_t)c->rig->vertex_count * 3, skin_size = (size_t)surface->vertex_count * 3 + 3;
    float *skin = gauntlet_must(malloc(skin_size * sizeof *skin)),
          *linear_skin = gauntlet_must(malloc(skin_size * sizeof *skin));
    double *regions = gauntlet_must(malloc(((size_t)surface->region_count + 1) * sizeof *regions)), worst = -1.0;
    double ms = r->milliseconds;
    *r = (gauntlet_result){.volume_min = INFINITY,
                           .region_volume_min = INFINITY,
                           .stretch_min = INFINITY,
                           .milliseconds = ms,
                           .dynamic_volume = -1.0,
                           .contact_crossings = -1,
                           .untangle_volume = -1.0,
                           .untangle_offset = -1.0,
                           .settled_p95 = -1.0};
    int64_t first_held = 0;
    for (int32_t f = 0; f < m->frame_count; f++) {
        sup_frame_measure frame = {0};
        sup_rig_surface_gather(c->rig, positions + (size_t)f * stride, skin);
        if (sup_measurer_frame(c->measurer, skin, &frame, regions) != SUP_OK) exit(1);
        add_frame(r, &frame, linear_result, f, &worst);
        if (volumes != NULL) volumes[f] = frame.volume_ratio;
        for (int32_t k = 0; k < 2 * c->rig->joint_count; k++)
            if (isfinite(regions[k])) r->region_volume_min = fmin(r->region_volume_min, regions[k]);
        if (f == m->hold_first) first_held = frame.intersections;
        if (m->hold_first >= 0 && f > m->hold_first && frame.intersections - first_held > r->hold_growth)
            r->hold_growth = frame.intersections - first_held;
        if (linear == NULL) continue;
        sup_rig_surface_gather(c->rig, linear + (size_t)f * stride, linear_skin);
        measure_rigid(c, skin, linear_skin, r);
    }
    measure_motion(c, m, positions, linear, r);
    free(regions);
    free(linear_skin);
    free(skin);
}

/* Distances in frame `frame` from a bake that starts in frame `cut`; infinite if that fails. */
static gauntlet_distance cut_distance(const sup_context *context, const gauntlet_character *c, const gauntlet_motion *m,
                                      const char *method, const char *settings, int32_t cut, int32_t frame,
                                      const float *positions)
{
    size_t stride = (size_t)c->rig->vertex_count * 3;
    gauntlet_distance out = {INFINITY, INFINITY, INFINITY};
    sup_model *model = NULL;
    sup_error error = {0};
    sup_instance *instance = start(context, c, method, settings, &model, &error);
    if (instance == NULL) return out;
    float *again = gauntlet_must(malloc((size_t)(frame - cut + 1) * stride * sizeof *again));
    if (play(c, m, instance, cut, frame, 0, again) == SUP_OK)
        out = gauntlet_compare(c, 1, positions + (size_t)frame * stride, again + (size_t)(frame - cut) * stride);
    free(again);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    return out;
}

void gauntlet_measure_cuts(const sup_context *context, const gauntlet_character *c, const gauntlet_motion *m,
                           const char *method, const char *settings, bool last_only, const float *positions,
                           gauntlet_result *r)
{
    for (int32_t k = last_only ? m->cut_count : 1; k <= m->cut_count; k++) {
        int32_t cut = k * m->cut_spacing, frame = cut + (last_only ? (int32_t)m->fps : m->cut_spacing - 1);
        if (frame >= m->frame_count) continue;
        gauntlet_distance d = cut_distance(context, c, m, method, settings, cut, frame, positions);
        r->cut_error = fmax(r->cut_error, d.largest);
        r->cut_error_p99 = fmax(r->cut_error_p99, d.p99);
    }
}
