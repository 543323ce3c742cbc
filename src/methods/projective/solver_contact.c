#include "methods/projective/solver_work.h"
void sup_step_contact_prepare(sup_step *step)
{
    step->contact_count = 0;
}
double sup_step_contact_forces(sup_step *step)
{
    SUP_UNUSED(step);
    return 0.0;
}
void sup_step_contact_solve(sup_step *step)
{
    SUP_UNUSED(step);
}
