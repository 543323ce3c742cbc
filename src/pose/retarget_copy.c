/* retarget_copy.c - copies the motion if source and target have the same skeleton. */
#include "pose/retarget.h"

#include "character/character.h"

static bool near(sup_vec3 a, sup_vec3 b, float tolerance)
{
    return fabsf(a.x - b.x) <= tolerance && fabsf(a.y - b.y) <= tolerance && fabsf(a.z - b.z) <= tolerance;
}

static float longest_translation(const sup_character *character)
{
    float longest = 0.0f;
    for (int32_t i = 0; i < character->node_count; i++) {
        sup_vec3 t = character->nodes[i].rest.translation;
        longest = fmaxf(longest, fmaxf(fabsf(t.x), fmaxf(fabsf(t.y), fabsf(t.z))));
    }
    return longest;
}

static bool same_node(const sup_node *a, const sup_node *b, float tolerance)
{
    sup_quat p = a->rest.rotation, q = b->rest.rotation;
    float dot = fabsf(p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w);
    return a->parent == b->parent && sup_text_equal(a->name, b->name) &&
           near(a->rest.translation, b->rest.translation, tolerance) && near(a->rest.scale, b->rest.scale, 1e-5f) &&
           dot > 1.0f - 1e-6f;
}

bool sup_retarget_fits(const sup_character *source, const sup_clip *clip, const sup_character *target,
                       const sup_retarget_def *def)
{
    if (def->map != NULL || !def->keep_root_motion) return false;
    float tolerance = 1e-5f * longest_translation(source);
    bool has_joints = false;
    for (int32_t i = 0; i < source->node_count; i++) {
        if (!source->nodes[i].is_joint) continue;
        has_joints = true;
        if (i >= target->node_count || !same_node(&source->nodes[i], &target->nodes[i], tolerance)) return false;
    }
    for (int32_t c = 0; c < clip->channel_count; c++) {
        int32_t node = clip->channels[c].index;
        if (clip->channels[c].target == SUP_CHANNEL_MORPH) continue;
        if (node >= target->node_count || !same_node(&source->nodes[node], &target->nodes[node], tolerance))
            return false;
    }
    return has_joints && clip->channel_count > 0;
}

static bool copy_channel(sup_arena *arena, const sup_channel *from, sup_channel *to)
{
    size_t keys = (size_t)from->key_count, width = from->target == SUP_CHANNEL_ROTATION ? 4 : 3;
    if (from->interpolation == SUP_INTERPOLATE_CUBIC) width *= 3;
    *to = *from;
    to->times = sup_arena_copy(arena, from->times, keys, sizeof(float));
    to->values = sup_arena_copy(arena, from->values, keys * width, sizeof(float));
    return to->times != NULL && to->values != NULL;
}

sup_result sup_retarget_copy(const sup_context *context, const sup_character *source, const sup_clip *clip,
                             const sup_character *target, sup_clip **result, sup_error *error)
{
    sup_arena *arena;
    sup_clip *created = sup_clip_begin(context, &arena);
    if (created == NULL) return sup_fail_memory(error, "the motion");
    sup_channel *channels = sup_arena_alloc(arena, (size_t)clip->channel_count, sizeof *channels);
    created->name = sup_arena_string(arena, clip->name[0] != '\0' ? clip->name : source->name);
    bool ok = channels != NULL && created->name != NULL;
    for (int32_t c = 0; ok && c < clip->channel_count; c++)
        if (clip->channels[c].target != SUP_CHANNEL_MORPH)
            ok = copy_channel(arena, &clip->channels[c], &channels[created->channel_count++]);
    created->channels = channels;
    sup_result finished =
        ok ? sup_clip_finish(created, target, target->name, error) : sup_fail_memory(error, "the motion");
    if (finished == SUP_OK)
        *result = created;
    else
        sup_clip_destroy(created);
    return finished;
}
