/* contact_fixture.h - a character with its tissue and contact detection, posed by linear blending: for tests and the
 * benchmark of contact. */
#ifndef SUP_TESTS_CONTACT_FIXTURE_H
#define SUP_TESTS_CONTACT_FIXTURE_H

#include "math/affine.h"
#include "contact/detect.h"
#include "supple/load.h"
#include "supple/pose.h"
#include "supple/scenes.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct contact_fixture {
    sup_character *character;
    sup_rig *rig;
    sup_tissue *tissue;
    sup_volumetric_skeleton *skeleton;
    sup_pose *pose;
    sup_arena arena;
    sup_detect detect;
    void *state;
    size_t state_size;
    float *skin, *ends; /* posed */
    sup_contact *contacts;
} contact_fixture;

static inline void fixture_must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "%s (%s)\n", error->message, error->where);
    exit(1);
}

/* Takes ownership of the character. */
static inline contact_fixture fixture_of(sup_character *character)
{
    contact_fixture f = {.character = character};
    sup_error error = {0};
    sup_context context = sup_context_resolve(NULL);
    fixture_must(sup_rig_create(NULL, character, NULL, &f.rig, &error), &error);
    fixture_must(sup_tissue_create(NULL, f.rig, NULL, NULL, &f.skeleton, &f.tissue, NULL, &error), &error);
    fixture_must(sup_pose_create(NULL, character, &f.pose, &error), &error);
    f.arena = sup_arena_create(&context.allocator);
    sup_detect_def def = sup_detect_def_of(f.tissue, f.skeleton);
    fixture_must(sup_detect_create(NULL, &def, &f.arena, &f.detect, &error), &error);
    f.state_size = sup_detect_state_size(&f.detect);
    f.state = sup_alloc(&context.allocator, f.state_size);
    sup_detect_reset(&f.detect, f.state);
    f.skin = malloc((size_t)def.vertex_count * 12);
    f.ends = malloc((size_t)def.segment_count * 24);
    f.contacts = malloc((size_t)def.vertex_count * sizeof *f.contacts);
    return f;
}

static inline contact_fixture fixture_scene(const char *name, double resolution)
{
    sup_error error = {0};
    sup_character *character = NULL;
    fixture_must(sup_scene_create(NULL, name, resolution, &character, &error), &error);
    return fixture_of(character);
}

/* A character file, or a mesh and a skeleton; the skeleton may be NULL. */
static inline contact_fixture fixture_load(const char *path, const char *skeleton)
{
    sup_error error = {0};
    sup_character *character = NULL;
    sup_load_def def = sup_default_load_def();
    def.skeleton = skeleton;
    fixture_must(sup_load(NULL, path, &def, &character, &error), &error);
    return fixture_of(character);
}

static inline void fixture_free(contact_fixture *f)
{
    sup_context context = sup_context_resolve(NULL);
    sup_free(&context.allocator, f->state, f->state_size);
    sup_arena_destroy(&f->arena);
    sup_pose_destroy(f->pose);
    sup_tissue_destroy(f->tissue);
    sup_skeleton_destroy(f->skeleton);
    sup_rig_destroy(f->rig);
    sup_character_destroy(f->character);
    free(f->skin);
    free(f->ends);
    free(f->contacts);
}

/* Skin and bones in the pose f->pose. */
static inline void fixture_skin(contact_fixture *f)
{
    const sup_rig *rig = f->rig;
    sup_affine *map = malloc((size_t)rig->joint_count * sizeof *map);
    for (int32_t j = 0; j < rig->joint_count; j++)
        map[j] = sup_affine_multiply(sup_affine_from_float(f->pose->world[rig->joint_node[j]]),
                                     sup_affine_from_float(rig->joint_inverse_bind[j]));
    for (int32_t v = 0; v < f->tissue->skin_count; v++) {
        int32_t render = rig->skin_to_vertex[f->tissue->source[v]];
        sup_vec3d rest = sup_tissue_point(f->tissue->skin, v), sum = sup_v3(0, 0, 0);
        for (int32_t i = rig->influence_first[render]; i < rig->influence_first[render + 1]; i++)
            sum = sup_v3_madd(sum, (double)rig->influence_weight[i],
                              sup_affine_point(map[rig->influence_joint[i]], rest));
        sup_v3_store(f->skin + 3 * (size_t)v, sum);
    }
    for (int32_t p = 0; p < f->skeleton->segment_count; p++) {
        const sup_bone_segment *segment = &f->skeleton->segments[p];
        sup_v3_store(f->ends + 6 * (size_t)p, sup_affine_point(map[segment->joint], segment->from));
        sup_v3_store(f->ends + 6 * (size_t)p + 3, sup_affine_point(map[segment->joint], segment->to));
    }
    free(map);
}

static inline void fixture_rest(contact_fixture *f)
{
    for (int32_t v = 0; v < 3 * f->tissue->skin_count; v++)
        f->skin[v] = (float)f->tissue->skin[v];
    for (int32_t p = 0; p < f->skeleton->segment_count; p++) {
        sup_v3_store(f->ends + 6 * (size_t)p, f->skeleton->segments[p].from);
        sup_v3_store(f->ends + 6 * (size_t)p + 3, f->skeleton->segments[p].to);
    }
}

static inline void fixture_clip(contact_fixture *f, const sup_clip *clip, double time)
{
    if (sup_pose_sample(f->character, clip, time, f->pose) != SUP_OK) exit(1);
    fixture_skin(f);
}

static inline int32_t fixture_step(contact_fixture *f, const sup_tasks *tasks)
{
    sup_context context = sup_context_resolve(NULL);
    if (tasks != NULL) context.tasks = *tasks;
    sup_detect_input input = {.skin = f->skin, .skin_stride = 3, .segment_ends = f->ends};
    return sup_detect_step(&context, &f->detect, f->state, &input, f->contacts);
}

#endif
