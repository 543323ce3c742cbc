/* collide.c - contact in the solver loop: joint planes, self-contact and colliders.
 *
 * Based on: [aburumman2016thesis] algorithm 6. Detection runs once per step, after the first iteration, instead of in
 * each iteration; constraints are solved in all iterations. */
#include "methods/position/collide_work.h"

/* Height above a collider, in mean edges of the surface, at which a contact is released. */
static const float RELEASE_HEIGHT = 0.35f;
enum { TOUCH_GRAIN = 128 };

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

static size_t lay_out(const sup_collide *m, unsigned char *base, sup_collide_state *s)
{
    size_t size = rounded(sizeof *s), joints = (size_t)m->joint_count, points = (size_t)m->surface_count;
    s->bend = carve(base, &size, joints * sizeof(float));
    s->bend_previous = carve(base, &size, joints * sizeof(float));
    s->box = carve(base, &size, joints * sizeof(sup_collide_box));
    s->search = carve(base, &size, joints * sizeof(sup_collide_box));
    s->contact = carve(base, &size, points * sizeof(int32_t));
    s->weight = carve(base, &size, points * 4 * sizeof(float));
    s->pushed = carve(base, &size, points * sizeof(bool));
    s->active = carve(base, &size, points * sizeof(int32_t));
    s->union_parent = carve(base, &size, points * sizeof(int32_t));
    s->island = carve(base, &size, points * sizeof(int32_t));
    s->island_of = carve(base, &size, points * sizeof(int32_t));
    s->order = carve(base, &size, points * sizeof(int32_t));
    s->cluster_first = carve(base, &size, (points + 1) * sizeof(int32_t));
    s->hits = carve(base, &size, (size_t)m->tet_count * sizeof(sup_collide_hit));
    s->chunk_hits = carve(base, &size, 2 * sup_collide_chunks(m) * sizeof(int32_t));
    s->planes = carve(base, &size, (size_t)m->plane_count * sizeof(sup_collide_plane));
    s->near = carve(base, &size, (size_t)m->entry_count * sizeof(int32_t));
    s->points = carve(base, &size, points * 4 * sizeof(float));
    s->touches = carve(base, &size, points * sizeof(sup_point_contact));
    s->touch = carve(base, &size, sup_point_contact_state_size(m->surface_count));
    s->hash_memory = carve(base, &size, sup_spatial_hash_size(m->surface_count));
    return size;
}

size_t sup_collide_state_size(const sup_collide *collide)
{
    sup_collide_state s;
    return lay_out(collide, NULL, &s);
}

void sup_collide_reset(const sup_collide *collide, void *state)
{
    sup_collide_state *s = state;
    memset(s, 0, sizeof *s);
    lay_out(collide, state, s);
    s->since = SUP_COLLIDE_MAX_INTERVAL;
    memset(s->contact, -1, (size_t)collide->surface_count * sizeof(int32_t));
    memset(s->bend_previous, 0, (size_t)collide->joint_count * sizeof(float));
    sup_point_contact_reset(collide->surface_count, s->touch);
    sup_spatial_hash_init(&s->hash, s->hash_memory, collide->surface_count, 1.1f * collide->edge);
}

void sup_collide_restore(const sup_collide *collide, void *state)
{
    sup_collide_state *s = state, saved = *s;
    memset(s, 0, sizeof *s);
    s->report = saved.report;
    s->hash.inverse = saved.hash.inverse;
    s->hash.slots = saved.hash.slots;
    s->hash.current = saved.hash.current;
    s->iteration = saved.iteration;
    s->since = saved.since;
    s->active_count = saved.active_count;
    s->plane_count = saved.plane_count;
    s->touch_count = saved.touch_count;
    s->near_count = saved.near_count;
    s->cluster_count = saved.cluster_count;
    if (collide == NULL) return;
    lay_out(collide, state, s);
    sup_spatial_hash_restore(&s->hash, s->hash_memory);
}

const sup_collide_report *sup_collide_report_of(const void *state)
{
    return &((const sup_collide_state *)state)->report;
}

const int32_t *sup_collide_contacts(const void *state)
{
    return ((const sup_collide_state *)state)->contact;
}

/* --- Colliders --- */

static void find_collider_contacts(sup_collide_state *s, const sup_context *context, const float *positions)
{
    const sup_collide *m = s->collide;
    const sup_collide_input *in = &s->input;
    s->touch_count = 0;
    if (in->solids == NULL || in->solid_count == 0) return;
    for (int64_t i = 0; i < m->surface_count; i++)
        for (int c = 0; c < 3; c++)
            s->points[4 * i + c] = positions[4 * (int64_t)m->slot[i] + c] * in->size;
    sup_point_contact_input touch = {.colliders = in->solids,
                             .collider_count = in->solid_count,
                             .generation = in->generation,
                             .points = s->points,
                             .stride = 4,
                             .point_count = m->surface_count,
                             .gap = SUP_COLLIDE_GAP * m->edge * in->size,
                             .release = RELEASE_HEIGHT * m->edge * in->size};
    s->touch_count = sup_point_contact_find(context, &touch, s->touch, s->touches);
}

typedef struct touch_work {
    const sup_collide_state *state;
    float *positions;
} touch_work;

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Height of a particle above the collider, minus the gap; and its motion relative to the collider in this step. */
static float touch_height(const touch_work *work, const sup_point_contact *t, float *p, float slip[3])
{
    const sup_collide_state *s = work->state;
    const float *previous = s->input.previous + (p - work->positions);
    float scale = 1.0f / s->input.size, height = -SUP_COLLIDE_GAP * s->collide->edge;
    for (int c = 0; c < 3; c++) {
        height += (p[c] - t->point[c] * scale) * t->normal[c];
        slip[c] = p[c] - previous[c] - t->motion[c] * scale;
    }
    return height;
}

/* A particle has at most one contact with a collider. */
static void solve_touches(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const touch_work *work = user;
    const sup_collide_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        const sup_point_contact *t = &s->touches[i];
        float *p = work->positions + 4 * (int64_t)s->collide->slot[t->vertex], slip[3],
              by = -touch_height(work, t, p, slip);
        if (!(by > 0.0f) || !(p[3] > 0.0f)) continue;
        float along = dot(slip, t->normal), side[3];
        for (int c = 0; c < 3; c++)
            side[c] = slip[c] - along * t->normal[c];
        float length = sqrtf(dot(side, side));
        float friction_scale = length > 0.0f ? fminf(s->input.solids[t->collider].friction * by / length, 1.0f) : 0.0f;
        for (int c = 0; c < 3; c++)
            p[c] += by * t->normal[c] - friction_scale * side[c];
    }
}

static void stop_touches(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const touch_work *work = user;
    const sup_collide_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        const sup_point_contact *t = &s->touches[i];
        float *p = work->positions + 4 * (int64_t)s->collide->slot[t->vertex],
              *previous = s->input.previous + (p - work->positions), slip[3], height = touch_height(work, t, p, slip),
              along = dot(slip, t->normal);
        bool on = height < 1e-3f * s->collide->edge && along > 0.0f && p[3] > 0.0f;
        for (int c = 0; on && c < 3; c++)
            previous[c] += along * t->normal[c];
    }
}

/* --- The step --- */

void sup_collide_begin(const sup_collide *collide, void *state, const sup_collide_input *input)
{
    sup_collide_state *s = state;
    s->collide = collide;
    s->input = *input;
    s->iteration = 0;
    s->report = (sup_collide_report){0};
    if (input->mode == SUP_COLLIDE_OFF) {
        s->plane_count = 0;
        memset(s->contact, -1, (size_t)collide->surface_count * sizeof(int32_t));
    } else
        sup_collide_find_planes(s);
}

void sup_collide_solve(void *state, const sup_context *context, float *positions)
{
    sup_collide_state *s = state;
    if (s->iteration++ == 0) {
        if (s->input.mode != SUP_COLLIDE_OFF) {
            sup_collide_planes_gather(s, context, positions);
            sup_collide_planes_solve(s, context, positions);
            sup_collide_update_contacts(s, context, positions);
            sup_collide_find(s, context, positions);
        }
        sup_collide_list_contacts(s, positions);
        find_collider_contacts(s, context, positions);
        s->report.touches = s->touch_count;
    }
    if (s->iteration > 1) sup_collide_planes_solve(s, context, positions);
    touch_work work = {s, positions};
    sup_collide_solve_contacts(s, context, positions);
    sup_parallel(context, s->touch_count, TOUCH_GRAIN, solve_touches, &work);
    if (s->iteration != s->input.iterations) return;
    if (s->input.still) sup_collide_stop_planes(s, context, positions);
    sup_collide_stop_contacts(s, context, positions);
    sup_parallel(context, s->touch_count, TOUCH_GRAIN, stop_touches, &work);
}
