/* glb_character.c - a whole character as GLB: nodes, skins, meshes with weights, morph targets and layers, extras.
 *
 * Nodes keep their numbers, and so do bones; parts that share a node and a mesh are primitives of one mesh. The reader
 * gives parts by node number, so groups of parts go to nodes in rising order: one that cannot gets a new child node. */
#include "output/glb_character.h"

#include "output/file_out.h"

#include <float.h>
#include <math.h>

static const char *const type_names[17] = {[1] = "SCALAR", [2] = "VEC2", [3] = "VEC3", [4] = "VEC4", [16] = "MAT4"};

static void set_bounds(sup_json_tree *tree, sup_json *accessor, const float *values, int64_t count, int32_t width)
{
    sup_json *low = sup_json_need(tree, accessor, "min", SUP_JSON_ARRAY);
    sup_json *high = sup_json_need(tree, accessor, "max", SUP_JSON_ARRAY);
    for (int32_t k = 0; k < width; k++) {
        float least = values == NULL ? 0.0f : FLT_MAX, most = -least;
        for (int64_t i = 0; values != NULL && i < count; i++) {
            float value = values[i * width + k];
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        sup_json_append(tree, low, sup_json_new_float(tree, least + 0.0f));
        sup_json_append(tree, high, sup_json_new_float(tree, most + 0.0f));
    }
}

int32_t sup_glb_add_floats(sup_glb_plan *plan, const float *values, int64_t count, int32_t width, int32_t target,
                           bool bounds)
{
    size_t size = (size_t)count * (size_t)width * sizeof *values;
    int32_t view = sup_glb_add_view(plan, values, size, 0, target);
    sup_json *accessor = sup_glb_add_accessor(&plan->tree, view, 0, SUP_GLB_FLOAT, count, type_names[width]);
    if (bounds) set_bounds(&plan->tree, accessor, values, count, width);
    return sup_glb_last_accessor(&plan->tree);
}

/* Floats of the plan's own; NULL with the tree marked when memory ran out. */
static void *take(sup_glb_plan *plan, size_t count, size_t size)
{
    void *memory = sup_arena_alloc(&plan->arena, count, size);
    if (memory == NULL) plan->tree.failed = true;
    return memory;
}

/* --- Nodes and skins --- */

static void set_numbers(sup_json_tree *tree, sup_json *node, const char *key, const float *values, int32_t count,
                        const float *usual)
{
    if (memcmp(values, usual, (size_t)count * sizeof *values) == 0) return;
    sup_json *list = sup_json_need(tree, node, key, SUP_JSON_ARRAY);
    for (int32_t i = 0; i < count; i++)
        sup_json_append(tree, list, sup_json_new_float(tree, values[i]));
}

static void add_node(sup_json_tree *tree, sup_json *nodes, const char *name, const sup_transform *rest)
{
    static const float zero[3] = {0}, one[4] = {0.0f, 0.0f, 0.0f, 1.0f}, ones[3] = {1.0f, 1.0f, 1.0f};
    sup_json *node = sup_json_append(tree, nodes, sup_json_new_object(tree));
    sup_quat q = rest->rotation;
    double length = sqrt((double)q.x * (double)q.x + (double)q.y * (double)q.y + (double)q.z * (double)q.z +
                         (double)q.w * (double)q.w);
    double scale = length > 0.0 && fabs(length - 1.0) > 1e-6 ? 1.0 / length : 1.0;
    float rotation[4] = {(float)(scale * (double)q.x), (float)(scale * (double)q.y), (float)(scale * (double)q.z),
                         length > 0.0 ? (float)(scale * (double)q.w) : 1.0f};
    const float translation[3] = {rest->translation.x, rest->translation.y, rest->translation.z};
    const float factors[3] = {rest->scale.x, rest->scale.y, rest->scale.z};
    if (name[0] != '\0') sup_glb_set_text(tree, node, "name", name);
    set_numbers(tree, node, "translation", translation, 3, zero);
    set_numbers(tree, node, "rotation", rotation, 4, one);
    set_numbers(tree, node, "scale", factors, 3, ones);
}

static void add_child(sup_json_tree *tree, sup_json *nodes, int32_t parent, int32_t child)
{
    sup_json *list = sup_json_need(tree, sup_json_at(nodes, parent), "children", SUP_JSON_ARRAY);
    sup_json_append(tree, list, sup_json_new_integer(tree, child));
}

static void add_nodes(sup_glb_plan *plan)
{
    const sup_character *character = plan->character;
    sup_json_tree *tree = &plan->tree;
    sup_glb_set_integer(tree, tree->root, "scene", 0);
    sup_json *scenes = sup_json_need(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    if (character->name[0] != '\0') sup_glb_set_text(tree, scene, "name", character->name);
    if (character->node_count == 0) return;
    sup_json *roots = sup_json_need(tree, scene, "nodes", SUP_JSON_ARRAY);
    sup_json *nodes = sup_json_need(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    for (int32_t i = 0; i < character->node_count; i++)
        add_node(tree, nodes, character->nodes[i].name, &character->nodes[i].rest);
    for (int32_t i = 0; i < character->node_count; i++) {
        if (character->nodes[i].parent < 0)
            sup_json_append(tree, roots, sup_json_new_integer(tree, i));
        else
            add_child(tree, nodes, character->nodes[i].parent, i);
    }
}

static sup_result add_skins(sup_glb_plan *plan, sup_error *error)
{
    const sup_character *character = plan->character;
    sup_json_tree *tree = &plan->tree;
    for (int32_t s = 0; s < character->skin_count; s++) {
        const sup_skin *from = &character->skins[s];
        sup_json *skin =
            sup_json_append(tree, sup_json_need(tree, tree->root, "skins", SUP_JSON_ARRAY), sup_json_new_object(tree));
        if (from->name[0] != '\0') sup_glb_set_text(tree, skin, "name", from->name);
        sup_json *joints = sup_json_need(tree, skin, "joints", SUP_JSON_ARRAY);
        float *matrices = take(plan, (size_t)from->bone_count * 16, sizeof *matrices);
        if (matrices == NULL) return sup_fail_memory(error, "the skins");
        for (int32_t b = 0; b < from->bone_count; b++) {
            const sup_bone *bone = &character->bones[from->bone_first + b];
            sup_json_append(tree, joints, sup_json_new_integer(tree, bone->node));
            for (int32_t k = 0; k < 12; k++) { /* rows to columns */
                matrices[b * 16 + k % 4 * 4 + k / 4] = bone->inverse_bind.m[k];
                if (!isfinite(bone->inverse_bind.m[k]))
                    return sup_fail(error, SUP_ERROR_DATA, "output.glb.nonfinite", character->nodes[bone->node].name,
                                    "The inverse bind matrix of a bone has a number that is not finite.");
            }
            matrices[b * 16 + 15] = 1.0f;
        }
        sup_glb_set_integer(tree, skin, "inverseBindMatrices",
                            sup_glb_add_floats(plan, matrices, from->bone_count, 16, 0, false));
    }
    return SUP_OK;
}

/* --- Groups of parts --- */

/* Morph weights that the parts of a group use, each once, in order. */
static sup_result find_slots(sup_glb_character *writer, sup_glb_group *group, unsigned char *used, sup_error *error)
{
    const sup_character *character = writer->plan.character;
    int32_t end = group->part_first + group->part_count;
    memset(used, 0, (size_t)character->morph_weight_count);
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_morph *morph = &character->morphs[m];
        if (morph->part < group->part_first || morph->part >= end) continue;
        group->slot_count += used[morph->weight] == 0;
        used[morph->weight] = 1;
        writer->defaults[morph->weight] = morph->default_weight;
    }
    group->slots = take(&writer->plan, (size_t)group->slot_count, sizeof *group->slots);
    if (group->slots == NULL) return sup_fail_memory(error, "the morph targets");
    for (int32_t slot = 0, filled = 0; slot < character->morph_weight_count; slot++)
        if (used[slot] != 0) group->slots[filled++] = slot;
    return SUP_OK;
}

static sup_result make_groups(sup_glb_character *writer, sup_error *error)
{
    sup_glb_plan *plan = &writer->plan;
    const sup_character *character = plan->character;
    sup_json *nodes = sup_json_get(plan->tree.root, "nodes");
    size_t slots = (size_t)character->morph_weight_count;
    writer->groups = take(plan, (size_t)character->primitive_count, sizeof *writer->groups);
    writer->defaults = take(plan, slots, sizeof *writer->defaults);
    unsigned char *used = take(plan, slots, 1);
    if (writer->groups == NULL || writer->defaults == NULL || used == NULL) return sup_fail_memory(error, "the parts");
    const sup_primitive *last = NULL;
    int32_t highest = -1; /* node that a group has */
    for (int32_t p = 0; p < character->primitive_count; p++) {
        const sup_primitive *part = &character->primitives[p];
        if (part->vertex_count == 0) continue;
        if (last == NULL || part->node != last->node || part->mesh != last->mesh || part->skin != last->skin) {
            int32_t node = part->node;
            if (node <= highest) {
                node = sup_json_count(nodes);
                const sup_transform still = sup_transform_identity();
                add_node(&plan->tree, nodes, part->name, &still);
                add_child(&plan->tree, nodes, part->node, node);
            }
            highest = node;
            writer->groups[writer->group_count++] = (sup_glb_group){.node = node, .skin = part->skin, .part_first = p};
        }
        sup_glb_group *group = &writer->groups[writer->group_count - 1];
        group->part_count = p + 1 - group->part_first;
        last = part;
    }
    sup_result result = SUP_OK;
    for (int32_t g = 0; result == SUP_OK && g < writer->group_count; g++)
        result = find_slots(writer, &writer->groups[g], used, error);
    return result;
}

/* --- Weights --- */

/* A vertex' influences as glTF takes them: each bone once, positive, together 1. Returns how many. */
static int32_t gather(const sup_character *character, const sup_skin *skin, int32_t v, int32_t *bones, float *weights)
{
    int32_t count = 0;
    double sum = 0.0;
    for (int32_t k = character->influence_first[v]; k < character->influence_first[v + 1]; k++) {
        int32_t bone = character->influence_bone[k] - skin->bone_first, i = 0;
        float weight = character->influence_weight[k];
        if (!(weight > 0.0f) || !isfinite(weight) || bone < 0 || bone >= skin->bone_count) continue;
        while (i < count && bones[i] != bone)
            i++;
        if (i == count) {
            bones[count] = bone;
            weights[count++] = 0.0f;
        }
        weights[i] += weight;
        sum += (double)weight;
    }
    if (fabs(sum - 1.0) > 1e-7 * (double)count)
        for (int32_t i = 0; i < count; i++)
            weights[i] = (float)((double)weights[i] / sum);
    return count;
}

static int32_t most_influences(const sup_character *character, const sup_primitive *part)
{
    int32_t most = 0;
    for (int32_t v = part->vertex_first; v < part->vertex_first + part->vertex_count; v++) {
        int32_t count = character->influence_first[v + 1] - character->influence_first[v];
        most = count > most ? count : most;
    }
    return most;
}

static void add_set(sup_glb_plan *plan, sup_json *attributes, int32_t set, const uint16_t *joints, const float *weights,
                    int32_t count)
{
    char name[24];
    int32_t view = sup_glb_add_view(plan, joints, (size_t)count * 4 * sizeof *joints, 0, SUP_GLB_ARRAY_BUFFER);
    sup_glb_add_accessor(&plan->tree, view, 0, SUP_GLB_USHORT, count, "VEC4");
    sup_format(name, sizeof name, "JOINTS_%d", set);
    sup_glb_set_integer(&plan->tree, attributes, name, sup_glb_last_accessor(&plan->tree));
    sup_format(name, sizeof name, "WEIGHTS_%d", set);
    sup_glb_set_integer(&plan->tree, attributes, name,
                        sup_glb_add_floats(plan, weights, count, 4, SUP_GLB_ARRAY_BUFFER, false));
}

static sup_result add_influences(sup_glb_plan *plan, const sup_primitive *part, sup_json *attributes, sup_error *error)
{
    const sup_character *character = plan->character;
    const sup_skin *skin = &character->skins[part->skin];
    int32_t most = most_influences(character, part), set_count = (most + 3) / 4;
    size_t row = (size_t)part->vertex_count * 4;
    if (most == 0)
        return sup_fail(
            error, SUP_ERROR_DATA, "output.glb.weights", part->name,
            "The part has a skin but no weights, which glTF cannot say: make weights first (sup_rig_create).");
    if (skin->bone_count > UINT16_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.glb.bones", part->name,
                        "The part's skin has %d bones; glTF can number %d.", skin->bone_count, UINT16_MAX);
    uint16_t *joints = take(plan, row * (size_t)set_count, sizeof *joints);
    float *weights = take(plan, row * (size_t)set_count, sizeof *weights);
    int32_t *bones = take(plan, (size_t)most, sizeof *bones);
    float *shares = take(plan, (size_t)most, sizeof *shares);
    if (joints == NULL || weights == NULL || bones == NULL || shares == NULL)
        return sup_fail_memory(error, "the weights");
    int32_t used = 1;
    for (int32_t v = 0; v < part->vertex_count; v++) {
        int32_t count = gather(character, skin, part->vertex_first + v, bones, shares);
        used = (count + 3) / 4 > used ? (count + 3) / 4 : used;
        for (int32_t k = 0; k < count; k++) {
            size_t at = (size_t)(k / 4) * row + (size_t)v * 4 + (size_t)(k % 4);
            joints[at] = (uint16_t)bones[k];
            weights[at] = shares[k];
        }
        if (count == 0) weights[(size_t)v * 4] = 1.0f; /* held by the first bone: glTF has no vertex without any */
    }
    for (int32_t set = 0; set < used; set++)
        add_set(plan, attributes, set, joints + (size_t)set * row, weights + (size_t)set * row, part->vertex_count);
    return SUP_OK;
}

/* --- Parts --- */

static bool any_nonzero(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != 0.0f) return true;
    return false;
}

static void set_attribute(sup_glb_plan *plan, sup_json *attributes, const char *name, const float *values,
                          const sup_primitive *part, int32_t width, bool bounds)
{
    sup_glb_set_integer(&plan->tree, attributes, name,
                        sup_glb_add_floats(plan, values, part->vertex_count, width, SUP_GLB_ARRAY_BUFFER, bounds));
}

static bool add_normals(sup_glb_plan *plan, const sup_primitive *part, sup_json *attributes)
{
    const float *from = plan->character->normals;
    if (from == NULL) return false;
    from += (size_t)part->vertex_first * 3;
    if (!any_nonzero(from, (size_t)part->vertex_count * 3)) return false;
    float *unit = take(plan, (size_t)part->vertex_count * 3, sizeof *unit);
    if (unit == NULL) return false;
    sup_glb_unit_normals(from, part->vertex_count, unit);
    set_attribute(plan, attributes, "NORMAL", unit, part, 3, false);
    return true;
}

/* Tangents are taken along when all of a part's are what glTF wants. */
static void add_tangents(sup_glb_plan *plan, const sup_primitive *part, sup_json *attributes)
{
    const float *from = plan->character->tangents;
    if (from == NULL) return;
    from += (size_t)part->vertex_first * 4;
    for (int32_t v = 0; v < part->vertex_count; v++) {
        const float *t = from + (size_t)v * 4;
        double length = sqrt((double)t[0] * (double)t[0] + (double)t[1] * (double)t[1] + (double)t[2] * (double)t[2]);
        if (!(fabs(length - 1.0) < 1e-5) || fabsf(t[3]) != 1.0f) return;
    }
    set_attribute(plan, attributes, "TANGENT", from, part, 4, false);
}

/* A surface under the skin, where some vertex has one. */
static void add_layer(sup_glb_plan *plan, const sup_primitive *part, sup_json *attributes, const char *name,
                      const float *layer)
{
    size_t first = (size_t)part->vertex_first * 3, count = (size_t)part->vertex_count * 3;
    if (layer == NULL || memcmp(layer + first, plan->character->positions + first, count * sizeof *layer) == 0) return;
    set_attribute(plan, attributes, name, layer + first, part, 3, false);
}

/* The joint of the part's skin that holds the bone surface, -1 where none does. */
static void add_holders(sup_glb_plan *plan, const sup_primitive *part, sup_json *attributes)
{
    const sup_character *character = plan->character;
    if (character->bone_attachments == NULL || part->skin < 0) return;
    const sup_skin *skin = &character->skins[part->skin];
    float *numbers = take(plan, (size_t)part->vertex_count, sizeof *numbers);
    for (int32_t v = 0; numbers != NULL && v < part->vertex_count; v++) {
        int32_t bone = character->bone_attachments[part->vertex_first + v] - skin->bone_first;
        numbers[v] = bone >= 0 && bone < skin->bone_count ? (float)bone : -1.0f;
    }
    if (numbers != NULL) set_attribute(plan, attributes, "_ATTACHMENT", numbers, part, 1, false);
}

/* A target for each slot of the group; a part that lacks one gets zeros. */
static void add_targets(sup_glb_character *writer, const sup_glb_group *group, int32_t p, sup_json *primitive,
                        bool normals, const sup_morph **of_slot)
{
    sup_glb_plan *plan = &writer->plan;
    const sup_character *character = plan->character;
    const sup_primitive *part = &character->primitives[p];
    sup_json_tree *tree = &plan->tree;
    memset(of_slot, 0, (size_t)character->morph_weight_count * sizeof(*of_slot));
    for (int32_t m = 0; m < character->morph_count; m++)
        if (character->morphs[m].part == p) of_slot[character->morphs[m].weight] = &character->morphs[m];
    for (int32_t k = 0; k < group->slot_count; k++) {
        const sup_morph *morph = of_slot[group->slots[k]];
        sup_json *targets = sup_json_need(tree, primitive, "targets", SUP_JSON_ARRAY);
        sup_json *target = sup_json_append(tree, targets, sup_json_new_object(tree));
        if (morph != NULL && morph->positions != NULL) {
            set_attribute(plan, target, "POSITION", morph->positions, part, 3, true);
        } else {
            sup_json *zeros = sup_glb_add_accessor(tree, 0, 0, SUP_GLB_FLOAT, part->vertex_count, "VEC3");
            sup_json_remove(zeros, "bufferView");
            set_bounds(tree, zeros, NULL, 0, 3);
            sup_glb_set_integer(tree, target, "POSITION", sup_glb_last_accessor(tree));
        }
        if (morph != NULL && morph->normals != NULL && normals)
            set_attribute(plan, target, "NORMAL", morph->normals, part, 3, false);
    }
}

/* The material of a part: one that an earlier part of the same material has, or a new one. */
static int32_t part_material(sup_glb_plan *plan, int32_t p, int32_t *materials)
{
    const sup_character *character = plan->character;
    const sup_primitive *part = &character->primitives[p];
    for (int32_t earlier = 0; earlier < p && part->material >= 0; earlier++)
        if (character->primitives[earlier].material == part->material && character->primitives[earlier].vertex_count > 0)
            return materials[p] = materials[earlier];
    int32_t index = sup_json_count(sup_json_get(plan->tree.root, "materials"));
    return materials[p] = sup_glb_add_material(&plan->tree, part->name[0] != '\0' ? part->name : "skin", index);
}

static sup_result add_primitive(sup_glb_character *writer, const sup_glb_group *group, int32_t p, sup_json *primitives,
                                int32_t *materials, const sup_morph **of_slot, sup_error *error)
{
    sup_glb_plan *plan = &writer->plan;
    const sup_character *character = plan->character;
    const sup_primitive *part = &character->primitives[p];
    const float *positions = character->positions + (size_t)part->vertex_first * 3;
    sup_json_tree *tree = &plan->tree;
    for (int32_t i = 0; i < part->vertex_count * 3; i++)
        if (!isfinite(positions[i]))
            return sup_fail(error, SUP_ERROR_DATA, "output.glb.nonfinite", part->name,
                            "Vertex %d of the part has a position that is not finite.", i / 3);
    sup_json *primitive = sup_json_append(tree, primitives, sup_json_new_object(tree));
    sup_json *attributes = sup_json_need(tree, primitive, "attributes", SUP_JSON_OBJECT);
    set_attribute(plan, attributes, "POSITION", positions, part, 3, true);
    bool normals = add_normals(plan, part, attributes);
    add_tangents(plan, part, attributes);
    if (character->texcoords != NULL) sup_glb_add_texcoords(plan, part, attributes);
    add_layer(plan, part, attributes, "_MUSCLE", character->muscle_positions);
    add_layer(plan, part, attributes, "_BONE", character->bone_positions);
    add_holders(plan, part, attributes);
    if (part->triangle_count > 0)
        sup_glb_set_integer(tree, primitive, "indices", sup_glb_add_indices(plan, part, false));
    else
        sup_glb_set_integer(tree, primitive, "mode", 0);
    sup_glb_set_integer(tree, primitive, "material", part_material(plan, p, materials));
    if (group->slot_count > 0) add_targets(writer, group, p, primitive, normals, of_slot);
    return group->skin >= 0 ? add_influences(plan, part, attributes, error) : SUP_OK;
}

/* Default weights and names of a mesh's targets. */
static void describe_targets(sup_glb_character *writer, const sup_glb_group *group, sup_json *mesh)
{
    sup_json_tree *tree = &writer->plan.tree;
    const sup_character *character = writer->plan.character;
    if (group->slot_count == 0) return;
    sup_json *weights = sup_json_need(tree, mesh, "weights", SUP_JSON_ARRAY);
    sup_json *extras = sup_json_need(tree, mesh, "extras", SUP_JSON_OBJECT);
    sup_json *names = sup_json_need(tree, extras, "targetNames", SUP_JSON_ARRAY);
    for (int32_t k = 0; k < group->slot_count; k++) {
        const char *name = "";
        for (int32_t m = 0; m < character->morph_count && name[0] == '\0'; m++)
            if (character->morphs[m].weight == group->slots[k]) name = character->morphs[m].name;
        sup_json *holder = sup_json_new_object(tree); /* cleans the text */
        sup_glb_set_text(tree, holder, "name", name);
        sup_json_append(tree, names, sup_json_copy(tree, sup_json_get(holder, "name")));
        sup_json_append(tree, weights, sup_json_new_float(tree, writer->defaults[group->slots[k]]));
    }
}

static sup_result add_meshes(sup_glb_character *writer, sup_error *error)
{
    sup_glb_plan *plan = &writer->plan;
    const sup_character *character = plan->character;
    sup_json_tree *tree = &plan->tree;
    int32_t *materials = take(plan, (size_t)character->primitive_count, sizeof *materials);
    const sup_morph **of_slot = take(plan, (size_t)character->morph_weight_count, sizeof(*of_slot));
    if (materials == NULL || of_slot == NULL) return sup_fail_memory(error, "the meshes");
    sup_result result = SUP_OK;
    for (int32_t g = 0; result == SUP_OK && g < writer->group_count; g++) {
        const sup_glb_group *group = &writer->groups[g];
        const char *name = character->primitives[group->part_first].name;
        sup_json *meshes = sup_json_need(tree, tree->root, "meshes", SUP_JSON_ARRAY);
        sup_json *mesh = sup_json_append(tree, meshes, sup_json_new_object(tree));
        sup_json *node = sup_json_at(sup_json_get(tree->root, "nodes"), group->node);
        sup_glb_set_integer(tree, node, "mesh", g);
        if (group->skin >= 0) sup_glb_set_integer(tree, node, "skin", group->skin);
        if (name[0] != '\0') sup_glb_set_text(tree, mesh, "name", name);
        sup_json *primitives = sup_json_need(tree, mesh, "primitives", SUP_JSON_ARRAY);
        for (int32_t p = group->part_first; result == SUP_OK && p < group->part_first + group->part_count; p++)
            if (character->primitives[p].vertex_count > 0)
                result = add_primitive(writer, group, p, primitives, materials, of_slot, error);
        describe_targets(writer, group, mesh);
    }
    return result;
}

/* --- The file --- */

static sup_result plan_character(sup_glb_character *writer, sup_error *error)
{
    sup_glb_plan *plan = &writer->plan;
    sup_json_tree *tree = &plan->tree;
    tree->root = sup_json_new_object(tree);
    sup_glb_set_asset(tree);
    sup_result result = sup_glb_set_extras(plan, error);
    if (result != SUP_OK) return result;
    add_nodes(plan);
    result = add_skins(plan, error);
    if (result == SUP_OK) result = make_groups(writer, error);
    if (result == SUP_OK) result = add_meshes(writer, error);
    if (result == SUP_OK) result = sup_glb_add_clips(writer, error);
    if (result != SUP_OK) return result;
    if (plan->fixed_size > 0) {
        sup_json *buffers = sup_json_need(tree, tree->root, "buffers", SUP_JSON_ARRAY);
        sup_json *buffer = sup_json_append(tree, buffers, sup_json_new_object(tree));
        sup_glb_set_integer(tree, buffer, "byteLength", (int64_t)plan->fixed_size);
    }
    return tree->failed ? sup_fail_memory(error, "the document") : SUP_OK;
}

struct sup_memory_file {
    sup_allocator allocator;
    unsigned char *data;
    size_t size;
};

static unsigned char *put_u32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

/* Header and both chunks (glTF 2.0, section 4.4). */
static sup_result assemble(const sup_glb_plan *plan, const sup_array *text, sup_memory_file *file, sup_error *error)
{
    enum { HEADER = 12, CHUNK = 8, MAGIC = 0x46546c67, JSON = 0x4e4f534a, BIN = 0x004e4942 };
    uint64_t json_size = ((uint64_t)text->count + 3) / 4 * 4;
    uint64_t total = HEADER + CHUNK + json_size + (plan->fixed_size > 0 ? CHUNK + plan->fixed_size : 0);
    if (total > UINT32_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.glb.size", plan->character->name,
                        "The character makes %.3g GB, and a GLB cannot hold more than 4 GiB.", (double)total * 1e-9);
    file->data = sup_alloc_zero(&file->allocator, (size_t)total);
    if (file->data == NULL) return sup_fail_memory(error, "the file");
    file->size = (size_t)total;
    unsigned char *at = put_u32(put_u32(put_u32(file->data, MAGIC), 2), (uint32_t)total);
    at = put_u32(put_u32(at, (uint32_t)json_size), JSON);
    memset(at, ' ', (size_t)json_size);
    memcpy(at, text->data, text->count);
    at += json_size;
    if (plan->fixed_size == 0) return SUP_OK;
    at = put_u32(put_u32(at, (uint32_t)plan->fixed_size), BIN);
    const sup_glb_blob *blobs = (const sup_glb_blob *)(const void *)plan->blobs.data;
    for (size_t i = 0; i < plan->blobs.count; i++) {
        if (blobs[i].size > 0) memcpy(at, blobs[i].data, blobs[i].size);
        at += (blobs[i].size + 3) / 4 * 4;
    }
    return SUP_OK;
}

sup_result sup_character_save_memory(const sup_context *context, const sup_character *character, sup_memory_file **file,
                                     sup_error *error)
{
    if (character == NULL || file == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_character_save_memory needs a character and a place for the result.");
    sup_context resolved = sup_context_resolve(context);
    const sup_allocator *allocator = &resolved.allocator;
    sup_memory_file *made = sup_alloc_zero(allocator, sizeof *made);
    if (made == NULL) return sup_fail_memory(error, "the file");
    made->allocator = *allocator;
    sup_glb_character writer = {.plan = {.context = &resolved, .character = character}};
    sup_glb_plan *plan = &writer.plan;
    plan->arena = sup_arena_create(allocator);
    plan->tree = sup_json_tree_create(allocator);
    plan->blobs.item_size = sizeof(sup_glb_blob);
    sup_array text = {.item_size = 1};
    sup_result result = plan_character(&writer, error);
    if (result == SUP_OK && !sup_json_write(plan->tree.root, allocator, &text))
        result = sup_fail_memory(error, "the document");
    if (result == SUP_OK) result = assemble(plan, &text, made, error);
    sup_array_free(allocator, &text);
    sup_array_free(allocator, &plan->blobs);
    sup_json_tree_destroy(&plan->tree);
    sup_arena_destroy(&plan->arena);
    if (result == SUP_OK)
        *file = made;
    else
        sup_memory_file_destroy(made);
    return result;
}

sup_bytes sup_memory_file_bytes(const sup_memory_file *file)
{
    return file != NULL ? (sup_bytes){file->data, file->size} : (sup_bytes){NULL, 0};
}

void sup_memory_file_destroy(sup_memory_file *file)
{
    if (file == NULL) return;
    sup_allocator allocator = file->allocator;
    sup_free(&allocator, file->data, file->size);
    sup_free(&allocator, file, sizeof *file);
}

sup_result sup_character_save(const sup_context *context, const sup_character *character, const char *path,
                              sup_error *error)
{
    if (character == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_character_save needs a character and a path.");
    sup_memory_file *file = NULL;
    sup_result result = sup_character_save_memory(context, character, &file, error);
    if (result != SUP_OK) return result;
    result = sup_file_out_whole(path, (sup_bytes){file->data, file->size}, error);
    sup_memory_file_destroy(file);
    return result;
}
