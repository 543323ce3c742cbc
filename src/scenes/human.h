/* human.h (internal) - the human's files: shapes and joints (human.c), motions (human_motions.c), bones and muscles
 * (human_organs.c). */
#ifndef SUP_SCENES_HUMAN_H
#define SUP_SCENES_HUMAN_H

#include "scenes/scene_spec.h"

void sup_scene_spec_add_human_motions(sup_scene_spec *spec);
void sup_scene_spec_add_human_organs(sup_scene_spec *spec);
extern const sup_local_frame sup_human_arm; /* frame of the left arm */

#endif
