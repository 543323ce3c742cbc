/* relax.c - vertices slide on their iso-surfaces towards the rotated rest edges.
 *
 * Based on: [vaillant2014iso] sections 5.1 and 5.2, eq. 3 and 4. With prescribed rotations R the energy of eq. 3 is
 * quadratic; a quarter of its gradient is L p - b, with L the Laplacian of the weights and b_i = sum_j w_ij (R_i + R_j)
 * / 2 (rest_i - rest_j). Vertices stay in their tangent planes (eq. 4): the descent direction is r = T (b - L p), T = 1
 * - n n^T.
 *
 * Two solvers:
 *   jacobi   the paper's: every vertex moves to the mean given by its neighbours, in its plane; then one Newton step.
 *            Information travels one edge per iteration.
 *   factor   preconditioned by the constant matrix L + m M: one factor made at bind time, a solve,
 *            z = T (L + m M)^-1 r, with the step length from the quadratic energy; a Jacobi step in the same planes
 *            removes the error of z at creases, where the planes of neighbours differ; then one Newton step. Sleeping
 *            vertices have r = z = 0. JACOBI_ITERATIONS of the paper's follow: along creases z is mostly out of the
 *            planes, and Jacobi steps are cheap and local.
 *            Deviates from the paper, with the same minimum. Directions are conjugate gradients (with at most MAX_KEEP
 *            of the previous one), and m is large: a solve that reaches across the whole body moves whole limbs, which
 *            the tangent planes then break up; the best step along that direction is a hundredth of a local one's.
 *
 * An iteration costs at most one field evaluation per vertex with either solver. */
#include "methods/implicit/track_work.h"

/* Fraction of a Jacobi step that is taken: full steps oscillate on fans with an even number of spokes. */
static const float DAMPING = 0.8f;
/* Jacobi iterations after each one with a solve, and the fraction of the optimal step along z that is taken: the planes
 * rotate along the step. */
enum { JACOBI_ITERATIONS = 3 };
static const double STEP_SCALE = 0.7;
/* Maximum weight of the previous direction. */
static const double MAX_KEEP = 0.9;
/* Stiffness of the anchor at the bone's position, relative to the sum of a vertex's weights; and the same for vertices
 * without a field. */
static const float ANCHOR = 0.02f, ANCHOR_FREE = 0.05f;
/* Distance in sizes from the bone's position at which the anchor at the dual quaternion position ends: in deep folds
 * dual quaternions make flaps. */
static const float MAX_FLAP = 0.05f;
/* Distance in edge lengths between a vertex and the mean of its neighbours from which on it is an outlier and moves
 * there directly. */
static const float OUTLIER = 1.0f;
/* Maximum displacement in an iteration, in edge lengths. */
static const float MAX_STEP = 1.0f;
/* Displacement in edge lengths after which a cluster is evaluated again: sliding leaves a surface only as far as it is
 * curved, and the last projection of a sub-frame removes the rest; and the same in contacts, where three times as much
 * leaves single vertices several edges off the contact surface. */
static const float MAX_DRIFT = 0.1f, MAX_DRIFT_IN_CONTACT = 0.003f;

/* Stiffness of a vertex's anchor at `position`. There are two: one at its skinned position by the bone of its region,
 * which decreases as the joints of the region bend, unless the vertex follows no field, and with the distance to dual
 * quaternion skinning, and is 0 from one edge length on; and the input's at its dual quaternion position. */
static float anchor_of(const sup_track_work *w, int64_t vertex, int32_t joint, float position[3])
{
    const float *rest = w->track->rest + 4 * vertex, *transform = w->arrays.transform + 12 * vertex,
                *bone = w->input->joints[joint].transform;
    const sup_track_target *target = &w->track->target[vertex];
    float square = 0.0f, away[3];
    for (int r = 0; r < 3; r++) {
        const float *m = bone + 4 * r, *t = transform + 4 * r;
        position[r] = m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3];
        away[r] = t[0] * rest[0] + t[1] * rest[1] + t[2] * rest[2] + t[3] - position[r];
        square += away[r] * away[r];
    }
    float strength = target->gradient > 0.0f ? ANCHOR * w->arrays.straight[joint] : ANCHOR_FREE;
    float hold = strength * w->track->sum[vertex] * sup_track_max(0.0f, 1.0f - sqrtf(square) / target->edge);
    float skinned = w->input->anchor * (float)SUP_TRACK_AREA * target->edge * target->edge *
                    sup_track_max(0.0f, 1.0f - sqrtf(square) / MAX_FLAP),
          sum = hold + skinned;
    for (int r = 0; r < 3 && sum > 0.0f; r++)
        position[r] += skinned / sum * away[r];
    return sum;
}

void sup_track_compute_rhs(const sup_track *track, const sup_track_arrays *arrays, int32_t cluster)
{
    for (int64_t i = track->cluster_first[cluster]; i < track->cluster_first[cluster + 1]; i++) {
        const sup_four rest = sup_four_load(track->rest + 4 * i);
        const float *own = arrays->transform + 12 * i;
        sup_four edges = sup_four_splat(0.0f),
                 sum[3] = {edges, edges, edges}; /* products along the edges, summed later */
        for (int32_t e = track->first[i]; e < track->first[i + 1]; e++) {
            int64_t j = track->other[e];
            sup_four edge = sup_four_splat(0.5f * track->weight[e]) * (rest - sup_four_load(track->rest + 4 * j));
            edges += edge;
            for (int c = 0; c < 3; c++)
                sum[c] += sup_four_load(arrays->transform + 12 * j + 4 * c) * edge;
        }
        for (int c = 0; c < 3; c++) {
            sum[c] += sup_four_load(own + 4 * c) * edges;
            arrays->rhs[4 * i + c] = sum[c][0] + sum[c][1] + sum[c][2];
        }
    }
}

/* The same including anchors. */
static void rhs_with_anchors(const sup_track_work *w, int32_t cluster)
{
    sup_track_compute_rhs(w->track, &w->arrays, cluster);
    for (int64_t i = w->track->cluster_first[cluster]; i < w->track->cluster_first[cluster + 1]; i++) {
        float anchor[3], hold = anchor_of(w, i, w->track->cluster_joint[cluster], anchor);
        for (int c = 0; c < 3; c++)
            w->arrays.rhs[4 * i + c] += hold * anchor[c];
        w->arrays.rhs[4 * i + 3] = hold;
    }
}

/* v <- relax * T v; unconstrained where the vertex follows no field. */
static inline void project_tangent(const sup_track_target *target, const float *normal, float v[3])
{
    float along = target->gradient > 0.0f ? v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2] : 0.0f;
    for (int c = 0; c < 3; c++)
        v[c] = target->relax * (v[c] - along * normal[c]);
}

/* Blocks motion deeper into a contact than its surface extends. */
static inline void apply_barrier(const float *barrier, float v[3])
{
    float into = barrier[3] > 0.0f ? v[0] * barrier[0] + v[1] * barrier[1] + v[2] * barrier[2] : 0.0f;
    for (int c = 0; c < 3 && into > 0.0f; c++)
        v[c] -= barrier[3] * into * barrier[c];
}

static inline void constrain(const sup_track_work *w, int64_t vertex, float v[3])
{
    project_tangent(&w->track->target[vertex], w->arrays.normal + 4 * vertex, v);
    apply_barrier(w->arrays.barrier + 4 * vertex, v);
}

/* --- Passes over the awake clusters --- */

/* Prepares clusters that woke up: right-hand sides, and the subdomains of their vertices. */
static void rhs_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_float_subdomains *subdomains = &w->track->subdomains;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i];
        if (!(w->arrays.awake[cluster] & SUP_TRACK_STALE)) continue;
        w->arrays.awake[cluster] &= (unsigned char)~SUP_TRACK_STALE;
        w->arrays.subdomain_bits[cluster] = 0;
        rhs_with_anchors(w, cluster);
        for (int32_t vertex = w->track->cluster_first[cluster]; vertex < w->track->cluster_first[cluster + 1];
             vertex++) {
            int32_t column = w->track->elimination[vertex], low = 0, high = subdomains->subdomain_count;
            while (low < high) { /* subdomain whose columns contain it; separator columns are in none */
                int32_t middle = (low + high) / 2;
                if (subdomains->column_first[middle + 1] <= column)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low < subdomains->subdomain_count) w->arrays.subdomain_bits[cluster] |= (uint64_t)1 << (low % 64);
        }
    }
}

/* Of its edges and its anchor. */
static inline float weight_of(const sup_track_work *w, int64_t vertex)
{
    return w->track->sum[vertex] + w->arrays.rhs[4 * vertex + 3];
}

static void compute_descent(sup_track_work *w, int64_t vertex)
{
    float *descent = w->arrays.descent + 4 * vertex;
    sup_four held = sup_four_splat(w->arrays.rhs[4 * vertex + 3]) * sup_four_load(w->arrays.position + 4 * vertex);
    sup_four sum =
        sup_four_load(w->arrays.rhs + 4 * vertex) - held - sup_track_laplacian(w->track, w->arrays.position, vertex);
    memcpy(descent, &sum, 3 * sizeof *descent);
    constrain(w, vertex, descent);
    if (!w->solves) return;
    float *solve = w->arrays.solve + 4 * (int64_t)w->track->elimination[vertex];
    memcpy(solve, descent, 3 * sizeof *solve);
    solve[3] = 1.0f; /* marks the vertex as requested */
}

static void descent_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, compute_descent);
}

static double dot3(const float *a, const float *b)
{
    return (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1] + (double)a[2] * (double)b[2];
}

/* Projects z into the tangent planes, and computes r . z. */
static void slope_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i];
        double descends = 0.0;
        for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
            float *z = w->arrays.solve + 4 * (int64_t)track->elimination[vertex];
            constrain(w, vertex, z);
            descends += dot3(z, w->arrays.descent + 4 * vertex);
        }
        w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster] = descends;
    }
}

/* The search direction d: z plus a fraction of the previous direction. */
static void update_direction(sup_track_work *w, int64_t vertex)
{
    float *direction = w->arrays.direction + 4 * vertex;
    const float *z = w->arrays.solve + 4 * (int64_t)w->track->elimination[vertex];
    for (int c = 0; c < 3; c++)
        direction[c] = z[c] + (float)w->keep * direction[c];
    constrain(w, vertex, direction);
}

static void direction_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, update_direction);
}

/* r . d and d . L d; stores L d in place of z. */
static void curvature_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i];
        double descends = 0.0, curvature = 0.0;
        for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
            const float *d = w->arrays.direction + 4 * vertex;
            float *image = w->arrays.solve + 4 * (int64_t)track->elimination[vertex];
            sup_four sum = sup_track_laplacian(track, w->arrays.direction, vertex);
            sum += sup_four_splat(w->arrays.rhs[4 * vertex + 3]) * sup_four_load(d);
            memcpy(image, &sum, 3 * sizeof *image);
            descends += dot3(d, w->arrays.descent + 4 * vertex);
            curvature += dot3(d, image);
        }
        w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster] = descends;
        w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster + 1] = curvature;
    }
}

/* A Newton step where vertices moved so far that their values may have changed: sums[2] is the number of
 * evaluations. */
static void reproject_drifted(sup_track_work *w, int32_t cluster)
{
    float held = 0.0f;
    for (int64_t vertex = w->track->cluster_first[cluster]; vertex < w->track->cluster_first[cluster + 1]; vertex++)
        held = sup_track_max(held, w->arrays.position[4 * vertex + 3]);
    bool far = w->arrays.drift[cluster] > (held > 0.0f ? MAX_DRIFT_IN_CONTACT : MAX_DRIFT);
    w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster + 2] =
        far ? (double)(w->track->cluster_first[cluster + 1] - w->track->cluster_first[cluster]) : 0.0;
    if (far) sup_track_newton_step(w, cluster);
}

/* Step of a vertex in this iteration: the Jacobi step; after a solve first along d, then a Jacobi step with the
 * remaining residual b - L (p + scale d), in the same plane. */
static void vertex_step(const sup_track_work *w, int64_t vertex, float step[3])
{
    const sup_track *track = w->track;
    const float *descent = w->arrays.descent + 4 * vertex, *d = w->arrays.direction + 4 * vertex;
    float weight = weight_of(w, vertex), jacobi = weight > 0.0f ? DAMPING / weight : 0.0f, residual[3],
          scale = (float)w->scale;
    memcpy(residual, descent, sizeof residual);
    step[0] = step[1] = step[2] = 0.0f;
    if (w->solves) {
        memcpy(residual, w->arrays.solve + 4 * (int64_t)track->elimination[vertex], sizeof residual);
        project_tangent(&track->target[vertex], w->arrays.normal + 4 * vertex, residual);
        for (int c = 0; c < 3; c++) {
            residual[c] = descent[c] - scale * residual[c];
            step[c] = scale * d[c];
        }
        apply_barrier(w->arrays.barrier + 4 * vertex, residual);
    }
    for (int c = 0; c < 3; c++)
        step[c] += jacobi * residual[c];
}

static void move_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i];
        double square = 0.0;
        float moved = 0.0f;
        for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
            float step[3];
            vertex_step(w, vertex, step);
            float length = sqrtf((float)dot3(step, step)) / track->target[vertex].edge;
            float scale = length > MAX_STEP ? MAX_STEP / length : 1.0f;
            for (int c = 0; c < 3; c++)
                w->arrays.position[4 * vertex + c] += scale * step[c];
            length *= scale;
            square += (double)length * (double)length;
            moved = sup_track_max(moved, length);
        }
        w->arrays.moved[cluster] = moved;
        w->arrays.drift[cluster] += moved;
        w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster] = square;
        reproject_drifted(w, cluster);
    }
}

/* --- Outliers --- */

/* Vector from a vertex to the mean of its neighbours; positions [vertex_count*4]. */
static inline sup_four to_ring_mean(const sup_track *track, const float *positions, int64_t vertex)
{
    sup_four here = sup_four_load(positions + 4 * vertex), sum = sup_four_splat(0.0f);
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        sum += sup_four_splat(track->mean[e]) * (sup_four_load(positions + 4 * (int64_t)track->other[e]) - here);
    return sum;
}

/* Stores the vector to the mean of the neighbours in `direction` if it is much longer than at rest. Rotations are not
 * used: they are unreliable in the flaps that dual quaternions make of deep folds. */
static void find_outlier(sup_track_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    float *direction = w->arrays.direction + 4 * vertex, offset[4], rest[4], edge = track->target[vertex].edge;
    sup_four now = to_ring_mean(track, w->arrays.position, vertex);
    memcpy(offset, &now, sizeof offset);
    direction[3] = 0.0f;
    if (!(dot3(offset, offset) > (double)(OUTLIER * OUTLIER * edge * edge))) return;
    now = to_ring_mean(track, track->rest, vertex);
    memcpy(rest, &now, sizeof rest);
    if (!(sqrt(dot3(offset, offset)) > sqrt(dot3(rest, rest)) + (double)(OUTLIER * edge))) return;
    memcpy(direction, offset, 3 * sizeof *direction);
    direction[3] = 1.0f;
}

static void find_outlier_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, find_outlier);
}

static void move_outlier(sup_track_work *w, int64_t vertex)
{
    const float *direction = w->arrays.direction + 4 * vertex;
    for (int c = 0; c < 3 && direction[3] > 0.0f; c++)
        w->arrays.position[4 * vertex + c] += direction[c];
}

static void move_outlier_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, move_outlier);
}

void sup_track_fix_outliers(sup_track_work *w)
{
    sup_track_run(w, find_outlier_range);
    sup_track_run(w, move_outlier_range);
}

static double total(const sup_track_work *w, int32_t which)
{
    double sum = 0.0;
    for (int32_t i = 0; i < w->awake_count; i++)
        sum += w->arrays.sums[SUP_TRACK_SUMS * (int64_t)w->arrays.list[i] + which];
    return sum;
}

/* --- The factor restricted to subdomains with awake vertices --- */

static bool is_used(const sup_track_work *w, int32_t subdomain)
{
    return (w->subdomains >> (subdomain % 64) & 1) != 0;
}

static void forward_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t subdomain = begin; subdomain < end; subdomain++)
        if (is_used(w, subdomain))
            sup_float_subdomain_forward4(&w->track->factor, &w->track->subdomains, subdomain, w->arrays.solve);
}

static void backward_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t subdomain = begin; subdomain < end; subdomain++)
        if (is_used(w, subdomain))
            sup_float_subdomain_backward4(&w->track->factor, &w->track->subdomains, subdomain, w->arrays.solve);
}

/* Clears the columns of the used subdomains and of the separator, and the slots that the unused subdomains do not
 * write. */
static void clear_solve(sup_track_work *w)
{
    const sup_float_subdomains *subdomains = &w->track->subdomains;
    float *solve = w->arrays.solve;
    w->subdomains = 0;
    for (int32_t i = 0; i < w->awake_count; i++)
        w->subdomains |= w->arrays.subdomain_bits[w->arrays.list[i]];
    for (int32_t subdomain = 0; subdomain < subdomains->subdomain_count; subdomain++) {
        bool used = is_used(w, subdomain);
        int64_t first =
            used ? subdomains->column_first[subdomain] : w->track->vertex_count + subdomains->slot_first[subdomain];
        int64_t end = used ? subdomains->column_first[subdomain + 1]
                           : w->track->vertex_count + subdomains->slot_first[subdomain + 1];
        memset(solve + 4 * first, 0, 4 * (size_t)(end - first) * sizeof(float));
    }
    int64_t separator = subdomains->column_first[subdomains->subdomain_count];
    memset(solve + 4 * separator, 0, 4 * (size_t)(w->track->vertex_count - separator) * sizeof(float));
}

/* Computes the search direction of this iteration and its scale. */
static void choose_direction(sup_track_work *w)
{
    const sup_track *track = w->track;
    sup_parallel(w->context, track->subdomains.subdomain_count, 1, forward_range, w);
    sup_float_separator_solve4(&track->factor, &track->subdomains, w->arrays.solve);
    sup_parallel(w->context, track->subdomains.subdomain_count, 1, backward_range, w);
    sup_track_run(w, slope_range);
    double slope = total(w, 0);
    w->keep = w->slope > 0.0 ? fmin(slope / w->slope, MAX_KEEP) : 0.0;
    w->slope = slope;
    sup_track_run(w, direction_range);
    sup_track_run(w, curvature_range);
    double descends = total(w, 0), curvature = total(w, 1);
    w->scale = descends > 0.0 && curvature > 0.0 ? fmin(STEP_SCALE * descends / curvature, 2.0) : 0.0;
}

int32_t sup_track_relax(sup_track_work *w, float *moved)
{
    int32_t iteration = 0;
    *moved = 0.0f;
    for (int32_t i = 0; i < w->awake_count; i++) /* repaired outliers */
        sup_track_clear_directions(w, w->arrays.list[i]);
    for (bool busy = w->awake_count > 0; busy && iteration < w->input->iterations; iteration++) {
        w->solves = w->input->solver == SUP_TRACK_FACTOR && iteration % (JACOBI_ITERATIONS + 1) == 0;
        /* With the factor, Jacobi steps alone do not measure convergence over long distances. */
        bool can_stop = w->solves || w->input->solver == SUP_TRACK_JACOBI;
        if (w->input->shape) sup_track_fit_rotations(w);
        if (w->has_stale) sup_track_run(w, rhs_range);
        if (w->solves) clear_solve(w);
        sup_track_run(w, descent_range);
        if (w->solves) choose_direction(w);
        sup_track_run(w, move_range);
        *moved = (float)sqrt(total(w, 0) / (double)w->awake_vertices);
        w->evaluations += (int64_t)total(w, 2);
        busy = *moved > w->input->tolerance || !can_stop;
        if (busy) sup_track_update_awake(w, can_stop);
        busy = busy && w->awake_count > 0;
    }
    return iteration;
}
