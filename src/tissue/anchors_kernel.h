/* anchors_kernel.h (internal) - frames of bones and spheres in a pose, and their anchors: one source for the CPU and
 * the GPU. Includers define SUP_ANCHOR, the qualifier of functions, and nearest_rotation. See anchors.h. */
#include "tissue/anchors.h"

/* A frame in the pose: x -> linear (x - origin of the rest) + origin, as a 3x4; also its rotation and scale. */
typedef struct frame {
    float m[12];
    float rotation[4]; /* quaternion x y z w */
    float scale;
    float twist;   /* segments: angle that is distributed along its length */
    float axis[3]; /* segments: unit, in the pose */
    float pad[3];
} frame;

typedef struct state_view {
    frame *frames; /* [frame_count] */
    float *ends;   /* [segment_count*8] joints in the pose */
    float *caps;   /* [segment_count*8] ends of the capsules' axes in the pose; after the first 1 / length^2, or 0 */
    float *rings;  /* [ring_count*SUP_RING_POINTS*4]; on the CPU only */
} state_view;

/* Rotation nearest to the linear part of m (3x4), as a quaternion, for ill-conditioned matrices; the identity unless
 * `finite`. */
SUP_ANCHOR void nearest_rotation(const float *m, bool finite, float rotation[4]);

SUP_ANCHOR float dot3(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

SUP_ANCHOR void apply(const float *m, const float *x, float *out)
{
    for (int r = 0; r < 3; r++)
        out[r] = m[4 * r] * x[0] + m[4 * r + 1] * x[1] + m[4 * r + 2] * x[2] + m[4 * r + 3];
}

/* Rows of the cofactor matrix: the inverse transposed, times the determinant. */
SUP_ANCHOR float cofactors(const float x[9], float c[9])
{
    for (int r = 0; r < 3; r++) {
        const float *p = x + 3 * ((r + 1) % 3), *q = x + 3 * ((r + 2) % 3);
        c[3 * r] = p[1] * q[2] - p[2] * q[1];
        c[3 * r + 1] = p[2] * q[0] - p[0] * q[2];
        c[3 * r + 2] = p[0] * q[1] - p[1] * q[0];
    }
    return dot3(x, c);
}

SUP_ANCHOR void quaternion_of(const float r[9], float q[4])
{
    float trace = r[0] + r[4] + r[8];
    if (trace > 0.0f) {
        float s = sqrtf(trace + 1.0f) * 2.0f;
        q[0] = (r[7] - r[5]) / s, q[1] = (r[2] - r[6]) / s, q[2] = (r[3] - r[1]) / s, q[3] = 0.25f * s;
        return;
    }
    int i = r[4] > r[0] ? 1 : 0;
    if (r[8] > r[4 * i]) i = 2;
    int j = (i + 1) % 3, k = (i + 2) % 3;
    float s = sqrtf(fmaxf(1.0f + r[4 * i] - r[4 * j] - r[4 * k], 1e-12f)) * 2.0f;
    q[i] = 0.25f * s;
    q[j] = (r[3 * j + i] + r[3 * i + j]) / s;
    q[k] = (r[3 * k + i] + r[3 * i + k]) / s;
    q[3] = (r[3 * k + j] - r[3 * j + k]) / s;
}

SUP_ANCHOR void matrix_of(const float q[4], float r[9])
{
    float x = q[0], y = q[1], z = q[2], w = q[3];
    r[0] = 1 - 2 * (y * y + z * z), r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = 1 - 2 * (x * x + z * z), r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = 1 - 2 * (x * x + y * y);
}

SUP_ANCHOR void multiply_quaternions(const float a[4], const float b[4], float out[4])
{
    float x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    float y = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    float z = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    float w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    out[0] = x, out[1] = y, out[2] = z, out[3] = w;
}

SUP_ANCHOR void normalise_quaternion(float q[4])
{
    float length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 1e-6f)) {
        q[0] = q[1] = q[2] = 0.0f, q[3] = 1.0f;
        return;
    }
    for (int k = 0; k < 4; k++)
        q[k] /= length;
}

/* Rotation and scale of a joint's matrix. Returns true when its linear part is usable: no reflection, no degenerate or
 * extreme scale. */
SUP_ANCHOR bool split_matrix(const float *m, float rotation[4], float *scale)
{
    float x[9], c[9], square = 0.0f;
    for (int i = 0; i < 9; i++) {
        x[i] = m[4 * (i / 3) + i % 3];
        square += x[i] * x[i];
    }
    float mean = sqrtf(square / 3.0f), det = cofactors(x, c);
    bool usable = mean > 0.05f && mean < 20.0f && det > 0.02f * mean * mean * mean;
    if (!usable) {
        nearest_rotation(m, isfinite(square), rotation);
        *scale = isfinite(mean) ? fminf(fmaxf(mean, 0.05f), 20.0f) : 1.0f;
        return false;
    }
    *scale = cbrtf(det);
    for (int i = 0; i < 9; i++)
        x[i] /= *scale;
    /* Polar part by Newton's iteration R <- (R + R^-T) / 2, eq. A.5: one step where it is a rotation already. */
    for (int step = 0; step < 12; step++) {
        float d = cofactors(x, c), change = 0.0f;
        for (int i = 0; i < 9; i++) {
            float next = 0.5f * (x[i] + c[i] / d);
            change += (next - x[i]) * (next - x[i]);
            x[i] = next;
        }
        if (change < 1e-10f) break;
    }
    quaternion_of(x, rotation);
    normalise_quaternion(rotation);
    return true;
}

/* Applies the smallest rotation from d0 to d1 (unit) and a stretch along d1 to the linear part of `f`. */
SUP_ANCHOR void rotate_and_stretch(frame *f, const float d0[3], const float d1[3], float stretch)
{
    float q[4] = {d0[1] * d1[2] - d0[2] * d1[1], d0[2] * d1[0] - d0[0] * d1[2], d0[0] * d1[1] - d0[1] * d1[0],
                  1.0f + dot3(d0, d1)};
    normalise_quaternion(q);
    float r[9], linear[9], add[3];
    matrix_of(q, r);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            linear[3 * i + j] = r[3 * i] * f->m[j] + r[3 * i + 1] * f->m[4 + j] + r[3 * i + 2] * f->m[8 + j];
    for (int j = 0; j < 3; j++)
        add[j] = (stretch - 1.0f) * (d1[0] * linear[j] + d1[1] * linear[3 + j] + d1[2] * linear[6 + j]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            f->m[4 * i + j] = linear[3 * i + j] + d1[i] * add[j];
    float turned[4];
    multiply_quaternions(q, f->rotation, turned);
    memcpy(f->rotation, turned, sizeof turned);
}

SUP_ANCHOR bool finite3(const float *v)
{
    return fabsf(v[0]) < 1e30f && fabsf(v[1]) < 1e30f && fabsf(v[2]) < 1e30f; /* false for NaN */
}

/* Transforms a point by a joint's matrix; the rest position where the result is not finite. */
SUP_ANCHOR void transform_point(const sup_mat34 *joint, const float *rest, float *out)
{
    apply(joint->m, rest, out);
    if (!finite3(out)) memcpy(out, rest, 3 * sizeof *out);
}

/* Twist of the far joint relative to the near one about the bone, in the axes of the bind pose. */
SUP_ANCHOR float twist_angle(const float near[4], const float far[4], const float *from, const float *to)
{
    float inverse[4] = {-near[0], -near[1], -near[2], near[3]}, q[4];
    float d[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    multiply_quaternions(inverse, far, q);
    float length = sqrtf(dot3(d, d)), along = length > 0.0f ? dot3(q, d) / length : 0.0f;
    if (q[3] < 0.0f) along = -along, q[3] = -q[3];
    return fabsf(along) + q[3] > 1e-6f ? 2.0f * atan2f(along, q[3]) : 0.0f;
}

SUP_ANCHOR void pose_segment(const sup_anchors *a, const sup_mat34 *joints, int32_t p, state_view *s)
{
    const int32_t *joint = a->segment_joint + 3 * (size_t)p;
    const float *rest = a->segment_rest + 8 * (size_t)p;
    frame *f = &s->frames[p];
    float *from = s->ends + 8 * (size_t)p, *to = from + 4, *caps = s->caps + 8 * (size_t)p, r[9];
    bool usable = split_matrix(joints[joint[0]].m, f->rotation, &f->scale);
    transform_point(&joints[joint[0]], rest, from);
    matrix_of(f->rotation, r);
    for (int i = 0; i < 9; i++) {
        int at = 4 * (i / 3) + i % 3;
        f->m[at] = usable ? joints[joint[0]].m[at] : f->scale * r[i];
    }
    float along[3] = {rest[4] - rest[0], rest[5] - rest[1], rest[6] - rest[2]}, moved_axis[3], wanted[3];
    float rest_length = sqrtf(dot3(along, along));
    for (int i = 0; i < 3; i++)
        moved_axis[i] = f->m[4 * i] * along[0] + f->m[4 * i + 1] * along[1] + f->m[4 * i + 2] * along[2];
    for (int i = 0; i < 3; i++)
        to[i] = from[i] + moved_axis[i];
    float length = sqrtf(dot3(moved_axis, moved_axis));
    for (int i = 0; i < 3; i++)
        f->axis[i] = length > 0.0f ? moved_axis[i] / length : 0.0f;
    f->twist = 0.0f;
    if (joint[1] >= 0 && length > 0.0f) {
        float far[3], moved[3];
        transform_point(&joints[joint[1]], rest + 4, far);
        for (int i = 0; i < 3; i++)
            moved[i] = far[i] - to[i], wanted[i] = far[i] - from[i];
        float now = sqrtf(dot3(wanted, wanted)), k = now / length;
        /* Ignores rounding of a child that only rotates, and extreme stretch. */
        if (dot3(moved, moved) > 1e-10f * (length * length + dot3(from, from)) && k > 0.05f && k < 20.0f) {
            for (int i = 0; i < 3; i++)
                wanted[i] /= now;
            rotate_and_stretch(f, f->axis, wanted, k);
            memcpy(f->axis, wanted, sizeof wanted);
            memcpy(to, far, sizeof far);
        }
        float rotation[4], scale;
        if (joint[2] != 0) {
            split_matrix(joints[joint[1]].m, rotation, &scale);
            f->twist = twist_angle(f->rotation, rotation, rest, rest + 4);
        }
    }
    for (int i = 0; i < 3; i++) {
        f->m[4 * i + 3] = from[i] - (f->m[4 * i] * rest[0] + f->m[4 * i + 1] * rest[1] + f->m[4 * i + 2] * rest[2]);
        float step = rest_length > 0.0f ? (to[i] - from[i]) / rest_length : 0.0f;
        caps[i] = from[i] + rest[3] * step;
        caps[4 + i] = to[i] - rest[7] * step;
    }
    float axis[3] = {caps[4] - caps[0], caps[5] - caps[1], caps[6] - caps[2]}, square = dot3(axis, axis);
    caps[3] = square > 0.0f ? 1.0f / square : 0.0f;
    caps[7] = 0.0f;
    from[3] = to[3] = 0.0f;
}

/* Sum of quaternions, each on the side of the sum so far. */
SUP_ANCHOR void sum_quaternion(float sum[4], const float q[4])
{
    float side = sum[0] * q[0] + sum[1] * q[1] + sum[2] * q[2] + sum[3] * q[3] < 0.0f ? -1.0f : 1.0f;
    for (int k = 0; k < 4; k++)
        sum[k] += side * q[k];
}

/* Section 3.2.2: the rotation of a sphere is the mean of those of the segments that end and begin there. */
SUP_ANCHOR void pose_sphere(const sup_anchors *a, const sup_mat34 *joints, int32_t b, state_view *s)
{
    frame *f = &s->frames[a->segment_count + b];
    float ends[2][4] = {{0}}, scale = 0.0f, r[9], centre[3];
    int32_t first = a->sphere_first[b], end = a->sphere_first[b + 1];
    for (int32_t i = first; i < end; i++) {
        const frame *segment = &s->frames[a->sphere_segments[i] / 2];
        bool begins = a->sphere_segments[i] % 2 != 0;
        float q[4];
        memcpy(q, segment->rotation, sizeof q);
        if (!begins && segment->twist != 0.0f) {
            float half = 0.5f * segment->twist, h = sinf(half);
            float turn[4] = {h * segment->axis[0], h * segment->axis[1], h * segment->axis[2], cosf(half)};
            multiply_quaternions(turn, segment->rotation, q);
        }
        sum_quaternion(ends[begins], q);
        scale += segment->scale;
    }
    float sum[4] = {0};
    for (int k = 0; k < 2; k++) {
        if (dot3(ends[k], ends[k]) + ends[k][3] * ends[k][3] == 0.0f) continue;
        normalise_quaternion(ends[k]);
        sum_quaternion(sum, ends[k]);
    }
    normalise_quaternion(sum);
    memcpy(f->rotation, sum, sizeof sum);
    f->scale = end > first ? scale / (float)(end - first) : 1.0f;
    f->twist = 0.0f;
    const float *rest = a->sphere_rest + 4 * (size_t)b;
    transform_point(&joints[a->sphere_joint[b]], rest, centre);
    matrix_of(sum, r);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            f->m[4 * i + j] = f->scale * r[3 * i + j];
        f->m[4 * i + 3] = centre[i] - (f->m[4 * i] * rest[0] + f->m[4 * i + 1] * rest[1] + f->m[4 * i + 2] * rest[2]);
        f->axis[i] = centre[i]; /* of a sphere: its centre */
    }
}

#if defined(__CUDACC__) /* the CPU uses SIMD (anchors_step.c) */
/* Projects onto the anchor's primitive: a distance from the capsule's axis, or from the sphere's centre. */
SUP_ANCHOR void project(const sup_anchors *a, const state_view *s, int32_t index, float distance, float *p)
{
    const frame *f = &s->frames[index];
    float on[3];
    if (index >= a->segment_count) {
        memcpy(on, f->axis, sizeof on);
    } else {
        const float *cap = s->caps + 8 * (size_t)index;
        float d[3] = {cap[4] - cap[0], cap[5] - cap[1], cap[6] - cap[2]};
        float o[3] = {p[0] - cap[0], p[1] - cap[1], p[2] - cap[2]};
        float t = fminf(fmaxf(dot3(o, d) * cap[3], 0.0f), 1.0f);
        for (int k = 0; k < 3; k++)
            on[k] = cap[k] + t * d[k];
    }
    float away[3] = {p[0] - on[0], p[1] - on[1], p[2] - on[2]}, length = sqrtf(dot3(away, away));
    if (!(length > 1e-3f * distance)) return; /* on the axis: the direction is undefined */
    float k = distance * f->scale / length;
    for (int i = 0; i < 3; i++)
        p[i] = on[i] + k * away[i];
}

/* Sliding anchor i. Recomputes its ring points: few anchors share them, and threads need no synchronisation. */
SUP_ANCHOR void evaluate_sliding(const sup_anchors *a, const state_view *s, int32_t i, float to[3])
{
    const int32_t *index = a->slide_index + 6 * (size_t)i;
    const float *value = a->slide_value + 8 * (size_t)i, *m = s->frames[index[4]].m;
    float ring[4][3];
    for (int j = 0; j < 4; j++)
        apply(s->frames[a->ring_frame[index[j] / SUP_RING_POINTS]].m, a->ring_rest + 3 * (size_t)index[j], ring[j]);
    for (int k = 0; k < 3; k++) {
        float sum = m[4 * k] * value[4] + m[4 * k + 1] * value[5] + m[4 * k + 2] * value[6];
        for (int j = 0; j < 4; j++)
            sum += value[j] * ring[j][k];
        to[k] = sum;
    }
    project(a, s, index[4], value[7], to);
}
#endif

/* Twisting anchor i. */
SUP_ANCHOR void evaluate_twisting(const sup_anchors *a, const state_view *s, int32_t i, float to[3])
{
    const frame *f = &s->frames[a->twist_index[2 * (size_t)i]];
    const float *rest = a->twist_rest + 4 * (size_t)i;
    const float *from = s->ends + 8 * (size_t)a->twist_index[2 * (size_t)i];
    float p[3], half = 0.5f * f->twist * rest[3], h = sinf(half), r[9];
    apply(f->m, rest, p);
    float turn[4] = {h * f->axis[0], h * f->axis[1], h * f->axis[2], cosf(half)};
    matrix_of(turn, r);
    float o[3] = {p[0] - from[0], p[1] - from[1], p[2] - from[2]};
    for (int k = 0; k < 3; k++)
        to[k] = from[k] + dot3(r + 3 * k, o);
}

#if !defined(__CUDACC__)
/* Point i of the rings. */
SUP_ANCHOR void pose_ring_point(const sup_anchors *a, const state_view *s, int32_t i)
{
    apply(s->frames[a->ring_frame[i / SUP_RING_POINTS]].m, a->ring_rest + 3 * (size_t)i, s->rings + 4 * (size_t)i);
    s->rings[4 * (size_t)i + 3] = 0.0f;
}
#endif
