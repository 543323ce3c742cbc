/* rig_file.c - a rig as a GLB that any program skins: mesh, skeleton, weights, clips.
 *
 * Vertices are those of the bind pose in the world, so one skin over all joints fits every part, whatever skins the input
 * had. Nodes keep their index; a node above the roots holds several skeletons together, as glTF wants it. Materials are
 * plain and morph targets are left out: a character that came from glTF has them in its own file. */
#include "output/file_out.h"
#include "output/glb.h"

#include "math/affine.h"

#include <float.h>
#include <math.h>

enum { SET = 4 }; /* influences in one pair of JOINTS_n and WEIGHTS_n */

typedef struct rig_writer {
    sup_glb_plan plan;
    const sup_rig *rig;
    sup_file_out out;
} rig_writer;

static sup_json *add_floats(sup_json_tree *tree, sup_json *object, const char *key, const float *values, int count)
{
    sup_json *list = sup_json_need(tree, object, key, SUP_JSON_ARRAY);
    for (int i = 0; i < count; i++)
        sup_json_append(tree, list, sup_json_new_float(tree, values[i] + 0.0f));
    return list;
}

/* A copy in the plan, as a view and an accessor of its own. */
static sup_json *add_numbers(rig_writer *w, const void *data, int32_t count, size_t each, int32_t component,
                             const char *type, int32_t target)
{
    void *copy = sup_arena_copy(&w->plan.arena, data, (size_t)count, each);
    if (copy == NULL) {
        w->plan.tree.failed = true;
        return NULL;
    }
    int32_t view = sup_glb_add_view(&w->plan, copy, (size_t)count * each, 0, target);
    return sup_glb_add_accessor(&w->plan.tree, view, 0, component, count, type);
}

/* --- Nodes and skin --- */

static void unit_rotation(const float *from, float to[4])
{
    double length = 0.0;
    for (int k = 0; k < 4; k++)
        length += (double)from[k] * (double)from[k];
    length = sqrt(length);
    for (int k = 0; k < 4; k++)
        to[k] = length > 0.0 ? (float)((double)from[k] / length) : k == 3 ? 1.0f : 0.0f;
}

static void add_nodes(rig_writer *w)
{
    sup_json_tree *tree = &w->plan.tree;
    const sup_character *character = w->plan.character;
    sup_json *nodes = sup_json_need(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    for (int32_t n = 0; n < character->node_count; n++) {
        const sup_node *node = &character->nodes[n];
        const sup_transform *rest = &node->rest;
        float rotation[4];
        unit_rotation(&rest->rotation.x, rotation);
        sup_json *made = sup_json_append(tree, nodes, sup_json_new_object(tree));
        if (node->name[0] != '\0') sup_glb_set_text(tree, made, "name", node->name);
        add_floats(tree, made, "translation", &rest->translation.x, 3);
        add_floats(tree, made, "rotation", rotation, 4);
        add_floats(tree, made, "scale", &rest->scale.x, 3);
    }
    for (int32_t n = 0; n < character->node_count; n++) {
        sup_json *parent = sup_json_at(nodes, character->nodes[n].parent);
        if (parent == NULL) continue;
        sup_json_append(tree, sup_json_need(tree, parent, "children", SUP_JSON_ARRAY), sup_json_new_integer(tree, n));
    }
}

static int32_t count_roots(const sup_character *character)
{
    int32_t roots = 0;
    for (int32_t n = 0; n < character->node_count; n++)
        roots += character->nodes[n].parent < 0;
    return roots;
}

/* The scene: the one root, or a new node over all of them. Meshes are roots of their own: nothing but the skin moves
 * them. */
static void add_scene(rig_writer *w)
{
    sup_json_tree *tree = &w->plan.tree;
    const sup_character *character = w->plan.character;
    sup_json *nodes = sup_json_need(tree, tree->root, "nodes", SUP_JSON_ARRAY);
    sup_json *scenes = sup_json_need(tree, tree->root, "scenes", SUP_JSON_ARRAY);
    sup_json *scene = sup_json_append(tree, scenes, sup_json_new_object(tree));
    sup_json *roots = sup_json_need(tree, scene, "nodes", SUP_JSON_ARRAY), *above = roots;
    sup_glb_set_integer(tree, tree->root, "scene", 0);
    if (count_roots(character) > 1) {
        sup_json *node = sup_json_append(tree, nodes, sup_json_new_object(tree));
        sup_glb_set_text(tree, node, "name", "skeleton");
        sup_json_append(tree, roots, sup_json_new_integer(tree, sup_json_count(nodes) - 1));
        above = sup_json_need(tree, node, "children", SUP_JSON_ARRAY);
    }
    for (int32_t n = 0; n < character->node_count; n++)
        if (character->nodes[n].parent < 0) sup_json_append(tree, above, sup_json_new_integer(tree, n));
    for (int32_t m = 0; m < w->plan.mesh_count; m++)
        sup_json_append(tree, roots, sup_json_new_integer(tree, w->plan.meshes[m].node));
}

static void add_skin(rig_writer *w)
{
    sup_json_tree *tree = &w->plan.tree;
    const sup_rig *rig = w->rig;
    float *matrices = sup_arena_alloc(&w->plan.arena, (size_t)rig->joint_count, 16 * sizeof *matrices);
    if (matrices == NULL) {
        tree->failed = true;
        return;
    }
    sup_json *skins = sup_json_need(tree, tree->root, "skins", SUP_JSON_ARRAY);
    sup_json *skin = sup_json_append(tree, skins, sup_json_new_object(tree));
    sup_json *joints = sup_json_need(tree, skin, "joints", SUP_JSON_ARRAY);
    for (int32_t j = 0; j < rig->joint_count; j++) {
        float *m = matrices + 16 * (size_t)j;
        for (int k = 0; k < 12; k++) /* rows to columns */
            m[k % 4 * 4 + k / 4] = rig->joint_inverse_bind[j].m[k] + 0.0f;
        m[15] = 1.0f;
        sup_json_append(tree, joints, sup_json_new_integer(tree, rig->joint_node[j]));
    }
    add_numbers(w, matrices, rig->joint_count, 16 * sizeof(float), SUP_GLB_FLOAT, "MAT4", 0);
    sup_glb_set_integer(tree, skin, "inverseBindMatrices", sup_glb_last_accessor(tree));
}

/* --- Vertices --- */

static void set_attribute(rig_writer *w, sup_json *primitive, const char *name)
{
    sup_json *attributes = sup_json_need(&w->plan.tree, primitive, "attributes", SUP_JSON_OBJECT);
    sup_glb_set_integer(&w->plan.tree, attributes, name, sup_glb_last_accessor(&w->plan.tree));
}

static void add_shape(rig_writer *w, const sup_part *part, sup_json *primitive)
{
    size_t from = 3 * (size_t)part->vertex_first, count = 3 * (size_t)part->vertex_count;
    const float *positions = w->rig->positions + from;
    float low[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (size_t i = 0; i < count; i++) {
        low[i % 3] = fminf(low[i % 3], positions[i]);
        high[i % 3] = fmaxf(high[i % 3], positions[i]);
    }
    sup_json *accessor =
        add_numbers(w, positions, part->vertex_count, 3 * sizeof(float), SUP_GLB_FLOAT, "VEC3", SUP_GLB_ARRAY_BUFFER);
    add_floats(&w->plan.tree, accessor, "min", low, 3);
    add_floats(&w->plan.tree, accessor, "max", high, 3);
    set_attribute(w, primitive, "POSITION");
    add_numbers(w, w->rig->normals + from, part->vertex_count, 3 * sizeof(float), SUP_GLB_FLOAT, "VEC3",
                SUP_GLB_ARRAY_BUFFER);
    set_attribute(w, primitive, "NORMAL");
}

/* Influences SET * set and up of a part's vertices, the strongest first; what is not there is joint 0 by weight 0. */
static void add_influences(rig_writer *w, const sup_part *part, sup_json *primitive, int32_t set)
{
    const sup_rig *rig = w->rig;
    size_t count = (size_t)part->vertex_count;
    uint16_t *joints = sup_arena_alloc(&w->plan.arena, count, SET * sizeof *joints);
    float *weights = sup_arena_alloc(&w->plan.arena, count, SET * sizeof *weights);
    char name[16];
    if (joints == NULL || weights == NULL) {
        w->plan.tree.failed = true;
        return;
    }
    for (size_t v = 0; v < count; v++) {
        int32_t first = rig->influence_first[(size_t)part->vertex_first + v];
        int32_t own = rig->influence_first[(size_t)part->vertex_first + v + 1] - first;
        double sum = 0.0;
        for (int32_t i = 0; i < own; i++)
            sum += (double)rig->influence_weight[first + i];
        for (int32_t i = SET * set; i < own && i < SET * (set + 1); i++) {
            float weight = (float)((double)rig->influence_weight[first + i] / sum);
            if (!(weight > 0.0f)) continue;
            joints[SET * v + (size_t)(i % SET)] = (uint16_t)rig->influence_joint[first + i];
            weights[SET * v + (size_t)(i % SET)] = weight;
        }
    }
    add_numbers(w, joints, part->vertex_count, SET * sizeof *joints, SUP_GLB_USHORT, "VEC4", SUP_GLB_ARRAY_BUFFER);
    sup_format(name, sizeof name, "JOINTS_%d", set);
    set_attribute(w, primitive, name);
    add_numbers(w, weights, part->vertex_count, SET * sizeof *weights, SUP_GLB_FLOAT, "VEC4", SUP_GLB_ARRAY_BUFFER);
    sup_format(name, sizeof name, "WEIGHTS_%d", set);
    set_attribute(w, primitive, name);
}

static int32_t most_influences(const sup_rig *rig, const sup_part *part)
{
    int32_t most = 1;
    for (int32_t v = part->vertex_first; v < part->vertex_first + part->vertex_count; v++) {
        int32_t own = rig->influence_first[v + 1] - rig->influence_first[v];
        most = own > most ? own : most;
    }
    return most;
}

static void add_meshes(rig_writer *w)
{
    sup_json_tree *tree = &w->plan.tree;
    for (int32_t m = 0; m < w->plan.mesh_count; m++) {
        const sup_glb_mesh *group = &w->plan.meshes[m];
        sup_json *node = sup_glb_add_mesh(&w->plan, group);
        sup_glb_set_integer(tree, node, "skin", 0);
        for (int32_t p = group->part_first; p < group->part_first + group->part_count; p++) {
            const sup_part *part = &w->plan.character->parts[p];
            if (w->plan.parts[p].mesh < 0) continue;
            sup_json *mesh = sup_json_at(sup_json_get(tree->root, "meshes"), group->mesh);
            sup_json *primitive = sup_json_at(sup_json_get(mesh, "primitives"), w->plan.parts[p].primitive);
            add_shape(w, part, primitive);
            for (int32_t set = 0; SET * set < most_influences(w->rig, part); set++)
                add_influences(w, part, primitive, set);
        }
    }
}

/* --- Clips --- */

/* Rotations of unit length, as glTF wants them; tangents of a spline as they are. */
static void unit_keys(const sup_channel *channel, float *values)
{
    bool cubic = channel->interpolation == SUP_INTERPOLATE_CUBIC;
    for (int64_t key = 0; channel->target == SUP_CHANNEL_ROTATION && key < channel->key_count; key++) {
        float *value = values + 4 * (cubic ? 3 * key + 1 : key);
        unit_rotation(value, value);
    }
}

static void add_channel(rig_writer *w, const sup_clip *clip, const sup_channel *channel, sup_json *animation)
{
    static const char *const paths[] = {"translation", "rotation", "scale"};
    static const char *const ways[] = {"STEP", "LINEAR", "CUBICSPLINE"};
    sup_json_tree *tree = &w->plan.tree;
    int32_t width = channel->target == SUP_CHANNEL_ROTATION ? 4 : 3;
    int32_t rows = channel->key_count * (channel->interpolation == SUP_INTERPOLATE_CUBIC ? 3 : 1);
    float *times = sup_arena_copy(&w->plan.arena, channel->times, (size_t)channel->key_count, sizeof(float));
    float *values = sup_arena_copy(&w->plan.arena, channel->values, (size_t)rows * (size_t)width, sizeof(float));
    if (times == NULL || values == NULL) {
        tree->failed = true;
        return;
    }
    for (int32_t k = 0; clip->start < 0.0f && k < channel->key_count; k++)
        times[k] = fmaxf(times[k] - clip->start, 0.0f); /* glTF has no time before 0 */
    unit_keys(channel, values);
    sup_json *samplers = sup_json_need(tree, animation, "samplers", SUP_JSON_ARRAY);
    sup_json *sampler = sup_json_append(tree, samplers, sup_json_new_object(tree));
    sup_json *input = add_numbers(w, times, channel->key_count, sizeof(float), SUP_GLB_FLOAT, "SCALAR", 0);
    add_floats(tree, input, "min", times, 1);
    add_floats(tree, input, "max", times + channel->key_count - 1, 1);
    sup_glb_set_integer(tree, sampler, "input", sup_glb_last_accessor(tree));
    add_numbers(w, values, rows, (size_t)width * sizeof(float), SUP_GLB_FLOAT, width == 4 ? "VEC4" : "VEC3", 0);
    sup_glb_set_integer(tree, sampler, "output", sup_glb_last_accessor(tree));
    sup_glb_set_text(tree, sampler, "interpolation", ways[channel->interpolation]);
    sup_json *channels = sup_json_need(tree, animation, "channels", SUP_JSON_ARRAY);
    sup_json *made = sup_json_append(tree, channels, sup_json_new_object(tree));
    sup_glb_set_integer(tree, made, "sampler", sup_json_count(samplers) - 1);
    sup_json *target = sup_json_need(tree, made, "target", SUP_JSON_OBJECT);
    sup_glb_set_integer(tree, target, "node", channel->index);
    sup_glb_set_text(tree, target, "path", paths[channel->target]);
}

static void add_clips(rig_writer *w)
{
    sup_json_tree *tree = &w->plan.tree;
    const sup_character *character = w->plan.character;
    for (int32_t c = 0; c < character->clip_count; c++) {
        const sup_clip *clip = &character->clips[c];
        sup_json *animation = NULL;
        for (int32_t i = 0; i < clip->channel_count; i++) {
            if (clip->channels[i].target == SUP_CHANNEL_MORPH) continue;
            if (animation == NULL) {
                sup_json *animations = sup_json_need(tree, tree->root, "animations", SUP_JSON_ARRAY);
                animation = sup_json_append(tree, animations, sup_json_new_object(tree));
                if (clip->name[0] != '\0') sup_glb_set_text(tree, animation, "name", clip->name);
            }
            add_channel(w, clip, &clip->channels[i], animation);
        }
    }
}

/* --- The file --- */

static sup_result check_rig(const sup_rig *rig, const char *path, sup_error *error)
{
    if (rig->joint_count > UINT16_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.rig.joints", path,
                        "The skeleton has %d joints, and a GLB can have %d.", rig->joint_count, UINT16_MAX);
    for (int32_t j = 0; j < rig->joint_count; j++)
        for (int32_t k = 0; k < j; k++)
            if (rig->joint_node[j] == rig->joint_node[k])
                return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.rig.twice", path,
                                "The skins of the input bind the joint %s in two ways, which one skin cannot hold.",
                                rig->character->nodes[rig->joint_node[j]].name);
    return SUP_OK;
}

static sup_result plan_rig(rig_writer *w, sup_error *error)
{
    sup_json_tree *tree = &w->plan.tree;
    const sup_character *character = w->plan.character;
    tree->root = sup_json_new_object(tree);
    sup_glb_set_asset(tree);
    sup_result result = sup_glb_plan_meshes(&w->plan, character->node_count, error);
    if (result != SUP_OK) return result;
    add_nodes(w);
    add_meshes(w);
    add_scene(w);
    add_skin(w);
    add_clips(w);
    sup_json *buffers = sup_json_need(tree, tree->root, "buffers", SUP_JSON_ARRAY);
    sup_json *buffer = sup_json_append(tree, buffers, sup_json_new_object(tree));
    sup_glb_set_integer(tree, buffer, "byteLength", (int64_t)w->plan.fixed_size);
    return tree->failed ? sup_fail_memory(error, "the document") : SUP_OK;
}

static sup_result write_number(rig_writer *w, uint64_t value, sup_error *error)
{
    uint32_t number = (uint32_t)value;
    return sup_file_out_write(&w->out, &number, sizeof number, error);
}

static sup_result write_file(rig_writer *w, const char *path, const sup_array *text, sup_error *error)
{
    const sup_glb_blob *blobs = (const sup_glb_blob *)(const void *)w->plan.blobs.data;
    uint64_t json = (text->count + 3) / 4 * 4, bytes = 12 + 8 + json + 8 + w->plan.fixed_size;
    if (bytes > UINT32_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.glb.size", path,
                        "The rig makes %.3g GB, and a GLB cannot hold more than 4 GiB.", (double)bytes * 1e-9);
    const uint64_t head[] = {0x46546c67, 2, bytes, json, 0x4e4f534a}; /* glTF, version, length; length, JSON */
    sup_result result = sup_file_out_open(&w->out, path, error);
    for (int i = 0; result == SUP_OK && i < SUP_COUNT(head); i++)
        result = write_number(w, head[i], error);
    if (result == SUP_OK) result = sup_file_out_write(&w->out, text->data, text->count, error);
    if (result == SUP_OK) result = sup_file_out_write(&w->out, "   ", (size_t)json - text->count, error);
    if (result == SUP_OK) result = write_number(w, w->plan.fixed_size, error);
    if (result == SUP_OK) result = write_number(w, 0x004e4942, error); /* BIN */
    for (size_t i = 0; result == SUP_OK && i < w->plan.blobs.count; i++) {
        result = sup_file_out_write(&w->out, blobs[i].data, blobs[i].size, error);
        if (result == SUP_OK) result = sup_file_out_write(&w->out, "\0\0\0", (4 - blobs[i].size % 4) % 4, error);
    }
    if (result == SUP_OK) return sup_file_out_commit(&w->out, error);
    sup_file_out_abandon(&w->out);
    return result;
}

sup_result sup_rig_save(const sup_context *context, const sup_rig *rig, const char *path, sup_error *error)
{
    if (rig == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_rig_save needs a rig and a path.");
    sup_result result = check_rig(rig, path, error);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    sup_array text = {.item_size = 1};
    rig_writer w = {.rig = rig,
                    .plan = {.context = &resolved,
                             .character = rig->character,
                             .arena = sup_arena_create(&resolved.allocator),
                             .tree = sup_json_tree_create(&resolved.allocator),
                             .blobs = {.item_size = sizeof(sup_glb_blob)}}};
    result = plan_rig(&w, error);
    if (result == SUP_OK && !sup_json_write(w.plan.tree.root, &resolved.allocator, &text))
        result = sup_fail_memory(error, "the document");
    if (result == SUP_OK) result = write_file(&w, path, &text, error);
    sup_array_free(&resolved.allocator, &text);
    sup_json_tree_destroy(&w.plan.tree);
    sup_array_free(&resolved.allocator, &w.plan.blobs);
    sup_arena_destroy(&w.plan.arena);
    return result;
}
