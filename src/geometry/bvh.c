/* bvh.c - tree of boxes over triangles: built top-down with a binned surface area heuristic (I. Wald, "On fast
 * construction of SAH-based bounding volume hierarchies", 2007; key wald2007sah). */
#include "geometry/bvh.h"

enum { LEAF_SIZE = 4, BIN_COUNT = 16, SAH_DEPTH = 32 };
/* Below SAH_DEPTH levels the rest is halved: at most 31 levels more. A query keeps one node per level at most. */
enum { STACK_SIZE = SAH_DEPTH + 32 + 2 };

typedef struct box {
    float lower[3], upper[3];
} box;

static box box_empty(void)
{
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    return b;
}

static void box_add(box *b, const float lower[3], const float upper[3])
{
    for (int k = 0; k < 3; k++) {
        if (lower[k] < b->lower[k]) b->lower[k] = lower[k];
        if (upper[k] > b->upper[k]) b->upper[k] = upper[k];
    }
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
        box_add(&b, p, p);
    }
    return b;
}

static double box_centre(const box *b, int axis)
{
    return 0.5 * ((double)b->lower[axis] + (double)b->upper[axis]);
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

/* Bins along the longest side of the box of the centres; false when all centres are in one place. */
static bool make_bins(const box *boxes, const int32_t *order, const range *r, bins *b)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t k = r->begin; k < r->end; k++)
        for (int axis = 0; axis < 3; axis++) {
            double c = box_centre(&boxes[order[k]], axis);
            low[axis] = c < low[axis] ? c : low[axis];
            high[axis] = c > high[axis] ? c : high[axis];
        }
    b->axis = 0;
    for (int axis = 1; axis < 3; axis++)
        if (high[axis] - low[axis] > high[b->axis] - low[b->axis]) b->axis = axis;
    double extent = high[b->axis] - low[b->axis];
    b->origin = low[b->axis];
    b->scale = BIN_COUNT / extent;
    return extent > 0.0 && isfinite(b->scale);
}

/* The bin after which to cut for the least expected cost of a ray; -1 when no cut leaves both sides filled. */
static int32_t best_cut(const box *boxes, const int32_t *order, const range *r, const bins *b)
{
    box content[BIN_COUNT];
    int32_t count[BIN_COUNT] = {0};
    for (int32_t k = 0; k < BIN_COUNT; k++)
        content[k] = box_empty();
    for (int32_t k = r->begin; k < r->end; k++) {
        const box *t = &boxes[order[k]];
        int32_t bin = bin_of(b, box_centre(t, b->axis));
        box_add(&content[bin], t->lower, t->upper);
        count[bin]++;
    }
    double right_cost[BIN_COUNT];
    box sweep = box_empty();
    int32_t filled = 0;
    for (int32_t k = BIN_COUNT - 1; k > 0; k--) {
        box_add(&sweep, content[k].lower, content[k].upper);
        filled += count[k];
        right_cost[k] = filled > 0 ? box_area(&sweep) * filled : -1.0;
    }
    sweep = box_empty();
    filled = 0;
    int32_t best = -1;
    double best_cost = INFINITY;
    for (int32_t k = 0; k + 1 < BIN_COUNT; k++) {
        box_add(&sweep, content[k].lower, content[k].upper);
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
static int32_t split(const box *boxes, int32_t *order, const range *r)
{
    bins b;
    int32_t middle = r->begin + (r->end - r->begin) / 2;
    if (r->depth >= SAH_DEPTH || !make_bins(boxes, order, r, &b)) return middle;
    int32_t cut = best_cut(boxes, order, r, &b);
    if (cut < 0) return middle;
    int32_t left = r->begin, right = r->end;
    while (left < right) {
        if (bin_of(&b, box_centre(&boxes[order[left]], b.axis)) <= cut) {
            left++;
        } else {
            int32_t swap = order[left];
            order[left] = order[--right];
            order[right] = swap;
        }
    }
    return left > r->begin && left < r->end ? left : middle;
}

static void build(sup_bvh *bvh, const box *boxes)
{
    range stack[STACK_SIZE];
    int32_t depth = 0;
    if (bvh->triangle_count > 0) stack[depth++] = (range){0, bvh->triangle_count, 0, -1};
    while (depth > 0) {
        range r = stack[--depth];
        int32_t index = bvh->node_count++;
        sup_bvh_node *node = &bvh->nodes[index];
        if (r.parent >= 0) bvh->nodes[r.parent].first = index;
        box bounds = box_empty();
        for (int32_t k = r.begin; k < r.end; k++)
            box_add(&bounds, boxes[bvh->order[k]].lower, boxes[bvh->order[k]].upper);
        memcpy(node->lower, bounds.lower, sizeof(bounds.lower));
        memcpy(node->upper, bounds.upper, sizeof(bounds.upper));
        node->first = r.begin;
        node->count = r.end - r.begin;
        if (node->count <= LEAF_SIZE) continue;
        int32_t middle = split(boxes, bvh->order, &r);
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
    box *boxes = sup_alloc(allocator, sup_size_multiply(count, sizeof(box)));
    if (built.nodes == NULL || built.order == NULL || boxes == NULL) {
        sup_free(allocator, boxes, count * sizeof(box));
        sup_bvh_free(&built);
        return sup_fail_memory(error, "a tree of triangles");
    }
    for (int32_t t = 0; t < built.triangle_count; t++) {
        built.order[t] = t;
        boxes[t] = triangle_box(&built, t);
    }
    build(&built, boxes);
    sup_free(allocator, boxes, count * sizeof(box));
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
            box_add(&bounds, b.lower, b.upper);
        }
        if (node->count == 0) {
            box_add(&bounds, bvh->nodes[k + 1].lower, bvh->nodes[k + 1].upper);
            box_add(&bounds, bvh->nodes[node->first].lower, bvh->nodes[node->first].upper);
        }
        memcpy(node->lower, bounds.lower, sizeof(bounds.lower));
        memcpy(node->upper, bounds.upper, sizeof(bounds.upper));
    }
}

static sup_vec3d corner(const sup_bvh *bvh, int32_t triangle, int k)
{
    return sup_v3_load(bvh->positions + (int64_t)bvh->triangles[(int64_t)triangle * 3 + k] * 3);
}

/* Whether [t_min, t_max] of the ray meets the box, with a little room for rounding. */
static bool ray_meets_box(const sup_bvh_node *node, const double origin[3], const double direction[3],
                          const double inverse[3], double t_min, double t_max)
{
    for (int k = 0; k < 3; k++) {
        double low = (double)node->lower[k] - origin[k], high = (double)node->upper[k] - origin[k];
        if (direction[k] > 0.0 || direction[k] < 0.0) {
            double a = low * inverse[k], b = high * inverse[k];
            double enter = a < b ? a : b, leave = a < b ? b : a;
            enter -= 1e-12 * fabs(enter);
            leave += 1e-12 * fabs(leave);
            if (enter > t_min) t_min = enter;
            if (leave < t_max) t_max = leave;
            if (t_min > t_max) return false;
        } else if (low > 0.0 || high < 0.0) {
            return false;
        }
    }
    return true;
}

/* T. Moeller, B. Trumbore 1997. Edges count as inside, with room for rounding, so that no ray slips between two. */
static bool ray_meets_triangle(const sup_bvh *bvh, const sup_bvh_ray *ray, int32_t triangle, sup_bvh_hit *hit)
{
    const double room = 1e-12;
    sup_vec3d a = corner(bvh, triangle, 0);
    sup_vec3d ab = sup_v3_sub(corner(bvh, triangle, 1), a), ac = sup_v3_sub(corner(bvh, triangle, 2), a);
    sup_vec3d p = sup_v3_cross(ray->direction, ac);
    double determinant = sup_v3_dot(ab, p);
    if (!(determinant > 0.0 || determinant < 0.0)) return false; /* parallel or without area */
    double inverse = 1.0 / determinant;
    if (!isfinite(inverse)) return false;
    sup_vec3d to = sup_v3_sub(ray->origin, a);
    double u = sup_v3_dot(to, p) * inverse;
    if (!(u >= -room && u <= 1.0 + room)) return false;
    sup_vec3d q = sup_v3_cross(to, ab);
    double v = sup_v3_dot(ray->direction, q) * inverse;
    if (!(v >= -room && u + v <= 1.0 + room)) return false;
    double t = sup_v3_dot(ac, q) * inverse;
    if (!(t >= ray->t_min && t <= ray->t_max)) return false;
    *hit = (sup_bvh_hit){triangle, t, u, v, determinant < 0.0 ? 1 : -1};
    return true;
}

/* Nearest hit, or any when `any`. */
static bool trace(const sup_bvh *bvh, const sup_bvh_ray *ray, bool any, sup_bvh_hit *nearest)
{
    int32_t stack[STACK_SIZE], depth = 0;
    sup_bvh_ray r = *ray;
    bool found = false;
    const double origin[3] = {r.origin.x, r.origin.y, r.origin.z};
    const double direction[3] = {r.direction.x, r.direction.y, r.direction.z};
    const double inverse[3] = {1.0 / direction[0], 1.0 / direction[1], 1.0 / direction[2]};
    if (bvh->node_count > 0) stack[depth++] = 0;
    while (depth > 0) {
        int32_t index = stack[--depth];
        const sup_bvh_node *node = &bvh->nodes[index];
        if (!ray_meets_box(node, origin, direction, inverse, r.t_min, r.t_max)) continue;
        if (node->count == 0) {
            stack[depth++] = node->first;
            stack[depth++] = index + 1;
            continue;
        }
        for (int32_t k = 0; k < node->count; k++) {
            sup_bvh_hit hit;
            if (!ray_meets_triangle(bvh, &r, bvh->order[node->first + k], &hit)) continue;
            bool later = found && (hit.t > nearest->t || (hit.t >= nearest->t && hit.triangle > nearest->triangle));
            if (later || (r.accept != NULL && !r.accept(r.user, &hit))) continue;
            *nearest = hit;
            if (any) return true;
            found = true;
            r.t_max = hit.t;
        }
    }
    return found;
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

static double box_distance2(const sup_bvh_node *node, sup_vec3d p)
{
    const double at[3] = {p.x, p.y, p.z};
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double low = (double)node->lower[k] - at[k], high = at[k] - (double)node->upper[k];
        double d = low > 0.0 ? low : (high > 0.0 ? high : 0.0);
        sum += d * d;
    }
    return sum;
}

/* Nearest point of edge ab, as weight of b. */
static double edge_weight(sup_vec3d p, sup_vec3d a, sup_vec3d b, double *distance2)
{
    double t = sup_v3_segment_parameter(p, a, b);
    sup_vec3d to = sup_v3_sub(p, sup_v3_lerp(a, b, t));
    *distance2 = sup_v3_dot(to, to);
    return t;
}

/* Barycentric weights of the nearest point: inside when the projection is, else the nearest of the three edges. */
static void nearest_on_triangle(const sup_vec3d c[3], sup_vec3d p, double *u, double *v)
{
    sup_vec3d ab = sup_v3_sub(c[1], c[0]), ac = sup_v3_sub(c[2], c[0]), ap = sup_v3_sub(p, c[0]);
    double aa = sup_v3_dot(ab, ab), bb = sup_v3_dot(ac, ac), mixed = sup_v3_dot(ab, ac);
    double pa = sup_v3_dot(ap, ab), pb = sup_v3_dot(ap, ac);
    double determinant = aa * bb - mixed * mixed;
    if (determinant > 1e-14 * aa * bb) {
        *u = (bb * pa - mixed * pb) / determinant;
        *v = (aa * pb - mixed * pa) / determinant;
        if (*u >= 0.0 && *v >= 0.0 && *u + *v <= 1.0) return;
    }
    double d0, d1, d2;
    double t0 = edge_weight(p, c[0], c[1], &d0), t1 = edge_weight(p, c[1], c[2], &d1),
           t2 = edge_weight(p, c[2], c[0], &d2);
    if (d0 <= d1 && d0 <= d2)
        *u = t0, *v = 0.0;
    else if (d1 <= d2)
        *u = 1.0 - t1, *v = t1;
    else
        *u = 0.0, *v = 1.0 - t2;
}

static void try_triangle(const sup_bvh *bvh, int32_t triangle, sup_vec3d point, double *best, sup_bvh_nearest *nearest)
{
    sup_vec3d c[3] = {corner(bvh, triangle, 0), corner(bvh, triangle, 1), corner(bvh, triangle, 2)};
    double u, v;
    nearest_on_triangle(c, point, &u, &v);
    sup_vec3d at = sup_v3_madd(sup_v3_madd(c[0], u, sup_v3_sub(c[1], c[0])), v, sup_v3_sub(c[2], c[0]));
    sup_vec3d to = sup_v3_sub(point, at);
    double distance2 = sup_v3_dot(to, to);
    bool closer = distance2 < *best || (distance2 <= *best && (nearest->triangle < 0 || triangle < nearest->triangle));
    if (!closer) return;
    *best = distance2;
    *nearest = (sup_bvh_nearest){triangle, u, v, sqrt(distance2), at};
}

sup_bvh_nearest sup_bvh_closest_of(const sup_bvh *bvh, sup_vec3d point, double limit, sup_bvh_choose_fn *accept,
                                   void *user)
{
    int32_t stack[STACK_SIZE], depth = 0;
    sup_bvh_nearest nearest = {-1, 0.0, 0.0, INFINITY, point};
    double best = limit * limit;
    if (bvh->node_count > 0) stack[depth++] = 0;
    while (depth > 0) {
        int32_t index = stack[--depth];
        const sup_bvh_node *node = &bvh->nodes[index];
        if (box_distance2(node, point) > best) continue;
        if (node->count == 0) { /* the nearer child is looked at first: it is pushed last */
            int32_t left = index + 1, right = node->first;
            bool left_first = box_distance2(&bvh->nodes[left], point) <= box_distance2(&bvh->nodes[right], point);
            stack[depth++] = left_first ? right : left;
            stack[depth++] = left_first ? left : right;
            continue;
        }
        for (int32_t k = 0; k < node->count; k++) {
            int32_t triangle = bvh->order[node->first + k];
            if (accept == NULL || accept(user, triangle)) try_triangle(bvh, triangle, point, &best, &nearest);
        }
    }
    return nearest;
}

sup_bvh_nearest sup_bvh_closest(const sup_bvh *bvh, sup_vec3d point, double limit)
{
    return sup_bvh_closest_of(bvh, point, limit, NULL, NULL);
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
    int32_t stack[3 * STACK_SIZE][2]; /* a step takes one pair and leaves three at most, one level down */
    int32_t depth = 0;
    if (bvh->node_count > 0) memset(stack[depth++], 0, sizeof(stack[0]));
    while (depth > 0) {
        depth--;
        int32_t left = stack[depth][0], right = stack[depth][1];
        const sup_bvh_node *a = &bvh->nodes[left], *b = &bvh->nodes[right];
        if (left == right && a->count == 0) { /* a node with itself: both children, and the two together */
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

static bool count_crossing(void *user, const sup_bvh_hit *hit)
{
    *(int32_t *)user += hit->facing;
    return false; /* go on to the next */
}

bool sup_bvh_inside(const sup_bvh *bvh, sup_vec3d point)
{
    /* Oblique on purpose: models have many faces and edges along the axes. All signs of one direction, so that the
     * answers for a mirrored model are mirrored. */
    enum { RAY_COUNT = 8 };
    int32_t inside = 0;
    for (int32_t k = 0; k < RAY_COUNT; k++) {
        int32_t crossings = 0;
        sup_vec3d direction = sup_v3(k & 1 ? -0.6133 : 0.6133, k & 2 ? -0.5471 : 0.5471, k & 4 ? -0.5699 : 0.5699);
        sup_bvh_ray ray = {point, direction, 0.0, INFINITY, count_crossing, &crossings};
        sup_bvh_ray_any(bvh, &ray);
        inside += crossings != 0;
    }
    return 2 * inside >= RAY_COUNT;
}
