/* contact_response_tuning.h (internal) - tuning constants of the contact response, for CPU and GPU.
 * contact_response.h has the formulas that use them. */
#ifndef SUP_SOLVER_CONTACT_RESPONSE_TUNING_H
#define SUP_SOLVER_CONTACT_RESPONSE_TUNING_H

enum {
    /* Iterations of conjugate gradients in a global step with contacts; with one rotation per prism, whose
     * objective is approximate anyway, one. */
    SUP_RESPONSE_MAX_SOLVES = 3,
    SUP_RESPONSE_FAST_SOLVES = 1
};

/* They end when the squared residual is below this fraction of the first, */
#define SUP_RESPONSE_SOLVED 1e-2
/* and after the first when contacts add less than this fraction of the curvature along it: that iteration leaves less
 * than SUP_RESPONSE_SOLVED without another solve to find out (below 1.3e-3 in 1,300 directions of six motions). */
#define SUP_RESPONSE_SLIGHT 1e-3
/* Contacts closer than this fraction of the character's size stiffen the matrix before they push: this anticipates
 * most contacts that begin to push in an iteration, so that the objective does not rise. */
#define SUP_RESPONSE_NEAR 3e-4f
/* Stiffness of a contact that sets none, times that of its vertices, each by itself. The tissue under a patch of
 * contacts yields as a whole, so this reduces penetration to a few hundredths; more makes the system harder to
 * solve. */
#define SUP_RESPONSE_STIFFNESS 2.0f
#define SUP_RESPONSE_MAX_STIFFNESS 100.0f
/* Sum of squared weights of a contact's unknowns from which on it has its full stiffness: a contact that is held
 * almost only by anchors would throw its last free vertex far away. */
#define SUP_RESPONSE_FREE_WEIGHT 0.1f
/* Contacts with larger weights, friction or damping, or with a normal whose squared length deviates more from 1, are
 * invalid and ignored. */
#define SUP_RESPONSE_MAX_WEIGHT 2.0f
#define SUP_RESPONSE_MAX_COEFFICIENT 100.0f
#define SUP_RESPONSE_NORMAL_ERROR 0.01f

#endif
