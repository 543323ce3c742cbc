/* push_out.c - pushes the output skin out of colliders: see push_out.h. */
#include "methods/implicit/push_out.h"

#include "methods/implicit/track_work.h"

/* Distance kept from a collider, in edge lengths. */
static const float GAP = 0.1f;
/* Depths, in inverse gradients at rest (about the radius of the limb), at which the push starts to weaken and at which
 * it ends: a deeper collider has passed through the limb. */
static const float FULL_DEPTH = 1.0f, MAX_DEPTH = 2.0f;
/* Radius in edge lengths where there is no gradient. */
static const float DEFAULT_DEPTH = 4.0f;
/* Passes in which the surrounding skin follows, and the fraction of its neighbours' displacement that it takes in
 * each. */
enum { PASSES = 8, GRAIN = 128 };
static const float FOLLOW = 0.9f;

typedef struct push_work {
    const sup_track *track;
    const sup_posed_collider *solids;
    int32_t solid_count;
    double size;
    float *output;
    float *offset;     /* [vertex_count*4] displacement, and 1 where a collider pushes the vertex itself */
    const float *from; /* [vertex_count*4] displacements before a pass */
} push_work;

/* The displacement out of the collider that a vertex is deepest in; returns false outside of all colliders. */
static bool push_vector(const push_work *w, int32_t vertex, const float *position, float offset[3])
{
    const sup_track_target *target = &w->track->target[vertex];
    double gap = (double)(GAP * target->edge) * w->size, deepest = gap;
    sup_vec3d p = sup_v3_scale(sup_v3_load(position), w->size), out = sup_v3(0, 0, 0);
    for (int32_t i = 0; i < w->solid_count; i++) {
        sup_collider_query view;
        if (!sup_collider_find_nearest(&w->solids[i], p, gap, &view) || !(view.height < deepest)) continue;
        deepest = view.height;
        out = view.normal;
    }
    if (!(deepest < gap)) return false;
    double radius = target->gradient > 0.0f ? 1.0 / (double)target->gradient : (double)(DEFAULT_DEPTH * target->edge);
    double deep = -deepest / w->size / radius, hold = ((double)MAX_DEPTH - deep) / (double)(MAX_DEPTH - FULL_DEPTH);
    sup_v3_store(offset, sup_v3_scale(out, (gap - deepest) / w->size * fmin(1.0, fmax(0.0, hold))));
    return true;
}

static void find_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const push_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t vertex = begin; vertex < end; vertex++) {
        float *offset = w->offset + 4 * (int64_t)vertex;
        memset(offset, 0, 4 * sizeof *offset);
        offset[3] = push_vector(w, vertex, w->output + 4 * (int64_t)vertex, offset) ? 1.0f : 0.0f;
    }
}

static void follow_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const push_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int64_t vertex = begin; vertex < end; vertex++) {
        const float *own = w->from + 4 * vertex;
        float *offset = w->offset + 4 * vertex, sum[3] = {0, 0, 0};
        int32_t count = track->first[vertex + 1] - track->first[vertex];
        for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
            for (int c = 0; c < 3; c++)
                sum[c] += w->from[4 * (int64_t)track->other[e] + c];
        memcpy(offset, own, 4 * sizeof *offset);
        for (int c = 0; c < 3 && own[3] == 0.0f && count > 0; c++)
            offset[c] = FOLLOW * sum[c] / (float)count;
    }
}

/* Applies the displacements; vertices that end up inside of a collider are pushed out once more. */
static void push_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const push_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t vertex = begin; vertex < end; vertex++) {
        float *position = w->output + 4 * (int64_t)vertex, second[3] = {0, 0, 0};
        const float *offset = w->from + 4 * (int64_t)vertex;
        for (int c = 0; c < 3; c++)
            position[c] += offset[c];
        if (offset[3] == 0.0f && push_vector(w, vertex, position, second))
            for (int c = 0; c < 3; c++)
                position[c] += second[c];
    }
}

void sup_push_out(const sup_context *context, const sup_track *track, void *state, const sup_posed_collider *solids,
                  int32_t solid_count, double size, float *output)
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    float *offsets[2] = {arrays.rhs, arrays.descent}; /* scratch outside of sub-frames */
    push_work work = {track, solids, solid_count, size, output, offsets[0], NULL};
    bool any = false;
    sup_parallel(context, track->vertex_count, GRAIN, find_range, &work);
    for (int64_t vertex = 0; vertex < track->vertex_count && !any; vertex++)
        any = offsets[0][4 * vertex + 3] > 0.0f;
    if (!any) return;
    for (int i = 0; i < PASSES; i++) {
        work.from = offsets[i % 2];
        work.offset = offsets[1 - i % 2];
        sup_parallel(context, track->vertex_count, GRAIN, follow_range, &work);
    }
    work.from = offsets[PASSES % 2];
    sup_parallel(context, track->vertex_count, GRAIN, push_range, &work);
}
