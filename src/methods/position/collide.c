/* collide.c - contact in the solver's loop: planes, holds, and out of things in the way.
 *
 * Based on: [aburumman2016thesis] algorithm 6: detection once a step, after the first iteration, instead of in each;
 * constraints in all. */
#include "methods/position/collide_work.h"

/* Height over a thing, in mean edges of the surface, at which a touch ends. */
static const float KEEP = 0.35f;
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

static size_t lay_out(const sup_meet *m, unsigned char *base, sup_meet_state *s)
{
    size_t size = rounded(sizeof *s), joints = (size_t)m->joint_count, points = (size_t)m->surface_count;
    s->bend = carve(base, &size, joints * sizeof(float));
    s->bend_then = carve(base, &size, joints * sizeof(float));
    s->box = carve(base, &size, joints * sizeof(sup_meet_box));
    s->look = carve(base, &size, joints * sizeof(sup_meet_box));
    s->held = carve(base, &size, points * sizeof(int32_t));
    s->weight = carve(base, &size, points * 4 * sizeof(float));
    s->pushed = carve(base, &size, points * sizeof(bool));
    s->active = carve(base, &size, points * sizeof(int32_t));
    s->link = carve(base, &size, points * sizeof(int32_t));
    s->island = carve(base, &size, points * sizeof(int32_t));
    s->island_of = carve(base, &size, points * sizeof(int32_t));
    s->order = carve(base, &size, points * sizeof(int32_t));
    s->cluster_first = carve(base, &size, (points + 1) * sizeof(int32_t));
    s->hits = carve(base, &size, (size_t)m->tet_count * sizeof(sup_meet_hit));
    s->chunk_hits = carve(base, &size, 2 * sup_meet_chunks(m) * sizeof(int32_t));
    s->planes = carve(base, &size, (size_t)m->plane_count * sizeof(sup_meet_plane));
    s->near = carve(base, &size, (size_t)m->entry_count * sizeof(int32_t));
    s->points = carve(base, &size, points * 4 * sizeof(float));
    s->touches = carve(base, &size, points * sizeof(sup_point_contact));
    s->touch = carve(base, &size, sup_point_contact_state_size(m->surface_count));
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
    sup_point_contact_reset(meet->surface_count, s->touch);
    sup_cells_start(&s->cells, s->cells_memory, meet->surface_count, 1.1f * meet->edge);
}

void sup_meet_restore(const sup_meet *meet, void *state)
{
    sup_meet_state *s = state, kept = *s;
    memset(s, 0, sizeof *s);
    s->report = kept.report;
    s->cells.inverse = kept.cells.inverse;
    s->cells.places = kept.cells.places;
    s->cells.now = kept.cells.now;
    s->iteration = kept.iteration;
    s->since = kept.since;
    s->active_count = kept.active_count;
    s->plane_count = kept.plane_count;
    s->touch_count = kept.touch_count;
    s->near_count = kept.near_count;
    s->cluster_count = kept.cluster_count;
    if (meet == NULL) return;
    lay_out(meet, state, s);
    sup_cells_link(&s->cells, s->cells_memory);
}

const sup_meet_report *sup_meet_report_of(const void *state)
{
    return &((const sup_meet_state *)state)->report;
}

const int32_t *sup_meet_held(const void *state)
{
    return ((const sup_meet_state *)state)->held;
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
    sup_point_contact_input touch = {.colliders = in->solids,
                             .collider_count = in->solid_count,
                             .generation = in->generation,
                             .points = s->points,
                             .stride = 4,
                             .point_count = m->surface_count,
                             .gap = SUP_MEET_GAP * m->edge * in->size,
                             .release = KEEP * m->edge * in->size};
    s->touch_count = sup_point_contact_find(context, &touch, s->touch, s->touches);
}

typedef struct touch_work {
    const sup_meet_state *state;
    float *rows;
} touch_work;

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* How high a particle is over what it touches, less the gap; and how it moved there in this step. */
static float touch_height(const touch_work *work, const sup_point_contact *t, float *p, float slip[3])
{
    const sup_meet_state *s = work->state;
    const float *before = s->input.before + (p - work->rows);
    float scale = 1.0f / s->input.size, height = -SUP_MEET_GAP * s->meet->edge;
    for (int c = 0; c < 3; c++) {
        height += (p[c] - t->point[c] * scale) * t->normal[c];
        slip[c] = p[c] - before[c] - t->motion[c] * scale;
    }
    return height;
}

/* A particle touches one thing at most. */
static void solve_touches(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const touch_work *work = user;
    const sup_meet_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        const sup_point_contact *t = &s->touches[i];
        float *p = work->rows + 4 * (int64_t)s->meet->row[t->vertex], slip[3], by = -touch_height(work, t, p, slip);
        if (!(by > 0.0f) || !(p[3] > 0.0f)) continue;
        float along = dot(slip, t->normal), side[3];
        for (int c = 0; c < 3; c++)
            side[c] = slip[c] - along * t->normal[c];
        float length = sqrtf(dot(side, side));
        float brake = length > 0.0f ? fminf(s->input.solids[t->collider].friction * by / length, 1.0f) : 0.0f;
        for (int c = 0; c < 3; c++)
            p[c] += by * t->normal[c] - brake * side[c];
    }
}

static void still_touches(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const touch_work *work = user;
    const sup_meet_state *s = work->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        const sup_point_contact *t = &s->touches[i];
        float *p = work->rows + 4 * (int64_t)s->meet->row[t->vertex], *before = s->input.before + (p - work->rows),
              slip[3], height = touch_height(work, t, p, slip), along = dot(slip, t->normal);
        bool on = height < 1e-3f * s->meet->edge && along > 0.0f && p[3] > 0.0f;
        for (int c = 0; on && c < 3; c++)
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
            sup_meet_planes_gather(s, context, rows);
            sup_meet_planes_solve(s, context, rows);
            sup_meet_follow(s, context, rows);
            sup_meet_find(s, context, rows);
        }
        sup_meet_list(s, rows);
        find_touches(s, context, rows);
        s->report.touches = s->touch_count;
    }
    if (s->iteration > 1) sup_meet_planes_solve(s, context, rows);
    touch_work work = {s, rows};
    sup_meet_solve_holds(s, context, rows);
    sup_parallel(context, s->touch_count, TOUCH_GRAIN, solve_touches, &work);
    if (s->iteration != s->input.iterations) return;
    if (s->input.still) sup_meet_still_planes(s, context, rows);
    sup_meet_still_holds(s, context, rows);
    sup_parallel(context, s->touch_count, TOUCH_GRAIN, still_touches, &work);
}
