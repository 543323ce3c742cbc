/* details.h (internal) - moves the template's organs (detailed bones and muscles) into a person. */
#ifndef SUP_ANATOMY_DETAILS_H
#define SUP_ANATOMY_DETAILS_H

#include "anatomy/bone_groups.h"
#include "anatomy/layers.h"

/* Fills body->detail from the template's and the person's bone and muscle surfaces. Both have the same organs. */
sup_result sup_details_warp(sup_anatomy_warp *warp, const sup_anatomy *anatomy, sup_anatomy *body, sup_error *error);

/* Moves the bones of groups by the maps of the groups instead, then all organs into the skin. */
sup_result sup_details_place(const sup_context *context, const sup_bone_groups *groups, sup_anatomy *body,
                             sup_error *error);

/* Moves vertices of organs that are outside the skin, or less than 1 mm below it, to 1 mm below. */
sup_result sup_details_push_in(const sup_context *context, bool muscles_only, sup_anatomy *body, sup_error *error);

#endif
