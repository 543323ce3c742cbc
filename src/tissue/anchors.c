/* anchors.c - attachment of the bases, as arrays of a model. See anchors.h.
 *
 * Deviations from [komaritzan2022] section 3.2.2: the offset of a sliding base from the sum of its ring points is
 * stored and rotated with its frame, so that the rest pose is exact (the chords between ring points are up to 4.9 % of
 * the radius inside); the base is projected back onto its own primitive, at its own distance from the axis, not onto
 * the nearest one. */
#include "tissue/anchors.h"

#include "math/affine.h"

static const double ring_fraction = 0.4; /* of the bone's length from the joint */
static const double slide_cosine = 0.5;  /* bases do not slide between bones that meet at a sharper angle at rest */
static const double two_pi = 6.283185307179586;

typedef struct binder {
    const sup_volumetric_skeleton *skeleton;
    const sup_tissue *tissue;
    sup_anchors_def def;
    sup_model_builder *builder;
    const char *prefix;
    sup_arena scratch;
    int32_t *slide_ring;           /* [sphere_count] first of its three rings, -1 for a sphere without */
    int32_t *slide_in, *slide_out; /* [sphere_count] the segment that ends and the one that begins there */
    bool *segment_twists;          /* [segment_count] */
    int32_t *kind;                 /* [skin_count] KIND_* */
    bool failed;
} binder;

enum { KIND_FREE, KIND_RIGID, KIND_SLIDE, KIND_TWIST, KIND_ATTACHED, KIND_COUNT };

static void *add(binder *b, const char *name, sup_array_type type, int64_t count)
{
    char full[32];
    sup_format(full, sizeof full, "%s.%s", b->prefix, name);
    void *array = sup_model_add(b->builder, full, type, count);
    b->failed = b->failed || array == NULL;
    return array;
}

static sup_vec3d direction_of(const sup_bone_segment *p)
{
    return sup_v3_scale(sup_v3_sub(p->to, p->from), 1.0 / sup_segment_length(p));
}

/* The capsule's axis at an end, in the bind pose. */
static sup_vec3d axis_end(const sup_volumetric_skeleton *s, const sup_bone_segment *p, int end)
{
    sup_vec3d d = direction_of(p);
    double inset = sup_segment_inset(s, p, end);
    return end == 0 ? sup_v3_madd(p->from, inset, d) : sup_v3_madd(p->to, -inset, d);
}

/* Spheres between one bone and one child, both real and nearly in line. */
static void find_sliding(binder *b)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    int32_t rings = 0;
    for (int32_t k = 0; k < s->sphere_count; k++) {
        int32_t node = s->spheres[k].node, first = s->node_first[node];
        b->slide_ring[k] = -1;
        if (b->def.stick || s->node_first[node + 1] - first != 2) continue;
        int32_t in = s->node_segments[first], out = s->node_segments[first + 1];
        if (s->segments[in].node_to != node) {
            int32_t swap = in;
            in = out;
            out = swap;
        }
        const sup_bone_segment *p = &s->segments[in], *c = &s->segments[out];
        if (p->node_to != node || c->node_from != node || p->is_virtual || c->is_virtual) continue;
        if (b->segment_twists[in] || b->segment_twists[out]) continue;
        if (sup_v3_dot(direction_of(p), direction_of(c)) < slide_cosine) continue;
        b->slide_in[k] = in;
        b->slide_out[k] = out;
        b->slide_ring[k] = rings;
        rings += 3;
    }
}

/* Distance of a bone's ring from the joint. It lies on the cylinder of the capsule where that is long enough. */
static double ring_distance(const sup_volumetric_skeleton *s, const sup_bone_segment *p, int end)
{
    return fmax(ring_fraction * sup_segment_length(p), sup_segment_inset(s, p, end));
}

typedef struct ring {
    sup_vec3d centre, axis, e, f; /* axis along parent and child; e and f across it */
    double radius;
} ring;

/* which: 0 on the parent bone, 1 on the sphere, 2 on the child bone. e of the three rings differ by the smallest
 * rotation between their axes. */
static ring make_ring(const binder *b, int32_t sphere, int which)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    const sup_bone_segment *in = &s->segments[b->slide_in[sphere]], *out = &s->segments[b->slide_out[sphere]];
    sup_vec3d di = direction_of(in), d0 = direction_of(out), centre = s->spheres[sphere].centre;
    sup_vec3d middle = sup_v3_unit_or(sup_v3_add(di, d0), di);
    sup_vec3d across = fabs(middle.x) < 0.6 ? sup_v3(1, 0, 0) : sup_v3(0, 1, 0);
    sup_vec3d e = sup_v3_unit_or(sup_v3_cross(middle, across), sup_v3(0, 0, 1));
    ring r = {centre, which == 0 ? di : (which == 1 ? middle : d0), e, e, s->spheres[sphere].radius};
    r.e = sup_quatd_rotate(sup_quatd_between(middle, r.axis), e);
    r.f = sup_v3_cross(r.axis, r.e);
    if (which == 1) return r;
    const sup_bone_segment *p = which == 0 ? in : out;
    double along = ring_distance(s, p, which == 0 ? 1 : 0);
    r.centre = sup_v3_madd(centre, which == 0 ? -along : along, r.axis);
    r.radius = p->radius;
    return r;
}

static sup_vec3d ring_point(const ring *r, int32_t i)
{
    double angle = two_pi * i / SUP_RING_POINTS;
    return sup_v3_madd(sup_v3_madd(r->centre, r->radius * cos(angle), r->e), r->radius * sin(angle), r->f);
}

/* The sliding sphere of a base, and the fraction of the distance from there to the bone's ring: 0 at the sphere. */
static int32_t slide_of(const binder *b, int32_t v, int *side, double *fraction)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    sup_vec3d q = sup_tissue_point(b->tissue->base, v);
    int32_t owner = b->tissue->base_owner[v];
    if (b->tissue->base_class[v] == SUP_BASE_SPHERE) {
        if (b->slide_ring[owner] < 0) return -1;
        ring middle = make_ring(b, owner, 1);
        double at = sup_v3_dot(sup_v3_sub(q, middle.centre), middle.axis);
        *side = at < 0.0 ? 0 : 2;
        const sup_bone_segment *p = &s->segments[at < 0.0 ? b->slide_in[owner] : b->slide_out[owner]];
        *fraction = fmin(fabs(at) / ring_distance(s, p, at < 0.0 ? 1 : 0), 1.0);
        return owner;
    }
    const sup_bone_segment *p = &s->segments[owner];
    for (int end = 0; end < 2; end++) {
        int32_t sphere = end == 0 ? p->sphere_from : p->sphere_to;
        if (sphere < 0 || b->slide_ring[sphere] < 0) continue;
        sup_vec3d out = sup_v3_scale(direction_of(p), end == 0 ? 1.0 : -1.0);
        double at = sup_v3_dot(sup_v3_sub(q, s->spheres[sphere].centre), out), limit = ring_distance(s, p, end);
        if (at >= limit) continue;
        *side = end == 0 ? 2 : 0;
        *fraction = fmax(at / limit, 0.0);
        return sphere;
    }
    return -1;
}

static void classify_bases(binder *b, int32_t counts[KIND_COUNT])
{
    const sup_tissue *t = b->tissue;
    for (int32_t v = 0; v < t->skin_count; v++) {
        int side;
        double fraction;
        bool on_bone = t->base_class[v] == SUP_BASE_BONE;
        b->kind[v] = KIND_RIGID;
        if (t->base_class[v] == SUP_BASE_FREE)
            b->kind[v] = KIND_FREE;
        else if (t->base_class[v] == SUP_BASE_JOINT)
            b->kind[v] = KIND_ATTACHED;
        else if (on_bone && b->segment_twists[t->base_owner[v]])
            b->kind[v] = KIND_TWIST;
        else if (slide_of(b, v, &side, &fraction) >= 0)
            b->kind[v] = KIND_SLIDE;
        counts[b->kind[v]]++;
    }
}

/* Whether a segment contributes to the rotation of a sphere: the mean of all of them, or the child bone only. */
static bool sphere_follows(const binder *b, const sup_joint_sphere *sphere, const sup_bone_segment *segment)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    bool begins = false;
    if (segment->is_virtual && !sphere->is_virtual) return false;
    if (!b->def.whole || segment->node_from == sphere->node) return true;
    for (int32_t i = s->node_first[sphere->node]; i < s->node_first[sphere->node + 1]; i++) {
        const sup_bone_segment *other = &s->segments[s->node_segments[i]];
        begins = begins || (other->node_from == sphere->node && (!other->is_virtual || sphere->is_virtual));
    }
    return !begins;
}

static void write_skeleton(binder *b)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    int32_t *joint = add(b, "segment_joint", SUP_ARRAY_INT32, 3 * (int64_t)s->segment_count);
    float *rest = add(b, "segment_rest", SUP_ARRAY_FLOAT, 8 * (int64_t)s->segment_count);
    float *radius = add(b, "segment_radius", SUP_ARRAY_FLOAT, s->segment_count);
    int32_t *sphere_joint = add(b, "sphere_joint", SUP_ARRAY_INT32, s->sphere_count);
    float *sphere_rest = add(b, "sphere_rest", SUP_ARRAY_FLOAT, 4 * (int64_t)s->sphere_count);
    int32_t *first = add(b, "sphere_first", SUP_ARRAY_INT32, (int64_t)s->sphere_count + 1);
    int32_t count = 0;
    for (int32_t k = 0; k < s->sphere_count; k++) {
        int32_t node = s->spheres[k].node;
        for (int32_t i = s->node_first[node]; i < s->node_first[node + 1]; i++)
            count += sphere_follows(b, &s->spheres[k], &s->segments[s->node_segments[i]]);
    }
    int32_t *segments = add(b, "sphere_segments", SUP_ARRAY_INT32, count);
    if (b->failed) return;
    for (int32_t p = 0; p < s->segment_count; p++) {
        const sup_bone_segment *segment = &s->segments[p];
        joint[3 * p] = segment->joint;
        joint[3 * p + 1] = segment->child;
        joint[3 * p + 2] = b->segment_twists[p];
        sup_v3_store(rest + 8 * (size_t)p, segment->from);
        sup_v3_store(rest + 8 * (size_t)p + 4, segment->to);
        rest[8 * (size_t)p + 3] = (float)sup_segment_inset(s, segment, 0);
        rest[8 * (size_t)p + 7] = (float)sup_segment_inset(s, segment, 1);
        radius[p] = (float)segment->radius;
    }
    count = 0;
    for (int32_t k = 0; k < s->sphere_count; k++) {
        const sup_joint_sphere *sphere = &s->spheres[k];
        sphere_joint[k] = sphere->joint;
        sup_v3_store(sphere_rest + 4 * (size_t)k, sphere->centre);
        sphere_rest[4 * (size_t)k + 3] = (float)sphere->radius;
        for (int32_t i = s->node_first[sphere->node]; i < s->node_first[sphere->node + 1]; i++) {
            const sup_bone_segment *segment = &s->segments[s->node_segments[i]];
            if (sphere_follows(b, sphere, segment))
                segments[count++] = 2 * s->node_segments[i] + (segment->node_from == sphere->node);
        }
        first[k + 1] = count;
    }
}

static void write_rings(binder *b)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    int32_t rings = 0;
    for (int32_t k = 0; k < s->sphere_count; k++)
        rings += b->slide_ring[k] < 0 ? 0 : 3;
    int32_t *frame = add(b, "ring_frame", SUP_ARRAY_INT32, rings);
    float *rest = add(b, "ring_rest", SUP_ARRAY_FLOAT, 3 * SUP_RING_POINTS * (int64_t)rings);
    if (b->failed) return;
    for (int32_t k = 0; k < s->sphere_count; k++) {
        if (b->slide_ring[k] < 0) continue;
        int32_t frames[3] = {b->slide_in[k], s->segment_count + k, b->slide_out[k]};
        for (int which = 0; which < 3; which++) {
            int32_t index = b->slide_ring[k] + which;
            ring r = make_ring(b, k, which);
            frame[index] = frames[which];
            for (int32_t i = 0; i < SUP_RING_POINTS; i++)
                sup_v3_store(rest + 3 * ((size_t)index * SUP_RING_POINTS + (size_t)i), ring_point(&r, i));
        }
    }
}

static void write_slide(const binder *b, int32_t v, int32_t anchor, int32_t *index, float *value)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    int side = 0;
    double fraction = 0.0;
    int32_t sphere = slide_of(b, v, &side, &fraction);
    bool on_sphere = b->tissue->base_class[v] == SUP_BASE_SPHERE;
    int32_t owner = b->tissue->base_owner[v];
    ring bone = make_ring(b, sphere, side), middle = make_ring(b, sphere, 1);
    sup_vec3d q = sup_tissue_point(b->tissue->base, v), from = sup_v3_sub(q, bone.centre);
    double turn = atan2(sup_v3_dot(from, bone.f), sup_v3_dot(from, bone.e)) / two_pi;
    double position = (turn - floor(turn)) * SUP_RING_POINTS; /* between points i and j */
    int32_t i = (int32_t)position % SUP_RING_POINTS, j = (i + 1) % SUP_RING_POINTS;
    double t = position - floor(position);
    double weights[4] = {(1.0 - t) * fraction, t * fraction, (1.0 - t) * (1.0 - fraction), t * (1.0 - fraction)};
    sup_vec3d points[4] = {ring_point(&bone, i), ring_point(&bone, j), ring_point(&middle, i), ring_point(&middle, j)};
    sup_vec3d sum = sup_v3(0, 0, 0);
    for (int k = 0; k < 4; k++) {
        int32_t first = (b->slide_ring[sphere] + (k < 2 ? side : 1)) * SUP_RING_POINTS;
        index[k] = first + (k % 2 == 0 ? i : j);
        value[k] = (float)weights[k];
        sum = sup_v3_madd(sum, weights[k], points[k]);
    }
    index[4] = on_sphere ? s->segment_count + owner : owner;
    index[5] = anchor;
    sup_v3_store(value + 4, sup_v3_sub(q, sum));
    sup_vec3d axis = on_sphere ? s->spheres[owner].centre : q;
    if (!on_sphere) {
        sup_vec3d a = axis_end(s, &s->segments[owner], 0), c = axis_end(s, &s->segments[owner], 1);
        axis = sup_v3_lerp(a, c, sup_v3_segment_parameter(q, a, c));
    }
    value[7] = (float)sup_v3_distance(q, axis);
}

static int32_t frame_of(const binder *b, int32_t v)
{
    int32_t owner = b->tissue->base_owner[v];
    return b->tissue->base_class[v] == SUP_BASE_SPHERE ? b->skeleton->segment_count + owner : owner;
}

static void write_bases(binder *b, const int32_t counts[KIND_COUNT])
{
    const sup_volumetric_skeleton *s = b->skeleton;
    const sup_tissue *t = b->tissue;
    int32_t frames = s->segment_count + s->sphere_count, slides = 0, twists = 0, attached = 0, anchor = 0;
    int32_t *vertex = add(b, "anchor_vertex", SUP_ARRAY_INT32, (int64_t)t->skin_count - counts[KIND_FREE]);
    int32_t *rigid_first = add(b, "rigid_first", SUP_ARRAY_INT32, (int64_t)frames + 1);
    int32_t *rigid_out = add(b, "rigid_out", SUP_ARRAY_INT32, counts[KIND_RIGID]);
    float *rigid_rest = add(b, "rigid_rest", SUP_ARRAY_FLOAT, 3 * (int64_t)counts[KIND_RIGID]);
    int32_t *slide_index = add(b, "slide_index", SUP_ARRAY_INT32, 6 * (int64_t)counts[KIND_SLIDE]);
    float *slide_value = add(b, "slide_value", SUP_ARRAY_FLOAT, 8 * (int64_t)counts[KIND_SLIDE]);
    int32_t *twist_index = add(b, "twist_index", SUP_ARRAY_INT32, 2 * (int64_t)counts[KIND_TWIST]);
    float *twist_rest = add(b, "twist_rest", SUP_ARRAY_FLOAT, 4 * (int64_t)counts[KIND_TWIST]);
    int32_t *attached_index = add(b, "attached_index", SUP_ARRAY_INT32, 2 * (int64_t)counts[KIND_ATTACHED]);
    float *attached_rest = add(b, "attached_rest", SUP_ARRAY_FLOAT, 3 * (int64_t)counts[KIND_ATTACHED]);
    int32_t *next = sup_arena_alloc(&b->scratch, (size_t)frames + 1, sizeof *next);
    b->failed = b->failed || next == NULL;
    if (b->failed) return;
    for (int32_t v = 0; v < t->skin_count; v++)
        if (b->kind[v] == KIND_RIGID) rigid_first[frame_of(b, v) + 1]++;
    for (int32_t k = 0; k < frames; k++)
        rigid_first[k + 1] += rigid_first[k];
    memcpy(next, rigid_first, ((size_t)frames + 1) * sizeof *next);
    for (int32_t v = 0; v < t->skin_count; v++) {
        if (b->kind[v] == KIND_FREE) continue;
        sup_vec3d q = sup_tissue_point(t->base, v);
        if (b->kind[v] == KIND_RIGID) {
            int32_t slot = next[frame_of(b, v)]++;
            rigid_out[slot] = anchor;
            sup_v3_store(rigid_rest + 3 * (size_t)slot, q);
        } else if (b->kind[v] == KIND_SLIDE) {
            write_slide(b, v, anchor, slide_index + 6 * (size_t)slides, slide_value + 8 * (size_t)slides);
            slides++;
        } else if (b->kind[v] == KIND_ATTACHED) {
            attached_index[2 * (size_t)attached] = t->base_owner[v];
            attached_index[2 * (size_t)attached + 1] = anchor;
            sup_v3_store(attached_rest + 3 * (size_t)attached++, q);
        } else {
            const sup_bone_segment *p = &s->segments[t->base_owner[v]];
            twist_index[2 * (size_t)twists] = t->base_owner[v];
            twist_index[2 * (size_t)twists + 1] = anchor;
            sup_v3_store(twist_rest + 4 * (size_t)twists, q);
            twist_rest[4 * (size_t)twists + 3] = (float)sup_v3_segment_parameter(q, p->from, p->to);
            twists++;
        }
        vertex[anchor++] = v;
    }
}

sup_result sup_anchors_bind(const sup_context *context, const sup_volumetric_skeleton *skeleton,
                            const sup_tissue *tissue, const sup_anchors_def *def, sup_model_builder *builder,
                            const char *prefix, sup_error *error)
{
    sup_context c = sup_context_resolve(context);
    binder b = {.skeleton = skeleton, .tissue = tissue, .builder = builder, .prefix = prefix};
    if (def != NULL) b.def = *def;
    b.scratch = sup_arena_create(&c.allocator);
    size_t spheres = (size_t)skeleton->sphere_count, segments = (size_t)skeleton->segment_count;
    b.slide_ring = sup_arena_alloc(&b.scratch, spheres, sizeof *b.slide_ring);
    b.slide_in = sup_arena_alloc(&b.scratch, spheres, sizeof *b.slide_in);
    b.slide_out = sup_arena_alloc(&b.scratch, spheres, sizeof *b.slide_out);
    b.segment_twists = sup_arena_alloc(&b.scratch, segments, sizeof *b.segment_twists);
    b.kind = sup_arena_alloc(&b.scratch, (size_t)tissue->skin_count, sizeof *b.kind);
    b.failed =
        b.slide_ring == NULL || b.slide_in == NULL || b.slide_out == NULL || b.segment_twists == NULL || b.kind == NULL;
    if (!b.failed) {
        int32_t counts[KIND_COUNT] = {0};
        for (int32_t p = 0; p < skeleton->segment_count && b.def.twisting_joints != NULL; p++)
            b.segment_twists[p] =
                skeleton->segments[p].child >= 0 && b.def.twisting_joints[skeleton->segments[p].joint];
        find_sliding(&b);
        classify_bases(&b, counts);
        int32_t *joints = add(&b, "joint_count", SUP_ARRAY_INT32, 1);
        if (joints != NULL) joints[0] = skeleton->joint_count;
        write_skeleton(&b);
        write_rings(&b);
        write_bases(&b, counts);
    }
    sup_arena_destroy(&b.scratch);
    return b.failed ? sup_fail_memory(error, "the anchors") : SUP_OK;
}
