/* scale.c - global and per-bone scaling of the template.
 *
 * Based on: [komaritzan2022] section 4.2.4, global and local scaling, with the bone stretching of [kadlecek2016]:
 * limbs are scaled along their bones only, so their diameters depend only on the damped height.
 * Deviations: a bone is also rotated to its direction in the person (smallest rotation), which removes small
 * differences of the pose; bones shorter than 6 % of the height follow their parent, because their direction is
 * mostly error. */
#include "anatomy/scale.h"

#include "math/affine.h"

static const double short_bone = 0.06; /* fraction of the height */
/* range of a bone's stretch, relative to the global scaling */
static const double min_stretch = 0.5, max_stretch = 2.0;

double sup_shape_height(int32_t vertex_count, const double *positions)
{
    double lower = INFINITY, upper = -INFINITY;
    for (int32_t v = 0; v < vertex_count; v++) {
        lower = fmin(lower, positions[3 * (size_t)v + 1]);
        upper = fmax(upper, positions[3 * (size_t)v + 1]);
    }
    return vertex_count > 0 ? upper - lower : 0.0;
}

/* Adds the mean value weights of one triangle for the point p [ju2005]; returns false if p lies in the triangle's
 * plane, where they are undefined: the caller skips that triangle. */
static bool mean_value_weights(const sup_vec3d corner[3], sup_vec3d p, double weights[3])
{
    sup_vec3d u[3];
    double distance[3], angle[3], half = 0.0, sine[3], cosine[3];
    for (int k = 0; k < 3; k++) {
        u[k] = sup_v3_sub(corner[k], p);
        distance[k] = sup_v3_length(u[k]);
        if (!(distance[k] > 1e-9)) return false;
        u[k] = sup_v3_scale(u[k], 1.0 / distance[k]);
    }
    for (int k = 0; k < 3; k++) {
        double length = sup_v3_distance(u[(k + 1) % 3], u[(k + 2) % 3]);
        angle[k] = 2.0 * asin(fmin(0.5 * length, 1.0));
        half += 0.5 * angle[k];
    }
    double side = sup_v3_dot(u[0], sup_v3_cross(u[1], u[2])) < 0.0 ? -1.0 : 1.0;
    for (int k = 0; k < 3; k++) {
        double b = sin(angle[(k + 1) % 3]) * sin(angle[(k + 2) % 3]);
        if (!(fabs(b) > 1e-14)) return false;
        cosine[k] = fmax(-1.0, fmin(1.0, 2.0 * sin(half) * sin(half - angle[k]) / b - 1.0));
        sine[k] = side * sqrt(1.0 - cosine[k] * cosine[k]);
        if (!(fabs(sine[k]) > 1e-9)) return false;
    }
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        weights[k] = (angle[k] - cosine[i] * angle[j] - cosine[j] * angle[i]) / (distance[k] * sin(angle[i]) * sine[j]);
    }
    return true;
}

static sup_vec3d follow_point(const sup_shape *from, const double *to, sup_vec3d p)
{
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0), own = sum;
    double total = 0.0;
    for (int32_t t = 0; t < from->triangle_count; t++) {
        const int32_t *c = from->triangles + 3 * (size_t)t;
        sup_vec3d corner[3] = {sup_point(from->positions, c[0]), sup_point(from->positions, c[1]),
                               sup_point(from->positions, c[2])};
        double weights[3];
        if (!mean_value_weights(corner, p, weights)) continue;
        for (int k = 0; k < 3; k++) {
            sum = sup_v3_madd(sum, weights[k], sup_point(to, c[k]));
            own = sup_v3_madd(own, weights[k], corner[k]);
            total += weights[k];
        }
    }
    if (!(total > 0.0)) return p;
    /* Skipped triangles cause a small error of the weights at p; the same offset is added to the result. */
    return sup_v3_add(sup_v3_scale(sum, 1.0 / total), sup_v3_sub(p, sup_v3_scale(own, 1.0 / total)));
}

typedef struct follow_work {
    sup_shape from;
    const double *to, *points;
    double *out;
} follow_work;

static void follow_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const follow_work *work = user;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        sup_point_set(work->out, i, follow_point(&work->from, work->to, sup_point(work->points, i)));
}

sup_result sup_points_follow(const sup_context *context, sup_shape from, const double *to, int32_t count,
                             const double *points, double *out, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    follow_work work = {from, to, points, out};
    sup_parallel(&resolved, count, 1, follow_range, &work);
    for (int32_t i = 0; i < count; i++)
        if (!sup_v3_finite(sup_point(out, i)))
            return sup_fail(error, SUP_ERROR_NUMERIC, "anatomy.fit.joints", "",
                            "The position of a joint could not be computed from the skin: give the person's joints.");
    return SUP_OK;
}

/* The child that continues a joint's bone: the straightest one; at the root the one with most descendants. */
static int32_t main_child(const sup_anatomy *anatomy, const int32_t *behind, int32_t joint)
{
    int32_t best = -1, parent = anatomy->parents[joint];
    double best_score = -INFINITY;
    sup_vec3d here = sup_point(anatomy->joints, joint), zero = sup_v3(0.0, 0.0, 0.0);
    for (int32_t c = joint + 1; c < anatomy->joint_count; c++) {
        if (anatomy->parents[c] != joint) continue;
        sup_vec3d along = sup_v3_unit_or(sup_v3_sub(sup_point(anatomy->joints, c), here), zero);
        double score = (double)behind[c];
        if (parent >= 0)
            score = sup_v3_dot(along, sup_v3_unit_or(sup_v3_sub(here, sup_point(anatomy->joints, parent)), zero));
        if (score > best_score) {
            best_score = score;
            best = c;
        }
    }
    return best;
}

/* Map from segment (from, to) to (new_from, new_to): rotation, and stretch along the segment only. */
static sup_affine stretch_segment(sup_vec3d from, sup_vec3d to, sup_vec3d new_from, sup_vec3d new_to)
{
    sup_vec3d old_line = sup_v3_sub(to, from), new_line = sup_v3_sub(new_to, new_from);
    double length = sup_v3_length(old_line);
    sup_vec3d u = sup_v3_scale(old_line, 1.0 / length);
    double s = fmax(min_stretch, fmin(max_stretch, sup_v3_length(new_line) / length)) - 1.0;
    sup_affine stretch = {{1.0 + s * u.x * u.x, s * u.x * u.y, s * u.x * u.z, 0.0, s * u.y * u.x, 1.0 + s * u.y * u.y,
                           s * u.y * u.z, 0.0, s * u.z * u.x, s * u.z * u.y, 1.0 + s * u.z * u.z, 0.0}};
    sup_affine back = sup_affine_identity();
    back.m[3] = -from.x;
    back.m[7] = -from.y;
    back.m[11] = -from.z;
    sup_affine rotation = sup_affine_from_trs(new_from, sup_quatd_between(old_line, new_line), sup_v3(1.0, 1.0, 1.0));
    return sup_affine_multiply(rotation, sup_affine_multiply(stretch, back));
}

/* Maps of all joints, from the globally scaled template to the person. The torso, from the root to the last
 * branching joint of its main chain, is one segment. */
static void joint_maps(const sup_anatomy *anatomy, double height, const double *scaled, const double *joints,
                       int32_t *behind, sup_affine *maps)
{
    int32_t count = anatomy->joint_count, root = 0, torso_end = 0;
    memset(behind, 0, (size_t)count * sizeof *behind);
    for (int32_t j = count - 1; j > 0; j--)
        if (anatomy->parents[j] >= 0) behind[anatomy->parents[j]] += behind[j] + 1;
    for (int32_t j = root, steps = 0; j >= 0 && steps < count; j = main_child(anatomy, behind, j), steps++) {
        int32_t children = 0;
        for (int32_t c = j + 1; c < count; c++)
            children += anatomy->parents[c] == j;
        if (children > 1) torso_end = j;
    }
    int32_t top = main_child(anatomy, behind, torso_end);
    for (int32_t j = 0; j < count; j++) {
        int32_t parent = anatomy->parents[j], child = main_child(anatomy, behind, j);
        sup_vec3d from = sup_point(scaled, j), to = child >= 0 ? sup_point(scaled, child) : from;
        bool torso = false;
        for (int32_t k = torso_end; k >= 0 && !torso; k = anatomy->parents[k])
            torso = k == j;
        if (torso && parent >= 0)
            maps[j] = maps[parent];
        else if (torso && top >= 0 && sup_v3_distance(sup_point(scaled, top), from) > short_bone * height)
            maps[j] = stretch_segment(from, sup_point(scaled, top), sup_point(joints, j), sup_point(joints, top));
        else if (sup_v3_distance(from, to) > short_bone * height)
            maps[j] = stretch_segment(from, to, sup_point(joints, j), sup_point(joints, child));
        else if (parent >= 0)
            maps[j] = maps[parent];
        else {
            maps[j] = sup_affine_identity();
            sup_vec3d shift = sup_v3_sub(sup_point(joints, j), from);
            maps[j].m[3] = shift.x;
            maps[j].m[7] = shift.y;
            maps[j].m[11] = shift.z;
        }
    }
}

typedef struct stretch_work {
    const sup_anatomy *anatomy;
    const sup_affine *maps;
    double scale;
    sup_vec3d middle;
    const double *from[3];
    double *to[3];
} stretch_work;

static void stretch_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const stretch_work *work = user;
    const sup_anatomy *anatomy = work->anatomy;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_affine blend = {{0.0}};
        double total = 0.0;
        for (int32_t i = anatomy->influence_first[v]; i < anatomy->influence_first[v + 1]; i++) {
            const sup_affine *map = &work->maps[anatomy->influence_joint[i]];
            for (int k = 0; k < 12; k++)
                blend.m[k] += anatomy->influence_weight[i] * map->m[k];
            total += anatomy->influence_weight[i];
        }
        for (int k = 0; k < 12; k++)
            blend.m[k] = total > 0.0 ? blend.m[k] / total : work->maps[0].m[k];
        for (int l = 0; l < 3; l++) {
            sup_vec3d p = sup_v3_sub(sup_point(work->from[l], v), work->middle);
            sup_point_set(work->to[l], v, sup_affine_point(blend, sup_v3_madd(work->middle, work->scale, p)));
        }
    }
}

sup_result sup_anatomy_stretch(const sup_context *context, const sup_anatomy *anatomy, double height,
                               const double *joints, double *skin, double *muscle, double *bone, double *scale,
                               sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t count = (size_t)anatomy->joint_count;
    double own = sup_shape_height(anatomy->vertex_count, anatomy->skin);
    sup_affine *maps = sup_arena_alloc(&arena, count, sizeof *maps);
    double *scaled = sup_arena_alloc(&arena, 3 * count, sizeof *scaled);
    int32_t *behind = sup_arena_alloc(&arena, count, sizeof *behind);
    sup_result result = SUP_OK;
    if (maps == NULL || scaled == NULL || behind == NULL) result = sup_fail_memory(error, "the template's scaling");
    if (result == SUP_OK && !(own > 0.0 && height > 0.0))
        result = sup_fail(error, SUP_ERROR_DATA, "anatomy.fit.height", "",
                          "The skin has no extent along the Y axis: rotate it so that Y is up.");
    if (result == SUP_OK) {
        *scale = 0.5 * (height / own - 1.0) + 1.0; /* d_h <- 0.5 (d_h - 1) + 1 */
        sup_vec3d middle = sup_point(anatomy->joints, 0);
        for (int32_t j = 0; j < anatomy->joint_count; j++)
            sup_point_set(scaled, j, sup_v3_madd(middle, *scale, sup_v3_sub(sup_point(anatomy->joints, j), middle)));
        joint_maps(anatomy, height, scaled, joints, behind, maps);
        stretch_work work = {
            anatomy, maps, *scale, middle, {anatomy->skin, anatomy->muscle, anatomy->bone}, {skin, muscle, bone}};
        sup_parallel(&resolved, anatomy->vertex_count, 512, stretch_range, &work);
    }
    sup_arena_destroy(&arena);
    return result;
}
