/* collide_find.c - which surface particles are inside flesh of another part.
 *
 * Based on: [aburumman2016thesis] sections 5.3 (cells) and 5.5 (hashing on demand). The thesis hashes while the flexion
 * of a joint grows past a tolerance, or a limb comes near the body's midline. Here bones that are near each other in the
 * skeleton can meet when the joints between them are bent, all others when the boxes of their flesh overlap; only what is
 * in both boxes is looked at, and nothing while no such pair moves. */
#include "methods/position/collide_work.h"

/* Sum of the bends, radians, on the way from one bone to another from which they can meet: the thesis' angle of flexion
 * is pi less that, 2.6, in its [pi/3, pi]. */
static const float BENT = 0.52f;
/* Change of a joint's bend that asks for new cells, radians. */
static const float CHANGED = 0.005f;
/* Steps from one hashing on demand to the next; SUP_MEET_LONGEST_WAIT where nothing but the flesh moves. */
enum {
    SHORTEST_WAIT = 2, /* and never more often than this: holds walk by themselves in between */
    JOINT_GRAIN = 8
};
/* A particle minds triangles further from it at rest than this times the triangle's longest edge. */
static const float REST_APART = 2.0f;
/* A triangle that looks the same way as the particle is the far side of what it is in. */
static const float SAME_WAY = 0.3f;

typedef struct find_work {
    sup_meet_state *state;
    const float *rows;
} find_work;

static void find_boxes(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const find_work *work = user;
    sup_meet_state *s = work->state;
    const sup_meet *m = s->meet;
    SUP_UNUSED(worker);
    for (int32_t j = begin; j < end; j++) {
        sup_meet_box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
        for (int32_t i = m->box_first[j]; i < m->box_first[j + 1]; i++) {
            const float *p = work->rows + 4 * (int64_t)m->box_row[i];
            for (int c = 0; c < 3; c++) {
                box.low[c] = p[c] < box.low[c] ? p[c] : box.low[c];
                box.high[c] = p[c] > box.high[c] ? p[c] : box.high[c];
            }
        }
        s->box[j] = box;
        s->look[j] = (sup_meet_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    }
}

static bool overlap(const sup_meet_box *a, const sup_meet_box *b, sup_meet_box *both)
{
    for (int c = 0; c < 3; c++) {
        both->low[c] = fmaxf(a->low[c], b->low[c]);
        both->high[c] = fminf(a->high[c], b->high[c]);
        if (!(both->low[c] <= both->high[c])) return false;
    }
    return true;
}

static void widen(sup_meet_box *box, const sup_meet_box *by)
{
    for (int c = 0; c < 3; c++) {
        box->low[c] = fminf(box->low[c], by->low[c]);
        box->high[c] = fmaxf(box->high[c], by->high[c]);
    }
}

/* Whether two bones can meet: `a` above `b` in the skeleton, or neither. */
static bool can_meet(const sup_meet_state *s, int32_t a, int32_t b)
{
    const int32_t *parent = s->meet->parent;
    int32_t pa = parent[a], pb = parent[b];
    if (pb == a) return s->bend[b] > BENT;
    if (pa == b) return s->bend[a] > BENT;
    if (pa >= 0 && pa == pb) return s->bend[a] + s->bend[b] > BENT;
    if (pb >= 0 && parent[pb] == a) return s->bend[b] + s->bend[pb] > BENT;
    if (pa >= 0 && parent[pa] == b) return s->bend[a] + s->bend[pa] > BENT;
    return true;
}

static bool look_everywhere(sup_meet_state *s)
{
    for (int32_t j = 0; j < s->meet->joint_count; j++)
        s->look[j] = s->box[j];
    return true;
}

/* Where to look; false: nowhere. */
static bool find_looks(sup_meet_state *s, bool *moved)
{
    const sup_meet *m = s->meet;
    bool any = false;
    *moved = s->since >= SUP_MEET_LONGEST_WAIT;
    for (int32_t j = 0; j < m->joint_count; j++)
        *moved |= fabsf(s->bend[j] - s->bend_then[j]) > CHANGED;
    for (int32_t a = 0; a < m->joint_count; a++) {
        if (!(s->box[a].low[0] <= s->box[a].high[0])) continue;
        for (int32_t b = a + 1; b < m->joint_count; b++) {
            sup_meet_box both;
            if (!overlap(&s->box[a], &s->box[b], &both) || !can_meet(s, a, b)) continue;
            widen(&s->look[a], &both);
            widen(&s->look[b], &both);
            any = true;
        }
    }
    return any;
}

static bool inside(const sup_meet_box *box, const float *p)
{
    return p[0] >= box->low[0] && p[0] <= box->high[0] && p[1] >= box->low[1] && p[1] <= box->high[1] &&
           p[2] >= box->low[2] && p[2] <= box->high[2];
}

/* The skin above a particle, outwards from its bone. */
static void skin_point(const sup_meet_state *s, int32_t particle, const float *rows, float to[3])
{
    const float *p = rows + 4 * (int64_t)s->meet->row[particle];
    const float *bone = s->input.bone + 4 * (int64_t)s->meet->row[particle];
    float out[3] = {p[0] - bone[0], p[1] - bone[1], p[2] - bone[2]};
    float length = sqrtf(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    float part = length > 0.0f ? s->meet->over[particle] / length : 0.0f;
    for (int c = 0; c < 3; c++)
        to[c] = p[c] + part * out[c];
}

static void fill_cells(sup_meet_state *s, const float *rows)
{
    const sup_meet *m = s->meet;
    sup_cells_empty(&s->cells);
    for (int32_t i = 0; i < m->surface_count; i++) {
        if (m->bone_of[i] < 0 || s->held[i] >= 0) continue;
        float *p = s->points + 4 * (int64_t)i;
        skin_point(s, i, rows, p);
        if (!inside(&s->look[m->bone_of[i]], p)) continue;
        sup_cells_insert(&s->cells, i, p);
        s->report.hashed++;
    }
}

/* Whether a triangle looks away from the particle's own outside, seen from its bone. */
static bool faces(const sup_meet_state *s, int32_t particle, int32_t triangle, const float *rows)
{
    const sup_meet *m = s->meet;
    const float *p = rows + 4 * (int64_t)m->row[particle], *q = s->input.bone + 4 * (int64_t)m->row[particle], *c[3];
    for (int k = 0; k < 3; k++)
        c[k] = rows + 4 * (int64_t)m->row[m->triangle[3 * (int64_t)triangle + k]];
    float u[3], v[3], out[3];
    for (int k = 0; k < 3; k++) {
        u[k] = c[1][k] - c[0][k];
        v[k] = c[2][k] - c[0][k];
        out[k] = p[k] - q[k];
    }
    float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    float dot = n[0] * out[0] + n[1] * out[1] + n[2] * out[2];
    float lengths =
        sqrtf((n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * (out[0] * out[0] + out[1] * out[1] + out[2] * out[2]));
    return dot <= SAME_WAY * lengths;
}

/* Whether a particle in a tet can be held, and by which triangle. */
static bool can_hold(const sup_meet_state *s, int32_t particle, int32_t tet, const float *rows, int32_t *triangle)
{
    float weight[3];
    *triangle = s->meet->exit[tet];
    return sup_meet_apart(s, particle, *triangle, REST_APART) && sup_meet_walk(s, particle, rows, triangle, weight) &&
           sup_meet_apart(s, particle, *triangle, REST_APART) && faces(s, particle, *triangle, rows);
}

/* The box of a tet's corners where others can be; false: there is none. */
static bool tet_box(const sup_meet_state *s, int32_t bone, const float *const corner[4], sup_meet_box *both)
{
    sup_meet_box box;
    memcpy(box.low, corner[0], sizeof box.low);
    memcpy(box.high, corner[0], sizeof box.high);
    for (int k = 1; k < 4; k++)
        for (int c = 0; c < 3; c++) {
            box.low[c] = fminf(box.low[c], corner[k][c]);
            box.high[c] = fmaxf(box.high[c], corner[k][c]);
        }
    return overlap(&box, &s->look[bone], both);
}

/* Particles of other bones in a tet go to `hits`, of which there is room for `room`; more wait for the next time. */
static int32_t test_tet(const sup_meet_state *s, int32_t bone, int32_t tet, const float *rows, sup_meet_hit *hits,
                        int32_t room, int32_t *tested)
{
    const sup_meet *m = s->meet;
    const float *corner[4];
    sup_meet_box both;
    int32_t count = 0, low[3], high[3];
    for (int k = 0; k < 4; k++)
        corner[k] = rows + 4 * (int64_t)m->tet[4 * (int64_t)tet + k];
    if (!tet_box(s, bone, corner, &both)) return 0;
    ++*tested;
    for (int c = 0; c < 3; c++) {
        low[c] = sup_cells_of(&s->cells, both.low[c]);
        high[c] = sup_cells_of(&s->cells, both.high[c]);
        if (high[c] - low[c] > 16) return 0; /* torn apart: not flesh that could hold anything */
    }
    for (int32_t x = low[0]; x <= high[0]; x++)
        for (int32_t y = low[1]; y <= high[1]; y++)
            for (int32_t z = low[2]; z <= high[2]; z++)
                for (int32_t i = sup_cells_first(&s->cells, x, y, z); i >= 0; i = s->cells.next[i]) {
                    float coordinates[4];
                    int32_t triangle;
                    const float *p = s->points + 4 * (int64_t)i;
                    if (m->bone_of[i] == bone || count == room || !inside(&both, p) ||
                        !sup_tet_holds(corner, p, coordinates) || !can_hold(s, i, tet, rows, &triangle))
                        continue;
                    hits[count++] = (sup_meet_hit){i, triangle};
                }
    return count;
}

/* Chunks of tets write to places of their own: what they find does not depend on the threads. */
static void test_chunks(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const find_work *work = user;
    sup_meet_state *s = work->state;
    const sup_meet *m = s->meet;
    SUP_UNUSED(worker);
    for (int32_t chunk = begin; chunk < end; chunk++) {
        int32_t first = chunk * SUP_MEET_CHUNK, last = first + SUP_MEET_CHUNK, count = 0, tested = 0, j = 0;
        if (last > m->tet_count) last = m->tet_count;
        for (int32_t t = first; t < last; t++) {
            while (t >= m->tet_first[j + 1])
                j++;
            if (s->look[j].low[0] <= s->look[j].high[0])
                count += test_tet(s, j, t, work->rows, s->hits + first + count, last - first - count, &tested);
        }
        s->chunk_hits[2 * chunk] = count;
        s->chunk_hits[2 * chunk + 1] = tested;
    }
}

/* The first hit of a particle, by the number of the tet, holds it. */
static void take_hits(sup_meet_state *s, const float *rows)
{
    for (int32_t chunk = 0; chunk < (int32_t)sup_meet_chunks(s->meet); chunk++) {
        s->report.tested += s->chunk_hits[2 * chunk + 1];
        for (int32_t i = 0; i < s->chunk_hits[2 * chunk]; i++) {
            sup_meet_hit hit = s->hits[chunk * SUP_MEET_CHUNK + i];
            if (s->held[hit.particle] < 0 &&
                sup_meet_walk(s, hit.particle, rows, &hit.triangle, s->weight + 4 * (int64_t)hit.particle))
                s->held[hit.particle] = hit.triangle;
        }
    }
}

void sup_meet_find(sup_meet_state *s, const sup_context *context, const float *rows)
{
    const sup_meet *m = s->meet;
    bool moved = true, always = s->input.mode == SUP_MEET_ALWAYS;
    find_work work = {s, rows};
    s->report.hashed = s->report.tested = 0;
    if (s->since < SUP_MEET_LONGEST_WAIT) s->since++;
    if (s->input.calm || (!always && s->since < SHORTEST_WAIT)) return;
    sup_parallel(context, m->joint_count, JOINT_GRAIN, find_boxes, &work);
    bool any = always ? look_everywhere(s) : find_looks(s, &moved);
    if (!any || !moved) return;
    s->since = 0;
    memcpy(s->bend_then, s->bend, (size_t)m->joint_count * sizeof(float));
    fill_cells(s, rows);
    if (s->report.hashed == 0) return;
    sup_parallel(context, (int32_t)sup_meet_chunks(m), 1, test_chunks, &work);
    take_hits(s, rows);
}
