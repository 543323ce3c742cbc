/* meet.c - contact in the solver's loop: particles are held above the triangles they went through, and out of things.
 *
 * Based on: [aburumman2016thesis] algorithm 6: detection once a step, after the first iteration, instead of in each;
 * constraints in all. Position based friction and no bounce: what a push out of flesh moved in this step is not velocity. */
#include "methods/position/meet_work.h"

/* In mean edges of the surface: height that is held, height at which a hold ends, the deepest that one begins or lasts,
 * and the furthest that one step lifts. */
static const float GAP = 0.2f, KEEP = 0.35f, DEEPEST = 3.0f, RISE = 0.15f;
/* A hold goes to the next triangle when the particle is this far, in barycentric coordinates, over the edge. */
static const float OVER_EDGE = 0.1f;
/* Part of what is left that one iteration takes away. */
static const float STIFFNESS = 0.93f;
enum { WALK = 6 };

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void *carve(unsigned char *base, size_t *size, size_t bytes)
{
    void *at = base != NULL ? base + *size : NULL;
    *size += rounded(bytes);
    return at;
}

static size_t lay_out(const sup_meet *m, unsigned char *base, sup_meet_state *s)
{
    size_t size = rounded(sizeof *s), joints = (size_t)m->joint_count, points = (size_t)m->surface_count;
    s->bend = carve(base, &size, joints * sizeof(float));
    s->bend_then = carve(base, &size, joints * sizeof(float));
    s->box = carve(base, &size, joints * sizeof(sup_meet_box));
    s->look = carve(base, &size, joints * sizeof(sup_meet_box));
    s->held = carve(base, &size, points * sizeof(int32_t));
    s->weight = carve(base, &size, points * 4 * sizeof(float));
    s->active = carve(base, &size, points * sizeof(int32_t));
    s->planes = carve(base, &size, (size_t)m->plane_count * sizeof(sup_meet_plane));
    s->near = carve(base, &size, (size_t)m->entry_count * sizeof(int32_t));
    s->points = carve(base, &size, points * 4 * sizeof(float));
    s->touches = carve(base, &size, points * sizeof(sup_touch));
    s->touch = carve(base, &size, sup_touch_state_size(m->surface_count));
    s->cells_memory = carve(base, &size, sup_cells_size(m->surface_count));
    return size;
}

size_t sup_meet_state_size(const sup_meet *meet)
{
    sup_meet_state s;
    return lay_out(meet, NULL, &s);
}

void sup_meet_reset(const sup_meet *meet, void *state)
{
    sup_meet_state *s = state;
    memset(s, 0, sizeof *s);
    lay_out(meet, state, s);
    s->since = SUP_MEET_LONGEST_WAIT;
    memset(s->held, -1, (size_t)meet->surface_count * sizeof(int32_t));
    memset(s->bend_then, 0, (size_t)meet->joint_count * sizeof(float));
    sup_touch_reset(meet->surface_count, s->touch);
    sup_cells_start(&s->cells, s->cells_memory, meet->surface_count, 1.1f * meet->edge);
}

const sup_meet_report *sup_meet_report_of(const void *state)
{
    return &((const sup_meet_state *)state)->report;
}

const int32_t *sup_meet_held(const void *state)
{
    return ((const sup_meet_state *)state)->held;
}

/* --- Small vectors --- */

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Unit normal of a triangle; false where it has none. */
static bool normal_of(const float *const c[3], float n[3])
{
    float u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = c[1][k] - c[0][k];
        v[k] = c[2][k] - c[0][k];
    }
    n[0] = u[1] * v[2] - u[2] * v[1];
    n[1] = u[2] * v[0] - u[0] * v[2];
    n[2] = u[0] * v[1] - u[1] * v[0];
    float length = sqrtf(dot(n, n));
    if (!(length > 1e-20f)) return false;
    for (int k = 0; k < 3; k++)
        n[k] /= length;
    return true;
}

/* Barycentric coordinates of the point of the triangle's plane nearest to p. */
static bool coordinates_of(const float *const c[3], const float *p, float w[3])
{
    float u[3], v[3], d[3];
    for (int k = 0; k < 3; k++) {
        u[k] = c[1][k] - c[0][k];
        v[k] = c[2][k] - c[0][k];
        d[k] = p[k] - c[0][k];
    }
    float uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), du = dot(d, u), dv = dot(d, v), det = uu * vv - uv * uv;
    if (!(det > 1e-6f * uu * vv)) return false;
    w[1] = (vv * du - uv * dv) / det;
    w[2] = (uu * dv - uv * du) / det;
    w[0] = 1.0f - w[1] - w[2];
    return true;
}

static void corners_of(const sup_meet_state *s, int32_t triangle, float *rows, float *c[3])
{
    const sup_meet *m = s->meet;
    for (int k = 0; k < 3; k++)
        c[k] = rows + 4 * (int64_t)m->row[m->triangle[3 * (int64_t)triangle + k]];
}

/* --- Holds --- */

/* Weights that are not negative and sum to 1. */
static void clamp_weights(float w[3])
{
    float sum = 0.0f;
    for (int k = 0; k < 3; k++) {
        w[k] = fmaxf(w[k], 0.0f);
        sum += w[k];
    }
    for (int k = 0; k < 3; k++)
        w[k] /= sum;
}

bool sup_meet_walk(sup_meet_state *s, int32_t particle, const float *rows)
{
    const sup_meet *m = s->meet;
    const float *p = rows + 4 * (int64_t)m->row[particle];
    int32_t triangle = s->held[particle], last = -1;
    float w[3], *weight = s->weight + 4 * (int64_t)particle;
    const float *c[3];
    for (int32_t i = 0;; i++) {
        for (int k = 0; k < 3; k++)
            c[k] = rows + 4 * (int64_t)m->row[m->triangle[3 * (int64_t)triangle + k]];
        if (!coordinates_of(c, p, w)) return false;
        int worst = w[0] < w[1] ? (w[0] < w[2] ? 0 : 2) : (w[1] < w[2] ? 1 : 2);
        int32_t next = m->neighbour[3 * (int64_t)triangle + worst];
        if (w[worst] >= -OVER_EDGE || next < 0 || next == last || i == WALK) break;
        last = triangle;
        triangle = next;
    }
    float n[3];
    for (int k = 0; k < 3; k++)
        if (w[k] < -2.0f || m->triangle[3 * (int64_t)triangle + k] == particle) return false; /* it has lost its way */
    if (!normal_of(c, n)) return false;
    float d[3] = {p[0] - c[0][0], p[1] - c[0][1], p[2] - c[0][2]}, height = dot(d, n);
    if (!(height < KEEP * m->edge && height > -DEEPEST * m->edge)) return false;
    clamp_weights(w);
    memcpy(weight, w, sizeof w);
    s->held[particle] = triangle;
    return true;
}

static void follow_holds(sup_meet_state *s, const float *rows)
{
    for (int32_t i = 0; i < s->meet->surface_count; i++)
        if (s->held[i] >= 0 && !sup_meet_walk(s, i, rows)) s->held[i] = -1;
}

static float height_over(const sup_meet_state *s, int32_t particle, const float *const c[3], const float n[3],
                         const float *rows)
{
    const float *p = rows + 4 * (int64_t)s->meet->row[particle];
    float d[3] = {p[0] - c[0][0], p[1] - c[0][1], p[2] - c[0][2]};
    return dot(d, n);
}

/* The holds of this step, each with the height that it asks for: deep ones come out in several steps. */
static void list_holds(sup_meet_state *s, float *rows)
{
    const sup_meet *m = s->meet;
    s->active_count = 0;
    for (int32_t i = 0; i < m->surface_count; i++) {
        if (s->held[i] < 0) continue;
        float *corner[3], n[3];
        corners_of(s, s->held[i], rows, corner);
        const float *c[3] = {corner[0], corner[1], corner[2]};
        if (!normal_of(c, n)) continue;
        s->weight[4 * (int64_t)i + 3] = fminf(GAP, height_over(s, i, c, n, rows) / m->edge + RISE) * m->edge;
        s->active[s->active_count++] = i;
    }
    s->report.pairs = s->active_count;
}

/* What a push along n, `by` long, and friction against it move; `slip` is how the particle moved over the triangle. */
static void push(float *const point[4], const float weight[4], float total, const float n[3], float by,
                 const float slip[3], float friction)
{
    float along = dot(slip, n), side[3], length;
    for (int c = 0; c < 3; c++)
        side[c] = slip[c] - along * n[c];
    length = sqrtf(dot(side, side));
    float brake = length > 0.0f ? fminf(friction * by / length, 1.0f) : 0.0f;
    for (int k = 0; k < 4; k++) {
        float share = weight[k] * point[k][3] / total;
        for (int c = 0; c < 3; c++)
            point[k][c] += share * (by * n[c] - brake * side[c]);
    }
}

/* How the particle moved against the triangle in this step. */
static void slip_of(const sup_meet_state *s, const float *rows, float *const point[4], const float weight[4],
                    float slip[3])
{
    for (int c = 0; c < 3; c++)
        slip[c] = 0.0f;
    for (int k = 0; k < 4; k++) {
        const float *before = s->input.before + (point[k] - rows);
        for (int c = 0; c < 3; c++)
            slip[c] += weight[k] * (point[k][c] - before[c]);
    }
}

/* A push is no velocity: the place where the step began moves along. */
static void take_bounce(const sup_meet_state *s, const float *rows, float *const point[4], const float weight[4],
                        float total, const float n[3])
{
    float slip[3], speed;
    slip_of(s, rows, point, weight, slip);
    speed = dot(slip, n);
    if (!(speed > 0.0f)) return;
    for (int k = 0; k < 4; k++) {
        float *before = s->input.before + (point[k] - rows);
        for (int c = 0; c < 3; c++)
            before[c] += weight[k] * point[k][3] / total * speed * n[c];
    }
}

static void solve_holds(const sup_meet_state *s, float *rows, bool last)
{
    const sup_meet *m = s->meet;
    for (int32_t i = 0; i < s->active_count; i++) {
        int32_t particle = s->active[i];
        const float *w = s->weight + 4 * (int64_t)particle;
        float *point[4] = {rows + 4 * (int64_t)m->row[particle]}, n[3], total = 0.0f, slip[3];
        corners_of(s, s->held[particle], rows, point + 1);
        const float weight[4] = {1.0f, -w[0], -w[1], -w[2]};
        const float *corner[3] = {point[1], point[2], point[3]};
        for (int k = 0; k < 4; k++)
            total += weight[k] * weight[k] * point[k][3];
        if (!(total > 0.0f) || !normal_of(corner, n)) continue;
        float height = height_over(s, particle, corner, n, rows) - w[3];
        if (!(height < 0.0f)) continue;
        slip_of(s, rows, point, weight, slip);
        push(point, weight, total, n, -STIFFNESS * height, slip, s->input.friction);
        if (last) take_bounce(s, rows, point, weight, total, n);
    }
}

/* --- Things in the way --- */

static void find_touches(sup_meet_state *s, const sup_context *context, const float *rows)
{
    const sup_meet *m = s->meet;
    const sup_meet_input *in = &s->input;
    s->touch_count = 0;
    if (in->solids == NULL || in->solid_count == 0) return;
    for (int64_t i = 0; i < m->surface_count; i++)
        for (int c = 0; c < 3; c++)
            s->points[4 * i + c] = rows[4 * (int64_t)m->row[i] + c] * in->size;
    sup_touch_input touch = {.solids = in->solids,
                             .solid_count = in->solid_count,
                             .generation = in->generation,
                             .points = s->points,
                             .stride = 4,
                             .point_count = m->surface_count,
                             .gap = GAP * m->edge * in->size,
                             .keep = KEEP * m->edge * in->size};
    s->touch_count = sup_touch_find(context, &touch, s->touch, s->touches);
}

static void solve_touches(const sup_meet_state *s, float *rows, bool last)
{
    const sup_meet *m = s->meet;
    float scale = 1.0f / s->input.size, gap = GAP * m->edge;
    for (int32_t i = 0; i < s->touch_count; i++) {
        const sup_touch *t = &s->touches[i];
        float *p = rows + 4 * (int64_t)m->row[t->vertex], *before = s->input.before + (p - rows), slip[3],
              height = -gap;
        for (int c = 0; c < 3; c++) {
            height += (p[c] - t->point[c] * scale) * t->normal[c];
            slip[c] = p[c] - before[c] - t->motion[c] * scale;
        }
        if (!(height < 0.0f) || !(p[3] > 0.0f)) continue;
        float by = -height, along = dot(slip, t->normal), side[3];
        for (int c = 0; c < 3; c++)
            side[c] = slip[c] - along * t->normal[c];
        float length = sqrtf(dot(side, side));
        float brake = length > 0.0f ? fminf(s->input.solids[t->solid].friction * by / length, 1.0f) : 0.0f;
        for (int c = 0; c < 3; c++)
            p[c] += by * t->normal[c] - brake * side[c];
        along += by;
        for (int c = 0; last && along > 0.0f && c < 3; c++)
            before[c] += along * t->normal[c];
    }
}

/* --- The step --- */

void sup_meet_begin(const sup_meet *meet, void *state, const sup_meet_input *input)
{
    sup_meet_state *s = state;
    s->meet = meet;
    s->input = *input;
    s->iteration = 0;
    s->report = (sup_meet_report){0};
    if (input->mode == SUP_MEET_OFF) {
        s->plane_count = 0;
        memset(s->held, -1, (size_t)meet->surface_count * sizeof(int32_t));
    } else
        sup_meet_bend(s);
}

void sup_meet_solve(void *state, const sup_context *context, float *rows)
{
    sup_meet_state *s = state;
    if (s->iteration++ == 0) {
        if (s->input.mode != SUP_MEET_OFF) {
            sup_meet_planes_gather(s, rows);
            sup_meet_planes_solve(s, rows);
            follow_holds(s, rows);
            sup_meet_find(s, rows);
        }
        list_holds(s, rows);
        find_touches(s, context, rows);
        s->report.touches = s->touch_count;
    }
    bool last = s->iteration == s->input.iterations;
    if (s->iteration > 1) sup_meet_planes_solve(s, rows);
    solve_holds(s, rows, last);
    solve_touches(s, rows, last);
}
