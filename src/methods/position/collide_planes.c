/* collide_planes.c - bend of joints, and the planes that separate the tissue of their two bones.
 *
 * Based on: [aburumman2016thesis] section 5.4, which does not define position and normal of the plane: here the
 * bisector of the two bones, through the joint. Eq. 5.4 is corrected: dp = -C n with C = (p - q).n, only where C <
 * 0. */
#include "math/vec3.h"
#include "methods/position/collide_work.h"

/* Bend angles, radians, between which a plane becomes fully active. */
static const double BEND_BEGIN = 0.35, BEND_FULL = 1.2;
/* k of the collision constraints of the thesis, per iteration. */
static const float STIFFNESS = 0.93f;
/* Distance of each side from the plane, in edges; it grows from the joint outward over MARGIN_REACH edges. */
static const float MARGIN = 0.2f, MARGIN_REACH = 1.0f;
/* Maximum motion of a particle towards a plane in the iterations of one step, in edges. */
static const float MAX_APPROACH = 0.7f;
/* The same for the render mesh, which is only corrected where it is in front of the particles. */
static const float SKIN_MARGIN = 0.02f, SKIN_REACH = 0.4f;
enum { BONE_GRAIN = 2, SERIAL_MAX = 256 /* fewer entries are solved on one thread */ };

static sup_vec3d transformed(const sup_collide_state *s, int32_t joint, const float *point)
{
    const sup_collide_input *in = &s->input;
    const float *m = in->joints[joint].m;
    double out[3];
    for (int r = 0; r < 3; r++)
        out[r] = ((double)m[4 * r] * (double)point[0] + (double)m[4 * r + 1] * (double)point[1] +
                  (double)m[4 * r + 2] * (double)point[2] + (double)m[4 * r + 3] - in->origin[r]) /
                 (double)in->size;
    return sup_v3(out[0], out[1], out[2]);
}

static sup_vec3d direction(const sup_collide_state *s, int32_t joint, const float *from, const float *to)
{
    return sup_v3_unit_or(sup_v3_sub(transformed(s, joint, to), transformed(s, joint, from)), sup_v3(0, 0, 0));
}

static double angle_between(sup_vec3d a, sup_vec3d b)
{
    return atan2(sup_v3_length(sup_v3_cross(a, b)), sup_v3_dot(a, b));
}

static void add_plane(sup_collide_state *s, int32_t plane)
{
    const sup_collide *m = s->collide;
    int32_t j = m->plane[plane], parent = m->parent[j];
    const float *head = m->bone + 6 * (int64_t)j, *tail = head + 3;
    sup_vec3d lower = direction(s, j, head, tail), upper = direction(s, parent, head, m->bone + 6 * (int64_t)parent);
    sup_vec3d normal = sup_v3_sub(lower, upper), inward = sup_v3_add(lower, upper);
    double bend = (double)s->bend[j], t = (bend - BEND_BEGIN) / (BEND_FULL - BEND_BEGIN);
    if (!(t > 0.0) || sup_v3_length(normal) < 1e-3 || sup_v3_length(inward) < 1e-3) return;
    t = fmin(t, 1.0);
    sup_collide_plane *to = &s->planes[s->plane_count++];
    to->plane = plane;
    to->bent = (float)(t * t * (3.0 - 2.0 * t));
    sup_v3_store(to->centre, transformed(s, j, head));
    sup_v3_store(to->normal, sup_v3_unit_or(normal, normal));
    sup_v3_store(to->inward, sup_v3_unit_or(inward, inward));
}

void sup_collide_find_planes(sup_collide_state *s)
{
    const sup_collide *m = s->collide;
    for (int32_t j = 0; j < m->joint_count; j++) {
        const float *head = m->bone + 6 * (int64_t)j;
        int32_t parent = m->parent[j];
        s->bend[j] = parent < 0
                         ? 0.0f
                         : (float)angle_between(direction(s, j, head, head + 3), direction(s, parent, head, head + 3));
    }
    s->plane_count = 0;
    for (int32_t i = 0; s->input.planes && i < m->plane_count; i++)
        add_plane(s, i);
    s->report.planes = s->plane_count;
}

typedef struct plane_work {
    const sup_collide_state *state;
    float *positions;
    bool still; /* removes velocity instead of correcting positions */
} plane_work;

static void gather_some(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const plane_work *work = user;
    const sup_collide_state *s = work->state;
    const sup_collide *m = s->collide;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        sup_collide_plane *plane = &s->planes[i];
        const float *n = plane->normal, *in = plane->inward;
        int32_t first = m->plane_first[plane->plane], next = m->plane_first[plane->plane + 1];
        plane->below_end = first;
        plane->above_first = next;
        for (int32_t k = first; k < next; k++) {
            const float *p = work->positions + 4 * (int64_t)m->entry_slot[k];
            float d[3] = {p[0] - plane->centre[0], p[1] - plane->centre[1], p[2] - plane->centre[2]};
            float deep = d[0] * in[0] + d[1] * in[1] + d[2] * in[2], side = m->entry[2 * (int64_t)k];
            float height = side * (d[0] * n[0] + d[1] * n[1] + d[2] * n[2]);
            if (!(deep > -MAX_APPROACH * m->edge && height < MAX_APPROACH * m->edge)) continue;
            s->near[side > 0.0f ? plane->below_end++ : --plane->above_first] = k;
        }
    }
}

void sup_collide_planes_gather(sup_collide_state *s, const sup_context *context, float *positions)
{
    plane_work work = {s, positions, false};
    sup_parallel(context, s->plane_count, 1, gather_some, &work);
    s->near_count = 0;
    for (int32_t i = 0; i < s->plane_count; i++)
        s->near_count += s->planes[i].below_end - s->collide->plane_first[s->planes[i].plane] +
                         s->collide->plane_first[s->planes[i].plane + 1] - s->planes[i].above_first;
}

/* While the plane does not move, corrections do not become velocity: the start position of the step moves along. */
static void remove_rebound(float *previous, const float *p, const float n[3], float side)
{
    float speed = side * ((p[0] - previous[0]) * n[0] + (p[1] - previous[1]) * n[1] + (p[2] - previous[2]) * n[2]);
    for (int c = 0; speed > 0.0f && c < 3; c++)
        previous[c] += side * speed * n[c];
}

/* Entries near[first, end) of a plane. */
static void solve_side(const plane_work *work, const sup_collide_plane *plane, int32_t first, int32_t end)
{
    const sup_collide_state *s = work->state;
    const sup_collide *m = s->collide;
    const float *n = plane->normal, *in = plane->inward;
    float margin = MARGIN * m->edge, grow = 1.0f / (MARGIN_REACH * m->edge),
          touching = work->still ? 1e-3f * m->edge : 0.0f;
    for (int32_t j = first; j < end; j++) {
        int32_t k = s->near[j];
        float *p = work->positions + 4 * (int64_t)m->entry_slot[k];
        float d[3] = {p[0] - plane->centre[0], p[1] - plane->centre[1], p[2] - plane->centre[2]};
        float deep = d[0] * in[0] + d[1] * in[1] + d[2] * in[2]; /* into the bend */
        if (!(deep > 0.0f) || !(p[3] > 0.0f)) continue;
        float ramp = fminf(deep * grow, 1.0f), side = m->entry[2 * (int64_t)k];
        float slack = m->entry[2 * (int64_t)k + 1] * (1.0f - plane->bent * ramp) + margin * plane->bent * ramp;
        float height = side * (d[0] * n[0] + d[1] * n[1] + d[2] * n[2]) - slack; /* C of eq. 5.4 */
        if (!(height < touching)) continue;
        if (work->still) {
            remove_rebound(s->input.previous + (p - work->positions), p, n, side);
            continue;
        }
        float by = -STIFFNESS * height * side;
        for (int c = 0; c < 3; c++)
            p[c] += by * n[c];
    }
}

/* All plane entries of bones [begin, end). A particle has one bone, so bones share no particle; the entries of a bone
 * are processed in the order of the planes. */
static void solve_bones(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const plane_work *work = user;
    const sup_collide_state *s = work->state;
    const sup_collide *m = s->collide;
    SUP_UNUSED(worker);
    for (int32_t i = 0; i < s->plane_count; i++) {
        const sup_collide_plane *plane = &s->planes[i];
        int32_t lower = m->plane[plane->plane], upper = m->parent[lower];
        if (lower >= begin && lower < end) solve_side(work, plane, m->plane_first[plane->plane], plane->below_end);
        if (upper >= begin && upper < end)
            solve_side(work, plane, plane->above_first, m->plane_first[plane->plane + 1]);
    }
}

static void solve_planes(const sup_collide_state *s, const sup_context *context, plane_work *work)
{
    int32_t joints = s->collide->joint_count;
    if (s->near_count < SERIAL_MAX)
        solve_bones(work, 0, joints, 0);
    else
        sup_parallel(context, joints, BONE_GRAIN, solve_bones, work);
}

void sup_collide_planes_solve(const sup_collide_state *s, const sup_context *context, float *positions)
{
    plane_work work = {s, positions, false};
    solve_planes(s, context, &work);
}

void sup_collide_stop_planes(sup_collide_state *s, const sup_context *context, float *positions)
{
    plane_work work = {s, positions, true};
    solve_planes(s, context, &work);
}

/* --- Render mesh --- */

typedef struct project_work {
    const sup_collide_state *state;
    const sup_skin_out *out;
} project_work;

static void project_side(const project_work *work, const sup_collide_plane *plane, int32_t range)
{
    const sup_collide_state *s = work->state;
    const sup_collide *m = s->collide;
    const float *n = plane->normal, *in = plane->inward;
    float size = s->input.size, margin = SKIN_MARGIN * m->edge * size, grow = 1.0f / (SKIN_REACH * m->edge * size);
    float centre[3]; /* file units from here on */
    for (int c = 0; c < 3; c++)
        centre[c] = (float)(s->input.origin[c] + (double)size * (double)plane->centre[c]);
    for (int32_t k = m->skin_first[range]; k < m->skin_first[range + 1]; k++) {
        float *p =
            (float *)(void *)((char *)work->out->positions + (size_t)m->skin_vertex[k] * work->out->position_stride);
        float d[3] = {p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]}, side = m->skin_entry[2 * (int64_t)k];
        float deep = d[0] * in[0] + d[1] * in[1] + d[2] * in[2];
        float height = side * (d[0] * n[0] + d[1] * n[1] + d[2] * n[2]);
        if (!(deep > 0.0f && height < margin)) continue;
        float ramp = plane->bent * fminf(deep * grow, 1.0f);
        float skin_height = m->skin_entry[2 * (int64_t)k + 1] * size * (1.0f - ramp) + margin * ramp - height;
        for (int c = 0; skin_height > 0.0f && c < 3; c++)
            p[c] += side * skin_height * n[c];
    }
}

/* As in solve_bones: a vertex has one bone. */
static void project_bones(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const project_work *work = user;
    const sup_collide *m = work->state->collide;
    SUP_UNUSED(worker);
    for (int32_t i = 0; i < work->state->plane_count; i++) {
        const sup_collide_plane *plane = &work->state->planes[i];
        int32_t lower = m->plane[plane->plane], upper = m->parent[lower];
        if (lower >= begin && lower < end) project_side(work, plane, 2 * plane->plane);
        if (upper >= begin && upper < end) project_side(work, plane, 2 * plane->plane + 1);
    }
}

void sup_collide_project_skin(const sup_collide *collide, void *state, const sup_context *context,
                              const sup_mat34 *joints, const double origin[3], const sup_skin_out *out)
{
    sup_collide_state *s = state;
    if (s->input.mode == SUP_COLLIDE_OFF || out->positions == NULL) return;
    s->input.joints = joints;
    memcpy(s->input.origin, origin, sizeof s->input.origin);
    sup_collide_find_planes(s);
    project_work work = {s, out};
    sup_parallel(context, collide->joint_count, 1, project_bones, &work);
}
