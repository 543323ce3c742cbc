/* project.c - projects vertices along the gradient onto the iso-surface of their target value.
 *
 * Based on: [vaillant2014iso] section 5, second stage.
 *
 * Deviates where the paper is silent: a step is at most STEP_FRACTION of the distance from skin to axis, and between
 * half an edge and three edges; a step that does not reduce the residual is halved.
 *
 * Contact surfaces are double roots of the field: there are no values below 0.5, Newton steps only halve the residual,
 * and larger values are far away. There the target of a vertex is a distance of GAP from the contact surface, measured
 * by the difference of the two fields, which has a slope. A vertex stays on the side of its own field: one behind the
 * contact surface moves back. Contact surfaces end in front of the joint; a vertex beyond the end moves back along the
 * fold, and relaxation does not push it there (`barrier`). */
#include "methods/implicit/track_work.h"

/* Residual of the field value that counts as converged. */
static const float CONVERGED = 1e-4f;
/* Longest step, in inverse gradients at rest, about the radius of a limb; clamped to this range in edge lengths. */
static const float STEP_FRACTION = 0.15f, MIN_STEP = 0.5f, MAX_STEP = 3.0f;
/* Minimum slope relative to that at rest; below it the gradient has no direction. */
static const float MIN_SLOPE = 0.02f;

void sup_track_load_points(const sup_track *track, const float *position, int32_t cluster, sup_field_points *points)
{
    int32_t first = track->cluster_first[cluster], count = track->cluster_first[cluster + 1] - first;
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
        const float *p = position + 4 * (int64_t)(first + (k < count ? k : count - 1));
        points->x[k] = p[0];
        points->y[k] = p[1];
        points->z[k] = p[2];
    }
}

void sup_track_evaluate(const sup_track *track, int32_t cluster, sup_track_field_fn *field, const void *user,
                        const sup_field_points *points, sup_field_samples *samples, sup_field_sides *sides)
{
    int32_t first = track->cluster_first[cluster], count = track->cluster_first[cluster + 1] - first;
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++)
        sides->own[k] = track->own[first + (k < count ? k : count - 1)];
    field(user, points, samples, sides);
}

/* Cosine between the gradient and its direction by dual quaternion skinning, below which a vertex is on the opposite
 * side of its limb; and the value below which a field counts as 0. */
static const float FACING = -0.3f, NO_VALUE = 1e-3f;
/* Distance in edge lengths from dual quaternion skinning at which a vertex on another limb restarts: the value of its
 * own field is lower than the composed one by OTHER_FIELD. */
static const float MAX_STRAY = 10.0f, OTHER_FIELD = 0.05f;
/* The same where its region is straight, and the minimum straightness: about 0.07 radians. */
static const float MAX_STRAY_STRAIGHT = 0.5f, STRAIGHT = 0.98f;
/* Loss of the own limb's value compared with rest from which on a vertex is pulled back to its limb, and where it
 * follows only its limb. */
static const float LIMB_LOSS = 0.1f, LIMB_LOSS_FULL = 0.2f;
/* Increase of other limbs' values compared with rest that is tolerated, and the range over which their pressure ramps
 * up. */
static const float OTHER_LIMB_REST = 0.1f, OTHER_LIMB_RAMP = 0.05f;
/* Maximum increase of the value above the target at a repaired position. */
static const float MAX_REPAIR_VALUE = 0.2f;
/* Target distance from a contact surface, in edge lengths. */
static const float GAP = 0.1f;

/* The field at a vertex: the composed value, and the contact that the vertex is in. */
typedef struct sample {
    float value, gradient[3];
    float own_value; /* value of its own field; negative where another one overlaps */
    float contact;
    float side, across[3]; /* own value minus other value, and its gradient */
    float to_end, out[3];  /* distance to the end of the contact surface, and the direction away from it */
    float pressed;         /* pressure of another limb, in [0, 1] */
} sample;

static float length_of(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static float dot3(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static void blend(sample *at, float weight, float value, const float gradient[3])
{
    at->value += weight * (value - at->value);
    at->contact *= 1.0f - weight;
    for (int c = 0; c < 3; c++)
        at->gradient[c] += weight * (gradient[c] - at->gradient[c]);
}

/* Contacts press skin into its own limb, never out of it: a vertex whose own limb's value is much lower than at rest
 * lies on another limb, and follows only its own limb until it is back. A vertex inside another limb moves to where
 * both limbs have equal values, independent of the angle between the gradients: where they point the same way the union
 * would press it out of its own limb. */
static sample sample_of(const sup_track *track, int64_t vertex, const sup_field_samples *f, const sup_field_sides *s,
                        int32_t k)
{
    sample at = {f->value[k],
                 {f->x[k], f->y[k], f->z[k]},
                 s->own_value[k],
                 s->contact[k],
                 s->side.value[k],
                 {s->side.x[k], s->side.y[k], s->side.z[k]},
                 s->end.value[k],
                 {s->end.x[k], s->end.y[k], s->end.z[k]},
                 0.0f};
    const sup_track_target *target = &track->target[vertex];
    float keep = track->inward[4 * vertex + 3], less = keep - s->own_limb.value[k];
    float inside = s->other_limb.value[k] - sup_track_max(0.5f, track->other_limb[vertex] + OTHER_LIMB_REST);
    if (inside > 0.0f) {
        const float across[3] = {s->own_limb.x[k] - s->other_limb.x[k], s->own_limb.y[k] - s->other_limb.y[k],
                                 s->own_limb.z[k] - s->other_limb.z[k]};
        float boundary = s->other_limb.value[k] + GAP * target->edge * length_of(across);
        at.pressed = boundary > keep ? sup_track_min(inside / OTHER_LIMB_RAMP, 1.0f) : 0.0f;
        blend(&at, at.pressed, target->iso + s->own_limb.value[k] - boundary, across);
    }
    if (less > LIMB_LOSS) {
        const float limb_gradient[3] = {s->own_limb.x[k], s->own_limb.y[k], s->own_limb.z[k]};
        blend(&at, sup_track_min((less - LIMB_LOSS) / (LIMB_LOSS_FULL - LIMB_LOSS), 1.0f), target->iso - less,
              limb_gradient);
    }
    return at;
}

static void add_step(float step[3], float length, float limit, const float direction[3], float norm)
{
    length = clamp(length, -limit, limit) / norm;
    for (int c = 0; c < 3; c++)
        step[c] += length * direction[c];
}

/* How a contact constrains a vertex. */
typedef struct contact_hold {
    float weight;     /* weight of the contact, in [0, 1] */
    float error;      /* field difference to the target beside the contact surface */
    float beyond;     /* distance beyond the end of the contact surface */
    float end_weight; /* how strongly that end blocks, in [0, 1] */
} contact_hold;

static contact_hold contact_hold_of(const sup_track_target *target, const sample *s, float slope, float across)
{
    contact_hold h = {0};
    if (!(across > MIN_SLOPE * target->gradient) || !(s->contact > 0.0f)) return h;
    float gap = GAP * target->edge * across, deep = clamp((s->contact - 0.1f) * 2.5f, 0.0f, 1.0f);
    h.error = gap - s->side;
    h.beyond = deep * sup_track_max(0.0f, -s->to_end);
    h.end_weight = deep * clamp(1.0f - 2.0f * s->to_end / target->edge, 0.0f, 1.0f);
    h.weight = h.beyond > 0.0f ? deep
                               : sup_track_max(sup_track_contact_weight(target, slope, s->contact),
                                               deep * clamp(h.error / gap, 0.0f, 1.0f));
    return h;
}

/* The direction in the tangent plane that is blocked by the end of a contact surface. */
static void set_barrier(const sample *s, const float *normal, float end, float *barrier)
{
    float t[3], along = s->out[0] * normal[0] + s->out[1] * normal[1] + s->out[2] * normal[2];
    for (int c = 0; c < 3; c++)
        t[c] = along * normal[c] - s->out[c];
    float length = length_of(t);
    for (int c = 0; c < 3; c++)
        barrier[c] = length > 0.0f ? t[c] / length : 0.0f;
    barrier[3] = length > 0.0f ? end : 0.0f;
}

/* A Newton step to the target value; returns the residual. The normal is kept where there is no slope. `weight`:
 * contact weight, in [0, 1]. */
static float newton(const sup_track_target *target, const sample *s, float *normal, float *barrier, float step[3],
                    float *weight)
{
    step[0] = step[1] = step[2] = barrier[3] = *weight = 0.0f;
    if (!(target->gradient > 0.0f)) return 0.0f;
    float slope = length_of(s->gradient), across = length_of(s->across), residual = target->iso - s->value,
          n[3] = {0, 0, 0};
    float limit = clamp(STEP_FRACTION / target->gradient, MIN_STEP * target->edge, MAX_STEP * target->edge);
    contact_hold h = contact_hold_of(target, s, slope, across);
    *weight = sup_track_max(h.weight, s->pressed);
    if (slope > 0.0f && h.weight < 1.0f) {
        float free = 1.0f - h.weight;
        add_step(step, free * residual / slope, free * limit, s->gradient, slope);
        for (int c = 0; c < 3 && slope > MIN_SLOPE * target->gradient; c++)
            n[c] = free * s->gradient[c] / slope;
    }
    if (h.weight > 0.0f) {
        add_step(step, h.weight * h.error / across, h.weight * limit, s->across, across);
        for (int c = 0; c < 3; c++)
            n[c] += h.weight * s->across[c] / across;
    }
    if (h.beyond > 0.0f) add_step(step, h.beyond, limit, s->out, 1.0f);
    float length = length_of(n);
    for (int c = 0; c < 3 && length > 0.1f; c++)
        normal[c] = n[c] / length;
    if (h.end_weight > 0.0f) set_barrier(s, normal, h.end_weight, barrier);
    return (1.0f - h.weight) * fabsf(residual) + h.weight * 0.5f * fabsf(h.error) + h.beyond * target->gradient;
}

typedef struct lane {
    float from[3], step[3], residual; /* best position so far, step from it, and its residual */
    int32_t restarts;                 /* number of restarts; 2: no more restarts */
    bool done;
} lane;

/* Updates a lane with the field at its position. */
static void update_lane(const sup_track_target *target, const sample *s, float *position, float *normal, float *barrier,
                        lane *l)
{
    float step[3], kept[3] = {normal[0], normal[1], normal[2]}, weight, end[4] = {0};
    float residual = newton(target, s, kept, end, step, &weight);
    if (residual <= l->residual) {
        memcpy(l->from, position, sizeof l->from);
        memcpy(l->step, step, sizeof l->step);
        memcpy(normal, kept, sizeof kept);
        memcpy(barrier, end, sizeof end);
        l->residual = residual;
        position[3] = weight;
        normal[3] = residual;
        l->done = residual <= CONVERGED || !(target->gradient > 0.0f);
    } else
        for (int c = 0; c < 3; c++)
            l->step[c] *= 0.5f;
}

/* Position and gradient of a vertex under a matrix, rest to pose. */
static void skinned_position(const sup_track *track, const float m[12], int64_t vertex, float position[3],
                             float normal[3])
{
    const float *rest = track->rest + 4 * vertex, *inward = track->inward + 4 * vertex;
    for (int r = 0; r < 3; r++) {
        normal[r] = m[4 * r] * inward[0] + m[4 * r + 1] * inward[1] + m[4 * r + 2] * inward[2];
        position[r] = m[4 * r] * rest[0] + m[4 * r + 1] * rest[1] + m[4 * r + 2] * rest[2] + m[4 * r + 3];
    }
}

/* Restarts a vertex from its skinned position. If only its own limb's field is nonzero, a vertex has passed through the
 * limb if the gradient opposes the directions given by both dual quaternions and its bone. A vertex is lost if all
 * fields are 0, if it lies on another limb without contact and far from both skinned positions, or if it is away from
 * both although its region is straight and nothing presses it. It restarts from the dual quaternion position, or from
 * the bone's position if the former is outside of its own field, as in the flaps that dual quaternions make of deep
 * folds. */
static bool restart_vertex(const sup_track_work *w, const sample *s, int32_t joint, int64_t vertex, lane *l)
{
    const sup_track *track = w->track;
    const float *transform = w->arrays.transform + 12 * vertex, *bone = w->input->joints[joint].transform;
    float straight = w->arrays.straight[joint], *position = w->arrays.position + 4 * vertex, start[2][3], n[2][3],
          own = fabsf(s->own_value);
    bool at_rest = straight > STRAIGHT && !(s->pressed > 0.0f);
    float faces = FACING * length_of(s->gradient),
          far = (at_rest ? MAX_STRAY_STRAIGHT : MAX_STRAY) * track->target[vertex].edge;
    bool second = l->restarts == 1, has_field = track->own[vertex] >= 0.0f,
         inverted = fabsf(s->value - s->own_value) <= NO_VALUE;
    bool strayed = at_rest || (s->value - own > OTHER_FIELD && s->contact < 0.1f);
    for (int i = 0; i < 2; i++) {
        skinned_position(track, i == 0 ? transform : bone, vertex, start[i], n[i]);
        const float offset[3] = {start[i][0] - position[0], start[i][1] - position[1], start[i][2] - position[2]};
        inverted = inverted && dot3(n[i], s->gradient) < faces;
        strayed = strayed && dot3(offset, offset) > far * far;
    }
    bool restarts =
        second ? has_field && own <= NO_VALUE : inverted || (has_field && (s->value <= NO_VALUE || strayed));
    l->restarts = restarts ? l->restarts + 1 : 2;
    if (!restarts) return false;
    memcpy(position, start[second], sizeof start[0]);
    position[3] = 0.0f;
    memcpy(w->arrays.normal + 4 * vertex, n[second], sizeof n[0]);
    return true;
}

/* Undoes the repair of an outlier that led into a contact or deep inside. */
static bool undo_repair(const sup_track_work *w, const sample *s, int64_t vertex)
{
    float *direction = w->arrays.direction + 4 * vertex, *position = w->arrays.position + 4 * vertex;
    bool back =
        direction[3] > 0.0f && (s->contact > 0.0f || s->value - w->track->target[vertex].iso > MAX_REPAIR_VALUE);
    direction[3] = 0.0f;
    for (int c = 0; c < 3 && back; c++)
        position[c] -= direction[c];
    return back;
}

static int32_t project_cluster(sup_track_work *w, int32_t cluster, int32_t steps)
{
    const sup_track *track = w->track;
    int32_t first = track->cluster_first[cluster], count = track->cluster_first[cluster + 1] - first, evaluations = 0;
    const int32_t joint = track->cluster_joint[cluster];
    lane lanes[SUP_FIELD_LANES];
    for (int32_t k = 0; k < count; k++)
        lanes[k] = (lane){.residual = INFINITY};
    for (bool busy = true; busy; evaluations++) {
        sup_field_points points;
        sup_field_samples samples;
        sup_field_sides sides;
        sup_track_load_points(track, w->arrays.position, cluster, &points);
        sup_track_evaluate(track, cluster, w->input->field, w->input->field_user, &points, &samples, &sides);
        busy = false;
        for (int32_t k = 0; k < count; k++) {
            int64_t vertex = first + k;
            float *position = w->arrays.position + 4 * vertex;
            lane *l = &lanes[k];
            if (l->done) continue;
            sample s = sample_of(track, vertex, &samples, &sides, k);
            if (undo_repair(w, &s, vertex) || (l->restarts < 2 && restart_vertex(w, &s, joint, vertex, l))) {
                busy = true;
                continue;
            }
            update_lane(&track->target[vertex], &s, position, w->arrays.normal + 4 * vertex,
                        w->arrays.barrier + 4 * vertex, l);
            bool last = evaluations == steps;
            for (int c = 0; c < 3; c++)
                position[c] = l->from[c] + (l->done || last ? 0.0f : l->step[c]);
            busy = busy || (!l->done && !last);
        }
    }
    return evaluations * count;
}

/* Whether a vertex of the cluster follows a field. */
static bool has_targets(const sup_track *track, int32_t cluster)
{
    for (int32_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++)
        if (track->target[vertex].gradient > 0.0f) return true;
    return false;
}

typedef struct project_work {
    sup_track_work *work;
    int32_t steps;
    float drift;
} project_work;

static void project_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const project_work *p = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = p->work->arrays.list[i];
        double *sums = p->work->arrays.sums + SUP_TRACK_SUMS * (int64_t)cluster;
        bool far = p->work->arrays.drift[cluster] > p->drift && has_targets(p->work->track, cluster);
        int32_t first = p->work->track->cluster_first[cluster], end_vertex = p->work->track->cluster_first[cluster + 1];
        sums[0] = far ? (double)project_cluster(p->work, cluster, p->steps) : 0.0;
        sums[1] = sums[0] > (double)(end_vertex - first) ? 1.0 : 0.0; /* more than the first evaluation */
        for (int64_t vertex = first; vertex < end_vertex; vertex++)
            if (p->work->arrays.position[4 * vertex + 3] > 0.0f) sums[1] = 1.0;
        if (far) p->work->arrays.drift[cluster] = 0.0f;
    }
}

void sup_track_project(sup_track_work *work, int32_t steps, float drift)
{
    project_work project = {work, steps, drift};
    sup_parallel(work->context, work->awake_count, SUP_TRACK_GRAIN, project_range, &project);
    for (int32_t i = 0; i < work->awake_count; i++)
        work->evaluations += (int64_t)work->arrays.sums[SUP_TRACK_SUMS * (int64_t)work->arrays.list[i]];
}

void sup_track_newton_step(sup_track_work *work, int32_t cluster)
{
    const sup_track *track = work->track;
    int32_t first = track->cluster_first[cluster], count = track->cluster_first[cluster + 1] - first;
    sup_field_points points;
    sup_field_samples f;
    sup_field_sides sides;
    float moved = 0.0f;
    sup_track_load_points(track, work->arrays.position, cluster, &points);
    sup_track_evaluate(track, cluster, work->input->field, work->input->field_user, &points, &f, &sides);
    for (int32_t k = 0; k < count; k++) {
        int64_t vertex = first + k;
        float *position = work->arrays.position + 4 * vertex, *normal = work->arrays.normal + 4 * vertex, step[3];
        sample s = sample_of(track, vertex, &f, &sides, k);
        normal[3] = newton(&track->target[vertex], &s, normal, work->arrays.barrier + 4 * vertex, step, position + 3);
        for (int c = 0; c < 3; c++)
            position[c] += step[c];
        float length = sqrtf(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
        moved = sup_track_max(moved, length / track->target[vertex].edge);
    }
    work->arrays.moved[cluster] = sup_track_max(work->arrays.moved[cluster], moved);
    work->arrays.drift[cluster] = moved;
}

void sup_track_fit(const sup_track *track, void *state, sup_track_field_fn *field, const void *user,
                   int32_t *off_target, int32_t *in_contact, int32_t *without_field)
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    *off_target = *in_contact = *without_field = 0;
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++) {
        sup_field_points points;
        sup_field_samples f;
        sup_field_sides sides;
        sup_track_load_points(track, arrays.position, cluster, &points);
        sup_track_evaluate(track, cluster, field, user, &points, &f, &sides);
        for (int32_t vertex = track->cluster_first[cluster], k = 0; vertex < track->cluster_first[cluster + 1];
             vertex++, k++) {
            const sup_track_target *target = &track->target[vertex];
            sample s = sample_of(track, vertex, &f, &sides, k);
            float across = length_of(s.across);
            contact_hold h = contact_hold_of(target, &s, length_of(s.gradient), across);
            bool follows = target->gradient > 0.0f, on_target = fabsf(s.value - target->iso) <= 1e-3f;
            bool on = h.weight > 0.0f &&
                      fabsf(h.error) <= GAP * target->edge * across; /* beside the contact surface, within a gap */
            *without_field += follows ? 0 : 1;
            *in_contact += follows && !on_target && on ? 1 : 0;
            *off_target += follows && !on_target && !on ? 1 : 0;
        }
    }
}
