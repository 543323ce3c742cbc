/* bvh.c - bounding volume hierarchy over triangles, built top-down with a binned surface area heuristic (I. Wald, "On
 * fast construction of SAH-based bounding volume hierarchies", 2007; key wald2007sah). */
#define SUP_BVH_QUERY static
#include "geometry/bvh_query.h"

enum { LEAF_SIZE = 4, BIN_COUNT = 16 };

/* Loops over the sides of a box run to WIDE, so that one vector register holds them; the fourth entry is not used. */
enum { WIDE = 4 };

typedef struct box {
    float lower[WIDE], upper[WIDE];
} box;

typedef struct build_triangle {
    box box;
    double centre[WIDE];
} build_triangle;

static box box_empty(void)
{
    box b = {{INFINITY, INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    return b;
}

static inline void box_add(box *b, const box *other)
{
    for (int k = 0; k < WIDE; k++) {
        b->lower[k] = other->lower[k] < b->lower[k] ? other->lower[k] : b->lower[k];
        b->upper[k] = other->upper[k] > b->upper[k] ? other->upper[k] : b->upper[k];
    }
}

static void box_store(const box *b, sup_bvh_node *node)
{
    memcpy(node->lower, b->lower, sizeof node->lower);
    memcpy(node->upper, b->upper, sizeof node->upper);
}

static box node_box(const sup_bvh_node *node)
{
    box b = box_empty();
    memcpy(b.lower, node->lower, sizeof node->lower);
    memcpy(b.upper, node->upper, sizeof node->upper);
    return b;
}

static double box_area(const box *b)
{
    double x = (double)b->upper[0] - (double)b->lower[0], y = (double)b->upper[1] - (double)b->lower[1],
           z = (double)b->upper[2] - (double)b->lower[2];
    return x < 0.0 ? 0.0 : x * y + y * z + z * x;
}

static box triangle_box(const sup_bvh *bvh, int32_t triangle)
{
    box b = box_empty();
    for (int k = 0; k < 3; k++) {
        const float *p = bvh->positions + (int64_t)bvh->triangles[(int64_t)triangle * 3 + k] * 3;
        box point = {{p[0], p[1], p[2], 0.0f}, {p[0], p[1], p[2], 0.0f}};
        box_add(&b, &point);
    }
    return b;
}

static build_triangle measure_triangle(const sup_bvh *bvh, int32_t triangle)
{
    build_triangle t = {.box = triangle_box(bvh, triangle)};
    for (int axis = 0; axis < 3; axis++)
        t.centre[axis] = 0.5 * ((double)t.box.lower[axis] + (double)t.box.upper[axis]);
    return t;
}

typedef struct range {
    int32_t begin, end, depth;
    int32_t parent; /* node whose right child this is, -1 for a left child or the root */
} range;

typedef struct bins {
    int axis;
    double origin, scale; /* bin = (centre - origin) * scale */
} bins;

static int32_t bin_of(const bins *b, double centre)
{
    double k = (centre - b->origin) * b->scale;
    return k >= BIN_COUNT - 1 ? BIN_COUNT - 1 : (k > 0.0 ? (int32_t)k : 0);
}

/* Bins along the longest side of the bounding box of the centres; false if all centres are equal. */
static bool make_bins(const build_triangle *triangles, const int32_t *order, const range *r, bins *b)
{
    double low[WIDE] = {INFINITY, INFINITY, INFINITY}, high[WIDE] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t k = r->begin; k < r->end; k++) {
        const double *centre = triangles[order[k]].centre;
        for (int axis = 0; axis < WIDE; axis++) {
            low[axis] = centre[axis] < low[axis] ? centre[axis] : low[axis];
            high[axis] = centre[axis] > high[axis] ? centre[axis] : high[axis];
        }
    }
    b->axis = 0;
    for (int axis = 1; axis < 3; axis++)
        if (high[axis] - low[axis] > high[b->axis] - low[b->axis]) b->axis = axis;
    double extent = high[b->axis] - low[b->axis];
    b->origin = low[b->axis];
    b->scale = BIN_COUNT / extent;
    return extent > 0.0 && isfinite(b->scale);
}

/* The bin after which to split for the minimum expected cost of a ray; -1 if every split has an empty side. */
static int32_t best_cut(const build_triangle *triangles, const int32_t *order, const range *r, const bins *b)
{
    box content[BIN_COUNT];
    int32_t count[BIN_COUNT] = {0};
    for (int32_t k = 0; k < BIN_COUNT; k++)
        content[k] = box_empty();
    for (int32_t k = r->begin; k < r->end; k++) {
        const build_triangle *t = &triangles[order[k]];
        int32_t bin = bin_of(b, t->centre[b->axis]);
        box_add(&content[bin], &t->box);
        count[bin]++;
    }
    double right_cost[BIN_COUNT];
    box sweep = box_empty();
    int32_t filled = 0;
    for (int32_t k = BIN_COUNT - 1; k > 0; k--) {
        box_add(&sweep, &content[k]);
        filled += count[k];
        right_cost[k] = filled > 0 ? box_area(&sweep) * filled : -1.0;
    }
    sweep = box_empty();
    filled = 0;
    int32_t best = -1;
    double best_cost = INFINITY;
    for (int32_t k = 0; k + 1 < BIN_COUNT; k++) {
        box_add(&sweep, &content[k]);
        filled += count[k];
        if (filled == 0 || right_cost[k + 1] < 0.0) continue;
        double cost = box_area(&sweep) * filled + right_cost[k + 1];
        if (cost < best_cost) {
            best_cost = cost;
            best = k;
        }
    }
    return best;
}

/* First index of the right half. */
static int32_t split(const build_triangle *triangles, int32_t *order, const range *r)
{
    bins b;
    int32_t middle = r->begin + (r->end - r->begin) / 2;
    if (r->depth >= SUP_BVH_DEPTH || !make_bins(triangles, order, r, &b)) return middle;
    int32_t cut = best_cut(triangles, order, r, &b);
    if (cut < 0) return middle;
    int32_t left = r->begin, right = r->end;
    while (left < right) {
        if (bin_of(&b, triangles[order[left]].centre[b.axis]) <= cut) {
            left++;
        } else {
            int32_t swap = order[left];
            order[left] = order[--right];
            order[right] = swap;
        }
    }
    return left > r->begin && left < r->end ? left : middle;
}

static void build(sup_bvh *bvh, const build_triangle *triangles)
{
    range stack[SUP_BVH_STACK];
    int32_t depth = 0;
    if (bvh->triangle_count > 0) stack[depth++] = (range){0, bvh->triangle_count, 0, -1};
    while (depth > 0) {
        range r = stack[--depth];
        int32_t index = bvh->node_count++;
        sup_bvh_node *node = &bvh->nodes[index];
        if (r.parent >= 0) bvh->nodes[r.parent].first = index;
        box bounds = box_empty();
        for (int32_t k = r.begin; k < r.end; k++)
            box_add(&bounds, &triangles[bvh->order[k]].box);
        box_store(&bounds, node);
        node->first = r.begin;
        node->count = r.end - r.begin;
        if (node->count <= LEAF_SIZE) continue;
        int32_t middle = split(triangles, bvh->order, &r);
        node->count = 0;
        stack[depth++] = (range){middle, r.end, r.depth + 1, index};
        stack[depth++] = (range){r.begin, middle, r.depth + 1, -1};
    }
}

sup_result sup_bvh_create(const sup_context *context, const float *positions, int32_t triangle_count,
                          const int32_t *triangles, sup_bvh *bvh, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    const sup_allocator *allocator = &resolved.allocator;
    size_t count = (size_t)(triangle_count > 0 ? triangle_count : 0);
    sup_bvh built = {positions, triangles, (int32_t)count, 0, NULL, NULL, *allocator};
    built.nodes = sup_alloc(allocator, sup_size_multiply(2 * count, sizeof(sup_bvh_node)));
    built.order = sup_alloc(allocator, count * sizeof(int32_t));
    build_triangle *measured = sup_alloc(allocator, sup_size_multiply(count, sizeof *measured));
    if (built.nodes == NULL || built.order == NULL || measured == NULL) {
        sup_free(allocator, measured, count * sizeof *measured);
        sup_bvh_free(&built);
        return sup_fail_memory(error, "a bounding volume hierarchy");
    }
    for (int32_t t = 0; t < built.triangle_count; t++) {
        built.order[t] = t;
        measured[t] = measure_triangle(&built, t);
    }
    build(&built, measured);
    sup_free(allocator, measured, count * sizeof *measured);
    *bvh = built;
    return SUP_OK;
}

void sup_bvh_free(sup_bvh *bvh)
{
    if (bvh == NULL || bvh->allocator.release == NULL) return;
    size_t count = (size_t)bvh->triangle_count;
    sup_free(&bvh->allocator, bvh->nodes, 2 * count * sizeof(sup_bvh_node));
    sup_free(&bvh->allocator, bvh->order, count * sizeof(int32_t));
    memset(bvh, 0, sizeof(*bvh));
}

void sup_bvh_refit(sup_bvh *bvh, const float *positions)
{
    bvh->positions = positions;
    for (int32_t k = bvh->node_count - 1; k >= 0; k--) { /* children before parents */
        sup_bvh_node *node = &bvh->nodes[k];
        box bounds = box_empty();
        for (int32_t t = 0; t < node->count; t++) {
            box b = triangle_box(bvh, bvh->order[node->first + t]);
            box_add(&bounds, &b);
        }
        if (node->count == 0) {
            box left = node_box(&bvh->nodes[k + 1]), right = node_box(&bvh->nodes[node->first]);
            box_add(&bounds, &left);
            box_add(&bounds, &right);
        }
        box_store(&bounds, node);
    }
}

bool sup_bvh_ray_first(const sup_bvh *bvh, const sup_bvh_ray *ray, sup_bvh_hit *hit)
{
    return trace(bvh, ray, false, hit);
}

bool sup_bvh_ray_any(const sup_bvh *bvh, const sup_bvh_ray *ray)
{
    sup_bvh_hit hit;
    return trace(bvh, ray, true, &hit);
}

sup_bvh_nearest sup_bvh_closest_of(const sup_bvh *bvh, sup_vec3d point, double limit, sup_bvh_choose_fn *accept,
                                   void *user)
{
    return closest_of(bvh, point, limit, accept, user);
}

sup_bvh_nearest sup_bvh_closest(const sup_bvh *bvh, sup_vec3d point, double limit)
{
    return closest_of(bvh, point, limit, NULL, NULL);
}

bool sup_bvh_inside(const sup_bvh *bvh, sup_vec3d point)
{
    return is_inside(bvh, point);
}

static bool nodes_overlap(const sup_bvh_node *a, const sup_bvh_node *b)
{
    for (int k = 0; k < 3; k++)
        if (a->lower[k] > b->upper[k] || b->lower[k] > a->upper[k]) return false;
    return true;
}

static bool visit_leaves(const sup_bvh *bvh, const sup_bvh_node *a, const sup_bvh_node *b, sup_bvh_pair_fn *visit,
                         void *user)
{
    for (int32_t i = 0; i < a->count; i++)
        for (int32_t j = a == b ? i + 1 : 0; j < b->count; j++)
            if (!visit(user, bvh->order[a->first + i], bvh->order[b->first + j])) return false;
    return true;
}

void sup_bvh_self_pairs(const sup_bvh *bvh, sup_bvh_pair_fn *visit, void *user)
{
    int32_t stack[3 * SUP_BVH_STACK][2]; /* a step removes one pair and adds at most three, one level down */
    int32_t depth = 0;
    if (bvh->node_count > 0) memset(stack[depth++], 0, sizeof(stack[0]));
    while (depth > 0) {
        depth--;
        int32_t left = stack[depth][0], right = stack[depth][1];
        const sup_bvh_node *a = &bvh->nodes[left], *b = &bvh->nodes[right];
        if (left == right &&
            a->count == 0) { /* a node with itself: each child with itself, and both children with each other */
            const int32_t next[3][2] = {{left + 1, left + 1}, {a->first, a->first}, {left + 1, a->first}};
            memcpy(stack[depth], next, sizeof(next));
            depth += 3;
            continue;
        }
        if (left != right && !nodes_overlap(a, b)) continue;
        if (a->count > 0 && b->count > 0) {
            if (!visit_leaves(bvh, a, b, visit, user)) return;
            continue;
        }
        bool split_left = b->count > 0 || (a->count == 0 && left < right);
        const int32_t next[2][2] = {{split_left ? left + 1 : left, split_left ? right : right + 1},
                                    {split_left ? a->first : left, split_left ? right : b->first}};
        memcpy(stack[depth], next, sizeof(next));
        depth += 2;
    }
}
