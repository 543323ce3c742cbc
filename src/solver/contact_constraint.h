/* contact_constraint.h - a contact as the solver reads it; detection writes contacts once per step.
 *
 * Based on: [komaritzan2022] section 3.2.5. A contact keeps the difference
 *     d = x[vertex] - sum_k weight[k] x[corner[k]] - point
 * at n . d >= offset. It is invariant to a common translation of its vertices when the weights sum to 1 and `point`
 * is zero, so resting contacts do not slow down a jump. Kinds of contacts: a skin vertex against a skin triangle  
 * corners and weights of the triangle, point = 0 a pair of skin vertices                 corner = {other, -1, -1},
 * weight = {1, 0, 0}, point = 0 a skin vertex against a collider        corner = {-1, -1, -1}, point = the nearest
 * point on it, world space The solver pushes along n only while n . d < offset. It never pulls, apart from the
 * contact's own damping. It holds the tangential part of d where it was at the start of the step, as long as the
 * force stays inside the friction cone. */
#ifndef SUP_SOLVER_CONTACT_CONSTRAINT_H
#define SUP_SOLVER_CONTACT_CONSTRAINT_H

#include <stdint.h>

typedef struct sup_contact {
    int32_t vertex;    /* skin vertex that is pushed */
    int32_t corner[3]; /* skin vertices that are pushed the other way, -1 for none; different from `vertex` */
    float weight[3];   /* their weights, >= 0, sum 1 where there are corners; 0 for -1 */
    float normal[3];   /* unit length, world space: the direction in which `vertex` is pushed */
    float offset;      /* minimum n . d, file units; 0 = touching */
    float stiffness;   /* times that of the tissue at its vertices (diagonal entries of the system); 0 = default */
    float friction;    /* Coulomb's coefficient, 0 = none */
    float limit;       /* depth below `offset` from which on the force is constant, file units; 0 = none */
    float press;       /* fraction of the push and of the friction that acts; 0 = all */
    float damping;     /* times the contact's stiffness: against any change of n . d in this step; 0 = none */
    float point[3];    /* world space; zero for contacts with corners */
    float motion[3];   /* displacement of `point` in this step: friction drags along */
} sup_contact;

#endif
