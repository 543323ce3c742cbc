/* register_limbs.c - recovers misplaced arms and legs: closest points may pull a limb to the nearest surface, such
 * as the trunk. Directions all around are tried for the upper bone and then for the lower one, and scored by the
 * whole body. */
#include "anatomy/register.h"

enum { DIRECTIONS = 26, KEPT = 3 };
static const double score_limit = 0.12; /* metres */

typedef struct limb_search {
    sup_register_work *work;
    sup_fit *fit;
    sup_body_state *best, *trial; /* best: the three so far, [KEPT] */
    double score[KEPT];
} limb_search;

static sup_result evaluate(const limb_search *s, sup_body_state *state, double *score, sup_error *error)
{
    static const sup_fit_settings settings = {.limit = 0.12, .cosine = 0.2};
    sup_body_state_update(s->work->composition, state);
    sup_result result = sup_fit_match(s->fit, state, &settings, error);
    *score = result == SUP_OK ? sup_fit_score(s->fit, score_limit) : INFINITY;
    return result;
}

/* Rotates a joint so that the bone to `child` points along `direction` in the world. */
static void point_bone(const sup_composition *c, sup_body_state *s, int32_t joint, int32_t child, sup_vec3d direction)
{
    sup_vec3d now = sup_v3_sub(sup_body_joint(s, child), sup_body_joint(s, joint));
    sup_quatd above = s->global[c->parents[joint]], swing = sup_quatd_between(now, direction);
    sup_quatd local = sup_quatd_multiply(sup_quatd_conjugate(above), sup_quatd_multiply(swing, above));
    s->local[joint] = sup_quatd_normalise(sup_quatd_multiply(local, s->local[joint]));
    sup_body_state_update(c, s);
}

/* One of the 26 directions to the corners, edge centres and face centres of a cube, in the axes of a joint. */
static sup_vec3d direction_of(const sup_body_state *s, int32_t joint, int i)
{
    int n = i < DIRECTIONS / 2 ? i : i + 1;
    return sup_quatd_rotate(s->global[joint], sup_v3(n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1));
}

/* Inserts the trial into the sorted list of the best. */
static void keep(limb_search *s, double score)
{
    const sup_composition *c = s->work->composition;
    int at = KEPT;
    while (at > 0 && score < s->score[at - 1])
        at--;
    if (at == KEPT) return;
    for (int k = KEPT - 1; k > at; k--) {
        s->score[k] = s->score[k - 1];
        sup_body_state_copy(c, &s->best[k - 1], &s->best[k]);
    }
    s->score[at] = score;
    sup_body_state_copy(c, s->trial, &s->best[at]);
}

/* Tries the directions of one bone for one of the best states. */
static sup_result try_bone(limb_search *s, const sup_body_state *from, int32_t joint, int32_t child, bool straighten,
                           sup_error *error)
{
    const sup_composition *c = s->work->composition;
    sup_result result = SUP_OK;
    for (int i = 0; i < DIRECTIONS && result == SUP_OK; i++) {
        double score = 0.0;
        sup_body_state_copy(c, from, s->trial);
        sup_vec3d direction = direction_of(from, c->parents[joint], i);
        if (straighten) s->trial->local[child] = (sup_quatd){0, 0, 0, 1};
        point_bone(c, s->trial, joint, child, direction);
        result = evaluate(s, s->trial, &score, error);
        if (result == SUP_OK) keep(s, score);
    }
    return result;
}

static sup_result search_limb(limb_search *s, sup_body_state *state, int32_t upper, int32_t lower, int32_t end,
                              sup_body_state *starts, sup_error *error)
{
    const sup_composition *c = s->work->composition;
    if (upper <= 0 || lower < 0 || end < 0) return SUP_OK;
    for (int k = 0; k < KEPT; k++)
        s->score[k] = INFINITY;
    sup_body_state_copy(c, state, s->trial);
    double now = 0.0;
    sup_result result = evaluate(s, s->trial, &now, error);
    if (result == SUP_OK) keep(s, now);
    if (result == SUP_OK) result = try_bone(s, state, upper, lower, true, error);
    for (int k = 0; k < KEPT; k++)
        sup_body_state_copy(c, &s->best[k], &starts[k]);
    for (int k = 0; k < KEPT && result == SUP_OK; k++)
        result = try_bone(s, &starts[k], lower, end, false, error);
    if (result == SUP_OK && s->score[0] < now) sup_body_state_copy(c, &s->best[0], state);
    return result;
}

/* Tries to swap left and right: both bones point to the end of the other one, if that is better. */
static sup_result try_swap(limb_search *s, sup_body_state *state, sup_role_limb limb, sup_error *error)
{
    const sup_composition *c = s->work->composition;
    const int32_t *left = s->work->roles.limb[0] + limb, *right = s->work->roles.limb[1] + limb;
    if (left[0] <= 0 || right[0] <= 0 || left[1] < 0 || right[1] < 0) return SUP_OK;
    double now = 0.0, then = 0.0;
    sup_vec3d left_end = sup_body_joint(state, left[1]), right_end = sup_body_joint(state, right[1]);
    sup_result result = evaluate(s, state, &now, error);
    sup_body_state_copy(c, state, s->trial);
    point_bone(c, s->trial, left[0], left[1], sup_v3_sub(right_end, sup_body_joint(state, left[0])));
    point_bone(c, s->trial, right[0], right[1], sup_v3_sub(left_end, sup_body_joint(state, right[0])));
    if (result == SUP_OK) result = evaluate(s, s->trial, &then, error);
    if (result == SUP_OK && then < now) sup_body_state_copy(c, s->trial, state);
    return result;
}

sup_result sup_register_limbs(sup_register_work *w, sup_fit *fit, bool lost, sup_body_state *state, sup_error *error)
{
    sup_body_state states[2 * KEPT + 1];
    limb_search search = {.work = w, .fit = fit, .best = states, .trial = &states[2 * KEPT]};
    for (int i = 0; i < SUP_COUNT(states); i++)
        if (!sup_body_state_make(w->composition, &w->arena, &states[i]))
            return sup_fail_memory(error, "the registration");
    sup_result result = SUP_OK;
    for (int side = 0; lost && side < 2 && result == SUP_OK; side++) {
        const int32_t *limb = w->roles.limb[side];
        result = search_limb(&search, state, limb[SUP_ROLE_UPPER_ARM], limb[SUP_ROLE_FOREARM], limb[SUP_ROLE_HAND],
                             states + KEPT, error);
        if (result == SUP_OK)
            result = search_limb(&search, state, limb[SUP_ROLE_UPPER_LEG], limb[SUP_ROLE_LOWER_LEG],
                                 limb[SUP_ROLE_FOOT], states + KEPT, error);
    }
    static const sup_role_limb pairs[] = {SUP_ROLE_UPPER_LEG, SUP_ROLE_LOWER_LEG, SUP_ROLE_FOREARM};
    for (int i = 0; i < SUP_COUNT(pairs) && result == SUP_OK; i++)
        result = try_swap(&search, state, pairs[i], error);
    return result;
}
