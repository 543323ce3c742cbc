/* track_skinned.c - limits of the output skin that come from dual quaternion skinning.
 *
 * No edge is longer, relative to rest, than the longest one of dual quaternions. Limbs that are pressed together share
 * the space of both, so that the tracked skin loses the volume of their overlap: where it keeps less than a given
 * fraction of the volume of the bind pose, or of dual quaternions if that is less, all vertices move towards dual
 * quaternions by the same fraction of the way, as far as needed. This is continuous in time and cannot fail: at the end
 * of the way the skin is that of dual quaternions. The result is not part of the state. */
#include "methods/implicit/track_blend.h"

/* Triangles per sum, at least; vertices per task; and steps of the search for the way, which end within 1e-3 of the
 * volume. */
enum { SUM_TRIANGLES = 512, GRAIN = 512, STEPS = 4 };
/* Minimum of the longest edge of dual quaternions, relative to rest, that limits the output; and the fraction of it to
 * which edges are shortened: the passes do not converge fully. */
static const float MIN_SHORTENED = 1.5f, MIN_LONGEST = 1.05f, NEARLY = 0.97f;

typedef struct skinned_work {
    const sup_track *track;
    const int32_t *triangles;
    int32_t triangle_count;
    const sup_track_arrays *arrays;
    int32_t per_sum;
    const float *from, *to; /* [vertex_count*4] positions at both ends of the way */
    float *output;
    float way; /* in [0, 1] */
    sup_vec3d apex;
} skinned_work;

/* --- Dual quaternions --- */

/* Positions by dual quaternions, to `carried`, which is scratch outside of sub-frames. */
static void skin_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const skinned_work *w = work;
    SUP_UNUSED(worker);
    for (int64_t vertex = begin; vertex < end; vertex++) {
        const float *rest = w->track->rest + 4 * vertex, *m = w->arrays->transform + 12 * vertex;
        for (int r = 0; r < 3; r++)
            w->arrays->carried[4 * vertex + r] =
                m[4 * r] * rest[0] + m[4 * r + 1] * rest[1] + m[4 * r + 2] * rest[2] + m[4 * r + 3];
    }
}

static float square_of(sup_four v)
{
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

/* Square of the longest edge at a vertex, relative to rest. Edges shorter than a hundredth of the mean are noise. */
static float stretch_of(const skinned_work *w, const float *positions, int64_t vertex)
{
    const sup_track *track = w->track;
    sup_four here = sup_four_load(positions + 4 * vertex), rest_here = sup_four_load(track->rest + 4 * vertex);
    float longest = 0.0f, noise = 1e-4f * track->target[vertex].edge * track->target[vertex].edge;
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
        float rest = square_of(sup_four_load(track->rest + 4 * (int64_t)track->other[e]) - rest_here);
        if (rest > noise)
            longest = sup_track_max(longest,
                                    square_of(sup_four_load(positions + 4 * (int64_t)track->other[e]) - here) / rest);
    }
    return longest;
}

static void longest_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const skinned_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        float longest = 0.0f;
        for (int64_t v = w->track->cluster_first[cluster]; v < w->track->cluster_first[cluster + 1]; v++)
            longest = sup_track_max(longest, stretch_of(w, w->arrays->carried, v));
        w->arrays->moved[cluster] = longest; /* scratch outside of sub-frames */
    }
}

static float longest_of(const sup_context *context, skinned_work *w)
{
    float longest = 0.0f;
    sup_parallel(context, w->track->cluster_count, GRAIN / SUP_FIELD_LANES, longest_range, w);
    for (int32_t cluster = 0; cluster < w->track->cluster_count; cluster++)
        longest = sup_track_max(longest, w->arrays->moved[cluster]);
    return sup_track_max(MIN_LONGEST, NEARLY * sqrtf(longest));
}

/* --- Volume --- */

static sup_vec3d position_at(const skinned_work *w, int64_t vertex)
{
    sup_vec3d from = sup_v3_load(w->from + 4 * vertex), to = sup_v3_load(w->to + 4 * vertex);
    return sup_v3_sub(sup_v3_madd(from, (double)w->way, sup_v3_sub(to, from)), w->apex);
}

/* Mean of positions: the apex of the cones, so that an open mesh has nearly the same volume in all poses. */
static sup_vec3d mean_of(const sup_track *track, const float *positions)
{
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
    for (int64_t vertex = 0; vertex < track->vertex_count; vertex++)
        sum = sup_v3_add(sum, sup_v3_load(positions + 4 * vertex));
    return sup_v3_scale(sum, 1.0 / (double)track->vertex_count);
}

/* Six times the volume of the cones from the apex to the triangles of each sum. */
static void sum_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const skinned_work *w = work;
    const int64_t count = w->triangle_count;
    SUP_UNUSED(worker);
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i * w->per_sum, last = first + w->per_sum;
        double sum = 0.0;
        for (int64_t t = first; t < (last < count ? last : count); t++) {
            sup_vec3d p[3];
            for (int c = 0; c < 3; c++)
                p[c] = position_at(w, w->triangles[3 * t + c]);
            sum += sup_v3_dot(p[0], sup_v3_cross(p[1], p[2]));
        }
        w->arrays->sums[i] = sum;
    }
}

static double volume_at(const sup_context *context, skinned_work *w, double way)
{
    int32_t count = (w->triangle_count + w->per_sum - 1) / w->per_sum;
    double volume = 0.0;
    w->way = (float)way;
    sup_parallel(context, count, 1, sum_range, w);
    for (int32_t i = 0; i < count; i++)
        volume += w->arrays->sums[i];
    return volume;
}

static void move_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const skinned_work *w = work;
    SUP_UNUSED(worker);
    for (int64_t vertex = begin; vertex < end; vertex++)
        for (int64_t i = 4 * vertex; i < 4 * vertex + 3; i++)
            w->output[i] += w->way * (w->to[i] - w->output[i]);
}

/* Moves the output towards `to` until it encloses `target`, or all the way if that is too little. */
static void move_to_volume(const sup_context *context, skinned_work *w, const float *to, double sign, double target)
{
    w->to = to;
    double low = 0.0, high = 1.0, way = 1.0, below = sign * (volume_at(context, w, 0.0) - target),
           above = sign * (volume_at(context, w, 1.0) - target);
    if (!(below < 0.0) || !(above > below)) return;
    for (int i = 0; i < STEPS && above > 0.0; i++) { /* false position; the volume is a cubic of the way */
        way = low + (high - low) * below / (below - above);
        double off = sign * (volume_at(context, w, way) - target);
        if (off < 0.0)
            low = way, below = off;
        else
            high = way, above = off;
    }
    w->way = (float)way;
    sup_parallel(context, w->track->vertex_count, GRAIN, move_range, w);
}

/* The volume that the output has to enclose, and the orientation of the triangles, which may face inwards. */
static double target_volume(const sup_context *context, skinned_work *w, double loss, double *sign)
{
    w->from = w->track->rest;
    w->apex = mean_of(w->track, w->from);
    double rest = volume_at(context, w, 0.0);
    w->from = w->output;
    w->apex = mean_of(w->track, w->to);
    double dual = volume_at(context, w, 1.0);
    *sign = dual < 0.0 ? -1.0 : 1.0;
    return (1.0 - loss) * (*sign * rest > 0.0 && *sign * rest < *sign * dual ? rest : dual);
}

size_t sup_track_limit_scratch_size(const sup_track *track, const sup_track_mesh *mesh)
{
    return sup_track_blend_scratch_size(track, mesh);
}

void sup_track_limit(const sup_context *context, const sup_track *track, void *state, const sup_track_mesh *mesh,
                     void *scratch, float loss, int32_t bent, float *output)
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    int32_t per_sum = mesh->triangle_count / track->cluster_count + 1; /* at most one sum per cluster */
    skinned_work w = {.track = track,
                      .triangles = mesh->triangles,
                      .triangle_count = mesh->triangle_count,
                      .arrays = &arrays,
                      .per_sum = per_sum > SUM_TRIANGLES ? per_sum : SUM_TRIANGLES,
                      .to = arrays.carried,
                      .output = output};
    if (bent == 0) return;
    sup_parallel(context, track->vertex_count, GRAIN, skin_range, &w);
    sup_track_blend_begin(track, mesh, arrays.list, bent, scratch);
    float longest = longest_of(context, &w);
    sup_track_limit_edges(context, track, state, bent,
                          sup_track_min(SUP_TRACK_LONGEST, sup_track_max(longest, MIN_SHORTENED)), output);
    double sign, target = target_volume(context, &w, (double)loss, &sign);
    const float *swollen = sup_track_swell(context, track, state, mesh, scratch, output);
    move_to_volume(context, &w, swollen, sign, target);
    sup_track_blend(context, track, mesh, scratch, arrays.carried, arrays.transform, longest, bent, output);
    move_to_volume(context, &w, arrays.carried, sign, target);
}
