/* local.c - the test of the pairs beside the joints, once a step. See local.h. */
#include "methods/projective/local.h"

#include "methods/projective/detect_internal.h"

static const double apart = 0.05; /* cosine: a pair that collides ends when the angles differ by this */

size_t sup_local_state_size(const sup_local *local)
{
    return ((size_t)local->pair_count + 63) / 64 * 64;
}

void sup_local_reset(const sup_local *local, void *state)
{
    memset(state, 0, sup_local_state_size(local));
}

/* From the joint along a piece of the pair, unit. */
static sup_vec3d bone_direction(const sup_local_pair *pair, int side, const float *ends, sup_vec3d *joint)
{
    const float *at = ends + 6 * (size_t)pair->piece[side] + 3 * pair->end[side];
    const float *away = ends + 6 * (size_t)pair->piece[side] + 3 * (1 - pair->end[side]);
    *joint = sup_v3_load(at);
    return sup_v3_unit_or(sup_v3_sub(sup_v3_load(away), *joint), sup_v3(0, 0, 0));
}

/* cos alpha - cos beta (unnumbered, after figure 3.13), both to the first bone, in the plane of the bones; negative =
 * collides. 1 where the bones are in line. */
static double angle_test(const sup_local_pair *pair, const sup_detect_input *input)
{
    sup_vec3d joint, unused, b[2], x[2];
    b[0] = bone_direction(pair, 0, input->piece_ends, &joint);
    b[1] = bone_direction(pair, 1, input->piece_ends, &unused);
    sup_vec3d plane = sup_v3_cross(b[0], b[1]);
    if (!(sup_v3_length(plane) > 1e-3)) return 1.0;
    plane = sup_v3_unit_or(plane, sup_v3(0, 0, 0));
    for (int k = 0; k < 2; k++) {
        const float *p = input->skin + (size_t)pair->vertex[k] * (size_t)input->skin_stride;
        x[k] = sup_v3_sub(sup_v3_load(p), joint);
        x[k] = sup_v3_unit_or(sup_v3_madd(x[k], -sup_v3_dot(x[k], plane), plane), sup_v3(0, 0, 0));
    }
    return sup_v3_dot(b[0], x[0]) - sup_v3_dot(b[0], x[1]);
}

/* The way x_i is pushed: n_j - n_i, the normal of the plane between them. False where they point the same way. */
static bool between(const sup_detect *detect, const sup_local_pair *pair, const sup_detect_input *input,
                    float normal[3])
{
    float n[2][3];
    for (int k = 0; k < 2; k++)
        sup_detect_normal(detect, input->skin, input->skin_stride, pair->vertex[k], n[k]);
    sup_vec3d d = sup_v3_sub(sup_v3_load(n[1]), sup_v3_load(n[0]));
    if (!(sup_v3_length(d) > 0.1)) return false;
    sup_v3_store(normal, sup_v3_unit_or(d, sup_v3(0, 0, 0)));
    return true;
}

int32_t sup_local_step(const sup_detect *detect, const sup_local *local, void *state, const sup_detect_input *input,
                       sup_contact *rows)
{
    unsigned char *collides = state;
    int32_t count = 0;
    for (int32_t i = 0; i < local->pair_count; i++) {
        const sup_local_pair *pair = &local->pairs[i];
        double difference = angle_test(pair, input);
        collides[i] = difference < (collides[i] ? apart : 0.0);
        sup_contact row = {.vertex = pair->vertex[0],
                           .corner = {pair->vertex[1], -1, -1},
                           .weight = {1.0f, 0.0f, 0.0f},
                           .stiffness = input->stiffness,
                           .friction = input->friction};
        if (collides[i] && between(detect, pair, input, row.normal)) rows[count++] = row;
    }
    return count;
}
