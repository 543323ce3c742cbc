/* glb_character.c - writes a whole character as GLB: nodes, skins, meshes with weights, morph targets and layers,
 * extras.
 *
 * Nodes and bones keep their indices; primitives that share a node and a mesh become one mesh. The reader orders
 * primitives by node index, so meshes must be on nodes of increasing index: a mesh that would not be gets a new child
 * node. */
#include "output/glb_character.h"

#include "output/file_out.h"

#include <float.h>
#include <math.h>

static const char *const type_names[17] = {[1] = "SCALAR", [2] = "VEC2", [3] = "VEC3", [4] = "VEC4", [16] = "MAT4"};

static void set_bounds(sup_json_tree *tree, sup_json *accessor, const float *values, int64_t count, int32_t width)
{
    sup_json *low = sup_json_get_or_add(tree, accessor, "min", SUP_JSON_ARRAY);
    sup_json *high = sup_json_get_or_add(tree, accessor, "max", SUP_JSON_ARRAY);
    for (int32_t k = 0; k < width; k++) {
        float minimum = values == NULL ? 0.0f : FLT_MAX, maximum = -minimum;
        for (int64_t i = 0; values != NULL && i < count; i++) {
            float value = values[i * width + k];
            minimum = value < minimum ? value : minimum;
            maximum = value > maximum ? value : maximum;
        }
        sup_json_append(tree, low, sup_json_new_float(tree, minimum + 0.0f));
        sup_json_append(tree, high, sup_json_new_float(tree, maximum + 0.0f));
    }
}

int32_t sup_glb_add_floats(sup_glb_layout *layout, const float *values, int64_t count, int32_t width, int32_t target,
                           bool bounds)
{
    size_t size = (size_t)count * (size_t)width * sizeof *values;
    int32_t view = sup_glb_add_view(layout, values, size, 0, target);
    sup_json *accessor = sup_glb_add_accessor(&layout->tree, view, 0, SUP_GLB_FLOAT, count, type_names[width]);
    if (bounds) set_bounds(&layout->tree, accessor, values, count, width);
    return sup_glb_last_accessor(&layout->tree);
}

/* Memory of the layout's arena; when out of memory returns NULL and marks the tree as failed. */
static void *allocate(sup_glb_layout *layout, size_t count, size_t size)
{
    void *memory = sup_arena_alloc(&layout->arena, count, size);
    if (memory == NULL) layout->tree.failed = true;
    return memory;
}

/* --- Nodes and skins --- */

static void set_numbers(sup_json_tree *tree, sup_json *node, const char *key, const float *values, int32_t count,
                        const float *default_values)
{
    if (memcmp(values, default_values, (size_t)count * sizeof *values) == 0) return;
    sup_json *list = sup_json_get_or_add(tree, node, key, SUP_JSON_ARRAY);
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
    sup_json *list = sup_json_get_or_add(tree, sup_json_at(nodes, parent), "children", SUP_JSON_ARRAY);
    sup_json_append(tree, list, sup_json_new_integer(tree, child));
}

static void add_nodes(sup_glb_layout *layout)
{
    const sup_character *character = layout->character;
    sup_json_tree *tree = &layout->tree;
    sup_glb_set_integer(tree, tree->root, "scene", 0);
    sup_json *scenes = sup_json_get_or_add(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    if (character->name[0] != '\0') sup_glb_set_text(tree, scene, "name", character->name);
    if (character->node_count == 0) return;
    sup_json *roots = sup_json_get_or_add(tree, scene, "nodes", SUP_JSON_ARRAY);
    sup_json *nodes = sup_json_get_or_add(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    for (int32_t i = 0; i < character->node_count; i++)
        add_node(tree, nodes, character->nodes[i].name, &character->nodes[i].rest);
    for (int32_t i = 0; i < character->node_count; i++) {
        if (character->nodes[i].parent < 0)
            sup_json_append(tree, roots, sup_json_new_integer(tree, i));
        else
            add_child(tree, nodes, character->nodes[i].parent, i);
    }
}

static sup_result add_skins(sup_glb_layout *layout, sup_error *error)
{
    const sup_character *character = layout->character;
    sup_json_tree *tree = &layout->tree;
    for (int32_t s = 0; s < character->skin_count; s++) {
        const sup_skin *from = &character->skins[s];
        sup_json *skin = sup_json_append(tree, sup_json_get_or_add(tree, tree->root, "skins", SUP_JSON_ARRAY),
                                         sup_json_new_object(tree));
        if (from->name[0] != '\0') sup_glb_set_text(tree, skin, "name", from->name);
        sup_json *joints = sup_json_get_or_add(tree, skin, "joints", SUP_JSON_ARRAY);
        float *matrices = allocate(layout, (size_t)from->bone_count * 16, sizeof *matrices);
        if (matrices == NULL) return sup_fail_memory(error, "the skins");
        for (int32_t b = 0; b < from->bone_count; b++) {
            const sup_bone *bone = &character->bones[from->bone_first + b];
            sup_json_append(tree, joints, sup_json_new_integer(tree, bone->node));
            for (int32_t k = 0; k < 12; k++) { /* row-major to column-major */
                matrices[b * 16 + k % 4 * 4 + k / 4] = bone->inverse_bind.m[k];
                if (!isfinite(bone->inverse_bind.m[k]))
                    return sup_fail(error, SUP_ERROR_DATA, "output.glb.nonfinite", character->nodes[bone->node].name,
                                    "The inverse bind matrix of a bone has a non-finite number.");
            }
            matrices[b * 16 + 15] = 1.0f;
        }
        sup_glb_set_integer(tree, skin, "inverseBindMatrices",
                            sup_glb_add_floats(layout, matrices, from->bone_count, 16, 0, false));
    }
    return SUP_OK;
}

/* --- Meshes of nodes --- */

/* Morph weight slots that the primitives of a mesh use, without duplicates, in order. */
static sup_result find_slots(sup_glb_character *writer, sup_glb_node_mesh *node_mesh, unsigned char *used,
                             sup_error *error)
{
    const sup_character *character = writer->layout.character;
    int32_t end = node_mesh->primitive_first + node_mesh->primitive_count;
    memset(used, 0, (size_t)character->morph_weight_count);
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_morph *morph = &character->morphs[m];
        if (morph->primitive < node_mesh->primitive_first || morph->primitive >= end) continue;
        node_mesh->slot_count += used[morph->weight] == 0;
        used[morph->weight] = 1;
        writer->defaults[morph->weight] = morph->default_weight;
    }
    node_mesh->slots = allocate(&writer->layout, (size_t)node_mesh->slot_count, sizeof *node_mesh->slots);
    if (node_mesh->slots == NULL) return sup_fail_memory(error, "the morph targets");
    for (int32_t slot = 0, filled = 0; slot < character->morph_weight_count; slot++)
        if (used[slot] != 0) node_mesh->slots[filled++] = slot;
    return SUP_OK;
}

static sup_result make_node_meshes(sup_glb_character *writer, sup_error *error)
{
    sup_glb_layout *layout = &writer->layout;
    const sup_character *character = layout->character;
    sup_json *nodes = sup_json_get(layout->tree.root, "nodes");
    size_t slots = (size_t)character->morph_weight_count;
    writer->node_meshes = allocate(layout, (size_t)character->primitive_count, sizeof *writer->node_meshes);
    writer->defaults = allocate(layout, slots, sizeof *writer->defaults);
    unsigned char *used = allocate(layout, slots, 1);
    if (writer->node_meshes == NULL || writer->defaults == NULL || used == NULL)
        return sup_fail_memory(error, "the primitives");
    const sup_primitive *last = NULL;
    int32_t highest = -1; /* highest node with a mesh */
    for (int32_t p = 0; p < character->primitive_count; p++) {
        const sup_primitive *primitive = &character->primitives[p];
        if (primitive->vertex_count == 0) continue;
        if (last == NULL || primitive->node != last->node || primitive->mesh != last->mesh ||
            primitive->skin != last->skin) {
            int32_t node = primitive->node;
            if (node <= highest) {
                node = sup_json_count(nodes);
                const sup_transform identity = sup_transform_identity();
                add_node(&layout->tree, nodes, primitive->name, &identity);
                add_child(&layout->tree, nodes, primitive->node, node);
            }
            highest = node;
            writer->node_meshes[writer->node_mesh_count++] =
                (sup_glb_node_mesh){.node = node, .skin = primitive->skin, .primitive_first = p};
        }
        sup_glb_node_mesh *node_mesh = &writer->node_meshes[writer->node_mesh_count - 1];
        node_mesh->primitive_count = p + 1 - node_mesh->primitive_first;
        last = primitive;
    }
    sup_result result = SUP_OK;
    for (int32_t g = 0; result == SUP_OK && g < writer->node_mesh_count; g++)
        result = find_slots(writer, &writer->node_meshes[g], used, error);
    return result;
}

/* --- Weights --- */

/* The influences of a vertex as glTF requires: each bone once, positive weights that sum to 1. Returns their number. */
static int32_t normalized_influences(const sup_character *character, const sup_skin *skin, int32_t v, int32_t *bones,
                                     float *weights)
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

static int32_t max_influences(const sup_character *character, const sup_primitive *primitive)
{
    int32_t max_count = 0;
    for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
        int32_t count = character->influence_first[v + 1] - character->influence_first[v];
        max_count = count > max_count ? count : max_count;
    }
    return max_count;
}

static void add_set(sup_glb_layout *layout, sup_json *attributes, int32_t set, const uint16_t *joints,
                    const float *weights, int32_t count)
{
    char name[24];
    int32_t view = sup_glb_add_view(layout, joints, (size_t)count * 4 * sizeof *joints, 0, SUP_GLB_ARRAY_BUFFER);
    sup_glb_add_accessor(&layout->tree, view, 0, SUP_GLB_USHORT, count, "VEC4");
    sup_format(name, sizeof name, "JOINTS_%d", set);
    sup_glb_set_integer(&layout->tree, attributes, name, sup_glb_last_accessor(&layout->tree));
    sup_format(name, sizeof name, "WEIGHTS_%d", set);
    sup_glb_set_integer(&layout->tree, attributes, name,
                        sup_glb_add_floats(layout, weights, count, 4, SUP_GLB_ARRAY_BUFFER, false));
}

static sup_result add_influences(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes,
                                 sup_error *error)
{
    const sup_character *character = layout->character;
    const sup_skin *skin = &character->skins[primitive->skin];
    int32_t max_count = max_influences(character, primitive), set_count = (max_count + 3) / 4;
    size_t set_size = (size_t)primitive->vertex_count * 4;
    if (max_count == 0)
        return sup_fail(error, SUP_ERROR_DATA, "output.glb.weights", primitive->name,
                        "The primitive has a skin but no weights, which glTF cannot represent: compute weights first "
                        "(sup_rig_create).");
    if (skin->bone_count > UINT16_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.glb.bones", primitive->name,
                        "The primitive's skin has %d bones; glTF supports %d.", skin->bone_count, UINT16_MAX);
    uint16_t *joints = allocate(layout, set_size * (size_t)set_count, sizeof *joints);
    float *weights = allocate(layout, set_size * (size_t)set_count, sizeof *weights);
    int32_t *bones = allocate(layout, (size_t)max_count, sizeof *bones);
    float *vertex_weights = allocate(layout, (size_t)max_count, sizeof *vertex_weights);
    if (joints == NULL || weights == NULL || bones == NULL || vertex_weights == NULL)
        return sup_fail_memory(error, "the weights");
    int32_t used = 1;
    for (int32_t v = 0; v < primitive->vertex_count; v++) {
        int32_t count = normalized_influences(character, skin, primitive->vertex_first + v, bones, vertex_weights);
        used = (count + 3) / 4 > used ? (count + 3) / 4 : used;
        for (int32_t k = 0; k < count; k++) {
            size_t at = (size_t)(k / 4) * set_size + (size_t)v * 4 + (size_t)(k % 4);
            joints[at] = (uint16_t)bones[k];
            weights[at] = vertex_weights[k];
        }
        if (count == 0)
            weights[(size_t)v * 4] = 1.0f; /* assigned to the first bone: glTF requires at least one influence */
    }
    for (int32_t set = 0; set < used; set++)
        add_set(layout, attributes, set, joints + (size_t)set * set_size, weights + (size_t)set * set_size,
                primitive->vertex_count);
    return SUP_OK;
}

/* --- Primitives --- */

static bool any_nonzero(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != 0.0f) return true;
    return false;
}

static void set_attribute(sup_glb_layout *layout, sup_json *attributes, const char *name, const float *values,
                          const sup_primitive *primitive, int32_t width, bool bounds)
{
    sup_glb_set_integer(
        &layout->tree, attributes, name,
        sup_glb_add_floats(layout, values, primitive->vertex_count, width, SUP_GLB_ARRAY_BUFFER, bounds));
}

static bool add_normals(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes)
{
    const float *from = layout->character->normals;
    if (from == NULL) return false;
    from += (size_t)primitive->vertex_first * 3;
    if (!any_nonzero(from, (size_t)primitive->vertex_count * 3)) return false;
    float *unit = allocate(layout, (size_t)primitive->vertex_count * 3, sizeof *unit);
    if (unit == NULL) return false;
    sup_glb_unit_normals(from, primitive->vertex_count, unit);
    set_attribute(layout, attributes, "NORMAL", unit, primitive, 3, false);
    return true;
}

/* Tangents are written when all tangents of a primitive are valid in glTF. */
static void add_tangents(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes)
{
    const float *from = layout->character->tangents;
    if (from == NULL) return;
    from += (size_t)primitive->vertex_first * 4;
    for (int32_t v = 0; v < primitive->vertex_count; v++) {
        const float *t = from + (size_t)v * 4;
        double length = sqrt((double)t[0] * (double)t[0] + (double)t[1] * (double)t[1] + (double)t[2] * (double)t[2]);
        if (!(fabs(length - 1.0) < 1e-5) || fabsf(t[3]) != 1.0f) return;
    }
    set_attribute(layout, attributes, "TANGENT", from, primitive, 4, false);
}

/* A surface under the skin, if any vertex has one. */
static void add_layer(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes, const char *name,
                      const float *layer)
{
    size_t first = (size_t)primitive->vertex_first * 3, count = (size_t)primitive->vertex_count * 3;
    if (layer == NULL || memcmp(layer + first, layout->character->positions + first, count * sizeof *layer) == 0)
        return;
    set_attribute(layout, attributes, name, layer + first, primitive, 3, false);
}

/* The joint of the primitive's skin that the bone surface is attached to, -1 where none. */
static void add_holders(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes)
{
    const sup_character *character = layout->character;
    if (character->bone_attachments == NULL || primitive->skin < 0) return;
    const sup_skin *skin = &character->skins[primitive->skin];
    float *numbers = allocate(layout, (size_t)primitive->vertex_count, sizeof *numbers);
    for (int32_t v = 0; numbers != NULL && v < primitive->vertex_count; v++) {
        int32_t bone = character->bone_attachments[primitive->vertex_first + v] - skin->bone_first;
        numbers[v] = bone >= 0 && bone < skin->bone_count ? (float)bone : -1.0f;
    }
    if (numbers != NULL) set_attribute(layout, attributes, "_ATTACHMENT", numbers, primitive, 1, false);
}

/* One target per slot of the mesh; zeros where the primitive has no such target. */
static void add_targets(sup_glb_character *writer, const sup_glb_node_mesh *node_mesh, int32_t p, sup_json *object,
                        bool normals, const sup_morph **slot_morphs)
{
    sup_glb_layout *layout = &writer->layout;
    const sup_character *character = layout->character;
    const sup_primitive *primitive = &character->primitives[p];
    sup_json_tree *tree = &layout->tree;
    memset(slot_morphs, 0, (size_t)character->morph_weight_count * sizeof(*slot_morphs));
    for (int32_t m = 0; m < character->morph_count; m++)
        if (character->morphs[m].primitive == p) slot_morphs[character->morphs[m].weight] = &character->morphs[m];
    for (int32_t k = 0; k < node_mesh->slot_count; k++) {
        const sup_morph *morph = slot_morphs[node_mesh->slots[k]];
        sup_json *targets = sup_json_get_or_add(tree, object, "targets", SUP_JSON_ARRAY);
        sup_json *target = sup_json_append(tree, targets, sup_json_new_object(tree));
        if (morph != NULL && morph->positions != NULL) {
            set_attribute(layout, target, "POSITION", morph->positions, primitive, 3, true);
        } else {
            sup_json *zeros = sup_glb_add_accessor(tree, 0, 0, SUP_GLB_FLOAT, primitive->vertex_count, "VEC3");
            sup_json_remove(zeros, "bufferView");
            set_bounds(tree, zeros, NULL, 0, 3);
            sup_glb_set_integer(tree, target, "POSITION", sup_glb_last_accessor(tree));
        }
        if (morph != NULL && morph->normals != NULL && normals)
            set_attribute(layout, target, "NORMAL", morph->normals, primitive, 3, false);
    }
}

/* The material of a primitive: shared with an earlier primitive of the same material, or a new one. */
static int32_t primitive_material(sup_glb_layout *layout, int32_t p, int32_t *materials)
{
    const sup_character *character = layout->character;
    const sup_primitive *primitive = &character->primitives[p];
    for (int32_t earlier = 0; earlier < p && primitive->material >= 0; earlier++)
        if (character->primitives[earlier].material == primitive->material &&
            character->primitives[earlier].vertex_count > 0)
            return materials[p] = materials[earlier];
    int32_t index = sup_json_count(sup_json_get(layout->tree.root, "materials"));
    return materials[p] =
               sup_glb_add_material(&layout->tree, primitive->name[0] != '\0' ? primitive->name : "skin", index);
}

static sup_result add_primitive(sup_glb_character *writer, const sup_glb_node_mesh *node_mesh, int32_t p,
                                sup_json *primitives, int32_t *materials, const sup_morph **slot_morphs,
                                sup_error *error)
{
    sup_glb_layout *layout = &writer->layout;
    const sup_character *character = layout->character;
    const sup_primitive *primitive = &character->primitives[p];
    const float *positions = character->positions + (size_t)primitive->vertex_first * 3;
    sup_json_tree *tree = &layout->tree;
    for (int32_t i = 0; i < primitive->vertex_count * 3; i++)
        if (!isfinite(positions[i]))
            return sup_fail(error, SUP_ERROR_DATA, "output.glb.nonfinite", primitive->name,
                            "Vertex %d of the primitive has a non-finite position.", i / 3);
    sup_json *object = sup_json_append(tree, primitives, sup_json_new_object(tree));
    sup_json *attributes = sup_json_get_or_add(tree, object, "attributes", SUP_JSON_OBJECT);
    set_attribute(layout, attributes, "POSITION", positions, primitive, 3, true);
    bool normals = add_normals(layout, primitive, attributes);
    add_tangents(layout, primitive, attributes);
    if (character->texcoords != NULL) sup_glb_add_texcoords(layout, primitive, attributes);
    add_layer(layout, primitive, attributes, "_MUSCLE", character->muscle_positions);
    add_layer(layout, primitive, attributes, "_BONE", character->bone_positions);
    add_holders(layout, primitive, attributes);
    if (primitive->triangle_count > 0)
        sup_glb_set_integer(tree, object, "indices", sup_glb_add_indices(layout, primitive, false));
    else
        sup_glb_set_integer(tree, object, "mode", 0);
    sup_glb_set_integer(tree, object, "material", primitive_material(layout, p, materials));
    if (node_mesh->slot_count > 0) add_targets(writer, node_mesh, p, object, normals, slot_morphs);
    return node_mesh->skin >= 0 ? add_influences(layout, primitive, attributes, error) : SUP_OK;
}

/* Default weights and names of a mesh's targets. */
static void describe_targets(sup_glb_character *writer, const sup_glb_node_mesh *node_mesh, sup_json *mesh)
{
    sup_json_tree *tree = &writer->layout.tree;
    const sup_character *character = writer->layout.character;
    if (node_mesh->slot_count == 0) return;
    sup_json *weights = sup_json_get_or_add(tree, mesh, "weights", SUP_JSON_ARRAY);
    sup_json *extras = sup_json_get_or_add(tree, mesh, "extras", SUP_JSON_OBJECT);
    sup_json *names = sup_json_get_or_add(tree, extras, "targetNames", SUP_JSON_ARRAY);
    for (int32_t k = 0; k < node_mesh->slot_count; k++) {
        const char *name = "";
        for (int32_t m = 0; m < character->morph_count && name[0] == '\0'; m++)
            if (character->morphs[m].weight == node_mesh->slots[k]) name = character->morphs[m].name;
        sup_json *cleaned = sup_json_new_object(tree); /* replaces invalid UTF-8 */
        sup_glb_set_text(tree, cleaned, "name", name);
        sup_json_append(tree, names, sup_json_copy(tree, sup_json_get(cleaned, "name")));
        sup_json_append(tree, weights, sup_json_new_float(tree, writer->defaults[node_mesh->slots[k]]));
    }
}

static sup_result add_meshes(sup_glb_character *writer, sup_error *error)
{
    sup_glb_layout *layout = &writer->layout;
    const sup_character *character = layout->character;
    sup_json_tree *tree = &layout->tree;
    int32_t *materials = allocate(layout, (size_t)character->primitive_count, sizeof *materials);
    const sup_morph **slot_morphs = allocate(layout, (size_t)character->morph_weight_count, sizeof(*slot_morphs));
    if (materials == NULL || slot_morphs == NULL) return sup_fail_memory(error, "the meshes");
    sup_result result = SUP_OK;
    for (int32_t g = 0; result == SUP_OK && g < writer->node_mesh_count; g++) {
        const sup_glb_node_mesh *node_mesh = &writer->node_meshes[g];
        const char *name = character->primitives[node_mesh->primitive_first].name;
        sup_json *meshes = sup_json_get_or_add(tree, tree->root, "meshes", SUP_JSON_ARRAY);
        sup_json *mesh = sup_json_append(tree, meshes, sup_json_new_object(tree));
        sup_json *node = sup_json_at(sup_json_get(tree->root, "nodes"), node_mesh->node);
        sup_glb_set_integer(tree, node, "mesh", g);
        if (node_mesh->skin >= 0) sup_glb_set_integer(tree, node, "skin", node_mesh->skin);
        if (name[0] != '\0') sup_glb_set_text(tree, mesh, "name", name);
        sup_json *primitives = sup_json_get_or_add(tree, mesh, "primitives", SUP_JSON_ARRAY);
        for (int32_t p = node_mesh->primitive_first;
             result == SUP_OK && p < node_mesh->primitive_first + node_mesh->primitive_count; p++)
            if (character->primitives[p].vertex_count > 0)
                result = add_primitive(writer, node_mesh, p, primitives, materials, slot_morphs, error);
        describe_targets(writer, node_mesh, mesh);
    }
    return result;
}

/* --- The file --- */

static sup_result layout_character(sup_glb_character *writer, sup_error *error)
{
    sup_glb_layout *layout = &writer->layout;
    sup_json_tree *tree = &layout->tree;
    tree->root = sup_json_new_object(tree);
    sup_glb_set_asset(tree);
    sup_result result = sup_glb_set_extras(layout, error);
    if (result != SUP_OK) return result;
    add_nodes(layout);
    result = add_skins(layout, error);
    if (result == SUP_OK) result = make_node_meshes(writer, error);
    if (result == SUP_OK) result = add_meshes(writer, error);
    if (result == SUP_OK) result = sup_glb_add_clips(writer, error);
    if (result != SUP_OK) return result;
    if (layout->fixed_size > 0) {
        sup_json *buffers = sup_json_get_or_add(tree, tree->root, "buffers", SUP_JSON_ARRAY);
        sup_json *buffer = sup_json_append(tree, buffers, sup_json_new_object(tree));
        sup_glb_set_integer(tree, buffer, "byteLength", (int64_t)layout->fixed_size);
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
static sup_result assemble(const sup_glb_layout *layout, const sup_array *text, sup_memory_file *file, sup_error *error)
{
    enum { HEADER = 12, CHUNK = 8, MAGIC = 0x46546c67, JSON = 0x4e4f534a, BIN = 0x004e4942 };
    uint64_t json_size = ((uint64_t)text->count + 3) / 4 * 4;
    uint64_t total = HEADER + CHUNK + json_size + (layout->fixed_size > 0 ? CHUNK + layout->fixed_size : 0);
    if (total > UINT32_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.glb.size", layout->character->name,
                        "The character needs %.3g GB, but a GLB file is limited to 4 GiB.", (double)total * 1e-9);
    file->data = sup_alloc_zero(&file->allocator, (size_t)total);
    if (file->data == NULL) return sup_fail_memory(error, "the file");
    file->size = (size_t)total;
    unsigned char *at = put_u32(put_u32(put_u32(file->data, MAGIC), 2), (uint32_t)total);
    at = put_u32(put_u32(at, (uint32_t)json_size), JSON);
    memset(at, ' ', (size_t)json_size);
    memcpy(at, text->data, text->count);
    at += json_size;
    if (layout->fixed_size == 0) return SUP_OK;
    at = put_u32(put_u32(at, (uint32_t)layout->fixed_size), BIN);
    const sup_glb_blob *blobs = (const sup_glb_blob *)(const void *)layout->blobs.data;
    for (size_t i = 0; i < layout->blobs.count; i++) {
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
                        "sup_character_save_memory: character and file must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    const sup_allocator *allocator = &resolved.allocator;
    sup_memory_file *made = sup_alloc_zero(allocator, sizeof *made);
    if (made == NULL) return sup_fail_memory(error, "the file");
    made->allocator = *allocator;
    sup_glb_character writer = {.layout = {.context = &resolved, .character = character}};
    sup_glb_layout *layout = &writer.layout;
    layout->arena = sup_arena_create(allocator);
    layout->tree = sup_json_tree_create(allocator);
    layout->blobs.item_size = sizeof(sup_glb_blob);
    sup_array text = {.item_size = 1};
    sup_result result = layout_character(&writer, error);
    if (result == SUP_OK && !sup_json_write(layout->tree.root, allocator, &text))
        result = sup_fail_memory(error, "the document");
    if (result == SUP_OK) result = assemble(layout, &text, made, error);
    sup_array_free(allocator, &text);
    sup_array_free(allocator, &layout->blobs);
    sup_json_tree_destroy(&layout->tree);
    sup_arena_destroy(&layout->arena);
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
                        "sup_character_save: character and path must not be NULL.");
    sup_memory_file *file = NULL;
    sup_result result = sup_character_save_memory(context, character, &file, error);
    if (result != SUP_OK) return result;
    result = sup_file_out_save(path, (sup_bytes){file->data, file->size}, error);
    sup_memory_file_destroy(file);
    return result;
}
