/* glb_extensions.c - extensions of the source document: copies the bufferViews they refer to, and lists those still in
 * use. */
#include "output/glb.h"

typedef struct visit {
    sup_json *value;
    bool inside; /* inside an extension */
} visit;

typedef struct walk {
    sup_glb_copy *copy;
    const sup_allocator *allocator;
    sup_array stack; /* visit */
    sup_array used;  /* const char *, names of extensions */
} walk;

static bool is_used(const walk *w, const char *name)
{
    const char *const *names = (const char *const *)(const void *)w->used.data;
    for (size_t i = 0; i < w->used.count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static void add_used(walk *w, const char *name)
{
    if (is_used(w, name)) return;
    const char **slot = sup_array_push(w->allocator, &w->used, 1);
    if (slot != NULL)
        *slot = name;
    else
        w->copy->layout->tree.failed = true;
}

static void push(walk *w, sup_json *value, bool inside)
{
    if (!sup_json_is(value, SUP_JSON_ARRAY) && !sup_json_is(value, SUP_JSON_OBJECT)) return;
    visit *slot = sup_array_push(w->allocator, &w->stack, 1);
    if (slot != NULL)
        *slot = (visit){value, inside};
    else
        w->copy->layout->tree.failed = true;
}

/* Copies a bufferView that an extension refers to; removes the reference if it does not exist. */
static void copy_view(walk *w, sup_json *object)
{
    const sup_json *view = sup_json_get(object, "bufferView");
    if (!sup_json_is(view, SUP_JSON_NUMBER)) return;
    int32_t made = sup_glb_copy_view(w->copy, view);
    if (made >= 0)
        sup_glb_set_integer(&w->copy->layout->tree, object, "bufferView", made);
    else
        sup_json_remove(object, "bufferView");
}

static void visit_value(walk *w, visit at)
{
    bool object = sup_json_is(at.value, SUP_JSON_OBJECT);
    if (object && at.inside) copy_view(w, at.value);
    for (uint32_t i = 0; i < at.value->count; i++) {
        sup_json *item = at.value->of.items[i];
        if (object && strcmp(item->key, "extras") == 0) continue;
        bool extensions = object && strcmp(item->key, "extensions") == 0 && sup_json_is(item, SUP_JSON_OBJECT);
        for (uint32_t k = 0; extensions && k < item->count; k++) {
            add_used(w, item->of.items[k]->key);
            push(w, item->of.items[k], true);
        }
        if (!extensions) push(w, item, at.inside);
    }
}

/* True for texture coordinates of a component type that requires KHR_mesh_quantization; positions and normals are
 * floats. */
static bool is_quantized(const sup_json_tree *tree, const sup_json *attribute)
{
    int64_t index = -1, component = SUP_GLB_FLOAT;
    sup_json_integer(attribute, &index);
    const sup_json *accessor = sup_json_at(sup_json_get(tree->root, "accessors"), index);
    sup_json_integer(sup_json_get(accessor, "componentType"), &component);
    if (component == SUP_GLB_FLOAT || strncmp(attribute->key, "TEXCOORD_", 9) != 0) return false;
    bool is_signed = component == SUP_GLB_BYTE || component == SUP_GLB_SHORT;
    return is_signed || !sup_json_boolean(sup_json_get(accessor, "normalized"), false);
}

static bool needs_quantization(const sup_json_tree *tree)
{
    const sup_json *meshes = sup_json_get(tree->root, "meshes");
    for (int32_t m = 0; m < sup_json_count(meshes); m++) {
        const sup_json *primitives = sup_json_get(sup_json_at(meshes, m), "primitives");
        for (int32_t p = 0; p < sup_json_count(primitives); p++) {
            const sup_json *attributes = sup_json_get(sup_json_at(primitives, p), "attributes");
            for (int32_t a = 0; a < sup_json_count(attributes); a++)
                if (is_quantized(tree, attributes->of.items[a])) return true;
        }
    }
    return false;
}

/* Removes unused extensions from a list; with `all` also adds all used ones. */
static void rewrite_list(walk *w, const char *key, bool all)
{
    sup_json_tree *tree = &w->copy->layout->tree;
    const sup_json *old = sup_json_get(tree->root, key);
    sup_json *list = sup_json_new_array(tree);
    const char *const *names = (const char *const *)(const void *)w->used.data;
    for (size_t i = 0; i < w->used.count; i++) {
        bool listed = all;
        for (int32_t k = 0; !listed && k < sup_json_count(old); k++)
            listed = sup_json_equals(sup_json_at(old, k), names[i]);
        if (listed) sup_json_append(tree, list, sup_json_new_string(tree, names[i]));
    }
    sup_json_remove(tree->root, key);
    if (sup_json_count(list) > 0) sup_json_set(tree, tree->root, key, list);
}

void sup_glb_copy_extensions(sup_glb_copy *copy)
{
    sup_json_tree *tree = &copy->layout->tree;
    walk w = {.copy = copy, .allocator = &copy->layout->arena.allocator};
    w.stack.item_size = sizeof(visit);
    w.used.item_size = sizeof(const char *);
    push(&w, tree->root, false);
    while (w.stack.count > 0 && !tree->failed)
        visit_value(&w, ((visit *)(void *)w.stack.data)[--w.stack.count]);
    if (needs_quantization(tree)) add_used(&w, "KHR_mesh_quantization");
    rewrite_list(&w, "extensionsUsed", true);
    rewrite_list(&w, "extensionsRequired", false);
    sup_array_free(w.allocator, &w.stack);
    sup_array_free(w.allocator, &w.used);
}
