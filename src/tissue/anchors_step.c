/* anchors_step.c - frames of bones and spheres in a pose, and their anchors. See anchors.h. */
#include "base/simd.h"
#include "math/affine.h"

#define SUP_ANCHOR static
#include "tissue/anchors_kernel.h"

enum { SLIDE_GRAIN = 512 }; /* sliding anchors of a task */

static void nearest_rotation(const float *m, bool finite, float rotation[4])
{
    sup_mat34 given;
    sup_quatd turn = {0, 0, 0, 1};
    double stretch[9];
    memcpy(given.m, m, sizeof given.m);
    bool fine = finite && sup_affine_polar(sup_affine_from_float(given), &turn, stretch);
    sup_quat q = sup_quatd_to_float(fine ? turn : (sup_quatd){0, 0, 0, 1});
    rotation[0] = q.x, rotation[1] = q.y, rotation[2] = q.z, rotation[3] = q.w;
}

static size_t align(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static state_view view_state(const sup_anchors *a, void *state)
{
    unsigned char *at = state;
    state_view s;
    s.frames = (frame *)(void *)at;
    at += align((size_t)a->frame_count * sizeof(frame));
    s.ends = (float *)(void *)at;
    at += align((size_t)a->segment_count * 8 * sizeof(float));
    s.caps = (float *)(void *)at;
    at += align((size_t)a->segment_count * 8 * sizeof(float));
    s.rings = (float *)(void *)at;
    return s;
}

size_t sup_anchors_state_size(const sup_anchors *a)
{
    return align((size_t)a->frame_count * sizeof(frame)) + 2 * align((size_t)a->segment_count * 8 * sizeof(float)) +
           align((size_t)a->ring_count * SUP_RING_POINTS * 4 * sizeof(float));
}

const float *sup_anchors_segment_ends(const sup_anchors *a, const void *state)
{
    return (const float *)(const void *)((const unsigned char *)state + align((size_t)a->frame_count * sizeof(frame)));
}

static void evaluate_rigid(const sup_anchors *a, const state_view *s, float *out)
{
    for (int32_t k = 0; k < a->frame_count; k++) {
        const float *m = s->frames[k].m;
        sup_four column[4];
        for (int c = 0; c < 4; c++)
            column[c] = (sup_four){m[c], m[4 + c], m[8 + c], 0.0f};
        for (int32_t i = a->rigid_first[k]; i < a->rigid_first[k + 1]; i++) {
            const float *rest = a->rigid_rest + 3 * (size_t)i;
            sup_four to = sup_four_fma(column[0], sup_four_splat(rest[0]), column[3]);
            to = sup_four_fma(column[1], sup_four_splat(rest[1]), to);
            to = sup_four_fma(column[2], sup_four_splat(rest[2]), to);
            memcpy(out + 4 * (size_t)a->rigid_out[i], &to, sizeof to);
        }
    }
}

static float sum3(sup_four v)
{
    return v[0] + v[1] + v[2];
}

/* Projects onto the anchor's primitive: a distance from the capsule's axis, or from the sphere's centre. */
static sup_four project(const sup_anchors *a, const state_view *s, int32_t index, float distance, sup_four p)
{
    const frame *f = &s->frames[index];
    sup_four on;
    if (index >= a->segment_count) {
        on = (sup_four){f->axis[0], f->axis[1], f->axis[2], 0.0f};
    } else {
        const float *cap = s->caps + 8 * (size_t)index;
        sup_four from = sup_four_load(cap), d = sup_four_load(cap + 4) - from;
        float t = fminf(fmaxf(sum3((p - from) * d) * cap[3], 0.0f), 1.0f);
        on = sup_four_fma(sup_four_splat(t), d, from);
    }
    sup_four away = p - on;
    float length = sqrtf(sum3(away * away));
    if (!(length > 1e-3f * distance)) return p; /* on the axis: the direction is undefined */
    return sup_four_fma(sup_four_splat(distance * f->scale / length), away, on);
}

typedef struct slide_work {
    const sup_anchors *anchors;
    const state_view *state;
    float *out;
} slide_work;

static void evaluate_sliding(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const slide_work *w = work;
    const sup_anchors *a = w->anchors;
    const state_view *s = w->state;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        const int32_t *index = a->slide_index + 6 * (size_t)i;
        const float *value = a->slide_value + 8 * (size_t)i, *m = s->frames[index[4]].m;
        sup_four sum = {m[0] * value[4] + m[1] * value[5] + m[2] * value[6],
                        m[4] * value[4] + m[5] * value[5] + m[6] * value[6],
                        m[8] * value[4] + m[9] * value[5] + m[10] * value[6], 0.0f};
        for (int j = 0; j < 4; j++)
            sum = sup_four_fma(sup_four_splat(value[j]), sup_four_load(s->rings + 4 * (size_t)index[j]), sum);
        sum = project(a, s, index[4], value[7], sum);
        sum[3] = 0.0f;
        memcpy(w->out + 4 * (size_t)index[5], &sum, sizeof sum);
    }
}

static void evaluate_attached(const sup_anchors *a, const sup_mat34 *joints, float *out)
{
    for (int32_t i = 0; i < a->attached_count; i++) {
        float *to = out + 4 * (size_t)a->attached_index[2 * (size_t)i + 1];
        transform_point(&joints[a->attached_index[2 * (size_t)i]], a->attached_rest + 3 * (size_t)i, to);
        to[3] = 0.0f;
    }
}

void sup_anchors_evaluate(const sup_context *context, const sup_anchors *anchors, const sup_mat34 *joints, void *state,
                          float *out)
{
    state_view s = view_state(anchors, state);
    for (int32_t p = 0; p < anchors->segment_count; p++)
        pose_segment(anchors, joints, p, &s);
    for (int32_t b = 0; b < anchors->sphere_count; b++)
        pose_sphere(anchors, joints, b, &s);
    for (int32_t i = 0; i < anchors->ring_count * SUP_RING_POINTS; i++)
        pose_ring_point(anchors, &s, i);
    evaluate_rigid(anchors, &s, out);
    sup_parallel(context, anchors->slide_count, SLIDE_GRAIN, evaluate_sliding, &(slide_work){anchors, &s, out});
    for (int32_t i = 0; i < anchors->twist_count; i++) {
        float *to = out + 4 * (size_t)anchors->twist_index[2 * (size_t)i + 1];
        evaluate_twisting(anchors, &s, i, to);
        to[3] = 0.0f;
    }
    evaluate_attached(anchors, joints, out);
}
