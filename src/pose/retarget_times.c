/* retarget_times.c - key times of a retargeted motion. */
#include "pose/retarget.h"

#include <stdlib.h>

/* Intervals between two keys of a cubic channel, which is sampled in between. */
enum { CUBIC_INTERVALS = 4 };

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool same_times(const sup_channel *a, const sup_channel *b)
{
    return a->key_count == b->key_count &&
           (a->times == b->times || memcmp(a->times, b->times, (size_t)a->key_count * sizeof *a->times) == 0);
}

/* Times of all node channels, unsorted; channels with the same times as the previous one are skipped. */
static int64_t gather_times(const sup_clip *clip, float *times)
{
    int64_t count = 0;
    const sup_channel *last = NULL;
    for (int32_t c = 0; c < clip->channel_count; c++) {
        const sup_channel *channel = &clip->channels[c];
        if (channel->target == SUP_CHANNEL_MORPH) continue;
        bool is_cubic = channel->interpolation == SUP_INTERPOLATE_CUBIC;
        if (last != NULL && same_times(last, channel) && (!is_cubic || last->interpolation == SUP_INTERPOLATE_CUBIC))
            continue;
        last = channel;
        for (int32_t k = 0; k < channel->key_count; k++) {
            int intervals = is_cubic && k + 1 < channel->key_count ? CUBIC_INTERVALS : 1;
            float start = channel->times[k],
                  step = intervals > 1 ? (channel->times[k + 1] - start) / CUBIC_INTERVALS : 0.0f;
            for (int i = 0; i < intervals; i++, count++)
                if (times != NULL) times[count] = start + (float)i * step;
        }
    }
    return count;
}

static int32_t sort_unique(float *times, int64_t count)
{
    qsort(times, (size_t)count, sizeof *times, compare_floats);
    int32_t unique = 0;
    for (int64_t i = 0; i < count; i++)
        if (unique == 0 || times[i] > times[unique - 1]) times[unique++] = times[i];
    return unique;
}

float *sup_retarget_times(sup_arena *arena, const sup_clip *clip, int32_t limit, int32_t *count)
{
    int64_t needed = gather_times(clip, NULL);
    *count = 0;
    if (needed > INT32_MAX) return NULL;
    float *times = sup_arena_alloc(arena, (size_t)needed, sizeof *times);
    if (times == NULL || needed == 0) return times;
    gather_times(clip, times);
    *count = sort_unique(times, needed);
    if (*count <= limit) return times;
    /* Too many different times: use uniform steps, so that the size of the result is proportional to the input. */
    double start = (double)times[0], end = (double)times[*count - 1];
    *count = limit;
    for (int32_t k = 0; k < limit; k++)
        times[k] = (float)(start + (end - start) * k / (limit > 1 ? limit - 1 : 1));
    return times;
}
