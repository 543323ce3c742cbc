/* projective_step.c - one frame: steps of a fixed length until the frame is reached, then the render mesh.
 *
 * The simulation runs at its own rate, 60 steps a second: tissue moves the same at any frame rate. Each step has the
 * pose of its own time, interpolated between those of the frames around it. A frame between two steps shows the last
 * one, extrapolated by the motion of the joints since: the skin is never behind the skeleton. */
#include "methods/projective/projective_state.h"

#include "contact/collider_contact.h"
#include "contact/contact_rules.h"
#include "deform/instance_colliders.h"
#include "methods/linear/linear.h"
#include "methods/projective/projective_paint.h"
#include "pose/timestep.h"
#include "solver/rest_damping_kernel.h"
#include "solver/solver.h"
#include "solver/solver_tuning.h"
#include "untangle/offset_decay.h"
#include "untangle/untangle_rules.h"

static const float LIMITS_RETURN = 5.0f; /* of the shape limits in a second, after contact with a collider */

/* With layers under the skin: starts their vertices where linear blending of the skin puts them. `scratch`
 * [skin_count*3]. */
static void reset_layers(sup_projective_state *s, const sup_mat34 *joints, float *scratch)
{
    const sup_system *system = &s->view.system;
    int32_t skin = system->skin_count, end = system->vertex_count > 2 * skin ? system->vertex_count : 0;
    for (int32_t i = skin; i < end; i++) {
        sup_projective_blend_point(&s->view, joints, i % skin, system->rest + 4 * (size_t)system->node[i],
                                   scratch + 3 * (size_t)(i % skin));
        if ((i + 1) % skin == 0) sup_solver_set_positions(system, at(s, s->at.solver), i + 1 - skin, skin, scratch);
    }
}

/* Finds bone segments whose skin would have no contact if all skin followed linear blending. */
static void find_free_segments(sup_projective_state *s, const sup_context *context, const sup_detect_input *detect)
{
    const sup_mat34 *joints = at(s, s->at.joints[3]);
    float *blended = at(s, s->at.extrapolated);
    for (int32_t v = 0; v < s->view.system.skin_count; v++)
        sup_projective_blend_vertex(&s->view, joints, v, blended + 4 * (size_t)v);
    sup_detect_find_separated(context, &s->view.detect, at(s, s->at.detect), detect);
    sup_projective_extrapolate(s, context, joints);
}

/* `settles`: after a reset, before the first timestep. */
static int32_t detect_contacts(sup_projective_state *s, const sup_step_input *input, bool settles)
{
    const float *from = sup_anchors_segment_ends(&s->view.anchors, at(s, s->at.anchor_state));
    float *ends = at(s, s->at.segment_ends);
    for (int32_t p = 0; p < s->view.anchors.segment_count; p++)
        for (int end = 0; end < 2; end++)
            memcpy(ends + 6 * (size_t)p + 3 * (size_t)end, from + 8 * (size_t)p + 4 * (size_t)end, 3 * sizeof(float));
    sup_detect_input detect = {.skin = at(s, s->at.extrapolated),
                               .skin_before = settles ? NULL : at(s, s->at.skin[0]),
                               .frozen = sup_rest_freezes_pairs(s->rest_steps, s->rest_damping.mean),
                               .skin_stride = 4,
                               .segment_ends = ends,
                               .friction = (float)input->values[SUP_PROJECTIVE_FRICTION],
                               .end_stale = sup_rest_releases_pairs(s->rest_steps),
                               .release_separated = sup_rest_lets_skin_pass(s->rest_steps)};
    if (sup_rest_releases_pairs(s->rest_steps)) find_free_segments(s, input->context, &detect);
    return sup_detect_step(input->context, &s->view.detect, at(s, s->at.detect), &detect, at(s, s->at.contacts));
}

/* Steps without momentum: without contact until nothing moves, then with contact until skin in contact is separated. */
static sup_result settle(sup_projective_state *s, const sup_step_input *input, const sup_mat34 *joints)
{
    sup_solver_input solver = {.anchors = at(s, s->at.anchors),
                               .bones = sup_anchors_segment_ends(&s->view.anchors, at(s, s->at.anchor_state)),
                               .contacts = at(s, s->at.contacts)};
    sup_result result =
        sup_solver_settle(input->context, &s->view.system, at(s, s->at.solver), &solver, SUP_SETTLE_STEPS);
    for (int32_t i = 0;
         result == SUP_OK && i < SUP_SETTLE_CONTACT_STEPS && input->values[SUP_PROJECTIVE_CONTACT] != 0.0; i++) {
        sup_projective_read_skin(s, joints);
        memcpy(at(s, s->at.extrapolated), at(s, s->at.skin[0]), (size_t)s->view.system.skin_count * 4 * sizeof(float));
        solver.contact_count = detect_contacts(s, input, true);
        if (solver.contact_count == 0) break;
        result = sup_solver_settle(input->context, &s->view.system, at(s, s->at.solver), &solver, 1);
    }
    return result;
}

static sup_result put_at_rest(sup_projective_state *s, const sup_step_input *input)
{
    const sup_context *context = input->context;
    const sup_pose *pose = input->pose;
    sup_mat34 *now = at(s, s->at.joints[1]);
    float *start = at(s, s->at.extrapolated), shift[3]; /* three floats a vertex */
    sup_projective_choose_origin(s, pose, shift);
    sup_projective_read_joints(s, pose, now);
    memcpy(at(s, s->at.joints[0]), now, (size_t)s->view.joint_count * sizeof *now);
    memcpy(at(s, s->at.joints[2]), now, (size_t)s->view.joint_count * sizeof *now);
    sup_projective_evaluate_anchors(s, context, now);
    for (int32_t v = 0; v < s->view.system.skin_count; v++)
        sup_projective_blend_vertex(&s->view, now, v, start + 3 * (size_t)v);
    sup_detect_reset(&s->view.detect, at(s, s->at.detect));
    sup_point_contact_reset(s->view.system.skin_count, at(s, s->at.touch));
    sup_result result = sup_solver_reset(context, &s->view.system, at(s, s->at.solver),
                                         sup_projective_max_contacts(&s->view), NULL, start, 0);
    reset_layers(s, now, start);
    s->rest_steps = 0;
    if (result == SUP_OK) result = settle(s, input, now);
    sup_projective_next_skin(s, now);
    sup_projective_next_skin(s, now);
    memset(at(s, s->at.offset), 0, (size_t)s->view.untangle.vertex_count * 3 * sizeof(float));
    s->behind = 0.0;
    s->active_contacts = 0;
    s->was_reset = true;
    s->limits_amount = 1.0f;
    s->untangled = false;
    return result;
}

/* Input of linear blending, which has its own parameters. */
static sup_step_input linear_input(const sup_step_input *input)
{
    static const double values[SUP_SKIN_PARAM_COUNT] = {0.0};
    sup_step_input linear = *input;
    linear.values = values;
    return linear;
}

static sup_result open_paint(sup_projective_state *s, const sup_model *model, const float *values, sup_error *error)
{
    return sup_projective_paint_live(model, &s->view, values, at(s, s->at.rigid[0]), at(s, s->at.rigid[1]),
                                     &s->rigid_count, error);
}

/* The view uses the live maps of the instance instead of those of the model. */
static void use_paint(sup_projective_state *s)
{
    s->view.rigid_count = s->rigid_count;
    s->view.rigid_vertex = at(s, s->at.rigid[0]);
    s->view.rigid_weight = at(s, s->at.rigid[1]);
}

sup_result sup_projective_paint(const sup_model *model, void *state, int32_t map, const float *values, sup_error *error)
{
    sup_projective_state *s = state;
    SUP_UNUSED(map); /* "rigid" is the only live one */
    sup_result result = open_paint(s, model, values, error);
    if (result != SUP_OK) return result;
    use_paint(s);
    /* The skin moves to its new position at once and keeps its velocity: painting adds no momentum. */
    float *skin = at(s, s->at.skin[0]), *previous = at(s, s->at.skin[1]), *old = at(s, s->at.extrapolated);
    size_t count = (size_t)s->view.system.skin_count * 4;
    memcpy(old, skin, count * sizeof *skin);
    sup_projective_read_skin(s, at(s, s->at.joints[2]));
    for (size_t i = 0; i < count; i++)
        previous[i] += skin[i] - old[i];
    return SUP_OK;
}

sup_result sup_projective_reset(const sup_step_input *input, void *state)
{
    sup_projective_state *s = state;
    sup_result result = sup_projective_open_state(input, s);
    if (result != SUP_OK) return result;
    memset(s->origin, 0, sizeof s->origin);
    if (!s->has_paint) result = open_paint(s, input->model, NULL, NULL);
    if (result != SUP_OK) return result;
    use_paint(s);
    s->has_paint = true;
    sup_step_input linear = linear_input(input);
    result = sup_method_linear.reset(&linear, at(s, s->at.linear));
    return result == SUP_OK ? put_at_rest(s, input) : result;
}

/* Weight of the contact of a vertex with a collider: 1, or less where the collider penetrates the tissue to the
 * bone. */
static float collider_strength(sup_projective_state *s, const sup_posed_collider *solid, int32_t v)
{
    const sup_system *system = &s->view.system;
    const float *skin = system->rest + 4 * (size_t)system->node[v],
                *base = system->rest + 4 * (size_t)system->node[system->skin_count + v];
    double thickness = sup_v3_distance(sup_v3_load(skin), sup_v3_load(base)) + (double)s->view.detect.edge[0];
    sup_collider_query view;
    float blended[3];
    sup_projective_blend_vertex(&s->view, at(s, s->at.joints[3]), v, blended);
    if (!sup_collider_find_nearest(solid, sup_v3_load(blended), 0.0, &view)) return 1.0f;
    double deep = -view.height / thickness;
    return sup_collider_hold(deep);
}

/* Contacts of the skin with colliders, from fraction t0 to t1 of the frame. */
static int32_t touch_colliders(sup_projective_state *s, const sup_step_input *input, double t0, double t1,
                               sup_contact *rows)
{
    float edge = s->view.detect.edge[0];
    const sup_posed_collider *solids = sup_colliders_between(input->colliders, t0, t1, sup_v3_load(s->origin));
    sup_point_contact_input touch = {.colliders = solids,
                                     .collider_count = input->colliders->count,
                                     .generation = input->colliders->generation,
                                     .points = at(s, s->at.extrapolated),
                                     .stride = 4,
                                     .point_count = s->view.system.skin_count,
                                     .gap = SUP_COLLIDER_GAP * edge,
                                     .release = SUP_COLLIDER_RELEASE * edge};
    sup_point_contact *touches = at(s, s->at.touches);
    int32_t count = sup_point_contact_find(input->context, &touch, at(s, s->at.touch), touches);
    int32_t rows_found = 0;
    s->touch_count = count;
    for (int32_t i = 0; i < count; i++) {
        const sup_posed_collider *solid = &solids[touches[i].collider];
        float hold = collider_strength(s, solid, touches[i].vertex);
        if (hold > 0.0f) rows[rows_found++] = sup_collider_contact(solid, &touches[i], touch.gap, hold);
    }
    return rows_found;
}

/* Contacts of the extrapolated skin with itself and with colliders, at the pose and the collider transforms of the end
 * of the step. */
static int32_t find_contacts(sup_projective_state *s, const sup_step_input *input, double t0, double t1)
{
    bool touches_itself = input->values[SUP_PROJECTIVE_CONTACT] != 0.0;
    if (!touches_itself && input->colliders == NULL) return 0;
    int32_t count = touches_itself ? detect_contacts(s, input, false) : 0;
    if (input->colliders == NULL) return count;
    return count + touch_colliders(s, input, t0, t1, (sup_contact *)at(s, s->at.contacts) + count);
}

static void end_stage(const sup_step_input *input, const char *stage)
{
    if (input->stage_done != NULL) input->stage_done(input->stage_user, stage);
}

static void end_solver_stage(void *user, sup_solver_stage stage)
{
    end_stage(user, sup_solver_stage_names[stage]);
}

/* Largest motion of a skin vertex along an axis, in sizes. */
static float max_motion(const sup_projective_state *s, const float *from, const float *to)
{
    float motion = 0.0f;
    for (size_t i = 0; i < (size_t)s->view.system.skin_count * 4; i++)
        motion = fmaxf(motion, fabsf(to[i] - from[i]));
    return motion / s->view.size;
}

/* Damps oscillation once the skeleton has been at rest for a moment. */
static void damp_at_rest(sup_projective_state *s)
{
    const sup_system *system = &s->view.system;
    const float *previous;
    if (!sup_rest_limits_steps(s->rest_steps)) return;
    if (sup_rest_limit_begins(s->rest_steps))
        sup_rest_damping_begin(system, &s->rest_damping, at(s, s->at.rest_damping));
    float *now = sup_solver_step_ends(system, at(s, s->at.solver), &previous);
    sup_rest_damping_step(system, previous, now, s->active_contacts > 0, &s->rest_damping, at(s, s->at.rest_damping));
}

/* One step of the simulation, from fraction t0 to t1 of the frame, with the joints at its end. */
static sup_result simulate(sup_projective_state *s, const sup_step_input *input, double t0, double t1)
{
    const sup_mat34 *previous = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    sup_mat34 *joints = at(s, s->at.joints[3]);
    sup_timestep_interpolate(s->view.joint_count, s->view.joint_parent, s->view.joint_centre, previous, now, t1,
                             joints);
    sup_projective_evaluate_anchors(s, input->context, joints);
    end_stage(input, "anchors");
    float damping =
        sup_rest_momentum_damping(s->rest_steps, s->active_contacts > 0, (float)input->values[SUP_PROJECTIVE_DAMPING]);
    sup_projective_extrapolate(s, input->context, joints);
    const float *force = sup_projective_limit_velocity(s, input->context, damping);
    end_stage(input, "velocity limits");
    int32_t contact_count = find_contacts(s, input, t0, t1);
    end_stage(input, "contacts");
    sup_solver_input solver = {.anchors = at(s, s->at.anchors),
                               .bones = sup_anchors_segment_ends(&s->view.anchors, at(s, s->at.anchor_state)),
                               .force = force,
                               .damping = damping,
                               .iterations = (int32_t)input->values[SUP_PROJECTIVE_ITERATIONS],
                               .tolerance = (float)input->values[SUP_PROJECTIVE_TOLERANCE],
                               .shared_rotation = input->values[SUP_PROJECTIVE_FAST] != 0.0,
                               .contacts = at(s, s->at.contacts),
                               .contact_count = contact_count};
    union { /* the solver hands it back to end_solver_stage, which does not write to it */
        const void *from;
        void *to;
    } observer = {input};
    if (input->stage_done != NULL) {
        solver.stage_done = end_solver_stage;
        solver.stage_user = observer.to;
    }
    sup_projective_forces(input->values, s->view.size, s->view.unit_metres, solver.gravity);
    sup_solver_report report = {0};
    sup_result result = sup_solver_step(input->context, &s->view.system, at(s, s->at.solver), &solver, &report);
    if (result != SUP_OK) return result;
    s->energy = report.objective;
    s->active_contacts = report.contacts;
    damp_at_rest(s);
    sup_projective_next_skin(s, joints);
    memcpy(at(s, s->at.joints[2]), joints, (size_t)s->view.joint_count * sizeof *joints);
    return SUP_OK;
}

/* Whether neither the skeleton, nor a parameter, nor a collider changed since the last frame. */
static bool is_at_rest(sup_projective_state *s, const sup_step_input *input)
{
    const sup_mat34 *previous = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    bool same = memcmp(s->values, input->values, sizeof s->values) == 0;
    memcpy(s->values, input->values, sizeof s->values);
    uint32_t generation = input->colliders != NULL ? input->colliders->generation + 1 : 0;
    same = same && generation == s->collider_generation && (generation == 0 || sup_colliders_at_rest(input->colliders));
    s->collider_generation = generation;
    if (!same) return false;
    for (int32_t j = 0; j < s->view.joint_count; j++)
        for (int k = 0; k < 12; k++)
            if (sup_rest_entry_moved(now[j].m[k], previous[j].m[k], k, s->view.size)) return false;
    return true;
}

/* Whether the skin moves little enough to sleep: in the last step, or over the window that ends now. */
static bool is_quiet(sup_projective_state *s)
{
    if (s->rest_steps < SUP_REST_SLEEP_STEPS || s->rest_steps == SUP_REST_ASLEEP) return false;
    const float *last = at(s, s->at.skin[0]);
    float moved = max_motion(s, at(s, s->at.skin[1]), last), window_moved = 0.0f;
    if (sup_rest_window_ends(s->rest_steps)) {
        window_moved = max_motion(s, at(s, s->at.window), last);
        memcpy(at(s, s->at.window), last, (size_t)s->view.system.skin_count * 4 * sizeof *last);
    }
    return sup_rest_is_quiet(s->rest_steps, moved, window_moved);
}

/* Takes the steps that are due in this frame. */
static sup_result advance(sup_projective_state *s, const sup_step_input *input)
{
    sup_timestep frame =
        sup_timestep_advance(&s->behind, (double)input->dt, SUP_PROJECTIVE_SECONDS, SUP_TIMESTEP_BEHIND);
    sup_mat34 *previous = at(s, s->at.joints[0]), *now = at(s, s->at.joints[1]);
    sup_projective_follow_root(s, input->pose);
    sup_projective_read_joints(s, input->pose, now);
    bool cut = input->dt > 0.0f && sup_timestep_is_cut(s->view.joint_count, s->view.joint_parent, s->view.joint_centre,
                                                       previous, now, (double)input->dt, s->was_reset);
    s->was_reset = s->was_reset && !(input->dt > 0.0f);
    if (cut || sup_timestep_teleported(s->view.joint_count, previous, now, frame.count, s->view.size))
        return put_at_rest(s, input);
    bool at_rest = is_at_rest(s, input);
    sup_result result = SUP_OK;
    for (int32_t i = 1; result == SUP_OK && i <= frame.count; i++) {
        s->rest_steps = sup_rest_count_step(s->rest_steps, at_rest, is_quiet(s));
        if (s->rest_steps == SUP_REST_ASLEEP)
            sup_projective_next_skin(s, at(s, s->at.joints[2]));
        else
            result = simulate(s, input, sup_timestep_fraction(&frame, i - 1), sup_timestep_fraction(&frame, i));
    }
    memcpy(previous, now, (size_t)s->view.joint_count * sizeof *now);
    return result;
}

/* Removes crossings of the render mesh. Skin that is painted rigid or in contact with a collider does not move. */
static void untangle(sup_projective_state *s, const sup_step_input *input, const sup_skin_out *out)
{
    const sup_projective_view *view = &s->view;
    unsigned char *pinned = at(s, s->at.pinned);
    bool keeps = sup_rest_keeps_offsets(s->rest_steps, s->rest_damping.fraction, s->rest_damping.mean);
    memset(pinned, 0, (size_t)view->system.skin_count);
    for (int32_t i = 0; i < view->rigid_count; i++)
        pinned[view->rigid_vertex[i]] =
            (view->untangle.rest_contact[view->rigid_vertex[i]] & SUP_UNTANGLE_REST_MOVABLE) == 0;
    const sup_point_contact *touches = at(s, s->at.touches);
    for (int32_t i = 0; input->colliders != NULL && i < s->touch_count; i++)
        pinned[touches[i].vertex] = 1;
    const float *now = at(s, s->at.skin[0]), *previous = at(s, s->at.skin[1]);
    float *max_change = at(s, s->at.max_change);
    for (size_t v = 0; v < (size_t)view->system.skin_count; v++) {
        const float *a = now + 4 * v, *b = previous + 4 * v;
        float motion =
            sqrtf((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
        max_change[v] = sup_untangle_max_change(view->size, input->dt, motion, (float)SUP_PROJECTIVE_SECONDS);
    }
    sup_untangle_def def = {.near = sup_detect_near(&view->detect, at(s, s->at.detect)),
                            .fixed = pinned,
                            .coarse_rest = view->start_rest,
                            .gap = view->detect.gap,
                            .offset = at(s, s->at.offset),
                            .offset_fraction =
                                sup_untangle_offset_fraction(s->untangled, keeps, sup_untangle_decay(input->dt)),
                            .max_change = s->untangled ? max_change : NULL,
                            .search = !sup_rest_freezes_untangling(s->rest_steps, s->rest_damping.mean)};
    sup_untangle(input->context, &view->untangle, &def, at(s, s->at.untangle), out);
}

typedef struct limits_user {
    sup_projective_state *state;
    const sup_step_input *input;
} limits_user;

/* Linear blending of the render mesh, for the shape limits. */
static sup_result blend_reference(void *user, float *positions)
{
    const limits_user *u = user;
    sup_step_input linear = linear_input(u->input);
    sup_skin_out out = {.positions = positions, .position_stride = 3 * sizeof *positions};
    return sup_method_linear.step(&linear, at(u->state, u->state->at.linear), &out);
}

/* Linear blending may be inside a collider: the limits pause while skin touches one. */
static sup_result limit_shape(sup_projective_state *s, const sup_step_input *input, const sup_skin_out *out)
{
    limits_user user = {s, input};
    bool touches = input->colliders != NULL && s->touch_count > 0;
    s->limits_amount = touches ? 0.0f : fminf(1.0f, s->limits_amount + LIMITS_RETURN * input->dt);
    sup_shape_limits_def def = {.reference = blend_reference, .user = &user, .amount = s->limits_amount};
    return sup_shape_limits_apply(input->context, &s->view.limits, &def, at(s, s->at.limits), out);
}

sup_result sup_projective_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    sup_projective_state *s = state;
    sup_result result = advance(s, input);
    if (result != SUP_OK) return result;
    sup_projective_extrapolate(s, input->context, at(s, s->at.joints[1]));
    end_stage(input, "skin");
    /* Everything by linear blending first, then the vertices that are simulated. */
    sup_step_input linear = linear_input(input);
    result = s->view.upsample.covered == s->view.upsample.vertex_count
                 ? sup_linear_pose(&linear, at(s, s->at.linear))
                 : sup_method_linear.step(&linear, at(s, s->at.linear), out);
    end_stage(input, "linear");
    if (result == SUP_OK)
        result = sup_upsample_apply(input->context, &s->view.upsample, at(s, s->at.extrapolated), at(s, s->at.upsample),
                                    out);
    end_stage(input, "upsample");
    bool untangles = result == SUP_OK && out->positions != NULL && input->values[SUP_PROJECTIVE_CONTACT] != 0.0 &&
                     input->values[SUP_PROJECTIVE_UNTANGLE] != 0.0;
    if (untangles) untangle(s, input, out);
    s->untangled = untangles;
    if (result == SUP_OK) sup_projective_move_to_world(s, out);
    end_stage(input, "untangle");
    if (result == SUP_OK && input->values[SUP_PROJECTIVE_LIMITS] != 0.0) result = limit_shape(s, input, out);
    end_stage(input, "limits");
    return result;
}
