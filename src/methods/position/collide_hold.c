/* collide_hold.c - self-contacts: particles kept above the triangles that they penetrated.
 *
 * Based on: [aburumman2016thesis] algorithm 6, with triangles as planes. Position based friction; no restitution: a
 * correction by a contact does not become velocity.
 *
 * Contacts that share a movable particle form an island and are solved sequentially; islands are distributed to threads
 * in clusters. No two clusters share a particle, so the result does not depend on the number of threads. */
#include "methods/position/collide_work.h"

/* In mean edges of the surface: height at which a contact is released, maximum depth of a contact, and maximum
 * correction per step. */
static const float RELEASE_HEIGHT = 0.35f, RELEASE_HEIGHT_STILL = 0.7f, MAX_DEPTH = 3.0f, MAX_RISE = 0.15f;
/* A contact moves to the next triangle when the particle is this far beyond the edge, in barycentric coordinates;
 * further while the skeleton does not move, or resting contacts would alternate between two triangles. */
static const float EDGE_TOLERANCE = 0.1f, EDGE_TOLERANCE_STILL = 0.5f;
/* A contact is released when the particle was nearer to the triangle at rest, in longest edges of the triangle: it
 * would never separate. */
static const float RELEASE_SEPARATION = 1.0f;
/* Fraction of the penetration that one iteration corrects. */
static const float STIFFNESS = 0.93f;
enum { WALK_MAX = 6, FOLLOW_GRAIN = 256, CLUSTER = 32 };

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Unit normal of a triangle; false when degenerate. */
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

static void corners_of(const sup_collide_state *s, int32_t triangle, float *positions, float *c[3])
{
    const sup_collide *m = s->collide;
    for (int k = 0; k < 3; k++)
        c[k] = positions + 4 * (int64_t)m->slot[m->triangle[3 * (int64_t)triangle + k]];
}

/* --- Walking --- */

static float distance(const float *a, const float *b)
{
    float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

bool sup_collide_separated(const sup_collide_state *s, int32_t particle, int32_t triangle, float edges)
{
    const sup_collide *m = s->collide;
    const float *p = s->input.rest + 4 * (int64_t)m->slot[particle], *c[3];
    float longest = 0.0f, nearest = INFINITY;
    for (int k = 0; k < 3; k++)
        c[k] = s->input.rest + 4 * (int64_t)m->slot[m->triangle[3 * (int64_t)triangle + k]];
    for (int k = 0; k < 3; k++) {
        longest = fmaxf(longest, distance(c[k], c[(k + 1) % 3]));
        nearest = fminf(nearest, distance(p, c[k]));
    }
    return nearest > edges * longest;
}

/* Clamps weights to be non-negative with sum 1. */
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

/* Distance that the skin above a particle and above a point of a triangle needs. */
static float skin_thickness(const sup_collide *m, int32_t particle, int32_t triangle, const float weight[3])
{
    const int32_t *t = m->triangle + 3 * (int64_t)triangle;
    return m->skin_height[particle] + weight[0] * m->skin_height[t[0]] + weight[1] * m->skin_height[t[1]] +
           weight[2] * m->skin_height[t[2]];
}

bool sup_collide_walk(const sup_collide_state *s, int32_t particle, const float *positions, int32_t *triangle,
                      float weight[3])
{
    const sup_collide *m = s->collide;
    const float *p = positions + 4 * (int64_t)m->slot[particle],
                skin_height = s->input.still ? EDGE_TOLERANCE_STILL : EDGE_TOLERANCE;
    int32_t at = *triangle, last = -1;
    float w[3];
    const float *c[3];
    for (int32_t i = 0;; i++) {
        for (int k = 0; k < 3; k++)
            c[k] = positions + 4 * (int64_t)m->slot[m->triangle[3 * (int64_t)at + k]];
        if (!coordinates_of(c, p, w)) return false;
        int worst = w[0] < w[1] ? (w[0] < w[2] ? 0 : 2) : (w[1] < w[2] ? 1 : 2);
        int32_t next = m->neighbour[3 * (int64_t)at + worst];
        if (w[worst] >= -skin_height || next < 0 || next == last || i == WALK_MAX) break;
        last = at;
        at = next;
    }
    float n[3];
    for (int k = 0; k < 3; k++)
        if (w[k] < -2.0f || m->triangle[3 * (int64_t)at + k] == particle) return false; /* the walk failed */
    if (!normal_of(c, n)) return false;
    float d[3] = {p[0] - c[0][0], p[1] - c[0][1], p[2] - c[0][2]}, height = dot(d, n);
    clamp_weights(w);
    float release =
        (s->input.still ? RELEASE_HEIGHT_STILL : RELEASE_HEIGHT) * m->edge + skin_thickness(m, particle, at, w);
    if (!(height < release && height > -MAX_DEPTH * m->edge)) return false;
    memcpy(weight, w, sizeof w);
    *triangle = at;
    return true;
}

typedef struct contact_work {
    sup_collide_state *state;
    float *positions;
} contact_work;

static void update_some(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const contact_work *work = user;
    sup_collide_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        if (s->contact[i] >= 0 &&
            (!sup_collide_walk(s, i, work->positions, &s->contact[i], s->weight + 4 * (int64_t)i) ||
             !sup_collide_separated(s, i, s->contact[i], RELEASE_SEPARATION)))
            s->contact[i] = -1;
}

void sup_collide_update_contacts(sup_collide_state *s, const sup_context *context, float *positions)
{
    contact_work work = {s, positions};
    sup_parallel(context, s->collide->surface_count, FOLLOW_GRAIN, update_some, &work);
}

/* --- Islands --- */

static int32_t root_of(int32_t *union_parent, int32_t i)
{
    while (union_parent[i] != i) {
        union_parent[i] = union_parent[union_parent[i]];
        i = union_parent[i];
    }
    return i;
}

/* The lower of two roots wins: the same tree for any order. */
static void join(int32_t *union_parent, int32_t a, int32_t b)
{
    int32_t ra = root_of(union_parent, a), rb = root_of(union_parent, b);
    if (ra < rb)
        union_parent[rb] = ra;
    else
        union_parent[ra] = rb;
}

/* Joins the movable particles of every contact. */
static void link_contacts(sup_collide_state *s, const float *positions)
{
    const sup_collide *m = s->collide;
    for (int32_t i = 0; i < s->active_count; i++) {
        const int32_t *t = m->triangle + 3 * (int64_t)s->contact[s->active[i]];
        s->union_parent[s->active[i]] = s->active[i];
        for (int k = 0; k < 3; k++)
            s->union_parent[t[k]] = t[k];
    }
    for (int32_t i = 0; i < s->active_count; i++) {
        const int32_t *t = m->triangle + 3 * (int64_t)s->contact[s->active[i]];
        int32_t first = positions[4 * (int64_t)m->slot[s->active[i]] + 3] > 0.0f ? s->active[i] : -1;
        for (int k = 0; k < 3; k++) {
            if (!(positions[4 * (int64_t)m->slot[t[k]] + 3] > 0.0f)) continue;
            if (first >= 0) join(s->union_parent, first, t[k]);
            first = t[k];
        }
        s->island[i] = first; /* any movable particle of the contact, -1 for none */
    }
}

/* Sorts contacts by island, islands by their first contact, in clusters of at least CLUSTER contacts. */
static void cluster_contacts(sup_collide_state *s, const float *positions)
{
    link_contacts(s, positions);
    int32_t islands = 0, *size = s->cluster_first, *id = s->island_of;
    for (int32_t i = 0; i < s->active_count; i++)
        if (s->island[i] >= 0) id[root_of(s->union_parent, s->island[i])] = -1;
    for (int32_t i = 0; i < s->active_count; i++) { /* number the islands and count their contacts */
        if (s->island[i] < 0) continue;
        int32_t root = root_of(s->union_parent, s->island[i]);
        if (id[root] < 0) {
            size[islands] = 0;
            id[root] = islands++;
        }
        s->island[i] = id[root];
        size[s->island[i]]++;
    }
    int32_t sum = 0;
    for (int32_t k = 0; k < islands; k++) {
        id[k] = sum; /* reuses the memory of the roots */
        sum += size[k];
    }
    for (int32_t i = 0; i < s->active_count; i++)
        if (s->island[i] >= 0) s->order[id[s->island[i]]++] = s->active[i];
    s->cluster_count = 0;
    for (int32_t k = 0, begin = 0; k < islands; k++) { /* id[k] is now the end of island k */
        if (id[k] - begin < CLUSTER && k < islands - 1) continue;
        s->cluster_first[s->cluster_count++] = begin; /* writes never pass reads: a cluster has at least one island */
        begin = id[k];
    }
    s->cluster_first[s->cluster_count] = sum;
}

/* --- Pushing --- */

static float height_over(const sup_collide_state *s, int32_t particle, const float *const c[3], const float n[3],
                         const float *positions)
{
    const float *p = positions + 4 * (int64_t)s->collide->slot[particle];
    float d[3] = {p[0] - c[0][0], p[1] - c[0][1], p[2] - c[0][2]};
    return dot(d, n);
}

/* The fourth weight of a contact is its target height: deep contacts are resolved over several steps. */
void sup_collide_list_contacts(sup_collide_state *s, float *positions)
{
    const sup_collide *m = s->collide;
    s->active_count = 0;
    for (int32_t i = 0; i < m->surface_count; i++) {
        if (s->contact[i] < 0) continue;
        float *corner[3], n[3];
        corners_of(s, s->contact[i], positions, corner);
        const float *c[3] = {corner[0], corner[1], corner[2]};
        if (!normal_of(c, n)) continue;
        float *w = s->weight + 4 * (int64_t)i,
              asked = SUP_COLLIDE_GAP * m->edge + skin_thickness(m, i, s->contact[i], w);
        w[3] = fminf(asked, height_over(s, i, c, n, positions) + MAX_RISE * m->edge);
        s->active[s->active_count++] = i;
    }
    s->report.pairs = s->active_count;
    cluster_contacts(s, positions);
}

/* Fraction of a push for one point. Clamped: a single movable corner with a tiny weight would get a huge correction. */
static float clamped_fraction(float weight, float mass, float total)
{
    return fmaxf(-1.0f, fminf(1.0f, weight * mass / total));
}

/* Applies a push of length `by` along n, and friction; `slip` is the motion of the particle relative to the
 * triangle. */
static void apply_push(float *const point[4], const float weight[4], float total, const float n[3], float by,
                       const float slip[3], float friction)
{
    float along = dot(slip, n), side[3], length;
    for (int c = 0; c < 3; c++)
        side[c] = slip[c] - along * n[c];
    length = sqrtf(dot(side, side));
    float friction_scale = length > 0.0f ? fminf(friction * by / length, 1.0f) : 0.0f;
    for (int k = 0; k < 4; k++) {
        if (!(point[k][3] > 0.0f)) continue; /* not in the island: other threads may read it */
        float fraction = clamped_fraction(weight[k], point[k][3], total);
        for (int c = 0; c < 3; c++)
            point[k][c] += fraction * (by * n[c] - friction_scale * side[c]);
    }
}

/* Motion of the particle relative to the triangle in this step. */
static void slip_of(const sup_collide_state *s, const float *positions, float *const point[4], const float weight[4],
                    float slip[3])
{
    for (int c = 0; c < 3; c++)
        slip[c] = 0.0f;
    for (int k = 0; k < 4; k++) {
        const float *previous = s->input.previous + (point[k] - positions);
        for (int c = 0; c < 3; c++)
            slip[c] += weight[k] * (point[k][c] - previous[c]);
    }
}

/* Corrections do not become velocity: the start position of the step moves along. */
static void remove_rebound(const sup_collide_state *s, const float *positions, float *const point[4],
                           const float weight[4], float total, const float n[3])
{
    float slip[3], speed;
    slip_of(s, positions, point, weight, slip);
    speed = dot(slip, n);
    if (!(speed > 0.0f)) return;
    for (int k = 0; k < 4; k++) {
        if (!(point[k][3] > 0.0f)) continue;
        float *previous = s->input.previous + (point[k] - positions);
        for (int c = 0; c < 3; c++)
            previous[c] += clamped_fraction(weight[k], point[k][3], total) * speed * n[c];
    }
}

static void solve_contact(const sup_collide_state *s, float *positions, int32_t particle)
{
    const sup_collide *m = s->collide;
    const float *w = s->weight + 4 * (int64_t)particle;
    float *point[4] = {positions + 4 * (int64_t)m->slot[particle]}, n[3], total = 0.0f, slip[3];
    corners_of(s, s->contact[particle], positions, point + 1);
    const float weight[4] = {1.0f, -w[0], -w[1], -w[2]};
    const float *corner[3] = {point[1], point[2], point[3]};
    for (int k = 0; k < 4; k++)
        total += weight[k] * weight[k] * point[k][3];
    if (!(total > 0.0f) || !normal_of(corner, n)) return;
    float height = height_over(s, particle, corner, n, positions) - w[3];
    s->pushed[particle] = height < 0.0f;
    if (!(height < 0.0f)) return;
    slip_of(s, positions, point, weight, slip);
    apply_push(point, weight, total, n, -STIFFNESS * height, slip, s->input.friction);
}

static void stop_contact(const sup_collide_state *s, float *positions, int32_t particle)
{
    const float *w = s->weight + 4 * (int64_t)particle;
    const float weight[4] = {1.0f, -w[0], -w[1], -w[2]};
    float *point[4] = {positions + 4 * (int64_t)s->collide->slot[particle]}, n[3], total = 0.0f;
    corners_of(s, s->contact[particle], positions, point + 1);
    const float *corner[3] = {point[1], point[2], point[3]};
    for (int k = 0; k < 4; k++)
        total += weight[k] * weight[k] * point[k][3];
    if (total > 0.0f && normal_of(corner, n)) remove_rebound(s, positions, point, weight, total, n);
}

static void solve_clusters(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const contact_work *work = user;
    const sup_collide_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = s->cluster_first[begin]; i < s->cluster_first[end]; i++)
        solve_contact(s, work->positions, s->order[i]);
}

static void stop_clusters(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const contact_work *work = user;
    const sup_collide_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = s->cluster_first[begin]; i < s->cluster_first[end]; i++)
        if (s->pushed[s->order[i]]) stop_contact(s, work->positions, s->order[i]);
}

void sup_collide_solve_contacts(sup_collide_state *s, const sup_context *context, float *positions)
{
    contact_work work = {s, positions};
    sup_parallel(context, s->cluster_count, 1, solve_clusters, &work);
}

void sup_collide_stop_contacts(sup_collide_state *s, const sup_context *context, float *positions)
{
    contact_work work = {s, positions};
    sup_parallel(context, s->cluster_count, 1, stop_clusters, &work);
}
