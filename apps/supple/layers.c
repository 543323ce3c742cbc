/* layers.c - cutaway view of a body. Triangles are cut at the middle plane; walls of fat and muscle connect both
 * sides. A bone vertex moves with the joint of its bone, else by linear blend skinning; the muscle surface
 * interpolates between skin and bone. */
#include "layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float SKIN[3] = {0.62f, 0.47f, 0.39f}, FAT[3] = {0.80f, 0.60f, 0.24f}, MUSCLE[3] = {0.47f, 0.11f, 0.09f},
                   BONE[3] = {0.78f, 0.73f, 0.60f};
/* Distance between the figures / figure width. */
static const float GAP = 1.06f;

typedef struct builder {
    const app_layers *layers;
    float *positions, *colors;
    int32_t *triangles;
    size_t vertex_count, vertex_capacity, triangle_count, triangle_capacity;
    bool failed;
} builder;

/* --- The layers at rest --- */

static int32_t holder_joint(const sup_rig *rig, int32_t vertex)
{
    const int32_t *holders = rig->character->bone_attachments;
    for (int32_t j = 0; holders != NULL && holders[vertex] >= 0 && j < rig->joint_count; j++)
        if (rig->joint_node[j] == rig->character->bones[holders[vertex]].node) return j;
    return -1;
}

static void read_layers(app_layers *layers, int32_t primitive, int32_t v)
{
    const sup_rig *rig = layers->rig;
    const sup_character *c = rig->character;
    const float *skin = rig->positions + 3 * (size_t)v, *m = c->muscle_positions + 3 * (size_t)v,
                *b = c->bone_positions + 3 * (size_t)v;
    sup_vec3 muscle = sup_mat34_transform_point(rig->primitive_bind[primitive], (sup_vec3){m[0], m[1], m[2]});
    sup_vec3 bone = sup_mat34_transform_point(rig->primitive_bind[primitive], (sup_vec3){b[0], b[1], b[2]});
    float line[3] = {bone.x - skin[0], bone.y - skin[1], bone.z - skin[2]};
    float to_muscle[3] = {muscle.x - skin[0], muscle.y - skin[1], muscle.z - skin[2]};
    float square = line[0] * line[0] + line[1] * line[1] + line[2] * line[2];
    memcpy(layers->bone + 3 * (size_t)v, &bone, sizeof bone);
    layers->holder[v] = holder_joint(rig, v);
    if (!(sqrtf(square) > 1e-5f * rig->size)) return;
    float muscle_fraction = (to_muscle[0] * line[0] + to_muscle[1] * line[1] + to_muscle[2] * line[2]) / square;
    layers->muscle_fraction[v] = fminf(fmaxf(muscle_fraction, 1e-3f), 1.0f);
}

/* Unskinned primitives of a fitted body are detailed bones and muscles; its extras hold one digit for each, in
 * order. */
static void find_details(app_layers *layers)
{
    static const char key[] = "\"muscles\":\"";
    const sup_character *c = layers->rig->character;
    const char *digit = c->extras != NULL ? strstr(c->extras, key) : NULL;
    if (digit == NULL) return;
    digit += sizeof key - 1;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        if (c->primitives[p].skin >= 0) continue;
        if (*digit != '0' && *digit != '1') return;
        memset(layers->detail + c->primitives[p].vertex_first, *digit == '1' ? 2 : 1,
               (size_t)c->primitives[p].vertex_count);
        digit++;
    }
}

bool app_layers_open(app_layers *layers, const sup_rig *rig, float azimuth, int32_t up)
{
    size_t count = (size_t)rig->vertex_count;
    *layers = (app_layers){.rig = rig};
    layers->bone = malloc(3 * count * sizeof(float) + 1);
    layers->muscle_fraction = calloc(count + 1, sizeof(float));
    layers->holder = malloc(count * sizeof(int32_t) + 1);
    layers->detail = calloc(count + 1, 1);
    if (layers->bone == NULL || layers->muscle_fraction == NULL || layers->holder == NULL || layers->detail == NULL)
        return false;
    find_details(layers);
    const sup_character *c = rig->character;
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t v = 0; v < c->primitives[p].vertex_count; v++)
            read_layers(layers, p, c->primitives[p].vertex_first + v);
    float turn = azimuth * 0.017453293f,
          right[3] = {cosf(turn), up == 2 ? sinf(turn) : 0.0f, up == 2 ? 0.0f : -sinf(turn)};
    float low = INFINITY, high = -INFINITY, x_min = INFINITY, x_max = -INFINITY;
    for (size_t v = 0; v < count; v++) {
        const float *p = rig->positions + 3 * v;
        float along = p[0] * right[0] + p[1] * right[1] + p[2] * right[2];
        low = fminf(low, along);
        high = fmaxf(high, along);
        x_min = fminf(x_min, p[0]);
        x_max = fmaxf(x_max, p[0]);
    }
    layers->middle = 0.5f * (x_min + x_max);
    for (int k = 0; k < 3; k++)
        layers->shift[k] = GAP * (high - low) * right[k];
    return true;
}

void app_layers_close(app_layers *layers)
{
    free(layers->bone);
    free(layers->muscle_fraction);
    free(layers->holder);
    free(layers->detail);
}

/* --- In a pose --- */

static void pose_bone(const app_layers *layers, const sup_mat34 *nodes, int32_t v, const float *skin, float *to)
{
    const sup_rig *rig = layers->rig;
    const float *rest = rig->positions + 3 * (size_t)v, *bone = layers->bone + 3 * (size_t)v;
    float sum[3] = {0};
    if (nodes == NULL) {
        for (int k = 0; k < 3; k++)
            to[k] = skin[k] + bone[k] - rest[k];
        return;
    }
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        bool held = layers->holder[v] >= 0;
        int32_t joint = held ? layers->holder[v] : rig->influence_joint[i];
        sup_mat34 motion = sup_mat34_multiply(nodes[rig->joint_node[joint]], rig->joint_inverse_bind[joint]);
        sup_vec3 at = sup_mat34_transform_point(motion, (sup_vec3){bone[0], bone[1], bone[2]});
        float weight = held ? 1.0f : rig->influence_weight[i];
        sum[0] += weight * at.x;
        sum[1] += weight * at.y;
        sum[2] += weight * at.z;
        if (held) break;
    }
    memcpy(to, sum, sizeof sum);
}

/* --- Building --- */

static void *grow(void *memory, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity && memory != NULL) return memory;
    *capacity = *capacity * 2 + 4096;
    return realloc(memory, *capacity * size);
}

static int32_t add_vertex(builder *b, const float *at, const float *color, int figure)
{
    size_t capacity = b->vertex_capacity;
    float *positions = grow(b->positions, &capacity, b->vertex_count, 3 * sizeof(float));
    if (positions != NULL) b->positions = positions;
    float *colors = grow(b->colors, &b->vertex_capacity, b->vertex_count, 3 * sizeof(float));
    if (colors != NULL) b->colors = colors;
    if (positions == NULL || colors == NULL) {
        b->failed = true;
        return 0;
    }
    for (size_t k = 0; k < 3; k++) {
        positions[3 * b->vertex_count + k] = at[k] + (figure == 1 ? b->layers->shift[k] : 0.0f);
        colors[3 * b->vertex_count + k] = color[k];
    }
    return (int32_t)b->vertex_count++;
}

static void add_triangle(builder *b, int32_t u, int32_t v, int32_t w)
{
    int32_t *triangles = grow(b->triangles, &b->triangle_capacity, b->triangle_count, 3 * sizeof(int32_t));
    if (triangles == NULL) {
        b->failed = true;
        return;
    }
    b->triangles = triangles;
    int32_t *to = triangles + 3 * b->triangle_count++;
    to[0] = u, to[1] = v, to[2] = w;
}

/* A figure: outer surface left of the middle plane, inner surface right of it. */
typedef struct figure {
    const float *outer, *inner; /* [vertex_count*3] */
    const float *outer_color, *inner_color, *wall_color;
    int32_t *outer_vertex, *inner_vertex; /* [vertex_count] index in the output, -1: not added yet */
    int number;
} figure;

/* Color of a vertex without layers. */
static const float *plain_color(const app_layers *layers, int32_t v)
{
    return layers->detail[v] == 1 ? BONE : layers->detail[v] == 2 ? MUSCLE : SKIN;
}

static int32_t surface_vertex(builder *b, const figure *f, bool outer, int32_t v)
{
    int32_t *vertex_map = outer ? &f->outer_vertex[v] : &f->inner_vertex[v];
    bool no_layers = !(b->layers->muscle_fraction[v] > 0.0f);
    if (*vertex_map < 0)
        *vertex_map = add_vertex(b, (outer ? f->outer : f->inner) + 3 * (size_t)v,
                                 no_layers ? plain_color(b->layers, v)
                                 : outer   ? f->outer_color
                                           : f->inner_color,
                                 f->number);
    return *vertex_map;
}

static void between(const float *a, const float *b, float t, float *to)
{
    for (int k = 0; k < 3; k++)
        to[k] = a[k] + t * (b[k] - a[k]);
}

/* Intersects edge u-v with the middle plane: adds vertices for both surfaces and separate ones for the wall. */
static void cut_edge(builder *b, const figure *f, int32_t u, int32_t v, int32_t made[4])
{
    const float *rest = b->layers->rig->positions;
    float from = rest[3 * (size_t)u] - b->layers->middle, to = rest[3 * (size_t)v] - b->layers->middle;
    float t = from / (from - to), at[3];
    bool no_layers = !(b->layers->muscle_fraction[u] > 0.0f) && !(b->layers->muscle_fraction[v] > 0.0f);
    between(f->outer + 3 * (size_t)u, f->outer + 3 * (size_t)v, t, at);
    made[0] = add_vertex(b, at, no_layers ? SKIN : f->outer_color, f->number);
    made[2] = add_vertex(b, at, f->wall_color, f->number);
    between(f->inner + 3 * (size_t)u, f->inner + 3 * (size_t)v, t, at);
    made[1] = add_vertex(b, at, no_layers ? SKIN : f->inner_color, f->number);
    made[3] = add_vertex(b, at, f->wall_color, f->number);
}

/* Cuts a triangle whose first corner is alone on its side. */
static void cut_triangle(builder *b, const figure *f, const int32_t c[3], bool first_outer)
{
    int32_t one[4], two[4];
    cut_edge(b, f, c[0], c[1], one);
    cut_edge(b, f, c[0], c[2], two);
    int side = first_outer ? 0 : 1, other = 1 - side;
    add_triangle(b, surface_vertex(b, f, first_outer, c[0]), one[side], two[side]);
    int32_t v = surface_vertex(b, f, !first_outer, c[1]), w = surface_vertex(b, f, !first_outer, c[2]);
    add_triangle(b, one[other], v, w);
    add_triangle(b, one[other], w, two[other]);
    add_triangle(b, one[2], one[3], two[3]);
    add_triangle(b, one[2], two[3], two[2]);
}

static void add_figure(builder *b, const figure *f)
{
    const sup_rig *rig = b->layers->rig;
    const sup_character *c = rig->character;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        f->outer_vertex[v] = f->inner_vertex[v] = -1;
    for (int32_t t = 0; t < c->triangle_count && !b->failed; t++) {
        const int32_t *v = c->triangles + 3 * (size_t)t;
        bool outer[3];
        for (int k = 0; k < 3; k++)
            outer[k] = rig->positions[3 * (size_t)v[k]] < b->layers->middle;
        int detail = b->layers->detail[v[0]];
        bool crosses = outer[0] != outer[1] || outer[1] != outer[2];
        if (detail != 0 && (crosses || outer[0] || f->number != (detail == 1))) continue;
        if (!crosses) {
            add_triangle(b, surface_vertex(b, f, outer[0], v[0]), surface_vertex(b, f, outer[0], v[1]),
                         surface_vertex(b, f, outer[0], v[2]));
            continue;
        }
        int alone = outer[0] == outer[1] ? 2 : outer[0] == outer[2] ? 1 : 0;
        const int32_t turned[3] = {v[alone], v[(alone + 1) % 3], v[(alone + 2) % 3]};
        cut_triangle(b, f, turned, outer[alone]);
    }
}

static void compute_normals(const builder *b, float *normals)
{
    for (size_t t = 0; t < b->triangle_count; t++) {
        const int32_t *v = b->triangles + 3 * t;
        const float *p = b->positions + 3 * (size_t)v[0], *q = b->positions + 3 * (size_t)v[1],
                    *r = b->positions + 3 * (size_t)v[2];
        float e[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]}, f[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]};
        float n[3] = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]};
        for (int k = 0; k < 9; k++)
            normals[3 * (size_t)v[k / 3] + (size_t)(k % 3)] += n[k % 3];
    }
}

bool app_layers_mesh(const app_layers *layers, const float *positions, const sup_mat34 *nodes, render_scene *scene)
{
    size_t count = (size_t)layers->rig->vertex_count;
    builder b = {.layers = layers};
    float *bone = malloc(3 * count * sizeof(float) + 1), *muscle = malloc(3 * count * sizeof(float) + 1),
          *normals = NULL;
    int32_t *vertex_map = malloc(2 * count * sizeof(int32_t) + 1);
    b.failed = bone == NULL || muscle == NULL || vertex_map == NULL;
    for (size_t v = 0; !b.failed && v < count; v++) {
        const float *skin = positions + 3 * v;
        memcpy(bone + 3 * v, skin, 3 * sizeof(float));
        if (layers->muscle_fraction[v] > 0.0f) pose_bone(layers, nodes, (int32_t)v, skin, bone + 3 * v);
        between(skin, bone + 3 * v, layers->muscle_fraction[v], muscle + 3 * v);
    }
    if (!b.failed) {
        add_figure(&b, &(figure){positions, muscle, SKIN, MUSCLE, FAT, vertex_map, vertex_map + count, 0});
        add_figure(&b, &(figure){muscle, bone, MUSCLE, BONE, MUSCLE, vertex_map, vertex_map + count, 1});
        normals = calloc(3 * b.vertex_count + 1, sizeof(float));
    }
    if (normals != NULL) compute_normals(&b, normals);
    free(bone);
    free(muscle);
    free(vertex_map);
    scene->vertex_count = (int32_t)b.vertex_count;
    scene->triangle_count = (int32_t)b.triangle_count;
    scene->positions = b.positions;
    scene->colors = b.colors;
    scene->normals = normals;
    scene->triangles = b.triangles;
    return !b.failed && normals != NULL;
}

void app_layers_free(render_scene *scene)
{
    free((void *)(uintptr_t)scene->positions);
    free((void *)(uintptr_t)scene->colors);
    free((void *)(uintptr_t)scene->normals);
    free((void *)(uintptr_t)scene->triangles);
}
