/* projective_compare.c - compares the solver with ten unaccelerated local-global iterations, on the same kernels and as
 * a scalar reference in double (solver_reference.h). All start every step of a motion from the same state. Tissue and
 * bones only: no external forces, no contact. */
#include "methods/projective/projective.h"
#include "solver/solver.h"
#include "solver/solver_reference.h"
#include "methods/projective/projective_view.h"
#include "pose/timestep.h"

#include <math.h>

/* Relative error of the objective by rounding positions to float. */
#define ROUNDING 1e-7

typedef struct comparison {
    const sup_compare_input *input;
    sup_compare_figures *figures;
    sup_arena arena;
    sup_model *model;
    sup_pose *pose;
    sup_reference *reference;
    sup_projective_view view;
    void *state, *trial, *anchor_state;
    size_t state_size;
    float *anchors;
    sup_mat34 *joints;
    float *now, *previous, *after;                /* [vertex_count*3] tissue vertices */
    double *x, *y, *double_now, *double_previous; /* the same */
} comparison;

/* Times of the stages of one solver. */
typedef struct stage_clock {
    double (*milliseconds)(void);
    double last, *sum;
} stage_clock;

static void stage_done(void *user, sup_solver_stage stage)
{
    stage_clock *clock = user;
    double now = clock->milliseconds();
    clock->sum[stage] += now - clock->last;
    clock->last = clock->milliseconds();
}

static void *allocate(comparison *c, size_t bytes)
{
    return sup_arena_alloc(&c->arena, (bytes + 63) / 64 * 64, 1);
}

static bool allocate_all(comparison *c)
{
    size_t n = (size_t)c->view.system.vertex_count * 3;
    c->state_size = sup_solver_state_size(&c->view.system, 0);
    c->state = allocate(c, c->state_size);
    c->trial = allocate(c, c->state_size);
    c->anchor_state = allocate(c, sup_anchors_state_size(&c->view.anchors));
    c->anchors = allocate(c, (size_t)c->view.system.anchor_count * 4 * sizeof(float));
    c->joints = allocate(c, (size_t)c->view.joint_count * sizeof *c->joints);
    float **floats[] = {&c->now, &c->previous, &c->after};
    double **doubles[] = {&c->x, &c->y, &c->double_now, &c->double_previous};
    bool done = c->state && c->trial && c->anchor_state && c->anchors && c->joints;
    for (int k = 0; k < SUP_COUNT(floats); k++)
        done = (*floats[k] = allocate(c, n * sizeof(float))) != NULL && done;
    for (int k = 0; k < SUP_COUNT(doubles); k++)
        done = (*doubles[k] = allocate(c, n * sizeof(double))) != NULL && done;
    return done;
}

/* Anchors of a step; without painted maps there are no skin vertices among them. */
static sup_result evaluate_anchors(comparison *c, int32_t step)
{
    sup_result result =
        sup_pose_sample(c->input->rig->character, c->input->clip,
                        sup_clip_frame_time(c->input->clip, 1.0 / SUP_PROJECTIVE_SECONDS, step), c->pose);
    sup_timestep_joints(c->pose->world, NULL, c->view.joint_count, c->view.joint_node, c->view.joint_inverse_bind,
                        c->joints);
    sup_anchors_evaluate(c->input->context, &c->view.anchors, c->joints, c->anchor_state, c->anchors);
    return result;
}

/* One step of the solver; its objective is evaluated by the reference. */
static sup_result step_solver(comparison *c, void *state, sup_solver_mode mode, sup_compare_solver *solver,
                              double *objective)
{
    stage_clock clock = {.milliseconds = c->input->milliseconds, .sum = solver->stage_ms};
    sup_solver_input input = {.anchors = c->anchors,
                              .bones = sup_anchors_segment_ends(&c->view.anchors, c->anchor_state),
                              .iterations = (int32_t)c->input->values[SUP_PROJECTIVE_ITERATIONS],
                              .tolerance = (float)c->input->values[SUP_PROJECTIVE_TOLERANCE],
                              .mode = mode,
                              .shared_rotation = c->input->values[SUP_PROJECTIVE_FAST] != 0.0,
                              .stage_done = stage_done,
                              .stage_user = &clock};
    if (mode == SUP_SOLVER_PLAIN) input.iterations = 0;
    sup_solver_report report;
    double begin = clock.last = c->input->milliseconds();
    sup_result result = sup_solver_step(c->input->context, &c->view.system, state, &input, &report);
    if (result != SUP_OK) return result;
    solver->ms += c->input->milliseconds() - begin;
    solver->iterations += report.iterations;
    sup_solver_vertices(&c->view.system, state, c->after);
    for (size_t i = 0; i < (size_t)c->view.system.vertex_count * 3; i++)
        c->x[i] = (double)c->after[i];
    *objective = sup_reference_objective(c->reference, c->x, c->y, input.shared_rotation);
    solver->objective += *objective;
    return SUP_OK;
}

/* One step of the reference, from the prediction (line 2 of Algorithm 2.1) with the anchors of the last step. */
static double step_reference(comparison *c)
{
    sup_compare_solver *solver = &c->figures->reference;
    bool shared = c->input->values[SUP_PROJECTIVE_FAST] != 0.0;
    for (size_t i = 0; i < (size_t)c->view.system.vertex_count * 3; i++)
        if (!sup_reference_is_anchor(c->reference, (int32_t)(i / 3))) c->x[i] = c->y[i];
    double begin = c->input->milliseconds();
    sup_reference_iterate(c->reference, c->x, c->y, 10, shared, NULL);
    solver->ms += c->input->milliseconds() - begin;
    solver->iterations += 10.0;
    double objective = sup_reference_objective(c->reference, c->x, c->y, shared);
    solver->objective += objective;
    return objective;
}

static sup_result compare_step(comparison *c, int32_t step)
{
    static const double no_gravity[3] = {0};
    sup_compare_figures *f = c->figures;
    size_t n = (size_t)c->view.system.vertex_count * 3;
    double own, plain;
    sup_result result = evaluate_anchors(c, step);
    for (size_t i = 0; i < n; i++) {
        c->double_now[i] = (double)c->now[i];
        c->double_previous[i] = (double)c->previous[i];
    }
    sup_reference_bones(c->reference, sup_anchors_segment_ends(&c->view.anchors, c->anchor_state));
    sup_reference_predict(c->reference, c->double_now, c->double_previous, 0.0, no_gravity, c->y);
    memcpy(c->trial, c->state, c->state_size);
    if (result == SUP_OK) result = step_solver(c, c->trial, SUP_SOLVER_PLAIN, &f->plain, &plain);
    if (result == SUP_OK) result = step_solver(c, c->state, SUP_SOLVER_ACCELERATED, &f->own, &own);
    if (result != SUP_OK) return result;
    double goal = step_reference(c), excess = goal > 0.0 ? (own - goal) / goal : 0.0;
    f->at_or_below += excess <= 0.0;
    f->within_rounding += excess <= ROUNDING;
    f->worst = f->steps++ == 0 ? excess : fmax(f->worst, excess);
    memcpy(c->previous, c->now, n * sizeof(float));
    memcpy(c->now, c->after, n * sizeof(float));
    return SUP_OK;
}

static void compute_means(sup_compare_solver *solver, int32_t steps)
{
    double count = steps > 0 ? steps : 1;
    solver->ms /= count;
    solver->iterations /= count;
    solver->objective /= count;
    for (int32_t k = 0; k < SUP_COMPARE_STAGES; k++)
        solver->stage_ms[k] /= count;
}

static sup_result compare_motion(comparison *c, sup_error *error)
{
    sup_compare_figures *f = c->figures;
    int32_t steps = sup_clip_frame_count(c->input->clip, 1.0 / SUP_PROJECTIVE_SECONDS);
    if (!allocate_all(c)) return sup_fail_memory(error, "the comparison");
    sup_result result = evaluate_anchors(c, 0);
    if (result == SUP_OK)
        result = sup_solver_reset(c->input->context, &c->view.system, c->state, 0, c->anchors, NULL, 30);
    sup_solver_vertices(&c->view.system, c->state, c->now);
    sup_solver_vertices(&c->view.system, c->state, c->previous);
    for (int32_t k = 1; result == SUP_OK && k < steps && k <= c->input->max_steps; k++)
        result = compare_step(c, k);
    f->stage_count = SUP_SOLVER_STAGE_COUNT;
    for (int32_t k = 0; k < f->stage_count; k++)
        f->stage_names[k] = sup_solver_stage_names[k];
    compute_means(&f->own, f->steps);
    compute_means(&f->plain, f->steps);
    compute_means(&f->reference, f->steps);
    return result;
}

static sup_result compare_with(void *user, const sup_system_def *def, sup_error *error)
{
    comparison *c = user;
    sup_result result = sup_reference_create(c->input->context, def, &c->reference, error);
    return result == SUP_OK ? compare_motion(c, error) : result;
}

sup_result sup_projective_compare(const sup_compare_input *input, sup_compare_figures *figures, sup_error *error)
{
    _Static_assert((int)SUP_SOLVER_STAGE_COUNT <= (int)SUP_COMPARE_STAGES, "the figures have an entry for every stage");
    sup_context context = sup_context_resolve(input->context);
    sup_compare_input resolved = *input;
    resolved.context = &context;
    comparison c = {.input = &resolved, .figures = figures, .arena = sup_arena_create(&context.allocator)};
    sup_bind_input bind = {.context = &context, .rig = input->rig, .values = input->values};
    sup_bind_def def = {.values = input->values};
    memset(figures, 0, sizeof *figures);
    sup_result result = sup_bind(&context, &sup_method_projective, input->rig, &def, &c.model, error);
    if (result == SUP_OK) result = sup_projective_open(c.model, &c.view, error);
    if (result == SUP_OK) result = sup_pose_create(&context, input->rig->character, &c.pose, error);
    if (result == SUP_OK) result = sup_projective_with_system(&bind, compare_with, &c, error);
    sup_reference_destroy(c.reference);
    sup_pose_destroy(c.pose);
    sup_model_destroy(c.model);
    sup_arena_destroy(&c.arena);
    return result;
}
