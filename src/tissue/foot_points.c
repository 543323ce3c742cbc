/* foot_points.c - foot points smoothed along the skeleton.
 *
 * Based on: [komaritzan2022] section 3.2.1, eq. 3.1: neighbouring skin vertices shall have neighbouring foot
 * points, so these are smoothed along the bones. The thesis stretches the skeleton out as far as it goes (180 degrees
 * for two bones, 120 for three), smooths in space and projects back after each iteration. Stretching out brings the
 * distance in space of two feet nearer to the way along the bones between them; where three bones meet no position in
 * space makes them equal. Here the way along the bones is used itself, the limit of stretching out:
 *   minimise  sum_ij w_ij d(s_i, s_j)^2 + sum_i mu_i d(s_i, s_i0)^2,   d = distance along the bones,  w_ij = 1 / |x_i x_j|
 * Along any way through a tree d^2 is convex, so there is one minimum and going down in one foot after the other ends
 * there: a foot goes to the weighted mean of its neighbours as seen along its segment, and at a node into the branch that
 * pulls harder than all the others together, of which there is at most one. No projection, all branchings.
 * Deviations: eq. 3.1 has no second term and smooths for ever: how far depends on the number of iterations and on the
 * density of the mesh. mu = sum_j w_ij (h / l)^2, h the mean edge at the vertex and l the smoothing length, makes it
 * a screened Poisson equation of the surface: the same for any density. l is in proportion to the distance from the
 * bone: where bones bend, nearest points jump over a stretch of that size. */
#include "tissue/foot_points.h"

enum { MAX_SWEEPS = 300, MAX_HOPS = 64 };
static const double enough = 3e-6;    /* mean step of a sweep, of the size of the skeleton */
static const double relaxation = 1.7; /* a step this much beyond the mean: far fewer sweeps */

/* --- Nearest --- */

typedef struct nearest_work {
    const sup_tissue_skin *skin;
    const sup_bvh *bvh;
    const sup_volumetric_skeleton *skeleton;
    sup_foot *feet;
} nearest_work;

static void consider(const sup_volumetric_skeleton *s, sup_vec3d x, int32_t segment, sup_foot *foot, double *best)
{
    const sup_bone_segment *p = &s->segments[segment];
    double t = sup_v3_segment_parameter(x, p->from, p->to);
    double distance = sup_v3_distance(x, sup_v3_lerp(p->from, p->to, t));
    if (distance < *best || (distance == *best && segment < foot->segment)) {
        *best = distance;
        *foot = (sup_foot){segment, t};
    }
}

/* Pieces that end at the joint's node, and those that meet these at their other ends. */
static void consider_around(const sup_volumetric_skeleton *s, sup_vec3d x, int32_t node, sup_foot *foot, double *best)
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
    float most = 0.0f;
    for (int32_t k = skin->influence_first[v]; k < skin->influence_first[v + 1]; k++)
        if (skin->influence_weight[k] > most) {
            most = skin->influence_weight[k];
            joint = skin->influence_joint[k];
        }
    return joint;
}

/* Whether the way from the skin to the bone stays inside. The first bit of it is skin whatever happens. */
static bool in_sight(const nearest_work *w, sup_vec3d x, sup_foot foot)
{
    sup_bvh_ray ray = {x, sup_v3_sub(sup_foot_point(w->skeleton, foot), x), 0.02, 0.999, NULL, NULL};
    return !sup_bvh_ray_any(w->bvh, &ray);
}

static sup_foot nearest_in_sight(const nearest_work *w, sup_vec3d x)
{
    sup_foot seen = {-1, 0.0}, any = {-1, 0.0};
    double best_seen = INFINITY, best = INFINITY;
    for (int32_t p = 0; p < w->skeleton->segment_count; p++) {
        sup_foot foot = {-1, 0.0};
        double distance = INFINITY;
        consider(w->skeleton, x, p, &foot, &distance);
        consider(w->skeleton, x, p, &any, &best);
        if (distance >= best_seen || !in_sight(w, x, foot)) continue;
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
        sup_foot foot = {-1, 0.0};
        double best = INFINITY;
        if (joint >= 0) consider_around(w->skeleton, x, w->skeleton->joint_node[joint], &foot, &best);
        w->feet[v] = foot.segment >= 0 ? foot : nearest_in_sight(w, x);
    }
}

void sup_feet_nearest(const sup_context *context, const sup_tissue_skin *skin, const sup_bvh *bvh,
                      const sup_volumetric_skeleton *skeleton, sup_foot *feet)
{
    sup_context c = sup_context_resolve(context);
    nearest_work w = {skin, bvh, skeleton, feet};
    sup_parallel(&c, skin->vertex_count, 256, find_nearest, &w);
}

/* --- Smoothing --- */

/* A foot as the walk goes: height = distance from the upper node of the segment. */
typedef struct place {
    int32_t segment;
    double height;
} place;

typedef struct smoother {
    const sup_volumetric_skeleton *skeleton;
    sup_skeleton_tree tree;
    int32_t *first, *neighbours; /* CSR of the skin's edges */
    double *weight;              /* of each entry */
    double *screening;           /* [vertex_count] */
    place *places, *begin;       /* [vertex_count] now, and where they started */
    bool *pinned;
} smoother;

/* Where `other` is, seen along `segment`: height on it, negative above its upper end, more than its length below. */
static double height_seen(const sup_skeleton_tree *t, int32_t segment, place other)
{
    if (other.segment == segment) return other.height;
    int32_t upper = t->upper[segment], lower = t->lower[segment], at = t->lower[other.segment], over = t->upper[other.segment];
    double depth = t->depth[over] + other.height;
    if (t->enter[at] > t->enter[lower] && t->enter[at] < t->leave[lower]) return depth - t->depth[upper];
    if (t->enter[upper] >= t->enter[at] && t->enter[upper] < t->leave[at]) return depth - t->depth[upper];
    return -(sup_skeleton_node_distance(t, upper, over) + other.height);
}

/* The mean of all that pull at vertex v, seen along a segment. */
static double mean_seen(const smoother *s, int32_t v, int32_t segment)
{
    double sum = s->screening[v], mean = sum * height_seen(&s->tree, segment, s->begin[v]);
    int32_t own = s->tree.tree[s->tree.upper[segment]];
    for (int32_t k = s->first[v]; k < s->first[v + 1]; k++) {
        place other = s->places[s->neighbours[k]];
        if (other.segment != segment && s->tree.tree[s->tree.upper[other.segment]] != own) continue;
        mean += s->weight[k] * height_seen(&s->tree, segment, other);
        sum += s->weight[k];
    }
    return sum > 0.0 ? mean / sum : s->places[v].height;
}

/* From a node into the branch that pulls hardest, if it pulls harder than the rest together. */
static bool enter_branch(const smoother *s, int32_t v, int32_t node, int32_t *segment, double *mean)
{
    const sup_volumetric_skeleton *skeleton = s->skeleton;
    for (int32_t k = skeleton->node_first[node]; k < skeleton->node_first[node + 1]; k++) {
        int32_t next = skeleton->node_segments[k];
        if (next == *segment) continue;
        double m = mean_seen(s, v, next);
        if (s->tree.upper[next] == node ? m > 0.0 : m < s->tree.length[next]) {
            *segment = next;
            *mean = m;
            return true;
        }
    }
    return false;
}

/* One foot to its place; returns how far it went along its segment, or a whole segment for a foot that changed over. */
static double relax(smoother *s, int32_t v)
{
    int32_t segment = s->places[v].segment;
    double mean = mean_seen(s, v, segment), old = s->places[v].height;
    double far = old + relaxation * (mean - old);
    if (mean >= 0.0 && mean <= s->tree.length[segment]) {
        s->places[v].height = fmin(fmax(far, 0.0), s->tree.length[segment]);
        return fabs(s->places[v].height - old);
    }
    double gone = 0.0;
    for (int hop = 0; hop < MAX_HOPS && (mean < 0.0 || mean > s->tree.length[segment]); hop++) {
        int32_t node = mean < 0.0 ? s->tree.upper[segment] : s->tree.lower[segment];
        double end = mean < 0.0 ? 0.0 : s->tree.length[segment];
        if (segment == s->places[v].segment) gone = fabs(end - old);
        if (!enter_branch(s, v, node, &segment, &mean)) {
            mean = end;
            break;
        }
        gone +=
            node == s->tree.upper[segment] ? fmin(mean, s->tree.length[segment]) : s->tree.length[segment] - fmax(mean, 0.0);
    }
    s->places[v] = (place){segment, fmin(fmax(mean, 0.0), s->tree.length[segment])};
    return gone;
}

/* Feet at free ends are where they belong: fingertips, toes, the top of the head. */
static bool at_free_end(const sup_volumetric_skeleton *s, sup_foot foot)
{
    const sup_bone_segment *p = &s->segments[foot.segment];
    double length = sup_segment_length(p);
    return (p->sphere_from < 0 && foot.parameter * length <= p->radius) ||
           (p->sphere_to < 0 && (1.0 - foot.parameter) * length <= p->radius);
}

static void weigh(smoother *s, const sup_tissue_skin *skin, const sup_foot *feet, double smoothing)
{
    for (int32_t v = 0; v < skin->vertex_count; v++) {
        sup_vec3d x = sup_v3_load(skin->positions + 3 * (size_t)v);
        double sum = 0.0, reach = smoothing * sup_v3_distance(x, sup_foot_point(s->skeleton, feet[v]));
        int32_t count = 0;
        for (int32_t k = s->first[v]; k < s->first[v + 1]; k++) {
            double edge = sup_v3_distance(x, sup_v3_load(skin->positions + 3 * (size_t)s->neighbours[k]));
            s->weight[k] = edge > 0.0 ? 1.0 / edge : 0.0;
            sum += s->weight[k];
            count += edge > 0.0;
        }
        double edge = sum > 0.0 ? count / sum : 0.0;
        s->screening[v] = reach > 1e-6 * edge ? sum * (edge / reach) * (edge / reach) : 0.0;
        s->pinned[v] = sum == 0.0 || !(reach > 1e-6 * edge) || at_free_end(s->skeleton, feet[v]);
        bool down = s->skeleton->segments[feet[v].segment].node_from == s->tree.upper[feet[v].segment];
        double length = s->tree.length[feet[v].segment];
        s->begin[v] = (place){feet[v].segment, (down ? feet[v].parameter : 1.0 - feet[v].parameter) * length};
    }
    memcpy(s->places, s->begin, (size_t)skin->vertex_count * sizeof *s->places);
}

static bool allocate(smoother *s, sup_arena *scratch, const sup_adjacency *adjacency)
{
    size_t vertices = (size_t)adjacency->vertex_count, edges = (size_t)adjacency->edge_count;
    s->first = sup_arena_alloc(scratch, vertices + 1, sizeof *s->first);
    s->neighbours = sup_arena_alloc(scratch, 2 * edges, sizeof *s->neighbours);
    s->weight = sup_arena_alloc(scratch, 2 * edges, sizeof *s->weight);
    s->screening = sup_arena_alloc(scratch, vertices, sizeof *s->screening);
    s->places = sup_arena_alloc(scratch, vertices, sizeof *s->places);
    s->begin = sup_arena_alloc(scratch, vertices, sizeof *s->begin);
    s->pinned = sup_arena_alloc(scratch, vertices, sizeof *s->pinned);
    return s->first != NULL && s->neighbours != NULL && s->weight != NULL && s->screening != NULL &&
           s->places != NULL && s->begin != NULL && s->pinned != NULL;
}

static void sweep_all(smoother *s, int32_t vertices, double size, sup_feet_report *report)
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

sup_result sup_feet_smooth(const sup_context *context, const sup_tissue_skin *skin, const sup_adjacency *adjacency,
                           const sup_volumetric_skeleton *skeleton, double smoothing, sup_foot *feet,
                           sup_feet_report *report, sup_error *error)
{
    sup_feet_report ignored;
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
        weigh(&s, skin, feet, smoothing);
        sweep_all(&s, skin->vertex_count, skeleton_size(skeleton), report);
        for (int32_t v = 0; v < skin->vertex_count; v++) {
            report->pinned += s.pinned[v];
            if (s.pinned[v]) continue; /* bit for bit where it was */
            int32_t segment = s.places[v].segment;
            double t = s.places[v].height / s.tree.length[segment];
            feet[v] = (sup_foot){segment, skeleton->segments[segment].node_from == s.tree.upper[segment] ? t : 1.0 - t};
        }
    }
    sup_skeleton_tree_destroy(&s.tree);
    sup_arena_destroy(&scratch);
    return result;
}
