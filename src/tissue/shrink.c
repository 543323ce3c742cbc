/* shrink.c - a base for each skin vertex, on the line to its foot point.
 *
 * Based on: [komaritzan2022] section 3.2.1 "Skin Shrinking" and appendix A (eq. A.1 to A.4).
 * Deviations:
 *  - appendix A always takes the root (-b - sqrt d)/a. Along a steep cone a is 0 or negative, and for
 *    a line that starts inside the infinite cone but outside the finite one, the first root is behind it: here both
 *    roots are computed, and the first one on the primitive is used;
 *  - only primitives near the foot point are tested, those of its own segment and of adjacent ones: the line must not
 *    hit another limb;
 *  - the tissue has a minimum thickness, so a skin vertex inside a bone gets a base further in, and a maximum one.
 *
 * Every line has a hit. Let U be the union of the own segment's capsule, its two cones and its spheres. The foot point
 * lies in U: the axis of the capsule and the two gaps that the cones bridge cover the whole segment, and all radii are
 * positive. A line from outside U into U crosses the boundary of U. The flat ends of a cone are not tested, but they
 * are not part of the boundary: with 0.8 of the radius they lie within the cap of the capsule and within the sphere. */
#include "tissue/shrink.h"

static const double cone_factor = 0.8; /* appendix A: the cones have 80 % of the radii they connect */
/* Largest t: around a bone that is very thin compared with the tissue, bases would lie so close together that the
 * tetrahedra there have almost no volume; the ratio of volumes is proportional to (1 - t)^2. */
static const double max_thickness = 0.88;

double sup_shrink_sphere(sup_vec3d origin, sup_vec3d direction, sup_vec3d centre, double radius)
{
    /* A.2 with A.1 */
    sup_vec3d from = sup_v3_sub(origin, centre);
    double a = sup_v3_dot(direction, direction), b = sup_v3_dot(direction, from);
    double c = sup_v3_dot(from, from) - radius * radius;
    double d = b * b - a * c;
    if (c <= 0.0 || b >= 0.0 || d < 0.0) return INFINITY; /* inside, moving away, no intersection */
    return c / (-b + sqrt(d));                            /* = (-b - sqrt d)/a, without cancellation */
}

double sup_shrink_cone(sup_vec3d origin, sup_vec3d direction, sup_vec3d from, sup_vec3d to, double r0, double r1)
{
    sup_vec3d axis = sup_v3_sub(to, from);
    double length = sup_v3_length(axis);
    if (!(length > 0.0)) return INFINITY;
    axis = sup_v3_scale(axis, 1.0 / length);
    double rd = (r1 - r0) / length, k = 1.0 + rd * rd;
    sup_vec3d offset = sup_v3_sub(origin, from);
    double la = sup_v3_dot(direction, axis), oa = sup_v3_dot(offset, axis);
    /* A.4 with A.1; the thesis has a unit direction, here a = |direction|^2 times its a */
    double a = sup_v3_dot(direction, direction) - la * la * k;
    double b = sup_v3_dot(direction, offset) - la * oa * k - la * rd * r0;
    double c = sup_v3_dot(offset, offset) - r0 * r0 - oa * oa * k - 2.0 * rd * r0 * oa;
    double d = b * b - a * c;
    if (d < 0.0) return INFINITY;
    double q = -(b + copysign(sqrt(d), b)); /* the two roots are q / a and c / q */
    double roots[2] = {a != 0.0 ? q / a : INFINITY, q != 0.0 ? c / q : INFINITY};
    double best = INFINITY;
    for (int i = 0; i < 2; i++) {
        double t = roots[i], along = oa + t * la;
        if (!(t >= 0.0 && t < best) || !(along >= 0.0 && along <= length)) continue;
        /* Entering, not leaving: the derivative of (distance^2 - radius^2) is negative. */
        if (a * t + b < 0.0) best = t;
    }
    return best;
}

typedef struct search {
    const sup_volumetric_skeleton *skeleton;
    sup_vec3d skin, direction; /* to the foot point */
    sup_base_hit best;
    bool inside; /* the skin vertex is in a primitive */
} search;

static void test_hit(search *s, double t, sup_base_class base_class, int32_t owner, int32_t segment)
{
    bool same = t == s->best.t && s->best.base_class == base_class && owner < s->best.owner;
    if (t < s->best.t || same) s->best = (sup_base_hit){t, base_class, owner, segment, false};
}

static void test_sphere(search *s, int32_t sphere, int32_t segment)
{
    const sup_joint_sphere *k = &s->skeleton->spheres[sphere];
    double t = sup_shrink_sphere(s->skin, s->direction, k->centre, k->radius);
    test_hit(s, t, k->is_virtual ? SUP_BASE_FREE : SUP_BASE_SPHERE, k->is_virtual ? segment : sphere, segment);
    s->inside = s->inside || sup_v3_distance(s->skin, k->centre) < k->radius;
}

static void test_segment(search *s, int32_t index)
{
    const sup_bone_segment *p = &s->skeleton->segments[index];
    sup_vec3d along = sup_v3_scale(sup_v3_sub(p->to, p->from), 1.0 / sup_segment_length(p));
    sup_vec3d a = sup_v3_madd(p->from, sup_segment_inset(s->skeleton, p, 0), along);
    sup_vec3d b = sup_v3_madd(p->to, -sup_segment_inset(s->skeleton, p, 1), along);
    sup_base_class on_bone = p->is_virtual ? SUP_BASE_FREE : SUP_BASE_BONE;
    test_hit(s, sup_shrink_sphere(s->skin, s->direction, a, p->radius), on_bone, index, index);
    test_hit(s, sup_shrink_sphere(s->skin, s->direction, b, p->radius), on_bone, index, index);
    test_hit(s, sup_shrink_cone(s->skin, s->direction, a, b, p->radius, p->radius), on_bone, index, index);
    double t = sup_v3_segment_parameter(s->skin, a, b);
    s->inside = s->inside || sup_v3_distance(s->skin, sup_v3_lerp(a, b, t)) < p->radius;
    for (int end = 0; end < 2; end++) {
        int32_t sphere = end == 0 ? p->sphere_from : p->sphere_to;
        if (sphere < 0) continue;
        const sup_joint_sphere *k = &s->skeleton->spheres[sphere];
        sup_vec3d cap = end == 0 ? a : b;
        double r0 = cone_factor * p->radius, r1 = cone_factor * k->radius;
        test_hit(s, sup_shrink_cone(s->skin, s->direction, cap, k->centre, r0, r1), SUP_BASE_FREE, index, index);
        t = sup_v3_segment_parameter(s->skin, cap, k->centre);
        sup_vec3d axis = sup_v3_lerp(cap, k->centre, t);
        s->inside = s->inside || (t > 0.0 && t < 1.0 && sup_v3_distance(s->skin, axis) < r0 + t * (r1 - r0));
        test_sphere(s, sphere, index);
    }
}

/* The base of a skin vertex inside the skeleton: attached to the primitive that contains its foot point. */
static sup_base_hit attach_to_foot_point(const search *s, sup_foot_point foot)
{
    const sup_bone_segment *p = &s->skeleton->segments[foot.segment];
    double along = foot.parameter * sup_segment_length(p), back = sup_segment_length(p) - along;
    sup_base_hit hit = {0.0, p->is_virtual ? SUP_BASE_FREE : SUP_BASE_BONE, foot.segment, foot.segment, true};
    for (int end = 0; end < 2; end++) {
        int32_t sphere = end == 0 ? p->sphere_from : p->sphere_to;
        double from_end = end == 0 ? along : back;
        if (sphere < 0 || from_end > s->skeleton->spheres[sphere].radius || s->skeleton->spheres[sphere].is_virtual)
            continue;
        hit.base_class = SUP_BASE_SPHERE;
        hit.owner = sphere;
    }
    return hit;
}

sup_base_hit sup_shrink(const sup_volumetric_skeleton *skeleton, sup_vec3d skin, sup_foot_point foot,
                        double min_thickness)
{
    const sup_bone_segment *own = &skeleton->segments[foot.segment];
    search s = {.skeleton = skeleton, .skin = skin, .direction = sup_v3_sub(sup_foot_position(skeleton, foot), skin)};
    s.best = (sup_base_hit){INFINITY, SUP_BASE_FREE, foot.segment, foot.segment, false};
    int32_t ends[2] = {own->node_from, own->node_to};
    for (int end = 0; end < 2; end++)
        for (int32_t k = skeleton->node_first[ends[end]]; k < skeleton->node_first[ends[end] + 1]; k++) {
            int32_t segment = skeleton->node_segments[k];
            if (end == 0 || segment != foot.segment)
                test_segment(&s, segment); /* the own segment is listed at both ends */
        }
    if (s.inside || !(s.best.t <= 1.0)) s.best = attach_to_foot_point(&s, foot);
    double t = fmin(fmax(s.best.t, min_thickness), max_thickness);
    s.best.clamped = t != s.best.t;
    s.best.t = t;
    return s.best;
}

void sup_shrink_free(sup_foot_point foot, sup_base_hit *hit)
{
    *hit = (sup_base_hit){max_thickness, SUP_BASE_FREE, foot.segment, foot.segment, true};
}
