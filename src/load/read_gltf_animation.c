/* read_gltf_animation.c - reads animations as clips. Morph weight animations are split into one channel per target. */
#include "load/read_gltf.h"

typedef struct sampler {
    sup_gltf_accessor input, output;
    sup_interpolation interpolation;
    int32_t values_per_key; /* output elements per key, including tangents: 1 or 3 */
} sampler;

static sup_result open_sampler(sup_gltf *g, const sup_json *samplers, int32_t index, int32_t clip, sampler *s)
{
    const sup_json *object;
    sup_result result = sup_gltf_object(g, samplers, index, "sampler", &object);
    if (result == SUP_OK) result = sup_gltf_charge(g, (size_t)sup_json_count(object), sizeof(sup_json));
    if (result == SUP_OK) result = sup_gltf_open_member(g, object, "input", "animation", clip, &s->input);
    if (result == SUP_OK) result = sup_gltf_open_member(g, object, "output", "animation", clip, &s->output);
    if (result != SUP_OK) return result;
    const sup_json *name = sup_json_get(object, "interpolation");
    bool known = true;
    s->interpolation = SUP_INTERPOLATE_LINEAR;
    if (sup_json_equals(name, "STEP"))
        s->interpolation = SUP_INTERPOLATE_STEP;
    else if (sup_json_equals(name, "CUBICSPLINE"))
        s->interpolation = SUP_INTERPOLATE_CUBIC;
    else
        known = name == NULL || sup_json_equals(name, "LINEAR");
    s->values_per_key = s->interpolation == SUP_INTERPOLATE_CUBIC ? 3 : 1;
    if (!known || s->input.index < 0 || s->output.index < 0 || s->input.width != 1 ||
        s->input.component != SUP_GLTF_FLOAT)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.animation.sampler",
                             "Sampler %d of animation %d has no key times, no values or an unknown interpolation.",
                             index, clip);
    return SUP_OK;
}

static sup_result fail_count(sup_gltf *g, int32_t clip, int32_t node)
{
    return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.animation.count",
                         "Animation %d has different numbers of keys and values for node %d.", clip, node);
}

static sup_result add_transform(sup_gltf *g, sampler *s, sup_channel_target target, int32_t clip, int32_t node,
                                sup_channel *channel)
{
    int32_t width = target == SUP_CHANNEL_ROTATION ? 4 : 3;
    if (s->output.width != width || s->output.count < (int64_t)s->input.count * s->values_per_key)
        return fail_count(g, clip, node);
    *channel = (sup_channel){target, node, s->interpolation, s->input.count, NULL, NULL};
    channel->times = sup_gltf_shared_floats(g, &s->input);
    channel->values = sup_gltf_shared_floats(g, &s->output);
    return channel->times != NULL && channel->values != NULL ? SUP_OK : g->error->result;
}

/* Key k of the file has one value per target (cubic: in-tangents, values, out-tangents); a channel gets one column. */
static sup_result add_weights(sup_gltf *g, sampler *s, int32_t clip, int32_t node, sup_channel *channels)
{
    int32_t targets = g->nodes[node].morph_count;
    size_t rows = (size_t)s->input.count * (size_t)s->values_per_key;
    if (s->output.width != 1 || (size_t)s->output.count < rows * (size_t)targets) return fail_count(g, clip, node);
    const float *times = sup_gltf_shared_floats(g, &s->input), *values = sup_gltf_shared_floats(g, &s->output);
    if (times == NULL || values == NULL) return g->error->result;
    for (int32_t t = 0; t < targets; t++) {
        float *column = sup_gltf_alloc(g, g->arena, rows, sizeof *column);
        if (column == NULL) return g->error->result;
        for (size_t row = 0; row < rows; row++)
            column[row] = values[row * (size_t)targets + (size_t)t];
        channels[t] = (sup_channel){
            SUP_CHANNEL_MORPH, g->nodes[node].morph_first + t, s->interpolation, s->input.count, times, column};
    }
    return SUP_OK;
}

/* The target of a channel: its node and kind. *count is the number of sup_channels it becomes: 0 for an unsupported
 * target (no node, an animation pointer, an unknown path). */
static sup_result find_target(sup_gltf *g, const sup_json *channel, int32_t clip, int32_t *node,
                              sup_channel_target *kind, int32_t *count)
{
    static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
    const sup_json *target = sup_json_get(channel, "target"), *path = sup_json_get(target, "path");
    *count = 0;
    sup_result result = sup_gltf_index(g, target, "node", "node", g->character->node_count, "animation", clip, node);
    if (result != SUP_OK || *node < 0) return result;
    for (int32_t i = 0; i < SUP_COUNT(paths); i++) {
        if (!sup_json_equals(path, paths[i])) continue;
        *kind = (sup_channel_target)i;
        *count = *kind == SUP_CHANNEL_MORPH ? g->nodes[*node].morph_count : 1;
    }
    return SUP_OK;
}

static sup_result read_channel(sup_gltf *g, const sup_json *channel, const sup_json *samplers, int32_t clip,
                               sup_channel *channels, int32_t *filled)
{
    int32_t node, count, index;
    sup_channel_target kind = SUP_CHANNEL_TRANSLATION;
    sampler s;
    sup_result result = find_target(g, channel, clip, &node, &kind, &count);
    if (result != SUP_OK || count == 0) return result;
    result = sup_gltf_index(g, channel, "sampler", "sampler", sup_json_count(samplers), "animation", clip, &index);
    if (result == SUP_OK) result = open_sampler(g, samplers, index, clip, &s);
    if (result != SUP_OK) return result;
    sup_channel *slot = channels + *filled;
    *filled += count;
    return kind == SUP_CHANNEL_MORPH ? add_weights(g, &s, clip, node, slot)
                                     : add_transform(g, &s, kind, clip, node, slot);
}

static sup_result read_clip(sup_gltf *g, const sup_json *animation, int32_t number, sup_clip *clip)
{
    const sup_json *list, *samplers, *object;
    sup_result result = sup_gltf_list(g, animation, "channels", &list);
    if (result == SUP_OK) result = sup_gltf_list(g, animation, "samplers", &samplers);
    if (result != SUP_OK) return result;
    clip->name = sup_gltf_name(g, sup_json_get(animation, "name"));
    if (clip->name == NULL) return g->error->result;
    size_t total = 0;
    for (int32_t i = 0; i < sup_json_count(list); i++) {
        int32_t node, count;
        sup_channel_target kind;
        result = sup_gltf_object(g, list, i, "channel", &object);
        if (result == SUP_OK) result = find_target(g, object, number, &node, &kind, &count);
        if (result != SUP_OK) return result;
        total += (size_t)count;
    }
    if (total > INT32_MAX / 16)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.animation.large", "Animation %d has too many channels.",
                             number);
    sup_channel *channels = sup_gltf_alloc(g, g->arena, total, sizeof *channels);
    if (channels == NULL) return g->error->result;
    int32_t filled = 0;
    for (int32_t i = 0; i < sup_json_count(list) && result == SUP_OK; i++)
        result = read_channel(g, sup_json_at(list, i), samplers, number, channels, &filled);
    clip->channels = channels;
    clip->channel_count = filled;
    return result;
}

sup_result sup_gltf_read_animations(sup_gltf *g)
{
    const sup_json *list, *object;
    sup_result result = sup_gltf_list(g, g->root, "animations", &list);
    if (result != SUP_OK) return result;
    int32_t count = sup_json_count(list);
    sup_clip *clips = sup_gltf_alloc(g, g->arena, (size_t)count, sizeof *clips);
    if (clips == NULL) return g->error->result;
    for (int32_t i = 0; i < count && result == SUP_OK; i++) {
        result = sup_gltf_object(g, list, i, "animation", &object);
        if (result == SUP_OK) result = read_clip(g, object, i, &clips[i]);
    }
    g->character->clips = clips;
    g->character->clip_count = count;
    return result;
}
