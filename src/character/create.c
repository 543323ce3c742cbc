/* create.c - creates a character from the caller's arrays, or from a mesh and a skeleton. */
#include "character/character.h"

#include "math/affine.h"

/* Copies `count` items into the character's arena; sets *failed when out of memory. */
static void *copy(sup_arena *arena, const void *source, int64_t count, size_t size, bool *failed)
{
    if (source == NULL || count < 0) return NULL;
    void *memory = sup_arena_copy(arena, source, (size_t)count, size);
    if (memory == NULL) *failed = true;
    return memory;
}

static const char *copy_name(sup_arena *arena, const char *name, bool *failed)
{
    const char *text = sup_arena_string(arena, name);
    if (text == NULL) *failed = true;
    return text;
}

static void copy_mesh(sup_character *to, const sup_character *from, bool *failed)
{
    sup_arena *arena = sup_character_arena(to);
    int64_t vertices = from->vertex_count;
    to->primitive_count = from->primitive_count;
    sup_primitive *primitives = copy(arena, from->primitives, from->primitive_count, sizeof *primitives, failed);
    for (int32_t i = 0; primitives != NULL && i < to->primitive_count; i++)
        primitives[i].name = copy_name(arena, primitives[i].name, failed);
    to->primitives = primitives;
    to->vertex_count = from->vertex_count;
    to->positions = copy(arena, from->positions, vertices * 3, sizeof(float), failed);
    to->normals = copy(arena, from->normals, vertices * 3, sizeof(float), failed);
    to->tangents = copy(arena, from->tangents, vertices * 4, sizeof(float), failed);
    to->texcoords = copy(arena, from->texcoords, vertices * 2, sizeof(float), failed);
    to->muscle_positions = copy(arena, from->muscle_positions, vertices * 3, sizeof(float), failed);
    to->bone_positions = copy(arena, from->bone_positions, vertices * 3, sizeof(float), failed);
    to->triangle_count = from->triangle_count;
    to->triangles = copy(arena, from->triangles, (int64_t)from->triangle_count * 3, sizeof(int32_t), failed);
}

static void copy_extras(sup_character *to, const sup_character *from, bool *failed)
{
    if (from->extras != NULL) to->extras = copy_name(sup_character_arena(to), from->extras, failed);
}

/* Attachments of the bone surface; only valid when bones keep their indices. */
static void copy_holders(sup_character *to, const sup_character *from, bool *failed)
{
    to->bone_attachments =
        copy(sup_character_arena(to), from->bone_attachments, from->vertex_count, sizeof(int32_t), failed);
}

static void copy_influences(sup_character *to, const sup_character *from, bool *failed)
{
    if (from->influence_first == NULL || from->vertex_count < 0) return;
    sup_arena *arena = sup_character_arena(to);
    int64_t count = from->influence_first[from->vertex_count];
    to->influence_first = copy(arena, from->influence_first, (int64_t)from->vertex_count + 1, sizeof(int32_t), failed);
    to->influence_bone = copy(arena, from->influence_bone, count, sizeof(int32_t), failed);
    to->influence_weight = copy(arena, from->influence_weight, count, sizeof(float), failed);
}

static void copy_skeleton(sup_character *to, const sup_character *from, bool *failed)
{
    sup_arena *arena = sup_character_arena(to);
    to->node_count = from->node_count;
    sup_node *nodes = copy(arena, from->nodes, from->node_count, sizeof *nodes, failed);
    for (int32_t i = 0; nodes != NULL && i < to->node_count; i++)
        nodes[i].name = copy_name(arena, nodes[i].name, failed);
    to->nodes = nodes;
    to->bone_count = from->bone_count;
    to->bones = copy(arena, from->bones, from->bone_count, sizeof(sup_bone), failed);
    to->skin_count = from->skin_count;
    sup_skin *skins = copy(arena, from->skins, from->skin_count, sizeof *skins, failed);
    for (int32_t i = 0; skins != NULL && i < to->skin_count; i++)
        skins[i].name = copy_name(arena, skins[i].name, failed);
    to->skins = skins;
}

static void copy_morphs(sup_character *to, const sup_character *from, bool *failed)
{
    sup_arena *arena = sup_character_arena(to);
    to->morph_weight_count = from->morph_weight_count;
    to->morph_count = from->morph_count;
    sup_morph *morphs = copy(arena, from->morphs, from->morph_count, sizeof *morphs, failed);
    for (int32_t i = 0; morphs != NULL && i < to->morph_count; i++) {
        bool has_primitive = morphs[i].primitive >= 0 && morphs[i].primitive < from->primitive_count;
        int64_t count = has_primitive ? (int64_t)from->primitives[morphs[i].primitive].vertex_count * 3 : 0;
        morphs[i].name = copy_name(arena, morphs[i].name, failed);
        morphs[i].positions = copy(arena, morphs[i].positions, count, sizeof(float), failed);
        morphs[i].normals = copy(arena, morphs[i].normals, count, sizeof(float), failed);
    }
    to->morphs = morphs;
}

static void copy_clips(sup_character *to, const sup_character *from, bool *failed)
{
    sup_arena *arena = sup_character_arena(to);
    to->clip_count = from->clip_count;
    sup_clip *clips = copy(arena, from->clips, from->clip_count, sizeof *clips, failed);
    for (int32_t i = 0; clips != NULL && i < to->clip_count; i++) {
        clips[i].name = copy_name(arena, clips[i].name, failed);
        sup_channel *channels = copy(arena, clips[i].channels, clips[i].channel_count, sizeof *channels, failed);
        for (int32_t c = 0; channels != NULL && c < clips[i].channel_count; c++) {
            int64_t width = channels[c].target == SUP_CHANNEL_MORPH      ? 1
                            : channels[c].target == SUP_CHANNEL_ROTATION ? 4
                                                                         : 3;
            if (channels[c].interpolation == SUP_INTERPOLATE_CUBIC) width *= 3;
            channels[c].times = copy(arena, channels[c].times, channels[c].key_count, sizeof(float), failed);
            channels[c].values = copy(arena, channels[c].values, channels[c].key_count * width, sizeof(float), failed);
        }
        clips[i].channels = channels;
    }
    to->clips = clips;
}

/* Validates the copy and returns it, or destroys it. */
static sup_result finish_or_destroy(sup_character *made, bool failed, sup_character **character, sup_error *error)
{
    sup_result result =
        failed ? sup_fail_memory(error, "the character") : sup_character_finish(made, made->name, error);
    if (result != SUP_OK) {
        sup_character_destroy(made);
        return result;
    }
    *character = made;
    return SUP_OK;
}

sup_result sup_character_create(const sup_context *context, const sup_character *source, sup_character **character,
                                sup_error *error)
{
    if (source == NULL || character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_character_create: source and character must not be NULL.");
    bool failed = false;
    sup_character *made = sup_character_begin(context);
    if (made == NULL) return sup_fail_memory(error, "the character");
    made->name = copy_name(sup_character_arena(made), source->name, &failed);
    made->unit_metres = source->unit_metres;
    copy_skeleton(made, source, &failed);
    copy_mesh(made, source, &failed);
    copy_extras(made, source, &failed);
    copy_holders(made, source, &failed);
    copy_influences(made, source, &failed);
    copy_morphs(made, source, &failed);
    copy_clips(made, source, &failed);
    return finish_or_destroy(made, failed, character, error);
}

/* World transforms of the rest pose, [node_count]. */
static void rest_world(const sup_character *character, sup_affine *world)
{
    for (int32_t i = 0; i < character->node_count; i++) {
        int32_t node = character->node_order[i];
        sup_affine local = sup_affine_from_transform(character->nodes[node].rest);
        int32_t parent = character->nodes[node].parent;
        world[node] = parent < 0 ? local : sup_affine_multiply(world[parent], local);
    }
}

/* Skeleton nodes first, then the nodes of the mesh, which are not animated. */
static void join_nodes(sup_character *made, const sup_character *mesh, bool *failed)
{
    int32_t joints = made->node_count;
    sup_arena *arena = sup_character_arena(made);
    sup_node *nodes = sup_arena_alloc(arena, (size_t)joints + (size_t)mesh->node_count, sizeof *nodes);
    if (nodes == NULL) {
        *failed = true;
        return;
    }
    if (joints > 0) memcpy(nodes, made->nodes, (size_t)joints * sizeof *nodes);
    for (int32_t i = 0; i < mesh->node_count; i++) {
        sup_node *node = &nodes[joints + i];
        *node = mesh->nodes[i];
        node->name = copy_name(arena, node->name, failed);
        node->is_joint = false;
        if (node->parent >= 0) node->parent += joints;
    }
    made->nodes = nodes;
    made->node_count = joints + mesh->node_count;
    for (int32_t i = 0; i < made->primitive_count; i++)
        ((sup_primitive *)&made->primitives[i])->node += joints;
}

/* One skin over all joints per primitive: the inverse bind matrix maps mesh space to joint space in the rest pose. */
static sup_result join_skins(sup_character *made, const sup_character *mesh, const sup_character *skeleton,
                             sup_error *error)
{
    sup_arena *arena = sup_character_arena(made);
    size_t max_bones = sup_size_multiply((size_t)skeleton->node_count, (size_t)made->primitive_count);
    sup_bone *bones = sup_arena_alloc(arena, max_bones, sizeof *bones);
    sup_skin *skins = sup_arena_alloc(arena, (size_t)made->primitive_count, sizeof *skins);
    sup_affine *mesh_world = sup_arena_alloc(arena, (size_t)mesh->node_count, sizeof *mesh_world);
    sup_affine *joint_world = sup_arena_alloc(arena, (size_t)skeleton->node_count, sizeof *joint_world);
    if (bones == NULL || skins == NULL || mesh_world == NULL || joint_world == NULL)
        return sup_fail_memory(error, "the skins");
    rest_world(mesh, mesh_world);
    rest_world(skeleton, joint_world);
    int32_t filled = 0;
    for (int32_t p = 0; p < made->primitive_count; p++) {
        skins[p] = (sup_skin){"", filled, 0};
        for (int32_t j = 0; j < skeleton->node_count; j++) {
            sup_affine inverse;
            if (!skeleton->nodes[j].is_joint) continue;
            if (!sup_affine_inverse(joint_world[j], &inverse))
                return sup_fail(error, SUP_ERROR_DATA, "character.join.singular", skeleton->nodes[j].name,
                                "A joint of the skeleton has a singular transform (zero scale).");
            bones[filled].node = j;
            bones[filled].inverse_bind =
                sup_affine_to_float(sup_affine_multiply(inverse, mesh_world[mesh->primitives[p].node]));
            filled++;
        }
        skins[p].bone_count = filled - skins[p].bone_first;
        ((sup_primitive *)&made->primitives[p])->skin = p;
    }
    made->bones = bones;
    made->bone_count = filled;
    made->skins = skins;
    made->skin_count = made->primitive_count;
    return SUP_OK;
}

sup_result sup_character_join(const sup_context *context, const sup_character *mesh, const sup_character *skeleton,
                              sup_character **character, sup_error *error)
{
    if (mesh == NULL || skeleton == NULL || character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_character_join: mesh, skeleton and character must not be NULL.");
    int32_t joints = 0;
    for (int32_t i = 0; i < skeleton->node_count; i++)
        joints += skeleton->nodes[i].is_joint ? 1 : 0;
    if (mesh->vertex_count == 0 || joints == 0)
        return sup_fail(error, SUP_ERROR_DATA, "character.join.empty",
                        mesh->vertex_count == 0 ? mesh->name : skeleton->name,
                        mesh->vertex_count == 0 ? "The mesh to join with a skeleton has no vertices."
                                                : "The skeleton to join with a mesh has no joints.");
    bool failed = false;
    sup_character *made = sup_character_begin(context);
    if (made == NULL) return sup_fail_memory(error, "the character");
    made->name = copy_name(sup_character_arena(made), mesh->name, &failed);
    made->unit_metres = mesh->unit_metres != 0.0f ? mesh->unit_metres : skeleton->unit_metres;
    copy_skeleton(made, skeleton, &failed);
    copy_mesh(made, mesh, &failed);
    copy_extras(made, mesh, &failed);
    copy_clips(made, skeleton, &failed);
    if (!failed) join_nodes(made, mesh, &failed);
    if (!failed) {
        sup_result result = join_skins(made, mesh, skeleton, error);
        if (result != SUP_OK) {
            sup_character_destroy(made);
            return result;
        }
    }
    return finish_or_destroy(made, failed, character, error);
}
