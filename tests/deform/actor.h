/* actor.h - an instance of a built-in character through the public API, for the tests of instances. */
#ifndef SUP_TESTS_DEFORM_ACTOR_H
#define SUP_TESTS_DEFORM_ACTOR_H

#include "math/affine.h"
#include "supple/supple.h"
#include "test.h"

typedef struct actor {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    float *positions; /* [vertex_count*3] of the last step */
} actor;

/* scene:`name` at `resolution`, "name=value name=value" set, in its rest pose. `context` NULL: defaults. */
actor actor_open(const sup_context *context, const char *name, double resolution, const char *settings);
void actor_close(actor *a);
/* Samples a clip at a time, clamped to its range. */
void actor_sample(actor *a, const char *clip, double time);
/* Transforms every node of the pose. */
void actor_move(actor *a, sup_affine by);
/* One frame; every position must be finite. */
void actor_step(actor *a, double dt);
/* Largest distance to `other` [vertex_count*3], in sizes. */
double actor_farthest(const actor *a, const float *other);
/* Longest edge of the skin over its rest length. */
double actor_stretch(const actor *a);
/* Bounding box of the skin in the bind pose. */
void actor_box(const actor *a, float lower[3], float upper[3]);

#endif
