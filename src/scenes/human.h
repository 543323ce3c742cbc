/* human.h (internal) - the human's two files: shapes and joints (human.c), motions (human_motions.c). */
#ifndef SUP_SCENES_HUMAN_H
#define SUP_SCENES_HUMAN_H

#include "scenes/recipe.h"

void sup_recipe_add_human_motions(sup_recipe *recipe);

#endif
