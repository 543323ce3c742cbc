/* collider_contact.h - skin against things that are given: rows for the solver from the touches that geometry finds.
 *
 * A row goes from a skin vertex to the nearest point of a thing, keeps it `gap` above the surface, and says how far
 * that point moved: friction drags the skin along. */
#ifndef SUP_CONTACT_COLLIDER_CONTACT_H
#define SUP_CONTACT_COLLIDER_CONTACT_H

#include "geometry/collide_points.h"
#include "solver/contact_constraint.h"

/* `gap` in file units; `hold` in (0, 1]: how much of the full stiffness. */
sup_contact sup_collider_row(const sup_solid *solid, const sup_touch *touch, float gap, float hold);

#endif
