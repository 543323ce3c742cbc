/* anchors_step.c - frames of bones and balls in a pose, and the anchors that hang on them. See anchors.h. */
#include "math/affine.h"

#define SUP_ANCHOR static
#include "methods/projective/anchors_kernel.h"

static void mend_rotation(const float *m, bool finite, float rotation[4])
{
    sup_mat34 given;
    sup_quatd turn = {0, 0, 0, 1};
    double stretch[9];
    memcpy(given.m, m, sizeof given.m);
    bool fine = finite && sup_affine_polar(sup_affine_from_float(given), &turn, stretch);
    sup_quat q = sup_quatd_to_float(fine ? turn : (sup_quatd){0, 0, 0, 1});
    rotation[0] = q.x, rotation[1] = q.y, rotation[2] = q.z, rotation[3] = q.w;
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static state_view view_state(const sup_anchors *a, void *state)
{
    unsigned char *at = state;
    state_view s;
    s.frames = (frame *)(void *)at;
    at += rounded((size_t)a->frame_count * sizeof(frame));
    s.ends = (float *)(void *)at;
    at += rounded((size_t)a->piece_count * 8 * sizeof(float));
    s.caps = (float *)(void *)at;
    at += rounded((size_t)a->piece_count * 8 * sizeof(float));
    s.rings = (float *)(void *)at;
    return s;
}

size_t sup_anchors_state_size(const sup_anchors *a)
{
    return rounded((size_t)a->frame_count * sizeof(frame)) + 2 * rounded((size_t)a->piece_count * 8 * sizeof(float)) +
           rounded((size_t)a->ring_count * SUP_RING_POINTS * 4 * sizeof(float));
}

const float *sup_anchors_piece_ends(const sup_anchors *a, const void *state)
{
    return (const float *)(const void *)((const unsigned char *)state +
                                         rounded((size_t)a->frame_count * sizeof(frame)));
}

static void place_rigid(const sup_anchors *a, const state_view *s, float *out)
{
    for (int32_t k = 0; k < a->frame_count; k++) {
        const frame f = s->frames[k];
        for (int32_t i = a->rigid_first[k]; i < a->rigid_first[k + 1]; i++) {
            float *to = out + 4 * (size_t)a->rigid_out[i];
            apply(f.m, a->rigid_rest + 3 * (size_t)i, to);
            to[3] = 0.0f;
        }
    }
}

static void place_others(const sup_anchors *a, const state_view *s, float *out)
{
    for (int32_t i = 0; i < a->slide_count; i++) {
        float *to = out + 4 * (size_t)a->slide_index[6 * (size_t)i + 5];
        place_sliding(a, s, i, to);
        to[3] = 0.0f;
    }
    for (int32_t i = 0; i < a->twist_count; i++) {
        float *to = out + 4 * (size_t)a->twist_index[2 * (size_t)i + 1];
        place_twisting(a, s, i, to);
        to[3] = 0.0f;
    }
}

void sup_anchors_evaluate(const sup_anchors *anchors, const sup_mat34 *joints, void *state, float *out)
{
    state_view s = view_state(anchors, state);
    for (int32_t p = 0; p < anchors->piece_count; p++)
        place_piece(anchors, joints, p, &s);
    for (int32_t b = 0; b < anchors->ball_count; b++)
        place_ball(anchors, joints, b, &s);
    for (int32_t i = 0; i < anchors->ring_count * SUP_RING_POINTS; i++)
        place_ring_point(anchors, &s, i);
    place_rigid(anchors, &s, out);
    place_others(anchors, &s, out);
}
