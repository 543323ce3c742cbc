/* muscle_surface.h (internal) - the muscle surface on the lines from skin to skeleton surface; thickness map. */
#ifndef SUP_ANATOMY_MUSCLE_SURFACE_H
#define SUP_ANATOMY_MUSCLE_SURFACE_H

#include "base/base.h"
#include "supple/anatomy.h"

typedef struct sup_muscle_surface_def {
    sup_shape skin;
    const double *bone; /* [vertex_count*3] */
    const unsigned char *excluded;
    const sup_anatomy_organ *organs; /* only those with is_muscle are used */
    int32_t organ_count;
    /* minimum distance from the skeleton surface and from the skin, metres; less where these are closer */
    double min_distance;
} sup_muscle_surface_def;

/* `muscle` [vertex_count*3] is on the lines; `thickness` [vertex_count] is the length covered by muscles, metres. */
sup_result sup_muscle_surface(const sup_context *context, const sup_muscle_surface_def *def, double *muscle,
                              double *thickness, sup_error *error);

#endif
