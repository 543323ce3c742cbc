/* engine.c - how an engine uses Supple: bind once, then a step per frame into the engine's own vertex buffer.
 *
 * Here the "engine" rotates one joint of the built-in arm; a game would use the transforms of its animation system. The
 * skin is written directly into an interleaved vertex buffer. */
#include <supple/supple.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vertex {
    float position[3], normal[3];
    float texcoord[2]; /* not written by Supple */
} vertex;

typedef struct actor {
    sup_character *character;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    sup_transform *local; /* [node_count] the engine's joint transforms */
    vertex *vertices;     /* [vertex_count] the engine's vertex buffer */
} actor;

static sup_result actor_create(actor *a, sup_error *error)
{
    sup_rig *rig = NULL;
    sup_result result = sup_scene_create(NULL, "arm", 0.5, &a->character, error);
    if (result == SUP_OK) result = sup_rig_create(NULL, a->character, NULL, &rig, error);
    if (result == SUP_OK) result = sup_bind(NULL, sup_method_find("dualquat"), rig, NULL, &a->model, error);
    if (result == SUP_OK) result = sup_instance_create(NULL, a->model, NULL, &a->instance, error);
    if (result == SUP_OK) result = sup_pose_create(NULL, a->character, &a->pose, error);
    sup_rig_destroy(rig); /* the model does not refer to the rig */
    if (result != SUP_OK) return result;
    a->local = calloc((size_t)a->character->node_count, sizeof *a->local);
    a->vertices = calloc((size_t)a->character->vertex_count, sizeof *a->vertices);
    return a->local != NULL && a->vertices != NULL ? SUP_OK : SUP_ERROR_MEMORY;
}

static void actor_destroy(actor *a)
{
    free(a->vertices);
    free(a->local);
    sup_pose_destroy(a->pose);
    sup_instance_destroy(a->instance);
    sup_model_destroy(a->model);
    sup_character_destroy(a->character);
}

/* Hamilton product: first b, then a. */
static sup_quat multiply(sup_quat a, sup_quat b)
{
    return (sup_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                      a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

/* The engine's animation: every joint is at rest, except that the last joint with a child rotates about its z axis. */
static void animate(actor *a, float angle)
{
    int32_t joint = -1;
    for (int32_t n = 0; n < a->character->node_count; n++) {
        const sup_node *node = &a->character->nodes[n];
        a->local[n] = node->rest;
        if (node->is_joint && node->parent >= 0 && a->character->nodes[node->parent].is_joint) joint = node->parent;
    }
    if (joint < 0) return;
    sup_quat bend = {0.0f, 0.0f, sinf(0.5f * angle), cosf(0.5f * angle)};
    a->local[joint].rotation = multiply(a->local[joint].rotation, bend);
}

static sup_result actor_step(actor *a, float dt)
{
    sup_skin_out out = {.positions = a->vertices->position,
                        .position_stride = sizeof(vertex),
                        .normals = a->vertices->normal,
                        .normal_stride = sizeof(vertex)};
    sup_result result = sup_pose_from_local(a->character, a->local, a->pose);
    return result == SUP_OK ? sup_instance_step(a->instance, a->pose, dt, &out) : result;
}

/* Largest distance of a vertex to its first position. */
static float farthest(const actor *a, const vertex *first)
{
    float largest = 0.0f;
    for (int32_t v = 0; v < a->character->vertex_count; v++) {
        const float *p = a->vertices[v].position, *q = first[v].position;
        float x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
        largest = fmaxf(largest, sqrtf(x * x + y * y + z * z));
    }
    return largest;
}

int main(void)
{
    actor a = {0};
    sup_error error = {0};
    vertex *first = NULL;
    sup_result result = actor_create(&a, &error);
    for (int frame = 0; frame <= 60 && result == SUP_OK; frame++) {
        animate(&a, (float)frame / 60.0f);
        result = actor_step(&a, 1.0f / 60.0f);
        size_t size = (size_t)a.character->vertex_count * sizeof(vertex);
        if (frame == 0 && (first = malloc(size)) != NULL) memcpy(first, a.vertices, size);
        if (frame % 20 == 0 && first != NULL)
            printf("frame %2d: the farthest of %d vertices moved %.3f m\n", frame, (int)a.character->vertex_count,
                   (double)farthest(&a, first));
    }
    if (result != SUP_OK) fprintf(stderr, "%s: %s\n", sup_result_name(result), error.message);
    free(first);
    actor_destroy(&a);
    return result != SUP_OK;
}
