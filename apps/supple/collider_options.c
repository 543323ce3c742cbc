/* collider_options.c - colliders from the command line. */
#include "collider_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBERS = 7, NAME_LIMIT = 512, SEGMENTS = 48 };

static int fail_form(const char *given)
{
    return app_usage(
        "--collider %s: Expected plane:X,Y,Z:NX,NY,NZ, sphere:X,Y,Z:R, capsule:X,Y,Z:X,Y,Z:R or mesh:FILE, and "
        "optionally @NODE to attach it to a node.",
        given);
}

/* Parses exactly `count` numbers; separators[i] follows number i (the last is followed by the end of the text). */
static bool parse_numbers(const char *text, const char *separators, int count, float *numbers)
{
    for (int i = 0; i < count; i++) {
        char *end = NULL;
        double value = strtod(text, &end);
        if (end == text || !isfinite(value) || fabs(value) > 1e30 || *end != separators[i]) return false;
        numbers[i] = (float)value;
        text = end + 1;
    }
    return true;
}

static int find_node(const sup_character *character, const char *given, const char *name, int32_t *node)
{
    const char *names[NAME_LIMIT];
    int32_t count = character->node_count < NAME_LIMIT ? character->node_count : NAME_LIMIT;
    *node = sup_character_find_node(character, name);
    if (*node >= 0) return APP_DONE;
    for (int32_t i = 0; i < count; i++)
        names[i] = character->nodes[i].name;
    const char *nearest = app_nearest(name, names, count);
    if (nearest != NULL) return app_usage("--collider %s: Unknown node %s; did you mean %s?", given, name, nearest);
    return app_usage("--collider %s: Unknown node %s; 'supple info --joints' lists the joints.", given, name);
}

static int load_mesh(app_colliders *o, app_session *session, const char *path, int32_t index)
{
    sup_load_def def = app_load_def(NULL);
    sup_error error = {0};
    if (sup_load(&session->context, path, &def, &o->meshes[index], &error) != SUP_OK)
        return app_fail_load(&error, path);
    const sup_character *mesh = o->meshes[index];
    if (mesh->triangle_count < 4) {
        app_say("%s: The file contains no closed mesh.", path);
        return APP_INPUT;
    }
    o->items[index] = sup_collider_mesh(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count);
    return APP_DONE;
}

/* Parses the shape, without @NODE. */
static int parse_shape(app_colliders *o, app_session *session, const char *given, const char *text, int32_t index)
{
    float n[MAX_NUMBERS] = {0};
    sup_collider *collider = &o->items[index];
    if (strncmp(text, "mesh:", 5) == 0 && text[5] != '\0') return load_mesh(o, session, text + 5, index);
    if (strncmp(text, "plane:", 6) == 0 && parse_numbers(text + 6, ",,:,,", 6, n))
        *collider = sup_collider_plane((sup_vec3){n[0], n[1], n[2]}, (sup_vec3){n[3], n[4], n[5]});
    else if (strncmp(text, "sphere:", 7) == 0 && parse_numbers(text + 7, ",,:", 4, n))
        *collider = sup_collider_sphere((sup_vec3){n[0], n[1], n[2]}, n[3]);
    else if (strncmp(text, "capsule:", 8) == 0 && parse_numbers(text + 8, ",,:,,:", 7, n))
        *collider = sup_collider_capsule((sup_vec3){n[0], n[1], n[2]}, (sup_vec3){n[3], n[4], n[5]}, n[6]);
    else
        return fail_form(given);
    if (collider->shape == SUP_COLLIDER_PLANE && n[3] == 0.0f && n[4] == 0.0f && n[5] == 0.0f)
        return app_usage("--collider %s: NX,NY,NZ is the plane normal and must not be zero.", given);
    if (collider->shape == SUP_COLLIDER_CAPSULE && !(collider->radius > 0.0f))
        return app_usage("--collider %s: The radius must be greater than 0.", given);
    return APP_DONE;
}

static int parse(app_colliders *o, app_session *session, const sup_character *character, const char *given,
                 int32_t index)
{
    char text[4096];
    int32_t node = -1;
    if (strlen(given) >= sizeof text) return fail_form("...");
    snprintf(text, sizeof text, "%s", given);
    char *at = strrchr(text, '@');
    if (at != NULL) {
        *at = '\0';
        int status = find_node(character, given, at + 1, &node);
        if (status != APP_DONE) return status;
    }
    int status = parse_shape(o, session, given, text, index);
    if (status == APP_DONE) o->items[index].node = node;
    return status;
}

int app_colliders_open(app_colliders *colliders, app_session *session, const sup_character *character,
                       const app_texts *given)
{
    int status = APP_DONE;
    *colliders = (app_colliders){0};
    if (given->count == 0) return APP_DONE;
    colliders->items = calloc((size_t)given->count, sizeof *colliders->items);
    colliders->meshes = calloc((size_t)given->count, sizeof *colliders->meshes);
    if (colliders->items == NULL || colliders->meshes == NULL) {
        app_say("There is not enough memory for the colliders.");
        return APP_OTHER;
    }
    for (int i = 0; status == APP_DONE && i < given->count; i++) {
        colliders->count++;
        status = parse(colliders, session, character, given->items[i], i);
    }
    return status;
}

void app_colliders_close(app_colliders *colliders)
{
    for (int32_t i = 0; colliders->meshes != NULL && i < colliders->count; i++)
        sup_character_destroy(colliders->meshes[i]);
    free(colliders->meshes);
    free(colliders->items);
    *colliders = (app_colliders){0};
}

/* --- Meshes for rendering --- */

static void count_shape(const sup_collider *c, int32_t *vertices, int32_t *triangles)
{
    *vertices = c->shape == SUP_COLLIDER_MESH    ? c->vertex_count
                : c->shape == SUP_COLLIDER_PLANE ? 4
                                                 : SEGMENTS * SEGMENTS;
    *triangles = c->shape == SUP_COLLIDER_MESH    ? c->triangle_count
                 : c->shape == SUP_COLLIDER_PLANE ? 2
                                                  : 2 * SEGMENTS * (SEGMENTS - 1);
}

/* Two unit vectors perpendicular to `n`, which need not be normalized. */
static void perpendiculars(const float n[3], float u[3], float v[3])
{
    int axis = fabsf(n[0]) <= fabsf(n[1]) && fabsf(n[0]) <= fabsf(n[2]) ? 0 : fabsf(n[1]) <= fabsf(n[2]) ? 1 : 2;
    float e[3] = {0, 0, 0};
    e[axis] = 1.0f;
    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++)
        u[k] = n[(k + 1) % 3] * e[(k + 2) % 3] - n[(k + 2) % 3] * e[(k + 1) % 3];
    float u_length = sqrtf(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    for (int k = 0; k < 3; k++)
        u[k] /= u_length;
    for (int k = 0; k < 3; k++)
        v[k] = (n[(k + 1) % 3] * u[(k + 2) % 3] - n[(k + 2) % 3] * u[(k + 1) % 3]) / length;
}

static void mesh_plane(const sup_collider *c, float size, float *p, int32_t *t)
{
    static const int32_t corners[6] = {0, 1, 2, 2, 1, 3};
    const float from[3] = {c->from.x, c->from.y, c->from.z};
    float n[3] = {c->to.x - c->from.x, c->to.y - c->from.y, c->to.z - c->from.z}, u[3], v[3];
    perpendiculars(n, u, v);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            p[3 * i + k] =
                from[k] + 0.5f * size * ((i & 1) != 0 ? u[k] : -u[k]) + 0.5f * size * ((i & 2) != 0 ? v[k] : -v[k]);
    memcpy(t, corners, sizeof corners);
}

/* Rings from one end to the other, half of them on each hemisphere. */
static void mesh_capsule(const sup_collider *c, float *p, int32_t *t)
{
    const float from[3] = {c->from.x, c->from.y, c->from.z}, to[3] = {c->to.x, c->to.y, c->to.z};
    float n[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]}, u[3], v[3];
    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++)
        n[k] = length > 0.0f ? n[k] / length : (float)(k == 1);
    perpendiculars(n, u, v);
    for (int i = 0; i < SEGMENTS; i++) {
        float polar = 3.14159265f * (float)i / (float)(SEGMENTS - 1);
        for (int j = 0; j < SEGMENTS; j++) {
            float angle = 6.28318531f * (float)j / (float)SEGMENTS;
            for (int k = 0; k < 3; k++)
                p[3 * (SEGMENTS * i + j) + k] =
                    (i < SEGMENTS / 2 ? from[k] : to[k]) +
                    c->radius * (-cosf(polar) * n[k] + sinf(polar) * (cosf(angle) * u[k] + sinf(angle) * v[k]));
            if (i + 1 == SEGMENTS) continue;
            int32_t a = SEGMENTS * i + j, b = SEGMENTS * i + (j + 1) % SEGMENTS;
            const int32_t two[6] = {a, b, a + SEGMENTS, a + SEGMENTS, b, b + SEGMENTS};
            memcpy(t + 6 * (SEGMENTS * i + j), two, sizeof two);
        }
    }
}

static void mesh_collider(const sup_collider *c, const sup_mat34 *nodes, float size, int32_t base, int32_t vertices,
                          int32_t triangles, float *p, int32_t *t)
{
    sup_mat34 world = c->node >= 0 && nodes != NULL ? sup_mat34_multiply(nodes[c->node], c->place) : c->place;
    if (c->shape == SUP_COLLIDER_PLANE)
        mesh_plane(c, size, p, t);
    else if (c->shape == SUP_COLLIDER_CAPSULE)
        mesh_capsule(c, p, t);
    else {
        memcpy(p, c->positions, 3 * (size_t)vertices * sizeof *p);
        memcpy(t, c->triangles, 3 * (size_t)triangles * sizeof *t);
    }
    for (int32_t i = 0; i < vertices; i++) {
        sup_vec3 q = sup_mat34_transform_point(world, (sup_vec3){p[3 * i], p[3 * i + 1], p[3 * i + 2]});
        memcpy(p + 3 * (size_t)i, &q, sizeof q);
    }
    for (int32_t i = 0; i < 3 * triangles; i++)
        t[i] += base;
}

bool app_colliders_mesh(const app_colliders *colliders, const sup_mat34 *nodes, float size, app_collider_mesh *mesh)
{
    *mesh = (app_collider_mesh){0};
    for (int32_t i = 0; i < colliders->count; i++) {
        int32_t vertices, triangles;
        count_shape(&colliders->items[i], &vertices, &triangles);
        mesh->vertex_count += vertices;
        mesh->triangle_count += triangles;
    }
    mesh->positions = calloc((size_t)mesh->vertex_count + 1, 3 * sizeof(float));
    mesh->triangles = calloc((size_t)mesh->triangle_count + 1, 3 * sizeof(int32_t));
    if (mesh->positions == NULL || mesh->triangles == NULL) return false;
    int32_t vertex = 0, triangle = 0;
    for (int32_t i = 0; i < colliders->count; i++) {
        int32_t vertices, triangles;
        count_shape(&colliders->items[i], &vertices, &triangles);
        mesh_collider(&colliders->items[i], nodes, size, vertex, vertices, triangles,
                      mesh->positions + 3 * (size_t)vertex, mesh->triangles + 3 * (size_t)triangle);
        vertex += vertices;
        triangle += triangles;
    }
    return true;
}
