/* details.h (internal) - moves the template's organs (detailed bones and muscles) into a person. */
#ifndef SUP_ANATOMY_DETAILS_H
#define SUP_ANATOMY_DETAILS_H

#include "anatomy/layers.h"

/* Fills body->detail from the template's and the person's bone and muscle surfaces. Both have the same organs. */
sup_result sup_details_warp(sup_anatomy_warp *warp, const sup_anatomy *anatomy, sup_anatomy *body, sup_error *error);

#endif
