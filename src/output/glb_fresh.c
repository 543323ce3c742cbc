/* glb_fresh.c - a minimal document with plain materials, for characters without a source document. */
#include "output/glb.h"

#include <math.h>

/* Base colours, linear RGB: a warm grey for the first primitive, then muted colours for the others. */
static const float colours[][3] = {
    {0.60f, 0.47f, 0.40f}, {0.33f, 0.42f, 0.50f}, {0.52f, 0.50f, 0.42f},
    {0.42f, 0.30f, 0.28f}, {0.36f, 0.46f, 0.36f}, {0.48f, 0.40f, 0.52f},
};

static const char *primitive_name(const sup_primitive *primitive, const char *default_value)
{
    return primitive->name[0] != '\0' ? primitive->name : default_value;
}

int32_t sup_glb_add_material(sup_json_tree *tree, const char *name, int32_t index)
{
    sup_json *materials = sup_json_get_or_add(tree, tree->root, "materials", SUP_JSON_ARRAY);
    sup_json *material = sup_json_append(tree, materials, sup_json_new_object(tree));
    sup_glb_set_text(tree, material, "name", name);
    sup_json *surface = sup_json_get_or_add(tree, material, "pbrMetallicRoughness", SUP_JSON_OBJECT);
    sup_json *colour = sup_json_get_or_add(tree, surface, "baseColorFactor", SUP_JSON_ARRAY);
    for (int i = 0; i < 3; i++)
        sup_json_append(tree, colour, sup_json_new_float(tree, colours[index % SUP_COUNT(colours)][i]));
    sup_json_append(tree, colour, sup_json_new_integer(tree, 1));
    sup_glb_set_integer(tree, surface, "metallicFactor", 0);
    sup_json_set(tree, surface, "roughnessFactor", sup_json_new_float(tree, 0.7f));
    sup_json_set(tree, material, "doubleSided", sup_json_new_bool(tree, true)); /* open surfaces */
    return sup_json_count(materials) - 1;
}

void sup_glb_add_texcoords(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes)
{
    size_t count = (size_t)primitive->vertex_count * 2;
    const float *source = layout->character->texcoords + (size_t)primitive->vertex_first * 2;
    float *copy = sup_arena_alloc(&layout->arena, count, sizeof *copy);
    if (copy == NULL) {
        layout->tree.failed = true;
        return;
    }
    bool used = false;
    for (size_t i = 0; i < count; i++) {
        copy[i] = isfinite(source[i]) ? source[i] : 0.0f;
        used = used || copy[i] != 0.0f;
    }
    if (!used) return;
    int32_t view = sup_glb_add_view(layout, copy, count * sizeof *copy, 0, SUP_GLB_ARRAY_BUFFER);
    sup_glb_add_accessor(&layout->tree, view, 0, SUP_GLB_FLOAT, primitive->vertex_count, "VEC2");
    sup_glb_set_integer(&layout->tree, attributes, "TEXCOORD_0", sup_glb_last_accessor(&layout->tree));
}

static void add_primitive(sup_glb_layout *layout, sup_json *primitives, int32_t p)
{
    sup_json_tree *tree = &layout->tree;
    const sup_primitive *primitive = &layout->character->primitives[p];
    sup_json *object = sup_json_append(tree, primitives, sup_json_new_object(tree));
    sup_json *attributes = sup_json_get_or_add(tree, object, "attributes", SUP_JSON_OBJECT);
    if (layout->character->texcoords != NULL) sup_glb_add_texcoords(layout, primitive, attributes);
    if (primitive->triangle_count > 0)
        sup_glb_set_integer(
            tree, object, "indices",
            sup_glb_add_indices(layout, primitive, sup_primitive_is_mirrored(layout->character, primitive)));
    else
        sup_glb_set_integer(tree, object, "mode", 0); /* points */
    int32_t index = sup_json_count(sup_json_get(tree->root, "materials"));
    sup_glb_set_integer(tree, object, "material", sup_glb_add_material(tree, primitive_name(primitive, "skin"), index));
}

sup_result sup_glb_layout_without_document(sup_glb_layout *layout, sup_error *error)
{
    sup_json_tree *tree = &layout->tree;
    const sup_character *character = layout->character;
    tree->root = sup_json_new_object(tree);
    sup_glb_set_asset(tree);
    sup_result result = sup_glb_set_extras(layout, error);
    if (result == SUP_OK) result = sup_glb_layout_meshes(layout, 0, error);
    if (result != SUP_OK) return result;
    sup_glb_set_integer(tree, tree->root, "scene", 0);
    sup_json *scenes = sup_json_get_or_add(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    if (character->name[0] != '\0') sup_glb_set_text(tree, scene, "name", character->name);
    sup_json *roots = sup_json_get_or_add(tree, scene, "nodes", SUP_JSON_ARRAY);
    sup_json *nodes = sup_json_get_or_add(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    sup_json *meshes = sup_json_get_or_add(tree, tree->root, "meshes", SUP_JSON_ARRAY);
    for (int32_t m = 0; m < layout->mesh_count; m++) {
        const sup_glb_mesh *output_mesh = &layout->meshes[m];
        const sup_primitive *first = &character->primitives[output_mesh->primitive_first];
        const char *node_name = character->nodes[first->node].name;
        sup_json *mesh = sup_json_append(tree, meshes, sup_json_new_object(tree));
        sup_glb_set_text(tree, mesh, "name", primitive_name(first, "skin"));
        sup_json *primitives = sup_json_get_or_add(tree, mesh, "primitives", SUP_JSON_ARRAY);
        for (int32_t p = output_mesh->primitive_first; p < output_mesh->primitive_first + output_mesh->primitive_count;
             p++)
            if (layout->primitives[p].mesh >= 0) add_primitive(layout, primitives, p);
        sup_json *node = sup_json_append(tree, nodes, sup_json_new_object(tree));
        sup_glb_set_text(tree, node, "name", node_name[0] != '\0' ? node_name : primitive_name(first, "skin"));
        sup_glb_set_integer(tree, node, "mesh", output_mesh->mesh);
        sup_json_append(tree, roots, sup_json_new_integer(tree, output_mesh->node));
    }
    return tree->failed ? sup_fail_memory(error, "the document") : SUP_OK;
}
