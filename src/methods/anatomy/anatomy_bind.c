/* anatomy_bind.c - surfaces under the simulated skin, from those of the character.
 *
 * Deviations from [komaritzan2022] section 4.3.3: the muscle surface is projected onto the line from skin to bone, at
 * least a tenth of its length from either end; and where the character does not specify the joint of a bone, it follows
 * from the influences of the skin over it. */
#include "methods/anatomy/anatomy.h"

#include "math/affine.h"
#include "methods/anatomy/anatomy_organs.h"
#include "methods/projective/projective_view.h"

/* Minimum fraction of the line from skin to bone that is fat, and that is muscle. */
static const double min_fraction = 0.1;
/* A vertex whose line is shorter than this, in sizes of the character, has no surfaces under it. */
static const double min_length = 1e-5;
/* Weight of the strongest influence from which on the bone is attached to its joint, where no joint is specified. */
static const float min_weight = 0.75f;

/* The rig's joint of a bone of the character, -1 when it has none. */
static int32_t joint_of_bone(const sup_rig *rig, int32_t bone)
{
    for (int32_t j = 0; bone >= 0 && j < rig->joint_count; j++)
        if (rig->joint_node[j] == rig->character->bones[bone].node) return j;
    return -1;
}

int32_t sup_anatomy_attached_joint(const sup_rig *rig, int32_t vertex)
{
    const sup_character *character = rig->character;
    if (character->bone_attachments != NULL) return joint_of_bone(rig, character->bone_attachments[vertex]);
    int32_t strongest = rig->influence_first[vertex];
    return rig->influence_weight[strongest] >= min_weight ? rig->influence_joint[strongest] : -1;
}

/* A point of a surface under the skin, in rig space. */
static sup_vec3d layer_point(const sup_rig *rig, int32_t primitive, const float *layer, int32_t vertex)
{
    return sup_affine_point(sup_affine_from_float(rig->primitive_bind[primitive]),
                            sup_v3_load(layer + 3 * (size_t)vertex));
}

static sup_result make_layers(const sup_bind_input *input, const sup_simulated_surface *surface, sup_arena *arena,
                              sup_tissue_layers *layers, sup_error *error)
{
    const sup_rig *rig = input->rig;
    const sup_character *character = rig->character;
    size_t count = (size_t)surface->coarse_count;
    float *base = sup_arena_alloc(arena, 3 * count, sizeof *base);
    float *fraction = sup_arena_alloc(arena, count, sizeof *fraction);
    int32_t *joint = sup_arena_alloc(arena, count, sizeof *joint);
    int32_t *primitive_of = sup_arena_alloc(arena, (size_t)character->vertex_count, sizeof *primitive_of);
    if (base == NULL || fraction == NULL || joint == NULL || primitive_of == NULL)
        return sup_fail_memory(error, "the layers of the body");
    for (int32_t p = 0; p < character->primitive_count; p++)
        for (int32_t v = 0; v < character->primitives[p].vertex_count; v++)
            primitive_of[character->primitives[p].vertex_first + v] = p;
    int32_t layered = 0;
    for (int32_t v = 0; v < surface->coarse_count; v++) {
        int32_t vertex = rig->skin_to_vertex[surface->fine_source[surface->coarse_fine[v]]];
        sup_vec3d skin = sup_v3_load(surface->coarse_positions + 3 * (size_t)v);
        sup_vec3d bone = layer_point(rig, primitive_of[vertex], character->bone_positions, vertex);
        sup_vec3d muscle = layer_point(rig, primitive_of[vertex], character->muscle_positions, vertex);
        sup_vec3d line = sup_v3_sub(bone, skin);
        double length = sup_v3_length(line);
        joint[v] = -1;
        if (!(length > min_length * (double)rig->size)) continue;
        double along = sup_v3_dot(sup_v3_sub(muscle, skin), line) / (length * length);
        sup_v3_store(base + 3 * (size_t)v, bone);
        fraction[v] = (float)fmin(fmax(along, min_fraction), 1.0 - min_fraction);
        joint[v] = sup_anatomy_attached_joint(rig, vertex);
        layered++;
    }
    if (layered == 0)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.layers", character->name,
                        "No skin vertex has muscle and bone surfaces under it: fit them with \"supple anatomy fit\".");
    *layers = (sup_tissue_layers){base, fraction, joint, input->values[SUP_ANATOMY_MUSCLE]};
    return SUP_OK;
}

sup_result sup_anatomy_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    const sup_character *character = input->rig->character;
    if (character->muscle_positions == NULL || character->bone_positions == NULL)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.layers", character->name,
                        "The character has no muscle and bone surfaces under its skin: fit them with \"supple anatomy "
                        "fit\", or try scene:human, which has them.");
    sup_result result = sup_projective_bind_layered(input, make_layers, builder, error);
    return result == SUP_OK ? sup_anatomy_organs_bind(input, builder, error) : result;
}

sup_result sup_anatomy_check(const sup_model *model, sup_error *error)
{
    sup_result result = sup_projective_check(model, error);
    return result == SUP_OK ? sup_anatomy_organs_check(model, error) : result;
}

sup_result sup_anatomy_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    sup_result result = sup_projective_step(input, state, out);
    if (result == SUP_OK) sup_anatomy_organs_step(input, out);
    return result;
}
