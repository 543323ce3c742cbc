/* meet_planes.c - how much joints are bent, and the planes that keep the flesh of their two bones apart.
 *
 * Based on: [aburumman2016thesis] section 5.4, whose plane's place and normal are not given: here the bisector of the two
 * bones, through the joint. Eq. 5.4 is put right: dp = -C n with C = (p - q).n, only where C < 0. */
#include "math/vec3.h"
#include "methods/position/meet_work.h"

/* Angles, radians, between which a plane wakes up. */
static const double BEND_BEGIN = 0.35, BEND_FULL = 1.2;
/* k of the thesis' collision constraints, for each iteration. */
static const float STIFFNESS = 0.93f;
/* Room that each side leaves to the plane, in edges; from the joint outward it grows over this many edges. */
static const float ROOM = 0.2f, ROOM_REACH = 1.0f;
/* Edges that a particle may go towards a plane in the iterations of one step. */
static const float NEAR = 0.7f;

static sup_vec3d carried(const sup_meet_state *s, int32_t joint, const float *point)
{
    const sup_meet_input *in = &s->input;
    const float *m = in->joints[joint].m;
    double out[3];
    for (int r = 0; r < 3; r++)
        out[r] = ((double)m[4 * r] * (double)point[0] + (double)m[4 * r + 1] * (double)point[1] +
                  (double)m[4 * r + 2] * (double)point[2] + (double)m[4 * r + 3] - in->origin[r]) /
                 (double)in->size;
    return sup_v3(out[0], out[1], out[2]);
}

static sup_vec3d direction(const sup_meet_state *s, int32_t joint, const float *from, const float *to)
{
    return sup_v3_unit_or(sup_v3_sub(carried(s, joint, to), carried(s, joint, from)), sup_v3(0, 0, 0));
}

static double angle_between(sup_vec3d a, sup_vec3d b)
{
    return atan2(sup_v3_length(sup_v3_cross(a, b)), sup_v3_dot(a, b));
}

static void raise_plane(sup_meet_state *s, int32_t plane)
{
    const sup_meet *m = s->meet;
    int32_t j = m->plane[plane], parent = m->parent[j];
    const float *head = m->bone + 6 * (int64_t)j, *tail = head + 3;
    sup_vec3d lower = direction(s, j, head, tail), upper = direction(s, parent, head, m->bone + 6 * (int64_t)parent);
    sup_vec3d normal = sup_v3_sub(lower, upper), inward = sup_v3_add(lower, upper);
    double bend = (double)s->bend[j], t = (bend - BEND_BEGIN) / (BEND_FULL - BEND_BEGIN);
    if (!(t > 0.0) || sup_v3_length(normal) < 1e-3 || sup_v3_length(inward) < 1e-3) return;
    t = fmin(t, 1.0);
    sup_meet_plane *to = &s->planes[s->plane_count++];
    to->plane = plane;
    to->bent = (float)(t * t * (3.0 - 2.0 * t));
    sup_v3_store(to->centre, carried(s, j, head));
    sup_v3_store(to->normal, sup_v3_unit_or(normal, normal));
    sup_v3_store(to->inward, sup_v3_unit_or(inward, inward));
}

void sup_meet_bend(sup_meet_state *s)
{
    const sup_meet *m = s->meet;
    for (int32_t j = 0; j < m->joint_count; j++) {
        const float *head = m->bone + 6 * (int64_t)j;
        int32_t parent = m->parent[j];
        s->bend[j] = parent < 0
                         ? 0.0f
                         : (float)angle_between(direction(s, j, head, head + 3), direction(s, parent, head, head + 3));
    }
    s->plane_count = 0;
    for (int32_t i = 0; s->input.planes && i < m->plane_count; i++)
        raise_plane(s, i);
    s->report.planes = s->plane_count;
}

void sup_meet_planes_gather(sup_meet_state *s, const float *rows)
{
    const sup_meet *m = s->meet;
    int32_t count = 0;
    for (int32_t i = 0; i < s->plane_count; i++) {
        sup_meet_plane *plane = &s->planes[i];
        const float *n = plane->normal, *in = plane->inward;
        plane->near_first = count;
        for (int32_t k = m->plane_first[plane->plane]; k < m->plane_first[plane->plane + 1]; k++) {
            const float *p = rows + 4 * (int64_t)m->entry_row[k];
            float d[3] = {p[0] - plane->centre[0], p[1] - plane->centre[1], p[2] - plane->centre[2]};
            float deep = d[0] * in[0] + d[1] * in[1] + d[2] * in[2];
            float height = m->entry[2 * (int64_t)k] * (d[0] * n[0] + d[1] * n[1] + d[2] * n[2]);
            if (deep > -NEAR * m->edge && height < NEAR * m->edge) s->near[count++] = k;
        }
        plane->near_end = count;
    }
}

void sup_meet_planes_solve(const sup_meet_state *s, float *rows)
{
    const sup_meet *m = s->meet;
    float room = ROOM * m->edge, grow = 1.0f / (ROOM_REACH * m->edge);
    for (int32_t i = 0; i < s->plane_count; i++) {
        const sup_meet_plane *plane = &s->planes[i];
        const float *n = plane->normal, *in = plane->inward;
        for (int32_t j = plane->near_first; j < plane->near_end; j++) {
            int32_t k = s->near[j];
            float *p = rows + 4 * (int64_t)m->entry_row[k];
            float d[3] = {p[0] - plane->centre[0], p[1] - plane->centre[1], p[2] - plane->centre[2]};
            float deep = d[0] * in[0] + d[1] * in[1] + d[2] * in[2]; /* into the bend */
            if (!(deep > 0.0f) || !(p[3] > 0.0f)) continue;
            float ramp = fminf(deep * grow, 1.0f), side = m->entry[2 * (int64_t)k];
            float slack = m->entry[2 * (int64_t)k + 1] * (1.0f - plane->bent * ramp) + room * plane->bent * ramp;
            float height = side * (d[0] * n[0] + d[1] * n[1] + d[2] * n[2]) - slack; /* C of eq. 5.4 */
            if (!(height < 0.0f)) continue;
            float by = -STIFFNESS * height * side;
            for (int c = 0; c < 3; c++)
                p[c] += by * n[c];
        }
    }
}
