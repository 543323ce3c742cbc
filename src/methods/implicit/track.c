/* track.c - one sub-frame of tracking: waking clusters and rigid motion.
 *
 * Based on: [vaillant2014iso] section 5. */
#include "methods/implicit/track_work.h"

/* Relative motion of two joints below this, in radians and sizes, is rounding error. */
static const float MOTION_NOISE = 3e-6f;
/* Cosine of half the rotation angle from which on a joint counts as fully bent: 0.5 radians. */
static const float BENT = 0.9689124f;
/* Newton steps of the first projection, and of the one that ends a sub-frame. */
enum { FIRST_STEPS = 8, LAST_STEPS = 4, TRANSFORM_GRAIN = 16 };
/* Length in edge lengths of a Newton step that is not verified at the end of a sub-frame. */
static const float MAX_UNCHECKED_STEP = 0.002f;

/* Maximum coordinate in sizes: with a size of 1e18 units, sums of several stay in the range of floats. */
static const float MAX_COORDINATE = 1e12f;

/* --- State --- */

typedef struct carving {
    unsigned char *base;
    size_t at;
} carving;

/* Uses integers: with a NULL base only the sizes are computed. */
static void *carve(carving *c, size_t count, size_t size)
{
    uintptr_t memory = (uintptr_t)c->base + c->at;
    c->at += (count * size + 63) / 64 * 64;
    return (void *)memory; /* NOLINT(performance-no-int-to-ptr) */
}

/* Arrays that a sub-frame leaves for the next come first: `kept` bytes. */
static size_t carve_arrays(const sup_track *track, unsigned char *base, sup_track_arrays *arrays, size_t *kept)
{
    carving c = {base, 0};
    size_t count = (size_t)track->vertex_count, clusters = (size_t)track->cluster_count;
    arrays->position = carve(&c, 4 * count, sizeof(float));
    arrays->normal = carve(&c, 4 * count, sizeof(float));
    arrays->transform = carve(&c, 12 * count, sizeof(float));
    arrays->barrier = carve(&c, 4 * count, sizeof(float));
    arrays->awake = carve(&c, clusters, 1);
    *kept = c.at;
    arrays->rhs = carve(&c, 4 * count, sizeof(float));
    arrays->descent = carve(&c, 4 * count, sizeof(float));
    arrays->direction = carve(&c, 4 * count, sizeof(float));
    arrays->carried = carve(&c, 4 * count, sizeof(float));
    arrays->solve = carve(&c, 4 * (count + (size_t)track->subdomains.slot_count), sizeof(float));
    arrays->sums = carve(&c, clusters * SUP_TRACK_SUMS, sizeof(double));
    arrays->moved = carve(&c, clusters, sizeof(float));
    arrays->drift = carve(&c, clusters, sizeof(float));
    arrays->list = carve(&c, clusters, sizeof(int32_t));
    arrays->motion_class = carve(&c, (size_t)track->joint_count, sizeof(int32_t));
    arrays->straight = carve(&c, (size_t)track->joint_count, sizeof(float));
    arrays->subdomain_bits = carve(&c, clusters, sizeof(uint64_t));
    arrays->proximity[0] = carve(&c, 2 * count, sizeof(float));
    arrays->proximity[1] = carve(&c, 2 * count, sizeof(float));
    return c.at;
}

sup_track_arrays sup_track_arrays_of(const sup_track *track, void *state)
{
    sup_track_arrays arrays;
    size_t kept;
    carve_arrays(track, state, &arrays, &kept);
    return arrays;
}

/* Read-only access to a state. */
static sup_track_arrays arrays_read(const sup_track *track, const void *state)
{
    union {
        const void *from;
        void *to;
    } memory = {state};
    return sup_track_arrays_of(track, memory.to);
}

size_t sup_track_state_size(const sup_track *track)
{
    sup_track_arrays arrays;
    size_t kept;
    return carve_arrays(track, NULL, &arrays, &kept);
}

size_t sup_track_saved_size(const sup_track *track)
{
    sup_track_arrays arrays;
    size_t kept;
    carve_arrays(track, NULL, &arrays, &kept);
    return kept;
}

/* Transforms a position and its normal. */
static void transform_vertex(const float m[12], float *position, float *normal)
{
    float p[3], n[3], square = 0.0f;
    for (int r = 0; r < 3; r++) {
        p[r] = m[4 * r] * position[0] + m[4 * r + 1] * position[1] + m[4 * r + 2] * position[2] + m[4 * r + 3];
        n[r] = m[4 * r] * normal[0] + m[4 * r + 1] * normal[1] + m[4 * r + 2] * normal[2];
        square += n[r] * n[r];
    }
    memcpy(position, p, sizeof p);
    if (square > 0.0f)
        for (int r = 0; r < 3; r++)
            normal[r] = n[r] / sqrtf(square);
}

void sup_track_reset(const sup_track *track, void *state, const float transform[12])
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    memset(state, 0, sup_track_state_size(track));
    for (int64_t i = 0; i < track->vertex_count; i++) {
        memcpy(arrays.position + 4 * i, track->rest + 4 * i, 3 * sizeof(float));
        memcpy(arrays.normal + 4 * i, track->inward + 4 * i, 3 * sizeof(float));
        memcpy(arrays.transform + 12 * i, transform, 12 * sizeof(float));
        transform_vertex(transform, arrays.position + 4 * i, arrays.normal + 4 * i);
    }
}

bool sup_track_is_moving(const sup_track *track, const void *state)
{
    const unsigned char *awake = arrays_read(track, state).awake;
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++)
        if (awake[cluster] != 0) return true;
    return false;
}

void sup_track_stop(const sup_track *track, void *state)
{
    memset(sup_track_arrays_of(track, state).awake, 0, (size_t)track->cluster_count);
}

void sup_track_shift(const sup_track *track, void *state, const float by[3])
{
    sup_track_arrays arrays = sup_track_arrays_of(track, state);
    for (int64_t i = 0; i < track->vertex_count; i++)
        for (int c = 0; c < 3; c++) {
            arrays.position[4 * i + c] += by[c];
            arrays.transform[12 * i + 4 * c + 3] += by[c];
        }
}

float *sup_track_positions(const sup_track *track, void *state)
{
    return sup_track_arrays_of(track, state).position;
}

const float *sup_track_transforms(const sup_track *track, const void *state)
{
    return arrays_read(track, state).transform;
}

bool sup_track_arrays_usable(const sup_track_arrays *arrays, int64_t begin, int64_t end)
{
    /* Magnitudes as bits: Inf and NaN compare greater than all finite values. */
    uint32_t farthest = 0, normals = 0, limit;
    memcpy(&limit, &MAX_COORDINATE, sizeof limit);
    for (int64_t i = 4 * begin; i < 4 * end; i++) {
        uint32_t position, normal;
        memcpy(&position, arrays->position + i, sizeof position);
        memcpy(&normal, arrays->normal + i, sizeof normal);
        position &= 0x7fffffffu;
        normal &= 0x7fffffffu;
        farthest = position > farthest ? position : farthest;
        normals = normal > normals ? normal : normals;
    }
    return farthest <= limit && normals < 0x7f800000u;
}

bool sup_track_usable(const sup_track *track, const void *state)
{
    sup_track_arrays arrays = arrays_read(track, state);
    return sup_track_arrays_usable(&arrays, 0, track->vertex_count);
}

/* --- Waking --- */

void sup_track_run(sup_track_work *work, sup_task_fn *fn)
{
    sup_parallel(work->context, work->awake_count, SUP_TRACK_GRAIN, fn, work);
}

bool sup_track_same_motion(const float a[12], const float b[12])
{
    for (int i = 0; i < 12; i++)
        if (!(fabsf(a[i] - b[i]) <= MOTION_NOISE)) return false;
    return true;
}

/* Bounding box of a cluster. */
typedef struct bounds {
    float low[4], high[4];
} bounds;

static bool overlaps(const bounds *b, const float box[6])
{
    return b->low[0] <= box[3] && b->high[0] >= box[0] && b->low[1] <= box[4] && b->high[1] >= box[1] &&
           b->low[2] <= box[5] && b->high[2] >= box[2];
}

static bounds bounds_of(const sup_track_work *w, int32_t cluster)
{
    bounds b = {{INFINITY, INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    for (int64_t vertex = w->track->cluster_first[cluster]; vertex < w->track->cluster_first[cluster + 1]; vertex++)
        for (int c = 0; c < 4; c++) {
            b.low[c] = sup_track_min(b.low[c], w->arrays.position[4 * vertex + c]);
            b.high[c] = sup_track_max(b.high[c], w->arrays.position[4 * vertex + c]);
        }
    return b;
}

static void find_motion_classes(const sup_track_work *w)
{
    const sup_track_joint *joints = w->input->joints;
    for (int32_t j = 0; j < w->track->joint_count; j++) {
        w->arrays.motion_class[j] = j;
        for (int32_t k = 0; k < j && w->arrays.motion_class[j] == j; k++)
            if (w->arrays.motion_class[k] == k && sup_track_same_motion(joints[k].motion, joints[j].motion))
                w->arrays.motion_class[j] = k;
    }
}

/* Straightness of regions: from cosines of half the rotation between adjacent regions. */
static void find_straight(const sup_track_work *w)
{
    const sup_track *track = w->track;
    for (int32_t j = 0; j < track->joint_count; j++)
        w->arrays.straight[j] = 1.0f;
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++)
        for (int32_t k = track->neighbour_first[cluster]; k < track->neighbour_first[cluster + 1]; k++) {
            int32_t a = track->cluster_joint[cluster], b = track->cluster_joint[track->neighbour[k]];
            if (a == b) continue;
            const float *p = w->input->joints[a].rigid, *q = w->input->joints[b].rigid;
            float cosine = fabsf(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]);
            float straight = sup_track_max(0.0f, 1.0f - (1.0f - cosine) / (1.0f - BENT));
            w->arrays.straight[a] = sup_track_min(w->arrays.straight[a], straight);
        }
}

/* Whether a field that overlaps these bounds moves relative to the region, or changed shape. */
static bool field_moves(const sup_track_work *w, int32_t cluster, const bounds *b, const float *boxes)
{
    const sup_track_field_bounds *field_bounds = &w->input->field_bounds;
    int32_t own = w->arrays.motion_class[w->track->cluster_joint[cluster]];
    for (int32_t f = 0; f < field_bounds->field_count; f++)
        if ((w->arrays.motion_class[field_bounds->joint[f]] != own ||
             (field_bounds->changed != NULL && field_bounds->changed[f])) &&
            overlaps(b, boxes + 6 * (int64_t)f))
            return true;
    return false;
}

static bool rotation_moves(const sup_track_work *w, int32_t cluster)
{
    int32_t own = w->arrays.motion_class[w->track->cluster_joint[cluster]];
    for (int32_t i = w->track->moved_by_first[cluster]; i < w->track->moved_by_first[cluster + 1]; i++)
        if (w->arrays.motion_class[w->track->moved_by[i]] != own) return true;
    return false;
}

/* Maximum displacement towards the dual quaternion position, in edge lengths: a longer one could end on another
 * limb. */
static const float HOLD_STEP = 0.5f;

/* Vertices that the artist excludes from relaxation have no memory: they move to their dual quaternion position. With
 * their bone's position alone, all stretch of a joint would be in the triangles between two regions. In contact they
 * stay. */
static void pull_to_skinned(const sup_track *track, const float transform[12], int64_t vertex, float *position)
{
    const sup_track_target *target = &track->target[vertex];
    const float *rest = track->rest + 4 * vertex;
    float hold = (1.0f - target->relax) * (1.0f - position[3]), offset[3], square = 0.0f;
    if (!(hold > 0.0f)) return;
    for (int r = 0; r < 3; r++) {
        const float *m = transform + 4 * r;
        offset[r] = hold * (m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3] - position[r]);
        square += offset[r] * offset[r];
    }
    float limit = HOLD_STEP * target->edge, scale = square > limit * limit ? limit / sqrtf(square) : 1.0f;
    for (int r = 0; r < 3; r++)
        position[r] += scale * offset[r];
}

void sup_track_clear_directions(const sup_track_work *w, int32_t cluster)
{
    int32_t first = w->track->cluster_first[cluster], count = w->track->cluster_first[cluster + 1] - first;
    memset(w->arrays.direction + 4 * (int64_t)first, 0, 4 * (size_t)count * sizeof(float));
}

/* First stage: clusters move rigidly with their bone; those affected by a relative motion wake up. */
static void transform_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        const sup_track_joint *joint = &w->input->joints[track->cluster_joint[cluster]];
        bool rotated =
            w->input->all || (w->arrays.awake[cluster] & SUP_TRACK_MOVING) != 0 || rotation_moves(w, cluster);
        bounds b = bounds_of(w, cluster);
        bool wakes = rotated || field_moves(w, cluster, &b, w->input->field_bounds.previous_box);
        for (int64_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++) {
            if (joint->moves)
                transform_vertex(joint->motion, w->arrays.position + 4 * vertex, w->arrays.normal + 4 * vertex);
            if (wakes)
                pull_to_skinned(track, w->arrays.transform + 12 * vertex, vertex, w->arrays.position + 4 * vertex);
        }
        if (joint->moves) b = bounds_of(w, cluster);
        wakes = wakes || field_moves(w, cluster, &b, w->input->field_bounds.box);
        int awake =
            wakes ? SUP_TRACK_AWAKE | SUP_TRACK_STALE | SUP_TRACK_WAS_AWAKE | (rotated ? SUP_TRACK_ROTATED : 0) : 0;
        w->arrays.awake[cluster] = (unsigned char)awake;
        w->arrays.moved[cluster] = w->arrays.drift[cluster] = 0.0f;
        sup_track_clear_directions(w, cluster);
    }
}

/* Lists the clusters that have one of the bits. Most have none: eight are tested at a time; the array is padded. */
static void list_clusters(sup_track_work *w, int bits)
{
    w->awake_count = w->awake_vertices = 0;
    w->has_stale = false;
    for (int32_t first = 0; first < w->track->cluster_count; first += 8) {
        uint64_t eight;
        memcpy(&eight, w->arrays.awake + first, sizeof eight);
        if (!(eight & (uint64_t)bits * 0x0101010101010101u)) continue;
        for (int32_t cluster = first; cluster < first + 8 && cluster < w->track->cluster_count; cluster++) {
            if (!(w->arrays.awake[cluster] & bits)) continue;
            w->awake_vertices += w->track->cluster_first[cluster + 1] - w->track->cluster_first[cluster];
            w->arrays.list[w->awake_count++] = cluster;
            w->has_stale = w->has_stale || (w->arrays.awake[cluster] & SUP_TRACK_STALE) != 0;
        }
    }
}

/* Clusters that woke up for a field that moved none of their vertices and holds none go back to sleep: only the
 * bounding box of the field overlapped them. */
static void sleep_unmoved(sup_track_work *w)
{
    for (int32_t i = 0; i < w->awake_count; i++) {
        int32_t cluster = w->arrays.list[i];
        bool stepped = w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster + 1] != 0.0;
        if (!stepped && !(w->arrays.awake[cluster] & SUP_TRACK_ROTATED)) w->arrays.awake[cluster] = 0;
    }
    list_clusters(w, SUP_TRACK_AWAKE);
}

void sup_track_update_awake(sup_track_work *w, bool sleep)
{
    const sup_track *track = w->track;
    const float *moved = w->arrays.moved, tolerance = w->input->tolerance;
    unsigned char *awake = w->arrays.awake;
    for (int32_t i = 0; i < w->awake_count; i++) {
        int32_t cluster = w->arrays.list[i];
        bool moves = moved[cluster] > tolerance, neighbour_moves = false;
        for (int32_t k = track->neighbour_first[cluster]; k < track->neighbour_first[cluster + 1] && (moves || sleep);
             k++) {
            int32_t neighbour = track->neighbour[k];
            neighbour_moves = neighbour_moves || moved[neighbour] > tolerance;
            if (moves && !(awake[neighbour] & SUP_TRACK_AWAKE))
                awake[neighbour] |=
                    SUP_TRACK_AWAKE |
                    (awake[neighbour] & SUP_TRACK_WAS_AWAKE ? 0 : SUP_TRACK_STALE | SUP_TRACK_WAS_AWAKE);
        }
        if (!sleep || moves || neighbour_moves) continue;
        awake[cluster] &= (unsigned char)~SUP_TRACK_AWAKE;
        sup_track_clear_directions(w, cluster);
    }
    list_clusters(w, SUP_TRACK_AWAKE);
}

/* --- A sub-frame --- */

/* Keeps a fraction of the displacement of the listed clusters since their rigid motion. */
static void damp_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const float activity = w->input->activity;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i];
        for (int64_t k = 4 * (int64_t)w->track->cluster_first[cluster];
             k < 4 * (int64_t)w->track->cluster_first[cluster + 1]; k++)
            w->arrays.position[k] = w->arrays.carried[k] + activity * (w->arrays.position[k] - w->arrays.carried[k]);
    }
}

void sup_track_step(const sup_context *context, const sup_track *track, void *state, const sup_track_input *input,
                    sup_track_report *report)
{
    sup_track_work work = {.context = context, .track = track, .input = input};
    work.arrays = sup_track_arrays_of(track, state);
    find_motion_classes(&work);
    find_straight(&work);
    sup_track_blend_transforms(&work);
    sup_parallel(context, track->cluster_count, TRANSFORM_GRAIN, transform_range, &work);
    list_clusters(&work, SUP_TRACK_AWAKE);
    if (input->activity < 1.0f)
        memcpy(work.arrays.carried, work.arrays.position, 4 * (size_t)track->vertex_count * sizeof(float));
    memset(report, 0, sizeof *report);
    sup_track_fix_outliers(&work);
    sup_track_project(&work, FIRST_STEPS, -1.0f);
    sleep_unmoved(&work);
    report->iterations = sup_track_relax(&work, &report->moved);
    list_clusters(&work, SUP_TRACK_WAS_AWAKE);
    sup_track_project(&work, LAST_STEPS, MAX_UNCHECKED_STEP);
    if (input->activity < 1.0f) sup_track_run(&work, damp_range);
    for (int32_t i = 0; i < work.awake_count; i++) {
        int32_t cluster = work.arrays.list[i];
        work.arrays.awake[cluster] = work.arrays.moved[cluster] > input->tolerance ? SUP_TRACK_MOVING : 0;
    }
    report->awake = work.awake_vertices;
    report->evaluations = work.evaluations;
}
