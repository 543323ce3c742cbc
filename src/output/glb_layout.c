/* glb_layout.c - the layout of a GLB file: primitives per mesh, and the bufferViews that do not depend on frames. */
#include "output/glb.h"

#include <math.h>

sup_result sup_glb_layout_meshes(sup_glb_layout *layout, int32_t node_first, sup_error *error)
{
    const sup_character *character = layout->character;
    layout->meshes = sup_arena_alloc(&layout->arena, (size_t)character->primitive_count, sizeof *layout->meshes);
    layout->primitives =
        sup_arena_alloc(&layout->arena, (size_t)character->primitive_count, sizeof *layout->primitives);
    if (layout->meshes == NULL || layout->primitives == NULL) return sup_fail_memory(error, "the meshes");
    int32_t node = -1, mesh = -1, index_in_mesh = 0;
    for (int32_t p = 0; p < character->primitive_count; p++) {
        const sup_primitive *primitive = &character->primitives[p];
        layout->primitives[p] = (sup_glb_primitive){-1, -1, true};
        if (primitive->vertex_count == 0) continue;
        if (layout->mesh_count == 0 || primitive->node != node || primitive->mesh != mesh) {
            int32_t index = layout->mesh_count++;
            layout->meshes[index] = (sup_glb_mesh){index, node_first + index, p, 0};
            node = primitive->node;
            mesh = primitive->mesh;
            index_in_mesh = 0;
        }
        sup_glb_mesh *last = &layout->meshes[layout->mesh_count - 1];
        last->primitive_count = p + 1 - last->primitive_first;
        layout->primitives[p] = (sup_glb_primitive){last->mesh, index_in_mesh++, true};
    }
    return SUP_OK;
}

void sup_glb_set_integer(sup_json_tree *tree, sup_json *object, const char *key, int64_t value)
{
    sup_json_set(tree, object, key, sup_json_new_integer(tree, value));
}

/* Length in bytes of the well-formed UTF-8 character at `text` (RFC 3629, table 3-7 of Unicode), 0 when malformed. */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0; /* also stops at the terminating zero */
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] >= 0xa0)) return 0; /* overlong, surrogate */
    if ((first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] >= 0x90)) return 0;
    return length;
}

void sup_glb_set_text(sup_json_tree *tree, sup_json *object, const char *key, const char *text)
{
    char *clean = sup_arena_string(&tree->arena, text);
    if (clean == NULL) {
        tree->failed = true;
        return;
    }
    /* Names from formats such as OBJ may have any encoding; JSON is UTF-8. */
    for (unsigned char *at = (unsigned char *)clean; *at != '\0';) {
        size_t length = utf8_length(at);
        if (length == 0) *at = '?';
        at += length == 0 ? 1 : length;
    }
    sup_json_set(tree, object, key, sup_json_new_string(tree, clean));
}

void sup_glb_unit_normals(const float *normals, int32_t count, float *unit)
{
    for (int32_t v = 0; v < count; v++) {
        const float *n = normals + (size_t)v * 3;
        double x = (double)n[0], y = (double)n[1], z = (double)n[2], length = sqrt(x * x + y * y + z * z);
        float *to = unit + (size_t)v * 3;
        bool good = fabs(length - 1.0) < 1e-5, lost = !(length > 1e-20);
        to[0] = good ? n[0] : lost ? 0.0f : (float)(x / length);
        to[1] = good ? n[1] : lost ? 1.0f : (float)(y / length);
        to[2] = good ? n[2] : lost ? 0.0f : (float)(z / length);
    }
}

sup_result sup_glb_set_extras(sup_glb_layout *layout, sup_error *error)
{
    const sup_character *character = layout->character;
    if (character->extras == NULL) return SUP_OK;
    sup_json_tree extras = sup_json_tree_create(&layout->arena.allocator);
    sup_error inner;
    sup_result result =
        sup_json_parse(&extras, character->name, (sup_bytes){character->extras, strlen(character->extras)}, &inner);
    if (result == SUP_OK) {
        sup_json *asset = sup_json_get_or_add(&layout->tree, layout->tree.root, "asset", SUP_JSON_OBJECT);
        sup_json_set(&layout->tree, asset, "extras", sup_json_copy(&layout->tree, extras.root));
    } else {
        result = sup_fail(error, result == SUP_ERROR_MEMORY ? result : SUP_ERROR_DATA, "output.glb.extras",
                          character->name, "The character's extras are not valid JSON: %.200s", inner.message);
    }
    sup_json_tree_destroy(&extras);
    return result;
}

void sup_glb_set_asset(sup_json_tree *tree)
{
    char generator[40];
    sup_format(generator, sizeof generator, "Supple %d.%d.%d", SUPPLE_VERSION_MAJOR, SUPPLE_VERSION_MINOR,
               SUPPLE_VERSION_PATCH);
    sup_json *asset = sup_json_get_or_add(tree, tree->root, "asset", SUP_JSON_OBJECT);
    sup_glb_set_text(tree, asset, "version", "2.0");
    sup_glb_set_text(tree, asset, "generator", generator);
}

int32_t sup_glb_add_view(sup_glb_layout *layout, const void *data, size_t size, int32_t stride, int32_t target)
{
    sup_json_tree *tree = &layout->tree;
    sup_glb_blob *blob = sup_array_push(&layout->arena.allocator, &layout->blobs, 1);
    if (blob == NULL) {
        tree->failed = true;
        return -1;
    }
    *blob = (sup_glb_blob){data, size};
    sup_json *views = sup_json_get_or_add(tree, tree->root, "bufferViews", SUP_JSON_ARRAY);
    sup_json *view = sup_json_append(tree, views, sup_json_new_object(tree));
    sup_glb_set_integer(tree, view, "buffer", 0);
    sup_glb_set_integer(tree, view, "byteOffset", (int64_t)layout->fixed_size);
    sup_glb_set_integer(tree, view, "byteLength", (int64_t)size);
    if (stride != 0) sup_glb_set_integer(tree, view, "byteStride", stride);
    if (target != 0) sup_glb_set_integer(tree, view, "target", target);
    layout->fixed_size += ((uint64_t)size + 3) / 4 * 4;
    return sup_json_count(views) - 1;
}

sup_json *sup_glb_add_accessor(sup_json_tree *tree, int64_t view, uint64_t offset, int32_t component, int64_t count,
                               const char *type)
{
    sup_json *accessors = sup_json_get_or_add(tree, tree->root, "accessors", SUP_JSON_ARRAY);
    sup_json *accessor = sup_json_append(tree, accessors, sup_json_new_object(tree));
    sup_glb_set_integer(tree, accessor, "bufferView", view);
    if (offset > 0) sup_glb_set_integer(tree, accessor, "byteOffset", (int64_t)offset);
    sup_glb_set_integer(tree, accessor, "componentType", component);
    sup_glb_set_integer(tree, accessor, "count", count);
    sup_glb_set_text(tree, accessor, "type", type);
    return accessor;
}

int32_t sup_glb_last_accessor(const sup_json_tree *tree)
{
    return sup_json_count(sup_json_get(tree->root, "accessors")) - 1;
}

int32_t sup_glb_add_indices(sup_glb_layout *layout, const sup_primitive *primitive, bool mirrored)
{
    size_t count = (size_t)primitive->triangle_count * 3;
    bool small = primitive->vertex_count <= 65535; /* index 65535 is reserved (primitive restart) */
    void *memory = sup_arena_alloc(&layout->arena, count, small ? 2 : 4);
    if (memory == NULL) {
        layout->tree.failed = true;
        return -1;
    }
    const int32_t *corners = layout->character->triangles + (size_t)primitive->triangle_first * 3;
    for (size_t i = 0; i < count; i++) {
        size_t corner = mirrored && i % 3 != 0 ? i - i % 3 + (3 - i % 3) : i;
        int32_t index = corners[corner] - primitive->vertex_first;
        if (small)
            ((uint16_t *)memory)[i] = (uint16_t)index;
        else
            ((uint32_t *)memory)[i] = (uint32_t)index;
    }
    int32_t view = sup_glb_add_view(layout, memory, count * (small ? 2 : 4), 0, SUP_GLB_ELEMENT_BUFFER);
    sup_glb_add_accessor(&layout->tree, view, 0, small ? SUP_GLB_USHORT : SUP_GLB_UINT, (int64_t)count, "SCALAR");
    return sup_glb_last_accessor(&layout->tree);
}
