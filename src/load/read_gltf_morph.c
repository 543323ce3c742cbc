/* read_gltf_morph.c - morph targets: a weight slot for each target of each node with a mesh, shared by the primitives. */
#include "load/read_gltf.h"

/* Targets of a mesh: as many as the primitive with the most has. */
static int32_t count_targets(const sup_json *mesh)
{
    const sup_json *primitives = sup_json_get(mesh, "primitives");
    int32_t most = 0;
    for (int32_t i = 0; i < sup_json_count(primitives); i++) {
        const sup_json *targets = sup_json_get(sup_json_at(primitives, i), "targets");
        int32_t count = sup_json_is(targets, SUP_JSON_ARRAY) ? sup_json_count(targets) : 0;
        most = count > most ? count : most;
    }
    return most;
}

static sup_result read_offsets(sup_gltf *g, const sup_json *target, const char *name, const sup_part *part,
                               const float **offsets)
{
    sup_gltf_accessor accessor;
    sup_result result = sup_gltf_open_member(g, target, name, "mesh", part->mesh, &accessor);
    *offsets = NULL;
    if (result != SUP_OK || accessor.index < 0) return result;
    if (accessor.count != part->vertex_count || accessor.width != 3)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.morph",
                             "%s of a morph target of primitive %d of mesh %d must have 3 components for each of %d "
                             "vertices.",
                             name, part->primitive, part->mesh, part->vertex_count);
    *offsets = sup_gltf_shared_floats(g, &accessor);
    return *offsets != NULL ? SUP_OK : g->error->result;
}

/* node.weights before mesh.weights before 0. */
static float default_weight(const sup_json *node, const sup_json *mesh, int32_t target)
{
    double weight = 0.0;
    const sup_json *weights = sup_json_get(node, "weights");
    if (weights == NULL) weights = sup_json_get(mesh, "weights");
    sup_json_double(sup_json_at(weights, target), &weight);
    return (float)weight;
}

static sup_result read_part(sup_gltf *g, int32_t number, const sup_json *node, sup_morph *morphs, int32_t *filled)
{
    const sup_part *part = &g->parts[number];
    const sup_json *mesh = sup_json_at(g->meshes, part->mesh);
    const sup_json *names = sup_json_get(sup_json_get(mesh, "extras"), "targetNames");
    const sup_json *targets, *target;
    sup_result result =
        sup_gltf_list(g, sup_json_at(sup_json_get(mesh, "primitives"), part->primitive), "targets", &targets);
    for (int32_t i = 0; result == SUP_OK && i < sup_json_count(targets); i++) {
        sup_morph *morph = &morphs[(*filled)++];
        morph->part = number;
        morph->weight = g->nodes[part->node].morph_first + i;
        morph->default_weight = default_weight(node, mesh, i);
        morph->name = sup_gltf_name(g, sup_json_at(names, i));
        if (morph->name == NULL) return g->error->result;
        result = sup_gltf_object(g, targets, i, "morph target", &target);
        if (result == SUP_OK) result = read_offsets(g, target, "POSITION", part, &morph->positions);
        if (result == SUP_OK) result = read_offsets(g, target, "NORMAL", part, &morph->normals);
    }
    return result;
}

sup_result sup_gltf_read_morphs(sup_gltf *g)
{
    sup_character *c = g->character;
    const sup_json *nodes = sup_json_get(g->root, "nodes");
    int32_t *mesh_targets = sup_gltf_alloc(g, &g->scratch, (size_t)sup_json_count(g->meshes), sizeof *mesh_targets);
    if (mesh_targets == NULL) return g->error->result;
    for (int32_t i = 0; i < sup_json_count(g->meshes); i++)
        mesh_targets[i] = count_targets(sup_json_at(g->meshes, i));
    int64_t slots = 0, count = 0;
    for (int32_t i = 0; i < c->node_count; i++) {
        g->nodes[i].morph_first = (int32_t)slots;
        g->nodes[i].morph_count = g->nodes[i].mesh >= 0 ? mesh_targets[g->nodes[i].mesh] : 0;
        slots += g->nodes[i].morph_count;
        if (slots > INT32_MAX / 16) break;
    }
    for (int32_t i = 0; i < c->part_count; i++)
        count += g->nodes[g->parts[i].node].morph_count; /* at most: a primitive may have fewer than its mesh */
    if (slots > INT32_MAX / 16 || count > INT32_MAX / 16)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.morph.large", "The file has too many morph targets.");
    sup_morph *morphs = sup_gltf_alloc(g, g->arena, (size_t)count, sizeof *morphs);
    if (morphs == NULL) return g->error->result;
    int32_t filled = 0;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < c->part_count && result == SUP_OK; i++)
        result = read_part(g, i, sup_json_at(nodes, g->parts[i].node), morphs, &filled);
    c->morphs = morphs;
    c->morph_count = filled;
    c->morph_weight_count = (int32_t)slots;
    return result;
}
