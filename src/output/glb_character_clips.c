/* glb_character_clips.c - clips as glTF animations: one channel per node and property, and one for all morph weights of
 * a mesh. */
#include "output/glb_character.h"

#include "pose/pose.h"

#include <math.h>
#include <stdlib.h>

/* Keys of the output: strictly increasing times, none before 0. */
typedef struct key_list {
    int32_t count;
    float *times; /* [count] */
} key_list;

typedef struct clip_writer {
    sup_glb_character *writer;
    const sup_clip *clip;
    sup_json *animation; /* NULL until the first channel */
    key_list last;       /* keys written last: most channels share their times */
    int32_t last_accessor;
} clip_writer;

static void *allocate(clip_writer *w, size_t count, size_t size)
{
    void *memory = sup_arena_alloc(&w->writer->layout.arena, count, size);
    if (memory == NULL) w->writer->layout.tree.failed = true;
    return memory;
}

/* Keys at the same time (discontinuities) are moved apart by the smallest float step. */
static bool list_keys(clip_writer *w, const sup_channel *channel, key_list *list)
{
    double shift = w->clip->start < 0.0f ? -(double)w->clip->start : 0.0;
    list->times = allocate(w, (size_t)channel->key_count, sizeof *list->times);
    if (list->times == NULL) return false;
    list->count = channel->key_count;
    for (int32_t k = 0; k < channel->key_count; k++) {
        float time = (float)((double)channel->times[k] + shift);
        if (k > 0 && time <= list->times[k - 1]) time = nextafterf(list->times[k - 1], INFINITY);
        list->times[k] = time;
    }
    return true;
}

static int32_t time_accessor(clip_writer *w, const key_list *list)
{
    bool same = w->last.times != NULL && w->last.count == list->count &&
                memcmp(w->last.times, list->times, (size_t)list->count * sizeof(float)) == 0;
    if (!same) {
        w->last = *list;
        w->last_accessor = sup_glb_add_floats(&w->writer->layout, list->times, list->count, 1, 0, true);
    }
    return w->last_accessor;
}

static void add_channel(clip_writer *w, const key_list *list, sup_interpolation interpolation, int32_t output,
                        int32_t node, const char *path)
{
    static const char *const names[] = {"STEP", "LINEAR", "CUBICSPLINE"};
    sup_json_tree *tree = &w->writer->layout.tree;
    if (w->animation == NULL) {
        sup_json *animations = sup_json_get_or_add(tree, tree->root, "animations", SUP_JSON_ARRAY);
        w->animation = sup_json_append(tree, animations, sup_json_new_object(tree));
        if (w->clip->name[0] != '\0') sup_glb_set_text(tree, w->animation, "name", w->clip->name);
    }
    sup_json *samplers = sup_json_get_or_add(tree, w->animation, "samplers", SUP_JSON_ARRAY);
    sup_json *channels = sup_json_get_or_add(tree, w->animation, "channels", SUP_JSON_ARRAY);
    sup_json *channel = sup_json_append(tree, channels, sup_json_new_object(tree));
    sup_glb_set_integer(tree, channel, "sampler", sup_json_count(samplers));
    sup_json *target = sup_json_get_or_add(tree, channel, "target", SUP_JSON_OBJECT);
    sup_glb_set_integer(tree, target, "node", node);
    sup_glb_set_text(tree, target, "path", path);
    sup_json *sampler = sup_json_append(tree, samplers, sup_json_new_object(tree));
    sup_glb_set_integer(tree, sampler, "input", time_accessor(w, list));
    sup_glb_set_integer(tree, sampler, "output", output);
    sup_glb_set_text(tree, sampler, "interpolation", names[interpolation]);
}

/* Normalises a rotation, as glTF requires. */
static void unit_rotation(float *q)
{
    double length = 0.0;
    for (int i = 0; i < 4; i++)
        length += (double)q[i] * (double)q[i];
    length = sqrt(length);
    if (fabs(length - 1.0) < 1e-6) return;
    for (int i = 0; i < 4; i++)
        q[i] = length > 0.0 ? (float)((double)q[i] / length) : (i == 3 ? 1.0f : 0.0f);
}

static void add_transform(clip_writer *w, const sup_channel *channel)
{
    static const char *const paths[] = {"translation", "rotation", "scale"};
    size_t width = channel->target == SUP_CHANNEL_ROTATION ? 4 : 3;
    size_t values_per_key = channel->interpolation == SUP_INTERPOLATE_CUBIC ? 3 : 1;
    key_list list;
    if (!list_keys(w, channel, &list)) return;
    float *values = allocate(w, (size_t)list.count * values_per_key * width, sizeof *values);
    if (values == NULL) return;
    memcpy(values, channel->values, (size_t)list.count * values_per_key * width * sizeof *values);
    for (size_t k = 0; channel->target == SUP_CHANNEL_ROTATION && k < (size_t)list.count; k++)
        unit_rotation(values + k * values_per_key * width + (values_per_key == 3 ? width : 0));
    int64_t count = (int64_t)list.count * (int64_t)values_per_key;
    int32_t output = sup_glb_add_floats(&w->writer->layout, values, count, (int32_t)width, 0, false);
    add_channel(w, &list, channel->interpolation, output, channel->index, paths[channel->target]);
}

/* --- Morph weights: glTF stores those of a mesh in one channel --- */

static const sup_channel *find_channel(const sup_clip *clip, int32_t slot)
{
    for (int32_t c = 0; c < clip->channel_count; c++)
        if (clip->channels[c].target == SUP_CHANNEL_MORPH && clip->channels[c].index == slot) return &clip->channels[c];
    return NULL;
}

static bool same_keys(const sup_channel *a, const sup_channel *b)
{
    return a->interpolation == b->interpolation && a->key_count == b->key_count &&
           memcmp(a->times, b->times, (size_t)a->key_count * sizeof *a->times) == 0;
}

/* Interleaves the channels of a mesh, which share their keys; weights without a channel keep their default. */
static void add_aligned(clip_writer *w, const sup_glb_node_mesh *node_mesh, const sup_channel **channels,
                        const sup_channel *first)
{
    size_t values_per_key = first->interpolation == SUP_INTERPOLATE_CUBIC ? 3 : 1,
           targets = (size_t)node_mesh->slot_count;
    key_list list;
    if (!list_keys(w, first, &list)) return;
    float *values = allocate(w, (size_t)list.count * values_per_key * targets, sizeof *values);
    if (values == NULL) return;
    for (int32_t k = 0; k < list.count; k++)
        for (size_t r = 0; r < values_per_key; r++)
            for (size_t t = 0; t < targets; t++) {
                float constant = values_per_key == 1 || r == 1 ? w->writer->defaults[node_mesh->slots[t]] : 0.0f;
                values[((size_t)k * values_per_key + r) * targets + t] =
                    channels[t] != NULL ? channels[t]->values[(size_t)k * values_per_key + r] : constant;
            }
    int64_t count = (int64_t)list.count * (int64_t)values_per_key * (int64_t)targets;
    int32_t output = sup_glb_add_floats(&w->writer->layout, values, count, 1, 0, false);
    add_channel(w, &list, first->interpolation, output, node_mesh->node, "weights");
}

static int compare_times(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Channels with different key times: samples all channels at the union of their times, with linear interpolation. Cubic
 * segments become chords, steps become ramps to the next key time. */
static void add_sampled(clip_writer *w, const sup_glb_node_mesh *node_mesh, const sup_channel **channels)
{
    size_t targets = (size_t)node_mesh->slot_count, total = 0;
    for (size_t t = 0; t < targets; t++)
        total += channels[t] != NULL ? (size_t)channels[t]->key_count : 0;
    if (total > INT32_MAX) total = INT32_MAX;
    float *times = allocate(w, total, sizeof *times);
    if (times == NULL) return;
    size_t filled = 0;
    for (size_t t = 0; t < targets; t++)
        for (int32_t k = 0; channels[t] != NULL && k < channels[t]->key_count && filled < total; k++)
            times[filled++] = channels[t]->times[k];
    qsort(times, filled, sizeof *times, compare_times);
    size_t unique_count = 0;
    for (size_t i = 0; i < filled; i++)
        if (unique_count == 0 || times[i] != times[unique_count - 1]) times[unique_count++] = times[i];
    const sup_channel all = {SUP_CHANNEL_MORPH, 0, SUP_INTERPOLATE_LINEAR, (int32_t)unique_count, times, NULL};
    key_list list;
    if (!list_keys(w, &all, &list)) return;
    float *values = allocate(w, (size_t)list.count * targets, sizeof *values);
    if (values == NULL) return;
    for (int32_t k = 0; k < list.count; k++)
        for (size_t t = 0; t < targets; t++) {
            float value[4] = {w->writer->defaults[node_mesh->slots[t]], 0.0f, 0.0f, 0.0f};
            if (channels[t] != NULL) sup_channel_sample(channels[t], (double)times[k], value);
            values[(size_t)k * targets + t] = value[0];
        }
    int32_t output =
        sup_glb_add_floats(&w->writer->layout, values, (int64_t)list.count * (int64_t)targets, 1, 0, false);
    add_channel(w, &list, SUP_INTERPOLATE_LINEAR, output, node_mesh->node, "weights");
}

static void add_weights(clip_writer *w, const sup_glb_node_mesh *node_mesh)
{
    const sup_channel **channels = allocate(w, (size_t)node_mesh->slot_count, sizeof(*channels)), *first = NULL;
    bool aligned = true;
    for (int32_t t = 0; channels != NULL && t < node_mesh->slot_count; t++) {
        channels[t] = find_channel(w->clip, node_mesh->slots[t]);
        if (channels[t] == NULL) continue;
        if (first == NULL) first = channels[t];
        aligned = aligned && same_keys(first, channels[t]);
    }
    if (first == NULL) return;
    if (aligned)
        add_aligned(w, node_mesh, channels, first);
    else
        add_sampled(w, node_mesh, channels);
}

sup_result sup_glb_add_clips(sup_glb_character *writer, sup_error *error)
{
    const sup_character *character = writer->layout.character;
    for (int32_t i = 0; i < character->clip_count; i++) {
        clip_writer w = {.writer = writer, .clip = &character->clips[i]};
        bool morphs = false;
        for (int32_t c = 0; c < w.clip->channel_count; c++) {
            if (w.clip->channels[c].target != SUP_CHANNEL_MORPH)
                add_transform(&w, &w.clip->channels[c]);
            else
                morphs = true;
        }
        for (int32_t g = 0; morphs && g < writer->node_mesh_count; g++)
            add_weights(&w, &writer->node_meshes[g]);
    }
    return writer->layout.tree.failed ? sup_fail_memory(error, "the clips") : SUP_OK;
}
