/* register_check.c - whether what was fitted is a whole human, by how much of the scan the template explains and how much
 * of the template the scan shows. */
#include "anatomy/register.h"

static const double near_model = 0.04;           /* metres: a sample that the model explains */
static const double least_explained = 0.8;       /* of the samples */
static const double least_explained_fine = 0.84; /* after the fine fit, within 2 cm */
static const double most_error = 0.016;          /* metres, median-like mean of explained samples */
static const double least_seen = 0.35;           /* of the template's vertices */
static const double least_limb = 0.2;            /* of a limb's vertices */

sup_result sup_register_check(const sup_register_work *w, const sup_fit *fit, sup_error *error)
{
    int32_t near = 0, seen = 0;
    double sum = 0.0;
    SUP_UNUSED(w);
    for (int32_t i = fit->model->vertex_count; i < fit->match_count; i++)
        if (fit->matches[i].distance < near_model) near++, sum += fit->matches[i].distance;
    for (int32_t i = 0; i < fit->model->vertex_count; i++)
        if (fit->matches[i].distance < near_model) seen++;
    double explained = (double)near / fmax(fit->sample_count, 1), mean = near > 0 ? sum / near : 1.0;
    double shown = (double)seen / fmax(fit->model->vertex_count, 1);
    if (explained < least_explained || mean > most_error)
        return sup_fail(
            error, SUP_ERROR_DATA, "anatomy.scan.shape", "",
            "The scan does not look like a person: a body explains %d %% of it, to %d mm. Give the whole body of "
            "one person and nothing else, or landmarks.",
            (int)(100.0 * explained), (int)(1000.0 * mean));
    if (shown < least_seen)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.part", "",
                        "The scan shows %d %% of a body: give a scan of the whole person.", (int)(100.0 * shown));
    return SUP_OK;
}

sup_result sup_register_check_explained(double explained, sup_error *error)
{
    if (explained >= least_explained_fine) return SUP_OK;
    return sup_fail(
        error, SUP_ERROR_DATA, "anatomy.scan.shape", "",
        "The scan does not look like a person: a body explains %d %% of it. Give the whole body of one person and "
        "nothing else, or landmarks.",
        (int)(100.0 * explained));
}

/* Share of the vertices below a joint (held by it and its children by half or more) that the scan shows. */
static double seen_below(const sup_register_work *w, int32_t joint, unsigned char *marks)
{
    const sup_composition *c = w->composition;
    double all = 0.0, seen = 0.0;
    memset(marks, 0, (size_t)c->joint_count);
    sup_joint_mark_below(c->joint_count, c->parents, joint, marks);
    for (int32_t v = 0; v < c->vertex_count; v++) {
        double weight = 0.0;
        for (int32_t i = c->influence_first[v]; i < c->influence_first[v + 1]; i++)
            weight += marks[c->influence_joint[i]] != 0 ? c->influence_weight[i] : 0.0;
        if (weight < 0.5) continue;
        all += 1.0;
        seen += w->seen[v] > 0.0 ? 1.0 : 0.0;
    }
    return all > 0.0 ? seen / all : 1.0;
}

sup_result sup_register_check_limbs(const sup_register_work *w, sup_error *error)
{
    static const struct {
        sup_role_limb limb;
        const char *name;
    } limbs[] = {{SUP_ROLE_FOREARM, "forearm"}, {SUP_ROLE_LOWER_LEG, "lower leg"}};
    unsigned char marks[256];
    if (w->roles.head >= 0 && seen_below(w, w->roles.head, marks) < least_limb)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.limb", "",
                        "The scan has no head: give a scan of the whole person.");
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < SUP_COUNT(limbs); i++) {
            int32_t joint = w->roles.limb[side][limbs[i].limb];
            if (joint < 0 || seen_below(w, joint, marks) >= least_limb) continue;
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.limb", "",
                            "The scan has no %s %s: give a scan of the whole person.", side == 0 ? "left" : "right",
                            limbs[i].name);
        }
    return SUP_OK;
}
