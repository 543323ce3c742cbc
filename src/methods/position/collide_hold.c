/* collide_hold.c - particles held above the triangles they went through.
 *
 * Based on: [aburumman2016thesis] algorithm 6, whose planes are here triangles too. Position based friction and no bounce:
 * what a push out of flesh moved in this step is not velocity.
 *
 * Holds that share a particle that can move make an island and follow each other; islands go to the threads in clusters. No
 * cluster shares a particle with another one, so the bits are those of one thread. */
#include "methods/position/collide_work.h"

/* In mean edges of the surface: height at which a hold ends, the deepest that one begins or lasts, and the furthest that
 * one step lifts. */
static const float KEEP = 0.35f, KEEP_STILL = 0.7f, DEEPEST = 3.0f, RISE = 0.15f;
/* A hold goes to the next triangle when the particle is this far, in barycentric coordinates, over the edge; further while
 * the skeleton stands, or resting flesh would go to and fro between two triangles for ever. */
static const float OVER_EDGE = 0.1f, OVER_EDGE_STILL = 0.5f;
/* A hold ends on flesh that is nearer than this at rest, in longest edges of the triangle: it would push for ever. */
static const float STILL_APART = 1.0f;
/* Part of what is left that one iteration takes away. */
static const float STIFFNESS = 0.93f;
enum { WALK = 6, FOLLOW_GRAIN = 256, CLUSTER = 32 };

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

/* --- Walking --- */

static float distance(const float *a, const float *b)
{
    float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

bool sup_meet_apart(const sup_meet_state *s, int32_t particle, int32_t triangle, float edges)
{
    const sup_meet *m = s->meet;
    const float *p = s->input.rest + 4 * (int64_t)m->row[particle], *c[3];
    float longest = 0.0f, nearest = INFINITY;
    for (int k = 0; k < 3; k++)
        c[k] = s->input.rest + 4 * (int64_t)m->row[m->triangle[3 * (int64_t)triangle + k]];
    for (int k = 0; k < 3; k++) {
        longest = fmaxf(longest, distance(c[k], c[(k + 1) % 3]));
        nearest = fminf(nearest, distance(p, c[k]));
    }
    return nearest > edges * longest;
}

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

/* Room that the skin above a particle and above a place of a triangle takes. */
static float skin_between(const sup_meet *m, int32_t particle, int32_t triangle, const float weight[3])
{
    const int32_t *t = m->triangle + 3 * (int64_t)triangle;
    return m->over[particle] + weight[0] * m->over[t[0]] + weight[1] * m->over[t[1]] + weight[2] * m->over[t[2]];
}

bool sup_meet_walk(const sup_meet_state *s, int32_t particle, const float *rows, int32_t *triangle, float weight[3])
{
    const sup_meet *m = s->meet;
    const float *p = rows + 4 * (int64_t)m->row[particle], over = s->input.still ? OVER_EDGE_STILL : OVER_EDGE;
    int32_t at = *triangle, last = -1;
    float w[3];
    const float *c[3];
    for (int32_t i = 0;; i++) {
        for (int k = 0; k < 3; k++)
            c[k] = rows + 4 * (int64_t)m->row[m->triangle[3 * (int64_t)at + k]];
        if (!coordinates_of(c, p, w)) return false;
        int worst = w[0] < w[1] ? (w[0] < w[2] ? 0 : 2) : (w[1] < w[2] ? 1 : 2);
        int32_t next = m->neighbour[3 * (int64_t)at + worst];
        if (w[worst] >= -over || next < 0 || next == last || i == WALK) break;
        last = at;
        at = next;
    }
    float n[3];
    for (int k = 0; k < 3; k++)
        if (w[k] < -2.0f || m->triangle[3 * (int64_t)at + k] == particle) return false; /* it has lost its way */
    if (!normal_of(c, n)) return false;
    float d[3] = {p[0] - c[0][0], p[1] - c[0][1], p[2] - c[0][2]}, height = dot(d, n);
    clamp_weights(w);
    float keep = (s->input.still ? KEEP_STILL : KEEP) * m->edge + skin_between(m, particle, at, w);
    if (!(height < keep && height > -DEEPEST * m->edge)) return false;
    memcpy(weight, w, sizeof w);
    *triangle = at;
    return true;
}

/* A piece of work on particles, holds or clusters. */
typedef struct hold_work {
    sup_meet_state *state;
    float *rows;
} hold_work;

static void follow_some(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const hold_work *work = user;
    sup_meet_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        if (s->held[i] >= 0 && (!sup_meet_walk(s, i, work->rows, &s->held[i], s->weight + 4 * (int64_t)i) ||
                                !sup_meet_apart(s, i, s->held[i], STILL_APART)))
            s->held[i] = -1;
}

void sup_meet_follow(sup_meet_state *s, const sup_context *context, float *rows)
{
    hold_work work = {s, rows};
    sup_parallel(context, s->meet->surface_count, FOLLOW_GRAIN, follow_some, &work);
}

/* --- Islands --- */

static int32_t root_of(int32_t *link, int32_t i)
{
    while (link[i] != i) {
        link[i] = link[link[i]];
        i = link[i];
    }
    return i;
}

/* The lower of two roots stays: the same tree whatever the order. */
static void join(int32_t *link, int32_t a, int32_t b)
{
    int32_t ra = root_of(link, a), rb = root_of(link, b);
    if (ra < rb)
        link[rb] = ra;
    else
        link[ra] = rb;
}

/* Links the particles of every hold that can move. */
static void link_holds(sup_meet_state *s, const float *rows)
{
    const sup_meet *m = s->meet;
    for (int32_t i = 0; i < s->active_count; i++) {
        const int32_t *t = m->triangle + 3 * (int64_t)s->held[s->active[i]];
        s->link[s->active[i]] = s->active[i];
        for (int k = 0; k < 3; k++)
            s->link[t[k]] = t[k];
    }
    for (int32_t i = 0; i < s->active_count; i++) {
        const int32_t *t = m->triangle + 3 * (int64_t)s->held[s->active[i]];
        int32_t first = rows[4 * (int64_t)m->row[s->active[i]] + 3] > 0.0f ? s->active[i] : -1;
        for (int k = 0; k < 3; k++) {
            if (!(rows[4 * (int64_t)m->row[t[k]] + 3] > 0.0f)) continue;
            if (first >= 0) join(s->link, first, t[k]);
            first = t[k];
        }
        s->island[i] = first; /* any of its particles that move, -1 for none */
    }
}

/* Holds by island, islands by their first hold, in clusters of at least CLUSTER. */
static void cluster_holds(sup_meet_state *s, const float *rows)
{
    link_holds(s, rows);
    int32_t islands = 0, *size = s->cluster_first, *id = s->island_of;
    for (int32_t i = 0; i < s->active_count; i++)
        if (s->island[i] >= 0) id[root_of(s->link, s->island[i])] = -1;
    for (int32_t i = 0; i < s->active_count; i++) { /* numbers, and how many holds each has */
        if (s->island[i] < 0) continue;
        int32_t root = root_of(s->link, s->island[i]);
        if (id[root] < 0) {
            size[islands] = 0;
            id[root] = islands++;
        }
        s->island[i] = id[root];
        size[s->island[i]]++;
    }
    int32_t sum = 0;
    for (int32_t k = 0; k < islands; k++) {
        id[k] = sum; /* roots are not needed any more */
        sum += size[k];
    }
    for (int32_t i = 0; i < s->active_count; i++)
        if (s->island[i] >= 0) s->order[id[s->island[i]]++] = s->active[i];
    s->cluster_count = 0;
    for (int32_t k = 0, begin = 0; k < islands; k++) { /* id[k] is now where island k ends */
        if (id[k] - begin < CLUSTER && k < islands - 1) continue;
        s->cluster_first[s->cluster_count++] = begin; /* never beyond what was read: a cluster has an island or more */
        begin = id[k];
    }
    s->cluster_first[s->cluster_count] = sum;
}

/* --- Pushing --- */

static float height_over(const sup_meet_state *s, int32_t particle, const float *const c[3], const float n[3],
                         const float *rows)
{
    const float *p = rows + 4 * (int64_t)s->meet->row[particle];
    float d[3] = {p[0] - c[0][0], p[1] - c[0][1], p[2] - c[0][2]};
    return dot(d, n);
}

/* Each hold has the height that it asks for in its fourth weight: deep ones come out in several steps. */
void sup_meet_list(sup_meet_state *s, float *rows)
{
    const sup_meet *m = s->meet;
    s->active_count = 0;
    for (int32_t i = 0; i < m->surface_count; i++) {
        if (s->held[i] < 0) continue;
        float *corner[3], n[3];
        corners_of(s, s->held[i], rows, corner);
        const float *c[3] = {corner[0], corner[1], corner[2]};
        if (!normal_of(c, n)) continue;
        float *w = s->weight + 4 * (int64_t)i, asked = SUP_MEET_GAP * m->edge + skin_between(m, i, s->held[i], w);
        w[3] = fminf(asked, height_over(s, i, c, n, rows) + RISE * m->edge);
        s->active[s->active_count++] = i;
    }
    s->report.pairs = s->active_count;
    cluster_holds(s, rows);
}

/* Part of a push that a point goes: at most all of it, or the one corner that can move, with hardly any weight, would be
 * thrown far away. */
static float share_of(float weight, float mass, float total)
{
    return fmaxf(-1.0f, fminf(1.0f, weight * mass / total));
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
        if (!(point[k][3] > 0.0f)) continue; /* nobody's: other threads read it */
        float share = share_of(weight[k], point[k][3], total);
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
        if (!(point[k][3] > 0.0f)) continue;
        float *before = s->input.before + (point[k] - rows);
        for (int c = 0; c < 3; c++)
            before[c] += share_of(weight[k], point[k][3], total) * speed * n[c];
    }
}

static void solve_hold(const sup_meet_state *s, float *rows, int32_t particle)
{
    const sup_meet *m = s->meet;
    const float *w = s->weight + 4 * (int64_t)particle;
    float *point[4] = {rows + 4 * (int64_t)m->row[particle]}, n[3], total = 0.0f, slip[3];
    corners_of(s, s->held[particle], rows, point + 1);
    const float weight[4] = {1.0f, -w[0], -w[1], -w[2]};
    const float *corner[3] = {point[1], point[2], point[3]};
    for (int k = 0; k < 4; k++)
        total += weight[k] * weight[k] * point[k][3];
    if (!(total > 0.0f) || !normal_of(corner, n)) return;
    float height = height_over(s, particle, corner, n, rows) - w[3];
    s->pushed[particle] = height < 0.0f;
    if (!(height < 0.0f)) return;
    slip_of(s, rows, point, weight, slip);
    push(point, weight, total, n, -STIFFNESS * height, slip, s->input.friction);
}

static void still_hold(const sup_meet_state *s, float *rows, int32_t particle)
{
    const float *w = s->weight + 4 * (int64_t)particle;
    const float weight[4] = {1.0f, -w[0], -w[1], -w[2]};
    float *point[4] = {rows + 4 * (int64_t)s->meet->row[particle]}, n[3], total = 0.0f;
    corners_of(s, s->held[particle], rows, point + 1);
    const float *corner[3] = {point[1], point[2], point[3]};
    for (int k = 0; k < 4; k++)
        total += weight[k] * weight[k] * point[k][3];
    if (total > 0.0f && normal_of(corner, n)) take_bounce(s, rows, point, weight, total, n);
}

static void solve_clusters(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const hold_work *work = user;
    const sup_meet_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = s->cluster_first[begin]; i < s->cluster_first[end]; i++)
        solve_hold(s, work->rows, s->order[i]);
}

static void still_clusters(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const hold_work *work = user;
    const sup_meet_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = s->cluster_first[begin]; i < s->cluster_first[end]; i++)
        if (s->pushed[s->order[i]]) still_hold(s, work->rows, s->order[i]);
}

void sup_meet_solve_holds(sup_meet_state *s, const sup_context *context, float *rows)
{
    hold_work work = {s, rows};
    sup_parallel(context, s->cluster_count, 1, solve_clusters, &work);
}

void sup_meet_still_holds(sup_meet_state *s, const sup_context *context, float *rows)
{
    hold_work work = {s, rows};
    sup_parallel(context, s->cluster_count, 1, still_clusters, &work);
}
