/* glb_document.c - the plan of a GLB from the document that the character came with.
 *
 * Every mesh instance becomes a mesh of its own on a new root node without a transform, because its vertices are in
 * world space; the old node keeps everything else. Skins, joint attributes, old morph targets, tangents and animations
 * are superseded and go; viewers make tangents for normal maps themselves, and those fit every frame. Materials,
 * textures, cameras, lights, other nodes and extras stay. */
#include "load/document.h"
#include "output/glb.h"

#include <math.h>

/* Attributes that go on as they are. */
static bool is_kept_attribute(const char *name)
{
    return strncmp(name, "TEXCOORD_", 9) == 0 || strncmp(name, "COLOR_", 6) == 0 || name[0] == '_';
}

static void remove_extension(sup_json *object, const char *name)
{
    sup_json *extensions = sup_json_get(object, "extensions");
    sup_json_remove(extensions, name);
    if (extensions != NULL && sup_json_count(extensions) == 0) sup_json_remove(object, "extensions");
}

/* The attributes of a primitive that the frames do not make. */
static sup_json *keep_attributes(sup_glb_keep *keep, const sup_json *old, int64_t count)
{
    sup_json_tree *tree = &keep->plan->tree;
    sup_json *attributes = sup_json_new_object(tree);
    for (int32_t i = 0; i < sup_json_count(old); i++) {
        const sup_json *attribute = old->of.items[i];
        if (!is_kept_attribute(attribute->key)) continue;
        sup_glb_use use = attribute->key[0] == 'C' ? SUP_GLB_USE_COLOUR : SUP_GLB_USE_ATTRIBUTE;
        int32_t made = sup_glb_keep_accessor(keep, attribute, use, count);
        if (made >= 0) sup_glb_set_integer(tree, attributes, attribute->key, made);
    }
    return attributes;
}

/* A primitive of the input without what is superseded. */
static sup_json *bake_primitive(sup_glb_keep *keep, const sup_json *source, int32_t p)
{
    sup_json_tree *tree = &keep->plan->tree;
    const sup_character *character = keep->plan->character;
    const sup_primitive *part = &character->primitives[p];
    const sup_json *old_attributes = sup_json_get(source, "attributes");
    sup_json *primitive = sup_json_copy(tree, source);
    sup_json_remove(primitive, "targets");
    remove_extension(primitive, "KHR_draco_mesh_compression");
    sup_json_set(tree, primitive, "attributes", keep_attributes(keep, old_attributes, part->vertex_count));
    keep->plan->parts[p].normals = sup_json_get(old_attributes, "NORMAL") != NULL;
    bool mirrored = part->triangle_count > 0 && sup_primitive_is_mirrored(character, part);
    int32_t indices = -1;
    if (mirrored) {
        indices = sup_glb_add_indices(keep->plan, part, true);
        sup_json_remove(primitive, "mode"); /* strips and fans are triangles in the character */
    } else if (sup_json_get(source, "indices") != NULL) {
        indices = sup_glb_keep_accessor(keep, sup_json_get(source, "indices"), SUP_GLB_USE_INDICES, -1);
    }
    sup_json_remove(primitive, "indices");
    if (indices >= 0) sup_glb_set_integer(tree, primitive, "indices", indices);
    return primitive;
}

/* A mesh of the input without its primitives and old morph targets. */
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

/* True when a scene shows a node: it lists it or one of those above it. */
static bool scene_shows(const sup_character *character, const sup_json *scene, int32_t node)
{
    const sup_json *roots = sup_json_get(scene, "nodes");
    for (; node >= 0; node = character->nodes[node].parent)
        for (int32_t i = 0; i < sup_json_count(roots); i++) {
            int64_t root = -1;
            if (sup_json_integer(sup_json_at(roots, i), &root) && root == node) return true;
        }
    return false;
}

/* The new root node of a mesh, in every scene that shows the old one. */
static void add_root(sup_glb_keep *keep, const sup_glb_mesh *group, const char *name)
{
    sup_json_tree *tree = &keep->plan->tree;
    int32_t old = keep->plan->character->primitives[group->part_first].node;
    sup_json *nodes = sup_json_need(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    const sup_json *scenes = sup_json_get(tree->root, "scenes");
    sup_json *node = sup_json_append(tree, nodes, sup_json_new_object(tree));
    if (name != NULL && name[0] != '\0') sup_glb_set_text(tree, node, "name", name);
    sup_glb_set_integer(tree, node, "mesh", group->mesh);
    for (int32_t s = 0; s < sup_json_count(scenes); s++) {
        sup_json *scene = sup_json_at(scenes, s);
        if (!scene_shows(keep->plan->character, scene, old)) continue;
        sup_json *roots = sup_json_need(tree, scene, "nodes", SUP_JSON_ARRAY);
        sup_json_append(tree, roots, sup_json_new_integer(tree, group->node));
    }
}

static void bake_meshes(sup_glb_keep *keep, const sup_json *old_meshes, sup_json *meshes)
{
    sup_glb_plan *plan = keep->plan;
    const sup_character *character = plan->character;
    for (int32_t m = 0; m < plan->mesh_count; m++) {
        const sup_glb_mesh *group = &plan->meshes[m];
        const sup_primitive *first = &character->primitives[group->part_first];
        const sup_json *source = sup_json_at(old_meshes, first->mesh);
        const sup_json *primitives = sup_json_get(source, "primitives");
        sup_json *mesh = sup_json_append(&plan->tree, meshes, copy_mesh(&plan->tree, source));
        for (int32_t p = group->part_first; p < group->part_first + group->part_count; p++)
            if (plan->parts[p].mesh >= 0)
                sup_json_append(&plan->tree, sup_json_get(mesh, "primitives"),
                                bake_primitive(keep, sup_json_at(primitives, character->primitives[p].primitive), p));
        const char *name = character->nodes[first->node].name;
        add_root(keep, group, name[0] != '\0' ? name : sup_json_text(sup_json_get(mesh, "name")));
    }
}

/* glTF wants unit quaternions; the reader has normalised its own copy. */
static void nearest_rotation(sup_json_tree *tree, sup_json *node)
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
    sup_json *mended = sup_json_new_array(tree);
    for (int i = 0; i < 4; i++)
        sup_json_append(tree, mended, sup_json_new_double(tree, length > 0.0 ? q[i] / length : (i == 3 ? 1.0 : 0.0)));
    sup_json_set(tree, node, "rotation", mended);
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
        nearest_rotation(tree, node);
    }
}

/* Lists without items are not allowed in glTF. */
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

/* A document without scenes gets one of all its roots, so that viewers have something to show. */
static void need_scene(sup_glb_plan *plan)
{
    sup_json_tree *tree = &plan->tree;
    if (sup_json_count(sup_json_get(tree->root, "scenes")) > 0) return;
    sup_json *scenes = sup_json_need(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    sup_json *roots = sup_json_need(tree, scene, "nodes", SUP_JSON_ARRAY);
    for (int32_t i = 0; i < plan->character->node_count; i++)
        if (plan->character->nodes[i].parent < 0) sup_json_append(tree, roots, sup_json_new_integer(tree, i));
    sup_glb_set_integer(tree, tree->root, "scene", 0);
}

sup_result sup_glb_plan_document(sup_glb_plan *plan, sup_error *error)
{
    const struct sup_document *document = plan->character->document;
    sup_json_tree *tree = &plan->tree;
    sup_result result = sup_json_parse(tree, plan->character->name, document->json, error);
    if (result != SUP_OK) return result;
    sup_json *root = tree->root;
    int32_t node_count = sup_json_count(sup_json_get(root, "nodes"));
    result = sup_glb_plan_meshes(plan, node_count, error);
    if (result != SUP_OK) return result;
    const sup_json *old_meshes = sup_json_get(root, "meshes");
    sup_glb_keep keep = {.plan = plan, .document = document};
    keep.accessors = sup_json_get(root, "accessors");
    keep.views = sup_json_get(root, "bufferViews");
    size_t accessors = (size_t)sup_json_count(keep.accessors), views = (size_t)document->view_count;
    keep.accessor_map = sup_arena_alloc(&plan->arena, accessors, sizeof *keep.accessor_map);
    keep.view_map = sup_arena_alloc(&plan->arena, views, sizeof *keep.view_map);
    if (keep.accessor_map == NULL || keep.view_map == NULL) return sup_fail_memory(error, "the document");
    memset(keep.accessor_map, -1, accessors * sizeof *keep.accessor_map);
    memset(keep.view_map, -1, views * sizeof *keep.view_map);
    static const char *const replaced[] = {"accessors", "bufferViews", "buffers", "skins", "animations", "meshes"};
    for (int32_t i = 0; i < SUP_COUNT(replaced); i++)
        sup_json_remove(root, replaced[i]); /* the values themselves live on in the tree's arena */
    sup_json *meshes = sup_json_need(tree, root, "meshes", SUP_JSON_ARRAY);
    sup_glb_set_asset(tree);
    need_scene(plan);
    bake_meshes(&keep, old_meshes, meshes);
    strip_nodes(tree, node_count);
    sup_glb_keep_images(&keep);
    sup_glb_keep_extensions(&keep);
    if (tree->failed) return sup_fail_memory(error, "the document");
    remove_empty_lists(root);
    return SUP_OK;
}
