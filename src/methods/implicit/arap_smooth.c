/* arap_smooth.c - elastic smoothing of the output skin where it is not in contact.
 *
 * Extends [vaillant2014iso], where every vertex ends on its iso-surface. Fields are round at joints because their caps
 * are, and the field of the chest ends where the arm of the bind pose began; shoulders, hips and chins therefore showed
 * lobes. Here the output skin x minimises the as-rigid-as-possible energy of eq. 3 plus an attraction to the tracked
 * skin p, with vertex areas a:
 *
 *     sum_ij w_ij |x_i - x_j - (R_i + R_j) / 2 (rest_i - rest_j)|^2 + tension sum_i a_i |x_i - p_i|^2
 *
 * Features longer than 1 / sqrt(tension) keep the shape of the field, shorter ones take the shape of the rest pose. d =
 * x - p solves (L + tension A) d = b - L p by Chebyshev iterations, in the clusters around bent skin. Near contacts p
 * is kept, so that folds stay separate. The result is not part of the state: the next frame continues from p. */
#include "methods/implicit/track_work.h"

/* Number of Chebyshev iterations, and the interval of eigenvalues of the Jacobi-scaled matrix that they damp. The
 * spectrum ends below 2 and starts at a_i tension / (sum of weights); on finer meshes the iterations do not converge
 * fully. */
enum { STEPS = 16 };
static const float SPECTRUM_LOW = 0.03f, SPECTRUM_HIGH = 2.0f;
/* Rings of vertices between a contact and fully smoothed skin; and rings of clusters around bent ones that are
 * smoothed. */
enum { PROXIMITY_RINGS = 6, REACH = 3 /* clusters */, GRAIN = 16 };
/* Contact weights at which an effect starts and at which it is complete: skin in contact is not smoothed, and skin near
 * another limb does not move towards it. */
static const float IN_CONTACT[2] = {0.5f, 0.75f}, NEAR_CONTACT[2] = {0.02f, 0.2f};
/* Largest displacement, in edge lengths. */
static const float MAX_OFFSET = 10.0f;
/* Largest distance of a vertex from its prescribed position, in edge lengths, and largest difference of matrix entries
 * in a cluster that counts as rigid. */
static const float RIGID_DISTANCE = 1e-3f, RIGID_ROTATION = 1e-5f;

typedef struct smoothing {
    const sup_track *track;
    sup_track_arrays arrays;
    float *output;
    const float *from; /* [vertex_count*4] d before the iteration */
    float *to, *step;  /* d after it; last step */
    const float *proximity_from;
    float *proximity_to;
    float keep, gain; /* weights of the previous step and of the residual */
    float amount;     /* fraction of d that is applied */
} smoothing;

/* --- Clusters that are bent --- */

static bool is_rigid(const sup_track *track, const sup_track_arrays *arrays, int32_t cluster)
{
    const float *transform = arrays->transform + 12 * (int64_t)track->cluster_first[cluster];
    for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
        const float *rest = track->rest + 4 * vertex, *position = arrays->position + 4 * vertex,
                    *own = arrays->transform + 12 * vertex;
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
        e->arrays.subdomain_bits[cluster] =
            is_rigid(e->track, &e->arrays, cluster) ? 0 : 1; /* scratch outside of sub-frames */
}

/* --- Passes over the listed clusters --- */

static float tension_of(const sup_track *track, int64_t vertex)
{
    return (float)(SUP_TRACK_TENSION * SUP_TRACK_AREA) * track->target[vertex].edge * track->target[vertex].edge;
}

/* (b - L p) divided by the diagonal of L + tension A; the inverse diagonal is stored as the fourth coordinate. */
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
            sup_four rest =
                sup_four_splat(inverse_diagonal) * (sup_four_load(rhs) - sup_track_laplacian(track, e->output, vertex));
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
        for (int64_t vertex = track->cluster_first[e->arrays.list[i]];
             vertex < track->cluster_first[e->arrays.list[i] + 1]; vertex++) {
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

/* One Chebyshev iteration on the Jacobi-scaled residual. */
static void step_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    const sup_track *track = e->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = track->cluster_first[e->arrays.list[i]];
             vertex < track->cluster_first[e->arrays.list[i] + 1]; vertex++) {
            const float *rhs = e->arrays.rhs + 4 * vertex;
            sup_four here = sup_four_load(e->from + 4 * vertex), sum = sup_four_splat(0.0f);
            for (int32_t k = track->first[vertex]; k < track->first[vertex + 1]; k++)
                sum += sup_four_splat(track->weight[k]) * sup_four_load(e->from + 4 * (int64_t)track->other[k]);
            sup_four rest = sup_four_load(rhs) - here + sup_four_splat(rhs[3]) * sum;
            sup_four step =
                sup_four_splat(e->keep) * sup_four_load(e->step + 4 * vertex) + sup_four_splat(e->gain) * rest;
            here += step;
            memcpy(e->step + 4 * vertex, &step, sizeof step);
            memcpy(e->to + 4 * vertex, &here, sizeof here);
        }
}

static float ramp(float value, const float ends[2])
{
    return sup_track_max(0.0f, sup_track_min(1.0f, (value - ends[0]) / (ends[1] - ends[0])));
}

/* Runs before the passes, also on the ring of clusters around the listed ones: initialises proximity to contacts and
 * clears d. */
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
            e->arrays.proximity[0][2 * vertex + 1] = e->arrays.proximity[1][2 * vertex + 1] =
                ramp(contact, NEAR_CONTACT);
            largest = sup_track_max(largest, contact);
        }
        e->arrays.moved[cluster] = largest; /* scratch outside of sub-frames */
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

/* Returns d, which is 0 outside of the listed clusters. */
static const float *solve(const sup_context *context, smoothing *e, int32_t clusters)
{
    const float middle = 0.5f * (SPECTRUM_HIGH + SPECTRUM_LOW), half = 0.5f * (SPECTRUM_HIGH - SPECTRUM_LOW),
                wide = middle / half;
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
    const float *inward = e->arrays.normal + 4 * vertex; /* 0 where the vertex follows no field */
    const float limit = MAX_OFFSET * e->track->target[vertex].edge, square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (!(square < INFINITY)) return; /* degenerate weights */
    float out = sup_track_min(0.0f, d[0] * inward[0] + d[1] * inward[1] + d[2] * inward[2]) * proximity[1],
          amount = e->amount;
    amount *= e->track->target[vertex].relax * (1.0f - proximity[0]) *
              (square > limit * limit ? limit / sqrtf(square) : 1.0f);
    for (int c = 0; c < 3; c++)
        output[c] += amount * (d[c] - out * inward[c]);
}

static void apply_offset_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const smoothing *e = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        for (int64_t vertex = e->track->cluster_first[e->arrays.list[i]];
             vertex < e->track->cluster_first[e->arrays.list[i] + 1]; vertex++)
            apply_offset(e, vertex, e->output + 4 * vertex);
}

int32_t sup_track_arap_smooth(const sup_context *context, const sup_track *track, void *state, float amount,
                              float *output)
{
    smoothing e = {.track = track, .arrays = sup_track_arrays_of(track, state), .output = output, .amount = amount};
    sup_parallel(context, track->cluster_count, GRAIN, find_bent_range, &e);
    int32_t around,
        clusters = sup_track_list_rings(track, &e.arrays, REACH, &around); /* bent clusters and the rings around them */
    if (clusters == 0 || !(amount > 0.0f)) return clusters;
    sup_parallel(context, around, GRAIN, prepare_range, &e);
    sup_parallel(context, clusters, GRAIN, rhs_range, &e);
    spread_proximity(context, &e, clusters, around);
    e.from = solve(context, &e, clusters);
    sup_parallel(context, clusters, GRAIN, apply_offset_range, &e);
    return clusters;
}
