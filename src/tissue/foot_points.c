/* foot_points.c - foot points smoothed along the skeleton.
 *
 * Based on: [komaritzan2022] section 3.2.1, eq. 3.1: neighbouring skin vertices shall have neighbouring foot
 * points, so these are smoothed along the bones. The thesis straightens the skeleton (180 degrees for two bones, 120
 * for three), smooths in space and projects back after each iteration. Straightening makes the distance of two foot
 * points in space similar to the path length along the bones between them; where three bones meet they cannot be equal.
 * Here the path length itself is used:
 *   minimise  sum_ij w_ij d(s_i, s_j)^2 + sum_i mu_i d(s_i, s_i0)^2,
 *   d = path length along the bones,  w_ij = 1 / |x_i x_j|
 * Along any path through a tree d^2 is convex, so there is one minimum and coordinate descent converges to it: a foot
 * point moves to the weighted mean of its neighbours measured along its segment, and at a node into the branch whose
 * weighted pull exceeds that of all others together, of which there is at most one. No projection, any branching.
 * Deviations: eq. 3.1 has no second term and does not converge to a smoothing length: the result depends on the number
 * of iterations and on the density of the mesh. mu = sum_j w_ij (h / l)^2, h the mean edge at the vertex and l the
 * smoothing length, makes it a screened Poisson equation of the surface, independent of the density. l is proportional
 * to the distance from the bone: where bones bend, nearest points jump over a distance of that order. */
#include "tissue/foot_points.h"

enum { MAX_SWEEPS = 300, MAX_HOPS = 64 };
static const double enough = 3e-6;    /* mean step of a sweep, in sizes of the skeleton */
static const double relaxation = 1.7; /* over-relaxation: far fewer sweeps */

/* --- Nearest --- */

typedef struct nearest_work {
    const sup_tissue_skin *skin;
    const sup_bvh *bvh;
    const sup_volumetric_skeleton *skeleton;
    sup_foot_point *foot_points;
} nearest_work;

static void consider(const sup_volumetric_skeleton *s, sup_vec3d x, int32_t segment, sup_foot_point *foot, double *best)
{
    const sup_bone_segment *p = &s->segments[segment];
    double t = sup_v3_segment_parameter(x, p->from, p->to);
    double distance = sup_v3_distance(x, sup_v3_lerp(p->from, p->to, t));
    if (distance < *best || (distance == *best && segment < foot->segment)) {
        *best = distance;
        *foot = (sup_foot_point){segment, t};
    }
}

/* Tests the segments at the joint's node, and those adjacent to their other ends. */
static void consider_around(const sup_volumetric_skeleton *s, sup_vec3d x, int32_t node, sup_foot_point *foot,
                            double *best)
{
    for (int32_t k = s->node_first[node]; k < s->node_first[node + 1]; k++) {
        const sup_bone_segment *p = &s->segments[s->node_segments[k]];
        int32_t other = p->node_from == node ? p->node_to : p->node_from;
        for (int32_t i = s->node_first[other]; i < s->node_first[other + 1]; i++)
            consider(s, x, s->node_segments[i], foot, best);
    }
}

static int32_t strongest_joint(const sup_tissue_skin *skin, int32_t v)
{
    int32_t joint = -1;
    float largest = 0.0f;
    for (int32_t k = skin->influence_first[v]; k < skin->influence_first[v + 1]; k++)
        if (skin->influence_weight[k] > largest) {
            largest = skin->influence_weight[k];
            joint = skin->influence_joint[k];
        }
    return joint;
}

/* Whether the line from the skin to the bone stays inside; its start on the skin itself is ignored. */
static bool is_visible(const nearest_work *w, sup_vec3d x, sup_foot_point foot)
{
    sup_bvh_ray ray = {x, sup_v3_sub(sup_foot_position(w->skeleton, foot), x), 0.02, 0.999, NULL, NULL};
    return !sup_bvh_ray_any(w->bvh, &ray);
}

static sup_foot_point nearest_visible(const nearest_work *w, sup_vec3d x)
{
    sup_foot_point seen = {-1, 0.0}, any = {-1, 0.0};
    double best_seen = INFINITY, best = INFINITY;
    for (int32_t p = 0; p < w->skeleton->segment_count; p++) {
        sup_foot_point foot = {-1, 0.0};
        double distance = INFINITY;
        consider(w->skeleton, x, p, &foot, &distance);
        consider(w->skeleton, x, p, &any, &best);
        if (distance >= best_seen || !is_visible(w, x, foot)) continue;
        best_seen = distance;
        seen = foot;
    }
    return seen.segment >= 0 ? seen : any;
}

static void find_nearest(void *work, int32_t begin, int32_t end, int32_t worker)
{
    nearest_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d x = sup_v3_load(w->skin->positions + 3 * (size_t)v);
        int32_t joint = w->skin->influence_first != NULL ? strongest_joint(w->skin, v) : -1;
        sup_foot_point foot = {-1, 0.0};
        double best = INFINITY;
        if (joint >= 0) consider_around(w->skeleton, x, w->skeleton->joint_node[joint], &foot, &best);
        w->foot_points[v] = foot.segment >= 0 ? foot : nearest_visible(w, x);
    }
}

void sup_foot_points_nearest(const sup_context *context, const sup_tissue_skin *skin, const sup_bvh *bvh,
                             const sup_volumetric_skeleton *skeleton, sup_foot_point *foot_points)
{
    sup_context c = sup_context_resolve(context);
    nearest_work w = {skin, bvh, skeleton, foot_points};
    sup_parallel(&c, skin->vertex_count, 256, find_nearest, &w);
}

/* --- Smoothing --- */

/* A foot point in the tree: height = distance from the upper node of the segment. */
typedef struct tree_point {
    int32_t segment;
    double height;
} tree_point;

typedef struct smoother {
    const sup_volumetric_skeleton *skeleton;
    sup_skeleton_tree tree;
    int32_t *first, *neighbours; /* CSR of the skin's edges */
    double *weight;              /* of each entry */
    double *screening;           /* [vertex_count] */
    tree_point *points, *begin;  /* [vertex_count] now, and at the start */
    bool *pinned;
} smoother;

/* Position of `other` along `segment`: height on it, negative above its upper end, more than its length below. */
static double height_along(const sup_skeleton_tree *t, int32_t segment, tree_point other)
{
    if (other.segment == segment) return other.height;
    int32_t upper = t->upper[segment], lower = t->lower[segment], at = t->lower[other.segment],
            over = t->upper[other.segment];
    double depth = t->depth[over] + other.height;
    if (t->enter[at] > t->enter[lower] && t->enter[at] < t->leave[lower]) return depth - t->depth[upper];
    if (t->enter[upper] >= t->enter[at] && t->enter[upper] < t->leave[at]) return depth - t->depth[upper];
    return -(sup_skeleton_node_path_length(t, upper, over) + other.height);
}

/* Weighted mean of the neighbours of vertex v, measured along a segment. */
static double mean_along(const smoother *s, int32_t v, int32_t segment)
{
    double sum = s->screening[v], mean = sum * height_along(&s->tree, segment, s->begin[v]);
    int32_t own = s->tree.tree[s->tree.upper[segment]];
    for (int32_t k = s->first[v]; k < s->first[v + 1]; k++) {
        tree_point other = s->points[s->neighbours[k]];
        if (other.segment != segment && s->tree.tree[s->tree.upper[other.segment]] != own) continue;
        mean += s->weight[k] * height_along(&s->tree, segment, other);
        sum += s->weight[k];
    }
    return sum > 0.0 ? mean / sum : s->points[v].height;
}

/* Moves from a node into the branch whose pull exceeds that of all others together, if there is one. */
static bool enter_branch(const smoother *s, int32_t v, int32_t node, int32_t *segment, double *mean)
{
    const sup_volumetric_skeleton *skeleton = s->skeleton;
    for (int32_t k = skeleton->node_first[node]; k < skeleton->node_first[node + 1]; k++) {
        int32_t next = skeleton->node_segments[k];
        if (next == *segment) continue;
        double m = mean_along(s, v, next);
        if (s->tree.upper[next] == node ? m > 0.0 : m < s->tree.length[next]) {
            *segment = next;
            *mean = m;
            return true;
        }
    }
    return false;
}

/* Moves one foot point to its mean; returns the path length that it moved. */
static double relax(smoother *s, int32_t v)
{
    int32_t segment = s->points[v].segment;
    double mean = mean_along(s, v, segment), old = s->points[v].height;
    double relaxed = old + relaxation * (mean - old);
    if (mean >= 0.0 && mean <= s->tree.length[segment]) {
        s->points[v].height = fmin(fmax(relaxed, 0.0), s->tree.length[segment]);
        return fabs(s->points[v].height - old);
    }
    double moved = 0.0;
    for (int hop = 0; hop < MAX_HOPS && (mean < 0.0 || mean > s->tree.length[segment]); hop++) {
        int32_t node = mean < 0.0 ? s->tree.upper[segment] : s->tree.lower[segment];
        double end = mean < 0.0 ? 0.0 : s->tree.length[segment];
        if (segment == s->points[v].segment) moved = fabs(end - old);
        if (!enter_branch(s, v, node, &segment, &mean)) {
            mean = end;
            break;
        }
        moved += node == s->tree.upper[segment] ? fmin(mean, s->tree.length[segment])
                                                : s->tree.length[segment] - fmax(mean, 0.0);
    }
    s->points[v] = (tree_point){segment, fmin(fmax(mean, 0.0), s->tree.length[segment])};
    return moved;
}

/* Foot points at free ends are not smoothed: fingertips, toes, the top of the head. */
static bool at_free_end(const sup_volumetric_skeleton *s, sup_foot_point foot)
{
    const sup_bone_segment *p = &s->segments[foot.segment];
    double length = sup_segment_length(p);
    return (p->sphere_from < 0 && foot.parameter * length <= p->radius) ||
           (p->sphere_to < 0 && (1.0 - foot.parameter) * length <= p->radius);
}

static void compute_weights(smoother *s, const sup_tissue_skin *skin, const sup_foot_point *foot_points,
                            double smoothing)
{
    for (int32_t v = 0; v < skin->vertex_count; v++) {
        sup_vec3d x = sup_v3_load(skin->positions + 3 * (size_t)v);
        double sum = 0.0, length_scale = smoothing * sup_v3_distance(x, sup_foot_position(s->skeleton, foot_points[v]));
        int32_t count = 0;
        for (int32_t k = s->first[v]; k < s->first[v + 1]; k++) {
            double edge = sup_v3_distance(x, sup_v3_load(skin->positions + 3 * (size_t)s->neighbours[k]));
            s->weight[k] = edge > 0.0 ? 1.0 / edge : 0.0;
            sum += s->weight[k];
            count += edge > 0.0;
        }
        double edge = sum > 0.0 ? count / sum : 0.0;
        s->screening[v] = length_scale > 1e-6 * edge ? sum * (edge / length_scale) * (edge / length_scale) : 0.0;
        s->pinned[v] = sum == 0.0 || !(length_scale > 1e-6 * edge) || at_free_end(s->skeleton, foot_points[v]);
        bool down = s->skeleton->segments[foot_points[v].segment].node_from == s->tree.upper[foot_points[v].segment];
        double length = s->tree.length[foot_points[v].segment];
        s->begin[v] = (tree_point){foot_points[v].segment,
                                   (down ? foot_points[v].parameter : 1.0 - foot_points[v].parameter) * length};
    }
    memcpy(s->points, s->begin, (size_t)skin->vertex_count * sizeof *s->points);
}

static bool allocate(smoother *s, sup_arena *scratch, const sup_adjacency *adjacency)
{
    size_t vertices = (size_t)adjacency->vertex_count, edges = (size_t)adjacency->edge_count;
    s->first = sup_arena_alloc(scratch, vertices + 1, sizeof *s->first);
    s->neighbours = sup_arena_alloc(scratch, 2 * edges, sizeof *s->neighbours);
    s->weight = sup_arena_alloc(scratch, 2 * edges, sizeof *s->weight);
    s->screening = sup_arena_alloc(scratch, vertices, sizeof *s->screening);
    s->points = sup_arena_alloc(scratch, vertices, sizeof *s->points);
    s->begin = sup_arena_alloc(scratch, vertices, sizeof *s->begin);
    s->pinned = sup_arena_alloc(scratch, vertices, sizeof *s->pinned);
    return s->first != NULL && s->neighbours != NULL && s->weight != NULL && s->screening != NULL &&
           s->points != NULL && s->begin != NULL && s->pinned != NULL;
}

static void sweep_all(smoother *s, int32_t vertices, double size, sup_foot_points_report *report)
{
    for (report->sweeps = 0; report->sweeps < MAX_SWEEPS;) {
        double sum = 0.0;
        for (int32_t v = 0; v < vertices; v++)
            if (!s->pinned[v]) sum += relax(s, v);
        report->sweeps++;
        report->last_step = vertices > 0 ? sum / (vertices * size) : 0.0;
        if (!(report->last_step > enough)) break;
    }
}

static double skeleton_size(const sup_volumetric_skeleton *s)
{
    sup_vec3d low = s->segments[0].from, high = low;
    for (int32_t p = 0; p < s->segment_count; p++) {
        sup_vec3d ends[2] = {s->segments[p].from, s->segments[p].to};
        for (int k = 0; k < 2; k++) {
            low = sup_v3(fmin(low.x, ends[k].x), fmin(low.y, ends[k].y), fmin(low.z, ends[k].z));
            high = sup_v3(fmax(high.x, ends[k].x), fmax(high.y, ends[k].y), fmax(high.z, ends[k].z));
        }
    }
    return sup_v3_distance(low, high);
}

sup_result sup_foot_points_smooth(const sup_context *context, const sup_tissue_skin *skin,
                                  const sup_adjacency *adjacency, const sup_volumetric_skeleton *skeleton,
                                  double smoothing, sup_foot_point *foot_points, sup_foot_points_report *report,
                                  sup_error *error)
{
    sup_foot_points_report ignored;
    sup_context c = sup_context_resolve(context);
    sup_arena scratch = sup_arena_create(&c.allocator);
    smoother s = {.skeleton = skeleton};
    if (report == NULL) report = &ignored;
    memset(report, 0, sizeof *report);
    sup_result result = sup_skeleton_tree_create(&c.allocator, skeleton, &s.tree, error);
    if (result != SUP_OK) return result;
    if (!allocate(&s, &scratch, adjacency)) {
        result = sup_fail_memory(error, "the foot points");
    } else {
        sup_adjacency_neighbours(adjacency, s.first, s.neighbours);
        compute_weights(&s, skin, foot_points, smoothing);
        sweep_all(&s, skin->vertex_count, skeleton_size(skeleton), report);
        for (int32_t v = 0; v < skin->vertex_count; v++) {
            report->pinned += s.pinned[v];
            if (s.pinned[v]) continue; /* keeps its bits */
            int32_t segment = s.points[v].segment;
            double t = s.points[v].height / s.tree.length[segment];
            foot_points[v] =
                (sup_foot_point){segment, skeleton->segments[segment].node_from == s.tree.upper[segment] ? t : 1.0 - t};
        }
    }
    sup_skeleton_tree_destroy(&s.tree);
    sup_arena_destroy(&scratch);
    return result;
}
