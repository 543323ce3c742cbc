/* glb_document.c - the layout of a GLB from the source document of the character.
 *
 * Every mesh instance becomes a separate mesh on a new root node without a transform, because its vertices are in world
 * space; the old node keeps all other members. Skins, joint attributes, old morph targets, tangents and animations are
 * removed; viewers compute tangents for normal maps, which then fit every frame. Materials, textures, cameras, lights,
 * other nodes and extras are kept. */
#include "load/document.h"
#include "output/glb.h"

#include <math.h>

/* Attributes that are copied unchanged. */
static bool is_copied_attribute(const char *name)
{
    return strncmp(name, "TEXCOORD_", 9) == 0 || strncmp(name, "COLOR_", 6) == 0 || name[0] == '_';
}

static void remove_extension(sup_json *object, const char *name)
{
    sup_json *extensions = sup_json_get(object, "extensions");
    sup_json_remove(extensions, name);
    if (extensions != NULL && sup_json_count(extensions) == 0) sup_json_remove(object, "extensions");
}

/* Copies the attributes of a primitive that do not depend on the frames. */
static sup_json *copy_attributes(sup_glb_copy *copy, const sup_json *old, int64_t count)
{
    sup_json_tree *tree = &copy->layout->tree;
    sup_json *attributes = sup_json_new_object(tree);
    for (int32_t i = 0; i < sup_json_count(old); i++) {
        const sup_json *attribute = old->of.items[i];
        if (!is_copied_attribute(attribute->key)) continue;
        sup_glb_use use = attribute->key[0] == 'C' ? SUP_GLB_USE_COLOUR : SUP_GLB_USE_ATTRIBUTE;
        int32_t made = sup_glb_copy_accessor(copy, attribute, use, count);
        if (made >= 0) sup_glb_set_integer(tree, attributes, attribute->key, made);
    }
    return attributes;
}

/* Copies a primitive of the input without the members that the baked frames replace. */
static sup_json *bake_primitive(sup_glb_copy *copy, const sup_json *source, int32_t p)
{
    sup_json_tree *tree = &copy->layout->tree;
    const sup_character *character = copy->layout->character;
    const sup_primitive *primitive = &character->primitives[p];
    const sup_json *old_attributes = sup_json_get(source, "attributes");
    sup_json *object = sup_json_copy(tree, source);
    sup_json_remove(object, "targets");
    remove_extension(object, "KHR_draco_mesh_compression");
    sup_json_set(tree, object, "attributes", copy_attributes(copy, old_attributes, primitive->vertex_count));
    copy->layout->primitives[p].normals = sup_json_get(old_attributes, "NORMAL") != NULL;
    bool mirrored = primitive->triangle_count > 0 && sup_primitive_is_mirrored(character, primitive);
    int32_t indices = -1;
    if (mirrored) {
        indices = sup_glb_add_indices(copy->layout, primitive, true);
        sup_json_remove(object, "mode"); /* strips and fans are triangle lists in the character */
    } else if (sup_json_get(source, "indices") != NULL) {
        indices = sup_glb_copy_accessor(copy, sup_json_get(source, "indices"), SUP_GLB_USE_INDICES, -1);
    }
    sup_json_remove(object, "indices");
    if (indices >= 0) sup_glb_set_integer(tree, object, "indices", indices);
    return object;
}

/* Copies a mesh of the input without its primitives and morph targets. */
static sup_json *copy_mesh(sup_json_tree *tree, const sup_json *source)
{
    sup_json *mesh = sup_json_copy(tree, source);
    if (!sup_json_is(mesh, SUP_JSON_OBJECT)) mesh = sup_json_new_object(tree);
    sup_json_set(tree, mesh, "primitives", sup_json_new_array(tree));
    sup_json_remove(mesh, "weights");
    sup_json *extras = sup_json_get(mesh, "extras");
    sup_json_remove(extras, "targetNames");
    if (sup_json_is(extras, SUP_JSON_OBJECT) && sup_json_count(extras) == 0) sup_json_remove(mesh, "extras");
    return mesh;
}

/* True when a scene contains a node: it lists the node or one of its ancestors. */
static bool scene_contains(const sup_character *character, const sup_json *scene, int32_t node)
{
    const sup_json *roots = sup_json_get(scene, "nodes");
    for (; node >= 0; node = character->nodes[node].parent)
        for (int32_t i = 0; i < sup_json_count(roots); i++) {
            int64_t root = -1;
            if (sup_json_integer(sup_json_at(roots, i), &root) && root == node) return true;
        }
    return false;
}

/* Adds the new root node of a mesh to every scene that contains the old node. */
static void add_root(sup_glb_copy *copy, const sup_glb_mesh *output_mesh, const char *name)
{
    sup_json_tree *tree = &copy->layout->tree;
    int32_t old = copy->layout->character->primitives[output_mesh->primitive_first].node;
    sup_json *nodes = sup_json_get_or_add(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    const sup_json *scenes = sup_json_get(tree->root, "scenes");
    sup_json *node = sup_json_append(tree, nodes, sup_json_new_object(tree));
    if (name != NULL && name[0] != '\0') sup_glb_set_text(tree, node, "name", name);
    sup_glb_set_integer(tree, node, "mesh", output_mesh->mesh);
    for (int32_t s = 0; s < sup_json_count(scenes); s++) {
        sup_json *scene = sup_json_at(scenes, s);
        if (!scene_contains(copy->layout->character, scene, old)) continue;
        sup_json *roots = sup_json_get_or_add(tree, scene, "nodes", SUP_JSON_ARRAY);
        sup_json_append(tree, roots, sup_json_new_integer(tree, output_mesh->node));
    }
}

static void bake_meshes(sup_glb_copy *copy, const sup_json *old_meshes, sup_json *meshes)
{
    sup_glb_layout *layout = copy->layout;
    const sup_character *character = layout->character;
    for (int32_t m = 0; m < layout->mesh_count; m++) {
        const sup_glb_mesh *output_mesh = &layout->meshes[m];
        const sup_primitive *first = &character->primitives[output_mesh->primitive_first];
        const sup_json *source = sup_json_at(old_meshes, first->mesh);
        const sup_json *primitives = sup_json_get(source, "primitives");
        sup_json *mesh = sup_json_append(&layout->tree, meshes, copy_mesh(&layout->tree, source));
        for (int32_t p = output_mesh->primitive_first; p < output_mesh->primitive_first + output_mesh->primitive_count;
             p++)
            if (layout->primitives[p].mesh >= 0)
                sup_json_append(
                    &layout->tree, sup_json_get(mesh, "primitives"),
                    bake_primitive(copy, sup_json_at(primitives, character->primitives[p].index_in_mesh), p));
        const char *name = character->nodes[first->node].name;
        add_root(copy, output_mesh, name[0] != '\0' ? name : sup_json_text(sup_json_get(mesh, "name")));
    }
}

/* glTF requires unit quaternions; the reader only normalised the character's copy. */
static void normalize_rotation(sup_json_tree *tree, sup_json *node)
{
    const sup_json *rotation = sup_json_get(node, "rotation");
    double q[4] = {0.0, 0.0, 0.0, 1.0}, length = 0.0;
    if (sup_json_count(rotation) != 4) return;
    for (int i = 0; i < 4; i++) {
        sup_json_double(sup_json_at(rotation, i), &q[i]);
        length += q[i] * q[i];
    }
    length = sqrt(length);
    if (fabs(length - 1.0) < 1e-5) return;
    sup_json *normalized = sup_json_new_array(tree);
    for (int i = 0; i < 4; i++)
        sup_json_append(tree, normalized,
                        sup_json_new_double(tree, length > 0.0 ? q[i] / length : (i == 3 ? 1.0 : 0.0)));
    sup_json_set(tree, node, "rotation", normalized);
}

static void strip_nodes(sup_json_tree *tree, int32_t node_count)
{
    const sup_json *nodes = sup_json_get(tree->root, "nodes");
    for (int32_t i = 0; i < node_count; i++) {
        sup_json *node = sup_json_at(nodes, i);
        sup_json_remove(node, "mesh");
        sup_json_remove(node, "skin");
        sup_json_remove(node, "weights");
        remove_extension(node, "EXT_mesh_gpu_instancing");
        if (sup_json_get(node, "children") != NULL && sup_json_count(sup_json_get(node, "children")) == 0)
            sup_json_remove(node, "children");
        normalize_rotation(tree, node);
    }
}

/* glTF does not allow empty arrays. */
static void remove_empty_lists(sup_json *root)
{
    for (uint32_t i = root->count; i > 0; i--) {
        const sup_json *member = root->of.items[i - 1];
        if (sup_json_is(member, SUP_JSON_ARRAY) && member->count == 0) sup_json_remove(root, member->key);
    }
    const sup_json *scenes = sup_json_get(root, "scenes");
    for (int32_t s = 0; s < sup_json_count(scenes); s++) {
        sup_json *scene = sup_json_at(scenes, s);
        if (sup_json_get(scene, "nodes") != NULL && sup_json_count(sup_json_get(scene, "nodes")) == 0)
            sup_json_remove(scene, "nodes");
    }
}

/* Adds a scene with all root nodes to a document without scenes, so that viewers show it. */
static void ensure_scene(sup_glb_layout *layout)
{
    sup_json_tree *tree = &layout->tree;
    if (sup_json_count(sup_json_get(tree->root, "scenes")) > 0) return;
    sup_json *scenes = sup_json_get_or_add(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    sup_json *roots = sup_json_get_or_add(tree, scene, "nodes", SUP_JSON_ARRAY);
    for (int32_t i = 0; i < layout->character->node_count; i++)
        if (layout->character->nodes[i].parent < 0) sup_json_append(tree, roots, sup_json_new_integer(tree, i));
    sup_glb_set_integer(tree, tree->root, "scene", 0);
}

sup_result sup_glb_layout_from_document(sup_glb_layout *layout, sup_error *error)
{
    const struct sup_document *document = layout->character->document;
    sup_json_tree *tree = &layout->tree;
    sup_result result = sup_json_parse(tree, layout->character->name, document->json, error);
    if (result != SUP_OK) return result;
    sup_json *root = tree->root;
    int32_t node_count = sup_json_count(sup_json_get(root, "nodes"));
    result = sup_glb_layout_meshes(layout, node_count, error);
    if (result != SUP_OK) return result;
    const sup_json *old_meshes = sup_json_get(root, "meshes");
    sup_glb_copy copy = {.layout = layout, .document = document};
    copy.accessors = sup_json_get(root, "accessors");
    copy.views = sup_json_get(root, "bufferViews");
    size_t accessors = (size_t)sup_json_count(copy.accessors), views = (size_t)document->view_count;
    copy.accessor_map = sup_arena_alloc(&layout->arena, accessors, sizeof *copy.accessor_map);
    copy.view_map = sup_arena_alloc(&layout->arena, views, sizeof *copy.view_map);
    if (copy.accessor_map == NULL || copy.view_map == NULL) return sup_fail_memory(error, "the document");
    memset(copy.accessor_map, -1, accessors * sizeof *copy.accessor_map);
    memset(copy.view_map, -1, views * sizeof *copy.view_map);
    static const char *const replaced[] = {"accessors", "bufferViews", "buffers", "skins", "animations", "meshes"};
    for (int32_t i = 0; i < SUP_COUNT(replaced); i++)
        sup_json_remove(root, replaced[i]); /* the values stay valid in the tree's arena */
    sup_json *meshes = sup_json_get_or_add(tree, root, "meshes", SUP_JSON_ARRAY);
    sup_glb_set_asset(tree);
    ensure_scene(layout);
    bake_meshes(&copy, old_meshes, meshes);
    strip_nodes(tree, node_count);
    sup_glb_copy_images(&copy);
    sup_glb_copy_extensions(&copy);
    if (tree->failed) return sup_fail_memory(error, "the document");
    remove_empty_lists(root);
    return SUP_OK;
}
