/* volumetric_bones.c - bone segments from the joints of a rig.
 *
 * Based on: [komaritzan2022] section 3.2.1. The thesis assumes a clean skeleton inside the skin; files have helper
 * joints, coincident joints, flat lists of joints and several roots. In this order:
 *  1. a joint outside the skin that is the strongest influence of no vertex (targets, poles, a root on the ground) is
 *     skipped: its children are attached to its parent, or become roots;
 *  2. a child that continues the bone of a leaf beside it becomes that leaf's child (flat lists of finger joints);
 *  3. joints at the position of their parent share its node: no segment without length;
 *  4. a leaf with influence gets a tail, clipped so that a capsule fits between its end and the skin;
 *  5. separate trees with adjacent skins are joined by virtual segments, nearest nodes of adjacent joints first. */
#include "tissue/volumetric_bones.h"

#include <stdlib.h>

static const double join_length = 1e-3;      /* in sizes: shorter segments are removed */
static const double chain_cosine = 0.8;      /* a sibling within this cone continues a leaf's bone */
static const double tail_by_weights = 0.5;   /* shortest tail, in distances of its joint from the skin, */
static const double tail_made_weights = 1.5; /* and with generated weights instead of those of a file */

/* Moments of the skin that a joint influences, weighted by area: vertex density varies. */
typedef struct leaf_sums {
    sup_vec3d offset;        /* from the joint */
    double weight, distance; /* distance from the joint */
} leaf_sums;

typedef struct builder {
    const sup_context *context;
    const sup_rig *rig;
    const sup_tissue_skin *skin;
    const sup_bvh *bvh;
    const sup_skeleton_def *def;
    sup_volumetric_skeleton *skeleton;
    sup_skeleton_report *report;
    sup_arena scratch;
    sup_vec3d *head;  /* [joint_count] */
    double *use;      /* [joint_count] vertices whose strongest influence it is */
    bool *inside;     /* [joint_count] */
    bool *kept;       /* [joint_count] */
    int32_t *parent;  /* [joint_count] nearest kept joint above, -1 */
    int32_t *node_of; /* [joint_count] node of a kept joint */
    bool *leaf;       /* [joint_count] no kept joint below */
    int32_t *strong;  /* [vertex_count] strongest joint of each skin vertex */
    leaf_sums *sums;  /* [joint_count] */
} builder;

static bool allocate(builder *b)
{
    size_t joints = (size_t)b->rig->joint_count, vertices = (size_t)b->skin->vertex_count;
    sup_volumetric_skeleton *s = b->skeleton;
    b->head = sup_arena_alloc(&b->scratch, joints, sizeof *b->head);
    b->use = sup_arena_alloc(&b->scratch, joints, sizeof *b->use);
    b->inside = sup_arena_alloc(&b->scratch, joints, sizeof *b->inside);
    b->kept = sup_arena_alloc(&b->scratch, joints, sizeof *b->kept);
    b->parent = sup_arena_alloc(&b->scratch, joints, sizeof *b->parent);
    b->node_of = sup_arena_alloc(&b->scratch, joints, sizeof *b->node_of);
    b->leaf = sup_arena_alloc(&b->scratch, joints, sizeof *b->leaf);
    b->strong = sup_arena_alloc(&b->scratch, vertices, sizeof *b->strong);
    b->sums = sup_arena_alloc(&b->scratch, joints, sizeof *b->sums);
    /* At most a segment and a tail for each joint, and a joining segment for each root. */
    s->segments = sup_arena_alloc(&s->arena, 3 * joints, sizeof *s->segments);
    s->nodes = sup_arena_alloc(&s->arena, 2 * joints, sizeof *s->nodes);
    s->spheres = sup_arena_alloc(&s->arena, 2 * joints, sizeof *s->spheres);
    s->node_first = sup_arena_alloc(&s->arena, 2 * joints + 1, sizeof *s->node_first);
    s->node_segments = sup_arena_alloc(&s->arena, 6 * joints, sizeof *s->node_segments);
    s->joint_node = sup_arena_alloc(&s->arena, joints, sizeof *s->joint_node);
    return b->head != NULL && b->use != NULL && b->inside != NULL && b->kept != NULL && b->parent != NULL &&
           b->node_of != NULL && b->leaf != NULL && b->strong != NULL && b->sums != NULL && s->segments != NULL &&
           s->nodes != NULL && s->spheres != NULL && s->node_first != NULL && s->node_segments != NULL &&
           s->joint_node != NULL;
}

static void measure_joints(builder *b)
{
    const sup_rig *rig = b->rig;
    const sup_tissue_skin *skin = b->skin;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        b->head[j] = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        b->use[j] = skin->influence_first == NULL ? 1.0 : 0.0;
        b->inside[j] = sup_bvh_inside(b->bvh, b->head[j]);
    }
    for (int32_t v = 0; v < skin->vertex_count && skin->influence_first != NULL; v++) {
        float largest = 0.0f;
        for (int32_t k = skin->influence_first[v]; k < skin->influence_first[v + 1]; k++)
            if (skin->influence_weight[k] > largest) {
                largest = skin->influence_weight[k];
                b->strong[v] = skin->influence_joint[k];
            }
        b->use[b->strong[v]] += 1.0;
    }
}

/* Step 1. Parents come before children, so the nearest kept ancestor is known. */
static void choose_joints(builder *b)
{
    const sup_rig *rig = b->rig;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t parent = rig->joint_parent[j];
        while (parent >= 0 && !b->kept[parent])
            parent = rig->joint_parent[parent];
        b->parent[j] = parent;
        b->kept[j] = b->use[j] > 0.0 || b->inside[j];
        if (!b->kept[j]) b->report->dropped_joints++;
    }
}

/* Step 2. Only forwards from the common parent, so no cycles. */
static void chain_siblings(builder *b)
{
    int32_t joints = b->rig->joint_count;
    for (int32_t j = 0; j < joints; j++)
        b->leaf[j] = b->kept[j];
    for (int32_t j = 0; j < joints; j++)
        if (b->kept[j] && b->parent[j] >= 0) b->leaf[b->parent[j]] = false;
    int32_t *next = sup_arena_copy(&b->scratch, b->parent, (size_t)joints, sizeof *next);
    if (next == NULL) return;
    for (int32_t c = 0; c < joints; c++) {
        int32_t p = b->parent[c];
        if (!b->kept[c] || p < 0) continue;
        double own = sup_v3_distance(b->head[p], b->head[c]), best = own;
        for (int32_t s = 0; s < joints; s++) {
            if (s == c || !b->leaf[s] || b->parent[s] != p) continue;
            sup_vec3d bone = sup_v3_sub(b->head[s], b->head[p]), next_bone = sup_v3_sub(b->head[c], b->head[s]);
            double length = sup_v3_length(bone), step = sup_v3_length(next_bone);
            bool continues = length > 0.0 && sup_v3_dot(bone, next_bone) >= chain_cosine * length * step;
            if (continues && step < best && length < own) {
                best = step;
                next[c] = s;
            }
        }
        if (next[c] != p) b->report->chained_joints++;
    }
    memcpy(b->parent, next, (size_t)joints * sizeof *next);
    for (int32_t c = 0; c < joints; c++)
        if (b->kept[c] && b->parent[c] >= 0) b->leaf[b->parent[c]] = false;
}

static int32_t add_node(sup_volumetric_skeleton *s, int32_t joint, sup_vec3d position)
{
    s->nodes[s->node_count] = (sup_skeleton_node){joint, -1, position};
    return s->node_count++;
}

static void add_segment(builder *b, int32_t joint, int32_t child, int32_t from, int32_t to, bool is_virtual)
{
    sup_volumetric_skeleton *s = b->skeleton;
    bool requested = b->def->virtual_joints != NULL && b->def->virtual_joints[joint];
    s->segments[s->segment_count++] = (sup_bone_segment){.joint = joint,
                                                         .child = child,
                                                         .node_from = from,
                                                         .node_to = to,
                                                         .from = s->nodes[from].position,
                                                         .to = s->nodes[to].position,
                                                         .sphere_from = -1,
                                                         .sphere_to = -1,
                                                         .is_virtual = is_virtual || requested};
}

/* Joints may have a parent with a higher index after step 2: repeats until every parent has a node. */
static void create_nodes(builder *b)
{
    int32_t joints = b->rig->joint_count;
    for (int32_t j = 0; j < joints; j++)
        b->node_of[j] = -1;
    for (bool again = true; again;) {
        again = false;
        for (int32_t j = 0; j < joints; j++) {
            int32_t p = b->parent[j];
            if (!b->kept[j] || b->node_of[j] >= 0 || (p >= 0 && b->node_of[p] < 0)) continue;
            again = true;
            sup_vec3d at = p < 0 ? b->head[j] : b->skeleton->nodes[b->node_of[p]].position;
            if (p >= 0 && sup_v3_distance(b->head[j], at) <= join_length * (double)b->rig->size) {
                b->node_of[j] = b->node_of[p]; /* step 3 */
                b->report->joined_joints++;
                continue;
            }
            b->node_of[j] = add_node(b->skeleton, j, b->head[j]);
            if (p >= 0) add_segment(b, p, j, b->node_of[p], b->node_of[j], false);
        }
    }
}

static double clearance(const builder *b, sup_vec3d point)
{
    return sup_bvh_closest(b->bvh, point, INFINITY).distance;
}

static void sum_leaves(builder *b)
{
    const sup_tissue_skin *skin = b->skin;
    for (int32_t t = 0; t < skin->triangle_count && skin->influence_first != NULL; t++) {
        const int32_t *c = skin->triangles + 3 * (size_t)t;
        sup_vec3d x[3];
        for (int k = 0; k < 3; k++)
            x[k] = sup_v3_load(skin->positions + 3 * (size_t)c[k]);
        double area = sup_v3_length(sup_v3_cross(sup_v3_sub(x[1], x[0]), sup_v3_sub(x[2], x[0])));
        for (int k = 0; k < 3; k++)
            for (int32_t i = skin->influence_first[c[k]]; i < skin->influence_first[c[k] + 1]; i++) {
                int32_t joint = skin->influence_joint[i];
                leaf_sums *sums = &b->sums[joint];
                double weight = area * (double)skin->influence_weight[i];
                sup_vec3d offset = sup_v3_sub(x[k], b->head[joint]);
                sums->offset = sup_v3_madd(sums->offset, weight, offset);
                sums->weight += weight;
                sums->distance += weight * sup_v3_length(offset);
            }
    }
}

/* Direction and length of the bone of a leaf: its middle is the centroid of the skin that it influences. Where the skin
 * surrounds the joint, the rig's tail is used. */
static sup_vec3d tail_offset(const builder *b, int32_t joint)
{
    const leaf_sums *sums = &b->sums[joint];
    sup_vec3d rig_tail = sup_v3_sub(sup_v3_load(b->rig->bone_tail + 3 * (size_t)joint), b->head[joint]);
    if (!(sup_v3_length(sums->offset) > 0.25 * sums->distance)) return rig_tail;
    return sup_v3_scale(sums->offset, 2.0 / sums->weight);
}

/* Step 4: the end of a leaf's bone, shortened until the distance to the skin there is half of its maximum along the
 * bone. */
static bool clip_tail(const builder *b, int32_t joint, bool from_file, sup_vec3d *tail)
{
    sup_vec3d head = b->skeleton->nodes[b->node_of[joint]].position;
    sup_vec3d along = tail_offset(b, joint);
    double length = sup_v3_length(along), head_clearance = clearance(b, head);
    if (!(length > join_length * (double)b->rig->size)) return false;
    along = sup_v3_scale(along, 1.0 / length);
    if (b->inside[joint]) {
        sup_bvh_ray ray = {head, along, 0.0, INFINITY, NULL, NULL};
        sup_bvh_hit hit;
        if (sup_bvh_ray_first(b->bvh, &ray, &hit)) length = fmin(length, 0.95 * hit.t);
        double widest = head_clearance;
        for (int k = 1; k <= 8; k++)
            widest = fmax(widest, clearance(b, sup_v3_madd(head, length * k / 8.0, along)));
        for (int k = 0; k < 12 && clearance(b, sup_v3_madd(head, length, along)) < 0.5 * widest; k++)
            length *= 0.9;
    }
    double shortest = (from_file ? tail_by_weights : tail_made_weights) * head_clearance;
    if (length < fmax(shortest, 2.0 * join_length * (double)b->rig->size)) return false;
    *tail = sup_v3_madd(head, length, along);
    return true;
}

static void add_tails(builder *b)
{
    const sup_character *c = b->rig->character;
    sum_leaves(b);
    bool from_file = c->influence_first != NULL && c->influence_first[c->vertex_count] > 0;
    for (int32_t j = 0; j < b->rig->joint_count; j++) {
        sup_vec3d tail;
        if (!b->kept[j] || !b->leaf[j] || !(b->use[j] > 0.0)) continue;
        if (!clip_tail(b, j, from_file, &tail)) {
            b->report->dropped_tails++;
            continue;
        }
        add_segment(b, j, -1, b->node_of[j], add_node(b->skeleton, j, tail), false);
    }
}

static void map_joints(builder *b)
{
    sup_volumetric_skeleton *s = b->skeleton;
    for (int32_t j = 0; j < b->rig->joint_count; j++) {
        int32_t at = b->kept[j] ? j : b->parent[j];
        if (at >= 0) {
            s->joint_node[j] = b->node_of[at];
            continue;
        }
        double best = INFINITY; /* skipped root: the nearest node */
        for (int32_t n = 0; n < s->node_count; n++) {
            double distance = sup_v3_distance(s->nodes[n].position, b->head[j]);
            if (distance < best) {
                best = distance;
                s->joint_node[j] = n;
            }
        }
    }
}

static int32_t find_root(int32_t *set, int32_t i)
{
    while (set[i] != i) {
        set[i] = set[set[i]];
        i = set[i];
    }
    return i;
}

static void unite(int32_t *set, int32_t i, int32_t k)
{
    int32_t a = find_root(set, i), c = find_root(set, k);
    set[c > a ? c : a] = c > a ? a : c;
}

/* Joins two trees by a virtual segment, or, where their nodes coincide, by merging these; merged[to] is then the node
 * that remains. */
static void join(builder *b, int32_t from, int32_t to, int32_t *merged)
{
    sup_volumetric_skeleton *s = b->skeleton;
    double length = sup_v3_distance(s->nodes[from].position, s->nodes[to].position);
    if (length > 0.25 * join_length * (double)b->rig->size) {
        add_segment(b, s->nodes[from].joint, s->nodes[to].joint, from, to, true);
        b->report->joining_segments++;
        return;
    }
    for (int32_t p = 0; p < s->segment_count; p++) {
        sup_bone_segment *segment = &s->segments[p];
        if (segment->node_from == to) segment->node_from = from;
        if (segment->node_to == to) segment->node_to = from;
        segment->from = s->nodes[segment->node_from].position;
        segment->to = s->nodes[segment->node_to].position;
    }
    for (int32_t j = 0; j < b->rig->joint_count; j++)
        if (s->joint_node[j] == to) s->joint_node[j] = from;
    merged[to] = from;
    b->report->joined_joints++;
}

/* A possible connection of two trees: the nearest nodes of two joints with adjacent skins. */
typedef struct candidate {
    double distance;
    int32_t from, to; /* nodes */
} candidate;

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Joints with adjacent skins: the strongest joints at both ends of an edge. Without influences all are adjacent. */
static void find_adjacent(const builder *b, bool *adjacent)
{
    const sup_tissue_skin *skin = b->skin;
    size_t joints = (size_t)b->rig->joint_count;
    if (skin->influence_first == NULL) memset(adjacent, 1, joints * joints * sizeof *adjacent);
    for (int32_t h = 0; skin->influence_first != NULL && h < 3 * skin->triangle_count; h++) {
        int32_t a = b->strong[skin->triangles[h]], c = b->strong[skin->triangles[h % 3 == 2 ? h - 2 : h + 1]];
        adjacent[(size_t)(a < c ? a : c) * joints + (size_t)(a < c ? c : a)] = true;
    }
}

/* The nearest pair of nodes of two joints: their own, and the far ends of their bones. */
static candidate nearest_nodes(const sup_volumetric_skeleton *s, int32_t a, int32_t c)
{
    candidate best = {INFINITY, s->joint_node[a], s->joint_node[c]};
    for (int32_t p = -1; p < s->segment_count; p++)
        for (int32_t q = -1; q < s->segment_count; q++) {
            if ((p >= 0 && s->segments[p].joint != a) || (q >= 0 && s->segments[q].joint != c)) continue;
            int32_t from = p < 0 ? s->joint_node[a] : s->segments[p].node_to;
            int32_t to = q < 0 ? s->joint_node[c] : s->segments[q].node_to;
            double distance = sup_v3_distance(s->nodes[from].position, s->nodes[to].position);
            if (distance < best.distance) best = (candidate){distance, from, to};
        }
    return best;
}

/* Step 5: shortest connections first (Kruskal's algorithm), only between joints with adjacent skins: a knee that is
 * near an elbow in the bind pose is not joined to it. */
static sup_result join_trees(builder *b, sup_error *error)
{
    sup_volumetric_skeleton *s = b->skeleton;
    size_t nodes = (size_t)s->node_count, joints = (size_t)b->rig->joint_count;
    int32_t *tree = sup_arena_alloc(&b->scratch, nodes, sizeof *tree);
    int32_t *merged = sup_arena_alloc(&b->scratch, nodes, sizeof *merged);
    bool *adjacent = sup_arena_alloc(&b->scratch, sup_size_multiply(joints, joints), sizeof *adjacent);
    if (tree == NULL || merged == NULL || adjacent == NULL) return sup_fail_memory(error, "the skeleton");
    for (int32_t n = 0; n < s->node_count; n++)
        tree[n] = merged[n] = n;
    for (int32_t p = 0; p < s->segment_count; p++)
        unite(tree, s->segments[p].node_from, s->segments[p].node_to);
    find_adjacent(b, adjacent);
    size_t count = 0;
    for (size_t i = 0; i < joints * joints; i++) {
        adjacent[i] =
            adjacent[i] && find_root(tree, s->joint_node[i / joints]) != find_root(tree, s->joint_node[i % joints]);
        count += adjacent[i];
    }
    candidate *all = sup_arena_alloc(&b->scratch, count, sizeof *all);
    if (all == NULL) return sup_fail_memory(error, "the skeleton");
    count = 0;
    for (size_t i = 0; i < joints * joints; i++)
        if (adjacent[i]) all[count++] = nearest_nodes(s, (int32_t)(i / joints), (int32_t)(i % joints));
    qsort(all, count, sizeof *all, compare_candidates);
    for (size_t i = 0; i < count; i++) {
        if (find_root(tree, all[i].from) == find_root(tree, all[i].to)) continue;
        join(b, find_root(merged, all[i].from), find_root(merged, all[i].to), merged);
        unite(tree, all[i].from, all[i].to);
    }
    return SUP_OK;
}

static void index_nodes(sup_volumetric_skeleton *s)
{
    for (int32_t p = 0; p < s->segment_count; p++) {
        s->node_first[s->segments[p].node_from + 1]++;
        s->node_first[s->segments[p].node_to + 1]++;
    }
    for (int32_t n = 0; n < s->node_count; n++)
        s->node_first[n + 1] += s->node_first[n];
    for (int32_t p = s->segment_count - 1; p >= 0; p--) {
        s->node_segments[--s->node_first[s->segments[p].node_from + 1]] = p;
        s->node_segments[--s->node_first[s->segments[p].node_to + 1]] = p;
    }
    /* The counting down left each start one merged late. */
    for (int32_t n = 0; n < s->node_count; n++)
        s->node_first[n] = s->node_first[n + 1];
    s->node_first[s->node_count] = 2 * s->segment_count;
}

static void add_spheres(sup_volumetric_skeleton *s)
{
    for (int32_t n = 0; n < s->node_count; n++) {
        int32_t first = s->node_first[n], end = s->node_first[n + 1];
        if (end - first < 2) continue;
        bool is_virtual = true;
        for (int32_t k = first; k < end; k++) {
            sup_bone_segment *segment = &s->segments[s->node_segments[k]];
            if (segment->node_from == n) segment->sphere_from = s->sphere_count;
            if (segment->node_to == n) segment->sphere_to = s->sphere_count;
            is_virtual = is_virtual && segment->is_virtual;
        }
        s->nodes[n].sphere = s->sphere_count;
        s->spheres[s->sphere_count++] = (sup_joint_sphere){s->nodes[n].joint, n, s->nodes[n].position, 0.0, is_virtual};
    }
}

static sup_result build(builder *b, sup_error *error)
{
    sup_volumetric_skeleton *s = b->skeleton;
    s->joint_count = b->rig->joint_count;
    if (!allocate(b)) return sup_fail_memory(error, "the skeleton");
    measure_joints(b);
    choose_joints(b);
    chain_siblings(b);
    create_nodes(b);
    add_tails(b);
    map_joints(b);
    sup_result result = s->node_count > 0 ? join_trees(b, error) : SUP_OK;
    if (result != SUP_OK) return result;
    if (s->segment_count == 0)
        return sup_fail(
            error, SUP_ERROR_DATA, "tissue.skeleton", NULL,
            "The skeleton has no bone of non-zero length inside the skin that tissue could be attached to.");
    index_nodes(s);
    add_spheres(s);
    return sup_skeleton_radii(b->context, b->bvh, b->def, s, b->report, error);
}

sup_result sup_skeleton_create(const sup_context *context, const sup_rig *rig, const sup_tissue_skin *skin,
                               const sup_bvh *bvh, const sup_skeleton_def *def, sup_volumetric_skeleton **skeleton,
                               sup_skeleton_report *report, sup_error *error)
{
    sup_context c = sup_context_resolve(context);
    sup_skeleton_report ignored = {0};
    sup_skeleton_def defaults = {0};
    sup_arena arena = sup_arena_create(&c.allocator);
    sup_volumetric_skeleton *s = sup_arena_alloc(&arena, 1, sizeof *s);
    if (s == NULL) return sup_fail_memory(error, "the skeleton");
    s->arena = arena;
    builder b = {.context = &c,
                 .rig = rig,
                 .skin = skin,
                 .bvh = bvh,
                 .def = def != NULL ? def : &defaults,
                 .skeleton = s,
                 .report = report != NULL ? report : &ignored,
                 .scratch = sup_arena_create(&c.allocator)};
    memset(b.report, 0, sizeof *b.report);
    sup_result result = build(&b, error);
    sup_arena_destroy(&b.scratch);
    if (result != SUP_OK) {
        sup_skeleton_destroy(s);
        return result;
    }
    *skeleton = s;
    return SUP_OK;
}

void sup_skeleton_destroy(sup_volumetric_skeleton *skeleton)
{
    if (skeleton == NULL) return;
    sup_arena arena = skeleton->arena; /* the skeleton itself is allocated from it */
    sup_arena_destroy(&arena);
}
