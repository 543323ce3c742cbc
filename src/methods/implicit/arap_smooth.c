/* arap_smooth.c - skin that touches nothing gives way to its own tension, in what is shown.
 *
 * Beyond [vaillant2014iso], where every vertex ends on its iso-surface. Fields are round at joints because their caps are, and a
 * chest ends where the arm of the bind pose began: shoulders, hips and chins followed that as lobes. Here the shown skin x is
 * the minimum of the energy of eq. 3 and of a pull to the tracked skin p, with vertex areas a,
 *
 *     sum_ij w_ij |x_i - x_j - (R_i + R_j) / 2 (rest_i - rest_j)|^2 + tension sum_i a_i |x_i - p_i|^2:
 *
 * what is longer than 1 / sqrt(tension) stays as the field has it, what is shorter becomes as the rest pose has it. d = x - p
 * solves (L + tension A) d = b - L p, by Chebyshev steps, around the blocks where something is bent. Near contacts p
 * stays, so that folds remain parted. Nothing of this is kept: the next frame goes on from p. */
#include "methods/implicit/track_work.h"

/* Chebyshev steps, and the part of the spectrum of the Jacobi-scaled matrix that they are for: it ends below 2 and begins at
 * a_i tension over the sum of weights; finer meshes get what so many steps reach. */
enum { STEPS = 16 };
static const float SPECTRUM_LOW = 0.03f, SPECTRUM_HIGH = 2.0f;
/* Rings of vertices from a contact until the skin is free. */
enum { PROXIMITY_RINGS = 6, REACH = 3 /* blocks from what is bent */, GRAIN = 16 };
/* How much of a sheet is felt where skin begins to touch, so that it stays, and where another limb is near, so that it does
 * not go towards that; and where both are so wholly. */
static const float IN_CONTACT[2] = {0.5f, 0.75f}, NEAR_CONTACT[2] = {0.02f, 0.2f};
/* Edges that a row gives way at most. */
static const float MAX_OFFSET = 10.0f;
/* Edges that rows may be away from where their turn has them, and difference of turns, when nothing is bent. */
static const float RIGID_DISTANCE = 1e-3f, RIGID_ROTATION = 1e-5f;

typedef struct smoothing {
    const sup_track *track;
    sup_track_arrays arrays;
    float *output;
    const float *from; /* d before the step, [row_count*4] */
    float *to, *step;  /* after it; the steps themselves */
    const float *proximity_from;
    float *proximity_to;
    float keep, gain; /* of the last step, of the rest */
    float amount;      /* of d that is shown */
} smoothing;

/* --- Where something is bent --- */

static bool is_rigid(const sup_track *track, const sup_track_arrays *arrays, int32_t cluster)
{
    const float *transform = arrays->transform + 12 * (int64_t)track->cluster_first[cluster];
    for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
        const float *rest = track->rest + 4 * vertex, *position = arrays->position + 4 * vertex, *own = arrays->transform + 12 * vertex;
        float limit = RIGID_DISTANCE * track->target[vertex].edge;
        for (int r = 0; r < 3; r++) {
            const float *m = transform + 4 * r;
            float off = m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3] - position[r];
            if (!(fabsf(off) <= limit)) return false;
            for (int c = 0; c < 3; c++)
                if (!(fabsf(own[4 * r + c] - m[c]) <= RIGID_ROTATION)) return false;
        }
    }
    return true;
}

static void find_bent_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++)
        e->arrays.subdomain_bits[cluster] = is_rigid(e->track, &e->arrays, cluster) ? 0 : 1; /* free between sub-frames */
}

/* --- Passes over them --- */

static float tension_of(const sup_track *track, int64_t vertex)
{
    return (float)(SUP_TRACK_TENSION * SUP_TRACK_AREA) * track->target[vertex].edge * track->target[vertex].edge;
}

/* b - L p over the diagonal of L + tension A; and one over that, which rides along as a fourth coordinate. */
static void rhs_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = e->arrays.list[i];
        sup_track_compute_rhs(track, &e->arrays, cluster);
        for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
            float *rhs = e->arrays.rhs + 4 * vertex;
            float inverse_diagonal = 1.0f / (track->sum[vertex] + tension_of(track, vertex));
            sup_four rest = sup_four_splat(inverse_diagonal) * (sup_four_load(rhs) - sup_track_laplacian(track, e->output, vertex));
            memcpy(rhs, &rest, 3 * sizeof *rhs);
            rhs[3] = inverse_diagonal;
        }
    }
}

static void proximity_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = track->cluster_first[e->arrays.list[i]]; vertex < track->cluster_first[e->arrays.list[i] + 1]; vertex++) {
            float stays = e->proximity_from[2 * vertex], near_contact = e->proximity_from[2 * vertex + 1];
            for (int32_t k = track->first[vertex]; k < track->first[vertex + 1]; k++) {
                const float *there = e->proximity_from + 2 * (int64_t)track->other[k];
                stays = sup_track_max(stays, there[0] - 1.0f / PROXIMITY_RINGS);
                near_contact = sup_track_max(near_contact, there[1] - 1.0f / PROXIMITY_RINGS);
            }
            e->proximity_to[2 * vertex] = stays;
            e->proximity_to[2 * vertex + 1] = near_contact;
        }
}

/* One Chebyshev step: what is left over, L d apart, is taken over the diagonal. */
static void step_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = track->cluster_first[e->arrays.list[i]]; vertex < track->cluster_first[e->arrays.list[i] + 1]; vertex++) {
            const float *rhs = e->arrays.rhs + 4 * vertex;
            sup_four here = sup_four_load(e->from + 4 * vertex), sum = sup_four_splat(0.0f);
            for (int32_t k = track->first[vertex]; k < track->first[vertex + 1]; k++)
                sum += sup_four_splat(track->weight[k]) * sup_four_load(e->from + 4 * (int64_t)track->other[k]);
            sup_four rest = sup_four_load(rhs) - here + sup_four_splat(rhs[3]) * sum;
            sup_four step = sup_four_splat(e->keep) * sup_four_load(e->step + 4 * vertex) + sup_four_splat(e->gain) * rest;
            here += step;
            memcpy(e->step + 4 * vertex, &step, sizeof step);
            memcpy(e->to + 4 * vertex, &here, sizeof here);
        }
}

static float ramp(float value, const float ends[2])
{
    return sup_track_max(0.0f, sup_track_min(1.0f, (value - ends[0]) / (ends[1] - ends[0])));
}

/* Before the passes, also in the ring of blocks around: how much of a contact is felt, whether any is, and no way yet. */
static void prepare_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = e->arrays.list[i];
        int64_t first = e->track->cluster_first[cluster], count = e->track->cluster_first[cluster + 1] - first;
        float largest = 0.0f;
        for (int64_t vertex = first; vertex < first + count; vertex++) {
            float contact = e->arrays.position[4 * vertex + 3];
            e->arrays.proximity[0][2 * vertex] = e->arrays.proximity[1][2 * vertex] = ramp(contact, IN_CONTACT);
            e->arrays.proximity[0][2 * vertex + 1] = e->arrays.proximity[1][2 * vertex + 1] = ramp(contact, NEAR_CONTACT);
            largest = sup_track_max(largest, contact);
        }
        e->arrays.moved[cluster] = largest; /* free between sub-frames */
        memset(e->arrays.descent + 4 * first, 0, 4 * (size_t)count * sizeof(float));
        memset(e->arrays.direction + 4 * first, 0, 4 * (size_t)count * sizeof(float));
        memset(e->arrays.solve + 4 * first, 0, 4 * (size_t)count * sizeof(float));
    }
}

static void spread_proximity(const sup_context *context, smoothing *e, int32_t clusters, int32_t around)
{
    bool any = false;
    for (int32_t i = 0; i < around; i++)
        any = any || e->arrays.moved[e->arrays.list[i]] > NEAR_CONTACT[0];
    for (int i = 0; i < PROXIMITY_RINGS && any; i++) {
        e->proximity_from = e->arrays.proximity[i % 2];
        e->proximity_to = e->arrays.proximity[1 - i % 2];
        sup_parallel(context, clusters, GRAIN, proximity_range, e);
    }
}

/* d, which is 0 beyond the listed blocks. */
static const float *solve(const sup_context *context, smoothing *e, int32_t clusters)
{
    const float middle = 0.5f * (SPECTRUM_HIGH + SPECTRUM_LOW), half = 0.5f * (SPECTRUM_HIGH - SPECTRUM_LOW), wide = middle / half;
    float *both[2] = {e->arrays.descent, e->arrays.direction}, rho = 1.0f / wide;
    e->step = e->arrays.solve;
    e->keep = 0.0f;
    e->gain = 1.0f / middle;
    for (int i = 0; i < STEPS; i++) {
        e->from = both[i % 2];
        e->to = both[1 - i % 2];
        sup_parallel(context, clusters, GRAIN, step_range, e);
        float next = 1.0f / (2.0f * wide - rho);
        e->keep = next * rho;
        e->gain = 2.0f * next / half;
        rho = next;
    }
    return both[STEPS % 2];
}

static void apply_offset(const smoothing *e, int64_t vertex, float *output)
{
    const float *d = e->from + 4 * vertex, *proximity = e->arrays.proximity[PROXIMITY_RINGS % 2] + 2 * vertex;
    const float *inward = e->arrays.normal + 4 * vertex; /* where a field is felt; else 0 */
    const float limit = MAX_OFFSET * e->track->target[vertex].edge, square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (!(square < INFINITY)) return; /* of weights that no mesh has */
    float out = sup_track_min(0.0f, d[0] * inward[0] + d[1] * inward[1] + d[2] * inward[2]) * proximity[1],
          amount = e->amount;
    amount *= e->track->target[vertex].relax * (1.0f - proximity[0]) * (square > limit * limit ? limit / sqrtf(square) : 1.0f);
    for (int c = 0; c < 3; c++)
        output[c] += amount * (d[c] - out * inward[c]);
}

static void apply_offset_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = e->track->cluster_first[e->arrays.list[i]]; vertex < e->track->cluster_first[e->arrays.list[i] + 1];
             vertex++)
            apply_offset(e, vertex, e->output + 4 * vertex);
}

int32_t sup_track_arap_smooth(const sup_context *context, const sup_track *track, void *state, float amount, float *output)
{
    smoothing e = {.track = track, .arrays = sup_track_arrays_of(track, state), .output = output, .amount = amount};
    sup_parallel(context, track->cluster_count, GRAIN, find_bent_range, &e);
    int32_t around, clusters = sup_track_list_rings(track, &e.arrays, REACH, &around); /* bent ones, and who feels it */
    if (clusters == 0 || !(amount > 0.0f)) return clusters;
    sup_parallel(context, around, GRAIN, prepare_range, &e);
    sup_parallel(context, clusters, GRAIN, rhs_range, &e);
    spread_proximity(context, &e, clusters, around);
    e.from = solve(context, &e, clusters);
    sup_parallel(context, clusters, GRAIN, apply_offset_range, &e);
    return clusters;
}
