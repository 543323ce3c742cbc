/* pose.c - poses from clips: samples all channels, then computes world transforms from the roots. */
#include "pose/pose.h"

#include "character/character.h"

/* The pose with its allocator, in one allocation. */
typedef struct owned_pose {
    sup_pose pose; /* first member: the public pointer is the address of the allocation */
    sup_allocator allocator;
    size_t size;
} owned_pose;

sup_result sup_pose_create(const sup_context *context, const sup_character *character, sup_pose **pose,
                           sup_error *error)
{
    if (character == NULL || pose == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_pose_create needs a character and an output pointer for the pose.");
    sup_context resolved = sup_context_resolve(context);
    size_t world_at = (sizeof(owned_pose) + 63) / 64 * 64;
    size_t weights_at = world_at + (size_t)character->node_count * sizeof(sup_mat34);
    size_t size = weights_at + (size_t)character->morph_weight_count * sizeof(float);
    unsigned char *block = sup_alloc_zero(&resolved.allocator, size);
    if (block == NULL) return sup_fail_memory(error, "a pose");
    owned_pose *owned = (owned_pose *)(void *)block;
    owned->allocator = resolved.allocator;
    owned->size = size;
    owned->pose.node_count = character->node_count;
    owned->pose.world = (sup_mat34 *)(void *)(block + world_at);
    owned->pose.morph_weight_count = character->morph_weight_count;
    owned->pose.morph_weights = (float *)(void *)(block + weights_at);
    *pose = &owned->pose;
    return sup_pose_rest(character, *pose);
}

void sup_pose_destroy(sup_pose *pose)
{
    if (pose == NULL) return;
    owned_pose *owned = (owned_pose *)pose;
    sup_allocator allocator = owned->allocator;
    sup_free(&allocator, owned, owned->size);
}

static bool pose_fits(const sup_character *character, const sup_pose *pose)
{
    return character != NULL && pose != NULL && pose->node_count == character->node_count &&
           (pose->node_count == 0 || pose->world != NULL) &&
           pose->morph_weight_count == character->morph_weight_count &&
           (pose->morph_weight_count == 0 || pose->morph_weights != NULL);
}

/* world(node) = world(parent) local(node), parents first. */
static void set_world(const sup_character *character, int32_t node, sup_affine local, sup_pose *pose)
{
    int32_t parent = character->nodes[node].parent;
    if (parent >= 0) local = sup_affine_multiply(sup_affine_from_float(pose->world[parent]), local);
    pose->world[node] = sup_affine_to_float(local);
}

static void rest_morphs(const sup_character *character, sup_pose *pose)
{
    for (int32_t i = 0; i < character->morph_count; i++)
        pose->morph_weights[character->morphs[i].weight] = character->morphs[i].default_weight;
}

sup_result sup_pose_rest(const sup_character *character, sup_pose *pose)
{
    if (!pose_fits(character, pose)) return SUP_ERROR_ARGUMENT;
    for (int32_t i = 0; i < character->node_count; i++) {
        int32_t node = character->node_order[i];
        set_world(character, node, sup_affine_from_transform(character->nodes[node].rest), pose);
    }
    rest_morphs(character, pose);
    return SUP_OK;
}

sup_result sup_pose_from_local(const sup_character *character, const sup_transform *local, sup_pose *pose)
{
    if (!pose_fits(character, pose) || local == NULL) return SUP_ERROR_ARGUMENT;
    for (int32_t i = 0; i < character->node_count; i++) {
        int32_t node = character->node_order[i];
        set_world(character, node, sup_affine_from_transform(local[node]), pose);
    }
    return SUP_OK;
}

/* Before the pass over the nodes world[node] holds the sampled local transform, so that no scratch memory is needed.
 * A sup_transform (10 floats) fits into a sup_mat34 (12). */
static void store_local(sup_mat34 *slot, sup_transform local)
{
    memcpy(slot, &local, sizeof local);
}

static sup_transform load_local(const sup_mat34 *slot)
{
    sup_transform local;
    memcpy(&local, slot, sizeof local);
    return local;
}

static void apply_channel(const sup_channel *channel, double time, sup_pose *pose)
{
    float value[4];
    sup_channel_sample(channel, time, value);
    if (channel->target == SUP_CHANNEL_MORPH) {
        pose->morph_weights[channel->index] = value[0];
        return;
    }
    sup_transform local = load_local(&pose->world[channel->index]);
    if (channel->target == SUP_CHANNEL_TRANSLATION) local.translation = (sup_vec3){value[0], value[1], value[2]};
    if (channel->target == SUP_CHANNEL_ROTATION) local.rotation = (sup_quat){value[0], value[1], value[2], value[3]};
    if (channel->target == SUP_CHANNEL_SCALE) local.scale = (sup_vec3){value[0], value[1], value[2]};
    store_local(&pose->world[channel->index], local);
}

sup_result sup_pose_sample(const sup_character *character, const sup_clip *clip, double time, sup_pose *pose)
{
    if (!pose_fits(character, pose) || clip == NULL || !isfinite(time)) return SUP_ERROR_ARGUMENT;
    for (int32_t i = 0; i < character->node_count; i++)
        store_local(&pose->world[i], character->nodes[i].rest);
    rest_morphs(character, pose);
    for (int32_t i = 0; i < clip->channel_count; i++)
        apply_channel(&clip->channels[i], time, pose);
    for (int32_t i = 0; i < character->node_count; i++) {
        int32_t node = character->node_order[i];
        set_world(character, node, sup_affine_from_transform(load_local(&pose->world[node])), pose);
    }
    return SUP_OK;
}
