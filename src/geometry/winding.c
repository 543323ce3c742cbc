/* winding.c - a balanced binary tree over triangles in Morton order, with boxes and dipoles.
 *
 * A. Jacobson, L. Kavan, O. Sorkine-Hornung, Robust inside-outside segmentation using generalized winding numbers,
 * SIGGRAPH 2013; G. Barill et al., Fast winding numbers for soups and clouds, SIGGRAPH 2018, first order only. */
#include "geometry/winding.h"

enum { LEAF = 4, STACK = 64 };

/* Distance in cluster radii beyond which a cluster is approximated by a dipole (beta of Barill et al.). */
static const double dipole_distance = 2.0;

struct sup_winding_node {
    sup_vec3d low, high; /* box; low > high when empty */
    sup_vec3d normal;    /* sum of area times unit normal */
    sup_vec3d centre;    /* weighted by area */
    double area, radius; /* radius: of the box around the centre */
};
typedef struct sup_winding_node winding_node;

static sup_vec3d corner(const sup_winding *tree, int32_t triangle, int k)
{
    return sup_v3_load(tree->positions + 3 * (size_t)tree->triangles[3 * (size_t)triangle + (size_t)k]);
}

static sup_vec3d smaller(sup_vec3d a, sup_vec3d b)
{
    return sup_v3(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z));
}

static sup_vec3d larger(sup_vec3d a, sup_vec3d b)
{
    return sup_v3(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z));
}

/* Inserts two zero bits after each of ten bits. */
static uint32_t spread_bits(uint32_t x)
{
    x = (x | (x << 16)) & 0x030000ffu;
    x = (x | (x << 8)) & 0x0300f00fu;
    x = (x | (x << 4)) & 0x030c30c3u;
    return (x | (x << 2)) & 0x09249249u;
}

static uint32_t grid(double x, double low, double extent)
{
    double cell = extent > 0.0 ? (x - low) / extent * 1023.0 : 0.0;
    return (uint32_t)(cell < 0.0 ? 0.0 : cell > 1023.0 ? 1023.0 : cell);
}

static sup_vec3d centroid(const sup_winding *tree, int32_t t)
{
    return sup_v3_scale(sup_v3_add(sup_v3_add(corner(tree, t, 0), corner(tree, t, 1)), corner(tree, t, 2)), 1.0 / 3.0);
}

/* Stable radix sort of order[] by code[order[i]], 30 bits in 3 passes. */
static void sort_by_code(int32_t count, const uint32_t *code, int32_t *order, int32_t *other)
{
    for (int pass = 0; pass < 3; pass++) {
        int32_t start[1025] = {0};
        int shift = 10 * pass;
        for (int32_t i = 0; i < count; i++)
            start[((code[order[i]] >> shift) & 1023u) + 1]++;
        for (int b = 0; b < 1024; b++)
            start[b + 1] += start[b];
        for (int32_t i = 0; i < count; i++)
            other[start[(code[order[i]] >> shift) & 1023u]++] = order[i];
        memcpy(order, other, (size_t)count * sizeof *order);
    }
}

static bool sort_triangles(sup_winding *tree)
{
    int32_t count = tree->triangle_count;
    sup_arena scratch = sup_arena_create(&tree->arena.allocator);
    uint32_t *code = sup_arena_alloc(&scratch, (size_t)count, sizeof *code);
    int32_t *other = sup_arena_alloc(&scratch, (size_t)count, sizeof *other);
    bool ok = code != NULL && other != NULL;
    if (ok) {
        sup_vec3d low = sup_v3(INFINITY, INFINITY, INFINITY), high = sup_v3(-INFINITY, -INFINITY, -INFINITY);
        for (int32_t t = 0; t < count; t++) {
            sup_vec3d c = centroid(tree, t);
            low = smaller(low, c);
            high = larger(high, c);
        }
        double extent = fmax(high.x - low.x, fmax(high.y - low.y, high.z - low.z));
        for (int32_t t = 0; t < count; t++) {
            sup_vec3d c = centroid(tree, t);
            code[t] = spread_bits(grid(c.x, low.x, extent)) | spread_bits(grid(c.y, low.y, extent)) << 1 |
                      spread_bits(grid(c.z, low.z, extent)) << 2;
            tree->order[t] = t;
        }
        sort_by_code(count, code, tree->order, other);
    }
    sup_arena_destroy(&scratch);
    return ok;
}

static void finish_node(winding_node *node)
{
    if (node->area > 0.0)
        node->centre = sup_v3_scale(node->centre, 1.0 / node->area);
    else
        node->centre = sup_v3_scale(sup_v3_add(node->low, node->high), 0.5);
    sup_vec3d reach = larger(sup_v3_sub(node->high, node->centre), sup_v3_sub(node->centre, node->low));
    node->radius = sup_v3_length(reach);
}

static winding_node empty_node(void)
{
    winding_node node = {.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
    return node;
}

static bool is_empty(const winding_node *node)
{
    return node->low.x > node->high.x;
}

/* Triangles of leaf i are [begin, end) of `order`, distributed evenly over the leaves. */
static void leaf_range(const sup_winding *tree, int32_t leaf, int32_t *begin, int32_t *end)
{
    *begin = (int32_t)((int64_t)tree->triangle_count * leaf / tree->leaf_count);
    *end = (int32_t)((int64_t)tree->triangle_count * (leaf + 1) / tree->leaf_count);
}

static void build_leaf(sup_winding *tree, int32_t leaf)
{
    winding_node node = empty_node();
    int32_t begin, end;
    leaf_range(tree, leaf, &begin, &end);
    for (int32_t i = begin; i < end; i++) {
        int32_t t = tree->order[i];
        sup_vec3d a = corner(tree, t, 0), b = corner(tree, t, 1), c = corner(tree, t, 2);
        sup_vec3d cross = sup_v3_scale(sup_v3_cross(sup_v3_sub(b, a), sup_v3_sub(c, a)), 0.5);
        double area = sup_v3_length(cross);
        node.low = smaller(node.low, smaller(a, smaller(b, c)));
        node.high = larger(node.high, larger(a, larger(b, c)));
        node.normal = sup_v3_add(node.normal, cross);
        node.centre = sup_v3_madd(node.centre, area, centroid(tree, t));
        node.area += area;
        tree->area += area;
        tree->volume += sup_v3_dot(cross, sup_v3_sub(a, corner(tree, tree->order[0], 0))) / 3.0;
    }
    if (!is_empty(&node)) finish_node(&node);
    tree->nodes[tree->leaf_count - 1 + leaf] = node;
}

static void build_inner(sup_winding *tree, int32_t i)
{
    winding_node node = empty_node();
    for (int32_t k = 2 * i + 1; k <= 2 * i + 2; k++) {
        const winding_node *child = &tree->nodes[k];
        if (is_empty(child)) continue;
        node.low = smaller(node.low, child->low);
        node.high = larger(node.high, child->high);
        node.normal = sup_v3_add(node.normal, child->normal);
        node.centre = sup_v3_madd(node.centre, child->area, child->centre);
        node.area += child->area;
    }
    if (!is_empty(&node)) finish_node(&node);
    tree->nodes[i] = node;
}

sup_result sup_winding_create(const sup_allocator *allocator, const float *positions, int32_t triangle_count,
                              const int32_t *triangles, sup_winding *tree, sup_error *error)
{
    sup_winding created = {.triangle_count = triangle_count, .positions = positions, .triangles = triangles};
    created.leaf_count = 1;
    while ((int64_t)created.leaf_count * LEAF < triangle_count)
        created.leaf_count *= 2;
    created.arena = sup_arena_create(allocator);
    created.order = sup_arena_alloc(&created.arena, (size_t)triangle_count, sizeof *created.order);
    created.nodes = sup_arena_alloc(&created.arena, 2 * (size_t)created.leaf_count - 1, sizeof *created.nodes);
    if (created.order == NULL || created.nodes == NULL || !sort_triangles(&created)) {
        sup_arena_destroy(&created.arena);
        return sup_fail_memory(error, "the winding number tree");
    }
    for (int32_t leaf = 0; leaf < created.leaf_count; leaf++)
        build_leaf(&created, leaf);
    for (int32_t i = created.leaf_count - 2; i >= 0; i--)
        build_inner(&created, i);
    *tree = created;
    return SUP_OK;
}

void sup_winding_destroy(sup_winding *tree)
{
    sup_arena_destroy(&tree->arena);
}

/* Signed solid angle of a triangle seen from the origin (Van Oosterom and Strackee 1983). */
static double solid_angle(sup_vec3d a, sup_vec3d b, sup_vec3d c)
{
    double la = sup_v3_length(a), lb = sup_v3_length(b), lc = sup_v3_length(c);
    double det = sup_v3_dot(a, sup_v3_cross(b, c));
    double rest = la * lb * lc + sup_v3_dot(a, b) * lc + sup_v3_dot(b, c) * la + sup_v3_dot(c, a) * lb;
    return det == 0.0 && rest <= 0.0 ? 0.0 : 2.0 * atan2(det, rest); /* in the plane of the triangle */
}

static double leaf_winding(const sup_winding *tree, int32_t leaf, sup_vec3d p)
{
    double sum = 0.0;
    int32_t begin, end;
    leaf_range(tree, leaf, &begin, &end);
    for (int32_t i = begin; i < end; i++) {
        int32_t t = tree->order[i];
        sum += solid_angle(sup_v3_sub(corner(tree, t, 0), p), sup_v3_sub(corner(tree, t, 1), p),
                           sup_v3_sub(corner(tree, t, 2), p));
    }
    return sum;
}

double sup_winding_number(const sup_winding *tree, sup_vec3d p)
{
    int32_t stack[STACK], depth = 0;
    double sum = 0.0;
    stack[depth++] = 0;
    while (depth > 0) {
        int32_t i = stack[--depth];
        const winding_node *node = &tree->nodes[i];
        if (is_empty(node)) continue;
        sup_vec3d to = sup_v3_sub(node->centre, p);
        double distance = sup_v3_length(to);
        if (distance > dipole_distance * node->radius && distance > 0.0) {
            sum += sup_v3_dot(node->normal, to) / (distance * distance * distance);
        } else if (i >= tree->leaf_count - 1) {
            sum += leaf_winding(tree, i - (tree->leaf_count - 1), p);
        } else {
            stack[depth++] = 2 * i + 2;
            stack[depth++] = 2 * i + 1;
        }
    }
    return sum / 12.566370614359172; /* 4 pi */
}
