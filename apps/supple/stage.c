/* stage.c - prepares a character for rendering. */
#include "stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const app_color_choices[] = {"none", "stretch", "contact", "weights", "primitives", NULL};
const char *const app_up_choices[] = {"y", "z", NULL};

int app_view_check(app_view_options *view, int width, int height)
{
    render_def def = {0};
    view->width = width;
    view->height = height;
    if (view->camera == NULL) view->camera = "three-quarter";
    if (!render_def_camera(&def, view->camera))
        return app_usage("--camera %s: Expected front, back, side, three-quarter, top, or AZIMUTH,ELEVATION in degrees "
                         "such as 30,10.",
                         view->camera);
    if (view->size == NULL) return APP_DONE;
    char *end = NULL;
    long w = strtol(view->size, &end, 10), h = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
    if (*end != '\0' || w < 16 || h < 16 || w > 8192 || h > 8192)
        return app_usage("--size %s: Expected WIDTHxHEIGHT, each 16 to 8192 pixels, such as 800x800.", view->size);
    view->width = (int)w;
    view->height = (int)h;
    return APP_DONE;
}

int app_find_joint(const sup_rig *rig, const char *option, const char *name, int32_t *joint)
{
    enum { NAME_LIMIT = 512 };
    const char *names[NAME_LIMIT];
    int32_t count = rig->joint_count < NAME_LIMIT ? rig->joint_count : NAME_LIMIT;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        const char *known = rig->character->nodes[rig->joint_node[j]].name;
        if (j < count) names[j] = known;
        if (strcmp(known, name) == 0) {
            *joint = j;
            return APP_DONE;
        }
    }
    const char *nearest = app_nearest(name, names, count);
    if (nearest != NULL) return app_usage("%s %s: Unknown joint; did you mean %s?", option, name, nearest);
    return app_usage("%s %s: Unknown joint; 'supple info --joints' lists the joints.", option, name);
}

/* Groups vertices with the same skin vertex and nearly the same normal in the file: shading is smooth across texture
 * seams and keeps hard edges of the file. The id of a group is its smallest vertex. */
static bool group_vertices(app_stage *stage)
{
    const sup_rig *rig = stage->rig;
    int32_t *first = calloc((size_t)rig->skin_vertex_count + 1, sizeof *first);
    int32_t *next = calloc((size_t)rig->vertex_count + 1, sizeof *next);
    for (int32_t s = 0; first != NULL && s < rig->skin_vertex_count; s++)
        first[s] = -1;
    for (int32_t v = 0; first != NULL && next != NULL && v < rig->vertex_count; v++) {
        int32_t skin = rig->vertex_to_skin[v], found = v;
        const float *n = rig->normals + 3 * (size_t)v;
        for (int32_t w = skin >= 0 ? first[skin] : -1; w >= 0; w = next[w]) {
            const float *m = rig->normals + 3 * (size_t)w;
            if (stage->shade_group[w] == w && n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > 0.98f) found = w;
        }
        stage->shade_group[v] = found;
        if (skin < 0) continue;
        next[v] = first[skin];
        first[skin] = v;
    }
    bool done = first != NULL && next != NULL;
    free(first);
    free(next);
    return done;
}

int app_stage_open(app_stage *stage, const sup_context *context, const sup_rig *rig, const app_view_options *view)
{
    size_t vertices = (size_t)rig->vertex_count + 1, skin = (size_t)rig->skin_vertex_count + 1;
    sup_error error = {0};
    *stage = (app_stage){.context = *context, .rig = rig, .view = view, .zoom_joint = -1};
    if (view->zoom != NULL) {
        int status = app_find_joint(rig, "--zoom", view->zoom, &stage->zoom_joint);
        if (status != APP_DONE) return status;
    }
    stage->shade_group = calloc(vertices, sizeof(int32_t));
    stage->group_normals = calloc(3 * vertices, sizeof(float));
    stage->normals = calloc(3 * vertices, sizeof(float));
    stage->colors = view->color != APP_COLOR_NONE ? calloc(3 * vertices, sizeof(float)) : NULL;
    stage->vertex_values = calloc(skin, sizeof(float));
    stage->skin_positions = calloc(3 * skin, sizeof(float));
    stage->bones = calloc(6 * (size_t)rig->joint_count + 1, sizeof(float));
    bool ready = stage->shade_group != NULL && stage->group_normals != NULL && stage->normals != NULL &&
                 (stage->colors != NULL || view->color == APP_COLOR_NONE) && stage->vertex_values != NULL &&
                 stage->skin_positions != NULL && stage->bones != NULL && group_vertices(stage);
    if (!ready) {
        app_say("Out of memory for the image.");
        return APP_OTHER;
    }
    if (view->layers) {
        const sup_character *c = rig->character;
        if (c->muscle_positions == NULL || c->bone_positions == NULL)
            return app_usage("--layers: %s has no muscle and bone surfaces; fit them with 'supple anatomy fit', or use "
                             "scene:human.",
                             c->name);
        render_def camera_def = {0};
        render_def_camera(&camera_def, view->camera);
        ready = app_layers_open(&stage->layers, rig, camera_def.azimuth, view->up + 1);
        if (!ready) {
            app_say("Out of memory for the image.");
            return APP_OTHER;
        }
    }
    if (view->color != APP_COLOR_CONTACT) return APP_DONE;
    if (sup_rig_surface_create(context, rig, &stage->surface, &error) != SUP_OK ||
        sup_measurer_create(context, &stage->surface->surface, &stage->measurer, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, "--color contact");
    return APP_DONE;
}

void app_stage_close(app_stage *stage)
{
    sup_measurer_destroy(stage->measurer);
    sup_rig_surface_destroy(stage->surface);
    free(stage->shade_group);
    free(stage->group_normals);
    free(stage->normals);
    free(stage->colors);
    free(stage->vertex_values);
    free(stage->skin_positions);
    free(stage->bones);
    app_layers_close(&stage->layers);
}

static sup_vec3 posed_point(const app_stage *stage, const sup_mat34 *nodes, int32_t joint, const float *point)
{
    sup_mat34 motion = sup_mat34_multiply(nodes[stage->rig->joint_node[joint]], stage->rig->joint_inverse_bind[joint]);
    return sup_mat34_transform_point(motion, (sup_vec3){point[0], point[1], point[2]});
}

static float distance_between(const float *a, const float *b)
{
    return hypotf(hypotf(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

/* RMS distance of the skin that follows a joint from it; a tenth of the character size for a joint without skin. */
static float skin_extent(const sup_rig *rig, int32_t joint)
{
    double sum = 0.0, weights = 0.0;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
            if (rig->influence_joint[i] != joint) continue;
            double d = (double)distance_between(rig->positions + 3 * (size_t)v, rig->bone_head + 3 * (size_t)joint);
            sum += (double)rig->influence_weight[i] * d * d;
            weights += (double)rig->influence_weight[i];
        }
    return weights > 0.0 ? (float)sqrt(sum / weights) : 0.1f * rig->size;
}

/* Radius of the close-up of a joint: from the lengths of its bones, at most a third of the character size. A bone
 * without length counts as long as the other; where both have none, as the skin around the joint. */
static float zoom_radius(const sup_rig *rig, int32_t joint)
{
    const float smallest = 0.02f * rig->size;
    const float *head = rig->bone_head + 3 * (size_t)joint, *tail = rig->bone_tail + 3 * (size_t)joint;
    int32_t parent = rig->joint_parent[joint];
    float own = distance_between(tail, head);
    float other = parent >= 0 ? distance_between(rig->bone_head + 3 * (size_t)parent, head) : own;
    if (fmaxf(own, other) < smallest) own = other = skin_extent(rig, joint);
    if (own < smallest) own = other;
    if (other < smallest) other = own;
    return fminf(fmaxf(0.75f * sqrtf(own * other), smallest), 0.33f * rig->size);
}

void app_stage_set_camera(const app_stage *stage, const float *positions, int32_t frame_count, const sup_mat34 *nodes,
                          render_def *def)
{
    int32_t up = stage->view->up + 1;
    def->width = stage->view->width;
    def->height = stage->view->height;
    def->wire = stage->view->wire;
    render_def_camera(def, stage->view->camera);
    render_def_frame(def, positions, (int64_t)frame_count * stage->rig->vertex_count, up);
    if (stage->view->layers) {
        /* Both figures must fit. */
        const float *shift = stage->layers.shift;
        float half = 0.5f * hypotf(hypotf(shift[0], shift[1]), shift[2]);
        for (int k = 0; k < 3; k++)
            def->target[k] += 0.5f * shift[k];
        def->radius = fmaxf(def->radius, 2.0f * half / fmaxf(1.0f, (float)def->width / (float)def->height));
    }
    if (stage->zoom_joint < 0 || nodes == NULL) return;
    sup_vec3 joint =
        posed_point(stage, nodes, stage->zoom_joint, stage->rig->bone_head + 3 * (size_t)stage->zoom_joint);
    def->target[0] = joint.x;
    def->target[1] = joint.y;
    def->target[2] = joint.z;
    def->radius = zoom_radius(stage->rig, stage->zoom_joint);
}

static void compute_normals(app_stage *stage, const float *positions)
{
    const sup_rig *rig = stage->rig;
    memset(stage->group_normals, 0, 3 * (size_t)rig->vertex_count * sizeof(float));
    for (int32_t t = 0; t < rig->character->triangle_count; t++) {
        const int32_t *v = rig->character->triangles + 3 * (size_t)t;
        const float *a = positions + 3 * (size_t)v[0], *b = positions + 3 * (size_t)v[1],
                    *c = positions + 3 * (size_t)v[2];
        float e[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, f[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
        float n[3] = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]};
        for (int k = 0; k < 9; k++)
            stage->group_normals[3 * (size_t)stage->shade_group[v[k / 3]] + (size_t)(k % 3)] += n[k % 3];
    }
    for (int32_t v = 0; v < rig->vertex_count; v++)
        memcpy(stage->normals + 3 * (size_t)v, stage->group_normals + 3 * (size_t)stage->shade_group[v],
               3 * sizeof(float));
}

static void set_color(float *to, const float *from)
{
    memcpy(to, from, 3 * sizeof(float));
}

static void mix(float *to, const float *a, const float *b, float t)
{
    for (int k = 0; k < 3; k++)
        to[k] = a[k] + t * (b[k] - a[k]);
}

static const float PALE[3] = {0.62f, 0.60f, 0.57f};

/* Distinct linear colors for consecutive indices: hues separated by the golden ratio. */
static void palette(int32_t i, float color[3])
{
    float hue = 6.2831853f * (0.61803399f * (float)i + 0.07f), light = i % 3 == 0 ? 0.34f : i % 3 == 1 ? 0.48f : 0.24f;
    for (int k = 0; k < 3; k++)
        color[k] = fmaxf(0.02f, light * (1.0f + 0.78f * cosf(hue - 2.0943951f * (float)k)));
}

static void color_weights(app_stage *stage)
{
    const sup_rig *rig = stage->rig;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        float *to = stage->colors + 3 * (size_t)v;
        to[0] = to[1] = to[2] = 0.0f;
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
            float color[3];
            palette(rig->influence_joint[i], color);
            for (int k = 0; k < 3; k++)
                to[k] += rig->influence_weight[i] * color[k];
        }
    }
}

static void color_primitives(app_stage *stage)
{
    const sup_character *character = stage->rig->character;
    for (int32_t p = 0; p < character->primitive_count; p++) {
        float color[3];
        palette(p, color);
        for (int32_t i = 0; i < character->primitives[p].vertex_count; i++)
            set_color(stage->colors + 3 * ((size_t)character->primitives[p].vertex_first + (size_t)i), color);
    }
}

/* Maps one value per skin vertex to a color: -1 blue, 0 pale, 1 red; props stay pale. */
static void color_values(app_stage *stage)
{
    static const float low[3] = {0.05f, 0.20f, 0.62f}, high[3] = {0.72f, 0.06f, 0.04f};
    for (int32_t v = 0; v < stage->rig->vertex_count; v++) {
        int32_t skin = stage->rig->vertex_to_skin[v];
        float value = skin >= 0 ? fminf(fmaxf(stage->vertex_values[skin], -1.0f), 1.0f) : 0.0f;
        mix(stage->colors + 3 * (size_t)v, PALE, value < 0.0f ? low : high, fabsf(value));
    }
}

static float edge_length(const float *positions, int32_t a, int32_t b)
{
    const float *p = positions + 3 * (size_t)a, *q = positions + 3 * (size_t)b;
    return hypotf(hypotf(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);
}

/* log2 of the largest edge length change at each vertex: half and double length are saturated. */
static void color_stretch(app_stage *stage)
{
    const sup_rig *rig = stage->rig;
    memset(stage->vertex_values, 0, (size_t)rig->skin_vertex_count * sizeof(float));
    for (int32_t i = 0; i < 3 * rig->skin_triangle_count; i++) {
        int32_t a = rig->skin_triangles[i], b = rig->skin_triangles[i % 3 == 2 ? i - 2 : i + 1];
        float rest = edge_length(rig->skin_positions, a, b), now = edge_length(stage->skin_positions, a, b);
        if (!(rest > 0.0f)) continue;
        float change = now > 1e-3f * rest ? log2f(now / rest) : -10.0f;
        if (fabsf(change) > fabsf(stage->vertex_values[a])) stage->vertex_values[a] = change;
        if (fabsf(change) > fabsf(stage->vertex_values[b])) stage->vertex_values[b] = change;
    }
    color_values(stage);
}

static void color_contact(app_stage *stage)
{
    const sup_rig *rig = stage->rig;
    sup_frame_measure frame;
    int32_t pair_count = 0;
    memset(stage->vertex_values, 0, (size_t)rig->skin_vertex_count * sizeof(float));
    if (sup_measurer_frame(stage->measurer, stage->skin_positions, &frame, NULL) == SUP_OK) {
        const int32_t *pairs = sup_measurer_pairs(stage->measurer, &pair_count);
        const float *depths = sup_measurer_depths(stage->measurer);
        for (int32_t i = 0; i < 2 * pair_count; i++)
            for (int c = 0; c < 3; c++)
                stage->vertex_values[rig->skin_triangles[3 * (size_t)pairs[i] + (size_t)c]] = 0.7f;
        for (int32_t v = 0; v < rig->skin_vertex_count; v++)
            if (depths[v] > 0.0f) stage->vertex_values[v] = 1.0f;
    }
    color_values(stage);
}

static void choose_colors(app_stage *stage, const float *positions)
{
    sup_rig_surface_gather(stage->rig, positions, stage->skin_positions);
    if (stage->view->color == APP_COLOR_STRETCH) color_stretch(stage);
    if (stage->view->color == APP_COLOR_CONTACT) color_contact(stage);
    if (stage->view->color == APP_COLOR_WEIGHTS) color_weights(stage);
    if (stage->view->color == APP_COLOR_PRIMITIVES) color_primitives(stage);
}

static void pose_bones(app_stage *stage, const sup_mat34 *nodes)
{
    for (int32_t j = 0; j < stage->rig->joint_count; j++) {
        sup_vec3 ends[2] = {posed_point(stage, nodes, j, stage->rig->bone_head + 3 * (size_t)j),
                            posed_point(stage, nodes, j, stage->rig->bone_tail + 3 * (size_t)j)};
        memcpy(stage->bones + 6 * (size_t)j, ends, sizeof ends);
    }
}

/* The skin and the colliders in one scene; owns its arrays. */
typedef struct collider_scene {
    app_collider_mesh colliders;
    float *positions, *normals, *colors;
    int32_t *triangles;
} collider_scene;

static void collider_scene_free(collider_scene *c)
{
    free(c->colliders.positions);
    free(c->colliders.triangles);
    free(c->positions);
    free(c->normals);
    free(c->colors);
    free(c->triangles);
}

/* Area-weighted vertex normals of the colliders. */
static void collider_normals(const app_collider_mesh *colliders, float *normals)
{
    for (int32_t t = 0; t < colliders->triangle_count; t++) {
        const int32_t *v = colliders->triangles + 3 * (size_t)t;
        const float *a = colliders->positions + 3 * (size_t)v[0], *b = colliders->positions + 3 * (size_t)v[1],
                    *c = colliders->positions + 3 * (size_t)v[2];
        float e[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, f[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
        float n[3] = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]};
        for (int k = 0; k < 9; k++)
            normals[3 * (size_t)v[k / 3] + (size_t)(k % 3)] += n[k % 3];
    }
}

static bool add_colliders(const app_stage *stage, const sup_mat34 *nodes, render_scene *scene, collider_scene *c)
{
    static const float COLLIDER_COLOR[3] = {0.16f, 0.24f, 0.34f}, CLAY[3] = {0.62f, 0.47f, 0.39f};
    if (!app_colliders_mesh(stage->colliders, nodes, 1.2f * stage->rig->size, &c->colliders)) return false;
    size_t skin = (size_t)scene->vertex_count, all = skin + (size_t)c->colliders.vertex_count;
    size_t faces = (size_t)scene->triangle_count, all_faces = faces + (size_t)c->colliders.triangle_count;
    c->positions = malloc(3 * all * sizeof(float));
    c->normals = calloc(3 * all, sizeof(float));
    c->colors = malloc(3 * all * sizeof(float));
    c->triangles = malloc(3 * all_faces * sizeof(int32_t));
    if (c->positions == NULL || c->normals == NULL || c->colors == NULL || c->triangles == NULL) return false;
    memcpy(c->positions, scene->positions, 3 * skin * sizeof(float));
    memcpy(c->positions + 3 * skin, c->colliders.positions, 3 * (all - skin) * sizeof(float));
    memcpy(c->normals, scene->normals, 3 * skin * sizeof(float));
    collider_normals(&c->colliders, c->normals + 3 * skin);
    for (size_t v = 0; v < all; v++)
        set_color(c->colors + 3 * v, v >= skin ? COLLIDER_COLOR : scene->colors != NULL ? scene->colors + 3 * v : CLAY);
    memcpy(c->triangles, scene->triangles, 3 * faces * sizeof(int32_t));
    for (size_t i = 3 * faces; i < 3 * all_faces; i++)
        c->triangles[i] = c->colliders.triangles[i - 3 * faces] + scene->vertex_count;
    scene->positions = c->positions;
    scene->normals = c->normals;
    scene->colors = c->colors;
    scene->triangles = c->triangles;
    scene->vertex_count = (int32_t)all;
    scene->triangle_count = (int32_t)all_faces;
    return true;
}

int app_stage_render(app_stage *stage, const float *positions, const sup_mat34 *nodes, const render_def *def,
                     render_image *image)
{
    const sup_rig *rig = stage->rig;
    bool bones = stage->view->bones && nodes != NULL;
    sup_error error = {0};
    compute_normals(stage, positions);
    choose_colors(stage, positions);
    if (bones) pose_bones(stage, nodes);
    render_scene scene = {.vertex_count = rig->vertex_count,
                          .triangle_count = rig->character->triangle_count,
                          .positions = positions,
                          .normals = stage->normals,
                          .triangles = rig->character->triangles,
                          .colors = stage->colors,
                          .bone_count = bones ? rig->joint_count : 0,
                          .bones = bones ? stage->bones : NULL,
                          .up = stage->view->up + 1};
    collider_scene colliders = {0};
    render_scene cut = scene;
    int status = APP_DONE;
    if (stage->view->layers) {
        if (!app_layers_mesh(&stage->layers, positions, nodes, &cut)) {
            app_say("Out of memory for the image.");
            status = APP_OTHER;
        }
        scene = cut;
    }
    if (status == APP_DONE && stage->colliders != NULL && stage->colliders->count > 0 &&
        !add_colliders(stage, nodes, &scene, &colliders)) {
        app_say("Out of memory for the image.");
        status = APP_OTHER;
    }
    if (status == APP_DONE && render_picture(&stage->context, &scene, def, image, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, "picture");
    collider_scene_free(&colliders);
    if (stage->view->layers) app_layers_free(&cut);
    return status;
}
