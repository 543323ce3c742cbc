/* offset_decay.h (internal) - decay of the displacements of the untangled render mesh, one source for the CPU and the
 * GPU. */
#ifndef SUP_UNTANGLE_OFFSET_DECAY_H
#define SUP_UNTANGLE_OFFSET_DECAY_H

#include "base/shared.h"

/* Time constant of the exponential decay, seconds: short enough that skin does not stay displaced, long enough that the
 * return is not seen as a pop. */
static const float SUP_UNTANGLE_DECAY_SECONDS = 0.15f;

/* Fraction of a displacement that is left after `dt` seconds. */
SUP_SHARED float sup_untangle_decay(float dt)
{
    return expf(-dt / SUP_UNTANGLE_DECAY_SECONDS);
}

#endif
