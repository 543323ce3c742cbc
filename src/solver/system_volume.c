/* system_volume.c - arrays of the volume regions (volume_regions.c): weighted sums over wedges. */
#include "solver/volume_regions.h"
#include "solver/system_build.h"

#include <math.h>

/* Six times the volume between an outer side and its foot points, split like the prism (system.h). */
static double wedge_volume6(const sup_system_builder *b, const sup_prism *p)
{
    sup_vec3d e[5], foot[3];
    for (int32_t k = 0; k < 3; k++)
        foot[k] = sup_foot_position(b->def->skeleton, b->tissue->foot_points[p->corner[k]]);
    for (int32_t k = 0; k < 3; k++) {
        const float *x = b->rest + (int64_t)3 * p->corner[k];
        e[k] = sup_v3_sub(sup_v3((double)x[0], (double)x[1], (double)x[2]), foot[2]);
        if (k < 2) e[3 + k] = sup_v3_sub(foot[k], foot[2]);
    }
    sup_vec3d cross = sup_v3_cross(e[0], e[1]);
    return sup_v3_dot(cross, sup_v3_sub(e[2], e[4])) + sup_v3_dot(e[0], sup_v3_cross(e[3], e[4]));
}

/* Volumes at rest. Regions that are nearly empty or mostly inverted are not preserved: 0. */
static bool measure_regions(sup_system_builder *b, const sup_region_weights *weights, int32_t count, float *volume)
{
    double *sum = sup_arena_alloc(&b->arena, (size_t)count, sizeof *sum);
    double *size = sup_arena_alloc(&b->arena, (size_t)count, sizeof *size), total = 0.0;
    if (sum == NULL || size == NULL) return false;
    for (int32_t t = 0; t < b->tissue->triangle_count; t++) {
        const sup_prism *p = &b->prisms[t];
        double wedge = p->span * wedge_volume6(b, p) / 3.0;
        for (int32_t k = 0; k < 3; k++)
            for (int32_t j = 0; j < 2 && b->number[p->corner[k]] < b->unknown_count; j++) {
                sum[weights[p->corner[k]].region[j]] += weights[p->corner[k]].weight[j] * wedge;
                size[weights[p->corner[k]].region[j]] += weights[p->corner[k]].weight[j] * fabs(wedge);
                total += weights[p->corner[k]].weight[j] * fabs(wedge);
            }
    }
    for (int32_t c = 0; c < count; c++)
        volume[c] = sum[c] > 0.5 * size[c] && sum[c] > 1e-6 * total ? (float)sum[c] : 0.0f;
    return true;
}

static void write_foot_points(const sup_system_builder *b, int32_t *segment, float *along)
{
    for (int32_t v = 0; v < b->tissue->skin_count; v++) {
        segment[v] = b->tissue->foot_points[v].segment;
        along[v] = (float)b->tissue->foot_points[v].parameter;
    }
}

/* Region slots and blends (system.h) while they are counted and written. */
typedef struct slot_assignment {
    const sup_system_builder *b;
    const sup_region_weights *weights;
    int32_t *region_slot_of,
        *blend_of; /* [region_count] by region; values below the first of this cluster or batch are stale */
    int32_t region_slot_count, blend_count;
    int32_t *region_slot_first, *region_slot_region, *blend_first, *blend_region_slot; /* NULL while counting */
    float *blend_weight;
} slot_assignment;

/* The blend of a region in this batch; creates it if there is none. */
static int32_t blend_for(slot_assignment *s, int32_t region, int32_t first_region_slot, int32_t first_blend)
{
    if (s->region_slot_of[region] < first_region_slot) {
        s->region_slot_of[region] = s->region_slot_count++;
        if (s->region_slot_region != NULL) s->region_slot_region[s->region_slot_of[region]] = region;
    }
    if (s->blend_of[region] < first_blend) {
        s->blend_of[region] = s->blend_count++;
        if (s->blend_region_slot != NULL) s->blend_region_slot[s->blend_of[region]] = s->region_slot_of[region];
    }
    return s->blend_of[region];
}

/* A wedge belongs by thirds to the regions of its three skin vertices; anchors do not count. */
static void assign_batch(slot_assignment *s, int32_t batch, int32_t first_region_slot)
{
    const sup_system_builder *b = s->b;
    int32_t first_blend = s->blend_count;
    for (int32_t lane = 0; lane < SUP_PRISM_LANES; lane++) {
        int32_t prism = b->lane_prism[(int64_t)batch * SUP_PRISM_LANES + lane];
        for (int32_t i = 0; prism >= 0 && prism < b->tissue->triangle_count && i < 6; i++) {
            const sup_prism *p = &b->prisms[prism];
            const sup_region_weights *weights = &s->weights[p->corner[i / 2]];
            if (b->number[p->corner[i / 2]] >= b->unknown_count || !(weights->weight[i % 2] > 0.0)) continue;
            int64_t blend = blend_for(s, weights->region[i % 2], first_region_slot, first_blend);
            if (s->blend_weight != NULL)
                s->blend_weight[blend * SUP_PRISM_LANES + lane] += (float)(weights->weight[i % 2] * p->span / 3.0);
        }
    }
    if (s->blend_first != NULL) s->blend_first[batch + 1] = s->blend_count;
}

static void assign_region_slots(slot_assignment *s, int32_t region_count)
{
    s->region_slot_count = s->blend_count = 0;
    for (int32_t c = 0; c < region_count; c++)
        s->region_slot_of[c] = s->blend_of[c] = -1;
    for (int32_t cluster = 0; cluster < s->b->cluster_count; cluster++) {
        int32_t first_region_slot = s->region_slot_count;
        for (int32_t batch = s->b->clusters[cluster].batch_first; batch < s->b->clusters[cluster].batch_end; batch++)
            assign_batch(s, batch, first_region_slot);
        if (s->region_slot_first != NULL) s->region_slot_first[cluster + 1] = s->region_slot_count;
    }
}

/* Counts, allocates in the model and writes. */
static bool add_region_slots(sup_system_builder *b, const sup_region_weights *weights, int32_t region_count)
{
    slot_assignment s = {.b = b, .weights = weights};
    bool keeps = region_count > 0;
    s.region_slot_of = sup_arena_alloc(&b->arena, (size_t)region_count + 1, sizeof(int32_t));
    s.blend_of = sup_arena_alloc(&b->arena, (size_t)region_count + 1, sizeof(int32_t));
    if (s.region_slot_of == NULL || s.blend_of == NULL) return false;
    if (keeps) assign_region_slots(&s, region_count);
    int64_t blends = s.blend_count;
    int32_t *region_slot_first =
        sup_system_add(b, "region_slot_first", SUP_ARRAY_INT32, keeps ? (int64_t)b->cluster_count + 1 : 0);
    s.region_slot_region = sup_system_add(b, "region_slot_region", SUP_ARRAY_INT32, s.region_slot_count);
    int32_t *blend_first = sup_system_add(b, "blend_first", SUP_ARRAY_INT32, keeps ? (int64_t)b->batch_count + 1 : 0);
    s.blend_region_slot = sup_system_add(b, "blend_region_slot", SUP_ARRAY_INT32, blends);
    s.blend_weight = sup_system_add(b, "blend_weight", SUP_ARRAY_FLOAT, blends * SUP_PRISM_LANES);
    if (!region_slot_first || !s.region_slot_region || !blend_first || !s.blend_region_slot || !s.blend_weight)
        return false;
    s.region_slot_first = region_slot_first;
    s.blend_first = blend_first;
    if (keeps) assign_region_slots(&s, region_count);
    return true;
}

sup_result sup_system_build_volume(sup_system_builder *b, sup_error *error)
{
    bool keeps = b->def->volume > 0.0;
    sup_region_weights *weights = NULL;
    int32_t count = keeps ? sup_volume_regions_create(b->tissue, b->def->skeleton, &b->arena, &weights) : 0;
    int64_t skin = keeps ? b->tissue->skin_count : 0;
    int32_t *head = sup_system_add(b, "volume", SUP_ARRAY_INT32, 2);
    int32_t *segment = sup_system_add(b, "foot_bone", SUP_ARRAY_INT32, skin);
    float *along = sup_system_add(b, "foot_along", SUP_ARRAY_FLOAT, skin);
    float *volume = sup_system_add(b, "region_volume", SUP_ARRAY_FLOAT, count);
    if (!head || !segment || !along || !volume || (keeps && count == 0) || !add_region_slots(b, weights, count))
        return sup_fail_memory(error, "the tissue's volumes");
    if (!keeps) return SUP_OK;
    head[0] = b->def->skeleton->segment_count;
    head[1] = count;
    write_foot_points(b, segment, along);
    return measure_regions(b, weights, count, volume) ? SUP_OK : sup_fail_memory(error, "the tissue's volumes");
}
