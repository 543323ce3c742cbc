/* rest_contact.h (internal) - skin that lies against other skin in the bind pose and moves with it: eyelids, lips,
 * nails, clothes on a body. */
#ifndef SUP_CONTACT_REST_CONTACT_H
#define SUP_CONTACT_REST_CONTACT_H

#include "skin/simulated_surface.h"

enum {
    SUP_REST_CONTACT_OTHER_MOTION = 1, /* with skin that linear blending moves otherwise, as thighs and toes */
    SUP_REST_CONTACT_COMPONENTS = 2,   /* with skin of another component that moves alike */
    SUP_REST_CONTACT_SEAM = 16         /* near a seam, where components cross each other */
};

/* weight[coarse_count]: how much a simulated vertex follows linear blending because of it, 0 to 1.
 * flags[coarse_count]: of rest contacts at the vertex. */
sup_result sup_rest_contact_weights(const sup_context *context, const sup_rig *rig,
                                    const sup_simulated_surface *surface, float *weight, unsigned char *flags,
                                    sup_error *error);

#endif
