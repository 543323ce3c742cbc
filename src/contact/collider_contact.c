/* collider_contact.c - see collider_contact.h. */
#include "contact/collider_contact.h"

#include "contact/contact_tuning.h"

#include <string.h>

sup_contact sup_collider_contact(const sup_posed_collider *collider, const sup_point_contact *point, float gap,
                                 float hold)
{
    sup_contact contact = {.vertex = point->vertex,
                           .corner = {-1, -1, -1},
                           .offset = gap,
                           .stiffness = SUP_COLLIDER_STIFFNESS * hold,
                           .friction = collider->friction};
    memcpy(contact.normal, point->normal, sizeof contact.normal);
    memcpy(contact.point, point->point, sizeof contact.point);
    memcpy(contact.motion, point->motion, sizeof contact.motion);
    return contact;
}
