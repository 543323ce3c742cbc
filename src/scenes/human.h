/* human.h (internal) - the human's files: shapes and joints (human.c), motions (human_motions.c), bones and muscles
 * (human_organs.c). */
#ifndef SUP_SCENES_HUMAN_H
#define SUP_SCENES_HUMAN_H

#include "scenes/scene_spec.h"

void sup_recipe_add_human_motions(sup_recipe *recipe);
void sup_recipe_add_human_organs(sup_recipe *recipe);
extern const sup_placement sup_human_arm; /* where the left arm hangs */

#endif
