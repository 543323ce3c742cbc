/* volumetric_bones_radii.c - how thick bones and joints are.
 *
 * Based on: [komaritzan2022] section 3.2.1 "Bones and Joints": a bone's radius is 0.75 of its distance to the
 * skin surface, a joint's the largest of its bones', and r1 + r2 + 2 rb <= l must hold.
 * Deviation: where a bone nearly touches the skin or leaves it, that one place does not make the whole bone a hair:
 * the distance is at least half of what it is along a fifth of the bone. Bases are then clamped one by one (shrink.c). */
#include "tissue/volumetric_bones.h"

enum { SAMPLES = 24 };
static const double outlier_share = 0.2, outlier_factor = 0.5;
static const double least_radius = 1e-4; /* of the longest segment: a bone all of which is outside */

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
    double near[SAMPLES], step = sup_segment_length(segment) / (SAMPLES - 1), free_way = 0.0;
    int32_t inside = 0;
    for (int32_t k = 0; k < SAMPLES; k++) {
        sup_vec3d point = sup_v3_lerp(segment->from, segment->to, (double)k / (SAMPLES - 1));
        /* No surface between this sample and the one before it, which is inside: so is this one. */
        bool sure = step < free_way;
        free_way = 0.0;
        if (!sure && !sup_bvh_inside(bvh, point)) continue;
        free_way = near[inside++] = sup_bvh_closest(bvh, point, INFINITY).distance;
    }
    *thin = inside < SAMPLES;
    if (inside == 0) return 0.0;
    sort(near, inside);
    double usual = near[(int32_t)(outlier_share * inside)];
    *thin = *thin || near[0] < outlier_factor * usual;
    return fmax(near[0], outlier_factor * usual);
}

/* The fit condition. Radii only shrink, each by the worst of the segments it is in, so one round mends all, in any
 * order; the factor just below one keeps rounding from spoiling it. */
static int32_t fit(sup_volumetric_skeleton *s, double *factor)
{
    int32_t fitted = 0;
    for (int32_t p = 0; p < s->segment_count; p++) {
        sup_bone_segment *segment = &s->segments[p];
        double need = sup_segment_inset(s, segment, 0) + sup_segment_inset(s, segment, 1);
        /* A free end needs room for its half of the capsule all the same. */
        need += segment->radius * ((segment->sphere_from < 0) + (segment->sphere_to < 0));
        double length = sup_segment_length(segment), scale = need > length ? length / need * (1.0 - 1e-12) : 1.0;
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
        double asked = def->sphere_radius != NULL ? def->sphere_radius[sphere->joint] : 0.0;
        if (asked > 0.0) sphere->radius = asked * scale;
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
        double asked = def->bone_radius != NULL ? def->bone_radius[segment->joint] : 0.0;
        segment->radius = scale * (asked > 0.0 ? asked : fmax(fraction * w.clearance[p], least_radius * longest));
        if (def->bone_scale != NULL) segment->radius *= def->bone_scale[segment->joint];
        if (!(asked > 0.0) && w.thin[p]) report->thin_segments++;
    }
    set_spheres(def, scale, s);
    for (size_t k = 0; k < primitives; k++)
        factor[k] = 1.0;
    report->fitted_segments = fit(s, factor);
    sup_arena_destroy(&scratch);
    return SUP_OK;
}
