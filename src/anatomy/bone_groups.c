/* bone_groups.c - affine maps of the bones of a person.
 *
 * Deviation from [komaritzan2022] section 4.2.4: eq. 4.7 lets the skeleton surface follow the skin, and the warp of eq.
 * 4.15 copies that into the bones: on heavy bodies the rib cage became 20 % wider. Here the fit of eq. 4.7 only places
 * each group of bones. */
#include "anatomy/bone_groups.h"

#include "anatomy/bone_parts.h"
#include "geometry/adjacency.h"
#include "geometry/bvh.h"
#include "geometry/winding.h"
#include "math/polar.h"

#include <math.h>

/* Limits of the stretch relative to the scaled template; the breadth of a group that is also turned stays within 5 %.
 * */
static const double min_stretch = 0.98, max_stretch = 1.03;
/* Rib cage, pelvis and shoulders of slim bodies; with the stretch at least 0.86. */
static const double narrow_step = 0.02, narrowest = 0.90;
static const double margin = 0.002; /* metres: bones below the skin */
/* Peaks that may be dented instead: by at most this much, metres, and this fraction of the points. */
static const double dent = 0.004, dented = 0.005;
static const double stay = 0.002;     /* weight of a point that needs no push, relative to one that does */
static const double progress = 0.97;  /* of a push: it stops when less is gained */
static const double whole_body = 0.4; /* fraction of the height: longer meshes have several bones */
enum { SAMPLES = 1500, PUSHES = 40, FEWEST = 12, SMOOTHING = 20 };

/* --- Groups --- */

static int32_t group_of(sup_bone_part part, sup_body_role role, bool left)
{
    switch (part) {
    case SUP_PART_THORAX:
        return SUP_BONES_THORAX;
    case SUP_PART_PELVIS:
        return SUP_BONES_PELVIS;
    case SUP_PART_LUMBAR:
        return SUP_BONES_LUMBAR;
    case SUP_PART_NECK:
        return SUP_BONES_NECK;
    case SUP_PART_SHOULDER:
        return SUP_BONES_LIMBS + left;
    case SUP_PART_UPPER_ARM:
        return SUP_BONES_LIMBS + 2 + left;
    case SUP_PART_FOREARM:
        return SUP_BONES_LIMBS + 4 + left;
    case SUP_PART_UPPER_LEG:
        return SUP_BONES_LIMBS + 6 + left;
    case SUP_PART_LOWER_LEG:
        return SUP_BONES_LIMBS + 8 + left;
    default:
        return role == SUP_BODY_FOOT ? SUP_BONES_LIMBS + 10 + left : SUP_BONES_NONE;
    }
}

static void group_organs(sup_bone_groups *g, const sup_body_role *roles, double height)
{
    const sup_anatomy *a = g->anatomy;
    g->lumbar[0] = INFINITY;
    g->lumbar[1] = -INFINITY;
    for (int32_t p = 0; p < a->organ_count; p++) {
        double low = INFINITY, high = -INFINITY, across = 0.0;
        for (int32_t v = a->organ_vertex[p]; v < a->organ_vertex[p + 1]; v++) {
            low = fmin(low, sup_point(a->detail, v).y);
            high = fmax(high, sup_point(a->detail, v).y);
            across += sup_point(a->detail, v).x - a->joints[0];
        }
        g->organ[p] = SUP_BONES_NONE;
        int32_t joint = a->organ_joint[p];
        if (a->organ_is_muscle[p] || joint < 0 || !(high >= low) || high - low > whole_body * height) continue;
        g->organ[p] = group_of(sup_bone_part_of(a->organ_names[p], roles[joint]), roles[joint], across > 0.0);
        if (g->organ[p] != SUP_BONES_LUMBAR) continue;
        g->lumbar[0] = fmin(g->lumbar[0], low);
        g->lumbar[1] = fmax(g->lumbar[1], high);
    }
}

typedef struct nearest_work {
    sup_bone_groups *groups;
    const sup_bvh *tree;
    const int32_t *organ; /* of each triangle */
} nearest_work;

static void nearest_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    nearest_work *w = user;
    const sup_anatomy *a = w->groups->anatomy;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        w->groups->vertex[v] = SUP_BONES_NONE;
        if (a->excluded[v]) continue;
        sup_bvh_nearest near = sup_bvh_closest(w->tree, sup_point(a->bone, v), INFINITY);
        if (near.triangle >= 0) w->groups->vertex[v] = w->groups->organ[w->organ[near.triangle]];
    }
}

/* The group of each vertex of the skeleton surface: that of the nearest bone. */
static sup_result group_vertices(const sup_context *context, sup_bone_groups *g, sup_arena *arena, sup_error *error)
{
    const sup_anatomy *a = g->anatomy;
    size_t points = 3 * (size_t)a->detail_vertex_count, triangles = (size_t)a->detail_triangle_count;
    float *positions = sup_arena_alloc(arena, points + 1, sizeof *positions);
    int32_t *corners = sup_arena_alloc(arena, 3 * triangles + 1, sizeof *corners);
    int32_t *organ = sup_arena_alloc(arena, triangles + 1, sizeof *organ), count = 0;
    if (positions == NULL || corners == NULL || organ == NULL) return sup_fail_memory(error, "a person's bones");
    for (size_t i = 0; i < points; i++)
        positions[i] = (float)a->detail[i];
    for (int32_t p = 0; p < a->organ_count; p++)
        for (int32_t t = a->organ_triangle[p]; t < a->organ_triangle[p + 1] && !a->organ_is_muscle[p]; t++) {
            memcpy(corners + 3 * (size_t)count, a->detail_triangles + 3 * (size_t)t, 3 * sizeof *corners);
            organ[count++] = p;
        }
    sup_bvh tree;
    sup_result result = sup_bvh_create(context, positions, count, corners, &tree, error);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    nearest_work work = {g, &tree, organ};
    sup_parallel(&resolved, a->vertex_count, 256, nearest_range, &work);
    sup_bvh_free(&tree);
    return SUP_OK;
}

static void order_vertices(sup_bone_groups *g)
{
    int32_t next = 0;
    for (int32_t group = 0; group <= SUP_BONES_LUMBAR; group++) {
        g->first[group] = next;
        for (int32_t v = 0; v < g->anatomy->vertex_count; v++)
            if (g->vertex[v] == group) g->order[next++] = v;
    }
    g->first[SUP_BONES_LUMBAR + 1] = next;
}

sup_result sup_bone_groups_find(const sup_context *context, const sup_anatomy *anatomy, sup_arena *arena,
                                sup_bone_groups *groups, sup_error *error)
{
    *groups = (sup_bone_groups){.anatomy = anatomy, .narrowest = 1.0};
    groups->organ = sup_arena_alloc(arena, (size_t)anatomy->organ_count + 1, sizeof *groups->organ);
    groups->vertex = sup_arena_alloc(arena, (size_t)anatomy->vertex_count + 1, sizeof *groups->vertex);
    groups->order = sup_arena_alloc(arena, (size_t)anatomy->vertex_count + 1, sizeof *groups->order);
    sup_body_role *roles = sup_arena_alloc(arena, (size_t)anatomy->joint_count + 1, sizeof *roles);
    if (groups->organ == NULL || groups->vertex == NULL || groups->order == NULL || roles == NULL)
        return sup_fail_memory(error, "a person's bones");
    for (int32_t p = 0; p < anatomy->organ_count; p++)
        groups->organ[p] = SUP_BONES_NONE;
    for (int32_t v = 0; v < anatomy->vertex_count; v++)
        groups->vertex[v] = SUP_BONES_NONE;
    sup_joints joints = {anatomy->joint_count, (const char *const *)anatomy->joint_names, anatomy->parents,
                         anatomy->joints};
    bool bones = false;
    for (int32_t p = 0; p < anatomy->organ_count; p++)
        bones = bones || (!anatomy->organ_is_muscle[p] && anatomy->organ_triangle[p + 1] > anatomy->organ_triangle[p]);
    sup_error not_human = {0};
    if (!bones || sup_body_roles(context, &joints, roles, &not_human) != SUP_OK) return SUP_OK;
    double low = INFINITY, high = -INFINITY;
    for (int32_t v = 0; v < anatomy->vertex_count; v++) {
        low = fmin(low, sup_point(anatomy->skin, v).y);
        high = fmax(high, sup_point(anatomy->skin, v).y);
    }
    group_organs(groups, roles, high - low);
    sup_result result = group_vertices(context, groups, arena, error);
    if (result == SUP_OK) order_vertices(groups);
    return result;
}

bool sup_bone_groups_has(const sup_bone_groups *g, int32_t group)
{
    if (group == SUP_BONES_LUMBAR) return g->has_map[SUP_BONES_THORAX] && g->has_map[SUP_BONES_PELVIS];
    return group >= 0 && g->has_map[group];
}

sup_vec3d sup_bone_groups_point(const sup_bone_groups *g, int32_t group, sup_vec3d p)
{
    if (group != SUP_BONES_LUMBAR) return sup_affine_point(g->map[group], p);
    double length = g->lumbar[1] - g->lumbar[0];
    double t = length > 0.0 ? fmax(0.0, fmin(1.0, (p.y - g->lumbar[0]) / length)) : 0.5;
    return sup_v3_lerp(sup_affine_point(g->map[SUP_BONES_PELVIS], p), sup_affine_point(g->map[SUP_BONES_THORAX], p), t);
}

/* --- Maps --- */

/* Weighted sums of two point sets. */
typedef struct moments {
    double weight, inner[9], cross[9]; /* sum w x x^T, sum w y x^T about the means */
    sup_vec3d from, to;                /* means */
} moments;

static void outer_product(double m[9], double weight, sup_vec3d a, sup_vec3d b)
{
    const double x[3] = {a.x, a.y, a.z}, y[3] = {b.x, b.y, b.z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[3 * i + j] += weight * x[i] * y[j];
}

/* Moments of `count` pairs; weights NULL: 1. Points are at `index` of the arrays, or in order if it is NULL. */
static moments moments_of(int32_t count, const int32_t *index, const double *from, const double *to,
                          const double *weights)
{
    moments m = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < count; i++) {
            int32_t at = index != NULL ? index[i] : i;
            double w = weights != NULL ? weights[i] : 1.0;
            sup_vec3d x = sup_point(from, at), y = sup_point(to, at);
            if (pass == 0) {
                m.weight += w;
                m.from = sup_v3_madd(m.from, w, x);
                m.to = sup_v3_madd(m.to, w, y);
                continue;
            }
            outer_product(m.inner, w, sup_v3_sub(x, m.from), sup_v3_sub(x, m.from));
            outer_product(m.cross, w, sup_v3_sub(y, m.to), sup_v3_sub(x, m.from));
        }
        if (pass > 0 || !(m.weight > 0.0)) continue;
        m.from = sup_v3_scale(m.from, 1.0 / m.weight);
        m.to = sup_v3_scale(m.to, 1.0 / m.weight);
    }
    return m;
}

/* Linear part `a`, taking m->from to m->to. */
static sup_affine about_means(const moments *m, const double a[9])
{
    sup_affine map = {{a[0], a[1], a[2], 0.0, a[3], a[4], a[5], 0.0, a[6], a[7], a[8], 0.0}};
    sup_vec3d shift = sup_v3_sub(m->to, sup_affine_point(map, m->from));
    map.m[3] = shift.x;
    map.m[7] = shift.y;
    map.m[11] = shift.z;
    return map;
}

/* The best affine map; false if the points lie in a plane. */
static bool best_affine(const moments *m, sup_affine *map)
{
    double a[9];
    const double *s = m->inner;
    sup_affine inner = {{s[0], s[1], s[2], 0.0, s[3], s[4], s[5], 0.0, s[6], s[7], s[8], 0.0}}, inverse;
    double u[9], values[3], v[9];
    sup_svd3(m->inner, u, values, v);
    if (!(values[2] > 1e-6 * values[0]) || !sup_affine_inverse(inner, &inverse)) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            a[3 * i + j] = 0.0;
            for (int k = 0; k < 3; k++)
                a[3 * i + j] += m->cross[3 * i + k] * inverse.m[4 * k + j];
        }
    *map = about_means(m, a);
    return sup_affine_finite(*map);
}

/* The best map with a stretch within the limits. */
static sup_affine best_limited(const moments *m)
{
    sup_affine map;
    double a[9], u[9], s[3], v[9], limited[9];
    if (!best_affine(m, &map)) {
        sup_polar_rotation(m->cross, a);
        return about_means(m, a);
    }
    for (int i = 0; i < 9; i++)
        a[i] = map.m[4 * (i / 3) + i % 3];
    sup_svd3_signed(a, u, s, v);
    for (int k = 0; k < 3; k++)
        s[k] = fmax(min_stretch, fmin(max_stretch, s[k]));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            limited[3 * i + j] = 0.0;
            for (int k = 0; k < 3; k++)
                limited[3 * i + j] += u[3 * i + k] * s[k] * v[3 * j + k];
        }
    return about_means(m, limited);
}

/* The scaling of a trunk group: its breadth and depth are those of the scale of the height, though the joints of the
 * limbs, which the surface over the trunk also follows, are farther apart or nearer. The length is the person's. */
static sup_affine trunk_scaling(sup_affine scaling, double scale, const moments *m)
{
    sup_quatd rotation;
    double s[9], r[9], a[9];
    if (!sup_affine_polar(scaling, &rotation, s)) return scaling;
    for (int i = 0; i < 9; i++)
        a[i] = scaling.m[4 * (i / 3) + i % 3];
    sup_polar_rotation(a, r);
    const double diagonal[3] = {fmax(min_stretch * scale, fmin(max_stretch * scale, s[0])), s[4],
                                fmax(min_stretch * scale, fmin(max_stretch * scale, s[8]))};
    for (int i = 0; i < 9; i++)
        a[i] = r[i] * diagonal[i % 3];
    return about_means(m, a);
}

/* --- Pushing bones into the skin --- */

typedef struct push {
    const sup_bone_groups *groups;
    const sup_bvh *tree;
    const sup_winding *winding;
    const double *skin;
    int32_t count;
    double *rest, *now, *to, *weights; /* [count*3] template, person, where they should be; [count] */
    double *seen;                      /* [count*4] where a point was deep inside, and how deep */
} push;

static sup_vec3d skin_normal(const push *p, int32_t triangle)
{
    const int32_t *c = p->groups->anatomy->triangles + 3 * (size_t)triangle;
    sup_vec3d o = sup_point(p->skin, c[0]);
    sup_vec3d n = sup_v3_cross(sup_v3_sub(sup_point(p->skin, c[1]), o), sup_v3_sub(sup_point(p->skin, c[2]), o));
    return sup_v3_unit_or(n, sup_v3(0.0, 0.0, 0.0));
}

/* Where the points of a group should be; returns the fraction of them that needs more than a dent. */
static double find_targets(push *p, const sup_affine *map)
{
    int32_t outside = 0;
    for (int32_t i = 0; i < p->count; i++) {
        sup_vec3d x = sup_affine_point(*map, sup_point(p->rest, i));
        double *seen = p->seen + 4 * (size_t)i;
        sup_point_set(p->now, i, x);
        sup_point_set(p->to, i, x);
        p->weights[i] = stay;
        if (sup_v3_distance(x, sup_v3(seen[0], seen[1], seen[2])) < seen[3] - margin) continue;
        sup_bvh_nearest near = sup_bvh_closest(p->tree, x, INFINITY);
        bool out = sup_winding_number(p->winding, x) < 0.5;
        seen[0] = x.x, seen[1] = x.y, seen[2] = x.z;
        seen[3] = out ? 0.0 : near.distance;
        if (near.triangle < 0 || (!out && near.distance >= margin)) continue;
        sup_point_set(p->to, i, sup_v3_madd(near.point, -margin, skin_normal(p, near.triangle)));
        p->weights[i] = 1.0;
        outside += sup_v3_distance(sup_point(p->to, i), x) > dent;
    }
    return p->count > 0 ? (double)outside / p->count : 0.0;
}

static double misplaced(const push *p)
{
    double sum = 0.0;
    for (int32_t i = 0; i < p->count; i++)
        sum += sup_v3_distance(sup_point(p->now, i), sup_point(p->to, i));
    return sum;
}

/* Moves a group without deforming it; returns the fraction of its points that is still outside. */
static double push_rigidly(push *p, sup_affine *map)
{
    double outside = find_targets(p, map), left = INFINITY;
    for (int pass = 0; pass < PUSHES && outside > dented && misplaced(p) < progress * left; pass++) {
        double rotation[9];
        left = misplaced(p);
        moments m = moments_of(p->count, NULL, p->now, p->to, p->weights);
        sup_polar_rotation(m.cross, rotation);
        *map = sup_affine_multiply(about_means(&m, rotation), *map);
        outside = find_targets(p, map);
    }
    return outside;
}

/* Narrows a group across the body (x and z) as little as its place below the skin requires. Returns its breadth. */
static double push_in(push *p, sup_affine *map)
{
    double breadth = 1.0;
    while (push_rigidly(p, map) > dented && breadth > narrowest) {
        double next = fmax(narrowest, breadth - narrow_step), factor = next / breadth;
        moments m = moments_of(p->count, NULL, p->now, p->now, NULL);
        sup_affine narrow = {{factor, 0, 0, 0, 0, 1, 0, 0, 0, 0, factor, 0}};
        narrow.m[3] = m.from.x * (1.0 - factor);
        narrow.m[11] = m.from.z * (1.0 - factor);
        *map = sup_affine_multiply(narrow, *map);
        memset(p->seen, 0, 4 * (size_t)p->count * sizeof(double));
        breadth = next;
    }
    return breadth;
}

static void sample_group(push *p, int32_t group)
{
    const sup_anatomy *a = p->groups->anatomy;
    int32_t all = 0, step, at = 0;
    for (int32_t o = 0; o < a->organ_count; o++)
        if (p->groups->organ[o] == group) all += a->organ_vertex[o + 1] - a->organ_vertex[o];
    step = all / SAMPLES + 1;
    p->count = 0;
    for (int32_t o = 0; o < a->organ_count; o++)
        for (int32_t v = a->organ_vertex[o]; v < a->organ_vertex[o + 1] && p->groups->organ[o] == group; v++)
            if (at++ % step == 0 && p->count < SAMPLES) sup_point_set(p->rest, p->count++, sup_point(a->detail, v));
    memset(p->seen, 0, 4 * (size_t)p->count * sizeof(double));
}

static sup_result push_groups(const sup_context *context, sup_bone_groups *g, const double *skin, sup_error *error)
{
    static const int32_t pushed[] = {SUP_BONES_THORAX, SUP_BONES_PELVIS, SUP_BONES_LIMBS, SUP_BONES_LIMBS + 1};
    const sup_anatomy *a = g->anatomy;
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    push p = {.groups = g, .skin = skin};
    double **arrays[] = {&p.rest, &p.now, &p.to, &p.weights, &p.seen};
    float *positions = sup_arena_alloc(&arena, 3 * (size_t)a->vertex_count, sizeof *positions);
    bool good = positions != NULL;
    for (int k = 0; k < 5; k++)
        good = (*arrays[k] = sup_arena_alloc(&arena, 4 * SAMPLES, sizeof(double))) != NULL && good;
    sup_result result = good ? SUP_OK : sup_fail_memory(error, "a person's bones");
    for (size_t i = 0; i < 3 * (size_t)a->vertex_count && good; i++)
        positions[i] = (float)skin[i];
    sup_bvh tree = {0};
    sup_winding winding = {0};
    if (result == SUP_OK) result = sup_bvh_create(context, positions, a->triangle_count, a->triangles, &tree, error);
    if (result == SUP_OK) {
        result = sup_winding_create(&resolved.allocator, positions, a->triangle_count, a->triangles, &winding, error);
        p.tree = &tree;
        p.winding = &winding;
        for (size_t k = 0; k < sizeof pushed / sizeof pushed[0] && result == SUP_OK; k++) {
            if (!g->has_map[pushed[k]]) continue;
            sample_group(&p, pushed[k]);
            g->narrowest = fmin(g->narrowest, push_in(&p, &g->map[pushed[k]]));
        }
        if (result == SUP_OK) sup_winding_destroy(&winding);
        sup_bvh_free(&tree);
    }
    sup_arena_destroy(&arena);
    return result;
}

sup_result sup_bone_groups_place(const sup_context *context, sup_bone_groups *groups, double scale,
                                 const double *scaled, const double *fitted, const double *skin, sup_error *error)
{
    bool any = false;
    for (int32_t g = 0; g < SUP_BONES_GROUPS; g++) {
        int32_t count = groups->first[g + 1] - groups->first[g];
        const int32_t *vertices = groups->order + groups->first[g];
        sup_affine scaling;
        groups->has_map[g] = false;
        if (count < FEWEST) continue;
        moments m = moments_of(count, vertices, groups->anatomy->bone, scaled, NULL);
        if (!best_affine(&m, &scaling)) continue;
        if (g < SUP_BONES_LIMBS) scaling = trunk_scaling(scaling, scale, &m);
        m = moments_of(count, vertices, scaled, fitted, NULL);
        groups->map[g] = sup_affine_multiply(best_limited(&m), scaling);
        groups->has_map[g] = any = true;
    }
    return any ? push_groups(context, groups, skin, error) : SUP_OK;
}

sup_result sup_bone_groups_surface(const sup_context *context, const sup_bone_groups *groups, const double *scaled,
                                   const double *skin, double *surface, sup_error *error)
{
    const sup_anatomy *a = groups->anatomy;
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)a->vertex_count;
    double *move = sup_arena_alloc(&arena, 3 * n, sizeof *move), *sum = sup_arena_alloc(&arena, 3 * n, sizeof *sum);
    double *count = sup_arena_alloc(&arena, n, sizeof *count);
    sup_adjacency adjacency;
    sup_result result = move != NULL && sum != NULL && count != NULL ? SUP_OK : sup_fail_memory(error, "bones");
    if (result == SUP_OK)
        result = sup_adjacency_create(&resolved.allocator, a->vertex_count, a->triangle_count, a->triangles, &adjacency,
                                      error);
    if (result != SUP_OK) {
        sup_arena_destroy(&arena);
        return result;
    }
    for (int32_t v = 0; v < a->vertex_count; v++) {
        sup_vec3d from = sup_point(scaled, v), to = from;
        if (sup_bone_groups_has(groups, groups->vertex[v]))
            to = sup_bone_groups_point(groups, groups->vertex[v], sup_point(a->bone, v));
        if (a->excluded[v]) to = sup_point(skin, v);
        sup_point_set(move, v, sup_v3_sub(to, from));
    }
    /* The displacements, not the positions, are smoothed across the borders of groups. */
    for (int pass = 0; pass < SMOOTHING; pass++) {
        memset(sum, 0, 3 * n * sizeof *sum);
        memset(count, 0, n * sizeof *count);
        for (int32_t e = 0; e < adjacency.edge_count; e++) {
            int32_t p = adjacency.edge_vertices[2 * (size_t)e], q = adjacency.edge_vertices[2 * (size_t)e + 1];
            sup_point_set(sum, p, sup_v3_add(sup_point(sum, p), sup_point(move, q)));
            sup_point_set(sum, q, sup_v3_add(sup_point(sum, q), sup_point(move, p)));
            count[p] += 1.0;
            count[q] += 1.0;
        }
        for (int32_t v = 0; v < a->vertex_count; v++)
            if (!a->excluded[v] && count[v] > 0.0)
                sup_point_set(move, v,
                              sup_v3_lerp(sup_point(move, v), sup_v3_scale(sup_point(sum, v), 1.0 / count[v]), 0.5));
    }
    for (int32_t v = 0; v < a->vertex_count; v++)
        sup_point_set(surface, v, sup_v3_add(sup_point(scaled, v), sup_point(move, v)));
    sup_adjacency_destroy(&adjacency);
    sup_arena_destroy(&arena);
    return SUP_OK;
}
