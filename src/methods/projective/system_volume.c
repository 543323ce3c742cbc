/* system_volume.c - what the step needs to keep volumes: chambers (chambers.c) as sums over the prisms' outer sides. */
#include "methods/projective/chambers.h"
#include "methods/projective/system_build.h"

#include <math.h>

/* Six times the volume between an outer side and its feet, split as the prism is (system.h). */
static double column_volume6(const sup_system_builder *b, const sup_prism *p)
{
    sup_vec3d e[5], foot[3];
    for (int32_t k = 0; k < 3; k++)
        foot[k] = sup_foot_point(b->def->skeleton, b->tissue->feet[p->corner[k]]);
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
        piece[v] = b->tissue->feet[v].piece;
        along[v] = (float)b->tissue->feet[v].parameter;
    }
}

/* Shares of the partial sums: those of skin vertices, nothing for bases and bins. */
static void write_lanes(const sup_system_builder *b, const sup_chamber_share *share, float *span, int32_t *chamber,
                        float *weight)
{
    for (int64_t i = 0; i < (int64_t)b->batch_count * SUP_PRISM_LANES; i++) {
        if (b->lane_prism[i] < 0) continue;
        const sup_prism *p = &b->prisms[b->lane_prism[i]];
        int64_t batch = i / SUP_PRISM_LANES, lane = i % SUP_PRISM_LANES;
        span[i] = (float)p->span;
        for (int32_t k = 0; k < 3; k++) {
            if (b->number[p->corner[k]] >= b->unknown_count) continue;
            int64_t target = b->target[batch * SUP_PRISM_INTS + k * SUP_PRISM_LANES + lane];
            for (int32_t j = 0; j < 2; j++) {
                chamber[2 * target + j] = share[p->corner[k]].chamber[j];
                weight[2 * target + j] = (float)share[p->corner[k]].weight[j];
            }
        }
    }
}

sup_result sup_system_build_volume(sup_system_builder *b, sup_error *error)
{
    bool keeps = b->def->volume > 0.0;
    sup_chamber_share *share = NULL;
    int32_t count = keeps ? sup_chambers_create(b->tissue, b->def->skeleton, &b->arena, &share) : 0;
    int64_t skin = keeps ? b->tissue->skin_count : 0, partials = keeps ? b->partial_count : 0;
    int32_t *head = sup_system_add(b, "volume", SUP_ARRAY_INT32, 2);
    int32_t *piece = sup_system_add(b, "foot_bone", SUP_ARRAY_INT32, skin);
    float *along = sup_system_add(b, "foot_along", SUP_ARRAY_FLOAT, skin);
    float *volume = sup_system_add(b, "chamber_volume", SUP_ARRAY_FLOAT, count);
    float *span = sup_system_add(b, "spans", SUP_ARRAY_FLOAT, keeps ? (int64_t)b->batch_count * SUP_PRISM_LANES : 0);
    int32_t *chamber = sup_system_add(b, "share_chamber", SUP_ARRAY_INT32, 2 * partials);
    float *weight = sup_system_add(b, "share_weight", SUP_ARRAY_FLOAT, 2 * partials);
    if (!head || !piece || !along || !volume || !span || !chamber || !weight || (keeps && count == 0))
        return sup_fail_memory(error, "the tissue's volumes");
    if (!keeps) return SUP_OK;
    head[0] = b->def->skeleton->piece_count;
    head[1] = count;
    write_feet(b, piece, along);
    write_lanes(b, share, span, chamber, weight);
    return measure_chambers(b, share, count, volume) ? SUP_OK : sup_fail_memory(error, "the tissue's volumes");
}
