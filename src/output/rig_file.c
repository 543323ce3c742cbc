/* rig_file.c - saves a rig as a GLB character: one skin over all joints, with the rig's weights.
 *
 * Vertices are in the bind pose in world space, on a new node, so one skin fits every primitive, independent of the
 * skins and nodes of the input. Morph targets are not written: they are in the mesh space of the input. */
#include "output/cache.h"

static sup_result check_rig(const sup_rig *rig, const char *path, sup_error *error)
{
    for (int32_t j = 0; j < rig->joint_count; j++)
        for (int32_t k = 0; k < j; k++)
            if (rig->joint_node[j] == rig->joint_node[k])
                return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.rig.twice", path,
                                "The skins of the input bind the joint %s with two different matrices, which one skin "
                                "cannot represent.",
                                rig->character->nodes[rig->joint_node[j]].name);
    return SUP_OK;
}

/* Triangles, with reversed orientation where the node of a primitive mirrored it: the new node does not mirror. */
static int32_t *copy_triangles(const sup_character *character, sup_arena *arena)
{
    int32_t *triangles =
        sup_arena_copy(arena, character->triangles, (size_t)character->triangle_count, 3 * sizeof *triangles);
    for (int32_t p = 0; triangles != NULL && p < character->primitive_count; p++) {
        const sup_primitive *primitive = &character->primitives[p];
        if (!sup_primitive_is_mirrored(character, primitive)) continue;
        for (int32_t t = primitive->triangle_first; t < primitive->triangle_first + primitive->triangle_count; t++) {
            int32_t *corner = triangles + 3 * (size_t)t, second = corner[1];
            corner[1] = corner[2];
            corner[2] = second;
        }
    }
    return triangles;
}

/* Channels of the skeleton only: morph weights are dropped because there are no morph targets. */
static sup_clip *copy_clips(const sup_character *character, sup_arena *arena)
{
    sup_clip *clips = sup_arena_copy(arena, character->clips, (size_t)character->clip_count, sizeof *clips);
    for (int32_t c = 0; clips != NULL && c < character->clip_count; c++) {
        sup_channel *channels =
            sup_arena_copy(arena, clips[c].channels, (size_t)clips[c].channel_count, sizeof *channels);
        int32_t count = 0;
        for (int32_t i = 0; channels != NULL && i < clips[c].channel_count; i++)
            if (channels[i].target != SUP_CHANNEL_MORPH) channels[count++] = channels[i];
        clips[c].channels = channels;
        clips[c].channel_count = count;
    }
    return clips;
}

/* Nodes of the character and two more: the node of the primitives, and a parent of all former roots, so that the joints
 * of several skeletons have a common root, as glTF requires. */
static sup_node *copy_nodes(const sup_character *character, sup_arena *arena)
{
    const sup_transform rest = {.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    int32_t count = character->node_count;
    sup_node *nodes = sup_arena_alloc(arena, (size_t)count + 2, sizeof *nodes);
    for (int32_t n = 0; nodes != NULL && n < count; n++) {
        nodes[n] = character->nodes[n];
        if (nodes[n].parent < 0) nodes[n].parent = count + 1;
    }
    if (nodes == NULL) return NULL;
    nodes[count] = (sup_node){.name = "skin", .parent = -1, .rest = rest};
    nodes[count + 1] = (sup_node){.name = "skeleton", .parent = -1, .rest = rest};
    return nodes;
}

/* Describes the rig as a character; allocates new arrays from `arena`. */
static bool describe(const sup_rig *rig, sup_arena *arena, sup_character *made)
{
    const sup_character *from = rig->character;
    sup_node *nodes = copy_nodes(from, arena);
    sup_primitive *primitives =
        sup_arena_copy(arena, from->primitives, (size_t)from->primitive_count, sizeof *primitives);
    sup_bone *bones = sup_arena_alloc(arena, (size_t)rig->joint_count, sizeof *bones);
    sup_skin *skin = sup_arena_alloc(arena, 1, sizeof *skin);
    int32_t *triangles = copy_triangles(from, arena);
    sup_clip *clips = copy_clips(from, arena);
    if (nodes == NULL || primitives == NULL || bones == NULL || skin == NULL ||
        (triangles == NULL && from->triangle_count > 0) || (clips == NULL && from->clip_count > 0))
        return false;
    for (int32_t j = 0; j < rig->joint_count; j++)
        bones[j] = (sup_bone){rig->joint_node[j], rig->joint_inverse_bind[j]};
    *skin = (sup_skin){"skin", 0, rig->joint_count};
    for (int32_t p = 0; p < from->primitive_count; p++) {
        primitives[p].node = from->node_count;
        primitives[p].skin = 0;
    }
    *made = (sup_character){.name = from->name,
                            .unit_metres = from->unit_metres,
                            .node_count = from->node_count + 2,
                            .nodes = nodes,
                            .bone_count = rig->joint_count,
                            .bones = bones,
                            .skin_count = 1,
                            .skins = skin,
                            .primitive_count = from->primitive_count,
                            .primitives = primitives,
                            .vertex_count = rig->vertex_count,
                            .positions = rig->positions,
                            .normals = rig->normals,
                            .tangents = rig->tangents,
                            .texcoords = from->texcoords,
                            .triangle_count = from->triangle_count,
                            .triangles = triangles,
                            .influence_first = rig->influence_first,
                            .influence_bone = rig->influence_joint,
                            .influence_weight = rig->influence_weight,
                            .clip_count = from->clip_count,
                            .clips = clips};
    return true;
}

sup_result sup_rig_save(const sup_context *context, const sup_rig *rig, const char *path, sup_error *error)
{
    if (rig == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_rig_save: rig and path must not be NULL.");
    sup_result result = check_rig(rig, path, error);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_character source, *made = NULL;
    result = describe(rig, &arena, &source) ? sup_character_create(context, &source, &made, error)
                                            : sup_fail_memory(error, "the rig");
    if (result == SUP_OK) result = sup_character_save(context, made, path, error);
    sup_character_destroy(made);
    sup_arena_destroy(&arena);
    return result;
}
