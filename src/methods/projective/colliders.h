/* colliders.h - skin against things that are given: rows for the solver from the touches that geometry finds.
 *
 * A row goes from a skin vertex to the nearest point of a thing, keeps it `gap` above the surface, and says how far
 * that point moved: friction drags the skin along. */
#ifndef SUP_METHODS_PROJECTIVE_COLLIDERS_H
#define SUP_METHODS_PROJECTIVE_COLLIDERS_H

#include "geometry/colliders.h"
#include "methods/projective/contact.h"

/* `gap` in file units; `hold` in (0, 1]: how much of the full stiffness. */
sup_contact sup_collider_row(const sup_solid *solid, const sup_touch *touch, float gap, float hold);

#endif
