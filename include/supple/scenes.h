/* scenes.h - procedural built-in characters with motions, for demos, tests, benchmarks and first steps. */
#ifndef SUPPLE_SCENES_H
#define SUPPLE_SCENES_H

#include "supple/character.h"

typedef struct sup_scene_info {
    const char *name;             /* "human" */
    const char *summary;          /* one sentence */
    int32_t default_vertex_count; /* approximate */
} sup_scene_info;

SUP_API int32_t sup_scene_count(void);
SUP_API sup_scene_info sup_scene_at(int32_t index);

/* `resolution` scales the number of vertices: 1 = default, 0.25 = about a quarter; 0.05 to 20. Metres, Y up, +Z
 * forward, feet at y = 0, with weights and clips; deterministic. The human has muscle and bone surfaces under its skin.
 * Its organs are the scenes "human.bones" and "human.muscles": one primitive per organ, on the same skeleton. */
SUP_API sup_result sup_scene_create(const sup_context *context, const char *name, double resolution,
                                    sup_character **character, sup_error *error);

#endif
