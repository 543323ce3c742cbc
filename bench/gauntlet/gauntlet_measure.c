/* gauntlet_measure.c - bakes a motion by a method and measures it against linear blending in the same frames. */
#include "gauntlet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARAM_LIMIT = 64, SETTINGS = 256 };
static const double RIGID_WEIGHT = 0.99; /* of one joint in every vertex: the component follows that joint */

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

/* Components all of whose vertices have one joint with RIGID_WEIGHT. */
static void mark_rigid(gauntlet_character *c)
{
    const sup_rig *rig = c->rig;
    int32_t count = rig->skin_vertex_count, components = 0;
    for (int32_t v = 0; v < count; v++)
        if (rig->skin_component[v] >= components) components = rig->skin_component[v] + 1;
    int32_t *joint = gauntlet_must(malloc(((size_t)components + 1) * sizeof *joint));
    for (int32_t i = 0; i < components; i++)
        joint[i] = -2;
    c->component_joint_weight = gauntlet_must(calloc((size_t)count + 1, sizeof(float)));
    for (int32_t v = 0; v < count; v++) {
        int32_t k = rig->skin_component[v];
        if (k < 0) continue;
        int32_t first = rig->influence_first[rig->skin_to_vertex[v]];
        int32_t own = (double)rig->influence_weight[first] >= RIGID_WEIGHT ? rig->influence_joint[first] : -1;
        joint[k] = joint[k] == -2 || joint[k] == own ? own : -1;
    }
    for (int32_t v = 0; v < count; v++)
        if (rig->skin_component[v] >= 0 && joint[rig->skin_component[v]] >= 0) c->component_joint_weight[v] = 1.0f;
    c->multi_part = components > 8;
    free(joint);
}

bool gauntlet_open(const sup_context *context, const char *path, const char *name, gauntlet_character *c)
{
    sup_error error = {0};
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    sup_result result = strncmp(path, "scene:", 6) == 0
                            ? sup_scene_create(context, path + 6, 1.0, &c->character, &error)
                            : sup_load(context, path, NULL, &c->character, &error);
    if (result == SUP_OK) result = sup_rig_create(context, c->character, NULL, &c->rig, &error);
    if (result == SUP_OK) result = sup_rig_surface_create(context, c->rig, &c->surface, &error);
    if (result == SUP_OK) result = sup_measurer_create(context, &c->surface->surface, &c->measurer, &error);
    if (result == SUP_OK) result = sup_pose_create(context, c->character, &c->pose, &error);
    if (result != SUP_OK) {
        fprintf(stderr, "skipped %s: %s\n", name, error.message);
        gauntlet_close(c);
        return false;
    }
    mark_rigid(c);
    return true;
}

void gauntlet_close(gauntlet_character *c)
{
    free(c->component_joint_weight);
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
                           const char *settings, sup_model **model)
{
    const sup_method *method = sup_method_find(name);
    double values[PARAM_LIMIT];
    sup_bind_def def = {.values = values};
    sup_instance *instance = NULL;
    sup_error error = {0};
    if (method == NULL || method->param_count > PARAM_LIMIT) return NULL;
    sup_method_defaults(method, values);
    if (!apply_settings(method, values, settings) || sup_bind(context, method, c->rig, &def, model, &error) != SUP_OK ||
        sup_instance_create(context, *model, NULL, &instance, &error) != SUP_OK) {
        fprintf(stderr, "%s: %s: %s\n", c->name, name, error.message);
        sup_model_destroy(*model);
        return NULL;
    }
    return instance;
}

float *gauntlet_bake(const sup_context *context, const gauntlet_character *c, const gauntlet_motion *m,
                     const char *method, const char *settings, uint32_t jitter, double *milliseconds)
{
    sup_model *model = NULL;
    sup_instance *instance = start(context, c, method, settings, &model);
    if (instance == NULL) return NULL;
    float *positions =
        gauntlet_must(malloc((size_t)m->frame_count * (size_t)c->rig->vertex_count * 3 * sizeof *positions));
    double begin = now_ms();
    sup_result result = play(c, m, instance, 0, m->frame_count - 1, jitter, positions);
    *milliseconds = (now_ms() - begin) / (double)m->frame_count;
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    if (result == SUP_OK) return positions;
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

/* Second difference of one vertex around frame f, in sizes. */
static double acceleration(const float *positions, size_t stride, size_t f, size_t v, double size)
{
    const float *a = positions + (f - 1) * stride + 3 * v, *b = a + stride, *c = b + stride;
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        double d = (double)c[k] - 2.0 * (double)b[k] + (double)a[k];
        square += d * d;
    }
    return sqrt(square) / size;
}

static void measure_motion(const gauntlet_character *c, const gauntlet_motion *m, const float *positions,
                           const float *linear, gauntlet_result *r)
{
    size_t count = (size_t)c->rig->vertex_count, stride = 3 * count, samples = 0;
    double size = (double)c->rig->size, sum = 0.0;
    bool still = m->cut_spacing == 0;
    for (size_t f = 1; f + 1 < (size_t)m->frame_count; f++)
        for (size_t v = 0; v < count; v++, samples++) {
            double a = acceleration(positions, stride, f, v, size);
            sum += a * a;
            if (linear != NULL && still)
                r->acceleration_excess = fmax(r->acceleration_excess, a - acceleration(linear, stride, f, v, size));
        }
    r->acceleration_rms = sqrt(sum / fmax(1.0, (double)samples));
    if (linear != NULL) {
        size_t all = (size_t)m->frame_count * count;
        float *distances = gauntlet_must(malloc(all * sizeof *distances));
        for (size_t i = 0; i < all; i++)
            distances[i] = (float)(distance(positions + 3 * i, linear + 3 * i) / size);
        qsort(distances, all, sizeof *distances, by_value);
        r->distance_p95 = (double)distances[all * 95 / 100];
        free(distances);
    }
    for (int32_t f = m->hold_first + (int32_t)m->fps + 1; m->hold_first >= 0 && f < m->frame_count; f++)
        for (size_t v = 0; v < count; v++)
            r->rest_motion = fmax(
                r->rest_motion,
                distance(positions + (size_t)f * stride + 3 * v, positions + (size_t)(f - 1) * stride + 3 * v) / size);
}

/* Edges of components that follow one joint, against linear blending, which moves them rigidly (or by authored
 * scale). */
static void measure_rigid(const gauntlet_character *c, const float *skin, const float *linear_skin, gauntlet_result *r)
{
    const sup_rig *rig = c->rig;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            int32_t a = rig->skin_triangles[3 * t + k], b = rig->skin_triangles[3 * t + (k + 1) % 3];
            if (c->component_joint_weight[a] == 0.0f || c->component_joint_weight[b] == 0.0f) continue;
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
                      const gauntlet_result *linear_result, gauntlet_result *r)
{
    const sup_measure_surface *surface = &c->surface->surface;
    size_t stride = (size_t)c->rig->vertex_count * 3, skin_size = (size_t)surface->vertex_count * 3 + 3;
    float *skin = gauntlet_must(malloc(skin_size * sizeof *skin)),
          *linear_skin = gauntlet_must(malloc(skin_size * sizeof *skin));
    double *volumes = gauntlet_must(malloc(((size_t)surface->region_count + 1) * sizeof *volumes)), worst = -1.0;
    double ms = r->milliseconds;
    *r = (gauntlet_result){
        .volume_min = INFINITY, .region_volume_min = INFINITY, .stretch_min = INFINITY, .milliseconds = ms};
    int64_t first_held = 0, last = 0;
    for (int32_t f = 0; f < m->frame_count; f++) {
        sup_frame_measure frame = {0};
        sup_rig_surface_gather(c->rig, positions + (size_t)f * stride, skin);
        if (sup_measurer_frame(c->measurer, skin, &frame, volumes) != SUP_OK) exit(1);
        add_frame(r, &frame, linear_result, f, &worst);
        for (int32_t j = 0; j < c->rig->joint_count; j++)
            if (isfinite(volumes[2 * j])) r->region_volume_min = fmin(r->region_volume_min, volumes[2 * j]);
        if (f == m->hold_first) first_held = frame.intersections;
        last = frame.intersections;
        if (linear == NULL) continue;
        sup_rig_surface_gather(c->rig, linear + (size_t)f * stride, linear_skin);
        measure_rigid(c, skin, linear_skin, r);
    }
    if (m->hold_first >= 0) r->hold_growth = last - first_held;
    measure_motion(c, m, positions, linear, r);
    free(volumes);
    free(linear_skin);
    free(skin);
}

void gauntlet_measure_cuts(const sup_context *context, const gauntlet_character *c, const gauntlet_motion *m,
                           const char *method, const float *positions, gauntlet_result *r)
{
    size_t stride = (size_t)c->rig->vertex_count * 3;
    for (int32_t cut = m->cut_spacing; m->cut_spacing > 0 && cut < m->frame_count; cut += m->cut_spacing) {
        int32_t last = cut + m->cut_spacing - 1;
        if (last >= m->frame_count) break;
        sup_model *model = NULL;
        sup_instance *instance = start(context, c, method, NULL, &model);
        if (instance == NULL) return;
        float *again = gauntlet_must(malloc((size_t)m->cut_spacing * stride * sizeof *again));
        if (play(c, m, instance, cut, last, 0, again) == SUP_OK)
            for (size_t v = 0; v < (size_t)c->rig->vertex_count; v++)
                r->cut_error = fmax(r->cut_error, distance(positions + (size_t)last * stride + 3 * v,
                                                           again + (size_t)(last - cut) * stride + 3 * v) /
                                                      (double)c->rig->size);
        free(again);
        sup_instance_destroy(instance);
        sup_model_destroy(model);
    }
}
