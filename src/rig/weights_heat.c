/* weights_heat.c - skinning weights by bone heat: the equilibrium of heat that flows from the bones into the skin.
 *
 * I. Baran, J. Popovic, "Automatic rigging and animation of 3D characters", ACM TOG 26(3), 2007 (key
 * baran2007pinocchio), skin attachment: -Lap(w_j) + H w_j = H p_j, H_ii = c / d_i^2 with d_i the distance to the
 * nearest bone, c = 1, p_ij = 1 where bone j is the nearest of vertex i, divided equally among bones at the same
 * distance. Deviations, for open, non-manifold and layered meshes:
 * - the nearest visible bone is used instead of the nearest one; visibility is tested with a ray against the triangles.
 *   The distance of a bone outside the surface is increased by a factor. A bone that only other components hide (skin
 *   below clothes) is used if no bone inside the surface is visible. A component without any visible bone uses its
 *   nearest bones;
 * - the Laplacian has no negative weights (geometry/laplace.h), so weights stay in [0, 1];
 * - H has a lower bound relative to the Laplacian, so that the system is always positive definite. */
#include "rig/weights.h"

#include "geometry/bvh.h"
#include "geometry/laplace.h"
#include "linalg/cholesky.h"

enum {
    MAX_SHARED = 16,   /* bones at the same distance from a vertex */
    MAX_TESTED = 12,   /* visibility tests per vertex, nearest bones first */
    BONE_SAMPLES = 17, /* inside tests per bone */
    LANES = 8,         /* bones per solve */
    VERTEX_GRAIN = 256
};
static const double equal_distance = 1e-4; /* relative difference of distances that count as equal */
static const double outside_factor = 4.0;  /* of the distance of a bone outside the surface */
static const double hidden_factor = 8.0;   /* of the distance of a bone that other components hide */
static const double smallest_weight = 1e-4;

typedef struct heat {
    const sup_weights_input *in;
    sup_context context;
    sup_arena arena;
    sup_bvh bvh;
    double size;              /* diagonal of the bounding box of skin and bones */
    int32_t *component;       /* [vertex_count] root vertex of the connected component */
    unsigned char *inside;    /* [joint_count*BONE_SAMPLES] */
    double *heat;             /* [vertex_count] H, 1/unit^2; 0 = no visible bone */
    int32_t *source_count;    /* [vertex_count] */
    int32_t *source;          /* [vertex_count*MAX_SHARED] bones that heat the vertex */
    double *candidate;        /* [worker_count*joint_count] scratch: distances */
    unsigned char *has_heat;  /* [vertex_count] by component root */
    int32_t *influence_count; /* [vertex_count] */
} heat;

/* Foot point of a vertex on a bone. */
typedef struct bone_distance {
    double t, distance; /* parameter in [0, 1] and distance */
} bone_distance;

static sup_vec3d bone_point(const sup_weights_input *in, int32_t joint, double t)
{
    sup_vec3d head = sup_v3_load(in->bone_head + (int64_t)joint * 3);
    return sup_v3_lerp(head, sup_v3_load(in->bone_tail + (int64_t)joint * 3), t);
}

static bone_distance nearest_on_bone(const sup_weights_input *in, int32_t vertex, int32_t joint)
{
    sup_vec3d p = sup_v3_load(in->positions + (int64_t)vertex * 3);
    sup_vec3d head = sup_v3_load(in->bone_head + (int64_t)joint * 3);
    sup_vec3d tail = sup_v3_load(in->bone_tail + (int64_t)joint * 3);
    bone_distance s;
    s.t = sup_v3_segment_parameter(p, head, tail);
    s.distance = sup_v3_distance(p, sup_v3_lerp(head, tail, s.t));
    return s;
}

/* --- Preparation --- */

static void grow_box(sup_vec3d p, double low[3], double high[3])
{
    const double at[3] = {p.x, p.y, p.z};
    for (int k = 0; k < 3; k++) {
        if (at[k] < low[k]) low[k] = at[k];
        if (at[k] > high[k]) high[k] = at[k];
    }
}

static double character_size(const sup_weights_input *in)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t v = 0; v < in->vertex_count; v++)
        grow_box(sup_v3_load(in->positions + (int64_t)v * 3), low, high);
    for (int32_t j = 0; j < in->joint_count; j++) {
        grow_box(bone_point(in, j, 0.0), low, high);
        grow_box(bone_point(in, j, 1.0), low, high);
    }
    sup_vec3d diagonal = sup_v3(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
    double size = sup_v3_length(diagonal);
    return size > 0.0 ? size : 1.0;
}

static int32_t find_root(int32_t *component, int32_t v)
{
    while (component[v] != v) {
        component[v] = component[component[v]];
        v = component[v];
    }
    return v;
}

static void find_components(heat *h)
{
    const sup_weights_input *in = h->in;
    for (int32_t v = 0; v < in->vertex_count; v++)
        h->component[v] = v;
    for (int64_t k = 0; k < (int64_t)in->triangle_count * 3; k++) {
        int32_t a = find_root(h->component, in->triangles[k]);
        int32_t b = find_root(h->component, in->triangles[k % 3 == 2 ? k - 2 : k + 1]);
        h->component[a > b ? a : b] = a > b ? b : a; /* the lowest index is the root */
    }
    for (int32_t v = 0; v < in->vertex_count; v++)
        h->component[v] = find_root(h->component, v);
}

static void test_bones(void *work, int32_t begin, int32_t end, int32_t worker)
{
    heat *h = work;
    SUP_UNUSED(worker);
    for (int32_t k = begin; k < end; k++) {
        double t = (double)(k % BONE_SAMPLES) / (BONE_SAMPLES - 1);
        h->inside[k] = sup_bvh_inside(&h->bvh, bone_point(h->in, k / BONE_SAMPLES, t));
    }
}

/* --- Which bones heat a vertex --- */

typedef struct occlusion {
    const heat *h;
    int32_t vertex;
    bool own_component; /* a triangle of the vertex's own component hides the bone */
    bool other_component;
} occlusion;

static bool record_hit(void *user, const sup_bvh_hit *hit)
{
    occlusion *o = user;
    const int32_t *t = o->h->in->triangles + (int64_t)hit->triangle * 3;
    if (t[0] == o->vertex || t[1] == o->vertex || t[2] == o->vertex) return false;
    if (o->h->component[t[0]] == o->h->component[o->vertex]) {
        o->own_component = true;
        return true;
    }
    o->other_component = true;
    return false; /* a triangle of the own component may follow */
}

/* Visibility of the foot point on a bone from a vertex. */
typedef enum visibility { VISIBLE_INSIDE, VISIBLE_OUTSIDE, HIDDEN_BY_OTHER, HIDDEN } visibility;

static visibility bone_visibility(const heat *h, int32_t vertex, int32_t joint, bone_distance s)
{
    sup_vec3d p = sup_v3_load(h->in->positions + (int64_t)vertex * 3);
    occlusion o = {h, vertex, false, false};
    if (s.distance > 1e-6 * h->size) {
        sup_bvh_ray ray = {p, sup_v3_sub(bone_point(h->in, joint, s.t), p), 1e-3, 0.999, record_hit, &o};
        sup_bvh_ray_any(&h->bvh, &ray);
    }
    if (o.own_component) return HIDDEN;
    if (o.other_component) return HIDDEN_BY_OTHER;
    bool inside = h->inside[(int64_t)joint * BONE_SAMPLES + (int32_t)lround(s.t * (BONE_SAMPLES - 1))];
    return inside ? VISIBLE_INSIDE : VISIBLE_OUTSIDE;
}

/* The nearest untested bone, -1 for none. Distances of tested bones are negative. */
static int32_t nearest_candidate(const double *distance, int32_t joint_count)
{
    int32_t best = -1;
    for (int32_t j = 0; j < joint_count; j++)
        if (distance[j] >= 0.0 && (best < 0 || distance[j] < distance[best])) best = j;
    return best;
}

/* Visible bones of a vertex with their effective distances. */
typedef struct bone_list {
    int32_t count;
    int32_t joint[MAX_TESTED + MAX_SHARED];
    double distance[MAX_TESTED + MAX_SHARED];
} bone_list;

static void add_bone(bone_list *seen, int32_t joint, double distance)
{
    if (seen->count == SUP_COUNT(seen->joint)) return;
    seen->joint[seen->count] = joint;
    seen->distance[seen->count++] = distance;
}

static double tie_limit(const heat *h, double distance)
{
    return distance * (1.0 + equal_distance) + 1e-7 * h->size;
}

/* The heat sources of a vertex: the nearest bone of the list and those at the same distance. */
static void set_sources(heat *h, int32_t vertex, const bone_list *seen)
{
    double best = INFINITY, min_distance = 1e-5 * h->size;
    for (int32_t k = 0; k < seen->count; k++)
        if (seen->distance[k] < best) best = seen->distance[k];
    int32_t count = 0;
    for (int32_t k = 0; k < seen->count && count < MAX_SHARED; k++)
        if (seen->distance[k] <= tie_limit(h, best)) h->source[(int64_t)vertex * MAX_SHARED + count++] = seen->joint[k];
    double d = best > min_distance ? best : min_distance;
    h->source_count[vertex] = count;
    h->heat[vertex] = count / (d * d); /* H_ii = k c / d^2 for k equal bones */
}

static void find_vertex_sources(heat *h, int32_t v, double *distance)
{
    double best = INFINITY; /* effective distance of bones that are not hidden */
    bone_list open = {0}, hidden = {0};
    bool any_inside = false;
    for (int32_t j = 0; j < h->in->joint_count; j++)
        distance[j] = nearest_on_bone(h->in, v, j).distance;
    for (int32_t k = 0; k < MAX_TESTED + MAX_SHARED; k++) {
        int32_t j = nearest_candidate(distance, h->in->joint_count);
        if (j < 0 || distance[j] > tie_limit(h, best)) break;
        if (k >= MAX_TESTED && !isfinite(best)) break;
        bone_distance s = nearest_on_bone(h->in, v, j);
        visibility visible = bone_visibility(h, v, j, s);
        distance[j] = -1.0;
        any_inside = any_inside || visible == VISIBLE_INSIDE;
        if (visible == HIDDEN_BY_OTHER) add_bone(&hidden, j, s.distance * hidden_factor);
        if (visible == HIDDEN_BY_OTHER || visible == HIDDEN) continue;
        double effective = s.distance * (visible == VISIBLE_OUTSIDE ? outside_factor : 1.0);
        add_bone(&open, j, effective);
        if (effective < best) best = effective;
    }
    for (int32_t k = 0; k < hidden.count && !any_inside; k++)
        add_bone(&open, hidden.joint[k], hidden.distance[k]);
    h->heat[v] = 0.0;
    h->source_count[v] = 0;
    if (open.count > 0) set_sources(h, v, &open);
}

static void find_sources(void *work, int32_t begin, int32_t end, int32_t worker)
{
    heat *h = work;
    for (int32_t v = begin; v < end; v++)
        find_vertex_sources(h, v, h->candidate + (int64_t)worker * h->in->joint_count);
}

/* In components without any visible bone every vertex uses its nearest bones. */
static void heat_unreached_components(heat *h)
{
    const sup_weights_input *in = h->in;
    for (int32_t v = 0; v < in->vertex_count; v++)
        if (h->source_count[v] > 0) h->has_heat[h->component[v]] = 1;
    for (int32_t v = 0; v < in->vertex_count; v++) {
        if (h->has_heat[h->component[v]]) continue;
        double best = INFINITY;
        bone_list seen = {0};
        for (int32_t j = 0; j < in->joint_count; j++)
            best = fmin(best, nearest_on_bone(in, v, j).distance);
        for (int32_t j = 0; j < in->joint_count; j++) {
            double d = nearest_on_bone(in, v, j).distance;
            if (d <= tie_limit(h, best)) add_bone(&seen, j, d);
        }
        set_sources(h, v, &seen);
    }
}

/* --- Equilibrium --- */

/* M H, with lower bounds that keep the system positive definite; zero for vertices without sources. */
static void scale_heat(heat *h, const sup_laplace *laplace)
{
    double sum = 0.0;
    for (int32_t v = 0; v < h->in->vertex_count; v++)
        sum += laplace->mass[v];
    double min_mass = sum > 0.0 ? 1e-9 * sum / h->in->vertex_count : 1.0;
    for (int32_t v = 0; v < h->in->vertex_count; v++) {
        if (h->source_count[v] == 0) continue;
        double diagonal = laplace->stiffness.value[laplace->stiffness.first[v + 1] - 1];
        double mass = laplace->mass[v] > min_mass ? laplace->mass[v] : min_mass;
        h->heat[v] = fmax(h->heat[v] * mass, 1e-8 * diagonal);
    }
}

static void insert_influence(const sup_weights_output *out, int32_t max_influences, int32_t vertex, int32_t *count,
                             int32_t joint, float weight)
{
    int32_t *joints = out->joints + (int64_t)vertex * max_influences;
    float *weights = out->weights + (int64_t)vertex * max_influences;
    int32_t at = *count;
    if (at == max_influences) { /* full: replace the smallest weight if it is smaller */
        at = max_influences - 1;
        if (weights[at] >= weight) return;
    } else {
        (*count)++;
    }
    for (; at > 0 && weights[at - 1] < weight; at--) {
        weights[at] = weights[at - 1];
        joints[at] = joints[at - 1];
    }
    weights[at] = weight;
    joints[at] = joint;
}

/* Solves for `count` joints and adds their weights to the output. */
static void solve_joints(heat *h, const sup_cholesky *cholesky, const int32_t *joint, int32_t count, double *x,
                         double *workspace, const sup_weights_output *out)
{
    int32_t n = h->in->vertex_count;
    memset(x, 0, (size_t)n * LANES * sizeof(double));
    for (int32_t v = 0; v < n; v++)
        for (int32_t k = 0; k < h->source_count[v]; k++)
            for (int32_t q = 0; q < count; q++)
                if (h->source[(int64_t)v * MAX_SHARED + k] == joint[q])
                    x[(int64_t)v * LANES + q] += h->heat[v] / h->source_count[v];
    sup_cholesky_solve(cholesky, LANES, x, x, workspace);
    for (int32_t v = 0; v < n; v++)
        for (int32_t q = 0; q < count; q++) {
            double w = x[(int64_t)v * LANES + q];
            if (w >= smallest_weight)
                insert_influence(out, h->in->max_influences, v, &h->influence_count[v], joint[q], (float)w);
        }
}

static sup_result solve_all(heat *h, const sup_cholesky *cholesky, const sup_weights_output *out, sup_error *error)
{
    const sup_weights_input *in = h->in;
    size_t n = (size_t)in->vertex_count;
    double *x = sup_arena_alloc(&h->arena, n * LANES, sizeof(double));
    double *workspace = sup_arena_alloc(&h->arena, (size_t)sup_cholesky_workspace(cholesky, LANES), sizeof(double));
    unsigned char *used = sup_arena_alloc(&h->arena, (size_t)in->joint_count, 1);
    if (x == NULL || workspace == NULL || used == NULL) return sup_fail_memory(error, "bone heat weights");
    for (int32_t v = 0; v < in->vertex_count; v++)
        for (int32_t k = 0; k < h->source_count[v]; k++)
            used[h->source[(int64_t)v * MAX_SHARED + k]] = 1;
    int32_t batch[LANES], count = 0;
    for (int32_t j = 0; j < in->joint_count; j++) {
        if (used[j]) batch[count++] = j;
        if (count == LANES || (j == in->joint_count - 1 && count > 0)) {
            solve_joints(h, cholesky, batch, count, x, workspace, out);
            count = 0;
        }
    }
    return SUP_OK;
}

/* Weights directly from the sources, if the factorisation failed. */
static void weights_from_sources(heat *h, const sup_weights_output *out)
{
    for (int32_t v = 0; v < h->in->vertex_count; v++)
        for (int32_t k = 0; k < h->source_count[v]; k++)
            insert_influence(out, h->in->max_influences, v, &h->influence_count[v],
                             h->source[(int64_t)v * MAX_SHARED + k], 1.0f / (float)h->source_count[v]);
}

static int32_t nearest_joint(const sup_weights_input *in, int32_t vertex)
{
    int32_t best = 0;
    for (int32_t j = 1; j < in->joint_count; j++)
        if (nearest_on_bone(in, vertex, j).distance < nearest_on_bone(in, vertex, best).distance) best = j;
    return best;
}

/* Scales the weights of each vertex to sum 1; a vertex without weights uses its nearest bone. */
static void normalise(heat *h, const sup_weights_output *out)
{
    int32_t max_influences = h->in->max_influences;
    for (int32_t v = 0; v < h->in->vertex_count; v++) {
        int32_t *joints = out->joints + (int64_t)v * max_influences;
        float *weights = out->weights + (int64_t)v * max_influences;
        double sum = 0.0;
        for (int32_t k = 0; k < h->influence_count[v]; k++)
            sum += (double)weights[k];
        if (!(sum > 0.0) || !isfinite(sum)) {
            h->influence_count[v] = 1;
            joints[0] = nearest_joint(h->in, v);
            weights[0] = 1.0f;
            sum = 1.0;
        }
        for (int32_t k = 0; k < max_influences; k++) {
            bool used = k < h->influence_count[v];
            weights[k] = used ? (float)((double)weights[k] / sum) : 0.0f;
            if (!used) joints[k] = 0;
        }
    }
}

static sup_result allocate(heat *h, sup_error *error)
{
    const sup_weights_input *in = h->in;
    size_t n = (size_t)in->vertex_count, joints = (size_t)in->joint_count;
    h->component = sup_arena_alloc(&h->arena, n, sizeof(int32_t));
    h->inside = sup_arena_alloc(&h->arena, joints * BONE_SAMPLES, 1);
    h->heat = sup_arena_alloc(&h->arena, n, sizeof(double));
    h->source_count = sup_arena_alloc(&h->arena, n, sizeof(int32_t));
    h->source = sup_arena_alloc(&h->arena, n * MAX_SHARED, sizeof(int32_t));
    h->has_heat = sup_arena_alloc(&h->arena, n, 1);
    h->influence_count = sup_arena_alloc(&h->arena, n, sizeof(int32_t));
    h->candidate = sup_arena_alloc(&h->arena, joints * (size_t)h->context.tasks.worker_count, sizeof(double));
    if (h->component == NULL || h->inside == NULL || h->heat == NULL || h->source_count == NULL || h->source == NULL ||
        h->has_heat == NULL || h->influence_count == NULL || h->candidate == NULL)
        return sup_fail_memory(error, "bone heat weights");
    return SUP_OK;
}

static sup_result equilibrium(heat *h, const sup_weights_output *out, sup_error *error)
{
    const sup_weights_input *in = h->in;
    sup_laplace laplace = {0};
    sup_result result = sup_laplace_create(&h->context, SUP_LAPLACE_ROBUST, in->vertex_count, in->positions,
                                           in->triangle_count, in->triangles, &laplace, error);
    if (result != SUP_OK) return result;
    scale_heat(h, &laplace);
    for (int32_t v = 0; v < in->vertex_count; v++)
        laplace.stiffness.value[laplace.stiffness.first[v + 1] - 1] += h->heat[v];
    sup_cholesky *cholesky = NULL;
    sup_error failed;
    result = sup_cholesky_create(&h->context, &laplace.stiffness, &cholesky, &failed);
    sup_laplace_free(&laplace);
    if (result == SUP_OK) {
        result = solve_all(h, cholesky, out, error);
        sup_cholesky_destroy(cholesky);
    } else if (result == SUP_ERROR_NUMERIC) {
        sup_log(&h->context, SUP_LOG_WARNING, "bone heat: %s Each vertex uses its nearest bone.", failed.message);
        weights_from_sources(h, out);
        result = SUP_OK;
    } else if (error != NULL) {
        *error = failed;
    }
    return result;
}

static sup_result run(heat *h, const sup_weights_output *out, sup_error *error)
{
    const sup_weights_input *in = h->in;
    sup_result result = allocate(h, error);
    if (result != SUP_OK) return result;
    result = sup_bvh_create(&h->context, in->positions, in->triangle_count, in->triangles, &h->bvh, error);
    if (result != SUP_OK) return result;
    h->size = character_size(in);
    find_components(h);
    sup_parallel(&h->context, in->joint_count * BONE_SAMPLES, 4 * BONE_SAMPLES, test_bones, h);
    sup_parallel(&h->context, in->vertex_count, VERTEX_GRAIN, find_sources, h);
    heat_unreached_components(h);
    result = equilibrium(h, out, error);
    if (result == SUP_OK) normalise(h, out);
    return result;
}

sup_result sup_weights_heat(const sup_weights_input *input, const sup_weights_output *output, sup_error *error)
{
    if (input == NULL || output == NULL || output->joints == NULL || output->weights == NULL ||
        input->max_influences < 1 || input->vertex_count < 0 || input->triangle_count < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "rig.weights.argument", "",
                        "Bone heat needs a mesh, bones, output arrays and at least one influence per vertex.");
    if (input->joint_count < 1 || input->joint_count > INT32_MAX / BONE_SAMPLES)
        return sup_fail(error, SUP_ERROR_DATA, "rig.weights.joints", "",
                        "Bone heat needs at least one bone, and not too many.");
    heat h = {.in = input, .context = sup_context_resolve(input->context)};
    h.arena = sup_arena_create(&h.context.allocator);
    sup_result result = run(&h, output, error);
    sup_bvh_free(&h.bvh);
    sup_arena_destroy(&h.arena);
    return result;
}
