/* actor.h - an animated character, skinned by `projective` through the public API. */
#ifndef SUP_TESTS_PROJECTIVE_ACTOR_H
#define SUP_TESTS_PROJECTIVE_ACTOR_H

#include "supple/supple.h"
#include "test.h"

typedef struct actor {
    sup_context context;
    sup_thread_pool *pool;
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    float *positions, *normals;
} actor;

sup_character *actor_scene(const char *name, double resolution);
/* Settings as "name=value name=value". Takes ownership of the character. */
actor actor_open(sup_character *character, const char *settings, int32_t threads);
/* The same with maps that `paint` sets, in the order of the method's table. */
typedef void actor_paint_fn(void *user, const sup_rig *rig, float *const *maps);
actor actor_open_painted(sup_character *character, const char *settings, int32_t threads, actor_paint_fn *paint,
                         void *user);
void actor_close(actor *a);
/* One frame; the positions must be finite. */
void actor_step(actor *a, double dt);
void actor_sample(actor *a, const char *clip, double time);
/* Largest distance of a vertex to `other` [vertex_count*3], in sizes of the character. */
/* Linear blending of the actor's pose [vertex_count*3], to free(). */
float *actor_linear(const actor *a);
double actor_farthest(const actor *a, const float *other);

#endif
