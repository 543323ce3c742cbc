/* character.c - the character object: memory, validation that every later stage relies on, look-ups. */
#include "character/character.h"

#include "math/affine.h"

sup_character *sup_character_begin(const sup_context *context)
{
    sup_context resolved = sup_context_resolve(context);
    sup_character *character = sup_alloc_zero(&resolved.allocator, sizeof *character);
    struct sup_character_storage *storage = sup_alloc_zero(&resolved.allocator, sizeof *storage);
    if (character == NULL || storage == NULL) {
        sup_free(&resolved.allocator, character, sizeof *character);
        sup_free(&resolved.allocator, storage, sizeof *storage);
        return NULL;
    }
    storage->context = resolved;
    storage->arena = sup_arena_create(&resolved.allocator);
    character->storage = storage;
    return character;
}

sup_arena *sup_character_arena(sup_character *character)
{
    return &character->storage->arena;
}

void sup_character_destroy(sup_character *character)
{
    if (character == NULL) return;
    struct sup_character_storage *storage = character->storage;
    sup_allocator allocator = storage->context.allocator;
    sup_arena_destroy(&storage->arena);
    sup_free(&allocator, storage, sizeof *storage);
    sup_free(&allocator, character, sizeof *character);
}

static bool in_range(int64_t first, int64_t count, int64_t limit)
{
    return first >= 0 && count >= 0 && first <= limit && count <= limit - first;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool transform_finite(sup_transform t)
{
    float values[10] = {t.translation.x, t.translation.y, t.translation.z, t.rotation.x, t.rotation.y,
                        t.rotation.z,    t.rotation.w,    t.scale.x,       t.scale.y,    t.scale.z};
    return all_finite(values, 10);
}

/* Breadth first from the roots: parents come before children; nodes on a cycle are not reached. */
static sup_result order_nodes(sup_character *character, const char *where, sup_error *error)
{
    int32_t count = character->node_count;
    sup_arena *arena = sup_character_arena(character);
    int32_t *order = sup_arena_alloc(arena, (size_t)count, sizeof *order);
    int32_t *first_child = sup_arena_alloc(arena, (size_t)count, sizeof *first_child);
    int32_t *next_sibling = sup_arena_alloc(arena, (size_t)count, sizeof *next_sibling);
    if (order == NULL || first_child == NULL || next_sibling == NULL) return sup_fail_memory(error, "the nodes");
    for (int32_t i = 0; i < count; i++)
        first_child[i] = next_sibling[i] = -1;
    for (int32_t i = count - 1; i >= 0; i--) {
        int32_t parent = character->nodes[i].parent;
        if (parent < 0) continue;
        next_sibling[i] = first_child[parent];
        first_child[parent] = i;
    }
    int32_t filled = 0;
    for (int32_t i = 0; i < count; i++)
        if (character->nodes[i].parent < 0) order[filled++] = i;
    for (int32_t done = 0; done < filled; done++)
        for (int32_t child = first_child[order[done]]; child >= 0; child = next_sibling[child])
            order[filled++] = child;
    if (filled != count)
        return sup_fail(error, SUP_ERROR_FORMAT, "character.node.cycle", where,
                        "The node hierarchy has a cycle: %d of %d nodes have no root.", count - filled, count);
    character->node_order = order;
    return SUP_OK;
}

static sup_result finish_nodes(sup_character *character, const char *where, sup_error *error)
{
    if (character->node_count < 0 || (character->node_count > 0 && character->nodes == NULL))
        return sup_fail(error, SUP_ERROR_FORMAT, "character.node.count", where, "The nodes are missing.");
    for (int32_t i = 0; i < character->node_count; i++) {
        sup_node *node = (sup_node *)&character->nodes[i];
        if (node->name == NULL) node->name = "";
        if (node->parent < -1 || node->parent >= character->node_count)
            return sup_fail(error, SUP_ERROR_FORMAT, "character.node.parent", where,
                            "Node %d refers to parent %d, which does not exist.", i, node->parent);
        if (!transform_finite(node->rest))
            return sup_fail(error, SUP_ERROR_FORMAT, "character.node.nonfinite", where,
                            "The transform of node %d (%s) has a non-finite number.", i, node->name);
    }
    return order_nodes(character, where, error);
}

static sup_result finish_bones(sup_character *character, const char *where, sup_error *error)
{
    for (int32_t i = 0; i < character->bone_count; i++) {
        const sup_bone *bone = &character->bones[i];
        if (bone->node < 0 || bone->node >= character->node_count)
            return sup_fail(error, SUP_ERROR_FORMAT, "character.bone.node", where,
                            "Bone %d refers to node %d, which does not exist.", i, bone->node);
        ((sup_node *)&character->nodes[bone->node])->is_joint = true;
    }
    for (int32_t i = 0; i < character->skin_count; i++) {
        sup_skin *skin = (sup_skin *)&character->skins[i];
        if (skin->name == NULL) skin->name = "";
        if (!in_range(skin->bone_first, skin->bone_count, character->bone_count))
            return sup_fail(error, SUP_ERROR_FORMAT, "character.skin.range", where,
                            "Skin %d refers to bones that do not exist.", i);
    }
    return SUP_OK;
}

static sup_result finish_primitives(sup_character *character, const char *where, sup_error *error)
{
    int32_t vertex = 0, triangle = 0;
    for (int32_t i = 0; i < character->primitive_count; i++) {
        sup_primitive *primitive = (sup_primitive *)&character->primitives[i];
        if (primitive->name == NULL) primitive->name = "";
        bool ok = primitive->node >= 0 && primitive->node < character->node_count && primitive->skin >= -1 &&
                  primitive->skin < character->skin_count && primitive->vertex_first == vertex &&
                  primitive->triangle_first == triangle &&
                  in_range(vertex, primitive->vertex_count, character->vertex_count) &&
                  in_range(triangle, primitive->triangle_count, character->triangle_count);
        if (!ok)
            return sup_fail(error, SUP_ERROR_FORMAT, "character.primitive.range", where,
                            "Primitive %d (%s) refers to a node, skin, vertex or triangle that does not exist.", i,
                            primitive->name);
        vertex += primitive->vertex_count;
        triangle += primitive->triangle_count;
        for (int32_t k = primitive->triangle_first * 3; k < triangle * 3; k++)
            if (character->triangles[k] < primitive->vertex_first || character->triangles[k] >= vertex)
                return sup_fail(error, SUP_ERROR_FORMAT, "character.triangle.range", where,
                                "Triangle %d of primitive %d (%s) refers to a vertex outside the primitive.",
                                k / 3 - primitive->triangle_first, i, primitive->name);
    }
    if (vertex != character->vertex_count || triangle != character->triangle_count)
        return sup_fail(error, SUP_ERROR_FORMAT, "character.primitive.count", where,
                        "The primitives do not cover all vertices and triangles.");
    if (character->vertex_count > 0 && character->positions == NULL)
        return sup_fail(error, SUP_ERROR_FORMAT, "character.positions", where, "The vertices have no positions.");
    return SUP_OK;
}

static sup_result finish_layers(const sup_character *character, const char *where, sup_error *error)
{
    const float *layers[2] = {character->muscle_positions, character->bone_positions};
    for (int32_t i = 0; i < 2; i++)
        if (layers[i] != NULL && !all_finite(layers[i], (size_t)character->vertex_count * 3))
            return sup_fail(error, SUP_ERROR_FORMAT, "character.layer.nonfinite", where,
                            "The %s surface under the skin has a non-finite coordinate.", i == 0 ? "muscle" : "bone");
    for (int32_t v = 0; character->bone_attachments != NULL && v < character->vertex_count; v++)
        if (character->bone_attachments[v] < -1 || character->bone_attachments[v] >= character->bone_count)
            return sup_fail(error, SUP_ERROR_FORMAT, "character.layer.holder", where,
                            "The bone surface at vertex %d is attached to bone %d, which does not exist.", v,
                            character->bone_attachments[v]);
    return SUP_OK;
}

static sup_result finish_influences(sup_character *character, const char *where, sup_error *error)
{
    if (character->influence_first == NULL) {
        character->influence_first =
            sup_arena_alloc(sup_character_arena(character), (size_t)character->vertex_count + 1, sizeof(int32_t));
        return character->influence_first != NULL ? SUP_OK : sup_fail_memory(error, "the influences");
    }
    const int32_t *first = character->influence_first;
    bool ok = first[0] == 0;
    for (int32_t v = 0; ok && v < character->vertex_count; v++)
        ok = first[v + 1] >= first[v];
    for (int32_t k = 0; ok && k < first[character->vertex_count]; k++)
        ok = character->influence_bone[k] >= 0 && character->influence_bone[k] < character->bone_count;
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "character.influence.range", where,
                         "An influence refers to a bone that does not exist, or the influence offsets decrease.");
}

static sup_result finish_morphs(sup_character *character, const char *where, sup_error *error)
{
    for (int32_t i = 0; i < character->morph_count; i++) {
        sup_morph *morph = (sup_morph *)&character->morphs[i];
        if (morph->name == NULL) morph->name = "";
        bool ok = morph->primitive >= 0 && morph->primitive < character->primitive_count && morph->weight >= 0 &&
                  morph->weight < character->morph_weight_count && isfinite(morph->default_weight);
        size_t count = ok ? (size_t)character->primitives[morph->primitive].vertex_count * 3 : 0;
        if (ok && morph->positions != NULL) ok = all_finite(morph->positions, count);
        if (ok && morph->normals != NULL) ok = all_finite(morph->normals, count);
        if (!ok)
            return sup_fail(
                error, SUP_ERROR_FORMAT, "character.morph", where,
                "Morph target %d (%s) refers to a primitive or weight that does not exist, or has a non-finite number.",
                i, morph->name);
    }
    return SUP_OK;
}

static int32_t channel_width(sup_channel_target target)
{
    return target == SUP_CHANNEL_MORPH ? 1 : target == SUP_CHANNEL_ROTATION ? 4 : 3;
}

static sup_result check_channel(const sup_channel *channel, const sup_character *character, const char *where,
                                const char *clip, sup_error *error)
{
    int32_t limit = channel->target == SUP_CHANNEL_MORPH ? character->morph_weight_count : character->node_count;
    if (channel->index < 0 || channel->index >= limit)
        return sup_fail(error, SUP_ERROR_FORMAT, "character.clip.target", where,
                        "Clip \"%s\" animates a node or morph weight that does not exist.", clip);
    if (channel->key_count < 1)
        return sup_fail(error, SUP_ERROR_FORMAT, "character.clip.empty", where,
                        "Clip \"%s\" has a channel without keys.", clip);
    size_t values = (size_t)channel->key_count * (size_t)channel_width(channel->target);
    if (channel->interpolation == SUP_INTERPOLATE_CUBIC) values *= 3;
    if (!all_finite(channel->times, (size_t)channel->key_count) || !all_finite(channel->values, values))
        return sup_fail(error, SUP_ERROR_FORMAT, "character.clip.nonfinite", where,
                        "Clip \"%s\" has a key with a non-finite time or value.", clip);
    for (int32_t k = 1; k < channel->key_count; k++)
        if (channel->times[k] < channel->times[k - 1])
            return sup_fail(error, SUP_ERROR_FORMAT, "character.clip.order", where,
                            "Clip \"%s\" has keys with decreasing times.", clip);
    return SUP_OK;
}

sup_result sup_clip_finish(sup_clip *clip, const sup_character *character, const char *where, sup_error *error)
{
    if (clip->name == NULL) clip->name = "";
    clip->start = clip->end = 0.0f;
    for (int32_t i = 0; i < clip->channel_count; i++) {
        const sup_channel *channel = &clip->channels[i];
        sup_result result = check_channel(channel, character, where, clip->name, error);
        if (result != SUP_OK) return result;
        float start = channel->times[0], end = channel->times[channel->key_count - 1];
        if (i == 0 || start < clip->start) clip->start = start;
        if (i == 0 || end > clip->end) clip->end = end;
    }
    return SUP_OK;
}

sup_result sup_character_finish(sup_character *character, const char *where, sup_error *error)
{
    if (where == NULL) where = "";
    if (character->name == NULL) character->name = "";
    sup_result result = finish_nodes(character, where, error);
    if (result == SUP_OK) result = finish_bones(character, where, error);
    if (result == SUP_OK) result = finish_primitives(character, where, error);
    if (result == SUP_OK) result = finish_layers(character, where, error);
    if (result == SUP_OK) result = finish_influences(character, where, error);
    if (result == SUP_OK) result = finish_morphs(character, where, error);
    for (int32_t i = 0; result == SUP_OK && i < character->clip_count; i++)
        result = sup_clip_finish((sup_clip *)&character->clips[i], character, where, error);
    return result;
}

int32_t sup_character_find_node(const sup_character *character, const char *name)
{
    for (int32_t i = 0; i < character->node_count; i++)
        if (sup_text_equal(character->nodes[i].name, name)) return i;
    return -1;
}

int32_t sup_character_find_clip(const sup_character *character, const char *name)
{
    for (int32_t i = 0; i < character->clip_count; i++)
        if (sup_text_equal(character->clips[i].name, name)) return i;
    return -1;
}
