/* collider_contact.c - a row for the solver from a touch. See collider_contact.h. */
#include "contact/collider_contact.h"

#include <string.h>

/* Times the stiffness of the tissue: what is given does not give way, and holds bony places too. */
static const float STIFFNESS = 20.0f;

sup_contact sup_collider_row(const sup_solid *solid, const sup_touch *touch, float gap, float hold)
{
    sup_contact row = {.vertex = touch->vertex,
                       .corner = {-1, -1, -1},
                       .offset = gap,
                       .stiffness = STIFFNESS * hold,
                       .friction = solid->friction};
    memcpy(row.normal, touch->normal, sizeof row.normal);
    memcpy(row.point, touch->point, sizeof row.point);
    memcpy(row.motion, touch->motion, sizeof row.motion);
    return row;
}
