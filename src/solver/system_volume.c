/* system_volume.c - what the step needs to keep volumes: chambers (volume_regions.c) as sums over the prisms' outer sides. */
#include "solver/volume_regions.h"
#include "solver/system_build.h"

#include <math.h>

/* Six times the volume between an outer side and its feet, split as the prism is (system.h). */
static double column_volume6(const sup_system_builder *b, const sup_prism *p)
{
    sup_vec3d e[5], foot[3];
    for (int32_t k = 0; k < 3; k++)
        foot[k] = sup_foot_position(b->def->skeleton, b->tissue->foot_points[p->corner[k]]);
    for (int32_t k = 0; k < 3; k++) {
        const float *x = b->rest + (int64_t)3 * p->corner[k];
        e[k] = sup_v3_sub(sup_v3((double)x[0], (double)x[1], (double)x[2]), foot[2]);
        if (k < 2) e[3 + k] = sup_v3_sub(foot[k], foot[2]);
    }
    sup_vec3d top = sup_v3_cross(e[0], e[1]);
    return sup_v3_dot(top, sup_v3_sub(e[2], e[4])) + sup_v3_dot(e[0], sup_v3_cross(e[3], e[4]));
}

/* Volumes at rest; chambers that hold next to nothing, or more outside in than inside out, are not kept: 0. */
static bool measure_chambers(sup_system_builder *b, const sup_chamber_share *share, int32_t count, float *volume)
{
    double *sum = sup_arena_alloc(&b->arena, (size_t)count, sizeof *sum);
    double *size = sup_arena_alloc(&b->arena, (size_t)count, sizeof *size), total = 0.0;
    if (sum == NULL || size == NULL) return false;
    for (int32_t t = 0; t < b->tissue->triangle_count; t++) {
        const sup_prism *p = &b->prisms[t];
        double column = p->span * column_volume6(b, p) / 3.0;
        for (int32_t k = 0; k < 3; k++)
            for (int32_t j = 0; j < 2 && b->number[p->corner[k]] < b->unknown_count; j++) {
                sum[share[p->corner[k]].chamber[j]] += share[p->corner[k]].weight[j] * column;
                size[share[p->corner[k]].chamber[j]] += share[p->corner[k]].weight[j] * fabs(column);
                total += share[p->corner[k]].weight[j] * fabs(column);
            }
    }
    for (int32_t c = 0; c < count; c++)
        volume[c] = sum[c] > 0.5 * size[c] && sum[c] > 1e-6 * total ? (float)sum[c] : 0.0f;
    return true;
}

static void write_feet(const sup_system_builder *b, int32_t *piece, float *along)
{
    for (int32_t v = 0; v < b->tissue->skin_count; v++) {
        piece[v] = b->tissue->foot_points[v].segment;
        along[v] = (float)b->tissue->foot_points[v].parameter;
    }
}

/* Seats and blends (system.h) as they are counted and written. */
typedef struct seating {
    const sup_system_builder *b;
    const sup_chamber_share *share;
    int32_t *seat_of, *blend_of; /* [chamber_count] of a chamber, old where below the first of this piece or batch */
    int32_t seat_count, blend_count;
    int32_t *seat_first, *seat_chamber, *blend_first, *blend_seat; /* NULL while counting */
    float *blend_weight;
} seating;

/* The blend of a chamber in this batch, a new one where there is none. */
static int32_t blend_for(seating *s, int32_t chamber, int32_t first_seat, int32_t first_blend)
{
    if (s->seat_of[chamber] < first_seat) {
        s->seat_of[chamber] = s->seat_count++;
        if (s->seat_chamber != NULL) s->seat_chamber[s->seat_of[chamber]] = chamber;
    }
    if (s->blend_of[chamber] < first_blend) {
        s->blend_of[chamber] = s->blend_count++;
        if (s->blend_seat != NULL) s->blend_seat[s->blend_of[chamber]] = s->seat_of[chamber];
    }
    return s->blend_of[chamber];
}

/* A column belongs by thirds to the chambers of its three skin vertices; those that are anchors do not count. */
static void seat_batch(seating *s, int32_t batch, int32_t first_seat)
{
    const sup_system_builder *b = s->b;
    int32_t first_blend = s->blend_count;
    for (int32_t lane = 0; lane < SUP_PRISM_LANES; lane++) {
        int32_t prism = b->lane_prism[(int64_t)batch * SUP_PRISM_LANES + lane];
        for (int32_t i = 0; prism >= 0 && prism < b->tissue->triangle_count && i < 6; i++) {
            const sup_prism *p = &b->prisms[prism];
            const sup_chamber_share *share = &s->share[p->corner[i / 2]];
            if (b->number[p->corner[i / 2]] >= b->unknown_count || !(share->weight[i % 2] > 0.0)) continue;
            int64_t blend = blend_for(s, share->chamber[i % 2], first_seat, first_blend);
            if (s->blend_weight != NULL)
                s->blend_weight[blend * SUP_PRISM_LANES + lane] += (float)(share->weight[i % 2] * p->span / 3.0);
        }
    }
    if (s->blend_first != NULL) s->blend_first[batch + 1] = s->blend_count;
}

static void seat_pieces(seating *s, int32_t chamber_count)
{
    s->seat_count = s->blend_count = 0;
    for (int32_t c = 0; c < chamber_count; c++)
        s->seat_of[c] = s->blend_of[c] = -1;
    for (int32_t piece = 0; piece < s->b->piece_count; piece++) {
        int32_t first_seat = s->seat_count;
        for (int32_t batch = s->b->pieces[piece].batch_first; batch < s->b->pieces[piece].batch_end; batch++)
            seat_batch(s, batch, first_seat);
        if (s->seat_first != NULL) s->seat_first[piece + 1] = s->seat_count;
    }
}

/* Counts, makes room in the model and writes. */
static bool add_seats(sup_system_builder *b, const sup_chamber_share *share, int32_t chamber_count)
{
    seating s = {.b = b, .share = share};
    bool keeps = chamber_count > 0;
    s.seat_of = sup_arena_alloc(&b->arena, (size_t)chamber_count + 1, sizeof(int32_t));
    s.blend_of = sup_arena_alloc(&b->arena, (size_t)chamber_count + 1, sizeof(int32_t));
    if (s.seat_of == NULL || s.blend_of == NULL) return false;
    if (keeps) seat_pieces(&s, chamber_count);
    int64_t blends = s.blend_count;
    int32_t *seat_first = sup_system_add(b, "seat_first", SUP_ARRAY_INT32, keeps ? (int64_t)b->piece_count + 1 : 0);
    s.seat_chamber = sup_system_add(b, "seat_chamber", SUP_ARRAY_INT32, s.seat_count);
    int32_t *blend_first = sup_system_add(b, "blend_first", SUP_ARRAY_INT32, keeps ? (int64_t)b->batch_count + 1 : 0);
    s.blend_seat = sup_system_add(b, "blend_seat", SUP_ARRAY_INT32, blends);
    s.blend_weight = sup_system_add(b, "blend_weight", SUP_ARRAY_FLOAT, blends * SUP_PRISM_LANES);
    if (!seat_first || !s.seat_chamber || !blend_first || !s.blend_seat || !s.blend_weight) return false;
    s.seat_first = seat_first;
    s.blend_first = blend_first;
    if (keeps) seat_pieces(&s, chamber_count);
    return true;
}

sup_result sup_system_build_volume(sup_system_builder *b, sup_error *error)
{
    bool keeps = b->def->volume > 0.0;
    sup_chamber_share *share = NULL;
    int32_t count = keeps ? sup_chambers_create(b->tissue, b->def->skeleton, &b->arena, &share) : 0;
    int64_t skin = keeps ? b->tissue->skin_count : 0;
    int32_t *head = sup_system_add(b, "volume", SUP_ARRAY_INT32, 2);
    int32_t *piece = sup_system_add(b, "foot_bone", SUP_ARRAY_INT32, skin);
    float *along = sup_system_add(b, "foot_along", SUP_ARRAY_FLOAT, skin);
    float *volume = sup_system_add(b, "chamber_volume", SUP_ARRAY_FLOAT, count);
    if (!head || !piece || !along || !volume || (keeps && count == 0) || !add_seats(b, share, count))
        return sup_fail_memory(error, "the tissue's volumes");
    if (!keeps) return SUP_OK;
    head[0] = b->def->skeleton->segment_count;
    head[1] = count;
    write_feet(b, piece, along);
    return measure_chambers(b, share, count, volume) ? SUP_OK : sup_fail_memory(error, "the tissue's volumes");
}
