/* register.h (internal) - the stages of sup_register. */
#ifndef SUP_ANATOMY_REGISTER_H
#define SUP_ANATOMY_REGISTER_H

#include "anatomy/joint_roles.h"
#include "anatomy/register_fit.h"

typedef struct sup_register_work {
    sup_context context;
    const sup_composition *composition;
    const sup_register_def *def;
    sup_arena arena;
    sup_scan scan;
    sup_joint_roles roles;
    double *joint_deviation; /* [joint_count] */
    sup_mark *marks;
    int32_t mark_count;
    sup_body_model coarse, fine;
    sup_body_state state;
    sup_quatd start; /* rotation of the best start: template axes to scan axes */
    double *posed;   /* [vertex_count*3] result of the fine fit, metres in the scan's axes */
    double *seen;    /* [vertex_count] */
} sup_register_work;

/* Reports progress; returns SUP_ERROR_CANCELLED when the caller cancels. */
sup_result sup_register_report_progress(const sup_register_work *work, float fraction, const char *stage,
                                        sup_error *error);

/* register_start.c: finds the best of many orientations and arm poses; sets work->state. */
sup_result sup_register_start(sup_register_work *work, sup_error *error);
/* register_limbs.c: searches better directions of arms and legs of `state`: all directions if some limbs are `lost`,
 * else only a swap of left and right. `fit` uses a small model. */
sup_result sup_register_limbs(sup_register_work *work, sup_fit *fit, bool lost, sup_body_state *state,
                              sup_error *error);
/* register_fine.c: deforms the model's surface to the scan; sets work->posed and work->seen. */
sup_result sup_register_fine(sup_register_work *work, sup_error *error);
/* register_check.c: refuses anything but a whole human. `fit` has matched work->state. */
sup_result sup_register_check(const sup_register_work *work, const sup_fit *fit, sup_error *error);
/* The same after the fine fit: refuses missing limbs. */
sup_result sup_register_check_limbs(sup_register_work *work, sup_error *error);
/* The same by the fraction of the scan that the surface explains. */
sup_result sup_register_check_explained(double explained, sup_error *error);

#endif
