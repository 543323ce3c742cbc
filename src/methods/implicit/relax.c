/* relax.c - vertices slide over their iso-surfaces until edges are as near as can be to the rest edges, turned.
 *
 * Based on: [vaillant2014iso] sections 5.1 and 5.2, eq. 3 and 4. With prescribed rotations R the energy of eq. 3 is quadratic; half of its
 * gradient over two is L p - b, L the Laplacian of the weights and b_i = sum_j w_ij (R_i + R_j) / 2 (rest_i - rest_j).
 * The surface holds vertices in their tangent planes (eq. 4): downhill is r = T (b - L p), T = 1 - n n^T.
 *
 * Two ways down:
 *   jacobi   the paper's: every vertex to where its neighbours want it, in its plane; one Newton step. A disturbance
 *            passes one edge a round.
 *   factor   downhill by the constant matrix L + m M: one factor made at bind, a solve, z = T (L + m M)^-1 r, with the step
 *            length from the quadratic energy; a Jacobi step in the same planes takes away what creases, where planes of
 *            neighbours differ, left of z; then one Newton step. Rows that sleep have r = z = 0. PLAIN rounds of the
 *            paper's follow: along creases z is mostly out of the planes, and Jacobi steps are cheap and stay near.
 *            Deviates from the paper, to the same minimum. Directions go on from those before (conjugate gradients, at
 *            most KEEP of them), and m is large: a solve that reaches as far as a body is long moves whole limbs, which
 *            tangent planes then take apart; the best step along that is a hundredth of one along what stays near.
 *
 * A round costs at most one look at the field for each vertex either way. */
#include "methods/implicit/track_work.h"

/* Part of a Jacobi step that is taken: whole ones oscillate on fans with an even number of spokes. */
static const float DAMPING = 0.8f;
/* Rounds of Jacobi steps alone after one with a solve, and the part of the best step along z that is taken: planes turn on
 * the way. */
enum { JACOBI_ITERATIONS = 3 };
static const double STEP_SCALE = 0.7;
/* Most of the direction of the round before that is kept. */
static const double MAX_KEEP = 0.9;
/* Of the sum of a row's weights: how much it is held where its bone has it; and if it follows no field. */
static const float ANCHOR = 0.02f, ANCHOR_FREE = 0.05f;
/* Edges between a row and where its neighbours want it from which on it is torn off: it goes there through the air. */
static const float OUTLIER = 1.0f;
/* Farthest in a round, edges. */
static const float MAX_STEP = 1.0f;
/* Way, edges, from which on a block looks at the field again: sliding leaves a surface only as it curves; and at contacts. */
static const float MAX_DRIFT = 0.05f, MAX_DRIFT_IN_CONTACT = 0.003f;

/* How much a row is held where its bone has it, which is `place`: less as the joints of its part bend, unless it follows no field,
 * and the more dual quaternions have it elsewhere, nothing from an edge on. */
static float anchor_of(const sup_track_work *w, int64_t vertex, int32_t joint, float position[3])
{
    const float *rest = w->track->rest + 4 * vertex, *transform = w->arrays.transform + 12 * vertex,
                *bone = w->input->joints[joint].transform;
    float square = 0.0f;
    for (int r = 0; r < 3; r++) {
        const float *m = bone + 4 * r, *t = transform + 4 * r;
        float there = t[0] * rest[0] + t[1] * rest[1] + t[2] * rest[2] + t[3];
        position[r] = m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3];
        square += (there - position[r]) * (there - position[r]);
    }
    float hold = 1.0f - sqrtf(square) / w->track->target[vertex].edge;
    float strength = w->track->target[vertex].gradient > 0.0f ? ANCHOR * w->arrays.straight[joint] : ANCHOR_FREE;
    return hold > 0.0f ? strength * hold * w->track->sum[vertex] : 0.0f;
}

void sup_track_compute_rhs(const sup_track *track, const sup_track_arrays *arrays, int32_t cluster)
{
    for (int64_t i = track->cluster_first[cluster]; i < track->cluster_first[cluster + 1]; i++) {
        const sup_four rest = sup_four_load(track->rest + 4 * i);
        const float *own = arrays->transform + 12 * i;
        sup_four edges = sup_four_splat(0.0f),
                 sum[3] = {edges, edges, edges}; /* products along the edges, to be added up */
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

/* The same, with their anchors. */
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

/* v <- share * T v; free where no field is felt. */
static inline void project_tangent(const sup_track_target *target, const float *normal, float v[3])
{
    float along = target->gradient > 0.0f ? v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2] : 0.0f;
    for (int c = 0; c < 3; c++)
        v[c] = target->relax * (v[c] - along * normal[c]);
}

/* Not deeper into a contact than its sheet goes. */
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

/* --- Passes over the blocks that are awake --- */

/* What blocks that woke up need: loads, and where their rows are in the factor. */
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
        for (int32_t vertex = w->track->cluster_first[cluster]; vertex < w->track->cluster_first[cluster + 1]; vertex++) {
            int32_t column = w->track->elimination[vertex], low = 0, high = subdomains->part_count;
            while (low < high) { /* the part whose columns hold it; the top's are in none */
                int32_t middle = (low + high) / 2;
                if (subdomains->column_first[middle + 1] <= column)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low < subdomains->part_count) w->arrays.subdomain_bits[cluster] |= (uint64_t)1 << (low % 64);
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
    sup_four sum = sup_four_load(w->arrays.rhs + 4 * vertex) - held - sup_track_laplacian(w->track, w->arrays.position, vertex);
    memcpy(descent, &sum, 3 * sizeof *descent);
    constrain(w, vertex, descent);
    if (!w->solves) return;
    float *solve = w->arrays.solve + 4 * (int64_t)w->track->elimination[vertex];
    memcpy(solve, descent, 3 * sizeof *solve);
    solve[3] = 1.0f; /* the mark of a row that is asked for */
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

/* z, flattened, and r . z. */
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

/* The direction d: z, and what is left of that of the round before. */
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

/* r . d and d . L d; and L d, where z was. */
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

/* A Newton step, where rows went so far that their values may be others: sums[2] is how many were looked at. */
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

/* A row's way in this round: to where its neighbours want it; after a solve first along d, and then so with the pull that is
 * left, b - L (p + scale d), in the same plane. */
static void vertex_step(const sup_track_work *w, int64_t vertex, float step[3])
{
    const sup_track *track = w->track;
    const float *descent = w->arrays.descent + 4 * vertex, *d = w->arrays.direction + 4 * vertex;
    float weight = weight_of(w, vertex), jacobi = weight > 0.0f ? DAMPING / weight : 0.0f, residual[3], scale = (float)w->scale;
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

/* --- Rows that are torn off --- */

/* From a row to the middle of its neighbours, of places [row_count*4]. */
static inline sup_four to_ring_mean(const sup_track *track, const float *positions, int64_t vertex)
{
    sup_four here = sup_four_load(positions + 4 * vertex), sum = sup_four_splat(0.0f);
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        sum += sup_four_splat(track->mean[e]) * (sup_four_load(positions + 4 * (int64_t)track->other[e]) - here);
    return sum;
}

/* The way of a row to the middle of its neighbours, if that is much farther than at rest: into `move`. Rotations have no say: in the
 * flaps that dual quaternions make of deep folds they are no guide. */
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

/* --- The factor on the parts that hold rows that are awake --- */

static bool is_used(const sup_track_work *w, int32_t subdomain)
{
    return (w->subdomains >> (subdomain % 64) & 1) != 0;
}

static void forward_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t subdomain = begin; subdomain < end; subdomain++)
        if (is_used(w, subdomain)) sup_float_subdomain_forward4(&w->track->factor, &w->track->subdomains, subdomain, w->arrays.solve);
}

static void backward_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t subdomain = begin; subdomain < end; subdomain++)
        if (is_used(w, subdomain)) sup_float_subdomain_backward4(&w->track->factor, &w->track->subdomains, subdomain, w->arrays.solve);
}

/* Zeros where no pull will be: rows of the used parts and of the top; and slots that the others do not write. */
static void clear_solve(sup_track_work *w)
{
    const sup_float_subdomains *subdomains = &w->track->subdomains;
    float *solve = w->arrays.solve;
    w->subdomains = 0;
    for (int32_t i = 0; i < w->awake_count; i++)
        w->subdomains |= w->arrays.subdomain_bits[w->arrays.list[i]];
    for (int32_t subdomain = 0; subdomain < subdomains->part_count; subdomain++) {
        bool used = is_used(w, subdomain);
        int64_t first = used ? subdomains->column_first[subdomain] : w->track->vertex_count + subdomains->slot_first[subdomain];
        int64_t end = used ? subdomains->column_first[subdomain + 1] : w->track->vertex_count + subdomains->slot_first[subdomain + 1];
        memset(solve + 4 * first, 0, 4 * (size_t)(end - first) * sizeof(float));
    }
    int64_t separator = subdomains->column_first[subdomains->part_count];
    memset(solve + 4 * separator, 0, 4 * (size_t)(w->track->vertex_count - separator) * sizeof(float));
}

/* Sets the direction of this round and its scale. */
static void choose_direction(sup_track_work *w)
{
    const sup_track *track = w->track;
    sup_parallel(w->context, track->subdomains.part_count, 1, forward_range, w);
    sup_float_separator_solve4(&track->factor, &track->subdomains, w->arrays.solve);
    sup_parallel(w->context, track->subdomains.part_count, 1, backward_range, w);
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
    for (int32_t i = 0; i < w->awake_count; i++) /* of rows that were mended */
        sup_track_clear_directions(w, w->arrays.list[i]);
    for (bool busy = w->awake_count > 0; busy && iteration < w->input->iterations; iteration++) {
        w->solves = w->input->solver == SUP_TRACK_FACTOR && iteration % (JACOBI_ITERATIONS + 1) == 0;
        bool can_stop =
            w->solves || w->input->solver == SUP_TRACK_JACOBI; /* Jacobi steps alone say nothing of long ways */
        if (w->input->shape) sup_track_fit_rotations(w);
        if (w->fresh) sup_track_run(w, rhs_range);
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
