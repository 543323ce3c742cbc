/* crowd_morphs.c - morph targets of a crowd: their offsets for the lanes of the skin, and their weights. The weights of
 * a clip are sampled on the device (pose.cu). As on the CPU they move the vertices of linear blending: all of a classic
 * skin, and of `projective` the primitives that are not simulated. */
#include "cuda/crowd.h"

#include "skin/skin.h"

sup_result sup_crowd_open_weights(sup_crowd *crowd, sup_error *error)
{
    crowd->weight_count = sup_model_morph_weight_count(crowd->model);
    crowd->morph_weights =
        sup_arena_alloc(&crowd->arena, (size_t)crowd->count * (size_t)crowd->weight_count + 1, sizeof(float));
    return crowd->morph_weights != NULL ? SUP_OK : sup_fail_memory(error, "the crowd");
}

/* Morph offsets sorted by lane; within a lane in the order of the targets. */
typedef struct entries {
    int32_t *first;  /* [lane_count+1] */
    int32_t *weight; /* [first[lane_count]] */
    float *offsets;  /* six each */
} entries;

/* Counting sort: first[lane + 1] is the count of a lane, then its start. */
static void sort_entries(const sup_skin_model *skin, const int32_t *lane_of, int32_t lane_count, entries *e)
{
    const sup_skin_morphs *m = &skin->morphs;
    int32_t all = m->first[(int64_t)skin->window_count * m->count];
    for (int32_t i = 0; i < all; i++)
        if (lane_of[m->slot[i]] >= 0) e->first[lane_of[m->slot[i]] + 1]++;
    for (int32_t i = 0; i < lane_count; i++)
        e->first[i + 1] += e->first[i];
    for (int64_t segment = 0; segment < (int64_t)skin->window_count * m->count; segment++)
        for (int32_t i = m->first[segment]; i < m->first[segment + 1]; i++) {
            int32_t lane = lane_of[m->slot[i]];
            if (lane < 0) continue;
            int32_t to = e->first[lane]++;
            e->weight[to] = m->weight[segment % m->count];
            memcpy(e->offsets + 6 * (size_t)to, m->offsets + 6 * (size_t)i, 6 * sizeof(float));
        }
    for (int32_t i = lane_count; i > 0; i--) /* each has become the start of the next */
        e->first[i] = e->first[i - 1];
    e->first[0] = 0;
}

static sup_result upload(sup_crowd *crowd, const entries *e, int32_t lane_count, sup_error *error)
{
    sup_gpu_morphs *to = &crowd->skin.morphs;
    size_t count = (size_t)e->first[lane_count];
    if (count == 0) return SUP_OK;
    to->weight_count = crowd->weight_count;
    to->first = sup_crowd_upload(crowd, e->first, (size_t)lane_count + 1, sizeof(int32_t), error);
    if (to->first != NULL) to->weight = sup_crowd_upload(crowd, e->weight, count, sizeof(int32_t), error);
    if (to->weight != NULL) to->offsets = sup_crowd_upload(crowd, e->offsets, count, 6 * sizeof(float), error);
    if (to->offsets != NULL)
        to->weights = sup_crowd_alloc(crowd, (size_t)crowd->count * (size_t)crowd->weight_count, sizeof(float), error);
    return to->weights != NULL ? SUP_OK : SUP_ERROR_MEMORY;
}

sup_result sup_crowd_open_morphs(sup_crowd *crowd, const int32_t *lanes, int32_t lane_count, sup_error *error)
{
    sup_skin_model skin = sup_skin_open(crowd->model);
    if (skin.morphs.count == 0 || lane_count == 0) return SUP_OK;
    size_t all = (size_t)skin.cluster_count * SUP_SKIN_CLUSTER;
    size_t capacity = (size_t)skin.morphs.first[(int64_t)skin.window_count * skin.morphs.count];
    sup_arena arena = sup_arena_create(&crowd->context.allocator);
    int32_t *lane_of = sup_arena_alloc(&arena, all, sizeof(int32_t));
    entries e = {.first = sup_arena_alloc(&arena, (size_t)lane_count + 1, sizeof(int32_t)),
                 .weight = sup_arena_alloc(&arena, capacity + 1, sizeof(int32_t)),
                 .offsets = sup_arena_alloc(&arena, capacity + 1, 6 * sizeof(float))};
    sup_result result = SUP_OK;
    if (lane_of == NULL || e.first == NULL || e.weight == NULL || e.offsets == NULL)
        result = sup_fail_memory(error, "the crowd's morph targets");
    for (size_t i = 0; result == SUP_OK && i < all; i++)
        lane_of[i] = -1;
    for (int32_t i = 0; result == SUP_OK && i < lane_count; i++)
        lane_of[lanes[i]] = i;
    if (result == SUP_OK) {
        sort_entries(&skin, lane_of, lane_count, &e);
        result = upload(crowd, &e, lane_count, error);
    }
    sup_arena_destroy(&arena);
    return result;
}

void sup_crowd_set_weights(sup_crowd *crowd, int32_t begin, int32_t end, const float *weights)
{
    size_t count = (size_t)crowd->weight_count;
    for (int32_t i = begin; count > 0 && i < end; i++)
        memcpy(crowd->morph_weights + (size_t)i * count, weights, count * sizeof(float));
    crowd->weights_changed = crowd->skin.morphs.weights != NULL;
}

int sup_crowd_send_weights(sup_crowd *crowd, void *stream)
{
    if (!crowd->weights_changed) return 0;
    crowd->weights_changed = false;
    /* All of them: those of clips are sampled again before they are used. */
    return sup_cuda_copy_async(crowd->skin.morphs.weights, crowd->morph_weights,
                               (size_t)crowd->count * (size_t)crowd->weight_count * sizeof(float), stream);
}
