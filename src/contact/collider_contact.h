/* collider_contact.h - contacts of the skin with scene colliders, for the solver.
 *
 * A contact goes from a skin vertex to the nearest point of a collider, keeps it `gap` above the surface, and knows
 * the motion of that point: friction drags the skin along. */
#ifndef SUP_CONTACT_COLLIDER_CONTACT_H
#define SUP_CONTACT_COLLIDER_CONTACT_H

#include "geometry/collide_points.h"
#include "solver/contact_constraint.h"

/* `gap` in file units; `hold` in (0, 1]: fraction of the full stiffness (sup_collider_hold of contact_rules.h). */
sup_contact sup_collider_contact(const sup_posed_collider *collider, const sup_point_contact *point, float gap,
                                 float hold);

#endif
