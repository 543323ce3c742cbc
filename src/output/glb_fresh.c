/* glb_fresh.c - a document for characters that came without one: plain, with a material that is good to look at. */
#include "output/glb.h"

#include <math.h>

/* Base colours, linear: a warm grey for the first part, then muted tones to tell the others apart. */
static const float colours[][3] = {
    {0.60f, 0.47f, 0.40f}, {0.33f, 0.42f, 0.50f}, {0.52f, 0.50f, 0.42f},
    {0.42f, 0.30f, 0.28f}, {0.36f, 0.46f, 0.36f}, {0.48f, 0.40f, 0.52f},
};

static const char *part_name(const sup_primitive *part, const char *default_value)
{
    return part->name[0] != '\0' ? part->name : default_value;
}

int32_t sup_glb_add_material(sup_json_tree *tree, const char *name, int32_t index)
{
    sup_json *materials = sup_json_need(tree, tree->root, "materials", SUP_JSON_ARRAY);
    sup_json *material = sup_json_append(tree, materials, sup_json_new_object(tree));
    sup_glb_set_text(tree, material, "name", name);
    sup_json *surface = sup_json_need(tree, material, "pbrMetallicRoughness", SUP_JSON_OBJECT);
    sup_json *colour = sup_json_need(tree, surface, "baseColorFactor", SUP_JSON_ARRAY);
    for (int i = 0; i < 3; i++)
        sup_json_append(tree, colour, sup_json_new_float(tree, colours[index % SUP_COUNT(colours)][i]));
    sup_json_append(tree, colour, sup_json_new_integer(tree, 1));
    sup_glb_set_integer(tree, surface, "metallicFactor", 0);
    sup_json_set(tree, surface, "roughnessFactor", sup_json_new_float(tree, 0.7f));
    sup_json_set(tree, material, "doubleSided", sup_json_new_bool(tree, true)); /* scans and clothes are open */
    return sup_json_count(materials) - 1;
}

void sup_glb_add_texcoords(sup_glb_plan *plan, const sup_primitive *part, sup_json *attributes)
{
    size_t count = (size_t)part->vertex_count * 2;
    const float *source = plan->character->texcoords + (size_t)part->vertex_first * 2;
    float *copy = sup_arena_alloc(&plan->arena, count, sizeof *copy);
    if (copy == NULL) {
        plan->tree.failed = true;
        return;
    }
    bool used = false;
    for (size_t i = 0; i < count; i++) {
        copy[i] = isfinite(source[i]) ? source[i] : 0.0f;
        used = used || copy[i] != 0.0f;
    }
    if (!used) return;
    int32_t view = sup_glb_add_view(plan, copy, count * sizeof *copy, 0, SUP_GLB_ARRAY_BUFFER);
    sup_glb_add_accessor(&plan->tree, view, 0, SUP_GLB_FLOAT, part->vertex_count, "VEC2");
    sup_glb_set_integer(&plan->tree, attributes, "TEXCOORD_0", sup_glb_last_accessor(&plan->tree));
}

static void add_primitive(sup_glb_plan *plan, sup_json *primitives, int32_t p)
{
    sup_json_tree *tree = &plan->tree;
    const sup_primitive *part = &plan->character->primitives[p];
    sup_json *primitive = sup_json_append(tree, primitives, sup_json_new_object(tree));
    sup_json *attributes = sup_json_need(tree, primitive, "attributes", SUP_JSON_OBJECT);
    if (plan->character->texcoords != NULL) sup_glb_add_texcoords(plan, part, attributes);
    if (part->triangle_count > 0)
        sup_glb_set_integer(tree, primitive, "indices",
                            sup_glb_add_indices(plan, part, sup_primitive_is_mirrored(plan->character, part)));
    else
        sup_glb_set_integer(tree, primitive, "mode", 0); /* points: as triangles they would be nonsense */
    int32_t index = sup_json_count(sup_json_get(tree->root, "materials"));
    sup_glb_set_integer(tree, primitive, "material", sup_glb_add_material(tree, part_name(part, "skin"), index));
}

sup_result sup_glb_plan_fresh(sup_glb_plan *plan, sup_error *error)
{
    sup_json_tree *tree = &plan->tree;
    const sup_character *character = plan->character;
    tree->root = sup_json_new_object(tree);
    sup_glb_set_asset(tree);
    sup_result result = sup_glb_set_extras(plan, error);
    if (result == SUP_OK) result = sup_glb_plan_meshes(plan, 0, error);
    if (result != SUP_OK) return result;
    sup_glb_set_integer(tree, tree->root, "scene", 0);
    sup_json *scenes = sup_json_need(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    if (character->name[0] != '\0') sup_glb_set_text(tree, scene, "name", character->name);
    sup_json *roots = sup_json_need(tree, scene, "nodes", SUP_JSON_ARRAY);
    sup_json *nodes = sup_json_need(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    sup_json *meshes = sup_json_need(tree, tree->root, "meshes", SUP_JSON_ARRAY);
    for (int32_t m = 0; m < plan->mesh_count; m++) {
        const sup_glb_mesh *group = &plan->meshes[m];
        const sup_primitive *first = &character->primitives[group->part_first];
        const char *node_name = character->nodes[first->node].name;
        sup_json *mesh = sup_json_append(tree, meshes, sup_json_new_object(tree));
        sup_glb_set_text(tree, mesh, "name", part_name(first, "skin"));
        sup_json *primitives = sup_json_need(tree, mesh, "primitives", SUP_JSON_ARRAY);
        for (int32_t p = group->part_first; p < group->part_first + group->part_count; p++)
            if (plan->parts[p].mesh >= 0) add_primitive(plan, primitives, p);
        sup_json *node = sup_json_append(tree, nodes, sup_json_new_object(tree));
        sup_glb_set_text(tree, node, "name", node_name[0] != '\0' ? node_name : part_name(first, "skin"));
        sup_glb_set_integer(tree, node, "mesh", group->mesh);
        sup_json_append(tree, roots, sup_json_new_integer(tree, group->node));
    }
    return tree->failed ? sup_fail_memory(error, "the document") : SUP_OK;
}
