/* volumetric_bones_radii.c - radii of bones and joints.
 *
 * Based on: [komaritzan2022] section 3.2.1 "Bones and Joints": a bone's radius is 0.75 of its distance to the
 * skin surface, a joint's the largest of its bones', and r1 + r2 + 2 rb <= l must hold.
 * Deviation: a point where a bone nearly touches the skin or leaves it does not determine the radius of the whole bone:
 * the distance is at least half of its 20 % quantile along the bone. Bases are then clamped one by one (shrink.c). */
#include "tissue/volumetric_bones.h"

enum { SAMPLES = 24 };
static const double outlier_fraction = 0.2, outlier_factor = 0.5;
static const double min_radius = 1e-4; /* of the longest segment: for a bone outside the skin */

static void sort(double *values, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        double v = values[i];
        int32_t k = i;
        for (; k > 0 && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
}

/* Distance of the bone line from the skin. */
static double segment_clearance(const sup_bvh *bvh, const sup_bone_segment *segment, bool *thin)
{
    double near[SAMPLES], step = sup_segment_length(segment) / (SAMPLES - 1), free_distance = 0.0;
    int32_t inside = 0;
    for (int32_t k = 0; k < SAMPLES; k++) {
        sup_vec3d point = sup_v3_lerp(segment->from, segment->to, (double)k / (SAMPLES - 1));
        /* No surface between this sample and the previous one, which is inside: so is this one. */
        bool known_inside = step < free_distance;
        free_distance = 0.0;
        if (!known_inside && !sup_bvh_inside(bvh, point)) continue;
        free_distance = near[inside++] = sup_bvh_closest(bvh, point, INFINITY).distance;
    }
    *thin = inside < SAMPLES;
    if (inside == 0) return 0.0;
    sort(near, inside);
    double quantile = near[(int32_t)(outlier_fraction * inside)];
    *thin = *thin || near[0] < outlier_factor * quantile;
    return fmax(near[0], outlier_factor * quantile);
}

/* The fit condition. Radii only shrink, each by the smallest factor of its segments, so one pass in any order suffices;
 * the factor just below one keeps the condition true after rounding. */
static int32_t fit(sup_volumetric_skeleton *s, double *factor)
{
    int32_t fitted = 0;
    for (int32_t p = 0; p < s->segment_count; p++) {
        sup_bone_segment *segment = &s->segments[p];
        double required = sup_segment_inset(s, segment, 0) + sup_segment_inset(s, segment, 1);
        /* A free end also needs space for its half of the capsule. */
        required += segment->radius * ((segment->sphere_from < 0) + (segment->sphere_to < 0));
        double length = sup_segment_length(segment),
               scale = required > length ? length / required * (1.0 - 1e-12) : 1.0;
        fitted += scale < 1.0;
        int32_t spheres[2] = {segment->sphere_from, segment->sphere_to};
        for (int end = 0; end < 2; end++)
            if (spheres[end] >= 0) factor[spheres[end]] = fmin(factor[spheres[end]], scale);
        factor[s->sphere_count + p] = scale;
    }
    for (int32_t k = 0; k < s->sphere_count; k++)
        s->spheres[k].radius *= factor[k];
    for (int32_t p = 0; p < s->segment_count; p++)
        s->segments[p].radius *= factor[s->sphere_count + p];
    return fitted;
}

typedef struct radii_work {
    const sup_bvh *bvh;
    sup_volumetric_skeleton *skeleton;
    double *clearance; /* [segment_count] */
    bool *thin;        /* [segment_count] */
} radii_work;

static void measure_segments(void *work, int32_t begin, int32_t end, int32_t worker)
{
    radii_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t p = begin; p < end; p++)
        w->clearance[p] = segment_clearance(w->bvh, &w->skeleton->segments[p], &w->thin[p]);
}

static void set_spheres(const sup_skeleton_def *def, double scale, sup_volumetric_skeleton *s)
{
    for (int32_t k = 0; k < s->sphere_count; k++) {
        sup_joint_sphere *sphere = &s->spheres[k];
        for (int32_t i = s->node_first[sphere->node]; i < s->node_first[sphere->node + 1]; i++)
            sphere->radius = fmax(sphere->radius, s->segments[s->node_segments[i]].radius);
        double requested = def->sphere_radius != NULL ? def->sphere_radius[sphere->joint] : 0.0;
        if (requested > 0.0) sphere->radius = requested * scale;
        if (def->sphere_scale != NULL) sphere->radius *= def->sphere_scale[sphere->joint];
    }
}

sup_result sup_skeleton_radii(const sup_context *context, const sup_bvh *bvh, const sup_skeleton_def *def,
                              sup_volumetric_skeleton *s, sup_skeleton_report *report, sup_error *error)
{
    sup_arena scratch = sup_arena_create(&context->allocator);
    radii_work w = {.bvh = bvh, .skeleton = s};
    size_t segments = (size_t)s->segment_count, primitives = segments + (size_t)s->sphere_count;
    w.clearance = sup_arena_alloc(&scratch, segments, sizeof *w.clearance);
    w.thin = sup_arena_alloc(&scratch, segments, sizeof *w.thin);
    double *factor = sup_arena_alloc(&scratch, primitives, sizeof *factor);
    if (w.clearance == NULL || w.thin == NULL || factor == NULL) {
        sup_arena_destroy(&scratch);
        return sup_fail_memory(error, "the skeleton");
    }
    double fraction = def->radius_fraction > 0.0 ? def->radius_fraction : 0.75;
    double scale = def->radius_scale > 0.0 ? def->radius_scale : 1.0, longest = 0.0;
    for (int32_t p = 0; p < s->segment_count; p++)
        longest = fmax(longest, sup_segment_length(&s->segments[p]));
    sup_parallel(context, s->segment_count, 1, measure_segments, &w);
    for (int32_t p = 0; p < s->segment_count; p++) {
        sup_bone_segment *segment = &s->segments[p];
        double requested = def->bone_radius != NULL ? def->bone_radius[segment->joint] : 0.0;
        segment->radius = scale * (requested > 0.0 ? requested : fmax(fraction * w.clearance[p], min_radius * longest));
        if (def->bone_scale != NULL) segment->radius *= def->bone_scale[segment->joint];
        if (!(requested > 0.0) && w.thin[p]) report->thin_segments++;
    }
    set_spheres(def, scale, s);
    for (size_t k = 0; k < primitives; k++)
        factor[k] = 1.0;
    report->fitted_segments = fit(s, factor);
    sup_arena_destroy(&scratch);
    return SUP_OK;
}
