/* collide_find.c - detection of surface particles inside the tissue of another bone.
 *
 * Based on: [aburumman2016thesis] sections 5.3 (spatial hashing) and 5.5 (hashing on demand). The thesis hashes while
 * the flexion of a joint exceeds a tolerance, or a limb is near the midline of the body. Here bones that are close in
 * the skeleton can collide when the joints between them are bent, all others when the boxes of their tissue overlap.
 * Only particles in both boxes are tested, and none while no such pair moves. */
#include "methods/position/collide_work.h"

/* Sum of the bends, radians, between two bones from which they can collide: pi minus the angle of flexion of the
 * thesis, 2.6, which is in its range [pi/3, pi]. */
static const float BENT = 0.52f;
/* Change of the bend of a joint that triggers a new detection, radians. */
static const float CHANGED = 0.005f;
/* Steps between detections on demand; SUP_COLLIDE_MAX_INTERVAL while the joints do not move. */
enum {
    MIN_INTERVAL = 2, /* minimum: contacts walk over the surface in between */
    JOINT_GRAIN = 8
};
/* Minimum distance at rest between particle and triangle, in longest edges of the triangle. */
static const float REST_SEPARATION = 2.0f;
/* A triangle whose normal is closer to that of the particle (cosine) is on the far side of the tissue. */
static const float SAME_DIRECTION = 0.3f;

typedef struct find_work {
    sup_collide_state *state;
    const float *positions;
} find_work;

static void find_boxes(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const find_work *work = user;
    sup_collide_state *s = work->state;
    const sup_collide *m = s->collide;
    SUP_UNUSED(worker);
    for (int32_t j = begin; j < end; j++) {
        sup_collide_box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
        for (int32_t i = m->box_first[j]; i < m->box_first[j + 1]; i++) {
            const float *p = work->positions + 4 * (int64_t)m->box_slot[i];
            for (int c = 0; c < 3; c++) {
                box.low[c] = p[c] < box.low[c] ? p[c] : box.low[c];
                box.high[c] = p[c] > box.high[c] ? p[c] : box.high[c];
            }
        }
        s->box[j] = box;
        s->search[j] = (sup_collide_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    }
}

static bool overlap(const sup_collide_box *a, const sup_collide_box *b, sup_collide_box *both)
{
    for (int c = 0; c < 3; c++) {
        both->low[c] = fmaxf(a->low[c], b->low[c]);
        both->high[c] = fminf(a->high[c], b->high[c]);
        if (!(both->low[c] <= both->high[c])) return false;
    }
    return true;
}

static void extend_box(sup_collide_box *box, const sup_collide_box *by)
{
    for (int c = 0; c < 3; c++) {
        box->low[c] = fminf(box->low[c], by->low[c]);
        box->high[c] = fmaxf(box->high[c], by->high[c]);
    }
}

/* Whether two bones can collide. */
static bool can_collide(const sup_collide_state *s, int32_t a, int32_t b)
{
    const int32_t *parent = s->collide->parent;
    int32_t pa = parent[a], pb = parent[b];
    if (pb == a) return s->bend[b] > BENT;
    if (pa == b) return s->bend[a] > BENT;
    if (pa >= 0 && pa == pb) return s->bend[a] + s->bend[b] > BENT;
    if (pb >= 0 && parent[pb] == a) return s->bend[b] + s->bend[pb] > BENT;
    if (pa >= 0 && parent[pa] == b) return s->bend[a] + s->bend[pa] > BENT;
    return true;
}

static bool search_everywhere(sup_collide_state *s)
{
    for (int32_t j = 0; j < s->collide->joint_count; j++)
        s->search[j] = s->box[j];
    return true;
}

/* Finds the boxes to search; false when there are none. */
static bool find_search_boxes(sup_collide_state *s, bool *moved)
{
    const sup_collide *m = s->collide;
    bool any = false;
    *moved = s->since >= SUP_COLLIDE_MAX_INTERVAL;
    for (int32_t j = 0; j < m->joint_count; j++)
        *moved |= fabsf(s->bend[j] - s->bend_previous[j]) > CHANGED;
    for (int32_t a = 0; a < m->joint_count; a++) {
        if (!(s->box[a].low[0] <= s->box[a].high[0])) continue;
        for (int32_t b = a + 1; b < m->joint_count; b++) {
            sup_collide_box both;
            if (!overlap(&s->box[a], &s->box[b], &both) || !can_collide(s, a, b)) continue;
            extend_box(&s->search[a], &both);
            extend_box(&s->search[b], &both);
            any = true;
        }
    }
    return any;
}

static bool inside(const sup_collide_box *box, const float *p)
{
    return p[0] >= box->low[0] && p[0] <= box->high[0] && p[1] >= box->low[1] && p[1] <= box->high[1] &&
           p[2] >= box->low[2] && p[2] <= box->high[2];
}

/* The skin point above a particle, in the direction away from its bone. */
static void skin_point(const sup_collide_state *s, int32_t particle, const float *positions, float to[3])
{
    const float *p = positions + 4 * (int64_t)s->collide->slot[particle];
    const float *bone = s->input.bone + 4 * (int64_t)s->collide->slot[particle];
    float out[3] = {p[0] - bone[0], p[1] - bone[1], p[2] - bone[2]};
    float length = sqrtf(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    float scale = length > 0.0f ? s->collide->skin_height[particle] / length : 0.0f;
    for (int c = 0; c < 3; c++)
        to[c] = p[c] + scale * out[c];
}

static void fill_hash(sup_collide_state *s, const float *positions)
{
    const sup_collide *m = s->collide;
    sup_spatial_hash_clear(&s->hash);
    for (int32_t i = 0; i < m->surface_count; i++) {
        if (m->bone_of[i] < 0 || s->contact[i] >= 0) continue;
        float *p = s->points + 4 * (int64_t)i;
        skin_point(s, i, positions, p);
        if (!inside(&s->search[m->bone_of[i]], p)) continue;
        sup_spatial_hash_insert(&s->hash, i, p);
        s->report.hashed++;
    }
}

/* Whether a triangle faces away from the outward direction of the particle, seen from its bone. */
static bool faces(const sup_collide_state *s, int32_t particle, int32_t triangle, const float *positions)
{
    const sup_collide *m = s->collide;
    const float *p = positions + 4 * (int64_t)m->slot[particle], *q = s->input.bone + 4 * (int64_t)m->slot[particle],
                *c[3];
    for (int k = 0; k < 3; k++)
        c[k] = positions + 4 * (int64_t)m->slot[m->triangle[3 * (int64_t)triangle + k]];
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
    return dot <= SAME_DIRECTION * lengths;
}

/* Whether a particle in a tet can get a contact, and with which triangle. */
static bool can_contact(const sup_collide_state *s, int32_t particle, int32_t tet, const float *positions,
                        int32_t *triangle)
{
    float weight[3];
    *triangle = s->collide->exit_triangle[tet];
    return sup_collide_separated(s, particle, *triangle, REST_SEPARATION) &&
           sup_collide_walk(s, particle, positions, triangle, weight) &&
           sup_collide_separated(s, particle, *triangle, REST_SEPARATION) && faces(s, particle, *triangle, positions);
}

/* Intersection of the bounding box of a tet with the search box of its bone; false when empty. */
static bool tet_box(const sup_collide_state *s, int32_t bone, const float *const corner[4], sup_collide_box *both)
{
    sup_collide_box box;
    memcpy(box.low, corner[0], sizeof box.low);
    memcpy(box.high, corner[0], sizeof box.high);
    for (int k = 1; k < 4; k++)
        for (int c = 0; c < 3; c++) {
            box.low[c] = fminf(box.low[c], corner[k][c]);
            box.high[c] = fmaxf(box.high[c], corner[k][c]);
        }
    return overlap(&box, &s->search[bone], both);
}

/* Appends particles of other bones in a tet to `hits`, at most `capacity`; the next detection finds the others. */
static int32_t test_tet(const sup_collide_state *s, int32_t bone, int32_t tet, const float *positions,
                        sup_collide_hit *hits, int32_t capacity, int32_t *tested)
{
    const sup_collide *m = s->collide;
    const float *corner[4];
    sup_collide_box both;
    int32_t count = 0, low[3], high[3];
    for (int k = 0; k < 4; k++)
        corner[k] = positions + 4 * (int64_t)m->tet[4 * (int64_t)tet + k];
    if (!tet_box(s, bone, corner, &both)) return 0;
    ++*tested;
    for (int c = 0; c < 3; c++) {
        low[c] = sup_spatial_hash_cell(&s->hash, both.low[c]);
        high[c] = sup_spatial_hash_cell(&s->hash, both.high[c]);
        if (high[c] - low[c] > 16) return 0; /* an extremely stretched tet: ignored */
    }
    for (int32_t x = low[0]; x <= high[0]; x++)
        for (int32_t y = low[1]; y <= high[1]; y++)
            for (int32_t z = low[2]; z <= high[2]; z++)
                for (int32_t i = sup_spatial_hash_first(&s->hash, x, y, z); i >= 0; i = s->hash.next[i]) {
                    float coordinates[4];
                    int32_t triangle;
                    const float *p = s->points + 4 * (int64_t)i;
                    if (m->bone_of[i] == bone || count == capacity || !inside(&both, p) ||
                        !sup_tet_contains(corner, p, coordinates) || !can_contact(s, i, tet, positions, &triangle))
                        continue;
                    hits[count++] = (sup_collide_hit){i, triangle};
                }
    return count;
}

/* Each chunk of tets writes to its own range: the result does not depend on the number of threads. */
static void test_chunks(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const find_work *work = user;
    sup_collide_state *s = work->state;
    const sup_collide *m = s->collide;
    SUP_UNUSED(worker);
    for (int32_t chunk = begin; chunk < end; chunk++) {
        int32_t first = chunk * SUP_COLLIDE_CHUNK, last = first + SUP_COLLIDE_CHUNK, count = 0, tested = 0, j = 0;
        if (last > m->tet_count) last = m->tet_count;
        for (int32_t t = first; t < last; t++) {
            while (t >= m->tet_first[j + 1])
                j++;
            if (s->search[j].low[0] <= s->search[j].high[0])
                count += test_tet(s, j, t, work->positions, s->hits + first + count, last - first - count, &tested);
        }
        s->chunk_hits[2 * chunk] = count;
        s->chunk_hits[2 * chunk + 1] = tested;
    }
}

/* The hit with the lowest tet index becomes the contact of a particle. */
static void add_contacts(sup_collide_state *s, const float *positions)
{
    for (int32_t chunk = 0; chunk < (int32_t)sup_collide_chunks(s->collide); chunk++) {
        s->report.tested += s->chunk_hits[2 * chunk + 1];
        for (int32_t i = 0; i < s->chunk_hits[2 * chunk]; i++) {
            sup_collide_hit hit = s->hits[chunk * SUP_COLLIDE_CHUNK + i];
            if (s->contact[hit.particle] < 0 &&
                sup_collide_walk(s, hit.particle, positions, &hit.triangle, s->weight + 4 * (int64_t)hit.particle))
                s->contact[hit.particle] = hit.triangle;
        }
    }
}

void sup_collide_find(sup_collide_state *s, const sup_context *context, const float *positions)
{
    const sup_collide *m = s->collide;
    bool moved = true, always = s->input.mode == SUP_COLLIDE_ALWAYS;
    find_work work = {s, positions};
    s->report.hashed = s->report.tested = 0;
    if (s->since < SUP_COLLIDE_MAX_INTERVAL) s->since++;
    if (s->input.no_new_contacts || (!always && s->since < MIN_INTERVAL)) return;
    sup_parallel(context, m->joint_count, JOINT_GRAIN, find_boxes, &work);
    bool any = always ? search_everywhere(s) : find_search_boxes(s, &moved);
    if (!any || !moved) return;
    s->since = 0;
    memcpy(s->bend_previous, s->bend, (size_t)m->joint_count * sizeof(float));
    fill_hash(s, positions);
    if (s->report.hashed == 0) return;
    sup_parallel(context, (int32_t)sup_collide_chunks(m), 1, test_chunks, &work);
    add_contacts(s, positions);
}
